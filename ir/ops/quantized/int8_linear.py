"""Products with 8-bit weights and exact integer sums, quantised at each call.

`linear_int8` quantises the rows of its input; recurrent layers quantise their state at each step.
"""

from math import prod

import numpy as np

from ... import dtype as dt
from ...errors import ArgumentError, DTypeError, ShapeError
from ...opdef.aval import Aval, hinted
from ...opdef.op import NO_GRAD, Host, Template, op
from ...opdef.param_checks import check_choice, check_flag
from ...process_state import ignore_float_errors
from ..nn import recurrent

MOST_DEPTH = 1 << 16        # columns of a weight up to which no sum of products of 8 bits leaves 32 bits
STEPS = 255                 # that a row is divided into
LEAST_STEP = 1e-35          # rows of smaller steps are zeros, whose steps could not be inverted


def _infer(x, weight, scale, bias):
    if x.dtype is not dt.float32 or weight.dtype is not dt.int8:
        raise DTypeError(f"linear_int8 takes an input of float32 and a weight of int8, got {x} and {weight}")
    if not x.ndim or weight.ndim != 2:
        raise ShapeError(f"linear_int8 takes an input [*, in_features] and a weight [out_features, in_features], got {x} and "
                         f"{weight}")
    if x.shape[-1] != weight.shape[1]:
        raise ShapeError(f"linear_int8 of {x}: its last size is {hinted(x.shape[-1])}, but the weight {weight} takes "
                         f"{hinted(weight.shape[1])}")
    if weight.shape[1] > MOST_DEPTH:
        raise ArgumentError(f"linear_int8 takes a weight of at most {MOST_DEPTH} columns (sums are int32), got {weight}")
    for name, t in (("scale", scale), ("bias", bias)):
        if t is not None and (t.dtype is not dt.float32 or tuple(t.shape) != weight.shape[:1]):
            raise ShapeError(f"linear_int8 with a weight {weight} takes a {name} of float32 with one number for each of its "
                             f"rows, got {t}")
    return Aval((*x.shape[:-1], weight.shape[0]), dt.float32)


def quantized_rows(x):
    """Return rows of float32 as (uint8 numbers, each row's step, each row's zero point).

    A row with an infinity or nan has a step of nan, so that all its results are nan.
    """
    share, one = np.float32(1 / STEPS), np.float32(1)
    finite = np.isfinite(x).all(-1)
    known = np.where(np.isnan(x), np.float32(0), x)
    low = np.minimum(known.min(-1, initial=0), np.float32(0))
    step = np.maximum(known.max(-1, initial=0), np.float32(0)) * share - low * share
    step = np.where(step > np.float32(LEAST_STEP), step, one)
    inverse = one / step
    zero = np.clip(np.rint(-low * inverse), 0, STEPS).astype(np.float32)
    steps = np.rint(x * inverse[..., None]) + zero[..., None]
    numbers = np.clip(np.where(np.isnan(steps), np.float32(0), steps), 0, STEPS)
    return numbers.astype(np.uint8), np.where(finite, step, np.float32(np.nan)), zero


@ignore_float_errors
def _linear(x, weight, scale, bias):
    numbers, step, zero = quantized_rows(x)
    wide = weight.astype(np.int64)
    sums = numbers.astype(np.int64) @ wide.T - zero.astype(np.int64)[..., None] * wide.sum(1)
    out = sums.astype(np.float32) * (step[..., None] * scale)
    return out if bias is None else out + bias


def _batch(size, op, args, held, params):
    return NotImplemented if any(held[1:]) else op(*args)


linear_int8 = op(
    "linear_int8", infer=_infer, ref=_linear, vjp=NO_GRAD, lower=Host(), batch=_batch,
    flops=lambda args, outs, params: 2 * prod(outs[0].shape) * args[0].shape[-1],
    doc="x @ (weight * scale).T + bias for a weight of int8 with a scale for each row. Each row of x is divided into 255 steps "
        "between its smallest and its largest number (and 0), the products of these whole numbers are summed without rounding.")


# Recurrent layers.

def _infer_layer(z, mask, h, c, weight, scale, bias, *, layer, reverse):
    check_choice(layer, tuple(recurrent.GATES), "recurrent_int8: layer")
    check_flag(reverse, "recurrent_int8: reverse")
    if h.ndim != 2:
        raise ShapeError(f"recurrent_int8 takes a state (batch, hidden), got {h}")
    hidden = h.shape[-1]
    wide = recurrent.GATES[layer] * hidden
    if z.ndim != 3 or z.shape[2] != wide or tuple(h.shape) != (z.shape[1], hidden) or tuple(weight.shape) != (wide, hidden):
        raise ShapeError(f"recurrent_int8: a {layer} of the input {z}, the state {h} and the weight {weight}")
    if (layer == "lstm") != (c is not None) or (c is not None and c != h):
        raise ShapeError(f"recurrent_int8: cells like the state {h} belong to an lstm, got a {layer} with {c}")
    if mask is not None and (mask.shape != z.shape[:2] or mask.dtype is not dt.bool_):
        raise ShapeError(f"recurrent_int8 of {z} takes a mask [T, B] of bool, got {mask}")
    _infer(h, weight, scale, bias)
    if z.dtype is not dt.float32:
        raise DTypeError(f"recurrent_int8 takes an input of float32, got {z}")
    y = z.with_shape((z.shape[0], *h.shape))
    return (y,) if c is None else (y, c)


def _layer(z, mask, h, c, weight, scale, bias, *, layer, reverse):
    def product(h, weight):
        return _linear(h, weight, scale, None)

    if layer == "lstm":
        y, cells, _ = recurrent.run_lstm(z, mask, h, c, weight, None, reverse=reverse, product=product)
        return y, cells[0 if reverse else -1]
    if layer == "gru":
        return (recurrent.run_gru(z, mask, h, weight, bias, reverse=reverse, product=product)[0],)
    return (recurrent.run_rnn(z, mask, h, weight, activation=layer.removeprefix("rnn_"), reverse=reverse, product=product),)


recurrent_int8 = op(
    "recurrent_int8", infer=_infer_layer, ref=_layer, vjp=NO_GRAD, lower=Template("recurrent"),
    batch=recurrent.batch_of_sequences(2, 2),
    flops=lambda args, outs, params: 2 * prod(args[0].shape) * args[2].shape[-1],
    doc="A recurrent layer whose state is multiplied with a weight of int8 as by linear_int8: (all states,), and the last "
        "cells of an LSTM.")
