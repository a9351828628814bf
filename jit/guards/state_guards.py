"""Conditions on what tensors and optimizers have beside their values: groups, options, hooks, parts, memory."""

from dataclasses import dataclass
from operator import is_

from ...runtime.core.tensor import Tensor
from ...runtime.optim.optimizer import step_hooks
from ..errors.conditions import Condition, StructureCondition


class GroupsGuard(Condition):
    """The groups of an optimizer and their parameters: plain lists, which anybody may change."""

    def __init__(self, optimizer):
        self.optimizer = optimizer
        self.groups = [(group, [*group["params"]]) for group in optimizer.param_groups]

    @property
    def identity(self) -> tuple:
        """What identifies the condition."""
        return "groups", id(self.optimizer)

    def holds(self) -> bool:
        """Whether these are the groups, and have these parameters."""
        groups = self.optimizer.param_groups
        return len(groups) == len(self.groups) and all(
            now is group and _are_same(now["params"], params) for now, (group, params) in zip(groups, self.groups))

    def __str__(self):
        return f"the groups of {type(self.optimizer).__name__}, or their parameters, are others than before"


class OptimizerGuard(StructureCondition):
    """The groups, parameters and states that an optimizer's step found. What is in the states is looked at only when something
    has changed since; which they are, always."""

    is_counted = False

    def __init__(self, optimizer, replaced):
        """`replaced` are entries of states, (id of the state, name), that the user's code puts there: writes like others."""
        super().__init__()
        self.optimizer, self.replaced = optimizer, replaced
        self.seen = optimizer.layout()
        self.states = [*optimizer.state.values()]

    @property
    def identity(self) -> tuple:
        """What identifies the condition."""
        return "optimizer", id(self.optimizer)

    def holds(self) -> bool:
        """Whether these are the states, and what is in them as it was."""
        return _are_same(self.optimizer.state.values(), self.states) and super().holds()

    def is_as_before(self) -> bool:
        """Whether the step would work on the same objects."""
        found = self._lasting()
        return len(found) == len(self.seen) and all(
            x is y and (at and at[1]) == (known and known[1]) for (at, x), (known, y) in zip(found, self.seen))

    def settle(self):
        """The run has ended: what it has replaced need not be found again."""
        self.seen = [(at, x) for at, x in self.seen if at not in self.replaced]
        self.states = [*self.optimizer.state.values()]

    def _lasting(self) -> list:
        return [(at, x) for at, x in self.optimizer.layout() if at not in self.replaced]

    def tensors(self) -> dict:
        """The tensors that the optimizer holds, by id."""
        return {id(x): x for _, x in self.seen if isinstance(x, Tensor)}

    def __str__(self):
        return f"the state or the groups of {type(self.optimizer).__name__} are other objects than before"


class StepHooksGuard(StructureCondition):
    """The hooks around a step of an optimizer."""

    def __init__(self, optimizer):
        super().__init__()
        self.optimizer, self.seen = optimizer, step_hooks(optimizer)

    @property
    def identity(self) -> tuple:
        """What identifies the condition."""
        return "step hooks", id(self.optimizer)

    def is_as_before(self) -> bool:
        """Whether the same hooks would run."""
        return all(map(_are_same, step_hooks(self.optimizer), self.seen))

    def __str__(self):
        return f"the hooks around the steps of {type(self.optimizer).__name__} are others than before"


def _are_same(objects, known) -> bool:
    """Whether these are the very objects that are known."""
    return len(objects) == len(known) and all(map(is_, objects, known))


class HooksGuard(StructureCondition):
    """The hooks of leaves: looked at only when some hook or module of the process has changed since."""

    def __init__(self, leaves):
        super().__init__()
        self.seen = [(leaf, leaf.hook_numbers()) for leaf in leaves]

    @property
    def identity(self) -> tuple:
        """What identifies the condition."""
        return "hooks", tuple([id(leaf) for leaf, _ in self.seen])

    def is_as_before(self) -> bool:
        """Whether all leaves have the hooks that they had."""
        return all(leaf.hook_numbers() == seen for leaf, seen in self.seen)

    def __str__(self):
        return "a hook was registered on a tensor, or removed"


class PartsGuard(StructureCondition):
    """What a sparse tensor is made of: looked at only when one has taken over others, or a module has changed since."""

    def __init__(self, tensor):
        super().__init__()
        self.tensor, self.seen = tensor, tensor.parts()

    @property
    def identity(self) -> tuple:
        """What identifies the condition."""
        return "parts", id(self.tensor)

    def is_as_before(self) -> bool:
        """Whether it is made of the same tensors."""
        (seen, how), (parts, make) = self.seen, self.tensor.parts()
        return how == make and all(map(is_, seen, parts))

    def __str__(self):
        return "a sparse tensor has other entries, which were written in place"


@dataclass(frozen=True)
class MemoryGuard(Condition):
    """A tensor from outside that is read through another one, in whose memory it lies, and whether it has a history."""

    tensor: Tensor
    through: Tensor
    has_history: bool

    @property
    def identity(self) -> tuple:
        """What identifies the condition."""
        return "memory", id(self.tensor), id(self.through)

    def holds(self) -> bool:
        """Whether it still lies there."""
        return self.tensor._storage is self.through._storage and self.has_history is (self.tensor._node is not None)

    def __str__(self):
        return "a captured tensor no longer lies in the memory of another one, or asks for gradients or no longer"


class OptionNumber:
    """An option of an optimizer's group as a number that is read at every call; `part` of it, if it is a tuple."""

    def __init__(self, group: dict, key: str, part: int | None = None):
        self.group, self.key, self.part = group, key, part
        self.place = id(group), key, part

    def __call__(self) -> float:
        value = self.group[self.key]
        return value if self.part is None else value[self.part]


@dataclass(frozen=True)
class OptionGuard(Condition):
    """An option of an optimizer's group (weight decay, say) that was used as a number."""

    group: dict
    key: str
    value: object

    def holds(self) -> bool:
        """Whether the option is as it was."""
        now = self.group.get(self.key)
        return now is self.value or (type(now) is type(self.value) and now == self.value)

    @property
    def place(self) -> tuple:
        """What identifies the option."""
        return id(self.group), self.key

    identity = place

    def moved(self) -> list:
        """The option."""
        return [self.place]

    def __str__(self):
        return f"the optimizer's option {self.key} was {self.value!r}, is {self.group.get(self.key)!r}"
