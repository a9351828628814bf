"""Dtypes of results: functions of one and two operands, and reductions, with every dtype, 0-d tensors and numbers.

A function has one row of all calls, which runs eagerly, and one of a few calls, which is traced too.
"""

import itertools

import ml_dtypes
import numpy as np

from ..kinds.grids import run
from ..row import Name, Row

DTYPES = ("float64", "float32", "float16", "bfloat16", "complex128", "complex64", "int64", "int32", "int16", "int8", "uint8",
          "bool")
NUMBERS = (2, 1.5, True, 0.5 + 2j)
UNARY = ["abs", "acos", "acosh", "angle", "asin", "asinh", "atan", "atanh", "bitwise_not", "ceil", "conj_physical", "cos", "cosh", "deg2rad", "digamma", "erf", "erfc", "erfinv", "exp", "exp2", "expm1", "floor", "frac", "i0", "isfinite", "isinf", "isnan", "isneginf", "isposinf", "isreal", "lgamma", "log", "log10", "log1p", "log2", "logical_not", "logit", "nan_to_num", "neg", "positive", "rad2deg", "reciprocal", "relu", "round", "rsqrt", "sgn", "sigmoid", "sign", "signbit", "sin", "sinc", "sinh", "special.bessel_j0", "special.entr", "special.erfcx", "special.i0e", "special.i1", "special.log_ndtr", "special.ndtr", "special.ndtri", "sqrt", "square", "tan", "tanh", "trunc", "nn.functional.silu", "nn.functional.gelu", "nn.functional.softplus", "nn.functional.elu", "nn.functional.hardtanh", "nn.functional.leaky_relu", "nn.functional.hardswish", "nn.functional.logsigmoid", "nn.functional.mish"]
BINARY = ["add", "atan2", "bitwise_and", "bitwise_or", "bitwise_xor", "copysign", "div", "eq", "float_power", "floor_divide", "fmax", "fmin", "fmod", "gcd", "ge", "gt", "heaviside", "hypot", "isclose", "lcm", "ldexp", "le", "logaddexp", "logaddexp2", "logical_and", "logical_or", "logical_xor", "lt", "maximum", "minimum", "mul", "ne", "nextafter", "polar", "remainder", "rsub", "special.xlog1py", "special.zeta", "sub", "true_divide", "xlogy", "result_type", "complex", "equal"]
POSITIVE = ["pow", "bitwise_left_shift", "bitwise_right_shift"]
OPERATORS = ["add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "floordiv", "rfloordiv", "mod", "rmod", "and", "rand", "or", "ror", "xor", "rxor", "eq", "ne", "lt", "le", "gt", "ge"]
POWERS = ["pow", "rpow", "lshift", "rlshift", "rshift", "rrshift"]
IN_PLACE = ["iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "iand", "ior", "ixor", "ipow", "ilshift", "irshift"]
REDUCTIONS = ["all", "amax", "amin", "aminmax", "any", "argmax", "argmin", "count_nonzero", "cummax", "cummin", "cumprod", "cumsum", "diff", "logcumsumexp", "logsumexp", "max", "mean", "median", "min", "msort", "mode", "nanmean", "nanmedian", "nansum", "norm", "prod", "softmax", "sort", "std", "std_mean", "sum", "trace", "tril", "var", "var_mean", "linalg.vector_norm", "linalg.norm", "linalg.matrix_norm", "nn.functional.log_softmax", "nn.functional.softmin"]
ORDERED = ("cummax", "cummin", "mode")          # PyTorch takes complex numbers for them if there is only one
TRACED = 8              # calls of a function that are traced


def _array(values, dtype: str) -> np.ndarray:
    """Return numbers in a dtype that may know no fractions, no signs or only truth."""
    values = np.array(values)
    if dtype == "bool":
        return np.asarray(values > 0)
    if dtype.startswith("complex"):
        return np.asarray((values + 1j * (np.roll(values, 1) - 0.25)).astype(dtype))
    if "int" in dtype:
        values = np.trunc(values)
    return np.asarray((np.abs(values) if dtype == "uint8" else values).astype(getattr(ml_dtypes, dtype, dtype)))


def accepted(torch, target, operands, keywords, calls, **more) -> list:
    """Return the calls that PyTorch accepts."""
    found = []
    for call in calls:
        try:
            result = run(torch, Row("", "grid", target, options=options(operands, keywords, [call], **more)), lambda body: body)
        except (RuntimeError, TypeError, ValueError, IndexError):
            continue
        if result["kinds"] != "complex32":          # a dtype that PyTorch alone has
            found.append(call)
    return found


def options(operands, keywords, calls, **more) -> dict:
    """Return the options of a row, with what its calls use."""
    used = sorted({i for call in calls for i in call[:-1]})
    place, most = {i: n for n, i in enumerate(used)}, max(map(len, calls))
    lines = [[*[place[i] for i in call[:-1]], *[-1] * (most - len(call)), call[-1]] for call in calls]
    return {"operands": [operands[i] for i in used], "keywords": keywords, "calls": np.array(lines, np.int16), **more}


def _rows(torch, rng, target, operands, calls, keywords=({},), **more):
    """Yield the row of all calls of a function that PyTorch accepts, and the row of some."""
    keywords = list(keywords)
    calls = accepted(torch, target, operands, keywords, calls, **more)
    if calls:
        yield Row(f"{target}/all", "grid", target, options=options(operands, keywords, calls, eager=True, **more))
        some = [calls[i] for i in sorted(rng.permutation(len(calls))[:TRACED])]
        yield Row(f"{target}/some", "grid", target, options=options(operands, keywords, some, **more))


def _pairs(positive=False) -> tuple[list, list]:
    """Return operands and calls: every pair of dtypes, with 0-d tensors on either side and on both, numbers on the right."""
    left, right = ([2.75, -5.5, 1.25], [3.5, 2.25, 1.0]) if positive else ([2.75, -5.5, 0.25], [-1.5, 3.25, 2.0])
    operands = [_array(left, d) for d in DTYPES] + [_array(right, d) for d in DTYPES]
    operands += [_array(-3.5, d) for d in DTYPES] + [_array(2.5, d) for d in DTYPES] + list(NUMBERS)
    n = len(DTYPES)
    grid = list(itertools.product(range(n), range(n)))
    calls = [(a + i * n, b + j * n, 0) for i, j in ((0, 1), (0, 3), (2, 1), (2, 3)) for a, b in grid]
    return operands, calls + [(a, 4 * n + i, 0) for a in (*range(n), *range(2 * n, 3 * n)) for i in range(len(NUMBERS))]


def _reductions(torch, rng):
    """Yield reductions and scans of tables and of 0-d tensors."""
    tables = [_array([[2.75, -5.5, 0.25], [0.5, 3.25, 7.5]], d) for d in DTYPES] + [_array(2.5, d) for d in DTYPES]
    keywords = [{}, {"dim": 0}, {"dim": 1, "keepdim": True}, {"dim": -1}, {"dtype": Name("float64")},
                {"dim": 0, "dtype": Name("int32")}]
    for target in REDUCTIONS:
        taken = [i for i, table in enumerate(tables) if target not in ORDERED or table.dtype.kind != "c"]
        yield from _rows(torch, rng, target, tables, list(itertools.product(taken, range(len(keywords)))), keywords)


def _of_three(torch, rng):
    """Yield functions of three operands: three vectors, or a vector with 0-d tensors."""
    n = len(DTYPES)
    operands = [_array(v, d) for v in ([2.75, -5.5, 0.25], [-1.5, 3.25, 2.0], [0.5, 4.25, -2.5], -3.5, 2.5) for d in DTYPES]
    chosen = [(a, n + b, 2 * n + c) for a, b, c in rng.integers(0, n, (150, 3))] + [(i, n + i, 2 * n + i) for i in range(n)]
    chosen += [(a, 4 * n + b, 3 * n + c) for a, b, c in rng.integers(0, n, (60, 3))]
    for target in ("addcmul", "addcdiv", "lerp", "clamp"):
        yield from _rows(torch, rng, target, operands, [(*call, 0) for call in chosen])
    truth = n - 1
    calls = [(truth, b, c, 0) for _, b, c in chosen] + [(truth, 4 * n + b, 2 * n + c, 0) for b in range(n) for c in range(n)]
    yield from _rows(torch, rng, "where", operands, calls)
    squares = [_array(rng.integers(-3, 4, (2, 2)) * 0.75, d) for d in DTYPES for _ in range(3)]
    for target, count in (("addmm", 3), ("matmul", 2), ("mm", 2), ("linalg.multi_dot", 2), ("outer", 2), ("dot", 2)):
        if target in ("outer", "dot"):
            squares = [m.reshape(4) for m in squares]
        yield from _rows(torch, rng, target, squares, [(*range(3 * i, 3 * i + count), 0) for i in range(n)])


def rows(torch, rng):
    """Yield the rows of all functions."""
    n = len(DTYPES)
    ones = [_array([0.75, -0.375, 2.5, 1.25], d) for d in DTYPES] + [_array(0.625, d) for d in DTYPES]
    for target in UNARY:
        yield from _rows(torch, rng, target, ones, [(i, 0) for i in range(2 * n)])
    operands, calls = _pairs()
    positive, _ = _pairs(positive=True)
    for target in BINARY:
        yield from _rows(torch, rng, target, operands, calls)
    for target in POSITIVE:
        yield from _rows(torch, rng, target, positive, calls)
    for name in OPERATORS + POWERS:
        reflected = name.startswith("r") and name != "rshift"           # Python reflects operators for numbers only
        yield from _rows(torch, rng, f"Tensor.__{name}__", positive if name in POWERS else operands,
                         [call for call in calls if call[1] >= 4 * n] if reflected else calls)
    for name in IN_PLACE:
        yield from _rows(torch, rng, f"Tensor.__{name}__", positive, calls, copies=True)
    for target in ("promote_types", "can_cast"):
        pairs = itertools.product(range(n), range(n))
        yield from _rows(torch, rng, target, [Name(d) for d in DTYPES], [(*pair, 0) for pair in pairs])
    yield from _reductions(torch, rng)
    yield from _of_three(torch, rng)
