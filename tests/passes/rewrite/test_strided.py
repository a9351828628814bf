"""Strided patterns of views: the compiler finds the strides that numpy finds."""

import numpy as np
import pytest

from ingot.ir.opdef.op import OPS
from ingot.passes.rewrite.strided import Pattern, merged, row_major, through

CHAINS = [
    [("permute", {"dims": (2, 0, 1)})],
    [("permute", {"dims": (1, 0, 2)}), ("reshape", {"shape": (3, 2, 2, 2)})],
    [("slice", {"dim": 1, "start": 1, "stop": 3, "step": 1}), ("reshape", {"shape": (2, 8)})],
    [("slice", {"dim": 2, "start": 0, "stop": 9, "step": 3})],
    [("select", {"dim": 0, "index": 1}), ("permute", {"dims": (1, 0)})],
    [("reshape", {"shape": (6, 4)}), ("diagonal", {"offset": 1, "dim1": 0, "dim2": 1})],
    [("reshape", {"shape": (6, 4)}), ("diagonal", {"offset": -2, "dim1": 1, "dim2": 0})],
    [("unfold", {"dim": 2, "size": 2, "step": 1}), ("select", {"dim": 1, "index": 2})],
    [("as_strided", {"shape": (3, 2), "strides": (4, 1), "offset": 5})],
    [("reshape", {"shape": (2, 1, 12)}), ("expand", {"shape": (3, 2, 5, 12)})],
    [("reshape", {"shape": (24,)}), ("reshape", {"shape": (1, 24, 1)})],
    [("slice", {"dim": 1, "start": 1, "stop": 1, "step": 1}), ("permute", {"dims": (2, 0, 1)}),
     ("reshape", {"shape": (2, 0, 3)})],
]


@pytest.mark.parametrize("chain", CHAINS, ids=lambda c: "_".join(n for n, _ in c))
def test_patterns_find_the_elements_that_numpy_finds(chain):
    x = np.arange(24).reshape(2, 3, 4)
    pattern, want = row_major(x.shape), x
    for name, params in chain:
        pattern, want = through(pattern, OPS[name], params), OPS[name].ref(want, **params)
    assert pattern.shape == want.shape
    points = np.indices(want.shape).reshape(want.ndim, -1)
    found = pattern.offset + sum(i * s for i, s in zip(points, pattern.strides))
    assert (x.reshape(-1)[found] == want.reshape(-1)).all()


def test_a_reshape_that_needs_a_copy_has_no_pattern():
    transposed = through(row_major((3, 4)), OPS["permute"], {"dims": (1, 0)})
    assert through(transposed, OPS["reshape"], {"shape": (12,)}) is None
    assert through(transposed, OPS["as_strided"], {"shape": (2,), "strides": (1,), "offset": 0}) is None
    assert through(row_major((4,)), OPS["bitcast"], {"dtype": None}) is None


def test_merging_joins_even_dims_only():
    assert merged(Pattern((2, 1, 3, 4), (12, 99, 4, 1))) == ([24], [1])
    assert merged(Pattern((2, 3, 4), (24, 4, 1))) == ([2, 12], [24, 1])
