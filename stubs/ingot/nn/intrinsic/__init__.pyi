"""`ingot.ao.nn.intrinsic`: consecutive layers quantised as one, as `fuse_modules` joins them."""

# Made by `make stubs` from the live package; not edited by hand.

import typing as _t
from ingot.nn import Sequential as _Sequential
from ingot.nn.intrinsic import qat as qat
from ingot.nn.intrinsic import quantized as quantized

class ConvBn1d(_Sequential):
    """Convolution over (N, C, L) and its batch norm."""
    def __init__(self, *modules: _t.Any) -> None: ...

class ConvBn2d(_Sequential):
    """Convolution over (N, C, H, W) and its batch norm."""
    def __init__(self, *modules: _t.Any) -> None: ...

class ConvBn3d(_Sequential):
    """Convolution over (N, C, D, H, W) and its batch norm."""
    def __init__(self, *modules: _t.Any) -> None: ...

class ConvBnReLU1d(_Sequential):
    """Convolution over (N, C, L), its batch norm and a ReLU."""
    def __init__(self, *modules: _t.Any) -> None: ...

class ConvBnReLU2d(_Sequential):
    """Convolution over (N, C, H, W), its batch norm and a ReLU."""
    def __init__(self, *modules: _t.Any) -> None: ...

class ConvBnReLU3d(_Sequential):
    """Convolution over (N, C, D, H, W), its batch norm and a ReLU."""
    def __init__(self, *modules: _t.Any) -> None: ...

class ConvReLU1d(_Sequential):
    """Convolution over (N, C, L) and a ReLU."""
    def __init__(self, *modules: _t.Any) -> None: ...

class ConvReLU2d(_Sequential):
    """Convolution over (N, C, H, W) and a ReLU."""
    def __init__(self, *modules: _t.Any) -> None: ...

class ConvReLU3d(_Sequential):
    """Convolution over (N, C, D, H, W) and a ReLU."""
    def __init__(self, *modules: _t.Any) -> None: ...

class LinearBn1d(_Sequential):
    """Linear layer and its batch norm."""
    def __init__(self, *modules: _t.Any) -> None: ...

class LinearReLU(_Sequential):
    """Linear layer and a ReLU."""
    def __init__(self, *modules: _t.Any) -> None: ...
