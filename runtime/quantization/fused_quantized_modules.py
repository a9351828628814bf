"""`ingot.ao.nn.intrinsic.quantized`: int8 layers followed by a ReLU."""

from typing import Any

from . import fused_modules, fused_qat_modules, static_modules

__all__ = ["ConvReLU1d", "ConvReLU2d", "LinearReLU"]


class LinearReLU(fused_qat_modules.WithReLU, static_modules.Linear):
    """Int8 linear layer, and a ReLU."""

    _float_module: Any = fused_modules.LinearReLU
    _trained: tuple = (fused_qat_modules.LinearReLU,)


class ConvReLU1d(fused_qat_modules.WithReLU, static_modules.Conv1d):
    """Int8 convolution over (N, C, L), and a ReLU."""

    _float_module: Any = fused_modules.ConvReLU1d
    _trained: tuple = fused_qat_modules.ConvReLU1d, fused_qat_modules.ConvBnReLU1d


class ConvReLU2d(fused_qat_modules.WithReLU, static_modules.Conv2d):
    """Int8 convolution over (N, C, H, W), and a ReLU."""

    _float_module: Any = fused_modules.ConvReLU2d
    _trained: tuple = fused_qat_modules.ConvReLU2d, fused_qat_modules.ConvBnReLU2d
