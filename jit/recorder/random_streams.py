"""Random keys that a recording draws, and the keys that its replays draw.

Usually a key is the next one of its generator. A function may move a generator: by a seed, or back to a state that it took
itself, as `fork_rng` and checkpointing do. From then on keys are known by place: under that seed, or counted from where the
generator stood when the call began.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...runtime.core.storage import user_line
from ...runtime.core.tensor import wrap
from ..host.host_numbers import GeneratorStates, HostNumber
from .recording import Source

_BEGINNING = (None, 0)


@dataclass(frozen=True)
class Draw:
    """A key that a generator gives at every call.

    place   (seed, count) of the key, or None for the next one; without a seed, counted from where the generator stood
    stays   whether the generator is only moved there, and gives no key
    """

    generator: Any
    place: tuple | None = None
    stays: bool = False

    def key(self, start: tuple):
        """Return the key as an array; `start` is the generator's place when the call began."""
        if self.place is not None:
            (seed, count), (before, began) = self.place, start
            self.generator.put((before, began + count) if seed is None else (seed, count))
        return np.array(self.generator.place, np.uint64) if self.stays else self.generator.key()._a


class _Stream:
    """Position of a generator during a recording, and the one where the recorded draws leave it."""

    def __init__(self, generator):
        self.generator = generator
        self.now = self.left = _BEGINNING
        self.was_put = False

    def put(self, place):
        self.now, self.was_put = place, True


class RandomStreams:
    """Log of the generators that a run uses."""

    def __init__(self, recorder):
        self._recorder = recorder
        self._streams: dict = {}        # by id of a generator
        self._states: dict = {}         # id of a tensor: (state that the function took, of which generator, place, line)

    def places(self) -> dict:
        """Return where each generator stands now, by id."""
        return {key: stream.now for key, stream in self._streams.items()}

    def moved_since(self, before: dict) -> bool:
        """Return whether a generator stands elsewhere than before; one that was put back does not."""
        return any(place != before.get(key, _BEGINNING) for key, place in self.places().items())

    def generators(self) -> list:
        return [s.generator for s in self._streams.values()]

    def _stream(self, generator) -> _Stream:
        return self._streams.setdefault(id(generator), _Stream(generator))

    def drew(self, generator, t):
        self._recorder.permits("random")
        stream = self._stream(generator)
        self._enter(t, Draw(generator, stream.now if stream.was_put else None))
        seed, count = stream.now
        stream.now = stream.left = seed, count + 1

    def _enter(self, t, draw):
        self._recorder.inputs.enter(t, Source("key", draw))

    def took_state(self, generator, state):
        self._states[id(state)] = state, generator, self._stream(generator).now, user_line()

    def line_of_state(self, t):
        """Return the line of the user's that took a state."""
        return self._states[id(t)][3]

    def is_state(self, t) -> bool:
        """Return whether a tensor is a generator's state, which is another one at each call."""
        return id(t) in self._states

    def puts_state(self, generator, state):
        _, owner, place, _ = self._states.get(id(state), (None, None, None, None))
        if owner is not generator:
            self._recorder.refuse("it puts a random generator into a state that it did not take from it itself",
                                  "do so outside of the function, or seed it")
        self._stream(generator).put(place)

    def seeds(self, generator, seed):
        self._stream(generator).put((seed, 0))

    def settle(self):
        """Leave generators where the function leaves them, if the last key does not: by a draw that only moves them."""
        for stream in self._streams.values():
            if stream.now != stream.left:
                self._enter(wrap(np.zeros(2, np.uint64)), Draw(stream.generator, stream.now, stays=True))


class Draws:
    """Draws of a replay, with the places of the generators before them."""

    __slots__ = ("_before", "_states")

    def __init__(self):
        self._before: dict = {}
        self._states: GeneratorStates | None = None     # of Python's and NumPy's generators

    def key(self, draw):
        known = self._before.get(id(draw.generator))
        if known is None:
            known = self._before[id(draw.generator)] = draw.generator, draw.generator.place
        return draw.key(known[1])

    def number(self, call: HostNumber):
        """Return a number from outside, as an array."""
        self._states = self._states or GeneratorStates()
        self._states.keep(call.generator)
        return call.array(call.call())

    def undo(self):
        if self._states is not None:
            self._states.undo()
        for generator, place in self._before.values():
            generator.put(place)
