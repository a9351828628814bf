"""`ingot.ao.quantization.quantize_fx`: PyTorch's names for quantising a whole model, after or during training."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import typing as _t
from ingot import Tensor as _Tensor
from ingot.nn import Module as _Module
from ingot.quantization import QConfigMapping as QConfigMapping
from ingot.quantization import get_default_qat_qconfig_mapping as get_default_qat_qconfig_mapping
from ingot.quantization import get_default_qconfig_mapping as get_default_qconfig_mapping

def convert_fx(graph_module: _Module, qconfig_mapping: _t.Any = None, **others: _t.Any) -> _t.Any:
    """Return the integer model."""
def fuse_fx(model: _Module, example_inputs: _t.Any = None, **others: _t.Any) -> _Module:
    """Return a copy of the model, which is in evaluation mode, with batch norms folded into layers and ReLUs fused."""
def prepare_fx(model: _Module, qconfig_mapping: _t.Any, example_inputs: _t.Any = None, **others: _t.Any) -> _PreparedModel:
    """Return a copy of the model that records its calibration inputs; each call is one."""
def prepare_qat_fx(model: _Module, qconfig_mapping: _t.Any, example_inputs: _t.Any, **others: _t.Any) -> _Module:
    """Return a copy of the model, which is in training mode, for quantisation-aware training."""

class _PreparedModel(_Module):
    """A model that records its calibration inputs."""
    inputs: _b.list[_t.Any]
    keep: _t.Any
    method: _t.Any
    model: _t.Any
    def __init__(self, model: _t.Any, method: _t.Any, keep: _t.Any) -> None: ...
    def forward(self, *args: _t.Any) -> _Tensor: ...
