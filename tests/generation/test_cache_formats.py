"""Caches of 16 and 8 bits: how far logits are from those of float32, and that all else is as with float32."""

import re

import numpy as np
import pytest

import ingot
import tiny_language_models as tiny
from ingot import generation
from ingot.__main__ import main
from ingot.generation import Sampling
from ingot.generation.kv_cache import FORMATS, KeyValueCache, StoredNumbers
from ingot.ir.errors import ArgumentError
from ingot.utils import gguf

# Root mean square of the distance of logits from those of a float32 cache, by their standard deviation: of the most sensitive
# of these models, whose random weights make sharp scores, and of the rest.
ERRORS = {"f32": (0, 0), "f16": (3e-3, 1e-3), "bf16": (2e-2, 7e-3), "q8": (6e-2, 2e-2)}
TOKENS = np.random.default_rng(3).integers(0, 300, 40)


@pytest.mark.parametrize("format", ERRORS)
@pytest.mark.parametrize("variant", ["llama", "gemma2", "gemma3", "qwen3"])
def test_logits(variant, format, tmp_path):
    tiny.write(tmp_path / "m.gguf", variant, seed=1)
    weights = gguf.load(tmp_path / "m.gguf")
    config = generation.config_of(weights)
    model = generation.Decoder.of(config, weights)

    def logits(cache):
        parts = enumerate(ingot.tensor(TOKENS[None]).split(1, -1), 1)
        return np.concatenate([model(part, cache, *cache.slots(i))[0].numpy() for i, part in parts])

    with ingot.no_grad():
        out, want = logits(KeyValueCache(config, 64, 1, format)), logits(KeyValueCache(config, 64))
    error = np.sqrt(np.square(out - want).mean()) / np.std(want)
    assert error <= ERRORS[format][variant != "llama"]
    assert (error == 0) == (format == "f32")


@pytest.mark.parametrize("format, error", [("f16", 2 ** -11), ("bf16", 2 ** -8), ("q8", 1 / 254)])
@pytest.mark.parametrize("size", [64, 48, 20])
def test_stored_numbers(format, error, size):
    """Each number is within half a unit: of itself for 16 bits, of the largest in its block for 8. Zeros stay zeros."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, 6, size)).astype(np.float32) * 10.0 ** rng.integers(-3, 4, (2, 6, 1))
    x[0, 1] = 0
    store = StoredNumbers(2, 3, 5, size, format)
    store.write(ingot.tensor([0, 4, 5, 9, 10, 14]), ingot.tensor(x.astype(np.float32)))
    slots = store.read(ingot.tensor([0, 1, 2]), 5, in_place=True).numpy()
    copied = store.read(ingot.tensor([2, 0]), 5, in_place=False).numpy()
    np.testing.assert_array_equal(slots[[2, 0]], copied)
    got = slots[:, :, [0, 4]].transpose(1, 0, 2, 3).reshape(2, 6, size)
    blocks = x.reshape(2, 6, -1, store.block)
    unit = np.abs(blocks).max(-1, keepdims=True) if format == "q8" else np.abs(blocks)
    assert (np.abs(got.reshape(blocks.shape) - blocks) <= unit * error * 1.001 + 1e-7).all()
    assert not got[0, 1].any() and not slots[:, :, 1:4].any()


@pytest.mark.parametrize("format", [pytest.param("f16", marks=pytest.mark.slow), "bf16", "q8"])
def test_a_step_is_one_recording_that_writes_in_place(format, tmp_path):
    tiny.write(tmp_path / "m.gguf", "gemma3", seed=1)
    model, single = (generation.load(tmp_path / "m.gguf", rows=n, cache=format) for n in (2, 1))
    prompts = ["ab", "th ab" * 5, "a"]
    texts = model.generate_all(prompts, 20, Sampling(temperature=0))
    assert texts == ["".join(single.generate(p, 20, Sampling(temperature=0))) for p in prompts]
    for stats in model.stats().values():
        assert (stats["compiles"], stats["unrecorded"]) == (1, 0)
    (step,) = model.batch._steps.values()
    written, updates = re.search(r"(\d+) of (\d+) updates written in place", str(step.explain())).groups()
    assert written == updates == ("14" if format == "q8" else "8")


def test_memory():
    sizes = {}
    config = generation.DecoderConfig(300, 128, 2, 4, 2, 64, 256, 4096, windows=(0, 512))
    for format in FORMATS:
        stores = [s for layer in KeyValueCache(config, 1024, 2, format).layers for s in (layer.keys, layer.values)]
        sizes[format] = sum(t.nbytes for s in stores for t in (s.numbers, s.scales) if t is not None)
    assert sizes["f32"] == 2 * 2 * 2 * (1024 + 512) * 64 * 4
    assert {f: n / sizes["f32"] for f, n in sizes.items()} == {"f32": 1, "f16": 0.5, "bf16": 0.5, "q8": 9 / 32}


def test_an_unknown_format_is_one_line(tmp_path, capsys):
    tiny.write(tmp_path / "m.gguf", "llama")
    with pytest.raises(ArgumentError, match="f32, f16, bf16, q8, got 'q4'; did you mean"):
        generation.load(tmp_path / "m.gguf", cache="q4")
    assert main(["generate", str(tmp_path / "m.gguf"), "ab", "--cache", "q4"]) == 1
    assert "got 'q4'" in capsys.readouterr().err
    assert main(["generate", str(tmp_path / "m.gguf"), "ab", "-n", "2", "--cache", "q8"]) == 0
