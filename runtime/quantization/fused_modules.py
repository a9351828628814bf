"""`ingot.ao.nn.intrinsic`: consecutive layers quantised as one, as `fuse_modules` joins them."""

from ...ir.errors import ArgumentError
from ..nn.base.container import Sequential
from ..nn.layers.activation import ReLU
from ..nn.layers.conv import Conv1d, Conv2d, Conv3d
from ..nn.layers.linear import Linear
from ..nn.layers.norm import BatchNorm1d, BatchNorm2d, BatchNorm3d
from ..nn.utils.parametrize import type_before_parametrizations

__all__ = ["ConvBn1d", "ConvBn2d", "ConvBn3d", "ConvBnReLU1d", "ConvBnReLU2d", "ConvBnReLU3d", "ConvReLU1d", "ConvReLU2d",
           "ConvReLU3d", "LinearBn1d", "LinearReLU"]


class _FusedModule(Sequential):
    """Sequence of modules of certain classes."""

    _parts: tuple = ()

    def __init__(self, *modules):
        kinds = tuple(type_before_parametrizations(m) for m in modules)
        if kinds != self._parts:
            raise ArgumentError(f"{type(self).__name__} takes {', '.join(k.__name__ for k in self._parts)}, got "
                                f"{', '.join(k.__name__ for k in kinds) or 'nothing'}")
        super().__init__(*modules)


class ConvReLU1d(_FusedModule):
    """Convolution over (N, C, L) and a ReLU."""

    _parts = Conv1d, ReLU


class ConvReLU2d(_FusedModule):
    """Convolution over (N, C, H, W) and a ReLU."""

    _parts = Conv2d, ReLU


class ConvReLU3d(_FusedModule):
    """Convolution over (N, C, D, H, W) and a ReLU."""

    _parts = Conv3d, ReLU


class LinearReLU(_FusedModule):
    """Linear layer and a ReLU."""

    _parts = Linear, ReLU


class ConvBn1d(_FusedModule):
    """Convolution over (N, C, L) and its batch norm."""

    _parts = Conv1d, BatchNorm1d


class ConvBn2d(_FusedModule):
    """Convolution over (N, C, H, W) and its batch norm."""

    _parts = Conv2d, BatchNorm2d


class ConvBn3d(_FusedModule):
    """Convolution over (N, C, D, H, W) and its batch norm."""

    _parts = Conv3d, BatchNorm3d


class ConvBnReLU1d(_FusedModule):
    """Convolution over (N, C, L), its batch norm and a ReLU."""

    _parts = Conv1d, BatchNorm1d, ReLU


class ConvBnReLU2d(_FusedModule):
    """Convolution over (N, C, H, W), its batch norm and a ReLU."""

    _parts = Conv2d, BatchNorm2d, ReLU


class ConvBnReLU3d(_FusedModule):
    """Convolution over (N, C, D, H, W), its batch norm and a ReLU."""

    _parts = Conv3d, BatchNorm3d, ReLU


class LinearBn1d(_FusedModule):
    """Linear layer and its batch norm."""

    _parts = Linear, BatchNorm1d


JOINED = {kind._parts: kind for kind in _FusedModule.__subclasses__()}
