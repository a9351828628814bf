"""Interpolation, padding, grids and shuffles: known values, identities, and PyTorch."""

import itertools

import numpy as np
import pytest

import ingot
from ingot import nn
from ingot.nn import functional as F
from torch_modules import agree, pair

RNG = np.random.default_rng(13)


def line(*values):
    return ingot.tensor([[list(map(float, values))]])


def test_known_values():
    assert F.interpolate(line(1, 2), scale_factor=2).tolist() == [[[1, 1, 2, 2]]]
    assert F.interpolate(line(0, 4), size=4, mode="linear").tolist() == [[[0, 1, 3, 4]]]
    assert F.interpolate(line(0, 3), size=4, mode="linear", align_corners=True).tolist() == [[[0, 1, 2, 3]]]
    assert F.interpolate(line(1, 2, 3, 6), size=2, mode="area").tolist() == [[[1.5, 4.5]]]
    assert F.interpolate(line(1, 2, 3), size=6, mode="nearest-exact").tolist() == [[[1, 1, 2, 2, 3, 3]]]


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "bilinear", "bicubic", "area"])
def test_constants_stay_and_the_same_size_changes_nothing(mode):
    x = ingot.tensor(RNG.standard_normal((1, 2, 5, 4)))
    np.testing.assert_allclose(F.interpolate(ingot.full((1, 1, 5, 4), 3.0), (7, 3), mode=mode).numpy(), 3.0, rtol=1e-6)
    np.testing.assert_allclose(F.interpolate(x, (5, 4), mode=mode).numpy(), x.numpy(), atol=1e-12)


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_antialiasing_averages_when_shrinking(mode):
    x = ingot.tensor(np.indices((32, 32)).sum(0) % 2 * 2.0 - 1)[None, None]
    assert np.abs(F.interpolate(x, (8, 8), mode=mode, antialias=True).numpy()).max() < 0.1
    with pytest.raises(ingot.IngotError, match="antialias"):
        F.interpolate(x, (8, 8), antialias=True)


@pytest.mark.parametrize("mode, numpy_mode",
                         [("reflect", "reflect"), ("replicate", "edge"), ("circular", "wrap"), ("constant", "constant")])
def test_pad_is_numpys(mode, numpy_mode):
    x = RNG.standard_normal((2, 3, 4, 5))
    got = F.pad(ingot.tensor(x), (1, 2, 3, 0), mode=mode)
    np.testing.assert_array_equal(got.numpy(), np.pad(x, ((0, 0), (0, 0), (3, 0), (1, 2)), mode=numpy_mode))


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
def test_borders_that_leave_nothing_have_gradients_of_zeros(mode):
    x = ingot.ones(1, 2, 3, requires_grad=True)
    y = F.pad(x, (-2, -1), mode=mode)
    y.sum().backward()
    assert y.shape == (1, 2, 0) and x.grad.tolist() == [[[0, 0, 0]] * 2]


def test_constant_pad_cuts_and_fills_any_dim():
    x = ingot.arange(6.0).reshape(2, 3)
    assert F.pad(x, (-1, 1, 0, 1), value=9).tolist() == [[1, 2, 9], [4, 5, 9], [9, 9, 9]]
    assert nn.ZeroPad1d(1)(line(1)).tolist() == [[[0, 1, 0]]] and nn.ConstantPad1d(1, 7.0)(line(1)).tolist() == [[[7, 1, 7]]]


@pytest.mark.parametrize("call, says", [
    (lambda x: F.pad(x, (4, 0), mode="reflect"), "at most"),
    (lambda x: F.pad(x, (5, 0), mode="circular"), "at most"),
    (lambda x: F.pad(x, (1,)), "pairs"),
    (lambda x: F.pad(x, (1, 1), mode="mirror"), "mode"),
    (lambda x: F.pad(x, (-3, -3)), "negative size"),
    (lambda x: F.interpolate(x), "either size or scale_factor"),
    (lambda x: F.interpolate(x, 4, mode="bilinear"), r"takes \[N, C, H, W\], got float32"),
    (lambda x: F.interpolate(x, 4, mode="sharp"), "mode"),
    (lambda x: F.interpolate(x, 4, align_corners=True), "align_corners"),
    (lambda x: F.interpolate(x, 0), "spatial size"),
    (lambda x: F.pixel_shuffle(x, 2), "divisible"),
    (lambda x: F.channel_shuffle(x, 2), "divisible"),
    (lambda x: F.grid_sample(x, x), "4 or 5"),
    (lambda x: F.affine_grid(x, (2, 3, 4, 4)), "theta"),
])
def test_errors_of_wrong_arguments_name_the_fault(call, says):
    with pytest.raises(ingot.IngotError, match=says):
        call(ingot.randn(2, 3, 4))


def test_shuffles_undo_each_other():
    x = ingot.tensor(RNG.standard_normal((2, 8, 3, 4)))
    np.testing.assert_array_equal(F.pixel_unshuffle(F.pixel_shuffle(x, 2), 2).numpy(), x.numpy())
    np.testing.assert_array_equal(F.channel_shuffle(F.channel_shuffle(x, 2), 4).numpy(), x.numpy())
    assert F.channel_shuffle(ingot.arange(4.0).reshape(1, 4, 1, 1), 2).flatten().tolist() == [0, 2, 1, 3]
    x = ingot.arange(8.0).reshape(1, 4, 2)
    for groups in (1, 2, 4):
        F.channel_shuffle(x, groups).zero_()
    for factor in (1, 2):
        F.pixel_shuffle(x.reshape(8, 1, 1), factor).zero_()
        F.pixel_unshuffle(x.reshape(2, 2, 2), factor).zero_()
    assert x.flatten().tolist() == list(range(8))
    assert F.pixel_shuffle(ingot.arange(4.0).reshape(1, 4, 1, 1), 2).tolist() == [[[[0, 1], [2, 3]]]]


@pytest.mark.parametrize("rank, align_corners", list(itertools.product((2, 3), (False, True))))
def test_the_identity_grid_gives_the_input_back(rank, align_corners):
    x = ingot.tensor(RNG.standard_normal((2, 3, *(4, 5, 3)[:rank])))
    theta = ingot.tensor(np.broadcast_to(np.eye(rank, rank + 1), (2, rank, rank + 1)).copy())
    grid = F.affine_grid(theta, x.shape, align_corners=align_corners)
    assert grid.shape == (2, *x.shape[2:], rank)
    for mode in ("bilinear", "nearest"):
        got = F.grid_sample(x, grid, mode=mode, align_corners=align_corners)
        np.testing.assert_allclose(got.numpy(), x.numpy(), atol=1e-12)


def test_points_outside():
    x, far = line(1, 2).reshape(1, 1, 1, 2), ingot.tensor([[[[-3.0, 0.0], [3.0, 0.0]]]])
    assert F.grid_sample(x, far, align_corners=False).flatten().tolist() == [0, 0]
    assert F.grid_sample(x, far, padding_mode="border", align_corners=False).flatten().tolist() == [1, 2]


def test_old_names_warn():
    with pytest.warns(DeprecationWarning):
        assert F.upsample(line(1, 2), scale_factor=2).shape == (1, 1, 4)


@pytest.mark.peer
@pytest.mark.parametrize("text, shape", [
    ("Upsample(scale_factor=1.7, mode='bilinear')", (1, 2, 5, 4)), ("Upsample(size=7)", (1, 2, 5)),
    ("Upsample(scale_factor=(2, 0.5, 1), mode='trilinear', align_corners=True)", (1, 2, 3, 4, 5)),
    ("Upsample(scale_factor=1.3, mode='bicubic', recompute_scale_factor=True)", (1, 2, 6, 5)),
    ("UpsamplingBilinear2d(scale_factor=2)", (1, 2, 3, 4)), ("UpsamplingNearest2d(size=(5, 7))", (1, 2, 3, 4)),
    ("PixelShuffle(2)", (2, 8, 3, 3)), ("PixelUnshuffle(3)", (2, 2, 6, 3)), ("ChannelShuffle(2)", (2, 4, 3, 3)),
    ("ReflectionPad1d((2, 1))", (2, 3, 4)), ("ReplicationPad2d(2)", (2, 3, 4, 4)), ("CircularPad3d(1)", (1, 2, 3, 3, 3)),
    ("ReflectionPad3d((1, 0, 1, 1, 0, 1))", (1, 2, 3, 3, 3)), ("ZeroPad2d((1, 2, 0, 3))", (1, 2, 3, 3)),
    ("ConstantPad3d(1, 2.5)", (1, 2, 3, 3, 3)), ("Unfold((2, 3), padding=1)", (2, 3, 5, 5)),
    ("Fold((4, 5), (2, 2))", (2, 12, 12))])
def test_modules_match_torch(text, shape):
    torch = pytest.importorskip("torch")
    ours, theirs = pair(torch, text)
    x = RNG.standard_normal(shape).astype(np.float32)
    agree(torch, ours, theirs, x, RNG)
