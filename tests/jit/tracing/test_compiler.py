"""`ingot.compile` and `ingot.compiler`: PyTorch's names for tracing."""

import copy
import importlib
import pickle

import pytest

import ingot
import ingot.nn.functional as F
import private_names  # noqa: F401
from ingot import compiler, jit, nn, optim
from ingot.ir.errors import ArgumentError


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.scale = nn.Linear(4, 3), 2.0
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        return self.drop(self.inner(x)) * self.scale

    def loss(self, x):
        return self(x).sum()


def draw(*shape):
    return ingot.randn(*shape, generator=ingot.Generator().manual_seed(3))


def test_a_function_by_each_spelling():
    def f(x):
        return x.sin() * 2

    x = draw(3, 4)
    for made in (ingot.compile(f), ingot.compile(fullgraph=True, dynamic=False)(f),
                 ingot.compile(f, backend="inductor", mode="max-autotune"), compiler.compile(f)):
        for _ in range(3):
            assert ingot.equal(made(x), f(x))
        assert made.stats()["compiles"] == 1
    assert ingot.compile(f, disable=True) is f and ingot.compile(f, backend="eager") is f


def test_what_runs_as_it_is_stays_itself():
    net = Net()
    assert ingot.compile(net, backend="eager") is net and ingot.compile(net, disable=True) is net


def test_a_compiled_module_is_a_module():
    ingot.manual_seed(0)
    net = Net()
    made = ingot.compile(net)
    assert isinstance(made, nn.Module) and made.training
    assert type(made) is not Net and type(made._orig_mod) is Net
    assert list(made.state_dict()) == ["inner.weight", "inner.bias"] == [name for name, _ in made.named_parameters()]
    assert [id(p) for p in made.parameters()] == [id(p) for p in net.parameters()]
    assert made.scale == 2.0 and made.inner is net.inner
    made.eval()
    assert not net.drop.training and not made.training
    x = draw(5, 4)
    for n in (5, 7, 9):
        assert ingot.allclose(made(draw(n, 4)), net(draw(n, 4)), rtol=1e-6, atol=1e-6)
    assert made._jit_trace.stats()["compiles"] <= 2
    assert ingot.allclose(made.loss(x), net.loss(x))
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        _ = made.nothing_of_the_kind
    with pytest.raises(RuntimeError):
        made(draw(5, 3))


@pytest.mark.parametrize("compiled", ["the whole", "a part"])
@pytest.mark.parametrize("saved", ["before", "after", "by PyTorch"])
def test_a_compiled_module_loads_files_of_before_and_after(compiled, saved):
    """PyTorch puts `_orig_mod.` before the names of a module that it has compiled."""
    plain, net = nn.Sequential(Net(), nn.Linear(4, 2)), nn.Sequential(Net(), nn.Linear(4, 2))
    source, made = (ingot.compile(m) if compiled == "the whole" else nn.Sequential(ingot.compile(m[0]), m[1])
                    for m in (plain, net))
    state = dict((plain if saved == "before" else source).state_dict())
    if saved == "by PyTorch":
        state = ({f"_orig_mod.{name}": t for name, t in state.items()} if compiled == "the whole" else
                 {name.replace("0.", "0._orig_mod.", 1) if name.startswith("0.") else name: t for name, t in state.items()})
    made.load_state_dict(state)
    assert all(ingot.equal(a, b) for a, b in zip(plain.parameters(), net.parameters(), strict=True))
    bias = next(name for name in state if name.endswith("inner.bias"))
    with pytest.raises(RuntimeError, match=rf"Missing.*{bias}"):
        made.load_state_dict({name: t for name, t in state.items() if name != bias})
    with pytest.raises(RuntimeError, match=r"Unexpected.*0\.other"):
        made.load_state_dict({**state, "0.other": ingot.ones(1)})


def test_hooks_and_attributes_of_the_compiled_module():
    made = ingot.compile(Net().eval())
    x = draw(2, 4)
    want = made(x)
    made.scale = 6.0
    assert made._orig_mod.scale == 6.0 and ingot.allclose(made(x), want * 3)
    handle = made.register_forward_hook(lambda module, given, out: out + 1)
    assert ingot.allclose(made(x), want * 3 + 1)
    handle.remove()
    assert ingot.allclose(made(x), want * 3)


def test_gradients_flow_through_disabled_functions_by_lists_and_captured_parameters():
    layer, w = nn.Linear(3, 2), draw(3).requires_grad_()
    product = compiler.disable(lambda parts: layer(parts[0] * parts[1]))
    step = ingot.compile(lambda x: product([x, w]).sum())
    for _ in range(3):
        w.grad = layer.weight.grad = None
        step(draw(4, 3)).backward()
        assert ingot.allclose(w.grad, draw(4, 3).sum(0) * layer.weight.sum(0)) and layer.weight.grad is not None
    with ingot.no_grad():
        assert ingot.allclose(step(draw(4, 3)), layer(draw(4, 3) * w).sum())


def test_training_with_backward_outside():
    def train(wrap):
        ingot.manual_seed(0)
        net = Net()
        made, opt, losses = wrap(net), optim.SGD(net.parameters(), lr=0.1), []
        for _ in range(5):
            opt.zero_grad()
            loss = F.mse_loss(made(draw(8, 4)), draw(8, 3))
            loss.backward()
            opt.step()
            losses.append(loss.item())
        return losses

    assert train(ingot.compile) == pytest.approx(train(lambda net: net), rel=1e-5)


def test_copies_and_pickles_hold_the_module():
    made = ingot.compile(nn.Linear(3, 2))
    x = draw(4, 3)
    for other in (copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert type(other) is type(made) and other.weight is not made.weight
        assert ingot.equal(other(x), made(x))


def test_disabled_functions_run_at_every_call_and_let_gradients_through():
    seen = []

    @compiler.disable
    def note(x):
        seen.append(x.sum().item())

    @compiler.disable(recursive=False, reason="slow")
    def double(x):
        return x * 2

    @ingot.compile
    def step(x):
        note(x.detach())
        return double(x).sum()

    for i in range(4):
        x = (draw(3) + i).requires_grad_()
        step(x).backward()
        assert x.grad.tolist() == [2.0] * 3
    assert len(seen) == 4 and len(set(seen)) == 4


def test_queries_about_the_compiler():
    answers = []

    @ingot.compile
    def f(x):
        answers.append(compiler.is_compiling())
        return x + 1

    f(draw(2))
    jit.record_graph(lambda x: x * (2 if compiler.is_exporting() else answers.append("no export") or 3), (draw(2),))
    assert answers == [True] and not compiler.is_compiling() and not compiler.is_exporting()
    assert "inductor" in compiler.list_backends()
    assert importlib.import_module("ingot._dynamo").disable is compiler.disable

    def g(x):
        return x * 3

    made = ingot.compile(g)
    made(draw(2))
    compiler.reset()
    assert ingot.equal(made(draw(2)), draw(2) * 3) and made.stats()["compiles"] == 2


@pytest.mark.parametrize("options, word", [({"backend": "tvm"}, "backend is one of"), ({"backend": print}, "backend is one of"),
                                           ({"mode": "fastest"}, "mode must be one of")])
def test_wrong_arguments_are_refused(options, word):
    with pytest.raises(ArgumentError, match=word):
        ingot.compile(lambda x: x, **options)


def test_ignored_options_warn():
    with pytest.warns(UserWarning, match="options"):
        ingot.compile(lambda x: x, options={"triton.cudagraphs": True})


def test_an_assertion_by_a_function_holds_in_traces():
    @ingot.compile
    def f(x):
        ingot._assert(x.shape[0] < 4, f"at most three rows, got {x.shape[0]}")
        return x + 1

    for n in (1, 2, 3, 2):
        assert ingot.equal(f(draw(n, 2)), draw(n, 2) + 1)
    with pytest.raises(AssertionError, match="at most three rows, got 5"):
        f(draw(5, 2))


def test_modules_traced_by_example_are_modules_that_can_be_saved(tmp_path):
    """PyTorch's programs trace, save, load to a device, evaluate."""
    net, x = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5), nn.Linear(4, 2)).eval(), ingot.randn(5, 3)
    made = ingot.jit.trace(net, x, strict=False, check_trace=False, check_inputs=[(ingot.randn(5, 3),)])
    assert isinstance(made, nn.Module) and made._jit_trace.stats()["calls"] == 2 and ingot.equal(made(x), net(x))
    assert [*made.state_dict()] == [*net.state_dict()] == [n for n, _ in made.named_parameters()]
    assert not made.load_state_dict(net.state_dict()).missing_keys
    for write in (lambda path: ingot.jit.save(made, path), made.save, copy.deepcopy(made).save):
        write(tmp_path / "m.pt")
        for model in (ingot.jit.load(tmp_path / "m.pt"), ingot.jit.load(tmp_path / "m.pt", "cpu"),
                      ingot.jit.load(tmp_path / "m.pt", map_location=ingot.device("cpu"))):
            assert model.eval() is model.train(False) is model.to("cpu") is model and ingot.allclose(model(x), net(x))
    with pytest.raises(RuntimeError, match="no training mode"):
        model.train()
    with pytest.raises(RuntimeError, match="not available here"):
        model.to("xpu")


def test_functions_traced_by_example(tmp_path):
    def scaled(x, by):
        return x * by

    x, by = ingot.randn(3), ingot.randn(3)
    for made in (ingot.jit.trace(scaled, (x, by)), ingot.jit.trace(func=scaled, example_inputs=(x, by)),
                 ingot.jit.trace(scaled, example_kwarg_inputs={"by": by, "x": x})):
        assert made.stats()["calls"] == 1 and ingot.equal(made(x, by), x * by)
        made.save(tmp_path / "f.pt")
        assert ingot.equal(ingot.jit.load(tmp_path / "f.pt")(x, by), x * by)
    loop = ingot.jit.trace(lambda d: d["a"] + 1, {"a": x})          # a dict is an argument
    assert ingot.equal(loop({"a": by}), by + 1)
    with pytest.raises(ValueError, match="not both"):
        ingot.jit.trace(scaled, (x, by), example_kwarg_inputs={"x": x})
    with pytest.raises(RuntimeError, match="a model alone"):
        made.save(tmp_path / "f.pt", _extra_files={"note": "text"})


class _Asks(ingot.nn.Module):
    """A module with another result for each way of running it."""

    def __init__(self, query):
        super().__init__()
        self.query = query

    def forward(self, x):
        return x * 2 if self.query() else x * 3


@pytest.mark.parametrize("query", [compiler.is_compiling, compiler.is_exporting, compiler.is_dynamo_compiling])
def test_exports_record_the_branch_taken_while_exporting(query, tmp_path):
    model, x = _Asks(query), ingot.ones(2)
    exported = ingot.export.export(model, (x,))
    assert exported.module()(x).tolist() == [2, 2] and model(x).tolist() == [3, 3]
    jit.export(model, (x,), tmp_path / "m.ingot")
    assert jit.load(tmp_path / "m.ingot")(x).tolist() == [2, 2] and not query()
    with pytest.raises(ZeroDivisionError):
        jit.export(lambda x: x / (1 // 0), (x,), tmp_path / "wrong.ingot")
    assert not query()


def test_onnx_exports_record_the_branch_taken_while_exporting(tmp_path):
    pytest.importorskip("onnx")
    ingot.onnx.to_onnx(_Asks(compiler.is_exporting), (ingot.ones(2),), tmp_path / "m.onnx")
    assert ingot.onnx.from_onnx(tmp_path / "m.onnx")(ingot.ones(2)).tolist() == [2, 2]
