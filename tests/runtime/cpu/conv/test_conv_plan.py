"""Plans of convolutions: shares of Winograd's channels, half vectors, partial blocks, prefetched weights, rows of threads."""

import dataclasses
import random
import re
import time

import numpy as np
import pytest

from blocked_arrays import block, operator, pack_weight, run_fused, unblock
from ingot.ir import target
from ingot.ir.ops.nn import conv as ops
from ingot.passes.codegen.llvm.contract import gemm as gemm_code
from ingot.passes.codegen.llvm.contract.microkernel import Precision
from ingot.passes.codegen.llvm.conv import conv as direct_code
from ingot.passes.codegen.llvm.conv import conv_depthwise as depthwise_code
from ingot.passes.codegen.llvm.conv import conv_tile
from ingot.passes.codegen.llvm.conv.conv_epilogue import Lines, Usual
from ingot.runtime.core.dispatch import kernel_of
from ingot.runtime.cpu.calls.plan import SlotJobs, X, Y
from ingot.runtime.cpu.calls.step_list import At
from ingot.runtime.cpu.conv import conv, conv_depthwise, conv_few_channels, conv_fused, conv_plan, pooling, winograd
from ingot.runtime.cpu.gemm import gemm
from ingot.runtime.cpu.memory import alloc, cache_sizes

ALGORITHMS = (winograd.F2, winograd.HALF, winograd.F2X4, winograd.HALF2X4, winograd.F4, winograd.STRIDED)
needs_winograd = pytest.mark.skipif(not target.host().fma, reason="the algorithm needs a fused multiply-add")


def window(taps, stride=1, groups=1):
    return {"stride": (stride,) * 2, "padding": ((taps // 2, taps // 2),) * 2, "dilation": (1, 1), "groups": groups}


def draw(rng, *shape):
    return rng.standard_normal(shape).astype(np.float32)


def plan_of(x_shape, w_shape, **params):
    return conv_plan.geometry_of(x_shape, w_shape, params["stride"], params["padding"], params["dilation"], params["groups"], 4)


def close(found, x, w, b, params):
    """Compare results, relative to the sum of absolute products of each."""
    wide = [None if a is None else a.astype(np.float64) for a in (x, w, b)]
    wanted, scale = ops.conv.ref(*wide, **params), ops.conv.ref(*[None if a is None else np.abs(a) for a in wide], **params)
    assert (np.abs(found - wanted) <= 2e-6 * scale).all(), f"{x.shape} {w.shape} {params}"


# Winograd.


@pytest.mark.parametrize("seed", range(6))
def test_blocks_and_shares_cover_tiles_and_channels_once(seed):
    rng = np.random.default_rng(seed)
    for _ in range(40):
        size, inputs, outputs = (int(rng.integers(low, high)) for low, high in ((1, 60), (1, 600), (1, 600)))
        images, threads = int(rng.integers(1, 9)), int(rng.integers(1, 17))
        algorithm = ALGORITHMS[int(rng.integers(len(ALGORITHMS)))]
        g = plan_of((images, inputs, size, size), (outputs, inputs, 3, 3), **window(3, algorithm.stride))
        cut, panels = winograd.tiling(g, algorithm, threads), winograd.filters_of(g, algorithm).panels
        said = f"seed {seed}: {images}x{inputs}x{size}x{size} to {outputs}, {algorithm}, {threads} threads: {cut}"
        out = -(-size // algorithm.stride)
        assert cut.tiles == images * -(-out // algorithm.rows) * -(-out // algorithm.columns), said
        assert (cut.blocks - 1) * cut.block < cut.tiles <= cut.blocks * cut.block, said
        assert (cut.shares - 1) * cut.share_panels < panels <= cut.shares * cut.share_panels, said
        assert cut.shares <= threads, said


def test_few_tiles_beside_many_weights_share_out_channels():
    few = plan_of((1, 512, 7, 7), (512, 512, 3, 3), **window(3))
    many = plan_of((8, 64, 56, 56), (64, 64, 3, 3), **window(3))
    assert winograd.tiling(few, winograd.F2, 2).shares == 2 and winograd.tiling(few, winograd.F2, 1).shares == 1
    assert winograd.tiling(many, winograd.F2, 2).shares == 1


@pytest.mark.parametrize("images, channels, size, cache, block", [
    (1, 512, 7, 1 << 20, 16), (8, 512, 7, 1 << 20, 64), (1, 256, 14, 1 << 20, 49), (8, 512, 14, 2 << 20, 56),
    (8, 64, 56, 1 << 20, 36), (8, 128, 28, 1 << 20, 36)])
def test_blocks_outgrow_the_cache_to_read_weights_less_often(images, channels, size, cache, block, monkeypatch):
    monkeypatch.setattr(cache_sizes, "second_level", lambda: cache)
    g = plan_of((images, channels, size, size), (channels, channels, 3, 3), **window(3))
    assert winograd.tiling(g, winograd.F2, 1).block == block


@needs_winograd
@pytest.mark.parametrize("images, size, cache, algorithm", [
    (1, 4, 1 << 20, winograd.F2), (1, 4, 2 << 20, None), (1, 7, 2 << 20, winograd.HALF2X4), (8, 7, 2 << 20, winograd.F2X4),
    (1, 14, 2 << 20, winograd.F2X4)], ids=str)
def test_far_weights_that_few_tiles_read_are_not_transformed(images, size, cache, algorithm, monkeypatch):
    """They are half-transformed if a register tile has room for that."""
    monkeypatch.setattr(cache_sizes, "second_level", lambda: cache)
    wanted = None if algorithm and algorithm.half and target.host().vector_registers < 32 else algorithm
    assert winograd.choose(plan_of((images, 512, size, size), (512, 512, 3, 3), **window(3)), prepared=True) == wanted


def test_the_size_of_a_cache_is_read_as_the_system_writes_it(tmp_path, monkeypatch):
    for number, (level, size) in enumerate((("1", "48K"), ("1", "32K"), ("2", "2048K"), ("3", "491520K"))):
        (tmp_path / f"index{number}").mkdir()
        (tmp_path / f"index{number}" / "level").write_text(level + "\n")
        (tmp_path / f"index{number}" / "size").write_text(size + "\n")
    for folder, found in ((tmp_path, 2 << 20), (tmp_path / "nothing", 1 << 20)):
        monkeypatch.setattr(cache_sizes, "_FOLDER", folder)
        assert cache_sizes._size.__wrapped__("2") == found


@needs_winograd
def test_shares_of_channels_change_nothing(threads):
    rng = np.random.default_rng(3)
    x, w, b = draw(rng, 1, 200, 7, 9), draw(rng, 330, 200, 3, 3), draw(rng, 330)
    x[0, 5, 3, 3], x[0, 9, 6, 0] = np.nan, np.inf
    results, shares = [], []
    for count in (1, 2, 3, 5):
        threads(count)
        shares.append(winograd.tiling(plan_of(x.shape, w.shape, **window(3)), winograd.F2X4, count).shares)
        results.append(kernel_of(ops.conv)(x, w, b, **window(3)))
    assert len(set(shares)) > 1, f"the case has no shares: {shares}"
    for other in results[1:]:
        assert np.array_equal(results[0], other, equal_nan=True)


@needs_winograd
@pytest.mark.parametrize("inputs, outputs, shape", [
    (33, 150, (1, 7, 3)), (48, 16, (1, 5, 6)), (200, 150, (1, 6, 7)), (70, 100, (3, 7, 7)), (512, 40, (1, 7, 7)),
    (129, 33, (2, 1, 2)), (64, 64, (5, 3, 1)), (300, 136, (40, 5, 5))], ids=str)
def test_half_transformed_weights_give_the_same_results(inputs, outputs, shape, threads):
    rng, (images, *size) = np.random.default_rng(inputs), shape
    x, w, b = draw(rng, images, inputs, *size), draw(rng, outputs, inputs, 3, 3), draw(rng, outputs)
    g, results = plan_of(x.shape, w.shape, **window(3)), []
    half, wide = winograd.HALF, winograd.HALF2X4
    for algorithm, count in ((winograd.F2, 1), (half, 1), (half, 3), (wide, 1), (wide, 3)):
        threads(count)
        made = conv.direct(g, np.dtype(np.float32), (images, outputs, *size), algorithm)
        alloc.empty(made.plan.size // 4 + 32, np.dtype(np.float32)).fill(np.nan)     # what planes lack is no NaN
        results.append(made(x, w, b))
    assert np.array_equal(results[0], results[1]) and np.array_equal(results[1], results[2])
    assert np.array_equal(results[3], results[4]) and not np.array_equal(results[0], results[3])
    close(results[0], x, w, b, window(3))
    close(results[3], x, w, b, window(3))


@needs_winograd
@pytest.mark.parametrize("size", [(1, 1), (2, 5), (6, 6), (7, 9)])
@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=str)
def test_partial_tiles_write_no_pixels_outside(size, algorithm):
    """Several images are used, so that tiles missing in planes of one kind are followed by others."""
    rng, images = np.random.default_rng(size[0]), 3
    x, w, b = draw(rng, images, 40, *size), draw(rng, 24, 40, 3, 3) / 20, draw(rng, 24)
    x[1, 7, size[0] - 1, size[1] - 1] = np.inf
    g = plan_of(x.shape, w.shape, **window(3, algorithm.stride))
    with np.errstate(all="ignore"):
        wanted = ops.conv.ref(*(v.astype(np.float64) for v in (x, w, b)), **window(3, algorithm.stride))
    y = conv.direct(g, np.dtype(np.float32), wanted.shape, algorithm)(x, w, b)
    np.testing.assert_array_equal(np.isfinite(y), np.isfinite(wanted))
    fine = np.isfinite(wanted)
    np.testing.assert_allclose(y[fine], wanted[fine], atol=1e-4)


@needs_winograd
@pytest.mark.parametrize("images, channels, size, half", [
    (1, 512, 7, True), (1, 384, 6, True), (8, 512, 7, False), (1, 512, 4, False), (1, 64, 7, False), (1, 256, 14, False)])
def test_half_transformed_weights_are_chosen_for_few_tiles_and_far_weights(images, channels, size, half, monkeypatch):
    monkeypatch.setattr(cache_sizes, "second_level", lambda: 1 << 20)
    g = plan_of((images, channels, size, size), (channels, channels, 3, 3), **window(3))
    found = winograd.choose(g, prepared=True)
    assert found.half == (half and target.host().vector_registers >= 32)
    assert winograd.HALF2X4.filter_bytes(g) <= 1 / 2 * winograd.F2X4.filter_bytes(g)


@needs_winograd
@pytest.mark.parametrize("images, inputs, outputs, size, strided", [
    (1, 64, 128, 56, True), (1, 128, 256, 28, True), (8, 256, 256, 28, True), (1, 512, 512, 14, False), (1, 16, 16, 8, False)])
def test_strided_windows_are_transformed_if_faster(images, inputs, outputs, size, strided, monkeypatch):
    monkeypatch.setattr(cache_sizes, "second_level", lambda: 1 << 20)
    g = plan_of((images, inputs, size, size), (outputs, inputs, 3, 3), **window(3, 2))
    assert winograd.choose(g, prepared=True) == (winograd.STRIDED if strided else None)


# Direct.


@pytest.mark.parametrize("inputs", [1, 2, 3, 5])
@pytest.mark.parametrize("taps, stride", [(3, 1), (3, 2), (7, 2)])
def test_unrolled_steps_give_the_same_results(inputs, taps, stride, monkeypatch):
    rng, params = np.random.default_rng(inputs), window(taps, stride)
    x, w, b = draw(rng, 2, inputs, 19, 23), draw(rng, 40, inputs, taps, taps), draw(rng, 40)
    g, results = plan_of(x.shape, w.shape, **params), []
    assert conv_plan._written(dataclasses.replace(g, x_plain=True)) == (taps if taps < g.lanes else 0)
    for written in (conv_plan._written, lambda geometry: 0):
        monkeypatch.setattr(conv_plan, "_written", written)
        results.append(conv.direct(g, np.dtype(np.float32), (2, 40, *[d.out for d in g.dims[1:]]), None)(x, w, b))
    assert np.array_equal(*results)
    close(results[0], x, w, b, params)


@pytest.mark.parametrize("outputs", [1, 5, 8, 9, 16, 17, 23, 24, 25, 40, 72, 104])
@pytest.mark.parametrize("taps, stride", [(1, 2), (3, 2)])
def test_half_vectors_give_the_same_results(outputs, taps, stride, monkeypatch):
    rng, params = np.random.default_rng(outputs), window(taps, stride)
    x, w, b = draw(rng, 2, 24, 15, 21), draw(rng, outputs, 24, taps, taps), draw(rng, outputs)
    found = kernel_of(ops.conv)(x, w, b, **params)
    close(found, x, w, b, params)
    conv.forward_plan.cache_clear()
    monkeypatch.setattr(conv_plan, "_is_narrow", lambda geometry, filters: False)
    assert np.array_equal(found, kernel_of(ops.conv)(x, w, b, **params))
    conv.forward_plan.cache_clear()


def test_half_vectors_are_chosen_if_the_upper_half_has_no_channels():
    def narrow(outputs):
        g = plan_of((1, 16, 9, 9), (outputs, 16, 1, 1), **window(1))
        return conv_plan._is_narrow(g, conv_plan.filters_of(g))

    lanes = target.host().lanes(4)
    assert [narrow(n) for n in (lanes // 2, lanes, lanes + 1, lanes + lanes // 2, lanes + lanes // 2 + 1, 2 * lanes)] == [
        True, False, True, True, False, False]


@pytest.mark.parametrize("taps", [1, 3])
def test_the_last_block_of_channels_goes_with_the_whole_ones(taps):
    lanes = target.host().lanes(4)
    g = plan_of((1, 2 * lanes + 3, 9, 9), (16, 2 * lanes + 3, taps, taps), **window(taps))
    segments = [dict(zip(direct_code.SEGMENT, s)) for s in conv_plan._segments(g, conv_plan.filters_of(g), 2, 5, (0, 3))[0]]
    assert all(len(s) == len(direct_code.SEGMENT) for s in segments)
    if taps == 1:
        only, = segments
        assert (only["blocks"], only["steps"], only["last"]) == (3, lanes, 3)
    else:
        assert [(s["blocks"], s["taps"], s["steps"], s["last"]) for s in segments] == [
            (2, 1, 3 * lanes, 3 * lanes), (1, 3, 3, 3)]
    assert [bool(s["flags"] & conv_tile.LAST) for s in segments] == [False] * (len(segments) - 1) + [True]


@pytest.mark.parametrize("inputs", [1, 17, 24, 40, 47])
@pytest.mark.parametrize("groups", [1, 2])
def test_partial_blocks(inputs, groups, threads):
    rng = np.random.default_rng(inputs)
    for taps, stride, count in ((1, 2, 1), (3, 2, 2), (3, 1, 3)):
        threads(count)
        params = window(taps, stride, groups)
        x, w = draw(rng, 2, inputs * groups, 9, 11), draw(rng, 40 * groups, inputs, taps, taps)
        close(kernel_of(ops.conv)(x, w, None, **params), x, w, None, params)


@pytest.mark.parametrize("inputs, outputs, size, taps, stride, depths", [
    (512, 512, 14, 3, 2, 3), (2048, 512, 7, 1, 1, 2), (64, 64, 56, 3, 1, 1), (2048, 512, 1, 1, 1, 1)])
def test_large_panels_are_read_in_ranges_of_channels(inputs, outputs, size, taps, stride, depths,
                                                                         monkeypatch):
    monkeypatch.setattr(cache_sizes, "second_level", lambda: 1 << 20)
    g = plan_of((1, inputs, size, size), (outputs, inputs, taps, taps), **window(taps, stride))
    found = conv_plan._depths(g, conv_plan.filters_of(g), 8)
    assert len(found) == depths or target.host().vector_registers < 32
    assert [b for low, high in found for b in range(low, high)] == list(range(g.x_blocks.count))


@pytest.mark.parametrize("seed", range(12))
def test_ranges_of_channels_add_up(seed, threads, monkeypatch):
    rng = np.random.default_rng(seed)
    inputs, size, taps = int(rng.integers(5, 90)), int(rng.integers(6, 14)), int(rng.choice([1, 2, 3, 5]))
    params = window(taps, int(rng.integers(1, 3)), int(rng.integers(1, 3))) | {"dilation": (1, int(rng.integers(1, 3)))}
    x, w = draw(rng, 2, inputs * params["groups"], size, size + 3), draw(rng, 40 * params["groups"], inputs, taps, taps)
    b, results = draw(rng, len(w)), []
    monkeypatch.setattr(conv_plan, "_depths", lambda g, *_: [(i, i + 1) for i in range(g.x_blocks.count)])
    for count in (1, 3):
        threads(count)
        conv.forward_plan.cache_clear()
        results.append(kernel_of(ops.conv)(x, w, b, **params))
    conv.forward_plan.cache_clear()
    close(results[0], x, w, b, params)
    assert np.array_equal(*results)


def test_prefetched_weights_give_the_same_results(threads, monkeypatch):
    rng, params = np.random.default_rng(4), window(3, 2)
    x, w, b = draw(rng, 1, 64, 13, 13), draw(rng, 170, 64, 3, 3), draw(rng, 170)
    results = []
    for far in (1 << 40, 1):
        monkeypatch.setattr(conv_plan, "_FAR_BYTES", far)
        for count in (1, 3):
            threads(count)
            conv.forward_plan.cache_clear()
            results.append(kernel_of(ops.conv)(x, w, b, **params))
    conv.forward_plan.cache_clear()
    for other in results[1:]:
        assert np.array_equal(results[0], other)


@pytest.mark.parametrize("images, inputs, size, outputs, taps, stride, asks", [
    (1, 256, 14, 1024, 1, 1, True), (1, 1024, 14, 2048, 1, 2, True), (3, 512, 7, 512, 3, 1, True),
    (1, 64, 56, 256, 1, 1, False), (8, 256, 28, 512, 3, 2, True), (1, 2048, 9, 32, 3, 1, True)], ids=str)
def test_items_of_a_panel_prefetch_the_next_panel(images, inputs, size, outputs, taps, stride, asks, threads, monkeypatch):
    threads(2)
    g = plan_of((images, inputs, size, size), (outputs, inputs, taps, taps), **window(taps, stride))
    filters, steps, found = conv_plan.filters_of(g), SlotJobs(), {}
    monkeypatch.setattr(steps, "add", lambda task, chunks, names, words, slots: found.update(words))
    conv_plan.add_direct(steps, g, filters, (0, 0), (1, 0), (2, 0))
    joined, most = conv_plan.flattened(g), direct_code.tile_rows(target.host(), filters.vectors)
    tiles = sum(count * s[-2] for at, pixels, count in conv_plan.tiles_of(joined.dims[2], most)
                for s in conv_plan._segments(joined, filters, at, pixels, (0, joined.x_blocks.count))[0])
    times = found["out_rows"] // found["row_blocks"] * tiles // found["parts"] * found["ask_shares"]
    assert found["ask_shares"] == (images * found["row_blocks"] * found["parts"] if found["panel_first"] else 1)
    lines = -(-filters.panel // 64) if asks and filters.panels > 1 else 0
    assert found["ask_lines"] * times >= lines and (found["ask_lines"] == 0) == (lines == 0)
    assert (found["ask_lines"] - 1) * times < max(lines, 1), f"{found['ask_lines']} lines {times} times for {lines}"


@pytest.mark.skipif(target.host().vector_bytes < 32, reason="tiles of 16-byte vectors are coarse")
@pytest.mark.parametrize("inputs, size, outputs", [(960, 7, 160), (960, 7, 320), (160, 7, 960), (192, 28, 32), (576, 14, 96),
                                                   (384, 14, 64), (512, 7, 2048), (64, 14, 24), (256, 7, 96)], ids=str)
@pytest.mark.parametrize("count", [2, 3, 4])
def test_threads_get_as_many_tiles_of_an_image_as_each_other(inputs, size, outputs, count, threads):
    threads(count)
    g = conv_plan.flattened(plan_of((1, inputs, size, size), (outputs, inputs, 1, 1), **window(1, 1)))
    filters, steps = conv_plan.filters_of(g), SlotJobs()
    conv_plan.add_direct(steps, g, filters, (0, 0), (1, 0), (2, 0))
    (_, _, words, _), = steps.jobs
    found = dict(zip(direct_code.WORDS, words))
    table, parts, blocks = found["part_table"].array, found["parts"], found["row_blocks"]
    tiles = [sum(table[at // 8 + 2::6][:runs]) for at, runs in table[:2 * parts].reshape(parts, 2)]
    rows = [found["out_rows"] * (i + 1) // blocks - found["out_rows"] * i // blocks for i in range(blocks)]
    items = [row * n for row in rows for n in tiles for _ in range(filters.panels)]
    most = max(sum(items[len(items) * i // count:len(items) * (i + 1) // count]) for i in range(count))
    assert most < sum(items) / count + max(items)


@pytest.mark.parametrize("size, outputs, taps, stride", [(56, 32, 1, 1), (14, 24, 1, 1), (30, 48, 3, 2), (9, 16, 7, 1),
                                                          (28, 64, 1, 1)])
def test_kernels_of_tall_tiles_have_only_planned_heights(size, outputs, taps, stride, monkeypatch):
    g = plan_of((1, 32, size, size), (outputs, 32, taps, taps), **window(taps, stride))
    filters, steps, made = conv_plan.filters_of(g), SlotJobs(), []
    compiled = conv_plan._kernel
    monkeypatch.setattr(conv_plan, "_kernel", lambda *which: made.append(which[-1]) or compiled(*which))
    conv_plan.add_direct(steps, g, filters, (0, 0), (1, 0), (2, 0))
    joined, most = conv_plan.flattened(g), direct_code.tile_rows(target.host(), filters.vectors)
    asked = {s[1] for at, pixels, _ in conv_plan.tiles_of(joined.dims[2], most)
             for s in conv_plan._segments(joined, filters, at, pixels, (0, joined.x_blocks.count))[0]}
    few = most >= 8 and len(asked) <= 3
    assert made == [tuple(sorted(asked)) if few else ()]
    text = direct_code.ConvKernel(target.host(), Precision.of("float"), filters.vectors, heights=made[0]).text()
    assert {n for n in range(1, most + 1) if f"@tile_{n}(" in text} == (asked if few else set(range(1, most + 1)))


@pytest.mark.parametrize("tiles", [conv_plan.tiles_of, conv_plan.whole_tiles_of])
def test_wide_borders_are_few_tiles(tiles):
    """All pixels of an entry of several tiles see the same taps, and a border of any width costs as much as a narrow one."""
    draw = random.Random(0)
    for _ in range(300):
        size, taps, stride, dilation, low, high = [draw.choice(numbers) for numbers in (
            (1, 5, 30), (1, 2, 3, 7), (1, 2, 3), (1, 2, 50), (-2, 0, 1, 3, 100, 40_000), (0, 3, 100, 40_000))]
        out = (size + low + high - dilation * (taps - 1) - 1) // stride + 1
        if out < 1:
            continue
        w, at = conv_plan.Window(size, out, taps, stride, low, dilation), 0
        found = list(tiles(w, 8))
        for start, pixels, count in found:
            assert start == at and 0 < pixels <= 8
            at += pixels * count
            seen = {w.taps_seen(start, pixels * count, tap) for tap in range(taps)}
            assert (count == 1 and tiles is conv_plan.tiles_of) or seen <= {(0, 0), (0, pixels * count)}, w
        assert at == out and len(found) <= 8 * taps + 8, w


@pytest.mark.slow
@pytest.mark.parametrize("params", [{"padding": ((0, 700), (900, 2))}, {"padding": ((2, 1), (500, 500)), "dilation": (1, 200)},
                                    {"padding": ((3, 3), (3, 800)), "stride": (2, 3)}])
@pytest.mark.parametrize("channels, outputs", [(1, 1), (3, 8), (16, 20)])
def test_convolutions_with_wide_borders(params, channels, outputs):
    rng, how = np.random.default_rng(0), {**window(3), **params}
    x, w = [rng.standard_normal(shape).astype(np.float32) for shape in ((1, channels, 5, 6), (outputs, channels, 3, 3))]
    np.testing.assert_allclose(kernel_of(ops.conv)(x, w, None, **how), ops.conv.ref(x, w, None, **how), atol=1e-4)


@pytest.mark.parametrize("stride", [(20, 60), (1, 9000), (4000, 2)])
def test_gradients_with_wide_strides_have_plans_of_few_steps(stride):
    """A phase of a stride is a step of a plan. A stride of 2^14 was 16,384 steps, which took 14 seconds to plan."""
    rng, how = np.random.default_rng(0), {**window(3), "stride": stride}
    size = tuple(s + 1 for s in stride)
    g, w = [rng.standard_normal(shape).astype(np.float32) for shape in ((1, 2, 2, 2), (2, 3, 3, 3))]
    began = time.process_time()
    found = kernel_of(ops.conv_input_grad)(g, w, size=size, **how)
    assert time.process_time() - began < 2
    np.testing.assert_allclose(found, ops.conv_input_grad.ref(g, w, size=size, **how), atol=1e-4)


@pytest.mark.parametrize("level, vectors, pixels, steps", [
    ("x86-64-v4", 4, 6, 4), ("x86-64-v4", 3, 8, 4), ("x86-64-v4", 2, 12, 2), ("x86-64-v4", 2, 13, 1), ("x86-64-v4", 2, 14, 1),
    ("x86-64-v4", 1, 16, 2), ("x86-64-v3", 3, 4, 1), ("x86-64-v3", 2, 4, 2)])
def test_steps_are_unrolled_if_sums_stay_in_registers(level, vectors, pixels, steps):
    kernel = direct_code.ConvKernel(target.cpu(level), Precision.of("float"), vectors)
    body = kernel.text().split(f"@tile_{pixels}(")[1].split("\n}")[0]
    products = pixels * vectors
    assert body.count("@llvm.fma") == (products if steps == 1 else (steps + 1) * products)


@pytest.mark.parametrize("outputs, inputs", [(3, 64), (1, 16), (8, 100)])
def test_kernels_of_few_outputs_have_only_planned_tiles(outputs, inputs, monkeypatch):
    g, made = plan_of((1, inputs, 20, 20), (outputs, inputs, 3, 3), **window(3)), []
    monkeypatch.setattr(conv_few_channels, "pays", lambda geometry: True)
    compiled = conv_few_channels.task
    monkeypatch.setattr(conv_few_channels, "task", lambda kernel,
                        heights: made.append((kernel, heights)) or compiled(kernel, heights))
    conv_plan.add_direct(SlotJobs(), g, conv_plan.filters_of(g), (0, 0), (1, 0), (2, 0))
    kernel, heights = made[0]
    asked = {pixels for _, pixels, _ in conv_plan.whole_tiles_of(g.dims[2], kernel.rows)}
    assert set(heights) == asked and len(heights) <= 3


def test_kernels_of_first_layers_have_only_planned_tiles(monkeypatch):
    g, made = plan_of((1, 1, 32, 32), (64, 1, 3, 3), **window(3)), []
    filters, compiled = conv_plan.filters_of(g), conv_plan._kernel
    monkeypatch.setattr(conv_plan, "_kernel", lambda *which: made.append(which[-2:]) or compiled(*which))
    conv_plan.add_direct(SlotJobs(), g, filters, (0, 0), (1, 0), (2, 0))
    asked = {s[1] for at, pixels, _ in conv_plan.tiles_of(g.dims[2], direct_code.tile_rows(target.host(), filters.vectors))
             for s in conv_plan._segments(g, filters, at, pixels, (0, g.x_blocks.count))[0]}
    assert made == [(3, tuple(sorted(asked)) if len(asked) <= 3 else ())]


def test_sums_are_carried_by_few_loops():
    """LLVM spends on each phi of each sum as much time as on a multiply-add, at channel blocks and taps of three dims alike."""
    for written, most in ((0, 6), (9, 5)):
        kernel = direct_code.ConvKernel(target.cpu("x86-64-v4"), Precision.of("float"), 4, written=written)
        body = kernel.text().split("@tile_6(")[1].split("\n}")[0]
        assert body.count("phi <16 x float>") <= most * 24


def test_prefetch_instructions():
    machine = target.cpu("x86-64-v4")
    pattern = conv_depthwise.pattern_of(conv_plan.Window(56, 28, 3, 2, 1, 1))
    counts = [depthwise_code.DepthwiseKernel(machine, "float", pattern, far=far).text().count("llvm.prefetch")
              for far in (False, True)]
    assert counts[0] == 0 < counts[1]
    dots = gemm_code.GemmKernel(machine, Precision.of("float"), "dots").text()
    assert "llvm.prefetch" in dots


@pytest.mark.parametrize("level, vectors, pixels", [("x86-64-v4", 4, 1), ("x86-64-v3", 3, 2)])
def test_prefetches_before_a_tile(level, vectors, pixels):
    machine = target.cpu(level)

    def asked(epilogue):
        text = direct_code.ConvKernel(machine, Precision.of("float"), vectors, epilogue).text()
        body = text.partition("@ask(")[2].split("\n}")[0]
        steps = set(re.findall(r"add nsw i64 %\w+, (\d+)", body)) - {"1"}
        return body.count("llvm.prefetch"), steps or {"1"}

    added = (("add", "a", "o0"), ("add", "v0", "o1"))
    assert asked(Lines(added, ("channel", "channel"), "float"))[0] == 0
    assert asked(Lines(added, ("channel", "full"), "float")) == (1, {str(pixels)})
    assert asked(Lines(added, ("full", "full"), "float")) == (2, {str(pixels)})
    assert asked(Usual("float")) == (1, {str(pixels)})
    assert Usual("float").operand_words(3) == (4,)


@pytest.mark.parametrize("images, channels, size, asks", [
    (1, 64, 56, False), (2, 128, 28, False), (1, 256, 14, True), (8, 512, 7, True), (1, 512, 14, True)])
def test_transformed_pixels_are_prefetched_if_no_cache_holds_all(images, channels, size, asks, monkeypatch):
    monkeypatch.setattr(cache_sizes, "second_level", lambda: 1 << 20)
    g = plan_of((images, channels, size, size), (channels, channels, 3, 3), **window(3))
    cut = winograd.tiling(g, winograd.F2, 1)
    share = winograd._prefetched_bytes(g, cut, winograd.filters_of(g))
    assert (share > 0) == asks and share % 64 == 0
    assert not asks or share * cut.share_panels >= cut.block * channels * 4 > (share - 64) * cut.share_panels


# Rows of threads.


@pytest.mark.parametrize("shape, stride", [((1, 40, 23, 20), 1), ((3, 17, 24, 9), 2), ((2, 16, 5, 5), 1), ((1, 70, 7, 7), 1)])
def test_depthwise_rows_are_shared(shape, stride, threads):
    rng, params = np.random.default_rng(shape[1]), window(3, stride, shape[1])
    x, w = draw(rng, *shape), draw(rng, shape[1], 1, 3, 3)
    results = []
    for count in (1, 2, 3, 8):
        threads(count)
        results.append(kernel_of(ops.conv)(x, w, None, **params))
    close(results[0], x, w, None, params)
    for other in results[1:]:
        assert np.array_equal(results[0], other)


@pytest.mark.parametrize("shape, stride", [((1, 40, 23, 20), 1), ((3, 17, 24, 9), 2), ((1, 99, 16, 16), 2), ((1, 70, 7, 7), 1)])
def test_depthwise_rows_of_blocks_are_shared(shape, stride, threads):
    rng, params = np.random.default_rng(shape[1]), window(3, stride, shape[1])
    x, w, b = draw(rng, *shape), draw(rng, shape[1], 1, 3, 3), draw(rng, shape[1])
    results = []
    for count in (1, 2, 3, 8):
        threads(count)
        lines = Lines((("add", "a", "o0"),), ("channel",), "float")
        made = conv_fused.FusedConv(shape, w.shape, np.float32, **params, lines=lines, x_blocked=True, algorithm=None)
        packed = pack_weight(w, shape[1], True, None)
        found = run_fused(made, block(x), packed, [block(b.reshape(1, -1, 1, 1))])
        results.append(unblock(found, shape[1]))
    close(results[0], x, w, b, params)
    for other in results[1:]:
        assert np.array_equal(results[0], other)


def test_prefetched_images_give_the_same_results(monkeypatch):
    rng, params = np.random.default_rng(9), window(3, 2, 40)
    x, w = draw(rng, 2, 40, 31, 30), draw(rng, 40, 1, 3, 3)
    results = []
    for far in (1 << 40, 1):
        monkeypatch.setattr(conv_depthwise, "_FAR_BYTES", far)
        g = conv_plan.geometry_of(x.shape, w.shape, **params, item=4)
        results.append(conv_depthwise.depthwise(g, x.dtype, (2, 40, 16, 15))(x, w, None))
    assert np.array_equal(*results)


def test_depthwise_volumes_are_shared(threads):
    rng = np.random.default_rng(7)
    x, w = draw(rng, 1, 20, 7, 6, 9), draw(rng, 20, 1, 3, 2, 3)
    params = {"stride": (2, 1, 2), "padding": ((1, 1), (0, 1), (1, 0)), "dilation": (1, 2, 1), "groups": 20}
    for count in (1, 5):
        threads(count)
        close(kernel_of(ops.conv)(x, w, None, **params), x, w, None, params)


def test_blocked_pools_share_rows(threads):
    rng = np.random.default_rng(8)
    x = draw(rng, 3, 5, 13, 11, target.host().lanes(4))
    params = {"kernel": (3, 2), "stride": (2, 1), "padding": ((1, 1), (0, 0))}
    results = []
    for count in (1, 2, 7):
        threads(count)
        results.append((operator("max_pool_blocked")(x, dilation=(1, 2), **params),
                        operator("avg_pool_blocked")(x, counted=((1, 1), (0, 0)), divisor=None, **params)))
    for found in results[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(results[0], found))
    for plane in np.ndindex(3, 5):
        alone = operator("max_pool_blocked")(np.ascontiguousarray(x[plane][None, None]), dilation=(1, 2), **params)
        assert np.array_equal(alone[0, 0], results[0][0][plane]), plane


def test_blocked_pools_are_cut_by_their_number_of_elements(threads):
    threads(2)
    params = {"kernel": (3, 3), "stride": (2, 2), "padding": ((1, 1), (1, 1)), "dilation": (1, 1)}
    for blocks, size, shared in ((4, 112, True), (1, 14, False)):
        plan, _ = pooling.max_pool_blocked_plan((1, blocks, size, size, 16), np.dtype(np.float32), **params)
        step, = plan.native({X: At(0), Y: At(1)}).steps
        assert (step.chunks > 1) == shared, f"{blocks} blocks of {size}x{size}: {step.chunks} chunks"


@pytest.mark.parametrize("rows, depth, columns", [(1, 1280, 1000), (3, 70, 13), (8, 513, 31)])
def test_rows_times_transposed_weights(rows, depth, columns, threads):
    rng = np.random.default_rng(depth)
    x, w = draw(rng, rows, depth), draw(rng, columns, depth)
    results = []
    for count in (1, 3):
        threads(count)
        results.append(gemm.Product(np.float32)(x, w.T))
    wide = x.astype(np.float64) @ w.T.astype(np.float64)
    assert (np.abs(results[0] - wide) <= 1e-6 * (np.abs(x) @ np.abs(w).T)).all()
    assert np.array_equal(*results)
