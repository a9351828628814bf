"""Objects that leave something behind when they go: a handle to destroy, memory to give back.

    leave(x, queue, left)       # once x is gone, the queue has an ending, and `ending.left` is what x left
    each(queue, handle)         # handle(ending) for each of them

No Python code runs when an object goes: the interpreter drops exceptions of finalisers, and one from a signal handler would be
lost there. Whoever makes the next object of a kind looks into its queue.

An interrupt loses no handle. `leave` comes before the driver writes a handle into its place (a `c_void_p`). An ending stays in
its queue until it is handled. A handle leaves its place in the instruction that destroys it (`Driver.noted`).
"""

import weakref
from collections import deque
from collections.abc import Callable
from itertools import islice
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


def leave(x, queue: deque, left) -> Ending:
    """Put an ending into a queue once an object is gone. Return it."""
    ending = Ending(x, queue.append, left)
    _living[id(ending)] = ending
    return ending


def each(queue: deque, handle: Callable[[Ending], Any]):
    """Handle each ending of a queue. One stays if `handle` returns False, or is interrupted: then it is handled again."""
    for _ in range(len(queue)):
        taken: list = []
        try:
            taken += one_of(queue)
            if handle(taken[0]) is not False:
                forget(taken[0])
                taken.clear()
        except IndexError:
            if taken:
                raise
            return              # another thread was quicker
        finally:
            queue += taken


def one_of(queue: deque):
    """Return an iterator that takes the first ending from a queue when its one item is taken; IndexError if there is none."""
    return islice(iter(queue.popleft, None), 1)


def forget(ending: Ending):
    """Forget an ending that was handled."""
    _living.pop(id(ending), None)
