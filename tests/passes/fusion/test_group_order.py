"""The order of groups while they are joined: no cycle ever, every join that makes none, and work that grows with the graph."""

import numpy as np
import pytest

import ingot
from ingot import jit
from ingot.passes.fusion import fuse
from ingot.passes.fusion.group_order import GroupOrder, Move


class Points:
    """Random points with edges from lower to higher numbers, joined by whoever wants to; sets of numbers are groups."""

    def __init__(self, rng, count):
        self.edges = {(int(a), int(b)) for a, b in np.sort(rng.integers(0, count, (2 * count, 2)), 1) if a != b}
        self.group = {i: frozenset([i]) for i in range(count)}

    def followers(self, group):
        return dict.fromkeys([self.group[b] for a, b in sorted(self.edges) if a in group and b not in group])

    def leaders(self, group):
        return dict.fromkeys([self.group[a] for a, b in sorted(self.edges) if b in group and a not in group])

    def leads(self, start, end):
        """Whether a path leads from one group to another through a third, looked for everywhere."""
        waiting = [g for g in self.followers(start) if g != end]
        seen = set(waiting)
        while waiting:
            g = waiting.pop()
            if end in self.followers(g):
                return True
            more = [f for f in self.followers(g) if f not in seen and f != start]
            seen.update(more)
            waiting += more
        return False

    def merge(self, first, second):
        joined = first | second
        self.group.update(dict.fromkeys(joined, joined))
        return joined


@pytest.mark.parametrize("seed", range(60))
def test_whatever_makes_no_cycle_may_be_joined_and_the_order_holds(seed):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(3, 24))
    points = Points(rng, count)
    order = GroupOrder(points.group.values(), points.followers, points.leaders)
    for _ in range(3 * count):
        a, b = (points.group[int(i)] for i in rng.integers(0, count, 2))
        if a == b:
            continue
        first, second = sorted((a, b), key=order.rank.__getitem__)
        move = order.move_for(first, second)
        assert (move is None) == points.leads(first, second), f"seed {seed}"
        if move is None or rng.random() < 0.2:              # some joins are refused for other reasons
            continue
        order.join(first, second, points.merge(first, second), move)
        assert set(order.rank) == {None, *points.group.values()}
        for x, y in points.edges:
            x, y = points.group[x], points.group[y]
            assert x == y or order.rank[x] < order.rank[y], f"seed {seed}"


def test_ranks_are_given_anew_when_they_are_used_up():
    order, last = GroupOrder(range(200), lambda g: {}, lambda g: {}), 199
    for i in range(99):                     # something moves behind each join, into half of the room that is left
        order.join(i, last, -1 - i, Move([100 + i], behind=True))
        last = -1 - i
    ranks = [order.rank[g] for g in (99, last, *range(198, 99, -1))]
    assert ranks == sorted(set(ranks)) and len(order.rank) == 1 + len(ranks)


def test_the_gradient_of_a_long_loop_is_fused_in_linear_time(monkeypatch):
    seen = []

    def count(self, g, original=fuse.Fuser._followers):
        seen.append(g)
        return original(self, g)

    monkeypatch.setattr(fuse.Fuser, "_followers", count)
    w = ingot.randn(4, 4, requires_grad=True)

    def step(x):
        h = ingot.zeros(2, 4)
        for row in x:
            h = ingot.tanh(row + h @ w) * 0.9 + h * 0.1
        loss = h.sum()
        loss.backward()
        return loss

    taken = []
    for length in (50, 100):
        traced, x = jit.trace(step), ingot.randn(length, 2, 4)
        seen.clear()
        for _ in range(2):
            w.grad = None
            traced(x)
        taken.append(len(seen))
    assert taken[0] > 0 and taken[1] < 2.5 * taken[0]
