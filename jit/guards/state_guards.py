"""Guards on tensors and optimizers beside their values: groups, options, hooks, parts, shared memory."""

import weakref
from dataclasses import dataclass
from operator import attrgetter, call, eq, is_

from ...runtime.core.node import Leaf, source_of
from ...runtime.core.tensor import Tensor
from ...runtime.nn.base.parameter import UninitializedTensorMixin
from ...runtime.optim.optimizer import all_hooks
from .guards import Condition, ReadCondition, StructureCondition
from .memory_order import layout_of
from .references import Held, reference_to

_array_of, _history_of = attrgetter("_a"), attrgetter("_node.__class__")


class GroupsGuard(Condition):
    """Groups of an optimizer and their parameters: plain lists, which anybody may change."""

    optimizer = Held("optimizer")

    def __init__(self, optimizer):
        self.optimizer, self.identity = optimizer, ("groups", id(optimizer))
        self.groups = [(group, [*group["params"]]) for group in optimizer.param_groups]

    def holds(self) -> bool:
        groups = self.optimizer.param_groups
        return len(groups) == len(self.groups) and all(
            now is group and _are_same(now["params"], params) for now, (group, params) in zip(groups, self.groups))

    def __str__(self):
        return f"the groups of {type(self.optimizer).__name__}, or their parameters, are others than before"


class OptimizerGuard(StructureCondition):
    """Groups, parameters and states that an optimizer's step found. The identity of states is always compared, their content
    only after some structure has changed."""

    is_counted = False
    optimizer = Held("optimizer")

    def __init__(self, optimizer, replaced):
        """`replaced` are entries of states, (id of the state, name), that user code writes."""
        super().__init__()
        self.optimizer, self.replaced, self.identity = optimizer, replaced, ("optimizer", id(optimizer))
        self.layout = optimizer.layout()
        self.states = [*optimizer.state.values()]

    def holds(self) -> bool:
        return _are_same(self.optimizer.state.values(), self.states) and super().holds()

    def is_as_before(self) -> bool:
        found = [(at, x) for at, x in self.optimizer.layout() if at not in self.replaced]
        return len(found) == len(self.layout) and all(
            x is y and (at and at[1]) == (known and known[1]) for (at, x), (known, y) in zip(found, self.layout))

    def settle(self):
        """Stop comparing entries that the run has replaced."""
        self.layout = [(at, x) for at, x in self.layout if at not in self.replaced]
        self.states = [*self.optimizer.state.values()]

    def tensors(self) -> dict:
        return {id(x): x for _, x in self.layout if isinstance(x, Tensor)}

    def __str__(self):
        return f"the state or the groups of {type(self.optimizer).__name__} are other objects than before"


def _are_same(objects, known) -> bool:
    return len(objects) == len(known) and all(map(is_, objects, known))


class StructureReading(StructureCondition):
    """`read` returns what agrees with its result when recorded; compared only after some structure has changed."""

    def __init__(self, identity, read, agree, text):
        super().__init__()
        self.identity, self._read, self._agree, self._text, self._before = identity, read, agree, text, read()

    def is_as_before(self) -> bool:
        return self._agree(self._read(), self._before)

    def __str__(self):
        return self._text


def optimizer_hooks_guard(optimizer) -> StructureReading:
    """Guard the hooks around the steps of an optimizer, and those of its state dict."""
    reference = reference_to(optimizer)
    return StructureReading(("optimizer hooks", id(optimizer)), lambda: all_hooks(reference()),
                            lambda now, before: all(map(_are_same, now, before)),
                            f"the hooks of {type(optimizer).__name__} are others than before")


def option_names_guard(group) -> ReadCondition:
    """Guard the names of the options in a group of an optimizer, in their order."""
    return ReadCondition(("option names", id(group)), lambda: tuple(group), tuple(group), "the options of an optimizer's group")


def hooks_guard(leaves) -> StructureReading:
    """Guard the hooks of leaves."""
    return StructureReading(("hooks", tuple(map(id, leaves))), lambda: [leaf.hook_numbers() for leaf in leaves], eq,
                            "a hook was registered on a tensor, or removed")


def parts_guard(tensor) -> StructureReading:
    """Guard the tensors of which a sparse tensor consists, and the function that joins them."""
    return StructureReading(("parts", id(tensor)), tensor.parts,
                            lambda now, before: now[1] == before[1] and all(map(is_, now[0], before[0])),
                            "a sparse tensor has other entries, which were written in place")


@dataclass(frozen=True)
class MemoryGuard(Condition):
    """A captured tensor lies in the memory of another one, through which it is read, where it did; it has a history, or not."""

    tensor: Tensor
    through: Tensor
    has_history: bool
    array: object
    layout: tuple

    @staticmethod
    def of(tensor, through) -> "MemoryGuard":
        layout = tensor._a.shape, *layout_of(tensor)
        return MemoryGuard(tensor, through, tensor._node is not None, tensor._a, layout)

    @property
    def identity(self) -> tuple:
        return "memory", id(self.tensor), id(self.through)

    def holds(self) -> bool:
        t = self.tensor
        return (t._storage is self.through._storage and self.has_history is (t._node is not None)
                and (t._a is self.array or (t._a.shape, *layout_of(t)) == self.layout))

    def __str__(self):
        return "a captured tensor no longer lies where it did in the memory of another one, or asks for gradients or no longer"


class HistoryGuard(Condition):
    """Guard on the history of a captured tensor, through which the function goes backward: it is the same one, without hooks.
    `nodes` are those between the tensor and its leaves, the tensor's own one first."""

    def __init__(self, tensor: Tensor, nodes):
        self._tensor, self._nodes = tensor, [weakref.ref(n) for n in nodes]

    @property
    def identity(self) -> tuple:
        return "history", id(self._tensor)

    def holds(self) -> bool:
        edge, nodes = self._tensor._node, [ref() for ref in self._nodes]
        return (edge is not None and source_of(edge)[0] is nodes[0]
                and all([n is not None and not (n.pre_hooks or n.post_hooks) for n in nodes]))  # noqa: C419  (quicker)

    def __str__(self):
        return "a captured tensor has another history, or hooks on it, and backward goes through it"


class TensorKindGuard(Condition):
    """Guard on the kinds of tensors that code reaches without computing with them, as `tensor_kind` gave them.

    A tensor that still has its array, its class and its class of history is of the same kind: functions in C compare these, as
    there may be thousands of tensors. The arrays are not held.
    """

    def __init__(self, tensors, kinds):
        self._tensors, self._kinds = tensors, kinds
        self.identity = "kinds of tensors", tuple(map(id, tensors))
        self._seen: tuple | None = None     # (classes, weak references to arrays, classes of histories), since they last agreed

    def holds(self) -> bool:
        return self._are_untouched() or self._agree()

    def _are_untouched(self) -> bool:
        if self._seen is None:
            return False
        classes, arrays, histories = self._seen
        return (all(map(is_, map(type, self._tensors), classes))
                and all(map(is_, map(_array_of, self._tensors), map(call, arrays)))
                and all(map(is_, map(_history_of, self._tensors), histories)))

    def _agree(self) -> bool:
        self._seen, tensors = None, self._tensors
        if [*map(tensor_kind, tensors)] != self._kinds:
            return False
        if not any(isinstance(t, UninitializedTensorMixin) for t in tensors):       # these have no arrays
            self._seen = [*map(type, tensors)], [weakref.ref(t._a) for t in tensors], [*map(_history_of, tensors)]
        return True

    def __str__(self):
        now = next(now for now, known in zip(map(tensor_kind, self._tensors), self._kinds) if now != known)
        return f"a tensor that the function asks about is of another kind now: {now[1]}{list(now[2])}, or its history changed"


def tensor_kind(t) -> tuple:
    """Return what code may ask a tensor beside its values: dtype, sizes, layout, device, and kind of history."""
    a, node = t._placeholder if isinstance(t, UninitializedTensorMixin) else t._a, t._node
    return t.__class__, a.dtype, a.shape, a.strides, a.__class__, node and node.__class__ is Leaf, t._base is None


class OptionNumber:
    """Option of an optimizer's group, or `part` of it if it is a tuple, as a number that is read at every call."""

    def __init__(self, group: dict, key: str, part: int | None = None):
        self.group, self.key, self.part = group, key, part
        self.place = id(group), key, part

    def __call__(self) -> float:
        value = self.group[self.key]
        return value if self.part is None else value[self.part]


@dataclass(frozen=True)
class OptionGuard(Condition):
    """Option of an optimizer's group, such as weight decay, that was used as a number."""

    group: dict
    key: str
    value: object

    def holds(self) -> bool:
        now = self.group.get(self.key)
        return now is self.value or (type(now) is type(self.value) and now == self.value)

    @property
    def place(self) -> tuple:
        return id(self.group), self.key

    identity = place

    def changed_values(self) -> list:
        return [self.place]

    def __str__(self):
        return f"the optimizer's option {self.key} was {self.value!r}, is {self.group.get(self.key)!r}"
