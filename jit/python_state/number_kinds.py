"""Calls of `type` that get no stand-in: `kind_of = type; kind_of(n)`, `map(type, numbers)`.

Such a call gets the class of the proxy that stands for a number, so the recording is refused.
"""

import types
from typing import Any

from ...runtime.state.mode import tls
from ..bytecode.user_code import is_instance
from ..errors.errors import RecordingStatus
from ..guards.locations import StateInputs
from .stand_ins import PROXIES, settle_values

_FINITE: Any = (tuple, set, frozenset, *map(type, ({}.keys(), {}.values(), {}.items())))
_ONLY_TESTS = (isinstance, issubclass)


class NumberKinds:
    """Check of the calls that may tell proxies from numbers."""

    def __init__(self, status: RecordingStatus, inputs: StateInputs):
        self._status, self._inputs = status, inputs

    def asked(self, call, args):
        """Note a call of `type` with operands, or with unknown ones (None)."""
        if args is not None and len(args) == 1 and type(args[0]) in PROXIES:
            self._refuse(call)

    def passed_on(self, call):
        """Note a call that gets `type` as an operand. Code in Python calls it where it is seen."""
        recorder: Any = tls.m.recorder
        has_numbers = recorder is not None and (self._inputs.is_symbolic or recorder.reads.has_numbers)
        if has_numbers and not isinstance(call.function, types.FunctionType | types.MethodType) and (
                call.function not in _ONLY_TESTS):
            settle_values(call.operands())
            if any(map(_may_give_number, call.operands())):
                self._refuse(call)

    def _refuse(self, call):
        self._status.is_misled = True
        self._status.refuse(f"it asks for the class of a number that may change, at {call.line}, by another name than `type`; "
                            "write type(x) there")


def _may_give_number(x: Any) -> bool:
    """Return whether a value is a proxy, or a function in C that gets it may find one in it."""
    if type(x) in PROXIES or hasattr(type(x), "__next__"):
        return True
    if isinstance(x, _FINITE):
        return any(type(v) in PROXIES for v in x)
    return is_instance(x) and hasattr(type(x), "__iter__")
