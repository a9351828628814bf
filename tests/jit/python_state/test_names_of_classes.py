"""Names, texts, bases and defaults that classes and functions keep in C code: a change between calls gives eager's results."""

import pytest

import ingot
from ingot import jit, nn

CODE = """
import enum, functools, operator
from typing import NamedTuple
class First:
    {doc}
    rate = 2.0
    def method(self): return 1.0
class Second:
    rate = 3.0
class Base(First): pass
class Middle(First): pass
class C(Base):
    '''Text.'''
    def own(self): return type(self).__name__
    def text(self): return f"{{self.__class__.__qualname__}}"
class Net(nn.Module):
    def forward(self, x): return x
class Pair(NamedTuple):
    a: int
class Meta(type): pass
class D(C, metaclass=Meta): pass
def fn_one(a, b=2.0, *, c=3.0):
    '''Doc.'''
    return a
def fn_two(a, b=2.0, *, c=3.0, d=4): return -a
o, net, pair, d = C(), Net(), Pair(1), D()
o.cls, o.fn, o.n = C, fn_one, 1
o.method_of = o.own
classes, functions = [C, D], {{"one": fn_one}}
name = "__name__"
get = operator.attrgetter("__qualname__")
shown = repr
def helper(c): return len(c.__name__)
def make(free, run):
    def fn(x, arg, obj, call): return x * ({use})
    return fn
fn = make(C, fn_one)
"""
USES = {
    "the class of an argument": "len(type(obj).__name__)",
    "the class, by __class__": "len(obj.__class__.__name__)",
    "an argument": "len(arg.__name__)",
    "a closure": "len(free.__name__)",
    "a global": "len(C.__name__)",
    "an attribute": "len(o.cls.__name__)",
    "an item": "len(classes[0].__name__)",
    "a loop": "sum([len(c.__name__) for c in classes])",
    "a helper": "helper(arg)",
    "a method": "len(o.own())",
    "a text in a method": "len(o.text())",
    "getattr": "len(getattr(arg, '__name__'))",
    "getattr, computed": "len(getattr(arg, name))",
    "attrgetter": "len(get(arg))",
    "map": "sum(map(len, map(get, classes)))",
    "type's getter": "len(type.__dict__['__name__'].__get__(arg))",
    "type's lookup": "len(type.__getattribute__(arg, '__name__'))",
    "qualname": "len(arg.__qualname__)",
    "module": "len(arg.__module__)",
    "doc": "len(arg.__doc__ or '')",
    "bases": "sum([len(b.__name__) for b in arg.__bases__])",
    "base": "len(arg.__base__.__name__)",
    "rate": "arg.rate",
    "mro": "sum([len(c.__name__) for c in arg.__mro__])",
    "metaclass": "len(type(d.__class__).__name__)",
    "repr": "len(repr(arg))",
    "repr of a list": "len(repr(classes))",
    "repr by another name": "len(shown(arg))",
    "repr by map": "sum(map(len, map(repr, classes)))",
    "str": "len(str(free))",
    "a format": "len(f'{arg}')",
    "a conversion": "len(f'{arg!r}')",
    "format": "len(format(arg))",
    "a template": "len('{}'.format(arg))",
    "percent": "len('%s' % arg)",
    "an object": "len(repr(obj))",
    "a named tuple": "len(repr(pair))",
    "a module": "len(type(net).__name__)",
    "a function": "len(call.__name__)",
    "a function in a closure": "len(run.__name__)",
    "functions in a table": "sum([len(f.__name__) for f in functions.values()])",
    "qualname of a function": "sum([len(f.__qualname__) for f in functions.values()])",
    "text of a function": "sum([len(repr(f)) for f in functions.values()])",
    "doc of a function": "sum([len(f.__doc__ or '') for f in functions.values()])",
    "module of a function": "sum([len(f.__module__) for f in functions.values()])",
    "defaults": "sum([f.__defaults__[0] for f in functions.values()])",
    "keyword defaults": "sum([f.__kwdefaults__['c'] for f in functions.values()])",
    "code": "sum([f.__code__.co_firstlineno for f in functions.values()])",
    "an attribute's function": "len(o.fn.__name__)",
    "a bound method": "len(o.method_of.__name__)",
    "a bound method in a list": "sum([len(m.__qualname__) for m in [o.method_of]])",
}
CHANGES = {         # `n` counts the calls
    "nothing": "",
    "names": "C.__name__ = 'N' * n; C.__qualname__ = 'Q' * n",
    "names of others": "First.__name__ = Base.__name__ = 'B' * n; Pair.__name__ = 'P' * n; Net.__name__ = 'E' * n",
    "names of metaclasses": "Meta.__name__ = 'M' * n",
    "modules": "C.__module__ = 'm' * n; fn_one.__module__ = 'f' * n",
    "docs": "C.__doc__ = 'd' * n; fn_one.__doc__ = 'e' * n",
    "bases": "C.__bases__ = (Middle if n % 2 else Base,)",
    "more bases": "C.__bases__ = (Base, First) if n % 2 else (Base,)",
    "functions": "fn_one.__name__ = 'f' * n; fn_one.__qualname__ = 'g' * n; C.own.__name__ = C.own.__qualname__ = 'own' * n",
    "defaults": "fn_one.__defaults__ = (float(n),); fn_one.__kwdefaults__ = {'c': float(n)}",
    "one default": "fn_one.__kwdefaults__['c'] = float(n)",
    "code": "fn_one.__code__ = (fn_two if n % 2 else fn_one).__code__ if n < 3 else fn_two.__code__",
}


def life(wrap, use, change):
    space = {"nn": nn, "__name__": "user_of_names"}
    exec(CODE.format(use=USES[use], doc="'''First.'''"), space)
    fn, found = wrap(space["fn"]), []
    for n in range(1, 5):
        space["n"] = n
        exec(CHANGES[change], space)
        found.append(fn(ingot.ones(2), space["C"], space["o"], space["fn_one"]).tolist())
    return found, fn


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("use", USES)
def test_names_are_compared(use, change):
    got, traced = life(jit.trace, use, change)
    assert got == life(lambda f: f, use, change)[0]
    if change == "nothing":
        assert traced.stats()["compiles"] == 1
