"""Average pools over bins as sums: the graphs, the bits of eager kernels, and the pools that stay."""

import numpy as np
import pytest

import ingot
from graphs import check_rewrite, check_untouched
from ingot import jit
from ingot.passes.simplify.mean_pools import expand_mean_pools

F = ingot.nn.functional
POOL = "%0: f32[{out}] = avg_pool(%x, counted={zero}, divisor={divisor}, kernel={kernel}, padding={pad}, stride={stride})"
ZERO = "((0, 0), (0, 0))"


def pool(out, kernel, stride, divisor=None, pad=ZERO):
    line = POOL.format(out=out, kernel=kernel, stride=stride, divisor=divisor, zero=ZERO, pad=pad)
    return f"graph g(%x: f32[2,3,8,12]) {{\n{line}\nreturn %0\n}}"


@pytest.mark.parametrize("divisor, count", [(None, "96.0"), (5, "5.0")])
def test_a_whole_plane_is_one_sum(divisor, count):
    check_rewrite(expand_mean_pools, pool("2,3,1,1", (8, 12), (1, 1), divisor), f"""
        graph g(%x: f32[2,3,8,12]) {{
          %0: f32[2,3,1,1] = sum(%x, dim=(2, 3), keepdim=True)
          %1: f32[2,3,1,1] = div(%0, {count})
          return %1
        }}""")


def test_bins_are_sums_along_one_dim_after_the_other():
    check_rewrite(expand_mean_pools, pool("2,3,2,3", (4, 4), (4, 4)), """
        graph g(%x: f32[2,3,8,12]) {
          %0: f32[2,3,2,4,12] = reshape(%x, shape=(2, 3, 2, 4, 12))
          %1: f32[2,3,2,12] = sum(%0, dim=(3,), keepdim=False)
          %2: f32[2,3,2,3,4] = reshape(%1, shape=(2, 3, 2, 3, 4))
          %3: f32[2,3,2,3] = sum(%2, dim=(4,), keepdim=False)
          %4: f32[2,3,2,3] = div(%3, 16.0)
          return %4
        }""")


@pytest.mark.parametrize("text", [pool("2,3,4,6", (2, 2), (2, 2)), pool("2,3,5,9", (4, 4), (1, 1)),
                                  pool("2,3,2,2", (4, 5), (4, 5)), pool("2,3,3,3", (4, 4), (4, 4), pad="((2, 2), (0, 0))")],
                         ids=["few", "they meet", "some stay over", "padded"])
def test_others_stay(text):
    check_untouched(expand_mean_pools, text)


@pytest.mark.parametrize("kernel", [(8, 12), (4, 4), (8, 3)])
@pytest.mark.parametrize("dtype", [ingot.float64, ingot.bfloat16], ids=str)
def test_the_bits_are_those_of_eager_mode(kernel, dtype):
    run = jit.trace(lambda x: F.avg_pool2d(x.exp(), kernel))
    for seed in range(3):
        x = ingot.randn(2, 3, 8, 12, generator=ingot.Generator().manual_seed(seed)).to(dtype)
        got, want = run(x), F.avg_pool2d(x.exp(), kernel)
        np.testing.assert_array_equal(got.double().numpy(), want.double().numpy(), err_msg=f"seed {seed}")
    assert "0 other calls" in run.explain()
