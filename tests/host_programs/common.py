"""Tables of programs with host steps, and the functions they share."""

import ingot

VALUES = (1, 2, 1, 3, 2, 2, 1, 1, 4, 1, 2)
BEHIND: dict = {}           # the function reads behind a host step what that changed
BESIDE: dict = {}           # it does not
WRITTEN: dict = {}          # a host step reads state that the function or another host step wrote
GIVEN: dict = {}            # a host step changes an argument; if it begins to do so in a replay, that is an error


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
