"""Memory of the PTX machine: bytes, valid addresses, and the last accesses.

Warps of a program run in any order between two barriers, and programs in any order at all. So a warp that reads or writes
another one's write, or overwrites another one's read, without a barrier between gets varying results. That is a `Fault`,
whatever the values are.
"""

import numpy as np

from .faults import Fault

__all__ = ["Global", "Shared"]

_ANYTHING = np.random.default_rng(0).integers(0, 256, 1 << 16, np.uint8)      # content of unwritten bytes
_SEVERAL = -1       # several programs read a byte; -2 - p: several warps of program p


class _Touched:
    """Last writer and reader of each byte: a warp's number from 1 or 0, and its phase, the barriers that its program had met.
    """

    def __init__(self, size, warps):
        self.warps = warps
        self.wrote, self.wrote_in = np.zeros(size, np.int32), np.zeros(size, np.int32)
        self.read, self.read_in = np.zeros(size, np.int32), np.zeros(size, np.int32)

    def program(self, warp):
        return (warp - 1) // self.warps

    def _apart(self, owner, when, me, phase):
        """Return where `who` in `when` is not `me`, and no barrier is between."""
        return (owner > 0) & (owner != me) & ~((self.program(owner) == self.program(me)) & (when < phase))

    def reads(self, at, me, phase, what):
        """Record that warps `me` read bytes `at`; others' writes must be before a barrier."""
        at = at.reshape(-1)
        bad = self._apart(self.wrote[at], self.wrote_in[at], me, phase)
        if bad.any():
            k = np.flatnonzero(bad)[0]
            raise Fault(f"{what}: warp {me[k]} reads byte {at[k]}, which warp {self.wrote[at[k]]} writes")
        before, home = self.read[at], -2 - self.program(me)
        fresh = (before == 0) | (before == me) | (((self.program(before) == self.program(me)) & (before > 0) | (before == home))
                                                  & (self.read_in[at] < phase))
        near = (before == home) | (before > 0) & (self.program(before) == self.program(me))
        now = np.where(fresh, me, np.where(near, home, _SEVERAL))
        self.read[at], self.read_in[at] = now, phase
        lost = self.read[at] != now         # read by several lanes of this instruction
        if lost.any():
            at, now, mine = at[lost], self.read[at[lost]], home[lost]
            same = (now == mine) | (now > 0) & (-2 - self.program(now) == mine)
            self.read[at] = np.where(same, mine, _SEVERAL)
            self.read[at[~same]] = _SEVERAL

    def writes(self, at, me, phase, what):
        """Record that warps `me` write bytes `at`; others' accesses must be before a barrier."""
        at = at.reshape(-1)
        reader, when, writer = self.read[at], self.read_in[at], self.wrote[at]
        by_several = (reader == _SEVERAL) | (reader < _SEVERAL) & ((-2 - reader != self.program(me)) | (when >= phase))
        bad = by_several | self._apart(reader, when, me, phase) | self._apart(writer, self.wrote_in[at], me, phase)
        if bad.any():
            k = np.flatnonzero(bad)[0]
            read = "several warps read" if by_several[k] else f"warp {reader[k]} reads"
            others = f"warp {writer[k]} writes" if writer[k] else read
            raise Fault(f"{what}: warp {me[k]} writes byte {at[k]}, which {others}")
        self.wrote[at], self.wrote_in[at] = me, phase

    def clear(self, at):
        """Mark bytes as unwritten."""
        self.wrote[at] = self.read[at] = 0


class _Unwatched:
    """Replacement of `_Touched` for kernels with barriers in memory, which it does not know."""

    def reads(self, *args):
        """Record nothing."""

    writes = clear = reads


class _Memory:
    """Loads and stores by lists of lanes. `me` is each lane's warp, `phase` the barriers that its program has met."""

    def _place(self, addresses, size, lanes, what):
        """Return [(lanes' positions, their bytes' array, offsets, last accesses)]."""
        raise NotImplementedError

    def load(self, addresses, size, me, phase, what, lanes=None):
        """Load `size` bytes at each address, as rows of bytes."""
        out = np.empty((len(addresses), size), np.uint8)
        for some, flat, offsets, touched in self._place(addresses, size, lanes, what):
            at = offsets[:, None] + np.arange(size)
            touched.reads(at, np.repeat(me[some], size), np.repeat(phase[some], size), what)
            out[some] = flat[at]
        return out

    def store(self, addresses, rows, me, phase, what, lanes=None):
        """Store rows of bytes. Lanes of one instruction may store to the same address."""
        size = rows.shape[1]
        for some, flat, offsets, touched in self._place(addresses, size, lanes, what):
            at = offsets[:, None] + np.arange(size)
            touched.writes(at, np.repeat(me[some], size), np.repeat(phase[some], size), what)
            flat[at] = rows[some]
            if (flat[at] != rows[some]).any():
                raise Fault(f"{what}: two lanes write different values to one address")

    def claim(self, addresses, size, me, phase, what, lanes=None):
        """Record that bytes will be written from now on."""
        for some, _, offsets, touched in self._place(addresses, size, lanes, what):
            at = offsets[:, None] + np.arange(size)
            touched.writes(at, np.repeat(me[some], size), np.repeat(phase[some], size), what)

    @staticmethod
    def aligned(addresses, size, what):
        if (addresses % np.uint64(size)).any():
            wrong = addresses[addresses % np.uint64(size) != 0][0]
            raise Fault(f"{what}: address {int(wrong):#x} is no multiple of {size}")


class Global(_Memory):
    """Device memory: arrays of bytes by address."""

    def __init__(self, arrays: dict, warps):
        self.starts = np.array(sorted(arrays), np.uint64)
        self.arrays = [arrays[int(s)] for s in self.starts]
        self.touched: list = [None] * len(self.arrays)
        self.warps = warps

    def _place(self, addresses, size, lanes, what):
        self.aligned(addresses, size, what)
        which = np.searchsorted(self.starts, addresses, "right") - 1
        first = int(which[0])
        groups = [(first, slice(None))] if (which == first).all() else \
            [(int(k), np.flatnonzero(which == k)) for k in np.unique(which)]
        for k, some in groups:
            flat = self.arrays[k] if k >= 0 else np.empty(0, np.uint8)
            offsets = (addresses[some] - (self.starts[k] if k >= 0 else np.uint64(0))).astype(np.int64)
            if k < 0 or (offsets + size > flat.size).any():
                wrong = addresses[some][offsets + size > flat.size] if k >= 0 else addresses[some]
                raise Fault(f"{what}: address {int(wrong[0]):#x} is no device memory")
            if self.touched[k] is None:
                self.touched[k] = _Touched(flat.size, self.warps)
            yield some, flat, offsets, self.touched[k]

    def update(self, addresses, values, combine, what):
        """Combine values atomically with memory; return the old values."""
        before = np.empty_like(values)
        for lane in range(len(addresses)):
            size = values.dtype.itemsize
            (_, flat, offsets, _), = self._place(addresses[lane:lane + 1], size, None, what)
            place = flat[offsets[0]:offsets[0] + size].view(values.dtype)
            before[lane] = place[0]
            place[0] = combine(place[0], values[lane])
        return before


class Shared(_Memory):
    """Shared memory of some programs: one array of bytes, a part for each."""

    def __init__(self, programs, size, warps, checked=True):
        self.size = size
        self.flat = np.resize(_ANYTHING, len(programs) * size)
        self.touched = _Touched(self.flat.size, warps) if checked else _Unwatched()

    def _place(self, addresses, size, lanes, what):
        self.aligned(addresses, size, what)
        if (addresses + np.uint64(size) > np.uint64(self.size)).any():
            raise Fault(f"{what}: address {int(addresses.max())} in shared memory of {self.size} bytes")
        yield slice(None), self.flat, lanes * self.size + addresses.astype(np.int64), self.touched

    def bring(self, program, addresses, rows, what):
        """Write the copy engine's data to a program; a barrier separates it from readers."""
        self.aligned(addresses.astype(np.uint64), rows.shape[1], what)
        if (addresses + rows.shape[1] > self.size).any():
            raise Fault(f"{what}: address {int(addresses.max())} in shared memory of {self.size} bytes")
        at = program * self.size + addresses[:, None] + np.arange(rows.shape[1])
        self.flat[at] = rows
        self.touched.clear(at)
