"""Copies of a plan for new sizes: word for word the plans made as a whole, with the results of eager code."""

import numpy as np
import pytest

import ingot
from ingot.ir.errors import DimError
from ingot.ir.graph.graph import Value
from ingot.jit.replay import symbolic_job
from ingot.jit.replay.symbolic_job import SymbolicJob
from ingot.passes.schedule.plan_steps import LINE
from ingot.runtime.cpu.calls.step_list import ARENA, STATUS
from ingot.runtime.cpu.graph import prepared_steps, step_cache
from ingot.runtime.cpu.graph.incremental_bind import SizedGraph
from ingot.runtime.cpu.graph.plan_runner import NativeRun

F = ingot.nn.functional
HEADS, WIDTH = 3, 16
SIZES = (9, 30, 5, 600, 31, 12, 30)


@pytest.fixture(autouse=True)
def bound_at_once(monkeypatch):
    """Bind sizes that come for the first time, however little the work is."""
    monkeypatch.setattr(symbolic_job, "MOST_UNBOUND", 0)


def draw(*shape):
    return ingot.randn(*shape, generator=ingot.Generator().manual_seed(sum(shape)))


WEIGHT, BIAS, CACHE = draw(WIDTH, WIDTH), draw(WIDTH), draw(1, HEADS, 640, WIDTH)
LSTM, CONV = ingot.nn.LSTM(WIDTH, 8, batch_first=True), ingot.nn.Conv1d(WIDTH, 8, 3, padding=1)


def grown(n):
    """Run a token's layers over caches that grow."""
    x, caches = draw(1, HEADS, 1, WIDTH), [draw(1, HEADS, n, WIDTH) for _ in range(4)]

    def step(x, *caches):
        made = []
        for k, v in zip(caches[::2], caches[1::2]):
            k, v = ingot.cat([k, x], 2), ingot.cat([v, x + 1], 2)
            x = F.linear(F.scaled_dot_product_attention(x, k, v), WEIGHT, BIAS)
            made += [k, v]
        return x, made

    return step, (x, *caches)


def written(n):
    """Run them over caches that are written at a place, which is a number."""
    def step(x, p):
        cache = CACHE.clone()
        for _ in range(2):
            cache[:, :, p:p + 1] = x
            seen = cache[:, :, :p + 1]
            x = F.linear(F.scaled_dot_product_attention(x, seen, seen), WEIGHT)
        return x, cache

    return step, (draw(1, HEADS, 1, WIDTH), n)


# name: a function of a size that gives a function and its arguments
PROGRAMS = {
    "caches that grow": grown,
    "a place that is written": written,
    "a place of the argument": lambda n: (lambda c, x, p: c[:, :, p:p + 1].copy_(x) * 2,
                                          (CACHE.clone(), draw(1, HEADS, 1, WIDTH), n)),
    "rows": lambda n: (lambda x: F.layer_norm(F.gelu(x @ WEIGHT + BIAS), (WIDTH,)).softmax(-1), (draw(n, WIDTH),)),
    "columns": lambda n: (lambda x: (x.t() @ WEIGHT).softmax(1), (draw(WIDTH, n),)),
    "products of a size with itself": lambda n: (lambda x: (x @ x.t()).sum(1), (draw(n, WIDTH),)),
    "views as results": lambda n: (lambda x: ((x * 2).view(-1, 4)[1:], (x + 1).t()), (draw(n, WIDTH),)),
    "moved": lambda n: (lambda x: ingot.roll(x.flip(0), 7, 0) + F.pad(x[2:], (0, 0, 1, 1)), (draw(n, WIDTH),)),
    "gathered": lambda n: (lambda x, i: x[i].cumsum(0), (draw(n, WIDTH), ingot.arange(n).flip(0))),
    "sorted": lambda n: (lambda x: x.sort(0), (draw(n, WIDTH),)),
    "recurrent": lambda n: (lambda x: LSTM(x)[0] * 2, (draw(2, n, WIDTH),)),
    "convolved": lambda n: (lambda x: F.relu(CONV(x)), (draw(2, WIDTH, n),)),
    "trained": lambda n: (lambda x: ingot.autograd.grad((F.linear(x, w := WEIGHT.clone().requires_grad_()) ** 2).sum(), w)[0],
                          (draw(n, WIDTH),)),
    "computed with": lambda n: (lambda x: x / x.shape[0] + ingot.arange(x.shape[0])[:, None], (draw(n, WIDTH),)),
    "called with a size": lambda n: (lambda x: ingot.topk(x * 2, x.shape[0] // 2, 0), (draw(n, WIDTH),)),
    "called on a size": lambda n: (lambda x: (ingot.arange(x.shape[0] * 4) % x.shape[0]).reshape(-1, 4) * x[:, :4],
                                   (draw(n, WIDTH),)),
    "called for an image": lambda n: (lambda x: F.interpolate(x[None, None], (x.shape[0] + 3, 20), mode="bicubic"),
                                      (draw(n, 8),)),
    "written over what was read": lambda n: (lambda x, i: (x * 2).index_add(0, i, x[:3]).index_fill(0, i, 1.0) + 1,
                                             (draw(n, WIDTH), ingot.tensor([1, 3, 0]))),
    "written beside what was read": lambda n: (lambda x, i: ((y := x * 2).index_add(0, i, x[:3]), y + 1),
                                               (draw(n, WIDTH), ingot.tensor([1, 3, 0]))),
    "too much for a cache": lambda n: (lambda x: ((y := x.exp()) * 2 + y.sum(1, keepdim=True)).relu(), (draw(n, 1 << 15),)),
    "of a place in memory": lambda n: (lambda x: (x[x.shape[0] // 2:] * 3).sum(0), (draw(n, WIDTH),)),
}


def flat(x):
    return [t for each in x for t in flat(each)] if isinstance(x, (tuple, list)) else [x]


def same(got, want, message):
    for a, b in zip(flat(got), flat(want), strict=True):
        assert a.shape == b.shape and a.dtype == b.dtype, message
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=2e-5, atol=2e-5, err_msg=message)


def arrangements(traced):
    """Return [(arrangement, values of its copies)] of the compiled graphs."""
    return [(v.sized.arrangement, [dict(zip(v.scope.hints, key)) for key in bound_for(job, v)])
            for job in traced._jobs() if type(job) is SymbolicJob for v in job.variants if v.sized.arrangement is not None]


def bound_for(job, variant):
    return [b.compiled._values.values() for b in job.bound.values() if b.variant is variant and type(b.compiled) is SizedGraph]


def words_of(run):
    """Return a run's words without the addresses of its tables, and these; places in its arena are as for values with numbers.
    """
    words, made = run.words.copy(), run.list
    for place, first in made.tables:
        words[place] = first
    for start, call, first in zip(made.starts(), made.calls, made.firsts):
        for patch, base in zip(call.patches, call.bases):
            if made.slots[first + base] == ARENA and base != STATUS:
                words[start + patch + 1] = -1
    return words


def assert_apart(run):
    """Check that values of an arena that live at the same time have places of their own, each large enough."""
    source, room = run.source, {}
    for x, first, last in source.lives:
        value = isinstance(x, Value)
        size = run.copies.value(x).aval.size * x.dtype.itemsize if value else run.prepared[x].call.scratch_bytes
        room[x] = (source.arena if value else source.scratch)[x], size, first, last
    for x, (low, size, first, last) in room.items():
        assert low >= LINE and low + size <= source.arena_bytes
        for y, (other, more, begin, end) in room.items():
            assert x is y or last < begin or end < first or low + size <= other or other + more <= low, (x, y)


@pytest.mark.parametrize("name", PROGRAMS)
def test_copies_have_the_words_of_a_full_plan(name, threads, monkeypatch):
    monkeypatch.setattr(NativeRun, "forget", lambda run: None)
    for count in (1, 2):
        threads(count)
        function = PROGRAMS[name](SIZES[0])[0]
        traced = ingot.jit.trace(function)
        for n in SIZES:
            function, arguments = PROGRAMS[name](n)
            same(traced(*PROGRAMS[name](n)[1]), function(*arguments), f"{name} of {n}")
        found = arrangements(traced)
        assert sum(len(met) for _, met in found) >= len(set(SIZES)) - 2, "these are for sizes that come for the first time"
        for arrangement, met in found:
            for values in met:
                made, whole = arrangement.copy(values), arrangement.whole(values)
                assert len(made._steps) == len(whole.steps) and made.in_place == whole.in_place
                for a, b in zip(made._steps, whole.steps):
                    assert type(a) is type(b) and (a.dead, type(a)) == (b.dead, type(b))
                    if type(a) is NativeRun:
                        assert (a.reads, a.writes, a.updates, a.small, a.can_fail, a.work) == (
                            b.reads, b.writes, b.updates, b.small, b.can_fail, b.work), f"{name}, {values}"
                        assert_apart(a)
                        assert a.arenas.size <= 1.13 * b.arenas.size + 8 * LINE * len(b.source.lives) + 4096
                        assert np.array_equal(words_of(a), words_of(b)), f"{name}, {values}"


def picked(x, i):
    return (x * 2)[i] + 1


def test_wrong_data_raises_the_error_of_eager_code():
    traced = ingot.jit.trace(picked)
    for n in SIZES[:4]:
        traced(draw(n, 3), ingot.arange(n))
    for n in (50, 51):
        arguments = draw(n, 3), ingot.tensor([0, n])
        with pytest.raises(DimError) as wanted:
            picked(*arguments)
        with pytest.raises(DimError) as got:
            traced(*arguments)
        assert str(wanted.value) in str(got.value)
        same(traced(draw(n, 3), ingot.tensor([0, n - 1])), picked(draw(n, 3), ingot.tensor([0, n - 1])), "after it")


def test_repeated_sizes_get_a_full_plan():
    traced = ingot.jit.trace(picked)
    for n in (*SIZES, *[77] * 3):
        traced(draw(n, 3), ingot.arange(n))
    made = {n: b.compiled for job in traced._jobs() for key, b in job.bound.items() for n in key}
    assert type(made[12]) is type(made[77]) is SizedGraph
    assert "whole" not in vars(made[12]) and "whole" in vars(made[77])


def test_another_number_of_threads(threads):
    traced = ingot.jit.trace(PROGRAMS["caches that grow"](5)[0])
    for n in (*SIZES, 40):
        threads(1 + n % 3)
        function, arguments = PROGRAMS["caches that grow"](n)
        for count in (1, 2, 3):
            threads(count)
            same(traced(*arguments), function(*arguments), f"{n}, {count} threads")


def layered(x):
    return F.linear(F.softmax(x * 3, -1), WEIGHT, BIAS).sort(0)[0]


def routed(x, w):
    """Send rows to one of two layers, each of which runs for as many as there are."""
    one, two = x[:, 0] > 0, x[:, 0] <= 0
    loss = F.gelu(x[one] @ w[0]).square().sum() + F.gelu(x[two] @ w[1]).square().sum()
    return loss, *ingot.autograd.grad(loss, (x, w))


def test_prepared_steps_serve_other_graphs(monkeypatch):
    """Prepared steps are cached by size, in whatever graph they are."""
    def meet(function, sizes):
        traced = ingot.jit.trace(lambda x: function(x))
        for n in sizes:
            same(traced(draw(n, WIDTH)), function(draw(n, WIDTH)), f"{function.__name__} of {n}")

    asked = []
    prepare = prepared_steps.prepare
    sizes = (900, 910, 920, 930)
    meet(layered, sizes)
    monkeypatch.setattr(prepared_steps, "prepare", lambda step: asked.append(step) or prepare(step))
    meet(lambda x: layered(x) * 2, sizes)
    assert len(asked) <= 3, "the first size of a graph is made as a whole, another one for the plan, the rest is kept"
    asked.clear()
    meet(layered, (*sizes[:3], 940))
    assert asked, "940 is new"


def test_rows_routed_by_data():
    """Gradients of several sizes at once, which never come together again."""
    traced, w = ingot.jit.trace(routed), draw(2, WIDTH, WIDTH).requires_grad_()
    for i in range(14):
        x = ingot.randn(40, WIDTH, generator=ingot.Generator().manual_seed(i)).requires_grad_()
        same(traced(x, w), routed(x, w), f"batch {i}")


def test_similar_numbers_are_distinguished():
    """0.0 and -0.0 are equal as keys of a dictionary."""
    def padded(x, value):
        return 1.0 / F.pad(x[1:], (0, 0, 1, 0), value=value)

    traced = ingot.jit.trace(padded)
    for n in (5, 6, 7, 8):
        for value in (0.0, -0.0, 1.0, 0.5):
            same(traced(ingot.full((n, 4), 2.0), value), padded(ingot.full((n, 4), 2.0), value), f"{n}, {value}")


def test_numbers_of_called_steps_are_distinguished_by_sign_and_type(monkeypatch):
    made = []
    monkeypatch.setattr(step_cache, "_prepared", lambda step, copies: made.append(1) or object())
    kind = step_cache._Called(None, ("of no other test",), [])
    numbers = [0.0, -0.0, 1.0, 1]
    of = [kind.sized((n,), None, ()) for n in numbers]
    assert len(set(map(id, of))) == len(made) == len(numbers)
    assert all(kind.sized((n,), None, ()) is it for n, it in zip(numbers, of)) and len(made) == len(numbers)


def classes_across(n):
    x, y = draw(4, n, WIDTH), ingot.arange(4 * n).reshape(4, n) % 500
    w = draw(512, WIDTH).requires_grad_()

    def step(x, y):
        loss = F.cross_entropy(F.linear(x, w).transpose(1, 2), y, ignore_index=0)
        return loss, *ingot.autograd.grad(loss, w)

    return step, (x, y)


IMAGES = ingot.nn.Sequential(ingot.nn.Conv2d(3, 32, 3, padding=1), ingot.nn.ReLU(), ingot.nn.MaxPool2d(3, 2, 1),
                             ingot.nn.Conv2d(32, 32, 3, padding=1), ingot.nn.ReLU(), ingot.nn.MaxPool2d(2),
                             ingot.nn.Conv2d(32, 8, 1))

UP = ingot.nn.Sequential(ingot.nn.Conv2d(3, 32, 3, padding=1), ingot.nn.ReLU(), ingot.nn.ConvTranspose2d(32, 16, 4, 2, 1),
                         ingot.nn.ReLU(), ingot.nn.Conv2d(16, 3, 3, padding=1))


BATCHED = ingot.nn.Sequential(ingot.nn.Conv2d(3, 32, 3, padding=1), ingot.nn.BatchNorm2d(32), ingot.nn.ReLU(),
                              ingot.nn.Conv2d(32, 64, 3, 2, 1), ingot.nn.ReLU(), ingot.nn.AdaptiveAvgPool2d(1))


def trained_in_batches(n):
    def step(x):
        loss = BATCHED(x).square().mean()
        return loss, *ingot.autograd.grad(loss, tuple(BATCHED.parameters()))

    return step, (draw(n, 3, 24, 24),)


def trained_on_images(n):
    def step(x):
        loss = UP(x).square().mean()
        return loss, *ingot.autograd.grad(loss, tuple(UP.parameters()))

    return step, (draw(2, 3, n, n + 4),)


# name: a function of a size that gives a function and its arguments, and the sizes, of which passes must not ask for any
FREE = {
    "classes across": (classes_across, (70, 81, 90, 64)),
    "pooled": (lambda n: (lambda x: IMAGES(x), (draw(2, 3, n, n + 5),)), (64, 75, 70, 81)),
    "turned convolutions": (lambda n: (lambda x: UP(x), (draw(2, 3, n, n + 4),)), (64, 75, 70, 81)),
    "trained on images": (trained_on_images, (64, 75, 70, 81)),
    "trained in batches": (trained_in_batches, (8, 12, 9, 16)),
    "means of images": (lambda n: (lambda x: BATCHED[3:](x), (draw(2, 32, n, n + 4),)), (64, 67, 70, 66)),
    "few of many": (lambda n: (lambda x: (ingot.linalg.pinv(x), ingot.linalg.lstsq(x, x[:, :2])[0], ingot.cov(x.t())),
                               (draw(n, 5),)), (64, 75, 70, 81)),
    "quantiles": (lambda n: (lambda x: (x * 2).quantile(0.3, 0), (draw(n, 5),)), (64, 75, 70, 81)),
    "sampled": (lambda n: (lambda x, g: F.grid_sample(x * 2, g.tanh(), align_corners=False),
                           (draw(2, 3, n, n + 1), draw(2, 9, n, 2))), (20, 31, 44, 27)),
    "sampled by corners": (lambda n: (lambda x, g: F.grid_sample(x * 2, g.tanh(), mode="bicubic", align_corners=True),
                                      (draw(2, 3, n, n + 1), draw(2, 9, n, 2))), (20, 31, 44, 27)),
}


@pytest.mark.parametrize("name", FREE)
def test_passes_ask_for_no_size(name):
    """A pass that reads a size specialises the graph to it: another size would be compiled anew."""
    program, sizes = FREE[name]
    traced = ingot.jit.trace(program(sizes[0])[0])
    with ingot.no_grad() if name in ("pooled", "turned convolutions") else ingot.enable_grad():
        for n in sizes:
            function, arguments = program(n)
            same(traced(*arguments), function(*arguments), f"{name} of {n}")
    variants = [v for job in traced._jobs() if type(job) is SymbolicJob for v in job.variants]
    assert len(variants) == 1, [list(v.conditions) for v in variants]
