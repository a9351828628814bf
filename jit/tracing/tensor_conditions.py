"""Conditions of a cache entry on tensors: captured ones, gradients, and the memory of arguments."""

from operator import attrgetter, is_not

from ...runtime.core.device_array import place_of
from ...runtime.core.node import Leaf
from ...runtime.core.tensor import Tensor
from ...runtime.core.writes import has_views
from ..guards.guards import Guard, ModulesGuard, part_of
from ..guards.memory_order import history_of_base, is_written_unchecked, may_overlap, memory_order, overlapping
from ..python_state.attributes import attributes_seen
from ..recorder.gradient_log import GradientGuard, has_base, has_kept_gradient, is_leaf, keeps_gradient, name_of_history
from ..recorder.recording import Source, base_of, kind_of_gradient, shared_layout, shared_layout_of_base
from .labels import Labels

_array_of, _node_of, _base_of = attrgetter("_a"), attrgetter("_node"), attrgetter("_base")
_QUERIES = {attributes_seen: "has other attributes, for which the function asks",
            has_kept_gradient: "is no leaf and has a gradient, or no longer has one",
            shared_layout: "is a DTensor of other placements, of another mesh, or a view that had to be sent",
            shared_layout_of_base: "is a view of a DTensor of other placements, or of another mesh",
            keeps_gradient: "keeps its gradient, or not, and the function asks whether",
            name_of_history: "has a history of another kind, which the function looks at",
            has_base: "is a view, or no longer is, and the function detaches it in place",
            has_views: "has views, or no longer has any, and the function writes to it and detaches it in place",
            is_leaf: "is a leaf, or no longer is, and the function detaches it and lets it require grad",
            is_written_unchecked: "is .data of a tensor, or no longer is, so writes to it are checked otherwise",
            history_of_base: "is a view, or a view of a tensor with a history, or no longer is, and the function writes to it",
            id: "is another object, and the function takes its id()"}


def joined(known: dict, more) -> dict:
    """Return a new dictionary: known items, and the (key, value) pairs of new keys."""
    found = dict(known)
    for key, value in more:
        found.setdefault(key, value)
    return found


class TensorNames:
    """Names of tensors for messages: those of arguments, and the ways on which the function reaches captured ones."""

    def __init__(self, labels: Labels, guards):
        self._labels, self._guards = labels, guards

    def of_argument(self, position) -> str:
        return self._labels.of_tensor(position)

    def of(self, t) -> str:
        """Return the name of a captured tensor; one that has none is told by its shape."""
        for g in self._guards:
            if type(g) is Guard and g.value() is t:
                return str(g.chain)
            if type(g) is ModulesGuard:
                for m, state in g.states:
                    found = [key for key in state if key and m is not None and part_of(m, key) is t]
                    if found:
                        return f"{type(m).__name__}.{found[0]}"
        return f"a tensor of shape {list(t.shape)} that the function uses"

    def of_source(self, source) -> str:
        """Return the name of the tensor of an input."""
        if source.kind == "grad":
            return f"the gradient of {self.of_source(source.what)}"
        if source.kind == "base":
            return f"the base of {self.of_source(source.what)}"
        return self.of_argument(source.what) if source.kind == "argument" else self.of(source.what)


class TensorConditions:
    """Conditions on captured tensors and on the memory of arguments; `changed` checks them."""

    def __init__(self):
        self.captured: dict = {}         # id -> (tensor, shape, dtype, requires_grad, order in memory)
        self.is_simple = True            # there are no conditions but on captured tensors
        self._gradients = GradientConditions()
        self.questions = QuestionConditions()
        self.same: dict = {}             # argument -> the tensor that it is, reached otherwise too
        self.apart: dict = {}            # id -> weak reference to a tensor that no other argument may be
        self.shared: dict = {}           # ids -> (argument, captured tensor over the same memory)
        self._pairs = PairConditions()
        self.written: dict = {}          # id -> captured tensor that is written in place
        self.writes = self.writes_arguments = self.rebinds = False

    def add(self, recording, guards):
        """Add the conditions of a path; `guards` are all of the entry."""
        captured = [(i, s.what) for i, s in enumerate(recording.sources) if s.kind == "captured"]
        toggled = {*[position for position, _ in recording.turns],
                   *recording.gained, *recording.detached}
        self.captured = joined(self.captured, [
            (id(t), (t, *shape_and_dtype, (t._node is not None) != (i in toggled), order))
            for i, t, (*shape_and_dtype, order) in [
                (i, t, recording.kinds.get(i) or (t._a.shape, t._a.dtype, memory_order(t._a))) for i, t in captured]])
        self.questions.add(recording)
        self.shared = {**self.shared, **{(position, id(t)): (position, t) for position, t in recording.shared}}
        self.same = {**self.same, **dict(recording.same)}
        self.apart = {**self.apart, **recording.apart}
        self._pairs.add(recording)
        self._gradients.add(recording, guards, self.same)
        self.writes = self.writes or bool(recording.updates or recording.grads)
        self.rebinds = self.rebinds or bool(recording.rebinds)
        sources = recording.sources
        written = [sources[s.what[0]] if s.kind == "part" else s for s in [sources[at] for at, _ in recording.updates]]
        self.writes_arguments = self.writes_arguments or any(s.kind != "captured" for s in written)
        self.written = joined(self.written, [(id(s.what), s.what) for s in written if s.kind == "captured"])
        self.tensors = [t for t, *_ in self.captured.values()]
        self._find_storages()
        self.arrays = [(t, t._a if _is_kind(t._a, shape, dtype, order) else None, needs)
                       for t, shape, dtype, needs, order in self.captured.values()]
        self.known = [a for _, a, _ in self.arrays]
        self.nodes = self._leaves_now()
        self.sharing = self._sharing()
        self.devices = [(t, place_of(a)) for t, a, _ in self.arrays]
        self.is_simple = not (self.same or self.shared or self.must_not_share or self._gradients.leaves
                              or self.questions.layouts or self._pairs)

    def _find_storages(self):
        """Find the memory that arguments must not share: that of captured tensors which are written or have gradients, or of
        all if arguments are written."""
        writes_any = self.writes_arguments or (self.rebinds and self.writes)
        outside = {id(t._storage) for t, _, _, needs, _ in self.captured.values()
                   if writes_any or id(t) in self.written or (needs and self.writes)}
        self.must_not_share = outside - {id(t._storage) for _, t in self.shared.values()}
        self.storages = {id(t._storage) for t in self.tensors}

    def changed(self, arguments, names: TensorNames):
        """Return in words what changed about tensors and their gradients, or None."""
        if not self._has_same_arrays():
            why = self._changed_capture(names)
            if why is not None:
                return why
            self._find_storages()
        for position, t in self.same.items():
            if arguments[position] is not t:
                return f"{names.of_argument(position)} was {names.of(t)}, and no longer is"
        apart = [i for i, t in enumerate(arguments) if i not in self.same and self.is_apart(t)] if self.apart else ()
        if apart:
            return (f"{names.of_argument(apart[0])} is {names.of(arguments[apart[0]])}, too, and the function asks which "
                    "tensors are the same")
        for position, t in self.shared.values():
            if arguments[position]._storage is not t._storage:
                return f"{names.of_argument(position)} no longer shares memory with {names.of(t)}"
        if self.must_not_share:
            for position, t in enumerate(arguments):
                if id(t._storage) in self.must_not_share:
                    other = next(c for c in self.tensors if c._storage is t._storage)
                    return f"{names.of_argument(position)} shares memory with {names.of(other)}"
        if self.writes and overlapping(arguments, self.tensors):
            return "an argument lies over an array over which a captured tensor lies, too"
        why = self._gradients.changed(arguments, names, self.storages, self.writes)
        if why is not None:
            return why
        why = self._pairs.changed(arguments, names) if self._pairs else None
        if why is not None:
            return why
        return self.questions.changed(arguments, names)

    def is_apart(self, t) -> bool:
        """Return whether a tensor is one of those that no argument may be."""
        found = self.apart.get(id(t))
        return found is not None and found() is t

    def _changed_capture(self, names: TensorNames):
        """Return in words which captured tensor changed its kind, or None."""
        for t, shape, dtype, needs, order in self.captured.values():
            if (t._node is not None) != needs:
                return f"{names.of(t)} {'no longer requires' if needs else 'now requires'} grad"
            if t._a.shape != shape or t._a.dtype != dtype:
                return f"{names.of(t)} changed from {dtype}{list(shape)} to {t._a.dtype}{list(t._a.shape)}"
            if memory_order(t._a) != order:
                return f"{names.of(t)} lies in memory in another order"
        for t, place in self.devices:
            if place_of(t._a) != place:
                return f"{names.of(t)} moved to another device"
        if self.writes and self._sharing() != self.sharing:
            return "captured tensors share memory that did not, or the other way round"
        return None

    def _sharing(self) -> tuple:
        """Return for each captured tensor the number of the first one in its storage, and the pairs that overlap in memory."""
        first: dict = {}
        return ([first.setdefault(id(t._storage), i) for i, t in enumerate(self.tensors)],
                overlapping(self.tensors, self.tensors))

    def _has_same_arrays(self) -> bool:
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
        """Return the nodes of captured tensors; the class Leaf for nodes with a history, which must not be kept alive here, and
        for tensors that the recorded call has left in another state."""
        return [n if (n is None or type(n) is Leaf) and (n is not None) is needs else Leaf
                for n, (_, _, needs) in zip(map(_node_of, self.tensors), self.arrays)]


class QuestionConditions:
    """Conditions on what code asks of a tensor: its layout and the like, and its methods."""

    def __init__(self):
        self.layouts: dict = {}          # (kind, position or id, query) -> (source of an input, answer)
        self.methods: dict = {}          # position of an argument -> names of its methods that the function calls
        self._asked: list = []           # (source, query, answer) of the queries that each call makes
        self._written: list = []         # (captured tensor, answer of `is_written_unchecked`), which its base decides
        self._tensors: list = []         # these tensors
        self._bases: list = []           # and their bases when the answers were the same last

    def add(self, recording):
        """Add the conditions of a path."""
        layouts = [(_origin(recording.sources, position), query, answer) for position, query, answer in recording.layouts]
        self.layouts = {**self.layouts, **{(_name_of(s), query): (s, answer) for s, query, answer in layouts}}
        for source, names in [(recording.sources[i], names) for i, names in recording.methods.items()]:
            if source.kind == "argument":
                self.methods[source.what] = self.methods.get(source.what, frozenset()) | names
        by_base = {key: s.kind == "captured" and key[1] is is_written_unchecked for key, (s, _) in self.layouts.items()}
        self._asked = [(s, key[1], answer) for key, (s, answer) in self.layouts.items() if not by_base[key]]
        self._written = [(s.what, answer) for key, (s, answer) in self.layouts.items() if by_base[key]]
        self._tensors = [t for t, _ in self._written]
        self._bases = list(map(_base_of, self._tensors))

    def changed(self, arguments, names: TensorNames):
        """Return in words which answer is another one, or None."""
        for position, methods in self.methods.items():
            hidden = methods.intersection(arguments[position].__dict__)
            if hidden:
                return f"{names.of_argument(position)} has an attribute of its own that hides the method {min(hidden)}"
        for source, query, answer in self._asked:
            if query(_tensor_of(source, arguments)) != answer:
                text = _QUERIES.get(query, "lies in its memory in another way, and the function asks in which")
                return f"{names.of_source(source)} {text}"
        if any(map(is_not, map(_base_of, self._tensors), self._bases)):
            for t, answer in self._written:
                if is_written_unchecked(t) is not answer:
                    return f"{names.of(t)} {_QUERIES[is_written_unchecked]}"
            self._bases = list(map(_base_of, self._tensors))
        return None


class PairConditions:
    """Conditions on the memory of two inputs."""

    def __init__(self):
        self._bases: dict = {}           # pairs of arguments that must be views of one base
        self._clashes: dict = {}         # positions or ids -> sources of two inputs that must not overlap

    def add(self, recording):
        """Add the conditions of a path."""
        bases = [tuple([recording.sources[i].what for i in pair]) for pair in recording.bases]
        self._bases = joined(self._bases, [(pair, None) for pair in bases])
        pairs = [tuple([_origin(recording.sources, i) for i in pair]) for pair in recording.clashes]
        self._clashes = joined(self._clashes, [(tuple(map(_name_of, pair)), pair) for pair in pairs])

    def changed(self, arguments, names: TensorNames):
        """Return in words which condition does not hold, or None."""
        for i, j in self._bases:
            if base_of(arguments[i]) is not base_of(arguments[j]):
                return f"{names.of_argument(i)} and {names.of_argument(j)} are written, and no longer views of one tensor"
        for pair in self._clashes.values():
            if may_overlap(*[_tensor_of(source, arguments) for source in pair]):
                first, second = map(names.of_source, pair)
                return f"{first} and {second} lie over each other, and one is written while the memory of the other is replaced"
        return None

    def __bool__(self):
        return bool(self._bases or self._clashes)


class GradientConditions:
    """Conditions on the gradients of leaves."""

    def __init__(self):
        self.leaves: dict = {}           # (kind, position or id) -> (source of a leaf, kind of its gradient)
        self._looked_up: dict = {}       # the same -> source of a leaf whose gradient is looked up at every call
        self._without: list = []         # captured leaves without a gradient
        self._dense: list = []           # (captured leaf with a row-major gradient, its source, whether that is looked up)
        self._others: list = []          # (source, kind of the gradient, whether it may be another tensor at each call)

    def add(self, recording, guards, same):
        """Add the conditions of a path; `same` leads from arguments to tensors that are reached otherwise."""
        leaves = [(_origin(recording.sources, position), kind) for position, kind in recording.leaves]
        self.leaves = joined(self.leaves, [(_name_of(s), (s, kind)) for s, kind in leaves])
        looked_up = [_origin(recording.sources, s.what) for s in recording.sources if s.kind == "grad"]
        self._looked_up = joined(self._looked_up, [(_name_of(s), s) for s in looked_up])
        fixed = {id(g.leaf) for g in guards if type(g) is GradientGuard}

        def is_fixed(source):
            return id(same.get(source.what) if source.kind == "argument" else source.what) in fixed

        found = [(s, kind, name in self._looked_up and not is_fixed(s)) for name, (s, kind) in self.leaves.items()]
        self._without = [s.what for s, kind, _ in found if kind is None and s.kind == "captured"]
        dense = [kind is False and s.kind == "captured" and isinstance(s.what, Tensor) for s, kind, _ in found]
        self._dense = [(s.what, s, is_looked_up) for (s, _, is_looked_up), is_dense in zip(found, dense) if is_dense]
        self._others = [g for g, is_dense in zip(found, dense)
                        if not is_dense and (g[1] is not None or g[0].kind != "captured")]

    def changed(self, arguments, names: TensorNames, storages, writes):
        """Return in words what changed about gradients, or None."""
        if any([t.grad is not None for t in self._without]):     # noqa: C419  (a list is quicker here)
            gained = next(t for t in self._without if t.grad is not None)
            return f"the gradient of {names.of(gained)} was None, and is set"
        looked_up = []
        for t, source, is_looked_up in self._dense:
            now = t.grad
            if now.__class__ is not Tensor or now._node is not None or not now._a.flags.carray:
                found = kind_of_gradient(now)
                if found is not False:
                    return f"the gradient of {names.of_source(source)} {_change_of_gradient(False, found)}"
            if is_looked_up:
                looked_up.append(now)
        for source, kind, is_looked_up in self._others:
            t = source.what if source.kind == "captured" else _tensor_of(source, arguments)
            now = t.grad if isinstance(t, Tensor) else None
            found = kind_of_gradient(now)
            if found != kind:
                return f"the gradient of {names.of_source(source)} {_change_of_gradient(kind, found)}"
            if is_looked_up and kind is not None and kind is not True:
                looked_up.append(now)
        if looked_up and writes and self._share_memory(looked_up, arguments, storages):
            return "a gradient lies in memory that the function uses otherwise, too"
        return None

    @staticmethod
    def _share_memory(gradients, arguments, storages) -> bool:
        """Return whether gradients share memory with each other, or with other tensors that the function uses. A gradient
        without a storage has memory of its own."""
        memories = {id(g._shared or g) for g in gradients}
        return (len(memories) < len(gradients) or not memories.isdisjoint(storages)
                or not memories.isdisjoint([id(t._shared or t) for t in arguments]))


def _change_of_gradient(before, now) -> str:
    if None in (before, now):
        return "was None, and is set" if before is None else "was set, and is None"
    if True in (before, now):
        return "was dense, and is sparse" if now is True else "was sparse, and is dense"
    return "has a history that it had not, or lies in memory in another order, or the other way round"


def _origin(sources, position) -> Source:
    """Return the source of an input; that of a gradient or base refers to the source of its leaf or part."""
    source = sources[position]
    return Source(source.kind, sources[source.what]) if source.kind in ("grad", "base") else source


def _name_of(source) -> tuple:
    """Return the identity of such a source."""
    if source.kind in ("grad", "base"):
        return source.kind, _name_of(source.what)
    return source.kind, source.what if source.kind == "argument" else id(source.what)


def _tensor_of(source, arguments):
    if source.kind == "grad":
        return _tensor_of(source.what, arguments).grad
    if source.kind == "base":
        return base_of(_tensor_of(source.what, arguments))
    return arguments[source.what] if source.kind == "argument" else source.what


def _is_kind(a, shape, dtype, order) -> bool:
    """Return whether an array is as it was when a call began; one that the call resized is not."""
    return a.shape == shape and a.dtype == dtype and memory_order(a) == order
