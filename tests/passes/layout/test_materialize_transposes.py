"""Copies of operands that elementwise kernels would read across memory."""

import numpy as np
import pytest

import ingot
from graphs import check_rewrite, check_untouched
from ingot.passes.layout.materialize_transposes import materialize_transposes
from ingot.runtime.cpu.loops import copies


def materialized(graph):
    """Materialise all transposed matrices."""
    return materialize_transposes(graph, lambda shape, strides, dtype: len(strides) > 1 and strides[-1] > 1)


def test_one_copy_for_all_readers():
    check_rewrite(materialized, """
        graph g(%x: f32[4,6], %y: f32[6,4]) {
          %0: f32[6,4] = permute(%x, dims=(1, 0))
          %1: f32[6,4] = add(%0, %y)
          %2: f32[6,4] = mul(%0, 2.0)
          return %1, %2
        }""", """
        graph g(%x: f32[4,6], %y: f32[6,4]) {
          %0: f32[6,4] = permute(%x, dims=(1, 0))
          %1: f32[6,4] = cat(%0, dim=0)
          %2: f32[6,4] = add(%1, %y)
          %3: f32[6,4] = mul(%1, 2.0)
          return %2, %3
        }""")


def test_an_explicit_copy_is_the_copy():
    check_rewrite(materialized, """
        graph g(%x: f32[4,6]) {
          %0: f32[6,4] = permute(%x, dims=(1, 0))
          %1: f32[6,4] = contiguous(%0)
          return %1
        }""", """
        graph g(%x: f32[4,6]) {
          %0: f32[6,4] = permute(%x, dims=(1, 0))
          %1: f32[6,4] = cat(%0, dim=0)
          return %1
        }""")


def test_reductions_read_the_copy_that_is_made_for_others():
    check_rewrite(materialized, """
        graph g(%x: f32[4,6]) {
          %0: f32[6,4] = permute(%x, dims=(1, 0))
          %1: f32[6,1] = sum(%0, dim=(1,), keepdim=True)
          %2: f32[6,4] = expand(%1, shape=(6, 4))
          %3: f32[6,4] = sub(%0, %2)
          return %3
        }""", """
        graph g(%x: f32[4,6]) {
          %0: f32[6,4] = permute(%x, dims=(1, 0))
          %1: f32[6,4] = cat(%0, dim=0)
          %2: f32[6,1] = sum(%1, dim=(1,), keepdim=True)
          %3: f32[6,4] = expand(%2, shape=(6, 4))
          %4: f32[6,4] = sub(%1, %3)
          return %4
        }""")


def test_expanded_values_are_copied_before_reductions():
    check_rewrite(materialized, """
        graph g(%x: f32[4,6]) {
          %0: f32[6,4] = permute(%x, dims=(1, 0))
          %1: f32[6,4] = contiguous(%0)
          %2: f32[3,6,4] = expand(%1, shape=(3, 6, 4))
          %3: f32[3,4] = sum(%2, dim=(1,), keepdim=False)
          return %3
        }""", """
        graph g(%x: f32[4,6]) {
          %0: f32[6,4] = permute(%x, dims=(1, 0))
          %1: f32[6,4] = cat(%0, dim=0)
          %2: f32[3,6,4] = expand(%1, shape=(3, 6, 4))
          %3: f32[3,4] = sum(%2, dim=(1,), keepdim=False)
          return %3
        }""")


@pytest.mark.parametrize("lines", [
    ("%1: f32[6] = sum(%0, dim=(1,), keepdim=False)",),
    ("%2: f32[6,4] = mul(%0, 2.0)", "%1: f32[6] = sum(%2, dim=(1,), keepdim=False)"),
    ("%1: f32[6,6] = matmul(%0, %x)",),
], ids=["a sum", "a sum of elements", "a product"])
def test_other_readers_need_no_copy(lines):
    check_untouched(materialized, "\n".join(
        ["graph g(%x: f32[4,6]) {", "%0: f32[6,4] = permute(%x, dims=(1, 0))", *lines, "return %1", "}"]))


@pytest.mark.parametrize("shape, strides, dtype, worth", [
    ((64, 64), (1, 64), ingot.float32, True),
    ((64, 64), (64, 1), ingot.float32, False),
    ((64, 64), (1, 64), ingot.int8, False),
    ((8, 8), (1, 8), ingot.float32, False),
    ((4, 64, 64), (4096, 1, 64), ingot.float64, True),
    ((64, 64), (0, 1), ingot.float32, False),
    ((2000, 3), (1, 2000), ingot.float32, False),
], ids=str)
def test_worth_of_a_transpose(shape, strides, dtype, worth):
    assert copies.is_worth_transposing(shape, strides, dtype) is worth


PROGRAMS = {
    "copy": lambda x: x.permute(0, 2, 3, 1).contiguous(), "function": lambda x: x.transpose(1, 3).exp() + 1,
    "both": lambda x: x.mT + x, "softmax": lambda x: x.permute(0, 2, 3, 1).softmax(-1),
    "join": lambda x: ingot.cat([x.transpose(1, 2), x.transpose(1, 2) * 2], 2), "sum": lambda x: (x.mT * 2).sum(-1),
    "scan": lambda x: x.transpose(0, 3).cumsum(-1)}


@pytest.mark.parametrize("dtype", [ingot.float32, ingot.bfloat16, ingot.int64, ingot.bool], ids=str)
@pytest.mark.parametrize("shape", [(3, 20, 24, 24), (2, 64, 9, 9), (16, 17, 33, 33)], ids=str)
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_give_the_same_bits(name, shape, dtype):
    if not dtype.is_floating_point and name in ("function", "softmax"):
        pytest.skip("of floats")
    traced, rng = ingot.jit.trace(PROGRAMS[name]), np.random.default_rng(5)
    for _ in range(3):
        x = ingot.from_numpy(rng.standard_normal(shape) * 4).to(dtype)
        got, want = traced(x), PROGRAMS[name](x)
        assert got.dtype is want.dtype
        np.testing.assert_array_equal(got.double().numpy(), want.double().numpy())


def test_sizes_that_change():
    """Code compiled for sizes with whole squares serves other sizes, too."""
    traced = ingot.jit.trace(lambda x: x.mT.exp() * 2 + x.mT)
    for n in (80, 96, 3, 1, 200, 5):
        x = ingot.randn(4, n, 70)
        np.testing.assert_array_equal(traced(x).numpy(), (x.mT.exp() * 2 + x.mT).numpy())
