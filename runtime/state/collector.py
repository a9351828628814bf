"""Garbage collections: which thread runs one now.

Callbacks that stay for good note each phase, so nobody has to change `gc.callbacks` later. They are functions in C: an
interrupt inside of a callback in Python would be lost.
"""

import functools
import gc
import threading
from collections import OrderedDict

_PHASES = OrderedDict.fromkeys(("start", "stop"))       # the last one is the present phase
_LAST: dict = {}                                        # phase -> its facts in the last collection
_HERE = threading.local()                               # the same for collections of this thread
_CALLBACKS: tuple = (_PHASES.move_to_end, _LAST.__setitem__, functools.partial(setattr, _HERE))
gc.callbacks[:0] = _CALLBACKS


def is_collecting() -> bool:
    """Return whether this thread runs a garbage collection."""
    return [*_PHASES][-1] == "start" and vars(_HERE).get("start") is _LAST["start"]


def ends_collection(frame) -> bool:
    """Return whether a frame that starts is another callback, called at the end of a collection."""
    facts = vars(_HERE).get("stop") if len(gc.callbacks) > len(_CALLBACKS) else None
    return facts is not None and any(x is facts for x in frame.f_locals.values())
