"""Observers: modules that record ranges of their inputs, and derive scale and zero point.

`prepare` puts them before layers, and fake quantisation follows them (`fake_quantize.py`). Those of smallest and largest
numbers keep them in buffers, which a trace writes like running statistics. Those with histograms (`calibration_ranges.py`) are
for calibration.
"""

from ...ir import dtype as dt
from ...ir.errors import ArgumentError
from ..api.nn.quantize_dequantize import ends_of, followed, put_where
from ..api.register import quantized_dtypes as schemes
from ..api.register.quantized_dtypes import (
    per_channel_affine,
    per_channel_affine_float_qparams,
    per_channel_symmetric,
    per_tensor_affine,
    per_tensor_symmetric,
)
from ..api.register.register import FUNCTIONS
from ..autograd.grad_mode import no_grad
from .calibration_ranges import LeastError, Percentile
from .observer_base import ObserverBase, UniformQuantizationObserverBase, first_time

__all__ = ["FixedQParamsObserver", "HistogramObserver", "MinMaxObserver", "MovingAverageMinMaxObserver",
           "MovingAveragePerChannelMinMaxObserver", "NoopObserver", "ObserverBase", "PerChannelMinMaxObserver",
           "PercentileObserver", "PlaceholderObserver", "RecordingObserver", "ReuseInputObserver",
           "UniformQuantizationObserverBase", "default_affine_fixed_qparams_observer", "default_debug_observer",
           "default_dynamic_quant_observer", "default_fixed_qparams_range_0to1_observer",
           "default_fixed_qparams_range_neg1to1_observer", "default_float_qparams_observer", "default_histogram_observer",
           "default_observer", "default_per_channel_weight_observer", "default_placeholder_observer",
           "default_reuse_input_observer", "default_symmetric_fixed_qparams_observer", "default_weight_observer",
           "get_observer_state_dict", "load_observer_state_dict", "per_channel_affine", "per_channel_affine_float_qparams",
           "per_channel_symmetric", "per_channel_weight_observer_range_neg_127_to_127", "per_tensor_affine",
           "per_tensor_symmetric", "weight_observer_range_neg_127_to_127"]

_INFINITE = float("inf")

# Smallest and largest numbers.


class MinMaxObserver(UniformQuantizationObserverBase):
    """Observer of the smallest and the largest number of all inputs."""

    _repr_fields = "min_val= max_val="

    def __init__(self, *args, **settings):
        super().__init__(*args, **settings)
        for name, none_yet in (("min_val", _INFINITE), ("max_val", -_INFINITE)):
            self.register_buffer(name, FUNCTIONS["tensor"](none_yet, **self._tensor_options))

    def ends_of(self, x):
        """Return the smallest and the largest number of a tensor."""
        return ends_of(x)

    def followed(self, low, high):
        """Return the range after another one was found."""
        kind = self.min_val.dtype
        return FUNCTIONS["minimum"](self.min_val, low.to(kind)), FUNCTIONS["maximum"](self.max_val, high.to(kind))

    def forward(self, x_orig):
        if x_orig.numel():
            with no_grad():
                low, high = self.range_with(x_orig)
                put_where(None, True, (self.min_val, low), (self.max_val, high))
        return x_orig

    def range_with(self, x):
        """Return the ends of the range including the numbers of a tensor."""
        self.fit(x)
        return self.followed(*self.ends_of(x.detach()))

    def fit(self, x):
        """Resize buffers for the ranges of a tensor."""

    def calculate_qparams(self, **kwargs):
        """Return (scale, zero_point). `kwargs` are ignored: the range alone decides."""
        if self.is_empty:
            raise ArgumentError(f"{type(self).__name__} has seen nothing; run the prepared model on inputs like those to come")
        scale, zero = self.steps_between(self.min_val, self.max_val)
        return (scale, zero) if scale.ndim else (scale.reshape(1), zero.reshape(1))

    @property
    def is_empty(self) -> bool:
        """Whether nothing was observed yet."""
        return not self.min_val.numel() or bool((self.min_val == _INFINITE).any())

    def reset_min_max_vals(self):
        """Forget the observations."""
        self.min_val.fill_(_INFINITE)
        self.max_val.fill_(-_INFINITE)


class _Moving(MinMaxObserver):
    """Moving averages of the smallest and largest number of each input; the latest has weight `averaging_constant`."""

    def __init__(self, averaging_constant=0.01, **settings):
        super().__init__(**settings)
        self.averaging_constant = averaging_constant

    def followed(self, low, high):
        """Return the range after another one was found."""
        return followed((self.min_val, self.max_val), (low, high), self.averaging_constant)


class MovingAverageMinMaxObserver(_Moving, MinMaxObserver):
    """Moving averages of the smallest and largest number of each input; the latest has weight `averaging_constant`."""


class PerChannelMinMaxObserver(MinMaxObserver):
    """Smallest and largest number of each channel, for weights: a scale for each output, symmetric about zero."""

    _schemes = schemes.PER_CHANNEL
    _dtype, _scheme = dt.qint8, per_channel_symmetric

    def __init__(self, ch_axis=0, **settings):
        super().__init__(**settings)
        self.ch_axis = ch_axis
        self.min_val, self.max_val = (v.new_empty(0) for v in (self.min_val, self.max_val))

    def fit(self, x):
        """Resize buffers for the ranges of a tensor."""
        channels = x.shape[self.ch_axis]
        if self.min_val.shape != (channels,):
            first_time(self)
            self.min_val = self.min_val.new_full((channels,), _INFINITE)
            self.max_val = self.max_val.new_full((channels,), -_INFINITE)

    def ends_of(self, x):
        """Return the smallest and the largest number of each channel."""
        return ends_of(x, self.ch_axis)


class MovingAveragePerChannelMinMaxObserver(_Moving, PerChannelMinMaxObserver):
    """Moving averages of the smallest and largest number of each channel."""


# Histograms, for calibration.


class _Counting(UniformQuantizationObserverBase):
    """Observer of a range that `_kind` computes from a histogram."""

    _kind: type

    def __init__(self, **settings):
        super().__init__(**settings)
        self.histogram = self._kind()
        self._nothing = True

    def forward(self, x_orig):
        self._nothing &= not x_orig.numel()
        self.histogram.add(x_orig.detach().to(dt.float32).cpu().numpy())
        return x_orig

    @property
    def is_empty(self) -> bool:
        """Whether nothing was observed yet."""
        return self._nothing

    @property
    def min_val(self):
        """Smallest number."""
        return FUNCTIONS["tensor"](self.histogram.low)

    @property
    def max_val(self):
        """Largest number."""
        return FUNCTIONS["tensor"](self.histogram.high)

    def calculate_qparams(self, **kwargs):
        """Return (scale, zero_point) as tensors of one element. `kwargs` are ignored: the counted numbers alone decide."""
        if self._nothing:
            raise ArgumentError(f"{type(self).__name__} has seen nothing; run the prepared model on calibration inputs")
        return self.steps_between(*[FUNCTIONS["tensor"]([end], dtype=dt.float32) for end in self.histogram.range()])

    def reset_min_max_vals(self):
        """Forget the observations."""
        self.histogram, self._nothing = self._kind(), True


class HistogramObserver(_Counting):
    """Observer of the range whose bytes have the smallest squared error."""

    _kind = LeastError


class PercentileObserver(_Counting):
    """Observer of all but a hundred thousandth of the numbers at either end."""

    _kind = Percentile


# Without a range.


class FixedQParamsObserver(ObserverBase):
    """Observer with a fixed scale and zero point, such as those of a sigmoid's values. `kwargs` are ignored: they are about a
    range to observe, and there is none."""

    def __init__(self, scale, zero_point, dtype=dt.quint8, qscheme=per_tensor_affine, quant_min=0, quant_max=255,
                 is_dynamic=False, **kwargs):
        if is_dynamic:
            raise ArgumentError("FixedQParamsObserver is not for inputs that are quantised as they come: is_dynamic is False")
        super().__init__(dtype, is_dynamic)
        self.quant_min, self.quant_max, self.qscheme = quant_min, quant_max, schemes.qscheme(qscheme)
        self.register_buffer("scale", FUNCTIONS["tensor"]([scale], dtype=dt.float32))
        self.register_buffer("zero_point", FUNCTIONS["tensor"]([zero_point], dtype=dt.int32))

    def forward(self, X):
        return X

    def calculate_qparams(self, **kwargs):
        """Return (scale, zero_point)."""
        return self.scale, self.zero_point


class PlaceholderObserver(ObserverBase):
    """Observer with a dtype alone, for inputs that are quantised at each call or not at all. `custom_op_name` is kept for
    programs that look for it."""

    _repr_fields = "dtype= is_dynamic="

    def __init__(self, dtype=dt.float32, custom_op_name="", compute_dtype=None, quant_min=None, quant_max=None, qscheme=None,
                 eps=None, is_dynamic=False):
        super().__init__(dtype, is_dynamic or compute_dtype is not None)
        self.qscheme = per_tensor_affine if qscheme is None else schemes.qscheme(qscheme)
        self.quant_min, self.quant_max, self.eps, self.custom_op = quant_min, quant_max, eps, custom_op_name

    def forward(self, x):
        return x

    def calculate_qparams(self, **kwargs):
        """Raise: there is no range."""
        raise ArgumentError("PlaceholderObserver has no range, so it finds no scale")


class NoopObserver(ObserverBase):
    """Observer that records nothing. `custom_op_name` is kept for programs that look for it."""

    def __init__(self, dtype=dt.float16, custom_op_name=""):
        super().__init__(dtype)
        self.custom_op = custom_op_name

    def forward(self, x):
        return x

    def calculate_qparams(self, **kwargs):
        """Raise: there is no range."""
        raise ArgumentError("NoopObserver has no range, so it finds no scale")


class ReuseInputObserver(NoopObserver):
    """Observer for modules that only move their input: values keep its scale."""

    def __init__(self):
        super().__init__(dt.quint8)


class RecordingObserver(ObserverBase):
    """Observer that keeps copies of all its inputs for inspection."""

    def __init__(self, dtype=dt.quint8):
        super().__init__(dtype)
        self.tensor_val: list = []

    def forward(self, x):
        self.tensor_val.append(x.clone())
        return x

    def calculate_qparams(self, **kwargs):
        """Raise: there is no range."""
        raise ArgumentError("RecordingObserver keeps tensors and finds no scale")

    def get_tensor_value(self) -> list:
        """Return the observed tensors."""
        return self.tensor_val


# States of observers alone.


def get_observer_state_dict(mod) -> dict:
    """Return the part of a module's state that belongs to observers."""
    prefixes = [f"{path}." for path, m in mod.named_modules() if isinstance(m, ObserverBase)]
    return {key: value for key, value in mod.state_dict().items() if key.startswith(tuple(prefixes))}


def load_observer_state_dict(mod, obs_dict):
    """Restore a state of `get_observer_state_dict`."""
    wanted = get_observer_state_dict(mod)
    missing, extra = sorted(wanted.keys() - obs_dict.keys()), sorted(obs_dict.keys() - wanted.keys())
    if missing or extra:
        raise ArgumentError(f"load_observer_state_dict: missing {', '.join(missing) or 'nothing'}, not expected "
                            f"{', '.join(extra) or 'nothing'}")
    mod.load_state_dict(obs_dict, strict=False)


default_observer = MinMaxObserver.with_args()
default_histogram_observer = HistogramObserver.with_args()
default_weight_observer = PerChannelMinMaxObserver.with_args(quant_min=-127, quant_max=127)
default_per_channel_weight_observer = default_weight_observer
weight_observer_range_neg_127_to_127 = MinMaxObserver.with_args(
    dtype=dt.qint8, qscheme=per_tensor_symmetric, quant_min=-127, quant_max=127, eps=2 ** -12)
per_channel_weight_observer_range_neg_127_to_127 = PerChannelMinMaxObserver.with_args(
    dtype=dt.qint8, qscheme=per_channel_symmetric, quant_min=-127, quant_max=127, eps=2 ** -12)
default_float_qparams_observer = PerChannelMinMaxObserver.with_args(
    dtype=dt.quint8, qscheme=per_channel_affine_float_qparams, ch_axis=0)
default_dynamic_quant_observer = PlaceholderObserver.with_args(dtype=dt.quint8, quant_min=0, quant_max=255, is_dynamic=True)
default_placeholder_observer, default_debug_observer = PlaceholderObserver, RecordingObserver
default_reuse_input_observer = ReuseInputObserver
default_fixed_qparams_range_neg1to1_observer = FixedQParamsObserver.with_args(
    scale=2.0 / 256, zero_point=128, dtype=dt.quint8, quant_min=0, quant_max=255)
default_fixed_qparams_range_0to1_observer = FixedQParamsObserver.with_args(
    scale=1.0 / 256, zero_point=0, dtype=dt.quint8, quant_min=0, quant_max=255)
default_symmetric_fixed_qparams_observer = default_fixed_qparams_range_neg1to1_observer
default_affine_fixed_qparams_observer = default_fixed_qparams_range_0to1_observer
