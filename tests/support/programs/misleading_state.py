"""Programs that try to mislead the tracer by state, and by code that runs where none seems to.

Each is a module of its own, as `misleading_values.py` says."""

_TEXT = r"""
### cache_user_changed
@functools.lru_cache
def g(n): return float(n) * scale[0]
scale = [1.0]
def fn(x): return x * g(3)
def turn(i):
    scale[0] = i + 1.0
    if i % 3 == 0: g.cache_clear()
### cache_in_cache
@functools.cache
def f(n): return 1.0 if n < 2 else f(n - 1) + f(n - 2) * k[0]
k = [1.0]
def fn(x, n): return x * f(n)
def args(i): return ingot.ones(2), 3 + i % 3
def turn(i): k[0] = float(i)
### cached_property_tensor
class C:
    def __init__(self): self.w = ingot.ones(3)
    @functools.cached_property
    def v(self): return self.w * 2
c = C()
def fn(x): return x * c.v
def turn(i):
    c.w.add_(1)
    if i == 4: del c.__dict__["v"]
### del_side_effect
log = []
class T:
    def __init__(self, n): self.n = n
    def __del__(self): log.append(self.n)
def fn(x):
    t = T(1)
    return x * t.n
def seen(): return log
### module_class_forward_replaced
class Net(nn.Module):
    def forward(self, x): return x * 2
m = Net()
def fn(x): return m(x)
def turn(i):
    if i == 3: Net.forward = lambda self, x: x * 7
### module_class_method_replaced
class Net(nn.Module):
    def act(self, x): return x * 2
    def forward(self, x): return self.act(x)
m = Net()
def fn(x): return m(x)
def turn(i):
    if i == 3: Net.act = lambda self, x: x * 7
    if i == 5: m.act = lambda x: x * 9
### property_module_base_method_replaced
class Base(nn.Module):
    def act(self, x): return x * 2
class Net(Base):
    def forward(self, x): return self.act(x)
c = Net()
def fn(x): return c(x)
def turn(i):
    if i == 3: Base.act = lambda self, x: x * 9
    if i == 5: Net.act = lambda self, x: x * 5
### property_module_staticmethod_replaced
class Net(nn.Module):
    @staticmethod
    def g(x): return x * 2
    @classmethod
    def h(cls, x): return x + 1
    def forward(self, x): return self.h(self.g(x))
c = Net()
def fn(x): return c(x)
def turn(i):
    if i == 3: Net.g = staticmethod(lambda x: x * 9)
    if i == 5: Net.h = classmethod(lambda cls, x: x + 9)
### property_module_property_replaced
class Net(nn.Module):
    @property
    def v(self): return 2.0
    def forward(self, x): return x * self.v
c = Net()
def fn(x): return c(x)
def turn(i):
    if i == 4: Net.v = property(lambda self: 7.0)
### property_module_class_number
class Net(nn.Module):
    k = 2.0
    def forward(self, x): return x * self.k
c = Net()
def fn(x): return c(x)
def turn(i):
    if i >= 4: Net.k = float(i)
    if i == 6: c.k = 100.0
### property_side_effect
log = []
class C:
    @property
    def v(self):
        log.append(1); return 2.0
c = C()
def fn(x): return x * c.v
def seen(): return log
### property_chain_deep
class C:
    def __init__(self, n): self.n = n; self.k = 1.0
    @property
    def nxt(self): return self.n
c = C(C(C(None)))
def fn(x): return x * c.nxt.nxt.k + c.nxt.k
def turn(i): c.n.n.k = float(i); c.n.k = -float(i)
### property_tensor
class C:
    def __init__(self): self.w = ingot.ones(3)
    @property
    def v(self): return self.w * self.s
    s = 2.0
c = C()
def fn(x): return x * c.v + c.v.sum()
def turn(i): c.s = float(i); c.w.add_(1)
### property_setter_state
class C:
    def __init__(self): self._v = 1.0
    @property
    def v(self): return self._v
    @v.setter
    def v(self, a): self._v = a * 2
c = C()
def fn(x):
    c.v = c.v + 1
    return x * c.v
def seen(): return c._v
### property_module_state
class Net(nn.Module):
    def __init__(self): super().__init__(); self.cfg_ = NS(k=1.0)
    @property
    def cfg(self): return self.cfg_
    def forward(self, x): return x * self.cfg.k
m = Net()
def fn(x): return m(x)
def turn(i): m.cfg_.k = float(i)
### property_global_counter
n = 0
class C:
    @property
    def v(self):
        global n
        n += 1
        return n
c = C()
def fn(x): return x * c.v
def seen(): return n
### property_of_class_getter
def getter(self): return self.k * 2
class C:
    k = 1.0
    v = property(getter)
c = C()
def fn(x): return x * c.v
def turn(i):
    c.k = float(i)
    if i == 5: getter.__code__ = (lambda self: self.k * 100).__code__
### getattr_log
log = []
class C:
    def __getattr__(self, n):
        log.append(n); return 2.0
c = C()
def fn(x): return x * c.k
def seen(): return log
### getitem_log
log = []
class C:
    def __getitem__(self, n):
        log.append(n); return 2.0
c = C()
def fn(x): return x * c[3]
def seen(): return log
### thread_name
def fn(x): return x * len(threading.current_thread().name)
def turn(i): threading.current_thread().name = "m" * (i // 3 + 1)
### decimal_ctx
def fn(x): return x * float(decimal.Decimal(1) / decimal.Decimal(3))
def turn(i): decimal.getcontext().prec = 3 + i // 3
### mixin_super
class A:
    def f(self, x): return x * self.k
class B(A):
    def f(self, x): return super().f(x) + 1
class C(B):
    k = 2.0
    def f(self, x): return super().f(x) * 3
c = C()
def fn(x): return c.f(x)
def turn(i):
    if i == 3: c.k = 7.0
    if i == 5: A.f = lambda self, x: x - self.k
### partial_fn
d = {"k": 1.0}
fn = functools.partial(lambda x, d: x * d["k"], d=d)
def turn(i): d["k"] = float(i)
### library_getattr
space = {"__name__": "lib"}
LIBRARY = '''
class Cfg(dict):
    def __getattr__(self, name): return self[name]
    @property
    def v(self): return self["k"]
'''
exec(compile(LIBRARY, "/x/site-packages/lib.py", "exec"), space)
c = space["Cfg"](k=1.0)
def fn(x): return x * c.k + c.v
def turn(i): c["k"] = float(i)
### none_instead_of_a_list
c = NS(items=[1, 2])
def fn(x):
    for v in c.items or (): x = x * v
    return x
def turn(i):
    if i == 4: c.items = None
### attribute_of_a_function_deleted
def h(): return 1
h.k = 2.0
def fn(x): return x * getattr(h, "k", 7.0)
def turn(i):
    if i < 5: h.k = float(i)
    if i == 5: del h.k
### written_list_deleted
s = NS(a=[1.0])
def fn(x):
    s.a[0] = 2.0
    return x
def turn(i):
    if i < 3: s.a += [4.0]
    if i == 5: del s.a
def seen(): return vars(s)
### another_function_called_len
from math import fsum as len
numbers = [1.0, 2.0]
def fn(x): return x * len(numbers)
def turn(i):
    if i == 4: numbers[0] = 5.0
### library_list_grows
u = collections.UserList([1])
def fn(x):
    u.append(len(u))
    return x * len(u)
def seen(): return list(u)
### library_list_in_a_default
def h(a=collections.UserList([1.0])): return a
def fn(x): return x * sum(h())
def turn(i):
    if i == 4: h().append(2.0)
### chain_map_in_a_default
def h(a=collections.ChainMap({}, {"k": 1.0})): return a
def fn(x): return x * h()["k"]
def turn(i):
    if i == 3: h().maps[1]["k"] = 3.0
    if i == 5: h().maps[0]["k"] = 5.0
### attribute_of_a_subclass_appears
class Base:
    a = {}
    @classmethod
    def of_class(cls): return cls.a
class Sub(Base): pass
s = Sub()
def fn(x):
    x = x if s.of_class() is None else x + 1
    Sub.a = None
    return x
### list_in_a_context_variable
import contextvars
v = contextvars.ContextVar("v"); v.set([1])
def fn(x):
    v.get().append(len(v.get()))
    return x
def turn(i):
    if i == 4: v.set([3])
def seen(): return v.get()
### stored_behind_getitem
class T: k = 1.0
class Items:
    def __init__(self): self.d = {"a": T()}
    def __getitem__(self, k): return self.d[k]
s = Items()
def fn(x):
    s["a"].last = x
    return x * s["a"].k
def turn(i):
    if i == 3: s.d = {"a": T()}
def seen(): return vars(s.d["a"])
### object_of_a_class
class C: cfg = NS(k=1.0)
objects = [C()]
def fn(x):
    for o in objects: x = x * o.cfg.k
    return x
def turn(i):
    C.cfg.k = float(i)
    if i == 4: C.cfg = NS(k=7.0)
### descriptor_with_state
class D:
    def __init__(self): self.values = {"k": 1.0}
    def __get__(self, obj, owner=None): return self if obj is None else self.values["k"]
class C: k = D()
c = C()
def fn(x): return x * vars(C)["k"].values["k"]
def turn(i):
    vars(C)["k"].values["k"] = float(i)
    if i == 4: C.k = D()
### set_behind_a_descriptor_changed
class D:
    def __init__(self): self.values = {"k": {1, 2}}
    def __get__(self, obj, owner=None): return self if obj is None else self.values.get("k")
class C: k = D()
c = C()
def fn(x):
    c.k.discard(2)
    return x
def seen(): return sorted(c.k)
### descriptor_that_fails
class D:
    def __get__(self, obj, owner=None): return obj.missing
class C: k = D()
c = C()
def h(a=1): return a
def fn(x):
    with contextlib.suppress(Exception):
        print("value", h())
        return c.k
    return x
def turn(i): h.__defaults__ = (np.int64(2),)
### getattribute_that_computes
scale = [1.0]
class C:
    def __init__(self): self.k = 1.0
    def __getattribute__(self, name):
        found = object.__getattribute__(self, name)
        return found * scale[0] if name == "k" else found
c = C()
def fn(x): return x * c.k
def turn(i): scale[0] = float(i)
### given_container_replaced
c = NS(a={}, last=None)
def fn(x):
    c.last = c.a
    return c.a
def turn(i):
    if i % 3 == 2: c.a = {}
def seen(): return c.last is c.a
### given_record_from_outside
@dataclass
class R: a: object = 1
d = {"r": [R()]}
class C: last = None
c = C()
def fn(x): return d.get("r")[-1]
def turn(i):
    c.last = _wrapped(ingot.ones(3)) is d["r"][-1]
    if i == 4: d["r"] = [R(2)]
def seen(): return c.last
### attribute_of_an_argument_record
@dataclass
class R: a: object = 1
def fn(x, r): return x * getattr(r, "c", 2.0)
def args(i):
    r = R()
    if i % 3: r.c = float(i)
    return ingot.ones(3), r
### cached_property_of_an_argument_record
@dataclass
class R:
    a: object
    @functools.cached_property
    def double(self): return self.a * 2
def fn(x, r): return x * r.double + r.double
def args(i): return ingot.ones(3), R(ingot.ones(3) * i)
### argument_record_gains
@dataclass
class R: a: object = 1
def fn(x, r):
    r.c = 2
    return x
def args(i):
    global last
    last = R()
    return ingot.ones(3), last
def seen(): return vars(last)
### kept_result_changed
source = [collections.OrderedDict(a=1.0)]
@functools.lru_cache
def kept(): return source[0]
def fn(x): return x * kept()["a"]
def turn(i):
    if i == 4: kept()["a"] = 3.0
    if i == 6: del kept()["a"]
### number_of_a_class_seen_by_an_instance
class M(type):
    @property
    def k(cls): return cls._k
class A(metaclass=M): _k = 0
class B: k = 3
class C(B): pass
c = C()
def fn(x):
    A.k
    return x * c.k
def turn(i): C.k = c.k + 2
def seen(): return vars(C)["k"]
### stored_in_a_slotted_argument
class S:
    __slots__ = ("a",)
    def __repr__(self): return "S"
def fn(x, s):
    s.other = x
    return x
def args(i): return ingot.ones(3), S()
### copy_of_a_library_list
u = collections.UserList([1])
def fn(x): return copy.copy(u)
def turn(i): _wrapped(ingot.ones(3)).append(9)
### keywords_of_a_partial
p = functools.partial(lambda x, k: x, k=[1])
class C: same = None
c = C()
def fn(x): return getattr(p, "keywords", None)
def turn(i):
    c.same = _wrapped(ingot.ones(3)) is p.keywords
    if i == 4: p.keywords["k"].append(2)
def seen(): return c.same
### dictionary_in_a_partial
p = functools.partial(lambda d: d, {"a": 1})
def fn(x):
    p()["a"] += 1
    return x
def seen(): return p.args[0]
### order_changed_beside_a_number
d = {"a": 1, "b": 2}
def fn(x):
    d["a"] = d.pop("a")
    return {"loss": x.sum().item()}
### tensor_of_a_module_replaced
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = ingot.arange(3.0)
m = Net()
def fn(x): return x * getattr(m, "a", 7.0)
def turn(i):
    if i > 2: m.a = m.a + 1
### deep_copy_of_a_view
def fn(x): return copy.deepcopy(x) * 2
def args(i): return (ingot.arange(6.0)[::2],)
### copied_object_gains
c = NS(k=1.0)
def fn(x): return vars(copy.copy(c))
def turn(i):
    if i == 3: c.k = 3.0
    if i == 5: c.q = 4.0
### deep_copied_list_grows
c = NS(k=[1.0])
def fn(x): return copy.deepcopy(c)
def turn(i):
    if i == 4: c.k.append(2.0)
### lists_are_one_object
a = [1]; b = a
def same(p, q): return p is q
def fn(x): return x * (2 if a is b else 3) + (2 if same(b, a) else 3)
def turn(i):
    global b
    if i == 4: b = [1]
    if i == 6: b = a
### numbers_as_keys
c = NS(k=np.float32(0.5), n=3)
def fn(x): return [(type(k).__name__, k) for d in ({x.sum().item(): 1, c.k: 2}, dict.fromkeys([c.n])) for k in d], {c.k: x}
def turn(i): c.k = np.float32(i + 0.5); c.n = i
### type_of_what_a_comprehension_gave
class Items:
    def __init__(self, **d): self.d = d
    def __getitem__(self, k): return self.d[k]
    def __iter__(self): return iter(self.d)
s = Items(a=2.0)
def fn(x): return type([s[k] for k in s][0]).__name__
def turn(i): s.d = {"a": s["a"] * 2}
### type_of_a_numpy_number
c = NS(k=np.int64(2))
def fn(x): return type(c.k).__name__, isinstance(c.k, np.integer)
def turn(i): c.k = c.k + 1
"""

PROGRAMS = dict(part.split("\n", 1) for part in _TEXT.split("### ")[1:])
REFUSED = frozenset(("del_side_effect", "argument_record_gains", "deep_copy_of_a_view"))

# Recordings of eight calls, if more than four.
MOST = {"partial_fn": 8, "library_getattr": 8, "library_list_grows": 8, "list_in_a_context_variable": 8,
        "descriptor_with_state": 8, "descriptor_that_fails": 8, "dictionary_in_a_partial": 8,
        "type_of_what_a_comprehension_gave": 8, "numbers_as_keys": 8}
