"""`ingot.ops.aten`: PyTorch's names of its operators, for programs that call them, or keep them as keys."""

from collections.abc import Callable

from ...runtime import api as api
from ...runtime.api.register.register import FUNCTIONS
from ...runtime.core.tensor import Tensor
from ...runtime.namespaces.sparse import addmm as sparse_addmm
from ...runtime.nn import functional

_OVERLOADS = ("default", "Tensor", "Scalar", "int", "dim", "out")       # the usual ones: all call the one function


def _slice(x, dim=0, start=None, end=None, step=1):
    """Return the elements between two places of a dim."""
    return x[(slice(None),) * (dim % x.ndim) + (slice(start, end, step),)]


def _index(x, indices):
    """Return the elements at index arrays; None takes all of a dim."""
    return x[tuple([slice(None) if i is None else i for i in indices])]


def _copied(x, *, dtype=None, layout=None, device=None, pin_memory=None, non_blocking=False, memory_format=None):
    return x.to(device=device, dtype=dtype, non_blocking=bool(non_blocking), copy=True, memory_format=memory_format)


_OWN: dict[str, Callable] = {"_local_scalar_dense": Tensor.item, "_pin_memory": lambda x, device=None: x.pin_memory(),
                             "_sparse_addmm": sparse_addmm, "_to_copy": _copied, "_unsafe_view": Tensor.reshape,
                             "alias": lambda x: x.view_as(x), "index": _index, "slice": _slice}


class Overload:
    """An overload, `aten.add.Tensor`: calls the function."""

    namespace = "aten"

    def __init__(self, packet, name: str):
        self.overloadpacket, self._overloadname = packet, name
        self.__name__ = f"{packet.__name__}.{name}"
        self.__qualname__ = self.__name__
        self.__module__ = f"ingot.ops.{self.namespace}"
        self._function = packet._function

    def name(self) -> str:
        return f"{self.namespace}::{self.__name__}".removesuffix(".default")

    def __call__(self, *args, **kwargs):
        return self._function(*args, **kwargs)

    def __repr__(self):
        return f"<OpOverload(op='{self.namespace}.{self.overloadpacket.__name__}', overload='{self._overloadname}')>"


class Packet:
    """An operator, `aten.add`: a function of ingot with its overloads, which are the same function."""

    namespace = "aten"

    def __init__(self, name: str, function: Callable):
        self.__name__ = name
        self._function = function

    def __call__(self, *args, **kwargs):
        return self._function(*args, **kwargs)

    def __getattr__(self, overload):
        if overload.startswith("_"):
            raise AttributeError(f"aten.{self.__dict__.get('__name__')} has no attribute or overload {overload!r}")
        made = self.__dict__[overload] = Overload(self, overload)
        return made

    def overloads(self) -> list[str]:
        return list(_OVERLOADS)

    def __repr__(self):
        return f"<OpOverloadPacket(op='aten.{self.__name__}')>"


def find(name: str) -> Packet | None:
    """Return the operator of a name, if ingot has it."""
    if name in _OWN:
        return Packet(name, _OWN[name])
    api.load_rest()
    for place in (FUNCTIONS, vars(Tensor), vars(functional)):
        if callable(place.get(name)):
            return Packet(name, place[name])
    return None
