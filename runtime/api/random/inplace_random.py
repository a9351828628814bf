"""Random fills of existing tensors: `normal_`, `exponential_` and others."""

import functools
import math
from typing import Any

import numpy as np

from ....ir import dtype as dt
from ....ir.errors import ArgumentError, DTypeError
from ....ir.ops.core import elementwise as ew
from ....ir.ops.core import random as rn
from ....ir.ops.core.shape import expand
from ....ir.symbols.number_functions import log1p
from ....ir.symbols.substitute import as_float
from ...core.random import draw_key_on_device_of
from ...core.tensor import Tensor
from ...core.writes import write, write_by
from ...state.mode import tls
from ..register.lazy_methods import put_method
from ..register.type_promotion import to_dtype
from .generator_draws import SCALED, drawn, drawn_from_next, fill_with_next, next_drawn_like
from .random_tensors import at_least, check_probabilities, check_range, exact_end, no_more, tail, uniform_of


def in_place(fn):
    """Make fn(self, ..., generator=) a method that writes its result into the tensor."""
    name = fn.__name__

    def method(self, *args, **kwargs):
        return write(self, fn(self, *args, **kwargs), name)

    method.__name__, method.__qualname__, method.__doc__ = name, f"Tensor.{name}", fn.__doc__
    put_method(name, method)
    return fn


def _floating(x, name, takes_complex=False):
    if not (x.dtype.is_floating_point or (takes_complex and x.dtype.is_complex)):
        raise DTypeError(f"{name} fills floating point tensors, this one is {x.aval}")
    return x.dtype


def filling(fn):
    """Make fn(self, ..., generator=) -> (operator, generator, factor, summand) a method that fills the tensor with the draw.
    Draws are multiplied by the factor, then the summand is added. A large tensor is filled without an array beside it."""
    name = fn.__name__

    def method(self, *args, **kwargs):
        draw, generator, factor, summand = fn(self, *args, **kwargs)
        if _is_writable_by_kernels(self):
            return write_by(self, functools.partial(fill_with_next, draw, generator, factor, summand), name)
        noise = drawn(draw, draw_key_on_device_of(self, generator), tuple(self.shape), self.dtype)
        return write(self, ew.add(ew.mul(noise, factor), summand), name)

    method.__name__, method.__qualname__, method.__doc__ = name, f"Tensor.{name}", fn.__doc__
    put_method(name, method)
    return fn


def _is_writable_by_kernels(x) -> bool:
    """Return whether kernels may write a tensor's memory: contiguous floats on the host, and nothing listens."""
    a = x._a
    return not tls.m.special and a.__class__ is np.ndarray and a.flags.carray and x.dtype in SCALED


@filling
def normal_(self, mean=0, std=1, *, generator=None):
    """Fill with normal numbers."""
    if std < 0:
        raise ArgumentError(f"normal_ takes a deviation of at least 0, got {std}")
    _floating(self, "normal_", takes_complex=True)
    return rn.normal, generator, as_float(std), as_float(mean)


@filling
def uniform_(self, from_=0, to=1, *, generator=None, **named):
    """Fill with uniform numbers in [from, to); both parts of complex numbers."""
    low = named.pop("from", from_)
    no_more(uniform_, "uniform_", named)
    if low > to:
        raise ArgumentError(f"uniform_ takes from <= to, got {low} and {to}")
    _floating(self, "uniform_", takes_complex=True)
    start = as_float(low)
    return rn.uniform, generator, as_float(to - low), complex(start, start) if self.dtype.is_complex else start


@in_place
def bernoulli_(self, p=0.5, *, generator=None):
    """Fill with 1 with probability p (a number or a tensor), else 0."""
    if isinstance(p, Tensor):
        check_probabilities(p, "bernoulli_")
        chance = to_dtype(p.detach(), dt.accumulator(p.dtype))
        return ew.lt.call(uniform_of(self.shape, chance.dtype, generator, self.device), expand(chance, shape=tuple(self.shape)))
    return next_drawn_like(rn.bernoulli_mask, self, generator, shape=tuple(self.shape), p=as_float(p))


_UNSAID: Any = object()


@in_place
def random_(self, from_=0, to=_UNSAID, *, generator=None, **named):
    """Fill with uniform integers in [from, to): random_(to), random_(from, to); by default all that the dtype holds
    exactly."""
    low = named.pop("from", from_)
    no_more(random_, "random_", named)
    if to is _UNSAID:
        low, to = (0, low) if low else (0, None)
    to = exact_end(self.dtype) if to is None else to
    check_range("random_", int(low), int(to), self.dtype)
    return next_drawn_like(rn.randint, self, generator, shape=tuple(self.shape), low=int(low), high=min(int(to), 2 ** 63),
                             dtype=self.dtype)


@in_place
def exponential_(self, lambd=1, *, generator=None):
    """Fill with exponential numbers of rate lambd."""
    if lambd <= 0:
        raise ArgumentError(f"exponential_ takes a rate above 0, got {lambd}")
    wide = dt.accumulator(_floating(self, "exponential_"))
    return drawn_from_next(_exponential, generator, self.device, shape=tuple(self.shape), dtype=wide, rate=as_float(lambd))


def _exponential(key, *, shape, dtype, rate):
    return ew.div(tail(key, shape=shape, dtype=dtype), rate)


@in_place
def geometric_(self, p, *, generator=None):
    """Fill with the number of trials of probability p until success."""
    if not 0 < p < 1:
        raise ArgumentError(f"geometric_ takes a probability between 0 and 1, got {p}")
    wide = dt.accumulator(self.dtype if self.dtype.is_floating_point else dt.float32)
    return drawn_from_next(_geometric, generator, self.device, shape=tuple(self.shape), dtype=wide, rate=-log1p(-p))


def _geometric(key, *, shape, dtype, rate):
    return at_least(ew.ceil(ew.div(tail(key, shape=shape, dtype=dtype), rate)), 1.0)


@in_place
def log_normal_(self, mean=1, std=2, *, generator=None):
    """Fill with numbers whose logarithm is normal."""
    if std <= 0:
        raise ArgumentError(f"log_normal_ takes a deviation above 0, got {std}")
    return drawn_from_next(_log_normal, generator, self.device, shape=tuple(self.shape), dtype=_floating(self, "log_normal_"),
                        mean=as_float(mean), std=as_float(std))


def _log_normal(key, *, shape, dtype, mean, std):
    return ew.exp(ew.add(ew.mul(rn.normal.call(key, shape=shape, dtype=dtype), std), mean))


@in_place
def cauchy_(self, median=0, sigma=1, *, generator=None):
    """Fill with Cauchy numbers."""
    if sigma <= 0:
        raise ArgumentError(f"cauchy_ takes a sigma above 0, got {sigma}")
    wide = dt.accumulator(_floating(self, "cauchy_"))
    return drawn_from_next(_cauchy, generator, self.device, shape=tuple(self.shape), dtype=wide, median=as_float(median),
                        sigma=as_float(sigma))


def _cauchy(key, *, shape, dtype, median, sigma):
    u = rn.uniform.call(key, shape=shape, dtype=dtype)
    return ew.add(ew.mul(ew.tan(ew.mul(ew.sub(u, 0.5), math.pi)), sigma), median)
