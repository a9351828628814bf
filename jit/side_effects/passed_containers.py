"""Lists and dictionaries that code hands to functions of the user's: `record(self.losses, loss)`.

What a function does with what it is given is seen when it runs, in its own bytecode (`uses.uses_of`), so handing a container
on is no use of it, as long as every call to which it is given leads to such a function. Items that this one reads have no
guards of their own: all of the container counts then.
"""

from functools import lru_cache

from ..bytecode.reads import ARGUMENT, Chain, kept_arguments
from ..bytecode.stack import instructions_of, position_of
from ..bytecode.uses import COUNTED, GROWN, HANDED, KEYED, LOOKED, MEASURED, SINGLE, handed_in
from ..proxies.symbolic_tables import TABLES

# What is done with a container, where no item of it has a guard.
_ALL_OF_IT: dict = {**dict.fromkeys((*SINGLE, KEYED, GROWN, COUNTED)), MEASURED: LOOKED}


@lru_cache(maxsize=4096)
def calls_of(code) -> dict:
    """{chain: the calls, as (code, offset), that take as an argument what it leads to}."""
    found: dict = {}
    for chain, offset in handed_in(code):
        found.setdefault(chain, set()).add((code, offset))
    return found


def note_arguments(frame, held, contents, uses) -> None:
    """A function of the user's starts, and does with the containers that it is given what its code does (`uses`)."""
    code, local = frame.f_code, frame.f_locals
    names = [n for n in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
             if type(local.get(n)) in TABLES or contents.has_met(local.get(n))]
    if not names:
        return
    kept, caller = kept_arguments(code), frame.f_back
    for name in names:
        chain, calls = Chain(ARGUMENT, name, ()), calls_of(code).get(Chain(ARGUMENT, name, ()), ())
        how = uses.get(chain, HANDED) if name in kept else None
        value = held.given(local[name], how, calls)
        contents.used(value, _ALL_OF_IT.get(how, how), calls)
        if caller is not None:
            contents.arrived(value, (caller.f_code, instructions_of(caller.f_code)[position_of(caller)].offset))
