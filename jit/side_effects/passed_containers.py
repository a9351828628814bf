"""Uses of containers that no chain of names shows: as arguments of user functions, or in attributes of untracked objects.

A user function shows in its own bytecode what it does with a container that it receives (`uses.uses_of`). So passing one on
is no use of it, as long as every call that takes it leads to such a function. Items that this function reads have no guards of
their own: the whole container counts then.
"""

from functools import lru_cache

import numpy as np

from ..bytecode.reads import ARGUMENT, Chain, unassigned_arguments
from ..bytecode.stack import instructions_of, position_of
from ..bytecode.uses import COUNTED, GROWN, INSPECTED, KEYED, MEASURED, PASSED, SINGLE, passed_in, untracked_uses
from ..guards.locations import RESTORED
from ..proxies.symbolic_tables import TABLES, real_table

# Use of a container -> use where no item of it has a guard.
_ALL_OF_IT: dict = {**dict.fromkeys((*SINGLE, KEYED, GROWN, COUNTED)), MEASURED: INSPECTED}
_ANY = "*"          # stands for every attribute name


@lru_cache(maxsize=4096)
def calls_of(code) -> dict:
    """Return {chain: the calls, as (code, offset), that take its value as an argument}."""
    found: dict = {}
    for chain, offset in passed_in(code):
        found.setdefault(chain, set()).add((code, offset))
    return found


def note_arguments(frame, inputs, contents, uses) -> None:
    """Note how a user function that starts uses the containers among its arguments, as its code shows (`uses`)."""
    code, local = frame.f_code, frame.f_locals
    names = [n for n in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
             if type(local.get(n)) in TABLES or contents.has_met(local.get(n))]
    if not names:
        return
    kept, caller = unassigned_arguments(code), frame.f_back
    for name in names:
        chain, calls = Chain(ARGUMENT, name, ()), calls_of(code).get(Chain(ARGUMENT, name, ()), ())
        how = uses.get(chain, PASSED) if name in kept else None
        value = inputs.given(local[name], how, calls)
        contents.used(value, _ALL_OF_IT.get(how, how), calls)
        if caller is not None:
            contents.arrived(value, (caller.f_code, instructions_of(caller.f_code)[position_of(caller)].offset))


class UntrackedUses:
    """Uses of containers in attributes of objects to which no chain leads: each object that is reached may be meant."""

    def __init__(self, inputs, contents):
        self._inputs, self._contents = inputs, contents
        self._by_name: dict = {}        # attribute name, or _ANY -> {(use, call or None): None}

    def add(self, code, asked, more) -> dict:
        """Add the uses in code that starts; return the new ones. Attributes that it queries by name, `more` among them, have
        any use."""
        known = untracked_uses(code)
        uses = [(name, how, None if offset is None else (code, offset)) for name, how, offset in known]
        uses += [(name, None, None) for name in (asked.names - {name for name, *_ in known}) | more]
        uses += [(_ANY, None, None)] if asked.computes else ()
        new: dict = {}
        for name, how, call in uses:
            if (how, call) not in self._by_name.setdefault(name, {}):
                self._by_name[name][how, call] = None
                new.setdefault(name, []).append((how, call))
        return new

    def apply(self, attributes, uses=None):
        """Note uses of the containers among the attributes of an object: the given ones, or all so far."""
        uses = self._by_name if uses is None else uses
        for name in attributes if _ANY in uses else attributes.keys() & uses.keys():
            value = real_table(attributes[name])
            if type(value) in RESTORED or type(value) in (tuple, np.ndarray):
                for how, call in (*uses.get(name, ()), *uses.get(_ANY, ())):
                    calls = () if call is None else (call,)
                    self._contents.used(self._inputs.given(attributes[name], how, calls), how, calls)
