"""Weight gradients by Winograd: exact enough, the same for any number of threads, with infinities and NaN in the right places.
"""

import numpy as np
import pytest

import ingot
from blocked_arrays import block
from ingot.ir import config, target
from ingot.ir.ops.nn.conv import conv_weight_grad
from ingot.ir.target import host
from ingot.passes.codegen.llvm.conv import winograd_transforms
from ingot.passes.codegen.llvm.conv.batch_norm_blocked import GRAD, TRAIN, BlockedNormKernel
from ingot.passes.codegen.llvm.conv.pooling import AVERAGE_GRAD
from ingot.passes.codegen.llvm.conv.pooling_blocked import MAX_GRAD, PLACES, BlockedPoolKernel
from ingot.passes.codegen.llvm.conv.winograd_grad import WinogradGradKernel
from ingot.passes.codegen.llvm.conv.winograd_transforms import filter_line, gradient_line, output_line, weight_line
from ingot.runtime.cpu.compiler import compile as compiler
from ingot.runtime.cpu.conv import conv, conv_gradients, conv_plan, winograd_grad

pytestmark = pytest.mark.skipif(not host().fma, reason="Winograd needs fused multiply-adds")
SIZES = [(2, 16, 16, (9, 9), 1), (3, 20, 40, (8, 11), 0), (1, 33, 70, (5, 6), 1), (2, 130, 24, (3, 3), 2),
         (5, 16, 80, (4, 20), 1), (2, 24, 560, (4, 5), 1)]


def arrays(seed, n, i, o, size, pad):
    rng = np.random.default_rng([seed, n, i, o])
    out = [k + 2 * pad - 2 for k in size]
    return rng.standard_normal((n, i, *size)).astype("f4"), rng.standard_normal((n, o, *out)).astype("f4")


def window(pad):
    return {"stride": (1, 1), "padding": ((pad, pad),) * 2, "dilation": (1, 1), "groups": 1}


def gradient(x, g, pad, monkeypatch, pays=True):
    """Return the gradient of blocked arrays by Winograd, or by the direct kernel."""
    monkeypatch.setattr(winograd_grad, "pays", lambda g: pays)
    filters = (g.shape[1], x.shape[1], 3, 3)
    convolution = (filters, x.shape[2:], *window(pad).values(), 4)
    geometry = conv_gradients.forward_geometry(convolution, len(x))
    return conv_gradients.weight_plan(geometry, True, True).new(filters, block(x), block(g))


@pytest.mark.parametrize("n, i, o, size, pad", SIZES)
def test_gradients_are_as_exact_as_direct_ones(n, i, o, size, pad, monkeypatch):
    x, g = arrays(1, n, i, o, size, pad)
    want = conv_weight_grad.ref(x.astype("f8"), g.astype("f8"), size=(3, 3), **window(pad))
    found = [np.abs(gradient(x, g, pad, monkeypatch, pays) - want).max() / np.abs(want).max() for pays in (True, False)]
    assert found[0] < 1e-6 and found[0] < 4 * found[1], f"errors of Winograd and direct: {found}"


@pytest.mark.parametrize("offset", [0.0, 3.0])
def test_error_of_large_sums(offset, monkeypatch):
    x, g = arrays(2, 32, 32, 32, (32, 32), 1)
    x += np.float32(offset)
    want = conv_weight_grad.ref(x.astype("f8"), g.astype("f8"), size=(3, 3), **window(1))
    found = [np.sqrt(np.mean((gradient(x, g, 1, monkeypatch, pays) - want) ** 2)) for pays in (True, False)]
    assert found[0] < 2 * found[1], f"root mean square errors of Winograd and direct: {found}"


@pytest.mark.parametrize("n, i, o, size, pad", SIZES[:4])
def test_threads_change_nothing(n, i, o, size, pad, monkeypatch):
    x, g = arrays(3, 4 * n, i, o, size, pad)
    threads, found = ingot.get_num_threads(), []
    try:
        for count in (1, 2, 3):
            ingot.set_num_threads(count)
            found.append(gradient(x, g, pad, monkeypatch))
    finally:
        ingot.set_num_threads(threads)
    assert (found[0] == found[1]).all() and (found[0] == found[2]).all()


@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan, 3e38])
@pytest.mark.parametrize("where", ["x", "g", "both"])
def test_infinities_and_nans_do_not_spread(bad, where, monkeypatch):
    x, g = arrays(4, 2, 20, 24, (6, 7), 0)
    if where != "g":
        x[0, 3, 0, 0] = x[1, 17, 2, 3] = bad
    if where != "x":
        g[1, 5, 1, 2] = bad
    with np.errstate(all="ignore"):
        want = conv_weight_grad.ref(x, g, size=(3, 3), **window(0))
    got = gradient(x, g, 0, monkeypatch)
    assert (np.isnan(got) == np.isnan(want)).all() and (np.isinf(got) == np.isinf(want)).all()
    fine = np.isfinite(want)
    assert (got[~fine & ~np.isnan(want)] == want[~fine & ~np.isnan(want)]).all()
    np.testing.assert_allclose(got[fine], want[fine], rtol=1e-4, atol=1e-4)


def test_winograd_gradients_are_chosen_for_wide_planes_but_not_for_strict_numerics():
    wide = conv_plan.geometry_of((64, 64, 32, 32), (64, 64, 3, 3), (1, 1), ((1, 1),) * 2, (1, 1), 1, 4)
    assert winograd_grad.pays(wide)
    with config.override(numerics="strict"):
        assert not winograd_grad.pays(wide)
    for shape, w, step, item in (((64, 64, 32, 32), (64, 64, 3, 3), 2, 4), ((64, 64, 32, 32), (64, 64, 5, 5), 1, 4),
                                 ((64, 8, 32, 32), (64, 8, 3, 3), 1, 4), ((64, 64, 32, 32), (64, 64, 3, 3), 1, 8)):
        assert not winograd_grad.pays(conv_plan.geometry_of(shape, w, (step,) * 2, ((1, 1),) * 2, (1, 1), 1, item))


def test_eager_gradients_use_winograd():
    x, g = arrays(5, 16, 32, 64, (24, 24), 1)
    geometry = conv_plan.geometry_of(x.shape, (64, 32, 3, 3), *[window(1)[k] for k in ("stride", "padding", "dilation")], 1, 4)
    assert winograd_grad.pays(geometry)
    got = conv.weight_grad(x, g, size=(3, 3), **window(1))
    want = conv_weight_grad.ref(x.astype("f8"), g.astype("f8"), size=(3, 3), **window(1))
    assert np.abs(got - want).max() < 1e-6 * np.abs(want).max()


class Number(float):
    """A number in place of a value being computed."""

    type = "double"


class Numbers:
    """A function builder that computes with numbers."""

    fadd = staticmethod(lambda a, b: Number(a + b))
    fsub = staticmethod(lambda a, b: Number(a - b))
    fmul = staticmethod(lambda a, b: Number(a * b))
    fneg = staticmethod(lambda a: Number(-a))


def matrix(line, count, monkeypatch):
    """Return the matrix of a transform of a line."""
    monkeypatch.setattr(winograd_transforms, "constant", lambda type_, number: number)
    return np.array([line(Numbers, [Number(k == j) for k in range(count)], 2) for j in range(count)]).T


def test_transforms_are_transposes(monkeypatch):
    assert (matrix(gradient_line, 2, monkeypatch) == matrix(output_line, 4, monkeypatch).T).all()
    assert (matrix(weight_line, 4, monkeypatch) == matrix(filter_line, 3, monkeypatch).T).all()


def test_kernels_are_equal_for_equal_targets():
    assert WinogradGradKernel(host()) == WinogradGradKernel(host()) and "winograd_weight" in WinogradGradKernel(host()).text()


@pytest.mark.parametrize("level", ["x86-64-v4", "x86-64-v3", "aarch64"])
def test_modules_compile_for_every_target(level):
    machine = target.cpu(level)
    texts = [WinogradGradKernel(machine).text()]
    for element in ("float", "double"):
        texts += [BlockedNormKernel(machine, kind, element, relu).text() for kind in (TRAIN, GRAD) for relu in (False, True)]
        texts += [BlockedPoolKernel(machine, kind, element).text() for kind in (PLACES, MAX_GRAD, AVERAGE_GRAD)]
    for text in texts:
        assert compiler.emit_object(text, machine)
