"""1x1 convolutions of bfloat16 as matrix products of their planes, if products have matrix tiles.

Other convolutions of narrow floats are widened and run in float32. Sums are rounded once either way, after the bias.
"""

from math import prod

import numpy as np

from ....ir import dtype as dt
from ....passes.codegen.llvm.contract.epilogue import RowBias
from ....passes.codegen.llvm.ir.types import BF16
from ..calls import call
from ..gemm import gemm
from ..loops.copies import plain

_LEAST = 16     # channels and pixels that fill a tile


def forward(x, w, b, *, stride, padding, dilation, groups):
    """Return conv(x, w) + b, or None if float32 is faster."""
    if not _takes(x, w, stride, padding, groups):
        return None
    w, x = plain(w).reshape(w.shape[:2]), plain(x)
    planes = x.reshape(x.shape[0], x.shape[1], -1)
    if b is None:
        out = _product()(w, planes)
    else:
        b = plain(b)
        words = np.array([call.address_of(b)], np.int64)
        out = _product(RowBias(BF16))(w, planes, None, call.address_of(words))
    return out.reshape(x.shape[0], w.shape[0], *x.shape[2:])


def input_grad(g, w, *, size, stride, padding, dilation, groups):
    """Return the gradient for the input, or None."""
    if not _takes(g, w, stride, padding, groups) or tuple(size) != g.shape[2:]:
        return None
    g, w = plain(g), plain(w).reshape(w.shape[:2])
    return _product()(w.T, g.reshape(g.shape[0], g.shape[1], -1)).reshape(g.shape[0], w.shape[1], *size)


def _takes(x, w, stride, padding, groups):
    return (x.dtype == w.dtype == dt.bfloat16.np and x.size > 0 and groups == 1 and set(w.shape[2:]) == {1} == {*stride}
            and not any(map(any, padding)) and min(*w.shape[:2], prod(x.shape[2:])) >= _LEAST and _product().amx)


def _product(epilogue=None):
    return gemm.product_of(dt.bfloat16.np, epilogue)
