"""Names that older programs rely on: windows, elements through Python functions, Cholesky solutions, and low precision sums."""

import numpy as np
import pytest

import ingot
from ingot import nn

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("name, reference", [("hann_window", np.hanning), ("hamming_window", np.hamming),
                                             ("bartlett_window", np.bartlett), ("blackman_window", np.blackman),
                                             ("kaiser_window", lambda n: np.kaiser(n, 12.0))])
@pytest.mark.parametrize("length", [0, 1, 2, 9])
def test_windows(name, reference, length):
    make = getattr(ingot, name)
    np.testing.assert_allclose(make(length, periodic=False).numpy(), reference(length), atol=1e-7)
    periodic = make(length, dtype=ingot.float64)
    assert periodic.dtype is ingot.float64
    np.testing.assert_allclose(periodic.numpy(), reference(length + 1)[:length] if length > 1 else np.ones(length), atol=1e-12)
    with pytest.raises(TypeError, match=name):
        make(4, dtype=ingot.int64)


def test_elements_go_through_python_functions():
    x = ingot.arange(6.0).reshape(2, 3)
    assert x.apply_(lambda v: 2 * v) is x
    x.map_(ingot.tensor([1.0, 2.0, 3.0]), lambda a, b: a + b)
    x.map2_(x.clone(), ingot.tensor(1.0), lambda a, b, c: a * b - c)
    np.testing.assert_array_equal(x.numpy(), (np.arange(6.0).reshape(2, 3) * 2 + [1, 2, 3]) ** 2 - 1)
    with pytest.raises(RuntimeError, match="detach"):
        ingot.ones(2, requires_grad=True).apply_(abs)
    with pytest.raises(RuntimeError):
        ingot.ones(2).map_(ingot.ones(3), max)


def test_new_takes_sizes_or_values():
    x = ingot.ones(2, dtype=ingot.float64)
    assert x.new(3, 4).shape == (3, 4) and x.new(ingot.ones(2, 5).shape).shape == (2, 5)
    assert x.new([1, 2]).tolist() == [1.0, 2.0] and x.new([1, 2]).dtype is ingot.float64


def test_inference_tensors_are_ordinary():
    with ingot.inference_mode():
        y = ingot.ones(2) * 2
    assert not y.is_inference() and not ingot.is_inference(y)
    (ingot.ones(2, requires_grad=True) * y).sum().backward()


@pytest.mark.parametrize("upper", [False, True])
def test_cholesky_factors_solve(upper):
    a = RNG.standard_normal((2, 4, 4))
    a = a @ a.swapaxes(-1, -2) + np.eye(4)
    b = RNG.standard_normal((2, 4, 3))
    factor = ingot.linalg.cholesky(ingot.tensor(a), upper=upper)
    np.testing.assert_allclose(ingot.cholesky_solve(ingot.tensor(b), factor, upper).numpy(), np.linalg.solve(a, b), rtol=1e-8)
    np.testing.assert_allclose(factor.cholesky_inverse(upper).numpy(), np.linalg.inv(a), rtol=1e-8)


def test_tensor_equations_and_powers():
    a = RNG.standard_normal((4, 6, 8, 3))
    np.testing.assert_allclose(ingot.linalg.tensorinv(ingot.tensor(a)).numpy(), np.linalg.tensorinv(a), rtol=1e-6)
    a, b = RNG.standard_normal((4, 3, 6, 2)), RNG.standard_normal((4, 3))
    np.testing.assert_allclose(ingot.linalg.tensorsolve(ingot.tensor(a), ingot.tensor(b)).numpy(), np.linalg.tensorsolve(a, b),
                               rtol=1e-6)
    moved = np.moveaxis(a, 3, 0)
    np.testing.assert_allclose(ingot.linalg.tensorsolve(ingot.tensor(moved), ingot.tensor(b), dims=(0,)).numpy(),
                               np.linalg.tensorsolve(moved, b, axes=(0,)), rtol=1e-6)
    x = RNG.standard_normal((2, 3))
    np.testing.assert_allclose(ingot.linalg.vander(ingot.tensor(x), 5).numpy(), x[..., None] ** np.arange(5), rtol=1e-12)
    np.testing.assert_allclose(ingot.nuclear_norm(ingot.tensor(x)).item(), np.linalg.norm(x, "nuc"))
    np.testing.assert_allclose(ingot.frobenius_norm(ingot.tensor(x), [1]).numpy(), np.linalg.norm(x, axis=1))
    for wrong in (lambda: ingot.linalg.tensorinv(ingot.ones(2, 3)),
                  lambda: ingot.linalg.tensorsolve(ingot.ones(2, 3), ingot.ones(2))):
        with pytest.raises(ValueError, match="tensor"):
            wrong()


SUMS = {"addmm": ((32, 40), (32, 50), (50, 40)), "baddbmm": ((3, 32, 40), (3, 32, 50), (3, 50, 40)),
        "addbmm": ((32, 40), (3, 32, 50), (3, 50, 40)), "addmv": ((32,), (32, 50), (50,))}


@pytest.mark.parametrize("kind", ["bfloat16", "float16"])
@pytest.mark.parametrize("name", SUMS)
def test_sums_of_products_in_low_precision_are_rounded_once(name, kind):
    dtype = getattr(ingot, kind)
    xs = [ingot.tensor(np.random.default_rng(i).standard_normal(s)).to(dtype) for i, s in enumerate(SUMS[name])]
    got = getattr(ingot, name)(*xs, beta=0.7, alpha=1.3)
    exact = getattr(ingot, name)(*[x.to(ingot.float64) for x in xs], beta=0.7, alpha=1.3)
    assert got.dtype is dtype
    unit = {"bfloat16": 2.0 ** -8, "float16": 2.0 ** -11}[kind]
    error = (got.to(ingot.float64) - exact).abs() / exact.abs().clamp(min=1e-2)
    assert float(error.max()) <= unit * 1.01 + 1e-4


@pytest.mark.parametrize("kind", ["bfloat16", "float16"])
def test_linear_cross_entropy_rounds_its_gradients_once(kind):
    dtype = getattr(ingot, kind)
    rng = np.random.default_rng(1)
    given = [ingot.tensor(v).to(dtype) for v in (rng.standard_normal((64, 32)), rng.standard_normal((50, 32)) / 4)]
    target = ingot.tensor(rng.integers(0, 50, 64))

    def gradients(wide):
        leaves = [x.to(wide).clone().requires_grad_() for x in given]
        nn.functional.linear_cross_entropy(*leaves, target, reduction="sum").backward()
        return [x.grad.to(ingot.float64).numpy() for x in leaves]

    unit = {"bfloat16": 2.0 ** -8, "float16": 2.0 ** -11}[kind]
    for got, exact in zip(gradients(dtype), gradients(ingot.float64)):
        assert np.all(np.abs(got - exact) <= unit * np.abs(exact) + 2e-5)


def test_linear_cross_entropy_loss_is_a_linear_layer_and_a_loss():
    ingot.manual_seed(0)
    weight = ingot.rand(5)
    loss = nn.LinearCrossEntropyLoss(4, 5, out_features=(3,), bias=True, weight=weight, label_smoothing=0.1, ignore_index=2,
                                     options=nn.LinearCrossEntropyOptions(batch_chunk_size=2))
    x, target = ingot.randn(6, 4), ingot.tensor(RNG.integers(0, 5, (6, 3)))
    logits = loss.linear(x).reshape(6, 5, 3)
    want = nn.functional.cross_entropy(logits, target, weight, ignore_index=2, label_smoothing=0.1)
    assert loss(x, target).item() == pytest.approx(want.item(), rel=1e-6)
    assert list(loss.state_dict()) == ["weight", "linear.weight", "linear.bias"] and "num_classes=5" in repr(loss)
    for wrong in (lambda: nn.LinearCrossEntropyLoss(4, 5, weight=ingot.ones(4)),
                  lambda: nn.LinearCrossEntropyLoss(4, 5, label_smoothing=2),
                  lambda: nn.LinearCrossEntropyOptions(acc_policy="best"),
                  lambda: nn.LinearCrossEntropyOptions(chunking_method="aspect_ratio:0"),
                  lambda: nn.LinearCrossEntropyOptions(batch_chunk_size=0)):
        with pytest.raises(ValueError):
            wrong()
