"""Context variables that user code reads, sets and resets."""

from ..bytecode.reads import MISSING
from ..errors.errors import TraceError
from ..guards.locations import CONTEXT, Held
from ..guards.snapshot import photograph
from ..side_effects.effects import Target
from .implicit_reads import context_reading
from .read_log import ReadLog


class ContextVariables:
    """Context variables that the function sets. A value that it has set itself and resets is no state from outside."""

    def __init__(self, held: Held, reads: ReadLog):
        self._held, self._reads = held, reads
        self._set: dict = {}        # by id: (variable, its value before, number of set() without reset(), where)

    def called(self, variable, name, place):
        """Note a call of a method of a context variable."""
        now = variable.get(MISSING)
        if name in ("set", "reset"):
            _, before, open_sets, _ = self._set.get(id(variable), (variable, now, 0, place))
            self._set[id(variable)] = variable, before, open_sets + (1 if name == "set" else -1), place
        elif self._set.get(id(variable), (variable, now))[1] is now:
            self._reads.add_condition(context_reading(variable))

    def targets(self) -> list:
        """Return the variables that keep what the function has set; raise if it resets one by a token from outside."""
        found = []
        for variable, before, open_sets, place in self._set.values():
            if open_sets > 0:
                if variable.get(MISSING) is before:     # perhaps by the token of the first of several set()
                    self._reads.add_condition(context_reading(variable))
                text = f"the context variable {variable.name} (at {place})"
                found.append(Target(variable, CONTEXT, CONTEXT, before, photograph(before, self._held), text))
            elif variable.get(MISSING) is not before:
                raise TraceError(f"this function cannot be traced: it resets the context variable {variable.name} at {place} "
                                 "with a token from outside; do so outside, or set it")
        return found
