"""State of the standard library that user code reads or changes: context variables and random generators.

Replays draw the numbers of `RandomGenerators.draw` again. Any other draw from a generator of Python or NumPy is refused.
"""

import random
import sys

import numpy as np

from ...ir.interrupts import is_of_call
from ..bytecode.reads import MISSING
from ..errors.errors import DisturbedError, RecordingStatus, TraceError
from ..guards.frames import is_user
from ..guards.guards import ReadCondition
from ..guards.known_objects import KnownObjects
from ..guards.locations import CONTEXT, StateInputs
from ..guards.snapshot import snapshot
from ..host.host_numbers import GeneratorStates, HostNumber
from ..proxies.threads import is_alone
from ..side_effects.effects import Target
from .read_log import ReadLog


class ContextVariables:
    """Context variables that the function sets. A value that it has set itself and resets is no state from outside."""

    def __init__(self, inputs: StateInputs, reads: ReadLog):
        self._inputs, self._reads = inputs, reads
        self._set: dict = {}        # by id: (variable, its value before, number of set() without reset(), where)

    def called(self, variable, name, place):
        now = variable.get(MISSING)
        if name in ("set", "reset"):
            _, before, open_sets, _ = self._set.get(id(variable), (variable, now, 0, place))
            self._set[id(variable)] = variable, before, open_sets + (1 if name == "set" else -1), place
        elif self._set.get(id(variable), (variable, now))[1] is now:
            self._add_condition(variable)

    def _add_condition(self, variable):
        text = f"the context variable {variable.name}"
        self._reads.walker.walk(text, _held_by(variable))
        self._reads.add_condition(ReadCondition(
            ("context", id(variable)), lambda: _held_by(variable), snapshot(_held_by(variable), self._inputs), text))

    def targets(self) -> list:
        """Return the variables that keep what the function has set; raise if it resets one by a token from outside."""
        found = []
        for variable, before, open_sets, place in self._set.values():
            if open_sets > 0:
                if variable.get(MISSING) is before:     # perhaps by the token of the first of several set()
                    self._add_condition(variable)
                text = f"the context variable {variable.name} (at {place})"
                found.append(Target(variable, CONTEXT, CONTEXT, before, snapshot(before, self._inputs), text))
            elif variable.get(MISSING) is not before:
                raise TraceError(f"this function cannot be traced: it resets the context variable {variable.name} at {place} "
                                 "with a token from outside; do so outside, or set it")
        return found


def _held_by(variable) -> tuple:
    """Return (what a context variable holds, what it gives: its default, too), each as far as there is one."""
    held = variable.get(MISSING)
    try:
        return held, variable.get()
    except LookupError as error:
        if not is_of_call(error):
            raise
        return held, MISSING


RANDOM = vars(random)
_SEEDED = 623           # place in numpy's global generator that has given nothing yet
FROM_SYSTEM = "it draws random numbers from the operating system; use ingot's random functions"


def is_seed(frame) -> bool:
    """Return whether code in C draws a seed by the module `secrets`, as numpy's generators do: `call_rules.py` decides about
    the call of user code that runs it. The import of a library may do so, too."""
    secrets = sys.modules.get("secrets")
    is_theirs = secrets is not None and frame.f_locals.get("self") is vars(secrets)["_sysrand"]
    return is_theirs and (is_user(frame.f_back) or _is_import(frame.f_back))


def _is_import(frame) -> bool:
    """Return whether a library runs a frame while it is imported."""
    while frame is not None and not is_user(frame):
        if frame.f_globals.get("__name__") == "importlib._bootstrap":
            return True
        frame = frame.f_back
    return False


class RandomGenerators:
    """Random generators of Python and numpy. A function draws numbers by `draw`, and anything from a generator of its own."""

    def __init__(self, status: RecordingStatus, known: KnownObjects):
        self._status, self._known = status, known
        self._global: tuple = ()
        self._states: list = []        # (generator, function that returns its state, state when it was first met)
        self._drawn = GeneratorStates()     # of those from which `draw` has drawn
        self.is_apart = False       # whether code runs that is no part of the call

    def start(self):
        self._global = random_states()

    def called(self, code, x):
        """Note a call of a method of Python's generators. One that the function made, with a seed, repeats its numbers."""
        if isinstance(x, random.Random) and id(x) not in self._known.own:
            if isinstance(x, random.SystemRandom):
                self._status.refuse(FROM_SYSTEM)
            elif code.co_name == "__init__":
                self._known.add_own(x)
            elif all(x is not known for known, *_ in self._states):
                self._states.append((x, random.Random.getstate, x.getstate()))

    def add(self, x):
        """Note a value that is read, if it is a generator of numpy."""
        if type(x).__module__.startswith("numpy.random") and (hasattr(x, "bit_generator") or hasattr(x, "get_state")):
            self._states.append((x, _numpy_state, _numpy_state(x)))

    def draw(self, call: HostNumber):
        """Return a number that each replay draws, too."""
        self._drawn.keep(call.generator)
        before = self.states()
        try:
            return call.call()
        finally:
            self.drew_apart(before)

    def undone(self, work) -> bool:
        """Do what the call does not do, and put the generators back; return whether it has drawn nothing."""
        before, states, self.is_apart = self.states(), GeneratorStates(), True
        numpy = sys.modules.get("numpy.random")
        for generator in (RANDOM["_inst"], numpy and numpy.rand.__self__, *[x for x, *_ in self._states]):
            states.keep(generator)
        try:
            work()
        finally:
            self.is_apart = False
            has_drawn = self.states() != before
            if has_drawn:
                states.undo()
        return not has_drawn

    def undo(self):
        """Put the generators of all `draw`s back, since the function runs once more."""
        self._drawn.undo()

    def states(self) -> list:
        """Return the states of all generators that were met."""
        return [random_states(), *[state(x) for x, state, _ in self._states]]

    def drew_apart(self, before: list):
        """Leave to code that is no part of the call what it drew since `before`, unless the call has drawn as well."""
        first, *now = self.states()
        if self._global == before[0]:
            self._global = first
        self._states = [(x, state, at if was == then else was) for (x, state, was), then, at in zip(
            self._states, before[1:], now)]

    def check(self):
        if self._has_drawn() or any(state(x) != before for x, state, before in self._states):
            if self._status.is_signalled or not is_alone():
                raise DisturbedError("while this function was recorded, it, another thread or the handler of a signal drew "
                                     "from Python's or numpy's random numbers")
            self._status.refuse("it draws from Python's or numpy's random numbers, which would happen only when the trace is "
                                 "recorded; use ingot's random functions, or pass the numbers as an argument")

    def _has_drawn(self) -> bool:
        """Return whether a global generator gave numbers; that of numpy may be new, since code imports it when it is needed."""
        (python, numpy), now = self._global, random_states()
        if numpy is None and now[1] is not None:
            _, _, at, has_normal, _ = sys.modules["numpy.random"].get_state()
            return python != now[0] or at != _SEEDED or bool(has_normal)
        return self._global != now


def random_states() -> tuple:
    """Return the state of the global random generators of Python and numpy."""
    get_state = getattr(sys.modules.get("numpy.random"), "get_state", None)     # (none yet while it is imported)
    return random.getstate(), None if get_state is None else _comparable(get_state())


def _numpy_state(generator):
    return _comparable(generator.get_state() if hasattr(generator, "get_state") else generator.bit_generator.state)


def _comparable(state):
    """Return the state of a generator with arrays as bytes."""
    if isinstance(state, np.ndarray):
        return state.tobytes()
    if isinstance(state, dict):
        return {name: _comparable(part) for name, part in state.items()}
    return tuple(map(_comparable, state)) if isinstance(state, tuple) else state
