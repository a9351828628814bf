"""Numbers and arrays that a traced function takes from outside: draws from random generators, clocks, counters.

    @jit.trace
    def step(x, y):
        return loss(net(x), y if random.random() < 0.5 else net(x).argmax(-1))

Each replay draws again, in order, and the numbers are inputs of its graph. A replay that cannot go on puts the generators back,
so the run in its place draws the same numbers.
"""

import ast
import random
from collections.abc import Callable
from typing import Any

import numpy as np

_WIDE: dict = {float: np.float64, int: np.int64}
LIMIT = 1 << 62         # of integers, which are inputs of 64 bits


class HostNumber:
    """Call of a function that gives a number, or an array of one shape, at each run.

    kind        float or int; the dtype of an array; None for a call that only moves the generator, as a seed does
    generator   receives the call; None for a clock
    """

    __slots__ = ("_identity", "args", "function", "generator", "kind", "kwargs")

    def __init__(self, function: Callable, generator, args=(), kwargs=None, kind: Any = float):
        self.function, self.generator, self.args, self.kwargs, self.kind = function, generator, args, kwargs or {}, kind
        named = [(name, type(x), x) for name, x in self.kwargs.items()]
        self._identity = id(function), id(generator), tuple([(type(x), x) for x in args]), tuple(named), kind

    def __eq__(self, other):
        return type(other) is HostNumber and other._identity == self._identity

    def __hash__(self):
        return hash(self._identity)

    def call(self) -> Any:
        receiver = () if self.generator is None else (self.generator,)
        return self.function(*receiver, *self.args, **self.kwargs)

    def array(self, value):
        """Return a result of the call as the input that stands for it."""
        return np.asarray(0.0) if self.kind is None else np.asarray(value, _WIDE.get(self.kind, self.kind))


class GeneratorStates:
    """States of generators before the first draw, to undo all draws."""

    __slots__ = ("_before",)

    def __init__(self):
        self._before: dict = {}     # by id: (generator, its state)

    def keep(self, generator):
        if generator is not None and id(generator) not in self._before:
            self._before[id(generator)] = generator, _state_of(generator)

    def undo(self):
        # The last one first: two generators of NumPy may share the memory of one state.
        for generator, state in reversed(self._before.values()):
            _put(generator, state)


def ahead(counter, steps: int):
    """Return the number that an `itertools.count` gives after some steps; its text alone tells where it stands."""
    parts = [ast.literal_eval(part) for part in repr(counter)[len("count("):-1].split(", ")]
    number, step = parts if len(parts) == 2 else (*parts, 1)
    for _ in range(steps):
        number += step
    return number


def _state_of(generator):
    if isinstance(generator, random.Random):
        return generator.getstate()
    return generator.get_state() if hasattr(generator, "get_state") else generator.bit_generator.state


def _put(generator, state):
    if isinstance(generator, random.Random):
        generator.setstate(state)
    elif hasattr(generator, "set_state"):
        generator.set_state(state)
    else:
        generator.bit_generator.state = state
