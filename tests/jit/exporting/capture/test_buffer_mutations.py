"""Exported programs that write to buffers of modules: they keep them from call to call, and go with them into files."""

import io
import threading

import numpy as np
import pytest

import ingot
from ingot import export, func, jit, nn
from ingot.jit import ExportError


class Net(nn.Module):
    """Buffers that are written in place, in part, as a whole, exchanged, and read alone."""

    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(3)
        self.register_buffer("steps", ingot.zeros((), dtype=ingot.int64))
        self.register_buffer("cache", ingot.zeros(4, 3))
        self.register_buffer("total", ingot.zeros(2), persistent=False)
        self.register_buffer("last", ingot.zeros(3))
        self.register_buffer("fixed", ingot.ones(3))

    def forward(self, x):
        self.steps += 1
        self.cache[1:3] = x[:2]
        self.total = self.total + x.sum()
        self.last.copy_(x[0])
        return self.norm(x) * self.steps + self.fixed, self.cache, ingot.cond(self.steps > 2, lambda: x * 2, lambda: x * 3)


WRITTEN = ("steps", "cache", "total", "last", "norm.running_mean", "norm.running_var", "norm.num_batches_tracked")


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    return [ingot.tensor(rng.standard_normal((n, 3)).astype(np.float32)) for n in (5, 7, 2, 3)]


def runs_beside(model, net, xs):
    for x in xs:
        for got, want in zip(model(x), net(x), strict=True):
            assert got.allclose(want, atol=1e-5)
        for name, t in net.named_buffers():
            assert name not in WRITTEN or model.weights[name].allclose(t, atol=1e-5), name


@pytest.fixture
def program():
    return export.export(Net().train(), (inputs()[0],), dynamic_shapes={"x": {0: export.Dim("n")}})


def test_a_program_keeps_the_buffers_of_its_module(program):
    net = Net().train()
    before = {name: t.clone() for name, t in net.named_buffers()}
    export.export(net, (inputs()[0],))
    assert all(ingot.equal(t, before[name]) for name, t in net.named_buffers())     # an export leaves the module as it was
    model = program.module()
    assert [spec.name for spec in model.inputs] == ["x"] and len(model.outputs) == 3 and "steps" in repr(model.state)
    runs_beside(model, net, inputs())
    assert program.state_dict["steps"] == 4 and dict(program.named_buffers())["total"].allclose(net.total, atol=1e-5)


def test_the_signature_names_buffers(program):
    sig = program.graph_signature
    assert tuple(sig.buffers_to_mutate.values()) == WRITTEN and set(sig.buffers) == {*WRITTEN, "fixed"}
    assert set(sig.buffers_to_mutate) <= {s.arg.name for s in sig.output_specs}
    assert sig.non_persistent_buffers == ("total",) and sig.user_inputs == ("x",) and len(sig.user_outputs) == 3
    assert [s.kind.name for s in sig.output_specs] == ["BUFFER_MUTATION"] * 7 + ["USER_OUTPUT"] * 3


def test_files_hold_current_buffers(program, tmp_path):
    net = Net().train()
    runs_beside(program.module(), net, inputs())
    file = io.BytesIO()
    export.save(program, file)
    export.save(program, tmp_path / "program.ingot")
    runs_beside(export.load(io.BytesIO(file.getvalue())).module(), net, inputs(1))
    other = jit.load(tmp_path / "program.ingot")
    assert other.weights["steps"] == 4
    other(inputs()[0])
    assert other.weights["steps"] == 5 and jit.load(tmp_path / "program.ingot").weights["steps"] == 4


def test_arrays_traces_gradients_and_batches(program):
    model, net = program.module(), Net().train()
    x = inputs()[0]
    got, want = model(x.numpy()), net(x)
    assert isinstance(got[0], np.ndarray) and np.allclose(got[0], want[0].detach(), atol=1e-5)
    traced = jit.trace(model)
    for x in inputs(2):
        assert traced(x)[0].allclose(net(x)[0], atol=1e-5)
    assert model.weights["steps"] == 5 and model.weights["norm.running_var"].allclose(net.norm.running_var, atol=1e-5)
    x, y = (inputs(3)[0].requires_grad_() for _ in range(2))
    for fn, t in ((model, x), (net, y)):
        (fn(t)[0] ** 2).sum().backward()
    assert x.grad.allclose(y.grad, atol=1e-4) and model.weights["steps"] == 6 and not model.weights["total"].requires_grad
    with pytest.raises(RuntimeError):
        func.vmap(model)(ingot.randn(2, 5, 3))


def test_calls_of_several_threads_follow_each_other(program):
    model, x = program.module(), inputs()[0]
    threads = [threading.Thread(target=lambda: [model(x) for _ in range(25)]) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert model.weights["steps"] == 100


def test_state_must_be_requested(tmp_path):
    net = Net().train()
    with pytest.raises(ExportError, match="stateful=True"):
        jit.export(Net().train(), inputs()[0], tmp_path / "model.ingot")
    model = jit.export(lambda x: net(x)[0], inputs()[0], tmp_path / "model.ingot", stateful=True)
    assert model(inputs()[0]).allclose(net(inputs()[0])[0], atol=1e-5) and model.weights["net.steps"] == 1
    assert not jit.export(nn.Linear(3, 2), inputs()[0], tmp_path / "plain.ingot", stateful=True).state


class Wrong(nn.Module):
    def __init__(self, forward):
        super().__init__()
        self.register_buffer("n", ingot.zeros(()))
        self.register_buffer("k", ingot.zeros(2))
        self.plain, self.inner, self.body = ingot.zeros(2), nn.Module(), forward
        self.inner.register_buffer("k", self.k)

    def forward(self, x):
        self.n += 1
        return self.body(self, x)


REFUSED = {
    "read": (lambda m, x: x * 2 if m.n.item() > 1 else x, "or on buffers that are written"),
    "a branch": (lambda m, x: ingot.cond(m.n > 2, lambda: m.k.add_(1), lambda: m.k * 1), "a branch of cond writes"),
    "no buffer": (lambda m, x: x + m.plain.add_(1), "register_buffer"),
    "another kind": (lambda m, x: setattr(m, "n", ingot.zeros(3)) or x, r"the buffer n of float32\[\] becomes float32\[3\]"),
    "removed": (lambda m, x: setattr(m, "n", None) or x, "is removed"),
    "of several": (lambda m, x: setattr(m, "k", x * 2) or x, "several modules hold"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_unsupported_state_is_refused(name):
    net = Wrong(REFUSED[name][0])
    with pytest.raises(ExportError, match=REFUSED[name][1]):
        export.export(net, (ingot.ones(2),))
    assert net.n == 0 and net.inner.k is net.k and net.k.tolist() == [0, 0]
