"""Objects that leave something behind when they go: a handle to destroy, memory to give back.

    leave(x, queue, left)       # once x is gone, the queue has an ending; `collected(ending)` is what x left

No Python code runs when an object goes: the interpreter drops exceptions of finalisers, and one from a signal handler would be
lost there. Whoever makes the next object of a kind looks into its queue.
"""

import weakref
from collections import deque
from typing import Any

from .driver_state import on_replaced_driver

_living: dict[int, "Ending"] = {}       # by their ids: an ending is held until it is taken
on_replaced_driver(_living.clear)


class Ending(weakref.ref):
    """The rest of an object. `put` is called with it once the object is gone, and must be code in C."""

    __slots__ = ("left",)

    def __new__(cls, x, put, left):
        return super().__new__(cls, x, put)

    def __init__(self, x, put, left):
        super().__init__(x, put)        # type: ignore[call-arg]
        self.left = left


def leave(x, queue: deque, left):
    """Put an ending into a queue once an object is gone."""
    ending = Ending(x, queue.append, left)
    _living[id(ending)] = ending


def collected(ending: Ending) -> Any:
    """Return what an object left, and forget its ending."""
    _living.pop(id(ending), None)
    return ending.left
