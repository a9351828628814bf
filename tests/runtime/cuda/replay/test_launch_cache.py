"""Calls whose launches are repeated from a list: the same results as worked out anew, on any operands, whatever changed."""

import contextlib
import gc
import sys
import threading
import weakref

import numpy as np
import pytest

import ingot
import ingot.nn.functional as F
import mock_cuda
from ingot.benchmarks import gpu_host
from ingot.ir.dtype import float32
from ingot.ir.ops.core.shape import constant
from ingot.runtime.cuda.compiler import kernels
from ingot.runtime.cuda.graph import eager
from ingot.runtime.cuda.replay import launch_cache

RUNS = 6
REPEATED = 4        # by this call a kind of call is repeated


@pytest.fixture
def cuda():
    with mock_cuda.installed(devices=2) as mock:
        yield mock


@pytest.fixture
def worked_out(monkeypatch):
    """The names of operators that were not repeated."""
    names, before = [], eager._run_uncached

    def logged(op, *rest):
        names.append(op.name)
        return before(op, *rest)

    monkeypatch.setattr(eager, "_run_uncached", logged)
    return names


def ids(*shape, below=7):
    return ingot.randint(0, below, shape)


CALLS = {
    "linear": lambda r: (F.linear, r(5, 8), r(7, 8), r(7)),
    "product": lambda r: (ingot.matmul, r(5, 8), r(8, 3)),
    "product, turned": lambda r: (lambda a, b: a.T @ b.T, r(8, 5), r(3, 8)),
    "batch of products": lambda r: (ingot.matmul, r(3, 5, 8), r(3, 8, 2)),
    "convolution": lambda r: (lambda x, w, b: F.conv2d(x, w, b, padding=1), r(2, 3, 6, 5), r(4, 3, 3, 3), r(4)),
    "strided convolution": lambda r: (lambda x, w: F.conv2d(x, w, stride=2), r(2, 3, 9, 9), r(4, 3, 3, 3)),
    "attention": lambda r: (lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), *[r(1, 2, 9, 8)] * 3),
    "layer norm": lambda r: (lambda x, w: F.layer_norm(x, (8,), w), r(5, 8), r(8)),
    "group norm": lambda r: (lambda x: F.group_norm(x, 2), r(3, 4, 5)),
    "cross entropy": lambda r: (F.cross_entropy, r(5, 7), ids(5)),
    "softmax": lambda r: (lambda x: x.softmax(-1), r(5, 9)),
    "embedding": lambda r: (F.embedding, ids(4, 3), r(7, 5)),
    "index": lambda r: (lambda x, i: x[i], r(7, 5), ids(6)),
    "index in the middle": lambda r: (lambda x, i: x[:, i], r(3, 7, 2), ids(6)),
    "gather": lambda r: (lambda x, i: x.gather(1, i), r(5, 7), ids(5, 3)),
    "scatter": lambda r: (lambda x, i, y: x.scatter_add(1, i, y), r(5, 7), ids(5, 3), r(5, 3)),
    "index put": lambda r: (lambda x, i, y: x.index_put((i,), y, accumulate=True), r(7, 2), ids(9), r(9, 2)),
    "sort": lambda r: (lambda x: x.sort(-1), r(5, 33)),
    "topk": lambda r: (lambda x: x.topk(3), r(5, 33)),
    "running sums": lambda r: (lambda x: x.cumsum(0), r(33, 3)),
    "max pool": lambda r: (lambda x: F.max_pool2d(x, 2), r(2, 3, 6, 6)),
    "sums": lambda r: (lambda x: x.sum((0, 2)), r(3, 4, 5)),
    "largest": lambda r: (lambda x: x.max(1), r(5, 9)),
    "joined": lambda r: (lambda x, y: ingot.cat([x, y.T], 1), r(3, 4), r(5, 3)),
    "chosen": lambda r: (lambda c, x, y: ingot.where(c > 0, x, y), r(5), r(5), r(3, 1)),
    "pad": lambda r: (lambda x: F.pad(x, (1, 2), value=3.0), r(4, 5)),
    "zeros": lambda r: (ingot.zeros_like, r(4, 5)),
    "strided copy": lambda r: (lambda x: x.T.contiguous(), r(4, 5)),
    "roll": lambda r: (lambda x: x.roll(2, 1), r(4, 5)),
    "interpolation": lambda r: (lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), r(1, 2, 4, 5)),
    "cast": lambda r: (lambda x: x.to(ingot.bfloat16).float(), r(4, 5)),
    "literal": lambda r: (lambda x: x + ingot.tensor([1.0, 2.0, 3.0]).to(x.device), r(4, 3)),
    "number": lambda r: (lambda x: x * 0.5 + 2, r(4, 5)),
    "lstm": lambda r: (lambda x, h, w, u: ingot.nn.functional.linear(x, w) + h @ u, r(4, 5), r(4, 6), r(6, 5), r(6, 6)),
}


def parts(found):
    return [t for t in found if isinstance(t, ingot.Tensor)] if isinstance(found, (tuple, list)) else [found]


@pytest.mark.parametrize("name", CALLS)
def test_on_operands_that_are_new_each_time(name, cuda, worked_out):
    ingot.manual_seed(3)
    held = []
    for run in range(RUNS):
        f, *operands = CALLS[name](ingot.randn)
        if run == REPEATED:
            worked_out.clear()
        there = [t.to("cuda") for t in operands]
        want, got = parts(f(*operands)), parts(f(*there))
        for w, g in zip(want, got, strict=True):
            assert g.dtype is w.dtype and g.stride() == w.stride()
            ingot.testing.assert_close(g.cpu(), w, rtol=1e-5, atol=1e-5)
        held.append((there, got))           # so that memory is other memory
    assert not worked_out


@pytest.mark.parametrize("name", [n for n in CALLS if n not in ("sort", "topk", "zeros", "largest")])
def test_gradients(name, cuda):
    """Calls of backward are repeated too, with the tape's saved values."""
    for run in range(RUNS):
        ingot.manual_seed(run)
        f, *operands = CALLS[name](ingot.randn)
        found = []
        for device in ("cpu", "cuda"):
            leaves = [t.detach().to(device) for t in operands]
            leaves = [t.requires_grad_() if t.is_floating_point() else t for t in leaves]
            f(*leaves).square().sum().backward()
            found.append([t.grad.cpu() for t in leaves if t.grad is not None])
        assert found[0] and len(found[0]) == len(found[1])
        for want, got in zip(*found):
            ingot.testing.assert_close(got, want, rtol=1e-4, atol=1e-4)


def test_calls_that_share_a_family(cuda, worked_out):
    """A call that is noted runs what it consists of, also where that would be repeated by itself."""
    x, target = ingot.randn(5, 7).to("cuda"), ids(5).to("cuda")
    for smoothing in (0.0, 0.1, 0.2):
        for run in range(RUNS):
            if run == REPEATED:
                worked_out.clear()
            got = F.cross_entropy(x, target, label_smoothing=smoothing)
            ingot.testing.assert_close(got.cpu(), F.cross_entropy(x.cpu(), target.cpu(), label_smoothing=smoothing))
        assert not worked_out


SHARING = {
    "itself": lambda x: (x, x), "a view of it": lambda x: (x, x.view(x.shape)), "a later part": lambda x: (x[:4], x[4:]),
    "an earlier part": lambda x: (x[4:], x[:4]), "overlapping": lambda x: (x[:5], x[2:7]), "turned": lambda x: (x, x.T),
}


@pytest.mark.parametrize("op", ["add", "matmul", "atan2"])
@pytest.mark.parametrize("first", SHARING)
def test_operands_that_share_memory(op, first, cuda):
    """Each way in turn, so that one kind's list meets operands of another kind."""
    ways = [first, *SHARING, "apart"]
    for run in range(2 * RUNS):
        for way in ways if run % 2 else ways[::-1]:
            ingot.manual_seed(run)
            x = ingot.randn(8, 8)
            pairs = [SHARING[way](t) if way in SHARING else (t, t.flip(0)) for t in (x, x.to("cuda"))]
            (a, b), (c, d) = [(p, q.T) if op == "matmul" else (p, q) for p, q in pairs]
            ingot.testing.assert_close(getattr(ingot, op)(c, d).cpu(), getattr(ingot, op)(a, b), rtol=1e-5, atol=1e-5)


def test_numbers(cuda):
    x = ingot.tensor([1.0, -2.0]).to("cuda")
    for _ in range(RUNS):
        for n in (0.0, -0.0, 0, 1, 1.0, True, 2, 2.0, -1, float("inf"), float("nan")):
            assert (x * n).cpu().numpy().tobytes() == (x.cpu() * n).numpy().tobytes(), n
            assert (x > n).tolist() == (x.cpu() > n).tolist()
        for n in (0.0, -0.0, 0, 1, 1.0, True, float("nan")):
            for dtype in (ingot.float32, ingot.int64, ingot.bool):
                if n == n or dtype.is_floating_point:
                    want, got = ingot.full((3,), n, dtype=dtype), ingot.full((3,), n, dtype=dtype, device="cuda")
                    assert got.cpu().numpy().tobytes() == want.numpy().tobytes(), n
    for n in range(40):
        assert (x + n).tolist() == [1.0 + n, -2.0 + n]


def test_numbers_among_parameters(cuda):
    """(0.0 and -0.0 are equal to Python, and 1, 1.0 and True.)"""
    x, there = ingot.tensor([-1.0, 2.0]), ingot.tensor([-1.0, 2.0]).to("cuda")
    for _ in range(RUNS):
        for n in (0.0, -0.0, 0, 1, 1.0):
            assert there.clamp(n, 5.0).cpu().numpy().tobytes() == x.clamp(n, 5.0).numpy().tobytes(), n
        for values in ((0.0, 1.0), (-0.0, 1.0), (0, 1)):
            made = eager.run(constant, (there._a,), {"values": values, "shape": (2,), "dtype": float32}, 0)
            assert eager.transfer.to_host(made).tobytes() == np.array(values, np.float32).tobytes()


def test_kinds_that_come_once_take_no_room(cuda):
    x = ingot.ones(2).to("cuda")
    for n in range(50):
        x + float("nan"), x + (n + 0.5)
    assert len(launch_cache._known) <= 110
    launch_cache._known.most, most = 20, launch_cache._known.most
    try:
        for n in range(50):
            x + (n + 0.25)
        assert len(launch_cache._known) <= 20
    finally:
        launch_cache._known.most = most


def test_switches_of_precision(cuda, monkeypatch):
    x = ingot.randn(64, 64).to("cuda")
    names = {}
    for _ in range(2):
        for how in ("highest", "high"):
            ingot.set_float32_matmul_precision(how)
            for _ in range(RUNS):
                x @ x.T
                ingot.cuda.synchronize()
                names.setdefault(how, set()).add(cuda.launches[-1]["name"])
    ingot.set_float32_matmul_precision("highest")
    assert len(names["high"]) == len(names["highest"]) == 1 and names["high"] != names["highest"]


def test_lists_allocate_and_free_memory(cuda):
    """Small memory may be held for the whole call."""
    x, w = ingot.randn(64, 64).to("cuda"), ingot.randn(64, 64).to("cuda")
    found = []
    for _ in range(RUNS):
        ingot.cuda.reset_peak_memory_stats()
        before = ingot.cuda.memory_allocated()
        F.cross_entropy((x.T @ w.T)[::2], ingot.zeros(32, dtype=ingot.int64, device="cuda"))
        found.append((ingot.cuda.max_memory_allocated() - before, ingot.cuda.memory_allocated() - before))
    peaks, held = zip(*found[1:])
    assert set(held) == {0} and max(peaks) - min(peaks) <= 2048


def test_values_that_are_read_are_never_repeated(cuda, worked_out):
    for n in range(RUNS):
        x = (ingot.arange(8.0) > n).to("cuda")
        assert x.nonzero().flatten().tolist() == list(range(n + 1, 8))
        assert ingot.masked_select(ingot.arange(8.0).to("cuda"), x).tolist() == list(range(n + 1, 8))
    assert "nonzero" in worked_out


def test_repeated_lists_report_wrong_indices(cuda, worked_out):
    x = ingot.randn(7, 5).to("cuda")
    for _ in range(RUNS):
        x[ids(6).to("cuda")].sum().item()
    worked_out.clear()
    with pytest.raises(ingot.IngotError, match="out of range"):
        x[ingot.tensor([1, 2, 3, 4, 5, 9]).to("cuda")].sum().item()
    assert not worked_out
    assert x[ids(6).to("cuda")].sum().isfinite().item()


def test_operands_between_whole_vectors(cuda):
    for n in range(2 * RUNS):
        whole = ingot.arange(64.0)
        for start in (0, 4, 1, 3, 8):
            part = whole.to("cuda")[start:start + 16] if n % 2 else whole[start:start + 16].to("cuda")
            assert (part * 2).tolist() == [2.0 * (start + i) for i in range(16)]


def test_devices_and_streams(cuda):
    for n in range(RUNS):
        for device in ("cuda:0", "cuda:1"):
            x = ingot.full((100,), float(n), device=device)
            assert (x + x).tolist() == [2.0 * n] * 100 and (x + x).device == x.device
        with pytest.raises(ingot.IngotError, match="cuda:0 and cuda:1"):
            ingot.zeros(100, device="cuda:0") + ingot.zeros(100, device="cuda:1")
    stream = ingot.cuda.Stream()
    for n in range(RUNS):
        x = ingot.full((1000,), float(n), device="cuda")
        stream.wait_stream(ingot.cuda.current_stream())
        with ingot.cuda.stream(stream):
            y = x * 3
        del x
        ingot.zeros(1000, device="cuda").fill_(-1.0)         # would take x's memory, if that were free
        ingot.cuda.current_stream().synchronize()
        stream.synchronize()
        assert y.tolist() == [3.0 * n] * 1000


def test_threads_repeat_one_call_on_operands_of_their_own(cuda):
    """(A launch is written into memory that no other thread reads at the time.)"""
    operands = [ingot.full((100,), float(n)).to("cuda") for n in range(4)]
    for _ in range(RUNS):
        operands[0] + operands[0]
    made: list = [[] for _ in operands]
    threads = [threading.Thread(target=lambda x, to: to.extend([x + x for _ in range(100)]), args=pair)
               for pair in zip(operands, made)]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    finally:
        sys.setswitchinterval(before)
    for n, found in enumerate(made):
        assert len(found) == 100 and all(t.tolist() == [2.0 * n] * 100 for t in found)


VIEWS = {
    "view": lambda x: x.view(8, 2, 3), "transpose": lambda x: x.t(), "row": lambda x: x[1], "part": lambda x: x[1:3, ::2],
    "flat": lambda x: x.reshape(-1), "turned, flat": lambda x: x.t().reshape(-1),
    "spread": lambda x: x[:, None].expand(4, 5, 12), "bits": lambda x: x.view(ingot.int32),
    "diagonal": lambda x: x.diagonal(), "windows": lambda x: x.unfold(1, 3, 2),
}


@pytest.mark.parametrize("name", VIEWS)
def test_views_that_were_seen_before(name, cuda):
    """Of memory of its own, of a part, of what lies between whole vectors, of nothing."""
    look = VIEWS[name]
    for run in range(3):
        whole = ingot.arange(100.0) + run
        sources = [whole[:48].view(4, 12), whole[24:72].view(4, 12), whole[1:49].view(4, 12), whole[:96].view(4, 24)[:, ::2]]
        there = whole.to("cuda")
        for x in sources:
            y = there.as_strided(x.shape, x.stride(), x.storage_offset())
            try:
                want = look(x)
            except ingot.IngotError:
                with pytest.raises(ingot.IngotError):
                    look(y)
                continue
            got = look(y)
            assert got.shape == want.shape and got.dtype is want.dtype and got.cpu().tolist() == want.tolist()
            assert got._is_view() == want._is_view()
            if got._is_view():
                assert got.stride() == want.stride() and got.storage_offset() == want.storage_offset()
            assert (got + 1).tolist() == (want + 1).tolist()
    empty = ingot.ones(0, 12).to("cuda")
    assert empty.t().shape == (12, 0) and empty.view(3, 0).shape == (3, 0)


LEFT_BY_AUTOCAST = {
    "sum": lambda x, y, norm: x + y, "number": lambda x, y, norm: 2.0 - x * 3, "in place": lambda x, y, norm: x.add_(y),
    "augmented": lambda x, y, norm: x.__imul__(2.0), "negative": lambda x, y, norm: -x,
    "largest": lambda x, y, norm: x.maximum(y),
    "relu in place": lambda x, y, norm: F.relu(x, inplace=True), "view": lambda x, y, norm: x.view(2, -1),
    "running statistics": lambda x, y, norm: norm(x), "low": lambda x, y, norm: norm(x.bfloat16()),
}


def work_of(cuda):
    """How much kernels and copies were asked for."""
    return len(cuda.launches) + cuda.calls.get("cuMemcpyDtoDAsync_v2", 0)


@pytest.mark.parametrize("name", LEFT_BY_AUTOCAST)
def test_autocast_adds_no_work_to_unaffected_calls(name, cuda):
    found = []
    for inside in (False, True):
        ingot.manual_seed(1)
        norm = ingot.nn.BatchNorm1d(3).to("cuda")
        x, y = ingot.randn(4, 3).to("cuda"), ingot.randn(4, 3).to("cuda")
        with ingot.autocast("cuda", ingot.bfloat16, enabled=inside):
            for _ in range(RUNS):
                before = work_of(cuda)
                made = LEFT_BY_AUTOCAST[name](x, y, norm)
        found.append((work_of(cuda) - before, made.dtype, made.tolist(), x.tolist(), norm.running_var.tolist()))
    assert found[0] == found[1]


def test_batch_norm_of_low_precision_casts_nothing_apart(cuda):
    """Weights in float32 beside images in bfloat16, as autocast leaves them: as much work as for images in float32."""
    found = []
    for dtype in (ingot.float32, ingot.bfloat16):
        norm = ingot.nn.BatchNorm2d(3).to("cuda")
        x = ingot.randn(2, 3, 4, 4).to("cuda", dtype).requires_grad_()
        for _ in range(RUNS):
            before = work_of(cuda)
            norm(x).backward(x.detach())
            x.grad = norm.weight.grad = norm.bias.grad = None
        found.append(work_of(cuda) - before)
    assert found[0] == found[1]


def test_captured_by_hand(cuda):
    x = ingot.zeros(10, 10, device="cuda")
    for _ in range(RUNS):
        y = (x @ x).softmax(-1)
    graph = ingot.cuda.CUDAGraph()
    with ingot.cuda.graph(graph):
        y = (x @ x).softmax(-1)
    for _ in range(3):
        x.copy_(ingot.randn(10, 10))
        graph.replay()
        ingot.testing.assert_close(y.cpu(), (x.cpu() @ x.cpu()).softmax(-1))


def test_listeners_hear_every_run(cuda, monkeypatch):
    x, heard = ingot.randn(50).to("cuda"), []
    for _ in range(RUNS):
        x.exp()
    monkeypatch.setattr(kernels, "LISTENERS", [heard.append])
    for _ in range(RUNS):
        x.exp()
    assert len(heard) == RUNS


def test_a_failure_while_noting_leaves_nothing(cuda, monkeypatch):
    x, before = ingot.randn(5).to("cuda"), launch_cache.LaunchRecorder.took
    monkeypatch.setattr(launch_cache.LaunchRecorder, "took", lambda *args: 1 / 0)
    for _ in range(launch_cache._FIRST):
        x.exp()
    with pytest.raises(ZeroDivisionError):
        launch_cache.run(ingot.ir.opdef.op.OPS["exp"], (x._a,), {}, 0, eager._run_uncached)
    monkeypatch.setattr(launch_cache.LaunchRecorder, "took", before)
    for _ in range(RUNS):
        ingot.testing.assert_close(x.exp().cpu(), x.cpu().exp())


def test_the_benchmark_of_the_hosts_time(capsys):
    mock_cuda.drop_caches()
    try:
        assert gpu_host.main(["x + y", "cross", "MLP, traced", "a cache joined"]) == 0
    finally:
        mock_cuda.drop_caches()
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("  ")[0] for line in lines] == [
        "x + y", "cross entropy", "x + y, traced", "MLP, traced", "x + y, new sizes", "cross entropy, new sizes",
        "a cache joined, new sizes"]
    assert all(0 < float(line.split()[-2]) < 1e5 for line in lines)


@pytest.mark.parametrize("fails", [lambda x: x @ x[:3], lambda x: x + x[:3, :3], lambda x: F.linear(x, x[:, :2])])
def test_operands_of_a_call_that_failed_are_free_at_once(fails, cuda):
    gc.disable()
    try:
        for device in ("cpu", "cuda"):
            x = ingot.zeros(8, 8, device=device)
            seen = weakref.ref(x._a)
            with contextlib.suppress(ingot.IngotError):
                fails(x)
            del x
            assert seen() is None
    finally:
        gc.enable()
