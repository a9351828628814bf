"""Samples of large tables: the rows that the run of a day takes of a test with many, by the number of the day.

The seeds of `RUNS` days in a row, from a multiple of `RUNS` on, are a round. The rows of a round hold each value of each axis
of the table, and each pair of values of two axes; each day of the round runs its share. Each round chooses other rows.
"""

import datetime
import math
import random
from collections import defaultdict

from covering import cover

RUNS = 7        # days of a round
FEW = 8         # rows that each day runs at least of a table without the mark `drawn`
YEAR = 365      # days in which the last run of a row is sought


def today() -> int:
    """Return the seed of the day."""
    return datetime.datetime.now(datetime.UTC).toordinal()


def day(seed: int) -> str:
    """Return the date of a seed."""
    return str(datetime.date.fromordinal(seed)) if 0 < seed <= datetime.date.max.toordinal() else f"seed {seed}"


def axes(item) -> tuple:
    """Return the values of a row, one for each `parametrize`; values are compared by identity, as rows share their objects."""
    left = dict(item.callspec.params)
    values = []
    for mark in item.iter_markers("parametrize"):
        names = mark.args[0].split(",") if isinstance(mark.args[0], str) else mark.args[0]
        values.append(tuple([id(left.pop(name.strip(), None)) for name in names]))
    return (*values, *map(id, left.values()))       # parameters of fixtures


def tables(items) -> list[list]:
    """Return the rows of each test that has parameters."""
    tests = defaultdict(list)
    for item in items:
        if hasattr(item, "callspec"):
            tests[item.nodeid.partition("[")[0]].append(item)
    return list(tests.values())


def sampled(items) -> list[list]:
    """Return the rows of each test that days share: it has the mark `drawn`, or several axes and more than `FEW` rows."""
    return [rows for rows in tables(items)
            if rows[0].get_closest_marker("drawn") or (len(rows) > FEW and len(axes(rows[0])) > 1)]


def some(rows: list, seed: int, table: str, runs: int = RUNS) -> list:
    """Return the share of a seed of rows that stand in one test, each of which occurs once in so many runs."""
    return _share(_shuffled(rows, seed, table, runs), seed, runs, 1)


def sample(rows: list, seed: int) -> list:
    """Return the share of a seed of a round's rows. A test whose rows take long says that a round is longer, by
    `@pytest.mark.drawn(runs=35)`."""
    return [rows[number] for number in _Table(rows).numbers(seed)]


def last_days(rows: list, seed: int, wanted) -> dict:
    """Return for names of rows the seed of the last day before that of `seed` whose sample has the row, as the table is now.
    Rows that none of a year has are left out."""
    table, wanted, days = _Table(rows), set(wanted), {}
    for other in range(seed - 1, seed - YEAR, -1):
        if not wanted:
            break
        for name in wanted.intersection([rows[number].nodeid for number in table.numbers(other)]):
            days[name] = other
            wanted.remove(name)
    return days


class _Table:
    """Rows of a test, with the order in which each round runs them."""

    def __init__(self, rows):
        mark = rows[0].get_closest_marker("drawn")
        self.name = rows[0].nodeid.partition("[")[0]
        self.runs, self.least = (mark.kwargs.get("runs", RUNS), 1) if mark else (RUNS, FEW)
        self.values = [axes(row) for row in rows]
        self._orders: dict = {}

    def numbers(self, seed: int) -> list[int]:
        """Return the numbers of the rows that a day runs."""
        turn = seed // self.runs
        if turn not in self._orders:
            order = _shuffled(range(len(self.values)), seed, self.name, self.runs)
            chosen = cover([self.values[number] for number in order], min(2, len(self.values[0])))
            self._orders[turn] = _shuffled([order[number] for number in chosen], seed, self.name, self.runs)
        return _share(self._orders[turn], seed, self.runs, self.least)


def _shuffled(rows, seed: int, table: str, runs: int) -> list:
    """Return rows in an order that a round and the name of their table draw."""
    return random.Random(f"{seed // runs} {table}").sample(list(rows), len(rows))


def _share(order: list, seed: int, runs: int, least: int) -> list:
    """Return the rows of a seed's day: its share of the round, or the `least` number from the beginning of the share on."""
    first, end = (math.ceil(len(order) * part / runs) for part in (seed % runs, seed % runs + 1))
    return [order[number % len(order)] for number in range(first, max(end, first + min(least, len(order))))]
