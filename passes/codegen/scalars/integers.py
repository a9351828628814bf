"""Division with torch's rounding rules, and other functions that also take integers.

`floor_divide` rounds towards minus infinity, and `remainder` has the divisor's sign. `trunc_divide` and `fmod` round towards
zero. An integer divided by zero gives 0 (-1 for a floor quotient of a negative number), and the remainder is the dividend: no
machine trap, the same on every target.
"""

from ....ir import dtype as dt

INF, NAN = float("inf"), float("nan")


def _integer_divide(s, a, b):
    """(quotient, remainder) truncated; the lowest number by -1 wraps, zero divisors give (0, a)."""
    zero = b.eq(0)
    wraps = zero
    if a.dtype.is_signed:
        lowest = -(1 << (8 * a.dtype.itemsize - 1))
        wraps = zero | (a.eq(lowest) & b.eq(-1))
    safe = s.select(wraps, s.const(b.dtype, 1), b)
    q = s.select(zero, 0, s.quo(a, safe))
    return q, s.select(zero, a, s.select(wraps, 0, s.rem(a, safe)))


def trunc_divide(s, a, b):
    """Quotient rounded towards zero."""
    return _integer_divide(s, a, b)[0] if a.dtype.is_integer else s.trunc(a / b)


def floor_divide(s, a, b):
    """Quotient rounded towards minus infinity."""
    if a.dtype.is_integer:
        q, r = _integer_divide(s, a, b)
        return s.select(r.ne(0) & ((r < 0) ^ (b < 0)), q - 1, q) if a.dtype.is_signed else q
    rest = fmod(s, a, b)
    q = (a - rest) / b
    q = s.select(rest.ne(0) & ((b < 0) ^ (rest < 0)), q - 1.0, q)
    near = s.floor(q)
    near = s.select(q - near > 0.5, near + 1.0, near)
    quotient = a / b
    near = s.select(q.eq(0), s.copysign(s.const(a.dtype, 0.0), quotient), near)
    return s.select(b.eq(0), quotient, near)


def fmod(s, a, b):
    """The remainder with the dividend's sign, exact."""
    if a.dtype.is_integer:
        return _integer_divide(s, a, b)[1]
    if a.dtype is dt.float32:
        return fmod(s, a.to(dt.float64), b.to(dt.float64)).to(dt.float32)
    x, y = abs(a), abs(b)
    usual = (y > 0) & (x < INF) & (y < INF)
    x, y = s.select(usual, x, 0.0), s.select(usual, y, 1.0)
    far = x / y > 2.0**50
    r = s.rare(far, _reduce_once(s, x, y), lambda: _reduce_far(s, x, y))
    r = s.select(x < y, x, r)
    r = s.select(usual, s.copysign(r, a), s.select((abs(a) < INF) & s.is_inf(b), a, NAN))
    return s.select(a.ne(a) | b.ne(b), NAN, r)


def _reduce_once(s, x, y):
    """x mod y for a quotient that fits the mantissa: one fma, corrected by one either way."""
    r = s.fma(-s.trunc(x / y), y, x)
    r = s.select(r < 0, r + y, r)
    return s.select(r >= y, r - y, r)


def _reduce_far(s, x, y):
    """x mod y for any quotient: subtract multiples of y 2**k, with k chosen so that each quotient fits in 52 bits."""
    small = y < 2.0**-900
    lifted = s.select(small, y * 2.0**60, y)
    exponent = (lifted.bits() >> 52) - s.select(small, s.const(dt.int64, 60), s.const(dt.int64, 0))

    def step(x):
        gap = (x.bits() >> 52) - exponent - 51
        gap = s.select(gap > 0, gap, 0)
        return (_reduce_once(s, x, y * s.power_of_two(gap >> 1) * s.power_of_two(gap - (gap >> 1))),)

    return s.repeat(42, (x,), step)[0]


def remainder(s, a, b):
    """The remainder with the divisor's sign."""
    r = fmod(s, a, b)
    if a.dtype.is_integer and not a.dtype.is_signed:
        return r
    fixed = s.select(r.ne(0) & ((r < 0) ^ (b < 0)), r + b, r)
    return fixed if a.dtype.is_integer else s.select(r.eq(0), s.copysign(s.const(a.dtype, 0.0), b), fixed)


def integer_pow(s, x, y):
    """x**y of integers, wrapping; a negative exponent gives 1 / x truncated (0 for x = 0)."""
    one, zero = s.const(x.dtype, 1), s.const(x.dtype, 0)
    if x.dtype is dt.bool_:
        return x | ~y
    negative = y < 0 if y.dtype.is_signed else y.ne(y)
    left = s.select(negative, zero, y)

    def step(result, base, left):
        return s.select((left & 1).ne(0), result * base, result), base * base, left >> 1

    result = s.repeat(8 * x.dtype.itemsize, (one, x, left), step)[0]
    if not x.dtype.is_signed:
        return result
    odd = s.select((y & 1).ne(0), x, one)
    unit = s.select(x.eq(1), one, s.select(x.eq(-1), odd, zero))
    return s.select(negative, unit, result)


_EUCLID_STEPS = {1: 14, 2: 26, 4: 48, 8: 94}  # a little above log of the largest number in the golden ratio


def gcd(s, a, b):
    """The greatest common divisor, not negative."""
    a, b = (abs(v) if v.dtype.is_signed else v for v in (a, b))

    def step(a, b):
        done = b.eq(0)
        rest = s.rem(a, s.select(done, 1, b)) if not a.dtype.is_signed else _integer_divide(s, a, b)[1]
        rest = abs(rest) if a.dtype.is_signed else rest
        return s.select(done, a, b), s.select(done, b, rest)

    return s.repeat(_EUCLID_STEPS[a.dtype.itemsize], (a, b), step)[0]


def lcm(s, a, b):
    """The least common multiple; 0 if either is."""
    d = gcd(s, a, b)
    a, b = (abs(v) if v.dtype.is_signed else v for v in (a, b))
    return s.quo(a, s.select(d.eq(0), 1, d)) * b
