"""Special methods and descriptors that a class gets later, attributes that hide those of a class, and other classes of objects
are noticed, however code reaches the object."""

import pytest

from fuzzed_modules.life import compare

CLASSES = """
class Gives:
    def __init__(self, value): self.value = value
    def __get__(self, owner, kind): return self.value
class Marks:
    def __init__(self, k): self.k = k
class Meta(type): pass
class Base(metaclass=Meta): pass
class C(Base):
    nondata, held, kind = Gives(2.0), Marks(2.0), dict
    def __init__(self): self.own = 2.0
    def part(self, x, k): return x * k
    twice = functools.partialmethod(part, k=2)
    @functools.cached_property
    def once(self): return 2.0
    def __getitem__(self, i): return (1, 5)[i]
class Other(C):
    nondata, own_rate = Gives(7.0), 3.0
    def __bool__(self): return False
    def part(self, x, k): return x - k
def value(run, default=3):
    try: return run()
    except (AttributeError, TypeError, KeyError): return default
"""
# Ways to an object `c` of the class `C`: code that uses it in a function, and where it is found.
WAYS = {
    "a global variable": ("c0 = C()\ndef fn(x):\n    c = c0\n    return {use}", "c0"),
    "a list": ("cs = [C(), C()]\ndef fn(x):\n    for c in cs: x = {use}\n    return x", "cs[1]"),
    "an argument": ("c0 = C()\ndef args(i): return ingot.arange(3.0) + i, c0\ndef fn(x, c): return {use}", "c0"),
    "an attribute": ("h = NS(c={{'a': [C()]}})\ndef use(c, x): return {use}\ndef fn(x): return use(h.c['a'][0], x)",
                     "h.c['a'][0]"),
    "a module": ("class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.c = C()\n"
                 "    def forward(self, x):\n        c = self.c\n        return {use}\nnet = Net()\ndef fn(x): return net(x)",
                 "net.c"),
    "a function": ("def make():\n    c = C()\n    def get(): return c\n    return get\nget = make()\n"
                   "def fn(x):\n    c = get()\n    return {use}", "get()")}
# Uses of the object, and what makes a difference to them later.
LATE = {
    "bool": ("x * (2 if c else 3)", "C.__bool__ = lambda s: False"),
    "len": ("x * (2 if not c else 3)", "C.__len__ = lambda s: 0"),
    "bool of a base": ("x * (2 if c else 3)", "Base.__bool__ = lambda s: False"),
    "getattr": ("x * value(lambda: c.rate)", "C.__getattr__ = lambda s, n: 5.0"),
    "getattr with a default": ("x * getattr(c, 'rate', 3)", "C.__getattr__ = lambda s, n: 5.0"),
    "getattribute": ("x * c.own", "C.__getattribute__ = lambda s, n: 5.0 if n == 'own' else object.__getattribute__(s, n)"),
    "iter": ("x * sum(c)", "C.__iter__ = lambda s: iter([7])"),
    "reversed": ("x * value(lambda: next(reversed(c)))", "C.__len__ = lambda s: 2"),
    "contains": ("x * (2 if 9 in c else 3)", "C.__contains__ = lambda s, k: True"),
    "call": ("x * (2 if callable(c) else 3)", "C.__call__ = lambda s: 0"),
    "eq": ("x * (2 if c == 0 else 3)", "C.__eq__ = lambda s, o: True"),
    "hash of None": ("x * value(lambda: hash(c) * 0 + 2)", "C.__hash__ = None"),
    "str": ("x * (2 if f'{c}' == 'c' else 3)", "C.__repr__ = lambda s: 'c'"),
    "add": ("x * value(lambda: c + 1)", "C.__add__ = lambda s, o: o"),
    "right add": ("x * value(lambda: 1 + c)", "C.__radd__ = lambda s, o: o"),
    "index": ("x * value(lambda: [5, 6][c])", "C.__index__ = lambda s: 1"),
    "float": ("x * value(lambda: float(c))", "C.__float__ = lambda s: 4.0"),
    "copies": ("x * copy.copy(c).own", "C.__copy__ = lambda s: NS(own=9)"),
    "new objects": ("x * value(lambda: type(c)().own)", "C.__new__ = lambda cls: NS(own=9)"),
    "calls of the class": ("x * value(lambda: type(c)().own)", "Meta.__call__ = lambda cls: NS(own=9)"),
    "isinstance": ("x * (2 if isinstance(c, Base) else 3)", "Meta.__instancecheck__ = lambda cls, o: False"),
    "a property before an attribute": ("x * c.own", "C.own = property(lambda s: 5.0)"),
    "a descriptor that gets __set__": ("x * c.nondata", "c.__dict__['nondata'] = 4.0; Gives.__set__ = lambda s, o, v: None"),
    "another class": ("c.part(x, 3)", "c.__class__ = Other"),
    "another class of descriptors": ("x * c.nondata", "c.__class__ = Other"),
    "another class of truth": ("x * (2 if c else 3)", "c.__class__ = Other"),
    "other bases": ("x * (2 if c else 3)", "C.__bases__ = (type('More', (Base,), {'__bool__': lambda s: False}),)"),
    "an attribute before a descriptor": ("x * c.nondata", "c.__dict__['nondata'] = 7.0"),
    "an attribute before an object": ("x * c.held.k", "c.held = Marks(7.0)"),
    "an attribute before a class": ("x * len(c.kind([(1, 2), (1, 3)]))", "c.kind = list"),
    "an attribute before a partial method": ("c.twice(x)", "c.twice = lambda x: x - 1"),
    "an attribute before a method": ("c.part(x, 3)", "c.part = lambda x, k: x - 1"),
}
def program(change, way) -> str:
    (use, late), (code, place) = LATE[change], WAYS[way]
    return f"{CLASSES}{code.format(use=use)}\ndef turn(i):\n    if i == 3:\n        c = {place}\n        {late}"


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("change", LATE)
def test_a_later_difference_of_a_class_is_noticed(change, way):
    verdict, fn = compare(program(change, way))
    assert verdict.kind == "same", verdict.text
    assert fn.stats()["compiles"] == 2, fn.stats()["misses"]


WRITES = """
### a counter of the class
class A: n = 0
a = A()
def fn(x):
    A.n += 1
    return x * A.n
### an attribute that was missing
class A: pass
def fn(x):
    A.n = getattr(A, 'n', 0) + 1
    return x * A.n
### an attribute that is only written
class A: pass
a = A()
def fn(x):
    type(a).last = x
    return x * 2
### an attribute that is removed again
class A: pass
a = A()
def fn(x):
    A.t = 3.0
    y = x * a.t
    del A.t
    return y
### a name for copies
class A: k = 2.0
a = A()
def fn(x): return x * copy.deepcopy(a).k
def turn(i):
    if i == 3: A.k = 5.0
### annotations
class A: pass
def fn(x): return x * (2 + len(A.__annotations__))
def turn(i):
    if i == 3: A.__annotations__['a'] = int
### a class made inside
def fn(x):
    class A:
        def __bool__(self): return True
    A.k = 2.0
    return x * A.k if A() else x
### a class of another object
class A: r = 2.0
class B: r = 3.0
a = A()
def fn(x):
    y = x * a.r
    a.__class__ = B
    return y
def turn(i):
    if i == 3: a.__class__ = A
### methods by type
class A:
    @functools.singledispatchmethod
    def go(self, k): return 2
a = A()
def fn(x): return x * a.go(1)
def turn(i):
    if i == 3: A.go.register(int, lambda s, k: 7)
### names of a Python module
m = types.ModuleType('fuzzed_names')
def fn(x): return x * getattr(m, 'k', 2.0)
def turn(i):
    if i == 3: m.__getattr__ = lambda n: 5.0
"""
WRITES = dict(text.split("\n", 1) for text in WRITES.split("\n### ")[1:])


@pytest.mark.parametrize("name", WRITES)
def test_classes_that_the_function_changes(name):
    verdict, fn = compare(WRITES[name])
    assert verdict.kind == "same", verdict.text
    assert fn.stats()["compiles"] <= 3, fn.stats()["misses"]
