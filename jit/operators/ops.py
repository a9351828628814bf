"""`ingot.ops`: registered operators by `ingot.ops.namespace.name`."""

from pathlib import Path

from ...ir.lazy import lazy
from .aten import Packet, find
from .custom import REGISTERED, CustomOpDef

vision = lazy(__package__, ".vision")


class Namespace:
    """The operators of one namespace."""

    def __init__(self, name: str):
        self.__name__ = name

    def __repr__(self):
        return f"<ingot.ops.{self.__name__}>"

    def __getattr__(self, name) -> CustomOpDef:
        found = REGISTERED.get(f"{self.__name__}::{name}")
        if found is None:
            raise AttributeError(f"no operator {self.__name__}::{name} is registered; see custom_op (from ingot import "
                                 "library)")
        return found

    def __dir__(self):
        return [name.rpartition("::")[2] for name in REGISTERED if name.startswith(f"{self.__name__}::") and "." not in name]


class Aten:
    """The operators that PyTorch has itself."""

    __name__ = "aten"

    def __repr__(self):
        return "<ingot.ops.aten>"

    def __getattr__(self, name) -> Packet:
        found = None if name.startswith("__") else find(name)
        if found is None:
            raise AttributeError(f"ingot has no operator aten::{name}")
        self.__dict__[name] = found
        return found


def load_library(path):
    """For torchvision's extension: registers operators of ingot's that do what is compiled there. Others are refused, as a
    library that does not load is: they are made for another framework, and packages then go on without them."""
    file = Path(path)
    if file.parent.name == "torchvision" and file.name.startswith("_C"):
        if "torchvision::nms" not in REGISTERED:
            vision.register()
        return
    raise OSError(f"ingot cannot load operators from {path}, since they are compiled for another framework's tensors; "
                  "register Python functions with custom_op (from ingot import library)")


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = Aten() if name == "aten" else Namespace(name)
    return found
