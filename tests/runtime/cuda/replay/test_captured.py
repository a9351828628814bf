"""Replays of traced functions on a device, on the mock driver: the quick road to them, inputs that move, memory of results."""

import numpy as np
import pytest

import ingot
import mock_cuda
from ingot import jit, nn
from ingot.ir import dtype as dt
from ingot.ir.errors import DeviceError, DTypeError
from ingot.ir.graph.graph import Builder
from ingot.ir.opdef.aval import Aval
from ingot.ir.ops.core import elementwise as ew
from ingot.runtime.backends import cuda as switches
from ingot.runtime.core.device_array import DeviceArray
from ingot.runtime.cpu.graph.eager import kernel_for
from ingot.runtime.cpu.graph.program import CompiledGraph
from ingot.runtime.cuda.graph import traced
from ingot.runtime.cuda.replay import captured as captures
from ingot.runtime.cuda.replay.captured import ResidentInputs

W = np.arange(12.0, dtype=np.float32).reshape(3, 4) / 8


@pytest.fixture(autouse=True)
def cuda():
    with mock_cuda.installed() as mock:
        yield mock


@pytest.fixture(params=["as a graph", "launch by launch"])
def path(request, monkeypatch):
    """How calls run: results of three numbers are worth a graph, or take too long to copy out of one."""
    if request.param == "launch by launch":
        monkeypatch.setattr(captures, "SMALL", 0)
        monkeypatch.setattr(traced, "WORTH", 1)
    return request.param


def there(*values, **options):
    return ingot.tensor(values, device="cuda", **options)


class Net:
    """A function of two launches and more, and how often its calls took the long road."""

    def __init__(self, monkeypatch=None):
        self.w, self.b = ingot.tensor(W, device="cuda"), there(1.0, 2.0, 3.0, 4.0)
        self.traced, self.long = jit.trace(self.of), 0
        if monkeypatch is not None:
            call = type(self.traced)._call
            monkeypatch.setattr(type(self.traced), "_call", lambda *args: (self.count(), call(*args))[1])

    def of(self, x):
        return ((x @ self.w).relu() + self.b) @ self.w.T.contiguous()

    def count(self):
        self.long += 1

    def warm(self):
        for _ in range(8):
            self.traced(there(1.0, 2.0, 3.0))
        self.long = 0
        return self

    def check(self, x):
        want, got = self.of(x), self.traced(x)
        assert got.device == want.device and got.dtype is want.dtype and got.requires_grad == want.requires_grad
        np.testing.assert_array_equal(got.detach().cpu().numpy(), want.detach().cpu().numpy())


ALIKE = {"new memory each time": lambda n: there(1.0 * n, -2.0, 0.5),
         "a part of other memory": lambda n: ingot.arange(24.0, device="cuda").view(8, 3)[n],
         "from the host": lambda n: ingot.tensor([0.5, n, 1.0]).cuda()}


@pytest.mark.parametrize("kind", ALIKE)
def test_similar_calls_take_the_fast_path(kind, path, monkeypatch, cuda):
    net = Net(monkeypatch).warm()
    for n in range(6):
        net.check(ALIKE[kind](n))
    assert net.long == 0 and net.traced.stats()["compiles"] == 1
    assert bool(cuda.calls.get("cuGraphLaunch")) is (path == "as a graph")


def test_results_that_are_launched_are_copied_nowhere(cuda, monkeypatch):
    """Each call has memory of its own for them; the same ones in a graph are copied out of it."""
    monkeypatch.setattr(captures, "SMALL", 0)
    copies = []
    for worth in (1, 1 << 20):
        monkeypatch.setattr(traced, "WORTH", worth)
        net = Net().warm()
        x, before = there(1.0, 2.0, 3.0), cuda.calls.get("cuMemcpyDtoDAsync_v2", 0)
        first, second = net.traced(x), net.traced(x)
        copies.append(cuda.calls.get("cuMemcpyDtoDAsync_v2", 0) - before)
        assert first.data_ptr() != second.data_ptr()
    assert copies[0] == 0 < copies[1]


def test_one_launch_takes_it_too(monkeypatch, cuda):
    net = Net(monkeypatch)
    net.of = lambda x: x * 2 + 1
    net.traced = jit.trace(net.of)
    net.warm()
    net.check(there(4.0, 5.0, 6.0))
    assert net.long == 0 and not cuda.calls.get("cuGraphLaunch")


OTHERS = {"on the host": lambda: ingot.ones(3), "in float64": lambda: there(1.0, 2.0, 3.0).double(),
          "every second element": lambda: ingot.arange(6.0, device="cuda")[::2],
          "another shape": lambda: ingot.ones(2, 3, device="cuda"),
          "a gradient": lambda: there(1.0, 2.0, 3.0, requires_grad=True)}

REFUSED = {"on the host": DeviceError, "in float64": DTypeError}


@pytest.mark.parametrize("kind", OTHERS)
def test_other_calls_take_the_slow_path(kind, monkeypatch):
    net = Net(monkeypatch).warm()
    for _ in range(3):
        x = OTHERS[kind]()
        if kind in REFUSED:
            with pytest.raises(REFUSED[kind]):
                net.traced(x)
            continue
        before = net.long
        net.check(x)
        assert net.long > before
        net.check(there(1.0, 2.0, 3.0))


def weight_in_other_memory(net):
    net.w.data = net.w * 2


def weight_written(net):
    net.b.mul_(3)


def tf32(net):
    switches.matmul.allow_tf32 = True


CHANGES = {"other memory": weight_in_other_memory, "written": weight_written, "TF32": tf32,
           "another weight": lambda net: setattr(net, "b", there(0.0, 1.0, 0.0, 1.0)),
           "a weight that wants a gradient": lambda net: net.w.requires_grad_()}


@pytest.mark.parametrize("change", CHANGES)
def test_inputs_of_a_replay_are_checked(change, path, monkeypatch):
    monkeypatch.setattr(switches.matmul, "allow_tf32", False)
    net = Net().warm()
    CHANGES[change](net)
    for n in range(6):
        net.check(there(1.0, n, 0.5))


def test_in_another_stream_and_in_a_capture():
    net = Net().warm()
    with ingot.cuda.stream(ingot.cuda.Stream()):
        net.check(there(1.0, 5.0, 0.5))
    x, graph = there(1.0, 2.0, 3.0), ingot.cuda.CUDAGraph()
    with ingot.cuda.graph(graph):
        y = net.traced(x)
    x.copy_(there(7.0, 8.0, 9.0))
    graph.replay()
    np.testing.assert_array_equal(y.cpu().numpy(), net.of(there(7.0, 8.0, 9.0)).cpu().numpy())
    net.check(there(2.0, 2.0, 2.0))


def test_inputs_that_stay_are_known_as_long_as_they_live():
    a, b = (ingot.ones(4, device="cuda")._a for _ in range(2))
    resident = ResidentInputs([a, b], [0, 1], a.memory.stream)
    assert resident.are_there([a, b]) and resident._known == [id(a), id(b)] and not resident._foreign_uses
    again = DeviceArray(b.kind, b.memory, b.shape, b.dtype)
    assert resident.are_there([a, again]) and not resident.are_there([again, a])
    assert resident.moved_since([a.pointer, a.pointer]) == {1}
    del again
    assert len(resident._gone) == 1
    resident._forget_gone()
    assert resident._known == [id(a), 0] and resident.are_there([a, b])
    elsewhere = ResidentInputs([a, b], [1], a.memory.stream + 1)
    assert elsewhere.are_there([a, b])
    elsewhere.record_uses([a, b])
    assert elsewhere.stream in b.memory.block.others and not a.memory.block.others


def training_step(width):
    ingot.manual_seed(0)
    net = nn.Sequential(nn.Linear(6, width), nn.Tanh(), nn.Linear(width, 1)).to("cuda")
    opt = ingot.optim.Adam(net.parameters(), lr=0.1)

    def step(x):
        opt.zero_grad()
        loss = net(x).square().mean()
        loss.backward()
        opt.step()
        return loss

    return net, step


def test_gradients_are_copied_together_and_stay_unchanged():
    """Results of a step that are held outlive later steps, and holding a loss holds no gradients."""
    width = captures.SMALL // 8
    (net, plain), (copy, other) = training_step(width), training_step(width)
    traced, held = jit.trace(plain), []
    for n in range(8):
        x = ingot.arange(12.0, device="cuda").view(2, 6) / (n + 1)
        losses = traced(x), other(x)
        held.append((losses, [(p.grad, q.grad.clone()) for p, q in zip(net.parameters(), copy.parameters())]))
    for losses, gradients in held:
        np.testing.assert_allclose(*[loss.item() for loss in losses], rtol=1e-4)
        for got, want in gradients:
            np.testing.assert_allclose(got.cpu().numpy(), want.cpu().numpy(), rtol=1e-3, atol=1e-6)
    (loss, _), gradients = held[-1]
    assert {g._a.nbytes > captures.SMALL for g, _ in gradients} == {False, True}
    assert len({id(g._a.memory) for g, _ in gradients}) == 1 and gradients[0][0]._a.memory is not loss._a.memory
    assert loss._a.memory.nbytes < 4 * loss._a.nbytes + 1


def test_steps_that_come_faster_than_they_run(cuda):
    """Each has its own numbers of the host's, though they are sent from memory that serves again."""
    w, n, twice = ingot.zeros(2, device="cuda"), ingot.zeros(()), 2 * ingot.eye(2, device="cuda")

    @jit.trace
    def step(x):
        n.add_(1)
        w.add_(x * n)
        return w @ twice, x - n

    x = there(1.0, 10.0)            # (making one waits for the device)
    seen = [step(x) for _ in range(40)]
    assert cuda.calls["cuGraphLaunch"] > 30
    for i, (doubled, less) in enumerate(seen):
        assert doubled.tolist() == [(i + 1) * (i + 2), 10.0 * (i + 1) * (i + 2)] and less.tolist() == [-i, 9.0 - i]


def test_host_values_are_computed_where_they_are_wanted():
    b = Builder("twice")
    x = b.input("x", Aval((3,), dt.float32))
    y = ew.mul(x, 2.0)
    graph = CompiledGraph(b.finish([y, y, x]), kernel_for)
    given = [np.zeros(3, np.float32) for _ in range(3)]
    found = graph.run_into([np.arange(3, dtype=np.float32)], given)
    assert all(a is b for a, b in zip(found, given))
    assert [a.tolist() for a in given] == [[0, 2, 4], [0, 2, 4], [0, 1, 2]]
