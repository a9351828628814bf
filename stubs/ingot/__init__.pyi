"""ingot: eager tensors with automatic differentiation and a tracing JIT compiler."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import collections.abc as _c
import typing as _t
import numpy as _np
from ingot import accelerator as accelerator
from ingot import amp as amp
from ingot import ao as ao
from ingot import array_api as array_api
from ingot import autograd as autograd
from ingot import backends as backends
from ingot import compiler as compiler
from ingot import cpu as cpu
from ingot import cuda as cuda
from ingot import distributed as distributed
from ingot import distributions as distributions
from ingot import export as export
from ingot import fft as fft
from ingot import func as func
from ingot import functional as functional
from ingot import futures as futures
from ingot import fx as fx
from ingot import generation as generation
from ingot import hub as hub
from ingot import jit as jit
from ingot import library as library
from ingot import linalg as linalg
from ingot import masked as masked
from ingot import mps as mps
from ingot import mtia as mtia
from ingot import multiprocessing as multiprocessing
from ingot import nested as nested
from ingot import nn as nn
from ingot import onnx as onnx
from ingot import ops as ops
from ingot import optim as optim
from ingot import overrides as overrides
from ingot import profiler as profiler
from ingot import quantization as quantization
from ingot import quasirandom as quasirandom
from ingot import random as random
from ingot import return_types as return_types
from ingot import serialization as serialization
from ingot import signal as signal
from ingot import sparse as sparse
from ingot import special as special
from ingot import storage as storage
from ingot import testing as testing
from ingot import torch_version as torch_version
from ingot import types as types
from ingot import utils as utils
from ingot import version as version
from ingot import xpu as xpu
from ingot.nn import Module as _Module
from ingot.optim import Optimizer as _Optimizer
from ingot.return_types import aminmax as _aminmax
from ingot.return_types import cummax as _cummax
from ingot.return_types import cummin as _cummin
from ingot.return_types import frexp as _frexp
from ingot.return_types import geqrf as _geqrf
from ingot.return_types import histogram as _histogram
from ingot.return_types import histogramdd as _histogramdd
from ingot.return_types import kthvalue as _kthvalue
from ingot.return_types import lu_unpack as _lu_unpack
from ingot.return_types import mode as _mode
from ingot.return_types import slogdet as _slogdet
from ingot.return_types import sort as _sort
from ingot.return_types import svd_uv as _svd_uv
from ingot.return_types import topk as _topk
from ingot.return_types import triangular_solve as _triangular_solve
from ingot.utils.hooks import RemovableHandle as _RemovableHandle
import enum as _enum

from ingot.func import _Transformed
from ingot.jit import _Compiled, _Compiler
from ingot.return_types import max as _max, median as _median, min as _min, nanmedian as _nanmedian
_F = _t.TypeVar("_F", bound=_c.Callable[..., _t.Any])
_Number: _t.TypeAlias = _b.int | _t.Any     # a number of Python: it serves as int, float or index, and as no string
class _GradMode:
    """Context manager and decorator."""
    def __call__(self, fn: _F) -> _F: ...
    def __enter__(self) -> _t.Self: ...
    def __exit__(self, kind: _t.Any, error: _t.Any, traceback: _t.Any) -> None: ...
_P = _t.ParamSpec("_P")
_R = _t.TypeVar("_R")
_Decorated = _t.TypeVar("_Decorated", bound=_c.Callable[..., _t.Any])

__version__: _b.str
_dtype: _t.TypeAlias = dtype
bfloat16: _dtype
bool: _dtype
cdouble: _dtype
cfloat: _dtype
chalf: _dtype
_memory_format: _t.TypeAlias = memory_format
channels_last: _memory_format
channels_last_3d: _memory_format
complex128: _dtype
complex32: _dtype
complex64: _dtype
contiguous_format: _memory_format
default_generator: Generator
double: _dtype
e: _b.float
float: _dtype
float16: _dtype
float32: _dtype
float4_e2m1fn_x2: _dtype
float64: _dtype
float8_e4m3fn: _dtype
float8_e4m3fnuz: _dtype
float8_e5m2: _dtype
float8_e5m2fnuz: _dtype
float8_e8m0fnu: _dtype
half: _dtype
inf: _b.float
int: _dtype
int1: _dtype
int16: _dtype
int2: _dtype
int3: _dtype
int32: _dtype
int4: _dtype
int5: _dtype
int6: _dtype
int64: _dtype
int7: _dtype
int8: _dtype
_layout: _t.TypeAlias = layout
jagged: _layout
legacy_contiguous_format: _memory_format
long: _dtype
nan: _b.float
newaxis: _t.Any
_qscheme: _t.TypeAlias = qscheme
per_channel_affine: _qscheme
per_channel_affine_float_qparams: _qscheme
per_channel_symmetric: _qscheme
per_tensor_affine: _qscheme
per_tensor_symmetric: _qscheme
pi: _b.float
preserve_format: _memory_format
qint32: _dtype
qint8: _dtype
quint2x4: _dtype
quint4x2: _dtype
quint8: _dtype
short: _dtype
sparse_bsc: _layout
sparse_bsr: _layout
sparse_coo: _layout
sparse_csc: _layout
sparse_csr: _layout
strided: _layout
uint1: _dtype
uint16: _dtype
uint2: _dtype
uint3: _dtype
uint32: _dtype
uint4: _dtype
uint5: _dtype
uint6: _dtype
uint64: _dtype
uint7: _dtype
uint8: _dtype

class BFloat16Storage:
    """Memory of bfloat16, by its old name."""
    dtype: _dtype

class BFloat16Tensor(Tensor):
    """Tensors of bfloat16, by their old name."""
    tensor_device: _t.Any
    tensor_dtype: _dtype

class BoolStorage:
    """Memory of bool, by its old name."""
    dtype: _dtype

class BoolTensor(Tensor):
    """Tensors of bool, by their old name."""
    tensor_device: _t.Any
    tensor_dtype: _dtype

class ByteStorage:
    """Memory of uint8, by its old name."""
    dtype: _dtype

class ByteTensor(Tensor):
    """Tensors of uint8, by their old name."""
    tensor_device: _t.Any
    tensor_dtype: _dtype

class CharStorage:
    """Memory of int8, by its old name."""
    dtype: _dtype

class CharTensor(Tensor):
    """Tensors of int8, by their old name."""
    tensor_device: _t.Any
    tensor_dtype: _dtype

class ComplexDoubleStorage:
    """Memory of complex128, by its old name."""
    dtype: _dtype

class ComplexFloatStorage:
    """Memory of complex64, by its old name."""
    dtype: _dtype

class DeviceObjType:
    """Type of devices in annotations of PyTorch's scripts."""

class DoubleStorage:
    """Memory of float64, by its old name."""
    dtype: _dtype

class DoubleTensor(Tensor):
    """Tensors of float64, by their old name."""
    tensor_device: _t.Any
    tensor_dtype: _dtype

class Event:
    """A mark in a stream, to wait for or to measure times between two."""
    blocking: _b.bool
    context: _t.Any
    device_index: _t.Any
    handle: _t.Any
    timing: _b.bool
    def __init__(self, enable_timing: _b.bool = False, blocking: _b.bool = False, interprocess: _b.bool = False) -> None: ...
    @_b.property
    def cuda_event(self) -> _b.int: ...
    @_b.property
    def device(self) -> _device | None: ...
    def elapsed_time(self, end_event: Event) -> _b.float:
        """Return the milliseconds from this event to a later one."""
    def query(self) -> _b.bool:
        """Return whether the event was reached (or never recorded)."""
    def record(self, stream: Stream | None = None) -> None:
        """Record the event at the end of a stream (None: the current one)."""
    def synchronize(self) -> None: ...
    def wait(self, stream: Stream | None = None) -> None:
        """Make later work in a stream wait for the event."""

_device: _t.TypeAlias = device

class FloatStorage:
    """Memory of float32, by its old name."""
    dtype: _dtype

class FloatTensor(Tensor):
    """Tensors of float32, by their old name."""
    tensor_device: _t.Any
    tensor_dtype: _dtype

class Future:
    """Result to come: set once, awaited by any number of threads or callbacks. `devices` are ignored: a value is set when
    it is there."""
    def __init__(self, *, devices: _t.Any = None) -> None: ...
    def add_done_callback(self, callback: _c.Callable[..., _t.Any]) -> None:
        """Call `callback(self)` once this one is done; at once if it is."""
    def done(self) -> _b.bool:
        """Return whether there is a result or an exception."""
    def exception(self, timeout: _b.float | None = None) -> _b.BaseException | None:
        """Return the exception, or None if there is a result, within so many seconds."""
    def result(self, timeout: _b.float | None = None) -> _t.Any:
        """Return the result within so many seconds, as futures of Python do."""
    def set_exception(self, result: _b.BaseException) -> None:
        """Set an exception, which wait() and value() raise."""
    def set_result(self, result: _t.Any) -> None:
        """Set the result."""
    def then(self, callback: _c.Callable[..., _t.Any]) -> Future:
        """Return the future of `callback(self)`, which runs once this one is done."""
    def value(self) -> _t.Any:
        """Return the result of a future that is done."""
    def wait(self) -> _t.Any:
        """Return the result once it exists; raise the exception if there is one."""

class Generator:
    """A stream of random keys; threads may share it."""
    device: _device
    def __init__(self, device: _device | _b.str | _b.int = 'cpu') -> None: ...
    def clone_state(self) -> _t.Any:
        """Return a new generator at the same place."""
    def get_offset(self) -> _b.int:
        """Return the count of keys drawn since the seed was set: one per operator, so counts differ from PyTorch's."""
    def get_state(self) -> Tensor:
        """Return seed and counter as a tensor of 16 bytes."""
    def graphsafe_get_state(self) -> _t.Any:
        """Return a generator at the same place, for `graphsafe_set_state`."""
    def graphsafe_set_state(self, state: _t.Any) -> _t.Any:
        """Move to the place of another generator."""
    def initial_seed(self) -> _b.int:
        """Return the seed of the stream."""
    def key(self) -> Tensor:
        """Return the next key, a u64[2] tensor (seed, counter). A recorder is told, so each run of a trace draws anew."""
    def manual_seed(self, seed: _b.int) -> _t.Self:
        """Start the stream of `seed`; negative seeds count from 2**64 down."""
    @_b.property
    def place(self) -> _b.tuple[_b.int, _b.int]:
        """The seed, and the count of keys drawn under it."""
    def put(self, place: _b.tuple[_b.int, _b.int]) -> None:
        """Move to a place, without telling recorders."""
    def reserve(self, count: _b.int) -> _b.tuple[_b.int, _b.int]:
        """Return the place of the next of `count` keys, all of which count as drawn; recorders are not told."""
    def seed(self) -> _b.int:
        """Seed from the operating system's randomness, and return the seed."""
    def set_offset(self, offset: _b.int) -> None:
        """Move to the place of a get_offset() under the same seed."""
    def set_state(self, state: Tensor) -> _t.Self:
        """Move to the place of a `get_state`."""

class GradScaler:
    """Scaler of losses by a factor that shrinks when gradients overflow and grows while they do not."""
    def __init__(self, device: _device | _b.str | _b.int = 'cuda', init_scale: _b.float = 65536.0,
                 growth_factor: _b.float = 2.0, backoff_factor: _b.float = 0.5, growth_interval: _t.Any = 2000,
                 enabled: _b.bool = True) -> None: ...
    def get_backoff_factor(self) -> _b.float:
        """Return the factor of the scale after an overflow."""
    def get_growth_factor(self) -> _b.float:
        """Return the factor by which the scale grows."""
    def get_growth_interval(self) -> _b.int:
        """Return the number of steps without overflow after which the scale grows."""
    def get_scale(self) -> _b.float:
        """Return the scale; 1 when disabled."""
    def is_enabled(self) -> _b.bool:
        """Return whether scaling is enabled."""
    def load_state_dict(self, state_dict: _b.dict[_t.Any, _t.Any]) -> None:
        """Resume from a state_dict()."""
    def scale(self, outputs: _t.Any) -> _t.Any:
        """Multiply a loss, or losses in lists and tuples, by the scale."""
    def set_backoff_factor(self, new_factor: _b.float) -> None:
        """Set the factor of the scale after an overflow."""
    def set_growth_factor(self, new_factor: _b.float) -> None:
        """Set the factor by which the scale grows."""
    def set_growth_interval(self, new_interval: _b.int) -> None:
        """Set the number of steps without overflow after which the scale grows."""
    def state_dict(self) -> _b.dict[_t.Any, _t.Any]:
        """Return the state to resume from; empty when disabled."""
    def step(self, optimizer: _Optimizer, *args: _t.Any, **kwargs: _t.Any) -> _t.Any:
        """Call optimizer.step(), unless a gradient is not finite. Unscale first if that was not done."""
    def unscale_(self, optimizer: _Optimizer) -> None:
        """Divide the optimizer's gradients by the scale, in place."""
    def update(self, new_scale: _t.Any = None) -> None:
        """Adjust the scale for the next iteration, or set it."""

class HalfStorage:
    """Memory of float16, by its old name."""
    dtype: _dtype

class HalfTensor(Tensor):
    """Tensors of float16, by their old name."""
    tensor_device: _t.Any
    tensor_dtype: _dtype

class IngotError(_b.Exception):
    """Base of all errors that ingot raises on purpose."""
    is_of_earlier_call: _b.bool
    is_of_values: _b.bool

class IntStorage:
    """Memory of int32, by its old name."""
    dtype: _dtype

class IntTensor(Tensor):
    """Tensors of int32, by their old name."""
    tensor_device: _t.Any
    tensor_dtype: _dtype

class LongStorage:
    """Memory of int64, by its old name."""
    dtype: _dtype

class LongTensor(Tensor):
    """Tensors of int64, by their old name."""
    tensor_device: _t.Any
    tensor_dtype: _dtype

class OutOfMemoryError(IngotError, _b.RuntimeError, _b.MemoryError):
    """Memory for a result could not be had."""

class PyTorchFileReader:
    """Type in annotations of PyTorch's file readers. Instances raise and name the replacement."""
    def __init__(self, name_or_buffer: _t.Any) -> None: ...

class ScriptModule(_Module):
    """Base of classes written for TorchScript; calls are plain calls."""

class ShortStorage:
    """Memory of int16, by its old name."""
    dtype: _dtype

class ShortTensor(Tensor):
    """Tensors of int16, by their old name."""
    tensor_device: _t.Any
    tensor_dtype: _dtype

class Size(_b.tuple[_b.int, ...]):
    """A shape: a tuple of ints with `numel()`. Tensors of one integer become ints."""
    def __mul__(self, times: _t.Any) -> Size: ...
    def __radd__(self, other: _t.Any) -> _t.Any: ...
    def __rmul__(self, times: _t.Any) -> Size: ...
    def __add__(self, other: _b.tuple[_t.Any, ...]) -> Size: ...  # type: ignore[override]
    @_t.overload
    def __getitem__(self, key: _t.SupportsIndex) -> _b.int: ...
    @_t.overload
    def __getitem__(self, key: _b.slice) -> Size: ...
    def __init__(self, sizes: _c.Iterable[_t.SupportsIndex] = ()) -> None:
        """Initialize self.  See help(type(self)) for accurate signature."""
    def numel(self) -> _b.int: ...

class StorageBase:
    """Base class of storages."""
    def elements(self, dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any]) -> Tensor:
        """Return the whole memory as a vector."""
    def read_dtype(self, dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any]) -> _dtype:
        """Return the dtype of a tensor made of it, if `dtype` (or None) was requested."""

class Stream:
    """A queue of work on a device: ordered itself, concurrent with other streams."""
    context: _t.Any
    device_index: _device | _b.str | _b.int
    handle: _t.Any
    priority: _b.int
    def __enter__(self) -> _t.Self: ...
    def __eq__(self, other: _t.Any) -> _t.Any: ...
    def __exit__(self, *exc: _t.Any) -> None: ...
    def __hash__(self) -> _b.int: ...
    def __init__(self, device: _device | _b.str | _b.int | None = None, priority: _b.int = 0, *,
                 handle: _b.int | None = None) -> None: ...
    @_b.property
    def cuda_stream(self) -> _b.int: ...
    @_b.property
    def device(self) -> _device: ...
    def finish(self, memory: _t.Any, function: _c.Callable[..., _t.Any], *args: _t.Any) -> None:
        """Call a function that uses memory of the host in this stream, and wait."""
    def finish_interrupted(self, memory: _t.Any) -> None:
        """Wait for a copy of memory of the host whose call was interrupted. If calls wait for a kernel, hold the memory."""
    def is_capturing(self) -> _b.bool:
        """Return whether a graph is captured from the stream."""
    @_b.staticmethod
    def priority_range() -> _b.tuple[_b.int, _b.int]:
        """Return (the least priority, the greatest one); the greatest is the smaller number."""
    def query(self) -> _b.bool:
        """Return whether everything in the stream has run."""
    def record_event(self, event: Event | None = None) -> Event:
        """Record an event at the end of the stream."""
    def synchronize(self) -> None: ...
    def wait_event(self, event: Event) -> None:
        """Make later work in this stream wait for an event."""
    def wait_stream(self, stream: Stream) -> None:
        """Make later work in this stream wait for all current work of another one."""

class SymBool:
    """Type without instances: comparisons of sizes are Python bools, and recordings record their results."""

class SymFloat:
    """A Python float computed from sizes and number arguments."""
    hint: _b.float
    names: _b.frozenset[_t.Any]
    quotient: _t.Any
    scope: _t.Any
    text: _b.str
    def __abs__(self) -> SymFloat: ...
    def __add__(self, other: _t.Any) -> _t.Any: ...
    def __array__(self, dtype: _t.Any = None, copy: _t.Any = None) -> _t.Any: ...
    def __array_ufunc__(self, ufunc: _t.Any, method: _t.Any, *inputs: _t.Any, **kwargs: _t.Any) -> _t.Any: ...
    def __bool__(self) -> _b.bool: ...
    def __ceil__(self) -> _t.Any: ...
    def __complex__(self) -> _b.complex: ...
    def __divmod__(self, other: _t.Any) -> _t.Any: ...
    def __eq__(self, other: _t.Any) -> _t.Any: ...
    def __float__(self) -> _b.float: ...
    def __floor__(self) -> _t.Any: ...
    def __floordiv__(self, other: _t.Any) -> _t.Any: ...
    def __ge__(self, other: _t.Any) -> _t.Any: ...
    def __getattr__(self, name: _b.str) -> _t.Any: ...
    def __gt__(self, other: _t.Any) -> _t.Any: ...
    def __hash__(self) -> _b.int: ...
    def __init__(self, scope: _t.Any, text: _b.str, value: _b.float, names: _b.frozenset[_t.Any],
                 quotient: _t.Any = None) -> None: ...
    def __int__(self) -> _b.int:
        """Return the whole number, on the condition that the value stays between the same integers."""
    def __le__(self, other: _t.Any) -> _t.Any: ...
    def __lt__(self, other: _t.Any) -> _t.Any: ...
    def __mod__(self, other: _t.Any) -> _t.Any: ...
    def __mul__(self, other: _t.Any) -> _t.Any: ...
    def __ne__(self, other: _t.Any) -> _t.Any: ...
    def __neg__(self) -> SymFloat: ...
    def __pos__(self) -> _t.Self: ...
    def __pow__(self, other: _t.Any) -> _t.Any: ...
    def __radd__(self, other: _t.Any) -> _t.Any: ...
    def __rfloordiv__(self, other: _t.Any) -> _t.Any: ...
    def __rmod__(self, other: _t.Any) -> _t.Any: ...
    def __rmul__(self, other: _t.Any) -> _t.Any: ...
    def __round__(self, digits: _t.Any = None) -> _t.Any: ...
    def __rpow__(self, other: _t.Any) -> _t.Any: ...
    def __rsub__(self, other: _t.Any) -> _t.Any: ...
    def __rtruediv__(self, other: _t.Any) -> _t.Any: ...
    def __sub__(self, other: _t.Any) -> _t.Any: ...
    def __truediv__(self, other: _t.Any) -> _t.Any: ...
    def __trunc__(self) -> _t.Any:
        """Return the whole number, on the condition that the value stays between the same integers."""
    def whole(self) -> _t.Any:
        """Return `int` of it as a symbolic integer where it is a quotient of integers; else None."""

class SymInt:
    """An integer computed from named sizes. An int to `isinstance`; C code must convert it, which becomes a condition."""
    poly: _t.Any
    scope: _t.Any
    def __abs__(self) -> _t.Any: ...
    def __add__(self, other: _t.Any) -> _t.Any: ...
    def __and__(self, other: _t.Any) -> _t.Any: ...
    def __array__(self, dtype: _t.Any = None, copy: _t.Any = None) -> _t.Any: ...
    def __array_ufunc__(self, ufunc: _t.Any, method: _t.Any, *inputs: _t.Any, **kwargs: _t.Any) -> _t.Any: ...
    def __bool__(self) -> _b.bool: ...
    def __ceil__(self) -> _t.Self: ...
    def __complex__(self) -> _b.complex: ...
    def __divmod__(self, other: _t.Any) -> _b.tuple[_t.Any, ...]: ...
    def __eq__(self, other: _t.Any) -> _t.Any: ...
    def __float__(self) -> _b.float: ...
    def __floor__(self) -> _t.Self: ...
    def __floordiv__(self, other: _t.Any) -> _t.Any: ...
    def __ge__(self, other: _t.Any) -> _t.Any: ...
    def __getattr__(self, name: _b.str) -> _t.Any: ...
    def __gt__(self, other: _t.Any) -> _t.Any: ...
    def __hash__(self) -> _b.int: ...
    def __index__(self) -> _b.int: ...
    def __init__(self, scope: _t.Any, p: _t.Any) -> None: ...
    def __int__(self) -> _b.int: ...
    def __invert__(self) -> _t.Any: ...
    def __le__(self, other: _t.Any) -> _t.Any: ...
    def __lshift__(self, other: _t.Any) -> _t.Any: ...
    def __lt__(self, other: _t.Any) -> _t.Any: ...
    def __mod__(self, other: _t.Any) -> _t.Any: ...
    def __mul__(self, other: _t.Any) -> _t.Any: ...
    def __ne__(self, other: _t.Any) -> _t.Any: ...
    def __neg__(self) -> _t.Any: ...
    def __or__(self, other: _t.Any) -> _t.Any: ...
    def __pos__(self) -> _t.Self: ...
    def __pow__(self, other: _t.Any, modulus: _t.Any = None) -> _t.Any: ...
    def __radd__(self, other: _t.Any) -> _t.Any: ...
    def __rand__(self, other: _t.Any) -> _t.Any: ...
    def __rdivmod__(self, other: _t.Any) -> _b.tuple[_t.Any, ...]: ...
    def __rfloordiv__(self, other: _t.Any) -> _t.Any: ...
    def __rlshift__(self, other: _t.Any) -> _t.Any: ...
    def __rmod__(self, other: _t.Any) -> _t.Any: ...
    def __rmul__(self, other: _t.Any) -> _t.Any: ...
    def __ror__(self, other: _t.Any) -> _t.Any: ...
    def __round__(self, digits: _t.Any = None) -> _t.Any: ...
    def __rpow__(self, other: _t.Any) -> _t.Any: ...
    def __rrshift__(self, other: _t.Any) -> _t.Any: ...
    def __rshift__(self, other: _t.Any) -> _t.Any: ...
    def __rsub__(self, other: _t.Any) -> _t.Any: ...
    def __rtruediv__(self, other: _t.Any) -> _t.Any: ...
    def __rxor__(self, other: _t.Any) -> _t.Any: ...
    def __sub__(self, other: _t.Any) -> _t.Any: ...
    def __truediv__(self, other: _t.Any) -> _t.Any: ...
    def __trunc__(self) -> _t.Any: ...
    def __xor__(self, other: _t.Any) -> _t.Any: ...
    @_b.property
    def hint(self) -> _b.int:
        """Return the value now, for choices that may turn out either way, without a condition."""
    @_b.property
    def key(self) -> _t.Any:
        """Return the hashable identity of the expression, where its scope allows keys."""
    @_b.property
    def text(self) -> _b.str:
        """Return the expression, as Python and IR text have it."""

class Tag(_enum.Enum):
    core = 0
    cudagraph_unsafe = 1
    data_dependent_output = 2
    dynamic_output_shape = 3
    flexible_layout = 4
    generated = 5
    inplace = 6
    inplace_view = 7
    maybe_aliasing_or_mutating = 8
    needs_contiguous_strides = 9
    needs_exact_strides = 10
    needs_fixed_stride_order = 11
    nondeterministic_bitwise = 12
    nondeterministic_seeded = 13
    out = 14
    out_variant = 15
    pointwise = 16
    pt2_compliant_tag = 17
    reduction = 18
    view_copy = 19

class Tensor:
    """A multi-dimensional array of one dtype that operators can differentiate."""
    @_b.property
    def H(self) -> Tensor:
        """Matrix, transposed and conjugated."""
    @_b.property
    def T(self) -> Tensor:
        """Tensor with all dimensions reversed."""
    def __abs__(self) -> Tensor: ...
    def __add__(self, other: _t.Any) -> Tensor: ...
    def __and__(self, other: _t.Any) -> Tensor: ...
    def __array__(self, dtype: _t.Any = None, copy: _t.Any = None) -> _np.ndarray[_t.Any, _t.Any]: ...
    @_b.property
    def __array_interface__(self) -> _b.dict[_t.Any, _t.Any]:
        """NumPy's description of this tensor's memory."""
    def __array_namespace__(self, *, api_version: _t.Any = None) -> _t.Any:
        """Return the array API namespace, `ingot.array_api`."""
    __array_priority__: _b.int
    def __array_ufunc__(self, ufunc: _t.Any, method: _t.Any, *inputs: _t.Any, out: _t.Any = None, **kwargs: _t.Any) -> Tensor:
        """Run a NumPy universal function with a tensor among its arguments (`__array_ufunc__`)."""
    def __bool__(self) -> _b.bool: ...
    def __buffer__(self, flags: _t.Any) -> _b.memoryview:
        """Return this tensor's memory as a memoryview."""
    def __complex__(self) -> _b.complex: ...
    def __contains__(self, element: _t.Any) -> _b.bool:
        """Return whether some element equals `element`."""
    @_b.property
    def __cuda_array_interface__(self) -> _b.dict[_t.Any, _t.Any]:
        """Description of this tensor's GPU memory for CuPy and Numba, with the stream of its work."""
    def __dlpack__(self, *, stream: _t.Any = None, max_version: _t.Any = None, dl_device: _t.Any = None,
                   copy: _t.Any = None) -> _t.Any:
        """Return a DLPack capsule of this tensor's memory, without a copy unless requested."""
    def __dlpack_device__(self) -> _b.tuple[_t.Any, ...]:
        """Return (device type, index) in DLPack's numbers."""
    def __float__(self) -> _b.float: ...
    def __floordiv__(self, other: _t.Any) -> Tensor: ...
    def __ge__(self, other: _t.Any) -> Tensor: ...
    def __gt__(self, other: _t.Any) -> Tensor: ...
    def __hash__(self) -> _b.int: ...
    def __iadd__(self, other: _t.Any) -> Tensor: ...
    def __iand__(self, other: _t.Any) -> Tensor: ...
    def __ifloordiv__(self, other: _t.Any) -> Tensor: ...
    def __ilshift__(self, other: _t.Any) -> Tensor: ...
    def __imod__(self, other: _t.Any) -> Tensor: ...
    def __imul__(self, other: _t.Any) -> Tensor: ...
    def __index__(self) -> _b.int: ...
    def __int__(self) -> _b.int: ...
    def __invert__(self) -> Tensor: ...
    def __ior__(self, other: _t.Any) -> Tensor: ...
    def __ipow__(self, other: _t.Any) -> Tensor: ...
    def __irshift__(self, other: _t.Any) -> Tensor: ...
    def __isub__(self, other: _t.Any) -> Tensor: ...
    def __itruediv__(self, other: _t.Any) -> Tensor: ...
    def __ixor__(self, other: _t.Any) -> Tensor: ...
    def __le__(self, other: _t.Any) -> Tensor: ...
    def __len__(self) -> _b.int: ...
    def __lshift__(self, other: _t.Any) -> Tensor: ...
    def __lt__(self, other: _t.Any) -> Tensor: ...
    def __matmul__(self, other: _t.Any) -> Tensor: ...
    def __mod__(self, other: _t.Any) -> Tensor: ...
    def __mul__(self, other: _t.Any) -> Tensor: ...
    def __neg__(self) -> Tensor: ...
    def __or__(self, other: _t.Any) -> Tensor: ...
    def __pos__(self) -> Tensor: ...
    def __pow__(self, other: _t.Any) -> Tensor: ...
    def __radd__(self, other: _t.Any) -> Tensor: ...
    def __rand__(self, other: _t.Any) -> Tensor: ...
    def __reversed__(self) -> Tensor:
        """Return the entries along the first dimension in reverse order."""
    def __rfloordiv__(self, other: _t.Any) -> Tensor: ...
    def __rlshift__(self, other: _t.Any) -> Tensor: ...
    def __rmatmul__(self, other: _t.Any) -> Tensor: ...
    def __rmod__(self, other: _t.Any) -> Tensor: ...
    def __rmul__(self, other: _t.Any) -> Tensor: ...
    def __ror__(self, other: _t.Any) -> Tensor: ...
    def __rpow__(self, other: _t.Any) -> Tensor: ...
    def __rrshift__(self, other: _t.Any) -> Tensor: ...
    def __rshift__(self, other: _t.Any) -> Tensor: ...
    def __rsub__(self, other: _t.Any) -> Tensor: ...
    def __rtruediv__(self, other: _t.Any) -> Tensor: ...
    def __rxor__(self, other: _t.Any) -> Tensor: ...
    def __sub__(self, other: _t.Any) -> Tensor: ...
    def __truediv__(self, other: _t.Any) -> Tensor: ...
    def __xor__(self, other: _t.Any) -> Tensor: ...
    def abs(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Return absolute values."""
    def abs_(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of abs()."""
    def absolute(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Return absolute values."""
    def absolute_(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of absolute()."""
    def acos(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Elementwise acos."""
    def acos_(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of acos()."""
    def acosh(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Elementwise acosh."""
    def acosh_(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of acosh()."""
    def add(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *older: _t.Any,
            alpha: Tensor | _b.complex = 1, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Return input + alpha * other."""
    def add_(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *older: _t.Any,
             alpha: Tensor | _b.complex = 1, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of add()."""
    def addbmm(self, batch1: Tensor, batch2: Tensor, *older: _t.Any, beta: Tensor | _b.complex = 1,
               alpha: Tensor | _b.complex = 1, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Return beta * input + alpha * the sum of all products in the batch."""
    def addbmm_(self, batch1: Tensor, batch2: Tensor, *older: _t.Any, beta: Tensor | _b.complex = 1,
                alpha: Tensor | _b.complex = 1, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of addbmm()."""
    def addcdiv(self, tensor1: Tensor, tensor2: Tensor, *older: _t.Any, value: Tensor | _b.complex = 1,
                out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Return input + value * tensor1 / tensor2."""
    def addcdiv_(self, tensor1: Tensor, tensor2: Tensor, *older: _t.Any, value: Tensor | _b.complex = 1,
                 out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of addcdiv()."""
    def addcmul(self, tensor1: Tensor, tensor2: Tensor, *older: _t.Any, value: Tensor | _b.complex = 1,
                out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Return input + value * tensor1 * tensor2."""
    def addcmul_(self, tensor1: Tensor, tensor2: Tensor, *older: _t.Any, value: Tensor | _b.complex = 1,
                 out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of addcmul()."""
    def addmm(self, mat1: Tensor, mat2: Tensor, *older: _t.Any, beta: Tensor | _b.complex = 1,
              alpha: Tensor | _b.complex = 1, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Return beta * input + alpha * mat1 @ mat2."""
    def addmm_(self, mat1: Tensor, mat2: Tensor, *older: _t.Any, beta: Tensor | _b.complex = 1,
               alpha: Tensor | _b.complex = 1, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of addmm()."""
    def addmv(self, mat: Tensor, vec: Tensor, *older: _t.Any, beta: Tensor | _b.complex = 1,
              alpha: Tensor | _b.complex = 1, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Return beta * input + alpha * mat @ vec."""
    def addmv_(self, mat: Tensor, vec: Tensor, *older: _t.Any, beta: Tensor | _b.complex = 1,
               alpha: Tensor | _b.complex = 1, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of addmv()."""
    def addr(self, vec1: Tensor, vec2: Tensor, *older: _t.Any, beta: Tensor | _b.complex = 1,
             alpha: Tensor | _b.complex = 1, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Return beta * input + alpha * outer(vec1, vec2)."""
    def addr_(self, vec1: Tensor, vec2: Tensor, *older: _t.Any, beta: Tensor | _b.complex = 1,
              alpha: Tensor | _b.complex = 1, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of addr()."""
    def adjoint(self) -> Tensor:
        """Swap the last two dimensions, and conjugate complex elements."""
    def all(self, dim: _b.int | _c.Sequence[_b.int] | None = None, keepdim: _b.bool = False, *,
            out: Tensor | _c.Sequence[Tensor] | None = None, axis: _b.int | _c.Sequence[_b.int] | None = None,
            keepdims: _b.bool = False) -> Tensor:
        """Return whether all elements are nonzero (uint8 gives uint8)."""
    def allclose(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], rtol: _b.float = 1e-05,
                 atol: _b.float = 1e-08, equal_nan: _b.bool = False) -> _b.bool:
        """Return whether all elements are close."""
    def amax(self, dim: _b.int | _c.Sequence[_b.int] = (), keepdim: _b.bool = False, *,
             out: Tensor | _c.Sequence[Tensor] | None = None, axis: _b.int | _c.Sequence[_b.int] = (),
             keepdims: _b.bool = False) -> Tensor:
        """Return the largest values over dims; ties share the gradient equally."""
    def amin(self, dim: _b.int | _c.Sequence[_b.int] = (), keepdim: _b.bool = False, *,
             out: Tensor | _c.Sequence[Tensor] | None = None, axis: _b.int | _c.Sequence[_b.int] = (),
             keepdims: _b.bool = False) -> Tensor:
        """Return the smallest values over dims; ties share the gradient equally."""
    def aminmax(self, *, dim: _b.int | _c.Sequence[_b.int] | None = None, keepdim: _b.bool = False,
                out: Tensor | _c.Sequence[Tensor] | None = None, axis: _b.int | _c.Sequence[_b.int] | None = None,
                keepdims: _b.bool = False) -> _aminmax:
        """Return the smallest and largest values as (min, max)."""
    def angle(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Return the angle in the complex plane: for real numbers 0 or, below zero, pi; nan stays nan."""
    def angle_(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of angle()."""
    def any(self, dim: _b.int | _c.Sequence[_b.int] | None = None, keepdim: _b.bool = False, *,
            out: Tensor | _c.Sequence[Tensor] | None = None, axis: _b.int | _c.Sequence[_b.int] | None = None,
            keepdims: _b.bool = False) -> Tensor:
        """Return whether any element is nonzero (uint8 gives uint8)."""
    def apply_(self, callable: _t.Any) -> Tensor:
        """Replace each element by callable(element), with one Python call each."""
    def arccos(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Elementwise acos."""
    def arccos_(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of arccos()."""
    def arccosh(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Elementwise acosh."""
    def arccosh_(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of arccosh()."""
    def arcsin(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Elementwise asin."""
    def arcsin_(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of arcsin()."""
    def arcsinh(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Elementwise asinh."""
    def arcsinh_(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of arcsinh()."""
    def arctan(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Elementwise atan."""
    def arctan2(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
                out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """The angle of the point (x, y), from -pi to pi."""
    def arctan2_(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
                 out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of arctan2()."""
    def arctan_(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of arctan()."""
    def arctanh(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Elementwise atanh."""
    def arctanh_(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of arctanh()."""
    def argmax(self, dim: _b.int | _c.Sequence[_b.int] | None = None, keepdim: _b.bool = False, *,
               out: Tensor | _c.Sequence[Tensor] | None = None, axis: _b.int | _c.Sequence[_b.int] | None = None,
               keepdims: _b.bool = False) -> Tensor:
        """Return the index of the largest element, the first among equals; without dim an index into the flattened tensor."""
    def argmin(self, dim: _b.int | _c.Sequence[_b.int] | None = None, keepdim: _b.bool = False, *,
               out: Tensor | _c.Sequence[Tensor] | None = None, axis: _b.int | _c.Sequence[_b.int] | None = None,
               keepdims: _b.bool = False) -> Tensor:
        """Return the index of the smallest element, the first among equals; without dim an index into the flattened tensor."""
    def argsort(self, dim: _b.int | _c.Sequence[_b.int] = -1, descending: _b.bool = False, stable: _b.bool = True,
                *, out: Tensor | _c.Sequence[Tensor] | None = None, axis: _b.int | _c.Sequence[_b.int] = -1) -> Tensor:
        """Return the indices that sort along a dim. `stable` is ignored: equal elements always keep their order."""
    def argwhere(self) -> Tensor:
        """Return the positions of nonzero elements as rows of a matrix."""
    def as_strided(self, size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
                   stride: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex], storage_offset: _t.Any = None) -> Tensor:
        """Return any strided window over the memory of a tensor."""
    def as_strided_(self, size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
                    stride: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex], storage_offset: _t.Any = None) -> Tensor:
        """Turn this tensor into a strided window over its memory."""
    def as_strided_scatter(self, src: _t.Any, size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
                           stride: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex], storage_offset: _t.Any = None) -> Tensor:
        """Return a copy with src in a strided window over its memory; an expanded input is copied first."""
    def as_subclass(self, cls: _t.Any) -> Tensor:
        """Return a view of the tensor whose class is `cls`, Tensor or one that derives from it."""
    def asin(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Elementwise asin."""
    def asin_(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of asin()."""
    def asinh(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Elementwise asinh."""
    def asinh_(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of asinh()."""
    astype: _AbsentMethod
    def atan(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Elementwise atan."""
    def atan2(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
              out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """The angle of the point (x, y), from -pi to pi."""
    def atan2_(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
               out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of atan2()."""
    def atan_(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of atan()."""
    def atanh(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Elementwise atanh."""
    def atanh_(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of atanh()."""
    @_b.property
    def aval(self) -> _Aval:
        """Shape and dtype, as the compiler sees them."""
    def backward(self, gradient: _t.Any = None, retain_graph: _b.bool | None = None, create_graph: _b.bool = False,
                 inputs: _t.Any = None) -> None:
        """Add the gradients of this tensor to the `.grad` of its leaves."""
    def baddbmm(self, batch1: Tensor, batch2: Tensor, *older: _t.Any, beta: Tensor | _b.complex = 1,
                alpha: Tensor | _b.complex = 1, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Return beta * input + alpha * batch1 @ batch2."""
    def baddbmm_(self, batch1: Tensor, batch2: Tensor, *older: _t.Any, beta: Tensor | _b.complex = 1,
                 alpha: Tensor | _b.complex = 1, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of baddbmm()."""
    def bernoulli(self, p: _t.Any = None, *, generator: Generator | None = None,
                  out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Return 1 with the probability in each element of `input` (or `p` for all), else 0."""
    def bernoulli_(self, *args: _t.Any, **kwargs: _t.Any) -> Tensor:
        """Fill with 1 with probability p (a number or a tensor), else 0."""
    def bfloat16(self, memory_format: _memory_format = ...) -> Tensor:
        """Convert this tensor to bfloat16."""
    def bincount(self, weights: _t.Any = None, minlength: _t.Any = 0) -> Tensor:
        """Count how many times each of 0, 1, 2, ... occurs, or sum the weights of its occurrences."""
    def bitwise_and(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
                    out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Elementwise bitwise_and."""
    def bitwise_and_(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
                     out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of bitwise_and()."""
    def bitwise_left_shift(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
                           out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Elementwise bitwise_left_shift."""
    def bitwise_left_shift_(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
                            out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of bitwise_left_shift()."""
    def bitwise_not(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Elementwise bitwise_not."""
    def bitwise_not_(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of bitwise_not()."""
    def bitwise_or(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
                   out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Elementwise bitwise_or."""
    def bitwise_or_(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
                    out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of bitwise_or()."""
    def bitwise_right_shift(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
                            out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Elementwise bitwise_right_shift."""
    def bitwise_right_shift_(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
                             out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of bitwise_right_shift()."""
    def bitwise_xor(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
                    out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Elementwise bitwise_xor."""
    def bitwise_xor_(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
                     out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of bitwise_xor()."""
    def bmm(self, mat2: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Multiply two equally long batches of matrices."""
    def bool(self, memory_format: _memory_format = ...) -> Tensor:
        """Convert this tensor to bool."""
    def broadcast_to(self, *sizes: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
                     size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] | None = None) -> Tensor:
        """Expand a tensor to a shape."""
    def bucketize(self, boundaries: _t.Any, *, out_int32: _b.bool = False, right: _b.bool = False,
                  out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Return the index of each value's bucket between sorted boundaries."""
    def byte(self, memory_format: _memory_format = ...) -> Tensor:
        """Convert this tensor to uint8."""
    def cauchy_(self, *args: _t.Any, **kwargs: _t.Any) -> Tensor:
        """Fill with Cauchy numbers."""
    def ccol_indices(self, *args: _t.Any) -> Tensor:
        """ccol_indices() of sparse tensors, which have a method of their own; an error for dense ones."""
    def cdouble(self, memory_format: _memory_format = ...) -> Tensor:
        """Convert this tensor to complex128."""
    def ceil(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Elementwise ceil."""
    def ceil_(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of ceil()."""
    def cfloat(self, memory_format: _memory_format = ...) -> Tensor:
        """Convert this tensor to complex64."""
    def char(self, memory_format: _memory_format = ...) -> Tensor:
        """Convert this tensor to int8."""
    def cholesky(self, upper: _b.bool = False, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Return the lower triangular factor of symmetric positive matrices (or its transpose)."""
    def cholesky_inverse(self, upper: _b.bool = False, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Return the inverse of A, from its Cholesky factor."""
    def cholesky_solve(self, L: _t.Any, upper: _b.bool = False, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Return the solution X of A @ X = input, from one triangle of a Cholesky factor of A."""
    def chunk(self, chunks: _b.int, dim: _b.int | _c.Sequence[_b.int] = 0, *,
              axis: _b.int | _c.Sequence[_b.int] = 0) -> _b.tuple[Tensor, ...]:
        """Split a tensor into at most `chunks` pieces of one size (the last may be smaller); return views."""
    def clamp(self, min: Tensor | _b.complex | None = None, max: Tensor | _b.complex | None = None, *,
              out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Limit values to [min, max]; either may be missing, a number or a tensor."""
    def clamp_(self, min: Tensor | _b.complex | None = None, max: Tensor | _b.complex | None = None, *,
               out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of clamp()."""
    def clamp_max(self, max: Tensor | _b.complex, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Lower values above max to max."""
    def clamp_max_(self, max: Tensor | _b.complex, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of clamp_max()."""
    def clamp_min(self, min: Tensor | _b.complex, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Raise values below min to min."""
    def clamp_min_(self, min: Tensor | _b.complex, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of clamp_min()."""
    def clip(self, min: Tensor | _b.complex | None = None, max: Tensor | _b.complex | None = None, *,
             out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Limit values to [min, max]; either may be missing, a number or a tensor."""
    def clip_(self, min: Tensor | _b.complex | None = None, max: Tensor | _b.complex | None = None, *,
              out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of clip()."""
    def clone(self, *, memory_format: _memory_format = ...) -> Tensor:
        """Return a copy in new memory."""
    def coalesce(self, *args: _t.Any) -> Tensor:
        """coalesce() of sparse tensors, which have a method of their own; an error for dense ones."""
    def col_indices(self, *args: _t.Any) -> Tensor:
        """col_indices() of sparse tensors, which have a method of their own; an error for dense ones."""
    def combinations(self, r: _t.Any = 2, with_replacement: _b.bool = False) -> Tensor:
        """Return all combinations of r elements of a vector, as rows."""
    def conj(self) -> Tensor:
        """Return the complex conjugate; a real tensor itself."""
    def conj_physical(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Return the complex conjugate; a real tensor itself."""
    def conj_physical_(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of conj_physical()."""
    def contiguous(self, memory_format: _memory_format = ...) -> Tensor:
        """Return this tensor if its memory is in row-major order (or in the given format), else a copy that is."""
    copy: _AbsentMethod
    def copy_(self, src: _t.Any, non_blocking: _b.bool = False) -> Tensor:
        """Write another tensor or a number into this one, broadcasting and converting it."""
    def copysign(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
                 out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """|x| with the sign of y."""
    def copysign_(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
                  out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of copysign()."""
    def corrcoef(self) -> Tensor:
        """Return correlations between the rows of a matrix, within [-1, 1]."""
    def cos(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Elementwise cos."""
    def cos_(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of cos()."""
    def cosh(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Elementwise cosh."""
    def cosh_(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of cosh()."""
    def count_nonzero(self, dim: _b.int | _c.Sequence[_b.int] | None = None, *more: _t.Any,
                      keepdim: _b.bool = False, axis: _b.int | _c.Sequence[_b.int] | None = None,
                      keepdims: _b.bool = False) -> Tensor:
        """Return the number of nonzero elements, of all or along dims."""
    def cov(self, *, correction: _b.float = 1, fweights: _t.Any = None, aweights: _t.Any = None) -> Tensor:
        """Return covariances between the rows of a matrix; each column is an observation."""
    def cpu(self, memory_format: _memory_format = ...) -> Tensor:
        """Copy this tensor to host memory, if it is not there."""
    def cross(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any],
              dim: _b.int | _c.Sequence[_b.int] | None = None, *, out: Tensor | _c.Sequence[Tensor] | None = None,
              axis: _b.int | _c.Sequence[_b.int] | None = None) -> Tensor:
        """Return the cross product of vectors of 3 along `dim`, by default the first dim of size 3."""
    def crow_indices(self, *args: _t.Any) -> Tensor:
        """crow_indices() of sparse tensors, which have a method of their own; an error for dense ones."""
    def cuda(self, device: _device | _b.str | _b.int | None = None, non_blocking: _b.bool = False,
             memory_format: _memory_format = ...) -> Tensor:
        """Copy this tensor to a CUDA device, if it is not there."""
    @_t.overload
    def cummax(self, dim: _b.int | _c.Sequence[_b.int], *, out: Tensor | _c.Sequence[Tensor] | None = None) -> _cummax:
        """Return the running maximum along a dim and its last position, as (values, indices)."""
    @_t.overload
    def cummax(self, *, axis: _b.int | _c.Sequence[_b.int], out: Tensor | _c.Sequence[Tensor] | None = None) -> _cummax:
        """Return the running maximum along a dim and its last position, as (values, indices)."""
    @_t.overload
    def cummin(self, dim: _b.int | _c.Sequence[_b.int], *, out: Tensor | _c.Sequence[Tensor] | None = None) -> _cummin:
        """Return the running minimum along a dim and its last position, as (values, indices)."""
    @_t.overload
    def cummin(self, *, axis: _b.int | _c.Sequence[_b.int], out: Tensor | _c.Sequence[Tensor] | None = None) -> _cummin:
        """Return the running minimum along a dim and its last position, as (values, indices)."""
    @_t.overload
    def cumprod(self, dim: _b.int | _c.Sequence[_b.int], *,
                dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
                out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Return running products along a dim; integers and bools are multiplied in int64."""
    @_t.overload
    def cumprod(self, *, axis: _b.int | _c.Sequence[_b.int],
                dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
                out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Return running products along a dim; integers and bools are multiplied in int64."""
    @_t.overload
    def cumprod_(self, dim: _b.int | _c.Sequence[_b.int], *,
                 dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
                 out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of cumprod()."""
    @_t.overload
    def cumprod_(self, *, axis: _b.int | _c.Sequence[_b.int],
                 dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
                 out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of cumprod()."""
    @_t.overload
    def cumsum(self, dim: _b.int | _c.Sequence[_b.int], *,
               dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
               out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Return running sums along a dim; integers and bools are summed in int64."""
    @_t.overload
    def cumsum(self, *, axis: _b.int | _c.Sequence[_b.int],
               dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
               out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Return running sums along a dim; integers and bools are summed in int64."""
    @_t.overload
    def cumsum_(self, dim: _b.int | _c.Sequence[_b.int], *,
                dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
                out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of cumsum()."""
    @_t.overload
    def cumsum_(self, *, axis: _b.int | _c.Sequence[_b.int],
                dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
                out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of cumsum()."""
    def data_ptr(self) -> _b.int:
        """Return the address of the first element."""
    def deg2rad(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Convert degrees to radians."""
    def deg2rad_(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of deg2rad()."""
    def dense_dim(self) -> _b.int:
        """Return how many dimensions are dense: all of a dense tensor."""
    def det(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Return the determinant."""
    def detach(self) -> Tensor:
        """Return the same memory without the history."""
    def detach_(self) -> Tensor:
        """Drop this tensor's own history."""
    @_b.property
    def device(self) -> _device:
        """The device that holds this tensor."""
    def diag(self, diagonal: _b.int = 0, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Return a vector as a diagonal matrix, or a copy of a matrix's diagonal."""
    def diag_embed(self, offset: _t.Any = 0, dim1: _b.int = -2, dim2: _b.int = -1, *, axis1: _b.int = -2) -> Tensor:
        """Return zeros with the last dimension on the diagonal of two new ones."""
    def diagflat(self, offset: _t.Any = 0) -> Tensor:
        """Return a diagonal matrix of all elements."""
    def diagonal(self, offset: _t.Any = 0, dim1: _b.int = 0, dim2: _b.int = 1, *, axis1: _b.int = 0) -> Tensor:
        """Return the diagonal of two dimensions, as a new last dimension (a view)."""
    def diagonal_scatter(self, src: _t.Any, offset: _t.Any = 0, dim1: _b.int = 0, dim2: _b.int = 1, *,
                         axis1: _b.int = 0) -> Tensor:
        """Return a copy with src on a diagonal."""
    def diff(self, n: _t.Any = 1, dim: _b.int | _c.Sequence[_b.int] = -1, prepend: _t.Any = None,
             append: _t.Any = None, *, out: Tensor | _c.Sequence[Tensor] | None = None,
             axis: _b.int | _c.Sequence[_b.int] = -1) -> Tensor:
        """Return differences of neighbours along a dim, n times over."""
    def digamma(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Elementwise digamma."""
    def digamma_(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of digamma()."""
    def dim(self) -> _b.int:
        """Return the number of dimensions."""
    def dim_order(self, ambiguity_check: _b.bool = False) -> _b.tuple[_b.int, ...]:
        """Return the dims from the slowest to the fastest in memory. With `ambiguity_check` (True, or a list of memory formats)
        raise if several orders fit, unless the tensor has exactly one of the formats."""
    def dist(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], p: _t.Any = 2) -> Tensor:
        """Return the norm of order p of input - other."""
    def div(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *, rounding_mode: _b.str | None = None,
            out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Return input / other; rounding_mode "floor" or "trunc" rounds the quotient and keeps integers."""
    def div_(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *, rounding_mode: _b.str | None = None,
             out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of div()."""
    def divide(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
               rounding_mode: _b.str | None = None, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Return input / other; rounding_mode "floor" or "trunc" rounds the quotient and keeps integers."""
    def divide_(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
                rounding_mode: _b.str | None = None, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of divide()."""
    def dot(self, tensor: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Return the inner product of two vectors."""
    def double(self, memory_format: _memory_format = ...) -> Tensor:
        """Convert this tensor to float64."""
    def dsplit(self, indices_or_sections: _t.Any) -> _b.tuple[Tensor, ...]:
        """Equal pieces, or pieces cut at the indices listed, as views."""
    @_b.property
    def dtype(self) -> _dtype: ...
    def element_size(self) -> _b.int:
        """Return the bytes of one element."""
    def eq(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
           out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Elementwise eq."""
    def eq_(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
            out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of eq()."""
    def equal(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any]) -> _b.bool:
        """Return whether two tensors have the same shape and elements."""
    def erf(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Elementwise erf."""
    def erf_(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of erf()."""
    def erfc(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Elementwise erfc."""
    def erfc_(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of erfc()."""
    def erfinv(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Elementwise erfinv."""
    def erfinv_(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of erfinv()."""
    def exp(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Elementwise exp."""
    def exp2(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Elementwise exp2."""
    def exp2_(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of exp2()."""
    def exp_(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of exp()."""
    def expand(self, *sizes: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
               size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] | None = None, implicit: _b.bool = False) -> Tensor:
        """Repeat dimensions of size 1 without copying; -1 keeps a size. `implicit` is ignored: it only marks broadcasts for
        PyTorch's own transforms."""
    def expand_as(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any]) -> Tensor: ...
    def expm1(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Elementwise expm1."""
    def expm1_(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of expm1()."""
    def exponential_(self, *args: _t.Any, **kwargs: _t.Any) -> Tensor:
        """Fill with exponential numbers of rate lambd."""
    fill: _AbsentMethod
    def fill_(self, value: Tensor | _b.complex) -> Tensor:
        """Write one value to all elements."""
    def fill_diagonal_(self, fill_value: Tensor | _b.complex, wrap: _b.bool = False) -> Tensor:
        """Write one value on the main diagonal; `wrap` starts it again below the last row of a tall matrix."""
    def fix(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Elementwise trunc."""
    def fix_(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of fix()."""
    flat: _AbsentMethod
    def flatten(self, start_dim: _b.int = 0, end_dim: _b.int = -1) -> Tensor:
        """Merge dims start_dim to end_dim into one."""
    def flip(self, *which: _t.Any, dims: _b.int | _c.Sequence[_b.int] | None = None,
             axis: _b.int | _c.Sequence[_b.int] | None = None) -> Tensor:
        """Reverse the order of elements along dims."""
    def fliplr(self) -> Tensor:
        """Reverse the second dimension."""
    def flipud(self) -> Tensor:
        """Reverse the first dimension."""
    def float(self, memory_format: _memory_format = ...) -> Tensor:
        """Convert this tensor to float32."""
    def float_power(self, exponent: Tensor | _b.complex, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Return input ** exponent in float64, for complex numbers in complex128."""
    def float_power_(self, exponent: Tensor | _b.complex, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of float_power()."""
    def floor(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Elementwise floor."""
    def floor_(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of floor()."""
    def floor_divide(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
                     out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """The quotient rounded down."""
    def floor_divide_(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
                      out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of floor_divide()."""
    def fmax(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
             out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """The larger number; the other one if one is nan."""
    def fmax_(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
              out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of fmax()."""
    def fmin(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
             out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """The smaller number; the other one if one is nan."""
    def fmin_(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
              out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of fmin()."""
    def fmod(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
             out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """x - trunc(x / y) * y, with the sign of x."""
    def fmod_(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
              out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of fmod()."""
    def frac(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """x - trunc(x)"""
    def frac_(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of frac()."""
    def frexp(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> _frexp:
        """Return mantissas with absolute values in [0.5, 1), and their exponents of two."""
    @_t.overload
    def gather(self, dim: _b.int | _c.Sequence[_b.int], index: _t.Any, *, sparse_grad: _b.bool = False,
               out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Pick elements by index along a dimension: out[i][j] = input[index[i][j]][j] for dim 0, and so on. `sparse_grad` is
        ignored: the gradient is dense, with the same values."""
    @_t.overload
    def gather(self, *, axis: _b.int | _c.Sequence[_b.int], index: _t.Any, sparse_grad: _b.bool = False,
               out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Pick elements by index along a dimension: out[i][j] = input[index[i][j]][j] for dim 0, and so on. `sparse_grad` is
        ignored: the gradient is dense, with the same values."""
    def gcd(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
            out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Elementwise gcd."""
    def gcd_(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
             out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of gcd()."""
    def ge(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
           out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Elementwise ge."""
    def ge_(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
            out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of ge()."""
    def geometric_(self, *args: _t.Any, **kwargs: _t.Any) -> Tensor:
        """Fill with the number of trials of probability p until success."""
    def geqrf(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> _geqrf:
        """Return QR like LAPACK's geqrf: R, below it the vectors of Householder reflections, and their factors. No gradient."""
    def ger(self, vec2: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Multiply every element of one vector by every element of another."""
    def get_device(self) -> _b.int:
        """Return the index of the accelerator that holds this tensor, -1 for the CPU."""
    @_b.property
    def grad_fn(self) -> _t.Any:
        """The node that made this tensor, or None for a leaf."""
    def greater(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
                out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Elementwise gt."""
    def greater_(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
                 out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of greater()."""
    def greater_equal(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
                      out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Elementwise ge."""
    def greater_equal_(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
                       out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of greater_equal()."""
    def gt(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
           out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Elementwise gt."""
    def gt_(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
            out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of gt()."""
    def half(self, memory_format: _memory_format = ...) -> Tensor:
        """Convert this tensor to float16."""
    def hardshrink(self, lambd: _b.float = 0.5) -> Tensor:
        """Return 0 where |input| <= lambd, the input elsewhere."""
    def heaviside(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
                  out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Return 0 below zero, 1 above, `other` at zero."""
    def heaviside_(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
                   out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of heaviside()."""
    def histc(self, bins: _t.Any = 100, min: Tensor | _b.complex = 0, max: Tensor | _b.complex = 0, *,
              out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Count elements in equal bins between min and max (the data's range if both are equal), without those outside."""
    def histogram(self, bins: _t.Any = 100, *, range: _t.Any = None, weight: Tensor | None = None,
                  density: _b.bool = False, out: Tensor | _c.Sequence[Tensor] | None = None) -> _histogram:
        """Return (hist, bin_edges): counts or weights between neighbouring edges; the last bin includes its upper edge."""
    def hsplit(self, indices_or_sections: _t.Any) -> _b.tuple[Tensor, ...]:
        """Equal pieces, or pieces cut at the indices listed, as views."""
    def hypot(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
              out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """sqrt(x^2 + y^2), without overflow between."""
    def hypot_(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
               out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of hypot()."""
    def i0(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor: ...
    def i0_(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of i0()."""
    def igamma(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
               out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Return the regularised lower incomplete gamma function. It is the probability that a gamma number of concentration
        `input` is at most `other`."""
    def igamma_(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
                out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of igamma()."""
    def igammac(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
                out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Return the regularised upper incomplete gamma function, 1 - gammainc, accurate where it is small."""
    def igammac_(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
                 out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of igammac()."""
    @_b.property
    def imag(self) -> Tensor:
        """Return the imaginary parts of a complex tensor."""
    @imag.setter
    def imag(self, value: _t.Any) -> None: ...
    @_t.overload
    def index_add(self, dim: _b.int | _c.Sequence[_b.int], index: _t.Any, source: Tensor, *,
                  alpha: Tensor | _b.complex = 1, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Add alpha * source to the slices at the indices of a vector."""
    @_t.overload
    def index_add(self, *, axis: _b.int | _c.Sequence[_b.int], index: _t.Any, source: Tensor,
                  alpha: Tensor | _b.complex = 1, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Add alpha * source to the slices at the indices of a vector."""
    @_t.overload
    def index_add_(self, dim: _b.int | _c.Sequence[_b.int], index: _t.Any, source: Tensor, *,
                   alpha: Tensor | _b.complex = 1, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of index_add()."""
    @_t.overload
    def index_add_(self, *, axis: _b.int | _c.Sequence[_b.int], index: _t.Any, source: Tensor,
                   alpha: Tensor | _b.complex = 1, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of index_add()."""
    @_t.overload
    def index_copy(self, dim: _b.int | _c.Sequence[_b.int], index: _t.Any, source: Tensor, *,
                   out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Replace the slices at the indices of a vector by those of source."""
    @_t.overload
    def index_copy(self, *, axis: _b.int | _c.Sequence[_b.int], index: _t.Any, source: Tensor,
                   out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Replace the slices at the indices of a vector by those of source."""
    @_t.overload
    def index_copy_(self, dim: _b.int | _c.Sequence[_b.int], index: _t.Any, source: Tensor, *,
                    out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of index_copy()."""
    @_t.overload
    def index_copy_(self, *, axis: _b.int | _c.Sequence[_b.int], index: _t.Any, source: Tensor,
                    out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of index_copy()."""
    @_t.overload
    def index_fill(self, dim: _b.int | _c.Sequence[_b.int], index: _t.Any, value: Tensor | _b.complex) -> Tensor:
        """Write one value to the slices at the indices of a vector."""
    @_t.overload
    def index_fill(self, *, axis: _b.int | _c.Sequence[_b.int], index: _t.Any, value: Tensor | _b.complex) -> Tensor:
        """Write one value to the slices at the indices of a vector."""
    @_t.overload
    def index_fill_(self, dim: _b.int | _c.Sequence[_b.int], index: _t.Any, value: Tensor | _b.complex) -> Tensor:
        """In-place version of index_fill()."""
    @_t.overload
    def index_fill_(self, *, axis: _b.int | _c.Sequence[_b.int], index: _t.Any, value: Tensor | _b.complex) -> Tensor:
        """In-place version of index_fill()."""
    def index_put(self, indices: _t.Any, values: _t.Any, accumulate: _b.bool = False) -> Tensor:
        """Return a copy with input[indices] = values (or += if accumulate). Indices are tensors, or None for all of a
        dimension."""
    def index_put_(self, indices: _t.Any, values: _t.Any, accumulate: _b.bool = False) -> Tensor:
        """In-place version of index_put()."""
    @_t.overload
    def index_reduce(self, dim: _b.int | _c.Sequence[_b.int], index: _t.Any, source: Tensor, reduce: _t.Any, *,
                     include_self: _b.bool = True, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Combine slices of source into those at the indices of a vector, by prod, mean, amax or amin."""
    @_t.overload
    def index_reduce(self, *, axis: _b.int | _c.Sequence[_b.int], index: _t.Any, source: Tensor, reduce: _t.Any,
                     include_self: _b.bool = True, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Combine slices of source into those at the indices of a vector, by prod, mean, amax or amin."""
    @_t.overload
    def index_reduce_(self, dim: _b.int | _c.Sequence[_b.int], index: _t.Any, source: Tensor, reduce: _t.Any, *,
                      include_self: _b.bool = True, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of index_reduce()."""
    @_t.overload
    def index_reduce_(self, *, axis: _b.int | _c.Sequence[_b.int], index: _t.Any, source: Tensor, reduce: _t.Any,
                      include_self: _b.bool = True, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of index_reduce()."""
    @_t.overload
    def index_select(self, dim: _b.int | _c.Sequence[_b.int], index: _t.Any, *,
                     out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Return the slices at the indices of a vector along a dimension."""
    @_t.overload
    def index_select(self, *, axis: _b.int | _c.Sequence[_b.int], index: _t.Any,
                     out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Return the slices at the indices of a vector along a dimension."""
    def indices(self, *args: _t.Any) -> Tensor:
        """indices() of sparse tensors, which have a method of their own; an error for dense ones."""
    def inner(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
              out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Sum products over the last dimension of both tensors."""
    def int(self, memory_format: _memory_format = ...) -> Tensor:
        """Convert this tensor to int32."""
    def inverse(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Return the inverse."""
    def is_coalesced(self, *args: _t.Any) -> Tensor:
        """is_coalesced() of sparse tensors, which have a method of their own; an error for dense ones."""
    def is_complex(self) -> _b.bool:
        """Return whether the dtype is a complex dtype."""
    def is_conj(self) -> _b.bool:
        """Return False: conjugation is never lazy."""
    def is_contiguous(self, memory_format: _memory_format = ...) -> _b.bool:
        """Return whether the elements lie in memory in row-major order (or in the given format)."""
    @_b.property
    def is_cpu(self) -> _b.bool:
        """Whether this tensor is on a device of kind cpu."""
    @_b.property
    def is_cuda(self) -> _b.bool:
        """Whether this tensor is on a device of kind cuda."""
    def is_floating_point(self) -> _b.bool:
        """Return whether the dtype is a floating point dtype."""
    @_b.property
    def is_hip(self) -> _b.bool:
        """Whether this tensor is on a device of kind hip."""
    def is_inference(self) -> _b.bool:
        """Return False: tensors of inference mode are ordinary ones, which autograd may use later."""
    is_ipu: _b.bool
    @_b.property
    def is_leaf(self) -> _b.bool: ...
    is_maia: _b.bool
    @_b.property
    def is_meta(self) -> _b.bool:
        """Whether this tensor is on a device of kind meta."""
    is_mkldnn: _b.bool
    @_b.property
    def is_mps(self) -> _b.bool:
        """Whether this tensor is on a device of kind mps."""
    is_mtia: _b.bool
    def is_neg(self) -> _b.bool:
        """Return False: negation is never lazy."""
    is_nested: _b.bool
    def is_nonzero(self) -> _b.bool:
        """Return whether the one element is not zero."""
    def is_pinned(self, device: _device | _b.str | _b.int | None = None) -> _b.bool:
        """Return whether the memory is page-locked. `device` is ignored: pinned memory serves every accelerator."""
    is_quantized: _b.bool
    def is_same_size(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any]) -> _b.bool:
        """Return whether both tensors have the same shape."""
    def is_set_to(self, tensor: Tensor) -> _b.bool:
        """Return whether both tensors are the same window on the same memory."""
    def is_shared(self) -> _b.bool:
        """Return whether other processes can map the memory."""
    def is_signed(self) -> _b.bool:
        """Return whether the dtype has negative values."""
    is_sparse: _b.bool
    is_sparse_csr: _b.bool
    is_vulkan: _b.bool
    is_xla: _b.bool
    @_b.property
    def is_xpu(self) -> _b.bool:
        """Whether this tensor is on a device of kind xpu."""
    def isclose(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], rtol: _b.float = 1e-05,
                atol: _b.float = 1e-08, equal_nan: _b.bool = False) -> Tensor:
        """Return |input - other| <= atol + rtol * |other|, element by element."""
    def isfinite(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Elementwise isfinite."""
    def isfinite_(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of isfinite()."""
    def isinf(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Elementwise isinf."""
    def isinf_(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of isinf()."""
    def isnan(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Elementwise isnan."""
    def isnan_(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of isnan()."""
    def isneginf(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Elementwise isneginf."""
    def isneginf_(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of isneginf()."""
    def isposinf(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Elementwise isposinf."""
    def isposinf_(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of isposinf()."""
    def isreal(self) -> Tensor:
        """Return whether each number has no imaginary part."""
    def istft(self, n_fft: _b.int, hop_length: _b.int | None = None, win_length: _b.int | None = None,
              window: _t.Any = None, center: _b.bool = True, normalized: _b.bool = False, onesided: _t.Any = None,
              length: _t.Any = None, return_complex: _b.bool = False) -> Tensor:
        """Return the best approximation to numbers whose `stft` has these spectra."""
    @_b.property
    def itemsize(self) -> _b.int:
        """Return the bytes of one element."""
    def kron(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
             out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Return the Kronecker product: every element of input times the whole of other."""
    def kthvalue(self, k: _b.int, dim: _b.int | _c.Sequence[_b.int] = -1, keepdim: _b.bool = False, *,
                 out: Tensor | _c.Sequence[Tensor] | None = None, axis: _b.int | _c.Sequence[_b.int] = -1,
                 keepdims: _b.bool = False) -> _kthvalue:
        """Return the k-th smallest element along a dim (counted from 1) and its index, as (values, indices)."""
    layout: _layout
    def lcm(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
            out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Elementwise lcm."""
    def lcm_(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
             out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of lcm()."""
    def ldexp(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
              out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Return input * 2 ** other."""
    def ldexp_(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
               out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of ldexp()."""
    def le(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
           out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Elementwise le."""
    def le_(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
            out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of le()."""
    def lerp(self, end: Tensor | _b.complex, weight: Tensor | _b.float, *,
             out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Return input + weight * (end - input), exact at both ends."""
    def lerp_(self, end: Tensor | _b.complex, weight: Tensor | _b.float, *,
              out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of lerp()."""
    def less(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
             out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Elementwise lt."""
    def less_(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
              out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of less()."""
    def less_equal(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
                   out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Elementwise le."""
    def less_equal_(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
                    out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of less_equal()."""
    def lgamma(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Elementwise lgamma."""
    def lgamma_(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of lgamma()."""
    def log(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Elementwise log."""
    def log10(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Elementwise log10."""
    def log10_(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of log10()."""
    def log1p(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Elementwise log1p."""
    def log1p_(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of log1p()."""
    def log2(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Elementwise log2."""
    def log2_(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of log2()."""
    def log_(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of log()."""
    def log_normal_(self, *args: _t.Any, **kwargs: _t.Any) -> Tensor:
        """Fill with numbers whose logarithm is normal."""
    @_t.overload
    def log_softmax(self, dim: _b.int | _c.Sequence[_b.int],
                    dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None, *,
                    out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Return log(softmax(x)) along a dimension."""
    @_t.overload
    def log_softmax(self, *, axis: _b.int | _c.Sequence[_b.int],
                    dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
                    out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Return log(softmax(x)) along a dimension."""
    def logaddexp(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
                  out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """log(exp(x) + exp(y)), without overflow."""
    def logaddexp2(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
                   out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Elementwise logaddexp2."""
    def logaddexp2_(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
                    out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of logaddexp2()."""
    def logaddexp_(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
                   out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of logaddexp()."""
    @_t.overload
    def logcumsumexp(self, dim: _b.int | _c.Sequence[_b.int], *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Return the log of the running sum of exp(input) along a dim."""
    @_t.overload
    def logcumsumexp(self, *, axis: _b.int | _c.Sequence[_b.int], out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Return the log of the running sum of exp(input) along a dim."""
    def logdet(self) -> Tensor:
        """Return the log of the determinant; nan where it is negative, complex for complex matrices."""
    def logical_and(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
                    out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Elementwise logical_and."""
    def logical_and_(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
                     out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of logical_and()."""
    def logical_not(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Elementwise logical_not."""
    def logical_not_(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of logical_not()."""
    def logical_or(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
                   out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Elementwise logical_or."""
    def logical_or_(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
                    out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of logical_or()."""
    def logical_xor(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
                    out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Elementwise logical_xor."""
    def logical_xor_(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
                     out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of logical_xor()."""
    def logit(self, eps: _t.Any = None, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Return log(x / (1 - x)). If eps is given, x is limited to [eps, 1 - eps] first; eps wins where the limits cross."""
    def logit_(self, eps: _t.Any = None, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of logit()."""
    @_t.overload
    def logsumexp(self, dim: _b.int | _c.Sequence[_b.int], keepdim: _b.bool = False, *,
                  out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Return the log of the sum of exp(input) over dims, without overflow."""
    @_t.overload
    def logsumexp(self, *, axis: _b.int | _c.Sequence[_b.int], keepdims: _b.bool = False,
                  out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Return the log of the sum of exp(input) over dims, without overflow."""
    def long(self, memory_format: _memory_format = ...) -> Tensor:
        """Convert this tensor to int64."""
    def lt(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
           out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Elementwise lt."""
    def lt_(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
            out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of lt()."""
    def lu(self, pivot: _b.bool = True, get_infos: _b.bool = False,
           out: Tensor | _c.Sequence[Tensor] | None = None) -> _b.tuple[Tensor, ...]:
        """Return lu_factor's result as a tuple; with get_infos also the position of a zero on U's diagonal (0 if there is
        none)."""
    def lu_solve(self, LU_data: Tensor, LU_pivots: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Return X with A @ X = b, from lu_factor's result for A."""
    @_b.property
    def mH(self) -> Tensor:
        """Tensor with the last two dimensions swapped, conjugated."""
    @_b.property
    def mT(self) -> Tensor:
        """Tensor with the last two dimensions swapped."""
    def map2_(self, x: _t.Any, y: _t.Any, callable: _t.Any) -> Tensor:
        """Replace each element a by callable(a, b, c), with b and c from tensors that broadcast and one Python call each."""
    def map_(self, tensor: _t.Any, callable: _t.Any) -> Tensor:
        """Replace each element a by callable(a, b), with b from a tensor that broadcasts and one Python call each."""
    def masked_fill(self, mask: Tensor, value: Tensor | _b.complex) -> Tensor:
        """Replace elements by `value` where the mask is true."""
    def masked_fill_(self, mask: Tensor, value: Tensor | _b.complex) -> Tensor:
        """In-place version of masked_fill()."""
    def masked_scatter(self, mask: Tensor, source: Tensor) -> Tensor:
        """Replace the elements where the mask is true by those of source, in order."""
    def masked_scatter_(self, mask: Tensor, source: Tensor) -> Tensor:
        """In-place version of masked_scatter()."""
    def masked_select(self, mask: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Return the elements where the (broadcast) mask is true, as a vector."""
    def matmul(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
               out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Multiply vectors, matrices, and batches of matrices that broadcast."""
    def matrix_exp(self) -> Tensor:
        """Return the exponential of a matrix, by its series after halving, squared back; float16 and bfloat16 are rounded
        once."""
    def matrix_power(self, n: _t.Any, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Return an integer power of A; a negative power is one of the inverse."""
    def maximum(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
                out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """The larger number; nan if one is nan."""
    def maximum_(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
                 out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of maximum()."""
    def mean(self, dim: _b.int | _c.Sequence[_b.int] | None = None, keepdim: _b.bool = False, *,
             dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
             out: Tensor | _c.Sequence[Tensor] | None = None, axis: _b.int | _c.Sequence[_b.int] | None = None,
             keepdims: _b.bool = False) -> Tensor:
        """Return the mean over dims (all by default)."""
    def minimum(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
                out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """The smaller number; nan if one is nan."""
    def minimum_(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
                 out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of minimum()."""
    def mm(self, mat2: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Multiply two matrices."""
    def mode(self, dim: _b.int | _c.Sequence[_b.int] = -1, keepdim: _b.bool = False, *,
             out: Tensor | _c.Sequence[Tensor] | None = None, axis: _b.int | _c.Sequence[_b.int] = -1,
             keepdims: _b.bool = False) -> _mode:
        """Return the most frequent value along a dim (the smallest among equals) and its last index, as (values, indices)."""
    def moveaxis(self, source: Tensor, destination: _t.Any) -> Tensor:
        """Move dimensions to other positions; the rest keeps its order."""
    def movedim(self, source: Tensor, destination: _t.Any) -> Tensor:
        """Move dimensions to other positions; the rest keeps its order."""
    def msort(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Sort along the first dim."""
    def mul(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
            out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Return input * other."""
    def mul_(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
             out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of mul()."""
    def multinomial(self, num_samples: _b.int, replacement: _b.bool = False, *, generator: Generator | None = None,
                    out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Draw indices with the given weights, from each row."""
    def multiply(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
                 out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Return input * other."""
    def multiply_(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
                  out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of multiply()."""
    def mv(self, vec: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Multiply a matrix by a vector."""
    def mvlgamma(self, p: _t.Any, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Return the logarithm of the multivariate gamma function of dimension p."""
    def mvlgamma_(self, p: _t.Any, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of mvlgamma()."""
    def nan_to_num(self, nan: _t.Any = None, posinf: _t.Any = None, neginf: _t.Any = None, *,
                   out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Replace nan (by 0) and infinities (by the largest finite numbers, unless given). Complex numbers are replaced part by
        part; those with such a part have no gradient."""
    def nan_to_num_(self, nan: _t.Any = None, posinf: _t.Any = None, neginf: _t.Any = None, *,
                    out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of nan_to_num()."""
    def nanmean(self, dim: _b.int | _c.Sequence[_b.int] | None = None, keepdim: _b.bool = False, *,
                dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
                out: Tensor | _c.Sequence[Tensor] | None = None, axis: _b.int | _c.Sequence[_b.int] | None = None,
                keepdims: _b.bool = False) -> Tensor:
        """Return the mean over dims of the elements that are not nan."""
    def nanquantile(self, q: _t.Any, dim: _b.int | _c.Sequence[_b.int] | None = None, keepdim: _b.bool = False, *,
                    interpolation: _b.str = 'linear', out: Tensor | _c.Sequence[Tensor] | None = None,
                    axis: _b.int | _c.Sequence[_b.int] | None = None, keepdims: _b.bool = False) -> Tensor:
        """Return the q-th quantiles of elements that are not nan."""
    def nansum(self, dim: _b.int | _c.Sequence[_b.int] | None = None, keepdim: _b.bool = False, *,
               dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
               out: Tensor | _c.Sequence[Tensor] | None = None, axis: _b.int | _c.Sequence[_b.int] | None = None,
               keepdims: _b.bool = False) -> Tensor:
        """Sum over dims, counting nan as 0."""
    @_t.overload
    def narrow(self, dim: _b.int | _c.Sequence[_b.int], start: Tensor | _b.complex, length: _t.Any) -> Tensor:
        """Return a view of `length` indices from `start` along a dimension."""
    @_t.overload
    def narrow(self, *, axis: _b.int | _c.Sequence[_b.int], start: Tensor | _b.complex, length: _t.Any) -> Tensor:
        """Return a view of `length` indices from `start` along a dimension."""
    @_t.overload
    def narrow_copy(self, dim: _b.int | _c.Sequence[_b.int], start: Tensor | _b.complex, length: _t.Any) -> Tensor:
        """Return a view of `length` indices from `start` along a dimension. A copy."""
    @_t.overload
    def narrow_copy(self, *, axis: _b.int | _c.Sequence[_b.int], start: Tensor | _b.complex, length: _t.Any) -> Tensor:
        """Return a view of `length` indices from `start` along a dimension. A copy."""
    @_b.property
    def nbytes(self) -> _b.int:
        """Return the bytes of all elements."""
    @_b.property
    def ndim(self) -> _b.int: ...
    def ndimension(self) -> _b.int:
        """Return the number of dimensions."""
    def ne(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
           out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Elementwise ne."""
    def ne_(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
            out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of ne()."""
    def neg(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Elementwise neg."""
    def neg_(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of neg()."""
    def negative(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Elementwise neg."""
    def negative_(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of negative()."""
    def nelement(self) -> _b.int:
        """Return the number of elements."""
    def new(self, *data: _t.Any, device: _device | _b.str | _b.int | None = None, size: _t.Any = None) -> Tensor:
        """Return a tensor of this dtype: uninitialised of given sizes, or with given values."""
    def new_empty(self, *sizes: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
                  size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] | None = None,
                  dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
                  device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False,
                  layout: _layout | None = None, pin_memory: _b.bool = False) -> Tensor:
        """Return a tensor without defined values, with this tensor's dtype."""
    def new_empty_strided(self, size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
                          stride: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex], *,
                          dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
                          layout: _layout | None = None, device: _device | _b.str | _b.int | None = None,
                          requires_grad: _b.bool = False, pin_memory: _b.bool = False) -> Tensor:
        """Return an empty tensor with given strides; its default dtype is this tensor's."""
    def new_full(self, size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex], fill_value: Tensor | _b.complex, *,
                 dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
                 device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False,
                 layout: _layout | None = None, pin_memory: _b.bool = False) -> Tensor:
        """Return a tensor of one value with this tensor's dtype."""
    def new_ones(self, *sizes: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
                 size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] | None = None,
                 dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
                 device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False,
                 layout: _layout | None = None, pin_memory: _b.bool = False) -> Tensor:
        """Return ones with this tensor's dtype."""
    def new_tensor(self, data: _t.Any, *,
                   dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
                   device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False,
                   layout: _layout | None = None, pin_memory: _b.bool = False) -> Tensor:
        """Return a copy of data with this tensor's dtype."""
    def new_zeros(self, *sizes: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
                  size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] | None = None,
                  dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
                  device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False,
                  layout: _layout | None = None, pin_memory: _b.bool = False) -> Tensor:
        """Return zeros with this tensor's dtype."""
    def nextafter(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
                  out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """The next number after x in the direction of y."""
    def nextafter_(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
                   out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of nextafter()."""
    def nonzero_static(self, *, size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
                       fill_value: Tensor | _b.complex = -1, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Return the first `size` positions of nonzero elements, as rows, padded by rows of fill_value."""
    def norm(self, p: _t.Any = 'fro', dim: _b.int | _c.Sequence[_b.int] | None = None, keepdim: _b.bool = False,
             out: Tensor | _c.Sequence[Tensor] | None = None,
             dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None, *,
             axis: _b.int | _c.Sequence[_b.int] | None = None, keepdims: _b.bool = False) -> Tensor:
        """Return the vector norm of order p over dims (by default all), or matrix norms 'fro' and 'nuc'; this is
        `ingot.norm`."""
    def normal_(self, *args: _t.Any, **kwargs: _t.Any) -> Tensor:
        """Fill with normal numbers."""
    def not_equal(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
                  out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Elementwise ne."""
    def not_equal_(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
                   out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of not_equal()."""
    def numel(self) -> _b.int:
        """Return the number of elements."""
    def numpy(self, *, force: _b.bool = False) -> _np.ndarray[_t.Any, _t.Any]:
        """Return the memory as a NumPy array, without a copy."""
    def orgqr(self, tau: _t.Any, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Return the first columns of the product of Householder reflections in geqrf's form."""
    def ormqr(self, tau: _t.Any, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], left: _b.bool = True,
              transpose: _b.bool = False, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Multiply Q (its adjoint with `transpose`), given by Householder reflections, by a matrix, or the matrix by Q."""
    def outer(self, vec2: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Multiply every element of one vector by every element of another."""
    @_b.property
    def output_nr(self) -> _b.int: ...
    def permute(self, *order: _b.int | _c.Sequence[_b.int], dims: _b.int | _c.Sequence[_b.int] | None = None,
                axis: _b.int | _c.Sequence[_b.int] | None = None) -> Tensor:
        """Reorder the dimensions."""
    def pin_memory(self, device: _device | _b.str | _b.int | None = None) -> Tensor:
        """Copy this tensor to page-locked memory, so that transfers to an accelerator are asynchronous. Without one return
        it."""
    def pinverse(self, rcond: _b.float = 1e-15) -> Tensor:
        """Return the pseudo-inverse; singular values at most rcond times the largest count as 0."""
    def polygamma(self, n: _t.Any) -> Tensor:
        """Return the n-th derivative of digamma."""
    def polygamma_(self, n: _t.Any) -> Tensor:
        """In-place version of polygamma()."""
    def positive(self) -> Tensor:
        """Return the tensor itself; raise for bool."""
    def pow(self, exponent: Tensor | _b.complex, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Return input ** exponent."""
    def pow_(self, exponent: Tensor | _b.complex, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of pow()."""
    def prelu(self, weight: Tensor) -> Tensor:
        """Return the input above 0, weight * input below; the weight is one number or one for each channel (dimension 1)."""
    def prod(self, dim: _b.int | _c.Sequence[_b.int] | None = None, keepdim: _b.bool = False, *,
             dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
             out: Tensor | _c.Sequence[Tensor] | None = None, axis: _b.int | _c.Sequence[_b.int] | None = None,
             keepdims: _b.bool = False) -> Tensor:
        """Multiply elements over a dim (all by default); integers and bools are multiplied in int64."""
    ptp: _AbsentMethod
    def put(self, index: _t.Any, source: Tensor, accumulate: _b.bool = False) -> Tensor:
        """Write (or add) source at positions of the flattened tensor."""
    def put_(self, index: _t.Any, source: Tensor, accumulate: _b.bool = False) -> Tensor:
        """In-place version of put()."""
    def qr(self, some: _b.bool = True, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Return Q and R with Q @ R = input, reduced unless `some` is False."""
    def quantile(self, q: _t.Any, dim: _b.int | _c.Sequence[_b.int] | None = None, keepdim: _b.bool = False, *,
                 interpolation: _b.str = 'linear', out: Tensor | _c.Sequence[Tensor] | None = None,
                 axis: _b.int | _c.Sequence[_b.int] | None = None, keepdims: _b.bool = False) -> Tensor:
        """Return the q-th quantiles (a number or a row of them), of everything or along a dim; nan if an element is nan."""
    def rad2deg(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Convert radians to degrees."""
    def rad2deg_(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of rad2deg()."""
    def random_(self, *args: _t.Any, **kwargs: _t.Any) -> Tensor:
        """Fill with uniform integers in [from, to): random_(to), random_(from, to); by default all that the dtype holds
        exactly."""
    def ravel(self) -> Tensor:
        """Return all elements in row-major order as a vector; a view where possible."""
    @_b.property
    def real(self) -> Tensor:
        """Return the real parts; a real tensor itself."""
    @real.setter
    def real(self, value: _t.Any) -> None: ...
    def reciprocal(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Elementwise reciprocal."""
    def reciprocal_(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of reciprocal()."""
    def record_stream(self, stream: _t.Any) -> Tensor:
        """Keep the memory of this tensor from reuse until work in a stream is done."""
    def register_hook(self, hook: _t.Any) -> _RemovableHandle:
        """Call hook(grad) whenever a gradient of this tensor has been computed; a tensor it returns replaces the gradient."""
    def register_post_accumulate_grad_hook(self, hook: _t.Any) -> _RemovableHandle:
        """Call hook(tensor) after a gradient was accumulated into this leaf's `.grad`."""
    def relu(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """max(input, 0)"""
    def relu_(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of relu()."""
    def remainder(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
                  out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """x - floor(x / y) * y, with the sign of y."""
    def remainder_(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
                   out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of remainder()."""
    @_t.overload
    def renorm(self, p: _t.Any, dim: _b.int | _c.Sequence[_b.int], maxnorm: _t.Any, *,
               out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Scale each slice along `dim` down to a norm of at most maxnorm."""
    @_t.overload
    def renorm(self, p: _t.Any, *, axis: _b.int | _c.Sequence[_b.int], maxnorm: _t.Any,
               out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Scale each slice along `dim` down to a norm of at most maxnorm."""
    @_t.overload
    def renorm_(self, p: _t.Any, dim: _b.int | _c.Sequence[_b.int], maxnorm: _t.Any, *,
                out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of renorm()."""
    @_t.overload
    def renorm_(self, p: _t.Any, *, axis: _b.int | _c.Sequence[_b.int], maxnorm: _t.Any,
                out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of renorm()."""
    def repeat(self, *sizes: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
               repeats: Tensor | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] | None = None) -> Tensor:
        """Repeat the tensor, `sizes` times along each dimension."""
    def repeat_interleave(self, repeats: Tensor | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] | None = None,
                          dim: _b.int | _c.Sequence[_b.int] | None = None, *,
                          output_size: _b.int | _c.Sequence[_b.int | None] | None = None,
                          axis: _b.int | _c.Sequence[_b.int] | None = None) -> Tensor:
        """Repeat each element (or each index along a dimension) several times in a row. Counts alone give each index that many
        times."""
    def reshape(self, *sizes: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
                shape: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] | None = None) -> Tensor:
        """Return the elements in another shape: a view where strides allow, else a copy."""
    def reshape_as(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any]) -> Tensor: ...
    def resize_(self, *sizes: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
                memory_format: _memory_format | None = None) -> Tensor:
        """Change the shape, over the same memory from this tensor's first element on, or over more of it. New elements are
        zeros."""
    def resize_as_(self, the_template: Tensor, memory_format: _memory_format | None = None) -> Tensor:
        """Resize to another tensor's shape; with `preserve_format` also to its order of dims."""
    def resize_as_sparse_(self, the_template: Tensor) -> Tensor:
        """Take over the size of a sparse tensor; raise for dense ones."""
    def resolve_conj(self) -> Tensor:
        """Return the tensor itself: conjugation is never lazy."""
    def resolve_neg(self) -> Tensor:
        """Return the tensor itself: negation is never lazy."""
    def retain_grad(self) -> None:
        """Keep the gradient of this non-leaf tensor in `.grad`."""
    @_b.property
    def retains_grad(self) -> _b.bool:
        """Return whether retain_grad() was called on this tensor."""
    def roll(self, shifts: _t.Any, dims: _b.int | _c.Sequence[_b.int] | None = None, *,
             axis: _b.int | _c.Sequence[_b.int] | None = None) -> Tensor:
        """Shift elements along dims, cyclically."""
    def rot90(self, k: _b.int = 1, dims: _b.int | _c.Sequence[_b.int] = ..., *,
              axis: _b.int | _c.Sequence[_b.int] = ...) -> Tensor:
        """Rotate by 90 degrees k times in the plane of two dims."""
    def round(self, *, decimals: _b.int = 0, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Round to `decimals` places, halves to even."""
    def round_(self, *, decimals: _b.int = 0, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of round()."""
    def row_indices(self, *args: _t.Any) -> Tensor:
        """row_indices() of sparse tensors, which have a method of their own; an error for dense ones."""
    def rsqrt(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Elementwise rsqrt."""
    def rsqrt_(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of rsqrt()."""
    @_t.overload
    def scatter(self, dim: _b.int | _c.Sequence[_b.int], index: _t.Any, src: _t.Any = None, *,
                value: Tensor | _b.complex | None = None, reduce: _t.Any = None,
                out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Write src at indices along a dimension: out[index[i][j]][j] = src[i][j] for dim 0, and so on. `reduce` "add" or
        "multiply" combines src with the input instead."""
    @_t.overload
    def scatter(self, *, axis: _b.int | _c.Sequence[_b.int], index: _t.Any, src: _t.Any = None,
                value: Tensor | _b.complex | None = None, reduce: _t.Any = None,
                out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Write src at indices along a dimension: out[index[i][j]][j] = src[i][j] for dim 0, and so on. `reduce` "add" or
        "multiply" combines src with the input instead."""
    @_t.overload
    def scatter_(self, dim: _b.int | _c.Sequence[_b.int], index: _t.Any, src: _t.Any = None, *,
                 value: Tensor | _b.complex | None = None, reduce: _t.Any = None,
                 out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of scatter()."""
    @_t.overload
    def scatter_(self, *, axis: _b.int | _c.Sequence[_b.int], index: _t.Any, src: _t.Any = None,
                 value: Tensor | _b.complex | None = None, reduce: _t.Any = None,
                 out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of scatter()."""
    @_t.overload
    def scatter_add(self, dim: _b.int | _c.Sequence[_b.int], index: _t.Any, src: _t.Any, *,
                    out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Add src at indices along a dimension: out[index[i][j]][j] += src[i][j] for dim 0, and so on."""
    @_t.overload
    def scatter_add(self, *, axis: _b.int | _c.Sequence[_b.int], index: _t.Any, src: _t.Any,
                    out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Add src at indices along a dimension: out[index[i][j]][j] += src[i][j] for dim 0, and so on."""
    @_t.overload
    def scatter_add_(self, dim: _b.int | _c.Sequence[_b.int], index: _t.Any, src: _t.Any, *,
                     out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of scatter_add()."""
    @_t.overload
    def scatter_add_(self, *, axis: _b.int | _c.Sequence[_b.int], index: _t.Any, src: _t.Any,
                     out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of scatter_add()."""
    @_t.overload
    def scatter_reduce(self, dim: _b.int | _c.Sequence[_b.int], index: _t.Any, src: _t.Any, reduce: _t.Any, *,
                       include_self: _b.bool = True, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Scatter src and combine it by sum, prod, mean, amax or amin; without `include_self` the input takes no part."""
    @_t.overload
    def scatter_reduce(self, *, axis: _b.int | _c.Sequence[_b.int], index: _t.Any, src: _t.Any, reduce: _t.Any,
                       include_self: _b.bool = True, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Scatter src and combine it by sum, prod, mean, amax or amin; without `include_self` the input takes no part."""
    @_t.overload
    def scatter_reduce_(self, dim: _b.int | _c.Sequence[_b.int], index: _t.Any, src: _t.Any, reduce: _t.Any, *,
                        include_self: _b.bool = True, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of scatter_reduce()."""
    @_t.overload
    def scatter_reduce_(self, *, axis: _b.int | _c.Sequence[_b.int], index: _t.Any, src: _t.Any, reduce: _t.Any,
                        include_self: _b.bool = True, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of scatter_reduce()."""
    def searchsorted(self, input: Tensor, *, out_int32: _b.bool = False, right: _b.bool = False,
                     side: _t.Any = None, sorter: Tensor | None = None,
                     out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Return where each value would be inserted into sorted rows: before its equals, or after them when `right`."""
    @_t.overload
    def select(self, dim: _b.int | _c.Sequence[_b.int], index: _t.Any) -> Tensor:
        """Return a view of one index along a dimension, which disappears."""
    @_t.overload
    def select(self, *, axis: _b.int | _c.Sequence[_b.int], index: _t.Any) -> Tensor:
        """Return a view of one index along a dimension, which disappears."""
    @_t.overload
    def select_scatter(self, src: _t.Any, dim: _b.int | _c.Sequence[_b.int], index: _t.Any) -> Tensor:
        """Return a copy with src at one index along a dimension."""
    @_t.overload
    def select_scatter(self, src: _t.Any, *, axis: _b.int | _c.Sequence[_b.int], index: _t.Any) -> Tensor:
        """Return a copy with src at one index along a dimension."""
    def set_(self, source: Tensor | None = None, storage_offset: _t.Any = 0,
             size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] | None = None,
             stride: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] | None = None) -> Tensor:
        """Make this tensor a window on another tensor's memory or a storage; on none without a source. The window is the whole
        memory, or starts at an offset and has these sizes and strides (row-major by default)."""
    def sgn(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Return the sign; for a complex number the point at distance 1 from 0 in its direction."""
    def sgn_(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of sgn()."""
    @_b.property
    def shape(self) -> Size: ...
    def share_memory_(self) -> Tensor:
        """Move the memory of this tensor and its aliases to where other processes can map it. Device memory stays."""
    def short(self, memory_format: _memory_format = ...) -> Tensor:
        """Convert this tensor to int16."""
    def sigmoid(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Elementwise sigmoid."""
    def sigmoid_(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of sigmoid()."""
    def sign(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """-1, 0 or 1; 0 for nan."""
    def sign_(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of sign()."""
    def signbit(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Elementwise signbit."""
    def signbit_(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of signbit()."""
    def sin(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Elementwise sin."""
    def sin_(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of sin()."""
    def sinc(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """sin(pi x) / (pi x)"""
    def sinc_(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of sinc()."""
    def sinh(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Elementwise sinh."""
    def sinh_(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of sinh()."""
    def slice_inverse(self, src: _t.Any, dim: _b.int | _c.Sequence[_b.int] = 0,
                      start: Tensor | _b.complex | None = None, end: Tensor | _b.complex | None = None,
                      step: _t.Any = 1, *, axis: _b.int | _c.Sequence[_b.int] = 0) -> Tensor:
        """Return the window over input's memory with the sizes and strides of src. `dim`, `start`, `end` and `step` are
        ignored: sizes, strides and offset of src say it all."""
    def slice_scatter(self, src: _t.Any, dim: _b.int | _c.Sequence[_b.int] = 0,
                      start: Tensor | _b.complex | None = None, end: Tensor | _b.complex | None = None,
                      step: _t.Any = 1, *, out: Tensor | _c.Sequence[Tensor] | None = None,
                      axis: _b.int | _c.Sequence[_b.int] = 0) -> Tensor:
        """Return a copy with src in a slice along a dimension."""
    def slogdet(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> _slogdet:
        """Return sign and logarithm of the absolute value of the determinant."""
    def smm(self, mat: Tensor) -> Tensor:
        """Return a sparse matrix times a dense one as a sparse matrix, with all of each row in which the first has entries."""
    @_t.overload
    def softmax(self, dim: _b.int | _c.Sequence[_b.int],
                dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None, *,
                out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Return exp(x) / sum(exp(x)) along a dimension."""
    @_t.overload
    def softmax(self, *, axis: _b.int | _c.Sequence[_b.int],
                dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
                out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Return exp(x) / sum(exp(x)) along a dimension."""
    def sort(self, dim: _b.int | _c.Sequence[_b.int] = -1, descending: _b.bool = False, stable: _b.bool = True, *,
             out: Tensor | _c.Sequence[Tensor] | None = None, axis: _b.int | _c.Sequence[_b.int] = -1) -> _sort:
        """Sort along a dim; return (values, indices). `stable` is ignored: equal elements always keep their order."""
    def sparse_dim(self) -> _b.int:
        """Return how many dimensions are sparse: none of a dense tensor."""
    def sparse_mask(self, mask: Tensor) -> Tensor:
        """Return the values of a tensor at the positions of a sparse one."""
    def sparse_resize_(self, *args: _t.Any) -> Tensor:
        """sparse_resize_() of sparse tensors, which have a method of their own; an error for dense ones."""
    def sparse_resize_and_clear_(self, *args: _t.Any) -> Tensor:
        """sparse_resize_and_clear_() of sparse tensors, which have a method of their own; an error for dense ones."""
    def split(self, split_size_or_sections: _b.int | _c.Sequence[_b.int],
              dim: _b.int | _c.Sequence[_b.int] = 0, *, axis: _b.int | _c.Sequence[_b.int] = 0) -> _b.tuple[Tensor, ...]:
        """Split a tensor into pieces of one size (the last may be smaller) or of the sizes listed; return views."""
    def split_with_sizes(self, split_sizes: _t.Any, dim: _b.int | _c.Sequence[_b.int] = 0, *,
                         axis: _b.int | _c.Sequence[_b.int] = 0) -> _b.tuple[Tensor, ...]:
        """Split a tensor into pieces of the sizes listed; return views."""
    def sqrt(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Elementwise sqrt."""
    def sqrt_(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of sqrt()."""
    def square(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Return input * input; bool counts as int64."""
    def square_(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of square()."""
    def squeeze(self, dim: _b.int | _c.Sequence[_b.int] | None = None, *more: _t.Any,
                axis: _b.int | _c.Sequence[_b.int] | None = None) -> Tensor:
        """Remove dimensions of size 1 (all, or those named)."""
    def squeeze_(self, *args: _t.Any, **kwargs: _t.Any) -> Tensor:
        """In-place version of squeeze()."""
    def sspaddmm(self, mat1: Tensor, mat2: Tensor, *, beta: Tensor | _b.complex = 1, alpha: Tensor | _b.complex = 1,
                 out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Return beta * input + alpha * (mat1 @ mat2), all sparse but mat2."""
    def std(self, dim: _b.int | _c.Sequence[_b.int] | None = None, unbiased: _b.bool | None = None,
            keepdim: _b.bool = False, *, correction: _b.float | None = None,
            out: Tensor | _c.Sequence[Tensor] | None = None, axis: _b.int | _c.Sequence[_b.int] | None = None,
            keepdims: _b.bool = False) -> Tensor:
        """Return the standard deviation over dims, divided by the count less `correction` (1 by default)."""
    def stft(self, n_fft: _b.int, hop_length: _b.int | None = None, win_length: _b.int | None = None,
             window: _t.Any = None, center: _b.bool = True, pad_mode: _b.str = 'reflect',
             normalized: _b.bool = False, onesided: _t.Any = None, return_complex: _t.Any = None,
             align_to_window: _t.Any = None) -> Tensor:
        """Return the spectra of windows of n_fft numbers, hop_length apart: (..., frequencies, windows)."""
    def storage(self) -> TypedStorage:
        """Return the memory of the tensor, counted in elements."""
    def storage_offset(self) -> _b.int:
        """Return the number of elements in the storage before this tensor's first."""
    def sub(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *older: _t.Any,
            alpha: Tensor | _b.complex = 1, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Return input - alpha * other."""
    def sub_(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *older: _t.Any,
             alpha: Tensor | _b.complex = 1, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of sub()."""
    def subtract(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *older: _t.Any,
                 alpha: Tensor | _b.complex = 1, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Return input - alpha * other."""
    def subtract_(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *older: _t.Any,
                  alpha: Tensor | _b.complex = 1, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of subtract()."""
    def sum(self, dim: _b.int | _c.Sequence[_b.int] | None = None, keepdim: _b.bool = False, *,
            dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
            out: Tensor | _c.Sequence[Tensor] | None = None, axis: _b.int | _c.Sequence[_b.int] | None = None,
            keepdims: _b.bool = False) -> Tensor:
        """Sum over dims (all by default); integers and bools are summed in int64."""
    def sum_to_size(self, *size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex]) -> Tensor:
        """Sum over the dimensions that broadcasting from `size` to this shape would repeat."""
    def svd(self, some: _b.bool = True, compute_uv: _b.bool = True, *,
            out: Tensor | _c.Sequence[Tensor] | None = None) -> _svd_uv:
        """Return U, S, V with U @ diag(S) @ V.mH = input, reduced unless `some` is False; without compute_uv, U and V are
        zeros."""
    @_t.overload
    def swapaxes(self, dim0: _b.int, dim1: _b.int | None = None) -> Tensor:
        """Swap two dimensions, or reorder all by one tuple, as in NumPy."""
    @_t.overload
    def swapaxes(self, *, axis0: _b.int, axis1: _b.int | None = None) -> Tensor:
        """Swap two dimensions, or reorder all by one tuple, as in NumPy."""
    def swapaxes_(self, *args: _t.Any, **kwargs: _t.Any) -> Tensor:
        """In-place version of transpose()."""
    @_t.overload
    def swapdims(self, dim0: _b.int, dim1: _b.int | None = None) -> Tensor:
        """Swap two dimensions, or reorder all by one tuple, as in NumPy."""
    @_t.overload
    def swapdims(self, *, axis0: _b.int, axis1: _b.int | None = None) -> Tensor:
        """Swap two dimensions, or reorder all by one tuple, as in NumPy."""
    def swapdims_(self, *args: _t.Any, **kwargs: _t.Any) -> Tensor:
        """In-place version of transpose()."""
    def t(self) -> Tensor:
        """Transpose a matrix; tensors with fewer dimensions stay as they are."""
    def t_(self, *args: _t.Any, **kwargs: _t.Any) -> Tensor:
        """In-place version of t()."""
    def take(self, index: _t.Any, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Return the elements at positions of the flattened tensor, in the shape of index."""
    def take_along_dim(self, indices: _t.Any, dim: _b.int | _c.Sequence[_b.int] | None = None, *,
                       out: Tensor | _c.Sequence[Tensor] | None = None,
                       axis: _b.int | _c.Sequence[_b.int] | None = None) -> Tensor:
        """Pick elements along a dimension by indices that broadcast with the other dimensions."""
    def tan(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Elementwise tan."""
    def tan_(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of tan()."""
    def tanh(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Elementwise tanh."""
    def tanh_(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of tanh()."""
    def tensor_split(self, indices_or_sections: _t.Any, dim: _b.int | _c.Sequence[_b.int] = 0, *,
                     axis: _b.int | _c.Sequence[_b.int] = 0) -> _b.tuple[Tensor, ...]:
        """Split a tensor into `n` pieces whose sizes differ by at most one, or at the indices listed; return views."""
    def tile(self, *sizes: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
             dims: _b.int | _c.Sequence[_b.int] | None = None, axis: _b.int | _c.Sequence[_b.int] | None = None) -> Tensor:
        """Repeat the tensor; missing leading counts are 1."""
    def to(self, *args: _t.Any, dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
           device: _device | _b.str | _b.int | None = None, non_blocking: _b.bool = False, copy: _b.bool = False,
           memory_format: _memory_format = ...) -> Tensor:
        """Convert this tensor to another dtype or device: to(dtype), to(device, dtype) or to(other)."""
    def to_dense(self, dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None, *,
                 masked_grad: _t.Any = None) -> Tensor:
        """Return this dense tensor, in a dtype if given. `masked_grad` is ignored: a dense tensor has no mask."""
    def to_device(self, device: _device | _b.str | _b.int, /, *, stream: _t.Any = None) -> Tensor:
        """Move this tensor to a device."""
    def to_sparse(self, sparse_dim: _t.Any = None, *, layout: _layout | None = None, blocksize: _t.Any = None,
                  dense_dim: _t.Any = None) -> Tensor:
        """Return the nonzero entries as a sparse tensor of a layout."""
    def to_sparse_bsc(self, blocksize: _t.Any, dense_dim: _t.Any = None) -> Tensor:
        """Return the nonzero blocks of matrices in compressed columns."""
    def to_sparse_bsr(self, blocksize: _t.Any, dense_dim: _t.Any = None) -> Tensor:
        """Return the nonzero blocks of matrices in compressed rows."""
    def to_sparse_coo(self, sparse_dim: _t.Any = None, *, layout: _layout | None = None, blocksize: _t.Any = None,
                      dense_dim: _t.Any = None) -> Tensor:
        """Return the nonzero entries as a sparse tensor of a layout."""
    def to_sparse_csc(self, dense_dim: _t.Any = None) -> Tensor:
        """Return the nonzero entries of matrices in compressed columns."""
    def to_sparse_csr(self, dense_dim: _t.Any = None) -> Tensor:
        """Return the nonzero entries of matrices in compressed rows."""
    def topk(self, k: _b.int, dim: _b.int | _c.Sequence[_b.int] = -1, largest: _b.bool = True,
             sorted: _b.bool = True, *, out: Tensor | _c.Sequence[Tensor] | None = None,
             axis: _b.int | _c.Sequence[_b.int] = -1) -> _topk:
        """Return the k largest (or smallest) elements along a dim, in order, as (values, indices); the first among equals."""
    tostring: _AbsentMethod
    def trace(self) -> Tensor:
        """Return the sum of a matrix's diagonal."""
    @_t.overload
    def transpose(self, dim0: _b.int, dim1: _b.int | None = None) -> Tensor:
        """Swap two dimensions, or reorder all by one tuple, as in NumPy."""
    @_t.overload
    def transpose(self, *, axis0: _b.int, axis1: _b.int | None = None) -> Tensor:
        """Swap two dimensions, or reorder all by one tuple, as in NumPy."""
    def transpose_(self, *args: _t.Any, **kwargs: _t.Any) -> Tensor:
        """In-place version of transpose()."""
    def triangular_solve(self, A: Tensor, upper: _b.bool = True, transpose: _b.bool = False,
                         unitriangular: _b.bool = False, *,
                         out: Tensor | _c.Sequence[Tensor] | None = None) -> _triangular_solve:
        """Return X with A @ X = b (or A^T @ X = b), from one triangle of A, and a copy of A; newer: linalg.solve_triangular."""
    def tril(self, diagonal: _b.int = 0, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Return a copy with zeros above a diagonal."""
    def tril_(self, diagonal: _b.int = 0, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of tril()."""
    def triu(self, diagonal: _b.int = 0, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Return a copy with zeros below a diagonal."""
    def triu_(self, diagonal: _b.int = 0, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of triu()."""
    def true_divide(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
                    out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Return input / other."""
    def true_divide_(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
                     out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of true_divide()."""
    def trunc(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Elementwise trunc."""
    def trunc_(self, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of trunc()."""
    def type_as(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any]) -> Tensor:
        """Convert this tensor to the dtype and device of another one."""
    def unbind(self, dim: _b.int | _c.Sequence[_b.int] = 0, *, axis: _b.int | _c.Sequence[_b.int] = 0) -> _b.tuple[Tensor, ...]:
        """Return a view for every index along a dimension."""
    @_t.overload
    def unflatten(self, dim: _b.int | _c.Sequence[_b.int], sizes: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex]) -> Tensor:
        """Split one dimension into several."""
    @_t.overload
    def unflatten(self, *, axis: _b.int | _c.Sequence[_b.int],
                  sizes: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex]) -> Tensor:
        """Split one dimension into several."""
    def unfold(self, dimension: _t.Any, size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex], step: _t.Any) -> Tensor:
        """Return windows of `size` every `step` along a dimension, as a new last dimension."""
    def uniform_(self, *args: _t.Any, **kwargs: _t.Any) -> Tensor:
        """Fill with uniform numbers in [from, to); both parts of complex numbers."""
    def unique_consecutive(self, return_inverse: _b.bool = False, return_counts: _b.bool = False,
                           dim: _b.int | _c.Sequence[_b.int] | None = None, *,
                           axis: _b.int | _c.Sequence[_b.int] | None = None) -> _t.Any:
        """Drop repeats of a neighbour; also return indices into the result and run lengths if requested."""
    def unsafe_chunk(self, chunks: _b.int, dim: _b.int | _c.Sequence[_b.int] = 0, *,
                     axis: _b.int | _c.Sequence[_b.int] = 0) -> _b.tuple[Tensor, ...]:
        """Same as chunk()."""
    def unsafe_split(self, split_size: _t.Any, dim: _b.int | _c.Sequence[_b.int] = 0, *,
                     axis: _b.int | _c.Sequence[_b.int] = 0) -> _b.tuple[Tensor, ...]:
        """Same as split()."""
    def unsafe_split_with_sizes(self, split_sizes: _t.Any, dim: _b.int | _c.Sequence[_b.int] = 0, *,
                                axis: _b.int | _c.Sequence[_b.int] = 0) -> _b.tuple[Tensor, ...]:
        """Same as split_with_sizes()."""
    @_t.overload
    def unsqueeze(self, dim: _b.int | _c.Sequence[_b.int]) -> Tensor:
        """Insert a dimension of size 1 at `dim`."""
    @_t.overload
    def unsqueeze(self, *, axis: _b.int | _c.Sequence[_b.int]) -> Tensor:
        """Insert a dimension of size 1 at `dim`."""
    def unsqueeze_(self, *args: _t.Any, **kwargs: _t.Any) -> Tensor:
        """In-place version of unsqueeze()."""
    def untyped_storage(self) -> UntypedStorage:
        """Return the memory of the tensor, as bytes."""
    def values(self, *args: _t.Any) -> Tensor:
        """values() of sparse tensors, which have a method of their own; an error for dense ones."""
    def var(self, dim: _b.int | _c.Sequence[_b.int] | None = None, unbiased: _b.bool | None = None,
            keepdim: _b.bool = False, *, correction: _b.float | None = None,
            out: Tensor | _c.Sequence[Tensor] | None = None, axis: _b.int | _c.Sequence[_b.int] | None = None,
            keepdims: _b.bool = False) -> Tensor:
        """Return the variance over dims, divided by the count less `correction` (1 by default)."""
    def vdot(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
             out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """Return the inner product of two vectors, the first one conjugated."""
    def view_as(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any]) -> Tensor: ...
    def vsplit(self, indices_or_sections: _t.Any) -> _b.tuple[Tensor, ...]:
        """Equal pieces, or pieces cut at the indices listed, as views."""
    def where(self, condition: _t.Any, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any]) -> Tensor:
        """Return self where the condition is true, other elsewhere."""
    def xlogy(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
              out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """x log y; 0 where x is 0, unless y is nan."""
    def xlogy_(self, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
               out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
        """In-place version of xlogy()."""
    def zero_(self) -> Tensor:
        """Write zeros to all elements."""
    def __eq__(self, other: _t.Any) -> Tensor: ...  # type: ignore[override]
    def __getitem__(self, key: _t.Any) -> Tensor:
        """Return x[key]: a view for ints, slices, None and Ellipsis; a copy once masks or index tensors take part."""
    def __init__(self, *data: _t.Any, device: _device | _b.str | _b.int | None = None) -> None: ...
    def __iter__(self) -> _c.Iterator[Tensor]:
        """Iterate over the entries along the first dimension."""
    def __ne__(self, other: _t.Any) -> Tensor: ...  # type: ignore[override]
    def __setitem__(self, key: _t.Any, value: _t.Any) -> None:
        """Write x[key] = value, broadcasting and converting the value."""
    data: Tensor
    grad: Tensor | None
    def item(self) -> _Number:
        """Return the one element as a Python number."""
    @_t.overload
    def max(self, *, out: Tensor | None = None) -> Tensor: ...
    @_t.overload
    def max(self, dim: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @_t.overload
    def max(self, *, other: Tensor, out: Tensor | None = None) -> Tensor: ...
    @_t.overload
    def max(self, dim: _b.int, keepdim: _b.bool = False, *, out: _c.Sequence[Tensor] | None = None) -> _max: ...
    @_t.overload
    def max(self, *, axis: _b.int, keepdims: _b.bool = False, keepdim: _b.bool = False,
            out: _c.Sequence[Tensor] | None = None) -> _max:
        """Return the largest element; along `dim` as (values, indices); with a second tensor the elementwise maximum."""
    @_t.overload
    def median(self, *, out: Tensor | None = None) -> Tensor: ...
    @_t.overload
    def median(self, dim: _b.int, keepdim: _b.bool = False, *, out: _c.Sequence[Tensor] | None = None) -> _median: ...
    @_t.overload
    def median(self, *, axis: _b.int, keepdims: _b.bool = False, keepdim: _b.bool = False,
               out: _c.Sequence[Tensor] | None = None) -> _median:
        """Return the lower median of everything, or along a dim as (values, indices); nan if an element is nan."""
    @_t.overload
    def min(self, *, out: Tensor | None = None) -> Tensor: ...
    @_t.overload
    def min(self, dim: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @_t.overload
    def min(self, *, other: Tensor, out: Tensor | None = None) -> Tensor: ...
    @_t.overload
    def min(self, dim: _b.int, keepdim: _b.bool = False, *, out: _c.Sequence[Tensor] | None = None) -> _min: ...
    @_t.overload
    def min(self, *, axis: _b.int, keepdims: _b.bool = False, keepdim: _b.bool = False,
            out: _c.Sequence[Tensor] | None = None) -> _min:
        """Return the smallest element; along `dim` as (values, indices); with a second tensor the elementwise minimum."""
    @_t.overload
    def nanmedian(self, *, out: Tensor | None = None) -> Tensor: ...
    @_t.overload
    def nanmedian(self, dim: _b.int, keepdim: _b.bool = False, *, out: _c.Sequence[Tensor] | None = None) -> _nanmedian: ...
    @_t.overload
    def nanmedian(self, *, axis: _b.int, keepdims: _b.bool = False, keepdim: _b.bool = False,
                  out: _c.Sequence[Tensor] | None = None) -> _nanmedian:
        """Return the lower median of elements that are not nan, of everything or along a dim as (values, indices)."""
    @_t.overload
    def nonzero(self, *, out: Tensor | None = None, as_tuple: _t.Literal[False] = False) -> Tensor: ...
    @_t.overload
    def nonzero(self, *, as_tuple: _t.Literal[True]) -> _b.tuple[Tensor, ...]:
        """Return the positions of nonzero elements: rows of a matrix, or one vector for each dimension."""
    requires_grad: _b.bool
    def requires_grad_(self, requires_grad: _b.bool = True) -> _t.Self:
        """Start (or stop) collecting a gradient for this leaf; after a restart, earlier histories and hooks count again."""
    @_t.overload
    def size(self, dim: None = None) -> Size: ...
    @_t.overload
    def size(self, dim: _b.int) -> _b.int: ...
    @_t.overload
    def size(self, *, axis: _b.int) -> _b.int:
        """Return the shape, or the size of one dimension."""
    @_t.overload
    def stride(self, dim: None = None) -> _b.tuple[_b.int, ...]: ...
    @_t.overload
    def stride(self, dim: _b.int) -> _b.int:
        """Return the number of elements between neighbours along each dimension (or one)."""
    def tolist(self) -> _b.list[_t.Any]:
        """Return nested lists of Python numbers."""
    @_t.overload
    def type(self, dtype: None = None, non_blocking: _b.bool = False) -> _b.str: ...
    @_t.overload
    def type(self, dtype: _t.Any, non_blocking: _b.bool = False) -> Tensor:
        """Return the name of this tensor's type, or convert the tensor to a dtype or to the type of such a name."""
    @_t.overload
    def unique(self, sorted: _b.bool = True, return_inverse: _t.Literal[False] = False,
               return_counts: _t.Literal[False] = False, dim: _b.int | None = None) -> Tensor: ...
    @_t.overload
    def unique(self, sorted: _b.bool = True, *, return_inverse: _t.Literal[True], return_counts: _t.Literal[True],
               dim: _b.int | None = None) -> _b.tuple[Tensor, Tensor, Tensor]: ...
    @_t.overload
    def unique(self, sorted: _b.bool = True, *, return_inverse: _t.Literal[True],
               return_counts: _t.Literal[False] = False, dim: _b.int | None = None) -> _b.tuple[Tensor, Tensor]: ...
    @_t.overload
    def unique(self, sorted: _b.bool = True, *, return_inverse: _t.Literal[False] = False,
               return_counts: _t.Literal[True], dim: _b.int | None = None) -> _b.tuple[Tensor, Tensor]: ...
    @_t.overload
    def unique(self, sorted: _b.bool = True, return_inverse: _b.bool = False, return_counts: _b.bool = False,
               dim: _b.int | None = None) -> _t.Any:
        """Return the sorted distinct values (of slices along `dim`), with indices into them and counts if requested. `sorted` is ignored: False allows any order, this one too."""
    def view(self, *shape: _t.Any, dtype: _t.Any = None, size: _t.Any = None) -> Tensor:
        """Return a view in another shape, or, given a dtype, with the memory read as that dtype. Raise where the strides do not fit."""

class TensorType:
    """Type of tensors in annotations of PyTorch's scripts."""

class TypedStorage(UntypedStorage):
    """Memory of a tensor, counted in its elements."""
    def __init__(self, tensor: Tensor | _b.int | _c.Sequence[_t.Any] = 0, *,
                 dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
                 wrap_storage: _t.Any = None) -> None: ...
    def __len__(self) -> _b.int:
        """Return the number of elements."""
    def bfloat16(self) -> TypedStorage:
        """The elements as bfloat16."""
    def bool(self) -> TypedStorage:
        """The elements as bool."""
    def byte(self) -> TypedStorage:
        """The elements as uint8."""
    def char(self) -> TypedStorage:
        """The elements as int8."""
    def complex_double(self) -> TypedStorage:
        """The elements as complex128."""
    def complex_float(self) -> TypedStorage:
        """The elements as complex64."""
    def double(self) -> TypedStorage:
        """The elements as float64."""
    @_b.property
    def dtype(self) -> _t.Any: ...
    def element_size(self) -> _b.int: ...
    def float(self) -> TypedStorage:
        """The elements as float32."""
    def half(self) -> TypedStorage:
        """The elements as float16."""
    def int(self) -> TypedStorage:
        """The elements as int32."""
    def long(self) -> TypedStorage:
        """The elements as int64."""
    def read_dtype(self, dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any]) -> _dtype:
        """Return the dtype of the elements; raise if another one is requested."""
    def short(self) -> TypedStorage:
        """The elements as int16."""
    def size(self) -> _b.int:
        """Return the number of elements."""
    def type(self, dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
             non_blocking: _b.bool = False) -> _t.Any:
        """Return the old type name, or convert the elements: to a dtype, an old type, or its name. `non_blocking` is ignored:
        the elements are there when this returns."""
    def untyped(self) -> UntypedStorage:
        """Return the same memory as bytes."""

class UntypedStorage(StorageBase):
    """Memory of a tensor and all its aliases, as bytes."""
    def __eq__(self, other: _t.Any) -> _t.Any: ...
    def __getitem__(self, index: _t.Any) -> _t.Any: ...
    def __hash__(self) -> _b.int: ...
    def __init__(self, tensor: Tensor | _b.int | _c.Sequence[_t.Any] = 0) -> None: ...
    def __iter__(self) -> _c.Iterator[_t.Any]: ...
    def __len__(self) -> _b.int:
        """Return the number of bytes."""
    def __setitem__(self, index: _t.Any, value: _t.Any) -> None: ...
    def clone(self) -> _t.Any:
        """Return a copy in new memory."""
    def copy_(self, source: Tensor, non_blocking: _b.bool = False) -> _t.Self:
        """Copy the values of another storage of this size. `non_blocking` is ignored: the copy is there when this returns."""
    def cpu(self) -> _t.Any:
        """Return this storage, or a host copy of a device's."""
    def data_ptr(self) -> _b.int:
        """Return the address of the first byte; 0 if there is none."""
    @_b.property
    def device(self) -> _t.Any: ...
    def element_size(self) -> _b.int: ...
    def elements(self, dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any]) -> Tensor:
        """Return the whole memory as a vector of a dtype."""
    def fill_(self, value: Tensor | _b.complex) -> _t.Self:
        """Write one value to all elements."""
    def flat(self) -> Tensor:
        """Return all bytes, or all elements, as a tensor on this device; on the host without a copy."""
    @_b.classmethod
    def from_buffer(cls, buffer: _t.Any, byte_order: _b.str = 'native',
                    dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] = ...) -> _t.Any:
        """Return a copy of an object's buffer as numbers of a dtype."""
    @_b.classmethod
    def from_file(cls, filename: _t.Any, shared: _b.bool = False, nbytes: _t.Any = 0) -> _t.Any:
        """Map the bytes of a file. If `shared`, writes reach the file, which grows to the size. Otherwise they change only the
        tensors over this memory."""
    @_b.property
    def is_cuda(self) -> _b.bool: ...
    def is_shared(self) -> _b.bool:
        """Return whether other processes see the memory."""
    def nbytes(self) -> _b.int:
        """Return the number of bytes."""
    def read_dtype(self, dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any]) -> _dtype:
        """Return the dtype that the bytes are read as: the requested one, by default uint8."""
    def resize_(self, size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex]) -> _t.Any:
        """Raise: ingot frees memory when the last tensor that uses it is gone."""
    def share_memory_(self) -> _t.Self:
        """Move the memory to where other processes can map it."""
    def size(self) -> _b.int:
        """Return the number of bytes."""
    def tolist(self) -> _b.list[_t.Any]:
        """Return all bytes, or all elements, as a list."""
    def untyped(self) -> _t.Self: ...

def _assert(condition: _t.Any, message: _t.Any) -> None:
    """Raise AssertionError unless a condition holds; vision libraries use it."""
def _assert_async(input: _t.Any, assert_msg: _t.Any = None) -> None:
    """Raise RuntimeError unless a tensor of one element is true. The check is synchronous."""
def _cast_Byte(input: _t.Any, non_blocking: _b.bool = False) -> _t.Any:
    """Return a tensor as ingot.uint8."""
def _cast_Char(input: _t.Any, non_blocking: _b.bool = False) -> _t.Any:
    """Return a tensor as ingot.int8."""
def _cast_Double(input: _t.Any, non_blocking: _b.bool = False) -> _t.Any:
    """Return a tensor as ingot.float64."""
def _cast_Float(input: _t.Any, non_blocking: _b.bool = False) -> _t.Any:
    """Return a tensor as ingot.float32."""
def _cast_Half(input: _t.Any, non_blocking: _b.bool = False) -> _t.Any:
    """Return a tensor as ingot.float16."""
def _cast_Int(input: _t.Any, non_blocking: _b.bool = False) -> _t.Any:
    """Return a tensor as ingot.int32."""
def _cast_Long(input: _t.Any, non_blocking: _b.bool = False) -> _t.Any:
    """Return a tensor as ingot.int64."""
def _cast_Short(input: _t.Any, non_blocking: _b.bool = False) -> _t.Any:
    """Return a tensor as ingot.int16."""
def _check(cond: _t.Any, message: _t.Any = None) -> None: ...
def _check_index(cond: _t.Any, message: _t.Any = None) -> None: ...
def _check_is_size(i: _t.Any, message: _t.Any = None, *, max: _t.Any = None) -> None:
    """Raise RuntimeError unless a number can be a size, up to `max`."""
def _check_not_implemented(cond: _t.Any, message: _t.Any = None) -> None: ...
def _check_tensor_all(cond: _t.Any, message: _t.Any = None) -> None:
    """Raise RuntimeError unless all elements of a boolean tensor are true."""
def _check_tensor_all_with(error_type: _t.Any, cond: _t.Any, message: _t.Any = None) -> None:
    """Raise an error of the given class unless all elements of a boolean tensor are true."""
def _check_type(cond: _t.Any, message: _t.Any = None) -> None: ...
def _check_value(cond: _t.Any, message: _t.Any = None) -> None: ...
def _check_with(error_type: _t.Any, cond: _t.Any, message: _t.Any = None) -> None:
    """Raise an error of the given class unless a condition holds."""
def _convert_indices_from_coo_to_csr(input: Tensor, size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex], *,
                                     out_int32: _b.bool = False) -> Tensor:
    """Return row starts for entries with sorted rows, and the end of the last row."""
def _convert_indices_from_csr_to_coo(crow_indices: _t.Any, col_indices: _t.Any, *, out_int32: _b.bool = False,
                                     transpose: _b.bool = False) -> Tensor:
    """Return the row and column of each entry from row starts; the column first if transposed."""
def _foreach_abs(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """abs() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_abs_(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """abs_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_acos(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """acos() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_acos_(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """acos_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_add(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """add() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_add_(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """add_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_addcdiv(self: _t.Any, tensor1: _t.Any, tensor2: _t.Any, scalars: _t.Any = None, *,
                     value: _t.Any = 1) -> _b.tuple[_t.Any, ...]:
    """addcdiv() of each tensor of a list, with one factor for all or one for each."""
def _foreach_addcdiv_(self: _t.Any, tensor1: _t.Any, tensor2: _t.Any, scalars: _t.Any = None, *,
                      value: _t.Any = 1) -> _t.Any:
    """addcdiv_() of each tensor of a list, with one factor for all or one for each."""
def _foreach_addcmul(self: _t.Any, tensor1: _t.Any, tensor2: _t.Any, scalars: _t.Any = None, *,
                     value: _t.Any = 1) -> _b.tuple[_t.Any, ...]:
    """addcmul() of each tensor of a list, with one factor for all or one for each."""
def _foreach_addcmul_(self: _t.Any, tensor1: _t.Any, tensor2: _t.Any, scalars: _t.Any = None, *,
                      value: _t.Any = 1) -> _t.Any:
    """addcmul_() of each tensor of a list, with one factor for all or one for each."""
def _foreach_asin(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """asin() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_asin_(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """asin_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_atan(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """atan() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_atan_(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """atan_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_ceil(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """ceil() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_ceil_(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """ceil_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_clamp_max(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """clamp_max() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_clamp_max_(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """clamp_max_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_clamp_min(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """clamp_min() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_clamp_min_(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """clamp_min_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_clone(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """clone() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_copy_(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """copy_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_cos(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """cos() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_cos_(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """cos_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_cosh(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """cosh() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_cosh_(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """cosh_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_div(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """div() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_div_(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """div_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_erf(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """erf() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_erf_(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """erf_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_erfc(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """erfc() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_erfc_(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """erfc_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_exp(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """exp() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_exp_(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """exp_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_expm1(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """expm1() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_expm1_(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """expm1_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_floor(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """floor() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_floor_(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """floor_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_frac(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """frac() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_frac_(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """frac_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_lerp(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """lerp() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_lerp_(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """lerp_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_lgamma(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """lgamma() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_lgamma_(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """lgamma_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_log(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """log() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_log10(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """log10() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_log10_(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """log10_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_log1p(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """log1p() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_log1p_(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """log1p_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_log2(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """log2() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_log2_(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """log2_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_log_(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """log_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_max(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """max() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_maximum(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """maximum() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_maximum_(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """maximum_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_minimum(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """minimum() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_minimum_(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """minimum_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_mm(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """mm() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_mul(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """mul() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_mul_(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """mul_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_neg(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """neg() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_neg_(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """neg_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_norm(self: _t.Any, ord: _t.Any = 2,
                  dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None) -> _b.tuple[_t.Any, ...]:
    """Return the vector norm of each tensor of a list."""
def _foreach_pow(self: _t.Any, exponent: _t.Any) -> _t.Any:
    """Return each tensor of a list to a power; of a number, its powers with each tensor."""
def _foreach_pow_(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """pow_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_powsum(self: _t.Any, ord: _t.Any = 2,
                    dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None) -> _b.tuple[_t.Any, ...]:
    """Return the sum of |x| ** ord over each tensor of a list."""
def _foreach_reciprocal(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """reciprocal() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_reciprocal_(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """reciprocal_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_round(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """round() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_round_(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """round_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_rsqrt(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """rsqrt() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_rsqrt_(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """rsqrt_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_sigmoid(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """sigmoid() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_sigmoid_(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """sigmoid_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_sign(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """sign() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_sign_(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """sign_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_sin(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """sin() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_sin_(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """sin_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_sinh(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """sinh() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_sinh_(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """sinh_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_sqrt(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """sqrt() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_sqrt_(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """sqrt_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_sub(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """sub() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_sub_(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """sub_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_tan(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """tan() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_tan_(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """tan_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_tanh(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """tanh() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_tanh_(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """tanh_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_trunc(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """trunc() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_trunc_(self: _t.Any, *operands: _t.Any, **options: _t.Any) -> _t.Any:
    """trunc_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_zero_(self: _t.Any) -> _t.Any:
    """Write zeros into each tensor of a list."""
def _grouped_mm(mat_a: _t.Any, mat_b: _t.Any, offs: _t.Any = None, bias: _t.Any = None, out_dtype: _t.Any = None) -> Tensor:
    """Return a product for each group; offs[g] is the end of group g."""
def _scaled_mm(input: Tensor, mat2: Tensor, scale_a: _t.Any, scale_b: _t.Any, bias: _t.Any = None,
               scale_result: _t.Any = None, out_dtype: _t.Any = None, use_fast_accum: _b.bool = False, *,
               out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Return input @ mat2 * scale_a * scale_b + bias of float8 matrices, in `out_dtype` (by default the input's). Scales
    are float32 tensors of one element, or of one for each row of input (shape (M, 1)) and each column of mat2 (shape (1,
    N))."""
def _shape_as_tensor(input: _t.Any) -> _t.Any:
    """Return the sizes of a tensor, as a tensor."""
@_t.overload
def _softmax_backward_data(grad_output: Tensor, output: Tensor, dim: _b.int | _c.Sequence[_b.int],
                           input_dtype: _t.Any) -> Tensor:
    """Return the gradient of a softmax's input from that of its output, for a custom `backward`."""
@_t.overload
def _softmax_backward_data(grad_output: Tensor, output: Tensor, *, axis: _b.int | _c.Sequence[_b.int],
                           input_dtype: _t.Any) -> Tensor:
    """Return the gradient of a softmax's input from that of its output, for a custom `backward`."""
def _standard_gamma(alpha: Tensor | _b.complex, generator: Generator | None = None) -> Tensor:
    """Return gamma numbers of the given concentrations and rate 1, differentiable in the concentrations."""
def abs(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Return absolute values."""
def abs_(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of abs()."""
def absolute_(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of absolute()."""
def acos(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Elementwise acos."""
def acos_(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of acos()."""
def acosh(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Elementwise acosh."""
def acosh_(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of acosh()."""
def adaptive_avg_pool1d(input: Tensor, output_size: _b.int | _c.Sequence[_b.int | None]) -> Tensor:
    """Return the mean of each of `output_size` even bins."""
def adaptive_max_pool1d(input: Tensor, output_size: _b.int | _c.Sequence[_b.int | None]) -> _b.tuple[Tensor, Tensor]:
    """Return the largest element of each of `output_size` even bins, and its index."""
def add(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *older: _t.Any,
        alpha: Tensor | _b.complex = 1, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Return input + alpha * other."""
def add_(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *older: _t.Any,
         alpha: Tensor | _b.complex = 1, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of add()."""
def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *older: _t.Any, beta: Tensor | _b.complex = 1,
           alpha: Tensor | _b.complex = 1, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Return beta * input + alpha * the sum of all products in the batch."""
def addbmm_(input: Tensor, batch1: Tensor, batch2: Tensor, *older: _t.Any, beta: Tensor | _b.complex = 1,
            alpha: Tensor | _b.complex = 1, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of addbmm()."""
def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *older: _t.Any, value: Tensor | _b.complex = 1,
            out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Return input + value * tensor1 / tensor2."""
def addcdiv_(input: Tensor, tensor1: Tensor, tensor2: Tensor, *older: _t.Any, value: Tensor | _b.complex = 1,
             out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of addcdiv()."""
def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *older: _t.Any, value: Tensor | _b.complex = 1,
            out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Return input + value * tensor1 * tensor2."""
def addcmul_(input: Tensor, tensor1: Tensor, tensor2: Tensor, *older: _t.Any, value: Tensor | _b.complex = 1,
             out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of addcmul()."""
def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *older: _t.Any, beta: Tensor | _b.complex = 1,
          alpha: Tensor | _b.complex = 1, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Return beta * input + alpha * mat1 @ mat2."""
def addmm_(input: Tensor, mat1: Tensor, mat2: Tensor, *older: _t.Any, beta: Tensor | _b.complex = 1,
           alpha: Tensor | _b.complex = 1, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of addmm()."""
def addmv(input: Tensor, mat: Tensor, vec: Tensor, *older: _t.Any, beta: Tensor | _b.complex = 1,
          alpha: Tensor | _b.complex = 1, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Return beta * input + alpha * mat @ vec."""
def addmv_(input: Tensor, mat: Tensor, vec: Tensor, *older: _t.Any, beta: Tensor | _b.complex = 1,
           alpha: Tensor | _b.complex = 1, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of addmv()."""
def addr(input: Tensor, vec1: Tensor, vec2: Tensor, *older: _t.Any, beta: Tensor | _b.complex = 1,
         alpha: Tensor | _b.complex = 1, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Return beta * input + alpha * outer(vec1, vec2)."""
def addr_(input: Tensor, vec1: Tensor, vec2: Tensor, *older: _t.Any, beta: Tensor | _b.complex = 1,
          alpha: Tensor | _b.complex = 1, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of addr()."""
def adjoint(input: Tensor) -> Tensor:
    """Swap the last two dimensions, and conjugate complex elements."""
def affine_grid_generator(theta: _t.Any, size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
                          align_corners: _b.bool) -> _t.Any:
    """Return the grid for grid_sample that transforms images of `size` by the affine maps `theta`."""
def alias_copy(input: Tensor) -> Tensor:
    """Return the same tensor. A copy."""
def all(input: Tensor, dim: _b.int | _c.Sequence[_b.int] | None = None, keepdim: _b.bool = False, *,
        out: Tensor | _c.Sequence[Tensor] | None = None, axis: _b.int | _c.Sequence[_b.int] | None = None,
        keepdims: _b.bool = False) -> Tensor:
    """Return whether all elements are nonzero (uint8 gives uint8)."""

def allclose(input: Tensor, other: Tensor, rtol: _b.float = 1e-05, atol: _b.float = 1e-08, equal_nan: _b.bool = False) -> _b.bool:
    """Return whether all elements are close."""
def alpha_dropout(input: Tensor, p: _t.Any, train: _t.Any) -> _t.Any:
    """Drop elements so that the mean and variance of selu activations stay."""
def alpha_dropout_(input: Tensor, p: _t.Any, train: _t.Any) -> _t.Any:
    """Apply alpha_dropout() in place."""
def amax(input: Tensor, dim: _b.int | _c.Sequence[_b.int] = (), keepdim: _b.bool = False, *,
         out: Tensor | _c.Sequence[Tensor] | None = None, axis: _b.int | _c.Sequence[_b.int] = (),
         keepdims: _b.bool = False) -> Tensor:
    """Return the largest values over dims; ties share the gradient equally."""
def amin(input: Tensor, dim: _b.int | _c.Sequence[_b.int] = (), keepdim: _b.bool = False, *,
         out: Tensor | _c.Sequence[Tensor] | None = None, axis: _b.int | _c.Sequence[_b.int] = (),
         keepdims: _b.bool = False) -> Tensor:
    """Return the smallest values over dims; ties share the gradient equally."""
def aminmax(input: Tensor, *, dim: _b.int | _c.Sequence[_b.int] | None = None, keepdim: _b.bool = False,
            out: Tensor | _c.Sequence[Tensor] | None = None, axis: _b.int | _c.Sequence[_b.int] | None = None,
            keepdims: _b.bool = False) -> _aminmax:
    """Return the smallest and largest values as (min, max)."""
def angle(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Return the angle in the complex plane: for real numbers 0 or, below zero, pi; nan stays nan."""
def angle_(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of angle()."""
def any(input: Tensor, dim: _b.int | _c.Sequence[_b.int] | None = None, keepdim: _b.bool = False, *,
        out: Tensor | _c.Sequence[Tensor] | None = None, axis: _b.int | _c.Sequence[_b.int] | None = None,
        keepdims: _b.bool = False) -> Tensor:
    """Return whether any element is nonzero (uint8 gives uint8)."""
def arange(start: Tensor | _b.complex = 0, end: Tensor | _b.complex | None = None, step: _t.Any = 1, *,
           out: Tensor | _c.Sequence[Tensor] | None = None,
           dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
           layout: _layout | None = None, device: _device | _b.str | _b.int | None = None,
           requires_grad: _b.bool = False, pin_memory: _b.bool = False) -> Tensor:
    """Return start, start + step, ... below end."""
def arccos_(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of arccos()."""
def arccosh_(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of arccosh()."""
def arcsin_(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of arcsin()."""
def arcsinh_(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of arcsinh()."""
def arctan2_(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
             out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of arctan2()."""
def arctan_(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of arctan()."""
def arctanh_(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of arctanh()."""
def are_deterministic_algorithms_enabled() -> _b.bool:
    """Return whether `use_deterministic_algorithms` was switched on."""
def argmax(input: Tensor, dim: _b.int | _c.Sequence[_b.int] | None = None, keepdim: _b.bool = False, *,
           out: Tensor | _c.Sequence[Tensor] | None = None, axis: _b.int | _c.Sequence[_b.int] | None = None,
           keepdims: _b.bool = False) -> Tensor:
    """Return the index of the largest element, the first among equals; without dim an index into the flattened tensor."""
def argmin(input: Tensor, dim: _b.int | _c.Sequence[_b.int] | None = None, keepdim: _b.bool = False, *,
           out: Tensor | _c.Sequence[Tensor] | None = None, axis: _b.int | _c.Sequence[_b.int] | None = None,
           keepdims: _b.bool = False) -> Tensor:
    """Return the index of the smallest element, the first among equals; without dim an index into the flattened tensor."""
def argsort(input: Tensor, dim: _b.int | _c.Sequence[_b.int] = -1, descending: _b.bool = False,
            stable: _b.bool = True, *, out: Tensor | _c.Sequence[Tensor] | None = None,
            axis: _b.int | _c.Sequence[_b.int] = -1) -> Tensor:
    """Return the indices that sort along a dim. `stable` is ignored: equal elements always keep their order."""
def argwhere(input: Tensor) -> Tensor:
    """Return the positions of nonzero elements as rows of a matrix."""
def as_strided(input: Tensor, size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
               stride: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex], storage_offset: _t.Any = None) -> Tensor:
    """Return any strided window over the memory of a tensor."""
def as_strided_(input: Tensor, size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
                stride: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex], storage_offset: _t.Any = None) -> Tensor:
    """Turn this tensor into a strided window over its memory."""
def as_strided_copy(input: Tensor, size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
                    stride: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex], storage_offset: _t.Any = None) -> Tensor:
    """Return any strided window over the memory of a tensor. A copy."""
def as_strided_scatter(input: Tensor, src: _t.Any, size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
                       stride: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex], storage_offset: _t.Any = None) -> Tensor:
    """Return a copy with src in a strided window over its memory; an expanded input is copied first."""
def as_tensor(data: _t.Any, dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
              device: _device | _b.str | _b.int | None = None) -> Tensor:
    """Return data as a tensor, without a copy if it is one already or an aligned array of the right dtype."""
def asarray(obj: _t.Any, *, dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
            device: _device | _b.str | _b.int | None = None, copy: _t.Any = None,
            requires_grad: _b.bool | None = None) -> Tensor:
    """Return an object as a tensor; `copy` True always copies, False never, None where needed. `requires_grad` False gives
    a tensor without history, None the history of the object."""
def asin(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Elementwise asin."""
def asin_(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of asin()."""
def asinh(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Elementwise asinh."""
def asinh_(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of asinh()."""
def atan(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Elementwise atan."""
def atan2(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
          out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """The angle of the point (x, y), from -pi to pi."""
def atan2_(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
           out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of atan2()."""
def atan_(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of atan()."""
def atanh(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Elementwise atanh."""
def atanh_(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of atanh()."""
def atleast_1d(*tensors: Tensor | _c.Sequence[Tensor]) -> _t.Any:
    """Return each tensor with at least 1 dimension."""
def atleast_2d(*tensors: Tensor | _c.Sequence[Tensor]) -> _t.Any:
    """Return each tensor with at least 2 dimensions."""
def atleast_3d(*tensors: Tensor | _c.Sequence[Tensor]) -> _t.Any:
    """Return each tensor with at least 3 dimensions."""

class autocast:
    """Context manager and decorator: matrix products, convolutions and attention run in `dtype`, losses in float32."""
    device: _b.str
    fast_dtype: _t.Any
    def __call__(self, func: _t.Any) -> _t.Any: ...
    def __init__(self, device_type: _t.Any,
                 dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None, enabled: _b.bool = True,
                 cache_enabled: _t.Any = None) -> None: ...
    def around(self) -> _b.tuple[_t.Any, ...]: ...
    def __enter__(self) -> _t.Any: ...
    def __exit__(self, *error: _t.Any) -> None: ...

def avg_pool1d(input: Tensor, kernel_size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
               stride: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] | None = None,
               padding: _b.str | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 0,
               ceil_mode: _b.bool = False, count_include_pad: _b.bool = True) -> Tensor:
    """Return the mean of each window."""
def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *older: _t.Any, beta: Tensor | _b.complex = 1,
            alpha: Tensor | _b.complex = 1, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Return beta * input + alpha * batch1 @ batch2."""
def baddbmm_(input: Tensor, batch1: Tensor, batch2: Tensor, *older: _t.Any, beta: Tensor | _b.complex = 1,
             alpha: Tensor | _b.complex = 1, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of baddbmm()."""
def bartlett_window(window_length: _t.Any, periodic: _b.bool = True, *,
                    dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
                    layout: _layout | None = None, device: _device | _b.str | _b.int | None = None,
                    requires_grad: _b.bool = False, pin_memory: _b.bool = False) -> Tensor:
    """Return a triangle that is 0 at its ends."""
def batch_norm(input: Tensor, weight: Tensor, bias: _t.Any, running_mean: Tensor, running_var: Tensor,
               training: _t.Any, momentum: _b.float, eps: _t.Any, cudnn_enabled: _t.Any) -> _t.Any:
    """Normalise each channel, by the batch's statistics in training, else by the running ones. `cudnn_enabled` is ignored:
    there is no cuDNN."""
def bernoulli(input: Tensor, p: _t.Any = None, *, generator: Generator | None = None,
              out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Return 1 with the probability in each element of `input` (or `p` for all), else 0."""
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: _t.Any = None) -> _t.Any:
    """Return the sum over i, j of input1[i] * weight[o, i, j] * input2[j], plus bias."""
def binary_cross_entropy_with_logits(input: Tensor, target: Tensor, weight: Tensor | None = None,
                                     pos_weight: Tensor | None = None, reduction: _t.Any = 1) -> _t.Any:
    """Return the cross entropy of logits and probabilities."""
def bincount(input: Tensor, weights: _t.Any = None, minlength: _t.Any = 0) -> Tensor:
    """Count how many times each of 0, 1, 2, ... occurs, or sum the weights of its occurrences."""
def binomial(count: _t.Any, prob: _t.Any, generator: Generator | None = None) -> Tensor:
    """Return how many of `count` trials succeed, each with probability `prob`."""
def bitwise_and(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
                out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Elementwise bitwise_and."""
def bitwise_and_(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
                 out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of bitwise_and()."""
def bitwise_left_shift(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
                       out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Elementwise bitwise_left_shift."""
def bitwise_left_shift_(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
                        out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of bitwise_left_shift()."""
def bitwise_not(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Elementwise bitwise_not."""
def bitwise_not_(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of bitwise_not()."""
def bitwise_or(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
               out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Elementwise bitwise_or."""
def bitwise_or_(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
                out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of bitwise_or()."""
def bitwise_right_shift(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
                        out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Elementwise bitwise_right_shift."""
def bitwise_right_shift_(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
                         out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of bitwise_right_shift()."""
def bitwise_xor(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
                out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Elementwise bitwise_xor."""
def bitwise_xor_(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
                 out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of bitwise_xor()."""
def blackman_window(window_length: _t.Any, periodic: _b.bool = True, *,
                    dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
                    layout: _layout | None = None, device: _device | _b.str | _b.int | None = None,
                    requires_grad: _b.bool = False, pin_memory: _b.bool = False) -> Tensor:
    """Return a sum of two cosines with small side lobes."""
def block_diag(*tensors: Tensor | _c.Sequence[Tensor]) -> Tensor:
    """Return a matrix with the given matrices along its diagonal."""
def bmm(input: Tensor, mat2: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Multiply two equally long batches of matrices."""
def broadcast_shapes(*shapes: _t.Any) -> Size:
    """Return the shape to which all shapes broadcast."""
def broadcast_tensors(*tensors: Tensor | _c.Sequence[Tensor]) -> _b.tuple[Tensor, ...]:
    """Expand all tensors to their common shape."""
def broadcast_to(input: Tensor, *sizes: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
                 size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] | None = None) -> Tensor:
    """Expand a tensor to a shape."""
def bucketize(input: Tensor, boundaries: _t.Any, *, out_int32: _b.bool = False, right: _b.bool = False,
              out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Return the index of each value's bucket between sorted boundaries."""
def can_cast(from_: _t.Any, to: _t.Any) -> _b.bool:
    """Return whether a value of dtype `from_` may be written into a tensor of dtype `to`."""
def cartesian_prod(*tensors: Tensor | _c.Sequence[Tensor]) -> Tensor:
    """Return all combinations of one element from each vector, as rows."""
def cat(tensors: _c.Sequence[Tensor], dim: _b.int | _c.Sequence[_b.int] = 0, *,
        out: Tensor | _c.Sequence[Tensor] | None = None, axis: _b.int | _c.Sequence[_b.int] = 0) -> Tensor:
    """Join tensors along an existing dimension; 1-d tensors without elements are skipped."""
def cdist(x1: Tensor, x2: Tensor, p: _b.float | _b.str = 2.0,
          compute_mode: _b.str = 'use_mm_for_euclid_dist_if_necessary') -> Tensor:
    """Return distances of order p between every row of x1 and every row of x2."""
def ceil(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Elementwise ceil."""
def ceil_(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of ceil()."""
def celu(input: Tensor, alpha: Tensor | _b.complex = 1.0) -> Tensor:
    """Return max(0, x) + min(0, alpha * (exp(x / alpha) - 1))."""
def celu_(input: Tensor, alpha: Tensor | _b.complex = 1.0) -> _t.Any:
    """Apply celu() in place."""
def chain_matmul(*matrices: _t.Any, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Multiply several matrices in the cheapest order."""
def channel_shuffle(input: Tensor, groups: _b.int) -> Tensor:
    """Interleave the channels (dim 1) of `groups` groups."""
def cholesky(input: Tensor, upper: _b.bool = False, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Return the lower triangular factor of symmetric positive matrices (or its transpose)."""
def cholesky_inverse(L: _t.Any, upper: _b.bool = False, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Return the inverse of A, from its Cholesky factor."""
def cholesky_solve(input: _t.Any, L: _t.Any, upper: _b.bool = False, *,
                   out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Return the solution X of A @ X = input, from one triangle of a Cholesky factor of A."""
def chunk(input: Tensor, chunks: _b.int, dim: _b.int | _c.Sequence[_b.int] = 0, *,
          axis: _b.int | _c.Sequence[_b.int] = 0) -> _b.tuple[Tensor, ...]:
    """Split a tensor into at most `chunks` pieces of one size (the last may be smaller); return views."""
def clamp(input: Tensor, min: Tensor | _b.complex | None = None, max: Tensor | _b.complex | None = None, *,
          out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Limit values to [min, max]; either may be missing, a number or a tensor."""
def clamp_(input: Tensor, min: Tensor | _b.complex | None = None, max: Tensor | _b.complex | None = None, *,
           out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of clamp()."""
def clamp_max(input: Tensor, max: Tensor | _b.complex, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Lower values above max to max."""
def clamp_max_(input: Tensor, max: Tensor | _b.complex, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of clamp_max()."""
def clamp_min(input: Tensor, min: Tensor | _b.complex, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Raise values below min to min."""
def clamp_min_(input: Tensor, min: Tensor | _b.complex, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of clamp_min()."""
def clear_autocast_cache() -> None:
    """Drop the cached casts of parameters."""
def clip_(input: Tensor, min: Tensor | _b.complex | None = None, max: Tensor | _b.complex | None = None, *,
          out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of clip()."""
def clone(input: Tensor, *, memory_format: _memory_format = ...) -> Tensor:
    """Return a copy in new memory."""
def column_stack(tensors: _c.Sequence[Tensor], *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Join tensors side by side; vectors are columns."""
def combinations(input: Tensor, r: _t.Any = 2, with_replacement: _b.bool = False) -> Tensor:
    """Return all combinations of r elements of a vector, as rows."""

@_t.overload
def compile(model: _Compiled, *, fullgraph: _b.bool = False, dynamic: _b.bool | None = None, backend: _t.Any = "inductor",
            mode: _b.str | None = None, options: _b.dict[_b.str, _t.Any] | None = None, disable: _b.bool = False) -> _Compiled: ...
@_t.overload
def compile(model: None = None, *, fullgraph: _b.bool = False, dynamic: _b.bool | None = None, backend: _t.Any = "inductor",
            mode: _b.str | None = None, options: _b.dict[_b.str, _t.Any] | None = None, disable: _b.bool = False) -> _Compiler:
    """Trace a function, class or module, as `jit.trace` does. A module stays what it is, with its names in state dicts; without its tracing it is `_orig_mod`."""
def complex(real: _t.Any, imag: _t.Any, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Return complex numbers from real and imaginary parts."""
def cond(pred: _t.Any, true_fn: _t.Any, false_fn: _t.Any, operands: _t.Any = ()) -> _t.Any:
    """Return true_fn(*operands) if pred, a bool or a tensor of one element, is true, else false_fn(*operands)."""
def conj(input: Tensor) -> Tensor:
    """Return the complex conjugate; a real tensor itself."""
def conj_physical(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Return the complex conjugate; a real tensor itself."""
def conj_physical_(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of conj_physical()."""
def constant_pad_nd(input: Tensor, pad: _t.Any, value: Tensor | _b.complex = 0) -> Tensor:
    """Pad the last dims by `value`; `pad` is (low, high) of the last dim, then of the one before, and so on."""
def conv1d(input: Tensor, weight: Tensor, bias: _t.Any = None,
           stride: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 1,
           padding: _b.str | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 0,
           dilation: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 1, groups: _b.int = 1) -> Tensor:
    """Convolve over one spatial dim; weight (out, in / groups, kernel)."""
def conv2d(input: Tensor, weight: Tensor, bias: _t.Any = None,
           stride: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 1,
           padding: _b.str | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 0,
           dilation: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 1, groups: _b.int = 1) -> Tensor:
    """Convolve over two spatial dims; weight (out, in / groups, *kernel)."""
def conv3d(input: Tensor, weight: Tensor, bias: _t.Any = None,
           stride: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 1,
           padding: _b.str | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 0,
           dilation: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 1, groups: _b.int = 1) -> Tensor:
    """Convolve over three spatial dims; weight (out, in / groups, *kernel)."""
def conv_tbc(input: Tensor, weight: Tensor, bias: _t.Any, pad: _t.Any = 0) -> Tensor:
    """Convolve over the first dim of (time, batch, channels); weight (kernel, in, out)."""
def conv_transpose1d(input: Tensor, weight: Tensor, bias: _t.Any = None,
                     stride: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 1,
                     padding: _b.str | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 0,
                     output_padding: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 0, groups: _b.int = 1,
                     dilation: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 1) -> Tensor:
    """Apply a transposed convolution over one spatial dim; weight (in, out / groups, kernel)."""
def conv_transpose2d(input: Tensor, weight: Tensor, bias: _t.Any = None,
                     stride: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 1,
                     padding: _b.str | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 0,
                     output_padding: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 0, groups: _b.int = 1,
                     dilation: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 1) -> Tensor:
    """Apply a transposed convolution over two spatial dims; weight (in, out / groups, *kernel)."""
def conv_transpose3d(input: Tensor, weight: Tensor, bias: _t.Any = None,
                     stride: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 1,
                     padding: _b.str | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 0,
                     output_padding: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 0, groups: _b.int = 1,
                     dilation: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 1) -> Tensor:
    """Apply a transposed convolution over three spatial dims; weight (in, out / groups, *kernel)."""
def convolution(input: Tensor, weight: Tensor, bias: _t.Any,
                stride: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
                padding: _b.str | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
                dilation: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex], transposed: _t.Any,
                output_padding: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex], groups: _b.int) -> Tensor:
    """Convolve over as many spatial dims as the weight has, or transposed."""
def copysign(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
             out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """|x| with the sign of y."""
def copysign_(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
              out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of copysign()."""
def corrcoef(input: Tensor) -> Tensor:
    """Return correlations between the rows of a matrix, within [-1, 1]."""
def cos(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Elementwise cos."""
def cos_(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of cos()."""
def cosh(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Elementwise cosh."""
def cosh_(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of cosh()."""
def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: _b.float = 0.0,
                          reduction: _t.Any = 1) -> _t.Any:
    """Return 1 - cos where the target is 1, max(0, cos - margin) where it is -1."""
def cosine_similarity(x1: Tensor, x2: Tensor, dim: _b.int | _c.Sequence[_b.int] = 1, eps: _b.float = 1e-08, *,
                      axis: _b.int | _c.Sequence[_b.int] = 1) -> Tensor:
    """Return the cosine of the angle between two tensors along a dimension; norms are at least eps."""
def count_nonzero(input: Tensor, dim: _b.int | _c.Sequence[_b.int] | None = None, *more: _t.Any,
                  keepdim: _b.bool = False, axis: _b.int | _c.Sequence[_b.int] | None = None,
                  keepdims: _b.bool = False) -> Tensor:
    """Return the number of nonzero elements, of all or along dims."""
def cov(input: Tensor, *, correction: _b.float = 1, fweights: _t.Any = None, aweights: _t.Any = None) -> Tensor:
    """Return covariances between the rows of a matrix; each column is an observation."""
def cross(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any],
          dim: _b.int | _c.Sequence[_b.int] | None = None, *, out: Tensor | _c.Sequence[Tensor] | None = None,
          axis: _b.int | _c.Sequence[_b.int] | None = None) -> Tensor:
    """Return the cross product of vectors of 3 along `dim`, by default the first dim of size 3."""
def ctc_loss(log_probs: Tensor, targets: Tensor, input_lengths: _t.Any, target_lengths: _t.Any,
             blank: _t.Any = 0, reduction: _t.Any = 1, zero_infinity: _b.bool = False) -> _t.Any:
    """Return the connectionist temporal classification loss of log_probs (T, N, C) or (T, C)."""
@_t.overload
def cummax(input: Tensor, dim: _b.int | _c.Sequence[_b.int], *, out: Tensor | _c.Sequence[Tensor] | None = None) -> _cummax:
    """Return the running maximum along a dim and its last position, as (values, indices)."""
@_t.overload
def cummax(input: Tensor, *, axis: _b.int | _c.Sequence[_b.int],
           out: Tensor | _c.Sequence[Tensor] | None = None) -> _cummax:
    """Return the running maximum along a dim and its last position, as (values, indices)."""
@_t.overload
def cummin(input: Tensor, dim: _b.int | _c.Sequence[_b.int], *, out: Tensor | _c.Sequence[Tensor] | None = None) -> _cummin:
    """Return the running minimum along a dim and its last position, as (values, indices)."""
@_t.overload
def cummin(input: Tensor, *, axis: _b.int | _c.Sequence[_b.int],
           out: Tensor | _c.Sequence[Tensor] | None = None) -> _cummin:
    """Return the running minimum along a dim and its last position, as (values, indices)."""
@_t.overload
def cumprod(input: Tensor, dim: _b.int | _c.Sequence[_b.int], *,
            dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
            out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Return running products along a dim; integers and bools are multiplied in int64."""
@_t.overload
def cumprod(input: Tensor, *, axis: _b.int | _c.Sequence[_b.int],
            dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
            out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Return running products along a dim; integers and bools are multiplied in int64."""
@_t.overload
def cumprod_(input: Tensor, dim: _b.int | _c.Sequence[_b.int], *,
             dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
             out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of cumprod()."""
@_t.overload
def cumprod_(input: Tensor, *, axis: _b.int | _c.Sequence[_b.int],
             dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
             out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of cumprod()."""
@_t.overload
def cumsum(input: Tensor, dim: _b.int | _c.Sequence[_b.int], *,
           dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
           out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Return running sums along a dim; integers and bools are summed in int64."""
@_t.overload
def cumsum(input: Tensor, *, axis: _b.int | _c.Sequence[_b.int],
           dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
           out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Return running sums along a dim; integers and bools are summed in int64."""
@_t.overload
def cumsum_(input: Tensor, dim: _b.int | _c.Sequence[_b.int], *,
            dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
            out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of cumsum()."""
@_t.overload
def cumsum_(input: Tensor, *, axis: _b.int | _c.Sequence[_b.int],
            dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
            out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of cumsum()."""
def cumulative_trapezoid(y: _t.Any, x: _t.Any = None, *, dx: _t.Any = 1, dim: _b.int | _c.Sequence[_b.int] = -1,
                         axis: _b.int | _c.Sequence[_b.int] = -1) -> Tensor:
    """Return the running integral of y by the trapezoidal rule."""
def deg2rad(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Convert degrees to radians."""
def deg2rad_(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of deg2rad()."""
def det(A: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Return the determinant."""
def detach(self: _t.Any) -> _t.Any:
    """Return the same memory without the history."""
def detach_(self: _t.Any) -> Tensor:
    """Drop this tensor's own history."""
def detach_copy(self: _t.Any) -> _t.Any:
    """Return the same memory without the history. A copy."""

class device:
    """A device: its kind (`type`) and its `index` among devices of the kind (None for the current one). As a context
    manager it is the default device of new tensors."""
    index: _b.int | None
    type: _b.str
    def __enter__(self) -> _t.Self: ...
    def __eq__(self, other: _t.Any) -> _t.Any: ...
    def __exit__(self, *exc: _t.Any) -> None: ...
    def __hash__(self) -> _b.int: ...
    def __init__(self, type: _t.Any, index: _t.Any = None) -> None: ...

def diag(input: Tensor, diagonal: _b.int = 0, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Return a vector as a diagonal matrix, or a copy of a matrix's diagonal."""
def diag_embed(input: Tensor, offset: _t.Any = 0, dim1: _b.int = -2, dim2: _b.int = -1, *, axis1: _b.int = -2) -> Tensor:
    """Return zeros with the last dimension on the diagonal of two new ones."""
def diagflat(input: Tensor, offset: _t.Any = 0) -> Tensor:
    """Return a diagonal matrix of all elements."""
def diagonal(input: Tensor, offset: _t.Any = 0, dim1: _b.int = 0, dim2: _b.int = 1, *, axis1: _b.int = 0) -> Tensor:
    """Return the diagonal of two dimensions, as a new last dimension (a view)."""
def diagonal_copy(input: Tensor, offset: _t.Any = 0, dim1: _b.int = 0, dim2: _b.int = 1, *, axis1: _b.int = 0) -> Tensor:
    """Return the diagonal of two dimensions, as a new last dimension (a view). A copy."""
def diagonal_scatter(input: Tensor, src: _t.Any, offset: _t.Any = 0, dim1: _b.int = 0, dim2: _b.int = 1, *,
                     axis1: _b.int = 0) -> Tensor:
    """Return a copy with src on a diagonal."""
def diff(input: Tensor, n: _t.Any = 1, dim: _b.int | _c.Sequence[_b.int] = -1, prepend: _t.Any = None,
         append: _t.Any = None, *, out: Tensor | _c.Sequence[Tensor] | None = None,
         axis: _b.int | _c.Sequence[_b.int] = -1) -> Tensor:
    """Return differences of neighbours along a dim, n times over."""
def digamma(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Elementwise digamma."""
def digamma_(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of digamma()."""
def dist(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], p: _t.Any = 2) -> Tensor:
    """Return the norm of order p of input - other."""
def div(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
        rounding_mode: _b.str | None = None, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Return input / other; rounding_mode "floor" or "trunc" rounds the quotient and keeps integers."""
def div_(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
         rounding_mode: _b.str | None = None, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of div()."""
def divide_(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
            rounding_mode: _b.str | None = None, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of divide()."""
def dot(input: Tensor, tensor: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Return the inner product of two vectors."""
def dropout(input: Tensor, p: _t.Any, train: _t.Any) -> _t.Any:
    """Zero elements with probability p while training, and scale the rest by 1 / (1 - p)."""
def dropout_(input: Tensor, p: _t.Any, train: _t.Any) -> _t.Any:
    """Apply dropout() in place."""
def dsmm(mat1: Tensor, mat2: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Return the product of two matrices (old name of `mm` for sparse ones)."""
def dsplit(input: Tensor, indices_or_sections: _t.Any) -> _b.tuple[Tensor, ...]:
    """Equal pieces, or pieces cut at the indices listed, as views."""
def dstack(tensors: _c.Sequence[Tensor], *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Join tensors along the third dimension."""

class dtype:
    """One element type: its name, its short name in IR text, and the numpy dtype that stores it."""
    is_complex: _t.Any
    is_floating_point: _t.Any
    is_inexact: _t.Any
    is_integer: _b.bool
    is_signed: _t.Any
    itemsize: _t.Any
    kind: _b.int
    name: _b.str
    np: _t.Any
    short: _b.str
    def __init__(self, name: _b.str, short: _b.str, np_dtype: _t.Any, kind: _b.int) -> None: ...
    def to_complex(self) -> _dtype:
        """Return the dtype of complex numbers with parts of this one; narrow floats give complex64."""
    def to_real(self) -> _dtype:
        """Return the dtype of the parts of complex numbers; any other as it is."""

def einsum(equation: _t.Any, *operands: _t.Any) -> Tensor:
    """Sum products of the operands over labels, for example ``einsum("bij,bjk->bik", x, y)``."""
def embedding(weight: Tensor, indices: _t.Any, padding_idx: _b.int = -1, scale_grad_by_freq: _b.bool = False,
              sparse: _b.bool = False) -> _t.Any:
    """Return the rows of `weight` at the indices; a negative padding_idx means none."""
def embedding_bag(weight: Tensor, indices: _t.Any, offsets: Tensor,
                  scale_grad_by_freq: _b.bool = False, mode: _t.Any = 0,
                  sparse: _b.bool = False,
                  per_sample_weights: Tensor | None = None,
                  include_last_offset: _b.bool = False,
                  padding_idx: _b.int | None = None) -> _b.tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return nn.functional.embedding_bag (mode 0 sum, 1 mean, 2 max), the bag of each index, bag sizes, and for max the
    index of each largest element."""
def embedding_renorm_(input: Tensor, indices: _t.Any, max_norm: _b.float, norm_type: _t.Any) -> _t.Any:
    """Scale the rows of a table at the indices down to max_norm, in place."""
def empty(*sizes: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
          size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] | None = None,
          out: Tensor | _c.Sequence[Tensor] | None = None,
          dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
          layout: _layout | None = None, device: _device | _b.str | _b.int | None = None,
          requires_grad: _b.bool = False, pin_memory: _b.bool = False,
          memory_format: _memory_format | None = None) -> Tensor:
    """Return a tensor without defined values (ingot writes zeros)."""
def empty_like(input: Tensor, *, dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
               layout: _layout | None = None, device: _device | _b.str | _b.int | None = None,
               requires_grad: _b.bool = False, memory_format: _memory_format | None = None,
               pin_memory: _b.bool = False) -> Tensor:
    """Return a tensor without defined values, with the shape and dtype of another."""
def empty_permuted(size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex], physical_layout: _t.Any, *,
                   dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
                   layout: _layout | None = None, device: _device | _b.str | _b.int | None = None,
                   requires_grad: _b.bool = False, pin_memory: _b.bool = False) -> Tensor:
    """Return an empty tensor with a given order of dims in memory, outermost first."""
def empty_strided(size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
                  stride: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex], *,
                  dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
                  layout: _layout | None = None, device: _device | _b.str | _b.int | None = None,
                  requires_grad: _b.bool = False, pin_memory: _b.bool = False) -> Tensor:
    """Return an empty tensor with given strides."""

@_t.overload
def enable_grad(fn: _F) -> _F: ...
@_t.overload
def enable_grad(fn: None = None) -> _GradMode:
    """Context manager and decorator: recording is on inside."""
def eq(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
       out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Elementwise eq."""
def eq_(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
        out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of eq()."""
def equal(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any]) -> _b.bool:
    """Return whether two tensors have the same shape and elements."""
def erf(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Elementwise erf."""
def erf_(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of erf()."""
def erfc(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Elementwise erfc."""
def erfc_(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of erfc()."""
def erfinv(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Elementwise erfinv."""
def erfinv_(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of erfinv()."""
def exp(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Elementwise exp."""
def exp2(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Elementwise exp2."""
def exp2_(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of exp2()."""
def exp_(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of exp()."""
def expand_copy(self: Tensor, *sizes: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
                size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] | None = None, implicit: _b.bool = False) -> Tensor:
    """Repeat dimensions of size 1 without copying; -1 keeps a size. `implicit` is ignored: it only marks broadcasts for
    PyTorch's own transforms."""
def expm1(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Elementwise expm1."""
def expm1_(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of expm1()."""
def eye(n: _t.Any, m: _t.Any = None, *, out: Tensor | _c.Sequence[Tensor] | None = None,
        dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
        layout: _layout | None = None, device: _device | _b.str | _b.int | None = None,
        requires_grad: _b.bool = False, pin_memory: _b.bool = False) -> Tensor:
    """Return a matrix with ones on the diagonal, zeros elsewhere."""
def fake_quantize_per_channel_affine(input: Tensor, scale: _b.float, zero_point: _t.Any,
                                     axis: _b.int | _c.Sequence[_b.int], quant_min: _t.Any, quant_max: _t.Any) -> Tensor:
    """Apply fake quantisation with a scale and zero point for each index along `axis`. Zero points are int32, or floats,
    which may lie between two steps."""
def fake_quantize_per_tensor_affine(input: Tensor, scale: _b.float, zero_point: _t.Any, quant_min: _t.Any,
                                    quant_max: _t.Any) -> Tensor:
    """Return (step - zero_point) * scale for the nearest step from quant_min to quant_max."""
def feature_alpha_dropout(input: Tensor, p: _t.Any, train: _t.Any) -> _t.Any:
    """Apply alpha_dropout() to whole channels."""
def feature_alpha_dropout_(input: Tensor, p: _t.Any, train: _t.Any) -> _t.Any:
    """Apply feature_alpha_dropout() in place."""
def feature_dropout(input: Tensor, p: _t.Any, train: _t.Any) -> _t.Any:
    """Drop whole channels."""
def feature_dropout_(input: Tensor, p: _t.Any, train: _t.Any) -> _t.Any:
    """Apply feature_dropout() in place."""
def fill(input: Tensor, value: Tensor | _b.complex) -> Tensor:
    """Return a copy with one value in all elements."""
def fill_(self: Tensor, value: Tensor | _b.complex) -> Tensor:
    """Write one value to all elements."""

class finfo:
    """Limits of a floating point dtype (for a complex dtype, of its parts): bits eps max min tiny resolution."""
    bits: _t.Any
    dtype: _t.Any
    eps: _b.float
    max: _b.float
    min: _b.float
    resolution: _t.Any
    smallest_normal: _b.float
    tiny: _b.float
    def __eq__(self, other: _t.Any) -> _t.Any: ...
    def __hash__(self) -> _b.int: ...
    def __init__(self, type: _t.Any = None) -> None: ...

def fix_(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of fix()."""
def flatten(input: Tensor, start_dim: _b.int = 0, end_dim: _b.int = -1) -> Tensor:
    """Merge dims start_dim to end_dim into one."""
def flip(input: Tensor, *which: _t.Any, dims: _b.int | _c.Sequence[_b.int] | None = None,
         axis: _b.int | _c.Sequence[_b.int] | None = None) -> Tensor:
    """Reverse the order of elements along dims."""
def fliplr(input: Tensor) -> Tensor:
    """Reverse the second dimension."""
def flipud(input: Tensor) -> Tensor:
    """Reverse the first dimension."""
def float_power(input: Tensor, exponent: Tensor | _b.complex, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Return input ** exponent in float64, for complex numbers in complex128."""
def float_power_(input: Tensor, exponent: Tensor | _b.complex, *,
                 out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of float_power()."""
def floor(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Elementwise floor."""
def floor_(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of floor()."""
def floor_divide(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
                 out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """The quotient rounded down."""
def floor_divide_(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
                  out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of floor_divide()."""
def fmax(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
         out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """The larger number; the other one if one is nan."""
def fmax_(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
          out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of fmax()."""
def fmin(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
         out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """The smaller number; the other one if one is nan."""
def fmin_(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
          out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of fmin()."""
def fmod(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
         out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """x - trunc(x / y) * y, with the sign of x."""
def fmod_(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
          out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of fmod()."""
def frac(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """x - trunc(x)"""
def frac_(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of frac()."""
def frexp(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> _frexp:
    """Return mantissas with absolute values in [0.5, 1), and their exponents of two."""
def frobenius_norm(input: _t.Any, dim: _t.Any, keepdim: _b.bool = False, *,
                   out: Tensor | _c.Sequence[Tensor] | None = None) -> _t.Any:
    """Return the root of the sum of squares over dims, or over all."""
def from_dlpack(ext_tensor: _t.Any, *, device: _device | _b.str | _b.int | None = None, copy: _t.Any = None) -> _t.Any:
    """Return a tensor over the memory of an object with DLPack (or of a capsule), without a copy unless requested."""
def from_file(filename: _t.Any, shared: _t.Any = None,
              size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 0, *,
              dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
              layout: _layout | None = None, device: _device | _b.str | _b.int | None = None,
              pin_memory: _b.bool = False) -> Tensor:
    """Map a file of numbers as a tensor. If `shared`, writes reach the file, which grows to the size. Otherwise they change
    only the tensor."""

def from_numpy(ndarray: _np.ndarray[_t.Any, _t.Any]) -> Tensor:
    """Return a tensor over the memory of a numpy array."""
def frombuffer(buffer: _t.Any, *, dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any],
               count: _t.Any = -1, offset: _t.Any = 0, requires_grad: _b.bool = False) -> Tensor:
    """Return a tensor over the memory of an object with the buffer protocol."""
def full(size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex], fill_value: Tensor | _b.complex, *,
         out: Tensor | _c.Sequence[Tensor] | None = None,
         dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
         layout: _layout | None = None, device: _device | _b.str | _b.int | None = None,
         requires_grad: _b.bool = False, pin_memory: _b.bool = False) -> Tensor:
    """Return a tensor of one value; the default dtype follows the kind of the value."""
def full_like(input: Tensor, fill_value: Tensor | _b.complex, *,
              dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
              layout: _layout | None = None, device: _device | _b.str | _b.int | None = None,
              requires_grad: _b.bool = False, memory_format: _memory_format | None = None,
              pin_memory: _b.bool = False) -> Tensor:
    """Return a tensor of one value with the shape and dtype of another."""
def fused_moving_avg_obs_fake_quant(input: Tensor, observer_on: _t.Any, fake_quant_on: _t.Any,
                                    running_min: _t.Any, running_max: _t.Any, scale: _b.float,
                                    zero_point: _t.Any, averaging_const: _t.Any, quant_min: _t.Any,
                                    quant_max: _t.Any, ch_axis: _t.Any, per_row_fake_quant: _b.bool = False,
                                    symmetric_quant: _b.bool = False) -> Tensor:
    """Run the quantisation step of a training step, in place."""
@_t.overload
def gather(input: Tensor, dim: _b.int | _c.Sequence[_b.int], index: _t.Any, *, sparse_grad: _b.bool = False,
           out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Pick elements by index along a dimension: out[i][j] = input[index[i][j]][j] for dim 0, and so on. `sparse_grad` is
    ignored: the gradient is dense, with the same values."""
@_t.overload
def gather(input: Tensor, *, axis: _b.int | _c.Sequence[_b.int], index: _t.Any, sparse_grad: _b.bool = False,
           out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Pick elements by index along a dimension: out[i][j] = input[index[i][j]][j] for dim 0, and so on. `sparse_grad` is
    ignored: the gradient is dense, with the same values."""
def gcd(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
        out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Elementwise gcd."""
def gcd_(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
         out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of gcd()."""
def ge(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
       out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Elementwise ge."""
def ge_(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
        out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of ge()."""
def geqrf(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> _geqrf:
    """Return QR like LAPACK's geqrf: R, below it the vectors of Householder reflections, and their factors. No gradient."""
def get_autocast_cpu_dtype() -> _dtype:
    """Return the low dtype that autocast uses on the CPU."""
def get_autocast_dtype(device_type: _b.str) -> _dtype:
    """Return the low dtype that autocast uses on a kind of device."""
def get_autocast_gpu_dtype() -> _dtype:
    """Return the low dtype that autocast uses on CUDA devices."""
def get_default_device() -> _device:
    """Return the device of new tensors."""
def get_default_dtype() -> _dtype:
    """Return the dtype of tensors made from Python floats, and of int inputs to float functions."""
def get_deterministic_debug_mode() -> _b.int:
    """Return 0, 1 (warn) or 2 (error)."""
def get_device(input: _t.Any) -> _b.int:
    """Return the index of the accelerator of a tensor, -1 for the CPU."""
def get_device_module(device: _device | _b.str | _b.int | None = None) -> _t.Any:
    """Return the module of a kind of device (`ingot.cuda`), by default that of the accelerator, or of the CPU."""
def get_float32_matmul_precision() -> _b.str:
    """Return the precision that was set here or by an equivalent switch, such as `backends.cuda.matmul.fp32_precision`."""
def get_num_interop_threads() -> _b.int:
    """Return what `set_num_interop_threads` set."""
def get_num_threads() -> _b.int:
    """Return the number of threads of a kernel, the calling one included."""
def get_rng_state() -> Tensor:
    """Return the default generator's state."""
def gradient(input: Tensor, *, spacing: _t.Any = 1,
             dim: _b.int | _c.Sequence[_b.int] | None = None, edge_order: _t.Any = 1,
             axis: _b.int | _c.Sequence[_b.int] | None = None) -> _b.tuple[Tensor, ...]:
    """Return derivatives along dims by central differences, one-sided at the ends. `spacing` is a number, one for each dim,
    or the positions themselves."""
def greater_(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
             out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of greater()."""
def greater_equal_(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
                   out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of greater_equal()."""
def grid_sampler(input: Tensor, grid: _t.Any, interpolation_mode: _t.Any, padding_mode: _b.str,
                 align_corners: _b.bool) -> Tensor:
    """Call grid_sample with modes as numbers: 0 bilinear, 1 nearest, 2 bicubic; 0 zeros, 1 border, 2 reflection."""
def group_norm(input: Tensor, num_groups: _b.int, weight: Tensor | None = None, bias: _t.Any = None,
               eps: _b.float = 1e-05) -> Tensor:
    """Normalise each group of channels of each image to mean 0 and variance 1; weight and bias are per channel."""
def gru(input: Tensor, second: _t.Any, third: _t.Any, *rest: _t.Any, **options: _t.Any) -> _t.Any:
    """nn.GRU with its weights in a list, called (input, hx, params, has_biases, num_layers, dropout, train, bidirectional,
    batch_first), or packed (data, batch_sizes, hx, params, ...). Return outputs and last states."""
def gru_cell(input: Tensor, hx: _t.Any, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None,
             b_hh: Tensor | None = None) -> _t.Any:
    """Compute one step of nn.GRUCell with these weights; return the next state or states."""
def gt(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
       out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Elementwise gt."""
def gt_(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
        out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of gt()."""
def hamming_window(window_length: _t.Any, periodic: _b.bool = True, alpha: Tensor | _b.complex = 0.54,
                   beta: Tensor | _b.complex = 0.46, *,
                   dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
                   layout: _layout | None = None, device: _device | _b.str | _b.int | None = None,
                   requires_grad: _b.bool = False, pin_memory: _b.bool = False) -> Tensor:
    """Return alpha - beta * cos(2 pi n / N)."""
def hann_window(window_length: _t.Any, periodic: _b.bool = True, *,
                dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
                layout: _layout | None = None, device: _device | _b.str | _b.int | None = None,
                requires_grad: _b.bool = False, pin_memory: _b.bool = False) -> Tensor:
    """Return a raised cosine that is 0 at its ends."""
def hardshrink(input: Tensor, lambd: _b.float = 0.5, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> _t.Any:
    """Return 0 where |input| <= lambd, else the input."""
def heaviside(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
              out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Return 0 below zero, 1 above, `other` at zero."""
def heaviside_(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
               out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of heaviside()."""
def hinge_embedding_loss(input: Tensor, target: Tensor, margin: _b.float = 1.0, reduction: _t.Any = 1) -> _t.Any:
    """Return the input where the target is 1, max(0, margin - input) where it is -1."""
def histc(input: Tensor, bins: _t.Any = 100, min: Tensor | _b.complex = 0, max: Tensor | _b.complex = 0, *,
          out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Count elements in equal bins between min and max (the data's range if both are equal), without those outside."""
def histogram(input: Tensor, bins: _t.Any = 100, *, range: _t.Any = None, weight: Tensor | None = None,
              density: _b.bool = False, out: Tensor | _c.Sequence[Tensor] | None = None) -> _histogram:
    """Return (hist, bin_edges): counts or weights between neighbouring edges; the last bin includes its upper edge."""
def histogramdd(input: Tensor, bins: _t.Any, *, range: _t.Any = None, weight: Tensor | None = None,
                density: _b.bool = False, out: Tensor | _c.Sequence[Tensor] | None = None) -> _histogramdd:
    """Return (hist, bin_edges) of points, the rows of the input; each column has a number of bins, or edges."""
def hsplit(input: Tensor, indices_or_sections: _t.Any) -> _b.tuple[Tensor, ...]:
    """Equal pieces, or pieces cut at the indices listed, as views."""
def hspmm(mat1: Tensor, mat2: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Return a sparse matrix times a dense one, with the rows in which the sparse one has entries."""
def hstack(tensors: _c.Sequence[Tensor], *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Join tensors side by side: along dim 1, or 0 for vectors."""
def hypot(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
          out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """sqrt(x^2 + y^2), without overflow between."""
def hypot_(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
           out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of hypot()."""
def i0(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor: ...
def i0_(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of i0()."""
def igamma(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
           out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Return the regularised lower incomplete gamma function. It is the probability that a gamma number of concentration
    `input` is at most `other`."""
def igamma_(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
            out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of igamma()."""
def igammac(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
            out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Return the regularised upper incomplete gamma function, 1 - gammainc, accurate where it is small."""
def igammac_(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
             out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of igammac()."""

class iinfo:
    """Limits of an integer dtype: bits max min."""
    bits: _t.Any
    dtype: _t.Any
    max: _b.int
    min: _b.int
    def __eq__(self, other: _t.Any) -> _t.Any: ...
    def __hash__(self) -> _b.int: ...
    def __init__(self, type: _t.Any) -> None: ...

def imag(input: Tensor) -> Tensor:
    """Return the imaginary parts of a complex tensor."""
@_t.overload
def index_add(input: Tensor, dim: _b.int | _c.Sequence[_b.int], index: _t.Any, source: Tensor, *,
              alpha: Tensor | _b.complex = 1, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Add alpha * source to the slices at the indices of a vector."""
@_t.overload
def index_add(input: Tensor, *, axis: _b.int | _c.Sequence[_b.int], index: _t.Any, source: Tensor,
              alpha: Tensor | _b.complex = 1, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Add alpha * source to the slices at the indices of a vector."""
@_t.overload
def index_add_(input: Tensor, dim: _b.int | _c.Sequence[_b.int], index: _t.Any, source: Tensor, *,
               alpha: Tensor | _b.complex = 1, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of index_add()."""
@_t.overload
def index_add_(input: Tensor, *, axis: _b.int | _c.Sequence[_b.int], index: _t.Any, source: Tensor,
               alpha: Tensor | _b.complex = 1, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of index_add()."""
@_t.overload
def index_copy(input: Tensor, dim: _b.int | _c.Sequence[_b.int], index: _t.Any, source: Tensor, *,
               out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Replace the slices at the indices of a vector by those of source."""
@_t.overload
def index_copy(input: Tensor, *, axis: _b.int | _c.Sequence[_b.int], index: _t.Any, source: Tensor,
               out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Replace the slices at the indices of a vector by those of source."""
@_t.overload
def index_copy_(input: Tensor, dim: _b.int | _c.Sequence[_b.int], index: _t.Any, source: Tensor, *,
                out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of index_copy()."""
@_t.overload
def index_copy_(input: Tensor, *, axis: _b.int | _c.Sequence[_b.int], index: _t.Any, source: Tensor,
                out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of index_copy()."""
@_t.overload
def index_fill(input: Tensor, dim: _b.int | _c.Sequence[_b.int], index: _t.Any, value: Tensor | _b.complex) -> Tensor:
    """Write one value to the slices at the indices of a vector."""
@_t.overload
def index_fill(input: Tensor, *, axis: _b.int | _c.Sequence[_b.int], index: _t.Any, value: Tensor | _b.complex) -> Tensor:
    """Write one value to the slices at the indices of a vector."""
@_t.overload
def index_fill_(input: Tensor, dim: _b.int | _c.Sequence[_b.int], index: _t.Any, value: Tensor | _b.complex) -> Tensor:
    """In-place version of index_fill()."""
@_t.overload
def index_fill_(input: Tensor, *, axis: _b.int | _c.Sequence[_b.int], index: _t.Any, value: Tensor | _b.complex) -> Tensor:
    """In-place version of index_fill()."""
def index_put(input: Tensor, indices: _t.Any, values: _t.Any, accumulate: _b.bool = False) -> Tensor:
    """Return a copy with input[indices] = values (or += if accumulate). Indices are tensors, or None for all of a
    dimension."""
def index_put_(input: Tensor, indices: _t.Any, values: _t.Any, accumulate: _b.bool = False) -> Tensor:
    """In-place version of index_put()."""
@_t.overload
def index_reduce(input: Tensor, dim: _b.int | _c.Sequence[_b.int], index: _t.Any, source: Tensor,
                 reduce: _t.Any, *, include_self: _b.bool = True,
                 out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Combine slices of source into those at the indices of a vector, by prod, mean, amax or amin."""
@_t.overload
def index_reduce(input: Tensor, *, axis: _b.int | _c.Sequence[_b.int], index: _t.Any, source: Tensor,
                 reduce: _t.Any, include_self: _b.bool = True, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Combine slices of source into those at the indices of a vector, by prod, mean, amax or amin."""
@_t.overload
def index_reduce_(input: Tensor, dim: _b.int | _c.Sequence[_b.int], index: _t.Any, source: Tensor,
                  reduce: _t.Any, *, include_self: _b.bool = True,
                  out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of index_reduce()."""
@_t.overload
def index_reduce_(input: Tensor, *, axis: _b.int | _c.Sequence[_b.int], index: _t.Any, source: Tensor,
                  reduce: _t.Any, include_self: _b.bool = True, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of index_reduce()."""
@_t.overload
def index_select(input: Tensor, dim: _b.int | _c.Sequence[_b.int], index: _t.Any, *,
                 out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Return the slices at the indices of a vector along a dimension."""
@_t.overload
def index_select(input: Tensor, *, axis: _b.int | _c.Sequence[_b.int], index: _t.Any,
                 out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Return the slices at the indices of a vector along a dimension."""

@_t.overload
def inference_mode(mode: _F) -> _F: ...
@_t.overload
def inference_mode(mode: _b.bool = True) -> _GradMode:
    """no_grad with results that are plain tensors."""
def initial_seed() -> _b.int:
    """Return the seed of the default generator."""
def inner(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
          out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Sum products over the last dimension of both tensors."""
def instance_norm(input: Tensor, weight: Tensor, bias: _t.Any, running_mean: Tensor, running_var: Tensor,
                  use_input_stats: _t.Any, momentum: _b.float, eps: _t.Any, cudnn_enabled: _t.Any) -> _t.Any:
    """Normalise each channel of each image. `cudnn_enabled` is ignored: there is no cuDNN."""
def inverse(A: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Return the inverse."""
def is_anomaly_check_nan_enabled() -> _b.bool:
    """Return whether anomaly mode stops at nan."""
def is_anomaly_enabled() -> _b.bool:
    """Return whether anomaly mode is on in the current thread."""
def is_autocast_available(device_type: _b.str) -> _b.bool:
    """Return whether autocast supports a kind of device."""
def is_autocast_cache_enabled() -> _b.bool:
    """Return whether autocast caches casts of parameters."""
def is_autocast_cpu_enabled() -> _b.bool:
    """Return whether autocast is on for the CPU."""
def is_autocast_enabled(device_type: _b.str | None = None) -> _b.bool:
    """Return whether autocast is on for a kind of device (by default CUDA)."""
def is_complex(input: Tensor) -> _b.bool:
    """Return whether the dtype is a complex dtype."""
def is_conj(input: Tensor) -> _b.bool:
    """Return False: conjugation is never lazy."""
def is_deterministic_algorithms_warn_only_enabled() -> _b.bool:
    """Return whether use_deterministic_algorithms was given warn_only."""
def is_floating_point(input: Tensor) -> _b.bool:
    """Return whether the dtype is a floating point dtype."""
def is_grad_enabled() -> _b.bool:
    """Return whether the current thread records operations."""
def is_inference(input: _t.Any) -> _b.bool:
    """Return False: tensors of inference mode are ordinary ones, which autograd may use later."""
def is_inference_mode_enabled() -> _b.bool:
    """Return whether the current thread is in inference mode."""
def is_neg(input: Tensor) -> _b.bool:
    """Return False: negation is never lazy."""
def is_nonzero(input: Tensor) -> _b.bool:
    """Return whether the one element is not zero."""
def is_same_size(self: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any]) -> _b.bool:
    """Return whether both tensors have the same shape."""
def is_signed(input: Tensor) -> _b.bool:
    """Return whether the dtype has negative values."""
def is_storage(obj: _t.Any) -> _b.bool:
    """Return whether an object is a storage."""
def is_tensor(obj: _t.Any) -> _b.bool:
    """Return whether an object is a tensor."""
def is_warn_always_enabled() -> _b.bool:
    """Return what `set_warn_always` set."""
def isclose(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], rtol: _b.float = 1e-05,
            atol: _b.float = 1e-08, equal_nan: _b.bool = False) -> Tensor:
    """Return |input - other| <= atol + rtol * |other|, element by element."""
def isfinite(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Elementwise isfinite."""
def isfinite_(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of isfinite()."""
def isin(elements: _t.Any, test_elements: _t.Any, *, assume_unique: _b.bool = False, invert: _b.bool = False,
         out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Return whether each element occurs among the test elements. `assume_unique` is ignored: the search does not depend on
    it."""
def isinf(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Elementwise isinf."""
def isinf_(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of isinf()."""
def isnan(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Elementwise isnan."""
def isnan_(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of isnan()."""
def isneginf(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Elementwise isneginf."""
def isneginf_(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of isneginf()."""
def isposinf(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Elementwise isposinf."""
def isposinf_(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of isposinf()."""
def isreal(input: Tensor) -> Tensor:
    """Return whether each number has no imaginary part."""
def istft(input: Tensor, n_fft: _b.int, hop_length: _b.int | None = None, win_length: _b.int | None = None,
          window: _t.Any = None, center: _b.bool = True, normalized: _b.bool = False, onesided: _t.Any = None,
          length: _t.Any = None, return_complex: _b.bool = False) -> Tensor:
    """Return the best approximation to numbers whose `stft` has these spectra."""
def kaiser_window(window_length: _t.Any, periodic: _b.bool = True, beta: Tensor | _b.complex = 12.0, *,
                  dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
                  layout: _layout | None = None, device: _device | _b.str | _b.int | None = None,
                  requires_grad: _b.bool = False, pin_memory: _b.bool = False) -> Tensor:
    """Return a Kaiser window; beta trades the width of the main lobe for the height of the others."""
def kl_div(input: Tensor, target: Tensor, reduction: _t.Any = 1, *, log_target: _b.bool = False) -> _t.Any:
    """Return target * (log(target) - input) for log probabilities as input."""
def kron(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
         out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Return the Kronecker product: every element of input times the whole of other."""
def kthvalue(input: Tensor, k: _b.int, dim: _b.int | _c.Sequence[_b.int] = -1, keepdim: _b.bool = False, *,
             out: Tensor | _c.Sequence[Tensor] | None = None, axis: _b.int | _c.Sequence[_b.int] = -1,
             keepdims: _b.bool = False) -> _kthvalue:
    """Return the k-th smallest element along a dim (counted from 1) and its index, as (values, indices)."""
def layer_norm(input: Tensor, normalized_shape: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
               weight: Tensor | None = None, bias: _t.Any = None, eps: _b.float = 1e-05) -> Tensor:
    """Normalise the last dims to mean 0 and variance 1, then multiply by weight and add bias."""

class layout(_b.str):
    """Memory layout of a tensor. It equals its own name, and the name that PyTorch prints, which libraries compare."""
    def __eq__(self, other: _t.Any) -> _b.bool: ...
    __hash__: _t.Any
    def __ne__(self, other: _t.Any) -> _b.bool: ...

def lcm(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
        out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Elementwise lcm."""
def lcm_(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
         out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of lcm()."""
def ldexp(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
          out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Return input * 2 ** other."""
def ldexp_(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
           out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of ldexp()."""
def le(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
       out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Elementwise le."""
def le_(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
        out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of le()."""
def lerp(input: Tensor, end: Tensor | _b.complex, weight: Tensor | _b.float, *,
         out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Return input + weight * (end - input), exact at both ends."""
def lerp_(input: Tensor, end: Tensor | _b.complex, weight: Tensor | _b.float, *,
          out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of lerp()."""
def less_(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
          out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of less()."""
def less_equal_(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
                out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of less_equal()."""
def lgamma(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Elementwise lgamma."""
def lgamma_(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of lgamma()."""
def linspace(start: Tensor | _b.complex, end: Tensor | _b.complex, steps: _b.int, *,
             out: Tensor | _c.Sequence[Tensor] | None = None,
             dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
             layout: _layout | None = None, device: _device | _b.str | _b.int | None = None,
             requires_grad: _b.bool = False, pin_memory: _b.bool = False) -> Tensor:
    """Return `steps` evenly spaced values from start to end, both included."""
def load(f: _t.Any, map_location: _t.Any = None, pickle_module: _t.Any = None, *, weights_only: _b.bool = True,
         mmap: _t.Any = None, **pickle_load_args: _t.Any) -> _t.Any:
    """Read a file of `save`, a .safetensors or .gguf file, or a file of torch.save (without PyTorch)."""
def lobpcg(A: Tensor, k: _b.int | None = None, B: Tensor | None = None,
           X: Tensor | None = None, n: _t.Any = None, iK: _t.Any = None, niter: _t.Any = None,
           tol: _t.Any = None, largest: _t.Any = None, method: _t.Any = None,
           tracker: _t.Any = None, ortho_iparams: _t.Any = None, ortho_fparams: _t.Any = None,
           ortho_bparams: _t.Any = None) -> _b.tuple[Tensor, Tensor]:
    """Return the k largest (or smallest) eigenvalues of a symmetric matrix, or of A x = e B x, and their vectors. X is the
    start and iK the preconditioner."""
def log(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Elementwise log."""
def log10(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Elementwise log10."""
def log10_(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of log10()."""
def log1p(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Elementwise log1p."""
def log1p_(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of log1p()."""
def log2(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Elementwise log2."""
def log2_(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of log2()."""
def log_(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of log()."""
@_t.overload
def log_softmax(input: Tensor, dim: _b.int | _c.Sequence[_b.int],
                dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None, *,
                out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Return log(softmax(x)) along a dimension."""
@_t.overload
def log_softmax(input: Tensor, *, axis: _b.int | _c.Sequence[_b.int],
                dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
                out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Return log(softmax(x)) along a dimension."""
def logaddexp(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
              out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """log(exp(x) + exp(y)), without overflow."""
def logaddexp2(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
               out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Elementwise logaddexp2."""
def logaddexp2_(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
                out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of logaddexp2()."""
def logaddexp_(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
               out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of logaddexp()."""
@_t.overload
def logcumsumexp(input: Tensor, dim: _b.int | _c.Sequence[_b.int], *,
                 out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Return the log of the running sum of exp(input) along a dim."""
@_t.overload
def logcumsumexp(input: Tensor, *, axis: _b.int | _c.Sequence[_b.int],
                 out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Return the log of the running sum of exp(input) along a dim."""
def logdet(input: Tensor) -> Tensor:
    """Return the log of the determinant; nan where it is negative, complex for complex matrices."""
def logical_and(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
                out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Elementwise logical_and."""
def logical_and_(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
                 out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of logical_and()."""
def logical_not(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Elementwise logical_not."""
def logical_not_(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of logical_not()."""
def logical_or(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
               out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Elementwise logical_or."""
def logical_or_(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
                out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of logical_or()."""
def logical_xor(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
                out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Elementwise logical_xor."""
def logical_xor_(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
                 out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of logical_xor()."""
def logit(input: Tensor, eps: _t.Any = None, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Return log(x / (1 - x)). If eps is given, x is limited to [eps, 1 - eps] first; eps wins where the limits cross."""
def logit_(input: Tensor, eps: _t.Any = None, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of logit()."""
def logspace(start: Tensor | _b.complex, end: Tensor | _b.complex, steps: _b.int, base: _b.float = 10.0, *,
             out: Tensor | _c.Sequence[Tensor] | None = None,
             dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
             layout: _layout | None = None, device: _device | _b.str | _b.int | None = None,
             requires_grad: _b.bool = False, pin_memory: _b.bool = False) -> Tensor:
    """Return powers of `base` with evenly spaced exponents from start to end."""
@_t.overload
def logsumexp(input: Tensor, dim: _b.int | _c.Sequence[_b.int], keepdim: _b.bool = False, *,
              out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Return the log of the sum of exp(input) over dims, without overflow."""
@_t.overload
def logsumexp(input: Tensor, *, axis: _b.int | _c.Sequence[_b.int], keepdims: _b.bool = False,
              out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Return the log of the sum of exp(input) over dims, without overflow."""
def lstm(input: Tensor, second: _t.Any, third: _t.Any, *rest: _t.Any, **options: _t.Any) -> _t.Any:
    """nn.LSTM with its weights in a list, called (input, hx, params, has_biases, num_layers, dropout, train, bidirectional,
    batch_first), or packed (data, batch_sizes, hx, params, ...). Return outputs and last states."""
def lstm_cell(input: Tensor, hx: _t.Any, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None,
              b_hh: Tensor | None = None) -> _t.Any:
    """Compute one step of nn.LSTMCell with these weights; return the next state or states."""
def lt(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
       out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Elementwise lt."""
def lt_(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
        out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of lt()."""
def lu(A: Tensor, pivot: _b.bool = True, get_infos: _b.bool = False,
       out: Tensor | _c.Sequence[Tensor] | None = None) -> _b.tuple[Tensor, ...]:
    """Return lu_factor's result as a tuple; with get_infos also the position of a zero on U's diagonal (0 if there is
    none)."""
def lu_solve(b: _t.Any, LU_data: Tensor, LU_pivots: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Return X with A @ X = b, from lu_factor's result for A."""
def lu_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data: _b.bool = True,
              unpack_pivots: _b.bool = True, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> _lu_unpack:
    """Return P, L and U of lu_factor's result; parts not requested are empty."""
def manual_seed(seed: _b.int) -> Generator:
    """Seed the default generator and return it."""
def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: _b.float = 0.0,
                        reduction: _t.Any = 1) -> _t.Any:
    """Return max(0, -target * (input1 - input2) + margin)."""
def masked_fill(input: Tensor, mask: Tensor, value: Tensor | _b.complex) -> Tensor:
    """Replace elements by `value` where the mask is true."""
def masked_fill_(input: Tensor, mask: Tensor, value: Tensor | _b.complex) -> Tensor:
    """In-place version of masked_fill()."""
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """Replace the elements where the mask is true by those of source, in order."""
def masked_scatter_(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """In-place version of masked_scatter()."""
def masked_select(input: Tensor, mask: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Return the elements where the (broadcast) mask is true, as a vector."""
def matmul(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
           out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Multiply vectors, matrices, and batches of matrices that broadcast."""
def matrix_exp(A: Tensor) -> Tensor:
    """Return the exponential of a matrix, by its series after halving, squared back; float16 and bfloat16 are rounded
    once."""
def matrix_power(A: Tensor, n: _t.Any, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Return an integer power of A; a negative power is one of the inverse."""

@_t.overload
def max(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@_t.overload
def max(input: Tensor, dim: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@_t.overload
def max(input: Tensor, *, other: Tensor, out: Tensor | None = None) -> Tensor: ...
@_t.overload
def max(input: Tensor, dim: _b.int, keepdim: _b.bool = False, *, out: _c.Sequence[Tensor] | None = None) -> _max: ...
@_t.overload
def max(input: Tensor, *, axis: _b.int, keepdims: _b.bool = False, keepdim: _b.bool = False,
        out: _c.Sequence[Tensor] | None = None) -> _max:
    """Return the largest element; along `dim` as (values, indices); with a second tensor the elementwise maximum."""
def max_pool1d(input: Tensor, kernel_size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
               stride: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] | None = None,
               padding: _b.str | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 0,
               dilation: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 1, ceil_mode: _b.bool = False) -> _t.Any:
    """Return the largest element of each window."""
def max_pool1d_with_indices(input: Tensor,
                            kernel_size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
                            stride: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] | None = None,
                            padding: _b.str | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 0,
                            dilation: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 1,
                            ceil_mode: _b.bool = False) -> _b.tuple[Tensor, Tensor]:
    """Return the largest element of each window, and its index."""
def max_pool2d(input: Tensor, kernel_size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
               stride: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] | None = None,
               padding: _b.str | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 0,
               dilation: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 1, ceil_mode: _b.bool = False) -> _t.Any:
    """Return the largest element of each window."""
def max_pool3d(input: Tensor, kernel_size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
               stride: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] | None = None,
               padding: _b.str | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 0,
               dilation: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 1, ceil_mode: _b.bool = False) -> _t.Any:
    """Return the largest element of each window."""
def maximum(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
            out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """The larger number; nan if one is nan."""
def maximum_(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
             out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of maximum()."""
def mean(input: Tensor, dim: _b.int | _c.Sequence[_b.int] | None = None, keepdim: _b.bool = False, *,
         dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
         out: Tensor | _c.Sequence[Tensor] | None = None, axis: _b.int | _c.Sequence[_b.int] | None = None,
         keepdims: _b.bool = False) -> Tensor:
    """Return the mean over dims (all by default)."""

@_t.overload
def median(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@_t.overload
def median(input: Tensor, dim: _b.int, keepdim: _b.bool = False, *, out: _c.Sequence[Tensor] | None = None) -> _median: ...
@_t.overload
def median(input: Tensor, *, axis: _b.int, keepdims: _b.bool = False, keepdim: _b.bool = False,
           out: _c.Sequence[Tensor] | None = None) -> _median:
    """Return the lower median of everything, or along a dim as (values, indices); nan if an element is nan."""

class memory_format:
    """Order of dims in memory, for batches of images."""
    name: _b.str
    order: _b.tuple[_t.Any, ...]
    def __init__(self, name: _b.str, order: _b.tuple[_t.Any, ...] | None = None) -> None: ...

def meshgrid(*tensors: Tensor | _c.Sequence[Tensor], indexing: _b.str = 'ij') -> _b.tuple[Tensor, ...]:
    """Return coordinate grids of vectors, as views."""

@_t.overload
def min(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@_t.overload
def min(input: Tensor, dim: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@_t.overload
def min(input: Tensor, *, other: Tensor, out: Tensor | None = None) -> Tensor: ...
@_t.overload
def min(input: Tensor, dim: _b.int, keepdim: _b.bool = False, *, out: _c.Sequence[Tensor] | None = None) -> _min: ...
@_t.overload
def min(input: Tensor, *, axis: _b.int, keepdims: _b.bool = False, keepdim: _b.bool = False,
        out: _c.Sequence[Tensor] | None = None) -> _min:
    """Return the smallest element; along `dim` as (values, indices); with a second tensor the elementwise minimum."""
def minimum(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
            out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """The smaller number; nan if one is nan."""
def minimum_(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
             out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of minimum()."""
def mm(input: Tensor, mat2: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Multiply two matrices."""
def mode(input: Tensor, dim: _b.int | _c.Sequence[_b.int] = -1, keepdim: _b.bool = False, *,
         out: Tensor | _c.Sequence[Tensor] | None = None, axis: _b.int | _c.Sequence[_b.int] = -1,
         keepdims: _b.bool = False) -> _mode:
    """Return the most frequent value along a dim (the smallest among equals) and its last index, as (values, indices)."""
def movedim(input: Tensor, source: Tensor, destination: _t.Any) -> Tensor:
    """Move dimensions to other positions; the rest keeps its order."""
def msort(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Sort along the first dim."""
def mul(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
        out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Return input * other."""
def mul_(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
         out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of mul()."""
def multi_dot(tensors: _c.Sequence[Tensor], *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Multiply two or more matrices in the cheapest order; the first and last may be vectors."""
def multinomial(input: Tensor, num_samples: _b.int, replacement: _b.bool = False, *,
                generator: Generator | None = None, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Draw indices with the given weights, from each row."""
def multiply_(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
              out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of multiply()."""
def mv(input: Tensor, vec: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Multiply a matrix by a vector."""
def mvlgamma(input: Tensor, p: _t.Any, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Return the logarithm of the multivariate gamma function of dimension p."""
def mvlgamma_(input: Tensor, p: _t.Any, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of mvlgamma()."""
def nan_to_num(input: Tensor, nan: _t.Any = None, posinf: _t.Any = None, neginf: _t.Any = None, *,
               out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Replace nan (by 0) and infinities (by the largest finite numbers, unless given). Complex numbers are replaced part by
    part; those with such a part have no gradient."""
def nan_to_num_(input: Tensor, nan: _t.Any = None, posinf: _t.Any = None, neginf: _t.Any = None, *,
                out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of nan_to_num()."""
def nanmean(input: Tensor, dim: _b.int | _c.Sequence[_b.int] | None = None, keepdim: _b.bool = False, *,
            dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
            out: Tensor | _c.Sequence[Tensor] | None = None, axis: _b.int | _c.Sequence[_b.int] | None = None,
            keepdims: _b.bool = False) -> Tensor:
    """Return the mean over dims of the elements that are not nan."""

@_t.overload
def nanmedian(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@_t.overload
def nanmedian(input: Tensor, dim: _b.int, keepdim: _b.bool = False, *, out: _c.Sequence[Tensor] | None = None) -> _nanmedian: ...
@_t.overload
def nanmedian(input: Tensor, *, axis: _b.int, keepdims: _b.bool = False, keepdim: _b.bool = False,
              out: _c.Sequence[Tensor] | None = None) -> _nanmedian:
    """Return the lower median of elements that are not nan, of everything or along a dim as (values, indices)."""
def nanquantile(input: Tensor, q: _t.Any, dim: _b.int | _c.Sequence[_b.int] | None = None,
                keepdim: _b.bool = False, *, interpolation: _b.str = 'linear',
                out: Tensor | _c.Sequence[Tensor] | None = None,
                axis: _b.int | _c.Sequence[_b.int] | None = None, keepdims: _b.bool = False) -> Tensor:
    """Return the q-th quantiles of elements that are not nan."""
def nansum(input: Tensor, dim: _b.int | _c.Sequence[_b.int] | None = None, keepdim: _b.bool = False, *,
           dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
           out: Tensor | _c.Sequence[Tensor] | None = None, axis: _b.int | _c.Sequence[_b.int] | None = None,
           keepdims: _b.bool = False) -> Tensor:
    """Sum over dims, counting nan as 0."""
@_t.overload
def narrow(input: Tensor, dim: _b.int | _c.Sequence[_b.int], start: Tensor | _b.complex, length: _t.Any) -> Tensor:
    """Return a view of `length` indices from `start` along a dimension."""
@_t.overload
def narrow(input: Tensor, *, axis: _b.int | _c.Sequence[_b.int], start: Tensor | _b.complex, length: _t.Any) -> Tensor:
    """Return a view of `length` indices from `start` along a dimension."""
@_t.overload
def narrow_copy(input: Tensor, dim: _b.int | _c.Sequence[_b.int], start: Tensor | _b.complex, length: _t.Any) -> Tensor:
    """Return a view of `length` indices from `start` along a dimension. A copy."""
@_t.overload
def narrow_copy(input: Tensor, *, axis: _b.int | _c.Sequence[_b.int], start: Tensor | _b.complex, length: _t.Any) -> Tensor:
    """Return a view of `length` indices from `start` along a dimension. A copy."""
def native_batch_norm(input: Tensor, weight: Tensor, bias: _t.Any,
                      running_mean: Tensor, running_var: Tensor, training: _t.Any,
                      momentum: _b.float, eps: _t.Any) -> _b.tuple[Tensor, Tensor, Tensor]:
    """Return batch_norm; in training also its means and 1 / standard deviations."""
def native_dropout(input: Tensor, p: _t.Any, train: _t.Any) -> _b.tuple[Tensor, Tensor]:
    """Return dropout and the mask of kept elements."""
def native_group_norm(input: Tensor, weight: Tensor, bias: _t.Any, N: _t.Any,
                      C: _t.Any, HxW: _t.Any, group: _t.Any, eps: _t.Any) -> _b.tuple[Tensor, Tensor, Tensor]:
    """Return group_norm of (N, C, HxW), with the means and 1 / standard deviations of groups."""
def native_layer_norm(input: Tensor,
                      normalized_shape: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
                      weight: Tensor, bias: _t.Any, eps: _t.Any) -> _b.tuple[Tensor, Tensor, Tensor]:
    """Return layer_norm, its means and 1 / standard deviations."""
def native_norm(self: Tensor, p: _t.Any = 2, dim: _b.int | _c.Sequence[_b.int] | None = None,
                keepdim: _b.bool = False,
                dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None) -> _t.Any:
    """Return the vector norm of order p over dims, by default all."""
def ne(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
       out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Elementwise ne."""
def ne_(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
        out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of ne()."""
def neg(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Elementwise neg."""
def neg_(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of neg()."""
def negative_(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of negative()."""
def nextafter(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
              out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """The next number after x in the direction of y."""
def nextafter_(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
               out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of nextafter()."""

@_t.overload
def no_grad(fn: _F) -> _F: ...
@_t.overload
def no_grad(fn: None = None) -> _GradMode:
    """Context manager and decorator: nothing inside is recorded for differentiation."""

@_t.overload
def nonzero(input: Tensor, *, out: Tensor | None = None, as_tuple: _t.Literal[False] = False) -> Tensor: ...
@_t.overload
def nonzero(input: Tensor, *, as_tuple: _t.Literal[True]) -> _b.tuple[Tensor, ...]: ...
@_t.overload
def nonzero(input: Tensor, *, out: Tensor | None = None, as_tuple: _b.bool) -> _t.Any:
    """Return the positions of nonzero elements: rows of a matrix, or one vector for each dimension."""
def nonzero_static(input: Tensor, *, size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
                   fill_value: Tensor | _b.complex = -1, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Return the first `size` positions of nonzero elements, as rows, padded by rows of fill_value."""
def norm(input: Tensor, p: _t.Any = 'fro', dim: _b.int | _c.Sequence[_b.int] | None = None,
         keepdim: _b.bool = False, out: Tensor | _c.Sequence[Tensor] | None = None,
         dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None, *,
         axis: _b.int | _c.Sequence[_b.int] | None = None, keepdims: _b.bool = False) -> Tensor:
    """Return the vector norm of order p over dims (by default all), or matrix norms 'fro' and 'nuc'; this is
    `ingot.norm`."""
def norm_except_dim(v: _t.Any, pow: _t.Any = 2, dim: _b.int | _c.Sequence[_b.int] = 0) -> _t.Any:
    """Return norms over all dims but one, keeping dims; over all dims for dim=-1."""
def normal(mean: _b.float = 0.0, std: _b.float = 1.0,
           size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] | None = None, *,
           generator: Generator | None = None, out: Tensor | _c.Sequence[Tensor] | None = None,
           dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
           layout: _layout | None = None, device: _device | _b.str | _b.int | None = None,
           requires_grad: _b.bool = False, pin_memory: _b.bool = False) -> Tensor:
    """Return normal numbers of the given mean and deviation, each a tensor or a number; two numbers need a size."""
def not_equal_(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
               out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of not_equal()."""
def nuclear_norm(input: _t.Any, dim: _t.Any = ..., keepdim: _b.bool = False, *,
                 out: Tensor | _c.Sequence[Tensor] | None = None) -> _t.Any:
    """Return the sum of singular values of the matrices that two dims span."""
def numel(input: Tensor) -> _b.int:
    """Return the number of elements."""
def one_hot(tensor: Tensor, num_classes: _b.int = -1) -> Tensor:
    """Return rows of zeros with a one at each index."""
def ones(*sizes: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
         size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] | None = None,
         out: Tensor | _c.Sequence[Tensor] | None = None,
         dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
         layout: _layout | None = None, device: _device | _b.str | _b.int | None = None,
         requires_grad: _b.bool = False, pin_memory: _b.bool = False) -> Tensor:
    """Return a tensor of ones."""
def ones_like(input: Tensor, *, dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
              layout: _layout | None = None, device: _device | _b.str | _b.int | None = None,
              requires_grad: _b.bool = False, memory_format: _memory_format | None = None,
              pin_memory: _b.bool = False) -> Tensor:
    """Return ones with the shape and dtype of another tensor."""
def orgqr(A: Tensor, tau: _t.Any, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Return the first columns of the product of Householder reflections in geqrf's form."""
def ormqr(input: Tensor, tau: _t.Any, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any],
          left: _b.bool = True, transpose: _b.bool = False, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Multiply Q (its adjoint with `transpose`), given by Householder reflections, by a matrix, or the matrix by Q."""
def outer(input: Tensor, vec2: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Multiply every element of one vector by every element of another."""
def pairwise_distance(x1: Tensor, x2: Tensor, p: _b.float | _b.str = 2.0, eps: _b.float = 1e-06,
                      keepdim: _b.bool = False, *, keepdims: _b.bool = False) -> Tensor:
    """Return the p-norm of x1 - x2 + eps along the last dimension."""
def pca_lowrank(A: Tensor, q: _t.Any = None, center: _b.bool = True, niter: _t.Any = 2) -> _svd_uv:
    """Return about q principal directions of the rows of A: svd_lowrank of A less the mean of its rows."""
def pdist(input: Tensor, p: _b.float | _b.str = 2.0) -> Tensor:
    """Return the p-norm distances of all pairs of rows, as the upper triangle row by row."""
def permute(input: Tensor, *order: _b.int | _c.Sequence[_b.int],
            dims: _b.int | _c.Sequence[_b.int] | None = None, axis: _b.int | _c.Sequence[_b.int] | None = None) -> Tensor:
    """Reorder the dimensions."""
def permute_copy(input: Tensor, *order: _b.int | _c.Sequence[_b.int],
                 dims: _b.int | _c.Sequence[_b.int] | None = None,
                 axis: _b.int | _c.Sequence[_b.int] | None = None) -> Tensor:
    """Reorder the dimensions. A copy."""
def pinverse(input: Tensor, rcond: _b.float = 1e-15) -> Tensor:
    """Return the pseudo-inverse; singular values at most rcond times the largest count as 0."""
def pixel_shuffle(input: Tensor, upscale_factor: _b.int) -> Tensor:
    """Rearrange (..., C * r * r, H, W) to (..., C, H * r, W * r)."""
def pixel_unshuffle(input: Tensor, downscale_factor: _b.int) -> Tensor:
    """Rearrange (..., C, H * r, W * r) to (..., C * r * r, H, W)."""
def poisson(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Return counts of Poisson processes with the given rates."""
def poisson_nll_loss(input: Tensor, target: Tensor, log_input: _t.Any, full: _t.Any, eps: _t.Any,
                     reduction: _b.str) -> _t.Any:
    """Return the negative log likelihood of counts."""
def polar(abs: _t.Any, angle: _t.Any, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Return complex numbers from absolute values and angles."""
def polygamma(n: _t.Any, input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Return the n-th derivative of digamma."""
def positive(input: Tensor) -> Tensor:
    """Return the tensor itself; raise for bool."""
def pow(input: Tensor, exponent: Tensor | _b.complex, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Return input ** exponent."""
def pow_(input: Tensor, exponent: Tensor | _b.complex, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of pow()."""
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """Return the input above 0, weight * input below; the weight is one number or one for each channel (dimension 1)."""
def prod(input: Tensor, dim: _b.int | _c.Sequence[_b.int] | None = None, keepdim: _b.bool = False, *,
         dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
         out: Tensor | _c.Sequence[Tensor] | None = None, axis: _b.int | _c.Sequence[_b.int] | None = None,
         keepdims: _b.bool = False) -> Tensor:
    """Multiply elements over a dim (all by default); integers and bools are multiplied in int64."""
def promote_types(type1: _t.Any, type2: _t.Any) -> _dtype:
    """Return the smallest dtype to which both dtypes convert."""
def put(input: Tensor, index: _t.Any, source: Tensor, accumulate: _b.bool = False) -> Tensor:
    """Write (or add) source at positions of the flattened tensor."""
def put_(input: Tensor, index: _t.Any, source: Tensor, accumulate: _b.bool = False) -> Tensor:
    """In-place version of put()."""
def qr(input: Tensor, some: _b.bool = True, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Return Q and R with Q @ R = input, reduced unless `some` is False."""

class qscheme(_b.str):
    """Quantisation scheme: number of scales, and position of zero. It equals its own name as text."""

def quantile(input: Tensor, q: _t.Any, dim: _b.int | _c.Sequence[_b.int] | None = None,
             keepdim: _b.bool = False, *, interpolation: _b.str = 'linear',
             out: Tensor | _c.Sequence[Tensor] | None = None, axis: _b.int | _c.Sequence[_b.int] | None = None,
             keepdims: _b.bool = False) -> Tensor:
    """Return the q-th quantiles (a number or a row of them), of everything or along a dim; nan if an element is nan."""
def rad2deg(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Convert radians to degrees."""
def rad2deg_(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of rad2deg()."""
def rand(*size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex], generator: Generator | None = None,
         out: Tensor | _c.Sequence[Tensor] | None = None,
         dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
         layout: _layout | None = None, device: _device | _b.str | _b.int | None = None,
         requires_grad: _b.bool = False, pin_memory: _b.bool = False, **named: _t.Any) -> Tensor:
    """Return uniform numbers in [0, 1); both parts of complex numbers."""
def rand_like(input: Tensor, *, generator: Generator | None = None,
              dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
              layout: _layout | None = None, device: _device | _b.str | _b.int | None = None,
              requires_grad: _b.bool = False, memory_format: _memory_format | None = None) -> Tensor:
    """Return uniform numbers in [0, 1) with the input's shape and dtype."""
def randint(low: _t.Any = 0, high: _t.Any = None,
            size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] | None = None, *,
            generator: Generator | None = None, out: Tensor | _c.Sequence[Tensor] | None = None,
            dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] = ..., layout: _layout | None = None,
            device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False,
            pin_memory: _b.bool = False) -> Tensor:
    """Return uniform integers in [low, high), or in [0, high) as randint(high, size)."""
def randint_like(input: Tensor, low: _t.Any = 0, high: _t.Any = None, *, generator: Generator | None = None,
                 dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
                 layout: _layout | None = None, device: _device | _b.str | _b.int | None = None,
                 requires_grad: _b.bool = False, memory_format: _memory_format | None = None) -> Tensor:
    """Return uniform integers in [low, high) (or [0, low)) with the input's shape and dtype."""
def randn(*size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex], generator: Generator | None = None,
          out: Tensor | _c.Sequence[Tensor] | None = None,
          dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
          layout: _layout | None = None, device: _device | _b.str | _b.int | None = None,
          requires_grad: _b.bool = False, pin_memory: _b.bool = False, **named: _t.Any) -> Tensor:
    """Return normal numbers of mean 0 and deviation 1; parts of complex numbers have half that variance."""
def randn_like(input: Tensor, *, generator: Generator | None = None,
               dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
               layout: _layout | None = None, device: _device | _b.str | _b.int | None = None,
               requires_grad: _b.bool = False, memory_format: _memory_format | None = None) -> Tensor:
    """Return normal numbers with the input's shape and dtype."""
def randperm(n: _t.Any, *, generator: Generator | None = None, out: Tensor | _c.Sequence[Tensor] | None = None,
             dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] = ..., layout: _layout | None = None,
             device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False,
             pin_memory: _b.bool = False) -> Tensor:
    """Return the integers 0 to n-1 in random order."""
def range(start: Tensor | _b.complex = 0, end: Tensor | _b.complex | None = None, step: _t.Any = 1, *,
          out: Tensor | _c.Sequence[Tensor] | None = None,
          dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
          layout: _layout | None = None, device: _device | _b.str | _b.int | None = None,
          requires_grad: _b.bool = False) -> Tensor:
    """Return start, start + step, ... up to and including end (deprecated; use arange)."""
def ravel(input: Tensor) -> Tensor:
    """Return all elements in row-major order as a vector; a view where possible."""
def real(input: Tensor) -> Tensor:
    """Return the real parts; a real tensor itself."""
def reciprocal(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Elementwise reciprocal."""
def reciprocal_(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of reciprocal()."""
def relu(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """max(input, 0)"""
def relu_(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of relu()."""
def remainder(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
              out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """x - floor(x / y) * y, with the sign of y."""
def remainder_(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
               out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of remainder()."""
@_t.overload
def renorm(input: Tensor, p: _t.Any, dim: _b.int | _c.Sequence[_b.int], maxnorm: _t.Any, *,
           out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Scale each slice along `dim` down to a norm of at most maxnorm."""
@_t.overload
def renorm(input: Tensor, p: _t.Any, *, axis: _b.int | _c.Sequence[_b.int], maxnorm: _t.Any,
           out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Scale each slice along `dim` down to a norm of at most maxnorm."""
@_t.overload
def renorm_(input: Tensor, p: _t.Any, dim: _b.int | _c.Sequence[_b.int], maxnorm: _t.Any, *,
            out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of renorm()."""
@_t.overload
def renorm_(input: Tensor, p: _t.Any, *, axis: _b.int | _c.Sequence[_b.int], maxnorm: _t.Any,
            out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of renorm()."""
def repeat_interleave(input: Tensor,
                      repeats: Tensor | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] | None = None,
                      dim: _b.int | _c.Sequence[_b.int] | None = None, *,
                      output_size: _b.int | _c.Sequence[_b.int | None] | None = None,
                      axis: _b.int | _c.Sequence[_b.int] | None = None) -> Tensor:
    """Repeat each element (or each index along a dimension) several times in a row. Counts alone give each index that many
    times."""
def reshape(input: Tensor, *sizes: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
            shape: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] | None = None) -> Tensor:
    """Return the elements in another shape: a view where strides allow, else a copy."""
def resize_as_(self: Tensor, the_template: Tensor, memory_format: _memory_format | None = None) -> Tensor:
    """Resize to another tensor's shape; with `preserve_format` also to its order of dims."""
def resolve_conj(input: Tensor) -> Tensor:
    """Return the tensor itself: conjugation is never lazy."""
def resolve_neg(input: Tensor) -> Tensor:
    """Return the tensor itself: negation is never lazy."""
def result_type(tensor1: _t.Any, tensor2: _t.Any) -> _dtype:
    """Return the common dtype of two tensors or numbers."""
def rms_norm(input: Tensor, normalized_shape: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
             weight: Tensor | None = None, eps: _t.Any = None) -> Tensor:
    """Divide by the root of the mean square over the last dims, then multiply by weight."""
def rnn_relu(input: Tensor, second: _t.Any, third: _t.Any, *rest: _t.Any, **options: _t.Any) -> _t.Any:
    """nn.RNN with its weights in a list, called (input, hx, params, has_biases, num_layers, dropout, train, bidirectional,
    batch_first), or packed (data, batch_sizes, hx, params, ...). Return outputs and last states."""
def rnn_relu_cell(input: Tensor, hx: _t.Any, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None,
                  b_hh: Tensor | None = None) -> _t.Any:
    """Compute one step of nn.RNNCell with these weights; return the next state or states."""
def rnn_tanh(input: Tensor, second: _t.Any, third: _t.Any, *rest: _t.Any, **options: _t.Any) -> _t.Any:
    """nn.RNN with its weights in a list, called (input, hx, params, has_biases, num_layers, dropout, train, bidirectional,
    batch_first), or packed (data, batch_sizes, hx, params, ...). Return outputs and last states."""
def rnn_tanh_cell(input: Tensor, hx: _t.Any, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None,
                  b_hh: Tensor | None = None) -> _t.Any:
    """Compute one step of nn.RNNCell with these weights; return the next state or states."""
def roll(input: Tensor, shifts: _t.Any, dims: _b.int | _c.Sequence[_b.int] | None = None, *,
         axis: _b.int | _c.Sequence[_b.int] | None = None) -> Tensor:
    """Shift elements along dims, cyclically."""
def rot90(input: Tensor, k: _b.int = 1, dims: _b.int | _c.Sequence[_b.int] = ..., *,
          axis: _b.int | _c.Sequence[_b.int] = ...) -> Tensor:
    """Rotate by 90 degrees k times in the plane of two dims."""
def round(input: Tensor, *, decimals: _b.int = 0, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Round to `decimals` places, halves to even."""
def round_(input: Tensor, *, decimals: _b.int = 0, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of round()."""
def rrelu(input: Tensor, lower: _b.float = 0.125, upper: _b.float = 0.3333333333333333,
          training: _b.bool = False) -> _t.Any:
    """Apply leaky_relu with a random slope per element in training, else with the mean of the bounds."""
def rrelu_(input: Tensor, lower: _b.float = 0.125, upper: _b.float = 0.3333333333333333,
           training: _b.bool = False) -> _t.Any:
    """Apply rrelu() in place."""
def rsqrt(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Elementwise rsqrt."""
def rsqrt_(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of rsqrt()."""
def rsub(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
         alpha: Tensor | _b.complex = 1) -> Tensor:
    """Return other - alpha * input."""
def save(obj: _t.Any, f: _t.Any, pickle_module: _t.Any = None, pickle_protocol: _t.Any = 2) -> None:
    """Write nested dicts, lists, tuples, sets, numbers, strings and tensors to a path or an open binary file."""
def scalar_tensor(s: _t.Any, *, dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
                  layout: _layout | None = None, device: _device | _b.str | _b.int | None = None,
                  requires_grad: _b.bool = False, pin_memory: _b.bool = False) -> Tensor:
    """Return a 0-d tensor of the default dtype."""
@_t.overload
def scatter(input: Tensor, dim: _b.int | _c.Sequence[_b.int], index: _t.Any, src: _t.Any = None, *,
            value: Tensor | _b.complex | None = None, reduce: _t.Any = None,
            out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Write src at indices along a dimension: out[index[i][j]][j] = src[i][j] for dim 0, and so on. `reduce` "add" or
    "multiply" combines src with the input instead."""
@_t.overload
def scatter(input: Tensor, *, axis: _b.int | _c.Sequence[_b.int], index: _t.Any, src: _t.Any = None,
            value: Tensor | _b.complex | None = None, reduce: _t.Any = None,
            out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Write src at indices along a dimension: out[index[i][j]][j] = src[i][j] for dim 0, and so on. `reduce` "add" or
    "multiply" combines src with the input instead."""
@_t.overload
def scatter_(input: Tensor, dim: _b.int | _c.Sequence[_b.int], index: _t.Any, src: _t.Any = None, *,
             value: Tensor | _b.complex | None = None, reduce: _t.Any = None,
             out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of scatter()."""
@_t.overload
def scatter_(input: Tensor, *, axis: _b.int | _c.Sequence[_b.int], index: _t.Any, src: _t.Any = None,
             value: Tensor | _b.complex | None = None, reduce: _t.Any = None,
             out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of scatter()."""
@_t.overload
def scatter_add(input: Tensor, dim: _b.int | _c.Sequence[_b.int], index: _t.Any, src: _t.Any, *,
                out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Add src at indices along a dimension: out[index[i][j]][j] += src[i][j] for dim 0, and so on."""
@_t.overload
def scatter_add(input: Tensor, *, axis: _b.int | _c.Sequence[_b.int], index: _t.Any, src: _t.Any,
                out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Add src at indices along a dimension: out[index[i][j]][j] += src[i][j] for dim 0, and so on."""
@_t.overload
def scatter_add_(input: Tensor, dim: _b.int | _c.Sequence[_b.int], index: _t.Any, src: _t.Any, *,
                 out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of scatter_add()."""
@_t.overload
def scatter_add_(input: Tensor, *, axis: _b.int | _c.Sequence[_b.int], index: _t.Any, src: _t.Any,
                 out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of scatter_add()."""
@_t.overload
def scatter_reduce(input: Tensor, dim: _b.int | _c.Sequence[_b.int], index: _t.Any, src: _t.Any, reduce: _t.Any,
                   *, include_self: _b.bool = True, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Scatter src and combine it by sum, prod, mean, amax or amin; without `include_self` the input takes no part."""
@_t.overload
def scatter_reduce(input: Tensor, *, axis: _b.int | _c.Sequence[_b.int], index: _t.Any, src: _t.Any,
                   reduce: _t.Any, include_self: _b.bool = True, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Scatter src and combine it by sum, prod, mean, amax or amin; without `include_self` the input takes no part."""
@_t.overload
def scatter_reduce_(input: Tensor, dim: _b.int | _c.Sequence[_b.int], index: _t.Any, src: _t.Any,
                    reduce: _t.Any, *, include_self: _b.bool = True,
                    out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of scatter_reduce()."""
@_t.overload
def scatter_reduce_(input: Tensor, *, axis: _b.int | _c.Sequence[_b.int], index: _t.Any, src: _t.Any,
                    reduce: _t.Any, include_self: _b.bool = True,
                    out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of scatter_reduce()."""
def searchsorted(sorted_sequence: Tensor, input: Tensor, *, out_int32: _b.bool = False, right: _b.bool = False,
                 side: _t.Any = None, sorter: Tensor | None = None,
                 out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Return where each value would be inserted into sorted rows: before its equals, or after them when `right`."""
def seed() -> _b.int:
    """Seed the default generator from the operating system, and return the seed."""
def segment_reduce(data: _t.Any, reduce: _t.Any, *, lengths: _t.Any = None, indices: _t.Any = None,
                   offsets: Tensor | None = None, axis: _b.int | _c.Sequence[_b.int] = 0,
                   unsafe: _b.bool = False, initial: _t.Any = None) -> Tensor:
    """Reduce segments along an axis by sum, mean, prod, max or min, given their lengths or their offsets (and the last
    end). A segment without elements is `initial`, or the reduction's own start; a mean of nothing is nan."""
@_t.overload
def select(input: Tensor, dim: _b.int | _c.Sequence[_b.int], index: _t.Any) -> Tensor:
    """Return a view of one index along a dimension, which disappears."""
@_t.overload
def select(input: Tensor, *, axis: _b.int | _c.Sequence[_b.int], index: _t.Any) -> Tensor:
    """Return a view of one index along a dimension, which disappears."""
@_t.overload
def select_copy(input: Tensor, dim: _b.int | _c.Sequence[_b.int], index: _t.Any) -> Tensor:
    """Return a view of one index along a dimension, which disappears. A copy."""
@_t.overload
def select_copy(input: Tensor, *, axis: _b.int | _c.Sequence[_b.int], index: _t.Any) -> Tensor:
    """Return a view of one index along a dimension, which disappears. A copy."""
@_t.overload
def select_scatter(input: Tensor, src: _t.Any, dim: _b.int | _c.Sequence[_b.int], index: _t.Any) -> Tensor:
    """Return a copy with src at one index along a dimension."""
@_t.overload
def select_scatter(input: Tensor, src: _t.Any, *, axis: _b.int | _c.Sequence[_b.int], index: _t.Any) -> Tensor:
    """Return a copy with src at one index along a dimension."""
def selu(input: Tensor) -> Tensor:
    """Return scale * elu(x, alpha), with the constants that keep mean and variance."""
def selu_(input: Tensor) -> _t.Any:
    """Apply selu() in place."""
def set_autocast_cache_enabled(enabled: _b.bool) -> None:
    """Set whether autocast caches casts of parameters."""
def set_autocast_cpu_dtype(dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any]) -> None:
    """Set the low dtype that autocast uses on the CPU."""
def set_autocast_cpu_enabled(enabled: _b.bool) -> None:
    """Switch autocast for the CPU on or off."""
def set_autocast_dtype(device_type: _b.str, dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any]) -> None:
    """Set the low dtype that autocast uses on a kind of device."""
def set_autocast_enabled(device_type: _t.Any, enabled: _t.Any = None) -> None:
    """Switch autocast on or off for a kind of device, until the next switch."""
def set_autocast_gpu_dtype(dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any]) -> None:
    """Set the low dtype that autocast uses on CUDA devices."""
def set_default_device(device: _device | _b.str | _b.int) -> None:
    """Set the device of new tensors; None is the CPU."""
def set_default_dtype(d: _t.Any) -> None:
    """Set the dtype of tensors made from Python floats (a floating point dtype)."""
def set_default_tensor_type(t: _t.Any) -> None:
    """Set the dtype of tensors made from Python floats, and the default device, by an old type name or type. Names are
    "torch.DoubleTensor", "torch.cuda.FloatTensor" and so on."""
def set_deterministic_debug_mode(debug_mode: _t.Any) -> None:
    """Set the mode of `use_deterministic_algorithms`: "default", "warn", "error", or 0, 1, 2."""
def set_float32_matmul_precision(precision: _b.str) -> None:
    """Set the precision of float32 products: "highest", "high" or "medium". CPUs always compute them in float32. On a GPU
    all but "highest" allow TF32 tensor cores, which keep 10 bits of the mantissa."""
def set_flush_denormal(mode: _b.bool) -> _b.bool:
    """Return whether the mode is possible. ingot computes with denormal numbers, so only False is."""

class set_grad_enabled(_GradMode):
    """Switch of recording, at once and as a context manager."""
    def __call__(self, fn: _t.Any) -> _t.Any: ...
    def __enter__(self) -> _t.Self: ...
    def __init__(self, mode: _b.bool) -> None: ...
    def __exit__(self, *error: _t.Any) -> None: ...

def set_num_interop_threads(count: _b.int) -> None:
    """Record the number of threads. ingot runs one operator after the other."""
def set_num_threads(count: _b.int) -> None:
    """Set the number of threads of kernels. Results do not depend on it. Running calls of other Python threads finish with
    at most as many threads as they were planned for."""
def set_printoptions(precision: _t.Any = None, threshold: _t.Any = None, edgeitems: _t.Any = None,
                     linewidth: _t.Any = None, profile: _t.Any = None, sci_mode: _t.Any = None) -> None:
    """Set how tensors print: a profile ("default", "short" or "full") first, then the options given by name."""
def set_rng_state(new_state: Tensor) -> None:
    """Set the default generator's state."""
def set_warn_always(b: _b.bool) -> None:
    """Set whether warnings that ingot gives once in a process, such as of a GPU's work that the host does, appear every
    time."""
def sgn(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Return the sign; for a complex number the point at distance 1 from 0 in its direction."""
def sgn_(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of sgn()."""
def sigmoid(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Elementwise sigmoid."""
def sigmoid_(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of sigmoid()."""
def sign(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """-1, 0 or 1; 0 for nan."""
def sign_(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of sign()."""
def signbit(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Elementwise signbit."""
def signbit_(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of signbit()."""
def sin(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Elementwise sin."""
def sin_(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of sin()."""
def sinc(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """sin(pi x) / (pi x)"""
def sinc_(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of sinc()."""
def sinh(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Elementwise sinh."""
def sinh_(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of sinh()."""
def slice_copy(input: Tensor, dim: _b.int | _c.Sequence[_b.int] = 0, start: Tensor | _b.complex | None = None,
               end: Tensor | _b.complex | None = None, step: _t.Any = 1, *,
               axis: _b.int | _c.Sequence[_b.int] = 0) -> Tensor:
    """Return a slice along a dimension. A copy."""
def slice_inverse(input: Tensor, src: _t.Any, dim: _b.int | _c.Sequence[_b.int] = 0,
                  start: Tensor | _b.complex | None = None, end: Tensor | _b.complex | None = None,
                  step: _t.Any = 1, *, axis: _b.int | _c.Sequence[_b.int] = 0) -> Tensor:
    """Return the window over input's memory with the sizes and strides of src. `dim`, `start`, `end` and `step` are
    ignored: sizes, strides and offset of src say it all."""
def slice_scatter(input: Tensor, src: _t.Any, dim: _b.int | _c.Sequence[_b.int] = 0,
                  start: Tensor | _b.complex | None = None, end: Tensor | _b.complex | None = None,
                  step: _t.Any = 1, *, out: Tensor | _c.Sequence[Tensor] | None = None,
                  axis: _b.int | _c.Sequence[_b.int] = 0) -> Tensor:
    """Return a copy with src in a slice along a dimension."""
def slogdet(A: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> _slogdet:
    """Return sign and logarithm of the absolute value of the determinant."""
def smm(input: Tensor, mat: Tensor) -> Tensor:
    """Return a sparse matrix times a dense one as a sparse matrix, with all of each row in which the first has entries."""
@_t.overload
def softmax(input: Tensor, dim: _b.int | _c.Sequence[_b.int],
            dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None, *,
            out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Return exp(x) / sum(exp(x)) along a dimension."""
@_t.overload
def softmax(input: Tensor, *, axis: _b.int | _c.Sequence[_b.int],
            dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
            out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Return exp(x) / sum(exp(x)) along a dimension."""
def sort(input: Tensor, dim: _b.int | _c.Sequence[_b.int] = -1, descending: _b.bool = False,
         stable: _b.bool = True, *, out: Tensor | _c.Sequence[Tensor] | None = None,
         axis: _b.int | _c.Sequence[_b.int] = -1) -> _sort:
    """Sort along a dim; return (values, indices). `stable` is ignored: equal elements always keep their order."""
def sparse_bsc_tensor(ccol_indices: _t.Any, row_indices: _t.Any, values: _t.Any,
                      size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] | None = None, *,
                      dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
                      layout: _layout | None = None, device: _device | _b.str | _b.int | None = None,
                      pin_memory: _b.bool = False, requires_grad: _b.bool = False,
                      check_invariants: _t.Any = None) -> Tensor:
    """Return a sparse matrix of blocks from starts of block columns, block rows and blocks. `check_invariants` is ignored:
    indices are always checked, since reading beyond them is not safe."""
def sparse_bsr_tensor(crow_indices: _t.Any, col_indices: _t.Any, values: _t.Any,
                      size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] | None = None, *,
                      dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
                      layout: _layout | None = None, device: _device | _b.str | _b.int | None = None,
                      pin_memory: _b.bool = False, requires_grad: _b.bool = False,
                      check_invariants: _t.Any = None) -> Tensor:
    """Return a sparse matrix of blocks from starts of block rows, block columns and blocks. `check_invariants` is ignored:
    indices are always checked, since reading beyond them is not safe."""
def sparse_compressed_tensor(compressed_indices: _t.Any, plain_indices: _t.Any, values: _t.Any,
                             size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] | None = None, *,
                             dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
                             layout: _layout | None = None, device: _device | _b.str | _b.int | None = None,
                             pin_memory: _b.bool = False, requires_grad: _b.bool = False,
                             check_invariants: _t.Any = None) -> Tensor:
    """Return a sparse matrix (or batch) from starts of rows or columns, the other indices, and values."""
def sparse_coo_tensor(indices: _t.Any = None, values: _t.Any = None,
                      size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] | None = None, *,
                      dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
                      device: _device | _b.str | _b.int | None = None, pin_memory: _b.bool = False,
                      requires_grad: _b.bool = False, check_invariants: _t.Any = None,
                      is_coalesced: _t.Any = None) -> Tensor:
    """Return a sparse tensor of values at indices (one row for each sparse dimension); a size alone gives no entries."""
def sparse_csc_tensor(ccol_indices: _t.Any, row_indices: _t.Any, values: _t.Any,
                      size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] | None = None, *,
                      dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
                      layout: _layout | None = None, device: _device | _b.str | _b.int | None = None,
                      pin_memory: _b.bool = False, requires_grad: _b.bool = False,
                      check_invariants: _t.Any = None) -> Tensor:
    """Return a sparse matrix from column starts (one more than columns), rows and values. `check_invariants` is ignored:
    indices are always checked, since reading beyond them is not safe."""
def sparse_csr_tensor(crow_indices: _t.Any, col_indices: _t.Any, values: _t.Any,
                      size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] | None = None, *,
                      dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
                      layout: _layout | None = None, device: _device | _b.str | _b.int | None = None,
                      pin_memory: _b.bool = False, requires_grad: _b.bool = False,
                      check_invariants: _t.Any = None) -> Tensor:
    """Return a sparse matrix from row starts (one more than rows), columns and values. `check_invariants` is ignored:
    indices are always checked, since reading beyond them is not safe."""
def split(tensor: Tensor, split_size_or_sections: _b.int | _c.Sequence[_b.int],
          dim: _b.int | _c.Sequence[_b.int] = 0, *, axis: _b.int | _c.Sequence[_b.int] = 0) -> _b.tuple[Tensor, ...]:
    """Split a tensor into pieces of one size (the last may be smaller) or of the sizes listed; return views."""
def split_copy(tensor: Tensor, split_size_or_sections: _b.int | _c.Sequence[_b.int],
               dim: _b.int | _c.Sequence[_b.int] = 0, *, axis: _b.int | _c.Sequence[_b.int] = 0) -> _b.tuple[Tensor, ...]:
    """Split a tensor into pieces of one size (the last may be smaller) or of the sizes listed; return views. A copy."""
def split_with_sizes(input: Tensor, split_sizes: _t.Any, dim: _b.int | _c.Sequence[_b.int] = 0,
                     *, axis: _b.int | _c.Sequence[_b.int] = 0) -> _b.tuple[Tensor, ...]:
    """Split a tensor into pieces of the sizes listed; return views."""
def split_with_sizes_copy(input: Tensor, split_sizes: _t.Any,
                          dim: _b.int | _c.Sequence[_b.int] = 0, *,
                          axis: _b.int | _c.Sequence[_b.int] = 0) -> _b.tuple[Tensor, ...]:
    """Split a tensor into pieces of the sizes listed; return views. A copy."""
def spmm(mat1: Tensor, mat2: Tensor, reduce: _b.str = 'sum', *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Return the product of two matrices, at least one of them sparse. `reduce` "mean", "amax" or "amin" replaces the sum
    of products, for a sparse matrix times a dense one."""
def sqrt(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Elementwise sqrt."""
def sqrt_(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of sqrt()."""
def square(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Return input * input; bool counts as int64."""
def square_(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of square()."""
def squeeze(input: Tensor, dim: _b.int | _c.Sequence[_b.int] | None = None, *more: _t.Any,
            axis: _b.int | _c.Sequence[_b.int] | None = None) -> Tensor:
    """Remove dimensions of size 1 (all, or those named)."""
def squeeze_copy(input: Tensor, dim: _b.int | _c.Sequence[_b.int] | None = None, *more: _t.Any,
                 axis: _b.int | _c.Sequence[_b.int] | None = None) -> Tensor:
    """Remove dimensions of size 1 (all, or those named). A copy."""
def sspaddmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Tensor | _b.complex = 1,
             alpha: Tensor | _b.complex = 1, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Return beta * input + alpha * (mat1 @ mat2), all sparse but mat2."""
def stack(tensors: _c.Sequence[Tensor], dim: _b.int | _c.Sequence[_b.int] = 0, *,
          out: Tensor | _c.Sequence[Tensor] | None = None, axis: _b.int | _c.Sequence[_b.int] = 0) -> Tensor:
    """Join tensors along a new dimension."""
def std(input: Tensor, dim: _b.int | _c.Sequence[_b.int] | None = None, unbiased: _b.bool | None = None,
        keepdim: _b.bool = False, *, correction: _b.float | None = None,
        out: Tensor | _c.Sequence[Tensor] | None = None, axis: _b.int | _c.Sequence[_b.int] | None = None,
        keepdims: _b.bool = False) -> Tensor:
    """Return the standard deviation over dims, divided by the count less `correction` (1 by default)."""
def std_mean(input: Tensor, dim: _b.int | _c.Sequence[_b.int] | None = None,
             unbiased: _b.bool | None = None, keepdim: _b.bool = False, *,
             correction: _b.float | None = None,
             axis: _b.int | _c.Sequence[_b.int] | None = None, keepdims: _b.bool = False) -> _b.tuple[Tensor, Tensor]:
    """Return the standard deviation and mean over dims."""
def stft(input: Tensor, n_fft: _b.int, hop_length: _b.int | None = None, win_length: _b.int | None = None,
         window: _t.Any = None, center: _b.bool = True, pad_mode: _b.str = 'reflect',
         normalized: _b.bool = False, onesided: _t.Any = None, return_complex: _t.Any = None,
         align_to_window: _t.Any = None) -> Tensor:
    """Return the spectra of windows of n_fft numbers, hop_length apart: (..., frequencies, windows)."""
def sub(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *older: _t.Any,
        alpha: Tensor | _b.complex = 1, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Return input - alpha * other."""
def sub_(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *older: _t.Any,
         alpha: Tensor | _b.complex = 1, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of sub()."""
def subtract_(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *older: _t.Any,
              alpha: Tensor | _b.complex = 1, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of subtract()."""
def sum(input: Tensor, dim: _b.int | _c.Sequence[_b.int] | None = None, keepdim: _b.bool = False, *,
        dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
        out: Tensor | _c.Sequence[Tensor] | None = None, axis: _b.int | _c.Sequence[_b.int] | None = None,
        keepdims: _b.bool = False) -> Tensor:
    """Sum over dims (all by default); integers and bools are summed in int64."""
def svd(input: Tensor, some: _b.bool = True, compute_uv: _b.bool = True, *,
        out: Tensor | _c.Sequence[Tensor] | None = None) -> _svd_uv:
    """Return U, S, V with U @ diag(S) @ V.mH = input, reduced unless `some` is False; without compute_uv, U and V are
    zeros."""
def svd_lowrank(A: Tensor, q: _t.Any = 6, niter: _t.Any = 2, M: _t.Any = None) -> _svd_uv:
    """Return U, S and V of about the q largest singular values of A (or A - M), by `niter` rounds of random products."""
def sym_float(a: _t.Any) -> Tensor:
    """Return a number as a float."""
def sym_int(a: _t.Any) -> Tensor:
    """Return a number as an integer, truncated towards zero."""
def sym_ite(b: _t.Any, t: _t.Any, f: _t.Any) -> Tensor:
    """Return `t` if a condition is true, else `f`."""
def sym_max(a: _t.Any, b: _t.Any) -> Tensor:
    """Return the larger of two sizes, as a float if one of them is."""
def sym_min(a: _t.Any, b: _t.Any) -> Tensor:
    """Return the smaller of two sizes, as a float if one of them is."""
def sym_not(a: _t.Any) -> _b.bool:
    """Return the negation of a condition."""
def sym_sqrt(a: _t.Any) -> Tensor:
    """Return the square root of a number."""
def sym_sum(args: _t.Any) -> Tensor:
    """Return the sum of sizes."""
def t(input: Tensor) -> Tensor:
    """Transpose a matrix; tensors with fewer dimensions stay as they are."""
def t_copy(input: Tensor) -> Tensor:
    """Transpose a matrix; tensors with fewer dimensions stay as they are. A copy."""
def take(input: Tensor, index: _t.Any, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Return the elements at positions of the flattened tensor, in the shape of index."""
def take_along_dim(input: Tensor, indices: _t.Any, dim: _b.int | _c.Sequence[_b.int] | None = None, *,
                   out: Tensor | _c.Sequence[Tensor] | None = None,
                   axis: _b.int | _c.Sequence[_b.int] | None = None) -> Tensor:
    """Pick elements along a dimension by indices that broadcast with the other dimensions."""
def tan(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Elementwise tan."""
def tan_(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of tan()."""
def tanh(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Elementwise tanh."""
def tanh_(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of tanh()."""

def tensor(data: _t.Any, *, dtype: dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None, device: device | _b.str | _b.int | None = None,
           requires_grad: _b.bool = False, pin_memory: _b.bool = False) -> Tensor:
    """Return a copy of data as a tensor: nested sequences, numbers, arrays or tensors."""
def tensor_split(input: Tensor, indices_or_sections: _t.Any,
                 dim: _b.int | _c.Sequence[_b.int] = 0, *, axis: _b.int | _c.Sequence[_b.int] = 0) -> _b.tuple[Tensor, ...]:
    """Split a tensor into `n` pieces whose sizes differ by at most one, or at the indices listed; return views."""
def tensordot(a: _t.Any, b: _t.Any, dims: _b.int | _c.Sequence[_b.int] = 2, *,
              out: Tensor | _c.Sequence[Tensor] | None = None, axis: _b.int | _c.Sequence[_b.int] = 2) -> Tensor:
    """Sum products over several dims: the last of a and the first of b, or the two given lists."""
def threshold(input: Tensor, threshold: _t.Any, value: Tensor | _b.complex) -> Tensor:
    """Return the input where it is above the threshold, `value` elsewhere."""
def threshold_(input: Tensor, threshold: _t.Any, value: Tensor | _b.complex) -> _t.Any:
    """Apply threshold() in place."""
def tile(input: Tensor, *sizes: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
         dims: _b.int | _c.Sequence[_b.int] | None = None, axis: _b.int | _c.Sequence[_b.int] | None = None) -> Tensor:
    """Repeat the tensor; missing leading counts are 1."""
def topk(input: Tensor, k: _b.int, dim: _b.int | _c.Sequence[_b.int] = -1, largest: _b.bool = True,
         sorted: _b.bool = True, *, out: Tensor | _c.Sequence[Tensor] | None = None,
         axis: _b.int | _c.Sequence[_b.int] = -1) -> _topk:
    """Return the k largest (or smallest) elements along a dim, in order, as (values, indices); the first among equals."""
def trace(input: Tensor) -> Tensor:
    """Return the sum of a matrix's diagonal."""
@_t.overload
def transpose(input: Tensor, dim0: _b.int, dim1: _b.int | None = None) -> Tensor:
    """Swap two dimensions, or reorder all by one tuple, as in NumPy."""
@_t.overload
def transpose(input: Tensor, *, axis0: _b.int, axis1: _b.int | None = None) -> Tensor:
    """Swap two dimensions, or reorder all by one tuple, as in NumPy."""
@_t.overload
def transpose_copy(input: Tensor, dim0: _b.int, dim1: _b.int | None = None) -> Tensor:
    """Swap two dimensions, or reorder all by one tuple, as in NumPy. A copy."""
@_t.overload
def transpose_copy(input: Tensor, *, axis0: _b.int, axis1: _b.int | None = None) -> Tensor:
    """Swap two dimensions, or reorder all by one tuple, as in NumPy. A copy."""
def trapezoid(y: _t.Any, x: _t.Any = None, *, dx: _t.Any = 1, dim: _b.int | _c.Sequence[_b.int] = -1,
              axis: _b.int | _c.Sequence[_b.int] = -1) -> Tensor:
    """Return the integral of y over the positions x (or steps of dx) by the trapezoidal rule."""
def triangular_solve(b: _t.Any, A: Tensor, upper: _b.bool = True, transpose: _b.bool = False,
                     unitriangular: _b.bool = False, *,
                     out: Tensor | _c.Sequence[Tensor] | None = None) -> _triangular_solve:
    """Return X with A @ X = b (or A^T @ X = b), from one triangle of A, and a copy of A; newer: linalg.solve_triangular."""
def tril(input: Tensor, diagonal: _b.int = 0, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Return a copy with zeros above a diagonal."""
def tril_(input: Tensor, diagonal: _b.int = 0, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of tril()."""
def tril_indices(row: _t.Any, col: _t.Any, offset: _t.Any = 0, *,
                 dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] = ...,
                 device: _device | _b.str | _b.int | None = None, layout: _layout | None = None) -> Tensor:
    """Return rows and columns of the lower triangle, as a tensor of 2 rows."""
def triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, margin: _b.float = 1.0,
                        p: _b.float | _b.str = 2.0, eps: _b.float = 1e-06, swap: _b.bool = False,
                        reduction: _t.Any = 1) -> _t.Any:
    """Return max(0, distance to positive - distance to negative + margin)."""
def triu(input: Tensor, diagonal: _b.int = 0, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Return a copy with zeros below a diagonal."""
def triu_(input: Tensor, diagonal: _b.int = 0, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of triu()."""
def triu_indices(row: _t.Any, col: _t.Any, offset: _t.Any = 0, *,
                 dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] = ...,
                 device: _device | _b.str | _b.int | None = None, layout: _layout | None = None) -> Tensor:
    """Return rows and columns of the upper triangle, as a tensor of 2 rows."""
def true_divide(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
                out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Return input / other."""
def true_divide_(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
                 out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of true_divide()."""
def trunc(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Elementwise trunc."""
def trunc_(input: Tensor, *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of trunc()."""
def typename(obj: _t.Any) -> _b.str:
    """Return the type name of an object, as in `ingot.FloatTensor`; for a class or function its own name, with the
    module."""
def unbind(input: Tensor, dim: _b.int | _c.Sequence[_b.int] = 0, *,
           axis: _b.int | _c.Sequence[_b.int] = 0) -> _b.tuple[Tensor, ...]:
    """Return a view for every index along a dimension."""
def unbind_copy(input: Tensor, dim: _b.int | _c.Sequence[_b.int] = 0, *,
                axis: _b.int | _c.Sequence[_b.int] = 0) -> _b.tuple[Tensor, ...]:
    """Return a view for every index along a dimension. A copy."""
@_t.overload
def unflatten(input: Tensor, dim: _b.int | _c.Sequence[_b.int],
              sizes: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex]) -> Tensor:
    """Split one dimension into several."""
@_t.overload
def unflatten(input: Tensor, *, axis: _b.int | _c.Sequence[_b.int],
              sizes: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex]) -> Tensor:
    """Split one dimension into several."""
def unfold_copy(self: Tensor, dimension: _t.Any, size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
                step: _t.Any) -> Tensor:
    """Return windows of `size` every `step` along a dimension, as a new last dimension. A copy."""

@_t.overload
def unique(input: Tensor, sorted: _b.bool = True, return_inverse: _t.Literal[False] = False,
           return_counts: _t.Literal[False] = False, dim: _b.int | None = None) -> Tensor: ...
@_t.overload
def unique(input: Tensor, sorted: _b.bool = True, *, return_inverse: _t.Literal[True], return_counts: _t.Literal[True],
           dim: _b.int | None = None) -> _b.tuple[Tensor, Tensor, Tensor]: ...
@_t.overload
def unique(input: Tensor, sorted: _b.bool = True, *, return_inverse: _t.Literal[True], return_counts: _t.Literal[False] = False,
           dim: _b.int | None = None) -> _b.tuple[Tensor, Tensor]: ...
@_t.overload
def unique(input: Tensor, sorted: _b.bool = True, *, return_inverse: _t.Literal[False] = False, return_counts: _t.Literal[True],
           dim: _b.int | None = None) -> _b.tuple[Tensor, Tensor]: ...
@_t.overload
def unique(input: Tensor, sorted: _b.bool = True, return_inverse: _b.bool = False, return_counts: _b.bool = False,
           dim: _b.int | None = None) -> _t.Any:
    """Return the sorted distinct values (of slices along `dim`), with indices into them and counts if requested. `sorted` is ignored: False allows any order, this one too."""
def unique_consecutive(input: Tensor, return_inverse: _b.bool = False, return_counts: _b.bool = False,
                       dim: _b.int | _c.Sequence[_b.int] | None = None, *,
                       axis: _b.int | _c.Sequence[_b.int] | None = None) -> _t.Any:
    """Drop repeats of a neighbour; also return indices into the result and run lengths if requested."""
def unravel_index(indices: _t.Any, shape: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex]) -> _b.tuple[Tensor, ...]:
    """Return the coordinates of flat indices into a tensor of `shape`, one tensor for each dimension."""
def unsafe_chunk(input: Tensor, chunks: _b.int, dim: _b.int | _c.Sequence[_b.int] = 0, *,
                 axis: _b.int | _c.Sequence[_b.int] = 0) -> _b.tuple[Tensor, ...]:
    """Same as chunk()."""
def unsafe_split(tensor: Tensor, split_size: _t.Any, dim: _b.int | _c.Sequence[_b.int] = 0, *,
                 axis: _b.int | _c.Sequence[_b.int] = 0) -> _b.tuple[Tensor, ...]:
    """Same as split()."""
def unsafe_split_with_sizes(input: Tensor, split_sizes: _t.Any,
                            dim: _b.int | _c.Sequence[_b.int] = 0, *,
                            axis: _b.int | _c.Sequence[_b.int] = 0) -> _b.tuple[Tensor, ...]:
    """Same as split_with_sizes()."""
@_t.overload
def unsqueeze(input: Tensor, dim: _b.int | _c.Sequence[_b.int]) -> Tensor:
    """Insert a dimension of size 1 at `dim`."""
@_t.overload
def unsqueeze(input: Tensor, *, axis: _b.int | _c.Sequence[_b.int]) -> Tensor:
    """Insert a dimension of size 1 at `dim`."""
@_t.overload
def unsqueeze_copy(input: Tensor, dim: _b.int | _c.Sequence[_b.int]) -> Tensor:
    """Insert a dimension of size 1 at `dim`. A copy."""
@_t.overload
def unsqueeze_copy(input: Tensor, *, axis: _b.int | _c.Sequence[_b.int]) -> Tensor:
    """Insert a dimension of size 1 at `dim`. A copy."""
def use_deterministic_algorithms(mode: _b.bool, *, warn_only: _b.bool = False) -> None:
    """Record the mode. Every operator of ingot is deterministic in any mode."""
def vander(x: _t.Any, N: _t.Any = None, increasing: _b.bool = False) -> Tensor:
    """Return the powers of a vector's elements as columns, falling unless `increasing`."""
def var(input: Tensor, dim: _b.int | _c.Sequence[_b.int] | None = None, unbiased: _b.bool | None = None,
        keepdim: _b.bool = False, *, correction: _b.float | None = None,
        out: Tensor | _c.Sequence[Tensor] | None = None, axis: _b.int | _c.Sequence[_b.int] | None = None,
        keepdims: _b.bool = False) -> Tensor:
    """Return the variance over dims, divided by the count less `correction` (1 by default)."""
def var_mean(input: Tensor, dim: _b.int | _c.Sequence[_b.int] | None = None,
             unbiased: _b.bool | None = None, keepdim: _b.bool = False, *,
             correction: _b.float | None = None,
             axis: _b.int | _c.Sequence[_b.int] | None = None, keepdims: _b.bool = False) -> _b.tuple[Tensor, Tensor]:
    """Return the variance and mean over dims."""
def vdot(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
         out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Return the inner product of two vectors, the first one conjugated."""
def view_as_complex(input: Tensor) -> Tensor:
    """Return complex numbers from pairs of parts in the last dimension, of size 2."""
def view_as_complex_copy(input: Tensor) -> Tensor:
    """Return complex numbers from pairs of parts in the last dimension, of size 2. A copy."""
def view_as_real(input: Tensor) -> Tensor:
    """Return pairs of real and imaginary parts, in a last dimension of 2."""
def view_as_real_copy(input: Tensor) -> Tensor:
    """Return pairs of real and imaginary parts, in a last dimension of 2. A copy."""
def view_copy(self: Tensor, *shape: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
              dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
              size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] | None = None) -> Tensor:
    """Return a view in another shape, or, given a dtype, with the memory read as that dtype. Raise where the strides do not
    fit."""

def vmap(func: _c.Callable[_P, _R], in_dims: _t.Any = 0, out_dims: _t.Any = 0, randomness: _b.str = "error", *,
         chunk_size: _b.int | None = None) -> _Transformed[_P, _R]:
    """Return a function that applies func to every sample of a batch at once and joins the results."""
def vsplit(input: Tensor, indices_or_sections: _t.Any) -> _b.tuple[Tensor, ...]:
    """Equal pieces, or pieces cut at the indices listed, as views."""
def vstack(tensors: _c.Sequence[Tensor], *, out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """Join tensors one below the other; vectors are rows."""

@_t.overload
def where(condition: Tensor) -> _b.tuple[Tensor, ...]: ...
@_t.overload
def where(condition: Tensor, input: Tensor | _b.complex, other: Tensor | _b.complex, *, out: Tensor | None = None) -> Tensor:
    """Return input where the condition is true, other elsewhere; with the condition alone, its nonzero indices."""
def while_loop(cond_fn: _t.Any, body_fn: _t.Any, carried_inputs: _t.Any) -> _b.tuple[_t.Any, ...]:
    """Repeat carried = body_fn(*carried) while cond_fn(*carried) is true; return the last values as a tuple."""
def xlogy(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
          out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """x log y; 0 where x is 0, unless y is nan."""
def xlogy_(input: Tensor, other: Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
           out: Tensor | _c.Sequence[Tensor] | None = None) -> Tensor:
    """In-place version of xlogy()."""
def zero_(self: Tensor) -> Tensor:
    """Write zeros to all elements."""
def zeros(*sizes: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
          size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] | None = None,
          out: Tensor | _c.Sequence[Tensor] | None = None,
          dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
          layout: _layout | None = None, device: _device | _b.str | _b.int | None = None,
          requires_grad: _b.bool = False, pin_memory: _b.bool = False) -> Tensor:
    """Return a tensor of zeros."""
def zeros_like(input: Tensor, *, dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
               layout: _layout | None = None, device: _device | _b.str | _b.int | None = None,
               requires_grad: _b.bool = False, memory_format: _memory_format | None = None,
               pin_memory: _b.bool = False) -> Tensor:
    """Return zeros with the shape and dtype of another tensor."""

__all__: _b.list[_b.str]

class _AbsentMethod:
    """Descriptor of a name that tensors do not have."""
    instead: _b.str
    name: _b.str
    def __get__(self, tensor: _t.Any, cls: _t.Any) -> _t.Any: ...
    def __init__(self, name: _b.str, instead: _b.str) -> None: ...

class _Aval:
    """Type of a value. Equal avals are interchangeable."""
    dtype: _dtype
    shape: _b.tuple[_t.Any, ...]
    def __eq__(self, other: _t.Any) -> _t.Any: ...
    def __hash__(self) -> _b.int: ...
    def __init__(self, shape: _b.tuple[_t.Any, ...], dtype: _dtype) -> None: ...
    @_b.property
    def is_symbolic(self) -> _b.bool: ...
    @_b.property
    def key(self) -> _b.tuple[_t.Any, ...]:
        """Hashable description. Equal sizes are the same number or the same expression."""
    @_b.property
    def nbytes(self) -> _b.int: ...
    @_b.property
    def ndim(self) -> _b.int: ...
    @_b.property
    def size(self) -> _b.int: ...
    def with_dtype(self, dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any]) -> _Aval: ...
    def with_shape(self, shape: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex]) -> _Aval: ...

_segment_reduce = segment_reduce
absolute = abs
arccos = acos
arccosh = acosh
arcsin = asin
arcsinh = asinh
arctan = atan
arctan2 = atan2
arctanh = atanh
clip = clamp
concat = cat
concatenate = cat
divide = div
fix = trunc
ger = outer
greater = gt
greater_equal = ge
grid_sampler_2d = grid_sampler
grid_sampler_3d = grid_sampler
hsmm = hspmm
less = lt
less_equal = le
moveaxis = movedim
multiply = mul
native_channel_shuffle = channel_shuffle
negative = neg
nelement = numel
not_equal = ne
row_stack = vstack
saddmm = sspaddmm
subtract = sub
swapaxes = transpose
swapdims = transpose
trapz = trapezoid
