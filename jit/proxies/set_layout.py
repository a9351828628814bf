"""Layout of a set: the places of its elements in its hash table, on which the order of iteration depends.

Two sets with the same elements may differ in order, and sets in the same order may differ once an element is added. The size of
the table counts, and so do the places of removed elements. So recordings compare layouts, and replays give a set a layout by
public methods. CPython shows the table only in the memory of the set. No layout is known on other interpreters.
"""

import ctypes
import functools
import itertools
import sys
from operator import is_
from typing import Any, NamedTuple

import numpy as np

from ...runtime.cpu.calls.call import knows_objects

_BYTES_AT = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_ssize_t)((
    "PyBytes_FromStringAndSize", ctypes.pythonapi))
_START = object.__basicsize__   # of the fields of a set in its memory
_REMOVED = -1                   # hash in the place of a removed element
_HIGH = 1 << 60                 # added to the hashes of elements that hold a place: no number has such a hash by chance
_UNKNOWN = itertools.count()


class _Head(ctypes.Structure):
    """Fields of a set object behind the reference count and the class (CPython 3.11 to 3.15)."""

    _fields_ = [(name, ctypes.c_ssize_t) for name in ("fill", "used", "mask", "table", "hash", "finger")]


class SetContent(NamedTuple):
    """Elements of a set in their order, and its layout: where `pop` goes on, the hash in each place of the table, and whether
    something lies there. CPython leaves an object of its own in the place of a removed element."""

    elements: tuple
    layout: bytes

    def __repr__(self):
        return f"{{{', '.join(map(repr, self.elements))}}}" if self.elements else "set()"


class _TableSized(Exception):
    """Ends an update whose first element is compared, after the table was made larger for all of them."""


class _Holder:
    """Element that holds the place of another one, or of a removed one."""

    __slots__ = ("place",)

    def __init__(self, place):
        self.place = place

    def __hash__(self):
        return _HIGH + self.place


class _Stop(_Holder):
    """Key whose comparison ends an update."""

    __slots__ = ()
    __hash__ = _Holder.__hash__

    def __eq__(self, other):
        raise _TableSized


def layout_of(values) -> bytes:
    """Return the layout of a set or frozenset. If the interpreter does not tell, each one is different."""
    return _layout(values) if knows_layouts() else next(_UNKNOWN).to_bytes(8)


def content_of_set(values: set) -> SetContent:
    """Return the elements and the layout of a set, past the methods of its class."""
    return SetContent(tuple(set.__iter__(values)), layout_of(values))


def table_of(values) -> bytes:
    """Return the layout of a set or frozenset with the addresses of its elements, which is quicker to read."""
    if not knows_layouts():
        return next(_UNKNOWN).to_bytes(8)
    head = _Head.from_address(id(values) + _START)
    # One call of C code, between whose reads of the address and of the table no other thread runs.
    return _BYTES_AT(head.table, 16 * (head.mask + 1)) + head.finger.to_bytes(8, sys.byteorder)


def _layout(values) -> bytes:
    words = np.frombuffer(table_of(values), np.int64)
    return words[-1:].tobytes() + words[1::2].tobytes() + (words[:-1:2] != 0).tobytes()


@functools.lru_cache(None)
def knows_layouts() -> bool:
    """Return whether the memory of sets is as `_Head` says, tried on sets of our own."""
    if not knows_objects() or sys.implementation.name != "cpython":
        return False
    values, removed = {1, 2, 11}, {3}
    removed.pop()
    head, other = [_Head.from_address(id(x) + _START) for x in (values, removed)]
    if (head.fill, head.used, head.mask, head.finger) != (3, 3, 7, 0) or (other.fill, other.used, other.finger) != (1, 0, 4):
        return False
    if head.table != id(values) + _START + ctypes.sizeof(_Head):
        return False
    table = np.frombuffer(_BYTES_AT(head.table, 128), np.int64)
    return table[1::2].tolist() == [0, 1, 2, 11, 0, 0, 0, 0]


def give_content(values: set, elements: tuple, layout: bytes):
    """Give a set the elements and the layout of another one. Other threads find what stays at any time if it is enough to take
    away and to add what differs, as after a single `add` or `discard`."""
    _exchange(values, elements)
    if not knows_layouts():
        return
    if _layout(values) != layout or not all(map(is_, set.__iter__(values), elements)):
        _rebuild(values, elements, layout)


def _exchange(values, elements):
    """Take away and add what differs."""
    kept = dict.fromkeys(elements)
    for v in [v for v in set.__iter__(values) if v not in kept]:
        set.discard(values, v)
    for v in elements:
        set.add(values, v)


def _rebuild(values, elements, layout):
    """Empty a set, and bring it to its elements and layout. An element may have another hash, because each call makes it anew;
    it goes where Python puts it."""
    size = len(layout) // 9
    finger, *hashes = np.frombuffer(layout, np.int64, size + 1).tolist()
    places = np.flatnonzero(np.frombuffer(layout, np.bool_, size, 8 * (size + 1))).tolist()
    if finger != _finger(values):
        _move_finger(values, finger)
    set.clear(values)
    holders = [_Holder(place) for place in places]
    _fill(values, holders, size)
    removed, moved = [], []
    remaining = iter(elements)
    for holder in holders:
        known = hashes[holder.place]
        if known == _REMOVED:
            removed.append(holder)
            continue
        element = next(remaining)
        if hash(element) == known:
            set.discard(values, holder)
            set.add(values, element)
        else:
            removed.append(holder)
            moved.append(element)
    for holder in removed:
        set.discard(values, holder)
    for element in moved:
        set.add(values, element)


def _fill(values, holders, size):
    """Put holders into an empty set, each into its place of a table of some size."""
    if size > 8 and holders:
        set.add(values, holders[0])
        _enlarge(values, holders[0], size)
    for holder in holders:
        set.add(values, holder)


def _enlarge(values, only, size):
    """Enlarge the table of a set with one element. An update makes room for all keys of a dictionary before it adds any."""
    keys: dict[Any, None] = {_Stop(only.place): None}
    keys.update(dict.fromkeys(range(size * 3 // 8 - 2)))
    try:
        set.update(values, keys)
    except _TableSized:
        return


def _finger(values) -> int:
    return _Head.from_address(id(values) + _START).finger


def _move_finger(values, finger):
    """Let `pop` go on from a place, as far as it can: one from which nothing was taken starts at 0."""
    set.clear(values)
    size = 8
    while size < finger:
        size *= 2
    _fill(values, [_Holder(finger - 1)], size)
    set.pop(values)


def set_of(content: SetContent) -> set:
    """Return a set that has a content. `set.copy` would put elements elsewhere."""
    made: set = set()
    give_content(made, *content)
    return made


def can_be_given(content: SetContent) -> bool:
    """Return whether a set gets a content by `give_content`."""
    if not knows_layouts():
        return False
    made = set_of(content)
    return _layout(made) == content.layout and len(made) == len(content.elements) and all(map(is_, made, content.elements))
