"""Class targets of losses: checks, class weights, and each row's element at its class.

Rows are (N, ...) and classes are between: element (n, c, s) of logits is at (n * C + c) * S + s. A target that is no class sets
a status word, and never reaches an address.
"""

import functools

from .....ir import dtype as dt
from ..ir.source import Source, emit, parameters
from ..ir.spelling import TYPE

_FLAT = ["at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)", "inside = at < ROWS",
         "x = tl.load(target + at, inside, 0).to(tl.int64)"]
_CHECK = ["wrong = inside & (x != IGNORED) & ((x < 0) | (x >= CLASSES))", "if tl.max(wrong.to(tl.int32)) > 0:",
          "    tl.atomic_max(status + SLOT, 1)"]
_IS_CLASS = "there = inside & (x >= 0) & (x < CLASSES)"


def _memory(dtype):
    return dt.uint8 if dtype is dt.bool_ else dtype


@functools.lru_cache(64)
def checked(target: dt.DType) -> Source:
    """Return the kernel for targets as int64, after a check that all are classes or the ignored one."""
    own = parameters({"target": target, "out": dt.int64, "status": dt.int32}, ("ROWS", "CLASSES", "IGNORED"))
    return emit(f"classes_{target.short}", own, ("INDEX", "BLOCK", "SLOT"),
                [*_FLAT, *_CHECK, "tl.store(out + at, x, inside)"])


@functools.lru_cache(64)
def weights(target: dt.DType, dtype: dt.DType, weighted: bool) -> Source:
    """Return the kernel for each row's class weight (1 without weights), 0 for rows of the ignored class."""
    pointers = {"target": target, **({"weight": dtype} if weighted else {}), "out": dtype, "status": dt.int32}
    weight = "tl.load(weight + tl.where(kept, x, 0), kept, 0)" if weighted else f"kept.to({TYPE[dtype]})"
    return emit(f"class_weight_{target.short}_{dtype.short}{'_weighted' if weighted else ''}",
                parameters(pointers, ("ROWS", "CLASSES", "IGNORED")), ("INDEX", "BLOCK", "SLOT"),
                [*_FLAT, *_CHECK, _IS_CLASS, "kept = there & (x != IGNORED)", f"tl.store(out + at, {weight}, inside)"])


@functools.lru_cache(64)
def taken(target: dt.DType, dtype: dt.DType) -> Source:
    """Return the kernel for each row's element at its class; 0 if the target is no class."""
    kind = _memory(dtype)
    own = parameters({"x": kind, "target": target, "out": kind}, ("ROWS", "CLASSES", "INNER"))
    flat = [line.replace("x = ", "c = ") for line in _FLAT]
    return emit(f"take_class_{target.short}_{dtype.short}", own, ("INDEX", "BLOCK"),
                [*flat, _IS_CLASS.replace("x ", "c "),
                 "place = (at // INNER * CLASSES + tl.where(there, c, 0)) * INNER + at % INNER",
                 "tl.store(out + at, tl.load(x + place, there, 0), inside)"])


@functools.lru_cache(64)
def put(target: dt.DType, dtype: dt.DType) -> Source:
    """Return the kernel for zeros with each row's value at its class."""
    kind = _memory(dtype)
    own = parameters({"v": kind, "target": target, "out": kind}, ("TOTAL", "CLASSES", "INNER"))
    return emit(f"put_class_{target.short}_{dtype.short}", own, ("INDEX", "BLOCK"),
                ["at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)", "inside = at < TOTAL",
                 "row = at // (CLASSES * INNER) * INNER + at % INNER",
                 "hit = inside & (tl.load(target + row, inside, 0).to(tl.int64) == at // INNER % CLASSES)",
                 "tl.store(out + at, tl.load(v + row, hit, 0), inside)"])
