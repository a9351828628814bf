"""`ingot.sparse`: functions of sparse tensors, the switch of invariant checks, and types under older names."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import collections.abc as _c
import typing as _t
import numpy as _np
from ingot import Tensor as _Tensor
from ingot import device as _device
from ingot import dtype as _dtype
from ingot import layout as _layout
from ingot import memory_format as _memory_format

_Decorated = _t.TypeVar("_Decorated", bound=_c.Callable[..., _t.Any])

class BFloat16Tensor:
    """Sparse tensors of bfloat16, by their old name."""
    tensor_dtype: _dtype

class ByteTensor:
    """Sparse tensors of uint8, by their old name."""
    tensor_dtype: _dtype

class CharTensor:
    """Sparse tensors of int8, by their old name."""
    tensor_dtype: _dtype

class DoubleTensor:
    """Sparse tensors of float64, by their old name."""
    tensor_dtype: _dtype

class FloatTensor:
    """Sparse tensors of float32, by their old name."""
    tensor_dtype: _dtype

class HalfTensor:
    """Sparse tensors of float16, by their old name."""
    tensor_dtype: _dtype

class IntTensor:
    """Sparse tensors of int32, by their old name."""
    tensor_dtype: _dtype

class LongTensor:
    """Sparse tensors of int64, by their old name."""
    tensor_dtype: _dtype

class ShortTensor:
    """Sparse tensors of int16, by their old name."""
    tensor_dtype: _dtype

class SparseTensor(_Tensor):
    """Tensor of mostly zeros: entries and their positions."""
    @_b.property
    def H(self) -> _t.Any: ...
    @_b.property
    def T(self) -> _t.Any: ...
    def __array__(self, dtype: _t.Any = None, copy: _t.Any = None) -> _t.Any: ...
    __array_ufunc__: _t.Any
    def __bool__(self) -> _b.bool: ...
    def __complex__(self) -> _b.complex: ...
    def __dlpack__(self, **options: _t.Any) -> _t.Any: ...
    def __float__(self) -> _b.float: ...
    def __hash__(self) -> _b.int: ...
    def __index__(self) -> _b.int: ...
    def __int__(self) -> _b.int: ...
    def __iter__(self) -> _c.Iterator[_t.Any]: ...
    def __len__(self) -> _b.int: ...
    @_b.property
    def aval(self) -> _t.Any: ...
    def backward(self, gradient: _Tensor | None = None, retain_graph: _b.bool | None = None,
                 create_graph: _b.bool = False, inputs: _t.Any = None) -> None:
        """Add the gradients of this tensor to the `.grad` of its leaves."""
    def become(self, other: _Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any]) -> _t.Any:
        """Take over the entries of another tensor of its layout. Values that are a leaf stay that leaf, with new numbers."""
    def coo(self) -> _t.Any:
        """Return the same entries in COO layout."""
    @_b.property
    def data(self) -> _t.Any: ...
    @data.setter
    def data(self, value: _t.Any) -> None: ...
    def dense_dim(self) -> _b.int:
        """Return how many trailing dimensions each value has."""
    def detach(self) -> _t.Any:
        """Return the same entries without history."""
    @_b.property
    def device(self) -> _t.Any: ...
    def dim(self) -> _b.int:
        """Return the number of dimensions."""
    @_b.property
    def dtype(self) -> _t.Any: ...
    def entries(self) -> _t.Any:
        """Return the tensor with distinct positions, so that functions that are 0 at 0 apply to the values."""
    @_b.property
    def grad(self) -> _t.Any:
        """Accumulated gradient at the positions of the entries, or None."""
    @grad.setter
    def grad(self, value: _t.Any) -> None: ...
    @_b.property
    def grad_fn(self) -> _t.Any: ...
    def has_distinct_positions_of(self, other: _Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any]) -> _b.bool:
        """Return whether positions are the very same tensors, and distinct."""
    def has_positions_of(self, other: _Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any]) -> _b.bool:
        """Return whether the positions are the very same tensors as another tensor's."""
    imag: _t.Any
    def is_contiguous(self, memory_format: _memory_format | None = None) -> _b.bool:
        """Return False. `memory_format` is ignored: entries are stored in no order of dims."""
    @_b.property
    def is_cpu(self) -> _t.Any: ...
    @_b.property
    def is_cuda(self) -> _t.Any: ...
    @_b.property
    def is_leaf(self) -> _t.Any: ...
    @_b.property
    def is_meta(self) -> _t.Any: ...
    def is_nonzero(self) -> _b.bool: ...
    is_sparse_csr: _b.bool
    def item(self) -> _t.Any:
        """Return the one element as a Python number."""
    @_b.property
    def itemsize(self) -> _t.Any: ...
    def like(self, values: _Tensor) -> _t.Any:
        """Return a tensor with the same positions and other values."""
    @_b.property
    def mH(self) -> _t.Any: ...
    @_b.property
    def mT(self) -> _t.Any: ...
    @_b.property
    def nbytes(self) -> _t.Any: ...
    @_b.property
    def ndim(self) -> _t.Any: ...
    def ndimension(self) -> _b.int:
        """Return the number of dimensions."""
    def nelement(self) -> _b.int:
        """Return the number of elements, zeros included."""
    def numel(self) -> _b.int:
        """Return the number of elements, zeros included."""
    def numpy(self, *, force: _b.bool = False) -> _t.Any:
        """Raise: NumPy has no sparse arrays."""
    def on(self, device: _device | _b.str | _b.int) -> _t.Any: ...
    @_b.property
    def output_nr(self) -> _t.Any: ...
    def parts(self) -> _b.tuple[_t.Any, ...]:
        """Return the parts, and the function that rebuilds the tensor."""
    real: _t.Any
    @_b.property
    def requires_grad(self) -> _t.Any: ...
    @requires_grad.setter
    def requires_grad(self, value: _t.Any) -> None: ...
    def requires_grad_(self, requires_grad: _b.bool = True) -> _t.Self:
        """Start (or stop) accumulating a gradient for the values."""
    def retain_grad(self) -> None:
        """Keep the gradient of a computed tensor."""
    @_b.property
    def retains_grad(self) -> _t.Any: ...
    @_b.property
    def shape(self) -> _t.Any: ...
    def size(self, dim: _b.int | _c.Sequence[_b.int] | None = None) -> _t.Any: ...
    def sparse_dim(self) -> _b.int:
        """Return how many leading dimensions are sparse."""
    def stride(self, dim: _b.int | _c.Sequence[_b.int] | None = None) -> None:
        """Raise: elements have no strides. `dim` is ignored: none of them has one."""
    def values(self) -> _Tensor: ...
    def values_of(self, gradient: _Tensor) -> _t.Any: ...

def addmm(mat: _Tensor, mat1: _Tensor, mat2: _Tensor, *, beta: _Tensor | _b.complex = 1,
          alpha: _Tensor | _b.complex = 1) -> _Tensor:
    """Return beta * mat + alpha * (mat1 @ mat2), mat1 or mat2 sparse."""
def as_sparse_gradcheck(gradcheck: _t.Any) -> _t.Any:
    """Return a gradcheck for functions of sparse tensors, as functions of the values that require grad."""

class check_sparse_tensor_invariants:
    """The switch of invariant checks in constructors that memory safety does not need: whether a COO tensor is coalesced.
    It is a context manager, a decorator, and a switch for the process (`enable`, `disable`)."""
    state: _b.bool
    def __init__(self, enable: _b.bool = True) -> None: ...
    def around(self) -> _t.Any: ...
    @_b.staticmethod
    def disable() -> None:
        """Turn the checks off."""
    @_b.staticmethod
    def enable() -> None: ...
    @_b.staticmethod
    def is_enabled() -> _b.bool: ...
    def __call__(self, fn: _Decorated) -> _Decorated: ...
    def __enter__(self) -> _t.Any: ...
    def __exit__(self, *error: _t.Any) -> None: ...

def log_softmax(input: _Tensor, dim: _b.int | _c.Sequence[_b.int], *,
                dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None) -> _Tensor:
    """Return the logarithm of `softmax`."""
def mm(mat1: _Tensor, mat2: _Tensor, reduce: _b.str = 'sum', *,
       out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor:
    """Return the product of two matrices, at least one of them sparse. `reduce` "mean", "amax" or "amin" replaces the sum
    of products, for a sparse matrix times a dense one."""
def sampled_addmm(input: _Tensor, mat1: _Tensor, mat2: _Tensor, *, beta: _Tensor | _b.complex = 1.0,
                  alpha: _Tensor | _b.complex = 1.0, out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor:
    """Return beta * input + alpha * (mat1 @ mat2), computed only at the entries of `input`, a CSR matrix (or batch)."""
def softmax(input: _Tensor, dim: _b.int | _c.Sequence[_b.int], *,
            dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None) -> _Tensor:
    """Return exp(x) / sum(exp(x)) along a dimension, over the entries of a sparse tensor alone."""
def spdiags(diagonals: _t.Any, offsets: _Tensor, shape: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
            layout: _layout | None = None) -> _t.Any:
    """Return a sparse matrix with rows as its diagonals: element j of each is in column j, at the diagonal's offset."""
def sum(input: _Tensor, dim: _b.int | _c.Sequence[_b.int] | None = None,
        dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None) -> _Tensor:
    """Sum all entries, or over dims; the result is sparse while sparse dimensions remain."""
