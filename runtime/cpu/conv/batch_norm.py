"""Batch normalisation of plain arrays (N, C, ...), and of blocked channels in training: by the batch's statistics, by given
ones, and gradients.

float32 and float64. Rows of channels (N, C) are read in place; planes shorter than a few vectors are first gathered channel by
channel.
"""

import ctypes
import functools
import inspect
import struct
from collections.abc import Callable
from math import prod

import numpy as np

from ....ir.opdef.op import Op
from ....ir.ops.nn import norm as norm_ops
from ....ir.target import host
from ....passes.codegen.llvm.conv import batch_norm as codegen
from ....passes.codegen.llvm.conv import batch_norm_blocked as blocked_codegen
from ..calls import call, pool
from ..calls.operator_kernel import OperatorKernel
from ..calls.plan import EXTRA, OPERANDS, WORKSPACE, SlotJobs, W, X, Y, share
from ..calls.step_list import At
from ..compiler.compile import compile_module, task_of
from ..compiler.ir_cache import text_of
from ..loops import copies
from ..loops.copies import dense
from ..loops.kernels import LOW, widened

_ELEMENTS = {np.dtype(np.float32): "float", np.dtype(np.float64): "double"}
_BY_SIZE = {4: "float", 8: "double"}
_WIDE = 8                           # bytes of a partial sum
_MOST_PLANS = 2048                        # plans
_SHORT = 16                         # elements of a plane below which channels are gathered


def supported(x, *others) -> bool:
    """Whether the kernels take these arrays (None stands for those that are left out)."""
    kind = x.dtype
    for a in others:
        if a is not None and a.dtype is not kind and a.dtype != kind:
            return False
    return kind in _ELEMENTS and x.ndim >= 2 and x.size > 0


@functools.lru_cache(_MOST_PLANS)
def plan(kind, shape, eps, dtype, relu, threads):
    """Return the job of one kind on arrays (N, C, ...); `codegen.OPERANDS` names its operand words."""
    (images, channels), size = shape[:2], prod(shape[2:])
    steps, made = SlotJobs(threads), codegen.BatchNormKernel(host(), kind, _ELEMENTS[dtype], relu, len(shape) == 2)
    items = -(-channels // made.block)
    chunks = share(2 * images * channels * size, items, threads)
    words = {"items": items, "chunks": chunks, "images": images, "channels": channels, "size": size,
             "eps": struct.unpack("<q", struct.pack("<d", eps))[0]}
    steps.add(task_of(made), chunks, codegen.WORDS, words,
              {"x": (X, 0), "g": (W, 0), "y": (Y, 0), "operands": (OPERANDS, 0), "out": (EXTRA, 0)})
    return steps.plan()


@functools.lru_cache(_MOST_PLANS)
def is_direct(shape) -> bool:
    """Whether planes, or rows of channels, are read in place."""
    return len(shape) == 2 or prod(shape[2:]) >= _SHORT or shape[0] == 1


def _run(kind, x, g, eps, operands, relu=False, result=None):
    """Run one job; `operands` are in the order of the code's, each an array with an element for each channel, or None."""
    bring = dense if is_direct(x.shape) else _gather
    same, x = g is x, bring(x)
    g, result = x if same else bring(g), None if result is None else bring(result)
    held = [None if a is None else dense(a) for a in operands]
    block = _Block(*[0 if a is None else call.address_of(a) for a in held])
    made = plan(kind, x.shape, float(eps), x.dtype, relu, pool.get_num_threads())
    return made.new(x.shape, x, g, ctypes.addressof(block), 0 if result is None else call.address_of(result))


_Block = ctypes.c_int64 * len(codegen.OPERANDS)


def _gather(x):
    """Return (N, C, ...) as (1, C, N * ...)."""
    return copies.dense(np.moveaxis(x, 1, 0)).reshape(1, x.shape[1], x.size // x.shape[1])


def _restored(out, shape):
    """Undo `_gather`."""
    if out.shape == shape:
        return out
    return copies.dense(np.moveaxis(out.reshape(shape[1], shape[0], *shape[2:]), 0, 1))


def relu_train(x, w, b, *, eps):
    """Normalise by the statistics of the batch, then apply a relu."""
    return train(x, w, b, eps=eps, relu=True)


def train(x, w, b, *, eps, relu: bool = False):
    """Return (normalised x, mean, biased variance) by the statistics of the batch."""
    mean, var = np.empty(x.shape[1], x.dtype), np.empty(x.shape[1], x.dtype)
    out = _run(codegen.TRAIN, x, x, eps, (w, b, mean, var), relu)
    return _restored(out, x.shape), mean, var


def evaluate(x, w, b, mean, var, *, eps, relu: bool = False):
    """Normalise by given statistics."""
    out = _run(codegen.EVAL, x, x, eps, (w, b, mean, var), relu)
    return _restored(out, x.shape)


def relu_gradient(g, out, g_mean, g_var, x, w, mean, var, *, eps):
    """Return the gradients of `train` with a relu, whose result was `out`."""
    return gradient(g, g_mean, g_var, x, w, mean, var, eps=eps, out=out)


def gradient(g, g_mean, g_var, x, w, mean, var, *, eps, out=None):
    """Return the gradients of `train` for its input, weight and bias; `out` is its result if a relu followed."""
    scale, shift = np.empty(x.shape[1], x.dtype), np.empty(x.shape[1], x.dtype)
    dx = _run(codegen.GRAD, x, g, eps, (w, None, mean, var, g_mean, g_var, scale, shift), out is not None, out)
    return _restored(dx, x.shape), scale, shift


# Blocked channels (`passes/codegen/llvm/conv/batch_norm_blocked.py`), in training.


@functools.lru_cache(None)
def _blocked_tasks(kind, item, relu, joined):
    made = blocked_codegen.BlockedNormKernel(host(), kind, _BY_SIZE[item], relu, joined)
    addresses = compile_module(text_of(made), made.symbols)
    return [addresses[name] for name in made.symbols]


@functools.lru_cache(512)
def blocked_plan(kind, images, channels, pixels, eps, item, relu, threads):
    """Return the jobs of one kind on planes of so many pixels; NAMES lists the operand words."""
    steps, lanes, planes = SlotJobs(threads), host().lanes(item), images
    joined = not is_direct((images, channels, pixels))
    images, size = (1, images * pixels) if joined else (images, pixels)
    blocks, runs = -(-channels // lanes), -(-size // codegen.RUN)
    partials = WORKSPACE, steps.room(blocks * images * runs * blocked_codegen.PARTIALS * lanes * _WIDE)
    coefficients = WORKSPACE, steps.room(blocks * blocked_codegen.COEFFICIENTS[kind] * lanes * item)
    slots = {"x": (X, 0), "g": (W, 0), "y": (Y, 0), "out": (EXTRA, 0), "operands": (OPERANDS, 0), "partials": partials,
             "coefficients": coefficients}
    words = {"images": images, "blocks": blocks, "channels": channels, "size": size, "runs": runs, "pixels": pixels,
             "eps": struct.unpack("<q", struct.pack("<d", eps))[0]}
    work = images * blocks * size * lanes
    counts = {blocked_codegen.SUMS: images * blocks, blocked_codegen.JOIN: blocks, blocked_codegen.APPLY: planes * blocks}
    for stage, task in zip(blocked_codegen.STAGES, _blocked_tasks(kind, item, relu, joined)):
        items = counts[stage]
        chunks = share(blocks * images * runs * lanes if stage == blocked_codegen.JOIN else work, items, threads)
        steps.add(task, chunks, blocked_codegen.WORDS, words | {"items": items, "chunks": chunks}, slots)
    return steps.plan()


def _eager(op):
    """Return the eager kernel; float16 and bfloat16 go through float32, and statistics stay float32."""
    run = _EAGER[op]
    position = tuple(inspect.signature(op.infer).parameters).index("x")

    def checked(*arrays, eps):
        return run(*arrays, eps=eps) if supported(arrays[position], *arrays) else None

    through_float32 = widened(checked, 1, position)

    def call(*arrays, eps):
        found = (through_float32 if arrays[position].dtype in LOW else checked)(*arrays, eps=eps)
        return op.ref(*arrays, eps=eps) if found is None else found

    return call


_EAGER: dict[Op, Callable] = {
    norm_ops.batch_norm: evaluate, norm_ops.batch_norm_train: train, norm_ops.batch_norm_grad: gradient,
    norm_ops.batch_norm_relu_train: relu_train, norm_ops.batch_norm_relu_grad: relu_gradient}


def _batch_norms_step(node, operands, results):
    kind, names, results_of, relu = _NORMS[node.op]
    inputs = dict(zip(names, operands))
    x = inputs["x"]
    if not is_direct(x.shape) or x.dtype not in _ELEMENTS or any(
            v is not None and v.dtype != x.dtype for v in operands):
        return None
    locations = {name: At(i) for i, name in enumerate(names) if operands[i] is not None}
    out = len(operands)
    locations |= {name: At(out + 1 + i) for i, name in enumerate(results_of)}
    made = plan(kind, tuple(x.shape), float(node.params["eps"]), x.dtype, relu, pool.get_num_threads())
    gradient = locations.get("g", locations["x"])
    slots = {X: locations["x"], W: gradient, Y: At(out)} | ({EXTRA: locations["out"]} if "out" in locations else {})
    return made.native(slots, [locations.get(name, 0) for name in codegen.OPERANDS])


_TRAINED = ("x", "weight", "bias")


_GIVEN = ("g_mean", "g_var", "x", "weight", "mean", "var")


_NORMS = {norm_ops.batch_norm: (codegen.EVAL, ("x", "weight", "bias", "mean", "var"), (), False),
          norm_ops.batch_norm_train: (codegen.TRAIN, _TRAINED, ("mean", "var"), False),
          norm_ops.batch_norm_relu_train: (codegen.TRAIN, _TRAINED, ("mean", "var"), True),
          norm_ops.batch_norm_grad: (codegen.GRAD, ("g", *_GIVEN), ("g_weight", "g_bias"), False),
          norm_ops.batch_norm_relu_grad: (codegen.GRAD, ("g", "out", *_GIVEN), ("g_weight", "g_bias"), True)}


OPERATORS = {op: OperatorKernel(make=_eager, step=_batch_norms_step) for op in _NORMS}
