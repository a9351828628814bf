"""Samples of the operators that read and write at positions."""

import numpy as np

from . import Sample, samples


def _values(rng, *shape):
    return rng.standard_normal(shape)


def _ints(*values):
    return np.array(values, np.int64)


@samples("index")
def _(rng):
    yield Sample((_values(rng, 4, 3), _ints(0, 3, 3, -1)), dtypes="any")
    yield Sample((_values(rng, 4, 3), None, _ints([0, 2], [1, 1])))
    yield Sample((_values(rng, 4, 3), np.array([0, 2], np.int32), _ints([1], [0])))
    yield Sample((_values(rng, 2, 3, 4), _ints(0, 1), None, _ints(3, 3)))
    yield Sample((_values(rng, 2, 3, 4), None, _ints(0, 2), _ints(1)))
    yield Sample((_values(rng, 3), np.array(2)))
    yield Sample((_values(rng, 3, 2), np.zeros(0, np.int64)))


@samples("index_put")
def _(rng):
    yield Sample((_values(rng, 4, 3), _values(rng, 2, 3), _ints(0, 3)), {"accumulate": False}, dtypes="any")
    yield Sample((_values(rng, 4, 3), _values(rng, 3, 3), _ints(1, 1, -3)), {"accumulate": True}, dtypes="any", tol=4)
    yield Sample((_values(rng, 4, 3), _values(rng, 4, 2, 2), None, _ints([0, 2], [0, 0])), {"accumulate": True}, tol=4)
    yield Sample((_values(rng, 2, 3, 4), _values(rng, 2, 3), _ints(0, 0), None, _ints(3, 3)), {"accumulate": True}, tol=4)
    yield Sample((_values(rng, 2, 3, 4), _values(rng, 2, 5), None, _ints(2, 0, 2, 2, 1), _ints(1)), {"accumulate": True}, tol=4)
    yield Sample((_values(rng, 5), _values(rng, 4), _ints(4, 4, 0, 4)), {"accumulate": True}, tol=4)
    yield Sample((_values(rng, 3), np.array(2.0), np.array(1)), {"accumulate": False})
    yield Sample((_values(rng, 3, 2), _values(rng, 0, 2), np.zeros(0, np.int64)), {"accumulate": True})


@samples("in_range")
def _(rng):
    yield Sample((_ints(0, 3, -4),), {"low": -4, "high": 4})
    yield Sample((np.array([[2, 1], [0, 0]], np.int32),), {"low": 0, "high": 3})
    yield Sample((np.zeros((0, 2), np.int64),), {"low": 0, "high": 1})


@samples("gather")
def _(rng):
    yield Sample((_values(rng, 4, 3), _ints([0, 3, 3], [1, 1, 0])), {"dim": 0}, dtypes="any")
    yield Sample((_values(rng, 3, 4), _ints([3, 0], [2, 2])), {"dim": 1})
    yield Sample((_values(rng, 5), np.array([4, 4, 0], np.int32)), {"dim": 0})
    yield Sample((_values(rng, 3, 2), np.zeros((0, 2), np.int64)), {"dim": 0})


@samples("scatter")
def _(rng):
    yield Sample((_values(rng, 4, 3), _ints([0, 3, 2], [1, 1, 0]), _values(rng, 2, 3)), {"dim": 0, "mode": "set"}, dtypes="any")
    yield Sample((_values(rng, 3, 4), _ints([3, 0], [2, 1]), _values(rng, 3, 5)), {"dim": 1, "mode": "set"})
    yield Sample((_values(rng, 4, 3), _ints([0, 0, 2], [0, 0, 2]), _values(rng, 2, 3)), {"dim": 0, "mode": "add"}, dtypes="any",
                 tol=4)
    yield Sample((_values(rng, 2), np.zeros(0, np.int64), _values(rng, 0)), {"dim": 0, "mode": "add"})


@samples("scatter_reduce")
def _(rng):
    index = _ints([0, 0, 2], [0, 0, 2])
    for mode in ("mul", "amax", "amin"):
        yield Sample((_values(rng, 4, 3), index, _values(rng, 2, 3)), {"dim": 0, "mode": mode}, dtypes="number", tol=4)
        yield Sample((_values(rng, 3, 4), _ints([3, 0], [2, 2]), _values(rng, 3, 5)), {"dim": 1, "mode": mode}, tol=4)
    one_zero = np.array([[0.0, 2.0, 3.0], [4.0, 5.0, 0.0]])
    yield Sample((_values(rng, 4, 3), index, one_zero), {"dim": 0, "mode": "mul"}, order2=False)


@samples("nonzero")
def _(rng):
    x = np.array([[0.0, 2.0, 0.0], [1.0, 0.0, 3.0]])
    yield Sample((x,), {"count": 3}, dtypes="any")
    yield Sample((np.zeros((0, 2)),), {"count": 0}, dtypes="any")
    yield Sample((np.ones(4),), {"count": 4}, dtypes="any")


@samples("repeat_index")
def _(rng):
    yield Sample((_ints(2, 0, 3),), {"total": 5}, dtypes=("float32",))
    yield Sample((np.zeros(0, np.int32),), {"total": 0}, dtypes=("float32",))
