"""Language models: one recording for all lengths, the same tokens eagerly and traced, ends and errors of texts."""

import itertools
import re

import numpy as np
import pytest

import ingot
import tiny_language_models as tiny
from ingot import generation
from ingot.generation import Sampling, batch, kv_cache
from ingot.ir import config
from ingot.ir.errors import ArgumentError, MissingKeyError

GREEDY = Sampling(temperature=0)
SAMPLINGS = {
    "greedy": GREEDY,
    "default": Sampling(),
    "all tokens": Sampling(1.0, 0, 1.0, 0.0),
    "top-k": Sampling(1.5, 5, 1.0, 0.0),
    "top-p alone": Sampling(0.7, 0, 0.6, 0.0),
    "min-p alone": Sampling(2.0, 0, 1.0, 0.1),
    "penalties": Sampling(0.9, 50, 0.9, 0.01, 1.3, 0.4, 0.2, counted=7),
    "greedy with penalties": Sampling(0, repetition_penalty=1.5, counted=20),
}


@pytest.fixture
def model(tmp_path, request):
    tiny.write(tmp_path / "m.gguf", getattr(request, "param", "gemma3"), seed=1)
    return generation.load(tmp_path / "m.gguf")


def first(n, tokens):
    return list(itertools.islice(tokens, n))


@pytest.mark.parametrize("variant", ["llama", "qwen2", "gemma2", "gemma3"])
def test_greedy_tokens_are_those_of_the_largest_logits(variant, tmp_path):
    s = tiny.write(tmp_path / "m.gguf", variant, seed=1)
    model = generation.load(tmp_path / "m.gguf")
    text = [1, 70, 71, 72]
    for token in first(30, model.tokens(text, GREEDY)):
        logits = tiny.logits(s, np.array(text))[-1]
        assert logits[token] > logits.max() - 1e-3
        text = [*text, token]


def test_a_step_is_one_recording_for_all_lengths(model, monkeypatch):
    """Caches that grow over several sizes, prompts of many lengths: shorter and longer than a window and than a part."""
    monkeypatch.setattr(kv_cache, "ROWS", 8)
    monkeypatch.setattr(batch, "PART", 16)
    texts = [first(62, model.tokens([1, 70], GREEDY))]
    for size in (1, 2, 3, 5, 16, 17, 18, 33, 40):
        texts.append(first(12, model.tokens([1, *range(40, 40 + size - 1)], GREEDY)))
    for stats in model.stats().values():
        assert (stats["compiles"], stats["unrecorded"]) == (1, 0), stats
    with config.override(jit=False):
        assert texts[0] == first(62, model.tokens([1, 70], GREEDY))


@pytest.mark.parametrize("sampling", SAMPLINGS.values(), ids=SAMPLINGS)
def test_the_seed_gives_the_same_tokens_eagerly_and_traced(sampling, model):
    traced = first(40, model.tokens([1, 70, 71], sampling, seed=5))
    assert first(40, model.tokens([1, 70, 71], sampling, seed=5)) == traced
    with config.override(jit=False):
        assert first(40, model.tokens([1, 70, 71], sampling, seed=5)) == traced
    assert len(model.stats()) == 2 and all(s["compiles"] == 1 for s in model.stats().values())
    if sampling.temperature:
        assert first(40, model.tokens([1, 70, 71], sampling, seed=6)) != traced


def test_numbers_of_a_sampling_need_no_new_recording(model):
    for temperature, seed in itertools.product((0.5, 0.9, 1.7), range(2)):
        first(4, model.tokens([1, 70, 71], Sampling(temperature, min_p=temperature / 10), seed))
    assert [s["compiles"] for s in model.stats().values()] == [1, 1]


def test_the_number_of_threads_changes_no_token(model):
    before = ingot.get_num_threads()
    try:
        texts = []
        for threads in (1, 2):
            ingot.set_num_threads(threads)
            texts.append(first(30, model.tokens([1, 70, 71], Sampling(), seed=2)))
    finally:
        ingot.set_num_threads(before)
    assert texts[0] == texts[1]


def test_a_text_ends_where_the_context_is_full(model):
    assert len(list(model.tokens([1] * 60, GREEDY))) == 64 - 60
    for prompt in ([], [1] * 64, [1] * 100):
        with pytest.raises(ArgumentError, match=f"a prompt has 1 to 63 tokens.*{len(prompt)}"):
            model.tokens(prompt)
    for token in (-1, 300):
        with pytest.raises(ArgumentError, match=f"no token {token}"):
            model.tokens([token])


def test_a_later_text_ends_the_one_before(model):
    one = model.tokens([1, 70], GREEDY)
    next(one)
    want = first(10, model.tokens([1, 90], GREEDY))
    with pytest.raises(ArgumentError, match="begun another one"):
        next(one)
    assert first(10, model.tokens([1, 90], GREEDY)) == want


def test_a_model_without_tokenizer_takes_numbers(tmp_path):
    s = tiny.write(tmp_path / "m.gguf", "llama")
    metadata = {k: v for k, v in tiny.metadata_of(s).items() if not k.startswith("tokenizer")}
    ingot.utils.gguf.save(tiny.tensors_of(s), tmp_path / "m.gguf", metadata)
    model = generation.load(tmp_path / "m.gguf")
    assert len(first(3, model.tokens([1, 2]))) == 3
    for call in (lambda: model.encode("a"), lambda: next(model.generate("a"))):
        with pytest.raises(ArgumentError, match="no tokenizer"):
            call()


def test_pieces_are_the_text_of_the_tokens(model):
    tokens = first(30, model.tokens(model.encode("ab th"), Sampling(), seed=9))
    end = next((i for i, t in enumerate(tokens) if t in model.tokenizer.ends), len(tokens))
    data = b"".join([model.tokenizer.bytes_of(t) for t in tokens[:end]])
    assert "".join(model.generate("ab th", 30, Sampling(), seed=9)) == data.decode("utf-8", "replace")
    with pytest.raises(MissingKeyError, match="no chat template"):
        model.encode([{"role": "user", "content": "a"}])


@pytest.mark.parametrize("context, good", [(2, True), (64, True), (1, False), (65, False), (0, False)])
def test_the_context_is_the_models_at_most(context, good, tmp_path):
    tiny.write(tmp_path / "m.gguf", "llama")
    if good:
        assert generation.load(tmp_path / "m.gguf", context).context == context
    else:
        with pytest.raises(ArgumentError, match=re.escape(f"2 to 64 tokens, got {context}")):
            generation.load(tmp_path / "m.gguf", context)
