"""Stable sorting by index. Elements become unsigned keys that sort as they do.

Short rows are sorted by counting smaller elements; longer ones block by block, with sorted runs merged pairwise; the longest by
digits: count, add, move. Results do not depend on how programs are scheduled.

Blocks and runs hold pairs: 32 bits of the key above the place of the element, so all differ. 64-bit keys are sorted by their
low halves first, then, stably, by their high halves.
"""

import functools

from .....ir import dtype as dt
from ..ir.source import Source, emit, parameters
from ..ir.spelling import TYPE

SHORT = 256           # longest row sorted by counting
MIDDLE = 1 << 14      # longest row sorted by merging
RUN = 1024            # longest block that one program sorts
TOGETHER = 8          # elements compared with the whole row at a time
DIGIT = 4             # bits
DIGITS = 1 << DIGIT
BLOCK = 512           # elements of a program in digit passes
_KEYS = {False: dt.uint32, True: dt.uint64}


def key_dtype(kind: dt.DType) -> dt.DType:
    """Return the dtype of an element's key."""
    return _KEYS[kind.itemsize == 8]


def key_bits(kind: dt.DType) -> int:
    """Return how many low bits of the keys differ."""
    return 32 if kind.is_floating_point and kind.itemsize < 8 else 8 * kind.itemsize


@functools.lru_cache(64)
def keys(kind: dt.DType, descending: bool) -> Source:
    """Return the kernel for keys of elements: nan after every number, zeros equal."""
    memory, key = dt.uint8 if kind is dt.bool_ else kind, key_dtype(kind)
    signed = dt.int64 if key is dt.uint64 else dt.int32
    top, low = 2 ** (8 * key.itemsize - 1) - 1, f"tl.full([], {-2 ** (8 * key.itemsize - 1)}, {TYPE[signed]})"
    most = f"tl.full([], {top}, {TYPE[signed]})"
    lines = ["at = tl.program_id(0).to(INDEX) * BLOCK + tl.arange(0, BLOCK)", "inside = at < N",
             "v = tl.load(x + at, inside, 0)"]
    if kind.is_floating_point:
        lines += [f"v = v.to({TYPE[dt.float64 if signed is dt.int64 else dt.float32]})",
                  f"k = v.to({TYPE[signed]}, bitcast=True)", "k = tl.where(v == 0, 0, k)",
                  f"k = tl.where(k < 0, k ^ {most}, k)",
                  f"k = tl.where(v != v, {most}, k)"]
    elif kind is dt.uint64 or kind is dt.uint32:
        lines += [f"k = v.to({TYPE[signed]}, bitcast=True) ^ {low}"]
    else:
        lines += [f"k = v.to({TYPE[signed]})"]
    if descending:
        lines += ["k = k ^ -1"]
    cut = key_bits(kind)
    lines += [f"k = k ^ {low}" if cut == 8 * key.itemsize else f"k = k + {2 ** (cut - 1) if kind.is_signed else 0}"]
    if cut < 8 * key.itemsize:
        lines += [f"k = k & {2 ** cut - 1}"]
    lines += [f"tl.store(out + at, k.to({TYPE[key]}, bitcast=True), inside)"]
    own = parameters({"x": memory, "out": key}, "N")
    return emit(f"keys_{kind.short}{'_down' if descending else ''}", own, ("INDEX", "BLOCK"), lines)


@functools.lru_cache(8)
def ranked(key: dt.DType) -> Source:
    """Return the kernel for the first K of each row of keys in order, as indices: each element counts the smaller ones."""
    lines = ["row = tl.program_id(0).to(INDEX)", "i = tl.arange(0, LENGTH)", "inside = i < N",
             "mine = tl.load(keys + (row * N + i), inside, 0)", "rank = tl.zeros([LENGTH], tl.int32)",
             "for start in range(0, N, STEP):", "    j = start + tl.arange(0, STEP)",
             "    other = tl.load(keys + (row * N + j), j < N, 0)",
             "    first = (other[None, :] < mine[:, None]) | ((other[None, :] == mine[:, None]) & (j[None, :] < i[:, None]))",
             "    rank += tl.sum((first & (j < N)[None, :]).to(tl.int32), 1)",
             "tl.store(out + (row * K + rank), i.to(tl.int64), inside & (rank < K))"]
    return emit(f"ranked_{key.short}", parameters({"keys": key, "out": dt.int64}, "NK"), ("INDEX", "LENGTH", "STEP"), lines)


WHOLE, LOW, HIGH = "whole", "low", "high"
_HALF = {WHOLE: "key", LOW: "key & 0xFFFFFFFF", HIGH: "key >> 32"}
_PAIRS = {"pairs": dt.uint64}


def _last(value, at, inside, composed) -> list:
    """Return lines that store the source place of a pair's element."""
    lines = [f"came = ({value} & 0xFFFFFFFF).to(tl.int64)"]
    if composed:
        lines.append(f"came = tl.load(order + (row * N + came), {inside}, 0)")
    return [*lines, f"tl.store(out + (row * N + {at}), came, {inside})"]


@functools.lru_cache(16)
def blocks(key: dt.DType, half: str, last: bool) -> Source:
    """Return the kernel that sorts the pairs of each block of LENGTH, of one half of the keys; the high half in the order of
    the low one. `last`: a row is one block, and only places are stored."""
    lines = ["row = tl.program_id(1).to(INDEX)", "at = (tl.program_id(0) * LENGTH + tl.arange(0, LENGTH)).to(INDEX)",
             "inside = at < N"]
    lines += ["came = tl.load(order + (row * N + at), inside, 0)"] if half == HIGH else []
    lines += [f"key = tl.load(keys + (row * N + {'came' if half == HIGH else 'at'}), inside, 0).to(tl.uint64)",
              f"pair = (({_HALF[half]}) << 32) | at.to(tl.uint64)",
              "pair = tl.sort(tl.where(inside, pair, tl.full([LENGTH], 0xFFFFFFFFFFFFFFFF, tl.uint64)))"]
    lines += _last("pair", "at", "inside", half == HIGH) if last else ["tl.store(pairs + (row * N + at), pair, inside)"]
    pointers = {"keys": key, **({"order": dt.int64} if half == HIGH else {}), **({"out": dt.int64} if last else _PAIRS)}
    name = f"sort_blocks_{key.short}_{half}{'_last' if last else ''}"
    return emit(name, parameters(pointers, "N"), ("INDEX", "LENGTH"), lines)


@functools.lru_cache(16)
def merged(last: bool, composed: bool) -> Source:
    """Return the kernel that merges two adjacent runs of LENGTH pairs: each pair searches the other run for its rank."""
    lines = ["row = tl.program_id(1).to(INDEX)", "at = (tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)).to(INDEX)",
             "inside = at < N", "mine = tl.load(pairs + (row * N + at), inside, 0)", "run = at // LENGTH",
             "first = run // 2 * 2 * LENGTH", "other = first + (1 - run % 2) * LENGTH", "low = at * 0",
             "high = tl.maximum(tl.minimum(N - other, LENGTH), 0).to(INDEX)", "for _ in range(STEPS):",
             "    middle = (low + high) // 2", "    on = inside & (low < high)",
             "    before = tl.load(pairs + (row * N + other + middle), on, 0) < mine",
             "    low = tl.where(on & before, middle + 1, low)", "    high = tl.where(on & (before == 0), middle, high)",
             "place = first + at % LENGTH + low"]
    lines += _last("mine", "place", "inside", composed) if last else ["tl.store(out + (row * N + place), mine, inside)"]
    pointers = {**_PAIRS, **({"order": dt.int64} if composed else {}), "out": dt.int64 if last else dt.uint64}
    name = f"merge_runs{'_last' if last else ''}{'_composed' if composed else ''}"
    return emit(name, parameters(pointers, "N"), ("INDEX", "BLOCK", "LENGTH", "STEPS"), lines)


_DIGITS = ["row = tl.program_id(1).to(INDEX)", "block = tl.program_id(0).to(INDEX)", "blocks = tl.cdiv(N, BLOCK)",
           "at = block * BLOCK + tl.arange(0, BLOCK)", "inside = at < N", "key = tl.load(keys + (row * N + at), inside, 0)",
           "digit = ((key >> SHIFT) & 15).to(tl.int32)", "all_digits = tl.arange(0, 16)",
           "mine = ((digit[:, None] == all_digits[None, :]) & inside[:, None]).to(tl.int32)",
           "slot = (row * 16 + all_digits) * blocks + block"]


@functools.lru_cache(8)
def counted(key: dt.DType) -> Source:
    """Return the kernel counts[row, digit, block]: keys of a block with each digit."""
    lines = [*_DIGITS, "tl.store(counts + slot, tl.sum(mine, 0))"]
    own = parameters({"keys": key, "counts": dt.int32}, "N")
    return emit(f"count_digits_{key.short}", own, ("INDEX", "BLOCK", "SHIFT"), lines)


@functools.lru_cache(1)
def added() -> Source:
    """Return the kernel that turns counts into starts: prefix sums, row by row."""
    lines = ["row = tl.program_id(0).to(INDEX)", "carry = tl.sum(tl.zeros([BLOCK], tl.int32))",
             "for start in range(0, N, BLOCK):", "    at = start + tl.arange(0, BLOCK)",
             "    count = tl.load(counts + (row * N + at), at < N, 0)", "    upto = tl.cumsum(count, 0)",
             "    tl.store(counts + (row * N + at), upto - count + carry, at < N)", "    carry += tl.sum(count)"]
    return emit("add_counts", parameters({"counts": dt.int32}, "N"), ("INDEX", "BLOCK"), lines)


@functools.lru_cache(16)
def spread(key: dt.DType, first: bool) -> Source:
    """Return the kernel that moves keys and their source places (their own in the first pass) by one digit."""
    came = "at.to(tl.int64)" if first else "tl.load(order + (row * N + at), inside, 0)"
    lines = [*_DIGITS, "start = tl.load(counts + slot)",
             "place = tl.sum((tl.cumsum(mine, 0) - mine + start[None, :]) * mine, 1)",
             f"came = {came}", "tl.store(keys_out + (row * N + place), key, inside)",
             "tl.store(order_out + (row * N + place), came, inside)"]
    own = parameters({"keys": key, **({} if first else {"order": dt.int64}), "counts": dt.int32, "keys_out": key,
                      "order_out": dt.int64}, "N")
    return emit(f"spread_digits_{key.short}{'_first' if first else ''}", own, ("INDEX", "BLOCK", "SHIFT"), lines)


@functools.lru_cache(16)
def searched(key: dt.DType, right: bool, shared: bool) -> Source:
    """Return the kernel that finds each value's key in a sorted row of keys; `shared` means one row for all."""
    before = "<=" if right else "<"
    lines = ["at = tl.program_id(0).to(INDEX) * BLOCK + tl.arange(0, BLOCK)", "inside = at < N",
             "wanted = tl.load(x + at, inside, 0)",
             "base = at * 0" if shared else "base = at // W * L", "low = at * 0", "high = low + L",
             "while tl.max((low < high).to(tl.int32)) > 0:", "    middle = (low + high) // 2", "    on = low < high",
             "    found = tl.load(keys + (base + middle), inside & on, 0)", f"    go = found {before} wanted",
             "    low = tl.where(on & go, middle + 1, low)", "    high = tl.where(on & (go == 0), middle, high)",
             "tl.store(out + at, low.to(tl.int64), inside)"]
    name = f"search_{key.short}{'_right' if right else ''}{'_shared' if shared else ''}"
    return emit(name, parameters({"keys": key, "x": key, "out": dt.int64}, "NLW"), ("INDEX", "BLOCK"), lines)
