"""Operators of torchvision's compiled extension, made of ingot's; `ops.load_library` of that extension registers them.

All weighted sums of pixels in regions follow one rule. Along each dim a region has places with weights (`Taps`); two of these
select rows of a table of pixels, with weights, for `embedding_bag`, which has gradients.
"""

from typing import NamedTuple

import numpy as np

from ...ir import dtype as dt
from ...ir.errors import ArgumentError
from ...ir.process_state import float_errors
from ...runtime.api.register.register import FUNCTIONS
from ...runtime.api.views.tensor_factories import from_numpy, zeros
from ...runtime.autograd.backward import grad as gradients
from ...runtime.autograd.grad_mode import enable_grad
from ...runtime.core.tensor import Tensor
from ...runtime.nn.functional.embedding import embedding_bag
from ..host.host_call import host
from .register import Library

_BINS = "float spatial_scale, SymInt pooled_height, SymInt pooled_width"
_REGION = f"Tensor rois, {_BINS}"
_SIZES = "SymInt batch_size, SymInt channels, SymInt height, SymInt width"
_STEPS = ("SymInt stride_h, SymInt stride_w, SymInt pad_h, SymInt pad_w, SymInt dilation_h, SymInt dilation_w, SymInt groups, "
          "SymInt offset_groups, bool use_mask")
_QUANTISED = ("Tensor input, Tensor rois, float input_scale, int input_zero_point, float rois_scale, int rois_zero_point, "
              "float spatial_scale, SymInt pooled_height, SymInt pooled_width, int sampling_ratio, bool aligned")


class Taps(NamedTuple):
    """The places that regions read along one dim, and the weight of each: (regions, bins, places)."""

    at: Tensor
    weight: Tensor


def register():
    """Register the operators as `ingot.ops.torchvision`."""
    made = Library("torchvision", "DEF")
    for schema, whole in _OPERATORS.items():
        name = made.define(schema)
        if whole is not None:
            made.impl(name, whole, "" if whole in (nms, _cuda_version) else "CompositeImplicitAutograd")


def _cuda_version():
    return -1                                              # operators of no CUDA release


def nms(dets, scores, iou_threshold):
    """Return indices of the boxes that overlap no better one by more than the threshold, best first."""
    boxes, order = dets.numpy(force=True), np.argsort(-scores.numpy(force=True), kind="stable")
    if boxes.dtype == np.float16:
        boxes = boxes.astype(np.float32)
    areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    chosen = []
    while order.size:
        best, order = order[0], order[1:]
        chosen.append(best)
        low, high = np.maximum(boxes[best, :2], boxes[order, :2]), np.minimum(boxes[best, 2:], boxes[order, 2:])
        common = np.maximum(high - low, 0).prod(1)
        with float_errors(divide="ignore", invalid="ignore"):
            share = common / (areas[best] + areas[order] - common)
        order = order[~(share > np.float64(iou_threshold))]
    return from_numpy(np.array(chosen, np.int64)).to(dets.device)


# Regions.

def roi_align(input, rois, spatial_scale, pooled_height, pooled_width, sampling_ratio, aligned):
    """Return means of bilinear samples in the bins of each region (image, x1, y1, x2, y2)."""
    corner, size = _edges(rois, spatial_scale, 0.5 if aligned else 0.0)
    if not aligned:
        size = size.clamp(min=1)
    return _by_samples(input, rois, corner, size, (pooled_height, pooled_width), sampling_ratio, None)


def ps_roi_align(input, rois, spatial_scale, pooled_height, pooled_width, sampling_ratio):
    """Return `roi_align` where each bin reads channels of its own, and which channels these are."""
    bins = pooled_height, pooled_width
    channels = _channels_of_bins(input, rois, bins)
    corner, size = _edges(rois, spatial_scale, 0.5)
    return _by_samples(input, rois, corner, size, bins, sampling_ratio, bins), channels


def roi_pool(input, rois, spatial_scale, pooled_height, pooled_width):
    """Return maxima of the bins of each region, and their place in the channel (-1: the bin is empty)."""
    bins = pooled_height, pooled_width

    @host
    def largest(input, rois):
        return from_numpy(_largest(input.numpy(force=True), rois.numpy(force=True), spatial_scale, bins)).to(input.device)

    positions = largest(input, rois)
    flat = _images(input, rois).flatten(2)
    found = flat.gather(2, positions.clamp(min=0).to(dt.int64).flatten(2)).reshape(positions.shape)
    return found.masked_fill(positions < 0, 0), positions


def ps_roi_pool(input, rois, spatial_scale, pooled_height, pooled_width):
    """Return means of the pixels of each bin, which reads channels of its own, and which channels these are."""
    bins, pixel_weights = (pooled_height, pooled_width), []
    channels = _channels_of_bins(input, rois, bins)
    for axis, (number, pixels) in enumerate(zip(bins, input.shape[2:])):
        start, end = (_rounded(rois[:, at] * spatial_scale) for at in (2 - axis, 4 - axis))
        size = (end - start).clamp(min=1) / number
        steps = FUNCTIONS["arange"](number, dtype=rois.dtype, device=rois.device)
        first = ((steps * size[:, None]).floor() + start[:, None]).clamp(0, pixels - 1)
        last = (((steps + 1) * size[:, None]).ceil() + start[:, None]).clamp(0, pixels - 1)
        at = FUNCTIONS["arange"](pixels, device=rois.device).expand(*first.shape, pixels)
        inside = ((at >= first[..., None]) & (at < last[..., None])).to(input.dtype)
        pixel_weights.append(Taps(at, inside / inside.sum(-1, keepdim=True).clamp(min=1)))
    down, across = pixel_weights
    return _sums(input, rois, down, across, bins), channels


def _edges(rois, scale, offset):
    """Return the low corners of regions and their sizes, both as (regions, 2): y, then x."""
    low, high = rois[:, [2, 1]] * scale - offset, rois[:, [4, 3]] * scale - offset
    return low, high - low


def _rounded(values):
    """Round to whole numbers, halves away from zero."""
    return (values.abs() + 0.5).floor() * values.sign()


def _by_samples(input, rois, corner, size, bins, sampling_ratio, own):
    """Return means of samples. Without a ratio their number grows with the bins; regions of one number of samples run together.
    """
    if sampling_ratio > 0:
        return _of_samples(input, rois, corner, size, bins, (sampling_ratio, sampling_ratio), own)
    sizes = size.numpy(force=True)
    counts = np.maximum(np.ceil(sizes / np.array(bins, sizes.dtype)), 0).astype(int)
    kinds, which = np.unique(counts, axis=0, return_inverse=True)
    channels = input.shape[1] // (own[0] * own[1] if own else 1)
    result = zeros((len(counts), channels, *bins), dtype=input.dtype, device=input.device)
    for number, samples in enumerate(kinds.tolist()):
        rows = from_numpy(np.flatnonzero(which.reshape(-1) == number)).to(input.device)
        if all(samples):
            made = _of_samples(input, rois[rows], corner[rows], size[rows], bins, samples, own)
            result = result.index_copy(0, rows, made)
    return result


def _of_samples(input, rois, corner, size, bins, samples, own):
    down, across = [_bilinear(corner[:, axis], size[:, axis] / bins[axis], bins[axis], samples[axis], pixels)
                    for axis, pixels in enumerate(input.shape[2:])]
    return _sums(input, rois, down, across, own)


def _bilinear(start, size, bins, samples, pixels):
    """Return the pixels beside the samples of each bin along one dim; samples beyond the border's pixel have weight 0."""
    steps = FUNCTIONS["arange"](bins, dtype=start.dtype, device=start.device)[:, None]
    within = (FUNCTIONS["arange"](samples, dtype=start.dtype, device=start.device) + 0.5) / samples
    at = start[:, None, None] + (steps + within) * size[:, None, None]
    inside = ((at >= -1) & (at <= pixels)).to(start.dtype) / samples
    at = at.clamp(0, pixels - 1)
    low = at.floor()
    part = at - low
    low = low.to(dt.int64)
    return Taps(FUNCTIONS["cat"]([low, (low + 1).clamp(max=pixels - 1)], -1),
                FUNCTIONS["cat"]([(1 - part) * inside, part * inside], -1))


def _sums(input, rois, down, across, own):
    """Return weighted sums of pixels, as (regions, channels, bins down, bins across). With `own`, the numbers of bins, channels
    are ordered by bin, and each bin reads its own."""
    images, channels, height, width = input.shape
    bins = down.at.shape[1], across.at.shape[1]
    groups = bins[0] * bins[1] if own else 1
    per_bin = channels // groups
    table = input.reshape(images, per_bin, groups, height, width).permute(0, 3, 4, 2, 1).reshape(-1, per_bin)
    rows = rois[:, 0].to(dt.int64)[:, None, None, None, None] * height + down.at[:, :, None, :, None]
    rows = rows * width + across.at[:, None, :, None, :]
    if own:
        group = FUNCTIONS["arange"](groups, device=input.device).reshape(1, *bins, 1, 1)
        rows = rows * groups + group
    pixels = rows.shape[3] * rows.shape[4]
    weights = (down.weight[:, :, None, :, None] * across.weight[:, None, :, None, :]).to(input.dtype).reshape(-1, pixels)
    sums = embedding_bag(rows.reshape(-1, pixels), table, mode="sum", per_sample_weights=weights)
    return sums.reshape(rows.shape[0], *bins, per_bin).permute(0, 3, 1, 2).contiguous()


def _channels_of_bins(input, rois, bins):
    """Return the channel that each result of a region reads."""
    groups = bins[0] * bins[1]
    if input.shape[1] % groups:
        raise ArgumentError(f"{input.shape[1]} channels cannot be shared out over {bins[0]} x {bins[1]} bins")
    one = FUNCTIONS["arange"](input.shape[1], dtype=dt.int32, device=input.device).reshape(-1, *bins)
    return one.expand(rois.shape[0], *one.shape).contiguous()


def _images(input, rois):
    return input[rois[:, 0].to(dt.int64)]


def _largest(images, rois, scale, bins):
    """Return the place of the largest pixel of each bin, by channel."""
    height, width = images.shape[2:]
    result = np.full((len(rois), images.shape[1], *bins), -1, np.int32)
    scaled = rois[:, 1:] * rois.dtype.type(scale)
    edges = (np.sign(scaled) * np.floor(np.abs(scaled) + 0.5)).astype(int)
    for region, (x1, y1, x2, y2) in enumerate(edges.tolist()):
        image = images[int(rois[region, 0])]
        rows, columns = (_whole_bins(a, max(b - a + 1, 1), number, pixels, rois.dtype.type)
                         for a, b, number, pixels in ((y1, y2, bins[0], height), (x1, x2, bins[1], width)))
        for i, (top, bottom) in enumerate(rows):
            for j, (left, right) in enumerate(columns):
                if bottom > top and right > left:
                    part = image[:, top:bottom, left:right]
                    down, across = np.divmod(part.reshape(len(part), -1).argmax(1), right - left)
                    result[region, :, i, j] = (top + down) * width + left + across
    return result


def _whole_bins(start, size, number, pixels, kind):
    """Return begin and end of a region's bins along one dim, in whole pixels."""
    step = kind(size) / kind(number)
    return [(min(max(int(np.floor(kind(i) * step)) + start, 0), pixels),
             min(max(int(np.ceil(kind(i + 1) * step)) + start, 0), pixels)) for i in range(number)]


# Convolutions.

def deform_conv2d(input, weight, offset, mask, bias, stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w, groups,
                  offset_groups, use_mask):
    """Return a convolution whose taps are moved by `offset`, and multiplied by `mask`."""
    images, channels, height, width = input.shape
    made, _, down, across = weight.shape
    out_h = (height + 2 * pad_h - dilation_h * (down - 1) - 1) // stride_h + 1
    out_w = (width + 2 * pad_w - dilation_w * (across - 1) - 1) // stride_w + 1
    points = down * across
    offsets = offset.reshape(images, offset_groups, points, 2, out_h, out_w)
    y = offsets[:, :, :, 0] + _grid(input, out_h, stride_h, pad_h, down, dilation_h).reshape(down, 1, out_h, 1).expand(
        down, across, out_h, out_w).reshape(points, out_h, out_w)
    x = offsets[:, :, :, 1] + _grid(input, out_w, stride_w, pad_w, across, dilation_w).reshape(1, across, 1, out_w).expand(
        down, across, out_h, out_w).reshape(points, out_h, out_w)
    seen = _sampled(input.reshape(images, offset_groups, channels // offset_groups, height * width), y, x, height, width)
    if use_mask:
        seen = seen * mask.reshape(images, offset_groups, 1, points, out_h, out_w)
    columns = seen.reshape(images, groups, channels // groups * points, out_h * out_w)
    result = weight.reshape(groups, made // groups, -1) @ columns
    return result.reshape(images, made, out_h, out_w) + bias.reshape(-1, 1, 1)


def _grid(input, results, stride, padding, count, dilation):
    """Return the places of taps along one dim before they are moved: (taps, results)."""
    of = FUNCTIONS["arange"](results, dtype=input.dtype, device=input.device) * stride - padding
    return FUNCTIONS["arange"](count, dtype=input.dtype, device=input.device)[:, None] * dilation + of


def _sampled(pixels, y, x, height, width):
    """Return bilinear samples, 0 beyond the image. Pixels are (images, groups, channels, all), places (images, groups, taps,
    rows, columns)."""
    low_y, low_x = y.detach().floor(), x.detach().floor()
    total = 0
    for row, down in ((low_y, 1 - (y - low_y)), (low_y + 1, y - low_y)):
        for column, across in ((low_x, 1 - (x - low_x)), (low_x + 1, x - low_x)):
            inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
            at = row.clamp(0, height - 1).to(dt.int64) * width + column.clamp(0, width - 1).to(dt.int64)
            found = pixels.gather(3, at.flatten(2)[:, :, None].expand(-1, -1, pixels.shape[2], -1))
            total = total + found.reshape(*pixels.shape[:3], *y.shape[2:]) * (down * across * inside.to(y.dtype))[:, :, None]
    return total


# Gradients, which torchvision's own rules call; the operators above have theirs.

def _gradient(call, grad, *inputs):
    """Return the gradients of a function's results for new leaves."""
    with enable_grad():
        leaves = [t.detach().requires_grad_() for t in inputs]
        return gradients(call(*leaves), leaves, grad, allow_unused=True, materialize_grads=True)


def _like_input(grad, *sizes):
    return zeros(sizes, dtype=grad.dtype, device=grad.device)


def _roi_align_backward(grad, rois, spatial_scale, pooled_height, pooled_width, batch_size, channels, height, width,
                        sampling_ratio, aligned):
    return _gradient(lambda x: roi_align(x, rois, spatial_scale, pooled_height, pooled_width, sampling_ratio, aligned),
                     grad, _like_input(grad, batch_size, channels, height, width))[0]


def _roi_pool_backward(grad, rois, argmax, spatial_scale, pooled_height, pooled_width, batch_size, channels, height, width):
    spread = _like_input(grad, grad.shape[0], channels, height * width).scatter_add(
        2, argmax.clamp(min=0).to(dt.int64).flatten(2), grad.masked_fill(argmax < 0, 0).flatten(2))
    whole = _like_input(grad, batch_size, channels, height * width).index_add(0, rois[:, 0].to(dt.int64), spread)
    return whole.reshape(batch_size, channels, height, width)


def _ps_roi_align_backward(grad, rois, channel_mapping, spatial_scale, pooled_height, pooled_width, sampling_ratio, batch_size,
                           channels, height, width):
    return _gradient(lambda x: ps_roi_align(x, rois, spatial_scale, pooled_height, pooled_width, sampling_ratio)[0],
                     grad, _like_input(grad, batch_size, channels, height, width))[0]


def _ps_roi_pool_backward(grad, rois, channel_mapping, spatial_scale, pooled_height, pooled_width, batch_size, channels, height,
                          width):
    return _gradient(lambda x: ps_roi_pool(x, rois, spatial_scale, pooled_height, pooled_width)[0],
                     grad, _like_input(grad, batch_size, channels, height, width))[0]


def _deform_conv2d_backward(grad, input, weight, offset, mask, bias, *steps):
    return _gradient(lambda *tensors: deform_conv2d(*tensors, *steps), grad, input, weight, offset, mask, bias)


_OPERATORS = {
    "_cuda_version() -> int": _cuda_version,
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor": nms,
    f"roi_align(Tensor input, {_REGION}, int sampling_ratio, bool aligned) -> Tensor": roi_align,
    f"roi_pool(Tensor input, {_REGION}) -> (Tensor, Tensor)": roi_pool,
    f"ps_roi_align(Tensor input, {_REGION}, int sampling_ratio) -> (Tensor, Tensor)": ps_roi_align,
    f"ps_roi_pool(Tensor input, {_REGION}) -> (Tensor, Tensor)": ps_roi_pool,
    f"deform_conv2d(Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, {_STEPS}) -> Tensor": deform_conv2d,
    f"_roi_align_backward(Tensor grad, {_REGION}, {_SIZES}, int sampling_ratio, bool aligned) -> Tensor": _roi_align_backward,
    f"_roi_pool_backward(Tensor grad, Tensor rois, Tensor argmax, {_BINS}, {_SIZES}) -> Tensor":
        _roi_pool_backward,
    f"_ps_roi_align_backward(Tensor grad, Tensor rois, Tensor channel_mapping, {_BINS}, int sampling_ratio, {_SIZES}) "
    "-> Tensor": _ps_roi_align_backward,
    f"_ps_roi_pool_backward(Tensor grad, Tensor rois, Tensor channel_mapping, {_BINS}, {_SIZES}) -> Tensor":
        _ps_roi_pool_backward,
    "_deform_conv2d_backward(Tensor grad, Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, "
    f"{_STEPS}) -> (Tensor, Tensor, Tensor, Tensor, Tensor)": _deform_conv2d_backward,
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor": None,
    f"qroi_align({_QUANTISED}) -> Tensor": None,
    "box_iou_rotated(Tensor boxes1, Tensor boxes2) -> Tensor": None,
}
