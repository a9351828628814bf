"""Cache of the driver calls of eager operators, recorded once and repeated.

The layouts of operands, the parameters and the switches determine an operator's kernels and their memory. Computing plans,
tiles and copies takes longer than the launches, so one run of each kind of call is recorded (`launch_list.py`). Calls that
differ only in sizes and strides form a family: their runs are recorded with symbols (`shape_families.py`), and every decision
about symbols becomes a condition. A list is bound to the numbers of any call that meets its conditions; later calls with the
same numbers repeat the bound list.

A run is cached only if the list has all its driver calls. A run that waits, reads values or uploads is never repeated, nor is
one on memory that belongs neither to an operand nor to the run (except status words, and permanent tables). A run that cannot
be recorded with symbols (a table depends on sizes, too many conditions) is recorded with its numbers.
"""

import ctypes
import struct

from ....ir import config
from ....ir.dtype import DType
from ....ir.errors import GraphError
from ....ir.opdef.aval import Aval
from ....ir.opdef.params import param_key
from ....ir.symbols.symbolic import hint
from ...core.device_array import DeviceArray
from ..compiler import kernels, precision
from ..driver.driver_state import DriverCache, on_replaced_driver, thread
from ..memory.pools import is_capturing
from . import shape_families
from .launch_list import OURS, LaunchList, LaunchRecorder, SizedList
from .layout_keys import BETWEEN, layout_of

_FIRST, _LAST = 2, 6       # number of a kind's runs that may be recorded; by then everything is loaded
_MOST = 8192
_MOST_LISTS = 48           # lists of a family with symbols; later calls are recorded with numbers
_PLAIN = frozenset((int, bool, str, type(None), DType))
_UNFIT = TypeError, GraphError, struct.error, ctypes.ArgumentError
_lists = 0                 # number of all lists of families
_known = DriverCache(_MOST)        # kind of a call -> its LaunchList, or its number of runs without one
_families = DriverCache(_MOST)     # common part of calls that differ in sizes -> _Family


class _Family:
    """State of calls that differ only in sizes and strides.

    lists   lists recorded with symbols
    runs    number of runs without a list
    first   numbers of the first run; `varies` tells whether others came
    open    whether more may be recorded with symbols
    """

    __slots__ = ("first", "lists", "open", "runs", "varies")

    def __init__(self, first):
        self.lists: tuple = ()
        self.runs, self.first, self.varies, self.open = 0, first, False, True


def run(op, inputs, params, device, work, pure=True):
    """Return the result of `work(op, inputs, params, device)`, or of its repeated list; `pure` if it overwrites nothing."""
    if thread.recorder is not None or kernels.OBSERVERS or kernels.LISTENERS:
        return work(op, inputs, params, device)     # (a recorder belongs to an enclosing call, whose list has every launch)
    arrays: list = []
    kind: list = [op, device, *params]
    shared: tuple = ()
    for x in inputs:
        sort = x.__class__
        if sort is DeviceArray:
            arrays.append(x)
            kind.append(x.layout or layout_of(x))
        elif sort is float or sort is int or sort is bool or x is None:
            kind += sort, x if x else repr(x)           # 0.0 is not -0.0
        elif sort is Aval:          # of what no values are read
            kind += x.shape, x.dtype
        else:
            return work(op, inputs, params, device)
    for x in params.values():
        sort = x.__class__
        kind += sort, x if sort in _PLAIN or (sort is float and x) else _told(x)
    if len(arrays) > 1 and len({id(a.memory) for a in arrays}) != len(arrays):
        shared = _sharing(arrays)
        kind += shared
    key = tuple(kind)
    try:
        known = _known.get(key, 0)
    except TypeError:           # a parameter that cannot be a key
        return work(op, inputs, params, device)
    if known.__class__ is LaunchList:
        if known.switches == switches():
            return known(arrays, device)
        known = 0
    if is_capturing() or not all([a.memory.device == device for a in arrays]):  # noqa: C419  (quicker)
        return work(op, inputs, params, device)
    return _new(key, known, arrays, shared, (op, inputs, params, device, work, pure))


def _new(key, known, arrays, shared, call):
    """Run a call of a kind that has no bound list yet."""
    op, inputs, params, device, work, _ = call
    kind = shape_families.kind_of(op, inputs, params)
    numbers = [x if x else repr(x) for x in inputs if x.__class__ is not DeviceArray and x.__class__ is not Aval]
    starts = _starts(arrays)
    of_all = (kind.structure, device, tuple(numbers), starts if any(starts) else (),
              tuple([s[:2] if s[2] else s for s in shared]))
    values = (*kind.numbers, *[s[2] for s in shared if s[2]])
    family = _families.get(of_all)
    if family is None:
        family = _families.put(of_all, _Family(values))
    for one in family.lists:
        if one.holds(*values) and one.switches == switches():
            bound = one.bind(values, device, starts, bool(known))
            _known.put(key, bound if known else 1)      # (what never comes again is not worth keeping)
            return bound(arrays, device)
    family.runs += 1
    family.varies = family.varies or values != family.first
    if known <= _LAST:
        _known.put(key, known + 1)
    if family.runs <= _FIRST or not all([type(a.memory) in OURS for a in arrays]):  # noqa: C419  (quicker)
        return work(op, inputs, params, device)
    if family.open and family.varies:
        return _recorded_with_symbols(family, kind.numbers, shared, arrays, call)
    return _recorded(key, arrays, call) if 0 < known <= _LAST else work(op, inputs, params, device)


def _starts(arrays) -> tuple:
    """Return the offsets of arrays from whole vectors."""
    return tuple([(a.memory.pointer + a.offset) & BETWEEN for a in arrays])


def _told(param):
    """Return a key of a parameter that distinguishes -0.0 from 0.0, and 1.0 from 1, in tuples too."""
    whole = param.__class__ is tuple and all([n.__class__ is int for n in param])  # noqa: C419  (a list is quicker here)
    return param if whole else param_key(param)


def switches() -> tuple:
    """Return the settings that kernels depend on."""
    return config.current(), precision.of_all()


def _sharing(arrays) -> tuple:
    """Return (operand, later operand in the same memory, distance) for each later operand."""
    seen: dict = {}
    found: tuple = ()
    for n, a in enumerate(arrays):
        first = seen.setdefault(id(a.memory), n)
        if first != n:
            found += (first, n, a.offset - arrays[first].offset),
    return found


def _recorded(key, arrays, call):
    """Record a run, and cache its list if it can be repeated."""
    op, inputs, params, device, work, _ = call
    now, recorder = switches(), LaunchRecorder(arrays)
    found = _run_recording(recorder, work, op, inputs, params, device)
    recorded = recorder.list(found)
    if recorded is not None:
        _known.put(key, LaunchList(recorded, device, _starts(arrays), now))
    return found


def _run_recording(recorder, work, *call):
    thread.recorder = recorder
    try:
        return work(*call)
    finally:
        thread.recorder = None


def _recorded_with_symbols(family, numbers, shared, arrays, call):
    """Record a run with symbols for sizes, strides and distances; cache its list for all that meet its conditions."""
    op, inputs, params, device, work, pure = call
    now, sizes = switches(), shape_families.Sizes(numbers, [s[2] for s in shared if s[2]])
    sizes.scope.is_inner, sizes.scope.is_key, sizes.scope.exact = False, False, None
    offsets, apart = [a.offset for a in arrays], iter(sizes.apart)
    for first, n, distance in shared:
        offsets[n] = offsets[first] + (next(apart) if distance else 0)
    stand_ins = [sizes.of_array(a, offset) for a, offset in zip(arrays, offsets)]
    remaining = iter(stand_ins)
    given = [next(remaining) if x.__class__ is DeviceArray else sizes.of_aval(x) for x in inputs]
    recorder = LaunchRecorder(stand_ins, symbolic=True)
    try:
        found = _run_recording(recorder, work, op, tuple(given), sizes.of_params(params), device)
        recorded = recorder.list(found)
        made = recorded and SizedList(recorded, sizes.scope, sizes.names, now)
        results = _as_numbers(found, stand_ins, arrays)
    except _UNFIT:          # something does not take symbols, or the call is wrong, which the next lines say
        if recorder.calls and not pure:
            raise
        results = work(op, inputs, params, device)
        family.open = False
        return results
    finally:
        sizes.end()
    if made is None:
        family.open = False
    else:
        _keep(family, made)
    return results


def _keep(family, sized_list):
    """Cache a list of a family, within the limit."""
    global _lists
    if _lists >= _MOST:
        _families.clear()
        _lists = 0
    _lists += 1
    family.lists = (*family.lists, sized_list)
    family.open = len(family.lists) < _MOST_LISTS


def _as_numbers(result, stand_ins, arrays):
    """Return the result of a run with symbols, with numbers; operands replace their stand-ins."""
    if type(result) is tuple:
        return tuple([_as_numbers(a, stand_ins, arrays) for a in result])
    if result.__class__ is not DeviceArray:
        return result
    at = next((n for n, a in enumerate(stand_ins) if a is result), None)
    if at is not None:
        return arrays[at]
    memory, base = result.memory, None
    if result.base is not None:
        base = next((a for a in arrays if a.memory is memory), None)
        base = DeviceArray(result.kind, memory, (memory.nbytes,), "uint8") if base is None else base
    strides, offset = map(hint, result.strides), hint(result.offset)
    return DeviceArray(result.kind, memory, map(hint, result.shape), result.dtype, strides, offset, base)



@on_replaced_driver
def forget():
    """Forget all lists."""
    global _lists
    _known.clear()
    _families.clear()
    _lists = 0
