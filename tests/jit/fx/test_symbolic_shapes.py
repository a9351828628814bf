"""`fx.experimental.symbolic_shapes`: queries on plain sizes and on sizes of a trace."""

import pytest

import ingot
from ingot import jit
from ingot.fx.experimental import symbolic_shapes as shapes
from ingot.ir.errors import IngotError

ASKS = {
    "or false": lambda n: shapes.guard_or_false(n > 3),
    "or true": lambda n: shapes.guard_or_true(n > 3),
    "oblivious": lambda n: shapes.guard_size_oblivious(n == 4),
    "known": lambda n: shapes.statically_known_true(n % 2 == 0),
    "known not": lambda n: shapes.statically_known_false(n % 2 == 0),
    "number": lambda n: shapes.guard_int(n) == 4,
    "real": lambda n: shapes.guard_float(n * 0.5) == 2.0,
    "scalar": lambda n: shapes.guard_scalar(n) == 4,
    "and": lambda n: shapes.sym_and(n > 3, n < 6),
    "or": lambda n: shapes.sym_or(n < 3, n > 5),
    "equal": lambda n: shapes.sym_eq((n, 2), (4, 2)),
    "expected": lambda n: shapes.expect_true(n > 1),
}


@pytest.mark.parametrize("ask", ASKS.values(), ids=ASKS)
def test_traces_take_the_branch_of_each_size(ask):
    def fn(x):
        return x * 2 if ask(x.shape[0]) else x - 1

    traced = jit.trace(fn, dynamic=True)
    for n in (4, 5, 2, 6, 3, 4, 8, 7):
        assert traced(ingot.ones(n)).tolist() == fn(ingot.ones(n)).tolist(), n


def test_queries_for_symbolic_sizes():
    seen = []

    def fn(x, k):
        n = x.shape[0]
        seen.append((shapes.is_symbolic(n), shapes.has_static_value(n), shapes.is_concrete_int(n), shapes.optimization_hint(n),
                     shapes.has_free_symbols(x), len(shapes.free_symbols([x, n * 2])), shapes.has_free_unbacked_symbols(x)))
        return x * n

    traced = jit.trace(fn, dynamic=True)
    traced(ingot.ones(5), 2)
    assert seen == [(True, False, False, 5, True, 1, False)]
    fn(ingot.ones(5), 2)
    assert seen[1] == (False, True, True, 5, False, 0, False)


def test_ranges():
    shapes.constrain_range(3, min=1, max=3)
    for n, bounds in ((0, {"min": 1}), (4, {"max": 3}), (2, {"min": 3, "max": 1})):
        with pytest.raises(IngotError, match="constrain_range"):
            shapes.constrain_range(n, **bounds)
