"""`ingot.ao.nn.qat`: layers that train with rounded weights."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import collections.abc as _c
import typing as _t
import numpy as _np
from ingot import Tensor as _Tensor
from ingot import device as _device
from ingot import dtype as _dtype
from ingot.nn import Conv1d as _Conv1d
from ingot.nn import Conv2d as _Conv2d
from ingot.nn import Conv3d as _Conv3d
from ingot.nn import Embedding as _Embedding
from ingot.nn import EmbeddingBag as _EmbeddingBag
from ingot.nn import Linear as _Linear
from ingot.nn import Parameter as _Parameter

class Conv1d(_Conv1d):
    """Convolution over (N, C, L) with a rounded weight."""
    bias: _t.Any
    qconfig: _t.Any
    weight: _t.Any
    weight_fake_quant: _t.Any
    def __init__(self, in_channels: _b.int, out_channels: _b.int,
                 kernel_size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
                 stride: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 1,
                 padding: _b.str | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 0,
                 dilation: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 1, groups: _b.int = 1,
                 bias: _b.bool = True, padding_mode: _b.str = 'zeros', qconfig: _t.Any = None,
                 device: _device | _b.str | _b.int | None = None,
                 dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None) -> None: ...
    def folded(self) -> _b.tuple[_t.Any, ...]:
        """Return (weight, bias) of evaluation mode, with the weight rounded."""
    def forward(self, input: _Tensor) -> _Tensor: ...
    @_b.classmethod
    def from_float(cls, mod: _t.Any, use_precomputed_fake_quant: _b.bool = False) -> _t.Any:
        """Return the training layer of a float one, with the same parameters."""
    rank: _b.int
    reads_floats: _b.bool
    def to_float(self) -> _t.Any:
        """Return the float layer with the trained weights, before rounding."""

class Conv2d(_Conv2d):
    """Convolution over (N, C, H, W) with a rounded weight."""
    bias: _t.Any
    qconfig: _t.Any
    weight: _t.Any
    weight_fake_quant: _t.Any
    def __init__(self, in_channels: _b.int, out_channels: _b.int,
                 kernel_size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
                 stride: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 1,
                 padding: _b.str | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 0,
                 dilation: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 1, groups: _b.int = 1,
                 bias: _b.bool = True, padding_mode: _b.str = 'zeros', qconfig: _t.Any = None,
                 device: _device | _b.str | _b.int | None = None,
                 dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None) -> None: ...
    def folded(self) -> _b.tuple[_t.Any, ...]:
        """Return (weight, bias) of evaluation mode, with the weight rounded."""
    def forward(self, input: _Tensor) -> _Tensor: ...
    @_b.classmethod
    def from_float(cls, mod: _t.Any, use_precomputed_fake_quant: _b.bool = False) -> _t.Any:
        """Return the training layer of a float one, with the same parameters."""
    rank: _b.int
    reads_floats: _b.bool
    def to_float(self) -> _t.Any:
        """Return the float layer with the trained weights, before rounding."""

class Conv3d(_Conv3d):
    """Convolution over (N, C, D, H, W) with a rounded weight."""
    bias: _t.Any
    qconfig: _t.Any
    weight: _t.Any
    weight_fake_quant: _t.Any
    def __init__(self, in_channels: _b.int, out_channels: _b.int,
                 kernel_size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
                 stride: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 1,
                 padding: _b.str | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 0,
                 dilation: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 1, groups: _b.int = 1,
                 bias: _b.bool = True, padding_mode: _b.str = 'zeros', qconfig: _t.Any = None,
                 device: _device | _b.str | _b.int | None = None,
                 dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None) -> None: ...
    def folded(self) -> _b.tuple[_t.Any, ...]:
        """Return (weight, bias) of evaluation mode, with the weight rounded."""
    def forward(self, input: _Tensor) -> _Tensor: ...
    @_b.classmethod
    def from_float(cls, mod: _t.Any, use_precomputed_fake_quant: _b.bool = False) -> _t.Any:
        """Return the training layer of a float one, with the same parameters."""
    rank: _b.int
    reads_floats: _b.bool
    def to_float(self) -> _t.Any:
        """Return the float layer with the trained weights, before rounding."""

class Embedding(_Embedding):
    """Lookup of rows of a rounded table."""
    bias: _t.Any
    qconfig: _t.Any
    weight: _t.Any
    weight_fake_quant: _t.Any
    def __init__(self, num_embeddings: _b.int, embedding_dim: _b.int, *args: _t.Any, qconfig: _t.Any = None,
                 **options: _t.Any) -> None: ...
    def folded(self) -> _b.tuple[_t.Any, ...]:
        """Return (weight, bias) of evaluation mode, with the weight rounded."""
    def forward(self, input: _Tensor) -> _Tensor: ...
    @_b.classmethod
    def from_float(cls, mod: _t.Any, use_precomputed_fake_quant: _b.bool = False) -> _t.Any:
        """Return the training layer of a float one, with the same parameters."""
    reads_floats: _b.bool
    def to_float(self) -> _t.Any:
        """Return the float layer with the trained weights, before rounding."""

class EmbeddingBag(_EmbeddingBag):
    """Sums of rows of a rounded table."""
    bias: _t.Any
    qconfig: _t.Any
    weight: _t.Any
    weight_fake_quant: _t.Any
    def __init__(self, num_embeddings: _b.int, embedding_dim: _b.int, *args: _t.Any, qconfig: _t.Any = None,
                 **options: _t.Any) -> None: ...
    def folded(self) -> _b.tuple[_t.Any, ...]:
        """Return (weight, bias) of evaluation mode, with the weight rounded."""
    def forward(self, input: _Tensor, offsets: _Tensor | None = None, per_sample_weights: _Tensor | None = None) -> _Tensor: ...
    @_b.classmethod
    def from_float(cls, mod: _t.Any, use_precomputed_fake_quant: _b.bool = False) -> _t.Any:
        """Return the training layer of a float one, with the same parameters."""
    reads_floats: _b.bool
    def to_float(self) -> _t.Any:
        """Return the float layer with the trained weights, before rounding."""

class Linear(_Linear):
    """Linear layer y = x @ w.T + bias, where w is the rounded weight."""
    bias: _t.Any
    qconfig: _t.Any
    weight: _t.Any
    weight_fake_quant: _t.Any
    def __init__(self, in_features: _b.int, out_features: _b.int, bias: _b.bool = True, qconfig: _t.Any = None,
                 device: _device | _b.str | _b.int | None = None,
                 dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None) -> None: ...
    def folded(self) -> _b.tuple[_t.Any, ...]:
        """Return (weight, bias) of evaluation mode, with the weight rounded."""
    def forward(self, input: _Tensor) -> _Tensor: ...
    @_b.classmethod
    def from_float(cls, mod: _t.Any, use_precomputed_fake_quant: _b.bool = False) -> _t.Any:
        """Return the training layer of a float one, with the same parameters."""
    reads_floats: _b.bool
    def to_float(self) -> _t.Any:
        """Return the float layer with the trained weights, before rounding."""
