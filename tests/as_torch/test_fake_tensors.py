"""Modes and trackers for libraries: fake tensors, running modules, wrapper tensors, and explanations of traces and exports."""

import importlib

import pytest

import ingot
import private_names  # noqa: F401
from ingot import export, nn
from ingot.ir.errors import DeviceError
from ingot.jit import ExportError
from ingot.utils.flop_counter import FlopCounterMode

fakes = importlib.import_module("ingot._subclasses.fake_tensor")
FakeTensorMode, FakeTensor = fakes.FakeTensorMode, fakes.FakeTensor
dispatch = importlib.import_module("ingot.utils._python_dispatch")
dynamo = importlib.import_module("ingot._dynamo")


class Net(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, width, 3), nn.BatchNorm2d(width)
        self.layer = nn.TransformerEncoderLayer(width, 2, 16, batch_first=True)
        self.register_buffer("table", ingot.arange(5))

    def forward(self, x):
        y = self.norm(self.conv(x)).relu().flatten(2).transpose(1, 2)
        return self.layer(y).mean(1) + ingot.zeros(y.shape[-1], device="cpu") + self.table[0]


def test_models_run_without_elements():
    real = Net()
    with FakeTensorMode() as mode, FlopCounterMode(display=False) as flops:
        net = Net()
        y = net.to("cpu")(ingot.randn(2, 3, 8, 8))
        assert fakes.active_fake_mode() is mode
        assert all(isinstance(p, FakeTensor) and isinstance(p, nn.Parameter) and p.fake_mode is mode for p in net.parameters())
        assert [p.shape for p in net.parameters()] == [p.shape for p in real.parameters()]
        y.sum().backward()
        optimizer = ingot.optim.Adam(net.parameters())
        optimizer.step()
        assert net.conv.weight.grad.shape == real.conv.weight.shape
        huge = nn.Linear(1 << 20, 1 << 20)
        assert huge(ingot.ones(4, 1 << 20)).shape == (4, 1 << 20)
        for read in (lambda: y.sum().item(), lambda: bool(y[0, 0] > 0), lambda: y.tolist()):
            with pytest.raises(fakes.DataDependentOutputException):
                read()
        assert y.cpu() is y
        assert y.double().dtype is ingot.float64
    with FlopCounterMode(display=False) as wanted:
        real(ingot.randn(2, 3, 8, 8)).sum().backward()
    assert y.shape == (2, 8)
    assert fakes.is_fake(y)
    assert fakes.active_fake_mode() is None
    assert flops.get_total_flops() == wanted.get_total_flops() + 2 * 4 * (1 << 40)
    assert ingot.ones(2).sum() == 2
    assert not fakes.is_fake(ingot.ones(2, device="meta"))


def test_tensors_from_outside_stand_for_themselves_where_that_is_allowed():
    weight = nn.Parameter(ingot.ones(2, 3))
    with FakeTensorMode(), pytest.raises(DeviceError, match="from_tensor"):
        weight + 1
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        made = mode.from_tensor(weight)
        assert isinstance(made, nn.Parameter) and made.requires_grad and made.device.type == "meta"
        assert (weight.t() @ made).shape == (3, 3)
        with fakes.unset_fake_temporarily():
            assert (weight + 1).sum() == 12
        assert fakes.detect_fake_mode([made]) is mode


def test_a_tracker_knows_which_modules_run():
    tracker_of = importlib.import_module("ingot.utils.module_tracker").ModuleTracker
    net = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.ReLU(), nn.Linear(2, 2)))
    seen = []
    with tracker_of() as tracker:
        handles = [net[1][0].register_forward_pre_hook(lambda m, a: seen.append((set(tracker.parents), tracker.is_bw))),
                   net[1][0].register_full_backward_hook(lambda m, a, b: seen.append((set(tracker.parents), tracker.is_bw)))]
        net(ingot.ones(1, 2)).sum().backward()
        assert tracker.parents == {"Global"}
        with pytest.raises(ValueError, match="entered already"):
            tracker.__enter__()
    inner = {"Global", "Sequential", "Sequential.1"}
    assert seen == [(inner | {"Sequential.1.0"}, False), (inner | {"Sequential.1.0"}, True)]
    [h.remove() for h in handles]
    net(ingot.ones(1, 2))
    assert len(seen) == 2


def test_wrappers_are_rebuilt_from_their_parts():
    class Two:
        def __init__(self, a, b):
            self.a, self.b, self.shape = a, b, a.shape

        size, stride = (lambda self: self.a.size()), (lambda self: self.a.stride())

        def __tensor_flatten__(self):
            return ["a", "b"], "context"

        @staticmethod
        def __tensor_unflatten__(parts, context, size, stride):
            assert context == "context"
            return Two(parts["a"], parts["b"])

    made = dispatch.transform_subclass(Two(ingot.ones(2), ingot.zeros(2)), lambda name, t: t + (name == "b"))
    assert made.a.equal(ingot.ones(2)) and made.b.equal(ingot.ones(2))
    with pytest.raises(ValueError, match="of shape"):
        dispatch.transform_subclass(Two(ingot.ones(2), ingot.zeros(2)), lambda name, t: t[:1])
    x, new = ingot.ones(2), ingot.zeros(2)
    assert dispatch.return_and_correct_aliasing(ingot.Tensor.add_, (x, 1), {}, new) is x
    assert dispatch.return_and_correct_aliasing(ingot.add, (x, 1), {}, new) is new


class Undecided(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout()

    def forward(self, x):
        x = self.drop(x)
        return x * 2 if x.sum() > 0 else x + float(x.mean())


def test_a_draft_lists_all_obstacles():
    dims = {"x": {0: export.Dim("n")}}
    draft = export.draft_export(Undecided(), (ingot.ones(3, 4),), dynamic_shapes=dims)
    obstacles = [str(f) for f in draft._report.failures]
    assert [next(w for w in ("random", "bool()") if w in f) for f in obstacles] == ["random", "bool()"]
    assert all("test_fake_tensors.py" in f for f in obstacles)
    with pytest.raises(ExportError, match="random numbers"):
        draft.module()(ingot.ones(3, 4))
    fixed = export.draft_export(lambda x: x * int(x.shape[0] == 3), (ingot.ones(3, 4),), dynamic_shapes=dims)
    assert [f.failure_type.name for f in fixed._report.failures] == ["GUARD_ADDED"]
    assert fixed.module()(ingot.ones(3, 4)).equal(ingot.ones(3, 4))
    whole = export.draft_export(lambda x: x + 1, (ingot.ones(3, 4),), dynamic_shapes=dims)
    assert whole._report.successful()
    assert whole.module()(ingot.ones(5, 4)).equal(ingot.full((5, 4), 2.0))


def test_operators_removed_from_the_table_are_not_decomposed():
    program = export.export(nn.Sequential(nn.BatchNorm1d(4).eval(), nn.GLU()), (ingot.randn(3, 4),))
    table = export.default_decompositions()
    assert "batch_norm" in table
    del table["batch_norm"]
    names = [{n.op.name for n in p.graph.nodes} for p in (program.run_decompositions(), program.run_decompositions(table))]
    assert "batch_norm" not in names[0] and "batch_norm" in names[1]
    assert program.run_decompositions({}).graph == program.graph


def test_explanations_and_graphs_under_the_compilers_names():
    explained = dynamo.explain(lambda x: x.sin() * 2 if x.sum() > 0 else x)(ingot.ones(3))
    assert (explained.graph_count, explained.graph_break_count, explained.op_count) == (2, 1, 4)
    assert explained.ops_per_graph == [["sum", "gt"], ["sin", "mul"]]
    assert "Graph Count: 2" in str(explained)
    made = dynamo.export(lambda x, y: {"a": x.sin() + y})(ingot.zeros(3), y=ingot.ones(3))
    assert made.graph_module(ingot.zeros(3), y=ingot.ones(3))["a"].equal(ingot.ones(3))
