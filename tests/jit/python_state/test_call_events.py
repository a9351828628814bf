"""Operations in traced functions, which call methods without a call instruction: each operation on each kind of object from
outside, whose content changes between calls. It gives eager results and leaves the object as eager code does, or raises
`TraceError`."""

import array
import collections
import contextlib
import csv
import ctypes
import datetime
import decimal
import fractions
import functools
import io
import itertools
import mmap
import os
import re
import sqlite3
import time
import types
import weakref

import numpy as np
import pytest

import ingot
import row_sample
from ingot import jit, nn
from ingot.jit.python_state import call_events

# Results are looked at by code that is not followed, so that operations of the program alone are.
LIBRARY: dict = {"__name__": "numpy_digest"}
exec(compile('''
import itertools, re

def digest(value):
    if hasattr(type(value), "__next__"):
        value = list(itertools.islice(value, 3))
    text = re.sub(r"0x[0-9a-fA-F]+", "0x", f"{type(value).__name__} {value!r}")
    return float(sum(ord(c) * (i % 97 + 1) for i, c in enumerate(text)) % 1000003)
''', "<frozen digest>", "exec"), LIBRARY)


class Key:
    """A key that is compared by its value."""

    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return isinstance(other, Key) and self.value == other.value

    def __lt__(self, other):
        return self.value < other.value

    def __hash__(self):
        return 7

    def __repr__(self):
        return f"Key({self.value})"


class Queue(collections.deque):
    """A deque of a user class."""


class Defaults(dict):
    def __missing__(self, key):
        return 7.0


class Samples(np.ndarray):
    """An array of a user class."""


class Numbers(array.array):
    """An array of a user class."""


class Pair(ctypes.Structure):
    _fields_ = (("a", ctypes.c_double), ("b", ctypes.c_int))


class Own:
    """An object that answers operations in Python."""

    def __init__(self):
        self.items = [1.0, 2.0, 3.0]

    def __getitem__(self, key):
        return self.items[key]

    def __setitem__(self, key, value):
        self.items[key] = value

    def __contains__(self, value):
        return value in self.items

    def __iter__(self):
        return iter(self.items)

    def __add__(self, other):
        return self.items[0]

    __radd__ = __neg__ = __matmul__ = __index__ = __mul__ = lambda self, other=0: int(self.items[0])

    def __bool__(self):
        return self.items[0] > 1

    def __iadd__(self, other):
        self.items += other
        return self

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.items.append(1.0)

    def __repr__(self):
        return f"Own({self.items})"


HELD: list = []         # what only weak references and views lead to


def holding(made, x):
    """Return `made(x)`, and keep `x`."""
    HELD.append(x)
    return made(x)


def row_of_database():
    base = sqlite3.connect(":memory:")
    base.row_factory = sqlite3.Row
    cursor = base.execute("select 1.0 as a, 2.0 as b union all select 3.0, 4.0 union all select 5.0, 6.0")
    HELD.append(base)
    return cursor


def weak_values():
    HELD.append(Key(1.0))
    return weakref.WeakValueDictionary(a=HELD[-1])


def in_memory():
    made = mmap.mmap(-1, 4096)
    made[:3] = b"abc"
    return made


def first(x):
    x[0] = 9


def named(x):
    x["a"] = 9.0


def held(x):
    HELD[-1]["a"] = 9.0


FIELDS = [("a", "f8"), ("b", "i4")]
# Kind -> (function that makes an object, function that changes its content).
KINDS = {
    "list": (lambda: [1.0, 2.0, 3.0], first), "dict": (lambda: {"a": 1.0, "b": 2.0}, named),
    "tuple": (lambda: ([1.0], 2.0, 3.0), lambda x: x[0].append(9.0)), "set": (lambda: {1.0, 2.0}, lambda x: x.add(9.0)),
    "array": (lambda: array.array("d", [1.0, 2.0, 3.0]), first), "Numbers": (lambda: Numbers("d", [1.0, 2.0]), first),
    "deque": (lambda: collections.deque([1.0, 2.0, 3.0]), first), "Queue": (lambda: Queue([1.0, 2.0, 3.0]), first),
    "OrderedDict": (lambda: collections.OrderedDict(a=1.0, b=2.0), named), "Defaults": (lambda: Defaults(a=1.0), named),
    "defaultdict": (lambda: collections.defaultdict(float, a=1.0), named), "Counter": (lambda: collections.Counter(a=1), named),
    "ChainMap": (lambda: collections.ChainMap({"a": 1.0}, {"b": 2.0}), lambda x: x.maps[1].update(b=9.0)),
    "UserDict": (lambda: collections.UserDict(a=1.0), named), "UserList": (lambda: collections.UserList([1.0, 2.0]), first),
    "mappingproxy": (lambda: holding(types.MappingProxyType, {"a": 1.0}), held),
    "keys": (lambda: holding(dict.keys, {"b": 1.0}), held), "values": (lambda: holding(dict.values, {"a": 1.0}), held),
    "items": (lambda: holding(dict.items, {"a": 1.0}), held), "memoryview": (lambda: memoryview(bytearray(b"abc")), first),
    "bytearray": (lambda: bytearray(b"abc"), first), "mmap": (in_memory, first), "range": (lambda: range(3), None),
    "ndarray": (lambda: np.array([1.0, 2.0, 3.0]), first), "Samples": (lambda: np.array([1.0, 2.0]).view(Samples), first),
    "objects": (lambda: np.array([1.0, [2.0], 3.0], dtype=object), lambda x: x[1].append(9.0)),
    "structured": (lambda: np.array([(1.0, 2)], FIELDS), lambda x: x["a"].__setitem__(0, 9.0)),
    "void": (lambda: np.array([(1.0, 2)], FIELDS)[0], named),
    "recarray": (lambda: np.rec.array([(1.0, 2)], FIELDS), lambda x: x.a.__setitem__(0, 9.0)),
    "masked": (lambda: np.ma.array([1.0, 2.0, 3.0], mask=[0, 1, 0]), lambda x: x.mask.__setitem__(0, True)),
    "matrix": (lambda: np.asmatrix([[1.0, 2.0], [3.0, 4.0]]), lambda x: x.__setitem__((0, 0), 9.0)),
    "chararray": (lambda: np.char.array(["ab", "cd"]), lambda x: x.__setitem__(0, "zz")),
    "nditer": (lambda: np.nditer(np.arange(4.0)), next), "flatiter": (lambda: np.arange(4.0).flat, next),
    "ndenumerate": (lambda: np.ndenumerate(np.arange(4.0)), next), "float64": (lambda: np.float64(2.5), None),
    "Decimal": (lambda: decimal.Decimal("1.23456789"), lambda x: setattr(decimal.getcontext(), "prec", 3)),
    "Fraction": (lambda: fractions.Fraction(1, 3), None), "datetime": (lambda: datetime.datetime(2020, 2, 3), None),
    "Match": (lambda: re.match("(?P<a>a)(b)", "ab"), None), "csv": (lambda: csv.reader(["1,2", "3,4", "5", "6", "7"]), next),
    "cursor": (row_of_database, next), "row": (lambda: next(row_of_database()), None),
    "StringIO": (lambda: io.StringIO("1\n2\n3\n4\n5\n"), next), "BytesIO": (lambda: io.BytesIO(b"1\n2\n3\n4\n5\n"), next),
    "zip": (lambda: zip([1.0, 2.0, 3.0, 4.0], [5.0] * 4), next), "map": (lambda: map(float, range(9)), next),
    "enumerate": (lambda: enumerate([1.0] * 9), next), "chain": (lambda: itertools.chain([1.0, 2.0], [3.0, 4.0]), next),
    "iterator": (lambda: iter([1.0, 2.0, 3.0, 4.0]), next), "generator": (lambda: (float(i) for i in range(9)), next),
    "proxy": (lambda: holding(weakref.proxy, Own()), first),
    "proxy_of_c": (lambda: holding(weakref.proxy, Queue([1.0])), first),
    "weak_values": (weak_values, lambda x: setattr(x["a"], "value", 9.0)),
    "c_array": (lambda: (ctypes.c_double * 3)(1.0, 2.0, 3.0), first),
    "Pair": (lambda: Pair(1.0, 2), lambda x: setattr(x, "a", 9)),
    "c_int": (lambda: ctypes.c_int(3), lambda x: setattr(x, "value", 9)), "struct_time": (lambda: time.gmtime(0), None),
    "environ": (lambda: os.environ, lambda x: x.__setitem__("a", "9")), "Own": (Own, first), "Key": (lambda: Key(1.0), None),
    "keys_of_user": (lambda: {Key(1.0): 1.0}, lambda x: setattr(next(iter(x)), "value", 9.0)),
    "frozenset": (lambda: frozenset((Key(1.0),)), lambda x: setattr(next(iter(x)), "value", 9.0)),
    "namespace": (lambda: types.SimpleNamespace(a=1.0), lambda x: setattr(x, "a", 9.0)),
    "partial": (lambda: functools.partial(max, 1.0), None),
}

# Operation -> statements on `x` that leave a result in `r`.
OPERATIONS = {
    "format": 'r = f"{x}"', "repr": 'r = f"{x!r:>30}"', "percent": 'r = "%s" % (x,)', "percent_name": 'r = "%(a)s" % x',
    "in_list": 'r = f"{[x, 1]}"', "item": "r = x[0]", "named_item": 'r = x["a"]', "last": "r = x[-1]", "slice": "r = x[1:]",
    "steps": "r = x[::2]", "ellipsis": "r = x[...]", "set": "x[0] = 7\nr = 0", "set_named": 'x["a"] = 7.0\nr = 0',
    "set_slice": "x[0:1] = x[1:2]\nr = 0", "delete": "del x[0]\nr = 0", "delete_named": 'del x["a"]\nr = 0',
    "add_to_item": "x[0] += 1\nr = x[0]", "contains": "r = 1.0 in x", "contains_name": 'r = "a" in x',
    "lacks": "r = 9 not in x",
    "contains_key": "r = Key(1.0) in x", "add": "r = x + x", "add_number": "r = x + 1", "reflected": "r = 1 + x",
    "multiply": "r = x * 2", "negative": "r = -x", "matmul": "r = x @ x", "less": "r = x < x",
    "equal": "r = x == [1.0, 2.0, 3.0]",
    "between": "r = 0 < x < 5", "equal_in_list": "r = [1.0, x] == [1.0, 2.0]", "union": 'r = x | {"z": 1.0}',
    "intersection": "r = x & {1.0}", "if": "r = 1 if x else 2", "not": "r = not x", "and": "r = 3 if (x and 1) else 4",
    "while": "r = 0\nwhile x and r < 3:\n    r += 1\n    x.pop()", "for": "for r in x:\n    break",
    "comprehension": "r = [str(k) for k in x]", "generator": "r = list(str(k) for k in x)", "unpack": "r, *_ = x",
    "unpack_two": "r, _ = x", "star": "r = [*x]", "double_star": 'r = {**x}["a"]', "star_argument": "r = max(*x)",
    "yield_from": "def g():\n    yield from x\nr = [*g()]", "extend": "r = []\nr += x", "add_in_place": "x += [4.0]\nr = 0",
    "multiply_in_place": "x *= 2\nr = 0", "subtract_in_place": "x -= 1\nr = 0", "or_in_place": 'x |= {"z": 4.0}\nr = 0',
    "with": "with x:\n    r = 1", "field": "r = x.a", "value": "r = x.value", "set_field": "x.a = 7.0\nr = 0",
    "delete_field": "del x.a\nr = 0", "match_sequence": "match x:\n    case [r, *_]:\n        pass\n    case _:\n        r = 0",
    "match_mapping": 'match x:\n    case {"a": r}:\n        pass\n    case _:\n        r = 0', "hash": "r = {x: 1.0}[x]",
    "index": "r = [1.0, 2.0, 3.0][x]", "bound": "r = [1.0, 2.0, 3.0][:x]", "min": "r = min(x)", "sorted": "r = sorted(x)",
    "text": "r = str(x)", "join": 'r = "".join(map(str, x))', "abs": "r = abs(x)",
}

# Way on which code comes to the object -> program.
WAYS = {
    "global": "def fn(t):\n    global x\n{body}\n    return t + digest(r)\n",
    "attribute": "def fn(t):\n    x = box.x\n{body}\n    return t + digest(r)\n",
    "loop": "def fn(t):\n    for x in [*box.all]:\n        pass\n{body}\n    return t + digest(r)\n",
    "nested": "def fn(t):\n    for (x,), _ in box.nested:\n        pass\n{body}\n    return t + digest(r)\n",
    "helper": "def helper(x):\n{body}\n    return r\ndef fn(t):\n    return t + digest(helper(box.x))\n",
    "default": "def helper(*, x=x):\n{body}\n    return r\ndef fn(t):\n    return t + digest(helper())\n",
    "module": "def run(self, t):\n    x = self.x\n{body}\n    return t + digest(r)\nfn = module_of(run, x)\n",
    "by_name": "def run(self, t):\n    x = getattr(self, 'x')\n{body}\n    return t + digest(r)\nfn = module_of(run, x)\n",
}


def module_of(forward, x):
    """Return a module with an attribute `x`."""
    made = type("Net", (nn.Module,), {"forward": forward})()
    made.x = x
    return made


def state_of(x):
    """Return a text of the content of an object that is open; an iterator has none before it is used up."""
    if isinstance(x, memoryview) and "released" in repr(x):
        return "released"
    if getattr(x, "closed", False):
        return "closed"
    if isinstance(x, (io.StringIO, io.BytesIO)):
        return x.tell()
    if hasattr(type(x), "__next__"):
        return ""
    if isinstance(x, Pair):
        return x.a, x.b
    if isinstance(x, (mmap.mmap, ctypes.Array, memoryview)):
        return str(list(x[:3]))
    return repr(HELD[-1] if isinstance(x, weakref.ProxyTypes) else x)


def without_addresses(value):
    return re.sub("0x[0-9a-fA-F]+", "", str(value))


def life(kind, operation, way, wrap):
    """Return the results and the states of an object after four calls of a program, the object changed after two; or None if
    there is no such operation."""
    make, change = KINDS[kind]
    for kept in HELD:
        if isinstance(kept, sqlite3.Connection):
            kept.close()
    HELD.clear()
    os.environ.update(a="1")
    vars(os.environ).pop("a", None)
    decimal.setcontext(decimal.Context(prec=28))
    x = make()
    box = types.SimpleNamespace(x=x, all=[x], nested=[([x], 1)])
    lines = OPERATIONS[operation].split("\n")
    body = "\n".join("    " + line for line in lines)
    space = {"__name__": "operations", "x": x, "box": box, "Key": Key, "module_of": module_of, "digest": LIBRARY["digest"]}
    exec(compile(WAYS[way].format(body=body), "<operations>", "exec"), space)
    fn, seen = wrap(space["fn"]), []
    for i in range(4):
        if i == 2 and change is not None:
            with contextlib.suppress(StopIteration, LookupError, ValueError):
                change(x)
        try:
            seen.append(fn(ingot.ones(1, dtype=ingot.float64)).item())
        except jit.TraceError:
            return "refused"
        except Exception as error:
            if i == 0:
                return None
            seen.append(type(error).__name__)
        seen.append(without_addresses(state_of(x)))
    is_open = hasattr(type(x), "__next__") and not getattr(x, "closed", False)
    return seen, [without_addresses(v) for v in itertools.islice(x, 3)] if is_open else None


@pytest.fixture(autouse=True)
def same_context():
    before = decimal.getcontext()
    yield
    os.environ.pop("a", None)
    decimal.setcontext(before)


def check(row) -> bool:
    """Compare a traced program with the eager one; return whether there is such a program."""
    eager = life(*row, lambda fn: fn)
    if eager is None:
        return False
    traced = life(*row, jit.trace)
    assert traced in ("refused", eager), row
    return True


ROWS = [(kind, operation, way) for kind in KINDS for operation in OPERATIONS for way in WAYS]
PARTS, RUNS = 4, 154       # tests that share the rows of a run, and runs that share all rows


@pytest.mark.filterwarnings("ignore:.*runs as it is", "ignore:.*elementwise comparison", "ignore:the matrix subclass",
                            "ignore:The chararray class")
@pytest.mark.parametrize("part", range(PARTS))
def test_operations_give_what_eager_code_gives_or_an_error(part, pytestconfig):
    """The seed of the run draws the rows."""
    drawn = row_sample.some(ROWS, pytestconfig.option.seed, "operations", RUNS)
    assert sum(map(check, drawn[part::PARTS])) > 0


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*runs as it is", "ignore:.*elementwise comparison", "ignore:the matrix subclass",
                            "ignore:The chararray class")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", WAYS)
def test_all_operations_give_what_eager_code_gives_or_an_error(kind, way):
    assert sum(check((kind, operation, way)) for operation in OPERATIONS) > 0


# Special method -> (statement that calls it, function that gives `n` in its place).
SPECIAL = {
    "__getitem__": ("r = x[0]", lambda n: lambda self, key: n), "__add__": ("r = x + 1", lambda n: lambda self, other: n),
    "__radd__": ("r = 1 + x", lambda n: lambda self, other: n), "__neg__": ("r = -x", lambda n: lambda self: n),
    "__contains__": ("r = 3 in x", lambda n: lambda self, item: n > 2), "__len__": ("r = len(x)", lambda n: lambda self: n),
    "__bool__": ("r = 1 if x else 2", lambda n: lambda self: n > 2), "__iter__": ("r, = x", lambda n: lambda self: iter([n])),
    "__format__": ('r = f"{x}"', lambda n: lambda self, spec: f"{n}"), "__str__": ("r = str(x)", lambda n: lambda self: f"{n}"),
    "__repr__": ('r = f"{x!r}"', lambda n: lambda self: f"{n}"), "__eq__": ("r = x == 1", lambda n: lambda self, other: n),
    "__lt__": ("r = x < 1", lambda n: lambda self, other: n), "__hash__": ("r = hash(x)", lambda n: lambda self: n),
    "__index__": ("r = [0, 1, 2, 3, 4, 5][x]", lambda n: lambda self: n), "__call__": ("r = x()", lambda n: lambda self: n),
    "__float__": ("r = float(x)", lambda n: lambda self: float(n)), "__abs__": ("r = abs(x)", lambda n: lambda self: n),
    "__iadd__": ("x += 1\nr = x", lambda n: lambda self, other: n),
    "__getattr__": ("r = x.any", lambda n: lambda self, name: n),
    "__reversed__": ("r = [*reversed(x)]", lambda n: lambda self: iter([n])),
    "__enter__": ("with x as r: pass", lambda n: lambda self: n),
    "__missing__": ('r = x["k"]', lambda n: lambda self, key: n),
    "__class_getitem__": ("r = type(x)[0]", lambda n: classmethod(lambda cls, key: n)),
}


def changes_of_class(cls, base, name, other):
    """Return {text: function that changes the class of an object}."""
    def inherit():
        setattr(base, name, other)
        delattr(cls, name)

    def assign(x):
        x.__class__ = type("Other", (cls,), {name: other})

    return {"replaced": lambda x: setattr(cls, name, other), "inherited": lambda x: inherit(), "of another class": assign}


@pytest.mark.parametrize("name", SPECIAL)
def test_special_methods_that_are_replaced_are_noticed(name):
    statement, give = SPECIAL[name]

    def run(change, wrap):
        base = type("Base", (dict,) if name == "__missing__" else (), {"__exit__": lambda self, *exc: None})
        cls = type("Class", (base,), {name: give(2)})
        x = cls()
        space = {"__name__": "special", "box": types.SimpleNamespace(x=x), "digest": LIBRARY["digest"]}
        lines = "\n".join(f"    {line}" for line in statement.split("\n"))
        exec(compile(f"def fn(t):\n    x = box.x\n{lines}\n    return t + digest(r)", "<special>", "exec"), space)
        fn, seen = wrap(space["fn"]), []
        for i in range(4):
            if i == 2:
                changes_of_class(cls, base, name, give(5))[change](x)
            seen.append(fn(ingot.ones(1, dtype=ingot.float64)).item())
        return seen

    for change in ("replaced", "inherited", "of another class"):
        assert run(change, jit.trace) == run(change, lambda fn: fn), change


def test_a_python_whose_frames_are_not_known_refuses_attributes(monkeypatch):
    """Nothing shows whose attribute code gets there, and so no guard could hold it."""
    monkeypatch.setattr(call_events, "stack_values", lambda frame, slots: None)
    fn = jit.trace(lambda x, o: x * o.rate)
    with pytest.raises(jit.TraceError, match="this version of Python does not show whose"):
        fn(ingot.ones(2), types.SimpleNamespace(rate=2.0))
