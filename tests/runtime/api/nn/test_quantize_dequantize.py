"""Fake quantisation: against the definition, gradients, traces, sizes, errors."""

import numpy as np
import pytest

import ingot
from ingot import jit

HARD = [-3.0, -1.26, -0.5, 0.25, 0.5, 0.75, 1.5, 2.49, 100.0, float("nan"), float("inf"), float("-inf")]
# PyTorch's results for steps of 0.5 from -4 to 3 about 1.
BACK = [-2.5, -1.5, -0.5, 0.0, 0.5, 1.0, 1.0, 1.0, 1.0, -2.5, 1.0, -2.5]
SLOPES = [0, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0]

per_tensor, per_channel = ingot.fake_quantize_per_tensor_affine, ingot.fake_quantize_per_channel_affine


def normal(*shape, dtype="float32"):
    return ingot.tensor(np.random.default_rng(0).standard_normal(shape) * 2, dtype=getattr(ingot, dtype))


def one(value, dtype=ingot.float32):
    return ingot.tensor(value, dtype=dtype)


def defined(x, scale, zero, low, high):
    """Compute in float32, or in x's float64, with a scale rounded to float32."""
    wide = x.astype(np.result_type(x, np.float32))
    scale = np.asarray(scale, np.float32)
    step = np.clip(np.round(wide * (np.float32(1) / scale)) + zero, low, high)
    return ((step - zero) * scale).astype(x.dtype)


@pytest.mark.parametrize("scale, zero", [(0.5, 1), (one(0.5), one(1, ingot.int32)), (one([0.5]), one(1.0))])
def test_hard_values(scale, zero):
    x = ingot.tensor(HARD, requires_grad=True)
    y = per_tensor(x, scale, zero, -4, 3)
    assert y.tolist() == BACK
    y.sum().backward()
    assert x.grad.tolist() == SLOPES


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("low, high, scale, zero", [(-128, 127, 0.02, 3), (0, 255, 0.013, 128), (-8, 7, 0.3, 0), (0, 0, 1, 0)])
def test_the_definition(dtype, low, high, scale, zero):
    x = normal(7, 300, dtype=dtype)
    want = defined(x.numpy(), scale, zero, low, high)
    for call in (per_tensor, jit.trace(per_tensor)):
        for _ in range(2):      # the second time large arrays have a kernel
            got = call(x, scale, zero, low, high)
            assert got.dtype is x.dtype and got.numpy().tobytes() == want.tobytes()


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("zeros", [ingot.int32, ingot.float32])
def test_channels(axis, zeros):
    x = normal(3, 4, 5).requires_grad_()
    n = x.shape[axis]
    scale, zero = ingot.arange(1.0, n + 1) / 8, ingot.arange(n).to(zeros)
    y = per_channel(x, scale, zero, axis, -8, 7)
    y.square().sum().backward()
    for i in range(n):
        part = x.detach().select(axis, i).requires_grad_()
        want = per_tensor(part, scale[i], zero[i], -8, 7)
        want.square().sum().backward()
        assert y.select(axis, i).tolist() == want.tolist() and x.grad.select(axis, i).tolist() == part.grad.tolist()


def test_training_with_steps_is_one_recording():
    """Train a layer with quantised weights and inputs, whose scale follows observations."""
    def make():
        ingot.manual_seed(0)
        layer, seen = ingot.nn.Linear(6, 4), ingot.ones(())
        opt = ingot.optim.SGD(layer.parameters(), lr=0.1)

        def step(x):
            seen.mul_(0.9).add_(x.abs().amax() * 0.1)
            inputs = per_tensor(x, seen / 127, one(0, ingot.int32), -128, 127)
            scale = layer.weight.detach().abs().amax(1) / 127
            weight = per_channel(layer.weight, scale, ingot.zeros(4, dtype=ingot.int32), 0, -128, 127)
            loss = ingot.nn.functional.linear(inputs, weight, layer.bias).square().mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            return loss

        return step

    eager, traced = make(), jit.trace(make())
    for i in range(6):
        x = normal(8, 6) * (i + 1)
        assert eager(x).tolist() == traced(x).tolist()
    assert traced.stats()["compiles"] <= 2


def test_samples_and_scales_that_are_numbers():
    x, scales = normal(4, 6), [0.1, 0.2, 0.35, 0.7, 0.9]
    assert ingot.vmap(lambda v: per_tensor(v, 0.25, 0, -4, 3))(x).tolist() == per_tensor(x, 0.25, 0, -4, 3).tolist()
    traced = jit.trace(lambda x, s: per_tensor(x, s, 0, -8, 7))
    for s in scales:
        assert traced(x, s).tolist() == per_tensor(x, s, 0, -8, 7).tolist()
    assert traced.stats()["compiles"] <= 3


def test_a_model_in_a_file(tmp_path):
    x = normal(2, 3)
    jit.export(lambda x: per_tensor(x, 0.5, 1, -4, 3), (x,), tmp_path / "steps.ingot")
    assert jit.load(tmp_path / "steps.ingot")(x).tolist() == per_tensor(x, 0.5, 1, -4, 3).tolist()


@pytest.mark.parametrize("call, words", [
    (lambda x: per_tensor(x, 0.5, 10, -4, 3), "between quant_min and quant_max"),
    (lambda x: per_tensor(x, 0.5, 1, 4, 3), "at most quant_max"),
    (lambda x: per_tensor(x.long(), 0.5, 1, -4, 3), "floating point numbers"),
    (lambda x: per_tensor(x, ingot.ones(2), 1, -4, 3), "see fake_quantize_per_channel_affine"),
    (lambda x: per_channel(x, ingot.ones(2), ingot.zeros(3, dtype=ingot.int32), 0, -4, 3), r"shape \[2\]"),
    (lambda x: per_channel(x, ingot.ones(2), ingot.zeros(2, dtype=ingot.int64), 0, -4, 3), "int32"),
    (lambda x: per_channel(x, ingot.ones(2), ingot.zeros(2), 2, -4, 3), "dim"),
])
def test_wrong_arguments_raise(call, words):
    with pytest.raises(ingot.IngotError, match=words):
        call(normal(2, 3))
