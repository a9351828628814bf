"""Discrete Fourier transforms of few numbers in registers; a number is a pair of vectors (real parts, imaginary parts)."""

import math
from collections.abc import Callable

from ..contract.microkernel import multiply_add
from ..ir.emit import Function
from ..ir.types import constant

PRIMES = (2, 3, 5)


def transform(f: Function, values: list) -> list:
    """Return X[k] = sum of x[j] exp(-2 pi i j k / n), in natural order, for sizes with the factors 2, 3 and 5."""
    n = len(values)
    if n == 1:
        return values
    if n in PRIMES:
        return _OF_PRIMES[n](f, *values)
    outer = next(p for p in (4, *PRIMES) if n % p == 0 and n > p)
    inner = n // outer
    parts = [transform(f, values[q::outer]) for q in range(outer)]
    found: list = [None] * n
    for t in range(inner):
        found[t::inner] = transform(f, [_rotated(f, part[t], q * t, n) for q, part in enumerate(parts)])
    return found


def complex_product(f: Function, value, by):
    """Return the product of two complex numbers."""
    (re, im), (c, s) = value, by
    return (multiply_add(f, f.fneg(im), s, f.fmul(re, c)), multiply_add(f, im, c, f.fmul(re, s)))


def plus(f: Function, a, b):
    """Return a + b."""
    return f.fadd(a[0], b[0]), f.fadd(a[1], b[1])


def minus(f: Function, a, b):
    """Return a - b."""
    return f.fsub(a[0], b[0]), f.fsub(a[1], b[1])


def _back(f, value):
    """Multiply by -i."""
    return value[1], f.fneg(value[0])


def _scaled(f, value, by, other=None):
    """Return by * value, plus another number."""
    by = constant(value[0].type, by)
    if other is None:
        return tuple([f.fmul(x, by) for x in value])
    return tuple([multiply_add(f, x, by, y) for x, y in zip(value, other)])


def _rotated(f, value, k, n):
    """Multiply by exp(-2 pi i k / n); n is a power of two."""
    while 4 * k >= n:
        value, k = _back(f, value), k - n // 4
    if k == 0:
        return value
    re, im = value
    if 8 * k == n:
        half = math.sqrt(0.5)
        return _scaled(f, (f.fadd(re, im), f.fsub(im, re)), half)
    angle = 2 * math.pi * k / n
    return complex_product(f, value, (constant(re.type, math.cos(angle)), constant(re.type, -math.sin(angle))))


def _two(f, a, b):
    return [plus(f, a, b), minus(f, a, b)]


def _three(f, a, b, c):
    both, gap = plus(f, b, c), _scaled(f, minus(f, b, c), math.sqrt(0.75))
    middle, side = _scaled(f, both, -0.5, a), _back(f, gap)
    return [plus(f, a, both), plus(f, middle, side), minus(f, middle, side)]


_COS = math.cos(2 * math.pi / 5), math.cos(4 * math.pi / 5)
_SIN = math.sin(2 * math.pi / 5), math.sin(4 * math.pi / 5)


def _five(f, a, b, c, d, e):
    near, far, gap, wide = plus(f, b, e), plus(f, c, d), minus(f, b, e), minus(f, c, d)
    first = _scaled(f, far, _COS[1], _scaled(f, near, _COS[0], a))
    second = _scaled(f, far, _COS[0], _scaled(f, near, _COS[1], a))
    one = _back(f, _scaled(f, wide, _SIN[1], _scaled(f, gap, _SIN[0])))
    two = _back(f, _scaled(f, wide, -_SIN[0], _scaled(f, gap, _SIN[1])))
    return [plus(f, a, plus(f, near, far)), plus(f, first, one), plus(f, second, two), minus(f, second, two),
            minus(f, first, one)]


_OF_PRIMES: dict[int, Callable] = {2: _two, 3: _three, 5: _five}
