"""Targets, the IR emitter, compiling, the disk cache and the object loader."""

import ctypes
import dataclasses
import os
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

from ingot.ir import config, target
from ingot.ir.errors import DeviceError, FileError, GraphError
from ingot.passes.codegen.llvm.ir.emit import Module
from ingot.passes.codegen.llvm.ir.types import F32, I64, PTR, constant, float_text, vector
from ingot.passes.codegen.llvm.pool import entry, fork_join
from ingot.runtime.cpu.compiler import cache, elf
from ingot.runtime.cpu.compiler import compile as compiler
from ir_modules import POINTER, TESTS, count_module, needs_linux, run_python

maps_elf = pytest.mark.skipif(target.host().arch != "x86_64" or sys.platform == "win32", reason="objects are mapped on x86-64")


@pytest.fixture
def cache_folder(tmp_path, monkeypatch):
    """Set up an empty cache folder for this test, in all threads of this process."""
    monkeypatch.setattr(cache, "folder", lambda: tmp_path / "cache")
    return tmp_path / "cache"


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
    ctypes.CFUNCTYPE(None, POINTER, POINTER, ctypes.c_int64)(address)(a.ctypes.data, b.ctypes.data, count)
    assert np.array_equal(b, np.where(np.arange(16) < count, a, 0))


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


def test_modules_are_verified_if_requested(cache_folder, monkeypatch):
    early = "define i64 @f(i1 %c) {\n br i1 %c, label %a, label %b\na:\n %x = add i64 1, 2\n br label %b\nb:\n ret i64 %x\n}"
    monkeypatch.setattr(compiler._State, "checked", False)
    machine = compiler._machine(target.host(), 2)
    assert compiler._parsed(early, target.host(), machine)
    with config.override(debug=1), pytest.raises(GraphError, match="does not dominate"):
        compiler._parsed(early, target.host(), machine)


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
    from ingot.runtime.cpu.compiler import compile as compiler; from ingot.runtime.cpu.calls import pool
    import ctypes, ir_modules
    found = compiler.compile_module(ir_modules.count_module({tag}), ["tag", "count"])
    assert ctypes.CFUNCTYPE(ctypes.c_int64)(found["tag"])() == {tag}
    counters = (ctypes.c_int64 * 100)()
    pool.run(found["count"], ctypes.addressof(counters), 100)
    assert list(counters) == [1] * 100
    print(compiler.stats()["compiles"], "llvmlite" in sys.modules)
"""


def use_cache(tag, folder, **environment):
    code = USES_CACHE.format(tests=TESTS, tag=tag)
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
    code = textwrap.dedent(USES_CACHE.format(tests=TESTS, tag=7))
    running = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env={**os.environ, "INGOT_CACHE_DIR": str(tmp_path)}) for _ in range(8)]
    ends = [(process.communicate(timeout=100), process.returncode) for process in running]
    assert all(code == 0 for _, code in ends), [texts for texts, code in ends if code]
    assert not list(tmp_path.glob("??/.new-*"))
    assert use_cache(7, tmp_path).stdout.split()[0] == "0"


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


def test_llvm_loads_objects_that_are_not_mapped(cache_folder, monkeypatch):
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
    ctypes.CFUNCTYPE(None, POINTER)(found["all"])(numbers.ctypes.data)
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


PARTS = {"kind of processor": {"level": "x86-64-v3"}, "features": {"features": frozenset(("amx-tile",))},
         "architecture": {"arch": "aarch64", "level": "aarch64"}, "system": {"system": "win32"}}


@pytest.mark.parametrize("part", PARTS)
def test_code_for_another_target_has_another_key(part):
    """Short keys, of model files, leave out features: a model says which it needs."""
    mine = target.Target(level="x86-64-v4", vector_bytes=64, vector_registers=32, features=frozenset(("avx512bf16",)))
    other = dataclasses.replace(mine, **PARTS[part])
    assert compiler.module_key("text", mine) != compiler.module_key("text", other)
    assert (compiler.short_key("text", mine) == compiler.short_key("text", other)) is (part == "features")
