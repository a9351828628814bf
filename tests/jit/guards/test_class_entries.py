"""Guards on what classes hold, and on what they lack, are one test for each class: each change is noticed."""

import pytest

import ingot
from ingot import jit
from ingot.jit.guards import class_entries
from ingot.jit.guards.guard_code import tests_of as lines_of


@pytest.fixture(params=["numbers of classes", "entries"])
def ways(request, monkeypatch):
    """Whether the interpreter numbers the states of classes."""
    assert class_entries.has_versions()
    monkeypatch.setattr(class_entries, "has_versions", lambda: request.param == "numbers of classes")


class Fixed:
    """Descriptor that gives one number."""

    def __init__(self, value):
        self.value = value

    def __get__(self, owner, kind):
        return self.value


class Program:
    """Function that reads a descriptor and a missing attribute of objects of two classes with common bases."""

    def __init__(self, by_name):
        class Base:
            scale = Fixed(2.0)

        class Middle(Base):
            pass

        class Leaf(Middle):
            pass

        class Twin(Middle):
            scale = Fixed(5.0)

        class Other:
            scale = Fixed(7.0)

        self.base, self.middle, self.leaf, self.twin, self.other = Base, Middle, Leaf, Twin, Other
        self.objects, self.by_name = [Leaf(), Twin()], by_name

    def __call__(self, x):
        if self.by_name:
            return sum(x * rate_of(o, "scale") + rate_of(o) for o in self.objects)
        return sum(x * o.scale + rate_of(o) for o in self.objects)


def rate_of(o, name="rate"):
    return getattr(o, name, 1.0)


CHANGES = {
    "another descriptor in the base": lambda p: setattr(p.base, "scale", Fixed(3.0)),
    "a descriptor before that of the base": lambda p: setattr(p.leaf, "scale", Fixed(3.0)),
    "a descriptor in the middle": lambda p: setattr(p.middle, "scale", Fixed(3.0)),
    "no descriptor before that of the base": lambda p: delattr(p.twin, "scale"),
    "a number instead of a descriptor": lambda p: setattr(p.twin, "scale", 4.0),
    "a missing attribute of the base": lambda p: setattr(p.base, "rate", 3.0),
    "a missing attribute of one class": lambda p: setattr(p.twin, "rate", 3.0),
    "a missing attribute of an instance": lambda p: setattr(p.objects[1], "rate", 3.0),
    "other bases": lambda p: setattr(p.leaf, "__bases__", (p.other,)),
    "more bases": lambda p: setattr(p.middle, "__bases__", (p.other, p.base)),
}


@pytest.mark.parametrize("by_name", [False, True])
@pytest.mark.parametrize("name", CHANGES)
def test_a_change_of_classes_is_noticed(name, by_name, ways):
    def life(wrap):
        program = Program(by_name)
        fn, seen = wrap(program.__call__), []
        for i in range(6):
            if i == 3:
                CHANGES[name](program)
            seen.append(fn(ingot.ones(2) * i).tolist())
        return seen, fn

    want, _ = life(lambda fn: fn)
    got, traced = life(jit.trace)
    assert got == want
    assert want[3] != [3 * 7.0 + 2] * 2, "the change changes nothing"
    assert traced.stats()["compiles"] == 2, traced.stats()["misses"]


def test_classes_with_common_bases_share_their_tests():
    base = type("Base", (), {f"n{i}": Fixed(i) for i in range(10)})
    objects = [type(f"Leaf{i}", (base,), {})() for i in range(20)]

    def fn(x):
        return sum([numbers_of(o) for o in objects], x) + sum(map(rate_of, objects))

    def numbers_of(o):
        return o.n0 + o.n1 + o.n2 + o.n3 + o.n4 + o.n5 + o.n6 + o.n7 + o.n8 + o.n9

    traced = jit.trace(fn)
    assert traced(ingot.ones(2)).tolist() == traced(ingot.ones(2)).tolist() == fn(ingot.ones(2)).tolist()
    (entry,) = traced._cache.all_entries()
    guards = [g for g in entry.guards.values() if "Leaf" in str(g)]
    assert len(guards) >= 200
    assert entry.check()
    assert len(lines_of(guards, {})) < 100


class Meta(type):
    def rate(cls):
        return 8.0


def members():
    """Return classes with methods and properties, and a function of objects of theirs."""
    class Above:
        def scale(self):
            return 2.0

        def late(self):
            return 1.0

    class Base(Above):
        @property
        def rate(self):
            return 3.0

        @staticmethod
        def shift():
            return 5.0

        @classmethod
        def name(cls):
            return 7.0

        def late(self):
            return super().late() * 2

    class Leaf(Base, metaclass=Meta):
        calls = 0

    objects = [Leaf(), Leaf()]

    def fn(x):
        return sum([x * o.scale() + o.rate * o.shift() + o.name() + o.late() for o in objects])

    return Above, Base, Leaf, fn


MEMBERS = {
    "a method above": lambda a, b, c: setattr(a, "scale", lambda self: 4.0),
    "a method before that above": lambda a, b, c: setattr(b, "scale", lambda self: 4.0),
    "a property": lambda a, b, c: setattr(b, "rate", property(lambda self: 4.0)),
    "a number before a property": lambda a, b, c: setattr(c, "rate", 4.0),
    "a static method": lambda a, b, c: setattr(b, "shift", staticmethod(lambda: 4.0)),
    "a class method": lambda a, b, c: setattr(b, "name", classmethod(lambda cls: 4.0)),
    "a class method for a static one": lambda a, b, c: setattr(b, "shift", classmethod(lambda cls: 4.0)),
    "the code of a method": lambda a, b, c: setattr(a.scale, "__code__", (lambda self: 4.0).__code__),
    "what super() finds": lambda a, b, c: setattr(a, "late", lambda self: 4.0),
    "no method before super()": lambda a, b, c: delattr(b, "late"),
    "other bases": lambda a, b, c: setattr(b, "__bases__", (type("Other", (), {"scale": lambda self: 4.0, "late": a.late}),)),
}


@pytest.mark.parametrize("name", MEMBERS)
def test_a_change_of_methods_is_noticed(name, ways):
    def life(wrap):
        *classes, fn = members()
        fn, seen = wrap(fn), []
        for i in range(6):
            if i == 3:
                MEMBERS[name](*classes)
            seen.append(fn(ingot.ones(2) * i).tolist())
        return seen, fn

    (want, _), (got, traced) = life(lambda fn: fn), life(jit.trace)
    assert got == want
    assert traced.stats()["compiles"] == 2, traced.stats()["misses"]


def test_classes_that_change_otherwise_are_replayed(ways):
    """A counter of a class, and a method that is taken away and put back, cost no recording."""
    above, _, leaf, fn = members()
    traced = jit.trace(fn)
    x = ingot.ones(2)
    want, scale = fn(x).tolist(), above.scale
    for _ in range(8):
        leaf.calls += 1
        above.scale = None
        above.scale = scale
        assert traced(x).tolist() == want
    assert traced.stats()["compiles"] == 1, traced.stats()["misses"]


def test_a_method_that_the_function_replaces_is_refused():
    above, _, _, fn = members()

    def replacing(x):
        y = fn(x)
        above.scale = 3.0
        return y

    with pytest.raises(jit.TraceError, match=r"scale"):
        jit.trace(replacing)(ingot.ones(2))


def test_a_class_has_one_test():
    *_, fn = members()
    traced = jit.trace(fn)
    traced(ingot.ones(2))
    (entry,) = traced._cache.all_entries()
    guards = [g for g in entry.guards.values() if getattr(g, "owner", None) is not ingot.Tensor]
    lines = [line for line in lines_of(guards, {}) if ".version == " in line and "Structure" not in line]
    assert 1 <= len(lines) <= 4
    assert sum(type(g) is class_entries.ClassMembers for g in entry.guards.values()) >= 1


def test_a_base_is_tested_with_a_class_below_it():
    net = ingot.nn.Sequential(ingot.nn.Linear(2, 2), ingot.nn.ReLU(), ingot.nn.Linear(2, 2))
    traced = jit.trace(lambda x: net(x))
    traced(ingot.ones(1, 2))
    (entry,) = traced._cache.all_entries()
    names: dict = {}
    lines = lines_of(entry.guards.values(), names)
    tested = [t._cls for t in names.values() if type(t) is class_entries.ClassVersion]
    assert ingot.nn.Linear in tested
    assert not [(c, d) for c in tested for d in tested if c is not d and issubclass(c, d)]
    assert sum("Structure.version" in line for line in lines) == 1
