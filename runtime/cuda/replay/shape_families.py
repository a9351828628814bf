"""Families of plans: one structure of a call, any sizes.

The first plan of a structure is for its sizes alone, because most programs have no others and this takes half as long. For
other sizes, a plan is made with symbols (`ir/symbols/symbolic.py`) for sizes and strides, except small ones, which decide
broadcasting and lanes. Equal numbers share one symbol. Every decision about symbols, also of heuristics, becomes a condition.
So a plan serves all calls that meet its conditions and does for each what its own plan would do: no result depends on which
shape came first.
"""

from typing import Any, NamedTuple

import numpy as np

from ....ir.errors import GraphError
from ....ir.locks import new_rlock
from ....ir.opdef.aval import Aval
from ....ir.opdef.params import params_key
from ....ir.symbols.scope import Scope
from ....ir.symbols.substitute import condition_check, has_symbols
from ....ir.symbols.symbolic import hint
from ...core.device_array import DeviceArray, contiguous_strides
from ..compiler import kernels
from ..driver.driver_state import on_replaced_driver, thread

LEAST = 4                  # least size that is a symbol
_NEVER = 1 << 62
_NUMBERS = frozenset((int, float, bool))
_SIZES = "shape"           # parameter with sizes, of operators that have one
_MOST = 4096               # plans that are cached in all, and
_MOST_ALIKE = 64           # for one structure
_lock = new_rlock()


class Kind(NamedTuple):
    """Structure of a call, and its numbers, which may differ between calls of one structure."""

    structure: tuple
    numbers: tuple

    @property
    def is_key(self) -> bool:
        """Whether all parameters are hashable."""
        try:
            hash(self.structure)
        except TypeError:
            return False
        return True


def kind_of(call, inputs, params) -> Kind:
    """Return the kind of a call. Under an observer, which reads sizes of values, all sizes are part of the structure."""
    symbolic = _has_symbols()
    numbers: Any = {} if not symbolic else _Symbols()
    least = LEAST if not kernels.OBSERVERS else _NEVER
    structure: list = [call]
    for x in inputs:
        if x.__class__ is DeviceArray:
            structure += x.dtype, _pattern(x.shape, numbers, least)
            if not x.is_contiguous:
                size = x.dtype.itemsize
                structure.append(x.strides if has_plain_layout(x) else _pattern([s // size for s in x.strides], numbers, least))
        elif x is None or x.__class__ in _NUMBERS:
            structure.append(x if type(x) is bool else x.__class__)
        elif x.__class__ is Aval:
            structure += x.dtype, _pattern(x.shape, numbers, least), "like"
        else:
            structure += "host", np.shape(x), getattr(x, "dtype", type(x))
    if _SIZES in params:
        structure.append(_pattern(params[_SIZES], numbers, least))
        params = {name: x for name, x in params.items() if name != _SIZES}
    if params:
        if symbolic and has_symbols(tuple(params.values())):
            raise TypeError("a parameter that is no shape may be no symbol: it is a part of what is made")
        structure.append(params_key(params))
    return Kind(tuple(structure), tuple(numbers.values() if symbolic else numbers))


def _has_symbols() -> bool:
    """Return whether this thread records with symbols for sizes."""
    recorder = thread.recorder
    return recorder is not None and recorder.symbolic


def _pattern(sizes, numbers, least) -> tuple:
    """Return small sizes as they are, and others as ~index of their number; negative strides are marked."""
    return tuple([~numbers.setdefault(n, len(numbers)) if n >= least else int(n) if n >= 0 else (int(n),) for n in sizes])


class _Symbols(dict):
    """Numbers that may be symbols, by their current values; comparisons become conditions."""

    def setdefault(self, n, place):
        for i, known in enumerate(self.values()):
            if known == n:
                return i
        self[place] = n
        return place


def has_plain_layout(x: DeviceArray) -> bool:
    """Return whether an array is contiguous, or will be, because strides in elements cannot express its layout."""
    if x.is_contiguous or 0 in x.shape:
        return True
    size = x.dtype.itemsize
    return any([s % size for s in x.strides])  # noqa: C419  (quicker)


class Sizes:
    """Symbols for the numbers of a call, and for distances between arrays of one memory; none if `fixed`."""

    def __init__(self, numbers, apart=(), fixed=False):
        self.scope = Scope(least=LEAST, judges=True)
        self.scope.is_inner, self.scope.exact = True, {}
        self._symbols = {n: self.scope.size(f"n{i}", n) for i, n in enumerate(numbers)}
        self.apart = [self.scope.count(f"d{i}", n) for i, n in enumerate(apart)]
        self.names, self.symbols = tuple(self.scope.hints), tuple(self.scope.hints)
        if fixed:
            self.scope.conditions = {f"{name} == {n}": None for name, n in self.scope.hints.items()}
            self._symbols, self.symbols = {}, ()

    def of(self, sizes) -> tuple:
        """Return sizes or strides with symbols for numbers."""
        return tuple([self._symbols.get(n, n) for n in map(hint, sizes)])

    def of_array(self, a: DeviceArray, offset) -> DeviceArray:
        """Return an array of symbolic sizes in the same memory."""
        made: Any = object.__new__(DeviceArray)
        made.kind, made.memory, made.base, made.offset, made.dtype = a.kind, a.memory, a.base, offset, a.dtype
        made.layout = 0
        made.shape, made.is_contiguous, size = self.of(a.shape), a.is_contiguous, a.dtype.itemsize
        made.strides = (contiguous_strides(made.shape, size) if a.is_contiguous else a.strides if has_plain_layout(a) else
                        tuple([n * size for n in self.of([s // size for s in a.strides])]))
        return made

    def of_aval(self, like):
        """Return an aval with symbolic sizes; other values unchanged."""
        return like.with_shape(self.of(like.shape)) if like.__class__ is Aval else like

    def end(self):
        """Forbid further use of the numbers, because the plan serves others as well."""
        self.scope.hints = _Ended()

    def of_params(self, params) -> dict:
        return params if _SIZES not in params else params | {_SIZES: self.of(params[_SIZES])}


class _CachedPlan(NamedTuple):
    """A plan, its condition, and whether it is for certain sizes alone."""

    holds: Any
    made: Any
    fixed: bool


_made: dict = {}           # structure -> [_Kept]
_count = 0


def cached_plan(kind: Kind, make):
    """Return the plan for a call of this kind: a cached one, or that of `make(sizes)`."""
    numbers, symbolic = kind.numbers, _has_symbols()
    alike = _made.get(kind.structure, ())
    for holds, made, fixed in alike:
        if not (fixed and symbolic) and holds(*numbers):
            return made
    return _make(kind, make, not (alike or symbolic))


def _make(kind, make, fixed):
    global _count
    sizes = Sizes(tuple(map(hint, kind.numbers)), fixed=fixed)
    made = make(sizes)
    holds = condition_check(sizes.scope.conditions, sizes.names)
    sizes.end()
    holds(*kind.numbers)        # (with symbols, these decisions are conditions of the recording caller, too)
    with _lock:
        if _count >= _MOST:
            _made.clear()
            _count = 0
        alike = _made.setdefault(kind.structure, ())
        _made[kind.structure] = (*alike[1 - _MOST_ALIKE:], _CachedPlan(holds, made, fixed))
        _count += 1
    return made


class _Ended(dict):
    """Values of a closed scope: reading one raises, because the plan serves other numbers as well."""

    def __missing__(self, name):
        raise GraphError(f"size {name} has no value: something was not bound to the sizes of a call")


def count() -> int:
    """Return the number of cached plans."""
    return _count


@on_replaced_driver
def _forget():
    """Forget all plans."""
    global _count
    with _lock:
        _made.clear()
        _count = 0
