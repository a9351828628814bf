"""`ingot.ao.nn.quantized`: layers that read bytes of calibrated steps, and sum whole numbers.

Inputs and results are float32, so any other module fits between them. Numbers become bytes on the way in. Traced and exported
code does that in the kernels that produce the numbers.
"""

from typing import Any

import numpy as np

from ...ir import dtype as dt
from ...ir.errors import ArgumentError, DTypeError
from ...ir.ops.core.shape import pad, permute, reshape
from ...ir.ops.quantized.int8_conv import TOP, conv_int8, depthwise_int8, to_bytes
from ...passes.quantize.int8_weights import MOST_DEPTH, Steps, packed, whole_numbers
from ..api.register.register import FUNCTIONS
from ..core.tensor import shape_of, wrap
from ..nn.base.module import Module
from ..nn.layers import conv as float_conv
from ..nn.layers.linear import Linear as FloatLinear
from ..nn.utils.parametrize import type_before_parametrizations
from . import fused_modules, fused_qat_modules, qat_modules
from .int8_weights import byte_steps, weight_scales
from .quantized_embedding import Embedding

__all__ = ["Conv1d", "Conv2d", "DeQuantize", "Embedding", "FloatFunctional", "Linear", "QFunctional", "Quantize"]

_FINISH: dict[str, Any] = {"dtype": dt.float32, "zero": 0, "low": 0, "high": TOP, "beside_zero": 0, "beside_scale": 0.0}


class _Layer(Module):
    """Layer with an int8 weight. `scale` and `zero_point` define its input's bytes, `limits` the first and last one: training
    may have used fewer than 256 steps."""

    _float_module: type
    _trained: tuple = ()        # classes that train with rounded weights
    limits = (0, TOP)

    def _take(self, mod, steps: Steps, weight, bias, scale):
        """Take over a float layer: `weight` is (O, C / groups, height, width), rounded if it has a `scale`."""
        if not bool(weight.isfinite().all()) or (bias is not None and not bool(bias.isfinite().all())):
            raise ArgumentError(f"{type(self).__name__}: the layer has infinities or nan, which whole numbers cannot say")
        if weight.shape[1] * weight.shape[2] * weight.shape[3] > MOST_DEPTH:
            raise ArgumentError(f"{type(self).__name__}: a weight in whole numbers has at most {MOST_DEPTH} numbers for each "
                                f"output, this one has {weight.aval}")
        bias = None if bias is None else bias.detach().numpy()
        groups = getattr(mod, "groups", 1)
        parts = packed(whole_numbers(weight.detach().numpy(), bias, steps, scale=scale), groups)
        self.scale, self.zero_point = steps
        self._groups, self._more, self._outs = parts.groups, parts.more, weight.shape[0]
        for name in ("weight", "start", "factor"):
            self.register_buffer(f"{name}_int8" if name == "weight" else name, wrap(np.ascontiguousarray(getattr(parts, name))))
        return self

    @classmethod
    def _from_layer(cls, layer, steps: Steps, weight, bias, scale):
        raise NotImplementedError

    @classmethod
    def from_float(cls, mod, steps: Steps | None = None):
        """Return the int8 layer of a float one, or of one trained with rounded weights. Input steps come from its
        `input_observer`, or from `steps`."""
        kind = type_before_parametrizations(mod)
        if kind is not cls._float_module and kind not in cls._trained:
            raise DTypeError(f"{cls.__module__}.{cls.__name__}.from_float takes nn.{cls._float_module.__name__}, got "
                             f"{type(mod).__name__}")
        layer = mod[0] if isinstance(mod, fused_modules._FusedModule) else mod
        if layer.weight.dtype is not dt.float32 or layer.weight.device.type != "cpu":
            raise DTypeError(f"{cls.__name__} is quantised from float32 on the CPU, its weight is {layer.weight.aval} on "
                             f"{layer.weight.device}; call .float() and .cpu() before")
        limits = cls.limits
        if steps is None:
            steps, limits = byte_steps(mod.input_observer, cls.__name__)
        weight, bias, scale = layer.weight, layer.bias, None
        if isinstance(mod, qat_modules.Rounding):
            weight, bias = mod.folded()
            scale = weight_scales(mod.weight_fake_quant, cls.__name__)
        module = cls._from_layer(layer, steps, weight, bias, scale).eval()
        module.limits = limits
        return module

    def get_extra_state(self):
        return {"scale": self.scale, "zero_point": self.zero_point, "groups": self._groups, "more": self._more,
                "limits": self.limits}

    def set_extra_state(self, state):
        """Restore the state that is in no tensor."""
        self.scale, self.zero_point, self.limits = state["scale"], state["zero_point"], state.get("limits", (0, TOP))
        self._groups, self._more = state["groups"], state["more"]

    def _sums(self, images, **window):
        """Return the layer's result for images of bytes with channels last."""
        operands = (images, self.weight_int8, self.start, self.factor, None)
        if self._groups is None:
            return depthwise_int8(*operands, **window, **_FINISH)
        return conv_int8(*operands, outs=self._outs, groups=self._groups, **window, **_FINISH)

    def _bytes(self, x):
        if x.dtype is not dt.float32:
            raise DTypeError(f"{type(self).__name__} takes float32, got {x.aval}; call .float()")
        steps = to_bytes(x, scale=self.scale, zero=self.zero_point)
        return steps if tuple(self.limits) == (0, TOP) else steps.clamp(*self.limits)

    def _get_name(self):
        return f"Quantized{type(self).__name__}"


class Linear(_Layer):
    """Int8 linear layer y = x @ weight.T + bias."""

    _repr_fields = "in_features= out_features= scale= zero_point="
    _float_module: Any = FloatLinear
    _trained: tuple = qat_modules.Linear, fused_qat_modules.LinearBn1d

    @classmethod
    def _from_layer(cls, layer, steps, weight, bias, scale):
        module = cls()
        module.in_features, module.out_features = layer.in_features, layer.out_features
        return module._take(layer, steps, weight[:, :, None, None], bias, scale)

    def forward(self, input):
        images, sizes = self._bytes(input), shape_of(input)
        if self._more:
            zeros = (0,) * (input.ndim - 1)
            images = pad(images, low=(*zeros, 0), high=(*zeros, self._more), interior=(*zeros, 0), value=self.zero_point)
        rows = FUNCTIONS["reshape"](images, (1, 1, -1, self.in_features + self._more))
        return reshape(self._sums(rows, stride=(1, 1), dilation=(1, 1)), shape=(*sizes[:-1], self.out_features))


class _Conv(_Layer):
    _repr_fields = "in_channels out_channels kernel_size= stride= padding= scale= zero_point="

    @classmethod
    def _from_layer(cls, layer, steps, weight, bias, scale):
        if layer.padding_mode != "zeros":
            raise ArgumentError(f"{cls.__name__} has padding_mode 'zeros' alone, got {layer.padding_mode!r}")
        module = cls()
        for name in ("in_channels", "out_channels", "kernel_size", "stride", "padding", "dilation", "groups"):
            setattr(module, name, getattr(layer, name))
        return module._take(layer, steps, weight if weight.ndim == 4 else weight[:, :, None], bias, scale)

    def _edges(self):
        """Return the padding before and after each dim."""
        if self.padding == "same":
            totals = [d * (k - 1) for k, d in zip(self.kernel_size, self.dilation)]
            return [(n // 2, n - n // 2) for n in totals]
        sizes = (0,) * len(self.kernel_size) if self.padding == "valid" else self.padding
        return [(n, n) for n in sizes]

    def forward(self, input):
        dims = len(self.kernel_size)
        if input.ndim != dims + 2:
            raise ArgumentError(f"{type(self).__name__} takes (N, C, {'H, W' if dims == 2 else 'L'}), got {input.aval}")
        images = permute(self._bytes(input), dims=(0, *range(2, dims + 2), 1))
        low, high = zip((0, 0), *self._edges(), (0, self._more))
        if any(low) or any(high):
            images = pad(images, low=low, high=high, interior=(0,) * (dims + 2), value=self.zero_point)
        row = dims == 1             # an image of one row
        if row:
            images = reshape(images, shape=(images.shape[0], 1, *images.shape[1:]))
        ones = (1,) * row
        result = self._sums(images, stride=(*ones, *self.stride), dilation=(*ones, *self.dilation))
        if row:
            result = reshape(result, shape=(result.shape[0], *result.shape[2:]))
        return permute(result, dims=(0, dims + 1, *range(1, dims + 1)))


class Conv1d(_Conv):
    """Int8 convolution over (N, C, L)."""

    _float_module: Any = float_conv.Conv1d
    _trained: tuple = qat_modules.Conv1d, fused_qat_modules.ConvBn1d


class Conv2d(_Conv):
    """Int8 convolution over (N, C, H, W)."""

    _float_module: Any = float_conv.Conv2d
    _trained: tuple = qat_modules.Conv2d, fused_qat_modules.ConvBn2d


class Quantize(Module):
    """Marker of where inputs become bytes in PyTorch. Layers convert by themselves here."""

    def forward(self, x):
        return x


class DeQuantize(Quantize):
    """Marker of where bytes become floats in PyTorch."""


class FloatFunctional(Module):
    """Functions of two tensors as methods, for models to be quantised; they stay in floats."""

    def forward(self, x):
        raise ArgumentError("FloatFunctional is not called; use its methods: add, mul, cat ...")

    def add(self, x, y):
        return x + y

    def mul(self, x, y):
        return x * y

    add_scalar, mul_scalar = add, mul

    def matmul(self, x, y):
        return x @ y

    def cat(self, x, dim=0):
        """Join tensors along a dim."""
        return FUNCTIONS["cat"](x, dim)

    def add_relu(self, x, y):
        """Return the positive part of x + y."""
        return FUNCTIONS["relu"](x + y)


class QFunctional(FloatFunctional):
    """FloatFunctional of converted models."""
