"""Methods that a traced function calls, of some object and class, stored anywhere. Another method is another function."""

import functools

import pytest

import ingot
from ingot import jit
from side_by_side import plain, vec


class Scale:
    base = 10.0

    def __init__(self, k):
        self.k = k
        self.kept = self.by

    def by(self, x):
        return x * self.k

    def more(self, x):
        return x * self.k + 1

    @classmethod
    def of_class(cls, x):
        return x + cls.base

    @staticmethod
    def still(x):
        return x - 1

    @property
    def chosen(self):
        return self.by if self.k < 5 else self.more

    def __call__(self, x):
        return x * self.k - 2


class Other(Scale):
    base = 20.0


class Proxy:
    """Object that forwards every attribute."""

    def __init__(self, target):
        self.__dict__["target"] = target

    def __getattr__(self, name):
        return getattr(self.target, name)


class Keeper:
    def __init__(self, callback=None):
        self.callback, self.items, self.table = callback, [callback], {"f": callback}

    def run(self, x):
        return self.callback(x)


def programs():
    """Return {name: (function of a tensor, change after some calls)}."""
    a, b, other = Scale(2.0), Scale(3.0), Other(4.0)
    keeper, proxy = Keeper(a.by), Proxy(a)
    space = {"f": a.by}
    exec("def by_global(x):\n    return f(x)", space)
    closed = a.by

    def by_closure(x):
        return closed(x)

    def rebind():
        nonlocal closed
        closed = b.by

    return {
        "an attribute": (lambda x: keeper.callback(x), lambda: setattr(keeper, "callback", b.by)),
        "an attribute, another method": (lambda x: keeper.callback(x), lambda: setattr(keeper, "callback", a.more)),
        "an attribute, of a class": (lambda x: keeper.callback(x), lambda: setattr(keeper, "callback", other.of_class)),
        "an attribute, its own": (lambda x: a.kept(x), lambda: setattr(a, "kept", b.by)),
        "an attribute of self": (keeper.run, lambda: setattr(keeper, "callback", b.by)),
        "shadowed": (lambda x: a.by(x), lambda: setattr(a, "by", b.by)),
        "shadowed by a function": (lambda x: a.by(x), lambda: setattr(a, "by", lambda x: x * 9)),
        "shadowed by itself": (lambda x: a.by(x), lambda: setattr(a, "by", a.by)),
        "a global": (space["by_global"], lambda: space.update(f=b.by)),
        "a global, a class's": (space["by_global"], lambda: space.update(f=Other.of_class)),
        "a closure": (by_closure, rebind),
        "a list": (lambda x: keeper.items[0](x), lambda: keeper.items.__setitem__(0, b.by)),
        "a dict": (lambda x: keeper.table["f"](x), lambda: keeper.table.update(f=b.by)),
        "a property": (lambda x: a.chosen(x), lambda: setattr(a, "k", 6.0)),
        "a proxy": (lambda x: proxy.by(x), lambda: proxy.__dict__.update(target=b)),
        "a state": (lambda x: a.by(x), lambda: setattr(a, "k", 8.0)),
        "a class's state": (lambda x: a.of_class(x) + Other.of_class(x), lambda: setattr(Other, "base", 25.0)),
        "another class": (lambda x: a.by(x) + a.of_class(x), lambda: setattr(a, "__class__", Other)),
        "a static method": (lambda x: a.still(x), lambda: setattr(a, "still", lambda x: x - 7)),
        "an object that is called": (lambda x: keeper.callback(x), lambda: setattr(keeper, "callback", b)),
        "a partial": (lambda x: keeper.callback(x), lambda: setattr(keeper, "callback", functools.partial(b.by))),
    }


@pytest.mark.parametrize("name", programs())
def test_another_method_is_another_function(name, monkeypatch):
    monkeypatch.setattr(Other, "base", 20.0)

    def life(wrap):
        fn, change = programs()[name]
        traced = wrap(fn)
        before = [plain(traced(vec(i, 2.0, 3.0))) for i in range(5)]
        change()
        after = [plain(traced(vec(i, 2.0, 3.0))) for i in range(5)]
        Other.base = 20.0
        return before + after, traced

    want, _ = life(lambda f: f)
    got, traced = life(jit.trace)
    assert got == want
    assert traced.stats()["compiles"] <= 3, traced.stats()["misses"]


def test_methods_as_arguments():
    a, b = Scale(2.0), Scale(3.0)
    traced = jit.trace(lambda f, x: f(x))
    for f in (a.by, b.by, a.more, Scale.still, Other.of_class, a.by, b.by, a, b):
        for _ in range(3):
            assert plain(traced(f, vec())) == plain(f(vec()))
    a.k = 7.0
    assert plain(traced(a.by, vec())) == plain(a.by(vec()))
    assert traced.stats()["compiles"] <= 9


def test_one_method_on_many_objects():
    traced = jit.trace(Scale.by)
    scales = [Scale(float(k)) for k in range(6)]
    for _ in range(3):
        for s in scales:
            assert (traced(s, ingot.ones(2)) == s.k).all()
