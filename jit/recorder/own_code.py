"""Calls of ingot's own code that run no code of users, while a call is recorded.

Events of Python for all that happens inside would take longer than the code itself, and the user's line is the same all along.
The runtime makes such calls by `Mode.own_code`: public functions on plain arguments, the update of an optimizer, and a backward
without hooks. As everywhere, methods that users put into `Tensor` are not followed.
"""

from ...runtime.state.mode import tls
from ..guards.frames import unprofiled


class OwnCode:
    """Function that calls ingot's own code past the tracker of a recorder. It does so as usual if code of users may run."""

    def __init__(self, recorder):
        self._recorder = recorder

    def __call__(self, function, *args, **kwargs):
        if tls.m.told_by_users:
            return function(*args, **kwargs)
        return unprofiled(self._run, function, args, kwargs)

    def _run(self, function, args, kwargs):
        m, modules = tls.m, self._recorder.modules
        before = m.dispatch_hook, m.own_code
        modules.line, m.dispatch_hook, m.own_code = self._recorder.here(), None, None
        try:
            return function(*args, **kwargs)
        finally:
            m.dispatch_hook, m.own_code = before
            modules.line = None
