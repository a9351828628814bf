"""The caching allocator and its heap."""

import gc
import itertools
import threading

import numpy as np
import pytest

from ingot.runtime.cpu.memory import alloc, heap


@pytest.fixture
def fresh_allocator():
    gc.collect()        # else what tests before have left behind is given back at some time during this one
    alloc.empty_cache()
    before = alloc.stats()["limit"]
    yield
    alloc.set_cache_limit(before)
    alloc.empty_cache()


@pytest.mark.parametrize("shape", [(), 5, (0, 7), (3, 4), (1000, 1000), (1, 2, 70000)])
@pytest.mark.parametrize("dtype", ["float32", "bool", "int64", "complex128"])
def test_empty_gives_ordinary_arrays(fresh_allocator, shape, dtype):
    array = alloc.empty(shape, dtype)
    assert type(array) is np.ndarray and array.shape == np.empty(shape).shape and array.dtype == dtype
    assert array.flags.c_contiguous and array.flags.writeable and array.flags.aligned
    array[...] = 1
    assert (array == 1).all()
    if array.nbytes >= alloc.SMALL_BYTES:
        assert array.ctypes.data % 64 == 0


@pytest.mark.parametrize("size", [0, 1, 100, 100_000])
def test_aligned_arrays_start_on_a_cache_line(size):
    arrays = [alloc.aligned_zeros((size, 3), "float64") for _ in range(4)]
    assert all(array.ctypes.data % 64 == 0 and (array == 0).all() and array.shape == (size, 3) for array in arrays if size)


def test_memory_returns_when_the_last_view_dies(fresh_allocator):
    start = alloc.stats()["in_use"]
    array = alloc.empty((512, 512))
    where, view = array.ctypes.data, array[3:5].T
    del array
    assert alloc.stats()["in_use"] > start
    other = alloc.empty((512, 512))
    assert other.ctypes.data != where
    view[...] = 7
    del view
    assert alloc.stats()["in_use"] == start + other.nbytes
    again = alloc.empty((500, 520))
    assert again.ctypes.data == where, "a block of the same size class is used again"


def test_cached_memory_is_bounded(fresh_allocator):
    alloc.set_cache_limit(3 << 20)
    arrays = [alloc.empty(1 << 18) for _ in range(10)]
    del arrays
    assert 0 < alloc.stats()["cached"] <= 3 << 20
    alloc.empty_cache()
    assert alloc.stats()["cached"] == 0


def test_repeated_sizes_are_served_from_shelves(fresh_allocator, monkeypatch):
    sizes = [1 << 15, 1 << 16, 50_000, 1 << 15, 200_000]

    def step():
        kept = []
        for size in sizes:
            kept.append(alloc.empty(size))
            kept[-2:-1] = []
        return kept[-1].ctypes.data

    step()
    before = alloc.stats()
    monkeypatch.setattr(alloc, "_from_heap", lambda size: pytest.fail(f"{size} bytes from the heap"))
    assert step() == step()
    after = alloc.stats()
    assert after["reused"] == before["reused"] + 2 * len(sizes) and after["in_use"] == before["in_use"]


def test_unprocessed_freed_memory_is_bounded(fresh_allocator):
    alloc.set_cache_limit(16 << 20)
    kept = [alloc.empty(1 << 16) for _ in range(400)]
    del kept
    assert alloc._waiting() + alloc._state.heap.warm <= 18 << 20
    assert alloc.stats()["cached"] <= 16 << 20


def test_free_neighbours_are_joined_for_a_larger_array(fresh_allocator):
    arrays = sorted([alloc.empty(1 << 18) for _ in range(64)], key=lambda a: a.ctypes.data)
    apart = 3 * arrays[0].nbytes
    first = next(i for i in range(61) if arrays[i + 3].ctypes.data - arrays[i].ctypes.data == apart)
    before = alloc.stats()
    del arrays[first:first + 4]
    larger = alloc.empty(1 << 20)
    after = alloc.stats()
    assert after["mapped"] == before["mapped"] and after["reused"] == before["reused"] + 1
    assert larger.nbytes == after["in_use"] - before["in_use"] + (4 << 20)


def test_memory_returned_to_the_system_is_zero_and_usable(fresh_allocator):
    array, other = alloc.empty(1 << 20, np.uint8), alloc.empty(1 << 20, np.uint8)
    array[:] = other[:] = 7
    del array
    alloc.empty_cache()
    assert alloc.stats()["cached"] == 0
    again = alloc.empty(1 << 20, np.uint8)
    assert (other == 7).all()
    again[:] = 3
    assert (again == 3).all() and (other == 7).all()


@pytest.mark.parametrize("seed", range(4))
def test_heap_pieces_do_not_overlap_and_free_ones_are_joined(seed):
    rng, made, used, most = np.random.default_rng(seed), heap.Heap(), [], 0
    for _ in range(2000):
        if used and rng.random() < (0.6 if len(used) > 40 else 0.4):
            made.give(used.pop(rng.integers(len(used))))
        else:
            used.append(made.take(alloc.size_class(int(np.exp2(rng.uniform(17, 24))))))
        if rng.random() < 0.02:
            made.cool(int(rng.integers(0, 1 << 25)))
        taken = sum(p.size for p in used)
        most = max(most, taken)
        places = sorted([(p.address, p.address + p.size) for p in (*used, *[p for *_, p in made._pieces])])
        assert all(end <= start for (_, end), (start, _) in itertools.pairwise(places)), f"seed {seed}: pieces overlap"
        assert sum(end - start for start, end in places) == made.mapped
        assert all(not (p.after is not None and p.after.free) for *_, p in made._pieces), f"seed {seed}: not joined"
        assert made.warm == sum(p.warm for *_, p in made._pieces) >= 0
        assert taken + made.warm <= 1.5 * most + (1 << 24), f"seed {seed}: {taken} in use, {made.warm} kept, {most} at most"
    for p in used:
        made.give(p)
    made.cool(0)
    assert (made.mapped, made.warm, made._pieces) == (0, 0, [])


def test_touched_memory_is_taken_before_untouched_memory():
    made, large, small = heap.Heap(), 96 << 20, 1 << 20
    for _ in range(3):      # as steps that need an arena, and leave gradients which the next step frees
        pieces = [made.take(large), made.take(small)]
        assert made.warm == 0, "memory lay idle while more was touched"
        for piece in pieces:
            made.give(piece)
        assert made.warm == large + small


@pytest.mark.parametrize("seed", range(3))
def test_size_classes_waste_little(seed):
    sizes = np.exp2(np.random.default_rng(seed).uniform(17, 40, 500)).astype(np.int64)
    for size in map(int, sizes):
        given = alloc.size_class(size)
        assert size <= given <= size * 1.13 and given % 4096 == 0, f"seed {seed}: {size} -> {given}"


def test_threads_share_the_allocator(fresh_allocator):
    wrong, before = [], alloc.stats()["in_use"]      # compiled graphs of this thread may keep an arena

    def work(seed):
        rng = np.random.default_rng(seed)
        kept = []
        for _ in range(300):
            array = alloc.empty(int(rng.integers(1 << 15, 1 << 18)))
            array[:] = seed
            kept.append(array)
            if len(kept) > 5 and not (kept.pop(int(rng.integers(5))) == seed).all():
                wrong.append(seed)

    workers = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong, f"seeds {wrong}"
    gc.collect()
    assert alloc.stats()["in_use"] == before


def test_too_large_a_request_is_a_memory_error():
    with pytest.raises(MemoryError):
        alloc.empty(1 << 60, np.uint8)
