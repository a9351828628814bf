"""Memory of devices: their allocators, memory objects that free themselves, and pools of captured graphs."""

import itertools
import weakref
from collections import deque
from collections.abc import Callable
from ctypes import byref, c_int, c_void_p
from functools import partial
from typing import TypeVar

from ....ir.errors import OutOfMemoryError
from ....ir.symbols.symbolic import hint
from ..driver import context as contexts
from ..driver import launch_queue, streams
from ..driver.driver_state import DriverCache, is_capturing, on_replaced_driver, thread
from ..driver.endings import each, leave
from .allocator import BEFORE_SEARCH, Allocator, Block, MemorySource

_Source = TypeVar("_Source", bound=MemorySource)
_allocators = DriverCache()     # by device
_RELAXED = 2
_new = object.__new__


class Memory:
    """Device memory, freed with the last reference to it.

    stream   stream that may use it without `used_on`; None if that may change
    """

    __slots__ = ("__weakref__", "allocator", "block", "device", "nbytes", "pointer", "stream")
    block: Block

    def __init__(self, device: int, nbytes: int, stream: int | None = None):
        stream = streams.current(device).handle if stream is None else stream
        self.device, self.stream = device, None if thread.pool else stream
        found = self.allocator = _allocators.get(device) or _make(device)
        if thread.recorder is None:
            self.nbytes = nbytes if nbytes.__class__ is int else hint(nbytes)
            block = self.block = found.allocate(self.nbytes, stream, thread.pool, self)
            self.pointer = block.pointer
        else:
            self._allocate_recorded(nbytes, stream)

    def _allocate_recorded(self, nbytes, stream):
        """Allocate while driver calls are recorded; the allocator's own calls are not."""
        recorder = thread.recorder
        try:
            thread.recorder = None
            self.nbytes = hint(nbytes)
            self.block = self.allocator.allocate(self.nbytes, stream, thread.pool, self)
            self.pointer = self.block.pointer
        finally:
            thread.recorder = recorder
        recorder.took(self, nbytes)

    def used_on(self, stream: int):
        """Record that another stream uses this memory. A captured stream runs nothing: replays record their streams."""
        if not thread.pool:
            self.block.used_on(stream)


def taken(device: int, sizes, stream: int) -> list:
    """Return new memory of several sizes, without recording."""
    allocator, pool = _allocators.get(device) or _make(device), thread.pool
    home, found = None if pool else stream, [_new(Memory) for _ in sizes]
    for memory, block, nbytes in zip(found, allocator.allocate_each(found, sizes, stream, pool), sizes):
        memory.device, memory.allocator, memory.stream = device, allocator, home
        memory.block, memory.nbytes, memory.pointer = block, nbytes, block.pointer
    return found


class NoMemory:
    """Memory of an array that only names its device."""

    __slots__ = ("__weakref__", "device")
    pointer = nbytes = 0
    stream = None

    def __init__(self, device: int):
        self.device = device

    def used_on(self, stream: int):
        """Do nothing."""


class ForeignMemory:
    """Device memory of another owner, which is held as long as this object.

    The owner does not know our streams, so their work is waited for before the memory goes back: the owner is held until
    `give_foreign_back`, which the next request for memory calls. A stream that is being captured cannot be waited for.
    """

    __slots__ = ("__weakref__", "context", "device", "nbytes", "owner", "pointer", "streams")
    stream = None

    def __init__(self, device: int, pointer: int, nbytes: int, owner):
        self.device, self.pointer, self.nbytes, self.owner = device, pointer, nbytes, owner
        self.context, self.streams = contexts.context(device), set()
        launch_queue.disable()
        give_foreign_back()
        leave(self, _foreign, (self.context, self.streams, owner))

    def used_on(self, stream: int):
        """Record a stream that works on this memory."""
        if not thread.pool:
            self.streams.add(stream)


_foreign: deque = deque()       # endings of foreign memory: (context, streams, owner)
on_replaced_driver(_foreign.clear)


def _waited_for(context, handles) -> bool:
    """Wait for streams; return False if one is being captured. The current context and capture are restored."""
    raw, before, status, exchange = context.driver.raw, c_void_p(), c_int(), mode_exchange(context.driver)
    raw["cuCtxGetCurrent"](byref(before))
    back, free = before.value, True
    try:
        exchange()
        raw["cuCtxSetCurrent"](context.handle)
        for stream in handles:
            raw["cuStreamIsCapturing"](stream, byref(status))
            free = free and not status.value
        for stream in handles if free else ():
            raw["cuStreamSynchronize"](stream)
    finally:
        exchange()
        raw["cuCtxSetCurrent"](back)
    return free


def give_foreign_back():
    """Release foreign memory that is gone, unless a stream that uses it is captured."""
    each(_foreign, lambda ending: _waited_for(*ending.left[:2]))


BEFORE_SEARCH.append(give_foreign_back)


def with_room(device: int, ask: Callable):
    """Call a driver function that allocates device memory; if there is none, free cached memory and call again.

    The thread of the launch queue frees nothing, because calls behind it may use that memory.
    """
    try:
        return ask()
    except OutOfMemoryError:
        if thread.runs:
            raise
        found = allocator(device)
        found.settle_all()
        found.empty()
        return ask()


def keep(memory):
    """Hold memory, also the host's, as long as the graph being captured or the recorded launches; call it before its use."""
    if thread.held is not None:
        thread.held.append(memory)
    if thread.recorder is not None:
        thread.recorder.holds(memory)


class LaunchListener:
    """Something in a captured graph that hears of each launch. `keep` gives it to the graph that is captured."""

    def check(self):
        """Raise the reason why the graph cannot be launched any more."""
        raise NotImplementedError

    def launched(self, stream):
        """Note a launch in a stream."""
        raise NotImplementedError


def aside(device: int, work: Callable):
    """Return `work()`, done outside of any capture: now, in a stream of its own that is waited for, with memory of the common
    pool."""
    if not is_capturing():
        return work()
    exchange, before = mode_exchange(contexts.context(device).driver), (thread.pool, thread.held, thread.draws)
    try:
        exchange()
        thread.pool, thread.held, thread.draws = 0, None, None
        stream = streams.Stream(device)
        result = streams.run_in(stream, work)
        stream.synchronize()
        return result
    finally:
        exchange()
        thread.pool, thread.held, thread.draws = before


def allocator(device: int) -> Allocator:
    """Return the allocator of a device."""
    return _allocators.get(device) or _make(device)


def _make(device):
    context = contexts.context(device)
    driver = context.driver

    def take(size, place):
        contexts.context(device)
        exchange = mode_exchange(driver)
        try:
            exchange()
            driver.cuMemAlloc_v2(byref(place), size)
        finally:
            exchange()

    def give(pointer, forget):
        contexts.context(device)
        exchange = mode_exchange(driver)
        try:
            exchange()
            driver.noted(forget, "cuMemFree_v2", pointer)
        finally:
            exchange()

    def mark(stream):
        return streams.Stream(device, handle=stream).record_event()

    # Without a lock: the garbage collector may run a finaliser that needs the allocator. (An error in the launch queue is for
    # who waits for it.)
    return _allocators.setdefault(device, Allocator(
        device, take, give, mark, lambda event: not launch_queue.is_ahead() and event.query(), streams.Event.synchronize))


def adopt(device: int, allocator: _Source) -> _Source:
    """Replace the allocator of a device, and return the new one."""
    _allocators[device] = allocator
    return allocator


def started() -> dict:
    """Return the allocators in use, by device."""
    return dict(_allocators)


def mode_exchange(driver) -> Callable:
    """Return a function, in C, that takes calls of this thread out of captures, and puts the mode back when called again.

        exchange = mode_exchange(driver)
        try:
            exchange()
            ...
        finally:
            exchange()

    No signal is handled between an `exchange()` and the `try` or `finally` before it, as it would be in a context manager.
    """
    return partial(driver.raw["cuThreadExchangeStreamCaptureMode"], byref(c_int(_RELAXED)))


_numbers = itertools.count(1)


def new_number() -> int:
    """Return the number of a new pool."""
    return next(_numbers)


class Pool:
    """A memory pool for captured graphs; several graphs of a device may share one."""

    _users: dict[tuple, list] = {}        # weak references to its users
    _streams: dict[tuple, set] = {}       # streams that its graphs ran in

    def __init__(self, device: int, number: int | None = None):
        self.device, self.number = device, new_number() if number is None else number
        self.allocator = allocator(device)          # (requested here: in a finaliser this might change the thread's context)
        self._key = self.device, self.number
        self.held: list = []
        self.entered = self._released = False
        self._token = object()
        self._users.setdefault(self._key, []).append(weakref.ref(self))

    def enter(self, draws=None):
        """Allocate this thread's blocks from the pool; called before the capture, since events are queried."""
        self.allocator.settle()
        self.allocator.captures.add(self._token)
        self.entered, thread.pool, thread.held, thread.draws = True, self.number, self.held, draws

    @property
    def is_entered(self) -> bool:
        return thread.held is self.held

    def leave(self):
        """Allocate this thread's blocks from common memory again. It may be left more than once."""
        if self.is_entered:
            thread.pool, thread.held, thread.draws = 0, None, None
        self.entered = False
        self.allocator.captures.discard(self._token)

    def release(self, streams):
        """Drop a user of the pool, which ran in `streams`; after the last one its memory becomes common. It may be repeated."""
        if self._released:
            return
        self._streams.setdefault(self._key, set()).update(streams)
        for memory in self.held:
            if isinstance(memory, Memory):
                for stream in streams:
                    memory.block.used_on(stream)
            elif hasattr(memory, "piece"):          # (of page-locked memory, `pinned.py`)
                memory.piece.used_by_graphs(memory, self.device, streams)
        self.held.clear()
        others = [p for p in [ref() for ref in self._users.get(self._key, ())] if p is not self and p is not None]
        if all(p._released for p in others):
            self.allocator.end_pool(self.number, self._streams.get(self._key, ()))
            self._released = True
            self._users.pop(self._key, None)
            self._streams.pop(self._key, None)
        self._released = True

