"""Convolutions of groups of a few channels, which run in parallel in the lanes of a block."""

import numpy as np
import pytest

import ingot
from ingot import jit
from ingot.ir import target
from ingot.ir.ops.nn import conv as ops
from ingot.runtime.core.dispatch import kernel_of
from ingot.runtime.cpu.conv import conv_depthwise, conv_plan
from tests.runtime.cpu.conv.test_conv import check, draw


def geometry(rng, inputs):
    """Return (x shape, w shape, parameters) of a random convolution of such groups."""
    while True:
        rank = int(rng.integers(1, 4))
        size = [int(n) for n in rng.integers(1, 34 if rank < 3 else 9, rank)]
        kernel, stride, dilation = ([int(n) for n in rng.integers(1, most, rank)] for most in (5, 3, 3))
        padding = [tuple(int(n) for n in rng.integers(-1, 4, 2)) for _ in range(rank)]
        if all(n + lo + hi > d * (k - 1) and n + min(lo, 0) + min(hi, 0) > 0
               for n, (lo, hi), k, d in zip(size, padding, kernel, dilation)):
            break
    groups = int(rng.integers(2, 12))
    params = {"stride": tuple(stride), "padding": tuple(padding), "dilation": tuple(dilation), "groups": groups}
    return (int(rng.integers(1, 4)), inputs * groups, *size), (inputs * groups, inputs, *kernel), params


@pytest.mark.parametrize("inputs", [2, 4, 8])
@pytest.mark.parametrize("seed", range(10))
def test_random_geometries(inputs, seed, threads):
    rng = np.random.default_rng([seed, inputs])
    threads(int(rng.integers(1, 4)))
    dtype = ("float32", "float64")[seed % 2]
    x_shape, w_shape, params = geometry(rng, inputs)
    x, w, b = draw(rng, x_shape, dtype), draw(rng, w_shape, dtype), draw(rng, w_shape[:1], dtype)
    message = f"seed {seed}: {x_shape} {w_shape} {params} {dtype}"
    y = kernel_of(ops.conv)(x, w, b, **params)
    check(y, ops.conv, (x, w, b), params, dtype, message)
    for stride in (params["stride"], (1,) * len(params["stride"])):
        sized = params | {"stride": stride}
        g = draw(rng, kernel_of(ops.conv)(x, w, None, **sized).shape, dtype)
        sized["size"] = x_shape[2:]
        check(kernel_of(ops.conv_input_grad)(g, w, **sized), ops.conv_input_grad, (g, w), sized, dtype, message)


def test_supported_groups():
    def takes(groups, inputs, outputs, taps=3):
        shapes = (1, groups * inputs, 9, 9), (groups * outputs, inputs, taps, taps)
        return conv_depthwise.is_narrow(conv_plan.geometry_of(*shapes, (1, 1), ((1, 1), (1, 1)), (1, 1), groups, 4))

    lanes = target.host().lanes(4)
    assert [takes(4, n, n) for n in (1, 2, 3, lanes // 2, lanes)] == [False, True, False, lanes > 2, False]
    assert not takes(1, 2, 2) and not takes(4, 2, 4) and not takes(4, 2, 2, 17)


class Net(ingot.nn.Module):
    """Groups between dense convolutions, with epilogues."""

    def __init__(self, c, groups):
        super().__init__()
        self.first, self.last = ingot.nn.Conv2d(3, c, 3, padding=1), ingot.nn.Conv2d(c, 5, 1)
        self.middle = ingot.nn.Conv2d(c, c, 3, 2, 1, groups=groups)

    def forward(self, x):
        y = ingot.nn.functional.relu(self.first(x))
        return self.last(ingot.nn.functional.relu(self.middle(y)) + 1.0)


@pytest.mark.parametrize("c, groups", [(24, 6), (40, 20), (64, 8), (128, 32)])
def test_networks_stay_in_blocks(c, groups, threads):
    threads(2)
    ingot.manual_seed(0)
    net, x = Net(c, groups), ingot.randn(2, 3, 13, 17)
    run = jit.trace(lambda x: net(x))
    with ingot.no_grad():
        wanted = net(x).numpy()
        found = [run(x).numpy() for _ in range(3)][-1]
    assert np.abs(found - wanted).max() <= 1e-5 * np.abs(wanted).max()
    if target.host().lanes(4) % (c // groups) == 0 and c // groups < target.host().lanes(4):
        graph, = run.graphs.values()
        done = [n.op.name for n in graph["fuse_conv_epilogue"].nodes]
        assert done.count("conv_blocked") == 3 and done.count("from_blocked") == 1, done
