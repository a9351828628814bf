"""Arguments that count by identity: a traced function does not keep them alive, and drops the recordings of dead ones."""

import dataclasses
import functools
import gc
import itertools
import types
import weakref

import numpy as np
import pytest

import ingot
from ingot import jit, nn

CALLS = 2       # with each object: the second one is replayed
pytestmark = pytest.mark.filterwarnings("ignore::ingot.jit.TracerWarning")


class Plain:
    def __init__(self):
        self.t, self.k = ingot.ones(2), 2.0

    def run(self, x):
        return x * self.t * self.k


class Counting(Plain):
    n = 0

    def run(self, x):
        self.n += 1
        return x * self.t


class Nested(Plain):
    def __init__(self):
        self.items, self.table = [Plain(), Plain()], {"a": Plain()}

    def run(self, x):
        return sum([p.run(x) for p in self.items]) + self.table["a"].run(x)


class Callable(Plain):
    def __call__(self, x):
        return self.run(x)


@dataclasses.dataclass
class Fields:
    t: object
    k: float = 1.0

    def run(self, x):
        return x * self.t * self.k


@dataclasses.dataclass(eq=False)
class Outer:
    inner: object

    def run(self, x):
        return self.inner.run(x)


class Linear(nn.Linear):
    def run(self, x):
        return self(x)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(2, 2), nn.Sequential(nn.Linear(2, 2), nn.ReLU())

    def forward(self, x):
        return self.b(self.a(x))

    def run(self, x):
        return self(x)


class Buffered(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("n", ingot.zeros(2))

    def forward(self, x):
        self.n += 1
        return x + self.n

    def run(self, x):
        return self(x)


class Training:
    def __init__(self):
        self.net = nn.Linear(2, 2)
        self.opt = ingot.optim.Adam(self.net.parameters())

    def run(self, x):
        loss = self.net(x).sum()
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.detach()


class Momentum(ingot.optim.SGD):
    def __init__(self):
        super().__init__([nn.Parameter(ingot.ones(2))], lr=0.1, momentum=0.9)

    def run(self, x):
        loss = (self.param_groups[0]["params"][0] * x).sum()
        self.zero_grad()
        loss.backward()
        self.step()
        return loss.detach()


class Holder:
    def __init__(self, **attributes):
        vars(self).update(attributes)


def closure():
    part = Plain()

    def run(x):
        return part.run(x)

    run.run = run
    return run


def traced_closure():
    part = Plain()
    return Holder(run=jit.trace(lambda x: part.run(x)))


KINDS = {"plain": Plain, "counting": Counting, "nested": Nested, "callable": Callable, "linear": lambda: Linear(2, 2),
         "fields": lambda: Fields(ingot.ones(2)), "outer": lambda: Outer(Plain()), "block": Block, "buffered": Buffered,
         "training": Training, "momentum": Momentum, "traced module": lambda: jit.trace(Linear(2, 2)), "closure": closure,
         "traced closure": traced_closure}
BY_IDENTITY = ("linear", "block", "buffered", "training", "momentum", "closure")
WAYS = {
    "positional": (lambda o, x: o.run(x), lambda f, o, x: f(o, x)),
    "keyword": (lambda x, o: o.run(x), lambda f, o, x: f(x, o=o)),
    "list": (lambda items, x: items[0].run(x), lambda f, o, x: f([o], x)),
    "dict": (lambda table, x: table["o"].run(x), lambda f, o, x: f({"o": o}, x)),
    "attribute": (lambda h, x: h.o.run(x), lambda f, o, x: f(Holder(o=o), x)),
    "method": (lambda m, x: m(x), lambda f, o, x: f(o.run, x)),
    "partial": (lambda p, x: p(x), lambda f, o, x: f(functools.partial(o.run), x)),
    "partial of the object": (lambda p, x: p(x), lambda f, o, x: f(functools.partial(lambda o, x: o.run(x), o), x)),
}
_FOLLOWED = (ingot.Tensor, nn.Module, ingot.optim.Optimizer, Plain, Fields, Outer, Training, types.FunctionType)


def references_to(x) -> list:
    """Return weak references to an object and to the objects that it leads to."""
    found, left = {}, [x]
    while left:
        y = left.pop()
        if id(y) in found or isinstance(y, (type, types.ModuleType)):
            continue
        if isinstance(y, _FOLLOWED) and getattr(y, "__qualname__", "<locals>").count("<locals>"):
            found[id(y)] = weakref.ref(y)
        left += y if isinstance(y, (list, tuple)) else y.values() if isinstance(y, dict) else vars(y).values() if hasattr(
            y, "__dict__") else ()
        left += [c.cell_contents for c in getattr(y, "__closure__", None) or ()]
    return [*found.values()]


def left_alive(kind, way, f) -> tuple:
    """Return (classes of objects that are alive after calls with two of a kind, results)."""
    call, references, results, x = WAYS[way][1], [], [], ingot.ones(2)
    ingot.manual_seed(0)
    for _ in range(2):
        o = KINDS[kind]()
        references += references_to(o)
        results += [call(f, o, x).tolist() for _ in range(CALLS)]
        del o
    gc.collect()
    return [type(r()).__name__ for r in references if r() is not None], results


@pytest.mark.parametrize(("kind", "way"), [*itertools.product(KINDS, WAYS)])
def test_no_argument_outlives_its_calls(kind, way):
    eager, traced = WAYS[way][0], jit.trace(WAYS[way][0])
    expected = left_alive(kind, way, eager)
    assert left_alive(kind, way, traced) == expected
    if kind in BY_IDENTITY and way in ("positional", "keyword", "list", "dict"):
        assert traced.stats()["compiles"] and not traced._cache.count()


def test_tensors_among_the_arguments_die():
    traced, t = jit.trace(lambda p, x: p * x), nn.Parameter(ingot.ones(2))
    for _ in range(4):
        traced(t, ingot.ones(2))
    assert traced._cache.count() == 1
    reference = weakref.ref(t)
    del t
    assert reference() is None
    assert traced._cache.count() == 1           # it is good for others


def test_a_module_dies_at_once_with_its_weights():
    traced, m = jit.trace(lambda m, x: m(x)), nn.Linear(2, 2)
    with ingot.no_grad():
        for _ in range(5):
            traced(m, ingot.ones(2))
    references = [*map(weakref.ref, (m, m.weight, m.bias))]
    assert traced._cache.count() == 1
    assert traced.stats()["graphs"] == 1
    gc.disable()
    try:
        del m
        assert [r() for r in references] == [None] * 3
    finally:
        gc.enable()
    assert traced._cache.count() == 0
    assert traced.stats()["graphs"] == 0


def test_an_object_at_the_address_of_a_dead_one_is_another():
    traced, x = jit.trace(lambda m, x: m(x)), ingot.ones(2)
    numbers = set()
    with ingot.no_grad():
        for _ in range(40):
            m = nn.Linear(2, 2)
            numbers.add(id(m))
            for _ in range(3):
                np.testing.assert_array_equal(traced(m, x).numpy(), m(x).numpy())
            del m
    assert len(numbers) < 40


def test_others_go_on_after_one_has_died():
    traced, x = jit.trace(lambda a, b, x: b(a(x)), fullgraph=True), ingot.ones(2)
    a, b, c = (nn.Linear(2, 2) for _ in range(3))
    with ingot.no_grad():
        for _ in range(4):
            traced(a, b, x)
            traced(a, c, x)
        assert traced._cache.count() == 2
        del b
        gc.collect()
        assert traced._cache.count() == 1
        count = traced.stats()["compiles"]
        np.testing.assert_array_equal(traced(a, c, x).numpy(), c(a(x)).numpy())
    assert traced.stats()["compiles"] == count


def test_numbers_of_a_dead_object_are_looked_up_no_more():
    class Schedule(nn.Module):
        rate = 0.0

        def forward(self, x):
            return x * self.rate

    traced, x, references = jit.trace(lambda m, x: m(x)), ingot.ones(2), []
    for _ in range(3):
        m = Schedule()
        references.append(weakref.ref(m))
        for rate in (1.0, 2.0, 3.0, 4.0):
            m.rate = rate
            assert traced(m, x).tolist() == [rate, rate]
    del m
    gc.collect()
    assert [r() for r in references] == [None] * 3


def test_methods_of_one_object_are_one_argument():
    traced, o, x = jit.trace(lambda m, x: m(x), fullgraph=True), Block(), ingot.ones(2)
    with ingot.no_grad():
        for _ in range(4):
            np.testing.assert_array_equal(traced(o.run, x).numpy(), o(x).numpy())
    assert traced.stats()["compiles"] == 1
    other = Block()
    np.testing.assert_array_equal(traced(other.run, x).detach().numpy(), other(x).detach().numpy())
    assert traced.stats()["compiles"] == 2
