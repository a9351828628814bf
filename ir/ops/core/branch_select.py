"""Selection of one of two whole values: a branch whose sides were both computed."""

import numpy as np

from ... import dtype as dt
from ...errors import DTypeError, ShapeError
from ...opdef.aval import same_shape
from ...opdef.op import Composite, op
from . import elementwise as ew


def _infer(pred, x, y):
    if pred.dtype is not dt.bool_ or pred.shape:
        raise DTypeError(f"choose takes a bool without dimensions, got {pred}")
    if x.dtype is not y.dtype or not same_shape(x.shape, y.shape):
        raise ShapeError(f"choose takes two values of one kind, got {x} and {y}")
    return x


choose = op("choose", infer=_infer, ref=lambda pred, x, y: np.array(x if pred else y),
            vjp=(None, lambda g, out, pred, x, y: ew.where(pred, g, 0.0), lambda g, out, pred, x, y: ew.where(pred, 0.0, g)),
            lower=Composite(lambda pred, x, y: ew.where(pred, x, y)), traits=("exact",),
            doc="x if the bool holds, else y: two tensors of one shape and dtype.")
