"""Names of PyTorch's compilers: marks and switches of TorchScript, stances of torch.compile."""

import copy
import pickle

import pytest

import ingot
import private_names  # noqa: F401
from ingot import jit, nn
from ingot.ir import config
from ingot.jit.torchscript import annotations
from side_by_side import plain, vec


def test_marks_of_the_older_compiler_change_nothing():
    class Model(nn.Module):
        @jit.export
        def exported(self, x):
            return x + 1

        @jit.ignore
        def ignored(self, x):
            return x + 2

        @jit.ignore(drop=True)
        def dropped(self, x):
            return x + 3

        @jit.unused
        def unused(self, x):
            return x + 4

        def forward(self, x):
            x = self.exported(x) + self.ignored(x) + self.dropped(x) + self.unused(x)
            return x if jit.is_scripting() or jit.is_tracing() else jit.annotate(ingot.Tensor, x * 2)

    m = Model()
    want = plain(m(vec()))
    scripted = jit.script(m)
    assert plain(scripted(vec())) == plain(scripted(vec())) == want and scripted._orig_mod is m
    assert not isinstance(m, jit.ScriptModule) and jit.wait(jit.fork(m, vec())).shape == (3,)

    @jit.script
    def gelu(x: ingot.Tensor) -> ingot.Tensor:
        return x * (1.702 * x).sigmoid()

    x = vec().requires_grad_()
    g, = ingot.autograd.grad(gelu(x).sum(), x, create_graph=True)
    assert g.requires_grad
    with pytest.raises(jit.TraceError, match=r"eval\(\)"):
        jit.freeze(m.train())
    for refused, words in ((lambda: jit.save(m, "m.pt"), "jit.export"),
                          (lambda: jit.trace_module(m, {}), "each method"), (lambda: jit.export(m), "path")):
        with pytest.raises(ingot.IngotError, match=words):
            refused()
    assert jit.isinstance([1], list[int]) and not jit.isinstance((1,), list)


def test_a_scripted_module_has_the_parts_of_the_other_one_by_their_names(tmp_path):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.scale = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5)), 2.0
            self.register_buffer("seen", ingot.zeros(()))

        def forward(self, x):
            self.seen += 1
            return self.body(x) * self.scale

    net, x = Net(), ingot.ones(2, 3)
    scripted = jit.script(net)
    assert isinstance(scripted, jit.ScriptModule) and isinstance(scripted, jit.RecursiveScriptModule)
    assert jit.script(scripted) is scripted
    assert list(scripted.state_dict()) == list(net.state_dict()) == ["seen", "body.0.weight", "body.0.bias"]
    assert [name for name, _ in scripted.named_modules()] == [name for name, _ in net.named_modules()]
    assert all(a is b for a, b in zip(scripted.parameters(), net.parameters())) and scripted.body is net.body
    scripted.eval()
    assert not net.training and not net.body[1].training and ingot.equal(scripted(x), net(x)) and float(net.seen) == 2
    scripted.scale = 3.0
    assert net.scale == 3.0 and ingot.allclose(scripted(x), net.body(x) * 3)
    scripted.double()
    assert net.body[0].weight.dtype is ingot.float64 and scripted(x.double()).dtype is ingot.float64
    scripted.load_state_dict({**scripted.state_dict(), "body.0.bias": ingot.full((3,), 9.0)})
    assert net.body[0].bias.tolist() == [9, 9, 9]
    other = copy.deepcopy(scripted)
    assert type(other) is type(scripted) and other.body is not net.body and ingot.equal(other(x.double()), scripted(x.double()))
    with pytest.raises(AttributeError, match="nothing"):
        _ = scripted.nothing
    with pytest.raises(jit.TraceError, match="example_inputs"):
        scripted.save(tmp_path / "net.pt")


def test_whether_a_profile_is_open():
    assert not ingot.autograd._profiler_enabled()
    for profile in (ingot.profiler.profile, ingot.autograd.profiler.profile):
        with profile():
            assert ingot.autograd._profiler_enabled()
    assert not ingot.autograd._profiler_enabled()


def test_marks_for_signatures_change_nothing():
    class Model(nn.Module):
        @jit._overload_method
        def forward(self, input: annotations.List[ingot.Tensor]) -> ingot.Tensor:
            pass

        def forward(self, input, size: annotations.BroadcastingList2[int] = 2):  # noqa: F811  (as for that compiler)
            return input * size

    @jit._script_if_tracing
    def twice(x):
        return x * 2

    assert plain(Model()(vec())) == plain(twice(vec())) == plain(vec() * 2)


def test_a_module_compiles_itself():
    m = nn.Sequential(nn.Linear(3, 2), nn.Tanh())
    want, seen = plain(m(vec())), []
    m.register_forward_hook(lambda *a: seen.append(1))
    names = list(m.state_dict())
    m.compile(dynamic=False)
    assert plain(m(vec())) == plain(m(vec())) == want and len(seen) == 2
    assert m.forward.stats()["calls"] == 2 and list(m.state_dict()) == names
    twin = copy.deepcopy(m)
    ingot.nn.init.zeros_(twin[0].weight)
    assert plain(twin(vec())) != want and plain(m(vec())) == want


def test_branches_and_loops_as_functions():
    def fn(x):
        y = ingot.cond(x.sum() > 0, lambda a: a * 2, lambda a: a - 1, (x,))
        n, z = ingot.while_loop(lambda n, z: n < 3, lambda n, z: (n + 1, z * 2), (ingot.tensor(0), y))
        return z + n

    traced = jit.trace(fn)
    for v in (1.0, -1.0, 2.0, -2.0):
        assert plain(traced(vec() * 0 + v)) == plain(fn(vec() * 0 + v))
    assert traced.stats()["compiles"] == 2
    with pytest.raises(ValueError, match="body_fn"):
        ingot.while_loop(lambda n: n < 3, lambda n: (n, n), (1,))
    assert pickle.loads(pickle.dumps(ingot.strided)) == ingot.strided


def test_a_stance_says_how_traced_functions_run():
    run, x = ingot.compile(lambda x: x * 2), ingot.ones(3)
    run(x)
    run.forget()
    before = run.stats()["calls"]
    with ingot.compiler.set_stance("force_eager"):
        for _ in range(3):
            assert run(x).tolist() == [2, 2, 2]
    assert run.stats()["calls"] == before
    ingot.compiler.set_stance("force_eager")
    run(x)
    ingot.compiler.set_stance("default")
    assert run(x).tolist() == [2, 2, 2] and run.stats()["calls"] == before + 1
    (reason, times), = run.stats()["eager"].items()
    assert times == 4 and "set_stance('force_eager')" in reason
    assert config.overridden.settings is None
    with pytest.raises(ValueError, match="stance must be one of 'default'"):
        ingot.compiler.set_stance("fail_on_recompile")
    assert ingot.compiler.assume_constant_result(len) is len and ingot.compiler.get_default_backend() == "ingot"


def test_switches_of_the_older_compiler():
    f = jit.trace(lambda x: x + 1)
    f(ingot.ones(2))
    before = f.stats()["compiles"]
    with jit.optimized_execution(False):
        assert f(ingot.ones(3)).tolist() == [2] * 3         # a new size, for which nothing is compiled
    assert f.stats()["compiles"] == before
    with jit.optimized_execution(True), jit.fuser("fuser2"), jit.strict_fusion():
        assert f(ingot.ones(2)).tolist() == [2, 2]
    first = jit.set_fusion_strategy([("STATIC", 1), ("DYNAMIC", 3)])
    assert jit.set_fusion_strategy(first) == [("STATIC", 1), ("DYNAMIC", 3)]
    jit.enable_onednn_fusion(True)
    assert jit.onednn_fusion_enabled()
    jit.enable_onednn_fusion(False)
    for wrong in (lambda: jit.set_fusion_strategy([("SOME", 1)]), lambda: jit.fuser("fuser9").__enter__()):
        with pytest.raises(ValueError, match=r"takes|must be one of"):
            wrong()
