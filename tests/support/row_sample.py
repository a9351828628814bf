"""Samples of large tables: the rows that one run takes of a test with several parameters, drawn by a printed seed."""

import random
from collections import defaultdict

FEW = 8         # rows that each such test keeps at least


def axes(item) -> tuple:
    """Return the values of a row, one for each `parametrize`; values are compared by identity, as rows share their objects."""
    left = dict(item.callspec.params)
    values = []
    for mark in item.iter_markers("parametrize"):
        names = mark.args[0].split(",") if isinstance(mark.args[0], str) else mark.args[0]
        values.append(tuple([id(left.pop(name.strip(), None)) for name in names]))
    return (*values, *map(id, left.values()))       # parameters of fixtures


def products(items) -> list[list]:
    """Return the rows of each test that has more than `FEW` rows and more than one axis, and is not marked `drawn`."""
    return [rows for rows in tables([item for item in items if not item.get_closest_marker("drawn")])
            if len(rows) > FEW and len(axes(rows[0])) > 1]


def tables_to_draw_from(items) -> list[list]:
    """Return the rows of each test marked `drawn`."""
    return tables([item for item in items if item.get_closest_marker("drawn")])


def tables(items) -> list[list]:
    """Return the rows of each test that has parameters."""
    tests = defaultdict(list)
    for item in items:
        if hasattr(item, "callspec"):
            tests[item.nodeid.partition("[")[0]].append(item)
    return list(tests.values())


def some(rows: list, seed: int, table: str, number: int) -> list:
    """Return that many rows of a table, as the seed and the name of the table draw them."""
    return random.Random(f"{seed} {table}").sample(rows, number)


def sample(rows: list, seed: int) -> list:
    """Return at least `FEW` rows in which each value of each axis occurs."""
    drawn = some(rows, seed, rows[0].nodeid, len(rows))
    seen: set = set()
    kept, rest = [], []
    for item in drawn:
        values = set(enumerate(axes(item)))
        (rest if values <= seen else kept).append(item)
        seen |= values
    return kept + rest[:max(0, FEW - len(kept))]


def marked(rows: list, seed: int) -> list:
    """Return as many rows as the mark of their test says, `@pytest.mark.drawn(3)`, or all if it has fewer."""
    number, = rows[0].get_closest_marker("drawn").args
    return some(rows, seed, rows[0].nodeid.partition("[")[0], min(number, len(rows)))
