"""Reductions as users call them."""

from ...ir import dtype as dt
from ...ir.aval import canonical_dims
from ...ir.ops import elementwise as ew
from ...ir.ops import reduce as rd
from .promote import to_dtype
from .register import api, deliver


def dims_of(input, dim):
    """The dims a reduction runs over: all for None or ()."""
    return canonical_dims(None if dim == () else dim, input.ndim)


@api()
def sum(input, dim=None, keepdim=False, *, dtype=None, out=None):
    """Sum over dims (all unless said); integers and bools are summed in int64."""
    x = to_dtype(input, dt.as_dtype(dtype) if dtype else input.dtype if input.dtype.is_inexact else dt.int64)
    return deliver(rd.sum_(x, dim=dims_of(x, dim), keepdim=keepdim), out, "sum")


@api()
def all(input, dim=None, keepdim=False, *, out=None):
    """Whether all elements are nonzero."""
    return deliver(rd.all_(input, dim=dims_of(input, dim), keepdim=keepdim), out, "all")


@api()
def any(input, dim=None, keepdim=False, *, out=None):
    """Whether any element is nonzero."""
    return deliver(rd.any_(input, dim=dims_of(input, dim), keepdim=keepdim), out, "any")


@api()
def amax(input, dim=(), keepdim=False, *, out=None):
    """Largest values; ties share the gradient equally."""
    return deliver(rd.amax(input, dim=dims_of(input, dim), keepdim=keepdim), out, "amax")


@api()
def amin(input, dim=(), keepdim=False, *, out=None):
    """Smallest values; ties share the gradient equally."""
    return deliver(rd.amin(input, dim=dims_of(input, dim), keepdim=keepdim), out, "amin")


_ = ew
