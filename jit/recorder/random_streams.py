"""Random generators while a recorder listens, and the keys that a replay draws from them.

Usually a key is the next one that a generator gives. Once a function has put a generator elsewhere (seeded it, or gone back to
a state that it took itself, as `fork_rng` and checkpointing do), its keys are known by their places: under that seed, or
counted from where the generator stood when the call began.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...runtime.core.tensor import wrap
from .recording import Source

_BEGINNING = (None, 0)


@dataclass(frozen=True)
class Draw:
    """A key that a generator gives at every call.

    place   (seed, count) of the key, for the next one None; counted from where the generator stood, where the seed is None
    stays   whether the generator is only put there, and gives no key
    """

    generator: Any
    place: tuple | None = None
    stays: bool = False

    def key(self, stood: tuple):
        """The key as an array, given where the generator stood when the call began."""
        if self.place is not None:
            (seed, count), (before, began) = self.place, stood
            self.generator.put((before, began + count) if seed is None else (seed, count))
        return np.array(self.generator.place, np.uint64) if self.stays else self.generator.key()._a


class _Stream:
    """Where a generator stands in the course of a recording, and where the keys that are drawn leave it."""

    def __init__(self, generator):
        self.generator = generator
        self.now = self.left = _BEGINNING
        self.was_put = False

    def put(self, place):
        """The function puts it elsewhere."""
        self.now, self.was_put = place, True


class RandomStreams:
    """The part of a recorder that hears of generators."""

    def _stream(self: Any, generator) -> _Stream:
        return self.streams.setdefault(id(generator), _Stream(generator))

    def drew(self: Any, generator, t):
        """A generator gave a key."""
        stream = self._stream(generator)
        self._enter_draw(t, Draw(generator, stream.now if stream.was_put else None))
        seed, count = stream.now
        stream.now = stream.left = seed, count + 1

    def _enter_draw(self: Any, t, draw):
        self.enter(t, Source("key", draw), f"key{len(self.sources)}")

    def took_state(self: Any, generator, state):
        """The function asked for a generator's state."""
        self.states[id(state)] = state, generator, self._stream(generator).now

    def is_state(self: Any, t) -> bool:
        """Whether a tensor is a state that the function took, which is another one at each call."""
        return id(t) in self.states

    def puts_state(self: Any, generator, state):
        """The function puts a generator into a state."""
        _, owner, place = self.states.get(id(state), (None, None, None))
        if owner is not generator:
            self.refuse("it puts a random generator into a state that it did not take from it itself",
                        "do so outside of the function, or seed it")
        self._stream(generator).put(place)

    def seeds(self: Any, generator, seed):
        """The function starts a generator's stream anew."""
        self._stream(generator).put((seed, 0))

    def settle_streams(self: Any):
        """Once all is drawn: puts generators where the function leaves them, if the last key does not."""
        for stream in self.streams.values():
            if stream.now != stream.left:
                self._enter_draw(wrap(np.zeros(2, np.uint64)), Draw(stream.generator, stream.now, stays=True))


class Drawn:
    """Where the generators that a replay draws from stood before."""

    __slots__ = ("_before",)

    def __init__(self):
        self._before: dict = {}

    def key(self, draw):
        """The key for a draw."""
        known = self._before.get(id(draw.generator))
        if known is None:
            known = self._before[id(draw.generator)] = draw.generator, draw.generator.place
        return draw.key(known[1])

    def give_back(self):
        """Puts the generators where they stood."""
        for generator, place in self._before.values():
            generator.put(place)
