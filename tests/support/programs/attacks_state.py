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
'''

PROGRAMS = parsed(_TEXT)

# Programs that raise `TraceError`.
REFUSED = frozenset((
    "bytesio", "cell_made", "class_", "ctx", "ctxvar", "ctypes_", "ctypes_array", "ctypes_struct", "date_sub", "decimal_sub",
    "event", "exception", "frac_sub", "func", "gen", "itemsview", "iter_", "keysview", "lock", "masked", "match", "matrix",
    "memoryview_fresh", "memoryview_outside", "meth", "module_", "np_finfo", "np_nditer", "np_void", "np_void_made",
    "npf_sub", "nt_class", "obj", "object_array_write_item", "object_array_write_list", "partial", "path_sub", "prop",
    "proxy", "recarray", "rnd", "rng", "stringio", "struct_", "struct_array", "sub_key", "subclass_array",
    "subclass_array_fresh", "thread_local", "valuesview", "weak", "weakset_made", "zip_",))
