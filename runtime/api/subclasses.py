"""Classes of the user's that derive from Tensor: what operators give of them is of their class, and their `__torch_function__`
is asked first, as PyTorch does it.

Nobody pays for this who has no such class. The first one puts functions that look at their arguments in the place of ingot's
public ones, and so for methods of Tensor that take other tensors; whoever took a function out of its module before has the one
that does not look, and gets plain tensors. All other methods look in a class between Tensor and those of the user's.
"""

import functools
import importlib
import inspect
import sys
import threading
import warnings
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

from ...ir.errors import DTypeError
from ...ir.ops.shape import permute
from ..state import tls
from ..tensor import Tensor
from .foreign import counterpart
from .register import FUNCTIONS, api

_FACE = __name__.removesuffix(".runtime.api.subclasses")
_NAMESPACES = ("nn.functional", "linalg", "special", "fft")         # beside the face
PLAIN = frozenset({"as_subclass", "as_tensor", "asarray", "cond", "from_dlpack", "from_numpy", "get_device", "is_tensor",
                   "save", "tensor", "typename", "while_loop"})     # functions that look at no classes
_OPERATORS = tuple(f"{__package__}.{name}" for name in ("indexing", "linalg", "operators"))     # where dunder methods are
_OTHERS = frozenset({"batch1", "batch2", "end", "exponent", "input2", "mat", "mat1", "mat2", "other", "source", "src", "target",
                     "tensor", "tensor1", "tensor2", "vec", "vec1", "vec2", "weight"})      # parameters that are tensors
_PROPERTIES = ("H", "T", "data", "grad", "imag", "mH", "mT", "real")
_asking: set[type] = set()          # the classes that are asked
_off = threading.local()            # how many times this thread has said that nobody is asked
_starting = threading.RLock()
_instead: dict[Any, Callable] = {}  # functions that look, by those in whose place they stand
_between: list[type] = []           # the class between Tensor and those of the user's, and one below it that makes itself


@contextmanager
def unasked():
    """Inside, functions of this thread ask no class."""
    _off.count = getattr(_off, "count", 0) + 1
    try:
        yield
    finally:
        _off.count -= 1


def asks(x) -> bool:
    """Whether a tensor is of a class that is asked, now."""
    return type(x) in _asking and not getattr(_off, "count", 0)


def disabled_torch_function(function, types, args=(), kwargs=None):
    """The `__torch_function__` of classes that are not asked: operators give plain tensors."""
    with unasked():
        return function(*args, **(kwargs or {}))


# Classes.


def _new_class(cls, **options):
    """A class that derives from Tensor: unless it is ingot's own, or says that it is not to be asked."""
    super(Tensor, cls).__init_subclass__(**options)
    own = cls.__torch_function__
    if f"{cls.__module__}.".startswith(f"{_FACE}.") or own is disabled_torch_function:
        return
    if "__torch_dispatch__" in vars(cls):
        warnings.warn(f"{cls.__name__}.__torch_dispatch__ is never asked: ingot has no operators below its public functions, "
                      "for which it asks __torch_function__", stacklevel=2)
    if issubclass(cls, _owned()) and getattr(own, "__func__", own) is torch_function:
        return                          # parameters are plain tensors to operators
    ask_class(cls)


def ask_class(cls) -> None:
    """From now on a class that derives from Tensor is asked."""
    cls._own_class = cls
    _asking.add(cls)
    looking, made = _start()
    if Tensor in cls.__bases__:
        cls.__bases__ = tuple([made if base is Tensor else base for base in cls.__bases__])
    elif not issubclass(cls, looking):                          # a kind of parameter
        cls.__bases__ = (looking, *cls.__bases__)


def _owned() -> type:
    module = sys.modules.get(f"{_FACE}.runtime.nn.parameter")
    return module.Owned if module is not None else type(None)


def _start() -> list[type]:
    """Puts functions that look at classes in their places, once."""
    with _starting:
        if not _between:
            package = importlib.import_module(__package__)
            package.load_rest()
            package.load_twins()
            looking = _class_between()
            _between[:] = looking, type("Tensor", (looking,), {"__slots__": (), "__new__": _new, "__init__": _init,
                                                               "__module__": Tensor.__module__})
            _replace(FUNCTIONS, _FACE)
            face = vars(sys.modules[_FACE])
            face.update({name: fn for name, fn in FUNCTIONS.items() if name in face})
            for name in _NAMESPACES:
                _replace(vars(importlib.import_module(f"{_FACE}.{name}")), f"{_FACE}.{name}")
            _replace_in_modules(importlib.import_module(f"{_FACE}.nn").Module)
    return _between


def _replace(names: dict, module: str):
    for name, fn in list(names.items()):
        if inspect.isfunction(fn) and name[0] != "_" and name not in PLAIN and not hasattr(fn, "_asks_for"):
            names[name] = asking = _instead[fn] = _looking(fn)
            asking.__module__, asking.__qualname__, asking.__name__ = module, name, name        # where pickle finds it


def _replace_in_modules(base):
    """Modules over one function, as ReLU, keep it in their class."""
    for cls in base.__subclasses__():
        for name, value in list(vars(cls).items()):
            asking = _instead.get(value.__func__) if isinstance(value, staticmethod) else None
            if asking is not None:
                setattr(cls, name, staticmethod(asking))
        _replace_in_modules(cls)


def _class_between() -> type:
    """Tensor with methods that look at classes."""
    names: dict[str, Any] = {"__slots__": (), "__module__": Tensor.__module__, "__hash__": Tensor.__hash__}
    for name, value in list(vars(Tensor).items()):
        public = name[0] != "_" and name not in PLAIN
        if name == "__iter__":
            names[name] = _rows
        elif inspect.isfunction(value) and public and _takes_others(value):
            setattr(Tensor, name, _looking(value))              # x.add(y) of a plain tensor x asks the class of y
        elif inspect.isfunction(value) and (public or (name[:2] == "__" and value.__module__ in _OPERATORS)):
            names[name] = _looking(value, value)
        elif name in _PROPERTIES:
            names[name] = property(_looking(value.__get__), value.fset, value.fdel, value.__doc__)
    return type("Tensor", (Tensor,), names)


def _takes_others(method) -> bool:
    """Whether a method may get another tensor by position."""
    code = getattr(method, "__wrapped__", method).__code__
    return not _OTHERS.isdisjoint(code.co_varnames[1:code.co_argcount])


def _new(cls, *data, **options):
    """A tensor of what is given first, for classes that build themselves in `__new__`, as PyTorch's do."""
    t = object.__new__(cls)
    sizes = all(isinstance(d, int) for d in data)
    Tensor.__init__(t, *(data if sizes else data[:1]))
    return t


def _init(self, *data, **options):
    """Only for classes whose own `__init__` says what they are made of."""
    initialiser = next(vars(kind)["__init__"] for kind in type(self).__mro__ if "__init__" in vars(kind))
    if data and initialiser is not _init:
        Tensor.__init__(self, *data)


def _rows(self):
    """An iterator over what lies along the first dim."""
    return iter(self.unbind(0)) if self.ndim else Tensor.__iter__(self)


def as_class(t, cls):
    """A tensor that nobody else has, as one of a class."""
    if tls.m.recorder is not None:
        tls.m.recorder.refuse(f"it makes a tensor of the class {cls.__name__}", "trace functions of plain tensors, which "
                              "t.as_subclass(Tensor) gives")
    try:
        t.__class__ = cls
    except TypeError as e:
        raise DTypeError(f"{cls.__name__} cannot be the class of a result: a class that derives from Tensor has no __slots__ "
                         f"of its own") from e
    return t


@api(function=False)
def as_subclass(input, cls):
    """A view of the tensor whose class is `cls`, Tensor or one that derives from it."""
    if not (isinstance(cls, type) and issubclass(cls, Tensor)):
        raise DTypeError(f"as_subclass takes Tensor or a class that derives from it, got {cls!r}")
    with unasked():
        alias = permute(input, dims=tuple(range(input.ndim)))
    return alias if cls is Tensor else as_class(alias, cls)


def _make_subclass(cls, data, require_grad=False, dispatch_sizes_strides_policy=None):
    """A leaf of a class over the memory of a tensor."""
    with unasked():
        made = as_class(data.detach(), cls)
        return made.requires_grad_() if require_grad else made


# Functions.


def _looking(fn, said=None) -> Callable:
    """The function, for arguments of classes that are asked; else what it does. They are asked about it as `said`, if given."""

    @functools.wraps(fn, updated=())
    def asking(*args, **kwargs):
        for x in (*args, *kwargs.values()) if kwargs else args:
            kind = x.__class__
            if kind in _asking or (kind in _CONTAINERS and not _asking.isdisjoint(map(type, x))):
                if getattr(_off, "count", 0):
                    break
                return _ask(function, args, kwargs)
        return fn(*args, **kwargs)

    asking._asks_for = fn               # type: ignore[attr-defined]
    function = fn if hasattr(fn, "__self__") else said or asking
    return asking


_CONTAINERS = (list, tuple)


def _flat(values):
    for x in values:
        if x.__class__ in _CONTAINERS:
            yield from _flat(x)
        elif isinstance(x, Tensor):
            yield x


def _ask(function, args, kwargs):
    """What the first class that answers gives: those that derive from others come before them."""
    types: list[type] = []
    for x in _flat((*args, *kwargs.values())):
        kind = type(x)
        if kind in _asking and kind not in types:
            types.insert(next((i for i, other in enumerate(types) if issubclass(kind, other)), len(types)), kind)
    for kind in types:
        found = kind.__torch_function__(function, tuple(types), args, kwargs)       # type: ignore[attr-defined]
        if found is not NotImplemented:
            return found
    raise DTypeError(f"no class among {', '.join(kind.__name__ for kind in types)} knows {function.__qualname__}: every "
                     f"__torch_function__ gave NotImplemented")


def torch_function(cls, function, types, args=(), kwargs=None):
    """What is done unless a class says otherwise: the function itself, and its new tensors are of the class. PyTorch calls it,
    too, with functions of its own, which are ingot's of that name."""
    kwargs = kwargs or {}
    fn = _without_looking(function)
    if fn is None or not all(issubclass(cls, kind) for kind in types if kind in _asking):
        return NotImplemented           # tensors of torch among the arguments are taken as other arrays are
    with unasked():
        found = fn(*args, **kwargs)
    if cls not in _asking:
        return found
    shared = {id(x) for x in _flat((*args, *kwargs.values()))}
    getter = hasattr(fn, "__self__")
    return _converted(found, cls, shared, getter)


def _without_looking(function):
    """The function that looks at no classes; ingot's for one of PyTorch's (None if there is none)."""
    if hasattr(function, "_asks_for"):
        return function._asks_for
    place = getattr(function, "__module__", None) or "torch"
    is_getter = isinstance(getattr(function, "__self__", None), property)
    return counterpart(function) if place.split(".")[0] == "torch" and not is_getter else function


def _converted(found, cls, shared, getter):
    """Tensors as those of a class; what was there before, by a view of it."""
    if isinstance(found, Tensor):
        if isinstance(found, cls):
            return found
        return as_subclass(found, cls) if getter or id(found) in shared or type(found) is not Tensor else as_class(found, cls)
    if isinstance(found, (list, tuple)):
        parts = [_converted(x, cls, shared, getter) for x in found]
        return type(found)(*parts) if hasattr(found, "_fields") else type(found)(parts)
    return found


Tensor.__torch_function__ = classmethod(torch_function)         # type: ignore[attr-defined]
Tensor.__init_subclass__ = classmethod(_new_class)              # type: ignore[assignment]
Tensor._make_subclass = staticmethod(_make_subclass)            # type: ignore[attr-defined]
