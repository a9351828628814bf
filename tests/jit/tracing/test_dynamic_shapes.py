"""Sizes and numbers that change from call to call: results of eager mode, and few recordings."""

import random

import numpy as np
import pytest

import ingot
from ingot import jit, nn
from shape_programs import STEPS, ShapeProgram
from side_by_side import plain

F = nn.functional
SEEDS = range(24)


def sizes_of(seed, count, low=1, high=12):
    rng = random.Random(seed)
    return [(rng.randint(low, high), rng.randint(low, high)) for _ in range(count)]


def compare(eager, traced, sizes, arguments, exact=True):
    for i, size in enumerate(sizes):
        ingot.manual_seed(100 + i)
        a = arguments(i, *size)
        ingot.manual_seed(100 + i)
        b = arguments(i, *size)
        ingot.manual_seed(i)
        want = eager(*a)
        ingot.manual_seed(i)
        got = traced(*b)
        if exact:
            assert plain(got) == plain(want), f"call {i}, sizes {size}, of {eager}"
        else:
            for g, w in zip(got, want):
                close = ingot.allclose(g, w, rtol=1e-5, atol=1e-5) if isinstance(g, ingot.Tensor) else g == w
                assert close, f"call {i}, sizes {size}, of {eager}"


@pytest.mark.parametrize("step", STEPS, ids=lambda s: s.__name__)
def test_each_use_of_sizes(step):
    traced = jit.trace(step)
    contracts = step.__name__ in ("attended", "product")
    compare(step, traced, sizes_of(3, 14), ShapeProgram.arguments, exact=not contracts)
    most = {"named": 14, "branch": 10, "written": 14}.get(step.__name__, 8)      # printed, decided by, filled with
    assert traced.stats()["compiles"] <= most, traced.stats()["misses"]


@pytest.mark.parametrize("seed", SEEDS)
def test_random_programs_over_random_sizes(seed):
    program = ShapeProgram(seed)
    compare(program, jit.trace(program), sizes_of(seed, 10), ShapeProgram.arguments, exact=False)


def test_few_recordings_for_many_sizes():
    def fn(x, y):
        b, s, d = x.shape
        if s > 64:
            raise ValueError("too long")
        z = (x.view(b * s, d) @ ingot.ones(6, 4)).view(b, s, -1)
        return z.softmax(-1) * y.unsqueeze(-1) / (b * s), z.mean(1)

    traced = jit.trace(fn)
    rng = random.Random(0)
    sizes = [(b, s) for b in range(2, 27) for s in range(2, 12)]
    rng.shuffle(sizes)
    compare(fn, traced, sizes[:60], ShapeProgram.arguments, exact=False)
    stats = traced.stats()
    assert stats["compiles"] <= 2 and stats["checks"] <= 1, stats["misses"]
    with pytest.raises(ValueError, match="too long"):
        traced(*ShapeProgram.arguments(0, 3, 65))


@pytest.mark.slow
def test_a_hundred_batch_sizes_of_twenty_lengths():
    def fn(x, y):
        b, s, d = x.shape
        z = F.gelu(x.view(b * s, d) * y.reshape(-1, 1)).view(b, s, d).softmax(1)
        return z.mean(0) + ingot.arange(s).view(s, 1) / b

    traced = jit.trace(fn)
    sizes = [(b, s) for b in range(1, 101) for s in range(1, 21)]
    random.Random(2).shuffle(sizes)
    compare(fn, traced, sizes, ShapeProgram.arguments)
    assert traced.stats()["compiles"] <= 4 and variants(traced) <= 4, traced.stats()["misses"]
    traced = jit.trace(fn)
    compare(fn, traced, [(b, s) for b, s in sizes if b > 1 and s > 1], ShapeProgram.arguments)
    assert traced.stats()["compiles"] <= 2 and variants(traced) == 1, traced.stats()["misses"]


def variants(traced) -> int:
    """Return how many times a graph of symbolic sizes was compiled."""
    return sum(len(getattr(job, "variants", ())) for job in traced._jobs())


ONES = ((3, 4), (7, 5), (1, 6), (8, 1), (1, 1), (1, 9), (9, 1), (2, 2), (1, 1), (6, 7), (1, 2), (2, 1))


def test_sizes_of_one_that_do_no_other_work_share_a_recording():
    traced = jit.trace(lambda x, y: x + y.unsqueeze(-1) * x.shape[0])
    compare(traced.fn, traced, ONES, ShapeProgram.arguments)
    assert traced.stats()["compiles"] == 2 and traced.stats()["checks"] == 3, traced.stats()["misses"]


@pytest.mark.parametrize("step", [
    lambda x, y: (x + 1 if x.shape[0] == 1 else x * 2, y),                                  # decided in Python
    lambda x, y: (x.transpose(0, 1).contiguous().view(-1, 6) * 2, y),                       # decided by strides
    lambda x, y: (x.squeeze(0) + 1, y.squeeze()),
    lambda x, y: (x * 1 + ingot.ones(1, y.shape[1], 1), y + ingot.arange(3.0).sum() * (y.shape[1] > 1)),
    lambda x, y: ((x.sum(1) if x._a.shape[1] > 1 else x[:, 0] * 5), y)],
    ids=["branch", "strides", "squeeze", "broadcast", "leak"])
def test_sizes_of_one_that_do_other_work(step):
    for seed in range(3):
        rng = random.Random(seed)
        sizes = rng.sample(ONES, len(ONES))
        traced = jit.trace(step)
        compare(step, traced, sizes, ShapeProgram.arguments)
        assert traced.stats()["compiles"] <= 7, (seed, sizes, traced.stats()["misses"])


@pytest.mark.parametrize("seed", SEEDS)
def test_random_programs_where_sizes_are_often_one(seed):
    program, rng = ShapeProgram(seed), random.Random(seed)
    sizes = [tuple([rng.choice((1, rng.randint(2, 9))) for _ in range(2)]) for _ in range(10)]
    compare(program, jit.trace(program), sizes, ShapeProgram.arguments, exact=False)


class Small(nn.Module):
    """A language model of one attention block."""

    def __init__(self, words=23, width=16, longest=32):
        super().__init__()
        self.longest, self.heads = longest, 2
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(longest, width)
        self.norm, self.mix, self.out = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, words)

    def forward(self, tokens, targets):
        b, s = tokens.size()
        if s > self.longest:
            raise ValueError("too long")
        x = self.words(tokens) + self.places(ingot.arange(s))
        d = x.size(-1)
        q, k, v = [y.view(b, s, self.heads, d // self.heads).transpose(1, 2) for y in self.mix(self.norm(x)).split(d, 2)]
        mask = ingot.tril(ingot.ones(self.longest, self.longest))[:s, :s]
        scores = (q @ k.transpose(-2, -1) / (d // self.heads) ** 0.5).masked_fill(mask == 0, float("-inf"))
        x = x + (scores.softmax(-1) @ v).transpose(1, 2).contiguous().view(b, s, d)
        return F.cross_entropy(self.out(F.dropout(x, 0.1)).view(-1, 23), targets.view(-1))


class Recurrent(nn.Module):
    """A language model of an LSTM."""

    def __init__(self):
        super().__init__()
        self.words, self.lstm, self.out = nn.Embedding(23, 8), nn.LSTM(8, 12, batch_first=True), nn.Linear(12, 23)

    def forward(self, tokens, targets):
        return F.cross_entropy(self.out(self.lstm(self.words(tokens))[0]).reshape(-1, 23), targets.reshape(-1))


class Picture(nn.Module):
    """A convolutional network."""

    def __init__(self):
        super().__init__()
        self.first, self.norm, self.last = nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.Linear(4 * 9, 23)

    def forward(self, tokens, targets):
        x = (tokens[:, :1].unsqueeze(-1).unsqueeze(-1).float() / 23).expand(-1, 1, 6, 6)
        x = F.max_pool2d(self.norm(self.first(x)).relu(), 2)
        return F.cross_entropy(self.last(x.flatten(1)), targets[:, 0])


def learner(model, decides=False):
    """Return (model, a training step), with a value that Python reads if `decides`."""
    ingot.manual_seed(5)
    net = model()
    optimizer = ingot.optim.AdamW(net.parameters(), lr=1e-2)

    def step(tokens, targets):
        optimizer.zero_grad(set_to_none=True)
        loss = net(tokens, targets)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        if decides and norm > 1e9:
            return loss * 0
        optimizer.step()
        return loss

    return net, step


@pytest.mark.parametrize("model", [Small, Recurrent, Picture])
@pytest.mark.parametrize("decides", [False, True])
def test_training_over_random_sizes(model, decides):
    (a, eager), (b, step) = learner(model, decides), learner(model, decides)
    traced = jit.trace(step)
    rng = np.random.default_rng(1)
    for i in range(9):
        shape = tuple(int(n) for n in rng.integers(2, 12, 2))
        data = [rng.integers(0, 23, shape) for _ in range(2)]
        ingot.manual_seed(i)
        want = eager(*map(ingot.tensor, data))
        ingot.manual_seed(i)
        got = traced(*map(ingot.tensor, data))
        assert abs(float(want) - float(got)) < 1e-4, f"call {i}, sizes {shape}"
    for p, q in zip(a.parameters(), b.parameters()):
        assert ingot.allclose(p, q, rtol=1e-4, atol=1e-5)
    assert traced.stats()["compiles"] <= 4, traced.stats()["misses"]


@pytest.mark.parametrize("model", [Small, Recurrent, Picture])
def test_training_over_sizes_of_one(model):
    (_, eager), (_, step) = learner(model), learner(model)
    traced = jit.trace(step)
    rng = np.random.default_rng(2)
    for i, shape in enumerate(((5, 6), (3, 9), (1, 7), (4, 1), (1, 1), (8, 3), (1, 2), (6, 1))):
        if model is Picture and shape == (1, 1):
            continue
        data = [rng.integers(0, 23, shape) for _ in range(2)]
        ingot.manual_seed(i)
        want = eager(*map(ingot.tensor, data))
        ingot.manual_seed(i)
        got = traced(*map(ingot.tensor, data))
        assert abs(float(want) - float(got)) < 1e-4, f"call {i}, sizes {shape}"
    assert traced.stats()["compiles"] <= 4, traced.stats()["misses"]


def test_a_result_needs_its_gradient_outside():
    def fn(x, w):
        return (x @ w).relu().mean(0) * x.shape[0]

    traced = jit.trace(fn)
    for b in (4, 7, 3, 9, 2):
        grads = []
        for run in (fn, traced):
            w = ingot.ones(5, 3).requires_grad_()
            x = ingot.arange(b * 5, dtype=ingot.float32).view(b, 5).requires_grad_()
            (run(x, w) ** 2).sum().backward()
            grads.append((w.grad, x.grad))
        assert plain(grads[0]) == plain(grads[1]), f"batch {b}"
    assert traced.stats()["compiles"] == 2


def test_views_of_arguments_are_views_of_symbolic_sizes():
    traced = jit.trace(lambda x: x[1:, : x.shape[1] // 2])
    for b, s in ((4, 6), (5, 8), (3, 9), (6, 2)):
        x = ingot.zeros(b, s)
        part = traced(x)
        assert part.shape == (b - 1, s // 2)
        part.fill_(1.0)
        assert x.sum() == (b - 1) * (s // 2)


def test_writes_to_arguments():
    def fn(x, n):
        x[n:] += x.shape[0]
        x[:, -1].mul_(n)

    traced = jit.trace(fn)
    for b, n in ((5, 2), (7, 3), (9, 4), (4, 3), (8, 2), (6, 0), (6, 1)):
        a, c = ingot.ones(b, 3), ingot.ones(b, 3)
        fn(a, n)
        traced(c, n)
        assert plain(a) == plain(c)


# Sizes declared by the user.


@pytest.mark.parametrize("fn", [
    lambda x: F.conv2d(x, ingot.ones(4, 3, 3, 3), stride=2, padding=1),
    lambda x: F.conv_transpose2d(x, ingot.ones(3, 4, 2, 2), stride=2),
    lambda x: F.max_pool2d(x, 3, 2, 1), lambda x: F.avg_pool2d(x, 2), lambda x: F.avg_pool2d(x, x.shape[2:]),
    lambda x: F.adaptive_avg_pool2d(x, 1), lambda x: F.adaptive_max_pool2d(x, 1), lambda x: F.lp_pool2d(x, 2, 2),
    lambda x: F.unfold(x, 3), lambda x: F.pad(x, (1, 2, 1, 0)), lambda x: F.pad(x, (1, 2, 1, 0), mode="replicate"),
    lambda x: ingot.ones(1, 1).repeat(*x.shape[2:])])
def test_no_size_is_compared_with_another_one(fn):
    traced = jit.trace(fn, dynamic={"x": {0: "b", 2: "h", 3: "w"}})
    compare(lambda x: [fn(x)], lambda x: [traced(x)], [(12, 16), (16, 12), (9, 9), (30, 7)],
            lambda i, h, w: [ingot.rand(2 + 3 * (i % 2), 3, h, w)], exact=False)
    assert traced.stats()["compiles"] == 1, traced.stats()["misses"]


def test_dynamic_true_records_once():
    traced = jit.trace(lambda x: x.softmax(-1) + x.size(0), dynamic=True)
    compare(traced.fn, traced, [(4, 5), (3, 7), (8, 2), (6, 6)], lambda i, b, s: [ingot.rand(b, s)])
    assert traced.stats()["compiles"] == 1 and traced.stats()["checks"] == 1


def test_dynamic_false_never_generalises():
    traced = jit.trace(lambda x: x * 2, dynamic=False)
    compare(traced.fn, traced, [(b, 3) for b in range(2, 7)], lambda i, b, s: [ingot.rand(b, s)])
    assert traced.stats()["compiles"] == 5


def test_dynamic_names_are_equal_sizes():
    traced = jit.trace(lambda x, y: x.sum(1) + y, dynamic={"x": {0: "batch"}, 1: {0: "batch"}})
    compare(traced.fn, traced, [(4, 3), (6, 3), (9, 3)], lambda i, b, s: [ingot.rand(b, s), ingot.rand(b)])
    assert traced.stats()["compiles"] == 1
    assert "batch" in traced.explain()
    with pytest.raises(jit.TraceError, match="named batch are"):
        traced(ingot.rand(4, 3), ingot.rand(5))


@pytest.mark.parametrize("dynamic", ["yes", 3, {"x": {7: "b"}}])
def test_wrong_dynamic_is_refused(dynamic):
    with pytest.raises(jit.TraceError, match="dynamic="):
        jit.trace(lambda x: x, dynamic=dynamic)(ingot.rand(3))


# Programs that a symbolic recording could get wrong.


def test_a_leaked_size_is_found_by_comparison():
    """A size that bypasses the trace (here through NumPy's own shape) is not generalised."""
    traced = jit.trace(lambda x: x * float(x.detach()._a.shape[0]))
    compare(traced.fn, traced, [(b, 3) for b in (3, 5, 7, 4, 6)], lambda i, b, s: [ingot.rand(b, s)])
    assert "other sizes" in traced.explain()


def test_a_leaked_size_is_found_before_declared_sizes_are_trusted():
    traced = jit.trace(lambda x: x * float(x.detach()._a.shape[0]), dynamic=True)
    compare(traced.fn, traced, [(b, 3) for b in (3, 5, 7, 4, 6)], lambda i, b, s: [ingot.rand(b, s)])


def test_sizes_that_python_needs_are_conditions():
    traced = jit.trace(lambda x: sum(x[i] for i in range(x.shape[0])))
    compare(traced.fn, traced, [(b, 3) for b in (3, 5, 7, 3, 5)], lambda i, b, s: [ingot.rand(b, s)])
    assert traced.stats()["compiles"] == 3


def test_explanations_begin_with_the_reasons_for_recordings():
    traced = jit.trace(lambda x, kind: x * 2 if kind else x + 1)
    traced(ingot.ones(3), "a")
    assert "recorded for each" not in traced.explain()
    for size in range(2, 12):
        traced(ingot.ones(3), "a" * size)
    head, *reasons = traced.explain().split("\n\n")[0].splitlines()
    assert head == "recorded for each of these reasons, in this order:"
    assert reasons == ["  (3 more before these: stats()['misses'])", *[f"  {why}" for why in traced.stats()["misses"][-8:]]]


def placed(shape, strides):
    return ingot.as_strided(ingot.arange(256.0), shape, strides)


VIEWS = {
    "itself": lambda x: x, "transposed": lambda x: x.mT, "a column": lambda x: x[:, :1], "the last row": lambda x: x[-1:],
    "its diagonal": lambda x: x.diagonal(), "half": lambda x: x[:, :x.shape[1] // 2],
    "windows": lambda x: x.unfold(1, 1, 1), "made": lambda x: x * 2, "a column of what is made": lambda x: (x * 2)[:, :1],
    "a column of its parts": lambda x: x.contiguous().view(-1, 1), "repeated": lambda x: x.expand(2, *x.shape),
}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("ask", [lambda v: v.stride(), lambda v: v.is_contiguous(), lambda v: v.dim_order(),
                                 lambda v: v.storage_offset()], ids=["strides", "row-major", "order", "offset"])
def test_places_in_memory_are_read_of_each_tensor(ask, name, seed):
    """Row-major memory does not tell the strides of dims of one element, nor is a view of it row-major for all sizes."""
    def fn(x):
        return x.sum(), ask(VIEWS[name](x))

    rng, traced = random.Random(seed), jit.trace(fn, fullgraph=True)
    for _ in range(10):
        m, n = rng.choice([(1, 3), (2, 3), (5, 3), (1, 1), (3, 1), (4, 4), (6, 2), (1, 8), (8, 1), (2, 2), (1, 2)])
        steps = rng.choice([(n, 1), (n, 1), (1, m), (2 * n, 1), (rng.choice([1, n, 7]) if m == 1 else n,
                                                                  rng.choice([1, 2, 9]) if n == 1 else 1)])
        assert traced(x := placed((m, n), steps))[1] == fn(x)[1], (seed, (m, n), steps)


def test_conditions_are_explained_with_their_lines():
    traced = jit.trace(lambda x: x * 2 if x.shape[0] > 4 else x)
    compare(traced.fn, traced, [(b, 3) for b in (9, 8, 7, 2, 3, 12)], lambda i, b, s: [ingot.rand(b, s)])
    text = traced.explain()
    assert "s0-5 >= 0" in text and "test_dynamic_shapes.py" in text
    assert traced.stats()["compiles"] <= 3


def test_sizes_in_results_are_plain_ints():
    traced = jit.trace(lambda x: {"n": x.shape[0] * 2, "half": x.numel() / 2, "x": x, "s": x.shape})
    for b in (3, 5, 8, 4):
        got = traced(ingot.rand(b, 3))
        assert got["n"] == 2 * b and type(got["n"]) is int and got["half"] == b * 1.5 and type(got["half"]) is float
        assert got["s"] == (b, 3) and all(type(n) is int for n in got["s"])


# Numbers.


FLOATS = (ingot.float32, ingot.float64, ingot.bfloat16)


@pytest.mark.parametrize("fn, dtypes", [
    (lambda x, v: x * v + 1, (*FLOATS, ingot.int64)), (lambda x, v: (x * v * 0.5 - v) / (v + 10), (*FLOATS, ingot.int64)),
    (lambda x, v: ingot.where(x > v, x, v), FLOATS), (lambda x, v: (x + v).clamp(-abs(v), 2.0), (*FLOATS, ingot.int64)),
    (lambda x, v: ingot.add(x, x, alpha=v), FLOATS), (lambda x, v: x.softmax(-1) * (1 - v), FLOATS),
    (lambda x, v: x.lerp(x * 2, v), FLOATS), (lambda x, v: [x * v, v * 3, {"v": v}], FLOATS)])
def test_numbers_that_change_are_inputs(fn, dtypes):
    for dtype in dtypes:
        traced = jit.trace(fn)
        x = (ingot.arange(12).view(3, 4) - 5).to(dtype)
        for v in [0.1 * i - 1.05 for i in range(20)]:
            want, got = fn(x, v), traced(x, v)
            if dtype is ingot.bfloat16:
                want, got = (r if isinstance(r, list) else [r] for r in (want, got))
                assert want[1:] == got[1:] and ingot.allclose(want[0].float(), got[0].float(), rtol=0.02, atol=0.02), v
            else:
                assert plain(got) == plain(want), (dtype, v)
        assert traced.stats()["compiles"] <= 4, traced.stats()["misses"]


def test_a_thousand_numbers_are_two_recordings():
    traced = jit.trace(lambda x, lr: x - lr * x.sign())
    x = ingot.rand(5)
    for i in range(1000):
        assert plain(traced(x, i * 1e-3)) == plain(traced.fn(x, i * 1e-3))
    assert traced.stats()["compiles"] == 2


def test_numbers_that_python_decides_by():
    traced = jit.trace(lambda x, v: x * v if v > 0.5 else x - int(v * 10))
    x = ingot.rand(5)
    for v in (0.9, 0.8, 0.7, 0.1, 0.2, 0.6, float("inf"), -0.0, 0.0, 0.95):
        assert plain(traced(x, v)) == plain(traced.fn(x, v)), v


def test_counts_as_numbers():
    traced = jit.trace(lambda x, n: x[:, :n] * n + ingot.arange(n))
    x = ingot.rand(4, 30)
    for n in (1, 2, 5, 9, 17, 30, 3, 1):
        assert plain(traced(x, n)) == plain(traced.fn(x, n)), n
    assert traced.stats()["compiles"] <= 3, traced.stats()["misses"]


def test_a_cache_that_grows():
    """Generation with a cache has one position more at every call."""
    def make():
        cache = ingot.zeros(2, 32, 4)

        def fn(x, at):
            cache[:, at:at + 1] = x
            return F.scaled_dot_product_attention(x, cache[:, : at + 1], cache[:, : at + 1])
        return fn

    eager, traced = make(), jit.trace(make())
    for at in range(20):
        x = ingot.rand(2, 1, 4)
        assert ingot.allclose(eager(x, at), traced(x, at), atol=1e-6), at
    assert traced.stats()["compiles"] <= 4, traced.stats()["misses"]


def test_threads_over_many_sizes():
    from concurrent.futures import ThreadPoolExecutor

    fn = lambda x: (x * x.shape[0]).softmax(1)
    traced = jit.trace(fn)

    def one(i):
        x = ingot.arange((2 + i % 7) * 3, dtype=ingot.float32).view(-1, 3)
        return plain(traced(x)) == plain(fn(x))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(one, range(120)))


def test_forces_of_graphs_that_change():
    """The gradient of a gradient of distances along edges: the sizes of saved gradients are those of the graph."""
    def step(w, x, ends):
        x = x.detach().requires_grad_()
        apart = x[ends[0]] - x[ends[1]]
        energy = ((apart ** 2).sum(1).unsqueeze(1) * w).tanh()
        force = -ingot.autograd.grad(energy.sum(), x, create_graph=True)[0]
        return force.detach(), ingot.autograd.grad(force.square().sum(), w)[0]

    traced = jit.trace(step)
    w = ingot.ones(1, dtype=ingot.float64, requires_grad=True)
    for n, edges in ((7, 18), (8, 24), (8, 26), (7, 20), (9, 30), (5, 12)):
        x, ends = ingot.randn(n, 3, dtype=ingot.float64), ingot.randint(n, (2, edges))
        assert plain(traced(w, x, ends)) == plain(step(w, x, ends))
    assert traced.stats()["compiles"] <= 2, traced.stats()["misses"]
