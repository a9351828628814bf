"""Traced functions on a device whose sizes and numbers change: passes run once, kernels are compiled once for sizes of a kind,
and the results are those of eager mode. On the mock driver.
"""

import numpy as np
import pytest

import ingot
import mock_cuda
import mock_cuda_triton
from ingot import jit, nn
from ingot.nn import functional as F
from ingot.passes.rewrite import pass_manager
from ingot.runtime.cuda import backend
from ingot.runtime.cuda.compiler import compile as compiler
from ingot.runtime.cuda.graph import eager

SEED = 31


class Work:
    """Variants compiled, and graphs run through the passes, since the last query."""

    def __init__(self):
        self.built, self.passes = [], 0

    def since(self):
        found = list(self.built), self.passes
        self.built.clear()
        self.passes = 0
        return found


@pytest.fixture
def work(monkeypatch):
    work_log = Work()
    with mock_cuda.installed():
        build, run = compiler.build, pass_manager.run

        def counted(graph, passes, **more):
            work_log.passes += passes is backend.PASSES and not graph.name.startswith("eager_")
            return run(graph, passes, **more)

        def compiled(variant):
            work_log.built.append(variant.source.name)
            return build(variant)

        def refused(op, *rest):
            pytest.fail(f"{op.name} ran on the host")

        for module, name, function in ((compiler, "build", compiled), (pass_manager, "run", counted),
                                       (eager, "on_host", refused)):
            mock_cuda_triton.relabelled(function)       # (traces do not watch installed packages)
            monkeypatch.setattr(module, name, function)
        yield work_log
        monkeypatch.undo()


def draw(*shape):
    return ingot.tensor(np.random.default_rng(SEED).standard_normal(shape).astype(np.float32))


def attend(x):
    q = x.reshape(x.shape[0], x.shape[1], 2, 8).transpose(1, 2)
    return F.scaled_dot_product_attention(q, q * 2, q, is_causal=True)


def projected(x, w):
    """The gradient of a projection whose parts attention takes."""
    leaf = w.detach().requires_grad_()
    q, k, v = (x @ leaf).view(*x.shape[:2], 3, 2, 4).permute(2, 0, 3, 1, 4).unbind(0)
    y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(x.shape[0], x.shape[1], 8)
    return ingot.autograd.grad((y * x).sum(), leaf)[0]


FUNCTIONS = {
    "elementwise": (lambda x: (x.tanh() * 2 + x.shape[0]).relu(), lambda n: (draw(n, 5),)),
    "rows": (lambda x: F.layer_norm(x, (40,)).softmax(-1), lambda n: (draw(n, 40),)),
    "columns, and all": (lambda x: (x.sum(0), x.mean(), x.amax(1)), lambda n: (draw(n, 5),)),
    "products": (lambda x, w: F.gelu(x @ w) @ w.T, lambda n: (draw(n, 18), draw(18, 24))),
    "a batch of products": (lambda x: x @ x.transpose(1, 2), lambda n: (draw(n, 3, 4),)),
    "convolutions": (lambda x, w: F.max_pool2d(F.relu(F.conv2d(x, w, padding=1)), 2),
                     lambda n: (draw(n, 3, 6, 7), draw(4, 3, 3, 3))),
    "pixels": (lambda x, w: F.conv2d(x, w, stride=2), lambda n: (draw(1, 2, n, n), draw(3, 2, 3, 3))),
    "attention": (attend, lambda n: (draw(2, n, 16),)),
    "gathers": (lambda x: x[x[:, 0].argsort()].cumsum(0), lambda n: (draw(n, 3),)),
    "parts of a projection": (projected, lambda n: (draw(2, n, 8), draw(8, 24))),
    "halves": (lambda x, w: x * 3 + ingot.cat([-x[..., 4:], x[..., :4]], -1) * w, lambda n: (draw(n, 8), draw(8))),
    "joins": (lambda x: ingot.cat([x, x * 2], 0).reshape(-1), lambda n: (draw(n, 2),)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_other_sizes_compile_nothing(name, work):
    f, data = FUNCTIONS[name]
    traced, spent = jit.trace(f), []
    for n in (35, 37, 41, 43, 45, 51):
        args = [t.cuda() for t in data(n)]
        work.since()
        got = traced(*args)
        spent.append(work.since())
        want = f(*args)
        for a, b in zip(want if isinstance(want, tuple) else (want,), got if isinstance(got, tuple) else (got,)):
            assert a.shape == b.shape
            np.testing.assert_allclose(b.cpu().numpy(), a.cpu().numpy(), rtol=1e-5, atol=1e-5, err_msg=f"{n} seed {SEED}")
    assert spent[2][1] and spent[3:] == [([], 0)] * 3, spent
    assert traced.stats()["graphs"] == 1 and "kernel" in traced.explain()


def test_sizes_with_other_divisors_and_tiles_are_compiled_once(work):
    """Multiples of 16 have code of their own; after both kinds were seen nothing is compiled."""
    traced, spent = jit.trace(lambda x: (x * 2).sum(1)), []
    for n in (35, 37, 41, 48, 43, 64, 80, 47):
        work.since()
        traced(draw(n, 24).cuda())
        spent.append(work.since())
    assert spent[2][1] == 1 and not any(passes for _, passes in spent[3:])
    assert spent[3][0] and not any(built for built, _ in spent[4:])


def test_numbers_that_change_are_no_part_of_the_code(work):
    traced, spent = jit.trace(lambda x, a: (x * a).relu() + a), []
    x = draw(9, 5).cuda()
    for a in (0.5, 0.25, 0.125, 0.75, 1.5):
        work.since()
        got = traced(x, a)
        spent.append(work.since())
        np.testing.assert_array_equal(got.cpu().numpy(), ((x * a).relu() + a).cpu().numpy())
    assert spent[3:] == [([], 0)] * 2, spent


NUMBERS = {
    "dropout": lambda x, v: F.dropout(x, v),
    "leaky_relu": lambda x, v: F.leaky_relu(x, v),
    "huber_loss": lambda x, v: F.huber_loss(x, x * 0.5, delta=v),
    "layer_norm": lambda x, v: F.layer_norm(x, (16,), eps=v),
    "attention": lambda x, v: F.scaled_dot_product_attention(x, x * 2, x, scale=v),
    "pad": lambda x, v: F.pad(x, (1, 2), value=v),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_parameters_that_change_are_no_part_of_the_code(work, name):
    """Not those of operators that stay whole: from the fourth value on nothing is compiled, and nothing runs on the host."""
    fn, x = NUMBERS[name], draw(2, 5, 16)
    traced = jit.trace(lambda x, v: fn(x, v) * 1.0)
    for i, v in enumerate((0.25, 0.5, 0.125, 0.75, 0.3)):
        ingot.manual_seed(i)
        want = fn(x.cuda(), v)
        work.since()
        ingot.manual_seed(i)
        got = traced(x.cuda(), v)
        assert i < 3 or work.since() == ([], 0), v
        np.testing.assert_allclose(got.cpu().numpy(), want.cpu().numpy(), rtol=1e-5, atol=1e-6, err_msg=f"{v}")
    assert traced.stats()["compiles"] == 2


def test_training_with_batches_of_changing_size(work):
    """The optimizer's step counters are the host's, parameters are written in place, the last batch is smaller."""
    def training(device, trace):
        ingot.manual_seed(0)
        net = nn.Sequential(nn.Linear(6, 20), nn.ReLU(), nn.Linear(20, 4)).to(device)
        opt = ingot.optim.AdamW(net.parameters(), lr=1e-2)

        def step(x, y):
            opt.zero_grad()
            loss = F.cross_entropy(net(x), y)
            loss.backward()
            opt.step()
            return loss

        step, found = trace(step), []
        for n in (12, 10, 12, 7, 9, 12, 11):
            x, y = draw(n, 6), ingot.tensor(np.arange(n) % 4)
            work.since()
            loss = step(x.to(device), y.to(device)).item()      # waits for kernels, which may be built as they are launched
            found.append((loss, work.since()))
        return *zip(*found), net

    want, _, there = training("cpu", lambda f: f)
    got, spent, here = training("cuda", jit.trace)
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-6)
    assert not any(passes for _, passes in spent[4:]) and not any(built for built, _ in spent[5:]), spent
    for (path, a), b in zip(here.named_parameters(), there.parameters()):
        np.testing.assert_allclose(a.detach().cpu().numpy(), b.detach().numpy(), rtol=1e-3, atol=2e-5, err_msg=path)


def test_each_size_has_a_graph_of_its_own():
    """Sizes that take turns: after the first runs of each, a run is one CUDA graph."""
    with mock_cuda.installed() as cuda:
        weight = draw(6, 18).cuda()
        traced = jit.trace(lambda x: (x @ weight).relu().sum(0) / x.shape[0])
        for turn in range(8):
            for n in (7, 9, 11):
                x = draw(n, 6).cuda() + turn
                before = len(cuda.launches), cuda.calls.get("cuGraphLaunch", 0)
                got = traced(x)
                spent = len(cuda.launches) - before[0], cuda.calls.get("cuGraphLaunch", 0) - before[1]
                want = (x @ weight).relu().sum(0) / n
                np.testing.assert_allclose(got.cpu().numpy(), want.cpu().numpy(), rtol=1e-5, atol=1e-6, err_msg=f"{turn} {n}")
                assert turn < 7 or spent == (0, 1), f"{n}: {spent}"


def test_sizes_that_choose_the_algorithm(work):
    """Assumptions of passes hold for some sizes only; other sizes get steps of their own."""
    traced = jit.trace(lambda x: x.reshape(x.shape[0] // 2, 2, -1).sum(1) if x.shape[0] % 2 == 0 else x * 3)
    for n in (6, 8, 7, 10, 5, 12, 9, 1, 14):
        x = draw(n, 4).cuda()
        want = x.reshape(n // 2, 2, -1).sum(1) if n % 2 == 0 else x * 3
        np.testing.assert_allclose(traced(x).cpu().numpy(), want.cpu().numpy(), rtol=1e-6, err_msg=f"{n} seed {SEED}")
