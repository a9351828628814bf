"""Joins kernels that sum over the same points and read the same large value, if nothing else reads their results.

    f: sum(mul(g, x)), and the update that takes it          f: both, which fetch g once
    h: sum(g), and the update that takes it

Gradients of a norm's weight and bias are such. `fuse` joins neighbours by common reads; `recompute` changes the reads after.
"""

from dataclasses import replace

from ...ir.opdef.params import param_key
from ..rewrite.kernel_body import Body, Unfit
from .fuse import Group
from .lower import Loops
from .recompute import LEAST, MOST_BUFFERS, MOST_NODES, bytes_of, fetched


def join_sums(groups: list) -> list:
    """Return the groups, a joined one in place of its last."""
    read = {v for g in groups for v in fetched(g)}
    found: dict = {}                # (points, what is reduced) -> the last groups of that kind, by what they fetch
    gone: set = set()
    now: dict = {}
    for g in groups:
        now[g] = g
        if not (g.is_kernel and g.reduced) or any(v in read for v in g.body.results):
            continue
        known = found.setdefault(param_key((g.shape, g.reduced)), {})
        large = [v for v in fetched(g) if bytes_of(v) >= LEAST]
        for before in dict.fromkeys([known[v] for v in large if v in known]):
            joined = _joined(now[before], now[g])
            if joined is not None:
                now[g] = joined
                gone.add(before)
        known.update(dict.fromkeys(fetched(now[g]), g))
    return [now[g] for g in groups if g not in gone]


def _joined(a: Group, b: Group) -> Group | None:
    assert a.body is not None and b.body is not None
    nodes = list(dict.fromkeys([*a.nodes, *b.nodes]))
    results = tuple(dict.fromkeys([*a.body.results, *b.body.results]))
    if len(nodes) > MOST_NODES:
        return None
    try:
        body = Body(nodes, b.shape, b.reduced, results)
        Loops(body)
    except Unfit:
        return None
    if len(body.loads) + len(body.results) > MOST_BUFFERS:
        return None
    return replace(b, nodes=nodes, body=body, refused=a.refused + b.refused)
