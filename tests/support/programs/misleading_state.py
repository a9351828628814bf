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
"""

PROGRAMS = dict(part.split("\n", 1) for part in _TEXT.split("### ")[1:])
REFUSED = frozenset(("del_side_effect",))

# Recordings of eight calls, if more than four.
MOST = {"partial_fn": 8, "library_getattr": 8}
