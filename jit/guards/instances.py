"""Objects of the user's classes: which they are, and what attributes they have of their own."""

import sys
import types

from ...runtime.core.tensor import Tensor
from ...runtime.nn.base.module import TABLES, Module
from ..bytecode.user_code import TRUSTED

_NO_INSTANCES = (type, types.ModuleType, types.FunctionType, Tensor, Module)
_MADE_IN_PYTHON = 1 << 9        # Py_TPFLAGS_HEAPTYPE
# Of the standard library: what users put things into; and where classes are that were made without a module.
_HOLDERS = frozenset(("types", "argparse", "collections", "_thread", "builtins"))


def is_instance(value) -> bool:
    """Whether a value is an object of a class of the user's (or a namespace), with attributes of its own."""
    kind = type(value)
    top = kind.__module__.partition(".")[0]
    return (top not in TRUSTED and (top not in sys.stdlib_module_names or top in _HOLDERS)
            and not issubclass(kind, _NO_INSTANCES)
            and (isinstance(getattr(value, "__dict__", None), dict) or bool(_slots_of(kind))))


def is_users(x) -> bool:
    """Whether a function or class is the user's, or of a library that knows nothing of ingot."""
    module = getattr(x, "__module__", None) or ""
    if module == "builtins":        # or made by Python code without a module, as in `exec(text, {})`
        return isinstance(x, type) and bool(x.__flags__ & _MADE_IN_PYTHON)
    return module.partition(".")[0] not in (*TRUSTED, *sys.stdlib_module_names)


def is_users_space(value) -> bool:
    """Whether a value is a class or a module of the user's."""
    if isinstance(value, types.ModuleType):
        return value.__name__.partition(".")[0] not in (*TRUSTED, *sys.stdlib_module_names)
    return isinstance(value, type) and is_users(value)


def attributes_of(value) -> dict:
    """The attributes that an instance, a class or a module has itself."""
    own, slots = getattr(value, "__dict__", {}), _slots_of(type(value))
    if not slots:
        return own
    return {**own, **{name: getattr(value, name) for name in slots if hasattr(value, name)}}


def attributes_of_module(m) -> dict:
    """The attributes of a module, but for the tables of what it consists of."""
    return {name: value for name, value in m.__dict__.items() if name not in TABLES}


def _slots_of(kind) -> list:
    if not hasattr(kind, "__slots__"):
        return []
    return [name for c in kind.__mro__ if is_users(c) for name, member in vars(c).items()
            if type(member) is types.MemberDescriptorType]
