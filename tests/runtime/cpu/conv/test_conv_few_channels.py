"""Direct convolutions with few output channels, with vectors along input channels: conditions, threads, idle lanes."""

import dataclasses

import numpy as np
import pytest

import ingot
from ingot.ir.ops.nn import conv as ops
from ingot.runtime.cpu.conv import conv, conv_few_channels, conv_plan


def window(taps, stride):
    return {"stride": (stride,) * 2, "padding": ((taps // 2, taps // 2),) * 2, "dilation": (1, 1), "groups": 1}


def plan_of(x_shape, w_shape, **params):
    return conv_plan.geometry_of(x_shape, w_shape, params["stride"], params["padding"], params["dilation"], params["groups"], 4)


def draw(rng, *shape):
    return rng.standard_normal(shape).astype(np.float32)


def few_of(inputs, outputs, taps, full=True, stride=1):
    g = plan_of((1, inputs, 20, 20), (outputs, inputs, taps, taps), **window(taps, stride))
    return dataclasses.replace(g, x_full=full)


@pytest.mark.parametrize("inputs, outputs, taps, few", [
    (32, 1, 3, True), (64, 3, 3, True), (64, 1, 1, True), (512, 4, 3, True), (16, 1, 3, True),
    (64, 9, 3, False), (64, 16, 1, False), (3, 8, 3, False), (64, 8, 1, False)])
def test_sums_along_channels_where_outputs_are_few(inputs, outputs, taps, few, monkeypatch):
    monkeypatch.setattr(conv_plan.Geometry, "lanes", 16)
    assert conv_few_channels.pays(few_of(inputs, outputs, taps)) == few


@pytest.mark.parametrize("outputs", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("inputs, taps, stride", [(16, 3, 1), (40, 3, 2), (33, 1, 1), (70, 5, 1), (8, 2, 3)])
def test_few_outputs_do_not_depend_on_threads_or_tiles(outputs, inputs, taps, stride, threads, monkeypatch):
    rng, params = np.random.default_rng(outputs), window(taps, stride)
    x, w, b = draw(rng, 2, inputs, 11, 31), draw(rng, outputs, inputs, taps, taps), draw(rng, outputs)
    monkeypatch.setattr(conv_few_channels, "pays", lambda geometry: not geometry.x_plain and outputs <= geometry.lanes)
    results = []
    for count in (1, 2, 5):
        threads(count)
        g = plan_of(x.shape, w.shape, **params)
        results.append(conv.direct(g, np.dtype(np.float32), (2, outputs, *[d.out for d in g.dims[1:]]), None)(x, w, b))
    wide = [a.astype(np.float64) for a in (x, w, b)]
    wanted, scale = ops.conv.ref(*wide, **params), ops.conv.ref(*map(np.abs, wide), **params)
    assert (np.abs(results[0] - wanted) <= 2e-6 * scale).all()
    assert all(np.array_equal(results[0], other) for other in results[1:])


def test_lanes_without_a_channel_do_not_reach_few_outputs():
    ingot.manual_seed(0)
    first, last = ingot.nn.Conv2d(3, 19, 3), ingot.nn.Conv2d(19, 2, 3)
    traced, x = ingot.jit.trace(lambda x: last(1 / first(x).abs())), ingot.randn(1, 3, 12, 12)
    with ingot.no_grad():
        wanted = last(1 / first(x).abs())
        for _ in range(3):
            found = traced(x)
    assert np.isfinite(found.numpy()).all() and ingot.allclose(found, wanted, rtol=1e-4, atol=1e-5)
