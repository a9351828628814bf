"""Resizing modules: interpolation, and moves of elements between channels and space."""

from .. import functional as F
from ..base.module import Module


class Upsample(Module):
    """Interpolation of the spatial dims to another size.

    Parameters
    ----------
    size : int or tuple, optional
        Sizes of the result.
    scale_factor : float or tuple, optional
        Factor of sizes, in place of `size`.
    mode : {"nearest", "nearest-exact", "linear", "bilinear", "bicubic", "trilinear"}
        Kind of interpolation.
    align_corners : bool, optional
        Whether the centres of corner elements stay at the corners.
    recompute_scale_factor : bool, optional
        Whether the factor is computed again from the sizes, which are whole numbers.

    Shape
    -----
    Input: (N, C, ...) with one to three spatial dimensions.

    Examples
    --------
    >>> nn.Upsample(scale_factor=2)(ingot.ones(1, 3, 4, 4)).shape
    ingot.Size([1, 3, 8, 8])
    """

    def __init__(self, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None):
        super().__init__()
        self.size = size
        self.scale_factor = (tuple(float(f) for f in scale_factor) if isinstance(scale_factor, (tuple, list))
                             else float(scale_factor) if scale_factor else None)
        self.mode, self.align_corners, self.recompute_scale_factor = mode, align_corners, recompute_scale_factor

    def forward(self, input):
        return F.interpolate(input, self.size, self.scale_factor, self.mode, self.align_corners, self.recompute_scale_factor)

    def extra_repr(self):
        what = f"scale_factor={self.scale_factor!r}" if self.scale_factor is not None else f"size={self.size!r}"
        return f"{what}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """Upsample with mode nearest."""

    def __init__(self, size=None, scale_factor=None):
        super().__init__(size, scale_factor, "nearest")


class UpsamplingBilinear2d(Upsample):
    """Upsample with mode bilinear and aligned corners."""

    def __init__(self, size=None, scale_factor=None):
        super().__init__(size, scale_factor, "bilinear", True)


class PixelShuffle(Module):
    """The reshape of (..., C * r * r, H, W) to (..., C, H * r, W * r).

    Parameters
    ----------
    upscale_factor : int
        Factor r of height and width.

    Shape
    -----
    Input: (..., C * r * r, H, W). Output: (..., C, H * r, W * r).

    Examples
    --------
    >>> nn.PixelShuffle(2)(ingot.ones(1, 8, 3, 3)).shape
    ingot.Size([1, 2, 6, 6])
    """

    _repr_fields = "upscale_factor="

    def __init__(self, upscale_factor):
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input):
        return F.pixel_shuffle(input, self.upscale_factor)


class PixelUnshuffle(Module):
    """The reshape of (..., C, H * r, W * r) to (..., C * r * r, H, W)."""

    _repr_fields = "downscale_factor="

    def __init__(self, downscale_factor):
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input):
        return F.pixel_unshuffle(input, self.downscale_factor)


class ChannelShuffle(Module):
    """An interleaving of the channels of `groups` groups."""

    _repr_fields = "groups="

    def __init__(self, groups):
        super().__init__()
        self.groups = groups

    def forward(self, input):
        return F.channel_shuffle(input, self.groups)
