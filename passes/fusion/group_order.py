"""An order of groups in which they can run, kept while groups are joined (`fuse.py`).

Two groups may become one unless a path leads from the first to the second through a third. Such a path only passes groups that
stand between the two, and it is looked for from both ends in turn, because one side is often small: what a gradient reads of a
step may be all that it depends on, however much follows the step. Of a search that finds nothing the side that is exhausted
is what must move: what follows the first goes behind the second, or what leads to the second before the first.
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

_APART = 1 << 40            # between the ranks of neighbours


class Move(NamedTuple):
    """Groups that make way for a join, in order: behind the second, where the new group stands, or else before the first."""

    groups: list
    behind: bool


class GroupOrder:
    """Groups in an order in which all that a group needs comes before it. `followers` and `leaders` give what reads results of
    a group and what makes its operands."""

    def __init__(self, groups: Iterable, followers: Callable, leaders: Callable):
        self.followers, self.leaders = followers, leaders
        self._after: dict = {}          # group -> the next one; None is the end of the ring
        self._before: dict = {}
        self.rank: dict = {None: 0}
        self._after[None] = self._before[None] = None
        for g in groups:
            self._put(g, self._before[None])

    def move_for(self, first: Any, second: Any) -> Move | None:
        """What must move for two groups to be one, of which the first stands before the second; None if a path leads through a
        third."""
        low, high, rank = self.rank[first], self.rank[second], self.rank
        ahead = {g: None for g in self.followers(first) if g is not second and rank[g] < high}
        behind = {g: None for g in self.leaders(second) if g is not first and rank[g] > low}
        searches = (list(ahead), ahead, behind, self.followers), (list(behind), behind, ahead, self.leaders)
        if not ahead.keys().isdisjoint(behind):
            return None
        while all(waiting for waiting, *_ in searches):
            for waiting, seen, goals, more in searches:
                for g in more(waiting.pop()):
                    if g in goals:
                        return None
                    if g not in seen and low < rank[g] < high:
                        seen[g] = None
                        waiting.append(g)
        exhausted = ahead if not searches[0][0] else behind
        return Move(sorted(exhausted, key=rank.__getitem__), exhausted is ahead)

    def join(self, first: Any, second: Any, joined: Any, move: Move):
        """Puts one group in the place of two."""
        self._put(joined, second if move.behind else self._before[first])
        last = joined if move.behind else self._before[joined]
        for g in move.groups:
            self._take(g)
            self._put(g, last)
            last = g
        self._take(first)
        self._take(second)

    def _put(self, group, before):
        after = self._after[before]
        self._after[before] = self._before[after] = group
        self._before[group], self._after[group] = before, after
        low, high = self.rank[before], self.rank[after] if after is not None else self.rank[before] + 2 * _APART
        self.rank[group] = (low + high) // 2
        if not low < self.rank[group] < high:
            self._number()

    def _number(self):
        g, rank = self._after[None], 0
        while g is not None:
            rank += _APART
            self.rank[g] = rank
            g = self._after[g]

    def _take(self, group):
        before, after = self._before.pop(group), self._after.pop(group)
        self._after[before], self._before[after] = after, before
        del self.rank[group]
