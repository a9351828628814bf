"""Objects that a recorded function makes and returns: a replay makes them anew, around its own tensors and numbers.

An object is the function's own if its `__init__` ran during the call, if `copy` made it, or if it leads to a value that the
call has made. Objects that consist of their attributes (results of user classes, distributions) are taken apart. Others, such
as generators and functions over tensors, are refused.
"""

import functools
import gc
import types

from ...ir.symbols.symbolic import is_symbol
from ...runtime.core.tensor import Tensor
from ...runtime.nn.base.module import Module
from ..errors.errors import TraceError
from .lazy_scalars import LazyScalar
from .numpy_scalars import SymScalar

_MOST = 1000        # values that are searched in one object
_SINGLE = (type, types.ModuleType, types.BuiltinFunctionType, type(None), str, bytes, bool, int, float, complex)


class NewObjects:
    """Decision which objects in the results are the function's own; `made` are ids of those whose `__init__` ran."""

    def __init__(self, recorder, own):
        self._outside = {id(s.what) for s in recorder.inputs.sources}
        self._recorder, self._own = recorder, own

    def attributes(self, x) -> dict | None:
        """Return the attributes of an object that the run has made, None for others; raise if it cannot be made again."""
        if isinstance(x, _SINGLE) or not (id(x) in self._own or hasattr(type(x), "__next__") or self._leads_to_new(x)):
            return None
        if not _is_plain(x):
            raise TraceError(f"this function cannot be traced: it returns a {type(x).__name__} that it has made, which a trace "
                             "could not make again; return tensors, numbers, containers or plain objects of these")
        return vars(x)

    def _leads_to_new(self, x) -> bool:
        stack, seen = [x], set()
        while stack and len(seen) < _MOST:
            v = stack.pop()
            if is_symbol(v) or type(v) is SymScalar or type(v) is LazyScalar or id(v) in self._own or self._is_new(v):
                return True
            if isinstance(v, (*_SINGLE, Tensor)) or id(v) in seen:
                continue
            seen.add(id(v))
            stack += _parts(v)
        return False

    def _is_new(self, v) -> bool:
        link = v.__dict__.get("_traced") if isinstance(v, Tensor) else None
        return link is not None and link.recorder is self._recorder and id(v) not in self._outside


def _parts(v) -> list:
    if isinstance(v, dict):
        return [*v.values()]
    if isinstance(v, (list, tuple, set, frozenset)):
        return [*v]
    if isinstance(v, types.FunctionType):
        return [c.cell_contents for c in v.__closure__ or () if c != types.CellType()]
    if isinstance(v, types.MethodType):
        return [v.__self__]
    if isinstance(v, functools.partial):
        return [v.func, *v.args, *v.keywords.values()]
    slots = [getattr(v, name, None) for c in type(v).__mro__ for name in getattr(c, "__slots__", ())]
    if isinstance(v, BaseException):
        slots += v.args
    elif not slots and not hasattr(v, "__dict__"):      # views of dictionaries, iterators, deques
        return gc.get_referents(v)
    return [*slots, *getattr(v, "__dict__", {}).values()]


def _is_plain(x) -> bool:
    """Return whether an object is its class and its attributes, nothing else."""
    kind = type(x)
    if kind is types.SimpleNamespace:
        return True
    return (hasattr(x, "__dict__") and kind.__new__ is object.__new__ and kind.__reduce_ex__ is object.__reduce_ex__
            and kind.__reduce__ is object.__reduce__ and kind.__getstate__ is object.__getstate__
            and not any(getattr(c, "__slots__", ()) for c in kind.__mro__) and not isinstance(x, (Module, types.FunctionType)))


def new_object(kind, attributes):
    """Return an object of a class with these attributes."""
    x = kind.__new__(kind)
    x.__dict__.update(attributes)
    return x
