"""User code, which is traced, and library code, which is trusted: the decision between them, and objects of user classes."""

import sys
import sysconfig
import types

from ...runtime.core.tensor import Tensor
from ...runtime.nn.base.module import TABLES, Module

INGOT = __name__.split(".")[0]
TRUSTED = frozenset((INGOT, "llvmlite", "ml_dtypes", "networkx", "numpy", "rich", "safetensors", "triton"))
_STDLIB = tuple(sysconfig.get_paths()[k] for k in ("stdlib", "platstdlib"))
_NO_INSTANCES = (type, types.ModuleType, types.FunctionType, Tensor, Module)
_MADE_IN_PYTHON = 1 << 9        # Py_TPFLAGS_HEAPTYPE
# Modules of the standard library whose objects hold user values, and the module of classes that were made without one.
_HOLDERS = frozenset(("types", "argparse", "collections", "_thread", "builtins"))


def is_user_code(module: str, file: str) -> bool:
    """Return whether code is the user's: not ingot's, the standard library's or an installed package's. Packages keep state of
    their own, and may run at any time, as from the garbage collector."""
    installed = "site-packages" in file or "dist-packages" in file
    return not (installed or module.partition(".")[0] in TRUSTED or file.startswith(("<frozen ", *_STDLIB)))


def unwrap_function(fn, args) -> tuple:
    """Return (the function that runs, its arguments), behind decorators of grad modes and with the object of a method."""
    while getattr(getattr(fn, "__code__", None), "co_qualname", "") == "ContextDecorator.__call__.<locals>.inner":
        fn = fn.__wrapped__
    if isinstance(fn, types.MethodType):
        return fn.__func__, (fn.__self__, *args)
    return fn, args


def is_instance(value) -> bool:
    """Return whether a value is an object of a user class, or a namespace, with attributes of its own."""
    kind = type(value)
    top = kind.__module__.partition(".")[0]
    return (top not in TRUSTED and (top not in sys.stdlib_module_names or top in _HOLDERS)
            and not issubclass(kind, _NO_INSTANCES)
            and (isinstance(getattr(value, "__dict__", None), dict) or bool(_slots_of(kind))))


def has_library_methods(kind) -> bool:
    """Return whether methods of the standard library, whose code is not tracked, read the attributes of an instance."""
    return any(c.__module__ in _HOLDERS and c is not object and c.__flags__ & _MADE_IN_PYTHON and not is_user_defined(c)
               for c in kind.__mro__)


def is_user_module(name: str) -> bool:
    """Return whether a module is neither ingot's, nor of a trusted package, nor of the standard library."""
    return name.partition(".")[0] not in (*TRUSTED, *sys.stdlib_module_names)


def is_user_defined(x) -> bool:
    """Return whether a function or class is the user's, or of a library that does not know ingot."""
    module = getattr(x, "__module__", None) or ""
    if module == "builtins":        # or made by Python code without a module, as in `exec(text, {})`
        return isinstance(x, type) and bool(x.__flags__ & _MADE_IN_PYTHON)
    return is_user_module(module)


def is_user_namespace(value) -> bool:
    """Return whether a value is a user's class or Python module."""
    if isinstance(value, types.ModuleType):
        return is_user_module(value.__name__)
    return isinstance(value, type) and is_user_defined(value)


def dict_of(value):
    """Return the `__dict__` of an object, past a user's `__getattribute__`, or an empty one."""
    if type(type(value).__getattribute__) is types.FunctionType:
        return object.__getattribute__(value, "__dict__")
    return getattr(value, "__dict__", {})


def attributes_of(value) -> dict:
    """Return the own attributes of an instance, a class or a Python module."""
    own, slots = dict_of(value), _slots_of(type(value))
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
