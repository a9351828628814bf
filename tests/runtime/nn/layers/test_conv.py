"""Convolutions against loops, identities, and PyTorch."""

import itertools

import numpy as np
import pytest

import ingot
from ingot import nn
from ingot.nn import functional as F
from torch_modules import agree, pair

RNG = np.random.default_rng(3)
CONVS = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
TRANSPOSED = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}
SIZES = {1: (9,), 2: (7, 6), 3: (5, 4, 5)}


def defined_conv(x, w, b, stride, padding, dilation, groups):
    """Compute a convolution element by element."""
    rank = x.ndim - 2
    x = np.pad(x, [(0, 0), (0, 0)] + [(padding, padding)] * rank)
    counts = [(n - dilation * (k - 1) - 1) // stride + 1 for n, k in zip(x.shape[2:], w.shape[2:])]
    out = np.zeros((x.shape[0], w.shape[0], *counts))
    per_group_in, per_group_out = w.shape[1], w.shape[0] // groups
    for n, o in itertools.product(range(x.shape[0]), range(w.shape[0])):
        first = o // per_group_out * per_group_in
        for place in itertools.product(*map(range, counts)):
            window = tuple(slice(p * stride, p * stride + dilation * (k - 1) + 1, dilation) for p, k in zip(place, w.shape[2:]))
            out[(n, o, *place)] = (x[(n, slice(first, first + per_group_in), *window)] * w[o]).sum() + b[o]
    return out


def spread_out(x, w, stride, padding, output_padding, dilation, groups):
    """Compute a transposed convolution: each element adds its weighted kernel to the result."""
    inner = w.shape[1]
    full = [(n - 1) * stride + dilation * (k - 1) + 1 + output_padding for n, k in zip(x.shape[2:], w.shape[2:])]
    out = np.zeros((x.shape[0], inner * groups, *full))
    for n, c in itertools.product(range(x.shape[0]), range(x.shape[1])):
        first = c // (x.shape[1] // groups) * inner
        for place in itertools.product(*map(range, x.shape[2:])):
            window = tuple(slice(p * stride, p * stride + dilation * (k - 1) + 1, dilation) for p, k in zip(place, w.shape[2:]))
            out[(n, slice(first, first + inner), *window)] += x[(n, c, *place)] * w[c]
    cut = tuple(slice(padding, n - padding) for n in full)
    return out[(slice(None), slice(None), *cut)] if padding else out


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("stride, padding, dilation, groups",
                         [(1, 0, 1, 1), (2, 1, 1, 2), (1, 2, 2, 4), (3, 1, 1, 1), (2, 0, 2, 2)])
def test_conv_is_its_definition(rank, stride, padding, dilation, groups):
    x, b = RNG.standard_normal((2, 4, *SIZES[rank])), RNG.standard_normal(4)
    w = RNG.standard_normal((4, 4 // groups, *(2,) * rank))
    got = CONVS[rank](ingot.tensor(x), ingot.tensor(w), ingot.tensor(b), stride, padding, dilation, groups)
    np.testing.assert_allclose(got.numpy(), defined_conv(x, w, b, stride, padding, dilation, groups), atol=1e-12)


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("stride, padding, extra, dilation, groups",
                         [(1, 0, 0, 1, 1), (2, 1, 1, 1, 2), (3, 0, 2, 1, 4), (2, 1, 0, 2, 1), (1, 1, 1, 3, 2)])
def test_transposed_conv_is_its_definition(rank, stride, padding, extra, dilation, groups):
    x, w = RNG.standard_normal((2, 4, *(3,) * rank)), RNG.standard_normal((4, 2, *(2,) * rank))
    b = RNG.standard_normal(2 * groups)
    got = TRANSPOSED[rank](ingot.tensor(x), ingot.tensor(w), ingot.tensor(b), stride, padding, extra, groups, dilation)
    want = spread_out(x, w, stride, padding, extra, dilation, groups) + b.reshape(-1, *(1,) * rank)
    np.testing.assert_allclose(got.numpy(), want, atol=1e-12)


def test_same_padding_keeps_sizes_and_puts_the_odd_one_at_the_end():
    x, w = ingot.randn(1, 1, 6), ingot.ones(1, 1, 4)
    got = F.conv1d(x, w, padding="same")
    assert got.shape == (1, 1, 6)
    np.testing.assert_allclose(got.numpy(), F.conv1d(F.pad(x, (1, 2)), w).numpy(), rtol=1e-6)
    np.testing.assert_array_equal(F.conv1d(x, w, padding="valid").numpy(), F.conv1d(x, w).numpy())


def test_an_input_without_batch():
    x, w = ingot.randn(3, 5, 5), ingot.randn(2, 3, 3, 3)
    np.testing.assert_array_equal(F.conv2d(x, w).numpy(), F.conv2d(x.unsqueeze(0), w).numpy()[0])
    t = ingot.randn(2, 3, 3)
    np.testing.assert_array_equal(F.conv_transpose2d(t, w).numpy(), F.conv_transpose2d(t.unsqueeze(0), w).numpy()[0])


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("rank", CONVS)
def test_a_convolution_of_no_channels_has_gradients_of_none(rank, traced):
    def gradients(x, w):
        return ingot.autograd.grad(CONVS[rank](x, w).sum(), [x, w])

    x, w = ingot.ones(2, 0, *[5] * rank, requires_grad=True), ingot.ones(3, 0, *[2] * rank, requires_grad=True)
    found = (ingot.jit.trace(gradients) if traced else gradients)(x, w)
    assert [tuple(g.shape) for g in found] == [x.shape, w.shape]


@pytest.mark.parametrize("size", [1, 4, 40])
def test_a_row_does_not_depend_on_the_batch_much(size):
    x, w = ingot.randn(5, 3, size, size), ingot.randn(4, 3, 1, 1)
    np.testing.assert_allclose(F.conv2d(x, w).numpy()[2:3], F.conv2d(x[2:3], w).numpy(), rtol=1e-5, atol=1e-5)


def test_low_precision_sums_in_float32():
    x = ingot.ones(1, 4096, 1, dtype=ingot.bfloat16)
    assert F.conv1d(x, ingot.ones(1, 4096, 1, dtype=ingot.bfloat16)).item() == 4096


@pytest.mark.parametrize("call, says", [
    (lambda x, w: F.conv2d(x[:, :2], w), "channels"),
    (lambda x, w: F.conv2d(x, w[:, :, 0]), "4 dimensions"),
    (lambda x, w: F.conv2d(x[0, 0], w), "takes an input"),
    (lambda x, w: F.conv2d(x, w, groups=2), "groups"),
    (lambda x, w: F.conv2d(x[:, :, :2], w), "smaller than the window"),
    (lambda x, w: F.conv2d(x, w, stride=0), "stride"),
    (lambda x, w: F.conv2d(x, w, stride=(1, 2, 3)), "stride"),
    (lambda x, w: F.conv2d(x, w, stride=2, padding="same"), "same"),
    (lambda x, w: F.conv2d(x, w, padding="odd"), "padding"),
    (lambda x, w: F.conv2d(x, w, padding=-1), "padding"),
    (lambda x, w: F.conv2d(x, w.double()), "dtype"),
    (lambda x, w: F.conv2d(x, w, ingot.ones(3)), "bias"),
    (lambda x, w: F.conv_transpose2d(x, w.transpose(0, 1), output_padding=1), "output_padding"),
    (lambda x, w: nn.Conv2d(3, 4, 3, groups=2), "groups"),
    (lambda x, w: nn.Conv2d(3, 4, 3, padding_mode="mirror"), "padding_mode"),
])
def test_errors_of_wrong_arguments_name_the_fault(call, says):
    with pytest.raises(ingot.IngotError, match=says):
        call(ingot.randn(2, 3, 6, 6), ingot.randn(4, 3, 3, 3))


def test_unfold_then_matmul_is_conv_and_fold_counts_windows():
    x, w = RNG.standard_normal((2, 3, 6, 5)), RNG.standard_normal((4, 3, 3, 2))
    columns = F.unfold(ingot.tensor(x), (3, 2), padding=1, stride=2)
    want = F.conv2d(ingot.tensor(x), ingot.tensor(w), padding=1, stride=2)
    np.testing.assert_allclose((ingot.tensor(w.reshape(4, -1)) @ columns).numpy(), want.numpy().reshape(2, 4, -1), atol=1e-12)
    ones = ingot.ones(1, 1, 4, 4)
    counts = F.fold(F.unfold(ones, 2), (4, 4), 2).numpy()[0, 0]
    np.testing.assert_array_equal(counts, np.outer([1, 2, 2, 1], [1, 2, 2, 1]))


@pytest.mark.parametrize("mode", ["zeros", "reflect", "replicate", "circular"])
def test_module_pads_in_its_mode(mode):
    layer = nn.Conv2d(2, 3, 3, padding=(1, 2), padding_mode=mode)
    x = ingot.randn(1, 2, 5, 6)
    padded = F.pad(x, (2, 2, 1, 1), mode="constant" if mode == "zeros" else mode)
    want = F.conv2d(padded, layer.weight, layer.bias)
    np.testing.assert_allclose(layer(x).detach().numpy(), want.detach().numpy(), rtol=1e-5, atol=1e-6)


def test_transposed_module_takes_an_output_size():
    layer = nn.ConvTranspose2d(2, 3, 3, stride=2, padding=1)
    x = ingot.randn(1, 2, 4, 4)
    assert layer(x).shape == (1, 3, 7, 7)
    assert layer(x, output_size=(8, 7)).shape == (1, 3, 8, 7)
    with pytest.raises(ingot.IngotError, match="output_size"):
        layer(x, output_size=(9, 9))


@pytest.mark.parametrize("name", ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"])
def test_lazy_convolutions_become_plain_convolutions(name):
    layer = getattr(nn, "Lazy" + name)(4, 2)
    x = ingot.randn(1, 3, *(4,) * int(name[-2]))
    assert layer(x).shape[1] == 4
    assert type(layer) is getattr(nn, name) and layer.in_channels == 3


@pytest.mark.peer
@pytest.mark.parametrize("text", [
    "Conv1d(4, 6, 3, padding=2, dilation=2, groups=2)", "Conv2d(4, 6, (3, 2), stride=2, padding='valid', bias=False)",
    "Conv3d(4, 4, 2, groups=4)", "ConvTranspose1d(4, 2, 3, stride=2, output_padding=1)",
    "ConvTranspose2d(4, 2, 3, stride=3, padding=1, groups=2)", "ConvTranspose3d(4, 4, 2, dilation=2)",
    "Conv2d(4, 2, 3, padding='same', padding_mode='reflect')"])
def test_modules_match_torch(text):
    torch = pytest.importorskip("torch")
    ours, theirs = pair(torch, text)
    ours_state, theirs_state = ({k: tuple(v.shape) for k, v in m.state_dict().items()} for m in (ours, theirs))
    assert list(ours_state.items()) == list(theirs_state.items())
    ours.load_state_dict({k: ingot.tensor(v.numpy()) for k, v in theirs.state_dict().items()})
    x = RNG.standard_normal((2, 4, *(6,) * ours.rank)).astype(np.float32)
    agree(torch, ours, theirs, x, RNG)


@pytest.mark.peer
def test_time_first_convolution_matches_torch():
    torch = pytest.importorskip("torch")
    x, w, b = RNG.standard_normal((7, 2, 3)), RNG.standard_normal((3, 3, 4)), RNG.standard_normal(4)
    want = torch.conv_tbc(torch.tensor(x), torch.tensor(w), torch.tensor(b), 1)
    got = ingot.conv_tbc(ingot.tensor(x), ingot.tensor(w), ingot.tensor(b), 1)
    np.testing.assert_allclose(got.numpy(), want.numpy(), atol=1e-12)
