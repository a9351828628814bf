"""Rows of a product of values that hold every value, or every pair of them, where the whole product would take long."""

import itertools

import pytest


def covering(*values, strength=2) -> list[tuple]:
    """Few rows in which each `strength` values of different axes meet; the same ones each time. For 1 they take turns."""
    axes = [list(axis) for axis in values]
    if strength == 1:
        return [tuple([axis[row % len(axis)] for axis in axes]) for row in range(max(map(len, axes)))]
    rows = list(itertools.product(*[range(len(axis)) for axis in axes]))
    meetings = {row: {tuple(zip(at, [row[i] for i in at])) for at in itertools.combinations(range(len(axes)), strength)}
                for row in rows}
    left, found = set().union(*meetings.values()), []
    while left:
        row = max(rows, key=lambda row: len(meetings[row] & left))
        left -= meetings[row]
        found.append(tuple([axis[i] for axis, i in zip(axes, row)]))
    return found


def thinned(*axes, strength=2) -> list:
    """The whole product as parameters of a test, of which all but a covering are slow."""
    quick = covering(*axes, strength=strength)
    return [pytest.param(*row, marks=() if row in quick else pytest.mark.slow) for row in itertools.product(*axes)]
