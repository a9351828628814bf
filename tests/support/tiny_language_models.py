"""Small language models as GGUF files, and a decoder in NumPy and float64 that computes their logits."""

from types import SimpleNamespace

import numpy as np

import ingot
from ingot.runtime.stored_weights import StoredWeight, store
from ingot.utils import gguf

# Architecture -> what its files have besides: sizes of the tests' models, tensors, metadata.
ARCHITECTURES = {
    "llama": {},
    "qwen2": {"biases": True},
    "qwen3": {"query_norm": True},
    "gemma2": {"post_norm": True, "gelu": True, "window": 5, "period": 2, "score_cap": 5.0, "logit_cap": 3.0},
    "gemma3": {"query_norm": True, "post_norm": True, "gelu": True, "window": 5, "period": 3, "local_base": 10000.0},
}
# Name of a variant -> (architecture, changed sizes and choices).
VARIANTS = {name: (name, {}) for name in ARCHITECTURES} | {
    "llama of one head of keys": ("llama", {"kv_heads": 1}),
    "llama of as many heads of keys": ("llama", {"kv_heads": 4}),
    "llama with a head and factors of frequencies": ("llama", {"tied": False, "rope_freqs": True}),
    "llama with biases and scaled positions": ("llama", {"biases": True, "rope_factor": 4.0}),
    "qwen3 of which half of each head turns": ("qwen3", {"rotated": 8}),
    "gemma3 without a window": ("gemma3", {"window": 0}),
    "gemma3 with a list of windows": ("gemma3", {"pattern": [False, True, False]}),
}
TEXT = ["<unk>", "<s>", "</s>", "<|im_end|>", "<|im_start|>"]


def sizes_of(variant: str) -> SimpleNamespace:
    """Return sizes and choices of a variant."""
    architecture, changed = VARIANTS[variant]
    base = {"architecture": architecture, "width": 32, "layers": 3, "heads": 4, "kv_heads": 2, "head_size": 16, "hidden": 64,
            "vocabulary": 300, "context": 64, "epsilon": 1e-5, "base": 5000.0, "tied": True, "biases": False,
            "query_norm": False, "post_norm": False, "gelu": False, "window": 0, "period": 1, "pattern": None,
            "local_base": None, "score_cap": 0.0, "logit_cap": 0.0, "rope_freqs": False, "rope_factor": 1.0, "rotated": 16}
    return SimpleNamespace(**(base | ARCHITECTURES[architecture] | changed))


def tensors_of(s, seed=0) -> dict:
    """Return random float32 tensors by their names in files."""
    rng = np.random.default_rng(seed)
    shapes = {"token_embd.weight": (s.vocabulary, s.width), "output_norm.weight": (s.width,)}
    if not s.tied:
        shapes["output.weight"] = (s.vocabulary, s.width)
    if s.rope_freqs:
        shapes["rope_freqs.weight"] = (s.rotated // 2,)
    for i in range(s.layers):
        layer = {"attn_norm": (s.width,), "ffn_norm": (s.width,), "attn_q": (s.heads * s.head_size, s.width),
                 "attn_k": (s.kv_heads * s.head_size, s.width), "attn_v": (s.kv_heads * s.head_size, s.width),
                 "attn_output": (s.width, s.heads * s.head_size), "ffn_gate": (s.hidden, s.width),
                 "ffn_up": (s.hidden, s.width), "ffn_down": (s.width, s.hidden)}
        if s.query_norm:
            layer |= {"attn_q_norm": (s.head_size,), "attn_k_norm": (s.head_size,)}
        if s.post_norm:
            layer |= {"post_attention_norm": (s.width,), "post_ffw_norm": (s.width,)}
        shapes |= {f"blk.{i}.{name}.weight": shape for name, shape in layer.items()}
        if s.biases:
            shapes |= {f"blk.{i}.attn_{x}.bias": layer[f"attn_{x}"][:1] for x in "qkv"}
    arrays = {}
    for name, shape in shapes.items():
        a = rng.standard_normal(shape)
        is_factor = "norm" in name or "rope" in name
        arrays[name] = (1 + 0.2 * np.abs(a) if is_factor else a * (2.0 if len(shape) == 2 else 0.5) / shape[-1] ** 0.5)
    return {name: ingot.tensor(a.astype(np.float32)) for name, a in arrays.items()}


def metadata_of(s) -> dict:
    """Return the metadata of a file: sizes, and a tokenizer of bytes."""
    a = s.architecture
    tokens = [*TEXT, *[f"<0x{b:02X}>" for b in range(256)], "▁", "a", "b", "ab", "▁ab", "t", "h", "th"]
    tokens += [f"unused{i}" for i in range(s.vocabulary - len(tokens))]
    types = [2, 3, 3, 3, 3] + [6] * 256 + [1] * 8 + [5] * (s.vocabulary - len(TEXT) - 264)
    m = {"general.architecture": a, f"{a}.context_length": s.context, f"{a}.embedding_length": s.width,
         f"{a}.block_count": s.layers, f"{a}.feed_forward_length": s.hidden, f"{a}.attention.head_count": s.heads,
         f"{a}.attention.head_count_kv": s.kv_heads, f"{a}.attention.key_length": s.head_size,
         f"{a}.attention.value_length": s.head_size, f"{a}.attention.layer_norm_rms_epsilon": s.epsilon,
         f"{a}.rope.freq_base": s.base, f"{a}.rope.dimension_count": s.rotated,
         "tokenizer.ggml.model": "llama", "tokenizer.ggml.tokens": tokens,
         "tokenizer.ggml.scores": np.array([0.0] * 261 + [-5, -5, -5, -1, -2, -5, -5, -1.5] + [0.0] * (s.vocabulary - 269),
                                           np.float32),
         "tokenizer.ggml.token_type": np.array(types, np.int32), "tokenizer.ggml.bos_token_id": 1,
         "tokenizer.ggml.eos_token_id": 2, "tokenizer.ggml.unknown_token_id": 0}
    if s.rope_factor != 1:
        m |= {f"{a}.rope.scaling.type": "linear", f"{a}.rope.scaling.factor": s.rope_factor}
    if ARCHITECTURES[a].get("window"):
        m[f"{a}.attention.sliding_window"] = s.window
        m[f"{a}.attention.sliding_window_pattern"] = s.period if s.pattern is None else np.array(s.pattern)
    if a == "gemma2":
        m |= {f"{a}.attn_logit_softcapping": s.score_cap, f"{a}.final_logit_softcapping": s.logit_cap}
    return m


def write(path, variant: str, seed=0, stored=None, **metadata) -> SimpleNamespace:
    """Write the file of a variant; return its sizes, with the values that its tensors stand for as `arrays`.

    stored   weight format or dtype of the matrices; None for float32
    """
    s = sizes_of(variant)
    tensors = tensors_of(s, seed)
    if stored:
        tensors = {name: (t.to(stored) if isinstance(stored, ingot.dtype) else store(t, stored)) if t.ndim == 2 else t
                   for name, t in tensors.items()}
    gguf.save(tensors, path, metadata_of(s) | metadata)
    s.arrays = {name: (t.dequantize() if isinstance(t, StoredWeight) else t.float()).numpy().astype(np.float64)
                for name, t in tensors.items()}
    return s


def logits(s, tokens) -> np.ndarray:
    """Return the logits [tokens, vocabulary] of a text."""
    w, n = s.arrays, len(tokens)
    x = w["token_embd.weight"][tokens] * (s.width ** 0.5 if s.architecture.startswith("gemma") else 1)
    ages = np.arange(n)[:, None] - np.arange(n)
    for i in range(s.layers):
        local = s.window and (s.pattern[i] if s.pattern is not None else i % s.period != s.period - 1)
        seen = (ages >= 0) & (ages < s.window) if local else ages >= 0
        x = _block(s, i, x, seen, local)
    y = _norm(x, w["output_norm.weight"], s) @ w["token_embd.weight" if s.tied else "output.weight"].T
    return np.tanh(y / s.logit_cap) * s.logit_cap if s.logit_cap else y


def _norm(x, weight, s):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + s.epsilon) * weight


def _block(s, i, x, seen, local):
    def part(name):
        return s.arrays[f"blk.{i}.{name}.weight"]

    def linear(y, name):
        return y @ part(name).T + s.arrays.get(f"blk.{i}.{name}.bias", 0)

    h = _norm(x, part("attn_norm"), s)
    q, k, v = (linear(h, f"attn_{c}").reshape(len(x), -1, s.head_size).swapaxes(0, 1) for c in "qkv")
    if s.query_norm:
        q, k = _norm(q, part("attn_q_norm"), s), _norm(k, part("attn_k_norm"), s)
    q, k = _rotated(s, q, local), _rotated(s, k, local)
    k, v = (np.repeat(t, s.heads // s.kv_heads, axis=0) for t in (k, v))
    scores = q @ k.swapaxes(1, 2) / s.head_size ** 0.5
    scores = np.tanh(scores / s.score_cap) * s.score_cap if s.score_cap else scores
    scores = np.where(seen, scores, -np.inf)
    scores = np.exp(scores - scores.max(-1, keepdims=True))
    out = (scores / scores.sum(-1, keepdims=True)) @ v
    y = linear(out.swapaxes(0, 1).reshape(len(x), -1), "attn_output")
    x = x + (_norm(y, part("post_attention_norm"), s) if s.post_norm else y)
    h = _norm(x, part("ffn_norm"), s)
    g = linear(h, "ffn_gate")
    g = 0.5 * g * (1 + np.tanh(np.sqrt(2 / np.pi) * (g + 0.044715 * g ** 3))) if s.gelu else g / (1 + np.exp(-g))
    y = linear(g * linear(h, "ffn_up"), "ffn_down")
    return x + (_norm(y, part("post_ffw_norm"), s) if s.post_norm else y)


def _rotated(s, x, local):
    """Return x [heads, tokens, size] turned by complex numbers."""
    r = s.rotated
    base, factor = (s.local_base or s.base, 1.0) if local else (s.base, s.rope_factor)
    speeds = base ** (-np.arange(0, r, 2) / r) / factor / s.arrays.get("rope_freqs.weight", 1.0)
    turns = np.exp(1j * np.arange(x.shape[1])[:, None] * speeds)
    x = x.copy()
    a, b = (x[..., 0:r:2], x[..., 1:r:2]) if s.architecture == "llama" else (x[..., :r // 2], x[..., r // 2:r])
    z = (a + 1j * b) * turns
    a[...], b[...] = z.real, z.imag
    return x
