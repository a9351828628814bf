"""x[...] in all its forms, and functions that read and write at positions."""

import numpy as np
import pytest

import ingot
from ingot.runtime.api.math import python_operators
from ingot.runtime.api.views import indexing
from ingot.runtime.core import writes

SHAPES = [(4,), (3, 4), (2, 3, 4), (2, 3, 2, 3)]


def random_part(rng, n, allow_int=True):
    """Return one part of a key for a dimension of size n."""
    k = rng.integers(6 if allow_int else 5)
    if k == 0:
        return slice(None)
    if k == 1:
        lo, hi = sorted(int(i) for i in rng.integers(-n - 1, n + 2, 2))
        return slice(lo, hi, int(rng.integers(1, 3)))
    if k == 2:
        return None
    if k == 3:
        return [int(i) for i in rng.integers(-n, n, 2)]
    if k == 4:
        return rng.random(n) < 0.5
    return int(rng.integers(-n, n))


def random_parts(rng, sizes, whole=False) -> list:
    """Return parts of a key for the leading dimensions, or for all of them. A mask may take two."""
    parts, dim = [], 0
    while dim < len(sizes) and (whole or rng.random() < 0.85):
        part = rng.random(sizes[dim: dim + 2]) < 0.5 if rng.random() < 0.1 else random_part(rng, sizes[dim])
        dim += 0 if part is None else part.ndim if isinstance(part, np.ndarray) else 1
        parts.append(part)
    return parts


def random_key(rng, shape, mixed):
    """Return a key; unless `mixed`, ints and index lists do not meet (NumPy and PyTorch place their results differently)."""
    while True:
        if rng.random() < 0.4:
            cut = int(rng.integers(len(shape) + 1))
            back = int(rng.integers(cut, len(shape) + 1))
            key = [*random_parts(rng, shape[:cut]), Ellipsis, *random_parts(rng, shape[back:], whole=True)]
        else:
            key = random_parts(rng, shape)
        kinds = {type(k) for k in key}
        lengths = {int(np.sum(k)) if isinstance(k, np.ndarray) else len(k) for k in key if isinstance(k, (list, np.ndarray))}
        if len(lengths - {1}) > 1 or (not mixed and int in kinds and kinds & {list, np.ndarray}):
            continue
        return tuple(key)


@pytest.mark.parametrize("seed", range(300))
def test_reading_and_writing_agree_with_numpy(seed):
    rng = np.random.default_rng(seed)
    shape = SHAPES[seed % len(SHAPES)]
    a = rng.standard_normal(shape)
    key = random_key(rng, shape, mixed=False)
    x = ingot.tensor(a).requires_grad_()
    got = x[key]
    np.testing.assert_array_equal(got.detach().numpy(), a[key], err_msg=f"seed {seed}: {key}")
    weights = rng.standard_normal(got.shape)
    (got * ingot.tensor(weights)).sum().backward()
    want = np.zeros(shape)
    np.add.at(want, key, weights)
    np.testing.assert_allclose(x.grad.numpy(), want, atol=1e-12, err_msg=f"seed {seed}: {key}")
    y, b = ingot.tensor(a), a.copy()
    for value in (7, values := rng.standard_normal(got.shape), *[(values * 2).tolist()] * (values.size > 0)):
        y[key] = ingot.tensor(value) if value is values else value
        b[key] = value
        np.testing.assert_array_equal(y.numpy(), b, err_msg=f"seed {seed}: {key}")


@pytest.mark.peer
@pytest.mark.parametrize("block", range(5))
def test_keys_agree_with_the_peer(block):
    torch = pytest.importorskip("torch")
    for seed in range(block * 80, block * 80 + 80):
        rng = np.random.default_rng([seed, 5])
        shape = SHAPES[seed % len(SHAPES)]
        a, key = rng.standard_normal(shape), random_key(rng, shape, mixed=True)
        label = f"seed {seed}: {key}"
        t, x = torch.tensor(a, requires_grad=True), ingot.tensor(a).requires_grad_()
        try:
            want = t[key]
        except (IndexError, RuntimeError):
            if Ellipsis in [k for k in key if not isinstance(k, np.ndarray)] and max(np.ndim(k) for k in key) > 1:
                np.testing.assert_array_equal(x[key].detach().numpy(), a[key], err_msg=label)   # docs/differences.md
                continue
            with pytest.raises(IndexError):
                x[key]
            continue
        np.testing.assert_array_equal(x[key].detach().numpy(), want.detach().numpy(), err_msg=label)
        value = rng.standard_normal(want.shape)
        results = []
        for lib, leaf in ((torch, t), (ingot, x)):
            v, y = lib.tensor(value, requires_grad=True), leaf * 1.0
            y[key] = v
            (y * y).sum().backward()
            results.append((y.detach().numpy(), leaf.grad.numpy()))
        np.testing.assert_allclose(results[1][0], results[0][0], err_msg=label)
        np.testing.assert_allclose(results[1][1], results[0][1], atol=1e-12, err_msg=label)


def test_writes_through_chained_keys_reach_the_base():
    x = ingot.zeros(3, 4)
    x[1][2:] = 5
    x[..., 0] += 1
    x[:, 1:3].mul_(2)
    assert x.tolist() == [[1, 0, 0, 0], [1, 0, 10, 5], [1, 0, 0, 0]]


def test_writes_broadcast():
    x = ingot.zeros(2, 3)
    x[0] = ingot.tensor([1, 2, 3])
    x[:, 1] = ingot.tensor([[9.0, 8.0]])
    x[1, [0, 2]] = ingot.tensor(4.5)
    assert x.tolist() == [[1, 9, 3], [4.5, 8, 4.5]]
    x[x > 5] = ingot.tensor([1.0, 2.0])
    assert x.tolist() == [[1, 1, 3], [4.5, 2, 4.5]]
    x[ingot.tensor([True, False])] = 0
    assert x.tolist() == [[0, 0, 0], [4.5, 2, 4.5]]


@pytest.mark.parametrize("key, error, words", [
    (5, IndexError, "index 5 is out of range for dimension 0 with size 3"),
    ((0, 0, 0), IndexError, "too many indices"),
    (slice(None, None, -1), ValueError, "step must be positive"),
    ((..., ...), IndexError, "only one ellipsis"),
    ([0, 7], IndexError, "index 7 is out of range for dim 0 of size 3"),
    ("a", IndexError, "got str"),
    (1.5, IndexError, "got float"),
    ([0.5], IndexError, "must be integers or bools"),
    (np.array([True, False]), IndexError, "mask"),
    (([0, 1], [0, 1, 2]), IndexError, "do not broadcast"),
])
def test_wrong_keys(key, error, words):
    x = ingot.zeros(3, 4)
    with pytest.raises(error, match=words):
        x[key]
    with pytest.raises(error, match=words):
        x[key] = 1


def test_wrong_values_leave_the_tensor_alone():
    x = ingot.zeros(3, 4)
    with pytest.raises(RuntimeError, match="does not"):
        x[0] = ingot.ones(3)
    with pytest.raises(RuntimeError, match="does not broadcast"):
        x[[0, 1]] = ingot.ones(3)
    assert x.sum() == 0 and x._version == 0


@pytest.mark.parametrize("key", [[slice(1, 2), None], [..., 0], [None], [slice(None), [0, 2]]], ids=str)
def test_a_list_with_slices_or_ellipsis_is_a_key(key):
    a = np.arange(12.0).reshape(3, 4)
    x = ingot.tensor(a)
    np.testing.assert_array_equal(x[key].numpy(), a[tuple(key)])
    x[key], a[tuple(key)] = -1, -1
    np.testing.assert_array_equal(x.numpy(), a)


def test_zero_dimensional_keys():
    x = ingot.tensor(3.0)
    assert x[...].shape == () and x[None].shape == (1,) and x[True].shape == (1,) and x[False].shape == (0,)
    with pytest.raises(IndexError, match="0-d"):
        x[0]
    x[...] = 4
    x[()] += 1
    assert x.item() == 5
    y = ingot.arange(4)
    assert y[ingot.tensor(2)].item() == 2 and y[np.int64(1)].item() == 1
    assert y[True].shape == (1, 4) and y[None, ingot.tensor([1])].tolist() == [[1]]


@pytest.mark.parametrize("key", [
    [[0, 1], [1, 2]], [[0, 1]], [(0, 2), 1], [range(2)], [[[0, 1], [1, 2]]], [np.array([0, 1]), np.array([1, 2])],
    [[True, False, True]], [ingot.tensor([0, 1]), ingot.tensor(1)], [ingot.tensor(0), ingot.tensor(1)]], ids=str)
def test_lists_of_lists_or_tensors_are_tuples_of_indices(key):
    x, y = ingot.arange(12.0).reshape(3, 4), ingot.zeros(3, 4)
    with pytest.warns(UserWarning, match="read as a tuple of indices") as seen:
        found = x[key]
    assert seen[0].filename == __file__
    assert found.tolist() == x[tuple(key)].tolist()
    with pytest.warns(UserWarning, match="read as a tuple of indices"):
        y[key] = 1
    z = ingot.zeros(3, 4)
    z[tuple(key)] = 1
    assert y.tolist() == z.tolist()


@pytest.mark.parametrize("key", [[0, 2], [np.int64(1), 0], [True, False, True], [[0, 1]] * 32], ids=str)
def test_lists_of_numbers_and_long_lists_are_one_index(key):
    x = ingot.arange(12.0).reshape(3, 4)
    assert x[key].tolist() == x[ingot.tensor(np.array(key))].tolist()


@pytest.mark.parametrize("key", [[slice(1, 3), slice(None, 2)], [None, slice(0, 2)], [..., 1], [slice(1, 2), [0, 2]]], ids=str)
def test_lists_with_slices_index_each_dimension(key):
    x, a = ingot.arange(12).reshape(3, 4), np.arange(12).reshape(3, 4).copy()
    assert np.array_equal(x[key].numpy(), a[tuple(key)])
    x[key] = -1
    a[tuple(key)] = -1
    assert np.array_equal(x.numpy(), a)


def test_iteration_and_membership():
    x = ingot.arange(6).reshape(3, 2)
    assert [r.tolist() for r in x] == [[0, 1], [2, 3], [4, 5]]
    assert 4 in x and 9 not in x
    assert [r.tolist() for r in reversed(x)] == reversed(x).tolist() == [[4, 5], [2, 3], [0, 1]]
    assert reversed(ingot.tensor(1)).tolist() == 1
    with pytest.raises(TypeError, match="0-d"):
        iter(ingot.tensor(1))


def test_sizes_join_tuples_as_sizes():
    size = ingot.Size([1, 2])
    for made, expected in (((3,) + size, (3, 1, 2)), (size + (3,), (1, 2, 3)), (size * 2, (1, 2, 1, 2)),
                           (2 * size, (1, 2, 1, 2))):
        assert type(made) is ingot.Size and made == expected
    for other in ([3], range(2), 3):
        with pytest.raises(TypeError):
            size + other

    class Anything:
        def __radd__(self, other):
            return "after", other

    assert size + Anything() == ("after", size)


REFUSED = {
    "sizes below 0": (lambda: ingot.broadcast_shapes((1, 1, -12), (-1, 1)), "not negative"),
    "one size below 0": (lambda: ingot.broadcast_shapes((-1,), (1,)), "not negative"),
    "a source of more dims": (lambda: ingot.ones(()).index_add(0, ingot.tensor([0]), ingot.ones(1, 1, 1)), "must have"),
    "a source of fewer dims": (lambda: ingot.ones(3, 2).index_copy(0, ingot.tensor([0]), ingot.ones(2)), "must have"),
    "places of another dtype": (lambda: ingot.nonzero(ingot.ones(2), out=ingot.zeros(2, 1)), "out must be of int64"),
    "several results in one": (lambda: ingot.nonzero(ingot.ones(2), as_tuple=True, out=ingot.zeros(2, dtype=ingot.int64)),
                               "takes no out"),
    "no dims": (lambda: ingot.ones(2).flip(), "takes dims")}


@pytest.mark.parametrize("case", REFUSED)
def test_wrong_keys_raise(case):
    call, message = REFUSED[case]
    with pytest.raises((RuntimeError, TypeError), match=message):
        call()


@pytest.mark.parametrize("source", [ingot.tensor(3.0), ingot.tensor([3.0])], ids=["number", "vector"])
def test_one_element_is_added_as_a_number_or_a_vector(source):
    at = ingot.tensor(1)
    assert ingot.zeros(2).index_add(0, at, source).tolist() == ingot.zeros(2).index_copy(0, at, source).tolist() == [0, 3]
    assert ingot.zeros(()).index_add(0, ingot.tensor([0]), source).item() == 3


def test_gather_and_scatter():
    x = ingot.arange(6.0).reshape(2, 3)
    index = ingot.tensor([[2, 0], [1, 1]])
    assert x.gather(1, index).tolist() == [[2, 0], [4, 4]]
    assert ingot.zeros(2, 3).scatter_(1, index, 1.0).tolist() == [[1, 0, 1], [0, 1, 0]]
    assert ingot.zeros(2, 3).scatter_add_(1, index, ingot.ones(2, 2)).tolist() == [[1, 0, 1], [0, 2, 0]]
    assert ingot.ones(2).scatter_reduce(0, ingot.tensor([0, 0]), ingot.tensor([3.0, 5.0]), "mean").tolist() == [3, 1]
    assert ingot.ones(2).scatter_reduce(0, ingot.tensor([0, 0]), ingot.tensor([3.0, 5.0]), "prod",
                                        include_self=False).tolist() == [15, 1]
    for short, long in (("max", "amax"), ("min", "amin")):
        given = 0, ingot.tensor([0, 1]), ingot.tensor([-3.0, 5.0])
        assert ingot.ones(2).scatter_reduce(*given, short).equal(ingot.ones(2).scatter_reduce(*given, long))
    assert ingot.full((2,), 2.0).scatter(0, ingot.tensor([1]), 3.0, reduce="multiply").tolist() == [2, 6]
    with pytest.raises(IndexError, match="index 3 is out of range for dim 1 of size 3"):
        x.gather(1, index + 1)
    with pytest.raises(IndexError, match="index -1"):
        x.gather(1, index - 1)
    with pytest.raises(TypeError, match=r"gather takes an index of int64, got index float32\[2, 2\]"):
        x.gather(1, index.float())


def test_index_functions():
    x = ingot.arange(6.0).reshape(3, 2)
    at = ingot.tensor([2, 0])
    assert x.index_select(0, at).tolist() == [[4, 5], [0, 1]]
    assert x.index_add(0, at, ingot.ones(2, 2), alpha=10).tolist() == [[10, 11], [2, 3], [14, 15]]
    assert x.index_copy(1, ingot.tensor([1]), ingot.zeros(3, 1)).tolist() == [[0, 0], [2, 0], [4, 0]]
    assert x.index_fill(0, at, -1).tolist() == [[-1, -1], [2, 3], [-1, -1]]
    y = x.clone()
    y.index_put_((at, ingot.tensor([0, 0])), ingot.tensor([7.0, 8.0]), accumulate=True)
    assert y.tolist() == [[8, 1], [2, 3], [11, 5]]
    assert x.take(ingot.tensor([[0, -1]])).tolist() == [[0, 5]]
    assert x.put(ingot.tensor([1, 1]), ingot.tensor([1.0, 1.0]), accumulate=True).tolist() == [[0, 3], [2, 3], [4, 5]]
    assert x.take_along_dim(ingot.tensor([[1], [0], [-1]]), 1).tolist() == [[1], [2], [5]]


def test_masks():
    x = ingot.arange(6.0).reshape(2, 3)
    mask = ingot.tensor([[True, False, True], [False, False, True]])
    assert x.masked_select(mask).tolist() == [0, 2, 5]
    assert x.masked_scatter(mask, ingot.tensor([7.0, 8.0, 9.0, 1.0])).tolist() == [[7, 1, 8], [3, 4, 9]]
    assert mask.nonzero().tolist() == [[0, 0], [0, 2], [1, 2]]
    assert [i.tolist() for i in mask.nonzero(as_tuple=True)] == [[0, 0, 1], [0, 2, 2]]
    assert ingot.tensor(5).nonzero().shape == (1, 0) and ingot.tensor(0).nonzero().shape == (0, 0)
    with pytest.raises(RuntimeError, match="3 places, but the source has 2"):
        x.masked_scatter(mask, ingot.ones(2))


@pytest.mark.parametrize("kind", ["bool", "int8", "int64", "float16", "bfloat16", "float32", "float64", "complex64"])
@pytest.mark.parametrize("shape", [(7,), (0,), (3, 5), (2, 0), (0, 4), (4, 1, 6), (2, 3, 4, 5)], ids=str)
def test_positions_of_nonzero_elements(shape, kind):
    """nan counts, a negative zero does not, in any memory layout."""
    dtype = getattr(ingot, kind)
    values = [0.0, -0.0, 1.0] if kind[0] in "bi" and kind != "bfloat16" else [0.0, -0.0, 1.0, np.nan]
    a = np.random.default_rng(len(shape)).choice(values, shape)
    x = ingot.tensor(a).to(dtype)
    for y, want in ((x, a), (x.permute(*range(x.ndim)[::-1]), a.T)):
        found = y.nonzero(as_tuple=True)
        assert [i.tolist() for i in found] == [i.tolist() for i in want.nonzero()] and {i.dtype for i in found} == {ingot.int64}
        assert y.nonzero().tolist() == np.argwhere(want).tolist()


# By kind and include_self: result, then gradients of the tensor and the source for slopes 1, 10, 100, 1000 (PyTorch's).
COMBINED = {
    ("amax", True): ([2, 3, 5, 4], [0, 10 / 3, 0, 1000], [0.5, 0.5, 10 / 3, 10 / 3, 0, 0, 0, 100]),
    ("amax", False): ([2, 3, 5, 0], [0, 0, 0, 0], [0.5, 0.5, 5, 5, 0, 500, 500, 100]),
    ("amin", True): ([1, 3, 1, 0], [1, 10 / 3, 0, 0], [0, 0, 10 / 3, 10 / 3, 100, 500, 500, 0]),
    ("amin", False): ([2, 3, 1, 0], [0, 0, 0, 0], [0.5, 0.5, 5, 5, 100, 500, 500, 0]),
    ("prod", True): ([0, 0, 28, 40], [0, 0, 1400, 10000], [0, 0, 0, 90, 1400, 8000, 20000, 400]),
    ("prod", False): ([0, 0, 14, 10], [0, 0, 0, 0], [0, 0, 0, 30, 700, 2000, 5000, 200]),
}


@pytest.mark.parametrize("trace", [False, True])
@pytest.mark.parametrize("kind, include_self", COMBINED)
def test_gradients_of_ties_and_of_products_with_zeros(kind, include_self, trace):
    """Ties share a gradient. With two zeros in a product neither has one; a single zero has the product of the others."""
    values = [0.0, 0, 3, 0, 2, 5, 2, 7] if kind == "prod" else [2.0, 2, 3, 3, 1, 0, 0, 5]
    index, slopes = ingot.tensor([0, 0, 1, 1, 2, 3, 3, 2]), ingot.tensor([1.0, 10, 100, 1000], dtype=ingot.float64)

    def run(x, source):
        out = x.scatter_reduce(0, index, source, kind, include_self=include_self)
        return out, *ingot.autograd.grad((out * slopes).sum(), (x, source))

    for _ in range(2):
        x = ingot.tensor([1.0, 3 if include_self else 8, 2, 4], dtype=ingot.float64, requires_grad=True)
        found = (ingot.jit.trace(run) if trace else run)(x, ingot.tensor(values, dtype=ingot.float64, requires_grad=True))
        assert [t.tolist() for t in found] == [pytest.approx(want) for want in COMBINED[kind, include_self]]


SCATTERED = {  # values written where an index names nothing
    "scatter": lambda x, i, e: x.scatter(0, i, e), "scatter_": lambda x, i, e: x.clone().scatter_(0, i, e),
    "scatter_add": lambda x, i, e: x.scatter_add(0, i, e), "multiply": lambda x, i, e: x.scatter(0, i, e, reduce="multiply"),
    "index_reduce": lambda x, i, e: x.index_reduce(0, i[:, 0], e, "amax"),
    "index_add": lambda x, i, e: x.index_add(0, i[:, 0], e),
    **{f"scatter_reduce {kind}": lambda x, i, e, kind=kind: x.scatter_reduce(0, i, e, kind)
       for kind in ("sum", "prod", "mean", "amax", "amin")},
}


@pytest.mark.parametrize("trace", [False, True])
@pytest.mark.parametrize("fn", SCATTERED.values(), ids=SCATTERED)
def test_empty_scatters_have_zero_gradients(fn, trace):
    x, source = ingot.ones(2, 3, requires_grad=True), ingot.ones(0, 3, requires_grad=True)
    index = ingot.zeros(0, 3, dtype=ingot.int64)

    def step():
        for plain in (x, x.detach()):
            (fn(plain, index, source) * 2).sum().backward()
        return fn(x, index, source).detach()

    assert (ingot.jit.trace(step) if trace else step)().equal(ingot.ones(2, 3))
    assert x.grad.equal(ingot.full((2, 3), 2.0)) and source.grad.shape == (0, 3)


@pytest.mark.parametrize("kind", [ingot.int64, ingot.int32])
def test_added_values_count_from_the_end_and_are_refused_outside(kind):
    x, values = ingot.zeros(3, 4), ingot.tensor([1.0, 2.0, 4.0])

    def added(rows, columns):
        where = ingot.tensor(rows, dtype=kind), ingot.tensor(columns, dtype=kind)
        return x.index_put(where, values, accumulate=True).tolist()

    assert added([0, 2, 2], [1, 3, 3]) == added([-3, -1, 2], [1, -1, 3]) == [[0, 1, 0, 0], [0] * 4, [0, 0, 0, 6]]
    assert added([[0], [2]], [1, 3, 3]) == [[0, 1, 0, 6], [0] * 4, [0, 1, 0, 6]]
    for rows in ([0, 3, 0], [0, -4, 0]):
        with pytest.raises(IndexError, match="index_put"):
            added(rows, [1, 1, 1])


def test_scattered_sums_agree_between_functions():
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 5, 1000)
    values = rng.standard_normal((1000, 3)).astype(np.float32)
    at = ingot.tensor(rows)
    one = ingot.zeros(5, 3).index_add_(0, at, ingot.tensor(values))
    two = ingot.zeros(5, 3).index_put_((at,), ingot.tensor(values), accumulate=True)
    assert ingot.equal(one, two)
    exact = np.zeros((5, 3))
    np.add.at(exact, rows, values.astype(np.float64))
    np.testing.assert_allclose(one.numpy(), exact, rtol=1e-4, atol=1e-4)


def test_parts_replaced():
    x = ingot.zeros(3, 3)
    assert x.select_scatter(ingot.ones(3), 0, -1).tolist() == [[0, 0, 0], [0, 0, 0], [1, 1, 1]]
    assert x.slice_scatter(ingot.ones(3, 1), 1, 2).tolist() == [[0, 0, 1]] * 3
    out = ingot.empty(3, 3)
    assert ingot.slice_scatter(x, ingot.ones(3, 1), 1, 2, out=out) is out and out.tolist() == [[0, 0, 1]] * 3
    assert x.diagonal_scatter(ingot.ones(2), 1).tolist() == [[0, 1, 0], [0, 0, 1], [0, 0, 0]]
    assert x.sum() == 0


PLAIN_WRITES = [
    (key, value) for key in (2, -1, (1, 2), (0, slice(1, 3)), slice(None), slice(1, None), (..., 0), (slice(0, 2), -1), (),
                             np.array([0, 2, 0]), (slice(None), np.array([3, -1])), (np.array([0, 1]), np.array([2, 2])))
    for value in (2, 1.5, 1e300, "one", "like")]


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "bfloat16", "bool"])
def test_plain_writes_are_those_of_the_long_road(dtype, monkeypatch):
    def written(key, value):
        x = ingot.arange(12).reshape(3, 4).to(getattr(ingot, dtype))
        key = tuple(ingot.tensor(k) if isinstance(k, np.ndarray) else k for k in (key if isinstance(key, tuple) else (key,)))
        given = {"one": ingot.tensor(7).to(x.dtype), "like": x[key].clone() + x[key]}.get(value, value)
        before = x._version
        try:
            x[key] = given
        except ingot.IngotError as e:
            return type(e), str(e)
        mask = x > 3
        x[mask] = 0
        view = x[1]
        view += view
        x += x
        return x._version - before, view._version - before, x.tolist()

    quick = [written(*case) for case in PLAIN_WRITES]
    for module, name in ((python_operators, "is_quiet"), (indexing, "is_plain"), (writes, "is_plain")):
        monkeypatch.setattr(module, name, lambda *_: False)
    assert repr(quick) == repr([written(*case) for case in PLAIN_WRITES])      # nan equals nan


MASKED_VALUES = {
    "as many": lambda x: ingot.arange(5) - 7, "one": lambda x: ingot.tensor([7]), "too few": lambda x: ingot.arange(3),
    "too many": lambda x: ingot.arange(6), "a column": lambda x: ingot.arange(5).view(5, 1),
    "a row": lambda x: ingot.arange(5)[None], "its own": lambda x: x.view(12)[3:8],
    "a copy of its own": lambda x: x.view(12)[3:8].clone(), "turned": lambda x: ingot.arange(10).flip(0)[::2],
    "another dtype": lambda x: ingot.arange(5) / 2, "with a history": lambda x: ingot.ones(5, requires_grad=True) * 3}


@pytest.mark.parametrize("layout", ["rows", "turned", "part"])
@pytest.mark.parametrize("dtype", ["float32", "int64", "bfloat16", "bool"])
def test_values_for_the_hits_of_a_mask_are_written_as_on_the_long_road(dtype, layout, monkeypatch):
    def written(make):
        x = ingot.arange(12).to(getattr(ingot, dtype)).reshape(3, 4)
        mask = ingot.arange(12).reshape(3, 4) % 5 < 2
        mask[2, 3] = False              # leaves 5 hits
        kept = x.to(ingot.float64)
        value = make(x)
        value = value if make in (MASKED_VALUES["another dtype"], MASKED_VALUES["with a history"]) else value.to(x.dtype)
        if layout != "rows":
            x = ingot.stack([x, x], -1)[..., 1] if layout == "part" else x.t().contiguous().t()
        before = x._version
        try:
            x[mask] = value
        except (ingot.IngotError, RuntimeError) as e:
            return type(e), str(e), x.tolist() == kept.tolist()
        return x._version - before, x.tolist(), x.requires_grad

    quick = [written(make) for make in MASKED_VALUES.values()]
    monkeypatch.setattr(indexing, "is_plain", lambda *_: False)
    assert quick == [written(make) for make in MASKED_VALUES.values()]


@pytest.mark.parametrize("layout", ["rows", "turned", "part"])
@pytest.mark.parametrize("dtype", ["float32", "int64", "bfloat16", "bool", "complex64"])
def test_keys_of_masks_and_indices_read_as_on_the_long_road(dtype, layout, monkeypatch):
    """Masks of all and of the first dimensions, with no and all hits; index tensors beside whole dimensions."""
    rng = np.random.default_rng(5)
    x = ingot.tensor(rng.integers(-3, 3, (6, 5, 4))).to(getattr(ingot, dtype))
    x = {"rows": x, "turned": x.transpose(0, 1), "part": x[1:5, :, 1:]}[layout]
    i, j = ingot.tensor([1, 0, -1]), ingot.tensor([[2], [0]])
    masks = [ingot.tensor(rng.random(x.shape[:n]) < share) for n in (1, 2, 3) for share in (0, 0.5, 2)]
    keys = [*masks, (i,), (i, j, slice(None)), (slice(None), i), (slice(None), i, j), (i, slice(None), j), (slice(None),) * 2,
            (i.int(), slice(None), slice(None))]
    quick = [x[key] for key in keys]
    monkeypatch.setattr(indexing, "_is_quick_mask", lambda x, mask: False)
    monkeypatch.setattr(indexing, "_plain_indices", lambda a, key: None)
    for key, found in zip(keys, quick):
        want = x[key]
        assert found.dtype is want.dtype and found.stride() == want.stride() and found.requires_grad == want.requires_grad
        assert found.numpy().tobytes() == want.numpy().tobytes(), key


def test_reading_at_few_hits_is_one_call_of_numpy(monkeypatch):
    monkeypatch.setattr(indexing, "resolve", None)
    x, mask = ingot.arange(6.0).view(2, 3), ingot.tensor([[True, False, True], [False, True, False]])
    assert x[mask].tolist() == [0, 2, 4] and x[mask[:, 0]].tolist() == [[0, 1, 2]]
    assert x[ingot.tensor([1]), :].tolist() == [[3, 4, 5]] and x[:, ingot.tensor([-1])].tolist() == [[2], [5]]


def test_few_values_for_a_mask_are_one_write_of_numpy(monkeypatch):
    x, mask = ingot.zeros(3, 4), ingot.arange(12).reshape(3, 4) % 2 == 0
    monkeypatch.setattr(indexing, "resolve", None)
    x[mask] = ingot.arange(6.0)
    assert x.view(12)[::2].tolist() == [0, 1, 2, 3, 4, 5]


def test_plain_writes_keep_out_where_somebody_takes_notice():
    x = ingot.ones(3, requires_grad=True)
    y = x * 2
    y[0] = 5.0
    y += 1
    z = (y * y).sum()
    y[1] = 0.0
    with pytest.raises(RuntimeError, match="overwritten by __setitem__"):
        z.backward()
    with pytest.raises(RuntimeError, match="leaf"):
        x[0] = 1.0
    with pytest.raises(RuntimeError, match="share one place"):
        ingot.zeros(1).expand(3)[:2] += ingot.ones(2)
    saved = ingot.ones(3)
    w = (x * saved).sum()
    saved *= 2.0
    with pytest.raises(RuntimeError, match="overwritten by __imul__"):
        w.backward()


def random_indices(rng, shape):
    """Return positions of any shape and masks for some of the first dims, as arrays."""
    found: list = []
    used, wanted = 0, rng.integers(1, len(shape) + 1)
    while used < wanted:
        n = shape[used]
        kind = rng.integers(4)
        if kind == 0 and used + 2 <= len(shape):
            found.append(rng.random(shape[used:used + 2]) > 0.5)
        elif kind == 1:
            found.append(rng.random(n) > 0.5)
        else:
            found.append(np.asarray(rng.integers(-n, n, [(), (1,), (2,), (2, 1)][rng.integers(4)])))
        used += found[-1].ndim if found[-1].dtype == bool else 1
    return tuple(found)


@pytest.mark.parametrize("seed", range(40))
def test_index_put_takes_positions_and_masks_of_any_shape(seed):
    rng = np.random.default_rng(seed)
    for _ in range(10):
        a = rng.standard_normal(rng.integers(1, 4, rng.integers(1, 4)))
        at = random_indices(rng, a.shape)
        try:
            indexed = a[at].shape
        except IndexError:          # masks of different counts, or beside positions of another shape
            continue
        value = rng.standard_normal(indexed if rng.integers(2) else ())
        expected = a.copy()
        np.add.at(expected, at, value)
        x, where, v = ingot.tensor(a), tuple(map(ingot.tensor, at)), ingot.tensor(value)
        np.testing.assert_allclose(ingot.index_put(x, where, v, accumulate=True).numpy(), expected)
        assert x.index_put_(where, v, accumulate=True) is x
        np.testing.assert_allclose(x.numpy(), expected)
        expected[at] = 7.0
        np.testing.assert_array_equal(x.index_put_(where, ingot.tensor(7.0, dtype=ingot.float64)).numpy(), expected)


def test_index_put_refuses_slices():
    with pytest.raises(IndexError, match=r"write x\[key\] = values"):
        ingot.zeros(3).index_put_((slice(0, 2),), ingot.ones(2))


@pytest.mark.parametrize("limits, expected", [({"min": 0}, [1, 0]), ({"min": 1}, [1, 1]), ({"max": 0}, [0, 0]),
                                              ({"min": 2}, [2, 2])], ids=str)
def test_one_limit_of_bools(limits, expected):
    found = ingot.tensor([True, False]).clamp(**limits)
    assert found.dtype is ingot.int64 and found.tolist() == expected
    assert ingot.tensor([1, 5]).clamp(2, ingot.tensor(3)).tolist() == [2, 3]


@pytest.mark.parametrize("reduce", ["amax", "amin"])
def test_complex_numbers_have_no_largest(reduce):
    with pytest.raises(TypeError, match="have no order"):
        ingot.zeros(3, dtype=ingot.complex64).scatter_reduce(0, ingot.tensor([0]), ingot.ones(1, dtype=ingot.complex64), reduce)


OUT_OF_RANGE = {
    "gather": lambda x, i: x.gather(0, i[None]), "scatter": lambda x, i: x.scatter(0, i[None], 1.0),
    "scatter_add": lambda x, i: x.scatter_add(0, i[None], x[:1]), "index_add": lambda x, i: x.index_add(0, i, x[:1]),
    "index_select": lambda x, i: x.index_select(0, i), "index": lambda x, i: x[i], "take": lambda x, i: x.take(i + 20),
    "put": lambda x, i: x.put(i + 12, x[0, :1]), "narrow": lambda x, i: x.narrow(0, 2, 5),
    "select": lambda x, i: x.select(0, 9),
    "one_hot": lambda x, i: ingot.nn.functional.one_hot(i, 3), "a dim": lambda x, i: x.sum(5),
    "embedding_bag": lambda x, i: ingot.nn.functional.embedding_bag(i[None], x),
    "multi_margin_loss": lambda x, i: ingot.nn.functional.multi_margin_loss(x, i.repeat(3)),
}


@pytest.mark.parametrize("name", OUT_OF_RANGE)
def test_indices_out_of_range_raise_index_and_runtime_errors(name):
    """Programs written for PyTorch catch either, depending on the function."""
    for error in (IndexError, RuntimeError):
        with pytest.raises(error):
            OUT_OF_RANGE[name](ingot.ones(3, 4), ingot.tensor([5]))


@pytest.mark.parametrize("write", [lambda x, i, v: x.index_put((i,), v), lambda x, i, v: x.index_put_((i,), v),
                                   lambda x, i, v: x.put(i, v), lambda x, i, v: x.put_(i, v, accumulate=True)])
@pytest.mark.parametrize("other", ["float64", "int64", "complex64", "bool"])
def test_only_keys_convert_the_written_value(write, other):
    x, at, values = ingot.ones(4), ingot.tensor([1, 3]), ingot.ones(2, dtype=getattr(ingot, other))
    for v in (values, values[0]) if write.__code__.co_names[0].startswith("index_put") else (values,):
        with pytest.raises(TypeError, match=f"the values are {other} and the tensor float32"):
            write(x, at, v)
    if other != "complex64":
        x[at] = values
    assert x.tolist() == [1, 1, 1, 1] and write(x, at, values.float()).dtype is ingot.float32
