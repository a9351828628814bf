"""Functions of few numbers that make several operators of their arguments, or much of few arguments, eagerly beside torch: what
understanding a call costs, with and without a tape."""

import numpy as np

from .cases import indices, randoms
from .small_ops import layer, on, on_several, workload

MEAN_BAR = None

_A, _B, _C, _V = randoms(8, 16), randoms(8, 16, seed=1), randoms(8, 16, seed=2), randoms(16)
_IMAGES, _HEADS, _ROWS = randoms(2, 4, 8, 8), randoms(2, 4, 5, 8), indices(8, 8)
_PLACES, _LABELS = indices(8, 8, 16), np.abs(np.tanh(_B))


def of_networks(arrays, fn, grads=()):
    """Makes `fn(nn.functional, *tensors)`."""
    return on_several(arrays, lambda lib, *tensors: fn(lib.nn.functional, *tensors), grads)


ELEMENTS = {
    "lerp": on_several([_A, _B], lambda lib, a, b: lib.lerp(a, b, 0.3)),
    "addcmul": on_several([_A, _B, _C], lambda lib, a, b, c: lib.addcmul(a, b, c, value=0.5)),
    "outer": on_several([_V, _V], lambda lib, a, b: lib.outer(a, b)),
    "normalize": of_networks([_A], lambda f, a: f.normalize(a)),
    "cosine_similarity": of_networks([_A, _B], lambda f, a, b: f.cosine_similarity(a, b)),
    "cdist": on_several([_A, _B], lambda lib, a, b: lib.cdist(a, b)),
    "einsum ij,kj->ik": on_several([_A, _B], lambda lib, a, b: lib.einsum("ij,kj->ik", a, b)),
    "mse_loss": of_networks([_A, _B], lambda f, a, b: f.mse_loss(a, b)),
    "smooth_l1_loss": of_networks([_A, _B], lambda f, a, b: f.smooth_l1_loss(a, b)),
    "bce with logits": of_networks([_A, _LABELS], lambda f, a, b: f.binary_cross_entropy_with_logits(a, b)),
    "cross_entropy": of_networks([_A, _ROWS], lambda f, a, y: f.cross_entropy(a, y)),
    "cross_entropy, with grad": of_networks([_A, _ROWS], lambda f, a, y: f.cross_entropy(a, y), grads=(0,)),
}

ALONG = {
    "std": on(_A, lambda a: a.std()),
    "var(-1)": on(_A, lambda a: a.var(-1)),
    "logsumexp(-1)": on(_A, lambda a: a.logsumexp(-1)),
    "max(-1)": on(_A, lambda a: a.max(-1)),
    "topk(3)": on(_A, lambda a: a.topk(3)),
    "sort(-1)": on(_A, lambda a: a.sort(-1)),
    "cumsum(-1)": on(_A, lambda a: a.cumsum(-1)),
    "index_add": on_several([_A, _ROWS, _B], lambda lib, a, i, b: a.index_add(0, i, b)),
    "gather": on_several([_A, _PLACES], lambda lib, a, i: a.gather(0, i)),
}

MOVED = {
    "roll": on(_A, lambda a: a.roll(1, 0)),
    "flip": on(_A, lambda a: a.flip(0)),
    "tril": on(_A, lambda a: a.tril()),
    "repeat": on(_V, lambda v: v.repeat(2)),
    "cat": on_several([_A, _B], lambda lib, a, b: lib.cat([a, b])),
    "stack": on_several([_A, _B], lambda lib, a, b: lib.stack([a, b])),
    "permute": on(_IMAGES, lambda t: t.permute(0, 2, 3, 1)),
    "chunk(2, -1)": on(_A, lambda a: a.chunk(2, -1)),
    "flatten(1)": on(_IMAGES, lambda t: t.flatten(1)),
    "pad": of_networks([_IMAGES], lambda f, t: f.pad(t, (1, 1, 1, 1))),
}


def attention(nn):
    """Attention of four heads."""
    return nn.MultiheadAttention(16, 4, batch_first=True)


def itself(build):
    """A module whose one argument is query, key and value."""
    def make(nn):
        module = build(nn)
        module.forward = lambda t, forward=module.forward: forward(t, t, t, need_weights=False)[0]
        return module
    return make


def encoder(nn):
    """A layer of a transformer."""
    return nn.TransformerEncoderLayer(16, 4, 32, dropout=0.0, batch_first=True)


NETWORKS = {
    "max_pool2d(2)": of_networks([_IMAGES], lambda f, t: f.max_pool2d(t, 2)),
    "avg_pool2d(2)": of_networks([_IMAGES], lambda f, t: f.avg_pool2d(t, 2)),
    "interpolate(2)": of_networks([_IMAGES], lambda f, t: f.interpolate(t, scale_factor=2)),
    "attention": of_networks([_HEADS] * 3, lambda f, q, k, v: f.scaled_dot_product_attention(q, k, v)),
    "MultiheadAttention, with grad": layer(itself(attention), randoms(2, 5, 16), True),
    "TransformerEncoderLayer, with grad": layer(encoder, randoms(2, 5, 16), True),
}

WORKLOADS = {
    "small_elements": workload(ELEMENTS, "Functions of elements, distances and losses."),
    "small_along": workload(ALONG, "Reductions, orders and indices along a dim."),
    "small_moved": workload(MOVED, "The same numbers in other places."),
    "small_networks": workload(NETWORKS, "Pools, attention and layers of it."),
}
