"""Grouped products: one matrix for each segment of rows, or one product for each segment of the depth.

Only the device knows the ends of groups. For groups of rows there are as many programs as there could be tiles: each counts the
tiles of the groups before its own. Rows after the last group form one more group, of depth 0. For groups of the depth, each
program makes a tile of one group's product; its factors must not be contiguous along the depth, since group ends would cut
their vectors. Ends that do not rise set a status word, and nothing is added.
"""

import functools

from .....ir import dtype as dt
from ..ir.source import POINTER, SIZE, Parameter, Source, emit, stated_dot
from ..ir.spelling import TYPE
from . import matmul, prologue

CONSTANTS = ("INDEX", "BM", "BN", "BK", "GROUP", "SLOT", "GROUPS")
AT_ONCE = 256       # groups that a program examines together

_FIND = '''row_tile, column_tile = tile // across, tile % across
group, wrong = 0, 0
none = tl.full([], 0, tl.int64)
start, stop, before, rows = none, none, none, none + M
for first in range(0, COUNT + 1, GROUPS):
    g = first + tl.arange(0, GROUPS)
    end = tl.where(g < COUNT, tl.load(ends + g, g < COUNT, 0).to(tl.int64), rows)
    begin = tl.where(g <= COUNT, tl.load(ends + (g - 1), (g > 0) & (g <= COUNT), 0).to(tl.int64), rows)
    wrong += tl.sum(((g <= COUNT) & ((begin > end) | (begin < 0))).to(tl.int32))
    tiles = tl.cdiv(tl.maximum(end - begin, 0), BM)
    upto = before + tl.cumsum(tiles, 0)
    mine = (upto > row_tile) & (upto - tiles <= row_tile)
    group += tl.sum(tl.where(mine, g, 0))
    start += tl.sum(tl.where(mine, begin + (row_tile - upto + tiles) * BM, none))
    stop += tl.sum(tl.where(mine, end, none))
    before += tl.sum(tiles)
if wrong > 0:
    tl.atomic_max(status + SLOT, 1)
row = (start + tl.arange(0, BM)).to(INDEX)
below = (row < stop) & (wrong == 0)
batch = group.to(INDEX)
shallow, deep = none, tl.where(group < COUNT, none + K, none)
'''

_CUT = '''batch = (tile // (across * tl.cdiv(M, BM))).to(INDEX)
row_tile, column_tile = tile // across % tl.cdiv(M, BM), tile % across
deep = tl.load(ends + batch).to(tl.int64)
shallow = tl.load(ends + (batch - 1), batch > 0, 0).to(tl.int64)
wrong = (deep > K) | (shallow > deep) | (shallow < 0)
if wrong:
    tl.atomic_max(status + SLOT, 1)
shallow, deep = tl.where(wrong, 0, shallow), tl.where(wrong, 0, deep)
row = (row_tile * BM + tl.arange(0, BM)).to(INDEX)
below = row < M
'''

_MULTIPLY = '''column = (column_tile * BN + tl.arange(0, BN)).to(INDEX)
total = tl.zeros([BM, BN], {wide})
for from_k in range(shallow, deep, BK):
    at_k = (from_k + tl.arange(0, BK)).to(INDEX)
{factors}
    total = tl.dot(x_tile, y_tile, total{stated})
place = z + ({z_batch}row[:, None]{z_row} + column[None, :]{z_column})
tl.store(place, total.to({narrow}), below[:, None] & (column[None, :] < N))
'''


@functools.lru_cache(256)
def source(kind: dt.DType, ends: dt.DType, precision: str, units: tuple, depth: bool) -> Source:
    """Return the file for products of a dtype. `units` says which of the last two strides of x, of y and of the result is 1,
    `depth` whether groups are segments of the depth."""
    x = prologue.loaded("x", kind, units[0], ("row[:, None]", "below[:, None]"), ("at_k[None, :]", "(at_k[None, :] < deep)"),
                        Parameter("x", POINTER, kind))
    y = prologue.loaded("y", kind, units[1], ("at_k[:, None]", "(at_k[:, None] < deep)"),
                        ("column[None, :]", "(column[None, :] < N)"), Parameter("y", POINTER, kind))
    terms = [("s_zb", "batch * s_zb + "), ("s_zm", " * s_zm"), ("s_zn", " * s_zn")]
    is_parameter = [depth, *[not unit for unit in units[2]]]
    wide = dt.float64 if kind is dt.float64 else dt.float32
    lines = ["tile = tl.program_id(0)", "across = tl.cdiv(N, BN).to(tl.int32)", *(_CUT if depth else _FIND).splitlines()]
    body = _MULTIPLY.format(wide=TYPE[wide], narrow=TYPE[kind], stated=stated_dot(kind, precision),
                            factors="\n".join(f"    {line}" for line in (*x.lines, *y.lines)),
                            **{name: text if there else "" for name, (_, text), there
                               in zip(("z_batch", "z_row", "z_column"), terms, is_parameter)})
    pointers = (*x.pointers, *y.pointers, Parameter("ends", POINTER, ends), Parameter("z", POINTER, kind),
                Parameter("status", POINTER, dt.int32))
    names = ["M", "N", "K", *([] if depth else ["COUNT"])]
    sizes = [Parameter(n, SIZE) for n in (*names, *[s for (s, _), there in zip(terms, is_parameter) if there])]
    mark = "_".join("".join("1" if u else "s" for u in pair) for pair in units)
    name = f"grouped_{'depth' if depth else 'rows'}_{kind.short}_{ends.short}_{mark}"
    name += "" if precision == "ieee" else "_" + precision
    return emit(name, (*pointers, *sizes, *x.sizes, *y.sizes), CONSTANTS, [*lines, *body.splitlines()])


def candidates(kind: dt.DType, sizes: tuple, groups: int, depth: bool, fast: bool, shared: int) -> list:
    """Return tiles worth trying for groups of average size, the default first."""
    m, n, k = sizes
    rows, deep = (m, -(-k // groups)) if depth else (-(-m // groups), k)
    return matmul.candidates(kind, rows, n, deep, fast, shared, batch=groups)


def programs(m: int, n: int, groups: int, depth: bool, chosen: matmul.Tiles) -> int:
    """Return the programs that cover the result, for any ends of groups."""
    rows = -(-m // chosen.m) * groups if depth else -(-m // chosen.m) + groups
    return rows * -(-n // chosen.n)
