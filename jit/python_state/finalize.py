"""Guards of what a recorded run read, made at its end if every action in it can be repeated."""

from dataclasses import replace
from typing import Any

from ...runtime.nn.base.module import Module
from ..bytecode.reads import ANY, LENGTH
from ..errors.errors import DisturbedError, TraceError
from ..guards.absence import Keys, Lack
from ..guards.guards import UNREAD, ModulesGuard, Reading, module_state
from ..guards.locations import CONTEXT, EXTEND, RESTORED, WHOLE
from ..guards.replaced_tensors import overwritten
from ..guards.snapshot import Exactly
from ..proxies.other_threads import is_alone
from ..side_effects.contents import AnyOf
from ..side_effects.relocated_containers import alone_in


class Findings:
    """The part of a watch that ends it."""

    def finish(self: Any, effects=(), turned=(), touched=()) -> list:
        """The guards; raises if the run changed what it had read, but for the targets of `effects`, and whether tensors (the
        ids `turned`) require grad. `touched` are the ids of the tensors that took part in it."""
        if self.problem is None and self._has_drawn():
            self._refuse("it draws from Python's or numpy's random numbers, which would happen only when the trace is "
                         "recorded; use ingot's random functions, or pass the numbers as an argument")
        self._check_modes()
        if self.problem is not None:
            raise self.problem
        written = {t.place: t for t in effects}
        self.guard_what_stayed(written)
        changed = self.module_writes.restructured(written)
        if changed is not None:
            raise DisturbedError(f"while this function was recorded, it changed the parameters, children or hooks of a "
                                 f"{type(changed).__name__}")
        self._note_imports()
        self._check_copies()
        self._check_others()
        self.guards = {at: g for at, g in self.guards.items() if g.measured is None or self.contents.may_grow(g.measured)}
        self._check_guards(written)
        self.contents.alone = alone_in([(g, self._first_of(g)) for g in self.guards.values()], self.contents)
        before = self.left_in_modules()
        before |= {place: UNREAD if self._is_unread(t) else t.before for place, t in written.items()}
        seen = {id(m): m for top in self.modules.values() for m in Module.modules(top)}
        seen.update({id(m): m for m in self.module_writes.reached()})
        modules = [ModulesGuard(seen.values(), self.held, before, turned)] if seen else []
        for reading in self.readings.values():
            fills = type(reading) in (Keys, Lack) and reading.is_filled_by(written)
            is_set = reading.watched[0] == CONTEXT and (reading.watched[1], CONTEXT) in written
            if not (fills or is_set or reading.holds() or self.is_of_filled_cache(reading)):
                raise TraceError(f"this function cannot be traced: it changed what it reads: {reading}")
        replaced = overwritten(effects, {*touched, *[id(g.root) for g in self.guards.values()]})
        for guard in self.guards.values() if replaced else ():
            self.contents.loosen(guard.expected, guard.value(), replaced)
        guards = [replace(g, expected=self._settled(g.expected, self._first_of(g))) for g in self.guards.values()]
        readings = [replace(r, expected=self._settled(r.expected, r.read())) if type(r) is Reading else r
                    for r in self.readings.values()]
        return [*modules, *readings, *guards, *self._written_on_the_way(), *self.contents.alone.values()]

    def _check_guards(self: Any, written):
        """Raises if the run changed what it had read, and does not write to it."""
        refilled = {at for at, key in written if key == WHOLE}
        set_here = written.keys() | self.scheduled
        grown = {at for at, key in written if key == EXTEND}

        def is_moved(at, key):      # items counted from the end, and what was not there, are others once a list has grown
            return at in refilled or (at in grown and (type(key) is int or key in (LENGTH, ANY)))

        for guard in self.besides_left(self.guards.values()):
            on_the_way = [place for at in guard.places_on_the_way() for place in self.contents.positions(*at)]
            if not (self.contents.was(guard.value(), guard.expected) or not set_here.isdisjoint(on_the_way)
                    or any(is_moved(*at) for at in on_the_way)):
                if not is_alone():
                    raise DisturbedError("while this function was recorded, it or another thread changed "
                                         f"{guard.chain} ({guard})")
                raise TraceError(f"this function cannot be traced: it changed {guard.chain} ({guard}); return the value "
                                 "instead, or keep it in a tensor that is updated in place")

    def _first_of(self: Any, guard):
        """The container to which a guard led before the run put another one there; what it leads to otherwise."""
        t = self.stored.get(guard.places_on_the_way()[-1])
        return guard.value() if t is None or type(t.was) not in RESTORED else t.was

    def _settled(self: Any, expected, now):
        return self.contents.exact(self.contents.settled(expected), now)

    def _written_on_the_way(self: Any) -> list:
        """Guards of the containers that the run writes to, on the way to what guards look at."""
        found = {}
        for g in self.guards.values():
            for n, container in self.contents.on_the_way(g):
                chain = replace(g.chain, steps=g.chain.steps[:n])
                if (id(g.root), chain) not in self.guards:
                    found[id(g.root), chain] = replace(g, chain=chain, expected=Exactly(container, AnyOf(type(container))))
        return [*found.values()]

    def found_outside(self: Any, tensors) -> list:
        """(number, tensor) of those that the function reaches on other ways than as its arguments, too."""
        for m in self.modules.values():
            for value in module_state(m).values():
                self._note_tensor(value)
        return [(i, t) for i, t in enumerate(tensors) if id(t) in self.tensors]
