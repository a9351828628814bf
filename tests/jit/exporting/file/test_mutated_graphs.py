"""Graphs of every operator in files, mutated: an error, or what the reference gives."""

from collections import Counter
from functools import wraps

import pytest

from fuzzed_graphs.mutate import NAMES
from fuzzed_graphs.run import faults
from ingot.ir.opdef.op import OPS

FEW, MANY = 400, 100_000


def check(pairs):
    counts: Counter = Counter()
    found = list(map(str, faults(pairs, counts)))
    assert not found, "\n".join(found)
    assert counts["same"] > counts["all"] // 8 and counts["refused"] > counts["all"] // 8, counts


def test_mutated_graphs_are_refused_or_give_what_the_reference_gives(request):
    first = 1_000_000 + FEW * request.config.option.seed
    check([(seed, NAMES[seed % len(NAMES)]) for seed in range(first, first + FEW)])


@pytest.mark.slow
@pytest.mark.parametrize("thousand", range(MANY // 1000))
def test_many_mutated_graphs(thousand):
    check([(seed, NAMES[seed % len(NAMES)]) for seed in range(1000 * thousand, 1000 * (thousand + 1))])


def test_a_rule_that_checks_nothing_is_found():
    op = OPS["diagonal_embed"]
    infer = op.infer
    object.__setattr__(op, "infer", wraps(infer)(lambda g, *, shape, offset, dim1, dim2: g.with_shape(shape)))
    try:
        assert list(faults([(seed, op.name) for seed in range(60)]))
    finally:
        object.__setattr__(op, "infer", infer)
