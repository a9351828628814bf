"""Small Fourier transforms in registers, of lists of (real, imaginary) values, each of which may be a tile.

`transform` gives X[k] = sum of x[j] exp(-2 pi i j k / n) in natural order, for any n; factors are found by trial. Constants are
rounded to their dtype, and multiplications by exactly 0, 1 or a right angle cost nothing.
"""

import math


def transform(s, values) -> list:
    """Return the transform of a list of pairs, in the instructions of a scalar builder."""
    n = len(values)
    if n == 1:
        return list(values)
    if n == 2:
        (ar, ai), (br, bi) = values
        return [(ar + br, ai + bi), (ar - br, ai - bi)]
    first = _factor(n)
    if first == n:
        return _four(values) if n == 4 else _prime(s, values)
    rest = n // first
    parts = [transform(s, values[j::rest]) for j in range(rest)]
    twiddled = [[product(s, pair, j * k, n) for k, pair in enumerate(part)] for j, part in enumerate(parts)]
    across = [transform(s, [part[k] for part in twiddled]) for k in range(first)]
    return [across[k % first][k // first] for k in range(n)]


def product(s, pair, turn: int, n: int) -> tuple:
    """Return a complex number times exp(-2 pi i turn / n)."""
    eighth, rest = divmod(8 * (turn % n), n)
    re, im = pair
    if rest:
        c, d = unit(turn, n)
        return times(s, pair, (s.const(re.dtype, c), s.const(re.dtype, d)))
    if eighth % 2:
        half = s.const(re.dtype, math.sqrt(0.5))
        re, im = (re + im) * half, (im - re) * half         # by an eighth
        eighth -= 1
    return ((re, im), (im, -re), (-re, -im), (-im, re))[eighth // 2]


def times(s, pair, by) -> tuple:
    """Return the product of two complex numbers."""
    (ar, ai), (br, bi) = pair, by
    return s.fma(-ai, bi, ar * br), s.fma(ai, br, ar * bi)


def unit(turn: int, n: int) -> tuple:
    """Return the cosine and the sine of -2 pi turn / n, exact if they are 0 or 1."""
    quarter, rest = divmod(4 * (turn % n), n)
    far = 2 * rest > n
    near = min(rest, n - rest) * (math.pi / (2 * n))
    c, d = (math.sin(near), math.cos(near)) if far else (math.cos(near), math.sin(near))
    return ((c, -d), (-d, -c), (-c, d), (d, c))[quarter]


def _factor(n):
    """Return the factor to split off: 4 if possible, which takes no products."""
    if n % 4 == 0:
        return 4
    return next((p for p in range(2, n) if n % p == 0), n)


def _four(values):
    (ar, ai), (br, bi), (cr, ci), (dr, di) = values
    er, ei, fr, fi = ar + cr, ai + ci, ar - cr, ai - ci
    gr, gi, hr, hi = br + dr, bi + di, br - dr, bi - di
    return [(er + gr, ei + gi), (fr + hi, fi - hr), (er - gr, ei - gi), (fr - hi, fi + hr)]


def _prime(s, values):
    """Transform an odd prime number of values: j and n - j share cosines, and have opposite sines."""
    n, (re, im) = len(values), values[0]
    sums = [(a[0] + b[0], a[1] + b[1]) for a, b in zip(values[1:(n + 1) // 2], values[:n // 2:-1])]
    gaps = [(a[0] - b[0], a[1] - b[1]) for a, b in zip(values[1:(n + 1) // 2], values[:n // 2:-1])]
    low, high = [], []
    for k in range(1, (n + 1) // 2):
        even, odd = [re, im], [None, None]
        for j, (plus, minus) in enumerate(zip(sums, gaps), 1):
            c, d = (s.const(re.dtype, x) for x in unit(j * k, n))
            for part in range(2):
                even[part] = s.fma(plus[part], c, even[part])
                odd[part] = minus[part] * d if j == 1 else s.fma(minus[part], d, odd[part])
        low.append((even[0] - odd[1], even[1] + odd[0]))
        high.append((even[0] + odd[1], even[1] - odd[0]))
    total = [re, im]
    for pair in sums:
        total = [a + b for a, b in zip(total, pair)]
    return [tuple(total), *low, *reversed(high)]
