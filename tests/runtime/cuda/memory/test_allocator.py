"""The caching allocator of device memory, alone and on the mock driver: blocks, streams, pools, running out of memory."""

import gc
import random

import numpy as np
import pytest

import ingot
import mock_cuda
from ingot.ir.errors import OutOfMemoryError
from ingot.runtime.cuda.driver import streams
from ingot.runtime.cuda.memory.allocator import MIDDLE_SEGMENT, ROUND, SMALL, SMALL_SEGMENT, Allocator, words
from ingot.runtime.cuda.memory.pinned import PINNED


class Device:
    """Memory by counting, and events that are done when the test says so."""

    def __init__(self, room):
        self.room, self.taken, self.next = room, {}, 1 << 20
        self.events, self.pending = 0, set()

    def take(self, size, place):
        if sum(self.taken.values()) + size > self.room:
            raise OutOfMemoryError("full")
        self.next += 1 << 30
        self.taken[self.next] = size
        place.value = self.next

    def give(self, pointer, forget):
        del self.taken[pointer]
        forget()

    def mark(self, stream):
        self.events += 1
        self.pending.add((self.events, stream))
        return self.events, stream

    def done(self, event):
        return event not in self.pending

    def allocator(self):
        return Allocator(0, self.take, self.give, self.mark, self.done, self.pending.discard)


def test_small_blocks_share_a_segment_and_are_used_again():
    device = Device(1 << 30)
    a = device.allocator()
    x, y = a.allocate(100, 0), a.allocate(5000, 0)
    assert len(device.taken) == 1 and next(iter(device.taken.values())) == SMALL_SEGMENT
    assert x.size == ROUND and y.size == 5120 and y.pointer == x.pointer + ROUND
    a.release(x)
    assert a.allocate(77, 0).pointer == x.pointer
    assert a.allocate(2 * SMALL, 0).segment.size == MIDDLE_SEGMENT


def test_neighbours_merge_and_the_segment_goes_back():
    device = Device(1 << 30)
    a = device.allocator()
    blocks = [a.allocate(SMALL // 4, 0) for _ in range(6)]
    for i in (1, 3, 2, 5, 0, 4):
        a.release(blocks[i])
    a.settle()
    assert a.cached() == SMALL_SEGMENT and [len(v) for v in a.lists.values()] == [1]
    a.empty()
    assert not device.taken and a.counts["reserved_bytes"].current == 0


def test_a_block_that_another_stream_uses_waits_for_it():
    device = Device(1 << 30)
    a = device.allocator()
    x = a.allocate(1000, 1)
    x.used_on(2)
    x.used_on(1)
    a.release(x)
    a.settle()
    assert device.pending == {(1, 2)}
    assert a.allocate(1000, 1).pointer != x.pointer
    device.pending.clear()
    assert a.allocate(1000, 1).pointer == x.pointer


def test_shelves_hold_no_memory_back():
    """Blocks of one size are handed on as they are; what comes next may need them merged, or those of a graph that ended."""
    device = Device(2 << 20)
    a = device.allocator()
    blocks = [a.allocate(1 << 18, 1) for _ in range(8)]
    for b in blocks:
        a.release(b)
    assert a.allocate(1 << 18, 1).pointer in {b.pointer for b in blocks} and len(a.shelves) == 1
    assert a.allocate(1 << 20, 1).size == 1 << 20 and not any(a.shelves.values())
    a.settle()
    assert a.counts["segment"].current == 1
    device = Device(2 << 20)
    a = device.allocator()
    blocks = [a.allocate(1 << 20, 5, 7) for _ in range(2)]
    a.release(blocks[0])
    blocks[0] = a.allocate(1 << 20, 5, 7)
    for b in blocks:
        a.release(b)
    a._shelve()
    assert any(a.shelves.values())
    a.end_pool(7)
    assert {a.allocate(1 << 20, 0).pointer for _ in range(2)} == {b.pointer for b in blocks}


def test_before_memory_is_out_other_streams_are_waited_for():
    device = Device(40 << 20)
    a = device.allocator()
    x = a.allocate(30 << 20, 1)
    x.used_on(2)
    a.release(x)
    a.captures.add(1)
    with pytest.raises(OutOfMemoryError):
        a.allocate(32 << 20, 1)
    a.captures.clear()
    assert a.allocate(32 << 20, 1).size == 32 << 20 and not device.pending


def test_streams_and_pools_do_not_share():
    a = Device(1 << 30).allocator()
    x = a.allocate(1000, 1)
    a.release(x)
    assert a.allocate(1000, 2).pointer != x.pointer
    assert a.allocate(1000, 1, pool=7).pointer != x.pointer
    assert a.allocate(1000, 1).pointer == x.pointer


def test_a_pool_holds_its_memory_until_its_release():
    device = Device(1 << 30)
    a = device.allocator()
    a.release(a.allocate(1000, 1, pool=7))
    a.empty()
    assert device.taken
    a.end_pool(7)
    a.empty()
    assert not device.taken


def test_memory_of_a_graph_waits_for_the_streams_that_it_ran_in():
    """Of whatever was freed before or after the graph went, or waited for another stream then."""
    device = Device(1 << 30)
    a = device.allocator()
    free, waiting, held = (a.allocate(1000, 5, pool=7) for _ in range(3))
    waiting.used_on(3)
    a.release(free)
    a.release(waiting)
    a.settle()
    a.end_pool(7, {0, 3})
    a.settle()
    a.release(held)
    taken = {a.allocate(1000, stream).pointer for stream in (0, 3, 5)}
    assert not taken & {free.pointer, waiting.pointer, held.pointer} and {s for _, s in device.pending} == {3}
    device.pending.clear()
    a.settle()
    assert (SMALL_SEGMENT, free.pointer) in [(size, pointer) for size, pointer, _ in a.lists[0, True, 0]], "one piece again"


def test_out_of_memory_says_how_much_and_goes_on():
    device = Device(64 << 20)
    a = device.allocator()
    held = a.allocate(40 << 20, 0)
    with pytest.raises(MemoryError, match=r"cuda:0 has no 30\.00 MiB left.*40\.00 MiB are in use by 1 tensors"):
        a.allocate(30 << 20, 0)
    a.release(held)
    assert a.allocate(60 << 20, 0).size == 60 << 20, "what was cached must go back to the driver first"
    assert a.stats()["num_ooms"] == 1 and a.stats()["num_alloc_retries"] == 2


def test_a_memory_limit_is_respected():
    a = Device(1 << 40).allocator()
    a.limit = 10 << 20
    with pytest.raises(MemoryError, match=r"limited to 10\.00 MiB"):
        a.allocate(11 << 20, 0)


def test_counts_and_peaks():
    a = Device(1 << 30).allocator()
    x = a.allocate(1000, 0)
    a.release(a.allocate(4096, 0))
    stats = a.stats()
    assert stats["allocated_bytes.all.current"] == x.size and stats["allocated_bytes.all.peak"] == x.size + 4096
    assert stats["requested_bytes.all.current"] == 1000 and stats["allocation.all.allocated"] == 2
    a.reset_peaks()
    assert a.stats()["allocated_bytes.all.peak"] == x.size
    a.reset_totals()
    assert a.stats()["allocated_bytes.all.allocated"] == a.stats()["allocated_bytes.all.freed"] == 0
    size = x.size           # (until it is merged with its neighbour)
    a.release(x)
    a.release(a.allocate(4096, 0))
    stats = a.stats()
    assert stats["allocated_bytes.all.allocated"] == 4096 and stats["allocated_bytes.all.freed"] == size + 4096
    assert stats["allocation.all.freed"] == 2 and stats["allocation.all.current"] == 0


def test_a_larger_block_is_reused_for_the_same_request():
    """A rest that is too small to be cut off belongs to a block, which is handed on as those are that fit."""
    device = Device(1 << 30)
    a = device.allocator()
    size = MIDDLE_SEGMENT - SMALL
    block = a.allocate(size, 0)
    assert block.size > size and len(device.taken) == 1
    for _ in range(3):
        a.release(block)
        a._shelve()
        assert [len(shelf) for shelf in a.shelves.values()] == [1]
        assert a.allocate(size, 0) is block and not any(a.shelves.values())
    assert a.stats()["allocated_bytes.all.current"] == block.size


@pytest.mark.parametrize("seed", range(6))
def test_fuzzed_use_keeps_every_rule(seed):
    """Live blocks never overlap; a block is not used again while another stream may use it; counts are true."""
    rng = random.Random(seed)
    device = Device(256 << 20)
    a = device.allocator()
    live: list = []
    busy: dict = {}          # pointer -> (events that must be done, size)
    for step in range(1500):
        where = f"seed {seed} step {step}"
        what = rng.random()
        if what < 0.55 or not live:
            size = int(2 ** rng.uniform(0, 24))
            try:
                block = a.allocate(size, rng.randrange(3), rng.randrange(2))
            except OutOfMemoryError:
                continue
            low, high = block.pointer, block.pointer + block.size
            assert block.size >= size and block.pointer % ROUND == 0, where
            assert all(high <= b.pointer or b.pointer + b.size <= low for b in live), where
            waited = [e for e in device.pending if any(s < high and low < s + n for s, n in busy.get(e, ()))]
            assert not waited, where
            if rng.random() < 0.3:
                block.used_on(rng.randrange(3))
            live.append(block)
        elif what < 0.95:
            block = live.pop(rng.randrange(len(live)))
            before = set(device.pending)
            a.release(block)
            a.settle()
            for event in device.pending - before:
                busy.setdefault(event, []).append((block.pointer, block.size))
        elif what < 0.98:
            device.pending -= set(rng.sample(sorted(device.pending), len(device.pending) // 2))
        else:
            a.empty()
        stats = a.stats()
        assert stats["allocated_bytes.all.current"] == sum(b.size for b in live), where
        assert stats["reserved_bytes.all.current"] == sum(device.taken.values()), where
    for block in live:
        a.release(block)
    a.end_pool(1)
    a.settle()
    device.pending.clear()
    a.empty()
    assert not device.taken and not a.waiting, f"seed {seed}"


# On the mock driver.


def test_tensors_give_their_memory_back():
    with mock_cuda.installed():
        assert ingot.cuda.memory_allocated() == 0
        x = ingot.zeros(1000, device="cuda")
        assert ingot.cuda.memory_allocated() == 4096
        y = x[10:20]
        del x
        gc.collect()
        assert ingot.cuda.memory_allocated() == 4096, "the view holds the memory"
        del y
        assert ingot.cuda.memory_allocated() == 0 and ingot.cuda.max_memory_allocated() == 4096
        assert ingot.cuda.memory_reserved() > 0
        ingot.cuda.empty_cache()
        assert ingot.cuda.memory_reserved() == 0
        free, total = ingot.cuda.mem_get_info()
        assert free == total == 1 << 30


def test_out_of_memory_is_one_error_and_the_process_goes_on():
    with mock_cuda.installed(memory=8 << 20):
        x = ingot.ones(1 << 20, device="cuda")
        with pytest.raises(ingot.cuda.OutOfMemoryError, match="cuda:0 has no"):
            ingot.ones(2 << 20, device="cuda")
        assert x.sum().item() == 1 << 20
        del x
        assert ingot.ones(2 << 20, device="cuda")[0].item() == 1


@pytest.mark.parametrize("seed", range(4))
def test_memory_freed_while_streams_work_is_never_overwritten(seed):
    """Work runs as late as it may; a block that is used again too early would change results."""
    rng = random.Random(seed)
    with mock_cuda.installed(seed=seed) as cuda:
        side = [streams.Stream() for _ in range(2)]
        wanted = []
        for step in range(40):
            stream = rng.choice([None, *side])
            a = np.full(64, step, np.float32)
            with ingot.cuda.stream(stream):
                x = ingot.from_numpy(a).cuda()
                other = rng.choice(side)
                other.wait_stream(ingot.cuda.current_stream())
                with ingot.cuda.stream(other):
                    wanted.append((step, x * 2 + 1, other))
                del x
            cuda.run_some(rng.randrange(4))
        for step, y, stream in wanted:
            stream.synchronize()
            np.testing.assert_array_equal(y.cpu().numpy(), np.full(64, 2 * step + 1, np.float32), f"seed {seed} step {step}")


@pytest.mark.parametrize("seed", range(3))
def test_memory_of_graphs_that_still_run_is_not_taken(seed):
    """A graph may go while it runs, and the next stream may get the handle of the one that it was captured in."""
    rng = random.Random(seed)
    with mock_cuda.installed(seed=seed) as cuda:
        wanted = []
        for step in range(12):
            x, g, out = ingot.full((300,), float(step), device="cuda"), ingot.cuda.CUDAGraph(), ingot.empty(300, device="cuda")
            (x + 1) * 2
            with ingot.cuda.graph(g):
                out.copy_((x + 1) * 2)
            made = ingot.cuda.current_stream().record_event()
            with ingot.cuda.stream(rng.choice([None, ingot.cuda.Stream()])):
                made.wait()
                g.replay()
                done = ingot.cuda.current_stream().record_event()
            del g
            gc.collect()
            with ingot.cuda.stream(ingot.cuda.Stream()):
                for _ in range(8):
                    ingot.full((300,), -1.0, device="cuda").add_(1)
            cuda.run_some(rng.randrange(30))
            wanted.append((step, out, x, done))
        for step, out, _, done in wanted:
            while not done.query():
                cuda.run_some()
            assert out.tolist() == [2.0 * (step + 1)] * 300, f"seed {seed} step {step}"


def test_page_locked_memory_is_held_until_it_was_read():
    with mock_cuda.installed() as cuda:
        x = ingot.arange(1000.0).pin_memory()
        assert x.is_pinned() and not ingot.ones(1).is_pinned()
        address = x._a.ctypes.data
        y = x.to("cuda", non_blocking=True)
        del x
        gc.collect()
        z = ingot.zeros(1000).pin_memory()
        assert z._a.ctypes.data != address, "the copy has not run yet"
        np.testing.assert_array_equal(y.cpu().numpy(), np.arange(1000.0, dtype=np.float32))
        del z
        gc.collect()
        PINNED.settle()
        assert sum(map(len, PINNED.free.values())) == 2 and cuda.pinned


def test_words():
    assert [words(n) for n in (12, 2048, 3 << 20, 5 << 29)] == ["12 bytes", "2.00 KiB", "3.00 MiB", "2.50 GiB"]
