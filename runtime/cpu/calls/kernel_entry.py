"""Compiled kernels as callables on NumPy arrays."""

import functools
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ....ir.kernel.kernel import Kernel
from ....ir.target import Target, host
from ....passes.codegen.llvm.ir.emit import Module
from ....passes.codegen.llvm.loops import strategies
from ....passes.codegen.llvm.pool import entry as native_entry
from ..compiler import compile
from ..compiler.ir_cache import Text, text_of
from . import call, pool  # noqa: F401 (pool gives kernels the thread pool's entry)


@dataclass(frozen=True)
class WrittenKernel:
    """A kernel module to be written: `how` is a strategy of the code generator (known by its name), `adapters` are (name,
    ranks, rules)."""

    target: Target
    kernel: Kernel
    strategy: str
    adapters: tuple = ()
    how: Any = field(default=None, repr=False, compare=False)

    def text(self) -> str:
        module = Module(self.target)
        strategies.write(module, self.kernel, self.how)
        for name, ranks, rules in self.adapters:
            native_entry.write_adapter(module, name, self.kernel, ranks, dict(rules))
        return module.text()


def kernel_text(kernel: Kernel, how=None, adapters: tuple = ()) -> str | Text:
    """Return the LLVM IR of a kernel, by a strategy, for this machine; the disk cache may have it."""
    return text_of(WrittenKernel(host(), kernel, "" if how is None else how.name, adapters, how))


def entries(kernel: Kernel, ranks_by_adapter: dict, rules: dict, how=None) -> dict:
    """Compile a kernel with its doors, by a strategy; return {name of door: callable on arrays}."""
    adapters = tuple([(name, ranks, tuple(rules[name].items())) for name, ranks in ranks_by_adapter.items()])
    addresses = compile.compile_module(kernel_text(kernel, how, adapters), list(ranks_by_adapter))
    out = {}
    for name, ranks in ranks_by_adapter.items():
        parameters = [call.array(b.dtype.np, rank, b.written) for b, rank in zip(kernel.buffers, ranks)]
        out[name] = call.entry(kernel.name, addresses[name], parameters)
    return out


@functools.lru_cache(None)
def planned_entry(name: str, inputs: tuple, outputs: tuple):
    """Return the entry of kernels whose symbols are already computed, for arrays of these (dtype, rank). It takes the arrays
    and a plan: an int64 array of the kernel's address and its symbols in order."""
    ranks = [rank for _, rank in inputs + outputs]
    symbol = "door_" + "_".join(map(str, ranks))
    address = compile.compile_module(native_entry.plan_adapter_text(symbol, ranks, host()), [symbol])[symbol]
    parameters = [call.array(d, rank) for d, rank in inputs] + [call.array(d, rank, True) for d, rank in outputs]
    return call.entry(name, address, [*parameters, call.array(np.int64, 1)])
