"""The caching allocator of device memory: segments of the driver, cut into blocks, reused in stream order.

A freed block goes back to the stream that it was allocated for: earlier work of that stream runs before later work, so reuse
needs no waiting. A block that other streams used (`Block.used_on`) waits for an event of each. Small requests share segments of
2 MiB, middle ones segments of 20 MiB, large ones have their own. Free neighbours merge. When the driver has no memory left,
streams that still use freed blocks are waited for, cached segments are returned, and the request is repeated.

Memory and graphs may go at any time and in any thread. So their blocks and pools wait in queues for the next allocation, where
the interpreter puts them without Python code: an exception from a signal handler would be lost in there. Most requests have the
size of a recently freed block. Such blocks lie on shelves by size; they merge into free memory only when a request finds no
room otherwise.
"""

import bisect
import weakref
from collections import deque
from collections.abc import Callable

from ....ir.errors import OutOfMemoryError
from ....ir.locks import new_rlock

ROUND = 512                      # every block is a multiple of so many bytes
SMALL, MIDDLE = 1 << 20, 10 << 20
SMALL_SEGMENT, MIDDLE_SEGMENT, LARGE_ROUND = 2 << 20, 20 << 20, 2 << 20


class Block:
    """A part of a segment, in use or free."""

    __slots__ = ("__weakref__", "after", "before", "free", "key", "others", "owner", "pointer", "requested", "segment", "shelf",
                 "size")

    def __init__(self, pointer: int, size: int, segment: "Segment", key: tuple):
        self.pointer, self.size, self.segment, self.key = pointer, size, segment, key
        self.before: Block | None = None
        self.after: Block | None = None
        self.free = True
        self.requested = 0
        self.shelf: tuple = ()              # the name of the shelf that it goes to
        self.others: set | tuple = ()       # streams besides its own that use it
        self.owner: _Owner | None = None    # the memory object that frees it

    def used_on(self, stream: int):
        """Record that another stream uses the block, so that it is not reused before that work is done."""
        if stream != self.key[0]:
            self.others = {*self.others, stream}


class _Owner(weakref.ref):
    """A memory object that frees a block when it goes."""

    __slots__ = ("block",)
    block: Block


def frees(memory, block, freed: deque):
    """Let memory put its block into a queue when it goes: the queue gets an object with this `block`."""
    owner = block.owner = _Owner(memory, freed.append)
    owner.block = block


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


class Allocator:
    """Blocks of one device.

    take(bytes) -> pointer, and give(pointer)    allocate and free memory of the driver
    mark(stream) -> event, done(event) -> bool   record an event, and query it; drop(event) and wait(event)
    """

    def __init__(self, device: int, take: Callable, give: Callable, mark: Callable, done: Callable, drop: Callable,
                 wait: Callable):
        self.device = device
        self.take, self.give, self.mark, self.done, self.drop, self.wait = take, give, mark, done, drop, wait
        self.lists: dict[tuple, list] = {}            # (stream, kind, pool) -> sorted [(size, pointer, block)]
        self.freed: deque = deque()                   # owners of blocks that went
        self.ended: deque = deque()                   # (pool, streams) of graphs that are gone
        self.waiting: deque = deque()                 # (block, events) of other streams that may still use it
        self.segments: dict[int, Segment] = {}
        self.shelves: dict[tuple, list] = {}          # (stream, pool, size) -> blocks just given back
        self.counts = {name: Counter() for name in COUNTS}
        self._in_use = [self.counts[n] for n in ("allocated_bytes", "active_bytes", "requested_bytes", "allocation")]
        self.retries = self.failures = 0
        self.limit: int | None = None                 # bytes that may be reserved
        self.capturing = 0                            # captures in progress: events cannot be queried then
        self.lock = new_rlock()

    # Taking and giving.

    def allocate(self, size: int, stream: int, pool: int = 0) -> Block:
        """Return a block of at least `size` bytes for work on `stream`."""
        name = stream, pool, (size + ROUND - 1) // ROUND * ROUND or ROUND
        with self.lock:
            if self.freed:
                self._shelve()
            shelf = self.shelves.get(name)
            block = shelf.pop() if shelf else self._block_for(name)
            block.requested = size
            allocated, active, requested, number = self._in_use
            allocated.add(block.size)
            active.add(block.size)
            requested.add(size)
            number.add(1)
            return block

    def allocate_each(self, sizes, stream: int, pool: int = 0) -> list:
        """Allocate a block for each of several sizes, or none."""
        blocks: list = []
        with self.lock:
            try:
                for size in sizes:
                    blocks.append(self.allocate(size, stream, pool))
            except OutOfMemoryError:
                for block in blocks:
                    self.release(block)
                raise
            return blocks

    def _block_for(self, name) -> Block:
        """Return a block for an empty shelf, from free or new memory."""
        stream, pool, size = name
        key = stream, size <= SMALL, pool
        _release_gone()
        self._take_in()
        block = self._reuse(key, size)
        if block is None:
            self.settle()
            block = self._reuse(key, size) or self._fresh(key, size)
        block.free, block.others, block.shelf = False, (), name
        self._split(block, size)
        return block

    def release(self, block: Block):
        """Free a block that no memory object has."""
        frees(_Nobody(), block, self.freed)

    def settle(self):
        """Process freed blocks, and those that other streams are done with."""
        with self.lock:
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
            self._open_pool(*self.ended.popleft())
        for _ in range(0 if self.capturing else len(self.waiting)):
            block, events = self.waiting.popleft()
            events = [self.mark(s) for s in sorted(block.others)] if events is None else events
            left = [e for e in events if not self._passed(e)]
            if left:
                self.waiting.append((block, left))
            else:
                self.counts["active_bytes"].current -= block.size
                self._make_free(block)

    def settle_all(self):
        """Process freed blocks and wait for the streams that use them, unless a graph is captured."""
        self.settle()
        if not self.capturing:
            for _, events in self.waiting:
                for event in events:
                    self.wait(event)
            self.settle()

    def _passed(self, event):
        if not self.done(event):
            return False
        self.drop(event)
        return True

    def _shelve(self):
        """Move freed blocks to shelves, or to the queue of those that other streams use."""
        allocated, active, requested, number = self._in_use
        freed, shelves = self.freed, self.shelves
        while freed:
            block = freed.popleft().block
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
        self.waiting.append((block, None if self.capturing else [self.mark(s) for s in sorted(block.others)]))

    def _make_free(self, block):
        """Merge a block with free neighbours, and list it for reuse."""
        block.free, block.others = True, ()
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
        block.size += after.size
        block.after = after.after
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
        block.after, block.size = other, size
        self._list(other)

    # The driver.

    def _fresh(self, key, size):
        room = SMALL_SEGMENT if key[1] else MIDDLE_SEGMENT if size < MIDDLE else -(-size // LARGE_ROUND) * LARGE_ROUND
        pointer = self._try(room)
        if pointer is None:
            self.retries += 1
            self.settle_all()
            self.empty()
            pointer = self._try(room)
        if pointer is None and room > size:
            room = size
            pointer = self._try(room)
        if pointer is None:
            self.failures += 1
            raise self._no_memory(size)
        segment = self.segments[pointer] = Segment(pointer, room, key)
        self.counts["reserved_bytes"].add(room)
        self.counts["segment"].add(1)
        return segment.first

    def _try(self, size):
        if self.limit is not None and self.counts["reserved_bytes"].current + size > self.limit:
            return None
        try:
            return self.take(size)
        except OutOfMemoryError:
            return None

    def empty(self):
        """Return wholly free segments to the driver, except those of graph pools."""
        with self.lock:
            self.settle()
            for key, found in self.lists.items():
                if key[2]:
                    continue
                whole = [b for _, _, b in found if b.size == b.segment.size]
                found[:] = [entry for entry in found if entry[2].size != entry[2].segment.size]
                for block in whole:
                    self._give_segment(block.segment)

    def _give_segment(self, segment):
        self.give(segment.pointer)
        del self.segments[segment.pointer]
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
        waiting = [(b, e) for b, e in self.waiting if b.key[2] == pool]
        self.waiting = deque([(b, e) for b, e in self.waiting if b.key[2] != pool])
        for block in [b for segment in self.segments.values() for b in segment.blocks() if b.key[2] == pool]:
            block.key, block.shelf = (0, block.key[1], 0), (0, 0, block.size)
            block.others = {*block.others, *streams} - {0}
        for _, events in waiting:
            for event in events or ():
                self.drop(event)
        for block in free:
            block.free = False
            self.counts["active_bytes"].add(block.size)
        for block in (*free, *[b for b, _ in waiting]):
            if block.others:
                self._wait_for(block)
            else:
                self.counts["active_bytes"].current -= block.size
                self._make_free(block)

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
        with self.lock:
            self.settle()
            found = {}
            for name, c in self.counts.items():
                found |= {f"{name}.all.current": c.current, f"{name}.all.peak": c.peak, f"{name}.all.allocated": c.added,
                          f"{name}.all.freed": c.removed}
            return found | {"num_alloc_retries": self.retries, "num_ooms": self.failures, "cached_bytes": self.cached()}

    def snapshot(self) -> list:
        """Return each segment under PyTorch's names, with its blocks in order."""
        with self.lock:
            self.settle()
            waiting = {b.pointer for b, _ in self.waiting}
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
        with self.lock:
            self.settle()
            for c in self.counts.values():
                c.reset_peak()

    def reset_totals(self):
        with self.lock:
            self.settle()
            for c in self.counts.values():
                c.reset_totals()
            self.retries = self.failures = 0


def words(n: int) -> str:
    """Return a number of bytes in readable units."""
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if n >= size:
            return f"{n / size:.2f} {unit}"
    return f"{n} bytes"
