"""Factorisations of matrices of a few rows in scalar instructions: one matrix per lane.

A matrix is a list of rows of values, and each routine returns a tuple of matrices (vectors and numbers have one row). Loops
over rows and columns are unrolled; only sweeps of rotations are loops, which end when no lane needs another. Eigenvectors and
singular vectors come from Jacobi rotations, with errors of a few roundings; solutions come from elimination with pivots.
"""

from collections.abc import Callable
from itertools import combinations

from ...ir import dtype as dt
from .scalars import Builder, apply

SWEEPS = 30                 # most sweeps of rotations; finite numbers need about six
_ROUNDING = 2.0**-53        # of float64, the type of rotations
_ZERO_SQUARE = 2.0**-200        # squared norms below it mean a zero column, with elements up to 1
INF = float("inf")
_DIGITS, _BIAS = 52, 1023    # bits of a float64's fraction, and its exponent's bias


def eigh(s: Builder, x: list) -> tuple:
    """Return (eigenvalues, rising; eigenvectors in columns; an i32 that is 1 if an eigenvalue is not finite) of a symmetric
    matrix. Only its lower triangle is read."""
    n, kind = len(x), x[0][0].dtype
    upper = {(i, j): x[j][i] for i in range(n) for j in range(i, n)}
    pairs, vectors = list(upper), _identity(s, kind, n)

    def sweep(*state):
        a, v = dict(zip(pairs, state)), _rows(state[len(pairs):], n)
        for p, q in combinations(range(n), 2):
            _rotate_symmetric(s, a, v, p, q)
        far = _largest(s, [a[p] for p in pairs if p[0] != p[1]])
        return far > _largest(s, [a[i, i] for i in range(n)]) * _ROUNDING ** 2, *a.values(), *_flat(v)

    if n > 1:
        found = s.iterate(SWEEPS, x[0][0].eq(x[0][0]), (*upper.values(), *_flat(vectors)), sweep)
        upper, vectors = dict(zip(pairs, found)), _rows(found[len(pairs):], n)
    columns = [[upper[i, i], *(row[i] for row in vectors)] for i in range(n)]
    _sort(s, columns, lambda a, b: a[0] > b[0])
    values = [c[0] for c in columns]
    return [values], [[c[1 + i] for c in columns] for i in range(n)], _not_finite(s, values)


def _rotate_symmetric(s, a, v, p, q):
    """Rotate a symmetric matrix and its eigenvectors so that the element (p, q) becomes 0."""
    off, n = a[p, q], len(v)
    t = _tangent(s, a[q, q] - a[p, p], off)
    a[p, p], a[q, q], a[p, q] = a[p, p] - t * off, a[q, q] + t * off, s.const(off.dtype, 0.0)
    sine, half = _sine(s, t)
    for r in range(n):
        if r not in (p, q):
            at, other = (min(r, p), max(r, p)), (min(r, q), max(r, q))
            a[at], a[other] = _rotated(s, a[at], a[other], sine, half)
        v[r][p], v[r][q] = _rotated(s, v[r][p], v[r][q], sine, half)


def _tangent(s, difference, off):
    """Return the tangent of the smaller rotation angle that zeroes `off`; 0 where `off` is 0."""
    theta = difference / (off * 2.0)
    t = s.copysign(1.0 / (abs(theta) + s.sqrt(s.fma(theta, theta, 1.0))), theta)
    return s.select(off.eq(0.0), 0.0, t)


def _sine(s, tangent):
    cosine = 1.0 / s.sqrt(s.fma(tangent, tangent, 1.0))
    sine = tangent * cosine
    return sine, sine / (1.0 + cosine)


def _rotated(s, a, b, sine, half):
    """Return (a cos - b sin, a sin + b cos) from half = sin / (1 + cos), which is exact for small angles."""
    return a - sine * s.fma(half, a, b), b + sine * s.fma(-half, b, a)


def svd(s: Builder, x: list, full: bool = False) -> tuple:
    """Return (U; singular values, falling; V^T; an i32 that is 1 if a singular value is not finite) of a matrix with at least
    as many rows as columns. A `full` U is square."""
    kind, m, n = x[0][0].dtype, len(x), len(x[0])
    down, exponent = _scale(s, _largest(s, _flat(x)))
    columns = [[x[i][j] * down for i in range(m)] + axis for j, axis in enumerate(_identity(s, kind, n))]

    def sweep(*state):
        c, live = _rows(state, n), None
        for p, q in combinations(range(n), 2):
            again = _rotate_columns(s, c, p, q, m)
            live = again if live is None else live | again
        return live, *_flat(c)

    if n > 1:
        columns = _rows(s.iterate(SWEEPS, x[0][0].eq(x[0][0]), tuple(_flat(columns)), sweep), n)
    columns = [[_dot(s, c[:m], c[:m]), *c] for c in columns]
    _sort(s, columns, lambda a, b: a[0] < b[0])
    squares, sides = [c[0] for c in columns], [c[1:1 + m] for c in columns]
    values = [s.sqrt(a) for a in squares]
    u: list = []
    for square, value, side in zip(squares, values, sides):
        there = square >= _ZERO_SQUARE
        usual = tuple([a / s.select(there, value, 1.0) for a in side])
        u.append(list(s.rare(~there, usual, lambda: tuple(_orthogonal_unit(s, u, m, kind)))))
    for _ in range(m - n if full else 0):
        u.append(_orthogonal_unit(s, u, m, kind))
    up = s.power_of_two(exponent)
    values = [a * up for a in values]
    return [[c[i] for c in u] for i in range(m)], [values], [c[1 + m:] for c in columns], _not_finite(s, values)


def _rotate_columns(s, columns, p, q, m):
    """Rotate two columns until their first m elements are orthogonal; return whether they were not."""
    a, b = columns[p], columns[q]
    alpha, beta, gamma = _dot(s, a[:m], a[:m]), _dot(s, b[:m], b[:m]), _dot(s, a[:m], b[:m])
    t = _tangent(s, beta - alpha, gamma)
    sine, half = _sine(s, t)
    for i, (left, right) in enumerate(zip(a, b)):
        a[i], b[i] = _rotated(s, left, right, sine, half)
    return abs(gamma) > s.sqrt(alpha) * s.sqrt(beta) * (2.0 * m * _ROUNDING)


def _orthogonal_unit(s, u, m, kind) -> list:
    """Return a unit vector orthogonal to the columns u: the axis farthest from them, orthogonalised twice."""
    left = [1.0 - _dot(s, [c[i] for c in u], [c[i] for c in u]) if u else s.const(kind, 1.0) for i in range(m)]
    most, found = left[0], [s.const(kind, float(i == 0)) for i in range(m)]
    for i in range(1, m):
        better = left[i] > most
        most, found = s.select(better, left[i], most), [s.select(better, float(i == j), a) for j, a in enumerate(found)]
    for _ in range(2):
        for c in u:
            share = _dot(s, c, found)
            found = [s.fma(-share, b, a) for a, b in zip(found, c)]
    size = s.sqrt(_dot(s, found, found))
    return [a / size for a in found]


def lu(s: Builder, x: list) -> tuple:
    """Return (L and U in one matrix; the i32 row that each row was exchanged with; the sign of the permutation)."""
    kind, n = x[0][0].dtype, len(x)
    rows, pivots, sign = [list(row) for row in x], [], s.const(kind, 1.0)
    for k in range(n):
        size, at = abs(rows[k][k]), s.const(dt.int32, k)
        for i in range(k + 1, n):
            better = abs(rows[i][k]) > size
            size, at = s.select(better, abs(rows[i][k]), size), s.select(better, s.const(dt.int32, i), at)
        for i in range(k + 1, n):
            rows[k], rows[i] = _exchanged(s, at.eq(i), rows[k], rows[i])
        pivots.append(at)
        if k + 1 < n:
            sign = s.select(at.eq(k), sign, -sign)
        pivot = rows[k][k]
        for i in range(k + 1, n):
            factor = s.select(pivot.eq(0.0), rows[i][k], rows[i][k] / pivot)
            rows[i] = rows[i][:k] + [factor] + [s.fma(-factor, b, a) for a, b in zip(rows[i][k + 1:], rows[k][k + 1:])]
    return rows, [pivots], [[sign]]


def det(s: Builder, x: list) -> tuple:
    """Return the determinant."""
    rows, _, [[product]] = lu(s, x)
    for k, row in enumerate(rows):
        product = product * row[k]
    return ([[product]],)


def slogdet(s: Builder, x: list) -> tuple:
    """Return (sign, logarithm of the absolute value) of the determinant."""
    rows, _, [[sign]] = lu(s, x)
    size = s.const(sign.dtype, 0.0)
    for k, row in enumerate(rows):
        sign, size = sign * apply(s, "sign", row[k]), size + apply(s, "log", abs(row[k]))
    return [[sign]], [[size]]


def solve(s: Builder, x: list, b: list) -> tuple:
    """Return (y with x @ y = b; the i32 number of U's first zero counted from 1, or 0)."""
    n = len(x)
    rows, [pivots], _ = lu(s, x)
    y, info = [list(row) for row in b], s.const(dt.int32, 0)
    for k, at in enumerate(pivots):
        for i in range(k + 1, n):
            y[k], y[i] = _exchanged(s, at.eq(i), y[k], y[i])
    for i in range(n):
        for k in range(i):
            y[i] = [s.fma(-rows[i][k], q, p) for p, q in zip(y[i], y[k])]
    for i in reversed(range(n)):
        for k in range(i + 1, n):
            y[i] = [s.fma(-rows[i][k], q, p) for p, q in zip(y[i], y[k])]
        info = s.select(rows[i][i].eq(0.0), s.const(dt.int32, i + 1), info)
        y[i] = [p / rows[i][i] for p in y[i]]
    return y, [[info]]


def inv(s: Builder, x: list) -> tuple:
    """Return the inverse, with the info of `solve`."""
    return solve(s, x, _identity(s, x[0][0].dtype, len(x)))


def cholesky(s: Builder, x: list) -> tuple:
    """Return (L with L @ L^T = x; the i32 number of the first pivot that is not positive, counted from 1, or 0). Only the lower
    triangle of x is read. From that row on, L holds x."""
    kind, n = x[0][0].dtype, len(x)
    rows, info = [[s.const(kind, 0.0)] * n for _ in range(n)], s.const(dt.int32, 0)
    for j in range(n):
        rest = x[j][j] - _dot(s, rows[j][:j], rows[j][:j]) if j else x[j][j]
        info = s.select(info.eq(0) & ~(rest > 0.0), s.const(dt.int32, j + 1), info)
        rows[j][j] = s.sqrt(rest)
        for i in range(j + 1, n):
            rows[i][j] = (x[i][j] - _dot(s, rows[i][:j], rows[j][:j]) if j else x[i][j]) / rows[j][j]
    for i in range(n):
        good = info.eq(0) | (info > i + 1)
        rows[i][:i + 1] = [s.select(good, a, b) for a, b in zip(rows[i], x[i][:i + 1])]
    return rows, [[info]]


def _identity(s, kind, n):
    return [[s.const(kind, float(i == j)) for j in range(n)] for i in range(n)]


def _not_finite(s, values):
    fine = abs(values[0]) < INF
    for a in values[1:]:
        fine = fine & (abs(a) < INF)
    return [[s.select(fine, s.const(dt.int32, 0), s.const(dt.int32, 1))]]


def _dot(s, a, b):
    total = a[0] * b[0]
    for x, y in zip(a[1:], b[1:]):
        total = s.fma(x, y, total)
    return total


def _largest(s, values):
    """Return the largest absolute value; nan is ignored."""
    size = abs(values[0])
    for a in values[1:]:
        size = s.select(abs(a) > size, abs(a), size)
    return size


def _scale(s, size):
    """Return (2**-e, e) for an e with size / 2**e about 1."""
    e = (size.bits() >> _DIGITS) - _BIAS
    e = s.select(e > _BIAS - 1, _BIAS - 1, s.select(e < 1 - _BIAS, 1 - _BIAS, e))
    return s.power_of_two(0 - e), e


def _sort(s, columns, follows):
    """Bubble-sort columns: exchange two neighbours where the first follows the second."""
    for end in range(len(columns) - 1, 0, -1):
        for i in range(end):
            columns[i:i + 2] = _exchanged(s, follows(columns[i], columns[i + 1]), columns[i], columns[i + 1])


def _exchanged(s, where, a, b) -> tuple:
    return [s.select(where, y, x) for x, y in zip(a, b)], [s.select(where, x, y) for x, y in zip(a, b)]


def _flat(rows) -> list:
    return [a for row in rows for a in row]


def _rows(values, count) -> list:
    width = len(values) // count
    return [list(values[i * width:(i + 1) * width]) for i in range(count)]


def _wide(routine) -> Callable[..., tuple]:
    """Wrap a rotation routine so that float32 computes in float64: values much smaller than the largest keep their digits."""
    def run(s, x):
        kind = x[0][0].dtype
        found = routine(s, [[a.to(dt.float64) for a in row] for row in x])
        return tuple([[[a.to(kind) if a.dtype.is_floating_point else a for a in row] for row in rows] for rows in found])

    return run


# Routines by name; each takes a builder and its operands.
ROUTINES: dict[str, Callable[..., tuple]] = {
    "eigh": _wide(eigh), "eigvalsh": _wide(lambda s, x: eigh(s, x)[::2]), "svd": _wide(svd),
    "svd_full": _wide(lambda s, x: svd(s, x, True)), "svdvals": _wide(lambda s, x: svd(s, x)[1::2]),
    "det": det, "slogdet": slogdet, "solve": solve, "inv": inv, "cholesky": cholesky}
