"""Transforms of distributions: values, inverses, volumes, shapes, caches and what a transform says of itself."""

import numpy as np

from ..kinds.distributions import apply, leaves_of
from ..row import Build, Leaf, Row, fill, lookup, prepare
from ..tensors import gradients, to_tensor

T = "distributions.transforms."
QUANTITIES = ("forward", "inverse", "back", "volume", "volume of inverse", "sign", "domain", "codomain")
SMOOTH = ("forward", "back", "volume")

X = np.array([[0.375, -1.25, 0.75], [2.5, -0.125, -3.0]])
SMALL = np.array([[0.25, 0.5, 0.125], [0.75, 0.0625, 0.625]])
POSITIVE = np.array([[0.375, 1.25, 2.75], [7.5, 0.125, 3.0]])
FAR = np.array([-800.0, -40.0, -9.0, 19.5, 20.5, 800.0])
FAR_SINGLE = np.array([-200.0, -30.0, -4.5, 9.0, 19.5, 120.0], "float32")
MATRICES = np.array([[[0.5, -1.25, 2.0], [0.25, -0.75, 1.5], [-2.0, 0.375, 1.0]], [[-0.5, 1.0, 0.0], [3.0, 0.125, -1.0], [0.75, -0.25, 0.5]]])
CORR = np.array([[[1.0, 0.0, 0.0], [0.6, 0.8, 0.0], [0.48, -0.64, 0.6]], [[1.0, 0.0, 0.0], [-0.28, 0.96, 0.0], [0.0, 0.6, 0.8]]])
CORR4 = np.array([[1.0, 0, 0, 0], [0.6, 0.8, 0, 0], [0.48, -0.64, 0.6, 0], [0.5, 0.1, -0.7, 0.5]])
DEFINITE = np.array([[2.0, 0.5, -0.25], [0.5, 1.5, 0.75], [-0.25, 0.75, 3.0]])
SIMPLEX = np.array([[0.25, 0.125, 0.5, 0.125], [0.0625, 0.25, 0.1875, 0.5]])


def _of(values, dtype="float64"):
    return np.array(values, dtype)


def _leaf(values):
    return Leaf(_of(values))


def _t(name, *args, **kwargs):
    return Build(T + name, args, kwargs)


AFFINE, EXP, STICK = _t("AffineTransform", 0.5, -2.0), _t("ExpTransform"), _t("StickBreakingTransform")
NORMAL = Build("distributions.Normal", (_leaf([0.5, -1.0, 0.25]), _leaf([1.5, 0.75, 2.0])))
GUMBEL = Build("distributions.Gumbel", (_leaf([[0.25], [-0.5]]), _leaf(1.25)))

# Rows: name of the class, what varies, arguments, argument `x`, result `back`; `shapes` where the default ones do not fit.
SAME = ((5, 1, 3), (4, 3))
TABLE = [
    ("ExpTransform", "plain", (), {}, X, POSITIVE, SAME),
    ("ExpTransform", "cached and far", (), {"cache_size": 1}, FAR, _of([0.0, 1e-300, 4e200]), SAME),
    ("PowerTransform", "scalar", (_leaf(1.5),), {}, POSITIVE, SMALL, SAME),
    ("PowerTransform", "negative and broadcast", (_leaf([[-0.5], [2.0]]),), {"cache_size": 1}, _of([0.375, 1.25, 2.75]), SMALL, ((3,), (2, 3))),
    ("PowerTransform", "number", (-1.0,), {}, POSITIVE, SMALL, SAME),
    ("SigmoidTransform", "plain", (), {}, X, SMALL, SAME),
    ("SigmoidTransform", "cached and far", (), {"cache_size": 1}, FAR, _of([0.0, 1e-320, 0.5, 1 - 2.0**-53, 1.0]), SAME),
    ("SigmoidTransform", "float32", (), {}, FAR_SINGLE, _of([0.0, 1e-40, 0.5, 1 - 2.0**-24, 1.0], "float32"), SAME),
    ("SoftplusTransform", "plain", (), {}, X, POSITIVE, SAME),
    ("SoftplusTransform", "cached and far", (), {"cache_size": 1}, FAR, _of([1e-9, 19.5, 20.5, 90.0]), SAME),
    ("TanhTransform", "plain", (), {}, X, SMALL - 0.5, SAME),
    ("TanhTransform", "cached and far", (), {"cache_size": 1}, FAR, _of([-1.0, 0.999, 1.0]), SAME),
    ("AbsTransform", "plain", (), {}, X, POSITIVE, SAME),
    ("AbsTransform", "cached", (), {"cache_size": 1}, X[0], -SMALL, SAME),
    ("AffineTransform", "numbers", (0.5, -2.0), {}, X, POSITIVE, SAME),
    ("AffineTransform", "integers", (1, 3), {"cache_size": 1}, X[0], POSITIVE, SAME),
    ("AffineTransform", "flat", (0.25, 0), {}, X[0], None, SAME),
    ("AffineTransform", "tensors", (_leaf([[0.5], [-1.0]]), _leaf([0.75, -1.5, 2.0])), {}, X, POSITIVE, ((5, 1, 3), (3,))),
    ("AffineTransform", "wider than values", (_leaf([[0.5], [-1.0]]), 1.5), {"cache_size": 1}, X[0], POSITIVE, ((3,), (2, 3))),
    ("AffineTransform", "events of numbers", (0.5, -2.0), {"event_dim": 1}, X, POSITIVE, SAME),
    ("AffineTransform", "events of tensors", (_leaf([0.5, -1.0, 2.5]), _leaf([0.75, -1.5, 2.0])), {"event_dim": 1}, X, POSITIVE, SAME),
    ("AffineTransform", "events of one tensor", (0.25, _leaf(-1.5)), {"event_dim": 1}, X, POSITIVE, SAME),
    ("AffineTransform", "matrices", (0.125, _leaf(X[::-1] * 0.5)), {"event_dim": 2}, np.stack([X, POSITIVE]), X, ((4, 2, 3), (2, 3))),
    ("SoftmaxTransform", "plain", (), {}, X, SIMPLEX, SAME),
    ("SoftmaxTransform", "cached and far", (), {"cache_size": 1}, FAR, _of([0.0, 0.25, 0.75]), SAME),
    ("StickBreakingTransform", "plain", (), {}, X, SIMPLEX, SAME),
    ("StickBreakingTransform", "one", (), {"cache_size": 1}, X[:, :1], SIMPLEX[:, 1:3] / 0.75, SAME),
    ("StickBreakingTransform", "far", (), {}, _of([-30.0, 2.0, 700.0, 50.0]), _of([0.5, 0.5, 0.0, 0.25, -0.25]), SAME),
    ("LowerCholeskyTransform", "plain", (), {}, MATRICES, CORR, SAME),
    ("LowerCholeskyTransform", "cached", (), {"cache_size": 1}, MATRICES[0, :2, 1:], CORR4, SAME),
    ("PositiveDefiniteTransform", "plain", (), {}, MATRICES, DEFINITE, SAME),
    ("PositiveDefiniteTransform", "cached", (), {"cache_size": 1}, MATRICES[0, :2, 1:], np.stack([DEFINITE, DEFINITE @ DEFINITE]), SAME),
    ("CorrCholeskyTransform", "of 3", (), {}, X, CORR, ((5, 3), (5, 3, 3))),
    ("CorrCholeskyTransform", "of 2", (), {"cache_size": 1}, X[:, :1], _of([[1.0, 0.0], [-0.6, 0.8]]), ((4, 1), (4, 2, 2))),
    ("CorrCholeskyTransform", "of 4", (), {}, X.reshape(6), CORR4, ((6,), (4, 4))),
    ("CorrCholeskyTransform", "far", (), {}, _of([40.0, -0.5, -25.0]), CORR[0], ((10,), (5, 5))),
    ("CumulativeDistributionTransform", "normal", (NORMAL,), {}, X, SMALL, SAME),
    ("CumulativeDistributionTransform", "gumbel", (GUMBEL,), {"cache_size": 1}, X, SMALL, SAME),
    ("ComposeTransform", "none", ([],), {}, X, POSITIVE, SAME),
    ("ComposeTransform", "two", ([_t("AffineTransform", _leaf(0.5), _leaf([-2.0, 1.5, 0.25])), EXP],), {}, X, POSITIVE, SAME),
    ("ComposeTransform", "other order", ([EXP, AFFINE],), {"cache_size": 1}, X, -POSITIVE, SAME),
    ("ComposeTransform", "to the simplex", ([AFFINE, STICK],), {}, X, SIMPLEX, SAME),
    ("ComposeTransform", "of compositions", ([_t("ComposeTransform", [EXP, _t("PowerTransform", _leaf(-1.5))]), _t("TanhTransform")],), {}, X[0], SMALL, SAME),
    ("ComposeTransform", "reshaped", ([_t("ReshapeTransform", (3, 2), (2, 3)), STICK, _t("AffineTransform", 1.0, 2.0, event_dim=2)],), {},
     MATRICES[:, :, :2], 1 + 2 * SIMPLEX, ((7, 3, 2), (7, 2, 4))),
    ("ComposeTransform", "more dimensions", ([_t("ReshapeTransform", (6,), (2, 3)), EXP, AFFINE],), {}, np.stack([X.reshape(6), POSITIVE.reshape(6)]), -MATRICES[:, :2] - 4,
     ((4, 6), (4, 2, 3))),
    ("IndependentTransform", "one", (EXP, 1), {}, X, POSITIVE, SAME),
    ("IndependentTransform", "two", (_t("AffineTransform", _leaf(0.5), _leaf([-2.0, 1.5, 0.25])), 2), {"cache_size": 1}, X, POSITIVE, SAME),
    ("IndependentTransform", "none", (_t("TanhTransform"), 0), {}, X, SMALL, SAME),
    ("IndependentTransform", "of vectors", (STICK, 1), {}, X, SIMPLEX, SAME),
    ("IndependentTransform", "onto", (_t("AbsTransform"), 1), {}, X, POSITIVE, SAME),
    ("ReshapeTransform", "split", ((3,), (3, 1)), {}, X, MATRICES[:, :, :1], ((5, 3), (5, 3, 1))),
    ("ReshapeTransform", "joined", ((2, 3), (6,)), {"cache_size": 1}, X, X.reshape(6), ((4, 2, 3), (4, 6))),
    ("ReshapeTransform", "turned", ((3, 2), (2, 3)), {}, MATRICES[:, :, 1:], np.stack([POSITIVE, X]), ((7, 3, 2), (7, 2, 3))),
    ("CatTransform", "defaults", ([EXP, AFFINE],), {}, X, POSITIVE, SAME),
    ("CatTransform", "lengths", ([EXP, AFFINE],), {"dim": -1, "lengths": [2, 1]}, X, POSITIVE, SAME),
    ("CatTransform", "of vectors", ([_t("AffineTransform", 0.5, 3.0, event_dim=1), EXP],), {"dim": -1, "lengths": [2, 1], "cache_size": 1}, X, POSITIVE, SAME),
    ("CatTransform", "batches of vectors", ([_t("AffineTransform", 0.5, _leaf([3.0, 0.5, -0.25]), event_dim=1), EXP],), {"dim": 0, "lengths": [1, 1]}, X, POSITIVE, SAME),
    ("CatTransform", "onto", ([_t("AbsTransform"), EXP],), {"dim": 1, "lengths": [1, 2]}, X, POSITIVE, SAME),
    ("StackTransform", "defaults", ([EXP, AFFINE],), {}, X, POSITIVE, SAME),
    ("StackTransform", "dim 1", ([EXP, _t("SigmoidTransform"), AFFINE],), {"dim": 1, "cache_size": 1}, X, SMALL, SAME),
    ("StackTransform", "dim -1", ([_t("PowerTransform", _leaf(0.5)), _t("AbsTransform"), EXP],), {"dim": -1}, POSITIVE, SMALL, SAME),
    ("StackTransform", "of vectors", ([STICK, _t("ComposeTransform", [AFFINE, STICK])],), {"dim": 0}, X, SIMPLEX, SAME),
    ("identity_transform", "object", (), {}, X, POSITIVE, SAME),
    ("identity_transform", "single", (), {}, FAR_SINGLE, FAR_SINGLE[::-1].copy(), SAME),
]
# Transforms to compare with, by class: equal ones and others.
OTHERS = {
    "PowerTransform": [_t("PowerTransform", _of(1.5)), _t("PowerTransform", _of([[-0.5], [2.0]])), _t("PowerTransform", -1.0)],
    "AffineTransform": [_t("AffineTransform", 0.5, -2.0), _t("AffineTransform", 0.5, 2.0), _t("AffineTransform", 1, 3, event_dim=1), _t("AffineTransform", _of(0.25), 0)],
    "ComposeTransform": [_t("ComposeTransform", []), _t("ComposeTransform", [EXP, AFFINE]), _t("ComposeTransform", [AFFINE, EXP])],
    "ExpTransform": [_t("ExpTransform", cache_size=1), _t("TanhTransform")], "AbsTransform": [_t("AbsTransform"), EXP],
    "SigmoidTransform": [_t("SigmoidTransform"), _t("SoftplusTransform")], "TanhTransform": [_t("TanhTransform"), EXP],
    "SoftplusTransform": [_t("SoftplusTransform"), _t("SigmoidTransform")], "SoftmaxTransform": [_t("SoftmaxTransform"), STICK],
    "StickBreakingTransform": [STICK, _t("SoftmaxTransform")], "CorrCholeskyTransform": [_t("CorrCholeskyTransform")],
    "LowerCholeskyTransform": [_t("LowerCholeskyTransform"), _t("PositiveDefiniteTransform")],
    "PositiveDefiniteTransform": [_t("PositiveDefiniteTransform"), _t("LowerCholeskyTransform")],
    "identity_transform": [_t("ComposeTransform", []), EXP],
}
LINEAR = (2e-9, "PyTorch's softplus is linear above 20")
ROOM = {"SigmoidTransform/cached and far": LINEAR, "SoftplusTransform/cached and far": LINEAR,
        "TanhTransform/cached and far": (1e-8, "PyTorch's derivative of tanh cancels near one")}


def supported(torch, row) -> tuple[list, list]:
    """Return the quantities that PyTorch has of a row's transform, and those that it differentiates."""
    (args, kwargs, value, back), given = prepare(torch, (row.args, row.kwargs, row.options["value"], row.options["back"]))
    tensors = [to_tensor(torch, a, leaf) for a, leaf in given]
    target = lookup(torch, row.target)
    made = target(*fill(args, tensors), **fill(kwargs, tensors)) if isinstance(target, type) else target
    found, differentiated = [], []
    for quantity in QUANTITIES:
        if back is None and quantity not in ("forward", "sign", "domain", "codomain"):      # it has no inverse
            continue
        try:
            out = apply(made, quantity, fill(value, tensors), fill(back, tensors))
        except (NotImplementedError, RuntimeError):      # PyTorch cannot check joined vectors and numbers
            assert quantity not in ("forward", "back"), row.name
            continue
        found.append(quantity)
        if quantity in SMOOTH and gradients(torch, {quantity: out}, leaves_of(tensors, given), keep=True):
            differentiated.append(quantity)
    return found, differentiated


def rows(torch, rng):
    """Yield two rows and more of every transform."""
    public = {n for n in torch.distributions.transforms.__all__ if n != "Transform"}
    counts = {n: sum(row[0] == n for row in TABLE) for n in public}
    assert min(counts.values()) >= 2 and {row[0] for row in TABLE} == public, counts
    for name, what, args, kwargs, value, back, shapes in TABLE:
        options = {"value": Leaf(value), "back": back if back is None else Leaf(back), "cache": kwargs.get("cache_size", 0),
                   "shapes": shapes, "others": OTHERS.get(name, [])}
        row = Row(f"{name}/{what}", "transform", T + name, args, kwargs, options)
        options["quantities"], options["differentiated"] = supported(torch, row)
        row.tolerance, row.reason = ROOM.get(row.name, (None, ""))
        yield row
