"""Reductions over dims: dims are sorted non-negative tuples, results keep size 1 dims when `keepdim`."""

import numpy as np

from .. import dtype as dt
from ..errors import ShapeError
from ..op import NO_GRAD, Reduce, op
from . import elementwise as ew
from .shape import expand, reshape


def reduced_shape(shape, dim, keepdim):
    """The shape that remains."""
    return tuple(1 if i in dim else n for i, n in enumerate(shape) if keepdim or i not in dim)


def kept(shape, dim):
    """The shape with reduced dims as 1."""
    return reduced_shape(shape, dim, True)


def back(g, x, dim):
    """A reduction's gradient (or result) laid out over its input again."""
    return expand(reshape(g, shape=kept(x.shape, dim)), shape=x.shape)


def _wide(fn):
    """Accumulates float16 and bfloat16 in float32."""

    def ref(x, *, dim, keepdim):
        low = x.dtype.itemsize == 2 and x.dtype.kind not in "iu"
        out = fn(x.astype(np.float32) if low else x, axis=dim, keepdims=keepdim)
        return np.asarray(out, x.dtype)

    return ref


def infer_reduce(name, gives=None, empty=True):
    def infer(x, *, dim, keepdim):
        if not empty and any(x.shape[d] == 0 for d in dim):
            raise ShapeError(f"{name} of {x} over empty dim {dim} has no value; it has no identity")
        return x.with_shape(reduced_shape(x.shape, dim, keepdim)).with_dtype(gives or x.dtype)

    return infer


sum_ = op("sum", infer=infer_reduce("sum"), ref=_wide(np.sum),
          vjp=(lambda g, out, x, *, dim, keepdim: back(g, x, dim),), lower=Reduce("sum"),
          doc="Sum; float16 and bfloat16 accumulate in float32.")


def _extreme_vjp(g, out, x, *, dim, keepdim):
    """Ties share the gradient equally."""
    hit = ew.cast(ew.eq(x, back(out, x, dim)), dtype=dt.of(x))
    share = ew.div(reshape(g, shape=kept(x.shape, dim)), sum_(hit, dim=dim, keepdim=True))
    return ew.mul(hit, expand(share, shape=x.shape))


amax = op("amax", infer=infer_reduce("amax", empty=False), ref=_wide(np.max), vjp=(_extreme_vjp,), lower=Reduce("max"),
          traits=("exact",))
amin = op("amin", infer=infer_reduce("amin", empty=False), ref=_wide(np.min), vjp=(_extreme_vjp,), lower=Reduce("min"),
          traits=("exact",))
any_ = op("any", infer=infer_reduce("any", dt.bool_), ref=lambda x, *, dim, keepdim: np.any(x, axis=dim, keepdims=keepdim),
          vjp=NO_GRAD, lower=Reduce("any"), traits=("exact",))
all_ = op("all", infer=infer_reduce("all", dt.bool_), ref=lambda x, *, dim, keepdim: np.all(x, axis=dim, keepdims=keepdim),
          vjp=NO_GRAD, lower=Reduce("all"), traits=("exact",))
