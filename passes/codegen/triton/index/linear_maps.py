"""Linear maps along a dim by tables (`ir/ops/nn/linear_maps.py`)."""

import functools

from .....ir import dtype as dt
from ..ir.nest import memory
from ..ir.source import BITS, Source, emit, parameters
from ..ir.spelling import TYPE

_AT = ["at = tl.program_id(0).to(INDEX) * BLOCK + tl.arange(0, BLOCK).to(INDEX)"]


@functools.lru_cache(64)
def map_source(dtype: dt.DType, weighted: bool, skips: bool = False) -> Source:
    """Return the kernel out[o, j, c] = sum over t of weights[t, j] * x[o, places[t, j], c], added in this order.

    Without weights there is one place, whose bits are copied. With `skips`, elements of weight 0 are not read.
    """
    wide = dt.float64 if dtype is dt.float64 else dt.float32
    stored = memory(dtype) if weighted else BITS[dtype.itemsize]
    pointers = [("x", stored), ("places", dt.int64), *([("weights", wide)] if weighted else []), ("out", stored)]
    own = parameters(dict(pointers), ("TOTAL", "R", "Q", "C", "TAPS"))
    lines = [*_AT, "there = at < TOTAL", "c = at % C", "j = at // C % Q", "row = at // (C * Q) * R"]
    place = "tl.load(places + {}, there, 0).to(INDEX)"
    if weighted:
        counts = "there & (weight != 0.0)" if skips else "there"
        value = f"tl.load(x + ((row + {place.format('(t * Q + j)')}) * C + c), {counts}, 0.0).to({TYPE[wide]})"
        lines += [f"total = tl.zeros([BLOCK], {TYPE[wide]})", "for t in range(0, TAPS):",
                  "    weight = tl.load(weights + (t * Q + j), there, 0.0)", f"    total = total + {value} * weight",
                  f"tl.store(out + at, total.to({TYPE[stored]}), there)"]
    else:
        lines.append(f"tl.store(out + at, tl.load(x + ((row + {place.format('j')}) * C + c), there), there)")
    mark = dtype.short if weighted else 8 * dtype.itemsize
    return emit(f"map_{'part_' if skips else ''}{mark}", own, ("INDEX", "BLOCK"), lines)
