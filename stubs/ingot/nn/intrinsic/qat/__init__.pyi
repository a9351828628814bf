"""`ingot.ao.nn.intrinsic.qat`: a layer, its batch norm and a ReLU, trained as the one int8 layer they become."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import collections.abc as _c
import typing as _t
from ingot import Tensor as _Tensor
from ingot.nn import Conv1d as _Conv1d
from ingot.nn import Conv2d as _Conv2d
from ingot.nn import Conv3d as _Conv3d
from ingot.nn import Linear as _Linear
from ingot.nn import Parameter as _Parameter
from ingot.nn.qat import Conv1d as _Conv1d_
from ingot.nn.qat import Conv2d as _Conv2d_
from ingot.nn.qat import Conv3d as _Conv3d_
from ingot.nn.qat import Linear as _Linear_

class ConvBn1d(_Conv1d):
    """Convolution over (N, C, L) and its batch norm."""
    bias: _t.Any
    bn: _t.Any
    freeze_bn: _t.Any
    qconfig: _t.Any
    weight: _t.Any
    weight_fake_quant: _t.Any
    def __init__(self, in_channels: _b.int, out_channels: _b.int,
                 kernel_size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
                 stride: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 1,
                 padding: _b.str | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 0,
                 dilation: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 1, groups: _b.int = 1,
                 bias: _t.Any = None, padding_mode: _b.str = 'zeros', eps: _b.float = 1e-05, momentum: _b.float = 0.1,
                 freeze_bn: _b.bool = False, qconfig: _t.Any = None) -> None: ...
    def folded(self) -> _b.tuple[_t.Any, ...]:
        """Return (weight, bias) of the layer with its batch norm folded in, the weight rounded."""
    def forward(self, input: _Tensor) -> _Tensor: ...
    def freeze_bn_stats(self) -> _t.Self:
        """Keep the running statistics from now on."""
    @_b.classmethod
    def from_float(cls, mod: _t.Any, use_precomputed_fake_quant: _b.bool = False) -> _t.Any:
        """Return the training layer of a float one, with the same parameters."""
    rank: _b.int
    reads_floats: _b.bool
    def reset_running_stats(self) -> None: ...
    def to_float(self) -> _t.Any:
        """Return the float layer with the batch norm folded in, before rounding, followed by a ReLU if there is one."""
    def train(self, mode: _b.bool = True) -> _t.Self:
        """Switch training mode; a frozen batch norm keeps its mode."""
    def update_bn_stats(self) -> _t.Self:
        """Update the running statistics from now on."""

class ConvBn2d(_Conv2d):
    """Convolution over (N, C, H, W) and its batch norm."""
    bias: _t.Any
    bn: _t.Any
    freeze_bn: _t.Any
    qconfig: _t.Any
    weight: _t.Any
    weight_fake_quant: _t.Any
    def __init__(self, in_channels: _b.int, out_channels: _b.int,
                 kernel_size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
                 stride: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 1,
                 padding: _b.str | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 0,
                 dilation: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 1, groups: _b.int = 1,
                 bias: _t.Any = None, padding_mode: _b.str = 'zeros', eps: _b.float = 1e-05, momentum: _b.float = 0.1,
                 freeze_bn: _b.bool = False, qconfig: _t.Any = None) -> None: ...
    def folded(self) -> _b.tuple[_t.Any, ...]:
        """Return (weight, bias) of the layer with its batch norm folded in, the weight rounded."""
    def forward(self, input: _Tensor) -> _Tensor: ...
    def freeze_bn_stats(self) -> _t.Self:
        """Keep the running statistics from now on."""
    @_b.classmethod
    def from_float(cls, mod: _t.Any, use_precomputed_fake_quant: _b.bool = False) -> _t.Any:
        """Return the training layer of a float one, with the same parameters."""
    rank: _b.int
    reads_floats: _b.bool
    def reset_running_stats(self) -> None: ...
    def to_float(self) -> _t.Any:
        """Return the float layer with the batch norm folded in, before rounding, followed by a ReLU if there is one."""
    def train(self, mode: _b.bool = True) -> _t.Self:
        """Switch training mode; a frozen batch norm keeps its mode."""
    def update_bn_stats(self) -> _t.Self:
        """Update the running statistics from now on."""

class ConvBn3d(_Conv3d):
    """Convolution over (N, C, D, H, W) and its batch norm."""
    bias: _t.Any
    bn: _t.Any
    freeze_bn: _t.Any
    qconfig: _t.Any
    weight: _t.Any
    weight_fake_quant: _t.Any
    def __init__(self, in_channels: _b.int, out_channels: _b.int,
                 kernel_size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
                 stride: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 1,
                 padding: _b.str | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 0,
                 dilation: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 1, groups: _b.int = 1,
                 bias: _t.Any = None, padding_mode: _b.str = 'zeros', eps: _b.float = 1e-05, momentum: _b.float = 0.1,
                 freeze_bn: _b.bool = False, qconfig: _t.Any = None) -> None: ...
    def folded(self) -> _b.tuple[_t.Any, ...]:
        """Return (weight, bias) of the layer with its batch norm folded in, the weight rounded."""
    def forward(self, input: _Tensor) -> _Tensor: ...
    def freeze_bn_stats(self) -> _t.Self:
        """Keep the running statistics from now on."""
    @_b.classmethod
    def from_float(cls, mod: _t.Any, use_precomputed_fake_quant: _b.bool = False) -> _t.Any:
        """Return the training layer of a float one, with the same parameters."""
    rank: _b.int
    reads_floats: _b.bool
    def reset_running_stats(self) -> None: ...
    def to_float(self) -> _t.Any:
        """Return the float layer with the batch norm folded in, before rounding, followed by a ReLU if there is one."""
    def train(self, mode: _b.bool = True) -> _t.Self:
        """Switch training mode; a frozen batch norm keeps its mode."""
    def update_bn_stats(self) -> _t.Self:
        """Update the running statistics from now on."""

class ConvBnReLU1d(ConvBn1d):
    """Convolution over (N, C, L), its batch norm and a ReLU."""
    def forward(self, input: _Tensor) -> _Tensor: ...
    rank: _b.int

class ConvBnReLU2d(ConvBn2d):
    """Convolution over (N, C, H, W), its batch norm and a ReLU."""
    def forward(self, input: _Tensor) -> _Tensor: ...
    rank: _b.int

class ConvBnReLU3d(ConvBn3d):
    """Convolution over (N, C, D, H, W), its batch norm and a ReLU."""
    def forward(self, input: _Tensor) -> _Tensor: ...
    rank: _b.int

class ConvReLU1d(_Conv1d_):
    """Convolution over (N, C, L) with a rounded weight, and a ReLU."""
    def forward(self, input: _Tensor) -> _Tensor: ...
    rank: _b.int

class ConvReLU2d(_Conv2d_):
    """Convolution over (N, C, H, W) with a rounded weight, and a ReLU."""
    def forward(self, input: _Tensor) -> _Tensor: ...
    rank: _b.int

class ConvReLU3d(_Conv3d_):
    """Convolution over (N, C, D, H, W) with a rounded weight, and a ReLU."""
    def forward(self, input: _Tensor) -> _Tensor: ...
    rank: _b.int

class LinearBn1d(_Linear):
    """Linear layer and its batch norm."""
    bias: _t.Any
    bn: _t.Any
    freeze_bn: _t.Any
    qconfig: _t.Any
    weight: _t.Any
    weight_fake_quant: _t.Any
    def __init__(self, in_features: _b.int, out_features: _b.int, bias: _b.bool = True, eps: _b.float = 1e-05,
                 momentum: _b.float = 0.1, freeze_bn: _b.bool = False, qconfig: _t.Any = None) -> None: ...
    def folded(self) -> _b.tuple[_t.Any, ...]:
        """Return (weight, bias) of the layer with its batch norm folded in, the weight rounded."""
    def forward(self, input: _Tensor) -> _Tensor: ...
    def freeze_bn_stats(self) -> _t.Self:
        """Keep the running statistics from now on."""
    @_b.classmethod
    def from_float(cls, mod: _t.Any, use_precomputed_fake_quant: _b.bool = False) -> _t.Any:
        """Return the training layer of a float one, with the same parameters."""
    reads_floats: _b.bool
    def reset_running_stats(self) -> None: ...
    def to_float(self) -> _t.Any:
        """Return the float layer with the batch norm folded in, before rounding, followed by a ReLU if there is one."""
    def train(self, mode: _b.bool = True) -> _t.Self:
        """Switch training mode; a frozen batch norm keeps its mode."""
    def update_bn_stats(self) -> _t.Self:
        """Update the running statistics from now on."""

class LinearReLU(_Linear_):
    """Linear layer with a rounded weight, and a ReLU."""
    def forward(self, input: _Tensor) -> _Tensor: ...

def freeze_bn_stats(mod: _t.Any) -> None:
    """Make a layer with a batch norm keep its running statistics."""
def update_bn_stats(mod: _t.Any) -> None:
    """Make a layer with a batch norm update its running statistics."""
