"""Activations with parameters, softmax, normalisation, losses."""

import numpy as np
import torch

from ..families import distinct, rounded
from ..row import Leaf, Name
from . import case, cases, formula, into_row, pulled
from .elementwise import INF, NAN, as_dtype, complexes, pairs, special

F = torch.nn.functional

formula("leaky_relu")(lambda x, *, negative_slope: F.leaky_relu(x, negative_slope))
formula("elu")(lambda x, *, alpha, scale, input_scale: torch.ops.aten.elu(x, alpha, scale, input_scale))
formula("hardtanh")(lambda x, *, min_val, max_val: F.hardtanh(x, min_val, max_val))
formula("hardshrink")(lambda x, *, lambd: F.hardshrink(x, lambd))
formula("softshrink")(lambda x, *, lambd: F.softshrink(x, lambd))
formula("threshold")(lambda x, *, threshold, value: F.threshold(x, threshold, value))
formula("nan_to_num")(lambda x, *, nan, posinf, neginf: x.nan_to_num(nan, posinf, neginf))


@formula("clamp")
def clamp(x, *, min_val, max_val):
    """The gradient goes to what lies strictly between, as from PyTorch 2.15 on."""
    return torch.where((x > min_val) & (x < max_val), x, x.detach().clamp(min_val, max_val))


PARAMETERS = {
    "leaky_relu": ({"negative_slope": 0.01}, {"negative_slope": -0.5}),
    "elu": ({"alpha": 1.0, "scale": 1.0, "input_scale": 1.0}, {"alpha": 1.625, "scale": 1.0625, "input_scale": 0.5}),
    "hardtanh": ({"min_val": -1.0, "max_val": 1.0}, {"min_val": 0.0, "max_val": 2.5}),
    "clamp": ({"min_val": -1.0, "max_val": 1.0}, {"min_val": 0.5, "max_val": INF}, {"min_val": -INF, "max_val": 0.25}),
    "hardshrink": ({"lambd": 0.5}, {"lambd": 1.25}),
    "softshrink": ({"lambd": 0.5}, {"lambd": 1.25}),
    "threshold": ({"threshold": 0.1, "value": 20.0}, {"threshold": -1.5, "value": -3.0}),
    "nan_to_num": ({"nan": 0.0, "posinf": 100.0, "neginf": -100.0}, {"nan": 5.0, "posinf": 2.0, "neginf": 3.0}),
}


@cases(*PARAMETERS)
def activations(name, rng):
    for i, params in enumerate(PARAMETERS[name]):
        x = rounded(rng, *((3, 5), (2, 4), (7,))[i], low=-3, high=3) + 1 / 128
        yield case(f"parameters {i + 1}", Leaf(x), **params, options={"turned": [0]} if i == 1 else {})
    params = PARAMETERS[name][0]
    calls = [case("", special(dtype), **params) for dtype in ("float64", "float32")]
    if name == "clamp":
        calls += [case("", np.array([5, -5, 0, 1]), min_val=-2, max_val=3)]
    yield into_row("values", calls)
    if name in ("hardtanh", "clamp", "hardshrink", "softshrink", "threshold"):
        ends = [v for v in params.values() if np.isfinite(v)]
        yield case("ends", Leaf(np.array([*ends, *[-v for v in ends], 0.0])), **params)
    if name == "nan_to_num":
        yield case("nan", Leaf(np.array([NAN, INF, -INF, 1.0])), **params)


# Of two and three arguments.

formula("squared_gap")(lambda x, y: (x - y) * (x - y))
formula("lerp")(lambda x, y, *, weight: torch.lerp(x, y, weight))
formula("lerp_by")(lambda x, y, w: torch.lerp(x, y, w))
formula("gate")(lambda x, y: F.glu(torch.stack([x, y]), 0).squeeze(0))
formula("gate_slope")(lambda g, x, y: pulled(lambda y: F.glu(torch.stack([x, y]), 0).squeeze(0), [y], g)[0])
formula("glu")(lambda x, *, dim: F.glu(x, dim))
formula("glu_grad")(lambda g, x, *, dim: pulled(lambda x: F.glu(x, dim), [x], g)[0])
formula("drop")(lambda x, keep, *, scale: torch.where(keep, x * scale, 0.0))
formula("clamp_by")(lambda x, low, high: at_most(x if low is None else torch.maximum(x, low), high))        # half each at ties
formula("prelu")(lambda x, w: torch.where(x > 0, x, w * x))
formula("cross_entropy_of_probability")(lambda x, t: F.binary_cross_entropy(x, t, reduction="none"))
formula("cross_entropy_of_logit")(lambda x, t: F.binary_cross_entropy_with_logits(x, t, reduction="none"))


def at_most(x, high):
    return x if high is None else torch.minimum(x, high)


@formula("huber")
def huber(x, y, *, bound, curve, slope):
    """A parabola, and a line from the bound on."""
    gap = (x - y).abs()
    return torch.where(gap <= bound, curve * (x - y) ** 2, (gap - bound / 2) * slope)


@cases("squared_gap", "huber", "lerp", "lerp_by", "gate", "gate_slope", "cross_entropy_of_probability",
       "cross_entropy_of_logit")
def of_several(name, rng):
    count = 3 if name in ("lerp_by", "gate_slope") else 2
    rows = {"huber": [{"bound": 1.0, "curve": 0.5, "slope": 1.0}, {"bound": 2.5, "curve": 0.25, "slope": 1.25},
                      {"bound": 0.25, "curve": 2.0, "slope": 1.0}],
            "lerp": [{"weight": 0.3125}, {"weight": 0.75}, {"weight": -2.0}, {"weight": 0.5}]}.get(name, [{}, {}])
    low, high = (0.05, 0.95) if name == "cross_entropy_of_probability" else (-3, 3)
    for i, params in enumerate(rows):
        shape = ((3, 5), (2, 4), (6,), (1, 3))[i]
        args = [rounded(rng, *shape, low=low, high=high) for _ in range(count)]
        if name.startswith("cross"):
            args[1] = rounded(rng, *shape, low=0.1, high=0.9)
        yield case(f"row {i + 1}", *map(Leaf, args), **params, options={"turned": list(range(count))} if i == 1 else {})
    if name == "cross_entropy_of_probability":
        yield case("ends", np.array([0.0, 0.0, 1.0, 1.0]), np.array([0.0, 1.0, 0.0, 1.0]))
    elif name == "cross_entropy_of_logit":
        yield case("large", Leaf(np.array([-1e4, 1e4, 0.0, 40.0])), np.array([0.0, 0.0, 1.0, 1.0]))
    elif name == "lerp_by":
        yield case("ends", Leaf(np.array([1.0, 2, 3])), Leaf(np.array([5.0, 7, 9])), Leaf(np.array([0.0, 1, 0.5])))
    elif name in ("squared_gap", "lerp"):
        yield into_row("values", [case("", *pairs(dtype), **rows[0]) for dtype in ("float64", "float32")])
    if name in ("lerp", "lerp_by", "squared_gap"):
        yield case("complex", *[Leaf(complexes(rng, 4)) for _ in range(count)], **rows[0])


@cases("glu", "glu_grad")
def glus(name, rng):
    for label, shape, dim in (("rows", (2, 6), 1), ("columns", (4, 3), 0), ("middle", (2, 4, 3), 1)):
        half = [n // 2 if d == dim else n for d, n in enumerate(shape)]
        yield case(label, *([Leaf(rounded(rng, *half))] if name == "glu_grad" else []),
                   Leaf(rounded(rng, *shape, low=-3, high=3)), dim=dim)


@cases("drop")
def drops(name, rng):
    yield case("more", Leaf(rounded(rng, 3, 5)), rng.random((3, 5)) < 0.6, scale=1.25)
    yield case("alike", Leaf(rounded(rng, 7)), rng.random(7) < 0.4, scale=1.0)
    yield case("special", np.array([NAN, INF, -INF, 2.0]), np.array([False, False, True, True]), scale=2.0)


@cases("clamp_by")
def clamps(name, rng):
    x, low, high = (rounded(rng, 3, 4) for _ in range(3))
    yield case("both", Leaf(x), Leaf(low), Leaf(high + 1))
    yield case("low", Leaf(x[:2].copy()), Leaf(high[:2].copy()), None)
    yield case("high", Leaf(x[1].copy()), None, Leaf(low[1].copy()))
    yield case("ties", Leaf(np.array([1.0, 2.0, 3.0, 0.0])), Leaf(np.array([1.0, 0.0, 3.0, 1.0])),
               Leaf(np.array([2.0, 2.0, 4.0, 0.5])))
    nan = np.array([1.0, NAN, 0.0, NAN])
    yield into_row("values", [case("", nan, nan[::-1].copy(), np.array([0.0, 1.0, NAN, -1.0])),
                              case("", np.array([5, -5, 0]), np.array([-1, -1, 2]), np.array([1, 1, 3]))])


@cases("prelu")
def prelus(name, rng):
    for i, (shape, weight) in enumerate((((5,), (1,)), ((2, 3), (1, 3)), ((2, 3, 4), (1, 3, 1)), ((2, 4), (2, 4)))):
        yield case(f"shape {i + 1}", Leaf(rounded(rng, *shape)), Leaf(rounded(rng, *weight)))


@formula("fake_quantize")
def fake_quantize(x, inverse, scale, zero, *, low, high, whole):
    """The nearest step, with the gradient of x where x is between the limits."""
    if whole and scale.ndim == 0:
        return torch.fake_quantize_per_tensor_affine(x.float(), scale.item(), int(zero), low, high).to(x.dtype)
    count = (x * inverse).round() + zero if whole else (x * inverse + zero).round()
    inside = (count >= low) & (count <= high)
    found = (count.clamp(low, high) - zero) * scale
    return torch.where(inside, x - x.detach(), 0.0) + found.detach()


@cases("fake_quantize")
def fake_quantizes(name, rng):
    for i, (shape, sizes, low, high) in enumerate((((), (), -8, 7), ((7,), (1,), 0, 15), ((2, 5), (1, 5), -2, 1),
                                                   ((2, 3, 4), (1, 3, 1), -128, 127))):
        scale = np.asarray(2.0 ** rng.integers(-4, 1, sizes))
        zero = np.asarray(rng.integers(low, high + 1, sizes), float)
        x, inverse = np.asarray(rounded(rng, *shape, low=-3, high=3) + 1 / 128), np.asarray(1 / scale)
        yield case(f"whole {i + 1}", Leaf(x), inverse, scale, zero, low=low, high=high, whole=True)
        if i:
            yield case(f"broken {i + 1}", Leaf(x), inverse, scale, zero + 0.25, low=low, high=high, whole=False)


# Softmax.

formula("softmax")(lambda x, *, dim: F.softmax(x, dim))
formula("log_softmax")(lambda x, *, dim: F.log_softmax(x, dim))
formula("softmax_grad")(lambda g, y, *, dim: y * (g - (g * y).sum(dim, keepdim=True)))
formula("log_softmax_grad")(lambda g, y, *, dim: g - y.exp() * g.sum(dim, keepdim=True))


@cases("softmax", "log_softmax", "softmax_grad", "log_softmax_grad")
def softmaxes(name, rng):
    grad = name.endswith("grad")
    for label, shape, dim in (("vector", (5,), 0), ("columns", (3, 4), 0), ("rows", (2, 3), 1), ("middle", (2, 4, 3), 1)):
        yield case(label, *([Leaf(rounded(rng, *shape))] if grad else []), Leaf(rounded(rng, *shape, low=-3, high=3)), dim=dim)
    if not grad:
        yield into_row("values", [case("", np.array([[1e4, 0.0, -1e4], [-INF, 0.0, 1.0], [NAN, 1.0, 2.0]]), dim=1),
                                  case("", rounded(rng, 3, 4).astype(as_dtype("bfloat16")), dim=1)])


# Normalisation.

@formula("normalize")
def normalize(x, *, ord, dim, eps):
    """Divide by the norm, or by eps where that is more."""
    return F.normalize(x, ord, dim, eps)


@formula("cosine_similarity")
def cosine_similarity(x, y, *, dim, eps):
    """The product of the directions; a length of eps does not move (PyTorch's rule says that it does)."""
    one, other = (t / torch.linalg.vector_norm(t, 2, dim, True).clamp_min(eps) for t in (x, y))
    return (one * other).sum(dim)


@cases("normalize")
def normalizes(name, rng):
    for shape, dim, ord, eps in (((3, 4), (1,), 2.0, 1e-12), ((4, 3), (0,), 1.0, 1e-3), ((2, 3, 4), (0, 2), 3.0, 1e-6),
                                 ((3, 5), (1,), INF, 1e-12),
                                 ((2, 4), (1,), 2.0, 50.0)):
        yield case(f"order {ord} {eps}", Leaf(distinct(rng, *shape)), ord=ord, dim=dim, eps=eps)
    yield case("small", Leaf(np.array([[1e-7, 2e-7], [3.0, -4.0], [2e-6, 1e-6]])), ord=2.0, dim=(1,), eps=1e-6)


@cases("cosine_similarity")
def cosines(name, rng):
    for shape, dim, eps in (((3, 4), (1,), 1e-8), ((4, 3), (0,), 0.01), ((2, 3, 4), (0, 2), 1e-8)):
        yield case(f"dims {dim}", Leaf(rounded(rng, *shape)), Leaf(rounded(rng, *shape)), dim=dim, eps=eps)
    yield case("small", Leaf(np.array([[0.25, -0.5], [3.0, 4.0]])), Leaf(np.array([[2.0, 1.0], [-0.5, 0.25]])), dim=(1,),
               eps=2.0)


formula("layer_norm")(lambda x, w, b, *, dims, eps: F.layer_norm(x, x.shape[-dims:], w, b, eps))
formula("rms_norm")(lambda x, w, *, dims, eps: F.rms_norm(x, x.shape[-dims:], w, eps))
formula("group_norm")(lambda x, w, b, *, groups, eps: F.group_norm(x, groups, w, b, eps))


@formula("layer_norm_grad")
def layer_norm_grad(g, x, w, *, dims, eps):
    """Autograd's gradients of layer_norm for the input, the weight and the bias."""
    shape = x.shape[-dims:]
    if w is None:
        return pulled(lambda x: F.layer_norm(x, shape, None, None, eps), [x], g)[0]
    return pulled(lambda x, w, b: F.layer_norm(x, shape, w, b, eps), [x, w, w.new_zeros(shape)], g)


@formula("rms_norm_grad")
def rms_norm_grad(g, x, w, *, dims, eps):
    """Autograd's gradients of rms_norm for the input and the weight."""
    if w is None:
        return pulled(lambda x: F.rms_norm(x, x.shape[-dims:], None, eps), [x], g)[0]
    return pulled(lambda x, w: F.rms_norm(x, x.shape[-dims:], w, eps), [x, w], g)


ROWS = (("vector", (5,), 1, 1e-5), ("rows", (3, 7), 1, 0.01), ("two dims", (2, 3, 4), 2, 1e-3), ("all dims", (2, 3), 2, 1e-5))


@cases("layer_norm", "rms_norm")
def row_norms(name, rng):
    layer = name == "layer_norm"
    for i, (label, shape, dims, eps) in enumerate(ROWS):
        w = Leaf(rounded(rng, *shape[-dims:])) if i != 2 else None
        b = Leaf(rounded(rng, *shape[-dims:])) if i in (0, 1) else None
        yield case(label, Leaf(distinct(rng, *shape)), w, *([b] if layer else []), dims=dims, eps=eps)
    x = np.array([[1e-3, -2e-3, 1.5e-3, 0.5e-3], [2e-3, 1e-3, -1e-3, 3e-3]])
    yield case("small", Leaf(x), None, *([Leaf(rounded(rng, 4))] if layer else []), dims=1, eps=1e-5)
    yield case("bfloat16", distinct(rng, 3, 4).astype(as_dtype("bfloat16")), None, *([None] if layer else []), dims=1, eps=1e-5)


@cases("layer_norm_grad", "rms_norm_grad")
def row_norm_gradients(name, rng):
    for i, (label, shape, dims, eps) in enumerate(ROWS):
        w = Leaf(rounded(rng, *shape[-dims:])) if i != 2 else None
        yield case(label, Leaf(rounded(rng, *shape)), Leaf(distinct(rng, *shape)), w, dims=dims, eps=eps)


@cases("group_norm")
def group_norms(name, rng):
    for label, shape, groups, eps, affine in (("plain", (2, 6), 2, 1e-5, (1, 1)), ("one dim", (2, 4, 5), 4, 0.01, (0, 0)),
                                              ("images", (2, 6, 3, 2), 3, 1e-3, (1, 0)),
                                              ("one group", (3, 2, 3), 1, 1e-5, (1, 1))):
        w, b = (Leaf(rounded(rng, shape[1])) if there else None for there in affine)
        yield case(label, Leaf(distinct(rng, *shape)), w, b, groups=groups, eps=eps)
    yield case("small", Leaf(rounded(rng, 2, 4, 3) / 512), None, None, groups=2, eps=1e-5)


def over(v, x):
    """Return values of channels, laid beside images."""
    return v.reshape(1, -1, *(1,) * (x.ndim - 2))


@formula("batch_norm")
def batch_norm(x, w, b, mean, var, *, eps):
    """With given statistics, for which PyTorch's function has no gradient."""
    y = (x - over(mean, x)) / torch.sqrt(over(var, x) + eps)
    y = y if w is None else y * over(w, x)
    return y if b is None else y + over(b, x)


def statistics(x):
    dims = [0, *range(2, x.ndim)]
    return x.mean(dims), x.var(dims, correction=0)


@formula("batch_norm_train")
def batch_norm_train(x, w, b, *, eps):
    """PyTorch's normalisation, and what it normalises by."""
    return F.batch_norm(x, None, None, w, b, True, 0.0, eps), *statistics(x)


@formula("batch_norm_relu_train")
def batch_norm_relu_train(x, w, b, *, eps):
    """The same with relu."""
    y, mean, var = batch_norm_train(x, w, b, eps=eps)
    return F.relu(y), mean, var


@formula("batch_norm_grad")
def batch_norm_grad(g, g_mean, g_var, x, w, mean, var, *, eps):
    """Autograd's gradients for the input, the weight and the bias; mean and var are those of the input."""
    w = torch.ones_like(mean) if w is None else w
    return pulled(lambda x, w, b: batch_norm_train(x, w, b, eps=eps), [x, w, torch.zeros_like(w)], (g, g_mean, g_var))


@formula("batch_norm_relu_grad")
def batch_norm_relu_grad(g, out, g_mean, g_var, x, w, mean, var, *, eps):
    """The same with relu, whose result is `out`."""
    return batch_norm_grad(torch.where(out > 0, g, 0.0), g_mean, g_var, x, w, mean, var, eps=eps)


BATCHES = (("rows", (6, 3), 1e-5, (1, 1)), ("lines", (2, 3, 4), 0.01, (0, 0)), ("images", (2, 2, 3, 4), 1e-3, (1, 0)))


@cases("batch_norm")
def batch_norms(name, rng):
    for label, shape, eps, affine in BATCHES:
        w, b = (Leaf(rounded(rng, shape[1])) if there else None for there in affine)
        yield case(label, Leaf(rounded(rng, *shape)), w, b, Leaf(rounded(rng, shape[1])),
                   Leaf(rounded(rng, shape[1], low=0.01, high=0.5)), eps=eps)
    yield case("small", Leaf(rounded(rng, 4, 2) / 512), None, None, Leaf(rounded(rng, 2) / 512), Leaf(np.array([1e-5, 2e-5])),
               eps=1e-5)


@cases("batch_norm_train", "batch_norm_relu_train")
def batch_norm_trains(name, rng):
    leaf = Leaf if name == "batch_norm_train" else np.asarray
    for label, shape, eps, affine in BATCHES:
        w, b = (leaf(rounded(rng, shape[1])) if there else None for there in affine)
        yield case(label, leaf(distinct(rng, *shape)), w, b, eps=eps)
    yield case("small", leaf(rounded(rng, 5, 2) / 512), None, None, eps=1e-5)


@cases("batch_norm_grad", "batch_norm_relu_grad")
def batch_norm_gradients(name, rng):
    relu = name == "batch_norm_relu_grad"
    leaf = np.asarray if relu else Leaf
    for label, shape, eps, affine in BATCHES:
        x, (w, b, g_mean, g_var) = distinct(rng, *shape), rounded(rng, 4, shape[1])
        w = w if affine[0] else None
        mean, var = (t.numpy() for t in statistics(torch.from_numpy(x)))
        out = [batch_norm_relu_train(*[None if v is None else torch.from_numpy(v) for v in (x, w, b)],
                                     eps=eps)[0].numpy()] if relu else []
        yield case(label, leaf(rounded(rng, *shape)), *out, leaf(g_mean), leaf(g_var), x, None if w is None else leaf(w), mean,
                   var, eps=eps)


# Losses over classes, which lie along dim 1.


def in_range(target, classes):
    return (target >= 0) & (target < classes)


@formula("take_class")
def take_class(x, target):
    """Each row's element at its class, 0 where there is none."""
    good = in_range(target, x.shape[1])
    return torch.where(good, x.gather(1, torch.where(good, target, 0).unsqueeze(1)).squeeze(1), 0.0)


@formula("put_class")
def put_class(v, target, *, classes):
    """Zeros with each row's value at its class."""
    good = in_range(target, classes)
    onehot = F.one_hot(torch.where(good, target, 0), classes).movedim(-1, 1)
    return torch.where(good, v, 0.0).unsqueeze(1) * onehot


formula("class_index")(lambda target, *, classes, ignore_index: (target.long(), (target != ignore_index).sum()))


@formula("class_weight")
def class_weight(target, weight, *, ignore_index, classes, dtype):
    """The weight of each row's class, 0 for ignored rows."""
    weight = torch.ones(classes, dtype=dtype) if weight is None else weight
    return torch.where(target == ignore_index, 0.0, weight[torch.where(target == ignore_index, 0, target)]).to(dtype)


@formula("class_share")
def class_share(g, target, *, ignore_index, classes, reduction):
    """Autograd's gradient of the reduction for each row's loss."""
    keep = (target != ignore_index).to(g.dtype)

    def reduced(rows):
        rows = rows * keep
        return rows if reduction == "none" else rows.sum() if reduction == "sum" else rows.sum() / keep.sum()

    return pulled(reduced, [torch.zeros(target.shape, dtype=g.dtype)], g)[0]


formula("nll_loss")(lambda x, target, weight, *, ignore_index, reduction:
                    F.nll_loss(x, target, weight, ignore_index=ignore_index, reduction=reduction))


@formula("softmax_minus_onehot")
def softmax_minus_onehot(x, lse, a, b, target):
    """a exp(x - lse) less b at the target's class."""
    return a.unsqueeze(1) * torch.exp(x - lse.unsqueeze(1)) - put_class(b, target, classes=x.shape[1])


@formula("cross_entropy_grad")
def cross_entropy_grad(g, x, lse, target, *, ignore_index, reduction):
    """The share of each row times softmax less one-hot."""
    share = class_share(g, target, ignore_index=ignore_index, classes=x.shape[1], reduction=reduction)
    return softmax_minus_onehot(x, lse, share, share, target)


@formula("cross_entropy")
def cross_entropy(x, target, weight, *, ignore_index, label_smoothing, reduction):
    """PyTorch's loss, and each row's logsumexp."""
    loss = F.cross_entropy(x, target, weight, ignore_index=ignore_index, reduction=reduction, label_smoothing=label_smoothing)
    return loss, x.logsumexp(1)


SHAPES = ((4, 3), (2, 5, 3), (1, 3, 2, 2))


def targets(rng, shape, low=0):
    return rng.integers(low, shape[1], (shape[0], *shape[2:]))


@cases("take_class", "put_class", "class_index", "class_weight", "softmax_minus_onehot")
def of_classes(name, rng):
    for i, shape in enumerate(SHAPES):
        target, label = targets(rng, shape, -1 if name in ("take_class", "put_class",
                                                           "softmax_minus_onehot") else 0), f"shape {i + 1}"
        if name == "take_class":
            yield case(label, Leaf(rounded(rng, *shape)), target)
        elif name == "put_class":
            yield case(label, Leaf(rounded(rng, *target.shape)), target, classes=shape[1])
        elif name == "class_index":
            target.reshape(-1)[0] = (-100, 1, 0)[i]
            yield case(label, target.astype((np.int64, np.int32, np.int64)[i]), classes=shape[1], ignore_index=(-100, 1, 0)[i])
        elif name == "class_weight":
            kind = ("float64", "float32", "float64")[i]
            yield case(label, target, None if i == 1 else rounded(rng, shape[1]).astype(kind), ignore_index=(0, -100, 2)[i],
                       classes=shape[1],
                       dtype=Name(kind))
        else:
            yield case(label, Leaf(rounded(rng, *shape)), *[Leaf(rounded(rng, *target.shape)) for _ in range(3)], target)


@cases("class_share", "nll_loss", "cross_entropy_grad", "cross_entropy")
def losses(name, rng):
    for i, (reduction, ignore, weighted, smoothing) in enumerate((("none", 0, False, 0.0), ("mean", 2, True, 0.125),
                                                                  ("sum", -100, True, 0.0),
                                                                  ("mean", -100, False, 0.0), ("mean", 1, False, 0.25),
                                                                  ("none", 2, True, 0.5))):
        shape = SHAPES[i % 3]
        target = targets(rng, shape)
        target.reshape(-1)[:2] = ignore if ignore >= 0 else 0, (ignore + 1) % shape[1] if ignore >= 0 else 1
        x = rounded(rng, *shape, low=-3, high=3)
        weight = rounded(rng, shape[1], low=0.25, high=2) if weighted else None
        g = Leaf(np.asarray(rounded(rng, *(target.shape if reduction == "none" else ()))))
        label, params = f"{reduction} {i}", {"ignore_index": ignore, "reduction": reduction}
        if name == "class_share":
            yield case(label, g, target, **params, classes=shape[1])
        elif name == "nll_loss":
            yield case(label, Leaf(x), target, weight, **params)
        elif name == "cross_entropy_grad":
            yield case(label, g, Leaf(x), Leaf(np.log(np.exp(x).sum(1)).round(6)), target, **params)
        else:
            yield case(label, Leaf(x), target, weight, **params, label_smoothing=smoothing)
    if name in ("nll_loss", "cross_entropy"):
        more = {"label_smoothing": 0.0} if name == "cross_entropy" else {}
        yield case("all ignored", rounded(rng, 2, 3), np.array([1, 1]), None, ignore_index=1, reduction="mean", **more)


# Connectionist temporal classification, by all its alignments.


@formula("ctc_loss")
def ctc_loss(log_probs, targets, input_lengths, target_lengths, *, blank):
    """The sum over all sequences of classes that become the target when repetitions and blanks are removed."""
    import itertools

    starts = np.concatenate([[0], np.cumsum(target_lengths.numpy())])
    found = []
    for n, (steps, size) in enumerate(zip(input_lengths.tolist(), target_lengths.tolist())):
        target = (targets[n, :size] if targets.ndim == 2 else targets[starts[n]:starts[n] + size]).tolist()
        wanted = sorted({blank, *target})
        paths = [p for p in itertools.product(wanted, repeat=steps)
                 if [c for c, _ in itertools.groupby(p) if c != blank] == target]
        scores = [sum(log_probs[t, n, c] for t, c in enumerate(p)) for p in paths]
        found.append(-torch.stack(scores).logsumexp(0) if scores else log_probs.new_tensor(INF))
    return torch.stack(found)


@formula("ctc_loss_grad")
def ctc_loss_grad(g, log_probs, targets, input_lengths, target_lengths, *, blank):
    """Autograd's gradient of the same."""
    return pulled(lambda x: ctc_loss(x, targets, input_lengths, target_lengths, blank=blank), [log_probs], g)[0]


@cases("ctc_loss", "ctc_loss_grad")
def ctc(name, rng):
    lengths = np.array([5, 3, 4, 2]), np.array([3, 2, 1, 0])
    for label, blank, labels in (("rows", 0, [[1, 2, 2], [3, 1, 0], [2, 0, 0], [0, 0, 0]]), ("one row", 0, [1, 2, 2, 3, 1, 2]),
                                 ("last class blank", 3, [[0, 1, 0], [0, 1, 0], [2, 0, 0], [0, 0, 0]])):
        x = rounded(rng, 5, 4, 4)
        x = (x - np.log(np.exp(x).sum(2, keepdims=True))).round(6)
        if name == "ctc_loss":
            yield case(label, Leaf(x), np.array(labels), *lengths, blank=blank)
        else:
            yield case(label, rounded(rng, 4), x, np.array(labels), *lengths, blank=blank)
    x = np.log(np.full((2, 1, 3), 1 / 3)).round(6)
    if name == "ctc_loss":
        yield case("impossible", x, np.array([[1, 1]]), np.array([2]), np.array([2]), blank=0)
