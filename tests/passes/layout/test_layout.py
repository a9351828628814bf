"""Networks in blocked channels give what eager code gives, within the error of contractions."""

import numpy as np
import pytest

import ingot
from conv_programs import RandomNet, images
from graph_interpreter import interpret
from graphs import check_untouched, graph_of
from ingot import jit, nn
from ingot.ir import config, target
from ingot.ir import dtype as dt
from ingot.ir.graph.graph import Builder
from ingot.ir.graph.text import parse
from ingot.ir.graph.verify import verify
from ingot.ir.opdef.aval import Aval
from ingot.ir.ops.core.shape import pad
from ingot.ir.ops.linalg import products
from ingot.ir.ops.nn import conv as conv_ops
from ingot.ir.ops.nn import norm
from ingot.ir.ops.nn import pool as pool_ops
from ingot.ir.ops.packed import blocked as ops
from ingot.ir.ops.packed import blocked_grad as grads
from ingot.ir.target import host
from ingot.nn import functional as F
from ingot.passes.layout.layout import RULES, ConvQuery, layout
from ingot.runtime.core.dispatch import kernel_of
from ingot.runtime.cpu.conv import blocked
from ingot.runtime.cpu.graph.program import CompiledGraph
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


def test_results_are_unblocked_in_the_order_of_outputs():
    """The order must not be that of addresses, which varies between processes."""
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


def test_graphs_without_convolutions_stay():
    check_untouched(lambda g: layout(g, blocked.choose), """
        graph g(%x: f32[2,32,4,4]) {
          %0: f32[2,32,4,4] = relu(%x)
          return %0
        }""")


def test_convolutions_without_a_kernel_stay():
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


@pytest.mark.parametrize("kind", BESIDE)
def test_values_of_few_dimensions_beside_a_convolution(kind):
    net, v = nn.Conv2d(3, 16, 3), ingot.rand(8, requires_grad=True)

    def step(x):
        v.grad = None
        y = net(x).relu().sum() * BESIDE[kind](v)
        y.backward()
        return y, v.grad

    x = ingot.randn(2, 3, 9, 9)
    want, traced = step(x), jit.trace(step)
    for _ in range(3):
        for a, b in zip(traced(x), want):
            close(a, b, kind)


@pytest.mark.parametrize("kind", [ingot.uint8, ingot.int32, ingot.int64, ingot.float16, ingot.bfloat16, ingot.complex64],
                         ids=str)
def test_convolutions_of_other_dtypes_beside_one_of_floats(kind):
    """They are not blocked, though floats of their size may be."""

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
    got = CompiledGraph(g, kernel_of).run(list(arrays))
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


def close_of_gradients(got, want, label, tol):
    scale = max(1e-2, np.abs(want).max())
    assert np.isfinite(got).all() and np.abs(got - want).max() <= tol * scale, \
        f"{label}: off by {np.abs(got - want).max() / scale}"


def gradients_of(net, x, factor):
    """Return the loss of one step, the gradients of the input and of all parameters, and the buffers after it."""
    for p in net.parameters():
        p.grad = None
    x.grad = None
    y = net(x)
    (y * factor).sum().backward()
    return y.detach()


def values_of(net, x, y):
    values = {"result": y, "input": x.grad} | {n: p.grad for n, p in net.named_parameters()} | dict(net.named_buffers())
    return {n: v.numpy().copy() for n, v in values.items() if v is not None}


def both_ways(net, x, runs=3):
    """Return ([(traced, eager)] results of steps from the same buffers, the traced function)."""
    factor = ingot.tensor(np.random.default_rng(5).standard_normal(net(x).shape), dtype=x.dtype)
    start = {n: b.detach().clone() for n, b in net.named_buffers()}

    def reset():
        for n, b in net.named_buffers():
            b.copy_(start[n])

    reset()
    want = values_of(net, x, gradients_of(net, x, factor))
    traced, pairs = jit.trace(lambda x: gradients_of(net, x, factor)), []
    for _ in range(runs):
        reset()
        pairs.append((values_of(net, x, traced(x)), want))
        assert pairs[-1][0].keys() == want.keys()
    return pairs, traced


def check(pairs, label, tol):
    for got, want in pairs:
        for name in want:
            close_of_gradients(got[name], want[name], f"{label} {name}", tol)


def graph_ops_of_gradients(traced):
    return [n.op for job in traced._jobs() if job.steps for n in job.steps[-1].graph.nodes]


@pytest.mark.parametrize("seed, dims, kind", several(3, 12, (1, 2, 3), [(ingot.float32, 2e-3), (ingot.float64, 1e-9)]), ids=str)
def test_steps_of_random_networks_are_as_in_eager_mode(seed, dims, kind):
    dtype, tol = kind
    net = RandomNet(1000 * dims + seed, dims, dtype=dtype).train()
    x = images(net, seed, batch=3, dtype=dtype).requires_grad_()
    check(both_ways(net, x)[0], f"seed {seed}, {dims}d, {dtype}: {net.plan}", tol)


def residual_net(channels=20):
    """Return two residual blocks with strides between, odd channel counts, all kinds of pools."""
    ingot.manual_seed(4)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.stem, self.norm = nn.Conv2d(3, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels)
            self.a, self.norm_a = nn.Conv2d(channels, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels)
            self.down, self.norm_b = nn.Conv2d(channels, 32, 3, stride=2, padding=1), nn.BatchNorm2d(32)
            self.side, self.head = nn.Conv2d(channels, 32, 1, stride=2, bias=False), nn.Linear(32, 5)

        def forward(self, x):
            x = F.max_pool2d(F.relu(self.norm(self.stem(x))), 3, 2, 1)
            x = F.relu(self.norm_a(self.a(x)) + x)
            x = F.relu(self.norm_b(self.down(x)) + self.side(x))
            return self.head(F.adaptive_avg_pool2d(F.avg_pool2d(x, 2, 1), 1).flatten(1))

    return Net()


def test_nothing_is_reordered_between_layers():
    net, x = residual_net(32), ingot.randn(2, 3, 32, 32)
    made = graph_ops_of_gradients(both_ways(net, x)[1])
    assert made.count(ops.conv_blocked) == 4 and made.count(grads.conv_weight_grad_blocked) == 4
    assert made.count(grads.conv_input_grad_blocked) == 3
    for plain in (ops.to_blocked, ops.from_blocked, conv_ops.conv_weight_grad, norm.batch_norm_grad, pool_ops.plane_put):
        assert plain not in made, plain.name
    assert {grads.batch_norm_train_blocked, grads.batch_norm_grad_blocked, grads.max_pool_places_blocked,
            grads.max_pool_grad_blocked, grads.avg_pool_grad_blocked} <= set(made)


@pytest.mark.parametrize("numerics", ["strict", "fast"])
def test_numerics_of_gradients(numerics):
    with config.override(numerics=numerics):
        pairs, traced = both_ways(residual_net(), ingot.randn(2, 3, 30, 26))
        check(pairs, numerics, 1e-3)
        kernels = {n.params["kernel"][0] for job in traced._jobs() if job.steps for n in job.steps[-1].graph.nodes
                   if n.op in (ops.conv_blocked, grads.conv_input_grad_blocked, grads.conv_weight_grad_blocked)}
        assert numerics == "fast" or kernels == {"direct"}


def test_results_do_not_depend_on_threads_of_gradients():
    x, threads = ingot.randn(5, 3, 40, 36).requires_grad_(), ingot.get_num_threads()
    runs = []
    try:
        for count in (1, 2, 3):
            ingot.set_num_threads(count)
            runs.append(both_ways(residual_net(), x, 2)[0][-1][0])
    finally:
        ingot.set_num_threads(threads)
    for other in runs[1:]:
        for name, value in runs[0].items():
            assert (other[name] == value).all(), name


def test_graphs_mean_the_same_before_and_after_of_gradients():
    for net, x in ((residual_net(), ingot.randn(2, 3, 16, 16)), (RandomNet(7), None), (RandomNet(1001), None)):
        x = images(net, 3, batch=3) if x is None else x
        _, traced = both_ways(net.train(), x.requires_grad_(), 2)
        for job in [job for job in traced._jobs() if job.steps]:
            before = next(s.graph for s in reversed(job.steps) if s.name == "fuse_batch_norm")
            after = verify(layout(before, blocked.choose))
            rng = np.random.default_rng(2)
            arrays = [rng.uniform(0.1, 1, v.shape).astype(v.dtype.np) if v.dtype.is_floating_point
                      else np.ones(v.shape, v.dtype.np) for v in before.inputs]
            for got, want in zip(interpret(after, arrays).outputs, interpret(before, arrays).outputs, strict=True):
                got, want = np.asarray(got), np.asarray(want)
                assert np.abs(got - want).max(initial=0) <= 1e-3 * max(1, np.abs(want).max(initial=0))


# The operators by themselves: native code against the reference, or against the plain kernel.


def native(op, *arrays, **params):
    """Return the results of a graph of one node, which must be native code."""
    b = Builder("g")
    values = [None if a is None else b.input(f"x{i}", Aval(a.shape, dt.BY_NP[a.dtype])) for i, a in enumerate(arrays)]
    made = b.call(op, *values, **params)
    program = CompiledGraph(b.finish(made if type(made) is tuple else [made]), kernel_of)
    assert program.is_native, op.name
    got = program.run([a for a in arrays if a is not None])
    called = kernel_of(op)(*arrays, **params)
    for a, c in zip(got, called if type(called) is tuple else (called,), strict=True):
        same = np.array_equal(a, c, equal_nan=a.dtype.kind == "f")
        assert same or op is grads.pack_turned, f"{op.name}: native steps and the called kernel differ"
    return got


def plain(x, channels):
    return ops.from_blocked.ref(x, channels=channels)


def to(x):
    return ops.to_blocked.ref(x, lanes=host().lanes(x.dtype.itemsize))


@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(3, 21, 5, 7), (1, 16, 3), (2, 5, 67, 65), (4, 40, 16), (2, 17, 4, 4, 3), (3, 33, 9, 9),
                                   (5, 18, 3, 3), (700, 3, 1, 3), (9, 16, 2)])
def test_batch_norm_has_the_bits_of_the_plain_kernel(shape, dtype, relu):
    rng = np.random.default_rng([*shape, relu])
    x, g, c = rng.standard_normal(shape).astype(dtype) * 3 + 40, rng.standard_normal(shape).astype(dtype), shape[1]
    w, b, g_mean, g_var = (rng.standard_normal(c).astype(dtype) for _ in range(4))
    train, grad = ((norm.batch_norm_relu_train, norm.batch_norm_relu_grad) if relu else
                   (norm.batch_norm_train, norm.batch_norm_grad))
    for weight, bias in ((w, b), (None, None)):
        y, mean, var = kernel_of(train)(x, weight, bias, eps=1e-5)
        got = native(grads.batch_norm_train_blocked, to(x), weight, bias, eps=1e-5, channels=c, relu=relu)
        for a, z in zip((plain(got[0], c), *got[1:]), (y, mean, var)):
            assert (a == z).all(), f"{shape} {dtype}: off by {np.abs(a - z).max()}"
        want = kernel_of(grad)(g, *([y] if relu else []), g_mean, g_var, x, weight, mean, var, eps=1e-5)
        got = native(grads.batch_norm_grad_blocked, to(g), to(y) if relu else None, g_mean, g_var, to(x), weight, mean, var,
                     eps=1e-5, channels=c, relu=relu)
        for a, z in zip((plain(got[0], c), *got[1:]), want):
            assert (a == z).all(), f"{shape} {dtype}: gradients off by {np.abs(a - z).max()}"


def pool_case(rng, dims):
    kernel = tuple(int(n) for n in rng.integers(1, 4, dims))
    stride = tuple(int(n) for n in rng.integers(1, 4, dims))
    padding = tuple([(int(rng.integers(0, k // 2 + 1)),) * 2 for k in kernel])
    sizes = tuple(int(n) for n in rng.integers(6, 12, dims))
    return sizes, {"kernel": kernel, "stride": stride, "padding": padding}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("seed", range(12))
def test_pools_have_the_bits_of_the_plain_kernels(seed, dtype):
    rng = np.random.default_rng(seed)
    sizes, window = pool_case(rng, 1 + seed % 3)
    c = int(rng.choice([3, 16, 21]))
    x = rng.integers(-3, 4, (2, c, *sizes)).astype(dtype)      # many equal values
    if seed % 2:
        x[0, 1] = np.nan
        x[1, 0] = -np.inf
    window["dilation"] = (1 + seed % 2,) * len(sizes)
    best, indices = kernel_of(pool_ops.max_pool)(x, **window)
    made, at = native(grads.max_pool_places_blocked, to(x), **window)
    assert at.dtype == np.int32 and (plain(at, c) == indices).all()
    assert np.array_equal(plain(made, c), best, equal_nan=True)
    g = rng.standard_normal(best.shape).astype(dtype)
    want = kernel_of(pool_ops.plane_put)(g, indices, size=sizes, accumulate=True)
    got, = native(grads.max_pool_grad_blocked, to(g), at, size=sizes, **window)
    assert (plain(got, c) == want).all()
    del window["dilation"]
    window |= {"counted": tuple([(0, 0) if seed % 3 else pair for pair in window["padding"]]),
               "divisor": 3 if seed % 4 == 0 else None}
    g = rng.standard_normal(kernel_of(pool_ops.avg_pool)(x, **window).shape).astype(dtype)
    want = kernel_of(pool_ops.avg_pool_grad)(g, size=sizes, **window)
    got, = native(grads.avg_pool_grad_blocked, to(g), size=sizes, **window)
    assert (plain(got, c) == want).all(), f"seed {seed} {window}"


def conv_case(rng, dims, is_small=False):
    """Return (filters, spatial size, window) of a convolution that has results. The sizes of small ones are at most 3, so that
    strides leave some of their taps out: no pixel of an input of size 1 reads the second tap of stride 2."""
    groups = int(rng.choice([1, 1, 1, 2, 32, 5]))
    i, o = int(rng.choice([1, 3, 16, 21, 40])), int(rng.choice([2, 16, 24, 33]))
    i, o = {2: (32, 16), 32: (1, 1), 5: (1, 1)}.get(groups, (i, o))
    kernel = tuple(int(n) for n in rng.choice([1, 3, 3, 4], dims))
    window = {"stride": tuple(int(n) for n in rng.choice([1, 1, 2, 3], dims)),
              "dilation": tuple(int(n) for n in rng.choice([1, 1, 2], dims)), "groups": groups,
              "padding": tuple([(int(rng.integers(0, 3)), int(rng.integers(0, 3))) for _ in range(dims)])}
    if is_small:
        size = tuple(int(rng.integers(max(1, d * (k - 1) + 1 - low - high), max(4, d * (k - 1) + 2 - low - high)))
                     for k, d, (low, high) in zip(kernel, window["dilation"], window["padding"]))
    else:
        size = tuple(int(rng.integers(7, 13)) if dims < 3 else int(rng.integers(7, 9)) for _ in range(dims))
    return (o * groups, i, *kernel), size, window


@pytest.mark.parametrize("dtype, tol", [(np.float32, 2e-4), (np.float64, 1e-12)])
@pytest.mark.parametrize("is_small", [False, True], ids=["large", "small"])
@pytest.mark.parametrize("seed", range(30))
def test_gradients_of_convolutions(seed, is_small, dtype, tol):
    rng = np.random.default_rng(seed)
    filters, size, window = conv_case(rng, 1 + seed % 3, is_small)
    x = rng.standard_normal((2, filters[1] * window["groups"], *size)).astype(dtype)
    w = rng.standard_normal(filters).astype(dtype)
    g = rng.standard_normal(conv_ops.conv.ref(x, w, None, **window).shape).astype(dtype)
    item, label = dtype().itemsize, f"seed {seed}: {filters} over {size}, {window}"

    def chosen(op, images, params):
        kind = dt.BY_NP[np.dtype(dtype)]
        return blocked.choose(ConvQuery(Aval(images.shape, kind), Aval(filters, kind), params, True, True, False, op))

    kernel, elements, lanes, transformed = chosen(conv_ops.conv_input_grad, g, window | {"size": size})
    assert lanes == host().lanes(item)
    packed, = native(grads.pack_turned, w, size=size, kernel=kernel, elements=elements, **window)
    originals = [w.reshape(-1)] * transformed
    got, = native(grads.conv_input_grad_blocked, to(g), packed, *originals, filters=filters, size=size, lanes=lanes,
                  kernel=kernel, epilogue=(), taps=len(originals), **window)
    want = conv_ops.conv_input_grad.ref(g, w, size=size, **window)
    close_of_gradients(plain(got, x.shape[1]), want, label, tol)
    for in_blocks in (True, False):
        kernel, _, lanes, _ = chosen(conv_ops.conv_weight_grad, x, window | {"size": filters[2:]})
        got, = native(grads.conv_weight_grad_blocked, to(x) if in_blocks else x, to(g), filters=filters, lanes=lanes,
                      in_blocks=in_blocks, kernel=kernel, **window)
        close_of_gradients(got, conv_ops.conv_weight_grad.ref(x, g, size=filters[2:], **window), label, tol)


def test_transposed_convolutions_run_in_blocks():
    ingot.manual_seed(0)
    net = nn.Sequential(nn.ConvTranspose2d(24, 32, 4, 2, 1), nn.BatchNorm2d(32), nn.ReLU(), nn.ConvTranspose2d(32, 16, 3, 1, 1),
                        nn.Tanh(), nn.Conv2d(16, 3, 3, padding=1))
    x = ingot.randn(2, 24, 6, 6).requires_grad_()
    pairs, traced = both_ways(net.train(), x)
    check(pairs, "trained", 1e-3)
    made = graph_ops_of_gradients(traced)
    assert made.count(grads.conv_input_grad_blocked) == 3 and conv_ops.conv_input_grad not in made
    net.eval()
    traced = jit.trace(net)
    with ingot.no_grad():
        want = net(x).numpy()
        for _ in range(3):
            close_of_gradients(traced(x).numpy(), want, "evaluated", 1e-4)
    last = [n.params["epilogue"][-1][0] for job in traced._jobs() if job.steps for n in job.steps[-1].graph.nodes
            if n.op is grads.conv_input_grad_blocked]
    assert last == ["relu", "add"]


def test_partial_blocks_stay_plain():
    net = nn.Sequential(nn.Conv2d(6, 12, 3, groups=2), nn.ReLU(), nn.Conv2d(12, 6, 3, groups=3)).train()
    pairs, traced = both_ways(net, ingot.randn(2, 6, 9, 9).requires_grad_())
    check(pairs, "groups", 1e-4)
    assert not grads.OPERATORS & set(graph_ops_of_gradients(traced))


def test_masks_and_indices_that_are_results():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(3, 20, 3)

        def forward(self, x):
            y, indices = F.max_pool2d(F.dropout(self.conv(x), 0.0), 2, return_indices=True)
            return ingot.where(indices % 2 == 0, y, 0.0) * 1.0

    check(both_ways(Net().train(), ingot.randn(2, 3, 11, 12).requires_grad_())[0], "places", 1e-4)


def test_joins_and_slices_of_channels():
    ingot.manual_seed(1)
    a, b = nn.Conv2d(3, 32, 3, padding=1), nn.Conv2d(3, 16, 1)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b, self.c = a, b, nn.Conv2d(64, 8, 3)

        def forward(self, x):
            y = self.a(x)
            return self.c(ingot.cat([y[:, 16:], self.b(x), y.relu()], 1)[:, :, 1:])

    pairs, traced = both_ways(Net(), ingot.randn(2, 3, 9, 8).requires_grad_())
    check(pairs, "joined", 1e-4)
    made = [n for job in traced._jobs() if job.steps for n in job.steps[-1].graph.nodes]
    assert not any(n.op is ops.to_blocked and type(n.inputs[0].node) is type(n) and n.inputs[0].node.op is pad for n in made)
    assert sum(n.op is ops.from_blocked for n in made) == 2      # what is returned


def test_rules_are_for_records():
    assert conv_ops.conv_input_grad in RULES and norm.batch_norm_train in RULES
