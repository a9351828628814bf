"""Copies into C order: squares transposed in registers, elements copied as integers."""

import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

import ingot
from ingot.ir import target
from ingot.passes.codegen.llvm.contract import transpose_squares
from ingot.runtime.cpu.loops import copies

KINDS = [np.uint8, np.float16, ingot.bfloat16.np, np.float32, np.int64, np.complex64, np.complex128]
TRANSPOSED = {      # shape in memory -> the same with its dims in another order
    "a matrix": ((67, 83), (1, 0)), "channels last": ((3, 9, 11, 37), (0, 3, 1, 2)), "batches": ((5, 33, 40), (0, 2, 1)),
    "first dim last": ((40, 7, 33), (1, 2, 0)), "two dims outside": ((4, 5, 19, 30), (1, 0, 3, 2)),
    "three dims outside": ((3, 4, 2, 18, 20), (1, 0, 2, 4, 3)), "four dims outside": ((2, 3, 2, 3, 12, 20), (3, 2, 1, 0, 5, 4)),
    "the last stays": ((30, 20, 16), (1, 0, 2)), "few columns": ((2000, 3), (1, 0)), "few rows": ((5, 1500), (1, 0)),
    "17 columns": ((400, 17), (1, 0)), "17 rows": ((17, 400), (1, 0)),
    "pixels between channels": ((3, 2, 20, 40), (0, 2, 3, 1)),
}


def counting(shape, kind):
    return (np.arange(np.prod(shape)) % 251).reshape(shape).astype(kind)


@pytest.mark.parametrize("kind", KINDS, ids=lambda k: np.dtype(k).name)
@pytest.mark.parametrize("what", TRANSPOSED)
def test_copies_equal_those_of_numpy(what, kind):
    shape, order = TRANSPOSED[what]
    whole = counting(shape, kind)
    for x in (whole, whole[1:], whole[..., ::2], whole[..., ::-1], whole[:, 1:-1], np.broadcast_to(whole, (2, *shape))):
        lead = x.ndim - len(order)
        transposed = x.transpose(*range(lead), *[d + lead for d in order])
        got = copies.in_rows(transposed)
        assert got.flags.c_contiguous and not np.may_share_memory(got, whole)
        assert got.dtype == transposed.dtype and got.tobytes() == transposed.tobytes()


@pytest.mark.parametrize("kind", KINDS, ids=lambda k: np.dtype(k).name)
@pytest.mark.parametrize("what", TRANSPOSED)
def test_copies_into_arrays_of_other_strides(what, kind):
    shape, order = TRANSPOSED[what]
    transposed = counting(shape, kind).transpose(order)
    whole = np.zeros([n + 3 for n in transposed.shape], kind)
    across = np.zeros(transposed.shape[::-1], kind).T
    for out in (whole[(slice(1, -2),) * transposed.ndim], across, whole[(slice(-3, 0, -1),) * transposed.ndim]):
        copies.into(out, transposed)
        assert (out == transposed).all()
    assert not whole[0].any() and not whole[..., -1].any()


@pytest.mark.slow
@pytest.mark.parametrize("columns", [4, 17, 20, 33, 100])
def test_odd_sizes_take_no_longer_than_numpy(columns):
    """A strip of a few columns beside whole ones took ten times as long: missing rows were outside of memory."""
    x = counting(((1 << 20) // columns, columns), np.float32).T
    seconds: dict = {copies.in_rows: [], np.ascontiguousarray: []}
    for _ in range(9):
        for copy, found in seconds.items():
            start = time.perf_counter()
            copy(x)
            found.append(time.perf_counter() - start)
    ours, numpys = (min(found) for found in seconds.values())
    assert ours < 2 * numpys


def test_transposed_arrays_are_recognised():
    x = counting((3, 9, 11, 37), np.float32)
    assert copies.is_transposed(x.transpose(0, 3, 1, 2)) and copies.is_transposed(x.transpose(0, 1, 3, 2))
    assert not copies.is_transposed(x) and not copies.is_transposed(x[:, 1:])
    assert not copies.is_transposed(x.transpose(1, 0, 2, 3))
    assert not copies.is_transposed(np.broadcast_to(x[..., :1], x.shape))
    assert not copies.is_transposed(x[..., :3].transpose(0, 3, 1, 2))


def test_threads_share_a_copy(threads):
    x = counting((8, 300, 700), np.float32).transpose(0, 2, 1)
    for n in (1, 2, 3):
        threads(n)
        assert (copies.in_rows(x) == x).all()


@pytest.mark.parametrize("kind", KINDS, ids=lambda k: np.dtype(k).name)
def test_fill_writes_every_element(kind):
    for value in (0, 1, -0.0, 3.5):
        x = np.empty((3, 5), kind)
        copies.fill(x, np.array(value).astype(kind)[()])
        assert x.tobytes() == np.full((3, 5), value).astype(kind).tobytes()


def test_operators_give_the_same_for_transposed_operands():
    rng = np.random.default_rng(0)
    images = ingot.tensor(rng.standard_normal((4, 20, 24, 28)).astype(np.float32))
    last, other = images.to(memory_format=ingot.channels_last), images.flip(1)
    for f in (lambda x: x + 1, lambda x: x * other, lambda x: ingot.exp(x), lambda x: x.sum((2, 3)), lambda x: x.softmax(1),
              lambda x: x.cumsum(-1), lambda x: x.sort(-1)[0], lambda x: x.contiguous(), lambda x: x.add_(other).contiguous(),
              lambda x: ingot.fft.rfft(x).abs(), lambda x: ingot.nn.functional.max_pool2d(x, 2),
              lambda x: ingot.cat([x, other], 1),
              lambda x: ingot.nn.functional.pad(x, (1, 2, 3, 4)), lambda x: ingot.nn.functional.pad(x, (1, 2, 3, 4), "reflect"),
              lambda x: ingot.nn.functional.pixel_shuffle(x, 2), lambda x: ingot.cat([x] * 40)):
        assert ingot.equal(f(last.clone()), f(images.clone()))


@pytest.mark.skipif(target.host().arch != "x86_64", reason="x86-64 levels")
@pytest.mark.parametrize("level", ["x86-64", "x86-64-v3"])
def test_lower_instruction_sets_copy_the_same(level, monkeypatch):
    code = """
        import numpy as np
        from ingot.runtime.cpu.loops import copies
        for kind in (np.int16, np.float32, np.float64):
            x = np.arange(3 * 67 * 83).reshape(3, 67, 83).astype(kind).transpose(0, 2, 1)
            assert copies.is_transposed(x) and (copies.in_rows(x) == x).all()
    """
    monkeypatch.setenv("INGOT_CPU_LEVEL", level)
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=100,
                          check=False)
    assert done.returncode == 0, done.stderr


def test_each_element_size_has_a_task():
    symbols = {transpose_squares.TurnKernel(target.host(), item).symbol for item in (2, 4, 8)}
    assert symbols == {f"turned_copy_{n}" for n in (2, 4, 8)}
