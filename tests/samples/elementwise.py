"""Samples of the elementwise operators."""

import numpy as np

from ingot.ir import dtype as dt

from . import Sample, samples

SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-30, 3e4])


def spread(rng, low, high, shape=(3, 4)):
    """Values strictly inside (low, high), away from the ends."""
    margin = 0.05 * (high - low)
    return rng.uniform(low + margin, high - margin, shape)


DOMAINS = {
    (-3.0, 3.0): ("neg", "exp", "exp2", "expm1", "sin", "cos", "atan", "sinh", "cosh", "tanh", "asinh", "erf", "erfc", "erfcx",
                  "sigmoid", "sinc", "square", "copy"),
    (0.1, 4.0): ("sqrt", "rsqrt", "reciprocal", "log", "log2", "log10", "log1p", "lgamma", "digamma", "trigamma"),
    (-1.0, 1.0): ("asin", "acos", "atanh", "erfinv"),
    (1.0, 5.0): ("acosh",),
    (0.0, 1.0): ("logit",),
    (-1.4, 1.4): ("tan",),
}


def _unary(low, high):
    def rows(rng):
        yield Sample((spread(rng, low, high),))
        yield Sample((spread(rng, low, high, ()),))
        yield Sample((np.zeros((0, 3)),))
        yield Sample((spread(rng, low, high, (5, 6)).T[::2],))
        yield Sample((SPECIAL,), grad=False, dtypes=("float32", "float64"))

    return rows


for (_low, _high), _names in DOMAINS.items():
    for _name in _names:
        samples(_name)(_unary(_low, _high))


def _added(count):
    def rows(rng):
        for shape in ((3, 4), (), (0, 3)):
            yield Sample(tuple([spread(rng, 0.5, 3.0, shape) for _ in range(count)]), tol=10)
        yield Sample((*[spread(rng, 0.5, 3.0, (5, 6)).T[::2] for _ in range(count - 1)], 0.3), tol=10)
        yield Sample((*[SPECIAL] * (count - 1), -2.0), grad=False, dtypes=("float32", "float64"))

    return rows


samples("add_scaled")(_added(3))
samples("add_product", "add_quotient", "blend")(_added(4))


@samples("polygamma")
def _(rng):
    for n in (1, 2, 3):
        yield Sample((spread(rng, 0.1, 5.0),), {"n": n}, tol=100)
        yield Sample((np.array([-0.5, -1.3, 12.5, 40.0]),), {"n": n}, tol=100)
    yield Sample((SPECIAL,), {"n": 1}, grad=False, dtypes=("float32", "float64"))


@samples("abs", "sign", "floor", "ceil", "trunc", "round", "frac")
def _(rng):
    away = np.array([-2.7, -1.2, -0.6, 0.3, 0.8, 1.4, 2.2])
    yield Sample((away,))
    yield Sample((np.array(-1.3),))
    yield Sample((np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, *SPECIAL]),), grad=False)


@samples("add", "sub", "mul", "maximum", "minimum", "fmax", "fmin")
def _(rng):
    yield Sample((rng.standard_normal((3, 4)) * 3, rng.standard_normal((3, 4)) * 3), dtypes="number")
    yield Sample((rng.standard_normal((2, 3)), 2), dtypes="number", order2=True)
    yield Sample((rng.standard_normal(()), rng.standard_normal(())))
    yield Sample((SPECIAL, SPECIAL[::-1]), grad=False)
    yield Sample((np.zeros((0, 2)), np.zeros((0, 2))))


@samples("div", "atan2", "hypot", "logaddexp", "logaddexp2", "copysign")
def _(rng):
    yield Sample((spread(rng, 0.5, 3.0), spread(rng, 0.5, 3.0)))
    yield Sample((spread(rng, 0.5, 3.0), -spread(rng, 0.5, 3.0)))
    yield Sample((SPECIAL, SPECIAL[::-1]), grad=False, dtypes=("float32", "float64"))


@samples("xlogy")
def _(rng):
    yield Sample((spread(rng, 0.5, 3.0), spread(rng, 0.5, 3.0)))
    yield Sample((np.array([0.0, 0.0, 1.0, 0.0]), np.array([0.0, 2.0, 0.0, np.nan])), grad=False)


@samples("pow")
def _(rng):
    yield Sample((spread(rng, 0.5, 3.0), spread(rng, -2.0, 3.0)))
    yield Sample((np.array([2.0, 3.0, 0.0]), np.array([3.0, 0.0, 2.0])), grad=False, dtypes="number")
    for e in (3, 2.5, -1.5, 0, 1, 4):
        yield Sample((spread(rng, 0.5, 3.0), e))
    yield Sample((np.array([-2.0, 3.0]), 3), dtypes=("float64", "int32", "float32"))
    yield Sample((2.0, spread(rng, -2.0, 3.0)))
    yield Sample((SPECIAL, SPECIAL[::-1]), grad=False, dtypes=("float32", "float64"))


@samples("floor_divide", "trunc_divide", "remainder", "fmod")
def _(rng):
    a, b = rng.uniform(-9, 9, (4, 5)), rng.uniform(1, 4, (4, 5)) * rng.choice([-1, 1], (4, 5))
    yield Sample((a, b), order2=False, dtypes=("float32", "float64"))
    yield Sample((np.array([7, -7, 7, -7]), np.array([2, 2, -2, -2])), dtypes=("int64",))
    yield Sample((np.array([7.0, -7.0, 6.5]), 2), dtypes=("float64", "float32"))


@samples("heaviside")
def _(rng):
    yield Sample((np.array([-1.5, 0.0, 2.0, np.nan]), np.array([0.5, 0.25, 0.75, 1.0])), grad=False,
                 dtypes=("float32", "float64"))
    yield Sample((rng.uniform(0.5, 2, (3, 4)) * rng.choice([-1, 1], (3, 4)), rng.standard_normal((3, 4))))


@samples("nextafter")
def _(rng):
    yield Sample((np.array([-1.5, 0.0, 2.0, np.nan]), np.array([0.5, 0.25, 0.75, 1.0])), grad=False,
                 dtypes=("float32", "float64"))


@samples("gcd", "lcm")
def _(rng):
    yield Sample((np.array([12.0, 7, 0, 9]), np.array([18.0, 21, 5, 6])), dtypes=("int64", "int32", "uint8"))


@samples("eq", "ne", "lt", "le", "gt", "ge")
def _(rng):
    yield Sample((rng.integers(0, 3, (3, 4)) * 1.0, rng.integers(0, 3, (3, 4)) * 1.0), dtypes="any")
    yield Sample((SPECIAL, SPECIAL[::-1]))
    yield Sample((rng.integers(0, 3, (3, 4)) * 1.0, 1), dtypes="any")


@samples("logical_and", "logical_or", "logical_xor")
def _(rng):
    yield Sample((rng.integers(0, 2, (3, 4)) * 1.0, rng.integers(0, 2, (3, 4)) * 1.0), dtypes="any")


@samples("bitwise_and", "bitwise_or", "bitwise_xor")
def _(rng):
    yield Sample((rng.integers(0, 9, (3, 4)) * 1.0, rng.integers(0, 9, (3, 4)) * 1.0), dtypes="integral")


@samples("bitwise_left_shift", "bitwise_right_shift")
def _(rng):
    yield Sample((rng.integers(0, 9, (3, 4)) * 1.0, rng.integers(0, 3, (3, 4)) * 1.0), dtypes="int")


@samples("bitwise_not")
def _(rng):
    yield Sample((rng.integers(0, 9, (3, 4)) * 1.0,), dtypes="integral")


@samples("logical_not", "isnan", "isinf", "isfinite", "isposinf", "isneginf")
def _(rng):
    yield Sample((np.array([0.0, 1.0, 2.0]),), dtypes="any")
    yield Sample((SPECIAL,))


@samples("signbit")
def _(rng):
    yield Sample((np.array([0.0, 1.0, 2.0]),), dtypes="any")
    yield Sample((SPECIAL,))


@samples("where")
def _(rng):
    mask = rng.random((3, 4)) > 0.5
    yield Sample((mask, rng.standard_normal((3, 4)), rng.standard_normal((3, 4))), dtypes="any")
    yield Sample((mask, rng.standard_normal((3, 4)), 0.0))
    yield Sample((mask, 2, rng.standard_normal((3, 4))))


@samples("cast")
def _(rng):
    yield Sample((rng.standard_normal((3, 4)),), {"dtype": dt.float64}, dtypes="any")
    yield Sample((rng.standard_normal((3, 4)) * 5,), {"dtype": dt.int32}, dtypes="any")
    yield Sample((rng.standard_normal((3, 4)) * 5,), {"dtype": dt.bfloat16}, grad=False, dtypes="any")
    yield Sample((rng.standard_normal((3, 4)) * 5,), {"dtype": dt.bool_}, dtypes="any")
