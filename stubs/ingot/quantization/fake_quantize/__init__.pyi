"""Fake quantisation: modules that round numbers to few steps, and track the ranges of these."""

# Made by `make stubs` from the live package; not edited by hand.

import typing as _t
from ingot.quantization import FakeQuantize as FakeQuantize
from ingot.quantization import FakeQuantizeBase as FakeQuantizeBase
from ingot.quantization import FixedQParamsFakeQuantize as FixedQParamsFakeQuantize
from ingot.quantization import FusedMovingAvgObsFakeQuantize as FusedMovingAvgObsFakeQuantize
from ingot.quantization import disable_fake_quant as disable_fake_quant
from ingot.quantization import disable_observer as disable_observer
from ingot.quantization import enable_fake_quant as enable_fake_quant
from ingot.quantization import enable_observer as enable_observer

def default_affine_fixed_qparams_fake_quant(*args: _t.Any, **keywords: _t.Any) -> _t.Any:
    """Factory of observers with fixed arguments; functions in `with_callable_args` are called for each observer."""
def default_dynamic_fake_quant(*args: _t.Any, **keywords: _t.Any) -> _t.Any:
    """Factory of observers with fixed arguments; functions in `with_callable_args` are called for each observer."""
def default_embedding_fake_quant(*args: _t.Any, **keywords: _t.Any) -> _t.Any:
    """Factory of observers with fixed arguments; functions in `with_callable_args` are called for each observer."""
def default_fake_quant(*args: _t.Any, **keywords: _t.Any) -> _t.Any:
    """Factory of observers with fixed arguments; functions in `with_callable_args` are called for each observer."""
def default_fixed_qparams_range_0to1_fake_quant(*args: _t.Any, **keywords: _t.Any) -> _t.Any:
    """Factory of observers with fixed arguments; functions in `with_callable_args` are called for each observer."""
def default_fixed_qparams_range_neg1to1_fake_quant(*args: _t.Any, **keywords: _t.Any) -> _t.Any:
    """Factory of observers with fixed arguments; functions in `with_callable_args` are called for each observer."""
def default_fused_act_fake_quant(*args: _t.Any, **keywords: _t.Any) -> _t.Any:
    """Factory of observers with fixed arguments; functions in `with_callable_args` are called for each observer."""
def default_fused_per_channel_wt_fake_quant(*args: _t.Any, **keywords: _t.Any) -> _t.Any:
    """Factory of observers with fixed arguments; functions in `with_callable_args` are called for each observer."""
def default_fused_wt_fake_quant(*args: _t.Any, **keywords: _t.Any) -> _t.Any:
    """Factory of observers with fixed arguments; functions in `with_callable_args` are called for each observer."""
def default_histogram_fake_quant(*args: _t.Any, **keywords: _t.Any) -> _t.Any:
    """Factory of observers with fixed arguments; functions in `with_callable_args` are called for each observer."""
def default_per_channel_weight_fake_quant(*args: _t.Any, **keywords: _t.Any) -> _t.Any:
    """Factory of observers with fixed arguments; functions in `with_callable_args` are called for each observer."""
def default_symmetric_fixed_qparams_fake_quant(*args: _t.Any, **keywords: _t.Any) -> _t.Any:
    """Factory of observers with fixed arguments; functions in `with_callable_args` are called for each observer."""
def default_weight_fake_quant(*args: _t.Any, **keywords: _t.Any) -> _t.Any:
    """Factory of observers with fixed arguments; functions in `with_callable_args` are called for each observer."""
def fused_per_channel_wt_fake_quant_range_neg_127_to_127(*args: _t.Any, **keywords: _t.Any) -> _t.Any:
    """Factory of observers with fixed arguments; functions in `with_callable_args` are called for each observer."""
def fused_wt_fake_quant_range_neg_127_to_127(*args: _t.Any, **keywords: _t.Any) -> _t.Any:
    """Factory of observers with fixed arguments; functions in `with_callable_args` are called for each observer."""
