"""Programs about Python state beside tensors: objects that nothing but C code leads to, values that each call makes anew, and
state of the process that functions of libraries read.

Each is a module as in `attacks_broken`, and most of them were wrong once.
"""

from attacks_broken import parsed

_TEXT = r'''
### enum_call
class E(Enum): A = 1; B = 2
E.A.w = 1.0
def fn(x): return x * E(1).w
def turn(i):
    if i == 2: E.A.w = 5.0
### enum_item
class E(Enum): A = 1; B = 2
E.A.w = 1.0
def fn(x): return x * E["A"].w
def turn(i):
    if i == 2: E.A.w = 5.0
### enum_iter
class E(Enum): A = 1; B = 2
E.A.w = 1.0; E.B.w = 2.0
def fn(x):
    for e in E: x = x * e.w
    return x
def turn(i):
    if i == 2: E.B.w = 5.0
### enum_list
class E(Enum): A = 1; B = 2
E.A.w = 1.0; E.B.w = 2.0
def fn(x):
    for e in list(E): x = x * e.w
    return x, [e.w for e in E.__members__.values()], [e.w for e in reversed(E)]
def turn(i):
    if i == 2: E.B.w = 5.0
### enum_attr
class E(Enum): A = 1; B = 2
E.A.w = 1.0
def fn(x): return x * E.A.w
def turn(i):
    if i == 2: E.A.w = 5.0
### enum_write
class E(Enum): A = 1; B = 2
E.A.n = 0
def fn(x): E(1).n += 1; return x
### enum_write_attr
class E(Enum): A = 1; B = 2
E.A.n = 0
def fn(x): E.A.n += 1; return x
### enum_method
class E(Enum):
    A = 1; B = 2
    def scale(self, x): return x * self.w
E.A.w = 1.0; E.B.w = 2.0
def fn(x): return E(1).scale(x) + E["B"].scale(x)
def turn(i):
    if i == 2: E.A.w = 5.0
    if i == 3: E.B.w = 5.0
### enum_value_is_object
class Box:
    def __init__(s, w): s.w = w
class E(Enum): A = Box(1.); B = Box(2.)
def fn(x): return x * sum(e.value.w for e in E) * E["A"].value.w
def turn(i):
    if i == 2: E.A.value.w = 5.0
### enum_value_is_list
class E(Enum): A = [1.]; B = [2.]
def fn(x): return x * E["A"].value[0] * [e for e in E][1].value[0]
def turn(i):
    if i == 2: E.A.value[0] = 5.0
    if i == 4: E.B.value.insert(0, 5.0)
### flag_or
class P(Flag): A = 1; B = 2
P.A.w = 1.; (P.A | P.B).w = 2.
def fn(x): return x * (P.A | P.B).w * [p.w for p in (P.A | P.B) if p is P.A][0]
def turn(i):
    if i == 2: (P.A | P.B).w = 5.
    if i == 3: P.A.w = 5.
### flag_xor
class P(Flag): A = 1; B = 2; C = 3
P.A.w = 1.; P.B.w = 2.
def fn(x): return x * (P.C ^ P.B).w * (~P.A).w
def turn(i):
    if i == 2: P.A.w = 5.
    if i == 3: P.B.w = 7.
### frozen_set
class Box:
    def __init__(s, w): s.w = w
f = frozenset([Box(1.)])
def fn(x):
    for b in f: x = x * b.w
    return x
def turn(i):
    if i == 2: [b] = f; b.w = 5.0
### frozen_set_write
class Box:
    def __init__(s, w): s.w = w
f = frozenset([Box(1.)])
def fn(x):
    for b in f: b.w += 1
    return x
def turn(i):
    if i == 2: [b] = f; b.w = 5.0
### frozen_set_nested
class Box:
    def __init__(s, w): s.w = w
f = {"a": (frozenset([Box(1.)]),)}
def fn(x): return x * sum(b.w for b in f["a"][0]) * next(iter(f["a"][0])).w
def turn(i):
    if i == 2: [b] = f["a"][0]; b.w = 5.0
### frozen_set_attr
class Box:
    def __init__(s, w): s.w = w
class O: pass
o = O(); o.f = frozenset([Box(1.)])
def fn(x): return x * [*o.f][0].w
def turn(i):
    if i == 2: [b] = o.f; b.w = 5.0
    if i == 4: o.f = frozenset([Box(7.)])
### frozen_set_arg
class Box:
    def __init__(s, w): s.w = w
f = frozenset([Box(1.)])
def args(i): return ingot.arange(3.), f
def fn(x, f): return x * [*f][0].w
def turn(i):
    if i == 2: [b] = f; b.w = 5.0
### frozen_set_of_funcs
def a(x): return x * k
k = 1.
f = frozenset([a])
def fn(x):
    for g in f: x = g(x)
    return x
def turn(i):
    global k
    if i == 2: k = 4.
    if i == 4: a.__code__ = (lambda x: x - 1).__code__
### frozen_set_of_tuples
class Box:
    def __init__(s, w): s.w = w
f = frozenset([("a", Box(1.))])
def fn(x): return x * dict(f)["a"].w
def turn(i):
    if i == 2: dict(f)["a"].w = 5.0
### set_of_objects
class Box:
    def __init__(s, w): s.w = w
f = {Box(1.)}
def fn(x): return x * [*f][0].w
def turn(i):
    if i == 2: [b] = f; b.w = 5.0
### dict_keys_objects
class Box:
    def __init__(s, w): s.w = w
f = {Box(1.): 1}
def fn(x): return x * [*f][0].w * list(f.keys())[0].w
def turn(i):
    if i == 2: [b] = f; b.w = 5.0
### mappingproxy
class Box:
    def __init__(s, w): s.w = w
f = types.MappingProxyType({"a": Box(1.)})
def fn(x): return x * f["a"].w
def turn(i):
    if i == 2: f["a"].w = 5.0
### mappingproxy_iter
class Box:
    def __init__(s, w): s.w = w
d = {"a": Box(1.)}
f = types.MappingProxyType(d)
def fn(x): return x * sum(v.w for v in f.values())
def turn(i):
    if i == 2: f["a"].w = 5.0
    if i == 4: d["a"] = Box(9.)
### object_array
class Box:
    def __init__(s, w): s.w = w
f = np.array([Box(1.), Box(2.)])
def fn(x): return x * f[0].w * sum(b.w for b in f)
def turn(i):
    if i == 2: f[0].w = 5.0
    if i == 3: f[1] = Box(3.)
### object_array_write
class Box:
    def __init__(s, w): s.w = w
f = np.array([Box(1.), Box(2.)])
def fn(x): f[0].w += 1; return x
### slice_of_objects
class Box:
    def __init__(s, w): s.w = w
f = slice(Box(1.), None)
def fn(x): return x * f.start.w
def turn(i):
    if i == 2: f.start.w = 5.0
### dict_views
class Box:
    def __init__(s, w): s.w = w
d = {"a": Box(1.)}; f = d.values(); g = d.items()
def fn(x): return x * [*f][0].w * [*g][0][1].w
def turn(i):
    if i == 2: d["a"].w = 5.0
    if i == 3: d["a"] = Box(7.)
### chainmap
class Box:
    def __init__(s, w): s.w = w
f = ChainMap({"a": Box(1.)}, {"b": Box(2.)})
def fn(x): return x * f["a"].w * f["b"].w
def turn(i):
    if i == 2: f["a"].w = 5.0
    if i == 3: f["b"].w = 5.0
### cell
class Box:
    def __init__(s, w): s.w = w
f = types.CellType(Box(1.))
def fn(x): return x * f.cell_contents.w
def turn(i):
    if i == 2: f.cell_contents.w = 5.0
### lru_result
class Box:
    def __init__(s, w): s.w = w
@functools.lru_cache
def get(k): return Box(1.)
get(1)
def fn(x): return x * get(1).w
def turn(i):
    if i == 2: get(1).w = 5.0
### partial_obj
class Box:
    def __init__(s, w): s.w = w
f = functools.partial(lambda b, x: x * b.w, Box(1.))
def fn(x): return f(x)
def turn(i):
    if i == 2: f.args[0].w = 5.0
### getter
class Box:
    def __init__(s, w): s.w = w
b = [Box(1.), Box(2.)]
g = operator.itemgetter(0); h = operator.attrgetter("w")
def fn(x): return x * h(g(b))
def turn(i):
    if i == 2: b[0].w = 5.0
### exc_args
class Box:
    def __init__(s, w): s.w = w
e = ValueError(Box(1.))
def fn(x): return x * e.args[0].w
def turn(i):
    if i == 2: e.args[0].w = 5.0
### exc_attr
e = ValueError("a"); e.w = 1.0
def fn(x): return x * e.w
def turn(i):
    if i == 2: e.w = 5.0
### exc_cause
class Err(Exception): pass
e = ValueError("a"); e.__cause__ = Err("b"); e.__cause__.w = 1.0
def fn(x): return x * e.__cause__.w
def turn(i):
    if i == 2: e.__cause__.w = 5.0
### method_self
class Box:
    def __init__(s, w): s.w = w
    def get(s): return s.w
m = frozenset([Box(1.).get])
def fn(x): return x * [*m][0]()
def turn(i):
    if i == 2: [*m][0].__self__.w = 5.0
### property_object
class Box:
    def __init__(s, w): s.w = w
class A:
    p = property(lambda s: 1)
A.p.fget.w = 1.0
def fn(x): return x * A.p.fget.w
def turn(i):
    if i == 2: A.p.fget.w = 5.0
### weakset
class Box:
    def __init__(s, w): s.w = w
b = Box(1.)
f = weakref.WeakSet([b])
def fn(x): return x * [*f][0].w
def turn(i):
    if i == 2: b.w = 5.0
### structseq
class Box:
    def __init__(s, w): s.w = w
f = time.struct_time((Box(1.), 2, 3, 4, 5, 6, 7, 8, 9))
def fn(x): return x * f.tm_year.w * f[0].w
def turn(i):
    if i == 2: f[0].w = 5.0
### generic_alias
class Box: w = 1.0
f = list[Box]
def fn(x): return x * f.__args__[0].w * typing.get_args(f)[0].w
def turn(i):
    if i == 2: Box.w = 5.0
### union
class Box: w = 1.0
f = Box | None; g = Optional[Box]
def fn(x): return x * f.__args__[0].w * typing.get_args(g)[0].w
def turn(i):
    if i == 2: Box.w = 5.0
### annot
class Box: w = 1.0
b = Box()
f = Annotated[int, b]
def fn(x): return x * f.__metadata__[0].w
def turn(i):
    if i == 2: b.w = 5.0
### token
class Box:
    def __init__(s, w): s.w = w
v = contextvars.ContextVar("v", default=Box(1.)); t = v.set(Box(2.))
v.set(Box(3.))
def fn(x): return x * v.get().w
def turn(i):
    if i == 2: v.get().w = 5.0
### fs_in_closure
class Box:
    def __init__(s, w): s.w = w
def make():
    f = frozenset([Box(1.)])
    def g(x): return x * [*f][0].w
    return g, f
fn, s = make()
def turn(i):
    if i == 2: [*s][0].w = 5.0
### range_subs
r = range(3)
def fn(x): return x * sum(r)
def turn(i):
    global r
    if i == 2: r = range(4)
### object_array_circle
f = np.empty(2, object); f[0] = f; f[1] = 1.0
def fn(x): return x * f[1]
def turn(i):
    if i == 3: f[1] = 4.0
### object_array_lists
f = np.empty(2, object); f[0] = [1.0]; f[1] = {"a": 2.0}
def fn(x): return x * f[0][0] * f[1]["a"]
def turn(i):
    if i == 2: f[0][0] = 4.0
    if i == 3: f[1]["a"] = 4.0
### object_array_write_item
f = np.empty(2, object); f[0] = [1.0]; f[1] = {"a": 2.0}
def fn(x): f[0] = 5; return x
### object_array_write_list
f = np.empty(2, object); f[0] = [1.0]; f[1] = {"a": 2.0}
def fn(x): f[0].append(1.); return x
### struct_array
f = np.zeros(2, [("a", "f4"), ("o", object)]); f["o"][0] = 2.0
def fn(x): return x * f["o"][0]
def turn(i):
    if i == 2: f["o"][0] = 4.0
### sub_outside
class S(str): pass
s = S("a"); d = {"k": s}; l = [s]
def fn(x): return x, s, d["k"], l[0], [*l], (s,)
def turn(i):
    if i == 2: s.n = 1
### sub_outside_attr_in_list
class S(str): pass
l = [S("a")]; l[0].n = 1.
def fn(x):
    for s in l: x = x * s.n
    return x
def turn(i):
    if i == 2: l[0].n = 5.
### sub_outside_write
class S(str): pass
l = [S("a")]; l[0].n = 1.
def fn(x):
    for s in l: s.n += 1
    return x
def turn(i):
    if i == 3: l[0] = S("a"); l[0].n = 1.
    if i == 5: l[0].n = 10.
### sub_replaced_equal
class S(str): pass
s = S("a"); s.n = 1.
def fn(x): s.n += 1; return x
def turn(i):
    global s
    if i == 3: s = S("a"); s.n = 3.
'''

PROGRAMS = parsed(_TEXT)

# Programs that raise `TraceError`.
REFUSED = frozenset((
    "annot", "object_array_write_item", "object_array_write_list", "struct_array", "union",))
