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
TURNS = {       # shape in memory -> the same with its dims in another order
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
@pytest.mark.parametrize("what", TURNS)
def test_copies_are_numpy_s(what, kind):
    shape, order = TURNS[what]
    whole = counting(shape, kind)
    for x in (whole, whole[1:], whole[..., ::2], whole[..., ::-1], whole[:, 1:-1], np.broadcast_to(whole, (2, *shape))):
        lead = x.ndim - len(order)
        turned = x.transpose(*range(lead), *[d + lead for d in order])
        got = copies.in_rows(turned)
        assert got.flags.c_contiguous and not np.may_share_memory(got, whole)
        assert got.dtype == turned.dtype and got.tobytes() == turned.tobytes()


@pytest.mark.parametrize("kind", KINDS, ids=lambda k: np.dtype(k).name)
@pytest.mark.parametrize("what", TURNS)
def test_copies_to_places_that_lie_otherwise(what, kind):
    shape, order = TURNS[what]
    turned = counting(shape, kind).transpose(order)
    beside = np.zeros([n + 3 for n in turned.shape], kind)
    across = np.zeros(turned.shape[::-1], kind).T
    for out in (beside[(slice(1, -2),) * turned.ndim], across, beside[(slice(-3, 0, -1),) * turned.ndim]):
        copies.into(out, turned)
        assert (out == turned).all()
    assert not beside[0].any() and not beside[..., -1].any()


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


def test_what_is_turned():
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
def test_filled(kind):
    for value in (0, 1, -0.0, 3.5):
        x = np.empty((3, 5), kind)
        copies.fill(x, np.array(value).astype(kind)[()])
        assert x.tobytes() == np.full((3, 5), value).astype(kind).tobytes()


def test_operators_read_turned_arrays_as_others():
    rng = np.random.default_rng(0)
    images = ingot.tensor(rng.standard_normal((4, 20, 24, 28)).astype(np.float32))
    last, beside = images.to(memory_format=ingot.channels_last), images.flip(1)
    for f in (lambda x: x + 1, lambda x: x * beside, lambda x: ingot.exp(x), lambda x: x.sum((2, 3)), lambda x: x.softmax(1),
              lambda x: x.cumsum(-1), lambda x: x.sort(-1)[0], lambda x: x.contiguous(), lambda x: x.add_(beside).contiguous(),
              lambda x: ingot.fft.rfft(x).abs(), lambda x: ingot.nn.functional.max_pool2d(x, 2),
              lambda x: ingot.cat([x, beside], 1),
              lambda x: ingot.nn.functional.pad(x, (1, 2, 3, 4)), lambda x: ingot.nn.functional.pad(x, (1, 2, 3, 4), "reflect"),
              lambda x: ingot.nn.functional.pixel_shuffle(x, 2), lambda x: ingot.cat([x] * 40)):
        assert ingot.equal(f(last.clone()), f(images.clone()))


@pytest.mark.skipif(target.host().arch != "x86_64", reason="x86-64 levels")
@pytest.mark.parametrize("level", ["x86-64", "x86-64-v3"])
def test_lower_levels_copy_as_well(level, monkeypatch):
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


def test_an_element_has_a_task_of_its_own():
    symbols = {transpose_squares.TurnKernel(target.host(), item).symbol for item in (2, 4, 8)}
    assert symbols == {f"turned_copy_{n}" for n in (2, 4, 8)} == {f"turned_copy_{n}" for n in (2, 4,
                                                                                                                           8)}
