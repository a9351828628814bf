"""Copy engine of Hopper chips: tensor maps, boxes copied into shared memory, and barriers in memory.

    MEMORY_OPERATIONS[name](entry, instruction) -> function of the machine and the running lanes

A box arrives at the last moment: when a thread waits for its barrier, and nothing else is missing. A waiting thread stops
until the phase is over (`Machine.held`). A map is 128 bytes, whose real layout is not documented; `_FIELDS` is ours.
"""

from dataclasses import dataclass, field

import numpy as np

from .faults import Fault

__all__ = ["MEMORY_OPERATIONS", "wait"]

_BYTES = 128
_ELEMENTS = {0: 1, 1: 2, 2: 4, 3: 4, 4: 8, 5: 8, 6: 2, 7: 4, 8: 4, 9: 8, 10: 2}     # bytes by type number; 10 is bfloat16
# Fields of a map: (offset, bytes of a number).
_FIELDS = {"global_address": (0, 8), "rank": (8, 1), "elemtype": (9, 1), "interleave_layout": (10, 1), "swizzle_mode": (11, 1),
           "fill_mode": (12, 1), "global_dim": (16, 4), "box_dim": (36, 4), "element_stride": (56, 4), "global_stride": (80, 8)}


@dataclass
class Barrier:
    """A barrier in memory: arrivals of a phase, missing ones, bytes still to come, and the boxes that bring them."""

    count: int
    missing: int
    phase: int = 0
    bytes: int = 0
    boxes: list = field(default_factory=list)

    def arrive(self, count):
        """Some arrivals."""
        if count > self.missing:
            raise Fault(f"{count} arrive at a barrier that waits for {self.missing}")
        self.missing -= count

    def ends(self) -> bool:
        """Start the next phase if nothing is missing; return whether it did."""
        if self.missing or self.bytes:
            return False
        self.missing, self.phase = self.count, self.phase + 1
        return True


def _number(m, operand, lane, kind=np.uint32) -> int:
    return int(m.of(m.get(operand, kind), np.array([lane]))[0])


def _spot(m, place, lane) -> int:
    return int(m.of(m.address(place), np.array([lane]))[0])


def _barrier(m, place, lane, what) -> Barrier:
    at = int(m.local[lane]), _spot(m, place, lane)
    if at not in m.barriers:
        raise Fault(f"{what}: no barrier at {at[1]}")
    return m.barriers[at]


def _over(m, barrier, lane):
    """Release a program's waiting threads if a phase is over."""
    if barrier.ends():
        m.held &= m.local != m.local[lane]


def _mbarrier(entry, i):
    given = i.operands[-1]

    def init(m, lane):
        at = int(m.local[lane]), _spot(m, i.operands[0], lane)
        m.barriers[at] = Barrier(int(given), int(given))

    def inval(m, lane):
        _barrier(m, i.operands[0], lane, i.name)
        del m.barriers[int(m.local[lane]), _spot(m, i.operands[0], lane)]

    def arrive(m, lane):
        barrier = _barrier(m, i.operands[1], lane, i.name)
        if "expect_tx" in i.parts:
            barrier.bytes += _number(m, given, lane)
            barrier.arrive(1)
        else:
            barrier.arrive(int(given) if len(i.operands) > 2 else 1)
        _over(m, barrier, lane)

    one = {"init": init, "inval": inval, "arrive": arrive}.get(i.parts[1])
    if one is None:
        return None

    def step(m, mask):
        for lane in m.active(mask):
            one(m, lane)

    return step


def wait(i):
    """mbarrier.try_wait.parity: return the lanes that continue, since the phase of a parity is over."""
    done, place, parity = i.operands

    def step(m, lanes):
        going = np.zeros(m.lanes, bool)
        for lane in lanes:
            barrier, odd = _barrier(m, place, lane, i.name), _number(m, parity, lane) & 1
            if barrier.boxes and not barrier.missing and barrier.phase % 2 == odd:
                _bring(m, barrier)
                _over(m, barrier, lane)
            going[lane] = barrier.phase % 2 != odd
        m.put(done, np.ones(m.lanes, bool), going)
        return going

    return step


def _bring(m, barrier):
    """Deliver a barrier's boxes."""
    for at, rows, what in barrier.boxes:
        for spots, bytes_ in rows:
            m.shared.bring(at, spots, bytes_, what)
            barrier.bytes -= bytes_.size
    barrier.boxes.clear()


def _tensormap(entry, i):
    if i.parts[1:3] == ("replace", "tile"):
        return _replaced(i) if i.parts[3] in _FIELDS else None
    if i.parts[1] != "cp_fenceproxy":
        return None
    target, source, _ = i.operands

    def published(m, mask):
        lane = m.active(mask)[:1]
        issuer = m.warp[lane], m.phase[lane], i.name
        rows = m.shared.load(m.of(m.address(source), lane), _BYTES, *issuer, m.local[lane])
        m.memory.store(m.of(m.address(target), lane), rows, *issuer)

    def step(m, mask):
        lanes = m.active(mask)
        for program in np.unique(m.local[lanes]):
            only = np.zeros(m.lanes, bool)
            only[lanes[m.local[lanes] == program][:1]] = True
            published(m, only)

    return step


def _replaced(i):
    name = i.parts[3]
    at, size = _FIELDS[name]
    place, *ordinal, value = i.operands
    at += size * int(ordinal[0], 0) if ordinal else 0

    def step(m, mask):
        lanes = m.active(mask)
        wide = np.uint64 if i.parts[-1] == "b64" else np.uint32
        given = m.of(m.get(value, wide), lanes).astype(f"u{size}")
        addresses = m.of(m.address(place), lanes) + np.uint64(at)
        m.shared.store(addresses, given.view(np.uint8).reshape(len(lanes), size), m.warp[lanes], m.phase[lanes], i.name,
                       m.local[lanes])

    return step


@dataclass(frozen=True)
class _Map:
    """A tensor map: sizes from the innermost dim on, strides of the others in bytes."""

    address: int
    item: int
    sizes: tuple
    strides: tuple
    box: tuple
    swizzle: int

    @staticmethod
    def read(raw) -> "_Map":
        """Parse the bytes of a map."""

        def numbers(name, count=1):
            at, size = _FIELDS[name]
            return tuple([int(x) for x in raw[at:at + size * count].copy().view(f"u{size}")])

        dims = numbers("rank")[0] + 1
        if numbers("interleave_layout")[0] or numbers("fill_mode")[0] or set(numbers("element_stride", dims)) != {1}:
            raise Fault("a map of a tensor with more than the PTX machine knows")
        address, = numbers("global_address")
        strides = numbers("global_stride", dims - 1)
        if address % 16 or any(s % 16 for s in strides):
            raise Fault(f"a map of a tensor at {address:#x} with strides of {strides} bytes, which are no multiples of 16")
        return _Map(address, _ELEMENTS[numbers("elemtype")[0]], numbers("global_dim", dims), strides,
                    numbers("box_dim", dims), numbers("swizzle_mode")[0])

    def box_at(self, m, corner, lane, what):
        """Return (target of each row, its bytes): rows of a box, zeros beyond the tensor, 16 bytes at a time in swizzled order.
        """
        count, span = self.box[0], self.box[0] * self.item
        if self.swizzle and span > 16 << self.swizzle:
            raise Fault(f"{what}: rows of {span} bytes, more than a swizzle of {16 << self.swizzle}")
        for row, index in enumerate(np.ndindex(*reversed(self.box[1:]))):
            place = [c + k for c, k in zip(corner[1:], reversed(index))]
            found = np.zeros(span, np.uint8)
            low, high = max(corner[0], 0), min(corner[0] + count, self.sizes[0])
            if low < high and all(0 <= p < n for p, n in zip(place, self.sizes[1:])):
                start = self.address + sum(p * s for p, s in zip(place, self.strides)) + low * self.item
                spots = np.arange(start, start + (high - low) * self.item, self.item).astype(np.uint64)
                issuer = m.warp[np.full(len(spots), lane)], m.phase[np.full(len(spots), lane)]
                read = m.memory.load(spots, self.item, *issuer, what).reshape(-1)
                found[(low - corner[0]) * self.item:(high - corner[0]) * self.item] = read
            at = row * span + np.arange(0, span, 16)
            yield at, found.reshape(-1, 16)

    def swizzled(self, at):
        """Return the place of a piece of 16 bytes."""
        return at ^ (at >> 7 & (1 << self.swizzle) - 1) << 4


def _bulk(entry, i):
    """cp.async.bulk: copy boxes of tensors; groups of stores are empty here."""
    if i.parts[3].endswith("_group"):
        return lambda m, mask: None
    if i.parts[3] != "tensor" or i.parts[5] not in ("shared::cta", "shared::cluster") or len(i.operands) != 5:
        return None
    target, tensor_map, corner, _, barrier_at = i.operands

    def step(m, mask):
        for lane in m.active(mask):
            here = np.array([lane])
            issuer = m.warp[here], m.phase[here], i.name
            known = _Map.read(m.memory.load(np.array([_spot(m, tensor_map, lane)], np.uint64), _BYTES, *issuer)[0])
            at = [_number(m, c, lane, np.int32) for c in corner]
            goal, barrier = _spot(m, target, lane), _barrier(m, barrier_at, lane, i.name)
            rows = [(known.swizzled(goal + spots), found) for spots, found in known.box_at(m, at, lane, i.name)]
            barrier.boxes.append((int(m.local[lane]), rows, i.name))

    return step


def _elect(entry, i):
    leader, _, chosen = i.operands[0].partition("|")

    def step(m, mask):
        m.put(leader, np.zeros(m.lanes, np.uint32), mask)
        m.put(chosen, np.arange(m.lanes) % 32 == 0, mask)

    return step


MEMORY_OPERATIONS = {"mbarrier": _mbarrier, "tensormap": _tensormap, "cp.async.bulk": _bulk, "elect": _elect,
                     "setmaxnreg": lambda entry, i: lambda m, mask: None}
