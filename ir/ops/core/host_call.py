"""User functions as operators: they run on the host, between kernels, at every run of a graph."""

from collections.abc import Callable

from ... import dtype as dt
from ...errors import GraphError, ShapeError
from ...opdef.aval import Aval
from ...opdef.op import NO_GRAD, Host, op
from ...opdef.params import LivingName
from ...weak_table import WeakTable

# By the name that graphs know them by: arrays in, a tuple of arrays out. Those with `makes_results` keep none of these.
FUNCTIONS: dict[str, Callable] = {}
_LIVING = WeakTable()       # the same, of those that live as long as the graphs that name them


def living_name(name: str, function: Callable) -> LivingName:
    """Return a unique name for graphs of a function that nothing else keeps alive."""
    _LIVING[name] = function
    return LivingName(name, function)


def named(name: str) -> Callable:
    """Return the function that graphs know by a name."""
    found = name.named if type(name) is LivingName else FUNCTIONS.get(name) or _LIVING.get(name)
    if found is None:
        raise GraphError(f"the host function {name} is gone")
    return found


def _infer(*xs, function, results):
    return tuple([Aval(shape, dt.by_name(kind)) for shape, kind in results])


def _call(*arrays, function, results):
    called = named(function)
    out = called(*[a for a in arrays if a is not None])
    for a, (shape, kind) in zip(out, results, strict=True):
        if a.shape != tuple(shape) or dt.from_numpy(a.dtype).name != kind:
            raise ShapeError(f"the host function {function} returned {dt.from_numpy(a.dtype)} of shape {list(a.shape)}, but "
                             f"{kind} of shape {list(shape)} when it was recorded; its results must keep their shapes")
    return tuple(out) if getattr(called, "makes_results", False) else tuple([a.copy() for a in out])


host_call = op("host_call", infer=_infer, ref=_call, vjp=NO_GRAD, lower=Host(), traits=("effect",),
               doc="Calls a function that the user marked to run on the host; `results` are the (shape, dtype name) of what "
                   "it gives.")
