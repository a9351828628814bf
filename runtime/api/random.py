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
from ..dispatch import kernel_of, untaped
from ..random import draw_key, draw_key_beside
from ..state import tls
from ..tensor import Tensor
from ..writes import write, write_by
from .creation import finish, require_device
from .draws import drawn, float_dtype
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
    return sizes_of((named.pop("size"),) if "size" in named else size)


@api(method=False)
def rand(*size, generator=None, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False, **named):
    """Uniform in [0, 1), both parts of complex numbers."""
    shape = given_sizes(size, named)
    no_more("rand", named)
    require_device(device)
    made = drawn(rn.uniform, draw_key(generator, device), shape, float_dtype(dtype, takes_complex=True))
    return finish(made, out, requires_grad, "rand", device, pin_memory)


@api(method=False)
def randn(*size, generator=None, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False,
          **named):
    """Normal, of mean 0 and deviation 1; of complex numbers both parts, of half that variance."""
    shape = given_sizes(size, named)
    no_more("randn", named)
    require_device(device)
    made = drawn(rn.normal, draw_key(generator, device), shape, float_dtype(dtype, takes_complex=True))
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
    low, high, key = as_int(low), as_int(high), draw_key(generator, device)
    result = rn.randint.call(key, shape=given_sizes((size,)), low=low, high=high, dtype=d)
    return finish(result, out, requires_grad, "randint", device, pin_memory)


@api(method=False)
def randperm(n, *, generator=None, out=None, dtype=dt.int64, layout=None, device=None, requires_grad=False, pin_memory=False):
    """The integers 0 to n-1 in random order."""
    require_device(device)
    if n < 0:
        raise ArgumentError(f"randperm takes a length of at least 0, got {n}")
    order = untaped(_order_of_noise, draw_key(generator, device), n)
    return finish(to_dtype(order, dt.as_dtype(dtype or dt.int64)), out, requires_grad, "randperm", device, pin_memory)


def _order_of_noise(key, n):
    keys = rn.randint.call(key, shape=(n,), low=-2 ** 63, high=2 ** 63 - 1, dtype=dt.int64)
    return argsort.call(keys, dim=0, descending=False)


# Like another tensor.


def _lying_as(made, input, memory_format):
    """New numbers, in the order of dims in memory that is asked for."""
    order = order_asked(input, format_of(memory_format))
    if order is None:
        return made
    return untaped(laid_out, made, order).requires_grad_(made.requires_grad)


@api(method=False, checked=True)
def rand_like(input, *, generator=None, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None):
    """Uniform in [0, 1), of the input's shape and dtype."""
    return _lying_as(rand(generator=generator, dtype=dtype or input.dtype, device=device or input.device,
                          requires_grad=requires_grad, size=input.shape), input, memory_format)


@api(method=False, checked=True)
def randn_like(input, *, generator=None, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None):
    """Normal, of the input's shape and dtype."""
    return _lying_as(randn(generator=generator, dtype=dtype or input.dtype, device=device or input.device,
                           requires_grad=requires_grad, size=input.shape), input, memory_format)


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
    return rn.uniform.call(draw_key(generator, device), shape=tuple(shape), dtype=dt.accumulator(dtype))


def tail_of(shape, dtype, generator, device):
    """-log of a uniform in (0, 1]: exponential of rate 1, never 0."""
    return untaped(_tail, draw_key(generator, device), tuple(shape), dt.accumulator(dtype))


def _tail(key, shape, dtype):
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
    noise = rn.normal.call(draw_key(generator, device), shape=tuple(shape), dtype=d)
    result = ew.add(ew.mul(noise, to_dtype(std, d)), to_dtype(mean, d))
    return finish(result, out, requires_grad, "normal", device, pin_memory)


@api(checked=True)
def bernoulli(input, p=None, *, generator=None, out=None):
    """1 with the probability that each element of `input` says (or `p` for all), else 0."""
    if p is None and not input.dtype.is_floating_point:
        raise DTypeError(f"bernoulli takes floating point probabilities, got {input.aval}")
    p = p if p is None else as_operand(p, "bernoulli")
    if isinstance(p, (int, float)):
        hit = rn.bernoulli_mask.call(draw_key_beside(input, generator), shape=tuple(input.shape), p=as_float(p))
        result = ew.cast.call(hit, dtype=input.dtype)
    else:
        chance = input if p is None else expand(p, shape=tuple(input.shape))
        _check_probabilities(chance, "bernoulli")
        result = untaped(_ones_below, draw_key_beside(input, generator), chance.detach() if chance.requires_grad else chance,
                         dt.accumulator(chance.dtype), input.dtype)
    if input.requires_grad:
        result = ew.add(result, ew.mul(input, 0.0))
    return deliver(result, out, "bernoulli")


def _ones_below(key, chance, wide, dtype):
    chance = chance if dt.of(chance) is wide else ew.cast.call(chance, dtype=wide)
    return ew.cast.call(ew.lt.call(rn.uniform.call(key, shape=tuple(chance.shape), dtype=wide), chance), dtype=dtype)


def _extremes(p):
    every = tuple(range(p.ndim))
    return [op.call(p, dim=every, keepdim=False).item() for op in (rd.amin, rd.amax)]


def _check_probabilities(p, name):
    if p.numel() and not tls.m.special:
        low, high = untaped(_extremes, p)
        if low >= 0 and high <= 1:
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
    return deliver(untaped(_found_in_sums, weights, draw_key_beside(weights, generator), shape), out, "multinomial")


def _found_in_sums(weights, key, shape):
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
    """Makes fn(self, ..., generator=) -> (operator, key, factor, summand) a method that fills the tensor with what the operator
    draws, times the factor, plus the summand; a large one where it lies, without an array of its size beside it."""
    name = fn.__name__

    def method(self, *args, **kwargs):
        draw, key, factor, summand = fn(self, *args, **kwargs)
        if _lies_open(self):
            return write_by(self, functools.partial(_fill, draw, key._a, factor, summand), name)
        noise = drawn(draw, key, tuple(self.shape), self.dtype)
        return write(self, ew.add(ew.mul(noise, factor), summand), name)

    method.__name__, method.__qualname__, method.__doc__ = name, f"Tensor.{name}", fn.__doc__
    setattr(Tensor, name, method)
    return fn


def _lies_open(x) -> bool:
    """Whether kernels may write a tensor's memory themselves: floats of the processor in a row, and nothing that listens."""
    a = x._a
    return not tls.m.special and a.__class__ is np.ndarray and x.dtype in (dt.float32, dt.float64) and a.flags.carray


def _fill(draw, key, factor, summand, a):
    kernel_of(draw)(key, shape=a.shape, dtype=dt.BY_NP[a.dtype], out=a, scaled=(factor, summand))


@filling
def normal_(self, mean=0, std=1, *, generator=None):
    """Fills with normal numbers."""
    if std < 0:
        raise ArgumentError(f"normal_ takes a deviation of at least 0, got {std}")
    _floating(self, "normal_", takes_complex=True)
    return rn.normal, draw_key_beside(self, generator), as_float(std), as_float(mean)


@filling
def uniform_(self, from_=0, to=1, *, generator=None, **named):
    """Fills with numbers uniform in [from, to); of complex numbers both parts."""
    low = named.pop("from", from_)
    no_more("uniform_", named)
    if low > to:
        raise ArgumentError(f"uniform_ takes from <= to, got {low} and {to}")
    _floating(self, "uniform_", takes_complex=True)
    start = as_float(low)
    return (rn.uniform, draw_key_beside(self, generator), as_float(to - low),
            complex(start, start) if self.dtype.is_complex else start)


@in_place
def bernoulli_(self, p=0.5, *, generator=None):
    """Fills with 1 with probability p (a number or a tensor), else 0."""
    if isinstance(p, Tensor):
        _check_probabilities(p, "bernoulli_")
        chance = to_dtype(p.detach(), dt.accumulator(p.dtype))
        return ew.lt.call(uniform_of(self.shape, chance.dtype, generator, self.device), expand(chance, shape=tuple(self.shape)))
    return rn.bernoulli_mask.call(draw_key_beside(self, generator), shape=tuple(self.shape), p=as_float(p))


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
    key, high = draw_key_beside(self, generator), min(int(to), 2 ** 63)
    return rn.randint.call(key, shape=tuple(self.shape), low=int(low), high=high, dtype=self.dtype)


@in_place
def exponential_(self, lambd=1, *, generator=None):
    """Fills with exponential numbers of rate lambd."""
    if lambd <= 0:
        raise ArgumentError(f"exponential_ takes a rate above 0, got {lambd}")
    return ew.div(tail_of(self.shape, _floating(self, "exponential_"), generator, self.device), as_float(lambd))


@in_place
def geometric_(self, p, *, generator=None):
    """Fills with how many trials of probability p it takes to succeed."""
    if not 0 < p < 1:
        raise ArgumentError(f"geometric_ takes a probability between 0 and 1, got {p}")
    tail = tail_of(self.shape, self.dtype if self.dtype.is_floating_point else dt.float32, generator, self.device)
    return at_least(ew.ceil(ew.div(tail, -math.log1p(-p))), 1.0)


@in_place
def log_normal_(self, mean=1, std=2, *, generator=None):
    """Fills with numbers whose logarithm is normal."""
    noise = rn.normal.call(draw_key_beside(self, generator), shape=tuple(self.shape), dtype=_floating(self, "log_normal_"))
    return ew.exp(ew.add(ew.mul(noise, as_float(std)), as_float(mean)))


@in_place
def cauchy_(self, median=0, sigma=1, *, generator=None):
    """Fills with Cauchy numbers."""
    u = uniform_of(self.shape, _floating(self, "cauchy_"), generator, self.device)
    return ew.add(ew.mul(ew.tan(ew.mul(ew.sub(u, 0.5), math.pi)), as_float(sigma)), as_float(median))

