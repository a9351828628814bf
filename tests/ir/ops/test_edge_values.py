"""Operators at the edges of their values and sizes, against definitions written out here."""

import itertools

import numpy as np
import pytest

import ingot
from ingot.nn import functional as F

INF, NAN = float("inf"), float("nan")
RUNS = {"eager": lambda f: f, "traced": ingot.jit.trace}


def runs(run, f, *args):
    """Return the result of a function, at its second call: a trace replays then."""
    f = RUNS[run](f)
    f(*args)
    return f(*args)


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("row", [[-INF, 0.5, 1.0], [0.5, -INF, 1.0], [-INF, -INF, 1.0], [-INF, 1.0, -INF], [-INF, -INF, -INF],
                                 [-INF, -1e3, 0.5],
                                 [1e4, -1e4, 1e4]], ids=str)
def test_log_sums_of_nothing_have_gradients(row, run):
    def gradient(x, weights):
        x = x.detach().requires_grad_()
        return ingot.autograd.grad((ingot.logcumsumexp(x, 0).exp().clamp(max=1e3) * weights).sum() if max(row) < 100 else
                                   (ingot.logcumsumexp(x, 0).clamp(min=-1e9) * weights).sum(), x)[0]

    weights = np.array([1.0, 2.0, 4.0])
    found = runs(run, gradient, ingot.tensor(row, dtype=ingot.float64), ingot.tensor(weights)).numpy()
    later = np.cumsum(weights[::-1])[::-1]          # of the sums that an element is in
    want = np.exp(np.array(row)) * later if max(row) < 100 else [later[0] - weights[2] / 2, 0, weights[2] / 2]
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found, want, atol=1e-12)


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("borders", [b for b in itertools.product(range(-3, 4), repeat=2) if b[0] + b[1] > -5], ids=str)
def test_a_circular_border_repeats_what_is_left(borders, run):
    """Negative borders cut first; the others repeat the elements that are left."""
    low, high = borders
    x = np.arange(5.0) + 1
    left = x[max(-low, 0):5 - max(-high, 0)]
    if max(low, high) > len(left):
        pytest.skip("wraps more than once")
    want = np.concatenate([left[len(left) - max(low, 0):], left, left[:max(high, 0)]])
    found = runs(run, lambda t: F.pad(t, borders, mode="circular"), ingot.tensor(x).reshape(1, 1, 5))
    assert found.flatten().tolist() == want.tolist()


@pytest.mark.parametrize("dtype", [ingot.float32, ingot.float64, ingot.uint8], ids=str)
@pytest.mark.parametrize(("size", "count"), [(3, 7), (7, 3), (10, 49), (49, 10), (6, 6), (1, 5), (5, 1), (11, 33), (97, 31),
                                             (26, 46), (30, 26), (20, 92), (2, 98)])
def test_the_nearest_element_is_found_in_float32(size, count, dtype):
    """The position is floor(i * (size / count)), both rounded to float32, in each dtype, as PyTorch computes it."""
    x = ingot.arange(size).to(dtype).reshape(1, 1, size)
    step = np.float32(size) / np.float32(count)
    want = np.minimum(np.floor(np.arange(count, dtype=np.float32) * step).astype(int), size - 1)
    assert F.interpolate(x, count, mode="nearest").flatten().tolist() == want.tolist()
    scaled = [min(int(np.float32(i) * np.float32(1 / 1.7)), size - 1) for i in range(int(size * 1.7))]
    found = F.interpolate(x, scale_factor=1.7, mode="nearest", recompute_scale_factor=False)
    assert found.flatten().tolist() == scaled


EXTREMES = {"amax": (lambda x: x.amax(1), np.max), "amin": (lambda x: x.amin(1), np.min),
            "max": (lambda x: x.max(1).values, np.max), "min": (lambda x: x.min(1).values, np.min),
            "aminmax": (lambda x: x.aminmax(dim=1).max, np.max),
            "cummax": (lambda x: x.cummax(1).values[:, -1], np.max), "cummin": (lambda x: x.cummin(1).values[:, -1], np.min),
            "all": (lambda x: x.max().expand(len(x)), None),
            "maximum": (lambda x: ingot.maximum(x[:, 0], x[:, 1:].amax(1)), np.max),
            "argmax": (lambda x: x.gather(1, x.argmax(1, keepdim=True))[:, 0], np.max),
            "topk": (lambda x: x.topk(1, 1).values[:, 0], np.max), "clamp": (lambda x: x.clamp(-9, 9).amax(1), np.max)}


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("dtype", [ingot.float32, ingot.float64, ingot.float16, ingot.bfloat16], ids=str)
@pytest.mark.parametrize("columns", [2, 7, 16, 33, 200])
@pytest.mark.parametrize("name", EXTREMES)
def test_an_extreme_of_a_row_with_nan_is_nan(name, columns, dtype, run):
    call, of = EXTREMES[name]
    rng = np.random.default_rng(columns)
    x = rng.integers(-8, 8, (columns + 1, columns)).astype(float)
    at = np.arange(columns)
    x[at, at] = np.nan                          # at each place once; the last row has none
    found = runs(run, call, ingot.tensor(x, dtype=dtype)).double().numpy()
    want = np.full(columns + 1, np.nan)
    if of is not None:
        want[-1] = of(x[-1])
    np.testing.assert_array_equal(found, want)


def sampled(image, x, padding, align):
    """One row of pixels at a place, by linear weights."""
    n = len(image)
    at = (x + 1) / 2 * (n - 1) if align else ((x + 1) * n - 1) / 2
    if padding == "border":
        at = min(max(at, 0), n - 1)
    if padding == "reflection":
        low, span = (0, n - 1) if align else (-0.5, n)
        at = (at - low) % (2 * span)
        at = min(max(min(at, 2 * span - at) + low, 0), n - 1)
    low = int(np.floor(at))
    pixel = lambda i: image[i] if 0 <= i < n else 0.0
    return pixel(low) * (1 - at + low) + pixel(low + 1) * (at - low)


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_places_beyond_the_border_have_the_gradients_of_the_definition(padding, align, run):
    image = np.array([1.0, 3.0, -2.0, 5.0])
    places = np.array([-2.83, -1.61, -1.17, -1.03, -0.93, -0.71, 0.03, 0.47, 0.81, 0.97, 1.03, 1.21, 1.77, 2.71])

    def gradients(image, places):
        image, places = image.detach().requires_grad_(), places.detach().requires_grad_()
        grid = ingot.stack([places, ingot.zeros_like(places)], -1).reshape(1, 1, -1, 2)
        found = F.grid_sample(image.reshape(1, 1, 1, -1).expand(1, 1, 3, -1), grid, "bilinear", padding, align)
        return found.detach().flatten(), *ingot.autograd.grad((found.flatten() * weights).sum(), (image, places))

    weights = ingot.arange(1.0, 15.0, dtype=ingot.float64)
    value, of_image, of_places = runs(run, gradients, ingot.tensor(image), ingot.tensor(places))
    want = [sampled(image, x, padding, align) for x in places]
    np.testing.assert_allclose(value.numpy(), want, atol=1e-9)
    slopes = [(sampled(image, x + 1e-6, padding, align) - sampled(image, x - 1e-6, padding, align)) / 2e-6 for x in places]
    np.testing.assert_allclose(of_places.numpy(), np.array(slopes) * weights.numpy(), atol=1e-4)
    shares = [[sampled(np.eye(4)[i], x, padding, align) for x in places] @ weights.numpy() for i in range(4)]
    np.testing.assert_allclose(of_image.numpy(), shares, atol=1e-9)
