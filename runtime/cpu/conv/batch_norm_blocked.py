"""Batch normalisation of blocked channels in training (`passes/codegen/llvm/conv/batch_norm_blocked.py`)."""

import functools
import struct

import numpy as np

from ....ir.target import host
from ....passes.codegen.llvm.conv import batch_norm_blocked as codegen
from ....passes.codegen.llvm.conv.batch_norm import OPERANDS as NAMES
from ....passes.codegen.llvm.conv.batch_norm import RUN
from ..calls import call, pool
from ..calls.plan import EXTRA, OPERANDS, WORKSPACE, SlotJobs, W, X, Y, share
from ..compiler.compile import compile_module
from ..compiler.ir_cache import text_of
from ..loops.copies import plain
from ..memory.alloc import empty
from .batch_norm import is_direct

TRAIN, GRAD = codegen.TRAIN, codegen.GRAD
_ELEMENTS = {4: "float", 8: "double"}
_WIDE = 8


@functools.lru_cache(None)
def _tasks(kind, item, relu, joined):
    made = codegen.BlockedNormKernel(host(), kind, _ELEMENTS[item], relu, joined)
    found = compile_module(text_of(made), made.symbols)
    return [found[name] for name in made.symbols]


@functools.lru_cache(512)
def plan(kind, images, channels, pixels, eps, item, relu, threads):
    """Return the jobs of one kind on planes of so many pixels; NAMES lists the operand words."""
    steps, lanes, planes = SlotJobs(threads), host().lanes(item), images
    joined = not is_direct((images, channels, pixels))
    images, size = (1, images * pixels) if joined else (images, pixels)
    blocks, runs = -(-channels // lanes), -(-size // RUN)
    partials = WORKSPACE, steps.room(blocks * images * runs * codegen.PARTIALS * lanes * _WIDE)
    coefficients = WORKSPACE, steps.room(blocks * codegen.COEFFICIENTS[kind] * lanes * item)
    slots = {"x": (X, 0), "g": (W, 0), "y": (Y, 0), "out": (EXTRA, 0), "operands": (OPERANDS, 0), "partials": partials,
             "coefficients": coefficients}
    words = {"images": images, "blocks": blocks, "channels": channels, "size": size, "runs": runs, "pixels": pixels,
             "eps": struct.unpack("<q", struct.pack("<d", eps))[0]}
    work = images * blocks * size * lanes
    counts = {codegen.SUMS: images * blocks, codegen.JOIN: blocks, codegen.APPLY: planes * blocks}
    for stage, task in zip(codegen.STAGES, _tasks(kind, item, relu, joined)):
        items = counts[stage]
        chunks = share(blocks * images * runs * lanes if stage == codegen.JOIN else work, items, threads)
        steps.add(task, chunks, codegen.WORDS, words | {"items": items, "chunks": chunks}, slots)
    return steps.plan()


def _run(kind, x, g, out, operands, eps, relu, channels):
    operands = {name: plain(a) for name, a in operands.items() if a is not None}
    block = np.array([call.address_of(operands[name]) if name in operands else 0 for name in NAMES], np.int64)
    x, g, made = plain(x), plain(g), empty(x.shape, x.dtype)
    out = None if out is None else plain(out)
    size = int(np.prod(x.shape[2:-1], dtype=np.int64))
    run = plan(kind, x.shape[0], channels, size, float(eps), x.itemsize, relu, pool.get_num_threads())
    run(x, g, made, call.address_of(block), 0 if out is None else call.address_of(out))
    return made


def train(x, w, b, *, eps, channels, relu):
    """Return (normalised x, mean, biased variance) by the statistics of the batch."""
    mean, var = np.empty(channels, x.dtype), np.empty(channels, x.dtype)
    return _run(TRAIN, x, x, None, {"weight": w, "bias": b, "mean": mean, "var": var}, eps, relu, channels), mean, var


def gradient(g, out, g_mean, g_var, x, w, mean, var, *, eps, channels, relu):
    """Return the gradients of `train` for its input, weight and bias; `out` is its result if a relu is in it."""
    scale, shift = np.empty(channels, x.dtype), np.empty(channels, x.dtype)
    dx = _run(GRAD, x, g, out, {"weight": w, "mean": mean, "var": var, "g_mean": g_mean, "g_var": g_var, "g_weight": scale,
                                "g_bias": shift}, eps, relu, channels)
    return dx, scale, shift
