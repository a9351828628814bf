"""Unfold and fold; convolutions are those of `ingot`."""

from ....ir.errors import ShapeError
from ....ir.ops.nn import conv as ops
from ...api.nn.spatial_arguments import as_batch, per_dim, positive, symmetric, unbatch
from ...api.register.register import memoised
from ...core.tensor import Tensor


def _geometry(name, kernel_size, dilation, padding, stride):
    return {"kernel": positive(per_dim(kernel_size, 2, name, "kernel_size"), name, "kernel_size"),
            "stride": positive(per_dim(stride, 2, name, "stride"), name, "stride"),
            "padding": symmetric(per_dim(padding, 2, name, "padding")),
            "dilation": positive(per_dim(dilation, 2, name, "dilation"), name, "dilation")}


@memoised
def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    """Return all windows of images (N, C, H, W) as columns (N, C * kernel, windows)."""
    x, added = as_batch(input, 2, "unfold")
    return unbatch(ops.im2col(x, **_geometry("unfold", kernel_size, dilation, padding, stride)), added)


@memoised
def fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1):
    """Add columns (N, C * kernel, windows) into images of `output_size`: the adjoint of unfold."""
    if not isinstance(input, Tensor) or input.ndim not in (2, 3):
        raise ShapeError(f"fold takes columns [N, C * kernel, windows] or without N, got {getattr(input, 'aval', type(input))}")
    added = input.ndim == 2
    x = input.reshape(1, *input.shape) if added else input
    size = per_dim(output_size, 2, "fold", "output_size")
    return unbatch(ops.col2im(x, size=size, **_geometry("fold", kernel_size, dilation, padding, stride)), added)
