"""Layers: every deterministic module of `nn`, every parameter, training and evaluation."""

import itertools

import numpy as np

from ..row import Build, Leaf, Name, Row
from . import distinct, rounded


def _leaf(rng, *shape, **options):
    return Leaf(rounded(rng, *shape, **options))


def _free(rng, *shape):
    return Leaf(distinct(rng, *shape))


def _row(name, what, args, kwargs, inputs, **options):
    return Row(f"{name}/{what}", "layer", f"nn.{name}", args, kwargs, {"inputs": inputs, **options})


SIXTH = (1e-7, "PyTorch's sixth is a float32")


def _activations(rng):
    table = {
        "ELU": [{}, {"alpha": 0.5}], "CELU": [{}, {"alpha": 0.5}], "SELU": [{}], "GELU": [{}, {"approximate": "tanh"}], "ReLU": [{}], "ReLU6": [{}],
        "Hardshrink": [{}, {"lambd": 1.25}], "Hardsigmoid": [{}], "Hardswish": [{}], "Hardtanh": [{}, {"min_val": -0.5, "max_val": 1.5}],
        "LeakyReLU": [{}, {"negative_slope": 0.25}], "LogSigmoid": [{}], "Mish": [{}], "SiLU": [{}], "Sigmoid": [{}], "Tanh": [{}], "Tanhshrink": [{}],
        "Softplus": [{}, {"beta": 2.0, "threshold": 3.0}], "Softshrink": [{}, {"lambd": 1.25}], "Softsign": [{}], "Threshold": [{"threshold": 0.5, "value": -3.0}, {"threshold": -1.0, "value": 7.0}],
        "GLU": [{}, {"dim": 1}], "Softmax": [{"dim": 1}, {"dim": -1}], "Softmin": [{"dim": 1}, {"dim": -1}], "LogSoftmax": [{"dim": 1}, {"dim": -1}],
        "PReLU": [{}, {"num_parameters": 4, "init": 0.5}], "Identity": [{}],
    }
    for name, entries in table.items():
        for i, (kwargs, shape) in enumerate(itertools.product(entries, ((3, 4), (2, 4, 6)))):
            if name == "Softplus":
                yield _row(name, f"{i} large", (), kwargs, (Leaf(np.array([-40.0, -3.0, 1.25, 1.75, 9.0, 19.5, 21.0, 50.0])),))
            row = _row(name, i, (), kwargs, (Leaf(distinct(rng, *shape) * (2 if name in ("ReLU6", "Hardswish", "Hardsigmoid") else 1)),))
            if name == "Hardsigmoid":
                row.tolerance, row.reason = SIXTH
            yield row
    for name in ("ReLU", "GELU", "SiLU", "ELU", "Softplus", "Hardswish"):
        yield _row(name, "float32", (), {}, (Leaf(distinct(rng, 3, 4, dtype="float32")),), dtype="float32")
    for name in ("ReLU", "ReLU6", "ELU", "CELU", "LeakyReLU", "SELU", "Hardtanh", "Hardsigmoid", "Hardswish", "SiLU", "Mish", "Threshold"):
        row = _row(name, "in place", (0.25, -2.0) if name == "Threshold" else (), {"inplace": True}, (distinct(rng, 3, 4),))
        if name == "Hardsigmoid":
            row.tolerance, row.reason = SIXTH
        yield row
    yield _row("Softmax2d", "four", (), {}, (_leaf(rng, 2, 3, 4, 2),))
    yield _row("Softmax2d", "three", (), {}, (_leaf(rng, 3, 2, 4),))
    yield _row("RReLU", "evaluation", (), {"lower": 0.25, "upper": 0.5}, (_free(rng, 3, 4),), train=False)
    yield _row("RReLU", "default", (), {}, (_free(rng, 3, 4),), train=False)


def _linear(rng):
    for bias in (True, False):
        for i, shape in enumerate(((4,), (3, 4), (2, 3, 4), (0, 4))):
            yield _row("Linear", f"{bias} {i}", (4, 5), {"bias": bias}, (_leaf(rng, *shape),))
        yield _row("Bilinear", bias, (3, 4, 2), {"bias": bias}, (_leaf(rng, 5, 3), _leaf(rng, 5, 4)))
    yield _row("Linear", "float32", (4, 5), {}, (_leaf(rng, 3, 4, dtype="float32"),), dtype="float32")
    yield _row("Flatten", "default", (), {}, (_leaf(rng, 2, 3, 4),))
    yield _row("Flatten", "dims", (), {"start_dim": 0, "end_dim": -2}, (_leaf(rng, 2, 3, 4),))
    yield _row("Unflatten", "one", (1, (2, 3)), {}, (_leaf(rng, 2, 6, 2),))
    yield _row("Unflatten", "other", (), {"dim": -1, "unflattened_size": (2, -1)}, (_leaf(rng, 2, 6),))
    yield _row("CosineSimilarity", "default", (), {}, (_leaf(rng, 3, 4), _leaf(rng, 3, 4)))
    yield _row("CosineSimilarity", "dim", (), {"dim": 0, "eps": 3.0}, (_leaf(rng, 3, 4), _leaf(rng, 1, 4)))
    yield _row("CosineSimilarity", "short", (), {}, (Leaf(rounded(rng, 3, 4) * 2.0 ** -28), _leaf(rng, 3, 4)))
    for i, kwargs in enumerate(({}, {"p": 1.0}, {"p": 3.0, "eps": 0.25, "keepdim": True})):
        yield _row("PairwiseDistance", i, (), kwargs, (_leaf(rng, 3, 4), _leaf(rng, 3, 4)))
    yield _row("PairwiseDistance", "default eps", (), {}, (Leaf(rounded(rng, 3, 4) * 2.0 ** -20), Leaf(rounded(rng, 3, 4) * 2.0 ** -20)))
    for name, shape, factors in (("PixelShuffle", (2, 36, 2, 1), (2, 3)), ("PixelUnshuffle", (2, 1, 6, 12), (2, 3)), ("ChannelShuffle", (2, 6, 2, 3), (2, 3))):
        for factor in factors:
            yield _row(name, factor, (factor,), {}, (_leaf(rng, *shape),))


SIZES = {1: (7,), 2: (5, 6), 3: (4, 3, 5)}


def _convolutions(rng):
    table = [{}, {"stride": 2, "padding": 1, "bias": False}, {"dilation": 2, "padding": 2, "groups": 2}, {"padding": "same", "padding_mode": "reflect"},
             {"padding": 1, "padding_mode": "circular", "groups": 4}, {"padding": 1, "padding_mode": "replicate", "stride": 2}, {"padding": "valid", "groups": 2}]
    for rank in (1, 2, 3):
        for i, kwargs in enumerate(table):
            if rank == 3 and kwargs.get("padding_mode") == "reflect":
                kwargs = kwargs | {"padding": 1}
            yield _row(f"Conv{rank}d", i, (4, 8, 3 if rank < 3 else 2 + i % 2), kwargs, (_leaf(rng, 2, 4, *SIZES[rank]),))
        yield _row(f"Conv{rank}d", "unbatched", (3, 2, 2), {}, (_leaf(rng, 3, *SIZES[rank]),))
        options = [{}, {"stride": 2, "output_padding": 1, "padding": 1}, {"dilation": 2, "groups": 2, "bias": False}, {"stride": 3, "padding": int(rank < 3), "groups": 4}]
        for i, kwargs in enumerate(options):
            yield _row(f"ConvTranspose{rank}d", i, (4, 8, 3 if rank < 3 else 2), kwargs, (_leaf(rng, 2, 4, *[n - 2 for n in SIZES[rank]]),))
        sizes = [2 * n + 1 for n in SIZES[rank]]
        yield _row(f"ConvTranspose{rank}d", "sized", (3, 2, 3), {"stride": 2}, (_leaf(rng, 1, 3, *SIZES[rank]),), call={"output_size": [n + 1 for n in sizes]})
    yield _row("Conv2d", "uneven", (3, 5, (2, 3)), {"stride": (2, 1), "padding": (1, 0), "dilation": (1, 2)}, (_leaf(rng, 2, 3, 6, 7),))
    yield _row("Conv2d", "one pixel", (8, 16, 1), {}, (_leaf(rng, 2, 8, 3, 5),))
    yield _row("Conv2d", "3x3", (16, 16, 3), {"padding": 1}, (_leaf(rng, 1, 16, 6, 8, dtype="float32"),), dtype="float32")
    yield _row("Conv2d", "depthwise", (6, 12, 3), {"padding": 1, "groups": 6}, (_leaf(rng, 1, 6, 5, 4),))
    for i, (sizes, kwargs) in enumerate((((2, 3), {"padding": 1}), (2, {"stride": 2, "dilation": 2}), ((2, 1), {}))):
        yield _row("Unfold", i, (sizes,), kwargs, (_leaf(rng, 2, 3, 5, 4),))
    yield _row("Fold", 0, ((4, 5), (2, 2)), {}, (_leaf(rng, 2, 12, 12),))
    yield _row("Fold", 1, ((5, 4), (3, 2)), {"stride": 2, "padding": (1, 0)}, (_leaf(rng, 2, 12, 6),))
    yield _row("Fold", 2, ((6, 5), (2, 3)), {"dilation": (2, 1), "padding": (0, 1)}, (_leaf(rng, 2, 6, 20),))


def _pools(rng):
    for rank in (1, 2, 3):
        shape, small = (2, 3, *SIZES[rank]), (3, *SIZES[rank])
        for i, kwargs in enumerate(({}, {"stride": 1, "padding": 1}, {"dilation": 2, "stride": 1}, {"ceil_mode": True, "padding": 1}, {"return_indices": True})):
            yield _row(f"MaxPool{rank}d", i, (2 if rank == 3 else 3,), kwargs, (_free(rng, *(small if i == 3 else shape)),))
        averages = [{}, {"stride": 1, "padding": 1}, {"ceil_mode": True, "padding": 1, "count_include_pad": False}, {"count_include_pad": False, "padding": 1, "stride": 2}]
        if rank > 1:
            averages.append({"divisor_override": 5, "padding": 1})
        for i, kwargs in enumerate(averages):
            yield _row(f"AvgPool{rank}d", i, (2 if rank == 3 else 3,), kwargs, (_leaf(rng, *(small if i == 3 else shape)),))
        for i, size in enumerate((1, 3, tuple([2, None, 3][:rank]) if rank > 1 else 4)):
            yield _row(f"AdaptiveAvgPool{rank}d", i, (size,), {}, (_leaf(rng, *shape),))
            yield _row(f"AdaptiveMaxPool{rank}d", i, (size,), {"return_indices": i == 1}, (_free(rng, *shape),))
        for i, (p, kwargs) in enumerate(((2, {}), (3, {"stride": 1}), (1.5, {"ceil_mode": True}))):
            yield _row(f"LPPool{rank}d", i, (p, 2), kwargs, (_leaf(rng, *shape, low=0.25),))
        pooled = tuple(n // 2 for n in SIZES[rank])
        count, room = int(np.prod(pooled)), int(np.prod([2 * n for n in pooled]))
        indices = np.stack([rng.choice(room, count, replace=False) for _ in range(6)]).reshape(2, 3, *pooled)
        yield _row(f"MaxUnpool{rank}d", 0, (2,), {}, (_leaf(rng, 2, 3, *pooled), indices))
        yield _row(f"MaxUnpool{rank}d", 1, (2,), {"stride": 2}, (_leaf(rng, 2, 3, *pooled), indices), call={"output_size": [2 * n + 1 for n in pooled]})
    for rank, fraction in ((2, (0.5, 0.75)), (3, (0.5, 0.75, 0.625))):
        samples = rng.uniform(0, 1, (2, 3, rank)).round(3)
        yield _row(f"FractionalMaxPool{rank}d", 0, (2,), {"output_ratio": fraction, "_random_samples": samples}, (_free(rng, *(2, 3, 6, 8, 7)[:rank + 2]),))
        yield _row(f"FractionalMaxPool{rank}d", 1, (2,), {"output_size": (3, 4, 3)[:rank], "return_indices": True, "_random_samples": samples}, (_free(rng, *(2, 3, 6, 8, 7)[:rank + 2]),))


def _norms(rng):
    for rank in (1, 2, 3):
        for train in (True, False):
            for i, (kwargs, shape) in enumerate((({}, (3, 4, *SIZES[rank][:rank])), ({"eps": 0.5, "momentum": 0.25}, (2, 4, *SIZES[rank])), ({"momentum": None}, (2, 4, *SIZES[rank])),
                                                 ({"affine": False}, (2, 4, *SIZES[rank])), ({"track_running_stats": False}, (2, 4, *SIZES[rank])))):
                yield _row(f"BatchNorm{rank}d", f"{i} {train}", (4,), kwargs, (_leaf(rng, *shape),), train=train, times=2 if train else 1)
            for i, kwargs in enumerate(({}, {"affine": True, "eps": 0.5}, {"track_running_stats": True, "momentum": 0.25}, {"affine": True, "track_running_stats": True})):
                yield _row(f"InstanceNorm{rank}d", f"{i} {train}", (3,), kwargs, (_leaf(rng, 2, 3, *SIZES[rank]),), train=train, times=2 if train else 1)
    for train in (True, False):
        yield _row("BatchNorm1d", f"rows {train}", (3,), {"bias": False}, (_leaf(rng, 5, 3),), train=train)
        yield _row("BatchNorm1d", f"small {train}", (3,), {}, (Leaf(rounded(rng, 5, 3) * 2.0 ** -9),), train=train)
    yield _row("InstanceNorm1d", "small", (3,), {}, (Leaf(rounded(rng, 2, 3, 4) * 2.0 ** -9),))
    for i, (shape, kwargs) in enumerate(((4, {}), ((3, 4), {"eps": 0.5}), ((4,), {"elementwise_affine": False}), ((4,), {"bias": False}))):
        yield _row("LayerNorm", i, (shape,), kwargs, (_leaf(rng, 2, 3, 4),))
        if "bias" not in kwargs:
            yield _row("RMSNorm", i, (shape,), kwargs, (_leaf(rng, 2, 3, 4),))
    yield _row("LayerNorm", "small", (4,), {}, (Leaf(rounded(rng, 2, 4) * 2.0 ** -9),))
    yield _row("RMSNorm", "small", (4,), {}, (Leaf(rounded(rng, 2, 4) * 2.0 ** -26),))
    for i, (groups, kwargs) in enumerate(((3, {}), (2, {"eps": 0.5}), (6, {"affine": False}), (1, {}))):
        yield _row("GroupNorm", i, (groups, 6), kwargs, (_leaf(rng, 2, 6, 3 + i),))
    yield _row("GroupNorm", "small", (2, 6), {}, (Leaf(rounded(rng, 2, 6, 3) * 2.0 ** -9),))
    for i, kwargs in enumerate(({}, {"alpha": 0.5}, {"beta": 0.25, "k": 3.0, "alpha": 0.25})):
        yield _row("LocalResponseNorm", i, (2 + i,), kwargs, (_leaf(rng, 2, 6, 4),))
        yield _row("CrossMapLRN2d", i, (2 + i,), kwargs, (_leaf(rng, 2, 6, 3, 2),))


def _padding(rng):
    pads = {1: (2, 1), 2: (1, 2, 0, 3), 3: (1, 0, 2, 1, 0, 1)}
    for rank in (1, 2, 3):
        for kind in ("Reflection", "Replication", "Circular", "Zero"):
            yield _row(f"{kind}Pad{rank}d", "uneven", (pads[rank],), {}, (_leaf(rng, 2, 3, *SIZES[rank]),))
            yield _row(f"{kind}Pad{rank}d", "one", (1,), {}, (_leaf(rng, 3, *SIZES[rank]),))
        yield _row(f"ConstantPad{rank}d", "uneven", (pads[rank], 2.5), {}, (_leaf(rng, 2, 3, *SIZES[rank]),))
        yield _row(f"ConstantPad{rank}d", "negative", ((-1, 2), -1.25), {}, (_leaf(rng, 2, 3, *SIZES[rank]),)) if rank == 1 else \
            _row(f"ConstantPad{rank}d", "one", (1, -1.25), {}, (_leaf(rng, 2, 3, *SIZES[rank]),))


def _lookup(rng):
    index = rng.integers(0, 6, (3, 4))
    for i, kwargs in enumerate(({}, {"padding_idx": 1}, {"max_norm": 0.75}, {"max_norm": 0.75, "norm_type": 1.0}, {"scale_grad_by_freq": True}, {"padding_idx": -2})):
        yield _row("Embedding", i, (6, 3), kwargs, (index + 0,))
    offsets = np.array([0, 3, 3, 7])
    for mode in ("sum", "mean", "max"):
        for i, kwargs in enumerate(({}, {"padding_idx": 1}, {"include_last_offset": True}, {"max_norm": 0.75}, {"scale_grad_by_freq": True})):
            if mode == "max" and "scale_grad_by_freq" in kwargs:
                continue
            flat = i in (1, 2)
            yield _row("EmbeddingBag", f"{mode} {i}", (6, 3), kwargs | {"mode": mode}, (rng.integers(0, 6, 12) if flat else rng.integers(0, 6, (3, 4)),) + ((np.array([*offsets, 12]) if i == 2 else offsets,) if flat else ()))
    yield _row("EmbeddingBag", "weights", (6, 3), {"mode": "sum"}, (rng.integers(0, 6, (3, 4)),), call={"per_sample_weights": _leaf(rng, 3, 4)})


def _recurrent(rng):
    options = [{}, {"num_layers": 2, "bidirectional": True}, {"batch_first": True, "bias": False}, {"num_layers": 2}]
    for kind in ("RNN", "LSTM", "GRU"):
        for i, kwargs in enumerate(options):
            yield _row(kind, i, (3, 4), kwargs, (_leaf(rng, 5, 2, 3),))
        yield _row(kind, "unbatched", (3, 4), {}, (_leaf(rng, 5, 3),))
        state = (_leaf(rng, 1, 2, 4), _leaf(rng, 1, 2, 4))
        yield _row(kind, "state", (3, 4), {}, (_leaf(rng, 5, 2, 3), state if kind == "LSTM" else state[0]))
        for bias in (True, False):
            cell = (_leaf(rng, 2, 4), _leaf(rng, 2, 4))
            yield _row(f"{kind}Cell", f"state {bias}", (3, 4), {"bias": bias}, (_leaf(rng, 2, 3), cell if kind == "LSTM" else cell[0]))
            yield _row(f"{kind}Cell", f"no state {bias}", (3, 4), {"bias": bias}, (_leaf(rng, 3),))
    yield _row("RNN", "relu", (3, 4, 2), {"nonlinearity": "relu"}, (_leaf(rng, 5, 2, 3),))
    yield _row("RNNCell", "relu", (3, 4), {"nonlinearity": "relu"}, (_leaf(rng, 2, 3),))
    yield _row("LSTM", "projected", (3, 5, 2), {"proj_size": 2, "bidirectional": True}, (_leaf(rng, 4, 2, 3),))
    yield _row("LSTM", "projected once", (3, 5), {"proj_size": 3, "batch_first": True}, (_leaf(rng, 2, 4, 3),))


def _attention(rng):
    causal = np.triu(np.full((4, 4), -np.inf), 1)
    padding = np.array([[0, 0, 1, 1], [0, 0, 0, 1], [0, 0, 0, 0]], bool)
    q, k, v = (lambda: _leaf(rng, 4, 3, 8)), (lambda: _leaf(rng, 5, 3, 8)), (lambda: _leaf(rng, 5, 3, 8))
    name = "MultiheadAttention"
    yield _row(name, "default", (8, 2), {}, (q(), k(), v()))
    yield _row(name, "unbatched", (8, 4), {"bias": False}, (_leaf(rng, 4, 8), _leaf(rng, 5, 8), _leaf(rng, 5, 8)), call={"average_attn_weights": False})
    yield _row(name, "sizes", (8, 2), {"kdim": 5, "vdim": 6, "add_bias_kv": True, "add_zero_attn": True, "batch_first": True}, (_leaf(rng, 3, 4, 8), _leaf(rng, 3, 5, 5), _leaf(rng, 3, 5, 6)))
    for need in (True, False):
        yield _row(name, f"masks {need}", (8, 2), {}, (q(), _leaf(rng, 4, 3, 8), _leaf(rng, 4, 3, 8)), call={"attn_mask": causal, "key_padding_mask": padding, "need_weights": need})
        yield _row(name, f"causal {need}", (8, 2), {}, (q(), _leaf(rng, 4, 3, 8), _leaf(rng, 4, 3, 8)), call={"attn_mask": causal, "is_causal": True, "need_weights": need})
    heads = rng.integers(0, 4, (6, 4, 5)) == 0
    heads[..., 0] = False
    yield _row(name, "mask of heads", (8, 2), {}, (q(), k(), v()), call={"attn_mask": heads})
    for i, more in enumerate(({}, {"norm_first": True, "activation": "gelu"}, {"batch_first": True, "layer_norm_eps": 0.5}, {"bias": False})):
        layer = {"dropout": 0.0} | more
        first = more.get("batch_first")
        x, memory = _leaf(rng, *((3, 4, 8) if first else (4, 3, 8))), _leaf(rng, *((3, 5, 8) if first else (5, 3, 8)))
        yield _row("TransformerEncoderLayer", i, (8, 2, 16), layer, (x,), call={} if i else {"src_mask": causal, "src_key_padding_mask": padding * -1e9})
        yield _row("TransformerDecoderLayer", i, (8, 2, 16), layer, (_leaf(rng, *x.array.shape), memory), call={} if i else {"tgt_mask": causal})
        yield _row("TransformerEncoderLayer", f"{i} evaluation", (8, 2, 16), layer, (_leaf(rng, *x.array.shape),), train=False)
        yield _row("Transformer", i, (8, 2, 1, 1, 16), layer, (_leaf(rng, *x.array.shape), _leaf(rng, *x.array.shape)), call={"tgt_mask": causal})
    for what, shapes, kwargs in (
            ("default", ((2, 2, 4, 8), (2, 2, 5, 8)), {}), ("scale", ((2, 4, 3), (2, 6, 3)), {"scale": 0.125}), ("causal", ((2, 2, 4, 8), (2, 2, 4, 8)), {"is_causal": True}),
            ("longer keys", ((1, 2, 3, 8), (1, 2, 5, 8)), {"is_causal": True}), ("longer queries", ((1, 2, 5, 8), (1, 2, 3, 8)), {"is_causal": True}),
            ("bool mask", ((2, 2, 4, 8), (2, 2, 5, 8)), {"attn_mask": np.array(np.arange(20).reshape(4, 5) % 3 > 0)}),
            ("float mask", ((2, 2, 4, 5), (2, 2, 5, 5)), {"attn_mask": Leaf(rounded(rng, 2, 1, 4, 5))}), ("one", ((2, 1, 4, 1), (2, 1, 5, 1)), {}),
            ("groups", ((1, 4, 3, 8), (1, 2, 5, 8)), {"enable_gqa": True}), ("40", ((1, 1, 3, 40), (1, 1, 4, 40)), {})):
        q, k = shapes
        yield Row(f"scaled_dot_product_attention/{what}", "function", "nn.functional.scaled_dot_product_attention", (_leaf(rng, *q), _leaf(rng, *k), _leaf(rng, *k[:-1], k[-1])), kwargs)
        if what not in ("float mask",):
            yield Row(f"scaled_dot_product_attention/{what}, float32", "function", "nn.functional.scaled_dot_product_attention",
                      (_leaf(rng, *q, dtype="float32"), _leaf(rng, *k, dtype="float32"), _leaf(rng, *k[:-1], k[-1], dtype="float32")), dict(kwargs))


def _resampling(rng):
    for rank, modes in ((1, ("nearest", "linear", "nearest-exact")), (2, ("nearest", "bilinear", "bicubic", "nearest-exact", "area")), (3, ("nearest", "trilinear"))):
        for mode in modes:
            aligned = (False, True) if "linear" in mode or "cubic" in mode else (None,)
            for i, (how, align) in enumerate(itertools.product(({"size": (4, 7, 5)[:rank]}, {"scale_factor": 1.5}, {"scale_factor": (0.5, 2.5, 1.25)[:rank], "recompute_scale_factor": True}), aligned)):
                more = {} if align is None else {"align_corners": align}
                x = _leaf(rng, 1, 2, *SIZES[rank])
                yield Row(f"interpolate/{rank} {mode} {i}", "function", "nn.functional.interpolate", (x,), how | more | {"mode": mode})
                if mode != "area" and i < 3:
                    yield _row("Upsample", f"{rank} {mode} {i}", (), how | more | {"mode": mode}, (_leaf(rng, 1, 2, *SIZES[rank]),))
    for mode, align in itertools.product(("bilinear", "bicubic"), (False, True)):
        yield Row(f"interpolate/antialias {mode} {align}", "function", "nn.functional.interpolate", (_leaf(rng, 1, 2, 7, 6),), {"size": (3, 4), "mode": mode, "antialias": True, "align_corners": align})
    yield _row("UpsamplingNearest2d", 0, (), {"scale_factor": 2}, (_leaf(rng, 1, 2, 3, 4),))
    yield _row("UpsamplingNearest2d", 1, (), {"size": (5, 3)}, (_leaf(rng, 1, 2, 3, 4),))
    yield _row("UpsamplingBilinear2d", 0, (), {"scale_factor": 2}, (_leaf(rng, 1, 2, 3, 4),))
    yield _row("UpsamplingBilinear2d", 1, (), {"size": (5, 3)}, (_leaf(rng, 1, 2, 3, 4),))
    for mode, padding, align in itertools.product(("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection"), (False, True)):
        yield Row(f"grid_sample/{mode} {padding} {align}", "function", "nn.functional.grid_sample", (_leaf(rng, 1, 2, 4, 5), Leaf(rng.uniform(-1.4, 1.4, (1, 3, 2, 2)).round(3))),
                  {"mode": mode, "padding_mode": padding, "align_corners": align})
    for align in (False, True):
        yield Row(f"affine_grid/{align}", "function", "nn.functional.affine_grid", (_leaf(rng, 2, 2, 3), (2, 1, 3, 4)), {"align_corners": align})
        yield Row(f"affine_grid/3d {align}", "function", "nn.functional.affine_grid", (_leaf(rng, 1, 3, 4), (1, 1, 2, 3, 4)), {"align_corners": align})
        yield Row(f"grid_sample/3d {align}", "function", "nn.functional.grid_sample", (_leaf(rng, 1, 2, 3, 2, 4), Leaf(rng.uniform(-1.4, 1.4, (1, 2, 3, 2, 3)).round(3))), {"align_corners": align})


def _initial(rng):
    for what, args in (("linear", ("linear",)), ("tanh", ("tanh",)), ("relu", ("relu",)), ("leaky", ("leaky_relu",)), ("slope", ("leaky_relu", 0.5)), ("selu", ("selu",)), ("sigmoid", ("sigmoid",))):
        yield Row(f"init.calculate_gain/{what}", "function", "nn.init.calculate_gain", args)
    yield Row("init.eye_/wide", "function", "nn.init.eye_", (rounded(rng, 3, 5),))
    yield Row("init.eye_/tall", "function", "nn.init.eye_", (rounded(rng, 4, 2),))
    yield Row("init.dirac_/plain", "function", "nn.init.dirac_", (rounded(rng, 4, 3, 3),))
    yield Row("init.dirac_/groups", "function", "nn.init.dirac_", (rounded(rng, 4, 2, 3, 5), 2))
    yield Row("init.constant_/one", "function", "nn.init.constant_", (rounded(rng, 2, 3), 1.5))
    yield Row("init.constant_/other", "function", "nn.init.constant_", (rounded(rng, 2), -2))
    for shape in ((2, 3), (4,)):
        yield Row(f"init.ones_/{len(shape)}", "function", "nn.init.ones_", (rounded(rng, *shape),))
        yield Row(f"init.zeros_/{len(shape)}", "function", "nn.init.zeros_", (rounded(rng, *shape),))
        yield Row(f"utils.parameters_to_vector/{len(shape)}", "function", "nn.utils.parameters_to_vector", ([_leaf(rng, *shape), _leaf(rng, 4)],))
    yield Row("nn.functional.normalize/p", "function", "nn.functional.normalize", (_leaf(rng, 3, 4),), {"p": 3.0, "dim": 0, "eps": 0.5})
    yield Row("nn.functional.normalize/default", "function", "nn.functional.normalize", (_leaf(rng, 3, 4),))
    yield Row("nn.functional.normalize/small", "function", "nn.functional.normalize", (Leaf(rounded(rng, 3, 4) * 2.0 ** -41),))
    yield Row("nn.functional.pad/value", "function", "nn.functional.pad", (_leaf(rng, 2, 3, 4), (1, 2, -1, 1)), {"value": 1.5})
    yield Row("nn.functional.gelu/dtype", "function", "nn.functional.gelu", (_leaf(rng, 2, 3, dtype="float16"),))
    yield Row("nn.functional.softmax/dtype", "function", "nn.functional.softmax", (_leaf(rng, 2, 3, dtype="float32"), -1), {"dtype": Name("float64")})


def _sizes(rng):
    """Yield each layer with other sizes than its other rows have, and the arguments that these leave alone."""
    yield _row("Linear", "other sizes", (3, 2), {}, (_leaf(rng, 5, 3),))
    yield _row("Bilinear", "other sizes", (2, 3, 5), {}, (_leaf(rng, 4, 2), _leaf(rng, 4, 3)))
    yield _row("AdaptiveLogSoftmaxWithLoss", "other sizes", (3, 6, [2, 4]), {}, (_leaf(rng, 5, 3), np.array([0, 5, 3, 1, 4])))
    for rank in (1, 2, 3):
        shape = (1, 2, *[n + 1 for n in SIZES[rank]])
        yield _row(f"AvgPool{rank}d", "other sizes", (4 if rank < 3 else 3,), {"stride": 3}, (_leaf(rng, *shape),))
        yield _row(f"MaxPool{rank}d", "other sizes", (4 if rank < 3 else 3,), {"stride": 3}, (_free(rng, *shape),))
        yield _row(f"LPPool{rank}d", "other sizes", (2, 3), {}, (_leaf(rng, *shape, low=0.25),))
        yield _row(f"BatchNorm{rank}d", "other sizes", (2,), {}, (_leaf(rng, 3, *shape[1:]),))
        yield _row(f"BatchNorm{rank}d", "no bias", (2,), {"bias": False}, (_leaf(rng, 3, *shape[1:]),))
        yield _row(f"InstanceNorm{rank}d", "other sizes", (2,), {"affine": True, "bias": False}, (_leaf(rng, *shape),))
        yield _row(f"ConvTranspose{rank}d", "other sizes", (2, 3, (3, 2, 1)[:rank]), {}, (_leaf(rng, *shape),))
        pooled = (1, 2, *[n // 2 for n in SIZES[rank]])
        room = int(np.prod([2 * n - 2 for n in pooled[2:]]))
        count = int(np.prod(pooled[2:]))
        if room >= count:
            indices = np.stack([rng.choice(room, count, replace=False) for _ in range(2)]).reshape(pooled)
            yield _row(f"MaxUnpool{rank}d", "padding", (2,), {"padding": 1}, (_leaf(rng, *pooled), indices))
        yield _row(f"MaxUnpool{rank}d", "other sizes", (3,), {"stride": 2}, (_leaf(rng, *pooled), np.stack([rng.permutation(count) for _ in range(2)]).reshape(pooled)))
    for rank, fraction in ((2, (0.5, 0.75)), (3, (0.5, 0.75, 0.625))):
        samples = rng.uniform(0, 1, (1, 2, rank)).round(3)
        yield _row(f"FractionalMaxPool{rank}d", "other sizes", (3,), {"output_ratio": fraction, "_random_samples": samples}, (_free(rng, *(1, 2, 9, 11, 9)[:rank + 2]),))
    yield _row("Embedding", "other sizes", (5, 2), {}, (rng.integers(0, 5, (2, 3)),))
    yield _row("EmbeddingBag", "other sizes", (5, 2), {"max_norm": 0.5, "norm_type": 1.0}, (rng.integers(0, 5, (2, 3)),))
    yield _row("GroupNorm", "other sizes", (2, 4), {"bias": False}, (_leaf(rng, 3, 4, 2),))
    for kind in ("RNN", "LSTM", "GRU"):
        yield _row(kind, "other sizes", (2, 3), {}, (_leaf(rng, 4, 3, 2),))
        yield _row(f"{kind}Cell", "other sizes", (2, 3), {}, (_leaf(rng, 4, 2),))
    yield _row("MultiheadAttention", "other sizes", (6, 3), {}, (_leaf(rng, 3, 2, 6), _leaf(rng, 4, 2, 6), _leaf(rng, 4, 2, 6)))
    yield _row("TransformerEncoderLayer", "other sizes", (6, 3, 10), {"dropout": 0.0}, (_leaf(rng, 3, 2, 6),))
    yield _row("TransformerDecoderLayer", "other sizes", (6, 3, 10), {"dropout": 0.0}, (_leaf(rng, 3, 2, 6), _leaf(rng, 4, 2, 6)))
    yield _row("Transformer", "other sizes", (6, 3, 2, 1, 10), {"dropout": 0.0}, (_leaf(rng, 3, 2, 6), _leaf(rng, 2, 2, 6)))
    yield _row("Transformer", "deeper decoder", (6, 3, 1, 2, 10), {"dropout": 0.0}, (_leaf(rng, 3, 2, 6), _leaf(rng, 2, 2, 6)))
    encoder = Build("nn.TransformerEncoderLayer", (6, 2, 10), {"dropout": 0.0})
    decoder = Build("nn.TransformerDecoderLayer", (6, 2, 10), {"dropout": 0.0})
    yield _row("TransformerEncoder", "two", (encoder, 2), {"enable_nested_tensor": False}, (_leaf(rng, 3, 2, 6),))
    yield _row("TransformerEncoder", "norm", (encoder, 1, Build("nn.LayerNorm", (6,))), {"enable_nested_tensor": False}, (_leaf(rng, 3, 2, 6),))
    yield _row("TransformerDecoder", "two", (decoder, 2), {}, (_leaf(rng, 3, 2, 6), _leaf(rng, 4, 2, 6)))
    yield _row("TransformerDecoder", "norm", (decoder, 1, Build("nn.LayerNorm", (6,))), {}, (_leaf(rng, 3, 2, 6), _leaf(rng, 4, 2, 6)))
    yield _row("Sequential", "two", (Build("nn.Linear", (3, 4)), Build("nn.ReLU"), Build("nn.Linear", (4, 2))), {}, (_leaf(rng, 5, 3),))
    yield _row("Sequential", "norm", (Build("nn.Conv1d", (2, 3, 2)), Build("nn.BatchNorm1d", (3,))), {}, (_leaf(rng, 2, 2, 5),), times=2)
    yield _row("NLLLoss2d", "default", (), {}, (_leaf(rng, 2, 4, 3, 2, low=-3, high=0), rng.integers(0, 4, (2, 3, 2))))
    yield _row("NLLLoss2d", "weight", (), {"weight": rounded(rng, 4, low=0.25), "reduction": "sum", "ignore_index": 1}, (_leaf(rng, 2, 4, 3, 2, low=-3, high=0), rng.integers(0, 4, (2, 3, 2))))
    yield _row("RReLU", "in place", (), {"inplace": True}, (distinct(rng, 3, 4),), train=False)


def rows(torch, rng):
    """Yield the rows of all layers."""
    for family in (_activations, _linear, _convolutions, _pools, _norms, _padding, _lookup, _recurrent, _attention, _resampling, _initial, _sizes):
        yield from family(rng)
