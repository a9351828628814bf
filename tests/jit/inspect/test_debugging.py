"""`jit.debug(nan=True)`: sources of nan and infinity; integer division by zero; graphs of one run."""

import inspect

import pytest

import ingot
from graph_interpreter import interpret
from ingot import jit
from ingot.ir.graph.text import parse, show
from ingot.jit import NotFiniteError
from ingot.passes.schedule.specialize_shapes import bind_graph
from side_by_side import plain, vec


def logarithm(x):
    y = (x * 2).exp()
    return (y + (x - 2).log()).sum()


LINE = inspect.getsourcelines(logarithm)[1] + 2


@pytest.mark.parametrize("warm", [0, 2], ids=["recorded", "replayed"])
def test_the_first_operation_is_named_with_its_line(warm):
    traced = jit.trace(logarithm)
    for _ in range(warm):
        traced(vec(3.0, 4.0))
    with jit.debug(nan=True), pytest.raises(NotFiniteError, match=f"log at .*test_debugging.py:{LINE} made nan in 1 of 2"):
        traced(vec(3.0, 1.0))
    assert plain(traced(vec(3.0, 1.0))) == plain(logarithm(vec(3.0, 1.0)))      # and nothing is left


def test_infinities_of_masks_are_no_fault():
    def fn(x):
        return x.masked_fill(x > 0, float("-inf")).softmax(-1) * 2

    traced = jit.trace(fn)
    with jit.debug(nan=True):
        for _ in range(3):
            assert plain(traced(vec(-1.0, 2.0))) == plain(fn(vec(-1.0, 2.0)))
        with pytest.raises(NotFiniteError, match="made infinity"):
            jit.trace(lambda x: 1 / x)(vec(0.0))


def test_updates_and_gradients_under_debug():
    def make():
        w = vec(1.0, 2.0, 3.0).requires_grad_()
        optimizer = ingot.optim.Adam([w], lr=0.1)

        def step(x):
            optimizer.zero_grad()
            loss = (w * x).tanh().sum()
            loss.backward()
            optimizer.step()
            return loss
        return w, step

    (a, eager), (b, step) = make(), make()
    traced = jit.trace(step)
    jit.debug(nan=True)
    try:
        for i in range(6):
            x = ingot.arange(3, dtype=ingot.float32) + i
            assert plain(traced(x)) == plain(eager(x))
    finally:
        jit.debug(nan=False)
    assert plain(a) == plain(b)


@pytest.mark.parametrize("fn", [lambda a, b: (a * 2) // (b * 1) + 1, lambda a, b: a % b, lambda a, b: ingot.fmod(a + 1, b),
                                lambda a, b: ingot.div(a, b, rounding_mode="trunc") * 3])
def test_integers_are_not_divided_by_zero(fn):
    traced = jit.trace(fn)
    a, ones, zeros = ingot.tensor([1, 2, 3]), ingot.tensor([1, 1, 2]), ingot.tensor([1, 0, 2])
    for _ in range(3):
        assert plain(traced(a, ones)) == plain(fn(a, ones))
    with pytest.raises(ingot.jit.TraceError.__mro__[1], match="division by zero") as want:
        fn(a, zeros)
    with pytest.raises(type(want.value), match="division by zero"):
        traced(a, zeros)


# Graphs of one run.


def test_record_graph_of_a_module():
    net = ingot.nn.Sequential(ingot.nn.Linear(4, 8), ingot.nn.ReLU(), ingot.nn.Linear(8, 2))
    x = ingot.rand(3, 5, 4)
    r = jit.record_graph(net, (x,), {0: {0: "batch", 1: "time"}})
    assert r.sizes == {"batch": ((0, 0),), "time": ((0, 1),)} and not r.conditions
    assert [id(t) for t in r.captured.values()] == [id(p) for p in net.parameters()]
    assert parse(show(r.graph)) == r.graph
    for shape in ((3, 5, 4), (2, 7, 4)):
        y = ingot.rand(*shape)
        bound = bind_graph(r.graph, {"batch": shape[0], "time": shape[1]})
        got, = interpret(bound, [t.detach().numpy() for t in (y, *r.captured.values())]).outputs
        assert ingot.allclose(ingot.tensor(got), net(y), atol=1e-5)


def test_record_graph_reports_its_conditions():
    def fn(x, y):
        if x.shape[0] > 3:
            x = x[:4]
        return x.sum(0) + y[: x.shape[1]], x.shape[1]

    r = jit.record_graph(fn, (ingot.rand(5, 6), ingot.rand(9)), True)
    assert r.result[1] == 6 and type(r.result[1]) is int
    assert set(r.conditions) == {"s0-4 >= 0", "-s1+s2 >= 0"} and all(line[1] > 0 for line in r.conditions.values())


@pytest.mark.parametrize("fn, words", [
    (lambda x: x if x.sum() > 0 else -x, "reads a value"), (lambda x: x + ingot.rand(3), "draws random numbers"),
    (lambda x: jit.host(print)(x) or x, "calls a host function")])
def test_record_graph_refuses(fn, words):
    with pytest.raises(jit.TraceError, match=words):
        jit.record_graph(fn, (vec(),))


def test_writes_are_updates_of_a_recorded_graph():
    total = vec(0.0, 0.0, 0.0)

    def fn(x):
        total.add_(x)
        return total * 2

    r = jit.record_graph(fn, (vec(),))
    assert len(r.graph.updates) == 1 and list(r.captured.values()) == [total]
