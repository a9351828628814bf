"""Convolutions, pools, resampling, borders."""

import itertools
import math

import numpy as np
import torch

from ..families import distinct, rounded
from ..row import Leaf
from . import case, cases, formula, into_row, pulled
from .elementwise import INF, NAN

F = torch.nn.functional
CONVS = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}


def bordered(x, padding, value=0.0):
    """Put a value around the spatial dims; negative numbers cut."""
    return F.pad(x, [n for pair in padding[::-1] for n in pair], value=value)


def counts_of(sizes, kernel, stride, padding, dilation):
    """Return how many windows there are along each dim."""
    each = zip(sizes, kernel, stride, padding, dilation)
    return tuple((n + lo + hi - d * (k - 1) - 1) // s + 1 for n, k, s, (lo, hi), d in each)


@formula("conv")
def conv(x, w, b, *, stride, padding, dilation, groups):
    """PyTorch's convolution of the bordered input."""
    return CONVS[len(stride)](bordered(x, padding), w, b, stride, 0, dilation, groups)


@formula("conv_input_grad")
def conv_input_grad(g, w, *, size, **window):
    """Autograd's gradient for the input."""
    return pulled(lambda x: conv(x, w, None, **window), [g.new_zeros(g.shape[0], w.shape[1] * window["groups"], *size)], g)[0]


@formula("conv_weight_grad")
def conv_weight_grad(x, g, *, size, **window):
    """Autograd's gradient for the weight."""
    return pulled(lambda w: conv(x, w, None, **window), [x.new_zeros(g.shape[1], x.shape[1] // window["groups"], *size)], g)[0]


GEOMETRIES = (   # label, sizes, kernel, stride, padding, dilation, channels in and out, groups
    ("line", (7,), (3,), (1,), ((0, 0),), (1,), 3, 4, 1),
    ("line apart", (9,), (3,), (2,), ((1, 2),), (2,), 4, 6, 2),
    ("image", (6, 5), (3, 3), (1, 1), ((1, 1), (1, 1)), (1, 1), 2, 3, 1),
    ("each channel", (7, 6), (3, 2), (2, 1), ((0, 1), (1, 0)), (1, 2), 3, 3, 3),
    ("pixels", (3, 4), (1, 1), (1, 1), ((0, 0), (0, 0)), (1, 1), 3, 5, 1),
    ("strided pixels", (5, 6), (1, 1), (2, 2), ((0, 0), (0, 0)), (1, 1), 3, 2, 1),
    ("cut", (4, 5), (2, 2), (1, 1), ((-1, 0), (0, -1)), (1, 1), 2, 4, 2),
    ("volume", (4, 3, 4), (2, 3, 2), (1, 2, 1), ((0, 1), (1, 1), (0, 0)), (2, 1, 1), 2, 2, 1),
)


@cases("conv", "conv_input_grad", "conv_weight_grad")
def convolutions(name, rng):
    for i, (label, sizes, kernel, stride, padding, dilation, c, o, groups) in enumerate(GEOMETRIES):
        params = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
        counts = counts_of(sizes, kernel, stride, padding, dilation)
        n = 1 + i % 2
        x, w, g = rounded(rng, n, c, *sizes), rounded(rng, o, c // groups, *kernel), rounded(rng, n, o, *counts)
        if name == "conv":
            yield case(label, Leaf(x), Leaf(w), Leaf(rounded(rng, o)) if i % 3 != 1 else None, **params)
        elif name == "conv_input_grad":
            yield case(label, Leaf(g), Leaf(w), **params, size=sizes)
        else:
            yield case(label, Leaf(x), Leaf(g), **params, size=kernel)
    if name == "conv":
        window = {"stride": (1,), "padding": ((1, 1),), "dilation": (1,), "groups": 1}
        yield into_row("values", [case("", rng.integers(-4, 5, (2, 2, 5)), rng.integers(-4, 5, (3, 2, 3)), None, **window),
                                  case("", rounded(rng, 2, 3, 6, dtype="float32"), rounded(rng, 2, 3, 3, dtype="float32"), None,
                                       **window)])


@formula("im2col")
def im2col(x, *, kernel, stride, padding, dilation):
    """PyTorch's unfold; a line is an image of one row."""
    if len(kernel) == 1:
        x, kernel, stride, padding, dilation = x.unsqueeze(2), (1, *kernel), (1, *stride), ((0, 0), *padding), (1, *dilation)
    return F.unfold(bordered(x, padding), kernel, dilation, 0, stride)


@formula("col2im")
def col2im(columns, *, size, kernel, **window):
    """Autograd's gradient of the same."""
    planes = columns.shape[1] // math.prod(kernel)
    return pulled(lambda x: im2col(x, kernel=kernel, **window), [columns.new_zeros(columns.shape[0], planes, *size)],
                  columns)[0]


@cases("im2col", "col2im")
def columns(name, rng):
    for label, sizes, kernel, stride, padding, dilation in (("line", (7,), (3,), (2,), ((1, 1),), (1,)),
                                                            ("image", (5, 6), (2, 3), (1, 2), ((1, 0), (0, 0)), (2, 1)),
                                                            ("pixels", (3, 4), (1, 1), (1, 1), ((0, 0), (0, 0)), (1, 1))):
        params = {"kernel": kernel, "stride": stride, "padding": padding, "dilation": dilation}
        if name == "im2col":
            yield case(label, Leaf(rounded(rng, 2, 3, *sizes)), **params)
        else:
            windows = math.prod(counts_of(sizes, kernel, stride, padding, dilation))
            yield case(label, Leaf(rounded(rng, 2, 2 * math.prod(kernel), windows)), **params, size=sizes)


# Pools.

MAXIMA = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}
AVERAGES = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}


def lowest(x):
    return -INF if x.is_floating_point() else torch.iinfo(x.dtype).min


def without_borders(indices, padding, sizes):
    """Return flat places in planes of other sizes, from those in bordered ones."""
    whole = [n + lo + hi for n, (lo, hi) in zip(sizes, padding)]
    at, total = indices, 0
    rest = []
    for n in whole[::-1]:
        rest.append(at % n)
        at = at // n
    for coordinate, (lo, _), n in zip(rest[::-1], padding, sizes):
        total = total * n + coordinate - lo
    return total


@formula("max_pool")
def max_pool(x, *, kernel, stride, padding, dilation):
    """PyTorch's maxima of the bordered input; places are those of the input."""
    best, indices = MAXIMA[len(kernel)](bordered(x, padding, lowest(x)), kernel, stride, 0, dilation, return_indices=True)
    return best, without_borders(indices, padding, x.shape[2:])


@cases("max_pool", "max_pool_grad")
def max_pools(name, rng):
    for i, (label, sizes, kernel, stride, padding, dilation) in enumerate((
            ("line", (8,), (2,), (2,), ((0, 0),), (1,)), ("line apart", (7,), (3,), (1,), ((1, 1),), (2,)),
            ("image", (6, 5), (2, 2), (2, 2), ((0, 0), (0, 1)), (1, 1)),
            ("overlap", (6, 7), (3, 2), (2, 1), ((1, 1), (1, 0)), (1, 1)),
            ("all", (4, 5), (4, 5), (4, 5), ((0, 0), (0, 0)), (1, 1)),
            ("volume", (4, 5, 4), (2, 2, 2), (2, 1, 2), ((0, 0), (1, 1), (0, 0)), (1, 1, 1)))):
        params = {"kernel": kernel, "stride": stride, "padding": padding, "dilation": dilation}
        x = distinct(rng, 1 + i % 2, 2, *sizes)
        if name == "max_pool":
            yield case(label, Leaf(x), **params)
        else:
            best, indices = (t.numpy() for t in max_pool(torch.from_numpy(x), **params))
            yield case(label, Leaf(rounded(rng, *best.shape)), indices, **params, size=sizes)
    if name == "max_pool":
        window = {"kernel": (2,), "stride": (1,), "padding": ((0, 0),), "dilation": (1,)}
        yield into_row("values", [case("", np.array(row).reshape(1, 1, -1), **window) for row in
                                  ([1.0, 1.0, 0.5, 1.0], [NAN, 2.0, NAN, 3.0, 1.0], [-INF, 3.0, INF, 2.0, 2.0])])


ADAPTIVE = {1: F.adaptive_max_pool1d, 2: F.adaptive_max_pool2d, 3: F.adaptive_max_pool3d}
formula("adaptive_max_pool")(lambda x, *, size: tuple(ADAPTIVE[len(size)](x, size, return_indices=True)))


@cases("adaptive_max_pool")
def adaptive_pools(name, rng):
    for label, sizes, out in (("line", (7,), (3,)), ("image", (6, 5), (2, 3)), ("volume", (5, 4, 3), (2, 4, 1)),
                              ("larger", (3, 3), (5, 4))):
        yield case(label, Leaf(distinct(rng, 2, 2, *sizes)), size=out)


@formula("fractional_max_pool")
def fractional_max_pool(x, samples, *, kernel, size):
    """PyTorch's, whose samples are those of the last dim first."""
    pool = {2: F.fractional_max_pool2d, 3: F.fractional_max_pool3d}[len(kernel)]
    samples = samples.flip(-1) if len(kernel) == 2 else samples
    return tuple(pool(x, kernel, size, _random_samples=samples.to(x.dtype), return_indices=True))


@cases("fractional_max_pool")
def fractional_pools(name, rng):
    for label, sizes, kernel, out in (("image", (9, 8), (2, 3), (4, 3)), ("one row", (6, 7), (2, 2), (1, 6)),
                                      ("volume", (5, 6, 7), (2, 2, 2), (2, 3, 3))):
        yield case(label, Leaf(distinct(rng, 2, 2, *sizes)), rng.random((2, 2, len(sizes))).round(3).astype(np.float32),
                   kernel=kernel, size=out)


@formula("avg_pool")
def avg_pool(x, *, kernel, stride, padding, counted, divisor):
    """Sums of windows over how many of their places are the input or counted borders."""
    pool, all_of = AVERAGES[len(kernel)], math.prod(kernel)
    total = pool(bordered(x, padding), kernel, stride) * all_of
    if divisor is not None:
        return total / divisor
    counts = bordered(bordered(torch.ones_like(x[:1, :1]), counted, 1.0),
                      tuple((lo - a, hi - b) for (lo, hi), (a, b) in zip(padding, counted)))
    return total / (pool(counts, kernel, stride) * all_of).round()


@formula("avg_pool_grad")
def avg_pool_grad(g, *, size, **window):
    """Autograd's gradient of the same."""
    return pulled(lambda x: avg_pool(x, **window), [g.new_zeros(*g.shape[:2], *size)], g)[0]


@cases("avg_pool", "avg_pool_grad")
def avg_pools(name, rng):
    for i, (label, sizes, kernel, stride, padding, counted, divisor) in enumerate((
            ("line", (8,), (2,), (2,), ((0, 0),), ((0, 0),), None), ("counted", (7,), (3,), (2,), ((1, 2),), ((1, 1),), None),
            ("not counted", (6, 5), (3, 2), (2, 2), ((1, 1), (0, 1)), ((0, 0), (0, 0)), None),
            ("divisor", (6, 5), (3, 2), (1, 2), ((1, 1), (0, 1)), ((1, 1), (0, 0)), 5),
            ("all", (4, 5), (4, 5), (4, 5), ((0, 0), (0, 0)), ((0, 0), (0, 0)), None),
            ("volume", (4, 5, 4), (2, 2, 3), (2, 1, 2), ((0, 0), (1, 1), (1, 1)), ((0, 0), (1, 1), (1, 1)), None))):
        params = {"kernel": kernel, "stride": stride, "padding": padding, "counted": counted, "divisor": divisor}
        if name == "avg_pool":
            yield case(label, Leaf(rounded(rng, 1 + i % 2, 2, *sizes)), **params)
        else:
            counts = counts_of(sizes, kernel, stride, padding, (1,) * len(sizes))
            yield case(label, Leaf(rounded(rng, 1 + i % 2, 2, *counts)), **params, size=sizes)


# Resampling.

LINEAR = {1: "linear", 2: "bilinear", 3: "trilinear"}


@formula("resample")
def resample(x, *, size, mode, align_corners, scales):
    """PyTorch's interpolation; cubic lines are images of one row."""
    smooth = mode.endswith("-smooth")
    name = {"linear": LINEAR[len(size)], "cubic": "bicubic"}.get(mode.removesuffix("-smooth"), mode)
    corners = align_corners if name != mode or name == "linear" else None
    factor = None if scales[0] is None else scales
    if name == "bicubic" and len(size) == 1:
        found = F.interpolate(x.unsqueeze(2), None if factor else (1, *size), (1.0, *factor) if factor else None, name, corners,
                              antialias=smooth)
        return found.squeeze(2)
    return F.interpolate(x, None if factor else size, factor, name, corners, antialias=smooth)


@formula("resample_grad")
def resample_grad(g, *, size, mode, align_corners, scales):
    """Autograd's gradient of the same."""
    return pulled(lambda x: resample(x, size=tuple(g.shape[2:]), mode=mode, align_corners=align_corners, scales=scales),
                  [g.new_zeros(*g.shape[:2], *size)], g)[0]


@cases("resample", "resample_grad")
def resamples(name, rng):
    rows = [(mode, *shape, False, None) for mode in ("nearest", "nearest-exact", "linear", "area")
            for shape in (((5,), (8,)), ((6, 7), (3, 4)), ((3, 4, 2), (5, 2, 4)))]
    rows += [("cubic", (4, 5), (7, 9), False, None), ("cubic", (5,), (3,), False, None), ("linear", (5, 4), (9, 1), True, None),
             ("cubic", (5, 4), (9, 3), True, None), ("linear", (5,), (7,), False, 1.5),
             ("linear-smooth", (6, 7), (3, 4), False, None),
             ("cubic-smooth", (6, 7), (3, 9), False, None), ("nearest", (5,), (7,), False, 1.5),
             ("linear", (3, 4), (7, 9), True, None)]
    by_mode: dict = {}
    for mode, sizes, out, corners, scale in rows:
        params = {"mode": mode, "align_corners": corners, "scales": (scale,) * len(out)}
        x = Leaf(rounded(rng, 1, 2, *(sizes if name == "resample" else out)))
        by_mode.setdefault(mode, []).append(case("", x, **params, size=out if name == "resample" else sizes))
    for mode, calls in by_mode.items():
        yield into_row(mode, calls)


@formula("border_pad")
def border_pad(x, *, low, high, mode):
    """PyTorch's borders of the dims behind the first two."""
    pairs = [n for pair in list(zip(low, high))[:1:-1] for n in pair]
    return F.pad(x, pairs, mode)


@formula("border_pad_grad")
def border_pad_grad(g, *, low, high, mode):
    """Autograd's gradient of the same."""
    sizes = [n - lo - hi for n, lo, hi in zip(g.shape, low, high)]
    return pulled(lambda x: border_pad(x, low=low, high=high, mode=mode), [g.new_zeros(sizes)], g)[0]


@cases("border_pad", "border_pad_grad")
def borders(name, rng):
    for mode in ("reflect", "replicate", "circular"):
        calls = []
        for shape, low, high in (((1, 2, 5), (0, 0, 2), (0, 0, 1)), ((1, 2, 4, 3), (0, 0, 1, 2), (0, 0, 3, 0)),
                                 ((1, 1, 3, 4, 3), (0, 0, 1, 1, 2), (0, 0, 1, 0, 1))):
            grown = tuple(n + lo + hi for n, lo, hi in zip(shape, low, high))
            calls.append(case("", Leaf(rounded(rng, *(shape if name == "border_pad" else grown))), low=low, high=high,
                              mode=mode))
        yield into_row(mode, calls)


@formula("grid_sample")
def grid_sample(x, grid, *, mode, padding_mode, align_corners):
    """PyTorch's sampling."""
    return F.grid_sample(x, grid, {"linear": "bilinear", "cubic": "bicubic"}.get(mode, mode), padding_mode, align_corners)


@cases("grid_sample")
def grid_samples(name, rng):
    for i, (mode, padding_mode) in enumerate(itertools.product(("nearest", "linear", "cubic"),
                                                               ("zeros", "border", "reflection"))):
        sizes, points, align = (4, 5), (3, 2), i % 2 == 1
        if i in (2, 4):
            sizes, points = (3, 4, 2), (2, 2, 1)
        grid = rounded(rng, 1, *points, len(sizes), low=-1.3, high=1.3) + 1 / 512
        yield case(f"{mode} {padding_mode} {align}", Leaf(rounded(rng, 1, 2, *sizes)), Leaf(grid), mode=mode,
                   padding_mode=padding_mode, align_corners=align)
    for mode, padding_mode, align in (("linear", "zeros", False), ("nearest", "border", False)):
        grid = rounded(rng, 2, 2, 1, 2, low=-1.3, high=1.3) + 1 / 512
        yield case(f"{mode} {padding_mode} {align}", Leaf(rounded(rng, 2, 1, 3, 4)), Leaf(grid), mode=mode,
                   padding_mode=padding_mode, align_corners=align)


# Channels last.

first, last = (lambda x: x.movedim(-1, 1)), (lambda x: x.movedim(1, -1))
formula("packed_image")(lambda x, *, padding, channels:
                        last(F.pad(bordered(x, padding), [0, 0] * (x.ndim - 2) + [0, channels - x.shape[1]])))
formula("conv_last")(lambda x, w, b, **window: last(conv(first(x), first(w), b, **window, groups=1)))
formula("conv_last_input_grad")(lambda g, w, **window: last(conv_input_grad(first(g), first(w), **window, groups=1)))
formula("conv_last_weight_grad")(lambda x, g, **window: last(conv_weight_grad(first(x), first(g), **window, groups=1)))


@cases("conv_last", "conv_last_input_grad", "conv_last_weight_grad")
def convolutions_last(name, rng):
    for i, (label, sizes, kernel, stride, padding, dilation) in enumerate((
            ("line", (7,), (3,), (1,), ((0, 0),), (1,)), ("image", (6, 5), (3, 2), (2, 1), ((1, 1), (0, 1)), (1, 2)),
            ("pixels", (5, 6), (1, 1), (2, 2), ((0, 0), (0, 0)), (1, 1)))):
        params = {"stride": stride, "padding": padding, "dilation": dilation}
        counts = counts_of(sizes, kernel, stride, padding, dilation)
        x, w, g = rounded(rng, 2, *sizes, 3), rounded(rng, 4, *kernel, 3), rounded(rng, 2, *counts, 4)
        if name == "conv_last":
            yield case(label, x, w, rounded(rng, 4) if i else None, **params)
        elif name == "conv_last_input_grad":
            yield case(label, g, w, **params, size=sizes)
        else:
            yield case(label, x, g, **params, size=kernel)


@cases("packed_image")
def packed_images(name, rng):
    for label, padding, channels in (("line", ((2, 0),), 3), ("image", ((0, 0), (1, 2)), 4),
                                     ("volume", ((0, 1), (3, 0), (0, 0)), 5)):
        yield case(label, rounded(rng, 2, 3, *range(3, 3 + len(padding))), padding=padding, channels=channels)
