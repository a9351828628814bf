"""Scalar functions, written once for all backends in the instructions of `builder.Builder`.

Code generators call `apply(s, name, *values)`, which picks the precision, casts, and rounds the result once. float16 and
bfloat16 compute in float32, as float8 would. Functions in `VIA_DOUBLE` compute float32 in float64: about one result in 10^7 is
then not correctly rounded. All others have float32 forms of their own.

There is no fast-math and no contraction: each instruction rounds once, and only an explicit `fma` fuses. Zeros keep their sign,
subnormals are never flushed, and infinities, nan and domain errors give the results of numpy.
"""

# Largest error in units of the last place, over dense samples of the whole domain
# (checked by tests/passes/codegen/scalars/test_scalar_functions.py):
#
#     function     f32    f64      function   f32    f64      function    f32    f64
#     exp          0.8    1.0      sin cos    0.51   1.0      erf         2.0    1.5
#     exp2         0.8    1.0      tan        0.51   2.0      erfc        0.51   4.0
#     expm1        0.51   2.0      asin acos  0.51   1.5      erfinv      0.51   4.0
#     log          0.85   1.0      atan       0.51   1.0      lgamma (a)  0.51   4.0
#     log2 log10   0.51   1.0      atan2      0.51   1.5      digamma (a) 0.51   8.0
#     log1p        0.51   1.5      sinh cosh  0.51   2.0      sigmoid     2.5    2.5
#     pow          0.51   1.0      tanh       1.5    2.0      softplus    2.0    2.0
#     cbrt         0.51   1.0      asinh      0.51   3.0      silu        2.5    2.5
#     hypot        0.51   1.0      acosh      0.51   3.0      mish        4.0    6.0
#     rsqrt        1.5    1.5      atanh      0.51   3.0      gelu (b)    2.0    2.0
#
#     erfcx has the errors of erfc. Special units of GPUs compute some of them in float32 with other errors
#     (`special_function_units.py`).
#
#     (a) for x > 0; for x < 0, and near the root of digamma, in units of the last place of max(1, |result|).
#     (b) in units of the last place of max(|x|, |result|): the factor 1 + erf cancels for negative x, as its definition says.

from ....ir import dtype as dt
from . import (
    activations,
    basic,
    bessel,
    complex_numbers,
    erf_gamma,
    exponential,
    hyperbolic,
    incomplete_gamma,
    integers,
    philox,
    rejection,
    series,
    trigonometric,
)
from .builder import LOW_PRECISION, Builder, Val
from .numpy_builder import NumpyBuilder

DOUBLE_ONLY = (
    exponential.expm1, exponential.cbrt, trigonometric.tan, trigonometric.asin, trigonometric.acos,
    hyperbolic.sinh, hyperbolic.cosh, hyperbolic.asinh, hyperbolic.acosh, series.polygamma, basic.sinc,
    bessel.spherical_bessel_j0, series.zeta, series.hurwitz_zeta, *series.FAMILY.values(), incomplete_gamma.gamma_slope,
)
EITHER = (
    exponential.exp, exponential.exp2, exponential.log, exponential.log2, exponential.log10, exponential.log1p, exponential.pow,
    exponential.hypot, exponential.rsqrt, trigonometric.sin, trigonometric.cos, trigonometric.atan, trigonometric.atan2,
    hyperbolic.tanh, hyperbolic.atanh, erf_gamma.erf, erf_gamma.erfinv, erf_gamma.lgamma, erf_gamma.digamma, erf_gamma.trigamma,
    activations.sigmoid, activations.softplus, activations.log_sigmoid, activations.silu,
    activations.mish, activations.gelu, activations.gelu_slope, activations.gelu_tanh, activations.relu,
    integers.trunc_divide, integers.floor_divide, integers.fmod, integers.remainder,
    erf_gamma.erfc, erf_gamma.erfcx, bessel.i0, bessel.i0e, bessel.i1, bessel.i1e, bessel.bessel_j0, bessel.bessel_j1,
    bessel.bessel_y0, bessel.bessel_y1, bessel.modified_bessel_k0, bessel.modified_bessel_k1, bessel.scaled_modified_bessel_k0,
    bessel.scaled_modified_bessel_k1, bessel.airy_ai,
    integers.gcd, integers.lcm, basic.logaddexp, basic.logaddexp2, basic.logit, incomplete_gamma.gammainc,
    incomplete_gamma.gammaincc,
)
DRAWS = (philox.random_bits, philox.random_uniform, philox.random_uniform_double, philox.random_normal,
         philox.random_normal_double, philox.random_below, rejection.random_poisson, rejection.random_gamma,
         rejection.random_binomial)


def _own_functions(module):
    """Return the public functions of a module by name, without the underscore that avoids a Python keyword or builtin."""
    found = {n: f for n, f in vars(module).items()
             if callable(f) and not n.startswith("_") and f.__module__ == module.__name__}
    return {n.rstrip("_"): f for n, f in found.items()}


FUNCTIONS = _own_functions(basic) | {f.__name__: f for f in DOUBLE_ONLY + EITHER + DRAWS}
VIA_DOUBLE = frozenset(f.__name__ for f in DOUBLE_ONLY)
COMPLEX = _own_functions(complex_numbers)      # includes `complex`, which takes two real numbers
# Functions whose number of iterations depends on their arguments.
ITERATED = frozenset({"gammainc", "gammaincc", "hurwitz_zeta", "polygamma", "zeta", *series.FAMILY})
DRAW_NAMES = frozenset(f.__name__ for f in DRAWS)
_IN_SINGLE = frozenset({exponential.expm1.__name__})      # of those, the one that special function units compute in float32
_NEVER_WIDENED = frozenset({basic.where.__name__, basic.nextafter.__name__})


def apply(s: Builder, name: str, *args: Val) -> Val:
    """Apply a scalar function to values of one dtype (`where`: bool, then one dtype), in the precision that it needs."""
    kind = args[-1].dtype
    if kind.is_complex or name == complex_numbers.complex.__name__:
        return COMPLEX[name](s, *args)
    fn = FUNCTIONS[name]
    if not kind.is_floating_point:
        return fn(s, *args)
    is_wide = name in VIA_DOUBLE and not (s.has_units and name in _IN_SINGLE)
    work = dt.float64 if is_wide else dt.float32 if kind in LOW_PRECISION else kind
    if work is kind or name in _NEVER_WIDENED:
        return fn(s, *args)
    out = fn(s, *(s.cast(a, work) for a in args))
    return s.cast(out, kind) if out.dtype is work else out


__all__ = ["COMPLEX", "FUNCTIONS", "VIA_DOUBLE", "Builder", "NumpyBuilder", "Val", "apply"]
