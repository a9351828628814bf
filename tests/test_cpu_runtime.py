"""The native CPU runtime: emitter, compile and disk cache, ELF loader, thread pool, fast entries, allocator."""

import ctypes
import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import warnings

import numpy as np
import pytest
from ingot.ir import config, target
from ingot.ir.errors import ArgumentError, DeviceError, FileError, GraphError
from ingot.passes.codegen.llvm import entry, fork_join
from ingot.passes.codegen.llvm.emit import Module
from ingot.passes.codegen.llvm.types import F32, I64, PTR, constant, float_text, vector
from ingot.runtime.cpu import alloc, cache, call, elf, pool
from ingot.runtime.cpu import compile as compiler

LINUX = sys.platform == "linux"
needs_linux = pytest.mark.skipif(not LINUX, reason="the native pool needs Linux futexes")
maps_elf = pytest.mark.skipif(target.host().arch != "x86_64" or sys.platform == "win32", reason="objects are mapped on x86-64")


@pytest.fixture
def cache_folder(tmp_path, monkeypatch):
    """An empty cache folder for this test, in all threads of this process."""
    monkeypatch.setattr(cache, "folder", lambda: tmp_path / "cache")
    return tmp_path / "cache"


@pytest.fixture
def threads():
    """Restore the number of threads afterwards."""
    before = pool.get_num_threads()
    yield pool.set_num_threads
    pool.set_num_threads(before)


def count_module(tag: int, on=None) -> str:
    """A module whose task adds one to its chunk's counter; `tag` makes its text unique."""
    module = Module(on or target.host())
    f = module.task("count")
    arg, chunk, _ = f.params
    spot = f.at(arg, chunk, I64)
    f.store(f.add(f.load(I64, spot), 1), spot)
    f.ret()
    g = module.function("tag", [], I64)
    g.ret(constant(I64, tag))
    return module.text()


def run_python(code: str, timeout=60, **environment) -> subprocess.CompletedProcess:
    """Run a program in a fresh interpreter."""
    return subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=timeout,
                          env={**os.environ, **environment}, check=False)


# --- targets ---
def test_host_is_known_and_supported():
    mine = target.host()
    assert mine.kind == "cpu" and mine.vector_bytes in (16, 32, 64)
    assert target.supports(mine) and not target.supports(target.Target(kind="cuda"))
    assert 1 <= target.usable_cpus() <= (os.cpu_count() or 1)


@pytest.mark.parametrize("level, width", [("x86-64", 16), ("x86-64-v3", 32), ("x86-64-v4", 64), ("aarch64", 16)])
def test_levels_are_plain_data(level, width):
    made = target.cpu(level)
    assert made == target.cpu(level) and made.vector_bytes == width and made.lanes(4) == width // 4


def test_unknown_level_is_an_error():
    with pytest.raises(ValueError, match="x86-64-v3"):
        target.cpu("x86-64-v9")


def test_flags_decide_the_level():
    full = target._V4_FLAGS
    for flags, level in ((full, "x86-64-v4"), (full - {"avx512vl"}, "x86-64-v3"), (frozenset(), "x86-64")):
        assert target._level_of("x86_64", flags) == level


def test_cgroup_quota_bounds_the_threads(tmp_path):
    (tmp_path / "cpu.max").write_text("150000 100000\n")
    assert target._read_quota_v2(str(tmp_path)) == 1.5
    (tmp_path / "cpu.max").write_text("max 100000\n")
    assert target._read_quota_v2(str(tmp_path)) is None


# --- emitter ---
@pytest.mark.parametrize("element, number, bits", [
    ("float", 0.1, "0x3FB99999A0000000"), ("double", 0.1, "0x3FB999999999999A"), ("half", 1.0, "0xH3C00"),
    ("bfloat", 1.0, "0xR3F80"), ("bfloat", 1.00390625, "0xR3F80"), ("bfloat", 1.01171875, "0xR3F82"),
    ("float", 1e300, "0x7FF0000000000000"), ("bfloat", float("nan"), "0xR7FC0")])
def test_float_constants_are_exact(element, number, bits):
    assert float_text(element, number) == bits


def test_index_arithmetic_folds():
    f = Module(target.host()).function("f", [(I64, "n")])
    n, = f.params
    assert f.add(2, 3) == 5 and f.mul(n, 1) is n and f.add(n, 0) is n and f.mul(n, 0) == 0 and f.ceil_div(7, 2) == 4
    assert "entry:\n}" in f.text()


def test_a_carrying_loop_must_state_its_next():
    f = Module(target.host()).function("f", [(I64, "n")])
    with pytest.raises(ValueError, match="next"), f.loop(0, f.params[0], 1, [constant(I64, 0)]):
        pass


@pytest.mark.parametrize("low, high, step", [(0, 0, 1), (0, 1, 1), (0, 10, 3), (5, 4, 1), (-3, 3, 2)])
@pytest.mark.parametrize("folded", [True, False])
def test_loops_run_as_range_does(low, high, step, folded):
    module = Module(target.host())
    f = module.function("total", [(I64, "low"), (I64, "high")], I64)
    ends = (low, high) if folded else f.params
    with f.loop(*ends, step, [constant(I64, 100)]) as loop:
        loop.next(f.add(loop.carried[0], loop.index))
    f.ret(f.index(loop.results[0]))
    address = compiler.compile_module(module.text(), ["total"])["total"]
    run = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)(address)
    assert run(low, high) == 100 + sum(range(low, high, step))


@pytest.mark.parametrize("count", [-3, 0, 1, 5, 16, 40])
def test_masks_touch_only_their_lanes(count):
    module = Module(target.host())
    f = module.function("copy", [(PTR, "source"), (PTR, "goal"), (I64, "count")])
    source, goal, number = f.params
    mask = f.mask(number, 16)
    f.store_masked(f.load_masked(vector(16, F32), source, mask), goal, mask)
    f.ret()
    address = compiler.compile_module(module.text(), ["copy"])["copy"]
    a, b = np.arange(1, 17, dtype=np.float32), np.zeros(16, np.float32)
    ctypes.CFUNCTYPE(None, PTR_TYPE, PTR_TYPE, ctypes.c_int64)(address)(a.ctypes.data, b.ctypes.data, count)
    assert np.array_equal(b, np.where(np.arange(16) < count, a, 0))


PTR_TYPE = ctypes.c_void_p


# --- compiling and the cache ---
def test_the_same_module_is_compiled_once(cache_folder):
    text, before = count_module(1), compiler.stats()
    found = []
    workers = [threading.Thread(target=lambda: found.append(compiler.compile_module(text, ["tag"])["tag"])) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(set(found)) == 1 and compiler.stats()["compiles"] - before["compiles"] == 1
    assert cache.info()["entries"] == 1


def test_bad_text_and_missing_symbols_are_errors(cache_folder):
    with pytest.raises(GraphError, match="not valid"):
        compiler.compile_module("define void @f() { nonsense }", ["f"])
    with pytest.raises(GraphError, match="no missing"):
        compiler.compile_module(count_module(2), ["missing"])


def test_code_for_another_processor_is_refused_but_can_be_emitted(cache_folder):
    arm = target.cpu("aarch64")
    data = compiler.emit_object(count_module(3, arm), arm)
    assert data[:4] == b"\x7fELF" and int.from_bytes(data[18:20], "little") == 183
    if target.host().arch != "aarch64":
        with pytest.raises(DeviceError, match="does not run"):
            compiler.compile_module(count_module(3, arm), ["tag"], arm)


def test_unknown_outside_symbols_are_named(cache_folder):
    text = "declare void @no_such_function()\ndefine void @f() {\n call void @no_such_function()\n ret void\n}\n"
    with pytest.raises((DeviceError, RuntimeError), match="no_such_function"):
        compiler.compile_module(text, ["f"])


def test_scalar_code_may_be_optimised(cache_folder):
    text = count_module(4)
    run = ctypes.CFUNCTYPE(ctypes.c_int64)(compiler.compile_module(text, ["tag"], passes="O3")["tag"])
    assert run() == 4
    assert compiler.module_key(text, target.host(), "O3") != compiler.module_key(text, target.host())


USES_CACHE = """
    import sys
    sys.path.insert(0, {tests!r})
    from ingot.runtime.cpu import compile as compiler, pool
    import ctypes, test_cpu_runtime as t
    found = compiler.compile_module(t.count_module({tag}), ["tag", "count"])
    assert ctypes.CFUNCTYPE(ctypes.c_int64)(found["tag"])() == {tag}
    counters = (ctypes.c_int64 * 100)()
    pool.run(found["count"], ctypes.addressof(counters), 100)
    assert list(counters) == [1] * 100
    print(compiler.stats()["compiles"], "llvmlite" in sys.modules)
"""


def use_cache(tag, folder, **environment):
    code = USES_CACHE.format(tests=os.path.dirname(__file__), tag=tag)
    return run_python(code, INGOT_CACHE_DIR=str(folder), **environment)


@maps_elf
@needs_linux
def test_a_second_process_compiles_nothing_and_imports_no_llvm(tmp_path):
    first, second = use_cache(5, tmp_path), use_cache(5, tmp_path)
    assert first.stdout.split() == ["2", "True"], first.stderr
    assert second.stdout.split() == ["0", "False"], second.stderr


@maps_elf
@needs_linux
@pytest.mark.parametrize("damage", ["truncate", "flip", "foreign", "empty"])
def test_damaged_entries_are_compiled_again(tmp_path, damage):
    use_cache(6, tmp_path)
    for path in tmp_path.glob("??/*.o"):
        data = path.read_bytes()
        path.write_bytes({"truncate": data[:len(data) // 2], "flip": data[:-9] + bytes([data[-9] ^ 1]) + data[-8:],
                          "foreign": b"something else entirely", "empty": b""}[damage])
    again, after = use_cache(6, tmp_path), use_cache(6, tmp_path)
    assert again.stdout.split() == ["2", "True"], again.stderr
    assert after.stdout.split() == ["0", "False"], after.stderr


@needs_linux
def test_eight_racing_processes_all_succeed(tmp_path):
    code = textwrap.dedent(USES_CACHE.format(tests=os.path.dirname(__file__), tag=7))
    running = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env={**os.environ, "INGOT_CACHE_DIR": str(tmp_path)}) for _ in range(8)]
    ends = [(process.communicate(timeout=100), process.returncode) for process in running]
    assert all(code == 0 for _, code in ends), [texts for texts, code in ends if code]
    assert not list(tmp_path.glob("??/.new-*"))
    assert use_cache(7, tmp_path).stdout.split()[0] == "0"


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="needs POSIX")
def test_an_unwritable_cache_warns_once(tmp_path, monkeypatch):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    monkeypatch.setattr(cache._State, "warned", False)
    with config.override(cache_dir=str(blocked / "cache")):
        with pytest.warns(RuntimeWarning, match="INGOT_CACHE_DIR"):
            assert not cache.store("ab12", b"data")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert not cache.store("ab13", b"data")
        assert ctypes.CFUNCTYPE(ctypes.c_int64)(compiler.compile_module(count_module(8), ["tag"])["tag"])() == 8


def test_a_full_disk_leaves_no_rubbish(cache_folder, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cache._State, "warned", True)
    monkeypatch.setattr(os, "replace", full)
    assert not cache.store("cd34", b"data")
    assert not [path for path in cache_folder.rglob("*") if path.is_file()]


def test_the_least_recently_used_entries_go(cache_folder):
    for number in range(10):
        cache.store(f"{number:02d}key", bytes(1000))
        os.utime(cache._path(f"{number:02d}key", "o"), (1000 + number, 1000 + number))
    assert cache.load("00key") == (bytes(1000), "")         # a hit makes it the most recent
    cache.trim(6000)
    left = sorted(path.name for path in cache_folder.glob("??/*"))
    assert "00key.o" in left and "01key.o" not in left and 2 <= len(left) <= 6
    assert cache.clear() == len(left) and cache.info()["entries"] == 0


def test_an_entry_tells_its_maker(cache_folder):
    assert cache.load("ef56") is None
    cache.store("ef56", b"payload", "llvmlite-1.2")
    assert cache.load("ef56") == (b"payload", "llvmlite-1.2")


@maps_elf
def test_the_loader_checks_every_bound(cache_folder):
    data = compiler.emit_object(count_module(9))
    assert elf.load(data, compiler._resolve)
    rng = np.random.default_rng(0)
    refused = 0
    for size in (0, 10, 63, 64, len(data) - 1):
        with pytest.raises(FileError):
            elf.load(data[:size], compiler._resolve)
    for trial in range(300):
        damaged = bytearray(data)
        for at in rng.integers(0, len(data), 3):
            damaged[at] = rng.integers(0, 256)
        try:
            elf.load(bytes(damaged), compiler._resolve)       # mapped, not run: only that it never reads out of bounds
        except (FileError, DeviceError):
            refused += 1
        except Exception as error:
            pytest.fail(f"trial {trial} of seed 0: {error!r}")
    assert refused > 20


def test_llvm_loads_where_objects_are_not_mapped(cache_folder, monkeypatch):
    monkeypatch.setattr(compiler, "_maps_elf", lambda on: False)
    module = Module(target.host())
    inner = module.task("inner")
    arg, chunk, _ = inner.params
    inner.store(chunk, inner.at(arg, chunk, I64))
    inner.ret()
    f = module.function("all", [(PTR, "arg")])
    f.call("ingot_pool_run", "void", f.load(PTR, module.function_table("task", ["inner"])), f.params[0], constant(I64, 20))
    f.ret()
    found = compiler.compile_module(module.text(), ["all", "inner"])
    numbers = np.zeros(20, np.int64)
    ctypes.CFUNCTYPE(None, PTR_TYPE)(found["all"])(numbers.ctypes.data)
    assert np.array_equal(numbers, np.arange(20))
    text = fork_join.pool_text(target.host())
    assert set(fork_join.SYMBOLS) <= set(compiler._load_with_llvm("pool-again", text, compiler.emit_object(text)))


@pytest.mark.parametrize("level", ["x86-64", "x86-64-v4", "aarch64"])
def test_pool_and_entries_are_emitted_for_every_target(level, cache_folder):
    on = target.cpu(level)
    for text, symbol in ((fork_join.pool_text(on), "ingot_pool_steps"), (fork_join.serial_text(on), "ingot_pool_run"),
                         (entry.entry_text(on), entry.SYMBOL)):
        data = compiler.emit_object(text, on)
        assert data[:4] == b"\x7fELF" and symbol.encode() in data and "$" not in text


def test_the_serial_pool_does_the_same(cache_folder, count):
    symbols = compiler.compile_module(fork_join.serial_text(target.host()), fork_join.SYMBOLS)
    run = ctypes.CFUNCTYPE(None, PTR_TYPE, PTR_TYPE, ctypes.c_int64)(symbols["ingot_pool_run"])
    counters = np.zeros(50, np.int64)
    run(count, counters.ctypes.data, 49)
    assert counters.tolist() == [1] * 49 + [0]


# --- the pool ---
@pytest.fixture(scope="module")
def count():
    return compiler.compile_module(count_module(100), ["count"])["count"]


def counted(task, chunks, repeat=1):
    counters = np.zeros(max(chunks, 1) + 1, np.int64)
    for _ in range(repeat):
        pool.run(task, counters.ctypes.data, chunks)
    assert counters[chunks] == 0
    return counters[:chunks]


@pytest.mark.parametrize("number", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("chunks", [0, 1, 2, 3, 7, 64, 5000])
def test_each_chunk_runs_once(count, threads, number, chunks):
    threads(number)
    assert (counted(count, chunks, 20) == 20).all()


@needs_linux
def test_workers_start_late_and_end(count, threads):
    threads(3)
    pool.shutdown()
    assert not pool.is_running()
    counted(count, 1)
    assert not pool.is_running()
    counted(count, 8)
    assert pool.is_running()
    pool.shutdown()
    assert not pool.is_running()
    assert (counted(count, 100) == 1).all()


@pytest.mark.parametrize("wrong", [0, -1, 2.0, 100_000, None])
def test_a_wrong_number_of_threads_is_an_error(wrong):
    with pytest.raises(ArgumentError, match="set_num_threads"):
        pool.set_num_threads(wrong)


def test_several_python_threads_submit_at_once(count, threads):
    threads(3)
    wrong = []

    def work(number):
        if not (counted(count, 150, 400) == 400).all():
            wrong.append(number)

    workers = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for worker in workers:
        worker.start()
    for number in (2, 4, 1, 3):
        pool.set_num_threads(number)
    for worker in workers:
        worker.join(60)
    assert not wrong and not any(worker.is_alive() for worker in workers)


def test_a_task_may_submit_a_job(threads):
    threads(3)
    module = Module(target.host())
    inner = module.task("inner")
    arg, chunk, _ = inner.params
    spot = inner.at(arg, chunk, I64)
    inner.store(inner.add(inner.load(I64, spot), 1), spot)
    inner.ret()
    outer = module.task("outer")
    arg, chunk, _ = outer.params
    task = outer.module.function_table("task", ["inner"])
    outer.call("ingot_pool_run", "void", outer.load(PTR, task), outer.at(arg, outer.mul(chunk, 10), I64), outer.index(10))
    outer.ret()
    task = compiler.compile_module(module.text(), ["outer"])["outer"]
    counters = np.zeros(400, np.int64)
    pool.run(task, counters.ctypes.data, 40)
    assert (counters == 1).all()


def test_a_step_list_runs_in_order_and_stops_on_status(count, threads):
    threads(2)
    module = Module(target.host())
    f = module.task("fail")
    f.store(constant(I64, 7), f.params[0])
    f.ret()
    fail = compiler.compile_module(module.text(), ["fail"])["fail"]
    counters, status = np.zeros(50, np.int64), np.zeros(1, np.int64)
    good = (count, counters.ctypes.data, 50)
    steps = pool.StepList([good, good], keep=[counters])
    assert steps() == 2 and len(steps) == 2 and (counters == 2).all()
    stopping = pool.StepList([good, (fail, status.ctypes.data, 1), good], status=status.ctypes.data)
    assert stopping() == 2 and (counters == 3).all() and status[0] == 7
    assert pool.StepList([])() == 0


@needs_linux
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_child_has_a_pool_of_its_own(count, threads):
    threads(3)
    counted(count, 10)
    child = os.fork()
    if child == 0:
        good = not pool.is_running() and (counted(count, 300, 5) == 5).all() and pool.is_running()
        os._exit(0 if good else 3)
    assert os.waitpid(child, 0)[1] == 0
    assert (counted(count, 300) == 1).all()


@needs_linux
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_fork_while_another_thread_holds_the_pool(count, threads):
    threads(2)
    stop = threading.Event()

    def keep_busy():
        while not stop.is_set():
            counted(count, 64, 50)

    worker = threading.Thread(target=keep_busy)
    worker.start()
    try:
        for _ in range(10):
            child = os.fork()
            if child == 0:
                signal.alarm(20)
                os._exit(0 if (counted(count, 64, 3) == 3).all() else 3)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        stop.set()
        worker.join()


EXITS = {
    "normal": ("", 0),
    "exception": ("raise SystemExit(5)", 5),
    "error": ("raise ValueError('on purpose')", 1),
    "hard": ("os._exit(4)", 4),
    "late": ("import atexit; atexit.register(lambda: pool.run(task, where, 64))", 0),
    "busy": ("def keep_busy():\n            while True: pool.run(task, where, 64)\n        "
             "threading.Thread(target=keep_busy, daemon=True).start(); time.sleep(.05)", 0),
}


@needs_linux
@pytest.mark.parametrize("how", EXITS)
def test_exits_are_clean(how):
    ending, expected = EXITS[how]
    code = f"""
        import ctypes, os, sys, threading, time
        sys.path.insert(0, {os.path.dirname(__file__)!r})
        import test_cpu_runtime as t
        from ingot.runtime.cpu import compile as compiler, pool
        task = compiler.compile_module(t.count_module(100), ["count"])["count"]
        counters = (ctypes.c_int64 * 64)(); where = ctypes.addressof(counters)
        pool.set_num_threads(3)
        pool.run(task, where, 64)
        assert pool.is_running()
        {ending}
    """
    done = run_python(code)
    assert done.returncode == expected, done.stderr


@needs_linux
def test_an_idle_pool_takes_no_time(count, threads):
    threads(3)
    counted(count, 100)
    time.sleep(0.02)
    before = time.process_time()
    time.sleep(0.2)
    assert time.process_time() - before < 0.05


@needs_linux
def test_importing_starts_nothing():
    done = run_python("""
        import sys, threading, os
        from ingot.runtime.cpu import alloc, call, compile, gemm, pool
        print(len(os.listdir("/proc/self/task")), "llvmlite" in sys.modules, compile.stats()["modules"])
    """, OPENBLAS_NUM_THREADS="1")
    assert done.stdout.split() == ["1", "False", "0"], done.stdout + done.stderr


# --- entries ---
def scale_kernel():
    """void kernel(block of {f32 array rank 1, f32 array rank 1, i64, double}): out = in * i + d."""
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


@pytest.mark.parametrize("seed", range(3))
def test_size_classes_waste_little(seed):
    sizes = np.exp2(np.random.default_rng(seed).uniform(17, 40, 500)).astype(np.int64)
    for size in map(int, sizes):
        given = alloc.size_class(size)
        assert size <= given <= size * 1.13 and given % 4096 == 0, f"seed {seed}: {size} -> {given}"


def test_threads_share_the_allocator(fresh_allocator):
    wrong = []

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
    assert alloc.stats()["in_use"] == 0


def test_too_much_is_a_memory_error():
    with pytest.raises(MemoryError):
        alloc.empty(1 << 60, np.uint8)
