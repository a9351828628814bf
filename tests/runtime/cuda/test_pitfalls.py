"""Programs that surprise tracing compilers, traced on a device: each call gives what the CPU gives eagerly, also one that is a
CUDA graph. And every candidate that a tuner may take computes the same. On the mock driver, and with a GPU on that.
"""

import itertools
import types

import numpy as np
import pytest

import ingot
import mock_cuda
from ingot import jit
from ingot.nn import functional as F
from ingot.runtime.cuda.compiler import tuning
from ingot.runtime.cuda.driver import driver
from ingot.runtime.cuda.replay import launch_cache

REAL = [pytest.mark.gpu, pytest.mark.skipif(not ingot.cuda.is_available(), reason=ingot.cuda.why_not_available() or "-")]
SEED = 4
compile_together = tuning.compile_together


@pytest.fixture(params=["mock", pytest.param("gpu", marks=[*REAL, pytest.mark.timeout(600)])], autouse=True)
def device(request):
    if request.param == "gpu":
        yield "gpu"
        return
    with mock_cuda.installed():
        yield "mock"


def draw(*shape):
    return ingot.tensor(np.random.default_rng([SEED, *shape]).standard_normal(shape)).to(ingot.float32)


def branches():
    return lambda x: (x + 1).exp() if x.sum() > 0 else x * 10 - 1


def loops():
    def fn(x):
        count = 0
        while x.abs().sum() < 200:
            x, count = x * 2 + 1, count + 1
        return x, ingot.tensor(count)
    return fn


def numbers_read():
    return lambda x: x * x[0, 0].item() + x.sin()


def a_number_that_changes():
    state = {"rate": 1.0}

    def fn(x):
        state["rate"] *= 0.5
        return (x * state["rate"]).cos() + x
    return fn


def a_list_that_grows():
    visible = []

    def fn(x):
        visible.append((x * 2).sum())
        return x.tanh() + sum(visible)
    return fn


def writes_in_views():
    held = []

    def fn(x):
        if not held:
            held.append(ingot.zeros(4, 6, device=x.device))
        held[0][1:3].add_(x[1:3]).mul_(0.5)
        held[0].t()[2] += 1
        return held[0] * 1
    return fn


def results_that_are_kept():
    held = []

    def fn(x):
        y = (x * 3).exp()
        held.append(y)
        return sum(held[-3:])
    return fn


def an_input_that_is_given_back():
    return lambda x: (x, x.relu() + 1, x.t())


def an_input_that_is_written():
    def fn(x):
        x.add_(1)
        return x.sin() * x
    return fn


def random_numbers():
    return lambda x: F.dropout(x + ingot.rand_like(x), 0.3) + ingot.randn(6, device=x.device)


def gradients_by_hand():
    def fn(x):
        leaf = x.detach().requires_grad_()
        y = (leaf.exp() * leaf).sum()
        first, = ingot.autograd.grad(y, leaf, create_graph=True)
        return ingot.autograd.grad((first ** 2).sum(), leaf)[0]
    return fn


def classes_that_depend_on_values():
    return lambda x: x[x > 0].sum() + x.masked_fill(x < -1, 0).max(0)[0]


def tensors_made_elsewhere():
    return lambda x: (x * 2, ingot.arange(3.0) + 1, ingot.ones(2, device=x.device) * 3)


def a_branch_that_makes_a_tensor():
    return lambda x: ingot.ones(3, device=x.device) * 2 if x.sum() > 0 else ingot.zeros(2) + 1


FOOTGUNS = [branches, loops, numbers_read, a_number_that_changes, a_list_that_grows, writes_in_views, results_that_are_kept,
            an_input_that_is_given_back, an_input_that_is_written, random_numbers, gradients_by_hand,
            classes_that_depend_on_values, tensors_made_elsewhere, a_branch_that_makes_a_tensor]


@pytest.mark.parametrize("make", FOOTGUNS, ids=lambda f: f.__name__)
def test_replays_equal_eager(make):
    def results(where, wrap):
        ingot.manual_seed(SEED)
        fn, found = wrap(make()), []
        for turn in range(9):
            x = ((draw(4, 6) + turn % 4) * (-1) ** (turn // 6)).to(where)
            got = fn(x)
            every = (*got, x) if isinstance(got, tuple) else (got, x)
            found.append([(t.device.type, t.detach().cpu().numpy()) for t in every])
        return found

    here, there, traced = results("cpu", lambda f: f), results("cuda", lambda f: f), results("cuda", jit.trace)
    assert [[w for w, _ in call] for call in traced] == [[w for w, _ in call] for call in there], "where results are"
    for turn, (want, got) in enumerate(zip(here, traced)):
        for (_, w), (_, g) in zip(want, got, strict=True):
            np.testing.assert_allclose(g, w, rtol=2e-5, atol=2e-5, err_msg=f"call {turn}, seed {SEED}")


# Candidates of the tuner.


def every_candidate(monkeypatch, call):
    """(n, results of a call whose kernels take their n-th candidate) until each has had all of its own: nothing is repeated
    from the calls before, which took another. On a device candidates are compiled beside each other first."""
    numbers: list = []
    taken: dict = {}
    is_mock = isinstance(driver.get().raw["cuInit"], types.FunctionType)

    def best(key, candidates, prepare, device):
        numbers.append(len(candidates))
        if key not in taken and not is_mock:
            compile_together([prepare(c)[0] for c in candidates])
        chosen = candidates[turn % len(candidates)]
        taken.setdefault(key, {})[chosen] = candidates
        return chosen

    monkeypatch.setattr(tuning, "best", best)
    monkeypatch.setenv("INGOT_CUDA_TUNE", "1")
    ingot.ir.config.process_settings.cache_clear()
    try:
        for turn in itertools.count():
            launch_cache.forget()
            yield turn, call()
            if turn >= max(numbers) - 1:
                break
        for chosen in taken.values():
            assert len(chosen) == len(set(next(iter(chosen.values())))), "some were not taken"
    finally:
        monkeypatch.undo()
        ingot.ir.config.process_settings.cache_clear()


def sizes(device, mock, gpu):
    return mock if device == "mock" else gpu


@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
@pytest.mark.parametrize("flips", list(itertools.product((False, True), repeat=2)), ids=str)
def test_every_tile_of_a_product_is_right(dtype, flips, device, monkeypatch):
    m, n, k = sizes(device, (40, 72, 48), (1000, 1040, 528))
    x, y = (draw(*(s[::-1] if flip else s)).to(getattr(ingot, dtype)) for s, flip in zip(((m, k), (k, n)), flips))
    want = ((x.t() if flips[0] else x).double() @ (y.t() if flips[1] else y).double()).numpy()
    a, b = (t.cuda().t() if flip else t.cuda() for t, flip in zip((x, y), flips))
    for turn, got in every_candidate(monkeypatch, lambda: a @ b):
        error = np.abs(got.cpu().double().numpy() - want).max() / np.abs(want).max()
        assert error < (1e-2 if dtype == "bfloat16" else 1e-5), f"candidate {turn}: {error}"


@pytest.mark.parametrize("fast", [False, True], ids=["exact", "fast"])
def test_every_tile_of_float8_is_right(fast, device, monkeypatch):
    m, k, n = sizes(device, (40, 96, 48), (500, 1024, 640))
    a, b = draw(m, k).to(ingot.float8_e4m3fn), draw(n, k).to(ingot.float8_e5m2).t()
    scales = draw(m, 1).abs().float() + 0.5, draw(1, n).abs().float() + 0.5
    want = (a.double() @ b.double() * scales[0] * scales[1]).numpy()
    there = [t.cuda() for t in (a, b, *scales)]
    call = lambda: ingot._scaled_mm(*there, out_dtype=ingot.float32, use_fast_accum=fast)
    for turn, got in every_candidate(monkeypatch, call):
        error = np.abs(got.cpu().double().numpy() - want).max() / np.abs(want).max()
        assert error < (1e-2 if fast else 1e-3), f"candidate {turn}: {error}"


@pytest.mark.parametrize("causal", [False, True], ids=["all", "causal"])
@pytest.mark.parametrize("size", [64, 128])
def test_every_tile_of_attention_is_right(size, causal, device, monkeypatch):
    batch, length = sizes(device, (1, 70), (2, 500))
    given = [draw(batch, 2, length, size).to(ingot.bfloat16) * (1 + i) / 4 for i in range(3)]

    def attend(q, k, v):
        leaves = [t.detach().requires_grad_() for t in (q, k, v)]
        out = F.scaled_dot_product_attention(*leaves, is_causal=causal)
        return [t.double().cpu().numpy() for t in (out.detach(), *ingot.autograd.grad((out * out.detach()).sum(), leaves))]

    want, there = attend(*[t.float() for t in given]), [t.cuda() for t in given]
    for turn, got in every_candidate(monkeypatch, lambda: attend(*there)):
        for n, (w, g) in enumerate(zip(want, got)):
            assert np.abs(g - w).max() < 4e-2 * np.abs(w).max(), f"candidate {turn}, result {n}"


@pytest.mark.parametrize("mask, causal", [(None, False), (None, True), ("bools", False), ("added", False)], ids=str)
def test_every_strategy_of_attention_is_right(mask, causal, device, monkeypatch):
    """Vectors that do not fill their tiles, queries that share keys, lengths that no block divides, values of another size."""
    length, keys = sizes(device, (70, 90), (300, 410))
    shapes = (2, 4, length, 40), (2, 2, keys, 40), (2, 2, keys, 24)
    given = [draw(*s).to(ingot.bfloat16) * (1 + i) / 4 for i, s in enumerate(shapes)]
    visible = None if mask is None else (draw(length, keys) > -0.5) if mask == "bools" else draw(length, keys)

    def attend(q, k, v, visible):
        leaves = [t.detach().requires_grad_() for t in (q, k, v)]
        out = F.scaled_dot_product_attention(*leaves, attn_mask=visible, is_causal=causal, enable_gqa=True)
        return [t.double().cpu().numpy() for t in (out.detach(), *ingot.autograd.grad((out * out.detach()).sum(), leaves))]

    want, there = attend(*[t.float() for t in given], visible), [t.cuda() for t in given]
    visible = visible if mask is None else visible.cuda() if mask == "bools" else visible.to(ingot.bfloat16).cuda()
    for turn, got in every_candidate(monkeypatch, lambda: attend(*there, visible)):
        for n, (w, g) in enumerate(zip(want, got)):
            assert np.abs(g - w).max() < 4e-2 * np.abs(w).max(), f"candidate {turn}, result {n}"


@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_every_tile_of_a_convolution_is_right(dtype, device, monkeypatch):
    channels, side = sizes(device, (20, 7), (130, 14))
    x, w = draw(2, channels, side, side).to(getattr(ingot, dtype)), draw(channels + 4, channels, 3, 3).to(getattr(ingot, dtype))

    def convolve(x, w):
        leaves = [t.detach().requires_grad_() for t in (x, w)]
        out = F.conv2d(*leaves, padding=1)
        return [t.double().cpu().numpy() for t in (out.detach(), *ingot.autograd.grad((out * out.detach()).sum(), leaves))]

    want, there = convolve(x.double(), w.double()), [x.cuda(), w.cuda()]
    for turn, got in every_candidate(monkeypatch, lambda: convolve(*there)):
        for n, (a, b) in enumerate(zip(want, got)):
            error = np.abs(a - b).max() / np.abs(a).max()
            assert error < (2e-2 if dtype == "bfloat16" else 1e-5), f"candidate {turn}, result {n}: {error}"


def test_explaining_before_the_second_call_compiles_for_the_device():
    traced = jit.trace(lambda x: ((x + 1).exp() if x.sum() > 0 else x - 1).tanh())
    x = draw(3, 4).abs()
    want = traced(x.cuda()).cpu()
    assert "exp" in traced.explain()
    again = traced(x.cuda())
    assert again.device.type == "cuda" and np.array_equal(again.cpu().numpy(), want.numpy())
