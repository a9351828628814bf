"""Pooling modules."""

from typing import Any

from ....ir.errors import ArgumentError
from ...api.nn.spatial_arguments import per_dim
from .. import functional as F
from ..base.module import Module

__all__ = ["AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d",
           "AdaptiveMaxPool3d", "AvgPool1d", "AvgPool2d", "AvgPool3d", "FractionalMaxPool2d", "FractionalMaxPool3d", "LPPool1d",
           "LPPool2d", "LPPool3d", "MaxPool1d", "MaxPool2d", "MaxPool3d", "MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d"]


class _Pool(Module):
    """Base of pools: arguments are attributes; `function` with a rank names the function."""

    rank = 0
    function = ""
    _pool: Any

    def __init_subclass__(cls, rank=0, **options):
        super().__init_subclass__(**options)
        if rank:
            cls.rank, cls._pool = rank, staticmethod(getattr(F, f"{cls.function}{rank}d"))


class _MaxPool(_Pool):
    function = "max_pool"
    _repr_fields = "kernel_size= stride= padding= dilation= ceil_mode="

    def __init__(self, kernel_size, stride=None, padding=0, dilation=1, return_indices=False, ceil_mode=False):
        super().__init__()
        self.kernel_size, self.stride = kernel_size, stride if stride is not None else kernel_size
        self.padding, self.dilation = padding, dilation
        self.return_indices, self.ceil_mode = return_indices, ceil_mode

    def forward(self, input):
        return self._pool(input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode,
                          self.return_indices)


class MaxPool1d(_MaxPool, rank=1):
    """The largest element of each window of (N, C, L).

    Parameters
    ----------
    kernel_size, stride, dilation : int or tuple of one
        Size of the window, distance of windows (by default the size), and distance of elements in a window.
    padding : int or tuple of one
        Elements of minus infinity that are added on both sides.
    return_indices : bool
        Whether the positions of the largest elements are returned, too: `MaxUnpool2d` takes them.
    ceil_mode : bool
        Whether a last window may reach beyond the edge.

    Shape
    -----
    Input: (N, C, L) or (C, L).

    Examples
    --------
    >>> nn.MaxPool1d(2)(ingot.tensor([[1.0, 3.0, 2.0, 0.0]]))
    tensor([[3., 2.]])
    """


class MaxPool2d(_MaxPool, rank=2):
    """The largest element of each window of (N, C, H, W).

    Parameters
    ----------
    kernel_size, stride, dilation : int or tuple
        Size of the window, distance of windows (by default the size), and distance of elements in a window.
    padding : int or tuple
        Elements of minus infinity that are added on both sides.
    return_indices : bool
        Whether the positions of the largest elements are returned, too: `MaxUnpool2d` takes them.
    ceil_mode : bool
        Whether a last window may reach beyond the edge.

    Shape
    -----
    Input: (N, C, H, W) or (C, H, W).

    Examples
    --------
    >>> nn.MaxPool2d(2)(ingot.arange(16.0).reshape(1, 4, 4))
    tensor([[[ 5.,  7.],
             [13., 15.]]])
    """


class MaxPool3d(_MaxPool, rank=3):
    """The largest element of each window of (N, C, D, H, W)."""


class AvgPool1d(_Pool):
    """The mean of each window of (N, C, L)."""

    _repr_fields = "kernel_size= stride= padding="

    def __init__(self, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
        super().__init__()
        self.kernel_size = per_dim(kernel_size, 1, "AvgPool1d", "kernel_size")
        self.stride = per_dim(stride if stride is not None else kernel_size, 1, "AvgPool1d", "stride")
        self.padding = per_dim(padding, 1, "AvgPool1d", "padding")
        self.ceil_mode, self.count_include_pad = ceil_mode, count_include_pad

    def forward(self, input):
        return F.avg_pool1d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)


class _AvgPool(_Pool):
    function = "avg_pool"
    _repr_fields = "kernel_size= stride= padding="

    def __init__(self, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
        super().__init__()
        self.kernel_size, self.stride = kernel_size, stride if stride is not None else kernel_size
        self.padding, self.ceil_mode = padding, ceil_mode
        self.count_include_pad, self.divisor_override = count_include_pad, divisor_override

    def forward(self, input):
        return self._pool(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad,
                          self.divisor_override)


class AvgPool2d(_AvgPool, rank=2):
    """The mean of each window of (N, C, H, W).

    Parameters
    ----------
    kernel_size, stride : int or tuple
        Size of the window and distance of windows, by default the size.
    padding : int or tuple
        Zeros that are added on both sides.
    ceil_mode : bool
        Whether a last window may reach beyond the edge.
    count_include_pad : bool
        Whether added zeros count in the mean.
    divisor_override : int, optional
        Divisor in place of the number of elements.

    Shape
    -----
    Input: (N, C, H, W) or (C, H, W).

    Examples
    --------
    >>> nn.AvgPool2d(2)(ingot.arange(4.0).reshape(1, 2, 2))
    tensor([[[1.5000]]])
    """


class AvgPool3d(_AvgPool, rank=3):
    """The mean of each window of (N, C, D, H, W)."""


class _AdaptiveAvgPool(_Pool):
    function = "adaptive_avg_pool"
    _repr_fields = "output_size="

    def __init__(self, output_size):
        super().__init__()
        self.output_size = output_size

    def forward(self, input):
        return self._pool(input, self.output_size)


class AdaptiveAvgPool1d(_AdaptiveAvgPool, rank=1):
    """The mean of each of `output_size` even bins of (N, C, L)."""


class AdaptiveAvgPool2d(_AdaptiveAvgPool, rank=2):
    """The mean of each of `output_size` even bins of (N, C, H, W).

    Parameters
    ----------
    output_size : int or tuple
        Sizes of the result; None in a tuple keeps the size of the input.

    Shape
    -----
    Input: (N, C, H, W) or (C, H, W), with any H and W.

    Examples
    --------
    >>> nn.AdaptiveAvgPool2d(1)(ingot.ones(2, 8, 7, 9)).shape
    ingot.Size([2, 8, 1, 1])
    """


class AdaptiveAvgPool3d(_AdaptiveAvgPool, rank=3):
    """The mean of each of `output_size` even bins of (N, C, D, H, W)."""


class _AdaptiveMaxPool(_Pool):
    function = "adaptive_max_pool"
    _repr_fields = "output_size="

    def __init__(self, output_size, return_indices=False):
        super().__init__()
        self.output_size, self.return_indices = output_size, return_indices

    def forward(self, input):
        return self._pool(input, self.output_size, self.return_indices)


class AdaptiveMaxPool1d(_AdaptiveMaxPool, rank=1):
    """The largest element of each of `output_size` even bins of (N, C, L)."""


class AdaptiveMaxPool2d(_AdaptiveMaxPool, rank=2):
    """The largest element of each of `output_size` even bins of (N, C, H, W).

    Parameters
    ----------
    output_size : int or tuple
        Sizes of the result; None in a tuple keeps the size of the input.
    return_indices : bool
        Whether the positions of the largest elements are returned, too.

    Shape
    -----
    Input: (N, C, H, W) or (C, H, W), with any H and W.

    Examples
    --------
    >>> nn.AdaptiveMaxPool2d((2, 1))(ingot.ones(1, 3, 7, 5)).shape
    ingot.Size([1, 3, 2, 1])
    """


class AdaptiveMaxPool3d(_AdaptiveMaxPool, rank=3):
    """The largest element of each of `output_size` even bins of (N, C, D, H, W)."""


class _LPPool(_Pool):
    function = "lp_pool"
    _repr_fields = "norm_type= kernel_size= stride= ceil_mode="

    def __init__(self, norm_type, kernel_size, stride=None, ceil_mode=False):
        super().__init__()
        self.norm_type, self.kernel_size, self.stride, self.ceil_mode = norm_type, kernel_size, stride, ceil_mode

    def forward(self, input):
        return self._pool(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)


class LPPool1d(_LPPool, rank=1):
    """(sum of x ** p) ** (1 / p) over each window of (N, C, L)."""


class LPPool2d(_LPPool, rank=2):
    """(sum of x ** p) ** (1 / p) over each window of (N, C, H, W)."""


class LPPool3d(_LPPool, rank=3):
    """(sum of x ** p) ** (1 / p) over each window of (N, C, D, H, W)."""


class _MaxUnpool(_Pool):
    function = "max_unpool"
    _repr_fields = "kernel_size= stride= padding="

    def __init__(self, kernel_size, stride=None, padding=0):
        super().__init__()
        name = type(self).__name__
        self.kernel_size = per_dim(kernel_size, self.rank, name, "kernel_size")
        self.stride = per_dim(stride if stride is not None else kernel_size, self.rank, name, "stride")
        self.padding = per_dim(padding, self.rank, name, "padding")

    def forward(self, input, indices, output_size=None):
        return self._pool(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool1d(_MaxUnpool, rank=1):
    """The inverse of MaxPool1d: zeros with each value at its old position."""


class MaxUnpool2d(_MaxUnpool, rank=2):
    """The inverse of MaxPool2d: zeros with each value at its old position."""


class MaxUnpool3d(_MaxUnpool, rank=3):
    """The inverse of MaxPool3d: zeros with each value at its old position."""


class _FractionalMaxPool(_Pool):
    function = "fractional_max_pool"

    def __init__(self, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None):
        super().__init__()
        name = type(self).__name__
        if (output_size is None) == (output_ratio is None):
            raise ArgumentError(f"{name} takes either output_size or output_ratio")
        self.kernel_size = per_dim(kernel_size, self.rank, name, "kernel_size")
        self.output_size = None if output_size is None else per_dim(output_size, self.rank, name, "output_size")
        self.output_ratio = output_ratio
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)

    def forward(self, input):
        return self._pool(input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices,
                          self._random_samples)


class FractionalMaxPool2d(_FractionalMaxPool, rank=2):
    """Maxima over windows of (N, C, H, W) at random, non-integer steps."""


class FractionalMaxPool3d(_FractionalMaxPool, rank=3):
    """Maxima over windows of (N, C, D, H, W) at random, non-integer steps."""
