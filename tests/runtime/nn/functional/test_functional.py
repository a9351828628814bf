"""Activations, losses, lookups, dropout and attention as users call them, against numpy."""

import contextlib
import copy
import math
import pickle

import numpy as np
import pytest

import ingot
from ingot import nn
from ingot.nn import functional as F

rng = np.random.default_rng(11)


def tensor(a, grad=True):
    t = ingot.tensor(a)
    return t.requires_grad_() if grad and t.dtype.is_floating_point else t


def log_softmax(x, axis):
    y = x - x.max(axis, keepdims=True)
    return y - np.log(np.exp(y).sum(axis, keepdims=True))


# Activations.

IN_PLACE = ("relu", "relu6", "leaky_relu", "elu", "celu", "selu", "silu", "mish", "hardswish", "hardsigmoid", "hardtanh")


# Gradient of 1 at nan.
AT_NAN = {
    "relu": (F.relu, 1), "relu6": (F.relu6, 1), "hardtanh": (F.hardtanh, 1), "threshold": (lambda x: F.threshold(x, 0.5, 2), 1),
    "clamp": (lambda x: x.clamp(-1, 1), 0), "clamp_min": (lambda x: x.clamp(min=0), 0),
    "clamp by a tensor": (lambda x: x.clamp(min=ingot.zeros(5)), 1),
    "maximum": (lambda x: ingot.maximum(x, ingot.zeros(())), 1), "minimum": (lambda x: ingot.minimum(ingot.zeros(()), x), 1),
    "leaky_relu": (lambda x: F.leaky_relu(x, 0.25), 0.25), "hardsigmoid": (F.hardsigmoid, 0), "silu": (F.silu, math.nan),
}


@pytest.mark.parametrize("fn, slope", AT_NAN.values(), ids=AT_NAN)
@pytest.mark.parametrize("run", [lambda f: f, ingot.jit.trace], ids=["eager", "traced"])
def test_gradients_at_nan(run, fn, slope):
    def grad(x):
        return ingot.autograd.grad(fn(x).sum(), x)[0]

    step, x = run(grad), ingot.tensor([math.nan] * 5).requires_grad_()
    for _ in range(2):
        np.testing.assert_array_equal(step(x).numpy(), np.full(5, slope, "f"))


def test_logit_gradient_is_nan_outside_its_domain():
    x = ingot.tensor([-1.0, 2.0, 0.0, 1.0, 0.5], requires_grad=True)
    ingot.logit(x).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), np.array([math.nan, math.nan, math.inf, math.inf, 4], "f"))


@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place_activations_give_value_and_gradient_of_the_plain_ones(name):
    fn, a = getattr(F, name), rng.standard_normal((4, 5)) * 4
    x, y = tensor(a), tensor(a)
    plain = fn(x)
    plain.sin().sum().backward()
    z = y * 1
    out = fn(z, inplace=True)
    assert out is z
    out.sin().sum().backward()
    np.testing.assert_array_equal(plain.detach().numpy(), out.detach().numpy())
    np.testing.assert_array_equal(x.grad.numpy(), y.grad.numpy())


OUT = {"avg_pool2d": ((1, 2, 4, 4), 2), "avg_pool3d": ((1, 2, 4, 4, 4), 2), "gelu": ((3, 4),), "hardshrink": ((3, 4),),
       "linear": ((3, 4), (5, 4), (5,)), "logsigmoid": ((3, 4),), "normalize": ((3, 4),), "softplus": ((3, 4), 2),
       "softshrink": ((3, 4),)}


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("name", OUT)
def test_out_receives_results(name, dtype):
    kind = getattr(ingot, dtype)
    args = [ingot.tensor(rng.standard_normal(a)).to(kind) if isinstance(a, tuple) else a for a in OUT[name]]
    want, out = getattr(F, name)(*args), ingot.empty(0, dtype=kind)
    assert getattr(F, name)(*args, out=out) is out and ingot.equal(out, want)


def test_softmax_needs_floats_and_a_dimension():
    with pytest.raises(TypeError, match="floating point"):
        F.softmax(ingot.tensor([1, 2]), 0)
    assert F.softmax(ingot.tensor([1, 2]), 0, dtype=ingot.float64).dtype is ingot.float64
    with pytest.raises(IndexError, match="out of range"):
        F.softmax(ingot.ones(2), 1)
    with pytest.warns(UserWarning, match="which dimension"):
        F.softmax(ingot.ones(2, 2))
    assert F.softmax(ingot.tensor(3.0), 0).item() == 1.0
    np.testing.assert_allclose(F.softmin(ingot.tensor([1.0, 2.0]), 0).numpy()[::-1],
                               F.softmax(ingot.tensor([1.0, 2.0]), 0).numpy(), rtol=1e-6)


@pytest.mark.parametrize("target, weight", [(float("nan"), 1.0), (0.5, float("nan"))])
def test_a_loss_of_probabilities_is_nan_for_other_reasons(target, weight):
    loss = F.binary_cross_entropy(ingot.full((2,), 0.25), ingot.full((2,), target), ingot.full((2,), weight))
    assert loss.isnan()


def test_prelu_has_a_slope_for_each_channel():
    x, w = tensor(-np.ones((2, 3, 2))), tensor(np.array([1.0, 2.0, 3.0]))
    F.prelu(x, w).sum().backward()
    assert w.grad.tolist() == [-4, -4, -4] and x.grad[0, :, 0].tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match="weight of one element or of 3"):
        F.prelu(x, ingot.ones(2, dtype=ingot.float64))


def test_gumbel_softmax_draws_one_hot_with_a_gradient():
    ingot.manual_seed(0)
    x = tensor(rng.standard_normal((6, 4)))
    y = F.gumbel_softmax(x, tau=0.5, hard=True)
    np.testing.assert_allclose(np.sort(y.detach().numpy(), 1), np.tile([0, 0, 0, 1.0], (6, 1)), atol=1e-12)
    (y * ingot.arange(4)).sum().backward()
    assert np.abs(x.grad.numpy()).max() > 0


def test_rrelu_draws_slopes_in_training_only():
    x = ingot.tensor([-1.0] * 100)
    a = F.rrelu(x, 0.2, 0.4, training=True).numpy()
    assert a.min() >= -0.4 and a.max() <= -0.2 and a.std() > 0
    np.testing.assert_allclose(F.rrelu(x, 0.2, 0.4).numpy(), -0.3, rtol=1e-6)


# Losses.


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("smoothing", [0.0, 0.3])
def test_cross_entropy_is_the_weighted_negative_log_probability(reduction, smoothing):
    x, y, w = rng.standard_normal((5, 4, 2)), rng.integers(0, 4, (5, 2)), rng.random(4) + 0.1
    y[0, 0] = -100
    logs = log_softmax(x, 1)
    keep = y != -100
    safe = np.where(keep, y, 0)
    picked = np.take_along_axis(logs, safe[:, None], 1)[:, 0]
    loss = (1 - smoothing) * -picked * w[safe] - smoothing / 4 * (logs * w[None, :, None]).sum(1)
    loss = np.where(keep, loss, 0)
    want = {"none": loss, "sum": loss.sum(), "mean": loss.sum() / (w[safe] * keep).sum()}[reduction]
    got = F.cross_entropy(tensor(x), ingot.tensor(y), ingot.tensor(w), reduction=reduction, label_smoothing=smoothing)
    np.testing.assert_allclose(got.detach().numpy(), want, rtol=1e-12)


def test_cross_entropy_equals_its_parts():
    x, y = rng.standard_normal((6, 3)), rng.integers(0, 3, 6)
    a, b, c = tensor(x), tensor(x), tensor(x)
    F.cross_entropy(a, ingot.tensor(y)).backward()
    F.nll_loss(F.log_softmax(b, 1), ingot.tensor(y)).backward()
    F.cross_entropy(c, ingot.tensor(np.eye(3)[y])).backward()
    np.testing.assert_allclose(a.grad.numpy(), b.grad.numpy(), rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(a.grad.numpy(), c.grad.numpy(), rtol=1e-10, atol=1e-14)


def test_cross_entropy_without_a_batch_and_with_nothing_left():
    x = tensor(np.array([1.0, 2.0, 3.0]))
    assert F.cross_entropy(x, ingot.tensor(2)).shape == ()
    assert F.cross_entropy(x, ingot.tensor(2), reduction="none").shape == ()
    assert math.isnan(F.cross_entropy(tensor(np.ones((2, 3))), ingot.tensor([-100, -100])).item())


def test_class_targets_are_checked():
    x = tensor(np.ones((2, 3)))
    with pytest.raises(IndexError, match="target 3 is out of bounds for 3 classes"):
        F.cross_entropy(x, ingot.tensor([0, 3]))
    with pytest.raises(ValueError, match="target"):
        F.cross_entropy(x, ingot.tensor([0, 1, 2]))
    with pytest.raises(ValueError, match="3 classes"):
        F.cross_entropy(x, ingot.tensor([0, 1]), ingot.ones(4, dtype=ingot.float64))
    with pytest.raises(ValueError, match="reduction"):
        F.mse_loss(x, x, reduction="average")
    with pytest.raises(ValueError, match="label_smoothing"):
        F.cross_entropy(x, ingot.tensor([0, 1]), label_smoothing=2.0)


def test_bce_with_logits_is_stable_and_agrees_with_bce():
    x, y = rng.standard_normal(6), rng.random(6)
    a, b = tensor(x), tensor(x)
    one = F.binary_cross_entropy_with_logits(a, ingot.tensor(y))
    two = F.binary_cross_entropy(b.sigmoid(), ingot.tensor(y))
    one.backward()
    two.backward()
    np.testing.assert_allclose(one.item(), two.item(), rtol=1e-12)
    np.testing.assert_allclose(a.grad.numpy(), b.grad.numpy(), rtol=1e-9)
    far = tensor(np.array([-1000.0, 1000.0]))
    F.binary_cross_entropy_with_logits(far, ingot.tensor([1.0, 1.0]), reduction="sum").backward()
    assert far.grad.tolist() == [-1, 0]


@pytest.mark.parametrize("name", ["mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"])
def test_differing_shapes_are_warned_of(name):
    with pytest.warns(UserWarning, match="broadcast"):
        getattr(F, name)(ingot.ones(3), ingot.ones(2, 3))


@pytest.mark.filterwarnings("ignore:size_average")
def test_the_old_flags_of_losses_may_be_numbers():
    x, y = ingot.ones(4), ingot.zeros(4)
    assert F.mse_loss(x, y, 0).item() == F.l1_loss(x, y, False, 1).item() == 4 and F.mse_loss(x, y, 1, True).item() == 1
    assert F.mse_loss(x, y, reduce=0).shape == (4,)


def test_the_parameter_of_an_activation_may_be_a_tensor():
    x = tensor(np.array([-1.0, 2.0]))
    assert ingot.equal(F.celu(x, ingot.tensor(2)), F.celu(x, 2.0))


def brute_force_ctc(logs, target, blank):
    """Return -log of the probability of all paths that collapse to the target."""
    steps, classes = logs.shape
    total = 0.0
    for code in range(classes ** steps):
        path = [code // classes ** t % classes for t in range(steps)]
        short = [c for t, c in enumerate(path) if t == 0 or c != path[t - 1]]
        if [c for c in short if c != blank] == list(target):
            total += math.exp(sum(logs[t, c] for t, c in enumerate(path)))
    return -math.log(total) if total else math.inf


@pytest.mark.parametrize("target", [[1], [1, 2], [1, 1], [], [2, 1, 2]])
def test_ctc_loss_sums_over_all_paths(target):
    logs = log_softmax(rng.standard_normal((4, 1, 3)), 2)
    got = F.ctc_loss(tensor(logs), ingot.tensor([target], dtype=ingot.int64).reshape(1, len(target)), [4], [len(target)],
                     reduction="sum")
    np.testing.assert_allclose(got.item(), brute_force_ctc(logs[:, 0], target, 0), rtol=1e-10)


def test_ctc_loss_of_an_impossible_target():
    logs = tensor(log_softmax(rng.standard_normal((2, 1, 3)), 2))
    args = (ingot.tensor([[1, 1]]), [2], [2])
    assert F.ctc_loss(logs, *args, reduction="sum").item() == math.inf
    loss = F.ctc_loss(logs, *args, reduction="sum", zero_infinity=True)
    loss.backward()
    assert loss.item() == 0 and not logs.grad.numpy().any()


@pytest.mark.parametrize("padded", [True, False])
def test_ctc_loss_of_lengths_that_change_is_recorded_once(padded):
    random = np.random.default_rng(2)

    def step(logs, labels, steps, sizes):
        loss = F.ctc_loss(logs.log_softmax(-1), labels, steps, sizes, zero_infinity=True)
        return loss, ingot.autograd.grad(loss, logs)[0]

    traced = ingot.jit.trace(step)
    for sizes in ([3, 1, 2], [1, 2, 3], [2, 2, 2], [0, 3, 3]):
        logs = ingot.tensor(random.standard_normal((9, 3, 5)), requires_grad=True)
        rows = random.integers(1, 5, (3, 3))
        given = rows if padded else np.concatenate([row[:n] for row, n in zip(rows, sizes)])
        args = ingot.tensor(given), ingot.tensor(random.integers(7, 10, 3)), ingot.tensor(sizes)
        apart = [F.ctc_loss(logs[:, i:i + 1].log_softmax(-1), ingot.tensor(rows[i:i + 1, :n]), args[1][i:i + 1], [n],
                            reduction="sum") / max(n, 1) for i, n in enumerate(sizes)]
        for run in (step, traced):
            loss, grad = run(logs, *args)
            np.testing.assert_allclose(loss.item(), sum(v.item() for v in apart) / 3, rtol=1e-10)
            np.testing.assert_allclose(grad.numpy(), ingot.autograd.grad(sum(apart), logs, retain_graph=True)[0].numpy() / 3,
                                       atol=1e-12)
    assert traced.stats()["compiles"] == 1


@pytest.mark.parametrize(("labels", "steps", "sizes", "message"), [
    ([[1, 2]], [4, 4], [2, 2], "takes targets"), ([1, 2, 1], [4, 4], [2, 2], "all 4 labels in one row, got 3"),
    ([[1], [2]], [4, 4], [2, 1], "longer than the rows"), ([[1], [2]], [4, 5], [1, 1], "within the 4 steps"),
    ([[1], [2]], [4, 4], [1, -1], "not negative"), ([[1], [2]], [4], [1, 1], "one length for each"),
    ([[1], [2]], [4.0, 4.0], [1, 1], "integers")])
def test_ctc_loss_names_inconsistent_arguments(labels, steps, sizes, message):
    with pytest.raises((ValueError, TypeError), match=message):
        F.ctc_loss(ingot.zeros(4, 2, 3), ingot.tensor(labels), steps, sizes)


@pytest.mark.parametrize("name,inputs", [
    ("CrossEntropyLoss", lambda: (tensor(rng.standard_normal((3, 4))), ingot.tensor([0, 1, 2]))),
    ("MSELoss", lambda: (tensor(rng.random(3)), ingot.tensor(rng.random(3)))),
    ("BCELoss", lambda: (tensor(rng.random(3)), ingot.tensor(rng.random(3)))),
    ("TripletMarginLoss", lambda: tuple(tensor(rng.random((3, 2))) for _ in range(3))),
    ("GaussianNLLLoss", lambda: (tensor(rng.random(3)), ingot.tensor(rng.random(3)), tensor(rng.random(3) + 0.5))),
])
def test_loss_modules_are_their_functions(name, inputs):
    values = inputs()
    none = getattr(nn, name)(reduction="none")(*values)
    mean = getattr(nn, name)()(*values)
    np.testing.assert_allclose(mean.item(), none.detach().numpy().mean(), rtol=1e-10)
    with pytest.raises(TypeError):
        getattr(nn, name)(nonsense=1)


# Lookups.


def test_embedding_gradients_are_summed_for_each_row():
    w = tensor(np.ones((4, 2)))
    out = F.embedding(ingot.tensor([[1, 2], [1, 1]]), w, padding_idx=2)
    assert out.shape == (2, 2, 2)
    out.sum().backward()
    assert w.grad[:, 0].tolist() == [0, 3, 0, 0]
    with pytest.raises(IndexError, match="index 4 is out of range for a table of 4 rows"):
        F.embedding(ingot.tensor([4]), w)
    with pytest.raises(TypeError, match="integer"):
        F.embedding(ingot.tensor([1.0]), w)


def test_embedding_renormalises_rows_in_place():
    w = ingot.tensor([[3.0, 4.0], [0.3, 0.4], [30.0, 40.0]])
    F.embedding(ingot.tensor([0, 1]), w, max_norm=1.0)
    np.testing.assert_allclose(w.numpy(), [[0.6, 0.8], [0.3, 0.4], [30, 40]], rtol=1e-5)


def test_one_hot():
    assert F.one_hot(ingot.tensor([0, 2])).tolist() == [[1, 0, 0], [0, 0, 1]]
    assert F.one_hot(ingot.tensor([[1]]), 2).shape == (1, 1, 2)


# Dropout.


def test_dropout_keeps_the_mean_and_its_gradient_is_the_mask():
    ingot.manual_seed(3)
    x = ingot.ones(100, 100).requires_grad_()
    y = F.dropout(x, 0.3)
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), y.detach().numpy())
    assert abs(y.mean().item() - 1) < 0.02 and set(np.unique(y.detach().numpy())) == {0, np.float32(1 / 0.7)}
    assert F.dropout(x, 0.3, training=False) is x
    assert not F.dropout(x, 1.0).detach().numpy().any()
    ingot.manual_seed(3)
    np.testing.assert_array_equal(F.dropout(x, 0.3).detach().numpy(), y.detach().numpy())
    with pytest.raises(ValueError, match="within 0 and 1"):
        F.dropout(x, 1.5)


@pytest.mark.parametrize("dtype", [ingot.float16, ingot.bfloat16, ingot.float32], ids=str)
@pytest.mark.parametrize("p", [0.3, 1 - 2.0 ** -30])
def test_dropped_elements_have_no_gradient_and_others_one_rounding(dtype, p):
    """This holds also where 1 / (1 - p) exceeds the dtype."""
    ingot.manual_seed(5)
    x = ingot.randn(64, 8, dtype=dtype).requires_grad_()
    y = F.dropout(x, p)
    y.backward(ingot.ones_like(y))
    stays = (y != 0).numpy()
    with np.errstate(over="ignore"):
        scale = np.float32(1 / (1 - p))
        want = ingot.tensor(x.detach().float().numpy() * scale).to(dtype), ingot.tensor(scale).to(dtype)
    assert y.detach().equal(ingot.where(y != 0, want[0], ingot.zeros_like(y)))
    assert not x.grad.float().numpy()[~stays].any() and (x.grad.float().numpy()[stays] == want[1].float().item()).all()
    assert stays.any() == (p == 0.3)


def test_channel_dropout_drops_whole_channels():
    ingot.manual_seed(1)
    y = F.dropout2d(ingot.ones(8, 16, 3, 3), 0.5).numpy()
    each = y.reshape(128, 9)
    assert (each == each[:, :1]).all() and 30 < (each[:, 0] == 0).sum() < 98


CHANNEL_DROPS = [    # function, dims of its input, leading dims drawn separately (0: refused), whether it warns
    (F.dropout1d, 1, 0, False), (F.dropout1d, 2, 1, False), (F.dropout1d, 3, 2, False), (F.dropout1d, 4, 0, False),
    (F.dropout2d, 1, 0, True), (F.dropout2d, 2, 2, True), (F.dropout2d, 3, 2, True), (F.dropout2d, 4, 2, False),
    (F.dropout2d, 5, 2, True),
    (F.dropout3d, 3, 1, True), (F.dropout3d, 4, 1, False), (F.dropout3d, 5, 2, False), (F.dropout3d, 6, 1, True),
    (F.feature_alpha_dropout, 1, 0, False), (F.feature_alpha_dropout, 3, 2, False), (F.feature_alpha_dropout, 4, 2, False)]


@pytest.mark.parametrize(("drop", "dims", "alone", "warns"), CHANNEL_DROPS)
def test_channel_dropout_draws_for_samples_and_channels(drop, dims, alone, warns):
    ingot.manual_seed(2)
    x = ingot.ones(8, 9, *[2] * 4)[(..., *[0] * (6 - dims))]
    with pytest.warns(UserWarning) if warns else contextlib.nullcontext():
        if not alone:
            with pytest.raises(RuntimeError, match="dimensions"):
                drop(x, 0.5, training=True)
            return
        y = drop(x, 0.5, training=True)
    along = [bool((y == y.narrow(d, 0, 1)).all()) for d in range(dims)]
    assert along == [d >= alone for d in range(dims)]


ORDERS = [(0, 1, 2, 3), (0, 2, 3, 1), (1, 0, 3, 2)]


@pytest.mark.parametrize("drop", [F.dropout, F.alpha_dropout, F.dropout2d])
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("step", [1, 2])
def test_dropout_keeps_the_order_in_memory(drop, order, step):
    plain = ingot.randn(3, 4, 5, 6)
    x = plain.permute(order).contiguous().permute([order.index(d) for d in range(4)])[..., ::step]
    ingot.manual_seed(4)
    y = drop(x, 0.5, training=True)
    ingot.manual_seed(4)
    expected = drop(plain[..., ::step].contiguous(), 0.5, training=True)
    np.testing.assert_array_equal(y.numpy(), expected.numpy())
    assert y.permute(order).is_contiguous()


def test_alpha_dropout_keeps_mean_and_variance():
    ingot.manual_seed(1)
    y = F.alpha_dropout(ingot.randn(300, 300), 0.2, training=True)
    assert abs(y.mean().item()) < 0.02 and abs(y.std().item() - 1) < 0.02


# Attention.


def plain_attention(q, k, v, mask, causal, scale):
    s = q @ np.swapaxes(k, -1, -2) * (1 / math.sqrt(q.shape[-1]) if scale is None else scale)
    if mask is not None:
        s = np.where(mask, s, -np.inf) if mask.dtype == bool else s + mask
    if causal:
        s = np.where(np.tri(*s.shape[-2:], dtype=bool), s, -np.inf)
    return np.exp(log_softmax(s, -1)) @ v


@pytest.mark.parametrize("lead", [(), (3,), (2, 3)])
@pytest.mark.parametrize("kind", ["none", "bool", "float", "causal"])
def test_attention_is_softmax_of_scores_times_values(lead, kind):
    q, k, v = (rng.standard_normal((*lead, n, 4)) for n in (5, 6, 6))
    mask = {"bool": np.tri(5, 6, dtype=bool), "float": rng.standard_normal((5, 6))}.get(kind)
    ts = [tensor(a) for a in (q, k, v)]
    got = F.scaled_dot_product_attention(*ts, None if mask is None else ingot.tensor(mask), is_causal=kind == "causal")
    np.testing.assert_allclose(got.detach().numpy(), plain_attention(q, k, v, mask, kind == "causal", None), rtol=1e-10)
    got.sum().backward()
    assert all(t.grad.shape == t.shape for t in ts)


def test_grouped_queries_share_keys():
    q, k, v = (tensor(rng.standard_normal((2, n, 5, 4))) for n in (6, 2, 2))
    got = F.scaled_dot_product_attention(q, k, v, enable_gqa=True)
    wide = [t.detach().repeat_interleave(3, dim=1) for t in (k, v)]
    np.testing.assert_allclose(got.detach().numpy(), F.scaled_dot_product_attention(q, *wide).detach().numpy(), rtol=1e-10)


@pytest.mark.parametrize("queries,keys,batch", [(0, 3, 2), (3, 3, 0), (0, 0, 0)])
def test_multi_head_attention_of_nothing_is_nothing(queries, keys, batch):
    m, k = nn.MultiheadAttention(4, 2), ingot.ones(keys, batch, 4)
    out, shares = m(ingot.ones(queries, batch, 4), k, k, key_padding_mask=ingot.zeros(batch, keys).bool())
    assert out.shape == (queries, batch, 4) and shares.shape == (batch, queries, keys)


@pytest.mark.parametrize(("shapes", "says"), [
    (((3, 4), (3, 4), (3, 2, 4)), "of 3 dimensions, or of 2"), (((4,), (4,), (4,)), "of 3 dimensions, or of 2"),
    (((3, 2, 4), (3, 4), (3, 4)), "of 3 dimensions, or of 2"), (((3, 2, 4), (5, 1, 4), (5, 1, 4)), "S, N, E"),
    (((3, 2, 4), (5, 2, 4), (3, 2, 4)), "S, N, E"), (((3, 4), (5, 4), (3, 4)), "S, N, E")])
def test_multi_head_attention_describes_wrong_inputs(shapes, says):
    layer = ingot.nn.MultiheadAttention(4, 2)
    with pytest.raises(RuntimeError, match=says):
        layer(*[ingot.ones(s) for s in shapes])


def test_attention_dropout_averages_to_attention():
    ingot.manual_seed(0)
    q, k, v = (tensor(rng.standard_normal((200, 3, 4))) for _ in range(3))
    q, k, v = (t.detach()[:1].expand(2000, 3, 4) for t in (q, k, v))
    some = F.scaled_dot_product_attention(q, k, v, dropout_p=0.25).mean(0)
    np.testing.assert_allclose(some.numpy(), F.scaled_dot_product_attention(q, k, v)[0].numpy(), atol=0.08)


def test_attention_arguments_are_checked():
    q = ingot.ones(1, 2, 3, 4)
    with pytest.raises(ValueError, match="not both"):
        F.scaled_dot_product_attention(q, q, q, ingot.ones(3, 3), is_causal=True)
    with pytest.raises(ValueError, match="one size in the last dimension"):
        F.scaled_dot_product_attention(q, ingot.ones(1, 2, 3, 5), q)
    with pytest.raises(ValueError, match="mask"):
        F.scaled_dot_product_attention(q, q, q, ingot.ones(5, 5))


def test_linear_cross_entropy_is_the_two_in_one():
    x, w, b = rng.standard_normal((5, 3)), rng.standard_normal((4, 2, 3)), rng.standard_normal(4)
    y = ingot.tensor(rng.integers(0, 4, (5, 2)))
    got = F.linear_cross_entropy(tensor(x), tensor(w), y, linear_bias=tensor(b), label_smoothing=0.1)
    logits = np.einsum("ni,coi->nco", x, w) + b[:, None]
    np.testing.assert_allclose(got.item(), F.cross_entropy(tensor(logits), y, label_smoothing=0.1).item(), rtol=1e-10)


def test_bags_by_rows_and_by_offsets_agree():
    w, index = tensor(rng.standard_normal((6, 3))), ingot.tensor(rng.integers(0, 6, (3, 2)))
    for mode in ("sum", "mean", "max"):
        by_row = F.embedding_bag(index, w, mode=mode)
        by_offset = F.embedding_bag(index.reshape(6), w, ingot.tensor([0, 2, 4]), mode=mode)
        np.testing.assert_array_equal(by_row.detach().numpy(), by_offset.detach().numpy())
        with_end = F.embedding_bag(index.reshape(6), w, ingot.tensor([0, 2, 4, 6]), mode=mode, include_last_offset=True)
        np.testing.assert_array_equal(by_row.detach().numpy(), with_end.detach().numpy())
    empty = F.embedding_bag(index.reshape(6), w, ingot.tensor([0, 0, 6]), mode="mean")
    assert not empty[0].detach().numpy().any() and not empty[2].detach().numpy().any()
    with pytest.raises(ValueError, match="mode"):
        F.embedding_bag(index, w, mode="median")


BAGS = [[0, 2, 2, 5], [0, 0, 0, 7], [0, 1, 2, 3], [0, 7, 7, 7], [0, 3, 4, 6], [0, 4, 5, 5]]


@pytest.mark.parametrize("padding_idx", [None, 1])
def test_the_largest_of_bags_and_its_gradient(padding_idx):
    """The first of the largest gets the gradient. Bags of a traced function change between calls without a new recording."""
    rng = np.random.default_rng(5)
    index, table, g = rng.integers(0, 4, 7), rng.integers(-2, 3, (4, 3)).astype("f"), rng.standard_normal((4, 3)).astype("f")

    def bags(weight, offsets):
        y = F.embedding_bag(ingot.tensor(index), weight, offsets, mode="max", padding_idx=padding_idx)
        return y, ingot.autograd.grad((y * ingot.tensor(g)).sum(), weight)[0]

    traced = ingot.jit.trace(bags)
    for starts in BAGS:
        want, grad = np.zeros((4, 3), "f"), np.zeros_like(table)
        for bag, (a, b) in enumerate(zip(starts, [*starts[1:], 7])):
            for d in range(3):
                rows = [i for i in index[a:b] if i != padding_idx]
                if rows:
                    best = max(rows, key=lambda i: table[i, d])
                    want[bag, d] = table[best, d]
                    grad[best, d] += g[bag, d]
        for run in (bags, traced):
            y, dw = run(ingot.tensor(table, requires_grad=True), ingot.tensor(starts))
            np.testing.assert_array_equal(y.detach().numpy(), want)
            np.testing.assert_allclose(dw.numpy(), grad, atol=1e-6)
    assert traced.stats()["compiles"] == 1


def test_bags_of_nothing_have_a_gradient_of_zeros():
    w = ingot.ones(4, 3, requires_grad=True)
    F.embedding_bag(ingot.zeros(0, dtype=ingot.int64), w, ingot.tensor([0, 0]), mode="max").sum().backward()
    assert w.grad.tolist() == [[0.0] * 3] * 4


@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("odd", [-0.25, 1.5, math.nan, math.inf])
@pytest.mark.parametrize("n", [3, 100_000])
def test_non_probabilities_are_refused(n, odd, reduction):
    x = ingot.full((n,), 0.5)
    x[n // 2] = odd
    for target in (0.0, 0.5, 1.0):
        with pytest.raises(RuntimeError, match="all elements of input should be between 0 and 1"):
            F.binary_cross_entropy(x, ingot.full((n,), target), reduction=reduction)
    x[n // 2] = 1.0
    assert F.binary_cross_entropy(x, ingot.zeros(n)).isfinite()


def test_the_module_is_pickled_by_its_name():
    assert pickle.loads(pickle.dumps(F)) is F and copy.deepcopy(F) is F
