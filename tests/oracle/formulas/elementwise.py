"""Operators of one element at a time: arithmetic, powers, rounding, comparisons, logic, parts of complex numbers."""

import itertools

import numpy as np
import torch

from ..families import rounded
from ..row import Leaf, Name
from . import case, cases, formula, into_row, like_torch

INF, NAN = np.inf, np.nan
SPECIAL = {"float64": [0.0, -0.0, 1, -1, 0.5, -0.5, INF, -INF, NAN, 5e-324, -2.5e-310, 1e-300, 1e300, -1e300, 3, -3, 1e-9,
                       -1e-9, 30.25,
                       -30.25, 709.5, -745.0, 171.5, -170.5, 1e4, -1e5],
           "float32": [0.0, -0.0, 1, -1, 0.5, -0.5, INF, -INF, NAN, 1e-45, -1e-40, 1e-36, 3e38, -3e38, 3, -3, 1e-5, -1e-5,
                       10.25, -10.25,
                       88.5, -103.0, 35.5, -34.5, 1e4, -1e5]}
PAIRED = {"float64": [0.0, -0.0, 1, -1, 2.5, -2.5, INF, -INF, NAN, 5e-324, 1e300],
          "float32": [0.0, -0.0, 1, -1, 2.5, -2.5, INF, -INF, NAN,
                                                                                              1e-45, 3e38]}


def special(dtype, table=None):
    """Return one vector of special values."""
    return np.array((table or SPECIAL)[dtype], dtype)


def pairs(dtype, values=None):
    """Return two vectors: every pair of special values."""
    both = np.array(list(itertools.product(values or PAIRED[dtype], repeat=2)), dtype)
    return both[:, 0].copy(), both[:, 1].copy()


def complexes(rng, *shape, dtype="complex128"):
    """Return complex numbers, both parts multiples of 1/64, none zero."""
    return (rounded(rng, *shape, low=0.2, high=1.8) * rng.choice([-1, 1], shape)
            + 1j * rounded(rng, *shape, low=0.2, high=1.8) * rng.choice([-1, 1], shape)).astype(dtype)


# One argument: (low, high) of the inputs of gradients.

DOMAINS = {
    "neg": (-3, 3), "abs": (-3, 3), "sign": (-3, 3), "floor": (-5, 5), "ceil": (-5, 5), "trunc": (-5, 5), "round": (-5, 5),
    "frac": (-5, 5), "sqrt": (0.1, 5), "rsqrt": (0.1, 5), "square": (-3, 3), "reciprocal": (0.2, 4), "exp": (-3, 3),
           "exp2": (-3, 3),
    "expm1": (-3, 3), "log": (0.1, 5), "log2": (0.1, 5), "log10": (0.1, 5), "log1p": (-0.9, 5), "sin": (-4, 4), "cos": (-4, 4),
    "tan": (-1.4, 1.4), "asin": (-0.95, 0.95), "acos": (-0.95, 0.95), "atan": (-4, 4), "sinh": (-3, 3), "cosh": (-3, 3),
    "tanh": (-2.5, 2.5), "asinh": (-4, 4), "acosh": (1.1, 6), "atanh": (-0.95, 0.95), "sigmoid": (-5, 5), "logit": (0.05, 0.95),
    "sinc": (-3, 3), "relu": (-3, 3), "softplus": (-5, 5), "log_sigmoid": (-5, 5), "silu": (-5, 5), "mish": (-4, 4),
           "gelu": (-4, 4),
    "gelu_tanh": (-4, 4), "gelu_slope": (-4, 4), "hardsigmoid": (-4, 4), "hardswish": (-4, 4),
}
TAKE_COMPLEX = ("neg", "square", "sqrt", "rsqrt", "reciprocal", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin",
                "cos", "tan",
                "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "sigmoid", "silu", "sinc")
TAKE_INTEGERS = ("neg", "abs", "sign", "floor", "ceil", "trunc", "square", "relu")
COMMON = ("neg", "abs", "sqrt", "exp", "log", "sin", "tanh", "sigmoid", "relu", "silu", "gelu", "erf", "reciprocal", "round",
          "expm1")

like_torch("neg", "abs", "sign", "floor", "ceil", "trunc", "round", "frac", "sqrt", "rsqrt", "square", "reciprocal", "exp",
           "exp2", "expm1", "log",
           "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh",
           "atanh", "sigmoid",
           "logit", "sinc", "relu", "softplus", "silu", "mish", "gelu", "hardswish", log_sigmoid="logsigmoid")
formula("gelu_tanh")(lambda x: torch.nn.functional.gelu(x, approximate="tanh"))
# (PyTorch's own gradient multiplies by 1 / 6 in float32.)
formula("hardsigmoid")(lambda x: torch.nn.functional.relu6(x + 3) / 6)


@formula("gelu_slope")
def gelu_slope(x):
    """The derivative of gelu: the distribution function plus x times the density."""
    return torch.special.ndtr(x) + x * torch.exp(-x * x / 2) / np.sqrt(2 * np.pi)


# Special values at which PyTorch is wrong, or gives what its vector width makes of them.
WITHOUT = {"gelu": (INF, 3e38), "gelu_tanh": (-INF,), "sinc": (3e38, -3e38), "modified_bessel_k0": (5e-324,),
           "modified_bessel_k1": (5e-324,),
           "scaled_modified_bessel_k0": (5e-324,), "scaled_modified_bessel_k1": (5e-324,), "trigamma": (-INF,)}


def without(name, values):
    """Return values less those that `WITHOUT` names."""
    return values[~np.isin(values, np.array(WITHOUT.get(name, ()), values.dtype))]


@cases(*DOMAINS)
def unary(name, rng):
    low, high = DOMAINS[name]
    more = [case("", rounded(rng, 7, low=low, high=high, dtype=as_dtype("bfloat16")))] if name in COMMON else []
    if name in TAKE_INTEGERS:
        more += [case("", rng.integers(-9, 10, (2, 5)).astype(dtype)) for dtype in ("int64", "int8")]
    if name in ("floor", "ceil", "trunc", "round", "frac", "sign", "abs", "relu"):
        more.append(case("", np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 3.5, -3.5, 1e15 + 0.5, -7.25])))
    if name == "silu":
        more.append(case("", complexes(rng, 3, 2)))
    yield from of_one_argument(name, rng, low, high, more)
    if name in TAKE_COMPLEX and name != "silu":
        yield case("complex", Leaf(complexes(rng, 3, 2)))
    if name in ("abs", "relu", "sign", "hardsigmoid", "hardswish", "sinc"):
        yield case("edges", Leaf(np.array([0.0, 3.0, -3.0, 1.5])))


def of_one_argument(name, rng, low, high, more=()):
    """Yield what every function of one argument has: two shapes with gradients, special values and other dtypes without."""
    yield case("matrix", Leaf(rounded(rng, 3, 5, low=low, high=high)))
    yield case("turned", Leaf(rounded(rng, 2, 3, 4, low=low, high=high)), options={"turned": [0]})
    yield into_row("values", [*[case("", without(name, special(dtype))) for dtype in ("float64", "float32")], *more])


def as_dtype(name):
    """Return a numpy dtype, bfloat16 too."""
    import ml_dtypes

    return np.dtype(getattr(ml_dtypes, name)) if name == "bfloat16" else np.dtype(name)


# Two arguments.

ARITHMETIC = ("add", "sub", "mul", "div", "maximum", "minimum", "fmax", "fmin")
DIVISIONS = ("floor_divide", "trunc_divide", "remainder", "fmod")
FUNCTIONS = {"atan2": (-3, 3), "hypot": (-3, 3), "logaddexp": (-4, 4), "logaddexp2": (-4, 4), "copysign": (-3, 3),
             "xlogy": (0.1, 4),
             "nextafter": (-3, 3), "heaviside": (-3, 3), "pow": (0.2, 3)}
like_torch("add", "sub", "mul", "div", "maximum", "minimum", "remainder", "fmod", "atan2", "hypot", "logaddexp", "logaddexp2",
           "copysign", "xlogy", "nextafter", "pow", "gcd", "lcm", "eq", "ne", "lt", "le", "gt", "ge")
formula("fmax")(lambda x, y: torch.where(y.isnan(), x,
                                         torch.where(x.isnan(), y, torch.maximum(x, y))))        # half each at ties
formula("fmin")(lambda x, y: torch.where(y.isnan(), x, torch.where(x.isnan(), y, torch.minimum(x, y))))
formula("floor_divide")(lambda x, y: torch.div(x, y, rounding_mode="floor"))
formula("trunc_divide")(lambda x, y: torch.div(x, y, rounding_mode="trunc"))


@formula("heaviside")
def heaviside(x, v):
    """PyTorch's function has no gradient; the value at 0 is passed on."""
    found = torch.where(x == 0, v, torch.heaviside(x.detach(), v.detach()))
    return found + torch.where(x.isfinite(), x, 0) * 0 if x.requires_grad else found


def nonzero(rng, *shape, low, high):
    """Return numbers of both signs, none near zero."""
    found = rounded(rng, *shape, low=low, high=high)
    return np.where(np.abs(found) < 0.25, found + 0.5, found)


@cases(*ARITHMETIC, *DIVISIONS, *FUNCTIONS)
def binary(name, rng):
    low, high = FUNCTIONS.get(name, (-6, 6))
    exponent = name == "pow"
    least, most = (-2, 3) if exponent else (low, high)
    more = []
    shift = 1 / 128            # no second number equals a first one
    yield case("matrix", Leaf(nonzero(rng, 3, 5, low=low, high=high)), Leaf(nonzero(rng, 3, 5, low=least, high=most) + shift))
    yield case("turned", Leaf(nonzero(rng, 4, 2, low=low, high=high)), Leaf(nonzero(rng, 2, 4, low=least, high=most) + shift),
               options={"turned": [0]})
    number = 3 if name == "remainder" else 2.25
    if name not in ("nextafter", "heaviside", "maximum", "minimum", "fmax", "fmin", "atan2", "hypot", "logaddexp", "logaddexp2",
                    "copysign"):
        yield case("number", Leaf(nonzero(rng, 7, low=low, high=high)), number)
    if name == "pow":
        for power in (0, 1, 2, 3, -1, 0.5, -1.5):
            yield case(f"power {power}", Leaf(np.array([0.5, 1.25, 3.0, -1.5 if power == int(power) else 2.0])), power)
        yield case("power of a number", 1.75, Leaf(rounded(rng, 5)))
        yield case("at zero", Leaf(np.array([0.0, 0.0, 0.0, 2.0])), Leaf(np.array([0.0, 1.0, 2.5, 0.0])))
        yield case("zero to numbers", Leaf(np.array([0.0, 2.0])), 2)
        yield case("zero to zero", Leaf(np.array([0.0, 2.0])), 0)
        yield case("complex", Leaf(complexes(rng, 3)), Leaf(complexes(rng, 3)))
    if name in ("add", "sub", "mul", "div"):
        yield case("complex", Leaf(complexes(rng, 2, 3)), Leaf(complexes(rng, 2, 3)))
        kind = as_dtype("bfloat16")
        more.append(case("", nonzero(rng, 7, low=-3, high=3).astype(kind), nonzero(rng, 7, low=-3, high=3).astype(kind)))
    for dtype in ("float64", "float32"):
        # PyTorch gives nan for tiny divisors.
        values = PAIRED[dtype][:-2] + [1e4] if name in ("fmod", "remainder") else None
        more.append(case("", *pairs(dtype, values)))
    if name in (*ARITHMETIC, *DIVISIONS, "pow", "heaviside") and name != "div":
        for dtype in ("int64", "int8", "uint8"):
            top = 4 if name == "pow" else 10
            a = rng.integers(0 if dtype == "uint8" else -top, top, (3, 4))
            b = rng.integers(1, 5, (3, 4)) * (1 if dtype == "uint8" or exponent else rng.choice([-1, 1], (3, 4)))
            more.append(case("", a.astype(dtype), b.astype(dtype)))
    yield into_row("values", more)
    if name in ("maximum", "minimum", "fmax", "fmin"):
        yield case("ties", Leaf(np.array([1.0, 2.0, -3.0, 0.0, 5.0])), Leaf(np.array([1.0, 2.5, -3.0, 0.0, 4.0])))
    if name == "copysign":
        yield case("at zero", Leaf(np.array([0.0, -0.0, 2.0, -2.0])), Leaf(np.array([1.0, -2.0, -1.0, -3.0])))
    if name == "xlogy":
        yield case("at zero", Leaf(np.array([0.0, 0.0, 0.0, 1.5])), Leaf(np.array([2.0, 0.5, 1.0, 3.0])))
        yield case("zero and zero", Leaf(np.array([0.0, 1.0])), np.array([0.0, 0.5]))
    if name in ("atan2", "hypot"):
        yield case("axes", Leaf(np.array([0.0, 1.0, 0.0, -2.0])), Leaf(np.array([1.0, 0.0, -3.0, 0.0])))
    if name == "heaviside":
        yield case("at zero", Leaf(np.array([0.0, -1.0, 2.0])), Leaf(np.array([0.25, 0.5, 0.75])))


formula("add_scaled")(lambda x, y, n: x + y * n)
formula("blend")(lambda x, y, n, m: x * n + y * m)
formula("add_product")(lambda x, y, z, n: x + y * z * n)
formula("add_quotient")(lambda x, y, z, n: x + y / z * n)


@cases("add_scaled", "blend", "add_product", "add_quotient")
def added(name, rng):
    count = 3 if name == "add_scaled" else 4
    yield case("tensors", *[Leaf(nonzero(rng, 3, 4, low=-3, high=3)) for _ in range(count)])
    numbers = (0.75, -1.25) if name == "blend" else (-1.25,)
    yield case("numbers", *[Leaf(nonzero(rng, 5, low=-3, high=3)) for _ in range(count - len(numbers))], *numbers)
    calls = []
    for dtype in ("float64", "float32"):
        x, y = pairs(dtype)
        others = {"add_scaled": (x, y), "blend": (x, y), "add_product": (x, y, y[::-1].copy()),
                  "add_quotient": (x, y, x[::-1].copy())}
        calls.append(case("", *others[name], *((0.5, -2.0) if name == "blend" else (-2.0,))))
    yield into_row("values", calls)


@cases("gcd", "lcm")
def divisors(name, rng):
    for label, kinds in (("wide", (("int64", (3, 4)), ("int32", (5,)))), ("narrow", (("int16", (2, 2)), ("uint8", (4,))))):
        yield into_row(label, [case("", *[rng.integers(0 if dtype == "uint8" else -10, 11, shape).astype(dtype)
                                          for _ in range(2)])
                               for dtype, shape in kinds])
    yield case("zeros", np.array([0, 0, 6, -6]), np.array([0, 5, 0, 4]))


@cases("eq", "ne", "lt", "le", "gt", "ge")
def comparisons(name, rng):
    yield into_row("whole", [case("", rng.integers(0, 3, shape).astype(dtype), rng.integers(0, 3, shape).astype(dtype))
                             for dtype, shape in (("int64", (3, 4)), ("uint8", (5,)), ("bool", (4, 3)))])
    yield into_row("special", [case("", *pairs(dtype)) for dtype in ("float64", "float32")])
    x = complexes(rng, 4)
    more = [case("", x, np.where([True, False, True, False], x, x.conj()))] if name in ("eq", "ne") else []
    yield into_row("number", [case("", rounded(rng, 3, 5).round(1), 0.5), *more])


like_torch("logical_not", "logical_and", "logical_or", "logical_xor", "bitwise_not", "bitwise_and", "bitwise_or", "bitwise_xor",
           "bitwise_left_shift", "bitwise_right_shift", "isnan", "isinf", "isfinite", "isposinf", "isneginf", "signbit")


@cases("logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift",
       "bitwise_right_shift")
def logic(name, rng):
    shifts, truths = "shift" in name, name.startswith("logical")
    for label, kinds in (("signed", (("int64", (3, 4)), ("int8", (6,)))), ("other", (("uint8", (2, 3)), ("bool", (4, 2))))):
        calls = []
        for dtype, shape in kinds[:1] if shifts else kinds:
            low = 0 if dtype in ("uint8", "bool") or truths else -9
            top = 2 if dtype == "bool" or truths else 10
            second = rng.integers(0, 5, shape) if shifts else rng.integers(low, top, shape)
            calls.append(case("", rng.integers(low, top, shape).astype(dtype), second.astype(dtype)))
        yield into_row(label, calls)
    if truths:
        yield case("special float64", *pairs("float64"))
    else:
        yield case("number", rng.integers(-20, 20, (3, 5)), 3)


@cases("logical_not", "bitwise_not")
def negations(name, rng):
    for label, kinds in (("signed", (("int64", (3, 4)), ("int32", (2, 2)))), ("other", (("uint8", (5,)), ("bool", (4, 2))))):
        yield into_row(label, [case("", rng.integers(0, 3, shape).astype(dtype)) for dtype, shape in kinds])
    if name == "logical_not":
        yield case("special float64", special("float64"))


@cases("isnan", "isinf", "isfinite", "isposinf", "isneginf", "signbit")
def predicates(name, rng):
    yield into_row("special", [case("", special(dtype)) for dtype in ("float64", "float32")])
    some = np.array([0.0, -0.0, INF, -INF, NAN, 2.5, -3.0]).reshape(7, 1)
    yield into_row("special of 16 bits", [case("", some.astype(as_dtype(dtype))) for dtype in ("bfloat16", "float16")])
    more = [case("", np.array([1 + 1j, complex(INF, 0), complex(0, -INF), complex(NAN, 1), complex(INF, NAN)]))]
    yield into_row("whole", [*[case("", rng.integers(0 if dtype != "int32" else -3, 2, (3, 4)).astype(dtype))
                               for dtype in ("int32", "uint8", "bool")],
                             *(more if name in ("isnan", "isinf", "isfinite") else [])])


formula("where")(lambda c, x, y: torch.where(c, x, y))


@cases("where")
def where(name, rng):
    mask = rng.random((3, 4)) < 0.5
    yield case("tensors", mask, Leaf(rounded(rng, 3, 4)), Leaf(rounded(rng, 3, 4)))
    yield case("number second", mask.T.copy(), Leaf(rounded(rng, 4, 3)), 0.75)
    yield case("number first", mask[0].copy(), -2.5, Leaf(rounded(rng, 4)))
    yield case("nan and inf", np.array([True, False, True, False]), Leaf(np.array([1.0, NAN, 2.0, INF])),
               Leaf(np.array([INF, 3.0, NAN, -1.0])))
    yield into_row("dtypes", [case("", mask, rng.integers(0, 9, (3, 4)).astype(dtype), rng.integers(0, 9, (3, 4)).astype(dtype))
                              for dtype in ("int32", "bool", "uint8", "float32", "complex64")])


# Dtypes and copies.

formula("cast")(lambda x, *, dtype: x.to(dtype))
formula("copy", "contiguous")(lambda x: x.clone())
formula("later")(lambda x, after: x.clone())
formula("place")(lambda x, *, device, source, wait: x.to(device, non_blocking=not wait, copy=True))
formula("bitcast")(lambda x, *, dtype: x.view(dtype))
formula("group")(lambda *xs: xs)


@cases("cast")
def cast(name, rng):
    floats, whole = np.array([[-3.75, -0.5, 0.0, 0.25], [1.5, 2.5, 100.25, -7.0]]), np.array([[0, 1, 200], [255, 127, 3]],
                                                                                             np.uint8)
    kinds = ("float32", "bfloat16", "float16", "int32", "int64", "bool", "float8_e4m3fn", "float8_e5m2", "complex128")
    yield into_row("from float64", [case("", floats, dtype=Name(dtype)) for dtype in kinds])
    yield case("gradient from float32", Leaf(floats.astype(np.float32)), dtype=Name("float64"))
    yield case("gradient to float32", Leaf(floats.T.copy()), dtype=Name("float32"))
    yield into_row("from uint8", [case("", whole, dtype=Name(dtype)) for dtype in ("int8", "float32", "bool", "int64")])
    yield into_row("from bool", [case("", np.array([True, False, True]), dtype=Name(dtype))
                                 for dtype in ("float64", "uint8", "int32")])
    yield into_row("special", [case("", special("float64"), dtype=Name("float32")),
                               case("", special("float32"), dtype=Name("bfloat16")),
                               case("", special("float32"), dtype=Name("float16"))])
    yield into_row("narrow", [case("", complexes(rng, 4), dtype=Name("complex64")),
                              case("", floats.astype(as_dtype("bfloat16")), dtype=Name("float32"))])


@cases("copy", "contiguous")
def copies(name, rng):
    yield case("turned", Leaf(rounded(rng, 4, 3)), options={"turned": [0]})
    yield case("vector", Leaf(rounded(rng, 7)))
    yield into_row("dtypes", [case("", rng.integers(0, 9, (2, 3, 2)).astype(as_dtype(dtype)), options={"turned": [0]})
                              for dtype in ("int32", "bool", "bfloat16", "complex64")])


@cases("later")
def later(name, rng):
    yield case("floats", rounded(rng, 3, 4), rounded(rng, 2))
    yield case("integers", rng.integers(0, 9, 5), rng.integers(0, 9, (2, 2)))


@cases("place")
def place(name, rng):
    yield case("waits", Leaf(rounded(rng, 3, 4)), device="cpu", source="cpu", wait=True)
    yield case("does not wait", Leaf(rounded(rng, 5)), device="cpu", source="cpu", wait=False)


@cases("bitcast")
def bitcast(name, rng):
    yield case("float64 to int64", rounded(rng, 2, 4), dtype=Name("int64"))
    yield case("float32 to uint8", rounded(rng, 3, 2, dtype="float32"), dtype=Name("uint8"))
    yield case("int32 to float64", rng.integers(-2**31, 2**31 - 1, (3, 4)).astype(np.int32) & 0x3FFFFFFF, dtype=Name("float64"))
    yield case("bfloat16 to int16", rounded(rng, 5).astype(as_dtype("bfloat16")), dtype=Name("int16"))


@cases("group")
def group(name, rng):
    yield case("two", Leaf(rounded(rng, 3, 4)), Leaf(rounded(rng, 5)))
    yield case("one", Leaf(rounded(rng, 2, 2)))
    yield case("three", Leaf(rounded(rng, 6)), Leaf(rounded(rng, 1, 2)), Leaf(rounded(rng, 2, 1, 3)))


# Parts of complex numbers.

like_torch("conj", "real", "imag", "complex", modulus="abs", pairs="view_as_real", of_pairs="view_as_complex")


@cases("conj", "real", "imag", "modulus", "pairs")
def parts(name, rng):
    yield case("matrix", Leaf(complexes(rng, 3, 5)))
    yield case("single", Leaf(complexes(rng, 4, dtype="complex64")))
    if name not in ("conj", "pairs"):
        yield case("special", np.array([complex(a, b) for a, b in itertools.product([0.0, 1.0, -2.0, INF, NAN], repeat=2)]))
    if name == "modulus":
        yield case("at zero", Leaf(np.array([0j, 3 - 4j])))


@cases("of_pairs")
def of_pairs(name, rng):
    yield case("matrix", Leaf(rounded(rng, 3, 4, 2)))
    yield case("single", Leaf(rounded(rng, 5, 2, dtype="float32")))


@cases("complex")
def of_parts(name, rng):
    yield case("matrix", Leaf(rounded(rng, 3, 4)), Leaf(rounded(rng, 3, 4)))
    yield case("single", Leaf(rounded(rng, 5, dtype="float32")), Leaf(rounded(rng, 5, dtype="float32")))
