"""Kernels compiled for a CPU level and run on arrays, and arrays that try them: what tests of kernels share."""

import ctypes

import numpy as np

from ingot.ir import dtype as dt
from ingot.ir.target import cpu, host, supports
from ingot.passes.codegen.llvm.loops.strategies import kernel_text
from ingot.runtime.cpu.compiler import compile as compiler

LEVELS = [level for level in ("x86-64-v4", "x86-64-v3", "x86-64") if supports(cpu(level))]
DOTS = [level for level in ("x86-64-v3 with avxvnni",) if supports(cpu("x86-64-v3", ["avxvnni"]))]    # products of bytes


def cpu_of(name):
    """The target of a level, maybe with an extra."""
    level, _, extra = name.partition(" with ")
    return cpu(level, {extra} - {""})


def run(kernel, arrays, level=None, how=None, **symbols):
    """Compiles a kernel for a CPU level, as a strategy writes it, and runs it on arrays, in place."""
    target = cpu(level) if level else None
    text = kernel_text(kernel, target or host(), how)
    address = compiler.compile_module(text, [kernel.name], target)[kernel.name]
    slots = [a.ctypes.data for a in arrays] + [symbols[s] for s in kernel.symbols] + [0, 0]
    block = (ctypes.c_int64 * len(slots))(*slots)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(address)(ctypes.addressof(block))


def same(a, b):
    """Equal bits, any nan equal to any other."""
    return bool(((a == b) & (np.signbit(a) == np.signbit(b)) | ((a != a) & (b != b))).all())


def samples(dtype, n, seed):
    rng = np.random.default_rng(seed)
    if dtype is dt.bool_:
        return rng.random(n) < 0.5
    if dtype.is_integer:
        info = np.iinfo(dtype.np)
        ends = np.array([0, 1, info.min, info.max], dtype.np)
        return np.concatenate([rng.integers(info.min, info.max, n - 4, dtype.np), ends])
    with np.errstate(all="ignore"):
        special = np.array([0, -0.0, np.inf, -np.inf, np.nan, 1e-40, 1e30, -3.5]).astype(dtype.np)
        wide = (rng.standard_normal(n - 8) * np.exp2(rng.integers(-12, 12, n - 8))).astype(dtype.np)
    return np.concatenate([wide, special])
