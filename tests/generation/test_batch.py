"""Batches: texts of different lengths that run at once, join and leave, and equal those alone bit for bit."""

import itertools
import random
import re

import numpy as np
import pytest

import tiny_language_models as tiny
from ingot import generation
from ingot.generation import Sampling, batch, kv_cache
from ingot.generation.scheduler import Request, Scheduler
from ingot.ir import config
from ingot.ir.errors import ArgumentError

GREEDY = Sampling(temperature=0)
SAMPLINGS = [GREEDY, Sampling(), Sampling(1.0, 0, 1.0, 0.0), Sampling(1.5, 5, 1.0, 0.0), Sampling(0.7, 0, 0.6, 0.0),
             Sampling(0.9, 50, 0.9, 0.01, 1.3, 0.4, 0.2, counted=7), Sampling(0, repetition_penalty=1.5, counted=20)]
# (architecture, stored weights, seed, ways of sampling)
PROGRAMS = [("gemma2", "Q8_0", 0, 2), ("gemma3", None, 1, 2), *[
    pytest.param(*case, 4, marks=pytest.mark.slow)
    for case in itertools.product(["gemma2", "gemma3", "qwen3"], ["Q8_0", "Q4_0", None], range(2, 4))]]


@pytest.fixture(autouse=True)
def small_sizes(monkeypatch):
    """Let texts of a few tokens cross sizes of the cache and of parts of prompts."""
    monkeypatch.setattr(kv_cache, "ROWS", 16)
    monkeypatch.setattr(batch, "PART", 8)


@pytest.fixture
def path(tmp_path):
    tiny.write(tmp_path / "m.gguf", "gemma3", seed=1, stored="Q8_0")
    return tmp_path / "m.gguf"


def prompt(rng, longest=40):
    return [1, *[rng.randrange(3, 300) for _ in range(rng.choice((0, 1, 2, 7, 8, 9, rng.randrange(longest))))]]


def alone(model, request):
    """The tokens that a request gets alone, those that end it left out."""
    tokens = itertools.islice(model.tokens(request.prompt, request.sampling, request.seed), request.max_tokens)
    return list(itertools.takewhile(lambda t: t not in request.ends, tokens))


def check_recordings(model, steps):
    """One recording of each traced function."""
    stats = model.stats()
    assert len(stats) <= 1 + steps
    for s in stats.values():
        assert (s["compiles"], s["unrecorded"]) == (1, 0), stats


@pytest.mark.parametrize("variant", ["llama", "gemma2"])
def test_logits_of_texts_that_differ_in_length(variant, tmp_path):
    """Greedy tokens of three texts, against the decoder in NumPy."""
    s = tiny.write(tmp_path / "m.gguf", variant, seed=1)
    scheduler = Scheduler(generation.load(tmp_path / "m.gguf", rows=3).batch)
    requests = [Request([1, *range(70, 70 + n)], GREEDY, max_tokens=10) for n in (1, 6, 19)]
    texts = {r: list(r.prompt) for r in requests}
    for r in requests:
        scheduler.add(r)
    while scheduler.running or scheduler.waiting:
        for r, token in scheduler.advance():
            logits = tiny.logits(s, np.array(texts[r]))[-1]
            assert logits[token] > logits.max() - 2e-3
            texts[r].append(token)
    assert [len(t) - len(r.prompt) for r, t in texts.items()] == [10] * 3


@pytest.mark.parametrize("variant, stored, seed, ways", PROGRAMS)
def test_requests_that_join_and_leave_are_those_alone(variant, stored, seed, ways, tmp_path):
    """Random programs of requests on three rows: more than rows, some cancelled, some of one token, all kinds of sampling."""
    tiny.write(tmp_path / "m.gguf", variant, seed=seed, stored=stored)
    rng = random.Random(f"{variant} {stored} {seed}")
    model, single = (generation.load(tmp_path / "m.gguf", rows=n) for n in (3, 1))
    scheduler, written, rows = Scheduler(model.batch), {}, set()
    samplings = rng.sample(SAMPLINGS, ways)
    to_come = [Request(prompt(rng), rng.choice(samplings), rng.randrange(99), rng.choice((1, 2, 9, None)),
                       frozenset(rng.sample(range(300), 4))) for _ in range(10)]
    cancelled = set(rng.sample(to_come, 2))
    while to_come or scheduler.waiting or scheduler.running:
        while to_come and rng.random() < 0.3:
            request = to_come.pop()
            written[request] = []
            scheduler.add(request)
        for request, token in scheduler.advance():
            written[request] += [token] * (request.ended != "end")
        rows |= scheduler.running.keys()
        for request in cancelled & written.keys():
            if rng.random() < 0.2:
                scheduler.cancel(request)
    assert rows == {0, 1, 2} and not model.batch.texts
    for request, tokens in written.items():
        want = alone(single, request)
        assert tokens == (want[:len(tokens)] if request in cancelled else want)
    check_recordings(model, 8)


def test_texts_are_those_alone(path):
    model, single = generation.load(path, rows=4), generation.load(path)
    prompts, seeds = ["ab", "th ab" * 6, "a", "é", "t" * 20], list(range(5))
    samplings = [SAMPLINGS[i] for i in (1, 0, 1, 0, 1)]
    texts = model.generate_all(prompts, 12, samplings, seeds)
    assert texts == ["".join(single.generate(p, 12, s, n)) for p, s, n in zip(prompts, samplings, seeds)]
    assert single.generate_all(prompts[:2], 9, seed=3) == model.generate_all(prompts[:2], 9, seed=3)
    with config.override(jit=False):
        assert model.generate_all(prompts, 12, samplings, seeds) == texts
    with pytest.raises(ArgumentError, match="2 prompts have 1 samplings and 2 seeds"):
        model.generate_all(["a", "b"], 3, [GREEDY])


def test_a_step_is_one_recording_for_all_lengths_and_numbers_of_texts(path):
    model = generation.load(path, rows=4)
    for count in (1, 2, 3, 4, 5, 1):
        assert len(model.generate_all(["ab" * (3 * i + 1) for i in range(count)], 50, GREEDY)) == count
    check_recordings(model, 1)


@pytest.mark.parametrize("rows, sampling", [(1, SAMPLINGS[1]), (3, SAMPLINGS[5]), (2, SAMPLINGS[2])], ids=range(3))
def test_a_step_writes_in_place(sampling, rows, path):
    """A copied cache would make each token as slow as the context is long."""
    model = generation.load(path, rows=rows)
    model.generate_all(["ab th"] * rows, 4, sampling)
    (step,) = model.batch._steps.values()
    written, updates = re.search(r"(\d+) of (\d+) updates written in place", str(step.explain())).groups()
    assert written == updates == str(8 + sampling.penalises)


def test_numbers_of_samplings_need_no_new_recording(path):
    """A step that serves more ways is taken where there is one. The first text runs alone for a step."""
    model = generation.load(path, rows=2)
    model.generate_all(["ab", "th"], 4, [SAMPLINGS[5], Sampling(top_k=0)])
    for sampling in SAMPLINGS:
        if sampling.way != SAMPLINGS[2].way:
            model.generate_all(["ab", "th"], 4, sampling)
    check_recordings(model, 2)


@pytest.mark.parametrize("rows", [0, -1, 257, 2.0, True], ids=str)
def test_the_number_of_rows_is_checked(rows, path):
    with pytest.raises(ArgumentError, match="a batch has 1 to 256 rows"):
        generation.load(path, rows=rows)
