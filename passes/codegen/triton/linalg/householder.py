"""Householder reflections: one program factors a small matrix or a short panel in registers, or a long panel in place.

Signs are LAPACK's: H = I - tau v v^T with v = 1 on the diagonal maps a column to -sign(its first element) times its length. A
column with zeros below the diagonal stays, with tau = 0. Further results are V, with ones and zeros on and above its diagonal,
and T: all reflections are I - V T V^T.
"""

import functools

from .....ir import dtype as dt
from ..ir.source import Source, emit, parameters
from ..ir.spelling import TYPE
from .triangular import quotient, strides

PANEL = 32                                      # columns of a panel
HELD = {dt.float32: 8192, dt.float64: 4096}     # elements of a panel in registers
TALL = {dt.float32: 256, dt.float64: 64}        # rows of a long panel taken at a time


def warps(kind: dt.DType, rows: int, columns: int) -> int:
    """Return the warps of a program that holds a panel."""
    return max(1, min(8, rows * columns * kind.itemsize // 4096))


def _root(kind, x) -> str:
    return f"tl.sqrt_rn({x})" if kind is dt.float32 else f"tl.sqrt({x})"


def _reflection(kind) -> list:
    """Return lines that compute, from `alpha`, `nothing` (whether all below is zero), `top` (the largest element) and `squares`
    (scaled by it), the reflection's `factor`, the new `alpha` (`beta`) and the `divisor` of the elements below."""
    return [f"length = top * {_root(kind, 'squares')}", "beta = tl.where(alpha < 0, length, 0.0 - length)",
            "safe = tl.where(nothing, 1.0, beta)",
            f"factor = tl.where(nothing, 0.0, {quotient(kind, '(beta - alpha)', 'safe')})",
            "divisor = tl.where(nothing, 1.0, alpha - beta)", "beta = tl.where(nothing, alpha, beta)",
            "tl.store(tau + k, factor)"]


# Column k of T, from the products of v and the vectors before it.
_COLUMN_OF_T = ["before = tl.where(q < k, t * line[None, :], 0.0)", "before = 0.0 - factor * tl.sum(before, 1)",
                "before = tl.where(p < k, before[:, None], tl.where(p == k, factor, 0.0))",
                "t = tl.where(q == k, before, t)"]
_PLACES = ["batch = tl.program_id(0).to(INDEX)", "tau += batch * K + start", "steps = tl.minimum(M, N)",
           "p = tl.arange(0, BN).to(INDEX)[:, None]", "q = tl.arange(0, BN).to(INDEX)[None, :]"]
_STORE_T = "tl.store(turns + (batch * N * N + p * N + q), t, (p < N) & (q < N))"


def _stored_v(kind) -> str:
    return f"tl.store(vectors + ((batch * M + r) * N + c), tl.where(r > c, v, (r == c).to({TYPE[kind]})), inside)"


def _parameters(kind, *matrices) -> list:
    pointers = dict.fromkeys((*matrices, "tau", "vectors", "turns"), kind)
    return parameters(pointers, ("M", "N", "K", "start", *strides(*matrices)))


@functools.lru_cache(8)
def held(kind: dt.DType) -> Source:
    """Return the kernel out = R and below it the vectors of M rows and N columns of x, in place if x is out. taus are written
    from place `start` on of K; `vectors` (M, N) is V, `turns` (N, N) is T."""
    lines = [*_PLACES, "i = tl.arange(0, BM).to(INDEX)", "r = i[:, None]", "c = q", "inside = (r < M) & (c < N)",
             "v = tl.load(x + (batch * x_b + r * x_r + c * x_c), inside, 0)", f"t = tl.zeros([BN, BN], {TYPE[kind]})",
             "for k in range(0, steps):",
             *["    " + line for line in (
                 "column = tl.sum(tl.where(c == k, v, 0.0), 1)", "alpha = tl.sum(tl.where(i == k, column, 0.0), 0)",
                 "column = tl.where(i >= k, column, 0.0)", "size = tl.where(column == column, tl.abs(column), 1.0)",
                 "nothing = tl.max(tl.where(i > k, size, 0.0), 0) == 0", "top = tl.max(size, 0)",
                 "top = tl.where(top == 0, 1.0, top)", f"size = {quotient(kind, 'column', 'top')}",
                 "squares = tl.sum(size * size, 0)", *_reflection(kind),
                 f"column = tl.where(i == k, 1.0, {quotient(kind, 'column', 'divisor')})",
                 "line = tl.sum(tl.where(r >= k, column[:, None] * v, 0.0), 0)", *_COLUMN_OF_T,
                 "rest = v - factor * (column[:, None] * line[None, :])",
                 "own = tl.where(r == k, beta, column[:, None])",
                 "v = tl.where(r >= k, tl.where(c > k, rest, tl.where(c == k, own, v)), v)")],
             "tl.debug_barrier()", "tl.store(out + (batch * out_b + r * out_r + c * out_c), v, inside)",
             _stored_v(kind), _STORE_T]
    return emit(f"reflect_{kind.short}", _parameters(kind, "x", "out"), ("INDEX", "BM", "BN"), lines)


@functools.lru_cache(8)
def tall(kind: dt.DType) -> Source:
    """Return the kernel for a panel in place, of any number of rows: for each column its maximum, its length, its products with
    all columns, and their subtraction."""
    rows = ["i = first + tl.arange(0, BM).to(INDEX)", "on = (i >= k) & (i < M)",
            "column = tl.load(a + (i * a_r + k * a_c), on, 0)"]
    unit = f"column = tl.where(i == k, 1.0, {quotient(kind, 'column', 'divisor')})"
    whole = ["r = i[:, None]", "inside = on[:, None] & (c < N)", "v = tl.load(a + (r * a_r + c * a_c), inside, 0)"]
    sweep = "    for first in range(k // BM * BM, M, BM):"
    zero = f"tl.zeros([1], {TYPE[kind]})"
    lines = [*_PLACES, "c = q", "a += batch * a_b", f"t = tl.zeros([BN, BN], {TYPE[kind]})", "for k in range(0, steps):",
             f"    below = tl.sum({zero}, 0)", "    top = below", "    squares = below", sweep,
             *["        " + line for line in (
                 *rows, "size = tl.where(column == column, tl.abs(column), 1.0)",
                 "below = tl.maximum(below, tl.max(tl.where(i > k, size, 0.0), 0))", "top = tl.maximum(top, tl.max(size, 0))")],
             "    top = tl.where(top == 0, 1.0, top)", "    nothing = below == 0", sweep,
             *["        " + line for line in (*rows, f"size = {quotient(kind, 'column', 'top')}",
                                              "squares += tl.sum(size * size, 0)")],
             "    alpha = tl.load(a + (k * a_r + k * a_c))", *["    " + line for line in _reflection(kind)],
             f"    line = tl.sum(tl.zeros([BM, BN], {TYPE[kind]}), 0)", sweep,
             *["        " + line for line in (*rows, unit, *whole,
                                              "line += tl.sum(tl.where(inside, column[:, None] * v, 0.0), 0)")],
             *["    " + line for line in _COLUMN_OF_T], sweep,
             *["        " + line for line in (
                 *rows, unit, *whole, "tl.debug_barrier()", "rest = v - factor * (column[:, None] * line[None, :])",
                 "own = tl.where(r == k, beta, column[:, None])",
                 "tl.store(a + (r * a_r + c * a_c), tl.where(c > k, rest, own), inside & (c >= k))")],
             "    tl.debug_barrier()", "for first in range(0, M, BM):",
             *["    " + line for line in ("i = first + tl.arange(0, BM).to(INDEX)", "on = i < M", *whole,
                                          _stored_v(kind))], _STORE_T]
    return emit(f"reflect_tall_{kind.short}", _parameters(kind, "a"), ("INDEX", "BM", "BN"), lines)
