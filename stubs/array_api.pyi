"""The names of `ingot.array_api`, and functions that factories build.

Made by `make stubs` from the live package; not edited by hand.
"""

import builtins
from typing import Any

from .runtime.array_api import __array_api_version__ as __array_api_version__
from .runtime.array_api import __array_namespace_info__ as __array_namespace_info__
from .runtime.array_api import arange as arange
from .runtime.array_api import argsort as argsort
from .runtime.array_api import asarray as asarray
from .runtime.array_api import astype as astype
from .runtime.array_api import bool as bool
from .runtime.array_api import broadcast_arrays as broadcast_arrays
from .runtime.array_api import broadcast_to as broadcast_to
from .runtime.array_api import can_cast as can_cast
from .runtime.array_api import clip as clip
from .runtime.array_api import complex128 as complex128
from .runtime.array_api import complex64 as complex64
from .runtime.array_api import concat as concat
from .runtime.array_api import conj as conj
from .runtime.array_api import count_nonzero as count_nonzero
from .runtime.array_api import diff as diff
from .runtime.array_api import e as e
from .runtime.array_api import empty as empty
from .runtime.array_api import expand_dims as expand_dims
from .runtime.array_api import eye as eye
from .runtime.array_api import fft as fft
from .runtime.array_api import finfo as finfo
from .runtime.array_api import flip as flip
from .runtime.array_api import float32 as float32
from .runtime.array_api import float64 as float64
from .runtime.array_api import from_dlpack as from_dlpack
from .runtime.array_api import full as full
from .runtime.array_api import full_like as full_like
from .runtime.array_api import iinfo as iinfo
from .runtime.array_api import imag as imag
from .runtime.array_api import inf as inf
from .runtime.array_api import int16 as int16
from .runtime.array_api import int32 as int32
from .runtime.array_api import int64 as int64
from .runtime.array_api import int8 as int8
from .runtime.array_api import isdtype as isdtype
from .runtime.array_api import linalg as linalg
from .runtime.array_api import linspace as linspace
from .runtime.array_api import matmul as matmul
from .runtime.array_api import matrix_transpose as matrix_transpose
from .runtime.array_api import mean as mean
from .runtime.array_api import meshgrid as meshgrid
from .runtime.array_api import moveaxis as moveaxis
from .runtime.array_api import nan as nan
from .runtime.array_api import newaxis as newaxis
from .runtime.array_api import nonzero as nonzero
from .runtime.array_api import permute_dims as permute_dims
from .runtime.array_api import pi as pi
from .runtime.array_api import positive as positive
from .runtime.array_api import prod as prod
from .runtime.array_api import real as real
from .runtime.array_api import repeat as repeat
from .runtime.array_api import reshape as reshape
from .runtime.array_api import result_type as result_type
from .runtime.array_api import roll as roll
from .runtime.array_api import searchsorted as searchsorted
from .runtime.array_api import sign as sign
from .runtime.array_api import sort as sort
from .runtime.array_api import squeeze as squeeze
from .runtime.array_api import stack as stack
from .runtime.array_api import std as std
from .runtime.array_api import sum as sum
from .runtime.array_api import take as take
from .runtime.array_api import take_along_axis as take_along_axis
from .runtime.array_api import tensordot as tensordot
from .runtime.array_api import tile as tile
from .runtime.array_api import uint16 as uint16
from .runtime.array_api import uint32 as uint32
from .runtime.array_api import uint64 as uint64
from .runtime.array_api import uint8 as uint8
from .runtime.array_api import unique_all as unique_all
from .runtime.array_api import unique_counts as unique_counts
from .runtime.array_api import unique_inverse as unique_inverse
from .runtime.array_api import unique_values as unique_values
from .runtime.array_api import unstack as unstack
from .runtime.array_api import var as var
from .runtime.array_api import vecdot as vecdot
from .runtime.array_api import where as where

def abs(x, /) -> Any:
    """Elementwise abs of arrays of numeric dtype."""
def acos(x, /) -> Any:
    """Elementwise acos of arrays of floating dtype."""
def acosh(x, /) -> Any:
    """Elementwise acosh of arrays of floating dtype."""
def add(x1, x2, /) -> Any:
    """Elementwise add of arrays of numeric dtype."""
def all(x, /, *, axis=None, keepdims: builtins.bool = False) -> Any:
    """Return whether all elements are nonzero."""
def any(x, /, *, axis=None, keepdims: builtins.bool = False) -> Any:
    """Return whether any element is nonzero."""
def argmax(x, /, *, axis=None, keepdims: builtins.bool = False) -> Any:
    """Return the index of the largest element, the first of several."""
def argmin(x, /, *, axis=None, keepdims: builtins.bool = False) -> Any:
    """Return the index of the smallest element, the first of several."""
def asin(x, /) -> Any:
    """Elementwise asin of arrays of floating dtype."""
def asinh(x, /) -> Any:
    """Elementwise asinh of arrays of floating dtype."""
def atan(x, /) -> Any:
    """Elementwise atan of arrays of floating dtype."""
def atan2(x1, x2, /) -> Any:
    """Elementwise atan2 of arrays of real floating dtype."""
def atanh(x, /) -> Any:
    """Elementwise atanh of arrays of floating dtype."""
def bitwise_and(x1, x2, /) -> Any:
    """Elementwise bitwise and of arrays of integer or boolean dtype."""
def bitwise_invert(x, /) -> Any:
    """Elementwise bitwise invert of arrays of integer or boolean dtype."""
def bitwise_left_shift(x1, x2, /) -> Any:
    """Elementwise bitwise left shift of arrays of integer dtype."""
def bitwise_or(x1, x2, /) -> Any:
    """Elementwise bitwise or of arrays of integer or boolean dtype."""
def bitwise_right_shift(x1, x2, /) -> Any:
    """Elementwise bitwise right shift of arrays of integer dtype."""
def bitwise_xor(x1, x2, /) -> Any:
    """Elementwise bitwise xor of arrays of integer or boolean dtype."""
def ceil(x, /) -> Any:
    """Elementwise ceil of arrays of real dtype."""
def copysign(x1, x2, /) -> Any:
    """Elementwise copysign of arrays of real floating dtype."""
def cos(x, /) -> Any:
    """Elementwise cos of arrays of floating dtype."""
def cosh(x, /) -> Any:
    """Elementwise cosh of arrays of floating dtype."""
def cumulative_prod(x, /, *, axis=None, dtype=None, include_initial: builtins.bool = False) -> Any:
    """Return products of all elements up to each, beginning with 1 if `include_initial`."""
def cumulative_sum(x, /, *, axis=None, dtype=None, include_initial: builtins.bool = False) -> Any:
    """Return sums of all elements up to each, beginning with 0 if `include_initial`."""
def divide(x1, x2, /) -> Any:
    """Elementwise divide of arrays of floating dtype."""
def empty_like(x, /, *, dtype=None, device=None) -> Any:
    """Return an uninitialised array with the shape of another."""
def equal(x1, x2, /) -> Any:
    """Elementwise equal of arrays of all dtype."""
def exp(x, /) -> Any:
    """Elementwise exp of arrays of floating dtype."""
def expm1(x, /) -> Any:
    """Elementwise expm1 of arrays of floating dtype."""
def floor(x, /) -> Any:
    """Elementwise floor of arrays of real dtype."""
def floor_divide(x1, x2, /) -> Any:
    """Elementwise floor divide of arrays of real dtype."""
def greater(x1, x2, /) -> Any:
    """Elementwise greater of arrays of real dtype."""
def greater_equal(x1, x2, /) -> Any:
    """Elementwise greater equal of arrays of real dtype."""
def hypot(x1, x2, /) -> Any:
    """Elementwise hypot of arrays of real floating dtype."""
def isfinite(x, /) -> Any:
    """Elementwise isfinite of arrays of numeric dtype."""
def isinf(x, /) -> Any:
    """Elementwise isinf of arrays of numeric dtype."""
def isnan(x, /) -> Any:
    """Elementwise isnan of arrays of numeric dtype."""
def less(x1, x2, /) -> Any:
    """Elementwise less of arrays of real dtype."""
def less_equal(x1, x2, /) -> Any:
    """Elementwise less equal of arrays of real dtype."""
def log(x, /) -> Any:
    """Elementwise log of arrays of floating dtype."""
def log10(x, /) -> Any:
    """Elementwise log10 of arrays of floating dtype."""
def log1p(x, /) -> Any:
    """Elementwise log1p of arrays of floating dtype."""
def log2(x, /) -> Any:
    """Elementwise log2 of arrays of floating dtype."""
def logaddexp(x1, x2, /) -> Any:
    """Elementwise logaddexp of arrays of real floating dtype."""
def logical_and(x1, x2, /) -> Any:
    """Elementwise logical and of arrays of boolean dtype."""
def logical_not(x, /) -> Any:
    """Elementwise logical not of arrays of boolean dtype."""
def logical_or(x1, x2, /) -> Any:
    """Elementwise logical or of arrays of boolean dtype."""
def logical_xor(x1, x2, /) -> Any:
    """Elementwise logical xor of arrays of boolean dtype."""
def max(x, /, *, axis=None, keepdims: builtins.bool = False) -> Any:
    """Return the largest elements."""
def maximum(x1, x2, /) -> Any:
    """Elementwise maximum of arrays of real dtype."""
def min(x, /, *, axis=None, keepdims: builtins.bool = False) -> Any:
    """Return the smallest elements."""
def minimum(x1, x2, /) -> Any:
    """Elementwise minimum of arrays of real dtype."""
def multiply(x1, x2, /) -> Any:
    """Elementwise multiply of arrays of numeric dtype."""
def negative(x, /) -> Any:
    """Elementwise negative of arrays of numeric dtype."""
def nextafter(x1, x2, /) -> Any:
    """Elementwise nextafter of arrays of real floating dtype."""
def not_equal(x1, x2, /) -> Any:
    """Elementwise not equal of arrays of all dtype."""
def ones(shape, *, dtype=None, device=None) -> Any:
    """Return an array of ones."""
def ones_like(x, /, *, dtype=None, device=None) -> Any:
    """Return an array of ones with the shape of another."""
def pow(x1, x2, /) -> Any:
    """Elementwise pow of arrays of numeric dtype."""
def reciprocal(x, /) -> Any:
    """Elementwise reciprocal of arrays of floating dtype."""
def remainder(x1, x2, /) -> Any:
    """Elementwise remainder of arrays of real dtype."""
def round(x, /) -> Any:
    """Elementwise round of arrays of numeric dtype."""
def signbit(x, /) -> Any:
    """Elementwise signbit of arrays of real floating dtype."""
def sin(x, /) -> Any:
    """Elementwise sin of arrays of floating dtype."""
def sinh(x, /) -> Any:
    """Elementwise sinh of arrays of floating dtype."""
def sqrt(x, /) -> Any:
    """Elementwise sqrt of arrays of floating dtype."""
def square(x, /) -> Any:
    """Elementwise square of arrays of numeric dtype."""
def subtract(x1, x2, /) -> Any:
    """Elementwise subtract of arrays of numeric dtype."""
def tan(x, /) -> Any:
    """Elementwise tan of arrays of floating dtype."""
def tanh(x, /) -> Any:
    """Elementwise tanh of arrays of floating dtype."""
def tril(x, /, *, k=0) -> Any:
    """Return the lower triangle of matrices, zeros above the k-th diagonal."""
def triu(x, /, *, k=0) -> Any:
    """Return the upper triangle of matrices, zeros below the k-th diagonal."""
def trunc(x, /) -> Any:
    """Elementwise trunc of arrays of real dtype."""
def zeros(shape, *, dtype=None, device=None) -> Any:
    """Return an array of zeros."""
def zeros_like(x, /, *, dtype=None, device=None) -> Any:
    """Return an array of zeros with the shape of another."""
