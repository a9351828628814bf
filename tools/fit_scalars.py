"""Derives every polynomial of passes/codegen/scalars/coefficients.py (needs mpmath; run once, the result is committed).

    python tools/fit_scalars.py > passes/codegen/scalars/coefficients.py

Each fit interpolates at Chebyshev nodes in 60 digits, which is within a small factor of the minimax polynomial. For float32
tables the coefficients are rounded one by one from the constant term, each time refitting what remains by least squares.
"""

import sys
import textwrap

import numpy as np
from mpmath import mp, mpf

mp.dps = 60
LN2 = mp.log(2)


def cheb(f, lo, hi, degree):
    """Coefficients of the interpolating polynomial at Chebyshev nodes, constant term first."""
    n = degree + 1
    nodes = [(lo + hi) / 2 + (hi - lo) / 2 * mp.cos(mp.pi * (2 * k + 1) / (2 * n)) for k in range(n)]
    a = mp.matrix(n, n)
    y = mp.matrix(n, 1)
    for i, t in enumerate(nodes):
        y[i] = f(t)
        for j in range(n):
            a[i, j] = t**j
    return list(mp.lu_solve(a, y))


def fit(f, lo, hi, degree, single, weight):
    """The polynomial as rounded numbers."""
    lo, hi = mpf(lo), mpf(hi)
    return fit_single(f, lo, hi, degree, weight) if single else [float(c) for c in cheb(f, lo, hi, degree)]


def fit_single(f, lo, hi, degree, weight):
    """Float32 coefficients: weighted least squares at Chebyshev points, each rounded before the next is refitted."""
    nodes = [(lo + hi) / 2 + (hi - lo) / 2 * mp.cos(mp.pi * (2 * k + 1) / 400) for k in range(200)]
    t = np.array([float(v) for v in nodes])
    w = np.array([float(weight(v)) for v in nodes])
    rest = np.array([float(f(v)) for v in nodes])
    out = []
    for d in range(degree + 1):
        basis = np.stack([t**k for k in range(d, degree + 1)], 1)
        c = float(np.float32(np.linalg.lstsq(basis * w[:, None], rest * w, rcond=None)[0][0]))
        out.append(c)
        rest = rest - c * t**d
    return out


def worst(f, coefficients, lo, hi, weight=lambda t: 1, n=400):
    """The largest weighted error of a table, as a power of two."""
    lo, hi = mpf(lo), mpf(hi)
    err = mpf(0)
    for k in range(n):
        t = lo + (hi - lo) * (k + mpf(1) / 3) / n
        p = mpf(0)
        for c in reversed(coefficients):
            p = p * t + mpf(c)
        err = max(err, abs((p - f(t)) * weight(t)))
    return float(mp.log(err, 2)) if err else -999.0


tiny = mpf(10) ** -18


def exp_tail(r):
    r = r if abs(r) > tiny else tiny
    return (mp.expm1(r) - r) / r**2


def exp2_tail(r):
    r = r if abs(r) > tiny else tiny
    return (mp.expm1(r * LN2) - r * LN2) / r**2


def of_square(f):
    """An even function of x as a function of z = x*x."""
    return lambda z: f(mp.sqrt(z if z > tiny else tiny))


def lg2(z):
    z = z if abs(z) > tiny else tiny
    return mp.loggamma(2 + z) / z


K = mpf(4)


def erfcx_t(t):
    """(1 + 2x) exp(x^2) erfc(x) at x = K (1 + t) / (1 - t)."""
    x = K * (1 + t) / (1 - t)
    return (1 + 2 * x) * mp.exp(x * x) * mp.erfc(x)


def normal_below(a):
    """The normal distribution function at -a."""
    return mp.erfc((a if a > tiny else tiny) / mp.sqrt(2)) / 2


def of_pi(f):
    """f(pi x) as a function of z = x*x."""
    return of_square(lambda x: f(mp.pi * x))


def erfinv_ratio(t):
    """erfinv(x) / x at 1 - x*x = exp(3 - (3 + t)^2)."""
    w = max((3 + t) ** 2 - 3, tiny)
    x = mp.sqrt(-mp.expm1(-w))
    return mp.erfinv(x) / x


def stirling_rest(r):
    """Return log gamma(1 / r) less Stirling's formula."""
    z = 1 / r
    return mp.loggamma(z) - ((z - mpf(1) / 2) * (mp.log(z) - 1) + (mp.log(2 * mp.pi) - 1) / 2)


half = LN2 / 2 * mpf("1.001")
quarter = (mp.pi / 4 * mpf("1.0001")) ** 2
log_hi = ((mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)) ** 2 * mpf("1.0001")
atan_hi = (mp.sqrt(2) - 1) ** 2 * mpf("1.0001")
log_f = (mp.sqrt(mpf(1) / 2) - 1, mp.sqrt(2) - 1)

TABLES = {
    # name: (function, low, high, degree, single, weight relative to the result it serves)
    "EXP64": (exp_tail, -half, half, 10, False, lambda r: r**2),
    "EXP32": (exp_tail, -half, half, 4, True, lambda r: r**2),
    "EXP2_32": (exp2_tail, -mpf(1) / 2, mpf(1) / 2, 5, True, lambda r: r**2),
    "EXP2_SHORT": (lambda r: mp.expm1((r if abs(r) > tiny else tiny) * LN2) / (r if abs(r) > tiny else tiny),
                   -mpf("0.5001"), mpf("0.5001"), 6, False, lambda r: r),
    "LOG64": (of_square(lambda s: (2 * mp.atanh(s) / s - 2) / s**2), 0, log_hi, 8, False, lambda z: z / 2),
    "LOG64_TAIL": (of_square(lambda s: (2 * mp.atanh(s) / s - 2 - 2 * s**2 / 3) / s**4), 0, log_hi, 8, False,
                   lambda z: z**2 / 2),
    "LOG_SHORT": (of_square(lambda s: 2 * mp.atanh(s) / s), 0, log_hi, 4, False, lambda z: mpf(1) / 2),
    "LOG32": (lambda f: (mp.log1p(f if abs(f) > tiny else tiny) - f + f * f / 2) / (f if abs(f) > tiny else tiny) ** 3,
              log_f[0], log_f[1], 8, True, lambda f: f**2),
    "SIN64": (of_square(lambda x: (mp.sin(x) - x) / x**3), 0, quarter, 6, False, lambda z: z),
    "COS64": (of_square(lambda x: (mp.cos(x) - 1 + x * x / 2) / x**4), 0, quarter, 6, False, lambda z: z**2),
    "SIN_SHORT": (of_square(lambda x: (mp.sin(x) - x) / x**3), 0, quarter, 3, False, lambda z: z),
    "SIN_HALF_TURN": (of_square(lambda x: (mp.sin(x) - x) / x**3), 0, mpf("2.4675"), 5, False, lambda z: z),
    "SIN_QUARTER_TURN32": (of_square(lambda t: mp.sin(mp.pi * t / 2) / t), 0, 1, 4, True, lambda z: mpf(1)),
    "COS_SHORT": (of_square(lambda x: (mp.cos(x) - 1 + x * x / 2) / x**4), 0, quarter, 3, False, lambda z: z**2),
    "ASIN64": (of_square(lambda x: (mp.asin(x) - x) / x**3), 0, mpf("0.2501"), 13, False, lambda z: z),
    "ATAN64": (of_square(lambda x: (mp.atan(x) - x) / x**3), 0, atan_hi, 11, False, lambda z: z),
    "ATAN_SHORT": (of_square(lambda x: (mp.atan(x) - x) / x**3), 0, mpf("1.0001"), 12, False, lambda z: z),
    "TANH32": (of_square(lambda x: (mp.tanh(x) - x) / x**3), 0, mpf("0.37"), 4, True, lambda z: z),
    "ERF64": (of_square(lambda x: mp.erf(x) / x - 1), 0, 1, 14, False, lambda z: mpf(1)),
    "ERF_LOG32": (lambda a: -mp.log(mp.erfc(a if a > tiny else tiny)) / (a if a > tiny else tiny) - 1, 0, 4, 9, True,
                  lambda a: (a if a > tiny else tiny) * mp.erfc(a) / mp.erf(a if a > tiny else tiny)),
    "NORMAL_LOG2_32": (lambda a: (mp.log(normal_below(a), 2) + 1) / (a if a > tiny else tiny), 0, mpf("5.7"), 9, True,
                       lambda a: LN2 * a * mp.sqrt(normal_below(a))),      # between relative error and what 1 less it has
    "ERFCX64": (erfcx_t, (mpf("0.9") - K) / (mpf("0.9") + K), (mpf(28) - K) / (mpf(28) + K), 22, False,
                lambda t: 1 / erfcx_t(t)),
    "ERF_SHORT": (of_square(lambda x: mp.erf(x) / x - 1), 0, mpf("0.811"), 7, False, lambda z: mpf(1)),
    "ERFCX_SHORT": (erfcx_t, (mpf("0.9") - K) / (mpf("0.9") + K), (mpf("10.5") - K) / (mpf("10.5") + K), 12, False,
                    lambda t: 1 / erfcx_t(t)),
    "LGAMMA64": (lg2, -mpf("0.501"), mpf("0.501"), 21, False, lambda z: 1 / lg2(z)),
    "LGAMMA_SHORT": (lg2, -mpf("0.501"), mpf("0.501"), 11, False, lambda z: 1 / lg2(z)),
    "STIRLING_SHORT": (stirling_rest, tiny, mpf("0.401"), 8, False, lambda r: 1 / mp.loggamma(1 / r)),
    "ERFINV_SHORT": (erfinv_ratio, mp.sqrt(3) - 3, mp.sqrt(19) - 3, 22, False, lambda t: 1 / erfinv_ratio(t)),
    "SIN_PI_SHORT": (of_pi(lambda t: mp.pi * mp.sin(t) / t), 0, mpf("0.2501"), 6, False, lambda z: mpf(1)),
    "PI_COT_SHORT": (of_pi(lambda t: t * mp.cot(t)), 0, mpf("0.2501"), 9, False, lambda z: mpf(1)),
    "PI_COSEC_SHORT": (of_pi(lambda t: (t / mp.sin(t)) ** 2), 0, mpf("0.2501"), 10, False, lambda z: mpf(1)),
}


def two_over_pi_words(count: int) -> list[int]:
    """2/pi as 64-bit words, after one word of zeros."""
    mp.dps = 500
    bits = int(mp.floor(2 / mp.pi * mpf(2) ** (64 * count)))
    return [0] + [(bits >> (64 * (count - 1 - i))) & (2**64 - 1) for i in range(count)]


def emit_tuple(name, values, form):
    lines = textwrap.wrap(", ".join(map(form, values)), 120, break_on_hyphens=False)
    print(f"{name} = (\n    " + "\n    ".join(lines) + ")")


def main():
    print('"""Polynomial tables of the scalar functions. Made by tools/fit_scalars.py: do not edit by hand."""\n')
    for name, (f, lo, hi, degree, single, weight) in TABLES.items():
        c = fit(f, lo, hi, degree, single, weight)
        bits = worst(f, c, lo, hi, weight)
        print(f"{name}: relative error 2^{bits:.1f}", file=sys.stderr)
        print(f"# relative error 2^{bits:.1f} of the function it serves")
        emit_tuple(name, c, repr)
    print("# 2/pi in 64-bit words, most significant first, after one word of zeros")
    emit_tuple("TWO_OVER_PI", two_over_pi_words(20), hex)


if __name__ == "__main__":
    main()
