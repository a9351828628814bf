"""Steps of recurrent layers along time, forward and backward."""

import numpy as np

from ... import dtype as dt
from ..core import elementwise as ew
from ..core import reduce as rd
from ..core.batching import all_repeated, joined, parted
from ..core.shape import cat, expand, full, permute, reshape, select, slice_
from ..linalg.products import matmul, transpose_last


def order(steps, reverse):
    """The steps in the order in which the sequence is read."""
    return range(steps - 1, -1, -1) if reverse else range(steps)


def carry(live, new, old):
    """The new state where a step is real, else the old one."""
    return new if live is None else np.where(live[:, None], new, old)


# Gradients.


def at_step(x, t):
    """The values of one step."""
    return select(x, dim=0, index=t)


def stacked(xs):
    """Values of steps along time."""
    return cat(*[reshape(x, shape=(1, *x.shape)) for x in xs], dim=0)


def states_before(states, start, reverse):
    """The state that each step started from, for all steps."""
    steps = states.shape[0]
    first = reshape(start, shape=(1, *start.shape))
    if steps == 1:
        return first
    if reverse:
        return cat(slice_(states, dim=0, start=1, stop=steps, step=1), first, dim=0)
    return cat(first, slice_(states, dim=0, start=0, stop=steps - 1, step=1), dim=0)


def split(x, parts):
    """x (B, parts * H) in its parts."""
    n = x.shape[1] // parts
    return [slice_(x, dim=1, start=i * n, stop=(i + 1) * n, step=1) for i in range(parts)]


def parts_of(x, parts):
    """As `split`; nothing is made of nothing."""
    return [None] * parts if x is None else split(x, parts)


def divide(mask, t, gradient):
    """What of a gradient goes into the step, and what past it."""
    if mask is None:
        return gradient, None
    live = at_step(mask, t)
    live = expand(reshape(live, shape=(*live.shape, 1)), shape=gradient.shape)
    return ew.where(live, gradient, 0.0), ew.where(live, 0.0, gradient)


def plus(a, b):
    """The sum of what there is."""
    return a if b is None else b if a is None else ew.add(a, b)


def arrived(upstream, t, carried, like):
    """The gradient of a state at a step: what came from outside (None: nothing) and what later steps carried."""
    found = plus(None if upstream is None else at_step(upstream, t), carried)
    return full(like, shape=like.shape, value=0, dtype=dt.of(like)) if found is None else found


def logistic(gradient, out):
    """Through a sigmoid whose result is `out`."""
    return ew.mul(gradient, ew.mul(out, ew.sub(1.0, out)))


def hyperbolic(gradient, out):
    """Through a tanh whose result is `out`."""
    return ew.mul(gradient, ew.sub(1.0, ew.mul(out, out)))


def weight_gradient(dz, before):
    """The gradient of weights (out, in) from (T, B, out) and (T, B, in)."""
    rows = dz.shape[0] * dz.shape[1]
    return matmul(permute(reshape(dz, shape=(rows, dz.shape[2])), dims=(1, 0)), reshape(before, shape=(rows, before.shape[2])))


def in_time_order(parts, reverse):
    """Per-step results of the backward walk (which runs against the reading order) along time."""
    return stacked(parts if reverse else parts[::-1])


# Whole batches of samples: their sequences beside each other.


def _beside(x, size, time):
    """States (size, B, H) as (size * B, H), values of all steps (size, T, B, H) as (T, size * B, H)."""
    if not time:
        return joined(x)
    n = len(x.shape)
    x = permute(x, dims=(1, 0, *range(2, n)))
    return reshape(x, shape=(x.shape[0], size * x.shape[2], *x.shape[3:]))


def _sample_by_sample(x, size):
    """Those again as each sample has them."""
    if len(x.shape) == 2:
        return parted(x, size)
    steps, rows, width = x.shape
    return permute(reshape(x, shape=(steps, size, rows // size, width)), dims=(1, 0, 2, 3))


def batch_of_sequences(time, states):
    """The rule of a layer whose first `time` operands are values of all steps and whose next `states` are states; weights come
    after them and must be one for all samples, else these go one by one."""

    def rule(size, op, args, held, params):
        if any(held[time + states:]):
            return NotImplemented
        full = all_repeated(size, args[:time + states], held)
        found = op(*[None if x is None else _beside(x, size, i < time) for i, x in enumerate(full)], *args[time + states:],
                   **params)
        return tuple([_sample_by_sample(f, size) for f in found]) if type(found) is tuple else _sample_by_sample(found, size)

    return rule


def batch_of_gradients(time, states, of_weights):
    """The same of a layer's gradients; those of weights are each sample's own: of_weights(size, *operands, dz, **params), with
    the sequences of all samples beside each other."""

    def rule(size, op, args, held, params):
        if any(held[time + states:]):
            return NotImplemented
        full = all_repeated(size, args[:time + states], held)
        given = [None if x is None else _beside(x, size, i < time) for i, x in enumerate(full)]
        given += args[time + states:]
        found = op(*given, **params)[:1 + states]
        return (*[_sample_by_sample(f, size) for f in found], *of_weights(size, *given, found[0], **params))

    return rule


def each_weight_gradient(size, dz, before):
    """The gradients of the samples' weights (size, out, in) from (T, size * B, out) and (T, size * B, in)."""
    dz, before = (_sample_by_sample(x, size) for x in (dz, before))
    dz, before = (reshape(x, shape=(size, x.shape[1] * x.shape[2], x.shape[3])) for x in (dz, before))
    return matmul(transpose_last(dz), before)


def each_bias_gradient(size, dz):
    """The sums over steps and sequences of each sample."""
    return rd.sum_(_sample_by_sample(dz, size), dim=(1, 2), keepdim=False)
