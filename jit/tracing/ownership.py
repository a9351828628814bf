"""Recordings of a traced module refer to it by the plain module with the same attributes.

The traced module holds its recordings. If their guards and writes held it, too, its parameters would live until a garbage
collection. Both modules have one dict of attributes, so a guard or a write on one of them is the same on the other. A run
meets the traced module as `self`. `exchanged` puts the plain one into what is left of the run, and the traced one back for
the next run.
"""

import types
from typing import Any

from ..bytecode.reads import Chain
from ..guards.guards import FunctionGuard
from ..guards.locations import SameAs
from ..guards.snapshot import Snapshot

_ROOM = __name__.rpartition(".tracing.")[0]
_VALUES = frozenset(("before", "expected", "first", "was"))       # attributes with values that are compared
_LEAVES = frozenset((Chain, FunctionGuard, Snapshot, str, int, bool, float, type(None), type))


def exchanged(x, old, new) -> Any:
    """Return guards, locations or writes that refer to one module, referring to another one. Values that they compare with, and
    which may be reached on other ways, stay."""
    return x if old is None or new is None else _exchanged(x, old, new, set())


def _exchanged(x, old, new, seen):
    if x is old:
        return new
    kind = type(x)
    if kind in _LEAVES:
        return x
    if kind is tuple:
        parts = tuple([_exchanged(v, old, new, seen) for v in x])
        return parts if any(a is not b for a, b in zip(parts, x)) else x
    if id(x) in seen:
        return x
    seen.add(id(x))
    if kind is list:
        x[:] = [_exchanged(v, old, new, seen) for v in x]
    elif kind is dict:
        for v in x.values():
            if type(v) is SameAs:           # (other values are compared)
                _exchanged(v, old, new, seen)
    elif kind is types.FunctionType:
        for cell in x.__closure__ or () if x.__module__.startswith(_ROOM) else ():
            cell.cell_contents = _exchanged(cell.cell_contents, old, new, seen)
    elif kind.__module__.startswith(_ROOM):
        for name, value in [*getattr(x, "__dict__", {}).items()]:
            if name not in _VALUES or type(value) is SameAs:
                object.__setattr__(x, name, _exchanged(value, old, new, seen))      # (some are frozen)
    return x
