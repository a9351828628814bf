"""Convolution modules, Unfold and Fold."""

import math
from typing import Any

from ....ir.errors import ArgumentError, ShapeError
from ....ir.suggestions import unknown_choice
from ....ir.symbols.substitute import as_int
from ...api.nn.spatial_arguments import per_dim
from .. import functional as F
from ..base import init
from ..base.lazy_modules import LazyModuleMixin
from ..base.module import Module
from ..base.parameter import UninitializedParameter, is_lazy, without_shape
from .linear import empty_parameter

__all__ = ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", "Fold", "LazyConv1d",
           "LazyConv2d", "LazyConv3d", "LazyConvTranspose1d", "LazyConvTranspose2d", "LazyConvTranspose3d", "Unfold"]

_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


class _ConvNd(Module):
    """Base of convolutions. The weight is (out, in / groups, *kernel), or (in, out / groups, *kernel) if transposed."""

    rank = 0
    transposed = False

    def __init_subclass__(cls, rank=0, **options):
        super().__init_subclass__(**options)
        cls.rank = rank or cls.rank

    def __init__(self, in_channels, out_channels, kernel_size, stride, padding, dilation, output_padding, groups, bias,
                 padding_mode, device, dtype):
        super().__init__()
        name = type(self).__name__
        if groups < 1 or in_channels % groups or out_channels % groups:
            raise ArgumentError(f"{name}: in_channels {in_channels} and out_channels {out_channels} must be divisible "
                                f"by groups={groups}")
        if padding_mode not in _PADDING_MODES:
            raise unknown_choice(f"{name}: padding_mode", padding_mode, _PADDING_MODES)
        self.in_channels, self.out_channels, self.groups, self.padding_mode = in_channels, out_channels, groups, padding_mode
        self.kernel_size = per_dim(kernel_size, self.rank, name, "kernel_size")
        self.stride = per_dim(stride, self.rank, name, "stride")
        self.dilation = per_dim(dilation, self.rank, name, "dilation")
        self.output_padding = per_dim(output_padding, self.rank, name, "output_padding")
        self.padding = self._check_padding(padding, name)
        self.weight = empty_parameter(self._weight_shape(), device, dtype)
        self.register_parameter("bias", empty_parameter((out_channels,), device, dtype) if bias else None)
        self.reset_parameters()

    def _check_padding(self, padding, name):
        if not isinstance(padding, str):
            return per_dim(padding, self.rank, name, "padding")
        if padding not in ("valid", "same"):
            raise ArgumentError(f"{name}: padding must be numbers, 'valid' or 'same', got {padding!r}")
        if padding == "same" and any(s != 1 for s in self.stride):
            raise ArgumentError(f"{name}: padding='same' needs stride 1, got {self.stride}")
        return padding

    def _weight_shape(self):
        outer, inner = (self.in_channels, self.out_channels) if self.transposed else (self.out_channels, self.in_channels)
        return (outer, inner // self.groups, *self.kernel_size)

    def reset_parameters(self):
        """Initialise uniformly in +-1/sqrt(weights per output)."""
        if self.weight.numel():
            init.kaiming_uniform_(self.weight, a=math.sqrt(5))
            if self.bias is not None:
                init.uniform_around_zero(self.bias, math.prod(self.weight.shape[1:]))

    @property
    def _reversed_padding_repeated_twice(self):
        """Return the padding in the order of functional.pad."""
        if self.padding == "valid":
            return [0] * (2 * self.rank)
        if self.padding == "same":
            totals = [d * (k - 1) for d, k in zip(self.dilation, self.kernel_size)]
            return [side for t in reversed(totals) for side in (t // 2, t - t // 2)]
        return [p for p in reversed(self.padding) for _ in range(2)]

    def forward(self, input):
        return self._conv_forward(input, self.weight, self.bias)

    def _conv_forward(self, input, weight, bias):
        convolve = _FORWARD[self.rank]
        if self.padding_mode == "zeros":
            return convolve(input, weight, bias, self.stride, self.padding, self.dilation, self.groups)
        padded = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
        return convolve(padded, weight, bias, self.stride, 0, self.dilation, self.groups)

    def extra_repr(self):
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        plain = {"padding": (0,) * self.rank, "dilation": (1,) * self.rank, "output_padding": (0,) * self.rank, "groups": 1}
        for name, usual in plain.items():
            if getattr(self, name) != usual:
                text += f", {name}={getattr(self, name)}"
        if self.bias is None:
            text += ", bias=False"
        return text if self.padding_mode == "zeros" else f"{text}, padding_mode={self.padding_mode}"


class _Forward(_ConvNd):
    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True,
                 padding_mode="zeros", device=None, dtype=None):
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, 0, groups, bias, padding_mode,
                         device, dtype)


class Conv1d(_Forward, rank=1):
    """Convolution over (N, C, L).

    Parameters
    ----------
    in_channels, out_channels : int
        Channels of the input and of the result.
    kernel_size, stride, dilation : int or tuple
        Size of the window, distance of windows, and distance of elements in a window; an int holds for each dimension.
    padding : int, tuple or {"valid", "same"}
        Elements added on both sides of each dimension. "same" keeps the size and takes stride 1 alone.
    groups : int
        Number of groups into which channels are split. With `groups=in_channels` each channel is convolved on its own.
    bias : bool
        Whether a bias is added.
    padding_mode : {"zeros", "reflect", "replicate", "circular"}
        Values of added elements.
    device, dtype : optional
        Of the parameters; by default the current defaults.

    Shape
    -----
    Input: (N, C, L) or (C, L). `weight`: (out_channels, in_channels / groups, kernel_size).

    Examples
    --------
    >>> nn.Conv1d(4, 8, 3, padding="same")(ingot.ones(2, 4, 10)).shape
    ingot.Size([2, 8, 10])
    """


class Conv2d(_Forward, rank=2):
    """Convolution over (N, C, H, W).

    Parameters
    ----------
    in_channels, out_channels : int
        Channels of the input and of the result.
    kernel_size, stride, dilation : int or tuple
        Size of the window, distance of windows, and distance of elements in a window; an int holds for each dimension.
    padding : int, tuple or {"valid", "same"}
        Elements added on both sides of each dimension. "same" keeps the size and takes stride 1 alone.
    groups : int
        Number of groups into which channels are split. With `groups=in_channels` each channel is convolved on its own.
    bias : bool
        Whether a bias is added.
    padding_mode : {"zeros", "reflect", "replicate", "circular"}
        Values of added elements.
    device, dtype : optional
        Of the parameters; by default the current defaults.

    Shape
    -----
    Input: (N, C, H, W) or (C, H, W). Each size becomes (size + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1.

    Examples
    --------
    >>> nn.Conv2d(3, 8, kernel_size=3, stride=2, padding=1)(ingot.ones(1, 3, 32, 32)).shape
    ingot.Size([1, 8, 16, 16])
    """


class Conv3d(_Forward, rank=3):
    """Convolution over (N, C, D, H, W).

    Parameters
    ----------
    in_channels, out_channels : int
        Channels of the input and of the result.
    kernel_size, stride, dilation : int or tuple
        Size of the window, distance of windows, and distance of elements in a window; an int holds for each dimension.
    padding : int, tuple or {"valid", "same"}
        Elements added on both sides of each dimension. "same" keeps the size and takes stride 1 alone.
    groups : int
        Number of groups into which channels are split. With `groups=in_channels` each channel is convolved on its own.
    bias : bool
        Whether a bias is added.
    padding_mode : {"zeros", "reflect", "replicate", "circular"}
        Values of added elements.
    device, dtype : optional
        Of the parameters; by default the current defaults.

    Shape
    -----
    Input: (N, C, D, H, W) or (C, D, H, W).

    Examples
    --------
    >>> nn.Conv3d(1, 2, 3)(ingot.ones(1, 1, 5, 5, 5)).shape
    ingot.Size([1, 2, 3, 3, 3])
    """


class _Transposed(_ConvNd):
    transposed = True

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, output_padding=0, groups=1, bias=True,
                 dilation=1, padding_mode="zeros", device=None, dtype=None):
        if padding_mode != "zeros":
            raise ArgumentError(f"{type(self).__name__} has only padding_mode 'zeros', got {padding_mode!r}")
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, output_padding, groups, bias,
                         padding_mode, device, dtype)

    def _output_padding(self, input, output_size):
        if output_size is None:
            return self.output_padding
        target = tuple(as_int(n) for n in output_size)[-self.rank:]
        sizes = input.shape[-self.rank:]
        smallest = tuple((n - 1) * s - 2 * p + d * (k - 1) + 1
                         for n, s, p, d, k in zip(sizes, self.stride, self.padding, self.dilation, self.kernel_size))
        extra = tuple(w - m for w, m in zip(target, smallest))
        if len(target) != self.rank or any(not 0 <= e < s for e, s in zip(extra, self.stride)):
            raise ShapeError(f"{type(self).__name__}: output_size {list(output_size)} must be {smallest} or less than a "
                             f"stride {self.stride} more")
        return extra

    def forward(self, input, output_size=None):
        return _TRANSPOSED[self.rank](input, self.weight, self.bias, self.stride, self.padding,
                                      self._output_padding(input, output_size), self.groups, self.dilation)


class ConvTranspose1d(_Transposed, rank=1):
    """Transposed convolution over (N, C, L)."""


class ConvTranspose2d(_Transposed, rank=2):
    """Transposed convolution over (N, C, H, W).

    Parameters
    ----------
    in_channels, out_channels : int
        Channels of the input and of the result.
    kernel_size, stride, dilation : int or tuple
        Size of the window, distance of windows, and distance of elements in a window; an int holds for each dimension.
    padding : int or tuple
        Elements taken away on both sides of each dimension of the result.
    output_padding : int or tuple
        Elements added at the end of each dimension of the result.
    groups : int
        Number of groups into which channels are split. With `groups=in_channels` each channel is convolved on its own.
    bias : bool
        Whether a bias is added.
    padding_mode : {"zeros"}
        The only mode.
    device, dtype : optional
        Of the parameters; by default the current defaults.

    Shape
    -----
    Input: (N, C, H, W) or (C, H, W). Each size becomes (size - 1) * stride - 2 * padding + dilation * (kernel - 1) +
    output_padding + 1.

    Examples
    --------
    >>> nn.ConvTranspose2d(8, 3, kernel_size=4, stride=2, padding=1)(ingot.ones(1, 8, 16, 16)).shape
    ingot.Size([1, 3, 32, 32])
    """


class ConvTranspose3d(_Transposed, rank=3):
    """Transposed convolution over (N, C, D, H, W)."""


_FORWARD = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
_TRANSPOSED = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}


class _LazyConv(LazyModuleMixin):
    """A convolution that takes in_channels from its first input."""

    weight: Any
    bias: Any

    def _defer_shapes(self, out_channels, bias, device, dtype):
        """Replace parameters of no channels by ones without shape."""
        self.out_channels = out_channels
        self.weight = without_shape(UninitializedParameter, self.weight)
        if bias:
            self.bias = empty_parameter((out_channels,), device, dtype)

    def reset_parameters(self):
        if not is_lazy(self.weight) and self.in_channels:
            super().reset_parameters()  # type: ignore[misc]

    def initialize_parameters(self, input, *args, **kwargs):
        """Set the shapes of parameters by an input. `args` and `kwargs` are ignored: channels alone decide."""
        self.in_channels = input.shape[-1 - self.rank]
        if self.in_channels % self.groups:
            raise ArgumentError(f"{type(self).__name__}: the {self.in_channels} channels of the input must be divisible by "
                                f"groups={self.groups}")
        self.weight.materialize(self._weight_shape())
        self.reset_parameters()


class _LazyForward(_LazyConv):
    def __init__(self, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True, padding_mode="zeros",
                 device=None, dtype=None):
        super().__init__(0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode, device, dtype)
        self._defer_shapes(out_channels, bias, device, dtype)


class _LazyTransposed(_LazyConv):
    def __init__(self, out_channels, kernel_size, stride=1, padding=0, output_padding=0, groups=1, bias=True, dilation=1,
                 padding_mode="zeros", device=None, dtype=None):
        super().__init__(0, 0, kernel_size, stride, padding, output_padding, groups, False, dilation, padding_mode, device,
                         dtype)
        self._defer_shapes(out_channels, bias, device, dtype)


class LazyConv1d(_LazyForward, Conv1d, becomes=Conv1d):
    """Conv1d that takes in_channels from its first input."""


class LazyConv2d(_LazyForward, Conv2d, becomes=Conv2d):
    """Conv2d that takes in_channels from its first input."""


class LazyConv3d(_LazyForward, Conv3d, becomes=Conv3d):
    """Conv3d that takes in_channels from its first input."""


class LazyConvTranspose1d(_LazyTransposed, ConvTranspose1d, becomes=ConvTranspose1d):
    """ConvTranspose1d that takes in_channels from its first input."""


class LazyConvTranspose2d(_LazyTransposed, ConvTranspose2d, becomes=ConvTranspose2d):
    """ConvTranspose2d that takes in_channels from its first input."""


class LazyConvTranspose3d(_LazyTransposed, ConvTranspose3d, becomes=ConvTranspose3d):
    """ConvTranspose3d that takes in_channels from its first input."""


class Unfold(Module):
    """All windows of images as columns."""

    _repr_fields = "kernel_size= dilation= padding= stride="

    def __init__(self, kernel_size, dilation=1, padding=0, stride=1):
        super().__init__()
        self.kernel_size, self.dilation, self.padding, self.stride = kernel_size, dilation, padding, stride

    def forward(self, input):
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)


class Fold(Module):
    """The adjoint of Unfold: columns added into images."""

    _repr_fields = "output_size= kernel_size= dilation= padding= stride="

    def __init__(self, output_size, kernel_size, dilation=1, padding=0, stride=1):
        super().__init__()
        self.output_size, self.kernel_size, self.dilation = output_size, kernel_size, dilation
        self.padding, self.stride = padding, stride

    def forward(self, input):
        return F.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)
