"""Functions of sampled data, against numpy."""

import numpy as np
import pytest

import ingot

RNG = np.random.default_rng(5)


@pytest.mark.parametrize("shape", [(7,), (4, 5), (2, 3, 3)])
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("spacing", [1.0, 0.25])
def test_gradient_with_equal_steps(shape, order, spacing):
    if min(shape) <= order:
        pytest.skip("too few elements for this order")
    a = RNG.standard_normal(shape)
    got = ingot.gradient(ingot.tensor(a), spacing=spacing, edge_order=order)
    want = np.gradient(a, spacing, edge_order=order)
    for g, w in zip(got, want if isinstance(want, (list, tuple)) else [want], strict=True):
        np.testing.assert_allclose(g.numpy(), w, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("order", [1, 2])
def test_gradient_at_uneven_positions(order):
    a, x, y = RNG.standard_normal((5, 6)), np.cumsum(RNG.uniform(0.5, 2, 5)), np.cumsum(RNG.uniform(0.5, 2, 6))
    got = ingot.gradient(ingot.tensor(a), spacing=(ingot.tensor(x), ingot.tensor(y)), edge_order=order)
    for g, w in zip(got, np.gradient(a, x, y, edge_order=order), strict=True):
        np.testing.assert_allclose(g.numpy(), w, rtol=1e-10, atol=1e-10)


def test_gradient_gives_a_tuple_and_takes_a_dim_once():
    assert type(ingot.gradient(ingot.ones(3, 3))) is tuple
    with pytest.raises(ingot.IngotError, match="twice"):
        ingot.gradient(ingot.ones(3, 3), dim=(1, -1))


def test_gradient_refuses_too_few_elements():
    with pytest.raises(ingot.IngotError, match="needs at least"):
        ingot.gradient(ingot.ones(1))
    with pytest.raises(ingot.IngotError, match="edge_order"):
        ingot.gradient(ingot.ones(5), edge_order=3)


MANY = RNG.standard_normal(60_000)
HISTOGRAMS = {      # (values, bins, further arguments): small and large, of every form
    "bins alone": (MANY[:50], 100, {}),
    "many values": (MANY, 100, {}),
    "many in a table": (MANY.reshape(300, 200), 17, {}),
    "many bins": (MANY[:1000], 20_000, {}),
    "many, float32": (MANY.astype(np.float32), 10, {"range": (-2.0, 2.0)}),
    "range of ints": (MANY, 10, {"range": (-2, 2)}),
    "edges": (MANY, np.linspace(-1.0, 1.5, 9), {}),
    "density": (MANY, 40, {"density": True}),
    "density and range": (MANY, 40, {"density": True, "range": (-1.0, 0.5)}),
    "weights": (MANY, 12, {"weight": np.abs(MANY)}),
    "weights and density": (MANY, np.linspace(-2.0, 2.0, 5), {"weight": np.abs(MANY), "density": True}),
    "all the same": (np.full(30_000, 3.0), 4, {}),
    "one": (MANY[:1], 3, {}),
    "none": (MANY[:0], 3, {}),
    "at the edges": (np.array([0.0, 0.25, 0.5, 1.0, 1.0]), 4, {"range": (0.0, 1.0)}),
    "bins of numpy": (MANY[:9], np.int64(3), {}),
}


@pytest.mark.parametrize("name", HISTOGRAMS)
def test_histograms_are_numpys(name):
    values, bins, options = HISTOGRAMS[name]
    edges = ingot.tensor(bins) if isinstance(bins, np.ndarray) else bins
    ours = {k: ingot.tensor(v) if k == "weight" else v for k, v in options.items()}
    at = {"weight": "weights"}
    named = {at.get(k, k): v.reshape(values.shape) if k == "weight" else v for k, v in options.items()}
    want, want_edges = np.histogram(values, bins, **named)
    x = ingot.tensor(values)
    kept = ingot.empty(3, dtype=x.dtype), ingot.empty(0, dtype=x.dtype)
    for got in (ingot.histogram(x, edges, **ours), x.histogram(edges, **ours),
                ingot.histogram(x, edges, **ours, out=kept), kept,
                ingot.jit.trace(lambda x: ingot.histogram(x, edges, **ours))(x)):
        np.testing.assert_allclose(got[1].numpy(), want_edges, rtol=1e-6 if x.dtype is ingot.float32 else 1e-12, atol=1e-15)
        np.testing.assert_allclose(got[0].numpy(), want, rtol=1e-9, atol=3 if x.dtype is ingot.float32 else 0)
    both = np.stack([values.ravel(), values.ravel()[::-1]], 1)
    if "weight" not in options and not isinstance(bins, np.ndarray) and bins < 50:
        span = {"range": [*named["range"]] * 2} if "range" in named else {}
        got = ingot.histogramdd(ingot.tensor(both), [int(bins), 2], density=options.get("density", False), **span)
        want = np.histogramdd(both, (bins, 2), density=options.get("density", False),
                              range=[named["range"]] * 2 if "range" in named else None)
        np.testing.assert_allclose(got.hist.numpy(), want[0], rtol=1e-9, atol=3 if x.dtype is ingot.float32 else 0)


def test_histograms_have_100_bins_by_default():
    assert ingot.histogram(ingot.rand(50)).hist.shape == (100,)


@pytest.mark.parametrize("bins, options, words", [
    (0, {}, "at least 1"), (2.5, {}, "tensor of edges"), ([0.0, 1.0], {}, "tensor of edges"),
    (3, {"range": (1.0, 0.0)}, "increase"), (3, {"range": (0.0, float("inf"))}, "finite")])
def test_histograms_without_bins_are_refused(bins, options, words):
    with pytest.raises(ingot.IngotError, match=words):
        ingot.histogram(ingot.rand(5), bins, **options)
    with pytest.raises(ingot.IngotError, match="finite"):
        ingot.histogram(ingot.tensor([1.0, float("nan")]), 3)


@pytest.mark.parametrize("density", [False, True])
@pytest.mark.parametrize("bins", [5, np.array([-1.0, -0.2, 0.3, 1.5])])
@pytest.mark.parametrize("weighted", [False, True])
def test_histogram(bins, density, weighted):
    a, w = RNG.standard_normal(200), RNG.uniform(0, 2, 200)
    edges = ingot.tensor(bins) if isinstance(bins, np.ndarray) else bins
    got = ingot.histogram(ingot.tensor(a), edges, weight=ingot.tensor(w) if weighted else None, density=density)
    want, at = np.histogram(a, bins, weights=w if weighted else None, density=density)
    np.testing.assert_allclose(got.hist.numpy(), want, rtol=1e-12)
    np.testing.assert_allclose(got.bin_edges.numpy(), at, rtol=1e-12)


def test_angle_and_renorm():
    np.testing.assert_array_equal(ingot.angle(ingot.tensor([1.0, -2.0, 0.0, float("nan")])).numpy(),
                                  np.angle(np.array([1.0, -2.0, 0.0, np.nan], np.float32)))
    x = RNG.standard_normal((3, 4))
    norms = np.linalg.norm(ingot.renorm(ingot.tensor(x), 2, 0, 1.0).numpy(), axis=1)
    assert (norms <= 1.0 + 1e-9).all()
    np.testing.assert_array_equal(ingot.renorm(ingot.tensor(x), 2, 0, 1e9).numpy(), x)


def test_unravel_index():
    shape, flat = (3, 4, 5), np.array([[0, 59], [17, 33]])
    for g, w in zip(ingot.unravel_index(ingot.tensor(flat), shape), np.unravel_index(flat, shape), strict=True):
        np.testing.assert_array_equal(g.numpy(), w)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("low, high", [(-1, 1), (0.1, 0.7), (1e3, 1e3 + 2), (1e5, 1e5 + 1), (-7, 1e-3)])
@pytest.mark.parametrize("count", [1, 3, 100, 4097])
def test_even_bins_count_the_values_between_their_edges(kind, low, high, count):
    """Values close to the edges count, too, also where float32 hardly separates bins."""
    edges = ingot.linspace(low, high, count + 1, dtype=getattr(ingot, np.dtype(kind).name)).numpy()
    beside = [np.nextafter(edges, kind(to)) for to in (-np.inf, np.inf)]
    anywhere = np.random.default_rng(count).uniform(low - 0.1, high + 0.1, 5000)
    x = np.concatenate([anywhere.astype(kind), edges, *beside, np.array([np.nan, np.inf, -np.inf], kind)])
    place = np.searchsorted(edges, x, "right") - 1
    place[x == edges[-1]] = count - 1
    want = np.bincount(place[(place >= 0) & (place < count)], minlength=count)
    found = ingot.histogram(ingot.tensor(x), count, range=(low, high))
    np.testing.assert_array_equal(found.bin_edges.numpy(), edges)
    np.testing.assert_array_equal(found.hist.numpy(), want)


@pytest.mark.parametrize("edge_order", [1, 2])
def test_derivatives_by_places_have_gradients(edge_order):
    """Gradients of the values and of the positions, including those at the ends."""
    x = ingot.tensor(RNG.standard_normal((4, 3)), requires_grad=True)
    places = ingot.tensor([0.0, 1.0, 2.5, 3.0], dtype=ingot.float64, requires_grad=True)
    assert ingot.autograd.gradcheck(lambda x, c: ingot.gradient(x, spacing=(c,), dim=0, edge_order=edge_order)[0], (x, places))


def test_edges_passed_in_are_copied():
    edges = ingot.tensor([0.0, 1.0, 2.0])
    ingot.histogram(ingot.tensor([0.5, 1.5]), edges).bin_edges.zero_()
    assert edges.tolist() == [0, 1, 2]
    assert ingot.histogram(ingot.empty(0), 2).bin_edges.tolist() == [0, 0.5, 1]


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("dtype, places, result", [
    ("float32", "float64", "float64"), ("int64", "float64", "float64"), ("int64", "float32", "float32"),
    ("float64", "float32", "float64"), ("float32", "complex64", "complex64"), ("float64", "complex64", "complex128"),
    ("complex64", "float32", "complex64"), ("float32", "int64", "float32"), ("int64", "int64", "float32")])
def test_gradient_meets_its_places_in_their_common_dtype(dtype, places, result, order):
    rng = np.random.default_rng(8)
    a = (rng.standard_normal((40, 30)) * 50).astype(dtype)
    at = [np.cumsum(rng.integers(1, 4, n)).astype(places) for n in a.shape]
    if places == "complex64":
        at = [(x + 0.5j * np.arange(len(x))).astype(places) for x in at]
    elif places == "float64":
        at = [x + rng.uniform(-1e-3, 1e-3, len(x)) for x in at]
    got = ingot.gradient(ingot.tensor(a), spacing=[ingot.tensor(x) for x in at], edge_order=order)
    tolerance = 1e-12 if result in ("float64", "complex128") else 1e-4
    for d, g in enumerate(got):
        wide = "complex128" if "complex" in result else "float64"
        want = np.gradient(a.astype(wide), at[d].astype(wide), axis=d, edge_order=order)
        assert g.dtype is getattr(ingot, result)
        np.testing.assert_allclose(g.numpy(), want, rtol=tolerance, atol=tolerance * np.abs(want).max())


def test_gradient_by_a_complex_distance():
    a = RNG.standard_normal(5)
    for order in (1, 2):
        got, = ingot.gradient(ingot.tensor(a), spacing=0.5 - 2j, edge_order=order)
        np.testing.assert_allclose(got.numpy(), np.gradient(a + 0j, 0.5 - 2j, edge_order=order), rtol=1e-12)


WRONG = {      # cases that raise, from three numbers
    "integers": (lambda x: ingot.histogram(x.int(), 3), TypeError, "floating point"),
    "edges of another dtype": (lambda x: ingot.histogram(x, ingot.ones(2).double()), TypeError, "edges must be of"),
    "no edges": (lambda x: ingot.histogram(x, ingot.empty(0)), RuntimeError, "at least 2"),
    "one edge": (lambda x: ingot.histogram(x, ingot.ones(1)), RuntimeError, "at least 2"),
    "edges in rows": (lambda x: ingot.histogram(x, ingot.ones(2, 2)), RuntimeError, "one row"),
    "weights of another dtype": (lambda x: ingot.histogram(x, 3, weight=x.double()), TypeError, "a weight must be of"),
    "one end": (lambda x: ingot.histogram(x, 3, range=(1.0,)), RuntimeError, "two numbers"),
    "integers in dimensions": (lambda x: ingot.histogramdd(x.int()[:, None], [3]), TypeError, "floating point"),
    "edges of one dimension": (lambda x: ingot.histogramdd(x[:, None], [ingot.ones(1)]), RuntimeError, "at least 2"),
}


@pytest.mark.parametrize("name", WRONG)
def test_histograms_refuse(name):
    call, error, words = WRONG[name]
    with pytest.raises(error, match=words):
        call(ingot.tensor([1.0, 2.0, 3.0]))


def test_points_without_dimensions_fall_nowhere():
    hist, edges = ingot.histogramdd(ingot.ones(5, 0), [])
    assert hist.shape == () and hist.item() == 0 and edges == ()
