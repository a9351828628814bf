"""Recurrent layers over whole sequences: forward, and the gradients of everything.

float32 and float64. The weights are packed once per call; then each step is one task over panels of units, whose epilogue
computes the gates. All steps are one native call. The gradients of weights are large products after the backward steps. Results
do not depend on the number of threads.
"""

import functools
import math
from dataclasses import replace

import numpy as np

from ....ir import dtype as dt
from ....ir.ops.nn import recurrent as ops
from ....ir.ops.packed import recurrent_packed as packed_ops
from ....ir.ops.quantized import int8_linear
from ....ir.symbols.symbolic import is_symbol
from ....ir.target import host
from ....passes.codegen import reduction_kernels
from ....passes.codegen.llvm.contract.int8_products import LINE, PAIR
from ....passes.codegen.llvm.ir.types import FLOATS_BY_NP, bytes_of
from ....passes.codegen.llvm.sequence import recurrent as codegen
from ....passes.codegen.llvm.sequence import recurrent_grad as codegen_grad
from ....passes.codegen.llvm.sequence.recurrent import PackKernel
from ....passes.codegen.recurrent_cells import CELLS
from ..calls import pool
from ..calls.kernel_steps import fill, move, step
from ..calls.operator_kernel import OperatorKernel
from ..calls.plan import Jobs, one_job
from ..calls.step_list import At, NativeCall, Scratch
from ..compiler.compile import compile_module, task_of
from ..compiler.ir_cache import text_of
from ..gemm import gemm
from ..gemm.gemm import product_of
from ..gemm.gemm_plan import Layout, make_plan
from ..loops import copies, kernels
from ..loops.kernels import widened
from ..loops.row_calls import reduction_plan, suited_to
from ..memory import alloc, cache_sizes

_FEW_STEPS = 3                      # steps up to which packing the weights does not pay
_FEW_ROWS = 4                       # for so few sequences, whose steps wait for weights from the caches:
_NEAR_STEPS, _FAR_STEPS = 12, 32    # the same with weights in the second-level cache, and with larger ones
_TILE_ROWS = 6
_STEP_WORK = 1 << 16                # multiply-adds of a step from which it is shared between threads
_KEPT = 256
_NOTHING = np.zeros(1)


def supported(z, w) -> bool:
    """Whether the kernels take a layer of these inputs and weights."""
    return z.dtype in FLOATS_BY_NP and z.size > 0 and w.size > 0


def _plain(*arrays):
    return [np.ascontiguousarray(a) if a is not None else _NOTHING for a in arrays]


def _as_bytes(mask):
    return None if mask is None else np.ascontiguousarray(mask).view(np.int8)


def _make_plan(kernel, names, sizes, depth, columns, turns, w_row, reverse, threads, room=0):
    """Return the plan: pack the panels of weights, unless they are packed or read in place, then a task for each turn. `depth`
    and `columns` are a panel's, `room` the bytes of scratch of each item."""
    *pack, step = compile_module(text_of(kernel), [f"{kernel.symbol}_pack"] * kernel.packs + [kernel.symbol]).values()
    steps, batch, hidden = sizes
    panels = -(-hidden // kernel.units)
    work = batch * depth * columns * panels
    wanted = threads if work >= _STEP_WORK else 1
    blocks = max(1, min(-(-batch // _TILE_ROWS), -(-wanted // panels)))
    todo = Jobs(threads)
    for task, items, times in (*((task, panels, 1) for task in pack), (step, panels * blocks, turns)):
        todo.add(task, names, times, items=items, chunks=min(wanted, items), row_blocks=blocks, steps=steps, batch=batch,
                 hidden=hidden, size=depth, w_row=w_row, reverse=reverse)
    packed = panels * depth * columns * bytes_of(kernel.element) if kernel.packs else 0
    return todo.plan(packed + panels * blocks * room, work * steps)


def _reads_in_place(sizes, weight_bytes):
    """Whether a forward call of so many steps and sequences reads the weights in place."""
    if sizes[1] > _FEW_ROWS:
        return sizes[0] <= _FEW_STEPS
    return sizes[0] <= (_NEAR_STEPS if weight_bytes <= cache_sizes.second_level() else _FAR_STEPS)


@functools.lru_cache(_KEPT)
def forward_plan(name, sizes, w_row, masked, keeps, reverse, dtype, threads, width=None, packed=False,
                 in_bytes=False):
    """Return the jobs of a forward call on the arrays of `codegen.ARRAYS`.

    sizes     steps, batch and hidden
    width     the first state's, if it differs from that of the results: for a single step without a mask
    packed    the weights are in the order of `pack_plan`
    in_bytes  the weights are int8
    """
    cell, depth = CELLS[name], width or sizes[2]
    direct = not packed and not in_bytes and _reads_in_place(sizes, cell.gates * sizes[2] * depth * dtype.itemsize)
    kernel = codegen.StepKernel(host(), FLOATS_BY_NP[dtype], cell, masked, keeps, direct, packed, in_bytes)
    room = kernel.rows * (-(-depth // LINE) * LINE + PAIR) if in_bytes else 0
    return _make_plan(kernel, codegen.WORDS[len(codegen.ARRAYS) + 2:], sizes, depth, kernel.columns, sizes[0], w_row, reverse,
                      threads, room)


def forward(name, z, mask, h, c, w, bias, *, reverse, keeps=True, scale=None):
    """Return (states, cells, gates) of the layer `name`; a result that it does not have is arbitrary. With `keeps` false there
    are no gates, and only the last cells (B, H). Flat weights are packed; with a scale for each row they are int8."""
    cell, w = CELLS[name], copies.as_rows(w) if scale is None else alloc.dense(w)
    (steps, batch), hidden = z.shape[:2], z.shape[2] // cell.gates
    y = alloc.empty((steps, batch, hidden), z.dtype)
    cells = alloc.empty(y.shape if keeps else y.shape[1:], z.dtype) if c is not None else _NOTHING
    gates = alloc.empty((steps, batch, cell.saved * hidden), z.dtype) if keeps and cell.saved else _NOTHING
    if bias is None and name == "gru":
        bias = np.zeros(z.shape[2], z.dtype)
    plan = forward_plan(name, (steps, batch, hidden), w.strides[0], mask is not None, keeps, reverse, z.dtype,
                        pool.get_num_threads(), h.shape[1], w.ndim == 1, scale is not None)
    plan(*_plain(z, _as_bytes(mask), h, c), w, *_plain(bias), y, cells, gates, *_plain(scale))
    return y, cells, gates


def fits(kernel, item) -> bool:
    """Whether this machine's kernels read weights packed for `kernel` (`ir/ops/packed/recurrent_packed.py`)."""
    return host().lanes(item) == kernel[1]


def packing(name, z, w):
    """Return (lanes, elements of the packed weights) of a layer without gradients, from the types of its input and its weights.
    None if it reads them in place, or no kernel takes it."""
    dtype, hidden = w.dtype.np, w.shape[1]
    if dtype not in FLOATS_BY_NP or z.dtype is not w.dtype or any(map(is_symbol, w.shape)) or not w.size:
        return None
    if _reads_in_place(z.shape, w.size * dtype.itemsize):
        return None
    kernel = PackKernel(host(), FLOATS_BY_NP[dtype], CELLS[name], False)
    return kernel.lanes, -(-hidden // kernel.units) * kernel.columns * hidden


@functools.lru_cache(_KEPT)
def pack_plan(name, hidden, w_row, dtype, threads):
    """Return the job that packs weights, from w to y of `codegen.ARRAYS`."""
    kernel = PackKernel(host(), FLOATS_BY_NP[dtype], CELLS[name], False)
    panels, work = -(-hidden // kernel.units), hidden * hidden * kernel.cell.gates
    return one_job(codegen, task_of(kernel), work, panels, threads, hidden=hidden, size=hidden, w_row=w_row)


def pack(name, w, size):
    """Return packed weights."""
    w, packed = copies.as_rows(w), alloc.empty((size,), w.dtype)
    arrays = dict.fromkeys(codegen.ARRAYS, _NOTHING) | {"w": w, "y": packed}
    pack_plan(name, w.shape[1], w.strides[0], w.dtype, pool.get_num_threads())(*arrays.values())
    return packed


@functools.lru_cache(_KEPT)
def grad_plan(name, sizes, w_row, masked, upstream, reverse, dtype, threads, slopes=False):
    """Return the jobs of the backward steps on the arrays of `codegen_grad.ARRAYS`; `upstream` are the names of the
    present gradients. With `slopes` it ends before the last product, which gives the gradient of the first state."""
    kernel = codegen_grad.StepGradKernel(host(), FLOATS_BY_NP[dtype], CELLS[name], masked, upstream, sizes[0] <= _FEW_STEPS)
    return _make_plan(kernel, codegen_grad.WORDS[len(codegen_grad.ARRAYS) + 2:], sizes, kernel.cell.gates * sizes[2],
                      kernel.units, sizes[0] + (not slopes), w_row, reverse, threads)


def upstream_names(upstream) -> tuple:
    """Return the names of the present gradients of (states, cells, gates)."""
    return tuple([name for name, g in zip(codegen_grad.UPSTREAM, upstream) if g is not None])


def run_backward(plan, upstream, results, mask, h, c, w, gradients):
    """Call a plan of `grad_plan`; `gradients` are dz, da, dh and dc."""
    plan(*_plain(*upstream, *results, _as_bytes(mask), h, c), w, *gradients)


def states_before(states, first, reverse):
    """Return the state that each step started from."""
    return np.concatenate((states[1:], first[None]) if reverse else (first[None], states[:-1]))


def gradients(name, upstream, results, mask, h, c, w, *, reverse):
    """Return (dz, da, dh, dc, dw): of the input, the recurrent product, the first states and the weights. `upstream` and
    `results` are (states, cells, gates), None where the layer has none or no gradient came."""
    cell, w, y = CELLS[name], copies.as_rows(w), results[0]
    dz = alloc.empty((*y.shape[:2], len(w)), y.dtype)
    da = alloc.empty(dz.shape, y.dtype) if cell.apart else dz
    dh = alloc.zeros(h.shape, y.dtype)
    dc = alloc.zeros(h.shape if c is not None else (0,), y.dtype)
    plan = grad_plan(name, y.shape, w.strides[0], mask is not None, upstream_names(upstream), reverse, y.dtype,
                     pool.get_num_threads())
    run_backward(plan, upstream, results, mask, h, c, w, (dz, da, dh, dc))
    before = states_before(y, h, reverse)
    rows = dz.shape[0] * dz.shape[1]
    dw = gemm.matmul(da.reshape(rows, -1).T, before.reshape(rows, -1))
    return dz, da, dh, dc, dw


# LSTM layers with a projection: each step is a native call for the gates, and products around it.


def projected_forward(z, mask, h, c, w, projection, *, reverse):
    """Return (states, cells, gates) of an LSTM with a projection."""
    steps = len(z)
    y, cells = (alloc.empty((steps, *state.shape), z.dtype) for state in (h, c))
    gates, transposed = alloc.empty(z.shape, z.dtype), projection.T
    for t in ops.order(steps, reverse):
        hidden, cell, gates[t:t + 1] = forward("lstm", z[t:t + 1], None, h, c, w, None, reverse=False)
        gemm.matmul(hidden[0], transposed, y[t])
        if mask is not None:
            live = mask[t][:, None]
            y[t], cell = np.where(live, y[t], h), np.where(live, cell, c)
        cells[t] = cell.reshape(c.shape)
        h, c = y[t], cells[t]
    return y, cells, gates


def projected_gradients(upstream, results, mask, h, c, w, projection, *, reverse):
    """Return (dz, dh, dc, dw, the projection's); `upstream` are those of (states, cells, gates), None where none came."""
    walk = _ProjectedBackward(upstream, results, mask, c, w, projection, reverse)
    dh, dc = np.zeros(h.shape, h.dtype), np.zeros(c.shape, c.dtype)
    for t in ops.order(len(walk.dz), not reverse):
        dh, dc = walk.step(t, dh, dc)
    y, cells, gates = results
    outer = gates[:, :, 3 * c.shape[1]:]
    hidden = outer * np.tanh(cells)
    return walk.dz, dh, dc, _weights_gradient(walk.dz, states_before(y, h, reverse)), _weights_gradient(walk.dh, hidden)


def _weights_gradient(gradient, operand):
    """Return the gradient of weights from those of their products, over all steps."""
    return gemm.matmul(gradient.reshape(-1, gradient.shape[2]).T, operand.reshape(-1, operand.shape[2]))


class _ProjectedBackward:
    """The backward steps, and their results for all steps: dz, and the gradient of the projected states."""

    def __init__(self, upstream, results, mask, c, w, projection, reverse):
        (self.gy, self.gc, self.gg), (y, self.cells, self.gates) = upstream, results
        self.mask, self.w, self.projection = mask, copies.as_rows(w), copies.as_rows(projection)
        self.before = states_before(self.cells, c, reverse)
        self.dz, self.dh = alloc.empty(self.gates.shape, w.dtype), alloc.empty(y.shape, w.dtype)

    def step(self, t, dh, dc):
        """Return the gradients of the states before a step, from those of the states after it."""
        dh, dc = (a if g is None else g[t] + a for g, a in ((self.gy, dh), (self.gc, dc)))
        if self.mask is None:
            return self._inside(t, dh, dc)
        live, none = self.mask[t][:, None], dh.dtype.type(0)
        inside = self._inside(t, *[np.where(live, a, none) for a in (dh, dc)])
        return [new + np.where(live, none, past) for new, past in zip(inside, (dh, dc))]

    def _inside(self, t, dh, dc):
        self.dh[t] = dh
        one, dc = slice(t, t + 1), np.array(dc, order="C")
        outside = gemm.matmul(np.ascontiguousarray(dh), self.projection)[None], None, None if self.gg is None else self.gg[one]
        plan = grad_plan("lstm", self.cells[one].shape, self.w.strides[0], False, upstream_names(outside), False,
                         self.w.dtype, pool.get_num_threads(), True)
        run_backward(plan, outside, (None, self.cells[one], self.gates[one]), None, None, self.before[t], self.w,
                     (self.dz[one], self.dz[one], np.zeros(dc.shape, dc.dtype), dc))
        return gemm.matmul(self.dz[t], self.w), dc


def pack_recurrent(w, *, kernel, size):
    """Pack weights in the order that this machine's kernel reads."""
    if not fits(kernel, w.itemsize):
        return packed_ops.pack_recurrent.ref(w, kernel=kernel, size=size)
    return pack(kernel[0], w, size)


def recurrent_packed(z, mask, h, c, w, bias, *, kernel, reverse):
    """Run any layer with packed weights."""
    if not fits(kernel, z.itemsize):
        return packed_ops.recurrent_packed.ref(z, mask, h, c, w, bias, kernel=kernel, reverse=reverse)
    y, cells, _ = forward(kernel[0], z, mask, h, c, w, bias, reverse=reverse, keeps=False)
    return (y,) if c is None else (y, cells)


def recurrent_int8(z, mask, h, c, weight, scale, bias, *, layer, reverse):
    """Run any layer with weights of int8."""
    if not supported(z, weight):
        return int8_linear.recurrent_int8.ref(z, mask, h, c, weight, scale, bias, layer=layer, reverse=reverse)
    y, cells, _ = forward(layer, z, mask, h, c, weight, bias, reverse=reverse, keeps=False, scale=scale)
    return (y,) if c is None else (y, cells)


def _rounded(size: int) -> int:
    return -(-size // LINE) * LINE


def _operand_numbers(names, operands):
    """Return {name: number of the operand} of the present operands."""
    return {name: n for n, (name, x) in enumerate(zip(names, operands)) if x is not None}


def _like_z(cell, states):
    """Return the array of a layer that may share memory with z, element by element; `states` is the name of the states. A GRU
    has none."""
    return "gates" if cell.saved == cell.gates else states if cell.gates == 1 else None


def _over(at, result, operand):
    """Return `over` of a native call: a result that may be written over an operand, if both are present."""
    return ((at[result], at[operand]),) if result in at and operand in at else ()


def _has_step(z, w) -> bool:
    return z.dtype in FLOATS_BY_NP and w.dtype == z.dtype and 0 not in z.shape and 0 not in w.shape


def _forward_step(name, node, operands, results, names, result_names, keeps=True):
    """Plan a layer by the names of its operands and results; flat weights are packed. `keeps`: the results have what gradients
    need."""
    at = _operand_numbers((*names, *result_names), (*operands, *results))
    z, w = operands[at["z"]], operands[at["w"]]
    in_bytes = w.dtype == dt.int8.np
    if not in_bytes and not _has_step(z, w):
        return None
    cell = CELLS[name]
    sizes = z.shape[0], z.shape[1], z.shape[2] // cell.gates
    plan = forward_plan(name, sizes, w.strides[0], "mask" in at, keeps, node.params["reverse"], z.dtype,
                        pool.get_num_threads(), packed=len(w.shape) == 1, in_bytes=in_bytes)
    found = replace(plan.native([at.get(array) for array in codegen.ARRAYS]), over=_over(at, _like_z(cell, "y"), "z"))
    if name != "gru" or "bias" in at:
        return found
    start, place = _rounded(plan.size), codegen.ARRAYS.index("bias")
    zeros = fill(Scratch(start), z.shape[2], 0, dt.BY_NP[z.dtype])
    steps = [s._replace(words=(*s.words[:place], Scratch(start), *s.words[place + 1:])) for s in found.steps]
    return NativeCall((zeros, *steps), start + z.shape[2] * z.dtype.itemsize)


def _packed_step(node, operands, results):
    name, z = node.params["kernel"][0], operands[0]
    if not fits(node.params["kernel"], z.dtype.itemsize):
        return None
    return _forward_step(name, node, operands, results, ("z", "mask", "h", "c", "w", "bias"), ("y", "cells"), keeps=False)


def _int8_step(node, operands, results):
    names = ("z", "mask", "h", "c", "w", "scale", "bias")
    return _forward_step(node.params["layer"], node, operands, results, names, ("y", "cells"), keeps=False)


def _pack_step(node, operands, results):
    name, w = node.params["kernel"][0], operands[0]
    if not fits(node.params["kernel"], w.dtype.itemsize):
        return None
    plan = pack_plan(name, w.shape[1], w.strides[0], w.dtype, pool.get_num_threads())
    return plan.native([{"w": 0, "y": 1}.get(array) for array in codegen.ARRAYS])


class _Backward:
    """The steps of the gradients of one layer, and their scratch memory."""

    def __init__(self, name, node, operands, results, names, result_names):
        self.at = _operand_numbers((*names, *result_names), (*operands, *results))
        self.cell, self.reverse = CELLS[name], node.params["reverse"]
        self.y, self.w, self.h = (operands[self.at[x]] for x in ("y", "w", "h"))
        self.kind, self.item = dt.BY_NP[self.y.dtype], self.y.dtype.itemsize
        self.threads = pool.get_num_threads()
        upstream = tuple([x for x in codegen_grad.UPSTREAM if x in self.at])
        self.plan = grad_plan(name, self.y.shape, self.w.strides[0], "mask" in self.at, upstream, self.reverse,
                              self.y.dtype, self.threads)
        self.rows, self.wide, self.hidden = self.y.shape[0] * self.y.shape[1], self.w.shape[0], self.y.shape[2]
        self.steps: list = [fill(At(self.at[x]), self.h.size, 0, self.kind) for x in ("dh", "dc") if x in self.at]
        self.size = 0

    def room(self, elements) -> Scratch:
        """Reserve scratch memory beside that of the backward plan and the product."""
        start = self.size
        self.size += _rounded(elements * self.item)
        return Scratch(start)

    def call(self):
        """Return all steps; None if the product's operands would be swapped."""
        product = make_plan(Layout((self.wide, self.rows), (self.item, self.wide * self.item)),
                            Layout((self.rows, self.hidden), (self.hidden * self.item, self.item)),
                            Layout((self.wide, self.hidden), (self.hidden * self.item, self.item)), self.item, self.item,
                            product_of(self.y.dtype), self.threads)
        if product.swapped or product.copies_a:
            return None
        self.size = _rounded(max(self.plan.size, product.scratch_bytes))
        da = self.room(self.rows * self.wide) if self.cell.apart else At(self.at["dz"])
        names = [self.at.get(array) for array in codegen_grad.ARRAYS]
        place = codegen_grad.ARRAYS.index("da")
        self.steps += [s._replace(words=(*s.words[:place], da, *s.words[place + 1:])) for s in self.plan.native(names).steps]
        before = self._states_before()
        self.steps += product.native(left=da, right=before, out=At(self.at["dw"])).steps
        if "dbias" in self.at:
            self.steps.append(self._bias(da))
        return NativeCall(tuple(self.steps), self.size, over=_over(self.at, "dz", _like_z(self.cell, "gy")))

    def _states_before(self) -> Scratch:
        """Return the state before each step: the first one, and all results but the last."""
        count, plane = self.y.shape[0], self.y.shape[1] * self.hidden
        room, size = self.room(count * plane), plane * self.item
        later, first = (0, (count - 1) * size) if self.reverse else (size, 0)
        self.steps.append(move((plane,), self.item, At(self.at["h"]), (self.item,), room._replace(offset=room.offset + first),
                               (self.item,)))
        if count > 1:
            source = At(self.at["y"], size if self.reverse else 0)
            self.steps.append(move(((count - 1) * plane,), self.item, source, (self.item,),
                                   room._replace(offset=room.offset + later), (self.item,)))
        return room

    def _bias(self, da):
        """Return the step that sums the gradients of the recurrent product over steps and sequences."""
        pattern, merged, *_ = reduction_plan((self.rows, self.wide), (0,), False)
        kernel = reduction_kernels.reduction(f"sum_{pattern}", "sum", self.kind, pattern, len(merged) - 1)
        strides = [math.prod(merged[i + 1:]) for i in range(len(merged))]
        parallel_dims = [i for i, c in enumerate(pattern) if c == "P"]
        targets = [math.prod([merged[i] for i in parallel_dims[d + 1:]]) for d in range(len(parallel_dims))]
        how = suited_to(kernel, pattern, merged)
        return step(kernel, (da, At(self.at["dbias"])), how, **{f"n{i}": n for i, n in enumerate(merged)},
                    **{f"s{i}": n for i, n in enumerate(strides)}, **{f"t{i}": n for i, n in zip(parallel_dims, targets)})


def _backward_step(name, node, operands, results, names, result_names):
    at = _operand_numbers((*names, *result_names), (*operands, *results))
    y, w = operands[at["y"]], operands[at["w"]]
    return _Backward(name, node, operands, results, names, result_names).call() if _has_step(y, w) else None


def _layer_step(plan, layer, inputs, result_names, **how):
    """Return the step of a layer (None: the plain one) or of its gradients; layers with a projection have none."""

    def planned(node, operands, results):
        if inputs[-1] == "projection" and operands[-1] is not None:
            return None
        return plan(layer or f"rnn_{node.params['activation']}", node, operands, results, inputs, result_names, **how)

    return planned


_ABSENT = dict.fromkeys(("cells", "gates", "c", "bias", "projection", *codegen_grad.UPSTREAM))


def _layer(op, layer, operand_names, result_names, keeps=True) -> OperatorKernel:
    """Return the kernel of a layer (None: the plain one). `keeps`: the results have what gradients need."""

    def run(*arrays, reverse, **options):
        x = _ABSENT | dict(zip(operand_names, arrays))
        if not supported(x["z"], x["w"]):
            return op.ref(*arrays, reverse=reverse, **options)
        if x["projection"] is not None:
            y, cells, gates = projected_forward(*arrays, reverse=reverse)
            cells = cells if keeps else cells[0 if reverse else -1]
        else:
            operands = [x[name] for name in ("z", "mask", "h", "c", "w", "bias")]
            y, cells, gates = forward(layer or f"rnn_{options['activation']}", *operands, reverse=reverse, keeps=keeps)
        results = {"y": y, "cells": cells, "gates": gates}
        return tuple([results[name] for name in result_names]) if len(result_names) > 1 else y

    return OperatorKernel(widened(run), _layer_step(_forward_step, layer, operand_names, result_names, keeps=keeps))


def _layer_grad(op, layer, operand_names, result_names) -> OperatorKernel:
    """Return the kernel of a layer's gradients; those of a projection come last."""

    def run(*arrays, reverse, **options):
        x = _ABSENT | dict(zip(operand_names, arrays))
        if not supported(x["y"], x["w"]):
            return op.ref(*arrays, reverse=reverse, **options)
        upstream, results = ([x[name] for name in names] for names in (codegen_grad.UPSTREAM, ("y", "cells", "gates")))
        operands = [x[name] for name in ("mask", "h", "c", "w", "projection")]
        if x["projection"] is not None:
            return projected_gradients(upstream, results, *operands, reverse=reverse)
        name = layer or f"rnn_{options['activation']}"
        dz, da, dh, dc, dw = gradients(name, upstream, results, *operands[:-1], reverse=reverse)
        found = {"dz": dz, "dh": dh, "dc": dc, "dw": dw}
        if x["bias"] is not None:
            found["dbias"] = kernels.reduction("sum", dt.BY_NP[da.dtype])(da, (0, 1))
        return tuple([found[name] for name in result_names if name in found])

    return OperatorKernel(widened(run), _layer_step(_backward_step, layer, operand_names, result_names))


_LSTM, _GRU = ("z", "mask", "h", "c", "w", "projection"), ("z", "mask", "h", "w", "bias")
_LSTM_GRAD = ("gy", "gc", "gg", "y", "cells", "gates", "mask", "h", "c", "w", "projection")
_LAYERS = (
    (ops.rnn_sequence, None, ("z", "mask", "h", "w"), ("y",)),
    (ops.lstm_sequence, "lstm", _LSTM, ("y", "cells", "gates")),
    (ops.lstm_states, "lstm", _LSTM, ("y", "cells"), False),
    (ops.gru_sequence, "gru", _GRU, ("y", "gates")),
    (ops.gru_states, "gru", _GRU, ("y",), False))
_GRADIENTS = (
    (ops.rnn_sequence_grad, None, ("gy", "y", "mask", "h", "w"), ("dz", "dh", "dw")),
    (ops.lstm_sequence_grad, "lstm", _LSTM_GRAD, ("dz", "dh", "dc", "dw")),
    (ops.gru_sequence_grad, "gru", ("gy", "gg", "y", "gates", "mask", "h", "w", "bias"), ("dz", "dh", "dw", "dbias")))
OPERATORS = {
    **{row[0]: _layer(*row) for row in _LAYERS},
    **{row[0]: _layer_grad(*row) for row in _GRADIENTS},
    packed_ops.pack_recurrent: OperatorKernel(pack_recurrent, _pack_step),
    packed_ops.recurrent_packed: OperatorKernel(recurrent_packed, _packed_step),
    int8_linear.recurrent_int8: OperatorKernel(recurrent_int8, _int8_step),
}
