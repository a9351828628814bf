"""The operators of torchaudio's extension, against definitions that go step by step, or through all ways there are."""

from itertools import combinations, product

import numpy as np
import pytest

import ingot
from ingot.ir.errors import ArgumentError

for name in ("_torchaudio.so", "libtorchaudio.abi3.so"):
    ingot.ops.load_library(f"anywhere/torchaudio/lib/{name}")
OPS = ingot.ops.torchaudio


def rows(*shape, kind=np.float64, seed=3):
    return np.random.default_rng(seed).standard_normal(shape).astype(kind)


def test_offered_operators():
    assert ingot.ops._torchaudio.is_align_available() is True and ingot.ops._torchaudio.cuda_version() is None
    with pytest.raises(OSError, match="another framework"):
        ingot.ops.load_library("anywhere/torchaudio/lib/torchaudio_prefixctc.abi3.so")


# Recurrences.

@pytest.mark.parametrize("kind, error", [(np.float32, 2e-5), (np.float64, 1e-12)])
@pytest.mark.parametrize("order, time", list(product((0, 1, 2, 5), (0, 1, 63, 64, 65, 200))))
def test_filters(order, time, kind, error):
    x, before = rows(3, 2, time, kind=kind), rows(3, 2, order, kind=kind, seed=4)
    a = np.concatenate([np.ones((2, 1)), rows(2, order, seed=5) * 0.3 / max(order, 1)], 1).astype(kind)
    y = np.concatenate([before, np.zeros((3, 2, time), kind)], 2).astype(np.float64)
    for n in range(order, order + time):
        y[:, :, n] = x[:, :, n - order] - sum(a[:, k] * y[:, :, n - k] for k in range(1, order + 1))
    found = ingot.tensor(np.concatenate([before, np.zeros((3, 2, time), kind)], 2))
    OPS._lfilter_core_loop(ingot.tensor(x), ingot.tensor(a[:, ::-1].copy()), found)
    np.testing.assert_allclose(found.numpy(), y, rtol=error, atol=error)


@pytest.mark.parametrize("time", [0, 1, 150])
def test_overdrive(time):
    wave, distorted, first, out = rows(2, time), rows(2, time, seed=4), rows(2, seed=5), rows(2, seed=6)
    expected, last_in, last_out = np.zeros((2, time)), first.copy(), out.copy()
    for n in range(time):
        last_out = distorted[:, n] - last_in + 0.995 * last_out
        last_in = distorted[:, n]
        expected[:, n] = wave[:, n] * 0.5 + last_out * 0.75
    given = [ingot.tensor(a) for a in (wave, distorted, first, out, np.zeros((2, time)))]
    OPS._overdrive_core_loop(*given)
    for t, what in zip(given[2:], (last_in, last_out, expected)):
        np.testing.assert_allclose(t.numpy(), what, atol=1e-12)


# Transducers.

LENGTHS = [(1, 0), (4, 0), (1, 2), (4, 2), (3, 3)]


def all_ways(logs, words, frames, labels, blank):
    """minus the logarithm of the sum over all orders of silent steps and words."""
    total = 0.0
    for spoken in combinations(range(frames - 1 + labels), labels):
        t = u = 0
        chance = 0.0
        for step in range(frames - 1 + labels):
            chance += logs[t, u, words[u]] if step in spoken else logs[t, u, blank]
            t, u = (t, u + 1) if step in spoken else (t + 1, u)
        total += np.exp(chance + logs[t, u, blank])
    return -np.log(total)


@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("blank", [0, 4])
def test_transducers(fused, blank):
    scores, words = rows(len(LENGTHS), 5, 4, 5), np.random.default_rng(1).integers(0, 5, (len(LENGTHS), 3))
    words[0] = -7                                                   # beyond the lengths anything may lie
    frames, labels = np.array(LENGTHS).T

    def costs(scores):
        logs = scores - np.log(np.exp(scores).sum(-1, keepdims=True)) if fused else scores
        return np.array([all_ways(logs[b], words[b], frames[b], labels[b], blank) for b in range(len(LENGTHS))])

    given = [ingot.tensor(a) for a in (words, frames, labels)]
    cost, slopes = OPS.rnnt_loss_forward(ingot.tensor(scores), *given, blank, -1.0, fused)
    np.testing.assert_allclose(cost.numpy(), costs(scores), rtol=1e-12)
    numerical = np.zeros_like(scores)
    for at in np.ndindex(scores.shape):
        high, low = scores.copy(), scores.copy()
        high[at] += 1e-5
        low[at] -= 1e-5
        numerical[at] = ((costs(high) - costs(low)) / 2e-5)[at[0]]
    np.testing.assert_allclose(slopes.numpy(), numerical, atol=1e-8)
    _, limited = OPS.rnnt_loss_forward(ingot.tensor(scores), *given, blank, 0.1, fused)
    np.testing.assert_array_equal(limited.numpy(), slopes.numpy().clip(-0.1, 0.1))


@pytest.mark.parametrize("words, frames, labels, what", [
    ([[1, 2]], [6], [2], "lengths"), ([[1, 2]], [3], [3], "lengths"), ([[1, 9]], [3], [2], "targets are below 5"),
    ([[1, 2]], [0], [1], "lengths"), ([[1, 2], [1, 2]], [3, 3], [1, 1], "1 sequences")])
def test_transducers_refuse(words, frames, labels, what):
    with pytest.raises(ArgumentError, match=what):
        OPS.rnnt_loss_forward(ingot.ones(1, 5, 3, 5), *map(ingot.tensor, (words, frames, labels)), 0, -1.0, True)


# Alignments.

@pytest.mark.parametrize("words", [[], [2], [1, 2], [1, 1], [3, 1, 1]])
def test_alignments(words):
    logs, frames = rows(1, 6, 4, seed=len(words) + 7), 5
    path, scores = OPS.forced_align(ingot.tensor(logs), ingot.tensor([words], dtype=ingot.int64), ingot.tensor([frames]),
                                    ingot.tensor([len(words)]), 0)

    def told(labels):
        return [a for a, before in zip(labels, (None, *labels)) if a != before and a != 0]

    ways = [way for way in product(range(4), repeat=frames) if told(way) == words]
    best = max(ways, key=lambda way: sum(logs[0, t, label] for t, label in enumerate(way)))
    assert path.tolist() == [[*best, 0]] and np.array_equal(scores.numpy(), logs)


def test_alignments_refuse():
    given = ingot.zeros(1, 3, 4), ingot.tensor([[1, 1, 2]]), ingot.tensor([3]), ingot.tensor([3])
    with pytest.raises(ArgumentError, match="3 frames are too few"):
        OPS.forced_align(*given, 0)
    with pytest.raises(ArgumentError, match="one sequence at a time"):
        OPS.forced_align(*(ingot.cat([t, t]) for t in given), 0)
