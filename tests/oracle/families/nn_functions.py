"""Functions of `nn.functional` with their last arguments left out: rows that pin the defaults, and the sizes of eps."""

import numpy as np

from ..row import Leaf, Row
from . import distinct, rounded

IN_SINGLE = {"cosine_embedding_loss": {2}, "binary_cross_entropy": {2}}        # rows that meet an eps which PyTorch keeps as a float32


def _leaf(rng, *shape, **options):
    return Leaf(rounded(rng, *shape, **options))


def _free(rng, *shape):
    return Leaf(distinct(rng, *shape))


def _classes(rng, *shape, count):
    return rng.integers(0, count, shape)


def _losses(rng):
    """Yield losses by their default reduction, several elements each."""
    x = (lambda *s: _leaf(rng, *s))
    inner = (lambda *s: _leaf(rng, *s, low=0.125, high=0.875))
    signs = rng.choice([-1.0, 1.0], 6)
    yield "cosine_embedding_loss", (x(6, 3), x(6, 3), signs), {}
    yield "hinge_embedding_loss", (x(6), signs), {}
    yield "margin_ranking_loss", (x(6), x(6), signs), {}
    yield "soft_margin_loss", (x(6), signs), {}
    yield "multilabel_margin_loss", (x(3, 4), np.array([[2, 0, -1, 1], [3, -1, 2, 0], [0, 1, 2, -1]])), {}
    yield "multilabel_soft_margin_loss", (x(3, 4), rng.integers(0, 2, (3, 4)).astype(float)), {}
    yield "multi_margin_loss", (x(3, 5), _classes(rng, 3, count=5)), {}
    yield "nll_loss", (x(4, 5), _classes(rng, 4, count=5)), {}
    yield "nll_loss", (x(4, 5), np.array([1, -100, 4, 0])), {}
    yield "cross_entropy", (x(4, 5), np.array([1, -100, 4, 0])), {}
    yield "gaussian_nll_loss", (x(3, 4), x(3, 4), inner(3, 4)), {}
    yield "gaussian_nll_loss", (x(3, 4), x(3, 4), 0.75), {}
    yield "kl_div", (_leaf(rng, 3, 4, low=-3, high=-0.25), inner(3, 4)), {}
    yield "poisson_nll_loss", (x(3, 4), rounded(rng, 3, 4, low=0, high=4)), {}
    yield "mse_loss", (x(3, 4), x(3, 4)), {}
    yield "l1_loss", (x(3, 4), x(3, 4)), {}
    yield "smooth_l1_loss", (x(3, 4), x(3, 4)), {}
    yield "huber_loss", (x(3, 4), x(3, 4)), {}
    yield "binary_cross_entropy", (inner(3, 4), inner(3, 4)), {}
    yield "binary_cross_entropy", (Leaf(np.array([0.0, 1.0, 0.0, 1.0, 0.25])), np.array([0.0, 1.0, 1.0, 0.25, 1.0])), {"reduction": "none"}
    yield "binary_cross_entropy_with_logits", (x(3, 4), inner(3, 4)), {}
    yield "binary_cross_entropy_with_logits", (Leaf(np.array([-800.0, 800.0, -800.0, 40.0])), np.array([0.0, 1.0, 0.75, 0.0])), {"reduction": "none"}
    yield "triplet_margin_loss", (x(4, 3), x(4, 3), x(4, 3)), {}
    near = rounded(rng, 4, 3)
    yield "triplet_margin_loss", (Leaf(near), Leaf(near + rounded(rng, 4, 3) * 2.0 ** -19), Leaf(near - rounded(rng, 4, 3) * 2.0 ** -19)), {"reduction": "none"}
    yield "triplet_margin_with_distance_loss", (x(4, 3), x(4, 3), x(4, 3)), {}
    yield "cosine_embedding_loss", (Leaf(rounded(rng, 4, 3) * 2.0 ** -20), Leaf(rounded(rng, 4, 3) * 2.0 ** -20), np.array([1.0, -1.0, 1.0, -1.0])), {"reduction": "none", "margin": -1.0}
    yield "multi_margin_loss", (Leaf(np.array([[0.5, -0.5, 1.5, 0.25], [2.0, 1.0, 3.0, -1.0]])), np.array([0, 1])), {"reduction": "none"}


def _pooling(rng):
    """Yield pools with as few arguments as they take, and with an even window at the rim."""
    shapes = {1: (2, 3, 7), 2: (2, 3, 5, 7), 3: (1, 2, 5, 3, 4)}
    for rank, shape in shapes.items():
        size = (3, 2, 2)[:rank]
        yield f"avg_pool{rank}d", (_leaf(rng, *shape), size), {}
        yield f"avg_pool{rank}d", (_leaf(rng, *shape), size), {"padding": 1}
        yield f"avg_pool{rank}d", (_leaf(rng, *shape), size), {"padding": 1, "ceil_mode": True, "stride": 2}
        yield f"avg_pool{rank}d", (_leaf(rng, *shape), size), {"padding": 1, "count_include_pad": False}
        yield f"max_pool{rank}d", (_free(rng, *shape), size), {}
        yield f"max_pool{rank}d", (_free(rng, *shape), size), {"return_indices": True, "padding": 1}
        yield f"max_pool{rank}d", (_free(rng, *shape), 2), {"dilation": 2, "stride": 1}
        yield f"max_pool{rank}d_with_indices", (_free(rng, *shape), size), {}
        yield f"max_pool{rank}d_with_indices", (_free(rng, *shape), 2), {"stride": 1, "padding": 1, "dilation": (1, 2, 1)[:rank], "ceil_mode": True, "return_indices": True}
        yield f"adaptive_max_pool{rank}d", (_free(rng, *shape), (3, 2, 3)[:rank]), {}
        yield f"adaptive_max_pool{rank}d_with_indices", (_free(rng, *shape), (3, 2, 3)[:rank]), {}
        yield f"adaptive_max_pool{rank}d_with_indices", (_free(rng, *shape[1:]), 2), {"return_indices": True}
        yield f"adaptive_avg_pool{rank}d", (_leaf(rng, *shape), (3, 2, 3)[:rank]), {}
        if rank > 1:
            yield f"avg_pool{rank}d", (_leaf(rng, *shape), size), {"divisor_override": 3}
            shape = (*shape[:2], 5, 7, 6)[:rank + 2]
            samples = rng.uniform(0, 1, (*shape[:2], rank)).round(3)
            for name in (f"fractional_max_pool{rank}d", f"fractional_max_pool{rank}d_with_indices"):
                yield name, (_free(rng, *shape), 2), {"output_size": (3, 2, 2)[:rank], "_random_samples": samples}
                yield name, (_free(rng, *shape), (2, 1, 2)[:rank]), {"output_ratio": (0.5, 0.75, 0.5)[:rank], "return_indices": True, "_random_samples": samples}


def _norms(rng):
    """Yield normalisations with as few arguments as they take."""
    running = (rounded(rng, 3), rounded(rng, 3, low=0.5))
    yield "batch_norm", (_leaf(rng, 4, 3), *running), {}
    yield "batch_norm", (_leaf(rng, 2, 3, 4), None, None), {"training": True}
    yield "batch_norm", (_leaf(rng, 2, 3, 2, 2), *running), {"weight": _leaf(rng, 3), "eps": 0.5}
    yield "batch_norm", (_leaf(rng, 2, 3, 2), *running), {"bias": _leaf(rng, 3)}
    yield "batch_norm", (Leaf(rounded(rng, 5, 3) * 2.0 ** -9), None, None, _leaf(rng, 3), _leaf(rng, 3), True), {}
    yield "instance_norm", (_leaf(rng, 2, 3, 4),), {}
    yield "instance_norm", (_leaf(rng, 2, 3, 4), *running), {"use_input_stats": False, "weight": _leaf(rng, 3)}
    yield "instance_norm", (Leaf(rounded(rng, 2, 3, 2, 2) * 2.0 ** -9),), {"weight": _leaf(rng, 3), "bias": _leaf(rng, 3)}
    yield "layer_norm", (_leaf(rng, 2, 3, 4), (4,)), {}
    yield "layer_norm", (_leaf(rng, 2, 3, 4), (3, 4)), {"weight": _leaf(rng, 3, 4)}
    yield "layer_norm", (Leaf(rounded(rng, 3, 4) * 2.0 ** -9), (4,)), {"bias": _leaf(rng, 4)}
    yield "group_norm", (_leaf(rng, 2, 6, 3), 2), {}
    yield "group_norm", (Leaf(rounded(rng, 2, 4, 3) * 2.0 ** -9), 2), {"weight": _leaf(rng, 4)}
    yield "group_norm", (_leaf(rng, 2, 4), 2), {"weight": _leaf(rng, 4), "bias": _leaf(rng, 4), "eps": 0.5}
    yield "rms_norm", (_leaf(rng, 2, 3, 4), (4,)), {}
    yield "rms_norm", (Leaf(rounded(rng, 3, 4) * 2.0 ** -26), (4,)), {}
    yield "rms_norm", (Leaf(rounded(rng, 3, 4, dtype="float32") * np.float32(2.0 ** -11)), (4,)), {}
    yield "rms_norm", (_leaf(rng, 3, 2, 4), (2, 4)), {"weight": _leaf(rng, 2, 4), "eps": 0.5}
    yield "local_response_norm", (_leaf(rng, 2, 5, 3), 3), {}
    yield "local_response_norm", (_leaf(rng, 1, 5, 2, 3), 4), {"alpha": 2.0}
    yield "local_response_norm", (_leaf(rng, 1, 4, 2), 2), {"beta": 0.25, "alpha": 0.5}
    yield "normalize", (Leaf(rounded(rng, 3, 4) * 2.0 ** -43),), {}
    yield "normalize", (_leaf(rng, 2, 3, 4),), {}
    yield "normalize", (_leaf(rng, 2, 3, 4),), {"dim": -1, "p": 1.0}
    yield "normalize", (_leaf(rng, 3, 4),), {"dim": (0, 1)}
    yield "normalize", (Leaf(rounded(rng, 3, 4) * 2.0 ** -3),), {"eps": 0.75, "p": 3.0}


def _activations(rng):
    """Yield activations with as few arguments as they take, at inputs that tell their constants."""
    wide = np.array([-21.5, -3.25, -0.75, -0.375, 0.25, 0.625, 1.75, 6.5, 19.75, 20.5])
    for name in ("celu", "elu", "gelu", "hardshrink", "hardtanh", "leaky_relu", "logsigmoid", "mish", "relu", "relu6", "selu", "silu", "softplus", "softshrink", "softsign", "tanhshrink", "hardswish"):
        yield name, (Leaf(wide),), {}
        yield name, (Leaf(distinct(rng, 3, 4, dtype="float32")),), {}
    yield "gelu", (Leaf(wide / 4),), {"approximate": "tanh"}
    yield "hardshrink", (Leaf(wide),), {"lambd": 0.7}
    yield "hardshrink", (Leaf(np.array([0.5, -0.5, 0.5 + 2.0 ** -20, -0.5 - 2.0 ** -20, 0.5 - 2.0 ** -20])),), {}
    yield "softshrink", (Leaf(wide),), {"lambd": 0.7}
    yield "softplus", (Leaf(wide),), {"beta": 0.5}
    yield "softplus", (Leaf(wide),), {"threshold": 1.0}
    yield "threshold", (Leaf(wide), 0.625, 3.5), {}
    yield "prelu", (_leaf(rng, 2, 3, 2), _leaf(rng, 3)), {}
    yield "prelu", (_leaf(rng, 3), _leaf(rng, 1)), {}
    yield "glu", (_leaf(rng, 3, 6),), {}
    yield "glu", (_leaf(rng, 4, 3), 0), {}
    yield "rrelu", (Leaf(wide),), {}
    yield "rrelu", (Leaf(wide), 0.25, 0.75), {"inplace": False}
    yield "rrelu_", (rounded(rng, 5),), {}
    yield "rrelu_", (rounded(rng, 2, 3), 0.5, 0.625), {"training": False}


def _dropouts(rng):
    """Yield dropout of nothing and outside of training."""
    for name, shape in (("dropout", (3, 4)), ("alpha_dropout", (3, 4)), ("dropout1d", (2, 3, 4)), ("dropout2d", (2, 3, 2, 2)), ("dropout3d", (1, 2, 2, 2, 3)), ("feature_alpha_dropout", (2, 3, 4))):
        yield name, (_leaf(rng, *shape), 0.0, True), {}
        yield name, (_leaf(rng, *shape), 0.75, False), {}
    yield "dropout", (_leaf(rng, 3), 1.0, True), {}


def _distances(rng):
    yield "cosine_similarity", (_leaf(rng, 3, 4), _leaf(rng, 3, 4)), {}
    yield "cosine_similarity", (_leaf(rng, 2, 3, 4), _leaf(rng, 3, 4)), {"dim": -1}
    yield "cosine_similarity", (_leaf(rng, 4), _leaf(rng, 4)), {"dim": 0}
    yield "cosine_similarity", (rounded(rng, 3, 4) * 2.0 ** -28, rounded(rng, 3, 4) * 2.0 ** -28), {}
    yield "pairwise_distance", (_leaf(rng, 3, 4), _leaf(rng, 4)), {}
    yield "pairwise_distance", (_leaf(rng, 4), _leaf(rng, 4)), {"keepdim": True, "p": 1.0}
    yield "pairwise_distance", (Leaf(rounded(rng, 3, 4) * 2.0 ** -20), Leaf(rounded(rng, 3, 4) * 2.0 ** -20)), {}
    yield "pairwise_distance", (_leaf(rng, 2, 3, 4), _leaf(rng, 2, 3, 4)), {"p": float("inf")}
    yield "pdist", (_leaf(rng, 5, 3),), {}
    for p in (0.0, 1.0, 3.0, float("inf")):
        yield "pdist", (_leaf(rng, 4, 3),), {"p": p}


def _linear(rng):
    yield "linear", (_leaf(rng, 2, 3), _leaf(rng, 4, 3)), {}
    yield "linear", (_leaf(rng, 2, 1, 3), _leaf(rng, 3), _leaf(rng,)), {}
    yield "bilinear", (_leaf(rng, 4, 2), _leaf(rng, 4, 3), _leaf(rng, 5, 2, 3)), {}
    yield "bilinear", (_leaf(rng, 2, 3, 2), _leaf(rng, 2, 3, 4), _leaf(rng, 3, 2, 4)), {"bias": _leaf(rng, 3)}
    sizes = {1: (6,), 2: (4, 5), 3: (3, 2, 4)}
    for rank, size in sizes.items():
        kernel = (3, 2, 1)[:rank]
        yield f"conv{rank}d", (_leaf(rng, 2, 4, *size), _leaf(rng, 3, 4, *kernel)), {}
        yield f"conv{rank}d", (_leaf(rng, 4, *size), _leaf(rng, 6, 2, *kernel)), {"groups": 2, "padding": "same"}
        yield f"conv{rank}d", (_leaf(rng, 2, 2, *size), _leaf(rng, 3, 2, *kernel)), {"bias": _leaf(rng, 3), "stride": 2}
        yield f"conv_transpose{rank}d", (_leaf(rng, 2, 4, *size), _leaf(rng, 4, 3, *kernel)), {}
        yield f"conv_transpose{rank}d", (_leaf(rng, 4, *size), _leaf(rng, 4, 2, *kernel)), {"groups": 2, "stride": (2, 1, 3)[:rank], "padding": (1, 0, 0)[:rank]}
        yield f"conv_transpose{rank}d", (_leaf(rng, 1, 2, *size), _leaf(rng, 2, 3, *kernel)), {"bias": _leaf(rng, 3), "stride": 3, "output_padding": (1, 2, 0)[:rank], "dilation": 2}
    index = _classes(rng, 2, 3, count=6)
    yield "embedding", (index, _leaf(rng, 6, 3)), {}
    yield "embedding", (np.array(4), _leaf(rng, 6, 3)), {}
    yield "embedding", (np.array([0, 2, 2, 5]), rounded(rng, 6, 3)), {"max_norm": 0.75}
    yield "embedding", (np.array([5, 4, 1, 4]), _leaf(rng, 6, 3)), {"padding_idx": -2}
    yield "embedding_bag", (index, _leaf(rng, 6, 3)), {}
    yield "embedding_bag", (_classes(rng, 7, count=6), _leaf(rng, 6, 3), np.array([0, 2, 5])), {}
    yield "embedding_bag", (_classes(rng, 7, count=6), _leaf(rng, 6, 3), np.array([0, 4, 4])), {"mode": "max"}
    yield "embedding_bag", (_classes(rng, 7, count=6), rounded(rng, 6, 3), np.array([0, 3])), {"max_norm": 0.75}
    yield "embedding_bag", (np.array([1, 2, 1, 5, 1]), _leaf(rng, 6, 3), np.array([0, 3])), {"mode": "max", "padding_idx": 1}
    yield "embedding_bag", (np.array([1, 4, 1, 5, 1]), _leaf(rng, 6, 3), np.array([0, 3])), {"mode": "sum", "padding_idx": -2, "per_sample_weights": _leaf(rng, 5)}
    yield "one_hot", (np.array([0, 3, 1, 1]),), {}
    yield "one_hot", (np.array([[0, 2], [1, 1]]), 5), {}
    yield "pad", (_leaf(rng, 2, 3), (1, 2)), {}
    yield "pad", (_leaf(rng, 2, 3), (1, 2, 0, 1)), {}
    yield "pad", (_leaf(rng, 2, 3, 5), (2, 1)), {"mode": "reflect"}
    yield "pad", (_leaf(rng, 3, 5), (2, 4)), {"mode": "circular"}
    yield "pad", (_leaf(rng, 1, 2, 3, 4), (1, 0, 2, 1)), {"mode": "replicate"}
    yield "pad", (_leaf(rng, 3, 4), (-1, 2, 1, -1)), {"value": 2.5}
    for rank, mode in ((1, "linear"), (2, "bilinear"), (2, "bicubic"), (3, "trilinear")):
        yield "interpolate", (_leaf(rng, 1, 2, *(4, 3, 2)[:rank]), (5, 7, 3)[:rank]), {"mode": mode}
    for rank in (1, 2, 3):
        yield "interpolate", (_leaf(rng, 1, 2, *(4, 3, 2)[:rank]),), {"scale_factor": 2}
        yield "interpolate", (_leaf(rng, 1, 2, *(4, 3, 5)[:rank]),), {"scale_factor": 1.7, "recompute_scale_factor": True}
        yield "interpolate", (_leaf(rng, 1, 2, *(4, 3, 5)[:rank]), (3, 4, 2)[:rank]), {}
    yield "upsample", (_leaf(rng, 1, 2, 3),), {"scale_factor": 3}
    yield "upsample_nearest", (_leaf(rng, 1, 2, 3, 4),), {"scale_factor": 2}
    yield "upsample_bilinear", (_leaf(rng, 1, 2, 3, 4), (4, 7)), {}
    yield "affine_grid", (_leaf(rng, 2, 2, 3), (2, 1, 2, 3)), {}
    yield "grid_sample", (_leaf(rng, 1, 2, 3, 4), Leaf(rng.uniform(-1.3, 1.3, (1, 2, 3, 2)).round(3))), {}
    yield "grid_sample", (_leaf(rng, 1, 2, 3, 2, 4), Leaf(rng.uniform(-1.3, 1.3, (1, 2, 1, 3, 3)).round(3))), {"mode": "nearest", "padding_mode": "border"}
    yield "unfold", (_leaf(rng, 1, 2, 4, 5), (2, 3)), {}
    yield "fold", (_leaf(rng, 1, 8, 6), (3, 4), 2), {}
    yield "pixel_shuffle", (_leaf(rng, 8, 2, 3), 2), {}
    yield "pixel_unshuffle", (_leaf(rng, 1, 1, 4, 6), 2), {}
    yield "scaled_dot_product_attention", (_leaf(rng, 2, 3, 4), _leaf(rng, 2, 5, 4), _leaf(rng, 2, 5, 3)), {}
    for head in (3, 24):
        mask = rng.integers(0, 2, (1, 2, 3, 5)) == 1
        mask[..., 0] = True
        yield "scaled_dot_product_attention", (_leaf(rng, 2, 2, 3, head), _leaf(rng, 2, 2, 5, head), _leaf(rng, 2, 2, 5, head)), {"attn_mask": mask, "scale": 0.375}
        yield "scaled_dot_product_attention", (_leaf(rng, 1, 6, 3, head), _leaf(rng, 1, 2, 4, head), _leaf(rng, 1, 2, 4, head)), {"enable_gqa": True, "attn_mask": Leaf(rounded(rng, 3, 4))}
        yield "scaled_dot_product_attention", (_leaf(rng, 1, 4, 3, head), _leaf(rng, 1, 2, 5, head), _leaf(rng, 1, 2, 5, head)), {"enable_gqa": True, "is_causal": True}


def _written(rng):
    """Yield calls that write to their arguments: (name, args, kwargs, places of what is written)."""
    def running():
        return rounded(rng, 3), rounded(rng, 3, low=0.5)

    for kwargs in ({}, {"momentum": 0.25}, {"momentum": 1.0, "eps": 0.5}, {"momentum": 0.0}):
        yield "batch_norm", (_leaf(rng, 2, 3, 4), *running(), None, None, True), kwargs, (1, 2)
        yield "instance_norm", (_leaf(rng, 2, 3, 4), *running()), kwargs, (1, 2)
    yield "batch_norm", (_leaf(rng, 4, 3), *running(), _leaf(rng, 3), None, True), {}, (1, 2)
    for norm in (1.0, 2.0, 3.0):
        yield "embedding", (np.array([[0, 2], [2, 5]]), rounded(rng, 6, 3)), {"max_norm": 0.75, "norm_type": norm}, (1,)
        yield "embedding_bag", (np.array([[0, 2], [2, 5]]), rounded(rng, 6, 3)), {"max_norm": 0.75, "norm_type": norm}, (1,)
    yield "embedding", (np.array([4, 1]), rounded(rng, 6, 3, dtype="float32")), {"max_norm": 1.0}, (1,)


def rows(torch, rng):
    """Yield all rows, numbered within their target."""
    counts: dict = {}
    for group in (_losses, _pooling, _norms, _activations, _dropouts, _distances, _linear, _written):
        for name, args, kwargs, *written in group(rng):
            counts[name] = counts.get(name, 0) + 1
            row = Row(f"nn.functional.{name}/{counts[name]}", "function", f"nn.functional.{name}", args, kwargs, {"written": written[0]} if written else {})
            if counts[name] in IN_SINGLE.get(name, ()):
                row.tolerance, row.reason = 1e-7, "PyTorch's eps is a float32"
            yield row
