"""Numbers of array layouts on a device: shape, strides, dtype, and the start after a whole vector.

These (and shared memory) determine an operator's work on arrays, so they are the keys of calls (`launch_cache.py`) and of
views. An array keeps its number.
"""

import itertools

from ...core.device_array import DeviceArray
from ..driver.driver_state import thread

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
    """Return the number of (device, shape, strides, dtype, bytes after a whole vector). Numbers are never reused."""
    found = _numbers.get(layout)
    if found is None:
        if len(_numbers) >= _MOST:
            _numbers.clear()
        found = _numbers[layout] = next(_next)
    return found


def viewed(a: DeviceArray, op, params) -> DeviceArray:
    """Return a view of an array; a copy if strides cannot express it."""
    if thread.recorder is not None:        # whose sizes may be symbols
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
