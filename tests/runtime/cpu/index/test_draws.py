"""Long draws of random numbers: the bits of kernels that make one element after the other, and of the definition."""

import os
import subprocess
import sys

import numpy as np
import pytest

import ingot
from ingot import jit
from ingot.ir import dtype as dt
from ingot.ir import target
from ingot.ir.reference import philox
from ingot.passes.codegen.llvm.index import draws as codegen
from ingot.passes.codegen.scalars import philox as random
from ingot.passes.codegen.scalars.numpy_builder import NumpyBuilder
from ingot.runtime.cpu.calls import pool
from ingot.runtime.cpu.index import draws

SIZES = (256, 257, 270, 287, 300, 511, 1000, 4097, 20001)
KEYS = ((5, 3), (0, 0), (2**63 + 12345, 2**40 + 7), (2**64 - 1, 2**32))
SPANS = (1, 7, 1000003, 2**62 + 5, 2**64 - 1)


@pytest.mark.parametrize("name", draws.DTYPES)
def test_draws_by_blocks_equal_draws_by_element(name, monkeypatch):
    draw = draws.draw(name)
    for number, n in enumerate(SIZES):
        for seed, call in KEYS:
            span = SPANS[number % len(SPANS)]
            monkeypatch.setattr(draws, "_LONG_DRAW", 1)
            long = draw(seed, call, n, 0, span)
            monkeypatch.setattr(draws, "_LONG_DRAW", 1 << 60)
            assert long.tobytes() == draw(seed, call, n, 0, span).tobytes(), (name, n, seed, call, span)
            for start in (3, 4, 1 << 14, (1 << 33) + 2):
                monkeypatch.setattr(draws, "_LONG_DRAW", 1)
                long = draw(seed, call, 300, start, span)
                monkeypatch.setattr(draws, "_LONG_DRAW", 1 << 60)
                assert long.tobytes() == draw(seed, call, 300, start, span).tobytes(), (name, start, seed, call, span)


def test_bits_equal_the_reference():
    for n in (0, 3, 64, 1000):
        for seed, call in KEYS:
            want = philox.bits(seed, call, n)
            words = np.array([seed, call, 0, 0], np.uint64).view(np.int64)
            out = np.full(n + 8, 77, np.uint32)
            draws.plan("random_bits", n, 1)(words, out[:n])
            np.testing.assert_array_equal(out, [*want, *[77] * 8])
            for bound in (0, 1, 2**31, 2**32 - 1, 2**32):
                np.testing.assert_array_equal(draws.draw(codegen.MASK)(seed, call, n, 0, bound), want < bound)


def test_normals_at_extreme_radii_and_angles():
    half, quarter = 1 << 31, 1 << 30
    near = [0, 1, 2, 255, 1 << 24, round(0.2928 * 2**32), round(0.2929 * 2**32), quarter, half, 3 * quarter, 2**32 - 2**8]
    words = np.unique(np.array([(n + d) % 2**32 for n in near for d in range(-3, 4)], np.uint32))
    a, b = (w.ravel() for w in np.meshgrid(words, words))
    s = NumpyBuilder()
    radius, turns = np.sqrt(-2 * np.log1p(a * -(2.0**-32))), b * 2.0**-32
    for found, function in zip(random.normals_of(s, s.value(a), s.value(b)), (np.cos, np.sin), strict=True):
        assert found.dtype is dt.float32
        np.testing.assert_allclose(found.ref, radius * function(2 * np.pi * turns), rtol=3e-7, atol=1e-14)


@pytest.mark.parametrize("name, root, times", [("random_normal", "llvm.sqrt", 1), ("random_uniform", "xor <", 40)])
def test_the_code_of_a_draw_is_emitted_once(name, root, times):
    """The last numbers come out of the loop of all others; angles of less than a turn have no code for large ones."""
    text = codegen.DrawKernel(target.cpu("x86-64-v4"), name).text()
    body = text.partition(f"define void @draw_{name}(")[2].partition("\n}")[0]
    assert body.count(root) == times and "quadrant" not in text


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_draws_do_not_depend_on_threads(threads):
    n = 300_001
    before = pool.get_num_threads()
    pool.set_num_threads(threads)
    try:
        found = draws.draw("random_uniform")(9, 4, n)
    finally:
        pool.set_num_threads(before)
    np.testing.assert_array_equal(found[-500:], philox.uniform01(9, 4, 500, start=n - 500))


def numbers(n):
    return ingot.rand(n), ingot.randn(n), ingot.rand(n) < 2, ingot.nn.functional.dropout(ingot.ones(n), 0.3), ingot.rand(
        n, dtype=ingot.float64)


@pytest.mark.parametrize("n", [1, 31, 300, 5000])
def test_traced_draws_equal_eager_draws(n):
    traced = jit.trace(numbers)
    traced(n)
    ingot.manual_seed(3)
    want = [t.numpy().tobytes() for _ in range(3) for t in numbers(n)]
    ingot.manual_seed(3)
    assert [t.numpy().tobytes() for _ in range(3) for t in traced(n)] == want


@pytest.mark.skipif(target.host().arch != "x86_64", reason="x86-64 levels")
@pytest.mark.parametrize("level", ["x86-64", "x86-64-v3"])
def test_lower_instruction_sets_draw_the_same(level):
    tests = f"{__file__}::test_bits_equal_the_reference"
    more = f"{__file__}::test_draws_by_blocks_equal_draws_by_element"
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", tests, more], timeout=100,
                          capture_output=True, text=True, check=False, env={**os.environ, "INGOT_CPU_LEVEL": level})
    assert done.returncode == 0, done.stdout
