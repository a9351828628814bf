"""Threads of numpy's BLAS at work for ingot: one for small matrices, never more than ingot has, then its own again."""

import threading

import numpy as np
import pytest

import ingot
from ingot.ir import blas_threads


class Library:
    """A stand-in for OpenBLAS that records the thread counts it is given."""

    def __init__(self, count):
        self.count, self.requests = count, []

    def put(self, count):
        self.count = count
        self.requests.append(count)


@pytest.fixture
def library(monkeypatch):
    made = Library(8)
    monkeypatch.setattr(blas_threads, "_library", lambda: blas_threads._Library(lambda: made.count, made.put))
    return made


def matrices(n, *lead, kind=np.float64):
    x = np.random.default_rng(n).standard_normal((*lead, n, n)).astype(kind)
    return ingot.tensor(x @ x.swapaxes(-1, -2) + n * np.eye(n, dtype=kind))


@pytest.mark.parametrize("size, most, expected",
                         [(blas_threads.ALONE, 4, 1), (blas_threads.ALONE + 1, 4, 4), (1000, 1, 1), (1000, 16, 8),
                                               (0, 4, 1)])
def test_thread_count_follows_size_and_setting(library, threads, size, most, expected):
    threads(most)
    assert blas_threads.suited(lambda x: library.count)(np.empty((2, size, 3))) == expected and library.count == 8
    x = ingot.ones(1000, 1000, dtype=ingot.complex64)
    x[:4] @ x
    assert library.requests[-2] == min(most, 8)


def test_thread_count_is_restored_after_an_error(library):
    with pytest.raises(ZeroDivisionError):
        blas_threads.held(lambda: 1 // 0, True)
    assert library.count == 8 and library.requests == [1, 8]


def test_a_forked_process_has_the_library_as_it_was(library):
    """The fork happens while another thread runs a call."""
    blas_threads._enter(blas_threads._library(), True)
    blas_threads._in_child()
    assert library.count == 8 and blas_threads.held(lambda: library.count, True) == 1 and library.count == 8


def test_concurrent_calls_use_one_thread_each(library, threads):
    """The first to end does not restore the count."""
    threads(4)
    for first in (0, 1):
        inside, ends, counts = [threading.Event() for _ in range(2)], [threading.Event() for _ in range(2)], []

        def work(number, inside=inside, ends=ends):
            inside[number].set()
            ends[number].wait()

        running = []
        for number in range(2):
            running.append(threading.Thread(target=blas_threads.held, args=(work, False, number)))
            running[-1].start()
            inside[number].wait()
            counts.append(library.count)
        for number in (first, 1 - first):
            ends[number].set()
            running[number].join()
            counts.append(library.count)
        assert counts == [4, 1, 1, 8]


CALLS = {
    "svd": ingot.linalg.svd, "svdvals": ingot.linalg.svdvals, "eigh": ingot.linalg.eigh, "eigvalsh": ingot.linalg.eigvalsh,
    "eig": ingot.linalg.eig, "eigvals": ingot.linalg.eigvals, "pinv": ingot.linalg.pinv,
    "complex product": lambda x: x.to(ingot.complex64) @ x.to(ingot.complex64),
    "complex solution": lambda x: ingot.linalg.solve(x.to(ingot.complex64), x.to(ingot.complex64)),
    "complex solution with info": lambda x: ingot.linalg.solve_ex(x.to(ingot.complex64), x.to(ingot.complex64)),
    "complex inverse": lambda x: ingot.linalg.inv(x.to(ingot.complex64)),
    "complex factor": lambda x: ingot.linalg.cholesky(x.to(ingot.complex64)),
    "complex factors": lambda x: ingot.linalg.qr(x.to(ingot.complex64)),
    "complex determinant": lambda x: ingot.linalg.det(x.to(ingot.complex64))}


@pytest.mark.parametrize("name", CALLS)
def test_small_matrices_use_one_thread_in_lapack(name, library, threads):
    threads(2)
    CALLS[name](matrices(40))
    assert set(library.requests) == {1, 8} and library.count == 8


def test_the_blas_of_numpy_takes_the_thread_count(threads):
    if not blas_threads.is_held():
        pytest.skip("numpy has no OpenBLAS of its own")
    threads(3)
    get, put = blas_threads._library()
    before = get()
    try:
        for count in (1, 2, 5):
            put(count)
            assert blas_threads.held(get, True) == 1 and blas_threads.held(get, False) == min(count, 3) and get() == count
    finally:
        put(before)


@pytest.mark.parametrize("name", ["eig", "eigvals", "eigh", "svdvals"])
def test_batches_are_shared_out_between_threads(name, threads):
    """The bits are those of one matrix after the other."""
    x, results = matrices(48, 24), []
    for count in (1, 3):
        threads(count)
        made = CALLS[name](x)
        results.append([t.numpy().tobytes() for t in (made if isinstance(made, tuple) else (made,))])
    assert results[0] == results[1]
