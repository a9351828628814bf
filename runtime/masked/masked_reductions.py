"""Reductions of the elements that a mask selects (True selects). Masks broadcast to the input; masked tensors have their own.

If nothing is selected, the result is the neutral element (0 for a sum, -inf for a maximum), or nan if there is none. Elements
that are not selected do not influence gradients either, nan and infinities included.
"""

from collections.abc import Callable
from functools import wraps
from math import inf, nan
from typing import Any, TypeVar

from ...ir import dtype as dt
from ...ir.errors import ArgumentError, DTypeError, ShapeError
from ...ir.opdef.aval import canonical_dims
from ..api.math.reductions import vector_norm
from ..api.views.tensor_factories import ones
from ..core.tensor import Tensor
from .masked_tensor_class import MaskedTensor

__all__ = ["amax", "amin", "argmax", "argmin", "cumprod", "cumsum", "log_softmax", "logaddexp", "logsumexp", "mean", "median",
           "norm", "normalize", "prod", "softmax", "softmin", "std", "sum", "var"]


F = TypeVar("F", bound=Callable)


def _values_and_mask(x, mask):
    """Return plain values and a mask; for a masked tensor both masks combined."""
    if not isinstance(x, MaskedTensor):
        return x, mask
    return x.get_data(), x.get_mask() if mask is None else x.get_mask() & _over(x, mask, "mask")


def of_masked(fn: F) -> F:
    """Return a function that takes masked tensors as well; its result is a plain tensor."""

    @wraps(fn)
    def public(input, *args, mask=None, **kwargs):
        input, mask = _values_and_mask(input, mask)
        return fn(input, *args, mask=mask, **kwargs)

    return public       # type: ignore[return-value]


def _selected(input: Tensor, mask, fill, name) -> Tensor:
    """Return the input with a number in place of elements that are not selected."""
    mask = _over(input, mask, name)
    return input if mask is None else input.where(mask, fill)


def _over(input, mask, name):
    if mask is None:
        return None
    sizes = input.shape[input.ndim - mask.ndim:] if isinstance(mask, Tensor) and mask.ndim <= input.ndim else None
    if sizes is None or any(n not in (1, size) for n, size in zip(mask.shape, sizes)):
        got = mask.aval if isinstance(mask, Tensor) else type(mask).__name__
        raise ShapeError(f"masked.{name} of {input.aval} takes a mask that can be laid out over it, got {got}")
    return mask.to(dt.bool_).expand(input.shape)


def _least(d):
    return -inf if d.is_inexact else False if d is dt.bool_ else dt.int_range(d)[0]


def _most(d):
    return inf if d.is_inexact else True if d is dt.bool_ else dt.int_range(d)[1]


def _dims(input, dim) -> tuple:
    return canonical_dims(None if dim is None or dim == () else dim, input.ndim)


def _as(result, dtype) -> Tensor:
    return result if dtype is None else result.to(dtype)


@of_masked
def sum(input, dim=None, *, keepdim=False, dtype=None, mask=None) -> Tensor:
    """Return the sum of the selected elements over some dimensions (all by default)."""
    return _selected(input, mask, 0, "sum").sum(_dims(input, dim), bool(keepdim), dtype=dtype)


@of_masked
def prod(input, dim=None, *, keepdim=False, dtype=None, mask=None) -> Tensor:
    """Return the product of the selected elements over some dimensions (all by default)."""
    result = _selected(input, mask, 1, "prod")
    result = result.to(dt.int64) if dtype is None and not result.dtype.is_inexact else result
    for d in sorted(_dims(input, dim), reverse=True):
        result = result.prod(d, bool(keepdim), dtype=dtype)
    return _as(result, dtype)


def _named(fn, name, doc):
    fn.__name__ = fn.__qualname__ = name
    fn.__doc__ = doc
    return of_masked(fn)


def _scan(name, neutral, doc):
    def fn(input, dim, *, dtype=None, mask=None) -> Tensor:
        return getattr(_selected(input, mask, neutral, name), name)(dim, dtype=dtype)

    return _named(fn, name, doc)


cumsum = _scan("cumsum", 0, "Return running sums of the selected elements along a dimension.")
cumprod = _scan("cumprod", 1, "Return running products of the selected elements along a dimension.")


def _extreme(name, worst, dims_of, doc):
    def fn(input, dim=None, *, keepdim=False, dtype=None, mask=None) -> Tensor:
        return _as(getattr(_selected(input, mask, worst(input.dtype), name), name)(dims_of(input, dim), bool(keepdim)), dtype)

    return _named(fn, name, doc)


amax = _extreme("amax", _least, _dims, "Return the largest of the selected elements over some dimensions (all by default).")
amin = _extreme("amin", _most, _dims, "Return the smallest of the selected elements over some dimensions (all by default).")
argmax = _extreme("argmax", _least, lambda input, dim: dim,
                  "Return the index of the largest selected element along a dimension (among all by default).")
argmin = _extreme("argmin", _most, lambda input, dim: dim,
                  "Return the index of the smallest selected element along a dimension (among all by default).")


def _count(input, dims, keepdim, mask) -> Any:
    """Return the number of selected elements."""
    mask = _over(input, mask, "mean")
    selected = ones(input.shape, dtype=dt.int64, device=input.device) if mask is None else mask
    return selected.sum(dims, keepdim)


@of_masked
def mean(input, dim=None, *, keepdim=False, dtype=None, mask=None) -> Tensor:
    """Return the mean of the selected elements over some dimensions (all by default); nan if there are none."""
    kind = input.dtype if dtype is None else dt.as_dtype(dtype)
    if not kind.is_inexact:
        raise DTypeError(f"masked.mean of {kind} is no whole number; say dtype=float32, or another floating point type")
    dims = _dims(input, dim)
    total = sum(input, dims, keepdim=keepdim, dtype=dtype, mask=mask)
    return total / _count(input, dims, bool(keepdim), mask)


@of_masked
def var(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None) -> Tensor:
    """Return the variance of the selected elements over some dimensions (all by default). The sum of squared deviations is
    divided by the count less `correction` (1; 0 if `unbiased` is False)."""
    if unbiased is not None and correction is not None:
        raise ArgumentError("masked.var takes either unbiased or correction")
    kind = input.dtype if dtype is None else dt.as_dtype(dtype)
    x = input.to(kind if kind.is_inexact else dt.float32)
    dims = _dims(x, dim)
    correction = correction if correction is not None else int(unbiased is not False)
    total = sum(x, dims, keepdim=True, mask=mask)
    count = _count(x, dims, True, mask)
    apart = _selected(_selected(x, mask, 0, "var") - total / count, mask, 0, "var")
    squares = (apart * apart.conj()).sum(dims, bool(keepdim))
    count = (count if keepdim else count.reshape(squares.shape)).to(squares.real.dtype if kind.is_complex else squares.dtype)
    return _as(squares / (count - correction).clamp(min=0) if correction else squares / count, dtype)


@of_masked
def std(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None) -> Tensor:
    """Return the standard deviation of the selected elements over some dimensions: the square root of `var`."""
    return var(input, dim, unbiased, correction=correction, keepdim=keepdim, dtype=dtype, mask=mask).sqrt()


@of_masked
def norm(input, ord=2.0, dim=None, *, keepdim=False, dtype=None, mask=None) -> Tensor:
    """Return the norm of order `ord` of the selected elements over some dimensions (all by default)."""
    x = _selected(input, mask, inf if ord < 0 else 0, "norm")
    return vector_norm(x, ord, _dims(x, dim), bool(keepdim), dtype=dtype)


@of_masked
def normalize(input, ord, dim, *, eps=1e-12, dtype=None, mask=None) -> Tensor:
    """Return the selected elements divided by their norm along a dimension (at least `eps`), and zeros."""
    return _as(_selected(input, mask, 0, "normalize") / norm(input, ord, dim, keepdim=True, mask=mask).clamp(min=eps), dtype)


@of_masked
def median(input, dim=-1, *, keepdim=False, dtype=None, mask=None) -> Tensor:
    """Return the median of the selected elements along a dimension, the lower one of two; nan if there are none."""
    x = input if input.dtype.is_inexact else input.to(dt.float32)
    found = _selected(x, mask, nan, "median").nanmedian(dim, keepdim).values
    if input.dtype.is_inexact:
        return _as(found, dtype)
    if bool(found.isnan().any()):
        raise ArgumentError("masked.median of whole numbers must select at least one in each row")
    return found.to(input.dtype if dtype is None else dtype)


@of_masked
def logsumexp(input, dim=None, *, keepdim=False, dtype=None, mask=None) -> Tensor:
    """Return the logarithm of the sum of exponentials of the selected elements over some dimensions (all by default)."""
    x = input if input.dtype.is_inexact else input.to(dt.float32)
    return _as(_selected(x, mask, -inf, "logsumexp").logsumexp(_dims(x, dim), bool(keepdim)), dtype)


def logaddexp(input, other, *, dtype=None, input_mask=None, other_mask=None) -> Tensor:
    """Return log(exp(input) + exp(other)) of the selected elements of both."""
    (input, input_mask), (other, other_mask) = _values_and_mask(input, input_mask), _values_and_mask(other, other_mask)
    other = _selected(other, other_mask, -inf, "logaddexp")
    return _as(_selected(input, input_mask, -inf, "logaddexp").logaddexp(other), dtype)


def _exponential(name, doc):
    def fn(input, dim, *, dtype=None, mask=None) -> Tensor:
        return getattr(_selected(_as(input, dtype), mask, -inf, name), name)(dim)

    return _named(fn, name, doc)


softmax = _exponential("softmax", "Return the softmax of the selected elements along a dimension, and zeros; nan if nothing is "
                                  "selected.")
log_softmax = _exponential("log_softmax", "Return the logarithm of `softmax`.")


@of_masked
def softmin(input, dim, *, dtype=None, mask=None) -> Tensor:
    """Return the softmax of minus the selected elements along a dimension, and zeros."""
    return (-_selected(_as(input, dtype), mask, inf, "softmin")).softmax(dim)
