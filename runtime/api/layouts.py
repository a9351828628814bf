"""Names of how the elements of a tensor lie: in strides, or as sparse ones in one of several forms."""

from .register import FUNCTIONS


class layout(str):
    """One way in which elements lie; equal to its own name as text."""

    __slots__ = ()

    def __repr__(self):
        return f"ingot.{self}"


strided, sparse_coo, sparse_csr, sparse_csc = map(layout, ("strided", "sparse_coo", "sparse_csr", "sparse_csc"))
FUNCTIONS.update(layout=layout, strided=strided, sparse_coo=sparse_coo, sparse_csr=sparse_csr, sparse_csc=sparse_csc)
FUNCTIONS.update({name: layout(name) for name in ("sparse_bsr", "sparse_bsc", "jagged")})     # no tensor has these
