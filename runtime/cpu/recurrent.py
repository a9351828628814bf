"""Recurrent layers of arrays on generated kernels, over whole sequences: forward, and the gradients of everything.

float32 and float64. The weights are packed once per call; then each step is one task over panels of units, whose epilogue does
the gates. All steps are one native call. The gradients of weights are large products after the walk. Results do not depend on
the number of threads.
"""

import functools

import numpy as np

from ...ir.target import host
from ...passes.codegen.llvm import recurrent as codegen
from ...passes.codegen.llvm import recurrent_grad as codegen_grad
from ...passes.codegen.llvm.types import F32, F64, bytes_of
from . import alloc, gemm, jobs, pool
from .compile import compile_module
from .texts import text_of

ELEMENTS = {np.dtype(np.float32): F32, np.dtype(np.float64): F64}
LEAST_ROWS = 4                     # steps times sequences from which packing the weights pays
_TILE_ROWS = 6
_STEP_WORK = 1 << 16                # multiply-adds of a step from which it is shared between threads
_KEPT = 256
_NOTHING = np.zeros(1)


def supported(z, w) -> bool:
    """Whether the kernels take a layer of these inputs and weights, and are worth it."""
    return z.dtype in ELEMENTS and z.size > 0 and w.size > 0 and z.shape[0] * z.shape[1] >= LEAST_ROWS


def _plain(*arrays):
    return [np.ascontiguousarray(a) if a is not None else _NOTHING for a in arrays]


def _as_bytes(mask):
    return None if mask is None else np.ascontiguousarray(mask).view(np.int8)


def _start(plan_for, name, z, mask, w, reverse, gates):
    """The plan for a call."""
    steps, batch, hidden = z.shape[0], z.shape[1], z.shape[2] // gates
    return plan_for(name, (steps, batch, hidden), w.strides[0], mask is not None, reverse, z.dtype, pool.get_num_threads())


def _make_plan(kernel, names, sizes, depth, columns, turns, w_row, reverse, threads):
    """Pack the panels of weights, then a task for each turn; `depth` and `columns` are a panel's."""
    symbols = [f"{kernel.symbol}_pack", kernel.symbol]
    pack, step = compile_module(text_of(kernel), symbols).values()
    steps, batch, hidden = sizes
    panels = -(-hidden // kernel.units)
    work = batch * depth * columns * panels
    wanted = threads if work >= _STEP_WORK else 1
    blocks = max(1, min(-(-batch // _TILE_ROWS), -(-wanted // panels)))
    todo = jobs.Jobs()
    for task, items, times in ((pack, panels, 1), (step, panels * blocks, turns)):
        todo.add(task, names, times, items=items, chunks=min(wanted, items), row_blocks=blocks, steps=steps, batch=batch,
                 hidden=hidden, size=depth, w_row=w_row, reverse=reverse)
    return todo.plan(panels * depth * columns * bytes_of(kernel.element), work * steps)


# Forward.


@functools.lru_cache(_KEPT)
def forward_plan(name, sizes, w_row, masked, reverse, dtype, threads):
    """The jobs of a forward call on the arrays that `codegen.ARRAYS` names; `sizes` are steps, batch and hidden."""
    kernel = codegen.StepKernel(host(), ELEMENTS[dtype], codegen.CELLS[name], masked)
    return _make_plan(kernel, codegen.WORDS[len(codegen.ARRAYS) + 2:], sizes, sizes[2], kernel.columns, sizes[0], w_row,
                      reverse,
                      threads)


def forward(name, z, mask, h, c, w, bias, *, reverse):
    """(states, cells, gates) of the layer `name`; what it has not is empty."""
    cell, w = codegen.CELLS[name], jobs.as_rows(w)
    (steps, batch), hidden = z.shape[:2], z.shape[2] // cell.gates
    y = alloc.empty((steps, batch, hidden), z.dtype)
    cells = alloc.empty(y.shape if c is not None else (0,), z.dtype)
    gates = alloc.empty((steps, batch, cell.kept * hidden), z.dtype)
    if bias is None:
        bias = np.zeros(z.shape[2], z.dtype)
    plan = _start(forward_plan, name, z, mask, w, reverse, cell.gates)
    plan(*_plain(z, _as_bytes(mask), h, c), w, *_plain(bias), y, cells, gates)
    return y, cells, gates


# Gradients.


@functools.lru_cache(_KEPT)
def grad_plan(name, sizes, w_row, masked, reverse, dtype, threads):
    """The jobs of the walk back on the arrays that `codegen_grad.ARRAYS` names."""
    kernel = codegen_grad.StepGradKernel(host(), ELEMENTS[dtype], codegen_grad.CELLS[name], masked)
    return _make_plan(kernel, codegen_grad.WORDS[len(codegen_grad.ARRAYS) + 2:], sizes, kernel.cell.gates * sizes[2],
                      kernel.units, sizes[0] + 1, w_row, reverse, threads)


def gradients(name, upstream, results, mask, h, c, w, *, reverse):
    """(dz, da, dh, dc, dw): of the input, the recurrent product, the first states and the weights.

    `upstream` and `results` are (states, cells, gates), None where the layer has none.
    """
    cell, w, (y, cells, gates) = codegen_grad.CELLS[name], jobs.as_rows(w), results
    dz = alloc.empty((*y.shape[:2], len(w)), y.dtype)
    da = alloc.empty(dz.shape, y.dtype) if cell.apart else dz
    dh = alloc.zeros(h.shape, y.dtype)
    dc = alloc.zeros(h.shape if c is not None else (0,), y.dtype)
    plan = _start(grad_plan, name, dz, mask, w, reverse, cell.gates)
    plan(*_plain(*upstream, y, cells, gates, _as_bytes(mask), h, c), w, dz, da, dh, dc)
    before = np.concatenate((y[1:], h[None]) if reverse else (h[None], y[:-1]))
    rows = dz.shape[0] * dz.shape[1]
    dw = gemm.matmul(da.reshape(rows, -1).T, before.reshape(rows, -1))
    return dz, da, dh, dc, dw
