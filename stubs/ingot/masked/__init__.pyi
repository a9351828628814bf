"""`ingot.masked`: reductions of the elements that a mask selects, and tensors with a mask."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import collections.abc as _c
import typing as _t
import numpy as _np
from ingot import Tensor as _Tensor
from ingot import dtype as _dtype
from ingot.masked import maskedtensor as maskedtensor

class MaskedTensor(_Tensor):
    """Values of which a mask selects some (True). The others influence neither results nor gradients."""
    like: _t.Any
    values_of: _t.Any
    @_b.property
    def T(self) -> _t.Any: ...
    def __bool__(self) -> _b.bool: ...
    def __float__(self) -> _b.float: ...
    def __getitem__(self, key: _t.Any) -> MaskedTensor: ...
    def __hash__(self) -> _b.int: ...
    def __init__(self, *args: _t.Any, **kwargs: _t.Any) -> None:
        """Do nothing. `args` and `kwargs` are ignored: the class's `__new__` has made the tensor of them."""
    def __int__(self) -> _b.int: ...
    def __iter__(self) -> _c.Iterator[_t.Any]: ...
    def __len__(self) -> _b.int: ...
    @_b.property
    def aval(self) -> _t.Any: ...
    def backward(self, gradient: _Tensor | None = None, retain_graph: _b.bool | None = None,
                 create_graph: _b.bool = False, inputs: _t.Any = None) -> None:
        """Accumulate gradients in the leaves of the values."""
    @_b.property
    def data(self) -> _t.Any: ...
    @data.setter
    def data(self, value: _t.Any) -> None: ...
    @_b.property
    def device(self) -> _t.Any: ...
    def dim(self) -> _b.int:
        """Return the number of dims."""
    @_b.property
    def dtype(self) -> _t.Any: ...
    def get_data(self) -> _Tensor:
        """Return the values; those not selected are arbitrary."""
    def get_mask(self) -> _Tensor:
        """Return the mask."""
    @_b.property
    def grad(self) -> _t.Any:
        """Gradient of the values, as a tensor of this class."""
    @grad.setter
    def grad(self, value: _t.Any) -> None: ...
    @_b.property
    def grad_fn(self) -> _t.Any: ...
    @_b.property
    def is_leaf(self) -> _t.Any: ...
    def item(self) -> _t.Any:
        """Return the number of a tensor with one element, which must be selected."""
    @_b.property
    def layout(self) -> _t.Any: ...
    @_b.property
    def mT(self) -> _t.Any: ...
    @_b.property
    def ndim(self) -> _t.Any: ...
    def numel(self) -> _b.int:
        """Return the number of all elements, including those not selected."""
    def parts(self) -> _b.tuple[_t.Any, ...]:
        """Return the parts, and the function that rebuilds the tensor."""
    @_b.property
    def requires_grad(self) -> _t.Any: ...
    @requires_grad.setter
    def requires_grad(self, value: _t.Any) -> None: ...
    def requires_grad_(self, requires_grad: _b.bool = True) -> _t.Self:
        """Start or stop accumulating a gradient for the values."""
    @_b.property
    def shape(self) -> _t.Any: ...
    def size(self, dim: _b.int | _c.Sequence[_b.int] | None = None) -> _t.Any:
        """Return the sizes, or one of them."""
    def to_dense(self) -> MaskedTensor:
        """Return this tensor, whose values are dense."""
    def to_tensor(self, value: _Tensor | _b.complex) -> _Tensor:
        """Return a plain tensor, with a number in place of values that are not selected."""

def amax(input: _Tensor, dim: _b.int | _c.Sequence[_b.int] | None = None, *, keepdim: _b.bool = False,
         dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
         mask: _Tensor | None = None, axis: _b.int | _c.Sequence[_b.int] | None = None,
         keepdims: _b.bool = False) -> _Tensor:
    """Return the largest of the selected elements over some dimensions (all by default)."""
def amin(input: _Tensor, dim: _b.int | _c.Sequence[_b.int] | None = None, *, keepdim: _b.bool = False,
         dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
         mask: _Tensor | None = None, axis: _b.int | _c.Sequence[_b.int] | None = None,
         keepdims: _b.bool = False) -> _Tensor:
    """Return the smallest of the selected elements over some dimensions (all by default)."""
def argmax(input: _Tensor, dim: _b.int | _c.Sequence[_b.int] | None = None, *, keepdim: _b.bool = False,
           dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
           mask: _Tensor | None = None, axis: _b.int | _c.Sequence[_b.int] | None = None,
           keepdims: _b.bool = False) -> _Tensor:
    """Return the index of the largest selected element along a dimension (among all by default)."""
def argmin(input: _Tensor, dim: _b.int | _c.Sequence[_b.int] | None = None, *, keepdim: _b.bool = False,
           dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
           mask: _Tensor | None = None, axis: _b.int | _c.Sequence[_b.int] | None = None,
           keepdims: _b.bool = False) -> _Tensor:
    """Return the index of the smallest selected element along a dimension (among all by default)."""
def as_masked_tensor(data: _t.Any, mask: _Tensor) -> MaskedTensor:
    """Return a masked tensor with the history of `data`; gradients reach selected values, others get zeros."""
@_t.overload
def cumprod(input: _Tensor, dim: _b.int | _c.Sequence[_b.int], *,
            dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
            mask: _Tensor | None = None) -> _Tensor:
    """Return running products of the selected elements along a dimension."""
@_t.overload
def cumprod(input: _Tensor, *, axis: _b.int | _c.Sequence[_b.int],
            dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
            mask: _Tensor | None = None) -> _Tensor:
    """Return running products of the selected elements along a dimension."""
@_t.overload
def cumsum(input: _Tensor, dim: _b.int | _c.Sequence[_b.int], *,
           dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
           mask: _Tensor | None = None) -> _Tensor:
    """Return running sums of the selected elements along a dimension."""
@_t.overload
def cumsum(input: _Tensor, *, axis: _b.int | _c.Sequence[_b.int],
           dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
           mask: _Tensor | None = None) -> _Tensor:
    """Return running sums of the selected elements along a dimension."""
def is_masked_tensor(obj: _t.Any) -> _b.bool:
    """Return whether an object is a masked tensor."""
@_t.overload
def log_softmax(input: _Tensor, dim: _b.int | _c.Sequence[_b.int], *,
                dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
                mask: _Tensor | None = None) -> _Tensor:
    """Return the logarithm of `softmax`."""
@_t.overload
def log_softmax(input: _Tensor, *, axis: _b.int | _c.Sequence[_b.int],
                dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
                mask: _Tensor | None = None) -> _Tensor:
    """Return the logarithm of `softmax`."""
def logaddexp(input: _Tensor, other: _Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
              dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
              input_mask: _t.Any = None, other_mask: _t.Any = None) -> _Tensor:
    """Return log(exp(input) + exp(other)) of the selected elements of both."""
def logsumexp(input: _Tensor, dim: _b.int | _c.Sequence[_b.int] | None = None, *, keepdim: _b.bool = False,
              dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
              mask: _Tensor | None = None, axis: _b.int | _c.Sequence[_b.int] | None = None,
              keepdims: _b.bool = False) -> _Tensor:
    """Return the logarithm of the sum of exponentials of the selected elements over some dimensions (all by default)."""
def masked_tensor(data: _t.Any, mask: _Tensor, requires_grad: _b.bool = False) -> MaskedTensor:
    """Return a masked tensor that is a leaf: a copy of values, and of a mask that selects some of them."""
def mean(input: _Tensor, dim: _b.int | _c.Sequence[_b.int] | None = None, *, keepdim: _b.bool = False,
         dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
         mask: _Tensor | None = None, axis: _b.int | _c.Sequence[_b.int] | None = None,
         keepdims: _b.bool = False) -> _Tensor:
    """Return the mean of the selected elements over some dimensions (all by default); nan if there are none."""
def median(input: _Tensor, dim: _b.int | _c.Sequence[_b.int] = -1, *, keepdim: _b.bool = False,
           dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
           mask: _Tensor | None = None, axis: _b.int | _c.Sequence[_b.int] = -1, keepdims: _b.bool = False) -> _Tensor:
    """Return the median of the selected elements along a dimension, the lower one of two; nan if there are none."""
def norm(input: _Tensor, ord: _b.float = 2.0, dim: _b.int | _c.Sequence[_b.int] | None = None, *,
         keepdim: _b.bool = False, dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
         mask: _Tensor | None = None, axis: _b.int | _c.Sequence[_b.int] | None = None,
         keepdims: _b.bool = False) -> _Tensor:
    """Return the norm of order `ord` of the selected elements over some dimensions (all by default)."""
@_t.overload
def normalize(input: _Tensor, ord: _t.Any, dim: _b.int | _c.Sequence[_b.int], *, eps: _b.float = 1e-12,
              dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
              mask: _Tensor | None = None) -> _Tensor:
    """Return the selected elements divided by their norm along a dimension (at least `eps`), and zeros."""
@_t.overload
def normalize(input: _Tensor, ord: _t.Any, *, axis: _b.int | _c.Sequence[_b.int], eps: _b.float = 1e-12,
              dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
              mask: _Tensor | None = None) -> _Tensor:
    """Return the selected elements divided by their norm along a dimension (at least `eps`), and zeros."""
def prod(input: _Tensor, dim: _b.int | _c.Sequence[_b.int] | None = None, *, keepdim: _b.bool = False,
         dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
         mask: _Tensor | None = None, axis: _b.int | _c.Sequence[_b.int] | None = None,
         keepdims: _b.bool = False) -> _Tensor:
    """Return the product of the selected elements over some dimensions (all by default)."""
@_t.overload
def softmax(input: _Tensor, dim: _b.int | _c.Sequence[_b.int], *,
            dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
            mask: _Tensor | None = None) -> _Tensor:
    """Return the softmax of the selected elements along a dimension, and zeros; nan if nothing is selected."""
@_t.overload
def softmax(input: _Tensor, *, axis: _b.int | _c.Sequence[_b.int],
            dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
            mask: _Tensor | None = None) -> _Tensor:
    """Return the softmax of the selected elements along a dimension, and zeros; nan if nothing is selected."""
@_t.overload
def softmin(input: _Tensor, dim: _b.int | _c.Sequence[_b.int], *,
            dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
            mask: _Tensor | None = None) -> _Tensor:
    """Return the softmax of minus the selected elements along a dimension, and zeros."""
@_t.overload
def softmin(input: _Tensor, *, axis: _b.int | _c.Sequence[_b.int],
            dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
            mask: _Tensor | None = None) -> _Tensor:
    """Return the softmax of minus the selected elements along a dimension, and zeros."""
def std(input: _Tensor, dim: _b.int | _c.Sequence[_b.int] | None = None, unbiased: _b.bool | None = None, *,
        correction: _b.float | None = None, keepdim: _b.bool = False,
        dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
        mask: _Tensor | None = None, axis: _b.int | _c.Sequence[_b.int] | None = None,
        keepdims: _b.bool = False) -> _Tensor:
    """Return the standard deviation of the selected elements over some dimensions: the square root of `var`."""
def sum(input: _Tensor, dim: _b.int | _c.Sequence[_b.int] | None = None, *, keepdim: _b.bool = False,
        dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
        mask: _Tensor | None = None, axis: _b.int | _c.Sequence[_b.int] | None = None,
        keepdims: _b.bool = False) -> _Tensor:
    """Return the sum of the selected elements over some dimensions (all by default)."""
def var(input: _Tensor, dim: _b.int | _c.Sequence[_b.int] | None = None, unbiased: _b.bool | None = None, *,
        correction: _b.float | None = None, keepdim: _b.bool = False,
        dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
        mask: _Tensor | None = None, axis: _b.int | _c.Sequence[_b.int] | None = None,
        keepdims: _b.bool = False) -> _Tensor:
    """Return the variance of the selected elements over some dimensions (all by default). The sum of squared deviations is
    divided by the count less `correction` (1; 0 if `unbiased` is False)."""
