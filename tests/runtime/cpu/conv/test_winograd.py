"""Compiled convolutions cache only transformed weights, and read the plain ones where a tile has infinities or NaN."""

import copy

import numpy as np
import pytest

import ingot
from blocked_arrays import pack_weight
from ingot import jit, nn
from ingot.ir import target
from ingot.ir.ops.packed import blocked as ops
from ingot.ir.ops.packed import blocked_grad as grads
from ingot.runtime.cpu.conv import winograd

NETS = {
    "plain": lambda: (nn.Conv2d(100, 136, 3, padding=1),),
    "batch norm": lambda: (nn.Conv2d(100, 136, 3, padding=1, bias=False), nn.BatchNorm2d(136), nn.ReLU()),
    "two panels": lambda: (nn.Conv2d(64, 130, 3), nn.BatchNorm2d(130)),
    "several pieces": lambda: (nn.Conv2d(520, 136, 3, padding=1), nn.BatchNorm2d(136)),
    "turned": lambda: (nn.ConvTranspose2d(72, 40, 3, padding=1), nn.ReLU()),
    "turned, several pieces": lambda: (nn.ConvTranspose2d(520, 136, 3, padding=1),),
}


def network(layers):
    """Return (the network with statistics that are not those of a new one, an image for it)."""
    ingot.manual_seed(3)
    net = nn.Sequential(*layers).eval()
    for module in net.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.running_mean.normal_()
            module.running_var.uniform_(0.5, 2)
            with ingot.no_grad():
                module.weight.normal_()
                module.bias.normal_()
    x = ingot.randn(2, layers[0].in_channels, 17, 17)
    return net, x


def convolutions(traced):
    """Return the blocked convolutions of the compiled graphs."""
    return [n for job in traced._jobs() for n in job.steps[-1].graph.nodes
            if n.op in (ops.conv_blocked, grads.conv_input_grad_blocked)]


def check(traced, net, x, label):
    want, got = copy.deepcopy(net).double()(x.double()).numpy(), traced(x).numpy()      # no transforms in float64
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want), err_msg=label)
    np.testing.assert_array_equal(np.isposinf(got), np.isposinf(want), err_msg=label)
    np.testing.assert_array_equal(np.isneginf(got), np.isneginf(want), err_msg=label)
    fine = np.isfinite(want)
    np.testing.assert_allclose(got[fine], want[fine], rtol=1e-4, atol=2e-5, err_msg=label)


@pytest.mark.skipif(not target.host().fma, reason="the algorithm needs a fused multiply-add")
@pytest.mark.parametrize("name", NETS)
def test_nonfinite_tiles_use_the_current_plain_weight(name):
    net, x = network(NETS[name]())
    traced, weight = jit.trace(net), next(net.parameters())
    with ingot.no_grad():
        for bad in (1.0, np.inf, -np.inf, np.nan):
            x[1, 5, 8, 16] = bad
            for _ in range(2):
                check(traced, net, x, f"{name}, {bad}")
        assert {n.params["kernel"][0] for n in convolutions(traced)} == {"winograd2x4"}
        weight[3, 5] = 0.0
        check(traced, net, x, "zeros beside infinities")
        weight.mul_(-2.0)
        check(traced, net, x, "written in place")
        net.load_state_dict({k: v * 0.5 for k, v in net.state_dict().items()})
        check(traced, net, x, "loaded")
        weight.data = weight.data.permute(3, 2, 1, 0).contiguous().permute(3, 2, 1, 0)
        check(traced, net, x, "in another order")
        weight[0, 1, 1, 1] = np.inf
        check(traced, net, x, "an infinite weight")


@pytest.mark.parametrize("name", NETS)
def test_only_the_transformed_weight_is_cached(name):
    net, x = network(NETS[name]())
    traced, weight = jit.trace(net), next(net.parameters())
    with ingot.no_grad():
        for _ in range(3):
            traced(x)
    kept = [a for job in traced._jobs() for a in job.derived.arrays() if not np.shares_memory(a, weight.detach().numpy())]
    columns = -(-weight.numel() // 9 // weight.shape[1 if "turned" not in name else 0] // 64) * 64
    rows = weight.shape[1 if "turned" not in name else 0]
    assert sum(a.nbytes for a in kept) < 4 * 24 * rows * columns + (64 << 10)


@pytest.mark.parametrize("algorithm", [winograd.F2, winograd.HALF, winograd.F2X4, winograd.HALF2X4, winograd.F4,
                                       winograd.STRIDED], ids=str)
def test_weights_packed_in_pieces_need_no_factors(algorithm):
    weight = np.random.default_rng(9).standard_normal((136, 520, 3, 3), dtype=np.float32)
    packed = pack_weight(weight, 1, True, algorithm)
    np.testing.assert_array_equal(packed, pack_weight(weight, 1, True, algorithm, np.ones(136, np.float32)))
    halves = pack_weight(weight, 1, True, algorithm, np.full(136, 0.5, np.float32))
    np.testing.assert_array_equal(packed * np.float32(0.5), halves)
