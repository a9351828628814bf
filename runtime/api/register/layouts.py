"""Names of how the elements of a tensor lie: in strides, or as sparse ones in one of several forms."""

from typing import Any

from ....ir.errors import ArgumentError
from ....ir.package_name import in_full
from .register import FUNCTIONS


class layout(str):
    """One way in which elements lie; equal to its own name as text, and to what PyTorch's prints, which libraries compare."""

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
    """The layout of a name, as copies and files ask for it."""
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
    """Refuses a layout in which a function makes nothing."""
    if wanted != strided:
        raise ArgumentError(f"{name} makes tensors of the layout strided, not {wanted!r}; call to_sparse() on the result")


def all_alike(shape, value, wanted, dtype, device, requires_grad) -> Any:
    """A tensor of one value everywhere in a sparse layout: of zeros, without entries."""
    if value != 0:
        raise ArgumentError(f"a tensor of the layout {wanted!r} is made without entries, so not of {value} everywhere; call "
                            f"to_sparse() on a dense one")
    made = FUNCTIONS["sparse_coo_tensor"](tuple(shape), dtype=dtype, device=device)
    made = made if wanted == sparse_coo else made.to_sparse(layout=wanted)
    return made.requires_grad_() if requires_grad else made
