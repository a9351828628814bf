"""Discrete Fourier transforms: float64's accuracy for sizes around every border, and NumPy's for sizes without kernels.

The bits are the same for any number of threads and any position of a row.
"""

import os
import subprocess
import sys

import numpy as np
import pytest

import ingot
from ingot.ir import target
from ingot.runtime.cpu.calls import pool
from ingot.runtime.cpu.linalg import fourier

KINDS = (np.float32, np.float64)
SIZES = (2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 16, 18, 20, 24, 25, 27, 30, 32, 36, 40, 48, 60, 64, 75, 80, 81, 90, 96, 100, 125,
         128, 144, 160, 162, 200, 225, 240, 243, 256, 320, 360, 400, 480, 500, 512, 625, 640, 729, 1000, 1024, 1152, 1280, 2000,
         2048)
LARGE = (4096, 5760, 16000, 32768, 65536)
REFERENCE = {"rows": (np.fft.fft, np.fft.ifft), "halves": (np.fft.rfft,), "wholes": (None, np.fft.irfft)}


def numbers(kind, task, *shape):
    rng = np.random.default_rng(shape)
    x = rng.standard_normal(shape) + (1j * rng.standard_normal(shape) if task != "halves" else 0)
    return x.astype(kind if task == "halves" else np.result_type(kind, np.complex64))


def transformed(task, x, dim=-1, scale=1.0, inverse=False, threads=1):
    found = fourier.transform(task, x.dtype, x.shape, dim, scale, inverse, threads)
    return None if found is None else found(x)


def assert_near(got, want, kind, n):
    """Check that the error of a transform is some roundings of its largest number."""
    assert got.shape == want.shape
    assert abs(got - want).max() <= (2 + np.log2(n)) * np.finfo(kind).eps * abs(want).max()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("task", ["rows", "columns", "halves", "wholes"])
def test_transforms_have_the_accuracy_of_float64(task, kind):
    taken = []
    for n in SIZES + (LARGE if task != "columns" else ()):
        for inverse in {"halves": (False,), "wholes": (True,)}.get(task, (False, True)):
            shape = {"columns": (2, n, 3, 7), "wholes": (3, n // 2 + 1)}.get(task, (3, n))
            x = numbers(kind, task, *shape)
            got = transformed(task, x, 1, 0.5, inverse)
            if got is not None and not (task == "wholes" and n % 2):
                taken.append(n)
                wide = x.astype(np.complex128 if task != "halves" else np.float64)
                size = {"n": n} if task == "wholes" else {}
                reference = REFERENCE.get(task, REFERENCE["rows"])[inverse]
                assert_near(got, reference(wide, axis=1, norm="forward" if inverse else None, **size) / 2, kind, n)
    assert {480, 512, 2000} <= set(taken) and 7 not in taken and (task == "columns" or max(taken) >= 16000)


@pytest.mark.parametrize("kind", KINDS)
def test_inverses_restore_the_numbers(kind):
    for shape, dims in (((6, 8, 20), (0, 1, 2)), ((3, 7, 16), (1, 2)), ((5, 11), (0, 1)), ((64, 48), (1, 0))):
        x = numbers(kind, "rows", *shape)
        t = ingot.tensor(x)
        for norm in ("backward", "ortho", "forward"):
            found = ingot.fft.fftn(t, dim=dims, norm=norm)
            assert_near(found.numpy(), np.fft.fftn(x.astype(np.complex128), axes=dims, norm=norm), kind, x.size)
            assert_near(ingot.fft.ifftn(found, dim=dims, norm=norm).numpy(), x, kind, x.size ** 2)


def test_rows_do_not_depend_on_threads_and_other_rows():
    for task, shape in (("rows", (70, 512)), ("columns", (3, 96, 70)), ("halves", (70, 1000)), ("wholes", (70, 1025))):
        x = numbers(np.float32, task, *shape)
        whole = transformed(task, x, 1)
        for threads in (2, 3):
            before = pool.get_num_threads()
            pool.set_num_threads(threads)
            try:
                found = transformed(task, np.tile(x, (9, *[1] * (x.ndim - 1))), 1, threads=threads)
                np.testing.assert_array_equal(found[-len(x):], whole)
            finally:
                pool.set_num_threads(before)
        np.testing.assert_array_equal(transformed(task, x[1:2].copy(), 1)[0], whole[1])


def test_frequencies_of_real_numbers_have_real_ends():
    for n in (16, 400, 1024):
        found = ingot.fft.rfft(ingot.tensor(numbers(np.float32, "halves", 3, n))).numpy()
        assert not found[:, [0, -1]].imag.any()
        other = found.copy()
        other[:, [0, -1]] += 1j         # which counts for nothing
        ours, want = (ingot.fft.irfft(ingot.tensor(x)).numpy() for x in (other, found))
        np.testing.assert_array_equal(ours, want)


@pytest.mark.parametrize("make", [ingot.fft.fft, ingot.fft.rfft, lambda t: ingot.fft.irfft(t * (1 + 0j))])
def test_nan_affects_its_own_row_alone(make):
    x = numbers(np.float32, "halves", 3, 33)[:, :32]
    good = make(ingot.tensor(x.copy())).numpy()
    x[1, 5] = np.nan
    found = make(ingot.tensor(x)).numpy()
    assert np.isnan(found[1]).all()
    np.testing.assert_array_equal(found[::2], good[::2])


def test_transforms_do_not_depend_on_strides_and_dims():
    x = numbers(np.float32, "rows", 16, 24, 40)
    t = ingot.tensor(x)
    for dim in range(3):
        permuted = ingot.fft.fft(t.movedim(dim, -1)).movedim(-1, dim).numpy()
        assert_near(ingot.fft.fft(t, dim=dim).numpy(), permuted, np.float32, 40)
        assert_near(ingot.fft.rfft(t.real, dim=dim).numpy(), np.fft.rfft(x.real, axis=dim), np.float32, 40)
        assert_near(ingot.fft.irfft(t, dim=dim).numpy(), np.fft.irfft(x, axis=dim), np.float32, 40)
    transposed = t.transpose(0, 2)
    np.testing.assert_array_equal(ingot.fft.fft(transposed).numpy(), ingot.fft.fft(transposed.contiguous()).numpy())


@pytest.mark.skipif(target.host().arch != "x86_64", reason="x86-64 levels")
@pytest.mark.parametrize("level", ["x86-64", "x86-64-v3"])
def test_lower_instruction_sets_transform_the_same(level):
    if level not in ("x86-64",) and target.host().level == "x86-64":
        pytest.skip("this machine is of that level itself")
    tests = f"{__file__}::test_transforms_have_the_accuracy_of_float64"
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", tests], timeout=100,
                          capture_output=True, text=True, check=False, env={**os.environ, "INGOT_CPU_LEVEL": level})
    assert done.returncode == 0, done.stdout


TRACED = {
    "rows": lambda z: ingot.fft.fft(z), "columns": lambda z: ingot.fft.ifft(z, dim=0), "planes": lambda z: ingot.fft.fft2(z),
    "all dims": lambda z: ingot.fft.ifftn(z, norm="ortho"), "halves": lambda z: ingot.fft.rfft(z.real),
    "wholes": lambda z: ingot.fft.irfft(z[..., :z.shape[-1] // 2 + 1]),
    "cosines": lambda z: ingot.fft.irfft2(ingot.fft.rfft2(z.real) * 2),
    "transposed": lambda z: ingot.fft.fft(z.mT) + 1,
}


@pytest.mark.parametrize("kind", [ingot.complex64, ingot.complex128], ids=str)
@pytest.mark.parametrize("name", TRACED)
def test_traced_transforms_are_native_and_equal_eager_ones(name, kind):
    """Also of sizes that come later, and with gradients; sizes without kernels are called."""
    def step(z):
        leaf = z.clone().requires_grad_()
        out = TRACED[name](leaf)
        return out.detach(), *ingot.autograd.grad(out.abs().sum(), leaf)

    traced = ingot.jit.trace(step)
    for sizes in ((3, 12, 16), (3, 12, 16), (3, 12, 16), (2, 40, 64), (5, 11, 14), (1, 2, 2)):
        rng = np.random.default_rng(sizes)
        z = ingot.tensor(rng.standard_normal(sizes) + 1j * rng.standard_normal(sizes)).to(kind)
        for want, got in zip(step(z), traced(z), strict=True):
            np.testing.assert_array_equal(got.numpy(), want.numpy(), strict=True)
        if sizes == (3, 12, 16):
            report = str(traced.explain())
    assert "native" in report and "call fft" not in report and "call rfft" not in report and "call irfft" not in report
