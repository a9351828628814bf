"""Differences from PyTorch that are meant: one table, which docs/differences.md shows.

A row of the oracle may differ only where an entry names it. An entry that no row needs any more is an error.
"""

from fnmatch import fnmatchcase
from typing import NamedTuple


class Difference(NamedTuple):
    """One difference.

    rows     patterns of names of rows, `family:name`
    results  patterns of the results that differ
    raises   True if ingot refuses the call
    """

    title: str
    ours: str
    pytorch: str
    reason: str
    rows: tuple = ()
    results: tuple = ("*",)
    raises: bool = False


TABLE: tuple[Difference, ...] = ()


def meant(name: str, result: str | None = None) -> Difference | None:
    """Return the entry that explains a difference of a row in one result, or a refusal (`result` is None)."""
    for entry in TABLE:
        if any(fnmatchcase(name, p) for p in entry.rows) and (
                entry.raises if result is None else any(fnmatchcase(result, p) for p in entry.results)):
            return entry
    return None
