"""`jit.debug(nan=True)`: sources of nan and infinity; integer division by zero; graphs of one run."""

import inspect
import re
from concurrent.futures import ThreadPoolExecutor

import pytest

import ingot
from graph_interpreter import interpret
from ingot import jit
from ingot.ir.graph.text import parse, show
from ingot.jit import NotFiniteError
from ingot.passes.schedule.specialize_shapes import bind_graph
from ingot.runtime.state.mode import OPEN_PROFILES, tls
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


# Eager code, and gradients.


def at_place(fn, word):
    """Return "file:line" of the line of a function with a word, as a pattern."""
    lines, start = inspect.getsourcelines(fn)
    return rf"test_debugging.py:{start + next(i for i, line in enumerate(lines) if word in line)}\b"


def forward():
    x = vec(1.0, -1.0)
    return x.log()      # here


def in_place():
    x = vec(1.0, -1.0)
    x.sqrt_()           # here


def out():
    x, y = vec(1.0, -1.0), vec(0.0, 0.0)
    ingot.log(x, out=y)     # here


def backward():
    x = vec(0.0, 1.0).requires_grad_()
    y = ingot.where(x > 0, x.sqrt(), 0.0)     # here
    y.sum().backward()


def by_autograd_grad():
    x = vec(0.0, 1.0).requires_grad_()
    y = ingot.where(x > 0, x.sqrt(), 0.0)     # here
    ingot.autograd.grad(y.sum(), x)


def double_backward():
    x = vec(0.0).requires_grad_()
    y = x.sqrt()        # here
    ingot.autograd.grad(y.sum(), x, create_graph=True)


class Divided(ingot.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * float("inf") * 0


def users_function():
    x = vec(1.0).requires_grad_()
    Divided.apply(x).sum().backward()


def under_vmap():
    ingot.func.vmap(lambda x: x.log())(vec(1.0, -1.0))      # here


def module():
    x = ingot.tensor([[1.0, -1.0]])
    norm = ingot.nn.LayerNorm(2, eps=-1.0)
    norm(x)             # here


MADE = {forward: "log at PLACE made nan", in_place: "sqrt at PLACE made nan", out: "log at PLACE made nan",
        backward: "the gradient of SqrtBackward0 at PLACE made nan",
        by_autograd_grad: "the gradient of SqrtBackward0 at PLACE made nan", double_backward: "made infinity",
        users_function: "made nan", under_vmap: "log at PLACE made nan", module: "at PLACE made (nan|infinity)"}


@pytest.mark.parametrize("fn", MADE, ids=lambda fn: fn.__name__)
def test_eager_code_names_the_first_operation(fn):
    pattern = MADE[fn].replace("PLACE", rf"\S*{at_place(fn, '# here')}") if "PLACE" in MADE[fn] else MADE[fn]
    fn()                # nothing is checked without the block
    with jit.debug(nan=True), pytest.raises(NotFiniteError, match=pattern):
        fn()
    assert tls.m.observer is None and not OPEN_PROFILES
    fn()


@pytest.mark.parametrize("op", ["log", "sqrt", "asin", "acosh", "rsqrt", "log1p", "lgamma", "reciprocal"])
@pytest.mark.parametrize("how", ["eager", "traced", "eager inside of a trace", "replayed"])
def test_operators_are_named_wherever_they_run(op, how):
    function, bad = getattr(ingot, op), {"lgamma": 0.0, "reciprocal": 0.0, "asin": 3.0}.get(op, -2.0)
    good = 0.5 if op == "asin" else 1.5

    def step(x):
        if how == "eager inside of a trace":
            jit.host(function)(x)
        return function(x + 0) * 2

    call = step if how == "eager" else jit.trace(step)
    for _ in range(3 if how == "replayed" else 0):
        call(vec(good, good))
    name = "div" if op == "reciprocal" else op
    with jit.debug(nan=True), pytest.raises(NotFiniteError, match=rf"({op}|{name}) at .* made (nan|infinity) in 1 of 2"):
        call(vec(good, bad))


class Net(ingot.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = ingot.nn.Parameter(vec(float("nan"), 1.0))

    def forward(self, x):
        return x * self.weight


def from_an_argument():
    x = vec(float("nan"), 1.0)
    return x + 1


def from_a_weight():
    net = Net()
    return net(vec(1.0, 1.0))


def from_a_weight_of_a_trace():
    net = jit.trace(Net())
    return net(vec(1.0, 1.0))


def from_a_given_gradient():
    x = vec(1.0, 2.0).requires_grad_()
    x.exp().backward(vec(float("nan"), 1.0))


def optimizer_of(kind):
    w = vec(1.0, 2.0).requires_grad_()
    optimizer = kind([w], lr=0.1)
    w.sum().backward()
    return w, optimizer


def from_state_of_an_optimizer():
    w, optimizer = optimizer_of(ingot.optim.Adam)
    optimizer.step()
    optimizer.state[w]["exp_avg"][0] = float("nan")
    optimizer.step()


def from_a_gradient():
    w, optimizer = optimizer_of(ingot.optim.SGD)
    w.grad[0] = float("nan")
    optimizer.step()


CAME_IN = {from_an_argument: "x, float32[2], holds it in 1 of 2 elements where add", from_a_weight: "self.weight, float32[2]",
           from_a_weight_of_a_trace: "self.weight, float32[2]",
           from_a_given_gradient: "the gradient given to backward(), float32[2]",
           from_state_of_an_optimizer: "optimizer.state[0]['exp_avg'], float32[2]", from_a_gradient: "w.grad, float32[2]"}


@pytest.mark.parametrize("fn", CAME_IN, ids=lambda fn: fn.__name__)
def test_a_nan_from_outside_is_named_as_such(fn):
    with jit.debug(nan=True), pytest.raises(NotFiniteError, match=re.escape(f"nan came in from outside: {CAME_IN[fn]}")):
        fn()


def test_a_nan_from_outside_of_a_replay():
    traced = jit.trace(lambda x: (x - 2).exp())
    for _ in range(3):
        traced(vec(3.0, 4.0))
    x = vec(3.0, float("nan"))
    with jit.debug(nan=True), pytest.raises(NotFiniteError, match="came in from outside: x, float32"):
        traced(x)


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "NAdam", "Adadelta"])
def test_training_without_faults_is_left_alone(name):
    def losses(checked):
        ingot.manual_seed(0)
        net = ingot.nn.Sequential(ingot.nn.Linear(4, 8), ingot.nn.BatchNorm1d(8), ingot.nn.ReLU(), ingot.nn.Linear(8, 3))
        optimizer = getattr(ingot.optim, name)(net.parameters(), lr=0.01)
        found = []
        with jit.debug(nan=checked):
            for _ in range(3):
                optimizer.zero_grad()
                loss = ingot.nn.functional.cross_entropy(net(ingot.randn(6, 4)), ingot.arange(6) % 3)
                loss.backward()
                ingot.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
                optimizer.step()
                found.append(loss.item())
        return found

    assert losses(True) == losses(False)


def test_values_made_on_purpose_are_no_fault():
    with jit.debug(nan=True):
        x = ingot.full((2,), float("nan"))
        assert x.isnan().all() and not x.nan_to_num().any()
        ingot.empty(1000)
        ingot.zeros(2).fill_(float("inf"))
        vec(1.0, 2.0).masked_fill(vec(0.0, 1.0) > 0, float("nan"))


def test_blocks_nest_and_end_in_any_order():
    outer, inner = jit.debug(), jit.debug()
    with ingot.profiler.profile():
        outer.__exit__()
        with pytest.raises(NotFiniteError):
            forward()
        inner.__exit__()
        forward()
    forward()
    assert tls.m.observer is None and not OPEN_PROFILES
    with jit.debug(), jit.debug():
        jit.debug(nan=False)
        forward()
    assert tls.m.observer is None and not OPEN_PROFILES


def test_eager_code_of_other_threads_is_not_checked():
    with jit.debug(nan=True), ThreadPoolExecutor(1) as pool:
        pool.submit(forward).result()
        with pytest.raises(NotFiniteError):
            pool.submit(checked_forward).result()


def checked_forward():
    with jit.debug(nan=True):
        forward()


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
