"""Observers: modules that note the numbers that pass through them, and say which scale and zero point these are worth.

They are what `prepare` puts before layers. What they count is in `ranges.py`.
"""

from functools import partial

from ...ir.dtype import qint8, quint8
from ...ir.errors import ArgumentError
from ...passes.int8_weights import LARGEST, Steps, steps_for
from ..api.register import FUNCTIONS
from ..nn.module import Module
from .ranges import LeastError, MinMax, Percentile

__all__ = ["HistogramObserver", "MinMaxObserver", "MovingAverageMinMaxObserver", "ObserverBase", "PerChannelMinMaxObserver",
           "PercentileObserver", "default_histogram_observer", "default_observer", "default_per_channel_weight_observer",
           "default_weight_observer", "per_channel_affine", "per_channel_symmetric", "per_tensor_affine",
           "per_tensor_symmetric"]

per_tensor_affine, per_tensor_symmetric = "per_tensor_affine", "per_tensor_symmetric"
per_channel_affine, per_channel_symmetric = "per_channel_affine", "per_channel_symmetric"


class ObserverBase(Module):
    """What observers have in common: `with_args` makes factories of them."""

    _dtype, _scheme = quint8, per_tensor_affine

    def __init__(self, dtype=None, qscheme=None, reduce_range=False, **others):
        super().__init__()
        self.dtype, self.qscheme = self._dtype if dtype is None else dtype, self._scheme if qscheme is None else qscheme
        if self.dtype is not self._dtype or self.qscheme != self._scheme or others:
            raise ArgumentError(f"{type(self).__name__} has dtype={self._dtype} and qscheme={self._scheme!r} alone"
                                f"{', and does not take ' + ', '.join(others) if others else ''}")
        # Sums of bytes are exact here, so no bit need be left out where `reduce_range` asks for it.

    @classmethod
    def with_args(cls, **settings):
        """A factory of such observers."""
        return partial(cls, **settings)


class PerTensorObserver(ObserverBase):
    """Notes the range of inputs as `_kind` counts it."""

    _kind: type = MinMax

    def __init__(self, **settings):
        super().__init__(**settings)
        self.seen = self._kind()
        self.is_empty = True

    def forward(self, x_orig):
        self.is_empty &= not x_orig.numel()
        self.seen.add(x_orig.detach().cpu().numpy())
        return x_orig

    @property
    def steps(self) -> Steps:
        """What bytes stand for."""
        if self.is_empty:
            raise ArgumentError(f"{type(self).__name__} has seen nothing; run the prepared model on calibration inputs")
        return steps_for(*self.seen.range())

    @property
    def min_val(self):
        """The smallest number."""
        return FUNCTIONS["tensor"](self.seen.low)

    @property
    def max_val(self):
        """The largest number."""
        return FUNCTIONS["tensor"](self.seen.high)

    def calculate_qparams(self):
        """(scale, zero_point) as tensors of one element."""
        steps = self.steps
        return FUNCTIONS["tensor"]([steps.scale]), FUNCTIONS["tensor"]([steps.zero])


class MinMaxObserver(PerTensorObserver):
    """The smallest and the largest number of all inputs."""


class HistogramObserver(PerTensorObserver):
    """The range whose bytes have the smallest squared error."""

    _kind = LeastError


class PercentileObserver(PerTensorObserver):
    """All but a hundred thousandth of the numbers at either end."""

    _kind = Percentile


class MovingAverageMinMaxObserver(PerTensorObserver):
    """Means of the smallest and of the largest number of each input, of which the latest counts `averaging_constant`."""

    def __init__(self, averaging_constant=0.01, **settings):
        super().__init__(**settings)
        self.averaging_constant = averaging_constant

    def forward(self, x_orig):
        one = MinMax()
        one.add(x_orig.detach().cpu().numpy())
        share = 1.0 if self.is_empty else self.averaging_constant
        self.seen.low += share * (one.low - self.seen.low)
        self.seen.high += share * (one.high - self.seen.high)
        self.is_empty &= not x_orig.numel()
        return x_orig


class PerChannelMinMaxObserver(ObserverBase):
    """Of weights: a scale for each output channel, zero in the middle."""

    _dtype, _scheme = qint8, per_channel_symmetric

    def __init__(self, ch_axis=0, **settings):
        super().__init__(**settings)
        if ch_axis:
            raise ArgumentError(f"weights have their scales along the first dim, got ch_axis={ch_axis}")
        self.ch_axis, self.largest = ch_axis, None

    def forward(self, x_orig):
        found = x_orig.detach().abs().reshape(x_orig.shape[0], -1).amax(1)
        self.largest = found if self.largest is None else FUNCTIONS["maximum"](self.largest, found)
        return x_orig

    def calculate_qparams(self):
        """(scales, zero points)"""
        if self.largest is None:
            raise ArgumentError("PerChannelMinMaxObserver has seen no weight")
        return self.largest / LARGEST, FUNCTIONS["zeros_like"](self.largest).long()


default_observer = MinMaxObserver.with_args()
default_histogram_observer = HistogramObserver.with_args()
default_weight_observer = default_per_channel_weight_observer = PerChannelMinMaxObserver.with_args()
