"""`ingot.nn`: modules, their functions, and tools for them."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import collections.abc as _c
import typing as _t
import numpy as _np
from ingot import Tensor as _Tensor
from ingot import device as _device
from ingot import dtype as _dtype
from ingot.nn import attention as attention
from ingot.nn import common_types as common_types
from ingot.nn import functional as functional
from ingot.nn import grad as grad
from ingot.nn import init as init
from ingot.nn import intrinsic as intrinsic
from ingot.nn import modules as modules
from ingot.nn import parallel as parallel
from ingot.nn import parameter as parameter
from ingot.nn import qat as qat
from ingot.nn import quantized as quantized
from ingot.nn import utils as utils
from ingot.nn.modules import LazyModuleMixin as _LazyModuleMixin
from ingot.nn.modules import NonDynamicallyQuantizableLinear as _NonDynamicallyQuantizableLinear
from ingot.nn.parameter import Owned as _Owned
from ingot.nn.parameter import UninitializedTensorMixin as _UninitializedTensorMixin
from ingot.utils.hooks import RemovableHandle as _RemovableHandle

from ingot import Tensor as _Tensor
_P = _t.ParamSpec("_P")
_R = _t.TypeVar("_R", covariant=True)
_M = _t.TypeVar("_M", bound="Module")
class _HasForward(_t.Protocol[_P, _R]):
    @_b.property
    def forward(self) -> _c.Callable[_P, _R]: ...

class AdaptiveAvgPool1d(Module):
    """The mean of each of `output_size` even bins of (N, C, L)."""
    output_size: _b.int | _c.Sequence[_b.int | None]
    def __init__(self, output_size: _b.int | _c.Sequence[_b.int | None]) -> None: ...
    def forward(self, input: _Tensor) -> _Tensor: ...
    function: _b.str
    rank: _b.int

class AdaptiveAvgPool2d(Module):
    """The mean of each of `output_size` even bins of (N, C, H, W)."""
    output_size: _b.int | _c.Sequence[_b.int | None]
    def __init__(self, output_size: _b.int | _c.Sequence[_b.int | None]) -> None: ...
    def forward(self, input: _Tensor) -> _Tensor: ...
    function: _b.str
    rank: _b.int

class AdaptiveAvgPool3d(Module):
    """The mean of each of `output_size` even bins of (N, C, D, H, W)."""
    output_size: _b.int | _c.Sequence[_b.int | None]
    def __init__(self, output_size: _b.int | _c.Sequence[_b.int | None]) -> None: ...
    def forward(self, input: _Tensor) -> _Tensor: ...
    function: _b.str
    rank: _b.int

class AdaptiveLogSoftmaxWithLoss(Module):
    """Log probabilities of classes sorted from frequent to rare and cut at `cutoffs`. The head holds the first part and an
    entry for each cluster; clusters are tails of decreasing size."""
    cutoffs: _b.list[_t.Any]
    div_value: _b.float
    head: _t.Any
    head_bias: _b.bool
    head_size: _t.Any
    in_features: _b.int
    n_classes: _t.Any
    n_clusters: _b.int
    shortlist_size: _t.Any
    tail: _t.Any
    def __init__(self, in_features: _b.int, n_classes: _t.Any, cutoffs: _t.Any, div_value: _b.float = 4.0,
                 head_bias: _b.bool = False, device: _device | _b.str | _b.int | None = None,
                 dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None) -> None: ...
    def log_prob(self, input: _Tensor) -> _t.Any:
        """Return log probabilities of all classes."""
    def predict(self, input: _Tensor) -> _t.Any:
        """Return the most likely class of each row; a tail is computed only where the head chooses its cluster."""
    def reset_parameters(self) -> None:
        """Initialise head and tails."""
    def forward(self, input: _Tensor, target: _Tensor) -> _t.Any: ...

class AdaptiveMaxPool1d(Module):
    """The largest element of each of `output_size` even bins of (N, C, L)."""
    output_size: _b.int | _c.Sequence[_b.int | None]
    return_indices: _b.bool
    def __init__(self, output_size: _b.int | _c.Sequence[_b.int | None], return_indices: _b.bool = False) -> None: ...
    def forward(self, input: _Tensor) -> _Tensor: ...
    function: _b.str
    rank: _b.int

class AdaptiveMaxPool2d(Module):
    """The largest element of each of `output_size` even bins of (N, C, H, W)."""
    output_size: _b.int | _c.Sequence[_b.int | None]
    return_indices: _b.bool
    def __init__(self, output_size: _b.int | _c.Sequence[_b.int | None], return_indices: _b.bool = False) -> None: ...
    def forward(self, input: _Tensor) -> _Tensor: ...
    function: _b.str
    rank: _b.int

class AdaptiveMaxPool3d(Module):
    """The largest element of each of `output_size` even bins of (N, C, D, H, W)."""
    output_size: _b.int | _c.Sequence[_b.int | None]
    return_indices: _b.bool
    def __init__(self, output_size: _b.int | _c.Sequence[_b.int | None], return_indices: _b.bool = False) -> None: ...
    def forward(self, input: _Tensor) -> _Tensor: ...
    function: _b.str
    rank: _b.int

class AlphaDropout(Module):
    """Dropout that keeps the mean and variance of selu activations."""
    inplace: _b.bool
    p: _b.float
    def __init__(self, p: _b.float = 0.5, inplace: _b.bool = False) -> None: ...
    def forward(self, input: _Tensor) -> _Tensor: ...

class AvgPool1d(Module):
    """The mean of each window of (N, C, L)."""
    ceil_mode: _b.bool
    count_include_pad: _b.bool
    kernel_size: _t.Any
    padding: _t.Any
    stride: _t.Any
    def __init__(self, kernel_size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
                 stride: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] | None = None,
                 padding: _b.str | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 0, ceil_mode: _b.bool = False,
                 count_include_pad: _b.bool = True) -> None: ...
    def forward(self, input: _Tensor) -> _Tensor: ...
    function: _b.str
    rank: _b.int

class AvgPool2d(Module):
    """The mean of each window of (N, C, H, W)."""
    ceil_mode: _b.bool
    count_include_pad: _b.bool
    divisor_override: _t.Any
    kernel_size: _b.int | _c.Sequence[_b.int]
    padding: _b.str | _b.int | _c.Sequence[_b.int]
    stride: _t.Any
    def __init__(self, kernel_size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
                 stride: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] | None = None,
                 padding: _b.str | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 0, ceil_mode: _b.bool = False,
                 count_include_pad: _b.bool = True, divisor_override: _t.Any = None) -> None: ...
    def forward(self, input: _Tensor) -> _Tensor: ...
    function: _b.str
    rank: _b.int

class AvgPool3d(Module):
    """The mean of each window of (N, C, D, H, W)."""
    ceil_mode: _b.bool
    count_include_pad: _b.bool
    divisor_override: _t.Any
    kernel_size: _b.int | _c.Sequence[_b.int]
    padding: _b.str | _b.int | _c.Sequence[_b.int]
    stride: _t.Any
    def __init__(self, kernel_size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
                 stride: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] | None = None,
                 padding: _b.str | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 0, ceil_mode: _b.bool = False,
                 count_include_pad: _b.bool = True, divisor_override: _t.Any = None) -> None: ...
    def forward(self, input: _Tensor) -> _Tensor: ...
    function: _b.str
    rank: _b.int

class BCELoss(Module):
    """The binary cross entropy of probabilities: -(target * log(input) + (1 - target) * log(1 - input))."""
    def __init__(self, weight: _t.Any = None, size_average: _b.bool | None = None, reduce: _t.Any = None,
                 reduction: _b.str = 'mean') -> None: ...
    def forward(self, input: _Tensor, target: _Tensor) -> _Tensor: ...

class BCEWithLogitsLoss(Module):
    """The binary cross entropy of sigmoid(input), computed from scores (logits) without overflow."""
    def __init__(self, weight: _t.Any = None, size_average: _b.bool | None = None, reduce: _t.Any = None,
                 reduction: _b.str = 'mean', pos_weight: _t.Any = None) -> None: ...
    def forward(self, input: _Tensor, target: _Tensor) -> _Tensor: ...

class BatchNorm1d(Module):
    """Normalisation of each channel of (N, C) or (N, C, L) over the batch."""
    affine: _t.Any
    eps: _t.Any
    momentum: _b.float
    ndims: _b.tuple[_t.Any, ...]
    num_batches_tracked: _Tensor
    num_features: _b.int
    running_mean: _Tensor
    running_var: _Tensor
    track_running_stats: _t.Any
    def __init__(self, num_features: _b.int, eps: _b.float = 1e-05, momentum: _b.float = 0.1, affine: _b.bool = True,
                 track_running_stats: _b.bool = True, device: _device | _b.str | _b.int | None = None,
                 dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None, bias: _b.bool = True) -> None: ...
    def forward(self, input: _Tensor) -> _Tensor: ...
    def reset_parameters(self) -> None: ...
    def reset_running_stats(self) -> None: ...

class BatchNorm2d(Module):
    """Normalisation of each channel of (N, C, H, W) over the batch."""
    affine: _t.Any
    eps: _t.Any
    momentum: _b.float
    ndims: _b.tuple[_t.Any, ...]
    num_batches_tracked: _Tensor
    num_features: _b.int
    running_mean: _Tensor
    running_var: _Tensor
    track_running_stats: _t.Any
    def __init__(self, num_features: _b.int, eps: _b.float = 1e-05, momentum: _b.float = 0.1, affine: _b.bool = True,
                 track_running_stats: _b.bool = True, device: _device | _b.str | _b.int | None = None,
                 dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None, bias: _b.bool = True) -> None: ...
    def forward(self, input: _Tensor) -> _Tensor: ...
    def reset_parameters(self) -> None: ...
    def reset_running_stats(self) -> None: ...

class BatchNorm3d(Module):
    """Normalisation of each channel of (N, C, D, H, W) over the batch."""
    affine: _t.Any
    eps: _t.Any
    momentum: _b.float
    ndims: _b.tuple[_t.Any, ...]
    num_batches_tracked: _Tensor
    num_features: _b.int
    running_mean: _Tensor
    running_var: _Tensor
    track_running_stats: _t.Any
    def __init__(self, num_features: _b.int, eps: _b.float = 1e-05, momentum: _b.float = 0.1, affine: _b.bool = True,
                 track_running_stats: _b.bool = True, device: _device | _b.str | _b.int | None = None,
                 dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None, bias: _b.bool = True) -> None: ...
    def forward(self, input: _Tensor) -> _Tensor: ...
    def reset_parameters(self) -> None: ...
    def reset_running_stats(self) -> None: ...

class Bilinear(Module):
    """The map y_o = x1 @ weight[o] @ x2 + bias_o."""
    bias: Parameter
    in1_features: _b.int
    in2_features: _b.int
    out_features: _b.int
    weight: Parameter
    def __init__(self, in1_features: _b.int, in2_features: _b.int, out_features: _b.int, bias: _b.bool = True,
                 device: _device | _b.str | _b.int | None = None,
                 dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None) -> None: ...
    def forward(self, input1: _Tensor, input2: _Tensor) -> _Tensor: ...
    def reset_parameters(self) -> None:
        """Initialise uniformly in +-1/sqrt(in1_features)."""

class Buffer(_Owned):
    """A tensor that a module registers as a buffer on assignment."""
    persistent: _b.bool

class CELU(Module):
    """Return max(0, x) + min(0, alpha * (exp(x / alpha) - 1))."""
    def __init__(self, alpha: _b.float = 1.0, inplace: _b.bool = False) -> None: ...
    def extra_repr(self) -> _t.Any: ...
    def forward(self, input: _Tensor) -> _Tensor: ...

class CTCLoss(Module):
    """Return the connectionist temporal classification loss: log_probs (T, N, C) or (T, C), targets padded (N, S) or
    concatenated."""
    def __init__(self, blank: _t.Any = 0, reduction: _b.str = 'mean', zero_infinity: _b.bool = False) -> None: ...
    def forward(self, log_probs: _Tensor, targets: _Tensor, input_lengths: _t.Any, target_lengths: _t.Any) -> _Tensor: ...

class ChannelShuffle(Module):
    """An interleaving of the channels of `groups` groups."""
    groups: _b.int
    def __init__(self, groups: _b.int) -> None: ...
    def forward(self, input: _Tensor) -> _Tensor: ...

class CircularPad1d(Module):
    """The other side around the last 1 dim."""
    padding: _t.Any
    value: _b.float | None
    def __init__(self, padding: _b.str | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex]) -> None: ...
    def forward(self, input: _Tensor) -> _Tensor: ...
    mode: _b.str
    rank: _b.int

class CircularPad2d(Module):
    """The other side around the last 2 dims."""
    padding: _t.Any
    value: _b.float | None
    def __init__(self, padding: _b.str | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex]) -> None: ...
    def forward(self, input: _Tensor) -> _Tensor: ...
    mode: _b.str
    rank: _b.int

class CircularPad3d(Module):
    """The other side around the last 3 dims."""
    padding: _t.Any
    value: _b.float | None
    def __init__(self, padding: _b.str | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex]) -> None: ...
    def forward(self, input: _Tensor) -> _Tensor: ...
    mode: _b.str
    rank: _b.int

class ConstantPad1d(Module):
    """A constant around the last 1 dim."""
    padding: _t.Any
    value: _Tensor | _b.complex
    def __init__(self, padding: _b.str | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex], value: _Tensor | _b.complex) -> None: ...
    def forward(self, input: _Tensor) -> _Tensor: ...
    mode: _b.str
    rank: _b.int

class ConstantPad2d(Module):
    """A constant around the last 2 dims."""
    padding: _t.Any
    value: _Tensor | _b.complex
    def __init__(self, padding: _b.str | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex], value: _Tensor | _b.complex) -> None: ...
    def forward(self, input: _Tensor) -> _Tensor: ...
    mode: _b.str
    rank: _b.int

class ConstantPad3d(Module):
    """A constant around the last 3 dims."""
    padding: _t.Any
    value: _Tensor | _b.complex
    def __init__(self, padding: _b.str | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex], value: _Tensor | _b.complex) -> None: ...
    def forward(self, input: _Tensor) -> _Tensor: ...
    mode: _b.str
    rank: _b.int

class Conv1d(Module):
    """Convolution over (N, C, L)."""
    bias: Parameter
    dilation: _t.Any
    groups: _b.int
    in_channels: _b.int
    kernel_size: _t.Any
    out_channels: _b.int
    output_padding: _t.Any
    padding: _t.Any
    padding_mode: _b.str
    stride: _t.Any
    weight: Parameter
    def __init__(self, in_channels: _b.int, out_channels: _b.int,
                 kernel_size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
                 stride: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 1,
                 padding: _b.str | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 0,
                 dilation: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 1, groups: _b.int = 1,
                 bias: _b.bool = True, padding_mode: _b.str = 'zeros',
                 device: _device | _b.str | _b.int | None = None,
                 dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None) -> None: ...
    def extra_repr(self) -> _t.Any: ...
    def forward(self, input: _Tensor) -> _Tensor: ...
    rank: _b.int
    def reset_parameters(self) -> None:
        """Initialise uniformly in +-1/sqrt(weights per output)."""
    transposed: _b.bool

class Conv2d(Module):
    """Convolution over (N, C, H, W)."""
    bias: Parameter
    dilation: _t.Any
    groups: _b.int
    in_channels: _b.int
    kernel_size: _t.Any
    out_channels: _b.int
    output_padding: _t.Any
    padding: _t.Any
    padding_mode: _b.str
    stride: _t.Any
    weight: Parameter
    def __init__(self, in_channels: _b.int, out_channels: _b.int,
                 kernel_size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
                 stride: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 1,
                 padding: _b.str | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 0,
                 dilation: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 1, groups: _b.int = 1,
                 bias: _b.bool = True, padding_mode: _b.str = 'zeros',
                 device: _device | _b.str | _b.int | None = None,
                 dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None) -> None: ...
    def extra_repr(self) -> _t.Any: ...
    def forward(self, input: _Tensor) -> _Tensor: ...
    rank: _b.int
    def reset_parameters(self) -> None:
        """Initialise uniformly in +-1/sqrt(weights per output)."""
    transposed: _b.bool

class Conv3d(Module):
    """Convolution over (N, C, D, H, W)."""
    bias: Parameter
    dilation: _t.Any
    groups: _b.int
    in_channels: _b.int
    kernel_size: _t.Any
    out_channels: _b.int
    output_padding: _t.Any
    padding: _t.Any
    padding_mode: _b.str
    stride: _t.Any
    weight: Parameter
    def __init__(self, in_channels: _b.int, out_channels: _b.int,
                 kernel_size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
                 stride: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 1,
                 padding: _b.str | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 0,
                 dilation: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 1, groups: _b.int = 1,
                 bias: _b.bool = True, padding_mode: _b.str = 'zeros',
                 device: _device | _b.str | _b.int | None = None,
                 dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None) -> None: ...
    def extra_repr(self) -> _t.Any: ...
    def forward(self, input: _Tensor) -> _Tensor: ...
    rank: _b.int
    def reset_parameters(self) -> None:
        """Initialise uniformly in +-1/sqrt(weights per output)."""
    transposed: _b.bool

class ConvTranspose1d(Module):
    """Transposed convolution over (N, C, L)."""
    bias: Parameter
    dilation: _t.Any
    groups: _b.int
    in_channels: _b.int
    kernel_size: _t.Any
    out_channels: _b.int
    output_padding: _t.Any
    padding: _t.Any
    padding_mode: _b.str
    stride: _t.Any
    weight: Parameter
    def __init__(self, in_channels: _b.int, out_channels: _b.int,
                 kernel_size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
                 stride: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 1,
                 padding: _b.str | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 0,
                 output_padding: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 0, groups: _b.int = 1,
                 bias: _b.bool = True, dilation: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 1,
                 padding_mode: _b.str = 'zeros', device: _device | _b.str | _b.int | None = None,
                 dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None) -> None: ...
    def extra_repr(self) -> _t.Any: ...
    def forward(self, input: _Tensor, output_size: _b.int | _c.Sequence[_b.int | None] | None = None) -> _Tensor: ...
    rank: _b.int
    def reset_parameters(self) -> None:
        """Initialise uniformly in +-1/sqrt(weights per output)."""
    transposed: _b.bool

class ConvTranspose2d(Module):
    """Transposed convolution over (N, C, H, W)."""
    bias: Parameter
    dilation: _t.Any
    groups: _b.int
    in_channels: _b.int
    kernel_size: _t.Any
    out_channels: _b.int
    output_padding: _t.Any
    padding: _t.Any
    padding_mode: _b.str
    stride: _t.Any
    weight: Parameter
    def __init__(self, in_channels: _b.int, out_channels: _b.int,
                 kernel_size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
                 stride: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 1,
                 padding: _b.str | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 0,
                 output_padding: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 0, groups: _b.int = 1,
                 bias: _b.bool = True, dilation: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 1,
                 padding_mode: _b.str = 'zeros', device: _device | _b.str | _b.int | None = None,
                 dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None) -> None: ...
    def extra_repr(self) -> _t.Any: ...
    def forward(self, input: _Tensor, output_size: _b.int | _c.Sequence[_b.int | None] | None = None) -> _Tensor: ...
    rank: _b.int
    def reset_parameters(self) -> None:
        """Initialise uniformly in +-1/sqrt(weights per output)."""
    transposed: _b.bool

class ConvTranspose3d(Module):
    """Transposed convolution over (N, C, D, H, W)."""
    bias: Parameter
    dilation: _t.Any
    groups: _b.int
    in_channels: _b.int
    kernel_size: _t.Any
    out_channels: _b.int
    output_padding: _t.Any
    padding: _t.Any
    padding_mode: _b.str
    stride: _t.Any
    weight: Parameter
    def __init__(self, in_channels: _b.int, out_channels: _b.int,
                 kernel_size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
                 stride: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 1,
                 padding: _b.str | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 0,
                 output_padding: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 0, groups: _b.int = 1,
                 bias: _b.bool = True, dilation: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 1,
                 padding_mode: _b.str = 'zeros', device: _device | _b.str | _b.int | None = None,
                 dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None) -> None: ...
    def extra_repr(self) -> _t.Any: ...
    def forward(self, input: _Tensor, output_size: _b.int | _c.Sequence[_b.int | None] | None = None) -> _Tensor: ...
    rank: _b.int
    def reset_parameters(self) -> None:
        """Initialise uniformly in +-1/sqrt(weights per output)."""
    transposed: _b.bool

class CosineEmbeddingLoss(Module):
    """Return 1 - cos where the target is 1, max(0, cos - margin) where it is -1."""
    def __init__(self, margin: _b.float = 0.0, size_average: _b.bool | None = None, reduce: _t.Any = None,
                 reduction: _b.str = 'mean') -> None: ...
    def forward(self, input1: _Tensor, input2: _Tensor, target: _Tensor) -> _Tensor: ...

class CosineSimilarity(Module):
    """The cosine of the angle between two tensors along a dimension."""
    dim: _b.int | _c.Sequence[_b.int]
    eps: _b.float
    def __init__(self, dim: _b.int | _c.Sequence[_b.int] = 1, eps: _b.float = 1e-08, *,
                 axis: _b.int | _c.Sequence[_b.int] = 1) -> None: ...
    def forward(self, x1: _Tensor, x2: _Tensor) -> _Tensor: ...

class CrossEntropyLoss(Module):
    """The cross entropy of scores (logits) and classes."""
    def __init__(self, weight: _t.Any = None, size_average: _b.bool | None = None, ignore_index: _b.int = -100,
                 reduce: _t.Any = None, reduction: _b.str = 'mean', label_smoothing: _b.float = 0.0) -> None: ...
    def forward(self, input: _Tensor, target: _Tensor) -> _Tensor: ...

class CrossMapLRN2d(LocalResponseNorm):
    """LocalResponseNorm for (N, C, H, W), under an older name."""
    def __init__(self, size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex], alpha: _Tensor | _b.complex = 0.0001,
                 beta: _Tensor | _b.complex = 0.75, k: _b.int = 1) -> None: ...

class DataParallel(Module):
    """A module that calls replicas on pieces of the batch, one per entry of `device_ids` (default all GPUs)."""
    device_ids: _b.list[_t.Any]
    dim: _t.Any
    module: _t.Any
    output_device: _t.Any
    src_device_obj: _t.Any
    def __init__(self, module: _t.Any, device_ids: _t.Any = None, output_device: _t.Any = None, dim: _t.Any = 0) -> None: ...
    def forward(self, *inputs: _t.Any, **kwargs: _t.Any) -> _Tensor: ...
    def gather(self, outputs: _t.Any, output_device: _t.Any) -> _t.Any: ...
    def parallel_apply(self, replicas: _t.Any, inputs: _t.Any, kwargs: _t.Any) -> _b.list[_t.Any]: ...
    def replicate(self, module: _t.Any, device_ids: _t.Any) -> _b.list[_t.Any]: ...
    def scatter(self, inputs: _t.Any, kwargs: _t.Any, device_ids: _t.Any) -> _b.tuple[_t.Any, ...]: ...

class Dropout(Module):
    """Dropout of elements with probability p."""
    inplace: _b.bool
    p: _b.float
    def __init__(self, p: _b.float = 0.5, inplace: _b.bool = False) -> None: ...
    def forward(self, input: _Tensor) -> _Tensor: ...

class Dropout1d(Module):
    """Dropout of whole channels of (N, C, L) or (C, L)."""
    inplace: _b.bool
    p: _b.float
    def __init__(self, p: _b.float = 0.5, inplace: _b.bool = False) -> None: ...
    def forward(self, input: _Tensor) -> _Tensor: ...

class Dropout2d(Module):
    """Dropout of whole channels of (N, C, H, W) or (C, H, W)."""
    inplace: _b.bool
    p: _b.float
    def __init__(self, p: _b.float = 0.5, inplace: _b.bool = False) -> None: ...
    def forward(self, input: _Tensor) -> _Tensor: ...

class Dropout3d(Module):
    """Dropout of whole channels of (N, C, D, H, W) or (C, D, H, W)."""
    inplace: _b.bool
    p: _b.float
    def __init__(self, p: _b.float = 0.5, inplace: _b.bool = False) -> None: ...
    def forward(self, input: _Tensor) -> _Tensor: ...

class ELU(Module):
    """Return x above 0, alpha * (exp(x) - 1) below."""
    def __init__(self, alpha: _b.float = 1.0, inplace: _b.bool = False) -> None: ...
    def extra_repr(self) -> _t.Any: ...
    def forward(self, input: _Tensor) -> _Tensor: ...

class Embedding(Module):
    """A table of rows, looked up by index."""
    embedding_dim: _b.int
    max_norm: _b.float
    norm_type: _b.float
    num_embeddings: _b.int
    padding_idx: _t.Any
    scale_grad_by_freq: _b.bool
    sparse: _b.bool
    weight: Parameter
    def __init__(self, num_embeddings: _b.int, embedding_dim: _b.int, padding_idx: _b.int | None = None,
                 max_norm: _b.float | None = None, norm_type: _b.float = 2.0, scale_grad_by_freq: _b.bool = False,
                 sparse: _b.bool = False, device: _device | _b.str | _b.int | None = None,
                 dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None) -> None: ...
    def extra_repr(self) -> _t.Any: ...
    def forward(self, input: _Tensor) -> _Tensor: ...
    @_b.classmethod
    def from_pretrained(cls, embeddings: _t.Any, freeze: _b.bool = True, padding_idx: _b.int | None = None,
                        max_norm: _b.float | None = None, norm_type: _b.float = 2.0,
                        scale_grad_by_freq: _b.bool = False, sparse: _b.bool = False) -> _t.Any:
        """Return a module with a given table, frozen unless freeze=False."""
    def reset_parameters(self) -> None:
        """Initialise with normal values, and zeros for the padding row."""

class EmbeddingBag(Module):
    """The sum, mean or maximum of the rows of each bag of indices."""
    embedding_dim: _b.int
    include_last_offset: _b.bool
    max_norm: _b.float
    mode: _b.str
    norm_type: _b.float
    num_embeddings: _b.int
    padding_idx: _t.Any
    reset_parameters: _t.Any
    scale_grad_by_freq: _b.bool
    sparse: _b.bool
    weight: Parameter
    def __init__(self, num_embeddings: _b.int, embedding_dim: _b.int, max_norm: _b.float | None = None,
                 norm_type: _b.float = 2.0, scale_grad_by_freq: _b.bool = False, mode: _b.str = 'mean',
                 sparse: _b.bool = False, include_last_offset: _b.bool = False, padding_idx: _b.int | None = None,
                 device: _device | _b.str | _b.int | None = None,
                 dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None) -> None: ...
    def extra_repr(self) -> _b.str: ...
    def forward(self, input: _Tensor, offsets: _Tensor | None = None, per_sample_weights: _Tensor | None = None) -> _Tensor: ...
    @_b.classmethod
    def from_pretrained(cls, embeddings: _t.Any, freeze: _b.bool = True, max_norm: _b.float | None = None,
                        norm_type: _b.float = 2.0, scale_grad_by_freq: _b.bool = False, mode: _b.str = 'mean',
                        sparse: _b.bool = False, include_last_offset: _b.bool = False,
                        padding_idx: _b.int | None = None) -> _t.Any:
        """Return a module with a given table, frozen unless freeze=False."""

class FeatureAlphaDropout(Module):
    """AlphaDropout of whole channels."""
    inplace: _b.bool
    p: _b.float
    def __init__(self, p: _b.float = 0.5, inplace: _b.bool = False) -> None: ...
    def forward(self, input: _Tensor) -> _Tensor: ...

class Flatten(Module):
    """Flatten of the dimensions start_dim to end_dim into one."""
    end_dim: _b.int
    start_dim: _b.int
    def __init__(self, start_dim: _b.int = 1, end_dim: _b.int = -1) -> None: ...
    def forward(self, input: _Tensor) -> _Tensor: ...

class Fold(Module):
    """The adjoint of Unfold: columns added into images."""
    dilation: _b.int | _c.Sequence[_b.int]
    kernel_size: _b.int | _c.Sequence[_b.int]
    output_size: _b.int | _c.Sequence[_b.int | None]
    padding: _b.str | _b.int | _c.Sequence[_b.int]
    stride: _b.int | _c.Sequence[_b.int]
    def __init__(self, output_size: _b.int | _c.Sequence[_b.int | None],
                 kernel_size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
                 dilation: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 1,
                 padding: _b.str | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 0,
                 stride: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 1) -> None: ...
    def forward(self, input: _Tensor) -> _Tensor: ...

class FractionalMaxPool2d(Module):
    """Maxima over windows of (N, C, H, W) at random, non-integer steps."""
    kernel_size: _t.Any
    output_ratio: _t.Any
    output_size: _t.Any
    return_indices: _b.bool
    def __init__(self, kernel_size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
                 output_size: _b.int | _c.Sequence[_b.int | None] | None = None, output_ratio: _t.Any = None,
                 return_indices: _b.bool = False) -> None: ...
    def forward(self, input: _Tensor) -> _Tensor: ...
    function: _b.str
    rank: _b.int

class FractionalMaxPool3d(Module):
    """Maxima over windows of (N, C, D, H, W) at random, non-integer steps."""
    kernel_size: _t.Any
    output_ratio: _t.Any
    output_size: _t.Any
    return_indices: _b.bool
    def __init__(self, kernel_size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
                 output_size: _b.int | _c.Sequence[_b.int | None] | None = None, output_ratio: _t.Any = None,
                 return_indices: _b.bool = False) -> None: ...
    def forward(self, input: _Tensor) -> _Tensor: ...
    function: _b.str
    rank: _b.int

class GELU(Module):
    """x times the normal distribution function."""
    def __init__(self, approximate: _b.str = 'none') -> None: ...
    def extra_repr(self) -> _t.Any: ...
    def forward(self, input: _Tensor) -> _Tensor: ...

class GLU(Module):
    """Return the first half of the input times the sigmoid of the second."""
    def __init__(self, dim: _t.Any = -1) -> None: ...
    def extra_repr(self) -> _t.Any: ...
    def forward(self, input: _Tensor) -> _Tensor: ...

class GRU(RNNBase):
    """Gated recurrent units."""
    def __init__(self, input_size: _b.int, hidden_size: _b.int, num_layers: _b.int = 1, bias: _b.bool = True,
                 batch_first: _b.bool = False, dropout: _b.float = 0.0, bidirectional: _b.bool = False,
                 device: _device | _b.str | _b.int | None = None,
                 dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None) -> None: ...
    def forward(self, input: _t.Any, hx: _Tensor | None = None) -> _b.tuple[_Tensor, _Tensor]:
        """Return (outputs of the last layer, last states); the input is (T, B, size), (T, size), or packed."""

class GRUCell(RNNCellBase):
    """One step of a GRU."""
    def forward(self, input: _Tensor, hx: _t.Any = None) -> _Tensor:
        """Return the next state."""

class GaussianNLLLoss(Module):
    """Return the negative log likelihood of values for a mean and a variance of at least eps."""
    def __init__(self, full: _b.bool = False, eps: _b.float = 1e-06, reduction: _b.str = 'mean') -> None: ...
    def forward(self, input: _Tensor, target: _Tensor, var: _t.Any) -> _Tensor: ...

class GroupNorm(Module):
    """Normalisation of each group of channels of each image."""
    affine: _b.bool
    eps: _b.float
    num_channels: _b.int
    num_groups: _b.int
    def __init__(self, num_groups: _b.int, num_channels: _b.int, eps: _b.float = 1e-05, affine: _b.bool = True,
                 device: _device | _b.str | _b.int | None = None,
                 dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None, bias: _b.bool = True) -> None: ...
    def forward(self, input: _Tensor) -> _Tensor: ...
    def reset_parameters(self) -> None: ...

class Hardshrink(Module):
    """Return 0 where |x| <= lambd, else x."""
    def __init__(self, lambd: _b.float = 0.5) -> None: ...
    def extra_repr(self) -> _t.Any: ...
    def forward(self, input: _Tensor) -> _Tensor: ...

class Hardsigmoid(Module):
    """Return clamp(x + 3, 0, 6) / 6."""
    def __init__(self, inplace: _b.bool = False) -> None: ...
    def extra_repr(self) -> _t.Any: ...
    def forward(self, input: _Tensor) -> _Tensor: ...

class Hardswish(Module):
    """Return x * hardsigmoid(x)."""
    def __init__(self, inplace: _b.bool = False) -> None: ...
    def extra_repr(self) -> _t.Any: ...
    def forward(self, input: _Tensor) -> _Tensor: ...

class Hardtanh(Module):
    """Return x limited to [min_val, max_val]."""
    def __init__(self, min_val: _b.float = -1.0, max_val: _b.float = 1.0, inplace: _b.bool = False) -> None: ...
    def extra_repr(self) -> _t.Any: ...
    def forward(self, input: _Tensor) -> _Tensor: ...

class HingeEmbeddingLoss(Module):
    """Return the input where the target is 1, max(0, margin - input) where it is -1."""
    def __init__(self, margin: _b.float = 1.0, size_average: _b.bool | None = None, reduce: _t.Any = None,
                 reduction: _b.str = 'mean') -> None: ...
    def forward(self, input: _Tensor, target: _Tensor) -> _Tensor: ...

class HuberLoss(Module):
    """A squared loss for differences below delta, delta times the absolute one above."""
    def __init__(self, reduction: _b.str = 'mean', delta: _b.float = 1.0) -> None: ...
    def forward(self, input: _Tensor, target: _Tensor) -> _Tensor: ...

class Identity(Module):
    """The identity. `args` and `kwargs` are ignored: it stands in for any layer, with that layer's arguments."""
    def __init__(self, *args: _t.Any, **kwargs: _t.Any) -> None: ...
    def forward(self, input: _Tensor) -> _Tensor: ...

class InstanceNorm1d(Module):
    """Normalisation of each channel of each (C, L)."""
    affine: _t.Any
    eps: _t.Any
    momentum: _b.float
    ndims: _b.tuple[_t.Any, ...]
    num_batches_tracked: _Tensor
    num_features: _b.int
    running_mean: _Tensor
    running_var: _Tensor
    track_running_stats: _t.Any
    def __init__(self, num_features: _b.int, eps: _b.float = 1e-05, momentum: _b.float = 0.1, affine: _b.bool = False,
                 track_running_stats: _b.bool = False, device: _device | _b.str | _b.int | None = None,
                 dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None, bias: _b.bool = True) -> None: ...
    def forward(self, input: _Tensor) -> _Tensor: ...
    def reset_parameters(self) -> None: ...
    def reset_running_stats(self) -> None: ...

class InstanceNorm2d(Module):
    """Normalisation of each channel of each (C, H, W)."""
    affine: _t.Any
    eps: _t.Any
    momentum: _b.float
    ndims: _b.tuple[_t.Any, ...]
    num_batches_tracked: _Tensor
    num_features: _b.int
    running_mean: _Tensor
    running_var: _Tensor
    track_running_stats: _t.Any
    def __init__(self, num_features: _b.int, eps: _b.float = 1e-05, momentum: _b.float = 0.1, affine: _b.bool = False,
                 track_running_stats: _b.bool = False, device: _device | _b.str | _b.int | None = None,
                 dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None, bias: _b.bool = True) -> None: ...
    def forward(self, input: _Tensor) -> _Tensor: ...
    def reset_parameters(self) -> None: ...
    def reset_running_stats(self) -> None: ...

class InstanceNorm3d(Module):
    """Normalisation of each channel of each (C, D, H, W)."""
    affine: _t.Any
    eps: _t.Any
    momentum: _b.float
    ndims: _b.tuple[_t.Any, ...]
    num_batches_tracked: _Tensor
    num_features: _b.int
    running_mean: _Tensor
    running_var: _Tensor
    track_running_stats: _t.Any
    def __init__(self, num_features: _b.int, eps: _b.float = 1e-05, momentum: _b.float = 0.1, affine: _b.bool = False,
                 track_running_stats: _b.bool = False, device: _device | _b.str | _b.int | None = None,
                 dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None, bias: _b.bool = True) -> None: ...
    def forward(self, input: _Tensor) -> _Tensor: ...
    def reset_parameters(self) -> None: ...
    def reset_running_stats(self) -> None: ...

class KLDivLoss(Module):
    """The Kullback-Leibler divergence: target * (log(target) - input) for log probabilities as input."""
    def __init__(self, size_average: _b.bool | None = None, reduce: _t.Any = None, reduction: _b.str = 'mean',
                 log_target: _b.bool = False) -> None: ...
    def forward(self, input: _Tensor, target: _Tensor) -> _Tensor: ...

class L1Loss(Module):
    """The absolute difference |input - target|."""
    def __init__(self, size_average: _b.bool | None = None, reduce: _t.Any = None, reduction: _b.str = 'mean') -> None: ...
    def forward(self, input: _Tensor, target: _Tensor) -> _Tensor: ...

class LPPool1d(Module):
    """(sum of x ** p) ** (1 / p) over each window of (N, C, L)."""
    ceil_mode: _b.bool
    kernel_size: _b.int | _c.Sequence[_b.int]
    norm_type: _t.Any
    stride: _b.int | _c.Sequence[_b.int]
    def __init__(self, norm_type: _t.Any, kernel_size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
                 stride: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] | None = None, ceil_mode: _b.bool = False) -> None: ...
    def forward(self, input: _Tensor) -> _Tensor: ...
    function: _b.str
    rank: _b.int

class LPPool2d(Module):
    """(sum of x ** p) ** (1 / p) over each window of (N, C, H, W)."""
    ceil_mode: _b.bool
    kernel_size: _b.int | _c.Sequence[_b.int]
    norm_type: _t.Any
    stride: _b.int | _c.Sequence[_b.int]
    def __init__(self, norm_type: _t.Any, kernel_size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
                 stride: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] | None = None, ceil_mode: _b.bool = False) -> None: ...
    def forward(self, input: _Tensor) -> _Tensor: ...
    function: _b.str
    rank: _b.int

class LPPool3d(Module):
    """(sum of x ** p) ** (1 / p) over each window of (N, C, D, H, W)."""
    ceil_mode: _b.bool
    kernel_size: _b.int | _c.Sequence[_b.int]
    norm_type: _t.Any
    stride: _b.int | _c.Sequence[_b.int]
    def __init__(self, norm_type: _t.Any, kernel_size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
                 stride: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] | None = None, ceil_mode: _b.bool = False) -> None: ...
    def forward(self, input: _Tensor) -> _Tensor: ...
    function: _b.str
    rank: _b.int

class LSTM(RNNBase):
    """Long short-term memory; states are (h, c)."""
    def forward(self, input: _t.Any, hx: _b.tuple[_Tensor, _Tensor] | None = None) -> _b.tuple[_Tensor, _b.tuple[_Tensor, _Tensor]]:
        """Return (outputs of the last layer, last states); the input is (T, B, size), (T, size), or packed."""

class LSTMCell(RNNCellBase):
    """One step of an LSTM."""
    def forward(self, input: _Tensor, hx: _b.tuple[_Tensor, _Tensor] | None = None) -> _b.tuple[_Tensor, _Tensor]:
        """Return the next (h, c)."""

class LayerNorm(Module):
    """Normalisation over the last dims, then weight and bias."""
    elementwise_affine: _b.bool
    eps: _b.float
    normalized_shape: _t.Any
    def __init__(self, normalized_shape: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex], eps: _b.float = 1e-05,
                 elementwise_affine: _b.bool = True, bias: _b.bool = True,
                 device: _device | _b.str | _b.int | None = None,
                 dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None) -> None: ...
    def forward(self, input: _Tensor) -> _Tensor: ...
    def reset_parameters(self) -> None: ...

class LazyBatchNorm1d(_LazyModuleMixin, BatchNorm1d):
    """BatchNorm1d that takes num_features from its first input."""
    num_features: _t.Any
    running_mean: _t.Any
    running_var: _t.Any
    def __init__(self, eps: _b.float = 1e-05, momentum: _b.float = 0.1, affine: _b.bool = True,
                 track_running_stats: _b.bool = True, device: _device | _b.str | _b.int | None = None,
                 dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None, bias: _b.bool = True) -> None: ...
    cls_to_become: _t.Any
    def initialize_parameters(self, input: _Tensor) -> None: ...
    ndims: _b.tuple[_t.Any, ...]
    def reset_parameters(self) -> None: ...

class LazyBatchNorm2d(_LazyModuleMixin, BatchNorm2d):
    """BatchNorm2d that takes num_features from its first input."""
    num_features: _t.Any
    running_mean: _t.Any
    running_var: _t.Any
    def __init__(self, eps: _b.float = 1e-05, momentum: _b.float = 0.1, affine: _b.bool = True,
                 track_running_stats: _b.bool = True, device: _device | _b.str | _b.int | None = None,
                 dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None, bias: _b.bool = True) -> None: ...
    cls_to_become: _t.Any
    def initialize_parameters(self, input: _Tensor) -> None: ...
    ndims: _b.tuple[_t.Any, ...]
    def reset_parameters(self) -> None: ...

class LazyBatchNorm3d(_LazyModuleMixin, BatchNorm3d):
    """BatchNorm3d that takes num_features from its first input."""
    num_features: _t.Any
    running_mean: _t.Any
    running_var: _t.Any
    def __init__(self, eps: _b.float = 1e-05, momentum: _b.float = 0.1, affine: _b.bool = True,
                 track_running_stats: _b.bool = True, device: _device | _b.str | _b.int | None = None,
                 dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None, bias: _b.bool = True) -> None: ...
    cls_to_become: _t.Any
    def initialize_parameters(self, input: _Tensor) -> None: ...
    ndims: _b.tuple[_t.Any, ...]
    def reset_parameters(self) -> None: ...

class LazyConv1d(_LazyModuleMixin, Conv1d):
    """Conv1d that takes in_channels from its first input."""
    bias: _t.Any
    in_channels: _t.Any
    out_channels: _b.int
    weight: _t.Any
    def __init__(self, out_channels: _b.int, kernel_size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
                 stride: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 1,
                 padding: _b.str | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 0,
                 dilation: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 1, groups: _b.int = 1,
                 bias: _b.bool = True, padding_mode: _b.str = 'zeros',
                 device: _device | _b.str | _b.int | None = None,
                 dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None) -> None: ...
    cls_to_become: _t.Any
    def initialize_parameters(self, input: _Tensor, *args: _t.Any, **kwargs: _t.Any) -> None:
        """Set the shapes of parameters by an input. `args` and `kwargs` are ignored: channels alone decide."""
    rank: _b.int
    def reset_parameters(self) -> None: ...

class LazyConv2d(_LazyModuleMixin, Conv2d):
    """Conv2d that takes in_channels from its first input."""
    bias: _t.Any
    in_channels: _t.Any
    out_channels: _b.int
    weight: _t.Any
    def __init__(self, out_channels: _b.int, kernel_size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
                 stride: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 1,
                 padding: _b.str | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 0,
                 dilation: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 1, groups: _b.int = 1,
                 bias: _b.bool = True, padding_mode: _b.str = 'zeros',
                 device: _device | _b.str | _b.int | None = None,
                 dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None) -> None: ...
    cls_to_become: _t.Any
    def initialize_parameters(self, input: _Tensor, *args: _t.Any, **kwargs: _t.Any) -> None:
        """Set the shapes of parameters by an input. `args` and `kwargs` are ignored: channels alone decide."""
    rank: _b.int
    def reset_parameters(self) -> None: ...

class LazyConv3d(_LazyModuleMixin, Conv3d):
    """Conv3d that takes in_channels from its first input."""
    bias: _t.Any
    in_channels: _t.Any
    out_channels: _b.int
    weight: _t.Any
    def __init__(self, out_channels: _b.int, kernel_size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
                 stride: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 1,
                 padding: _b.str | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 0,
                 dilation: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 1, groups: _b.int = 1,
                 bias: _b.bool = True, padding_mode: _b.str = 'zeros',
                 device: _device | _b.str | _b.int | None = None,
                 dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None) -> None: ...
    cls_to_become: _t.Any
    def initialize_parameters(self, input: _Tensor, *args: _t.Any, **kwargs: _t.Any) -> None:
        """Set the shapes of parameters by an input. `args` and `kwargs` are ignored: channels alone decide."""
    rank: _b.int
    def reset_parameters(self) -> None: ...

class LazyConvTranspose1d(_LazyModuleMixin, ConvTranspose1d):
    """ConvTranspose1d that takes in_channels from its first input."""
    bias: _t.Any
    in_channels: _t.Any
    out_channels: _b.int
    weight: _t.Any
    def __init__(self, out_channels: _b.int, kernel_size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
                 stride: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 1,
                 padding: _b.str | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 0,
                 output_padding: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 0, groups: _b.int = 1,
                 bias: _b.bool = True, dilation: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 1,
                 padding_mode: _b.str = 'zeros', device: _device | _b.str | _b.int | None = None,
                 dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None) -> None: ...
    cls_to_become: _t.Any
    def initialize_parameters(self, input: _Tensor, *args: _t.Any, **kwargs: _t.Any) -> None:
        """Set the shapes of parameters by an input. `args` and `kwargs` are ignored: channels alone decide."""
    rank: _b.int
    def reset_parameters(self) -> None: ...

class LazyConvTranspose2d(_LazyModuleMixin, ConvTranspose2d):
    """ConvTranspose2d that takes in_channels from its first input."""
    bias: _t.Any
    in_channels: _t.Any
    out_channels: _b.int
    weight: _t.Any
    def __init__(self, out_channels: _b.int, kernel_size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
                 stride: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 1,
                 padding: _b.str | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 0,
                 output_padding: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 0, groups: _b.int = 1,
                 bias: _b.bool = True, dilation: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 1,
                 padding_mode: _b.str = 'zeros', device: _device | _b.str | _b.int | None = None,
                 dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None) -> None: ...
    cls_to_become: _t.Any
    def initialize_parameters(self, input: _Tensor, *args: _t.Any, **kwargs: _t.Any) -> None:
        """Set the shapes of parameters by an input. `args` and `kwargs` are ignored: channels alone decide."""
    rank: _b.int
    def reset_parameters(self) -> None: ...

class LazyConvTranspose3d(_LazyModuleMixin, ConvTranspose3d):
    """ConvTranspose3d that takes in_channels from its first input."""
    bias: _t.Any
    in_channels: _t.Any
    out_channels: _b.int
    weight: _t.Any
    def __init__(self, out_channels: _b.int, kernel_size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
                 stride: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 1,
                 padding: _b.str | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 0,
                 output_padding: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 0, groups: _b.int = 1,
                 bias: _b.bool = True, dilation: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 1,
                 padding_mode: _b.str = 'zeros', device: _device | _b.str | _b.int | None = None,
                 dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None) -> None: ...
    cls_to_become: _t.Any
    def initialize_parameters(self, input: _Tensor, *args: _t.Any, **kwargs: _t.Any) -> None:
        """Set the shapes of parameters by an input. `args` and `kwargs` are ignored: channels alone decide."""
    rank: _b.int
    def reset_parameters(self) -> None: ...

class LazyInstanceNorm1d(_LazyModuleMixin, InstanceNorm1d):
    """InstanceNorm1d that takes num_features from its first input."""
    num_features: _t.Any
    running_mean: _t.Any
    running_var: _t.Any
    def __init__(self, eps: _b.float = 1e-05, momentum: _b.float = 0.1, affine: _b.bool = True,
                 track_running_stats: _b.bool = True, device: _device | _b.str | _b.int | None = None,
                 dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None, bias: _b.bool = True) -> None: ...
    cls_to_become: _t.Any
    def initialize_parameters(self, input: _Tensor) -> None: ...
    ndims: _b.tuple[_t.Any, ...]
    def reset_parameters(self) -> None: ...

class LazyInstanceNorm2d(_LazyModuleMixin, InstanceNorm2d):
    """InstanceNorm2d that takes num_features from its first input."""
    num_features: _t.Any
    running_mean: _t.Any
    running_var: _t.Any
    def __init__(self, eps: _b.float = 1e-05, momentum: _b.float = 0.1, affine: _b.bool = True,
                 track_running_stats: _b.bool = True, device: _device | _b.str | _b.int | None = None,
                 dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None, bias: _b.bool = True) -> None: ...
    cls_to_become: _t.Any
    def initialize_parameters(self, input: _Tensor) -> None: ...
    ndims: _b.tuple[_t.Any, ...]
    def reset_parameters(self) -> None: ...

class LazyInstanceNorm3d(_LazyModuleMixin, InstanceNorm3d):
    """InstanceNorm3d that takes num_features from its first input."""
    num_features: _t.Any
    running_mean: _t.Any
    running_var: _t.Any
    def __init__(self, eps: _b.float = 1e-05, momentum: _b.float = 0.1, affine: _b.bool = True,
                 track_running_stats: _b.bool = True, device: _device | _b.str | _b.int | None = None,
                 dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None, bias: _b.bool = True) -> None: ...
    cls_to_become: _t.Any
    def initialize_parameters(self, input: _Tensor) -> None: ...
    ndims: _b.tuple[_t.Any, ...]
    def reset_parameters(self) -> None: ...

class LazyLinear(_LazyModuleMixin, Linear):
    """A Linear that takes in_features from its first input."""
    bias: Parameter
    in_features: _t.Any
    out_features: _b.int
    weight: Parameter
    def __init__(self, out_features: _b.int, bias: _b.bool = True, device: _device | _b.str | _b.int | None = None,
                 dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None) -> None: ...
    cls_to_become: _t.Any
    def initialize_parameters(self, input: _Tensor) -> None:
        """Set in_features from the first input."""
    def reset_parameters(self) -> None: ...

class LeakyReLU(Module):
    """x above 0, negative_slope * x below."""
    def __init__(self, negative_slope: _b.float = 0.01, inplace: _b.bool = False) -> None: ...
    def extra_repr(self) -> _t.Any: ...
    def forward(self, input: _Tensor) -> _Tensor: ...

class Linear(Module):
    """The map y = x @ weight.T + bias."""
    bias: Parameter
    in_features: _b.int
    out_features: _b.int
    weight: Parameter
    def __init__(self, in_features: _b.int, out_features: _b.int, bias: _b.bool = True,
                 device: _device | _b.str | _b.int | None = None,
                 dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None) -> None: ...
    def forward(self, input: _Tensor) -> _Tensor: ...
    def reset_parameters(self) -> None:
        """Initialise uniformly in +-1/sqrt(in_features)."""

class LinearCrossEntropyLoss(Module):
    """The cross entropy of logits from a linear map of its own. `out_features` are sizes of the logits after the
    classes."""
    ignore_index: _b.int
    label_smoothing: _b.float
    linear: _t.Any
    num_classes: _b.int
    options: _t.Any
    out_features: _b.tuple[_t.Any, ...]
    reduction: _b.str
    weight: _Tensor
    def __init__(self, in_features: _b.int, num_classes: _b.int, *, out_features: _t.Any = (), bias: _b.bool = False,
                 device: _device | _b.str | _b.int | None = None,
                 dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
                 reduction: _b.str = 'mean', weight: _Tensor | None = None, ignore_index: _b.int | None = None,
                 label_smoothing: _b.float = 0.0, options: _t.Any = None) -> None: ...
    def extra_repr(self) -> _t.Any: ...
    def forward(self, input: _Tensor, target: _Tensor) -> _Tensor: ...

class LinearCrossEntropyOptions:
    """Hints for linear_cross_entropy to trade memory for speed. They change no result. `allow_retain_graph` is ignored:
    graphs can always be retained."""
    acc_dtype: _dtype | None
    acc_policy: _b.str
    allow_retain_graph: _b.bool
    batch_chunk_size: _b.int | None
    chunking_method: _b.str | None
    def __eq__(self, other: _t.Any) -> _t.Any: ...
    def __hash__(self) -> _b.int: ...
    def __init__(self, allow_retain_graph: _b.bool = False, batch_chunk_size: _b.int | None = None,
                 chunking_method: _b.str | None = 'auto', acc_policy: _b.str = 'auto', acc_dtype: _dtype | None = None) -> None: ...
    def __post_init__(self) -> None: ...

class LocalResponseNorm(Module):
    """Division by (k + alpha * mean square of `size` neighbouring channels) ** beta."""
    alpha: _Tensor | _b.complex
    beta: _Tensor | _b.complex
    k: _t.Any
    size: _b.int | _c.Sequence[_b.int]
    def __init__(self, size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex], alpha: _Tensor | _b.complex = 0.0001,
                 beta: _Tensor | _b.complex = 0.75, k: _t.Any = 1.0) -> None: ...
    def forward(self, input: _Tensor) -> _Tensor: ...

class LogSigmoid(Module):
    """Return log(sigmoid(x))."""
    def __init__(self) -> None: ...
    def extra_repr(self) -> _t.Any: ...
    def forward(self, input: _Tensor) -> _Tensor: ...

class LogSoftmax(Module):
    """log(softmax(x)) along a dimension, without overflow."""
    def __init__(self, dim: _t.Any = None) -> None: ...
    def extra_repr(self) -> _t.Any: ...
    def forward(self, input: _Tensor) -> _Tensor: ...

class MSELoss(Module):
    """The squared difference (input - target)^2."""
    def __init__(self, size_average: _b.bool | None = None, reduce: _t.Any = None, reduction: _b.str = 'mean') -> None: ...
    def forward(self, input: _Tensor, target: _Tensor) -> _Tensor: ...

class MarginRankingLoss(Module):
    """Return max(0, -target * (input1 - input2) + margin)."""
    def __init__(self, margin: _b.float = 0.0, size_average: _b.bool | None = None, reduce: _t.Any = None,
                 reduction: _b.str = 'mean') -> None: ...
    def forward(self, input1: _Tensor, input2: _Tensor, target: _Tensor) -> _Tensor: ...

class MaxPool1d(Module):
    """The largest element of each window of (N, C, L)."""
    ceil_mode: _b.bool
    dilation: _b.int | _c.Sequence[_b.int]
    kernel_size: _b.int | _c.Sequence[_b.int]
    padding: _b.str | _b.int | _c.Sequence[_b.int]
    return_indices: _b.bool
    stride: _t.Any
    def __init__(self, kernel_size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
                 stride: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] | None = None,
                 padding: _b.str | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 0,
                 dilation: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 1, return_indices: _b.bool = False,
                 ceil_mode: _b.bool = False) -> None: ...
    def forward(self, input: _Tensor) -> _Tensor: ...
    function: _b.str
    rank: _b.int

class MaxPool2d(Module):
    """The largest element of each window of (N, C, H, W)."""
    ceil_mode: _b.bool
    dilation: _b.int | _c.Sequence[_b.int]
    kernel_size: _b.int | _c.Sequence[_b.int]
    padding: _b.str | _b.int | _c.Sequence[_b.int]
    return_indices: _b.bool
    stride: _t.Any
    def __init__(self, kernel_size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
                 stride: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] | None = None,
                 padding: _b.str | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 0,
                 dilation: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 1, return_indices: _b.bool = False,
                 ceil_mode: _b.bool = False) -> None: ...
    def forward(self, input: _Tensor) -> _Tensor: ...
    function: _b.str
    rank: _b.int

class MaxPool3d(Module):
    """The largest element of each window of (N, C, D, H, W)."""
    ceil_mode: _b.bool
    dilation: _b.int | _c.Sequence[_b.int]
    kernel_size: _b.int | _c.Sequence[_b.int]
    padding: _b.str | _b.int | _c.Sequence[_b.int]
    return_indices: _b.bool
    stride: _t.Any
    def __init__(self, kernel_size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
                 stride: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] | None = None,
                 padding: _b.str | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 0,
                 dilation: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 1, return_indices: _b.bool = False,
                 ceil_mode: _b.bool = False) -> None: ...
    def forward(self, input: _Tensor) -> _Tensor: ...
    function: _b.str
    rank: _b.int

class MaxUnpool1d(Module):
    """The inverse of MaxPool1d: zeros with each value at its old position."""
    kernel_size: _t.Any
    padding: _t.Any
    stride: _t.Any
    def __init__(self, kernel_size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
                 stride: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] | None = None,
                 padding: _b.str | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 0) -> None: ...
    def forward(self, input: _Tensor, indices: _t.Any,
                output_size: _b.int | _c.Sequence[_b.int | None] | None = None) -> _Tensor: ...
    function: _b.str
    rank: _b.int

class MaxUnpool2d(Module):
    """The inverse of MaxPool2d: zeros with each value at its old position."""
    kernel_size: _t.Any
    padding: _t.Any
    stride: _t.Any
    def __init__(self, kernel_size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
                 stride: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] | None = None,
                 padding: _b.str | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 0) -> None: ...
    def forward(self, input: _Tensor, indices: _t.Any,
                output_size: _b.int | _c.Sequence[_b.int | None] | None = None) -> _Tensor: ...
    function: _b.str
    rank: _b.int

class MaxUnpool3d(Module):
    """The inverse of MaxPool3d: zeros with each value at its old position."""
    kernel_size: _t.Any
    padding: _t.Any
    stride: _t.Any
    def __init__(self, kernel_size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
                 stride: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] | None = None,
                 padding: _b.str | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 0) -> None: ...
    def forward(self, input: _Tensor, indices: _t.Any,
                output_size: _b.int | _c.Sequence[_b.int | None] | None = None) -> _Tensor: ...
    function: _b.str
    rank: _b.int

class Mish(Module):
    """Return x * tanh(softplus(x))."""
    def __init__(self, inplace: _b.bool = False) -> None: ...
    def extra_repr(self) -> _t.Any: ...
    def forward(self, input: _Tensor) -> _Tensor: ...

class Module:
    """Base class of neural network modules: assign parameters, buffers and modules as attributes, define forward()."""
    training: _b.bool
    def add_module(self, name: _t.Any, module: _t.Any) -> None: ...
    call_super_init: _b.bool
    def compile(self, *args: _t.Any, **kwargs: _t.Any) -> None:
        """Compile `forward` from now on, by `ingot.compile` with these arguments; hooks run around it."""
    def extra_repr(self) -> _t.Any:
        """Return the arguments that the repr shows."""
    def get_buffer(self, target: _t.Any) -> _t.Any:
        """Return the buffer at a dotted path."""
    def get_extra_state(self) -> _t.Any:
        """Return state beside tensors; subclasses override it."""
    def get_parameter(self, target: _t.Any) -> _t.Any:
        """Return the parameter at a dotted path."""
    def get_submodule(self, target: _t.Any) -> _t.Any:
        """Return the module at a dotted path."""
    def register_backward_hook(self, hook: _t.Any, prepend: _b.bool = False) -> _RemovableHandle:
        """Call hook(module, grad_input, grad_output) at the inputs' gradients; a result replaces grad_input."""
    def register_forward_hook(self, hook: _t.Any, *, prepend: _b.bool = False, with_kwargs: _b.bool = False,
                              always_call: _b.bool = False) -> _t.Any:
        """Call hook(module, args, output) after forward (`always_call`: even if it raised); a result replaces the output."""
    def register_forward_pre_hook(self, hook: _t.Any, *, prepend: _b.bool = False,
                                  with_kwargs: _b.bool = False) -> _RemovableHandle:
        """Call hook(module, args) before forward; a result replaces args. `with_kwargs` passes kwargs too."""
    def register_full_backward_hook(self, hook: _t.Any, prepend: _b.bool = False) -> _RemovableHandle:
        """Call hook(module, grad_input, grad_output) at the inputs' gradients; a result replaces grad_input."""
    def register_full_backward_pre_hook(self, hook: _t.Any, prepend: _b.bool = False) -> _RemovableHandle:
        """Call hook(module, grad_output) before the module's backward; a result replaces grad_output."""
    def register_load_state_dict_post_hook(self, hook: _t.Any) -> _RemovableHandle:
        """Call hook(module, incompatible_keys) after loading; it may edit the lists of keys."""
    def register_load_state_dict_pre_hook(self, hook: _t.Any) -> _RemovableHandle:
        """Call hook(module, state_dict, prefix, local_metadata, strict, missing, unexpected, errors) before loading."""
    def register_module(self, name: _t.Any, module: _t.Any) -> None: ...
    def register_state_dict_post_hook(self, hook: _t.Any) -> _RemovableHandle:
        """Call hook(module, state_dict, prefix, local_metadata) after the module's state is collected; it may edit the dict."""
    def register_state_dict_pre_hook(self, hook: _t.Any) -> _RemovableHandle:
        """Call hook(module, prefix, keep_vars) before the module's state is collected."""
    def set_extra_state(self, state: _t.Any) -> _t.Any:
        """Restore the state of get_extra_state; subclasses override it."""
    def set_submodule(self, target: _t.Any, module: _t.Any, strict: _b.bool = False) -> None:
        """Set the module at a dotted path; `strict` requires an existing one."""
    def zero_grad(self, set_to_none: _b.bool = True) -> None:
        """Drop the gradients of all parameters, or set them to zero."""
    def __call__(self: _HasForward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
    def __getattr__(self, name: _b.str) -> _t.Any: ...
    def __init__(self, *args: _t.Any, **kwargs: _t.Any) -> None: ...
    def __setattr__(self, name: _b.str, value: _t.Any) -> None: ...
    def apply(self, fn: _c.Callable[[Module], _t.Any]) -> _t.Self:
        """Call fn on every module below, children first, then on this one."""
    def bfloat16(self) -> _t.Self:
        """Cast floating point parameters and buffers to bfloat16."""
    def buffers(self, recurse: _b.bool = True) -> _c.Iterator[_Tensor]:
        """Iterate over all buffers, each once."""
    def children(self) -> _c.Iterator[Module]:
        """Iterate over the direct children, each once."""
    def cpu(self) -> _t.Self: ...
    def cuda(self, device: _t.Any = None) -> _t.Self:
        """Move to a GPU."""
    def double(self) -> _t.Self:
        """Cast floating point parameters and buffers to float64."""
    def eval(self) -> _t.Self:
        """Set evaluation mode, as train(False)."""
    def float(self) -> _t.Self:
        """Cast floating point parameters and buffers to float32."""
    forward: _c.Callable[..., _t.Any]
    def half(self) -> _t.Self:
        """Cast floating point parameters and buffers to float16."""
    def load_state_dict(self, state_dict: _c.Mapping[_b.str, _t.Any], strict: _b.bool = True, assign: _b.bool = False) -> _t.Any:
        """Copy tensors by name into parameters and buffers, or replace these (`assign`); `strict` requires equal names."""
    def modules(self) -> _c.Iterator[Module]:
        """Iterate over this module and all below, each once, or once per path."""
    def named_buffers(self, prefix: _b.str = "", recurse: _b.bool = True,
                      remove_duplicate: _b.bool = True) -> _c.Iterator[_b.tuple[_b.str, _Tensor]]:
        """Iterate over (dotted name, buffer), each buffer once."""
    def named_children(self) -> _c.Iterator[_b.tuple[_b.str, Module]]:
        """Iterate over (name, module) of the direct children, each once."""
    def named_modules(self, memo: _b.set[Module] | None = None, prefix: _b.str = "",
                      remove_duplicate: _b.bool = True) -> _c.Iterator[_b.tuple[_b.str, Module]]:
        """Iterate over (dotted name, module) of this module and all below."""
    def named_parameters(self, prefix: _b.str = "", recurse: _b.bool = True,
                         remove_duplicate: _b.bool = True) -> _c.Iterator[_b.tuple[_b.str, Parameter]]:
        """Iterate over (dotted name, parameter), each parameter once."""
    def parameters(self, recurse: _b.bool = True) -> _c.Iterator[Parameter]:
        """Iterate over all parameters, each once."""
    def register_buffer(self, name: _b.str, tensor: _Tensor | None, persistent: _b.bool = True) -> None:
        """Add a tensor that is state but not trained; persistent buffers are in the state_dict."""
    def register_parameter(self, name: _b.str, param: Parameter | None) -> None:
        """Add a parameter, or None to reserve the name."""
    def requires_grad_(self, requires_grad: _b.bool = True) -> _t.Self: ...
    def share_memory(self) -> _t.Self:
        """Move parameters and buffers into memory that other processes can map."""
    def state_dict(self, *args: _t.Any, destination: _b.dict[_b.str, _t.Any] | None = None, prefix: _b.str = "",
                   keep_vars: _b.bool = False) -> _b.dict[_b.str, _t.Any]:
        """Return all parameters and persistent buffers by name, as tensors over the module's memory."""
    def to(self, *args: _t.Any, **kwargs: _t.Any) -> _t.Self:
        """Move to a device, or cast floating point parameters and buffers: to(device), to(dtype), to(tensor)."""
    def to_empty(self, *, device: _t.Any, recurse: _b.bool = True) -> _t.Self:
        """Move to a device without keeping values."""
    def train(self, mode: _b.bool = True) -> _t.Self:
        """Set this module and all below to training (or evaluation) mode."""
    def type(self, dst_type: _t.Any) -> _t.Self:
        """Cast all parameters and buffers."""

class ModuleDict(Module):
    """Modules by name."""
    def __contains__(self, key: _t.Any) -> _b.bool: ...
    def __delitem__(self, key: _t.Any) -> None: ...
    def __len__(self) -> _b.int: ...
    def __setitem__(self, key: _t.Any, module: _t.Any) -> None: ...
    def clear(self) -> None: ...
    def pop(self, key: _t.Any) -> _t.Any: ...
    def update(self, modules: _t.Any) -> None:
        """Add all modules of a mapping or an iterable of pairs."""
    def __getitem__(self, key: _b.str) -> _t.Any: ...
    def __init__(self, modules: _c.Mapping[_b.str, Module] | _c.Iterable[_b.tuple[_b.str, Module]] | None = None) -> None: ...
    def __iter__(self) -> _c.Iterator[_b.str]: ...
    def items(self) -> _c.ItemsView[_b.str, _t.Any]:
        """Return (name, module) pairs."""
    def keys(self) -> _c.KeysView[_b.str]: ...
    def values(self) -> _c.ValuesView[_t.Any]: ...

class ModuleList(Module):
    """A list of modules."""
    def __add__(self, other: _t.Any) -> ModuleList: ...
    def __delitem__(self, index: _t.Any) -> None: ...
    def __iadd__(self, other: _t.Any) -> _t.Any: ...
    def __len__(self) -> _b.int: ...
    def __setitem__(self, index: _t.Any, module: _t.Any) -> None: ...
    def append(self, module: _t.Any) -> _t.Self:
        """Add a module at the end."""
    def extend(self, modules: _t.Any) -> _t.Self:
        """Add modules at the end."""
    def insert(self, index: _t.Any, module: _t.Any) -> _t.Self:
        """Insert a module before position `index` and rename all by position."""
    def pop(self, key: _t.Any) -> _t.Any: ...
    @_t.overload
    def __getitem__(self, key: _b.slice) -> ModuleList: ...
    @_t.overload
    def __getitem__(self, key: _b.int) -> _t.Any: ...
    def __init__(self, modules: _c.Iterable[Module] | None = None) -> None: ...
    def __iter__(self) -> _c.Iterator[_t.Any]: ...

class MultiLabelMarginLoss(Module):
    """Sum max(0, 1 - (x[true] - x[wrong])) over pairs of a true and a wrong class; each row of targets ends at the first
    -1."""
    def __init__(self, size_average: _b.bool | None = None, reduce: _t.Any = None, reduction: _b.str = 'mean') -> None: ...
    def forward(self, input: _Tensor, target: _Tensor) -> _Tensor: ...

class MultiLabelSoftMarginLoss(Module):
    """Return the mean over classes of the binary cross entropy with logits."""
    def __init__(self, weight: _t.Any = None, size_average: _b.bool | None = None, reduce: _t.Any = None,
                 reduction: _b.str = 'mean') -> None: ...
    def forward(self, input: _Tensor, target: _Tensor) -> _Tensor: ...

class MultiMarginLoss(Module):
    """Return the mean over wrong classes of max(0, margin - x[target] + x[class])^p."""
    def __init__(self, p: _t.Any = 1, margin: _b.float = 1.0, weight: _t.Any = None,
                 size_average: _b.bool | None = None, reduce: _t.Any = None, reduction: _b.str = 'mean') -> None: ...
    def forward(self, input: _Tensor, target: _Tensor) -> _Tensor: ...

class MultiheadAttention(Module):
    """Attention of several heads with input and output projections."""
    add_zero_attn: _b.bool
    batch_first: _b.bool
    dropout: _b.float
    embed_dim: _b.int
    head_dim: _t.Any
    in_proj_bias: Parameter
    kdim: _t.Any
    num_heads: _b.int
    out_proj: _NonDynamicallyQuantizableLinear
    vdim: _t.Any
    def __init__(self, embed_dim: _b.int, num_heads: _b.int, dropout: _b.float = 0.0, bias: _b.bool = True,
                 add_bias_kv: _b.bool = False, add_zero_attn: _b.bool = False, kdim: _b.int | None = None,
                 vdim: _b.int | None = None, batch_first: _b.bool = False,
                 device: _device | _b.str | _b.int | None = None,
                 dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None) -> None: ...
    def forward(self, query: _Tensor, key: _Tensor, value: _Tensor, key_padding_mask: _Tensor | None = None,
                need_weights: _b.bool = True, attn_mask: _Tensor | None = None, average_attn_weights: _b.bool = True,
                is_causal: _b.bool = False) -> _b.tuple[_Tensor, _Tensor | _t.Any]:
        """Return (output, attention weights or None); nested tensors give nested results."""

class NLLLoss(Module):
    """The negative log likelihood of classes: -weight[target] * input[target] for log probabilities as input."""
    def __init__(self, weight: _t.Any = None, size_average: _b.bool | None = None, ignore_index: _b.int = -100,
                 reduce: _t.Any = None, reduction: _b.str = 'mean') -> None: ...
    def forward(self, input: _Tensor, target: _Tensor) -> _Tensor: ...

class NLLLoss2d(Module):
    """Return -weight[target] * input[target] for log probabilities (N, C, ...) and class indices (N, ...)."""
    def __init__(self, weight: _t.Any = None, size_average: _b.bool | None = None, ignore_index: _b.int = -100,
                 reduce: _t.Any = None, reduction: _b.str = 'mean') -> None: ...
    def forward(self, input: _Tensor, target: _Tensor) -> _Tensor: ...

class PReLU(Module):
    """The function x above 0, learned slope times x below."""
    init: _b.float
    num_parameters: _b.int
    weight: Parameter
    def __init__(self, num_parameters: _b.int = 1, init: _b.float = 0.25,
                 device: _device | _b.str | _b.int | None = None,
                 dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None) -> None: ...
    def forward(self, input: _Tensor) -> _Tensor: ...
    def reset_parameters(self) -> None:
        """Set all slopes to the initial value."""

class PairwiseDistance(Module):
    """The p-norm of the difference along the last dimension."""
    eps: _b.float
    keepdim: _b.bool
    norm: _b.float | _b.str
    def __init__(self, p: _b.float | _b.str = 2.0, eps: _b.float = 1e-06, keepdim: _b.bool = False, *,
                 keepdims: _b.bool = False) -> None: ...
    def forward(self, x1: _Tensor, x2: _Tensor) -> _Tensor: ...

class Parameter(_Owned):
    """A tensor that a module registers as a parameter on assignment. Deep copies start without a gradient."""
    def requires_grad_(self, requires_grad: _b.bool = True) -> _t.Any:
        """Start or stop collecting a gradient, and tell traces that depend on it."""
    def __init__(self, data: _Tensor | None = None, requires_grad: _b.bool = True) -> None: ...

class ParameterDict(Module):
    """Parameters by name, and other values."""
    def __contains__(self, key: _t.Any) -> _b.bool: ...
    def __delitem__(self, key: _t.Any) -> None: ...
    def __getitem__(self, key: _t.Any) -> _t.Any: ...
    def __init__(self, parameters: _t.Any = None) -> None: ...
    def __iter__(self) -> _c.Iterator[_t.Any]: ...
    def __len__(self) -> _b.int: ...
    def __or__(self, other: _t.Any) -> _t.Any: ...
    def __reversed__(self) -> _t.Any: ...
    def __setitem__(self, key: _t.Any, value: _t.Any) -> None: ...
    def clear(self) -> None: ...
    def copy(self) -> ParameterDict: ...
    def extra_repr(self) -> _t.Any: ...
    def fromkeys(self, keys: _t.Any, default: _t.Any = None) -> ParameterDict: ...
    def get(self, key: _t.Any, default: _t.Any = None) -> _t.Any: ...
    def items(self) -> _b.list[_t.Any]:
        """Return (key, value) pairs."""
    def keys(self) -> _t.Any: ...
    def pop(self, key: _t.Any) -> _t.Any:
        """Remove a value and return it."""
    def popitem(self) -> _b.tuple[_t.Any, ...]:
        """Remove the last value and return (key, value)."""
    def setdefault(self, key: _t.Any, default: _t.Any = None) -> _t.Any:
        """Return the value of `key`, set to `default` if it is absent."""
    def update(self, parameters: _t.Any) -> None:
        """Add all values of a mapping or an iterable of pairs; a plain mapping is sorted by name."""
    def values(self) -> _b.list[_t.Any]: ...

class ParameterList(Module):
    """A list of parameters, and of other values."""
    def __iadd__(self, other: _t.Any) -> _t.Any: ...
    def __init__(self, values: _t.Any = None) -> None: ...
    def __len__(self) -> _b.int: ...
    def __setitem__(self, index: _t.Any, value: _t.Any) -> None: ...
    def append(self, value: _t.Any) -> _t.Self:
        """Add a value at the end; a tensor becomes a parameter."""
    def extend(self, values: _t.Any) -> _t.Self:
        """Add values at the end."""
    def extra_repr(self) -> _t.Any: ...
    def __getitem__(self, key: _t.Any) -> _t.Any: ...
    def __iter__(self) -> _c.Iterator[_t.Any]: ...

class PixelShuffle(Module):
    """The reshape of (..., C * r * r, H, W) to (..., C, H * r, W * r)."""
    upscale_factor: _b.int
    def __init__(self, upscale_factor: _b.int) -> None: ...
    def forward(self, input: _Tensor) -> _Tensor: ...

class PixelUnshuffle(Module):
    """The reshape of (..., C, H * r, W * r) to (..., C * r * r, H, W)."""
    downscale_factor: _b.int
    def __init__(self, downscale_factor: _b.int) -> None: ...
    def forward(self, input: _Tensor) -> _Tensor: ...

class PoissonNLLLoss(Module):
    """Return the negative log likelihood of counts for a Poisson rate (its log with `log_input`)."""
    def __init__(self, log_input: _b.bool = True, full: _b.bool = False, size_average: _b.bool | None = None,
                 eps: _b.float = 1e-08, reduce: _t.Any = None, reduction: _b.str = 'mean') -> None: ...
    def forward(self, input: _Tensor, target: _Tensor) -> _Tensor: ...

class RMSNorm(Module):
    """Division by the root mean square over the last dims, then weight."""
    elementwise_affine: _b.bool
    eps: _t.Any
    normalized_shape: _t.Any
    weight: Parameter
    def __init__(self, normalized_shape: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex], eps: _t.Any = None,
                 elementwise_affine: _b.bool = True, device: _device | _b.str | _b.int | None = None,
                 dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None) -> None: ...
    def forward(self, x: _t.Any) -> _Tensor: ...
    def reset_parameters(self) -> None: ...

class RNN(RNNBase):
    """h = tanh(W x + b + U h), or with relu, along time."""
    nonlinearity: _b.str
    def __init__(self, input_size: _b.int, hidden_size: _b.int, num_layers: _b.int = 1, nonlinearity: _b.str = 'tanh',
                 bias: _b.bool = True, batch_first: _b.bool = False, dropout: _b.float = 0.0,
                 bidirectional: _b.bool = False, device: _device | _b.str | _b.int | None = None,
                 dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None) -> None: ...
    def forward(self, input: _t.Any, hx: _Tensor | None = None) -> _b.tuple[_Tensor, _Tensor]:
        """Return (outputs of the last layer, last states); the input is (T, B, size), (T, size), or packed."""

class RNNBase(Module):
    """Base of recurrent layers: weights by layer and direction, batches, packed sequences."""
    batch_first: _b.bool
    bias: _b.bool
    bidirectional: _b.bool
    dropout: _b.float
    hidden_size: _b.int
    input_size: _b.int
    num_layers: _b.int
    proj_size: _b.int
    def __init__(self, input_size: _b.int, hidden_size: _b.int, num_layers: _b.int = 1, bias: _b.bool = True,
                 batch_first: _b.bool = False, dropout: _b.float = 0.0, bidirectional: _b.bool = False,
                 proj_size: _b.int = 0, device: _device | _b.str | _b.int | None = None,
                 dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None) -> None: ...
    @_b.property
    def all_weights(self) -> _b.list[_t.Any]:
        """Return the weights of each layer and direction."""
    def extra_repr(self) -> _t.Any: ...
    def flatten_parameters(self) -> None:
        """Do nothing: kernels read weights in place."""
    def forward(self, input: _Tensor, hx: _t.Any = None) -> _Tensor:
        """Return (outputs of the last layer, last states); the input is (T, B, size), (T, size), or packed."""
    def reset_parameters(self) -> None:
        """Initialise uniformly in +-1/sqrt(hidden_size)."""

class RNNCell(RNNCellBase):
    """One step of an RNN."""
    nonlinearity: _b.str
    def __init__(self, input_size: _b.int, hidden_size: _b.int, bias: _b.bool = True, nonlinearity: _b.str = 'tanh',
                 device: _device | _b.str | _b.int | None = None,
                 dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None) -> None: ...
    def extra_repr(self) -> _t.Any: ...
    def forward(self, input: _Tensor, hx: _t.Any = None) -> _Tensor:
        """Return the next state."""

class RNNCellBase(Module):
    """Base of cells: one step of a recurrent layer."""
    bias: _b.bool
    hidden_size: _b.int
    input_size: _b.int
    reset_parameters: _t.Any
    def __init__(self, input_size: _b.int, hidden_size: _b.int, bias: _b.bool = True,
                 device: _device | _b.str | _b.int | None = None,
                 dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None) -> None: ...
    def extra_repr(self) -> _t.Any: ...

class RReLU(Module):
    """leaky_relu with a random slope in training."""
    inplace: _b.bool
    lower: _b.float
    upper: _b.float
    def __init__(self, lower: _b.float = 0.125, upper: _b.float = 0.3333333333333333, inplace: _b.bool = False) -> None: ...
    def extra_repr(self) -> _t.Any: ...
    def forward(self, input: _Tensor) -> _Tensor: ...

class ReLU(Module):
    """max(x, 0), element by element."""
    def __init__(self, inplace: _b.bool = False) -> None: ...
    def extra_repr(self) -> _t.Any: ...
    def forward(self, input: _Tensor) -> _Tensor: ...

class ReLU6(Hardtanh):
    """The function min(max(x, 0), 6)."""
    def __init__(self, inplace: _b.bool = False) -> None: ...
    def extra_repr(self) -> _t.Any: ...

class ReflectionPad1d(Module):
    """The inside, mirrored, around the last 1 dim."""
    padding: _t.Any
    value: _b.float | None
    def __init__(self, padding: _b.str | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex]) -> None: ...
    def forward(self, input: _Tensor) -> _Tensor: ...
    mode: _b.str
    rank: _b.int

class ReflectionPad2d(Module):
    """The inside, mirrored, around the last 2 dims."""
    padding: _t.Any
    value: _b.float | None
    def __init__(self, padding: _b.str | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex]) -> None: ...
    def forward(self, input: _Tensor) -> _Tensor: ...
    mode: _b.str
    rank: _b.int

class ReflectionPad3d(Module):
    """The inside, mirrored, around the last 3 dims."""
    padding: _t.Any
    value: _b.float | None
    def __init__(self, padding: _b.str | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex]) -> None: ...
    def forward(self, input: _Tensor) -> _Tensor: ...
    mode: _b.str
    rank: _b.int

class ReplicationPad1d(Module):
    """The edges, repeated, around the last 1 dim."""
    padding: _t.Any
    value: _b.float | None
    def __init__(self, padding: _b.str | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex]) -> None: ...
    def forward(self, input: _Tensor) -> _Tensor: ...
    mode: _b.str
    rank: _b.int

class ReplicationPad2d(Module):
    """The edges, repeated, around the last 2 dims."""
    padding: _t.Any
    value: _b.float | None
    def __init__(self, padding: _b.str | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex]) -> None: ...
    def forward(self, input: _Tensor) -> _Tensor: ...
    mode: _b.str
    rank: _b.int

class ReplicationPad3d(Module):
    """The edges, repeated, around the last 3 dims."""
    padding: _t.Any
    value: _b.float | None
    def __init__(self, padding: _b.str | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex]) -> None: ...
    def forward(self, input: _Tensor) -> _Tensor: ...
    mode: _b.str
    rank: _b.int

class SELU(Module):
    """Apply elu with the constants that keep mean and variance."""
    def __init__(self, inplace: _b.bool = False) -> None: ...
    def extra_repr(self) -> _t.Any: ...
    def forward(self, input: _Tensor) -> _Tensor: ...

class Sequential(Module):
    """A container that calls its modules one after the other."""
    def __add__(self, other: _t.Any) -> Sequential: ...
    def __delitem__(self, index: _t.Any) -> None: ...
    def __iadd__(self, other: _t.Any) -> _t.Any: ...
    def __len__(self) -> _b.int: ...
    def __mul__(self, times: _t.Any) -> Sequential: ...
    def __rmul__(self, times: _t.Any) -> Sequential: ...
    def __setitem__(self, index: _t.Any, module: _t.Any) -> None: ...
    def append(self, module: _t.Any) -> _t.Self:
        """Add a module at the end."""
    def extend(self, modules: _t.Any) -> _t.Self:
        """Add modules at the end."""
    def insert(self, index: _t.Any, module: _t.Any) -> _t.Self:
        """Insert a module before position `index` and rename all by position."""
    def pop(self, key: _t.Any) -> _t.Any: ...
    @_t.overload
    def __getitem__(self, key: _b.slice) -> Sequential: ...
    @_t.overload
    def __getitem__(self, key: _b.int | _b.str) -> Module: ...
    @_t.overload
    def __init__(self, *args: Module) -> None: ...
    @_t.overload
    def __init__(self, arg: _c.Mapping[_b.str, Module], /) -> None: ...
    def __iter__(self) -> _c.Iterator[Module]: ...
    def forward(self, input: _t.Any) -> _Tensor: ...

class SiLU(Module):
    """x * sigmoid(x), also called swish."""
    def __init__(self, inplace: _b.bool = False) -> None: ...
    def extra_repr(self) -> _t.Any: ...
    def forward(self, input: _Tensor) -> _Tensor: ...

class Sigmoid(Module):
    """1 / (1 + exp(-x)), element by element."""
    def __init__(self) -> None: ...
    def extra_repr(self) -> _t.Any: ...
    def forward(self, input: _Tensor) -> _Tensor: ...

class SmoothL1Loss(Module):
    """A squared loss for differences below beta, an absolute one above."""
    def __init__(self, size_average: _b.bool | None = None, reduce: _t.Any = None, reduction: _b.str = 'mean',
                 beta: _b.float = 1.0) -> None: ...
    def forward(self, input: _Tensor, target: _Tensor) -> _Tensor: ...

class SoftMarginLoss(Module):
    """Return log(1 + exp(-target * input))."""
    def __init__(self, size_average: _b.bool | None = None, reduce: _t.Any = None, reduction: _b.str = 'mean') -> None: ...
    def forward(self, input: _Tensor, target: _Tensor) -> _Tensor: ...

class Softmax(Module):
    """exp(x) / sum(exp(x)) along a dimension."""
    def __init__(self, dim: _t.Any = None) -> None: ...
    def extra_repr(self) -> _t.Any: ...
    def forward(self, input: _Tensor) -> _Tensor: ...

class Softmax2d(Module):
    """Softmax over the channels of each pixel."""
    def forward(self, input: _Tensor) -> _Tensor: ...

class Softmin(Module):
    """Return softmax of -x."""
    def __init__(self, dim: _t.Any = None) -> None: ...
    def extra_repr(self) -> _t.Any: ...
    def forward(self, input: _Tensor) -> _Tensor: ...

class Softplus(Module):
    """Return log(1 + exp(beta * x)) / beta, or x where beta * x is above the threshold."""
    def __init__(self, beta: _b.float = 1.0, threshold: _b.float = 20.0) -> None: ...
    def extra_repr(self) -> _t.Any: ...
    def forward(self, input: _Tensor) -> _Tensor: ...

class Softshrink(Module):
    """Return x moved towards 0 by lambd, and 0 within."""
    def __init__(self, lambd: _b.float = 0.5) -> None: ...
    def extra_repr(self) -> _t.Any: ...
    def forward(self, input: _Tensor) -> _Tensor: ...

class Softsign(Module):
    """Return x / (1 + |x|)."""
    def __init__(self) -> None: ...
    def extra_repr(self) -> _t.Any: ...
    def forward(self, input: _Tensor) -> _Tensor: ...

class SyncBatchNorm(Module):
    """Normalisation of each channel of (N, C, *) over the batches of all processes in a group, or of this process without a
    group."""
    affine: _t.Any
    eps: _t.Any
    momentum: _b.float
    ndims: _b.tuple[_t.Any, ...]
    num_batches_tracked: _Tensor
    num_features: _b.int
    process_group: _t.Any
    running_mean: _Tensor
    running_var: _Tensor
    track_running_stats: _t.Any
    def __init__(self, num_features: _b.int, eps: _b.float = 1e-05, momentum: _b.float = 0.1, affine: _b.bool = True,
                 track_running_stats: _b.bool = True, process_group: _t.Any = None,
                 device: _device | _b.str | _b.int | None = None,
                 dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None, *, bias: _b.bool = True) -> None: ...
    @_b.classmethod
    def convert_sync_batchnorm(cls, module: _t.Any, process_group: _t.Any = None) -> _t.Any:
        """Return the module with every batch norm replaced by one over all processes, with parameters and statistics."""
    def forward(self, input: _t.Any) -> _Tensor: ...
    def reset_parameters(self) -> None: ...
    def reset_running_stats(self) -> None: ...

class Tanh(Module):
    """The hyperbolic tangent, element by element."""
    def __init__(self) -> None: ...
    def extra_repr(self) -> _t.Any: ...
    def forward(self, input: _Tensor) -> _Tensor: ...

class Tanhshrink(Module):
    """Return x - tanh(x)."""
    def __init__(self) -> None: ...
    def extra_repr(self) -> _t.Any: ...
    def forward(self, input: _Tensor) -> _Tensor: ...

class Threshold(Module):
    """Return x above the threshold, else value."""
    def __init__(self, threshold: _t.Any, value: _t.Any, inplace: _b.bool = False) -> None: ...
    def extra_repr(self) -> _t.Any: ...
    def forward(self, input: _Tensor) -> _Tensor: ...

class Transformer(Module):
    """Encoder and decoder."""
    batch_first: _b.bool
    d_model: _b.int
    decoder: _t.Any
    encoder: _t.Any
    nhead: _b.int
    def __init__(self, d_model: _b.int = 512, nhead: _b.int = 8, num_encoder_layers: _b.int = 6,
                 num_decoder_layers: _b.int = 6, dim_feedforward: _b.int = 2048, dropout: _b.float = 0.1,
                 activation: _t.Any = ..., custom_encoder: _t.Any = None, custom_decoder: _t.Any = None,
                 layer_norm_eps: _b.float = 1e-05, batch_first: _b.bool = False, norm_first: _b.bool = False,
                 bias: _b.bool = True, device: _device | _b.str | _b.int | None = None,
                 dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None) -> None: ...
    def forward(self, src: _t.Any, tgt: _Tensor, src_mask: _Tensor | None = None, tgt_mask: _Tensor | None = None,
                memory_mask: _Tensor | None = None, src_key_padding_mask: _Tensor | None = None,
                tgt_key_padding_mask: _Tensor | None = None, memory_key_padding_mask: _Tensor | None = None,
                src_is_causal: _t.Any = None, tgt_is_causal: _t.Any = None, memory_is_causal: _b.bool = False) -> _Tensor:
        """Return the decoder's output."""
    @_b.staticmethod
    def generate_square_subsequent_mask(sz: _t.Any, device: _device | _b.str | _b.int | None = None,
                                        dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None) -> _t.Any:
        """Return zeros where a step may attend, -inf elsewhere."""

class TransformerDecoder(Module):
    """A stack of decoder layers."""
    layers: _t.Any
    norm: _t.Any
    num_layers: _b.int
    def __init__(self, decoder_layer: _t.Any, num_layers: _b.int, norm: _t.Any = None) -> None: ...
    def forward(self, tgt: _Tensor, memory: _Tensor, tgt_mask: _Tensor | None = None,
                memory_mask: _Tensor | None = None, tgt_key_padding_mask: _Tensor | None = None,
                memory_key_padding_mask: _Tensor | None = None, tgt_is_causal: _t.Any = None,
                memory_is_causal: _b.bool = False) -> _Tensor:
        """Return the output of the last layer."""

class TransformerDecoderLayer(Module):
    """Self-attention, attention to the encoder's output, and a feed-forward block."""
    activation: _t.Any
    dropout: _t.Any
    linear1: _t.Any
    linear2: _t.Any
    norm_first: _b.bool
    def __init__(self, d_model: _b.int, nhead: _b.int, dim_feedforward: _b.int = 2048, dropout: _b.float = 0.1,
                 activation: _t.Any = ..., layer_norm_eps: _b.float = 1e-05, batch_first: _b.bool = False,
                 norm_first: _b.bool = False, bias: _b.bool = True, device: _device | _b.str | _b.int | None = None,
                 dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None) -> None: ...
    def forward(self, tgt: _Tensor, memory: _Tensor, tgt_mask: _Tensor | None = None,
                memory_mask: _Tensor | None = None, tgt_key_padding_mask: _Tensor | None = None,
                memory_key_padding_mask: _Tensor | None = None, tgt_is_causal: _b.bool = False,
                memory_is_causal: _b.bool = False) -> _Tensor:
        """Return the layer's output, like tgt."""

class TransformerEncoder(Module):
    """A stack of encoder layers."""
    enable_nested_tensor: _b.bool
    layers: _t.Any
    mask_check: _b.bool
    norm: _t.Any
    num_layers: _b.int
    use_nested_tensor: _t.Any
    def __init__(self, encoder_layer: _t.Any, num_layers: _b.int, norm: _t.Any = None,
                 enable_nested_tensor: _b.bool = True, mask_check: _b.bool = True) -> None: ...
    def forward(self, src: _t.Any, mask: _Tensor | None = None, src_key_padding_mask: _Tensor | None = None,
                is_causal: _b.bool | None = None) -> _Tensor:
        """Return the output of the last layer."""

class TransformerEncoderLayer(Module):
    """Self-attention and a feed-forward block."""
    activation: _t.Any
    dropout: _t.Any
    linear1: _t.Any
    linear2: _t.Any
    norm_first: _b.bool
    def __init__(self, d_model: _b.int, nhead: _b.int, dim_feedforward: _b.int = 2048, dropout: _b.float = 0.1,
                 activation: _t.Any = ..., layer_norm_eps: _b.float = 1e-05, batch_first: _b.bool = False,
                 norm_first: _b.bool = False, bias: _b.bool = True, device: _device | _b.str | _b.int | None = None,
                 dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None) -> None: ...
    def forward(self, src: _t.Any, src_mask: _Tensor | None = None, src_key_padding_mask: _Tensor | None = None,
                is_causal: _b.bool = False) -> _Tensor:
        """Return the layer's output, like src."""

class TripletMarginLoss(Module):
    """Return max(0, d(anchor, positive) - d(anchor, negative) + margin)."""
    def __init__(self, margin: _b.float = 1.0, p: _b.float | _b.str = 2.0, eps: _b.float = 1e-06,
                 swap: _b.bool = False, size_average: _b.bool | None = None, reduce: _t.Any = None,
                 reduction: _b.str = 'mean') -> None: ...
    def forward(self, anchor: _Tensor, positive: _Tensor, negative: _Tensor) -> _Tensor: ...

class TripletMarginWithDistanceLoss(Module):
    """Return triplet_margin_loss with a given distance function."""
    def __init__(self, distance_function: _t.Any = None, margin: _b.float = 1.0, swap: _b.bool = False,
                 reduction: _b.str = 'mean') -> None: ...
    def forward(self, anchor: _Tensor, positive: _Tensor, negative: _Tensor) -> _Tensor: ...

class Unflatten(Module):
    """Split of one dimension into several."""
    dim: _b.int | _c.Sequence[_b.int]
    unflattened_size: _b.tuple[_t.Any, ...]
    @_t.overload
    def __init__(self, dim: _b.int | _c.Sequence[_b.int], unflattened_size: _t.Any) -> None: ...
    @_t.overload
    def __init__(self, *, axis: _b.int | _c.Sequence[_b.int], unflattened_size: _t.Any) -> None: ...
    def forward(self, input: _Tensor) -> _Tensor: ...

class Unfold(Module):
    """All windows of images as columns."""
    dilation: _b.int | _c.Sequence[_b.int]
    kernel_size: _b.int | _c.Sequence[_b.int]
    padding: _b.str | _b.int | _c.Sequence[_b.int]
    stride: _b.int | _c.Sequence[_b.int]
    def __init__(self, kernel_size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex],
                 dilation: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 1,
                 padding: _b.str | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 0,
                 stride: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] = 1) -> None: ...
    def forward(self, input: _Tensor) -> _Tensor: ...

class UninitializedBuffer(_UninitializedTensorMixin, Buffer):
    """A buffer whose shape comes from the first call."""
    cls_to_become: _t.Any

class UninitializedParameter(_UninitializedTensorMixin, Parameter):
    """A parameter whose shape comes from the first call."""
    cls_to_become: _t.Any

class Upsample(Module):
    """Interpolation of the spatial dims to another size."""
    align_corners: _b.bool
    mode: _b.str
    recompute_scale_factor: _t.Any
    scale_factor: _t.Any
    size: _b.int | _c.Sequence[_b.int]
    def __init__(self, size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] | None = None,
                 scale_factor: _b.float | _c.Sequence[_b.float] | None = None, mode: _b.str = 'nearest',
                 align_corners: _b.bool | None = None, recompute_scale_factor: _t.Any = None) -> None: ...
    def extra_repr(self) -> _b.str: ...
    def forward(self, input: _Tensor) -> _Tensor: ...

class UpsamplingBilinear2d(Upsample):
    """Upsample with mode bilinear and aligned corners."""
    def __init__(self, size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] | None = None,
                 scale_factor: _b.float | _c.Sequence[_b.float] | None = None) -> None: ...

class UpsamplingNearest2d(Upsample):
    """Upsample with mode nearest."""
    def __init__(self, size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex] | None = None,
                 scale_factor: _b.float | _c.Sequence[_b.float] | None = None) -> None: ...

class ZeroPad1d(Module):
    """Zeros around the last 1 dim."""
    padding: _t.Any
    value: _b.float | None
    def __init__(self, padding: _b.str | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex]) -> None: ...
    def forward(self, input: _Tensor) -> _Tensor: ...
    mode: _b.str
    rank: _b.int

class ZeroPad2d(Module):
    """Zeros around the last 2 dims."""
    padding: _t.Any
    value: _b.float | None
    def __init__(self, padding: _b.str | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex]) -> None: ...
    def forward(self, input: _Tensor) -> _Tensor: ...
    mode: _b.str
    rank: _b.int

class ZeroPad3d(Module):
    """Zeros around the last 3 dims."""
    padding: _t.Any
    value: _b.float | None
    def __init__(self, padding: _b.str | _t.SupportsIndex | _c.Sequence[_t.SupportsIndex]) -> None: ...
    def forward(self, input: _Tensor) -> _Tensor: ...
    mode: _b.str
    rank: _b.int

def register_module_forward_hook(hook: _t.Any, *, with_kwargs: _b.bool = False, always_call: _b.bool = False) -> _t.Any:
    """Call hook(module, args, output) after the forward of every module."""
def register_module_forward_pre_hook(hook: _t.Any) -> _RemovableHandle:
    """Call hook(module, args) before the forward of every module."""
def register_module_full_backward_hook(hook: _t.Any) -> _RemovableHandle:
    """Call hook(module, grad_input, grad_output) after the backward of every module."""
def register_module_full_backward_pre_hook(hook: _t.Any) -> _RemovableHandle:
    """Call hook(module, grad_output) before the backward of every module."""
def summary(model: _t.Any, input: _Tensor | None = None, *args: _t.Any, depth: _t.Any = None,
            train: _b.bool = False, **kwargs: _t.Any) -> _Summary:
    """Call `model(input, *args, **kwargs)` once and return a table of output shapes, parameters and FLOPs per module."""

class _Summary:
    """The result of `summary`: printed as a table; `save` draws the graph of the call."""
    buffers: _b.int
    flops: _b.int
    graph: _t.Any
    modules: _b.dict[_t.Any, _t.Any]
    param_bytes: _b.int
    params: _b.int
    rows: _b.list[_t.Any]
    trainable: _b.int
    def __eq__(self, other: _t.Any) -> _t.Any: ...
    __hash__: _t.Any
    def __init__(self, rows: _b.list[_t.Any] = ..., params: _b.int = 0, trainable: _b.int = 0, buffers: _b.int = 0,
                 param_bytes: _b.int = 0, flops: _b.int = 0, graph: _t.Any = None,
                 modules: _b.dict[_t.Any, _t.Any] = ...) -> None: ...
    def save(self, path: _t.Any) -> None:
        """Write the drawing to a file: SVG, or DOT if the name ends in .dot."""
    def svg(self) -> _b.str:
        """Return a drawing of the graph, with the operators of each module on one shade."""
