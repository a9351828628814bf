"""Objects that hide state, and the paths on which a function reaches them, as text of programs.

`o` is the object, `v` a number that a change puts there, and `m` a namespace of the program for what an object refers to.
"""

from typing import NamedTuple


class Holder(NamedTuple):
    """An object that hides state.

    make       expression that makes it
    use        expression that makes a number of it
    changes    statements, each of which changes its state between two calls
    """

    make: str
    use: str
    changes: tuple


class Path(NamedTuple):
    """A path from a function `f` to the object.

    define    statements that define `f`, in which `USE` stands for the use
    call      expression that calls it on a tensor `x`
    """

    define: str
    call: str


CLASSES = """
import abc, argparse, array, ast, bisect, collections, configparser, contextlib, contextvars, copy, ctypes
import dataclasses, datetime, decimal, email.message, enum, fractions, functools, graphlib, heapq, io, itertools, json, logging
import operator, os, pathlib, pickle, queue, random, re, string, struct, threading, types, typing, uuid, weakref, zlib
import numpy as np
import ingot
from ingot import nn, optim

class Plain:
    rate = 1.0
    def __init__(self, v=2.0):
        self.v = v
    def value(self):
        return self.v
    def __call__(self):
        return self.v

class Heir(Plain):
    pass

class Slots:
    __slots__ = ("v", "__weakref__")
    def __init__(self, v=2.0):
        self.v = v

class Prop:
    def __init__(self, v=2.0):
        self._v = v
    @property
    def v(self):
        return self._v

class Cached:
    def __init__(self, v=2.0):
        self._v = v
    @functools.cached_property
    def v(self):
        return self._v * 2

class GetAttr:
    def __init__(self, v=2.0):
        self.__dict__["table"] = {"v": v}
    def __getattr__(self, name):
        try:
            return self.__dict__["table"][name]
        except KeyError:
            raise AttributeError(name)
    def __setattr__(self, name, value):
        self.__dict__["table"][name] = value

class GetAttribute:
    def __init__(self, v=2.0):
        self.v = v
    def __getattribute__(self, name):
        return object.__getattribute__(self, name)

class Items:
    def __init__(self, v=2.0):
        self.values = [v]
    def __getitem__(self, i):
        return self.values[i]
    def __len__(self):
        return len(self.values)
    def __iter__(self):
        return iter(self.values)
    def __contains__(self, v):
        return v in self.values

class Number:
    def __init__(self, v=2.0):
        self.v = v
    def __float__(self):
        return self.v
    def __bool__(self):
        return self.v > 4
    def __index__(self):
        return int(self.v)
    def __hash__(self):
        return int(self.v)
    def __eq__(self, other):
        return other is self or other == self.v
    def __lt__(self, other):
        return self.v < other
    def __repr__(self):
        return f"Number({self.v})"
    def __format__(self, spec):
        return format(self.v, spec)
    def __rmul__(self, other):
        return other * self.v

class Desc:
    def __init__(self, v=2.0):
        self.held = v
    def __get__(self, o, cls=None):
        return self.held

class WithDesc:
    d = Desc()

class DataDesc:
    def __get__(self, o, cls=None):
        return self if o is None else o.__dict__.get("hidden", 1.0)
    def __set__(self, o, v):
        o.__dict__["hidden"] = v

class WithData:
    v = DataDesc()

class Meta(type):
    @property
    def v(cls):
        return cls.held
    def __call__(cls, *args):
        return super().__call__(*args)

class OfMeta(metaclass=Meta):
    held = 2.0

class Shape(abc.ABC):
    @abc.abstractmethod
    def area(self): ...

class Square(Shape):
    side = 2.0
    def area(self):
        return self.side

@dataclasses.dataclass
class Data:
    v: float = 2.0
    rest: list = dataclasses.field(default_factory=lambda: [1.0])

@dataclasses.dataclass(frozen=True)
class Frozen:
    v: float = 2.0
    rest: list = dataclasses.field(default_factory=lambda: [1.0])

@dataclasses.dataclass(slots=True)
class SlotData:
    v: float = 2.0

class Colour(enum.Enum):
    RED = 2.0
    BLUE = 5.0

class Level(enum.IntEnum):
    LOW = 2
    HIGH = 5

class Flags(enum.Flag):
    A = 1
    B = 2

class Named(typing.NamedTuple):
    v: float
    rest: list

class Typed(typing.TypedDict):
    v: float

class SubList(list):
    pass

class SubDict(dict):
    def __missing__(self, key):
        return 1.5

class SubFloat(float):
    pass

class SubStr(str):
    pass

class Net(nn.Module):
    def __init__(self, v=2.0):
        super().__init__()
        self.v = v
        self.lin = nn.Linear(1, 1)
        self.register_buffer("b", ingot.tensor(v))
        self.p = nn.Parameter(ingot.tensor(v))
    def forward(self, x):
        return x * self.v

def outer(v=2.0):
    def inner():
        return v
    def put(new):
        nonlocal v
        v = new
    inner.put = put
    return inner

def default(v=[2.0]):
    return v[0]

def keyword(*, v={"k": 2.0}):
    return v["k"]

def gen(box):
    while True:
        yield box[0]

def match(o):
    match o:
        case {"k": number}:
            return number
    return 1.0
"""

HOLDERS = {
    # Containers
    "list": Holder("[2.0, 1.0]", "o[0]", ("o[0] = v", "o.insert(0, v)", "o[:] = [v]")),
    "list length": Holder("[2.0]", "len(o)", ("o.append(v)", "o.clear()")),
    "list sum": Holder("[2.0]", "sum(o)", ("o.append(v)", "o[0] = v")),
    "list last": Holder("[2.0]", "o[-1]", ("o.append(v)",)),
    "list contains": Holder("[2.0]", "float(5.0 in o)", ("o[0] = v",)),
    "list sorted": Holder("[2.0, 9.5]", "sorted(o)[0]", ("o[0] = v", "o.append(0.5)")),
    "list nested": Holder("[[2.0]]", "o[0][0]", ("o[0][0] = v", "o[0] = [v]")),
    "list loop": Holder("[2.0]", "max([q for q in o])", ("o.append(v)",)),
    "tuple of list": Holder("([2.0],)", "o[0][0]", ("o[0][0] = v",)),
    "dict": Holder("{'k': 2.0}", "o['k']", ("o['k'] = v", "o.update(k=v)", "o.pop('k'); o['k'] = v")),
    "dict get": Holder("{'a': 1.0}", "o.get('k', 3.0)", ("o['k'] = v",)),
    "dict in": Holder("{'a': 1.0}", "float('k' in o)", ("o['k'] = v",)),
    "dict keys": Holder("{'a': 1.0}", "len(list(o))", ("o[v] = v",)),
    "dict order": Holder("{'a': 1.0, 'b': 2.0}", "next(iter(o.values()))", ("o['a'] = o.pop('a')", "o.pop('a'); o['a'] = v")),
    "dict values": Holder("{'a': 1.0}", "sum(o.values())", ("o['a'] = v", "o[v] = v")),
    "dict items": Holder("{'a': 1.0}", "[q for _, q in o.items()][-1]", ("o['a'] = v", "o[v] = v")),
    "dict match": Holder("{'k': 2.0}", "match(o)", ("o['k'] = v", "o.clear(); o['k'] = v")),
    "set": Holder("{2.0}", "float(5.0 in o)", ("o.add(v)", "o.clear()")),
    "set sum": Holder("{2.0}", "sum(o)", ("o.add(v)",)),
    "frozenset of objects": Holder("frozenset([Plain()])", "sum([q.v for q in o])", ("next(iter(o)).v = v",)),
    "deque": Holder("collections.deque([2.0])", "o[0]", ("o.appendleft(v)", "o[0] = v", "o.rotate(); o[0] = v")),
    "deque maxlen": Holder("collections.deque([2.0], maxlen=2)", "sum(o)", ("o.append(v)",)),
    "OrderedDict": Holder(
        "collections.OrderedDict(a=2.0, b=3.0)",
        "next(iter(o.values()))",
        ("o.move_to_end('a')", "o['a'] = v")),
    "defaultdict": Holder(
        "collections.defaultdict(lambda: 1.0, k=2.0)",
        "o['k']",
        ("o['k'] = v", "o.pop('k', 0); o.default_factory = lambda: v")),
    "defaultdict factory": Holder(
        "collections.defaultdict(lambda: 1.0)",
        "o.default_factory()",
        ("o.default_factory = lambda: v",)),
    "Counter": Holder("collections.Counter(k=2)", "o['k'] + o['z']", ("o['k'] += 1", "o.update('z')")),
    "Counter common": Holder("collections.Counter(k=2)", "o.most_common(1)[0][1]", ("o['z'] = int(v) + 4",)),
    "ChainMap": Holder(
        "collections.ChainMap({}, {'k': 2.0})",
        "o['k']",
        ("o['k'] = v", "o.maps[1]['k'] = v", "o.maps.insert(0, {'k': v})")),
    "UserDict": Holder("collections.UserDict(k=2.0)", "o['k']", ("o['k'] = v", "o.data = {'k': v}")),
    "UserList": Holder("collections.UserList([2.0])", "o[0]", ("o[0] = v", "o.data = [v]")),
    "UserString": Holder("collections.UserString('ab')", "float(len(o))", ("o.data = 'x' * int(v)",)),
    "namedtuple": Holder("Named(2.0, [1.0])", "o.rest[0]", ("o.rest[0] = v",)),
    "TypedDict": Holder("Typed(v=2.0)", "o['v']", ("o['v'] = v",)),
    "list subclass": Holder("SubList([2.0])", "o[0]", ("o[0] = v", "o.extra = v; o.insert(0, v)")),
    "dict subclass": Holder("SubDict()", "o['k']", ("o['k'] = v",)),
    "str subclass": Holder("SubStr('ab')", "getattr(o, 'extra', 1.0)", ("o.extra = v",)),
    "float subclass": Holder("SubFloat(2.0)", "o * getattr(o, 'extra', 1.0)", ("o.extra = v",)),
    "mappingproxy": Holder("types.MappingProxyType(m.setdefault('d', {'k': 2.0}))", "o['k']", ("m['d']['k'] = v",)),
    "SimpleNamespace": Holder("types.SimpleNamespace(v=2.0)", "o.v", ("o.v = v", "o.__dict__.update(v=v)")),
    "array": Holder("array.array('d', [2.0])", "o[0]", ("o[0] = v",)),
    "array length": Holder("array.array('d', [2.0])", "float(len(o))", ("o.append(v)",)),
    "bytearray": Holder("bytearray([2])", "float(o[0])", ("o[0] = int(v)", "o.insert(0, int(v))")),
    "memoryview": Holder("memoryview(m.setdefault('a', bytearray([2])))", "float(o[0])", ("m['a'][0] = int(v)",)),
    "numpy": Holder("np.array([2.0])", "float(o[0])", ("o[0] = v", "o.fill(v)")),
    "numpy sum": Holder("np.array([2.0])", "float(o.sum())", ("o[0] = v", "o *= 2")),
    "numpy view": Holder("m.setdefault('a', np.array([2.0, 1.0]))[:1]", "float(o[0])", ("m['a'][0] = v",)),
    "numpy 0-dim": Holder("np.array(2.0)", "float(o)", ("o[...] = v",)),
    "numpy structured": Holder("np.zeros(1, [('k', 'f8')])", "float(o['k'][0])", ("o['k'] = v",)),
    "numpy object": Holder("np.array([[2.0], None], dtype=object)", "o[0][0]", ("o[0][0] = v", "o[0] = [v]")),
    "numpy flags": Holder("np.array([2.0])", "float(o.flags.writeable)", ("o.flags.writeable = not o.flags.writeable",)),
    "numpy shape": Holder("np.zeros((2, 3))", "float(o.shape[0])", ("o.shape = o.shape[::-1]",)),
    "numpy masked": Holder("np.ma.array([2.0, 3.0])", "float(o.sum())", ("o[0] = v", "o[1] = np.ma.masked")),
    "numpy iterator": Holder("iter(np.array([2.0, 3, 4, 5, 6, 7, 8]))", "float(next(o))", ("pass",)),
    "numpy flat": Holder("m.setdefault('a', np.array([2.0])).flat", "float(o[0])", ("m['a'][0] = v",)),
    "numpy Generator": Holder("np.random.default_rng(3)", "float(o.random())", ("o.random()", "pass")),
    "numpy RandomState": Holder("np.random.RandomState(3)", "float(o.rand())", ("o.seed(int(v))", "pass")),
    "numpy poly": Holder("np.poly1d([2.0, 1.0])", "float(o(1.0))", ("o[0] = v",)),
    "numpy vectorize": Holder("np.vectorize(lambda q: q + m['k'])", "float(o(1.0))", ("m['k'] = v",)),
    # Views, methods, iterators
    "dict view": Holder("m.setdefault('d', {'k': 2.0}).values()", "sum(o)", ("m['d']['k'] = v", "m['d'][v] = v")),
    "items view": Holder("m.setdefault('d', {'k': 2.0}).items()", "dict(o)['k']", ("m['d']['k'] = v",)),
    "keys view": Holder("m.setdefault('d', {'k': 2.0}).keys()", "float(len(o))", ("m['d'][v] = v",)),
    "get of dict": Holder("m.setdefault('d', {'k': 2.0}).get", "o('k')", ("m['d']['k'] = v",)),
    "getitem of list": Holder("m.setdefault('l', [2.0]).__getitem__", "o(0)", ("m['l'][0] = v",)),
    "append of list": Holder("m.setdefault('l', [2.0]).append", "(o(3.0), 1.0)[1]", ("m['l'].append(v)",)),
    "pop of list": Holder("m.setdefault('l', [2.0] * 20).pop", "o()", ("m['l'].append(v)",)),
    "bound method": Holder("m.setdefault('p', Plain()).value", "o()", ("m['p'].v = v",)),
    "function of class": Holder("Plain.value", "o(m.setdefault('p', Plain()))", ("m['p'].v = v",)),
    "method-wrapper": Holder("m.setdefault('l', [2.0]).__len__", "float(o())", ("m['l'].append(v)",)),
    "iterator of list": Holder(
        "iter(m.setdefault('l', [2.0, 3.0, 4.0, 5.0, 6.0, 7.0]))",
        "next(o)",
        ("pass", "m['l'].append(v)")),
    "reversed": Holder("reversed(m.setdefault('l', [2.0, 3.0, 4.0, 5.0, 6.0, 7.0]))", "next(o)", ("pass",)),
    "enumerate": Holder("enumerate([2.0, 3.0, 4.0, 5.0, 6.0, 7.0])", "next(o)[1]", ("pass",)),
    "zip": Holder("zip([2.0, 3.0, 4.0, 5.0, 6.0, 7.0], range(9))", "next(o)[0]", ("pass",)),
    "map": Holder("map(float, [2.0, 3.0, 4.0, 5.0, 6.0, 7.0])", "next(o)", ("pass",)),
    "filter": Holder("filter(None, [2.0, 3.0, 4.0, 5.0, 6.0, 7.0])", "next(o)", ("pass",)),
    "generator": Holder("gen(m.setdefault('b', [2.0]))", "next(o)", ("m['b'][0] = v",)),
    "count": Holder("itertools.count(2)", "float(next(o))", ("pass", "next(o)")),
    "cycle": Holder("itertools.cycle([2.0, 3.0, 4.0])", "next(o)", ("pass", "next(o)")),
    "chain": Holder("itertools.chain([2.0, 3.0], [4.0, 5.0, 6.0, 7.0])", "next(o)", ("pass",)),
    "islice": Holder("itertools.islice(itertools.count(2), 9)", "float(next(o))", ("pass",)),
    "repeat": Holder("itertools.repeat(2.0, 30)", "next(o) + o.__length_hint__()", ("next(o)", "pass")),
    "tee": Holder("itertools.tee([2.0, 3.0, 4.0, 5.0, 6.0, 7.0])[0]", "next(o)", ("pass",)),
    "range": Holder("range(9)", "float(o[2])", ("pass",)),
    "slice": Holder("slice(0, 1)", "sum(m.setdefault('l', [2.0, 3.0])[o])", ("m['l'][0] = v",)),
    "accumulate": Holder("itertools.accumulate([2.0, 3.0, 4.0, 5.0, 6.0, 7.0])", "next(o)", ("pass",)),
    # Functools, operator, contextvars, weakref
    "partial": Holder("functools.partial(lambda b: b[0], m.setdefault('b', [2.0]))", "o()", ("m['b'][0] = v",)),
    "partial keywords": Holder(
        "functools.partial(lambda b: b, b=2.0)",
        "o()",
        ("o.keywords['b'] = v", "o.__setstate__((o.func, o.args, {'b': v}, None))")),
    "partialmethod": Holder(
        "type('T', (), {'f': functools.partialmethod(lambda self, b: b[0], m.setdefault('b', [2.0]))})()",
        "o.f()",
        ("m['b'][0] = v",)),
    "lru_cache": Holder("functools.lru_cache(lambda: m.get('k', 2.0))", "o()", ("m['k'] = v", "m['k'] = v; o.cache_clear()")),
    "singledispatch": Holder("functools.singledispatch(lambda q: 2.0)", "o(1)", ("o.register(int, lambda q: v)",)),
    "wraps": Holder("functools.wraps(default)(lambda: m.get('k', 2.0))", "o()", ("m['k'] = v",)),
    "cmp_to_key": Holder(
        "functools.cmp_to_key(lambda a, b: (a - b) * m.get('k', 1.0))",
        "sorted([1.0, 2.0], key=o)[0]",
        ("m['k'] = -m.get('k', 1.0)",)),
    "itemgetter": Holder("operator.itemgetter('k')", "o(m.setdefault('d', {'k': 2.0}))", ("m['d']['k'] = v",)),
    "attrgetter": Holder("operator.attrgetter('v')", "o(m.setdefault('p', Plain()))", ("m['p'].v = v",)),
    "methodcaller": Holder("operator.methodcaller('value')", "o(m.setdefault('p', Plain()))", ("m['p'].v = v",)),
    "ContextVar": Holder("contextvars.ContextVar('c', default=2.0)", "o.get()", ("o.set(v)",)),
    "ContextVar object": Holder(
        "contextvars.ContextVar('c', default=m.setdefault('l', [2.0]))",
        "o.get()[0]",
        ("m['l'][0] = v",)),
    "weakref": Holder("weakref.ref(m.setdefault('p', Plain()))", "o().v", ("m['p'].v = v",)),
    "weakref dead": Holder("weakref.ref(m.setdefault('p', Plain()))", "1.0 if o() is None else 2.0", ("m.pop('p', None)",)),
    "proxy": Holder("weakref.proxy(m.setdefault('p', Plain()))", "o.v", ("m['p'].v = v",)),
    "WeakSet": Holder("weakref.WeakSet([m.setdefault('p', Plain())])", "float(len(o))", ("o.add(m.setdefault(v, Plain()))",)),
    "WeakValueDictionary": Holder(
        "weakref.WeakValueDictionary(k=m.setdefault('p', Plain()))",
        "o['k'].v",
        ("m['p'].v = v", "q = m['p'] = Plain(v); o['k'] = q")),
    "WeakKeyDictionary": Holder(
        "weakref.WeakKeyDictionary({m.setdefault('p', Plain()): 2.0})",
        "sum(o.values())",
        ("o[m['p']] = v",)),
    "WeakMethod": Holder("weakref.WeakMethod(m.setdefault('p', Plain()).value)", "o()()", ("m['p'].v = v",)),
    # Objects and classes
    "object": Holder("Plain()", "o.v", ("o.v = v", "vars(o)['v'] = v", "o.__dict__ = {'v': v}")),
    "object method": Holder("Plain()", "o.value()", ("o.v = v", "o.value = lambda: v")),
    "object call": Holder("Plain()", "o()", ("o.v = v",)),
    "object class attribute": Holder("type('T', (Plain,), {})()", "o.rate", ("o.rate = v", "type(o).rate = v")),
    "object class": Holder(
        "type('T', (Plain,), {})()",
        "o.value()",
        ("o.__class__ = type('U', (Plain,), {'value': lambda self: v})", "type(o).value = lambda self: v")),
    "object hasattr": Holder("Plain()", "float(hasattr(o, 'z'))", ("o.z = v", "o.__dict__.pop('z', 0)")),
    "object getattr": Holder("Plain()", "getattr(o, 'z', 1.0)", ("o.z = v",)),
    "object vars": Holder("Plain()", "vars(o)['v']", ("o.v = v",)),
    "object vars length": Holder("Plain()", "float(len(vars(o)))", ("setattr(o, f'a{v}', v)",)),
    "object dir": Holder("Plain()", "float(len(dir(o)))", ("setattr(o, f'a{v}', v)",)),
    "slots": Holder("Slots()", "o.v", ("o.v = v",)),
    "slots descriptor": Holder("Slots()", "Slots.v.__get__(o)", ("o.v = v",)),
    "property": Holder("Prop()", "o.v", ("o._v = v", "type(o).v = property(lambda self: v)")),
    "cached_property": Holder("Cached()", "o.v", ("o.__dict__.pop('v', 0); o._v = v", "o.v = v")),
    "__getattr__": Holder("GetAttr()", "o.v", ("o.v = v",)),
    "__getattribute__": Holder("GetAttribute()", "o.v", ("o.v = v",)),
    "__getitem__": Holder("Items()", "o[0]", ("o.values[0] = v", "o.values = [v]")),
    "__len__": Holder("Items()", "float(len(o))", ("o.values.append(v)",)),
    "__iter__": Holder("Items()", "sum(o)", ("o.values.append(v)",)),
    "__contains__": Holder("Items()", "float(5.0 in o)", ("o.values[0] = v",)),
    "__float__": Holder("Number()", "float(o)", ("o.v = v",)),
    "__bool__": Holder("Number()", "1.0 if o else 2.0", ("o.v = v",)),
    "__index__": Holder("Number()", "float(list(range(20))[o])", ("o.v = v",)),
    "__hash__": Holder("Number()", "float(hash(o))", ("o.v = v",)),
    "__lt__": Holder("Number()", "float(o < 4)", ("o.v = v",)),
    "__repr__": Holder("Number()", "float(len(repr(o)))", ("o.v = v * 1e20",)),
    "__format__": Holder("Number()", "float(f'{o:.2f}')", ("o.v = v",)),
    "__rmul__": Holder("Number()", "3.0 * o", ("o.v = v",)),
    "descriptor": Holder("WithDesc()", "o.d", ("WithDesc.__dict__['d'].held = v",)),
    "data descriptor": Holder("WithData()", "o.v", ("o.v = v",)),
    "staticmethod": Holder("type('T', (), {'f': staticmethod(lambda: m.get('k', 2.0))})()", "o.f()", ("m['k'] = v",)),
    "classmethod": Holder("type('T', (Plain,), {'f': classmethod(lambda cls: cls.rate)})()", "o.f()", ("type(o).rate = v",)),
    "class": Holder("type('T', (Plain,), {})", "o.rate", ("o.rate = v", "o.__bases__[0].rate = 1.0; o.rate = v")),
    "class name": Holder("type('T', (Plain,), {})", "float(len(o.__name__))", ("o.__name__ = 'x' * int(v)",)),
    "class bases": Holder("type('T', (Plain,), {})", "float(issubclass(o, Heir))", ("o.__bases__ = (Heir,)",)),
    "class subclasses": Holder("type('T', (Plain,), {})", "float(len(o.__subclasses__()))", ("m[v] = type('S', (o,), {})",)),
    "metaclass property": Holder("Meta('T', (OfMeta,), {})", "o.v", ("o.held = v",)),
    "abstract class": Holder("Square()", "o.area()", ("o.side = v", "type(o).side = v")),
    "abstract register": Holder("type('A', (Shape,), {})", "float(isinstance(1.0, o))", ("o.register(float)",)),
    "dataclass": Holder("Data()", "o.v + o.rest[0]", ("o.v = v", "o.rest[0] = v")),
    "dataclass fields": Holder("Data()", "sum([getattr(o, f.name) for f in dataclasses.fields(o)][:1])", ("o.v = v",)),
    "dataclass asdict": Holder("Data()", "dataclasses.asdict(o)['rest'][0]", ("o.rest[0] = v",)),
    "dataclass replace": Holder("Data()", "dataclasses.replace(o, rest=[]).v", ("o.v = v",)),
    "frozen dataclass": Holder("Frozen()", "o.rest[0]", ("o.rest[0] = v", "object.__setattr__(o, 'rest', [v])")),
    "slot dataclass": Holder("SlotData()", "o.v", ("o.v = v",)),
    "enum": Holder("Colour.RED", "o.value", ("o._value_ = v",)),
    "enum attribute": Holder("Colour.BLUE", "getattr(o, 'extra', 1.0)", ("o.extra = v",)),
    "enum class": Holder("Colour", "float(len(o))", ("pass",)),
    "int enum": Holder("Level.LOW", "float(o)", ("pass",)),
    "flag": Holder("Flags.A | Flags.B", "float(o.value)", ("pass",)),
    # Functions
    "function closure": Holder("outer()", "o()", ("o.put(v)", "o.__closure__[0].cell_contents = v")),
    "function attribute": Holder("outer()", "getattr(o, 'extra', 1.0)", ("o.extra = v",)),
    "function default": Holder(
        "types.FunctionType(default.__code__, globals(), 'd', ([2.0],))",
        "o()",
        ("o.__defaults__[0][0] = v", "o.__defaults__ = ([v],)")),
    "function keyword default": Holder(
        "(lambda: (lambda *, v={'k': 2.0}: v['k']))()",
        "o()",
        ("o.__kwdefaults__['v']['k'] = v", "o.__kwdefaults__ = {'v': {'k': v}}")),
    "function code": Holder("(lambda: (lambda: 2.0))()", "o()", ("o.__code__ = eval(f'lambda: {v}').__code__",)),
    "function globals": Holder("eval('lambda: k', m.setdefault('g', {'k': 2.0}))", "o()", ("m['g']['k'] = v",)),
    "function name": Holder("outer()", "float(len(o.__name__))", ("o.__name__ = 'x' * int(v)",)),
    "function doc": Holder("outer()", "float(len(o.__doc__ or ''))", ("o.__doc__ = 'x' * int(v)",)),
    "cell": Holder("types.CellType(2.0)", "o.cell_contents", ("o.cell_contents = v",)),
    "module": Holder("types.ModuleType('mod')", "getattr(o, 'v', 1.0)", ("o.v = v",)),
    "compiled code": Holder("compile('q = 1', 'f', 'exec')", "float(o.co_firstlineno)", ("pass",)),
    # Standard library
    "Decimal": Holder("decimal.Decimal(1)", "float(o / 3)", ("decimal.getcontext().prec = int(v)",)),
    "Fraction": Holder("fractions.Fraction(1, 2)", "float(o)", ("o._numerator = int(v)",)),
    "Random": Holder("random.Random(3)", "o.random()", ("o.seed(v)", "o.random()", "pass")),
    "Random state": Holder("random.Random(3)", "float(o.getstate()[1][0] % 97)", ("o.seed(v)",)),
    "StringIO": Holder("io.StringIO('a')", "float(len(o.getvalue()))", ("o.write('x' * int(v))",)),
    "BytesIO": Holder("io.BytesIO(b'abcdefghijklmnop')", "float(o.read(1)[0])", ("o.seek(0)", "pass")),
    "Queue": Holder(
        "(lambda q: [q.put(w) for w in (2.0, 3.0, 4.0, 5.0, 6.0, 7.0)] and q)(queue.Queue())",
        "float(o.qsize())",
        ("o.get()", "o.put(v)")),
    "Queue get": Holder(
        "(lambda q: [q.put(w / 2) for w in range(4, 40)] and q)(queue.SimpleQueue())",
        "o.get()",
        ("o.put(v)",)),
    "Event": Holder("threading.Event()", "float(o.is_set())", ("o.set()", "o.clear()")),
    "Lock": Holder("threading.Lock()", "float(o.locked())", ("o.acquire(False)", "o.locked() and o.release()")),
    "Semaphore": Holder("threading.Semaphore(9)", "float(o._value)", ("o.acquire()",)),
    "local": Holder("threading.local()", "getattr(o, 'v', 1.0)", ("o.v = v",)),
    "Barrier": Holder("threading.Barrier(2)", "float(o.parties)", ("o._parties = int(v)",)),
    "re.Pattern": Holder(
        "re.compile('a+')",
        "float(len(o.findall(m.setdefault('t', ['ab'])[0])))",
        ("m['t'][0] = 'a b ' * int(v)",)),
    "Template": Holder("string.Template('$a')", "float(o.substitute(m.setdefault('d', {'a': 2.0})))", ("m['d']['a'] = v",)),
    "ConfigParser": Holder(
        "(lambda c: c.read_string('[a]\\nk = 2.0') or c)(configparser.ConfigParser())",
        "o.getfloat('a', 'k')",
        ("o.set('a', 'k', str(v))", "o['a']['k'] = str(v)")),
    "Namespace": Holder("argparse.Namespace(v=2.0)", "o.v", ("o.v = v",)),
    "ExitStack": Holder("contextlib.ExitStack()", "float(len(o._exit_callbacks))", ("o.callback(print)",)),
    "Logger": Holder("logging.Logger('matrix')", "float(o.level)", ("o.setLevel(int(v) * 10)",)),
    "Logger enabled": Holder("logging.Logger('matrix')", "float(o.isEnabledFor(30))", ("o.setLevel(int(v) * 10)",)),
    "LogRecord": Holder("logging.makeLogRecord({'v': 2.0})", "o.v", ("o.v = v",)),
    "Struct": Holder(
        "struct.Struct('d')",
        "o.unpack(m.setdefault('b', [struct.pack('d', 2.0)])[0])[0]",
        ("m['b'][0] = struct.pack('d', v)",)),
    "ctypes": Holder("ctypes.c_double(2.0)", "o.value", ("o.value = v",)),
    "ctypes array": Holder("(ctypes.c_double * 2)(2.0, 1.0)", "o[0]", ("o[0] = v",)),
    "ctypes structure": Holder(
        "type('T', (ctypes.Structure,), {'_fields_': [('v', ctypes.c_double)]})(2.0)",
        "o.v",
        ("o.v = v",)),
    "date": Holder("datetime.date(2020, 1, 2)", "float(o.day)", ("pass",)),
    "Path": Holder("pathlib.PurePath('a/b')", "float(len(o.parts))", ("pass",)),
    "UUID": Holder("uuid.UUID(int=2)", "float(o.int)", ("pass",)),
    "environ": Holder(
        "os.environ",
        "float(o.get('INGOT_MATRIX', '2.0'))",
        ("os.environ['INGOT_MATRIX'] = str(v)", "os.environ.pop('INGOT_MATRIX', 0)")),
    "heap": Holder("[2.0, 3.0]", "heapq.nsmallest(1, o)[0]", ("heapq.heappush(o, v - 10)",)),
    "bisect": Holder("[2.0, 3.0]", "float(bisect.bisect(o, 4.0))", ("bisect.insort(o, v)",)),
    "Message": Holder("email.message.Message()", "float(o.get('k', '2.0'))", ("del o['k']; o['k'] = str(v)",)),
    "sorter": Holder(
        "graphlib.TopologicalSorter({1: [2]})",
        "float(len(o._node2info))",
        ("o.add(v, v + 1)",)),
    "exception": Holder("ValueError(2.0)", "o.args[0]", ("o.args = (v,)",)),
    "exception note": Holder("ValueError(2.0)", "float(len(getattr(o, '__notes__', [])))", ("o.add_note('n')",)),
    "ast": Holder("ast.Constant(2.0)", "o.value", ("o.value = v",)),
    "json": Holder("[2.0]", "json.loads(json.dumps(o))[0]", ("o[0] = v",)),
    "copy": Holder("[[2.0]]", "copy.deepcopy(o)[0][0]", ("o[0][0] = v",)),
    "pickle": Holder("Plain()", "pickle.loads(pickle.dumps(o.__dict__))['v']", ("o.v = v",)),
    "zlib": Holder("zlib.compressobj()", "1.0 if o is None else 2.0", ("pass",)),
    # Tensors, modules, optimisers
    "tensor": Holder("ingot.tensor(2.0)", "o", ("o.fill_(v)", "o.data = ingot.tensor(v)")),
    "tensor attribute": Holder("ingot.tensor(2.0)", "getattr(o, 'scale', 1.0)", ("o.scale = v",)),
    "tensor item": Holder("ingot.tensor(2.0)", "o.item()", ("o.fill_(v)",)),
    "tensor grad": Holder(
        "ingot.tensor(2.0, requires_grad=True)",
        "1.0 if o.grad is None else o.grad",
        ("o.grad = ingot.tensor(v)",)),
    "tensor requires_grad": Holder("ingot.tensor(2.0)", "float(o.requires_grad)", ("o.requires_grad_(not o.requires_grad)",)),
    "list of tensors": Holder("[ingot.tensor(2.0)]", "sum(o)", ("o.append(ingot.tensor(v))", "o[0] = ingot.tensor(v)")),
    "dict of tensors": Holder("{'k': ingot.tensor(2.0)}", "o['k']", ("o['k'] = ingot.tensor(v)",)),
    "storage": Holder("m.setdefault('t', ingot.tensor([2.0])).untyped_storage()", "float(o.nbytes())", ("pass",)),
    "numpy of tensor": Holder("m.setdefault('t', ingot.tensor([2.0])).numpy()", "float(o[0])", ("m['t'].fill_(v)",)),
    "Linear": Holder(
        "nn.Linear(1, 1, bias=False)",
        "o.weight.sum()",
        ("o.weight.data.fill_(v)", "o.weight = nn.Parameter(ingot.full((1, 1), v))")),
    "network": Holder("Net()", "o.v", ("o.v = v",)),
    "module buffer": Holder("Net()", "o.b", ("o.b = ingot.tensor(v)", "o.b.fill_(v)")),
    "module parameter": Holder("Net()", "o.p", ("o.p = nn.Parameter(ingot.tensor(v))",)),
    "module training": Holder(
        "Net()",
        "float(o.training)",
        ("o.train(not o.training)", "o.lin.training = not o.lin.training; o.training = o.lin.training")),
    "module parameters": Holder(
        "Net()",
        "float(len(list(o.parameters())))",
        ("o.register_parameter(f'q{int(v)}', nn.Parameter(ingot.ones(1)))",)),
    "module state_dict": Holder("Net()", "o.state_dict()['b']", ("o.b.fill_(v)",)),
    "module hook": Holder("Net()", "o(ingot.tensor(1.0))", ("o.register_forward_hook(lambda mod, a, out: out * v)", "o.v = v")),
    "Sequential": Holder(
        "nn.Sequential(nn.LeakyReLU(2.0))",
        "o(ingot.tensor(-1.0))",
        ("o[0].negative_slope = v", "o[0] = nn.LeakyReLU(v)", "o.append(nn.LeakyReLU(v))")),
    "ModuleDict": Holder("nn.ModuleDict({'k': nn.LeakyReLU(2.0)})", "o['k'].negative_slope", ("o['k'] = nn.LeakyReLU(v)",)),
    "ParameterList": Holder(
        "nn.ParameterList([nn.Parameter(ingot.tensor(2.0))])",
        "sum(o)",
        ("o.append(nn.Parameter(ingot.tensor(v)))",)),
    "optimizer": Holder(
        "optim.SGD([m.setdefault('p', nn.Parameter(ingot.tensor(2.0)))], lr=2.0)",
        "o.param_groups[0]['lr']",
        ("o.param_groups[0]['lr'] = v",)),
    "optimizer state": Holder(
        "optim.Adam([m.setdefault('p', nn.Parameter(ingot.tensor(2.0)))])",
        "o.state[m['p']].get('step', 1.0)",
        ("o.state[m['p']]['step'] = v",)),
    "optimizer groups": Holder(
        "optim.Adam([m.setdefault('p', nn.Parameter(ingot.tensor(2.0)))])",
        "float(len(o.param_groups))",
        ("o.add_param_group({'params': [nn.Parameter(ingot.tensor(v))]})",)),
    "optimizer defaults": Holder(
        "optim.Adam([m.setdefault('p', nn.Parameter(ingot.tensor(2.0)))])",
        "o.defaults['lr']",
        ("o.defaults['lr'] = v",)),
    "optimizer attribute": Holder(
        "optim.Adam([m.setdefault('p', nn.Parameter(ingot.tensor(2.0)))])",
        "getattr(o, 'scale', 1.0)",
        ("o.scale = v",)),
    "scheduler base": Holder(
        "optim.lr_scheduler.StepLR(optim.SGD([m.setdefault('p', nn.Parameter(ingot.tensor(2.0)))], lr=2.0), 1)",
        "o.base_lrs[0] + o.last_epoch",
        ("o.base_lrs[0] = v", "o.last_epoch = int(v)")),
    "GradScaler": Holder("ingot.amp.GradScaler('cpu', init_scale=2.0)", "o.get_scale()", ("o.update(v)",)),
    "DataLoader": Holder(
        "ingot.utils.data.DataLoader([2.0, 3.0], batch_size=1)",
        "float(o.batch_size) + len(o)",
        ("o.dataset.append(v)",)),
    "Normal": Holder(
        "ingot.distributions.Normal(ingot.tensor(2.0), 1.0)",
        "o.mean",
        ("o.loc = ingot.tensor(v)", "o.loc.fill_(v)")),
    "EMA": Holder("ingot.optim.swa_utils.AveragedModel(Net())", "o.n_averaged", ("o.n_averaged.fill_(int(v))",)),
    "scheduler": Holder(
        "optim.lr_scheduler.StepLR(optim.SGD([m.setdefault('p', nn.Parameter(ingot.tensor(2.0)))], lr=2.0), 1)",
        "o.get_last_lr()[0]",
        ("m['p'].grad = ingot.tensor(1.0); o.optimizer.step(); o.step()",)),
    "ingot Generator": Holder(
        "ingot.Generator().manual_seed(3)",
        "ingot.rand((), generator=o)",
        ("o.manual_seed(int(v))", "pass")),
    "dtype": Holder("ingot.float32", "float(o.itemsize)", ("pass",)),
    "Size": Holder("ingot.Size([2, 3])", "float(o[0])", ("pass",)),
    "Dataset": Holder(
        "ingot.utils.data.TensorDataset(m.setdefault('t', ingot.tensor([2.0])))",
        "o[0][0]",
        ("m['t'].fill_(v)", "o.tensors = (ingot.tensor([v]),)")),
}

PATHS = {
    "argument": Path("""
def f(x, o):
    return x * (USE)
""", "f(x, o)"),
    "keyword": Path("""
def f(x, *, o):
    return x * (USE)
""", "f(x, o=o)"),
    "varargs": Path("""
def f(x, *os):
    o = os[0]
    return x * (USE)
""", "f(x, o)"),
    "default": Path("""
def f(x, o=o):
    return x * (USE)
""", "f(x)"),
    "closure": Path("""
def make(o):
    def f(x):
        return x * (USE)
    return f
f = make(o)
""", "f(x)"),
    "global": Path("""
o_ = o
def f(x):
    o = o_
    return x * (USE)
""", "f(x)"),
    "attribute": Path("""
holder = Plain(o)
def f(x):
    o = holder.v
    return x * (USE)
""", "f(x)"),
    "attribute of argument": Path("""
holder = Plain(o)
def f(x, h):
    o = h.v
    return x * (USE)
""", "f(x, holder)"),
    "element": Path("""
held = [o]
def f(x):
    o = held[0]
    return x * (USE)
""", "f(x)"),
    "element of argument": Path("""
held = [o]
def f(x, h):
    o = h[0]
    return x * (USE)
""", "f(x, held)"),
    "loop": Path("""
held = [o]
def f(x):
    for o in held:
        x = x * (USE)
    return x
""", "f(x)"),
    "value of key": Path("""
held = {'o': o}
def f(x):
    o = held['o']
    return x * (USE)
""", "f(x)"),
    "value of argument": Path("""
held = {'o': o}
def f(x, h):
    o = h['o']
    return x * (USE)
""", "f(x, held)"),
    "value by get": Path("""
held = {'o': o}
def f(x):
    o = held.get('o')
    return x * (USE)
""", "f(x)"),
    "tuple": Path("""
held = (1, (o,))
def f(x, h):
    o = h[1][0]
    return x * (USE)
""", "f(x, held)"),
    "partial": Path("""
def g(o, x):
    return x * (USE)
f = functools.partial(g, o)
""", "f(x)"),
    "partial of argument": Path("""
def f(x, p):
    o = p()
    return x * (USE)
part = functools.partial(lambda o: o, o)
""", "f(x, part)"),
    "bound self": Path("""
class Owner:
    def __init__(self, o):
        self.o = o
    def step(self, x):
        o = self.o
        return x * (USE)
f = Owner(o).step
""", "f(x)"),
    "class": Path("""
class Owner:
    pass
Owner.o = staticmethod(lambda: OBJECT[0])
OBJECT = [o]
def f(x):
    o = Owner.o()
    return x * (USE)
""", "f(x)"),
    "module attribute": Path("""
mod = types.ModuleType('user_mod')
mod.o = o
def f(x):
    o = mod.o
    return x * (USE)
""", "f(x)"),
    "network": Path("""
class Owner(nn.Module):
    def __init__(self):
        super().__init__()
        object.__setattr__(self, 'o', o_)
    def forward(self, x):
        o = self.o
        return x * (USE)
o_ = o
f = Owner()
""", "f(x)"),
    "helper": Path("""
def g(x, o):
    return x * (USE)
def f(x, o):
    return g(x, o)
""", "f(x, o)"),
    "generator expression": Path("""
held = [o]
def f(x):
    return sum([x * (USE) for o in held])
""", "f(x)"),
    "getattr": Path("""
holder = Plain(o)
NAME = 'v'
def f(x):
    o = getattr(holder, NAME)
    return x * (USE)
""", "f(x)"),
    "ContextVar": Path("""
context = contextvars.ContextVar('c')
context.set(o)
def f(x):
    o = context.get()
    return x * (USE)
""", "f(x)"),
    "property": Path("""
class Owner:
    def __init__(self, o):
        self._o = o
    @property
    def o(self):
        return self._o
owner = Owner(o)
def f(x):
    o = owner.o
    return x * (USE)
""", "f(x)"),
    "dataclass argument": Path("""
@dataclasses.dataclass
class Batch:
    o: object
batch = Batch(o)
def f(x, b):
    o = b.o
    return x * (USE)
""", "f(x, batch)"),
}
