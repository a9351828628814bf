"""Guards of a recorded call, made from its logs once the call has ended and every action in it can be repeated."""

from dataclasses import replace
from types import MethodType

from ...runtime.nn.base.module import Module
from ..bytecode.reads import ANY, ARGUMENT, FREE, GLOBAL, LENGTH, MISSING, Chain
from ..bytecode.user_code import is_a, modules_below
from ..errors.errors import DisturbedError, FirstTimeError, ReplacedError, TraceError
from ..guards.absence import AbsentNames, AttributeNames, ClassNames
from ..guards.class_entries import ClassMembers
from ..guards.guards import UNREAD, Guard, ModulesGuard, ReadCondition
from ..guards.known_objects import KnownObjects
from ..guards.loaded_modules import ImportedModule, LoadedModules
from ..guards.locations import CONTEXT, EXTEND, RESTORED, STATE, WHOLE, StateInputs, item_of, read
from ..guards.snapshot import Exactly
from ..host.ordering import HostLog
from ..proxies.threads import is_alone
from ..side_effects.contents import AnyOf, ContainerLog, unread_replacements
from ..side_effects.effects import sole_references
from ..side_effects.remade import RemadeObjects
from ..side_effects.writes import WriteLog
from .read_log import DATA, HELD, LIBRARY, ReadLog


class FirstValues:
    """Values that locations held before the run wrote to them."""

    def __init__(self, targets, contents: ContainerLog):
        self._contents = contents
        self._were = {place: t.was for place, t in targets.items() if t.was is not MISSING and t.value() is not t.was}

    def way(self, place) -> list:
        """Return the values on the way to a location, from that of its root on; of a method its function."""
        value = self._were.get(place.first_location, MISSING)
        found = [place.start() if value is MISSING else value]
        for step in place.chain.steps:
            found.append(self._next(found[-1], step))
        return found

    def _next(self, owner, step):
        kind, key = step
        was = self._were.get((id(owner), key), MISSING)
        if was is MISSING and kind == "item":
            was = item_of(self._contents.before(owner), key)
        return read(owner, (step,)) if was is MISSING else was


class Finaliser:
    """Conversion of the logs of a recorded call to guards. `held` are ids of objects that results or writes hold."""

    def __init__(self, known: KnownObjects, inputs: StateInputs, contents: ContainerLog, reads: ReadLog, writes: WriteLog,
                 hosts: HostLog, remade: RemadeObjects, effects, held):
        self._held = held
        self._unshared, self._remade_ids = remade.settle(effects, held)
        self._lost = remade.lost
        self._known, self._inputs, self._contents = known, inputs, contents
        self._reads, self._writes, self._hosts, self._effects = reads, writes, hosts, effects
        self._written = {t.place: t for t in effects}

    def guard_unchanged(self):
        """Guard assigned locations that hold what they held: calls that find another value there may have to write."""
        targets, guards = self._writes.targets, self._reads.guards
        for at in self._reads.late & guards.keys():     # put back since
            g = guards[at]
            t = targets[g.locations_on_path()[-1]]
            if t.place not in self._written and not t.is_changed:
                guards[at] = replace(g, expected=t.before)
        known = {place for g in guards.values() for place in g.locations_on_path()}
        for t in targets.values():
            if t.kind == "attr" and t.place not in self._written and t.was is not MISSING:
                self._reads.add_own(t.owner, t.key, t.text)
            if t.kind == "attr" and t.place not in self._written and t.was is MISSING and not is_a(t.owner, (type, Module)):
                self._reads.add_missing(t.text, t.owner, t.key)         # `o.k = 3; del o.k` deletes what it finds there
            if t.place in known or t.place in self._written or t.was is MISSING or isinstance(t.owner, Module):
                continue
            if isinstance(t.owner, type) and hasattr(type(t.was), "__get__"):       # reading it gives what that binds
                self._reads.add_attributes(t.owner.__qualname__, t.owner, (t.key,))
                continue
            name, _, where = t.text.rstrip(")").partition(" (in ")
            chain = {"attr": Chain(ARGUMENT, name.rpartition(".")[0], (("attr", t.key),)), "cell": Chain(FREE, name, ()),
                     "item": Chain(GLOBAL, t.key, ())}[t.kind]
            guards[id(t.owner), chain] = Guard(chain, t.owner, t.before, where)

    def guard_lookups(self):
        """Guard that no object keeps a method that code may compare: each lookup in a class makes another one."""
        methods = [g for g in self._reads.guards.values() if g.is_method] if self._known.compares else ()
        for g in methods:
            self._reads.add_unshadowed(str(g.chain), g.last_owner(), (g.chain.steps[-1][1],))

    def check_modules(self):
        changed = self._writes.modules.restructured(self._written)
        if changed is not None:
            raise DisturbedError(f"while this function was recorded, it changed the parameters, children or hooks of a "
                                 f"{type(changed).__name__}; do so outside of it")

    def guards(self, set_rates, toggled, touched, caches) -> list:
        """Return all guards; raise if the run changed what it had read, other than by its side effects.

        `set_rates` are locations that learning rate schedulers set, `toggled` ids of tensors that started or stopped requiring
        grad, `touched` ids of the tensors that took part in the run, `caches` the cached functions that it called.
        """
        reads, contents = self._reads, self._contents
        reads.guards = {at: g for at, g in reads.guards.items() if id(g.root) not in self._remade_ids
                        and (g.measured is None or contents.may_grow(g.measured))}
        self._check_replaced()
        self._check_guards(set_rates)
        guards = reads.guards
        first = FirstValues(self._writes.targets, contents)
        ways = {at: first.way(g) for at, g in guards.items()}
        contents.sole_references = sole_references([*zip(guards.values(), ways.values())], contents, self._held)
        modules = self._module_guards(toggled)
        self._check_conditions(caches)
        replaced = unread_replacements(self._effects, {*touched, *[id(g.root) for g in guards.values()]})
        for guard in guards.values() if replaced else ():
            contents.loosen(guard.expected, guard.value(), replaced)
        found = [replace(g, expected=self._settled(g.expected, ways[at][-1], g.value)) for at, g in guards.items()]
        conditions = [replace(r, expected=self._settled(r.expected, r.read(), r.read)) if type(r) is ReadCondition else r
                      for r in reads.conditions.values() if id(getattr(r, "owner", None)) not in self._remade_ids]
        return [*modules, *reads.guards_on_kinds(self._remade_ids), *conditions, *found, *self._written_on_the_way(ways),
                *contents.sole_references.values(), *self._unshared]

    def _module_guards(self, toggled) -> list:
        before = self._hosts.left_in_modules()
        before |= {place: UNREAD if self._is_unread(t) else t.before for place, t in self._written.items()}
        seen = {id(m): m for top in self._known.modules.values() for _, m in modules_below(top)}
        seen.update({id(m): m for m in self._writes.modules.reached()})
        return [ModulesGuard(seen.values(), self._inputs, before, toggled, self._may_read)] if seen else []

    def _is_unread(self, t) -> bool:
        if self._reads.by_name or not is_a(t.owner, Module):
            return False
        return t.place in self._writes.modules.unread or not self._may_read(t.owner, t.key)

    def _may_read(self, module, name) -> bool:
        """Return whether code may read an attribute of a module."""
        reads = self._reads
        return reads.by_name or (id(module), name) in reads.module_reads or self._writes.modules.may_be_read(module, name)

    def _check_replaced(self):
        """Raise if the recording relies on an object that it replaces: no later call would find it."""
        for g in self._reads.guards.values() if self._lost else ():
            for x in (getattr(g.expected, "itself", g.expected), g.root):
                if id(x) in self._lost and type(x) not in RESTORED and (x is not g.root or self._lost[id(x)][2]):
                    raise ReplacedError(f"it puts another {type(x).__name__} into {self._lost[id(x)][1]}, and uses the one "
                                        "that was there as a whole, or writes to its parts; make it outside, or return it")

    def _check_guards(self, set_rates):
        """Raise if the run changed a location that it had read, and that is no side effect."""
        refilled = {at for at, key in self._written if key in (WHOLE, STATE)}
        set_here = self._written.keys() | set_rates
        grown = {at for at, key in self._written if key == EXTEND}

        def is_moved(at, key):      # items counted from the end, and absent ones, are others once a list has grown
            return at in refilled or (at in grown and (type(key) is int or key in (LENGTH, ANY)))

        for guard in self._hosts.besides_left(self._reads.guards.values()):
            on_the_way = [place for at in guard.locations_on_path() for place in self._contents.positions(*at)]
            if not (self._contents.was(guard.value(), guard.expected) or not set_here.isdisjoint(on_the_way)
                    or any(is_moved(*at) for at in on_the_way)):
                if self._may_be_others(on_the_way):
                    raise DisturbedError("while this function was recorded, it, code that interrupted it or another thread "
                                         f"changed {guard.chain} ({guard})")
                raise TraceError(f"this function cannot be traced: it changed {guard.chain} ({guard}); return the value "
                                 "instead, or keep it in a tensor that is updated in place")

    def _may_be_others(self, on_the_way) -> bool:
        """Return whether other code than the function's may have changed a location: it assigns to none on the way there."""
        is_interrupted = self._known.status.is_interrupted and self._writes.targets.keys().isdisjoint(on_the_way)
        return is_interrupted or not is_alone()

    def _check_conditions(self, caches):
        for reading in self._reads.conditions.values():
            is_of_names = type(reading) in (AttributeNames, AbsentNames, ClassMembers, ClassNames)
            fills = is_of_names and reading.explained_by(self._written)
            what, *place = reading.identity
            is_set = (what == CONTEXT and (place[0], CONTEXT) in self._written) or (
                what == HELD and tuple(place) in self._written) or (
                what == LIBRARY and self._contents.held(place[0], reading.expected))
            if what == DATA and not reading.holds():
                raise FirstTimeError(f"it changed {reading.text}; change it outside of the traced function")
            if type(reading) in (LoadedModules, ImportedModule) and not reading.holds():
                raise FirstTimeError(f"{reading}, and the function reads which there are")
            computed = reading.computed() if type(reading) in (AttributeNames, AbsentNames) and not fills else ()
            if computed:
                raise FirstTimeError(f"the cached property {computed[0]} was computed")
            if type(reading) is ClassNames and not (fills or reading.holds()):      # a library did so
                raise FirstTimeError(str(reading))
            if not (fills or is_set or reading.holds() or caches.was_filled(reading) or self._was_as_expected(reading)):
                if (type(reading) is ClassMembers and not is_alone()) or self._known.status.is_signalled:
                    raise DisturbedError("while this function was recorded, it, code that interrupted it or another thread "
                                         f"changed what it reads: {reading}")
                raise TraceError(f"this function cannot be traced: it changed what it reads: {reading}; do one of the two "
                                 "outside")

    def _was_as_expected(self, reading) -> bool:
        """Return whether a condition held before the run changed containers, which is its side effect."""
        return type(reading) is ReadCondition and self._contents.was(reading.read(), reading.expected)

    def _settled(self, expected, now, read):
        """Return the expectation of a value that was `now`. A bound method that each lookup makes anew is as it was if it has
        the same function and object."""
        settled = self._contents.settled(expected)
        return settled if type(now) is MethodType and read() is not now else self._contents.exact(settled, now)

    def _written_on_the_way(self, ways) -> list:
        """Return guards of the containers that the run writes to, on the way to other guarded locations."""
        guards, found = self._reads.guards, {}
        for at, g in guards.items():
            for n, container in self._contents.on_the_way(ways[at]):
                chain = g.chain._replace(steps=g.chain.steps[:n])
                if (id(g.root), chain) not in guards:
                    found[id(g.root), chain] = replace(g, chain=chain, expected=Exactly(container, AnyOf(container)))
        return [*found.values()]
