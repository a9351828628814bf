"""Calls of kernels on arrays: native entries and their portable twin."""

import gc
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
from ingot.runtime.cpu.memory import alloc


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
def test_entries_refuse_wrong_arguments(scale, args, message):
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


def test_entries_outlive_the_caller():
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

call._live_reads["last"] = Last()
"""


def test_freed_entries_leave_nothing():
    def make(numbers):
        return [call.entry(f"scaled{number}", scale_kernel(), SCALE) for number in numbers]

    before = len(call._live_reads)
    made = make([0] * 100)
    assert all(entry is made[0] for entry in made)
    for start in range(0, 20000, 1000):
        made = make(range(start, start + 1000))
    made[-1](GOOD, np.empty(8, np.float32), 1, 3.0)
    assert len(call._live_reads) - before < 4000


def test_descriptors_of_entries_live_until_the_process_ends():
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
