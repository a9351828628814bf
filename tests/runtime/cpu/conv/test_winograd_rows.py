"""Winograd along the height for few input channels: against the reference in float64, beside the direct kernel."""

import numpy as np
import pytest

import ingot
from blocked_arrays import pack_weight
from ingot import jit, nn
from ingot.ir import config, target
from ingot.ir.ops.nn import conv as ops
from ingot.passes.codegen.llvm.conv.winograd_rows import RowsKernel
from ingot.runtime.cpu.compiler import compile as compiler
from ingot.runtime.cpu.conv import conv, conv_algorithm, conv_plan, winograd_rows
from seeds import seeds

pytestmark = pytest.mark.skipif(not target.host().fma, reason="the algorithm needs a fused multiply-add")
STEM = {"stride": (2, 2), "padding": ((3, 3), (3, 3)), "dilation": (1, 1), "groups": 1}
FLOAT = np.dtype(np.float32)


def draw(rng, *shape):
    return rng.standard_normal(shape, dtype=np.float32)


def run(x, w, b, params, algorithm):
    g = conv_plan.geometry_of(x.shape, w.shape, params["stride"], params["padding"], params["dilation"], 1, 4)
    return conv.direct(g, FLOAT, (x.shape[0], w.shape[0], *[d.out for d in g.dims[1:]]), algorithm)(x, w, b)


def random_case(rng):
    """Return any size, window, stride and padding that the kernel takes."""
    def whole(low, high):
        return int(rng.integers(low, high))

    stride, along, inputs = whole(1, winograd_rows.MOST_PHASES + 1), whole(1, 5), whole(1, 5)
    reach, taps_w = whole(3, 5), whole(1, 12)
    taps_h = whole((reach - 1) * stride + 1, reach * stride + 1)
    x = draw(rng, whole(1, 3), inputs, whole(taps_h, 60), whole(taps_w, 80))
    w = draw(rng, whole(1, 150), inputs, taps_h, taps_w) / np.float32((inputs * taps_h * taps_w) ** 0.5)
    padding = (whole(0, taps_h), whole(0, taps_h)), (whole(0, taps_w + 3), whole(0, taps_w))
    return x, w, {"stride": (stride, along), "padding": padding, "dilation": (1, 1), "groups": 1}


@pytest.mark.parametrize("seed", seeds(12, 60))
def test_random_geometries(seed, threads):
    rng = np.random.default_rng(seed)
    x, w, params = random_case(rng)
    if seed % 3 == 0:
        x[0, 0, x.shape[2] // 2, x.shape[3] // 2] = (np.inf, np.nan, -np.inf)[seed // 3 % 3]
    b, said = draw(rng, w.shape[0]), f"seed {seed}: {x.shape} {w.shape} {params}"
    with np.errstate(all="ignore"):
        wanted = ops.conv.ref(*(a.astype(np.float64) for a in (x, w, b)), **params).astype(np.float32)
    found = []
    for count in (1, 3):
        threads(count)
        found.append(run(x, w, b, params, winograd_rows.Rows(params["stride"][0])))
    np.testing.assert_array_equal(*found, err_msg=said)
    for kind in (np.isnan, np.isposinf, np.isneginf):
        np.testing.assert_array_equal(kind(found[0]), kind(wanted), err_msg=said)
    fine = np.isfinite(wanted)
    np.testing.assert_allclose(found[0][fine], wanted[fine], rtol=0, atol=1e-5, err_msg=said)


@pytest.mark.parametrize("after", ["nothing", "image"])
@pytest.mark.parametrize("window, stride", [(7, 2), (11, 4), (5, 2), (9, 3)])
def test_rows_algorithm_is_as_accurate_as_stated(window, stride, after):
    rng, params = np.random.default_rng(window), STEM | {"stride": (stride, stride)}
    x = draw(rng, 2, 3, 60, 60) if after == "nothing" else rng.random((2, 3, 60, 60), dtype=np.float32)
    w = draw(rng, 64, 3, window, window) / window
    wanted = ops.conv.ref(x.astype(np.float64), w.astype(np.float64), None, **params)
    errors = [np.sqrt(np.square(run(x, w, None, params, algorithm) - wanted).mean())
              for algorithm in (None, winograd_rows.Rows(stride))]
    assert 0 < errors[1] <= 2 * errors[0], f"rms errors {errors}"


@pytest.mark.parametrize("x_shape, w_shape, params, chosen", [
    ((1, 3, 224, 224), (64, 3, 7, 7), {}, True), ((1, 3, 224, 224), (64, 3, 11, 11), {"stride": (4, 4)}, True),
    ((8, 4, 224, 200), (64, 4, 7, 7), {}, True), ((8, 1, 224, 224), (64, 1, 7, 7), {}, False),
    ((1, 3, 224, 224), (64, 3, 3, 3), {}, False),
    ((1, 3, 224, 224), (64, 3, 7, 7), {"dilation": (2, 1)}, False), ((1, 16, 224, 224), (64, 16, 7, 7), {}, False),
    ((1, 3, 224, 224), (8, 3, 7, 7), {}, False), ((1, 3, 224, 224), (64, 3, 9, 9), {"stride": (1, 1)}, False)], ids=str)
def test_rows_algorithm_is_chosen_if_faster(x_shape, w_shape, params, chosen):
    params = STEM | params
    g = conv_plan.geometry_of(x_shape, w_shape, params["stride"], params["padding"], params["dilation"], 1, 4)
    assert (conv_algorithm.choose(g) == winograd_rows.Rows(params["stride"][0])) == chosen
    with config.override(numerics="strict"):
        assert conv_algorithm.choose(g) is None


def test_every_algorithm_has_a_name():
    assert len(conv_algorithm.NAMES) == len(conv_algorithm.ALGORITHMS)
    assert all(conv_algorithm.ALGORITHMS[name] == algorithm for algorithm, name in conv_algorithm.NAMES.items())


def test_factors_of_output_channels_are_in_the_transformed_weight():
    weight = draw(np.random.default_rng(0), 70, 3, 7, 7)
    packed = pack_weight(weight, 1, False, winograd_rows.Rows(2))
    factors = np.random.default_rng(1).choice(np.array([0.5, 2.0, -1.0], np.float32), 70)
    scaled = pack_weight(weight * factors[:, None, None, None], 1, False, winograd_rows.Rows(2))
    np.testing.assert_array_equal(pack_weight(weight, 1, False, winograd_rows.Rows(2), factors), scaled)
    assert np.isfinite(packed).all() and not np.array_equal(packed, scaled)


def test_first_layers_use_the_rows_algorithm():
    net = nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)).eval()
    with ingot.no_grad():
        net[1].running_mean.uniform_(-0.5, 0.5)
        net[1].running_var.uniform_(0.5, 2.0)
        traced, x = jit.trace(net), ingot.randn(2, 3, 96, 90)
        for bad in (1.0, float("inf"), float("nan")):
            x[1, 2, 40, 13] = bad
            for _ in range(2):
                got = traced(x).numpy()
            with config.override(numerics="strict"):
                wanted = net(x).numpy()
            np.testing.assert_array_equal(np.isfinite(got), np.isfinite(wanted))
            fine = np.isfinite(wanted)
            np.testing.assert_allclose(got[fine], wanted[fine], rtol=1e-5, atol=1e-5)
    kernels = [n.params["kernel"][0] for job in traced._jobs() for n in job.steps[-1].graph.nodes if "kernel" in n.params]
    assert "winograd_rows2" in kernels


@pytest.mark.parametrize("level", ["x86-64-v4", "x86-64-v3", "aarch64"])
@pytest.mark.parametrize("reach, taps, stride", [(4, 7, (2, 2)), (3, 11, (4, 4))])
def test_modules_compile_for_every_target(reach, taps, stride, level):
    made = RowsKernel(target.cpu(level), reach, taps, stride)
    for text in (made.text(), made.filter_text()):
        assert compiler.emit_object(text, made.target)
