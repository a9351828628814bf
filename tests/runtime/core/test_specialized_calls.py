"""Specialised calls of operators (`runtime/core/specialized_calls.py`): each does the work of `dispatch.call`.

bits       results on tensors and on arrays are those of the general call
tape       nodes hold the same edges and saved values
errors     refusals of the shape rule have the same words
special    autocast, vmap, recorders and anomaly mode are not bypassed
"""

import dataclasses

import numpy as np
import pytest

import ingot
from ingot import jit
from ingot.ir import dtype as dt
from ingot.ir.graph.graph import Builder, Value
from ingot.ir.opdef.aval import Aval
from ingot.ir.opdef.op import NO_GRAD, OPS, Op
from ingot.ir.ops.core import elementwise as ew
from ingot.ir.ops.core import reduce as rd
from ingot.ir.ops.core import shape as sh
from ingot.runtime.core import dispatch, specialized_calls
from ingot.runtime.core.tensor import Tensor, wrap
from samples import (
    SAMPLES,
    rows,
    table,  # noqa: F401  (fills SAMPLES)
)

NAMES = sorted(SAMPLES)
VIEWS = [n for n in NAMES if OPS[n].is_view]


def with_door(op):
    """Return the operator, specialised."""
    object.__setattr__(op, "__class__", specialized_calls._class_of(specialized_calls.form_of(op)))
    return op


FIRST = {"float": "float32", "int": "int64", "any": "float32", "number": "float32", "integral": "int64"}


def arrays(sample):
    """Return a sample's arguments, in the first dtype that the operator takes."""
    return sample.cast(dt.by_name(FIRST.get(sample.dtypes) or sample.dtypes[0]))


def tensors(sample, grad=False):
    """Return the same as tensors, with a history on request."""
    made = [wrap(a.copy()) if isinstance(a, np.ndarray) else a for a in arrays(sample)]
    return [a.requires_grad_() if grad and isinstance(a, Tensor) and a.dtype.is_inexact else a for a in made]


def listed(x):
    return list(x) if isinstance(x, tuple) else [x]


def facts(results):
    return [(str(t.aval), t._a.tobytes(), t._base is None) for t in listed(results)]


def outcome(run):
    """Return the result of a call, or its error."""
    try:
        return facts(run())
    except ingot.IngotError as error:
        return type(error), str(error)


@pytest.mark.parametrize("name", NAMES)
def test_results_are_those_of_the_general_call(name):
    op = with_door(OPS[name])
    for i, s in enumerate(rows(name)):
        got = outcome(lambda: op(*tensors(s), **s.params))
        want = outcome(lambda: dispatch.call(op, tensors(s), s.params))
        assert got == want, f"sample {i}"


@pytest.mark.parametrize("name", [n for n in NAMES if not OPS[n].is_view])
def test_arrays_are_run_by_the_kernel(name):
    op = with_door(OPS[name])
    for i, s in enumerate(rows(name)):
        if not s.args or not isinstance(s.args[0], np.ndarray):
            continue
        with np.errstate(all="ignore"):
            got, want = op(*arrays(s), **s.params), dispatch.kernel_of(op)(*arrays(s), **s.params)
        for g, w in zip(listed(got), listed(want), strict=True):
            assert np.asarray(g).tobytes() == np.asarray(w).tobytes(), f"sample {i}"


def node_of(t):
    node = t.grad_fn
    return node if node is None else (node.op, node.params, [e is not None for e in node.edges],
                                      [type(s) for s in node.saved], len(node.guards))


@pytest.mark.parametrize("name", [n for n in NAMES if OPS[n].vjp is not NO_GRAD])
def test_the_tape_is_that_of_the_general_call(name):
    op = with_door(OPS[name])
    for i, s in enumerate(rows(name)):
        if s.grad:
            got, want = op(*tensors(s, True), **s.params), dispatch.call(op, tensors(s, True), s.params)
            assert [*map(node_of, listed(got))] == [*map(node_of, listed(want))], f"sample {i}"


@pytest.mark.parametrize("call", [
    lambda f: f(ew.add, wrap(np.zeros((2, 3), np.float32)), wrap(np.zeros((4,), np.float32))),
    lambda f: f(rd.argmax, wrap(np.zeros((2, 0))), dim=(1,), keepdim=True),
    lambda f: f(rd.amax, wrap(np.zeros((0, 2), np.float32)), dim=(0,), keepdim=False),
    lambda f: f(sh.cat, wrap(np.zeros((2, 3))), wrap(np.zeros((2, 3))), wrap(np.zeros((4, 2))), dim=0),
    lambda f: f(OPS["index"], wrap(np.zeros((2, 3), np.float32)), wrap(np.array([5]))),
], ids=range(5))
def test_errors_are_those_of_the_general_call(call):
    def by_door(op, *args, **params):
        return with_door(op)(*args, **params)

    seen = [outcome(lambda: call(f)) for f in (by_door, lambda op, *args, **params: dispatch.call(op, args, params))]
    assert seen[0] == seen[1]
    assert issubclass(seen[0][0], ingot.IngotError)


def test_each_operator_has_a_form_whose_names_differ():
    for op in OPS.values():
        form = specialized_calls.form_of(op)
        if form is not None:
            names = form.operands + form.options
            assert len(set(names)) == len(names), op
            assert not any(n.startswith("_") or n == "self" for n in names), op
            compile(specialized_calls.text_of(form), op.name, "exec")


@pytest.mark.parametrize("argument", [np.ones(2, np.float32), wrap(np.ones(2, np.float32))], ids=["array", "tensor"])
def test_an_operator_called_often_is_specialised(argument):
    record = Op("often", infer=lambda x: x, ref=lambda x: -x, vjp=NO_GRAD, lower=ew.neg.lower)
    for _ in range(specialized_calls._THRESHOLD - 1):
        record(argument)
        assert type(record) is Op
    record(argument)
    assert type(record) is not Op
    assert isinstance(record, Op)
    found = record(argument)
    assert np.asarray(found._a if isinstance(found, Tensor) else found).tolist() == [-1, -1]
    assert record.call(argument) is not None


def test_numbers_and_graph_values_take_the_general_path():
    add = with_door(OPS["add"])
    assert add(2.0, 3.0) == 5.0
    assert isinstance(add(1, wrap(np.ones(2, np.float32))), Tensor)
    traced = jit.trace(lambda x: add(x, x))
    assert traced(ingot.ones(2)).tolist() == [2, 2]


def test_special_modes_are_not_bypassed():
    matmul, x = with_door(OPS["matmul"]), wrap(np.ones((2, 2), np.float32))
    with ingot.autocast("cpu", dtype=ingot.bfloat16):
        assert matmul(x, x).dtype is ingot.bfloat16
    exp = with_door(OPS["exp"])
    assert ingot.func.vmap(lambda v: exp(v).sum())(x).shape == (2,)
    with ingot.autograd.detect_anomaly():
        assert exp(x.clone().requires_grad_()).grad_fn.line[0] == __file__
    assert jit.trace(lambda v: exp(v))(x).tolist() == exp(x).tolist()


def test_constants_need_no_tensor():
    full = with_door(OPS["full"])
    made = full(None, shape=(2,), value=3.0, dtype=dt.float32)
    assert made.tolist() == full(wrap(np.zeros(5)), shape=(2,), value=3.0, dtype=dt.float32).tolist() == [3, 3]


# Other properties of calls on small tensors.


def test_parts_made_together_are_those_made_one_by_one():
    x = ingot.arange(24.0).reshape(4, 6).clone()
    several = [{"dim": 1, "start": s, "step": 1, "stop": s + 2} for s in (0, 2, 4)]
    together, apart = dispatch.looks(sh.slice_, x, several), [dispatch.look(sh.slice_, x, p) for p in several]
    assert [facts(t) for t in together] == [facts(t) for t in apart]
    assert [t._chain for t in together] == [t._chain for t in apart]
    assert all(t._base is x and t._storage is x._storage for t in together)
    y = x.requires_grad_() * 1
    part = dispatch.looks(sh.slice_, y, several)[1]
    y.mul_(2)
    part.sum().backward()
    assert x.grad.sum().item() == 16


def test_dead_views_are_forgotten():
    x = ingot.zeros(40)
    kept = [x[i:i + 1] for i in range(20)]
    for _ in range(500):
        x[3:5]
    assert len(x._storage.aliases) < 100
    assert {id(r()) for r in x._storage.aliases if r() is not None} >= set(map(id, kept))


@pytest.mark.parametrize("save", [
    lambda t: t * t, lambda t: ingot.utils.checkpoint.checkpoint(lambda v: v.sin(), t, use_reentrant=True),
], ids=["a rule", "a checkpoint"])
def test_writes_ask_for_the_users_line_once_somebody_saved(save):
    x = ingot.ones(3)
    x.add_(1)
    assert x._storage.writer is None
    x.mul_(ingot.ones(3, requires_grad=True))
    out = save(x)
    x.zero_()
    x.add_(1)
    with pytest.raises(ingot.IngotError, match=r"add_ at .*test_specialized_calls"):
        out.sum().backward()


@pytest.mark.parametrize("f", [lambda x: x.mean(1), lambda x: x.std(), lambda x: x.logsumexp(0), lambda x: x.clamp(-1, 0.5),
                               lambda x: x.norm(3)], ids=["mean", "std", "logsumexp", "clamp", "norm"])
def test_composites_of_small_arrays_keep_their_bits_when_they_are_compiled(f, monkeypatch):
    from ingot.runtime.cpu.graph import eager

    monkeypatch.setattr(eager, "_OFTEN", 3)
    monkeypatch.setattr(eager, "MIN_CALLS", 3)
    monkeypatch.setattr(dispatch, "KERNELS", {})        # kernels that have not counted calls yet
    x = ingot.tensor(np.random.default_rng(3).standard_normal((7, 9)).astype(np.float32))
    seen = {f(x)._a.tobytes() for _ in range(12)}
    assert seen == {jit.trace(f)(x)._a.tobytes()}


@pytest.mark.parametrize("x", [np.arange(24.0).reshape(2, 3, 4), np.arange(24.0).reshape(4, 6)[:, ::2],
                               np.arange(6.0).reshape(2, 3).T, np.float64(3.0), np.zeros((0, 3)),
                               np.zeros((3, 0))], ids=range(6))
@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
def test_reductions_of_any_memory_are_one(x, dtype):
    x = np.asarray(x, dtype)
    for dims in {(), tuple(range(x.ndim)), (0,)[:x.ndim], (x.ndim - 1,)[:x.ndim]}:
        for keepdim in (False, True):
            sums = [rd.sum_(wrap(a), dim=dims, keepdim=keepdim)._a for a in (x, np.array(x, order="C"), np.array(x, order="F"))]
            assert {(s.shape, s.tobytes()) for s in sums} == {(sums[0].shape, x.sum(dims, keepdims=keepdim).tobytes())}


def test_graph_values_with_arrays_go_to_their_builder():
    b = Builder()
    x = b.input("x", Aval((3,), dt.float32))
    for _ in range(20):
        made = [ew.add(x, np.ones(3, np.float32)), ew.mul(2.0, x), ew.maximum(x, np.ones(3, np.float32))]
    assert all(type(v) is Value for v in made)


def test_operators_are_specialised_at_once_where_more_calls_are_expected():
    def calls_before(count) -> int:
        op = Op(**{f.name: getattr(ew.add, f.name) for f in dataclasses.fields(Op)})
        for n in range(1, 20):
            count(op)
            if type(op) is not Op:
                return n
        return 0

    assert calls_before(specialized_calls.count_call) == 8
    with specialized_calls.expecting_more():
        assert calls_before(specialized_calls.count_call) == 1
    assert calls_before(specialized_calls.count_call) == 8
