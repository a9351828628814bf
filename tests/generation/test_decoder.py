"""Decoders of GGUF files: logits equal a NumPy decoder, whole texts and token by token, eagerly and traced."""

import re

import numpy as np
import pytest

import ingot
import tiny_language_models as tiny
from ingot import generation
from ingot.generation.decoder import Decoder
from ingot.generation.decoder_config import config_of
from ingot.generation.kv_cache import KeyValueCache
from ingot.ir.errors import FileError
from ingot.utils import gguf

TOKENS = np.random.default_rng(3).integers(0, 300, 24)


def decoder(path):
    weights = gguf.load(path)
    return Decoder.of(config_of(weights), weights)


@pytest.mark.parametrize("variant", tiny.VARIANTS)
def test_logits_of_a_text(variant, tmp_path):
    s = tiny.write(tmp_path / "m.gguf", variant)
    with ingot.no_grad():
        out = decoder(tmp_path / "m.gguf")(ingot.tensor(TOKENS)).numpy()
    np.testing.assert_allclose(out, tiny.logits(s, TOKENS), atol=2e-4)


@pytest.mark.parametrize("variant", tiny.VARIANTS)
@pytest.mark.parametrize("parts", [[1] * 24, [7, 1, 1, 9, 6], [24], [2, 16, 1, 5]], ids=str)
def test_a_cache_gives_the_same(variant, parts, tmp_path):
    """Parts longer than a window, as long, and shorter; `logits` after each are those of the whole text."""
    s = tiny.write(tmp_path / "m.gguf", variant)
    model = decoder(tmp_path / "m.gguf")
    cache, out, start = KeyValueCache(model.config, 40), [], 0
    with ingot.no_grad():
        for size in parts:
            slots = cache.slots(start + (size == 1))
            out.append(model(ingot.tensor(TOKENS[None, start:start + size]), cache, *slots)[0].numpy())
            start += size
    assert int(cache.length) == 24
    np.testing.assert_allclose(np.concatenate(out), tiny.logits(s, TOKENS), atol=2e-4)


@pytest.mark.parametrize("stored", ["Q8_0", "Q5_1", "Q4_0", "IQ4_NL", ingot.bfloat16, ingot.float16, ingot.float64], ids=str)
def test_stored_weights(stored, tmp_path):
    """The reference has the very numbers that the blocks stand for, so the distance is rounding of inputs alone."""
    s = tiny.write(tmp_path / "m.gguf", "llama with a head and factors of frequencies", stored=stored)
    with ingot.no_grad():
        out = decoder(tmp_path / "m.gguf")(ingot.tensor(TOKENS)).numpy()
    np.testing.assert_allclose(out, tiny.logits(s, TOKENS), atol=2e-3)


def test_batches_and_gradients(tmp_path):
    """Without a cache a decoder takes batches and trains like any module."""
    tiny.write(tmp_path / "m.gguf", "gemma3")
    model = decoder(tmp_path / "m.gguf").requires_grad_(True)
    batch = ingot.tensor(TOKENS.reshape(4, 6))
    out = model(batch)
    np.testing.assert_allclose(out[2].detach().numpy(), model(batch[2]).detach().numpy(), atol=1e-5)
    ingot.nn.functional.cross_entropy(out.flatten(0, 1), batch.flatten()).backward()
    assert all(p.grad is not None for p in model.parameters())


def test_the_state_dict_is_the_file(tmp_path):
    s = tiny.write(tmp_path / "m.gguf", "qwen3", stored="Q8_0")
    weights = gguf.load(tmp_path / "m.gguf")
    model = Decoder.of(config_of(weights), weights)
    assert model.state_dict().keys() == weights.keys()
    gguf.save(model.state_dict(), tmp_path / "again.gguf", weights.metadata)
    assert s.tied and sorted(gguf.load(tmp_path / "again.gguf")) == sorted(weights)


BROKEN = [
    ("llama", "general.architecture", "lama", "'lama'; did you mean 'llama'"),
    ("llama", "general.architecture", "mamba", "'mamba'"),
    ("llama", "general.architecture", None, "names no architecture"),
    ("llama", "llama.block_count", None, "lack llama.block_count"),
    ("llama", "llama.block_count", 4, "has no layer 3"),
    ("llama", "llama.block_count", 2, "blk.2"),
    ("llama", "llama.block_count", 0, "from 1 to"),
    ("llama", "llama.block_count", 1 << 31, "from 1 to"),
    ("llama", "llama.block_count", "3", "where a number"),
    ("llama", "llama.embedding_length", 31, "size mismatch"),
    ("llama", "llama.feed_forward_length", 1 << 20, "size mismatch"),
    ("llama", "llama.attention.head_count", 3, "do not share 2 keys"),
    ("llama", "llama.attention.head_count", 8, "size mismatch"),
    ("llama", "llama.attention.head_count_kv", np.array([2, 1, 2], np.int32), "where a number"),
    ("llama", "llama.attention.key_length", 7, "do not share"),
    ("llama", "llama.attention.value_length", 8, "different lengths"),
    ("llama", "llama.rope.dimension_count", 32, "do not share"),
    ("llama", "llama.rope.scaling.type", "yarn", "'yarn'"),
    ("llama", "llama.rope.freq_base", 0.0, "freq_base is 0"),
    ("llama", "llama.rope.freq_base", float("nan"), "at least 0"),
    ("llama", "llama.expert_count", 8, "experts"),
    ("gemma3", "gemma3.attention.sliding_window_pattern", np.array([True]), "one bool for each of 3 layers"),
    ("gemma3", "gemma3.attention.sliding_window", -1, "from 0 to"),
    ("qwen3", "general.architecture", "qwen2", "qwen2.embedding_length"),
]


@pytest.mark.parametrize("variant, key, value, message", BROKEN, ids=str)
def test_broken_metadata_is_one_line(variant, key, value, message, tmp_path):
    s = tiny.sizes_of(variant)
    metadata = tiny.metadata_of(s) | {key: value}
    if value is None:
        del metadata[key]
    gguf.save(tiny.tensors_of(s), tmp_path / "m.gguf", metadata)
    with pytest.raises(FileError, match=re.escape(message)) as error:
        generation.load(tmp_path / "m.gguf")
    assert "\n" not in str(error.value) and str(error.value).startswith(f"{tmp_path / 'm.gguf'}: ")


@pytest.mark.parametrize("name", ["blk.1.attn_k.weight", "token_embd.weight", "output_norm.weight", "blk.0.attn_norm.weight"])
def test_a_missing_or_wrong_tensor_is_named(name, tmp_path):
    s = tiny.sizes_of("qwen3")
    tensors = tiny.tensors_of(s)
    gguf.save({k: t for k, t in tensors.items() if k != name}, tmp_path / "m.gguf", tiny.metadata_of(s))
    with pytest.raises(FileError, match=re.escape(name)):
        generation.load(tmp_path / "m.gguf")
    gguf.save(tensors | {name: ingot.zeros(3)}, tmp_path / "m.gguf", tiny.metadata_of(s))
    with pytest.raises(FileError, match=re.escape(name)):
        generation.load(tmp_path / "m.gguf")
