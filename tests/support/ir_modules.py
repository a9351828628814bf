"""Small modules of LLVM IR, and programs in fresh interpreters, for the tests of the CPU runtime."""

import ctypes
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from ingot.ir import target
from ingot.passes.codegen.llvm.ir.emit import Module
from ingot.passes.codegen.llvm.ir.types import I64, constant
from ingot.runtime.cpu.calls import pool

needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="the native pool needs Linux futexes")
POINTER = ctypes.c_void_p
TESTS = os.path.dirname(__file__)


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


def counted(task: int, chunks: int, repeat: int = 1):
    """How often each chunk ran."""
    counters = np.zeros(max(chunks, 1) + 1, np.int64)
    for _ in range(repeat):
        pool.run(task, counters.ctypes.data, chunks)
    assert counters[chunks] == 0
    return counters[:chunks]


def run_python(code: str, timeout=60, **environment) -> subprocess.CompletedProcess:
    """Run a program in a fresh interpreter."""
    return subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=timeout,
                          env={**os.environ, **environment}, check=False)
