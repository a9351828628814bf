"""Kernels of stored weights against NumPy: the bits of unpacked numbers, products of any size, threads, and other processors.

Drawn sizes print their seed.
"""

import subprocess
import sys
import textwrap

import numpy as np
import pytest

import ingot
import this_checkout
from guard_pages import fenced
from ingot import jit
from ingot.ir.ops.quantized.stored_weights import linear_stored, unpack_weight
from ingot.ir.reference.weight_formats import FORMATS, format_named
from ingot.ir.target import cpu, host
from ingot.passes.codegen.llvm.contract import gemm
from ingot.passes.codegen.llvm.contract.stored_products import StoredKernel, group_of, multiplies_integers
from ingot.runtime.core.tensor import wrap
from ingot.runtime.cpu.compiler import compile as compiler
from ingot.runtime.cpu.gemm import stored_weights

GROUPS = tuple(f"{sign}int{bits}_group{size}" for sign in ("", "u") for bits in (4, 5, 6, 8) for size in (32, 128))
NAMES = (*FORMATS, *GROUPS)
ROUNDINGS = 2e-6    # of a sum of float32, in units of the sum of the magnitudes of its products
HALF_STEP = 2 ** -16 / (1 - 2 ** -15)       # of x in 16 bits, in units of the largest magnitude of its group


def blocks(rng, name, *shape):
    """Rows of any bytes, nan and infinities among their floats."""
    return rng.integers(0, 256, (*shape[:-1], format_named(name).bytes_of_row(shape[-1])), np.uint8)


def packed(rng, name, *shape):
    return format_named(name).pack(rng.standard_normal(shape).astype(np.float32))


def same_bits(got, want):
    return bool(((got.view(np.uint32) == want.view(np.uint32)) | (np.isnan(got) & np.isnan(want))).all())


def worst(got, x, rows, bias, name):
    """Largest error of a product, in units of its bound: roundings of the sum, and of x to 16 bits where that is done.

    Numbers of a format with minima are sums of two products, each with its own magnitude.
    """
    form = format_named(name)
    weight, x = form.unpack(rows, x.shape[-1]).astype(np.float64), x.astype(np.float64)
    want, size = x @ weight.T, np.abs(x) @ magnitudes(form, rows, x.shape[-1]).T
    if bias is not None:
        want, size = want + bias, size + np.abs(bias)
    bound = ROUNDINGS * size + 1e-30
    if multiplies_integers(host(), form) and len(x) <= stored_weights._FEW_ROWS:
        group = group_of(form)
        short = -x.shape[-1] % group
        groups = np.abs(np.pad(x, [(0, 0), (0, short)])).reshape(len(x), -1, group).max(-1)
        bound += HALF_STEP * groups @ np.abs(np.pad(weight, [(0, 0), (0, short)])).reshape(len(rows), -1, group).sum(-1).T
    return float((np.abs(got - want) / bound).max(initial=0))


def magnitudes(form, rows, numbers):
    """Return the magnitudes of the products of scales and codes, and of the minima, added up."""
    weight = np.abs(form.unpack(rows, numbers).astype(np.float64))
    if form.minimum is None:
        return weight
    zeros = rows.copy().reshape(-1, form.nbytes)
    zeros[:, form.scale:form.scale + form.floats.itemsize] = 0
    return weight + 2 * np.abs(form.unpack(zeros.reshape(rows.shape), numbers).astype(np.float64))


def product(x, rows, bias, name):
    return stored_weights.linear(x, rows, bias, format=name, numbers=x.shape[-1])


@pytest.mark.parametrize("name", NAMES)
def test_unpacked_numbers_have_the_bits_of_the_definition(name):
    rng = np.random.default_rng([*name.encode()])
    for numbers in (1, 7, 31, 32, 33, 255, 256, 300, 1100):
        rows = blocks(rng, name, 3, numbers)
        assert same_bits(stored_weights.unpack(rows, format=name, numbers=numbers), format_named(name).unpack(rows, numbers))


@pytest.mark.drawn
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("count", [1, 2, 3, 8, 9, 40])
def test_products_of_few_and_many_rows(name, count):
    rng = np.random.default_rng([count, *name.encode()])
    for numbers in (1, 32, 100, 256, 700):
        x, rows = rng.standard_normal((count, numbers)).astype(np.float32), packed(rng, name, 19, numbers)
        for bias in (None, rng.standard_normal(19).astype(np.float32)):
            assert worst(product(x, rows, bias, name), x, rows, bias, name) <= 1, numbers


def any_size(seed, threads):
    """A product of drawn size and format, with one and with several threads."""
    rng = np.random.default_rng(seed)
    name = str(rng.choice(NAMES))
    count, columns, numbers = (int(n) for n in np.exp2(rng.uniform(0, (6, 9, 11))))
    x, rows = rng.standard_normal((count, numbers)).astype(np.float32), packed(rng, name, columns, numbers)
    bias = rng.standard_normal(columns).astype(np.float32) if rng.random() < 0.5 else None
    results = []
    for n in (1, 2, 3):
        threads(n)
        results.append(product(x, rows, bias, name))
        assert np.array_equal(results[0], results[-1]), f"seed {seed}: {n} threads"
        assert same_bits(stored_weights.unpack(rows, format=name, numbers=numbers), format_named(name).unpack(rows, numbers))
    assert worst(results[0], x, rows, bias, name) <= 1, f"seed {seed}: {count} x {columns} x {numbers} {name}"


@pytest.mark.drawn
@pytest.mark.parametrize("seed", range(200))
def test_products_of_any_size(seed, threads):
    any_size(seed, threads)


@pytest.mark.slow
@pytest.mark.timeout(0)
@pytest.mark.parametrize("block", range(10))
def test_a_thousand_products_of_any_size(block, threads):
    for seed in range(1000 + 100 * block, 1100 + 100 * block):
        any_size(seed, threads)


@pytest.mark.parametrize("name", ["Q4_0", "Q4_K", "Q6_K", "int4_group64"])
def test_wide_weights_have_the_same_bits_for_any_number_of_threads(name, threads):
    rng = np.random.default_rng(3)
    rows, results = packed(rng, name, 1030, 2048), {}
    for n in (1, 2, 3):
        threads(n)
        for count in (1, 5, 70):
            x = np.random.default_rng(count).standard_normal((count, 2048)).astype(np.float32)
            got = product(x, rows, None, name)
            assert np.array_equal(results.setdefault(count, got), got), (n, count)


@pytest.mark.parametrize("name", ["int8_group5024", "uint4_group4096", "int6_group96"])
def test_groups_that_are_long_or_odd(name, threads):
    rng = np.random.default_rng(9)
    for count in (1, 3, 20):
        x, rows = rng.standard_normal((count, 5000)).astype(np.float32), packed(rng, name, 40, 5000)
        results = [(threads(n), product(x, rows, None, name))[1] for n in (1, 2)]
        assert np.array_equal(*results) and worst(results[0], x, rows, None, name) <= 1


def test_a_row_has_the_same_bits_whatever_is_beside_it():
    rng = np.random.default_rng(4)
    x, rows = rng.standard_normal((8, 512)).astype(np.float32), packed(rng, "Q4_K", 33, 512)
    whole = product(x, rows, None, "Q4_K")
    for i in range(8):
        assert np.array_equal(product(x[i:i + 1], rows, None, "Q4_K")[0], whole[i])


@pytest.mark.parametrize("name", ["Q4_0", "Q4_K", "Q6_K", "uint4_group32", "BF16"])
def test_unusual_inputs(name):
    """Zeros, tiny and huge numbers; a row with an infinity or nan gives nan, and the rows beside it what they give alone."""
    rng = np.random.default_rng(8)
    rows, x = packed(rng, name, 5, 256), rng.standard_normal((6, 256)).astype(np.float32)
    alone = product(x[:1], rows, None, name)
    x[1] = 0
    x[2] *= np.float32(1e-25)
    x[3] *= np.float32(1e30)
    x[4, 3], x[5, 200] = np.inf, np.nan
    got = product(x, rows, None, name)
    assert np.array_equal(got[:1], alone) and not got[1].any() and np.isnan(got[5]).all()
    assert not np.isfinite(got[4]).any() if name == "BF16" else np.isnan(got[4]).all()
    assert worst(got[:4], x[:4], rows, None, name) <= 1
    tiny = (x[:1] * np.float32(1e-36)).astype(np.float32)
    assert np.abs(product(tiny, rows, None, name)).max() <= 1e-28


@pytest.mark.drawn
@pytest.mark.skipif(sys.platform != "linux", reason="mprotect as Linux has it")
@pytest.mark.parametrize("at_end", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_kernels_stay_in_their_memory(name, at_end):
    rng = np.random.default_rng(5)
    for count, numbers in ((1, 33), (3, 256), (1, 1), (2, 290), (12, 64)):
        x, rows = rng.standard_normal((count, numbers)).astype(np.float32), packed(rng, name, 5, numbers)
        apart = [fenced(a, at_end) for a in (x, rows, np.ones(5, np.float32))]
        assert worst(product(*apart, name), *apart, name) <= 1
        want = format_named(name).unpack(rows, numbers)
        assert same_bits(stored_weights.unpack(apart[1], format=name, numbers=numbers), want)


@pytest.mark.drawn
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("level", ["x86-64", "x86-64-v3", "x86-64-v4", "aarch64"])
def test_code_for_other_processors(name, level):
    target = cpu(level)
    assert compiler.emit_object(StoredKernel(target, name, True).text(), target)
    kernel = gemm.GemmKernel(target, gemm.Precision.of("float"), variants=(0,), may_swap=False, stored=name)
    assert compiler.emit_object(kernel.text(), target)


@pytest.mark.parametrize("level", ["x86-64", "x86-64-v3"])
def test_products_at_lower_levels(level, monkeypatch):
    """Without conversions of float16 NumPy unpacks; formats of other floats have kernels."""
    code = f"""
        import sys
        sys.path[:0] = {[str(this_checkout.ROOT / "tests" / "support"), str(this_checkout.ROOT / "tests/runtime/cpu/gemm")]}
        import this_checkout
        this_checkout.make_importable()
        import numpy as np
        import test_stored_weights as t
        rng = np.random.default_rng(6)
        for name in t.NAMES:
            for count in (1, 9):
                x, rows = rng.standard_normal((count, 300)).astype(np.float32), t.packed(rng, name, 7, 300)
                assert t.worst(t.product(x, rows, None, name), x, rows, None, name) <= 1, (name, count)
    """
    monkeypatch.setenv("INGOT_CPU_LEVEL", level)
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=100,
                          check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ["Q4_0", "Q6_K", "BF16", "uint5_group32"])
@pytest.mark.parametrize("numbers", [64, 100])
def test_traces_run_the_kernels_of_eager_calls(name, numbers):
    rng = np.random.default_rng(7)
    rows, bias = wrap(packed(rng, name, 24, numbers)), ingot.randn(24)
    traced = jit.trace(lambda x: linear_stored(x * 2, rows, bias, format=name, numbers=numbers).relu())
    unpacked = jit.trace(lambda r: unpack_weight(r, format=name, numbers=numbers) + 1)
    for count in (1, 1, 3, 20, 20):
        x = ingot.randn(count, numbers)
        want = linear_stored(x * 2, rows, bias, format=name, numbers=numbers).relu()
        assert ingot.equal(traced(x), want)
        assert ingot.equal(unpacked(rows), unpack_weight(rows, format=name, numbers=numbers) + 1)
    assert traced.stats()["other_calls"] == 0
