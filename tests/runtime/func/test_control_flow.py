"""Loops as functions against plain loops: gradients, traces, vmap, and errors."""

import numpy as np
import pytest

import ingot
import private_names  # noqa: F401
from ingot import _higher_order_ops as ops
from ingot import jit


def normal(*shape, seed=0):
    return ingot.tensor(np.random.default_rng([seed, *shape]).standard_normal(shape))


def leaves(tree):
    return ingot.utils._pytree.tree_leaves(tree)


def slices(tree, dim, i):
    return ingot.utils._pytree.tree_map(lambda t: t.select(dim, i), tree)


def bits(tree):
    return [t.detach().numpy().tobytes() for t in leaves(tree)]


# scan.

def accumulate(carry, x):
    return carry * 0.9 + x.sin(), carry * x


def trees(carry, x):
    h, c = carry["h"], carry["c"]
    h = (h + x[0]).tanh()
    return {"h": h, "c": c + x[1] * h}, {"y": h, "total": (h * c).sum(), "none": None}


SCANS = [
    ("tensors", accumulate, lambda s: normal(*s), lambda s, d: normal(*s[:d], *s[d + 1:], seed=1)),
    ("trees", trees, lambda s: (normal(*s), normal(*s, seed=2)),
     lambda s, d: {"h": normal(*s[:d], *s[d + 1:], seed=3), "c": normal(*s[:d], *s[d + 1:], seed=4)}),
]


def looped(fn, init, xs, dim, reverse):
    """Compute a scan as a loop."""
    carry, ys = init, []
    n = leaves(xs)[0].shape[dim]
    for i in reversed(range(n)) if reverse else range(n):
        carry, y = fn(carry, slices(xs, dim, i))
        ys.append(y)
    ys = ys[::-1] if reverse else ys
    flat = [ingot.utils._pytree.tree_flatten(y) for y in ys]
    places = [None if p[0] is None else ingot.stack(p, dim if dim <= p[0].ndim else 0) for p in zip(*[f for f, _ in flat])]
    return carry, flat[0][1].unflatten(places)


def slopes(run, init, xs):
    """Return results, and gradients of first and second order."""
    given = [t.detach().requires_grad_() for t in leaves((init, xs))]
    spec = ingot.utils._pytree.tree_structure((init, xs))
    results = [t for t in leaves(run(*spec.unflatten(given))) if t is not None]
    first = ingot.autograd.grad(sum(t.square().sum() for t in results), given, create_graph=True)
    return [results, first, ingot.autograd.grad(sum(g.sin().sum() for g in first), given)]


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("shape, dim", [((4, 3), 0), ((2, 5, 3), 1), ((3, 1), -1)])
@pytest.mark.parametrize("fn, make_xs, make_init", [row[1:] for row in SCANS], ids=[row[0] for row in SCANS])
def test_a_scan_is_its_loop(fn, make_xs, make_init, shape, dim, reverse):
    at = dim % len(shape)
    init, xs = make_init(shape, at), make_xs(shape)

    def run(init, xs):
        return ops.scan(fn, init, xs, dim=dim, reverse=reverse)

    want = slopes(lambda init, xs: looped(fn, init, xs, at, reverse), init, xs)
    assert bits(slopes(run, init, xs)) == bits(want)
    traced = jit.trace(lambda init, xs: slopes(run, init, xs))
    for _ in range(2):
        assert bits(traced(init, xs)) == bits(want)
    assert traced.stats()["compiles"] == 1


def test_lengths_of_scans():
    x = normal(3, 2)
    carry, ys = ops.scan(lambda c, x: (c + 1, {"y": c.sum(), "x": x}), ingot.zeros(2), None, length=3)
    assert carry.tolist() == [3, 3] and ys["y"].tolist() == [0, 2, 4] and ys["x"] is None
    init = normal(2)
    carry, ys = ops.scan(lambda c, x: (c, {"y": c * x, "none": None}), init, x[:0])
    assert carry is init and ys["y"].shape == (0, 2) and ys["y"].dtype is ingot.float64 and ys["none"] is None
    assert ops.scan(lambda c, x: (c, c), init, None, length=0)[1].shape == (0, 2)
    assert ops.scan(lambda c, x: (c, c), init, None) == (init, [])
    assert ops.scan(lambda c, x: (c, c), init, x, length=3)[1].shape == (3, 2)


@pytest.mark.parametrize("call, words", [
    (lambda x: ops.scan(lambda c, x: c, x[0], x), "pair"),
    (lambda x: ops.scan(lambda c, x: ((c, c), x), x[0], x), "carry like init"),
    (lambda x: ops.scan(lambda c, x: (c.float(), x), x[0], x), r"float32\[2\] instead of float64\[2\]"),
    (lambda x: ops.scan(lambda c, x: (c.sum(), x), x[0], x), "leaf 0"),
    (lambda x: ops.scan(accumulate, [], x), "init is a tensor"),
    (lambda x: ops.scan(accumulate, x[0], x, length=2), "3 slices"),
    (lambda x: ops.scan(accumulate, x[0], (x, x[:2])), "same size along dimension 0"),
    (lambda x: ops.scan(accumulate, x[0], [x, 3]), "tree of tensors"),
    (lambda x: ops.scan(accumulate, x[0], x, dim=2), "dim"),
    (lambda x: ops.associative_scan(3, x, 0), "function of two trees"),
    (lambda x: ops.associative_scan(ingot.add, x, 0, combine_mode="fast"), "'pointwise' or 'generic'"),
    (lambda x: ops.associative_scan(ingot.add, [], 0), "no tensor"),
    (lambda x: ops.associative_scan(lambda a, b: (a, b), x, 0), "tree like xs"),
    (lambda x: ops.associative_scan(lambda a, b: (a + b).sum(), x, 0, combine_mode="generic"), "leaf 0"),
    (lambda x: ops.map(ingot.sin, x[:0]), "at least one slice"),
])
def test_wrong_loops_raise(call, words):
    with pytest.raises(ingot.IngotError, match=words):
        call(normal(3, 2))


# associative_scan.

def recurrence(a, b):
    return {"f": a["f"] * b["f"], "x": b["f"] * a["x"] + b["x"]}


COMBINED = [
    ("sum", lambda a, b: a + b, lambda s: normal(*s)),
    ("maximum", ingot.maximum, lambda s: normal(*s)),
    ("recurrence", recurrence, lambda s: {"f": normal(*s).sigmoid(), "x": normal(*s, seed=1)}),
]


def prefixes(fn, xs, dim, reverse):
    """Return all prefixes, computed one after the other."""
    n = leaves(xs)[0].shape[dim]
    parts = [slices(xs, dim, i) for i in (reversed(range(n)) if reverse else range(n))]
    found = parts[:1]
    for x in parts[1:]:
        found.append(fn(found[-1], x))
    flat = [leaves(y) for y in (found[::-1] if reverse else found)]
    return ingot.utils._pytree.tree_structure(xs).unflatten([ingot.stack(p, dim) for p in zip(*flat)])


@pytest.mark.parametrize("mode", ["pointwise", "generic"])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 11])
@pytest.mark.parametrize("fn, make", [row[1:] for row in COMBINED], ids=[row[0] for row in COMBINED])
def test_an_associative_scan_is_the_prefixes(fn, make, n, reverse, mode):
    xs = make((2, n, 3))

    def run(xs):
        return ops.associative_scan(fn, xs, 1, reverse=reverse, combine_mode=mode)

    for a, b in zip(leaves(run(xs)), leaves(prefixes(fn, xs, 1, reverse)), strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-12)


@pytest.mark.parametrize("mode", ["pointwise", "generic"])
def test_gradients_of_an_associative_scan(mode):
    xs = COMBINED[2][2]((2, 7, 3))

    def run(_, xs):
        return ops.associative_scan(recurrence, xs, 1, combine_mode=mode)

    found = slopes(run, [], xs)
    for a, b in zip(leaves(found), leaves(slopes(lambda _, xs: prefixes(recurrence, xs, 1, False), [], xs)), strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-10, atol=1e-12)
    traced = jit.trace(lambda xs: slopes(run, [], xs))
    for _ in range(2):
        assert bits(traced(xs)) == bits(found)


def test_elements_that_are_matrices():
    m = normal(6, 3, 3)
    found = ops.associative_scan(lambda a, b: a @ b, m, 0, combine_mode="generic")
    np.testing.assert_allclose(found.numpy(), prefixes(ingot.matmul, m, 0, False).numpy(), rtol=1e-10)
    assert ops.associative_scan(ingot.add, m[:0], 0).shape == (0, 3, 3)
    assert ops.associative_scan(ingot.add, m, -1).shape == m.shape


def test_loops_of_samples():
    x = normal(4, 5, 3)
    for one in (lambda x: ops.scan(accumulate, x[0], x)[1], lambda x: ops.associative_scan(ingot.add, x, 0),
                lambda x: ops.map(lambda v: v.sin() + x.sum(), x)):
        want = ingot.stack([one(v) for v in x])
        np.testing.assert_allclose(ingot.vmap(one)(x).numpy(), want.numpy(), rtol=1e-12)


# map, and the names.

def test_map():
    xs, k = (normal(4, 3), normal(4, seed=1)), normal(3, seed=2)
    found = ops.map(lambda x, k: {"y": x[0] * x[1] + k}, xs, k)
    assert found["y"].tolist() == (xs[0] * xs[1][:, None] + k).tolist()


def test_functions_come_from_modules_of_their_names():
    from ingot._higher_order_ops.associative_scan import associative_scan
    from ingot._higher_order_ops.scan import scan
    from ingot._higher_order_ops.while_loop import while_loop
    assert (scan, associative_scan, while_loop) == (ops.scan, ops.associative_scan, ingot.while_loop)
    assert callable(ingot._higher_order_ops.scan) and ops.cond is ingot.cond
