"""Softmax and norms over trailing dims: one sweep over each row."""

import math

from ....ir import dtype as dt
from ....ir.opdef.op import Op
from ....ir.ops.core import moments
from ....ir.ops.nn import norm
from ....ir.ops.nn import softmax as softmax_ops
from ..calls.operator_kernel import OperatorKernel
from ..loops import kernels

_FLOAT_KINDS = {d.np for d in dt.FLOATS}
_WIDE = {d.np for d in (dt.float32, dt.float64)}


def is_floating(*arrays) -> bool:
    """Whether all arrays (None aside) are of a floating point type."""
    return all([a is None or a.dtype in _FLOAT_KINDS for a in arrays])  # noqa: C419  (quicker than a generator)


def along_one_dim(op: Op):
    """Return the eager softmax or its logarithm."""
    kind, ref = op.name, op.ref
    by_dtype: dict = {}

    def run(x, *, dim):
        made = by_dtype.get(x.dtype)
        if made is None or not x.size:
            if x.dtype not in _FLOAT_KINDS or not x.size:
                return ref(x, dim=dim)
            made = by_dtype[x.dtype] = kernels.rowop(kind, dt.BY_NP[x.dtype]).__call__      # a method: quicker to call
        return made(x, dim=dim)

    return run


def _trailing(x, dims: int):
    """Return an array as a matrix of rows over its last `dims` dims."""
    if dims == 1 and x.ndim == 2:
        return x
    return x.reshape(math.prod(x.shape[:x.ndim - dims]), math.prod(x.shape[x.ndim - dims:]))


def _rows(x, dims: int):
    return x if dims == 1 else _trailing(x, dims)


def _shaped(x, shape):
    """Return an array with a shape: itself if it has it, so that the caller owns its memory."""
    return x if x.shape == shape else x.reshape(shape)


def _along(*arrays):
    return [a if a.ndim == 1 else a.reshape(-1) for a in arrays if a is not None]


def normalised(op: Op):
    """Return the eager norm."""
    by_kinds: dict = {}         # kernel by eps and dtypes; None: the reference

    def make(x, affine, eps):
        there = dict(zip(("weight", "bias"), [a is not None for a in affine]))
        if not is_floating(x, *affine) or (there.get("bias") and not there["weight"]):
            return None
        return kernels.rowop(op.name, dt.BY_NP[x.dtype], eps=eps, **there)

    def run(x, *affine, dims, eps):
        kinds: list = [eps, x.dtype]
        for a in affine:
            kinds.append(None if a is None else a.dtype)
        key = tuple(kinds)
        kernel = by_kinds.get(key)
        if kernel is None and key not in by_kinds:
            kernel = by_kinds[key] = make(x, affine, eps)
        if kernel is None or not x.size:
            return op.ref(x, *affine, dims=dims, eps=eps)
        return _shaped(kernel(_rows(x, dims), *_along(*affine))[0], x.shape)

    return run


def _gradients(op, backward, centred):
    by_kinds: dict = {}         # the two kernels

    def make(g, x, w, eps):
        if not is_floating(g, x, w):
            return None
        kind = dt.BY_NP[x.dtype]
        return (kernels.rowop(backward, kind, eps=eps, weight=w is not None),
                kernels.rowop("norm_weight_backward", kind, centred=centred, bias=centred))

    def run(g, x, w, *, dims, eps):
        key = eps, g.dtype, x.dtype, None if w is None else w.dtype
        made = by_kinds.get(key)
        if made is None and key not in by_kinds:
            made = by_kinds[key] = make(g, x, w, eps)
        if made is None or not x.size:
            return op.ref(g, x, w, dims=dims, eps=eps)
        of_input, of_weight = made
        dx, *statistics = of_input(_rows(g, dims), _rows(x, dims), *_along(w))
        if w is None:
            return _shaped(dx, x.shape)
        found = of_weight(_trailing(g, dims), _trailing(x, dims), *_along(*statistics), dim=0)
        return (_shaped(dx, x.shape), *[_shaped(d, w.shape) for d in (found if centred else (found,))])

    return run


def vector_norm(op, general):
    """Return the eager norm of order 2 as a reduction, without a kernel for each shape; `general` runs all others."""
    by_dtype: dict = {}

    def run(x, *, ord, dim, keepdim):
        made = by_dtype.get(x.dtype)
        if ord != 2 or (made is None and x.dtype not in _WIDE):
            return general(x, ord=ord, dim=dim, keepdim=keepdim)
        if made is None:
            made = by_dtype[x.dtype] = kernels.reduction("norm", dt.BY_NP[x.dtype]).__call__
        return made(x, dim, keepdim)

    return run


OPERATORS = {
    **dict.fromkeys((softmax_ops.softmax, softmax_ops.log_softmax), OperatorKernel(make=along_one_dim)),
    **dict.fromkeys((norm.layer_norm, norm.rms_norm), OperatorKernel(make=normalised)),
    norm.layer_norm_grad: OperatorKernel(_gradients(norm.layer_norm_grad, "layer_norm_backward", centred=True)),
    norm.rms_norm_grad: OperatorKernel(_gradients(norm.rms_norm_grad, "rms_norm_backward", centred=False)),
    moments.vector_norm: OperatorKernel(body=vector_norm),
}
