"""The triangles of matrices, as masks."""

import numpy as np

from .. import dtype as dt
from ..aval import Aval
from ..batch import SAME
from ..op import NO_GRAD, Composite, op
from . import elementwise as ew
from .shape import expand, iota


def _mask_body(like, *, rows, cols, offset):
    i = iota(like, shape=(rows, 1), dim=0, dtype=dt.int64)
    j = iota(like, shape=(1, cols), dim=1, dtype=dt.int64)
    return ew.le(ew.sub(expand(j, shape=(rows, cols)), expand(i, shape=(rows, cols))), offset)


triangle = op("triangle", infer=lambda like, *, rows, cols, offset: Aval((rows, cols), dt.bool_),
              ref=lambda like, *, rows, cols, offset: np.tri(rows, cols, offset, dtype=np.bool_), vjp=NO_GRAD,
              lower=Composite(_mask_body), batch=SAME, traits=("exact", "ref_first"),
              doc="Whether each element of a matrix lies on or below a diagonal; `like` only lends its device.")
