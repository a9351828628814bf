"""Updates of containers that outlive a recorded run: `log.append(loss)`, `table["n"] = out`.

A list, deque or dictionary is copied when the function first reaches it, and compared with the copy at the end. What is new in
it is a write (`effects.py`). Sets, arrays, byte strings, files in memory, events and the environment are compared likewise, and
written as a whole: their content after the run follows from that before, which is guarded.
"""

import sys
from collections import deque
from collections.abc import Callable
from contextlib import contextmanager
from itertools import islice
from operator import is_, is_not
from types import MethodType

import numpy as np

from ...ir.symbols.substitute import has_symbols, replaced
from ...runtime.core.tensor import Tensor
from ..bytecode.reads import ARGUMENT, MISSING, Chain, key_text, unassigned_arguments
from ..bytecode.stack import instructions_of, of_code, position_of
from ..bytecode.uses import (
    ADDED,
    COUNTED,
    GROWN,
    INSPECTED,
    ITEMS,
    KEYED,
    MEASURED,
    PASSED,
    SINGLE,
    STORED,
    both,
    compared_in,
    passed_in,
)
from ..errors.errors import FirstTimeError, TraceError
from ..guards.expectation import Expectation, PartsExpectation
from ..guards.held_content import can_put_back, content_of
from ..guards.locations import DICTS, EXTEND, GONE, RESTORED, STATE, WHOLE, item_of
from ..guards.memory_order import memory_order
from ..guards.snapshot import (
    BUILTINS,
    WHOLES,
    WITH_MEMORY,
    WITHOUT_RULE,
    Apart,
    Exactly,
    HeldContent,
    Snapshot,
    demand_alike,
    is_plain,
    looks_like,
    rule_of,
    same_items,
    same_keys,
    same_rule,
    share_memory,
    snapshot,
)
from ..proxies.numpy_scalars import fixed, now
from ..proxies.set_layout import can_be_given, content_of_set
from ..proxies.symbolic_tables import TABLES
from ..proxies.threads import is_alone, mapped
from .effects import Target


class ContainerLog:
    """Containers that a run reaches, and their content from before."""

    def __init__(self):
        self.snapshots: dict = {}           # by id: its snapshot
        self.sole_references: dict = {}     # by id of a written container: condition on its only location, known at the end
        self.overlaps: Callable = lambda x: False       # whether a tensor of the run lies in the memory of an object
        self.has_tensor_keys = False        # whether tensors are keys in one of them
        self._containers: dict = {}         # by id: (container, its copy, its name)
        self._wholes: dict = {}             # by id: (object that is written as a whole, its content from before, its name)
        self._before: dict = {}             # by id: its content before the function itself changed it
        self._uses: dict = {}               # by id: its only use, as `uses.py` names it; None if there are several
        self._used: dict = {}               # by id: the containers with uses
        self._calls: dict = {}              # by id: the calls (code, offset) that receive it
        self._written: dict = {}            # by id: the containers that the run has written to
        # ids of those that a host function has changed: it may add more or less, so a read length depends on all items
        self._changed_by_hosts: set = set()
        self._followed: set = set()         # (id, call) that lead to a user function
        self.tells_methods = False      # whether code may ask which of two equal bound methods it has
        self._held: dict = {}               # by id: containers that are compared, or that results or writes hold

    def see(self, container, text: str, inputs) -> None:
        """Remember the content of a list, deque or dictionary that is not known yet."""
        is_known = id(container) in self._containers or container is sys.modules or container is BUILTINS
        if type(container) in RESTORED and not is_known:
            copy = self._before[id(container)] = container.copy()
            self._containers[id(container)] = container, copy, text     # (last, as an interrupt may come in between)
            self.snapshots[id(container)] = Snapshot(container, inputs)
            if not self.has_tensor_keys and type(container) in DICTS:
                self.has_tensor_keys = any(isinstance(k, Tensor) for k in container)
        elif id(container) not in self._wholes and can_put_back(container):
            first = snapshot(container) if type(container) in WHOLES else HeldContent(container)
            self._wholes[id(container)] = container, first, text
            if type(container) in WHOLES:
                self.snapshots[id(container)] = first

    def changed_from(self, x, content, text):
        """Note that the function itself has changed an object, which held some content before."""
        first = HeldContent(x)
        first.content = content
        self._wholes[id(x)] = x, first, text

    def state(self) -> tuple:
        """Return all that the known containers and other objects hold now: ids of items, and contents."""
        items = [(*map(id, c), *(map(id, c.values()) if type(c) in DICTS else ())) for c, *_ in self._containers.values()]
        return items, [content_of(x) if can_put_back(x) else None for x, *_ in self._wholes.values()]

    def changed_by_others(self, container):
        """Note that changes of a container so far are not the function's doing."""
        if id(container) in self._before:
            self._before[id(container)] = container.copy()

    @contextmanager
    def left_to_host(self, besides=()):
        """Leave to a host function its changes of containers, except for `besides`; yield a set for the ids of the changed
        ones."""
        left_out, changed = set(map(id, besides)), set()
        before = [(c, c.copy()) for c, _, _ in self._containers.values() if id(c) not in left_out]
        wholes = [(x, self._has_changed(x), HeldContent(x)) for x, *_ in self._wholes.values() if can_put_back(x)]
        yield changed
        for x, is_changed, was in wholes:
            if not (can_put_back(x) and was.matches(x)):
                self._check_left(x, is_changed)
                del self._wholes[id(x)]
        for container, copy in before:
            if not same_items(container, copy):
                self._check_left(container, not same_items(copy, self._before[id(container)]))
                self.changed_by_others(container)
                changed.add(id(container))
                self._changed_by_hosts.add(id(container))
                self.used(container, self._uses.get(id(container)))

    def _check_left(self, container, is_changed):
        """Raise if the function itself had changed a container that a host function has changed."""
        if is_changed:
            _, _, text = self._containers.get(id(container)) or self._wholes[id(container)]
            raise TraceError(f"this function cannot be traced: it changes {text}, and so does a host function that it calls; "
                             "leave it to one of them")

    def used(self, container, how, calls=()):
        """Note a use of a container (`uses.uses_of`; None for uses of unknown kind), and the `calls` that receive it."""
        self._used[id(container)] = container
        now = both(self._uses.get(id(container), how), how)
        self._uses[id(container)] = None if id(container) in self._changed_by_hosts and now in (MEASURED, COUNTED) else now
        self._calls.setdefault(id(container), set()).update(calls)

    def followed_into(self, container, call):
        """Note that a call passes a container to a user function, whose code shows its use."""
        self._followed.add((id(container), call))

    def only(self, container):
        """Return the only use of a container, or None if there are several or an unknown one."""
        at = id(container)
        return self._uses.get(at) if all((at, call) in self._followed for call in self._calls.get(at, ())) else None

    def calls_with(self, container) -> frozenset:
        return frozenset(self._calls.get(id(container), ()))

    def is_written(self, container, key) -> bool:
        before = self._before.get(id(container), container)
        return before is not container and item_of(container, key) is not item_of(before, key)

    def before(self, container):
        """Return the content of a container before the function itself changed it."""
        return self._before.get(id(container), container)

    def changed(self) -> dict:
        """Return {id: name} of the containers that the function itself has changed so far."""
        found = {at: text for at, (c, _, text) in self._containers.items() if not same_items(c, self._before[at])}
        return found | {at: text for at, (x, _, text) in self._wholes.items() if self._has_changed(x)}

    def changed_ones(self) -> list:
        """Return the containers and sets that the function itself has changed so far."""
        sets = [x for x, _, _ in self._wholes.values() if type(x) is set and self._has_changed(x)]
        return [c for at, (c, _, _) in self._containers.items() if not same_items(c, self._before[at])] + sets

    def has_written(self, container) -> bool:
        """Return whether the run had written to a container when `targets` were last made."""
        return id(container) in self._written

    def positions(self, at, key) -> list:
        """Return the locations that (id of a container, key) means: an item counted from a list's end has two names."""
        container = self._containers[at][0] if at in self._containers else None
        is_from_end = type(container) in (list, deque) and type(key) is int and key < 0
        return [(at, key), (at, len(self._before[at]) + key)] if is_from_end else [(at, key)]

    def has_seen(self, container) -> bool:
        return id(container) in self._containers

    def is_used(self, container) -> bool:
        return id(container) in self._used

    def containers(self) -> list:
        """Return the containers that were there before, the namespace of the builtins among them."""
        return [BUILTINS, *[container for container, _, _ in self._containers.values()]]

    def leads_to(self, container) -> bool:
        """Return whether code uses a container, or a dictionary in which it lies (a new one in an optimizer's state)."""
        return self.is_used(container) or any(
            v is container for used in self._used.values() if type(used) in DICTS for v in used.values())

    def close(self):
        for table in (self.sole_references, self.snapshots, self._containers, self._wholes, self._before, self._used,
                      self._written, self._held):
            table.clear()

    def settle(self):
        """Leave plain numbers in the containers, and the same ones in their content from before."""
        self._settle_keys()
        plain: dict = {}        # by id: (what stood for a number or held some, what it is now)
        stack, seen = [container for container, _, _ in self._containers.values()], set()
        while stack:
            container = stack.pop()
            seen.add(id(container))
            for there in (container, self._before.get(id(container), container)):
                for key, v in list(there.items() if type(there) in DICTS else enumerate(there)):
                    if type(v) in RESTORED:
                        stack += () if id(v) in seen else (v,)
                        continue
                    _, made = plain.setdefault(id(v), (v, mapped(v, now)))
                    if made is not v:
                        there[key] = made

    def _settle_keys(self):
        """Leave plain numbers in the keys of dictionaries: a key counts by its current value."""
        for container, _, _ in self._containers.values():
            if type(container) in DICTS and any(map(has_symbols, container)):
                items = [(replaced(k, fixed) if has_symbols(k) else k, v) for k, v in container.items()]
                container.clear()
                for k, v in items:
                    container[k] = v

    def targets(self) -> list:
        self._settle_keys()
        found = [t for container, _, text in self._containers.values() for t in self._targets_of(container, text)]
        wholes = [(x, text) for x, _, text in self._wholes.values() if self._is_new(x)]
        found += [Target(x, STATE, STATE, None, None, text) for x, text in wholes]
        self._written = {id(t.owner): t.owner for t in found}
        return found

    def _has_changed(self, x) -> bool:
        """Return whether the content of an object that is written as a whole is another one than before."""
        _, first, _ = self._wholes[id(x)]
        return not (can_put_back(x) and first.matches(x))

    def _is_new(self, x) -> bool:
        """Return whether each replay can give an object its new content: no other thread may have changed it, and no tensor
        lies in its memory."""
        if not self._has_changed(x) or not can_put_back(x) or not is_alone():
            return False
        _, first, _ = self._wholes[id(x)]
        if type(x) is np.ndarray and (x.shape != first.copy.shape or x.dtype != first.copy.dtype):
            return False
        if type(x) in WITH_MEMORY and self.overlaps(x):
            return False
        return type(x) is not set or can_be_given(content_of_set(x))

    def _targets_of(self, container, text) -> list:
        copy = self._before[id(container)]
        if not same_rule(container, rule_of(copy)):
            raise FirstTimeError(f"the {'default_factory' if type(copy) in DICTS else 'maxlen'} of {text} was changed; set it "
                                 "outside of the traced function")
        if type(copy) in DICTS:
            return _dict_targets(container, copy, text)
        if type(copy) is deque and len(container) == container.maxlen and self.only(container) in (ADDED, GROWN, COUNTED):
            return _appended(container, copy, text)
        return _list_targets(container, copy, text)

    def _first_items(self, container) -> tuple:
        """Return the keys and the items that a container had before the run."""
        before = self._containers[id(container)][1] if id(container) in self._containers else container
        return (list(before), list(before.values())) if type(before) in DICTS else (range(len(before)), list(before))

    def was(self, value, expected) -> bool:
        """Return whether a value was as expected before the run."""
        if type(expected) is Snapshot and type(value) is expected.kind and type(value) in (tuple, *RESTORED):
            keys, items = self._first_items(value)
            is_alike = len(items) == len(expected.items) and (expected.keys is None or same_keys(keys, expected.keys))
            return is_alike and all(v is e or self.was(v, e) for v, e in zip(items, expected.items))
        if id(value) in self._written and type(value) in WHOLES:
            return _is_same_content(self._wholes[id(value)][1], expected)
        return looks_like(value, expected)

    def held(self, at: int, content) -> bool:
        """Return whether an object to which the run has written held this content before."""
        return at in self._written and at in self._wholes and getattr(self._wholes[at][1], "content", None) == content

    def settled(self, expected):
        """Return the final expectation of a guard that expected a snapshot."""
        container = next((self._containers[at][0] for at, taken in self.snapshots.items() if taken is expected
                          and at in self._containers), None)
        return expected if container is None else self.expected(container)

    def loosen(self, expected, now, replaced: dict):
        """Let a snapshot of `now`, as it was, expect `replaced` (`unread_replacements`) in place of unread tensors."""
        if type(expected) is not Snapshot or type(now) not in RESTORED:
            return
        keys, items = self._first_items(now)
        if len(items) == len(expected.items):
            for e, value in zip(expected.items, items):
                self.loosen(e, value, replaced)
            expected.items = tuple([replaced.get((id(now), key_id(key)), e) if isinstance(e, Tensor) else e
                                    for e, key in zip(expected.items, keys)])

    def hold(self, containers):
        """Note containers that are compared by identity, or that results or writes hold. Each call must find the same."""
        self._held.update({id(c): c for c in containers})

    def exact(self, expected, now):
        """Return the expectation of a value with the very containers in it to which replays write, or that they return, and
        others for the rest."""
        if type(expected) is Snapshot and type(now) is expected.kind and type(now) in (tuple, *RESTORED):
            _, items = self._first_items(now)
            made = list(map(self.exact, expected.items, items)) if len(items) == len(expected.items) else expected.items
            if any(map(is_not, made, expected.items)):
                expected = expected.with_items(made)
        if type(now) is MethodType and self.tells_methods and expected is now:
            return Exactly(now, now)
        if type(now) not in RESTORED | WHOLES or isinstance(expected, Exactly):
            return expected
        if id(now) in self._held:
            return Exactly(now, expected)
        if id(now) in self._written:
            return expected if id(now) in self.sole_references else Exactly(now, expected)
        kinds = WITH_MEMORY if type(now) is np.ndarray else (type(now),)
        others = {at: c for at, c in self._written.items() if type(c) in kinds}
        if not others:
            return expected
        if type(now) is np.ndarray and any(share_memory(now, c) for c in others.values()):
            return Exactly(now, expected)
        lasting = [c for at, c in others.items() if at not in self.sole_references]
        return Apart(lasting, [self.sole_references[at] for at in others if at in self.sole_references], expected)

    def on_the_way(self, way) -> list:
        """Return (number of steps, container) of those before the end of a way to which the run writes."""
        return [(n, c) for n, c in enumerate(way[:-1]) if id(c) in self._written]

    def _besides_added(self, container):
        """Return the snapshot of a container without the lists in it to which the run only appends."""
        before = self._before[id(container)]
        items = before.values() if type(before) in DICTS else before
        return self.snapshots[id(container)].with_items(
            [AnyOf(v) if self._is_added_to(v) else e for v, e in zip(items, self.snapshots[id(container)].items)])

    def _is_added_to(self, x) -> bool:
        if type(x) not in (list, deque) or id(x) not in self._containers:
            return False
        if id(x) in self._uses and self.only(x) not in (ADDED, GROWN, COUNTED):
            return False
        return all(t.kind == EXTEND for t in self._targets_of(x, "")) and _shows_additions(x, self._before[id(x)])

    def may_grow(self, container) -> bool:
        """Return whether no guard reads all of a list, so that its length has a guard of its own."""
        return type(self.expected(container)) is AnyOf

    def expected(self, container):
        """Return the expectation of guards for a known container, by the function's use of it."""
        if id(container) in self._wholes and type(container) in WHOLES:
            return self.snapshots[id(container)]
        if type(container) not in RESTORED or id(container) not in self._containers:
            return None
        only, targets = self.only(container), self._targets_of(container, "")
        if any(t.kind in (WHOLE, GONE) for t in targets):       # its final content depends on all items
            return self.snapshots[id(container)]
        if only in (GROWN, COUNTED, MEASURED) and type(container) is list:      # its length has a guard, and items at its end
            return AnyOf(container)
        if only in SINGLE or (only == ADDED and _shows_additions(container, self._before[id(container)])):
            return AnyOf(container)
        if only == ITEMS:
            return self._besides_added(container)
        if only in (STORED, KEYED):
            besides, keys = self._besides_added(container), [t.key for t in targets]
            if type(container) in DICTS:
                return Besides(besides, keys)
            return besides.with_items([Anything() if i in keys else e for i, e in enumerate(besides.items)])
        return self.snapshots[id(container)]


class AnyOf(Expectation):
    """Expectation of any container of the kind of a given one, and with its rule: the function only appends to it, or reads
    single items."""

    def __init__(self, container):
        self.kind, self.rule = type(container), rule_of(container)

    def matches(self, now) -> bool:
        return type(now) is self.kind and same_rule(now, self.rule)

    def test(self, place, name_of):
        if self.kind in WITHOUT_RULE:
            return f"{place}.__class__ is {name_of(self.kind)}"
        return f"{name_of(self)}.matches({place})"

    def __repr__(self):
        return f"<{self.kind.__name__}>"


class Anything(Expectation):
    """Expectation of an item that the function only replaces."""

    def matches(self, now) -> bool:
        return True

    def __repr__(self):
        return "<anything>"


class Besides(PartsExpectation):
    """Expectation of a dictionary without the keys that the function sets: reads of these have guards of their own."""

    step = "item"

    def __init__(self, snapshot: Snapshot, keys):
        self.kind, self.rule, self.keys = snapshot.kind, snapshot.rule, frozenset(keys)
        self.rest = {k: v for k, v in zip(snapshot.keys, snapshot.items) if k not in self.keys}

    def matches(self, now) -> bool:
        if type(now) is not self.kind or not same_rule(now, self.rule):
            return False
        rest = [k for k in now if k not in self.keys]
        return same_keys(rest, tuple(self.rest)) and all(looks_like(now[k], e) for k, e in self.rest.items())

    def differing(self, now) -> list:
        """Return (key, expected, found) of the items that differ, if the keys agree."""
        if type(now) is not self.kind or not same_keys([k for k in now if k not in self.keys], tuple(self.rest)):
            return []
        return [(k, e, now[k]) for k, e in self.rest.items() if not looks_like(now[k], e)]

    def __repr__(self):
        return f"<dict with {len(self.rest)} keys that are not written>"


def _is_same_content(a, b) -> bool:
    """Return whether two expectations of a set, an array or the environment are the same."""
    if a is b or type(a) is not type(b):
        return a is b
    if type(a) is not Snapshot:
        return a.matches(b.copy)
    return a.kind is b.kind and same_keys(a.keys, b.keys) and a.layout == b.layout and demand_alike(a.items, b.items)


def _dict_targets(container, copy, text):
    now = container.copy()          # others may change it meanwhile: finalizers, signals, threads
    there, before = {id(k): v for k, v in now.items()}, {id(k): v for k, v in copy.items()}     # (no code of keys runs)

    def held(k, by_id, by_key):
        return by_id[id(k)] if id(k) in by_id else by_key.get(k, MISSING) if is_plain(k) else MISSING

    left = [k for k in copy if held(k, there, now) is not MISSING]
    gone = [Target(container, k, GONE, v, v, f"{text}[{key_text(k)}]") for k, v in copy.items()
            if held(k, there, now) is MISSING]
    if any(map(is_not, now, left)):
        raise FirstTimeError(f"the order of {text} was changed, which a recording cannot repeat")
    was = [(k, v, held(k, before, copy)) for k, v in now.items()]
    return gone + [Target(container, k, "item", b, b, f"{text}[{key_text(k)}]") for k, v, b in was if v is not b]


def _list_targets(container, copy, text):
    n = len(copy)
    if len(container) < n or (len(container) > n and any(a is not b for a, b in zip(container, copy))):
        return [Target(container, 0, WHOLE, None, None, text)]
    changed = [Target(container, i, "item", b, b, f"{text}[{i}]")
               for i, (a, b) in enumerate(zip(container, copy)) if a is not b]
    return changed or ([Target(container, n, EXTEND, None, None, text)] if len(container) > n else [])


def _appended(container, copy, text):
    """Return what was appended to a full deque, which has dropped as much."""
    for n in range(len(copy), -1, -1):
        if all(map(is_, islice(copy, len(copy) - n, None), container)):
            return [Target(container, n, EXTEND, None, None, text)] if len(container) > n else []
    return []


def _shows_additions(container, copy) -> bool:
    """Return whether the content shows how many items were appended; a full deque drops as many, and a new item may be an old
    one."""
    if not isinstance(container, deque) or len(container) != container.maxlen:
        return type(container) not in DICTS
    return any({id(v) for v in t.value()}.isdisjoint(map(id, copy)) for t in _appended(container, copy, ""))


class AnyTensor(Expectation):
    """Expectation of any tensor of a shape, dtype, memory order and history."""

    def __init__(self, t):
        self.kind = _kind_of(t)

    def matches(self, now) -> bool:
        return isinstance(now, Tensor) and _kind_of(now) == self.kind

    def __repr__(self):
        return f"<a tensor of shape {list(self.kind[1])}>"


def unread_replacements(effects, used) -> dict:
    """Return {(id of a container, key): expectation} of the `Target`s that held tensors which take no part in the recording:
    `state["before"] = p.clone()` replaces them unread. `used` are ids of those that do."""
    return {(id(t.owner), key_id(t.key)): AnyTensor(t.was) for t in effects
            if t.kind == "item" and isinstance(t.was, Tensor) and id(t.was) not in used}


def key_id(key):
    """Return a key as dictionaries compare it; tensors compare by identity."""
    return (Tensor, id(key)) if isinstance(key, Tensor) else key


def _kind_of(t):
    return type(t), t._a.shape, t._a.dtype, t._node is not None, t.is_leaf, memory_order(t._a)


# Use of a container -> use where no item of it has a guard.
_ALL_OF_IT: dict = {**dict.fromkeys((*SINGLE, KEYED, GROWN, COUNTED)), MEASURED: INSPECTED}


@of_code()
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
             if type(local.get(n)) in TABLES or contents.is_used(local.get(n))]
    if not names:
        return
    unassigned, caller = unassigned_arguments(code), frame.f_back
    for name in names:
        chain, calls = Chain(ARGUMENT, name, ()), calls_of(code).get(Chain(ARGUMENT, name, ()), ())
        how = uses.get(chain, PASSED) if name in unassigned else None
        value = inputs.without_table(local[name], how, calls)
        contents.used(value, _ALL_OF_IT.get(how, how), calls)
        if chain in compared_in(code):
            contents.hold((value,))
        if caller is not None:
            contents.followed_into(value, (caller.f_code, instructions_of(caller.f_code)[position_of(caller)].offset))
