"""Errors of functions for an argument that must be a tensor: its name, and what came."""

import inspect
import pickle
import subprocess
import sys
from types import FunctionType

import numpy as np
import pytest

import ingot
from ingot.ir.errors import kind_of
from ingot.nn import functional as F
from ingot.runtime.api import load_rest, load_twins
from ingot.runtime.api.register.register import FUNCTIONS

load_rest()
load_twins()
T = ingot.ones(2, 2)
OTHERS = {"number": 2, "list": [1.0, 2.0], "None": None, "array": np.ones((2, 2), "f"), "text": "x"}
TENSORS = frozenset(("input", "other", "end", "A", "B", "x", "y", "tensor", "mat", "mat2", "vec", "target", "source", "index"))
# Functions so frequently called that nothing wraps them.
SHORT = frozenset(("ceil", "clone", "empty_like", "fill", "fix", "flatten", "floor", "is_complex", "is_floating_point",
                   "is_nonzero", "is_signed", "masked_fill", "nelement", "numel", "ones_like", "relu", "reshape", "square", "t",
                   "trunc", "where", "zeros_like"))
OWN = frozenset(("as_strided_scatter", "fake_quantize_per_tensor_affine"))       # they convert their arguments first
# Modules of functions that are rarely called, without argument checks.
UNCHECKED = ("view_copies", "type_promotion", "top_level_functions", "low_rank", "matrix_factors",
             "linalg",
             "matrix_products", "conversions")

SAID = {
    "kron": (lambda v: ingot.kron(v, T), "kron", "input"), "inner": (lambda v: ingot.inner(T, v), "inner", "other"),
    "lerp": (lambda v: ingot.lerp(T, v, 0.5), "lerp", "end"), "pad": (lambda v: F.pad(v, (1, 1)), "pad", "input"),
    "by name": (lambda v: ingot.cumsum(dim=0, input=v), "cumsum", "input"), "fft": (ingot.fft.fft, "fft", "input"),
    "mse_loss": (lambda v: F.mse_loss(T, target=v), "mse_loss", "target"),
    "interpolate": (lambda v: F.interpolate(v, 3), "interpolate", "input"),
    "in place": (lambda v: FUNCTIONS["exp_"](v), "exp_", "input"),
}


@pytest.mark.parametrize("kind", ["number", "None", "text"])       # some take arrays; lists have errors of their own
@pytest.mark.parametrize("case", SAID)
def test_the_argument_is_named(case, kind):
    call, name, argument = SAID[case]
    with pytest.raises(TypeError, match=f"^{name} takes a tensor as {argument}, got {kind_of(OTHERS[kind])};"):
        call(OTHERS[kind])


def wanted(fn) -> list:
    """Return the required parameters of a function."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [p.name for p in inspect.signature(fn).parameters.values() if p.kind in kinds and p.default is p.empty]


@pytest.mark.parametrize("kind", OTHERS)
def test_no_function_fails_inside(kind):
    failed = []
    for name, fn in [*FUNCTIONS.items()]:
        is_asked = isinstance(fn, FunctionType) and not name.startswith("_") and name not in SHORT | OWN
        code = getattr(fn, "_asks_for", fn).__code__ if is_asked else None  # the plain form
        is_asked = is_asked and code.co_filename.removesuffix(".py").rpartition("/")[2] not in UNCHECKED
        names = wanted(fn) if is_asked else []
        for i, argument in enumerate(names):
            given = [T.clone() if n in TENSORS else 1 for n in names]
            if argument in TENSORS:
                given[i] = OTHERS[kind]
                try:
                    fn(*given)
                except AttributeError as error:
                    failed.append((name, argument, str(error)))
                except Exception:
                    pass        # the error names what it does not take
    assert not failed


@pytest.mark.parametrize("first", ["linalg.special", "linalg.linalg", "linalg.fft", "distributions"])
def test_checks_do_not_depend_on_the_order_of_imports(first):
    program = f"""
import ingot.runtime.{first}
import ingot

for name, count in (("igamma", 2), ("igammac", 2), ("kron", 2), ("matrix_exp", 1)):
    try:
        getattr(ingot, name)(*[None] * count)
    except TypeError as error:
        assert not isinstance(error, AttributeError), name
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def test_errors_of_the_users_own_code_stay():
    class Odd(ingot.Tensor):
        @property
        def cause(self):
            raise AttributeError("of the user's")

    with pytest.raises(AttributeError, match="of the user's"):
        ingot.kron(ingot.ones(2), ingot.ones(2).as_subclass(Odd).cause)


@pytest.mark.parametrize("fn", [F.mse_loss, ingot.kron, ingot.linalg.det], ids=["mse_loss", "kron", "det"])
def test_functions_survive_pickling(fn):
    assert pickle.loads(pickle.dumps(fn)) is fn


@pytest.mark.parametrize("value", [None, "x", [1.0], (1,), {}], ids=str)
@pytest.mark.parametrize("call", [
    lambda x, v: ingot.where(x > 0, x, v), lambda x, v: ingot.where(x > 0, v, x), lambda x, v: x.masked_fill(x > 0, v),
    lambda x, v: ingot.lerp(x, v, 0.5), lambda x, v: ingot.addcmul(x, x, v), lambda x, v: ingot.float_power(x, v),
    lambda x, v: ingot.full((2,), v), lambda x, v: ingot.result_type(x, v), lambda x, v: ingot.ldexp(x, v)])
def test_values_that_are_no_numbers_raise(call, value):
    """None was taken for a complex number, and written as nan."""
    for x in (T, ingot.ones(50_000)):
        with pytest.raises(TypeError, match=f"got {kind_of(value)}") as caught:
            call(x, value)
        assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
