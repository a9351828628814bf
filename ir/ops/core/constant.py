"""Small literal arrays in a graph. Large arrays are inputs, never literals."""

import numpy as np

from ...errors import ShapeError
from ...opdef.aval import Aval
from ...opdef.batch_rules import SAME
from ...opdef.op import Template, op

LIMIT = 64   # elements; what is larger stays an input of the graph


def _infer_constant(like, *, values, shape, dtype):
    out = Aval(shape, dtype)
    if len(values) != out.size:
        raise ShapeError(f"constant of {out} takes {out.size} values, got {len(values)}")
    if out.size > LIMIT:
        raise ShapeError(f"constant of {out} has more than {LIMIT} elements; make it an input of the graph")
    return out


constant = op("constant", infer=_infer_constant,
              ref=lambda like, *, values, shape, dtype: np.array(values, dtype.np).reshape(shape), vjp=(None,),
              lower=Template("fill"), batch=SAME, traits=("exact", "float8"),
              doc="A literal array of a few elements; `like` only lends its device.")
