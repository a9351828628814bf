"""Scans along one dim: running sums, products and extremes, and the linear recurrence behind their gradients."""

from itertools import accumulate

import numpy as np

from ... import dtype as dt
from ...errors import DTypeError, ShapeError
from ...opdef.batch_rules import ALONG
from ...opdef.derived_gradients import derived_vjp
from ...opdef.op import OPS, Template, op
from ...opdef.param_checks import check_dim
from ...reference.scalar_functions import copied, logaddexp
from . import elementwise as ew
from .elementwise_rules import is_low
from .shape import flip, full, pad

_FEW_ROWS = 8   # below this many rows a scan runs row by row over Python floats: a numpy call per step would cost more


def infer_scan(name, floats=False):
    """Return the shape rule of a scan along `dim`."""
    def infer(x, *, dim):
        if x.ndim == 0:
            raise ShapeError(f"{name} runs along a dimension, {x} has none")
        check_dim(dim, x.ndim)
        if floats and not x.dtype.is_inexact:
            raise DTypeError(f"{name} takes floating point types, got {x}; cast with .to()")
        return x

    return infer


def _wide(fn):
    """Carry float16 and bfloat16 in float32 and round every element once."""

    def ref(x, *, dim):
        return np.asarray(fn(copied(x, np.float32) if is_low(x) else x, dim), x.dtype)

    return ref


def flipped(fn, x, dim):
    """Run a scan from the end."""
    return flip(fn(flip(x, dims=(dim,))), dims=(dim,))


def shifted(x, dim, by, fill):
    """Shift `x` along `dim` by one place forwards (by=1) or backwards (by=-1); `fill` enters at the free end."""
    ends = tuple(by if d == dim else 0 for d in range(len(x.shape)))
    return pad(x, low=ends, high=tuple(-e for e in ends), interior=(0,) * len(ends), value=fill)


cumsum = op("cumsum", infer=infer_scan("cumsum"), ref=_wide(lambda x, dim: np.cumsum(x, axis=dim, dtype=x.dtype)),
            vjp=(lambda g, out, x, *, dim: flipped(lambda v: cumsum(v, dim=dim), g, dim),), lower=Template("scan"), batch=ALONG,
            traits=("wide_on_gpu",),
            doc="Sums of everything up to and including each element.")


# The linear recurrence h[t] = a[t] * h[t-1] + b[t], with h[-1] = 0.


def _infer_linear_scan(a, b, *, dim):
    if a.dtype is not b.dtype or not a.dtype.is_inexact:
        raise DTypeError(f"linear_scan takes two arguments of one floating point or complex type, got {a} and {b}")
    if a.shape != b.shape or a.ndim == 0:
        raise ShapeError(f"linear_scan takes two arguments of one shape with at least one dimension, got {a} and {b}")
    check_dim(dim, b.ndim)
    return b


def _recur(a, b):
    rows = a[0].size if len(a) else 0
    if 0 < rows < _FEW_ROWS:
        flat = [list(accumulate(zip(ak.tolist(), bk.tolist()), lambda h, ab: (0.0, ab[0] * h[1] + ab[1]), initial=(0.0, 0.0)))
                for ak, bk in zip(a.reshape(len(a), rows).T, b.reshape(len(b), rows).T)]
        return np.array([[h for _, h in row[1:]] for row in flat]).T.reshape(b.shape)
    out = np.empty_like(b)
    h = np.zeros(b.shape[1:], b.dtype)
    for t in range(len(b)):
        h = np.add(np.multiply(a[t], h), b[t], out=out[t, ...])
    return out


def _linear_scan(a, b, *, dim):
    kind = b.dtype
    if is_low(b):
        a, b = a.astype(np.float32), b.astype(np.float32)
    out = _recur(np.moveaxis(a, dim, 0), np.moveaxis(b, dim, 0))
    return np.ascontiguousarray(np.moveaxis(out, 0, dim)).astype(kind, copy=False)


def _pulled_back(g, a, dim):
    """The recurrence backwards: the gradient of each b."""
    later = shifted(a, dim, -1, 0.0)
    return flip(linear_scan(flip(later, dims=(dim,)), flip(g, dims=(dim,)), dim=dim), dims=(dim,))


linear_scan = op("linear_scan", infer=_infer_linear_scan, ref=_linear_scan,
                 vjp=(lambda g, out, a, b, *, dim: ew.mul(_pulled_back(g, a, dim), shifted(out, dim, 1, 0.0)),
                      lambda g, out, a, b, *, dim: _pulled_back(g, a, dim)),
                 lower=Template("scan"), batch=ALONG, doc="h[t] = a[t] * h[t-1] + b[t] along a dimension, starting from 0.")


def _cumprod_vjp(g, out, x, *, dim):
    """The product before an element times the weights of the products after it: without a division, zeros need no care."""
    before = shifted(out, dim, 1, 1.0)
    return ew.mul(before, _pulled_back(g, x, dim))


cumprod = op("cumprod", infer=infer_scan("cumprod"), ref=_wide(lambda x, dim: np.cumprod(x, axis=dim, dtype=x.dtype)),
             vjp=(_cumprod_vjp,), lower=Template("scan"), batch=ALONG,
             traits=("wide_on_gpu",), doc="Products of everything up to and including each element.")


def _others(x, dim):

    def before(v):
        found = np.ones_like(v)
        np.cumprod(v[:-1], axis=0, dtype=v.dtype, out=found[1:])
        return found

    rows = np.moveaxis(x, dim, 0)
    return np.moveaxis(before(rows) * before(rows[::-1])[::-1], 0, dim)


def products_from_both_ends(x, *, dim):
    """Return, for each element, the product of all before times that of all after."""
    def before(v):
        return shifted(cumprod(v, dim=dim), dim, 1, 1.0)

    return ew.mul(before(x), flipped(before, x, dim))


products_of_others = op("products_of_others", infer=infer_scan("products_of_others", floats=True), ref=_wide(_others),
                        vjp=derived_vjp(products_from_both_ends), saves=(1,), lower=Template("scan"), batch=ALONG,
                        doc="For each element the product of all others along a dimension.")


def _is_nothing(x):
    return ew.isneginf(OPS["real"](x) if dt.of(x).is_complex else x)


def _log_sums(x, dim):
    if x.dtype.kind != "c":
        return np.logaddexp.accumulate(x, axis=dim)
    out = copied(x, x.dtype)
    rows = np.moveaxis(out, dim, 0)
    for t in range(1, len(rows)):
        rows[t] = logaddexp(rows[t], rows[t - 1])
    return out


def _logcumsumexp_vjp(g, out, x, *, dim):
    """Weights exp(out[t] - out[t+1]) are at most 1, so nothing overflows."""
    level = ew.where(_is_nothing(out), 0.0, out)
    ratio = ew.exp(ew.sub(shifted(level, dim, 1, 0.0), level))
    ratio = ew.where(_is_nothing(shifted(out, dim, 1, float("-inf"))), 0.0, ratio)
    return ew.mul(ew.exp(ew.sub(x, level)), _pulled_back(g, ratio, dim))


logcumsumexp = op("logcumsumexp", infer=infer_scan("logcumsumexp", floats=True),
                  ref=_wide(_log_sums), vjp=(_logcumsumexp_vjp,),
                  lower=Template("scan"), batch=ALONG, doc="log of the running sum of exp(x), without overflow.")


# Running extremes: the value, and where it was seen last.


def _infer_extreme(name):
    check = infer_scan(name)

    def infer(x, *, dim):
        if x.dtype.is_complex:
            raise DTypeError(f"{name} takes numbers that have an order, got {x}; take their real(), imag() or abs()")
        return check(x, dim=dim), x.with_dtype(dt.int64)

    return infer


def _running(ufunc):
    def ref(x, *, dim):
        wide = x.astype(np.float32) if is_low(x) else x
        best = ufunc.accumulate(wide, axis=dim)
        hit = wide == best
        if wide.dtype.kind == "f":
            hit |= np.isnan(wide)
        where = np.arange(x.shape[dim]).reshape((-1,) + (1,) * (x.ndim - 1 - dim))
        last = np.maximum.accumulate(np.where(hit, where, 0), axis=dim)
        return best.astype(x.dtype, copy=False), last

    return ref


def _running_vjp(g, out, x, *, dim, needs):
    zeros = full(g, shape=g.shape, value=0, dtype=dt.of(g))
    return (OPS["scatter"](zeros, out[1], g, dim=dim, mode="add"),)


cummax = op("cummax", infer=_infer_extreme("cummax"), ref=_running(np.maximum), vjp=_running_vjp, saves=((1,),),
            lower=Template("scan"), batch=ALONG, traits=("exact",), doc="Running maximum and the index where it was seen last.")
cummin = op("cummin", infer=_infer_extreme("cummin"), ref=_running(np.minimum), vjp=_running_vjp, saves=((1,),),
            lower=Template("scan"), batch=ALONG, traits=("exact",), doc="Running minimum and the index where it was seen last.")
