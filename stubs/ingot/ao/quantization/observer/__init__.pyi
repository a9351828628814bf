"""Observers: modules that record ranges of their inputs, and derive scale and zero point."""

# Made by `make stubs` from the live package; not edited by hand.

import typing as _t
from ingot import qscheme as _qscheme
from ingot.quantization import FixedQParamsObserver as FixedQParamsObserver
from ingot.quantization import HistogramObserver as HistogramObserver
from ingot.quantization import MinMaxObserver as MinMaxObserver
from ingot.quantization import MovingAverageMinMaxObserver as MovingAverageMinMaxObserver
from ingot.quantization import MovingAveragePerChannelMinMaxObserver as MovingAveragePerChannelMinMaxObserver
from ingot.quantization import NoopObserver as NoopObserver
from ingot.quantization import ObserverBase as ObserverBase
from ingot.quantization import PerChannelMinMaxObserver as PerChannelMinMaxObserver
from ingot.quantization import PercentileObserver as PercentileObserver
from ingot.quantization import PlaceholderObserver as PlaceholderObserver
from ingot.quantization import PlaceholderObserver as _PlaceholderObserver
from ingot.quantization import RecordingObserver as RecordingObserver
from ingot.quantization import RecordingObserver as _RecordingObserver
from ingot.quantization import ReuseInputObserver as ReuseInputObserver
from ingot.quantization import ReuseInputObserver as _ReuseInputObserver
from ingot.quantization import UniformQuantizationObserverBase as UniformQuantizationObserverBase
from ingot.quantization import get_observer_state_dict as get_observer_state_dict
from ingot.quantization import load_observer_state_dict as load_observer_state_dict

def default_affine_fixed_qparams_observer(*args: _t.Any, **keywords: _t.Any) -> _t.Any:
    """Factory of observers with fixed arguments; functions in `with_callable_args` are called for each observer."""
def default_dynamic_quant_observer(*args: _t.Any, **keywords: _t.Any) -> _t.Any:
    """Factory of observers with fixed arguments; functions in `with_callable_args` are called for each observer."""
def default_fixed_qparams_range_0to1_observer(*args: _t.Any, **keywords: _t.Any) -> _t.Any:
    """Factory of observers with fixed arguments; functions in `with_callable_args` are called for each observer."""
def default_fixed_qparams_range_neg1to1_observer(*args: _t.Any, **keywords: _t.Any) -> _t.Any:
    """Factory of observers with fixed arguments; functions in `with_callable_args` are called for each observer."""
def default_float_qparams_observer(*args: _t.Any, **keywords: _t.Any) -> _t.Any:
    """Factory of observers with fixed arguments; functions in `with_callable_args` are called for each observer."""
def default_histogram_observer(*args: _t.Any, **keywords: _t.Any) -> _t.Any:
    """Factory of observers with fixed arguments; functions in `with_callable_args` are called for each observer."""
def default_observer(*args: _t.Any, **keywords: _t.Any) -> _t.Any:
    """Factory of observers with fixed arguments; functions in `with_callable_args` are called for each observer."""
def default_per_channel_weight_observer(*args: _t.Any, **keywords: _t.Any) -> _t.Any:
    """Factory of observers with fixed arguments; functions in `with_callable_args` are called for each observer."""
def default_symmetric_fixed_qparams_observer(*args: _t.Any, **keywords: _t.Any) -> _t.Any:
    """Factory of observers with fixed arguments; functions in `with_callable_args` are called for each observer."""
def default_weight_observer(*args: _t.Any, **keywords: _t.Any) -> _t.Any:
    """Factory of observers with fixed arguments; functions in `with_callable_args` are called for each observer."""
per_channel_affine: _qscheme
per_channel_affine_float_qparams: _qscheme
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
