"""Rows that stand for a product."""

import itertools

import pytest

from covering import covering, thinned
from seeds import several

AXES = ("a", "b", "c", "d"), {0: "", 1: ""}, range(3), (True, False)


@pytest.mark.parametrize("strength, most", [(1, 4), (2, 14), (3, 30), (4, 48)])
def test_all_values_meet_in_few_rows(strength, most):
    rows = covering(*AXES, strength=strength)
    for at in itertools.combinations(range(4), strength):
        assert {tuple([row[i] for i in at]) for row in rows} == set(itertools.product(*[AXES[i] for i in at]))
    assert len(rows) == len(set(rows)) <= most and rows == covering(*AXES, strength=strength)


def test_left_out_rows_are_slow():
    made = thinned(*AXES)
    assert [p.values for p in made] == list(itertools.product(*AXES))
    assert [p.values for p in made if not p.marks] == [row for row in itertools.product(*AXES) if row in covering(*AXES)]
    quick = [p.values for p in several(2, 5, (1, 2, 3)) if not p.marks]
    assert quick == list(itertools.product((0, 1), (1, 2, 3))) and len(several(2, 5, (1, 2, 3))) == 15
