"""Recurrent layers of arrays on generated kernels, over whole sequences: forward, and the gradients of everything.

float32 and float64. The weights are packed once per call; then each step is one task over panels of units, whose epilogue does
the gates. All steps are one native call. The gradients of weights are large products after the walk. Results do not depend on
the number of threads.
"""

import functools

import numpy as np

from ....ir.symbols.symbolic import is_symbol
from ....ir.target import host
from ....passes.codegen.llvm.contract.int8_products import LINE, PAIR
from ....passes.codegen.llvm.ir.types import F32, F64, bytes_of
from ....passes.codegen.llvm.sequence import recurrent as codegen
from ....passes.codegen.llvm.sequence import recurrent_grad as codegen_grad
from ....passes.codegen.llvm.sequence.recurrent_pack import PackKernel
from ....passes.codegen.recurrent_cells import CELLS
from ..calls import jobs, pool
from ..compiler.compile import compile_module
from ..compiler.ir_cache import text_of
from ..gemm import gemm
from ..memory import alloc, cache_sizes

ELEMENTS = {np.dtype(np.float32): F32, np.dtype(np.float64): F64}
_FEW_STEPS = 3                      # up to so many steps, packing the weights costs more than it saves
_FEW_ROWS = 4                       # for so few sequences, whose steps take as long as the weights come from the caches:
_NEAR_STEPS, _FAR_STEPS = 12, 32    # steps by weights that the second-level cache holds; by larger ones
_TILE_ROWS = 6
_STEP_WORK = 1 << 16                # multiply-adds of a step from which it is shared between threads
_KEPT = 256
_NOTHING = np.zeros(1)


def supported(z, w) -> bool:
    """Whether the kernels take a layer of these inputs and weights."""
    return z.dtype in ELEMENTS and z.size > 0 and w.size > 0


def _plain(*arrays):
    return [np.ascontiguousarray(a) if a is not None else _NOTHING for a in arrays]


def _as_bytes(mask):
    return None if mask is None else np.ascontiguousarray(mask).view(np.int8)


def _make_plan(kernel, names, sizes, depth, columns, turns, w_row, reverse, threads, room=0):
    """Pack the panels of weights, unless that was done or they are read where they lie, then a task for each turn; `depth` and
    `columns` are a panel's, `room` the bytes of scratch that each item has for itself."""
    *pack, step = compile_module(text_of(kernel), [f"{kernel.symbol}_pack"] * kernel.packs + [kernel.symbol]).values()
    steps, batch, hidden = sizes
    panels = -(-hidden // kernel.units)
    work = batch * depth * columns * panels
    wanted = threads if work >= _STEP_WORK else 1
    blocks = max(1, min(-(-batch // _TILE_ROWS), -(-wanted // panels)))
    todo = jobs.Jobs(threads)
    for task, items, times in (*((task, panels, 1) for task in pack), (step, panels * blocks, turns)):
        todo.add(task, names, times, items=items, chunks=min(wanted, items), row_blocks=blocks, steps=steps, batch=batch,
                 hidden=hidden, size=depth, w_row=w_row, reverse=reverse)
    packed = panels * depth * columns * bytes_of(kernel.element) if kernel.packs else 0
    return todo.plan(packed + panels * blocks * room, work * steps)


# Forward.


def _reads_in_place(sizes, weight_bytes):
    """Whether a forward call of so many steps and sequences reads the weights as they are."""
    if sizes[1] > _FEW_ROWS:
        return sizes[0] <= _FEW_STEPS
    return sizes[0] <= (_NEAR_STEPS if weight_bytes <= cache_sizes.second_level() else _FAR_STEPS)


@functools.lru_cache(_KEPT)
def forward_plan(name, sizes, w_row, masked, keeps, reverse, dtype, threads, width=None, packed=False,
                 in_bytes=False):
    """The jobs of a forward call on the arrays that `codegen.ARRAYS` names; `sizes` are steps, batch and hidden. `width` is the
    first state's, where it is another than that of the results, which takes a single step without a mask; `packed`: the weights
    come as a plan of `pack_plan` leaves them; `in_bytes`: they are of int8."""
    cell, depth = CELLS[name], width or sizes[2]
    direct = not packed and not in_bytes and _reads_in_place(sizes, cell.gates * sizes[2] * depth * dtype.itemsize)
    kernel = codegen.StepKernel(host(), ELEMENTS[dtype], cell, masked, keeps, direct, packed, in_bytes)
    room = kernel.rows * (-(-depth // LINE) * LINE + PAIR) if in_bytes else 0
    return _make_plan(kernel, codegen.WORDS[len(codegen.ARRAYS) + 2:], sizes, depth, kernel.columns, sizes[0], w_row, reverse,
                      threads, room)


def forward(name, z, mask, h, c, w, bias, *, reverse, keeps=True, scale=None):
    """(states, cells, gates) of the layer `name`; in the place of what it has not is anything. With `keeps` false there are no
    gates, and only the last cells (B, H). Flat weights are packed; with a scale for each row they are of int8."""
    cell, w = CELLS[name], jobs.as_rows(w) if scale is None else alloc.dense(w)
    (steps, batch), hidden = z.shape[:2], z.shape[2] // cell.gates
    y = alloc.empty((steps, batch, hidden), z.dtype)
    cells = alloc.empty(y.shape if keeps else y.shape[1:], z.dtype) if c is not None else _NOTHING
    gates = alloc.empty((steps, batch, cell.kept * hidden), z.dtype) if keeps and cell.kept else _NOTHING
    if bias is None and name == "gru":
        bias = np.zeros(z.shape[2], z.dtype)
    plan = forward_plan(name, (steps, batch, hidden), w.strides[0], mask is not None, keeps, reverse, z.dtype,
                        pool.get_num_threads(), h.shape[1], w.ndim == 1, scale is not None)
    plan(*_plain(z, _as_bytes(mask), h, c), w, *_plain(bias), y, cells, gates, *_plain(scale))
    return y, cells, gates


# Weights that are packed before.


def fits(kernel, item) -> bool:
    """Whether this machine's kernels read weights packed for `kernel`, as `ir/ops/packed/recurrent_packed.py` has it."""
    return host().lanes(item) == kernel[1]


def packing(name, z, w):
    """(lanes, elements of the packed weights) of a layer without gradients, from the types of its input and its weights; None
    where it reads them as they are, or no kernel takes it."""
    dtype, hidden = w.dtype.np, w.shape[1]
    if dtype not in ELEMENTS or z.dtype is not w.dtype or any(map(is_symbol, w.shape)) or not w.size:
        return None
    if _reads_in_place(z.shape, w.size * dtype.itemsize):
        return None
    kernel = PackKernel(host(), ELEMENTS[dtype], CELLS[name], False)
    return kernel.lanes, -(-hidden // kernel.units) * kernel.columns * hidden


@functools.lru_cache(_KEPT)
def pack_plan(name, hidden, w_row, dtype, threads):
    """The job that packs weights, from w to y of `codegen.ARRAYS`."""
    kernel = PackKernel(host(), ELEMENTS[dtype], CELLS[name], False)
    task, = compile_module(text_of(kernel), [kernel.symbol]).values()
    panels, work = -(-hidden // kernel.units), hidden * hidden * kernel.cell.gates
    todo = jobs.Jobs(threads)
    todo.add(task, codegen.WORDS[len(codegen.ARRAYS) + 2:], items=panels, chunks=jobs.chunks_for(work, panels, threads),
             hidden=hidden, size=hidden, w_row=w_row)
    return todo.plan(0, work)


def pack(name, w, size):
    """The weights, packed."""
    w, packed = jobs.as_rows(w), alloc.empty((size,), w.dtype)
    arrays = dict.fromkeys(codegen.ARRAYS, _NOTHING) | {"w": w, "y": packed}
    pack_plan(name, w.shape[1], w.strides[0], w.dtype, pool.get_num_threads())(*arrays.values())
    return packed


# Gradients.


@functools.lru_cache(_KEPT)
def grad_plan(name, sizes, w_row, masked, given, reverse, dtype, threads, slopes=False):
    """The jobs of the walk back on the arrays that `codegen_grad.ARRAYS` names; `given` are the names of the gradients there.
    With `slopes` it ends before the last product, which gives the gradient of the first state."""
    kernel = codegen_grad.StepGradKernel(host(), ELEMENTS[dtype], CELLS[name], masked, given,
                                         sizes[0] <= _FEW_STEPS)
    return _make_plan(kernel, codegen_grad.WORDS[len(codegen_grad.ARRAYS) + 2:], sizes, kernel.cell.gates * sizes[2],
                      kernel.units, sizes[0] + (not slopes), w_row, reverse, threads)


def given_of(upstream) -> tuple:
    """The names of the gradients of (states, cells, gates) that are there."""
    return tuple([name for name, g in zip(codegen_grad.UPSTREAM, upstream) if g is not None])


def run_walk(plan, upstream, results, mask, h, c, w, made):
    """Calls a plan of `grad_plan`; `made` are dz, da, dh and dc."""
    plan(*_plain(*upstream, *results, _as_bytes(mask), h, c), w, *made)


def states_before(states, first, reverse):
    """The state that each step started from."""
    return np.concatenate((states[1:], first[None]) if reverse else (first[None], states[:-1]))


def gradients(name, upstream, results, mask, h, c, w, *, reverse):
    """(dz, da, dh, dc, dw): of the input, the recurrent product, the first states and the weights.

    `upstream` and `results` are (states, cells, gates), None where the layer has none or no gradient came.
    """
    cell, w, y = CELLS[name], jobs.as_rows(w), results[0]
    dz = alloc.empty((*y.shape[:2], len(w)), y.dtype)
    da = alloc.empty(dz.shape, y.dtype) if cell.apart else dz
    dh = alloc.zeros(h.shape, y.dtype)
    dc = alloc.zeros(h.shape if c is not None else (0,), y.dtype)
    plan = grad_plan(name, y.shape, w.strides[0], mask is not None, given_of(upstream), reverse, y.dtype,
                     pool.get_num_threads())
    run_walk(plan, upstream, results, mask, h, c, w, (dz, da, dh, dc))
    before = states_before(y, h, reverse)
    rows = dz.shape[0] * dz.shape[1]
    dw = gemm.matmul(da.reshape(rows, -1).T, before.reshape(rows, -1))
    return dz, da, dh, dc, dw
