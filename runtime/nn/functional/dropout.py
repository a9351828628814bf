"""Dropout of elements, channels or features."""

from ....ir.dim_order import order_of
from ....ir.errors import ArgumentError, ShapeError
from ....ir.ops.core import elementwise as ew
from ....ir.ops.core import random as rnd
from ....ir.ops.core.shape import expand
from ....ir.ops.nn.activations import drop
from ....ir.symbols.substitute import as_float
from ...api.nn.activations import SELU_ALPHA, SELU_SCALE, finish, floating
from ...api.random.generator_draws import next_drawn_like
from ...api.register.memory_formats import in_dim_order
from ...api.register.register import checked
from ...core.tensor import numel_of
from ...state.messages import warn

__all__ = ["alpha_dropout", "dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout", "feature_dropout"]


def probability(p):
    """Return a probability as a float, or raise."""
    if not 0 <= p <= 1:
        raise ArgumentError(f"a dropout probability must be within 0 and 1, got {p}")
    return as_float(p)


def keep_mask(input, p, shape):
    """Return a boolean mask over the input: True with probability 1 - p, equal along dims where `shape` has 1. It has the
    input's memory order; the drawn elements do not depend on that."""
    mask = next_drawn_like(rnd.bernoulli_mask, input, None, shape=tuple(shape), p=1.0 - p)
    order = order_of(input._a)
    mask = mask if order is None else in_dim_order(mask, order)
    return mask if tuple(shape) == tuple(input.shape) else expand(mask, shape=input.shape)


def _drop(input, p, shape):
    if p == 1:
        return ew.mul(input, 0.0)
    mask, scale = keep_mask(input, p, shape), 1.0 / (1.0 - p)
    return drop(input, mask, scale=scale)


def _drop_to_saturation(input, p, shape):
    """Set dropped elements to selu's negative limit, and keep mean and variance."""
    if p == 1:
        return ew.mul(input, 0.0)
    limit = -SELU_ALPHA * SELU_SCALE
    scale = ((1 - p) * (1 + p * limit * limit)) ** -0.5
    mask = keep_mask(input, p, shape)
    return ew.add(ew.mul(ew.where(mask, input, limit), scale), -scale * p * limit)


def _elements(input, name):
    return input.shape


def _channel_shape(input, name):
    """Return the shape of a mask over whole channels of samples."""
    if input.ndim < 2:
        raise ShapeError(f"{name}: needs samples and channels, so two dimensions at least, got shape {list(input.shape)}")
    return (*input.shape[:2], *(1,) * (input.ndim - 2))


def _unbatched_shape(input, name):
    """Return the shape of a mask over whole channels of one sample without batch."""
    return (*input.shape[:1], *(1,) * (input.ndim - 1))


def _apply(how, name, input, p, training, inplace, over):
    p = probability(p)
    floating(input, name)
    if not training or p == 0 or not numel_of(input):
        return input
    return finish(how(input, p, over(input, name)), input, inplace, name)


def dropout(input, p=0.5, training=True, inplace=False):
    """Zero elements with probability p and scale the rest by 1 / (1 - p)."""
    return _apply(_drop, "dropout", input, p, training, inplace, _elements)


@checked
def alpha_dropout(input, p=0.5, training=False, inplace=False):
    """Drop elements so that the mean and variance of selu activations stay."""
    return _apply(_drop_to_saturation, "alpha_dropout", input, p, training, inplace, _elements)


@checked
def feature_alpha_dropout(input, p=0.5, training=False, inplace=False):
    """Apply alpha_dropout to whole channels."""
    return _apply(_drop_to_saturation, "feature_alpha_dropout", input, p, training, inplace, _channel_shape)


def feature_dropout(input, p=0.5, training=True, inplace=False):
    """Drop whole channels (dimension 1)."""
    return _apply(_drop, "feature_dropout", input, p, training, inplace, _channel_shape)


def dropout1d(input, p=0.5, training=True, inplace=False):
    """Drop whole channels of inputs (N, C, L) or (C, L)."""
    if input.ndim not in (2, 3):
        raise ShapeError(f"dropout1d: takes inputs of 3 dimensions, or of 2 without a batch, got shape {list(input.shape)}")
    return _apply(_drop, "dropout1d", input, p, training, inplace, _channel_shape if input.ndim == 3 else _unbatched_shape)


def dropout2d(input, p=0.5, training=True, inplace=False):
    """Drop whole channels of inputs (N, C, H, W). An input of 3 dimensions is (N, C, L), with a warning."""
    if input.ndim == 3:
        warn("dropout2d: an input of 3 dimensions is taken as (N, C, L), as by dropout1d, and not as (C, H, W)")
    elif input.ndim != 4:
        _warn_of_dims("dropout2d", input, "4 dimensions")
    return _apply(_drop, "dropout2d", input, p, training, inplace, _channel_shape)


def dropout3d(input, p=0.5, training=True, inplace=False):
    """Drop whole channels of inputs (N, C, D, H, W) or (C, D, H, W)."""
    if input.ndim not in (4, 5):
        _warn_of_dims("dropout3d", input, "5 dimensions, or of 4 without a batch")
    return _apply(_drop, "dropout3d", input, p, training, inplace, _channel_shape if input.ndim == 5 else _unbatched_shape)


def _warn_of_dims(name, input, expected):
    warn(f"{name} is for inputs of {expected}, and takes others for compatibility; got shape {list(input.shape)}")
