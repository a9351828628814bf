"""Seeds of random tests: some in every run, the others in the slow one."""

import pytest


def seeds(few: int, many: int) -> list:
    """Values of a parameter: the first `few` of `many` are not slow."""
    return [i if i < few else pytest.param(i, marks=pytest.mark.slow) for i in range(many)]
