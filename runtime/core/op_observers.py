"""Observers of the operators that a thread runs, such as profiles. The interface is `OperatorEvents` in recorder.py."""

from typing import Any

from ..state.mode import tls
from .dispatch import call


class OpObserver:
    """An observer that is active between `open` and `close`; observers nest. While it runs an operator, the observer before it
    is active, so operators inside of that operator are part of it."""

    observes_rules = False    # whether gradient rules are observed, too
    only_watches = False      # whether functions do what they do without an observer
    sees_whole_batches = False      # whether operators of a `vmap` are observed as whole batches alone, one level further out
    checks_values = False     # whether each result is checked, so that none may be made inside of a fused update

    def __init__(self):
        self.before: Any = None

    def open(self):
        m = tls.m
        self.before, m.observer = m.observer, self
        self.observes_rules |= self.before is not None and self.before.observes_rules
        self.checks_values |= self.before is not None and self.before.checks_values
        m.refresh()

    def close(self):
        tls.m.observer = self.before
        tls.m.refresh()

    def call(self, op, args, params):
        if self.sees_whole_batches and tls.m.batched is not None:
            whole = tls.m.batched.call(op, args, params)
            if whole is not NotImplemented:
                return whole
        return self.unobserved(self.observe, op, args, params)

    def observe(self, op, args, params):
        """Run an operator and return its results; subclasses record it here."""
        return call(op, args, params)

    def unobserved(self, run, *args, **kwargs):
        """Call `run` with the observer before this one active."""
        m = tls.m
        before = self, m.told, m.listened, m.noticed, m.special
        m.observer = self.before
        try:
            m.refresh()
            return run(*args, **kwargs)
        finally:
            m.observer, m.told, m.listened, m.noticed, m.special = before       # by no call, which an interrupt could end
            m.refresh()

    def met_only_now(self):
        """Hear of something that depends on more than shapes and dtypes, or must not happen twice (`Mode.only_now`)."""

    def around_operator(self, op, run, args, kwargs):
        return run(args, kwargs) if self.before is None else self.before.around_operator(op, run, args, kwargs)

    def around_backward(self, through):
        return through if self.before is None else self.before.around_backward(through)

    def begin(self, name, kind):
        return None if self.before is None else self.before.begin(name, kind)

    def end(self, event):
        if self.before is not None:
            self.before.end(event)
