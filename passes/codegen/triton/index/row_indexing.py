"""Rows by position: index tensors become row numbers; rows are gathered, scattered, or merged in order.

Kernels move bits, or fold the values of one position in order, so results do not depend on how programs are scheduled. A row
number out of range sets a status word and never reaches an address: reads take row 0 instead, writes take number R, which is no
row, and are skipped.
"""

import functools

from .....ir import dtype as dt
from .....ir.symbols.symbolic import power_of_two
from ..ir.source import BITS, Source, emit, parameters
from ..ir.spelling import TYPE, memory

BLOCK = 1024
# How a value joins the old one; nan wins.
_JOIN = {"add": "total + value", "mul": "total * value", "set": "value",
         "amax": "tl.where((value > total) | (value != value), value, total)",
         "amin": "tl.where((value < total) | (value != value), value, total)"}
_JOIN_BOOLS = {"add": "total | value", "mul": "total & value", "set": "value", "amax": "total | value", "amin": "total & value"}
# Whether a complex value replaces the old one: by the real part, then the imaginary one; the first nan stays.
_BEYOND = {mode: "(total_re == total_re) & (total_im == total_im) & "
                 f"((value_re != value_re) | (value_im != value_im) | (value_re {sign} total_re)"
                 f" | ((value_re == total_re) & (value_im {sign} total_im)))"
           for mode, sign in (("amax", ">"), ("amin", "<"))}


@functools.lru_cache(256)
def row_numbers(kinds: tuple, rank: int, wrap: bool) -> Source:
    """Return the kernel for row numbers from index tensors: sum of index * step, and of each of `rank` coordinates * stride.

        kinds   dtypes of the index tensors
        wrap    whether negative indices count from the end

    An index out of range gives the number `missing`.
    """
    pointers = {f"i{k}": kind for k, kind in enumerate(kinds)} | {"out": dt.int64, "status": dt.int32}
    sizes = [f"{what}{k}" for k in range(len(kinds)) for what in ("size", "step")]
    own = parameters(pointers, ("N", "missing", *sizes, *[f"{what}{k}" for k in range(rank) for what in ("extent", "stride")]))
    lines = ["at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)", "inside = at < N", "wrong = at < 0",
             "total = at * 0"]
    for k in range(len(kinds)):
        low = f"0 - size{k}" if wrap else "0"
        lines += [f"x{k} = tl.load(i{k} + at, inside, 0).to(tl.int64)",
                  f"wrong = wrong | (inside & ((x{k} < {low}) | (x{k} >= size{k})))",
                  f"x{k} = tl.where(x{k} < 0, x{k} + size{k}, x{k})",
                  f"total = total + x{k} * step{k}"]
    lines.append("rest = at")
    for k in range(rank - 1, -1, -1):
        lines += [f"total = total + (rest % extent{k}) * stride{k}", f"rest = rest // extent{k}"]
    lines += ["tl.store(out + at, tl.where(wrong, at * 0 + missing, total), inside)",
              "if tl.max(wrong.to(tl.int32)) > 0:", "    tl.atomic_max(status + SLOT, 1)"]
    mark = "_".join([*(k.short for k in kinds), str(rank), *(["wrapped"] if wrap else [])])
    return emit(f"row_numbers_{mark}", own, ("INDEX", "BLOCK", "SLOT"), lines)


_PLACE = ["across = tl.cdiv(C, BC)", "down = tl.cdiv(P, BP)", "program = tl.program_id(0)",
          "c = ((program % across) * BC + tl.arange(0, BC)).to(INDEX)",
          "p = ((program // across % down) * BP + tl.arange(0, BP)).to(INDEX)",
          "o = (program // across // down).to(INDEX)", "in_p = p < P", "in_c = (c < C)[None, :]"]


@functools.lru_cache(64)
def move_rows(itemsize: int, put: bool) -> Source:
    """Return the kernel out[o, p, c] = x[o, rows[p], c], or (`put`) out[o, rows[p], c] = x[o, p, c] for distinct rows that
    exist."""
    kind = BITS[itemsize]
    own = parameters({"x": kind, "rows": dt.int64, "out": kind}, "PRC")
    far, near = "(o * R + row[:, None]) * C + c[None, :]", "(o * P + p[:, None]) * C + c[None, :]"
    source, target = (near, far) if put else (far, near)
    there = "(in_p & (row < R))" if put else "in_p"
    lines = [*_PLACE, "row = tl.load(rows + p, in_p, 0).to(INDEX)", f"inside = {there}[:, None] & in_c",
             f"value = tl.load(x + ({source}), inside)", f"tl.store(out + ({target}), value, inside)"]
    return emit(f"{'put' if put else 'take'}_rows_{8 * itemsize}", own, ("INDEX", "BP", "BC"), lines)


@functools.lru_cache(64)
def merge_rows(dtype: dt.DType, mode: str, paired: bool = False) -> Source:
    """Return the kernel that joins x[o, order[p], c] into out[o, keys[p], c] for all p in turn.

    `keys` are sorted, and `order` gives their sources; `paired` packs both into one number, the key above. Complex numbers are
    pairs in memory, for multiplication and comparison; other joins treat them as real numbers.
    """
    stored = dt.PARTS.get(dtype) or memory(dtype)
    wide = dt.float32 if dtype in (dt.float16, dt.bfloat16) else stored
    pointers = {"x": stored, **({} if paired else {"order": dt.int64}), "keys": dt.uint64, "out": stored}
    key, came = (" >> 32", "tl.load(keys + q, on, 0) & 0xFFFFFFFF") if paired else ("", "tl.load(order + q, on, 0)")
    join = (_JOIN_BOOLS if dtype is dt.bool_ else _JOIN)[mode]
    parts = {"": "{}"}
    joined = {"": join}
    better = []
    if dtype.is_complex:
        parts = {"_re": "2 * ({})", "_im": "2 * ({}) + 1"}
        joined = {"_re": "total_re * value_re - total_im * value_im", "_im": "total_re * value_im + total_im * value_re"}
        if mode in _BEYOND:
            better = [f"    take = {_BEYOND[mode]}"]
            joined = {n: f"tl.where(take, value{n}, total{n})" for n in parts}
    from_x = "(o * P + at[:, None]) * C + c[None, :]"
    lines = [*_PLACE, f"key = tl.load(keys + p, in_p, 0){key}", f"before = tl.load(keys + (p - 1), in_p & (p > 0), 0){key}",
             "on = in_p & (key < R) & ((p == 0) | (key != before))", "inside = on[:, None] & in_c",
             "place = (o * R + key.to(INDEX)[:, None]) * C + c[None, :]",
             *[f"total{n} = tl.load(out + ({at.format('place')}), inside, 0).to({TYPE[wide]})" for n, at in parts.items()],
             "q = p", "while tl.max(on.to(tl.int32)) > 0:",
             f"    at = ({came}).to(INDEX)",
             *[f"    value{n} = tl.load(x + ({at.format(from_x)}), on[:, None] & in_c, 0).to({TYPE[wide]})"
               for n, at in parts.items()],
             *better, *[f"    next{n} = ({text}).to({TYPE[wide]})" for n, text in joined.items()],
             *[f"    total{n} = tl.where(on[:, None], next{n}, total{n})" for n in parts],
             "    q = q + 1", "    on = on & (q < P)", f"    following = tl.load(keys + q, on, 0){key}",
             "    on = on & (following == key)",
             *[f"tl.store(out + ({at.format('place')}), total{n}.to({TYPE[stored]}), inside)" for n, at in parts.items()]]
    name = f"merge_rows_{mode}_{dtype.short}{'_paired' if paired else ''}"
    return emit(name, parameters(pointers, "PRC"), ("INDEX", "BP", "BC"), lines)


@functools.lru_cache(64)
def concatenate(itemsize: int, count: int) -> Source:
    """Return the kernel out[o, from_j + c] = x_j[o, c] for `count` arrays x_j of rows of `width_j` elements, in rows of W."""
    kind = BITS[itemsize]
    pointers = dict.fromkeys((*[f"x{j}" for j in range(count)], "out"), kind)
    own = parameters(pointers, [*[n for j in range(count) for n in (f"n{j}", f"width{j}", f"from{j}")], "W"])
    lines = ["at = tl.program_id(0).to(INDEX) * BLOCK + tl.arange(0, BLOCK).to(INDEX)"]
    for j in range(count):
        lines += [f"v{j} = tl.load(x{j} + at, at < n{j}, 0)",
                  f"tl.store(out + (at // width{j} * W + from{j} + at % width{j}), v{j}, at < n{j})"]
    return emit(f"join_{count}_{8 * itemsize}", own, ("INDEX", "BLOCK"), lines)


def tile(positions: int, columns: int, groups: int) -> tuple:
    """Return (constants, warps, grid) of the kernels over positions, columns and groups."""
    wide = power_of_two(min(512, columns))
    tall = power_of_two(min(BLOCK // wide, positions))
    grid = groups * -(-positions // tall) * -(-columns // wide)
    return (("BP", tall), ("BC", wide)), max(1, min(8, tall * wide // 256)), (grid, 1, 1)
