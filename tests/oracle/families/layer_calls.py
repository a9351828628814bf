"""Arguments of the calls of layers: masks, initial states, sizes of outputs, packed sequences, first calls of lazy layers."""

import numpy as np

from ..row import Build, Leaf, Row
from . import rounded


def _leaf(rng, *shape, **options):
    return Leaf(rounded(rng, *shape, **options))


def _row(name, what, args, kwargs, inputs, call=None, **options):
    return Row(f"{name}/{what}", "layer", f"nn.{name}", args, kwargs, {"inputs": inputs, "call": call or {}, **options})


def _mask(rng, *shape):
    """Return a mask that hides some keys, never the first of a row."""
    mask = rng.integers(0, 3, shape) == 0
    mask[..., 0] = False
    return mask


def _multihead(rng):
    name = "MultiheadAttention"

    def three(n=3, length=4, keys=5, width=8, first=False):
        shapes = [(n, s, width) if first else (s, n, width) for s in (length, keys, keys)]
        return tuple([_leaf(rng, *s) for s in shapes])

    for need in (True, False):
        yield _row(name, f"key_padding_mask, {need}", (8, 2), {}, three(), {"key_padding_mask": _mask(rng, 3, 5), "need_weights": need})
        yield _row(name, f"attn_mask, {need}", (8, 2), {}, three(), {"attn_mask": _mask(rng, 4, 5), "need_weights": need})
        yield _row(name, f"attn_mask of numbers, {need}", (8, 2), {}, three(), {"attn_mask": Leaf(rounded(rng, 6, 4, 5)), "need_weights": need})
        yield _row(name, f"masks of numbers, {need}", (8, 2), {}, three(), {"attn_mask": rounded(rng, 4, 5), "key_padding_mask": rounded(rng, 3, 5), "need_weights": need})
        yield _row(name, f"both masks, first, {need}", (8, 4), {"batch_first": True}, three(first=True), {"attn_mask": _mask(rng, 12, 4, 5), "key_padding_mask": _mask(rng, 3, 5), "need_weights": need})
        yield _row(name, f"bias_kv, {need}", (8, 2), {"add_bias_kv": True}, three(), {"attn_mask": _mask(rng, 4, 5), "key_padding_mask": _mask(rng, 3, 5), "need_weights": need})
        yield _row(name, f"zero_attn, {need}", (8, 2), {"add_zero_attn": True, "bias": False}, three(), {"attn_mask": _mask(rng, 4, 5), "key_padding_mask": _mask(rng, 3, 5), "need_weights": need})
        yield _row(name, f"alone, {need}", (6, 3), {"kdim": 4}, (_leaf(rng, 3, 6), _leaf(rng, 5, 4), _leaf(rng, 5, 6)), {"attn_mask": _mask(rng, 3, 5), "key_padding_mask": _mask(rng, 5), "need_weights": need})
        yield _row(name, f"alone, heads, {need}", (6, 3), {"vdim": 4}, (_leaf(rng, 3, 6), _leaf(rng, 5, 6), _leaf(rng, 5, 4)), {"attn_mask": _mask(rng, 3, 3, 5), "need_weights": need})
    yield _row(name, "weights of heads", (8, 2), {}, three(), {"average_attn_weights": False, "attn_mask": _mask(rng, 4, 5)})
    yield _row(name, "weights of heads, first", (6, 3), {"batch_first": True, "add_zero_attn": True}, three(2, 3, 4, 6, True), {"average_attn_weights": False})
    yield _row(name, "causal", (8, 2), {}, three(2, 4, 4), {"is_causal": True, "attn_mask": np.triu(np.ones((4, 4), bool), 1), "need_weights": False})
    yield _row(name, "evaluation", (8, 2), {}, three(), {"key_padding_mask": _mask(rng, 3, 5)}, train=False)
    x = (lambda *s: _leaf(rng, *s))
    attention = "nn.functional.multi_head_attention_forward"
    yield Row("multi_head_attention_forward/joined", "function", attention, (x(4, 3, 8), x(5, 3, 8), x(5, 3, 8), 8, 2, x(24, 8), x(24), None, None, False, 0.0, x(8, 8), x(8)), {})
    yield Row("multi_head_attention_forward/separate", "function", attention, (x(4, 3, 6), x(5, 3, 4), x(5, 3, 3), 6, 3, None, x(18), x(1, 1, 6), x(1, 1, 6), True, 0.5, x(6, 6), None),
              {"training": False, "key_padding_mask": _mask(rng, 3, 5), "need_weights": False, "attn_mask": _mask(rng, 4, 5), "use_separate_proj_weight": True, "q_proj_weight": x(6, 6), "k_proj_weight": x(6, 4),
               "v_proj_weight": x(6, 3)})
    yield Row("multi_head_attention_forward/weights", "function", attention, (x(4, 2, 6), x(4, 2, 6), x(4, 2, 6), 6, 2, x(18, 6), x(18), None, None, False, 0.25, x(6, 6), x(6)),
              {"training": False, "average_attn_weights": False, "is_causal": True, "attn_mask": np.triu(np.full((4, 4), -np.inf), 1)})
    yield Row("multi_head_attention_forward/static", "function", attention, (x(3, 2, 4), x(3, 2, 4), x(3, 2, 4), 4, 2, x(12, 4), x(12), None, None, False, 0.0, x(4, 4), x(4)),
              {"static_k": x(4, 5, 2), "static_v": x(4, 5, 2)})


def _transformers(rng):
    causal = np.triu(np.full((4, 4), -np.inf), 1)

    def x(length=4, n=3, first=False):
        return _leaf(rng, n, length, 6) if first else _leaf(rng, length, n, 6)

    plain, first = {"dropout": 0.0}, {"dropout": 0.0, "batch_first": True}
    name, args = "TransformerEncoderLayer", (6, 2, 8)
    yield _row(name, "padding", args, plain, (x(),), {"src_key_padding_mask": _mask(rng, 3, 4)})
    yield _row(name, "mask", args, first, (x(first=True),), {"src_mask": _mask(rng, 4, 4), "src_key_padding_mask": _mask(rng, 3, 4)})
    yield _row(name, "causal", args, plain | {"norm_first": True, "bias": False}, (x(),), {"src_mask": causal, "is_causal": True})
    yield _row(name, "causal, first", args, first, (x(first=True),), {"src_mask": causal, "is_causal": True})
    yield _row(name, "alone", args, plain | {"layer_norm_eps": 0.5}, (_leaf(rng, 4, 6),), {"src_mask": _mask(rng, 4, 4)})
    yield _row(name, "default eps", args, plain, (Leaf(rounded(rng, 3, 2, 6) * 2.0 ** -8),), train=False)
    name = "TransformerDecoderLayer"
    masks = {"tgt_mask": _mask(rng, 4, 4), "memory_mask": _mask(rng, 4, 5), "tgt_key_padding_mask": _mask(rng, 3, 4), "memory_key_padding_mask": _mask(rng, 3, 5)}
    yield _row(name, "all masks", args, plain, (x(), x(5)), masks)
    for which in masks:
        yield _row(name, which, args, first if "key" in which else plain | {"norm_first": True}, (x(first="key" in which), x(5, first="key" in which)), {which: masks[which]})
    yield _row(name, "causal", args, plain | {"activation": "gelu", "bias": False}, (x(), x(4)), {"tgt_mask": causal, "tgt_is_causal": True, "memory_mask": causal, "memory_is_causal": True})
    yield _row(name, "alone", args, plain | {"layer_norm_eps": 0.5, "norm_first": True}, (_leaf(rng, 4, 6), _leaf(rng, 5, 6)), {"memory_mask": _mask(rng, 4, 5)})
    yield _row(name, "default eps", args, plain, (Leaf(rounded(rng, 3, 2, 6) * 2.0 ** -8), Leaf(rounded(rng, 2, 2, 6) * 2.0 ** -8)), train=False)
    encoder = Build("nn.TransformerEncoderLayer", args, plain)
    name = "TransformerEncoder"
    yield _row(name, "mask", (encoder, 2), {"enable_nested_tensor": False}, (x(),), {"mask": _mask(rng, 4, 4), "src_key_padding_mask": _mask(rng, 3, 4)})
    yield _row(name, "causal", (encoder, 1), {"enable_nested_tensor": False}, (x(),), {"mask": causal})
    yield _row(name, "told causal", (encoder, 1), {"enable_nested_tensor": False, "norm": Build("nn.LayerNorm", (6,), {"eps": 0.5})}, (x(),), {"mask": causal, "is_causal": True})
    decoder = Build("nn.TransformerDecoderLayer", args, plain)
    name = "TransformerDecoder"
    yield _row(name, "all masks", (decoder, 2), {}, (x(), x(5)), masks)
    yield _row(name, "causal", (decoder, 1), {"norm": Build("nn.LayerNorm", (6,), {"eps": 0.5})}, (x(), x(4)), {"tgt_mask": causal, "tgt_is_causal": True, "memory_mask": causal, "memory_is_causal": True})
    name, args = "Transformer", (6, 2, 1, 1, 8)
    more = {"src_mask": _mask(rng, 5, 5), "tgt_mask": causal, "memory_mask": _mask(rng, 4, 5), "src_key_padding_mask": _mask(rng, 3, 5), "memory_key_padding_mask": _mask(rng, 3, 5)}
    yield _row(name, "masks", args, plain, (x(5), x(4)), more)
    for which in more:
        yield _row(name, which, args, first if "key" in which else plain, (x(5, first="key" in which), x(4, first="key" in which)), {which: more[which]})
    yield _row(name, "tgt_key_padding_mask", args, plain | {"activation": "gelu"}, (x(5), x(4)), {"tgt_key_padding_mask": _mask(rng, 3, 4)})
    yield _row(name, "causal", args, plain | {"layer_norm_eps": 0.25}, (x(4), x(4)), {"src_mask": causal, "src_is_causal": True, "tgt_mask": causal, "tgt_is_causal": True, "memory_mask": causal, "memory_is_causal": True})
    yield _row(name, "alone", args, plain | {"bias": False, "norm_first": True}, (_leaf(rng, 5, 6), _leaf(rng, 4, 6)), {"memory_mask": _mask(rng, 4, 5)})
    for n in (3, 1):
        yield Row(f"Transformer/subsequent mask of {n}", "function", "nn.Transformer.generate_square_subsequent_mask", (n,), {})


def _recurrent(rng):
    table = [({}, 1, 1), ({"bidirectional": True}, 2, 1), ({"num_layers": 2, "batch_first": True}, 1, 2), ({"num_layers": 2, "bidirectional": True, "bias": False}, 2, 2)]
    for kind in ("RNN", "LSTM", "GRU"):
        for i, (kwargs, directions, layers) in enumerate(table):
            def states(*batch, n=directions * layers, kind=kind):
                found = tuple([_leaf(rng, n, *batch, 4) for _ in range(1 + (kind == "LSTM"))])
                return found if kind == "LSTM" else found[0]

            first = "batch_first" in kwargs
            yield _row(kind, f"state {i}", (3, 4), kwargs, (_leaf(rng, *((2, 5, 3) if first else (5, 2, 3))), states(2)))
            yield _row(kind, f"alone, state {i}", (3, 4), kwargs, (_leaf(rng, 5, 3), states()))
            for what, lengths, in_order in (("sorted", [5, 3, 2], True), ("unsorted", [2, 5, 3], False), ("equal", [4, 4, 4], True)):
                x = _leaf(rng, *((3, max(lengths), 3) if first else (max(lengths), 3, 3)))
                yield _row(kind, f"packed, {what} {i}", (3, 4), kwargs, (x, lengths, states(3) if what != "equal" else None), {"batch_first": first, "enforce_sorted": in_order}, program="packed")
        yield _row(kind, "one step", (3, 4), {"num_layers": 2}, (_leaf(rng, 1, 2, 3),))
    yield _row("RNN", "relu, state", (3, 4), {"nonlinearity": "relu", "bidirectional": True}, (_leaf(rng, 4, 2, 3), _leaf(rng, 2, 2, 4)))
    yield _row("RNN", "relu, packed", (3, 4), {"nonlinearity": "relu"}, (_leaf(rng, 4, 2, 3), [2, 4], _leaf(rng, 1, 2, 4)), {"enforce_sorted": False}, program="packed")
    yield _row("LSTM", "projected, state", (3, 5), {"proj_size": 2}, (_leaf(rng, 4, 2, 3), (_leaf(rng, 1, 2, 2), _leaf(rng, 1, 2, 5))))
    yield _row("LSTM", "projected, packed", (3, 5), {"proj_size": 2, "bidirectional": True, "num_layers": 2}, (_leaf(rng, 4, 2, 3), [4, 2], (_leaf(rng, 4, 2, 2), _leaf(rng, 4, 2, 5))), program="packed")
    for kind in ("RNN", "LSTM", "GRU"):
        cell = (_leaf(rng, 4), _leaf(rng, 4))
        yield _row(f"{kind}Cell", "alone, state", (3, 4), {}, (_leaf(rng, 3), cell if kind == "LSTM" else cell[0]))
    yield _row("RNNCell", "relu, state", (3, 4), {"nonlinearity": "relu"}, (_leaf(rng, 2, 3), _leaf(rng, 2, 4)))


def _sized(rng):
    """Yield layers whose call takes more than the input."""
    for rank, sizes in ((1, (4,)), (2, (3, 4)), (3, (2, 3, 2))):
        for more in (0, 1):
            wanted = [3 * (n - 1) + 2 - 2 + more for n in sizes]
            yield _row(f"ConvTranspose{rank}d", f"output_size {more}", (2, 3, 2), {"stride": 3, "padding": 1}, (_leaf(rng, 2, 2, *sizes), wanted))
        yield _row(f"ConvTranspose{rank}d", "whole output_size", (2, 3, 2), {"stride": 2}, (_leaf(rng, 1, 2, *sizes),), {"output_size": [1, 3, *[2 * n + 1 for n in sizes]]})
        count = int(np.prod(sizes))
        indices = np.stack([rng.choice(int(np.prod([2 * n for n in sizes])), count, replace=False) for _ in range(2)]).reshape(1, 2, *sizes)
        yield _row(f"MaxUnpool{rank}d", "whole output_size", (2,), {}, (_leaf(rng, 1, 2, *sizes), indices, [1, 2, *[2 * n + 1 for n in sizes]]))
        yield _row(f"MaxUnpool{rank}d", "unbatched", (2,), {}, (_leaf(rng, 2, *sizes), indices[0]))
        yield _row(f"Conv{rank}d", "uneven same", (2, 4, (2, 3, 2)[:rank]), {"padding": "same", "dilation": (1, 2, 1)[:rank], "groups": 2}, (_leaf(rng, 1, 2, *[n + 2 for n in sizes]),))
        for mode in ("circular", "replicate", "reflect"):
            yield _row(f"Conv{rank}d", f"same {mode}", (2, 3, (2, 3, 2)[:rank]), {"padding": "same", "padding_mode": mode}, (_leaf(rng, 2, *[n + 2 for n in sizes]),))
    bag = "EmbeddingBag"
    flat = (lambda n: rng.integers(0, 6, n))
    for mode in ("sum", "mean", "max"):
        yield _row(bag, f"{mode}, empty bags", (6, 3), {"mode": mode}, (flat(7), np.array([0, 0, 3, 7])))
        yield _row(bag, f"{mode}, last offset", (6, 3), {"mode": mode, "include_last_offset": True, "padding_idx": 2}, (np.array([2, 1, 2, 4, 2, 0]), np.array([0, 2, 3, 3, 6])))
        yield _row(bag, f"{mode}, padding from behind", (6, 3), {"mode": mode, "padding_idx": -1}, (np.array([[5, 1, 5], [3, 4, 5], [5, 5, 5]]),))
        yield _row(bag, f"{mode}, int32", (6, 3), {"mode": mode}, (flat(5).astype("int32"), np.array([0, 2], "int32")))
    yield _row(bag, "weights and offsets", (6, 3), {"mode": "sum", "padding_idx": 1}, (np.array([1, 0, 4, 1, 1, 5]), np.array([0, 2, 2])), {"per_sample_weights": _leaf(rng, 6)})
    yield _row(bag, "weights and last offset", (6, 3), {"mode": "sum", "include_last_offset": True}, (flat(5), np.array([0, 2, 5])), {"per_sample_weights": _leaf(rng, 5)})
    for name in ("Embedding", "EmbeddingBag"):
        for freeze in (True, False):
            more = {"padding_idx": 1, "max_norm": 0.75, "norm_type": 1.0} if freeze else {"padding_idx": -2}
            for what, kwargs in (("plain", {"freeze": freeze}), ("more", {"freeze": freeze} | more)):
                yield _row(f"{name}.from_pretrained", f"{what}, {freeze}", (rounded(rng, 6, 3),), kwargs, (np.array([[0, 1, 4], [1, 3, 5]]),))
    yield _row("EmbeddingBag.from_pretrained", "sum", (rounded(rng, 6, 3),), {"mode": "sum", "include_last_offset": True}, (flat(4), np.array([0, 1, 4])))
    for i, kwargs in enumerate(({"cutoffs": [2, 5]}, {"cutoffs": [3], "div_value": 2.0, "head_bias": True})):
        for method in ("log_prob", "predict"):
            yield _row("AdaptiveLogSoftmaxWithLoss", f"{method} {i}", (8, 9), kwargs, (method, _leaf(rng, 5, 8)), program="method")
        yield _row("AdaptiveLogSoftmaxWithLoss", f"one {i}", (8, 9), kwargs, (_leaf(rng, 8), np.array(7)))
        yield _row("AdaptiveLogSoftmaxWithLoss", f"clusters {i}", (8, 9), kwargs, (_leaf(rng, 6, 8), np.array([0, 8, 4, 5, 1, 6])))
    yield _row("AdaptiveLogSoftmaxWithLoss", "head alone", (8, 9, [4, 6]), {}, (_leaf(rng, 3, 8), np.array([2, 0, 3])))
    for rank in (1, 2, 3):
        x = (2, 3, *(4, 2, 3)[:rank])
        yield _row(f"BatchNorm{rank}d", "thrice", (3,), {"momentum": None}, (_leaf(rng, *x),), times=3)
        yield _row(f"BatchNorm{rank}d", "no statistics, evaluation", (3,), {"track_running_stats": False, "affine": False}, (_leaf(rng, *x),), train=False)
        yield _row(f"InstanceNorm{rank}d", "unbatched", (3,), {"affine": True, "track_running_stats": True}, (_leaf(rng, *x[1:]),))
        yield _row(f"InstanceNorm{rank}d", "cumulative", (3,), {"momentum": None, "track_running_stats": True}, (_leaf(rng, *x),), times=2)
    for train in (True, False):
        yield _row("BatchNorm1d", f"planes {train}", (3,), {"momentum": 0.75}, (_leaf(rng, 2, 3, 1),), train=train, times=2)
        yield _row("BatchNorm2d", f"float32 {train}", (3,), {}, (_leaf(rng, 2, 3, 2, 3, dtype="float32"),), train=train, dtype="float32", times=2)
    for i in (0, 1):
        yield _row("SyncBatchNorm", f"evaluation {i}", (3,), {"eps": 0.5, "momentum": 0.25} if i else {}, (_leaf(rng, 2, 3, 4),), train=False)
    yield _row("PairwiseDistance", "one", (), {"keepdim": True}, (_leaf(rng, 4), _leaf(rng, 4)))
    yield _row("CosineSimilarity", "one", (), {"dim": 0}, (_leaf(rng, 4), _leaf(rng, 4)))
    yield _row("Bilinear", "one", (3, 2, 4), {}, (_leaf(rng, 3), _leaf(rng, 2)))
    yield _row("Bilinear", "three", (3, 2, 4), {"bias": False}, (_leaf(rng, 2, 1, 3), _leaf(rng, 2, 1, 2)))
    yield _row("TripletMarginWithDistanceLoss", "module", (), {"distance_function": Build("nn.PairwiseDistance", (1.0,)), "margin": 0.75, "swap": True}, (_leaf(rng, 4, 3), _leaf(rng, 4, 3), _leaf(rng, 4, 3)))


def _lazy(rng):
    for rank in (1, 2, 3):
        x = (lambda c, r=rank: _leaf(rng, 2, c, *(5, 4, 3)[:r]))
        for i, kwargs in enumerate(({}, {"stride": 2, "padding": 1, "bias": False, "groups": 2})):
            for name in ("LazyConv", "LazyConvTranspose"):
                yield _row(f"{name}{rank}d", i, (4, 2), kwargs, (x(2 + 2 * i),), lazy=True)
        for name in ("LazyBatchNorm", "LazyInstanceNorm"):
            for i, kwargs in enumerate(({}, {"eps": 0.5, "momentum": 0.25, "affine": name == "LazyInstanceNorm", "track_running_stats": name == "LazyInstanceNorm"})):
                yield _row(f"{name}{rank}d", i, (), kwargs, (x(3 + i),), lazy=True, times=2)
    for bias in (True, False):
        yield _row("LazyLinear", bias, (4,), {"bias": bias}, (_leaf(rng, 3, 5 + bias),), lazy=True)


def _quiet(rng):
    """Yield layers of dropout where they do nothing."""
    for name, shape in (("Dropout", (3, 4)), ("AlphaDropout", (3, 4)), ("Dropout1d", (2, 3, 4)), ("Dropout2d", (2, 3, 2, 2)), ("Dropout3d", (1, 2, 2, 2, 3)), ("FeatureAlphaDropout", (2, 3, 2, 2))):
        yield _row(name, "nothing", (0.0,), {}, (_leaf(rng, *shape),))
        yield _row(name, "evaluation", (), {}, (_leaf(rng, *shape),), train=False)


def rows(torch, rng):
    """Yield all rows."""
    for group in (_multihead, _transformers, _recurrent, _sized, _lazy, _quiet):
        yield from group(rng)
