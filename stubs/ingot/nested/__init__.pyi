"""`ingot.nested`: batches of samples of different lengths, without padding."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import collections.abc as _c
import typing as _t
import numpy as _np
from ingot import Size as _Size
from ingot import Tensor as _Tensor
from ingot import TypedStorage as _TypedStorage
from ingot import UntypedStorage as _UntypedStorage
from ingot import device as _device
from ingot import dtype as _dtype
from ingot import layout as _layout
from ingot import memory_format as _memory_format
from ingot.utils.hooks import RemovableHandle as _RemovableHandle

class NestedTensor(_Tensor):
    """Batch of samples that differ in one dim. `_values` joins them along that dim, without the batch dim."""
    like: _t.Any
    values_of: _t.Any
    @_b.property
    def H(self) -> _t.Any:
        """Matrix, transposed and conjugated."""
    @_b.property
    def T(self) -> _t.Any:
        """Tensor with all dimensions reversed."""
    def __abs__(self) -> _t.Any: ...
    def __add__(self, other: _t.Any) -> _t.Any: ...
    def __and__(self, other: _t.Any) -> _t.Any: ...
    def __contains__(self, element: _t.Any) -> _b.bool:
        """Return whether some element equals `element`."""
    def __eq__(self, other: _t.Any) -> _t.Any: ...
    def __floordiv__(self, other: _t.Any) -> _t.Any: ...
    def __ge__(self, other: _t.Any) -> _t.Any: ...
    def __getitem__(self, key: _t.Any) -> _t.Any: ...
    def __gt__(self, other: _t.Any) -> _t.Any: ...
    def __hash__(self) -> _b.int: ...
    def __init__(self, *args: _t.Any, **kwargs: _t.Any) -> None:
        """Do nothing. `args` and `kwargs` are ignored: the class's `__new__` has made the tensor of them."""
    def __invert__(self) -> _t.Any: ...
    def __iter__(self) -> _c.Iterator[_t.Any]: ...
    def __le__(self, other: _t.Any) -> _t.Any: ...
    def __len__(self) -> _b.int: ...
    def __lshift__(self, other: _t.Any) -> _t.Any: ...
    def __lt__(self, other: _t.Any) -> _t.Any: ...
    def __matmul__(self, other: _t.Any) -> _t.Any: ...
    def __mod__(self, other: _t.Any) -> _t.Any: ...
    def __mul__(self, other: _t.Any) -> _t.Any: ...
    def __ne__(self, other: _t.Any) -> _t.Any: ...
    def __neg__(self) -> _t.Any: ...
    def __or__(self, other: _t.Any) -> _t.Any: ...
    def __pos__(self) -> _t.Any: ...
    def __pow__(self, other: _t.Any) -> _t.Any: ...
    def __radd__(self, other: _t.Any) -> _t.Any: ...
    def __rand__(self, other: _t.Any) -> _t.Any: ...
    def __reversed__(self) -> _t.Any:
        """Return the entries along the first dimension in reverse order."""
    def __rfloordiv__(self, other: _t.Any) -> _t.Any: ...
    def __rlshift__(self, other: _t.Any) -> _t.Any: ...
    def __rmatmul__(self, other: _t.Any) -> _t.Any: ...
    def __rmod__(self, other: _t.Any) -> _t.Any: ...
    def __rmul__(self, other: _t.Any) -> _t.Any: ...
    def __ror__(self, other: _t.Any) -> _t.Any: ...
    def __rpow__(self, other: _t.Any) -> _t.Any: ...
    def __rrshift__(self, other: _t.Any) -> _t.Any: ...
    def __rshift__(self, other: _t.Any) -> _t.Any: ...
    def __rsub__(self, other: _t.Any) -> _t.Any: ...
    def __rtruediv__(self, other: _t.Any) -> _t.Any: ...
    def __rxor__(self, other: _t.Any) -> _t.Any: ...
    def __setitem__(self, key: _t.Any, value: _t.Any) -> None: ...
    def __sub__(self, other: _t.Any) -> _t.Any: ...
    def __truediv__(self, other: _t.Any) -> _t.Any: ...
    def __xor__(self, other: _t.Any) -> _t.Any: ...
    def apply_(self, callable: _t.Any) -> _t.Any:
        """Replace each element by callable(element), with one Python call each."""
    @_b.property
    def aval(self) -> _t.Any: ...
    def backward(self, gradient: _t.Any = None, retain_graph: _b.bool | None = None, create_graph: _b.bool = False,
                 inputs: _t.Any = None) -> None:
        """Add the gradients of this tensor to the `.grad` of its leaves."""
    def bernoulli_(self, *args: _t.Any, **kwargs: _t.Any) -> _t.Any:
        """Fill with 1 with probability p (a number or a tensor), else 0."""
    def bfloat16(self, memory_format: _memory_format = ...) -> _t.Any:
        """Convert this tensor to bfloat16."""
    def bool(self, memory_format: _memory_format = ...) -> _t.Any:
        """Convert this tensor to bool."""
    def byte(self, memory_format: _memory_format = ...) -> _t.Any:
        """Convert this tensor to uint8."""
    def cauchy_(self, *args: _t.Any, **kwargs: _t.Any) -> _t.Any:
        """Fill with Cauchy numbers."""
    def ccol_indices(self, *args: _t.Any) -> _Tensor:
        """ccol_indices() of sparse tensors, which have a method of their own; an error for dense ones."""
    def cdouble(self, memory_format: _memory_format = ...) -> _t.Any:
        """Convert this tensor to complex128."""
    def cfloat(self, memory_format: _memory_format = ...) -> _t.Any:
        """Convert this tensor to complex64."""
    def char(self, memory_format: _memory_format = ...) -> _t.Any:
        """Convert this tensor to int8."""
    def coalesce(self, *args: _t.Any) -> _Tensor:
        """coalesce() of sparse tensors, which have a method of their own; an error for dense ones."""
    def col_indices(self, *args: _t.Any) -> _Tensor:
        """col_indices() of sparse tensors, which have a method of their own; an error for dense ones."""
    def contiguous(self, memory_format: _memory_format = ...) -> _t.Any:
        """Return this tensor if its memory is in row-major order (or in the given format), else a copy that is."""
    def cpu(self, memory_format: _memory_format = ...) -> _t.Any:
        """Copy this tensor to host memory, if it is not there."""
    def crow_indices(self, *args: _t.Any) -> _Tensor:
        """crow_indices() of sparse tensors, which have a method of their own; an error for dense ones."""
    def cuda(self, device: _device | _b.str | _b.int | None = None, non_blocking: _b.bool = False,
             memory_format: _memory_format = ...) -> _t.Any:
        """Copy this tensor to a CUDA device, if it is not there."""
    @_b.property
    def data(self) -> _t.Any: ...
    @data.setter
    def data(self, value: _t.Any) -> None: ...
    def data_ptr(self) -> _b.int:
        """Return the address of the first element."""
    def dense_dim(self) -> _b.int:
        """Return how many dimensions are dense: all of a dense tensor."""
    @_b.property
    def device(self) -> _t.Any: ...
    def dim(self) -> _b.int:
        """Return the number of dims."""
    def dim_order(self, ambiguity_check: _b.bool = False) -> _b.tuple[_b.int, ...]:
        """Return the dims from the slowest to the fastest in memory. With `ambiguity_check` (True, or a list of memory formats)
        raise if several orders fit, unless the tensor has exactly one of the formats."""
    def double(self, memory_format: _memory_format = ...) -> _t.Any:
        """Convert this tensor to float64."""
    @_b.property
    def dtype(self) -> _t.Any: ...
    def element_size(self) -> _b.int:
        """Return the bytes of one element."""
    def expand(self, *sizes: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
               size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] | None = None, implicit: _b.bool = False) -> _t.Any:
        """Repeat dimensions of size 1 without copying; -1 keeps a size. `implicit` is ignored: it only marks broadcasts for
        PyTorch's own transforms."""
    def exponential_(self, *args: _t.Any, **kwargs: _t.Any) -> _t.Any:
        """Fill with exponential numbers of rate lambd."""
    def fill_(self, value: _Tensor | _b.complex) -> _t.Any:
        """Write one value to all elements."""
    def fill_diagonal_(self, fill_value: _Tensor | _b.complex, wrap: _b.bool = False) -> _t.Self:
        """Write one value on the main diagonal; `wrap` starts it again below the last row of a tall matrix."""
    def float(self, memory_format: _memory_format = ...) -> _t.Any:
        """Convert this tensor to float32."""
    def geometric_(self, *args: _t.Any, **kwargs: _t.Any) -> _t.Any:
        """Fill with the number of trials of probability p until success."""
    @_b.property
    def grad(self) -> _t.Any:
        """Gradient of the values, as a tensor of this class."""
    @grad.setter
    def grad(self, value: _t.Any) -> None: ...
    @_b.property
    def grad_fn(self) -> _t.Any: ...
    def half(self, memory_format: _memory_format = ...) -> _t.Any:
        """Convert this tensor to float16."""
    def hardshrink(self, lambd: _b.float = 0.5) -> _t.Any:
        """Return 0 where |input| <= lambd, the input elsewhere."""
    @_b.property
    def imag(self) -> _t.Any:
        """Return the imaginary parts of a complex tensor."""
    @imag.setter
    def imag(self, value: _t.Any) -> None: ...
    def indices(self, *args: _t.Any) -> _Tensor:
        """indices() of sparse tensors, which have a method of their own; an error for dense ones."""
    def int(self, memory_format: _memory_format = ...) -> _t.Any:
        """Convert this tensor to int32."""
    def is_coalesced(self, *args: _t.Any) -> _Tensor:
        """is_coalesced() of sparse tensors, which have a method of their own; an error for dense ones."""
    def is_contiguous(self, memory_format: _memory_format | None = None) -> _b.bool:
        """Return whether the joined samples are contiguous. `memory_format` is ignored: samples have no dims of images."""
    @_b.property
    def is_leaf(self) -> _t.Any: ...
    is_nested: _b.bool
    def is_pinned(self, device: _device | _b.str | _b.int | None = None) -> _b.bool:
        """Return whether the memory is page-locked. `device` is ignored: pinned memory serves every accelerator."""
    def is_shared(self) -> _b.bool:
        """Return whether other processes can map the memory."""
    def item(self) -> _t.Any:
        """Return the one element as a Python number."""
    @_b.property
    def layout(self) -> _t.Any: ...
    def lengths(self) -> _Tensor | None:
        """Return None: samples have no gaps."""
    def log_normal_(self, *args: _t.Any, **kwargs: _t.Any) -> _t.Any:
        """Fill with numbers whose logarithm is normal."""
    def long(self, memory_format: _memory_format = ...) -> _t.Any:
        """Convert this tensor to int64."""
    @_b.property
    def mH(self) -> _t.Any:
        """Tensor with the last two dimensions swapped, conjugated."""
    @_b.property
    def mT(self) -> _t.Any:
        """Tensor with the last two dimensions swapped."""
    def map2_(self, x: _t.Any, y: _t.Any, callable: _t.Any) -> _t.Any:
        """Replace each element a by callable(a, b, c), with b and c from tensors that broadcast and one Python call each."""
    @_b.property
    def ndim(self) -> _b.int: ...
    def ndimension(self) -> _b.int:
        """Return the number of dimensions."""
    def new(self, *data: _t.Any, device: _device | _b.str | _b.int | None = None, size: _t.Any = None) -> _t.Any:
        """Return a tensor of this dtype: uninitialised of given sizes, or with given values."""
    def new_empty(self, *sizes: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
                  size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] | None = None,
                  dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
                  device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False,
                  layout: _layout | None = None, pin_memory: _b.bool = False) -> _t.Any:
        """Return a tensor without defined values, with this tensor's dtype."""
    def new_empty_strided(self, size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
                          stride: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex], *,
                          dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
                          layout: _layout | None = None, device: _device | _b.str | _b.int | None = None,
                          requires_grad: _b.bool = False, pin_memory: _b.bool = False) -> _t.Any:
        """Return an empty tensor with given strides; its default dtype is this tensor's."""
    def new_full(self, size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex], fill_value: _Tensor | _b.complex, *,
                 dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
                 device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False,
                 layout: _layout | None = None, pin_memory: _b.bool = False) -> _t.Any:
        """Return a tensor of one value with this tensor's dtype."""
    def new_ones(self, *sizes: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
                 size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] | None = None,
                 dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
                 device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False,
                 layout: _layout | None = None, pin_memory: _b.bool = False) -> _t.Any:
        """Return ones with this tensor's dtype."""
    def new_tensor(self, data: _t.Any, *,
                   dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
                   device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False,
                   layout: _layout | None = None, pin_memory: _b.bool = False) -> _t.Any:
        """Return a copy of data with this tensor's dtype."""
    def new_zeros(self, *sizes: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
                  size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] | None = None,
                  dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
                  device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False,
                  layout: _layout | None = None, pin_memory: _b.bool = False) -> _t.Any:
        """Return zeros with this tensor's dtype."""
    def normal_(self, *args: _t.Any, **kwargs: _t.Any) -> _t.Any:
        """Fill with normal numbers."""
    def numel(self) -> _b.int:
        """Return the number of all elements, including those not selected."""
    def numpy(self, *, force: _b.bool = False) -> _np.ndarray[_t.Any, _t.Any]:
        """Return the memory as a NumPy array, without a copy."""
    def offsets(self) -> _Tensor:
        """Return where samples begin in the values, and the end of the last one."""
    def parts(self) -> _b.tuple[_t.Any, ...]:
        """Return the parts, and the function that rebuilds the tensor."""
    def pin_memory(self, device: _device | _b.str | _b.int | None = None) -> _t.Any:
        """Copy this tensor to page-locked memory, so that transfers to an accelerator are asynchronous. Without one return
        it."""
    def polygamma(self, n: _t.Any) -> _t.Any:
        """Return the n-th derivative of digamma."""
    def polygamma_(self, n: _t.Any) -> _t.Any:
        """In-place version of polygamma()."""
    def random_(self, *args: _t.Any, **kwargs: _t.Any) -> _t.Any:
        """Fill with uniform integers in [from, to): random_(to), random_(from, to); by default all that the dtype holds
        exactly."""
    @_b.property
    def real(self) -> _t.Any:
        """Return the real parts; a real tensor itself."""
    @real.setter
    def real(self, value: _t.Any) -> None: ...
    def record_stream(self, stream: _t.Any) -> None:
        """Keep the memory of this tensor from reuse until work in a stream is done."""
    def register_hook(self, hook: _t.Any) -> _RemovableHandle:
        """Call hook(grad) whenever a gradient of this tensor has been computed; a tensor it returns replaces the gradient."""
    def register_post_accumulate_grad_hook(self, hook: _t.Any) -> _RemovableHandle:
        """Call hook(tensor) after a gradient was accumulated into this leaf's `.grad`."""
    def repeat(self, *sizes: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
               repeats: _Tensor | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] | None = None) -> _t.Any:
        """Repeat the tensor, `sizes` times along each dimension."""
    @_b.property
    def requires_grad(self) -> _t.Any: ...
    @requires_grad.setter
    def requires_grad(self, value: _t.Any) -> None: ...
    def requires_grad_(self, requires_grad: _b.bool = True) -> _t.Self:
        """Start or stop accumulating a gradient for the values."""
    def resize_(self, *sizes: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
                memory_format: _memory_format | None = None) -> _t.Any:
        """Change the shape, over the same memory from this tensor's first element on, or over more of it. New elements are
        zeros."""
    def resize_as_(self, the_template: _Tensor, memory_format: _memory_format | None = None) -> _t.Any:
        """Resize to another tensor's shape; with `preserve_format` also to its order of dims."""
    def resize_as_sparse_(self, the_template: _Tensor) -> _Tensor:
        """Take over the size of a sparse tensor; raise for dense ones."""
    def retain_grad(self) -> None:
        """Keep the gradient of this non-leaf tensor in `.grad`."""
    def row_indices(self, *args: _t.Any) -> _Tensor:
        """row_indices() of sparse tensors, which have a method of their own; an error for dense ones."""
    @_b.property
    def shape(self) -> _Size: ...
    def share_memory_(self) -> _t.Self:
        """Move the memory of this tensor and its aliases to where other processes can map it. Device memory stays."""
    def short(self, memory_format: _memory_format = ...) -> _t.Any:
        """Convert this tensor to int16."""
    def size(self, dim: _b.int | _c.Sequence[_b.int] | None = None) -> _t.Any:
        """Return the sizes, or one of them."""
    def sparse_dim(self) -> _b.int:
        """Return how many dimensions are sparse: none of a dense tensor."""
    def sparse_mask(self, mask: _Tensor) -> _Tensor:
        """Return the values of a tensor at the positions of a sparse one."""
    def sparse_resize_(self, *args: _t.Any) -> _Tensor:
        """sparse_resize_() of sparse tensors, which have a method of their own; an error for dense ones."""
    def sparse_resize_and_clear_(self, *args: _t.Any) -> _Tensor:
        """sparse_resize_and_clear_() of sparse tensors, which have a method of their own; an error for dense ones."""
    def squeeze_(self, *args: _t.Any, **kwargs: _t.Any) -> _t.Any:
        """In-place version of squeeze()."""
    def storage(self) -> _TypedStorage:
        """Return the memory of the tensor, counted in elements."""
    def storage_offset(self) -> _b.int:
        """Return the number of elements in the storage before this tensor's first."""
    def stride(self, dim: _b.int | _c.Sequence[_b.int] | None = None, *,
               axis: _b.int | _c.Sequence[_b.int] | None = None) -> _t.Any:
        """Return the number of elements between neighbours along each dimension (or one)."""
    def sum_to_size(self, *size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex]) -> _t.Any:
        """Sum over the dimensions that broadcasting from `size` to this shape would repeat."""
    def swapaxes_(self, *args: _t.Any, **kwargs: _t.Any) -> _t.Any:
        """In-place version of transpose()."""
    def swapdims_(self, *args: _t.Any, **kwargs: _t.Any) -> _t.Any:
        """In-place version of transpose()."""
    def t_(self, *args: _t.Any, **kwargs: _t.Any) -> _t.Any:
        """In-place version of t()."""
    def to(self, *args: _t.Any, dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
           device: _device | _b.str | _b.int | None = None, non_blocking: _b.bool = False, copy: _b.bool = False,
           memory_format: _memory_format = ...) -> _t.Any:
        """Convert this tensor to another dtype or device: to(dtype), to(device, dtype) or to(other)."""
    def to_dense(self, dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None, *,
                 masked_grad: _t.Any = None) -> _Tensor:
        """Return this dense tensor, in a dtype if given. `masked_grad` is ignored: a dense tensor has no mask."""
    def to_device(self, device: _device | _b.str | _b.int, /, *, stream: _t.Any = None) -> _t.Any:
        """Move this tensor to a device."""
    def to_padded_tensor(self, padding: _b.str | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
                         output_size: _b.int | _c.Sequence[_b.int | None] | None = None) -> _Tensor:
        """Return one tensor of all samples, padded to the longest one, or to `output_size`."""
    def to_sparse(self, sparse_dim: _t.Any = None, *, layout: _layout | None = None, blocksize: _t.Any = None,
                  dense_dim: _t.Any = None) -> _Tensor:
        """Return the nonzero entries as a sparse tensor of a layout."""
    def to_sparse_bsc(self, blocksize: _t.Any, dense_dim: _t.Any = None) -> _Tensor:
        """Return the nonzero blocks of matrices in compressed columns."""
    def to_sparse_bsr(self, blocksize: _t.Any, dense_dim: _t.Any = None) -> _Tensor:
        """Return the nonzero blocks of matrices in compressed rows."""
    def to_sparse_coo(self, sparse_dim: _t.Any = None, *, layout: _layout | None = None, blocksize: _t.Any = None,
                      dense_dim: _t.Any = None) -> _Tensor:
        """Return the nonzero entries as a sparse tensor of a layout."""
    def to_sparse_csc(self, dense_dim: _t.Any = None) -> _Tensor:
        """Return the nonzero entries of matrices in compressed columns."""
    def to_sparse_csr(self, dense_dim: _t.Any = None) -> _Tensor:
        """Return the nonzero entries of matrices in compressed rows."""
    def tolist(self) -> _t.Any:
        """Return nested lists of Python numbers."""
    def transpose_(self, *args: _t.Any, **kwargs: _t.Any) -> _t.Any:
        """In-place version of transpose()."""
    def type(self, dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
             non_blocking: _b.bool = False) -> _t.Any:
        """Return the name of this tensor's type, or convert the tensor to a dtype or to the type of such a name."""
    def unbind(self, dim: _b.int | _c.Sequence[_b.int] = 0) -> _b.tuple[_t.Any, ...]:
        """Return the samples, as views of the values."""
    def unfold(self, dimension: _t.Any, size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex], step: _t.Any) -> _t.Any:
        """Return windows of `size` every `step` along a dimension, as a new last dimension."""
    def uniform_(self, *args: _t.Any, **kwargs: _t.Any) -> _t.Any:
        """Fill with uniform numbers in [from, to); both parts of complex numbers."""
    def unpadded(self, padded: _Tensor) -> NestedTensor:
        """Return the samples of a padded tensor."""
    def unsqueeze_(self, *args: _t.Any, **kwargs: _t.Any) -> _t.Any:
        """In-place version of unsqueeze()."""
    def untyped_storage(self) -> _UntypedStorage:
        """Return the memory of the tensor, as bytes."""
    def values(self) -> _Tensor:
        """Return the joined samples."""
    def view(self, *shape: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
             dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
             size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] | None = None) -> _t.Any:
        """Return a view in another shape, or, given a dtype, with the memory read as that dtype. Raise where the strides do not
        fit."""

def as_nested_tensor(ts: _t.Any,
                     dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
                     device: _device | _b.str | _b.int | None = None, layout: _layout | None = None) -> NestedTensor:
    """Return a nested tensor of samples (a list, or the rows of a tensor), to which gradients flow."""
def masked_select(tensor: _Tensor, mask: _Tensor) -> NestedTensor:
    """Return the rows of each sample that a mask selects; the mask broadcasts to (samples, rows)."""
def narrow(tensor: _Tensor, dim: _b.int | _c.Sequence[_b.int], start: _Tensor | _b.complex,
           length: _t.Any, layout: _layout | None = None) -> NestedTensor:
    """Return the rows start[i] to start[i] + length[i] of each sample of a tensor (ints apply to all samples)."""
def nested_tensor(tensor_list: _t.Any, *,
                  dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
                  layout: _layout | None = None, device: _device | _b.str | _b.int | None = None,
                  requires_grad: _b.bool = False, pin_memory: _b.bool = False) -> NestedTensor:
    """Return a nested tensor of copies of samples, without their history."""
def nested_tensor_from_jagged(values: _t.Any, offsets: _Tensor | None = None, lengths: _t.Any = None,
                              jagged_dim: _t.Any = None, min_seqlen: _t.Any = None,
                              max_seqlen: _t.Any = None) -> NestedTensor:
    """Return a nested tensor over values with joined samples. Sample i begins at offsets[i] and ends at the next offset, or
    after lengths[i] rows."""
def to_padded_tensor(input: _Tensor, padding: _b.str | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
                     output_size: _b.int | _c.Sequence[_b.int | None] | None = None) -> _Tensor:
    """Return one tensor of all samples, padded to the longest one, or to `output_size`."""
