"""Cholesky factors: one program factors a small matrix, or a diagonal block of a larger one, in registers.

Kernels of `triangular.py` do the rest of a larger one. If a minor is not positive, its order is recorded, and the result holds
the matrix itself from there on.
"""

import functools

from .....ir import dtype as dt
from ..ir.source import Source, emit, parameters
from .triangular import quotient, strides

BLOCK = 64          # rows that one program factors


def warps(kind: dt.DType, side: int) -> int:
    """Return the warps of a program with a tile of this side: one warp, while a matrix fits its registers, needs no barriers.
    """
    return max(1, min(8, side * side * kind.itemsize // 4096))


def _factored(kind) -> list:
    """Return lines that factor the symmetric tile `v` into L; `bad` is the order of the first minor not positive, or 0."""
    root = "tl.sqrt_rn(pivot)" if kind is dt.float32 else "tl.sqrt(pivot)"
    return ["bad = N * 0", "for k in range(0, N):",
            "    column = tl.sum(tl.where(c == k, v, 0.0), 1)", "    line = tl.sum(tl.where(r == k, v, 0.0), 0)",
            "    pivot = tl.sum(tl.where(i == k, column, 0.0), 0)",
            "    bad = tl.where((bad == 0) & ((pivot > 0) == 0), k + 1, bad)", f"    root = {root}",
            f"    column = {quotient(kind, 'column', 'root')}", f"    line = {quotient(kind, 'line', 'root')}",
            "    rest = v - column[:, None] * line[None, :]",
            "    v = tl.where((r > k) & (c > k), rest, tl.where(c == k, column[:, None], v))"]


_PLACE = ["batch = tl.program_id(0).to(INDEX)", "i = tl.arange(0, BN).to(INDEX)", "r = i[:, None]",
          "c = tl.arange(0, BN).to(INDEX)[None, :]", "inside = (r < N) & (c < N)"]


@functools.lru_cache(4)
def whole(kind: dt.DType) -> Source:
    """Return the kernel out = L of x, N rows, zeros above; only the lower triangle of x is read. info is `bad` of `_factored`.
    """
    lines = [*_PLACE, "low = tl.where(r > c, r, c)", "x += batch * x_b + low * x_r + (r + c - low) * x_c",
             "v = tl.load(x, inside, 0)", *_factored(kind), "good = tl.where(bad == 0, N, bad - 1)",
             "v = tl.where((r < good) & (c < good), v, tl.load(x, inside, 0))",
             "tl.store(out + ((batch * N + r) * N + c), tl.where(c <= r, v, 0.0), inside)",
             "tl.store(info + batch, bad.to(tl.int32))"]
    own = parameters({"x": kind, "out": kind, "info": dt.int32}, ("N", *strides("x")))
    return emit(f"cholesky_{kind.short}", own, ("INDEX", "BN"), lines)


@functools.lru_cache(4)
def block(kind: dt.DType) -> Source:
    """Return the kernel that turns N rows from `start` on of matrices of W rows into L, reading and writing the lower triangle
    only."""
    lines = [*_PLACE, "low = tl.where(r > c, r, c)", "a += (batch * W + start) * W + start",
             "v = tl.load(a + (low * W + (r + c - low)), inside, 0)", "before = tl.load(info + batch)", *_factored(kind),
             "tl.debug_barrier()", "tl.store(a + (r * W + c), v, inside & (c <= r))",
             "bad = tl.where(bad > 0, bad + start, bad).to(tl.int32)",
             "tl.store(info + batch, tl.where(before == 0, bad, before))"]
    own = parameters({"a": kind, "info": dt.int32}, ("N", "W", "start"))
    return emit(f"cholesky_block_{kind.short}", own, ("INDEX", "BN"), lines)


@functools.lru_cache(4)
def finished(kind: dt.DType) -> Source:
    """Return the kernel that zeroes matrices of N rows above the diagonal, and restores x beyond the good part."""
    lines = ["at = tl.program_id(0).to(INDEX) * BLOCK + tl.arange(0, BLOCK)", "on = at < TOTAL", "batch = at // (N * N)",
             "r = at // N % N", "c = at % N", "bad = tl.load(info + batch, on, 0)",
             "again = on & (c <= r) & (bad > 0) & (r >= bad - 1)",
             "v = tl.load(x + (batch * x_b + r * x_r + c * x_c), again, 0)",
             "tl.store(a + at, v, again | (on & (c > r)))"]
    own = parameters({"x": kind, "a": kind, "info": dt.int32}, ("TOTAL", "N", *strides("x")))
    return emit(f"cholesky_finish_{kind.short}", own, ("INDEX", "BLOCK"), lines)
