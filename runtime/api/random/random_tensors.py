"""Random tensors: every function draws one key from its generator and computes the numbers from it."""

import math
from inspect import signature

import numpy as np

from ....ir import dtype as dt
from ....ir.error_texts.refused_calls import unknown_keyword
from ....ir.errors import ArgumentError, DTypeError, ShapeError
from ....ir.opdef.aval import broadcast_shapes, integers, one_integer
from ....ir.ops.core import elementwise as ew
from ....ir.ops.core import random as rn
from ....ir.ops.core import reduce as rd
from ....ir.ops.core.scan import cumsum
from ....ir.ops.core.shape import expand, full
from ....ir.ops.index.sort import arg_topk, argsort, searchsorted
from ....ir.ops.math import gamma as gm
from ....ir.symbols.substitute import as_float, as_int
from ...autograd.missing_rules import without_rule
from ...core import random as streams
from ...core.device import require
from ...core.device_array import DeviceArray
from ...core.dispatch import of_every_sample, untaped
from ...core.random import draw_key_on_device_of
from ...core.tensor import Tensor, wrap
from ...state.mode import tls
from ..register.layouts import require_strided
from ..register.memory_formats import format_of, in_dim_order, requested_order
from ..register.register import FUNCTIONS, api, deliver
from ..register.type_promotion import as_operand, result_type, to_dtype
from ..views.reshaping import sizes_of
from ..views.tensor_factories import finish, require_device
from .generator_draws import (
    SCALED,
    drawn_from_next,
    fill_with_next,
    float_dtype,
    is_here,
    next_drawn,
    next_drawn_like,
    next_numbers,
)

for _f in (streams.Generator, streams.manual_seed, streams.seed, streams.initial_seed, streams.get_rng_state,
           streams.set_rng_state):
    FUNCTIONS[_f.__name__] = _f
FUNCTIONS["default_generator"] = streams.default_generator


# From sizes.


def requested_sizes(size, named=()) -> tuple:
    """Return the shape from f(2, 3), f((2, 3)) or f(size=(2, 3))."""
    return sizes_of((named.pop("size"),) if named and "size" in named else size)


def _of_sizes(name, draw, doc):
    """Publish a function of sizes that draws real or complex numbers."""

    def fn(*size, generator=None, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False,
           **named):
        if layout is not None:
            require_strided(name, layout)
        shape = requested_sizes(size, named)
        if named:
            no_more(fn, name, named)
        if device is not None:
            require(device)
        numbers = next_numbers(draw, generator, device, shape, float_dtype(dtype, takes_complex=True))
        return finish(numbers, out, requires_grad, name, device, pin_memory)

    fn.__doc__ = doc
    return api(method=False, name=name)(fn)


rand = _of_sizes("rand", rn.uniform, "Return uniform numbers in [0, 1); both parts of complex numbers.")
randn = _of_sizes("randn", rn.normal, "Return normal numbers of mean 0 and deviation 1; parts of complex numbers have half "
                                      "that variance.")


def no_more(fn, name: str, named: dict):
    """Raise if keyword arguments are left that a function does not know. It takes any, as `from` is no name in Python."""
    if named:
        raise unknown_keyword(name, signature(fn).parameters.values(), named)


_MANTISSA = {dt.float64: 53, dt.float32: 24, dt.float16: 11, dt.bfloat16: 8}


def exact_end(d) -> int:
    """Return one more than the largest integer up to which a dtype holds each exactly."""
    if d is dt.bool_:
        return 2
    return 2 ** _MANTISSA[d] + 1 if d.is_floating_point else 2 ** (8 * d.itemsize - (d.kind == dt.SIGNED))


def check_range(name, low, high, d):
    """Raise unless an integer dtype holds all integers in [low, high)."""
    if d is dt.int64 or d.is_inexact:
        return
    first, last = (0, 1) if d is dt.bool_ else dt.int_range(d)
    if low < high and (low < first or high - 1 > last):
        raise ArgumentError(f"{name}: integers from {low} to {high - 1} are not all ones of {d.name}, which holds {first} to "
                            f"{last}")


@api(method=False)
def randint(low=0, high=None, size=None, *, generator=None, out=None, dtype=dt.int64, layout=None, device=None,
            requires_grad=False, pin_memory=False):
    """Return uniform integers in [low, high), or in [0, high) as randint(high, size)."""
    require_strided("randint", layout)
    require_device(device)
    if size is None and (high is None or isinstance(high, int)):
        raise ArgumentError("randint needs the shape of its result as a tuple: randint(low, high, size) or randint(high, size)")
    if size is None or high is None:
        low, high, size = (0, low, high if size is None else size)
    d = dt.int64 if dtype is None else dt.as_dtype(dtype)
    check_range("randint", as_int(low), as_int(high), d)
    shape = requested_sizes((size,))
    result = next_drawn(rn.randint, generator, device, shape=shape, low=as_int(low), high=as_int(high), dtype=d)
    return finish(result, out, requires_grad, "randint", device, pin_memory)


@api(method=False)
def randperm(n, *, generator=None, out=None, dtype=dt.int64, layout=None, device=None, requires_grad=False, pin_memory=False):
    """Return the integers 0 to n-1 in random order."""
    require_strided("randperm", layout)
    require_device(device)
    (n,) = integers((n,), "the length of randperm()")
    if n < 0:
        raise ArgumentError(f"randperm takes a length of at least 0, got {n}")
    d = dt.as_dtype(dtype or dt.int64)
    if d.is_complex or n > exact_end(d):
        raise ArgumentError(f"randperm: {d.name} does not hold all integers from 0 to {n - 1}; use a wider dtype")
    noise = next_drawn(rn.randint, generator, device, shape=(n,), low=-2 ** 63, high=2 ** 63 - 1, dtype=dt.int64)
    order = argsort.call(noise, dim=0, descending=False)
    return finish(to_dtype(order, d), out, requires_grad, "randperm", device, pin_memory)


# Like another tensor.


def _in_order_of(numbers, input, memory_format):
    """Return new numbers in the requested order of dims."""
    if memory_format is None and input._a.flags.c_contiguous:
        return numbers
    order = requested_order(input, format_of(memory_format))
    if order is None:
        return numbers
    return untaped(in_dim_order, numbers, order).detach().requires_grad_(numbers.requires_grad)


def _publish_like(name, draw, doc):
    """Publish a function that draws numbers with the input's shape; dtype and device default to the input's."""

    def fn(input, *, generator=None, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None):
        require_strided(name, layout)
        require_device(device)
        kind, device = float_dtype(input.dtype if dtype is None else dtype, takes_complex=True), device or input.device
        numbers = finish(next_numbers(draw, generator, device, tuple(input.shape), kind), None, requires_grad, "", device)
        return _in_order_of(numbers, input, memory_format)

    fn.__doc__ = doc
    api(method=False, checked=True, name=name)(fn)


_publish_like("rand_like", rn.uniform, "Return uniform numbers in [0, 1) with the input's shape and dtype.")
_publish_like("randn_like", rn.normal, "Return normal numbers with the input's shape and dtype.")


@api(method=False, checked=True)
def randint_like(input, low=0, high=None, *, generator=None, dtype=None, layout=None, device=None, requires_grad=False,
                 memory_format=None):
    """Return uniform integers in [low, high) (or [0, low)) with the input's shape and dtype."""
    require_strided("randint_like", layout)
    low, high = (0, low) if high is None else (low, high)
    return _in_order_of(randint(low, high, input.shape, generator=generator, dtype=dtype or input.dtype,
                             device=device or input.device, requires_grad=requires_grad), input, memory_format)


# From distributions.


def uniform_of(shape, dtype, generator, device):
    """Return uniform numbers in float32 at least; callers round them to `dtype`."""
    return next_drawn(rn.uniform, generator, device, shape=tuple(shape), dtype=dt.accumulator(dtype))


def tail_of(shape, dtype, generator, device):
    """Return -log of uniform numbers in (0, 1]: exponential of rate 1, never 0."""
    return drawn_from_next(tail, generator, device, shape=tuple(shape), dtype=dt.accumulator(dtype))


def tail(key, *, shape, dtype):
    """Compute `tail_of` from a key."""
    u = rn.uniform.call(key, shape=shape, dtype=dtype)
    return at_least(ew.neg(ew.log1p(ew.neg(u))), 2.0 ** -54 if dtype is dt.float64 else 2.0 ** -25)


def at_least(x, bound):
    """Return the larger of x and a number."""
    return ew.maximum(x, full.call(x, shape=tuple(x.shape), value=bound, dtype=dt.of(x)))


@api(method=False)
def normal(mean=0.0, std=1.0, size=None, *, generator=None, out=None, dtype=None, layout=None, device=None,
           requires_grad=False, pin_memory=False):
    """Return normal numbers of the given mean and deviation, each a tensor or a number; two numbers need a size.

    Gradients of both are zeros, as in PyTorch: a sample counts as a constant. `distributions.Normal.rsample` has those of mean
    + std * noise.
    """
    require_strided("normal", layout)
    require_device(device)
    given = [x for x in (mean, std) if isinstance(x, Tensor)]
    if size is None and not given:
        raise ArgumentError("normal of two numbers needs size=")
    if isinstance(std, (int, float)) and std < 0:
        raise ArgumentError(f"normal takes a deviation of at least 0, got {std}")
    shape = requested_sizes((size,)) if size is not None else broadcast_shapes(*(x.shape for x in given))
    device = given[0].device if given and device is None else device
    d = float_dtype(dtype) if not given else float_dtype(dtype or result_type(*given))
    if not given and d in SCALED and is_here(device) and not tls.m.special and min(shape, default=0) >= 0:
        made = np.empty(shape, d.np)
        tls.m.quietly(fill_with_next, rn.normal, generator, as_float(std), as_float(mean), made)
        return finish(wrap(made), out, requires_grad, "normal", device, pin_memory)
    noise = next_drawn(rn.normal, generator, device, shape=tuple(shape), dtype=d)
    still = [x.detach() if isinstance(x, Tensor) else x for x in (mean, std)]
    result = ew.add(ew.mul(noise, to_dtype(still[1], d)), to_dtype(still[0], d))
    for x in given:
        if tls.m.grad and x.requires_grad:
            never = full(result, shape=tuple(result.shape), value=False, dtype=dt.bool_)
            result = ew.where(never, to_dtype(x, d), result)
    return finish(result, out, requires_grad, "normal", device, pin_memory)


@api(checked=True)
def bernoulli(input, p=None, *, generator=None, out=None):
    """Return 1 with the probability in each element of `input` (or `p` for all), else 0."""
    if p is None and not input.dtype.is_floating_point:
        raise DTypeError(f"bernoulli takes floating point probabilities, got {input.aval}")
    p = p if p is None else as_operand(p, "bernoulli")
    if isinstance(p, (int, float)):
        hit = next_drawn_like(rn.bernoulli_mask, input, generator, shape=tuple(input.shape), p=as_float(p))
        result = ew.cast.call(hit, dtype=input.dtype)
    else:
        chance = input if p is None else expand(p, shape=tuple(input.shape))
        result = _ones(chance.detach() if chance.requires_grad else chance, generator, input.dtype)
    if input.requires_grad:
        result = ew.add(result, ew.mul(input, 0.0))
    return deliver(result, out, "bernoulli")


def _ones(chance, generator, dtype):
    """Return 1 with the probability in each element, else 0."""
    if tls.m.special or not chance.numel():
        ones = drawn_from_next(_ones_below, generator, None, chance, dtype=dtype)
        check_probabilities(chance, "bernoulli")        # once drawn, as below
        return ones
    ones, low, high = drawn_from_next(_ones_and_extremes, generator, None, chance, dtype=dtype)
    _check_extremes(low.item(), high.item(), "bernoulli")
    return ones


def _ones_below(key, chance, *, dtype):
    wide = dt.accumulator(dt.of(chance))
    chance = chance if dt.of(chance) is wide else ew.cast.call(chance, dtype=wide)
    return ew.cast.call(ew.lt.call(rn.uniform.call(key, shape=tuple(chance.shape), dtype=wide), chance), dtype=dtype)


def _ones_and_extremes(key, chance, *, dtype):
    return _ones_below(key, chance, dtype=dtype), *_extremes(chance)


def _extremes(p):
    every = tuple(range(len(p.shape)))
    return tuple([op.call(p, dim=every, keepdim=False) for op in (rd.amin, rd.amax)])


def _check_extremes(low, high, name):
    if not (low >= 0 and high <= 1):
        raise ArgumentError(f"{name} takes probabilities between 0 and 1")


def check_probabilities(p, name):
    """Raise unless all elements are probabilities."""
    if p.numel() and not tls.m.special:
        low, high = untaped(_extremes, p)
        _check_extremes(low.item(), high.item(), name)
        return
    inside = ew.logical_and(ew.ge(p, 0), ew.le(p, 1))
    if not bool(rd.all_(inside, dim=tuple(range(p.ndim)), keepdim=False)):
        raise ArgumentError(f"{name} takes probabilities between 0 and 1")


@api(method=False, name="_standard_gamma")
def standard_gamma(alpha, generator=None):
    """Return gamma numbers of the given concentrations and rate 1, differentiable in the concentrations."""
    return gm.standard_gamma(draw_key_on_device_of(alpha, generator), alpha)


@api(method=False, checked=True)
def poisson(input, generator=None):
    """Return counts of Poisson processes with the given rates."""
    return rn.poisson(draw_key_on_device_of(input, generator), input)


@api(method=False)
def binomial(count, prob, generator=None):
    """Return how many of `count` trials succeed, each with probability `prob`."""
    n, p = FUNCTIONS["broadcast_tensors"](count.detach(), prob.detach())
    return without_rule("binomial", rn.binomial(draw_key_on_device_of(n, generator), n, p), count, prob)


@api(checked=True)
def multinomial(input, num_samples, replacement=False, *, generator=None, out=None):
    """Draw indices with the given weights, from each row."""
    if input.ndim not in (1, 2) or not input.dtype.is_floating_point:
        raise ShapeError(f"multinomial takes one row of floating point weights or several, got {input.aval}")
    n, num_samples = input.shape[-1], one_integer(num_samples, "num_samples")
    if num_samples <= 0 or n == 0 or (not replacement and num_samples > n):
        raise ArgumentError(f"multinomial cannot draw {num_samples} of {n}{'' if replacement else ' without replacement'}")
    weights = to_dtype(input.detach(), dt.accumulator(input.dtype))
    shape, how = (*weights.shape[:-1], num_samples), (_search_in_sums if replacement else _first_by_scores)
    if tls.m.special or weights._a.__class__ is DeviceArray or not weights.numel():
        drawn = drawn_from_next(how, generator, None, weights, shape=shape)
        _check_weights(of_every_sample(lambda p: not p.numel() or bool(untaped(_are_weights, p)), input))
        return deliver(drawn, out, "multinomial")
    drawn, *found = drawn_from_next(_CHECKED[how], generator, None, weights, shape=shape)
    least, most, most_of_rows = [v.item() for v in found]
    _check_weights(least >= 0 and most < math.inf and most_of_rows > 0)     # extremes are nan if a weight is
    return deliver(drawn, out, "multinomial")


def _first_by_scores(key, weights, *, shape):
    """Return the indices with the largest weights, divided by exponential numbers."""
    score = ew.div.call(weights, tail(key, shape=tuple(weights.shape), dtype=dt.of(weights)))
    return arg_topk.call(score, k=shape[-1], dim=len(shape) - 1, largest=True)


def _search_in_sums(key, weights, *, shape):
    """Return the positions of uniform numbers among the running sums of weights."""
    last = len(shape) - 1
    sums = cumsum.call(ew.cast.call(weights, dtype=dt.float64), dim=last)
    total = rd.amax.call(sums, dim=(last,), keepdim=True)
    u = rn.uniform.call(key, shape=shape, dtype=dt.float64)
    return searchsorted.call(sums, ew.mul.call(u, total), right=True)


def _extremes_of_rows(weights):
    """Return the smallest and largest weight of all, and the smallest among the maxima of rows."""
    last = len(weights.shape) - 1
    least, most = _extremes(weights)
    most_of_rows = rd.amax.call(weights, dim=(last,), keepdim=False)
    return least, most, rd.amin.call(most_of_rows, dim=(0,), keepdim=False) if last else most_of_rows


def _checked(how):
    """Return a function that also returns the extremes of the weights."""
    def drawn(key, weights, *, shape):
        return how(key, weights, shape=shape), *_extremes_of_rows(weights)

    return drawn


_CHECKED = {how: _checked(how) for how in (_first_by_scores, _search_in_sums)}


def _are_weights(p):
    least, most, most_of_rows = _extremes_of_rows(p)
    return ew.logical_and(ew.ge(least, 0), ew.logical_and(ew.lt(most, math.inf), ew.gt(most_of_rows, 0)))


def _check_weights(are_weights):
    if not are_weights:
        raise ArgumentError("multinomial takes weights that are finite, not negative, and not all 0 in a row")
