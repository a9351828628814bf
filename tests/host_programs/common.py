"""What all programs have in common, and the tables that they are in."""

import ingot

VALUES = (1, 2, 1, 3, 2, 2, 1, 1, 4, 1, 2)
BEHIND: dict = {}           # what a host step changes is read behind it
BESIDE: dict = {}           # it is not
WRITTEN: dict = {}          # a host step reads what the function has written, or what another one has
GIVEN: dict = {}            # it changes what is an argument: where it begins to do so in a replay, an error says so


def behind(f):
    """A program that reads behind a host step what that changes."""
    BEHIND[f.__name__] = f
    return f


def beside(f):
    """A program that does not."""
    BESIDE[f.__name__] = f
    return f


def written(f):
    """A program in which a host step reads what was written before."""
    WRITTEN[f.__name__] = f
    return f


def calls(fn, between=lambda i: None):
    """The results of calls, rounded, since compiled products may differ in the last place."""
    found = []
    for i, v in enumerate(VALUES):
        found.append([round(x, 4) for x in fn(ingot.full((1,), float(v))).reshape(-1).tolist()])
        between(i)
    return found


def every(n, what):
    """Does something after every n-th call."""
    return lambda i: what() if i % n == n - 1 else None
