"""Traced functions that write parts of their arguments write in place, as eager code does, and never by halves."""

import numpy as np
import pytest

import ingot
import ingot.nn.functional as F
from graph_interpreter import interpret
from graphs import graph_of
from ingot import jit
from ingot.ir.errors import GraphError
from ingot.passes.schedule.inplace_updates import hoist_index_checks, may_fail

ROWS, WIDTH = 40, 8
AT = ingot.tensor([3, -1, 7])


def _row(x, v, i):
    x[3] = v[0]
    return (x[:5] * 2).sum()


def _rows_twice(x, v, i):
    x[1:4] = v
    x[10:13] += v
    return x.sum(1)


def _columns(x, v, i):
    x[:, 2:5] = v.t().repeat(5, 1)[:ROWS]
    return x[0]


def _diagonal(x, v, i):
    x[:WIDTH].diagonal().copy_(v[0])
    return x @ x.t()


def _transposed(x, v, i):
    x.t()[2] = x[:, 0] + 1
    return x.mean()


def _by_index(x, v, i):
    x.index_put_((i,), v)
    return F.softmax(x, -1)


def _added(x, v, i):
    x.index_add_(0, i.remainder(ROWS), v)
    return x.sum()


def _columns_by_index(x, v, i):
    x.index_copy_(1, i.remainder(WIDTH), v.t().repeat(5, 1)[:ROWS])
    return x.sum(0)


def _by_two_indices(x, v, i):
    x[i, ingot.tensor([1, 1, 5])] = v[0, :3]
    return x.sum(0)


def _scattered(x, v, i):
    x.scatter_add_(0, i.remainder(ROWS)[:, None].expand(3, WIDTH), v)
    return x.sum(0)


def _attended(x, v, i):
    x[5:8] = v
    y = x.reshape(1, 2, ROWS // 2, WIDTH)
    return F.scaled_dot_product_attention(y, y, y)


def _kernel_then_part(x, v, i):
    x.mul_(2)
    x[0] = v[0]
    return x.sum()


def _part_then_kernel(x, v, i):
    x[0] = v[0]
    x.mul_(2)
    return x @ v.t()


def _old_is_read(x, v, i):
    before = x.cumsum(0)
    x[0] = v[0]
    return before + x


def _old_is_read_late(x, v, i):
    before = x * 2
    x[0] = v[0]
    return (before - x.sum()) @ v.t()


def _rows_of_itself(x, v, i):
    x[1:] = x[:-1].clone()
    return x.sum(0)


def _index_twice(x, v, i):
    x.index_put_((i,), v)
    x.index_add_(0, i.remainder(ROWS), v * 2)
    return x.sum()


WRITES = {f.__name__[1:]: f for f in (_row, _rows_twice, _columns, _diagonal, _transposed, _by_index, _added, _columns_by_index,
                                      _by_two_indices, _scattered, _attended, _kernel_then_part, _part_then_kernel,
                                      _old_is_read, _old_is_read_late, _rows_of_itself, _index_twice)}

COPIED = ("old_is_read_late", "rows_of_itself")      # what lies there is wanted after the write, or while it is done


def _arguments(seed):
    rng = np.random.default_rng(seed)
    return ingot.from_numpy(rng.standard_normal((ROWS, WIDTH)).astype("f")), \
        ingot.from_numpy(rng.standard_normal((3, WIDTH)).astype("f")), AT


@pytest.mark.parametrize("name", WRITES)
def test_written_in_place_as_eager_code_does(name):
    fn = WRITES[name]
    traced = jit.trace(fn)
    for seed in range(4):
        (x, v, i), (y, *_) = _arguments(seed), _arguments(seed)
        want, found = fn(y, v, i), traced(x, v, i)
        ingot.testing.assert_close(found, want)
        ingot.testing.assert_close(x, y)
    assert traced.stats()["in_place"] == (name not in COPIED)


def test_strided_inputs_are_written_in_place_too():
    traced = jit.trace(_row)
    for seed in range(4):
        x, v, i = _arguments(seed)
        x, y = x.t().contiguous().t(), x.clone()
        ingot.testing.assert_close(traced(x, v, i), _row(y, v, i))
        ingot.testing.assert_close(x, y)


def _fails_behind(x, v, i):
    x[0] += v[0]
    y = x.sum() * 0 + v[:, :3]
    return ingot.linalg.cholesky(y + 0.0)


def _fails_by_its_index(x, v, i):
    x[0] += v[0]
    x.index_add_(0, i, v)
    return x.sum()


@pytest.mark.parametrize(("fn", "wrong"), [(_fails_behind, "v"), (_fails_by_its_index, "i"), (_by_index, "i")])
def test_a_call_that_fails_writes_what_eager_code_does(fn, wrong):
    """Python repeats the call: an earlier addition would be done twice."""
    traced = jit.trace(fn)
    good = ingot.eye(3, WIDTH)
    for _ in range(3):
        traced(_arguments(0)[0], good, ingot.tensor([3, 4, 7]))
    x, v, i = _arguments(1)
    v, i = (-good, i) if wrong == "v" else (good, ingot.tensor([3, 4, ROWS]))
    found = []
    for run, target in ((fn, x.clone()), (traced, x)):
        with pytest.raises(Exception, match=r".") as raised:
            run(target, v, i)
        found.append((type(raised.value), target))
    assert found[0][0] is found[1][0]
    assert ingot.equal(found[0][1], found[1][1])


def test_a_cache_of_several_layers_is_written_without_a_copy():
    """The positions are checked once, before the first write."""
    def step(caches, new, at):
        for cache, k in zip(caches, new):
            cache.index_copy_(1, at, k)
        return [F.scaled_dot_product_attention(k, c, c) for c, k in zip(caches, new)]

    traced = jit.trace(step)
    caches = [ingot.zeros(2, 16, 4) for _ in range(3)]
    plain = [c.clone() for c in caches]
    for n in range(5):
        new, at = [ingot.randn(2, 1, 4) for _ in range(3)], ingot.tensor([n])
        for found, want in zip(traced(caches, new, at), step(plain, new, at)):
            ingot.testing.assert_close(found, want)
    assert all(map(ingot.equal, caches, plain))
    assert traced.stats()["in_place"] == 3


@pytest.mark.parametrize("name", ["row", "by_index", "by_two_indices"])
def test_read_only_inputs_are_refused(name):
    fn = WRITES[name]
    traced = jit.trace(fn)
    for _ in range(3):
        traced(*_arguments(0))
    x, v, i = _arguments(0)
    locked = x.numpy().copy()
    locked.setflags(write=False)
    with pytest.raises(RuntimeError, match="read-only"):
        traced(ingot.from_numpy(locked), v, i)
    assert (locked == x.numpy()).all()


SAME = """
    graph g(%x: f32[6,2], %y: f32[6,2], %v: f32[3,2], %i: i64[3]) {
      %0: f32[6,2] = index_put(%x, %v, %i, accumulate=False)
      %1: f32[6,2] = index_put(%y, %v, %i, accumulate=True)
      return %0, %1
    }"""
OTHER_SIZES = """
    graph g(%x: f32[6,2], %y: f32[9,2], %v: f32[3,2], %i: i64[3]) {
      %0: f32[6,2] = index_put(%x, %v, %i, accumulate=False)
      %1: f32[9,2] = index_put(%y, %v, %i, accumulate=False)
      return %0, %1
    }"""
MADE = """
    graph g(%x: f32[6,2], %y: f32[6,2], %v: f32[3,2], %i: i64[3]) {
      %0: i64[3] = add(%i, 1)
      %1: f32[3,2] = exp(%v)
      %2: f32[6,2] = index_put(%x, %1, %0, accumulate=False)
      %3: f32[6,2] = index_put(%y, %v, %0, accumulate=False)
      return %2, %3
    }"""
SCATTERED = """
    graph g(%x: f32[6,2], %y: f32[6,2], %v: f32[3,2], %i: i64[3,2]) {
      %0: f32[6,2] = scatter(%x, %i, %v, dim=0, mode="add")
      %1: f32[6,2] = scatter_reduce(%y, %i, %v, dim=0, mode="amax")
      return %0, %1
    }"""
TWO_DIMS = """
    graph g(%x: f32[6,4], %y: f32[6,4], %v: f32[3], %i: i64[3]) {
      %0: f32[6,4] = index_put(%x, %v, %i, %i, accumulate=False)
      %1: f32[6,4] = add(%0, %y)
      return %1
    }"""
GRAPHS = {"same": (SAME, 1), "other sizes": (OTHER_SIZES, 2), "made": (MADE, 1), "scattered": (SCATTERED, 1),
          "two dims": (TWO_DIMS, 2)}


def _values(graph, index):
    rng = np.random.default_rng(0)
    return [np.broadcast_to(np.array(index)[:, None] if len(v.shape) == 2 else np.array(index), v.shape).copy()
            if v.dtype.is_integer else rng.standard_normal(v.shape).astype(np.float32) for v in graph.inputs]


@pytest.mark.parametrize("name", GRAPHS)
def test_each_index_is_checked_once_for_each_range(name):
    text, checks = GRAPHS[name]
    graph = graph_of(text)
    made = hoist_index_checks(graph)
    names = [n.op.name for n in made.nodes]
    assert names.count("in_range") == checks
    assert max(i for i, n in enumerate(names) if n == "in_range") < min(i for i, n in enumerate(names) if n in (
        "index_put", "scatter", "exp"))
    assert any(map(may_fail, graph.nodes))
    assert [n.op.name for n in made.nodes if may_fail(n)] == ["in_range"] * checks
    given = _values(graph, [0, 2, 1])
    for a, b in zip(interpret(made, given).outputs, interpret(graph, given).outputs):
        assert (a == b).all()


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("wrong", [-10, 9])
def test_wrong_indices_are_refused(name, wrong):
    graph = graph_of(GRAPHS[name][0])
    with pytest.raises(GraphError, match="out of range"):
        interpret(hoist_index_checks(graph), _values(graph, [0, wrong, 1]))


def test_index_checks_of_a_graph_without_updates_stay():
    graph = graph_of("""
        graph g(%x: f32[6,2], %i: i64[3]) {
          %0: f32[3,2] = index(%x, %i)
          return %0
        }""")
    assert hoist_index_checks(graph) is graph
    assert may_fail(graph.nodes[0])


# Nothing that may fail runs between writes: indices are checked before the first one.


def _gathers_behind_writes(x, i, dim):
    v = (x * 2).sum(0, keepdim=True)
    x.index_copy_(0, i, v)
    values, at = x[:WIDTH].topk(3, dim=1)
    return values + x[:WIDTH].gather(dim, at).sum()


@pytest.mark.parametrize("dim, written", [(1, True), (0, False)])       # along the dim of the sort, and another one
def test_a_gather_by_the_positions_of_a_sort_behind_a_write(dim, written):
    step = jit.trace(lambda x, i: _gathers_behind_writes(x, i, dim))
    want = ingot.randn(ROWS, WIDTH)
    x, i = want.clone(), ingot.tensor([2])
    for _ in range(3):
        out, expected = step(x, i), _gathers_behind_writes(want, i, dim)
        np.testing.assert_array_equal(x.numpy(), want.numpy())
        np.testing.assert_array_equal(out.numpy(), expected.numpy())
    assert (step.stats()["in_place"] == 1) == written


@pytest.mark.parametrize("decides", ["arguments", "values"])
def test_a_check_of_numbers_made_behind_a_write(decides):
    """Integers of the arguments are checked before the first write. Those that floats decide are not: it makes a copy."""

    def f(x, y, i):
        v = (x * 2).sum(0, keepdim=True)
        x.index_copy_(0, i, v)
        late = i if decides == "arguments" else i + (v.sum() > 0)
        y.index_copy_(0, late.cumsum(0) * 3 % ROWS + late, v + 1)
        return x.sum(1)

    step = jit.trace(f)
    want, i = [ingot.randn(ROWS, WIDTH) for _ in range(2)], ingot.tensor([2])
    got = [t.clone() for t in want]
    for _ in range(3):
        np.testing.assert_array_equal(step(*got, i).numpy(), f(*want, i).numpy())
        for a, b in zip(got, want):
            np.testing.assert_array_equal(a.numpy(), b.numpy())
    assert step.stats()["in_place"] == (2 if decides == "arguments" else 1)
