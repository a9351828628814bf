"""`ingot.ao.nn.intrinsic.quantized`: int8 layers followed by a ReLU."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot import Tensor as _Tensor
from ingot.nn.quantized import Conv1d as _Conv1d
from ingot.nn.quantized import Conv2d as _Conv2d
from ingot.nn.quantized import Linear as _Linear

class ConvReLU1d(_Conv1d):
    """Int8 convolution over (N, C, L), and a ReLU."""
    def forward(self, input: _Tensor) -> _Tensor: ...

class ConvReLU2d(_Conv2d):
    """Int8 convolution over (N, C, H, W), and a ReLU."""
    def forward(self, input: _Tensor) -> _Tensor: ...

class LinearReLU(_Linear):
    """Int8 linear layer, and a ReLU."""
    def forward(self, input: _Tensor) -> _Tensor: ...
