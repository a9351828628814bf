"""Traced and compiled modules stay modules: each use of a module, on a plain, a traced and a compiled one."""

import abc
import copy
import gc
import io
import pickle
import weakref
from collections import OrderedDict

import pytest

import ingot
from ingot import jit, nn, optim
from ingot.nn.utils import parametrize

REGISTRY: list = []


class Registered(nn.Module):
    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        REGISTRY.append(cls)


class Net(Registered):
    """A network with attributes of many kinds."""

    gain = 1.5          # in the class

    def __init__(self, width=3):
        super().__init__()
        self.inner, self.drop, self.width = nn.Linear(4, width), nn.Dropout(0.5), width
        self.register_buffer("steps", ingot.zeros(()))
        self.notes = []

    def forward(self, x):
        if self.training:
            self.steps += 1
        return self.drop(self.inner(x)) * self.gain

    def loss(self, x):
        return self(x).sum() + self.inner.bias.sum()

    def twin(self):
        return type(self)(self.width)

    @property
    def total(self):
        return sum(p.numel() for p in self.parameters())

    @classmethod
    def wide(cls):
        return cls(7)

    def stats(self):
        return "its own"


class Abstract(abc.ABC, nn.Module):
    @abc.abstractmethod
    def forward(self, x): ...


class Concrete(Abstract):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(ingot.ones(4))

    def forward(self, x):
        return x * self.w


def x():
    return ingot.randn(2, 4, generator=ingot.Generator().manual_seed(3))


def draw(seed=0):
    ingot.manual_seed(seed)


def plain(net):
    return net


WRAPPERS = {"trace": jit.trace, "trace_with_options": jit.trace(dynamic=True),
            "trace_by_example": lambda net: jit.trace(net, x()), "compile": ingot.compile,
            "compile_eager": lambda net: ingot.compile(net, backend="eager")}
TRACES = [name for name in WRAPPERS if "trace" in name]


def moved(net):
    assert net.to(ingot.float64) is net and net.double() is net
    return net(x().double()).dtype, net.float()(x())


def mode(net):
    assert net.eval() is net and not net.training and not net.drop.training
    quiet = net(x())
    assert net.train() is net and net.training and net.drop.training
    net.training = False
    return quiet, net.training, net.drop.training, net.train(False).drop.training


def assigned(net):
    net.eval()
    found = [net(x())]
    net.gain = 4.0
    found.append(net(x()))
    net.inner.weight = nn.Parameter(ingot.ones(3, 4))
    found.append(net(x()))
    net.inner = nn.Linear(4, 2, bias=False)
    with ingot.no_grad():
        net.inner.weight.fill_(0.5)
    found.append(net(x()))
    del net.gain
    net.extra = nn.Parameter(ingot.ones(2))
    net.steps = ingot.full((), 7.0)
    return *found, net(x()), [*net.state_dict()], [*net.state_dict().values()], hasattr(net, "nothing")


def hooked(net):
    seen = []
    net.eval()
    handles = [net.register_forward_hook(lambda m, given, out: (seen.append(m is net), out + 1)[1]),
               net.register_forward_pre_hook(lambda m, given: (given[0] * 2,)),
               net.inner.register_forward_hook(lambda m, given, out: out * 3)]
    found = [net(x()), net(x())]
    for handle in handles:
        handle.remove()
    return *found, net(x()), all(seen)


def trained(net):
    opt = optim.Adam(net.parameters(), lr=0.1)
    losses = []
    for i in range(4):
        draw(i)
        opt.zero_grad()
        loss = net(x()).square().mean()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    return losses, net.steps, [p.grad for p in net.parameters()]


def saved(net):
    net.eval()
    file = io.BytesIO()
    ingot.save(net.state_dict(), file)
    file.seek(0)
    other = Net()
    missing = other.load_state_dict(ingot.load(file))
    net.load_state_dict(net.state_dict())
    return other.eval()(x()), not missing.missing_keys, net(x())


def copied(net):
    net.eval()
    found = []
    for other in (copy.deepcopy(net), copy.copy(net), pickle.loads(pickle.dumps(net))):
        assert type(other) is type(net) and isinstance(other, Net)
        found.append(other(x()))
    deep = copy.deepcopy(net)
    deep.gain = 9.0
    with ingot.no_grad():
        deep.inner.weight.zero_()
    return *found, net(x()), deep(x()), net.gain


def nested(net):
    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.last = net, nn.Linear(3, 2, bias=False)

        def forward(self, x):
            return self.last(self.first(x))

    draw(5)
    outer = Outer().eval()
    found = [outer(x()) for _ in range(3)]
    whole = jit.trace(outer)
    found += [whole(x()) for _ in range(3)]
    return *found, [*outer.state_dict()], [n for n, _ in outer.named_parameters()], net.training


def asked(net):
    return (isinstance(net, Net), isinstance(net, nn.Module), net.__class__ is Net, type(net.twin()) is Net, net.wide().width,
            net.total, net.notes, net.__doc__, net.stats() if isinstance(net.stats(), str) else None, net.loss(x()).shape,
            {"gain", "inner", "loss", "steps", "notes"} <= {*dir(net)}, issubclass(net.__class__, Registered))


def listed(net):
    listed = [m for m in net.modules() if type(m) in (nn.Linear, nn.Dropout)]
    return ([n for n, _ in net.named_parameters()], [n for n, _ in net.named_buffers()], [type(m) for m in listed],
            net.get_submodule("inner") is net.inner, [p.shape for p in net.parameters()])


def applied(net):
    seen = []
    assert net.apply(lambda m: seen.append(m) or (nn.init.ones_(m.weight) if type(m) is nn.Linear else None)) is net
    net.requires_grad_(False)
    frozen = all(not p.requires_grad for p in net.parameters())
    net.eval()
    return seen[-1] is net, frozen, net(x()), net.requires_grad_(True) is net


def parametrized(net):
    class Twice(nn.Module):
        def forward(self, w):
            return w * 2

    net.eval()
    found = [net(x())]
    parametrize.register_parametrization(net.inner, "weight", Twice())
    return *found, net(x()), net(x())


def in_parallel(net):
    found = nn.DataParallel(net.eval())(x())
    return found, net(x())


USES = (moved, mode, assigned, hooked, trained, saved, copied, nested, asked, listed, applied, parametrized, in_parallel)


def comparable(found):
    if isinstance(found, ingot.Tensor):
        return found.dtype, found.detach().double().numpy().round(5).tolist()
    if isinstance(found, float):
        return round(found, 5)
    return [comparable(part) for part in found] if isinstance(found, (list, tuple)) else found


@pytest.mark.parametrize("use", USES, ids=lambda use: use.__name__)
@pytest.mark.parametrize("wrap", WRAPPERS)
def test_every_use_of_a_module(use, wrap):
    def run(wrapper):
        draw()
        net = wrapper(Net())
        draw()
        if wrap == "trace_by_example":      # the example was run once
            net.steps.zero_()
        return comparable(use(net))

    assert run(WRAPPERS[wrap]) == run(plain)


@pytest.mark.parametrize("wrap", TRACES)
def test_names_have_no_prefix_and_the_text_is_that_of_the_module(wrap):
    net = Net()
    made = WRAPPERS[wrap](net)
    assert [*made.state_dict()] == [*net.state_dict()] and repr(made) == repr(net)
    assert [n for n, _ in made.named_modules()] == ["", "inner", "drop"]
    assert dict(made.named_modules())[""] is made
    with pytest.raises(AttributeError, match="'Net' object has no attribute 'nothing'"):
        _ = made.nothing


def test_a_call_runs_as_the_module_that_code_outside_knows():
    """Code inside gets the traced module itself, as parents, hooks and registries do."""
    class Self(nn.Module):
        def forward(self, x):
            return x * (2 if self is known[0] else 3)

    known = [None]
    made = jit.trace(Self())
    known[0] = made
    assert [made(ingot.ones(1)).item() for _ in range(3)] == [2, 2, 2] and made.stats()["compiles"] == 1


@pytest.mark.parametrize("wrap", [jit.trace, ingot.compile])
def test_a_file_holds_the_module_itself(wrap):
    made, file = wrap(nn.Linear(4, 3)), io.BytesIO()
    ingot.save(made, file)
    file.seek(0)
    net = ingot.load(file)
    assert type(net) is nn.Linear and ingot.allclose(net(x()), made(x()))


@pytest.mark.parametrize("outer", [jit.trace, ingot.compile, lambda net: net.compile() or net])
@pytest.mark.parametrize("inner", [jit.trace, ingot.compile])
def test_wrappers_around_each_other(outer, inner):
    net = nn.Linear(4, 3)
    made = outer(inner(net))
    for _ in range(3):
        assert ingot.allclose(made(x()), net(x()))
    assert isinstance(made, nn.Linear)


def test_names_of_the_traced_function_are_free_for_buffers():
    made = jit.trace(nn.Linear(4, 3))
    made.register_buffer("stats", ingot.ones(2))
    assert made.stats.shape == (2,) and made._jit_trace.stats()["calls"] == 0


def test_modules_of_many_kinds():
    draw()
    for net in (Concrete(), nn.Linear(4, 3), nn.Sequential(nn.Linear(4, 4), nn.Tanh()), nn.LayerNorm(4), nn.GRU(4, 2)):
        for wrap in (jit.trace, ingot.compile):
            made = wrap(net)
            for _ in range(3):
                assert comparable(made(x())) == comparable(net(x()))
            assert isinstance(made, type(net)) and made.__class__ is type(net)


@pytest.mark.parametrize("wrap", [jit.trace, ingot.compile])
def test_containers_keep_length_items_and_iteration(wrap):
    net = nn.Sequential(OrderedDict(first=nn.Linear(4, 4), act=nn.Tanh(), last=nn.Linear(4, 2)))
    made = wrap(net)
    want = net(x())
    for _ in range(3):
        assert ingot.allclose(made(x()), want)
    assert len(made) == 3 and made[0] is net[0] and made[-1] is net.last and [*made] == [*net] and net[1] in [*made]
    assert type(made[:2]) is nn.Sequential and len(made[:2]) == 2
    made[1] = nn.ReLU()
    assert type(net[1]) is nn.ReLU and ingot.allclose(made(x()), net(x()))
    made.append(nn.Linear(2, 1))
    assert made(x()).shape == (2, 1) and len(net) == 4
    table = wrap(nn.ModuleDict({"a": nn.Linear(4, 1)}))
    assert "a" in table and [*table.keys()] == ["a"] and bool(wrap(nn.Linear(2, 2)))


def test_lazy_modules_and_parametrizations_change_the_class():
    made = jit.trace(nn.LazyLinear(3))
    assert [made(x()).shape for _ in range(3)] == [(2, 3)] * 3
    assert type(made).__mro__[2] is nn.Linear and made.__class__ is nn.Linear and made.stats()["compiles"] == 1

    class Twice(nn.Module):
        def forward(self, w):
            return w * 2

    before = made(x()) - made.bias
    parametrize.register_parametrization(made, "weight", Twice())
    for _ in range(3):
        assert ingot.allclose(made(x()) - made.bias, before * 2, atol=1e-6)
    parametrize.remove_parametrizations(made, "weight")
    assert made.__class__ is nn.Linear and ingot.allclose(made(x()) - made.bias, before * 2, atol=1e-6)


def test_registries_of_subclasses_do_not_hear_of_traced_classes():
    before = [*REGISTRY]
    jit.trace(Net())
    assert before == REGISTRY


def test_names_that_the_code_of_a_class_uses_are_the_modules_own():
    class Memo(nn.Module):
        def forward(self, x):
            if not hasattr(self, "kernels"):
                return x
            return x * self.kernels

    made = jit.trace(Memo())
    assert made(ingot.ones(1)).item() == made(ingot.ones(1)).item() == 1 and not hasattr(made, "kernels")
    made.kernels = 3.0
    assert made(ingot.ones(1)).item() == made(ingot.ones(1)).item() == 3 and made.stats()["calls"] == 4


def test_a_class_with_slots_is_refused_with_a_way_out():
    class Slotted(nn.Module):
        __slots__ = ("rate",)

    with pytest.raises(jit.TraceError, match="trace its forward alone"):
        jit.trace(Slotted())


def test_traced_modules_die_with_their_last_reference():
    made = jit.trace(Net())
    made(x())
    seen = weakref.ref(made.inner)
    del made
    gc.collect()
    assert seen() is None


def test_modules_that_hold_themselves_are_copied():
    net = nn.Sequential(nn.Linear(4, 4))
    made = jit.trace(net)
    net[0].__dict__["parent"] = made
    for other in (copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert other[0].parent is other and ingot.equal(other(x()), made(x()))


def test_a_replay_calls_the_traced_function_without_a_call_between():
    """The special method is the slot of the traced function, so a replay costs no Python call more than that of a function."""
    made = jit.trace(nn.Linear(4, 3))
    assert made.__call__ is made._jit_trace


@pytest.mark.parametrize("wrap", [jit.trace, ingot.compile])
def test_methods_and_classes(wrap):
    class Model(nn.Module):
        def __init__(self, gain):
            super().__init__()
            self.gain = gain

        @wrap
        def forward(self, x):
            """Scale."""
            return x * self.gain

    models = [Model(2.0), Model(3.0)]
    for _ in range(3):
        assert [m(ingot.ones(1)).item() for m in models] == [2, 3]
    method = models[0].forward
    assert method.__self__ is models[0] and method.__name__ == "forward" and method.__doc__ == "Scale."
    assert method == models[0].forward and method.stats()["compiles"] == 2

    @wrap
    class Whole(nn.Module):
        def forward(self, x):
            return x + 1

    assert isinstance(Whole, type) and [Whole()(ingot.ones(1)).item() for _ in range(3)] == [2] * 3
    net = Whole()
    assert [net(ingot.ones(1)).item() for _ in range(3)] == [2] * 3 and Whole.__call__.stats()["compiles"] >= 1
    with pytest.raises(jit.TraceError, match="cannot be called"):
        @wrap
        class Nothing:
            pass


class Kept(nn.Module):
    @jit.trace
    def forward(self, x):
        return x * 2


def test_decorated_methods_are_found_by_their_names():
    net = pickle.loads(pickle.dumps(Kept()))
    assert pickle.loads(pickle.dumps(Kept.forward)) is Kept.forward
    assert pickle.loads(pickle.dumps(net.forward))(x()).shape == (2, 4)


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.rate, self.names = nn.Linear(3, 3), 0.5, ["a", "b"]


def scales(self, x):
    return self.layer(x) * self.rate


def adds_all(self, x):
    return sum([len(name) * p.sum() for name, p in self.named_parameters()]) * x


def asks(self, x):
    return self.layer(x) * getattr(self, "rate", 1) * (2 if hasattr(self, "absent") else len(self.names))


def trains(self, x):
    self.zero_grad()
    y = self.layer(x).square().sum()
    y.backward()
    return y.detach()


def counts(self, x):
    self.calls = getattr(self, "calls", 0) + 1
    self.last = self.layer(x)
    return self.last * self.calls


def nests(self, x):
    def scaled(y):
        return y * self.rate
    return scaled(self.layer(x)) if vars(self) and self is not None else x


USES = {
    "not called": lambda net: None,
    "called": lambda net: net(ingot.ones(2, 3)),
    "several sizes": lambda net: [net(ingot.ones(n, 3)) for n in (2, 3, 4)],
    "with a backward": lambda net: [y.sum().backward() for y in [net(ingot.ones(2, 3))] if y.requires_grad],
    "two modes": lambda net: (net(ingot.ones(2, 3)), net.train(not net.training)),
    "other numbers": lambda net: (net(ingot.ones(2, 3)), setattr(net, "rate", net.rate + 1)),
    "with a hook": lambda net: (net.register_forward_hook(lambda m, given, y: y * 2), net(ingot.ones(2, 3))),
    "explained": lambda net: (net(ingot.ones(2, 3)), net._jit_trace.stats(), net._jit_trace.explain()),
}


@pytest.mark.filterwarnings("ignore::ingot.jit.TracerWarning")
@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("wrap", [jit.trace, ingot.compile])
@pytest.mark.parametrize("forward", [scales, adds_all, asks, trains, counts, nests], ids=lambda f: f.__name__)
def test_a_traced_module_dies_with_its_last_reference(forward, wrap, use):
    gc.collect()
    gc.disable()
    try:
        net = wrap(type("Net", (Scaled,), {"forward": forward})())
        for _ in range(3):
            USES[use](net)
        references = [weakref.ref(x) for x in (net, net.layer, net.layer.weight)]
        del net
        assert [r() for r in references] == [None] * 3
    finally:
        gc.enable()


def test_the_traced_function_of_a_module_that_is_gone_still_runs():
    net = jit.trace(nn.Linear(2, 2))
    x = ingot.ones(2)
    want, step = net(x), net._jit_trace
    del net
    assert step(x).tolist() == want.tolist() == step(x).tolist()
