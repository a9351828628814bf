"""Application of batch rules (`ir/opdef/batch_rules.py`), and tools for rules of single operators.

All of it is written in records, so it differentiates and traces.
"""

from ... import dtype as dt
from ...opdef.aval import Aval
from ...opdef.batch_rules import Images, Leading, Pointwise, Same, way_of
from . import elementwise as ew
from .shape import expand, iota, permute, reshape, select

# Values of one sample and of all.


def is_value(a) -> bool:
    """Return whether an operand has a shape; others are numbers and None."""
    return hasattr(a, "shape")


def repeated(t, size):
    """Repeat a value that all samples share, with the batch in front."""
    shape = t.shape
    return expand(reshape(t, shape=(1, *shape)), shape=(size, *shape))


def all_repeated(size, args, held):
    """Return all operands with the batch in front."""
    return [a if has or not is_value(a) else repeated(a, size) for a, has in zip(args, held)]


def lifted(full, ndim):
    """Insert dims so that a batch of samples broadcasts with samples of `ndim` dims."""
    size, *shape = full.shape
    missing = ndim - len(shape)
    return reshape(full, shape=(size, *(1,) * missing, *shape)) if missing > 0 else full


def all_lifted(args, held):
    """Return broadcastable values with equally many dims (and the batch in front of those that have it)."""
    ndim = max(len(a.shape) - has for a, has in zip(args, held) if is_value(a))
    return [lifted(a, ndim) if has else a for a, has in zip(args, held)]


def numbered(size, ndim, like):
    """Return the number of each sample, with `ndim` dims of size 1 behind. It is int64, since a batch may have more samples
    than the narrow dtype of indices can count."""
    return iota(like, shape=(size, *(1,) * ndim), dim=0, dtype=dt.int64)


# One range of indices for all samples, in which the ranges of the samples lie one after the other.


def folded(size, op, args, held, params):
    """Return the index operand of a record for the joint range, with the batch in front.

    The record's `bounds` give the range of one sample. An index outside of it becomes -1, which the joint range does not hold
    either, so that the operator refuses it instead of reaching another sample's elements.
    """
    (at, low, high), = op.bounds(*[_of_sample(a, has) for a, has in zip(args, held)], **params)
    index = ew.cast(args[at] if held[at] else repeated(args[at], size), dtype=dt.int64)
    inside = ew.logical_and(ew.ge(index, low), ew.lt(index, high))
    return ew.where(inside, ew.add(index, ew.mul(numbered(size, len(index.shape) - 1, index), high)), -1)


def _of_sample(a, has):
    return Aval(a.shape[1:] if has else a.shape, dt.of(a)) if is_value(a) else a


# The two first dimensions as one: samples and what each has several of.


def joined(x):
    """Reshape (size, n, ...) to (size * n, ...)."""
    shape = x.shape
    return reshape(x, shape=(shape[0] * shape[1], *shape[2:]))


def parted(result, size):
    """Reshape (size * n, ...) to (size, n, ...); also each of several results."""
    if type(result) is tuple:
        return tuple([parted(f, size) for f in result])
    shape = result.shape
    return reshape(result, shape=(size, shape[0] // size, *shape[1:]))


# Samples side by side in the channels of an image: (size, N, C, ...) as (N, size * C, ...).


def into_channels(x, size, has):
    """Concatenate the samples of a batch of images along channels."""
    x = x if has else repeated(x, size)
    _, n, c, *rest = x.shape
    order = (1, 0, *range(2, len(rest) + 3))
    return reshape(permute(x, dims=order), shape=(n, size * c, *rest))


def from_channels(x, size):
    """Split channels into samples again."""
    n, c, *rest = x.shape
    apart = reshape(x, shape=(n, size, c // size, *rest))
    return permute(apart, dims=(1, 0, *range(2, len(rest) + 3)))


def channel_values(x, size, has):
    """Concatenate per-channel values (weights, biases, statistics) of all samples."""
    return None if x is None else joined(x if has else repeated(x, size))


# The ways.


def batched(size, op, args, held, params):
    """Run an operator on a whole batch; NotImplemented if its record has no rule."""
    way = way_of(op)
    if way is None:
        return NotImplemented
    carried_out = _CARRIED_OUT.get(type(way))
    return way(size, op, args, held, params) if carried_out is None else carried_out(way, size, op, args, held, params)


def _pointwise(way, size, op, args, held, params):
    return op(*all_lifted(args, held), **params)


def _leading(way, size, op, args, held, params):
    if "shape" not in params and any(params[name] != () for name in way.counted) and len(args[0].shape) == held[0]:
        return NotImplemented       # dim 0 of a single number is no dim of the batch
    return op(*all_repeated(size, args, held), **way.batched_params(size, params))


def _same(way, size, op, args, held, params):
    return repeated(op(*[select(a, dim=0, index=0) if has else a for a, has in zip(args, held)], **params), size)


def _images(way, size, op, args, held, params):
    which = range(len(args)) if way.which is None else way.which
    if any(has and i not in which for i, has in enumerate(held)):
        return NotImplemented if way.otherwise is None else way.otherwise(size, op, args, held, params)
    full = [joined(a if has else repeated(a, size)) if i in which and is_value(a) else a
            for i, (a, has) in enumerate(zip(args, held))]
    return parted(op(*full, **params), size)


_CARRIED_OUT = {Pointwise: _pointwise, Leading: _leading, Same: _same, Images: _images}
