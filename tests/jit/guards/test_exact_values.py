"""Values that `==` calls equal and code tells apart, as arguments, keys, items of sets and guarded state; order in modules."""

import dataclasses
import datetime
import decimal
import enum
import itertools
import math
import random
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple

import numpy as np
import pytest

import ingot
from ingot import jit, nn
from ingot.jit.guards.exact_values import are_exact, exact
from seeds import seeds
from side_by_side import vec

UTC, CET = datetime.UTC, datetime.timezone(datetime.timedelta(hours=1))
Pair, Couple = namedtuple("Pair", "a"), namedtuple("Couple", "a")


class Text(str):
    __slots__ = ()


class Whole(int):
    pass


class Level(enum.IntEnum):
    LOW = 1


class SameKey:
    """Objects that are equal by a part of them."""

    def __init__(self, key, value):
        self.key, self.value = key, value

    def __eq__(self, other):
        return isinstance(other, SameKey) and self.key == other.key

    def __hash__(self):
        return hash(self.key)


@dataclasses.dataclass(frozen=True)
class Setting:
    a: object
    b: object = dataclasses.field(default=0, compare=False)


def reordered(*items):
    return set(items[:1]) | set(items[1:])


PAIRS = {
    "1 and True": (1, True), "1 and 1.0": (1, 1.0), "zeros": (0.0, -0.0), "nan": (math.nan, -math.nan),
    "an enum": (1, Level.LOW), "an int": (1, Whole(1)), "a string": ("a", Text("a")),
    "complex zeros": (0j, complex(-0.0, 0.0)), "complex": (1 + 0j, 1),
    "a set": ({2}, {2.0}), "a set of bools": ({1}, {True}), "a set of zeros": ({0.0}, {-0.0}),
    "a set of tuples": ({(1, 2)}, {(1, 2.0)}), "a set of sets": ({frozenset({1})}, {frozenset({True})}),
    "a set in another order": ({8, 0}, reordered(0, 8)), "a set of objects": ({SameKey(1, 1)}, {SameKey(1, 2)}),
    "a frozen set": (frozenset({2}), frozenset({2.0})), "a frozen set of zeros": (frozenset({0.0}), frozenset({-0.0})),
    "a key": ({1: 5}, {True: 5}), "a key of floats": ({1: 5}, {1.0: 5}), "a key of zeros": ({0.0: 5}, {-0.0: 5}),
    "a key of nan": ({math.nan: 5}, {-math.nan: 5}), "a key of tuples": ({((1, (2,)),): 5}, {((1, (2.0,)),): 5}),
    "a key deep inside": ({"a": {1: 2}}, {"a": {True: 2}}), "a key that is an enum": ({1: 5}, {Level.LOW: 5}),
    "a key that is an int": ({1: 5}, {Whole(1): 5}), "a key that is a text": ({"a": 5}, {Text("a"): 5}),
    "a key of NumPy's": ({1: 5}, {np.int64(1): 5}),
    "a key of decimals": ({decimal.Decimal("1.0"): 5}, {decimal.Decimal("1.00"): 5}),
    "a key of ranges": ({range(0, 3, 2): 5}, {range(0, 4, 2): 5}),
    "a key of settings": ({Setting(1, 1): 5}, {Setting(1, 2): 5}),
    "a key of objects": ({SameKey(1, 1): 5}, {SameKey(1, 2): 5}), "keys in another order": ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    "a value": ({"a": 1}, {"a": True}), "a counter": (Counter({1: 2}), Counter({True: 2})),
    "a default": (defaultdict(int, {1: 2}), defaultdict(float, {1: 2})), "a kind of dict": (OrderedDict(a=1), {"a": 1}),
    "a deque": (deque([1], 3), deque([1], 4)), "an item of a deque": (deque([1]), deque([True])),
    "a list": ([1], [True]), "a list of zeros": ([0.0], [-0.0]), "a list of sets": ([{1}], [{True}]),
    "a tuple": ((1,), (True,)), "a tuple of zeros": ((0.0,), (-0.0,)), "a tuple of sets": (({1},), ({True},)),
    "a named tuple": (Pair(1), Couple(1)), "a decimal": (decimal.Decimal("1.0"), decimal.Decimal("1.00")),
    "a range": (range(0, 3, 2), range(0, 4, 2)), "a slice": (slice(1), slice(True)),
    "a time": (datetime.datetime(2020, 1, 1, 12, tzinfo=UTC), datetime.datetime(2020, 1, 1, 13, tzinfo=CET)),
    "a setting": (Setting(1, 1), Setting(1, 2)), "a setting of bools": (Setting(1), Setting(True)),
    "an object": (SameKey(1, 1), SameKey(1, 2)), "NumPy's floats": (np.float32(1), np.float64(1)),
    "NumPy's days": (np.datetime64("2020-01-01"), np.datetime64("2020-01-01", "s")),
    "arrays": (np.array([0.0]), np.array([-0.0])),
}


def told(v):
    """Return a text that tells apart what code can tell apart."""
    kind = type(v).__name__
    if isinstance(v, dict):
        return f"{kind} {getattr(v, 'default_factory', '')} {[(told(k), told(w)) for k, w in v.items()]}"
    if isinstance(v, (set, frozenset, list, tuple, deque)):
        return f"{kind} {getattr(v, 'maxlen', '')} {[told(w) for w in v]}"
    if isinstance(v, Setting):
        return f"{kind} {told(v.a)} {told(v.b)}"
    if isinstance(v, SameKey):
        return f"{kind} {v.key} {v.value}"
    if isinstance(v, complex):
        return f"{kind} {math.copysign(1, v.real)} {v}"
    if isinstance(v, datetime.datetime):
        return f"{kind} {v.hour}"
    if isinstance(v, slice):
        return f"{kind} {type(v.stop).__name__}"
    if isinstance(v, range):
        return f"{kind} {v.stop}"
    if isinstance(v, np.ndarray):
        return f"{kind} {np.signbit(v).tolist()} {v.dtype}"
    return f"{kind} {math.copysign(1, v)} {v}" if isinstance(v, float) else f"{kind} {v}"


class Box:
    pass


def _argument():
    return jit.trace(lambda x, v: (x * 2, told(v)))


def _within(wrap, unwrap):
    def place():
        traced = jit.trace(lambda x, held: (x * 2, told(unwrap(held))))
        return lambda x, v: traced(x, wrap(v))

    return place


def _keyword():
    traced = jit.trace(lambda x, v=None: (x * 2, told(v)))
    return lambda x, v: traced(x, v=v)


def _attribute_of(make):
    def place():
        box = make()
        traced = jit.trace(lambda x: (x * 2, told(box.v)))

        def call(x, v):
            box.v = v
            return traced(x)

        return call

    return place


def _global():
    traced = jit.trace(lambda x: (x * 2, told(GLOBAL)))

    def call(x, v):
        global GLOBAL
        GLOBAL = v
        return traced(x)

    return call


def _closure():
    held = None
    traced = jit.trace(lambda x: (x * 2, told(held)))

    def call(x, v):
        nonlocal held
        held = v
        return traced(x)

    return call


def _default():
    def helper(v=None):
        return told(v)

    traced = jit.trace(lambda x: (x * 2, helper()))

    def call(x, v):
        helper.__defaults__ = (v,)
        return traced(x)

    return call


def _item():
    held = {"k": [None]}
    traced = jit.trace(lambda x: (x * 2, told(held["k"][0])))

    def call(x, v):
        held["k"][0] = v
        return traced(x)

    return call


GLOBAL = None
PLACES = {"argument": _argument, "keyword": _keyword, "list": _within(lambda v: [v], lambda held: held[0]),
          "dict": _within(lambda v: {"k": v}, lambda held: held["k"]), "tuple": _within(lambda v: (0, v), lambda held: held[1]),
          "attribute": _attribute_of(Box), "attribute of a module": _attribute_of(nn.Module), "global": _global,
          "closure": _closure, "default": _default, "item": _item}


def run(call, values):
    """Return what differs from eager: (value, eager, traced)."""
    x, wrong = ingot.ones(2), []
    for v in values:
        try:
            got = call(x, v)[1]
        except jit.TraceError:
            continue
        wrong += [(v, told(v), got)] if got != told(v) else []
    return wrong


@pytest.mark.drawn
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("pair", PAIRS)
def test_equal_values_that_differ_are_other_calls(pair, place):
    for a, b in itertools.permutations(PAIRS[pair]):
        assert not run(PLACES[place](), (a, a, a, b, b, a))


@pytest.mark.parametrize("pair", PAIRS)
def test_exact_tells_them_apart(pair):
    a, b = PAIRS[pair]
    assert told(a) != told(b)
    assert not are_exact(a, b)
    assert are_exact(a, a)


ALIKE = {
    "a tuple": lambda: (1, "a", 2.5, None, (math.nan, -0.0)), "a frozen set": lambda: frozenset({1, 2, "a"}),
    "a setting": lambda: Setting((1, 2), "b"), "a decimal": lambda: decimal.Decimal("1.50"), "a dtype": lambda: ingot.float32,
    "a time": lambda: datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=2))),
    "NumPy's number": lambda: np.int16(3), "a text": lambda: Text("abc"), "a class": lambda: dict,
    "a device": lambda: ingot.device("cpu"), "an enum": lambda: Level.LOW, "bytes": lambda: bytes(3),
}


@pytest.mark.parametrize("name", ALIKE)
def test_values_made_anew_are_alike(name):
    a, b = ALIKE[name](), ALIKE[name]()
    assert are_exact(a, b)
    assert hash(exact(a)) == hash(exact(b))
    traced = jit.trace(lambda x, v: (x * 2, str(type(v))))
    for _ in range(4):
        traced(ingot.ones(2), ALIKE[name]())
    assert traced.stats()["compiles"] == 1, traced.stats()["misses"]


LEAVES = ((1, True, 1.0, Level.LOW, Whole(1), np.int64(1)), (0.0, -0.0, 0, False), ("a", Text("a")), (math.nan, -math.nan),
          (None,), (decimal.Decimal("2.0"), decimal.Decimal("2.00"), 2, 2.0))


def drawn(rng, depth, hashable):
    """Return a function that makes variants of one nested value, which `==` mostly calls equal."""
    kind = rng.choice(("leaf",) * 2 + (("tuple", "frozenset") if hashable else ("tuple", "list", "dict", "set", "frozenset")))
    if kind == "leaf" or depth == 0:
        alike = rng.choice(LEAVES)
        return lambda r: r.choice(alike)
    if kind == "dict":
        parts = [(drawn(rng, depth - 1, True), drawn(rng, depth - 1, False)) for _ in range(rng.randint(1, 2))]
        return lambda r: {k(r): v(r) for k, v in parts}
    inner = [drawn(rng, depth - 1, hashable or kind in ("set", "frozenset")) for _ in range(rng.randint(1, 2))]
    make = {"tuple": tuple, "list": list, "set": set, "frozenset": frozenset}[kind]
    return lambda r: make([v(r) for v in inner])


@pytest.mark.drawn
@pytest.mark.parametrize("seed", seeds(8, 200))
def test_random_values_at_random_places(seed):
    rng = random.Random(seed)
    for program in range(6):
        place, make = rng.choice(list(PLACES)), drawn(rng, 3, False)
        few = [make(rng) for _ in range(3)]
        wrong = run(PLACES[place](), [rng.choice(few) for _ in range(9)])
        assert not wrong, (program, place, wrong[0])


# Order in modules.


class Numbers(nn.Module):
    def __init__(self):
        super().__init__()
        self.p, self.q = nn.Parameter(ingot.ones(2) * 2), nn.Parameter(ingot.ones(2) * 3)
        self.register_buffer("u", ingot.ones(2) * 4)
        self.register_buffer("v", ingot.ones(2) * 5)
        self.children_by_name = nn.ModuleDict({"a": nn.Flatten(0), "b": nn.Tanh()})
        self.by_name = nn.ParameterDict({"a": nn.Parameter(ingot.ones(2)), "b": nn.Parameter(ingot.ones(2) * 2)})


def again(m, name):
    value = getattr(m, name)
    delattr(m, name)
    setattr(m, name, value)


def as_buffer(m, persistent):
    u = m.u
    del m.u
    m.register_buffer("u", u, persistent=persistent)


def last(table, name):
    table[name] = table.pop(name)


READS = {
    "parameters": lambda m: m.parameters(), "buffers": lambda m: m.buffers(), "state": lambda m: m.state_dict().values(),
    "names": lambda m: [len(name) * p for name, p in m.named_parameters()], "items": lambda m: m.by_name.values(),
    "children": lambda m: [ingot.ones(2) * len(list(c.children())) for c in m.children()],
    "modules": lambda m: [i * ingot.ones(2) for i, c in enumerate(m.modules()) if type(c) is nn.Tanh],
}
CHANGES = {
    "a parameter registered again": lambda m: again(m, "p"), "a buffer registered again": lambda m: as_buffer(m, True),
    "a buffer left out of the state": lambda m: as_buffer(m, False),
    "a child of a ModuleDict": lambda m: last(m.children_by_name, "a"),
    "a child registered again": lambda m: again(m, "by_name"),
    "a parameter of a ParameterDict": lambda m: last(m.by_name, "a"),
    "a table": lambda m: last(m._buffers, "u"),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("read", READS)
def test_order_in_modules(read, change):
    def life(wrap):
        m, seen = Numbers(), []

        def f(x):
            for i, t in enumerate(READS[read](m)):
                x = x * t + i
            return x

        traced = wrap(f)
        for i in range(7):
            if i in (3, 5):
                CHANGES[change](m)
            seen.append(traced(ingot.ones(2)).tolist())
        return seen, traced

    want, _ = life(lambda f: f)
    got, traced = life(jit.trace)
    assert got == want
    assert traced.stats()["compiles"] <= 3, traced.stats()["misses"]


OBJECT_USES = {
    "item": lambda array, x: x * array[0],
    "text": lambda array, x: x * (2 if array[1] == "a" else 3),
    "is None": lambda array, x: x * (2 if array[2] is None else 3),
    "length of an item": lambda array, x: x * len(array[3]),
    "tensor": lambda array, x: x * array[4],
    "size": lambda array, x: x * len(array) * array.shape[0],
    "loop": lambda array, x: x * sum([1 if v is None else 2 for v in array]),
    "list": lambda array, x: x * array.tolist()[0],
    "part": lambda array, x: x * array[:1].sum(),
    "item by item()": lambda array, x: x * array.item(0),
    "comparison": lambda array, x: x * (array[:2] == 1).sum(),
}
OBJECT_CHANGES = {
    "number": lambda array: array.__setitem__(0, 5),
    "bits": lambda array: array.__setitem__(0, 1.0),
    "text": lambda array: array.__setitem__(1, "b"),
    "none": lambda array: array.__setitem__(2, 0),
    "list": lambda array: array[3].append(1),
    "tensor": lambda array: array.__setitem__(4, vec(3.0, 3.0, 3.0)),
    "nothing": lambda array: None,
}


@pytest.mark.parametrize("change", OBJECT_CHANGES)
@pytest.mark.parametrize("name", OBJECT_USES)
def test_arrays_of_objects_count_by_what_they_hold(name, change):
    def life(wrap):
        array = np.empty(5, dtype=object)
        array[:] = [1, "a", None, [1, 2], vec()]
        step = wrap(lambda x: OBJECT_USES[name](array, x))
        found = []
        for i in range(5):
            y = step(vec())
            found.append((str(y.dtype), y.tolist()))
            if i == 2:
                OBJECT_CHANGES[change](array)
        return found

    assert life(jit.trace) == life(lambda f: f)
