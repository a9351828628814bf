"""Batch normalisation of plain arrays (N, C, ...) on generated kernels: with the batch's statistics, with given ones,
gradients.

float32 and float64. Planes shorter than a few vectors are gathered channel by channel first.
"""

import functools
import struct
from math import prod

import numpy as np

from ...ir.target import host
from ...passes.codegen.llvm import batch_norm as codegen
from . import call, conv_steps, pool
from .compile import compile_module
from .conv_steps import OPERANDS, W, X, Y, plain
from .kernel_entry import empty

_ELEMENTS = {np.dtype(np.float32): "float", np.dtype(np.float64): "double"}
_SHORT = 16                         # elements of a plane below which channels are gathered


def supported(x, *others) -> bool:
    """Whether the kernels take these arrays."""
    return x.dtype in _ELEMENTS and x.ndim >= 2 and x.size > 0 and all(a.dtype == x.dtype for a in others)


@functools.lru_cache(None)
def _task(kind, element, relu):
    made = codegen.BatchNormKernel(host(), kind, element, relu)
    return compile_module(made.text(), [made.symbol])[made.symbol]


@functools.lru_cache(512)
def _plan(kind, images, channels, size, eps, dtype, relu, threads):
    steps = conv_steps.Steps()
    chunks = conv_steps.share(2 * images * channels * size, channels, threads)
    words = {"items": channels, "chunks": chunks, "images": images, "channels": channels, "size": size,
             "eps": struct.unpack("<q", struct.pack("<d", eps))[0]}
    steps.add(_task(kind, _ELEMENTS[dtype], relu), chunks, codegen.WORDS, words,
              {"x": (X, 0), "g": (W, 0), "y": (Y, 0), "operands": (OPERANDS, 0)})
    return steps.plan()


def _run(kind, x, g, eps, operands, relu=False):
    """One job; `operands` by name, each an array with an element for each channel or None."""
    gathered = x.ndim == 2 or (prod(x.shape[2:]) < _SHORT and x.shape[0] > 1)
    x, g = (_gather(a) for a in (x, g)) if gathered else (plain(x), plain(g))
    operands = {name: plain(a) for name, a in operands.items() if a is not None}
    block = np.array([call.address_of(operands[name]) if name in operands else 0 for name in codegen.OPERANDS], np.int64)
    out = empty(x.shape, x.dtype)
    plan = _plan(kind, x.shape[0], x.shape[1], prod(x.shape[2:]), float(eps), x.dtype, relu, pool.get_num_threads())
    plan(x, g, out, call.address_of(block))
    return out


def _gather(x):
    """(N, C, ...) as (1, C, N * ...)."""
    return np.ascontiguousarray(np.moveaxis(x, 1, 0)).reshape(1, x.shape[1], x.size // x.shape[1])


def _restored(out, shape):
    """What `_gather` did undone."""
    if out.shape == shape:
        return out
    return np.ascontiguousarray(np.moveaxis(out.reshape(shape[1], shape[0], *shape[2:]), 0, 1))


def train(x, w, b, *, eps, relu: bool = False):
    """(normalised x, mean, biased variance) by the statistics of the batch."""
    mean, var = np.empty(x.shape[1], x.dtype), np.empty(x.shape[1], x.dtype)
    out = _run(codegen.TRAIN, x, x, eps, {"weight": w, "bias": b, "mean": mean, "var": var}, relu)
    return _restored(out, x.shape), mean, var


def evaluate(x, w, b, mean, var, *, eps, relu: bool = False):
    """x normalised by given statistics."""
    out = _run(codegen.EVAL, x, x, eps, {"weight": w, "bias": b, "mean": mean, "var": var}, relu)
    return _restored(out, x.shape)


def gradient(g, g_mean, g_var, x, w, mean, var, *, eps):
    """The gradients of `train` for its input, weight and bias."""
    scale, shift = np.empty(x.shape[1], x.dtype), np.empty(x.shape[1], x.dtype)
    out = _run(codegen.GRAD, x, g, eps, {"weight": w, "mean": mean, "var": var, "g_mean": g_mean, "g_var": g_var,
                                         "g_weight": scale, "g_bias": shift})
    return _restored(out, x.shape), scale, shift
