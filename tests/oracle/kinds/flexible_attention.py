"""Rows of flex_attention: masks by blocks, functions of scores, grouped heads."""

import importlib

import numpy as np

from ..row import FUNCTIONS, function
from ..tensors import gradients, to_tensor
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


COMBINED = {"causal and heads": ("and_masks", "causal", "heads"), "window or last block": ("or_masks", "window", "last block"),
            "three": ("and_masks", "prefix", "heads", "causal"), "one of three": ("or_masks", "last block", "heads", "window")}


def mask_of(library, name: str):
    """Return a mask by its name: one of the functions above, a combination, or the library's own."""
    flex = importlib.import_module(f"{library.__name__}.nn.attention.flex_attention")
    if name == "everything":
        return flex.noop_mask
    if name in COMBINED:
        how, *parts = COMBINED[name]
        return getattr(flex, how)(*[FUNCTIONS[f"mask {part}"](library) for part in parts])
    return FUNCTIONS[f"mask {name}"](library)


def by_operators(library, tensors, mask, score, scale):
    """Return attention composed of operators: on a CPU, PyTorch differentiates flex_attention only if it compiles it."""
    q, k, v = tensors if tensors[0].dtype.itemsize > 2 else [t.float() for t in tensors]
    k, v = (t.repeat_interleave(q.shape[1] // t.shape[1], 1) for t in (k, v))
    at = library.meshgrid(*[library.arange(n) for n in (*q.shape[:3], k.shape[2])], indexing="ij")
    scores = q @ k.mT * (q.shape[-1] ** -0.5 if scale is None else scale)
    scores = scores if score is None else score(scores, *at)
    seen = library.ones_like(scores, dtype=library.bool) if mask is None else mask(*at)
    weights = scores.masked_fill(~seen, -1e30).softmax(-1) * seen
    return (weights @ v).to(tensors[0].dtype), scores.masked_fill(~seen, -library.inf).logsumexp(-1)


def facts_of(blocks) -> dict:
    """Return what a BlockMask tells: how many blocks are partial and full, and which they are."""
    names = [f"{full}{side}_{what}" for full in ("", "full_") for side in ("kv", "q") for what in ("num_blocks", "indices")]
    return {"dense": blocks.to_dense(), "sparsity": float(blocks.sparsity()), "shape": list(blocks.shape),
            "entries": blocks.numel()} | {name: getattr(blocks, name) for name in names}


@kind("block mask")
def run_mask(library, row, wrap):
    """Options: `mask` (its name), `sizes` (of batch, heads, queries and keys; None for one mask for all), `block`, `index`.

    Or `lists`: the arguments of BlockMask.from_kv_blocks.
    """
    options, flex = row.options, importlib.import_module(f"{library.__name__}.nn.attention.flex_attention")
    mask = mask_of(library, options["mask"])
    if "lists" in options:
        lists = [to_tensor(library, a) for a in options["lists"]]
        found = facts_of(flex.BlockMask.from_kv_blocks(*lists, BLOCK_SIZE=options["block"], mask_mod=mask))
        return {k: v for k, v in found.items() if not k.endswith("kv_indices")}         # any order
    more = {"BLOCK_SIZE": options["block"]} if "block" in options else {}
    blocks = flex.create_block_mask(mask, *options["sizes"], device="cpu", **more)
    found = facts_of(blocks) | {"mask": flex.create_mask(mask, *options["sizes"], device="cpu")}
    if "index" in options:
        found |= {f"part.{k}": v for k, v in facts_of(blocks[options["index"]]).items()}
    return found


@kind("flexible attention")
def run(library, row, wrap):
    """Options: `operands` (three arrays), `mask` and `score` (names of functions), `block` (sizes; 128 if left out), `scale`,
    `shared` (one mask for all batches and heads), `lists` (as those of a block mask), `aux` (what is returned beside)."""
    options, flex = row.options, importlib.import_module(f"{library.__name__}.nn.attention.flex_attention")
    mask = mask_of(library, options["mask"]) if options.get("mask") else None
    score = FUNCTIONS[f"score {options['score']}"](library) if options.get("score") else None
    arrays, scale, aux = options["operands"], options.get("scale"), options.get("aux")
    more = {"BLOCK_SIZE": options["block"]} if "block" in options else {}
    sizes = (*((None, None) if options.get("shared") else arrays[0].shape[:2]), arrays[0].shape[2], arrays[1].shape[2])
    blocks = None
    if "lists" in options:
        lists = [to_tensor(library, a) for a in options["lists"]]
        blocks = flex.BlockMask.from_kv_blocks(*lists, mask_mod=mask, **more)
    elif mask is not None:
        blocks = flex.create_block_mask(mask, *sizes, device="cpu", **more)
    grouped = arrays[0].shape[1] != arrays[1].shape[1]

    def attend(*tensors):
        request = {} if aux is None else {"return_aux": flex.AuxRequest(**dict.fromkeys(aux, True))}
        found = flex.flex_attention(*tensors, score, blocks, enable_gqa=grouped, scale=scale, **request)
        if aux is None:
            return {"out": found}
        out, others = found
        return {"out": out} | {name: getattr(others, name) for name in aux}

    def body(*tensors):
        out = attend(*tensors)
        return out | gradients(library, out, dict(zip("qkv", tensors)))

    leaves = [to_tensor(library, a, leaf=True) for a in arrays]
    if library.__name__ == "torch":
        with library.no_grad():
            found = attend(*[t.detach() for t in leaves])
        dense = whole_mask(library, options, mask) if "lists" in options else mask
        composed = dict(zip(("out", "lse"), by_operators(library, leaves, dense, score, scale)))
        if "lists" in options:              # which PyTorch reads in its compiled kernels alone
            found = {k: v for k, v in composed.items() if k in found}
        found |= gradients(library, {k: v for k, v in composed.items() if k in found}, dict(zip("qkv", leaves)))
    else:
        found = dict(wrap(body)(*leaves))
    if blocks is not None:
        found |= {"dense": blocks.to_dense(), "partial": blocks.kv_num_blocks, "full": blocks.full_kv_num_blocks,
                  "sparsity": float(blocks.sparsity())}
    return found


def whole_mask(library, options, mask):
    """Return the mask that lists of blocks stand for."""
    block, (some, where, full, where_full) = options["block"], options["lists"]
    partial, whole = (np.zeros((*n.shape, at.shape[-1]), bool) for n, at in ((some, where), (full, where_full)))
    for place, n, at in ((partial, some, where), (whole, full, where_full)):
        for i in np.ndindex(*n.shape):
            place[i][at[i][:n[i]]] = True
    partial, whole = (to_tensor(library, a.repeat(block[0], 2).repeat(block[1], 3)) for a in (partial, whole))
    return lambda b, h, q, k: (partial & mask(b, h, q, k)) | whole
