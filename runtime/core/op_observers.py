"""Whoever hears of what a thread runs, operator by operator: they stand at the door (`Mode.clock`), where a profile stands."""

from typing import Any

from .dispatch import call
from .state import tls


class AtDoor:
    """Hears of each operator between `open` and `close`. What stood there before, a profile perhaps, stands there while an
    operator runs; operators inside of one are part of it."""

    hears_rules = False       # whether gradient rules go by the door, too
    only_watches = False      # whether functions do just what they do when nobody hears of it

    def __init__(self):
        self.before: Any = None

    def open(self):
        """From now on this thread's operators are heard of."""
        m = tls.m
        self.before, m.clock = m.clock, self
        self.hears_rules |= self.before is not None and self.before.hears_rules
        m.refresh()

    def close(self):
        """Nothing more is heard."""
        tls.m.clock = self.before
        tls.m.refresh()

    def call(self, op, args, params):
        """`dispatch.call`."""
        return self.aside(self.heard, op, args, params)

    def heard(self, op, args, params):
        """The results of an operator, which runs here."""
        return call(op, args, params)

    def aside(self, run, *args, **kwargs):
        """Calls `run` without hearing of what it runs."""
        m = tls.m
        m.clock = self.before
        m.refresh()
        try:
            return run(*args, **kwargs)
        finally:
            m.clock = self
            m.refresh()

    def met_only_now(self):
        """Something happens that depends on more than shapes and dtypes, or should not happen twice (`Mode.only_now`)."""

    def around_operator(self, op, run, args, kwargs):
        """Calls an operator of the user's, which `run` does."""
        return run(args, kwargs) if self.before is None else self.before.around_operator(op, run, args, kwargs)

    def around_backward(self, through):
        """What runs a node of the history."""
        return through if self.before is None else self.before.around_backward(through)

    def begin(self, name, kind):
        """A named range of a profile."""
        return None if self.before is None else self.before.begin(name, kind)

    def end(self, event):
        """Its end."""
        if self.before is not None:
            self.before.end(event)
