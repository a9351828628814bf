"""Connectionist temporal classification: all sequences in one native call."""

import functools

import numpy as np

from ....ir import dtype as dt
from ....ir.opdef.aval import Aval
from ....ir.ops.nn import ctc as ops
from ....ir.ops.nn.ctc import labels_of, sequences
from ....ir.target import host
from ....passes.codegen.llvm.ir.types import FLOATS_BY_NP
from ....passes.codegen.llvm.sequence import ctc as codegen
from ..calls import pool
from ..calls.operator_kernel import OperatorKernel
from ..calls.plan import Jobs, JobsPlan, chunks_for
from ..compiler.compile import task_of
from ..loops import copies
from ..loops.kernels import widened
from ..memory import alloc

_OPERATIONS = 64        # scalar operations of a step for a state
_KEPT = 256


def _operands(log_probs, targets, input_lengths, target_lengths, blank) -> tuple:
    """Return (labels, where two may be skipped, sizes) for the kernels."""
    targets, steps, counts = sequences(log_probs, targets, input_lengths, target_lengths)
    found, skip = labels_of(targets, counts, blank)
    lanes, (count, states) = _kernel(log_probs.dtype).lanes, found.shape
    width = -(-states // lanes) * lanes
    labels = np.full((count, width), blank, np.int32)
    labels[:, :states] = found
    allow = np.full((count, width + lanes), -np.inf, log_probs.dtype)
    allow[:, :states][skip] = 0
    return labels, allow, np.stack([steps, counts], 1)


@functools.lru_cache(None)
def _kernel(dtype) -> codegen.CtcKernel:
    return codegen.CtcKernel(host(), FLOATS_BY_NP[dtype])


@functools.lru_cache(_KEPT)
def _plan(dtype, shape, width, blank, is_gradient, threads) -> JobsPlan:
    """Return the job for log probabilities of a shape, and rows of so many states."""
    steps, items, classes = shape
    kernel, todo = _kernel(dtype), Jobs(threads)
    room, work = kernel.room(width, steps if is_gradient else 0), _OPERATIONS * steps * items * width
    todo.add(task_of(kernel, kernel.gradients if is_gradient else kernel.losses), codegen.WORDS[len(codegen.ARRAYS) + 2:],
             chunks=chunks_for(work, items, threads), items=items, steps=steps, classes=classes, width=width, blank=blank,
             room=room)
    return todo.plan(room * threads, work)


def _checked(op, is_gradient) -> OperatorKernel:
    """Return the eager losses or, after the gradient of each, gradients of the log probabilities. They check their arguments
    first; the reference handles empty ones."""

    def call(*arrays, blank):
        op.infer(*[Aval(a.shape, dt.BY_NP[a.dtype]) for a in arrays], blank=blank)
        *upstream, x, targets, input_lengths, target_lengths = arrays
        if not x.size:
            return op.ref(*arrays, blank=blank)
        operands = _operands(x, targets, input_lengths, target_lengths, blank)
        out = alloc.empty(x.shape if is_gradient else x.shape[1:2], x.dtype)
        plan = _plan(x.dtype, x.shape, operands[0].shape[1], blank, is_gradient, pool.get_num_threads())
        plan(copies.dense(x), *operands, copies.dense(upstream[0]) if is_gradient else out, out)
        return out

    return OperatorKernel(widened(call))


OPERATORS = {op: _checked(op, op is ops.ctc_loss_grad) for op in (ops.ctc_loss, ops.ctc_loss_grad)}
