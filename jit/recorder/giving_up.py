"""Methods of the recorder that are told of an action before it, and refuse some."""

import functools

from ..errors.errors import REFUSED, TraceError


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
            recorder.gives_up(str(error).removeprefix(REFUSED))

    return told
