"""Checks of values under vmap, which need the whole batch."""

from ...core.state import tls


def of_every_sample(check, x, *rest):
    """Return `check(x, *rest)`. In vmap, check all samples at once, as one tensor whose first dim is the batch."""
    level = tls.m.batched
    if level is None:
        return check(x, *rest)
    return level.run_outer(of_every_sample, check, level.full(x) if level.holds(x) else x, *rest)
