"""PTX machine on numpy: runs Triton's output with the layouts, vector loads, shared memory and barriers of a GPU.

It is slow and strict: an address out of bounds or not aligned, or a race between warps or programs, is a `Fault`.

    launch(ptx, grid, threads, shared, parameters, {address: array of bytes})

All threads of many programs run at once: a register is an array with an element per thread. Diverged threads wait for the one
that is furthest behind, or that still has to join a warp-wide operation. Asynchronous copies arrive no sooner than they must.
"""

import functools

import numpy as np

from . import instructions
from . import text as assembly
from .faults import Fault
from .instructions import END
from .memory import Global, Shared

__all__ = ["Machine", "entry_of", "launch"]

TOGETHER = 8192         # threads run at once


@functools.lru_cache(64)
def entry_of(text):
    """Return the kernel of a PTX file."""
    return assembly.parse(text)


def launch(text, grid, threads, shared, parameters, arrays):
    """Run a kernel for every program of a grid; `arrays` are changed in place."""
    entry, programs = entry_of(text), programs_of(grid)
    memory = Global(arrays, threads // 32)
    step = max(1, TOGETHER // threads)
    for low in range(0, len(programs), step):
        Machine(entry, programs[low:low + step], grid, threads, parameters, memory, shared).run()


def programs_of(grid):
    """Return (x, y, z) of each program of a grid."""
    z, y, x = np.meshgrid(*map(np.arange, reversed(grid)), indexing="ij")
    return np.stack([x.reshape(-1), y.reshape(-1), z.reshape(-1)], 1)


class Machine:
    """Some programs of a launch.

        executed    number of warps that ran each instruction
        observer    called with (instruction, addresses, bytes, warps) of each memory access
    """

    def __init__(self, entry, programs, grid, threads, parameters, memory, shared, observer=None):
        self.entry, self.parameters, self.memory, self.observer = entry, parameters, memory, observer
        self.programs, self.threads = len(programs), threads
        self.lanes = len(programs) * threads
        self.local = np.repeat(np.arange(len(programs)), threads)              # the program of each lane, from 0
        thread = np.tile(np.arange(threads, dtype=np.uint32), len(programs))
        number = (programs * [1, grid[0], grid[0] * grid[1]]).sum(1)
        self.warp = np.repeat(number, threads) * (threads // 32) + thread.astype(np.int64) // 32 + 1
        self.phase = np.zeros(self.lanes, np.int64)
        self.shared = Shared(number, entry.shared + shared, threads // 32, checked=not entry.has_parts)
        self.special = _special(programs, grid, threads, thread)
        self.registers: dict = {}
        self.pending, self.committed = [], []              # asynchronous copies
        self.at = np.zeros(self.lanes, np.int64)
        self.waiting = np.zeros(self.lanes, np.int64)       # number (from 1) of the barrier that a lane waits at
        self.takes: dict = {}                               # thread counts of barriers, by number (None: all)
        self.held = np.zeros(self.lanes, bool)              # waiting for a phase of a barrier in memory
        self.barriers: dict = {}                            # barriers in memory, by (program, address)
        self.apart = np.zeros(self.lanes, bool)             # waiting for the rest of the warp
        self.code = [instructions.compiled(entry, i) for i in entry.instructions]
        self.executed = np.zeros(len(self.code), np.int64)

    def run(self):
        """Run until all threads have returned."""
        with np.errstate(all="ignore"):
            while self._some():
                pass

    def _some(self) -> bool:
        """Run the threads that are furthest behind; return False if all have returned."""
        ready = (self.waiting == 0) & ~self.apart & ~self.held & (self.at < END)
        if not ready.any():
            if self.held.any():
                raise Fault("threads wait for copies or arrivals that never come")
            if self.apart.any():
                raise Fault(f"{self.entry.instructions[int(self.at[self.apart].min())].name} by a part of a warp")
            if self.waiting.any():
                raise Fault("threads wait for a barrier that others never meet")
            return False
        here = int(self.at[ready].min())
        mask = ready & (self.at == here)
        if self.code[here][0] == "warp":
            mask |= self.apart & (self.at == here)
            whole = np.repeat(mask.reshape(-1, 32).all(1), 32)
            self.apart = self.apart & ~mask | mask & ~whole
            mask &= whole
            if not mask.any():
                return True
        later = self.at[ready & ~mask & ~self.apart]
        self._advance(here, mask, int(later.min()) if later.size else END)
        return True

    def _advance(self, here, mask, stop):
        """Run the threads of `mask` from `here` on, until they diverge, meet others, or wait."""
        everyone = None if mask.all() else mask
        lanes = mask.reshape(-1, 32)
        warps, parted = int(lanes.any(1).sum()), (lanes.any(1) & ~lanes.all(1)).any()
        while here != stop:
            kind, step = self.code[here]
            if kind == "warp" and parted:
                break
            self.executed[here] += warps
            if kind in ("plain", "warp"):
                step(self, everyone)
                here += 1
                continue
            if kind == "barrier":
                number, count = step
                if everyone is not None or count not in (None, self.threads):
                    self.at[mask] = here + 1
                    self.waiting[mask], self.takes[number + 1] = number + 1, count
                    self._meet()
                    return
                self.phase += 1
                here += 1
                continue
            if kind == "wait":
                going = step(self, np.flatnonzero(mask))
                self.at[mask] = here
                self.at[going] = here + 1
                self.held |= mask & ~going
                return
            taken, target = step(self)
            taken = np.broadcast_to(taken, mask.shape) & mask
            if not taken.any():
                here += 1
            elif (taken == mask).all() and target != END:
                here = target
                if here >= stop:
                    break
            else:
                self.at[mask], self.at[taken] = here + 1, target
                return
        self.at[mask] = here

    def _meet(self):
        """Release programs in which enough threads wait: the barrier's count, or all that have not ended."""
        for number in np.unique(self.waiting[self.waiting > 0]):
            here, count = self.waiting == number, self.takes[number]
            there = (here | (self.at == END) if count is None else here).reshape(self.programs, self.threads)
            full = there.all(1) if count is None else there.sum(1) >= count
            free = np.repeat(full, self.threads) & here
            self.waiting[free] = 0
            self.phase[free] += 1

    # Registers.

    def get(self, operand, kind):
        """Return an operand as an array (or one number) of a dtype."""
        if operand in self.special:
            return _as(self.special[operand], kind)
        if operand[0] == "%" or operand in self.entry.families:
            found = self.registers.get(operand)
            return _as(_anything(self.entry.width(operand)) if found is None else found, kind)
        if operand in self.entry.symbols:
            return kind(self.entry.symbols[operand])
        if operand in self.entry.parameters:
            return kind(self.entry.parameters[operand][0])
        return _literal(operand, kind)

    def put(self, register, value, mask):
        """Write a register for the lanes of a mask (None: all)."""
        if register == "_":
            return
        width = self.entry.width(register)
        value = _widened(value, width)
        if mask is not None:
            before = self.registers.get(register)
            value = np.where(mask, value, _anything(width) if before is None else before)
        self.registers[register] = value

    def address(self, operand):
        """Return the addresses of `[register + offset]`."""
        base, _, offset = operand.strip("[]").partition("+")
        narrow = base not in self.entry.families and base[0] == "%" and self.entry.width(base) == 32
        found = self.get(base, np.uint32 if narrow else np.uint64).astype(np.uint64)
        return found + np.int64(int(offset or 0)).astype(np.uint64)

    def active(self, mask):
        """Return the numbers of a mask's lanes."""
        return np.arange(self.lanes) if mask is None else np.flatnonzero(mask)

    def of(self, value, lanes):
        """Return a value's elements for some lanes."""
        return np.broadcast_to(value, self.lanes)[lanes]

    def saw(self, i, addresses, size, lanes):
        """Report an access to the watcher."""
        if self.observer is not None:
            self.observer(i, addresses, size, self.warp[lanes])

    # Asynchronous copies.

    def wait(self, left):
        """Complete all groups of copies but the last `left`."""
        while len(self.committed) > left:
            for lanes, addresses, rows, what in self.committed.pop(0):
                self.shared.store(addresses, rows, self.warp[lanes], self.phase[lanes], what, self.local[lanes])


def _anything(width):
    """Return the content of an unwritten register."""
    return np.dtype(f"u{width // 8}").type(0xA5A5A5A5A5A5A5A5 >> (64 - width)) if width > 1 else np.False_


def _as(value, kind):
    """Return a register's bits as a dtype; the lower ones for a narrower dtype."""
    size, have = np.dtype(kind).itemsize, value.dtype.itemsize
    if kind is np.bool_ or value.dtype == np.bool_ or size == have:
        return value.view(kind) if size == have else value != 0
    assert size < have, "a register holds what is asked of it"
    return value.astype(f"u{size}").view(kind)


def _widened(value, width):
    """Return a result in register form: the sign extends to the bits above."""
    value = np.asarray(value)[()]
    if width == 1:
        return value.astype(np.bool_)
    size = width // 8
    if value.dtype.itemsize == size:
        return value.view(f"u{size}")
    if value.dtype.kind not in "iub":
        value = value.view(f"u{value.dtype.itemsize}")
    return value.astype(f"{value.dtype.kind if value.dtype.kind != 'b' else 'u'}{size}").view(f"u{size}")


def _literal(text, kind):
    if text[:2] in ("0f", "0F") and len(text) == 10:
        return np.uint32(int(text[2:], 16)).view(np.float32) if kind is not np.uint32 else np.uint32(int(text[2:], 16))
    if text[:2] in ("0d", "0D") and len(text) == 18:
        return np.uint64(int(text[2:], 16)).view(np.float64) if kind is not np.uint64 else np.uint64(int(text[2:], 16))
    number = int(text.rstrip("U"), 0)
    if kind is np.bool_:
        return np.bool_(number)
    bits = 8 * np.dtype(kind).itemsize
    return np.array(number & (1 << bits) - 1, np.uint64).astype(f"u{bits // 8}").view(kind)[()]


def _special(programs, grid, threads, thread):
    """Return the registers with a thread's position."""
    found = {"%tid.x": thread, "%tid.y": np.uint32(0), "%tid.z": np.uint32(0), "%laneid": thread % np.uint32(32),
             "%ntid.x": np.uint32(threads), "%warpid": thread // np.uint32(32)}
    for axis, name in enumerate("xyz"):
        program_ids = programs[:, axis].astype(np.uint32)
        found[f"%ctaid.{name}"] = program_ids[0] if (program_ids == program_ids[0]).all() else np.repeat(program_ids, threads)
        found[f"%nctaid.{name}"] = np.uint32(grid[axis])
    return found
