"""Random generators of Python and numpy in a recorded call. A replay would not draw from them, so drawing is refused."""

import random
import sys

import numpy as np

from ..errors.errors import Verdict
from ..guards.known_objects import KnownObjects

RANDOM = vars(random)
FROM_SYSTEM = "it draws random numbers from the operating system; use ingot's random functions"


class RandomGenerators:
    """Random generators of Python and numpy: a function that draws from them cannot be recorded, except from its own."""

    def __init__(self, verdict: Verdict, known: KnownObjects):
        self._verdict, self._known = verdict, known
        self._global: tuple = ()
        self._met: list = []        # (generator, function that returns its state, state when it was first met)

    def start(self):
        """Remember the state of the global generators: the recorded call begins."""
        self._global = random_states()

    def called(self, code, x):
        """Note a call of a method of Python's generators. One that the function made, with a seed, repeats its numbers."""
        if isinstance(x, random.Random) and id(x) not in self._known.made:
            if isinstance(x, random.SystemRandom):
                self._verdict.refuse(FROM_SYSTEM)
            elif code.co_name == "__init__":
                self._known.add_made(x)
            elif all(x is not known for known, *_ in self._met):
                self._met.append((x, random.Random.getstate, x.getstate()))

    def add(self, x):
        """Note a value that is read, if it is a generator of numpy."""
        if type(x).__module__.startswith("numpy.random") and (hasattr(x, "bit_generator") or hasattr(x, "get_state")):
            self._met.append((x, _numpy_state, _numpy_state(x)))

    def check(self):
        """Refuse a function that drew numbers."""
        if self._global != random_states() or any(state(x) != before for x, state, before in self._met):
            self._verdict.refuse("it draws from Python's or numpy's random numbers, which would happen only when the trace is "
                                 "recorded; use ingot's random functions, or pass the numbers as an argument")


def random_states() -> tuple:
    """Return the state of the global random generators of Python and numpy."""
    legacy = sys.modules.get("numpy.random")
    return random.getstate(), None if legacy is None else _comparable(legacy.get_state())


def _numpy_state(generator):
    return _comparable(generator.get_state() if hasattr(generator, "get_state") else generator.bit_generator.state)


def _comparable(state):
    """Return the state of a generator with arrays as bytes."""
    if isinstance(state, np.ndarray):
        return state.tobytes()
    if isinstance(state, dict):
        return {name: _comparable(part) for name, part in state.items()}
    return tuple(map(_comparable, state)) if isinstance(state, tuple) else state
