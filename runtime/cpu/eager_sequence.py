"""Which compiled kernel runs attention and the linear layer in eager mode; see `eager.py`.

float16 and bfloat16 attention is computed in float32 and rounded once, as the references do.
"""

import functools

import numpy as np

from ...ir import dtype as dt
from ...ir.op import Op
from ...ir.ops import attention as attention_ops
from ...ir.ops import nn
from ...ir.target import host
from ...passes.codegen.llvm.epilogue import ColumnBias
from ...passes.codegen.llvm.types import BF16, F16, F32, F64
from . import attention, call, gemm

_MAKERS: dict = {}
_LOW = (dt.float16.np, dt.bfloat16.np)
_STORED = {dt.float32.np: F32, dt.float64.np: F64, dt.float16.np: F16, dt.bfloat16.np: BF16}


def kernel_for(op: Op):
    """The callable that runs `op` on arrays: called like its reference."""
    return _MAKERS[op](op)


def _kernel_of(*ops):
    def mark(maker):
        _MAKERS.update(dict.fromkeys(ops, maker))
        return maker

    return mark


def widened(run):
    """A kernel with several results that computes float16 and bfloat16 in float32 and rounds each result once."""

    def call(*args, **params):
        kind = next(a.dtype for a in args if a is not None)
        if kind not in _LOW:
            return run(*args, **params)
        wide = [a.astype(np.float32) if a is not None and a.dtype == kind else a for a in args]
        return tuple([r.astype(kind) for r in run(*wide, **params)])

    return call


@_kernel_of(attention_ops.attention)
def attend(op: Op):
    """Softmax of scores times values, without the scores' matrix."""

    def run(q, k, v, mask, *, causal, scale):
        if not attention.supported(q, k, v, mask):
            return op.ref(q, k, v, mask, causal=causal, scale=scale)
        return attention.forward(q, k, v, mask, causal=causal, scale=scale)

    return widened(run)


@_kernel_of(attention_ops.attention_grad)
def attend_grad(op: Op):
    """Its gradients, with probabilities computed again."""

    def run(g, q, k, v, mask, *statistics, **params):
        if not attention.supported(g, q, k, v, mask):
            return op.ref(g, q, k, v, mask, *statistics, **params)
        return attention.gradients(g, q, k, v, mask, *statistics, **params)

    return widened(run)


# The linear layer.


@functools.lru_cache(None)
def _product_with_bias(dtype):
    return gemm.Product(dtype, None, ColumnBias(_STORED[dtype]))


@_kernel_of(nn.linear)
def linear(op: Op):
    """The product, with the bias added to each sum before it is stored."""

    def run(x, w, b):
        if x.dtype not in _STORED or not x.size or not w.size or (x.dtype == np.float16 and not host().half_conversions):
            return op.ref(x, w, b)
        rows = x.reshape(-1, x.shape[-1])
        if b is None or (len(w) == 1 and x.dtype not in _LOW):
            out = gemm.matmul(rows, w.T)
            out = out if b is None else np.add(out, b, out)
        else:
            b = np.ascontiguousarray(b)
            words = np.array([call.address_of(b)], np.int64)
            out = _product_with_bias(x.dtype)(rows, w.T, None, call.address_of(words))
        return out.reshape(*x.shape[:-1], w.shape[0])

    return run
