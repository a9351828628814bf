"""`ingot.ops`: registered operators by `ingot.ops.namespace.name`."""

from .custom import REGISTERED, CustomOpDef


class Namespace:
    """The operators of one namespace."""

    def __init__(self, name: str):
        self.__name__ = name

    def __repr__(self):
        return f"<ingot.ops.{self.__name__}>"

    def __getattr__(self, name) -> CustomOpDef:
        found = REGISTERED.get(f"{self.__name__}::{name}")
        if found is None:
            own = "ingot's own are functions of ingot itself"
            where = own if self.__name__ == "aten" else "see custom_op (from ingot import library)"
            raise AttributeError(f"no operator {self.__name__}::{name} is registered; {where}")
        return found

    def __dir__(self):
        return [name.rpartition("::")[2] for name in REGISTERED if name.startswith(f"{self.__name__}::") and "." not in name]


def load_library(path):
    """Refused: libraries of compiled operators are made for another framework."""
    raise NotImplementedError(f"ingot cannot load operators from {path}, since they are compiled for another framework's "
                              "tensors; register Python functions with custom_op (from ingot import library)")


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = Namespace(name)
    return found
