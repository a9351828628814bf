"""Damaged files of language models: each is one error of ingot's, or a model that writes text.

Drawn damage prints its seed in the name of the test.
"""

import itertools
import random

import numpy as np
import pytest

import tiny_language_models as tiny
from ingot import generation
from ingot.ir.errors import IngotError
from ingot.utils import gguf

VALUES = (0, 1, -1, 2, 3, 7, 1 << 20, 1 << 31, (1 << 63) - 1, 0.0, -1.0, 1e30, 1e-30, float("inf"), "", "x", True,
          [], [1, 2, 3], ["a"], ["a", "b", "c"],
          np.zeros(3, np.float32), np.zeros(300, np.int32), np.full(300, 9, np.int32), np.array([True] * 3))


def outcome(path):
    """Load a file and write a few tokens of two prompts; a failure is an error of ingot's, in one line."""
    try:
        model = generation.load(path, None)
        for prompt in ([1, 70, 71], [5] * 9):
            text = list(itertools.islice(model.tokens(prompt, generation.Sampling(), seed=1), 3))
            assert all(0 <= t < model.decoder.config.vocabulary for t in text)
        if model.tokenizer is not None:
            "".join(model.generate("ab th é", 3, generation.Sampling(0.5)))
    except IngotError as error:
        assert "\n" not in str(error), str(error)
        return str(error)
    return ""


@pytest.mark.parametrize("variant", ["llama", "gemma2", "gemma3"])
@pytest.mark.parametrize("seed", range(6))
def test_wrong_values_of_metadata(variant, seed, tmp_path):
    s, rng, loaded = tiny.sizes_of(variant), random.Random(seed), 0
    tensors, metadata = tiny.tensors_of(s), tiny.metadata_of(s)
    for _ in range(12):
        changed = metadata | {key: rng.choice(VALUES) for key in rng.sample(sorted(metadata), rng.choice((1, 1, 2)))}
        for key in rng.sample(sorted(changed), rng.choice((0, 0, 1))):
            del changed[key]
        try:
            gguf.save(tensors, tmp_path / "m.gguf", changed)
        except IngotError:
            continue
        loaded += not outcome(tmp_path / "m.gguf")
    assert loaded < 12


@pytest.mark.parametrize("seed", range(6))
def test_wrong_tensors(seed, tmp_path):
    s, rng = tiny.sizes_of("qwen3"), random.Random(seed)
    for _ in range(8):
        tensors = tiny.tensors_of(s)
        a, b = rng.sample(sorted(tensors), 2)
        match rng.randrange(4):
            case 0:
                tensors[a], tensors[b] = tensors[b], tensors[a]
            case 1:
                del tensors[a]
            case 2:
                tensors[a] = tensors[a][:-1]
            case 3:
                tensors[f"{a}.more"] = tensors[b]
        gguf.save(tensors, tmp_path / "m.gguf", tiny.metadata_of(s))
        outcome(tmp_path / "m.gguf")
