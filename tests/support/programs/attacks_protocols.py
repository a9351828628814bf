"""Programs of strangers who want to break the tracer's rule, by the protocol of Python that they use.

Each is a module with a function `fn`. `args(i)` gives the arguments of call i, `turn(i)` changes state before it, and `after(i, result)` what the
call gave.
"""

from attacks_broken import parsed

_TEXT = r'''
### ema_weights
net = nn.Linear(3, 3); ema = copy.deepcopy(net); decay = [0.9]
def fn(x):
    with ingot.no_grad():
        for p, q in zip(ema.parameters(), net.parameters()): p.mul_(decay[0]).add_(q, alpha=1 - decay[0])
    return ema(x)
def turn(i):
    if i == 2: decay[0] = 0.5
    if i == 3:
        with ingot.no_grad(): net.weight.fill_(1.0)
    if i == 4: globals()["ema"] = copy.deepcopy(net)
### gan_step
G, D = nn.Linear(3, 3), nn.Linear(3, 1); og = optim.Adam(G.parameters(), 0.1); od = optim.Adam(D.parameters(), 0.1); hist = {"g": [], "d": []}; every = 2; count = 0
def fn(x):
    global count
    count += 1
    fake = G(x)
    od.zero_grad(); ld = F.softplus(-D(x)).mean() + F.softplus(D(fake.detach())).mean(); ld.backward(); od.step(); hist["d"].append(ld.item())
    if count % every == 0:
        og.zero_grad(); lg = F.softplus(-D(fake)).mean(); lg.backward(); og.step(); hist["g"].append(lg.item())
    return count
def turn(i):
    global every
    if i == 4: every = 1
    if i == 5: hist["g"].clear()
### replay_buffer_deque
buf = deque(maxlen=3)
def fn(x):
    buf.append((x, float(x.sum()), len(buf)))
    return ingot.stack([b[0] for b in buf]).mean(0), [b[1] for b in buf], [b[2] for b in buf]
def turn(i):
    global buf
    if i == 3: buf.popleft()
    if i == 4: buf = deque(buf, maxlen=2)
### replay_buffer_numpy
class Buf:
    def __init__(self, n): self.data = np.zeros((n, 3), "f"); self.pos = 0; self.full = False
    def add(self, x): self.data[self.pos] = x.numpy(); self.pos += 1; self.full = self.full or self.pos == len(self.data); self.pos %= len(self.data)
    def all(self): return self.data if self.full else self.data[:self.pos]
buf = Buf(3)
def fn(x):
    buf.add(x)
    return ingot.tensor(buf.all()).sum(0)
### own_scheduler
class Warmup:
    def __init__(self, opt, n): self.opt, self.n, self.t = opt, n, 0
    def step(self):
        self.t += 1
        for g in self.opt.param_groups: g["lr"] = 0.1 * min(1, self.t / self.n) * (0.5 ** (self.t // 4))
w = nn.Parameter(ingot.ones(3)); opt = optim.SGD([w], 0.1, momentum=0.9); sched = Warmup(opt, 3)
def fn(x):
    opt.zero_grad(); ((w * x) ** 2).sum().backward(); opt.step(); sched.step()
    return w.detach().clone(), opt.param_groups[0]["lr"]
def turn(i):
    if i == 3: sched.n = 10
    if i == 4: sched.t = 0
### curriculum
class Cur:
    stages = [(0, 1.0), (2, 2.0), (4, 3.0)]
    def __init__(self): self.i = 0
    def level(self):
        r = [v for s, v in self.stages if s <= self.i][-1]; self.i += 1; return r
cur = Cur()
def fn(x): return x * cur.level()
def turn(i):
    if i == 3: Cur.stages = [(0, 7.0)]
    if i == 4: cur.stages = ((0, 8.0), (5, 9.0))
### metric_accumulator
class Meter:
    def __init__(self): self.reset()
    def reset(self): self.sum = 0.0; self.n = 0
    def update(self, v, k=1): self.sum += v * k; self.n += k
    @property
    def avg(self): return self.sum / max(self.n, 1)
meters = defaultdict(Meter)
def fn(x):
    meters["loss"].update(x.mean().item(), len(x)); meters["max"].update(float(x.max()))
    return meters["loss"].avg, {k: m.avg for k, m in meters.items()}
def turn(i):
    if i == 2: meters["loss"].reset()
    if i == 4: meters.pop("max")
### lru_memo
calls = []
@functools.lru_cache(maxsize=2)
def coef(n): calls.append(n); return n * scale
scale = 2.0
def fn(x, n): return x * coef(n)
def args(i): return ingot.ones(3), [1, 2, 1, 3, 1, 2][i]
def turn(i):
    global scale
    if i == 2: scale = 3.0
### registry_decorator
REG = {}
def register(f): REG[f.__name__] = f; return f
@register
def relu(x): return x.relu()
@register
def neg(x): return -x
def fn(x):
    for k in sorted(REG): x = REG[k](x)
    return x, list(REG)
def turn(i):
    if i == 2:
        @register
        def aaa(x): return x + 10
    if i == 4: del REG["neg"]
### argparse_ns
ns = argparse.Namespace(lr=0.1, mode="a", verbose=False)
def fn(x):
    if ns.verbose: print("v", ns)
    return x * ns.lr if ns.mode == "a" else x + ns.lr, "lr" in ns
def turn(i):
    if i == 2: ns.mode = "b"
    if i == 3: ns.verbose = True
    if i == 4: del ns.lr; ns.lr = 5
### dataclass_cfg_nested
@dataclass
class O: lr: float = 0.1; betas: tuple = (0.9, 0.99)
@dataclass
class C: opt: O = field(default_factory=O); name: str = "c"; tags: list = field(default_factory=list)
cfg = C()
def fn(x): return x * cfg.opt.lr * cfg.opt.betas[0], cfg.name + str(len(cfg.tags)), cfg == C()
def turn(i):
    global cfg
    if i == 1: cfg.tags.append(1)
    if i == 2: cfg.opt = dataclasses.replace(cfg.opt, betas=(0.5, 0.5))
    if i == 3: cfg = dataclasses.replace(cfg, name="d")
    if i == 4: cfg.opt.lr = 1
    if i == 5: cfg = C()
### frozen_dataclass_arg
@dataclass(frozen=True)
class P: k: int; s: str = "x"
def fn(x, p): return x * p.k, p.s * p.k, hash(p) == hash(P(p.k, p.s))
def args(i): return ingot.ones(2), [P(1), P(2), P(2, "y"), P(1), P(True), P(1.0, "")][i] if i < 5 else P(3)
### enum_flags
class Mode(Flag): A = auto(); B = auto(); AB = A | B
mode = Mode.A
def fn(x):
    if Mode.A in mode: x = x + 1
    if mode & Mode.B: x = x * 10
    return x, mode.name, mode.value, mode == Mode.AB
def turn(i):
    global mode
    if i == 2: mode = Mode.AB
    if i == 3: mode = Mode.B
    if i == 4: mode = Mode(0)
### intenum_arith
class L(IntEnum): LO = 1; HI = 3
lv = L.LO
def fn(x): return x * lv, lv + 1, f"{lv!r}", lv.name, list(L)[lv > 1]
def turn(i):
    global lv
    if i == 2: lv = L.HI
    if i == 4: lv = 1
    if i == 5: lv = L.LO
### os_environ
def fn(x): return x * float(os.environ.get("ATTACK_SCALE", "2")), "ATTACK_X" in os.environ, os.getenv("ATTACK_X")
def turn(i):
    os.environ.pop("ATTACK_X", None) if i == 0 else None
    os.environ["ATTACK_SCALE"] = str(i // 2)
    if i == 3: os.environ["ATTACK_X"] = "1"
    if i == 4: del os.environ["ATTACK_X"]
### context_manager_state
depth = 0; log = []
class Scope:
    def __init__(self, n): self.n = n
    def __enter__(self):
        global depth
        depth += 1; log.append((self.n, depth)); return self
    def __exit__(self, *e):
        global depth
        depth -= 1; return e[0] is ZeroDivisionError
def fn(x):
    with Scope("a"), Scope("b") as s:
        y = x * depth
        1 / 0
    return y, depth, len(log)
def turn(i):
    global depth
    if i == 3: depth = 5
### contextmanager_gen
stack = [1.0]
@contextlib.contextmanager
def scaled(k):
    stack.append(k)
    try: yield stack[-1] * stack[-2]
    finally: stack.pop()
def fn(x):
    with scaled(2.0) as a, scaled(3.0) as b: return x * a * b, list(stack)
def turn(i):
    if i == 2: stack[0] = 4.0
    if i == 4: stack.append(9.0)
### decorator_counter
def counted(f):
    @functools.wraps(f)
    def w(*a, **k): w.calls += 1; return f(*a, **k) * w.calls
    w.calls = 0; return w
@counted
def g(x): return x + 1
def fn(x): return g(x) + g(x), g.calls
def turn(i):
    if i == 3: g.calls = 0
    if i == 4: g.__wrapped__ = None
### generator_inside
def batches(n):
    k = start
    while k < n: yield k; k += step_
start, step_ = 0, 1
def fn(x): return sum(x * k for k in batches(4)), list(batches(3))
def turn(i):
    global start, step_
    if i == 2: step_ = 2
    if i == 4: start = 1
### property_counter
class A:
    def __init__(self): self.reads = 0; self._v = 1.0
    @property
    def v(self): self.reads += 1; return self._v * self.reads
    @v.setter
    def v(self, y): self._v = y
a = A()
def fn(x): return x * a.v + a.v, a.reads
def turn(i):
    if i == 2: a.v = 3.0
    if i == 4: a.reads = 0
### getattr_dynamic
class Lazy:
    def __init__(self): self.made = {}
    def __getattr__(self, n):
        if n.startswith("w_"):
            return self.made.setdefault(n, float(len(n)))
        raise AttributeError(n)
z = Lazy()
def fn(x, n): return x * getattr(z, "w_" + n), hasattr(z, "q"), sorted(z.made)
def args(i): return ingot.ones(2), "abcdef"[: 1 + i % 3]
def turn(i):
    if i == 2: z.w_a = 100.0
    if i == 4: z.q = 1
### metaclass_registry
class Meta(type):
    reg = {}
    def __new__(m, n, b, d): c = super().__new__(m, n, b, d); m.reg[n] = c; return c
    def __call__(cls, *a): cls.n = getattr(cls, "n", 0) + 1; return super().__call__(*a)
class Base(metaclass=Meta):
    def __init__(self, k): self.k = k
    def __mul__(self, x): return x * self.k
def fn(x): return Base(2) * x, Base.n, sorted(Meta.reg)
def turn(i):
    if i == 2:
        class D(Base): pass
    if i == 4: Base.n = 100
### descriptor_validator
class Pos:
    def __set_name__(self, o, n): self.n = "_" + n; self.sets = 0
    def __get__(self, o, t=None): return self if o is None else getattr(o, self.n, self.default)
    def __set__(self, o, v): self.sets += 1; setattr(o, self.n, abs(v))
    default = 1.0
class Cfg: lr = Pos(); mom = Pos()
c = Cfg()
def fn(x):
    c.mom = -c.lr
    return x * c.lr + c.mom, Cfg.mom.sets
def turn(i):
    if i == 2: c.lr = -3
    if i == 3: Pos.default = 9.0
    if i == 4: del c._lr
### chainmap_scopes
base, over = {"a": 1, "b": 2}, {}
cm = ChainMap(over, base)
def fn(x):
    y = x * cm["a"] + cm["b"]
    child = cm.new_child({"b": 100})
    return y * child["b"], dict(cm), len(cm), list(child.parents)
def turn(i):
    if i == 1: over["a"] = 10
    if i == 2: base["b"] = 5
    if i == 3: cm.maps.append({"c": 0})
    if i == 4: del over["a"]
### defaultdict_factory
n = itertools.count()
dd = defaultdict(lambda: len(dd) + bias); bias = 0.5
def fn(x, k): return x * dd[k], len(dd)
def args(i): return ingot.ones(2), "abacbd"[i]
def turn(i):
    global bias
    if i == 3: bias = 10
### heap_pq
heap = [(3, "c"), (1, "a"), (2, "b")]; heapq.heapify(heap)
def fn(x):
    p, k = heapq.heappop(heap)
    heapq.heappush(heap, (p + 3, k + "!"))
    return x * p, k, heap[0]
def turn(i):
    if i == 3: heapq.heappush(heap, (0, "z"))
### bisect_milestones
ms = [2, 4]; ep = 0
def fn(x):
    global ep
    ep += 1
    return x * 0.5 ** bisect.bisect_right(ms, ep), bisect.bisect(ms, ep)
def turn(i):
    if i == 3: bisect.insort(ms, 1)
### counter_vocab
voc = Counter()
def fn(x, w):
    voc.update(w); voc["z"] += 1
    return x * voc[w[0]], voc.most_common(2), voc.total()
def args(i): return ingot.ones(1), "abcabc"[i] + "zz"
def turn(i):
    if i == 3: voc.subtract("zz")
### ordereddict_lru
class LRU:
    def __init__(self, n): self.n, self.d = n, OrderedDict()
    def get(self, k, f):
        if k in self.d: self.d.move_to_end(k); return self.d[k]
        self.d[k] = f(k)
        if len(self.d) > self.n: self.d.popitem(last=False)
        return self.d[k]
lru = LRU(2)
def fn(x, k): return x * lru.get(k, lambda k: k * 10.0), list(lru.d)
def args(i): return ingot.ones(2), [1, 2, 1, 3, 1, 2][i]
### singledispatch
@functools.singledispatch
def enc(v, x): return x
@enc.register
def _(v: int, x): return x * v
@enc.register(str)
def _(v, x): return x + len(v)
def fn(x, v): return enc(v, x)
def args(i): return ingot.ones(2), [1, "abc", 2.5, True, 2.5, [1]][i]
def turn(i):
    if i == 4: enc.register(float, lambda v, x: x - v)
    if i == 5: enc.register(list)(lambda v, x: x * 100)
### contextvar_token
cv = contextvars.ContextVar("cv", default=1.0)
def inner(x): return x * cv.get()
def fn(x):
    t = cv.set(cv.get() + 1)
    y = inner(x); cv.reset(t)
    return y, cv.get()
def turn(i):
    if i == 2: cv.set(5.0)
    if i == 4: cv.set(7.0)
### warnings_inside
caught = []
def noisy(x):
    warnings.warn("hm", UserWarning); return x
def fn(x):
    with warnings.catch_warnings(record=True) as w:
        warnings.simplefilter("always")
        y = noisy(x)
    return y, len(w), [str(v.message) for v in w]
### logging_handler
class H(logging.Handler):
    def __init__(self): super().__init__(); self.lines = []
    def emit(self, r): self.lines.append(r.getMessage())
lg = logging.getLogger("attack_lg"); lg.handlers.clear(); h = H(); lg.addHandler(h); lg.setLevel("INFO"); lg.propagate = False
lines = h.lines
def fn(x):
    lg.info("sum %.1f", x.sum().item()); lg.debug("no")
    return x * 2
def turn(i):
    if i == 2: lg.setLevel("DEBUG")
    if i == 3: lg.disabled = True
    if i == 4: lg.disabled = False; lg.setLevel("ERROR")
    if i == 5: lg.removeHandler(h)
### dict_writes
class A: pass
a = A(); a.__dict__["k"] = 1
def fn(x):
    a.__dict__["n"] = a.__dict__.get("n", 0) + 1
    vars(a).update(z=a.n * 2)
    return x * a.k, a.n, a.z
def turn(i):
    if i == 2: a.__dict__ = {"k": 5}
    if i == 4: del a.n
### nonlocal_counter
def make():
    n = 0
    def step(x):
        nonlocal n
        n += 1; return x * n
    def peek(): return n
    def reset(v):
        nonlocal n
        n = v
    return step, peek, reset
step, peek, reset = make()
def fn(x): return step(x) + step(x), peek()
def turn(i):
    if i == 3: reset(10)
### monkeypatch_method
class A:
    def f(self, x): return x + 1
a = A()
def fn(x): return a.f(x)
def turn(i):
    if i == 1: A.f = lambda self, x: x + 2
    if i == 2: a.f = types.MethodType(lambda self, x: x + 3, a)
    if i == 3: del a.f
    if i == 4: A.f = staticmethod(lambda x: x + 4)
    if i == 5: A.f = ingot.relu if False else (lambda s, x: x * 9)
### monkeypatch_ingot_function
orig = F.relu
def fn(x): return F.relu(x - 1)
def turn(i):
    if i == 2: F.relu = lambda x: x * 100
    if i == 4: F.relu = orig
### match_statement
@dataclass
class Pt: x: float; y: float
state = {"op": "add", "v": [1, 2]}
def fn(x):
    match state:
        case {"op": "add", "v": [a, *rest]}: return x + a, rest
        case {"op": "mul", "v": (a, b)} if a < b: return x * b, []
        case {"pt": Pt(x=px, y=0)}: return x * px, "pt"
        case _: return x, None
def turn(i):
    global state
    if i == 1: state["v"] = [5]
    if i == 2: state.update(op="mul", v=(1, 3))
    if i == 3: state["v"] = (4, 3)
    if i == 4: state = {"pt": Pt(7.0, 0)}
    if i == 5: state["pt"].y = 1
### match_class_args
class V:
    __match_args__ = ("a", "b")
    def __init__(self, a, b): self.a, self.b = a, b
v = V(1, 2)
def fn(x):
    match v:
        case V(1, b): return x * b
        case V(a, b): return x + a + b
def turn(i):
    if i == 2: v.a = 5
    if i == 3: V.__match_args__ = ("b", "a")
    if i == 4: v.b = 1
### walrus_comprehension
th = 2; seen = []
def fn(x):
    r = [y for k in range(4) if (y := k * th) > 2]
    seen.extend(r); last = y
    return x * last, r, any((t := s) > 5 for s in r), {k: v for k, v in zip("abc", r)}
def turn(i):
    global th
    if i == 3: th = 4
### star_args
defaults = {"a": 1, "b": 2}; extra = [3]
def g(x, *args, a=0, **kw): return x * a + sum(args) + sum(kw.values())
def fn(x): return g(x, *extra, **defaults)
def turn(i):
    if i == 1: extra.append(4)
    if i == 2: defaults["c"] = 5
    if i == 3: del defaults["a"]
    if i == 4: extra.clear()
### coroutine_driver
k = 2
class Aw:
    def __await__(self): got = yield k; return got
async def work(x): a = await Aw(); b = await Aw(); return x * a + b
def fn(x):
    c = work(x); q = c.send(None); c.send(q * 10)
    try: c.send(1)
    except StopIteration as e: return e.value
def turn(i):
    global k
    if i == 2: k = 3
### try_finally_state
log = []; fail = False
def inner(x):
    try:
        log.append("in")
        if fail: raise ValueError("f")
        return x
    except ValueError: log.append("ex"); return -x
    else: log.append("else")
    finally: log.append("fin")
def fn(x): return inner(x), len(log)
def turn(i):
    global fail
    if i == 2: fail = True
    if i == 4: fail = False; log.clear()
### exceptions_control
class Found(Exception):
    def __init__(self, v): super().__init__(v); self.v = v
items = [1, 5, 2]
def search(t):
    for it in items:
        if it > t: raise Found(it)
    raise LookupError("none")
def fn(x, t):
    try: search(t)
    except Found as f: return x * f.v, f.args
    except LookupError as e: return -x, str(e)
def args(i): return ingot.ones(2), [0, 3, 9, 1, 1, 1][i]
def turn(i):
    if i == 4: items.insert(0, 50)
### recursion_memo
memo = {0: 0, 1: 1}
def fib(n):
    if n not in memo: memo[n] = fib(n - 1) + fib(n - 2)
    return memo[n]
def fn(x, n): return x * fib(n), len(memo)
def args(i): return ingot.ones(1), 5 + i // 2
def turn(i):
    if i == 3: memo[5] = 100; memo.pop(6, None)
### mutable_default
def acc(x, hist=[]): hist.append(x.sum().item()); return sum(hist), len(hist)
def fn(x): return acc(x)
def turn(i):
    if i == 3: acc.__defaults__[0].clear()
    if i == 4: acc.__defaults__ = ([5.0],)
### format_state
class T:
    n = 0
    def __format__(self, spec): T.n += 1; return f"{T.n:{spec}}"
t = T()
def fn(x): return f"{t:03d}-{t:>4}", x * T.n
def turn(i):
    if i == 3: T.n = 50
### sort_key_state
cmp = []; rank = {"a": 3, "b": 1, "c": 2}
def key(k): cmp.append(k); return rank[k]
def fn(x): return sorted("abc", key=key), x * len(cmp)
def turn(i):
    if i == 2: rank["a"] = 0
    if i == 4: cmp.clear()
### operator_overload_counter
class N:
    ops = 0
    def __init__(self, v): self.v = v
    def __mul__(self, o): N.ops += 1; return N(self.v * (o.v if isinstance(o, N) else o))
    __rmul__ = __mul__
    def __bool__(self): return self.v > 2
    def __index__(self): return int(self.v)
a = N(2)
def fn(x):
    y = a * a * 2
    return x * y.v if y else x, N.ops, [5, 6, 7][N(1)]
def turn(i):
    if i == 3: a.v = 0.5
    if i == 4: N.ops = 0
    if i == 5: N.__bool__ = lambda s: True
### np_view_state
base = np.zeros(6, "f"); row = base[::2]
def fn(x):
    return ingot.tensor(row) + x, base.sum(), row.shape
def turn(i):
    if i == 1: base[0] = 5
    if i == 3: row[1] = 7
    if i == 4: base.shape = (2, 3)
### np_structured
rec = np.zeros(3, dtype=[("w", "f4"), ("k", "i4")]); rec["w"] = 1
def fn(x): return x * ingot.tensor(rec["w"].copy()), int(rec["k"].sum()), rec.dtype.names
def turn(i):
    if i == 2: rec["w"][1] = 9
    if i == 4: rec[0] = (3.0, 4)
### np_object_array
oa = np.array([1, "a", None], dtype=object)
def fn(x): return x * (oa[0] or 1), str(oa[1]), oa[2] is None
def turn(i):
    if i == 2: oa[0] = 4
    if i == 4: oa[2] = "n"
### np_write_inside
stat = np.zeros(3)
def fn(x):
    stat[:] += x.numpy(); np.add(stat, 1, out=stat)
    return stat.copy(), x * 2
def turn(i):
    if i == 3: stat[:] = 0
### rng_state_saved
def fn(x):
    s = ingot.get_rng_state()
    a = ingot.rand(3); ingot.set_rng_state(s); b = ingot.rand(3)
    return a + x, bool((a == b).all())
def turn(i):
    if i == 3: ingot.manual_seed(5)
### own_generator
g = ingot.Generator(); g.manual_seed(1)
def fn(x): return ingot.rand(3, generator=g) + x, ingot.randint(0, 10, (2,), generator=g).tolist()
def turn(i):
    if i == 2: g.manual_seed(1)
    if i == 4: globals()["g"] = ingot.Generator().manual_seed(3)
### deepcopy_inside
net = nn.Linear(3, 3)
def fn(x):
    c = copy.deepcopy(net)
    with ingot.no_grad(): c.weight.mul_(2)
    return c(x), net(x)
def turn(i):
    if i == 2:
        with ingot.no_grad(): net.weight.fill_(1)
    if i == 3: net.bias = None
    if i == 4: net.train(False)
### load_state_dict_inside
net = nn.Linear(3, 3); best = {k: v.clone() for k, v in net.state_dict().items()}; th = 5
def fn(x):
    y = net(x)
    if x.sum() > th: net.load_state_dict(best)
    else:
        with ingot.no_grad(): net.weight.add_(1)
    return y, net.weight.detach().clone()
def turn(i):
    global th
    if i == 3: best["weight"] = ingot.zeros(3, 3)
    if i == 4: th = 1
### best_state_kept
net = nn.Linear(3, 1); opt = optim.SGD(net.parameters(), 0.1); best = {"loss": float("inf"), "sd": None}
def fn(x):
    opt.zero_grad(); l = (net(x) ** 2).mean(); l.backward(); opt.step()
    if l.item() < best["loss"]:
        best["loss"] = l.item(); best["sd"] = copy.deepcopy(net.state_dict())
    return l.item()
def turn(i):
    if i == 3: best["loss"] = float("inf")
    if i == 4: opt.param_groups[0]["lr"] = 5.0
### param_replaced
net = nn.Linear(3, 3)
def fn(x): return net(x)
def turn(i):
    if i == 1: net.weight = nn.Parameter(ingot.eye(3))
    if i == 2: net.bias = None
    if i == 3: net._parameters["bias"] = nn.Parameter(ingot.ones(3))
    if i == 4: net.weight.data = ingot.zeros(3, 3)
    if i == 5: del net.weight; net.weight = ingot.eye(3) * 5
### requires_grad_toggle
net = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1)); opt = optim.SGD(net.parameters(), 0.1, momentum=0.9)
def fn(x):
    opt.zero_grad(); net(x).sum().backward(); opt.step()
    return [p.grad is None for p in net.parameters()]
def turn(i):
    if i == 2: net[0].requires_grad_(False)
    if i == 4: net[0].weight.requires_grad = True
### freeze_inside
net = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1)); ep = 0
def fn(x):
    global ep
    for p in net[0].parameters(): p.requires_grad_(ep >= 2)
    ep += 1
    y = net(x).sum()
    y.backward()
    return [p.grad is not None for p in net.parameters()], [p.requires_grad for p in net.parameters()]
def turn(i):
    if i == 4: ep_ = globals(); ep_["ep"] = 0; net.zero_grad()
### opt_groups
a, b = nn.Parameter(ingot.ones(3)), nn.Parameter(ingot.ones(3)); opt = optim.AdamW([{"params": [a], "lr": 0.1, "name": "a"}, {"params": [b], "weight_decay": 0.5}], lr=0.01)
def fn(x):
    opt.zero_grad(); (a * b * x).sum().backward(); opt.step()
    return {g.get("name", i): g["lr"] for i, g in enumerate(opt.param_groups)}
def turn(i):
    if i == 2: opt.param_groups[0]["lr"] = 0.5; opt.param_groups[1]["name"] = "b"
    if i == 3: opt.param_groups.reverse()
    if i == 4: opt.state.clear()
    if i == 5: opt.param_groups.pop()
### hooks_keep_tensors
acts = {}
net = nn.Sequential(nn.Linear(3, 3), nn.ReLU()); hs = [m.register_forward_hook(lambda m, i, o, n=n: acts.__setitem__(n, o.detach())) for n, m in net.named_children()]
def fn(x): return net(x), sorted(acts), sum(a.sum() for a in acts.values())
def turn(i):
    if i == 2: hs[0].remove(); acts.clear()
    if i == 4: net[0].register_forward_pre_hook(lambda m, a: (a[0] * 2,))
### tensor_hook_state
k = [1.0]; got = []
w = nn.Parameter(ingot.ones(3)); w.register_hook(lambda g: g * k[0])
def fn(x):
    w.grad = None
    (w * x).sum().backward()
    return w.grad.clone()
def turn(i):
    if i == 2: k[0] = 3.0
    if i == 4: w.register_hook(lambda g: g + 1)
### module_setattr
class N(nn.Module):
    def __init__(self): super().__init__(); self.act = nn.ReLU(); self.k = 2
    def forward(self, x): return self.act(x - 1) * self.k
n = N()
def fn(x): return n(x)
def turn(i):
    if i == 1: setattr(n, "act", nn.Tanh())
    if i == 2: n.act = torch_like if False else nn.Identity()
    if i == 3: n.k = nn.Parameter(ingot.ones(3))
    if i == 4: del n.k; n.register_buffer("k", ingot.full((3,), 4.0))
    if i == 5: N.forward = lambda s, x: x
### moduledict_mutated
md = nn.ModuleDict({"a": nn.Linear(3, 3), "b": nn.Tanh()})
def fn(x):
    for k, m in md.items(): x = m(x)
    return x, list(md)
def turn(i):
    if i == 2: md["a"] = md.pop("a")
    if i == 3: md.update({"c": nn.ReLU()})
    if i == 4: del md["b"]
### paramlist_mutated
pl = nn.ParameterList([nn.Parameter(ingot.ones(3))])
def fn(x): return sum(p * x for p in pl), len(pl)
def turn(i):
    if i == 2: pl.append(nn.Parameter(ingot.full((3,), 5.0)))
    if i == 4: pl[0] = nn.Parameter(ingot.zeros(3))
### tied_weights
e = nn.Embedding(4, 3); o = nn.Linear(3, 4, bias=False); o.weight = e.weight
def fn(x): o.zero_grad(); o(e(ingot.tensor([1, 2]))).sum().backward(); return e.weight.grad.clone(), o.weight is e.weight
def turn(i):
    if i == 2: o.weight = nn.Parameter(o.weight.detach().clone())
    if i == 4: e.weight = o.weight
### buffer_reassigned_inside
class N(nn.Module):
    def __init__(self): super().__init__(); self.register_buffer("m", ingot.zeros(3)); self.n = 0
    def forward(self, x): self.m = 0.9 * self.m + 0.1 * x; self.n += 1; return x - self.m / (1 - 0.9 ** self.n)
n = N()
def fn(x): return n(x)
def turn(i):
    if i == 3: n.m = ingot.ones(3)
    if i == 4: n.m.zero_(); n.n = 0
### dropout_train_eval_inside
net = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5), nn.BatchNorm1d(3))
def fn(x):
    net.train(); a = net(x + ingot.ones(2, 3)); net.eval(); b = net(x + ingot.ones(2, 3))
    return a, b, net.training, net[2].num_batches_tracked.item()
def turn(i):
    if i == 2: net[1].p = 0.0
    if i == 3: net[2].momentum = None
    if i == 4: net.train()
### class_attr_shared
class S: hist = []; total = 0
a, b = S(), S()
def fn(x):
    a.hist.append(x.sum().item()); b.total += 1; S.total += 10
    return x * S.total, b.total, a.total, len(b.hist)
def turn(i):
    if i == 2: a.total = 5
    if i == 3: del b.total
    if i == 4: S.hist = []
### init_subclass
class P:
    kinds = []
    def __init_subclass__(cls, k=1, **kw): super().__init_subclass__(**kw); cls.k = k; P.kinds.append(cls)
class A(P, k=2): pass
def fn(x): return sum(x * c.k for c in P.kinds), [c.__name__ for c in P.kinds]
def turn(i):
    if i == 2:
        class B(P, k=5): pass
    if i == 4: A.k = 7
### class_made_inside
reg = []
def fn(x):
    class T:
        k = 2
        def f(self, x): return x * self.k
    return T().f(x), T.__name__
### set_name_late
class D:
    def __set_name__(self, o, n): self.n = n
    def __get__(self, o, t=None): return self.n
class H: a = D()
def fn(x): return x, H.a, H().a
def turn(i):
    if i == 2: H.b = D(); H.__dict__["a"].n = "zz"
    if i == 4: H.a = "plain"
### generic_typing
T_ = TypeVar("T_")
class Box(Generic[T_]):
    def __init__(self, v: T_): self.v = v
    def get(self) -> T_: return self.v
b = Box[float](2.0)
def fn(x): return x * b.get(), cast(int, b.v), isinstance(b, Box)
def turn(i):
    if i == 2: b.v = 3
    if i == 4: globals()["b"] = Box[int](7)
### namedtuple_replace
St = namedtuple("St", "step lr hist"); st = St(0, 0.1, ())
def fn(x):
    global st
    st = st._replace(step=st.step + 1, lr=st.lr * 0.5, hist=st.hist + (st.step,))
    return x * st.lr, st.step, st.hist
def turn(i):
    global st
    if i == 3: st = st._replace(lr=1.0)
    if i == 4: st = St(*st[:2], ("z",))
### set_of_tuples
seen = set()
def fn(x, p):
    new = p not in seen
    seen.add(p)
    return x if new else -x, len(seen)
def args(i): return ingot.ones(2), [(1, 2), (1, 2), (1.0, 2), (3, 4), (1, 2), (True, 2)][i]
def turn(i):
    if i == 4: seen.clear()
### dict_views
d = {"a": 1, "b": 2}; ks, vs, it = d.keys(), d.values(), d.items()
def fn(x): return x * sum(vs), list(ks), ("a", 1) in it, ks & {"a", "z"}, len(it)
def turn(i):
    if i == 1: d["a"] = 5
    if i == 2: d["z"] = 0
    if i == 3: d.pop("a")
    if i == 4: d["a"] = 1
### dict_order_sum
d = {"a": 1e16, "b": 1.0, "c": -1e16}
def fn(x): return sum(d.values()), list(d), x * next(iter(d.values()))
def turn(i):
    if i == 2: d["a"] = d.pop("a")
    if i == 4: d["b"] = d.pop("b")
### big_ints
n = 2 ** 70
def fn(x):
    global n
    n = n * 3 + 1
    return n % 1000007, n.bit_length(), x * (n % 7), n > 2 ** 71, -n // 3
def turn(i):
    global n
    if i == 3: n = 5
    if i == 4: n = 2 ** 63 - 1
### complex_numbers
z = 1 + 2j
def fn(x): return z * 2, abs(z), z.conjugate(), x * z.real + z.imag, z ** 2
def turn(i):
    global z
    if i == 2: z = 3j
    if i == 3: z = complex(0.0, -0.0)
    if i == 4: z *= 1j
### decimal_fraction
d = Decimal("1.10"); f = Fraction(1, 3)
def fn(x):
    global f
    f = f + Fraction(1, 6)
    return d * 2, str(d), float(d) * x, f.numerator, x * float(f), d.quantize(Decimal("0.1"))
def turn(i):
    global d, f
    if i == 2: d = Decimal("1.1")
    if i == 3: decimal.getcontext().prec = 3; d = Decimal("1.23456")
    if i == 4: decimal.getcontext().prec = 28; f = Fraction(0)
### bytes_stuff
b = bytearray(b"abc"); mv = memoryview(b); ar = array.array("d", [1, 2])
def fn(x): return x * b[0], bytes(b), mv[1], mv.tobytes(), ar.tolist(), sum(ar), len(b)
def turn(i):
    if i == 1: b[0] = 5
    if i == 2: mv[1] = 9
    if i == 3: ar.append(7)
    if i == 4: ar[0] = 3
### bytearray_append_inside
b = bytearray()
def fn(x):
    b.append(len(b)); b.extend(b"z")
    return x * len(b), bytes(b)
### struct_pack
fmt = "<if"; s = struct.Struct(fmt); vals = [3, 1.5]
def fn(x):
    p = struct.pack(fmt, *vals); return struct.unpack(fmt, p), x * s.unpack(p)[1], s.size
def turn(i):
    global fmt
    if i == 2: vals[0] = 9
    if i == 4: fmt = ">if"
### datetime_arith
t0 = datetime.datetime(2024, 1, 31); step_ = datetime.timedelta(days=1)
def fn(x):
    global t0
    t0 += step_
    return x * t0.day, t0.isoformat(), (t0 - datetime.datetime(2024, 1, 1)).total_seconds(), t0.strftime("%Y-%m-%d")
def turn(i):
    global step_, t0
    if i == 2: step_ *= 30
    if i == 4: t0 = t0.replace(year=2020)
### regex_state
pat = re.compile(r"(\d+)"); text = "a12b3"
def fn(x):
    m = pat.search(text)
    return x * int(m.group(1)) if m else x, pat.findall(text), re.sub(r"\d", lambda m: tag + m[0], text)
tag = "#"
def turn(i):
    global pat, text, tag
    if i == 1: text = "b77"
    if i == 2: pat = re.compile("[a-z]+(.)")
    if i == 3: tag = "!"
    if i == 4: text = "none?"; pat = re.compile("(zz)")
### json_state
cfg = {"a": [1, 2, {"b": None}], "s": 1.5}
def fn(x): s = json.dumps(cfg, sort_keys=True); return x * json.loads(s)["s"], s
def turn(i):
    if i == 2: cfg["a"][2]["b"] = True
    if i == 3: cfg["s"] = 2
    if i == 4: cfg["a"].append("z")
### pathlib_arith
root = pathlib.PurePath("/a/b")
def fn(x): return str(root / "c.txt"), root.name, x * len(root.parts), root.parent == pathlib.PurePath("/a")
def turn(i):
    global root
    if i == 2: root = root / "d"
    if i == 4: root = pathlib.PurePath("x")
### stringio_log
out = io.StringIO()
def fn(x):
    print("s", x.sum().item(), file=out); out.write("w\n")
    return x * 2
def turn(i):
    if i == 3: out.truncate(0); out.seek(0)
### stringio_read
out = io.StringIO("1\n2\n3\n4\n5\n6\n7\n8\n")
def fn(x): return x * int(out.readline())
### random_state_restore
r = random.Random(3); st = r.getstate()
def fn(x): r.setstate(st); return x * r.random()
### local_random_seeded
def fn(x, s):
    r = random.Random(s); return x * r.random(), r.sample(range(9), 3), [r.gauss(0, 1)]
def args(i): return ingot.ones(2), i // 2
### copy_of_config
cfg = {"a": 1, "n": {"b": [1]}}
def fn(x):
    c = copy.deepcopy(cfg); s = copy.copy(cfg)
    c["a"] += 1; c["n"]["b"].append(2); s["a"] = 50
    return x * c["a"], c, s is cfg, s["n"] is cfg["n"]
def turn(i):
    if i == 2: cfg["n"]["b"].append(9)
    if i == 4: cfg["a"] = 3.0
### shared_list_alias
a = [1.0]; b = a
def fn(x):
    b.append(2.0)
    return x * sum(a), a is b
def turn(i):
    global b
    if i == 2: b = list(a)
    if i == 4: b = a
### list_of_lists_grid
g = [[0] * 2] * 2
def fn(x):
    g[0][1] += 1
    return x * g[1][1], [list(r) for r in g], g[0] is g[1]
def turn(i):
    if i == 2: g[1] = [7, 7]
    if i == 4: g[:] = [[1, 1], [2, 2]]
### slice_assign
l = [1, 2, 3, 4]
def fn(x):
    l[1:3] = [x.sum().item()]; del l[-1]; l.insert(0, 9); l *= 2
    return x * len(l), l[::2], l.index(9)
def turn(i):
    if i == 2: l.clear(); l.extend([1, 2, 3])
    if i >= 3: del l[4:]
### reward_discount
rewards, gamma = [], 0.9
def fn(x):
    rewards.append(float(x.sum()))
    R, out = 0.0, []
    for r in reversed(rewards): R = r + gamma * R; out.insert(0, R)
    return ingot.tensor(out), R
def turn(i):
    global gamma
    if i == 3: gamma = 0.5
    if i == 4: rewards.clear()
### epsilon_greedy
eps = 1.0; steps = 0
def fn(x):
    global eps, steps
    steps += 1; eps = max(0.1, eps * 0.5)
    if ingot.rand(()).item() < eps: a = ingot.randint(0, 3, ()).item()
    else: a = x.argmax().item()
    return a, eps, steps
def turn(i):
    global eps
    if i == 4: eps = 1.0
### target_network_sync
q = nn.Linear(3, 2); t = nn.Linear(3, 2); t.load_state_dict(q.state_dict()); n = 0; every = 2
opt = optim.SGD(q.parameters(), 0.1)
def fn(x):
    global n
    with ingot.no_grad(): y = t(x).max()
    opt.zero_grad(); l = (q(x)[0] - y - 1) ** 2; l.backward(); nn.utils.clip_grad_norm_(q.parameters(), 1.0); opt.step()
    n += 1
    if n % every == 0: t.load_state_dict(q.state_dict())
    return l.item(), n
def turn(i):
    global every
    if i == 3: every = 1
### gradient_accumulation
w = nn.Parameter(ingot.ones(3)); opt = optim.Adam([w], 0.1); it = 0; acc = 2
def fn(x):
    global it
    ((w * x) ** 2).mean().div(acc).backward(); it += 1
    if it % acc == 0: opt.step(); opt.zero_grad()
    return w.grad is None, w.detach().clone()
def turn(i):
    global acc
    if i == 3: acc = 3
### swa_average
net = nn.Linear(3, 1); avg = {k: v.clone() for k, v in net.state_dict().items()}; n = 0
def fn(x):
    global n
    with ingot.no_grad():
        for p in net.parameters(): p.add_(0.1)
        for k, v in net.state_dict().items(): avg[k] += (v - avg[k]) / (n + 1)
    n += 1
    return avg["weight"].clone()
def turn(i):
    global n
    if i == 3: n = 0
    if i == 4: avg["weight"] = ingot.zeros(1, 3)
### scheduler_lambda
w = nn.Parameter(ingot.ones(3)); opt = optim.SGD([w], 1.0); base = 0.5
sch = optim.lr_scheduler.LambdaLR(opt, lambda e: base ** e)
def fn(x):
    opt.zero_grad(); (w * x).sum().backward(); opt.step(); sch.step()
    return sch.get_last_lr(), w.detach().clone()
def turn(i):
    global base
    if i == 3: base = 0.9
### plateau
w = nn.Parameter(ingot.ones(3)); opt = optim.SGD([w], 1.0)
sch = optim.lr_scheduler.ReduceLROnPlateau(opt, patience=1)
def fn(x):
    sch.step(x.sum().item())
    return opt.param_groups[0]["lr"], sch.num_bad_epochs, sch.best
def turn(i):
    if i == 3: sch.patience = 0
    if i == 4: sch.best = -5.0
### scaler_of_own
class Scaler:
    def __init__(self): self.scale = 8.0; self.good = 0
    def update(self, ok):
        if ok: self.good += 1
        else: self.scale /= 2; self.good = 0
        if self.good == 2: self.scale *= 2; self.good = 0
s = Scaler()
def fn(x):
    y = x * s.scale
    s.update(bool(ingot.isfinite(y).all()))
    return y / s.scale, s.scale, s.good
def turn(i):
    if i == 2: s.scale = float("inf")
    if i == 3: s.scale = 4.0
### tokenizer_vocab
vocab = {}
def tok(s): return [vocab.setdefault(w, len(vocab)) for w in s.split()]
emb = nn.Embedding(10, 2)
def fn(s): return emb(ingot.tensor(tok(s))), dict(vocab)
def args(i): return ["a b", "a c", "a b", "d", "a b", "c c"][i],
def turn(i):
    if i == 4: vocab["a"] = 9
### string_builder
name = "run"
def fn(x):
    global name
    name += "-%d" % len(name)
    return name, x * len(name), name.upper().split("-")[-1:]
def turn(i):
    global name
    if i == 3: name = "q"
### bool_flag_first
first = True; cache = None
def fn(x):
    global first, cache
    if first: cache = x * 2; first = False
    return x + cache
def turn(i):
    global first
    if i == 3: first = True
### lazy_init_attr
class A:
    def run(self, x):
        if not hasattr(self, "m"): self.m = x.mean().item()
        if getattr(self, "n", None) is None: self.n = 0
        self.n += 1
        return x - self.m, self.n
a = A()
def fn(x): return a.run(x)
def turn(i):
    if i == 2: del a.m
    if i == 4: a.n = None
### slots_inherit
class A: __slots__ = ("v",)
class B(A): __slots__ = ("w", "__dict__")
b = B(); b.v, b.w, b.z = 1, 2, 3
def fn(x):
    b.v += 1; b.z *= 2
    return x * b.v * b.w, b.z, hasattr(b, "q")
def turn(i):
    if i == 2: b.w = 5
    if i == 3: b.q = 1
    if i == 4: del b.z; b.z = 1
### callable_instances
class Sc:
    def __init__(self, k): self.k = k; self.n = 0
    def __call__(self, x): self.n += 1; return x * self.k
ops = [Sc(1), Sc(2)]
def fn(x):
    for o in ops: x = o(x)
    return x, [o.n for o in ops]
def turn(i):
    if i == 2: ops.reverse(); ops[0].k = 5
    if i == 3: ops.append(ops[0])
    if i == 4: Sc.__call__ = lambda s, x: x - s.k
### functools_reduce
fs = [ingot.sin, ingot.cos]
def fn(x): return functools.reduce(lambda a, f: f(a), fs, x), functools.reduce(operator.mul, nums)
nums = [1, 2, 3]
def turn(i):
    if i == 2: fs.append(ingot.tanh)
    if i == 3: nums[0] = 5
    if i == 4: fs[0] = lambda t: t + 1
### groupby_zip_chain
rows = [("a", 1), ("a", 2), ("b", 3)]
def fn(x):
    g = {k: sum(v for _, v in r) for k, r in itertools.groupby(rows, key=lambda r: r[0])}
    return x * g["a"], list(itertools.chain(*rows)), list(itertools.accumulate(v for _, v in rows)), dict(zip(*zip(*rows)))
def turn(i):
    if i == 2: rows.append(("a", 9))
    if i == 4: rows[0] = ("a", 50)
### class_made_and_kept
reg = []
def fn(x):
    class T:
        k = 2
    reg.append(T)
    return x * T.k, len(reg), reg[0] is reg[-1]
### function_made_and_kept
reg = {}
def fn(x):
    def g(y, k=2): return y * k
    reg["g%d" % len(reg)] = g
    return g(x), len({id(v) for v in reg.values()})
### global_function_redefined
def fn(x):
    global g
    def g(y): return y + 1
    return g(x)
def turn(i):
    global g
    if i: g = None
### bound_method_kept
cb = []
class A:
    def __init__(self, k): self.k = k
    def f(self, x): return x * self.k
def fn(x):
    a = A(len(cb) + 1); cb.append(a.f)
    return sum(f(x) for f in cb)
### partial_kept
cb = []
def sc(x, k): return x * k
def fn(x):
    cb.append(functools.partial(sc, k=len(cb)))
    return sum(f(x) for f in cb)
def turn(i):
    if i == 3: cb.pop()
### property_object_added
class A: pass
a = A()
def fn(x):
    A.v = property(lambda s: 5)
    return x * a.v
def turn(i):
    if i == 3: A.v = property(lambda s: 6)
### module_made
def fn(x):
    m = types.ModuleType("m"); m.k = 3
    return x * m.k
### namedtuple_made
kept = []
def fn(x):
    P = namedtuple("P", "a b"); p = P(x, 2)
    return p.a * p.b
### enum_made_inside
def fn(x):
    class C(Enum): A = 1; B = 2
    return x * C.B.value, [c.name for c in C]
### type_call_kept
reg = []
def fn(x):
    T = type("T", (), {"k": len(reg)})
    reg.append(T); return x * T.k
### dataclass_made_kept
made = []
@dataclass
class R: t: object; n: int = 0
def fn(x):
    r = R(x.sum().item(), len(made)); made.append(r)
    return [m.n for m in made], sum(m.t for m in made)
def turn(i):
    if i == 3: made[0].n = 50
### obj_in_two_places
class N:
    def __init__(self): self.v = 0
reg, idx = [], {}
def fn(x):
    n = N(); reg.append(n); idx["last"] = n
    n.v = len(reg)
    return x * idx["last"].v, reg[-1] is idx["last"]
def turn(i):
    if i == 3: idx["last"].v = 9
### linked_list
class Node:
    def __init__(self, v, nxt): self.v, self.nxt = v, nxt
head = None
def fn(x):
    global head
    head = Node(x.sum().item(), head)
    s, n = 0.0, head
    while n: s += n.v; n = n.nxt
    return s
def turn(i):
    global head
    if i == 3: head = head.nxt
### tree_recursion
class T:
    def __init__(self, v, *kids): self.v, self.kids, self.seen = v, list(kids), 0
    def total(self): self.seen += 1; return self.v + sum(k.total() for k in self.kids)
t = T(1, T(2), T(3, T(4)))
def fn(x): return x * t.total(), t.seen
def turn(i):
    if i == 2: t.kids[1].kids[0].v = 10
    if i == 3: t.kids.append(T(5))
    if i == 4: t.kids[0] = t.kids[1]
### visitor_dispatch
class V:
    def visit(self, n): self.n = getattr(self, "n", 0) + 1; return getattr(self, "visit_" + type(n).__name__, self.generic)(n)
    def generic(self, n): return 0
    def visit_int(self, n): return n
    def visit_list(self, n): return sum(self.visit(k) for k in n)
v = V(); data = [1, [2, 3], "x"]
def fn(x): return x * v.visit(data), v.n
def turn(i):
    if i == 2: V.visit_str = lambda s, n: 100
    if i == 3: data[1].append(4)
    if i == 4: v.generic = lambda n: 7; del V.visit_str
### plugin_hooks
hooks = {"pre": [], "post": []}
def on(ev): return lambda f: hooks[ev].append(f) or f
@on("pre")
def a(x): return x + 1
def run(ev, x):
    for h in hooks[ev]: x = h(x)
    return x
def fn(x): return run("post", run("pre", x) * 2)
def turn(i):
    if i == 2: on("post")(lambda x: -x)
    if i == 3: hooks["pre"].insert(0, lambda x: x * 10)
    if i == 4: hooks["pre"].clear()
### event_emitter
class Em:
    def __init__(self): self.l = defaultdict(list); self.fired = Counter()
    def on(self, e, f): self.l[e].append(f)
    def emit(self, e, *a):
        self.fired[e] += 1
        for f in list(self.l[e]): f(*a)
em = Em(); got = []
em.on("x", lambda v: got.append(v))
def fn(x): em.emit("x", x.sum().item()); em.emit("y"); return len(got), dict(em.fired)
def turn(i):
    if i == 2: em.on("y", lambda: got.append("y"))
    if i == 4: em.l.pop("x")
### state_machine
class SM:
    table = {("idle", "go"): "run", ("run", "stop"): "idle"}
    def __init__(self): self.s = "idle"; self.log = []
    def fire(self, e):
        self.s = self.table.get((self.s, e), self.s); self.log.append(self.s)
sm = SM()
def fn(x, e): sm.fire(e); return x * (1 if sm.s == "idle" else 2), len(sm.log)
def args(i): return ingot.ones(2), ["go", "go", "stop", "go", "stop", "x"][i]
def turn(i):
    if i == 3: SM.table[("idle", "go")] = "idle"
    if i == 5: sm.s = "run"
### observer_weakset
class L:
    def __init__(self): self.n = 0
ls = weakref.WeakSet(); a, b = L(), L(); ls.add(a)
def fn(x):
    for l in ls: l.n += 1
    return x * len(ls), a.n, b.n
def turn(i):
    if i == 2: ls.add(b)
    if i == 4: ls.discard(a)
### singleton
class S:
    _i = None
    def __new__(cls):
        if cls._i is None: cls._i = super().__new__(cls); cls._i.n = 0
        return cls._i
def fn(x): s = S(); s.n += 1; return x * s.n
def turn(i):
    if i == 3: S._i = None
### borg
class B:
    shared = {}
    def __init__(self): self.__dict__ = self.shared
b = B(); b.n = 0
def fn(x): c = B(); c.n += 1; return x * b.n
def turn(i):
    if i == 3: B.shared["n"] = 50
### slots_dataclass
@dataclass(slots=True)
class D: a: int = 1; b: float = 2.0
d = D()
def fn(x): d.a += 1; return x * d.a * d.b, d
def turn(i):
    global d
    if i == 3: d.b = 0.5
    if i == 4: d = D(b=9.0)
### inventory_sort
items = [{"n": "a", "p": 2}, {"n": "b", "p": 1}]
def fn(x):
    items.sort(key=lambda d: d["p"]); best = max(items, key=operator.itemgetter("p"))
    best["p"] -= 1.5
    return x * items[0]["p"], [d["n"] for d in items]
def turn(i):
    if i == 3: items.append({"n": "c", "p": 0})
### zip_strict_error
a, b = [1, 2], [3, 4]
def fn(x): return x * sum(p * q for p, q in zip(a, b, strict=True))
def turn(i):
    if i == 2: a.append(5)
    if i == 4: b.append(6)
### dict_comprehension_state
d = {"a": 1}
def fn(x):
    global d
    d = {k + "x" if len(k) < 3 else k: v + 1 for k, v in d.items()}
    return x * sum(d.values()), list(d)
def turn(i):
    if i == 4: d["z"] = 5
### del_global
tmp = 1
def fn(x):
    global tmp
    tmp = 5; y = x * tmp
    del tmp
    return y
def turn(i):
    global tmp
    if i % 2: tmp = 3
### unbound_local
flag = True
def fn(x):
    if flag: k = 2
    try: return x * k
    except UnboundLocalError as e: return x, type(e).__name__
def turn(i):
    global flag
    flag = i % 2 == 0
### generator_throw_close
log = []
def g():
    try:
        while True: yield 1
    except ValueError: log.append("v"); yield 2
    finally: log.append("f")
def fn(x):
    k = g(); a = next(k); b = k.throw(ValueError()); k.close()
    return x * (a + b), len(log)
### yield_from
def inner(n):
    r = yield from range(n)
    return n * k
def outer(n): v = yield from inner(n); yield v
k = 10
def fn(x): return x * sum(outer(3))
def turn(i):
    global k
    if i == 3: k = 1
### exit_stack
order = []
class C:
    def __init__(self, n): self.n = n
    def __enter__(self): order.append(self.n); return self
    def __exit__(self, *a): order.append(-self.n)
m = 2
def fn(x):
    with contextlib.ExitStack() as st:
        for k in range(1, m + 1): st.enter_context(C(k))
        st.callback(order.append, 100)
        y = x * len(order)
    return y, list(order)
def turn(i):
    global m
    if i == 2: m = 3
    if i == 4: order.clear()
### nested_try_return
def f(k):
    try: return 1 / k
    except ZeroDivisionError: return "z"
    finally: counts["n"] += 1
counts = {"n": 0}
def fn(x, k): return f(k), x * counts["n"]
def args(i): return ingot.ones(2), i % 2
### exception_group
def fn(x):
    try: raise ExceptionGroup("g", [ValueError(v), KeyError("k")])
    except* ValueError as e: seen.append(len(e.exceptions))
    except* KeyError as e: seen.append("k")
    return x * len(seen)
v = 1; seen = []
def turn(i):
    if i == 3: seen.clear()
### assert_state
lim = 5.0
def fn(x):
    assert x.sum() < lim, f"too big {lim}"
    return x
def turn(i):
    global lim
    if i == 3: lim = 100.0
### raise_from_cause
def fn(x):
    try:
        try: d["q"]
        except KeyError as e: raise RuntimeError("r%d" % n) from e
    except RuntimeError as e: return str(e), repr(e.__cause__), x
d, n = {}, 0
def turn(i):
    global n
    n = i // 2
    if i == 4: d["q"] = 1
### getitem_protocol
class Seq:
    def __init__(self, n): self.n = n; self.hits = Counter()
    def __getitem__(self, i):
        if isinstance(i, slice): return [self[k] for k in range(*i.indices(self.n))]
        if i >= self.n: raise IndexError
        self.hits[i] += 1; return i * 2
    def __len__(self): return self.n
s = Seq(4)
def fn(x): return x * sum(s), s[1:3], list(reversed(s)), 4 in s, s.hits[1]
def turn(i):
    if i == 3: s.n = 2
    if i == 4: s.hits.clear()
### iadd_overload
class Acc:
    def __init__(self): self.v = []
    def __iadd__(self, o): self.v.append(o); return self
    def __len__(self): return len(self.v)
acc = Acc()
def fn(x):
    global acc
    acc += x.sum().item(); acc += 1
    return x * len(acc), sum(acc.v)
def turn(i):
    global acc
    if i == 3: acc = Acc()
### lt_total_ordering
@functools.total_ordering
class W:
    cmp = 0
    def __init__(self, k): self.k = k
    def __lt__(self, o): W.cmp += 1; return self.k < o.k
    def __eq__(self, o): return self.k == o.k
ws = [W(3), W(1), W(2)]
def fn(x): return [w.k for w in sorted(ws)], x * max(ws).k, W.cmp > 0
def turn(i):
    if i == 2: ws[0].k = 0
### str_subclass
class S(str):
    def __new__(cls, v, tag=0): s = super().__new__(cls, v); s.tag = tag; return s
s = S("ab", 1)
def fn(x): return x * s.tag, s.upper(), s + "c", type(s).__name__
def turn(i):
    global s
    if i == 2: s.tag = 5
    if i == 3: s = S("ab", 5)
    if i == 4: s = "ab"; s = S(s, 7)
### int_subclass
class I(int):
    def __add__(self, o): return I(int(self) + o * self.k)
    k = 1
n = I(3)
def fn(x): return x * (n + 2), n.k
def turn(i):
    if i == 2: I.k = 5
    if i == 3: n.k = 7
### list_subclass
class L(list):
    def push(self, v): self.append(v); self.n = getattr(self, "n", 0) + 1
l = L([1])
def fn(x): return x * sum(l), getattr(l, "n", None)
def turn(i):
    if i == 2: l.push(4)
    if i == 3: l.n = 50
    if i == 4: l[0] = 7
### dict_subclass_attr
class AD(dict):
    __getattr__ = dict.__getitem__
    def __setattr__(self, k, v): self[k] = v
cfg = AD(lr=0.1, n=AD(d=2))
def fn(x): return x * cfg.lr * cfg.n.d, "lr" in cfg
def turn(i):
    if i == 2: cfg.lr = 5.0
    if i == 3: cfg.n.d = 7
    if i == 4: cfg.n = AD(d=1)
### missing_dict
class M(dict):
    def __missing__(self, k): return len(k) * w
m = M(a=1); w = 2
def fn(x): return x * m["a"] + m["bbb"]
def turn(i):
    global w
    if i == 2: w = 5
    if i == 3: m["bbb"] = 0
### defaultdict_missing_read
dd = defaultdict(list)
def fn(x, k): dd[k].append(x.sum().item()); return {a: len(b) for a, b in dd.items()}
def args(i): return ingot.ones(2) * i, "abacab"[i]
def turn(i):
    if i == 4: dd["a"] = []
### nested_defaultdict
t = defaultdict(lambda: defaultdict(int))
def fn(x, a, b): t[a][b] += 1; return x * t[a][b], sum(len(v) for v in t.values())
def args(i): return ingot.ones(1), "aabbaa"[i], "xyxyxx"[i]
### counter_arith
a, b = Counter("aab"), Counter("abc")
def fn(x): c = a + b; c.subtract("a"); return x * c["a"], (a & b)["a"], sorted((a | b).elements()), c - a
def turn(i):
    if i == 2: a["a"] = 5
    if i == 3: b.clear()
### deque_rotate
q = deque([1, 2, 3])
def fn(x): q.rotate(1); q.append(q.popleft() + 1); return x * q[0], list(q)
def turn(i):
    if i == 3: q.extendleft([9])
### array_of_floats
ar = array.array("f", [1, 2])
def fn(x): return x * ar[1], ar[0], len(ar), list(ar)
def turn(i):
    if i == 2: ar[1] = 9
    if i == 3: ar.extend([1, 2])
    if i == 4: del ar[0]
### mv_over_np
base = np.arange(4.0); mv = memoryview(base)
def fn(x): return x * mv[1], sum(mv), base[::-1].tolist()
def turn(i):
    if i == 2: base[1] = 9
    if i == 3: mv[0] = 5.0
### np_scalar_state
s = np.float32(1.5); n = np.int64(3)
def fn(x): return x * s, s + n, type(s * 2).__name__, n // 2, x * n
def turn(i):
    global s, n
    if i == 2: s = np.float64(1.5)
    if i == 3: n = np.int32(3)
    if i == 4: s = 1.5; n = 3
### np_running_mean_reassign
m = np.zeros(3)
def fn(x):
    global m
    m = 0.9 * m + 0.1 * x.numpy()
    return m.sum(), x
def turn(i):
    global m
    if i == 3: m = np.ones(3)
### np_append_hist
hist = np.zeros(0)
def fn(x):
    global hist
    hist = np.append(hist, x.sum().item())
    return hist.mean(), len(hist)
### np_index_choice
probs = np.array([0.1, 0.9]); names = np.array(["a", "b"])
def fn(x): i = int(probs.argmax()); return x * (i + 1), names[i], str(names[::-1][0]), probs.max()
def turn(i):
    if i == 2: probs[:] = [0.8, 0.2]
    if i == 3: names[0] = "z"
### np_where_mask
th = np.array(0.5)
def fn(x): return (x > th.item()).sum().item(), x * float(th), np.where(np.array([True, False]), th, 0).tolist()
def turn(i):
    if i == 2: th[...] = 2.0
### np_random_state_obj
rs = np.random.RandomState(0)
def fn(x): return x * rs.rand()
### np_matrix_row_iter
M = np.arange(6.0).reshape(2, 3)
def fn(x): return [float(r.sum()) for r in M], x * ingot.tensor(M[0]), M.T.shape
def turn(i):
    if i == 2: M[0, 1] = 50
    if i == 3: M.resize((3, 2), refcheck=False)
### tensor_list_state
ts = [ingot.zeros(3)]
def fn(x): ts[0].add_(x); ts.append(ts[-1] * 2); return sum(ts), len(ts)
def turn(i):
    if i == 3: del ts[1:]
    if i == 4: ts[0] = ingot.ones(3)
### tensor_dict_swap
st = {"a": ingot.zeros(3), "b": ingot.ones(3)}
def fn(x):
    st["a"], st["b"] = st["b"] + x, st["a"]
    return st["a"].clone()
def turn(i):
    if i == 3: st["a"].zero_()
    if i == 4: st["b"] = st["a"]
### view_state
base = ingot.zeros(2, 3); row = base[0]
def fn(x): base[1] += x; return row + base.sum(0)
def turn(i):
    if i == 2: row.fill_(5)
    if i == 3: base[0] = 1
### hidden_state_rnn
cell = nn.RNNCell(3, 3); h = None
def fn(x):
    global h
    h = cell(x[None], h).detach() if h is not None else cell(x[None]).detach()
    return h
def turn(i):
    global h
    if i == 3: h = None
### kv_cache
cache = []
def fn(x):
    cache.append(x)
    k = ingot.stack(cache[-3:])
    return (k @ x).softmax(0), len(cache)
def turn(i):
    if i == 4: cache.clear()
### module_called_count
class N(nn.Module):
    calls = 0
    def __init__(self): super().__init__(); self.l = nn.Linear(3, 3); self.register_buffer("n", ingot.tensor(0))
    def forward(self, x): N.calls += 1; self.n += 1; return self.l(x) * self.n
n = N()
def fn(x): return n(x), N.calls, int(n.n)
def turn(i):
    if i == 3: n.n.zero_()
    if i == 4: N.calls = 100
### weak_lazy
class K: pass
k0 = K(); cache = weakref.WeakKeyDictionary(); s = 1.0
def fn(x):
    if k0 not in cache: cache[k0] = x.sum().item() + s
    return x * cache[k0]
def turn(i):
    global s
    s = float(i)
    if i % 2: cache.clear()
### setdefault_lazy
d = UserDict(); s = 1.0
def fn(x): return d.setdefault("a%d" % len(d), x.sum().item() * s), len(d)
def turn(i):
    global s
    s = float(i)
    if i == 4: d.data.clear()
### ns_update_lazy
n = NS(); s = 1.0
def fn(x):
    n.__dict__.update(a=x.sum().item(), b=s)
    setattr(n, "c", s * 2)
    object.__setattr__(n, "d", s * 3)
    return n.a
def turn(i):
    global s
    s = float(i)
### chainmap_store
c = ChainMap({}, {"a": 1.0}); s = 1.0
def fn(x): c["a"] = c["a"] + s; c["q"] = x.sum().item(); return x * c["a"]
def turn(i):
    global s
    s = float(i)
    if i == 3: del c["a"]
### partial_store
p = functools.partial(max, 1); s = 1.0
def fn(x): p.tag = s; return x * p(s)
def turn(i):
    global s
    s = float(i)
### func_attr_store
def h(x): h.n = h.n + s; return x * h.n
h.n = 0.0; s = 1.0
def fn(x): return h(x)
def turn(i):
    global s
    s = float(i)
    if i == 3: h.n = 100
### class_attr_store
class A: n = 0.0
s = 1.0
def fn(x): A.n += s; setattr(A, "m", s); return x * A.n, A.m
def turn(i):
    global s
    s = float(i)
    if i == 3: A.n = 50
### exception_attr
class E(Exception): count = 0
last = None; s = 1.0
def fn(x):
    global last
    try: raise E(s)
    except E as e: E.count += 1; v = e.args[0]
    return x * v, E.count
def turn(i):
    global s
    s = float(i)
### threadlocal
tl = threading.local(); tl.n = 0.0; s = 1.0
def fn(x): tl.n += s; return x * tl.n
def turn(i):
    global s
    s = float(i)
### mappingproxy
d = {"a": 1.0}; mp = types.MappingProxyType(d)
def fn(x): return x * mp["a"], dict(mp), len(mp)
def turn(i):
    d["a"] = float(i)
    if i == 3: d["b"] = 2
### abc_mutable_mapping
class MM(collections.abc.MutableMapping):
    def __init__(self): self.d = {}; self.gets = 0
    def __getitem__(self, k): self.gets += 1; return self.d[k]
    def __setitem__(self, k, v): self.d[k] = v
    def __delitem__(self, k): del self.d[k]
    def __iter__(self): return iter(self.d)
    def __len__(self): return len(self.d)
m = MM(); m["a"] = 1.0
def fn(x):
    m["a"] += 1; m.setdefault("b", 5); m.update(c=len(m))
    return x * m["a"], dict(m), m.pop("c"), m.gets, "a" in m, m.get("zz", 3)
def turn(i):
    if i == 3: m.d["a"] = 10
    if i == 4: m.clear()
    if i == 4: m["a"] = 0
### abc_sequence
class S(collections.abc.Sequence):
    def __init__(self, v): self.v = v
    def __getitem__(self, i): return self.v[i]
    def __len__(self): return len(self.v)
s = S([1, 2, 3])
def fn(x): return x * sum(s), s.index(2), s.count(1), list(reversed(s)), 3 in s
def turn(i):
    if i == 2: s.v[0] = 9
    if i == 4: s.v = (2, 1)
### userstring
us = collections.UserString("abc")
def fn(x): return str(us.upper()), x * len(us), us[0].data
def turn(i):
    global us
    if i == 2: us.data = "zz"
    if i == 4: us = us + "q"
### string_formatter
class Fm(string.Formatter):
    def get_value(self, k, a, kw): self.n = getattr(self, "n", 0) + 1; return super().get_value(k, a, kw) if not isinstance(k, str) or k in kw else dflt
f = Fm(); dflt = "?"
def fn(x): return f.format("{0}-{q}-{r}", 1, r=n), x * f.n
n = 2
def turn(i):
    global n, dflt
    if i == 2: dflt = "!"
    if i == 3: n = 9
### string_template
t = string.Template("$a-$b")
def fn(x): return t.substitute(d), x * len(t.template)
d = {"a": 1, "b": 2}
def turn(i):
    if i == 2: d["a"] = "zz"
    if i == 3: t.template = "$a+$a+$b"
### logging_filter
class Fl(logging.Filter):
    n = 0
    def filter(self, r): Fl.n += 1; return Fl.n % 2 == 1
out = []
class H(logging.Handler):
    def emit(self, r): out.append(r.getMessage())
lg = logging.getLogger("attack_filter"); lg.handlers.clear(); lg.filters.clear(); lg.addHandler(H()); lg.addFilter(Fl()); lg.setLevel(10); lg.propagate = False
def fn(x): lg.warning("w %s", x.sum().item()); return x, len(out)
### context_decorator
class Tm(contextlib.ContextDecorator):
    n = 0
    def __enter__(self): Tm.n += 1; return self
    def __exit__(self, *e): Tm.n += 10; return False
@Tm()
def g(x): return x * Tm.n
def fn(x): return g(x), Tm.n
def turn(i):
    if i == 3: Tm.n = 0
### initvar_postinit
@dataclass
class D:
    a: int; k: dataclasses.InitVar[int] = 2; b: int = field(init=False); made: ClassVar[int] = 0
    def __post_init__(self, k): self.b = self.a * k * scale; D.made += 1
scale = 1
def fn(x, n): d = D(n); return x * d.b, D.made, d
def args(i): return ingot.ones(2), i // 2
def turn(i):
    global scale
    if i == 3: scale = 10
    if i == 4: D.made = 0
### default_factory_state
cnt = [0]
def make(): cnt[0] += 1; return [cnt[0]]
@dataclass
class D: v: list = field(default_factory=make)
def fn(x): d = D(); return x * d.v[0], cnt[0]
def turn(i):
    if i == 3: cnt[0] = 50
### typing_namedtuple_method
class P(NamedTuple):
    a: float; b: float = 2.0
    def area(self): return self.a * self.b * K
K = 1
p = P(3.0)
def fn(x): return x * p.area(), p._replace(b=1).area(), P._fields, p._asdict()
def turn(i):
    global p, K
    if i == 2: K = 3
    if i == 3: p = P(1.0, 1.0)
    if i == 4: P.area = lambda s: 7
### abc_register
class B(abc.ABC): pass
class A: pass
a = A()
def fn(x): return x * (2 if isinstance(a, collections.abc.Sized) else 3)
def turn(i):
    if i == 2: A.__len__ = lambda s: 0
    if i == 4: del A.__len__
### isinstance_hook
class M(type):
    ok = True
    def __instancecheck__(cls, o): M.n = getattr(M, "n", 0) + 1; return M.ok
class A(metaclass=M): pass
def fn(x): return x * (2 if isinstance(3, A) else 3), M.n
def turn(i):
    if i == 2: M.ok = False
### bases_changed
class P: k = 1
class Q: k = 2
class A(P): pass
class B(Q): pass
a = A()
def fn(x): return x * a.k, type(a).__name__
def turn(i):
    if i == 2: A.__bases__ = (Q,)
    if i == 3: a.__class__ = B
    if i == 4: Q.k = 9
### class_swap_method
class A:
    def f(self): return 1
class B(A):
    def f(self): return super().f() + 10
o = B()
def fn(x): return x * o.f()
def turn(i):
    if i == 2: o.__class__ = A
    if i == 3: A.f = lambda s: 5
    if i == 4: o.__class__ = B
### mro_cooperative
class A:
    def go(self, l): l.append("A")
class B(A):
    def go(self, l): l.append("B"); super().go(l)
class C(A):
    def go(self, l): l.append("C"); super().go(l)
class D(B, C): pass
d = D()
def fn(x): l = []; d.go(l); return l, x * len(l)
def turn(i):
    if i == 2: C.go = lambda s, l: l.append("c")
    if i == 4: D.__bases__ = (C, B)
### class_getitem
class G:
    def __class_getitem__(cls, k): cls.n = getattr(cls, "n", 0) + 1; return k * w
w = 2
def fn(x): return x * G[3], G.n
def turn(i):
    global w
    if i == 3: w = 5
### module_getattr
mod = types.ModuleType("attack_mod"); sys.modules["attack_mod"] = mod; mod.v = {"q": 1}
mod.__getattr__ = lambda n: mod.v[n] if n in mod.v else (_ for _ in ()).throw(AttributeError(n))
def fn(x):
    import attack_mod
    return x * attack_mod.q
def turn(i):
    if i == 2: mod.v["q"] = 5
    if i == 4: mod.q = 9
### import_from_inside
sys.modules["attack_m2"] = m2 = types.ModuleType("attack_m2"); m2.K = 2; m2.f = lambda x: x + 1
def fn(x):
    from attack_m2 import K as kk, f
    import attack_m2 as am
    return f(x) * kk, hasattr(am, "Z"), getattr(am, "Z", 0)
def turn(i):
    if i == 1: m2.K = 3
    if i == 2: m2.f = lambda x: x * 10
    if i == 3: m2.Z = 7
    if i == 4: del m2.Z
### reload_like
src = {"s": "def f(x): return x + 1"}
ns = {}
exec(src["s"], ns)
def fn(x): return ns["f"](x)
def turn(i):
    if i == 2: ns["f"].__code__ = (lambda x: x + 2).__code__
    if i == 3: exec("def f(x): return x * 3", ns)
### builtins_shadow
def fn(x): return x * len([1, 2]), max(1, 2), sum([1, 2])
def turn(i):
    if i == 2: globals()["len"] = lambda s: 50
    if i == 3: globals()["max"] = min
    if i == 4: del globals()["len"]
### lock_with
lk = threading.Lock(); n = 0
def fn(x):
    global n
    with lk: n += 1
    return x * n, lk.locked()
def turn(i):
    global n
    if i == 3: n = 50
### rlock_obj
class Safe:
    def __init__(self): self.l = threading.RLock(); self.v = 0
    def inc(self):
        with self.l:
            self.v += 1; return self.v
s = Safe()
def fn(x): return x * s.inc()
def turn(i):
    if i == 3: s.v = 9
### decimal_localcontext
d = Decimal(1)
def fn(x):
    with decimal.localcontext() as c:
        c.prec = p; r = d / 3
    return str(r), str(d / 3), x
p = 3
def turn(i):
    global p
    if i == 2: p = 5
    if i == 4: decimal.getcontext().prec = 10
    if i == 5: decimal.getcontext().prec = 28
### datetime_state
class Clock:
    def __init__(self): self.t = datetime.datetime(2024, 1, 1)
    def tick(self): self.t += datetime.timedelta(hours=1); return self.t
c = Clock()
def fn(x): return x * c.tick().hour, c.t.isoformat()
def turn(i):
    if i == 3: c.t = c.t.replace(hour=22)
### date_iter
def days(n):
    d = start
    for _ in range(n): yield d; d += datetime.timedelta(days=1)
start = datetime.date(2024, 2, 28)
def fn(x): return [str(d) for d in days(3)], x * len(list(days(2)))
def turn(i):
    global start
    if i == 2: start = datetime.date(2023, 2, 28)
### itertools_products
a, b = [1, 2], "xy"
def fn(x): return list(itertools.product(a, b)), x * len(list(itertools.combinations(a, 2))), list(itertools.permutations(b))
def turn(i):
    if i == 2: a.append(3)
### operator_funcs
o = {"a": [1, {"b": 2}]}
def fn(x): return operator.getitem(operator.getitem(o, "a"), 1)["b"], operator.concat([1], o["a"])[0], x * operator.itemgetter(0)(o["a"]), operator.contains(o, "z"), operator.length_hint(o["a"])
def turn(i):
    if i == 2: o["a"][1]["b"] = 5
    if i == 3: o["z"] = 1
    if i == 4: o["a"].insert(0, 9)
### map_filter_lazy_state
lim = 2
def fn(x): it = filter(lambda v: v > lim, map(lambda v: v * 2, src)); a = next(it); return a, list(it), x * a
src = [1, 2, 3]
def turn(i):
    global lim
    if i == 2: lim = 4
    if i == 4: src.append(9)
### sorted_stable_key_obj
class P:
    def __init__(self, n, a): self.n, self.a = n, a
ps = [P("x", 2), P("y", 1)]
def fn(x): return [p.n for p in sorted(ps, key=lambda p: (p.a, p.n))], min(ps, key=operator.attrgetter("a")).n, x
def turn(i):
    if i == 2: ps[0].a = 0
    if i == 3: ps.append(P("z", -1))
    if i == 4: del ps[1].a; ps[1].a = 5
### any_all_state
flags = {"a": True, "b": False}
def fn(x): return all(flags.values()), any(v for v in flags.values()), x * sum(flags.values())
def turn(i):
    if i == 2: flags["b"] = True
    if i == 3: flags["a"] = 1
    if i == 4: flags.clear()
### chained_comparison_counter
class N:
    def __init__(self, v): self.v = v
    def __lt__(self, o): log.append(self.v); return self.v < (o.v if isinstance(o, N) else o)
log = []; a, b = N(1), N(5)
def fn(x): return x * (2 if a < b < 10 else 3), len(log)
def turn(i):
    if i == 2: b.v = 20
    if i == 4: a.v = 30
### ternary_truthiness
class T:
    def __len__(self): return n
n = 0; t = T()
def fn(x): return x * (1 if t else 2), not t, (t or 5) is t, bool(t and 7)
def turn(i):
    global n
    n = i % 2
### contains_overload
class R:
    def __init__(self, lo, hi): self.lo, self.hi = lo, hi
    def __contains__(self, v): return self.lo <= v < self.hi
r = R(0, 3)
def fn(x, k): return x * (1 if k in r else -1), k not in r
def args(i): return ingot.ones(2), i
def turn(i):
    if i == 4: r.hi = 10
### matmul_overload
class M:
    def __init__(self, k): self.k = k
    def __matmul__(self, x): return x * self.k
    def __rmatmul__(self, x): return x + self.k
    def __imatmul__(self, o): self.k += o; return self
m = M(2)
def fn(x):
    global m
    m @= 1
    return m @ x, m.k
def turn(i):
    if i == 3: m.k = 50
### call_kw_mixed
def f(a, /, b, *c, d=1, **e): return a + b + sum(c) + d + sum(e.values())
pos, kws = (1, 2, 3), {"d": 4, "z": 5}
def fn(x): return x * f(*pos, **kws), f(*pos[:2])
def turn(i):
    global pos
    if i == 2: pos += (10,)
    if i == 3: kws.pop("d")
    if i == 4: f.__kwdefaults__["d"] = 100
### defaults_capture
def mk():
    fs = []
    for j in range(3):
        def f(x, j=j, acc=[]): acc.append(j); return x * j + len(acc)
        fs.append(f)
    return fs
fs = mk()
def fn(x): return [f(x) for f in fs]
def turn(i):
    if i == 2: fs[1].__defaults__ = (7, [])
    if i == 3: fs[2].__defaults__[1].clear()
### wrapped_chain
def deco(k):
    def d(f):
        @functools.wraps(f)
        def w(*a): return f(*a) * k
        return w
    return d
@deco(2)
@deco(3)
def g(x): return x + c
c = 1
def fn(x): return g(x)
def turn(i):
    global c
    if i == 2: c = 5
    if i == 3: g.__closure__[1].cell_contents = 10
### cell_swap
def mk():
    cfg = {"k": 1}
    def get(): return cfg["k"]
    def swap(d):
        nonlocal cfg
        cfg = d
    return get, swap
get, swap = mk()
def fn(x): return x * get()
def turn(i):
    if i == 2: swap({"k": 5})
    if i == 4: swap(defaultdict(lambda: 9))
### globals_dict_of_other
other = types.ModuleType("attack_other"); exec("K = 2\ndef f(x): return x * K\n", other.__dict__)
def fn(x): return other.f(x), other.__dict__["K"]
def turn(i):
    if i == 2: other.K = 5
    if i == 4: other.__dict__.update(K=7)
### vars_locals
def fn(x):
    a = k; l = dict(locals()); del l["x"]
    return l, x * vars(ns)["a"]
k = 1; ns = NS(a=2)
def turn(i):
    global k
    if i == 2: k = 5
    if i == 3: ns.a = 9
### inspect_signature
import inspect
def g(a, b=2, *, c=3): return a
def fn(x): s = inspect.signature(g); return str(s), x * s.parameters["b"].default, g.__name__
def turn(i):
    if i == 2: g.__defaults__ = (7,)
    if i == 3: g.__kwdefaults__ = {"c": 9}
    if i == 4: g.__name__ = "zz"
### annotations_state
class A: a: int = 1
def fn(x): return sorted(A.__annotations__), x * len(get_type_hints(A))
def turn(i):
    if i == 2: A.__annotations__["b"] = float
### func_dict_iter
def g(x): return x
g.tags = {"a"}; g.k = 1
def fn(x): return {k: v for k, v in vars(g).items() if k != "tags"}, x * g.k, "a" in g.tags
def turn(i):
    if i == 2: g.k = 4
    if i == 3: g.tags.add("b"); g.tags.discard("a")
    if i == 4: g.new = 1
### repr_side_effect
class A:
    n = 0
    def __repr__(self): A.n += 1; return f"A{A.n}"
a = A()
def fn(x): return isinstance(a, collections.abc.Sized), x * A.n, repr(a)
### policy_gradient
net = nn.Linear(3, 2); opt = optim.Adam(net.parameters(), 0.05); traj = {"logp": [], "r": []}; base = 0.0
def fn(x):
    global base
    logits = net(x); p = logits.softmax(0); a = int(p.argmax())
    traj["logp"].append(p[a].log()); traj["r"].append(float(a))
    if len(traj["r"]) == 2:
        R = sum(traj["r"]); base = 0.9 * base + 0.1 * R
        loss = -(ingot.stack(traj["logp"]) * (R - base)).sum()
        opt.zero_grad(); loss.backward(); opt.step()
        for v in traj.values(): v.clear()
    return a, base
### gae_loop
gamma, lam = 0.9, 0.95; vals, rews, done = [1.0, 2.0, 3.0], [1, 0, 1], [False, True, False]
def fn(x):
    adv, g = [0.0] * len(rews), 0.0
    for t in reversed(range(len(rews))):
        nxt = vals[t + 1] if t + 1 < len(vals) else 0.0
        d = rews[t] + gamma * nxt * (not done[t]) - vals[t]; g = d + gamma * lam * (not done[t]) * g; adv[t] = g
    return ingot.tensor(adv) + x, adv
def turn(i):
    global gamma
    if i == 2: done[0] = True
    if i == 3: gamma = 0.5
    if i == 4: vals.append(4.0); rews.append(2); done.append(False)
### ucb_bandit
N, Q = [0, 0, 0], [0.0, 0.0, 0.0]; t = 0
def fn(x):
    global t
    t += 1
    u = [q + math.sqrt(math.log(t) / n) if n else float("inf") for q, n in zip(Q, N)]
    a = u.index(max(u)); N[a] += 1; Q[a] += (float(x[a]) - Q[a]) / N[a]
    return a, Q[a]
def turn(i):
    if i == 4: N[0] = 0
### prioritized_replay
class PER:
    def __init__(self): self.h = []; self.n = itertools.count().__next__ if False else None; self.c = 0
    def push(self, p, v): heapq.heappush(self.h, (-p, self.c, v)); self.c += 1
    def pop(self): return heapq.heappop(self.h)
per = PER()
def fn(x):
    per.push(x.sum().item(), x)
    p, c, v = per.pop() if len(per.h) > 2 else per.h[0]
    return p, c, v.sum()
### teacher_forcing
ratio = 1.0; r = random.Random(0)
def fn(x):
    global ratio
    use = ratio > 0.5; ratio *= 0.8
    return x if use else -x, ratio
### sched_cosine_own
class Cos:
    def __init__(self, base, T): self.base, self.T, self.t = base, T, 0
    def __call__(self): self.t += 1; return 0.5 * self.base * (1 + math.cos(math.pi * min(self.t, self.T) / self.T))
s = Cos(0.1, 4)
def fn(x): return x * s(), s.t
def turn(i):
    if i == 3: s.T = 10
    if i == 4: s.t = 0
### one_cycle_phases
phases = [(2, lambda t: t * 0.1), (4, lambda t: 1 - t * 0.1)]; t = 0
def fn(x):
    global t
    for end, f in phases:
        if t < end: break
    else: f = lambda t: 0.01
    lr = f(t); t += 1
    return x * lr, lr
def turn(i):
    if i == 3: phases.insert(0, (4, lambda t: 7.0))
### grad_clip_history
hist = deque(maxlen=3); w = nn.Parameter(ingot.ones(3))
def fn(x):
    w.grad = None
    (w * x).pow(2).sum().backward(); n = w.grad.norm().item(); hist.append(n)
    clip = sum(hist) / len(hist)
    if n > clip: w.grad.mul_(clip / n)
    return w.grad.clone(), clip
def turn(i):
    if i == 3: hist.clear()
### lookahead_opt
class Look:
    def __init__(self, opt, k=2): self.opt, self.k, self.n = opt, k, 0; self.slow = [p.detach().clone() for g in opt.param_groups for p in g["params"]]
    def step(self):
        self.opt.step(); self.n += 1
        if self.n % self.k == 0:
            for s, p in zip(self.slow, (p for g in self.opt.param_groups for p in g["params"])):
                s.add_(p.detach() - s, alpha=0.5); p.data.copy_(s)
w = nn.Parameter(ingot.ones(3)); o = Look(optim.SGD([w], 0.1))
def fn(x): o.opt.zero_grad(); (w * x).sum().backward(); o.step(); return w.detach().clone(), o.n
def turn(i):
    if i == 3: o.k = 3
### custom_optimizer_state
class My(optim.Optimizer):
    def __init__(self, ps, lr): super().__init__(ps, dict(lr=lr, n=0))
    def step(self):
        for g in self.param_groups:
            g["n"] += 1
            for p in g["params"]:
                if p.grad is None: continue
                st = self.state[p]
                if not st: st["m"] = ingot.zeros_like(p); st["t"] = 0
                st["t"] += 1; st["m"].mul_(0.9).add_(p.grad.detach()); p.data.add_(st["m"], alpha=-g["lr"] / st["t"])
w = nn.Parameter(ingot.ones(3)); o = My([w], 0.1)
def fn(x): o.zero_grad(); (w * x).sum().backward(); o.step(); return w.detach().clone(), o.param_groups[0]["n"], o.state[w]["t"]
def turn(i):
    if i == 3: o.param_groups[0]["lr"] = 1.0
    if i == 4: o.state.clear()
### mixup_alpha
lam = 0.3; perm = [1, 0, 2]
def fn(x): return lam * x + (1 - lam) * x[perm]
def turn(i):
    global lam
    if i == 2: perm[:] = [2, 1, 0]
    if i == 3: lam = 0.9
### label_map
classes = {"cat": 0, "dog": 1}; emb = nn.Embedding(5, 2)
def fn(names): return emb(ingot.tensor([classes[n] for n in names]))
def args(i): return [["cat", "dog"], ["dog", "cat"], ["cat", "dog"], ["cow", "cat"], ["cat"], ["cat", "dog"]][i],
def turn(i):
    if i == 3: classes["cow"] = 2
    if i == 5: classes["cat"] = 4
### augment_pipeline
class Flip:
    def __init__(self, p): self.p = p; self.n = 0
    def __call__(self, x): self.n += 1; return x.flip(0) if self.n % 2 and self.p else x
class Compose:
    def __init__(self, ts): self.ts = ts
    def __call__(self, x):
        for t in self.ts: x = t(x)
        return x
pipe = Compose([Flip(1), lambda x: x + 1])
def fn(x): return pipe(x)
def turn(i):
    if i == 2: pipe.ts[0].p = 0
    if i == 3: pipe.ts.append(lambda x: x * 2)
    if i == 4: pipe.ts = pipe.ts[::-1]
### metric_confusion
cm = ingot.zeros(3, 3, dtype=ingot.int64)
def fn(x): p = int(x.argmax()); t = int(x.argmin()); cm[t, p] += 1; return int(cm.sum()), float(cm.diagonal().sum()) / max(int(cm.sum()), 1)
def turn(i):
    if i == 3: cm.zero_()
### running_stats_welford
class W:
    def __init__(self): self.n, self.m, self.s = 0, 0.0, 0.0
    def add(self, v): self.n += 1; d = v - self.m; self.m += d / self.n; self.s += d * (v - self.m)
    var = property(lambda self: self.s / self.n if self.n else 0.0)
w = W()
def fn(x):
    for v in x.tolist(): w.add(v)
    return w.m, w.var, w.n
def turn(i):
    if i == 3: w.__init__()
### checkpoint_rotation
ck = OrderedDict()
net = nn.Linear(2, 2); step_ = 0
def fn(x):
    global step_
    step_ += 1
    ck[step_] = {k: v.clone() for k, v in net.state_dict().items()}
    while len(ck) > 2: ck.popitem(last=False)
    with ingot.no_grad(): net.weight.add_(1)
    return list(ck)
def turn(i):
    if i == 4: ck.clear()
### config_merge
base = {"a": {"b": 1, "c": 2}, "d": 3}; over = {"a": {"b": 5}}
def merge(p, q): return {k: merge(p[k], q[k]) if isinstance(p.get(k), dict) and isinstance(q.get(k), dict) else q.get(k, p.get(k)) for k in {**p, **q}}
def fn(x): c = merge(base, over); return x * c["a"]["b"] + c["d"], c
def turn(i):
    if i == 2: over["a"]["c"] = 9
    if i == 3: over["d"] = 1
    if i == 4: base["a"] = 0
### dot_path_get
cfg = {"m": {"l": [{"k": 2}]}}
def get(path):
    o = cfg
    for p in path.split("."): o = o[int(p)] if p.isdigit() else o[p]
    return o
def fn(x): return x * get("m.l.0.k"), get("m.l")
def turn(i):
    if i == 2: cfg["m"]["l"][0]["k"] = 5
    if i == 3: cfg["m"]["l"].insert(0, {"k": 9})
### lazy_registry_import
loaders = {"a": lambda: loaded_.setdefault("a", len(loaded_) + 1)}; loaded_ = {}
def fn(x): return x * loaders["a"](), dict(loaded_)
def turn(i):
    if i == 3: loaded_.clear(); loaded_["z"] = 0
### memo_method
class A:
    def __init__(self): self.m = {}; self.calls = 0
    def f(self, k):
        if k not in self.m: self.calls += 1; self.m[k] = k * self.w
        return self.m[k]
    w = 2
a = A()
def fn(x, k): return x * a.f(k), a.calls
def args(i): return ingot.ones(2), [1, 2, 1, 2, 3, 1][i]
def turn(i):
    if i == 2: A.w = 10
    if i == 4: a.m.clear()
### method_lru
class A:
    w = 2
    @functools.lru_cache(maxsize=None)
    def f(self, k): return k * self.w
a = A()
def fn(x, k): return x * a.f(k)
def args(i): return ingot.ones(2), i % 2
def turn(i):
    if i == 3: a.w = 9
    if i == 4: A.f.cache_clear()
### cache_decorator_tensor
memo = {}
def cached(f):
    def w(n):
        if n not in memo: memo[n] = f(n)
        return memo[n]
    return w
@cached
def mask(n): return ingot.tril(ingot.ones(n, n))
def fn(x): return mask(x.shape[0]) @ x
def args(i): return ingot.arange(float([3, 3, 4, 3, 4, 3][i])),
def turn(i):
    if i == 3: memo[3] = ingot.zeros(3, 3)
    if i == 5: memo.clear()
### positional_cache_module
class Rot(nn.Module):
    def __init__(self): super().__init__(); self.cache = None; self.n = 0
    def forward(self, x):
        if self.cache is None or self.cache.shape[0] < x.shape[0]: self.cache = ingot.arange(float(x.shape[0])); self.n += 1
        return x * self.cache[: x.shape[0]], self.n
r = Rot()
def fn(x): return r(x)
def args(i): return ingot.ones([3, 3, 5, 2, 5, 6][i]),
def turn(i):
    if i == 4: r.cache = None
### stochastic_depth_table
class Blk(nn.Module):
    def __init__(self, p): super().__init__(); self.l = nn.Linear(3, 3); self.p = p
    def forward(self, x): return x + self.l(x) if self.training and self.p < th else x
net = nn.Sequential(Blk(0.1), Blk(0.5)); th = 0.3
def fn(x): return net(x)
def turn(i):
    global th
    if i == 1: th = 0.7
    if i == 2: net[0].p = 0.9
    if i == 3: net.eval()
    if i == 4: net[1].train()
### hook_handles_dict
acts = OrderedDict(); net = nn.Sequential(nn.Linear(3, 3), nn.Tanh())
def mk(n):
    def h(m, i, o): acts[n] = acts.get(n, 0) + o.sum().item(); return o * scale if n == "1" else None
    return h
hs = {n: m.register_forward_hook(mk(n)) for n, m in net.named_children()}; scale = 1.0
def fn(x): return net(x), dict(acts)
def turn(i):
    global scale
    if i == 2: scale = 3.0
    if i == 3: hs["1"].remove()
    if i == 4: acts.clear()
### backward_hook_grad_stats
stats = []; w = nn.Linear(3, 1)
w.register_full_backward_hook(lambda m, gi, go: stats.append(go[0].sum().item()))
def fn(x): w.zero_grad(); (w(x.requires_grad_(False)[None]) ** 2).sum().backward(); return len(stats), w.weight.grad.clone()
def turn(i):
    if i == 3: stats.clear()
### param_groups_by_name
net = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1)); decay = ["0.weight"]
def fn(x):
    loss = (net(x) ** 2).sum()
    for n, p in net.named_parameters():
        if n in decay: loss = loss + 0.1 * p.pow(2).sum()
    return loss.item()
def turn(i):
    if i == 2: decay.append("1.weight")
    if i == 3: decay[0] = "0.bias"
    if i == 4: net[0] = nn.Linear(3, 3)
### weight_norm_like
class N(nn.Module):
    def __init__(self): super().__init__(); self.v = nn.Parameter(ingot.ones(3)); self.g = 2.0
    @property
    def w(self): return self.g * self.v / self.v.norm()
    def forward(self, x): return (self.w * x).sum()
n = N()
def fn(x): return n(x)
def turn(i):
    if i == 2: n.g = 5.0
    if i == 3: N.w = property(lambda s: s.v)
    if i == 4: n.v = nn.Parameter(ingot.zeros(3))
### getattr_module_list
class N(nn.Module):
    def __init__(self):
        super().__init__()
        for i in range(3): setattr(self, f"l{i}", nn.Linear(3, 3))
        self.n = 3
    def forward(self, x):
        for i in range(self.n): x = getattr(self, f"l{i}")(x)
        return x
n = N()
def fn(x): return n(x)
def turn(i):
    if i == 2: n.n = 2
    if i == 3: n.l0 = nn.Identity()
    if i == 4: n.l3 = nn.Tanh(); n.n = 4
### module_apply_init
net = nn.Linear(2, 2)
def init(m):
    if isinstance(m, nn.Linear): nn.init.constant_(m.weight, val); nn.init.zeros_(m.bias)
val = 1.0
def fn(x): net.apply(init); return net(x[:2])
def turn(i):
    global val
    if i == 2: val = 3.0
### early_exit_loop
ths = [1.0, 5.0]
def fn(x):
    n = 0
    while n < 5:
        x = x * 1.5; n += 1
        if x.max() > ths[0]: break
    return x, n
def turn(i):
    if i == 2: ths[0] = 50.0
    if i == 4: ths.insert(0, 3.0)
### beam_search
vocab = {0: [(1, 0.5), (2, 0.3)], 1: [(2, 0.9)], 2: [(0, 0.1)]}; width = 2
def fn(x):
    beams = [((0,), 0.0)]
    for _ in range(3):
        beams = sorted(((s + (n,), p + math.log(q)) for s, p in beams for n, q in vocab[s[-1]]), key=lambda b: -b[1])[:width]
    return beams, x * len(beams)
def turn(i):
    global width
    if i == 2: width = 1
    if i == 3: vocab[0].append((0, 0.9))
### graph_bfs
g = {"a": ["b", "c"], "b": ["d"], "c": ["d"], "d": []}
def fn(x):
    q, seen, order = deque(["a"]), {"a"}, []
    while q:
        n = q.popleft(); order.append(n)
        for m in g[n]:
            if m not in seen: seen.add(m); q.append(m)
    return order, x * len(order)
def turn(i):
    if i == 2: g["d"].append("e"); g["e"] = []
    if i == 3: g["a"].reverse()
### dp_table
memo = {}
def lcs(a, b):
    k = (a, b)
    if k in memo: return memo[k]
    r = 0 if not a or not b else lcs(a[1:], b[1:]) + 1 if a[0] == b[0] else max(lcs(a[1:], b), lcs(a, b[1:]))
    memo[k] = r
    return r
def fn(x, s): return x * lcs("abc", s), len(memo)
def args(i): return ingot.ones(1), ["ac", "abc", "ac", "zz", "c", "ac"][i]
def turn(i):
    if i == 4: memo.clear()
### union_find
par = {i: i for i in range(5)}
def find(a):
    while par[a] != a: par[a] = par[par[a]]; a = par[a]
    return a
def fn(x, p): par[find(p[0])] = find(p[1]); return len({find(i) for i in par}), x * find(0)
def args(i): return ingot.ones(1), [(0, 1), (1, 2), (3, 4), (0, 4), (0, 1), (2, 3)][i]
def turn(i):
    if i == 5: par.update({i: i for i in range(5)})
### text_wrap_counter
log = []
def report(tag, **kw): log.append(f"{tag}: " + ", ".join(f"{k}={v:.2f}" if isinstance(v, float) else f"{k}={v}" for k, v in sorted(kw.items())))
def fn(x): report("t%d" % len(log), loss=x.mean().item(), n=len(log)); return log[-1]
def turn(i):
    if i == 3: log.clear()
### verbose_print_levels
level = 1
def say(l, *a):
    if l <= level: print("[%d]" % l, *a, sep="|")
def fn(x): say(1, x.sum().item()); say(2, "deep", len(x)); return x
def turn(i):
    global level
    if i == 2: level = 2
    if i == 4: level = 0
### print_to_list_writer
class Wr:
    def __init__(self): self.l = []
    def write(self, s): self.l.append(s); return len(s)
w = Wr()
def fn(x): w.write("a"); w.write("%.1f" % x.sum().item()); return len(w.l)
def turn(i):
    if i == 3: w.l = []
### csv_writer_inside
import csv
rows = [["a", 1]]
def fn(x): f = io.StringIO(); c = csv.writer(f); c.writerows(rows); f.seek(0); return list(csv.reader(f)), f.getvalue(), x
def turn(i):
    if i == 2: rows.append(["b", 2])
### shlex_argparse_inside
import shlex
p = argparse.ArgumentParser(); p.add_argument("--k", type=int, default=2); line = "--k 3"
def fn(x): a = p.parse_args(shlex.split(line)); return x * a.k, vars(a)
def turn(i):
    global line
    if i == 2: line = ""
    if i == 3: p.set_defaults(k=9)
### random_seeded_outside_state
seed = 3
def fn(x): r = random.Random(seed); l = [1, 2, 3]; r.shuffle(l); return l, x * r.randint(0, 9)
def turn(i):
    global seed
    seed = i // 2
### hashlib_state
import hashlib
key = b"a"
def fn(x): h = hashlib.sha256(key); h.update(b"z" * n); return h.hexdigest()[:6], x
n = 1
def turn(i):
    global n, key
    if i == 2: n = 2
    if i == 3: key = b"q"
### base64_zlib
import base64, zlib
data = bytearray(b"abc")
def fn(x): return base64.b64encode(bytes(data)), zlib.crc32(data), x * len(zlib.compress(bytes(data)))
def turn(i):
    if i == 2: data[0] = 66
    if i == 4: data.extend(b"zz")
### fraction_accumulate
acc = Fraction(0); D = [Fraction(1, 2), Fraction(1, 3)]
def fn(x):
    global acc
    for d in D: acc += d
    return acc, x * float(acc), acc.limit_denominator(2)
def turn(i):
    global acc
    if i == 2: D.append(Fraction(1, 7))
    if i == 4: acc = Fraction(1)
### decimal_money
bal = Decimal("10.00"); rate = Decimal("1.05")
def fn(x):
    global bal
    bal = (bal * rate).quantize(Decimal("0.01"), rounding=mode)
    return bal, x * float(bal)
mode = decimal.ROUND_HALF_UP
def turn(i):
    global mode, rate
    if i == 2: mode = decimal.ROUND_DOWN
    if i == 4: rate = Decimal("1.1")
### slots_property_cache
class A:
    __slots__ = ("_c", "w")
    def __init__(self): self._c = None; self.w = 2
    @property
    def c(self):
        if self._c is None: self._c = self.w * 10
        return self._c
a = A()
def fn(x): return x * a.c
def turn(i):
    if i == 2: a.w = 5
    if i == 3: a._c = None
### weakref_callback_cache
class Big:
    def __init__(self): self.v = 3
b = Big(); r = weakref.ref(b)
def fn(x): o = r(); return x * o.v if o is not None else x
def turn(i):
    if i == 2: b.v = 5
### contextvar_nested_cfg
cfg = contextvars.ContextVar("cfg", default={"k": 1})
@contextlib.contextmanager
def using(**kw):
    t = cfg.set({**cfg.get(), **kw})
    try: yield
    finally: cfg.reset(t)
def g(x): return x * cfg.get()["k"]
def fn(x):
    with using(k=n): y = g(x)
    return y + g(x)
n = 2
def turn(i):
    global n
    if i == 2: n = 7
    if i == 3: cfg.set({"k": 100})
### thread_local_stack
tl = threading.local(); tl.st = []
class P:
    def __enter__(self): tl.st.append(self); return self
    def __exit__(self, *a): tl.st.pop()
def depth(): return len(tl.st)
def fn(x):
    with P():
        with P(): y = x * depth()
    return y, depth()
def turn(i):
    if i == 3: tl.st.append(None)
### default_device_like_global
class Global:
    _d = {"dtype": ingot.float32}
    @classmethod
    def get(cls): return cls._d["dtype"]
def fn(x): return ingot.zeros(2, dtype=Global.get()), x.to(Global.get())
def turn(i):
    if i == 2: Global._d["dtype"] = ingot.float64
### dtype_switch_default
def fn(x): return ingot.tensor([1.5]) + x.double(), ingot.zeros(1).dtype
def turn(i):
    if i == 2: ingot.set_default_dtype(ingot.float64)
    if i == 4: ingot.set_default_dtype(ingot.float32)
### grad_mode_outside
w = nn.Parameter(ingot.ones(3))
def fn(x): y = (w * x).sum(); return y.requires_grad, y.detach()
def turn(i):
    ingot.set_grad_enabled(i % 2 == 0)
    if i == 5: ingot.set_grad_enabled(True)
### gen_as_arg
def helper(g): return next(g)
def mk(): yield 1; yield 2
def fn(x): g = mk(); return x * helper(g) + helper(g)
### gen_outside_arg
def mk():
    k = 0
    while True: k += 1; yield k
def fn(x, g): return x * next(g)
G = mk()
def args(i): return ingot.ones(2), G
### gen_outside_attr
class A: pass
a = A()
def mk():
    k = 0
    while True: k += 1; yield k
a.g = mk()
def fn(x): return x * next(a.g)
### gen_outside_local_hop
class A: pass
a = A()
def mk():
    k = 0
    while True: k += 1; yield k
a.g = mk()
def get(): return a
def fn(x):
    b = get(); h = [b]
    return x * next(h[0].g)
### gen_in_list
def mk():
    k = 0
    while True: k += 1; yield k
L = [mk()]
def fn(x): return x * next(L[0])
### gen_for_loop_partial
def mk():
    k = 0
    while True: k += 1; yield k
class A:
    def __init__(self): self.it = mk()
    def step(self):
        for v in self.it: return v
a = A()
def fn(x): return x * a.step()
### map_outside
m = map(lambda v: v + 1, [1, 2, 3, 4, 5, 6, 7, 8])
class A: pass
a = A(); a.m = {"k": m}
def fn(x):
    d = a.m
    return x * next(d["k"])
### user_iter_in_free
class It:
    def __init__(self): self.i = 0
    def __iter__(self): return self
    def __next__(self): self.i += 1; return self.i
it = It()
def fn(x):
    z = zip(it, "ab")
    return [(a, b) for a, b in z], x * it.i
### exit_iter
it = iter(range(100))
def take(): return next(it)
def fn(x): return x * take()
### unpack_hop_iter
class A: pass
a = A(); a.it = iter(range(100))
def get(): return a
def fn(x):
    h = [get()]
    p, q = itertools.islice(h[0].it, 2)
    first, *_ = zip(h[0].it, "ab")
    return x * p + q, first
### yield_from_outside
class A: pass
a = A(); a.it = iter([1, 2, 3, 4, 5, 6])
def get(): return a
def dele(h): yield from h[0].it
def fn(x):
    h = [get()]
    return next(dele(h)), x
### print_object_stream
class Tee:
    def __init__(self): self.lines = []
    def write(self, s): self.lines.append(s)
    def flush(self): pass
tee = Tee(); n = 1
def fn(x): print("n", n, x.sum().item(), file=tee); return len(tee.lines)
def turn(i):
    global n
    n = i
### print_redirect_outside
f = io.StringIO(); n = 1
def fn(x):
    with contextlib.redirect_stdout(f): print("n", n)
    return x
def turn(i):
    global n
    n = i
### print_stdout_replaced
class Tee(io.StringIO): pass
def fn(x):
    t = Tee(); print("a", n, file=t); return t.getvalue()
n = 0
def turn(i):
    global n
    n = i
### stringio_hop
class A: pass
a = A(); a.f = io.StringIO("1\n2\n3\n4\n5\n6\n7\n")
def get(): return a
def fn(x):
    h = [get()]
    for line in h[0].f: break
    return x, line
### generator_unstarted_reached_unused
def mk(): yield 1
class A: pass
a = A(); a.g = mk(); a.k = 2
def fn(x): return x * a.k
### json_default
k = 1
def fn(x): return json.dumps({"k": k, "l": [k, (k,)]}, default=str), x
def turn(i):
    global k
    k = i
### json_default_lazy
def fn(x): return json.dumps({"k": x.sum().item(), "n": int(x.max())}, default=str), x
### json_state_obj
class A: pass
a = A(); a.k = 1
def fn(x): return json.dumps(vars(a), default=lambda o: "obj"), x
def turn(i): a.k = i
### json_key
k = 1
def fn(x): return json.dumps({k: 1, 2.5 * k: 2}), x
def turn(i):
    global k
    k = i
### pickle_sym
import pickle
k = 1
def fn(x): return pickle.loads(pickle.dumps({"k": k, "f": k * 0.5})), x
def turn(i):
    global k
    k = i
### struct_sym
k = 1
def fn(x): return struct.pack("if", k, k), x
def turn(i):
    global k
    k = i
### percent_sym
k = 1
def fn(x): return "%d %s %r %5.1f %x" % (k, k, k, k, k), x
def turn(i):
    global k
    k = i
### fraction_sym
k = 1
def fn(x): return Fraction(k, 3) + k, Decimal(k) + 1, x
def turn(i):
    global k
    k = i + 1
### complex_sym
k = 1
def fn(x): return complex(k, 2) * k, k + 1j, x
def turn(i):
    global k
    k = i
### np_sym
k = 1
def fn(x): return np.array([k, 2]), np.full(2, k), np.arange(k), np.array(k).dtype.name, x
def turn(i):
    global k
    k = i
### set_of_sym
k = 1
def fn(x): return sorted({k, k + 1, 2}), {k: 1}, k in {1, 2}, [1, 2, 3].index(k) if k in (1, 2, 3) else None, x
def turn(i):
    global k
    k = i
### bytes_sym
k = 1
def fn(x): return bytes([k, k + 1]), bytes(k), bytearray(k), chr(k + 65), (k).to_bytes(2, "little"), hex(k), bin(k), x
def turn(i):
    global k
    k = i
### str_mult_sym
k = 1
def fn(x): return "ab" * k, [0] * k, (1,) * k, "x".rjust(k), "x".zfill(k), x
def turn(i):
    global k
    k = i
### slice_sym
k = 1
def fn(x): return "abcdef"[k:], list(range(10))[:k], tuple("abcdef")[-k:], "abcdef"[k], x
def turn(i):
    global k
    k = i % 5
### timedelta_sym
k = 1
def fn(x): return datetime.timedelta(days=k), datetime.date(2024, 1, k), x
def turn(i):
    global k
    k = i + 1
### deque_maxlen_sym
k = 1
def fn(x): return deque(range(5), maxlen=k), list(itertools.islice(range(10), k)), list(itertools.repeat("a", k)), x
def turn(i):
    global k
    k = i
### isinstance_sym
k = 1
def fn(x): return isinstance(k, int), type(k) is int, type(k).__name__, isinstance(k, (float, str)), k.__class__ is int, x
def turn(i):
    global k
    k = i
### singledispatch_sym
@functools.singledispatch
def f(v): return "obj"
@f.register
def _(v: int): return "int"
@f.register
def _(v: float): return "float"
k = 1
def fn(x): return f(k), f(k * 0.5), x
def turn(i):
    global k
    k = i
### match_sym
k = 1
def fn(x):
    match k:
        case 1: r = "one"
        case int(v) if v > 3: r = "big"
        case int(): r = "int"
        case _: r = "other"
    return r, x
def turn(i):
    global k
    k = i
### heap_sym
k = 1
def fn(x): h = [5, k, 3]; heapq.heapify(h); return heapq.heappop(h), heapq.nlargest(2, [k, 4, 1]), bisect.bisect([1, 2, 3], k), x
def turn(i):
    global k
    k = i
### statistics_sym
import statistics
k = 1
def fn(x): return statistics.mean([k, 2, 4]), statistics.median([k, 1]), sum([k, 1.5]), math.fsum([k, 0.5]), math.gcd(k, 4), math.comb(5, k), x
def turn(i):
    global k
    k = i + 1
### array_sym
k = 1
def fn(x): return array.array("i", [k]).tolist(), array.array("d", [k]).tolist(), x
def turn(i):
    global k
    k = i
### fstring_nested_sym
k = 3; w = 2
def fn(x): return f"{k:>{w + 3}}|{k!r}|{k + 0.5:.{w}f}|{[k]}|{(k, w)}", x
def turn(i):
    global k, w
    k = i; w = i % 3
### getattr_name_sym
class A: pass
a = A(); a.w0, a.w1, a.w2, a.w3, a.w4, a.w5 = range(6)
k = 1
def fn(x): return getattr(a, f"w{k}"), getattr(a, "w" + str(k)), x
def turn(i):
    global k
    k = i
### sort_key_sym
k = 1
def fn(x): return sorted([3, 1, 2], key=lambda v: (v - k) ** 2), max([1, 2, 3], key=lambda v: -abs(v - k)), x
def turn(i):
    global k
    k = i
### default_arg_sym
class E(json.JSONEncoder):
    def default(self, o): return str(o)
k = 1
def fn(x): return E().encode([k, {"a": k}]), json.JSONEncoder(default=repr).encode(k), x
def turn(i):
    global k
    k = i
### dict_fromkeys_sym
k = 1
def fn(x): return dict.fromkeys([k, k + 1], k), Counter([k, k, 1]), OrderedDict([(k, k)]), defaultdict(int, {k: k}), x
def turn(i):
    global k
    k = i
### namedtuple_sym
P = namedtuple("P", "a b")
k = 1
def fn(x): p = P(k, k * 2); return p, p._replace(a=5), repr(p), hash(p) == hash((k, k * 2)), x
def turn(i):
    global k
    k = i
### repr_container_sym
k = 1
def fn(x): return repr([k, {k: (k,)}]), str({"a": k}), "{}".format([k]), "%s" % ([k],), x
def turn(i):
    global k
    k = i
### lazies_everywhere
def fn(x):
    v = x.sum().item(); n = int(x.max())
    return json.dumps([v, n]), "%.1f %d" % (v, n), {n: v}, [n, v], f"{n}", Fraction(n), Decimal(n), bytes([n]), "a" * n, np.array([v]), x
### float_state_funcs
t = 0.5
def fn(x): return t.is_integer(), t.hex(), t.as_integer_ratio(), round(t, 1), int(t), math.frexp(t), divmod(t, 0.3), x
def turn(i):
    global t
    t = i * 0.75
### int_state_funcs
k = 5
def fn(x): return k.bit_length(), k.bit_count(), k.real, k.numerator, divmod(k, 3), pow(k, 2, 5), k << 1, k & 3, ~k, k ^ 1, -k // 2, x
def turn(i):
    global k
    k = i * 3
### symf_np_ops
k = 0.5; n = np.int64(2); f = np.float32(1.5); d = np.float64(2.5)
def fn(x): return k + n, n + k, k == n, k < f, k * f, d - k, k / d, k // n, k == d, d <= k, max(k, n), x
def turn(i):
    global k
    k = i + 0.5
### sym_frac_dec
k = 1; F3 = Fraction(1, 3); D2 = Decimal(2)
def fn(x): return k + F3, F3 * k, k == F3, F3 < k, k * D2, D2 == k, k > D2, k + 1j, 1j * k, k == 1 + 0j, x
def turn(i):
    global k
    k = i + 1
### lazy_np_ops
n = np.int64(2); f = np.float32(1.5)
class C(IntEnum): A = 1; B = 2
def fn(x):
    v = x.sum().item(); k = int(x.max())
    return v + n, n * v, v == n, k == n, k + n, k < f, k == C.B, C.B == k, k + C.A, v + Fraction(1, 2), k == Fraction(2), k + 1j, x
### result_list_mutated
log = []
def fn(x): log.append(x.sum().item()); return log
def after(i, r): r.append(100.0)
### result_dict_mutated
st = {"n": 0}
def fn(x): st["n"] += 1; return st, {"fresh": st["n"]}
def after(i, r): r[0]["n"] += 10; r[1]["fresh"] = None
### result_nested_kept
kept = []
def fn(x): d = {"a": [x.sum().item()]}; kept.append(d); return d
def after(i, r): r["a"].append(i)
### result_obj_mutated
class O:
    def __init__(self): self.v = []; self.n = 0
o = O()
def fn(x): o.n += 1; o.v.append(o.n); return o
def after(i, r): r.n += 5; r.v = r.v[-2:]
### result_new_obj_mutated
class O:
    def __init__(self, n): self.n = n; self.l = [n]
pool = []
def fn(x): o = O(len(pool)); pool.append(o); return o
def after(i, r): r.l.append("z"); r.n *= 2
### result_tensor_mutated
buf = ingot.zeros(3)
def fn(x): buf.add_(x); return buf
def after(i, r): r.mul_(2)
### result_view_mutated
buf = ingot.zeros(2, 3)
def fn(x): buf[1] += x; return buf[1]
def after(i, r): r.fill_(1)
### result_arg_alias
def fn(x, l): l.append(x); return l, x
def args(i): return ingot.ones(2), []
def after(i, r): r[1].zero_(); r[0].append(1)
### result_array_mutated
def fn(x): return x.numpy(), (x * 2).numpy()
def after(i, r): r[0][0] = 9; r[1][:] = 0
### result_const_list
def fn(x): return [1, 2], {"a": []}, x
def after(i, r): r[0].append(3); r[1]["a"].append(i)
### result_const_shared
K = [1, 2]
def fn(x): return K, list(K), x
def after(i, r): r[0].append(3); r[1].append(4)
### result_default_arg
def fn(x, acc=[]): acc.append(len(acc)); return acc
def after(i, r): r.clear() if i == 2 else r.append("q")
### result_iter_consumed
def fn(x): return iter([1, 2, 3]), x
def after(i, r): next(r[0])
### result_generator
def fn(x): return (x * k for k in range(2))
def after(i, r): list(r)
### result_range_zip
def fn(x): return range(3), list(zip([1], [2])), enumerate("ab"), x
### result_deque
q = deque(maxlen=2)
def fn(x): q.append(x.sum().item()); return q, deque([1], maxlen=3)
def after(i, r): r[0].clear() if i == 3 else None; r[1].append(2)
### result_np_state
a = np.zeros(2)
def fn(x): return a, a.copy(), a[:1], x
def after(i, r): r[0][0] += 1; r[1][:] = 7; r[2][0] += 10
### result_param
w = nn.Parameter(ingot.ones(3))
def fn(x): (w * x).sum().backward(); return w, w.grad
def after(i, r): r[1].zero_()
### result_state_dict
net = nn.Linear(2, 1)
def fn(x): return net.state_dict(), x
def after(i, r): r[0]["weight"].fill_(i)
### result_module
net = nn.Linear(3, 1)
def fn(x): return net, net(x)
def after(i, r): r[0].weight.data.fill_(i)
### result_arg_dict_inner
def fn(d): d["y"] = d["x"] * 2; d["sub"]["z"] = 1; return d["sub"]
def args(i): return {"x": ingot.ones(2) * i, "sub": {}},
def after(i, r): r["w"] = 2
### result_exception_obj
def fn(x):
    try: {}["k"]
    except KeyError as e: return e.args, x
### result_same_twice
def fn(x): l = [x]; return l, l, (l,)
def after(i, r): r[0].append(1)
### result_cycle
def fn(x): l = [x]; l.append(l); return len(l)
### arg_list_types
def fn(x, l): return sum(l) * x, type(l[0]).__name__
def args(i): return ingot.ones(2), [[1, 2], [1, 3], [1.0, 2], [True, 2], [1, 2], (1, 2)][i]
### arg_dict_keys
def fn(x, d): return list(d), x * d[list(d)[0]]
def args(i): return ingot.ones(2), [{"a": 1, "b": 2}, {"b": 2, "a": 1}, {"a": 3, "b": 2}, {1: 1}, {True: 1}, {1.0: 1}][i]
### arg_obj_attrs
class A:
    def __init__(self, **k): self.__dict__.update(k)
objs = [A(k=1), A(k=2, z=3), A(k=1)]
def fn(x, a): return x * a.k, hasattr(a, "z")
def args(i): return ingot.ones(2), objs[i % 3]
def turn(i):
    if i == 3: objs[0].k = 10
    if i == 4: objs[1].__dict__.pop("z")
### arg_same_tensor
def fn(x, y): x.add_(1); return x + y, x is y
t = ingot.zeros(2)
def args(i): return (t, t) if i % 2 else (t, t.clone())
### arg_callable
fs = [ingot.sin, ingot.cos, lambda t: t * 2, functools.partial(ingot.mul, other=3.0) if False else abs]
def fn(x, f): return f(x)
def args(i): return ingot.ones(2), fs[i % 4]
def turn(i):
    if i == 3: fs[2].__code__ = (lambda t: t * 50).__code__
### arg_enum_str
class C(str, Enum): A = "a"; B = "b"
def fn(x, c): return x * (1 if c == "a" else 2), c.value if isinstance(c, C) else c
def args(i): return ingot.ones(1), [C.A, "a", C.B, "b", C.A, "a"][i]
### arg_np_types
def fn(x, n): return x * n, type(n).__name__, n == 1
def args(i): return ingot.ones(1), [1, np.int64(1), 1.0, np.float32(1), True, np.bool_(True)][i]
### arg_np_array_mutated
A = np.zeros(3, "f")
def fn(x, a): return ingot.tensor(a) + x, float(a.sum())
def args(i): return ingot.ones(3), A
def turn(i): A[0] = i
### arg_set_order
def fn(x, s): return list(s), x
def args(i): return ingot.ones(1), [{8, 0}, {0, 8}, {1, 2}, {2, 1}, frozenset({1}), {8, 0}][i]
### arg_namespace
ns = NS(a=1)
def fn(x, n): n.a += 1; return x * n.a
def args(i): return ingot.ones(1), ns
def turn(i):
    if i == 3: ns.a = 50
### arg_none_missing
def fn(x, a=None, *b, c=(), **d): return x if a is None else x * a, len(b), c, sorted(d)
def args(i): return [(ingot.ones(1),), (ingot.ones(1), 2), (ingot.ones(1), 2, 3), (ingot.ones(1), None), (ingot.ones(1), 0), (ingot.ones(1),)][i]
### method_bound_traced
class A:
    k = 1
    def f(self, x): self.k += 1; return x * self.k
a = A()
def wrap(f): return ingot.jit.trace(a.f)
def fn(x): return a.f(x)
def turn(i):
    if i == 3: a.k = 50
### nested_trace
@ingot.jit.trace
def inner(x): global c; c += 1; return x * k
c = 0; k = 2
def fn(x): return inner(x) + inner(x), c
def turn(i):
    global k
    if i == 2: k = 5
    inner(ingot.ones(3))
### bare_class_loss
class R: pass
def fn(x):
    r = R(); r.loss = x.sum(); r.n = 3
    return r
def after(i, r): r.n = 50
### local_class_obj_returned
def mk():
    class L:
        def __init__(self, k): self.k = k
    return L
L_ = mk(); kinds = []
def fn(x):
    o = L_(x.sum().item()); kinds.append(type(o)); return o, type(o), len(kinds)
### return_outside_things
class O: pass
o = O(); o.ba = bytearray(b"q"); o.ar = array.array("i", [1]); o.p = functools.partial(max, 1); o.lk = threading.Lock(); o.f = lambda v: v; o.sio = io.StringIO("a")
def fn(x): return o.ba, o.ar, o.p, o.lk, o.f, o.sio, x
def after(i, r): r[0].append(65); r[1].append(2)
### return_nn_module_made
def fn(x): return nn.ReLU(), x
### return_ingot_objects
g = ingot.Generator()
opt = optim.SGD([nn.Parameter(ingot.ones(1))], 0.1)
def fn(x): return g, opt, opt.param_groups, opt.param_groups[0], ingot.Size([1]), x
### return_distribution
def fn(x): return ingot.distributions.Normal(x, 1.0).mean, x
### return_partial_made
def fn(x): return functools.partial(ingot.mul, x), x
### return_lambda_made
def fn(x): return (lambda v: v + 1), x
### return_bound_made
class A:
    def __init__(self, k): self.k = k
    def f(self): return self.k
def fn(x): return A(2).f, x
### copy_tensor_outside
class A: pass
a = A(); a.t = ingot.ones(3)
def fn(x): return copy.copy(a.t), copy.deepcopy(a.t), x
### swallowed_gradient
t = (nn.Parameter(ingot.ones(3)) * 2)
def fn(x):
    try: g = t.grad
    except Exception: g = "err"
    return g is None, x
'''


PROGRAMS = parsed(_TEXT)

# Programs that raise `TraceError`.
REFUSED = frozenset((
    "arg_namespace", "copy_tensor_outside", "exit_iter", "gen_for_loop_partial", "gen_in_list", "gen_outside_arg",
    "gen_outside_attr", "gen_outside_local_hop", "isinstance_hook", "lock_with", "map_outside",
    "np_random_state_obj", "policy_gradient", "print_redirect_outside", "random_state_restore",
    "result_generator", "result_iter_consumed", "result_range_zip", "return_bound_made", "return_lambda_made",
    "return_nn_module_made", "return_partial_made", "stringio_log", "unpack_hop_iter", "yield_from_outside",))
