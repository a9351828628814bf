"""Networks in blocked channels give what eager code gives, within the error of contractions."""

import numpy as np
import pytest

import ingot
from conv_programs import RandomNet, images
from graphs import check_untouched, graph_of
from ingot import jit, nn
from ingot.ir import config, target
from ingot.ir.graph.interp import interpret
from ingot.ir.graph.text import parse
from ingot.ir.graph.verify import verify
from ingot.ir.ops.linalg import products
from ingot.ir.ops.packed import blocked as ops
from ingot.passes.layout.layout import layout
from ingot.runtime.cpu.conv import blocked
from ingot.runtime.cpu.graph.program import CompiledGraph, compiled_kernel_of
from seeds import seeds, several


def close(got, want, label, tol=2e-4):
    got, want = got.detach().numpy(), want.detach().numpy()
    scale = max(1.0, np.abs(want).max())
    assert np.abs(got - want).max() <= tol * scale, f"{label}: off by {np.abs(got - want).max() / scale}"


def graph_ops(traced):
    return [n.op for job in traced._jobs() for n in job.steps[-1].graph.nodes]


@pytest.mark.parametrize("seed, dims, kind", several(4, 14, (1, 2, 3), [(ingot.float32, 2e-4), (ingot.float64, 1e-10)]),
                         ids=str)
def test_random_networks_are_as_in_eager_mode(seed, dims, kind):
    dtype, tol = kind
    net = RandomNet(100 * dims + seed, dims, dtype=dtype).eval()
    x = images(net, seed, dtype=dtype)
    traced = jit.trace(net)
    with ingot.no_grad():
        want = net(x)
        for _ in range(3):
            close(traced(x), want, f"seed {seed}, {dims}d, {dtype}: {net.plan}", tol)


@pytest.mark.parametrize("numerics", ["strict", "fast"])
def test_numerics(numerics):
    for seed in range(4):
        net = RandomNet(seed).eval()
        x = images(net, seed)
        with config.override(numerics=numerics), ingot.no_grad():
            traced = jit.trace(net)
            want = net(x)
            for _ in range(2):
                close(traced(x), want, f"seed {seed}", 2e-4)
            assert numerics == "fast" or not any(
                n.params["kernel"][0] != "direct" for job in traced._jobs() for n in job.steps[-1].graph.nodes
                if n.op is ops.conv_blocked)


def test_results_do_not_depend_on_threads():
    net, threads = RandomNet(3, depth=8).eval(), ingot.get_num_threads()
    x, traced = images(net, 3, batch=3), jit.trace(net)
    with ingot.no_grad():
        net(x)
        traced(x)
        found = []
        try:
            for count in (1, 2, 1):
                ingot.set_num_threads(count)
                found.append(traced(x).numpy())
        finally:
            ingot.set_num_threads(threads)
    assert all((a == found[0]).all() for a in found)


def small():
    return nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 16, 3, padding=1),
                         nn.ReLU6(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 4)).eval()


def test_blocks_go_from_layer_to_layer():
    net = small()
    traced, x = jit.trace(net), ingot.randn(2, 3, 12, 12)
    with ingot.no_grad():
        for _ in range(2):
            close(traced(x), net(x), "small network")
    made = graph_ops(traced)
    assert made.count(ops.conv_blocked) == 2
    assert ops.max_pool_blocked in made
    assert ops.to_blocked not in made and ops.from_blocked not in made
    assert [n.params["epilogue"][-1][0] for job in traced._jobs() for n in job.steps[-1].graph.nodes
            if n.op is ops.conv_blocked] == ["relu", "maximum"]


def test_results_leave_their_blocks_in_the_order_in_which_they_are_returned():
    """In every process: the order was that of addresses."""
    layers = nn.ModuleList([nn.Conv2d(32, 32, 3, padding=1) for _ in range(7)]).eval()
    x = ingot.randn(2, 32, 15, 15)

    @jit.trace
    def run(x):
        return [layer(x) for layer in layers][::-1]

    with ingot.no_grad():
        run(x)
    graph = list(next(iter(run.graphs.values())).values())[-1]
    unblocked = [n.output for n in graph.nodes if n.op is ops.from_blocked]
    assert len(unblocked) == 7 and unblocked == list(graph.outputs)


def test_infinities_and_nan_stay_where_they_belong():
    net = nn.Sequential(nn.Conv2d(4, 32, 3, padding=1), nn.Conv2d(32, 32, 3, padding=1), nn.Conv2d(32, 20, 1)).eval()
    traced = jit.trace(net)
    for bad in (np.inf, -np.inf, np.nan):
        a = np.random.default_rng(1).standard_normal((1, 4, 20, 20)).astype(np.float32)
        a[0, 1, 4, 5] = bad
        x = ingot.tensor(a)
        with ingot.no_grad():
            want = net(x).numpy()
            for _ in range(2):
                got = traced(x).numpy()
        assert (np.isnan(got) == np.isnan(want)).all() and (np.isinf(got) == np.isinf(want)).all(), bad
        good = np.isfinite(want)
        assert np.abs(got[good] - want[good]).max() < 1e-4


def test_graphs_mean_the_same_before_and_after():
    for seed in range(6):
        net = RandomNet(seed, depth=5).eval()
        traced, x = jit.trace(net), images(net, seed)
        with ingot.no_grad():
            for _ in range(2):
                traced(x)
        for job in traced._jobs():
            before = next(s.graph for s in reversed(job.steps) if s.name == "fold_batch_norm")
            after = verify(layout(before, blocked.choose))
            rng = np.random.default_rng(seed)
            arrays = [rng.uniform(0.2, 1, v.shape).astype(v.dtype.np) for v in before.inputs]
            for a, b in zip(interpret(before, arrays).outputs, interpret(after, arrays).outputs, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4, err_msg=f"seed {seed}")


def test_what_has_no_convolution_stays():
    check_untouched(lambda g: layout(g, blocked.choose), """
        graph g(%x: f32[2,32,4,4]) {
          %0: f32[2,32,4,4] = relu(%x)
          return %0
        }""")


def test_what_no_kernel_takes_stays():
    g = graph_of("""
        graph g(%x: f32[2,3,4,4], %w: f32[5,3,1,1]) {
          %0: f32[2,5,4,4] = conv(%x, %w, None, dilation=(1, 1), groups=1, padding=((0, 0), (0, 0)), stride=(1, 1))
          return %0
        }""")
    assert layout(g, lambda *args: None) is g
    assert layout(g, blocked.choose) is not g


BESIDE = {
    "pad": lambda v: nn.functional.pad(v, (2, 1)).sum(),
    "slice": lambda v: v[2:5].sum(),
    "cat": lambda v: ingot.cat([v, v[:2]]).prod(),
    "mean": lambda v: v.mean(0) * v.amax(),
    "pool": lambda v: nn.functional.max_pool1d(v[None], 2).sum() + nn.functional.avg_pool1d(v[None], 2).sum(),
    "expand": lambda v: v.expand(3, 8).sum(0).var(),
    "scalar": lambda v: v[0] * v[1],
}


@pytest.mark.parametrize("beside", BESIDE)
def test_values_of_few_dimensions_beside_a_convolution(beside):
    net, v = nn.Conv2d(3, 16, 3), ingot.rand(8, requires_grad=True)

    def step(x):
        v.grad = None
        y = net(x).relu().sum() * BESIDE[beside](v)
        y.backward()
        return y, v.grad

    x = ingot.randn(2, 3, 9, 9)
    want, traced = step(x), jit.trace(step)
    for _ in range(3):
        for a, b in zip(traced(x), want):
            close(a, b, beside)


@pytest.mark.parametrize("kind", [ingot.uint8, ingot.int32, ingot.int64, ingot.float16, ingot.bfloat16, ingot.complex64],
                         ids=str)
def test_convolutions_of_other_dtypes_beside_one_of_floats(kind):
    """They have no blocks, though floats of their size may have some."""

    def step(x, w, v):
        first, second = nn.functional.conv2d(x, w), nn.functional.conv2d(x.to(kind), v)
        if not kind.is_inexact:
            return first, second
        return first, second, *ingot.autograd.grad(first.sum() + second.abs().float().sum(), (w, v))

    w = ingot.randn(16, 32, 3, 3, requires_grad=True)
    v = (w.detach() * 3).to(kind).requires_grad_(kind.is_inexact)
    traced = jit.trace(step)
    for size in (9, 12, 40):
        x = ingot.randn(2, 32, size, size) * 9
        for a, b in zip(traced(x, w, v), step(x, w, v), strict=True):
            assert a.detach().numpy().tobytes() == b.detach().numpy().tobytes(), size


@pytest.mark.parametrize("bias", [True, False])
def test_a_lone_window_of_one_pixel_is_a_product(bias):
    net = nn.Sequential(nn.Conv2d(24, 40, 1, bias=bias), nn.ReLU()).eval()
    for batch in (1, 3):
        traced, x = jit.trace(net), ingot.randn(batch, 24, 16, 16)
        with ingot.no_grad():
            for _ in range(2):
                close(traced(x), net(x), f"batch {batch}")
        assert products.matmul in graph_ops(traced)
        assert ops.conv_blocked not in graph_ops(traced)


def test_a_graph_for_other_lanes_runs_by_the_references():
    g = graph_of("""
        graph g(%x: f32[1,3,6,6], %w: f32[24,3,3,3], %r: f32[1,8,6,6,3]) {
          %0: f32[1000] = pack_filters(%w, kernel=('direct', 1, False, 3), size=1000)
          %1: f32[1,8,6,6,3] = conv_blocked(%x, %0, %r, dilation=(1, 1), epilogue=(('add', 'a', 'o0'), ('relu', 'v0')), \
filters=(24, 3, 3, 3), groups=1, in_blocks=False, kernel=('direct', 1, False, 3), lanes=3, padding=((1, 1), (1, 1)), \
stride=(1, 1))
          %2: f32[1,8,3,3,3] = max_pool_blocked(%1, dilation=(1, 1), kernel=(2, 2), padding=((0, 0), (0, 0)), stride=(2, 2))
          %3: f32[1,24,3,3] = from_blocked(%2, channels=24)
          %4: f32[1,8,3,3,3] = to_blocked(%3, lanes=3)
          return %3, %4
        }""")
    arrays = [np.random.default_rng(1).standard_normal(v.shape).astype(np.float32) for v in g.inputs]
    got = CompiledGraph(g, compiled_kernel_of).run(list(arrays))
    for a, b in zip(interpret(g, arrays).outputs, got, strict=True):
        assert (a == b).all()


@pytest.mark.skipif(not target.host().fma, reason="without a fused multiply-add all are direct")
def test_a_change_of_numerics_is_seen():
    net = nn.Sequential(nn.Conv2d(64, 64, 3, padding=1), nn.ReLU(), nn.Conv2d(64, 64, 3, padding=1)).eval()
    traced, x = jit.trace(net), ingot.randn(1, 64, 28, 28)
    found = {}
    with ingot.no_grad():
        for numerics in ("default", "strict", "default", "strict"):
            with config.override(numerics=numerics):
                for _ in range(2):
                    found.setdefault(numerics, []).append(traced(x).numpy())
                strict = np.array(net(x))
            if numerics == "strict":
                assert np.abs(found[numerics][-1] - strict).max() < 1e-5
    kernels = [{n.params["kernel"][0] for n in job.steps[-1].graph.nodes if n.op is ops.conv_blocked}
               for job in traced._jobs() if job.steps]
    assert {"direct"} in kernels and {"winograd2x4"} in kernels
    assert all((a == found["default"][1]).all() for a in found["default"][1:])
    assert not (found["default"][1] == found["strict"][1]).all()


def test_graphs_are_read_back_from_their_text():
    net = RandomNet(2, depth=8).eval()
    traced, x = jit.trace(net), images(net, 2)
    with ingot.no_grad():
        for _ in range(2):
            traced(x)
    for job in traced._jobs():
        g = job.steps[-1].graph
        assert parse(str(g)) == g


@pytest.mark.parametrize("seed", seeds(4, 8))
def test_training_steps_are_as_in_eager_mode(seed):
    found = []
    for wrap in (lambda f: f, jit.trace):
        net = RandomNet(seed, dims=1 + seed % 3, depth=5, dtype=ingot.float64).train()
        x = images(net, seed, batch=3, dtype=ingot.float64)
        optimizer = ingot.optim.SGD(net.parameters(), 0.01)

        def step(x, net=net, optimizer=optimizer):
            optimizer.zero_grad()
            loss = net(x).square().mean()
            loss.backward()
            optimizer.step()
            return loss.detach()

        step = wrap(step)
        losses = [step(x).item() for _ in range(4)]
        found.append((losses, [np.array(t.detach()) for t in net.state_dict().values()]))
    (want, weights), (got, traced_weights) = found
    np.testing.assert_allclose(got, want, rtol=1e-7, err_msg=f"seed {seed}")
    for a, b in zip(weights, traced_weights, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-6, atol=1e-8, err_msg=f"seed {seed}")


@pytest.mark.parametrize("size", [(4, 4), (7, 7), (9, 13)])
def test_the_mean_of_a_whole_plane_has_the_bits_of_eager_mode(size):
    """It is no product: its sum goes by the tree of all sums."""
    ingot.manual_seed(5)
    same = nn.Conv2d(20, 20, 5, padding=2, bias=False)
    with ingot.no_grad():
        same.weight.zero_()
        same.weight[range(20), range(20), 2, 2] = 1.0
        x = ingot.randn(2, 20, *size)
        traced = jit.trace(lambda x: nn.functional.adaptive_avg_pool2d(same(x), 1))
        want = nn.functional.adaptive_avg_pool2d(x, 1)
        for _ in range(3):
            assert ingot.equal(traced(x), want)
        assert ops.conv_blocked in graph_ops(traced)
