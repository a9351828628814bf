"""`ingot.ops.torchvision`, the operators of torchvision's extension: each beside its definition and its gradients."""

import itertools
import math

import numpy as np
import pytest

import ingot

ingot.ops.load_library("anywhere/torchvision/_C.so")
OPS = ingot.ops.torchvision
SCALE, BINS = 0.4, (2, 3)


def regions(kind=np.float64):
    """Regions of two images of 9 x 11 pixels: inside, across borders, beyond them, small, of no size, turned over."""
    return np.array([[0, 2, 3, 19, 17], [1, -9, -6, 13, 11], [0, 20, 15, 40, 36], [1, 60, 50, 70, 60], [0, 5, 5, 5.5, 5.2],
                     [1, 6, 6, 6, 6], [0, 12, 12, 8, 7]], kind)


def images(channels=6, kind=np.float64):
    return np.random.default_rng(5).standard_normal((2, channels, 9, 11)).astype(kind)


def pixel(image, y, x):
    """A bilinear sample of (channels, height, width) as detectors take it: clamped to the border, 0 beyond a pixel from it."""
    height, width = image.shape[1:]
    if y < -1 or y > height or x < -1 or x > width:
        return np.zeros(len(image))
    y, x = min(max(y, 0), height - 1), min(max(x, 0), width - 1)
    top, left = math.floor(y), math.floor(x)
    bottom, right = min(top + 1, height - 1), min(left + 1, width - 1)
    return ((image[:, top, left] * (left + 1 - x) + image[:, top, right] * (x - left)) * (top + 1 - y)
            + (image[:, bottom, left] * (left + 1 - x) + image[:, bottom, right] * (x - left)) * (y - top))


def samples_of_bins(x, rois, ratio, aligned):
    """For each region and bin: the mean of its samples, in all channels."""
    made = np.zeros((len(rois), x.shape[1], *BINS))
    for r, (image, *edges) in enumerate(rois):
        x1, y1, x2, y2 = np.array(edges) * SCALE - (0.5 if aligned else 0)
        sizes = [b - a if aligned else max(b - a, 1) for a, b in ((y1, y2), (x1, x2))]
        counts = [ratio if ratio > 0 else math.ceil(s / n) for s, n in zip(sizes, BINS)]
        steps = [s / n for s, n in zip(sizes, BINS)]
        for i, j in itertools.product(*map(range, BINS)):
            found = [pixel(x[int(image)], y1 + (i + (a + 0.5) / counts[0]) * steps[0],
                           x1 + (j + (b + 0.5) / counts[1]) * steps[1])
                     for a, b in np.ndindex(*map(int, np.maximum(counts, 0)))]
            made[r, :, i, j] = sum(found) / len(found) if found else 0
    return made


def whole(value):
    return int(math.copysign(math.floor(abs(value) + 0.5), value))


def bins_of_pixels(x, rois, combine, end_of, last):
    """For each region and bin: what `combine` gives for its pixels, (channels, rows, columns)."""
    made = np.zeros((len(rois), x.shape[1], *BINS))
    for r, (image, *edges) in enumerate(rois):
        x1, y1, x2, y2 = (whole(e * SCALE) for e in edges)
        cuts = []
        for start, end, number, pixels in ((y1, y2, BINS[0], x.shape[2]), (x1, x2, BINS[1], x.shape[3])):
            step = max(end - start + end_of, 1) / number
            cuts.append([[min(max(at + start, 0), pixels - last) for at in (math.floor(i * step), math.ceil((i + 1) * step))]
                         for i in range(number)])
        for i, j in itertools.product(*map(range, BINS)):
            part = x[int(image), :, slice(*cuts[0][i]), slice(*cuts[1][j])]
            made[r, :, i, j] = combine(part) if part.size else 0
    return made


def by_bin(values):
    """Of all channels, those that each bin reads."""
    each = values.reshape(len(values), -1, BINS[0] * BINS[1], *BINS)
    chosen = [[each[:, :, i * BINS[1] + j, i, j] for j in range(BINS[1])] for i in range(BINS[0])]
    return np.array(chosen).transpose(2, 3, 0, 1)


CASES = {f"roi_align-{how}": (lambda x, r, how=how: OPS.roi_align(x, r, SCALE, *BINS, *how),
                              lambda x, r, how=how: samples_of_bins(x, r, *how))
         for how in itertools.product((-1, 2), (False, True))}
CASES |= {f"ps_roi_align-{ratio}": (lambda x, r, ratio=ratio: OPS.ps_roi_align(x, r, SCALE, *BINS, ratio)[0],
                                    lambda x, r, ratio=ratio: by_bin(samples_of_bins(x, r, ratio, True))) for ratio in (-1, 2)}
CASES["roi_pool"] = (lambda x, r: OPS.roi_pool(x, r, SCALE, *BINS)[0],
                     lambda x, r: bins_of_pixels(x, r, lambda part: part.max((1, 2)), 1, 0))
CASES["ps_roi_pool"] = (lambda x, r: OPS.ps_roi_pool(x, r, SCALE, *BINS)[0],
                        lambda x, r: by_bin(bins_of_pixels(x, r, lambda part: part.mean((1, 2)), 0, 1)))


@pytest.mark.parametrize("name", CASES)
def test_regions_match_their_definition(name):
    call, defined = CASES[name]
    for channels in (6, 12):
        x, rois = images(channels), regions()
        np.testing.assert_allclose(call(ingot.tensor(x), ingot.tensor(rois)).numpy(), defined(x, rois), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_regions_have_gradients(name):
    rois = ingot.tensor(regions())
    x = ingot.tensor(images()).requires_grad_()
    assert ingot.autograd.gradcheck(lambda x: CASES[name][0](x, rois), (x,), fast_mode=True)


def test_rules_of_torchvision_give_the_same_gradients():
    x, rois = ingot.tensor(images()).requires_grad_(), ingot.tensor(regions())
    sizes = 2, 6, 9, 11
    made, most = OPS.roi_pool(x, rois, SCALE, *BINS)
    grad, (parts, channels) = ingot.randn(made.shape, dtype=ingot.float64), OPS.ps_roi_align(x, rois, SCALE, *BINS, 2)
    pooled = OPS.ps_roi_pool(x, rois, SCALE, *BINS)[0]
    for result, rule in ((made, lambda g: OPS._roi_pool_backward(g, rois, most, SCALE, *BINS, *sizes)),
                         (OPS.roi_align(x, rois, SCALE, *BINS, 2, True),
                          lambda g: OPS._roi_align_backward(g, rois, SCALE, *BINS, *sizes, 2, True)),
                         (parts, lambda g: OPS._ps_roi_align_backward(g, rois, channels, SCALE, *BINS, 2, *sizes)),
                         (pooled, lambda g: OPS._ps_roi_pool_backward(g, rois, channels, SCALE, *BINS, *sizes))):
        g = grad[:, : result.shape[1]]
        np.testing.assert_allclose(rule(g).numpy(), ingot.autograd.grad(result, x, g)[0].numpy(), rtol=1e-12, atol=1e-12)
    assert channels[3, 0].tolist() == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize("kind", (np.float16, np.float32, np.float64))
@pytest.mark.parametrize("threshold", (0.0, 0.3, 0.5, 1.0))
def test_boxes_that_overlap_a_better_one_are_left_out(kind, threshold):
    rng = np.random.default_rng(3)
    low = rng.integers(0, 20, (60, 2))
    boxes = np.concatenate([low, low + rng.integers(0, 12, (60, 2))], 1).astype(kind)
    scores = (rng.integers(0, 20, 60) / 20).astype(kind)      # several are equal: the first of them is better
    chosen = []
    for box in sorted(range(60), key=lambda b: -scores[b]):
        def share(other, box=box):
            a, b = boxes[box].astype(float), boxes[other].astype(float)
            width, height = np.maximum(np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2]), 0)
            union = np.prod(a[2:] - a[:2]) + np.prod(b[2:] - b[:2]) - width * height
            return width * height / union if union else 0
        if all(share(other) <= threshold for other in chosen):
            chosen.append(box)
    assert OPS.nms(ingot.tensor(boxes), ingot.tensor(scores), threshold).tolist() == chosen


def deformed(x, weight, offset, mask, bias, stride, padding, dilation, groups, offset_groups):
    """A convolution over samples that are taken one by one."""
    made, _, down, across = weight.shape
    rows, columns = offset.shape[2:]
    result = np.zeros((len(x), made, rows, columns)) + bias[:, None, None]
    per, per_offset = x.shape[1] // groups, x.shape[1] // offset_groups
    padded = np.pad(x, [(0, 0), (0, 0), (9, 9), (9, 9)])
    for image, out, i, j in np.ndindex(*result.shape):
        for c, a, b in np.ndindex(per, down, across):
            channel = out // (made // groups) * per + c
            tap = channel // per_offset * down * across + a * across + b
            y = i * stride - padding + a * dilation + offset[image, 2 * tap, i, j]
            at = j * stride - padding + b * dilation + offset[image, 2 * tap + 1, i, j]
            seen = pixel(padded[image, [channel]], y + 9, at + 9)[0]
            result[image, out, i, j] += weight[out, c, a, b] * seen * (1 if mask is None else mask[image, tap, i, j])
    return result


@pytest.mark.parametrize("stride, padding, dilation, groups, offset_groups, masked",
                         [(1, 1, 1, 1, 1, True), (2, 1, 1, 2, 1, False), (1, 2, 2, 2, 2, True), (2, 0, 1, 1, 4, True)])
def test_deformable_convolutions(stride, padding, dilation, groups, offset_groups, masked):
    rng = np.random.default_rng(7)
    rows, columns = ((n + 2 * padding - dilation * (k - 1) - 1) // stride + 1 for n, k in ((5, 3), (6, 2)))
    moves = 2, offset_groups * 12, rows, columns
    given = [rng.standard_normal(shape) for shape in ((2, 4, 5, 6), (4, 4 // groups, 3, 2), moves,
                                                      (2, offset_groups * 6, rows, columns), (4,))]
    steps = stride, stride, padding, padding, dilation, dilation, groups, offset_groups, masked
    tensors = [ingot.tensor(a).requires_grad_() for a in given]
    defined = deformed(*given[:3], given[3] if masked else None, given[4], stride, padding, dilation, groups, offset_groups)
    np.testing.assert_allclose(OPS.deform_conv2d(*tensors, *steps).detach().numpy(), defined, rtol=1e-10, atol=1e-10)
    assert ingot.autograd.gradcheck(lambda *t: OPS.deform_conv2d(*t, *steps), tensors, fast_mode=True)
    grad = ingot.randn(defined.shape, dtype=ingot.float64)
    wanted = ingot.autograd.grad(OPS.deform_conv2d(*tensors, *steps), tensors[:3], grad)
    for one, other in zip(OPS._deform_conv2d_backward(grad, *tensors, *steps), wanted):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-12, atol=1e-12)


def test_traces_record_the_inside_of_extension_operators():
    rois = ingot.tensor(regions(np.float32))

    @ingot.jit.trace
    def both(x):
        return OPS.roi_align(x, rois, SCALE, *BINS, 2, True), OPS.roi_pool(x, rois, SCALE, *BINS)[0]

    for seed in (0, 1):
        x = ingot.tensor(images(kind=np.float32)) + seed
        for one, other in zip(both(x), (OPS.roi_align(x, rois, SCALE, *BINS, 2, True), OPS.roi_pool(x, rois, SCALE, *BINS)[0])):
            ingot.testing.assert_close(one, other)


def test_missing_operators_are_named():
    with pytest.raises(ingot.IngotError, match="qnms has no kernel"):
        OPS.qnms(ingot.zeros(1, 4), ingot.zeros(1), 0.5)
    with pytest.raises(ingot.IngotError, match="cannot be shared out over 2 x 3 bins"):
        OPS.ps_roi_pool(ingot.zeros(1, 4, 5, 5), ingot.zeros(1, 5), 1.0, *BINS)
