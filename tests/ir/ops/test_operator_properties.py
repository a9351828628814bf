"""Properties of every operator, over the table of samples.

infer      the shape rule predicts the reference's result, in every dtype the operator takes
eager      tensors give the reference's result
indices    so do integer operands of other dtypes, in traces as well
low        float16 and bfloat16 are close to float64
undo       a view leads back to all elements of its operand
gradient   the gradient rule agrees with a central difference in one random direction, to second order
"""

import random

import numpy as np
import pytest

import ingot
from ingot import jit
from ingot.ir import dtype as dt
from ingot.ir.errors import IngotError
from ingot.ir.opdef.aval import Aval
from ingot.ir.opdef.op import NO_GRAD, OPS
from ingot.ir.ops.linalg import products as ops_linalg
from ingot.runtime.core.tensor import Tensor, wrap
from samples import (
    SAMPLES,
    direction,
    rows,
    table,  # noqa: F401  (fills SAMPLES)
)

FLOATS = ("float32", "float64", "float16", "bfloat16")
INTS = ("int64", "int32", "int16", "int8", "uint8")
KINDS = {"float": FLOATS, "int": INTS, "any": FLOATS + INTS + ("bool",), "number": FLOATS + INTS, "integral": INTS + ("bool",)}
NAMES = sorted(SAMPLES)
_FAR = 1 << 40


def is_float(a):
    return isinstance(a, np.ndarray) and a.dtype == np.float64


def dtypes_of(sample):
    return KINDS.get(sample.dtypes, sample.dtypes)


def avals(args):
    return [Aval(a.shape, dt.from_numpy(a.dtype)) if isinstance(a, np.ndarray) else a for a in args]


def listed(x):
    return list(x) if isinstance(x, tuple) else [x]


def run_ref(op, args, params):
    with np.errstate(all="ignore"):
        return [np.asarray(r) for r in listed(op.ref(*args, **params))]


def cases(name):
    for i, s in enumerate(rows(name)):
        for d in dtypes_of(s):
            yield i, s, d


@pytest.mark.parametrize("name", NAMES)
def test_infer_predicts_the_reference(name):
    op = OPS[name]
    for i, s, d in cases(name):
        args = s.cast(dt.by_name(d))
        want = run_ref(op, args, s.params)
        got = listed(op.infer(*avals(args), **s.params))
        assert [str(g) for g in got] == [str(Aval(w.shape, dt.from_numpy(w.dtype))) for w in want], f"sample {i} {d}"


@pytest.mark.drawn
@pytest.mark.parametrize("name", NAMES)
def test_eager_equals_the_reference(name):
    op = OPS[name]
    for i, s, d in cases(name):
        if "random" in op.traits:
            continue
        args = s.cast(dt.by_name(d))
        want = signed(name, run_ref(op, args, s.params))
        out = listed(op(*[wrap(a.copy()) if isinstance(a, np.ndarray) else a for a in args], **s.params))
        single = any(getattr(a, "dtype", None) == np.complex64 for a in args)       # (complex samples keep their dtype)
        tol = {"float64": 1e-12, "float32": 2e-6, "float16": 2e-3, "bfloat16": 1.6e-2}.get("float32" if single else d, 0)
        assert all(isinstance(o, Tensor) for o in out)
        for w, o in zip(want, signed(name, [o._a for o in out])):
            assert o.shape == w.shape and o.dtype == w.dtype, f"sample {i} {d}"
            np.testing.assert_allclose(as_double(o), as_double(w), rtol=tol, atol=tol * s.tol, err_msg=f"sample {i} {d}")


@pytest.mark.drawn
@pytest.mark.parametrize("name", NAMES)
def test_indices_have_any_integer_dtype(name):
    """An integer operand in another dtype, if the shape rule takes it: eager calls and traces equal the reference."""
    op = OPS[name]
    draw = random.Random(name)
    for i, s in enumerate(rows(name)):
        at = [k for k, a in enumerate(s.args) if isinstance(a, np.ndarray) and a.dtype == np.int64 and a.size]
        for d in ("int32", "int8", "uint8") if at and "random" not in op.traits else ():
            args, k = list(s.args), draw.choice(at)
            args[k] = args[k].astype(d)
            if not np.array_equal(args[k], s.args[k]):
                continue
            tensors = [wrap(a.copy()) if isinstance(a, np.ndarray) else a for a in args]
            try:
                op.infer(*avals(args), **s.params)
                want = run_ref(op, args, s.params)
            except IngotError:
                continue
            traced = jit.trace(lambda *given, s=s: op(*given, **s.params))
            for out in (op(*tensors, **s.params), [traced(*tensors) for _ in range(3)][2]):
                for w, o in zip(want, listed(out)):
                    assert o.shape == w.shape, f"sample {i} {d}"
                    np.testing.assert_allclose(as_double(o._a), as_double(w), rtol=1e-9, atol=1e-9, err_msg=f"sample {i} {d}")


@pytest.mark.parametrize("name", [n for n in NAMES if "pointwise" in OPS[n].traits])
def test_complex_numbers_beside_real_operands_are_refused(name):
    op = OPS[name]
    for s in rows(name):
        given = avals(s.cast(dt.float32))
        if len(given) > 1:
            with pytest.raises(IngotError):
                op.infer(*given[:-1], 1j, **s.params)


def signed(name, results):
    """Return results with eigenvectors and singular vectors normalised in sign: the largest element is positive."""
    if name not in ("eigh", "svd"):
        return results
    side = results[name == "eigh"]
    sign = np.sign(np.take_along_axis(side, np.abs(side).argmax(-2, keepdims=True), -2).real)
    if name == "eigh":
        return results[0], side * sign
    rows = results[2]
    both = min(side.shape[-1], rows.shape[-2])
    more = np.sign(np.take_along_axis(rows, np.abs(rows).argmax(-1, keepdims=True), -1).real)
    more[..., :both, :] = np.swapaxes(sign, -1, -2)[..., :both, :]
    return side * sign, results[1], rows * more


def as_double(a):
    return np.asarray(a).astype(np.complex128 if a.dtype.kind == "c" else np.float64)


@pytest.mark.drawn
@pytest.mark.parametrize("name", [n for n in NAMES if OPS[n].differentiable])
@pytest.mark.parametrize("order", [1, 2])
def test_gradient(name, order):
    op = OPS[name]
    rng = np.random.default_rng([7, order, *name.encode()])
    checked = 0
    for i, s in enumerate(rows(name)):
        if not s.grad or (order == 2 and not s.order2):
            continue
        at = [k for k, a in enumerate(s.args) if is_float(a) and differentiable(op, k)]
        if not at or sum(s.args[k].size for k in at) == 0:
            continue
        check(op, s, at, order, rng, f"{name} sample {i} order {order}")
        checked += 1
    if not checked:
        pytest.skip("no sample to differentiate")


def differentiable(op, position):
    if not isinstance(op.vjp, tuple):
        return True
    return position < len(op.vjp) and op.vjp[position] is not None


def loss(op, s, at, values, weights):
    """Return a weighted sum of the floating results, as a tensor over `values` placed at positions `at`."""
    args = [wrap(a) if isinstance(a, np.ndarray) else a for a in s.args]
    for k, v in zip(at, values):
        args[k] = v
    outs = [o for o in listed(op(*args, **s.params)) if o.dtype.is_floating_point]
    total = None
    for o, w in zip(outs, weights):
        term = (o * wrap(w)).sum()
        total = term if total is None else total + term
    return total


def check(op, s, at, order, rng, label):
    """Compare the slope along one random direction with a central difference."""
    values = [s.args[k] for k in at]
    outs = [r for r in run_ref(op, s.args, s.params) if r.dtype == np.float64]
    weights = [rng.standard_normal(r.shape) for r in outs]
    inner = [rng.standard_normal(v.shape) for v in values]
    directions = [direction(op.name, v.shape, rng, k) for v, k in zip(values, at)]

    def value(arrays, want_graph=False):
        tensors = [wrap(np.array(a)).requires_grad_() for a in arrays]
        total = loss(op, s, at, tensors, weights)
        if order == 2 and total is not None:
            grads = ingot.autograd.grad(total, tensors, create_graph=True, allow_unused=True) if total.requires_grad else []
            parts = [(g * wrap(u)).sum() for g, u in zip(grads, inner) if g is not None]
            total = sum(parts[1:], parts[0]) if parts else None
        return tensors, total

    tensors, total = value(values)
    slope = 0.0
    if total is not None and total.requires_grad:
        grads = ingot.autograd.grad(total, tensors, allow_unused=True)
        for g, v, d in zip(grads, values, directions):
            if g is not None:
                assert g.shape == v.shape, label
                slope += float((g._a * d).sum())
    eps = 1e-6 if order == 1 else 1e-5
    up, down = (value([v + sign * eps * d for v, d in zip(values, directions)])[1] for sign in (1, -1))
    numeric = 0.0 if up is None else (up.item() - down.item()) / (2 * eps)
    scale = max(1.0, abs(numeric))
    assert abs(slope - numeric) <= (1e-5 if order == 1 else 1e-4) * scale, f"{label}: rule {slope}, difference {numeric}"


def test_every_operator_has_samples():
    missing = sorted(set(OPS) - set(SAMPLES))
    assert not missing, f"operators without a sample generator: {missing}"


def test_every_operator_declares_its_gradient():
    for op in OPS.values():
        assert op.vjp is NO_GRAD or callable(op.vjp) or isinstance(op.vjp, tuple), op.name


@pytest.mark.parametrize("kind", ["bool", "int8", "uint8", "int64", "float16", "float64", "complex64"])
def test_elementwise_operators_refuse_a_dtype_or_give_what_they_say(kind):
    """Also dtypes that the samples leave out: files may hold any."""
    wrong = []
    for op in [op for op in OPS.values() if op.is_elementwise and type(op.vjp) is tuple]:
        arrays = [np.ones((3, 5), kind)] * len(op.vjp)
        try:
            said = op.infer(*map(Aval, *zip(*[(a.shape, dt.from_numpy(a.dtype)) for a in arrays])))
        except (IngotError, TypeError):         # (some take parameters as well)
            continue
        with np.errstate(all="ignore"):
            given = np.asarray(op.ref(*arrays))
        if (given.shape, given.dtype) != (said.shape, said.dtype.np):
            wrong.append(f"{op.name}: {said}, the reference gives {given.dtype}")
    assert not wrong, wrong


def test_wrong_arguments_give_ingot_errors():
    x, y = wrap(np.ones((2, 3), np.float32)), wrap(np.ones((4, 5), np.float32))
    with pytest.raises(IngotError, match="do not broadcast"):
        x + y
    with pytest.raises(IngotError, match="matmul"):
        ops_linalg.matmul(x, y)


@pytest.mark.parametrize("low, high, interior, want", [(_FAR, 2 - _FAR, 0, [7.0] * 5), (-_FAR, _FAR + 2, 0, [7.0] * 5),
                                                       (1, -2 * _FAR, _FAR, [7.0, 1.0, 7.0, 7.0])])
def test_padding_that_is_cut_again_takes_no_memory(low, high, interior, want):
    how = {"low": (low,), "high": (high,), "interior": (interior,), "value": 7.0}
    traced = jit.trace(lambda x: OPS["pad"](x, **how))
    for found in (OPS["pad"](ingot.ones(3), **how), *[traced(ingot.ones(3)) for _ in range(3)]):
        assert found.tolist() == want


@pytest.mark.parametrize("name", [name for name, op in OPS.items() if op.is_view and op.lower.undo is not None])
def test_views_lead_back(name):
    op, back = OPS[name], 0
    for s in rows(name):
        x = np.arange(s.args[0].size).reshape(s.args[0].shape)
        params = op.lower.undo(*avals([x]), **s.params)
        if params is not None:
            back += 1
            assert np.array_equal(op.ref(op.ref(x, **s.params), **params), x), (s.params, params)
    x = np.arange(6).reshape(2, 3)
    if name == "slice":         # of which samples lack elements
        params = {"dim": 1, "start": 0, "stop": 3, "step": 1}
        assert op.lower.undo(*avals([x]), **params) == params
        assert all(op.lower.undo(*avals([x]), **{**params, k: v}) is None for k, v in (("start", 1), ("stop", 2), ("step", 2)))
    else:
        assert back
