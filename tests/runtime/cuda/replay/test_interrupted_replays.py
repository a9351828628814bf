"""Exceptions from signal handlers in replays on a device: they reach the caller, and each call is done or not done.

The mock driver stands for code in C, so no exception comes within its functions.
"""

import random
from types import SimpleNamespace

import pytest

import ingot
import mock_cuda
from ingot import jit, nn
from ingot.ir import config
from ingot.ir.errors import DeviceError
from interrupts import KINDS, follow, follow_alarms, is_from_outside, known_as_handler, points_of, raised_at

ALARMS = 2000           # for each kind
WITHIN = "ingot.runtime"
API = "ingot.runtime.cuda.api"
CLOSE = "ingot.runtime.cuda.replay"         # code that is close to launches
MOST = 50               # of its points, unless the test is slow


@pytest.fixture(autouse=True)
def cuda():
    with mock_cuda.installed() as mock, known_as_handler():
        yield mock


@pytest.fixture(params=["as a graph", "launch by launch"])
def path(request):
    with config.override(cuda_graphs=request.param == "as a graph"):
        yield request.param


class Training:
    """A step that writes tensors on a device, Python state and an optimizer, and draws."""

    make_optimizer = staticmethod(lambda p: ingot.optim.SGD(p, lr=0.01, momentum=0.9))

    def __init__(self):
        ingot.manual_seed(0)
        self.net = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2), nn.Dropout(0.5)).cuda()
        self.optimizer = self.make_optimizer(self.net.parameters())
        self.x, self.seen, self.steps = ingot.randn(4, 3).cuda(), ingot.zeros(5, device="cuda"), 0
        self.last = None
        self.step = jit.trace(self._step, fullgraph=True)
        for _ in range(7):
            self()

    def _step(self, x):
        self.optimizer.zero_grad()
        loss = (self.net(x) ** 2).mean()
        loss.backward()
        self.optimizer.step()
        self.steps += 1
        self.seen.add_(1.0)
        self.last = loss.detach()
        return self.last

    def __call__(self):
        return self.step(self.x)

    def state(self) -> list:
        parameters = list(self.net.parameters())
        of_optimizer = [x for p in parameters for x in self.optimizer.state[p].values() if isinstance(x, ingot.Tensor)]
        tensors = [*parameters, *[p.grad for p in parameters], *self.net.buffers(), *of_optimizer, self.seen, self.last]
        return [*[t if t is None else t.tolist() for t in tensors], *[t._version for t in tensors if t is not None],
                self.steps, ingot.get_rng_state().tolist()]


class Adam(Training):
    make_optimizer = staticmethod(ingot.optim.Adam)


class Accumulating:
    """A function that writes over memory which is elsewhere at each call, over memory of the host, and into a table."""

    def __init__(self):
        self.parts, self.count = [ingot.full((4,), n + 1.0, device="cuda") for n in range(3)], ingot.zeros(3)
        self.kept = kept = SimpleNamespace(table=ingot.zeros(6, 4, device="cuda"), at=0)
        rows = ingot.tensor([1, 3, 1], device="cuda")

        def step(part, count):
            kept.table.index_add_(0, rows, kept.table[:3] * 0.5 + part)
            part.mul_(0.5).add_(kept.table[1])
            count.mul_(0.5).add_(1.0)
            kept.at += 1
            return part.sum()

        self.step = jit.trace(step, fullgraph=True)
        for _ in range(7):
            self()

    def __call__(self):
        return self.step(self.parts[self.kept.at % 3], self.count)

    def state(self) -> list:
        tensors = [*self.parts, self.kept.table, self.count]
        return [*[t.tolist() for t in tensors], *[t._version for t in tensors], self.kept.at]


MAKES = [Training, Adam, Accumulating]


def _plain():
    w = ingot.ones(8, 8, device="cuda")
    f, a, b = jit.trace(lambda x, y: (x @ w * 2 + y).relu() @ w, fullgraph=True), ingot.ones(8, 8).cuda(), ingot.ones(8).cuda()
    for _ in range(6):
        f(a, b)
    return lambda: f(a, b)


def test_an_exception_from_outside_reaches_the_caller(path):
    call = _plain()
    for number in range(points_of(call)):
        _, error, reached = raised_at(number, call, KINDS[number % len(KINDS)])
        assert is_from_outside(error) or not reached, (number, error)


@pytest.mark.drawn
@pytest.mark.parametrize("make", MAKES)
def test_a_replay_is_done_or_not_done_at_each_point(make, path, cuda):
    """At points of the code that is close to launches."""
    it = make()
    count = points_of(it, CLOSE)
    assert bool(cuda.calls.get("cuGraphLaunch")) is (path == "as a graph"), (count, it.step.stats())
    points = random.Random(make.__name__).sample(range(count), min(count, MOST))
    done = follow(make, lambda it, i: raised_at(points[i], it, KINDS[i % len(KINDS)], CLOSE)[1], len(points))
    assert done, (count, it.step.stats())


class ByHand:
    """A graph that was captured by hand, and draws from two generators."""

    def __init__(self):
        ingot.manual_seed(0)
        self.other, self.x, self.graph = ingot.Generator().manual_seed(1), ingot.zeros(4, device="cuda"), ingot.cuda.CUDAGraph()
        self.graph.register_generator_state(self.other)
        with ingot.cuda.graph(self.graph):
            self.x += ingot.rand(4, device="cuda") + ingot.rand(4, generator=self.other, device="cuda")

    def __call__(self):
        self.graph.replay()

    def state(self) -> list:
        return [self.x.tolist(), ingot.get_rng_state().tolist(), self.other.get_state().tolist()]


def test_a_replay_by_hand_is_done_or_not_done_at_each_point():
    count = points_of(ByHand(), WITHIN)
    done = follow(ByHand, lambda it, i: raised_at(i, it, KINDS[i % len(KINDS)], WITHIN)[1], count)
    assert 0 < done < count


def test_a_launch_that_fails_draws_nothing(cuda):
    it = ByHand()
    before = it.state()
    cuda.failing_once["cuGraphLaunch"] = 1
    with pytest.raises(DeviceError):
        it()
    assert it.state() == before


def test_the_modules_of_one_call_are_replaced_together():
    """At the last points of the call."""
    x = ingot.ones(2, 4).cuda()

    def made():
        nets = [nn.Linear(4, 3).cuda(), nn.Linear(4, 2).cuda()]
        return nets, lambda: ingot.cuda.make_graphed_callables(tuple(nets), ((x,), (x,)), num_warmup_iters=1)

    def replaced_by(number):
        nets, make = made()
        raised_at(number, make, within=API)
        return ["forward" in vars(net) for net in nets]

    count = points_of(made()[1], API)
    found = [replaced_by(number) for number in range(count - 9, count + 1)]
    before = found.count([False, False])
    assert before and found == [[False, False]] * before + [[True, True]] * (10 - before)


class Borrowed:
    """A tensor of another library, which lends its memory."""

    def __init__(self):
        self.tensor = ingot.ones(3, device="cuda")

    def __dlpack__(self, **options):
        return self.tensor.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()


def _graph():
    stream, graph, x = ingot.cuda.Stream(), ingot.cuda.CUDAGraph(), ingot.ones(4, device="cuda")
    with ingot.cuda.graph(graph, stream=stream):
        y = x * 2
    return [graph, y, stream]


OBJECTS = {"memory": lambda: [ingot.ones(4, device="cuda") * n for n in range(5)],
           "events": lambda: [ingot.cuda.current_stream().record_event() for _ in range(5)], "graph": _graph,
           "page-locked": lambda: [ingot.ones(4).pin_memory() for _ in range(5)],
           "foreign": lambda: [ingot.from_dlpack(Borrowed())], "inputs": lambda: [_plain()]}


@pytest.mark.parametrize("make", OBJECTS)
def test_no_exception_is_lost_where_objects_go(make, monkeypatch):
    lost: list = []
    monkeypatch.setattr("sys.unraisablehook", lambda found: lost.append(found.exc_value))
    for number in range(1 + points_of(OBJECTS[make]().clear)):
        objects = OBJECTS[make]()
        raised_at(number, objects.clear)
        assert not lost, number
    OBJECTS[make]()


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("make", MAKES)
def test_a_replay_is_done_or_not_done_at_every_point(make, path):
    """At all points of all code."""
    follow(make, lambda it, i: raised_at(i, it, KINDS[i % len(KINDS)])[1], points_of(make()))


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_signals_leave_replays_done_or_not_done(kind, path):
    follow_alarms(Training, kind, ALARMS, random.Random(f"{kind}"))
