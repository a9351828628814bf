"""Rows of a product of values that hold every value, or every pair of them, where the whole product would take long."""

import heapq
import itertools

import pytest


def covering(*values, strength=2) -> list[tuple]:
    """Few rows in which each `strength` values of different axes meet; the same ones each time. For 1 they take turns."""
    axes = [list(axis) for axis in values]
    if strength == 1:
        return [tuple([axis[row % len(axis)] for axis in axes]) for row in range(max(map(len, axes)))]
    rows = list(itertools.product(*[range(len(axis)) for axis in axes]))
    return [tuple([axis[i] for axis, i in zip(axes, rows[number])]) for number in cover(rows, strength)]


def cover(rows: list[tuple], strength=2) -> list[int]:
    """Return the numbers of few rows in which all `strength` values that meet in a row meet: always the row that adds most
    meetings, the first one among equals."""
    meetings = [frozenset([tuple(zip(at, [row[i] for i in at])) for at in itertools.combinations(range(len(row)), strength)])
                for row in rows]
    left = set().union(*meetings)
    most = [(-len(held), number) for number, held in enumerate(meetings)]      # what a row adds at most, as a heap
    heapq.heapify(most)
    numbers = []
    while left:
        number = most[0][1]
        now = -len(meetings[number] & left), number
        if now == most[0]:
            numbers.append(number)
            left -= meetings[number]
            heapq.heappop(most)
        else:
            heapq.heapreplace(most, now)
    return numbers


def thinned(*axes, strength=2) -> list:
    """The whole product as parameters of a test, of which all but a covering are slow."""
    quick = covering(*axes, strength=strength)
    return [pytest.param(*row, marks=() if row in quick else pytest.mark.slow) for row in itertools.product(*axes)]
