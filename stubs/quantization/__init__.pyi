"""The names of `ingot.quantization`, and functions that factories build.

Made by `make stubs` from the live package; not edited by hand.
"""

from typing import Any

from ..runtime.quantization import convert as convert
from ..runtime.quantization import default_activation_only_qconfig as default_activation_only_qconfig
from ..runtime.quantization import default_affine_fixed_qparams_fake_quant as default_affine_fixed_qparams_fake_quant
from ..runtime.quantization import default_affine_fixed_qparams_observer as default_affine_fixed_qparams_observer
from ..runtime.quantization import default_debug_observer as default_debug_observer
from ..runtime.quantization import default_debug_qconfig as default_debug_qconfig
from ..runtime.quantization import default_dynamic_fake_quant as default_dynamic_fake_quant
from ..runtime.quantization import default_dynamic_qat_qconfig as default_dynamic_qat_qconfig
from ..runtime.quantization import default_dynamic_qconfig as default_dynamic_qconfig
from ..runtime.quantization import DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS as DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS
from ..runtime.quantization import default_dynamic_quant_observer as default_dynamic_quant_observer
from ..runtime.quantization import default_embedding_fake_quant as default_embedding_fake_quant
from ..runtime.quantization import default_embedding_qat_qconfig as default_embedding_qat_qconfig
from ..runtime.quantization import default_fake_quant as default_fake_quant
from ..runtime.quantization import default_fixed_qparams_range_0to1_fake_quant as default_fixed_qparams_range_0to1_fake_quant
from ..runtime.quantization import default_fixed_qparams_range_0to1_observer as default_fixed_qparams_range_0to1_observer
from ..runtime.quantization import default_fixed_qparams_range_neg1to1_fake_quant as default_fixed_qparams_range_neg1to1_fake_quant
from ..runtime.quantization import default_fixed_qparams_range_neg1to1_observer as default_fixed_qparams_range_neg1to1_observer
from ..runtime.quantization import default_float_qparams_observer as default_float_qparams_observer
from ..runtime.quantization import default_fused_act_fake_quant as default_fused_act_fake_quant
from ..runtime.quantization import default_fused_per_channel_wt_fake_quant as default_fused_per_channel_wt_fake_quant
from ..runtime.quantization import default_fused_wt_fake_quant as default_fused_wt_fake_quant
from ..runtime.quantization import default_histogram_fake_quant as default_histogram_fake_quant
from ..runtime.quantization import default_histogram_observer as default_histogram_observer
from ..runtime.quantization import default_observer as default_observer
from ..runtime.quantization import default_per_channel_qconfig as default_per_channel_qconfig
from ..runtime.quantization import default_per_channel_symmetric_qnnpack_qat_qconfig as default_per_channel_symmetric_qnnpack_qat_qconfig
from ..runtime.quantization import default_per_channel_symmetric_qnnpack_qconfig as default_per_channel_symmetric_qnnpack_qconfig
from ..runtime.quantization import default_per_channel_weight_fake_quant as default_per_channel_weight_fake_quant
from ..runtime.quantization import default_per_channel_weight_observer as default_per_channel_weight_observer
from ..runtime.quantization import default_placeholder_observer as default_placeholder_observer
from ..runtime.quantization import DEFAULT_QAT_MODULE_MAPPINGS as DEFAULT_QAT_MODULE_MAPPINGS
from ..runtime.quantization import default_qat_qconfig as default_qat_qconfig
from ..runtime.quantization import default_qat_qconfig_v2 as default_qat_qconfig_v2
from ..runtime.quantization import default_qconfig as default_qconfig
from ..runtime.quantization import default_quint8_weight_qconfig as default_quint8_weight_qconfig
from ..runtime.quantization import default_reuse_input_observer as default_reuse_input_observer
from ..runtime.quantization import default_reuse_input_qconfig as default_reuse_input_qconfig
from ..runtime.quantization import DEFAULT_STATIC_QUANT_MODULE_MAPPINGS as DEFAULT_STATIC_QUANT_MODULE_MAPPINGS
from ..runtime.quantization import default_symmetric_fixed_qparams_fake_quant as default_symmetric_fixed_qparams_fake_quant
from ..runtime.quantization import default_symmetric_fixed_qparams_observer as default_symmetric_fixed_qparams_observer
from ..runtime.quantization import default_symmetric_qnnpack_qat_qconfig as default_symmetric_qnnpack_qat_qconfig
from ..runtime.quantization import default_symmetric_qnnpack_qconfig as default_symmetric_qnnpack_qconfig
from ..runtime.quantization import default_weight_fake_quant as default_weight_fake_quant
from ..runtime.quantization import default_weight_observer as default_weight_observer
from ..runtime.quantization import default_weight_only_qconfig as default_weight_only_qconfig
from ..runtime.quantization import DeQuantStub as DeQuantStub
from ..runtime.quantization import FakeQuantize as FakeQuantize
from ..runtime.quantization import FakeQuantizeBase as FakeQuantizeBase
from ..runtime.quantization import FixedQParamsFakeQuantize as FixedQParamsFakeQuantize
from ..runtime.quantization import FixedQParamsObserver as FixedQParamsObserver
from ..runtime.quantization import fuse_modules as fuse_modules
from ..runtime.quantization import fuse_modules_qat as fuse_modules_qat
from ..runtime.quantization import fused_per_channel_wt_fake_quant_range_neg_127_to_127 as fused_per_channel_wt_fake_quant_range_neg_127_to_127
from ..runtime.quantization import fused_wt_fake_quant_range_neg_127_to_127 as fused_wt_fake_quant_range_neg_127_to_127
from ..runtime.quantization import FusedMovingAvgObsFakeQuantize as FusedMovingAvgObsFakeQuantize
from ..runtime.quantization import get_default_dynamic_quant_module_mappings as get_default_dynamic_quant_module_mappings
from ..runtime.quantization import get_default_qat_module_mappings as get_default_qat_module_mappings
from ..runtime.quantization import get_default_qat_qconfig as get_default_qat_qconfig
from ..runtime.quantization import get_default_qat_qconfig_mapping as get_default_qat_qconfig_mapping
from ..runtime.quantization import get_default_qconfig as get_default_qconfig
from ..runtime.quantization import get_default_qconfig_mapping as get_default_qconfig_mapping
from ..runtime.quantization import get_default_static_quant_module_mappings as get_default_static_quant_module_mappings
from ..runtime.quantization import get_embedding_qat_module_mappings as get_embedding_qat_module_mappings
from ..runtime.quantization import get_observer_state_dict as get_observer_state_dict
from ..runtime.quantization import HistogramObserver as HistogramObserver
from ..runtime.quantization import load_observer_state_dict as load_observer_state_dict
from ..runtime.quantization import MinMaxObserver as MinMaxObserver
from ..runtime.quantization import MovingAverageMinMaxObserver as MovingAverageMinMaxObserver
from ..runtime.quantization import MovingAveragePerChannelMinMaxObserver as MovingAveragePerChannelMinMaxObserver
from ..runtime.quantization import NoopObserver as NoopObserver
from ..runtime.quantization import ObserverBase as ObserverBase
from ..runtime.quantization import per_channel_affine as per_channel_affine
from ..runtime.quantization import per_channel_affine_float_qparams as per_channel_affine_float_qparams
from ..runtime.quantization import per_channel_dynamic_qconfig as per_channel_dynamic_qconfig
from ..runtime.quantization import per_channel_symmetric as per_channel_symmetric
from ..runtime.quantization import per_channel_weight_observer_range_neg_127_to_127 as per_channel_weight_observer_range_neg_127_to_127
from ..runtime.quantization import per_tensor_affine as per_tensor_affine
from ..runtime.quantization import per_tensor_symmetric as per_tensor_symmetric
from ..runtime.quantization import PercentileObserver as PercentileObserver
from ..runtime.quantization import PerChannelMinMaxObserver as PerChannelMinMaxObserver
from ..runtime.quantization import PlaceholderObserver as PlaceholderObserver
from ..runtime.quantization import prepare as prepare
from ..runtime.quantization import prepare_qat as prepare_qat
from ..runtime.quantization import propagate_qconfig_ as propagate_qconfig_
from ..runtime.quantization import QConfig as QConfig
from ..runtime.quantization import qconfig_equals as qconfig_equals
from ..runtime.quantization import QConfigAny as QConfigAny
from ..runtime.quantization import QConfigMapping as QConfigMapping
from ..runtime.quantization import quantize as quantize
from ..runtime.quantization import quantize_dynamic as quantize_dynamic
from ..runtime.quantization import quantize_qat as quantize_qat
from ..runtime.quantization import QuantStub as QuantStub
from ..runtime.quantization import QuantWrapper as QuantWrapper
from ..runtime.quantization import RecordingObserver as RecordingObserver
from ..runtime.quantization import ReuseInputObserver as ReuseInputObserver
from ..runtime.quantization import UniformQuantizationObserverBase as UniformQuantizationObserverBase
from ..runtime.quantization import weight_observer_range_neg_127_to_127 as weight_observer_range_neg_127_to_127
from . import fake_quantize as fake_quantize
from . import qconfig as qconfig

def disable_fake_quant(mod) -> Any:
    """Has a module give numbers back as they are."""
def disable_observer(mod) -> Any:
    """Has a module keep the scale that it has."""
def enable_fake_quant(mod) -> Any:
    """Has a module round, if it is one of fake quantisation."""
def enable_observer(mod) -> Any:
    """Has a module follow ranges."""
