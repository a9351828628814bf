"""Operators of many arrays of any shapes: their norms, and whether all elements are finite."""

import math

import numpy as np

from ... import dtype as dt
from ...errors import DTypeError, ShapeError
from ...opdef.aval import Aval
from ...opdef.op import NO_GRAD, Composite, op
from . import elementwise as ew
from .moments import vector_norm
from .reduce import all_, count_of
from .shape import cat, reshape


def _alike(name, xs) -> dt.DType:
    kinds = {x.dtype for x in xs}
    if len(kinds) != 1 or not xs[0].dtype.is_floating_point:
        raise DTypeError(f"{name} takes floating point arrays of one dtype, got {' and '.join(map(str, xs[:8]))}")
    return xs[0].dtype


def _infer_norms(*xs, ord):
    kind = _alike("norms", xs)
    if (ord < 0 or ord == math.inf) and any(count_of(x.shape, range(x.ndim)) == 0 for x in xs):
        raise ShapeError(f"norms of order {ord} of {' and '.join(map(str, xs[:8]))}: nothing is there to be the extreme")
    return Aval((len(xs),), kind)


def _all_of(x):
    return {"dim": tuple(range(len(x.shape))), "keepdim": False}


def _norms_body(*xs, ord):
    found = [reshape(vector_norm(x, ord=ord, **_all_of(x)), shape=(1,)) for x in xs]
    return cat(*found, dim=0)


norms = op("norms", infer=_infer_norms, vjp=NO_GRAD, lower=Composite(_norms_body),
           ref=lambda *xs, ord: np.stack([vector_norm.ref(x, ord=ord, **_all_of(x)) for x in xs]),
           doc="The vector norm of each array, in one array, for who looks at gradients: it has none itself.")


def _infer_finite(*xs):
    _alike("all_finite", xs)
    return Aval((), dt.bool_)


def _finite_body(*xs):
    found = [reshape(all_(ew.isfinite(x), **_all_of(x)), shape=(1,)) for x in xs]
    return all_(cat(*found, dim=0), dim=(0,), keepdim=False)


all_finite = op("all_finite", infer=_infer_finite, vjp=NO_GRAD, lower=Composite(_finite_body),
                ref=lambda *xs: np.array(all(np.isfinite(x).all() for x in xs)),
                doc="Whether no element of any array is infinite or nan.")
