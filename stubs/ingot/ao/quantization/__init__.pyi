"""`ingot.ao.quantization`: models of 8 bits and less, with a quarter of the memory of float32."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import typing as _t
from ingot import qscheme as _qscheme
from ingot.ao.quantization import fake_quantize as fake_quantize
from ingot.ao.quantization import observer as observer
from ingot.ao.quantization import qconfig as qconfig
from ingot.ao.quantization import qconfig_mapping as qconfig_mapping
from ingot.ao.quantization import quantize_fx as quantize_fx
from ingot.quantization import DeQuantStub as DeQuantStub
from ingot.quantization import FakeQuantize as FakeQuantize
from ingot.quantization import FakeQuantizeBase as FakeQuantizeBase
from ingot.quantization import FixedQParamsFakeQuantize as FixedQParamsFakeQuantize
from ingot.quantization import FixedQParamsObserver as FixedQParamsObserver
from ingot.quantization import FusedMovingAvgObsFakeQuantize as FusedMovingAvgObsFakeQuantize
from ingot.quantization import HistogramObserver as HistogramObserver
from ingot.quantization import Int4WeightOnlyConfig as Int4WeightOnlyConfig
from ingot.quantization import Int8WeightOnlyConfig as Int8WeightOnlyConfig
from ingot.quantization import MinMaxObserver as MinMaxObserver
from ingot.quantization import MovingAverageMinMaxObserver as MovingAverageMinMaxObserver
from ingot.quantization import MovingAveragePerChannelMinMaxObserver as MovingAveragePerChannelMinMaxObserver
from ingot.quantization import NoopObserver as NoopObserver
from ingot.quantization import ObserverBase as ObserverBase
from ingot.quantization import PerChannelMinMaxObserver as PerChannelMinMaxObserver
from ingot.quantization import PercentileObserver as PercentileObserver
from ingot.quantization import PlaceholderObserver as PlaceholderObserver
from ingot.quantization import PlaceholderObserver as _PlaceholderObserver
from ingot.quantization import QConfig as QConfig
from ingot.quantization import QConfig as _QConfig
from ingot.quantization import QConfigMapping as QConfigMapping
from ingot.quantization import QuantStub as QuantStub
from ingot.quantization import QuantWrapper as QuantWrapper
from ingot.quantization import RecordingObserver as RecordingObserver
from ingot.quantization import RecordingObserver as _RecordingObserver
from ingot.quantization import ReuseInputObserver as ReuseInputObserver
from ingot.quantization import ReuseInputObserver as _ReuseInputObserver
from ingot.quantization import StoredWeight as StoredWeight
from ingot.quantization import UniformQuantizationObserverBase as UniformQuantizationObserverBase
from ingot.quantization import WeightOnlyConfig as WeightOnlyConfig
from ingot.quantization import convert as convert
from ingot.quantization import disable_fake_quant as disable_fake_quant
from ingot.quantization import disable_observer as disable_observer
from ingot.quantization import enable_fake_quant as enable_fake_quant
from ingot.quantization import enable_observer as enable_observer
from ingot.quantization import fuse_modules as fuse_modules
from ingot.quantization import fuse_modules_qat as fuse_modules_qat
from ingot.quantization import get_default_dynamic_quant_module_mappings as get_default_dynamic_quant_module_mappings
from ingot.quantization import get_default_qat_module_mappings as get_default_qat_module_mappings
from ingot.quantization import get_default_qat_qconfig as get_default_qat_qconfig
from ingot.quantization import get_default_qat_qconfig_mapping as get_default_qat_qconfig_mapping
from ingot.quantization import get_default_qconfig as get_default_qconfig
from ingot.quantization import get_default_qconfig_mapping as get_default_qconfig_mapping
from ingot.quantization import get_default_static_quant_module_mappings as get_default_static_quant_module_mappings
from ingot.quantization import get_embedding_qat_module_mappings as get_embedding_qat_module_mappings
from ingot.quantization import get_observer_state_dict as get_observer_state_dict
from ingot.quantization import load_observer_state_dict as load_observer_state_dict
from ingot.quantization import prepare as prepare
from ingot.quantization import prepare_qat as prepare_qat
from ingot.quantization import propagate_qconfig_ as propagate_qconfig_
from ingot.quantization import qconfig_equals as qconfig_equals
from ingot.quantization import quantize as quantize
from ingot.quantization import quantize_ as quantize_
from ingot.quantization import quantize_dynamic as quantize_dynamic
from ingot.quantization import quantize_qat as quantize_qat

DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS: _b.dict[_t.Any, _t.Any]
DEFAULT_QAT_MODULE_MAPPINGS: _b.dict[_t.Any, _t.Any]
DEFAULT_STATIC_QUANT_MODULE_MAPPINGS: _b.dict[_t.Any, _t.Any]
default_activation_only_qconfig: _QConfig
def default_affine_fixed_qparams_fake_quant(*args: _t.Any, **keywords: _t.Any) -> _t.Any:
    """Factory of observers with fixed arguments; functions in `with_callable_args` are called for each observer."""
def default_affine_fixed_qparams_observer(*args: _t.Any, **keywords: _t.Any) -> _t.Any:
    """Factory of observers with fixed arguments; functions in `with_callable_args` are called for each observer."""
default_debug_qconfig: _QConfig
def default_dynamic_fake_quant(*args: _t.Any, **keywords: _t.Any) -> _t.Any:
    """Factory of observers with fixed arguments; functions in `with_callable_args` are called for each observer."""
default_dynamic_qat_qconfig: _QConfig
default_dynamic_qconfig: _QConfig
def default_dynamic_quant_observer(*args: _t.Any, **keywords: _t.Any) -> _t.Any:
    """Factory of observers with fixed arguments; functions in `with_callable_args` are called for each observer."""
def default_embedding_fake_quant(*args: _t.Any, **keywords: _t.Any) -> _t.Any:
    """Factory of observers with fixed arguments; functions in `with_callable_args` are called for each observer."""
default_embedding_qat_qconfig: _QConfig
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
default_per_channel_qconfig: _QConfig
default_per_channel_symmetric_qnnpack_qat_qconfig: _QConfig
default_per_channel_symmetric_qnnpack_qconfig: _QConfig
def default_per_channel_weight_fake_quant(*args: _t.Any, **keywords: _t.Any) -> _t.Any:
    """Factory of observers with fixed arguments; functions in `with_callable_args` are called for each observer."""
def default_per_channel_weight_observer(*args: _t.Any, **keywords: _t.Any) -> _t.Any:
    """Factory of observers with fixed arguments; functions in `with_callable_args` are called for each observer."""
default_qat_qconfig: _QConfig
default_qat_qconfig_v2: _QConfig
default_qconfig: _QConfig
default_quint8_weight_qconfig: _QConfig
default_reuse_input_qconfig: _QConfig
def default_symmetric_fixed_qparams_fake_quant(*args: _t.Any, **keywords: _t.Any) -> _t.Any:
    """Factory of observers with fixed arguments; functions in `with_callable_args` are called for each observer."""
def default_symmetric_fixed_qparams_observer(*args: _t.Any, **keywords: _t.Any) -> _t.Any:
    """Factory of observers with fixed arguments; functions in `with_callable_args` are called for each observer."""
default_symmetric_qnnpack_qat_qconfig: _QConfig
default_symmetric_qnnpack_qconfig: _QConfig
def default_weight_fake_quant(*args: _t.Any, **keywords: _t.Any) -> _t.Any:
    """Factory of observers with fixed arguments; functions in `with_callable_args` are called for each observer."""
def default_weight_observer(*args: _t.Any, **keywords: _t.Any) -> _t.Any:
    """Factory of observers with fixed arguments; functions in `with_callable_args` are called for each observer."""
default_weight_only_qconfig: _QConfig
def fused_per_channel_wt_fake_quant_range_neg_127_to_127(*args: _t.Any, **keywords: _t.Any) -> _t.Any:
    """Factory of observers with fixed arguments; functions in `with_callable_args` are called for each observer."""
def fused_wt_fake_quant_range_neg_127_to_127(*args: _t.Any, **keywords: _t.Any) -> _t.Any:
    """Factory of observers with fixed arguments; functions in `with_callable_args` are called for each observer."""
per_channel_affine: _qscheme
per_channel_affine_float_qparams: _qscheme
per_channel_dynamic_qconfig: _QConfig
per_channel_symmetric: _qscheme
def per_channel_weight_observer_range_neg_127_to_127(*args: _t.Any, **keywords: _t.Any) -> _t.Any:
    """Factory of observers with fixed arguments; functions in `with_callable_args` are called for each observer."""
per_tensor_affine: _qscheme
per_tensor_symmetric: _qscheme
def weight_observer_range_neg_127_to_127(*args: _t.Any, **keywords: _t.Any) -> _t.Any:
    """Factory of observers with fixed arguments; functions in `with_callable_args` are called for each observer."""
default_debug_observer = _RecordingObserver
default_placeholder_observer = _PlaceholderObserver
default_reuse_input_observer = _ReuseInputObserver

QConfigAny = _QConfig | None
