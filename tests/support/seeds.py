"""Seeds of random tests: some in every run, the others in the slow one."""

import itertools

import pytest

from covering import covering


def seeds(few: int, many: int) -> list:
    """Values of a parameter: the first `few` of `many` are not slow."""
    return [i if i < few else pytest.param(i, marks=pytest.mark.slow) for i in range(many)]


def several(few: int, many: int, *axes) -> list:
    """Rows of a seed and values of the axes: of the first `few` seeds those in which each value meets each of the others, the
    rest of the product is slow."""
    quick = covering(range(few), *axes)
    return [pytest.param(*row, marks=() if row in quick else pytest.mark.slow) for row in itertools.product(range(many), *axes)]
