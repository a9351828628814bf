"""Slices of large batches: the same bits, and only where that keeps values in a cache."""

import numpy as np
import pytest

import ingot
from conv_programs import BlockedText, RandomNet
from graphs import check_same_meaning, check_untouched, graph_of
from ingot import jit, nn
from ingot.ir.graph.verify import verify
from ingot.passes.networks.image_slices import slice_images
from ingot.runtime.cpu.graph import machine_passes
from seeds import seeds

KIND = "f64[6,2,5,4,4]"
IMAGE = 2 * 5 * 4 * 4 * 8               # bytes
TEXT = BlockedText(KIND)
conv, graph = TEXT.conv, TEXT.graph

CHAIN = ("%0: " + conv("%x"), "%1: " + conv("%0", ", %c", "(('add', 'a', 'o0'),)"), "%2: " + conv("%1"),
         "%3: " + conv("%2", ", %0", "(('add', 'a', 'o0'),)"))


@pytest.mark.parametrize("budget, images", [(2 * IMAGE, 1), (6 * IMAGE, 2), (9 * IMAGE, 3), (11 * IMAGE, 3)])
def test_as_many_images_at_a_time_as_the_budget_takes(budget, images):
    before = graph_of(graph(*CHAIN, returns="%3"))
    after = verify(slice_images(before, budget))
    layers = [n for n in after.nodes if n.op.name == "conv_blocked"]
    assert {n.output.shape[0] for n in layers} == {images} and len(layers) == 4 * 6 // images
    assert after.outputs[0].node.op.name == "cat"
    check_same_meaning(before, after, 6)


@pytest.mark.parametrize("batch, most, sizes", [(7, 3, [2, 2, 3]), (7, 4, [3, 4]), (8, 3, [2] * 4), (8, 5, [4] * 2),
                                                (13, 4, [3, 3, 3, 4]), (5, 1, [1] * 5), (37, 2, [1, *[2] * 18])])
def test_indivisible_batches_are_cut_into_nearly_equal_slices(batch, most, sizes):
    before = graph_of(graph(*CHAIN, returns="%3").replace("f64[6,", f"f64[{batch},"))
    after = verify(slice_images(before, 3 * most * IMAGE))
    layers = [n.output.shape[0] for n in after.nodes if n.op.name == "conv_blocked"]
    assert layers == [n for n in sizes for _ in CHAIN]
    check_same_meaning(before, after, batch)


@pytest.mark.parametrize("lines, returns", [
    (CHAIN, "%0, %1, %2, %3"),                                              # all of it leaves
    (CHAIN[:1], "%0"),                                                      # nothing stays inside
    ((f"%0: {KIND} = relu(%x)", f"%1: {KIND} = relu(%0)"), "%1"),           # no layers
])
def test_segments_without_gain_stay_whole(lines, returns):
    check_untouched(lambda g: slice_images(g, IMAGE), graph(*lines, returns=returns))


def test_a_segment_extends_to_where_few_bytes_leave_it():
    small = "f64[6,2,3,2,4]"
    lines = "%0: " + conv("%x"), "%1: " + conv("%0").replace("stride=(1, 1)", "stride=(2, 2)").replace(KIND, small)
    text = graph(*lines, returns="%1")
    after = verify(slice_images(graph_of(text), 11 * IMAGE))
    assert [n.output.shape[0] for n in after.nodes if n.op.name == "conv_blocked"] == [3] * 4
    check_same_meaning(graph_of(text), after, 6)


def test_layers_that_wait_for_other_work_start_a_segment():
    first = ["%0: " + conv("%x"), *[f"%{i + 1}: " + conv(f"%{i}") for i in range(6)]]
    second = [f"%7: {KIND} = exp(%6)", "%8: " + conv("%7"), "%9: " + conv("%8", ", %2", "(('add', 'a', 'o0'),)"),
              *[f"%{i + 1}: " + conv(f"%{i}") for i in range(9, 13)]]
    text = graph(*first, *second, returns="%13")
    before = graph_of(text)
    after = verify(slice_images(before, 3 * IMAGE))
    assert [n.output.shape[0] for n in after.nodes if n.op.name == "conv_blocked"] == [1] * 13 * 6
    check_same_meaning(before, after, 3)


def test_layers_within_the_budget_stay_whole():
    check_untouched(lambda g: slice_images(g, 18 * IMAGE), graph(*CHAIN, returns="%3"))


def traced(f, x, monkeypatch, budget):
    """Return (the traced result, whether anything was sliced)."""
    changed = []

    def watched(graph, budget):
        changed.append(slice_images(graph, budget) is not graph)
        return slice_images(graph, budget)

    monkeypatch.setattr(machine_passes.cache_sizes, "cached_between_steps", lambda threads: budget)
    monkeypatch.setattr(machine_passes, "slice_images", watched)
    made = jit.trace(lambda x: f(x))
    with ingot.no_grad():
        made(x)
        return made(x).numpy(), any(changed)


@pytest.mark.parametrize("seed", seeds(6, 30))
def test_random_networks_give_the_same_bits(seed, monkeypatch, threads):
    threads(1 + seed % 3)
    net = RandomNet(seed, depth=8).eval()
    x = ingot.tensor(np.random.default_rng(seed).standard_normal((4, net.channels, 14, 13)).astype(np.float32))
    whole, none = traced(net, x, monkeypatch, 1 << 40)
    parts, _ = traced(net, x, monkeypatch, 1)
    assert not none and np.array_equal(whole, parts, equal_nan=True)


def test_every_algorithm_gives_the_same_bits(monkeypatch):
    ingot.manual_seed(1)
    net = nn.Sequential(nn.Conv2d(3, 32, 7, 2, 3), nn.ReLU(), nn.MaxPool2d(3, 2, 1), nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(),
                        nn.Conv2d(64, 64, 3, padding=1, groups=64), nn.ReLU6(), nn.Conv2d(64, 24, 1), nn.AvgPool2d(2)).eval()
    x = ingot.randn(6, 3, 60, 60)
    whole, _ = traced(net, x, monkeypatch, 1 << 40)
    parts, slices = traced(net, x, monkeypatch, 1 << 18)
    assert slices and np.array_equal(whole, parts)
