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
### ret_slice
a = np.arange(4.)
def fn(x): return x, a[1:]
def turn(i):
    if i == 3: a[2] = 9.
### ret_T
a = np.arange(6.).reshape(2, 3)
def fn(x): return x, a.T
### ret_row
a = np.arange(6.).reshape(2, 3)
def fn(x): return x, a[0], a[:, 1], a[..., None], a[::-1], a[1, 2], a[()]
### ret_reshape
a = np.arange(6.).reshape(2, 3)
def fn(x): return x, a.reshape(3, 2), a.ravel(), a.view(), a.view("i8"), a.flatten(), a.copy(), a.squeeze(), a.swapaxes(0, 1)
### ret_np_funcs
a = np.arange(6.).reshape(2, 3)
def fn(x): return x, np.transpose(a), np.reshape(a, 6), np.atleast_3d(a), np.broadcast_to(a, (2, 2, 3)), np.asarray(a), np.squeeze(a), np.split(a, 3, 1), np.diagonal(a), np.real(a)
### keep_list
a = np.arange(4.); keep = []
def fn(x): keep.append(a[1:]); return x
def turn(i):
    if i == 3: keep[0][0] = 7.
### keep_attr
class O: pass
o = O(); o.v = None
a = np.arange(4.)
def fn(x): o.v = a[1:]; return x
def turn(i):
    if i == 3: o.v[0] = 7.
### keep_dict
a = np.arange(4.); d = {}
def fn(x): d["v"] = a[::2]; return x
### arg_view
def args(i): return ingot.arange(3.), np.arange(4.) + i
def fn(x, a): return x, a[1:], a
### arg_view_alone
def args(i): return ingot.arange(3.), np.arange(4.) + i
def fn(x, a): return x, a[1:]
### view_of_view
b = np.arange(8.); a = b[2:6]
def fn(x): return x, a[1:], b[1:]
### view_of_bytearray
b = bytearray(range(8))
def fn(x): return x, np.frombuffer(b, np.uint8), np.frombuffer(b, np.uint8)[2:]
### view_of_array
b = array.array("d", [1., 2., 3.])
def fn(x): return x, np.frombuffer(b)
### fresh_array
def fn(x): return x, np.arange(4.), np.zeros((2, 3)).T
### fresh_shared
def fn(x):
    a = np.arange(4.)
    return x, a, a[1:], a[::-1]
### fresh_order
def fn(x): return x, np.zeros((2, 3), order="F"), np.arange(6.).reshape(2, 3).T, np.broadcast_to(np.arange(3.), (2, 3))
### fresh_readonly
def fn(x):
    a = np.arange(4.); a.flags.writeable = False
    return x, a
### np_of_tensor_view
def fn(x): return x.numpy()[1:], x * 2
### memoryview_outside
b = bytearray(range(8))
def fn(x): return x, memoryview(b), memoryview(b)[2:]
### memoryview_fresh
def fn(x): return x, memoryview(bytearray(b"abc"))
### memoryview_keep
keep = []
b = bytearray(range(8))
def fn(x): keep.append(memoryview(b)); return x
### masked
a = np.ma.array([1., 2.], mask=[0, 1])
def fn(x): return x, a[1:], a
### recarray
def fn(x): return x, np.rec.array([(1, 2.)], dtype=[("a", int), ("b", float)])
### matrix
def fn(x): return x, np.matrix([[1., 2.]])
### subclass_array
class A(np.ndarray): pass
a = np.arange(4.).view(A)
def fn(x): return x, a[1:], a
### subclass_array_fresh
class A(np.ndarray): pass
def fn(x):
    a = np.arange(4.).view(A); a.tag = [1]
    return x, a
### object_array_fresh
def fn(x): return x, np.array([[1], {}], dtype=object)
### object_array_with_tensor
def fn(x):
    a = np.empty(2, object); a[0] = x * 2; a[1] = [x]
    return a
### struct_fresh
def fn(x): return x, np.zeros(2, [("a", "f4")])
### np_void
def fn(x): return x, np.zeros(2, [("a", "f4")])[0]
### np_scalar
def fn(x): return x, np.float32(2), np.datetime64("2020-01-01"), np.str_("a"), np.bool_(1)
### view_in_tuple_keep
a = np.arange(4.); keep = [None]
def fn(x): keep[0] = (a[1:], a); return x
### view_written_later
a = np.arange(4.)
def fn(x): v = a[1:]; v += 1; return x * float(a[1]), v
### out_view
a = np.arange(4.)
def fn(x): return x, np.add(a[1:], 1, out=a[1:])
### flat
a = np.arange(6.).reshape(2,3)
def fn(x): return x, a.flat[2:4], a.real, a.imag
### complex_parts
a = np.arange(6.) + 1j
def fn(x): return x, a.real, a.imag
### lib_array
def fn(x): return x, math.__dict__["pi"], np.pi, np.eye(2)
### dict_of_views
w = {"a": np.arange(3.), "b": np.arange(4.)}
def fn(x): return x, {k: v[1:] for k, v in w.items()}
def turn(i):
    if i == 3: w["a"][1] = 8.
### list_batches
data = np.arange(12.).reshape(6, 2)
def fn(x, i=0): return x, [data[k:k+2] for k in range(0, 6, 2)]
### cached_window
class Win:
    def __init__(s): s.buf = np.zeros(4); s.view = None
    def last(s): s.view = s.buf[-2:]; return s.view
w = Win()
def fn(x): return x * w.last().sum(), w.view
def turn(i): w.buf[i % 4] = i
### bytearray_sub
class B(bytearray): pass
def fn(x): b = B(b"abc"); b.tag = 1; return x, b
### bytearray_sub_keep
class B(bytearray): pass
keep = []
def fn(x): keep.append(B(b"abc")); return x
### array_sub
class A(array.array): pass
def fn(x): return x, A("d", [1., 2.])
### array_sub_tag
class A(array.array):
    def __new__(cls, v): s = array.array.__new__(cls, "d", v); s.tag = [v]; return s
def fn(x): a = A([1., 2.]); return x, a, (a,), {"a": a}
### frozen_obj
class O: pass
def fn(x): return x, frozenset([O()])
### frozen_obj_val
class O:
    def __init__(s, k): s.k = k
    def __hash__(s): return hash(s.k)
    def __eq__(s, o): return s.k == o.k
def fn(x): return x, frozenset([O(1), O(2)])
### frozen_tuple_obj
class O: pass
def fn(x): return x, frozenset([("a", O())])
### frozen_tensor
def fn(x): return frozenset([x * 2])
### set_obj
class O: pass
def fn(x): return x, {O()}
### set_obj_keep
class O: pass
keep = []
def fn(x): keep.append({O()}); return x
### str_sub
class S(str): pass
def fn(x): return x, S("a")
### str_sub_attr
class S(str): pass
def fn(x): s = S("a"); s.n = float(x.sum()); return x, s
### str_sub_twice
class S(str): pass
def fn(x): s = S("a"); return s, [s], (s,), {"k": s}
### str_sub_recursive
class S(str): pass
def fn(x): s = S("a"); s.me = s; s.l = [s]; return s
### int_sub
class I(int):
    def __new__(cls, v, w): s = int.__new__(cls, v); s.w = w; return s
def fn(x): return x, I(3, 2.), [I(4, x)]
### float_sub
class I(float):
    def __float__(s): return 7.
def fn(x): return x, I(-0.0), I(2.5)
### bytes_sub
class I(bytes):
    def __getitem__(s, i): return 7
def fn(x): return x, I(b"abc")
### complex_sub
class I(complex): pass
def fn(x): return x, I(1j)
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
### sub_key
class S(str): pass
def fn(x): return {S("a"): x}
### sub_key_outside
class S(str): pass
k = S("a")
def fn(x): return {k: x}
### decimal_sub
class D(Decimal): pass
def fn(x): return x, D("1.5")
### frac_sub
class D(Fraction): pass
def fn(x): return x, D("1/5")
### date_sub
class D(datetime.date): pass
def fn(x): d = D(2020, 1, 1); d.a = 1; return x, d
### path_sub
class D(pathlib.PurePosixPath): pass
def fn(x): return x, D("a"), pathlib.PurePosixPath("b")
### tuple_sub
class T(tuple): pass
def fn(x): t = T((1, [2])); t.a = 3; return x, t, T((1,))
### frozenset_sub
class T(frozenset): pass
def fn(x): return x, T((1,))
### npf_sub
class T(np.float64): pass
def fn(x): return x, T(1.)
### enum_member
class E(Enum): A = 1
class IE(IntEnum): A = 1
class SE(str, Enum): A = "a"
class FE(Flag): A = 1; B = 2
def fn(x): return x, E.A, IE.A, SE.A, FE.A | FE.B, [IE.A], {"a": SE.A}, frozenset([E.A, IE.A])
### int_enum_keys
class IE(IntEnum): A = 1; B = 2
d = {IE.A: 1., IE.B: 3.}
def fn(x): return x * d[IE.A] * d[2], {IE.A: x}
def turn(i):
    if i == 2: d[IE.A] = 5.
### exception
def fn(x): return x, ValueError("a", 1)
### exception_keep
keep = []
def fn(x):
    try: raise KeyError("a")
    except KeyError as e: keep.append(e)
    return x
### simple_ns
def fn(x): return x, types.SimpleNamespace(a=1, b=[2])
### match
def fn(x): return x, re.match("a", "ab")
### pattern
def fn(x): return x, re.compile("a")
### partial
def fn(x): return x, functools.partial(int, "1")
### stringio
def fn(x): return x, io.StringIO("a")
### bytesio
def fn(x): return x, io.BytesIO(b"a")
### iter_
def fn(x): return x, iter([1, 2])
### zip_
def fn(x): return x, zip([1], [2])
### gen
def fn(x): return x, (i for i in [1])
### proxy
def fn(x): return x, types.MappingProxyType({"a": 1})
### keysview
def fn(x): return x, {"a": 1}.keys()
### itemsview
def fn(x): return x, {"a": 1}.items()
### valuesview
def fn(x): return x, {"a": 1}.values()
### chainmap_made
def fn(x): return x, ChainMap({"a": 1}, {"b": [2]})
### userdict
def fn(x): return x, UserDict(a=1), UserList([1]), collections.UserString("a")
### counter
def fn(x): return x, Counter("aab"), OrderedDict(a=1), defaultdict(list, a=[1])
### lock
def fn(x): return x, threading.Lock()
### event
def fn(x): return x, threading.Event()
### rnd
def fn(x): return x, random.Random(1)
### rng
def fn(x): return x, np.random.default_rng(1)
### obj
def fn(x): return x, object()
### cell_made
def fn(x): return x, types.CellType(1)
### weak
class O: pass
o = O()
def fn(x): return x, weakref.ref(o), weakref.proxy(o)
### weakset_made
class O: pass
o = O()
def fn(x): return x, weakref.WeakSet([o])
### ctxvar
def fn(x): return x, contextvars.ContextVar("a")
### ctx
def fn(x): return x, contextvars.copy_context()
### prop
def fn(x): return x, property(int), staticmethod(int), classmethod(int)
### module_
def fn(x): return x, types.ModuleType("a")
### class_
def fn(x):
    class A: pass
    return x, A
### nt_class
def fn(x): return x, collections.namedtuple("A", "a b")
### func
def fn(x): return x, lambda: 1
### meth
class O:
    def m(s): return 1
def fn(x): return x, O().m
### slice_obj
class O: pass
def fn(x): return x, slice(O(), None), slice([1], 2)
### range_
def fn(x): return x, range(3), Ellipsis, NotImplemented
### struct_
def fn(x): return x, struct.Struct("i")
### strtemplate
def fn(x): return x, string.Template("$a")
### logger
def fn(x): return x, logging.getLogger("a")
### logrecord
def fn(x): return x, logging.makeLogRecord({"a": 1})
### ns
def fn(x): return x, argparse.Namespace(a=[1])
### thread_local
def fn(x): return x, threading.local()
### ctypes_
def fn(x): import ctypes; return x, ctypes.c_int(3)
### ctypes_struct
import ctypes
class P(ctypes.Structure): _fields_ = [("a", ctypes.c_int)]
def fn(x): return x, P(3)
### ctypes_array
import ctypes
def fn(x): return x, (ctypes.c_int * 3)(1, 2, 3)
### heap
def fn(x): h = []; heapq.heappush(h, (1, [2])); return x, h
### np_poly
def fn(x): return x, np.poly1d([1, 2])
### np_finfo
def fn(x): return x, np.finfo(np.float32)
### np_nditer
def fn(x): return x, np.nditer(np.arange(3))
### np_void_made
def fn(x): return x, np.zeros(2, [("a", "f4")])[0]
### np_ufunc
def fn(x): return x, np.add, np.vectorize(abs)
### abc_inst
class A(abc.ABC):
    def __init__(s): s.a = [1]
def fn(x): return x, A()
### slots_inst
class A:
    __slots__ = ("a", "b")
    def __init__(s): s.a = [1]
def fn(x): return x, A()
### getattr_inst
class A:
    def __init__(s): s.__dict__["q"] = 1
    def __getattr__(s, n): return 5
def fn(x): a = A(); a.w = x; return a
### hash_inst
class A:
    def __init__(s, k): s.k = k
    def __hash__(s): return 1
    def __eq__(s, o): return True
def fn(x): return x, A([1]), (A(2),), {"a": A(3)}
### dc_frozen
@dataclass(frozen=True)
class A: a: int; b: object
def fn(x): return x, A(1, 2), A(1, [2]), (A(1, 2),)
### dc_frozen_keep
@dataclass(frozen=True)
class A: a: int; b: object
keep = []
def fn(x): keep.append(A(1, 2)); return x
### dc_slots
@dataclass(slots=True)
class A: a: int; b: object
def fn(x): return x, A(1, [2])
### dc_frozen_slots
@dataclass(frozen=True, slots=True)
class A: a: int; b: object
def fn(x): return x, A(1, 2)
### nt_inst
class N(NamedTuple): a: int; b: list
def fn(x): return x, N(1, [2])
### tuple_of_list
def fn(x): return x, (1, [2], ([3],))
### typed_dict
class T(TypedDict): a: int
def fn(x): return x, T(a=1)
### deque_sub
class D(deque): pass
def fn(x): d = D([1], 3); d.a = 2; return x, d
### ordered_sub
class D(OrderedDict): pass
def fn(x): d = D(a=1); d.q = 2; return x, d
### defaultdict_sub
class D(defaultdict): pass
def fn(x): d = D(list); d["a"].append(1); return x, d
### counter_sub
class D(Counter): pass
def fn(x): d = D("ab"); return x, d
### set_sub
class D(set): pass
def fn(x): d = D("ab"); d.a = 1; return x, d
### bytearray_
keep = []
def fn(x): b = bytearray(b"a"); keep.append(b); return x, b, [b], array.array("i", [1])
### set_tensor
def fn(x): return {x * 2}, frozenset([x + 1]), {(1, x)}
### set_tuple_obj
class O: pass
def fn(x): return x, {(1, O())}
### set_keep_sym
keep = set()
class O: pass
def fn(x): keep.add(O()); return x
### set_frozen_plain
def fn(x): return x, {1, 2, "a"}, frozenset([1, (2, "b")])
### modules_in
def fn(x): return x, math, np, sys.modules["os"]
### copyreg_pickle
class A: pass
a = A()
copyreg.pickle(A, lambda a: (A, ()))
def fn(x): return x, len(pickle.dumps((1, "a"))), type(copy.copy(a)).__name__
def turn(i):
    if i == 3: copyreg.pickle(A, lambda a: (str, ("z",)))
### copy_registry
class A:
    def __init__(s): s.k = 1
a = A()
def fn(x): return x * copy.copy(a).k
def turn(i):
    if i == 3:
        def red(a): b = A(); b.k = 7; return (lambda: b), ()
        copyreg.pickle(A, red)
### deepcopy_registry
class A:
    def __init__(s): s.k = 1
a = [A()]
def fn(x): return x * copy.deepcopy(a)[0].k
def turn(i):
    if i == 3:
        def red(a): b = A(); b.k = 7; return (lambda: b), ()
        copyreg.pickle(A, red)
### copy_hook
class A:
    def __init__(s): s.k = 1
a = A()
def fn(x): return x * copy.copy(a).k
def turn(i):
    if i == 3: A.__copy__ = lambda s: types.SimpleNamespace(k=9)
### csv_dialect
csv.register_dialect("mine", delimiter=";")
def fn(x): return x, next(csv.reader(["a;b,c"], "mine"))
def turn(i):
    if i == 3: csv.register_dialect("mine", delimiter=",")
### csv_writer
csv.register_dialect("mine", delimiter=";")
def fn(x): f = io.StringIO(); csv.writer(f, "mine").writerow([1, 2]); return x, f.getvalue()
def turn(i):
    if i == 3: csv.register_dialect("mine", delimiter=",")
### csv_field_size
def fn(x):
    try: return x, next(csv.reader(["abcdef"]))
    except csv.Error: return x, "error"
def turn(i):
    if i == 3: csv.field_size_limit(3)
    if i == 5: csv.field_size_limit(131072)
### csv_dictreader
csv.register_dialect("mine", delimiter=";")
def fn(x): return x, next(csv.DictReader(["a;b", "1;2"], dialect="mine"))
def turn(i):
    if i == 3: csv.register_dialect("mine", delimiter=",")
### codecs_error
codecs.register_error("mine", lambda e: ("?", e.end))
def fn(x): return x, "aé".encode("ascii", "mine")
def turn(i):
    if i == 3: codecs.register_error("mine", lambda e: ("!", e.end))
### codecs_error_bytes
codecs.register_error("mine", lambda e: ("?", e.end))
def fn(x): return x, b"\xff".decode("utf-8", errors="mine"), str(b"\xff", "utf-8", "mine")
def turn(i):
    if i == 3: codecs.register_error("mine", lambda e: ("!", e.end))
### codecs_encode
codecs.register_error("mine", lambda e: ("?", e.end))
def fn(x): return x, codecs.encode("aé", "ascii", "mine"), bytes("aé", "ascii", "mine")
def turn(i):
    if i == 3: codecs.register_error("mine", lambda e: ("!", e.end))
### np_seterr_arith
a = np.array([1., 0.])
def fn(x):
    try: return x, 1 / a
    except FloatingPointError: return x, "error"
def turn(i):
    np.seterr(divide="raise" if i >= 3 else "ignore")
    if i == 6: np.seterr(all="warn")
### np_seterr_log
a = np.array([1., 0.])
def fn(x):
    try: return x, np.log(a).tolist()
    except FloatingPointError: return x, "error"
def turn(i):
    np.seterr(divide="raise" if i >= 3 else "ignore")
### np_errstate
a = np.array([1., 0.])
def fn(x):
    with np.errstate(divide="raise"):
        try: return x, np.log(a).tolist()
        except FloatingPointError: return x, "error"
### np_seterr_scalar
z = np.float64(0)
def fn(x):
    try: return x, float(np.float64(1) / z)
    except FloatingPointError: return x, "error"
def turn(i): np.seterr(divide="raise" if i >= 3 else "ignore")
### np_seterr_method
a = np.array([1e308, 1e308])
def fn(x):
    try: return x, a.sum(), a.prod(), (a * a).tolist()
    except FloatingPointError: return x, "error"
def turn(i): np.seterr(over="raise" if i >= 3 else "ignore")
### np_seterr_inplace
def fn(x):
    b = np.array([1., 0.])
    try: b /= 0; return x, b
    except FloatingPointError: return x, "error"
def turn(i): np.seterr(all="raise" if i >= 3 else "ignore")
### np_seterr_of_a_tensor
def args(i): return (ingot.ones(3),)
def fn(x):
    try: return ingot.from_numpy(x.detach().numpy() / 0)
    except FloatingPointError: return "error"
def turn(i): np.seterr(divide="raise" if i in (3, 5) else "ignore")
### np_seterr_asarray
def args(i): return (ingot.ones(3),)
def fn(x):
    a = np.asarray(x.detach())
    try: a = a * 1e38 * 1e38
    except FloatingPointError: return "error"
    return x + float(a.min() > 1)
def turn(i): np.seterr(over="raise" if i in (1, 5) else "ignore")
### np_errstate_in_part
def args(i): return (ingot.ones(3),)
def fn(x):
    with np.errstate(invalid="raise"):
        try: return ingot.from_numpy(x.detach().numpy() / 0)
        except FloatingPointError: return "error"
def turn(i): np.seterr(divide="raise" if i in (3, 5) else "ignore")
### np_print
a = np.array([1.23456789])
def fn(x): return x, str(a), repr(a), f"{a}", np.array2string(a), np.array_str(a)
def turn(i):
    np.set_printoptions(precision=3 if i >= 3 else 8)
### np_print_legacy
a = np.float64(1.5)
def fn(x): return x, str(a), repr(a), f"{a!r}", [a].__repr__()
def turn(i):
    np.set_printoptions(legacy="1.25" if i >= 3 else False)
### np_print_nested
a = [np.array([1.23456789])]; d = {"a": np.float32(1.2345678)}
def fn(x): return x, str(a), f"{a}", repr(d), "%s" % a, "{}".format(d)
def turn(i):
    np.set_printoptions(precision=3 if i >= 3 else 8, legacy="1.25" if i == 4 else False)
### hints
class A: k: int
def fn(x): return x, typing.get_type_hints(A)
def turn(i):
    if i == 3: A.__annotations__["k"] = float
    if i == 5: A.__annotations__["z"] = "int"
### hints_names
class A: k: "B"
class B: pass
def fn(x): return x, typing.get_type_hints(A)["k"].__name__
def turn(i):
    global B
    if i == 3:
        class C: pass
        B = C
### hints_fn
def g(a: int) -> "B": pass
B = int
def fn(x): return x, typing.get_type_hints(g)["return"].__name__, g.__annotations__["a"].__name__
def turn(i):
    global B
    if i == 3: B = float
    if i == 4: g.__annotations__["a"] = str
### hints_base
class P: k: int
class A(P): pass
def fn(x): return x, sorted(typing.get_type_hints(A).items(), key=str)
def turn(i):
    if i == 3: P.__annotations__["k"] = float
### signature
import inspect
def g(a, b=1): pass
def fn(x): return x, str(inspect.signature(g)), len(inspect.signature(g).parameters)
def turn(i):
    if i == 3: g.__defaults__ = (2,)
    if i == 4: g.__signature__ = inspect.Signature()
    if i == 5: del g.__signature__
### signature_class
import inspect
class A:
    def __init__(s, a): pass
a = A(1)
def fn(x): return x, str(inspect.signature(A))
def turn(i):
    if i == 3: A.__init__ = lambda s, b, c: None
    if i == 4: A.__signature__ = inspect.Signature()
### signature_wrapped
import inspect
def h(a): pass
def k(q): pass
@functools.wraps(h)
def g(*a): pass
def fn(x): return x, str(inspect.signature(g))
def turn(i):
    if i == 3: g.__wrapped__ = k
    if i == 5: del g.__wrapped__
### signature_callable
import inspect
class A:
    def __call__(s, a): pass
a = A()
def fn(x): return x, str(inspect.signature(a))
def turn(i):
    if i == 3: A.__call__ = lambda s, b, c: None
### doc
import inspect
def g():
    "one"
def fn(x): return x, inspect.getdoc(g), g.__doc__
def turn(i):
    if i == 3: g.__doc__ = "two"
### getdoc_inherit
import inspect
class P:
    def m(s): "one"
class A(P):
    def m(s): pass
def fn(x): return x, inspect.getdoc(A.m)
def turn(i):
    if i == 3: P.m.__doc__ = "two"
### getmembers
import inspect
class A: k = 1
a = A()
def fn(x): return x, [n for n, v in inspect.getmembers(a) if n[0] != "_"], inspect.isfunction(a), inspect.getmro(A)[0].__name__
def turn(i):
    if i == 3: a.z = 1
### ismethod
import inspect
class A:
    def m(s): pass
def fn(x): return x, [n for n, v in inspect.getmembers(A, inspect.isfunction)]
def turn(i):
    if i == 3: A.q = lambda s: 1
### getcallargs
import inspect
def g(a, b=1): pass
def fn(x): return x, inspect.getcallargs(g, 1), inspect.getfullargspec(g).args
def turn(i):
    if i == 3: g.__code__ = (lambda q, b: 0).__code__
    if i == 4: g.__defaults__ = (4,)
### pickle_loads
class A:
    k = 1
def fn(x): return x, pickle.loads(_d).name
class B:
    def __init__(s): s.name = "n"
B.__module__ = __name__
_d = pickle.dumps(B())
def turn(i):
    global B
    if i == 3:
        class B:
            def __setstate__(s, st): s.name = "other"
        B.__qualname__ = "B"
### pickle_setstate
class B:
    def __init__(s): s.name = "n"
_d = pickle.dumps(B())
def fn(x): return x, pickle.loads(_d).name
def turn(i):
    if i == 3: B.__setstate__ = lambda s, st: s.__dict__.update(name="q")
### pickle_dumps
class B:
    def __init__(s): s.name = "n"
b = B()
def fn(x): return x, len(pickle.dumps(b))
def turn(i):
    if i == 3: b.name = "nnnnn"
    if i == 4: B.__getstate__ = lambda s: {"a": 1}
    if i == 5: B.__reduce__ = lambda s: (str, ("a",))
### locale_strcoll
def fn(x): return x, locale.strcoll("a", "B") > 0, locale.strxfrm("a"), locale.localeconv()["decimal_point"]
def turn(i):
    try: locale.setlocale(locale.LC_ALL, ("C", "C.UTF-8")[i % 2])
    except locale.Error: pass
### strftime_
def fn(x): return x, time.strftime("%A", (2020, 1, 1, 0, 0, 0, 2, 1, 0)), datetime.date(2020, 1, 1).strftime("%c")
def turn(i):
    os.environ["TZ"] = ("UTC", "Europe/Berlin")[i % 2]; time.tzset()
### tz_
def fn(x): return x, datetime.datetime.fromtimestamp(0).hour, time.localtime(0).tm_hour, time.mktime((1970, 1, 2, 0, 0, 0, 0, 0, 0)), time.ctime(0), datetime.datetime(2020, 1, 1).astimezone().isoformat(), datetime.datetime(2020, 1, 1).timestamp()
def turn(i):
    os.environ["TZ"] = ("UTC", "Europe/Berlin")[i % 2]; time.tzset()
### tz_names
def fn(x): return x, time.timezone, time.tzname, time.strftime("%Z", time.localtime(0))
def turn(i):
    os.environ["TZ"] = ("UTC", "Europe/Berlin")[i % 2]; time.tzset()
### tz_method
d = datetime.datetime(2020, 1, 1)
def fn(x): return x, d.timestamp(), d.astimezone().isoformat(), datetime.date.fromtimestamp(82800).day
def turn(i):
    os.environ["TZ"] = ("UTC", "Europe/Berlin")[i % 2]; time.tzset()
### int_digits
def big(): return 10 ** 700
def fn(x):
    try: return x, len(str(big()))
    except ValueError: return x, "error"
def turn(i): sys.set_int_max_str_digits(640 if i >= 3 else 4300)
### int_digits_fstring
def big(): return 10 ** 700
def fn(x):
    try: return x, len(f"{big()}")
    except ValueError: return x, "error"
def turn(i): sys.set_int_max_str_digits(640 if i >= 3 else 4300)
### int_digits_parse
s = "1" * 700
def fn(x):
    try: return x, int(s) % 10
    except ValueError: return x, "error"
def turn(i): sys.set_int_max_str_digits(640 if i >= 3 else 4300)
### int_digits_json
s = "1" * 700
def fn(x):
    try: return x, json.loads(s) % 10
    except ValueError: return x, "error"
def turn(i): sys.set_int_max_str_digits(640 if i >= 3 else 4300)
### int_digits_percent
def big(): return 10 ** 700
def fn(x):
    try: return x, len("%d" % big()), len("{}".format(big())), len(repr([big()]))
    except ValueError: return x, "error"
def turn(i): sys.set_int_max_str_digits(640 if i >= 3 else 4300)
### recursion_limit
def f(n): return 0 if n == 0 else 1 + f(n - 1)
def fn(x):
    try: return x, f(300)
    except RecursionError: return x, "error"
old = sys.getrecursionlimit()
def turn(i): sys.setrecursionlimit(250 if i == 3 else old) if False else None
### decimal_traps
def fn(x):
    try: return x, str(Decimal(1) / Decimal(0))
    except decimal.DivisionByZero: return x, "error"
def turn(i): decimal.getcontext().traps[decimal.DivisionByZero] = i < 3
### decimal_traps_fraction
d = Decimal(10)
def fn(x):
    return x, str(d / 3), str(round(d / 7, 3)), str(d.sqrt()), f"{d / 3}", str(sum([d / 3, d / 7]))
def turn(i): decimal.getcontext().prec = 5 if i >= 3 else 28
### decimal_rounding
d = Decimal("2.5")
def fn(x): return x, str(d.quantize(Decimal(1))), str(round(d)), f"{d:.0f}", str(d.to_integral_value())
def turn(i): decimal.getcontext().rounding = "ROUND_UP" if i >= 3 else "ROUND_HALF_EVEN"
### decimal_statistics
v = [Decimal("1.1"), Decimal("2.2")]
def fn(x): return x, str(statistics.mean(v)), str(sum(v) / 3), str(statistics.stdev(v))
def turn(i): decimal.getcontext().prec = 5 if i >= 3 else 28
### decimal_flags
def fn(x): Decimal(1) / Decimal(3); return x, decimal.getcontext().flags[decimal.Inexact]
def turn(i): decimal.getcontext().clear_flags()
### decimal_local
def fn(x):
    with decimal.localcontext() as c:
        c.prec = 4
        return x, str(Decimal(1) / 3)
### decimal_default
def fn(x): return x, str(decimal.Context().create_decimal("1.23456789"))
def turn(i): decimal.DefaultContext.prec = 5 if i == 3 else 28
### warn_filters
import warnings as w
def g(): w.warn("a", UserWarning); return 1
def fn(x):
    try: return x, g()
    except UserWarning: return x, "error"
def turn(i): w.simplefilter("error" if i >= 3 else "ignore")
### warn_numpy
a = np.array([])
def fn(x):
    try: return x, str(a.mean())
    except RuntimeWarning: return x, "error"
def turn(i): warnings.simplefilter("error" if i >= 3 else "ignore")
### warn_numpy_div
a = np.array([1., 0.])
def fn(x):
    try: return x, 1 / a
    except RuntimeWarning: return x, "error"
def turn(i): warnings.simplefilter("error" if i >= 3 else "ignore")
### warn_deprecated_lib
def fn(x):
    try: return x, str(datetime.datetime.utcfromtimestamp(0)), re.compile("(?i)a").pattern
    except DeprecationWarning: return x, "error"
def turn(i): warnings.simplefilter("error" if i >= 3 else "ignore")
### warn_literal
def fn(x):
    try: return x, np.matrix([[1]]).tolist()
    except PendingDeprecationWarning: return x, "error"
def turn(i): warnings.simplefilter("error" if i >= 3 else "ignore")
### re_cache
p = re.compile("a")
def fn(x): return x, p.sub("b", "aac"), re.sub("a", "z", "aac")
def turn(i):
    global p
    if i == 3: p = re.compile("c")
    if i == 4: re.purge()
### re_callable
k = "q"
def rep(m): return k
def fn(x): return x, re.sub("a", rep, "aac")
def turn(i):
    global k
    if i == 3: k = "w"
### struct__made
s = struct.Struct("i")
def fn(x): return x, s.pack(3), struct.pack("f", 1.5), struct.calcsize("P")
### json_default
class E(json.JSONEncoder):
    def default(self, o): return k
k = 1
def fn(x): return x, json.dumps({1, 2}, cls=E), json.dumps({1}, default=lambda o: k)
def turn(i):
    global k
    if i == 3: k = 2
### json_float_repr
def fn(x): return x, json.dumps([1.5, float("nan")])
def turn(i):
    if i == 3: json.encoder.FLOAT_REPR = lambda f: "z"
### hash_seed
def fn(x): return x, len(hashlib.md5(b"a").hexdigest()) if False else 1
### mimetypes_
import mimetypes
def fn(x): return x, mimetypes.guess_type("a.zzz")
def turn(i):
    if i == 3: mimetypes.add_type("a/b", ".zzz")
### shlex_
import shlex
def fn(x): return x, shlex.split("a 'b c'")
### textwrap_
import textwrap
def fn(x): return x, textwrap.fill("a b c", 3)
### string_template
t = string.Template("$a")
def fn(x): return x, t.substitute(a=1)
def turn(i):
    if i == 3: t.template = "z$a"
    if i == 4: string.Template.delimiter = "%"
    if i == 5: string.Template.delimiter = "$"
### formatter_
class Fm(string.Formatter):
    def get_value(s, k, a, kw): return z
z = 1
def fn(x): return x, Fm().format("{q}")
def turn(i):
    global z
    if i == 3: z = 2
### reprlib_
import reprlib
l = list(range(20))
def fn(x): return x, reprlib.repr(l)
def turn(i): reprlib.aRepr.maxlist = 3 if i in (3, 4) else 6
### pprint_
import pprint
class A:
    def __repr__(s): return k
k = "a"
a = A()
def fn(x): return x, pprint.pformat([a, a])
def turn(i):
    global k
    if i == 3: k = "b"
### calendar_
import calendar
def fn(x): return x, calendar.weekheader(2) if hasattr(calendar, "weekheader") else 0, calendar.monthcalendar(2020, 2)[0], calendar.month_name[1]
def turn(i): calendar.setfirstweekday(6 if i >= 3 else 0)
### gettext_
import gettext
def fn(x): return x, gettext.gettext("a"), gettext.textdomain()
def turn(i): gettext.textdomain("b" if i >= 3 else "messages")
### array_str_func
a = np.array([1.])
def fn(x): return x, str(a)
def turn(i):
    if i == 3: np.set_printoptions(formatter={"float": lambda v: "F"})
    if i == 5 or i == 0: np.set_printoptions(formatter=None)
### total_ordering
@functools.total_ordering
class A:
    def __init__(s, k): s.k = k
    def __eq__(s, o): return s.k == o.k
    def __lt__(s, o): return s.k < o.k
a, b = A(1), A(2)
def fn(x): return x, a > b, a >= b, a <= b
def turn(i):
    if i == 3: A.__gt__ = lambda s, o: "gt"
    if i == 4: A.__lt__ = lambda s, o: s.k > o.k
    if i == 5: A.__le__ = lambda s, o: "le"
### dc_repr
@dataclass
class A: k: int
a = A(1); b = A(1)
def fn(x): return x, repr(a), a == b, str(a), f"{a}"
def turn(i):
    if i == 3: A.__repr__ = lambda s: "R"
    if i == 4: A.__eq__ = lambda s, o: "eq"
    if i == 5: A.__str__ = lambda s: "S"
### dc_order
@dataclass(order=True)
class A: k: int
a, b = A(1), A(2)
def fn(x): return x, a < b, sorted([b, a])[0] is a, max(a, b) is b
def turn(i):
    if i == 3: A.__lt__ = lambda s, o: s.k > o.k
    if i == 4: A.__gt__ = lambda s, o: False
### dc_hash
@dataclass(frozen=True)
class A: k: int
a = A(1)
def fn(x): return x, hash(a) == hash((1,)), len({a, A(1)})
def turn(i):
    if i == 3: A.__hash__ = lambda s: 5
    if i == 4: A.__eq__ = lambda s, o: False
### dc_init
@dataclass
class A:
    k: int = 1
def fn(x): return x * A().k, A().k
def turn(i):
    if i == 3: A.__init__ = lambda s: setattr(s, "k", 4)
### dc_post
@dataclass
class A:
    k: int = 1
    def __post_init__(s): s.k += z
z = 1
def fn(x): return x * A().k
def turn(i):
    global z
    if i == 3: z = 5
    if i == 4: A.__post_init__ = lambda s: None
### dc_default_factory
l = [1]
@dataclass
class A:
    k: list = field(default_factory=lambda: list(l))
def fn(x): return x * sum(A().k)
def turn(i):
    if i == 3: l.append(4)
### dc_fields
@dataclass
class A: k: int; z: float = 1.
a = A(1)
def fn(x): return x, [f.name for f in dataclasses.fields(a)], dataclasses.asdict(a), dataclasses.astuple(a), dataclasses.replace(a, k=3)
def turn(i):
    if i == 3: a.z = 5.
    if i == 4: del A.__dataclass_fields__["z"]
### nt_repr
N = namedtuple("N", "a b")
n = N(1, 2)
def fn(x): return x, repr(n), n._asdict(), n._replace(a=5), n == (1, 2)
def turn(i):
    if i == 3: N.__repr__ = lambda s: "R"
    if i == 4: N._asdict = lambda s: "D"
    if i == 5: N.__eq__ = lambda s, o: "eq"
### enum_repr
class E(Enum): A = 1
def fn(x): return x, repr(E.A), str(E.A), f"{E.A}", E.A == E.A, hash(E.A) == hash("A")
def turn(i):
    if i == 3: E.__repr__ = lambda s: "R"
    if i == 4: E.__str__ = lambda s: "S"
    if i == 5: E.__hash__ = lambda s: 5
### partialmethod_
class A:
    def m(s, k, z=1): return k + z
    p = functools.partialmethod(m, 2)
a = A()
def fn(x): return x * a.p()
def turn(i):
    if i == 3: A.m = lambda s, k, z=1: 7
    if i == 4: A.p = functools.partialmethod(A.m, 5)
    if i == 5: vars(A)['p'].keywords["z"] = 4
### partialmethod_func
class A:
    def m(s, k, z=1): return k + z
    p = functools.partialmethod(m, 2)
a = A(); f = A.m
def fn(x): return x * a.p()
def turn(i):
    if i == 3: f.__defaults__ = (9,)
    if i == 4: f.__code__ = (lambda s, k, z: 33).__code__
### partialmethod_kw
class A:
    def m(s, k, z=1): return k + z
    p = functools.partialmethod(m, 2, z=5)
a = A()
def fn(x): return x * a.p()
def turn(i):
    if i == 3: vars(A)["p"].keywords["z"] = 40
    if i == 4: vars(A)["p"].func = lambda s, k, z: 3
    if i == 5: vars(A)["p"].args = (8,)
### singledispatch_abc
@functools.singledispatch
def _g(_a): return 1
class _A: pass
_a = _A()
class _P(abc.ABC): pass
_g.register(_P, lambda a: 2)
def fn(x): return x * _g(_a)
def turn(i):
    if i == 3: _P.register(_A)
### singledispatch_abc2
@functools.singledispatch
def g(a): return 1
class A:
    def __len__(s): return 0
a = A()
g.register(collections.abc.Sized, lambda a: 2)
def fn(x): return x * g(a)
def turn(i):
    if i == 3: g.register(A, lambda a: 5)
    if i == 4: del A.__len__
### singledispatch_abc3
@functools.singledispatch
def g(a): return 1
class A: pass
a = A()
g.register(collections.abc.Iterable, lambda a: 2)
def fn(x): return x * g(a), g.dispatch(A) is g.dispatch(object)
def turn(i):
    if i == 3: A.__iter__ = lambda s: iter(())
    if i == 5: del A.__iter__
### singledispatchmethod_
class A:
    @functools.singledispatchmethod
    def g(s, a): return 1
    @g.register
    def _(s, a: int): return 2
class P(abc.ABC): pass
a = A() if False else None
class Q: pass
q = Q()
A.__dict__["g"].register(P, lambda s, a: 7) if False else None
def fn(x): return x * A().g(1) * A().g(q)
def turn(i):
    if i == 3: A.__dict__["g"].register(Q, lambda s, a: 9)
### np_scalar_global
a = np.float64(1.); z = np.float64(0)
def fn(x):
    try: return x, float(a / z)
    except FloatingPointError: return x, "error"
def turn(i): np.seterr(divide="raise" if i >= 3 else "ignore")
### np_tensor_numpy
def fn(x):
    try: return x.numpy() / 0
    except FloatingPointError: return x, "error"
def turn(i): np.seterr(divide="raise" if i >= 3 else "ignore", invalid="raise" if i >= 3 else "ignore")
### np_args_array
def args(i): return ingot.ones(2), np.array([1., 0.])
def fn(x, a):
    try: return x, (1 / a).tolist()
    except FloatingPointError: return x, "error"
def turn(i): np.seterr(divide="raise" if i >= 3 else "ignore")
### np_args_scalar
def args(i): return ingot.ones(2), np.float64(0)
def fn(x, a):
    try: return x, float(np.float64(1.) / a), float(a / a)
    except FloatingPointError: return x, "error"
def turn(i): np.seterr(divide="raise" if i >= 3 else "ignore")
### getmembers_value
import inspect
class A: k = 1
a = A(); a.q = 1
def fn(x): return x, [v for n, v in inspect.getmembers(a) if n[0] != "_"]
def turn(i):
    if i == 3: a.q = 3
    if i == 4: A.k = 5
### locale_n
def fn(x): return x, f"{1234567:n}", format(1234567, "n")
def turn(i):
    locale._override_localeconv = {}
    locale.setlocale(locale.LC_ALL, "C" if i < 3 else "C.UTF-8")
### dispatch_abc_plain
class _A: pass
class _P(abc.ABC): pass
@functools.singledispatch
def _g(_a): return 1
@_g.register
def _(a: _P): return 2
_a = _A()
def fn(x): return x * _g(_a)
def turn(i):
    if i == 3: _P.register(_A)
def after(i, r): pass
### count_hash
n = [0]
class A:
    def __hash__(s): n[0] += 1; return 1
    def __eq__(s, o): n[0] += 10; return s is o
a = A(); d = {a: 1.}
def fn(x): return x * d[a]
### count_hash_arg
n = [0]
class A:
    def __hash__(s): n[0] += 1; return 1
    def __eq__(s, o): n[0] += 10; return s is o
a = A()
def args(i): return ingot.ones(2), a
def fn(x, a): return x
### count_hash_result
n = [0]
class A:
    def __hash__(s): n[0] += 1; return 1
    def __eq__(s, o): n[0] += 10; return s is o
a = A()
def fn(x): return x, a
### count_hash_key_arg
n = [0]
class A:
    def __hash__(s): n[0] += 1; return 1
    def __eq__(s, o): n[0] += 10; return s is o
a = A(); d = {a: 1}
def args(i): return ingot.ones(2), d
def fn(x, d): return x, len(d)
### count_hash_set
n = [0]
class A:
    def __hash__(s): n[0] += 1; return 1
    def __eq__(s, o): n[0] += 10; return s is o
s = {A(), A()}
def fn(x): return x, len(s), [type(v).__name__ for v in s]
### count_hash_set_arg
n = [0]
class A:
    def __hash__(s): n[0] += 1; return 1
    def __eq__(s, o): n[0] += 10; return s is o
s = {A(), A()}
def args(i): return ingot.ones(2), s
def fn(x, s): return x, len(s)
### count_hash_frozen
n = [0]
class A:
    def __hash__(s): n[0] += 1; return 1
    def __eq__(s, o): n[0] += 10; return s is o
s = frozenset([A(), A()])
def fn(x): return x, len(s), s
### count_hash_tuple
n = [0]
class A:
    def __hash__(s): n[0] += 1; return 1
    def __eq__(s, o): n[0] += 10; return s is o
s = (A(), 1)
def fn(x): return x, len(s), s
### count_hash_tuple_arg
n = [0]
class A:
    def __hash__(s): n[0] += 1; return 1
    def __eq__(s, o): n[0] += 10; return s is o
s = (A(), 1)
def args(i): return ingot.ones(2), s
def fn(x, s): return x, len(s)
### count_hash_written
n = [0]
class A:
    def __hash__(s): n[0] += 1; return 1
    def __eq__(s, o): n[0] += 10; return s is o
a = A(); d = {}
def fn(x): d["k"] = a; return x
### count_hash_list
n = [0]
class A:
    def __hash__(s): n[0] += 1; return 1
    def __eq__(s, o): n[0] += 10; return s is o
a = A(); d = []
def fn(x): d.append(a); return x
### count_eq_list
n = [0]
class A:
    def __eq__(s, o): n[0] += 10; return s is o
a = A(); d = [a]
def fn(x): return x, len(d), d, d[0]
### count_getattribute
n = [0]
class A:
    w = 2.
    def __getattribute__(s, k): n[0] += 1; return object.__getattribute__(s, k)
a = A()
def fn(x): return x * a.w
### count_getattribute_list
n = [0]
class A:
    w = 2.
    def __getattribute__(s, k): n[0] += 1; return object.__getattribute__(s, k)
l = [A()]
def fn(x):
    for a in l: x = x * a.w
    return x
### count_getattribute_ret
n = [0]
class A:
    def __init__(s): s.w = 2.
    def __getattribute__(s, k): n[0] += 1; return object.__getattribute__(s, k)
a = A()
def fn(x): return x, a
### count_getattribute_new
n = [0]
class A:
    def __init__(s): s.w = 2.
    def __getattribute__(s, k): n[0] += 1; return object.__getattribute__(s, k)
def fn(x): a = A(); return x * a.w
### count_getattribute_new_ret
n = [0]
class A:
    def __init__(s): s.w = 2.
    def __getattribute__(s, k): n[0] += 1; return object.__getattribute__(s, k)
def fn(x): a = A(); return x, a
### count_getattr
n = [0]
class A:
    def __getattr__(s, k): n[0] += 1; return 5.
a = A()
def fn(x): return x * a.w
### count_getattr_log
log = []
class A:
    def __getattr__(s, k):
        log.append(k)
        if k[:2] == "__": raise AttributeError(k)
        return 5.
a = A(); l = [a]; d = {"a": a}
def fn(x): return x * a.w * l[0].z * d["a"].y, a
### count_getattr_arg
log = []
class A:
    def __getattr__(s, k):
        log.append(k)
        if k[:2] == "__": raise AttributeError(k)
        return 5.
a = A()
def args(i): return ingot.ones(2), a
def fn(x, a): return x * a.w
### count_getattr_ret_new
log = []
class A:
    def __getattr__(s, k):
        log.append(k)
        if k[:2] == "__": raise AttributeError(k)
        return 5.
def fn(x): a = A(); return x * a.w, a
### count_getattr_call
log = []
class A:
    def __getattr__(s, k):
        log.append(k)
        if k[:2] == "__": raise AttributeError(k)
        return lambda x: x * 2
a = A()
def fn(x): return a.foo(x)
### count_getattr_callable
log = []
class A:
    def __getattr__(s, k):
        log.append(k)
        if k[:2] == "__": raise AttributeError(k)
        return 3
    def __call__(s, x): return x * 2
a = A()
def fn(x): return a(x)
### count_getattr_passed
log = []
class A:
    def __getattr__(s, k):
        log.append(k)
        if k[:2] == "__": raise AttributeError(k)
        return 3
a = A()
def g(x, a): return x * a.k
def fn(x): return g(x, a), isinstance(a, A), type(a) is A, a is a, bool(a), [a], hasattr(a, "q")
### count_len
n = [0]
class A:
    def __len__(s): n[0] += 1; return 2
a = A()
def fn(x): return x * len(a), a, (x + 1 if a else x)
### count_bool
n = [0]
class A:
    def __bool__(s): n[0] += 1; return True
a = A(); l = [a]
def fn(x): return x * (2 if a else 1), l, l[0]
### count_index
n = [0]
class A:
    def __index__(s): n[0] += 1; return 1
a = A()
def fn(x): return x[a], [1, 2][a], x.sum(a - 1 if False else 0), x.reshape(a, -1)
### count_float
n = [0]
class A:
    def __float__(s): n[0] += 1; return 1.5
a = A()
def fn(x): return x * float(a)
### count_iter
n = [0]
class A:
    def __iter__(s): n[0] += 1; return iter([1, 2])
a = A()
def fn(x): return x * sum(a), [*a], a
### count_getitem
n = [0]
class A:
    def __getitem__(s, i):
        n[0] += 1
        if i > 2: raise IndexError
        return i
a = A()
def fn(x): return x * sum(a), a[1], a
### count_contains
n = [0]
class A:
    def __contains__(s, i): n[0] += 1; return True
a = A()
def fn(x): return x * (1 in a), a
### count_call
n = [0]
class A:
    def __call__(s, x): n[0] += 1; return x * 2
a = A()
def fn(x): return a(x)
### count_repr
n = [0]
class A:
    def __repr__(s): n[0] += 1; return "A"
a = A(); l = [a]
def fn(x): return x, l, a
def turn(i):
    if i == 3: l.append(A())
### count_repr_fail
n = [0]
class A:
    def __repr__(s): n[0] += 1; raise ValueError
a = A(); l = [a]
def fn(x): return x, l, a
def turn(i):
    global a
    if i == 3: l.append(A())
    if i == 4: a = A()
### count_property
n = [0]
class A:
    @property
    def p(s): n[0] += 1; return 2.
a = A(); l = [a]
def fn(x): return x * a.p * l[0].p, a
### count_descr
n = [0]
class D:
    def __get__(s, o, c): n[0] += 1; return 3.
class A: p = D()
a = A(); l = [a]
def fn(x): return x * a.p * l[0].p, a
### count_setattr
n = [0]
class A:
    def __setattr__(s, k, v): n[0] += 1; object.__setattr__(s, k, v)
a = A()
def fn(x): a.w = x.sum().item(); return x
### count_class_prop
n = [0]
class A:
    @property
    def __class__(s): n[0] += 1; return int
a = A(); l = [a]
def fn(x): return x, l, a, isinstance(a, int)
### count_instancecheck
n = [0]
class M(type):
    def __instancecheck__(c, o): n[0] += 1; return True
class A(metaclass=M): pass
a = A(); l = [a]
def fn(x): return x, l, a, isinstance(3, A)
### count_subclasscheck
n = [0]
class M(type):
    def __subclasscheck__(c, o): n[0] += 1; return True
class A(metaclass=M): pass
a = A(); l = [a]; k = A
def fn(x): return x, l, a, issubclass(int, A), k
### count_meta_iter
n = [0]
class M(type):
    def __iter__(c): n[0] += 1; return iter([1])
    def __len__(c): n[0] += 1; return 0
    def __bool__(c): n[0] += 1; return False
class A(metaclass=M): w = 2.
a = A(); l = [A]
def fn(x): return x * A.w * a.w, a, l, sum(A)
### count_module_getattr
n = [0]
m = types.ModuleType("fuzzed_mm"); sys.modules["fuzzed_mm"] = m
def _ga(k):
    n[0] += 1
    if k[:2] == "__": raise AttributeError(k)
    return 5.
m.__getattr__ = _ga
def fn(x): return x * m.foo
### count_dict_missing
n = [0]
class D(dict):
    def __missing__(s, k): n[0] += 1; return 2.
    def __getitem__(s, k): n[0] += 10; return dict.__getitem__(s, k)
    def __iter__(s): n[0] += 100; return dict.__iter__(s)
    def keys(s): n[0] += 1000; return dict.keys(s)
    def items(s): n[0] += 10000; return dict.items(s)
    def __len__(s): n[0] += 100000; return dict.__len__(s)
    def values(s): n[0] += 10 ** 6; return dict.values(s)
    def get(s, k, d=None): n[0] += 10 ** 7; return dict.get(s, k, d)
    def __contains__(s, k): n[0] += 10 ** 8; return dict.__contains__(s, k)
d = D(a=1.); l = [d]
def fn(x): return x * d["a"] * d["q"], d, l
### count_list_sub
n = [0]
class L(list):
    def __getitem__(s, k): n[0] += 10; return list.__getitem__(s, k)
    def __iter__(s): n[0] += 100; return list.__iter__(s)
    def __len__(s): n[0] += 100000; return list.__len__(s)
    def __eq__(s, o): n[0] += 10 ** 6; return list.__eq__(s, o)
d = L([1., 2.]); l = [d]
def fn(x): return x * d[0], d, l
### count_list_sub_arg
n = [0]
class L(list):
    def __getitem__(s, k): n[0] += 10; return list.__getitem__(s, k)
    def __iter__(s): n[0] += 100; return list.__iter__(s)
    def __len__(s): n[0] += 100000; return list.__len__(s)
    def __eq__(s, o): n[0] += 10 ** 6; return list.__eq__(s, o)
d = L([1., 2.])
def args(i): return ingot.ones(2), d
def fn(x, d): return x * d[0], d
### count_tuple_sub
n = [0]
class T(tuple):
    def __getitem__(s, k): n[0] += 10; return tuple.__getitem__(s, k)
    def __iter__(s): n[0] += 100; return tuple.__iter__(s)
    def __len__(s): n[0] += 1000; return tuple.__len__(s)
    def __eq__(s, o): n[0] += 10000; return tuple.__eq__(s, o)
    def __hash__(s): n[0] += 100000; return 1
d = T([1., 2.]); l = [d]
def fn(x): return x * d[0], d, l
### count_tuple_sub_arg
n = [0]
class T(tuple):
    def __getitem__(s, k): n[0] += 10; return tuple.__getitem__(s, k)
    def __iter__(s): n[0] += 100; return tuple.__iter__(s)
    def __len__(s): n[0] += 1000; return tuple.__len__(s)
    def __eq__(s, o): n[0] += 10000; return tuple.__eq__(s, o)
    def __hash__(s): n[0] += 100000; return 1
d = T([1., 2.])
def args(i): return ingot.ones(2), d
def fn(x, d): return x * d[0], d
### count_str_sub
n = [0]
class S(str):
    def __eq__(s, o): n[0] += 1; return str.__eq__(s, o)
    def __hash__(s): n[0] += 10; return str.__hash__(s)
    def __len__(s): n[0] += 100; return str.__len__(s)
    def __str__(s): n[0] += 1000; return "z"
    def __iter__(s): n[0] += 10000; return str.__iter__(s)
d = S("ab"); l = [d]
def fn(x): return x, d, l, (d,)
### count_str_sub_arg
n = [0]
class S(str):
    def __eq__(s, o): n[0] += 1; return str.__eq__(s, o)
    def __hash__(s): n[0] += 10; return str.__hash__(s)
    def __len__(s): n[0] += 100; return str.__len__(s)
    def __str__(s): n[0] += 1000; return "z"
    def __iter__(s): n[0] += 10000; return str.__iter__(s)
d = S("ab")
def args(i): return ingot.ones(2), d
def fn(x, d): return x, d
### count_int_sub
n = [0]
class I(int):
    def __eq__(s, o): n[0] += 1; return int.__eq__(s, o)
    def __hash__(s): n[0] += 10; return int.__hash__(s)
    def __index__(s): n[0] += 100; return int.__index__(s)
    def __int__(s): n[0] += 1000; return int.__int__(s)
    def __bool__(s): n[0] += 10000; return True
    def __float__(s): n[0] += 10 ** 5; return 2.
d = I(3); l = [d]
def fn(x): return x, d, l, (d,)
### count_int_sub_arg
n = [0]
class I(int):
    def __eq__(s, o): n[0] += 1; return int.__eq__(s, o)
    def __hash__(s): n[0] += 10; return int.__hash__(s)
    def __index__(s): n[0] += 100; return int.__index__(s)
    def __int__(s): n[0] += 1000; return int.__int__(s)
    def __bool__(s): n[0] += 10000; return True
    def __float__(s): n[0] += 10 ** 5; return 2.
d = I(3)
def args(i): return ingot.ones(2), d
def fn(x, d): return x, d
### count_dc_eq
n = [0]
@dataclass(eq=False)
class A:
    k: int
    def __eq__(s, o): n[0] += 1; return s.k == o.k
    def __hash__(s): n[0] += 10; return s.k
a = A(1)
def args(i): return ingot.ones(2), A(1)
def fn(x, a): return x * a.k
### count_dc_eq_out
n = [0]
@dataclass(eq=False)
class A:
    k: int
    def __eq__(s, o): n[0] += 1; return s.k == o.k
    def __hash__(s): n[0] += 10; return s.k
a = A(1); l = [a]
def fn(x): return x * a.k * l[0].k, a
### count_fmt
n = [0]
class A:
    def __format__(s, f): n[0] += 1; return "q"
a = A(); l = [a]
def fn(x): return x, f"{a}", l
### count_del
class A:
    def __init__(s): s.k = 1
    def __delattr__(s, k): log.append(k); object.__delattr__(s, k)
log = []
a = A()
def fn(x): a.t = 1; del a.t; return x
### count_reduce
n = [0]
class A:
    def __reduce__(s): n[0] += 1; return (A, ())
    def __copy__(s): n[0] += 10; return s
    def __deepcopy__(s, m): n[0] += 100; return s
    def __sizeof__(s): n[0] += 1000; return 5
    def __dir__(s): n[0] += 10000; return []
a = A(); l = [a]
def fn(x): return x, a, l
### np_like
n = [0]
class A:
    def __array__(s, dtype=None, copy=None): n[0] += 1; return np.ones(2)
a = A(); l = [a]
def fn(x): return x + ingot.as_tensor(np.asarray(a)), l
### torch_function_like
n = [0]
class A:
    @classmethod
    def __torch_function__(cls, f, t, a=(), k=None): n[0] += 1; return 5
a = A(); l = [a]
def fn(x): return x, l, a
### weakref_eq
n = [0]
class A:
    def __eq__(s, o): n[0] += 1; return True
    def __hash__(s): n[0] += 10; return 2
a = A(); r = weakref.ref(a)
def fn(x): return x, r() is a, r
### iter_user
n = [0]
class It:
    def __init__(s): s.k = 0
    def __iter__(s): n[0] += 1; return s
    def __next__(s):
        n[0] += 10; s.k += 1
        if s.k > 3: raise StopIteration
        return s.k
def fn(x): return x * sum(It())
### ctx_user
n = [0]
class C:
    def __enter__(s): n[0] += 1; return s
    def __exit__(s, *a): n[0] += 10
c = C()
def fn(x):
    with c: return x * 2
### ctx_run
ctx = contextvars.copy_context()
v = contextvars.ContextVar("v", default=1.)
def g(x): return x * v.get()
def fn(x): return ctx.run(g, x)
### ctx_run_new
v = contextvars.ContextVar("v", default=1.)
def g(x): v.set(4.); return x * v.get()
def fn(x): return contextvars.copy_context().run(g, x), v.get()
### del_descr
class D:
    def __get__(s, o, c): return 3.
    def __set__(s, o, v): pass
class A: p = D()
a = A()
def fn(x): return x * a.p
def turn(i):
    if i == 3: del D.__set__
    if i == 4: a.p = 7.
### del_descr_inside
class D:
    def __get__(s, o, c): return 3.
    def __set__(s, o, v): pass
class A: p = D()
a = A()
def fn(x): del D.__set__; return x * a.p
def turn(i):
    if i: D.__set__ = lambda s, o, v: None
### dc_field_type
@dataclass
class A: k: int
def fn(x): return x, dataclasses.fields(A)[0].type
def turn(i):
    if i == 3: A.__dataclass_fields__["k"].type = float
### dc_field_meta
@dataclass
class A: k: int = field(default=1, metadata={"unit": "m"})
def fn(x): return x, dataclasses.fields(A)[0].metadata["unit"], dataclasses.fields(A)[0].name
def turn(i):
    if i == 3: A.__dataclass_fields__["k"].metadata = types.MappingProxyType({"unit": "s"})
### setattr_name
class A: pass
a = A(); names = ["p", "q"]
def fn(x):
    for n in names: setattr(a, n, x.sum().item())
    return x
def turn(i):
    if i == 3: names.append("r")
### setattr_dyn
class A: pass
a = A(); k = 0
def fn(x): setattr(a, f"step{k}", k); return x
def turn(i):
    global k
    k = i % 3
### setattr_arg
class A: pass
a = A()
def args(i): return ingot.ones(2), a
def fn(x, o): setattr(o, "v", 1.0); return x
### setattr_arg_new
class A: pass
def args(i): return ingot.ones(2), A()
def fn(x, o): setattr(o, "v", 1.0); return x
### setattr_ns
ns = types.SimpleNamespace()
def fn(x):
    for k, v in {"a": 1, "b": 2}.items(): setattr(ns, k, v)
    return x * ns.a
### setattr_class
class A: pass
def fn(x): setattr(A, "w", 2.); return x * A.w
### setattr_module
m = types.ModuleType("fuzzed_m"); sys.modules["fuzzed_m"] = m
def fn(x): setattr(m, "w", 2.); return x * m.w
### setattr_partial
class A: pass
a = A()
put = functools.partial(setattr, a)
def fn(x): put("k", 3); return x * a.k
### setattr_map
class A: pass
a = A()
def fn(x): list(map(setattr, [a, a], ["p", "q"], [1, 2])); return x * a.p * a.q
### object_setattr
@dataclass(frozen=True)
class A: k: int
a = A(1)
def fn(x): object.__setattr__(a, "k", a.k + 1); return x * a.k
### vars_update
class A: pass
a = A()
def fn(x): vars(a).update(p=1, q=2); return x * a.p
### dict_update
class A: pass
a = A()
def fn(x): a.__dict__.update({"p": 1.}); a.__dict__["q"] = 5; return x * a.p * a.q
### train_registry
REG = {}
def register(name):
    def deco(f): REG[name] = f; return f
    return deco
@register("relu")
def relu(x): return F.relu(x)
@register("tanh")
def tanh(x): return ingot.tanh(x)
class Cfg:
    act = "relu"; scale = 2.0
cfg = Cfg()
def fn(x): return REG[cfg.act](x - 1) * cfg.scale
def turn(i):
    if i == 2: cfg.act = "tanh"
    if i == 4: register("tanh")(lambda x: x * 0.5)
    if i == 5: cfg.scale = 3.0
### callbacks
class Callback:
    def on_step(s, t, loss): pass
class Count(Callback):
    def __init__(s): s.n = 0
    def on_step(s, t, loss): s.n += 1
class Best(Callback):
    def __init__(s): s.best = 1e9; s.at = -1
    def on_step(s, t, loss):
        if loss < s.best: s.best = loss; s.at = t.step
class Trainer:
    def __init__(s): s.callbacks = [Count(), Best()]; s.step = 0
    def run(s, x):
        loss = (x * x).mean().item()
        for c in s.callbacks: c.on_step(s, loss)
        s.step += 1
        return loss
t = Trainer()
def args(i): return ingot.full((2,), float(4 - i)),
def fn(x): return t.run(x)
def turn(i):
    if i == 3: t.callbacks.append(Count())
    if i == 5: t.callbacks.pop(0)
### metrics
class Meter:
    def __init__(s): s.sum = 0.; s.n = 0; s.hist = collections.deque(maxlen=3)
    def update(s, v, n=1): s.sum += v * n; s.n += n; s.hist.append(v)
    @property
    def avg(s): return s.sum / max(s.n, 1)
meters = defaultdict(Meter)
def fn(x):
    for k, v in dict(loss=x.mean(), acc=x.max()).items(): meters[k].update(v.item())
    return {k: m.avg for k, m in meters.items()}, [*meters["loss"].hist]
def args(i): return ingot.arange(3.) + i,
### curriculum
@dataclass
class Stage: upto: int; length: int; noise: float = 0.
stages = [Stage(2, 2), Stage(4, 3, .5), Stage(99, 4)]
class State: step = 0
st = State()
def current(): return next(s for s in stages if st.step < s.upto)
def fn(x):
    s = current(); st.step += 1
    return x[:s.length] * (1 + s.noise), s.length
def args(i): return ingot.arange(6.),
def turn(i):
    if i == 3: stages[1].noise = .25
### sampler
class Sampler:
    def __init__(s, n): s.order = list(range(n)); s.at = 0
    def next(s, k):
        out = s.order[s.at:s.at + k]; s.at = (s.at + k) % len(s.order); return out
data = ingot.arange(12.).reshape(6, 2); s = Sampler(6)
def fn(x): return x.sum() + data[s.next(2)].sum(0)
def turn(i):
    if i == 3: s.order.reverse()
### cache_fn
@functools.lru_cache(maxsize=8)
def mask(n, kind): return ingot.tril(ingot.ones(n, n)) if kind == "causal" else ingot.ones(n, n)
kind = "causal"
def fn(x): return mask(x.shape[0], kind) @ x
def args(i): return ingot.ones(2 + i % 2, 2),
def turn(i):
    global kind
    if i == 4: kind = "full"
### ema
class EMA:
    def __init__(s, m, d): s.shadow = {k: v.clone() for k, v in m.state_dict().items()}; s.d = d
    def update(s, m):
        for k, v in m.state_dict().items(): s.shadow[k] = s.d * s.shadow[k] + (1 - s.d) * v
net = nn.Linear(2, 2); opt = optim.SGD(net.parameters(), lr=.1); ema = EMA(net, .9)
def fn(x):
    opt.zero_grad(); l = net(x).pow(2).mean(); l.backward(); opt.step(); ema.update(net); return l.item(), ema.shadow["bias"]
def args(i): return ingot.ones(3, 2) * (i + 1),
def turn(i):
    if i == 3: ema.d = .5
    if i == 4: opt.param_groups[0]["lr"] = .01
### early_stop
class Stop:
    def __init__(s, p): s.p = p; s.bad = 0; s.best = None
    def __call__(s, v):
        if s.best is None or v < s.best: s.best, s.bad = v, 0
        else: s.bad += 1
        return s.bad >= s.p
stop = Stop(2)
def fn(x): return stop(x.sum().item()), stop.bad, x
def args(i): return ingot.ones(2) * [3., 2., 2.5, 2.6, 1., 1.5][i],
### config_nested
cfg = NS(model=NS(act="gelu", drop=0.), opt={"lr": .1, "betas": (.9, .99)}, tags=["a"])
def fn(x):
    a = getattr(F, cfg.model.act); return a(x) * cfg.opt["lr"] * cfg.opt["betas"][0], len(cfg.tags)
def turn(i):
    if i == 2: cfg.model = NS(act="relu", drop=0.)
    if i == 3: cfg.opt["betas"] = (.5, .9)
    if i == 4: cfg.tags += ["b"]
    if i == 5: cfg.opt = dict(cfg.opt, lr=.2)
### hooks_registry
acts = {}
net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
def hook(name):
    def h(m, i, o): acts[name] = o.detach().mean().item()
    return h
hs = {n: m.register_forward_hook(hook(n)) for n, m in net.named_children()}
def fn(x): y = net(x); return y, dict(acts)
def args(i): return ingot.ones(2, 2) * i,
def turn(i):
    if i == 3: hs["0"].remove(); acts.clear()
### logger_buf
class Log:
    def __init__(s): s.rows = []; s.every = 2; s.step = 0
    def __call__(s, **kw):
        s.step += 1
        if s.step % s.every == 0: s.rows.append({"step": s.step, **kw})
log = Log()
def fn(x): l = (x * 2).mean(); log(loss=l.item(), lr=.1); return l
def args(i): return ingot.ones(2) * i,
### replay_buffer
class Buf:
    def __init__(s, n, d): s.x = np.zeros((n, d), "f"); s.n = 0; s.cap = n
    def add(s, v): s.x[s.n % s.cap] = v; s.n += 1
    def last(s, k): return s.x[max(0, s.n - k):s.n]
b = Buf(8, 2)
def fn(x): return x + ingot.as_tensor(b.last(2)).sum(), b.n
def turn(i): b.add(np.array([i, i + 1], "f"))
### schedule_table
warm = [0.1 * k for k in range(10)]
class S: step = 0
def lr(): return warm[S.step] if S.step < 3 else 0.5 * (1 + math.cos(math.pi * S.step / 10))
def fn(x): r = lr(); S.step += 1; return x * r, r
### factory
OPT = {"sgd": optim.SGD, "adam": optim.Adam}
class T:
    def __init__(s): s.net = nn.Linear(2, 1); s.make("sgd")
    def make(s, k): s.opt = OPT[k](s.net.parameters(), lr=.1)
    def step(s, x): s.opt.zero_grad(); l = s.net(x).sum(); l.backward(); s.opt.step(); return l
t = T()
def fn(x): return t.step(x)
def args(i): return ingot.ones(2, 2),
def turn(i):
    if i == 3: t.make("adam")
### enum_mode
class Mode(Enum):
    TRAIN = "train"; EVAL = "eval"
    @property
    def noisy(s): return s is Mode.TRAIN
class R: mode = Mode.TRAIN
def fn(x): return x * (2 if R.mode.noisy else 1), R.mode.value, R.mode.name, Mode("eval")
def turn(i):
    if i == 2: R.mode = Mode.EVAL
    if i == 4: Mode.noisy = property(lambda s: True)
### plugin_abc
class Loss(abc.ABC):
    @abc.abstractmethod
    def __call__(s, p, t): ...
class MSE(Loss):
    w = 1.
    def __call__(s, p, t): return s.w * ((p - t) ** 2).mean()
class L1(Loss):
    def __call__(s, p, t): return (p - t).abs().mean()
losses = {"mse": (MSE(), 1.), "l1": (L1(), .5)}
def fn(x): return sum(w * l(x, x * 2) for l, w in losses.values()), {n: l(x, x + 1).item() for n, (l, w) in losses.items()}
def turn(i):
    if i == 2: losses["l1"] = (losses["l1"][0], 2.)
    if i == 3: MSE.w = 3.
    if i == 4: losses["b"] = (MSE(), 1.)
### grad_clip_stats
net = nn.Linear(3, 1); opt = optim.Adam(net.parameters(), lr=.01); norms = []; maxn = 1.
def fn(x):
    opt.zero_grad(); net(x).pow(2).sum().backward()
    norms.append(nn.utils.clip_grad_norm_(net.parameters(), maxn).item()); opt.step(); return norms[-1]
def args(i): return ingot.ones(2, 3) * (i + 1),
def turn(i):
    global maxn
    if i == 3: maxn = .1
### tokenizer
class Vocab(dict):
    def __missing__(s, k): s[k] = len(s); return s[k]
v = Vocab(); emb = nn.Embedding(16, 2)
def fn(x): return emb(ingot.tensor([v[w] for w in text.split()])).sum() + x
text = "a b a"
def turn(i):
    global text
    text = ["a b a", "a b a", "c a", "c a", "d d", "a"][i]
### checkpoint_state
net = nn.Linear(2, 2); best = {"loss": 1e9, "state": None}
def fn(x):
    l = net(x).pow(2).mean()
    if l < best["loss"]: best["loss"] = l.item(); best["state"] = copy.deepcopy(net.state_dict())
    return l, best["loss"]
def args(i): return ingot.ones(1, 2) * [3., 2., 4., 1., 5., .5][i],
### views_window
hist = np.zeros(6); out = {}
class W:
    def __init__(s): s.n = 2
w = W()
def fn(x): out["w"] = hist[-w.n:]; return x, hist[:w.n], out["w"].base is hist
def turn(i):
    hist[i] = i
    if i == 3: w.n = 3
### frozen_groups
class G:
    def __init__(s, k): s.k = k; s.hits = 0
groups = (frozenset([G(1.)]), frozenset([G(2.), G(2.)]))
def fn(x):
    for g in groups:
        for m in g: x = x * m.k; m.hits += 1
    return x, [sorted(m.hits for m in g) for g in groups]
def turn(i):
    if i == 3: [m] = groups[0]; m.k = 5.
### named_params
class Unit(float):
    def __new__(cls, v, unit): s = float.__new__(cls, v); s.unit = unit; return s
lr = Unit(.1, "1/s"); hp = {"lr": lr}
def fn(x): return x * hp["lr"], hp["lr"].unit, hp["lr"], [Unit(x.sum().item(), "m").unit]
def turn(i):
    if i == 2: lr.unit = "1/ms"
    if i == 4: hp["lr"] = Unit(.2, "z")
### signature_filter
import inspect
def build(a, b=2.): return a * b
kw = dict(b=3., junk=1)
def fn(x):
    ok = {k: v for k, v in kw.items() if k in inspect.signature(build).parameters}
    return build(x, **ok)
def turn(i):
    global build
    if i == 2: kw["b"] = 5.
    if i == 4:
        def build(a, junk=1.): return a - junk
### seed_numpy
def fn(x):
    r = np.random.default_rng(seed); return x + float(r.normal()), r.integers(0, 9, 3)
seed = 0
def turn(i):
    global seed
    if i == 3: seed = 4
### dispatch_types
@functools.singledispatch
def norm(v): return v
@norm.register
def _(v: float): return v * 2
@norm.register(list)
def _(v): return sum(v)
items = [1., [1., 2.], 3]
def fn(x): return x * sum(norm(v) for v in items)
def turn(i):
    if i == 2: items[2] = 4.
    if i == 4: norm.register(int, lambda v: -v); items.append(3)
### errstate_guard
a = np.array([0., 1.])
def fn(x):
    with np.errstate(divide="ignore"): b = 1 / a
    b[~np.isfinite(b)] = k
    return x, b
k = 0.
def turn(i):
    global k
    if i == 3: k = 7.
    if i == 4: a[1] = 2.
### drawn_g10
class Tag(str): pass
class Box:
    def __init__(s, w): s.w = w; s.log = [w]; s.arr = np.arange(3.) + w; s.tag = Tag('t'); s.t = ingot.ones(1) * w
    def m(s): return s.w
p0 = ValueError(Box(1.))
p1 = [Box(2.)]
p2 = ChainMap(dict(k=Box(3.)))
def fn(x):
    out = []
    out.append(p2['k'].arr.T)
    [*p2.values()][0].w += 1
    out.append(frozenset([p0.args[0]]))
    return x, out
def turn(i):
    if i == 1: p2['k'].arr[1] = 9.
    if i == 2: p1[0].t = ingot.ones(1) * 2
    if i == 3: p1[0].extra = 1
### drawn_g18
class Tag(str): pass
class Box:
    def __init__(s, w): s.w = w; s.log = [w]; s.arr = np.arange(3.) + w; s.tag = Tag('t'); s.t = ingot.ones(1) * w
    def m(s): return s.w
p0 = {Box(1.): 1}
def fn(x):
    out = []
    out.append(frozenset([[*p0][0]]))
    [*p0][0].t = x.sum()
    [*p0.keys()][0].t = x.sum()
    return x, out
def turn(i):
    if i == 2: [*p0][0].arr = np.arange(3.) * 2
    if i == 3: [*p0][0].tag.n = 5
    if i == 4: [*p0][0].log.append(7.)
### drawn_g27
class Tag(str): pass
class Box:
    def __init__(s, w): s.w = w; s.log = [w]; s.arr = np.arange(3.) + w; s.tag = Tag('t'); s.t = ingot.ones(1) * w
    def m(s): return s.w
p0 = functools.partial(int, Box(1.))
p1 = np.empty(2, object); p1[0] = Box(2.)
p2 = (1, Box(3.))
def fn(x):
    out = []
    out.append(frozenset([p1.tolist()[0]]))
    out.append(Tag('q'))
    x = x * p1[0].m()
    out.append([v for v in p2[1].log][-1])
    return x, out
def turn(i):
    if i == 2: p2[1].w = 2 + 1.
    if i == 4: Box.m = lambda s: s.w + 1
    if i == 5: p2[1].w = 5 + 1.
### drawn_g108
class Tag(str): pass
class Box:
    def __init__(s, w): s.w = w; s.log = [w]; s.arr = np.arange(3.) + w; s.tag = Tag('t'); s.t = ingot.ones(1) * w
    def m(s): return s.w
p0T = namedtuple('p0T', 'a o'); p0 = p0T(1, Box(1.))
def fn(x):
    out = []
    out.append(Tag('q'))
    out.append(p0[1].tag)
    out.append(p0.o.tag)
    out.append(frozenset([p0.o]))
    return x, out
def turn(i):
    if i == 1: p0.o.extra = 1
    if i == 2: p0.o.tag.n = 5
    if i == 3: p0.o.extra = 1
'''

PROGRAMS = parsed(_TEXT)

# Programs that raise `TraceError`.
REFUSED = frozenset((
    "tokenizer",
    "bytesio", "cell_made", "class_", "count_getattribute_new_ret", "ctx", "ctx_run", "ctxvar", "ctypes_", "ctypes_array",
    "ctypes_struct", "date_sub", "decimal_sub", "event", "exception", "frac_sub", "func", "gen", "gettext_", "itemsview",
    "iter_", "keysview", "lock", "masked", "match", "matrix", "memoryview_fresh", "memoryview_outside", "meth", "mimetypes_",
    "module_", "np_finfo", "np_nditer", "np_void", "np_void_made", "npf_sub", "nt_class", "obj", "object_array_write_item",
    "object_array_write_list", "partial", "path_sub", "prop", "proxy", "recarray", "rnd", "rng", "stringio", "struct_",
    "sub_key", "subclass_array", "subclass_array_fresh", "thread_local", "valuesview", "weak", "weakref_eq",
    "weakset_made", "zip_",))
