"""The cache of a traced function: entries by the kind of a call, and families of calls that differ in sizes and numbers."""

from ...ir.cached_property import cached_property
from ...ir.locks import new_rlock
from ..errors.parameters import parameters_of
from ..guards.exact_values import number_bits
from ..guards.kept_keys import CallTable, kept
from ..guards.locations import MOST_LOCATIONS, ChangedValue
from ..guards.object_arguments import objects_in
from ..guards.snapshot import looks_like
from ..inspect import report
from .dynamic_shapes import Family
from .labels import Labels

MOST_KINDS = 4096    # keys, and families; the oldest go
MOST_ENTRIES = 32    # entries of a key, for different states of Python; the oldest go


def numbers_key(numbers) -> tuple:
    """Return numbers as a part of a key: floats by their bits."""
    return tuple([(n.hex() if n == n else number_bits(n)) if type(n) is float else n for n in numbers])


def _holds(key, classes) -> bool:
    return any(type(x) in classes for x in objects_in(key[0][0]))


def _passes(key, objects) -> bool:
    return any(x is other for x in objects_in(key[0][0]) for other in objects)


class Cache:
    """Entries by key, with the locations whose values belong to each key. `locations` were seen to change: every call looks
    them up. `changing` holds those that were seen since, and keys of optimizer options and gradients that were seen to change
    (`Condition.changed_values`)."""

    def __init__(self, fn):
        self._fn = fn
        self.lock = new_rlock()
        self.entries = CallTable()      # key: [(entry, values of its symbols)], the last one is tried first
        self._families = CallTable()    # by a key without sizes and numbers
        self.changing: set = set()
        self.locations: tuple = ()

    def clear(self):
        with self.lock:
            self.entries, self._families, self.changing, self.locations = CallTable(), CallTable(), set(), ()

    def all_entries(self) -> list:
        """Return the entries that calls were replayed by, each once."""
        with self.lock:
            return list(dict.fromkeys([e for known in self.entries.values() for e, _ in known]))

    def count(self) -> int:
        """Return the number of entries, also of those that replayed nothing yet."""
        with self.lock:
            symbolic = [e for family in self._families.values() for e in family.entries]
        return len(dict.fromkeys([*self.all_entries(), *symbolic]))

    @cached_property
    def _parameters(self) -> tuple:
        return parameters_of(self._fn)

    def families(self):
        return self._families.values()

    def try_first(self, key, known, bound):
        """Let one of the `known` entries of a key be tried first at the next call."""
        self.entries.put(key, [*[b for b in known if b is not bound], bound])

    def remember(self, key, entry, symbols):
        """Add an entry to a key, for these values of its symbols."""
        with self.lock:
            self.entries.shrink(MOST_KINDS - 1)
            self.entries.put(key, [*self.entries.get(key, ())[1 - MOST_ENTRIES:], (entry, symbols)])

    def drop(self, entry):
        with self.lock:
            self.entries.refill([(key, [b for b in known if b[0] is not entry]) for key, known in self.entries.items()])
            for family in self._families.values():
                family.drop(entry)

    def was_replayed(self, objects) -> bool:
        """Return whether calls with one of some objects among their arguments, and without keywords, were replayed."""
        with self.lock:
            found = [e for key, known in self.entries.items() if _passes(key, objects) for e, _ in known]
            found += [e for kind, family in self._families.items() if _passes(kind, objects) for e in family.entries]
        return any(e.quick for e in found)

    def drop_objects(self, classes):
        """Drop the entries and families of calls with objects of some classes among their arguments."""
        with self.lock:
            for table in (self.entries, self._families):
                table.refill([(key, value) for key, value in table.items() if not _holds(key, classes)])

    def drop_fixed(self, fixed):
        """Drop an entry of fixed sizes that a symbolic one replaces, unless it was compiled."""
        if not any(job.compiled for job in report.jobs_of([fixed])):
            self.entries.put(fixed.key, [known for known in self.entries.get(fixed.key, ()) if known[0] is not fixed])

    def family(self, call) -> Family:
        *same, tensors, _ = call.key
        spec, _, kinds = same[0]
        kind = (*same, tuple([(len(shape), *others) for shape, *others in tensors]))
        with self.lock:
            family = self._families.get(kind)
            if family is None:
                family = Family(labels=Labels(self._parameters, kept(spec), call.locations, kinds))
                self._families.shrink(MOST_KINDS - 1)
                self._families.put(kind, family)
            return family

    def add_changed_locations(self) -> bool:
        """Look up the locations in `changing` at every call from now on; return whether there were any. Entries stay, for the
        numbers that were in these locations, if all of them agree on the numbers."""
        known = {p.identity for p in self.locations}
        with self.lock:
            changing = set(self.changing)              # other threads may add to it
            found = {m.place.identity: m for m in changing if type(m) is ChangedValue and m.place.identity not in known}
            self.changing = {m for m in changing if type(m) is not ChangedValue}
            new = [*found.values()][: MOST_LOCATIONS - len(self.locations)]
            if new:
                self.locations = (*self.locations, *[m.place for m in new])
                if all(m.is_number and self._agree(m.place, m.before) for m in new):
                    self._extend_keys(new)
                else:
                    self.entries, self._families = CallTable(), CallTable()
        return bool(new)

    def _agree(self, place, before) -> bool:
        """Return whether all entries found the same number in a location, or never looked there."""
        guards = [entry.guards.get(place.identity) for known in self.entries.values() for entry, _ in known]
        return all(g is None or looks_like(g.expected, before) for g in guards)

    def _extend_keys(self, changed):
        """Add the numbers that were in some locations to all keys."""
        def longer(first):
            spec, numerics, kinds = first
            return spec, numerics, (*kinds, *[type(m.before) for m in changed])

        for family in self._families.values():
            family.extend(changed)
        self._families.refill([((longer(kind[0]), *kind[1:]), family) for kind, family in self._families.items()])
        more = numbers_key([m.number for m in changed])
        self.entries.refill([((longer(key[0]), *key[1:-1], (*key[-1], *more)), known) for key, known in self.entries.items()])
        for key, known in self.entries.items():
            for entry, _ in known:
                entry.key = key
