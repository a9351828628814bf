"""What sparse tensors answer when another layout is asked for."""

from typing import Any

from ....ir.errors import ArgumentError
from ..register.layouts import sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr
from .compressed_rows import in_layout
from .handler_table import handles


@handles("to_sparse")
def _to_sparse(fn, input, sparse_dim=None, *, layout=None, blocksize=None, dense_dim=None) -> Any:
    if sparse_dim is not None and sparse_dim != input.sparse_dim():
        raise ArgumentError(f"to_sparse: a sparse tensor keeps its {input.sparse_dim()} sparse dimensions, got {sparse_dim}")
    return in_layout(input, sparse_coo if layout is None else layout, blocksize, dense_dim)


for _name, _layout in (("coo", sparse_coo), ("csr", sparse_csr), ("csc", sparse_csc)):
    handles(f"to_sparse_{_name}")(lambda fn, input, dense_dim=None, layout=_layout: in_layout(input, layout, None, dense_dim))
for _name, _layout in (("bsr", sparse_bsr), ("bsc", sparse_bsc)):
    handles(f"to_sparse_{_name}")(
        lambda fn, input, blocksize, dense_dim=None, layout=_layout: in_layout(input, layout, blocksize, dense_dim))
