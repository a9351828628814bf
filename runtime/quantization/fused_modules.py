"""`ingot.ao.nn.intrinsic`: consecutive layers quantised as one, as `fuse_modules` joins them."""

from typing import Any

from ...ir.errors import ArgumentError
from ..nn.base.container import Sequential
from ..nn.layers.activation import ReLU
from ..nn.layers.conv import Conv1d, Conv2d, Conv3d
from ..nn.layers.linear import Linear
from ..nn.layers.norm import BatchNorm1d, BatchNorm2d, BatchNorm3d
from ..nn.utils.parametrize import type_before_parametrizations

__all__ = ["ConvBn1d", "ConvBn2d", "ConvBn3d", "ConvBnReLU1d", "ConvBnReLU2d", "ConvBnReLU3d", "ConvReLU1d", "ConvReLU2d",
           "ConvReLU3d", "LinearBn1d", "LinearReLU"]

JOINED: dict[tuple, Any] = {}          # classes of consecutive modules -> their fused class


class _FusedModule(Sequential):
    """Sequence of modules of certain classes."""

    _parts: tuple = ()

    def __init_subclass__(cls, parts=None, **options):
        super().__init_subclass__(**options)
        if parts is not None:
            cls._parts = parts
            JOINED[parts] = cls

    def __init__(self, *modules):
        kinds = tuple(type_before_parametrizations(m) for m in modules)
        if kinds != self._parts:
            raise ArgumentError(f"{type(self).__name__} takes {', '.join(k.__name__ for k in self._parts)}, got "
                                f"{', '.join(k.__name__ for k in kinds) or 'nothing'}")
        super().__init__(*modules)


class ConvReLU1d(_FusedModule, parts=(Conv1d, ReLU)):
    """Convolution over (N, C, L) and a ReLU."""


class ConvReLU2d(_FusedModule, parts=(Conv2d, ReLU)):
    """Convolution over (N, C, H, W) and a ReLU."""


class ConvReLU3d(_FusedModule, parts=(Conv3d, ReLU)):
    """Convolution over (N, C, D, H, W) and a ReLU."""


class LinearReLU(_FusedModule, parts=(Linear, ReLU)):
    """Linear layer and a ReLU."""


class ConvBn1d(_FusedModule, parts=(Conv1d, BatchNorm1d)):
    """Convolution over (N, C, L) and its batch norm."""


class ConvBn2d(_FusedModule, parts=(Conv2d, BatchNorm2d)):
    """Convolution over (N, C, H, W) and its batch norm."""


class ConvBn3d(_FusedModule, parts=(Conv3d, BatchNorm3d)):
    """Convolution over (N, C, D, H, W) and its batch norm."""


class ConvBnReLU1d(_FusedModule, parts=(Conv1d, BatchNorm1d, ReLU)):
    """Convolution over (N, C, L), its batch norm and a ReLU."""


class ConvBnReLU2d(_FusedModule, parts=(Conv2d, BatchNorm2d, ReLU)):
    """Convolution over (N, C, H, W), its batch norm and a ReLU."""


class ConvBnReLU3d(_FusedModule, parts=(Conv3d, BatchNorm3d, ReLU)):
    """Convolution over (N, C, D, H, W), its batch norm and a ReLU."""


class LinearBn1d(_FusedModule, parts=(Linear, BatchNorm1d)):
    """Linear layer and its batch norm."""
