"""Types of parameters that the source leaves open, by name and default.

PyTorch's names have one meaning throughout its API: `dim` is a dimension, `input` a tensor. So a table of names replaces
thousands of annotations. A type here is as wide as the widest function of that name; functions that differ have annotations,
which come first, or a text in `hand_written`.
"""

INT, FLOAT, BOOL, STR = "_b.int", "_b.float", "_b.bool", "_b.str"
SIZES = "_t.SupportsIndex | _c.Sequence[_t.SupportsIndex]"      # numpy's integers and tensors of one integer count as well
NUMBER = "Tensor | _b.complex"

TENSORS = frozenset((
    "A", "B", "LU", "LU_data", "LU_pivots", "Q", "W", "X", "anchor", "attn_mask", "b_hh", "b_ih", "batch1", "batch2",
    "bias_k", "bias_v", "gradient", "grad_input", "grad_output", "hidden", "in_proj_bias", "in_proj_weight", "input",
    "input1", "input2", "input3", "key", "key_padding_mask", "logits", "log_probs", "mask", "mat", "mat1", "mat2",
    "memory", "memory_key_padding_mask", "memory_mask", "negative", "offsets", "out_proj_bias", "out_proj_weight",
    "output", "per_sample_weights", "pos_weight", "positive", "query", "running_mean", "running_var", "self", "sorter",
    "sorted_sequence", "source", "src_key_padding_mask", "src_mask", "target", "targets", "tensor", "tensor1", "tensor2",
    "tgt", "tgt_key_padding_mask", "tgt_mask", "the_template", "value", "vec", "vec1", "vec2", "w_hh", "w_ih", "weight",
    "x1", "x2"))

# Names of one type wherever they stand.
ANYWHERE = {
    "ceil_mode": BOOL, "device": "device | _b.str | _b.int", "dtype": "dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any]",
    "generator": "Generator", "keepdim": BOOL, "keepdims": BOOL, "layout": "layout", "memory_format": "memory_format",
    "optimizer": "Optimizer", "out": "Tensor | _c.Sequence[Tensor]", "requires_grad": BOOL, "create_graph": BOOL,
    "retain_graph": BOOL, "foreach": BOOL, "fused": BOOL, "size_average": BOOL, "validate_args": BOOL, "unbiased": BOOL,
    "align_corners": BOOL, "enable_gqa": BOOL, "is_causal": BOOL, "non_blocking": BOOL, "strict": BOOL,
    "in_features": INT, "out_features": INT, "in1_features": INT, "in2_features": INT, "in_channels": INT, "out_channels": INT,
    "num_features": INT, "num_embeddings": INT, "embedding_dim": INT, "embed_dim": INT, "num_heads": INT, "nhead": INT,
    "d_model": INT, "dim_feedforward": INT, "num_layers": INT, "num_encoder_layers": INT, "num_decoder_layers": INT,
    "input_size": INT, "hidden_size": INT, "proj_size": INT, "kdim": INT, "vdim": INT, "num_groups": INT, "num_channels": INT,
    "padding_idx": INT, "max_norm": FLOAT, "ignore_index": INT, "num_classes": INT, "num_samples": INT, "chunks": INT,
    "groups": INT, "dim0": INT, "dim1": INT, "dim2": INT, "axis0": INT, "axis1": INT, "start_dim": INT, "end_dim": INT,
    "descending": BOOL, "stable": BOOL, "n_fft": INT, "hop_length": INT, "win_length": INT, "last_epoch": INT,
    "step_size": INT, "T_max": INT, "num_workers": INT, "momentum": "_b.float", "num_parameters": INT, "upscale_factor": INT,
    "downscale_factor": INT,
}
# Names whose meaning holds for tensors, and not for example for graphs.
OF_TENSORS = {
    "dim": "_b.int | _c.Sequence[_b.int]", "axis": "_b.int | _c.Sequence[_b.int]",
    "other": f"{NUMBER} | _np.ndarray[_t.Any, _t.Any]",
    "size": SIZES, "shape": SIZES, "normalized_shape": SIZES, "sizes": SIZES, "dims": "_b.int | _c.Sequence[_b.int]",
    "kernel_size": SIZES, "stride": SIZES, "dilation": SIZES, "output_size": "_b.int | _c.Sequence[_b.int | None]",
    "padding": f"_b.str | {SIZES}", "output_padding": SIZES, "tensors": "_c.Sequence[Tensor]", "reduction": STR,
    "mode": STR, "padding_mode": STR, "fill_value": NUMBER, "exponent": NUMBER, "alpha": NUMBER, "beta": NUMBER,
    "min": NUMBER, "max": NUMBER, "end": NUMBER, "start": NUMBER, "scale": FLOAT, "correction": FLOAT, "k": INT,
    "diagonal": INT,
    "repeats": f"Tensor | {SIZES}", "order": "_b.int | _c.Sequence[_b.int]", "equation": STR, "value": NUMBER,
    "target_size": SIZES, "scale_factor": "_b.float | _c.Sequence[_b.float]",
    "sample_shape": "_c.Sequence[_b.int]", "equal_nan": BOOL, "rtol": FLOAT, "atol": FLOAT, "steps": INT,
    "split_size_or_sections": "_b.int | _c.Sequence[_b.int]", "decimals": INT, "rounding_mode": STR,
}
DISTRIBUTION = dict.fromkeys(("loc", "scale", "rate", "df", "df1", "df2", "low", "high", "concentration", "concentration0",
                              "concentration1", "total_count", "alpha"), NUMBER)
DISTRIBUTION |= {"probs": NUMBER, "logits": NUMBER, "value": NUMBER, "sample_shape": OF_TENSORS["sample_shape"]}
WIDE_STRINGS = {"p", "ord", "norm", "backend", "memory_format", "path"}      # a default string admits other types


def type_of(name: str, default, room: str) -> str:
    """Return the type of a parameter; `room` is "tensors", "distributions", "optim", "operator" or "" for other functions."""
    if room == "operator":
        return "_t.Any"
    if name in ANYWHERE:
        return ANYWHERE[name]
    if room == "distributions":
        return DISTRIBUTION.get(name) or by_default(name, default) or "_t.Any"
    if room == "optim" and name in ("params", "lr", "closure"):
        return {"params": "_c.Iterable[Tensor | _b.dict[_b.str, _t.Any] | _b.tuple[_b.str, Tensor]]",
                "lr": "_b.float | Tensor", "closure": "_c.Callable[[], _t.Any]"}[name]
    if isinstance(default, bool):
        return BOOL
    if room == "tensors":
        if name in OF_TENSORS:
            return OF_TENSORS[name]
        if name in TENSORS:
            return "Tensor"
    return by_default(name, default) or "_t.Any"


def by_default(name: str, default) -> str | None:
    """Return the type that a default value stands for. An integer stands for none: a float or a sequence may fit as well."""
    if isinstance(default, bool):
        return BOOL
    if isinstance(default, float):
        return FLOAT if name != "p" or default < 1 else "_b.float | _b.str"      # probabilities, and orders of norms
    if isinstance(default, str) and name not in WIDE_STRINGS:
        return STR
    return None
