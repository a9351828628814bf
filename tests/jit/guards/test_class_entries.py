"""Guards on what classes hold, and on what they lack, are joined in one test for all classes: each change is noticed."""

import pytest

import ingot
from ingot import jit
from ingot.jit.guards.guard_code import tests_of as lines_of


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
def test_a_change_of_classes_is_noticed(name, by_name):
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
