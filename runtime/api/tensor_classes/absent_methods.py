"""NumPy's methods that tensors lack: the error for them names what to use instead."""

from ...core.tensor import Tensor

# `hasattr` says no, so libraries that ask whether an object is an array get their answer.
INSTEAD = {"astype": "x.to(dtype)", "copy": "x.clone()", "flat": "x.flatten()", "fill": "x.fill_(value)",
           "ptp": "x.max() - x.min()", "tostring": "x.numpy()"}


class AbsentMethod:
    """Descriptor of a name that tensors do not have."""

    def __init__(self, name: str, instead: str):
        self.name, self.instead = name, instead

    def __get__(self, tensor, cls):
        # Without `name`, since Python adds a suggestion of its own to an error that has one.
        raise AttributeError(f"{cls.__name__!r} object has no attribute {self.name!r}; use {self.instead}", obj=tensor)


_PRODUCTS_OF_SPARSE = frozenset(("hsmm", "hspmm", "smm", "sspaddmm"))       # `x.summ` means `sum`


def _dir(tensor) -> list:
    """Return the names of a tensor that users see. Python suggests one of them for a misspelt attribute."""
    return [name for name in object.__dir__(tensor) if name not in INSTEAD and name not in _PRODUCTS_OF_SPARSE]


for _name, _instead in INSTEAD.items():
    if not hasattr(Tensor, _name):
        setattr(Tensor, _name, AbsentMethod(_name, _instead))
Tensor.__dir__ = _dir       # type: ignore[assignment,method-assign]
