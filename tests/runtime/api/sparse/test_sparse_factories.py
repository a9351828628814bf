"""Sparse factories: in traces with changing positions, in requested layouts, from other tensors, in place."""

import pickle

import numpy as np
import pytest

import ingot
from ingot import jit
from ingot.ir.errors import IngotError
from tests.runtime.api.sparse.test_sparse_tensor import DENSE, LAYOUTS, dense, repeated

# Made in traces, with changing positions.

MADE = {
    "coo": lambda e, starts, v, n: ingot.sparse_coo_tensor(e, v, (n, n)),
    "coalesced": lambda e, starts, v, n: ingot.sparse_coo_tensor(e.flip(1), v, (n, n)).coalesce(),
    "csr": lambda e, starts, v, n: ingot.sparse_csr_tensor(starts, e[1], v, (n, n)),
    "csc": lambda e, starts, v, n: ingot.sparse_csc_tensor(starts, e[1], v, (n, n)),
    "bsr": lambda e, starts, v, n: ingot.sparse_bsr_tensor(starts, e[1], v.reshape(-1, 1, 1), (n, n)),
    "batch": lambda e, starts, v, n: ingot.sparse_csr_tensor(
        ingot.stack([starts, starts]), ingot.stack([e[1], e[1]]), ingot.stack([v, 2 * v]), (2, n, n)),
    "rows of it": lambda e, starts, v, n: ingot.sparse_coo_tensor(e, v, (n, n)).index_select(0, e[1]),
}


def random_places(rng, n):
    """Return the positions of a random matrix, its row starts, and its numbers."""
    there = rng.random((n, n)) < 0.4
    there[0, 0] = True
    starts = np.concatenate([[0], np.cumsum(there.sum(1))])
    return ingot.tensor(np.stack(np.nonzero(there))), ingot.tensor(starts), ingot.tensor(rng.standard_normal(there.sum()))


@pytest.mark.parametrize("name", MADE)
def test_traces_make_them_of_places_and_sizes_that_change(name):
    def program(e, starts, v, x):
        return dense(MADE[name](e, starts, v, x.shape[0])).sum(-2) @ x

    rng, traced = np.random.default_rng(3), jit.trace(program)
    for n in (5, 7, 4, 9, 6, 8, 7, 7):
        given = *random_places(rng, n), ingot.tensor(rng.standard_normal(n))
        want = program(*given)      # first: calls with the first sparse tensor of a process are not recorded
        np.testing.assert_array_equal(traced(*given), want)
    assert traced.stats()["compiles"] <= 4 and not traced.stats()["unrecorded"], traced.stats()["misses"]


GOOD = ([[0, 0, 2], [0, 2, 1]], [0, 2, 2, 3])
WRONG = {
    "negative row": ([[-1, 0, 2], [0, 2, 1]], GOOD[1]),
    "negative column": ([[0, 0, 2], [0, 2, -1]], GOOD[1]),
    "row too large": ([[0, 0, 3], [0, 2, 1]], GOOD[1]),
    "column too large": ([[0, 0, 2], [0, 2, 3]], GOOD[1]),
    "columns fall": ([[0, 0, 2], [2, 0, 1]], GOOD[1]),
    "a column twice": ([[0, 0, 2], [2, 2, 1]], GOOD[1]),
    "rows fall": (GOOD[0], [0, 3, 2, 3]),
    "the first row begins late": (GOOD[0], [1, 2, 2, 3]),
    "the last row ends early": (GOOD[0], [0, 2, 2, 2]),
}


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("wrong", WRONG)
def test_places_are_checked_at_each_call_of_a_trace(name, wrong):
    def program(e, starts):
        return dense(MADE[name](e, starts, ingot.ones(3), 3))

    def outcome(fn):
        try:
            return fn(*map(ingot.tensor, WRONG[wrong])).tolist()
        except IngotError as error:
            return str(error).splitlines()[0]

    traced = jit.trace(program)
    for _ in range(3):
        traced(*map(ingot.tensor, GOOD))
    assert outcome(traced) == outcome(program)
    assert traced(*map(ingot.tensor, GOOD)).equal(program(*map(ingot.tensor, GOOD)))


@pytest.mark.parametrize(("entries", "told", "coalesced"), [
    (0, None, True), (1, None, True), (2, None, False), (1, False, False)])
def test_fewer_than_two_entries_are_in_order(entries, told, coalesced):
    x = ingot.sparse_coo_tensor([[1] * entries, [0] * entries], [2.0] * entries, (2, 3), is_coalesced=told)
    assert x.is_coalesced() is coalesced
    if coalesced:
        assert tuple(x.indices().shape) == (2, entries) and x.values().tolist() == [2.0] * entries


ORDERS = [lambda x: x.permute(dims=(1, 0)), lambda x: ingot.permute(x, dims=(1, 0)), lambda x: x.permute(1, 0),
          lambda x: x.movedim(source=0, destination=1), lambda x: ingot.movedim(x, 0, 1)]


@pytest.mark.parametrize("turn", ORDERS)
def test_orders_by_name(turn):
    x = ingot.arange(6.0).reshape(2, 3)
    assert turn(x.to_sparse()).to_dense().tolist() == x.T.tolist()


# Made in a layout, and written into.


NOTHING_IN = {"zeros": lambda L: ingot.zeros(2, 3, layout=L, dtype=ingot.float64),
              "empty": lambda L: ingot.empty((2, 3), layout=L),
              "zeros_like": lambda L: ingot.zeros_like(ingot.ones(2, 3), layout=L),
              "empty_like": lambda L: ingot.empty_like(ingot.ones(2, 3), layout=L),
              "new_zeros": lambda L: ingot.ones(1).new_zeros(2, 3, layout=L),
              "zeros_like of one": lambda L: ingot.zeros_like(ingot.ones(2, 3).to_sparse(), layout=L),
              "new_zeros of one": lambda L: ingot.ones(2, 2).to_sparse(layout=L).new_zeros((2, 3)),
              "new_empty of one": lambda L: ingot.ones(2, 2).to_sparse().new_empty(2, 3, layout=L)}
FULL_IN = {"ones": lambda L: ingot.ones(2, 3, layout=L), "full": lambda L: ingot.full((2, 3), 1.0, layout=L),
           "rand": lambda L: ingot.rand(2, 3, layout=L), "eye": lambda L: ingot.eye(3, layout=L),
           "arange": lambda L: ingot.arange(3, layout=L), "full_like": lambda L: ingot.full_like(ingot.ones(2), 1, layout=L),
           "new_full": lambda L: ingot.ones(2).new_full((2,), 1, layout=L),
           "normal": lambda L: ingot.normal(0, 1, (2,), layout=L),
           "hann_window": lambda L: ingot.hann_window(3, layout=L), "linspace": lambda L: ingot.linspace(0, 1, 3, layout=L),
           "ones_like": lambda L: ingot.ones_like(ingot.ones(2), layout=L), "randperm": lambda L: ingot.randperm(3, layout=L)}


@pytest.mark.parametrize("layout", [ingot.sparse_coo, ingot.sparse_csr, ingot.sparse_csc])
@pytest.mark.parametrize("name", NOTHING_IN)
def test_zeros_are_made_in_a_layout(name, layout):
    made = NOTHING_IN[name](layout)
    assert made.layout == layout and made.shape == (2, 3) and made._nnz() == 0 and made.to_dense().eq(0).all()
    assert made.dtype is (ingot.float64 if name == "zeros" else ingot.float32)
    assert ingot.zeros(2, 3, layout=layout, requires_grad=True).requires_grad


@pytest.mark.parametrize("name", FULL_IN)
def test_nonzero_factories_refuse_sparse_layouts(name):
    assert FULL_IN[name](ingot.strided).layout == ingot.strided
    for layout in (ingot.sparse_coo, ingot.sparse_csr, ingot.jagged):
        with pytest.raises(RuntimeError, match="layout"):
            FULL_IN[name](layout)


OUT = {"abs": lambda s, **out: ingot.abs(s, **out), "neg": lambda s, **out: ingot.neg(s, **out),
       "add": lambda s, **out: ingot.add(s, s, alpha=2, **out), "mul": lambda s, **out: ingot.mul(s, s, **out),
       "div": lambda s, **out: ingot.div(s, -2, rounding_mode="floor", **out), "mm": lambda s, **out: ingot.mm(s, s.t(), **out)}


@pytest.mark.parametrize("name", OUT)
def test_out_takes_over_entries_and_size(name):
    s = ingot.tensor(DENSE).to_sparse()
    for into in (s.clone(), ingot.zeros(1, dtype=ingot.float64, layout=ingot.sparse_coo)):
        got = OUT[name](s, out=into)
        assert got is into and into.to_dense().equal(OUT[name](s).to_dense())
    with pytest.raises(TypeError, match="the result is"):
        OUT[name](s, out=ingot.zeros(1, dtype=ingot.int64, layout=ingot.sparse_coo))
    with pytest.raises(RuntimeError, match="has no gradient"):
        OUT[name](s.clone().requires_grad_(), out=s.clone())


@pytest.mark.parametrize("turn", [lambda x: x.t_(), lambda x: x.transpose_(0, 1), lambda x: x.unsqueeze_(0)])
def test_shapes_change_in_place(turn):
    s, d = ingot.tensor(DENSE).to_sparse(), ingot.tensor(DENSE)
    assert turn(s) is s and s.to_dense().equal(turn(d))


def test_sums_of_coalesced_tensors_are_coalesced():
    s, d = ingot.tensor(DENSE).to_sparse(), ingot.tensor(DENSE)
    other = (d.flip(0) * 2).to_sparse()
    for found, expected in ((s + s, d + d), (s + other, d + d.flip(0) * 2), (s - other, d - d.flip(0) * 2)):
        assert found.is_coalesced() and found.to_dense().equal(expected)
        assert found.values().shape[0] == len({tuple(c) for c in found.indices().T.tolist()})
    x = repeated(d)
    for _ in range(9):
        x = x + repeated(d)
    assert x._nnz() <= 2 * d.numel() and x.to_dense().equal(10 * d)
    v = s.values().clone().requires_grad_()
    (ingot.sparse_coo_tensor(s.indices(), v, d.shape, is_coalesced=True) + other).to_dense().square().sum().backward()
    assert v.grad.equal((2 * (d + d.flip(0) * 2))[tuple(s.indices())])


def test_without_sparse_dims_and_without_entries():
    three = ingot.tensor(3.0).to_sparse()
    assert (three * three).to_dense() == 9 and (three + three).to_dense() == 6
    again = pickle.loads(pickle.dumps(three.coalesce()))
    assert again.is_coalesced() and again.to_dense() == 3
    two = ingot.sparse_coo_tensor(ingot.zeros(0, 2, dtype=ingot.int64), ingot.tensor([1.0, 1.0]), ())
    grid = ingot.tensor(DENSE).to_sparse()
    for found in (grid * two, two * grid, grid.to_sparse_csr() * two):
        assert found.to_dense().equal(2 * grid.to_dense())
    assert ingot.zeros(2, 3, out=ingot.ones(5).to_sparse()).shape == (2, 3)
    assert ingot.empty(4, out=ingot.ones(2, 2).to_sparse())._nnz() == 0
    rows = ingot.sparse_coo_tensor([[0, 2]], ingot.arange(6.0).reshape(2, 3), (3, 3))
    none = ingot.sparse_coo_tensor((3, 3))
    assert none.sparse_dim() != rows.sparse_dim()
    for found in (rows + none, none + rows, rows - none):
        assert found.to_dense().equal(rows.to_dense()) and found._values() is not rows._values()
    assert (none - rows).to_dense().equal(-rows.to_dense()) and (rows * none).to_dense().eq(0).all()
    assert ingot.bmm(ingot.ones(2, 3, 3).to_sparse(), ingot.ones(2, 3, 0)).shape == (2, 3, 0)
    diagonals = ingot.sparse.spdiags(ingot.ones(0, 3), ingot.tensor([], dtype=ingot.int64), (3, 4))
    assert diagonals.shape == (3, 4) and diagonals._nnz() == 0


def test_truth_new_and_sizes_as_of_others():
    one = ingot.sparse_coo_tensor([[0]], [1.0], (1,))
    assert bool(one) and one.is_nonzero() and not ingot.is_nonzero(one * 0) and not ingot.zeros(1, layout=ingot.sparse_coo)
    s = ingot.tensor(DENSE).to_sparse()
    with pytest.raises(RuntimeError, match="ambiguous"):
        bool(s)
    again = s.new(s.indices(), s.values(), s.shape)
    assert again.to_dense().equal(s.to_dense()) and s.new(2, 3).shape == s.new(ingot.Size((2, 3))).shape == (2, 3)
    assert s.new().shape == (0,) and s.new(2, 3).layout == ingot.sparse_coo and s.new(2).dtype is s.dtype
    for wrong in ([6], ingot.ones(3)):
        with pytest.raises(TypeError, match="takes indices and values, or a size"):
            s.new(wrong)
    assert ingot.zeros(1, dtype=s.dtype, layout=ingot.sparse_coo).resize_as_(s).shape == s.shape
    with pytest.raises(TypeError, match="two sparse tensors"):
        s.resize_as_(ingot.ones(2))


@pytest.mark.parametrize("layout", ["coo", "csr", "bsc"])
def test_gradcheck_takes_sparse_tensors(layout):
    a = LAYOUTS[layout](ingot.tensor(DENSE)).requires_grad_()
    b = ingot.ones(6, 2, dtype=ingot.float64, requires_grad=True)
    for fn in (lambda x, y: x.to_dense() ** 2, lambda x, y: x * 3, lambda x, y: (x @ y).sin()):
        assert ingot.autograd.gradcheck(fn, (a, b)) and ingot.autograd.gradcheck(fn, (a, b), fast_mode=True)
    assert ingot.autograd.gradgradcheck(lambda x, y: (x @ y).sin(), (a, b))

    class Wrong(ingot.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 3

    with pytest.raises(RuntimeError, match="input 0"):
        ingot.autograd.gradcheck(lambda x, y: Wrong.apply(x.to_dense()), (a, b))
