"""`ingot.ao.quantization`: models of 8 bits and less, with a quarter of the memory of float32."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import collections.abc as _c
import typing as _t
import numpy as _np
from ingot import Tensor as _Tensor
from ingot import device as _device
from ingot import dtype as _dtype
from ingot import qscheme as _qscheme
from ingot.nn import Module as _Module
from ingot.nn.quantized import Quantize as _Quantize
from ingot.quantization import fake_quantize as fake_quantize
from ingot.quantization import qconfig as qconfig

DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS: _b.dict[_t.Any, _t.Any]
DEFAULT_QAT_MODULE_MAPPINGS: _b.dict[_t.Any, _t.Any]
DEFAULT_STATIC_QUANT_MODULE_MAPPINGS: _b.dict[_t.Any, _t.Any]
default_activation_only_qconfig: QConfig
def default_affine_fixed_qparams_fake_quant(*args: _t.Any, **keywords: _t.Any) -> _t.Any:
    """Factory of observers with fixed arguments; functions in `with_callable_args` are called for each observer."""
def default_affine_fixed_qparams_observer(*args: _t.Any, **keywords: _t.Any) -> _t.Any:
    """Factory of observers with fixed arguments; functions in `with_callable_args` are called for each observer."""
default_debug_qconfig: QConfig
def default_dynamic_fake_quant(*args: _t.Any, **keywords: _t.Any) -> _t.Any:
    """Factory of observers with fixed arguments; functions in `with_callable_args` are called for each observer."""
default_dynamic_qat_qconfig: QConfig
default_dynamic_qconfig: QConfig
def default_dynamic_quant_observer(*args: _t.Any, **keywords: _t.Any) -> _t.Any:
    """Factory of observers with fixed arguments; functions in `with_callable_args` are called for each observer."""
def default_embedding_fake_quant(*args: _t.Any, **keywords: _t.Any) -> _t.Any:
    """Factory of observers with fixed arguments; functions in `with_callable_args` are called for each observer."""
default_embedding_qat_qconfig: QConfig
def default_fake_quant(*args: _t.Any, **keywords: _t.Any) -> _t.Any:
    """Factory of observers with fixed arguments; functions in `with_callable_args` are called for each observer."""
def default_fixed_qparams_range_0to1_fake_quant(*args: _t.Any, **keywords: _t.Any) -> _t.Any:
    """Factory of observers with fixed arguments; functions in `with_callable_args` are called for each observer."""
def default_fixed_qparams_range_0to1_observer(*args: _t.Any, **keywords: _t.Any) -> _t.Any:
    """Factory of observers with fixed arguments; functions in `with_callable_args` are called for each observer."""
def default_fixed_qparams_range_neg1to1_fake_quant(*args: _t.Any, **keywords: _t.Any) -> _t.Any:
    """Factory of observers with fixed arguments; functions in `with_callable_args` are called for each observer."""
def default_fixed_qparams_range_neg1to1_observer(*args: _t.Any, **keywords: _t.Any) -> _t.Any:
    """Factory of observers with fixed arguments; functions in `with_callable_args` are called for each observer."""
def default_float_qparams_observer(*args: _t.Any, **keywords: _t.Any) -> _t.Any:
    """Factory of observers with fixed arguments; functions in `with_callable_args` are called for each observer."""
def default_fused_act_fake_quant(*args: _t.Any, **keywords: _t.Any) -> _t.Any:
    """Factory of observers with fixed arguments; functions in `with_callable_args` are called for each observer."""
def default_fused_per_channel_wt_fake_quant(*args: _t.Any, **keywords: _t.Any) -> _t.Any:
    """Factory of observers with fixed arguments; functions in `with_callable_args` are called for each observer."""
def default_fused_wt_fake_quant(*args: _t.Any, **keywords: _t.Any) -> _t.Any:
    """Factory of observers with fixed arguments; functions in `with_callable_args` are called for each observer."""
def default_histogram_fake_quant(*args: _t.Any, **keywords: _t.Any) -> _t.Any:
    """Factory of observers with fixed arguments; functions in `with_callable_args` are called for each observer."""
def default_histogram_observer(*args: _t.Any, **keywords: _t.Any) -> _t.Any:
    """Factory of observers with fixed arguments; functions in `with_callable_args` are called for each observer."""
def default_observer(*args: _t.Any, **keywords: _t.Any) -> _t.Any:
    """Factory of observers with fixed arguments; functions in `with_callable_args` are called for each observer."""
default_per_channel_qconfig: QConfig
default_per_channel_symmetric_qnnpack_qat_qconfig: QConfig
default_per_channel_symmetric_qnnpack_qconfig: QConfig
def default_per_channel_weight_fake_quant(*args: _t.Any, **keywords: _t.Any) -> _t.Any:
    """Factory of observers with fixed arguments; functions in `with_callable_args` are called for each observer."""
def default_per_channel_weight_observer(*args: _t.Any, **keywords: _t.Any) -> _t.Any:
    """Factory of observers with fixed arguments; functions in `with_callable_args` are called for each observer."""
default_qat_qconfig: QConfig
default_qat_qconfig_v2: QConfig
default_qconfig: QConfig
default_quint8_weight_qconfig: QConfig
default_reuse_input_qconfig: QConfig
def default_symmetric_fixed_qparams_fake_quant(*args: _t.Any, **keywords: _t.Any) -> _t.Any:
    """Factory of observers with fixed arguments; functions in `with_callable_args` are called for each observer."""
def default_symmetric_fixed_qparams_observer(*args: _t.Any, **keywords: _t.Any) -> _t.Any:
    """Factory of observers with fixed arguments; functions in `with_callable_args` are called for each observer."""
default_symmetric_qnnpack_qat_qconfig: QConfig
default_symmetric_qnnpack_qconfig: QConfig
def default_weight_fake_quant(*args: _t.Any, **keywords: _t.Any) -> _t.Any:
    """Factory of observers with fixed arguments; functions in `with_callable_args` are called for each observer."""
def default_weight_observer(*args: _t.Any, **keywords: _t.Any) -> _t.Any:
    """Factory of observers with fixed arguments; functions in `with_callable_args` are called for each observer."""
default_weight_only_qconfig: QConfig
def fused_per_channel_wt_fake_quant_range_neg_127_to_127(*args: _t.Any, **keywords: _t.Any) -> _t.Any:
    """Factory of observers with fixed arguments; functions in `with_callable_args` are called for each observer."""
def fused_wt_fake_quant_range_neg_127_to_127(*args: _t.Any, **keywords: _t.Any) -> _t.Any:
    """Factory of observers with fixed arguments; functions in `with_callable_args` are called for each observer."""
per_channel_affine: _qscheme
per_channel_affine_float_qparams: _qscheme
per_channel_dynamic_qconfig: QConfig
per_channel_symmetric: _qscheme
def per_channel_weight_observer_range_neg_127_to_127(*args: _t.Any, **keywords: _t.Any) -> _t.Any:
    """Factory of observers with fixed arguments; functions in `with_callable_args` are called for each observer."""
per_tensor_affine: _qscheme
per_tensor_symmetric: _qscheme
def weight_observer_range_neg_127_to_127(*args: _t.Any, **keywords: _t.Any) -> _t.Any:
    """Factory of observers with fixed arguments; functions in `with_callable_args` are called for each observer."""

class DeQuantStub(QuantStub):
    """Marker of where they become floats again."""

class FakeQuantize(FakeQuantizeBase):
    """Module for (step - zero_point) * scale with the nearest step from quant_min to quant_max. Scale and zero point come
    from an observer, which sees each input first."""
    activation_post_process: _t.Any
    ch_axis: _t.Any
    dtype: _t.Any
    is_dynamic: _t.Any
    is_per_channel: _b.bool
    qscheme: _t.Any
    quant_max: _t.Any
    quant_min: _t.Any
    scale: _t.Any
    zero_point: _t.Any
    def __init__(self, observer: _t.Any = ..., quant_min: _t.Any = None, quant_max: _t.Any = None,
                 is_dynamic: _b.bool = False, **observer_kwargs: _t.Any) -> None: ...
    def calculate_qparams(self, **kwargs: _t.Any) -> _t.Any:
        """Return (scale, zero point) from the observer. `kwargs` are ignored: its range alone decides."""
    def extra_repr(self) -> _b.str: ...
    def forward(self, X: _Tensor) -> _Tensor: ...
    @_b.property
    def is_empty(self) -> _b.bool:
        """Whether nothing was observed yet."""
    def rounded(self, x: _t.Any) -> _t.Any:
        """Round to the nearest steps by the current scale, if rounding is on."""
    def start_with(self, x: _t.Any) -> None:
        """Resize buffers for a tensor before one is observed."""

class FakeQuantizeBase(_Module):
    """Base of fake quantisation: a switch for rounding and one for observing ranges."""
    def __init__(self) -> None: ...
    def calculate_qparams(self, **kwargs: _t.Any) -> _t.Any:
        """Return (scale, zero point)."""
    def disable_fake_quant(self) -> None:
        """Stop rounding."""
    def disable_observer(self) -> None:
        """Keep the current scale."""
    def enable_fake_quant(self, enabled: _b.bool = True) -> None:
        """Round from now on."""
    def enable_observer(self, enabled: _b.bool = True) -> None:
        """Observe ranges from now on."""
    def forward(self, x: _t.Any) -> _Tensor: ...
    @_b.classmethod
    def with_args(cls, **settings: _t.Any) -> _Factory:
        """Return a factory of such modules."""
    @_b.classmethod
    def with_callable_args(cls, **makers: _t.Any) -> _Factory:
        """Return a factory of such modules that calls these functions for arguments."""

class FixedQParamsFakeQuantize(FakeQuantize):
    """Fake quantisation with a fixed scale and zero point."""
    scale: _t.Any
    zero_point: _t.Any
    def __init__(self, observer: _t.Any) -> None: ...
    def calculate_qparams(self, **kwargs: _t.Any) -> _b.tuple[_t.Any, ...]:
        """Return (scale, zero point). `kwargs` are ignored: both are fixed."""

class FixedQParamsObserver(ObserverBase):
    """Observer with a fixed scale and zero point, such as those of a sigmoid's values. `kwargs` are ignored: they are about
    a range to observe, and there is none."""
    qscheme: _t.Any
    quant_max: _t.Any
    quant_min: _t.Any
    scale: _Tensor
    zero_point: _Tensor
    def __init__(self, scale: _b.float, zero_point: _t.Any,
                 dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] = ..., qscheme: _b.str = ...,
                 quant_min: _t.Any = 0, quant_max: _t.Any = 255, is_dynamic: _b.bool = False, **kwargs: _t.Any) -> None: ...
    def calculate_qparams(self, **kwargs: _t.Any) -> _b.tuple[_t.Any, ...]:
        """Return (scale, zero_point)."""
    def forward(self, X: _Tensor) -> _Tensor: ...

class FusedMovingAvgObsFakeQuantize(FakeQuantize):
    """`FakeQuantize` with moving averages of ranges, which is one operation in PyTorch."""
    is_symmetric_quant: _b.bool
    def __init__(self, observer: _t.Any = ..., quant_min: _t.Any = 0, quant_max: _t.Any = 255,
                 **observer_kwargs: _t.Any) -> None: ...

class HistogramObserver(UniformQuantizationObserverBase):
    """Observer of the range whose bytes have the smallest squared error."""
    histogram: _t.Any
    def __init__(self, **settings: _t.Any) -> None: ...
    def calculate_qparams(self, **kwargs: _t.Any) -> _t.Any:
        """Return (scale, zero_point) as tensors of one element. `kwargs` are ignored: the counted numbers alone decide."""
    def forward(self, x_orig: _t.Any) -> _Tensor: ...
    @_b.property
    def is_empty(self) -> _b.bool:
        """Whether nothing was observed yet."""
    @_b.property
    def max_val(self) -> _t.Any:
        """Largest number."""
    @_b.property
    def min_val(self) -> _t.Any:
        """Smallest number."""
    def reset_min_max_vals(self) -> None:
        """Forget the observations."""

class Int4WeightOnlyConfig:
    """4 bits, with a scale and a minimum for each group of a row."""
    group_size: _b.int
    def __eq__(self, other: _t.Any) -> _t.Any: ...
    def __hash__(self) -> _b.int: ...
    def __init__(self, group_size: _b.int = 128) -> None: ...
    def __post_init__(self) -> None: ...
    def format_for(self, numbers: _b.int) -> _b.str:
        """Return the format of rows of so many numbers. `numbers` is ignored: one format serves all lengths."""

class Int8WeightOnlyConfig:
    """8 bits from -127 to 127, with a scale for each group of a row; one group is the whole row without a `group_size`."""
    group_size: _b.int | None
    def __eq__(self, other: _t.Any) -> _t.Any: ...
    def __hash__(self) -> _b.int: ...
    def __init__(self, group_size: _b.int | None = None) -> None: ...
    def __post_init__(self) -> None: ...
    def format_for(self, numbers: _b.int) -> _b.str:
        """Return the format of rows of so many numbers."""

class MinMaxObserver(UniformQuantizationObserverBase):
    """Observer of the smallest and the largest number of all inputs."""
    def __init__(self, *args: _t.Any, **settings: _t.Any) -> None: ...
    def calculate_qparams(self, **kwargs: _t.Any) -> _t.Any:
        """Return (scale, zero_point). `kwargs` are ignored: the range alone decides."""
    def ends_of(self, x: _t.Any) -> _t.Any:
        """Return the smallest and the largest number of a tensor."""
    def fit(self, x: _t.Any) -> None:
        """Resize buffers for the ranges of a tensor."""
    def followed(self, low: _t.Any, high: _t.Any) -> _b.tuple[_t.Any, ...]:
        """Return the range after another one was found."""
    def forward(self, x_orig: _t.Any) -> _Tensor: ...
    @_b.property
    def is_empty(self) -> _b.bool:
        """Whether nothing was observed yet."""
    def range_with(self, x: _t.Any) -> _t.Any:
        """Return the ends of the range including the numbers of a tensor."""
    def reset_min_max_vals(self) -> None:
        """Forget the observations."""

class MovingAverageMinMaxObserver(MinMaxObserver):
    """Moving averages of the smallest and largest number of each input; the latest has weight `averaging_constant`."""
    averaging_constant: _b.float
    def __init__(self, averaging_constant: _b.float = 0.01, **settings: _t.Any) -> None: ...
    def followed(self, low: _t.Any, high: _t.Any) -> _t.Any:
        """Return the range after another one was found."""

class MovingAveragePerChannelMinMaxObserver(PerChannelMinMaxObserver):
    """Moving averages of the smallest and largest number of each channel."""
    averaging_constant: _b.float
    def __init__(self, averaging_constant: _b.float = 0.01, **settings: _t.Any) -> None: ...
    def followed(self, low: _t.Any, high: _t.Any) -> _t.Any:
        """Return the range after another one was found."""

class NoopObserver(ObserverBase):
    """Observer that records nothing. `custom_op_name` is kept for programs that look for it."""
    custom_op: _b.str
    def __init__(self, dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] = ..., custom_op_name: _b.str = '') -> None: ...
    def calculate_qparams(self, **kwargs: _t.Any) -> _t.Any:
        """Raise: there is no range."""
    def forward(self, x: _t.Any) -> _Tensor: ...

class ObserverBase(_Module):
    """Module that observes its inputs and derives a scale and zero point."""
    dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any]
    is_dynamic: _b.bool
    def __init__(self, dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any], is_dynamic: _b.bool = False) -> None: ...
    def calculate_qparams(self, **kwargs: _t.Any) -> _t.Any:
        """Return (scale, zero point)."""
    def forward(self, x: _t.Any) -> _Tensor: ...
    @_b.property
    def is_empty(self) -> _b.bool:
        """Whether nothing was observed yet."""
    @_b.classmethod
    def with_args(cls, **settings: _t.Any) -> _Factory:
        """Return a factory of such modules."""
    @_b.classmethod
    def with_callable_args(cls, **makers: _t.Any) -> _Factory:
        """Return a factory of such modules that calls these functions for arguments."""

class PerChannelMinMaxObserver(MinMaxObserver):
    """Smallest and largest number of each channel, for weights: a scale for each output, symmetric about zero."""
    ch_axis: _t.Any
    max_val: _t.Any
    min_val: _t.Any
    def __init__(self, ch_axis: _t.Any = 0, **settings: _t.Any) -> None: ...
    def ends_of(self, x: _t.Any) -> _t.Any:
        """Return the smallest and the largest number of each channel."""
    def fit(self, x: _t.Any) -> None:
        """Resize buffers for the ranges of a tensor."""

class PercentileObserver(UniformQuantizationObserverBase):
    """Observer of all but a hundred thousandth of the numbers at either end."""
    histogram: _t.Any
    def __init__(self, **settings: _t.Any) -> None: ...
    def calculate_qparams(self, **kwargs: _t.Any) -> _t.Any:
        """Return (scale, zero_point) as tensors of one element. `kwargs` are ignored: the counted numbers alone decide."""
    def forward(self, x_orig: _t.Any) -> _Tensor: ...
    @_b.property
    def is_empty(self) -> _b.bool:
        """Whether nothing was observed yet."""
    @_b.property
    def max_val(self) -> _t.Any:
        """Largest number."""
    @_b.property
    def min_val(self) -> _t.Any:
        """Smallest number."""
    def reset_min_max_vals(self) -> None:
        """Forget the observations."""

class PlaceholderObserver(ObserverBase):
    """Observer with a dtype alone, for inputs that are quantised at each call or not at all. `custom_op_name` is kept for
    programs that look for it."""
    custom_op: _b.str
    eps: _t.Any
    qscheme: _t.Any
    quant_max: _t.Any
    quant_min: _t.Any
    def __init__(self, dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] = ...,
                 custom_op_name: _b.str = '', compute_dtype: _t.Any = None, quant_min: _t.Any = None,
                 quant_max: _t.Any = None, qscheme: _t.Any = None, eps: _t.Any = None, is_dynamic: _b.bool = False) -> None: ...
    def calculate_qparams(self, **kwargs: _t.Any) -> _t.Any:
        """Raise: there is no range."""
    def forward(self, x: _t.Any) -> _Tensor: ...

class QConfig(_t.NamedTuple):
    """Quantisation of a module: `activation` makes the observer of its inputs, `weight` that of its weight."""
    activation: _t.Any
    weight: _t.Any

class QConfigMapping:
    """Qconfigs of modules. The most specific setting counts; None excludes. From the most specific: the n-th module of a
    type in a module, its name (or the nearest module around it), a pattern of names, its type, all."""
    global_qconfig: _t.Any
    module_name_object_type_order_qconfigs: _b.dict[_t.Any, _t.Any]
    module_name_qconfigs: _b.dict[_t.Any, _t.Any]
    module_name_regex_qconfigs: _b.dict[_t.Any, _t.Any]
    object_type_qconfigs: _b.dict[_t.Any, _t.Any]
    def __init__(self) -> None: ...
    def for_modules(self, model: _Module) -> _b.dict[_t.Any, _t.Any]:
        """Return {name: qconfig} of all modules of a model."""
    @_b.classmethod
    def from_dict(cls, qconfig_dict: _t.Any) -> _t.Any:
        """Return a mapping from such a dictionary; parts may be missing."""
    def set_global(self, global_qconfig: _t.Any) -> _t.Self:
        """Set the qconfig of all modules."""
    def set_module_name(self, module_name: _t.Any, qconfig: _t.Any) -> _t.Self:
        """Set the qconfig of a module and all that it contains."""
    def set_module_name_object_type_order(self, module_name: _t.Any, object_type: _t.Any, index: _t.Any,
                                          qconfig: _t.Any) -> _t.Self:
        """Set the qconfig of the n-th module of a class in a module, in the order of definition."""
    def set_module_name_regex(self, module_name_regex: _t.Any, qconfig: _t.Any) -> _t.Self:
        """Set the qconfig of modules whose whole name matches a pattern; the first match counts."""
    def set_object_type(self, object_type: _t.Any, qconfig: _t.Any) -> _t.Self:
        """Set the qconfig of modules of a class."""
    def to_dict(self) -> _b.dict[_t.Any, _t.Any]:
        """Return the settings as a dictionary of lists of pairs."""

class QuantStub(_Quantize):
    """Marker of where PyTorch's models become bytes; it changes nothing here."""
    qconfig: _t.Any
    def __init__(self, qconfig: _t.Any = None) -> None: ...

class QuantWrapper(_Module):
    """Module between the two markers."""
    dequant: DeQuantStub
    module: _t.Any
    qconfig: _t.Any
    quant: QuantStub
    def __init__(self, module: _t.Any) -> None: ...
    def forward(self, x: _t.Any) -> _Tensor: ...

class RecordingObserver(ObserverBase):
    """Observer that keeps copies of all its inputs for inspection."""
    tensor_val: _b.list[_t.Any]
    def __init__(self, dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] = ...) -> None: ...
    def calculate_qparams(self, **kwargs: _t.Any) -> _t.Any:
        """Raise: there is no range."""
    def forward(self, x: _t.Any) -> _Tensor: ...
    def get_tensor_value(self) -> _b.list[_t.Any]:
        """Return the observed tensors."""

class ReuseInputObserver(NoopObserver):
    """Observer for modules that only move their input: values keep its scale."""
    def __init__(self) -> None: ...

class StoredWeight(_Tensor):
    """Floats stored in the blocks of a weight format."""
    format: _b.str
    like: _t.Any
    numbers: _b.int
    values_of: _t.Any
    def __array__(self, dtype: _t.Any = None, copy: _t.Any = None) -> _t.Any: ...
    def __hash__(self) -> _b.int: ...
    def __init__(self, *args: _t.Any, **kwargs: _t.Any) -> None:
        """Do nothing. `args` and `kwargs` are ignored: the class's `__new__` has made the tensor of them."""
    def __iter__(self) -> _c.Iterator[_t.Any]: ...
    def __len__(self) -> _b.int: ...
    @_b.property
    def aval(self) -> _t.Any: ...
    @_b.property
    def data(self) -> _t.Any: ...
    @data.setter
    def data(self, value: _t.Any) -> None: ...
    def dequantize(self) -> _Tensor:
        """Return the numbers as a plain tensor of this tensor's dtype."""
    @_b.property
    def device(self) -> _t.Any: ...
    def dim(self) -> _b.int:
        """Return the number of dims."""
    @_b.property
    def dtype(self) -> _t.Any: ...
    @_b.property
    def grad(self) -> _t.Any:
        """Gradient of the values, as a tensor of this class."""
    @grad.setter
    def grad(self, value: _t.Any) -> None: ...
    @_b.property
    def grad_fn(self) -> _t.Any: ...
    @_b.property
    def is_cpu(self) -> _t.Any: ...
    @_b.property
    def is_cuda(self) -> _t.Any: ...
    @_b.property
    def is_leaf(self) -> _t.Any: ...
    @_b.property
    def is_meta(self) -> _t.Any: ...
    @_b.property
    def layout(self) -> _t.Any: ...
    @_b.property
    def nbytes(self) -> _t.Any: ...
    @_b.property
    def ndim(self) -> _t.Any: ...
    def numel(self) -> _b.int:
        """Return the number of stored numbers."""
    def numpy(self, *, force: _b.bool = False) -> _t.Any:
        """Raise: NumPy has no such elements. `force` is ignored."""
    def parts(self) -> _b.tuple[_t.Any, ...]:
        """Return the parts, and the function that rebuilds the tensor."""
    @_b.property
    def requires_grad(self) -> _t.Any: ...
    @requires_grad.setter
    def requires_grad(self, value: _t.Any) -> None: ...
    def requires_grad_(self, requires_grad: _b.bool = True) -> _t.Self:
        """Raise for True: bytes have no gradient."""
    @_b.property
    def rows(self) -> _t.Any: ...
    @_b.property
    def shape(self) -> _t.Any: ...
    def size(self, dim: _b.int | _c.Sequence[_b.int] | None = None) -> _t.Any:
        """Return the sizes, or one of them."""

class UniformQuantizationObserverBase(ObserverBase):
    """Observers of ranges divided evenly, from `quant_min` to `quant_max`."""
    eps: _Tensor
    has_customized_qrange: _t.Any
    qscheme: _t.Any
    quant_max: _t.Any
    quant_min: _t.Any
    reduce_range: _b.bool
    def __init__(self, dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
                 qscheme: _t.Any = None, reduce_range: _b.bool = False, quant_min: _t.Any = None,
                 quant_max: _t.Any = None, factory_kwargs: _t.Any = None, eps: _b.float = 1.1920928955078125e-07,
                 is_dynamic: _b.bool = False, **others: _t.Any) -> None: ...
    @_b.property
    def is_symmetric(self) -> _b.bool:
        """Whether steps are symmetric about zero."""
    def reset_min_max_vals(self) -> _t.Any:
        """Forget the observations."""
    def steps_between(self, low: _t.Any, high: _t.Any) -> _t.Any:
        """Return (scale, zero point) for the ends of ranges."""

class WeightOnlyConfig:
    """Any format: "Q4_K", "Q8_0" and others of GGUF files, "BF16", "F16", or groups such as "int6_group32"."""
    format: _b.str
    def __eq__(self, other: _t.Any) -> _t.Any: ...
    def __hash__(self) -> _b.int: ...
    def __init__(self, format: _b.str) -> None: ...
    def __post_init__(self) -> None: ...
    def format_for(self, numbers: _b.int) -> _b.str:
        """Return the format of rows of so many numbers. `numbers` is ignored: one format serves all lengths."""

def convert(module: _Module, mapping: _t.Any = None, inplace: _b.bool = False) -> _Module:
    """Return the prepared model (a copy, unless `inplace`) with int8 layers, for inputs like those observed."""
def disable_fake_quant(mod: _t.Any) -> None:
    """Has a module give numbers back as they are."""
def disable_observer(mod: _t.Any) -> None:
    """Has a module keep the scale that it has."""
def enable_fake_quant(mod: _t.Any) -> None:
    """Has a module round, if it is one of fake quantisation."""
def enable_observer(mod: _t.Any) -> None:
    """Has a module follow ranges."""
def fuse_modules(model: _Module, modules_to_fuse: _t.Any, inplace: _b.bool = False) -> _Module:
    """Return the model (a copy, unless `inplace`) with batch norms folded into the layers before them, for evaluation."""
def fuse_modules_qat(model: _Module, modules_to_fuse: _t.Any, inplace: _b.bool = False) -> _Module:
    """Return the model (a copy, unless `inplace`) with the named modules joined for `prepare_qat`. Batch norms keep
    training."""
def get_default_dynamic_quant_module_mappings() -> _b.dict[_t.Any, _t.Any]:
    """Return the dynamic class for each float class."""
def get_default_qat_module_mappings() -> _b.dict[_t.Any, _t.Any]:
    """Return the training class for each float class."""
def get_default_qat_qconfig(backend: _b.str = 'x86', version: _b.int = 1) -> QConfig:
    """Return settings for training: moving averages of ranges in 8 bits, weights with a scale for each output ("qnnpack":
    one)."""
def get_default_qat_qconfig_mapping(backend: _b.str = 'x86', version: _b.int = 1) -> QConfigMapping:
    """Return a mapping for training of all layers, by moving averages of ranges."""
def get_default_qconfig(backend: _b.str = 'x86', version: _b.int = 0) -> QConfig:
    """Return ranges of least error, and weights with a scale for each output; the same for every backend."""
def get_default_qconfig_mapping(backend: _b.str = 'x86', version: _b.int = 0) -> QConfigMapping:
    """Return a mapping of all layers to the range of least error."""
def get_default_static_quant_module_mappings() -> _b.dict[_t.Any, _t.Any]:
    """Return the int8 class for each float class."""
def get_embedding_qat_module_mappings() -> _b.dict[_t.Any, _t.Any]:
    """Return the training class for each float class, with embeddings."""
def get_observer_state_dict(mod: _t.Any) -> _b.dict[_t.Any, _t.Any]:
    """Return the part of a module's state that belongs to observers."""
def load_observer_state_dict(mod: _t.Any, obs_dict: _t.Any) -> None:
    """Restore a state of `get_observer_state_dict`."""
def prepare(model: _Module, inplace: _b.bool = False) -> _Module:
    """Return the model (a copy, unless `inplace`) in evaluation mode with an observer before each layer to convert. The
    attribute `qconfig` of a module selects them."""
def prepare_qat(model: _Module, mapping: _t.Any = None, inplace: _b.bool = False) -> _Module:
    """Return the training model (a copy, unless `inplace`) with layers that train for int8."""
def propagate_qconfig_(module: _Module, qconfig_dict: _t.Any = None, prepare_custom_config_dict: _t.Any = None) -> None:
    """Set the qconfig of all modules: their own, that of their name or type in `qconfig_dict`, or their parent's."""
def qconfig_equals(q1: _t.Any, q2: _t.Any) -> _b.bool:
    """Return whether both make the same observers with the same arguments."""
def quantize(model: _Module, run_fn: _t.Any, run_args: _t.Any, mapping: _t.Any = None, inplace: _b.bool = False) -> _Module:
    """Run prepare, run_fn(model, *run_args), and convert."""
def quantize_(model: _Module, config: _t.Any, filter_fn: _c.Callable[[_Module, _b.str], _b.bool] | None = None,
              device: _device | _b.str | _b.int | None = None) -> None:
    """Store the weights of linear modules in the format of `config`, in place."""
def quantize_dynamic(model: _Module, qconfig_spec: _t.Any = None,
                     dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] = ...,
                     mapping: _t.Any = None, inplace: _b.bool = False) -> _Module:
    """Return a model in evaluation mode with int8 weights in linear and recurrent modules; the model itself with
    `inplace`."""
def quantize_qat(model: _Module, run_fn: _t.Any, run_args: _t.Any, inplace: _b.bool = False) -> _Module:
    """Run prepare_qat, run_fn(model, *run_args), which trains, and convert."""

class _Factory:
    """Factory of observers with fixed arguments; functions in `with_callable_args` are called for each observer."""
    callable_args: _t.Any
    p: _t.Any
    def __call__(self, *args: _t.Any, **keywords: _t.Any) -> _t.Any: ...
    def __init__(self, make: _t.Any, called: _t.Any = None) -> None: ...
    def with_args(self, **settings: _t.Any) -> _Factory:
        """Return a factory with more arguments."""
    def with_callable_args(self, **makers: _t.Any) -> _Factory:
        """Return a factory that calls these functions for arguments."""

QConfigAny = QConfig | None
default_debug_observer = RecordingObserver
default_placeholder_observer = PlaceholderObserver
default_reuse_input_observer = ReuseInputObserver
