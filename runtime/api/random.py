"""Random tensors: every function draws one key from its generator and computes the numbers from that."""

import functools
import math

import numpy as np

from ...ir import dtype as dt
from ...ir.aval import broadcast_shapes
from ...ir.errors import ArgumentError, DTypeError, ShapeError
from ...ir.ops import counts
from ...ir.ops import elementwise as ew
from ...ir.ops import gamma as gm
from ...ir.ops import random as rn
from ...ir.ops import reduce as rd
from ...ir.ops.scan import cumsum
from ...ir.ops.shape import expand, full
from ...ir.ops.sort import arg_topk, argsort, searchsorted
from ...ir.substitute import as_float, as_int
from .. import random as streams
from ..device import require
from ..dispatch import kernel_of, untaped
from ..random import default_generator, draw_key_beside
from ..state import tls
from ..tensor import Tensor, wrap
from ..writes import write, write_by
from .creation import finish, require_device
from .draws import drawn, float_dtype, is_here, made_of_next, next_drawn, next_drawn_beside, next_numbers
from .every_sample import of_every_sample
from .formats import format_of, laid_out, order_asked
from .promote import as_operand, result_type, to_dtype
from .register import FUNCTIONS, api, deliver
from .shape import sizes_of

for _f in (streams.Generator, streams.manual_seed, streams.seed, streams.initial_seed, streams.get_rng_state,
           streams.set_rng_state):
    FUNCTIONS[_f.__name__] = _f
FUNCTIONS["default_generator"] = streams.default_generator


# From sizes.


def given_sizes(size, named=()) -> tuple:
    """The shape from f(2, 3), f((2, 3)) or f(size=(2, 3))."""
    return sizes_of((named.pop("size"),) if named and "size" in named else size)


@api(method=False)
def rand(*size, generator=None, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False, **named):
    """Uniform in [0, 1), both parts of complex numbers."""
    shape = given_sizes(size, named)
    if named:
        no_more("rand", named)
    if device is not None:
        require(device)
    made = next_numbers(rn.uniform, generator, device, shape, float_dtype(dtype, takes_complex=True))
    return finish(made, out, requires_grad, "rand", device, pin_memory)


@api(method=False)
def randn(*size, generator=None, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False,
          **named):
    """Normal, of mean 0 and deviation 1; of complex numbers both parts, of half that variance."""
    shape = given_sizes(size, named)
    if named:
        no_more("randn", named)
    if device is not None:
        require(device)
    made = next_numbers(rn.normal, generator, device, shape, float_dtype(dtype, takes_complex=True))
    return finish(made, out, requires_grad, "randn", device, pin_memory)


def no_more(name, named):
    """Raises if keyword arguments are left that the function does not have."""
    if named:
        raise DTypeError(f"{name} has no argument {next(iter(named))!r}")


@api(method=False)
def randint(low=0, high=None, size=None, *, generator=None, out=None, dtype=dt.int64, layout=None, device=None,
            requires_grad=False, pin_memory=False):
    """Integers uniform in [low, high), or in [0, high) as randint(high, size)."""
    require_device(device)
    if size is None and (high is None or isinstance(high, int)):
        raise ArgumentError("randint needs the shape of its result as a tuple: randint(low, high, size) or randint(high, size)")
    if size is None or high is None:
        low, high, size = (0, low, high if size is None else size)
    d = dt.int64 if dtype is None else dt.as_dtype(dtype)
    result = next_drawn(rn.randint, generator, device, shape=given_sizes((size,)), low=as_int(low), high=as_int(high), dtype=d)
    return finish(result, out, requires_grad, "randint", device, pin_memory)


@api(method=False)
def randperm(n, *, generator=None, out=None, dtype=dt.int64, layout=None, device=None, requires_grad=False, pin_memory=False):
    """The integers 0 to n-1 in random order."""
    require_device(device)
    if n < 0:
        raise ArgumentError(f"randperm takes a length of at least 0, got {n}")
    noise = next_drawn(rn.randint, generator, device, shape=(n,), low=-2 ** 63, high=2 ** 63 - 1, dtype=dt.int64)
    order = argsort.call(noise, dim=0, descending=False)
    return finish(to_dtype(order, dt.as_dtype(dtype or dt.int64)), out, requires_grad, "randperm", device, pin_memory)


# Like another tensor.


def _lying_as(made, input, memory_format):
    """New numbers, in the order of dims in memory that is asked for."""
    if memory_format is None and input._a.flags.c_contiguous:
        return made
    order = order_asked(input, format_of(memory_format))
    if order is None:
        return made
    return untaped(laid_out, made, order).requires_grad_(made.requires_grad)


def _drawn_like(input, draw, generator, dtype, device, requires_grad, memory_format):
    """Numbers that an operator draws, of the input's shape, and of its dtype and on its device unless said."""
    require_device(device)
    kind, device = float_dtype(input.dtype if dtype is None else dtype, takes_complex=True), device or input.device
    made = finish(next_numbers(draw, generator, device, tuple(input.shape), kind), None, requires_grad, "", device)
    return _lying_as(made, input, memory_format)


@api(method=False, checked=True)
def rand_like(input, *, generator=None, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None):
    """Uniform in [0, 1), of the input's shape and dtype."""
    return _drawn_like(input, rn.uniform, generator, dtype, device, requires_grad, memory_format)


@api(method=False, checked=True)
def randn_like(input, *, generator=None, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None):
    """Normal, of the input's shape and dtype."""
    return _drawn_like(input, rn.normal, generator, dtype, device, requires_grad, memory_format)


@api(method=False, checked=True)
def randint_like(input, low=0, high=None, *, generator=None, dtype=None, layout=None, device=None, requires_grad=False,
                 memory_format=None):
    """Integers uniform in [low, high) (or [0, low)), of the input's shape and dtype."""
    low, high = (0, low) if high is None else (low, high)
    return _lying_as(randint(low, high, input.shape, generator=generator, dtype=dtype or input.dtype,
                             device=device or input.device, requires_grad=requires_grad), input, memory_format)


# From distributions.


def uniform_of(shape, dtype, generator, device):
    """Uniform numbers in float32 at least, rounded to `dtype` by whoever uses them."""
    return next_drawn(rn.uniform, generator, device, shape=tuple(shape), dtype=dt.accumulator(dtype))


def tail_of(shape, dtype, generator, device):
    """-log of a uniform in (0, 1]: exponential of rate 1, never 0."""
    return made_of_next(_tail, generator, device, shape=tuple(shape), dtype=dt.accumulator(dtype))


def _tail(key, *, shape, dtype):
    """As `tail_of` says."""
    u = rn.uniform.call(key, shape=shape, dtype=dtype)
    return at_least(ew.neg(ew.log1p(ew.neg(u))), 2.0 ** -54 if dtype is dt.float64 else 2.0 ** -25)


def at_least(x, bound):
    """The larger of x and a number."""
    return ew.maximum(x, full.call(x, shape=tuple(x.shape), value=bound, dtype=dt.of(x)))


@api(method=False)
def normal(mean=0.0, std=1.0, size=None, *, generator=None, out=None, dtype=None, layout=None, device=None,
           requires_grad=False, pin_memory=False):
    """Normal numbers of the given mean and deviation, each a tensor or a number; two numbers need a size."""
    require_device(device)
    given = [x for x in (mean, std) if isinstance(x, Tensor)]
    if size is None and not given:
        raise ArgumentError("normal of two numbers needs size=")
    if isinstance(std, (int, float)) and std < 0:
        raise ArgumentError(f"normal takes a deviation of at least 0, got {std}")
    shape = given_sizes((size,)) if size is not None else broadcast_shapes(*(x.shape for x in given))
    device = given[0].device if given and device is None else device
    d = float_dtype(dtype) if not given else float_dtype(dtype or result_type(*given))
    if not given and d in _SCALED and is_here(device) and not tls.m.special and min(shape, default=0) >= 0:
        made = np.empty(shape, d.np)
        tls.m.run(_fill, rn.normal, (generator or default_generator).reserve(1), as_float(std), as_float(mean), made)
        return finish(wrap(made), out, requires_grad, "normal", device, pin_memory)
    noise = next_drawn(rn.normal, generator, device, shape=tuple(shape), dtype=d)
    result = ew.add(ew.mul(noise, to_dtype(std, d)), to_dtype(mean, d))
    return finish(result, out, requires_grad, "normal", device, pin_memory)


@api(checked=True)
def bernoulli(input, p=None, *, generator=None, out=None):
    """1 with the probability that each element of `input` says (or `p` for all), else 0."""
    if p is None and not input.dtype.is_floating_point:
        raise DTypeError(f"bernoulli takes floating point probabilities, got {input.aval}")
    p = p if p is None else as_operand(p, "bernoulli")
    if isinstance(p, (int, float)):
        hit = next_drawn_beside(rn.bernoulli_mask, input, generator, shape=tuple(input.shape), p=as_float(p))
        result = ew.cast.call(hit, dtype=input.dtype)
    else:
        chance = input if p is None else expand(p, shape=tuple(input.shape))
        result = _ones(chance.detach() if chance.requires_grad else chance, generator, input.dtype)
    if input.requires_grad:
        result = ew.add(result, ew.mul(input, 0.0))
    return deliver(result, out, "bernoulli")


def _ones(chance, generator, dtype):
    """1 with the probability that each element says, else 0."""
    if tls.m.special or not chance.numel():
        _check_probabilities(chance, "bernoulli")
        return made_of_next(_ones_below, generator, None, chance, dtype=dtype)
    ones, low, high = made_of_next(_ones_and_extremes, generator, None, chance, dtype=dtype)
    _check_extremes(low.item(), high.item(), "bernoulli")
    return ones


def _ones_below(key, chance, *, dtype):
    wide = dt.accumulator(dt.of(chance))
    chance = chance if dt.of(chance) is wide else ew.cast.call(chance, dtype=wide)
    return ew.cast.call(ew.lt.call(rn.uniform.call(key, shape=tuple(chance.shape), dtype=wide), chance), dtype=dtype)


def _ones_and_extremes(key, chance, *, dtype):
    return _ones_below(key, chance, dtype=dtype), *_extremes(chance)


def _extremes(p):
    every = tuple(range(p.ndim))
    return tuple([op.call(p, dim=every, keepdim=False) for op in (rd.amin, rd.amax)])


def _check_extremes(low, high, name):
    if not (low >= 0 and high <= 1):
        raise ArgumentError(f"{name} takes probabilities between 0 and 1")


def _check_probabilities(p, name):
    if p.numel() and not tls.m.special:
        low, high = untaped(_extremes, p)
        _check_extremes(low.item(), high.item(), name)
        return
    inside = ew.logical_and(ew.ge(p, 0), ew.le(p, 1))
    if not bool(rd.all_(inside, dim=tuple(range(p.ndim)), keepdim=False)):
        raise ArgumentError(f"{name} takes probabilities between 0 and 1")


@api(method=False, name="_standard_gamma")
def standard_gamma(alpha, generator=None):
    """Gamma numbers of the given concentrations and rate 1, differentiable in the concentrations."""
    return gm.standard_gamma(draw_key_beside(alpha, generator), alpha)


@api(method=False, checked=True)
def poisson(input, generator=None):
    """Counts of Poisson processes with the given rates."""
    return rn.poisson(draw_key_beside(input, generator), input)


@api(method=False)
def binomial(count, prob, generator=None):
    """How many of `count` trials succeed, each with probability `prob`."""
    count, prob = FUNCTIONS["broadcast_tensors"](count.detach(), prob.detach())
    return counts.binomial(draw_key_beside(count, generator), count, prob)


@api(checked=True)
def multinomial(input, num_samples, replacement=False, *, generator=None, out=None):
    """Indices drawn with the given weights, from each row."""
    _check_weights(input, num_samples, replacement)
    weights = to_dtype(input.detach(), dt.accumulator(input.dtype))
    last = weights.ndim - 1
    if not replacement:
        score = untaped(ew.div, weights, tail_of(weights.shape, weights.dtype, generator, weights.device))
        return deliver(arg_topk.call(score, k=num_samples, dim=last, largest=True), out, "multinomial")
    shape = (*weights.shape[:-1], num_samples)
    return deliver(made_of_next(_found_in_sums, generator, None, weights, shape=shape), out, "multinomial")


def _found_in_sums(key, weights, *, shape):
    """Where uniform numbers fall among the running sums of weights."""
    last = len(shape) - 1
    sums = cumsum.call(ew.cast.call(weights, dtype=dt.float64), dim=last)
    total = rd.amax.call(sums, dim=(last,), keepdim=True)
    u = rn.uniform.call(key, shape=shape, dtype=dt.float64)
    return searchsorted.call(sums, ew.mul(u, total), right=True)


def _check_weights(p, num_samples, replacement):
    if p.ndim not in (1, 2) or not p.dtype.is_floating_point:
        raise ShapeError(f"multinomial takes one row of floating point weights or several, got {p.aval}")
    n = p.shape[-1]
    if num_samples <= 0 or (not replacement and num_samples > n):
        raise ArgumentError(f"multinomial cannot draw {num_samples} of {n} {'' if replacement else 'without replacement'}")
    if not of_every_sample(_hold_weights, p):
        raise ArgumentError("multinomial takes weights that are finite, not negative, and not all 0 in a row")


def _hold_weights(p) -> bool:
    return bool(untaped(_are_weights, p))


def _are_weights(p):
    axes = tuple(range(len(p.shape)))
    valid = rd.all_(ew.logical_and(ew.isfinite(p), ew.ge(p, 0)), dim=axes, keepdim=False)
    some = rd.all_(ew.gt(rd.sum_(p, dim=axes[-1:], keepdim=False), 0), dim=axes[:-1], keepdim=False)
    return ew.logical_and(valid, some)


# In place.


def in_place(fn):
    """Makes fn(self, ..., generator=) a method that writes its result into the tensor."""
    name = fn.__name__

    def method(self, *args, **kwargs):
        return write(self, fn(self, *args, **kwargs), name)

    method.__name__, method.__qualname__, method.__doc__ = name, f"Tensor.{name}", fn.__doc__
    setattr(Tensor, name, method)
    return fn


def _floating(x, name, takes_complex=False):
    if not (x.dtype.is_floating_point or (takes_complex and x.dtype.is_complex)):
        raise DTypeError(f"{name} fills floating point tensors, this one is {x.aval}")
    return x.dtype


def filling(fn):
    """Makes fn(self, ..., generator=) -> (operator, generator, factor, summand) a method that fills the tensor with what the
    operator draws, times the factor, plus the summand; a large one where it lies, without an array of its size beside it."""
    name = fn.__name__

    def method(self, *args, **kwargs):
        draw, generator, factor, summand = fn(self, *args, **kwargs)
        if _lies_open(self):
            place = (generator or default_generator).reserve(1)
            return write_by(self, functools.partial(_fill, draw, place, factor, summand), name)
        noise = drawn(draw, draw_key_beside(self, generator), tuple(self.shape), self.dtype)
        return write(self, ew.add(ew.mul(noise, factor), summand), name)

    method.__name__, method.__qualname__, method.__doc__ = name, f"Tensor.{name}", fn.__doc__
    setattr(Tensor, name, method)
    return fn


_SCALED = (dt.float32, dt.float64)      # dtypes that are drawn, scaled and shifted in one sweep


def _lies_open(x) -> bool:
    """Whether kernels may write a tensor's memory themselves: floats of the processor in a row, and nothing that listens."""
    a = x._a
    return not tls.m.special and a.__class__ is np.ndarray and a.flags.carray and x.dtype in _SCALED


def _fill(draw, place, factor, summand, a):
    kernel_of(draw)(place, shape=a.shape, dtype=dt.BY_NP[a.dtype], out=a, scaled=(factor, summand))


@filling
def normal_(self, mean=0, std=1, *, generator=None):
    """Fills with normal numbers."""
    if std < 0:
        raise ArgumentError(f"normal_ takes a deviation of at least 0, got {std}")
    _floating(self, "normal_", takes_complex=True)
    return rn.normal, generator, as_float(std), as_float(mean)


@filling
def uniform_(self, from_=0, to=1, *, generator=None, **named):
    """Fills with numbers uniform in [from, to); of complex numbers both parts."""
    low = named.pop("from", from_)
    no_more("uniform_", named)
    if low > to:
        raise ArgumentError(f"uniform_ takes from <= to, got {low} and {to}")
    _floating(self, "uniform_", takes_complex=True)
    start = as_float(low)
    return rn.uniform, generator, as_float(to - low), complex(start, start) if self.dtype.is_complex else start


@in_place
def bernoulli_(self, p=0.5, *, generator=None):
    """Fills with 1 with probability p (a number or a tensor), else 0."""
    if isinstance(p, Tensor):
        _check_probabilities(p, "bernoulli_")
        chance = to_dtype(p.detach(), dt.accumulator(p.dtype))
        return ew.lt.call(uniform_of(self.shape, chance.dtype, generator, self.device), expand(chance, shape=tuple(self.shape)))
    return next_drawn_beside(rn.bernoulli_mask, self, generator, shape=tuple(self.shape), p=as_float(p))


def exact_end(d) -> int:
    """One more than the largest integer up to which every one is held exactly by a dtype."""
    if d is dt.bool_:
        return 2
    return 2 ** _MANTISSA[d] + 1 if d.is_floating_point else 2 ** (8 * d.itemsize - (d.kind == dt.SIGNED))


_MANTISSA = {dt.float64: 53, dt.float32: 24, dt.float16: 11, dt.bfloat16: 8}


@in_place
def random_(self, from_=0, to=None, *, generator=None, **named):
    """Fills with integers uniform in [from, to): random_(to), random_(from, to); without ends, all that fit exactly."""
    low = named.pop("from", from_)
    no_more("random_", named)
    if to is None and low:
        low, to = 0, low
    if to is None:
        to = exact_end(self.dtype)
    return next_drawn_beside(rn.randint, self, generator, shape=tuple(self.shape), low=int(low), high=min(int(to), 2 ** 63),
                             dtype=self.dtype)


@in_place
def exponential_(self, lambd=1, *, generator=None):
    """Fills with exponential numbers of rate lambd."""
    if lambd <= 0:
        raise ArgumentError(f"exponential_ takes a rate above 0, got {lambd}")
    wide = dt.accumulator(_floating(self, "exponential_"))
    return made_of_next(_exponential, generator, self.device, shape=tuple(self.shape), dtype=wide, rate=as_float(lambd))


def _exponential(key, *, shape, dtype, rate):
    return ew.div(_tail(key, shape=shape, dtype=dtype), rate)


@in_place
def geometric_(self, p, *, generator=None):
    """Fills with how many trials of probability p it takes to succeed."""
    if not 0 < p < 1:
        raise ArgumentError(f"geometric_ takes a probability between 0 and 1, got {p}")
    wide = dt.accumulator(self.dtype if self.dtype.is_floating_point else dt.float32)
    return made_of_next(_geometric, generator, self.device, shape=tuple(self.shape), dtype=wide, rate=-math.log1p(-p))


def _geometric(key, *, shape, dtype, rate):
    return at_least(ew.ceil(ew.div(_tail(key, shape=shape, dtype=dtype), rate)), 1.0)


@in_place
def log_normal_(self, mean=1, std=2, *, generator=None):
    """Fills with numbers whose logarithm is normal."""
    return made_of_next(_log_normal, generator, self.device, shape=tuple(self.shape), dtype=_floating(self, "log_normal_"),
                        mean=as_float(mean), std=as_float(std))


def _log_normal(key, *, shape, dtype, mean, std):
    return ew.exp(ew.add(ew.mul(rn.normal.call(key, shape=shape, dtype=dtype), std), mean))


@in_place
def cauchy_(self, median=0, sigma=1, *, generator=None):
    """Fills with Cauchy numbers."""
    wide = dt.accumulator(_floating(self, "cauchy_"))
    return made_of_next(_cauchy, generator, self.device, shape=tuple(self.shape), dtype=wide, median=as_float(median),
                        sigma=as_float(sigma))


def _cauchy(key, *, shape, dtype, median, sigma):
    u = rn.uniform.call(key, shape=shape, dtype=dtype)
    return ew.add(ew.mul(ew.tan(ew.mul(ew.sub(u, 0.5), math.pi)), sigma), median)
