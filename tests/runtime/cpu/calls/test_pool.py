"""The native thread pool: every chunk once, threads, forks, exits, idleness."""

import ctypes
import os
import signal
import threading
import time

import numpy as np
import pytest

from ingot.ir import target
from ingot.ir.errors import ArgumentError
from ingot.passes.codegen.llvm.ir.emit import Module
from ingot.passes.codegen.llvm.ir.types import I64, PTR, constant
from ingot.passes.codegen.llvm.pool import fork_join
from ingot.runtime.cpu.calls import pool
from ingot.runtime.cpu.compiler import cache
from ingot.runtime.cpu.compiler import compile as compiler
from ir_modules import POINTER, TESTS, count_module, counted, needs_linux, run_python


@pytest.fixture
def cache_folder(tmp_path, monkeypatch):
    """Set up an empty cache folder for this test, in all threads of this process."""
    monkeypatch.setattr(cache, "folder", lambda: tmp_path / "cache")
    return tmp_path / "cache"


@pytest.fixture(scope="module")
def count():
    """Return the address of a task that counts its chunks."""
    return compiler.compile_module(count_module(100), ["count"])["count"]


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


@pytest.fixture(scope="module")
def sign():
    """Return the address of a task that, after a while, writes its worker's number plus one to the chunk's place."""
    module = Module(target.host())
    f = module.task("sign")
    arg, chunk, worker = f.params
    with f.loop(0, 20_000) as loop:
        f.store(loop.index, f.at(arg, chunk, I64))
    f.store(f.add(worker, 1), f.at(arg, chunk, I64))
    f.ret()
    return compiler.compile_module(module.text(), ["sign"])["sign"]


@pytest.mark.parametrize("number, most", [(8, 2), (8, 1), (3, 3), (2, 5), (5, 0)])
def test_jobs_run_on_at_most_their_number_of_threads(sign, threads, number, most):
    """Scratch memory belongs to the job: another worker would write outside of it."""
    threads(number)
    for chunks in (1, 2, 64, 500):
        seen = np.zeros(chunks, np.int64)
        pool.run(sign, seen.ctypes.data, fork_join.at_most(chunks, most))
        assert seen.min() >= 1 and seen.max() <= (min(number, most) if most else number)


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
        sys.path.insert(0, {TESTS!r})
        import ir_modules
        from ingot.runtime.cpu.compiler import compile as compiler; from ingot.runtime.cpu.calls import pool
        task = compiler.compile_module(ir_modules.count_module(100), ["count"])["count"]
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
@pytest.mark.skipif(target.usable_cpus() < 2, reason="needs two processors")
def test_workers_avoid_the_submitters_processor(count, threads):
    threads(2)
    pool.shutdown()
    mine = os.sched_getaffinity(0)
    counted(count, 64)
    worker = pool._State.pool.field(fork_join._SLOTS + fork_join._SLOT + 16)
    deadline = time.monotonic() + 20
    while not worker.value and time.monotonic() < deadline:
        counted(count, 64)
    counted(count, 64)
    assert worker.value and len(os.sched_getaffinity(worker.value)) == len(mine) - 1
    assert os.sched_getaffinity(0) == mine, "the submitter's own affinity must stay as it is"


@needs_linux
def test_importing_starts_nothing():
    done = run_python("""
        import sys, threading, os
        from ingot.runtime.cpu.memory import alloc
        from ingot.runtime.cpu.calls import call, pool
        from ingot.runtime.cpu.compiler import compile
        from ingot.runtime.cpu.gemm import gemm
        print(len(os.listdir("/proc/self/task")), "llvmlite" in sys.modules, compile.stats()["modules"])
    """, OPENBLAS_NUM_THREADS="1")
    assert done.stdout.split() == ["1", "False", "0"], done.stdout + done.stderr


def test_the_serial_pool_does_the_same(cache_folder, count):
    symbols = compiler.compile_module(fork_join.serial_text(target.host()), fork_join.SYMBOLS)
    run = ctypes.CFUNCTYPE(None, POINTER, POINTER, ctypes.c_int64)(symbols["ingot_pool_run"])
    counters = np.zeros(50, np.int64)
    run(count, counters.ctypes.data, 49)
    assert counters.tolist() == [1] * 49 + [0]
