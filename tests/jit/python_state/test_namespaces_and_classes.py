"""Code reaches values through modules and classes by name, and stores attributes as the class of an object says."""

import pytest

from fuzzed_modules.life import compare

MODULE = """
m = sys.modules['fuzzed_namespace'] = types.ModuleType('fuzzed_namespace')
class Plain:
    def __init__(self, a): self.a = a
m.a = {value}
def helper(x):
    {imports}
    return {use}
def fn(x): return helper(x), x
def turn(i):
    if i == 3: {late}
"""
# Values of a module: what code does with them, and what changes in them.
HELD = {
    "a list": ("[1]", "{a}", "m.a.append(i)"),
    "an item": ("[1]", "x * {a}[0]", "m.a[0] = i"),
    "an object": ("Plain(1)", "{a}", "m.a.a = i"),
    "an attribute": ("Plain(1)", "x * {a}.a", "m.a.a = i"),
    "an attribute by name": ("Plain(1)", "x * getattr({a}, 'a')", "m.a.a = i"),
    "an object in a list": ("[Plain(1)]", "x * {a}[0].a", "m.a[0].a = i"),
    "a set": ("{1}", "{a}", "m.a.add(i)"),
    "a list that grows": ("[1]", "{a}.append(3)", "m.a.pop()"),
    "an attribute that is set": ("Plain(1)", "setattr({a}, 'a', x.shape[0])", "m.a.a = i"),
}
LOOKUPS = {"getattr": "getattr(m, 'a')", "vars": "vars(m)['a']", "attrgetter": "operator.attrgetter('a')(m)", "name": "m.a"}


@pytest.mark.parametrize("lookup", LOOKUPS)
@pytest.mark.parametrize("held", HELD)
def test_values_of_modules_are_followed(held, lookup):
    value, use, late = HELD[held]
    for imports in ("import fuzzed_namespace as m", "pass"):
        verdict, fn = compare(MODULE.format(value=value, use=use.format(a=LOOKUPS[lookup]), late=late, imports=imports))
        assert verdict.kind == "same", (imports, verdict.text)
        assert fn.stats()["compiles"] <= (6 if "append" in use else 3), fn.stats()["misses"]


STORES = """
class Desc:
    def __init__(self, k): self.k = k
    def __set__(self, o, v): vars(o)['b'] = v * self.k
    def __delete__(self, o): vars(o)['b'] = self.k
class C: {body}
c = C()
cs, h = [c], NS(c=c)
def put(o, v): o.a = v
def drop(o): del o.a
def fn(x):
    {use}
    return x
def turn(i):
    if i in (2, 4):
        with contextlib.suppress(Exception): {late}
"""
BODIES = {
    "property": "a = property(lambda s: 1, lambda s, v: vars(s).update(b=v), lambda s: vars(s).update(b=9))",
    "descriptor": "a = Desc(2)",
    "value": "a = 1",
}
USES = ("c.a = x.shape[0]", "for o in cs: o.a = x.shape[0]", "h.c.a = 4", "setattr(c, 'a', 5)", "put(c, 6)", "c.a += 1",
        "with contextlib.suppress(AttributeError): del c.a", "with contextlib.suppress(AttributeError): drop(c)",
        "object.__setattr__(c, 'a', 4)")
LATE = {
    "a property that cannot be set": "C.a = property(lambda s: 2)",
    "another property": "C.a = property(lambda s: 1, lambda s, v: vars(s).update(b=v + 1), lambda s: vars(s).update(b=8))",
    "another descriptor": "C.a = Desc(3)",
    "a value": "C.a = 5",
}


@pytest.mark.drawn
@pytest.mark.parametrize("late", LATE)
@pytest.mark.parametrize("body", BODIES)
def test_classes_say_how_attributes_are_stored(body, late):
    for use in USES:
        verdict, _ = compare(STORES.format(body=BODIES[body], use=use, late=LATE[late]))
        assert verdict.kind == "same", (use, verdict.text)


METHODS = """
def f(*args): return len(args)
class C:
    a = f
    @classmethod
    def k(*args): return len(args)
    @staticmethod
    def s(*args): return len(args)
    def get(self): return self.a
c = C()
cs = [c]
def run(o, x): return o.a(x)
def fn(x): return {use}
def turn(i):
    if i in (2, 4): {late}
"""
CALLS = ("x * c.a(x)", "x * cs[0].a(x)", "x * run(c, x)", "x * sum(o.a(x) for o in cs)", "x * getattr(c, 'a')(x)",
         "x, c.get() is c.get()", "x * C.a(x)", "x * c.k(x)", "x * c.s(x)")


@pytest.mark.parametrize("late", [
    "c.a = f", "c.__dict__['a'] = f", "c.a = c.a", "C.a = staticmethod(f)", "C.a = classmethod(f)", "C.k = C.k", "C.s = f",
    "C.k = vars(C)['k'].__func__ if i == 2 else C.k", "C.s = classmethod(f)", "C.a = functools.partial(f)", "c.k = f",
    "c.a = types.MethodType(f, C)"])
def test_a_function_is_no_method(late):
    for use in CALLS:
        verdict, fn = compare(METHODS.format(use=use, late=late))
        assert verdict.kind == "same", (use, verdict.text)
        assert fn.stats()["compiles"] <= 3, fn.stats()["misses"]


NUMBERS = """
class B:
    {body}
    def get(self): return self.a
class C(B):
    {body}
c = C()
c.a = 1
cs, ks = [c], [C]
def put(o, v): o.a = v
def fn(x):
    {use}
    return x
def turn(i):
    with contextlib.suppress(Exception): {late}
"""
ASSIGNED = ("C.a = 7; x = x * c.a", "C.a = x.shape[0]; c.a = c.a + 1", "c.a = c.a + 1; C.a = c.a",
            "c.a += 1; C.a = c.a; c.a = x.shape[0]", "c.a += 1; setattr(C, 'a', 5); c.a = x.shape[0]",
            "c.a += 1\n    for k in ks: k.a = 5\n    c.a = 1", "B.a = 7; x = x * c.a; c.a += 1",
            "put(c, c.a + 1); put(C, 3); x = x * c.a; put(c, x.shape[0])", "c.a += 1; C.a = c.a; del c.a; x = x * c.a",
            "C.a = property(lambda s: 3); x = x * c.a", "for o in cs: o.a = x.shape[0]")


@pytest.mark.parametrize("late", [
    "c.a += 1", "c.a = C.a + 1 if hasattr(C, 'a') else 3", "C.a = c.a * 2", "c.a = i; C.a = i + 5"])
@pytest.mark.parametrize("body", ["a = 0", "pass"])
def test_numbers_of_objects_whose_class_gets_the_attribute(body, late):
    for use in ASSIGNED:
        verdict, _ = compare(NUMBERS.format(body=body, use=use, late=late))
        assert verdict.kind == "same", (use, verdict.text)


OTHER_CLASSES = """
class T: k = 1
class T2(T): k = 2
class M(nn.Module): k = 1
class M2(M):
    k = 2
    def forward(self, x): return x * 3
c, m = T(), M()
cs, ms = [c], [m]
def given(a={o}): return a
def put(o, k): o.__class__ = k
def fn(x):
    {use}
    return x
def turn(i):
    {k}2.k = i
    if i % 2: {o}.__class__ = {k}
"""
CHANGES = ("{o}.__class__ = {k}2", "for o in {o}s: o.__class__ = {k}2", "given().__class__ = {k}2", "put({o}, {k}2)",
           "setattr({o}, '__class__', {k}2)", "object.__setattr__({o}, '__class__', {k}2)",
           "for o in {o}s: setattr(o, '__class__', {k}2)", "x = x * {o}.k; given().__class__ = {k}2; x = x * {o}.k",
           "{o}.__class__ = {k}2; x = x * {o}.k; {o}.__class__ = {k}",
           "given().__class__ = {k}2; x = x * {o}.k; given().__class__ = {k}")


@pytest.mark.parametrize("kind", ["c T", "m M"])
@pytest.mark.parametrize("change", CHANGES)
def test_calls_that_change_the_class_of_an_object_run_eagerly(change, kind):
    o, k = kind.split()
    verdict, fn = compare(OTHER_CLASSES.format(use=change.format(o=o, k=k), o=o, k=k))
    assert verdict.kind == "same", verdict.text
    assert fn.stats()["compiles"] == 0


@pytest.mark.parametrize("use", [
    "if x.sum() < 0: c.__class__ = T2", "d = T(); d.__class__ = T2; x = x * d.k", "for d in [T()]: d.__class__ = T2"])
def test_classes_of_own_objects_and_branches_that_are_not_taken(use):
    verdict, fn = compare(OTHER_CLASSES.format(use=use, o="c", k="T"))
    assert verdict.kind == "same", verdict.text
    assert 1 <= fn.stats()["compiles"] <= 2, fn.stats()["misses"]


DELETED = """
class R:
    b = None
    def __init__(self): self.b = 2
class S:
    __slots__ = ('b',)
    def __init__(self): self.b = 2
class M(type):
    @property
    def a(cls): return cls._a
class s(metaclass=M): _a = {kind}()
r, g = {kind}(), 3
def drop(o): del o.b
def fn(x):
    global g
    {use}
    return x
def turn(i):
    global g
    if i > 3: s.a.b = r.b = g = i
"""


@pytest.mark.parametrize("use", [
    "del s.a.b", "del r.b", "drop(s.a)", "drop(r)", "for o in (r, s.a): del o.b", "delattr(s.a, 'b')", "del g",
    "object.__delattr__(s.a, 'b')", "s.a.b = 3; del s.a.b", "with contextlib.suppress(AttributeError): del s.a.b"])
@pytest.mark.parametrize("kind", "RS")
def test_calls_that_delete_an_attribute_run_eagerly(kind, use):
    verdict, _ = compare(DELETED.format(kind=kind, use=use))
    assert verdict.kind == "same", verdict.text


LISTED = """
Pair = namedtuple('Pair', 'first second')
class Made:
    def __init__(self, first, second): self.first = first
    @classmethod
    def of(cls, x): return cls(x, x)
    @staticmethod
    def double(x): return x + x
    @property
    def half(self): return self.first / 2
    table = [1]
class Thing:
    def __init__(self, a): self.a = a
def s(): return s.a
s.a = Thing(1)
def fn(x):
    names = sorted(vars(getattr(s, 'a', 7.0)))
    other = getattr(s(), 'b', 0)
    made = {use}
    return names, other, made[0] if type(made) is Pair else vars(made) if type(made) is Made else made
def turn(i):
    if i == 3: s.a = Thing(2.0)
    if i == 4: {late}
"""


@pytest.mark.parametrize("late", [
    "pass", "Pair._make = classmethod(lambda cls, items: cls(*list(items)[::-1]))", "Made.double = staticmethod(lambda x: x)",
    "Made.of = classmethod(lambda cls, x: cls(x + x, x))", "Made.half = property(lambda self: 7)"])
@pytest.mark.parametrize("use", [
    "Pair(x, x)", "Pair._make([x, x + 1])", "Pair.__new__(Pair, x, 1)", "Pair(x, x)._replace(first=x + 1)",
    "Made(x, x)", "Made.of(x)", "Made.double(x)", "Made(x, x).half"])
def test_methods_of_classes_of_which_code_lists_attributes(use, late):
    verdict, _ = compare(LISTED.format(use=use, late=late))
    assert verdict.kind == "same", verdict.text


NAMESPACE = """
m = sys.modules['fuzzed_namespace'] = types.ModuleType('fuzzed_namespace')
m.k, m.t = 2.0, ingot.ones(3)
def fn(x):
    {imports}
    return {use}
def turn(i):
    if i == 2: m.k = 3.0
    if i == 4: m.t = ingot.arange(3.0)
"""


@pytest.mark.parametrize("imports, name", [
    ("import fuzzed_namespace", "fuzzed_namespace.__dict__"), ("import fuzzed_namespace as n", "n.__dict__"),
    ("from fuzzed_namespace import __dict__ as names", "names"), ("import fuzzed_namespace", "vars(fuzzed_namespace)"),
    ("pass", "m.__dict__")])
@pytest.mark.parametrize("use", ["x * {d}['k']", "x + {d}['t']", "x * {d}.get('k', 7)", "[x for key in {d} if key == 't']"])
def test_modules_are_read_as_dictionaries(imports, name, use):
    verdict, _ = compare(NAMESPACE.format(imports=imports, use=use.format(d=name)))
    assert verdict.kind == "same", verdict.text


LOADED = """
def made(k):
    m = types.ModuleType('fuzzed_loaded')
    m.k, m.parts, m.scaled = k, [k], lambda x: x * k
    return m
key = 'fuzzed_loaded'
sys.modules[key] = made(2.0)
def of(modules, x): return modules[key].k if key in modules else x
def fn(x):
    found = sys.modules
    return {use}
def turn(i):
    if i == 1: sys.modules[key].k = 3.0
    if i == 2: sys.modules[key].parts[0] = 5.0
    if i == 3: sys.modules[key] = made(7.0)
    if i == 4: del sys.modules[key]
    if i == 5: sys.modules[key] = made(8.0)
"""


@pytest.mark.drawn
@pytest.mark.parametrize("use", [
    "x * ('fuzzed_loaded' in sys.modules)", "x * (key in sys.modules)", "sys.modules['fuzzed_loaded'].k * x",
    "sys.modules[key].k * x", "sys.modules[key].parts[0] * x", "sys.modules[key].scaled(x)", "of(sys.modules, x)",
    "getattr(sys.modules.get(key), 'k', 1) * x", "x * len([n for n in list(sys.modules) if n == key])",
    "x * sum([m.k for n, m in list(sys.modules.items()) if n == key])", "found[key].k if key in found else x"])
def test_loaded_modules_are_looked_up_by_name(use):
    verdict, _ = compare(LOADED.format(use=use))
    assert verdict.kind == "same", verdict.text


HIDDEN = """
class C:
    def get(self): return self.a
    def __enter__(self): return self.a
    def __exit__(self, *error): return False
c = C()
def get():
    {get}
def fn(x):
    def put():
        C.a = 1
    {put}
    out = [get()]
    c.a = x
    return x, out
def turn(i):
    C.a = None
"""


@pytest.mark.parametrize("put", ["put()", "C.a = 1", "setattr(C, 'a', 1)"])
@pytest.mark.parametrize("get", ["return c.a", "return c.get()", "with c as a: return a", "return getattr(c, 'a')"])
def test_an_object_gets_an_attribute_that_its_class_has_got(get, put):
    verdict, _ = compare(HIDDEN.format(get=get, put=put))
    assert verdict.kind == "same", verdict.text
