"""Checks of numbers in memory: a kernel sets a status word if one of them is invalid, and the host raises the error."""

import functools

from .....ir import dtype as dt
from ..ir.source import Source, emit, parameters

# Conditions of invalid values, by the role of the number.
_WRONG = {"divisor": "x == 0", "length": "x < 0", "rate": "~(x >= 0)", "concentration": "~(x > 0)",
          "count": "~((x >= 0) & (x < float('inf')) & (x == tl.floor(x)))", "probability": "~((x >= 0) & (x <= 1))",
          "fault": "x > 0"}


@functools.lru_cache(64)
def check_values(dtype: dt.DType, what: str) -> Source:
    """Return the kernel that sets a status word if a number is invalid as a divisor (a length, a rate ...)."""
    wide = ".to(tl.float32)" if dtype in (dt.float16, dt.bfloat16) else ""
    lines = ["at = tl.program_id(0).to(INDEX) * BLOCK + tl.arange(0, BLOCK).to(INDEX)", "there = at < TOTAL",
             f"x = tl.load(numbers + at, there, 1){wide}",
             f"wrong = there & ({_WRONG[what]})",
             "if tl.max(wrong.to(tl.int32)) > 0:", "    tl.atomic_max(status + SLOT, 1)"]
    own = parameters({"numbers": dtype, "status": dt.int32}, ["TOTAL"])
    return emit(f"noted_{what}_{dtype.short}", own, ("INDEX", "BLOCK", "SLOT"), lines)
