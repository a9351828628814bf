"""Samples of convolutions whose channels lie last."""

from . import Sample, samples

# spatial sizes, kernel, stride, padding, dilation, counts
GEOMETRIES = [((7,), (3,), (1,), ((0, 0),), (1,), (5,)), ((6, 5), (3, 2), (2, 1), ((1, 1), (0, 1)), (1, 2), (3, 4)),
              ((5, 6), (1, 1), (2, 2), ((0, 0), (0, 0)), (1, 1), (3, 3))]


def _windows():
    for sizes, kernel, stride, padding, dilation, counts in GEOMETRIES:
        yield sizes, kernel, counts, {"stride": stride, "padding": padding, "dilation": dilation}


@samples("conv_last")
def _conv_last(rng):
    for bias, (sizes, kernel, _, params) in enumerate(_windows()):
        x, w = rng.standard_normal((2, *sizes, 3)), rng.standard_normal((4, *kernel, 3))
        yield Sample((x, w, rng.standard_normal(4) if bias else None), params, grad=False, tol=4)


@samples("packed_image")
def _packed_image(rng):
    for padding in (((2, 0),), ((0, 0), (1, 2)), ((0, 1), (3, 0), (0, 0))):
        for channels in (3, 4):
            x = rng.standard_normal((2, 3, *range(4, 4 + len(padding))))
            yield Sample((x,), {"padding": padding, "channels": channels}, grad=False, tol=0)


@samples("conv_last_input_grad")
def _conv_last_input_grad(rng):
    for sizes, kernel, counts, params in _windows():
        args = rng.standard_normal((2, *counts, 4)), rng.standard_normal((4, *kernel, 3))
        yield Sample(args, {**params, "size": sizes}, grad=False, tol=4)


@samples("conv_last_weight_grad")
def _conv_last_weight_grad(rng):
    for sizes, kernel, counts, params in _windows():
        args = rng.standard_normal((2, *sizes, 3)), rng.standard_normal((2, *counts, 4))
        yield Sample(args, {**params, "size": kernel}, grad=False, tol=8)
