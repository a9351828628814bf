"""The names of `ingot.quantization.fake_quantize`, and functions that factories build.

Made by `make stubs` from the live package; not edited by hand.
"""

from typing import Any

from ..runtime.quantization.fake_quantize import default_affine_fixed_qparams_fake_quant as default_affine_fixed_qparams_fake_quant
from ..runtime.quantization.fake_quantize import default_dynamic_fake_quant as default_dynamic_fake_quant
from ..runtime.quantization.fake_quantize import default_embedding_fake_quant as default_embedding_fake_quant
from ..runtime.quantization.fake_quantize import default_fake_quant as default_fake_quant
from ..runtime.quantization.fake_quantize import default_fixed_qparams_range_0to1_fake_quant as default_fixed_qparams_range_0to1_fake_quant
from ..runtime.quantization.fake_quantize import default_fixed_qparams_range_neg1to1_fake_quant as default_fixed_qparams_range_neg1to1_fake_quant
from ..runtime.quantization.fake_quantize import default_fused_act_fake_quant as default_fused_act_fake_quant
from ..runtime.quantization.fake_quantize import default_fused_per_channel_wt_fake_quant as default_fused_per_channel_wt_fake_quant
from ..runtime.quantization.fake_quantize import default_fused_wt_fake_quant as default_fused_wt_fake_quant
from ..runtime.quantization.fake_quantize import default_histogram_fake_quant as default_histogram_fake_quant
from ..runtime.quantization.fake_quantize import default_per_channel_weight_fake_quant as default_per_channel_weight_fake_quant
from ..runtime.quantization.fake_quantize import default_symmetric_fixed_qparams_fake_quant as default_symmetric_fixed_qparams_fake_quant
from ..runtime.quantization.fake_quantize import default_weight_fake_quant as default_weight_fake_quant
from ..runtime.quantization.fake_quantize import FakeQuantize as FakeQuantize
from ..runtime.quantization.fake_quantize import FakeQuantizeBase as FakeQuantizeBase
from ..runtime.quantization.fake_quantize import FixedQParamsFakeQuantize as FixedQParamsFakeQuantize
from ..runtime.quantization.fake_quantize import fused_per_channel_wt_fake_quant_range_neg_127_to_127 as fused_per_channel_wt_fake_quant_range_neg_127_to_127
from ..runtime.quantization.fake_quantize import fused_wt_fake_quant_range_neg_127_to_127 as fused_wt_fake_quant_range_neg_127_to_127
from ..runtime.quantization.fake_quantize import FusedMovingAvgObsFakeQuantize as FusedMovingAvgObsFakeQuantize

def disable_fake_quant(mod) -> Any:
    """Has a module give numbers back as they are."""
def disable_observer(mod) -> Any:
    """Has a module keep the scale that it has."""
def enable_fake_quant(mod) -> Any:
    """Has a module round, if it is one of fake quantisation."""
def enable_observer(mod) -> Any:
    """Has a module follow ranges."""
