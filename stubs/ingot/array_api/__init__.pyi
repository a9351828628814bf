"""`ingot.array_api`: the Python array API standard, 2024.12, on ingot's tensors."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import collections.abc as _c
import typing as _t
import numpy as _np
from ingot import Tensor as _Tensor
from ingot import device as _device
from ingot import dtype as _dtype
from ingot.array_api import fft as fft
from ingot.array_api import linalg as linalg

__array_api_version__: _b.str
bool: _dtype
complex128: _dtype
complex64: _dtype
e: _b.float
float32: _dtype
float64: _dtype
inf: _b.float
int16: _dtype
int32: _dtype
int64: _dtype
int8: _dtype
nan: _b.float
newaxis: _t.Any
pi: _b.float
uint16: _dtype
uint32: _dtype
uint64: _dtype
uint8: _dtype
def __array_namespace_info__() -> _Info:
    """Return answers about this namespace."""
def abs(x: _t.Any, /) -> _Tensor:
    """Elementwise abs of arrays of numeric dtype."""
def acos(x: _t.Any, /) -> _Tensor:
    """Elementwise acos of arrays of floating dtype."""
def acosh(x: _t.Any, /) -> _Tensor:
    """Elementwise acosh of arrays of floating dtype."""
def add(x1: _Tensor, x2: _Tensor, /) -> _Tensor:
    """Elementwise add of arrays of numeric dtype."""
def all(x: _t.Any, /, *, axis: _b.int | _c.Sequence[_b.int] | None = None, keepdims: _b.bool = False) -> _Tensor:
    """Return whether all elements are nonzero."""
def any(x: _t.Any, /, *, axis: _b.int | _c.Sequence[_b.int] | None = None, keepdims: _b.bool = False) -> _Tensor:
    """Return whether any element is nonzero."""
def arange(start: _Tensor | _b.complex, /, stop: _t.Any = None, step: _t.Any = 1, *,
           dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
           device: _device | _b.str | _b.int | None = None) -> _Tensor:
    """Return evenly spaced numbers in [start, stop)."""
def argmax(x: _t.Any, /, *, axis: _b.int | _c.Sequence[_b.int] | None = None, keepdims: _b.bool = False) -> _Tensor:
    """Return the index of the largest element, the first of several."""
def argmin(x: _t.Any, /, *, axis: _b.int | _c.Sequence[_b.int] | None = None, keepdims: _b.bool = False) -> _Tensor:
    """Return the index of the smallest element, the first of several."""
def argsort(x: _t.Any, /, *, axis: _b.int | _c.Sequence[_b.int] = -1, descending: _b.bool = False,
            stable: _b.bool = True) -> _Tensor:
    """Return the indices that sort along an axis."""
def asarray(obj: _t.Any, /, *, dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
            device: _device | _b.str | _b.int | None = None, copy: _t.Any = None) -> _Tensor:
    """Return an array of a number, nested sequences, a buffer or an array; a copy if asked for or needed."""
def asin(x: _t.Any, /) -> _Tensor:
    """Elementwise asin of arrays of floating dtype."""
def asinh(x: _t.Any, /) -> _Tensor:
    """Elementwise asinh of arrays of floating dtype."""
def astype(x: _t.Any, dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any], /, *, copy: _b.bool = True,
           device: _device | _b.str | _b.int | None = None) -> _Tensor:
    """Return `x` in another dtype; the same array if it has it and no copy is asked for."""
def atan(x: _t.Any, /) -> _Tensor:
    """Elementwise atan of arrays of floating dtype."""
def atan2(x1: _Tensor, x2: _Tensor, /) -> _Tensor:
    """Elementwise atan2 of arrays of real floating dtype."""
def atanh(x: _t.Any, /) -> _Tensor:
    """Elementwise atanh of arrays of floating dtype."""
def bitwise_and(x1: _Tensor, x2: _Tensor, /) -> _Tensor:
    """Elementwise bitwise and of arrays of integer or boolean dtype."""
def bitwise_invert(x: _t.Any, /) -> _Tensor:
    """Elementwise bitwise invert of arrays of integer or boolean dtype."""
def bitwise_left_shift(x1: _Tensor, x2: _Tensor, /) -> _Tensor:
    """Elementwise bitwise left shift of arrays of integer dtype."""
def bitwise_or(x1: _Tensor, x2: _Tensor, /) -> _Tensor:
    """Elementwise bitwise or of arrays of integer or boolean dtype."""
def bitwise_right_shift(x1: _Tensor, x2: _Tensor, /) -> _Tensor:
    """Elementwise bitwise right shift of arrays of integer dtype."""
def bitwise_xor(x1: _Tensor, x2: _Tensor, /) -> _Tensor:
    """Elementwise bitwise xor of arrays of integer or boolean dtype."""
def broadcast_arrays(*arrays: _t.Any) -> _b.list[_Tensor]:
    """Repeat the arrays to their common shape."""
def broadcast_to(x: _t.Any, /, shape: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex]) -> _Tensor:
    """Repeat the array to a shape, without a copy."""
def can_cast(from_: _t.Any, to: _t.Any, /) -> _b.bool:
    """Return whether values of one dtype convert to another without changing kind or losing range."""
def ceil(x: _t.Any, /) -> _Tensor:
    """Elementwise ceil of arrays of real dtype."""
def clip(x: _t.Any, /, min: _Tensor | _b.complex | None = None, max: _Tensor | _b.complex | None = None) -> _Tensor:
    """Return elements limited to [min, max]; either may be left out."""
def concat(arrays: _t.Any, /, *, axis: _b.int | _c.Sequence[_b.int] = 0) -> _Tensor:
    """Join arrays along an axis; None flattens them first."""
def conj(x: _t.Any, /) -> _Tensor:
    """Return the complex conjugate."""
def copysign(x1: _Tensor, x2: _Tensor, /) -> _Tensor:
    """Elementwise copysign of arrays of real floating dtype."""
def cos(x: _t.Any, /) -> _Tensor:
    """Elementwise cos of arrays of floating dtype."""
def cosh(x: _t.Any, /) -> _Tensor:
    """Elementwise cosh of arrays of floating dtype."""
def count_nonzero(x: _t.Any, /, *, axis: _b.int | _c.Sequence[_b.int] | None = None, keepdims: _b.bool = False) -> _Tensor:
    """Return the number of nonzero elements."""
def cumulative_prod(x: _t.Any, /, *, axis: _b.int | _c.Sequence[_b.int] | None = None,
                    dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
                    include_initial: _b.bool = False) -> _Tensor:
    """Return products of all elements up to each, beginning with 1 if `include_initial`."""
def cumulative_sum(x: _t.Any, /, *, axis: _b.int | _c.Sequence[_b.int] | None = None,
                   dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
                   include_initial: _b.bool = False) -> _Tensor:
    """Return sums of all elements up to each, beginning with 0 if `include_initial`."""
def diff(x: _t.Any, /, *, axis: _b.int | _c.Sequence[_b.int] = -1, n: _t.Any = 1, prepend: _t.Any = None,
         append: _t.Any = None) -> _Tensor:
    """Return the n-th differences between neighbours along an axis."""
def divide(x1: _Tensor, x2: _Tensor, /) -> _Tensor:
    """Elementwise divide of arrays of floating dtype."""
def empty(shape: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex], *,
          dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
          device: _device | _b.str | _b.int | None = None) -> _Tensor:
    """Return an uninitialised array."""
def empty_like(x: _t.Any, /, *, dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
               device: _device | _b.str | _b.int | None = None) -> _Tensor:
    """Return an uninitialised array with the shape of another."""
def equal(x1: _Tensor, x2: _Tensor, /) -> _Tensor:
    """Elementwise equal of arrays of all dtype."""
def exp(x: _t.Any, /) -> _Tensor:
    """Elementwise exp of arrays of floating dtype."""
def expand_dims(x: _t.Any, /, axis: _b.int | _c.Sequence[_b.int] = 0) -> _Tensor:
    """Insert a new axis of size 1."""
def expm1(x: _t.Any, /) -> _Tensor:
    """Elementwise expm1 of arrays of floating dtype."""
def eye(n_rows: _t.Any, n_cols: _t.Any = None, /, *, k: _b.int = 0,
        dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
        device: _device | _b.str | _b.int | None = None) -> _Tensor:
    """Return ones on the k-th diagonal of a matrix, zeros elsewhere."""
def finfo(type: _t.Any, /) -> _Info_:
    """Return the limits of a floating point dtype."""
def flip(x: _t.Any, /, *, axis: _b.int | _c.Sequence[_b.int] | None = None) -> _Tensor:
    """Reverse elements along axes."""
def floor(x: _t.Any, /) -> _Tensor:
    """Elementwise floor of arrays of real dtype."""
def floor_divide(x1: _Tensor, x2: _Tensor, /) -> _Tensor:
    """Elementwise floor divide of arrays of real dtype."""
def from_dlpack(x: _t.Any, /, *, device: _device | _b.str | _b.int | None = None, copy: _t.Any = None) -> _Tensor:
    """Return an array over the memory of any object that speaks DLPack."""
def full(shape: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex], fill_value: _Tensor | _b.complex, *,
         dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
         device: _device | _b.str | _b.int | None = None) -> _Tensor:
    """Return an array of one value."""
def full_like(x: _t.Any, /, fill_value: _Tensor | _b.complex, *,
              dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
              device: _device | _b.str | _b.int | None = None) -> _Tensor:
    """Return an array of one value with the shape of another."""
def greater(x1: _Tensor, x2: _Tensor, /) -> _Tensor:
    """Elementwise greater of arrays of real dtype."""
def greater_equal(x1: _Tensor, x2: _Tensor, /) -> _Tensor:
    """Elementwise greater equal of arrays of real dtype."""
def hypot(x1: _Tensor, x2: _Tensor, /) -> _Tensor:
    """Elementwise hypot of arrays of real floating dtype."""
def iinfo(type: _t.Any, /) -> _Info_:
    """Return the limits of an integer dtype."""
def imag(x: _t.Any, /) -> _Tensor:
    """Return the imaginary part."""
def isdtype(dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any], kind: _t.Any) -> _b.bool:
    """Return whether a dtype is, or is of the kind of, `kind`: a dtype, a name of a kind, or a tuple of these."""
def isfinite(x: _t.Any, /) -> _Tensor:
    """Elementwise isfinite of arrays of numeric dtype."""
def isinf(x: _t.Any, /) -> _Tensor:
    """Elementwise isinf of arrays of numeric dtype."""
def isnan(x: _t.Any, /) -> _Tensor:
    """Elementwise isnan of arrays of numeric dtype."""
def less(x1: _Tensor, x2: _Tensor, /) -> _Tensor:
    """Elementwise less of arrays of real dtype."""
def less_equal(x1: _Tensor, x2: _Tensor, /) -> _Tensor:
    """Elementwise less equal of arrays of real dtype."""
def linspace(start: _Tensor | _b.complex, stop: _t.Any, /, num: _t.Any, *,
             dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
             device: _device | _b.str | _b.int | None = None, endpoint: _b.bool = True) -> _Tensor:
    """Return `num` evenly spaced numbers from start to stop, which may be left out."""
def log(x: _t.Any, /) -> _Tensor:
    """Elementwise log of arrays of floating dtype."""
def log10(x: _t.Any, /) -> _Tensor:
    """Elementwise log10 of arrays of floating dtype."""
def log1p(x: _t.Any, /) -> _Tensor:
    """Elementwise log1p of arrays of floating dtype."""
def log2(x: _t.Any, /) -> _Tensor:
    """Elementwise log2 of arrays of floating dtype."""
def logaddexp(x1: _Tensor, x2: _Tensor, /) -> _Tensor:
    """Elementwise logaddexp of arrays of real floating dtype."""
def logical_and(x1: _Tensor, x2: _Tensor, /) -> _Tensor:
    """Elementwise logical and of arrays of boolean dtype."""
def logical_not(x: _t.Any, /) -> _Tensor:
    """Elementwise logical not of arrays of boolean dtype."""
def logical_or(x1: _Tensor, x2: _Tensor, /) -> _Tensor:
    """Elementwise logical or of arrays of boolean dtype."""
def logical_xor(x1: _Tensor, x2: _Tensor, /) -> _Tensor:
    """Elementwise logical xor of arrays of boolean dtype."""
def matmul(x1: _Tensor, x2: _Tensor, /) -> _Tensor:
    """Return the matrix product."""
def matrix_transpose(x: _t.Any, /) -> _Tensor:
    """Exchange rows and columns of matrices."""
def max(x: _t.Any, /, *, axis: _b.int | _c.Sequence[_b.int] | None = None, keepdims: _b.bool = False) -> _Tensor:
    """Return the largest elements."""
def maximum(x1: _Tensor, x2: _Tensor, /) -> _Tensor:
    """Elementwise maximum of arrays of real dtype."""
def mean(x: _t.Any, /, *, axis: _b.int | _c.Sequence[_b.int] | None = None, keepdims: _b.bool = False) -> _Tensor:
    """Return the mean over axes."""
def meshgrid(*arrays: _t.Any, indexing: _b.str = 'xy') -> _b.list[_Tensor]:
    """Return coordinate matrices of one-dimensional arrays."""
def min(x: _t.Any, /, *, axis: _b.int | _c.Sequence[_b.int] | None = None, keepdims: _b.bool = False) -> _Tensor:
    """Return the smallest elements."""
def minimum(x1: _Tensor, x2: _Tensor, /) -> _Tensor:
    """Elementwise minimum of arrays of real dtype."""
def moveaxis(x: _t.Any, source: _Tensor, destination: _t.Any, /) -> _Tensor:
    """Move axes to other places."""
def multiply(x1: _Tensor, x2: _Tensor, /) -> _Tensor:
    """Elementwise multiply of arrays of numeric dtype."""
def negative(x: _t.Any, /) -> _Tensor:
    """Elementwise negative of arrays of numeric dtype."""
def nextafter(x1: _Tensor, x2: _Tensor, /) -> _Tensor:
    """Elementwise nextafter of arrays of real floating dtype."""
def nonzero(x: _t.Any, /) -> _b.tuple[_Tensor, ...]:
    """Return the indices of nonzero elements, an array for each axis."""
def not_equal(x1: _Tensor, x2: _Tensor, /) -> _Tensor:
    """Elementwise not equal of arrays of all dtype."""
def ones(shape: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex], *,
         dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
         device: _device | _b.str | _b.int | None = None) -> _Tensor:
    """Return an array of ones."""
def ones_like(x: _t.Any, /, *, dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
              device: _device | _b.str | _b.int | None = None) -> _Tensor:
    """Return an array of ones with the shape of another."""
def permute_dims(x: _t.Any, /, axes: _t.Any) -> _Tensor:
    """Reorder the axes."""
def positive(x: _t.Any, /) -> _Tensor:
    """Return a copy of the array."""
def pow(x1: _Tensor, x2: _Tensor, /) -> _Tensor:
    """Elementwise pow of arrays of numeric dtype."""
def prod(x: _t.Any, /, *, axis: _b.int | _c.Sequence[_b.int] | None = None,
         dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None, keepdims: _b.bool = False) -> _Tensor:
    """Return the product over axes."""
def real(x: _t.Any, /) -> _Tensor:
    """Return the real part."""
def reciprocal(x: _t.Any, /) -> _Tensor:
    """Elementwise reciprocal of arrays of floating dtype."""
def remainder(x1: _Tensor, x2: _Tensor, /) -> _Tensor:
    """Elementwise remainder of arrays of real dtype."""
def repeat(x: _t.Any, repeats: _Tensor | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex], /, *,
           axis: _b.int | _c.Sequence[_b.int] | None = None) -> _Tensor:
    """Repeat each element a number of times."""
def reshape(x: _t.Any, /, shape: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex], *, copy: _t.Any = None) -> _Tensor:
    """Return the elements in row-major order in another shape; `copy=False` raises if that needs a copy."""
def result_type(*arrays_and_dtypes: _t.Any) -> _Tensor:
    """Return the promoted dtype of arrays, dtypes and Python numbers."""
def roll(x: _t.Any, /, shift: _t.Any, *, axis: _b.int | _c.Sequence[_b.int] | None = None) -> _Tensor:
    """Shift elements along axes, those at the end to the start."""
def round(x: _t.Any, /) -> _Tensor:
    """Elementwise round of arrays of numeric dtype."""
def searchsorted(x1: _Tensor, x2: _Tensor, /, *, side: _b.str = 'left', sorter: _Tensor | None = None) -> _Tensor:
    """Return the insertion points of the elements of x2 in the sorted x1."""
def sign(x: _t.Any, /) -> _Tensor:
    """Return -1, 0 or 1 by the sign of each element (of a complex one its direction); nan stays nan."""
def signbit(x: _t.Any, /) -> _Tensor:
    """Elementwise signbit of arrays of real floating dtype."""
def sin(x: _t.Any, /) -> _Tensor:
    """Elementwise sin of arrays of floating dtype."""
def sinh(x: _t.Any, /) -> _Tensor:
    """Elementwise sinh of arrays of floating dtype."""
def sort(x: _t.Any, /, *, axis: _b.int | _c.Sequence[_b.int] = -1, descending: _b.bool = False,
         stable: _b.bool = True) -> _Tensor:
    """Return the elements in order along an axis."""
def sqrt(x: _t.Any, /) -> _Tensor:
    """Elementwise sqrt of arrays of floating dtype."""
def square(x: _t.Any, /) -> _Tensor:
    """Elementwise square of arrays of numeric dtype."""
def squeeze(x: _t.Any, /, axis: _b.int | _c.Sequence[_b.int]) -> _Tensor:
    """Remove axes of size 1."""
def stack(arrays: _t.Any, /, *, axis: _b.int | _c.Sequence[_b.int] = 0) -> _Tensor:
    """Join arrays along a new axis."""
def std(x: _t.Any, /, *, axis: _b.int | _c.Sequence[_b.int] | None = None, correction: _b.float = 0.0,
        keepdims: _b.bool = False) -> _Tensor:
    """Return the standard deviation over axes, of a variance divided by N - correction."""
def subtract(x1: _Tensor, x2: _Tensor, /) -> _Tensor:
    """Elementwise subtract of arrays of numeric dtype."""
def sum(x: _t.Any, /, *, axis: _b.int | _c.Sequence[_b.int] | None = None,
        dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None, keepdims: _b.bool = False) -> _Tensor:
    """Return the sum over axes."""
def take(x: _t.Any, indices: _t.Any, /, *, axis: _b.int | _c.Sequence[_b.int] | None = None) -> _Tensor:
    """Select elements along an axis by a one-dimensional array of indices."""
def take_along_axis(x: _t.Any, indices: _t.Any, /, *, axis: _b.int | _c.Sequence[_b.int] = -1) -> _Tensor:
    """Select elements along an axis by indices of the same rank; other axes broadcast."""
def tan(x: _t.Any, /) -> _Tensor:
    """Elementwise tan of arrays of floating dtype."""
def tanh(x: _t.Any, /) -> _Tensor:
    """Elementwise tanh of arrays of floating dtype."""
def tensordot(x1: _Tensor, x2: _Tensor, /, *, axes: _t.Any = 2) -> _Tensor:
    """Return sums of products over several axes."""
def tile(x: _t.Any, repetitions: _t.Any, /) -> _Tensor:
    """Repeat the array along each axis."""
def tril(x: _t.Any, /, *, k: _b.int = 0) -> _Tensor:
    """Return the lower triangle of matrices, zeros above the k-th diagonal."""
def triu(x: _t.Any, /, *, k: _b.int = 0) -> _Tensor:
    """Return the upper triangle of matrices, zeros below the k-th diagonal."""
def trunc(x: _t.Any, /) -> _Tensor:
    """Elementwise trunc of arrays of real dtype."""
def unique_all(x: _t.Any, /) -> _UniqueAll:
    """Return each value once, its first index, the inverse map and its count."""
def unique_counts(x: _t.Any, /) -> _UniqueCounts:
    """Return each value once, and its count."""
def unique_inverse(x: _t.Any, /) -> _UniqueInverse:
    """Return each value once, and the inverse map."""
def unique_values(x: _t.Any, /) -> _Tensor:
    """Return each value once."""
def unstack(x: _t.Any, /, *, axis: _b.int | _c.Sequence[_b.int] = 0) -> _b.tuple[_Tensor, ...]:
    """Return the parts of an array along an axis, which disappears."""
def var(x: _t.Any, /, *, axis: _b.int | _c.Sequence[_b.int] | None = None, correction: _b.float = 0.0,
        keepdims: _b.bool = False) -> _Tensor:
    """Return the variance over axes, divided by N - correction."""
def vecdot(x1: _Tensor, x2: _Tensor, /, *, axis: _b.int | _c.Sequence[_b.int] = -1) -> _Tensor:
    """Return sums of products of vectors, the first conjugated."""
def where(condition: _t.Any, x1: _Tensor, x2: _Tensor, /) -> _Tensor:
    """Return x1 where the condition holds, x2 elsewhere."""
def zeros(shape: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex], *,
          dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
          device: _device | _b.str | _b.int | None = None) -> _Tensor:
    """Return an array of zeros."""
def zeros_like(x: _t.Any, /, *, dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
               device: _device | _b.str | _b.int | None = None) -> _Tensor:
    """Return an array of zeros with the shape of another."""

class _Info:
    """The answers about the namespace."""
    def capabilities(self) -> _b.dict[_t.Any, _t.Any]:
        """Return the optional features and which of them this implementation has."""
    def default_device(self) -> _device:
        """Return the device of new arrays."""
    def default_dtypes(self, *, device: _device | _b.str | _b.int | None = None) -> _b.dict[_t.Any, _t.Any]:
        """Return the dtypes of new arrays."""
    def devices(self) -> _b.list[_t.Any]:
        """Return the devices that arrays can be on."""
    def dtypes(self, *, device: _device | _b.str | _b.int | None = None, kind: _t.Any = None) -> _b.dict[_t.Any, _t.Any]:
        """Return the dtypes by name, all or of a kind."""

class _Info_:
    """Limits with the dtype as an object."""
    dtype: _t.Any
    def __init__(self, about: _t.Any, names: _t.Any) -> None: ...

class _UniqueAll(_t.NamedTuple):
    """UniqueAll(values, indices, inverse_indices, counts)"""
    values: _t.Any
    indices: _t.Any
    inverse_indices: _t.Any
    counts: _t.Any

class _UniqueCounts(_t.NamedTuple):
    """UniqueCounts(values, counts)"""
    values: _t.Any
    counts: _t.Any

class _UniqueInverse(_t.NamedTuple):
    """UniqueInverse(values, inverse_indices)"""
    values: _t.Any
    inverse_indices: _t.Any
