"""Recordings that end before the call does: what comes then, no trace could repeat, but eager code can do it."""

import functools
from typing import Any

from ...runtime.state.mode import tls
from ..errors.errors import REFUSED, TraceError


def give_up(recorder, reason: str):
    """Let the rest of the call run unrecorded, as in eager code."""
    if not recorder.may_end_early:
        raise TraceError(REFUSED + reason)
    of_thread: Any = tls.m.recorder
    if of_thread is recorder:
        recorder.runs_as_it_is = reason
        recorder.tracker.gives_up()


def may_give_up(method):
    """Let a refusal end the recording where nothing is refused: the action and the rest of the call are those of eager code.

    Such a method returns nothing, and the action itself comes behind it.
    """
    @functools.wraps(method)
    def told(self, *args):
        try:
            method(self, *args)
        except TraceError as error:
            recorder = self._recorder
            if recorder.refuses:
                raise
            give_up(recorder, str(error).removeprefix(REFUSED))

    return told
