"""Cache entries: recorded paths with all conditions that they rely on."""

from operator import attrgetter, is_not

from ...runtime.core.device_array import DeviceArray, place_of
from ...runtime.core.node import Leaf
from ...runtime.core.tensor import Tensor
from ..guards.guard_code import quick_check
from ..guards.memory_order import may_overlap, memory_order, overlapping
from ..proxies.data_sizes import given_conditions, given_hints
from ..python_state.tensor_attributes import attributes_seen
from ..recorder.gradient_log import GradientGuard
from ..recorder.recording import Source, kind_of_gradient
from ..replay.segment_tree import Tree

_array_of, _node_of = attrgetter("_a"), attrgetter("_node")


def joined(known: dict, more) -> dict:
    """Return a new dictionary: known items, and the (key, value) pairs of new keys."""
    found = dict(known)
    for key, value in more:
        found.setdefault(key, value)
    return found


class Entry:
    """Paths that hold under one state of Python: guards, gradients of leaves, kinds of captured tensors.

    symbols        the symbolic sizes and numbers of the arguments, or None
    key            of the call that was recorded
    conditions     {text: the user's line} that the symbols must meet
    compared       for each symbol, its values in recordings that agreed, except sizes of 1
    ones_compared  which symbols were 1 in these, as sizes of 1 may lead to other work
    """

    def __init__(self, recording, guards, symbols=None, call=((), ())):
        self.tree = Tree(recording)
        self.symbols, self.call = symbols, (call[0], tuple(call[1]))
        self.key: tuple = ()
        self.conditions: dict = {}
        self.uses = 0                    # calls replayed by a symbolic entry
        self.compared: list = [set() for _ in (symbols.hints if symbols is not None else ())]
        self.ones_compared: set = set()
        self.quick: dict = {}            # key of a call -> (its quick call, how often that was written)
        self.guards: dict = {}           # by what they watch
        self.captured: dict = {}         # id -> (tensor, shape, dtype, requires_grad, order in memory)
        self.leaves: dict = {}           # (kind, position or id) -> (source of a leaf, kind of its gradient)
        self.looked_up: dict = {}        # the same -> source of a leaf whose gradient is looked up at every call
        self.layouts: dict = {}             # (kind, id, query) -> (source of an input, answer)
        self.same: dict = {}             # argument -> the tensor that it is, reached otherwise too
        self.shared: dict = {}           # ids -> (argument, captured tensor over the same memory)
        self.reached: dict = {}          # id -> container that is reached, and may be no changed argument
        self.clashes: dict = {}          # positions or ids -> sources of two inputs that must not overlap
        self.written: dict = {}          # id -> captured tensor that is written in place
        self.writes = self.writes_arguments = self.rebinds = False
        self._demand(recording, guards)

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
        self.guards = joined(self.guards, [(g.identity, g) for g in guards])
        captured = [(i, s.what) for i, s in enumerate(recording.sources) if s.kind == "captured"]
        turned = {position for position, _ in recording.turns}
        self.captured = joined(self.captured, [
            (id(t), (t, *shape_and_dtype, (t._node is not None) != (i in turned), order))
            for i, t, (*shape_and_dtype, order) in [
                (i, t, recording.kinds.get(i) or (t._a.shape, t._a.dtype, memory_order(t._a))) for i, t in captured]])
        leaves = [(_origin(recording.sources, position), kind) for position, kind in recording.leaves]
        self.leaves = joined(self.leaves, [(_name_of(s), (s, kind)) for s, kind in leaves])
        layouts = [(recording.sources[position], query, answer) for position, query, answer in recording.layouts]
        self.layouts = {**self.layouts, **{(s.kind, id(s.what), query): (s, answer) for s, query, answer in layouts}}
        self.shared = {**self.shared, **{(position, id(t)): (position, t) for position, t in recording.shared}}
        self.same = {**self.same, **dict(recording.same)}
        pairs = [tuple([_origin(recording.sources, i) for i in pair]) for pair in recording.clashes]
        self.clashes = joined(self.clashes, [(tuple(map(_name_of, pair)), pair) for pair in pairs])
        found = [_origin(recording.sources, s.what) for s in recording.sources if s.kind == "grad"]
        self.looked_up = joined(self.looked_up, [(_name_of(s), s) for s in found])
        self._note_gradients()
        self.reached = joined(self.reached, [(id(c), c) for c in recording.reached])
        self.writes = self.writes or bool(recording.updates or recording.grads)
        self.rebinds = self.rebinds or bool(recording.rebinds)
        written = [recording.sources[position] for position, _ in recording.updates]
        self.writes_arguments = self.writes_arguments or any(s.kind != "captured" for s in written)
        self.written = joined(self.written, [(id(s.what), s.what) for s in written if s.kind == "captured"])
        self.tensors = [t for t, *_ in self.captured.values()]
        self._note_storages()
        self.arrays = [(t, t._a if _is_kind(t._a, shape, dtype, order) else None, needs)
                       for t, shape, dtype, needs, order in self.captured.values()]
        self.known = [a for _, a, _ in self.arrays]
        self.nodes = self._leaves_now()
        self.together = self._together()
        self.places = [(t, place_of(a)) for t, a, _ in self.arrays]
        self.is_simple = not (self.same or self.shared or self.must_not_share or self.leaves or self.layouts or self.clashes)
        self.check = quick_check(list(self.guards.values()))
        if self.symbols is not None:
            self._note_sizes(recording.scope)

    def _note_storages(self):
        """Find the memory that arguments must not share: that of captured tensors which are written or have gradients, or of
        all if arguments are written."""
        writes_any = self.writes_arguments or (self.rebinds and self.writes)
        outside = {id(t._storage) for t, _, _, needs, _ in self.captured.values()
                   if writes_any or id(t) in self.written or (needs and self.writes)}
        self.must_not_share = outside - {id(t._storage) for _, t in self.shared.values()}
        self.storages = {id(t._storage) for t in self.tensors}

    def _note_gradients(self):
        """List the source of each leaf, the kind of its gradient, and whether that is looked up at every call and may be
        another tensor each time."""
        fixed = {id(g.leaf) for g in self.guards.values() if type(g) is GradientGuard}

        def is_fixed(source):
            return id(self.same.get(source.what) if source.kind == "argument" else source.what) in fixed

        found = [(s, kind, name in self.looked_up and not is_fixed(s)) for name, (s, kind) in self.leaves.items()]
        self.without = [s.what for s, kind, _ in found if kind is None and s.kind == "captured"]
        self.gradients = [g for g in found if g[1] is not None or g[0].kind != "captured"]

    def _note_sizes(self, scope):
        """Take over the conditions of a recording's scope, and close the scope."""
        self.conditions = {**self.conditions, **given_conditions(scope)}
        scope.close()
        self.agreed(given_hints(scope).values())
        self._restrict()

    def extend(self, moved):
        """Restrict the entry to the numbers in locations that every call looks up from now on."""
        self.call = self.call[0], (*self.call[1], *[m.number for m in moved])
        numbers = {m.place.identity for m in moved}
        self.guards = {watched: guard for watched, guard in self.guards.items() if watched not in numbers}
        self.check = quick_check(list(self.guards.values()))
        if self.symbols is not None:
            self._matcher = self.symbols.matcher(*self.call)

    def fits(self) -> bool:
        """Return whether the entry applies for certain, by a quick look; only for entries that do not depend on arguments."""
        return self._is_as_it_was() and self.check()

    def _changed_capture(self):
        """Return in words which captured tensor changed its kind, or None."""
        for t, shape, dtype, needs, order in self.captured.values():
            if (t._node is not None) != needs:
                return f"a captured tensor {'no longer requires' if needs else 'now requires'} grad"
            if t._a.shape != shape or t._a.dtype != dtype:
                return f"a captured tensor changed from {dtype}{list(shape)} to {t._a.dtype}{list(t._a.shape)}"
            if memory_order(t._a) != order:
                return "a captured tensor lies in memory in another order"
        if any(place_of(t._a) != place for t, place in self.places):
            return "a captured tensor moved to another device"
        if self.writes and self._together() != self.together:
            return "captured tensors share memory that did not, or the other way round"
        return None

    def _together(self) -> tuple:
        """Return for each captured tensor the number of the first one in its storage, and the pairs that overlap in memory."""
        first: dict = {}
        return ([first.setdefault(id(t._storage), i) for i, t in enumerate(self.tensors)],
                overlapping(self.tensors, self.tensors))

    def unfit(self, call, changing: set):
        """Return why this entry does not apply to a call, or None; options and locations that differ are added to `changing`.
        """
        why = self._changed_tensors(call.leaves)
        if self.reached and any(id(c) in self.reached for c in call.containers):
            why = "a container among the arguments is one that the function reaches otherwise, too"
        failing = [] if self.check() else [guard for guard in self.guards.values() if not guard.holds()]
        for guard in failing:
            changing.update(guard.moved())
        return why or (str(failing[0]) if failing else None)

    def _changed_tensors(self, arguments):
        """Return in words what changed about tensors and their gradients, or None."""
        if not self._is_as_it_was():
            why = self._changed_capture()
            if why is not None:
                return why
            self._note_storages()
        for position, t in self.same.items():
            if arguments[position] is not t:
                return "an argument was a tensor that the function also reaches on another way, and no longer is"
        for position, t in self.shared.values():
            if arguments[position]._storage is not t._storage:
                return "an argument no longer shares memory with a captured tensor"
        if self.must_not_share and any(id(t._storage) in self.must_not_share for t in arguments):
            return "an argument shares memory with a captured tensor"
        if self.writes and overlapping(arguments, self.tensors):
            return "an argument lies over an array over which a captured tensor lies, too"
        why = self._changed_gradients(arguments)
        if why is not None:
            return why
        for pair in self.clashes.values():
            if may_overlap(*[_tensor_of(source, arguments) for source in pair]):
                return "a tensor whose memory is replaced lies over one that is written"
        for (_, _, query), (source, answer) in self.layouts.items():
            if query(arguments[source.what] if source.kind == "argument" else source.what) != answer:
                return ("a tensor has other attributes, for which the function asks" if query is attributes_seen else
                        "a tensor lies in its memory in another way, and the function asks in which")
        return None

    def _is_as_it_was(self) -> bool:
        """Return whether captured tensors have their arrays, and histories where they had any: by one comparison of lists, or
        else one by one."""
        tensors = self.tensors
        if not (any(map(is_not, map(_array_of, tensors), self.known)) or any(map(is_not, map(_node_of, tensors), self.nodes))):
            return True
        if all([t._a is a and (t._node is not None) is needs for t, a, needs in self.arrays]):  # noqa: C419  (quicker)
            self.nodes = self._leaves_now()
            return True
        return False

    def _leaves_now(self) -> list:
        """Return the nodes of captured tensors; the class Leaf for nodes with a history, which must not be kept alive here."""
        return [n if n is None or type(n) is Leaf else Leaf for n in map(_node_of, self.tensors)]

    def _changed_gradients(self, arguments):
        """Return in words what changed about gradients, or None."""
        if any([t.grad is not None for t in self.without]):     # noqa: C419  (a list is quicker here)
            return "a gradient that was None is set, or the other way round"
        looked_up = []
        for source, kind, is_looked_up in self.gradients:
            t = source.what if source.kind == "captured" else _tensor_of(source, arguments)
            now = t.grad if isinstance(t, Tensor) else None
            is_sparse = kind_of_gradient(now)
            if is_sparse is not kind:
                return ("a gradient that was None is set, or the other way round" if None in (is_sparse, kind) else
                        "a gradient that was dense is sparse, or the other way round")
            if is_looked_up and kind is False:
                looked_up.append(now)
        if looked_up and self.writes and self._share_memory(looked_up, arguments):
            return "a gradient lies in memory that the function uses otherwise, too"
        return None

    def _share_memory(self, gradients, arguments) -> bool:
        """Return whether gradients share memory with each other, or with other tensors that the function uses. A gradient
        without a storage has memory of its own."""
        places = {id(g._shared or g) for g in gradients}
        return (len(places) < len(gradients) or not places.isdisjoint(self.storages)
                or not places.isdisjoint([id(t._shared or t) for t in arguments]))


def _origin(sources, position) -> Source:
    """Return the source of an input; that of a gradient refers to the source of its leaf."""
    source = sources[position]
    return Source("grad", sources[source.what]) if source.kind == "grad" else source


def _name_of(source) -> tuple:
    """Return the identity of such a source."""
    if source.kind == "grad":
        return "grad", _name_of(source.what)
    return source.kind, source.what if source.kind == "argument" else id(source.what)


def _tensor_of(source, arguments):
    """Return the tensor of a source in a call."""
    if source.kind == "grad":
        return _tensor_of(source.what, arguments).grad
    return arguments[source.what] if source.kind == "argument" else source.what


def kinds_of(leaves) -> tuple:
    """Return the part of a key for each argument: (shape, dtype, None without gradient, else whether it is a leaf and its
    hooks, order in memory, user class)."""
    return tuple([(t._a.shape, t._a.dtype, None if t._node is None else _leaf_kind(t._node), memory_order(t._a), t._own_class)
                  for t in leaves])


def _leaf_kind(node):
    """Return whether a node is a leaf; the numbers of its hooks, if it has any."""
    return node.__class__ is Leaf and (node.hook_numbers() or True)


def sharing(leaves):
    """Return which arguments share a storage: for each the first position with its storage, and with its part of it; None if
    all differ and are on the host. Arguments on devices add their devices."""
    if not all([t._a.__class__ is not DeviceArray for t in leaves]):  # noqa: C419  (quicker than a generator)
        return tuple([place_of(t._a) for t in leaves]), _shared(leaves)
    return _shared(leaves)


def _shared(leaves):
    if len(leaves) < 2:
        return None
    first: dict = {}
    for i, t in enumerate(leaves):
        first.setdefault(id(t._storage), i)
    overlaps = overlapping(leaves, leaves)
    if len(first) == len(leaves):
        return overlaps or None
    parts: dict = {}
    for i, t in enumerate(leaves):
        parts.setdefault(_part(t._a), i)
    return tuple([(first[id(t._storage)], parts[_part(t._a)]) for t in leaves]), overlaps


def _part(a):
    """Return the identity of the memory of an array that shares its storage."""
    return (id(a) if a.__class__ is DeviceArray else a.__array_interface__["data"][0]), a.shape, a.strides


def _is_kind(a, shape, dtype, order) -> bool:
    """Return whether an array is as it was when a call began; one that the call resized is not."""
    return a.shape == shape and a.dtype == dtype and memory_order(a) == order
