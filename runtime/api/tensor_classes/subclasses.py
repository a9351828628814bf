"""Users' subclasses of Tensor, and their default `__torch_function__`, as in PyTorch.

Results of operators have the user's class. Dispatch itself is in `torch_function.py`. Operators, attributes and methods with
one tensor do not inspect classes. Subclasses get dispatching ones from a class that ingot inserts between Tensor and them.

PyTorch calls `__torch_function__` of foreign arguments, as NumPy calls `__array_ufunc__`. So its functions and layers without
weights run on tensors of ingot: `torch.nn.PairwiseDistance()(x, y)` is `ingot.pairwise_distance(x, y)`, with gradients and in
traces.
"""

import importlib
import importlib.util
import sys
from typing import Any

from ....ir.errors import DTypeError
from ....ir.ops.core.shape import permute
from ...core.tensor import Tensor
from ...state.messages import warn
from ...state.mode import tls
from ..register.register import FUNCTIONS, api
from ..register.torch_function import KINDS, all_that_looks, asks, disabled_torch_function, start, unasked, without_asking

__all__ = ["as_class", "as_subclass", "ask_class", "asks", "disabled_torch_function", "torch_function", "unasked"]

_FACE = __name__.partition(".")[0]
_between: list[type] = []           # the class between Tensor and users' classes, and one below it with its own constructor
_makers: list[type] = []  # the class between Tensor and users' classes that do not dispatch; it has its own constructor


# Classes.


def _new_class(cls, **options):
    """Set up a new subclass of Tensor for dispatch, unless it is ingot's own or disables `__torch_function__`."""
    super(Tensor, cls).__init_subclass__(**options)
    own = cls.__torch_function__
    if f"{cls.__module__}.".startswith(f"{_FACE}."):
        return
    if own is disabled_torch_function:
        _insert(cls, _making())
        return
    if "__torch_dispatch__" in vars(cls):
        warn(f"{cls.__name__}.__torch_dispatch__ is never asked: ingot has no operators below its public functions, "
             "for which it asks __torch_function__")
    if issubclass(cls, _owned()) and getattr(own, "__func__", own) is torch_function:
        return                          # parameters are plain tensors to operators
    ask_class(cls)


def ask_class(cls) -> None:
    """Make functions dispatch to a subclass of Tensor from now on."""
    cls._own_class = cls
    KINDS[cls] = True
    looking, made = _start()
    if not _insert(cls, made) and not issubclass(cls, looking):         # a kind of parameter
        cls.__bases__ = (looking, *cls.__bases__)


def _insert(cls, between) -> bool:
    """Insert a class between Tensor and one that derives from it; return whether that does so directly."""
    direct = Tensor in cls.__bases__
    if direct:
        cls.__bases__ = tuple([between if base is Tensor else base for base in cls.__bases__])
    return direct


def _owned() -> type:
    module = sys.modules.get(f"{_FACE}.runtime.nn.base.parameter")
    return module.Owned if module is not None else type(None)


def _start() -> list[type]:
    """Start dispatch; return the dispatching class, and one below it with its own constructor."""
    start()
    if not _between:
        looking = _class_between()
        _between[:] = looking, _that_makes_itself(looking)
    return _between


def _making() -> type:
    if not _makers:
        _makers.append(_that_makes_itself(Tensor))
    return _makers[0]


def _that_makes_itself(base) -> type:
    """Return a class whose subclasses may take any arguments, in `__new__` or in `__init__`."""
    return type("Tensor", (base,), {"__slots__": (), "__new__": _new, "__init__": _init, "__module__": _FACE})


def _class_between() -> type:
    """Return a subclass of Tensor with dispatching methods, operators and attributes."""
    names: dict[str, Any] = {"__slots__": (), "__module__": _FACE, "__hash__": Tensor.__hash__, "__iter__": _rows}
    names.update(all_that_looks())
    return type("Tensor", (Tensor,), names)


def _new(cls, *data, **options):
    """Return a tensor of the first argument, for classes that construct in `__new__`, as PyTorch's do. `options` is ignored:
    the class's own `__init__` gets them."""
    if data and isinstance(data[0], Tensor):
        return data[0].as_subclass(cls)
    t = object.__new__(cls)
    sizes = all(isinstance(d, int) for d in data)
    Tensor.__init__(t, *(data if sizes else data[:1]))
    return t


def _init(self, *data, **options):
    """Fill the tensor, for classes without an `__init__`. `options` is ignored: the class's own `__new__` got them."""
    initialiser = next(vars(kind)["__init__"] for kind in type(self).__mro__ if "__init__" in vars(kind))
    if data and initialiser is not _init:
        Tensor.__init__(self, *data)


def _rows(self):
    """Return an iterator over the entries along the first dim."""
    return iter(self.unbind(0)) if self.ndim else Tensor.__iter__(self)


def as_class(t, cls):
    """Return a tensor without other references as one of a class."""
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
    """Return a view of the tensor whose class is `cls`, Tensor or one that derives from it."""
    if not (isinstance(cls, type) and issubclass(cls, Tensor)):
        raise DTypeError(f"as_subclass takes Tensor or a class that derives from it, got {cls!r}")
    with unasked():
        alias = permute(input, dims=tuple(range(input.ndim)))
    return alias if cls is Tensor else as_class(alias, cls)


def _make_subclass(cls, data, require_grad=False, dispatch_sizes_strides_policy=None):
    """Return a leaf of a class over the memory of a tensor."""
    with unasked():
        made = as_class(data.detach(), cls)
        return made.requires_grad_() if require_grad else made


# Default behaviour.


def torch_function(cls, function, types, args=(), kwargs=None):
    """Run the function and return its new tensors as the class: the default `__torch_function__`. PyTorch also calls it with
    functions of its own, which stand for ingot's of that name."""
    kwargs = kwargs or {}
    fn = _without_looking(function)
    if fn is None or not all(issubclass(cls, kind) for kind in types if KINDS[kind]):
        return NotImplemented           # arrays of torch among the arguments count as arrays
    with unasked():
        found = fn(*args, **kwargs)
    if not KINDS[cls]:
        return found
    shared = {id(x) for x in _tensors((*args, *kwargs.values()))}
    getter = hasattr(fn, "__self__")
    return _converted(found, cls, shared, getter)


def _tensors(values):
    for x in values:
        if isinstance(x, (list, tuple)):
            yield from _tensors(x)
        elif isinstance(x, Tensor):
            yield x


def _without_looking(function):
    """Return the plain form of a function; ingot's for one of PyTorch's (None if there is none)."""
    plain = without_asking(function)
    if plain is not None:
        return plain
    place = getattr(function, "__module__", None) or "torch"
    is_getter = isinstance(getattr(function, "__self__", None), property)
    return _counterpart(function) if place.split(".")[0] == "torch" and not is_getter else function


_NAMESPACES = {"torch.nn.functional": "nn.functional", "torch._C._nn": "nn.functional", "torch._C._linalg": "linalg",
               "torch._C._special": "special", "torch._C._fft": "fft"}     # of functions beside the top level


def _counterpart(function):
    """Return our function for one of PyTorch's, or None."""
    name, place = function.__name__, getattr(function, "__module__", None)
    if place in _NAMESPACES:
        ours = _NAMESPACES[place]
        names = importlib.import_module(f"{_FACE}.{ours}") if importlib.util.find_spec(f"{_FACE}.{ours}") else None
        return getattr(names, name.removeprefix(f"{ours}_"), None)
    if place == "torch":
        return FUNCTIONS.get(name)
    return getattr(Tensor, name, None) if hasattr(function, "__objclass__") else None


def _converted(result, cls, shared, getter):
    """Return tensors as those of a class; existing tensors by a view."""
    if isinstance(result, Tensor):
        if isinstance(result, cls):
            return result
        is_view = getter or id(result) in shared or type(result) is not Tensor
        return as_subclass(result, cls) if is_view else as_class(result, cls)
    if isinstance(result, (list, tuple)):
        parts = [_converted(x, cls, shared, getter) for x in result]
        return type(result)(*parts) if hasattr(result, "_fields") else type(result)(parts)
    return result


Tensor.__torch_function__ = classmethod(torch_function)         # type: ignore[attr-defined]
Tensor.__init_subclass__ = classmethod(_new_class)              # type: ignore[assignment]
Tensor._make_subclass = staticmethod(_make_subclass)            # type: ignore[attr-defined]
