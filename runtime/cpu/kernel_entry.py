"""From a kernel to callables on numpy arrays: compile, add doors, allocate results."""

import math

import numpy as np

from ...ir.kernel import Kernel
from ...ir.target import host
from ...passes.codegen.llvm import doors as native_doors
from ...passes.codegen.llvm import kernels as code
from ...passes.codegen.llvm.emit import Module
from . import alloc, call, compile, pool  # noqa: F401 (pool gives kernels the thread pool's entry)

LARGE = 65536  # bytes from which results come from the caching allocator


def empty(shape, np_dtype) -> np.ndarray:
    """Memory for a result."""
    if math.prod(shape) * np_dtype.itemsize >= LARGE:
        return alloc.empty(shape, np_dtype)
    return np.empty(shape, np_dtype)


def entries(kernel: Kernel, ranks_of_doors: dict, rules: dict, how=None) -> dict:
    """Compiles a kernel with its doors, by a strategy: {name of door: callable on arrays}."""
    module = Module(host())
    code.write(module, kernel, how)
    for name, ranks in ranks_of_doors.items():
        native_doors.write_door(module, name, kernel, ranks, rules[name])
    addresses = compile.compile_module(module.text(), list(ranks_of_doors))
    out = {}
    for name, ranks in ranks_of_doors.items():
        parameters = [call.array(b.dtype.np, rank, b.written) for b, rank in zip(kernel.buffers, ranks)]
        out[name] = call.entry(kernel.name, addresses[name], parameters)
    return out
