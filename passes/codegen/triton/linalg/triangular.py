"""Triangular systems in place, block by block.

One kernel solves a block on the diagonal for some columns of right-hand sides; another subtracts its products from the rest.
`a` and `x` have strides of batches, rows and columns, so a transposed matrix is the same memory. The other side of the diagonal
is not read.
"""

import functools

from .....ir import dtype as dt
from .....ir.symbols.symbolic import power_of_two
from ..ir.source import Source, emit, parameters, stated_dot
from ..ir.spelling import TYPE

BLOCK = 64                          # unknowns of a block
COLUMNS = {dt.float32: 16, dt.float64: 8}        # right-hand sides of a program


def quotient(kind: dt.DType, a: str, b: str) -> str:
    """Return a / b, correctly rounded."""
    return f"tl.div_rn({a}, {b})" if kind is dt.float32 else f"{a} / {b}"


def strides(*names: str) -> list:
    """Return the names of matrices' strides: of batches, rows and columns, in elements."""
    return [f"{name}_{letter}" for name in names for letter in "brc"]


@functools.lru_cache(16)
def solved(kind: dt.DType, upper: bool, unit: bool) -> Source:
    """Return the kernel that solves a @ x = x in place: a has N rows, x has C columns. A row is finished once all before it are
    subtracted."""
    after = "<" if upper else ">"
    divided = [] if unit else ["    pivot = tl.load(a + (k * a_r + k * a_c))",
                               f"    line = {quotient(kind, 'line', 'pivot')}"]
    lines = ["across = tl.cdiv(C, BC)", "batch = (tl.program_id(0) // across).to(INDEX)",
             "i = tl.arange(0, BN).to(INDEX)", "r = i[:, None]",
             "c = ((tl.program_id(0) % across) * BC + tl.arange(0, BC)).to(INDEX)[None, :]",
             "inside = (r < N) & (c < C)", "a += batch * a_b", "place = x + (batch * x_b + r * x_r + c * x_c)",
             "v = tl.load(place, inside, 0)", "for step in range(0, N):", f"    k = {'N - 1 - step' if upper else 'step'}",
             "    line = tl.sum(tl.where(r == k, v, 0.0), 0)",
             f"    column = tl.load(a + (i * a_r + k * a_c), (i {after} k) & (i < N), 0)", *divided,
             f"    v = tl.where(r {after} k, v - column[:, None] * line[None, :], tl.where(r == k, line[None, :], v))",
             "tl.store(place, v, inside)"]
    name = f"solve_block_{kind.short}_{'upper' if upper else 'lower'}{'_unit' if unit else ''}"
    return emit(name, parameters({"a": kind, "x": kind}, ("N", "C", *strides("a", "x"))), ("INDEX", "BN", "BC"), lines)


@functools.lru_cache(16)
def taken_off(kind: dt.DType, lower: bool) -> Source:
    """Return the kernel z (M, N) -= x @ y, of depth K; with `lower` only tiles at or below the diagonal. Factors may be other
    parts of z's matrix."""
    lines = ["across = tl.cdiv(N, BN)", "tiles = across * tl.cdiv(M, BM)", "batch = (tl.program_id(0) // tiles).to(INDEX)",
             "tile = tl.program_id(0) % tiles", "row = ((tile // across) * BM + tl.arange(0, BM)).to(INDEX)[:, None]",
             "column = ((tile % across) * BN + tl.arange(0, BN)).to(INDEX)[None, :]"]
    work = [f"total = tl.zeros([BM, BN], {TYPE[kind]})", "for first in range(0, K, BK):",
            "    k = (first + tl.arange(0, BK)).to(INDEX)",
            "    left = tl.load(x + (batch * x_b + row * x_r + k[None, :] * x_c), (row < M) & (k[None, :] < K), 0)",
            "    right = tl.load(y + (batch * y_b + k[:, None] * y_r + column * y_c), (k[:, None] < K) & (column < N), 0)",
            f"    total = tl.dot(left, right, total{stated_dot(kind, 'ieee')})",
            "place = z + (batch * z_b + row * z_r + column * z_c)", "inside = (row < M) & (column < N)",
            "before = tl.load(place, inside, 0)", "tl.store(place, before - total, inside)"]
    if lower:
        lines += ["if (tile % across) * BN < (tile // across) * BM + BM:", *[f"    {line}" for line in work]]
    else:
        lines += work
    own = parameters(dict.fromkeys("xyz", kind), (*"MNK", *strides(*"xyz")))
    return emit(f"take_off_{kind.short}{'_lower' if lower else ''}", own, ("INDEX", "BM", "BN", "BK"), lines)


def tile(kind: dt.DType, m: int, n: int, batch: int = 1) -> tuple:
    """Return (constants, warps, grid) of `taken_off`."""
    rows, columns = (max(16, power_of_two(min(64, size))) for size in (m, n))
    warps = 8 if kind is dt.float64 and rows * columns > 1024 else 4
    return (("BM", rows), ("BN", columns), ("BK", 16)), warps, (-(-m // rows) * -(-n // columns) * batch, 1, 1)
