"""Tens of thousands of small calls beside PyTorch: every dtype with every shape of argument, values and dtypes and errors.

A call may differ only where ingot accepts what PyTorch refuses, or where `KNOWN` says why that is right.
"""

import itertools

import numpy as np
import pytest

import ingot

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.peer, pytest.mark.filterwarnings("ignore")]

SEED = 0
DTYPES = ("float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool")
KINDS = ("plain", "positive", "empty", "0-d", "transposed", "expanded", "special")
ROOM = {"float64": 1e-9, "float32": 2e-5, "float16": 4e-3, "bfloat16": 2e-2}


def _words(text):
    return text.split()


UNARY = _words("""
    abs neg sign sgn sqrt rsqrt square reciprocal exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh
    cosh tanh asinh acosh atanh sigmoid erf erfc erfinv lgamma digamma floor ceil round trunc frac deg2rad rad2deg sinc
    nan_to_num positive signbit isnan isinf isfinite isposinf isneginf logical_not bitwise_not angle clone
""")
BINARY = _words("""
    add sub mul div floor_divide remainder fmod pow float_power maximum minimum fmax fmin hypot logaddexp logaddexp2
    xlogy copysign nextafter gcd isclose allclose equal eq ne lt le gt ge logical_and logical_or logical_xor bitwise_and
    bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift atan2 true_divide rsub dist
""")
REDUCTIONS = _words("""
    sum mean prod std var amax amin max min argmax argmin all any count_nonzero norm logsumexp nansum nanmean median
    cumsum cumprod logcumsumexp diff sort argsort
""")
DIMS = (0, 1, -1, -2, 2, -3, None, (0,), (0, 1), (-1, 0), (0, 0), ())
NUMBERS = (2, -3, 0, 1.5, True, float("nan"), float("inf"), -0.0)
OPERATORS = ("add", "radd", "sub", "rsub", "mul", "truediv", "rtruediv", "floordiv", "rfloordiv", "mod", "rmod", "pow", "rpow",
             "and", "or", "xor", "lshift", "eq", "lt")

# (what is called, kinds of its arguments, what is different) -> why that is right.
KNOWN = (
    (lambda name, kinds, what: what == "sign of zero" and ("mod" in name or "remainder" in name),
     "Python's and numpy's rule: a zero, too, takes the divisor's sign"),
    (lambda name, kinds, what: what == "sign of zero" and name in ("amin", "sinc"),
     "which of two equal zeros is found is open, and so is the side of sin at a large multiple of pi"),
    (lambda name, kinds, what: name in ("std", "var") and "special" in kinds,
     "the mean of infinities of one sign is infinite; PyTorch's running mean makes nan of it"),
    (lambda name, kinds, what: name == "median" and "expanded" in kinds,
     "PyTorch's median over an expanded dimension reads the wrong elements"),
    (lambda name, kinds, what: name == "median" and "empty" in kinds,
     "PyTorch gives nan cut to an integer, which is different for every width"),
    (lambda name, kinds, what: name.startswith("gcd") and "special" in kinds,
     "a greatest common divisor is positive; of the smallest integer PyTorch's is negative"),
    (lambda name, kinds, what: name == "logsumexp" and "missing" in what, "Python itself reports the missing argument"),
)


def _values(rng, name, shape):
    n = int(np.prod(shape))
    if name == "bool":
        a = rng.integers(0, 2, n).astype(bool)
    elif "int" in name:
        a = rng.integers(0 if name == "uint8" else -5, 6, n).astype(name)
    else:
        a = np.round(rng.uniform(-2, 2, n), 2)
    return a.reshape(shape)


def _special(name):
    if "float" in name:
        return np.array([[np.nan, np.inf, -np.inf], [0.0, -0.0, 1.0]])
    if name == "bool":
        return np.array([[True, False, True], [True, True, True]])
    info = np.iinfo(name)
    return np.array([[info.max, info.min, 0], [1, info.max - 1, info.min + 1]], name)


def _array(rng, name, kind):
    if kind == "special":
        return _special(name)
    shape = {"empty": (0, 3), "0-d": (), "transposed": (3, 2), "expanded": (1, 3)}.get(kind, (2, 3))
    a = _values(rng, name, shape)
    return np.abs(a) + (name != "bool") if kind == "positive" else a


def _pair(rng, name, kind):
    """One argument for both."""
    a = _array(rng, name, kind)
    theirs = torch.tensor(a).to(getattr(torch, name))
    ours = ingot.tensor(np.asarray(a)).to(getattr(ingot, name))
    if kind == "transposed":
        return theirs.t(), ours.t()
    return (theirs.expand(2, 3), ours.expand(2, 3)) if kind == "expanded" else (theirs, ours)


def _pool():
    rng = np.random.default_rng(SEED)
    return {(d, k): _pair(rng, d, k) for d in DTYPES for k in KINDS}


def _plain(x, module):
    return (x.float() if x.dtype is module.bfloat16 else x).numpy()


def _difference(want, got):
    """Describe the difference of two results; an empty string if there is none."""
    if isinstance(want, (tuple, list)):
        if not isinstance(got, (tuple, list)) or len(want) != len(got):
            return f"structure {type(got).__name__}"
        return next(filter(None, map(_difference, want, got)), "")
    if not isinstance(want, torch.Tensor):
        same = want == got or (want != want and got != got)
        return "" if same and type(want) is type(got) else f"{got!r} instead of {want!r}"
    if not isinstance(got, ingot.Tensor):
        return f"type {type(got).__name__}"
    name = str(want.dtype).removeprefix("torch.")
    if str(got.dtype) != f"ingot.{name}" or tuple(got.shape) != tuple(want.shape):
        return f"{got.dtype} {tuple(got.shape)} instead of {name} {tuple(want.shape)}"
    room, x, y = ROOM.get(name, 0), _plain(want, torch), _plain(got, ingot)
    if not np.allclose(y, x, rtol=room, atol=room * 0.1, equal_nan=True):
        return f"values {y.tolist()} instead of {x.tolist()}"
    if name.startswith("float") and (np.signbit(x) != np.signbit(y))[x == 0].any():
        return "sign of zero"
    return ""


def _result_or_error(fn, *args, **params):
    try:
        return fn(*args, **params), None
    except Exception as e:
        return None, e


def _compare(differing, name, pairs, kinds, label, **params):
    """Calls `name` of both libraries; notes in `found` what is different and not known to be right."""
    theirs, ours = ([p[i] if isinstance(p, tuple) else p for p in pairs] for i in (0, 1))
    fns = [getattr(m, name) if hasattr(torch, name) else lambda x, *rest: getattr(x, name)(*rest) for m in (torch, ingot)]
    want, refused = _result_or_error(fns[0], *theirs, **params)
    got, error = _result_or_error(fns[1], *ours, **params)
    if error is None:
        different = "" if refused is not None else _difference(want, got)
    elif refused is None:
        different = f"raises {type(error).__name__}: {error}"
    else:
        different = "" if isinstance(error, (ingot.IngotError, TypeError)) else f"foreign error {error!r}"
    if different and not any(known(name, kinds, different) for known, _ in KNOWN):
        differing.append(f"{name}({label}): {different}"[:300])


def _report(differing):
    return f"{len(differing)} calls differ (seed {SEED}):\n" + "\n".join(differing[:40])


def _copies(pair):
    return tuple(x.clone() for x in pair)


def test_functions_of_one_tensor():
    differing: list = []
    for ((d, k), pair), name in itertools.product(_pool().items(), UNARY):
        _compare(differing, name, [pair], (k,), f"{d} {k}")
        if k in ("plain", "transposed") and hasattr(torch.Tensor, name + "_"):
            _compare(differing, name + "_", [_copies(pair)], (k,), f"{d} {k}")
    assert not differing, _report(differing)


def test_functions_of_two_tensors():
    pool, differing = _pool(), []
    mixed = (("plain", "positive"), ("0-d", "plain"), ("plain", "0-d"), ("0-d", "0-d"))
    alike = (("transposed", "expanded"), ("special", "positive"), ("positive", "special"), ("special", "special"))
    for name, a, b in itertools.product(BINARY, DTYPES, DTYPES):
        for kinds in mixed + (alike if a == b else ()):
            x, y = pool[a, kinds[0]], pool[b, kinds[1]]
            label = f"{a} {kinds[0]}, {b} {kinds[1]}"
            _compare(differing, name, [x, y], kinds, label)
            if kinds[0] == "plain" and hasattr(torch.Tensor, name + "_"):
                _compare(differing, name + "_", [_copies(x), y], kinds, label)
    assert not differing, _report(differing)


def test_tensors_and_numbers():
    pool, differing = _pool(), []
    names = BINARY + [f"__{name}__" for name in OPERATORS]
    for d, k, n, name in itertools.product(DTYPES, ("positive", "0-d", "special"), NUMBERS, names):
        _compare(differing, name, [pool[d, k], n], (k,), f"{d} {k}, {n}")
    assert not differing, _report(differing)


def test_reductions_and_scans():
    differing: list = []
    for ((d, k), pair), name in itertools.product(_pool().items(), REDUCTIONS):
        calls = [{"dim": dim} for dim in DIMS]
        if not name.startswith(("cum", "logcum")):
            calls.append({})
        if not name.startswith(("cum", "logcum", "diff", "sort", "argsort", "count")):
            calls.append({"dim": 1, "keepdim": True})
        for params in calls:
            _compare(differing, name, [pair], (k,), f"{d} {k}, {params}", **params)
    assert not differing, _report(differing)
