"""Composites as one kernel in eager mode: the bits of their bodies and of traced code, and when they are compiled."""

import numpy as np
import pytest

import ingot
import ingot.nn.functional as F
from ingot import jit
from ingot.ir.graph.graph import Builder
from ingot.ir.opdef.aval import Aval
from ingot.ir.ops.core import elementwise as ew
from ingot.ir.ops.core import moments
from ingot.ir.ops.core.shape import constant, expand
from ingot.ir.ops.nn import norm, resample
from ingot.runtime.cpu.graph import composites as eager_composites
from ingot.runtime.cpu.graph import eager
from ingot.runtime.cpu.nn import resample as resample_kernels
from ingot.runtime.memo.call_recorder import call_threshold


def gradients_of_group_norm(x):
    """Return the gradients of the input, the weight and the bias, in one tensor."""
    given = [x.detach().requires_grad_(), x[0, :, 0].detach().requires_grad_(), x[0, :, 1].detach().requires_grad_()]
    found = ingot.autograd.grad(F.group_norm(given[0], 5, *given[1:]), given, x * 0.3)
    return ingot.cat([g.flatten() for g in found])


X = np.random.default_rng(0).standard_normal((260, 300))
CASES = {
    "var": lambda x: x.var(1), "var over rows": lambda x: x.var(0), "std of all": lambda x: x.std(),
    "mean": lambda x: x.mean(0),
    "logsumexp": lambda x: x.logsumexp(1), "logsumexp over rows": lambda x: x.logsumexp(0), "norm": lambda x: x.norm(),
    "norm of order 3": lambda x: ingot.linalg.vector_norm(x, 3, 1),
    "largest": lambda x: ingot.linalg.vector_norm(x, float("inf"), 0),
    "group norm": lambda x: F.group_norm(x.reshape(26, 10, 300), 5),
    "group norm with weights": lambda x: F.group_norm(x.reshape(26, 10, 300), 5, x[0, :10], x[1, :10]),
    "gradients of group norm": lambda x: gradients_of_group_norm(x.reshape(26, 10, 300)),
    "leaky_relu": lambda x: F.leaky_relu(x, 0.3), "hardswish": F.hardswish, "softshrink": F.softshrink, "elu": F.elu,
    "glu": F.glu,
    "clamp": lambda x: x.clamp(-0.3, 0.7),
}


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("name", CASES)
def test_bits_are_those_of_the_body_and_of_traced_code(name, dtype):
    x, f = ingot.tensor(X).to(getattr(ingot, dtype)), CASES[name]
    seen = [f(x).double().numpy().tobytes() for _ in range(4)]
    traced = jit.trace(f)
    traced(x)
    assert set(seen) == {traced(x).double().numpy().tobytes()}, f"{name} of {dtype}, seed 0"


@pytest.mark.parametrize("name", ["var", "group norm with weights", "gradients of group norm", "glu"])
def test_memory_orders_of_elementwise_composites(name, monkeypatch):
    """The bits are those of the same elements in order, and the call is compiled like theirs."""
    x, f = ingot.tensor(X.astype(np.float32)), CASES[name]
    turned = ingot.tensor(np.ascontiguousarray(X.T.astype(np.float32))).T
    assert not turned.is_contiguous()
    assert {f(turned).numpy().tobytes() for _ in range(3)} == {f(x).numpy().tobytes()}
    images = turned.reshape(26, 10, 30, 10).to(memory_format=ingot.channels_last)
    want = F.group_norm(images.contiguous(), 5)
    assert all((F.group_norm(images, 5) == want).all() for _ in range(3))
    made = eager_composites.composites_of(norm.group_norm)
    assert made.find((images.contiguous().numpy(), None, None), {"groups": 5, "eps": 1e-5}, None) is not None


def composites(op):
    made = eager_composites.Composites(op)
    return made, lambda args, params: made.find(args, params)


PARAMS = {"dim": (1,), "keepdim": False, "correction": 1}


@pytest.mark.parametrize("kind", [np.float32, np.complex64])
def test_the_second_call_of_a_kind_is_compiled(kind):
    x = X.astype(kind)
    _, find = composites(moments.var)
    assert find((x,), PARAMS) is None
    run = find((x,), PARAMS)
    assert run((x,)).tobytes() == moments.var.lower.body(x, **PARAMS).tobytes()
    assert find((x,), PARAMS) is run
    assert find((x[:200],), PARAMS) is None, "another shape"


@pytest.mark.parametrize("x", [X.T, X[:0]], ids=["strided", "empty"])
def test_calls_that_run_the_body(x):
    _, find = composites(moments.var)
    assert [find((x,), PARAMS) for _ in range(3)] == [None] * 3


def test_parameters_are_told_apart_by_their_bits():
    made, find = composites(norm.group_norm)
    x = X.reshape(26, 10, 300)
    for eps in (0.0, -0.0, 1):
        find((x, None, None), {"groups": 5, "eps": eps})
    assert len(made._calls) == 3


def test_kinds_of_calls_are_bounded(monkeypatch):
    monkeypatch.setattr(eager_composites, "_MOST", 4)
    made, find = composites(moments.var)
    for n in range(20):
        find((X[:100 + n],), PARAMS)
    assert len(made._calls) <= 4


def test_results_own_their_memory():
    run = eager.kernel_for(moments.var)
    x = X.copy()
    results = [run(x, dim=(1,), keepdim=True, correction=0) for _ in range(3)]
    results[1][...] = 0
    assert results[0].any() and results[2].any() and not np.shares_memory(results[1], results[2])


def sampled(x, grid):
    return F.grid_sample(x, grid, align_corners=False)


def test_taps_inside_of_a_body_are_one_native_call_with_the_loops():
    rng = np.random.default_rng(3)
    x, grid = rng.standard_normal((2, 3, 6, 7)).astype(np.float32), rng.uniform(-1.2, 1.2, (2, 4, 5, 2)).astype(np.float32)
    params = {"mode": "linear", "padding_mode": "zeros", "align_corners": False}
    _, find = composites(resample.grid_sample)
    find((x, grid), params)
    found = find((x, grid), params)((x, grid))
    assert found.tobytes() == resample.grid_sample.lower.body(x, grid, **params).tobytes()
    traced = jit.trace(sampled)
    several = [traced(ingot.tensor(x), ingot.tensor(grid)).numpy().tobytes() for _ in range(3)]
    assert set(several) == {found.tobytes()} and traced.stats()["kernels"] <= 2


MAPS = {
    resample.border_pad: lambda x: F.pad(x, (1, 2, 2, 1), mode="reflect"),
    resample.border_pad_grad: lambda x: ingot.autograd.grad(F.pad(x, (1, 2, 2, 1), mode="circular").sin().sum(), x)[0],
    resample.resample: lambda x: F.interpolate(x, (7, 11), mode="bilinear"),
    resample.resample_grad: lambda x: ingot.autograd.grad(F.interpolate(x, (7, 11), mode="bicubic").sin().sum(), x)[0],
}


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("op", MAPS, ids=lambda op: op.name)
def test_maps_on_few_elements_become_one_call_with_the_same_bits(op, dtype, monkeypatch):
    monkeypatch.setattr(resample_kernels, "_CALLS", 2)
    made = eager_composites.composites_of(op)
    made._calls.clear()
    x, f = ingot.tensor(X[:10, :24].reshape(2, 3, 5, 8)).to(getattr(ingot, dtype)).requires_grad_(), MAPS[op]
    seen, compiled = [], []
    for _ in range(5):
        seen.append(f(x).detach().double().numpy().tobytes())
        compiled.append(any(callable(v) for v in made._calls.values()))
    assert not compiled[0] and compiled[-1] and len(set(seen)) == 1
    turned = x.detach().transpose(2, 3).contiguous().transpose(2, 3).requires_grad_()
    assert f(turned).detach().double().numpy().tobytes() == seen[0]


@pytest.mark.parametrize("name", CASES)
def test_small_arrays_in_other_memory_orders_are_compiled(name, monkeypatch):
    monkeypatch.setattr(eager, "_OFTEN", 2)
    monkeypatch.setattr(eager, "MIN_CALLS", 2)
    x, f = ingot.tensor(X[:, :300 if "group" in name else 20]), CASES[name]
    turned = x.t().contiguous().t()
    seen = {(r.stride(), r.numpy().tobytes()) for r in (f(turned) for _ in range(8))}
    assert len(seen) == 1 and {bits for _, bits in seen} == {f(x).numpy().tobytes()}


def test_a_call_on_small_arrays_in_another_order_is_one_graph(monkeypatch):
    monkeypatch.setattr(eager, "_OFTEN", 2)
    monkeypatch.setattr(eager, "MIN_CALLS", 2)
    run, made = eager.kernel_for(moments.logsumexp), eager_composites.composites_of(moments.logsumexp)
    x, params = np.ascontiguousarray(X[:7, :5].T).T, {"dim": (1,), "keepdim": False}
    for _ in range(6):
        run(x, **params)
    assert made.find((x.copy(order="C"),), params, None) is not None


@pytest.mark.parametrize(("operators", "calls"), [(1, 800), (8, 128), (24, 64), (128, 38)])
def test_calls_of_many_operators_are_compiled_sooner(operators, calls):
    assert call_threshold(operators) == calls


def test_a_composite_of_many_operators_is_compiled_before_one_of_few():
    x, grid = np.ones((1, 2, 5, 5), np.float32), np.zeros((1, 5, 5, 2), np.float32)
    few, many = eager_composites.Composites(moments.mean), eager_composites.Composites(resample.grid_sample)
    params = {"mode": "linear", "padding_mode": "zeros", "align_corners": False}
    calls = {few: ((np.ones((3, 4), np.float32),), {"dim": (1,), "keepdim": False}), many: ((x, grid), params)}
    came = {made: next(i for i in range(1000) if made.find(*call, 128)) for made, call in calls.items()}
    assert came[many] < came[few] == 128


def test_literal_arrays_are_passed_to_a_graph_of_one_native_call():
    b = Builder("with_literals")
    x = b.input("x", Aval((2, 3), ingot.float32))
    row = b.call(constant, None, values=(1.0, 2.0, 4.0), shape=(3,), dtype=ingot.float32)
    outs = b.append(ew.mul, (x, b.call(expand, row, shape=(2, 3))), {}), row
    made = eager_composites.Whole(b.finish(outs))
    assert made.is_native
    for _ in range(2):
        product, again = made.run([np.ones((2, 3), np.float32)])
        assert product.tolist() == [[1, 2, 4]] * 2 and again.tolist() == [1, 2, 4]
        again[:] = 0        # a result of a call is no part of the next one
