"""The Tensor with every method that the API attaches to it.

Made by `make stubs` from the live package; not edited by hand.
"""

import builtins
import collections.abc
from typing import Any, overload

import numpy

from ...ir import dtype as _dtype_module
from ...ir import errors as _errors_module
from ...ir.opdef import aval as _aval_module
from ..api.register import layouts as _layouts_module
from ..api.register import return_types as _return_types_module
from ..api.tensor_classes import absent_methods as _absent_methods_module
from ..api.tensor_classes import typed_storage as _typed_storage_module
from ..state import structure as _structure_module
from . import device as _device_module
from . import storage as _storage_module

class Size(builtins.tuple[builtins.int, ...]):
    """A shape: a tuple of ints with `numel()`. Tensors of one integer become ints."""
    def __add__(self, other) -> Any: ...  # type: ignore[override]
    def __getitem__(self, i) -> Any: ...  # type: ignore[override]
    def __mul__(self, times) -> Any: ...  # type: ignore[override]
    def __radd__(self, other) -> Any: ...
    def __repr__(self) -> Any: ...
    def __rmul__(self, times) -> Any: ...  # type: ignore[override]
    def numel(self) -> builtins.int: ...

def _as_size(d) -> Any:
    """Return one number of a shape; symbols, sizes of samples that differ, and NumPy's numbers stay as they are."""
def _size_of(shape) -> Size:
    """Return the Size of a tuple, cached."""

class Tensor:
    """A multi-dimensional array of one dtype that operators can differentiate."""
    @builtins.property
    def H(self) -> Tensor:
        """Matrix, transposed and conjugated."""
    @builtins.property
    def T(self) -> Tensor:
        """Tensor with all dimensions reversed."""
    def __abs__(self) -> Tensor: ...
    def __add__(self, other) -> Tensor: ...
    def __and__(self, other) -> Tensor: ...
    def __array__(self, dtype=None, copy=None) -> numpy.ndarray: ...
    @builtins.property
    def __array_interface__(self) -> builtins.dict:
        """NumPy's description of this tensor's memory."""
    def __array_namespace__(self, *, api_version=None) -> Any:
        """Return the array API namespace, `ingot.array_api`."""
    __array_priority__: builtins.int
    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **kwargs) -> Tensor:
        """Run a NumPy universal function with a tensor among its arguments (`__array_ufunc__`)."""
    def __bool__(self) -> builtins.bool: ...
    def __buffer__(self, flags) -> builtins.memoryview:
        """Return this tensor's memory as a memoryview."""
    def __complex__(self) -> builtins.complex: ...
    def __contains__(self, element) -> builtins.bool:
        """Return whether some element equals `element`."""
    def __copy__(self) -> Tensor:
        """Return a new tensor over the same memory."""
    @builtins.property
    def __cuda_array_interface__(self) -> builtins.dict:
        """Description of this tensor's GPU memory for CuPy and Numba, with the stream of its work."""
    def __deepcopy__(self, memo) -> Tensor:
        """Return a copy in new memory; tensors that share memory share the copy as well."""
    def __dir__(self) -> builtins.list:  # type: ignore[override]
        """Return the names of a tensor that users see. Python suggests one of them for a misspelt attribute."""
    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None) -> Any:
        """Return a DLPack capsule of this tensor's memory, without a copy unless requested."""
    def __dlpack_device__(self) -> builtins.tuple:
        """Return (device type, index) in DLPack's numbers."""
    def __eq__(self, other) -> Tensor: ...  # type: ignore[override]
    def __float__(self) -> builtins.float: ...
    def __floordiv__(self, other) -> Tensor: ...
    def __format__(self, spec) -> builtins.str: ...  # type: ignore[override]
    def __ge__(self, other) -> Tensor: ...  # type: ignore[override]
    def __getitem__(self, key) -> Tensor:
        """Return x[key]: a view for ints, slices, None and Ellipsis; a copy once masks or index tensors take part."""
    def __gt__(self, other) -> Tensor: ...  # type: ignore[override]
    def __hash__(self) -> builtins.int: ...
    def __iadd__(self, other) -> Tensor: ...
    def __iand__(self, other) -> Tensor: ...
    def __ifloordiv__(self, other) -> Tensor: ...
    def __ilshift__(self, other) -> Tensor: ...
    def __imod__(self, other) -> Tensor: ...
    def __imul__(self, other) -> Tensor: ...
    def __index__(self) -> builtins.int: ...
    def __init__(self, *data, device=None) -> None: ...
    def __int__(self) -> builtins.int: ...
    def __invert__(self) -> Tensor: ...
    def __ior__(self, other) -> Tensor: ...
    def __ipow__(self, other) -> Tensor: ...
    def __irshift__(self, other) -> Tensor: ...
    def __isub__(self, other) -> Tensor: ...
    def __iter__(self) -> collections.abc.Iterator[Tensor]:
        """Iterate over the entries along the first dimension."""
    def __itruediv__(self, other) -> Tensor: ...
    def __ixor__(self, other) -> Tensor: ...
    def __le__(self, other) -> Tensor: ...  # type: ignore[override]
    def __len__(self) -> builtins.int: ...
    def __lshift__(self, other) -> Tensor: ...
    def __lt__(self, other) -> Tensor: ...  # type: ignore[override]
    def __matmul__(self, other) -> Tensor: ...
    def __mod__(self, other) -> Tensor: ...
    def __mul__(self, other) -> Tensor: ...
    def __ne__(self, other) -> Tensor: ...  # type: ignore[override]
    def __neg__(self) -> Tensor: ...
    def __or__(self, other) -> Tensor: ...
    def __pos__(self) -> Tensor: ...
    def __pow__(self, other) -> Tensor: ...
    def __radd__(self, other) -> Tensor: ...
    def __rand__(self, other) -> Tensor: ...
    def __reduce_ex__(self, protocol) -> builtins.tuple:  # type: ignore[override]
        """Pickle memory, class, attributes and requires_grad; drop the history."""
    def __repr__(self) -> builtins.str:
        """Return repr() and str() of a tensor."""
    def __reversed__(self) -> Tensor:
        """Return the entries along the first dimension in reverse order."""
    def __rfloordiv__(self, other) -> Tensor: ...
    def __rlshift__(self, other) -> Tensor: ...
    def __rmatmul__(self, other) -> Tensor: ...
    def __rmod__(self, other) -> Tensor: ...
    def __rmul__(self, other) -> Tensor: ...
    def __ror__(self, other) -> Tensor: ...
    def __rpow__(self, other) -> Tensor: ...
    def __rrshift__(self, other) -> Tensor: ...
    def __rshift__(self, other) -> Tensor: ...
    def __rsub__(self, other) -> Tensor: ...
    def __rtruediv__(self, other) -> Tensor: ...
    def __rxor__(self, other) -> Tensor: ...
    def __setitem__(self, key, value) -> None:
        """Write x[key] = value, broadcasting and converting the value."""
    def __sub__(self, other) -> Tensor: ...
    __torch_function__: builtins.classmethod
    def __truediv__(self, other) -> Tensor: ...
    def __xor__(self, other) -> Tensor: ...
    _a: Any
    _base: Any
    @builtins.property
    def _chain(self) -> builtins.tuple:
        """The view operators from the base to here, as (name, sorted items of parameters)."""
    def _check_grad(self, value) -> Tensor: ...
    _data_version: Any
    _former_leaf: Any
    _grad_is_copied: builtins.bool
    _is_data: builtins.bool
    def _is_view(self) -> builtins.bool:
        """Return whether the tensor is a view of another one."""
    _make_subclass: builtins.staticmethod
    def _memory(self, force: builtins.bool = False) -> numpy.ndarray:
        """Return the memory itself, or a host copy from a device."""
    _node: Any
    def _one(self) -> Any: ...
    _own_class: Any
    def _own_storage(self) -> _storage_module.Storage: ...
    _part_of: Any
    _passed_by: Any
    _path: Any
    def _resize_over(self, shape) -> Tensor:
        """Resize a tensor that is overwritten as a whole next, so elements cut off or new need no values."""
    _retained_grad: Any
    _retains: builtins.bool
    _shared: Any
    @builtins.property
    def _storage(self) -> _storage_module.Storage:
        """State shared with the tensors over the same memory; created at the first view, save or write."""
    @_storage.setter
    def _storage(self, value) -> None: ...
    def _to_copy(self) -> numpy.ndarray:
        """Return the memory for code that copies it at once."""
    def _typed_storage(self) -> _typed_storage_module.TypedStorage:
        """Return the memory of the tensor, counted in elements."""
    @builtins.property
    def _version(self) -> builtins.int: ...
    def abs(self, *, out=None) -> Tensor:
        """Return absolute values."""
    def abs_(self, *, out=None) -> Tensor:
        """In-place version of abs()."""
    def absolute(self, *, out=None) -> Tensor:
        """Return absolute values."""
    def absolute_(self, *, out=None) -> Tensor:
        """In-place version of absolute()."""
    def acos(self, *, out=None) -> Tensor:
        """Elementwise acos."""
    def acos_(self, *, out=None) -> Tensor:
        """In-place version of acos()."""
    def acosh(self, *, out=None) -> Tensor:
        """Elementwise acosh."""
    def acosh_(self, *, out=None) -> Tensor:
        """In-place version of acosh()."""
    def add(self, other, *older, alpha=1, out=None) -> Tensor:
        """Return input + alpha * other."""
    def add_(self, other, *older, alpha=1, out=None) -> Tensor:
        """In-place version of add()."""
    def addbmm(self, batch1, batch2, *older, beta=1, alpha=1, out=None) -> Tensor:
        """Return beta * input + alpha * the sum of all products in the batch."""
    def addbmm_(self, batch1, batch2, *older, beta=1, alpha=1, out=None) -> Tensor:
        """In-place version of addbmm()."""
    def addcdiv(self, tensor1, tensor2, *older, value=1, out=None) -> Tensor:
        """Return input + value * tensor1 / tensor2."""
    def addcdiv_(self, tensor1, tensor2, *older, value=1, out=None) -> Tensor:
        """In-place version of addcdiv()."""
    def addcmul(self, tensor1, tensor2, *older, value=1, out=None) -> Tensor:
        """Return input + value * tensor1 * tensor2."""
    def addcmul_(self, tensor1, tensor2, *older, value=1, out=None) -> Tensor:
        """In-place version of addcmul()."""
    def addmm(self, mat1, mat2, *older, beta=1, alpha=1, out=None) -> Tensor:
        """Return beta * input + alpha * mat1 @ mat2."""
    def addmm_(self, mat1, mat2, *older, beta=1, alpha=1, out=None) -> Tensor:
        """In-place version of addmm()."""
    def addmv(self, mat, vec, *older, beta=1, alpha=1, out=None) -> Tensor:
        """Return beta * input + alpha * mat @ vec."""
    def addmv_(self, mat, vec, *older, beta=1, alpha=1, out=None) -> Tensor:
        """In-place version of addmv()."""
    def addr(self, vec1, vec2, *older, beta=1, alpha=1, out=None) -> Tensor:
        """Return beta * input + alpha * outer(vec1, vec2)."""
    def addr_(self, vec1, vec2, *older, beta=1, alpha=1, out=None) -> Tensor:
        """In-place version of addr()."""
    def adjoint(self) -> Tensor:
        """Swap the last two dimensions, and conjugate complex elements."""
    def all(self, dim=None, keepdim: builtins.bool = False, *, out=None, axis=None, keepdims: builtins.bool = False) -> Tensor:
        """Return whether all elements are nonzero (uint8 gives uint8)."""
    def allclose(self, other, rtol=1e-05, atol=1e-08, equal_nan: builtins.bool = False) -> builtins.bool:
        """Return whether all elements are close."""
    def amax(self, dim=(), keepdim: builtins.bool = False, *, out=None, axis=(), keepdims: builtins.bool = False) -> Tensor:
        """Return the largest values over dims; ties share the gradient equally."""
    def amin(self, dim=(), keepdim: builtins.bool = False, *, out=None, axis=(), keepdims: builtins.bool = False) -> Tensor:
        """Return the smallest values over dims; ties share the gradient equally."""
    def aminmax(self, *, dim=None, keepdim: builtins.bool = False, out=None, axis=None,
                keepdims: builtins.bool = False) -> _return_types_module.aminmax:
        """Return the smallest and largest values as (min, max)."""
    def angle(self, *, out=None) -> Tensor:
        """Return the angle in the complex plane: for real numbers 0 or, below zero, pi; nan stays nan."""
    def angle_(self, *, out=None) -> Tensor:
        """In-place version of angle()."""
    def any(self, dim=None, keepdim: builtins.bool = False, *, out=None, axis=None, keepdims: builtins.bool = False) -> Tensor:
        """Return whether any element is nonzero (uint8 gives uint8)."""
    def apply_(self, callable) -> Tensor:
        """Replace each element by callable(element), with one Python call each."""
    def arccos(self, *, out=None) -> Tensor:
        """Elementwise acos."""
    def arccos_(self, *, out=None) -> Tensor:
        """In-place version of arccos()."""
    def arccosh(self, *, out=None) -> Tensor:
        """Elementwise acosh."""
    def arccosh_(self, *, out=None) -> Tensor:
        """In-place version of arccosh()."""
    def arcsin(self, *, out=None) -> Tensor:
        """Elementwise asin."""
    def arcsin_(self, *, out=None) -> Tensor:
        """In-place version of arcsin()."""
    def arcsinh(self, *, out=None) -> Tensor:
        """Elementwise asinh."""
    def arcsinh_(self, *, out=None) -> Tensor:
        """In-place version of arcsinh()."""
    def arctan(self, *, out=None) -> Tensor:
        """Elementwise atan."""
    def arctan2(self, other, *, out=None) -> Tensor:
        """The angle of the point (x, y), from -pi to pi."""
    def arctan2_(self, other, *, out=None) -> Tensor:
        """In-place version of arctan2()."""
    def arctan_(self, *, out=None) -> Tensor:
        """In-place version of arctan()."""
    def arctanh(self, *, out=None) -> Tensor:
        """Elementwise atanh."""
    def arctanh_(self, *, out=None) -> Tensor:
        """In-place version of arctanh()."""
    def argmax(self, dim=None, keepdim: builtins.bool = False, *, out=None, axis=None,
               keepdims: builtins.bool = False) -> Tensor:
        """Return the index of the largest element, the first among equals; without dim an index into the flattened tensor."""
    def argmin(self, dim=None, keepdim: builtins.bool = False, *, out=None, axis=None,
               keepdims: builtins.bool = False) -> Tensor:
        """Return the index of the smallest element, the first among equals; without dim an index into the flattened tensor."""
    def argsort(self, dim=-1, descending: builtins.bool = False, stable: builtins.bool = True, *, out=None, axis=-1) -> Tensor:
        """Return the indices that sort along a dim. `stable` is ignored: equal elements always keep their order."""
    def argwhere(self) -> Tensor:
        """Return the positions of nonzero elements as rows of a matrix."""
    def as_strided(self, size, stride, storage_offset=None) -> Tensor:
        """Return any strided window over the memory of a tensor."""
    def as_strided_(self, size, stride, storage_offset=None) -> Tensor:
        """Turn this tensor into a strided window over its memory."""
    def as_strided_scatter(self, src, size, stride, storage_offset=None) -> Tensor:
        """Return a copy with src in a strided window over its memory; an expanded input is copied first."""
    def as_subclass(self, cls) -> Tensor:
        """Return a view of the tensor whose class is `cls`, Tensor or one that derives from it."""
    def asin(self, *, out=None) -> Tensor:
        """Elementwise asin."""
    def asin_(self, *, out=None) -> Tensor:
        """In-place version of asin()."""
    def asinh(self, *, out=None) -> Tensor:
        """Elementwise asinh."""
    def asinh_(self, *, out=None) -> Tensor:
        """In-place version of asinh()."""
    astype: _absent_methods_module.AbsentMethod
    def atan(self, *, out=None) -> Tensor:
        """Elementwise atan."""
    def atan2(self, other, *, out=None) -> Tensor:
        """The angle of the point (x, y), from -pi to pi."""
    def atan2_(self, other, *, out=None) -> Tensor:
        """In-place version of atan2()."""
    def atan_(self, *, out=None) -> Tensor:
        """In-place version of atan()."""
    def atanh(self, *, out=None) -> Tensor:
        """Elementwise atanh."""
    def atanh_(self, *, out=None) -> Tensor:
        """In-place version of atanh()."""
    @builtins.property
    def aval(self) -> _aval_module.Aval:
        """Shape and dtype, as the compiler sees them."""
    def backward(self, gradient=None, retain_graph=None, create_graph: builtins.bool = False, inputs=None) -> None:
        """Add the gradients of this tensor to the `.grad` of its leaves."""
    def baddbmm(self, batch1, batch2, *older, beta=1, alpha=1, out=None) -> Tensor:
        """Return beta * input + alpha * batch1 @ batch2."""
    def baddbmm_(self, batch1, batch2, *older, beta=1, alpha=1, out=None) -> Tensor:
        """In-place version of baddbmm()."""
    def bernoulli(self, p=None, *, generator=None, out=None) -> Tensor:
        """Return 1 with the probability in each element of `input` (or `p` for all), else 0."""
    def bernoulli_(self, *args, **kwargs) -> Tensor:
        """Fill with 1 with probability p (a number or a tensor), else 0."""
    def bfloat16(self, memory_format=...) -> Tensor:
        """Convert this tensor to bfloat16."""
    def bincount(self, weights=None, minlength=0) -> Tensor:
        """Count how many times each of 0, 1, 2, ... occurs, or sum the weights of its occurrences."""
    def bitwise_and(self, other, *, out=None) -> Tensor:
        """Elementwise bitwise_and."""
    def bitwise_and_(self, other, *, out=None) -> Tensor:
        """In-place version of bitwise_and()."""
    def bitwise_left_shift(self, other, *, out=None) -> Tensor:
        """Elementwise bitwise_left_shift."""
    def bitwise_left_shift_(self, other, *, out=None) -> Tensor:
        """In-place version of bitwise_left_shift()."""
    def bitwise_not(self, *, out=None) -> Tensor:
        """Elementwise bitwise_not."""
    def bitwise_not_(self, *, out=None) -> Tensor:
        """In-place version of bitwise_not()."""
    def bitwise_or(self, other, *, out=None) -> Tensor:
        """Elementwise bitwise_or."""
    def bitwise_or_(self, other, *, out=None) -> Tensor:
        """In-place version of bitwise_or()."""
    def bitwise_right_shift(self, other, *, out=None) -> Tensor:
        """Elementwise bitwise_right_shift."""
    def bitwise_right_shift_(self, other, *, out=None) -> Tensor:
        """In-place version of bitwise_right_shift()."""
    def bitwise_xor(self, other, *, out=None) -> Tensor:
        """Elementwise bitwise_xor."""
    def bitwise_xor_(self, other, *, out=None) -> Tensor:
        """In-place version of bitwise_xor()."""
    def bmm(self, mat2, *, out=None) -> Tensor:
        """Multiply two equally long batches of matrices."""
    def bool(self, memory_format=...) -> Tensor:
        """Convert this tensor to bool."""
    def broadcast_to(self, *sizes, size=None) -> Tensor:
        """Expand a tensor to a shape."""
    def bucketize(self, boundaries, *, out_int32: builtins.bool = False, right: builtins.bool = False, out=None) -> Tensor:
        """Return the index of each value's bucket between sorted boundaries."""
    def byte(self, memory_format=...) -> Tensor:
        """Convert this tensor to uint8."""
    def cauchy_(self, *args, **kwargs) -> Tensor:
        """Fill with Cauchy numbers."""
    def ccol_indices(self, *args) -> Tensor:
        """ccol_indices() of sparse tensors, which have a method of their own; an error for dense ones."""
    def cdouble(self, memory_format=...) -> Tensor:
        """Convert this tensor to complex128."""
    def ceil(self, *, out=None) -> Tensor:
        """Elementwise ceil."""
    def ceil_(self, *, out=None) -> Tensor:
        """In-place version of ceil()."""
    def cfloat(self, memory_format=...) -> Tensor:
        """Convert this tensor to complex64."""
    def char(self, memory_format=...) -> Tensor:
        """Convert this tensor to int8."""
    def cholesky(self, upper: builtins.bool = False, *, out=None) -> Tensor:
        """Return the lower triangular factor of symmetric positive matrices (or its transpose)."""
    def cholesky_inverse(self, upper: builtins.bool = False, *, out=None) -> Tensor:
        """Return the inverse of A, from its Cholesky factor."""
    def cholesky_solve(self, L, upper: builtins.bool = False, *, out=None) -> Tensor:
        """Return the solution X of A @ X = input, from one triangle of a Cholesky factor of A."""
    def chunk(self, chunks, dim=0, *, axis=0) -> builtins.tuple[Tensor, ...]:
        """Split a tensor into at most `chunks` pieces of one size (the last may be smaller); return views."""
    def clamp(self, min=None, max=None, *, out=None) -> Tensor:
        """Limit values to [min, max]; either may be missing, a number or a tensor."""
    def clamp_(self, min=None, max=None, *, out=None) -> Tensor:
        """In-place version of clamp()."""
    def clamp_max(self, max, *, out=None) -> Tensor:
        """Lower values above max to max."""
    def clamp_max_(self, max, *, out=None) -> Tensor:
        """In-place version of clamp_max()."""
    def clamp_min(self, min, *, out=None) -> Tensor:
        """Raise values below min to min."""
    def clamp_min_(self, min, *, out=None) -> Tensor:
        """In-place version of clamp_min()."""
    def clip(self, min=None, max=None, *, out=None) -> Tensor:
        """Limit values to [min, max]; either may be missing, a number or a tensor."""
    def clip_(self, min=None, max=None, *, out=None) -> Tensor:
        """In-place version of clip()."""
    def clone(self, *, memory_format=...) -> Tensor:
        """Return a copy in new memory."""
    def coalesce(self, *args) -> Tensor:
        """coalesce() of sparse tensors, which have a method of their own; an error for dense ones."""
    def col_indices(self, *args) -> Tensor:
        """col_indices() of sparse tensors, which have a method of their own; an error for dense ones."""
    def combinations(self, r=2, with_replacement: builtins.bool = False) -> Tensor:
        """Return all combinations of r elements of a vector, as rows."""
    def conj(self) -> Tensor:
        """Return the complex conjugate; a real tensor itself."""
    def conj_physical(self, *, out=None) -> Tensor:
        """Return the complex conjugate; a real tensor itself."""
    def conj_physical_(self, *, out=None) -> Tensor:
        """In-place version of conj_physical()."""
    def contiguous(self, memory_format=...) -> Tensor:
        """Return this tensor if its memory is in row-major order (or in the given format), else a copy that is."""
    copy: _absent_methods_module.AbsentMethod
    def copy_(self, src, non_blocking: builtins.bool = False) -> Tensor:
        """Write another tensor or a number into this one, broadcasting and converting it."""
    def copysign(self, other, *, out=None) -> Tensor:
        """|x| with the sign of y."""
    def copysign_(self, other, *, out=None) -> Tensor:
        """In-place version of copysign()."""
    def corrcoef(self) -> Tensor:
        """Return correlations between the rows of a matrix, within [-1, 1]."""
    def cos(self, *, out=None) -> Tensor:
        """Elementwise cos."""
    def cos_(self, *, out=None) -> Tensor:
        """In-place version of cos()."""
    def cosh(self, *, out=None) -> Tensor:
        """Elementwise cosh."""
    def cosh_(self, *, out=None) -> Tensor:
        """In-place version of cosh()."""
    def count_nonzero(self, dim=None, *more, keepdim: builtins.bool = False, axis=None,
                      keepdims: builtins.bool = False) -> Tensor:
        """Return the number of nonzero elements, of all or along dims."""
    def cov(self, *, correction=1, fweights=None, aweights=None) -> Tensor:
        """Return covariances between the rows of a matrix; each column is an observation."""
    def cpu(self, memory_format=...) -> Tensor:
        """Copy this tensor to host memory, if it is not there."""
    def cross(self, other, dim=None, *, out=None, axis=None) -> Tensor:
        """Return the cross product of vectors of 3 along `dim`, by default the first dim of size 3."""
    def crow_indices(self, *args) -> Tensor:
        """crow_indices() of sparse tensors, which have a method of their own; an error for dense ones."""
    def cuda(self, device=None, non_blocking: builtins.bool = False, memory_format=...) -> Tensor:
        """Copy this tensor to a CUDA device, if it is not there."""
    @overload
    def cummax(self, dim, *, out=None) -> _return_types_module.cummax:
        """Return the running maximum along a dim and its last position, as (values, indices)."""
    @overload
    def cummax(self, *, axis, out=None) -> _return_types_module.cummax:
        """Return the running maximum along a dim and its last position, as (values, indices)."""
    @overload
    def cummin(self, dim, *, out=None) -> _return_types_module.cummin:
        """Return the running minimum along a dim and its last position, as (values, indices)."""
    @overload
    def cummin(self, *, axis, out=None) -> _return_types_module.cummin:
        """Return the running minimum along a dim and its last position, as (values, indices)."""
    @overload
    def cumprod(self, dim, *, dtype=None, out=None) -> Tensor:
        """Return running products along a dim; integers and bools are multiplied in int64."""
    @overload
    def cumprod(self, *, axis, dtype=None, out=None) -> Tensor:
        """Return running products along a dim; integers and bools are multiplied in int64."""
    @overload
    def cumprod_(self, dim, *, dtype=None, out=None) -> Tensor:
        """In-place version of cumprod()."""
    @overload
    def cumprod_(self, *, axis, dtype=None, out=None) -> Tensor:
        """In-place version of cumprod()."""
    @overload
    def cumsum(self, dim, *, dtype=None, out=None) -> Tensor:
        """Return running sums along a dim; integers and bools are summed in int64."""
    @overload
    def cumsum(self, *, axis, dtype=None, out=None) -> Tensor:
        """Return running sums along a dim; integers and bools are summed in int64."""
    @overload
    def cumsum_(self, dim, *, dtype=None, out=None) -> Tensor:
        """In-place version of cumsum()."""
    @overload
    def cumsum_(self, *, axis, dtype=None, out=None) -> Tensor:
        """In-place version of cumsum()."""
    @builtins.property
    def data(self) -> Tensor:
        """The same memory without the history; writes through it are not checked against what was saved for gradients."""
    @data.setter
    def data(self, value) -> None: ...
    def data_ptr(self) -> builtins.int:
        """Return the address of the first element."""
    def deg2rad(self, *, out=None) -> Tensor:
        """Convert degrees to radians."""
    def deg2rad_(self, *, out=None) -> Tensor:
        """In-place version of deg2rad()."""
    def dense_dim(self) -> builtins.int:
        """Return how many dimensions are dense: all of a dense tensor."""
    def det(self, *, out=None) -> Tensor:
        """Return the determinant."""
    def detach(self) -> Tensor:
        """Return the same memory without the history."""
    def detach_(self) -> Tensor:
        """Drop this tensor's own history."""
    @builtins.property
    def device(self) -> _device_module.Device:
        """The device that holds this tensor."""
    def diag(self, diagonal=0, *, out=None) -> Tensor:
        """Return a vector as a diagonal matrix, or a copy of a matrix's diagonal."""
    def diag_embed(self, offset=0, dim1=-2, dim2=-1, *, axis1=-2) -> Tensor:
        """Return zeros with the last dimension on the diagonal of two new ones."""
    def diagflat(self, offset=0) -> Tensor:
        """Return a diagonal matrix of all elements."""
    def diagonal(self, offset=0, dim1=0, dim2=1, *, axis1=0) -> Tensor:
        """Return the diagonal of two dimensions, as a new last dimension (a view)."""
    def diagonal_scatter(self, src, offset=0, dim1=0, dim2=1, *, axis1=0) -> Tensor:
        """Return a copy with src on a diagonal."""
    def diff(self, n=1, dim=-1, prepend=None, append=None, *, out=None, axis=-1) -> Tensor:
        """Return differences of neighbours along a dim, n times over."""
    def digamma(self, *, out=None) -> Tensor:
        """Elementwise digamma."""
    def digamma_(self, *, out=None) -> Tensor:
        """In-place version of digamma()."""
    def dim(self) -> builtins.int:
        """Return the number of dimensions."""
    def dim_order(self, ambiguity_check: builtins.bool = False) -> builtins.tuple[builtins.int, ...]:
        """Return the dims from the slowest to the fastest in memory. With `ambiguity_check` (True, or a list of memory formats)
        raise if several orders fit, unless the tensor has exactly one of the formats."""
    def dist(self, other, p=2) -> Tensor:
        """Return the norm of order p of input - other."""
    def div(self, other, *, rounding_mode=None, out=None) -> Tensor:
        """Return input / other; rounding_mode "floor" or "trunc" rounds the quotient and keeps integers."""
    def div_(self, other, *, rounding_mode=None, out=None) -> Tensor:
        """In-place version of div()."""
    def divide(self, other, *, rounding_mode=None, out=None) -> Tensor:
        """Return input / other; rounding_mode "floor" or "trunc" rounds the quotient and keeps integers."""
    def divide_(self, other, *, rounding_mode=None, out=None) -> Tensor:
        """In-place version of divide()."""
    def dot(self, tensor, *, out=None) -> Tensor:
        """Return the inner product of two vectors."""
    def double(self, memory_format=...) -> Tensor:
        """Convert this tensor to float64."""
    def dsplit(self, indices_or_sections) -> builtins.tuple[Tensor, ...]:
        """Equal pieces, or pieces cut at the indices listed, as views."""
    @builtins.property
    def dtype(self) -> _dtype_module.DType: ...
    def element_size(self) -> builtins.int:
        """Return the bytes of one element."""
    def eq(self, other, *, out=None) -> Tensor:
        """Elementwise eq."""
    def eq_(self, other, *, out=None) -> Tensor:
        """In-place version of eq()."""
    def equal(self, other) -> builtins.bool:
        """Return whether two tensors have the same shape and elements."""
    def erf(self, *, out=None) -> Tensor:
        """Elementwise erf."""
    def erf_(self, *, out=None) -> Tensor:
        """In-place version of erf()."""
    def erfc(self, *, out=None) -> Tensor:
        """Elementwise erfc."""
    def erfc_(self, *, out=None) -> Tensor:
        """In-place version of erfc()."""
    def erfinv(self, *, out=None) -> Tensor:
        """Elementwise erfinv."""
    def erfinv_(self, *, out=None) -> Tensor:
        """In-place version of erfinv()."""
    def exp(self, *, out=None) -> Tensor:
        """Elementwise exp."""
    def exp2(self, *, out=None) -> Tensor:
        """Elementwise exp2."""
    def exp2_(self, *, out=None) -> Tensor:
        """In-place version of exp2()."""
    def exp_(self, *, out=None) -> Tensor:
        """In-place version of exp()."""
    def expand(self, *sizes, size=None, implicit: builtins.bool = False) -> Tensor:
        """Repeat dimensions of size 1 without copying; -1 keeps a size. `implicit` is ignored: it only marks broadcasts for
        PyTorch's own transforms."""
    def expand_as(self, other) -> Tensor: ...
    def expm1(self, *, out=None) -> Tensor:
        """Elementwise expm1."""
    def expm1_(self, *, out=None) -> Tensor:
        """In-place version of expm1()."""
    def exponential_(self, *args, **kwargs) -> Tensor:
        """Fill with exponential numbers of rate lambd."""
    fill: _absent_methods_module.AbsentMethod
    def fill_(self, value) -> Tensor:
        """Write one value to all elements."""
    def fill_diagonal_(self, fill_value, wrap: builtins.bool = False) -> Tensor:
        """Write one value on the main diagonal; `wrap` starts it again below the last row of a tall matrix."""
    def fix(self, *, out=None) -> Tensor:
        """Elementwise trunc."""
    def fix_(self, *, out=None) -> Tensor:
        """In-place version of fix()."""
    flat: _absent_methods_module.AbsentMethod
    def flatten(self, start_dim=0, end_dim=-1) -> Tensor:
        """Merge dims start_dim to end_dim into one."""
    def flip(self, *which, dims=None, axis=None) -> Tensor:
        """Reverse the order of elements along dims."""
    def fliplr(self) -> Tensor:
        """Reverse the second dimension."""
    def flipud(self) -> Tensor:
        """Reverse the first dimension."""
    def float(self, memory_format=...) -> Tensor:
        """Convert this tensor to float32."""
    def float_power(self, exponent, *, out=None) -> Tensor:
        """Return input ** exponent in float64, for complex numbers in complex128."""
    def float_power_(self, exponent, *, out=None) -> Tensor:
        """In-place version of float_power()."""
    def floor(self, *, out=None) -> Tensor:
        """Elementwise floor."""
    def floor_(self, *, out=None) -> Tensor:
        """In-place version of floor()."""
    def floor_divide(self, other, *, out=None) -> Tensor:
        """The quotient rounded down."""
    def floor_divide_(self, other, *, out=None) -> Tensor:
        """In-place version of floor_divide()."""
    def fmax(self, other, *, out=None) -> Tensor:
        """The larger number; the other one if one is nan."""
    def fmax_(self, other, *, out=None) -> Tensor:
        """In-place version of fmax()."""
    def fmin(self, other, *, out=None) -> Tensor:
        """The smaller number; the other one if one is nan."""
    def fmin_(self, other, *, out=None) -> Tensor:
        """In-place version of fmin()."""
    def fmod(self, other, *, out=None) -> Tensor:
        """x - trunc(x / y) * y, with the sign of x."""
    def fmod_(self, other, *, out=None) -> Tensor:
        """In-place version of fmod()."""
    def frac(self, *, out=None) -> Tensor:
        """x - trunc(x)"""
    def frac_(self, *, out=None) -> Tensor:
        """In-place version of frac()."""
    def frexp(self, *, out=None) -> _return_types_module.frexp:
        """Return mantissas with absolute values in [0.5, 1), and their exponents of two."""
    @overload
    def gather(self, dim, index, *, sparse_grad: builtins.bool = False, out=None) -> Tensor:
        """Pick elements by index along a dimension: out[i][j] = input[index[i][j]][j] for dim 0, and so on. `sparse_grad` is
        ignored: the gradient is dense, with the same values."""
    @overload
    def gather(self, *, axis, index, sparse_grad: builtins.bool = False, out=None) -> Tensor:
        """Pick elements by index along a dimension: out[i][j] = input[index[i][j]][j] for dim 0, and so on. `sparse_grad` is
        ignored: the gradient is dense, with the same values."""
    def gcd(self, other, *, out=None) -> Tensor:
        """Elementwise gcd."""
    def gcd_(self, other, *, out=None) -> Tensor:
        """In-place version of gcd()."""
    def ge(self, other, *, out=None) -> Tensor:
        """Elementwise ge."""
    def ge_(self, other, *, out=None) -> Tensor:
        """In-place version of ge()."""
    def geometric_(self, *args, **kwargs) -> Tensor:
        """Fill with the number of trials of probability p until success."""
    def geqrf(self, *, out=None) -> _return_types_module.geqrf:
        """Return QR like LAPACK's geqrf: R, below it the vectors of Householder reflections, and their factors. No gradient."""
    def ger(self, vec2, *, out=None) -> Tensor:
        """Multiply every element of one vector by every element of another."""
    def get_device(self) -> builtins.int:
        """Return the index of the accelerator that holds this tensor, -1 for the CPU."""
    @builtins.property
    def grad(self) -> Tensor | None:
        """The gradient that backward() has accumulated, or None."""
    @grad.setter
    def grad(self, value) -> None: ...
    @builtins.property
    def grad_fn(self) -> Any:
        """The node that made this tensor, or None for a leaf."""
    def greater(self, other, *, out=None) -> Tensor:
        """Elementwise gt."""
    def greater_(self, other, *, out=None) -> Tensor:
        """In-place version of greater()."""
    def greater_equal(self, other, *, out=None) -> Tensor:
        """Elementwise ge."""
    def greater_equal_(self, other, *, out=None) -> Tensor:
        """In-place version of greater_equal()."""
    def gt(self, other, *, out=None) -> Tensor:
        """Elementwise gt."""
    def gt_(self, other, *, out=None) -> Tensor:
        """In-place version of gt()."""
    def half(self, memory_format=...) -> Tensor:
        """Convert this tensor to float16."""
    def hardshrink(self, lambd=0.5) -> Tensor:
        """Return 0 where |input| <= lambd, the input elsewhere."""
    def heaviside(self, other, *, out=None) -> Tensor:
        """Return 0 below zero, 1 above, `other` at zero."""
    def heaviside_(self, other, *, out=None) -> Tensor:
        """In-place version of heaviside()."""
    def histc(self, bins=100, min=0, max=0, *, out=None) -> Tensor:
        """Count elements in equal bins between min and max (the data's range if both are equal), without those outside."""
    def histogram(self, bins=100, *, range=None, weight=None,
                  density: builtins.bool = False, out=None) -> _return_types_module.histogram:
        """Return (hist, bin_edges): counts or weights between neighbouring edges; the last bin includes its upper edge."""
    def hsplit(self, indices_or_sections) -> builtins.tuple[Tensor, ...]:
        """Equal pieces, or pieces cut at the indices listed, as views."""
    def hypot(self, other, *, out=None) -> Tensor:
        """sqrt(x^2 + y^2), without overflow between."""
    def hypot_(self, other, *, out=None) -> Tensor:
        """In-place version of hypot()."""
    def i0(self, *, out=None) -> Tensor: ...
    def i0_(self, *, out=None) -> Tensor:
        """In-place version of i0()."""
    def igamma(self, other, *, out=None) -> Tensor:
        """Return the regularised lower incomplete gamma function. It is the probability that a gamma number of concentration
        `input` is at most `other`."""
    def igamma_(self, other, *, out=None) -> Tensor:
        """In-place version of igamma()."""
    def igammac(self, other, *, out=None) -> Tensor:
        """Return the regularised upper incomplete gamma function, 1 - gammainc, accurate where it is small."""
    def igammac_(self, other, *, out=None) -> Tensor:
        """In-place version of igammac()."""
    @builtins.property
    def imag(self) -> Any:
        """Return the imaginary parts of a complex tensor."""
    @imag.setter
    def imag(self, value) -> None: ...
    @overload
    def index_add(self, dim, index, source, *, alpha=1, out=None) -> Tensor:
        """Add alpha * source to the slices at the indices of a vector."""
    @overload
    def index_add(self, *, axis, index, source, alpha=1, out=None) -> Tensor:
        """Add alpha * source to the slices at the indices of a vector."""
    @overload
    def index_add_(self, dim, index, source, *, alpha=1, out=None) -> Tensor:
        """In-place version of index_add()."""
    @overload
    def index_add_(self, *, axis, index, source, alpha=1, out=None) -> Tensor:
        """In-place version of index_add()."""
    @overload
    def index_copy(self, dim, index, source, *, out=None) -> Tensor:
        """Replace the slices at the indices of a vector by those of source."""
    @overload
    def index_copy(self, *, axis, index, source, out=None) -> Tensor:
        """Replace the slices at the indices of a vector by those of source."""
    @overload
    def index_copy_(self, dim, index, source, *, out=None) -> Tensor:
        """In-place version of index_copy()."""
    @overload
    def index_copy_(self, *, axis, index, source, out=None) -> Tensor:
        """In-place version of index_copy()."""
    @overload
    def index_fill(self, dim, index, value) -> Tensor:
        """Write one value to the slices at the indices of a vector."""
    @overload
    def index_fill(self, *, axis, index, value) -> Tensor:
        """Write one value to the slices at the indices of a vector."""
    @overload
    def index_fill_(self, dim, index, value) -> Tensor:
        """In-place version of index_fill()."""
    @overload
    def index_fill_(self, *, axis, index, value) -> Tensor:
        """In-place version of index_fill()."""
    def index_put(self, indices, values, accumulate: builtins.bool = False) -> Tensor:
        """Return a copy with input[indices] = values (or += if accumulate). Indices are tensors, or None for all of a
        dimension."""
    def index_put_(self, indices, values, accumulate: builtins.bool = False) -> Tensor:
        """In-place version of index_put()."""
    @overload
    def index_reduce(self, dim, index, source, reduce, *, include_self: builtins.bool = True, out=None) -> Tensor:
        """Combine slices of source into those at the indices of a vector, by prod, mean, amax or amin."""
    @overload
    def index_reduce(self, *, axis, index, source, reduce, include_self: builtins.bool = True, out=None) -> Tensor:
        """Combine slices of source into those at the indices of a vector, by prod, mean, amax or amin."""
    @overload
    def index_reduce_(self, dim, index, source, reduce, *, include_self: builtins.bool = True, out=None) -> Tensor:
        """In-place version of index_reduce()."""
    @overload
    def index_reduce_(self, *, axis, index, source, reduce, include_self: builtins.bool = True, out=None) -> Tensor:
        """In-place version of index_reduce()."""
    @overload
    def index_select(self, dim, index, *, out=None) -> Tensor:
        """Return the slices at the indices of a vector along a dimension."""
    @overload
    def index_select(self, *, axis, index, out=None) -> Tensor:
        """Return the slices at the indices of a vector along a dimension."""
    def indices(self, *args) -> Tensor:
        """indices() of sparse tensors, which have a method of their own; an error for dense ones."""
    def inner(self, other, *, out=None) -> Tensor:
        """Sum products over the last dimension of both tensors."""
    def int(self, memory_format=...) -> Tensor:
        """Convert this tensor to int32."""
    def inverse(self, *, out=None) -> Tensor:
        """Return the inverse."""
    def is_coalesced(self, *args) -> Tensor:
        """is_coalesced() of sparse tensors, which have a method of their own; an error for dense ones."""
    def is_complex(self) -> builtins.bool:
        """Return whether the dtype is a complex dtype."""
    def is_conj(self) -> builtins.bool:
        """Return False: conjugation is never lazy."""
    def is_contiguous(self, memory_format=...) -> builtins.bool:
        """Return whether the elements lie in memory in row-major order (or in the given format)."""
    @builtins.property
    def is_cpu(self) -> builtins.bool:
        """Whether this tensor is on a device of kind cpu."""
    @builtins.property
    def is_cuda(self) -> builtins.bool:
        """Whether this tensor is on a device of kind cuda."""
    def is_floating_point(self) -> builtins.bool:
        """Return whether the dtype is a floating point dtype."""
    @builtins.property
    def is_hip(self) -> builtins.bool:
        """Whether this tensor is on a device of kind hip."""
    def is_inference(self) -> builtins.bool:
        """Return False: tensors of inference mode are ordinary ones, which autograd may use later."""
    is_ipu: builtins.bool
    @builtins.property
    def is_leaf(self) -> builtins.bool: ...
    is_maia: builtins.bool
    @builtins.property
    def is_meta(self) -> builtins.bool:
        """Whether this tensor is on a device of kind meta."""
    is_mkldnn: builtins.bool
    @builtins.property
    def is_mps(self) -> builtins.bool:
        """Whether this tensor is on a device of kind mps."""
    is_mtia: builtins.bool
    def is_neg(self) -> builtins.bool:
        """Return False: negation is never lazy."""
    is_nested: builtins.bool
    def is_nonzero(self) -> builtins.bool:
        """Return whether the one element is not zero."""
    def is_pinned(self, device=None) -> builtins.bool:
        """Return whether the memory is page-locked. `device` is ignored: pinned memory serves every accelerator."""
    is_quantized: builtins.bool
    def is_same_size(self, other) -> builtins.bool:
        """Return whether both tensors have the same shape."""
    def is_set_to(self, tensor) -> builtins.bool:
        """Return whether both tensors are the same window on the same memory."""
    def is_shared(self) -> builtins.bool:
        """Return whether other processes can map the memory."""
    def is_signed(self) -> builtins.bool:
        """Return whether the dtype has negative values."""
    is_sparse: builtins.bool
    is_sparse_csr: builtins.bool
    is_vulkan: builtins.bool
    is_xla: builtins.bool
    @builtins.property
    def is_xpu(self) -> builtins.bool:
        """Whether this tensor is on a device of kind xpu."""
    def isclose(self, other, rtol=1e-05, atol=1e-08, equal_nan: builtins.bool = False) -> Tensor:
        """Return |input - other| <= atol + rtol * |other|, element by element."""
    def isfinite(self, *, out=None) -> Tensor:
        """Elementwise isfinite."""
    def isfinite_(self, *, out=None) -> Tensor:
        """In-place version of isfinite()."""
    def isinf(self, *, out=None) -> Tensor:
        """Elementwise isinf."""
    def isinf_(self, *, out=None) -> Tensor:
        """In-place version of isinf()."""
    def isnan(self, *, out=None) -> Tensor:
        """Elementwise isnan."""
    def isnan_(self, *, out=None) -> Tensor:
        """In-place version of isnan()."""
    def isneginf(self, *, out=None) -> Tensor:
        """Elementwise isneginf."""
    def isneginf_(self, *, out=None) -> Tensor:
        """In-place version of isneginf()."""
    def isposinf(self, *, out=None) -> Tensor:
        """Elementwise isposinf."""
    def isposinf_(self, *, out=None) -> Tensor:
        """In-place version of isposinf()."""
    def isreal(self) -> Tensor:
        """Return whether each number has no imaginary part."""
    def istft(self, n_fft, hop_length=None, win_length=None, window=None, center: builtins.bool = True,
              normalized: builtins.bool = False, onesided=None, length=None, return_complex: builtins.bool = False) -> Tensor:
        """Return the best approximation to numbers whose `stft` has these spectra."""
    def item(self) -> Any:
        """Return the one element as a Python number."""
    @builtins.property
    def itemsize(self) -> builtins.int:
        """Return the bytes of one element."""
    def kron(self, other, *, out=None) -> Tensor:
        """Return the Kronecker product: every element of input times the whole of other."""
    def kthvalue(self, k, dim=-1, keepdim: builtins.bool = False, *, out=None, axis=-1,
                 keepdims: builtins.bool = False) -> _return_types_module.kthvalue:
        """Return the k-th smallest element along a dim (counted from 1) and its index, as (values, indices)."""
    layout: _layouts_module.layout
    def lcm(self, other, *, out=None) -> Tensor:
        """Elementwise lcm."""
    def lcm_(self, other, *, out=None) -> Tensor:
        """In-place version of lcm()."""
    def ldexp(self, other, *, out=None) -> Tensor:
        """Return input * 2 ** other."""
    def ldexp_(self, other, *, out=None) -> Tensor:
        """In-place version of ldexp()."""
    def le(self, other, *, out=None) -> Tensor:
        """Elementwise le."""
    def le_(self, other, *, out=None) -> Tensor:
        """In-place version of le()."""
    def lerp(self, end, weight: Tensor | builtins.float, *, out=None) -> Tensor:
        """Return input + weight * (end - input), exact at both ends."""
    def lerp_(self, end, weight: Tensor | builtins.float, *, out=None) -> Tensor:
        """In-place version of lerp()."""
    def less(self, other, *, out=None) -> Tensor:
        """Elementwise lt."""
    def less_(self, other, *, out=None) -> Tensor:
        """In-place version of less()."""
    def less_equal(self, other, *, out=None) -> Tensor:
        """Elementwise le."""
    def less_equal_(self, other, *, out=None) -> Tensor:
        """In-place version of less_equal()."""
    def lgamma(self, *, out=None) -> Tensor:
        """Elementwise lgamma."""
    def lgamma_(self, *, out=None) -> Tensor:
        """In-place version of lgamma()."""
    def log(self, *, out=None) -> Tensor:
        """Elementwise log."""
    def log10(self, *, out=None) -> Tensor:
        """Elementwise log10."""
    def log10_(self, *, out=None) -> Tensor:
        """In-place version of log10()."""
    def log1p(self, *, out=None) -> Tensor:
        """Elementwise log1p."""
    def log1p_(self, *, out=None) -> Tensor:
        """In-place version of log1p()."""
    def log2(self, *, out=None) -> Tensor:
        """Elementwise log2."""
    def log2_(self, *, out=None) -> Tensor:
        """In-place version of log2()."""
    def log_(self, *, out=None) -> Tensor:
        """In-place version of log()."""
    def log_normal_(self, *args, **kwargs) -> Tensor:
        """Fill with numbers whose logarithm is normal."""
    @overload
    def log_softmax(self, dim, dtype=None, *, out=None) -> Tensor:
        """Return log(softmax(x)) along a dimension."""
    @overload
    def log_softmax(self, *, axis, dtype=None, out=None) -> Tensor:
        """Return log(softmax(x)) along a dimension."""
    def logaddexp(self, other, *, out=None) -> Tensor:
        """log(exp(x) + exp(y)), without overflow."""
    def logaddexp2(self, other, *, out=None) -> Tensor:
        """Elementwise logaddexp2."""
    def logaddexp2_(self, other, *, out=None) -> Tensor:
        """In-place version of logaddexp2()."""
    def logaddexp_(self, other, *, out=None) -> Tensor:
        """In-place version of logaddexp()."""
    @overload
    def logcumsumexp(self, dim, *, out=None) -> Tensor:
        """Return the log of the running sum of exp(input) along a dim."""
    @overload
    def logcumsumexp(self, *, axis, out=None) -> Tensor:
        """Return the log of the running sum of exp(input) along a dim."""
    def logdet(self) -> Tensor:
        """Return the log of the determinant; nan where it is negative, complex for complex matrices."""
    def logical_and(self, other, *, out=None) -> Tensor:
        """Elementwise logical_and."""
    def logical_and_(self, other, *, out=None) -> Tensor:
        """In-place version of logical_and()."""
    def logical_not(self, *, out=None) -> Tensor:
        """Elementwise logical_not."""
    def logical_not_(self, *, out=None) -> Tensor:
        """In-place version of logical_not()."""
    def logical_or(self, other, *, out=None) -> Tensor:
        """Elementwise logical_or."""
    def logical_or_(self, other, *, out=None) -> Tensor:
        """In-place version of logical_or()."""
    def logical_xor(self, other, *, out=None) -> Tensor:
        """Elementwise logical_xor."""
    def logical_xor_(self, other, *, out=None) -> Tensor:
        """In-place version of logical_xor()."""
    def logit(self, eps=None, *, out=None) -> Tensor:
        """Return log(x / (1 - x)). If eps is given, x is limited to [eps, 1 - eps] first; eps wins where the limits cross."""
    def logit_(self, eps=None, *, out=None) -> Tensor:
        """In-place version of logit()."""
    @overload
    def logsumexp(self, dim, keepdim: builtins.bool = False, *, out=None) -> Tensor:
        """Return the log of the sum of exp(input) over dims, without overflow."""
    @overload
    def logsumexp(self, *, axis, keepdims: builtins.bool = False, out=None) -> Tensor:
        """Return the log of the sum of exp(input) over dims, without overflow."""
    def long(self, memory_format=...) -> Tensor:
        """Convert this tensor to int64."""
    def lt(self, other, *, out=None) -> Tensor:
        """Elementwise lt."""
    def lt_(self, other, *, out=None) -> Tensor:
        """In-place version of lt()."""
    def lu(self, pivot: builtins.bool = True, get_infos: builtins.bool = False, out=None) -> builtins.tuple[Tensor, ...]:
        """Return lu_factor's result as a tuple; with get_infos also the position of a zero on U's diagonal (0 if there is
        none)."""
    def lu_solve(self, LU_data, LU_pivots, *, out=None) -> Tensor:
        """Return X with A @ X = b, from lu_factor's result for A."""
    @builtins.property
    def mH(self) -> Tensor:
        """Tensor with the last two dimensions swapped, conjugated."""
    @builtins.property
    def mT(self) -> Tensor:
        """Tensor with the last two dimensions swapped."""
    def map2_(self, x, y, callable) -> Tensor:
        """Replace each element a by callable(a, b, c), with b and c from tensors that broadcast and one Python call each."""
    def map_(self, tensor, callable) -> Tensor:
        """Replace each element a by callable(a, b), with b from a tensor that broadcasts and one Python call each."""
    def masked_fill(self, mask, value) -> Tensor:
        """Replace elements by `value` where the mask is true."""
    def masked_fill_(self, mask, value) -> Tensor:
        """In-place version of masked_fill()."""
    def masked_scatter(self, mask, source) -> Tensor:
        """Replace the elements where the mask is true by those of source, in order."""
    def masked_scatter_(self, mask, source) -> Tensor:
        """In-place version of masked_scatter()."""
    def masked_select(self, mask, *, out=None) -> Tensor:
        """Return the elements where the (broadcast) mask is true, as a vector."""
    def matmul(self, other, *, out=None) -> Tensor:
        """Multiply vectors, matrices, and batches of matrices that broadcast."""
    def matrix_exp(self) -> Tensor:
        """Return the exponential of a matrix, by its series after halving, squared back; float16 and bfloat16 are rounded
        once."""
    def matrix_power(self, n, *, out=None) -> Tensor:
        """Return an integer power of A; a negative power is one of the inverse."""
    def max(self, dim=None, keepdim: builtins.bool = False, *, other=None, out=None, axis=None,
            keepdims: builtins.bool = False) -> Any:
        """Return the largest element; along `dim` as (values, indices); with a second tensor the elementwise maximum."""
    def maximum(self, other, *, out=None) -> Tensor:
        """The larger number; nan if one is nan."""
    def maximum_(self, other, *, out=None) -> Tensor:
        """In-place version of maximum()."""
    def mean(self, dim=None, keepdim: builtins.bool = False, *, dtype=None, out=None, axis=None,
             keepdims: builtins.bool = False) -> Tensor:
        """Return the mean over dims (all by default)."""
    def median(self, dim=None, keepdim: builtins.bool = False, *, out=None, axis=None, keepdims: builtins.bool = False) -> Any:
        """Return the lower median of everything, or along a dim as (values, indices); nan if an element is nan."""
    def min(self, dim=None, keepdim: builtins.bool = False, *, other=None, out=None, axis=None,
            keepdims: builtins.bool = False) -> Any:
        """Return the smallest element; along `dim` as (values, indices); with a second tensor the elementwise minimum."""
    def minimum(self, other, *, out=None) -> Tensor:
        """The smaller number; nan if one is nan."""
    def minimum_(self, other, *, out=None) -> Tensor:
        """In-place version of minimum()."""
    def mm(self, mat2, *, out=None) -> Tensor:
        """Multiply two matrices."""
    def mode(self, dim=-1, keepdim: builtins.bool = False, *, out=None, axis=-1,
             keepdims: builtins.bool = False) -> _return_types_module.mode:
        """Return the most frequent value along a dim (the smallest among equals) and its last index, as (values, indices)."""
    def moveaxis(self, source, destination) -> Tensor:
        """Move dimensions to other positions; the rest keeps its order."""
    def movedim(self, source, destination) -> Tensor:
        """Move dimensions to other positions; the rest keeps its order."""
    def msort(self, *, out=None) -> Tensor:
        """Sort along the first dim."""
    def mul(self, other, *, out=None) -> Tensor:
        """Return input * other."""
    def mul_(self, other, *, out=None) -> Tensor:
        """In-place version of mul()."""
    def multinomial(self, num_samples, replacement: builtins.bool = False, *, generator=None, out=None) -> Tensor:
        """Draw indices with the given weights, from each row."""
    def multiply(self, other, *, out=None) -> Tensor:
        """Return input * other."""
    def multiply_(self, other, *, out=None) -> Tensor:
        """In-place version of multiply()."""
    def mv(self, vec, *, out=None) -> Tensor:
        """Multiply a matrix by a vector."""
    def mvlgamma(self, p, *, out=None) -> Tensor:
        """Return the logarithm of the multivariate gamma function of dimension p."""
    def mvlgamma_(self, p, *, out=None) -> Tensor:
        """In-place version of mvlgamma()."""
    def nan_to_num(self, nan=None, posinf=None, neginf=None, *, out=None) -> Tensor:
        """Replace nan (by 0) and infinities (by the largest finite numbers, unless given). Complex numbers are replaced part by
        part; those with such a part have no gradient."""
    def nan_to_num_(self, nan=None, posinf=None, neginf=None, *, out=None) -> Tensor:
        """In-place version of nan_to_num()."""
    def nanmean(self, dim=None, keepdim: builtins.bool = False, *, dtype=None, out=None, axis=None,
                keepdims: builtins.bool = False) -> Tensor:
        """Return the mean over dims of the elements that are not nan."""
    def nanmedian(self, dim=None, keepdim: builtins.bool = False, *, out=None, axis=None,
                  keepdims: builtins.bool = False) -> Any:
        """Return the lower median of elements that are not nan, of everything or along a dim as (values, indices)."""
    def nanquantile(self, q, dim=None, keepdim: builtins.bool = False, *, interpolation='linear', out=None,
                    axis=None, keepdims: builtins.bool = False) -> Tensor:
        """Return the q-th quantiles of elements that are not nan."""
    def nansum(self, dim=None, keepdim: builtins.bool = False, *, dtype=None, out=None, axis=None,
               keepdims: builtins.bool = False) -> Tensor:
        """Sum over dims, counting nan as 0."""
    @overload
    def narrow(self, dim, start, length) -> Tensor:
        """Return a view of `length` indices from `start` along a dimension."""
    @overload
    def narrow(self, *, axis, start, length) -> Tensor:
        """Return a view of `length` indices from `start` along a dimension."""
    @overload
    def narrow_copy(self, dim, start, length) -> Tensor:
        """Return a view of `length` indices from `start` along a dimension. A copy."""
    @overload
    def narrow_copy(self, *, axis, start, length) -> Tensor:
        """Return a view of `length` indices from `start` along a dimension. A copy."""
    @builtins.property
    def nbytes(self) -> builtins.int:
        """Return the bytes of all elements."""
    @builtins.property
    def ndim(self) -> builtins.int: ...
    def ndimension(self) -> builtins.int:
        """Return the number of dimensions."""
    def ne(self, other, *, out=None) -> Tensor:
        """Elementwise ne."""
    def ne_(self, other, *, out=None) -> Tensor:
        """In-place version of ne()."""
    def neg(self, *, out=None) -> Tensor:
        """Elementwise neg."""
    def neg_(self, *, out=None) -> Tensor:
        """In-place version of neg()."""
    def negative(self, *, out=None) -> Tensor:
        """Elementwise neg."""
    def negative_(self, *, out=None) -> Tensor:
        """In-place version of negative()."""
    def nelement(self) -> builtins.int:
        """Return the number of elements."""
    def new(self, *data, device=None, size=None) -> Tensor:
        """Return a tensor of this dtype: uninitialised of given sizes, or with given values."""
    def new_empty(self, *sizes, size=None, dtype=None, device=None, requires_grad: builtins.bool = False,
                  layout=None, pin_memory: builtins.bool = False) -> Tensor:
        """Return a tensor without defined values, with this tensor's dtype."""
    def new_empty_strided(self, size, stride, *, dtype=None, layout=None, device=None,
                          requires_grad: builtins.bool = False, pin_memory: builtins.bool = False) -> Tensor:
        """Return an empty tensor with given strides; its default dtype is this tensor's."""
    def new_full(self, size, fill_value, *, dtype=None, device=None, requires_grad: builtins.bool = False,
                 layout=None, pin_memory: builtins.bool = False) -> Tensor:
        """Return a tensor of one value with this tensor's dtype."""
    def new_ones(self, *sizes, size=None, dtype=None, device=None, requires_grad: builtins.bool = False,
                 layout=None, pin_memory: builtins.bool = False) -> Tensor:
        """Return ones with this tensor's dtype."""
    def new_tensor(self, data, *, dtype=None, device=None, requires_grad: builtins.bool = False, layout=None,
                   pin_memory: builtins.bool = False) -> Tensor:
        """Return a copy of data with this tensor's dtype."""
    def new_zeros(self, *sizes, size=None, dtype=None, device=None, requires_grad: builtins.bool = False,
                  layout=None, pin_memory: builtins.bool = False) -> Tensor:
        """Return zeros with this tensor's dtype."""
    def nextafter(self, other, *, out=None) -> Tensor:
        """The next number after x in the direction of y."""
    def nextafter_(self, other, *, out=None) -> Tensor:
        """In-place version of nextafter()."""
    def nonzero(self, *, out=None, as_tuple: builtins.bool = False) -> Any:
        """Return the positions of nonzero elements: rows of a matrix, or one vector for each dimension."""
    def nonzero_static(self, *, size, fill_value=-1, out=None) -> Tensor:
        """Return the first `size` positions of nonzero elements, as rows, padded by rows of fill_value."""
    def norm(self, p='fro', dim=None, keepdim: builtins.bool = False, out=None, dtype=None, *, axis=None,
             keepdims: builtins.bool = False) -> Tensor:
        """Return the vector norm of order p over dims (by default all), or matrix norms 'fro' and 'nuc'; this is
        `ingot.norm`."""
    def normal_(self, *args, **kwargs) -> Tensor:
        """Fill with normal numbers."""
    def not_equal(self, other, *, out=None) -> Tensor:
        """Elementwise ne."""
    def not_equal_(self, other, *, out=None) -> Tensor:
        """In-place version of not_equal()."""
    def numel(self) -> builtins.int:
        """Return the number of elements."""
    def numpy(self, *, force: builtins.bool = False) -> numpy.ndarray:
        """Return the memory as a NumPy array, without a copy."""
    def orgqr(self, tau, *, out=None) -> Tensor:
        """Return the first columns of the product of Householder reflections in geqrf's form."""
    def ormqr(self, tau, other, left: builtins.bool = True, transpose: builtins.bool = False, *, out=None) -> Tensor:
        """Multiply Q (its adjoint with `transpose`), given by Householder reflections, by a matrix, or the matrix by Q."""
    def outer(self, vec2, *, out=None) -> Tensor:
        """Multiply every element of one vector by every element of another."""
    @builtins.property
    def output_nr(self) -> builtins.int: ...
    def permute(self, *order, dims=None, axis=None) -> Tensor:
        """Reorder the dimensions."""
    def pin_memory(self, device=None) -> Tensor:
        """Copy this tensor to page-locked memory, so that transfers to an accelerator are asynchronous. Without one return
        it."""
    def pinverse(self, rcond=1e-15) -> Tensor:
        """Return the pseudo-inverse; singular values at most rcond times the largest count as 0."""
    def polygamma(self, n) -> Tensor:
        """Return the n-th derivative of digamma."""
    def polygamma_(self, n) -> Tensor:
        """In-place version of polygamma()."""
    def positive(self) -> Tensor:
        """Return the tensor itself; raise for bool."""
    def pow(self, exponent, *, out=None) -> Tensor:
        """Return input ** exponent."""
    def pow_(self, exponent, *, out=None) -> Tensor:
        """In-place version of pow()."""
    def prelu(self, weight) -> Tensor:
        """Return the input above 0, weight * input below; the weight is one number or one for each channel (dimension 1)."""
    def prod(self, dim=None, keepdim: builtins.bool = False, *, dtype=None, out=None, axis=None,
             keepdims: builtins.bool = False) -> Tensor:
        """Multiply elements over a dim (all by default); integers and bools are multiplied in int64."""
    ptp: _absent_methods_module.AbsentMethod
    def put(self, index, source, accumulate: builtins.bool = False) -> Tensor:
        """Write (or add) source at positions of the flattened tensor."""
    def put_(self, index, source, accumulate: builtins.bool = False) -> Tensor:
        """In-place version of put()."""
    def qr(self, some: builtins.bool = True, *, out=None) -> Tensor:
        """Return Q and R with Q @ R = input, reduced unless `some` is False."""
    def quantile(self, q, dim=None, keepdim: builtins.bool = False, *, interpolation='linear', out=None, axis=None,
                 keepdims: builtins.bool = False) -> Tensor:
        """Return the q-th quantiles (a number or a row of them), of everything or along a dim; nan if an element is nan."""
    def rad2deg(self, *, out=None) -> Tensor:
        """Convert radians to degrees."""
    def rad2deg_(self, *, out=None) -> Tensor:
        """In-place version of rad2deg()."""
    def random_(self, *args, **kwargs) -> Tensor:
        """Fill with uniform integers in [from, to): random_(to), random_(from, to); by default all that the dtype holds
        exactly."""
    def ravel(self) -> Tensor:
        """Return all elements in row-major order as a vector; a view where possible."""
    @builtins.property
    def real(self) -> Any:
        """Return the real parts; a real tensor itself."""
    @real.setter
    def real(self, value) -> None: ...
    def reciprocal(self, *, out=None) -> Tensor:
        """Elementwise reciprocal."""
    def reciprocal_(self, *, out=None) -> Tensor:
        """In-place version of reciprocal()."""
    def record_stream(self, stream) -> Tensor:
        """Keep the memory of this tensor from reuse until work in a stream is done."""
    def register_hook(self, hook) -> _structure_module.RemovableHandle:
        """Call hook(grad) whenever a gradient of this tensor has been computed; a tensor it returns replaces the gradient."""
    def register_post_accumulate_grad_hook(self, hook) -> _structure_module.RemovableHandle:
        """Call hook(tensor) after a gradient was accumulated into this leaf's `.grad`."""
    def relu(self, *, out=None) -> Tensor:
        """max(input, 0)"""
    def relu_(self, *, out=None) -> Tensor:
        """In-place version of relu()."""
    def remainder(self, other, *, out=None) -> Tensor:
        """x - floor(x / y) * y, with the sign of y."""
    def remainder_(self, other, *, out=None) -> Tensor:
        """In-place version of remainder()."""
    @overload
    def renorm(self, p, dim, maxnorm, *, out=None) -> Tensor:
        """Scale each slice along `dim` down to a norm of at most maxnorm."""
    @overload
    def renorm(self, p, *, axis, maxnorm, out=None) -> Tensor:
        """Scale each slice along `dim` down to a norm of at most maxnorm."""
    @overload
    def renorm_(self, p, dim, maxnorm, *, out=None) -> Tensor:
        """In-place version of renorm()."""
    @overload
    def renorm_(self, p, *, axis, maxnorm, out=None) -> Tensor:
        """In-place version of renorm()."""
    def repeat(self, *sizes, repeats=None) -> Tensor:
        """Repeat the tensor, `sizes` times along each dimension."""
    def repeat_interleave(self, repeats=None, dim=None, *, output_size=None, axis=None) -> Tensor:
        """Repeat each element (or each index along a dimension) several times in a row. Counts alone give each index that many
        times."""
    @builtins.property
    def requires_grad(self) -> builtins.bool: ...
    @requires_grad.setter
    def requires_grad(self, value) -> None: ...
    def requires_grad_(self, requires_grad: builtins.bool = True) -> Tensor:
        """Start (or stop) collecting a gradient for this leaf; after a restart, earlier histories and hooks count again."""
    def reshape(self, *sizes, shape=None) -> Tensor:
        """Return the elements in another shape: a view where strides allow, else a copy."""
    def reshape_as(self, other) -> Tensor: ...
    def resize_(self, *sizes, memory_format=None) -> Tensor:
        """Change the shape, over the same memory from this tensor's first element on, or over more of it. New elements are
        zeros."""
    def resize_as_(self, the_template, memory_format=None) -> Tensor:
        """Resize to another tensor's shape; with `preserve_format` also to its order of dims."""
    def resize_as_sparse_(self, the_template) -> Tensor:
        """Take over the size of a sparse tensor; raise for dense ones."""
    def resolve_conj(self) -> Tensor:
        """Return the tensor itself: conjugation is never lazy."""
    def resolve_neg(self) -> Tensor:
        """Return the tensor itself: negation is never lazy."""
    def retain_grad(self) -> None:
        """Keep the gradient of this non-leaf tensor in `.grad`."""
    @builtins.property
    def retains_grad(self) -> builtins.bool:
        """Return whether retain_grad() was called on this tensor."""
    def roll(self, shifts, dims=None, *, axis=None) -> Tensor:
        """Shift elements along dims, cyclically."""
    def rot90(self, k=1, dims=(0, 1), *, axis=(0, 1)) -> Tensor:
        """Rotate by 90 degrees k times in the plane of two dims."""
    def round(self, *, decimals=0, out=None) -> Tensor:
        """Round to `decimals` places, halves to even."""
    def round_(self, *, decimals=0, out=None) -> Tensor:
        """In-place version of round()."""
    def row_indices(self, *args) -> Tensor:
        """row_indices() of sparse tensors, which have a method of their own; an error for dense ones."""
    def rsqrt(self, *, out=None) -> Tensor:
        """Elementwise rsqrt."""
    def rsqrt_(self, *, out=None) -> Tensor:
        """In-place version of rsqrt()."""
    @overload
    def scatter(self, dim, index, src=None, *, value=None, reduce=None, out=None) -> Tensor:
        """Write src at indices along a dimension: out[index[i][j]][j] = src[i][j] for dim 0, and so on. `reduce` "add" or
        "multiply" combines src with the input instead."""
    @overload
    def scatter(self, *, axis, index, src=None, value=None, reduce=None, out=None) -> Tensor:
        """Write src at indices along a dimension: out[index[i][j]][j] = src[i][j] for dim 0, and so on. `reduce` "add" or
        "multiply" combines src with the input instead."""
    @overload
    def scatter_(self, dim, index, src=None, *, value=None, reduce=None, out=None) -> Tensor:
        """In-place version of scatter()."""
    @overload
    def scatter_(self, *, axis, index, src=None, value=None, reduce=None, out=None) -> Tensor:
        """In-place version of scatter()."""
    @overload
    def scatter_add(self, dim, index, src, *, out=None) -> Tensor:
        """Add src at indices along a dimension: out[index[i][j]][j] += src[i][j] for dim 0, and so on."""
    @overload
    def scatter_add(self, *, axis, index, src, out=None) -> Tensor:
        """Add src at indices along a dimension: out[index[i][j]][j] += src[i][j] for dim 0, and so on."""
    @overload
    def scatter_add_(self, dim, index, src, *, out=None) -> Tensor:
        """In-place version of scatter_add()."""
    @overload
    def scatter_add_(self, *, axis, index, src, out=None) -> Tensor:
        """In-place version of scatter_add()."""
    @overload
    def scatter_reduce(self, dim, index, src, reduce, *, include_self: builtins.bool = True, out=None) -> Tensor:
        """Scatter src and combine it by sum, prod, mean, amax or amin; without `include_self` the input takes no part."""
    @overload
    def scatter_reduce(self, *, axis, index, src, reduce, include_self: builtins.bool = True, out=None) -> Tensor:
        """Scatter src and combine it by sum, prod, mean, amax or amin; without `include_self` the input takes no part."""
    @overload
    def scatter_reduce_(self, dim, index, src, reduce, *, include_self: builtins.bool = True, out=None) -> Tensor:
        """In-place version of scatter_reduce()."""
    @overload
    def scatter_reduce_(self, *, axis, index, src, reduce, include_self: builtins.bool = True, out=None) -> Tensor:
        """In-place version of scatter_reduce()."""
    def searchsorted(self, input, *, out_int32: builtins.bool = False, right: builtins.bool = False, side=None,
                     sorter=None, out=None) -> Tensor:
        """Return where each value would be inserted into sorted rows: before its equals, or after them when `right`."""
    @overload
    def select(self, dim, index) -> Tensor:
        """Return a view of one index along a dimension, which disappears."""
    @overload
    def select(self, *, axis, index) -> Tensor:
        """Return a view of one index along a dimension, which disappears."""
    @overload
    def select_scatter(self, src, dim, index) -> Tensor:
        """Return a copy with src at one index along a dimension."""
    @overload
    def select_scatter(self, src, *, axis, index) -> Tensor:
        """Return a copy with src at one index along a dimension."""
    def set_(self, source=None, storage_offset=0, size=None, stride=None) -> Tensor:
        """Make this tensor a window on another tensor's memory or a storage; on none without a source. The window is the whole
        memory, or starts at an offset and has these sizes and strides (row-major by default)."""
    def sgn(self, *, out=None) -> Tensor:
        """Return the sign; for a complex number the point at distance 1 from 0 in its direction."""
    def sgn_(self, *, out=None) -> Tensor:
        """In-place version of sgn()."""
    @builtins.property
    def shape(self) -> Size: ...
    def share_memory_(self) -> Tensor:
        """Move the memory of this tensor and its aliases to where other processes can map it. Device memory stays."""
    def short(self, memory_format=...) -> Tensor:
        """Convert this tensor to int16."""
    def sigmoid(self, *, out=None) -> Tensor:
        """Elementwise sigmoid."""
    def sigmoid_(self, *, out=None) -> Tensor:
        """In-place version of sigmoid()."""
    def sign(self, *, out=None) -> Tensor:
        """-1, 0 or 1; 0 for nan."""
    def sign_(self, *, out=None) -> Tensor:
        """In-place version of sign()."""
    def signbit(self, *, out=None) -> Tensor:
        """Elementwise signbit."""
    def signbit_(self, *, out=None) -> Tensor:
        """In-place version of signbit()."""
    def sin(self, *, out=None) -> Tensor:
        """Elementwise sin."""
    def sin_(self, *, out=None) -> Tensor:
        """In-place version of sin()."""
    def sinc(self, *, out=None) -> Tensor:
        """sin(pi x) / (pi x)"""
    def sinc_(self, *, out=None) -> Tensor:
        """In-place version of sinc()."""
    def sinh(self, *, out=None) -> Tensor:
        """Elementwise sinh."""
    def sinh_(self, *, out=None) -> Tensor:
        """In-place version of sinh()."""
    def size(self, dim=None, *, axis=None) -> Any:
        """Return the shape, or the size of one dimension."""
    def slice_inverse(self, src, dim=0, start=None, end=None, step=1, *, axis=0) -> Tensor:
        """Return the window over input's memory with the sizes and strides of src. `dim`, `start`, `end` and `step` are
        ignored: sizes, strides and offset of src say it all."""
    def slice_scatter(self, src, dim=0, start=None, end=None, step=1, *, out=None, axis=0) -> Tensor:
        """Return a copy with src in a slice along a dimension."""
    def slogdet(self, *, out=None) -> _return_types_module.slogdet:
        """Return sign and logarithm of the absolute value of the determinant."""
    def smm(self, mat) -> Tensor:
        """Return a sparse matrix times a dense one as a sparse matrix, with all of each row in which the first has entries."""
    @overload
    def softmax(self, dim, dtype=None, *, out=None) -> Tensor:
        """Return exp(x) / sum(exp(x)) along a dimension."""
    @overload
    def softmax(self, *, axis, dtype=None, out=None) -> Tensor:
        """Return exp(x) / sum(exp(x)) along a dimension."""
    def sort(self, dim=-1, descending: builtins.bool = False, stable: builtins.bool = True, *,
             out=None, axis=-1) -> _return_types_module.sort:
        """Sort along a dim; return (values, indices). `stable` is ignored: equal elements always keep their order."""
    def sparse_dim(self) -> builtins.int:
        """Return how many dimensions are sparse: none of a dense tensor."""
    def sparse_mask(self, mask) -> Tensor:
        """Return the values of a tensor at the positions of a sparse one."""
    def sparse_resize_(self, *args) -> Tensor:
        """sparse_resize_() of sparse tensors, which have a method of their own; an error for dense ones."""
    def sparse_resize_and_clear_(self, *args) -> Tensor:
        """sparse_resize_and_clear_() of sparse tensors, which have a method of their own; an error for dense ones."""
    def split(self, split_size_or_sections, dim=0, *, axis=0) -> builtins.tuple[Tensor, ...]:
        """Split a tensor into pieces of one size (the last may be smaller) or of the sizes listed; return views."""
    def split_with_sizes(self, split_sizes, dim=0, *, axis=0) -> builtins.tuple[Tensor, ...]:
        """Split a tensor into pieces of the sizes listed; return views."""
    def sqrt(self, *, out=None) -> Tensor:
        """Elementwise sqrt."""
    def sqrt_(self, *, out=None) -> Tensor:
        """In-place version of sqrt()."""
    def square(self, *, out=None) -> Tensor:
        """Return input * input; bool counts as int64."""
    def square_(self, *, out=None) -> Tensor:
        """In-place version of square()."""
    def squeeze(self, dim=None, *more, axis=None) -> Tensor:
        """Remove dimensions of size 1 (all, or those named)."""
    def squeeze_(self, *args, **kwargs) -> Tensor:
        """In-place version of squeeze()."""
    def sspaddmm(self, mat1, mat2, *, beta=1, alpha=1, out=None) -> Tensor:
        """Return beta * input + alpha * (mat1 @ mat2), all sparse but mat2."""
    def std(self, dim=None, unbiased=None, keepdim: builtins.bool = False, *, correction=None, out=None, axis=None,
            keepdims: builtins.bool = False) -> Tensor:
        """Return the standard deviation over dims, divided by the count less `correction` (1 by default)."""
    def stft(self, n_fft, hop_length=None, win_length=None, window=None, center: builtins.bool = True,
             pad_mode='reflect', normalized: builtins.bool = False, onesided=None, return_complex=None,
             align_to_window=None) -> Tensor:
        """Return the spectra of windows of n_fft numbers, hop_length apart: (..., frequencies, windows)."""
    def storage(self) -> _typed_storage_module.TypedStorage:
        """Return the memory of the tensor, counted in elements."""
    def storage_offset(self) -> builtins.int:
        """Return the number of elements in the storage before this tensor's first."""
    def stride(self, dim=None, *, axis=None) -> Any:
        """Return the number of elements between neighbours along each dimension (or one)."""
    def sub(self, other, *older, alpha=1, out=None) -> Tensor:
        """Return input - alpha * other."""
    def sub_(self, other, *older, alpha=1, out=None) -> Tensor:
        """In-place version of sub()."""
    def subtract(self, other, *older, alpha=1, out=None) -> Tensor:
        """Return input - alpha * other."""
    def subtract_(self, other, *older, alpha=1, out=None) -> Tensor:
        """In-place version of subtract()."""
    def sum(self, dim=None, keepdim: builtins.bool = False, *, dtype=None, out=None, axis=None,
            keepdims: builtins.bool = False) -> Tensor:
        """Sum over dims (all by default); integers and bools are summed in int64."""
    def sum_to_size(self, *size) -> Tensor:
        """Sum over the dimensions that broadcasting from `size` to this shape would repeat."""
    def svd(self, some: builtins.bool = True, compute_uv: builtins.bool = True, *, out=None) -> _return_types_module.svd_uv:
        """Return U, S, V with U @ diag(S) @ V.mH = input, reduced unless `some` is False; without compute_uv, U and V are
        zeros."""
    @overload
    def swapaxes(self, dim0, dim1=None) -> Tensor:
        """Swap two dimensions, or reorder all by one tuple, as in NumPy."""
    @overload
    def swapaxes(self, *, axis0, axis1=None) -> Tensor:
        """Swap two dimensions, or reorder all by one tuple, as in NumPy."""
    def swapaxes_(self, *args, **kwargs) -> Tensor:
        """In-place version of transpose()."""
    @overload
    def swapdims(self, dim0, dim1=None) -> Tensor:
        """Swap two dimensions, or reorder all by one tuple, as in NumPy."""
    @overload
    def swapdims(self, *, axis0, axis1=None) -> Tensor:
        """Swap two dimensions, or reorder all by one tuple, as in NumPy."""
    def swapdims_(self, *args, **kwargs) -> Tensor:
        """In-place version of transpose()."""
    def t(self) -> Tensor:
        """Transpose a matrix; tensors with fewer dimensions stay as they are."""
    def t_(self, *args, **kwargs) -> Tensor:
        """In-place version of t()."""
    def take(self, index, *, out=None) -> Tensor:
        """Return the elements at positions of the flattened tensor, in the shape of index."""
    def take_along_dim(self, indices, dim=None, *, out=None, axis=None) -> Tensor:
        """Pick elements along a dimension by indices that broadcast with the other dimensions."""
    def tan(self, *, out=None) -> Tensor:
        """Elementwise tan."""
    def tan_(self, *, out=None) -> Tensor:
        """In-place version of tan()."""
    def tanh(self, *, out=None) -> Tensor:
        """Elementwise tanh."""
    def tanh_(self, *, out=None) -> Tensor:
        """In-place version of tanh()."""
    def tensor_split(self, indices_or_sections, dim=0, *, axis=0) -> builtins.tuple[Tensor, ...]:
        """Split a tensor into `n` pieces whose sizes differ by at most one, or at the indices listed; return views."""
    def tile(self, *sizes, dims=None, axis=None) -> Tensor:
        """Repeat the tensor; missing leading counts are 1."""
    def to(self, *args, dtype=None, device=None, non_blocking: builtins.bool = False, copy: builtins.bool = False,
           memory_format=...) -> Tensor:
        """Convert this tensor to another dtype or device: to(dtype), to(device, dtype) or to(other)."""
    def to_dense(self, dtype=None, *, masked_grad=None) -> Tensor:
        """Return this dense tensor, in a dtype if given. `masked_grad` is ignored: a dense tensor has no mask."""
    def to_device(self, device, /, *, stream=None) -> Tensor:
        """Move this tensor to a device."""
    def to_sparse(self, sparse_dim=None, *, layout=None, blocksize=None, dense_dim=None) -> Tensor:
        """Return the nonzero entries as a sparse tensor of a layout."""
    def to_sparse_bsc(self, blocksize, dense_dim=None) -> Tensor:
        """Return the nonzero blocks of matrices in compressed columns."""
    def to_sparse_bsr(self, blocksize, dense_dim=None) -> Tensor:
        """Return the nonzero blocks of matrices in compressed rows."""
    def to_sparse_coo(self, sparse_dim=None, *, layout=None, blocksize=None, dense_dim=None) -> Tensor:
        """Return the nonzero entries as a sparse tensor of a layout."""
    def to_sparse_csc(self, dense_dim=None) -> Tensor:
        """Return the nonzero entries of matrices in compressed columns."""
    def to_sparse_csr(self, dense_dim=None) -> Tensor:
        """Return the nonzero entries of matrices in compressed rows."""
    def tolist(self) -> Any:
        """Return nested lists of Python numbers."""
    def topk(self, k, dim=-1, largest: builtins.bool = True, sorted: builtins.bool = True, *,
             out=None, axis=-1) -> _return_types_module.topk:
        """Return the k largest (or smallest) elements along a dim, in order, as (values, indices); the first among equals."""
    tostring: _absent_methods_module.AbsentMethod
    def trace(self) -> Tensor:
        """Return the sum of a matrix's diagonal."""
    @overload
    def transpose(self, dim0, dim1=None) -> Tensor:
        """Swap two dimensions, or reorder all by one tuple, as in NumPy."""
    @overload
    def transpose(self, *, axis0, axis1=None) -> Tensor:
        """Swap two dimensions, or reorder all by one tuple, as in NumPy."""
    def transpose_(self, *args, **kwargs) -> Tensor:
        """In-place version of transpose()."""
    def triangular_solve(self, A, upper: builtins.bool = True,
                         transpose: builtins.bool = False,
                         unitriangular: builtins.bool = False, *, out=None) -> _return_types_module.triangular_solve:
        """Return X with A @ X = b (or A^T @ X = b), from one triangle of A, and a copy of A; newer: linalg.solve_triangular."""
    def tril(self, diagonal=0, *, out=None) -> Tensor:
        """Return a copy with zeros above a diagonal."""
    def tril_(self, diagonal=0, *, out=None) -> Tensor:
        """In-place version of tril()."""
    def triu(self, diagonal=0, *, out=None) -> Tensor:
        """Return a copy with zeros below a diagonal."""
    def triu_(self, diagonal=0, *, out=None) -> Tensor:
        """In-place version of triu()."""
    def true_divide(self, other, *, out=None) -> Tensor:
        """Return input / other."""
    def true_divide_(self, other, *, out=None) -> Tensor:
        """In-place version of true_divide()."""
    def trunc(self, *, out=None) -> Tensor:
        """Elementwise trunc."""
    def trunc_(self, *, out=None) -> Tensor:
        """In-place version of trunc()."""
    def type(self, dtype=None, non_blocking: builtins.bool = False) -> Any:
        """Return the name of this tensor's type, or convert the tensor to a dtype or to the type of such a name."""
    def type_as(self, other) -> Tensor:
        """Convert this tensor to the dtype and device of another one."""
    def unbind(self, dim=0, *, axis=0) -> builtins.tuple[Tensor, ...]:
        """Return a view for every index along a dimension."""
    @overload
    def unflatten(self, dim, sizes) -> Tensor:
        """Split one dimension into several."""
    @overload
    def unflatten(self, *, axis, sizes) -> Tensor:
        """Split one dimension into several."""
    def unfold(self, dimension, size, step) -> Tensor:
        """Return windows of `size` every `step` along a dimension, as a new last dimension."""
    def uniform_(self, *args, **kwargs) -> Tensor:
        """Fill with uniform numbers in [from, to); both parts of complex numbers."""
    def unique(self, sorted: builtins.bool = True, return_inverse: builtins.bool = False,
               return_counts: builtins.bool = False, dim=None, *, axis=None) -> Any:
        """Return the sorted distinct values (of slices along `dim`), with indices into them and counts if requested. `sorted`
        is ignored: False allows any order, this one too."""
    def unique_consecutive(self, return_inverse: builtins.bool = False, return_counts: builtins.bool = False, dim=None,
                           *, axis=None) -> Any:
        """Drop repeats of a neighbour; also return indices into the result and run lengths if requested."""
    def unsafe_chunk(self, chunks, dim=0, *, axis=0) -> builtins.tuple[Tensor, ...]:
        """Same as chunk()."""
    def unsafe_split(self, split_size, dim=0, *, axis=0) -> builtins.tuple[Tensor, ...]:
        """Same as split()."""
    def unsafe_split_with_sizes(self, split_sizes, dim=0, *, axis=0) -> builtins.tuple[Tensor, ...]:
        """Same as split_with_sizes()."""
    @overload
    def unsqueeze(self, dim) -> Tensor:
        """Insert a dimension of size 1 at `dim`."""
    @overload
    def unsqueeze(self, *, axis) -> Tensor:
        """Insert a dimension of size 1 at `dim`."""
    def unsqueeze_(self, *args, **kwargs) -> Tensor:
        """In-place version of unsqueeze()."""
    def untyped_storage(self) -> _typed_storage_module.UntypedStorage:
        """Return the memory of the tensor, as bytes."""
    def values(self, *args) -> Tensor:
        """values() of sparse tensors, which have a method of their own; an error for dense ones."""
    def var(self, dim=None, unbiased=None, keepdim: builtins.bool = False, *, correction=None, out=None, axis=None,
            keepdims: builtins.bool = False) -> Tensor:
        """Return the variance over dims, divided by the count less `correction` (1 by default)."""
    def vdot(self, other, *, out=None) -> Tensor:
        """Return the inner product of two vectors, the first one conjugated."""
    def view(self, *shape, dtype=None, size=None) -> Tensor:
        """Return a view in another shape, or, given a dtype, with the memory read as that dtype. Raise where the strides do not
        fit."""
    def view_as(self, other) -> Tensor: ...
    def vsplit(self, indices_or_sections) -> builtins.tuple[Tensor, ...]:
        """Equal pieces, or pieces cut at the indices listed, as views."""
    def where(self, condition, other) -> Tensor:
        """Return self where the condition is true, other elsewhere."""
    def xlogy(self, other, *, out=None) -> Tensor:
        """x log y; 0 where x is 0, unless y is nan."""
    def xlogy_(self, other, *, out=None) -> Tensor:
        """In-place version of xlogy()."""
    def zero_(self) -> Tensor:
        """Write zeros to all elements."""

def _check_kind(what, a, b) -> Any: ...

class NotOneError(_errors_module.DTypeError, builtins.ValueError):
    """An error: a tensor of no or several elements stands where one number, or truth, is needed."""

def _bare(t) -> Any:
    """Return a tensor over the same memory, and nothing else."""
def int_of(t: Tensor) -> builtins.int:
    """Return the one element of a tensor as an int. Replays call this, too, so they refuse the same numbers."""
def float_of(t: Tensor) -> builtins.float:
    """Return the one element of a tensor as a float."""
def _real(number) -> Any:
    """Return a number that can become a float or an int: the real part of a complex one without an imaginary part."""
def _array_for(data) -> numpy.ndarray:
    """Return the array of `Tensor(*data)`: zeros of these sizes, or the numbers of a sequence, array, tensor or storage."""
def _list_of(a) -> Any:
    """Return an array as lists, in a frame that tells where memory ran out: Python's error has no text
    (`raise_interrupt`)."""
def _read(t: Tensor, how: builtins.str, value) -> Any:
    """Return `value`, which Python reads out of a tensor; a recorder makes a guard of it."""
def shape_of(t: Tensor) -> builtins.tuple:
    """Return the sizes of a tensor as a plain tuple, symbolic ones while a trace records them. Parameters of operators must
    come from here, or from `Tensor.shape`, and not from the array."""
def has_memory(t: Tensor, a, storage) -> builtins.bool:
    """Return whether a tensor has this array in this memory."""
def lie_over(t: Tensor, memory: builtins.tuple) -> Any:
    """Do `t.data = ...`: give the tensor other memory (see `memory_of`); nodes that saved a leaf follow it there."""
def known_whole(t: Tensor) -> Tensor | None:
    """Return the `_part_of` for a tensor over the same memory without a base: a tensor over all of the memory, which nobody
    else has, so it stays there and keeps no history alive; None if that is `t`."""
def whole_of(t: Tensor) -> Tensor:
    """Return a tensor over all of the memory that `t` is known to be a view of; `t` itself if none is known."""
def made_whole(t: Tensor) -> Tensor:
    """Return a new tensor as no view; nobody else has the tensor that it is a view of."""
def memory_of(t: Tensor) -> builtins.tuple:
    """Return (array, storage, base, path, part of) for a tensor that gets the memory of `t`. A part of memory gets versions
    of its own, as in PyTorch: parameters that are parts of one vector may be written one by one."""
def counted_apart(t: Tensor, version: builtins.int) -> Tensor:
    """Return a tensor that got the memory of `t` by `.data = `, and was written so many times."""
def numel_of(t: Tensor) -> builtins.int:
    """Return the number of elements; see `shape_of`."""
def wrap(a) -> Tensor:
    """Return a new tensor over an array that nobody else writes to."""
def over_kind(kind: builtins.str, cls: builtins.type) -> Any:
    """Set the class of tensors over device arrays of a kind."""
def class_for(a) -> Any:
    """Return the class of a tensor over an array that is not NumPy's."""
