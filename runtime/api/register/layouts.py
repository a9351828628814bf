"""Memory layouts by name: strided, jagged, and five sparse ones."""

from typing import Any

from ....ir.errors import ArgumentError
from ....ir.package_name import in_full
from .register import FUNCTIONS


class layout(str):
    """Memory layout of a tensor. It equals its own name, and the name that PyTorch prints, which libraries compare."""

    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other):
        return str.__eq__(self, other.removeprefix("torch.") if isinstance(other, str) else other) is True

    def __ne__(self, other):
        return not self == other

    def __str__(self):
        return self

    def __repr__(self):
        return in_full(self)

    def __reduce__(self):
        return layout_named, (str.__str__(self),)


def layout_named(name):
    """Return the layout with a name, for copies and files."""
    found = FUNCTIONS.get(name.removeprefix("torch."))
    if not isinstance(found, layout):
        raise ArgumentError(f"there is no layout {name!r}")
    return found


strided, jagged = layout("strided"), layout("jagged")
sparse_coo, sparse_csr, sparse_csc, sparse_bsr, sparse_bsc = map(layout, (
    "sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc"))
FUNCTIONS.update({str(name): name for name in (strided, jagged, sparse_coo, sparse_csr, sparse_csc, sparse_bsr, sparse_bsc)},
                 layout=layout)


def require_strided(name, wanted):
    """Raise unless the layout is strided or None; `name` is the function that makes no other."""
    if wanted is not None and wanted != strided:
        raise ArgumentError(f"{name} makes tensors of the layout strided, not {wanted!r}; call to_sparse() on the result")


def all_alike(shape, value, wanted, dtype, device, requires_grad) -> Any:
    """Return a tensor of one value in a sparse layout. Only zero works, as the tensor has no entries."""
    if value != 0:
        raise ArgumentError(f"a tensor of the layout {wanted!r} is made without entries, so not of {value} everywhere; call "
                            f"to_sparse() on a dense one")
    made = FUNCTIONS["sparse_coo_tensor"](tuple(shape), dtype=dtype, device=device)
    made = made if wanted == sparse_coo else made.to_sparse(layout=wanted)
    return made.requires_grad_() if requires_grad else made
