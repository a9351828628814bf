"""The face of ingot: dtypes, functions, and the modules beneath.

Made by `make stubs` from the live package; not edited by hand.
"""

import builtins
from typing import Any, overload

from . import jit as jit
from .ir import dtype as _dtype_module
from .ir.dtype import DType as _DType
from .ir.errors import IngotError as IngotError
from .ir.errors import OutOfMemoryError as OutOfMemoryError
from .ir.symbols.symbolic import SymFloat as SymFloat
from .ir.symbols.symbolic import SymInt as SymInt
from .jit import custom_ops as _custom_ops
from .jit import fx as fx
from .jit import onnx as onnx
from .jit.custom_ops import namespaces as _namespaces
from .jit.custom_ops.custom_op import Tag as Tag
from .jit.exporting.program import exported_program as _exported_program
from .jit.torchscript.scripting import ScriptModule as ScriptModule
from .jit.tracing import compiler as compiler
from .jit.tracing.compiler import compile as compile
from .runtime import amp as amp
from .runtime import array_api as array_api
from .runtime import backends as backends
from .runtime import distributed as distributed
from .runtime import distributions as distributions
from .runtime import masked as masked
from .runtime import multiprocessing as multiprocessing
from .runtime import nested as nested
from .runtime import nn as nn
from .runtime import optim as optim
from .runtime import profiler as profiler
from .runtime import quantization as quantization
from .runtime import quasirandom as quasirandom
from .runtime import serialization as serialization
from .runtime import signal as signal
from .runtime import toolbox as _toolbox
from .runtime.amp.autocast_mode import autocast as autocast
from .runtime.amp.grad_scaler import GradScaler as GradScaler
from .runtime.api.math.symbolic_numbers import SymBool as SymBool
from .runtime.api.register import annotation_types as _annotation_types
from .runtime.api.register import layouts as _layouts_module
from .runtime.api.register import memory_formats as _memory_formats_module
from .runtime.api.register import overrides as overrides
from .runtime.api.register import quantized_dtypes as _quantized_dtypes_module
from .runtime.api.register import return_types as _return_types_module
from .runtime.api.register import return_types as return_types
from .runtime.api.register.annotation_types import DeviceObjType as DeviceObjType
from .runtime.api.register.annotation_types import TensorType as TensorType
from .runtime.api.register.dtype_info import finfo as finfo
from .runtime.api.register.dtype_info import iinfo as iinfo
from .runtime.api.register.layouts import layout as layout
from .runtime.api.register.memory_formats import MemoryFormat as _MemoryFormat
from .runtime.api.register.quantized_dtypes import qscheme as qscheme
from .runtime.api.tensor_classes import legacy_types as _legacy_types_module
from .runtime.api.tensor_classes import typed_storage as _typed_storage
from .runtime.api.tensor_classes import typed_storage as _typed_storage_module
from .runtime.api.tensor_classes.typed_storage import StorageBase as StorageBase
from .runtime.api.tensor_classes.typed_storage import TypedStorage as TypedStorage
from .runtime.api.tensor_classes.typed_storage import UntypedStorage as UntypedStorage
from .runtime.autograd.grad_mode import enable_grad as enable_grad
from .runtime.autograd.grad_mode import inference_mode as inference_mode
from .runtime.autograd.grad_mode import no_grad as no_grad
from .runtime.autograd.grad_mode import set_grad_enabled as set_grad_enabled
from .runtime.backends import absent_accelerators as _absent_accelerators
from .runtime.backends import accelerator as accelerator
from .runtime.backends import cpu_device as _cpu_device
from .runtime.core import device as _device_module
from .runtime.core import random as _random_module
from .runtime.core import random as random
from .runtime.core import tensor as _tensor_module
from .runtime.core.device import Device as _Device
from .runtime.core.random import Generator as Generator
from .runtime.core.tensor import Size as Size
from .runtime.core.tensor import Tensor as Tensor
from .runtime.cuda import api as _api
from .runtime.cuda.driver.streams import Event as Event
from .runtime.cuda.driver.streams import Stream as Stream
from .runtime.distributed.groups import futures as futures
from .runtime.distributed.groups.futures import Future as Future
from .runtime.linalg import fft as fft
from .runtime.linalg import linalg as linalg
from .runtime.linalg import special as special
from .runtime.namespaces import autograd as autograd
from .runtime.namespaces import build_config as _build_config
from .runtime.namespaces import func as func
from .runtime.namespaces import functional_names as _functional_names
from .runtime.namespaces import sparse as sparse
from .runtime.namespaces import torch_version as torch_version
from .runtime.namespaces import version as version
from .runtime.quantization import ao as ao
from .runtime.serialization import PyTorchFileReader as PyTorchFileReader
from .runtime.toolbox import hub as hub
from .runtime.toolbox import testing as testing

__config__ = _build_config
cpu = _cpu_device
cuda = _api
export = _exported_program
functional = _functional_names
library = _custom_ops
mps = _absent_accelerators
mtia = _absent_accelerators
ops = _namespaces
storage = _typed_storage
types = _annotation_types
utils = _toolbox
xpu = _absent_accelerators
__version__: builtins.str
__all__: builtins.list[builtins.str]

bool: _dtype_module.DType
uint8: _dtype_module.DType
uint16: _dtype_module.DType
uint32: _dtype_module.DType
uint64: _dtype_module.DType
int8: _dtype_module.DType
int16: _dtype_module.DType
int32: _dtype_module.DType
int64: _dtype_module.DType
float8_e4m3fn: _dtype_module.DType
float8_e5m2: _dtype_module.DType
float16: _dtype_module.DType
bfloat16: _dtype_module.DType
float32: _dtype_module.DType
float64: _dtype_module.DType
complex64: _dtype_module.DType
complex128: _dtype_module.DType

BFloat16Storage: _typed_storage_module.StorageType
BFloat16Tensor: _legacy_types_module.TensorType
BoolStorage: _typed_storage_module.StorageType
BoolTensor: _legacy_types_module.TensorType
ByteStorage: _typed_storage_module.StorageType
ByteTensor: _legacy_types_module.TensorType
CharStorage: _typed_storage_module.StorageType
CharTensor: _legacy_types_module.TensorType
ComplexDoubleStorage: _typed_storage_module.StorageType
ComplexFloatStorage: _typed_storage_module.StorageType
DoubleStorage: _typed_storage_module.StorageType
DoubleTensor: _legacy_types_module.TensorType
FloatStorage: _typed_storage_module.StorageType
FloatTensor: _legacy_types_module.TensorType
HalfStorage: _typed_storage_module.StorageType
HalfTensor: _legacy_types_module.TensorType
IntStorage: _typed_storage_module.StorageType
IntTensor: _legacy_types_module.TensorType
LongStorage: _typed_storage_module.StorageType
LongTensor: _legacy_types_module.TensorType
ShortStorage: _typed_storage_module.StorageType
ShortTensor: _legacy_types_module.TensorType
def _assert(condition, message) -> Tensor:
    """Raise AssertionError unless a condition holds; vision libraries use it."""
def _assert_async(input, assert_msg=None) -> Tensor:
    """Raise RuntimeError unless a tensor of one element is true. The check is synchronous."""
def _cast_Byte(input, non_blocking: builtins.bool = False) -> Tensor:
    """Return a tensor as ingot.uint8."""
def _cast_Char(input, non_blocking: builtins.bool = False) -> Tensor:
    """Return a tensor as ingot.int8."""
def _cast_Double(input, non_blocking: builtins.bool = False) -> Tensor:
    """Return a tensor as ingot.float64."""
def _cast_Float(input, non_blocking: builtins.bool = False) -> Tensor:
    """Return a tensor as ingot.float32."""
def _cast_Half(input, non_blocking: builtins.bool = False) -> Tensor:
    """Return a tensor as ingot.float16."""
def _cast_Int(input, non_blocking: builtins.bool = False) -> Tensor:
    """Return a tensor as ingot.int32."""
def _cast_Long(input, non_blocking: builtins.bool = False) -> Tensor:
    """Return a tensor as ingot.int64."""
def _cast_Short(input, non_blocking: builtins.bool = False) -> Tensor:
    """Return a tensor as ingot.int16."""
def _check(cond, message=None) -> Tensor: ...
def _check_index(cond, message=None) -> Tensor: ...
def _check_is_size(i, message=None, *, max=None) -> Tensor:
    """Raise RuntimeError unless a number can be a size, up to `max`."""
def _check_not_implemented(cond, message=None) -> Tensor: ...
def _check_tensor_all(cond, message=None) -> Tensor:
    """Raise RuntimeError unless all elements of a boolean tensor are true."""
def _check_tensor_all_with(error_type, cond, message=None) -> Tensor:
    """Raise an error of the given class unless all elements of a boolean tensor are true."""
def _check_type(cond, message=None) -> Tensor: ...
def _check_value(cond, message=None) -> Tensor: ...
def _check_with(error_type, cond, message=None) -> Tensor:
    """Raise an error of the given class unless a condition holds."""
def _convert_indices_from_coo_to_csr(input, size, *, out_int32: builtins.bool = False) -> Tensor:
    """Return row starts for entries with sorted rows, and the end of the last row."""
def _convert_indices_from_csr_to_coo(crow_indices, col_indices, *, out_int32: builtins.bool = False,
                                     transpose: builtins.bool = False) -> Tensor:
    """Return the row and column of each entry from row starts; the column first if transposed."""
def _foreach_abs(self, *operands, **options) -> Any:
    """abs() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_abs_(self, *operands, **options) -> Any:
    """abs_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_acos(self, *operands, **options) -> Any:
    """acos() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_acos_(self, *operands, **options) -> Any:
    """acos_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_add(self, *operands, **options) -> Any:
    """add() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_add_(self, *operands, **options) -> Any:
    """add_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_addcdiv(self, tensor1, tensor2, scalars=None, *, value=1) -> builtins.tuple:
    """addcdiv() of each tensor of a list, with one factor for all or one for each."""
def _foreach_addcdiv_(self, tensor1, tensor2, scalars=None, *, value=1) -> Any:
    """addcdiv_() of each tensor of a list, with one factor for all or one for each."""
def _foreach_addcmul(self, tensor1, tensor2, scalars=None, *, value=1) -> builtins.tuple:
    """addcmul() of each tensor of a list, with one factor for all or one for each."""
def _foreach_addcmul_(self, tensor1, tensor2, scalars=None, *, value=1) -> Any:
    """addcmul_() of each tensor of a list, with one factor for all or one for each."""
def _foreach_asin(self, *operands, **options) -> Any:
    """asin() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_asin_(self, *operands, **options) -> Any:
    """asin_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_atan(self, *operands, **options) -> Any:
    """atan() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_atan_(self, *operands, **options) -> Any:
    """atan_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_ceil(self, *operands, **options) -> Any:
    """ceil() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_ceil_(self, *operands, **options) -> Any:
    """ceil_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_clamp_max(self, *operands, **options) -> Any:
    """clamp_max() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_clamp_max_(self, *operands, **options) -> Any:
    """clamp_max_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_clamp_min(self, *operands, **options) -> Any:
    """clamp_min() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_clamp_min_(self, *operands, **options) -> Any:
    """clamp_min_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_clone(self, *operands, **options) -> Any:
    """clone() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_copy_(self, *operands, **options) -> Any:
    """copy_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_cos(self, *operands, **options) -> Any:
    """cos() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_cos_(self, *operands, **options) -> Any:
    """cos_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_cosh(self, *operands, **options) -> Any:
    """cosh() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_cosh_(self, *operands, **options) -> Any:
    """cosh_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_div(self, *operands, **options) -> Any:
    """div() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_div_(self, *operands, **options) -> Any:
    """div_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_erf(self, *operands, **options) -> Any:
    """erf() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_erf_(self, *operands, **options) -> Any:
    """erf_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_erfc(self, *operands, **options) -> Any:
    """erfc() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_erfc_(self, *operands, **options) -> Any:
    """erfc_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_exp(self, *operands, **options) -> Any:
    """exp() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_exp_(self, *operands, **options) -> Any:
    """exp_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_expm1(self, *operands, **options) -> Any:
    """expm1() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_expm1_(self, *operands, **options) -> Any:
    """expm1_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_floor(self, *operands, **options) -> Any:
    """floor() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_floor_(self, *operands, **options) -> Any:
    """floor_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_frac(self, *operands, **options) -> Any:
    """frac() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_frac_(self, *operands, **options) -> Any:
    """frac_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_lerp(self, *operands, **options) -> Any:
    """lerp() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_lerp_(self, *operands, **options) -> Any:
    """lerp_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_lgamma(self, *operands, **options) -> Any:
    """lgamma() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_lgamma_(self, *operands, **options) -> Any:
    """lgamma_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_log(self, *operands, **options) -> Any:
    """log() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_log10(self, *operands, **options) -> Any:
    """log10() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_log10_(self, *operands, **options) -> Any:
    """log10_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_log1p(self, *operands, **options) -> Any:
    """log1p() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_log1p_(self, *operands, **options) -> Any:
    """log1p_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_log2(self, *operands, **options) -> Any:
    """log2() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_log2_(self, *operands, **options) -> Any:
    """log2_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_log_(self, *operands, **options) -> Any:
    """log_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_max(self, *operands, **options) -> Any:
    """max() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_maximum(self, *operands, **options) -> Any:
    """maximum() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_maximum_(self, *operands, **options) -> Any:
    """maximum_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_minimum(self, *operands, **options) -> Any:
    """minimum() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_minimum_(self, *operands, **options) -> Any:
    """minimum_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_mm(self, *operands, **options) -> Any:
    """mm() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_mul(self, *operands, **options) -> Any:
    """mul() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_mul_(self, *operands, **options) -> Any:
    """mul_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_neg(self, *operands, **options) -> Any:
    """neg() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_neg_(self, *operands, **options) -> Any:
    """neg_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_norm(self, ord=2, dtype=None) -> builtins.tuple:
    """Return the vector norm of each tensor of a list."""
def _foreach_pow(self, exponent) -> Any:
    """Return each tensor of a list to a power; of a number, its powers with each tensor."""
def _foreach_pow_(self, *operands, **options) -> Any:
    """pow_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_powsum(self, ord=2, dtype=None) -> builtins.tuple:
    """Return the sum of |x| ** ord over each tensor of a list."""
def _foreach_reciprocal(self, *operands, **options) -> Any:
    """reciprocal() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_reciprocal_(self, *operands, **options) -> Any:
    """reciprocal_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_round(self, *operands, **options) -> Any:
    """round() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_round_(self, *operands, **options) -> Any:
    """round_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_rsqrt(self, *operands, **options) -> Any:
    """rsqrt() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_rsqrt_(self, *operands, **options) -> Any:
    """rsqrt_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_sigmoid(self, *operands, **options) -> Any:
    """sigmoid() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_sigmoid_(self, *operands, **options) -> Any:
    """sigmoid_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_sign(self, *operands, **options) -> Any:
    """sign() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_sign_(self, *operands, **options) -> Any:
    """sign_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_sin(self, *operands, **options) -> Any:
    """sin() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_sin_(self, *operands, **options) -> Any:
    """sin_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_sinh(self, *operands, **options) -> Any:
    """sinh() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_sinh_(self, *operands, **options) -> Any:
    """sinh_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_sqrt(self, *operands, **options) -> Any:
    """sqrt() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_sqrt_(self, *operands, **options) -> Any:
    """sqrt_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_sub(self, *operands, **options) -> Any:
    """sub() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_sub_(self, *operands, **options) -> Any:
    """sub_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_tan(self, *operands, **options) -> Any:
    """tan() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_tan_(self, *operands, **options) -> Any:
    """tan_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_tanh(self, *operands, **options) -> Any:
    """tanh() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_tanh_(self, *operands, **options) -> Any:
    """tanh_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_trunc(self, *operands, **options) -> Any:
    """trunc() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_trunc_(self, *operands, **options) -> Any:
    """trunc_() of each tensor of a list; operands are lists as long, or the same for all."""
def _foreach_zero_(self) -> Any:
    """Write zeros into each tensor of a list."""
def _grouped_mm(mat_a, mat_b, offs=None, bias=None, out_dtype=None) -> Tensor:
    """Return a product for each group; offs[g] is the end of group g."""
def _scaled_mm(input, mat2, scale_a, scale_b, bias=None, scale_result=None, out_dtype=None,
               use_fast_accum: builtins.bool = False, *, out=None) -> Tensor:
    """Return input @ mat2 * scale_a * scale_b + bias of float8 matrices, in `out_dtype` (by default the input's). Scales
    are float32 tensors of one element, or of one for each row of input (shape (M, 1)) and each column of mat2 (shape (1,
    N))."""
def _segment_reduce(data, reduce, *, lengths=None, indices=None, offsets=None, axis=0,
                    unsafe: builtins.bool = False, initial=None) -> Tensor:
    """Reduce segments along an axis by sum, mean, prod, max or min, given their lengths or their offsets (and the last
    end). A segment without elements is `initial`, or the reduction's own start; a mean of nothing is nan."""
def _shape_as_tensor(input) -> Tensor:
    """Return the sizes of a tensor, as a tensor."""
@overload
def _softmax_backward_data(grad_output, output, dim, input_dtype) -> Tensor:
    """Return the gradient of a softmax's input from that of its output, for a custom `backward`."""
@overload
def _softmax_backward_data(grad_output, output, *, axis, input_dtype) -> Tensor:
    """Return the gradient of a softmax's input from that of its output, for a custom `backward`."""
def _standard_gamma(alpha, generator=None) -> Tensor:
    """Return gamma numbers of the given concentrations and rate 1, differentiable in the concentrations."""
def abs(input, *, out=None) -> Tensor:
    """Return absolute values."""
def abs_(input, *, out=None) -> Tensor:
    """In-place version of abs()."""
def absolute(input, *, out=None) -> Tensor:
    """Return absolute values."""
def absolute_(input, *, out=None) -> Tensor:
    """In-place version of absolute()."""
def acos(input, *, out=None) -> Tensor:
    """Elementwise acos."""
def acos_(input, *, out=None) -> Tensor:
    """In-place version of acos()."""
def acosh(input, *, out=None) -> Tensor:
    """Elementwise acosh."""
def acosh_(input, *, out=None) -> Tensor:
    """In-place version of acosh()."""
def adaptive_avg_pool1d(input, output_size) -> Tensor:
    """Return the mean of each of `output_size` even bins."""
def adaptive_max_pool1d(input, output_size) -> builtins.tuple[Tensor, Tensor]:
    """Return the largest element of each of `output_size` even bins, and its index."""
def add(input, other, *older, alpha=1, out=None) -> Tensor:
    """Return input + alpha * other."""
def add_(input, other, *older, alpha=1, out=None) -> Tensor:
    """In-place version of add()."""
def addbmm(input, batch1, batch2, *older, beta=1, alpha=1, out=None) -> Tensor:
    """Return beta * input + alpha * the sum of all products in the batch."""
def addbmm_(input, batch1, batch2, *older, beta=1, alpha=1, out=None) -> Tensor:
    """In-place version of addbmm()."""
def addcdiv(input, tensor1, tensor2, *older, value=1, out=None) -> Tensor:
    """Return input + value * tensor1 / tensor2."""
def addcdiv_(input, tensor1, tensor2, *older, value=1, out=None) -> Tensor:
    """In-place version of addcdiv()."""
def addcmul(input, tensor1, tensor2, *older, value=1, out=None) -> Tensor:
    """Return input + value * tensor1 * tensor2."""
def addcmul_(input, tensor1, tensor2, *older, value=1, out=None) -> Tensor:
    """In-place version of addcmul()."""
def addmm(input, mat1, mat2, *older, beta=1, alpha=1, out=None) -> Tensor:
    """Return beta * input + alpha * mat1 @ mat2."""
def addmm_(input, mat1, mat2, *older, beta=1, alpha=1, out=None) -> Tensor:
    """In-place version of addmm()."""
def addmv(input, mat, vec, *older, beta=1, alpha=1, out=None) -> Tensor:
    """Return beta * input + alpha * mat @ vec."""
def addmv_(input, mat, vec, *older, beta=1, alpha=1, out=None) -> Tensor:
    """In-place version of addmv()."""
def addr(input, vec1, vec2, *older, beta=1, alpha=1, out=None) -> Tensor:
    """Return beta * input + alpha * outer(vec1, vec2)."""
def addr_(input, vec1, vec2, *older, beta=1, alpha=1, out=None) -> Tensor:
    """In-place version of addr()."""
def adjoint(input) -> Tensor:
    """Swap the last two dimensions, and conjugate complex elements."""
def affine_grid_generator(theta, size, align_corners) -> Tensor:
    """Return the grid for grid_sample that transforms images of `size` by the affine maps `theta`."""
def alias_copy(input) -> Tensor:
    """Return the same tensor. A copy."""
def all(input, dim=None, keepdim: builtins.bool = False, *, out=None, axis=None, keepdims: builtins.bool = False) -> Tensor:
    """Return whether all elements are nonzero (uint8 gives uint8)."""
def allclose(input, other, rtol=1e-05, atol=1e-08, equal_nan: builtins.bool = False) -> builtins.bool:
    """Return whether all elements are close."""
def alpha_dropout(input, p, train) -> Tensor:
    """Drop elements so that the mean and variance of selu activations stay."""
def alpha_dropout_(input, p, train) -> Tensor:
    """Apply alpha_dropout() in place."""
def amax(input, dim=(), keepdim: builtins.bool = False, *, out=None, axis=(), keepdims: builtins.bool = False) -> Tensor:
    """Return the largest values over dims; ties share the gradient equally."""
def amin(input, dim=(), keepdim: builtins.bool = False, *, out=None, axis=(), keepdims: builtins.bool = False) -> Tensor:
    """Return the smallest values over dims; ties share the gradient equally."""
def aminmax(input, *, dim=None, keepdim: builtins.bool = False, out=None, axis=None,
            keepdims: builtins.bool = False) -> _return_types_module.aminmax:
    """Return the smallest and largest values as (min, max)."""
def angle(input, *, out=None) -> Tensor:
    """Return the angle in the complex plane: for real numbers 0 or, below zero, pi; nan stays nan."""
def angle_(input, *, out=None) -> Tensor:
    """In-place version of angle()."""
def any(input, dim=None, keepdim: builtins.bool = False, *, out=None, axis=None, keepdims: builtins.bool = False) -> Tensor:
    """Return whether any element is nonzero (uint8 gives uint8)."""
def arange(start=0, end=None, step=1, *, out=None, dtype=None, layout=None, device=None,
           requires_grad: builtins.bool = False, pin_memory: builtins.bool = False) -> Tensor:
    """Return start, start + step, ... below end."""
def arccos(input, *, out=None) -> Tensor:
    """Elementwise acos."""
def arccos_(input, *, out=None) -> Tensor:
    """In-place version of arccos()."""
def arccosh(input, *, out=None) -> Tensor:
    """Elementwise acosh."""
def arccosh_(input, *, out=None) -> Tensor:
    """In-place version of arccosh()."""
def arcsin(input, *, out=None) -> Tensor:
    """Elementwise asin."""
def arcsin_(input, *, out=None) -> Tensor:
    """In-place version of arcsin()."""
def arcsinh(input, *, out=None) -> Tensor:
    """Elementwise asinh."""
def arcsinh_(input, *, out=None) -> Tensor:
    """In-place version of arcsinh()."""
def arctan(input, *, out=None) -> Tensor:
    """Elementwise atan."""
def arctan2(input, other, *, out=None) -> Tensor:
    """The angle of the point (x, y), from -pi to pi."""
def arctan2_(input, other, *, out=None) -> Tensor:
    """In-place version of arctan2()."""
def arctan_(input, *, out=None) -> Tensor:
    """In-place version of arctan()."""
def arctanh(input, *, out=None) -> Tensor:
    """Elementwise atanh."""
def arctanh_(input, *, out=None) -> Tensor:
    """In-place version of arctanh()."""
def are_deterministic_algorithms_enabled() -> builtins.bool:
    """Return whether `use_deterministic_algorithms` was switched on."""
def argmax(input, dim=None, keepdim: builtins.bool = False, *, out=None, axis=None,
           keepdims: builtins.bool = False) -> Tensor:
    """Return the index of the largest element, the first among equals; without dim an index into the flattened tensor."""
def argmin(input, dim=None, keepdim: builtins.bool = False, *, out=None, axis=None,
           keepdims: builtins.bool = False) -> Tensor:
    """Return the index of the smallest element, the first among equals; without dim an index into the flattened tensor."""
def argsort(input, dim=-1, descending: builtins.bool = False, stable: builtins.bool = True, *, out=None, axis=-1) -> Tensor:
    """Return the indices that sort along a dim. `stable` is ignored: equal elements always keep their order."""
def argwhere(input) -> Tensor:
    """Return the positions of nonzero elements as rows of a matrix."""
def as_strided(input, size, stride, storage_offset=None) -> Tensor:
    """Return any strided window over the memory of a tensor."""
def as_strided_(input, size, stride, storage_offset=None) -> Tensor:
    """Turn this tensor into a strided window over its memory."""
def as_strided_copy(input, size, stride, storage_offset=None) -> Tensor:
    """Return any strided window over the memory of a tensor. A copy."""
def as_strided_scatter(input, src, size, stride, storage_offset=None) -> Tensor:
    """Return a copy with src in a strided window over its memory; an expanded input is copied first."""
def as_tensor(data, dtype=None, device=None) -> Tensor:
    """Return data as a tensor, without a copy if it is one already or an aligned array of the right dtype."""
def asarray(obj, *, dtype=None, device=None, copy=None, requires_grad=None) -> Tensor:
    """Return an object as a tensor; `copy` True always copies, False never, None where needed. `requires_grad` False gives
    a tensor without history, None the history of the object."""
def asin(input, *, out=None) -> Tensor:
    """Elementwise asin."""
def asin_(input, *, out=None) -> Tensor:
    """In-place version of asin()."""
def asinh(input, *, out=None) -> Tensor:
    """Elementwise asinh."""
def asinh_(input, *, out=None) -> Tensor:
    """In-place version of asinh()."""
def atan(input, *, out=None) -> Tensor:
    """Elementwise atan."""
def atan2(input, other, *, out=None) -> Tensor:
    """The angle of the point (x, y), from -pi to pi."""
def atan2_(input, other, *, out=None) -> Tensor:
    """In-place version of atan2()."""
def atan_(input, *, out=None) -> Tensor:
    """In-place version of atan()."""
def atanh(input, *, out=None) -> Tensor:
    """Elementwise atanh."""
def atanh_(input, *, out=None) -> Tensor:
    """In-place version of atanh()."""
def atleast_1d(*tensors) -> Any:
    """Return each tensor with at least 1 dimension."""
def atleast_2d(*tensors) -> Any:
    """Return each tensor with at least 2 dimensions."""
def atleast_3d(*tensors) -> Any:
    """Return each tensor with at least 3 dimensions."""
def avg_pool1d(input, kernel_size, stride=None, padding=0, ceil_mode: builtins.bool = False,
               count_include_pad: builtins.bool = True) -> Tensor:
    """Return the mean of each window."""
def baddbmm(input, batch1, batch2, *older, beta=1, alpha=1, out=None) -> Tensor:
    """Return beta * input + alpha * batch1 @ batch2."""
def baddbmm_(input, batch1, batch2, *older, beta=1, alpha=1, out=None) -> Tensor:
    """In-place version of baddbmm()."""
def bartlett_window(window_length, periodic: builtins.bool = True, *, dtype=None, layout=None, device=None,
                    requires_grad: builtins.bool = False, pin_memory: builtins.bool = False) -> Tensor:
    """Return a triangle that is 0 at its ends."""
def batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled) -> Tensor:
    """Normalise each channel, by the batch's statistics in training, else by the running ones. `cudnn_enabled` is ignored:
    there is no cuDNN."""
def bernoulli(input, p=None, *, generator=None, out=None) -> Tensor:
    """Return 1 with the probability in each element of `input` (or `p` for all), else 0."""
def bilinear(input1, input2, weight, bias=None) -> Tensor:
    """Return the sum over i, j of input1[i] * weight[o, i, j] * input2[j], plus bias."""
def binary_cross_entropy_with_logits(input, target, weight=None, pos_weight=None, reduction=1) -> Tensor:
    """Return the cross entropy of logits and probabilities."""
def bincount(input, weights=None, minlength=0) -> Tensor:
    """Count how many times each of 0, 1, 2, ... occurs, or sum the weights of its occurrences."""
def binomial(count, prob, generator=None) -> Tensor:
    """Return how many of `count` trials succeed, each with probability `prob`."""
def bitwise_and(input, other, *, out=None) -> Tensor:
    """Elementwise bitwise_and."""
def bitwise_and_(input, other, *, out=None) -> Tensor:
    """In-place version of bitwise_and()."""
def bitwise_left_shift(input, other, *, out=None) -> Tensor:
    """Elementwise bitwise_left_shift."""
def bitwise_left_shift_(input, other, *, out=None) -> Tensor:
    """In-place version of bitwise_left_shift()."""
def bitwise_not(input, *, out=None) -> Tensor:
    """Elementwise bitwise_not."""
def bitwise_not_(input, *, out=None) -> Tensor:
    """In-place version of bitwise_not()."""
def bitwise_or(input, other, *, out=None) -> Tensor:
    """Elementwise bitwise_or."""
def bitwise_or_(input, other, *, out=None) -> Tensor:
    """In-place version of bitwise_or()."""
def bitwise_right_shift(input, other, *, out=None) -> Tensor:
    """Elementwise bitwise_right_shift."""
def bitwise_right_shift_(input, other, *, out=None) -> Tensor:
    """In-place version of bitwise_right_shift()."""
def bitwise_xor(input, other, *, out=None) -> Tensor:
    """Elementwise bitwise_xor."""
def bitwise_xor_(input, other, *, out=None) -> Tensor:
    """In-place version of bitwise_xor()."""
def blackman_window(window_length, periodic: builtins.bool = True, *, dtype=None, layout=None, device=None,
                    requires_grad: builtins.bool = False, pin_memory: builtins.bool = False) -> Tensor:
    """Return a sum of two cosines with small side lobes."""
def block_diag(*tensors) -> Tensor:
    """Return a matrix with the given matrices along its diagonal."""
def bmm(input, mat2, *, out=None) -> Tensor:
    """Multiply two equally long batches of matrices."""
def broadcast_shapes(*shapes) -> _tensor_module.Size:
    """Return the shape to which all shapes broadcast."""
def broadcast_tensors(*tensors) -> builtins.tuple[Tensor, ...]:
    """Expand all tensors to their common shape."""
def broadcast_to(input, *sizes, size=None) -> Tensor:
    """Expand a tensor to a shape."""
def bucketize(input, boundaries, *, out_int32: builtins.bool = False, right: builtins.bool = False, out=None) -> Tensor:
    """Return the index of each value's bucket between sorted boundaries."""
def can_cast(from_, to) -> builtins.bool:
    """Return whether a value of dtype `from_` may be written into a tensor of dtype `to`."""
def cartesian_prod(*tensors) -> Tensor:
    """Return all combinations of one element from each vector, as rows."""
def cat(tensors, dim=0, *, out=None, axis=0) -> Tensor:
    """Join tensors along an existing dimension; 1-d tensors without elements are skipped."""
def cdist(x1, x2, p=2.0, compute_mode='use_mm_for_euclid_dist_if_necessary') -> Tensor:
    """Return distances of order p between every row of x1 and every row of x2."""
cdouble: _dtype_module.DType
def ceil(input, *, out=None) -> Tensor:
    """Elementwise ceil."""
def ceil_(input, *, out=None) -> Tensor:
    """In-place version of ceil()."""
def celu(input, alpha=1.0) -> Tensor:
    """Return max(0, x) + min(0, alpha * (exp(x / alpha) - 1))."""
def celu_(input, alpha=1.0) -> Tensor:
    """Apply celu() in place."""
cfloat: _dtype_module.DType
def chain_matmul(*matrices, out=None) -> Tensor:
    """Multiply several matrices in the cheapest order."""
chalf: _dtype_module.NamedDType
def channel_shuffle(input, groups) -> Tensor:
    """Interleave the channels (dim 1) of `groups` groups."""
channels_last: _memory_formats_module.MemoryFormat
channels_last_3d: _memory_formats_module.MemoryFormat
def cholesky(input, upper: builtins.bool = False, *, out=None) -> Tensor:
    """Return the lower triangular factor of symmetric positive matrices (or its transpose)."""
def cholesky_inverse(L, upper: builtins.bool = False, *, out=None) -> Tensor:
    """Return the inverse of A, from its Cholesky factor."""
def cholesky_solve(input, L, upper: builtins.bool = False, *, out=None) -> Tensor:
    """Return the solution X of A @ X = input, from one triangle of a Cholesky factor of A."""
def chunk(input, chunks, dim=0, *, axis=0) -> builtins.tuple[Tensor, ...]:
    """Split a tensor into at most `chunks` pieces of one size (the last may be smaller); return views."""
def clamp(input, min=None, max=None, *, out=None) -> Tensor:
    """Limit values to [min, max]; either may be missing, a number or a tensor."""
def clamp_(input, min=None, max=None, *, out=None) -> Tensor:
    """In-place version of clamp()."""
def clamp_max(input, max, *, out=None) -> Tensor:
    """Lower values above max to max."""
def clamp_max_(input, max, *, out=None) -> Tensor:
    """In-place version of clamp_max()."""
def clamp_min(input, min, *, out=None) -> Tensor:
    """Raise values below min to min."""
def clamp_min_(input, min, *, out=None) -> Tensor:
    """In-place version of clamp_min()."""
def clear_autocast_cache() -> Tensor:
    """Drop the cached casts of parameters."""
def clip(input, min=None, max=None, *, out=None) -> Tensor:
    """Limit values to [min, max]; either may be missing, a number or a tensor."""
def clip_(input, min=None, max=None, *, out=None) -> Tensor:
    """In-place version of clip()."""
def clone(input, *, memory_format=...) -> Tensor:
    """Return a copy in new memory."""
def column_stack(tensors, *, out=None) -> Tensor:
    """Join tensors side by side; vectors are columns."""
def combinations(input, r=2, with_replacement: builtins.bool = False) -> Tensor:
    """Return all combinations of r elements of a vector, as rows."""
def complex(real, imag, *, out=None) -> Tensor:
    """Return complex numbers from real and imaginary parts."""
complex32: _dtype_module.NamedDType
def concat(tensors, dim=0, *, out=None, axis=0) -> Tensor:
    """Join tensors along an existing dimension; 1-d tensors without elements are skipped."""
def concatenate(tensors, dim=0, *, out=None, axis=0) -> Tensor:
    """Join tensors along an existing dimension; 1-d tensors without elements are skipped."""
def cond(pred, true_fn, false_fn, operands=()) -> Any:
    """Return true_fn(*operands) if pred, a bool or a tensor of one element, is true, else false_fn(*operands)."""
def conj(input) -> Tensor:
    """Return the complex conjugate; a real tensor itself."""
def conj_physical(input, *, out=None) -> Tensor:
    """Return the complex conjugate; a real tensor itself."""
def conj_physical_(input, *, out=None) -> Tensor:
    """In-place version of conj_physical()."""
def constant_pad_nd(input, pad, value=0) -> Tensor:
    """Pad the last dims by `value`; `pad` is (low, high) of the last dim, then of the one before, and so on."""
contiguous_format: _memory_formats_module.MemoryFormat
def conv1d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1) -> Tensor:
    """Convolve over one spatial dim; weight (out, in / groups, kernel)."""
def conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1) -> Tensor:
    """Convolve over two spatial dims; weight (out, in / groups, *kernel)."""
def conv3d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1) -> Tensor:
    """Convolve over three spatial dims; weight (out, in / groups, *kernel)."""
def conv_tbc(input, weight, bias, pad=0) -> Tensor:
    """Convolve over the first dim of (time, batch, channels); weight (kernel, in, out)."""
def conv_transpose1d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1) -> Tensor:
    """Apply a transposed convolution over one spatial dim; weight (in, out / groups, kernel)."""
def conv_transpose2d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1) -> Tensor:
    """Apply a transposed convolution over two spatial dims; weight (in, out / groups, *kernel)."""
def conv_transpose3d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1) -> Tensor:
    """Apply a transposed convolution over three spatial dims; weight (in, out / groups, *kernel)."""
def convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups) -> Tensor:
    """Convolve over as many spatial dims as the weight has, or transposed."""
def copysign(input, other, *, out=None) -> Tensor:
    """|x| with the sign of y."""
def copysign_(input, other, *, out=None) -> Tensor:
    """In-place version of copysign()."""
def corrcoef(input) -> Tensor:
    """Return correlations between the rows of a matrix, within [-1, 1]."""
def cos(input, *, out=None) -> Tensor:
    """Elementwise cos."""
def cos_(input, *, out=None) -> Tensor:
    """In-place version of cos()."""
def cosh(input, *, out=None) -> Tensor:
    """Elementwise cosh."""
def cosh_(input, *, out=None) -> Tensor:
    """In-place version of cosh()."""
def cosine_embedding_loss(input1, input2, target, margin=0.0, reduction=1) -> Tensor:
    """Return 1 - cos where the target is 1, max(0, cos - margin) where it is -1."""
def cosine_similarity(x1, x2, dim=1, eps=1e-08, *, axis=1) -> Tensor:
    """Return the cosine of the angle between two tensors along a dimension; norms are at least eps."""
def count_nonzero(input, dim=None, *more, keepdim: builtins.bool = False, axis=None,
                  keepdims: builtins.bool = False) -> Tensor:
    """Return the number of nonzero elements, of all or along dims."""
def cov(input, *, correction=1, fweights=None, aweights=None) -> Tensor:
    """Return covariances between the rows of a matrix; each column is an observation."""
def cross(input, other, dim=None, *, out=None, axis=None) -> Tensor:
    """Return the cross product of vectors of 3 along `dim`, by default the first dim of size 3."""
def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction=1,
             zero_infinity: builtins.bool = False) -> Tensor:
    """Return the connectionist temporal classification loss of log_probs (T, N, C) or (T, C)."""
@overload
def cummax(input, dim, *, out=None) -> _return_types_module.cummax:
    """Return the running maximum along a dim and its last position, as (values, indices)."""
@overload
def cummax(input, *, axis, out=None) -> _return_types_module.cummax:
    """Return the running maximum along a dim and its last position, as (values, indices)."""
@overload
def cummin(input, dim, *, out=None) -> _return_types_module.cummin:
    """Return the running minimum along a dim and its last position, as (values, indices)."""
@overload
def cummin(input, *, axis, out=None) -> _return_types_module.cummin:
    """Return the running minimum along a dim and its last position, as (values, indices)."""
@overload
def cumprod(input, dim, *, dtype=None, out=None) -> Tensor:
    """Return running products along a dim; integers and bools are multiplied in int64."""
@overload
def cumprod(input, *, axis, dtype=None, out=None) -> Tensor:
    """Return running products along a dim; integers and bools are multiplied in int64."""
@overload
def cumprod_(input, dim, *, dtype=None, out=None) -> Tensor:
    """In-place version of cumprod()."""
@overload
def cumprod_(input, *, axis, dtype=None, out=None) -> Tensor:
    """In-place version of cumprod()."""
@overload
def cumsum(input, dim, *, dtype=None, out=None) -> Tensor:
    """Return running sums along a dim; integers and bools are summed in int64."""
@overload
def cumsum(input, *, axis, dtype=None, out=None) -> Tensor:
    """Return running sums along a dim; integers and bools are summed in int64."""
@overload
def cumsum_(input, dim, *, dtype=None, out=None) -> Tensor:
    """In-place version of cumsum()."""
@overload
def cumsum_(input, *, axis, dtype=None, out=None) -> Tensor:
    """In-place version of cumsum()."""
def cumulative_trapezoid(y, x=None, *, dx=1, dim=-1, axis=-1) -> Tensor:
    """Return the running integral of y by the trapezoidal rule."""
default_generator: _random_module.Generator
def deg2rad(input, *, out=None) -> Tensor:
    """Convert degrees to radians."""
def deg2rad_(input, *, out=None) -> Tensor:
    """In-place version of deg2rad()."""
def det(A, *, out=None) -> Tensor:
    """Return the determinant."""
def detach(self) -> Tensor:
    """Return the same memory without the history."""
def detach_(self) -> Tensor:
    """Drop this tensor's own history."""
def detach_copy(self) -> Tensor:
    """Return the same memory without the history. A copy."""
device = _Device
def diag(input, diagonal=0, *, out=None) -> Tensor:
    """Return a vector as a diagonal matrix, or a copy of a matrix's diagonal."""
def diag_embed(input, offset=0, dim1=-2, dim2=-1, *, axis1=-2) -> Tensor:
    """Return zeros with the last dimension on the diagonal of two new ones."""
def diagflat(input, offset=0) -> Tensor:
    """Return a diagonal matrix of all elements."""
def diagonal(input, offset=0, dim1=0, dim2=1, *, axis1=0) -> Tensor:
    """Return the diagonal of two dimensions, as a new last dimension (a view)."""
def diagonal_copy(input, offset=0, dim1=0, dim2=1, *, axis1=0) -> Tensor:
    """Return the diagonal of two dimensions, as a new last dimension (a view). A copy."""
def diagonal_scatter(input, src, offset=0, dim1=0, dim2=1, *, axis1=0) -> Tensor:
    """Return a copy with src on a diagonal."""
def diff(input, n=1, dim=-1, prepend=None, append=None, *, out=None, axis=-1) -> Tensor:
    """Return differences of neighbours along a dim, n times over."""
def digamma(input, *, out=None) -> Tensor:
    """Elementwise digamma."""
def digamma_(input, *, out=None) -> Tensor:
    """In-place version of digamma()."""
def dist(input, other, p=2) -> Tensor:
    """Return the norm of order p of input - other."""
def div(input, other, *, rounding_mode=None, out=None) -> Tensor:
    """Return input / other; rounding_mode "floor" or "trunc" rounds the quotient and keeps integers."""
def div_(input, other, *, rounding_mode=None, out=None) -> Tensor:
    """In-place version of div()."""
def divide(input, other, *, rounding_mode=None, out=None) -> Tensor:
    """Return input / other; rounding_mode "floor" or "trunc" rounds the quotient and keeps integers."""
def divide_(input, other, *, rounding_mode=None, out=None) -> Tensor:
    """In-place version of divide()."""
def dot(input, tensor, *, out=None) -> Tensor:
    """Return the inner product of two vectors."""
double: _dtype_module.DType
def dropout(input, p, train) -> Tensor:
    """Zero elements with probability p while training, and scale the rest by 1 / (1 - p)."""
def dropout_(input, p, train) -> Tensor:
    """Apply dropout() in place."""
def dsmm(mat1, mat2, *, out=None) -> Tensor:
    """Return the product of two matrices (old name of `mm` for sparse ones)."""
def dsplit(input, indices_or_sections) -> builtins.tuple[Tensor, ...]:
    """Equal pieces, or pieces cut at the indices listed, as views."""
def dstack(tensors, *, out=None) -> Tensor:
    """Join tensors along the third dimension."""
dtype = _DType
e: builtins.float
def einsum(equation, *operands) -> Tensor:
    """Sum products of the operands over labels, for example ``einsum("bij,bjk->bik", x, y)``."""
def embedding(weight, indices, padding_idx=-1, scale_grad_by_freq: builtins.bool = False,
              sparse: builtins.bool = False) -> Tensor:
    """Return the rows of `weight` at the indices; a negative padding_idx means none."""
def embedding_bag(weight, indices, offsets,
                  scale_grad_by_freq: builtins.bool = False, mode=0,
                  sparse: builtins.bool = False,
                  per_sample_weights=None,
                  include_last_offset: builtins.bool = False,
                  padding_idx=None) -> builtins.tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return nn.functional.embedding_bag (mode 0 sum, 1 mean, 2 max), the bag of each index, bag sizes, and for max the
    index of each largest element."""
def embedding_renorm_(input, indices, max_norm, norm_type) -> Tensor:
    """Scale the rows of a table at the indices down to max_norm, in place."""
def empty(*sizes, size=None, out=None, dtype=None, layout=None, device=None,
          requires_grad: builtins.bool = False, pin_memory: builtins.bool = False, memory_format=None) -> Tensor:
    """Return a tensor without defined values (ingot writes zeros)."""
def empty_like(input, *, dtype=None, layout=None, device=None, requires_grad: builtins.bool = False,
               memory_format=None, pin_memory: builtins.bool = False) -> Tensor:
    """Return a tensor without defined values, with the shape and dtype of another."""
def empty_permuted(size, physical_layout, *, dtype=None, layout=None, device=None,
                   requires_grad: builtins.bool = False, pin_memory: builtins.bool = False) -> Tensor:
    """Return an empty tensor with a given order of dims in memory, outermost first."""
def empty_strided(size, stride, *, dtype=None, layout=None, device=None, requires_grad: builtins.bool = False,
                  pin_memory: builtins.bool = False) -> Tensor:
    """Return an empty tensor with given strides."""
def eq(input, other, *, out=None) -> Tensor:
    """Elementwise eq."""
def eq_(input, other, *, out=None) -> Tensor:
    """In-place version of eq()."""
def equal(input, other) -> builtins.bool:
    """Return whether two tensors have the same shape and elements."""
def erf(input, *, out=None) -> Tensor:
    """Elementwise erf."""
def erf_(input, *, out=None) -> Tensor:
    """In-place version of erf()."""
def erfc(input, *, out=None) -> Tensor:
    """Elementwise erfc."""
def erfc_(input, *, out=None) -> Tensor:
    """In-place version of erfc()."""
def erfinv(input, *, out=None) -> Tensor:
    """Elementwise erfinv."""
def erfinv_(input, *, out=None) -> Tensor:
    """In-place version of erfinv()."""
def exp(input, *, out=None) -> Tensor:
    """Elementwise exp."""
def exp2(input, *, out=None) -> Tensor:
    """Elementwise exp2."""
def exp2_(input, *, out=None) -> Tensor:
    """In-place version of exp2()."""
def exp_(input, *, out=None) -> Tensor:
    """In-place version of exp()."""
def expand_copy(self, *sizes, size=None, implicit: builtins.bool = False) -> Tensor:
    """Repeat dimensions of size 1 without copying; -1 keeps a size. `implicit` is ignored: it only marks broadcasts for
    PyTorch's own transforms."""
def expm1(input, *, out=None) -> Tensor:
    """Elementwise expm1."""
def expm1_(input, *, out=None) -> Tensor:
    """In-place version of expm1()."""
def eye(n, m=None, *, out=None, dtype=None, layout=None, device=None, requires_grad: builtins.bool = False,
        pin_memory: builtins.bool = False) -> Tensor:
    """Return a matrix with ones on the diagonal, zeros elsewhere."""
def fake_quantize_per_channel_affine(input, scale, zero_point, axis, quant_min, quant_max) -> Tensor:
    """Apply fake quantisation with a scale and zero point for each index along `axis`. Zero points are int32, or floats,
    which may lie between two steps."""
def fake_quantize_per_tensor_affine(input, scale, zero_point, quant_min, quant_max) -> Tensor:
    """Return (step - zero_point) * scale for the nearest step from quant_min to quant_max."""
def feature_alpha_dropout(input, p, train) -> Tensor:
    """Apply alpha_dropout() to whole channels."""
def feature_alpha_dropout_(input, p, train) -> Tensor:
    """Apply feature_alpha_dropout() in place."""
def feature_dropout(input, p, train) -> Tensor:
    """Drop whole channels."""
def feature_dropout_(input, p, train) -> Tensor:
    """Apply feature_dropout() in place."""
def fill(input, value) -> Tensor:
    """Return a copy with one value in all elements."""
def fill_(self, value) -> Tensor:
    """Write one value to all elements."""
def fix(input, *, out=None) -> Tensor:
    """Elementwise trunc."""
def fix_(input, *, out=None) -> Tensor:
    """In-place version of fix()."""
def flatten(input, start_dim=0, end_dim=-1) -> Tensor:
    """Merge dims start_dim to end_dim into one."""
def flip(input, *which, dims=None, axis=None) -> Tensor:
    """Reverse the order of elements along dims."""
def fliplr(input) -> Tensor:
    """Reverse the second dimension."""
def flipud(input) -> Tensor:
    """Reverse the first dimension."""
float: _dtype_module.DType
float4_e2m1fn_x2: _dtype_module.NamedDType
float8_e4m3fnuz: _dtype_module.NamedDType
float8_e5m2fnuz: _dtype_module.NamedDType
float8_e8m0fnu: _dtype_module.NamedDType
def float_power(input, exponent, *, out=None) -> Tensor:
    """Return input ** exponent in float64, for complex numbers in complex128."""
def float_power_(input, exponent, *, out=None) -> Tensor:
    """In-place version of float_power()."""
def floor(input, *, out=None) -> Tensor:
    """Elementwise floor."""
def floor_(input, *, out=None) -> Tensor:
    """In-place version of floor()."""
def floor_divide(input, other, *, out=None) -> Tensor:
    """The quotient rounded down."""
def floor_divide_(input, other, *, out=None) -> Tensor:
    """In-place version of floor_divide()."""
def fmax(input, other, *, out=None) -> Tensor:
    """The larger number; the other one if one is nan."""
def fmax_(input, other, *, out=None) -> Tensor:
    """In-place version of fmax()."""
def fmin(input, other, *, out=None) -> Tensor:
    """The smaller number; the other one if one is nan."""
def fmin_(input, other, *, out=None) -> Tensor:
    """In-place version of fmin()."""
def fmod(input, other, *, out=None) -> Tensor:
    """x - trunc(x / y) * y, with the sign of x."""
def fmod_(input, other, *, out=None) -> Tensor:
    """In-place version of fmod()."""
def frac(input, *, out=None) -> Tensor:
    """x - trunc(x)"""
def frac_(input, *, out=None) -> Tensor:
    """In-place version of frac()."""
def frexp(input, *, out=None) -> _return_types_module.frexp:
    """Return mantissas with absolute values in [0.5, 1), and their exponents of two."""
@overload
def frobenius_norm(input, dim, keepdim: builtins.bool = False, *, out=None) -> Tensor:
    """Return the root of the sum of squares over dims, or over all."""
@overload
def frobenius_norm(input, *, axis, keepdims: builtins.bool = False, out=None) -> Tensor:
    """Return the root of the sum of squares over dims, or over all."""
def from_dlpack(ext_tensor, *, device=None, copy=None) -> Tensor:
    """Return a tensor over the memory of an object with DLPack (or of a capsule), without a copy unless requested."""
def from_file(filename, shared=None, size=0, *, dtype=None, layout=None, device=None,
              pin_memory: builtins.bool = False) -> Tensor:
    """Map a file of numbers as a tensor. If `shared`, writes reach the file, which grows to the size. Otherwise they change
    only the tensor."""
def from_numpy(ndarray) -> Tensor:
    """Return a tensor over the memory of a numpy array."""
def frombuffer(buffer, *, dtype, count=-1, offset=0, requires_grad: builtins.bool = False) -> Tensor:
    """Return a tensor over the memory of an object with the buffer protocol."""
def full(size, fill_value, *, out=None, dtype=None, layout=None, device=None,
         requires_grad: builtins.bool = False, pin_memory: builtins.bool = False) -> Tensor:
    """Return a tensor of one value; the default dtype follows the kind of the value."""
def full_like(input, fill_value, *, dtype=None, layout=None, device=None, requires_grad: builtins.bool = False,
              memory_format=None, pin_memory: builtins.bool = False) -> Tensor:
    """Return a tensor of one value with the shape and dtype of another."""
def fused_moving_avg_obs_fake_quant(input, observer_on, fake_quant_on, running_min, running_max, scale,
                                    zero_point, averaging_const, quant_min, quant_max, ch_axis,
                                    per_row_fake_quant: builtins.bool = False,
                                    symmetric_quant: builtins.bool = False) -> Tensor:
    """Run the quantisation step of a training step, in place."""
@overload
def gather(input, dim, index, *, sparse_grad: builtins.bool = False, out=None) -> Tensor:
    """Pick elements by index along a dimension: out[i][j] = input[index[i][j]][j] for dim 0, and so on. `sparse_grad` is
    ignored: the gradient is dense, with the same values."""
@overload
def gather(input, *, axis, index, sparse_grad: builtins.bool = False, out=None) -> Tensor:
    """Pick elements by index along a dimension: out[i][j] = input[index[i][j]][j] for dim 0, and so on. `sparse_grad` is
    ignored: the gradient is dense, with the same values."""
def gcd(input, other, *, out=None) -> Tensor:
    """Elementwise gcd."""
def gcd_(input, other, *, out=None) -> Tensor:
    """In-place version of gcd()."""
def ge(input, other, *, out=None) -> Tensor:
    """Elementwise ge."""
def ge_(input, other, *, out=None) -> Tensor:
    """In-place version of ge()."""
def geqrf(input, *, out=None) -> _return_types_module.geqrf:
    """Return QR like LAPACK's geqrf: R, below it the vectors of Householder reflections, and their factors. No gradient."""
def ger(input, vec2, *, out=None) -> Tensor:
    """Multiply every element of one vector by every element of another."""
def get_autocast_cpu_dtype() -> Tensor:
    """Return the low dtype that autocast uses on the CPU."""
def get_autocast_dtype(device_type: builtins.str) -> _dtype_module.DType:
    """Return the low dtype that autocast uses on a kind of device."""
def get_autocast_gpu_dtype() -> Tensor:
    """Return the low dtype that autocast uses on CUDA devices."""
def get_default_device() -> _device_module.Device:
    """Return the device of new tensors."""
def get_default_dtype() -> _dtype_module.DType:
    """Return the dtype of tensors made from Python floats, and of int inputs to float functions."""
def get_deterministic_debug_mode() -> builtins.int:
    """Return 0, 1 (warn) or 2 (error)."""
def get_device(input) -> builtins.int:
    """Return the index of the accelerator of a tensor, -1 for the CPU."""
def get_device_module(device=None) -> Any:
    """Return the module of a kind of device (`ingot.cuda`), by default that of the accelerator, or of the CPU."""
def get_float32_matmul_precision() -> builtins.str:
    """Return the precision that was set here or by an equivalent switch, such as `backends.cuda.matmul.fp32_precision`."""
def get_num_interop_threads() -> builtins.int:
    """Return what `set_num_interop_threads` set."""
def get_num_threads() -> builtins.int:
    """Return the number of threads of a kernel, the calling one included."""
def get_rng_state() -> Tensor:
    """Return the default generator's state."""
def gradient(input, *, spacing=1, dim=None, edge_order=1, axis=None) -> builtins.tuple[Tensor, ...]:
    """Return derivatives along dims by central differences, one-sided at the ends. `spacing` is a number, one for each dim,
    or the positions themselves."""
def greater(input, other, *, out=None) -> Tensor:
    """Elementwise gt."""
def greater_(input, other, *, out=None) -> Tensor:
    """In-place version of greater()."""
def greater_equal(input, other, *, out=None) -> Tensor:
    """Elementwise ge."""
def greater_equal_(input, other, *, out=None) -> Tensor:
    """In-place version of greater_equal()."""
def grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners) -> Tensor:
    """Call grid_sample with modes as numbers: 0 bilinear, 1 nearest, 2 bicubic; 0 zeros, 1 border, 2 reflection."""
def grid_sampler_2d(input, grid, interpolation_mode, padding_mode, align_corners) -> Tensor:
    """Call grid_sample with modes as numbers: 0 bilinear, 1 nearest, 2 bicubic; 0 zeros, 1 border, 2 reflection."""
def grid_sampler_3d(input, grid, interpolation_mode, padding_mode, align_corners) -> Tensor:
    """Call grid_sample with modes as numbers: 0 bilinear, 1 nearest, 2 bicubic; 0 zeros, 1 border, 2 reflection."""
def group_norm(input, num_groups, weight=None, bias=None, eps=1e-05) -> Tensor:
    """Normalise each group of channels of each image to mean 0 and variance 1; weight and bias are per channel."""
def gru(input, second, third, *rest, **options) -> Any:
    """nn.GRU with its weights in a list, called (input, hx, params, has_biases, num_layers, dropout, train, bidirectional,
    batch_first), or packed (data, batch_sizes, hx, params, ...). Return outputs and last states."""
def gru_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None) -> Any:
    """Compute one step of nn.GRUCell with these weights; return the next state or states."""
def gt(input, other, *, out=None) -> Tensor:
    """Elementwise gt."""
def gt_(input, other, *, out=None) -> Tensor:
    """In-place version of gt()."""
half: _dtype_module.DType
def hamming_window(window_length, periodic: builtins.bool = True, alpha=0.54, beta=0.46, *, dtype=None,
                   layout=None, device=None, requires_grad: builtins.bool = False,
                   pin_memory: builtins.bool = False) -> Tensor:
    """Return alpha - beta * cos(2 pi n / N)."""
def hann_window(window_length, periodic: builtins.bool = True, *, dtype=None, layout=None, device=None,
                requires_grad: builtins.bool = False, pin_memory: builtins.bool = False) -> Tensor:
    """Return a raised cosine that is 0 at its ends."""
def hardshrink(input, lambd=0.5, *, out=None) -> Tensor:
    """Return 0 where |input| <= lambd, else the input."""
def heaviside(input, other, *, out=None) -> Tensor:
    """Return 0 below zero, 1 above, `other` at zero."""
def heaviside_(input, other, *, out=None) -> Tensor:
    """In-place version of heaviside()."""
def hinge_embedding_loss(input, target, margin=1.0, reduction=1) -> Tensor:
    """Return the input where the target is 1, max(0, margin - input) where it is -1."""
def histc(input, bins=100, min=0, max=0, *, out=None) -> Tensor:
    """Count elements in equal bins between min and max (the data's range if both are equal), without those outside."""
def histogram(input, bins=100, *, range=None, weight=None, density: builtins.bool = False, out=None) -> Tensor:
    """Return (hist, bin_edges): counts or weights between neighbouring edges; the last bin includes its upper edge."""
def histogramdd(input, bins, *, range=None, weight=None,
                density: builtins.bool = False, out=None) -> _return_types_module.histogramdd:
    """Return (hist, bin_edges) of points, the rows of the input; each column has a number of bins, or edges."""
def hsmm(mat1, mat2, *, out=None) -> Tensor:
    """Return a sparse matrix times a dense one, with the rows in which the sparse one has entries."""
def hsplit(input, indices_or_sections) -> builtins.tuple[Tensor, ...]:
    """Equal pieces, or pieces cut at the indices listed, as views."""
def hspmm(mat1, mat2, *, out=None) -> Tensor:
    """Return a sparse matrix times a dense one, with the rows in which the sparse one has entries."""
def hstack(tensors, *, out=None) -> Tensor:
    """Join tensors side by side: along dim 1, or 0 for vectors."""
def hypot(input, other, *, out=None) -> Tensor:
    """sqrt(x^2 + y^2), without overflow between."""
def hypot_(input, other, *, out=None) -> Tensor:
    """In-place version of hypot()."""
def i0(input, *, out=None) -> Tensor: ...
def i0_(input, *, out=None) -> Tensor:
    """In-place version of i0()."""
def igamma(input, other, *, out=None) -> Tensor:
    """Return the regularised lower incomplete gamma function. It is the probability that a gamma number of concentration
    `input` is at most `other`."""
def igamma_(input, other, *, out=None) -> Tensor:
    """In-place version of igamma()."""
def igammac(input, other, *, out=None) -> Tensor:
    """Return the regularised upper incomplete gamma function, 1 - gammainc, accurate where it is small."""
def igammac_(input, other, *, out=None) -> Tensor:
    """In-place version of igammac()."""
def imag(input) -> Tensor:
    """Return the imaginary parts of a complex tensor."""
@overload
def index_add(input, dim, index, source, *, alpha=1, out=None) -> Tensor:
    """Add alpha * source to the slices at the indices of a vector."""
@overload
def index_add(input, *, axis, index, source, alpha=1, out=None) -> Tensor:
    """Add alpha * source to the slices at the indices of a vector."""
@overload
def index_add_(input, dim, index, source, *, alpha=1, out=None) -> Tensor:
    """In-place version of index_add()."""
@overload
def index_add_(input, *, axis, index, source, alpha=1, out=None) -> Tensor:
    """In-place version of index_add()."""
@overload
def index_copy(input, dim, index, source, *, out=None) -> Tensor:
    """Replace the slices at the indices of a vector by those of source."""
@overload
def index_copy(input, *, axis, index, source, out=None) -> Tensor:
    """Replace the slices at the indices of a vector by those of source."""
@overload
def index_copy_(input, dim, index, source, *, out=None) -> Tensor:
    """In-place version of index_copy()."""
@overload
def index_copy_(input, *, axis, index, source, out=None) -> Tensor:
    """In-place version of index_copy()."""
@overload
def index_fill(input, dim, index, value) -> Tensor:
    """Write one value to the slices at the indices of a vector."""
@overload
def index_fill(input, *, axis, index, value) -> Tensor:
    """Write one value to the slices at the indices of a vector."""
@overload
def index_fill_(input, dim, index, value) -> Tensor:
    """In-place version of index_fill()."""
@overload
def index_fill_(input, *, axis, index, value) -> Tensor:
    """In-place version of index_fill()."""
def index_put(input, indices, values, accumulate: builtins.bool = False) -> Tensor:
    """Return a copy with input[indices] = values (or += if accumulate). Indices are tensors, or None for all of a
    dimension."""
def index_put_(input, indices, values, accumulate: builtins.bool = False) -> Tensor:
    """In-place version of index_put()."""
@overload
def index_reduce(input, dim, index, source, reduce, *, include_self: builtins.bool = True, out=None) -> Tensor:
    """Combine slices of source into those at the indices of a vector, by prod, mean, amax or amin."""
@overload
def index_reduce(input, *, axis, index, source, reduce, include_self: builtins.bool = True, out=None) -> Tensor:
    """Combine slices of source into those at the indices of a vector, by prod, mean, amax or amin."""
@overload
def index_reduce_(input, dim, index, source, reduce, *, include_self: builtins.bool = True, out=None) -> Tensor:
    """In-place version of index_reduce()."""
@overload
def index_reduce_(input, *, axis, index, source, reduce, include_self: builtins.bool = True, out=None) -> Tensor:
    """In-place version of index_reduce()."""
@overload
def index_select(input, dim, index, *, out=None) -> Tensor:
    """Return the slices at the indices of a vector along a dimension."""
@overload
def index_select(input, *, axis, index, out=None) -> Tensor:
    """Return the slices at the indices of a vector along a dimension."""
inf: builtins.float
def initial_seed() -> builtins.int:
    """Return the seed of the default generator."""
def inner(input, other, *, out=None) -> Tensor:
    """Sum products over the last dimension of both tensors."""
def instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, cudnn_enabled) -> Tensor:
    """Normalise each channel of each image. `cudnn_enabled` is ignored: there is no cuDNN."""
int: _dtype_module.DType
int1: _dtype_module.NamedDType
int2: _dtype_module.NamedDType
int3: _dtype_module.NamedDType
int4: _dtype_module.NamedDType
int5: _dtype_module.NamedDType
int6: _dtype_module.NamedDType
int7: _dtype_module.NamedDType
def inverse(A, *, out=None) -> Tensor:
    """Return the inverse."""
def is_anomaly_check_nan_enabled() -> builtins.bool:
    """Return whether anomaly mode stops at nan."""
def is_anomaly_enabled() -> builtins.bool:
    """Return whether anomaly mode is on in the current thread."""
def is_autocast_available(device_type: builtins.str) -> builtins.bool:
    """Return whether autocast supports a kind of device."""
def is_autocast_cache_enabled() -> builtins.bool:
    """Return whether autocast caches casts of parameters."""
def is_autocast_cpu_enabled() -> builtins.bool:
    """Return whether autocast is on for the CPU."""
def is_autocast_enabled(device_type: builtins.str | None = None) -> builtins.bool:
    """Return whether autocast is on for a kind of device (by default CUDA)."""
def is_complex(input) -> builtins.bool:
    """Return whether the dtype is a complex dtype."""
def is_conj(input) -> builtins.bool:
    """Return False: conjugation is never lazy."""
def is_deterministic_algorithms_warn_only_enabled() -> builtins.bool:
    """Return whether use_deterministic_algorithms was given warn_only."""
def is_floating_point(input) -> builtins.bool:
    """Return whether the dtype is a floating point dtype."""
def is_grad_enabled() -> builtins.bool:
    """Return whether the current thread records operations."""
def is_inference(input) -> builtins.bool:
    """Return False: tensors of inference mode are ordinary ones, which autograd may use later."""
def is_inference_mode_enabled() -> builtins.bool:
    """Return whether the current thread is in inference mode."""
def is_neg(input) -> builtins.bool:
    """Return False: negation is never lazy."""
def is_nonzero(input) -> builtins.bool:
    """Return whether the one element is not zero."""
def is_same_size(self, other) -> builtins.bool:
    """Return whether both tensors have the same shape."""
def is_signed(input) -> builtins.bool:
    """Return whether the dtype has negative values."""
def is_storage(obj) -> builtins.bool:
    """Return whether an object is a storage."""
def is_tensor(obj) -> builtins.bool:
    """Return whether an object is a tensor."""
def is_warn_always_enabled() -> builtins.bool:
    """Return what `set_warn_always` set."""
def isclose(input, other, rtol=1e-05, atol=1e-08, equal_nan: builtins.bool = False) -> Tensor:
    """Return |input - other| <= atol + rtol * |other|, element by element."""
def isfinite(input, *, out=None) -> Tensor:
    """Elementwise isfinite."""
def isfinite_(input, *, out=None) -> Tensor:
    """In-place version of isfinite()."""
def isin(elements, test_elements, *, assume_unique: builtins.bool = False, invert: builtins.bool = False,
         out=None) -> Tensor:
    """Return whether each element occurs among the test elements. `assume_unique` is ignored: the search does not depend on
    it."""
def isinf(input, *, out=None) -> Tensor:
    """Elementwise isinf."""
def isinf_(input, *, out=None) -> Tensor:
    """In-place version of isinf()."""
def isnan(input, *, out=None) -> Tensor:
    """Elementwise isnan."""
def isnan_(input, *, out=None) -> Tensor:
    """In-place version of isnan()."""
def isneginf(input, *, out=None) -> Tensor:
    """Elementwise isneginf."""
def isneginf_(input, *, out=None) -> Tensor:
    """In-place version of isneginf()."""
def isposinf(input, *, out=None) -> Tensor:
    """Elementwise isposinf."""
def isposinf_(input, *, out=None) -> Tensor:
    """In-place version of isposinf()."""
def isreal(input) -> Tensor:
    """Return whether each number has no imaginary part."""
def istft(input, n_fft, hop_length=None, win_length=None, window=None, center: builtins.bool = True,
          normalized: builtins.bool = False, onesided=None, length=None, return_complex: builtins.bool = False) -> Tensor:
    """Return the best approximation to numbers whose `stft` has these spectra."""
jagged: _layouts_module.layout
def kaiser_window(window_length, periodic: builtins.bool = True, beta=12.0, *, dtype=None, layout=None,
                  device=None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False) -> Tensor:
    """Return a Kaiser window; beta trades the width of the main lobe for the height of the others."""
def kl_div(input, target, reduction=1, *, log_target: builtins.bool = False) -> Tensor:
    """Return target * (log(target) - input) for log probabilities as input."""
def kron(input, other, *, out=None) -> Tensor:
    """Return the Kronecker product: every element of input times the whole of other."""
def kthvalue(input, k, dim=-1, keepdim: builtins.bool = False, *, out=None, axis=-1,
             keepdims: builtins.bool = False) -> _return_types_module.kthvalue:
    """Return the k-th smallest element along a dim (counted from 1) and its index, as (values, indices)."""
def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-05) -> Tensor:
    """Normalise the last dims to mean 0 and variance 1, then multiply by weight and add bias."""
def lcm(input, other, *, out=None) -> Tensor:
    """Elementwise lcm."""
def lcm_(input, other, *, out=None) -> Tensor:
    """In-place version of lcm()."""
def ldexp(input, other, *, out=None) -> Tensor:
    """Return input * 2 ** other."""
def ldexp_(input, other, *, out=None) -> Tensor:
    """In-place version of ldexp()."""
def le(input, other, *, out=None) -> Tensor:
    """Elementwise le."""
def le_(input, other, *, out=None) -> Tensor:
    """In-place version of le()."""
legacy_contiguous_format: _memory_formats_module.MemoryFormat
def lerp(input, end, weight, *, out=None) -> Tensor:
    """Return input + weight * (end - input), exact at both ends."""
def lerp_(input, end, weight, *, out=None) -> Tensor:
    """In-place version of lerp()."""
def less(input, other, *, out=None) -> Tensor:
    """Elementwise lt."""
def less_(input, other, *, out=None) -> Tensor:
    """In-place version of less()."""
def less_equal(input, other, *, out=None) -> Tensor:
    """Elementwise le."""
def less_equal_(input, other, *, out=None) -> Tensor:
    """In-place version of less_equal()."""
def lgamma(input, *, out=None) -> Tensor:
    """Elementwise lgamma."""
def lgamma_(input, *, out=None) -> Tensor:
    """In-place version of lgamma()."""
def linspace(start, end, steps, *, out=None, dtype=None, layout=None, device=None,
             requires_grad: builtins.bool = False, pin_memory: builtins.bool = False) -> Tensor:
    """Return `steps` evenly spaced values from start to end, both included."""
def load(f, map_location=None, pickle_module=None, *, weights_only: builtins.bool = True, mmap=None,
         **pickle_load_args) -> Any:
    """Read a file of `save`, a .safetensors file, or a file of torch.save (without PyTorch)."""
def lobpcg(A, k=None, B=None, X=None, n=None, iK=None, niter=None, tol=None, largest=None, method=None,
           tracker=None, ortho_iparams=None, ortho_fparams=None, ortho_bparams=None) -> Tensor:
    """Return the k largest (or smallest) eigenvalues of a symmetric matrix, or of A x = e B x, and their vectors. X is the
    start and iK the preconditioner."""
def log(input, *, out=None) -> Tensor:
    """Elementwise log."""
def log10(input, *, out=None) -> Tensor:
    """Elementwise log10."""
def log10_(input, *, out=None) -> Tensor:
    """In-place version of log10()."""
def log1p(input, *, out=None) -> Tensor:
    """Elementwise log1p."""
def log1p_(input, *, out=None) -> Tensor:
    """In-place version of log1p()."""
def log2(input, *, out=None) -> Tensor:
    """Elementwise log2."""
def log2_(input, *, out=None) -> Tensor:
    """In-place version of log2()."""
def log_(input, *, out=None) -> Tensor:
    """In-place version of log()."""
@overload
def log_softmax(input, dim, dtype=None, *, out=None) -> Tensor:
    """Return log(softmax(x)) along a dimension."""
@overload
def log_softmax(input, *, axis, dtype=None, out=None) -> Tensor:
    """Return log(softmax(x)) along a dimension."""
def logaddexp(input, other, *, out=None) -> Tensor:
    """log(exp(x) + exp(y)), without overflow."""
def logaddexp2(input, other, *, out=None) -> Tensor:
    """Elementwise logaddexp2."""
def logaddexp2_(input, other, *, out=None) -> Tensor:
    """In-place version of logaddexp2()."""
def logaddexp_(input, other, *, out=None) -> Tensor:
    """In-place version of logaddexp()."""
@overload
def logcumsumexp(input, dim, *, out=None) -> Tensor:
    """Return the log of the running sum of exp(input) along a dim."""
@overload
def logcumsumexp(input, *, axis, out=None) -> Tensor:
    """Return the log of the running sum of exp(input) along a dim."""
def logdet(input) -> Tensor:
    """Return the log of the determinant; nan where it is negative, complex for complex matrices."""
def logical_and(input, other, *, out=None) -> Tensor:
    """Elementwise logical_and."""
def logical_and_(input, other, *, out=None) -> Tensor:
    """In-place version of logical_and()."""
def logical_not(input, *, out=None) -> Tensor:
    """Elementwise logical_not."""
def logical_not_(input, *, out=None) -> Tensor:
    """In-place version of logical_not()."""
def logical_or(input, other, *, out=None) -> Tensor:
    """Elementwise logical_or."""
def logical_or_(input, other, *, out=None) -> Tensor:
    """In-place version of logical_or()."""
def logical_xor(input, other, *, out=None) -> Tensor:
    """Elementwise logical_xor."""
def logical_xor_(input, other, *, out=None) -> Tensor:
    """In-place version of logical_xor()."""
def logit(input, eps=None, *, out=None) -> Tensor:
    """Return log(x / (1 - x)). If eps is given, x is limited to [eps, 1 - eps] first; eps wins where the limits cross."""
def logit_(input, eps=None, *, out=None) -> Tensor:
    """In-place version of logit()."""
def logspace(start, end, steps, base=10.0, *, out=None, dtype=None, layout=None, device=None,
             requires_grad: builtins.bool = False, pin_memory: builtins.bool = False) -> Tensor:
    """Return powers of `base` with evenly spaced exponents from start to end."""
@overload
def logsumexp(input, dim, keepdim: builtins.bool = False, *, out=None) -> Tensor:
    """Return the log of the sum of exp(input) over dims, without overflow."""
@overload
def logsumexp(input, *, axis, keepdims: builtins.bool = False, out=None) -> Tensor:
    """Return the log of the sum of exp(input) over dims, without overflow."""
long: _dtype_module.DType
def lstm(input, second, third, *rest, **options) -> Any:
    """nn.LSTM with its weights in a list, called (input, hx, params, has_biases, num_layers, dropout, train, bidirectional,
    batch_first), or packed (data, batch_sizes, hx, params, ...). Return outputs and last states."""
def lstm_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None) -> Any:
    """Compute one step of nn.LSTMCell with these weights; return the next state or states."""
def lt(input, other, *, out=None) -> Tensor:
    """Elementwise lt."""
def lt_(input, other, *, out=None) -> Tensor:
    """In-place version of lt()."""
def lu(A, pivot: builtins.bool = True, get_infos: builtins.bool = False, out=None) -> Tensor:
    """Return lu_factor's result as a tuple; with get_infos also the position of a zero on U's diagonal (0 if there is
    none)."""
def lu_solve(b, LU_data, LU_pivots, *, out=None) -> Tensor:
    """Return X with A @ X = b, from lu_factor's result for A."""
def lu_unpack(LU_data, LU_pivots, unpack_data: builtins.bool = True,
              unpack_pivots: builtins.bool = True, *, out=None) -> _return_types_module.lu_unpack:
    """Return P, L and U of lu_factor's result; parts not requested are empty."""
def manual_seed(seed: builtins.int) -> _random_module.Generator:
    """Seed the default generator and return it."""
def margin_ranking_loss(input1, input2, target, margin=0.0, reduction=1) -> Tensor:
    """Return max(0, -target * (input1 - input2) + margin)."""
def masked_fill(input, mask, value) -> Tensor:
    """Replace elements by `value` where the mask is true."""
def masked_fill_(input, mask, value) -> Tensor:
    """In-place version of masked_fill()."""
def masked_scatter(input, mask, source) -> Tensor:
    """Replace the elements where the mask is true by those of source, in order."""
def masked_scatter_(input, mask, source) -> Tensor:
    """In-place version of masked_scatter()."""
def masked_select(input, mask, *, out=None) -> Tensor:
    """Return the elements where the (broadcast) mask is true, as a vector."""
def matmul(input, other, *, out=None) -> Tensor:
    """Multiply vectors, matrices, and batches of matrices that broadcast."""
def matrix_exp(A) -> Tensor:
    """Return the exponential of a matrix, by its series after halving, squared back; float16 and bfloat16 are rounded
    once."""
def matrix_power(A, n, *, out=None) -> Tensor:
    """Return an integer power of A; a negative power is one of the inverse."""
def max(input, dim=None, keepdim: builtins.bool = False, *, other=None, out=None, axis=None,
        keepdims: builtins.bool = False) -> Any:
    """Return the largest element; along `dim` as (values, indices); with a second tensor the elementwise maximum."""
def max_pool1d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode: builtins.bool = False) -> Any:
    """Return the largest element of each window."""
def max_pool1d_with_indices(input, kernel_size, stride=None, padding=0, dilation=1,
                            ceil_mode: builtins.bool = False) -> builtins.tuple[Tensor, Tensor]:
    """Return the largest element of each window, and its index."""
def max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode: builtins.bool = False) -> Any:
    """Return the largest element of each window."""
def max_pool3d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode: builtins.bool = False) -> Any:
    """Return the largest element of each window."""
def maximum(input, other, *, out=None) -> Tensor:
    """The larger number; nan if one is nan."""
def maximum_(input, other, *, out=None) -> Tensor:
    """In-place version of maximum()."""
def mean(input, dim=None, keepdim: builtins.bool = False, *, dtype=None, out=None, axis=None,
         keepdims: builtins.bool = False) -> Tensor:
    """Return the mean over dims (all by default)."""
def median(input, dim=None, keepdim: builtins.bool = False, *, out=None, axis=None, keepdims: builtins.bool = False) -> Any:
    """Return the lower median of everything, or along a dim as (values, indices); nan if an element is nan."""
memory_format = _MemoryFormat
def meshgrid(*tensors, indexing='ij') -> builtins.tuple[Tensor, ...]:
    """Return coordinate grids of vectors, as views."""
def min(input, dim=None, keepdim: builtins.bool = False, *, other=None, out=None, axis=None,
        keepdims: builtins.bool = False) -> Any:
    """Return the smallest element; along `dim` as (values, indices); with a second tensor the elementwise minimum."""
def minimum(input, other, *, out=None) -> Tensor:
    """The smaller number; nan if one is nan."""
def minimum_(input, other, *, out=None) -> Tensor:
    """In-place version of minimum()."""
def mm(input, mat2, *, out=None) -> Tensor:
    """Multiply two matrices."""
def mode(input, dim=-1, keepdim: builtins.bool = False, *, out=None, axis=-1,
         keepdims: builtins.bool = False) -> _return_types_module.mode:
    """Return the most frequent value along a dim (the smallest among equals) and its last index, as (values, indices)."""
def moveaxis(input, source, destination) -> Tensor:
    """Move dimensions to other positions; the rest keeps its order."""
def movedim(input, source, destination) -> Tensor:
    """Move dimensions to other positions; the rest keeps its order."""
def msort(input, *, out=None) -> Tensor:
    """Sort along the first dim."""
def mul(input, other, *, out=None) -> Tensor:
    """Return input * other."""
def mul_(input, other, *, out=None) -> Tensor:
    """In-place version of mul()."""
def multi_dot(tensors, *, out=None) -> Tensor:
    """Multiply two or more matrices in the cheapest order; the first and last may be vectors."""
def multinomial(input, num_samples, replacement: builtins.bool = False, *, generator=None, out=None) -> Tensor:
    """Draw indices with the given weights, from each row."""
def multiply(input, other, *, out=None) -> Tensor:
    """Return input * other."""
def multiply_(input, other, *, out=None) -> Tensor:
    """In-place version of multiply()."""
def mv(input, vec, *, out=None) -> Tensor:
    """Multiply a matrix by a vector."""
def mvlgamma(input, p, *, out=None) -> Tensor:
    """Return the logarithm of the multivariate gamma function of dimension p."""
def mvlgamma_(input, p, *, out=None) -> Tensor:
    """In-place version of mvlgamma()."""
nan: builtins.float
def nan_to_num(input, nan=None, posinf=None, neginf=None, *, out=None) -> Tensor:
    """Replace nan (by 0) and infinities (by the largest finite numbers, unless given). Complex numbers are replaced part by
    part; those with such a part have no gradient."""
def nan_to_num_(input, nan=None, posinf=None, neginf=None, *, out=None) -> Tensor:
    """In-place version of nan_to_num()."""
def nanmean(input, dim=None, keepdim: builtins.bool = False, *, dtype=None, out=None, axis=None,
            keepdims: builtins.bool = False) -> Tensor:
    """Return the mean over dims of the elements that are not nan."""
def nanmedian(input, dim=None, keepdim: builtins.bool = False, *, out=None, axis=None,
              keepdims: builtins.bool = False) -> Any:
    """Return the lower median of elements that are not nan, of everything or along a dim as (values, indices)."""
def nanquantile(input, q, dim=None, keepdim: builtins.bool = False, *, interpolation='linear', out=None,
                axis=None, keepdims: builtins.bool = False) -> Tensor:
    """Return the q-th quantiles of elements that are not nan."""
def nansum(input, dim=None, keepdim: builtins.bool = False, *, dtype=None, out=None, axis=None,
           keepdims: builtins.bool = False) -> Tensor:
    """Sum over dims, counting nan as 0."""
@overload
def narrow(input, dim, start, length) -> Tensor:
    """Return a view of `length` indices from `start` along a dimension."""
@overload
def narrow(input, *, axis, start, length) -> Tensor:
    """Return a view of `length` indices from `start` along a dimension."""
@overload
def narrow_copy(input, dim, start, length) -> Tensor:
    """Return a view of `length` indices from `start` along a dimension. A copy."""
@overload
def narrow_copy(input, *, axis, start, length) -> Tensor:
    """Return a view of `length` indices from `start` along a dimension. A copy."""
def native_batch_norm(input, weight, bias, running_mean, running_var, training,
                      momentum, eps) -> builtins.tuple[Tensor, Tensor, Tensor]:
    """Return batch_norm; in training also its means and 1 / standard deviations."""
def native_channel_shuffle(input, groups) -> Tensor:
    """Interleave the channels (dim 1) of `groups` groups."""
def native_dropout(input, p, train) -> builtins.tuple[Tensor, Tensor]:
    """Return dropout and the mask of kept elements."""
def native_group_norm(input, weight, bias, N, C, HxW, group, eps) -> builtins.tuple[Tensor, Tensor, Tensor]:
    """Return group_norm of (N, C, HxW), with the means and 1 / standard deviations of groups."""
def native_layer_norm(input, normalized_shape, weight, bias, eps) -> builtins.tuple[Tensor, Tensor, Tensor]:
    """Return layer_norm, its means and 1 / standard deviations."""
def native_norm(self, p=2, dim=None, keepdim: builtins.bool = False, dtype=None) -> Tensor:
    """Return the vector norm of order p over dims, by default all."""
def ne(input, other, *, out=None) -> Tensor:
    """Elementwise ne."""
def ne_(input, other, *, out=None) -> Tensor:
    """In-place version of ne()."""
def neg(input, *, out=None) -> Tensor:
    """Elementwise neg."""
def neg_(input, *, out=None) -> Tensor:
    """In-place version of neg()."""
def negative(input, *, out=None) -> Tensor:
    """Elementwise neg."""
def negative_(input, *, out=None) -> Tensor:
    """In-place version of negative()."""
def nelement(input) -> builtins.int:
    """Return the number of elements."""
newaxis: None
def nextafter(input, other, *, out=None) -> Tensor:
    """The next number after x in the direction of y."""
def nextafter_(input, other, *, out=None) -> Tensor:
    """In-place version of nextafter()."""
def nonzero(input, *, out=None, as_tuple: builtins.bool = False) -> Any:
    """Return the positions of nonzero elements: rows of a matrix, or one vector for each dimension."""
def nonzero_static(input, *, size, fill_value=-1, out=None) -> Tensor:
    """Return the first `size` positions of nonzero elements, as rows, padded by rows of fill_value."""
def norm(input, p='fro', dim=None, keepdim: builtins.bool = False, out=None, dtype=None, *, axis=None,
         keepdims: builtins.bool = False) -> Tensor:
    """Return the vector norm of order p over dims (by default all), or matrix norms 'fro' and 'nuc'; this is
    `ingot.norm`."""
def norm_except_dim(v, pow=2, dim=0) -> Tensor:
    """Return norms over all dims but one, keeping dims; over all dims for dim=-1."""
def normal(mean=0.0, std=1.0, size=None, *, generator=None, out=None, dtype=None, layout=None, device=None,
           requires_grad: builtins.bool = False, pin_memory: builtins.bool = False) -> Tensor:
    """Return normal numbers of the given mean and deviation, each a tensor or a number; two numbers need a size."""
def not_equal(input, other, *, out=None) -> Tensor:
    """Elementwise ne."""
def not_equal_(input, other, *, out=None) -> Tensor:
    """In-place version of not_equal()."""
def nuclear_norm(input, dim=(-2, -1), keepdim: builtins.bool = False, *, out=None, axis=(-2, -1),
                 keepdims: builtins.bool = False) -> Tensor:
    """Return the sum of singular values of the matrices that two dims span."""
def numel(input) -> builtins.int:
    """Return the number of elements."""
def one_hot(tensor, num_classes=-1) -> Tensor:
    """Return rows of zeros with a one at each index."""
def ones(*sizes, size=None, out=None, dtype=None, layout=None, device=None,
         requires_grad: builtins.bool = False, pin_memory: builtins.bool = False) -> Tensor:
    """Return a tensor of ones."""
def ones_like(input, *, dtype=None, layout=None, device=None, requires_grad: builtins.bool = False,
              memory_format=None, pin_memory: builtins.bool = False) -> Tensor:
    """Return ones with the shape and dtype of another tensor."""
def orgqr(A, tau, *, out=None) -> Tensor:
    """Return the first columns of the product of Householder reflections in geqrf's form."""
def ormqr(input, tau, other, left: builtins.bool = True, transpose: builtins.bool = False, *, out=None) -> Tensor:
    """Multiply Q (its adjoint with `transpose`), given by Householder reflections, by a matrix, or the matrix by Q."""
def outer(input, vec2, *, out=None) -> Tensor:
    """Multiply every element of one vector by every element of another."""
def pairwise_distance(x1, x2, p=2.0, eps=1e-06, keepdim: builtins.bool = False, *,
                      keepdims: builtins.bool = False) -> Tensor:
    """Return the p-norm of x1 - x2 + eps along the last dimension."""
def pca_lowrank(A, q=None, center: builtins.bool = True, niter=2) -> _return_types_module.svd_uv:
    """Return about q principal directions of the rows of A: svd_lowrank of A less the mean of its rows."""
def pdist(input, p=2.0) -> Tensor:
    """Return the p-norm distances of all pairs of rows, as the upper triangle row by row."""
per_channel_affine: _quantized_dtypes_module.qscheme
per_channel_affine_float_qparams: _quantized_dtypes_module.qscheme
per_channel_symmetric: _quantized_dtypes_module.qscheme
per_tensor_affine: _quantized_dtypes_module.qscheme
per_tensor_symmetric: _quantized_dtypes_module.qscheme
def permute(input, *order, dims=None, axis=None) -> Tensor:
    """Reorder the dimensions."""
def permute_copy(input, *order, dims=None, axis=None) -> Tensor:
    """Reorder the dimensions. A copy."""
pi: builtins.float
def pinverse(input, rcond=1e-15) -> Tensor:
    """Return the pseudo-inverse; singular values at most rcond times the largest count as 0."""
def pixel_shuffle(input, upscale_factor) -> Tensor:
    """Rearrange (..., C * r * r, H, W) to (..., C, H * r, W * r)."""
def pixel_unshuffle(input, downscale_factor) -> Tensor:
    """Rearrange (..., C, H * r, W * r) to (..., C * r * r, H, W)."""
def poisson(input, generator=None) -> Tensor:
    """Return counts of Poisson processes with the given rates."""
def poisson_nll_loss(input, target, log_input, full, eps, reduction) -> Tensor:
    """Return the negative log likelihood of counts."""
def polar(abs, angle, *, out=None) -> Tensor:
    """Return complex numbers from absolute values and angles."""
def polygamma(n, input, *, out=None) -> Tensor:
    """Return the n-th derivative of digamma."""
def positive(input) -> Tensor:
    """Return the tensor itself; raise for bool."""
def pow(input, exponent, *, out=None) -> Tensor:
    """Return input ** exponent."""
def pow_(input, exponent, *, out=None) -> Tensor:
    """In-place version of pow()."""
def prelu(input, weight) -> Tensor:
    """Return the input above 0, weight * input below; the weight is one number or one for each channel (dimension 1)."""
preserve_format: _memory_formats_module.MemoryFormat
def prod(input, dim=None, keepdim: builtins.bool = False, *, dtype=None, out=None, axis=None,
         keepdims: builtins.bool = False) -> Tensor:
    """Multiply elements over a dim (all by default); integers and bools are multiplied in int64."""
def promote_types(type1, type2) -> _dtype_module.DType:
    """Return the smallest dtype to which both dtypes convert."""
def put(input, index, source, accumulate: builtins.bool = False) -> Tensor:
    """Write (or add) source at positions of the flattened tensor."""
def put_(input, index, source, accumulate: builtins.bool = False) -> Tensor:
    """In-place version of put()."""
qint32: _dtype_module.NamedDType
qint8: _dtype_module.NamedDType
def qr(input, some: builtins.bool = True, *, out=None) -> Tensor:
    """Return Q and R with Q @ R = input, reduced unless `some` is False."""
def quantile(input, q, dim=None, keepdim: builtins.bool = False, *, interpolation='linear', out=None, axis=None,
             keepdims: builtins.bool = False) -> Tensor:
    """Return the q-th quantiles (a number or a row of them), of everything or along a dim; nan if an element is nan."""
quint2x4: _dtype_module.NamedDType
quint4x2: _dtype_module.NamedDType
quint8: _dtype_module.NamedDType
def rad2deg(input, *, out=None) -> Tensor:
    """Convert radians to degrees."""
def rad2deg_(input, *, out=None) -> Tensor:
    """In-place version of rad2deg()."""
def rand(*size, generator=None, out=None, dtype=None, layout=None, device=None,
         requires_grad: builtins.bool = False, pin_memory: builtins.bool = False, **named) -> Tensor:
    """Return uniform numbers in [0, 1); both parts of complex numbers."""
def rand_like(input, *, generator=None, dtype=None, layout=None, device=None,
              requires_grad: builtins.bool = False, memory_format=None) -> Tensor:
    """Return uniform numbers in [0, 1) with the input's shape and dtype."""
def randint(low=0, high=None, size=None, *, generator=None, out=None, dtype=..., layout=None, device=None,
            requires_grad: builtins.bool = False, pin_memory: builtins.bool = False) -> Tensor:
    """Return uniform integers in [low, high), or in [0, high) as randint(high, size)."""
def randint_like(input, low=0, high=None, *, generator=None, dtype=None, layout=None, device=None,
                 requires_grad: builtins.bool = False, memory_format=None) -> Tensor:
    """Return uniform integers in [low, high) (or [0, low)) with the input's shape and dtype."""
def randn(*size, generator=None, out=None, dtype=None, layout=None, device=None,
          requires_grad: builtins.bool = False, pin_memory: builtins.bool = False, **named) -> Tensor:
    """Return normal numbers of mean 0 and deviation 1; parts of complex numbers have half that variance."""
def randn_like(input, *, generator=None, dtype=None, layout=None, device=None,
               requires_grad: builtins.bool = False, memory_format=None) -> Tensor:
    """Return normal numbers with the input's shape and dtype."""
def randperm(n, *, generator=None, out=None, dtype=..., layout=None, device=None,
             requires_grad: builtins.bool = False, pin_memory: builtins.bool = False) -> Tensor:
    """Return the integers 0 to n-1 in random order."""
def range(start=0, end=None, step=1, *, out=None, dtype=None, layout=None, device=None,
          requires_grad: builtins.bool = False) -> Tensor:
    """Return start, start + step, ... up to and including end (deprecated; use arange)."""
def ravel(input) -> Tensor:
    """Return all elements in row-major order as a vector; a view where possible."""
def real(input) -> Tensor:
    """Return the real parts; a real tensor itself."""
def reciprocal(input, *, out=None) -> Tensor:
    """Elementwise reciprocal."""
def reciprocal_(input, *, out=None) -> Tensor:
    """In-place version of reciprocal()."""
def relu(input, *, out=None) -> Tensor:
    """max(input, 0)"""
def relu_(input, *, out=None) -> Tensor:
    """In-place version of relu()."""
def remainder(input, other, *, out=None) -> Tensor:
    """x - floor(x / y) * y, with the sign of y."""
def remainder_(input, other, *, out=None) -> Tensor:
    """In-place version of remainder()."""
@overload
def renorm(input, p, dim, maxnorm, *, out=None) -> Tensor:
    """Scale each slice along `dim` down to a norm of at most maxnorm."""
@overload
def renorm(input, p, *, axis, maxnorm, out=None) -> Tensor:
    """Scale each slice along `dim` down to a norm of at most maxnorm."""
@overload
def renorm_(input, p, dim, maxnorm, *, out=None) -> Tensor:
    """In-place version of renorm()."""
@overload
def renorm_(input, p, *, axis, maxnorm, out=None) -> Tensor:
    """In-place version of renorm()."""
def repeat_interleave(input, repeats=None, dim=None, *, output_size=None, axis=None) -> Tensor:
    """Repeat each element (or each index along a dimension) several times in a row. Counts alone give each index that many
    times."""
def reshape(input, *sizes, shape=None) -> Tensor:
    """Return the elements in another shape: a view where strides allow, else a copy."""
def resize_as_(self, the_template, memory_format=None) -> Tensor:
    """Resize to another tensor's shape; with `preserve_format` also to its order of dims."""
def resolve_conj(input) -> Tensor:
    """Return the tensor itself: conjugation is never lazy."""
def resolve_neg(input) -> Tensor:
    """Return the tensor itself: negation is never lazy."""
def result_type(tensor1, tensor2) -> _dtype_module.DType:
    """Return the common dtype of two tensors or numbers."""
def rms_norm(input, normalized_shape, weight=None, eps=None) -> Tensor:
    """Divide by the root of the mean square over the last dims, then multiply by weight."""
def rnn_relu(input, second, third, *rest, **options) -> Any:
    """nn.RNN with its weights in a list, called (input, hx, params, has_biases, num_layers, dropout, train, bidirectional,
    batch_first), or packed (data, batch_sizes, hx, params, ...). Return outputs and last states."""
def rnn_relu_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None) -> Any:
    """Compute one step of nn.RNNCell with these weights; return the next state or states."""
def rnn_tanh(input, second, third, *rest, **options) -> Any:
    """nn.RNN with its weights in a list, called (input, hx, params, has_biases, num_layers, dropout, train, bidirectional,
    batch_first), or packed (data, batch_sizes, hx, params, ...). Return outputs and last states."""
def rnn_tanh_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None) -> Any:
    """Compute one step of nn.RNNCell with these weights; return the next state or states."""
def roll(input, shifts, dims=None, *, axis=None) -> Tensor:
    """Shift elements along dims, cyclically."""
def rot90(input, k=1, dims=(0, 1), *, axis=(0, 1)) -> Tensor:
    """Rotate by 90 degrees k times in the plane of two dims."""
def round(input, *, decimals=0, out=None) -> Tensor:
    """Round to `decimals` places, halves to even."""
def round_(input, *, decimals=0, out=None) -> Tensor:
    """In-place version of round()."""
def row_stack(tensors, *, out=None) -> Tensor:
    """Join tensors one below the other; vectors are rows."""
def rrelu(input, lower=0.125, upper=0.3333333333333333, training: builtins.bool = False) -> Tensor:
    """Apply leaky_relu with a random slope per element in training, else with the mean of the bounds."""
def rrelu_(input, lower=0.125, upper=0.3333333333333333, training: builtins.bool = False) -> Tensor:
    """Apply rrelu() in place."""
def rsqrt(input, *, out=None) -> Tensor:
    """Elementwise rsqrt."""
def rsqrt_(input, *, out=None) -> Tensor:
    """In-place version of rsqrt()."""
def rsub(input, other, *, alpha=1) -> Tensor:
    """Return other - alpha * input."""
def saddmm(input, mat1, mat2, *, beta=1, alpha=1, out=None) -> Tensor:
    """Return beta * input + alpha * (mat1 @ mat2), all sparse but mat2."""
def save(obj, f, pickle_module=None, pickle_protocol=2, _use_new_zipfile_serialization: builtins.bool = True) -> None:
    """Write nested dicts, lists, tuples, sets, numbers, strings and tensors to a path or an open binary file."""
def scalar_tensor(s, *, dtype=None, layout=None, device=None, requires_grad: builtins.bool = False,
                  pin_memory: builtins.bool = False) -> Tensor:
    """Return a 0-d tensor of the default dtype."""
@overload
def scatter(input, dim, index, src=None, *, value=None, reduce=None, out=None) -> Tensor:
    """Write src at indices along a dimension: out[index[i][j]][j] = src[i][j] for dim 0, and so on. `reduce` "add" or
    "multiply" combines src with the input instead."""
@overload
def scatter(input, *, axis, index, src=None, value=None, reduce=None, out=None) -> Tensor:
    """Write src at indices along a dimension: out[index[i][j]][j] = src[i][j] for dim 0, and so on. `reduce` "add" or
    "multiply" combines src with the input instead."""
@overload
def scatter_(input, dim, index, src=None, *, value=None, reduce=None, out=None) -> Tensor:
    """In-place version of scatter()."""
@overload
def scatter_(input, *, axis, index, src=None, value=None, reduce=None, out=None) -> Tensor:
    """In-place version of scatter()."""
@overload
def scatter_add(input, dim, index, src, *, out=None) -> Tensor:
    """Add src at indices along a dimension: out[index[i][j]][j] += src[i][j] for dim 0, and so on."""
@overload
def scatter_add(input, *, axis, index, src, out=None) -> Tensor:
    """Add src at indices along a dimension: out[index[i][j]][j] += src[i][j] for dim 0, and so on."""
@overload
def scatter_add_(input, dim, index, src, *, out=None) -> Tensor:
    """In-place version of scatter_add()."""
@overload
def scatter_add_(input, *, axis, index, src, out=None) -> Tensor:
    """In-place version of scatter_add()."""
@overload
def scatter_reduce(input, dim, index, src, reduce, *, include_self: builtins.bool = True, out=None) -> Tensor:
    """Scatter src and combine it by sum, prod, mean, amax or amin; without `include_self` the input takes no part."""
@overload
def scatter_reduce(input, *, axis, index, src, reduce, include_self: builtins.bool = True, out=None) -> Tensor:
    """Scatter src and combine it by sum, prod, mean, amax or amin; without `include_self` the input takes no part."""
@overload
def scatter_reduce_(input, dim, index, src, reduce, *, include_self: builtins.bool = True, out=None) -> Tensor:
    """In-place version of scatter_reduce()."""
@overload
def scatter_reduce_(input, *, axis, index, src, reduce, include_self: builtins.bool = True, out=None) -> Tensor:
    """In-place version of scatter_reduce()."""
def searchsorted(sorted_sequence, input, *, out_int32: builtins.bool = False, right: builtins.bool = False,
                 side=None, sorter=None, out=None) -> Tensor:
    """Return where each value would be inserted into sorted rows: before its equals, or after them when `right`."""
def seed() -> builtins.int:
    """Seed the default generator from the operating system, and return the seed."""
def segment_reduce(data, reduce, *, lengths=None, indices=None, offsets=None, axis=0,
                   unsafe: builtins.bool = False, initial=None) -> Tensor:
    """Reduce segments along an axis by sum, mean, prod, max or min, given their lengths or their offsets (and the last
    end). A segment without elements is `initial`, or the reduction's own start; a mean of nothing is nan."""
@overload
def select(input, dim, index) -> Tensor:
    """Return a view of one index along a dimension, which disappears."""
@overload
def select(input, *, axis, index) -> Tensor:
    """Return a view of one index along a dimension, which disappears."""
@overload
def select_copy(input, dim, index) -> Tensor:
    """Return a view of one index along a dimension, which disappears. A copy."""
@overload
def select_copy(input, *, axis, index) -> Tensor:
    """Return a view of one index along a dimension, which disappears. A copy."""
@overload
def select_scatter(input, src, dim, index) -> Tensor:
    """Return a copy with src at one index along a dimension."""
@overload
def select_scatter(input, src, *, axis, index) -> Tensor:
    """Return a copy with src at one index along a dimension."""
def selu(input) -> Tensor:
    """Return scale * elu(x, alpha), with the constants that keep mean and variance."""
def selu_(input) -> Tensor:
    """Apply selu() in place."""
def set_autocast_cache_enabled(enabled: builtins.bool) -> Tensor:
    """Set whether autocast caches casts of parameters."""
def set_autocast_cpu_dtype(dtype) -> Tensor:
    """Set the low dtype that autocast uses on the CPU."""
def set_autocast_cpu_enabled(enabled: builtins.bool) -> Tensor:
    """Switch autocast for the CPU on or off."""
def set_autocast_dtype(device_type: builtins.str, dtype) -> Tensor:
    """Set the low dtype that autocast uses on a kind of device."""
def set_autocast_enabled(device_type, enabled=None) -> Tensor:
    """Switch autocast on or off for a kind of device, until the next switch."""
def set_autocast_gpu_dtype(dtype) -> Tensor:
    """Set the low dtype that autocast uses on CUDA devices."""
def set_default_device(device) -> None:
    """Set the device of new tensors; None is the CPU."""
def set_default_dtype(d) -> None:
    """Set the dtype of tensors made from Python floats (a floating point dtype)."""
def set_default_tensor_type(t) -> Tensor:
    """Set the dtype of tensors made from Python floats, and the default device, by an old type name or type. Names are
    "torch.DoubleTensor", "torch.cuda.FloatTensor" and so on."""
def set_deterministic_debug_mode(debug_mode) -> None:
    """Set the mode of `use_deterministic_algorithms`: "default", "warn", "error", or 0, 1, 2."""
def set_float32_matmul_precision(precision: builtins.str) -> None:
    """Set the precision of float32 products: "highest", "high" or "medium". CPUs always compute them in float32. On a GPU
    all but "highest" allow TF32 tensor cores, which keep 10 bits of the mantissa."""
def set_flush_denormal(mode: builtins.bool) -> builtins.bool:
    """Return whether the mode is possible. ingot computes with denormal numbers, so only False is."""
def set_num_interop_threads(count: builtins.int) -> None:
    """Record the number of threads. ingot runs one operator after the other."""
def set_num_threads(count: builtins.int) -> None:
    """Set the number of threads of kernels. Results do not depend on it. Running calls of other Python threads finish with
    at most as many threads as they were planned for."""
def set_printoptions(precision=None, threshold=None, edgeitems=None, linewidth=None, profile=None, sci_mode=None) -> None:
    """Set how tensors print: a profile ("default", "short" or "full") first, then the options given by name."""
def set_rng_state(new_state: Tensor) -> None:
    """Set the default generator's state."""
def set_warn_always(b: builtins.bool) -> None:
    """Set whether warnings that ingot gives once in a process, such as of a GPU's work that the host does, appear every
    time."""
def sgn(input, *, out=None) -> Tensor:
    """Return the sign; for a complex number the point at distance 1 from 0 in its direction."""
def sgn_(input, *, out=None) -> Tensor:
    """In-place version of sgn()."""
short: _dtype_module.DType
def sigmoid(input, *, out=None) -> Tensor:
    """Elementwise sigmoid."""
def sigmoid_(input, *, out=None) -> Tensor:
    """In-place version of sigmoid()."""
def sign(input, *, out=None) -> Tensor:
    """-1, 0 or 1; 0 for nan."""
def sign_(input, *, out=None) -> Tensor:
    """In-place version of sign()."""
def signbit(input, *, out=None) -> Tensor:
    """Elementwise signbit."""
def signbit_(input, *, out=None) -> Tensor:
    """In-place version of signbit()."""
def sin(input, *, out=None) -> Tensor:
    """Elementwise sin."""
def sin_(input, *, out=None) -> Tensor:
    """In-place version of sin()."""
def sinc(input, *, out=None) -> Tensor:
    """sin(pi x) / (pi x)"""
def sinc_(input, *, out=None) -> Tensor:
    """In-place version of sinc()."""
def sinh(input, *, out=None) -> Tensor:
    """Elementwise sinh."""
def sinh_(input, *, out=None) -> Tensor:
    """In-place version of sinh()."""
def slice_copy(input, dim=0, start=None, end=None, step=1, *, axis=0) -> Tensor:
    """Return a slice along a dimension. A copy."""
def slice_inverse(input, src, dim=0, start=None, end=None, step=1, *, axis=0) -> Tensor:
    """Return the window over input's memory with the sizes and strides of src. `dim`, `start`, `end` and `step` are
    ignored: sizes, strides and offset of src say it all."""
def slice_scatter(input, src, dim=0, start=None, end=None, step=1, *, out=None, axis=0) -> Tensor:
    """Return a copy with src in a slice along a dimension."""
def slogdet(A, *, out=None) -> _return_types_module.slogdet:
    """Return sign and logarithm of the absolute value of the determinant."""
def smm(input, mat) -> Tensor:
    """Return a sparse matrix times a dense one as a sparse matrix, with all of each row in which the first has entries."""
@overload
def softmax(input, dim, dtype=None, *, out=None) -> Tensor:
    """Return exp(x) / sum(exp(x)) along a dimension."""
@overload
def softmax(input, *, axis, dtype=None, out=None) -> Tensor:
    """Return exp(x) / sum(exp(x)) along a dimension."""
def sort(input, dim=-1, descending: builtins.bool = False, stable: builtins.bool = True, *,
         out=None, axis=-1) -> _return_types_module.sort:
    """Sort along a dim; return (values, indices). `stable` is ignored: equal elements always keep their order."""
sparse_bsc: _layouts_module.layout
def sparse_bsc_tensor(ccol_indices, row_indices, values, size=None, *, dtype=None, layout=None, device=None,
                      pin_memory: builtins.bool = False, requires_grad: builtins.bool = False,
                      check_invariants=None) -> Tensor:
    """Return a sparse matrix of blocks from starts of block columns, block rows and blocks. `check_invariants` is ignored:
    indices are always checked, since reading beyond them is not safe."""
sparse_bsr: _layouts_module.layout
def sparse_bsr_tensor(crow_indices, col_indices, values, size=None, *, dtype=None, layout=None, device=None,
                      pin_memory: builtins.bool = False, requires_grad: builtins.bool = False,
                      check_invariants=None) -> Tensor:
    """Return a sparse matrix of blocks from starts of block rows, block columns and blocks. `check_invariants` is ignored:
    indices are always checked, since reading beyond them is not safe."""
def sparse_compressed_tensor(compressed_indices, plain_indices, values, size=None, *, dtype=None, layout=None,
                             device=None, pin_memory: builtins.bool = False,
                             requires_grad: builtins.bool = False, check_invariants=None) -> Tensor:
    """Return a sparse matrix (or batch) from starts of rows or columns, the other indices, and values."""
sparse_coo: _layouts_module.layout
def sparse_coo_tensor(indices=None, values=None, size=None, *, dtype=None, device=None,
                      pin_memory: builtins.bool = False, requires_grad: builtins.bool = False,
                      check_invariants=None, is_coalesced=None) -> Tensor:
    """Return a sparse tensor of values at indices (one row for each sparse dimension); a size alone gives no entries."""
sparse_csc: _layouts_module.layout
def sparse_csc_tensor(ccol_indices, row_indices, values, size=None, *, dtype=None, layout=None, device=None,
                      pin_memory: builtins.bool = False, requires_grad: builtins.bool = False,
                      check_invariants=None) -> Tensor:
    """Return a sparse matrix from column starts (one more than columns), rows and values. `check_invariants` is ignored:
    indices are always checked, since reading beyond them is not safe."""
sparse_csr: _layouts_module.layout
def sparse_csr_tensor(crow_indices, col_indices, values, size=None, *, dtype=None, layout=None, device=None,
                      pin_memory: builtins.bool = False, requires_grad: builtins.bool = False,
                      check_invariants=None) -> Tensor:
    """Return a sparse matrix from row starts (one more than rows), columns and values. `check_invariants` is ignored:
    indices are always checked, since reading beyond them is not safe."""
def split(tensor, split_size_or_sections, dim=0, *, axis=0) -> builtins.tuple[Tensor, ...]:
    """Split a tensor into pieces of one size (the last may be smaller) or of the sizes listed; return views."""
def split_copy(tensor, split_size_or_sections, dim=0, *, axis=0) -> builtins.tuple[Tensor, ...]:
    """Split a tensor into pieces of one size (the last may be smaller) or of the sizes listed; return views. A copy."""
def split_with_sizes(input, split_sizes, dim=0, *, axis=0) -> builtins.tuple[Tensor, ...]:
    """Split a tensor into pieces of the sizes listed; return views."""
def split_with_sizes_copy(input, split_sizes, dim=0, *, axis=0) -> builtins.tuple[Tensor, ...]:
    """Split a tensor into pieces of the sizes listed; return views. A copy."""
def spmm(mat1, mat2, reduce='sum', *, out=None) -> Tensor:
    """Return the product of two matrices, at least one of them sparse. `reduce` "mean", "amax" or "amin" replaces the sum
    of products, for a sparse matrix times a dense one."""
def sqrt(input, *, out=None) -> Tensor:
    """Elementwise sqrt."""
def sqrt_(input, *, out=None) -> Tensor:
    """In-place version of sqrt()."""
def square(input, *, out=None) -> Tensor:
    """Return input * input; bool counts as int64."""
def square_(input, *, out=None) -> Tensor:
    """In-place version of square()."""
def squeeze(input, dim=None, *more, axis=None) -> Tensor:
    """Remove dimensions of size 1 (all, or those named)."""
def squeeze_copy(input, dim=None, *more, axis=None) -> Tensor:
    """Remove dimensions of size 1 (all, or those named). A copy."""
def sspaddmm(input, mat1, mat2, *, beta=1, alpha=1, out=None) -> Tensor:
    """Return beta * input + alpha * (mat1 @ mat2), all sparse but mat2."""
def stack(tensors, dim=0, *, out=None, axis=0) -> Tensor:
    """Join tensors along a new dimension."""
def std(input, dim=None, unbiased=None, keepdim: builtins.bool = False, *, correction=None, out=None, axis=None,
        keepdims: builtins.bool = False) -> Tensor:
    """Return the standard deviation over dims, divided by the count less `correction` (1 by default)."""
def std_mean(input, dim=None, unbiased=None, keepdim: builtins.bool = False, *,
             correction=None, axis=None, keepdims: builtins.bool = False) -> builtins.tuple[Tensor, Tensor]:
    """Return the standard deviation and mean over dims."""
def stft(input, n_fft, hop_length=None, win_length=None, window=None, center: builtins.bool = True,
         pad_mode='reflect', normalized: builtins.bool = False, onesided=None, return_complex=None,
         align_to_window=None) -> Tensor:
    """Return the spectra of windows of n_fft numbers, hop_length apart: (..., frequencies, windows)."""
strided: _layouts_module.layout
def sub(input, other, *older, alpha=1, out=None) -> Tensor:
    """Return input - alpha * other."""
def sub_(input, other, *older, alpha=1, out=None) -> Tensor:
    """In-place version of sub()."""
def subtract(input, other, *older, alpha=1, out=None) -> Tensor:
    """Return input - alpha * other."""
def subtract_(input, other, *older, alpha=1, out=None) -> Tensor:
    """In-place version of subtract()."""
def sum(input, dim=None, keepdim: builtins.bool = False, *, dtype=None, out=None, axis=None,
        keepdims: builtins.bool = False) -> Tensor:
    """Sum over dims (all by default); integers and bools are summed in int64."""
def svd(input, some: builtins.bool = True, compute_uv: builtins.bool = True, *, out=None) -> Tensor:
    """Return U, S, V with U @ diag(S) @ V.mH = input, reduced unless `some` is False; without compute_uv, U and V are
    zeros."""
def svd_lowrank(A, q=6, niter=2, M=None) -> _return_types_module.svd_uv:
    """Return U, S and V of about the q largest singular values of A (or A - M), by `niter` rounds of random products."""
@overload
def swapaxes(input, dim0, dim1=None) -> Tensor:
    """Swap two dimensions, or reorder all by one tuple, as in NumPy."""
@overload
def swapaxes(input, *, axis0, axis1=None) -> Tensor:
    """Swap two dimensions, or reorder all by one tuple, as in NumPy."""
@overload
def swapdims(input, dim0, dim1=None) -> Tensor:
    """Swap two dimensions, or reorder all by one tuple, as in NumPy."""
@overload
def swapdims(input, *, axis0, axis1=None) -> Tensor:
    """Swap two dimensions, or reorder all by one tuple, as in NumPy."""
def sym_float(a) -> Tensor:
    """Return a number as a float."""
def sym_int(a) -> Tensor:
    """Return a number as an integer, truncated towards zero."""
def sym_ite(b, t, f) -> Tensor:
    """Return `t` if a condition is true, else `f`."""
def sym_max(a, b) -> Tensor:
    """Return the larger of two sizes, as a float if one of them is."""
def sym_min(a, b) -> Tensor:
    """Return the smaller of two sizes, as a float if one of them is."""
def sym_not(a) -> Tensor:
    """Return the negation of a condition."""
def sym_sqrt(a) -> Tensor:
    """Return the square root of a number."""
def sym_sum(args) -> Tensor:
    """Return the sum of sizes."""
def t(input) -> Tensor:
    """Transpose a matrix; tensors with fewer dimensions stay as they are."""
def t_copy(input) -> Tensor:
    """Transpose a matrix; tensors with fewer dimensions stay as they are. A copy."""
def take(input, index, *, out=None) -> Tensor:
    """Return the elements at positions of the flattened tensor, in the shape of index."""
def take_along_dim(input, indices, dim=None, *, out=None, axis=None) -> Tensor:
    """Pick elements along a dimension by indices that broadcast with the other dimensions."""
def tan(input, *, out=None) -> Tensor:
    """Elementwise tan."""
def tan_(input, *, out=None) -> Tensor:
    """In-place version of tan()."""
def tanh(input, *, out=None) -> Tensor:
    """Elementwise tanh."""
def tanh_(input, *, out=None) -> Tensor:
    """In-place version of tanh()."""
def tensor(data, *, dtype=None, device=None, requires_grad: builtins.bool = False,
           pin_memory: builtins.bool = False) -> Tensor:
    """Return a copy of data as a tensor: nested sequences, numbers, arrays or tensors."""
def tensor_split(input, indices_or_sections, dim=0, *, axis=0) -> builtins.tuple[Tensor, ...]:
    """Split a tensor into `n` pieces whose sizes differ by at most one, or at the indices listed; return views."""
def tensordot(a, b, dims=2, *, out=None, axis=2) -> Tensor:
    """Sum products over several dims: the last of a and the first of b, or the two given lists."""
def threshold(input, threshold, value) -> Tensor:
    """Return the input where it is above the threshold, `value` elsewhere."""
def threshold_(input, threshold, value) -> Tensor:
    """Apply threshold() in place."""
def tile(input, *sizes, dims=None, axis=None) -> Tensor:
    """Repeat the tensor; missing leading counts are 1."""
def topk(input, k, dim=-1, largest: builtins.bool = True, sorted: builtins.bool = True, *,
         out=None, axis=-1) -> _return_types_module.topk:
    """Return the k largest (or smallest) elements along a dim, in order, as (values, indices); the first among equals."""
def trace(input) -> Tensor:
    """Return the sum of a matrix's diagonal."""
@overload
def transpose(input, dim0, dim1=None) -> Tensor:
    """Swap two dimensions, or reorder all by one tuple, as in NumPy."""
@overload
def transpose(input, *, axis0, axis1=None) -> Tensor:
    """Swap two dimensions, or reorder all by one tuple, as in NumPy."""
@overload
def transpose_copy(input, dim0, dim1=None) -> Tensor:
    """Swap two dimensions, or reorder all by one tuple, as in NumPy. A copy."""
@overload
def transpose_copy(input, *, axis0, axis1=None) -> Tensor:
    """Swap two dimensions, or reorder all by one tuple, as in NumPy. A copy."""
def trapezoid(y, x=None, *, dx=1, dim=-1, axis=-1) -> Tensor:
    """Return the integral of y over the positions x (or steps of dx) by the trapezoidal rule."""
def trapz(y, x=None, *, dx=1, dim=-1, axis=-1) -> Tensor:
    """Return the integral of y over the positions x (or steps of dx) by the trapezoidal rule."""
def triangular_solve(b, A, upper: builtins.bool = True,
                     transpose: builtins.bool = False,
                     unitriangular: builtins.bool = False, *, out=None) -> _return_types_module.triangular_solve:
    """Return X with A @ X = b (or A^T @ X = b), from one triangle of A, and a copy of A; newer: linalg.solve_triangular."""
def tril(input, diagonal=0, *, out=None) -> Tensor:
    """Return a copy with zeros above a diagonal."""
def tril_(input, diagonal=0, *, out=None) -> Tensor:
    """In-place version of tril()."""
def tril_indices(row, col, offset=0, *, dtype=..., device=None, layout=None) -> Tensor:
    """Return rows and columns of the lower triangle, as a tensor of 2 rows."""
def triplet_margin_loss(anchor, positive, negative, margin=1.0, p=2.0, eps=1e-06, swap: builtins.bool = False,
                        reduction=1) -> Tensor:
    """Return max(0, distance to positive - distance to negative + margin)."""
def triu(input, diagonal=0, *, out=None) -> Tensor:
    """Return a copy with zeros below a diagonal."""
def triu_(input, diagonal=0, *, out=None) -> Tensor:
    """In-place version of triu()."""
def triu_indices(row, col, offset=0, *, dtype=..., device=None, layout=None) -> Tensor:
    """Return rows and columns of the upper triangle, as a tensor of 2 rows."""
def true_divide(input, other, *, out=None) -> Tensor:
    """Return input / other."""
def true_divide_(input, other, *, out=None) -> Tensor:
    """In-place version of true_divide()."""
def trunc(input, *, out=None) -> Tensor:
    """Elementwise trunc."""
def trunc_(input, *, out=None) -> Tensor:
    """In-place version of trunc()."""
def typename(obj) -> builtins.str:
    """Return the type name of an object, as in `ingot.FloatTensor`; for a class or function its own name, with the
    module."""
uint1: _dtype_module.NamedDType
uint2: _dtype_module.NamedDType
uint3: _dtype_module.NamedDType
uint4: _dtype_module.NamedDType
uint5: _dtype_module.NamedDType
uint6: _dtype_module.NamedDType
uint7: _dtype_module.NamedDType
def unbind(input, dim=0, *, axis=0) -> builtins.tuple[Tensor, ...]:
    """Return a view for every index along a dimension."""
def unbind_copy(input, dim=0, *, axis=0) -> builtins.tuple[Tensor, ...]:
    """Return a view for every index along a dimension. A copy."""
@overload
def unflatten(input, dim, sizes) -> Tensor:
    """Split one dimension into several."""
@overload
def unflatten(input, *, axis, sizes) -> Tensor:
    """Split one dimension into several."""
def unfold_copy(self, dimension, size, step) -> Tensor:
    """Return windows of `size` every `step` along a dimension, as a new last dimension. A copy."""
def unique(input, sorted: builtins.bool = True, return_inverse: builtins.bool = False,
           return_counts: builtins.bool = False, dim=None, *, axis=None) -> Any:
    """Return the sorted distinct values (of slices along `dim`), with indices into them and counts if requested. `sorted`
    is ignored: False allows any order, this one too."""
def unique_consecutive(input, return_inverse: builtins.bool = False, return_counts: builtins.bool = False,
                       dim=None, *, axis=None) -> Any:
    """Drop repeats of a neighbour; also return indices into the result and run lengths if requested."""
def unravel_index(indices, shape) -> Tensor:
    """Return the coordinates of flat indices into a tensor of `shape`, one tensor for each dimension."""
def unsafe_chunk(input, chunks, dim=0, *, axis=0) -> builtins.tuple[Tensor, ...]:
    """Same as chunk()."""
def unsafe_split(tensor, split_size, dim=0, *, axis=0) -> builtins.tuple[Tensor, ...]:
    """Same as split()."""
def unsafe_split_with_sizes(input, split_sizes, dim=0, *, axis=0) -> builtins.tuple[Tensor, ...]:
    """Same as split_with_sizes()."""
@overload
def unsqueeze(input, dim) -> Tensor:
    """Insert a dimension of size 1 at `dim`."""
@overload
def unsqueeze(input, *, axis) -> Tensor:
    """Insert a dimension of size 1 at `dim`."""
@overload
def unsqueeze_copy(input, dim) -> Tensor:
    """Insert a dimension of size 1 at `dim`. A copy."""
@overload
def unsqueeze_copy(input, *, axis) -> Tensor:
    """Insert a dimension of size 1 at `dim`. A copy."""
def use_deterministic_algorithms(mode: builtins.bool, *, warn_only: builtins.bool = False) -> None:
    """Record the mode. Every operator of ingot is deterministic in any mode."""
def vander(x, N=None, increasing: builtins.bool = False) -> Tensor:
    """Return the powers of a vector's elements as columns, falling unless `increasing`."""
def var(input, dim=None, unbiased=None, keepdim: builtins.bool = False, *, correction=None, out=None, axis=None,
        keepdims: builtins.bool = False) -> Tensor:
    """Return the variance over dims, divided by the count less `correction` (1 by default)."""
def var_mean(input, dim=None, unbiased=None, keepdim: builtins.bool = False, *,
             correction=None, axis=None, keepdims: builtins.bool = False) -> builtins.tuple[Tensor, Tensor]:
    """Return the variance and mean over dims."""
def vdot(input, other, *, out=None) -> Tensor:
    """Return the inner product of two vectors, the first one conjugated."""
def view_as_complex(input) -> Tensor:
    """Return complex numbers from pairs of parts in the last dimension, of size 2."""
def view_as_complex_copy(input) -> Tensor:
    """Return complex numbers from pairs of parts in the last dimension, of size 2. A copy."""
def view_as_real(input) -> Tensor:
    """Return pairs of real and imaginary parts, in a last dimension of 2."""
def view_as_real_copy(input) -> Tensor:
    """Return pairs of real and imaginary parts, in a last dimension of 2. A copy."""
def view_copy(self, *shape, dtype=None, size=None) -> Tensor:
    """Return a view in another shape, or, given a dtype, with the memory read as that dtype. Raise where the strides do not
    fit."""
def vmap(func, in_dims=0, out_dims=0, randomness='error', *, chunk_size=None) -> Tensor:
    """Return a function that applies func to every sample of a batch at once and joins the results."""
def vsplit(input, indices_or_sections) -> builtins.tuple[Tensor, ...]:
    """Equal pieces, or pieces cut at the indices listed, as views."""
def vstack(tensors, *, out=None) -> Tensor:
    """Join tensors one below the other; vectors are rows."""
def where(condition, input=None, other=None, *, out=None) -> Tensor:
    """Return input where the condition is true, other elsewhere; with the condition alone, its nonzero indices."""
def while_loop(cond_fn, body_fn, carried_inputs) -> builtins.tuple:
    """Repeat carried = body_fn(*carried) while cond_fn(*carried) is true; return the last values as a tuple."""
def xlogy(input, other, *, out=None) -> Tensor:
    """x log y; 0 where x is 0, unless y is nan."""
def xlogy_(input, other, *, out=None) -> Tensor:
    """In-place version of xlogy()."""
def zero_(self) -> Tensor:
    """Write zeros to all elements."""
def zeros(*sizes, size=None, out=None, dtype=None, layout=None, device=None,
          requires_grad: builtins.bool = False, pin_memory: builtins.bool = False) -> Tensor:
    """Return a tensor of zeros."""
def zeros_like(input, *, dtype=None, layout=None, device=None, requires_grad: builtins.bool = False,
               memory_format=None, pin_memory: builtins.bool = False) -> Tensor:
    """Return zeros with the shape and dtype of another tensor."""
