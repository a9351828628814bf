"""Losses: every module and its function, every parameter, values on both sides of each margin and threshold."""

import numpy as np

from ..row import Function, Leaf, Row
from . import distinct, rounded

INF = float("inf")


def _leaf(rng, *shape, **options):
    return Leaf(rounded(rng, *shape, **options))


def _classes(rng, *shape, count, ignored=None):
    found = rng.integers(0, count, shape)
    if ignored is not None:
        found.reshape(-1)[1] = ignored
    return found


def _signs(rng, *shape):
    return rng.choice([-1.0, 1.0], shape)


def _pointwise(rng):
    """Yield (module, function, what, inputs, keyword arguments) of losses of two tensors of one shape."""
    x, y = (lambda *s: _leaf(rng, *s)), (lambda *s: _leaf(rng, *s))
    for reduction in ("none", "mean", "sum"):
        k = {"reduction": reduction}
        yield "MSELoss", "mse_loss", reduction, (x(3, 4), y(3, 4)), k
        yield "L1Loss", "l1_loss", reduction, (x(4, 3), y(4, 3)), k
        yield "SmoothL1Loss", "smooth_l1_loss", reduction, (x(4, 5), y(4, 5)), k
        yield "SmoothL1Loss", "smooth_l1_loss", f"beta, {reduction}", (x(4, 5), y(4, 5)), k | {"beta": 0.375}
        yield "HuberLoss", "huber_loss", reduction, (x(4, 5), y(4, 5)), k
        yield "HuberLoss", "huber_loss", f"delta, {reduction}", (x(4, 5), y(4, 5)), k | {"delta": 0.375}
        p = [_leaf(rng, 3, 4, low=0.0625, high=0.9375) for _ in range(2)]
        yield "BCELoss", "binary_cross_entropy", reduction, (p[0], rounded(rng, 3, 4, low=0, high=1)), k
        yield "BCELoss", "binary_cross_entropy", f"weight, {reduction}", (p[1], rounded(rng, 3, 4, low=0, high=1)), k | {"weight": rounded(rng, 4, low=0.25)}
        yield "BCEWithLogitsLoss", "binary_cross_entropy_with_logits", reduction, (x(3, 4), rounded(rng, 3, 4, low=0, high=1)), k
        yield "BCEWithLogitsLoss", "binary_cross_entropy_with_logits", f"weights, {reduction}", (x(3, 4), rounded(rng, 3, 4, low=0, high=1)), \
            k | {"weight": rounded(rng, 4, low=0.25), "pos_weight": rounded(rng, 4, low=0.25)}
        yield "SoftMarginLoss", "soft_margin_loss", reduction, (x(3, 4), _signs(rng, 3, 4)), k
        yield "HingeEmbeddingLoss", "hinge_embedding_loss", reduction, (x(4, 5), _signs(rng, 4, 5)), k
        yield "HingeEmbeddingLoss", "hinge_embedding_loss", f"margin, {reduction}", (x(4, 5), _signs(rng, 4, 5)), k | {"margin": 0.25}
        for full in (False, True):
            counts = np.array([[0.0, 1.0, 2.0, 5.0], [0.5, 3.0, 1.25, 9.0]])
            yield "PoissonNLLLoss", "poisson_nll_loss", f"full {full}, {reduction}", (x(2, 4), counts), k | {"full": full}
            yield "PoissonNLLLoss", "poisson_nll_loss", f"no log, full {full}, {reduction}", (_leaf(rng, 2, 4, low=0.125), counts), \
                k | {"full": full, "log_input": False, "eps": 0.125}
            yield "GaussianNLLLoss", "gaussian_nll_loss", f"full {full}, {reduction}", (x(3, 4), y(3, 4), _leaf(rng, 3, 4, low=0.25)), k | {"full": full}
        yield "GaussianNLLLoss", "gaussian_nll_loss", f"eps, {reduction}", (x(3, 4), y(3, 4), _leaf(rng, 3, 1, low=0.125)), k | {"eps": 0.75}
    small = np.array([1e-8, 3e-8, 1e-7, 2e-8])
    yield "PoissonNLLLoss", "poisson_nll_loss", "default eps", (Leaf(small), np.array([1.0, 2.0, 0.5, 3.0])), {"log_input": False, "reduction": "none"}
    yield "GaussianNLLLoss", "gaussian_nll_loss", "default eps", (x(4), y(4), Leaf(small * 10)), {"reduction": "none"}
    for reduction in ("none", "mean", "sum", "batchmean"):
        for log_target in (False, True):
            target = rounded(rng, 3, 4, low=-2, high=-0.25) if log_target else rounded(rng, 3, 4, low=0, high=1)
            yield "KLDivLoss", "kl_div", f"{reduction}, log target {log_target}", (_leaf(rng, 3, 4, low=-3, high=-0.25), target), {"reduction": reduction, "log_target": log_target}


def _embeddings(rng):
    """Yield losses of rows and of margins."""
    x = (lambda *s: _leaf(rng, *s))
    for reduction in ("none", "mean", "sum"):
        k = {"reduction": reduction}
        for what, more in (("default", {}), ("margin", {"margin": 0.375})):
            yield "CosineEmbeddingLoss", "cosine_embedding_loss", f"{what}, {reduction}", (x(6, 3), x(6, 3), np.array([1.0, -1, -1, 1, -1, -1])), k | more
            yield "MarginRankingLoss", "margin_ranking_loss", f"{what}, {reduction}", (x(6), x(6), _signs(rng, 6)), k | more
        near = rounded(rng, 5, 4)
        for what, more in (("default", {}), ("margin", {"margin": 0.25, "p": 1}), ("p", {"p": 3.0, "swap": True, "margin": 2.5}), ("eps", {"eps": 0.25, "margin": 2.0})):
            yield "TripletMarginLoss", "triplet_margin_loss", f"{what}, {reduction}", (Leaf(near), Leaf(near + rounded(rng, 5, 4) / 2), x(5, 4)), k | more
        for what, more in (("default", {}), ("margin", {"margin": 0.25, "swap": True, "distance_function": Function("city block")})):
            yield "TripletMarginWithDistanceLoss", "triplet_margin_with_distance_loss", f"{what}, {reduction}", (Leaf(near), Leaf(near + rounded(rng, 5, 4) / 2), x(5, 4)), k | more
        for what, more in (("default", {}), ("margin", {"margin": 0.375}), ("p", {"p": 2, "margin": 1.5}), ("weight", {"weight": rounded(rng, 5, low=0.25)}), ("p weight", {"p": 2, "weight": rounded(rng, 5, low=0.25)})):
            yield "MultiMarginLoss", "multi_margin_loss", f"{what}, {reduction}", (x(3, 5), _classes(rng, 3, count=5)), k | more
        targets = np.array([[2, 0, -1, 1], [3, -1, 2, 0], [-1, 0, 1, 2], [0, 1, 2, 3]])
        yield "MultiLabelMarginLoss", "multilabel_margin_loss", reduction, (x(4, 4), targets), k
        for what, more in (("default", {}), ("weight", {"weight": rounded(rng, 4, low=0.25)})):
            yield "MultiLabelSoftMarginLoss", "multilabel_soft_margin_loss", f"{what}, {reduction}", (x(3, 4), rng.integers(0, 2, (3, 4)).astype(float)), k | more
    yield "CosineEmbeddingLoss", "cosine_embedding_loss", "one", (x(3), x(3), np.array(-1.0)), {"margin": -0.5}
    yield "MultiMarginLoss", "multi_margin_loss", "one row", (x(4), np.array(2)), {}
    yield "MultiLabelMarginLoss", "multilabel_margin_loss", "one row", (x(4), np.array([1, 3, -1, 0])), {}
    yield "TripletMarginLoss", "triplet_margin_loss", "one row", (x(4), x(4), x(4)), {}


def _classification(rng):
    """Yield losses of classes."""
    for reduction in ("none", "mean", "sum"):
        k = {"reduction": reduction}
        for what, more in (("default", {}), ("weight", {"weight": rounded(rng, 5, low=0.25)}), ("ignored", {"ignore_index": 3, "weight": rounded(rng, 5, low=0.25)}), ("ignored by default", {})):
            target = _classes(rng, 6, count=5, ignored=-100 if what == "ignored by default" else 3)
            yield "NLLLoss", "nll_loss", f"{what}, {reduction}", (_leaf(rng, 6, 5, low=-3, high=0), target), k | more
            yield "CrossEntropyLoss", "cross_entropy", f"{what}, {reduction}", (_leaf(rng, 6, 5), target), k | more
            yield "CrossEntropyLoss", "cross_entropy", f"{what}, smooth, {reduction}", (_leaf(rng, 6, 5), target), k | more | {"label_smoothing": 0.25}
            yield "CrossEntropyLoss", "cross_entropy", f"{what}, planes, {reduction}", (_leaf(rng, 2, 5, 3, 2), _classes(rng, 2, 3, 2, count=5, ignored=-100 if "default" in what else 3)), k | more
            if "ignored" not in what:
                weights = {n: v for n, v in more.items() if n == "weight"}
                yield "CrossEntropyLoss", "cross_entropy", f"probabilities, {what}, {reduction}", (_leaf(rng, 4, 5), _leaf(rng, 4, 5, low=0, high=1)), k | weights
                yield "CrossEntropyLoss", "cross_entropy", f"probabilities, {what}, smooth, {reduction}", (_leaf(rng, 4, 5), _leaf(rng, 4, 5, low=0, high=1)), k | weights | {"label_smoothing": 0.5}
        yield "NLLLoss", "nll_loss", f"planes, {reduction}", (_leaf(rng, 2, 4, 3, 2), _classes(rng, 2, 3, 2, count=4, ignored=-100)), k
        yield "CrossEntropyLoss", "cross_entropy", f"one, {reduction}", (_leaf(rng, 5), np.array(2)), k
        yield "CrossEntropyLoss", "cross_entropy", f"all ignored, {reduction}", (_leaf(rng, 3, 5), np.full(3, -100)), k
        yield "CrossEntropyLoss", "cross_entropy", f"nothing, {reduction}", (_leaf(rng, 0, 5), np.zeros(0, np.int64)), k
        for what, more in (("default", {}), ("blank", {"blank": 3}), ("infinite", {"zero_infinity": True}), ("infinite kept", {})):
            lengths = np.array([2, 3, 3]) if "infinite" in what else np.array([7, 6, 5])
            targets = np.array([[1, 2, 2], [2, 1, 0], [1, 1, 0]]) if what != "blank" else np.array([[1, 2, 2], [0, 1, 0], [1, 1, 0]])
            if what == "blank":
                targets[:, 1:] = [[2, 2], [1, 0], [0, 1]]
            logs = _leaf(rng, 7, 3, 4)
            if what != "infinite kept" or reduction == "none":
                yield "CTCLoss", "ctc_loss", f"{what}, {reduction}", (logs, targets, lengths, np.array([3, 2, 2])), k | more
        yield "CTCLoss", "ctc_loss", f"joined targets, {reduction}", (_leaf(rng, 6, 2, 5), np.array([4, 1, 1, 2, 3]), (6, 5), (2, 3)), k
    yield "CTCLoss", "ctc_loss", "unbatched", (_leaf(rng, 6, 4), np.array([1, 1, 2]), np.array(6), np.array(3)), {}


def _others(rng):
    """Yield rows that are no plain pair of module and function."""
    for what, kwargs in (("default", {}), ("sum", {"reduction": "sum", "ignore_index": 2}), ("none", {"reduction": "none", "label_smoothing": 0.25})):
        yield Row(f"linear_cross_entropy/{what}", "function", "nn.functional.linear_cross_entropy", (_leaf(rng, 4, 3), _leaf(rng, 5, 3), _classes(rng, 4, count=5)), kwargs)
    for name in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"):
        for kind in ("float32", "float16", "bfloat16"):
            import ml_dtypes
            dtype = kind if kind != "bfloat16" else ml_dtypes.bfloat16
            yield Row(f"{name}/{kind}", "function", f"nn.functional.{name}", (_leaf(rng, 3, 4, dtype=dtype), _leaf(rng, 3, 4, dtype=dtype)))
        yield Row(f"{name}/complex", "function", f"nn.functional.{name}", (Leaf(rounded(rng, 3) + 1j * rounded(rng, 3)), Leaf(rounded(rng, 3) + 1j * rounded(rng, 3)))) if name in ("l1_loss",) \
            else Row(f"{name}/broadcast", "function", f"nn.functional.{name}", (_leaf(rng, 2, 1, 4), _leaf(rng, 3, 1)))
    for name, more in (("mse_loss", {"weight": rounded(rng, 3, 4, low=0.25)}), ("l1_loss", {"weight": rounded(rng, 3, 4, low=0.25)}), ("huber_loss", {"weight": rounded(rng, 3, 4, low=0.25), "delta": 0.5})):
        for reduction in ("none", "mean", "sum"):
            yield Row(f"{name}/weight, {reduction}", "function", f"nn.functional.{name}", (_leaf(rng, 3, 4), _leaf(rng, 3, 4)), more | {"reduction": reduction})
    for what, sizes, kwargs in (("default", (3, 5), {}), ("sum", (4, 6), {"bias": True, "reduction": "sum", "ignore_index": 2}),
                                ("none", (3, 5), {"reduction": "none", "label_smoothing": 0.25, "weight": rounded(rng, 5, low=0.25)})):
        yield Row(f"LinearCrossEntropyLoss/{what}", "layer", "nn.LinearCrossEntropyLoss", sizes, kwargs, {"inputs": (_leaf(rng, 4, sizes[0]), _classes(rng, 4, count=sizes[1]))})
    yield Row("LinearCrossEntropyLoss/places", "layer", "nn.LinearCrossEntropyLoss", (3, 5), {"out_features": (2,)}, {"inputs": (_leaf(rng, 4, 3), _classes(rng, 4, 2, count=5))})
    for what, kwargs in (("default", {"cutoffs": [2, 5]}), ("small", {"cutoffs": [3], "div_value": 2.0, "head_bias": True})):
        yield Row(f"AdaptiveLogSoftmaxWithLoss/{what}", "layer", "nn.AdaptiveLogSoftmaxWithLoss", (4, 8), kwargs,
                  {"inputs": (_leaf(rng, 6, 4), np.array([0, 7, 3, 5, 1, 6]))})


def rows(torch, rng):
    """Yield each loss as a function and as a module, each with its own numbers."""
    for which in (_pointwise, _embeddings, _classification):
        for module, name, what, inputs, kwargs in which(rng):
            options = {"before": "nn.functional.log_softmax"} if name == "ctc_loss" else {}
            yield Row(f"{name}/{what}", "function", f"nn.functional.{name}", inputs, kwargs, options)
            if "mean" in what or "," not in what or what == "default, sum":
                other = tuple(Leaf(distinct(rng, *a.array.shape)) if isinstance(a, Leaf) and name in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "soft_margin_loss") else a for a in inputs)
                if name == "ctc_loss":
                    other = (np.log(np.full(inputs[0].array.shape, 0.25)) + inputs[0].array / 4, *inputs[1:])      # (no gradient)
                yield Row(f"{module}/{what}", "layer", f"nn.{module}", (), kwargs, {"inputs": other})
    yield from _others(rng)
    yield Row("ctc_loss/of any scores", "function", "nn.functional.ctc_loss", (_leaf(rng, 7, 2, 4), np.array([[1, 2, 2], [2, 1, 3]]), np.array([7, 6]), np.array([3, 3])))
