"""`ingot.ao.nn.quantized`: layers that read bytes of calibrated steps, and sum whole numbers."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import collections.abc as _c
import typing as _t
from ingot import Tensor as _Tensor
from ingot.nn import Module as _Module
from ingot.nn.quantized import dynamic as dynamic

class Conv1d(_Module):
    """Int8 convolution over (N, C, L)."""
    limits: _t.Any
    scale: _t.Any
    zero_point: _t.Any
    def forward(self, input: _Tensor) -> _Tensor: ...
    @_b.classmethod
    def from_float(cls, mod: _t.Any, steps: _Steps | None = None) -> _t.Any:
        """Return the int8 layer of a float one, or of one trained with rounded weights. Input steps come from its
        `input_observer`, or from `steps`."""
    def get_extra_state(self) -> _b.dict[_t.Any, _t.Any]: ...
    def set_extra_state(self, state: _t.Any) -> None:
        """Restore the state that is in no tensor."""

class Conv2d(_Module):
    """Int8 convolution over (N, C, H, W)."""
    limits: _t.Any
    scale: _t.Any
    zero_point: _t.Any
    def forward(self, input: _Tensor) -> _Tensor: ...
    @_b.classmethod
    def from_float(cls, mod: _t.Any, steps: _Steps | None = None) -> _t.Any:
        """Return the int8 layer of a float one, or of one trained with rounded weights. Input steps come from its
        `input_observer`, or from `steps`."""
    def get_extra_state(self) -> _b.dict[_t.Any, _t.Any]: ...
    def set_extra_state(self, state: _t.Any) -> None:
        """Restore the state that is in no tensor."""

class DeQuantize(Quantize):
    """Marker of where bytes become floats in PyTorch."""

class Embedding(_Module):
    """Lookup of byte rows, converted to float32."""
    embedding_dim: _b.int
    num_embeddings: _b.int
    scale: _Tensor
    weight_bytes: _Tensor
    zero_point: _Tensor
    def __init__(self, num_embeddings: _b.int, embedding_dim: _b.int) -> None: ...
    def extra_repr(self) -> _b.str: ...
    def forward(self, input: _Tensor) -> _Tensor: ...
    @_b.classmethod
    def from_float(cls, mod: _t.Any) -> _t.Any:
        """Return the byte table of a float one, or of one trained with rounded rows, by its steps."""
    def weight(self) -> _t.Any:
        """Return the table in float32."""

class FloatFunctional(_Module):
    """Functions of two tensors as methods, for models to be quantised; they stay in floats."""
    def add(self, x: _t.Any, y: _t.Any) -> _t.Any: ...
    def add_relu(self, x: _t.Any, y: _t.Any) -> _t.Any:
        """Return the positive part of x + y."""
    def add_scalar(self, x: _t.Any, y: _t.Any) -> _t.Any: ...
    def cat(self, x: _t.Any, dim: _b.int | _c.Sequence[_b.int] = 0) -> _t.Any:
        """Join tensors along a dim."""
    def forward(self, x: _t.Any) -> _Tensor: ...
    def matmul(self, x: _t.Any, y: _t.Any) -> _t.Any: ...
    def mul(self, x: _t.Any, y: _t.Any) -> _t.Any: ...
    def mul_scalar(self, x: _t.Any, y: _t.Any) -> _t.Any: ...

class Linear(_Module):
    """Int8 linear layer y = x @ weight.T + bias."""
    limits: _t.Any
    scale: _t.Any
    zero_point: _t.Any
    def forward(self, input: _Tensor) -> _Tensor: ...
    @_b.classmethod
    def from_float(cls, mod: _t.Any, steps: _Steps | None = None) -> _t.Any:
        """Return the int8 layer of a float one, or of one trained with rounded weights. Input steps come from its
        `input_observer`, or from `steps`."""
    def get_extra_state(self) -> _b.dict[_t.Any, _t.Any]: ...
    def set_extra_state(self, state: _t.Any) -> None:
        """Restore the state that is in no tensor."""

class QFunctional(FloatFunctional):
    """FloatFunctional of converted models."""

class Quantize(_Module):
    """Marker of where inputs become bytes in PyTorch. Layers convert by themselves here."""
    def forward(self, x: _t.Any) -> _Tensor: ...

class _Steps(_t.NamedTuple):
    """The quantisation of bytes: (byte - zero) * scale."""
    scale: _b.float
    zero: _b.int
