"""`ingot.ao.nn.intrinsic.quantized`: layers in whole numbers with a ReLU behind them."""

from typing import Any

from ..nn import functional as F
from . import intrinsic, intrinsic_qat, static

__all__ = ["ConvReLU1d", "ConvReLU2d", "LinearReLU"]


class LinearReLU(static.Linear):
    """A linear layer in whole numbers, and a ReLU."""

    _float_module: Any = intrinsic.LinearReLU
    _trained: tuple = (intrinsic_qat.LinearReLU,)

    def forward(self, input):
        return F.relu(super().forward(input))


class ConvReLU1d(static.Conv1d):
    """A convolution over (N, C, L) in whole numbers, and a ReLU."""

    _float_module: Any = intrinsic.ConvReLU1d
    _trained: tuple = intrinsic_qat.ConvReLU1d, intrinsic_qat.ConvBnReLU1d

    def forward(self, input):
        return F.relu(super().forward(input))


class ConvReLU2d(static.Conv2d):
    """A convolution over (N, C, H, W) in whole numbers, and a ReLU."""

    _float_module: Any = intrinsic.ConvReLU2d
    _trained: tuple = intrinsic_qat.ConvReLU2d, intrinsic_qat.ConvBnReLU2d

    def forward(self, input):
        return F.relu(super().forward(input))
