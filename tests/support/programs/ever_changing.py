"""Programs in which something changes at each call, for tests of what recording costs.

Each function below makes a program with state of its own. It returns (the function to trace, a function that makes the
arguments of call i).
"""

import collections
import contextlib
import dataclasses
import datetime
import functools
import math
import random
import types

import numpy as np

import ingot
from ingot import jit, nn

X = ingot.ones(8, 8)
PROGRAMS: dict = {}


def program(make):
    def seeded():
        ingot.manual_seed(0)
        return make()

    PROGRAMS[make.__name__] = seeded
    return make


def vary(i):
    """Return a tensor whose sum differs at each call."""
    return (ingot.full((8, 8), 0.01 * (i + 1)),)


@program
def item_in_text():
    return lambda x: x * float(str(x.sum().item())), vary


@program
def item_as_dict_key():
    table = {}

    def f(x):
        key = int(x.sum() * 1000)
        return x * table.setdefault(key, 2.0)
    return f, vary


@program
def item_of_a_dict_of_divisors():
    divisors = {n: float(n) for n in range(1, 200)}

    def f(x):
        kept = x[x > 0]
        return kept.sum() / divisors[kept.shape[0]]

    def args(i):
        x = ingot.full((200,), -1.0)
        x[: i + 1] = 1.0
        return (x,)
    return f, args


@program
def whole_number_of_a_tensor():
    return lambda x: x * len("a" * int(x.sum())), vary


@program
def string_argument():
    return lambda x, name: x * len(name), lambda i: (X, f"name{i}")


@program
def string_attribute():
    class Owner:
        name = ""
    owner = Owner()

    def args(i):
        owner.name = f"run-{i}"
        return (X,)
    return lambda x: x * len(owner.name), args


@program
def sizes_of_elementwise():
    return lambda x: (x * 2 + 1).relu().sum(), lambda i: (ingot.ones(50 + i, 8),)


@program
def sizes_of_a_network():
    net = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.LayerNorm(32), nn.Linear(32, 32), nn.GELU(), nn.Linear(32, 4))
    return (lambda x: net(x).softmax(-1)), lambda i: (ingot.ones(20 + i, 16),)


def _training(net, opt):
    def step(x):
        opt.zero_grad()
        loss = net(x).square().mean()
        loss.backward()
        opt.step()
        return loss
    return step


@program
def sizes_of_training():
    net = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))
    return _training(net, ingot.optim.SGD(net.parameters(), lr=1e-3)), lambda i: (ingot.ones(20 + i, 16),)


@program
def sizes_of_images():
    net = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 8, 3))
    return (lambda x: net(x).mean()), lambda i: (ingot.ones(1, 3, 16 + i, 20 + i),)


@program
def sizes_of_warps():
    """Images turned by angles of their own, in batches and sizes that differ."""
    def f(x):
        angles = ingot.linspace(0, 1, x.shape[0])
        rows = [ingot.stack([angles.cos(), -angles.sin(), ingot.zeros_like(angles)], -1),
                ingot.stack([angles.sin(), angles.cos(), ingot.zeros_like(angles)], -1)]
        grid = nn.functional.affine_grid(ingot.stack(rows, 1), list(x.shape), align_corners=False)
        return nn.functional.grid_sample(x, grid, align_corners=False)
    # Eager and traced calls get the same numbers, though both are made in turns.
    drawn, numbers = random.Random(5), ingot.Generator().manual_seed(5)
    return f, lambda i: (ingot.randn(drawn.randint(1, 5), 3, drawn.randint(8, 16), drawn.randint(8, 16), generator=numbers),)


@program
def sizes_of_attention():
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True).eval()
    return (lambda x: layer(x)), lambda i: (ingot.ones(2, 5 + i, 16),)


@program
def sizes_of_a_graph():
    weight = ingot.ones(8, 8)

    def f(x, edges):
        messages = (x @ weight)[edges[0]]
        return ingot.zeros(x.shape[0], 8).index_add(0, edges[1], messages).relu()

    def args(i):
        n, m = 20 + i % 17, 60 + 3 * i
        return ingot.ones(n, 8), ingot.arange(2 * m).reshape(2, m) % n
    return f, args


@program
def sizes_by_an_argument():
    return lambda x, n: ingot.arange(0, n) * x[0, 0], lambda i: (X, i + 5)


@program
def list_lengths():
    return lambda parts: ingot.cat(parts).sum(0), lambda i: ([X] * (i + 1),)


@program
def list_of_numbers():
    return lambda x, numbers: x * sum(numbers), lambda i: (X, [1.0 * k for k in range(i)])


@program
def split_lengths():
    def f(x, lengths):
        return sum(part.sum() for part in x.split(lengths.tolist()))
    return f, lambda i: (ingot.ones(300, 4), ingot.tensor([1 + i, 100 - i // 2, 199 - i + i // 2]))


@program
def packed_lengths():
    layer = nn.GRU(4, 4, batch_first=True)

    def f(x, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        return nn.utils.rnn.pad_packed_sequence(layer(packed)[0], batch_first=True)[0]

    def args(i):
        lengths = ingot.tensor([1 + i % 7, 1 + i % 5, 1 + i % 11])
        return ingot.ones(3, int(lengths.max()), 4), lengths
    return f, args


@program
def branches():
    def f(x, bits):
        for k in range(7):
            x = x + 1 if bits & (1 << k) else x * 2
        return x
    return f, lambda i: (X, i)


@program
def branches_on_values():
    def f(x, bits):
        for k in range(7):
            x = x + 1 if bits[k] > 0 else x * 0.5
        return x
    return f, lambda i: (X, ingot.tensor([float(i >> k & 1) for k in range(7)]))


@program
def loops_on_values():
    def f(x, n):
        count = 0
        while x.sum() > 0.1 * n:
            x, count = x * 0.9, count + 1
        return x
    return f, lambda i: (X, 1 + (i * 37) % 101)


@program
def steps_of_an_embedded_pair():
    """A solver of a differential equation, whose steps are as long as their errors allow."""
    rates = ingot.randn(4, 4) * 0.1

    def f(y):
        t, h = 0.0, 0.1
        while t < 1.0:
            k1 = rates @ y
            k2 = rates @ (y + h * k1 / 5)
            k3 = rates @ (y + h * (3 * k1 / 40 + 9 * k2 / 40))
            error = float(((k3 - k1) * h).abs().max())
            if error < 0.05:
                y, t = y + h * (k1 + 2 * k2 + k3) / 4, t + h
            h = min(h * min(2.0, max(0.5, 0.9 * (0.05 / (error + 1e-9)) ** 0.5)), max(1.0 - t, 1e-3))
        return y

    def args(i):
        ingot.manual_seed(i)
        return (ingot.randn(4),)
    return f, args


@program
def objects_of_new_identity():
    class Options:
        def __init__(self, scale):
            self.scale = scale
    return lambda x, options: x * options.scale, lambda i: (X, Options(2.0))


@program
def new_lambdas():
    return lambda x, function: function(x) + 1, lambda i: (X, lambda x: x * 2)


@program
def new_closures_over_the_loop_variable():
    return lambda x, function: function(x) + 1, lambda i: (X, lambda x, i=i: x * i)


@program
def new_partials():
    return lambda x, function: function(x) + 1, lambda i: (X, functools.partial(ingot.mul, other=2.0))


def _fill(layer):
    layer.weight.fill_(0.1)


@program
def new_modules():
    return lambda x, layer: layer(x).relu(), lambda i: (X, nn.Linear(8, 4, bias=False).requires_grad_(False).apply(_fill))


@program
def new_tensors_of_a_global():
    holder = types.SimpleNamespace(weight=None)

    def args(i):
        holder.weight = ingot.ones(8, 8)
        return (X,)
    return lambda x: (x @ holder.weight).relu(), args


@program
def cache_that_grows():
    cache = {}

    def f(x, i):
        if i not in cache:
            cache[i] = x * i
        return cache[i] + x
    return f, lambda i: (X, i)


@program
def cache_of_functools():
    @functools.lru_cache(None)
    def scale(i):
        return math.sqrt(i + 1)
    return lambda x, i: x * scale(i), lambda i: (X, i)


@program
def list_that_grows():
    log = []

    def f(x):
        log.append(x.mean().item())
        return x * sum(log)
    return f, vary


@program
def registry_of_objects():
    registry = {}

    class Normal:
        def __init__(self, mean, scale):
            self.mean, self.scale = mean, scale

    def f(x):
        registry["z"] = {"fn": Normal(x, 1.0), "value": x * 2}
        return registry["z"]["value"] * registry["z"]["fn"].scale
    return f, vary


@program
def memoised_on_an_object():
    class Kernel:
        def __init__(self):
            self._memo = {}

        def covariance(self, x):
            if "k" not in self._memo:
                self._memo["k"] = x @ x
            return self._memo["k"]
    kernel = Kernel()

    def args(i):
        kernel._memo = {}
        return vary(i)
    return lambda x: kernel.covariance(x).sum(), args


@program
def memoised_by_object():
    class Point:
        pass
    memo = {}

    def f(x, point):
        if id(point) not in memo:
            memo[id(point)] = x.sum()
        return x * memo[id(point)]
    kept = []

    def args(i):
        kept.append(Point())
        return X, kept[-1]
    return f, args


@program
def contexts_per_call():
    stack = []

    class Context:
        def __init__(self, level):
            self.level = level

        def __enter__(self):
            stack.append(self)
            return self

        def __exit__(self, *_):
            stack.pop()

    def f(x, i):
        with Context(i):
            return x * len(stack) + stack[-1].level
    return f, lambda i: (X, i)


@program
def handlers_around_the_call():
    stack = []

    def args(i):
        stack[:] = [types.SimpleNamespace(scale=1.0 * i)]
        return (X,)
    return lambda x: x * sum(h.scale for h in stack), args


@program
def operator_optimizer_and_schedule():
    @jit.host
    def double(x):
        return x * 2

    class Descent(ingot.optim.Optimizer):
        def __init__(self, params):
            super().__init__(params, {"lr": 0.1})

        @ingot.no_grad()
        def step(self):
            for group in self.param_groups:
                for p in group["params"]:
                    state = self.state[p]
                    state["step"] = state.get("step", 0) + 1
                    p.sub_(p.grad * group["lr"] / (1 - 0.9 ** state["step"]))
    net = nn.Linear(8, 4)
    opt = Descent(net.parameters())
    schedule = ingot.optim.lr_scheduler.LambdaLR(opt, lambda i: 1 / (1 + i))

    def step(x):
        opt.zero_grad()
        loss = net(x).square().mean() + double(x.detach()).mean()
        loss.backward()
        opt.step()
        schedule.step()
        return loss
    return step, lambda i: (X,)


@program
def own_schedule_by_milestones():
    state = types.SimpleNamespace(step=0)

    def f(x):
        state.step += 1
        rate = 0.1 if state.step % 10 == 0 else 0.5 if state.step in (3, 33, 66) else 1.0 / state.step
        return x * rate
    return f, lambda i: (X,)


@program
def numpy_scalars():
    return lambda x, n: x * n + n.dtype.itemsize, lambda i: (X, np.float32(i))


@program
def numpy_arrays_read():
    return lambda x, a: x * float(a.mean()), lambda i: (X, np.full(3, 1.0 * i))


@program
def numpy_kinds():
    return lambda x, n: x * float(n[-1]), lambda i: (X, np.arange(i + 1))


@program
def keys_of_a_dict():
    return lambda batch: sum(batch.values()), lambda i: ({f"k{i}": X, "other": X},)


@program
def keys_by_number():
    return lambda x, table, i: x * table[i], lambda i: (X, {i: 2.0, i + 1: 3.0}, i)


@program
def sets_of_numbers():
    return lambda x, chosen: x * len(chosen), lambda i: (X, frozenset(range(i)))


@program
def dates():
    return lambda x, day: x * day.year, lambda i: (X, datetime.date(2020, 1, 1) + datetime.timedelta(days=i))


@program
def times_of_day():
    clock = types.SimpleNamespace(now=datetime.datetime(2020, 1, 1))

    def args(i):
        clock.now += datetime.timedelta(seconds=37)
        return (X,)
    return lambda x: x * clock.now.timestamp(), args


@program
def python_ints_that_grow():
    return lambda x, n: x * (n % 7) + n.bit_length(), lambda i: (X, 3 ** i)


@program
def python_counter():
    counter = types.SimpleNamespace(n=0)

    def f(x):
        counter.n += 1
        return x * (counter.n % 97) + len(str(counter.n))
    return f, lambda i: (X,)


@program
def adaptive_steps():
    """A solver of order 2 whose steps depend on its error."""
    def f(y, end):
        t, h = 0.0, 0.1
        while t < end:
            a = -y * y
            b = -(y + h * a) * (y + h * a)
            error = (h * (a - b)).abs().max().item()
            if error < 1e-2:
                t, y = t + h, y + h * (a + b) / 2
            h = min(0.5, max(1e-3, 0.9 * h * (1e-2 / (error + 1e-9)) ** 0.5))
        return y
    return f, lambda i: (ingot.full((8,), 1.0 + 0.05 * i), 1.0 + 0.01 * i)


@program
def dopri_like():
    """A solver of five stages that keeps its step, and takes it from a tensor."""
    def stage(y, k, h):
        return -(y + h * k) + 0.1 * y * y

    def f(y, h):
        for _ in range(3):
            step = h.item()
            k = y * 0
            for c in (0.2, 0.3, 0.8, 0.9, 1.0):
                k = stage(y, k, step * c)
            error = k.abs().mean()
            y = y + step * k if error < 1 else y
            h = h * (0.9 if round(float(error), 3) % 0.002 > 0.001 else 1.1)
        return y
    return f, lambda i: (ingot.full((8,), 1.0 + 0.003 * i), ingot.tensor(0.1))


@program
def slices():
    return lambda x, part: x[part].sum(), lambda i: (ingot.ones(300), slice(i, 2 * i + 1))


@program
def dataclasses_with_text():
    @dataclasses.dataclass(frozen=True)
    class Sample:
        name: str
        value: object
    return lambda sample: sample.value * len(sample.name), lambda i: (Sample(f"s{i}", X),)


@program
def named_tuples_of_new_classes():
    def args(i):
        return (collections.namedtuple("Pair", "a b")(X, X),)
    return lambda pair: pair.a + pair.b, args


@program
def attributes_of_a_class():
    class Counted:
        made = 0

    def f(x):
        Counted.made += 1
        return x * (Counted.made if Counted.made % 3 else 1)
    return f, lambda i: (X,)


@program
def experts_by_router():
    experts = nn.ModuleList([nn.Linear(8, 8) for _ in range(4)])

    def f(x, chosen):
        out = ingot.zeros(x.shape[0], 8)
        for k, expert in enumerate(experts):
            rows = ingot.where(chosen == k)[0]
            if rows.shape[0]:
                out[rows] = expert(x[rows])
        return out

    def args(i):
        return ingot.ones(12, 8), ingot.arange(12) * (i + 1) % 5 % 4
    return f, args


@program
def sorted_values():
    return lambda x: x * sorted(x[0].tolist())[-1], vary


@program
def dispatch_by_type():
    return lambda x, part: x * len(type(part).__name__), lambda i: (X, type(f"Kind{i}", (), {})())


@program
def warmup_then_steady():
    return lambda x, name: (x * len(name)).relu() + 1, lambda i: (X, f"n{min(i, 8)}")


@program
def environment():
    import os

    def args(i):
        os.environ["EVER_CHANGING"] = str(i)
        return (X,)
    return lambda x: x * float(os.environ["EVER_CHANGING"]), args


@program
def null_contexts():
    return lambda x, context: _inside(x, context), lambda i: (X, contextlib.nullcontext(i))


def _inside(x, context):
    with context as n:
        return x + n


@program
def steady():
    net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    return (lambda x: net(x).softmax(-1)), vary


@program
def steady_training():
    net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    return _training(net, ingot.optim.Adam(net.parameters(), lr=1e-3)), vary


@program
def fixed_switch_late():
    """A flag that changes once, after the first calls."""
    return lambda x, flag: x * 2 if flag else x + 1, lambda i: (X, i > 40)


@program
def floats_with_a_branch():
    return (lambda x, a: (x * a + 1).sqrt() if a > 0.5 else x - a), lambda i: (X, 0.37 * i % 1)


@program
def names_of_functions():
    names = ("relu", "tanh", "sigmoid", "gelu")

    def f(x, tag):
        return getattr(nn.functional, tag.split("-")[0])(x) + len(tag)
    return f, lambda i: (X, f"{names[i % 4]}-{i}")


@program
def loops_over_lists():
    def f(parts):
        total = parts[0] * 0
        for k, x in enumerate(parts):
            total = total + x * (k + 1)
        return total
    return f, lambda i: ([X] * (1 + i * 7 % 13),)


@program
def dtypes():
    kinds = (ingot.float32, ingot.float64, ingot.int64, ingot.int32, ingot.float16, ingot.bfloat16)
    return (lambda x: (x * 2 + 1).sum().float()), lambda i: (ingot.ones(8, 8 + i // 6, dtype=kinds[i % 6]),)


@program
def objects_with_lists():
    def args(i):
        return X, types.SimpleNamespace(scale=float(i), names=[f"n{i}"])
    return (lambda x, options: x * options.scale + len(options.names[0])), args


@program
def new_closures_over_tensors():
    def args(i):
        w = ingot.full((8, 8), 0.1 * i)
        return X, lambda x: x @ w
    return (lambda x, function: function(x).relu()), args


@program
def new_networks():
    def args(i):
        ingot.manual_seed(i)
        return X, nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 2)).requires_grad_(False)
    return (lambda x, net: net(x).mean()), args


@program
def two_sizes_in_turns():
    net = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 4))
    return (lambda x: net(x).softmax(-1)), lambda i: (ingot.ones(8 if i % 2 else 5, 8),)


@program
def cosine_schedule():
    net = nn.Linear(8, 4)
    opt = ingot.optim.SGD(net.parameters(), lr=0.1)
    scheduler = ingot.optim.lr_scheduler.CosineAnnealingLR(opt, 200)
    train = _training(net, opt)

    def f(x):
        loss = train(x)
        scheduler.step()
        return loss * opt.param_groups[0]["lr"]
    return f, vary


@program
def growing_sequence():
    layer = nn.MultiheadAttention(16, 2, batch_first=True).eval()

    def f(x, past):
        past = ingot.cat([past, x], 1)
        return layer(x, past, past, need_weights=False)[0]
    return f, lambda i: (ingot.ones(1, 1, 16), ingot.ones(1, 1 + i, 16))
