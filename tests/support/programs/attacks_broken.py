"""Programs of strangers who want to break the tracer's rule, by the protocol of Python that they use.

Each is a module with a function `fn`. `args(i)` gives the arguments of call i, `turn(i)` changes state before it, and `after(i, result)` what the
call gave. Each of them broke it once.
"""

_TEXT = r'''
### partialmethod
class M:
    k = 2
    def sc(self, x, a, *, b=1): return x * a * b * self.k
    dbl = functools.partialmethod(sc, 2); tri = functools.partialmethod(sc, 3, b=2)
m = M()
def fn(x): return m.dbl(x) + m.tri(x)
def turn(i):
    if i == 2: M.k = 5
    if i == 3: M.dbl = functools.partialmethod(M.sc, 10)
    if i == 4: M.tri.keywords if False else None
    if i == 5: m.k = 0.5
### cached_property_reset
class A:
    def __init__(self): self.w = 2.0; self.n = 0
    @functools.cached_property
    def t(self): self.n += 1; return self.w * 3
a = A()
def fn(x): return x * a.t, a.n, "t" in vars(a)
def turn(i):
    if i == 2: a.w = 5.0
    if i == 3: del a.t
    if i == 5: a.__dict__.pop("t"); a.w = 1.0
### closures_in_loop
fs = [lambda x: x * k for k in range(3)]; gs = [lambda x, k=k: x * k for k in range(3)]
def fn(x):
    hs = []
    for j in range(3): hs.append(lambda x: x + j)
    return sum(f(x) for f in fs), sum(g(x) for g in gs), sum(h(x) for h in hs)
def turn(i):
    if i == 2: gs[0].__defaults__ = (10,)
    if i == 3: gs.pop()
    if i == 4: fs[0].__closure__[0].cell_contents = 7
### set_changed_behind_a_property
class s1Prop:
    def __init__(self, a): self._a = a
    @property
    def a(self): return self._a
    @a.setter
    def a(self, value): self._a = value
s1 = s1Prop(ingot.ones(3, requires_grad=True))
def fn(x):
    s1.a.pop()
    s1.a |= {4}
def turn(i):
    if i == 2: s1.a = {True, 2}
### array_in_a_context_variable
s4 = contextvars.ContextVar('s4')
s4.set(array.array('d', [1.0, 2.0]))
def fn(x): return x * s4.get()[0]
def turn(i):
    if i == 2: s4.get().pop(0)
### list_emptied_before_an_error
s1 = UserDict(a=[[1], [2]][0])
s2 = sys.modules['fuzzed_s2'] = types.ModuleType('fuzzed_s2')
s2.a = False
def h7(x, out):
    out.append(s1.data['a'][-1])
    del s1['a'][0]
    if s2.a > 1: x = x + 1
    yield x
def fn(x):
    out = []
    for x in h7(x, out): pass
    s1['a'].append(2)
def turn(i):
    if i == 5: del s2.a
### global_function_made_inside
def double(t): return t + t
def fn(x):
    def t9():
        global s2
        def s2(a=double): return a
    t9()
def turn(i):
    with contextlib.suppress(Exception):
        s2.__defaults__ = (ingot.tanh,)
### array_of_a_base_class
class s1Base: a = np.ones(3, 'f')
class s1Sub(s1Base): pass
s1 = s1Sub()
def fn(x): return super(s1Sub, s1).a.max() > 1
def turn(i):
    if i == 2: del s1Base.a
### lru_lazy
@functools.lru_cache(maxsize=None)
def g(t): return float(t.sum()) + k, t.mean().item(), [t.max().item()]
k = 1.0; w = ingot.arange(3.0)
def fn(x): return x * g(w)[0], g(w)
def turn(i):
    global k, w
    k = float(i)
    if i == 3: g.cache_clear()
    if i == 4: w = ingot.arange(4.0)[:3] * 2
### cp_lazy
class A:
    @functools.cached_property
    def t(self): return w.mean().item() + k, float(w.sum())
a = A(); k = 1.0; w = ingot.arange(3.0)
def fn(x): return x * a.t[0], a.t
def turn(i):
    global k, w
    k = float(i)
    if i == 3: del a.t
    if i == 4: w = ingot.arange(4.0)[:3] * 2; del a.t
### cp_lazy_arg
@dataclass
class A:
    k: float
    @functools.cached_property
    def t(self): return w.mean().item() * self.k
w = ingot.arange(3.0); last = None
def fn(x, a): return x * a.t, a.t
def args(i):
    global last
    last = A(float(i)); return ingot.ones(2), last
### suppress_redirect
def fn(x):
    f = io.StringIO()
    with contextlib.redirect_stdout(f): print("n", n)
    return x, f.getvalue()
n = 1
def turn(i):
    global n
    n = i // 2
### print_own_stream
n = 1; log = []
def fn(x):
    f = io.StringIO(); print("n", n, x.sum().item(), f"{x.max().item():.2f}", file=f, end="|")
    f.write(f"{n}"); print(f.getvalue()); return f.getvalue(), x
def turn(i):
    global n
    n = i // 2
### ast_visitor
class V(__import__("ast").NodeVisitor):
    def __init__(self): self.names = []
    def visit_Name(self, n): self.names.append(n.id); self.generic_visit(n)
import ast
tree = ast.parse("a + b * c")
def fn(x): v = V(); v.visit(tree); return v.names, x * len(v.names)
def turn(i):
    if i == 2: tree.body[0].value.left.id = "zz"
    if i == 4: V.visit_Name = lambda s, n: s.names.append("q")
### protocol_isinstance
@runtime_checkable
class HasK(Protocol):
    def k(self): ...
class A: pass
a = A()
def fn(x): return x * (2 if isinstance(a, HasK) else 3)
def turn(i):
    if i == 2: A.k = lambda s: 1
    if i == 4: del A.k
### abc_sized
class A: pass
a = A(); k = A()
def fn(x): return x * (2 if isinstance(a, collections.abc.Hashable) else 3), isinstance(k, (int, collections.abc.Iterable)), issubclass(A, collections.abc.Callable)
def turn(i):
    if i == 2: A.__call__ = lambda s: 0
    if i == 3: A.__hash__ = None
    if i == 4: A.__iter__ = lambda s: iter(())
    if i == 5: collections.abc.Sequence.register(A)
### json_encoder
class E(json.JSONEncoder):
    k = 2
    def default(self, o): return {"r": o.real * self.k, "i": o.imag}
d = {"z": 1 + 2j}
def fn(x): return json.dumps(d, cls=E), x * E.k
def turn(i):
    if i == 2: E.k = 5
    if i == 3: d["z"] = 3j
### enum_lookup_sym
class C(IntEnum): A = 0; B = 1; D = 2; E = 3; F = 4; G = 5
k = 1
def fn(x): return C(k).name, C(k) == k, x
def turn(i):
    global k
    k = i
### sym_np_ops
k = 1; n = np.int64(2); b = np.int8(100); f = np.float32(1.5); t = np.bool_(True)
def fn(x): return k + n, n + k, k == n, n == k, k < b, k * f, f - k, k / n, k // n, k % n, n ** k, k + t, k == t, max(k, n), x
def turn(i):
    global k
    k = i + 1
### sym_int_subclass
class I(int):
    def __radd__(self, o): return ("radd", int(self) + o)
    def __eq__(self, o): log.append(1); return int(self) == o
    def __hash__(self): return 1
    def __lt__(self, o): return "lt"
log = []
class C(IntEnum): A = 1; B = 2
k = 1; v = I(3)
def fn(x): return k + C.A, C.A + k, k == C.B, C.B == k, k < C.B, C.B * k, k == v, v == k, k + 2 == C(3 if k == 1 else 1), len(log), x
def turn(i):
    global k
    k = i + 1
### for_over_hop_gen
class A: pass
a = A()
def mk():
    k = 0
    while True: k += 1; yield k
a.g = mk()
def get(): return a
def fn(x):
    b = get(); h = [b]
    for v in h[0].g: break
    return x * v
### in_operator_iter
class A: pass
a = A(); a.it = iter(range(0, 100))
def get(): return a
def fn(x):
    h = [get()]
    return (3 in h[0].it), x
### star_iter
class A: pass
a = A(); a.it = iter([1, 2, 3])
def get(): return a
def fn(x):
    h = [get()]
    return [*h[0].it], x
### map_hop_loop
class A: pass
a = A(); a.f = zip(itertools.count(), map(str, iter([1,2,3,4,5,6,7])))
def get(): return a
def fn(x):
    h = [get()]
    for line in h[0].f: break
    return x, line
### list_of_gens_hop
def mk():
    while True: yield 1
class A: pass
a = A(); a.gs = [mk()]; n = [0]
def get(): return a
def fn(x):
    h = [get()]
    for g in h[0].gs:
        for v in g: break
    return x
### result_set
s = {1}
def fn(x): return s, {1, 2}, x
def after(i, r): r[0].add(i); r[1].add(50)
### result_bytearray
def fn(x): return bytearray(b"ab"), array.array("i", [1]), x
def after(i, r): r[0].append(1); r[1].append(2)
### result_type
class T: k = 1
def fn(x): return T, T(), type(x), x
def after(i, r): r[0].k += 1
### bare_class_kept
class R: pass
reg = []
def fn(x):
    r = R(); reg.append(r); r.n = 1
    return r, x
def after(i, r): r[0].n = 50
### class_made_appended
reg = []
def fn(x):
    class T: pass
    reg.append(T); return x
def after(i, r): reg[-1].k = i
### result_function_closure
n = 2
def fn(x): return sorted([3, 1], key=lambda v: -v * n), functools.partial(max, n)
def after(i, r): r[0].clear()
### lambda_in_dict_default
ops = {"a": lambda x, k=2: x * k, "b": functools.partial(lambda x, k: x + k, k=1)}
def fn(x):
    for o in ops.values(): x = o(x)
    return x
def turn(i):
    if i == 2: ops["a"].__defaults__ = (9,)
    if i == 3: ops["b"].keywords["k"] = 5
    if i == 4: ops["a"].__code__ = (lambda x, k=2: x - k).__code__
### staticmethod_default
class A:
    @staticmethod
    def f(x, k=2): return x * k
    @classmethod
    def g(cls, x, k=3): return x * k * cls.w
    w = 1
def fn(x): return A.f(x) + A.g(x) + A().f(x)
def turn(i):
    if i == 2: A.f.__defaults__ = (5,)
    if i == 3: A.g.__func__.__defaults__ = (7,)
    if i == 4: A.w = 2
### method_defaults_untracked
class A:
    def __init__(self): self.hs = [self.h]
    def h(self, x, k=2): return x * k
a = A()
def get(): return a
def fn(x):
    q = [get()]
    for f in q[0].hs: x = f(x)
    return x
def turn(i):
    if i == 2: A.h.__defaults__ = (5,)
    if i == 3: A.h.__code__ = (lambda self, x, k=2: x - k).__code__
### early_stopping
class Stop:
    best = float("inf"); bad = 0; patience = 2; stop = False
    def __call__(self, loss):
        if loss < self.best - 1e-4: self.best, self.bad = loss, 0
        else: self.bad += 1
        self.stop = self.bad >= self.patience
        return self.stop
stop = Stop()
def fn(x):
    loss = ((x - 2) ** 2).mean()
    return stop(loss.item()), stop.best, stop.bad
def turn(i):
    if i == 3: Stop.patience = 5
    if i == 4: stop.best = 100.0
### exec_module_state
code = "def g(x): return x * K"; ns = {"K": 2}; exec(code, ns)
def fn(x): return ns["g"](x)
def turn(i):
    if i == 2: ns["K"] = 5
    if i == 4: exec("def g(x): return x - K", ns)
### exec_eval
expr = "x * 2"; env = {"k": 3}
def fn(x): return eval(expr, {"x": x, **env}), eval("k + 1", env)
def turn(i):
    global expr
    if i == 2: expr = "x + k"
    if i == 3: env["k"] = 7
    if i == 5: expr = "x - 1"
### np_seeded_inside
def fn(x, s): return x * np.random.default_rng(s).normal(), np.random.RandomState(seed).rand()
seed = 3
def args(i): return ingot.ones(2), i // 2
def turn(i):
    global seed
    if i == 3: seed = 9
### iterator_class
class It:
    def __init__(self, n): self.n = n; self.made = 0
    def __iter__(self): self.made += 1; self.i = 0; return self
    def __next__(self):
        if self.i >= self.n: raise StopIteration
        self.i += 1; return self.i
it = It(3)
def fn(x):
    for k in it: x = x + k
    return x, it.made, it.i
def turn(i):
    if i == 2: it.n = 5
    if i == 4: it.made = 0
### custom_container_iter
class Ring:
    def __init__(self, *v): self.v, self.i = list(v), 0
    def __next__(self): r = self.v[self.i % len(self.v)]; self.i += 1; return r
ring = Ring(1, 2, 3)
def fn(x): return x * next(ring) + ring.__next__(), ring.i
def turn(i):
    if i == 3: ring.v.append(10)
    if i == 4: ring.i = 0
### generator_send_inside
def avg():
    n, s, v = 0, 0.0, None
    while True:
        v = yield (s / n if n else 0.0); n += 1; s += v * w
w = 1.0
def fn(x):
    g = avg(); next(g)
    return [g.send(v) for v in (1, 2, 3)], x
def turn(i):
    global w
    if i == 3: w = 2.0
### gen_closure_own
def fn(x):
    g = iter([1, 2, 3]); z = (v * 2 for v in g)
    def take(): return next(z)
    return x * take() + take(), [next(g) for _ in range(1)]
### userlist
ul = collections.UserList([1, 2])
def fn(x): ul.append(len(ul)); return x * ul[-1], ul[:2].data, len(ul + [1]), 2 in ul
def turn(i):
    if i == 3: ul.data.clear(); ul.extend([7, 7])
### userdict_write
u = UserDict(a=1.0); s = 1.0
def fn(x): u["a"] = u["a"] + s; u["n%d" % len(u)] = s; return x * u["a"], len(u)
def turn(i):
    global s
    s = float(i)
    if i == 3: u["a"] = 50.0
### chainmap_write
c = ChainMap({}, {"a": 1.0})
def fn(x): c["a"] = c["a"] + 1; return x * c["a"], c.maps[0]
def turn(i):
    if i == 3: del c["a"]
### super_mid_inserted
class A:
    def f(self): return 1
class M(A): pass
class B(M):
    def f(self): return super().f() + 10
o = B()
def fn(x): return x * o.f()
def turn(i):
    if i == 2: M.f = lambda s: 100
    if i == 4: del M.f
### return_hop_things
class O: pass
o = O(); o.ba = bytearray(b"q"); o.d = {"p": functools.partial(max, 1), "l": [lambda: 1]}
def get(): return o
def fn(x): h = [get()]; return h[0].ba, h[0].d["p"], h[0].d["l"][0], h[0], x
### attribute_hides_that_of_its_class
class B: pass
B.a = ingot.tanh
s2 = B()
def fn(x): s2.a = ingot.tanh
def turn(i):
    if i == 4: del s2.a
### refused_copy_is_caught
class M(type):
    @property
    def a(cls): return cls._a
class s2(metaclass=M): _a = range(3)
def fn(x):
    out = []
    with contextlib.suppress(Exception): out.append(copy.copy(s2.a))
    return x, out
def turn(i): s2._a = ingot.ones(3)
### swallowed
t = ingot.ones(3)
def fn(x):
    try: n = x.data_ptr()
    except Exception: n = 5
    return n > 0, x
### swallowed_host
def fn(x):
    @ingot.jit.host
    def h(v): return 5
    try: return h(x), x
    except RuntimeError: return "err", x
### attr_put_back_class
class A: n = 1
a = A(); a.n = 1
def fn(x): a.n = 1; return x * A.n
def turn(i):
    if i == 2: del a.n
    if i == 4: A.n = 5
### class_of_an_argument
kinds = [ingot.ones(2, requires_grad=True), nn.Parameter(ingot.ones(2))]
def fn(x, t): return x.sum() * t * (2 if isinstance(t, nn.Parameter) else 3), type(t).__name__
def args(i): return ingot.tensor([1., 2.]), kinds[i % 2]
### class_of_a_parameter
class Q(nn.Parameter):
    k = 2.
    def eff(self): return self * self.k
    @property
    def half(self): return self / 2
m = nn.Module(); m.w = Q(ingot.ones(3))
def fn(x): return x * m.w.eff() + m.w.half
def turn(i):
    if i == 2: Q.k = 3.
    if i == 3: Q.half = property(lambda self: self * 0)
    if i == 4: m.w.eff = lambda: ingot.ones(3)
### method_added_to_tensors
def fn(x): return x.added_by_a_program()
def turn(i):
    k = 1 + i // 2
    ingot.Tensor.added_by_a_program = lambda self: self * k
### frames
K = 2
def fn(x): return x * sys._getframe().f_globals["K"]
def turn(i):
    global K
    K = i
### names_in_globals
def fn(x): return x * globals().get("later", 1) + ("later" in globals())
def turn(i):
    if i == 2: globals()["later"] = 5
    if i == 4: del globals()["later"]
### names_in_globals_by_value
a1 = 1; a2 = 2
def fn(x): return x * sum(v for k, v in list(globals().items()) if k in ("a1", "a2", "a3"))
def turn(i):
    if i == 2: globals()["a2"] = 7
    if i == 3: globals()["a3"] = 7
### getattr_of_a_module
mod = types.ModuleType("lazy_one"); mod.__getattr__ = lambda name: 5
def fn(x): return x * getattr(mod, "alpha", 1)
def turn(i):
    if i == 2: mod.__getattr__ = lambda name: 6
    if i == 3: mod.alpha = 3
### module_by_its_name
K = 2
def fn(x): return x * sys.modules[by_name].K
by_name = "a_module_of_a_program"; sys.modules[by_name] = types.ModuleType(by_name); sys.modules[by_name].K = 2
def turn(i): sys.modules[by_name].K = i // 2
### method_by_type
class P:
    @functools.singledispatchmethod
    def go(self, v): return 0
    @go.register
    def _(self, v: int): return v + 1
p = P()
def fn(x): return x + p.go("s") + p.go(1)
def turn(i):
    if i == 2: P.__dict__["go"].register(str, lambda self, v: 1000)
### transform_of_a_distribution
D = ingot.distributions
step = D.transforms.AffineTransform(0., 2.); d = D.TransformedDistribution(D.Normal(0., 1.), [step])
def fn(x): return d.log_prob(x)
def turn(i):
    if i == 2: step.scale = 3.
    if i == 3: d.base_dist.loc = ingot.tensor(5.)
    if i == 4: d.transforms.pop()
### children_of_modules_in_a_list
blocks = [nn.Module(), nn.Module()]
for b in blocks: b.act = nn.Tanh()
def fn(x):
    for b in blocks: x = b.act(x)
    return x
def turn(i):
    if i == 2: blocks[0].act = nn.ReLU()
    if i == 4: blocks[1]._modules["act"] = nn.Identity()
### parameters_of_modules_by_a_function
nets = {"a": nn.Linear(3, 3, bias=False), "b": nn.Linear(3, 3, bias=False)}
for n in nets.values(): n.weight.data.fill_(1.)
def pick(name): return nets.get(name)
def fn(x): return sum(pick(name).weight @ x for name in ("a", "b"))
def turn(i):
    if i == 2: nets["a"].weight = nn.Parameter(ingot.zeros(3, 3))
    if i == 4: nets["b"].weight.data = ingot.zeros(3, 3)
### schedules_in_a_loop
ws = [nn.Parameter(ingot.ones(2)) for _ in range(2)]
opts = [optim.SGD([w], 0.1) for w in ws]; schedules = [optim.lr_scheduler.ExponentialLR(o, 0.5) for o in opts]
def fn(x):
    sum([(w * x.sum()).sum() for w in ws]).backward()
    for o, s in zip(opts, schedules): o.step(); s.step()
    return [w.clone() for w in ws], [o.param_groups[0]["lr"] for o in opts]
def turn(i):
    if i == 3: schedules[1].gamma = 3.0
### walk_over_modules_overridden
class Net(nn.Module):
    def __init__(self): super().__init__(); self.l = nn.Linear(3, 3)
    def forward(self, x): return self.l(x)
net = Net()
def fill(m):
    if hasattr(m, "bias"): m.bias.data.fill_(1.0)
def fn(x): net.apply(fill); return net(x), [name for name, _ in net.named_modules()]
def turn(i):
    if i == 2: Net.named_modules = lambda self, *args, **options: [("one", 1)]
### function_that_runs_backward_later
class Fn(ingot.autograd.Function):
    @staticmethod
    def forward(ctx, x): return x * 2
    @staticmethod
    def backward(ctx, g): return g * 3
w = nn.Parameter(ingot.ones(3))
def fn(x): return Fn.apply(x * w).sum()
def after(i, r): w.grad = None; r.backward()
def turn(i):
    if i == 2: Fn.forward = staticmethod(lambda ctx, x: x * 5)
    if i == 4: Fn.backward = staticmethod(lambda ctx, g: g * 0)
### function_with_a_rule_of_its_base
class Base(ingot.autograd.Function):
    @staticmethod
    def forward(ctx, x): return x * 2
    @staticmethod
    def vjp(ctx, g): return g * 3
class Fn(Base): pass
w = nn.Parameter(ingot.ones(3)); kinds = {"a": Fn}
def fn(x): return kinds["a"].apply(x * w).sum()
def after(i, r): w.grad = None; r.backward()
def turn(i):
    if i == 2: Base.vjp = staticmethod(lambda ctx, g: g * 5)
    if i == 3: Fn.vjp = staticmethod(lambda ctx, g: g * 7)
    if i == 4: Base.backward = staticmethod(lambda ctx, g: g * 0)
### function_with_a_jvp_alone
class Fn(ingot.autograd.Function):
    @staticmethod
    def forward(ctx, x): return x * 2
    @staticmethod
    def jvp(ctx, t): return t * 3
w = nn.Parameter(ingot.ones(3))
def fn(x): return Fn.apply(x * w).sum()
def after(i, r): w.grad = None; r.backward()
def turn(i):
    if i == 2: Fn.jvp = staticmethod(lambda ctx, t: t * 5)
### attributes_as_a_result
class A: pass
a = A(); a.k = 1
def fn(x): return x * a.k, vars(a)
def turn(i):
    if i == 4: a.k = 2
### index_that_is_a_bool
class At:
    def __init__(self, n): self.n = n
    def __index__(self): return self.n
at = At(1)
def fn(x): return x[at], x[at:]
def turn(i):
    if i == 3: at.n = True
### rates_of_a_schedule_of_an_own_class
class Own(optim.lr_scheduler.StepLR): pass
w = nn.Parameter(ingot.ones(3)); opt = optim.SGD([w], 0.1); schedule = Own(opt, 2)
def fn(x): return x, schedule.get_last_lr(), opt.param_groups[0]["lr"], schedule.last_epoch
def turn(i): opt.step(); schedule.step()
### hooks_of_state_dicts
net = nn.Linear(2, 2)
def fn(x): return x, {n: v * 1 for n, v in net.state_dict().items()}
def turn(i):
    if i == 2: net.register_state_dict_pre_hook(lambda m, prefix, keep: m.bias.data.zero_())
    if i == 4: net.register_state_dict_post_hook(lambda m, state, prefix, local: state.update(more=ingot.ones(1)))
### hooks_of_loading
net = nn.Linear(2, 2); state = {"weight": ingot.ones(2, 2), "other": ingot.ones(1)}
def fn(x):
    r = net.load_state_dict(state, strict=False)
    return net(x[:2]), list(r.missing_keys), list(r.unexpected_keys)
def turn(i):
    if i == 2: net.register_load_state_dict_post_hook(lambda m, keys: keys.missing_keys.clear())
    if i == 4: net.register_load_state_dict_pre_hook(lambda m, state, *a: state.pop("other"))
### hooks_of_an_optimizers_state_dict
class Own(optim.SGD): pass
w = nn.Parameter(ingot.ones(2)); opt = Own([w], 0.1)
def fn(x):
    opt.zero_grad(); (w * x[:2]).sum().backward(); opt.step()
    return list(opt.state_dict()), w.detach() * 1
def turn(i):
    if i == 2: opt.register_state_dict_post_hook(lambda o, state: state.update(more=1))
    if i == 4: opt.register_state_dict_pre_hook(lambda o: w.data.zero_())
### options_that_an_optimizer_shows
w = nn.Parameter(ingot.ones(2)); opt = optim.Adam([w], 0.1)
def fn(x): return x, opt.state_dict(), f"{opt}"
def turn(i):
    if i == 1: opt.param_groups[0]["lr"] = 0.5
    if i == 2: w.sum().backward(); opt.step()
    if i == 3: opt.param_groups[0]["more"] = "a"
    if i == 4: opt.param_groups[0]["betas"] = (0.5, 0.6)
    if i == 5: opt.add_param_group({"params": [nn.Parameter(ingot.ones(1))]})
### rate_in_the_state_dict_of_a_step
w = nn.Parameter(ingot.ones(2)); opt = optim.SGD([w], 0.1, momentum=0.9)
def fn(x):
    opt.zero_grad(); (w * x[:2]).sum().backward(); opt.step()
    return opt.state_dict()["param_groups"][0]["lr"], w.detach() * 1
def turn(i): opt.param_groups[0]["lr"] = 0.1 / (i + 1)
### copied_optimizer
w = nn.Parameter(ingot.ones(2)); opt = optim.SGD([w], 0.1, momentum=0.9)
def fn(x):
    other = copy.deepcopy(opt)
    return other.param_groups[0]["lr"] * x, other.param_groups[0]["params"][0] * 1
def turn(i):
    if i == 2: opt.param_groups[0]["lr"] = 0.2
    if i == 3: w.data.add_(1)
    if i == 4: opt.param_groups[0]["params"][0] = nn.Parameter(ingot.zeros(2))
### datasets
U = ingot.utils.data
a, b = U.TensorDataset(ingot.arange(6.0)), [1.0, 2.0]; sub = U.Subset(a, [0, 2]); both = U.ConcatDataset([sub, b])
def fn(x): return sub[1][0] * x, both[3], len(both), len(sub)
def turn(i):
    if i == 2: sub.indices[1] = 4
    if i == 3: sub.indices = [5, 5, 5]; b[1] = 7.0
    if i == 4: sub.dataset = U.TensorDataset(ingot.ones(6))
    if i == 5: both.datasets.reverse()
### loaders_and_samplers
U = ingot.utils.data; data = [ingot.ones(2), ingot.zeros(2)]
order = U.SequentialSampler(data); batches = U.BatchSampler(order, 2, False); loader = U.DataLoader(data, batch_sampler=batches)
def fn(x): return [b.sum() * x for b in loader], len(loader), list(batches), list(order)
def turn(i):
    if i == 1: data.append(ingot.ones(2) * 3)
    if i == 2: batches.batch_size = 1
    if i == 3: batches.drop_last = True
    if i == 4: order.data_source = range(2)
    if i == 5: loader.collate_fn = lambda b: b[0] * 10
### seeds_of_loaders
U = ingot.utils.data; data = U.TensorDataset(ingot.arange(6.0)); shuffled = U.DataLoader(data, batch_size=2, shuffle=True)
drawn = U.RandomSampler(range(5), replacement=True)
def fn(x): return [b[0] * 1 for b in shuffled], list(drawn)
### rules_of_divergences
D = ingot.distributions
class Own(D.Normal): pass
p, q = Own(0.0, 1.0), D.Normal(ingot.zeros(3), 2.0)
def fn(x): return ingot.distributions.kl_divergence(p, q) * x
def turn(i):
    if i == 2: D.register_kl(Own, D.Normal)(lambda p, q: ingot.ones(3) * 7)
    if i == 4: D.register_kl(Own, D.Normal)(lambda p, q: ingot.ones(3) * 9)
### default_check_of_distributions
D = ingot.distributions
def fn(x):
    try: D.Normal(x, -1.0)
    except ValueError: return "refused", x
    return "made", x
def turn(i):
    if i == 2: D.Distribution.set_default_validate_args(False)
    if i in (0, 4): D.Distribution.set_default_validate_args(True)
### hooks_on_registration
net = nn.Module(); net.register_buffer("c", ingot.zeros(3)); seen = []; handles = []
def note(m, name, b): seen.append(name); return b * 10
def fn(x): net.register_buffer("c", x + 1); return net.c * 1, len(seen)
def turn(i):
    if i == 2: handles.append(nn.modules.module.register_module_buffer_registration_hook(note))
    if i == 4: handles.pop().remove()
### collated_numbers
U = ingot.utils.data
def fn(x):
    return U.default_collate([1.0, 2.0]), U.default_collate([1, 2]), U.default_collate([np.ones(2), np.zeros(2)]), x
def after(i, r):
    for t in r: t.add_(1)
### arrays_of_the_array_api
import ingot.array_api as xp
z = ingot.tensor([1 + 2j, 3 - 1j])
def fn(x): return xp.real(z), xp.imag(z), xp.conj(z)
def after(i, r):
    for t in r: t.mul_(0)
### tensors_over_an_array
a = np.ones(2); kept = []
def fn(x):
    t = ingot.from_numpy(a); kept.append(t[1:])
    return t * x[:2], t.reshape(1, 2)
def after(i, r): r[1][0, 0] = float(i)
def turn(i):
    if i == 4: a[0] = 9
### tensor_attribute_hides_a_method
w = ingot.ones(3)
def fn(x): return x + w.detach()
def turn(i):
    if i == 3: w.detach = lambda: ingot.full((3,), 7.)
    if i == 5: del w.detach
### tensor_attribute_hides_a_bound_method
w = ingot.ones(3)
def fn(x):
    m = w.relu
    return x + m()
def turn(i):
    if i == 3: w.relu = lambda: ingot.full((3,), 7.)
### interpreter_of_an_edited_graph
class Net(nn.Module):
    def forward(self, x): return x.relu() + 1
gm = ingot.fx.symbolic_trace(Net()); it = ingot.fx.Interpreter(gm)
def fn(x): return it.run(x), ingot.fx.Interpreter(gm).run(x - 1)
def turn(i):
    nodes = {n.name: n for n in gm.graph.nodes}
    if i == 3: nodes["relu"].target = "neg"
    if i == 5: nodes["add"].args = (nodes["relu"], 5)
### nodes_of_an_edited_graph
class Net(nn.Module):
    def forward(self, x): return x.relu() + 1
gm = ingot.fx.symbolic_trace(Net())
def fn(x): return x * sum(len(str(n.target)) for n in gm.graph.nodes), [n.op for n in gm.graph.nodes]
def turn(i):
    if i == 3: [n for n in gm.graph.nodes if n.name == "relu"][0].target = "sigmoid"
### lazy_attribute_of_a_distribution_dropped
d = ingot.distributions.MultivariateNormal(ingot.zeros(2), precision_matrix=ingot.eye(2) * 2); d.covariance_matrix
def fn(x): return x + 1, sorted(vars(d)), repr(d)
def turn(i):
    if i == 3: del d.covariance_matrix
    if i == 5: d.scale_tril
### lazy_attribute_of_a_distribution_filled
p, q = [ingot.distributions.MultivariateNormal(ingot.zeros(3), precision_matrix=ingot.eye(3) * k) for k in (2, 3)]
def fn(x): return ingot.distributions.kl_divergence(p, q) + x, sorted(vars(p))
def turn(i):
    if i == 3: del vars(p)["scale_tril"]
### one_of_two_equal_bound_methods
class C:
    def m(self): return 1
c = C(); f = c.m; g = [f]; net = nn.Identity(); net.f = net.g = f
def same(a, b): return a is b
def fn(x): return x, f is g[0], same(f, g[0]), net.f is net.g, id(f) == id(g[-1])
def turn(i):
    if i == 3: g[0] = c.m
    if i == 5: net.g = c.m
### strides_of_dims_of_one_element
places = [((1, 3), (3, 1)), ((2, 3), (3, 1)), ((1, 3), (7, 1)), ((3, 1), (1, 1)), ((3, 1), (1, 9)), ((1, 1), (5, 7)), ((5, 3), (3, 1)), ((1, 4), (4, 1))]
def args(i): return ingot.as_strided(ingot.arange(64.), *places[i % len(places)]),
def fn(x): return x.stride(), x.mT.stride(), x[:, :1].stride(), (x * 2)[:, :1].stride(), x[-1:].stride(), x.mT.is_contiguous(), x.diagonal().is_contiguous()
'''


def parsed(text):
    """Return the programs of a text by name."""
    return {name: body for name, _, body in (part.partition("\n") for part in text.split("### ")[1:])}


PROGRAMS = parsed(_TEXT)

# Programs that raise `TraceError`.
REFUSED = frozenset((
    "for_over_hop_gen", "in_operator_iter", "list_of_gens_hop", "map_hop_loop", "refused_copy_is_caught",
    "result_function_closure", "star_iter", "swallowed", "swallowed_host",))
