"""Direction numbers of Sobol sequences in up to 21201 dimensions, found by Joe and Kuo with criterion D(6).

The first dimension is van der Corput's sequence. Each further one belongs to a primitive polynomial modulo 2, taken in order:
all of degrees 1 to 18. A polynomial of degree s extends s free odd numbers m_1 ... m_s with m_i < 2**i by a recurrence. The
free ones were searched for (S. Joe and F. Y. Kuo, Constructing Sobol sequences with better two-dimensional projections, SIAM
J. Sci. Comput. 30, 2635-2654, 2008; https://web.maths.unsw.edu.au/~fkuo/sobol). `initial_numbers.bin` holds them: for each
polynomial, for i of 1 to s, the i - 1 bits of m_i above its last one, highest bit first.
"""

from functools import lru_cache
from pathlib import Path

import numpy as np

BITS = 30               # of each direction number
MOST = 21201            # dimensions, including the first one
_DEGREES = range(1, 19)


def direction_numbers(dimension: int) -> np.ndarray:
    """Return the direction numbers of the first dimensions, int64[dimension, BITS]; number i is at most 2**-(i + 1)."""
    rows = [np.ones((1, BITS), np.int64)]
    degrees = iter(_DEGREES)
    while (lacking := dimension - sum(map(len, rows))) > 0:
        rows.append(_numbers_of_degree(next(degrees))[:lacking])
    return np.concatenate(rows) << np.arange(BITS - 1, -1, -1)


@lru_cache(None)
def _numbers_of_degree(degree: int) -> np.ndarray:
    """Return the odd numbers m_1 to m_BITS of all polynomials of a degree, one row for each."""
    sizes = [len(primitive_polynomials(d)) * _free_bits(d) for d in range(1, degree + 1)]
    first, last = sum(sizes[:-1]), sum(sizes)
    stored = np.frombuffer(Path(__file__).with_name("initial_numbers.bin").read_bytes(), np.uint8)
    bits = np.unpackbits(stored[first // 8: -(-last // 8)])[first % 8:][: sizes[-1]]
    polynomials = primitive_polynomials(degree)
    numbers = np.ones((len(polynomials), BITS), np.int64)
    _carry_on(numbers, polynomials, degree, bits.reshape(len(polynomials), _free_bits(degree)))
    return numbers


def _free_bits(degree: int) -> int:
    """Return how many bits of m_1 to m_degree are free."""
    return degree * (degree - 1) // 2


def _carry_on(rows, polynomials, degree, free):
    """Fill rows of odd numbers: the first ones from their free bits, the others by the recurrence of their polynomials."""
    at = 0
    for i in range(1, degree):
        for bit in range(i, 0, -1):
            rows[:, i] |= free[:, at].astype(np.int64) << bit
            at += 1
    for i in range(degree, BITS):
        rows[:, i] = rows[:, i - degree]
        for back in range(1, degree + 1):
            taken = polynomials >> (degree - back) & 1
            rows[:, i] ^= (rows[:, i - back] << back) * taken


@lru_cache(None)
def primitive_polynomials(degree: int) -> np.ndarray:
    """Return all primitive polynomials modulo 2 of a degree, in order, as numbers whose bits are the coefficients. Modulo such
    a polynomial x has the order 2**degree - 1."""
    found = np.arange(2 ** degree + 1, 2 ** (degree + 1), 2, dtype=np.int64)
    found = found[_power_of_x(2 ** degree, found, degree) == _power_of_x(1, found, degree)]
    for prime in _primes_of(2 ** degree - 1):
        found = found[_power_of_x((2 ** degree - 1) // prime, found, degree) != 1]
    return found


def _primes_of(n: int) -> list[int]:
    """Return the primes that divide a number."""
    found, factor = [], 2
    while n > 1:
        if n % factor:
            factor += 1
            continue
        found.append(factor)
        while n % factor == 0:
            n //= factor
    return found


def _power_of_x(exponent: int, modulo: np.ndarray, degree: int) -> np.ndarray:
    power = np.ones_like(modulo)
    for bit in f"{exponent:b}":
        power = _remainder(_square(power) << (bit == "1"), 2 * degree - 1, modulo, degree)
    return power


def _square(polynomial: np.ndarray) -> np.ndarray:
    """Return the square of polynomials of degrees below 32: modulo 2 it has their coefficients with zeros in between."""
    for shift, mask in ((16, 0x0000FFFF0000FFFF), (8, 0x00FF00FF00FF00FF), (4, 0x0F0F0F0F0F0F0F0F), (2, 0x3333333333333333),
                        (1, 0x5555555555555555)):
        polynomial = (polynomial | polynomial << shift) & mask
    return polynomial


def _remainder(polynomial, highest: int, modulo, degree: int) -> np.ndarray:
    """Return the remainders of polynomials with terms up to x**highest."""
    for term in range(highest, degree - 1, -1):
        polynomial = polynomial ^ (modulo << (term - degree)) * (polynomial >> term & 1)
    return polynomial
