"""Calls of kernels on arrays (native entries and their portable twin), and the caching allocator."""

import gc
import itertools
import subprocess
import sys
import sysconfig
import threading
import time

import numpy as np
import pytest

from ingot.ir import target
from ingot.passes.codegen.llvm.ir.emit import Module
from ingot.passes.codegen.llvm.ir.types import F32, I64, PTR, constant
from ingot.runtime.cpu.calls import call
from ingot.runtime.cpu.compiler import compile as compiler
from ingot.runtime.cpu.memory import alloc, heap


# --- entries ---
def scale_kernel():
    """Write void kernel(block of {f32 array rank 1, f32 array rank 1, i64, double}): out = in * i + d."""
    module = Module(target.host())
    f = module.function("scale", [(PTR, "block")])
    block, = f.params
    source, count, goal = f.load(PTR, block), f.load(I64, f.at(block, 8)), f.load(PTR, f.at(block, 24))
    stride = f.load(I64, f.at(block, 16))
    factor = f.cast("sitofp", f.load(I64, f.at(block, 48)), F32)
    offset = f.cast("fptrunc", f.load("double", f.at(block, 56)), F32)
    with f.loop(0, count) as loop:
        value = f.load(F32, f.at(source, f.mul(loop.index, stride)))
        f.store(f.fadd(f.fmul(value, factor), offset), f.at(goal, loop.index, F32))
    f.ret()
    return compiler.compile_module(module.text(), ["scale"])["scale"]


SCALE = (call.array("float32", 1), call.array("float32", 1, writable=True), call.INTEGER, call.FLOAT)


@pytest.fixture(params=["native", "ctypes"])
def scale(request):
    if request.param == "native" and not call.fast_calls():
        pytest.skip("no native entries on this interpreter")
    make = call._builtin_entry if request.param == "native" else call._ctypes_entry
    return make("scale", scale_kernel(), SCALE, call.RELEASE_AT)


@pytest.mark.skipif(sys.implementation.name != "cpython" or sys.platform != "linux" or sys.maxsize < 2**32
                    or bool(sysconfig.get_config_var("Py_GIL_DISABLED")), reason="another interpreter")
def test_entries_are_native_on_every_usual_interpreter():
    """With another object layout, a new release of Python or NumPy would silently be several times slower."""
    assert call.fast_calls()


@pytest.mark.parametrize("size", [0, 1, 8, 100_000])
def test_entries_pass_arrays_and_scalars(scale, size):
    a, out = np.arange(2 * size, dtype=np.float32)[::2], np.empty(size, np.float32)
    assert scale(a, out, -1, 0.5) is None
    assert np.array_equal(out, a * np.float32(-1) + np.float32(0.5))


READ_ONLY = np.zeros(8, np.float32)
READ_ONLY.flags.writeable = False
GOOD = np.zeros(8, np.float32)
UNALIGNED = np.frombuffer(bytes(33), np.uint8)[1:].view(np.float32)


class Subclass(np.ndarray):
    """Not an exact ndarray."""


@pytest.mark.parametrize("args, message", [
    ((GOOD, GOOD, 1), "4 arguments, got 3"), ((GOOD, GOOD, 1, 1.0, 1), "got 5"),
    ((GOOD.astype(np.float64), GOOD, 1, 1.0), "argument 1 must be .*float32"),
    ((GOOD[None], GOOD, 1, 1.0), "argument 1 .*1 dim"),
    ((GOOD, READ_ONLY, 1, 1.0), "argument 2 must be .*writable"), ((GOOD.astype(">f4"), GOOD, 1, 1.0), "argument 1"),
    ((UNALIGNED, GOOD, 1, 1.0), "argument 1 must be an aligned"), ((GOOD.view(Subclass), GOOD, 1, 1.0), "argument 1"),
    (([1.0], GOOD, 1, 1.0), "argument 1"), ((GOOD, None, 1, 1.0), "argument 2"), ((GOOD, GOOD, "x", 1.0), "int"),
    ((GOOD, GOOD, 1, "x"), "float|real number")])
def test_entries_refuse_what_does_not_fit(scale, args, message):
    with pytest.raises(TypeError, match=message):
        scale(*args)


def test_entries_keep_reference_counts(scale):
    a, out = np.zeros(8, np.float32), np.zeros(8, np.float32)
    before = sys.getrefcount(a), sys.getrefcount(out)
    for _ in range(1000):
        scale(a, out, 1, 1.0)
        with pytest.raises(TypeError):
            scale(a, None, 1, 1.0)
    assert (sys.getrefcount(a), sys.getrefcount(out)) == before


def test_entries_outlive_what_made_them():
    entries = [call.entry(f"scale{number}", scale_kernel(), SCALE) for number in range(20)]
    gc.collect()
    out = np.empty(8, np.float32)
    for made in entries:
        made(GOOD, out, 1, 3.0)
        assert (out == 3).all()


AT_EXIT = """
from ingot.runtime.cpu.calls import call

class Last:
    def __del__(self, write=print):
        write("freed")

call._kept["last"] = Last()
"""


def test_entries_that_are_gone_leave_nothing():
    def make(numbers):
        return [call.entry(f"scaled{number}", scale_kernel(), SCALE) for number in numbers]

    before = len(call._kept)
    made = make([0] * 100)
    assert all(entry is made[0] for entry in made)
    for start in range(0, 20000, 1000):
        made = make(range(start, start + 1000))
    made[-1](GOOD, np.empty(8, np.float32), 1, 3.0)
    assert len(call._kept) - before < 4000


def test_what_entries_read_is_there_until_the_process_ends():
    """The interpreter may free a native entry after this package's modules, and reads its definition then."""
    done = subprocess.run([sys.executable, "-c", AT_EXIT], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def test_large_calls_release_the_interpreter():
    module = Module(target.host())
    f = module.function("wait", [(PTR, "block")])
    f.call("usleep", "i32", constant("i32", 200_000))
    f.ret()
    address = compiler.compile_module(module.text(), ["wait"])["wait"]
    made = call.entry("wait", address, [call.array("float32", 1)], release_at=10)
    for size, free in ((20, True), (5, False)):
        ticks, stop = [], threading.Event()

        def tick(ticks=ticks, stop=stop):
            while not stop.is_set():
                ticks.append(time.perf_counter())
                time.sleep(0.005)

        worker = threading.Thread(target=tick)
        worker.start()
        start = time.perf_counter()
        made(np.zeros(size, np.float32))
        end = time.perf_counter()
        stop.set()
        worker.join()
        inside = sum(start + 0.02 < tick < end - 0.02 for tick in ticks)
        assert (inside > 2) == free, f"{size} elements: {inside} ticks while the kernel ran"


def test_addresses_are_those_of_numpy():
    for array in (np.zeros(3), np.zeros((4, 5))[1:, ::2], np.zeros(0), alloc.empty((300, 300))):
        assert call.address_of(array) == array.ctypes.data


# --- the allocator ---
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


def test_kept_memory_is_bounded(fresh_allocator):
    alloc.set_cache_limit(3 << 20)
    arrays = [alloc.empty(1 << 18) for _ in range(10)]
    del arrays
    assert 0 < alloc.stats()["cached"] <= 3 << 20
    alloc.empty_cache()
    assert alloc.stats()["cached"] == 0


def test_a_program_that_asks_for_several_sizes_again_finds_them_on_their_shelves(fresh_allocator, monkeypatch):
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


def test_what_nobody_looks_at_is_bounded(fresh_allocator):
    alloc.set_cache_limit(16 << 20)
    kept = [alloc.empty(1 << 16) for _ in range(400)]
    del kept
    assert alloc._waiting() + alloc._state.heap.warm <= 18 << 20
    assert alloc.stats()["cached"] <= 16 << 20


def test_neighbours_that_are_free_serve_a_larger_array(fresh_allocator):
    arrays = sorted([alloc.empty(1 << 18) for _ in range(64)], key=lambda a: a.ctypes.data)
    apart = 3 * arrays[0].nbytes
    first = next(i for i in range(61) if arrays[i + 3].ctypes.data - arrays[i].ctypes.data == apart)
    before = alloc.stats()
    del arrays[first:first + 4]
    larger = alloc.empty(1 << 20)
    after = alloc.stats()
    assert after["mapped"] == before["mapped"] and after["reused"] == before["reused"] + 1
    assert larger.nbytes == after["in_use"] - before["in_use"] + (4 << 20)


def test_memory_given_back_to_the_system_is_zeros_and_good_again(fresh_allocator):
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
def test_a_heap_keeps_its_pieces_apart_and_joins_what_is_free(seed):
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


def test_memory_that_is_there_goes_before_memory_that_was_never_touched():
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


def test_too_much_is_a_memory_error():
    with pytest.raises(MemoryError):
        alloc.empty(1 << 60, np.uint8)
