"""Weak references from outside that a recorded call follows.

A recording keeps the objects that it reads alive, and compares them at each call. So an object is visited only once code takes
it out of a weak reference. An object to which nothing else leads would outlive its owner: such a call is not recorded.
"""

import sys
import types
import weakref
from typing import Any

from ..bytecode.user_code import is_a
from ..errors.errors import RecordingStatus
from ..guards.guards import ReadCondition
from ..guards.known_objects import KnownObjects
from ..guards.locations import StateInputs
from ..guards.references import plain_module
from ..guards.snapshot import is_plain, snapshot
from .read_log import ReadLog

WEAK_CONTAINERS = (weakref.WeakKeyDictionary, weakref.WeakValueDictionary, weakref.WeakSet)
_KINDS = (weakref.ref, weakref.finalize, *weakref.ProxyTypes, *WEAK_CONTAINERS)

# Methods of weak containers that give out none of their objects.
_GIVE_NOTHING = {
    weakref.WeakKeyDictionary: "__getitem__ __len__ __contains__ __setitem__ __delitem__ get pop setdefault values",
    weakref.WeakValueDictionary: "__len__ __contains__ __setitem__ __delitem__ keys __iter__",
    weakref.WeakSet: "__len__ __contains__ add clear remove discard isdisjoint issubset issuperset __le__ __lt__ __ge__ __gt__ "
                     "__eq__",
}
_INTERNAL = frozenset(("__init__", "_commit_removals", "_scrub_removals"))
_FINALIZERS: Any = weakref.finalize
GIVES_OUT = [f.__code__ for cls, others in _GIVE_NOTHING.items() for name, f in vars(cls).items()
             if type(f) is types.FunctionType and name not in _INTERNAL and name not in others.split()]
GIVES_OUT += [_FINALIZERS.peek.__code__, _FINALIZERS.alive.fget.__code__]


class WeakReferences:
    """Weak references that were there before the call, and the objects that code took out of them."""

    def __init__(self, status: RecordingStatus, known: KnownObjects, inputs: StateInputs, reads: ReadLog):
        self._status, self._known, self._inputs, self._reads = status, known, inputs, reads
        self._followed: set = set()     # ids of references

    def see(self, text, container):
        """Guard which references a weak container holds."""
        data: Any = vars(container)["data"]
        self._reads.add_condition(
            ReadCondition(("weak", id(container)), lambda: data, snapshot(data, self._inputs), f"what {text} holds"))

    def follow(self, x):
        """Note that code takes the object out of a weak reference or proxy, or objects out of a weak container."""
        if not is_a(x, _KINDS) or id(x) in self._followed or id(x) not in self._known.visited:
            return
        if is_a(x, WEAK_CONTAINERS):
            for ref in [v for pair in _pairs_of(x) for v in pair if is_a(v, weakref.ref)]:
                self._follow(ref, "a weak container")
            return
        self._followed.add(id(x))
        self._follow(x, "a weak reference")

    def _follow(self, ref, place):
        found, is_alive = _target(ref), lambda: _target(ref) is not None
        if found is None:
            return
        name = type(found).__qualname__
        if not (self._is_held(found) or is_plain(found) or _has_name(found)):
            self._status.replaced = (f"only {place} leads to a {name} that it uses, and a recording would keep that alive; "
                                     "pass it as an argument, or hold it in a variable that the function reads, too")
        self._reads.add_condition(ReadCondition(("alive", id(ref)), is_alive, True, f"whether a {name} lives"))
        self._reads.walker.walk(f"the {name} behind {place}", found)

    def _is_held(self, x) -> bool:
        """Return whether the function reaches an object in another way, or has made it. Containers of which it asks only for
        single items are not visited."""
        known = self._known
        if any(id(x) in ids for ids in (known.visited, known.own, known.passed, known.tensors)):
            return True
        if any(plain_module(m) is x for m in known.modules.values()):       # (a traced module runs in its place)
            return True
        containers = [c.values() if isinstance(c, dict) else c for c in known.objects.values() if is_a(c, (list, dict, set))]
        return any(x is v for items in containers for v in items)


def _pairs_of(container) -> list:
    data = container.data
    return list(data.items()) if isinstance(data, dict) else [(ref,) for ref in data]


def _target(ref):
    """Return the object behind a reference or proxy, None if it is gone."""
    if is_a(ref, weakref.finalize):
        info: Any = _FINALIZERS._registry.get(ref)
        return info and info.weakref()
    if type(ref) in weakref.ProxyTypes:
        try:
            return ref.__repr__.__self__
        except ReferenceError:
            return None
    found = ref()
    return found.__self__ if type(found) is types.MethodType and is_a(ref, weakref.WeakMethod) else found


def _has_name(x) -> bool:
    """Return whether a class or function is a variable of its module, which holds it."""
    module = sys.modules.get(getattr(x, "__module__", None) or "")
    return is_a(x, (type, types.FunctionType)) and getattr(module, x.__name__, None) is x
