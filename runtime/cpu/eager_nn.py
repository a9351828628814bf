"""Which compiled kernel runs convolutions, pools and batch normalisation in eager mode; see `eager.py`.

The kernels take float32 and float64. Narrower floats are widened and rounded once, as the references do; what remains
(integers, empty arrays, more than three spatial dims) is the references'.
"""

from ...ir import dtype as dt
from ...ir.op import Op
from ...ir.ops import conv as conv_ops
from . import conv

_MAKERS: dict = {}
_LOW = (dt.float16.np, dt.bfloat16.np)


def kernel_for(op: Op):
    """The callable that runs `op` on arrays: called like its reference."""
    return _MAKERS[op](op)


def _kernel_of(*ops):
    def mark(maker):
        _MAKERS.update(dict.fromkeys(ops, maker))
        return maker

    return mark


def _wide(array):
    return array.astype(dt.float32.np) if array is not None and array.dtype in _LOW else array


def _widened(op, run, takes):
    """`run` on wide operands where it takes them, else the reference."""
    def call(*arrays, **params):
        kind, wide = arrays[0].dtype, [_wide(a) for a in arrays]
        if not takes(*(a for a in wide if a is not None)):
            return op.ref(*arrays, **params)
        return run(*wide, **params).astype(kind, copy=False)

    return call


@_kernel_of(conv_ops.conv)
def convolution(op: Op):
    """The forward convolution."""
    return _widened(op, conv.forward, conv.supported)


@_kernel_of(conv_ops.conv_input_grad)
def convolution_input_grad(op: Op):
    """Its gradient for the input: transposed convolutions too."""
    return _widened(op, conv.input_grad, conv.supported)


@_kernel_of(conv_ops.conv_weight_grad)
def convolution_weight_grad(op: Op):
    """Its gradient for the weight."""
    return _widened(op, conv.weight_grad, conv.supported)
