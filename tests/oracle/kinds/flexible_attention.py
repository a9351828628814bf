"""Rows of flex_attention: masks by blocks, functions of scores, grouped heads."""

import importlib

import numpy as np

from ..row import FUNCTIONS, function
from ..tensors import flatten, gradients, to_tensor
from . import kind

LENGTH = 24
DOCUMENTS = np.sort(np.arange(LENGTH) * 5 % 17 % 3)
BIAS = (np.arange(4 * 2 * LENGTH) * 7 % 23 / 8 - 1.5).reshape(4, 2 * LENGTH)

MASKS = {
    "causal": lambda b, h, q, k: q >= k,
    "window": lambda b, h, q, k: (q >= k) & (q - k < 5),
    "heads": lambda b, h, q, k: (k + h) % 3 != b,
    "rows without keys": lambda b, h, q, k: q > k,
    "prefix": lambda b, h, q, k: (k < 7) | (q >= k),
    "last block": lambda b, h, q, k: k >= 16,
    "window by head": lambda b, h, q, k: (q - k >= 0) & (q - k <= 3 * h + b),
}
SCORES = {
    "relative": lambda s, b, h, q, k: s + (q - k) * 0.1,
    "alibi": lambda s, b, h, q, k: s - (h + 1) * 0.125 * (q - k),
    "far": lambda s, b, h, q, k: s / 2 + abs(k - q) * (k > q),
    "square": lambda s, b, h, q, k: s * s * 0.125 + 0.03125 * k,
}
for _name, _fn in {**{f"mask {k}": v for k, v in MASKS.items()}, **{f"score {k}": v for k, v in SCORES.items()}}.items():
    function(_name)(lambda library, fn=_fn: fn)


@function("mask documents")
def _documents(library):
    documents = to_tensor(library, DOCUMENTS)
    return lambda b, h, q, k: documents[q] == documents[k]


@function("score bias")
def _bias(library):
    bias = to_tensor(library, BIAS.astype(np.float32))
    return lambda s, b, h, q, k: s + bias[h, q - k + LENGTH]


@function("score capped")
def _capped(library):
    return lambda s, b, h, q, k: library.tanh(s / 2) * 2


def by_operators(library, tensors, mask, score, scale):
    """Return attention composed of operators: on a CPU, PyTorch differentiates flex_attention only if it compiles it."""
    q, k, v = tensors
    k, v = (t.repeat_interleave(q.shape[1] // t.shape[1], 1) for t in (k, v))
    at = library.meshgrid(*[library.arange(n) for n in (*q.shape[:3], k.shape[2])], indexing="ij")
    scores = q @ k.mT * (q.shape[-1] ** -0.5 if scale is None else scale)
    scores = scores if score is None else score(scores, *at)
    if mask is None:
        return scores.softmax(-1) @ v
    return (scores.masked_fill(~mask(*at), -1e30).softmax(-1) * mask(*at)) @ v


@kind("flexible attention")
def run(library, row, wrap):
    """Options: `operands` (three arrays), `mask` and `score` (names of functions), `block` (sizes), `scale`."""
    options, flex = row.options, importlib.import_module(f"{library.__name__}.nn.attention.flex_attention")
    mask, score = (FUNCTIONS[f"{what} {options[what]}"](library) if options.get(what) else None for what in ("mask", "score"))
    arrays, scale = options["operands"], options.get("scale")
    blocks = None
    if mask is not None:
        sizes = (*arrays[0].shape[:3], arrays[1].shape[2])
        blocks = flex.create_block_mask(mask, *sizes, device="cpu", BLOCK_SIZE=options["block"])
    grouped = arrays[0].shape[1] != arrays[1].shape[1]

    def attend(*tensors):
        return flex.flex_attention(*tensors, score, blocks, enable_gqa=grouped, scale=scale)

    def body(*tensors):
        out = flatten(library, attend(*tensors))
        return out | gradients(library, out, dict(zip("qkv", tensors)))

    leaves = [to_tensor(library, a, leaf=True) for a in arrays]
    if library.__name__ == "torch":
        with library.no_grad():
            found = flatten(library, attend(*[t.detach() for t in leaves]))
        composed = by_operators(library, leaves, mask, score, scale)
        found |= gradients(library, {"out": composed}, dict(zip("qkv", leaves)))
    else:
        found = dict(wrap(body)(*leaves))
    if blocks is not None:
        found |= {"dense": blocks.to_dense(), "partial": blocks.kv_num_blocks, "full": blocks.full_kv_num_blocks,
                  "sparsity": float(blocks.sparsity())}
    return found
