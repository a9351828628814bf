"""Tables of programs with host steps, and functions that the programs share."""

import ingot

VALUES = (1, 2, 1, 3, 2, 2, 1, 1, 4, 1, 2)
READ_AFTER: dict = {}       # the function reads, after a host step, the state that the step changed
UNREAD: dict = {}           # the function does not read it
READ_BY_HOST: dict = {}     # a host step reads state that the function or another host step wrote
ARGUMENTS: dict = {}        # a host step changes an argument; an error if it begins to do so in a replay


def read_after(f):
    """Enter a program that reads state after a host step that changes it."""
    READ_AFTER[f.__name__] = f
    return f


def unread(f):
    """Enter a program that does not read the state that its host step changes."""
    UNREAD[f.__name__] = f
    return f


def read_by_host(f):
    """Enter a program whose host step reads state that was written before."""
    READ_BY_HOST[f.__name__] = f
    return f


def calls(fn, between=lambda i: None):
    """Return the results of calls, rounded, since compiled products may differ in the last place."""
    found = []
    for i, v in enumerate(VALUES):
        found.append([round(x, 4) for x in fn(ingot.full((1,), float(v))).reshape(-1).tolist()])
        between(i)
    return found


def every(n, what):
    """Return a function of the call number that calls `what` after every n-th call."""
    return lambda i: what() if i % n == n - 1 else None
