"""An allocator of device memory whose operations were interrupted: it loses no memory, and never hands out memory twice."""

import gc
import itertools
import random
from collections import deque
from itertools import starmap
from operator import call

import pytest

from ingot.runtime.cuda.memory.allocator import Allocator
from interrupts import Interrupted, points_of, raised_at

POINTS = 150        # of each program
POOL = 7


class Device:
    """Memory by counting, and events that are reached when the program says so. Interrupts come within it, too."""

    def __init__(self):
        self.taken, self.next, self.pending, self.count = {}, 1 << 20, set(), 0

    def take(self, size, place):
        self.next += 1 << 30
        deque(starmap(call, ((self.taken.__setitem__, self.next, size), (setattr, place, "value", self.next))), 0)

    def give(self, pointer, forget):
        deque(starmap(call, ((self.taken.pop, pointer), (forget,))), 0)

    def mark(self, stream):
        self.count += 1
        self.pending.add((self.count, stream))
        return self.count, stream

    def done(self, event):
        return event not in self.pending

    def allocator(self):
        return Allocator(0, self.take, self.give, self.mark, self.done, self.pending.discard)


class Memory:
    """Memory of a program, freed with the object."""

    def __init__(self, allocator, size, stream, pool):
        self.block = allocator.allocate(size, stream, pool, self)


class Program:
    """Random operations; `live` is the memory that the program knows to have."""

    def __init__(self, seed):
        self.device, self.live, self.rng = Device(), [], random.Random(seed)
        self.allocator = self.device.allocator()
        self.busy: list = []        # (event, first byte, end) of freed memory that another stream uses

    def run(self, count):
        for _ in range(count):
            self._step(self.rng.random())

    def _step(self, choice):
        if choice < 0.5 or not self.live:
            size = int(2 ** self.rng.uniform(0, 24))
            made = Memory(self.allocator, size, self.rng.randrange(3), self.rng.choice([0, 0, POOL]))
            if self.rng.random() < 0.3:
                made.block.used_on(self.rng.randrange(3))
            self.live.append(made)
        elif choice < 0.9:
            del self.live[self.rng.randrange(len(self.live))]
        elif choice < 0.93:
            self.device.pending.clear()
        elif choice < 0.95:
            self.live[:] = [m for m in self.live if m.block.key[2] != POOL]
            self.allocator.end_pool(POOL, {self.rng.randrange(3)})
        elif choice < 0.98:
            self.allocator.settle()
        else:
            self.allocator.empty()

    def check(self):
        """Compare the allocator with what the program has and with what the device gave."""
        allocator = self.allocator
        stats, segments = allocator.stats(), allocator.snapshot()
        assert {s["address"]: s["total_size"] for s in segments} == self.device.taken, "a segment is lost"
        assert stats["reserved_bytes.all.current"] == sum(self.device.taken.values())
        assert stats["segment.all.current"] == len(self.device.taken)
        for s in segments:
            ends = [b["address"] + b["size"] for b in s["blocks"]]
            assert [s["address"], *ends] == [*[b["address"] for b in s["blocks"]], s["address"] + s["total_size"]]
        active = {b["address"] for s in segments for b in s["blocks"] if b["state"] == "active_allocated"}
        assert active == {m.block.pointer for m in self.live}, "a block is lost, or free though in use"
        assert stats["allocated_bytes.all.current"] == sum(m.block.size for m in self.live)
        assert stats["allocation.all.current"] == len(self.live)
        assert stats["requested_bytes.all.current"] == sum(m.block.requested for m in self.live)
        states = {state: [(b["address"], b["size"]) for s in segments for b in s["blocks"] if b["state"] == state]
                  for state in ("inactive", "active_pending_free")}
        listed = [(pointer, size) for found in allocator.lists.values() for size, pointer, _ in found]
        assert sorted(listed) == sorted(states["inactive"]), "free memory is not listed, or listed twice"
        assert all(found == sorted(found) and all((b.size, b.pointer) == (size, pointer) and b.key == key and b.free
                                                  for size, pointer, b in found) for key, found in allocator.lists.items())
        pending = sum(size for _, size in states["active_pending_free"])
        assert stats["active_bytes.all.current"] == stats["allocated_bytes.all.current"] + pending
        spans = sorted((m.block.pointer, m.block.pointer + m.block.size) for m in self.live)
        assert all(a[1] <= b[0] for a, b in itertools.pairwise(spans)), "memory belongs to two objects"

    def end(self):
        """Give all back: the device gets all its memory."""
        self.live.clear()
        self.allocator.end_pool(POOL, {1})
        self.allocator.settle()
        self.device.pending.clear()
        self.allocator.empty()
        assert not self.device.taken and not self.allocator.waiting and not self.allocator.cached()
        assert {c.current for c in self.allocator.counts.values()} == {0}


@pytest.mark.drawn
@pytest.mark.parametrize("seed", range(6))
def test_an_allocator_goes_on_after_an_interrupt_anywhere(seed):
    first = Program(seed)
    count = points_of(lambda: first.run(60), "ingot")
    first.check()
    failed = []
    for number in random.Random(seed).sample(range(count), min(count, POINTS)):
        program = Program(seed)
        _, error, reached = raised_at(number, lambda p=program: p.run(60), Interrupted, "ingot")
        assert reached and type(error) is Interrupted
        error = None
        gc.collect()            # (frames of the exception hold memory)
        try:
            program.check()
            program.run(60)
            program.check()
            program.end()
        except Exception as e:
            failed.append((number, repr(e)[:80]))
    assert not failed, (len(failed), failed[:5])
