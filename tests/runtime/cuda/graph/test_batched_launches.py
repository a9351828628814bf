"""Traced steps on a device: small kernels alike in one launch, with the bits of a launch each and of the CPU."""

import itertools

import numpy as np
import pytest

import ingot
import mock_cuda
from covering import thinned
from ingot import jit
from ingot.ir import dtype as dt
from ingot.ir.graph.graph import Builder
from ingot.ir.opdef.aval import Aval
from ingot.ir.ops.core import elementwise as ew
from ingot.ir.ops.core.shape import cat
from ingot.passes.codegen.triton.loops import multi_tensor as codegen
from ingot.passes.schedule import batched_launches
from ingot.passes.schedule import device_plan as plans
from ingot.passes.schedule.batched_launches import ManyStep
from ingot.runtime.cuda.compiler import compile as compiler
from ingot.runtime.cuda.graph import program

SHAPES = [(3,), (64, 16), (), (7, 11), (0,), (1025,), (2, 0), (2048,), (16,)]
OPTIMIZERS = [("SGD", {}), ("SGD", {"momentum": 0.9, "weight_decay": 0.1}), ("Adam", {}), ("Adam", {"amsgrad": True}),
              ("AdamW", {"weight_decay": 0.1, "maximize": True}), ("NAdam", {}), ("RMSprop", {"momentum": 0.5}),
              ("Adagrad", {}), ("Adadelta", {}), ("Rprop", {}), ("ASGD", {}), ("RAdam", {})]
STEPS = 3


@pytest.fixture
def cuda():
    with mock_cuda.installed(devices=2) as mock:
        yield mock


@pytest.fixture
def alone(monkeypatch):
    """Return a function that turns batched launches off."""
    return lambda: monkeypatch.setattr(batched_launches, "SMALL", -1)


def drawn(shapes, seed=0):
    random = np.random.default_rng(seed)
    return [random.standard_normal(shape).astype(np.float32) for shape in shapes]


def names(cuda):
    return [launch["name"] for launch in cuda.launches]


def trained(cuda, name, options, device, kind=ingot.float32):
    """(the parameters after some traced steps as arrays, the names of what the last one launched)."""
    params = [ingot.tensor(a).to(kind).to(device).requires_grad_() for a in drawn(SHAPES)]
    opt = getattr(ingot.optim, name)(params, lr=0.05, **options)

    @jit.trace
    def step(*slopes):
        for p, g in zip(params, slopes):
            p.grad = g * 2
        opt.step()

    launched = []
    for i in range(STEPS):
        before = len(cuda.launches)
        step(*[ingot.tensor(a).to(kind).to(device) for a in drawn(SHAPES, 1 + i)])
        launched.append(names(cuda)[before:])
    return [p.detach().cpu().to(ingot.float32).numpy() for p in params], launched[-1]


def second(cuda, f, *args):
    """The results of the second call, which alone is in the list of launches."""
    f(*args)
    cuda.launches.clear()
    return f(*args)


def same(got, want):
    for g, w in zip(got, want, strict=True):
        assert g.shape == w.shape and g.tobytes() == w.tobytes(), f"{g.shape}: {g} and {w}"


@pytest.mark.parametrize("optimizer, kind", [
    *thinned(OPTIMIZERS, [ingot.float32, ingot.bfloat16], strength=1), (("Adam", {}), ingot.float64)], ids=str)
def test_updates_of_small_parameters(optimizer, kind, cuda, alone):
    name, options = optimizer
    want, _ = trained(cuda, name, options, "cpu", kind)
    got, few = trained(cuda, name, options, "cuda", kind)
    alone()
    each, batched = trained(cuda, name, options, "cuda", kind)
    same(got, each)
    assert any(n.endswith("_many") for n in few) and 2 * len(few) < len(batched), f"{len(few)} launches for {len(batched)}"
    for g, w in zip(got, want):
        np.testing.assert_allclose(g, w, rtol=1e-2 if kind is ingot.bfloat16 else 1e-6, atol=4e-6)


def scaled_steps(f, count=5):
    """The results of calls of a function with numbers that change, traced on a device and plainly on the CPU."""
    found = []
    for device in ("cpu", "cuda"):
        run = f(device)
        run = jit.trace(run) if device == "cuda" else run
        found.append([[t.cpu().numpy() for t in run(ingot.tensor(1.0 + i).to(device))] for i in range(count)])
    for got, want in zip(found[1], found[0]):
        same(got, want)


def test_memory_is_overwritten_after_its_readers(cuda):
    """Pairs of which one reads what the other writes, either way round, and a chain of updates."""
    def make(device):
        xs = [ingot.tensor(a).to(device) for a in drawn([(40,)] * 6)]

        def step(n):
            seen = [x * n for x in xs]
            for x, y in itertools.pairwise(xs):
                x.mul_(0.5).add_(y)
            later = [x * n for x in xs]
            xs[0].copy_(xs[5])
            return [*seen, *later, *[x.clone() for x in xs]]

        return step

    scaled_steps(make)


def test_tensors_side_by_side_in_one_memory(cuda):
    def make(device):
        whole = ingot.tensor(drawn([(132,)])[0]).to(device)
        parts = whole.split([5, 8, 16, 3, 100])

        def step(n):
            for p in parts:
                p.mul_(n).add_(1)
            parts[2][:3] += parts[3]
            return [whole.clone(), whole[3:9] * n]

        return step

    scaled_steps(make)


def test_one_argument_in_two_places(cuda):
    """A kernel over the argument that another one replaces."""
    def make(device):
        def step(n):
            x = ingot.ones(9, device=device) * n
            y = x
            x.add_(1)
            return [x * 1, y * 2, x * y]

        return step

    scaled_steps(make)


def test_a_teacher_follows_and_weights_are_cast(cuda):
    def make(device):
        ws = [ingot.tensor(a).to(device) for a in drawn([(8, 8)] * 5)]
        teachers = [w.clone() for w in ws]

        def step(n):
            low, h = [w.to(ingot.bfloat16) for w in ws], ingot.ones(4, 8, device=device) * n
            for w in low:
                h = (h.to(ingot.bfloat16) + w[:4]).tanh().float()
            for w, t in zip(ws, teachers):
                w.add_(h.mean() * 0 + n)
                t.lerp_(w, 0.1)
            return [h, *[t.clone() for t in teachers]]

        return step

    scaled_steps(make)


def test_casts_run_with_the_first_that_is_needed(monkeypatch):
    """All that could run go along, though each is needed later; what is large, or needs what comes between, does not."""
    monkeypatch.setattr("ingot.passes.fusion.fuse.Fuser._try", lambda *args: None)
    b = Builder("casts")
    x, ws = b.input("x", Aval((8,), dt.bfloat16)), [b.input(f"w{i}", Aval((8,), dt.float32)) for i in range(4)]
    large = b.input("large", Aval((batched_launches.SMALL,), dt.float32))
    last, outs = b.input("last", Aval((8,), dt.float32)), [b.append(ew.cast, [large], {"dtype": dt.bfloat16})]
    for w in ws:
        x = b.append(ew.tanh, [b.append(ew.add, [x, b.append(ew.cast, [w], {"dtype": dt.bfloat16})], {})], {})
    last = b.append(ew.add, [last, b.append(ew.cast, [x], {"dtype": dt.float32})], {})
    outs.append(b.append(ew.cast, [last], {"dtype": dt.bfloat16}))
    made = plans.plan(b.finish([x, *outs]))
    batched = [s for s in made.steps if type(s) is ManyStep]
    assert [v for s in batched for v in s.reads] == ws and made.steps.index(batched[0]) <= 1
    assert batched[0].dead == () and len(made.steps) == 13


@pytest.mark.parametrize(("pairs", "apart"), [
    ([(1000, 1004), (900, 904), (996, 800), (1001, 999)], False),
    ([(1000, 1004), (900, 904), (996, 800), (996, 3000), (40000, 900), (40000, 70000)], True),
    ([(40000, 40004), (41000, 41004), (44000, 40008), (40000, 300), (7, 300), (66000, 40000)], True)])
def test_sizes_that_change(pairs, apart, cuda, monkeypatch):
    """Kernels made for names of sizes; where these leave them alike no more, or rows too short to be cut, each is launched."""
    counted: list = []
    one_by_one = program.LaunchedTogether._one_by_one

    def counting(self, *args):
        counted.append(1)
        one_by_one(self, *args)

    monkeypatch.setattr(program.LaunchedTogether, "_one_by_one", counting)

    @jit.trace
    def f(x, y):
        return [(v * 2 + 1).tanh() for v in (x, y)], [v.square().sum() + 1 for v in (x, y)]

    for n, m in (*pairs, *pairs[::-1]):
        x, y = (ingot.tensor(a).to("cuda") for a in drawn([(n,), (m,)], n))
        got, sums = f(x, y)
        for g, s, v in zip(got, sums, (x.cpu(), y.cpu())):
            np.testing.assert_allclose(g.cpu().numpy(), (v * 2 + 1).tanh().numpy(), rtol=1e-6, atol=1e-6)
            np.testing.assert_allclose(s.item(), v.square().sum().item() + 1, rtol=1e-5)
    assert bool(counted) == apart


@pytest.mark.parametrize("count", [2, 3])
def test_ends_of_long_rows_in_one_launch(count, cuda, alone):
    """Sums down many rows are cut; what is made of them, with the update of what it is for, waits for others."""
    def run(device):
        ws = [ingot.tensor(a).to(device).requires_grad_() for a in drawn([(4 * (i + 1),) for i in range(count)])]
        opt = ingot.optim.Adam(ws, lr=0.1)

        @jit.trace
        def step(*xs):
            loss = sum((x * w).tanh().sum() for x, w in zip(xs, ws))
            opt.zero_grad()
            loss.backward()
            opt.step()
            return loss

        launched = []
        for i in range(4):
            before = len(cuda.launches)
            step(*[ingot.tensor(a).to(device) for a in drawn([(1100, 4 * (j + 1)) for j in range(count)], i)])
            launched.append(names(cuda)[before:])
        return [w.detach().cpu().numpy() for w in ws], launched[2]

    want, _ = run("cpu")
    got, few = run("cuda")
    alone()
    each, batched = run("cuda")
    same(got, each)
    for g, w in zip(got, want):
        np.testing.assert_allclose(g, w, rtol=1e-4, atol=1e-5)
    ends = [[n for n in found if "_finish" in n] for found in (few, batched)]
    assert len([n for n in ends[0] if n.endswith("_many")]) == 1, "the updates; sums that are added up wait for each other"
    assert len(ends[0]) == len(ends[1]) - count + 1 and len(few) < len(batched)


def test_an_end_comes_after_its_kernel(cuda):
    """One that could run with the first, but for the launches before it."""
    def make(device):
        xs = [ingot.tensor(a).to(device) for a in drawn([(1100, 8)] * 2)]
        bs, w = [ingot.tensor(a).to(device) for a in drawn([(8,)] * 2, 1)], ingot.tensor(drawn([(8, 8)], 2)[0]).to(device)
        one = ingot.tensor(1.0).to(device)

        def step(n):
            first = (xs[0].round() + one.sign()).sum(0) + bs[0] * n
            product = (first[None] @ w).sum()
            second = (xs[1].round() + product.sign()).sum(0) + bs[1] * n
            return [first, second]

        return step

    scaled_steps(make)


def test_arguments_between_whole_vectors(cuda):
    """Alignment that compiled code assumes holds for all sets of a launch."""
    f = jit.trace(lambda *xs: [x * 3 for x in xs])
    whole = ingot.arange(200.0, device="cuda")
    for starts in ((0, 64, 128), (0, 64, 129), (1, 64, 128)):
        xs = [whole[i:i + 16] for i in starts]
        for _ in range(2):
            got = f(*xs)
        assert [g.tolist() for g in got] == [[3.0 * n for n in range(i, i + 16)] for i in starts]
    known = [v.aligned for v in compiler.binaries() if v.source.name.endswith("_many")]
    assert len({len(n) for n in known}) == 2, "all addresses are whole, or nothing is known of them"


def test_large_ones_have_a_launch_each(cuda, monkeypatch):
    f = jit.trace(lambda *xs: [x * 3 for x in xs])
    xs = [ingot.ones(n, device="cuda") for n in (100, 3000, 120, 5000)]
    monkeypatch.setattr(batched_launches, "SMALL", 8 * 1000)
    got = second(cuda, f, *xs)
    assert sorted(n.endswith("_many") for n in names(cuda)[-3:]) == [False, False, True]
    assert all(g.tolist() == [3.0] * len(x) for g, x in zip(got, xs))


def test_more_than_one_launch_serves(cuda):
    f = jit.trace(lambda *xs: [x * 3 for x in xs])
    xs = [ingot.full((n + 1,), float(n), device="cuda") for n in range(2 * codegen.SLOTS + 1)]
    got = second(cuda, f, *xs)
    evens = sum(len(x) % 4 == 0 for x in xs)
    assert len(cuda.launches) == -(-evens // codegen.SLOTS) + -(-(len(xs) - evens) // codegen.SLOTS)
    assert all(g.tolist() == [3.0 * n] * (n + 1) for n, g in enumerate(got))


def test_many_operands_leave_room_for_fewer_sets(cuda):
    f = jit.trace(lambda *xs: [sum(xs[i:i + 30]) for i in range(0, 240, 30)])
    xs = [ingot.full((5,), float(n), device="cuda") for n in range(240)]
    got = second(cuda, f, *xs)
    batched = [launch for launch in cuda.launches if launch["name"].endswith("_many")]
    assert batched and all(g.tolist() == [float(sum(range(30 * i, 30 * i + 30)))] * 5 for i, g in enumerate(got))


def chains(random, count):
    """A graph of small operators over a few inputs, some of whose results replace inputs: (graph, targets)."""
    b = Builder("chains")
    inputs = [b.input(f"x{i}", Aval((12,), dt.float32)) for i in range(5)]
    values = list(inputs)
    for _ in range(count):
        op = (ew.add, ew.mul, ew.tanh, ew.neg)[random.integers(4)]
        operands = [values[i] for i in random.integers(len(values), size=1 if op in (ew.tanh, ew.neg) else 2)]
        values.append(b.append(op, operands, {}))
    made = list(dict.fromkeys(values[-6:]))
    return b.finish(made), {i: i for i in range(min(len(made), len(inputs))) if random.integers(3)}


@pytest.mark.parametrize("seed", range(40))
def test_steps_come_after_their_operands(seed, monkeypatch):
    """Batched or not, a step runs after the writes of values that it reads, and after the reads of values that it
    overwrites."""
    monkeypatch.setattr("ingot.passes.fusion.fuse.Fuser._try", lambda *args: None)
    graph, targets = chains(np.random.default_rng(seed), 25)
    made = plans.plan(graph, frozenset(), targets)
    there, written_over = set(graph.inputs), set()
    for step in made.steps:
        assert there.issuperset(step.reads)
        own = {made.in_place[v] for v in step.writes if v in made.in_place}
        assert written_over.isdisjoint(step.reads)
        if type(step) is ManyStep:
            for s in step.steps:
                others = {made.in_place[v] for o in step.steps if o is not s for v in o.writes if v in made.in_place}
                assert others.isdisjoint(s.reads)
        written_over |= own
        there.update(step.writes)
    assert there.issuperset(graph.outputs)


def test_kinds_that_one_step_needs_run_in_the_order_in_which_it_reads_them(monkeypatch):
    """In every process: the order was that of addresses."""
    monkeypatch.setattr("ingot.passes.fusion.fuse.Fuser._try", lambda *args: None)
    b = Builder("kinds")
    x, y = (b.input(name, Aval((12,), dt.float32)) for name in "xy")
    ops = ew.tanh, ew.exp, ew.sin, ew.cos, ew.sqrt, ew.log, ew.abs_
    first, second = ([b.append(op, [v], {}) for op in ops] for v in (x, y))
    read = [*reversed(first)]
    made = plans.plan(b.finish([b.append(cat, read, {"dim": 0}), *second]))
    batched = [s for s in made.steps if type(s) is ManyStep]
    assert [s.writes for s in batched] == [[v, w] for v, w in zip(read, reversed(second))]
