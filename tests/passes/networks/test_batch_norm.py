"""Batch norm folded into convolutions, and cached weights: never older than the weights themselves."""

import numpy as np
import pytest

import ingot
from graph_interpreter import interpret
from graphs import check_untouched, graph_of
from ingot import jit, nn
from ingot.ir.graph.verify import verify
from ingot.ir.ops.nn.norm import batch_norm, batch_norm_relu_grad, batch_norm_relu_train
from ingot.passes.networks.batch_norm import fold_batch_norm, fuse_batch_norm

TEXT = """
    graph g(%x: f64[2,3,6,6], %w: f64[4,3,3,3], %c: f64[4], %g: f64[4], %b: f64[4], %m: f64[4], %v: f64[4]) {{
      %0: f64[2,4,6,6] = conv(%x, %w, {c}, dilation=(1, 1), groups=1, padding=((1, 1), (1, 1)), stride=(1, 1))
      %1: f64[2,4,6,6] = batch_norm(%0, {g}, {b}, %m, %v, eps=0.001)
      return {out}
    }}"""


@pytest.mark.parametrize("c", ["%c", "None"])
@pytest.mark.parametrize("g, b", [("%g", "%b"), ("None", "None"), ("None", "%b"), ("%g", "None")])
def test_the_fold_means_the_same(c, g, b):
    before = graph_of(TEXT.format(c=c, g=g, b=b, out="%1"))
    after = verify(fold_batch_norm(before))
    assert not any(n.op is batch_norm for n in after.nodes)
    assert fold_batch_norm(after) is after
    rng = np.random.default_rng(3)
    arrays = [rng.uniform(0.2, 1.2, v.shape) for v in before.inputs]
    for a, y in zip(interpret(before, arrays).outputs, interpret(after, arrays).outputs, strict=True):
        np.testing.assert_allclose(a, y, rtol=1e-12)


def test_values_with_other_readers_are_not_folded():
    check_untouched(fold_batch_norm, TEXT.format(c="%c", g="%g", b="%b", out="%1, %0"))


def network():
    ingot.manual_seed(5)
    net = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 8, 3), nn.BatchNorm2d(8))
    net.train()
    for _ in range(3):
        net(ingot.randn(4, 3, 8, 8))
    return net.eval()


def write_in_place(net):
    with ingot.no_grad():
        net[0].weight.mul_(1.5)


def write_a_part(net):
    with ingot.no_grad():
        net[0].weight[2, 1] = 3.0


def write_a_statistic(net):
    with ingot.no_grad():
        net[1].running_var.add_(1.0)


def load_weights(net):
    net.load_state_dict({k: v + 0.25 if v.dtype.is_floating_point else v for k, v in net.state_dict().items()})


def replace_a_parameter(net):
    net[3].weight = nn.Parameter(ingot.randn(8, 16, 3, 3))


def give_it_other_data(net):
    net[3].weight.data = ingot.randn(8, 16, 3, 3)


def train_a_step(net):
    net.train()
    optimizer = ingot.optim.SGD(net.parameters(), 0.1)
    net(ingot.randn(4, 3, 8, 8)).square().mean().backward()
    optimizer.step()
    net.eval()


def train_in_a_trace(net):
    optimizer = ingot.optim.Adam(net.parameters(), 0.1)

    @jit.trace
    def step(x):
        optimizer.zero_grad()
        net(x).square().mean().backward()
        optimizer.step()

    net.train()
    for _ in range(3):
        step(ingot.randn(4, 3, 8, 8))
    net.eval()


def write_through_numpy(net):
    net[0].weight.detach().numpy()[...] *= -1.0


def write_through_an_old_array(net):
    net.kept_array[...] = 0.125


CHANGES = (write_in_place, write_a_part, write_a_statistic, load_weights, replace_a_parameter, give_it_other_data, train_a_step,
           train_in_a_trace, write_through_numpy, write_through_an_old_array)


@pytest.mark.parametrize("change", CHANGES, ids=lambda f: f.__name__)
def test_no_weight_is_stale(change):
    net = network()
    net.kept_array = net[0].weight.detach().numpy()
    traced, x = jit.trace(net), ingot.randn(2, 3, 9, 9)
    with ingot.no_grad():
        for _ in range(3):
            traced(x)
        before = traced(x).numpy().copy()
    change(net)
    with ingot.no_grad():
        want = net(x).numpy()
        got = [traced(x).numpy() for _ in range(3)]
    assert np.abs(want - before).max() > 1e-3, "the change must change something"
    for a in got:
        assert np.abs(a - want).max() <= 1e-4 * max(1, np.abs(want).max())


def test_derived_values_are_made_once(monkeypatch):
    net = network()
    traced, x = jit.trace(net), ingot.randn(2, 3, 9, 9)
    with ingot.no_grad():
        for _ in range(2):
            traced(x)
    derived, = [job.derived for job in traced._jobs()]
    made = derived.arrays()
    assert all(a is b for a, b in zip(made, derived.arrays(), strict=True))
    write_in_place(net)
    assert not any(a is b for a, b in zip(made, derived.arrays(), strict=True))


FUSED_TEXT = """
    graph g(%x: f64[3,4,5,5], %w: f64[4], %b: f64[4], %g: f64[3,4,5,5], %z: f64[4]) {
      %0: f64[3,4,5,5], %1: f64[4], %2: f64[4] = batch_norm_train(%x, %w, %b, eps=0.001)
      %3: f64[3,4,5,5] = relu(%0)
      %4: bool[3,4,5,5] = le(%3, 0.0)
      %5: f64[3,4,5,5] = where(%4, 0.0, %g)
      %6: f64[3,4,5,5], %7: f64[4], %8: f64[4] = batch_norm_grad(%5, %z, %z, %x, %w, %1, %2, eps=0.001)
      return RESULTS
    }"""


def test_norms_and_gradients_fuse_with_relu_and_mean_the_same():
    before = graph_of(FUSED_TEXT.replace("RESULTS", "%3, %1, %2, %6, %7, %8"))
    after = verify(fuse_batch_norm(before))
    assert [n.op for n in after.nodes] == [batch_norm_relu_train, batch_norm_relu_grad]
    assert fuse_batch_norm(after) is after
    rng = np.random.default_rng(2)
    arrays = [rng.standard_normal(v.shape) for v in before.inputs]
    for a, b in zip(interpret(before, arrays).outputs, interpret(after, arrays).outputs, strict=True):
        assert (a == b).all()


def test_values_with_other_readers_are_not_fused():
    check_untouched(fuse_batch_norm, FUSED_TEXT.replace("RESULTS", "%3, %0, %6, %5"))


@pytest.mark.parametrize("shape", [(4, 3, 9, 9), (2, 17, 5), (8, 5, 2, 3), (1, 6, 4, 4, 4), (16, 7)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("special", [0.0, float("nan")])
def test_traced_training_has_the_bits_of_eager_training(shape, dtype, special):
    kind = {2: nn.BatchNorm1d, 3: nn.BatchNorm1d, 4: nn.BatchNorm2d, 5: nn.BatchNorm3d}[len(shape)]
    rng = np.random.default_rng(len(shape))
    a = rng.standard_normal(shape).astype(dtype)
    a.flat[3] = special
    weights = rng.standard_normal(shape).astype(dtype)

    def run(wrap):
        norm = kind(shape[1]).to(getattr(ingot, dtype))
        with ingot.no_grad():
            norm.bias.fill_(0.25)
        x = ingot.tensor(a).requires_grad_()

        def step(x, g):
            y = norm(x).relu()
            y.backward(g)
            return y.detach()

        step, found = wrap(step), []
        for _ in range(3):
            x.grad = norm.weight.grad = norm.bias.grad = None
            y = step(x, ingot.tensor(weights))
            found += [y, x.grad, norm.weight.grad, norm.bias.grad, norm.running_mean.clone(), norm.running_var.clone()]
        return step, [np.array(t.detach()) for t in found]

    traced, got = run(jit.trace)
    _, want = run(lambda f: f)
    assert any(n.op is batch_norm_relu_grad for job in traced._jobs() for n in job.steps[-1].graph.nodes)
    for i, (g, w) in enumerate(zip(got, want, strict=True)):
        assert np.array_equal(g, w, equal_nan=True), f"result {i} of {shape} {dtype}: {np.abs(g - w).max()}"
