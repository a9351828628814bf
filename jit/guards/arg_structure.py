"""The containers and dataclasses of which the arguments of a call consist. They are taken apart and compared at every call, so
what the function reads through them needs no guard; of a dataclass's methods its class is watched."""

from ...runtime.core.tensor import Tensor
from ..bytecode.reads import MISSING, follow
from .arg_pytree import fields_of
from .snapshot import is_plain


class Parts:
    """Which objects are parts of the arguments' structure, by id; the arguments keep them alive while a call is recorded."""

    def __init__(self):
        self._ids: set = set()

    def add(self, part):
        """Takes in a container or an object of a dataclass."""
        self._ids.add(id(part))

    def leads_to(self, base, steps, value) -> bool:
        """Whether steps from one part through others end at another one, or at a tensor or number in it."""
        owners = [follow(base, steps[:n]) for n in range(len(steps))]
        is_leaf = isinstance(value, Tensor) or is_plain(value) or id(value) in self._ids
        return is_leaf and all(id(x) in self._ids and (kind != "attr" or key in fields_of(x))
                               for x, (kind, key) in zip(owners, steps))

    def class_with(self, base, steps, value):
        """The class of a part, if the last of the steps reads one of its methods."""
        owner = follow(base, steps[:-1])
        is_method = steps and steps[-1][0] == "attr" and getattr(type(owner), steps[-1][1], MISSING) is value
        return type(owner) if is_method and id(owner) in self._ids else None
