"""Recurrent layers as steps of a native call: all steps forward, the walk back, and the gradient of the weights after it."""

import math
from dataclasses import replace

from ....ir import dtype as dt
from ....ir.ops.nn import recurrent as ops
from ....ir.ops.packed import recurrent_packed as packed_ops
from ....ir.ops.quantized import int8_linear
from ....passes.codegen import reduction_kernels
from ....passes.codegen.llvm.sequence import recurrent as codegen
from ....passes.codegen.llvm.sequence import recurrent_grad as codegen_grad
from ....passes.codegen.recurrent_cells import CELLS
from ....passes.schedule.plan_steps import LINE
from ..calls import pool
from ..calls.kernel_steps import fill, move, step
from ..calls.lowering_rules import native
from ..calls.step_list import At, NativeCall, Scratch
from ..gemm.gemm import product_of
from ..gemm.gemm_plan import Layout, make_plan
from ..gemm.matmul import call_of
from ..loops.row_calls import reduction_plan, suited_to
from . import recurrent


def _rounded(size: int) -> int:
    return -(-size // LINE) * LINE


def _numbers(names, operands):
    """{name: number of the operand}, for those that are there."""
    return {name: n for n, (name, x) in enumerate(zip(names, operands)) if name is not None and x is not None}


def _like_z(cell, states):
    """Which array of a layer has a place for each element of z, which is read where that is written, or written where that is
    read; `states` names that of the states. None of a GRU has."""
    return "gates" if cell.kept == cell.gates else states if cell.gates == 1 else None


def _over(at, result, operand):
    """What a native call says of a result that may be written over an operand, if both are there."""
    return ((at[result], at[operand]),) if result in at and operand in at else ()


def _supported(z, w) -> bool:
    return z.dtype in recurrent.ELEMENTS and w.dtype == z.dtype and 0 not in z.shape and 0 not in w.shape


# Forward.


def _forward(name, node, operands, results, names, made, keeps=True):
    """A layer whose inputs are called `names` and its results `made`; `keeps`: what gradients need is among them. Flat weights
    are packed."""
    at = _numbers((*names, *made), (*operands, *results))
    z, w = operands[at["z"]], operands[at["w"]]
    in_bytes = w.dtype == dt.int8.np
    if not in_bytes and not _supported(z, w):
        return None
    cell = CELLS[name]
    sizes = z.shape[0], z.shape[1], z.shape[2] // cell.gates
    plan = recurrent.forward_plan(name, sizes, w.strides[0], "mask" in at, keeps, node.params["reverse"], z.dtype,
                                  pool.get_num_threads(), packed=len(w.shape) == 1, in_bytes=in_bytes)
    found = replace(plan.native([at.get(array) for array in codegen.ARRAYS]), over=_over(at, _like_z(cell, "y"), "z"))
    if name != "gru" or "bias" in at:
        return found
    start, place = _rounded(plan.size), codegen.ARRAYS.index("bias")
    zeros = fill(Scratch(start), z.shape[2], 0, dt.BY_NP[z.dtype])
    steps = [s._replace(words=(*s.words[:place], Scratch(start), *s.words[place + 1:])) for s in found.steps]
    return NativeCall((zeros, *steps), start + z.shape[2] * z.dtype.itemsize)


@native(ops.rnn_sequence)
def rnn(node, operands, results):
    """The plain layer."""
    return _forward(f"rnn_{node.params['activation']}", node, operands, results, ("z", "mask", "h", "w"), ("y",))


@native(ops.lstm_sequence)
def lstm(node, operands, results):
    """Without a projection."""
    if operands[5] is not None:
        return None
    return _forward("lstm", node, operands, results, ("z", "mask", "h", "c", "w", None), ("y", "cells", "gates"))


@native(ops.lstm_states)
def lstm_states(node, operands, results):
    """Without a projection."""
    if operands[5] is not None:
        return None
    return _forward("lstm", node, operands, results, ("z", "mask", "h", "c", "w", None), ("y", "cells"), keeps=False)


@native(ops.gru_sequence)
def gru(node, operands, results):
    """With a bias of the recurrent product, or zeros."""
    return _forward("gru", node, operands, results, ("z", "mask", "h", "w", "bias"), ("y", "gates"))


@native(ops.gru_states)
def gru_states(node, operands, results):
    """With a bias of the recurrent product, or zeros."""
    return _forward("gru", node, operands, results, ("z", "mask", "h", "w", "bias"), ("y",), keeps=False)


@native(packed_ops.recurrent_packed)
def packed(node, operands, results):
    """Any layer without a projection, with weights that this machine's kernel packed."""
    name, z = node.params["kernel"][0], operands[0]
    if not recurrent.fits(node.params["kernel"], z.dtype.itemsize):
        return None
    return _forward(name, node, operands, results, ("z", "mask", "h", "c", "w", "bias"), ("y", "cells"), keeps=False)


@native(int8_linear.recurrent_int8)
def in_bytes(node, operands, results):
    """Any layer with weights of int8."""
    names = ("z", "mask", "h", "c", "w", "scale", "bias")
    return _forward(node.params["layer"], node, operands, results, names, ("y", "cells"), keeps=False)


@native(packed_ops.pack_recurrent)
def pack(node, operands, results):
    """Weights in the order in which the kernel reads them."""
    name, w = node.params["kernel"][0], operands[0]
    if not recurrent.fits(node.params["kernel"], w.dtype.itemsize):
        return None
    plan = recurrent.pack_plan(name, w.shape[1], w.strides[0], w.dtype, pool.get_num_threads())
    return plan.native([{"w": 0, "y": 1}.get(array) for array in codegen.ARRAYS])


# Gradients.


class _Walk:
    """The steps of the gradients of one layer, and where its scratch memory lies."""

    def __init__(self, name, node, operands, results, names, made):
        self.at = _numbers((*names, *made), (*operands, *results))
        self.cell, self.reverse = CELLS[name], node.params["reverse"]
        self.y, self.w, self.h = (operands[self.at[x]] for x in ("y", "w", "h"))
        self.kind, self.item = dt.BY_NP[self.y.dtype], self.y.dtype.itemsize
        self.threads = pool.get_num_threads()
        given = tuple([x for x in codegen_grad.UPSTREAM if x in self.at])
        self.plan = recurrent.grad_plan(name, self.y.shape, self.w.strides[0], "mask" in self.at, given, self.reverse,
                                        self.y.dtype, self.threads)
        self.rows, self.wide, self.hidden = self.y.shape[0] * self.y.shape[1], self.w.shape[0], self.y.shape[2]
        self.steps: list = [fill(At(self.at[x]), self.h.size, 0, self.kind) for x in ("dh", "dc") if x in self.at]
        self.size = 0

    def room(self, elements) -> Scratch:
        """Scratch memory beside that of the walk and the product."""
        start = self.size
        self.size += _rounded(elements * self.item)
        return Scratch(start)

    def call(self):
        """All of it; None where the product's operands would have to change places."""
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
        self.steps += call_of(product, left=da, right=before, out=At(self.at["dw"])).steps
        if "dbias" in self.at:
            self.steps.append(self._bias(da))
        return NativeCall(tuple(self.steps), self.size, over=_over(self.at, "dz", _like_z(self.cell, "gy")))

    def _states_before(self) -> Scratch:
        """The state before each step: the first one, and all results but the last."""
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
        """The sum of the gradients of the recurrent product over steps and sequences."""
        pattern, merged, *_ = reduction_plan((self.rows, self.wide), (0,), False)
        kernel = reduction_kernels.reduction(f"sum_{pattern}", "sum", self.kind, pattern, len(merged) - 1)
        strides = [math.prod(merged[i + 1:]) for i in range(len(merged))]
        kept = [i for i, c in enumerate(pattern) if c == "P"]
        targets = [math.prod([merged[i] for i in kept[d + 1:]]) for d in range(len(kept))]
        how = suited_to(kernel, pattern, merged)
        return step(kernel, (da, At(self.at["dbias"])), how, **{f"n{i}": n for i, n in enumerate(merged)},
                    **{f"s{i}": n for i, n in enumerate(strides)}, **{f"t{i}": n for i, n in zip(kept, targets)})


def _backward(name, node, operands, results, names, made):
    at = _numbers((*names, *made), (*operands, *results))
    y, w = operands[at["y"]], operands[at["w"]]
    return _Walk(name, node, operands, results, names, made).call() if _supported(y, w) else None


@native(ops.rnn_sequence_grad)
def rnn_grad(node, operands, results):
    """Of the plain layer."""
    name = f"rnn_{node.params['activation']}"
    return _backward(name, node, operands, results, ("gy", "y", "mask", "h", "w"), ("dz", "dh", "dw"))


@native(ops.lstm_sequence_grad)
def lstm_grad(node, operands, results):
    """Without a projection."""
    if operands[10] is not None:
        return None
    names = ("gy", "gc", "gg", "y", "cells", "gates", "mask", "h", "c", "w", None)
    return _backward("lstm", node, operands, results, names, ("dz", "dh", "dc", "dw"))


@native(ops.gru_sequence_grad)
def gru_grad(node, operands, results):
    """The bias's is a sum."""
    names = ("gy", "gg", "y", "gates", "mask", "h", "w", None)
    return _backward("gru", node, operands, results, names, ("dz", "dh", "dw", "dbias"))


__all__ = ["gru", "gru_grad", "gru_states", "in_bytes", "lstm", "lstm_grad", "lstm_states", "pack", "packed", "rnn", "rnn_grad"]
