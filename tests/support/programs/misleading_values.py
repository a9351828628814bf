"""Programs that try to mislead the tracer by values: such for which operators raise, numbers that are equal and not the same,
sizes in lists; and by what they say.

Each is a module of its own with a function `fn`. `args(i)` are the arguments of call i, `turn(i)` changes something before it,
and `seen()` is what can be seen afterwards. Those of `REFUSED` raise a TraceError."""

IMPORTS = """
import collections, contextlib, copy, decimal, enum, functools, gc, io, itertools, logging, math, threading, warnings
from dataclasses import dataclass
from types import SimpleNamespace as NS
import numpy as np
import ingot
from ingot import nn
F = nn.functional
"""

_TEXT = r"""
### fails_index_caught
table = ingot.arange(5.0)
def fn(x, i):
    try:
        return x + table[i]
    except IndexError:
        return x - 1
def args(k): return ingot.ones(3), ingot.tensor([0, 1, k])
### fails_index_long_caught
table = ingot.arange(5.0)
log = []
def fn(x, i):
    try:
        y = table.index_select(0, i)
    except (IndexError, RuntimeError) as e:
        log.append(type(e).__name__)
        y = table[:3]
    return x + y
def args(k): return ingot.ones(3), ingot.tensor([0, 1, k])
def seen(): return log
### fails_chol_jitter
def fn(a):
    jitter = 0.0
    while True:
        try:
            return ingot.linalg.cholesky(a + jitter * ingot.eye(2))
        except Exception:
            jitter += 1.0
def args(k): return (ingot.tensor([[1.0, 2.0 * (k % 4)], [2.0 * (k % 4), 1.0]]),)
### fails_inv_caught
def fn(a):
    try:
        return ingot.linalg.inv(a)
    except Exception as e:
        return ingot.linalg.pinv(a)
def args(k): return (ingot.tensor([[1.0, 2.0], [2.0, 4.0 if k % 3 == 2 else 1.0]]),)
### fails_finally_log
log = []
table = ingot.arange(5.0)
def fn(x, i):
    try:
        return x + table[i]
    finally:
        log.append(1)
def args(k): return ingot.ones(3), ingot.tensor([0, 1, k])
def seen(): return log
### fails_suppress_embedding
emb = nn.Embedding(4, 3)
def fn(i):
    y = ingot.zeros(2, 3)
    with contextlib.suppress(IndexError):
        y = emb(i)
    return y * 2
def args(k): return (ingot.tensor([0, k]),)
### fails_one_hot
def fn(i):
    try: return F.one_hot(i, 4)
    except Exception as e: return i * 0
def args(k): return (ingot.tensor([0, k]),)
### fails_cross_entropy_target
def fn(x, t):
    try: return F.cross_entropy(x, t)
    except Exception as e: return x.sum()
def args(k): return ingot.ones(2, 4), ingot.tensor([0, k])
### fails_nested_finally_writes
n = ingot.zeros(())
table = ingot.arange(4.0)
def fn(i):
    try:
        try: return table[i] * 2
        finally: n.add_(1)
    except IndexError: return table[:1]
def args(k): return (ingot.tensor([k]),)
def seen(): return n
### fails_write_before_kernel_error
n = ingot.zeros(())
table = ingot.arange(4.0)
def fn(i):
    n.add_(1)
    return table[i] * 2
def args(k): return (ingot.tensor([k]),)
def seen(): return n
### fails_log_before_kernel_error
log = []
table = ingot.arange(4.0)
class C: calls = 0
c = C()
def fn(i):
    log.append("called"); c.calls += 1
    return table[i] * 2
def args(k): return (ingot.tensor([k]),)
def seen(): return log, c.calls
### fails_print_before_kernel_error
table = ingot.arange(4.0)
def fn(i):
    print("start")
    return table[i] * 2
def args(k): return (ingot.tensor([k]),)
### fails_first_call_fails
table = ingot.arange(5.0)
def fn(x, i):
    try:
        return x + table[i]
    except IndexError:
        return x - 1
def args(k): return ingot.ones(3), ingot.tensor([0, 1, 7 - k])
### fails_first_chol_fails
def fn(a):
    try: return ingot.linalg.cholesky(a)
    except Exception: return a * 0
def args(k): return (ingot.tensor([[1.0, 2.0 if k == 0 else 0.1], [2.0 if k == 0 else 0.1, 1.0]]),)
### fails_shape_mismatch
def fn(x, y):
    try: return x + y
    except Exception: return x
def args(k): return ingot.ones(3), ingot.ones([3, 4, 3, 2, 1, 3, 5, 1][k])
### intenum
class E(enum.IntEnum):
    A = 1; B = 2
def fn(x, e): return x * e
def args(i): return ingot.ones(3), [E.A, E.B, 3][i % 3]
### dtype_view
def fn(x): return x.view(ingot.int32) + 1
### rng_numpy_fresh
def fn(x, s): return x * float(np.random.default_rng(s).random())
def args(i): return ingot.ones(3), i
### says_logging_stream
buf = io.StringIO()
lg = logging.getLogger("log3_" + __name__); lg.addHandler(logging.StreamHandler(buf))
lg.setLevel(logging.INFO); lg.propagate = False
def fn(x):
    lg.info("loss %.2f", x.sum().item())
    if x.sum() > 9: lg.warning("big")
    lg.debug("not shown")
    return x * 2
def seen(): return buf.getvalue()
### says_logging_level
h = []
class H(logging.Handler):
    def emit(self, r): h.append(r.getMessage())
lg = logging.getLogger("prog_logging2_" + __name__); lg.addHandler(H()); lg.setLevel(logging.WARNING); lg.propagate = False
def fn(x):
    lg.info("hello")
    return x * 2
def turn(i):
    if i == 4: lg.setLevel(logging.INFO)
def seen(): return h
### says_logging_exception
buf = io.StringIO()
lg = logging.getLogger("prog_logging4_" + __name__); lg.addHandler(logging.StreamHandler(buf)); lg.propagate = False
def fn(x):
    try: raise ValueError("a")
    except ValueError: lg.exception("bad")
    return x
### says_warnings_error
def fn(x):
    try: warnings.warn("careful")
    except UserWarning: return x * 3
    return x * 2
def turn(i): warnings.simplefilter("error" if i >= 4 else "ignore")
### says_warnings_catch
def fn(x):
    with warnings.catch_warnings(record=True) as w:
        warnings.simplefilter("always")
        warnings.warn("a")
    return x * len(w)
### says_warn_default
caught = []
def fn(x):
    warnings.warn("careful")
    return x * 2
def turn(i):
    warnings.showwarning = lambda m, c, f, l, file=None, line=None: caught.append((str(m), c.__name__, f, l))
    if i == 0: warnings.simplefilter("default")
    if i == 4: __warningregistry__.clear()
def seen(): return caught
### says_warn_values
caught = []
def fn(x):
    if x.sum() > 9: warnings.warn(f"sum {x.sum().item()}", RuntimeWarning)
    return x * 2
def turn(i):
    warnings.showwarning = lambda m, c, f, l, file=None, line=None: caught.append((str(m), c.__name__, l))
    if i == 0: warnings.simplefilter("always")
def seen(): return caught
### says_warn_stacklevel
caught = []
def g(x):
    warnings.warn("deep", stacklevel=2)
    return x * 2
def fn(x):
    y = g(x)
    return y + g(x)
def turn(i):
    warnings.showwarning = lambda m, c, f, l, file=None, line=None: caught.append((str(m), c.__name__, f, l))
    if i == 0: warnings.simplefilter("always")
def seen(): return caught
### shape_hash
seen_shapes = {}
def fn(x):
    seen_shapes[tuple(x.shape)] = seen_shapes.get(tuple(x.shape), 0) + 1
    return x * len(seen_shapes)
def args(i): return (ingot.ones(i % 3 + 1),)
def seen(): return seen_shapes
### numpy_scalar
def fn(x, n): return x * n, str(type(n).__name__)
numbers = [np.float32(1.5), np.float64(2.5), np.int64(3), 2, np.float32(0.5), np.int32(4), np.bool_(True), 1.0]
def args(i): return ingot.ones(3), numbers[i]
### arg_tensor_attr
def fn(x): return x * x.scale
def args(i):
    t = ingot.ones(2); t.scale = float(i)
    return (t,)
### tensor_attr_nested_arg
def fn(l):
    y = 0
    for t in l: y = y + t * t.scale
    return y
def args(i):
    t = ingot.ones(2); t.scale = float(i)
    return ([t],)
### arg_version
def fn(x): return x * x._version if hasattr(x, "_version") else x
def args(i):
    x = ingot.ones(2)
    for _ in range(i % 3): x.add_(1)
    return (x,)
### bool_int
flag = 1
def fn(x): return x * flag, flag is True
def turn(i):
    global flag
    flag = [1, True, 0, False][i % 4]
def args(i): return (ingot.arange(3),)
### complex_neg_zero
z = complex(0.0, -0.0)
def fn(x): return x * math.copysign(1.0, z.imag)
def turn(i):
    global z
    z = complex(0.0, -0.0 if i % 2 else 0.0)
### neg_zero_captured
k = 0.0
def fn(x): return x / k
def turn(i):
    global k
    k = -0.0 if i % 2 else 0.0
### tuple_neg_zero
t = (0.0, 1.0)
def fn(x):
    for v in t: x = x + ingot.full((2,), 1.0) / v
    return x
def args(i): return (ingot.ones(2),)
def turn(i):
    global t
    t = (-0.0, 1.0) if i % 2 else (0.0, 1.0)
### tuple_types
t = (1, 2)
def fn(x):
    for v in t: x = x * v
    return x
def args(i): return (ingot.arange(3),)
def turn(i):
    global t
    t = [(1, 2), (1.0, 2), (True, 2), (1, 2.0)][i % 4]
### nan_captured
k = float("nan")
def fn(x): return x * 2 if k != k else x * k
def turn(i):
    global k
    k = float("nan") if i % 3 else 1.0
### raise_after_list_append
l = []
def fn(x):
    l.append(x.shape[0])
    if x.sum() > 10: raise ValueError("b")
    return x
def args(i): return (ingot.ones(i % 5 + 2) * i,)
def seen(): return l
### raise_with_size_attr
class C: n = 0
c = C()
def fn(x):
    c.n = x.shape[0]
    if x.shape[0] > 4: raise ValueError(x.shape[0])
    return x
def args(i): return (ingot.ones(i % 5 + 2),)
def seen(): return vars(c)
### set_order_arg
def fn(x, s):
    for v in s: x = x * v + 1
    return x
def args(i): return ingot.ones(2), set([0, 8] if i % 2 else [8, 0])
### set_order_frozen_arg
def fn(x, s):
    for v in s: x = x * v + 1
    return x
def args(i): return ingot.ones(2), frozenset([0, 8] if i % 2 else [8, 0])
### set_order_captured
s = {0, 8}
def fn(x):
    for v in s: x = x * v + 1
    return x
def turn(i):
    s.discard(0); s.discard(8)
    for v in ([0, 8] if i % 2 else [8, 0]): s.add(v)
### set_order_frozen_captured
s = frozenset([0, 8])
def fn(x):
    for v in s: x = x * v + 1
    return x
def turn(i):
    global s
    s = frozenset([0, 8] if i % 2 else [8, 0])
### set_returned_mutated
def fn(x): return x, {1, 2}
def turn(i):
    r = _wrapped(ingot.ones(2))[1]; r.add(99)
### arg_set
def fn(x, s): return x * len(s) if "a" in s else x
def args(i): return ingot.ones(2), {"a", "b"} if i % 2 else {"b"}
### arg_slice
def fn(x, s): return x[s]
def args(i): return ingot.arange(6.0), slice(i % 3, None, 1 + i % 2)
### neg_index_select
def fn(x, i):
    try: return x.index_select(0, i) * 2
    except Exception as e: return str(e)
def args(k): return ingot.arange(5.0), ingot.tensor([0, 3 - k])
### neg_index_add
def fn(x, i): return x.index_add(0, i, ingot.ones(2))
def args(k): return ingot.arange(5.0), ingot.tensor([0, 3 - k])
### neg_assert_close
def fn(a):
    ingot.testing.assert_close(a, ingot.ones(2))
    return a
def args(k): return (ingot.ones(2) * (1 if k < 4 else k),)
### neg_split_bad
def fn(x, l):
    try: return x.split(l.tolist())
    except Exception as e: return str(e)
def args(k): return ingot.arange(6.0), ingot.tensor([2, 4 if k % 3 else 5])
### neg_split_negative
def fn(x, l):
    try: return x.split(l.tolist())
    except Exception as e: return type(e).__name__
def args(k): return ingot.arange(6.0), ingot.tensor([2 + k, 4 - k])
### split_lengths
def fn(x, l): return [p.sum() for p in x.split(l.tolist())]
lengths = [3, 4, 5], [2, 5, 5], [1, 1, 10], [6, 3, 3], [4, 4, 4], [2, 2, 8], [7, 2, 3], [5, 5, 2]
def args(i): return ingot.ones(12), ingot.tensor(lengths[i])
### for_counts
def fn(x, c):
    out, at = [], 0
    for n in c.tolist():
        out.append(x[at: at + n].sum()); at += n
    return ingot.stack(out)
lengths = [3, 4, 5], [2, 5, 5], [1, 1, 10], [6, 3, 3], [4, 4, 4], [2, 2, 8], [7, 2, 3], [5, 5, 2]
def args(i): return ingot.ones(12), ingot.tensor(lengths[i])
### moe_sorted
class MoE(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(4, 3); self.experts = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])
    def forward(self, x):
        w, idx = self.gate(x).softmax(-1).max(-1)
        order = idx.argsort()
        counts = ingot.bincount(idx, minlength=3).tolist()
        parts = [e(p) for e, p in zip(self.experts, x[order].split(counts))]
        out = ingot.empty_like(x)
        out[order] = ingot.cat(parts)
        return out * w[:, None]
m = MoE()
def fn(x): return m(x)
def args(i): return (ingot.randn(24, 4),)
### list_ids_stored
log = []
def fn(x, ids):
    log.append(ids.tolist())
    return x
def args(k): return ingot.arange(3.0), ingot.tensor([k, 1])
def seen(): return log
### list_mutated
def fn(x, ids):
    l = ids.tolist()
    l.append(2); l.sort()
    return x[: l[1]]
def args(k): return ingot.arange(9.0), ingot.tensor([k % 5 + 1, k])
### list_types
def fn(x, ids): return x * sum(type(t) is int for t in ids.tolist())
def args(k): return ingot.arange(9.0), ingot.tensor([k % 5 + 1, k])
### says_warn_from_import
from warnings import warn
caught = []
def fn(x):
    warn("careful")
    return x * 2
def turn(i):
    warnings.showwarning = lambda m, c, f, l, file=None, line=None: caught.append(str(m))
    warnings.simplefilter("always")
def seen(): return caught
"""

PROGRAMS = dict(part.split("\n", 1) for part in _TEXT.split("### ")[1:])
REFUSED = frozenset(("says_logging_exception", "arg_tensor_attr", "arg_version"))

# Recordings of eight calls, if more than four.
MOST = {"rng_numpy_fresh": 8, "says_warn_values": 8, "shape_hash": 8, "numpy_scalar": 8, "bool_int": 5,
        "neg_assert_close": 8, "neg_split_negative": 8, "tensor_attr_nested_arg": 8, "moe_sorted": 5,
        "list_mutated": 8, "list_types": 6}
