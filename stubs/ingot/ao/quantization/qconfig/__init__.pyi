"""QConfig: factories of observers, or fake quantisation, for a module's inputs and weights."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.quantization import QConfig as QConfig
from ingot.quantization import QConfig as _QConfig
from ingot.quantization import get_default_qat_qconfig as get_default_qat_qconfig
from ingot.quantization import get_default_qconfig as get_default_qconfig
from ingot.quantization import qconfig_equals as qconfig_equals

default_activation_only_qconfig: _QConfig
default_debug_qconfig: _QConfig
default_dynamic_qat_qconfig: _QConfig
default_dynamic_qconfig: _QConfig
default_embedding_qat_qconfig: _QConfig
default_per_channel_qconfig: _QConfig
default_per_channel_symmetric_qnnpack_qat_qconfig: _QConfig
default_per_channel_symmetric_qnnpack_qconfig: _QConfig
default_qat_qconfig: _QConfig
default_qat_qconfig_v2: _QConfig
default_qconfig: _QConfig
default_quint8_weight_qconfig: _QConfig
default_reuse_input_qconfig: _QConfig
default_symmetric_qnnpack_qat_qconfig: _QConfig
default_symmetric_qnnpack_qconfig: _QConfig
default_weight_only_qconfig: _QConfig
per_channel_dynamic_qconfig: _QConfig

QConfigAny = _QConfig | None
