"""Numbers of array layouts on a device: shape, strides, dtype, and the start after a whole vector.

These (and shared memory) determine an operator's work on arrays, so they are the keys of calls (`launch_cache.py`) and of
views. An array keeps its number.
"""

import itertools

from ...core.device_array import DeviceArray
from ..driver.driver_state import DriverCache, thread

BETWEEN = 15              # bits of an address: its bytes after a whole vector
_numbers = DriverCache(8192)
_views = DriverCache(8192)          # (view operator, layout, parameters) -> layout of the result
_next = itertools.count(1)
_new = object.__new__


def layout_of(a: DeviceArray) -> int:
    """Return the number of an array's layout."""
    a.layout = found = number_of(a.memory.device, a.shape, a.strides, a.dtype, (a.memory.pointer + a.offset) & BETWEEN)
    return found


def number_of(*layout) -> int:
    """Return the number of (device, shape, strides, dtype, bytes after a whole vector). Numbers are never reused."""
    return _numbers.get(layout) or _numbers.put(layout, next(_next))


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
            layout = made.shape, made.strides, made.dtype, made.offset - a.offset, made.is_contiguous, layout_of(made)
            _views.put(key, layout)
        return made
    made = _new(DeviceArray)
    made.shape, made.strides, made.dtype, offset, made.is_contiguous, made.layout = known
    made.kind, made.memory, made.offset = a.kind, a.memory, a.offset + offset
    made.base = a if a.base is None else a.base
    return made
