"""The thread pool of native kernels: one fork-join pool per process (made of `passes/codegen/llvm/pool/fork_join.py`).

A kernel's *task* is native code `void task(ptr arg, i64 chunk, i64 worker)`; `run` calls it for each chunk, on all threads of
the pool. Compiled modules reach the pool as `void @ingot_pool_run(ptr task, ptr arg, i64 chunks)`. Nothing starts before the
first job with more than one chunk; importing this file compiles nothing. Results must not depend on which worker runs a chunk;
`worker` (below the number of threads) is only for scratch memory that belongs to the call.

Without a Linux futex, or if the pool's own code cannot be compiled, every job runs on the calling thread.
"""

import atexit
import ctypes
import os
import sys
import time
from functools import partial
from itertools import starmap
from typing import Any

from ....ir import blas_threads, config
from ....ir.blocks import block
from ....ir.errors import ArgumentError
from ....ir.locks import new_rlock
from ....ir.target import host, usable_cpus
from ....passes.codegen.llvm.pool import fork_join
from ..compiler import compile as compiler

_SPIN_TURNS = 6000          # pauses before a waiting thread sleeps: 100 to 200 microseconds, longer than eager code thinks
_STEP = ctypes.c_int64 * 3


class _Pool:
    """The compiled pool: its functions and the address of its state."""

    def __init__(self):
        symbols = compiler.compile_module(_pool_text(), fork_join.SYMBOLS)
        self.addresses = symbols
        pointer, number = ctypes.c_void_p, ctypes.c_int64
        self.run = ctypes.CFUNCTYPE(None, pointer, pointer, number)(symbols["ingot_pool_run"])
        self.steps = ctypes.CFUNCTYPE(number, pointer, number, pointer)(symbols["ingot_pool_steps"])
        self.stop = ctypes.CFUNCTYPE(None)(symbols["ingot_pool_stop"])
        self.try_acquire = ctypes.CFUNCTYPE(ctypes.c_int32)(symbols["ingot_pool_try_acquire"])
        self.state = symbols["ingot_pool_state"]
        self.configure(_State.threads)

    def field(self, offset, kind=ctypes.c_int32):
        return kind.from_address(self.state + offset)

    def configure(self, threads):
        """Set the number of threads; no worker runs."""
        fits = threads <= usable_cpus()
        self.field(fork_join.THREADS, ctypes.c_int64).value = threads
        self.field(fork_join.SPIN, ctypes.c_int64).value = _SPIN_TURNS if fits else 50
        self.field(fork_join.CURE).value = int(fits and threads > 1)

    def alone(self, seconds, work, *args) -> bool:
        """Call work(*args) with the pool taken, as a submitting thread takes it; return False if others hold it that long.
        Taking it is noted in the same instruction, and giving it back is no call: an interrupt leaves no pool taken."""
        deadline, busy = time.monotonic() + seconds, self.field(fork_join.BUSY)
        taken: list = []
        try:
            while not any(taken):
                taken += starmap(self.try_acquire, ((),))
                if not taken[-1]:
                    if time.monotonic() > deadline:
                        return False
                    taken.clear()
                    time.sleep(0.0002)
            work(*args)
            return True
        finally:
            if taken and taken[-1]:
                busy.value = 0

    def forget_workers(self):
        """Reset the pool in a forked child: neither the workers nor a thread that held the pool exist there."""
        threads = self.field(fork_join.THREADS, ctypes.c_int64).value
        ctypes.memset(self.state, 0, fork_join.STATE_BYTES)
        self.configure(threads)


class _State:
    lock = new_rlock()
    pool: Any = None
    threads = changes = 0


def get_num_threads() -> int:
    """Return the number of threads of a kernel, the calling one included."""
    if not _State.threads:
        _State.threads = _default_threads()
    return _State.threads


blas_threads.most = get_num_threads


def changes() -> int:
    """Return how often the number of threads was set: a plan is for one number if this is the same before and after."""
    return _State.changes


def set_num_threads(count: int) -> None:
    """Set the number of threads of kernels. Results do not depend on it. Running calls of other Python threads finish with at
    most as many threads as they were planned for."""
    if not isinstance(count, int) or not 1 <= count <= fork_join.MAX_THREADS:
        raise ArgumentError(f"set_num_threads expects an int from 1 to {fork_join.MAX_THREADS}, got {count!r}")
    count = count if _has_futex() else 1
    with _State.lock:
        pool = _State.pool
        changes = pool is not None and count != pool.field(fork_join.THREADS, ctypes.c_int64).value
        if changes and not pool.alone(60, _set_threads, pool, count):
            raise ArgumentError("set_num_threads: the thread pool is busy with another thread's kernel; try again later")
        _State.threads, _State.changes = count, _State.changes + 1


def _set_threads(pool, count):
    pool.stop()
    pool.configure(count)


@block
def with_threads(count: int) -> tuple:
    """Return a block with another number of threads."""
    return partial(set_num_threads, count), partial(set_num_threads, get_num_threads())


def run(task: int, arg: int, chunks: int):
    """Call the native function at address `task` as task(arg, chunk, worker) for each chunk; return when all are done."""
    (_State.pool or _ready()).run(task, arg, chunks)


class StepList:
    """An array of (task address, argument address, chunks) run in order by one native call, without the interpreter. `keep`
    holds the owners of the arguments' memory. With `status`, the address of an i64, the list stops after the first step that
    leaves it nonzero. A call returns the number of steps run."""

    __slots__ = ("_address", "_array", "_count", "_keep", "_run", "_status")

    def __init__(self, steps, keep=(), status: int | None = None):
        steps = [tuple(step) for step in steps]
        self._array = (_STEP * len(steps))(*(_STEP(*step) for step in steps))
        self._address, self._count = ctypes.addressof(self._array), len(steps)
        self._keep, self._status = keep, status
        self._run = (_State.pool or _ready()).steps

    def __len__(self):
        return self._count

    def __call__(self) -> int:
        return self._run(self._address, self._count, self._status)

    @property
    def address(self) -> int:
        """The address of the array of steps, for native code that runs it itself."""
        return self._address


def address_of(name: str) -> int:
    """Return the address of one of the pool's functions (ingot_pool_run, ingot_pool_steps)."""
    return (_State.pool or _ready()).addresses[name]


def is_running() -> bool:
    """Whether worker threads exist."""
    pool = _State.pool
    return pool is not None and bool(pool.field(fork_join.STARTED).value)


def shutdown():
    """End the worker threads; the next job with several chunks starts them again."""
    pool = _State.pool
    if pool is not None:
        pool.alone(1, pool.stop)


def _ready():
    with _State.lock:
        if _State.pool is None:
            get_num_threads()
            pool = _Pool()
            _State.pool = _State.pool or pool       # (a signal handler may have needed one meanwhile)
        return _State.pool


def compile_code():
    """Compile the pool's functions without starting it, for machines other than this one."""
    compiler.compile_module(_pool_text(), fork_join.SYMBOLS)


def _pool_text():
    return fork_join.pool_text(host()) if _has_futex() else fork_join.serial_text(host())


def _has_futex():
    return sys.platform == "linux" and host().arch in ("x86_64", "aarch64")


def _default_threads():
    if not _has_futex():
        return 1
    return max(1, min(config.current().num_threads or usable_cpus(), fork_join.MAX_THREADS))


def _after_fork():
    if _State.pool is not None:
        _State.pool.forget_workers()


for _name in ("ingot_pool_run", "ingot_pool_steps"):
    compiler.provide(_name, lambda name=_name: address_of(name))
atexit.register(shutdown)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
