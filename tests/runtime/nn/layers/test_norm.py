"""Normalisations: statistics, running statistics, and PyTorch."""

import numpy as np
import pytest

import ingot
from ingot import jit, nn
from ingot.nn import functional as F
from torch_modules import agree, pair

RNG = np.random.default_rng(11)


def standard(x, axes, eps=1e-5):
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)


def affine(channels):
    w, b = RNG.standard_normal((2, channels))
    return w, b, ingot.tensor(w), ingot.tensor(b)


def test_layer_norm_over_the_last_dims():
    x = RNG.standard_normal((3, 4, 5))
    w, b = RNG.standard_normal((2, 4, 5))
    got = F.layer_norm(ingot.tensor(x), (4, 5), ingot.tensor(w), ingot.tensor(b))
    np.testing.assert_allclose(got.numpy(), standard(x, (1, 2)) * w + b, atol=1e-12)
    np.testing.assert_allclose(ingot.layer_norm(ingot.tensor(x), (5,)).numpy(), standard(x, (2,)), atol=1e-12)


def test_rms_norm_over_the_last_dims():
    x, w = RNG.standard_normal((3, 4)), RNG.standard_normal(4)
    want = x / np.sqrt((x ** 2).mean(-1, keepdims=True) + np.finfo(np.float64).eps) * w
    np.testing.assert_allclose(F.rms_norm(ingot.tensor(x), (4,), ingot.tensor(w)).numpy(), want, atol=1e-12)


def test_group_norm_of_channel_groups():
    x = RNG.standard_normal((2, 6, 3, 2))
    w, b, tw, tb = affine(6)
    want = standard(x.reshape(2, 3, -1), (2,)).reshape(x.shape) * w[:, None, None] + b[:, None, None]
    np.testing.assert_allclose(F.group_norm(ingot.tensor(x), 3, tw, tb).numpy(), want, atol=1e-12)


@pytest.mark.parametrize("tracked", [False, True])
def test_instance_norm_of_each_channel(tracked):
    x = RNG.standard_normal((2, 3, 5))
    w, b, tw, tb = affine(3)
    mean, var = (ingot.zeros(3, dtype=ingot.float64), ingot.ones(3, dtype=ingot.float64)) if tracked else (None, None)
    got = F.instance_norm(ingot.tensor(x), mean, var, tw, tb, momentum=0.25)
    np.testing.assert_allclose(got.numpy(), standard(x, (2,)) * w[:, None] + b[:, None], atol=1e-12)
    if tracked:
        np.testing.assert_allclose(mean.numpy(), 0.25 * x.mean(2).mean(0), atol=1e-12)
        np.testing.assert_allclose(var.numpy(), 0.75 + 0.25 * x.var(2, ddof=1).mean(0), atol=1e-12)


@pytest.mark.parametrize("shape", [(6, 3), (4, 3, 5), (2, 3, 4, 4)])
def test_batch_norm_in_training_moves_its_running_statistics(shape):
    layer = (nn.BatchNorm1d if len(shape) < 4 else nn.BatchNorm2d)(3, momentum=0.3, dtype=ingot.float64)
    x = RNG.standard_normal(shape) * 2 + 1
    axes = (0, *range(2, len(shape)))
    np.testing.assert_allclose(layer(ingot.tensor(x)).detach().numpy(), standard(x, axes), atol=1e-12)
    np.testing.assert_allclose(layer.running_mean.numpy(), 0.3 * x.mean(axes), atol=1e-12)
    np.testing.assert_allclose(layer.running_var.numpy(), 0.7 + 0.3 * x.var(axes, ddof=1), atol=1e-12)
    assert layer.num_batches_tracked.item() == 1
    layer.eval()
    mean, var = (s.numpy().copy().reshape(3, *(1,) * (len(shape) - 2)) for s in (layer.running_mean, layer.running_var))
    want = (x - mean) / np.sqrt(var + 1e-5)
    np.testing.assert_allclose(layer(ingot.tensor(x)).detach().numpy(), want, atol=1e-12)
    np.testing.assert_array_equal(layer.running_mean.numpy(), mean.reshape(3))


STATISTICS = {
    "apart": lambda like: (like(0.0), like(1.0)), "mean alone": lambda like: (like(0.0), None),
    "variance alone": lambda like: (None, like(1.0)), "views": lambda like: tuple(like(0.5, 2)),
    "one tensor": lambda like: (like(0.5),) * 2, "one memory": lambda like: tuple(like(0.5, 2)[:1].expand(2, 3)),
    "not contiguous": lambda like: tuple(like(0.5, 2).T.contiguous().T)}


def check_statistics(name, dtype, momentum, device="cpu"):
    """Update running statistics step by step in numpy."""
    def like(value, rows=None):
        return ingot.full((3,) if rows is None else (rows, 3), value, dtype=dtype, device=device)

    mean, var = STATISTICS[name](like)
    x = ingot.tensor(np.random.default_rng(3).standard_normal((4, 3)), dtype=ingot.float32)
    share = float(momentum)
    found = [v.astype(np.float64) for v in (x.numpy().mean(0), x.numpy().var(0, ddof=1))]
    want = [None if t is None else t.cpu().numpy().astype(np.float64) for t in (mean, var)]
    for i in (0, 1):
        if want[i] is not None:
            want[i] = (1 - share) * want[i] + share * found[i]
            if name in ("one tensor", "one memory"):
                want[1 - i] = want[i]
    versions = [None if t is None else t._version for t in (mean, var)]
    F.batch_norm(x.to(device), mean, var, None, None, True, momentum)
    for t, w, before in zip((mean, var), want, versions):
        if t is not None:
            np.testing.assert_allclose(t.cpu().numpy(), w, rtol=1e-5, atol=1e-6)
            assert t._version > before


@pytest.mark.parametrize("momentum", [0.1, 1, ingot.tensor(0.25)], ids=["float", "int", "tensor"])
@pytest.mark.parametrize("dtype", [ingot.float32, ingot.float64], ids=str)
@pytest.mark.parametrize("name", STATISTICS)
def test_statistics_move_wherever_they_lie(name, dtype, momentum):
    check_statistics(name, dtype, momentum)


def test_batches_are_counted_if_there_is_a_counter():
    layer = nn.BatchNorm1d(3)
    layer(ingot.ones(0, 3)), layer(ingot.randn(4, 3))
    assert layer.num_batches_tracked.item() == 2
    layer.num_batches_tracked = None
    layer(ingot.randn(4, 3))
    assert layer.running_mean.abs().sum().item() > 0 and layer.num_batches_tracked is None
    seen = nn.BatchNorm1d(3)
    step = jit.trace(lambda x: seen(x))
    for n in range(1, 5):
        step(ingot.randn(4, 3))
        assert seen.num_batches_tracked.item() == n


def test_without_momentum_the_running_mean_is_the_mean_over_batches():
    for dtype, atol in ((np.float32, 1e-6), (np.float64, 1e-15)):
        layer = nn.BatchNorm1d(2, momentum=None, dtype=ingot.tensor(dtype(0)).dtype)
        batches = [RNG.standard_normal((5, 2)).astype(dtype) for _ in range(4)]
        for b in batches:
            layer(ingot.tensor(b))
        np.testing.assert_allclose(layer.running_mean.numpy(), np.mean([b.mean(0) for b in batches], axis=0), atol=atol)


def test_the_mean_over_batches_has_the_same_bits_traced():
    eager, traced = [nn.BatchNorm1d(16, momentum=None) for _ in range(2)]
    run = ingot.jit.trace(traced)
    for _ in range(7):
        x = ingot.tensor(RNG.standard_normal((5, 16)).astype("f"))
        eager(x), run(x)
        assert eager.running_mean.equal(traced.running_mean) and eager.running_var.equal(traced.running_var)


def test_a_state_without_the_count_of_batches_leaves_it_alone():
    layer = nn.BatchNorm1d(2, momentum=None)
    layer(ingot.ones(4, 2))
    layer(ingot.ones(4, 2))
    state = {k: v.clone() for k, v in layer.state_dict().items() if k != "num_batches_tracked"}
    assert layer.load_state_dict(dict(state)).missing_keys == [] and layer.num_batches_tracked.item() == 2
    layer.load_state_dict({"bias": ingot.ones(2)}, strict=False)
    assert layer.num_batches_tracked.item() == 2
    hollow = nn.BatchNorm1d(2, device="meta")
    hollow.load_state_dict(dict(state), assign=True)
    assert hollow.num_batches_tracked.item() == 0


def test_without_tracking_the_batch_is_used_in_eval_too():
    layer = nn.BatchNorm1d(3, track_running_stats=False).eval()
    x = RNG.standard_normal((6, 3)).astype(np.float32)
    np.testing.assert_allclose(layer(ingot.tensor(x)).detach().numpy(), standard(x, (0,)), atol=1e-5)
    assert layer.running_mean is None and "num_batches_tracked" not in layer.state_dict()


def test_an_empty_batch_leaves_the_statistics_alone():
    layer = nn.BatchNorm2d(3)
    assert layer(ingot.zeros(0, 3, 4, 4)).shape == (0, 3, 4, 4)
    assert layer.running_mean.tolist() == [0, 0, 0]


def test_low_precision_is_normalised_in_float32():
    x = ingot.tensor(RNG.standard_normal((4, 3, 64)).astype(np.float32) + 100).bfloat16()
    for got, want in [(F.layer_norm(x, (64,)), F.layer_norm(x.float(), (64,))),
                      (F.batch_norm(x, None, None, training=True), F.batch_norm(x.float(), None, None, training=True)),
                      (F.group_norm(x, 3), F.group_norm(x.float(), 3)),
                      (F.rms_norm(x, (64,), ingot.ones(64)), F.rms_norm(x.float(), (64,)))]:
        assert got.dtype is ingot.bfloat16
        np.testing.assert_allclose(got.float().numpy(), want.numpy(), rtol=8e-3, atol=1e-6)


@pytest.mark.parametrize("low", [ingot.bfloat16, ingot.float16])
@pytest.mark.parametrize("kinds", [("weight", "bias"), ("weight",), ()])
@pytest.mark.parametrize("training", [True, False])
def test_low_precision_inputs_with_wide_weights_round_once(low, kinds, training):
    """Under autocast a batch norm gets both: eager, recorded, and fully cast."""
    ingot.manual_seed(3)
    x, g = ingot.randn(4, 3, 5, 6).to(low), ingot.randn(4, 3, 5, 6).to(low)
    values = {name: ingot.randn(3) for name in kinds}

    def run(cast, wrap):
        given, statistics = x.clone().requires_grad_(), [ingot.zeros(3), ingot.ones(3)]
        leaves = {name: v.clone().requires_grad_() for name, v in values.items()}

        def forward(a):
            out = F.batch_norm(a.float() if cast else a, *statistics, **leaves, training=training)
            return out.to(low) if cast else out

        out = wrap(forward)(given)
        out.backward(g)
        return [out.detach(), given.grad, *[leaf.grad for leaf in leaves.values()], *statistics]

    want = run(True, lambda f: f)
    for wrap in (lambda f: f, jit.trace):
        for a, b in zip(want, run(False, wrap), strict=True):
            assert a.dtype is b.dtype and a.tolist() == b.tolist()


def test_a_large_mean_does_not_spoil_the_variance():
    x = RNG.standard_normal((8, 2, 32)).astype(np.float32)
    shifted = F.batch_norm(ingot.tensor(x + 1000), None, None, training=True).numpy()
    np.testing.assert_allclose(shifted, standard((x + np.float32(1000)).astype(np.float64), (0, 2)), atol=1e-2)
    np.testing.assert_allclose(F.layer_norm(ingot.tensor(x + 1000), (32,)).numpy(),
                               standard((x + np.float32(1000)).astype(np.float64), (2,)), atol=1e-2)
    ones = ingot.ones(2)
    np.testing.assert_allclose(F.group_norm(ingot.tensor(x + 1000), 1, ones, ones * 0).numpy(),
                               standard((x + np.float32(1000)).astype(np.float64), (1, 2)), atol=1e-2)


@pytest.mark.parametrize("shape", [(4, 6, 5, 3), (4, 6, 1), (4, 6), (2, 6, 70)])
@pytest.mark.parametrize("groups", [1, 3, 6])
def test_group_norm_gradients_match_its_definition(shape, groups):
    """Float64 gradients agree to rounding; float32 ones keep four digits for images with a mean far from 0."""
    def gradients(norm, dtype, offset):
        rng = np.random.default_rng(1)
        x = ingot.tensor(rng.standard_normal(shape) + offset, dtype=dtype, requires_grad=True)
        w, b = (ingot.tensor(rng.standard_normal(6), dtype=dtype, requires_grad=True) for _ in range(2))
        out = norm(x, groups, w, b)
        return ingot.autograd.grad(out, [x, w, b], ingot.tensor(rng.standard_normal(shape), dtype=dtype))

    def defined(x, groups, w, b):
        rows = x.reshape(shape[0], groups, -1)
        y = (rows - rows.mean(2, True)) / (rows.var(2, keepdim=True, correction=0) + 1e-5).sqrt()
        each = (6, *[1] * (len(shape) - 2))
        return y.reshape(shape) * w.reshape(each) + b.reshape(each)

    for offset, dtype, close in ((0, ingot.float64, 1e-11), (30, ingot.float32, 1e-4)):
        wanted = gradients(defined, ingot.float64, np.float32(offset))
        for got, want in zip(gradients(F.group_norm, dtype, np.float32(offset)), wanted):
            if shape[1:] != (groups,) and shape[1:] != (groups, 1):
                np.testing.assert_allclose(got.numpy(), want.numpy(), atol=close * float(want.abs().max() + 1))


def test_normalize_to_unit_length():
    x = RNG.standard_normal((3, 4))
    for p in (1.0, 2.0, 3.0):
        np.testing.assert_allclose((np.abs(F.normalize(ingot.tensor(x), p=p).numpy()) ** p).sum(1), 1, atol=1e-12)
    zero = ingot.zeros(1, 3, requires_grad=True)
    F.normalize(zero).sum().backward()
    assert np.isfinite(zero.grad.numpy()).all()


def test_gradients_of_training_statistics_to_second_order():
    x = ingot.tensor(RNG.standard_normal((4, 2, 3)), requires_grad=True)
    w = ingot.tensor(RNG.standard_normal(2), requires_grad=True)
    out = F.batch_norm(x, None, None, w, None, True)
    g, = ingot.autograd.grad((out ** 3).sum(), [x], create_graph=True)
    np.testing.assert_allclose(g.detach().numpy().sum((0, 2)), 0, atol=1e-10)
    (g ** 2).sum().backward()
    assert x.grad.shape == x.shape and w.grad.shape == w.shape


@pytest.mark.parametrize("call, says", [
    (lambda x: F.layer_norm(x, (5,)), "normalized_shape"),
    (lambda x: F.layer_norm(x.long(), (4,)), "floating"),
    (lambda x: F.layer_norm(x, (4,), ingot.ones(3)), "weight"),
    (lambda x: F.group_norm(x, 2), "groups"),
    (lambda x: F.batch_norm(x, None, None), "running_mean"),
    (lambda x: F.batch_norm(x, ingot.zeros(2), ingot.ones(2)), "channels"),
    (lambda x: F.batch_norm(x[:1, :, :1], None, None, training=True), "more than 1"),
    (lambda x: F.instance_norm(x[:, :, :1]), "more than 1"),
    (lambda x: F.group_norm(x[:1, :2, :1], 2), "more than 1"),
    (lambda x: nn.BatchNorm2d(3)(x), "4 dimensions"),
    (lambda x: nn.GroupNorm(2, 3), "divisible"),
])
def test_errors_of_wrong_arguments_name_the_fault(call, says):
    with pytest.raises(ingot.IngotError, match=says):
        call(ingot.randn(2, 3, 4))


@pytest.mark.parametrize("name", [f"{kind}Norm{rank}d" for kind in ("Batch", "Instance") for rank in (1, 2, 3)])
def test_lazy_norms_become_plain_norms(name):
    layer = getattr(nn, "Lazy" + name)(affine=True, track_running_stats=True)
    x = ingot.randn(2, 3, *(4,) * int(name[-2]))
    assert layer(x).shape == x.shape
    assert type(layer) is getattr(nn, name) and layer.num_features == 3 and layer.weight.tolist() == [1, 1, 1]


@pytest.mark.peer
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("text, shape", [
    ("BatchNorm1d(3)", (5, 3)), ("BatchNorm1d(3, affine=False)", (5, 3, 4)), ("BatchNorm2d(3, momentum=None)", (2, 3, 4, 4)),
    ("BatchNorm3d(3, track_running_stats=False)", (2, 3, 2, 3, 3)), ("InstanceNorm1d(3)", (2, 3, 5)),
    ("InstanceNorm2d(3, affine=True, track_running_stats=True)", (2, 3, 4, 4)), ("LayerNorm((4, 4))", (2, 3, 4, 4)),
    ("LayerNorm(4, bias=False)", (3, 4)), ("BatchNorm1d(3, bias=False)", (4, 3)), ("RMSNorm(4)", (3, 4)),
    ("GroupNorm(3, 6)", (2, 6, 4)), ("LocalResponseNorm(3, alpha=0.5)", (2, 6, 4)), ("InstanceNorm2d(3)", (3, 4, 4))])
def test_modules_match_torch(text, shape, training):
    torch = pytest.importorskip("torch")
    ours, theirs = pair(torch, text)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    with torch.no_grad():
        for p in theirs.parameters():
            p.copy_(torch.tensor(RNG.standard_normal(p.shape)))
    ours.load_state_dict({k: ingot.tensor(v.numpy().copy()) for k, v in theirs.state_dict().items()})
    for _ in range(2):
        x = RNG.standard_normal(shape).astype(np.float32)
        ours.train(), theirs.train()
        ours(ingot.tensor(x)), theirs(torch.tensor(x))
    ours.train(training), theirs.train(training)
    agree(torch, ours, theirs, x, RNG)
    for k, t in theirs.state_dict().items():
        np.testing.assert_allclose(ours.state_dict()[k].numpy(), t.numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("trace", [False, True])
@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("shape", [(0,), (0, 3), (0, 3, 2, 2), (2, 3, 0)])
def test_batch_norm_of_nothing_has_gradients_of_zeros(shape, training, trace):
    m, x = nn.BatchNorm1d(3).train(training), ingot.ones(shape, requires_grad=True)

    def step():
        y = F.batch_norm(x, m.running_mean, m.running_var, m.weight, m.bias, training)
        y.sum().backward()
        return y.detach()

    assert (ingot.jit.trace(step) if trace else step)().shape == shape
    assert m.weight.grad.equal(ingot.zeros(3)) and m.bias.grad.equal(ingot.zeros(3)) and x.grad.shape == shape
    assert m.running_mean.equal(ingot.zeros(3)) and m.running_var.equal(ingot.ones(3))


@pytest.mark.parametrize("make, sizes", [(nn.InstanceNorm1d, (5,)), (nn.InstanceNorm2d, (4, 4)), (nn.InstanceNorm3d, (2,) * 3)])
@pytest.mark.parametrize("tracked", [False, True])
def test_instance_norm_without_channels(make, sizes, tracked):
    x = ingot.ones(2, 0, *sizes)
    got = make(0, affine=tracked, track_running_stats=tracked)(x)
    assert got.shape == x.shape and got is not x
