"""Derives the Chebyshev series of passes/codegen/scalars/bessel_series.py (needs mpmath; run once, the result is committed).

    python tools/fit_bessel.py > passes/codegen/scalars/bessel_series.py
"""

import sys
import textwrap

from mpmath import mp, mpf

mp.dps = 50
NODES = 96
SMALLEST = mpf(2) ** -57      # of the largest coefficient: what comes after is left out
SHORT = mpf(2) ** -38         # the same for results of float32


def series(f):
    """The Chebyshev coefficients of f on [-1, 1], with half of the first."""
    angles = [mp.pi * (k + mpf(1) / 2) / NODES for k in range(NODES)]
    values = [f(mp.cos(a)) for a in angles]
    found = [2 * sum(v * mp.cos(j * a) for v, a in zip(values, angles)) / NODES for j in range(NODES // 2)]
    found[0] /= 2
    top = max(map(abs, found))
    last = max(j for j, c in enumerate(found) if abs(c) > SMALLEST * top)
    if last > NODES // 2 - 4:
        raise ValueError("the series does not end in time")
    return found[: last + 1]


def powers(found):
    """Return the terms of a series that float32 results need, as a polynomial in t, constant term first."""
    top = max(map(abs, found))
    last = max(j for j, c in enumerate(found) if abs(c) > SHORT * top)
    total = [mpf(0)] * (last + 1)
    before, now = [mpf(1)], [mpf(0), mpf(1)]       # Chebyshev's polynomials of two degrees
    for c in found[: last + 1]:
        for i, v in enumerate(before):
            total[i] += c * v
        after = [mpf(0), *(2 * v for v in now)]
        for i, v in enumerate(before):
            after[i] -= v
        before, now = now, after
    return total


def between(low, high, f):
    """f of x on [low, high]."""
    return lambda t: f((mpf(low) + mpf(high)) / 2 + (mpf(high) - mpf(low)) / 2 * t)


def beyond(start, f):
    """f of x on [start, infinity), a polynomial in 1 / x."""
    return lambda t: f(2 * mpf(start) / (1 + t))


def beyond_squared(start, f):
    """The same, a polynomial in 1 / x^2."""
    return lambda t: f(mpf(start) * mp.sqrt(2 / (1 + t)))


def of_square(f):
    """An even function of x as one of x^2."""
    return lambda z: f(mp.sqrt(z))


def wave(order, part):
    """P or x Q of Hankel's asymptotic form: J = sqrt(2 / pi x) (P cos - Q sin), Y = sqrt(2 / pi x) (P sin + Q cos)."""

    def f(x):
        phase = x - (2 * order + 1) * mp.pi / 4
        size = mp.sqrt(mp.pi * x / 2)
        j, y = mp.besselj(order, x), mp.bessely(order, x)
        if part == "P":
            return size * (j * mp.cos(phase) + y * mp.sin(phase))
        return size * (y * mp.cos(phase) - j * mp.sin(phase)) * x

    return f


def airy_wave(part):
    """The same for Airy's functions, as functions of z = 2/3 |x|^1.5: P, or z Q."""

    def f(z):
        x = (3 * z / 2) ** (mpf(2) / 3)
        phase, size = z + mp.pi / 4, mp.sqrt(mp.pi) * x ** (mpf(1) / 4)
        ai, bi = mp.airyai(-x), mp.airybi(-x)
        if part == "P":
            return size * (ai * mp.sin(phase) + bi * mp.cos(phase))
        return size * (bi * mp.sin(phase) - ai * mp.cos(phase)) * z

    return f


def airy_decay(z):
    """Ai(x) without its exponential and its power, as a function of z = 2/3 x^1.5."""
    x = (3 * z / 2) ** (mpf(2) / 3)
    return mp.airyai(x) * mp.exp(z) * 2 * mp.sqrt(mp.pi) * x ** (mpf(1) / 4)


ZEROS = {order: [mp.besseljzero(order, k) for k in (1, 2)] for order in (0, 1)}


def without_zeros(order):
    """J without its first two zeros (and that of order 1 at 0)."""

    def f(x):
        a, b = ZEROS[order]
        return mp.besselj(order, x) / ((x * x - a * a) * (x * x - b * b)) / (x if order else 1)

    return f


TABLES = {
    "I0_NEAR": between(0, 8, lambda x: mp.exp(-x) * mp.besseli(0, x)),
    "I0_FAR": beyond(8, lambda x: mp.sqrt(x) * mp.exp(-x) * mp.besseli(0, x)),
    "I1_NEAR": between(0, 8, lambda x: mp.exp(-x) * mp.besseli(1, x) / x),
    "I1_FAR": beyond(8, lambda x: mp.sqrt(x) * mp.exp(-x) * mp.besseli(1, x)),
    "K0_NEAR": between(0, 4, of_square(lambda x: mp.besselk(0, x) + mp.log(x / 2) * mp.besseli(0, x))),
    "K0_FAR": beyond(2, lambda x: mp.sqrt(x) * mp.exp(x) * mp.besselk(0, x)),
    "K1_NEAR": between(0, 4, of_square(lambda x: x * (mp.besselk(1, x) - mp.log(x / 2) * mp.besseli(1, x)))),
    "K1_FAR": beyond(2, lambda x: mp.sqrt(x) * mp.exp(x) * mp.besselk(1, x)),
    "J0_NEAR": between(0, 64, of_square(without_zeros(0))),
    "J1_NEAR": between(0, 64, of_square(without_zeros(1))),
    "Y0_NEAR": between(0, 64, of_square(lambda x: mp.bessely(0, x) - 2 / mp.pi * mp.log(x) * mp.besselj(0, x))),
    "Y1_NEAR": between(0, 64, of_square(
        lambda x: (mp.bessely(1, x) - 2 / mp.pi * (mp.log(x) * mp.besselj(1, x) - 1 / x)) / x)),
    "P0": beyond_squared(8, wave(0, "P")), "Q0": beyond_squared(8, wave(0, "Q")),
    "P1": beyond_squared(8, wave(1, "P")), "Q1": beyond_squared(8, wave(1, "Q")),
    "AIRY_LEFT": between(-4, 0, mp.airyai),
    "AIRY_RIGHT": between(0, 2, lambda x: mp.airyai(x) * mp.exp(x)),
    "AIRY_DECAY": beyond(mpf(2) / 3 * 2 ** mpf("1.5"), airy_decay),
    "AIRY_P": beyond_squared(mpf(16) / 3, airy_wave("P")), "AIRY_Q": beyond_squared(mpf(16) / 3, airy_wave("Q")),
}


def main():
    print('"""Series of Bessel\'s and Airy\'s functions. Made by tools/fit_bessel.py: do not edit by hand.\n')
    print("Each is (Chebyshev's coefficients, a polynomial for float32 results); both from the constant term up.")
    print('"""\n')
    for name, f in TABLES.items():
        found = series(f)
        short = powers(found)
        print(f"{name}: {len(found)} and {len(short)} terms", file=sys.stderr)
        print(f"{name} = (")
        for values in (found, short):
            lines = textwrap.wrap(", ".join(repr(float(v)) for v in values), 112, break_on_hyphens=False)
            print("    (" + "\n     ".join(lines) + "),")
        print(")")
    print("# the first two zeros of J0 and of J1, each in two parts")
    for order, zeros in ZEROS.items():
        print(f"J{order}_ZEROS = ({', '.join(f'({float(z)!r}, {float(z - mpf(float(z)))!r})' for z in zeros)})")


if __name__ == "__main__":
    main()
