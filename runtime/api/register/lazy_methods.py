"""What stands on Tensor for methods of modules that load when one of their names is asked for."""

from collections.abc import Callable
from typing import Any

from ...core.tensor import Tensor


class LateMethod:
    """Stands on Tensor for a method, and loads the modules of all such methods when it is asked for."""

    def __init__(self, name: str, load: Callable[[], Any]):
        self.name, self.load = name, load
        self.method: Any = None                     # once its module is there

    def __get__(self, tensor, cls):
        self.load()
        if vars(Tensor)[self.name] is self:
            if self.method is None:                 # asked for while its module is being loaded
                raise AttributeError(f"'{cls.__name__}' object has no attribute '{self.name}'")
            setattr(Tensor, self.name, self.method)     # a program had put its own there, and put this back
        return getattr(cls if tensor is None else tensor, self.name)


_standing: dict[str, LateMethod] = {}


def stand_for(name: str, load: Callable[[], Any]) -> None:
    """Puts a `LateMethod` on Tensor."""
    _standing[name] = late = LateMethod(name, load)
    setattr(Tensor, name, late)


def put_method(name: str, method) -> None:
    """Makes something an attribute of Tensor, unless a program has put its own there before this one's module came."""
    late = _standing.get(name)
    if late is None:
        setattr(Tensor, name, method)
        return
    found, own = vars(Tensor).get(name), late.method
    late.method = method
    if found is late or (own is not None and found is own):
        setattr(Tensor, name, method)
