"""Pixel shuffle: elements moved between channels and space."""

from ....ir.errors import ArgumentError, ShapeError
from ....ir.ops.core import elementwise as ew
from ....ir.ops.core.shape import permute, reshape
from ....ir.ops.nn.resample import grid_sample
from ..register.register import api


def _image(input, name):
    if input.ndim < 3:
        raise ShapeError(f"{name} takes [..., C, H, W], got {input.aval}")
    return tuple(input.shape[:-3]), tuple(input.shape[-3:])


def _rearranged(parts, order, shape):
    """Return the parts in another order, always in new memory."""
    permuted = reshape(permute(parts, dims=order).contiguous(), shape=shape)
    sized = [d for d in order if parts.shape[d] != 1]
    return ew.copy(permuted) if sized == sorted(sized) else permuted      # a permutation that moves nothing is a view


@api(method=False, memoised=True)
def pixel_shuffle(input, upscale_factor):
    """Rearrange (..., C * r * r, H, W) to (..., C, H * r, W * r)."""
    lead, (c, h, w) = _image(input, "pixel_shuffle")
    r, n = int(upscale_factor), len(lead)
    if r < 1 or c % (r * r):
        raise ArgumentError(f"pixel_shuffle of {input.aval}: the channels must be divisible by the squared upscale_factor {r}")
    parts = reshape(input.contiguous(), shape=(*lead, c // (r * r), r, r, h, w))
    order = (*range(n), n, n + 3, n + 1, n + 4, n + 2)
    return _rearranged(parts, order, (*lead, c // (r * r), h * r, w * r))


@api(method=False, memoised=True)
def pixel_unshuffle(input, downscale_factor):
    """Rearrange (..., C, H * r, W * r) to (..., C * r * r, H, W)."""
    lead, (c, h, w) = _image(input, "pixel_unshuffle")
    r, n = int(downscale_factor), len(lead)
    if r < 1 or h % r or w % r:
        raise ArgumentError(f"pixel_unshuffle of {input.aval}: height and width must be divisible by downscale_factor {r}")
    parts = reshape(input.contiguous(), shape=(*lead, c, h // r, r, w // r, r))
    order = (*range(n), n, n + 2, n + 4, n + 1, n + 3)
    return _rearranged(parts, order, (*lead, c * r * r, h // r, w // r))


@api(method=False, names=("native_channel_shuffle",), memoised=True)
def channel_shuffle(input, groups):
    """Interleave the channels (dim 1) of `groups` groups."""
    if input.ndim < 3:
        raise ShapeError(f"channel_shuffle takes [N, C, *spatial], got {input.aval}")
    n, c, *sizes = input.shape
    if groups < 1 or c % groups:
        raise ArgumentError(f"channel_shuffle of {input.aval}: the channels must be divisible by groups={groups}")
    parts = reshape(input, shape=(n, groups, c // groups, *sizes))
    return _rearranged(parts, (0, 2, 1, *range(3, parts.ndim)), (n, c, *sizes))


native_channel_shuffle = channel_shuffle

_SAMPLING = ("linear", "nearest", "cubic")
_PADDING = ("zeros", "border", "reflection")


@api(method=False, names=("grid_sampler_2d", "grid_sampler_3d"), memoised=True)
def grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners):
    """Call grid_sample with modes as numbers: 0 bilinear, 1 nearest, 2 bicubic; 0 zeros, 1 border, 2 reflection."""
    if interpolation_mode not in (0, 1, 2) or padding_mode not in (0, 1, 2):
        raise ArgumentError(f"grid_sampler takes modes 0, 1 or 2, got {interpolation_mode} and {padding_mode}")
    return grid_sample(input, grid, mode=_SAMPLING[interpolation_mode], padding_mode=_PADDING[padding_mode],
                       align_corners=bool(align_corners))
