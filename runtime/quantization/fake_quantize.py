"""Fake quantisation: modules that round numbers to few steps, and track the ranges of these.

    weight = fake(layer.weight)         # gradients pass as if nothing had been rounded

Two switches are buffers, saved in a model's state. Eager code on the CPU reads them. A recorded graph contains both cases, so
switching needs no new recording.
"""

from ...ir import dtype as dt
from ...ir.errors import ArgumentError
from ...ir.ops.quantized.quantization_ranges import FITTED
from ..api.nn.quantize_dequantize import known, put_where, steps_between
from ..api.register import quantized_dtypes as schemes
from ..api.register.register import FUNCTIONS
from ..autograd.grad_mode import no_grad
from . import observers
from .observer_base import HasFactories, first_time, make_room

__all__ = ["FakeQuantize", "FakeQuantizeBase", "FixedQParamsFakeQuantize", "FusedMovingAvgObsFakeQuantize",
           "default_affine_fixed_qparams_fake_quant", "default_dynamic_fake_quant", "default_embedding_fake_quant",
           "default_fake_quant", "default_fixed_qparams_range_0to1_fake_quant",
           "default_fixed_qparams_range_neg1to1_fake_quant", "default_fused_act_fake_quant",
           "default_fused_per_channel_wt_fake_quant", "default_fused_wt_fake_quant", "default_histogram_fake_quant",
           "default_per_channel_weight_fake_quant", "default_symmetric_fixed_qparams_fake_quant", "default_weight_fake_quant",
           "disable_fake_quant", "disable_observer", "enable_fake_quant", "enable_observer",
           "fused_per_channel_wt_fake_quant_range_neg_127_to_127", "fused_wt_fake_quant_range_neg_127_to_127"]


class FakeQuantizeBase(HasFactories):
    """Base of fake quantisation: a switch for rounding and one for observing ranges."""

    _switch = dt.uint8

    def __init__(self):
        super().__init__()
        for name in ("fake_quant_enabled", "observer_enabled"):
            self.register_buffer(name, FUNCTIONS["ones"](1, dtype=self._switch))

    def forward(self, x):
        raise NotImplementedError(f"{type(self).__name__} has no forward")

    def calculate_qparams(self, **kwargs):
        """Return (scale, zero point)."""
        raise NotImplementedError(f"{type(self).__name__} finds no scale")

    def enable_fake_quant(self, enabled=True):
        """Round from now on."""
        self.fake_quant_enabled.fill_(int(enabled))

    def disable_fake_quant(self):
        """Stop rounding."""
        self.enable_fake_quant(False)

    def enable_observer(self, enabled=True):
        """Observe ranges from now on."""
        self.observer_enabled.fill_(int(enabled))

    def disable_observer(self):
        """Keep the current scale."""
        self.enable_observer(False)


class FakeQuantize(FakeQuantizeBase):
    """Module for (step - zero_point) * scale with the nearest step from quant_min to quant_max. Scale and zero point come from
    an observer, which sees each input first. The gradient is that of the input between the limits."""

    _version = 1

    def __init__(self, observer=observers.MovingAverageMinMaxObserver, quant_min=None, quant_max=None, is_dynamic=False,
                 **observer_kwargs):
        super().__init__()
        if quant_min is not None and quant_max is not None:
            observer_kwargs.update(quant_min=quant_min, quant_max=quant_max)
        self.activation_post_process = own = observer(is_dynamic=is_dynamic, **observer_kwargs)
        if getattr(own, "qscheme", None) not in (*schemes.PER_TENSOR, *schemes.PER_CHANNEL) or own.quant_min is None:
            raise ArgumentError(f"{type(self).__name__} takes an observer of ranges, got {type(own).__name__}")
        self.quant_min, self.quant_max, self.is_dynamic = own.quant_min, own.quant_max, own.is_dynamic
        self.dtype, self.qscheme, self.ch_axis = own.dtype, own.qscheme, getattr(own, "ch_axis", -1)
        self.is_per_channel = self.qscheme in schemes.PER_CHANNEL
        floating = self.qscheme == schemes.per_channel_affine_float_qparams
        self.register_buffer("scale", FUNCTIONS["ones"](1, dtype=dt.float32))
        self.register_buffer("zero_point", FUNCTIONS["zeros"](1, dtype=dt.float32 if floating else dt.int32))

    def calculate_qparams(self, **kwargs):
        """Return (scale, zero point) from the observer. `kwargs` are ignored: its range alone decides."""
        return self.activation_post_process.calculate_qparams()

    @property
    def is_empty(self) -> bool:
        """Whether nothing was observed yet."""
        return self.activation_post_process.is_empty

    def forward(self, X):
        observing = known(self.observer_enabled)
        if observing is not False and X.numel():
            with no_grad():
                self._observe(X.detach(), observing)
        return self.rounded(X)

    def _observe(self, x, on):
        own = self.activation_post_process
        if getattr(type(own), "forward", None) is observers.MinMaxObserver.forward:
            ends = own.range_with(x)
            made = self._steps_between(*ends)
            self._fit(made[0])
            put_where(self.observer_enabled, on, *zip((own.min_val, own.max_val, self.scale, self.zero_point), (*ends, *made)))
        elif on or self.observer_enabled[0] != 0:       # the observer may do anything, so a trace must read the switch
            own(x)
            made = own.calculate_qparams()
            self._fit(made[0])
            put_where(None, True, *zip((self.scale, self.zero_point), made))

    def _steps_between(self, low, high):
        """Return (scale, zero point) for the ends of ranges."""
        return self.activation_post_process.steps_between(low, high)

    def _fit(self, scale):
        """Resize buffers to as many scales as there are channels."""
        if scale.ndim and self.scale.shape != scale.shape:
            first_time(self)
            self.scale, self.zero_point = self.scale.new_ones(scale.shape), self.zero_point.new_zeros(scale.shape)

    def start_with(self, x):
        """Resize buffers for a tensor before one is observed."""
        if self.is_per_channel:
            if hasattr(self.activation_post_process, "fit"):
                self.activation_post_process.fit(x)
            self._fit(x.detach().new_empty(x.shape[self.ch_axis]))

    def rounded(self, x):
        """Round to the nearest steps by the current scale, if rounding is on."""
        on = known(self.fake_quant_enabled)
        if on is False:
            return x
        if self.is_per_channel:
            made = FUNCTIONS["fake_quantize_per_channel_affine"](x, self.scale, self.zero_point, self.ch_axis, self.quant_min,
                                                                self.quant_max)
        else:
            made = FUNCTIONS["fake_quantize_per_tensor_affine"](x, self.scale, self.zero_point, self.quant_min, self.quant_max)
        return made if on else FUNCTIONS["where"](self.fake_quant_enabled != 0, made, x)

    def _load_from_state_dict(self, state_dict, prefix, *others):
        make_room(self, state_dict, prefix)
        super()._load_from_state_dict(state_dict, prefix, *others)

    def extra_repr(self):
        return (f"fake_quant_enabled={self.fake_quant_enabled}, observer_enabled={self.observer_enabled}, "
                f"quant_min={self.quant_min}, quant_max={self.quant_max}, dtype={self.dtype}, qscheme={self.qscheme!r}, "
                f"ch_axis={self.ch_axis}, scale={self.scale}, zero_point={self.zero_point}")


class FixedQParamsFakeQuantize(FakeQuantize):
    """Fake quantisation with a fixed scale and zero point."""

    def __init__(self, observer):
        super().__init__(observer=observer)
        own = self.activation_post_process
        if type(own) is not observers.FixedQParamsObserver or self.is_per_channel:
            raise ArgumentError(f"FixedQParamsFakeQuantize takes a FixedQParamsObserver of a whole tensor, got "
                                f"{type(own).__name__}")
        self.scale, self.zero_point = own.scale, own.zero_point

    def calculate_qparams(self, **kwargs):
        """Return (scale, zero point). `kwargs` are ignored: both are fixed."""
        return self.scale, self.zero_point

    def _observe(self, x, on):
        """Do nothing: scale and zero point are fixed."""


class FusedMovingAvgObsFakeQuantize(FakeQuantize):
    """`FakeQuantize` with moving averages of ranges, which is one operation in PyTorch."""

    _switch = dt.int64

    def __init__(self, observer=observers.MovingAverageMinMaxObserver, quant_min=0, quant_max=255, **observer_kwargs):
        super().__init__(observer, quant_min, quant_max, **observer_kwargs)
        kinds = (observers.MovingAverageMinMaxObserver, observers.MovingAveragePerChannelMinMaxObserver)
        if not isinstance(self.activation_post_process, kinds):
            raise ArgumentError(f"FusedMovingAvgObsFakeQuantize takes an observer of moving means, got "
                                f"{type(self.activation_post_process).__name__}")
        self.is_symmetric_quant = self.qscheme in schemes.SYMMETRIC

    def _steps_between(self, low, high):
        """Return steps; symmetric ones use all bytes: -128 is the lower end of the range, 127 the upper one."""
        if not self.is_symmetric_quant:
            return super()._steps_between(low, high)
        return steps_between(low, high, self.quant_min, self.quant_max, FITTED, eps=self.activation_post_process._least_scale,
                             middle=round((self.quant_min + self.quant_max) / 2))


# Switches of whole models: model.apply(disable_observer).


def _switches(name, doc):
    def switch(mod):
        if isinstance(mod, FakeQuantizeBase):
            getattr(mod, name)()

    switch.__name__ = switch.__qualname__ = name
    switch.__doc__ = doc
    return switch


enable_fake_quant = _switches("enable_fake_quant", "Has a module round, if it is one of fake quantisation.")
disable_fake_quant = _switches("disable_fake_quant", "Has a module give numbers back as they are.")
enable_observer = _switches("enable_observer", "Has a module follow ranges.")
disable_observer = _switches("disable_observer", "Has a module keep the scale that it has.")

# Sums of bytes are exact here, so activations take all 8 bits; weights follow their range at once.
_MEANS, _MEANS_OF_CHANNELS = observers.MovingAverageMinMaxObserver, observers.MovingAveragePerChannelMinMaxObserver
_BYTES = {"observer": _MEANS, "quant_min": 0, "quant_max": 255, "dtype": dt.quint8}
_WEIGHT = {"observer": _MEANS, "quant_min": -128, "quant_max": 127, "dtype": dt.qint8, "averaging_constant": 1.0,
           "qscheme": schemes.per_tensor_symmetric}
_CHANNELS = {**_WEIGHT, "observer": _MEANS_OF_CHANNELS, "qscheme": schemes.per_channel_symmetric, "ch_axis": 0}
_NARROW = {"quant_min": -127, "eps": 2 ** -12}

default_fake_quant = FakeQuantize.with_args(**_BYTES, qscheme=schemes.per_tensor_affine)
default_weight_fake_quant = FakeQuantize.with_args(**_WEIGHT)
default_per_channel_weight_fake_quant = FakeQuantize.with_args(**_CHANNELS)
default_dynamic_fake_quant = FakeQuantize.with_args(**_BYTES, is_dynamic=True, averaging_constant=1)
default_histogram_fake_quant = FakeQuantize.with_args(**{**_BYTES, "observer": observers.HistogramObserver},
                                                      qscheme=schemes.per_tensor_affine)
default_embedding_fake_quant = FakeQuantize.with_args(
    observer=_MEANS_OF_CHANNELS, qscheme=schemes.per_channel_affine_float_qparams, dtype=dt.quint8, quant_min=0, quant_max=255,
    ch_axis=0, averaging_constant=1)
default_fixed_qparams_range_neg1to1_fake_quant = FixedQParamsFakeQuantize.with_args(
    observer=observers.default_fixed_qparams_range_neg1to1_observer)
default_fixed_qparams_range_0to1_fake_quant = FixedQParamsFakeQuantize.with_args(
    observer=observers.default_fixed_qparams_range_0to1_observer)
default_symmetric_fixed_qparams_fake_quant = default_fixed_qparams_range_neg1to1_fake_quant
default_affine_fixed_qparams_fake_quant = default_fixed_qparams_range_0to1_fake_quant
default_fused_act_fake_quant = FusedMovingAvgObsFakeQuantize.with_args(**_BYTES)
default_fused_wt_fake_quant = FusedMovingAvgObsFakeQuantize.with_args(**_WEIGHT)
default_fused_per_channel_wt_fake_quant = FusedMovingAvgObsFakeQuantize.with_args(**_CHANNELS)
fused_wt_fake_quant_range_neg_127_to_127 = FusedMovingAvgObsFakeQuantize.with_args(**{**_WEIGHT, **_NARROW})
fused_per_channel_wt_fake_quant_range_neg_127_to_127 = FusedMovingAvgObsFakeQuantize.with_args(**{**_CHANNELS, **_NARROW})
