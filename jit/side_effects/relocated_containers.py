"""Containers that are replaced between calls: `self.losses = []` at the end of an epoch.

A write to a container goes to the same object at later calls, unless one location alone leads to it. Then it goes to the
container that lies there at the call, if nobody else holds that one either, so that no other name can lead to it.
"""

import sys
import types
from collections import Counter
from dataclasses import dataclass

from ..errors.conditions import Condition
from ..guards.locations import DICTS, RESTORED, load
from .effects import Target

_KEPT: Counter = Counter()      # id of a container -> number of `SoleReference` that hold it


def _in_cell(cell, key) -> int:
    return sys.getrefcount(cell.cell_contents)


def _in_table(table, key) -> int:
    return sys.getrefcount(table[key])


_COUNTS = {True: _in_cell, False: _in_table}
_ONCE = {True: _in_cell(types.CellType([]), ""), False: _in_table({"": []}, "")}       # counts without other holders


class SoleReference(Condition):
    """A location holds the container from before, or one that nobody else holds."""

    def __init__(self, place, first, text):
        self.place, self.first, self.text = place, first, text
        self.owner, self.key, self.kind = place
        self.identity = "alone", id(self.owner), self.key
        _KEPT[id(self.first)] += 1

    def __del__(self):
        _KEPT[id(self.first)] -= 1
        if not _KEPT[id(self.first)]:
            del _KEPT[id(self.first)]

    def holds(self) -> bool:
        at = id(load(self.owner, self.key, self.kind))
        if at == id(self.first):
            return True
        is_cell = self.kind == "cell"
        table = vars(self.owner) if self.kind == "attr" else self.owner
        return _COUNTS[is_cell](table, self.key) == _ONCE[is_cell] + _KEPT.get(at, 0)

    def __str__(self):
        return f"{self.text} is another {type(self.first).__name__}, which others hold, too"


@dataclass(frozen=True, eq=False)
class RelocatedTarget(Target):
    """Write to the container at a location; `owner` is (owner of the container, its key there, kind)."""

    @property
    def place(self) -> tuple:
        owner, key, _ = self.owner
        return (id(owner), key), super().place[1]

    def _there(self) -> Target:
        return Target(load(*self.owner), self.key, self.kind, self.was, self.before, self.text)

    def value(self):
        return self._there().value()

    def write(self, value):
        self._there().write(value)

    def rewrite(self, value):
        self._there().rewrite(value)


def sole_references(guards, contents) -> dict:
    """Return {id of a container that the run writes to: condition on its location} if one location alone leads to it. `guards`
    come with the values to which they led at first."""
    found: dict = {}
    for guard, value in guards:
        if type(value) in RESTORED and contents.has_written(value):
            found.setdefault(id(value), {})[guard.locations_on_path()[-1]] = guard, value
    inside = {id(v) for c in contents.containers() for v in (c.values() if type(c) in DICTS else c)}
    single = {at: next(iter(guards.values())) for at, guards in found.items() if len(guards) == 1 and at not in inside}
    return {at: SoleReference(g.owner(), value, str(g.chain)) for at, (g, value) in single.items() if _is_lasting(g)}


def _is_lasting(guard) -> bool:
    """Return whether the owner of a container is the same object at each call, and the name holds nothing else."""
    owner, key, kind = guard.owner() or (None, "", "")
    return kind == "cell" or (kind == "item" and not guard.chain.steps) or (
        kind == "attr" and type(getattr(owner, "__dict__", None)) is dict and key in vars(owner))


def relocated(effects, alone: dict) -> tuple:
    """Return the targets of a run, with those of containers in `alone` by location."""
    return tuple([t if id(t.owner) not in alone else RelocatedTarget(
        alone[id(t.owner)].place, t.key, t.kind, t.was, t.before, t.text) for t in effects])
