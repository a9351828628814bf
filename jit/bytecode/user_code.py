"""User code, which is traced, and library code, which is not: the decision between them, and objects of user classes.

Code belongs to the user unless `LIBRARIES` or the standard library has it, be its package installed or not.
"""

import os
import sys
import sysconfig
import types
from collections import OrderedDict
from functools import lru_cache, partial
from threading import local
from typing import Any

from ...ir.interrupts import is_of_call
from ...runtime.core.tensor import Tensor
from ...runtime.nn.base.module import TABLES, Module

INGOT = __name__.split(".")[0]
_OTHER_NAMES = "torch", "functorch"
_DATA = "scipy", "pandas", "sklearn", "sympy", "omegaconf", "pydantic", "pydantic_core"
_BY_NAME = "`python_state/call_rules.py` decides about each function by its name"
_TOOL = "a tool that looks at running code, and whose own state no result depends on"
# Package -> why traces do not look into its code.
LIBRARIES = {
    INGOT: "it tells the recorder itself what it does",
    **dict.fromkeys(_OTHER_NAMES, "ingot under other names, or another framework, whose calls are refused"),
    **dict.fromkeys(("numpy", "ml_dtypes"), _BY_NAME),
    **dict.fromkeys(_DATA, "its objects are data, which are compared by their content; its functions keep no state"),
    **dict.fromkeys(("attr", "attrs", "beartype", "jaxtyping"), "it makes or checks the user's classes and functions"),
    **dict.fromkeys(("llvmlite", "triton"), "a compiler, which ingot's own code calls"),
    **dict.fromkeys(("tqdm", "rich"), "progress bars and consoles, whose methods become host calls"),
    **dict.fromkeys(("_pytest", "pytest", "pluggy", "execnet", "xdist", "pytest_timeout", "hypothesis", "coverage", "debugpy",
                     "pydevd", "_pydevd_bundle", "_pydevd_frame_eval", "_pydevd_sys_monitoring", "_pydev_bundle", "IPython",
                     "ipykernel", "line_profiler", "pyinstrument"), _TOOL),
}
_STDLIB = tuple([sysconfig.get_paths()[k] + os.sep for k in ("stdlib", "platstdlib")])
_INSTALLED = ("site-packages", "dist-packages")         # folders that may lie below the standard library's
# Rooms of ingot whose objects are no modules and hold what users may replace: parameters of distributions, nodes of graphs.
# Their methods do not tell the recorder what they read; those of optimizers and schedulers do.
_UNTOLD = tuple([f"{__name__.partition('.')[0]}.{room}" for room in (
    "runtime.distributions", "runtime.amp", "runtime.data", "jit.fx")])
_OBJECTS = (*_UNTOLD, f"{__name__.partition('.')[0]}.runtime.optim")
_NO_INSTANCES = (type, types.ModuleType, types.FunctionType, Tensor, Module)
_EMPTY = object()       # in the place of what an empty slot holds
_MADE_IN_PYTHON = 1 << 9        # Py_TPFLAGS_HEAPTYPE
# Modules of the standard library whose objects hold user values, and the module of classes that were made without one.
HOLDERS = frozenset(("types", "argparse", "collections", "_thread", "builtins"))
# Modules with base classes that read no attributes of an instance, or constant ones.
_READ_NO_ATTRIBUTES = frozenset(("abc", "typing", "collections.abc", "numbers", "contextlib", "enum"))


def is_own(module: str) -> bool:
    """Return whether a module is ingot's, perhaps under PyTorch's name."""
    top = module.partition(".")[0]
    return top == INGOT or (top in _OTHER_NAMES and sys.modules.get(_OTHER_NAMES[0]) is sys.modules[INGOT])


def is_user_code(module: str, file: str) -> bool:
    """Return whether code of a module, from a file, is the user's. Code without a file goes by its module."""
    top = module.partition(".")[0]
    if top in LIBRARIES or file.startswith("<frozen "):
        return False
    if not file or file.startswith("<"):
        return top not in sys.stdlib_module_names
    return not file.startswith(_STDLIB) or any(folder in file for folder in _INSTALLED)


def unwrap_function(fn, args) -> tuple:
    """Return (the function that runs, its arguments), behind decorators of grad modes and with the object of a method."""
    while getattr(getattr(fn, "__code__", None), "co_qualname", "") == "Block.__call__.<locals>.inside":
        fn = fn.__wrapped__
    if isinstance(fn, types.MethodType):
        return fn.__func__, (fn.__self__, *args)
    return fn, args


def is_instance(value) -> bool:
    """Return whether a value is an object with attributes of its own that users set: of a user class, a namespace, or one of
    `_OBJECTS`."""
    kind = type(value)
    module = module_of_class(kind)
    return ((module.partition(".")[0] in HOLDERS or module.startswith(_OBJECTS) or is_user_module(module) or kind is partial)
            and not issubclass(kind, _NO_INSTANCES)
            and (has_dict(value) or bool(_slots_of(kind))))


@lru_cache(maxsize=4096)
def has_library_methods(kind: Any) -> bool:
    """Return whether methods of libraries, whose code is not tracked, read the attributes of an instance. Those of ingot tell
    the recorder what they read, apart from some rooms."""
    return any(c.__flags__ & _MADE_IN_PYTHON and not is_user_defined(c) and c.__module__ not in _READ_NO_ATTRIBUTES
               and (not is_own(c.__module__) or c.__module__.startswith(_UNTOLD))
               and any(type(v) is types.FunctionType for v in vars(c).values()) for c in kind.__mro__)


def is_library_data(value) -> bool:
    """Return whether a value is an object of a library whose objects are data."""
    return module_of_class(type(value)).partition(".")[0] in _DATA and not isinstance(value, type)


def is_user_module(name: str) -> bool:
    """Return whether a module is the user's."""
    top = name.partition(".")[0]
    if top in LIBRARIES:
        return False
    if top not in sys.stdlib_module_names:
        return True
    return is_user_code(top, getattr(sys.modules.get(top), "__file__", None) or "")


def module_of_class(x) -> str:
    """Return the name of the module of a function or class; Cython's classes may have a descriptor for it."""
    found = getattr(x, "__module__", None)
    return found if isinstance(found, str) else "builtins" if found else ""


def is_user_defined(x) -> bool:
    """Return whether a function or class is the user's."""
    module = module_of_class(x)
    if module == "builtins":        # or made by Python code without a module, as in `exec(text, {})`
        return isinstance(x, type) and bool(x.__flags__ & _MADE_IN_PYTHON)
    return is_user_module(module)


def is_a(value, kinds) -> bool:
    """Return whether a value is of some classes. Unlike `isinstance`, this asks no `__class__` where a user's
    `__getattribute__` gives it."""
    kind: Any = type(value)
    return issubclass(kind, kinds) or (not _tells_its_class(kind) and isinstance(value, kinds))


def _tells_its_class(kind: Any) -> bool:
    """Return whether code of a user class gives the `__class__` of its objects. The class may get such code at any time."""
    return _is_of_user(kind) and (kind.__getattribute__ is not object.__getattribute__ or any(
        "__class__" in vars(c) for c in kind.__mro__[:-1]))


_is_of_user = lru_cache(maxsize=4096)(is_user_defined)


def has_dict(value) -> bool:
    """Return whether an object has a `__dict__`, without asking it."""
    kind: Any = type(value)
    return kind.__dictoffset__ != 0 or issubclass(kind, local)      # (each thread has one of its own)


def object_of(function):
    """Return the object to which a method is bound, or None. Objects of user classes, which may be callable, are not asked."""
    return None if is_user_defined(type(function)) else getattr(function, "__self__", None)


def is_global(x) -> bool:
    """Return whether an object is a function or class that a module defines."""
    if not is_a(x, (type, types.FunctionType, types.BuiltinFunctionType)):
        return False
    return getattr(sys.modules.get(x.__module__ or ""), x.__qualname__, None) is x


def special_names(cls, code) -> tuple:
    """Return the names, such as `__add__`, under which a class or its bases of the user's have a function with some code."""
    return tuple([name for c in cls.__mro__ if is_user_defined(c) for name, value in vars(c).items()
                  if name.startswith("__") and getattr(getattr(value, "__func__", value), "__code__", None) is code])


def is_user_namespace(value) -> bool:
    """Return whether a value is a user's class or Python module."""
    if is_a(value, types.ModuleType):
        return is_user_module(value.__name__)
    return is_a(value, type) and is_user_defined(value)


def dict_of(value):
    """Return the `__dict__` of an object, or an empty one. No code of its class runs."""
    kind: Any = type(value)
    if type(kind.__getattribute__) is types.FunctionType:
        return object.__getattribute__(value, "__dict__") if has_dict(value) else {}        # (it may have slots alone)
    if kind.__dictoffset__ == 0 and kind.__flags__ & _MADE_IN_PYTHON and hasattr(kind, "__getattr__") and not has_dict(value):
        return {}
    return getattr(value, "__dict__", {})


def attributes_of(value) -> dict:
    """Return the own attributes of an instance, a class or a Python module."""
    own, slots = dict_of(value), _slots_of(type(value))
    if not slots:
        return own
    return {**own, **{name: held for name, slot in slots.items() if (held := in_slot(slot, value)) is not _EMPTY}}


def entries_of(d: dict):
    """Return the items of a dictionary in its order. No code of its class runs. An `OrderedDict` has an order of its own."""
    ordered: Any = d
    return OrderedDict.items(ordered) if issubclass(type(d), OrderedDict) else dict.items(d)


def in_slot(slot: types.MemberDescriptorType, value, default: Any = _EMPTY) -> Any:
    """Return what an object holds in a slot of its class. No code of that class runs."""
    try:
        return slot.__get__(value)
    except AttributeError as error:
        if not is_of_call(error):
            raise
        return default


def attributes_of_module(m) -> dict:
    """Return the attributes of an `nn.Module`, without the tables of its parts."""
    return {name: value for name, value in dict_of(m).items() if name not in TABLES}


def modules_below(m) -> list:
    """Return (path, module) of a module and of all below it, each once, past methods that users override."""
    found: dict = {}
    stack = [("", m)]
    while stack:
        path, module = stack.pop()
        if module is not None and id(module) not in found:
            found[id(module)] = path, module
            children = dict_of(module)["_modules"].items()
            stack += [(f"{path}.{name}" if path else name, child) for name, child in reversed(children)]
    return [*found.values()]


def _slots_of(kind) -> dict:
    """Return {name: slot} of the slots of a class, without those that an entry of another class hides."""
    if issubclass(kind, partial):
        return {name: vars(partial)[name] for name in ("func", "args", "keywords")}
    if not hasattr(kind, "__slots__"):
        return {}
    found: dict = {}
    for c in kind.__mro__:
        for name, member in vars(c).items():
            found.setdefault(name, member if is_user_defined(c) else None)
    return {name: member for name, member in found.items() if type(member) is types.MemberDescriptorType}
