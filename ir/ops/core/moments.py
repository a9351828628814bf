"""Composite reductions: mean, variance, deviation, log-sum-exp and norms over dims."""

import math

import numpy as np

from ... import dtype as dt
from ...errors import DTypeError, ShapeError
from ...opdef.aval import Aval
from ...opdef.batch_rules import ALONG
from ...opdef.op import NO_GRAD, Composite, op
from ...opdef.param_checks import check_dims, check_number
from ...symbols.substitute import as_float
from . import elementwise as ew
from .complex_numbers import real
from .elementwise_rules import is_low
from .pointwise import in_wide
from .reduce import all_, amax, amin, back, count_of, infer_reduce, shares, sum_
from .shape import cat, full, reshape


def _wide_ref(fn):
    def ref(x, *, dim, keepdim, **params):
        out = fn(x.astype(np.float32) if is_low(x) else x, dim, keepdim, **params)
        return np.asarray(out, x.dtype)

    return ref


def _ratio(n):
    """1 / n, infinite for 0: a mean of nothing is nan."""
    return 1.0 / n if n > 0 else math.inf


# Mean and variance.


@in_wide
def _mean_body(x, *, dim, keepdim):
    n = count_of(x.shape, dim)
    total = sum_(x, dim=dim, keepdim=keepdim)
    return ew.div(total, as_float(n))


def _mean(x, dim, keepdim):
    return np.sum(x, axis=dim, keepdims=keepdim) / x.dtype.type(count_of(x.shape, dim))


@in_wide
def _shared(g, *, count):
    """The gradient of each of `count` elements, in float32: float16 cannot hold large counts."""
    return ew.div(g, as_float(count))


mean = op("mean", infer=infer_reduce("mean", floats=True), ref=_wide_ref(_mean),
          vjp=(lambda g, out, x, *, dim, keepdim: back(_shared(g, count=count_of(x.shape, dim)), x.shape, dim),),
          lower=Composite(_mean_body), batch=ALONG, traits=("wide_on_gpu",), doc="Mean over dims.")


def _freedom(shape, dim, correction):
    return as_float(max(0, count_of(shape, dim) - correction))


def _centered(x, dim):
    return ew.sub(x, back(mean(x, dim=dim, keepdim=True), x.shape, dim))


@in_wide
def _var_body(x, *, dim, correction, keepdim):
    total = sum_(ew.square(_centered(x, dim)), dim=dim, keepdim=keepdim)
    return ew.div(total, _freedom(x.shape, dim, correction))


def _infer_var(name):
    check = infer_reduce(name, floats=True)

    def infer(x, *, dim, correction, keepdim):
        check_number(correction, "correction")
        return check(x, dim=dim, keepdim=keepdim)

    return infer


def _var(x, dim, keepdim, correction):
    n = x.dtype.type(count_of(x.shape, dim))
    gap = np.asarray(x - np.sum(x, axis=dim, keepdims=True) / n)
    return np.sum(np.square(gap, out=gap), axis=dim, keepdims=keepdim) / x.dtype.type(_freedom(x.shape, dim, correction))


def _var_vjp(g, out, x, *, dim, correction, keepdim):
    scale = ew.mul(g, 2.0 * _ratio(_freedom(x.shape, dim, correction)))
    return ew.mul(_centered(x, dim), back(scale, x.shape, dim))


var = op("var", infer=_infer_var("var"), ref=_wide_ref(_var), vjp=(_var_vjp,), lower=Composite(_var_body),
         numbers=("correction",), batch=ALONG, traits=("rule_as_one",),
         doc="Variance over dims, divided by the count less `correction`.")


@in_wide
def _std_slope(g, out, *, freedom):
    """0 if all elements are equal, and in whatever is computed from it."""
    alike = ew.eq(out, 0.0)
    return ew.where(alike, 0.0, ew.div(g, ew.mul(ew.where(alike, 1.0, out), freedom)))


def _std_vjp(g, out, x, *, dim, correction, keepdim):
    slope = _std_slope(g, out, freedom=_freedom(x.shape, dim, correction))
    return ew.mul(_centered(x, dim), back(slope, x.shape, dim))


@in_wide
def _std_body(x, *, dim, correction, keepdim):
    return ew.sqrt(_var_body(x, dim=dim, correction=correction, keepdim=keepdim))


std = op("std", infer=_infer_var("std"), ref=_wide_ref(lambda *a, **p: np.sqrt(_var(*a, **p))), vjp=(_std_vjp,),
         lower=Composite(_std_body), batch=ALONG, traits=("rule_as_one",), doc="Standard deviation over dims.")


# log(sum(exp(x))).


@in_wide
def _logsumexp_body(x, *, dim, keepdim):
    if not count_of(x.shape, dim):
        return ew.log(sum_(x, dim=dim, keepdim=keepdim))    # of nothing: log(0)
    top = amax(real(x) if dt.of(x).is_complex else x, dim=dim, keepdim=True)
    top = ew.cast(ew.where(ew.isfinite(top), top, 0.0), dtype=dt.of(x))
    total = sum_(ew.exp(ew.sub(x, back(top, x.shape, dim))), dim=dim, keepdim=keepdim)
    return ew.add(ew.log(total), reshape(top, shape=total.shape))


def _logsumexp(x, dim, keepdim):
    top = np.max(x.real, axis=dim, keepdims=True, initial=-np.inf)
    top = np.where(np.isfinite(top), top, top.dtype.type(0))
    total = np.sum(np.exp(x - top), axis=dim, keepdims=keepdim)
    return np.log(total) + top.reshape(total.shape)


def _logsumexp_vjp(g, out, x, *, dim, keepdim):
    level = ew.where(ew.isneginf(out), 0.0, out)      # a sum of nothing but zeros; inf and nan show in the gradient
    return ew.mul(back(g, x.shape, dim), ew.exp(ew.sub(x, back(level, x.shape, dim))))


logsumexp = op("logsumexp", infer=infer_reduce("logsumexp", floats=True), ref=_wide_ref(_logsumexp), vjp=(_logsumexp_vjp,),
               lower=Composite(_logsumexp_body), batch=ALONG,
               traits=("wide_on_gpu", "rule_as_one"), doc="log of the sum of exp(x) over dims, without overflow.")

# Norms.


_infer_sum_of_powers = infer_reduce("vector_norm", floats=True)


def _infer_norm(x, *, ord, dim, keepdim):
    check_number(ord, "ord")
    check_dims(dim, x.ndim)
    if (ord < 0 or ord == math.inf) and count_of(x.shape, dim) == 0:
        raise ShapeError(f"vector_norm of order {ord} of {x} over dim {dim} has no value: nothing is there to be the extreme")
    return _infer_sum_of_powers(x, dim=dim, keepdim=keepdim)


@in_wide
def _norm_body(x, *, ord, dim, keepdim):
    if ord == 2:
        return ew.sqrt(sum_(ew.square(x), dim=dim, keepdim=keepdim))
    if ord == 0:
        return sum_(ew.cast(ew.ne(x, 0.0), dtype=dt.of(x)), dim=dim, keepdim=keepdim)
    size = ew.abs_(x)
    if abs(ord) == math.inf:
        return (amax if ord > 0 else amin)(size, dim=dim, keepdim=keepdim)
    if ord == 1:
        return sum_(size, dim=dim, keepdim=keepdim)
    return ew.pow_(sum_(ew.pow_(size, ord), dim=dim, keepdim=keepdim), 1.0 / ord)


def _norm(x, dim, keepdim, ord):
    if ord == 2:
        return np.sqrt(np.sum(np.square(x), axis=dim, keepdims=keepdim))
    if ord == 0:
        return np.count_nonzero(x, axis=dim, keepdims=keepdim)
    size = np.abs(x)
    if abs(ord) == math.inf:
        return (np.max if ord > 0 else np.min)(size, axis=dim, keepdims=keepdim)
    if ord == 1:
        return np.sum(size, axis=dim, keepdims=keepdim)
    return np.sum(size ** ord, axis=dim, keepdims=keepdim) ** (1.0 / ord)


def _norm_vjp(g, out, x, *, ord, dim, keepdim):
    if ord == 0:
        return full(x, shape=x.shape, value=0, dtype=dt.of(x))
    if ord == 1:
        return ew.mul(ew.sign(x), back(g, x.shape, dim))
    if ord == 2:
        return ew.mul(x, back(ew.div(_unless_zero(out, g), _level(out)), x.shape, dim))
    if abs(ord) == math.inf:
        share, hit = shares(g, ew.abs_(x), out, dim)
        return ew.where(hit, ew.mul(ew.sign(x), share), 0.0)
    part = ew.div(ew.abs_(x), back(_level(out), x.shape, dim))     # whose powers do not overflow, as those of x and out do
    slope = ew.mul(ew.sign(x), ew.pow_(ew.where(ew.eq(x, 0.0), 1.0, part), ord - 1.0))
    return ew.mul(slope, back(_unless_zero(out, g), x.shape, dim))


def _level(out):
    return ew.where(ew.eq(out, 0.0), 1.0, out)


def _unless_zero(out, g):
    return ew.where(ew.eq(out, 0.0), 0.0, g)


vector_norm = op("vector_norm", infer=_infer_norm, ref=_wide_ref(_norm), vjp=(_norm_vjp,), lower=Composite(_norm_body),
                 numbers=("ord",), batch=ALONG,
                 traits=("wide_on_gpu", "rule_as_one"),
                 doc="(sum |x| ** ord) ** (1 / ord) over dims; inf, -inf and 0 as limits.")

# Of many arrays of any shapes: their norms, and whether all elements are finite.


def _dtype_of_all(name, xs) -> dt.DType:
    kinds = {x.dtype for x in xs}
    if len(kinds) != 1 or not xs[0].dtype.is_floating_point:
        raise DTypeError(f"{name} takes floating point arrays of one dtype, got {' and '.join(map(str, xs[:8]))}")
    return xs[0].dtype


def _infer_norms(*xs, ord):
    kind = _dtype_of_all("norms", xs)
    check_number(ord, "ord")
    if (ord < 0 or ord == math.inf) and any(count_of(x.shape, range(x.ndim)) == 0 for x in xs):
        raise ShapeError(f"norms of order {ord} of {' and '.join(map(str, xs[:8]))}: nothing is there to be the extreme")
    return Aval((len(xs),), kind)


def _all_of(x):
    return {"dim": tuple(range(len(x.shape))), "keepdim": False}


def _norms_body(*xs, ord):
    parts = [reshape(vector_norm(x, ord=ord, **_all_of(x)), shape=(1,)) for x in xs]
    return cat(*parts, dim=0)


norms = op("norms", infer=_infer_norms, vjp=NO_GRAD, lower=Composite(_norms_body),
           ref=lambda *xs, ord: np.stack([vector_norm.ref(x, ord=ord, **_all_of(x)) for x in xs]),
           doc="The vector norm of each array, in one array, for who looks at gradients: it has none itself.")


def _infer_finite(*xs):
    _dtype_of_all("all_finite", xs)
    return Aval((), dt.bool_)


def _finite_body(*xs):
    parts = [reshape(all_(ew.isfinite(x), **_all_of(x)), shape=(1,)) for x in xs]
    return all_(cat(*parts, dim=0), dim=(0,), keepdim=False)


all_finite = op("all_finite", infer=_infer_finite, vjp=NO_GRAD, lower=Composite(_finite_body),
                ref=lambda *xs: np.array(all(np.isfinite(x).all() for x in xs)),
                doc="Whether no element of any array is infinite or nan.")
