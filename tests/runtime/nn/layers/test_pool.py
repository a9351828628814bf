"""Pools against their definition, edge cases, and PyTorch."""

import inspect
import itertools
import pickle

import numpy as np
import pytest

import ingot
from ingot import nn
from ingot.nn import functional as F
from torch_modules import agree, pair

RNG = np.random.default_rng(5)
MAX = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}


def windows(sizes, kernel, stride, padding, dilation):
    counts = [(n + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1 for n in sizes]
    for place in itertools.product(*map(range, counts)):
        spans = [[p * stride - padding + t * dilation for t in range(kernel)] for p in place]
        yield place, [[i for i in span if 0 <= i < n] for span, n in zip(spans, sizes)]


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_functions_of_each_rank_have_names_and_signatures(rank):
    for name in ("max_pool{}d", "max_pool{}d_with_indices", "adaptive_max_pool{}d", "lp_pool{}d", "max_unpool{}d"):
        function = getattr(F, name.format(rank))
        assert function.__name__ == name.format(rank) and function.__doc__ and pickle.loads(pickle.dumps(function)) is function
    parameters = inspect.signature(MAX[rank]).parameters
    assert list(parameters) == ["input", "kernel_size", "stride", "padding", "dilation", "ceil_mode", "return_indices"]


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("kernel, stride, padding, dilation", [(2, 2, 0, 1), (3, 2, 1, 1), (2, 1, 1, 2), (3, 3, 0, 1)])
def test_max_pool_is_its_definition(rank, kernel, stride, padding, dilation):
    x = RNG.standard_normal((2, 2, *(7, 6, 5)[:rank]))
    values, indices = MAX[rank](ingot.tensor(x), kernel, stride, padding, dilation, return_indices=True)
    for place, spans in windows(x.shape[2:], kernel, stride, padding, dilation):
        block = x[(slice(None), slice(None), *np.ix_(*spans))].reshape(2, 2, -1)
        np.testing.assert_array_equal(values.numpy()[(..., *place)], block.max(-1))
    taken = np.take_along_axis(x.reshape(2, 2, -1), indices.numpy().reshape(2, 2, -1), 2)
    np.testing.assert_array_equal(taken.reshape(values.shape), values.numpy())


@pytest.mark.parametrize("include", [True, False])
@pytest.mark.parametrize("kernel, stride, padding", [(2, 2, 0), (3, 2, 1), (4, 1, 2)])
def test_avg_pool_is_its_definition(include, kernel, stride, padding):
    x = RNG.standard_normal((2, 2, 7, 6))
    got = F.avg_pool2d(ingot.tensor(x), kernel, stride, padding, count_include_pad=include).numpy()
    for place, spans in windows(x.shape[2:], kernel, stride, padding, 1):
        block = x[(slice(None), slice(None), *np.ix_(*spans))].reshape(2, 2, -1)
        size = kernel * kernel if include else block.shape[-1]
        np.testing.assert_allclose(got[(..., *place)], block.sum(-1) / size, atol=1e-12)


def test_first_of_equals_wins_and_takes_the_gradient():
    x = ingot.zeros(1, 1, 4, requires_grad=True)
    values, indices = F.max_pool1d(x, 2, return_indices=True)
    values.sum().backward()
    assert indices.tolist() == [[[0, 2]]]
    assert x.grad.tolist() == [[[1, 0, 1, 0]]]


def test_nan_wins_and_padding_never_does():
    x = ingot.tensor([[[float("nan"), 1.0, -float("inf"), -float("inf")]]])
    values = F.max_pool1d(x, 2)
    assert np.isnan(values.numpy()[0, 0, 0]) and values.numpy()[0, 0, 1] == -np.inf
    low = ingot.full((1, 1, 2), -float("inf"))
    assert F.max_pool1d(low, 2, 1, 1, return_indices=True)[1].tolist() == [[[0, 0, 1]]]
    assert F.max_pool1d(ingot.tensor([[[-5, -7]]]), 2, 1, 1).tolist() == [[[-5, -5, -7]]]


def test_large_windows_take_the_other_road_to_the_same_result():
    x = RNG.standard_normal((2, 3, 20, 20))
    values, indices = F.max_pool2d(ingot.tensor(x), 10, 5, 2, return_indices=True)
    for place, spans in windows(x.shape[2:], 10, 5, 2, 1):
        np.testing.assert_array_equal(values.numpy()[(..., *place)], x[(slice(None), slice(None), *np.ix_(*spans))].max((2, 3)))
    assert indices.numpy().max() < 400


def test_ceil_mode_adds_only_windows_that_start_inside():
    assert F.max_pool1d(ingot.arange(5.0).reshape(1, 1, 5), 2, 2, ceil_mode=True).tolist() == [[[1, 3, 4]]]
    assert F.avg_pool1d(ingot.arange(5.0).reshape(1, 1, 5), 2, 2, ceil_mode=True).tolist() == [[[0.5, 2.5, 4]]]
    assert F.max_pool1d(ingot.zeros(1, 1, 3), 1, 3, ceil_mode=True).shape == (1, 1, 1)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 7])
def test_adaptive_pools_cover_everything(size):
    x = RNG.standard_normal((2, 3, 7))
    mean = F.adaptive_avg_pool1d(ingot.tensor(x), size).numpy()
    top, where = F.adaptive_max_pool1d(ingot.tensor(x), size, return_indices=True)
    for i in range(size):
        block = x[:, :, i * 7 // size:-(-(i + 1) * 7 // size)]
        np.testing.assert_allclose(mean[:, :, i], block.mean(-1), atol=1e-12)
        np.testing.assert_array_equal(top.numpy()[:, :, i], block.max(-1))
    np.testing.assert_array_equal(np.take_along_axis(x, where.numpy(), 2), top.numpy())


@pytest.mark.parametrize("size", [3, 4, 5, 8])
def test_an_infinite_number_stays_in_its_bins(size):
    x = ingot.arange(8.0, dtype=ingot.float64).reshape(1, 1, 8)
    for at in range(8):
        y = x.clone().requires_grad_()
        y.data[0, 0, at] = np.inf
        mean = F.adaptive_avg_pool1d(y, size)
        want = [y.detach().numpy()[0, 0, i * 8 // size:-(-(i + 1) * 8 // size)] for i in range(size)]
        np.testing.assert_allclose(mean.detach().numpy()[0, 0], [w.mean() for w in want])
        mean[0, 0].backward(ingot.ones(size, dtype=ingot.float64))
        np.testing.assert_allclose(y.grad.sum().item(), size)


def test_unpool_puts_values_back():
    x = ingot.tensor(RNG.standard_normal((2, 3, 6, 4)))
    values, indices = F.max_pool2d(x, 2, return_indices=True)
    back = F.max_unpool2d(values, indices, 2)
    assert back.shape == x.shape and (back != 0).sum().item() == values.numel()
    np.testing.assert_array_equal(F.max_pool2d(back.abs(), 2).numpy(), values.abs().numpy())
    assert F.max_unpool2d(values, indices, 2, output_size=(7, 4)).shape[2:] == (7, 4)


def test_fractional_pool_is_random_but_told_by_its_samples():
    x = ingot.randn(2, 3, 9, 9)
    samples = ingot.rand(2, 3, 2)
    a, i = F.fractional_max_pool2d(x, 2, output_size=4, return_indices=True, _random_samples=samples)
    assert a.shape == (2, 3, 4, 4)
    np.testing.assert_array_equal(a.numpy(), F.fractional_max_pool2d(x, 2, output_size=4, _random_samples=samples).numpy())
    np.testing.assert_array_equal(np.take_along_axis(x.numpy().reshape(2, 3, -1), i.numpy().reshape(2, 3, -1), 2),
                                  a.numpy().reshape(2, 3, -1))
    assert nn.FractionalMaxPool2d(2, output_ratio=0.5)(x).shape == (2, 3, 4, 4)


@pytest.mark.parametrize(("shape", "size"), [
    ((0, 3, 8, 8), (4, 4)), ((2, 0, 8, 8), (4, 4)), ((2, 3, 8, 8), (0, 4)), ((2, 3, 8, 8), (0, 0)), ((0, 8, 8), (4, 4))])
@pytest.mark.parametrize("pool", [lambda x, s: F.fractional_max_pool2d(x, 2, s), F.adaptive_max_pool2d, F.adaptive_avg_pool2d])
def test_pools_of_nothing(shape, size, pool):
    x = ingot.ones(shape).requires_grad_()
    y = pool(x, size)
    y.sum().backward()
    assert tuple(y.shape) == (*shape[:-2], *size) and tuple(x.grad.shape) == shape and not x.grad.any()


@pytest.mark.parametrize("call, says", [
    (lambda x: F.max_pool2d(x, 2, padding=2), "half"),
    (lambda x: F.max_pool2d(x, 9), "too small"),
    (lambda x: F.max_pool2d(x, 0), "kernel_size"),
    (lambda x: F.avg_pool2d(x, 2, divisor_override=0), "divisor"),
    (lambda x: F.max_pool2d(x[0, 0], 2), "takes an input"),
    (lambda x: F.max_pool3d(x[0], 2), "takes an input"),
    (lambda x: F.adaptive_avg_pool2d(x, (1, 2, 3)), "output_size"),
    (lambda x: F.max_unpool2d(x, x, 2), "int64"),
    (lambda x: F.max_unpool2d(x, ingot.full(x.shape, 10 ** 6), 2), "outside"),
    (lambda x: nn.FractionalMaxPool2d(2), "output_size"),
])
def test_errors_of_wrong_arguments_name_the_fault(call, says):
    with pytest.raises(ingot.IngotError, match=says):
        call(ingot.randn(2, 3, 6, 6))


@pytest.mark.peer
@pytest.mark.parametrize("text", [
    "MaxPool1d(3, 2, 1)", "MaxPool2d(2)", "MaxPool3d(2, ceil_mode=True)", "MaxPool2d(3, 1, 1, dilation=2)",
    "AvgPool1d(3, 2, 1)",
    "AvgPool2d(3, 2, 1, ceil_mode=True, count_include_pad=False)", "AvgPool3d(2, divisor_override=3)", "AdaptiveAvgPool1d(3)",
    "AdaptiveAvgPool2d((3, None))", "AdaptiveAvgPool3d(2)", "AdaptiveMaxPool2d((3, 5))", "AdaptiveMaxPool1d(4)",
    "LPPool1d(2, 3)",
    "LPPool2d(2, 3, stride=2)", "LPPool3d(3, 2)"])
def test_modules_match_torch(text):
    torch = pytest.importorskip("torch")
    ours, theirs = pair(torch, text)
    x = RNG.standard_normal((2, 3, *(7, 8, 7)[:ours.rank])).astype(np.float32) + 0.5
    agree(torch, ours, theirs, x, RNG, rtol=1e-5)


@pytest.mark.parametrize("rank", [2, 3])
def test_fractional_pools_of_nothing(rank):
    pool = F.fractional_max_pool2d if rank == 2 else F.fractional_max_pool3d
    x = ingot.ones(0, 3, *(8,) * rank, requires_grad=True)
    found, indices = pool(x, 2, 3, return_indices=True)
    assert found.shape == indices.shape == (0, 3, *(3,) * rank) and indices.dtype is ingot.int64
    found.sum().backward()
    assert x.grad.shape == x.shape
