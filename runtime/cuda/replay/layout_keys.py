"""Numbers for how arrays lie on a device: shape, strides, dtype, and where between whole vectors the first element is.

What an operator does with arrays follows from these (and from which of them share memory), so calls are told apart by them
(`launch_cache.py`), and views are found by them. An array keeps its number.
"""

import itertools

from ...core.device_array import DeviceArray
from ..driver.driver_state import thread as noting

BETWEEN = 15              # bits of an address that say where between whole vectors it lies
_MOST = 8192
_numbers: dict = {}
_views: dict = {}          # (view operator, layout, parameters) -> how the result lies
_next = itertools.count(1)
_new = object.__new__


def layout_of(a: DeviceArray) -> int:
    """Return the number of an array's layout."""
    a.layout = found = number_of(a.memory.device, a.shape, a.strides, a.dtype, (a.memory.pointer + a.offset) & BETWEEN)
    return found


def number_of(*layout) -> int:
    """Return the number of (device, shape, strides, dtype, bytes after a whole vector). Whoever comes after too many others
    gets one that nobody has had."""
    found = _numbers.get(layout)
    if found is None:
        if len(_numbers) >= _MOST:
            _numbers.clear()
        found = _numbers[layout] = next(_next)
    return found


def viewed(a: DeviceArray, op, params) -> DeviceArray:
    """What a view operator makes of an array; a copy where strides cannot say it."""
    if noting.notes is not None:        # whose sizes may be symbols
        return a.viewed(op, params)
    key = op, a.layout or layout_of(a), *params.items()
    try:
        known = _views.get(key)
    except TypeError:                   # a parameter that cannot be a key
        return a.viewed(op, params)
    if known is None:
        made = a.viewed(op, params)
        if made.memory is a.memory:
            if len(_views) >= _MOST:
                _views.clear()
            _views[key] = made.shape, made.strides, made.dtype, made.offset - a.offset, made.is_contiguous, layout_of(made)
        return made
    made = _new(DeviceArray)
    made.shape, made.strides, made.dtype, offset, made.is_contiguous, made.layout = known
    made.kind, made.memory, made.offset = a.kind, a.memory, a.offset + offset
    made.base = a if a.base is None else a.base
    return made
