"""Watches the Python side of a recorded run: what it read (for guards) and what it did that a trace cannot repeat."""

import builtins
import gc
import random
import sys
import sysconfig
import types
from dataclasses import dataclass

from ..runtime.tensor import Tensor
from .errors import TraceError
from .reads import ARGUMENT, FREE, GLOBAL, MISSING, Chain, follow, reads_of, writes_of

_PACKAGE = __name__.split(".")[0]
_STDLIB = tuple(sysconfig.get_paths()[k] for k in ("stdlib", "platstdlib"))
_VALUES = (bool, int, float, complex, str, bytes, type(None))
_MUTATORS = frozenset(("append", "extend", "insert", "pop", "remove", "clear", "update", "setdefault", "popitem", "add",
                       "discard", "sort", "reverse", "appendleft", "popleft"))
_IMPURE_MODULES = ("_random", "random", "time", "secrets", "uuid", "numpy.random", "datetime")


@dataclass(frozen=True)
class Guard:
    """One condition on Python state: following a chain from a root gives what it gave when the trace was recorded."""

    chain: Chain
    root: object         # the namespace dict, or the object itself for an argument
    expected: object
    by_value: bool

    def value(self):
        """What the chain leads to now (of a bound method its function)."""
        base = self.root if self.chain.root == ARGUMENT else root_value(self.root, self.chain.name)
        return unbound(follow(base, self.chain.steps))

    def holds(self) -> bool:
        """Whether Python state is as it was, as far as this guard sees."""
        now = self.value()
        if now is self.expected:
            return True
        return self.by_value and type(now) is type(self.expected) and now == self.expected

    def __str__(self):
        return f"{self.chain} was {self.expected!r}, is {self.value()!r}"


def root_value(namespace, name):
    """A global (or builtin), or the content of a closure cell."""
    if isinstance(namespace, types.CellType):
        try:
            return namespace.cell_contents
        except ValueError:
            return MISSING
    if name in namespace:
        return namespace[name]
    return getattr(builtins, name, MISSING)


def unbound(value):
    """The function of a bound method (which is a new object at every read); anything else as it is."""
    return value.__func__ if isinstance(value, types.MethodType) else value


def cell_of(code, name, value):
    """The closure cell behind a free variable of running code, found through the functions made from that code."""
    at = code.co_freevars.index(name)
    for f in gc.get_referrers(code):
        if isinstance(f, types.FunctionType) and f.__code__ is code and root_value(f.__closure__[at], name) is value:
            return f.__closure__[at]
    return None


def summary(value):
    """(what to compare, whether by value) for a value that was read, or None if there is nothing to compare."""
    if isinstance(value, _VALUES):
        return value, True
    if isinstance(value, (tuple, frozenset)) and all(isinstance(v, _VALUES) for v in value):
        return value, True
    return value, False


class Watch:
    """Collects guards and refuses what cannot be repeated, while a function runs for the first time."""

    def __init__(self):
        self.guards: dict = {}
        self.snapshots: list = []        # (container, shallow copy, chain)
        self.made: set = set()           # ids of objects whose __init__ ran inside
        self.problem: TraceError | None = None
        self._keep: list = []
        self._cells: dict = {}
        self._generators: list = []      # (numpy generator, its state when first seen)

    def __enter__(self):
        self.dice = random_states()
        self._before = sys.getprofile()
        sys.setprofile(self._event)
        return self

    def __exit__(self, *exc):
        sys.setprofile(self._before)

    def _event(self, frame, event, arg):
        if event == "call":
            if is_user(frame):
                self._frame(frame)
        elif event == "c_call" and is_user(frame):
            self._builtin(frame, arg)

    # Frames.

    def _frame(self, frame):
        code = frame.f_code
        if code.co_name == "__init__" and code.co_varnames:
            made = frame.f_locals.get(code.co_varnames[0])
            self.made.add(id(made))
            self._keep.append(made)
        for w in writes_of(code):
            self._refuse(f"it writes {w.target} at {code.co_filename}:{w.line}, which would happen only when the trace is "
                         "recorded; return the value instead, or keep it in a tensor that is updated in place")
        local = frame.f_locals
        for chain in reads_of(code):
            if chain.root == GLOBAL:
                self._note(chain, frame.f_globals, root_value(frame.f_globals, chain.name))
            elif chain.name in local:
                self._note_local(chain, frame, local[chain.name])

    def _note_local(self, chain, frame, value):
        if chain.root == FREE:
            key = (id(frame.f_code), chain.name, id(value))
            if key not in self._cells:
                self._cells[key] = cell_of(frame.f_code, chain.name, value) or {chain.name: value}
            self._note(chain, self._cells[key], value)
        elif not isinstance(value, Tensor) and id(value) not in self.made:
            self._note(chain, value, value)

    def _note(self, chain, root, base):
        key = (id(root), chain)
        if key in self.guards or self._through_tensor(base, chain.steps):
            return
        value = unbound(follow(base, chain.steps))
        self._keep.append(root)
        if value is not unbound(follow(base, chain.steps)) and not isinstance(value, _VALUES):
            return
        expected, by_value = summary(value)
        self.guards[key] = Guard(chain, root, expected, by_value)
        if hasattr(getattr(value, "bit_generator", None), "state"):
            self._generators.append((value, str(value.bit_generator.state)))
        if type(value) in (list, dict, set):
            self.snapshots.append((value, value.copy(), chain))

    def _through_tensor(self, base, steps) -> bool:
        """Whether a chain reads an attribute of a tensor: its kind is guarded where the tensor comes in."""
        return any(isinstance(follow(base, steps[:n]), Tensor) for n in range(len(steps)))

    # Calls of builtins.

    def _builtin(self, frame, function):
        owner = getattr(function, "__self__", None)
        module = function.__module__ or (owner.__name__ if isinstance(owner, types.ModuleType) else type(owner).__module__)
        name = getattr(function, "__name__", "")
        place = f"{frame.f_code.co_filename}:{frame.f_lineno}"
        if module.startswith(_IMPURE_MODULES) and name not in ("seed", "sleep"):
            self._refuse(f"it calls {module}.{name} at {place}, whose result changes from call to call; pass the value as an "
                         "argument, or use ingot's random functions")
        if name in _MUTATORS and any(owner is c for c, _, _ in self.snapshots):
            self._refuse(f"it calls .{name}() on a {type(owner).__name__} that lives outside of it, at {place}; return the "
                         "value instead")

    def _refuse(self, reason):
        if self.problem is None:
            self.problem = TraceError("this function cannot be traced: " + reason)

    # At the end.

    def finish(self) -> list:
        """The guards; raises if the run changed what it had read."""
        if self.problem is None and (self.dice != random_states() or any(
                str(g.bit_generator.state) != before for g, before in self._generators)):
            self._refuse("it draws from Python's or numpy's random numbers, which would happen only when the trace is recorded; "
                         "use ingot's random functions, or pass the numbers as an argument")
        if self.problem is not None:
            raise self.problem
        kept = []
        for guard in self.guards.values():
            if isinstance(guard.expected, (list, dict, set)):
                before = next((s for c, s, _ in self.snapshots if c is guard.expected), None)
                if before is not None and before != guard.expected:
                    raise TraceError(f"this function cannot be traced: it changed {guard.chain}, a "
                                     f"{type(guard.expected).__name__} that lives outside of it; return the value instead")
            elif not guard.holds():
                raise TraceError(f"this function cannot be traced: it changed {guard.chain} ({guard}); return the value "
                                 "instead, or keep it in a tensor that is updated in place")
            kept.append(guard)
        return kept


def random_states() -> tuple:
    """Where the global random streams of Python and numpy are."""
    legacy = sys.modules.get("numpy.random")
    return random.getstate(), None if legacy is None else str(legacy.get_state())


def is_user(frame) -> bool:
    """Whether a frame runs code of the user: neither ingot's nor the standard library's."""
    name = frame.f_globals.get("__name__", "")
    if name == _PACKAGE or name.startswith(_PACKAGE + "."):
        return False
    return not frame.f_code.co_filename.startswith(_STDLIB) and not frame.f_code.co_filename.startswith("<frozen")
