"""Batch norm and relu in one sweep, forward and backward, with the bits of the two."""

import numpy as np
import pytest

import ingot
from graphs import check_untouched, graph_of
from ingot import jit, nn
from ingot.ir.graph.interp import interpret
from ingot.ir.graph.verify import verify
from ingot.ir.ops.nn.norm import batch_norm_relu_grad, batch_norm_relu_train
from ingot.passes.networks.fuse_batch_norm import fuse_batch_norm

TEXT = """
    graph g(%x: f64[3,4,5,5], %w: f64[4], %b: f64[4], %g: f64[3,4,5,5], %z: f64[4]) {
      %0: f64[3,4,5,5], %1: f64[4], %2: f64[4] = batch_norm_train(%x, %w, %b, eps=0.001)
      %3: f64[3,4,5,5] = relu(%0)
      %4: bool[3,4,5,5] = le(%3, 0.0)
      %5: f64[3,4,5,5] = where(%4, 0.0, %g)
      %6: f64[3,4,5,5], %7: f64[4], %8: f64[4] = batch_norm_grad(%5, %z, %z, %x, %w, %1, %2, eps=0.001)
      return RESULTS
    }"""


def test_both_are_fused_and_mean_the_same():
    before = graph_of(TEXT.replace("RESULTS", "%3, %1, %2, %6, %7, %8"))
    after = verify(fuse_batch_norm(before))
    assert [n.op for n in after.nodes] == [batch_norm_relu_train, batch_norm_relu_grad]
    assert fuse_batch_norm(after) is after
    rng = np.random.default_rng(2)
    arrays = [rng.standard_normal(v.shape) for v in before.inputs]
    for a, b in zip(interpret(before, arrays).outputs, interpret(after, arrays).outputs, strict=True):
        assert (a == b).all()


def test_what_is_read_elsewhere_stays():
    check_untouched(fuse_batch_norm, TEXT.replace("RESULTS", "%3, %0, %6, %5"))


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
