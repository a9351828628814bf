"""LU factors with partial pivoting: one program factors a small matrix or a short panel in registers, or a long panel in place.

Another kernel exchanges the rows of the other columns. A pivot is the first of the largest elements of a column; nan is chosen
only if there is nothing else.
"""

import functools

from .....ir import dtype as dt
from .....ir.symbols.symbolic import power_of_two
from ..ir.source import BITS, Source, emit, parameters
from ..ir.spelling import TYPE
from .triangular import quotient, strides

WHOLE = 64          # rows and columns of a matrix that one program factors
PANEL = 32          # columns of a panel
HELD = {dt.float32: 8192, dt.float64: 4096}     # elements of a panel in registers
TALL = {dt.float32: 256, dt.float64: 64}         # rows of a long panel taken at a time
EXCHANGED = 64      # pivots of one launch that exchanges rows
_SIZES = ("M", "N", "K", "start")


def _sized(column: str, on: str) -> list:
    """Return lines for `size`, the pivot order of a column's elements."""
    return [f"size = tl.abs({column})", "size = tl.where(size == size, size, -1.0)", f"size = tl.where({on}, size, -2.0)"]


_NOTED = ["bad = tl.where(bad > 0, bad + start, bad).to(tl.int32)",
          "tl.store(info + batch, tl.where(before == 0, bad, before))"]
_BEGIN = ["batch = tl.program_id(0).to(INDEX)", "pivots += batch * K + start", "steps = tl.minimum(M, N)", "bad = N * 0"]


def _parameters(kind, *pointers) -> list:
    arrays = dict.fromkeys(pointers, kind) | {"pivots": dt.int32, "info": dt.int32}
    return parameters(arrays, (*_SIZES, *strides(*pointers)))


@functools.lru_cache(8)
def held(kind: dt.DType, first: bool) -> Source:
    """Return the kernel out = the factors of M rows and N columns of x, in place if x is out. K pivots of each matrix are
    written from `start` on, and info, unless it is set already (`first`: it is not)."""
    before = "batch.to(tl.int32) * 0" if first else "tl.load(info + batch)"
    lines = [*_BEGIN, "i = tl.arange(0, BM).to(INDEX)", "r = i[:, None]", "c = tl.arange(0, BN).to(INDEX)[None, :]",
             "inside = (r < M) & (c < N)", "v = tl.load(x + (batch * x_b + r * x_r + c * x_c), inside, 0)",
             f"before = {before}", "for k in range(0, steps):",
             *["    " + line for line in (
                 "column = tl.sum(tl.where(c == k, v, 0.0), 1)", *_sized("column", "(i >= k) & (i < M)"),
                 "at = M - tl.max(tl.where(size == tl.max(size, 0), M - i, 0), 0)",
                 "mine = tl.sum(tl.where(r == k, v, 0.0), 0)", "line = tl.sum(tl.where(r == at, v, 0.0), 0)",
                 "own = tl.sum(tl.where(i == k, column, 0.0), 0)", "pivot = tl.sum(tl.where(i == at, column, 0.0), 0)",
                 "v = tl.where(r == k, line[None, :], tl.where(r == at, mine[None, :], v))",
                 "bad = tl.where((bad == 0) & (pivot == 0), k + 1, bad)",
                 "column = tl.where(i == at, own, column)",
                 f"column = {quotient(kind, 'column', 'tl.where(pivot == 0, 1.0, pivot)')}",
                 "rest = v - column[:, None] * line[None, :]",
                 "v = tl.where((r > k) & (c > k), rest, tl.where((r > k) & (c == k), column[:, None], v))",
                 "tl.store(pivots + k, (at + start + 1).to(tl.int32))")],
             "tl.debug_barrier()", "tl.store(out + (batch * out_b + r * out_r + c * out_c), v, inside)", *_NOTED]
    return emit(f"lu_{kind.short}{'' if first else '_panel'}", _parameters(kind, "x", "out"), ("INDEX", "BM", "BN"), lines)


@functools.lru_cache(8)
def tall(kind: dt.DType) -> Source:
    """Return the kernel for a panel in place, of any number of rows: a column subtracts the products of all before it at its
    turn, then a row does. Barriers separate stores of one warp from loads of others."""
    lines = [*_BEGIN, "a += batch * a_b", "j = tl.arange(0, BN).to(INDEX)", "t = tl.arange(0, BN).to(INDEX)",
             "before = tl.load(info + batch)", "for k in range(0, steps):",
             "    over = tl.load(a + (j * a_r + k * a_c), j < k, 0)",
             f"    best = tl.full([], -2.0, {TYPE[kind]})", "    at = k + N * 0",
             "    for first in range(k // BM * BM, M, BM):",
             *["        " + line for line in (
                 "i = first + tl.arange(0, BM).to(INDEX)", "on = (i >= k) & (i < M)",
                 "left = tl.load(a + (i[:, None] * a_r + j[None, :] * a_c), on[:, None] & (j < k)[None, :], 0)",
                 "column = tl.load(a + (i * a_r + k * a_c), on, 0) - tl.sum(left * over[None, :], 1)",
                 "tl.debug_barrier()", "tl.store(a + (i * a_r + k * a_c), column, on)", *_sized("column", "on"),
                 "top = tl.max(size, 0)",
                 "there = M - tl.max(tl.where(size == top, M - i, 0), 0)", "at = tl.where(top > best, there, at)",
                 "best = tl.where(top > best, top, best)")],
             *["    " + line for line in (
                 "tl.debug_barrier()", "mine = tl.load(a + (k * a_r + j * a_c), j < N, 0)",
                 "line = tl.load(a + (at * a_r + j * a_c), j < N, 0)", "tl.debug_barrier()",
                 "tl.store(a + (at * a_r + j * a_c), mine, j < N)", "tl.debug_barrier()",
                 "tl.store(a + (k * a_r + j * a_c), line, j < N)", "tl.debug_barrier()",
                 "before_k = tl.load(a + (k * a_r + t * a_c), t < k, 0)", "after_k = (j > k) & (j < N)",
                 "square = (t < k)[:, None] & after_k[None, :]",
                 "above = tl.load(a + (t[:, None] * a_r + j[None, :] * a_c), square, 0)",
                 "line = line - tl.sum(before_k[:, None] * above, 0)",
                 "tl.store(a + (k * a_r + j * a_c), line, after_k)",
                 "pivot = tl.load(a + (k * a_r + k * a_c))", "bad = tl.where((bad == 0) & (pivot == 0), k + 1, bad)",
                 "pivot = tl.where(pivot == 0, 1.0, pivot)", "tl.store(pivots + k, (at + start + 1).to(tl.int32))",
                 "for first in range(k // BM * BM, M, BM):")],
             *["        " + line for line in (
                 "i = first + tl.arange(0, BM).to(INDEX)", "on = (i > k) & (i < M)",
                 "column = tl.load(a + (i * a_r + k * a_c), on, 0)", "tl.debug_barrier()",
                 f"tl.store(a + (i * a_r + k * a_c), {quotient(kind, 'column', 'pivot')}, on)")],
             "    tl.debug_barrier()", *_NOTED]
    return emit(f"lu_tall_{kind.short}", _parameters(kind, "a"), ("INDEX", "BM", "BN"), lines)


@functools.lru_cache(8)
def exchanged(itemsize: int) -> Source:
    """Return the kernel that exchanges row `start` + k of x with that of its pivot, for N of the K pivots of each matrix, in
    order, in C columns without those from `low` to `high`. Final rows are found before anything moves."""
    kind = BITS[itemsize]
    lines = ["across = tl.cdiv(C, BC)", "batch = (tl.program_id(0) // across).to(INDEX)",
             "c = ((tl.program_id(0) % across) * BC + tl.arange(0, BC)).to(INDEX)[None, :]",
             "j = tl.arange(0, 2 * BN).to(INDEX)", "step = tl.where(j < BN, j, j - BN)", "on = step < N",
             "chosen = tl.load(pivots + (batch * K + start + step), on, 0).to(INDEX) - 1",
             "place = tl.where(j < BN, step + start, chosen)", "source = place", "moves = on", "for k in range(0, N):",
             "    target = tl.sum(tl.where(j == BN + k, place, 0), 0)", "    same = on & (place == target)",
             "    mine = tl.sum(tl.where(j == k, source, 0), 0)", "    theirs = tl.max(tl.where(same, source, -1), 0)",
             "    earlier = tl.max((same & (j < BN + k)).to(tl.int32), 0)",
             "    moves = moves & ((j != BN + k) | (earlier == 0))",
             "    source = tl.where(on & (place == start + k), theirs, tl.where(same, mine, source))",
             "x += batch * x_b", "moved = moves[:, None] & (c < C) & ((c < low) | (c >= high))",
             "v = tl.load(x + (source[:, None] * x_r + c * x_c), moved, 0)", "tl.debug_barrier()",
             "tl.store(x + (place[:, None] * x_r + c * x_c), v, moved)"]
    own = parameters({"x": kind, "pivots": dt.int32}, ("N", "K", "C", "start", "low", "high", *strides("x")))
    return emit(f"exchange_rows_{8 * itemsize}", own, ("INDEX", "BN", "BC"), lines)


def tile(kind: dt.DType, m: int, n: int) -> tuple:
    """Return (constants, warps) of `held`."""
    rows, columns = power_of_two(m), power_of_two(n)
    return (("BM", rows), ("BN", columns)), max(1, min(8, rows * columns * kind.itemsize // 4096))
