"""The caching allocator of device memory: segments of the driver, cut into blocks, reused in stream order.

A freed block goes back to the stream that it was allocated for: earlier work of that stream runs before later work, so reuse
needs no waiting. A block that other streams used (`Block.used_on`) waits for an event of each. Small requests share segments of
2 MiB, middle ones segments of 20 MiB, large ones have their own. Free neighbours merge. When the driver has no memory left,
streams that still use freed blocks are waited for, cached segments are returned, and the request is repeated.

Memory and graphs may go at any time and in any thread. So their blocks and pools wait in queues for the next allocation, where
the interpreter puts them without Python code: an exception from a signal handler would be lost in there. Most requests have the
size of a recently freed block. Such blocks lie on shelves by size; they merge into free memory only when a request finds no
room otherwise.

An exception from a signal handler may end an operation anywhere. Which segments and blocks there are, and which blocks are
free, is right at each moment: `after` links the blocks of a segment, `owner` tells whether a block is in use, and one store
links or frees one. The next operation computes the rest anew (`_rebuild`).
"""

import bisect
import weakref
from collections import deque
from collections.abc import Callable
from ctypes import c_void_p
from functools import partial
from typing import Any, Protocol

from ....ir.errors import OutOfMemoryError
from ....ir.locks import new_rlock

ROUND = 512                      # every block is a multiple of so many bytes
SMALL, MIDDLE = 1 << 20, 10 << 20
SMALL_SEGMENT, MIDDLE_SEGMENT, LARGE_ROUND = 2 << 20, 20 << 20, 2 << 20


class Block:
    """A part of a segment: in use if it has an owner, else free, on a shelf, or waiting for the streams `others`."""

    __slots__ = ("__weakref__", "after", "before", "events", "free", "key", "others", "owner", "pointer", "requested",
                 "segment", "shelf", "size")

    def __init__(self, pointer: int, size: int, segment: "Segment", key: tuple):
        self.pointer, self.size, self.segment, self.key = pointer, size, segment, key
        self.before: Block | None = None
        self.after: Block | None = None
        self.free = True
        self.requested = 0
        self.shelf: tuple = ()              # the name of the shelf that it goes to
        self.others: set | tuple = ()       # streams besides its own that use it
        self.events: list | None = None     # events of these streams that it waits for, once they are recorded
        self.owner: Any = None              # the `_Owner` that frees it, or _HELD

    def used_on(self, stream: int):
        """Record that another stream uses the block, so that it is not reused before that work is done."""
        if stream != self.key[0]:
            self.others = {*self.others, stream}


class _Owner(weakref.ref):
    """A memory object that frees a block when it goes."""

    __slots__ = ("block",)
    block: Block


_HELD = object()        # owner of a block that is freed by `release`


def frees(memory, block, freed: deque):
    """Let memory put its block into a queue when it goes: the queue gets an object with this `block`."""
    owner = _Owner(memory, freed.append)
    owner.block = block
    block.owner = owner


class Segment:
    """Memory from the driver; its blocks follow the first one."""

    __slots__ = ("first", "pointer", "size")

    def __init__(self, pointer: int, size: int, key: tuple):
        self.pointer, self.size = pointer, size
        self.first: Block | None = Block(pointer, size, self, key)

    def blocks(self):
        block = self.first
        while block is not None:
            yield block
            block = block.after


class _Nobody:
    """The owner of a block that is freed at once."""

    __slots__ = ("__weakref__",)


class Counter:
    """A count with peak and totals; decreases are subtracted from `current` directly."""

    __slots__ = ("added", "before", "current", "peak")

    def __init__(self):
        self.current = self.peak = self.added = self.before = 0

    def add(self, n: int):
        self.added += n
        now = self.current = self.current + n
        if now > self.peak:
            self.peak = now

    def put(self, n: int):
        """Set the present count. What it has grown by was added."""
        if n > self.current:
            self.add(n - self.current)
        self.current = n

    @property
    def removed(self) -> int:
        return self.before + self.added - self.current

    def reset_peak(self):
        self.peak = self.current

    def reset_totals(self):
        self.added, self.before = 0, self.current


BEFORE_SEARCH: list[Callable] = []      # release what is gone: called before free memory is looked for


def _release_gone():
    for release in BEFORE_SEARCH:
        release()


COUNTS = ("allocated_bytes", "reserved_bytes", "active_bytes", "requested_bytes", "allocation", "segment")


class MemorySource(Protocol):
    """Methods by which memory objects get and free blocks: those of an `Allocator`, or of a plan for another machine."""

    freed: deque
    captures: set

    def allocate(self, size: int, stream: int, pool: int = 0, memory: Any = None) -> Any:
        """See `Allocator.allocate`."""

    def allocate_each(self, memories, sizes, stream: int, pool: int = 0) -> list:
        """See `Allocator.allocate_each`."""
        ...

    def release(self, block):
        """See `Allocator.release`."""

    def settle(self):
        """See `Allocator.settle`."""


class Allocator:
    """Blocks of one device.

    take(bytes, place)      allocate memory of the driver, which writes the address into a place
    give(pointer, forget)   free it, and call `forget`, with nothing between the two
    mark(stream) -> event   record an event; done(event) -> bool queries it, and wait(event) waits for it
    """

    def __init__(self, device: int, take: Callable, give: Callable, mark: Callable, done: Callable, wait: Callable):
        self.device = device
        self.take, self.give, self.mark, self.done, self.wait = take, give, mark, done, wait
        self.lists: dict[tuple, list] = {}            # (stream, kind, pool) -> sorted [(size, pointer, block)]
        self.freed: deque = deque()                   # owners of blocks that went
        self.ended: deque = deque()                   # (pool, streams) of graphs that are gone
        self.waiting: deque = deque()                 # blocks that other streams may still use
        self.segments: dict[int, Segment] = {}
        self.shelves: dict[tuple, list] = {}          # (stream, pool, size) -> blocks just given back
        self.counts = {name: Counter() for name in COUNTS}
        self._in_use = [self.counts[n] for n in ("allocated_bytes", "active_bytes", "requested_bytes", "allocation")]
        self.retries = self.failures = 0
        self.limit: int | None = None                 # bytes that may be reserved
        self.captures: set = set()                    # captures in progress: events cannot be queried then
        self.lock = new_rlock()
        self._is_busy = False                         # whether an operation is under way, or was interrupted
        self._taking: Any = None                      # (place of the address, size, key) of a segment that is being taken

    # Taking and giving.

    def allocate(self, size: int, stream: int, pool: int = 0, memory=None) -> Block:
        """Return a block of at least `size` bytes for work on `stream`. It goes back with a memory object, or by `release`."""
        name = stream, pool, (size + ROUND - 1) // ROUND * ROUND or ROUND
        is_nested = self._is_busy and self._is_nested()
        with self.lock:
            if self._is_busy:
                self._begin(is_nested)
            self._is_busy = True
            if self.freed:
                self._shelve()
            shelf = self.shelves.get(name)
            block = shelf.pop() if shelf else self._block_for(name)
            block.requested = size
            if memory is None:
                block.owner = _HELD
            else:
                frees(memory, block, self.freed)
            allocated, active, requested, number = self._in_use
            allocated.add(block.size)
            active.add(block.size)
            requested.add(size)
            number.add(1)
            self._is_busy = is_nested
            return block

    def allocate_each(self, memories, sizes, stream: int, pool: int = 0) -> list:
        """Allocate a block for each of several memory objects, or none."""
        blocks: list = []
        is_nested = self._is_nested()
        with self.lock:
            self._begin(is_nested)
            self._is_busy = is_nested
            try:
                for memory, size in zip(memories, sizes):
                    blocks.append(self.allocate(size, stream, pool, memory))
            except OutOfMemoryError:
                for block in blocks:
                    self.release(block)
                raise
            return blocks

    def _is_nested(self) -> bool:
        """Return whether an operation of this thread is under way, which calls for another one. Ask without the lock."""
        return self._is_busy and self.lock._is_owned()

    def _begin(self, is_nested):
        """Note that an operation is under way. Clean up after one that was interrupted."""
        if self._is_busy and not is_nested:
            self._rebuild()
        self._is_busy = True

    def _block_for(self, name) -> Block:
        """Return a block for an empty shelf, from free or new memory."""
        stream, pool, size = name
        key = stream, size <= SMALL, pool
        _release_gone()
        self._take_in()
        block = self._reuse(key, size)
        if block is None:
            self._settle()
            block = self._reuse(key, size) or self._fresh(key, size)
        block.free, block.others, block.shelf = False, (), name
        self._split(block, size)
        return block

    def release(self, block: Block):
        """Free a block that no memory object has."""
        frees(_Nobody(), block, self.freed)

    def settle(self):
        """Process freed blocks, and those that other streams are done with."""
        is_nested = self._is_nested()
        with self.lock:
            self._begin(is_nested)
            self._settle()
            self._is_busy = is_nested

    def _settle(self):
        _release_gone()
        self._shelve()
        self._clear_shelves()
        self._take_in()

    def _clear_shelves(self):
        for shelf in self.shelves.values():
            for block in shelf:
                self._make_free(block)
        self.shelves.clear()

    def _take_in(self):
        """Process pools of dropped graphs, and blocks that other streams are done with."""
        if self.ended:
            self._clear_shelves()
        while self.ended:
            self._open_pool(*self.ended[0])
            self.ended.popleft()
        for _ in range(0 if self.captures else len(self.waiting)):
            block = self.waiting.popleft()
            if block.events is None:
                self._mark(block)
            block.events = [e for e in block.events if not self.done(e)]
            if block.events:
                self.waiting.append(block)
            else:
                self.counts["active_bytes"].current -= block.size
                self._make_free(block)

    def settle_all(self):
        """Process freed blocks and wait for the streams that use them, unless a graph is captured."""
        is_nested = self._is_nested()
        with self.lock:
            self._begin(is_nested)
            self._settle_all()
            self._is_busy = is_nested

    def _settle_all(self):
        self._settle()
        if not self.captures:
            for block in self.waiting:
                for event in block.events or ():
                    self.wait(event)
            self._settle()

    def _shelve(self):
        """Move freed blocks to shelves, or to the queue of those that other streams use."""
        allocated, active, requested, number = self._in_use
        freed, shelves = self.freed, self.shelves
        while freed:
            owner = freed.popleft()
            block = owner.block
            if block.owner is not owner:            # known since an operation was interrupted
                continue
            block.owner = None
            allocated.current -= block.size
            requested.current -= block.requested
            number.current -= 1
            if block.others:
                self._wait_for(block)
                continue
            active.current -= block.size
            shelf = shelves.get(block.shelf)
            if shelf is None:
                shelf = shelves[block.shelf] = []
            shelf.append(block)

    def _wait_for(self, block):
        block.events = None
        if not self.captures:
            self._mark(block)
        self.waiting.append(block)

    def _mark(self, block):
        """Record events for a block in the streams that may use it."""
        block.events = [self.mark(s) for s in sorted(block.others)]

    def _make_free(self, block):
        """Merge a block with free neighbours, and list it for reuse."""
        block.others, block.events = (), None
        block.free = True
        before, after = block.before, block.after
        if after is not None and after.free:
            self._unlist(after)
            self._swallow(block, after)
        if before is not None and before.free:
            self._unlist(before)
            self._swallow(before, block)
            block = before
        self._list(block)

    @staticmethod
    def _swallow(block, after):
        block.after = after.after
        block.size += after.size
        if after.after is not None:
            after.after.before = block

    def _list(self, block):
        bisect.insort(self.lists.setdefault(block.key, []), (block.size, block.pointer, block))

    def _unlist(self, block):
        found = self.lists[block.key]
        del found[bisect.bisect_left(found, (block.size, block.pointer))]

    def _reuse(self, key, size):
        """Return the smallest free block that is large enough, unless that would waste a large one."""
        found = self.lists.get(key)
        if not found:
            return None
        at = bisect.bisect_left(found, (size,))
        if at == len(found):
            return None
        block = found[at][2]
        if not key[1] and size > MIDDLE and block.size >= 2 * size and block.size == block.segment.size:
            return None
        del found[at]
        return block

    def _split(self, block, size):
        rest = block.size - size
        if rest < ROUND or (not block.key[1] and rest <= SMALL):
            return
        other = Block(block.pointer + size, rest, block.segment, block.key)
        other.before, other.after = block, block.after
        if other.after is not None:
            other.after.before = other
        block.after = other
        block.size = size
        self._list(other)

    # The driver.

    def _fresh(self, key, size):
        room = SMALL_SEGMENT if key[1] else MIDDLE_SEGMENT if size < MIDDLE else -(-size // LARGE_ROUND) * LARGE_ROUND
        segment = self._try(room, key)
        if segment is None:
            self.retries += 1
            self._settle_all()
            self._empty()
            segment = self._try(room, key)
        if segment is None and room > size:
            room = size
            segment = self._try(room, key)
        if segment is None:
            self.failures += 1
            raise self._no_memory(size)
        self.counts["reserved_bytes"].add(room)
        self.counts["segment"].add(1)
        return segment.first

    def _try(self, size, key):
        """Return a new segment, or None if there is no memory for it."""
        if self.limit is not None and self.counts["reserved_bytes"].current + size > self.limit:
            return None
        self._taking = c_void_p(), size, key
        try:
            self.take(size, self._taking[0])
        except OutOfMemoryError:
            return None
        return self._taken()

    def _taken(self):
        """Enter the segment that was taken last."""
        place, size, key = self._taking
        segment = Segment(place.value, size, key)
        self.segments[segment.pointer] = segment
        self._taking = None
        return segment

    def empty(self):
        """Return wholly free segments to the driver, except those of graph pools."""
        is_nested = self._is_nested()
        with self.lock:
            self._begin(is_nested)
            self._settle()
            self._empty()
            self._is_busy = is_nested

    def _empty(self):
        for key, found in self.lists.items():
            if key[2]:
                continue
            whole = [b for _, _, b in found if b.size == b.segment.size]
            found[:] = [entry for entry in found if entry[2].size != entry[2].segment.size]
            for block in whole:
                self._give_segment(block.segment)

    def _give_segment(self, segment):
        self.give(segment.pointer, partial(self.segments.pop, segment.pointer))
        segment.first = None        # (or they would hold each other)
        self.counts["reserved_bytes"].current -= segment.size
        self.counts["segment"].current -= 1

    def end_pool(self, pool: int, streams=()):
        """Release the pool of dropped graphs, which ran in `streams`."""
        self.ended.append((pool, frozenset(streams)))

    def _open_pool(self, pool, streams):
        """Move a pool's blocks to the default stream, marked as used by the streams of its graphs.

        Nothing ran in the stream of the capture, and its handle may belong to another stream by now.
        """
        free = [block for key in [k for k in self.lists if k[2] == pool] for _, _, block in self.lists.pop(key)]
        waiting = [b for b in self.waiting if b.key[2] == pool]
        self.waiting = deque([b for b in self.waiting if b.key[2] != pool])
        for block in free:
            self.counts["active_bytes"].add(block.size)
            block.free = False
        for block in [b for segment in self.segments.values() for b in segment.blocks() if b.key[2] == pool]:
            block.others, block.events = {*block.others, *streams} - {0}, None
            block.key = 0, block.key[1], 0
            block.shelf = 0, 0, block.size
        for block in (*free, *waiting):
            if block.others:
                self._wait_for(block)
            else:
                self.counts["active_bytes"].current -= block.size
                self._make_free(block)

    # After an interrupt.

    def _rebuild(self):
        """Compute anew all that does not follow from the links, owners and streams of the blocks."""
        if self._taking is not None and self._taking[0].value and self._taking[0].value not in self.segments:
            self._taken()
        self._taking = None
        self.lists, self.shelves, self.waiting = {}, {}, deque()
        for segment in self.segments.values():
            self._join_free(segment)
            for block in segment.blocks():
                if block.free:
                    self._list(block)
                elif block.owner is None:
                    self.waiting.append(block)
        blocks = [b for segment in self.segments.values() for b in segment.blocks() if not b.free]
        in_use = [b for b in blocks if b.owner is not None]
        for name, now in {"allocated_bytes": sum(b.size for b in in_use), "active_bytes": sum(b.size for b in blocks),
                          "requested_bytes": sum(b.requested for b in in_use), "allocation": len(in_use),
                          "reserved_bytes": sum(s.size for s in self.segments.values()),
                          "segment": len(self.segments)}.items():
            self.counts[name].put(now)

    @staticmethod
    def _join_free(segment):
        """Free the blocks of a segment that nobody uses, and join free neighbours."""
        before: Any = None
        block: Any = segment.first
        while block is not None:
            owner = block.owner
            if owner is not None and owner is not _HELD and owner() is None:
                owner = block.owner = None
            block.free = owner is None and not block.others
            key = block.key
            if block.shelf[:2] != (key[0], key[2]):
                block.shelf = key[0], key[2], block.size
            if block.free and before is not None and before.free and before.key == key:
                before.after = block.after
                block = before
            block.size = (segment.pointer + segment.size if block.after is None else block.after.pointer) - block.pointer
            block.before = block.before if block is before else before
            before, block = block, block.after

    # Statistics.

    def cached(self) -> int:
        return sum(size for found in self.lists.values() for size, _, _ in found)

    def _no_memory(self, size):
        c = self.counts
        largest = max((size for found in self.lists.values() for size, _, _ in found), default=0)
        limit = "" if self.limit is None else f" (limited to {words(self.limit)})"
        return OutOfMemoryError(
            f"cuda:{self.device} has no {words(size)} left{limit}: {words(c['allocated_bytes'].current)} are in use by "
            f"{c['allocation'].current} tensors (at most {words(c['allocated_bytes'].peak)} so far), "
            f"{words(c['reserved_bytes'].current)} are reserved in {c['segment'].current} segments, of which "
            f"{words(self.cached())} are free in pieces of up to {words(largest)}. Use smaller batches, del what is no longer "
            "needed, or trade time for memory with checkpoint()")

    def stats(self) -> dict:
        """Return counts under PyTorch's names: "allocated_bytes.all.current" and so on."""
        is_nested = self._is_nested()
        with self.lock:
            self._begin(is_nested)
            self._settle()
            self._is_busy = is_nested
            found = {}
            for name, c in self.counts.items():
                found |= {f"{name}.all.current": c.current, f"{name}.all.peak": c.peak, f"{name}.all.allocated": c.added,
                          f"{name}.all.freed": c.removed}
            return found | {"num_alloc_retries": self.retries, "num_ooms": self.failures, "cached_bytes": self.cached()}

    def snapshot(self) -> list:
        """Return each segment under PyTorch's names, with its blocks in order."""
        is_nested = self._is_nested()
        with self.lock:
            self._begin(is_nested)
            self._settle()
            self._is_busy = is_nested
            waiting = {b.pointer for b in self.waiting}
            found = []
            for segment in self.segments.values():
                blocks = []
                for block in segment.blocks():
                    state = "inactive" if block.free else "active_pending_free" if block.pointer in waiting else \
                        "active_allocated"
                    blocks.append({"address": block.pointer, "size": block.size, "state": state,
                                   "requested_size": 0 if block.free else block.requested})
                stream, small, pool = block.key
                sizes = {s: sum(b["size"] for b in blocks if b["state"] in states) for s, states in (
                    ("allocated_size", ("active_allocated",)), ("active_size", ("active_allocated", "active_pending_free")))}
                found.append({"device": self.device, "address": segment.pointer, "total_size": segment.size, **sizes,
                              "stream": stream, "segment_type": "small" if small else "large", "segment_pool_id": pool,
                              "blocks": blocks})
            return found

    def reset_peaks(self):
        is_nested = self._is_nested()
        with self.lock:
            self._begin(is_nested)
            self._settle()
            self._is_busy = is_nested
            for c in self.counts.values():
                c.reset_peak()

    def reset_totals(self):
        is_nested = self._is_nested()
        with self.lock:
            self._begin(is_nested)
            self._settle()
            self._is_busy = is_nested
            for c in self.counts.values():
                c.reset_totals()
            self.retries = self.failures = 0


def words(n: int) -> str:
    """Return a number of bytes in readable units."""
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if n >= size:
            return f"{n / size:.2f} {unit}"
    return f"{n} bytes"
