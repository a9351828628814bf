"""Triangles of matrices: masks, tril and triu, and their flat indices."""

from functools import lru_cache

import numpy as np

from ... import dtype as dt
from ...errors import ShapeError
from ...opdef.aval import Aval
from ...opdef.batch_rules import LEADING, SAME
from ...opdef.op import NO_GRAD, Composite, op
from ...opdef.param_checks import MOST, check_flag, check_int, check_sizes
from ..core import elementwise as ew
from ..core.shape import expand, iota, reshape

_KEPT = 1 << 12         # elements of masks that are kept


def _mask_body(like, *, rows, cols, offset):
    i = iota(like, shape=(rows, 1), dim=0, dtype=dt.int64)
    j = iota(like, shape=(1, cols), dim=1, dtype=dt.int64)
    return ew.le(ew.sub(expand(j, shape=(rows, cols)), expand(i, shape=(rows, cols))), offset)


def _infer_mask(like, *, rows, cols, offset):
    check_sizes((rows, cols), "triangle: rows and cols")
    check_int(offset, "triangle: offset", -MOST, MOST)
    return Aval((rows, cols), dt.bool_)


triangle = op("triangle", infer=_infer_mask,
              ref=lambda like, *, rows, cols, offset: np.tri(rows, cols, offset, dtype=np.bool_), vjp=NO_GRAD,
              lower=Composite(_mask_body), batch=SAME, traits=("exact", "ref_first"),
              doc="Whether each element of a matrix lies on or below a diagonal; `like` only lends its device.")


def _infer_part(x, *, offset, lower):
    if x.ndim < 2:
        raise ShapeError(f"a triangle needs at least 2 dimensions, got {x}")
    check_int(offset, "triangle_part: offset", -MOST, MOST)
    check_flag(lower, "triangle_part: lower")
    return x


def _part_body(x, *, offset, lower):
    rows, cols = x.shape[-2:]
    mask = reshape(triangle(x, rows=rows, cols=cols, offset=offset), shape=(*(1,) * (x.ndim - 2), rows, cols))
    mask = expand(mask, shape=tuple(x.shape))
    return ew.where(mask, x, 0) if lower else ew.where(mask, 0, x)


@lru_cache(64)
def _triangle_mask(rows, cols, offset, lower):
    mask = np.tri(rows, cols, offset, dtype=np.bool_)
    return mask if lower else ~mask


def _part(x, *, offset, lower):
    rows, cols = x.shape[-2:]
    of = _triangle_mask if rows * cols <= _KEPT else _triangle_mask.__wrapped__
    return np.where(of(rows, cols, offset, lower), x, x.dtype.type(0))


triangle_part = op("triangle_part", infer=_infer_part, ref=_part, batch=LEADING, lower=Composite(_part_body),
                   traits=("exact", "ref_first"),
                   vjp=(lambda g, out, x, *, offset, lower: triangle_part(g, offset=offset, lower=lower),),
                   doc="Matrices with zeros above a diagonal (`lower`), or on and below it.")
