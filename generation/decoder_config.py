"""Sizes and choices of a decoder, read from the metadata of a GGUF file and checked."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..ir.errors import FileError
from ..jit.errors.parameters import meant
from ..runtime.serialization.gguf_format import GGUFWeights, Metadata
from ..runtime.serialization.read_budget import shown

_LARGEST = 1 << 24              # of a size in the metadata; products of two stay far below 64 bits
_LOCAL_BASE = 10000.0           # of rotations in Gemma 3's layers with a window: files do not name it


class Architecture(NamedTuple):
    """Choices that metadata do not tell.

    rotates_pairs   whether rotary positions turn neighbouring numbers, or numbers half a head apart
    gelu            whether the gate is GELU (tanh), or SiLU
    query_norm      whether queries and keys are normalised
    post_norm       whether the results of attention and feed-forward are normalised
    scales_table    whether embeddings are multiplied by the root of the width
    window          default size of sliding windows; 0 for none
    period          one layer in so many sees all positions, the others a window
    local_base      base of rotations in layers with a window; None for that of all layers
    wide            number of layers of the model that scales scores by width / heads
    """

    rotates_pairs: bool = False
    gelu: bool = False
    query_norm: bool = False
    post_norm: bool = False
    scales_table: bool = False
    window: int = 0
    period: int = 1
    local_base: float | None = None
    wide: int = 0


ARCHITECTURES = {
    "llama": Architecture(rotates_pairs=True),
    "qwen2": Architecture(),
    "qwen3": Architecture(query_norm=True),
    "gemma2": Architecture(gelu=True, post_norm=True, scales_table=True, window=4096, period=2, wide=46),
    "gemma3": Architecture(gelu=True, query_norm=True, post_norm=True, scales_table=True, period=6, local_base=_LOCAL_BASE,
                           wide=62),
}


@dataclass(frozen=True)
class DecoderConfig:
    """Sizes and choices of a decoder.

    windows       for each layer the number of positions that a token sees, itself included; 0 for all
    rotated       leading numbers of a head that rotary positions turn
    rope_base     base of rotations; `local_base` in layers with a window
    rope_factor   divisor of positions, in layers without a window
    score_scale   factor of attention scores
    score_cap     attention scores are `cap * tanh(score / cap)`; 0 for no cap. `logit_cap` does the same to logits
    table_scale   factor of embeddings
    tied          whether the table of embeddings is the head as well
    """

    vocabulary: int
    width: int
    layers: int
    heads: int
    kv_heads: int
    head_size: int
    hidden: int
    context: int
    epsilon: float = 1e-6
    windows: tuple[int, ...] = ()
    rotated: int = 0
    rope_base: float = 10000.0
    local_base: float = 10000.0
    rope_factor: float = 1.0
    score_scale: float = 1.0
    score_cap: float = 0.0
    logit_cap: float = 0.0
    table_scale: float = 1.0
    rotates_pairs: bool = False
    gelu: bool = False
    query_norm: bool = False
    post_norm: bool = False
    biases: frozenset[str] = frozenset()
    tied: bool = True

    def window(self, layer: int) -> int:
        """Return the window of a layer, 0 for none."""
        return self.windows[layer] if self.windows else 0


class _Fields:
    """Checked values of the metadata under the prefix of an architecture."""

    def __init__(self, metadata: Metadata, prefix: str):
        self.metadata, self.prefix = metadata, prefix

    def size(self, name: str, default: int | None = None, least: int = 1) -> int:
        """Return an integer; a key with a list of equal integers, one for each layer, counts as one."""
        value = self.metadata.get(f"{self.prefix}.{name}", default)
        if isinstance(value, np.ndarray) and value.dtype.kind in "iu" and len(value) and (value == value[0]).all():
            value = int(value[0])
        if value is None:
            raise FileError(f"the metadata lack {self.prefix}.{name}")
        if type(value) is not int or not least <= value <= _LARGEST:
            raise FileError(f"{self.prefix}.{name} is {shown(value)}, where a number from {least} to {_LARGEST} belongs")
        return value

    def number(self, name: str, default: float) -> float:
        """Return a number of at least 0."""
        value = self.metadata.get(f"{self.prefix}.{name}", default)
        if type(value) not in (int, float) or not 0 <= value < math.inf:
            raise FileError(f"{self.prefix}.{name} is {shown(value)}, where a number of at least 0 belongs")
        return float(value)

    def windows(self, layers: int, known: Architecture) -> tuple[int, ...]:
        """Return the window of each layer."""
        window = self.size("attention.sliding_window", known.window, least=0) if known.period > 1 else 0
        if not window:
            return (0,) * layers
        key = "attention.sliding_window_pattern"
        pattern = self.metadata.get(f"{self.prefix}.{key}")
        if isinstance(pattern, np.ndarray):
            if pattern.dtype != bool or len(pattern) != layers:
                raise FileError(f"{self.prefix}.{key} is {shown(pattern)}, where one bool for each of {layers} layers belongs")
            return tuple([window if local else 0 for local in pattern.tolist()])
        period = self.size(key, known.period)
        return tuple([0 if i % period == period - 1 else window for i in range(layers)])


def config_of(weights: GGUFWeights) -> DecoderConfig:
    """Return the config of a file's decoder; raise for an architecture without one, and for sizes that cannot be."""
    name = weights.architecture
    if name not in ARCHITECTURES:
        raise FileError("the file names no architecture" if name is None else
                        f"ingot generates text with the architectures {', '.join(ARCHITECTURES)}, and the file has "
                        f"{shown(name)}{meant(name, ARCHITECTURES)}")
    known, fields = ARCHITECTURES[name], _Fields(weights.metadata, name)
    if fields.size("expert_count", 0, least=0):
        raise FileError(f"{name}.expert_count: ingot generates text with dense layers alone, and the file has experts")
    width, layers, heads = fields.size("embedding_length"), fields.size("block_count"), fields.size("attention.head_count")
    if f"blk.{layers - 1}.attn_norm.weight" not in weights:
        raise FileError(f"{name}.block_count is {layers}, and the file has no layer {layers - 1}")
    table = weights.get("token_embd.weight")
    if table is None or table.ndim != 2:
        raise FileError("the file has no table of embeddings, token_embd.weight")
    kv_heads, head_size = fields.size("attention.head_count_kv", heads), fields.size("attention.key_length", width // heads)
    rotated = fields.size("rope.dimension_count", head_size)
    if heads % kv_heads or rotated % 2 or rotated > head_size:
        raise FileError(f"{heads} heads of {head_size} numbers, {rotated} of them rotated, do not share {kv_heads} keys")
    if fields.size("attention.value_length", head_size) != head_size:
        raise FileError(f"{name}: keys and values of different lengths are not read")
    base = fields.number("rope.freq_base", 10000.0)
    local = fields.number("rope.freq_base_swa", base if known.local_base is None else known.local_base)
    if not base or not local:
        raise FileError(f"{name}.rope.freq_base is 0")
    return DecoderConfig(
        vocabulary=table.shape[0], width=width, layers=layers, heads=heads, kv_heads=kv_heads, head_size=head_size,
        hidden=fields.size("feed_forward_length"), context=fields.size("context_length"),
        epsilon=fields.number("attention.layer_norm_rms_epsilon", 1e-6), windows=fields.windows(layers, known),
        rotated=rotated, rope_base=base, local_base=local, rope_factor=_rope_factor(fields),
        score_scale=fields.number("attention.scale", 0.0) or (width // heads if layers == known.wide else head_size) ** -0.5,
        score_cap=fields.number("attn_logit_softcapping", 50.0 if name == "gemma2" else 0.0),
        logit_cap=fields.number("final_logit_softcapping", 30.0 if name == "gemma2" else 0.0),
        table_scale=math.sqrt(width) if known.scales_table else 1.0, rotates_pairs=known.rotates_pairs, gelu=known.gelu,
        query_norm=known.query_norm, post_norm=known.post_norm,
        biases=frozenset(key.removeprefix("blk.0.").removesuffix(".bias") for key in weights
                         if key.startswith("blk.0.") and key.endswith(".bias")),
        tied="output.weight" not in weights)


def _rope_factor(fields: _Fields) -> float:
    """Return the divisor of positions."""
    key = f"{fields.prefix}.rope.scaling.type"
    scaling = fields.metadata.get(key, "linear")
    if scaling == "none":
        return 1.0
    if scaling != "linear":
        raise FileError(f"{key} is {shown(scaling)}, and ingot reads none and linear")
    return fields.number("rope.scaling.factor", 1.0) or 1.0
