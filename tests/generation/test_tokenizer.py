"""Tokenizers of GGUF files: equal to the package `tokenizers` and to a slow definition; bytes, special tokens and damage."""

import itertools
import json
import random
import re

import numpy as np
import pytest

import tokenizer_cases as writer
from ingot.generation import Tokenizer
from ingot.generation.tokenizer import joined
from ingot.generation.word_split import PATTERNS, words_of
from ingot.ir.errors import ArgumentError, FileError
from ingot.runtime.serialization import gguf_format

CASES = json.loads(writer.FILE.read_text(encoding="utf-8"))


def fields(tokens, types=None, model="llama", pre=None, scores=None, merges=None, ids=None, **flags):
    count = len(tokens)
    return gguf_format.Tokenizer(model, pre, tokens, None if scores is None else np.array(scores, np.float32),
                                 np.array(types or [1] * count, np.int32), merges, ids or {}, flags)


def by_merges(name, **changed):
    case = CASES[name]
    types = [3] * len(writer.SPECIAL) + [1] * (len(case["tokens"]) - len(writer.SPECIAL))
    return Tokenizer(fields(**{"tokens": case["tokens"], "types": types, "model": "gpt2", "pre": name, "merges": case["merges"],
                               "ids": {"eos": 0, "bos": 1}, "add_bos_token": False} | changed))


@pytest.mark.parametrize("name", writer.SPLITS)
def test_merges_equal_the_peers(name):
    tokenizer = by_merges(name)
    for text, ids in zip(writer.texts(), CASES[name]["ids"], strict=True):
        assert tokenizer.encode(text) == ids, text
        if "<|" not in text:
            assert tokenizer.decode(ids) == text


@pytest.mark.peer
def test_the_file_of_cases_is_what_the_peer_says():
    pytest.importorskip("tokenizers")
    assert writer.cases() == CASES


@pytest.mark.parametrize("name", PATTERNS)
def test_a_split_loses_nothing(name):
    for text in writer.texts():
        assert "".join(words_of(text, PATTERNS[name])) == text


SCORED = ["<unk>", "<s>", "</s>", *[f"<0x{b:02X}>" for b in range(256)], "▁", "a", "b", "c", "ab", "bc", "abc", "▁a", "▁ab",
          "é", "aa", "aaa", "<user>", "\n\n", "\n"]
_PAIRS = {"ab": -2.0, "bc": -1.0, "abc": -4.0, "▁a": -3.0, "▁ab": -2.5, "aa": -1.5, "aaa": -1.5}


def scored(**changed):
    types = [2, 3, 3] + [6] * 256 + [1] * 12 + [4, 4, 1]
    return Tokenizer(fields(**{"tokens": SCORED, "types": types, "scores": [_PAIRS.get(t, -9.0) for t in SCORED],
                               "ids": {"bos": 1, "eos": 2, "unknown": 0}} | changed))


@pytest.mark.parametrize("text, tokens", [
    ("", ["<s>"]),
    ("abc", ["<s>", "▁a", "bc"]),
    ("aaaa", ["<s>", "▁", "aaa", "a"]),
    ("é€", ["<s>", "▁", "é", "<0xE2>", "<0x82>", "<0xAC>"]),
    ("a a", ["<s>", "▁a", "▁a"]),
    ("a\n\n\nb", ["<s>", "▁a", "\n\n", "▁", "\n", "b"]),
    ("a<user>b</s>", ["<s>", "▁a", "<user>", "▁", "b", "</s>"]),
    ("<s", ["<s>", "▁", "<0x3C>", "<0x73>"]),
], ids=repr)
def test_scores(text, tokens):
    tokenizer = scored()
    assert [SCORED[i] for i in tokenizer.encode(text)] == tokens
    if not set(tokens[1:]) & {"<user>", "\n\n", "</s>"}:        # a space is put behind these
        assert tokenizer.decode(tokenizer.encode(text)) == text


def test_flags_and_control_tokens():
    assert scored(add_space_prefix=False).encode("a") == [1, SCORED.index("a")]
    assert scored(add_bos_token=False).encode("a") == [SCORED.index("▁a")]
    assert scored(add_eos_token=True).encode("a") == [1, SCORED.index("▁a"), 2]
    assert scored().encode("a", begin=False) == [SCORED.index("▁a")]
    in_text = scored().encode("x</s><user>", special=False)
    assert 2 not in in_text and in_text[-1] == SCORED.index("<user>")
    assert scored().decode([1, SCORED.index("▁a"), 2, 0]) == "a"
    assert scored().ends == {2} and by_merges("qwen2").ends == {0, 2}          # <|im_end|> by its name
    for token in (-1, len(SCORED)):
        with pytest.raises(ArgumentError, match="no token"):
            scored().bytes_of(token)
    with pytest.raises(ArgumentError, match="takes a text"):
        scored().encode(b"a")


@pytest.mark.parametrize("seed", range(20))
def test_pairs_are_joined_best_first(seed):
    """The definition, step by step: the least rank of all neighbours, the first of equal ones."""
    rng = random.Random(seed)
    ranks = {}
    parts = ["a", "b", "c", "d"]
    while len(ranks) < 30:
        pair = rng.choice(parts), rng.choice(parts)
        if pair not in ranks and len("".join(pair)) < 6:
            ranks[pair] = rng.randrange(12)
            parts.append("".join(pair))
    for _ in range(50):
        symbols = rng.choices("abcd", k=rng.randrange(30))
        want = list(symbols)
        while options := [(ranks[p], i) for i, p in enumerate(itertools.pairwise(want)) if p in ranks]:
            _, i = min(options)
            want[i:i + 2] = [want[i] + want[i + 1]]
        assert joined(list(symbols), lambda a, b: ranks.get((a, b))) == want


def test_a_stream_waits_for_whole_characters():
    tokenizer = scored()
    stream = tokenizer.stream()
    pieces = [stream.add(t) for t in tokenizer.encode("a€b", begin=False)]
    assert pieces == [" a", "", "", "€", "b"] and stream.finish() == ""
    stream = tokenizer.stream()
    assert stream.add(3 + 0xE2) == "" and stream.finish() == "\ufffd"


@pytest.mark.parametrize("changed, message", [
    ({"model": "bert"}, "tokenizer.ggml.model is 'bert'"),
    ({"model": None}, "tokenizer.ggml.model is None"),
    ({"scores": None}, "tokenizer.ggml.scores is missing"),
    ({"model": "gpt2"}, "tokenizer.ggml.merges is missing"),
    ({"model": "gpt2", "merges": ["ab"]}, "no two parts"),
    ({"model": "gpt2", "merges": [], "pre": "lama-bpe"}, "did you mean 'llama-bpe'"),
], ids=str)
def test_damage_is_one_error(changed, message):
    with pytest.raises(FileError, match=re.escape(message)):
        scored(**changed)


def test_a_vocabulary_of_bytes():
    tokenizer = Tokenizer(fields(SCORED[3:259], types=[6] * 256, scores=[0] * 256, add_space_prefix=False, add_bos_token=False))
    for text in writer.KNOWN:
        assert bytes(tokenizer.encode(text)) == text.encode() and tokenizer.decode(tokenizer.encode(text)) == text


def test_a_vocabulary_with_holes():
    tokens = ["a", "b"]
    with pytest.raises(ArgumentError, match="no token for 'c'"):
        Tokenizer(fields(tokens, scores=[0, 0], add_space_prefix=False)).encode("abc")
    assert Tokenizer(fields(tokens, scores=[0, 0], ids={"unknown": 1}, add_space_prefix=False)).encode("c", begin=False) == [1]
    with pytest.raises(ArgumentError, match="no token for"):
        Tokenizer(fields(tokens, model="gpt2", merges=[])).encode("c")
