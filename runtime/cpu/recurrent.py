"""Recurrent layers of arrays on generated kernels, over whole sequences: forward, and the gradients of everything.

float32 and float64. The weights are packed once per call; then each step is one task over panels of units, whose epilogue does
the gates. All steps are one native call. The gradients of weights are large products after the walk. Results do not depend on
the number of threads.
"""

import functools

import numpy as np

from ...ir import dtype as dt
from ...ir.target import host
from ...passes.codegen.llvm import recurrent as codegen
from ...passes.codegen.llvm import recurrent_grad as codegen_grad
from ...passes.codegen.llvm.types import F32, F64
from . import alloc, gemm, jobs, kernels, pool
from .compile import compile_module

_ELEMENTS = {np.dtype(np.float32): F32, np.dtype(np.float64): F64}
_LEAST_ROWS = 4                     # steps times sequences from which packing the weights pays
_TILE_ROWS = 6
_STEP_WORK = 1 << 16                # multiply-adds of a step from which it is shared between threads
_NOTHING = np.zeros(1, np.float64)


def supported(z, w) -> bool:
    """Whether the kernels take a layer of these inputs and weights, and are worth it."""
    return z.dtype in _ELEMENTS and z.size > 0 and w.size > 0 and z.shape[0] * z.shape[1] >= _LEAST_ROWS


def _plain(*arrays):
    return [np.ascontiguousarray(a) if a is not None else _NOTHING for a in arrays]


def _as_bytes(mask):
    return None if mask is None else np.ascontiguousarray(mask).view(np.int8)


@functools.lru_cache(512)
def _plan(name, make, names, size, columns, sizes, w_row, masked, reverse, dtype, threads):
    """A plan: pack panels of weights, then a task for each turn. `size` is the depth, `columns` those of a panel."""
    kernel = make(host(), _ELEMENTS[dtype], masked)
    symbols = [f"{kernel.symbol}_pack", kernel.symbol]
    tasks = compile_module(kernel.text(), symbols)
    turns, steps, batch, hidden = sizes
    panels = -(-hidden // kernel.units)
    work = batch * size * columns * panels
    chunks = min(threads, 8) if threads > 1 and work >= _STEP_WORK else 1
    rows = max(1, min(-(-batch // _TILE_ROWS), -(-chunks // panels)))
    words = {"row_blocks": rows, "steps": steps, "batch": batch, "hidden": hidden, "size": size, "w_row": w_row,
             "reverse": reverse}
    words = {key: value for key, value in words.items() if key in names}
    todo = jobs.Jobs()
    todo.add(tasks[symbols[0]], names, items=panels, chunks=min(chunks, panels), **words)
    todo.add(tasks[symbols[1]], names, turns, items=panels * rows, chunks=min(chunks, panels * rows), **words)
    return todo.plan(panels * size * columns * dtype.itemsize, work * steps)


def _forward_kernel(name, target, element, masked):
    return codegen.StepKernel(target, element, codegen.CELLS[name], masked)


def _grad_kernel(name, target, element, masked):
    return codegen_grad.StepGradKernel(target, element, codegen_grad.CELLS[name], masked)
