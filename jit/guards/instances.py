"""Objects of user classes, and their attributes."""

import sys
import types

from ...runtime.core.tensor import Tensor
from ...runtime.nn.base.module import TABLES, Module
from ..bytecode.user_code import TRUSTED

_NO_INSTANCES = (type, types.ModuleType, types.FunctionType, Tensor, Module)
_MADE_IN_PYTHON = 1 << 9        # Py_TPFLAGS_HEAPTYPE
# Modules of the standard library whose objects hold user values, and the module of classes that were made without one.
_HOLDERS = frozenset(("types", "argparse", "collections", "_thread", "builtins"))


def is_instance(value) -> bool:
    """Return whether a value is an object of a user class, or a namespace, with attributes of its own."""
    kind = type(value)
    top = kind.__module__.partition(".")[0]
    return (top not in TRUSTED and (top not in sys.stdlib_module_names or top in _HOLDERS)
            and not issubclass(kind, _NO_INSTANCES)
            and (isinstance(getattr(value, "__dict__", None), dict) or bool(_slots_of(kind))))


def is_user_defined(x) -> bool:
    """Return whether a function or class is the user's, or of a library that does not know ingot."""
    module = getattr(x, "__module__", None) or ""
    if module == "builtins":        # or made by Python code without a module, as in `exec(text, {})`
        return isinstance(x, type) and bool(x.__flags__ & _MADE_IN_PYTHON)
    return module.partition(".")[0] not in (*TRUSTED, *sys.stdlib_module_names)


def is_user_namespace(value) -> bool:
    """Return whether a value is a user's class or Python module."""
    if isinstance(value, types.ModuleType):
        return value.__name__.partition(".")[0] not in (*TRUSTED, *sys.stdlib_module_names)
    return isinstance(value, type) and is_user_defined(value)


def attributes_of(value) -> dict:
    """Return the own attributes of an instance, a class or a Python module."""
    own, slots = getattr(value, "__dict__", {}), _slots_of(type(value))
    if not slots:
        return own
    return {**own, **{name: getattr(value, name) for name in slots if hasattr(value, name)}}


def attributes_of_module(m) -> dict:
    """Return the attributes of an `nn.Module`, without the tables of its parts."""
    return {name: value for name, value in m.__dict__.items() if name not in TABLES}


def _slots_of(kind) -> list:
    if not hasattr(kind, "__slots__"):
        return []
    return [name for c in kind.__mro__ if is_user_defined(c) for name, member in vars(c).items()
            if type(member) is types.MemberDescriptorType]
