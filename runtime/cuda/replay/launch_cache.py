"""Cache of the driver calls of eager operators, recorded once and repeated.

Which kernels an operator launches, on which places in memory, follows from the layouts of its operands, its parameters and
the switches that are set. Working that out (plans, tiles, copies of operands that lie unfit) takes longer than the launches: a
run of each kind of call is noted (`launch_list.py`). Calls that differ in sizes and strides alone are a family: once there
are such, its runs are noted with symbols for these (`shape_families.py`), and whatever is decided by them on the way is a
condition. A list is bound to the numbers of any call that meets its conditions; what comes later with the same numbers repeats
the bound list.

A run counts only if the list holds all that the driver was asked: one that waits, reads values or uploads something is
never repeated, nor is one on memory that is neither an operand's nor its own (but for the words of `status_words.py`, and
tables that are there for good). What cannot be noted with symbols (a table is kept by sizes, too many conditions) is noted as
it comes.
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
from ..driver.driver_state import thread as noting
from ..memory.pools import is_capturing
from . import shape_families
from .launch_list import OURS, Notes, Recipe, SizedList
from .layout_keys import BETWEEN, layout_of

_FIRST, _LAST = 2, 6       # runs of a kind that may be noted: by then everything is loaded
_MOST = 8192
_MOST_LISTS = 48           # of a family: then calls are noted as they come
_PLAIN = frozenset((int, bool, str, type(None), DType))
_UNFIT = TypeError, GraphError, struct.error, ctypes.ArgumentError
_lists = 0                 # that families have in all
_known: dict = {}          # a kind of call -> its Recipe, or how often it ran without one
_families: dict = {}       # what calls have in common that differ in sizes -> _Family


class _Family:
    """What is known of calls that differ in sizes and strides alone.

    lists   those that were noted with symbols
    runs    how many runs there were without a list
    first   the numbers of the first one, and `varies` whether others came
    open    whether more may be noted so
    """

    __slots__ = ("first", "lists", "open", "runs", "varies")

    def __init__(self, first):
        self.lists: tuple = ()
        self.runs, self.first, self.varies, self.open = 0, first, False, True


def run(op, inputs, params, device, work, pure=True):
    """Return the result of `work(op, inputs, params, device)`, repeated where that is known to give the same; `pure` if it
    writes over nothing."""
    if noting.notes is not None or kernels.OBSERVERS or kernels.LISTENERS:
        return work(op, inputs, params, device)     # (notes are of a call that this is a part of, whose list has every launch)
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
    if known.__class__ is Recipe:
        if known.switches == switches():
            return known(arrays, device)
        known = 0
    if is_capturing() or not all([a.memory.device == device for a in arrays]):  # noqa: C419  (quicker)
        return work(op, inputs, params, device)
    return _new(key, known, arrays, shared, (op, inputs, params, device, work, pure))


def _new(key, known, arrays, shared, call):
    """Return a run of a kind that has no recipe yet."""
    op, inputs, params, device, work, _ = call
    kind = shape_families.kind_of(op, inputs, params)
    numbers = [x if x else repr(x) for x in inputs if x.__class__ is not DeviceArray and x.__class__ is not Aval]
    starts = _starts(arrays)
    of_all = (kind.structure, device, tuple(numbers), starts if any(starts) else (),
              tuple([s[:2] if s[2] else s for s in shared]))
    values = (*kind.numbers, *[s[2] for s in shared if s[2]])
    family = _families.get(of_all)
    if family is None:
        if len(_families) >= _MOST:
            _families.clear()
        family = _families[of_all] = _Family(values)
    for one in family.lists:
        if one.holds(*values) and one.switches == switches():
            recipe = one.bind(values, device, starts, bool(known))
            _remember(key, recipe if known else 1)      # (what never comes again is not worth keeping)
            return recipe(arrays, device)
    family.runs += 1
    family.varies = family.varies or values != family.first
    if known <= _LAST:
        _remember(key, known + 1)
    if family.runs <= _FIRST or not all([type(a.memory) in OURS for a in arrays]):  # noqa: C419  (quicker)
        return work(op, inputs, params, device)
    if family.open and family.varies:
        return _noted_for_all(family, kind.numbers, shared, arrays, call)
    return _noted(key, arrays, call) if 0 < known <= _LAST else work(op, inputs, params, device)


def _starts(arrays) -> tuple:
    """Where between whole vectors arrays begin."""
    return tuple([(a.memory.pointer + a.offset) & BETWEEN for a in arrays])


def _remember(key, what):
    if len(_known) >= _MOST:
        _known.clear()
    _known[key] = what


def _told(param):
    """What tells a parameter from others: -0.0 from 0.0, and 1.0 from 1, also where they stand in tuples."""
    whole = param.__class__ is tuple and all([n.__class__ is int for n in param])  # noqa: C419  (a list is quicker here)
    return param if whole else param_key(param)


def switches() -> tuple:
    """What else kernels depend on."""
    return config.current(), precision.of_all()


def _sharing(arrays) -> tuple:
    """Return (one operand, a later one in the same memory, how far that lies from the first) of each that has one before it."""
    seen: dict = {}
    found: tuple = ()
    for n, a in enumerate(arrays):
        first = seen.setdefault(id(a.memory), n)
        if first != n:
            found += (first, n, a.offset - arrays[first].offset),
    return found


def _noted(key, arrays, call):
    """Return a run that leaves a recipe, if it can be repeated."""
    op, inputs, params, device, work, _ = call
    now, notes = switches(), Notes(arrays)
    found = _run_noted(notes, work, op, inputs, params, device)
    noted = notes.list(found)
    if noted is not None:
        _remember(key, Recipe(noted, device, _starts(arrays), now))
    return found


def _run_noted(notes, work, *call):
    noting.notes = notes
    try:
        return work(*call)
    finally:
        noting.notes = None


def _noted_for_all(family, numbers, shared, arrays, call):
    """Return a run with symbols for sizes, strides and distances, which leaves a list for all that meet its conditions."""
    op, inputs, params, device, work, pure = call
    now, sizes = switches(), shape_families.Sizes(numbers, [s[2] for s in shared if s[2]])
    sizes.scope.is_inner, sizes.scope.is_key, sizes.scope.exact = False, False, None
    offsets, apart = [a.offset for a in arrays], iter(sizes.apart)
    for first, n, distance in shared:
        offsets[n] = offsets[first] + (next(apart) if distance else 0)
    stand_ins = [sizes.of_array(a, offset) for a, offset in zip(arrays, offsets)]
    places = iter(stand_ins)
    given = [next(places) if x.__class__ is DeviceArray else sizes.of_aval(x) for x in inputs]
    notes = Notes(stand_ins, symbolic=True)
    try:
        found = _run_noted(notes, work, op, tuple(given), sizes.of_params(params), device)
        noted = notes.list(found)
        made = noted and SizedList(noted, sizes.scope, sizes.names, now)
        results = _as_numbers(found, stand_ins, arrays)
    except _UNFIT:          # something does not take symbols, or the call is wrong, which the next lines say
        if notes.asked and not pure:
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


def _keep(family, made):
    """Keep a list, all of which take some room."""
    global _lists
    if _lists >= _MOST:
        _families.clear()
        _lists = 0
    _lists += 1
    family.lists = (*family.lists, made)
    family.open = len(family.lists) < _MOST_LISTS


def _as_numbers(found, stand_ins, arrays):
    """What a run with symbols gave, with numbers; the operands themselves where it gave their stand-ins."""
    if type(found) is tuple:
        return tuple([_as_numbers(a, stand_ins, arrays) for a in found])
    if found.__class__ is not DeviceArray:
        return found
    at = next((n for n, a in enumerate(stand_ins) if a is found), None)
    if at is not None:
        return arrays[at]
    memory, base = found.memory, None
    if found.base is not None:
        base = next((a for a in arrays if a.memory is memory), None)
        base = DeviceArray(found.kind, memory, (memory.nbytes,), "uint8") if base is None else base
    return DeviceArray(found.kind, memory, map(hint, found.shape), found.dtype, map(hint, found.strides), hint(found.offset),
                       base)


def forget():
    """Forget all recipes, for a driver that was replaced."""
    global _lists
    _known.clear()
    _families.clear()
    _lists = 0
