"""Outcomes of host calls in a replay that could not go on. The run in its place takes them: no host call is made twice."""

from collections import deque
from contextlib import contextmanager
from typing import Any, NamedTuple

from .mode import tls


class Outcome(NamedTuple):
    """Result of one host call, or the exception that it raised. `key` tells which function was called."""

    key: Any
    result: Any
    error: Exception | None = None


class Outcomes(list):
    """Outcomes of the host calls of a replay. `are_final` while nothing asks for those that come now, since the replay can only
    end. `are_freed` once some are gone, since nothing can fail any more."""

    are_final = are_freed = False

    def free(self):
        """Drop the outcomes so far."""
        self.are_freed = True
        self.clear()


class HostResults:
    """Outcomes that are left for the run in place of a traced call's replay. That may happen within another such run, whose
    own are `outer`."""

    __slots__ = ("call", "left", "outer")

    def __init__(self, call, outcomes, outer):
        self.call, self.left, self.outer = call, deque(outcomes), outer


def leave(call, outcomes):
    """Leave the outcomes of a call's replay to the run in its place."""
    m = tls.m
    forget(call)
    m.done_by_hosts = HostResults(call, outcomes, m.done_by_hosts)


@contextmanager
def taken_again(outcomes):
    """Let the host calls of a replay that runs once more take the outcomes of the first run."""
    m = tls.m
    before = m.results_of_hosts, m.done_by_hosts
    try:
        m.results_of_hosts, m.done_by_hosts = None, HostResults(None, outcomes, m.done_by_hosts)
        yield
    finally:
        m.results_of_hosts, m.done_by_hosts = before


def forget(call):
    """Drop what is left of a call's outcomes: it has ended."""
    m = tls.m
    if m.done_by_hosts is not None and m.done_by_hosts.call is call:
        m.done_by_hosts = m.done_by_hosts.outer


def apart(work) -> Any:
    """Return `work()`, whose host calls neither give nor take outcomes."""
    m = tls.m
    before = m.results_of_hosts, m.done_by_hosts
    try:
        m.results_of_hosts = m.done_by_hosts = None
        return work()
    finally:
        m.results_of_hosts, m.done_by_hosts = before


def outcome_of(key, call) -> Any:
    """Return what a host call gives: the outcome that a replay has left, or else that of `call()`."""
    rest = tls.m.done_by_hosts
    while rest is not None:
        if rest.left and rest.left[0].key == key:
            found = rest.left.popleft()
            if found.error is not None:
                raise found.error
            return found.result
        rest = rest.outer
    return call()
