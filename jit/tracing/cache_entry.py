"""Cache entries: recorded paths with all conditions that they rely on."""

from collections import Counter

from ...ir.draw.tables import COLUMNS, clipped, counted
from ...runtime.core.device_array import DeviceArray, place_of
from ...runtime.core.node import Leaf
from ..guards.guard_code import quick_check
from ..guards.memory_order import is_written_unchecked, memory_order, overlapping
from ..guards.references import holding_weakly, passed_now
from ..inspect import report
from ..proxies.data_sizes import conditions_before_call, hints_before_call
from ..recorder.recording import base_of
from ..replay.segment_tree import Tree
from .tensor_conditions import TensorConditions, TensorNames, joined


class Entry:
    """Paths that hold under one state of Python: guards, and conditions on tensors and symbols.

    labels         names of the arguments
    symbols        the symbolic sizes and numbers of the arguments, or None
    key            of the call that was recorded
    conditions     {text: the user's line} that the symbols must meet
    compared       for each symbol, its values in recordings that agreed, except sizes of 1
    ones_compared  which symbols were 1 in these, as sizes of 1 may lead to other work
    reached        {id: container that is reached, and may be no changed argument}
    """

    def __init__(self, recording, guards, labels, symbols=None, call=((), ())):
        self.tree, self.labels = Tree(recording), labels
        self.symbols, self.call = symbols, (call[0], tuple(call[1]))
        self.key: tuple = ()
        self.conditions: dict = {}
        self.uses = 0                    # calls replayed by a symbolic entry
        self.compared: list = [set() for _ in (symbols.hints if symbols is not None else ())]
        self.ones_compared: set = set()
        self.quick: dict = {}            # key of a call -> (its quick call, how often that was written)
        self.guards: dict = {}           # by identity, and those of later paths that demand more by identity and number
        self.tensors = TensorConditions()
        self.reached: dict = {}
        self.same_objects: dict = {}    # number of a container, set or array of the arguments -> the one that it must be
        self.locks: tuple = ()          # that each call holds
        self.apart_objects: dict = {}   # id -> one that no other argument may be
        self.passed = passed_now()      # ids of the arguments that it holds weakly, and does not outlive
        self._demand(recording, guards)

    def __repr__(self):
        sizes = "fixed sizes" if self.symbols is None else f"symbolic sizes, recorded for {self.symbols.text()}"
        names = ", ".join(dict.fromkeys([job.region.name for job in report.jobs_of([self])]))
        return clipped(f"<entry of {sizes}: {counted(len(self.guards), 'guard')}; {names}", COLUMNS - 1) + ">"

    def add(self, recording, guards) -> bool:
        """Add a path that was recorded while this entry applied; return False if it begins in another way. Its conditions hold
        for the entry before other threads can take the path."""
        return self.tree.merge(recording, lambda: self._demand(recording, guards))

    def match(self, shapes, numbers):
        """Return the values of the symbols in a call; None if the entry does not apply to it."""
        return self._matcher(shapes, numbers)

    def is_known(self, values) -> bool:
        """Return whether a call with these values may be replayed: each symbol had the value in a recording, or agreed for two
        values, with the same symbols 1."""
        ones = self.ones(values)
        return ones in self.ones_compared and all(
            [len(seen) > 1 or v in seen or i in ones for i, (v, seen) in enumerate(zip(values, self.compared))])  # noqa: C419

    def ones(self, values) -> tuple:
        """Return the numbers of the symbols that are sizes of 1."""
        return tuple([i for i, (v, (_, low)) in enumerate(zip(values, self._lows())) if low is not None and v == 1])

    def _lows(self) -> list:
        """Return (name, lower bound) of each symbol."""
        lows = self.symbols.scope.lows
        return [(name, lows[name]) for name in self.symbols.hints]

    def agreed(self, values):
        """A recording for these values agreed."""
        ones = self.ones(values)
        self.ones_compared.add(ones)
        for i, (v, seen) in enumerate(zip(values, self.compared)):
            if len(seen) < 2 and i not in ones:
                seen.add(v)

    def refuse(self, values):
        """Exclude calls with the same sizes of 1 as in a call for which other work is done."""
        ones = self.ones(values)
        tests = [f"{name} {'==' if i in ones else '!='} 1" for i, (name, low) in enumerate(self._lows()) if low is not None]
        self.conditions[f"not ({' and '.join(tests)})"] = None
        self._restrict()

    def _restrict(self):
        self.symbols.scope.conditions.update(self.conditions)
        self._matcher = self.symbols.matcher(*self.call)

    @property
    def is_checked(self) -> bool:
        """Whether recordings agreed for two values of each symbol."""
        return all(len(seen) > 1 for seen in self.compared)

    def _demand(self, recording, guards):
        """Add the conditions of a path to those of the whole entry: they held when it was recorded. Dictionaries are replaced,
        not changed, as other threads may iterate over them."""
        self.guards = _joined_guards(self.guards, guards)
        self.reached = joined(self.reached, [(id(c), c) for c in recording.reached])
        self.same_objects = joined(self.same_objects, recording.same_objects)
        self.apart_objects = joined(self.apart_objects, recording.apart_objects.items())
        self.locks += tuple((Counter(recording.locks) - Counter(self.locks)).elements())
        self.tensors.add(recording, self.guards.values())
        self._find_checks()
        if self.symbols is not None:
            self.conditions = {**self.conditions, **conditions_before_call(recording.scope)}
            recording.scope.close()
            self.agreed(hints_before_call(recording.scope).values())
            self._restrict()

    def _find_checks(self):
        """Find what depends on the guards."""
        with holding_weakly(self.passed):
            self.check = quick_check(list(self.guards.values()))
        self._names = TensorNames(self.labels, self.guards.values())

    def extend(self, changed):
        """Restrict the entry to the numbers in locations that every call looks up from now on."""
        self.call = self.call[0], (*self.call[1], *[m.number for m in changed])
        numbers = {m.place.identity for m in changed}
        self.guards = {key: guard for key, guard in self.guards.items() if guard.identity not in numbers}
        self._find_checks()
        if self.symbols is not None:
            self._matcher = self.symbols.matcher(*self.call)

    def unfit(self, call, changing: set):
        """Return why this entry does not apply to a call, or None; options and locations that differ go to `changing`."""
        why = self.tensors.changed(call.leaves, self._names)
        if why is not None:
            why = f"{why}; every such kind of tensors is a recording, so keep them few"
        if self.reached and any(id(c) in self.reached for c in call.containers):
            why = "a container among the arguments is one that the function reaches otherwise, too; pass a copy"
        if self.apart_objects and not self._are_objects_as_before(call):
            why = ("an argument is an object that the function reaches otherwise, too, or no longer is; as the function asks "
                   "which objects are the same, pass it in one way only")
        failing = [] if self.check() else [guard for guard in self.guards.values() if not guard.holds()]
        for guard in failing:
            changing.update(guard.changed_values())
        if why is not None or not failing:
            return why
        return f"{failing[0]}; {'it is read at each call from now on' if failing[0].changed_values() else failing[0].way_out}"

    def _are_objects_as_before(self, call) -> bool:
        same, apart = self.same_objects, self.apart_objects
        return all([x is same[i] if i in same else id(x) not in apart for i, x in enumerate(call.objects())])    # noqa: C419


def _joined_guards(known: dict, more) -> dict:
    """Return guards by key with those of another path, as far as the known ones do not cover them."""
    found = dict(known)
    for guard in more:
        key, number = guard.identity, 0
        while key in found and not found[key].covers(guard):
            key, number = (guard.identity, number + 1), number + 1
        found.setdefault(key, guard)
    return found


def kinds_of(leaves) -> tuple:
    """Return the part of a key for each argument: (shape, dtype, None without gradient, else whether it is a leaf and its
    hooks, order in memory, class)."""
    return tuple([(t._a.shape, t._a.dtype, None if t._node is None else _leaf_kind(t._node), memory_order(t._a), t.__class__)
                  for t in leaves])


_NOTHING_SHARED: tuple = (None, ())


def _leaf_kind(node):
    """Return whether a node is a leaf; the numbers of its hooks, if it has any."""
    return node.__class__ is Leaf and (node.hook_numbers() or True)


def sharing(leaves):
    """Return (devices, rows, pairs) of arguments; None if all are on the host and share no memory. A row of each tells the
    first position with its storage, with its part of it, of itself, and with its base; whether it is that base, and whether
    writes are unchecked. Without a shared storage there are no rows. Pairs overlap in memory without sharing a storage."""
    if not all([t._a.__class__ is not DeviceArray for t in leaves]):  # noqa: C419  (quicker than a generator)
        return tuple([place_of(t._a) for t in leaves]), *_shared(leaves)
    found = _shared(leaves) if len(leaves) > 1 else _NOTHING_SHARED
    return None if found == _NOTHING_SHARED else (None, *found)


def _shared(leaves) -> tuple:
    first: dict = {}
    for i, t in enumerate(leaves):
        first.setdefault(id(t._storage), i)
    overlaps = overlapping(leaves, leaves)
    if len(first) == len(leaves):
        return None, overlaps
    parts: dict = {}
    itself: dict = {}
    bases: dict = {}
    for i, t in enumerate(leaves):
        parts.setdefault(_part(t._a), i)
        itself.setdefault(id(t), i)
        bases.setdefault(id(base_of(t)), i)
    return tuple([(first[id(t._storage)], parts[_part(t._a)], itself[id(t)], bases[id(base_of(t))], t._base is None,
                   is_written_unchecked(t)) for t in leaves]), overlaps


def _part(a):
    """Return the identity of the memory of an array that shares its storage."""
    return (id(a) if a.__class__ is DeviceArray else a.__array_interface__["data"][0]), a.shape, a.strides
