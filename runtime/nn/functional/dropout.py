"""Dropout: elements, channels or whole features set to zero at random in training."""

from ....ir.errors import ArgumentError
from ....ir.ops import elementwise as ew
from ....ir.ops import random as rnd
from ....ir.ops.shape import expand
from ....ir.substitute import as_float
from ...api.draws import next_drawn_beside
from ...api.nn import SELU_ALPHA, SELU_SCALE, finish, floating
from ...api.register import checked
from ...tensor import numel_of


def probability(p):
    """A probability as a float."""
    if not 0 <= p <= 1:
        raise ArgumentError(f"a dropout probability must be within 0 and 1, got {p}")
    return as_float(p)


def kept(input, p, shape):
    """A bool mask over the input, true with probability 1 - p, the same wherever `shape` has 1."""
    mask = next_drawn_beside(rnd.bernoulli_mask, input, None, shape=tuple(shape), p=1.0 - p)
    return mask if tuple(shape) == tuple(input.shape) else expand(mask, shape=input.shape)


def _drop(input, p, shape):
    if p == 1:
        return ew.mul(input, 0.0)
    return ew.where(kept(input, p, shape), ew.mul(input, 1.0 / (1.0 - p)), 0.0)


def _drop_to_saturation(input, p, shape):
    """What alpha dropout does: dropped elements take selu's negative limit, and mean and variance stay."""
    if p == 1:
        return ew.mul(input, 0.0)
    limit = -SELU_ALPHA * SELU_SCALE
    scale = ((1 - p) * (1 + p * limit * limit)) ** -0.5
    mask = kept(input, p, shape)
    return ew.add(ew.mul(ew.where(mask, input, limit), scale), -scale * p * limit)


def _channels(input):
    return (*input.shape[:2], *(1,) * (input.ndim - 2))


def _apply(how, name, input, p, training, inplace, shape):
    p = probability(p)
    floating(input, name)
    if not training or p == 0 or not numel_of(input):
        return input
    return finish(how(input, p, shape), input, inplace, name)


def dropout(input, p=0.5, training=True, inplace=False):
    """Zeros elements with probability p and scales the rest by 1 / (1 - p)."""
    return _apply(_drop, "dropout", input, p, training, inplace, input.shape)


@checked
def alpha_dropout(input, p=0.5, training=False, inplace=False):
    """Dropout that keeps the mean and variance of selu activations."""
    return _apply(_drop_to_saturation, "alpha_dropout", input, p, training, inplace, input.shape)


@checked
def feature_alpha_dropout(input, p=0.5, training=False, inplace=False):
    """alpha_dropout of whole channels."""
    return _apply(_drop_to_saturation, "feature_alpha_dropout", input, p, training, inplace, _channels(input))


def feature_dropout(input, p=0.5, training=True, inplace=False):
    """Dropout of whole channels (dimension 1)."""
    return _apply(_drop, "feature_dropout", input, p, training, inplace, _channels(input))


def _by_channel(name, batched):
    """dropout1d, 2d, 3d: channels of an input with a batch, or without."""

    def channel_dropout(input, p=0.5, training=True, inplace=False):
        if input.ndim == batched - 1:
            shape = (*input.shape[:1], *(1,) * (input.ndim - 1))
        else:
            shape = _channels(input)
        return _apply(_drop, name, input, p, training, inplace, shape)

    channel_dropout.__name__ = channel_dropout.__qualname__ = name
    channel_dropout.__doc__ = f"Dropout of whole channels of inputs with {batched} dimensions ({batched - 1} without batch)."
    return channel_dropout


dropout1d, dropout2d, dropout3d = (_by_channel(f"dropout{n}d", n + 2) for n in (1, 2, 3))
