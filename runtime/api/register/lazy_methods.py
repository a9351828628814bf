"""Descriptors that load late methods of Tensor when they are first used."""

from collections.abc import Callable
from typing import Any

from ....ir.doors import door
from ...core.tensor import Tensor


class LateMethod:
    """Descriptor for a method of a late module. Access loads all late modules."""

    def __init__(self, name: str, load: Callable[[], Any]):
        self.name, self.load = name, load
        self.method: Any = None                     # set when its module has loaded

    def __get__(self, tensor, cls):
        self.load()
        if vars(Tensor)[self.name] is self:
            if self.method is None:                 # accessed while its module loads
                raise AttributeError(f"'{cls.__name__}' object has no attribute '{self.name}'")
            setattr(Tensor, self.name, self.method)     # a program had replaced the method and put it back
        return getattr(cls if tensor is None else tensor, self.name)


_standing: dict[str, LateMethod] = {}


def stand_for(name: str, load: Callable[[], Any]) -> None:
    """Put a `LateMethod` on Tensor."""
    _standing[name] = late = LateMethod(name, load)
    setattr(Tensor, name, late)


def put_method(name: str, method) -> None:
    """Set an attribute of Tensor, unless a program replaced it before the module loaded."""
    door(method)
    late = _standing.get(name)
    if late is None:
        setattr(Tensor, name, method)
        return
    found, own = vars(Tensor).get(name), late.method
    late.method = method
    if found is late or (own is not None and found is own):
        setattr(Tensor, name, method)
