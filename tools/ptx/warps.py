"""Warp-wide PTX operations: exchanges, sums, matrices in shared memory, tensor cores (also of four warps).

    WARP_OPERATIONS[name](entry, instruction) -> function of the machine and the running lanes

Register layouts of matrices follow the PTX manual, section by section.
"""

import numpy as np

from .faults import Fault
from .operations import TYPES

__all__ = ["WARP_OPERATIONS"]

_LANE = np.arange(32)
_GROUP, _IN_GROUP = _LANE >> 2, _LANE & 3
_SIZES = {"f16": 2, "bf16": 2, "tf32": 4, "f64": 8, "s8": 1, "u8": 1, "e4m3": 1, "e5m2": 1}


def _whole(m, mask, what):
    """Return the running warps as rows of lanes; all must be complete."""
    lanes = m.active(mask)
    rows = lanes.reshape(-1, 32) if len(lanes) % 32 == 0 else np.zeros((0, 32), int)
    if not len(rows) or (rows[:, 0] % 32).any() or (rows[:, -1] - rows[:, 0] != 31).any():
        raise Fault(f"{what} by a part of a warp")
    return rows


def _spread(m, rows, values):
    """Return values by (warp, lane) as values of all lanes."""
    found = np.zeros(m.lanes, values.dtype)
    found[rows] = values
    return found


def _shuffle(entry, i):
    how, kind = i.parts[2], np.uint32
    target, _, there = i.operands[0].partition("|")

    def step(m, mask):
        rows = _whole(m, mask, i.name)
        value = m.of(m.get(i.operands[1], kind), rows)
        b, c = (m.of(m.get(o, np.uint32), rows).astype(np.int64) for o in i.operands[2:4])
        part, clamp = c >> 8 & 31, c & 31
        low = _LANE & part
        high = low | clamp & ~part
        lane = {"up": _LANE - b, "down": _LANE + b, "bfly": _LANE ^ b, "idx": low | b & ~part}[how]
        inside = lane >= high if how == "up" else lane <= high
        lane = np.where(inside, lane, _LANE)
        m.put(target, _spread(m, rows, np.take_along_axis(value, lane, 1)), mask)
        if there:
            m.put(there, _spread(m, rows, inside), mask)

    return step


_REDUCED = {"add": np.add, "max": np.maximum, "min": np.minimum, "and": np.bitwise_and, "or": np.bitwise_or,
            "xor": np.bitwise_xor}


def _reduce(entry, i):
    kind, combine = TYPES[i.parts[-1]], _REDUCED[i.parts[2]]
    target, source, members = i.operands

    def step(m, mask):
        rows = _whole(m, mask, i.name)
        value = m.of(m.get(source, kind), rows)
        member = (m.of(m.get(members, np.uint32), rows)[:, :1] >> _LANE.astype(np.uint32) & 1).astype(bool)
        if not member.all():
            raise Fault(f"{i.name} of a part of a warp")
        found = combine.reduce(value, 1, dtype=value.dtype)
        m.put(target, _spread(m, rows, np.repeat(found[:, None], 32, 1)), mask)

    return step


def _ballot(entry, i):
    target, source, _ = i.operands

    def step(m, mask):
        rows = _whole(m, mask, i.name)
        p = m.of(m.get(source, np.bool_), rows)
        if "ballot" in i.parts:
            bits = (p.astype(np.uint32) << _LANE.astype(np.uint32)).sum(1, dtype=np.uint32)
            m.put(target, _spread(m, rows, np.repeat(bits[:, None], 32, 1)), mask)
        else:
            found = p.any(1) if "any" in i.parts else p.all(1)
            m.put(target, _spread(m, rows, np.repeat(found[:, None], 32, 1)), mask)

    return step


# Matrices of 8 x 8 numbers of 16 bits in shared memory.

def _matrices(i):
    return next(int(p[1:]) for p in i.parts if p in ("x1", "x2", "x4"))


def _load_matrix(entry, i):
    targets, place = i.operands
    count, transposed = _matrices(i), "trans" in i.parts

    def step(m, mask):
        rows = _whole(m, mask, i.name)
        addresses = m.of(m.address(place), rows)
        for k in range(count):
            owners = rows[:, 8 * k:8 * k + 8].reshape(-1)
            locations = addresses[:, 8 * k:8 * k + 8].reshape(-1)
            m.saw(i, locations, 16, owners)
            read = m.shared.load(locations, 16, m.warp[owners], m.phase[owners], i.name, m.local[owners])
            matrix = read.view(np.uint16).reshape(-1, 8, 8)
            matrix = matrix.swapaxes(1, 2) if transposed else matrix
            pairs = np.ascontiguousarray(matrix).view(np.uint32).reshape(-1, 32)
            m.put(targets[k], _spread(m, rows, pairs), mask)

    return step


def _store_matrix(entry, i):
    place, sources = i.operands
    count, transposed = _matrices(i), "trans" in i.parts

    def step(m, mask):
        rows = _whole(m, mask, i.name)
        addresses = m.of(m.address(place), rows)
        for k in range(count):
            matrix = np.ascontiguousarray(m.of(m.get(sources[k], np.uint32), rows)).view(np.uint16).reshape(-1, 8, 8)
            matrix = np.ascontiguousarray(matrix.swapaxes(1, 2) if transposed else matrix)
            owners = rows[:, 8 * k:8 * k + 8].reshape(-1)
            locations = addresses[:, 8 * k:8 * k + 8].reshape(-1)
            m.saw(i, locations, 16, owners)
            rows_of_bytes = matrix.view(np.uint8).reshape(-1, 16)
            m.shared.store(locations, rows_of_bytes, m.warp[owners], m.phase[owners], i.name, m.local[owners])

    return step


# Tensor cores. A fragment is a list of (rows, columns) of a lane's numbers, in register order.

def _left_places(size, depth, rows=16):
    """Return A's layout: each register holds 4 / size numbers of a row; registers go down 8 rows, then along the row."""
    each = max(1, 4 // size)
    across = depth // (4 * each) if size < 8 else depth // 4
    return [(_GROUP + 8 * down, _IN_GROUP * each + e + 4 * each * part)
            for part in range(across) for down in range(rows // 8) for e in range(each)]


def _right_places(size, depth):
    """Return B's layout by (row of the depth, column)."""
    each = max(1, 4 // size)
    across = depth // (4 * each) if size < 8 else depth // 4
    return [(_IN_GROUP * each + e + 4 * each * part, _GROUP) for part in range(across) for e in range(each)]


def _result_places(columns, rows=16):
    return [(_GROUP + 8 * down, _IN_GROUP * 2 + e + 8 * part)
            for part in range(columns // 8) for down in range(rows // 8) for e in range(2)]


def _numbers(kind, words):
    """Return registers of (warp, lane) as numbers by (warp, lane, number)."""
    raw = np.ascontiguousarray(np.stack(words, 2))
    if kind == "tf32":
        return (raw & np.uint32(0xFFFFE000)).view(np.float32)      # bits that tensor cores use
    return raw.view(TYPES[kind])


def _matrix(numbers, locations, shape):
    found = np.zeros((len(numbers), *shape), numbers.dtype)
    for k, (row, column) in enumerate(locations):
        found[:, row, column] = numbers[:, :, k]
    return found


def _product(a, b, c):
    """Return a @ b + c: exact products, added in float64 (integers in 64 bits)."""
    wide = np.int64 if a.dtype.kind in "iu" else np.float64
    return (a.astype(wide) @ b.astype(wide) + c.astype(wide)).astype(c.dtype)


def _shape(i):
    found = next(p for p in i.parts if p[0] == "m" and p[1:2].isdigit())
    rest, _, k = found[1:].partition("k")
    rows, _, n = rest.partition("n")
    return int(rows), int(n), int(k)


def _mma(entry, i):
    rows, columns, depth = _shape(i)
    kinds = [p for p in i.parts[-4:] if p not in ("satfinite",)]
    out, left, right, _ = kinds
    if i.parts[-1] in ("rn", "satfinite"):
        raise Fault(f"{i.name} is not known")
    target, a, b, c = (o if isinstance(o, tuple) else (o,) for o in i.operands)
    bits = {"f16": np.uint32}.get(out, TYPES[out])
    locations = _result_places(columns, rows)

    def step(m, mask):
        owners = _whole(m, mask, i.name)
        word = np.uint64 if left == "f64" else np.uint32
        left_ = _numbers(left, [m.of(m.get(x, word), owners) for x in a])
        right_ = _numbers(right, [m.of(m.get(x, word), owners) for x in b])
        added = _numbers(out, [m.of(m.get(x, bits), owners) for x in c])
        found = _product(_matrix(left_, _left_places(_SIZES[left], depth, rows), (rows, depth)),
                         _matrix(right_, _right_places(_SIZES[right], depth), (depth, columns)),
                         _matrix(added, locations, (rows, columns)))
        given = np.stack([found[:, r, k] for r, k in locations], 2)
        given = np.ascontiguousarray(given).view(bits)
        for k, x in enumerate(target):
            m.put(x, _spread(m, owners, given[:, :, k]), mask)

    return step


# Products of four warps, whose right operand (and often the left one) is in shared memory, at a descriptor.

def _described(m, descriptor, program, owners, rows, depth, size, transposed, name):
    """Return the matrix (rows, depth) of a descriptor.

    Groups of eight rows of 16 bytes are permuted by the swizzle of the address. `turned` matrices have contiguous rows, not
    depth.
    """
    start, leading, stride = ((descriptor >> at & 0x3FFF) << 4 for at in (0, 16, 32))
    swizzle = {0: 0, 1: 3, 2: 2, 3: 1}[descriptor >> 62 & 3]
    if not swizzle:
        raise Fault(f"{name}: a matrix without swizzle")
    span = 16 << swizzle                                    # bytes of a row of the pattern
    r, k = np.arange(rows)[:, None], np.arange(depth)[None, :]
    if transposed:
        each = span // size
        at = r % each * size + r // each * leading + k % 8 * span + k // 8 * stride
    else:
        at = r % 8 * span + r // 8 * stride + k * size
    at = at + start
    at = at ^ (at >> 7 & (1 << swizzle) - 1) << 4
    order = np.argsort(at.reshape(-1), kind="stable")
    flat = at.reshape(-1)[order].astype(np.uint64)
    lanes = np.full(len(flat), owners)
    read = m.shared.load(flat, size, m.warp[lanes], m.phase[lanes], name, np.full(len(flat), program))
    found = np.empty((rows * depth, size), np.uint8)
    found[order] = read
    return found.reshape(rows, depth * size)


def _wgmma(entry, i):
    if not i.name.startswith("wgmma.mma_async.sync.aligned"):
        def unknown(m, mask):
            raise Fault(f"the PTX machine does not know {i.name}")

        return unknown
    _, columns, depth = _shape(i)
    out, left, right = i.parts[-3:]
    target, a, b, scale, *rest = i.operands
    signs, transposed = rest[:2], [int(x) for x in rest[2:]] + [0, 0]
    if any(s != "1" for s in signs):
        raise Fault(f"{i.name} with another sign")
    in_registers = isinstance(a, tuple)
    turned_a, turned_b = (0, transposed[0]) if in_registers else transposed[:2]
    locations = _result_places(columns)

    def step(m, mask):
        owners = _whole(m, mask, i.name)
        if len(owners) % 4 or (owners[::4, 0] % 128).any():
            raise Fault(f"{i.name} by a part of four warps")
        size = _SIZES[left]
        kind = np.float32 if left == "tf32" else TYPES[left]
        keep = m.of(m.get(scale, np.bool_), owners)[::4, 0]
        sums = _numbers(out, [m.of(m.get(x, TYPES["f32" if out == "f16" else out]), owners) for x in target])
        added = _matrix(sums, locations, (16, columns)).reshape(-1, 64, columns)
        added = np.where(keep[:, None, None], added, added.dtype.type(0))
        if in_registers:
            numbers = _numbers(left, [m.of(m.get(x, np.uint32), owners) for x in a])
            first = _matrix(numbers, _left_places(size, depth), (16, depth)).reshape(-1, 64, depth)
        else:
            first = np.stack([_described(m, int(d), m.local[w[0]], w[0], 64, depth, size, turned_a, i.name).view(kind)
                              for d, w in zip(m.of(m.get(a, np.uint64), owners)[::4, 0], owners[::4])])
        second = np.stack([_described(m, int(d), m.local[w[0]], w[0], columns, depth, size, turned_b, i.name)
                           .view(np.float32 if right == "tf32" else TYPES[right])
                           for d, w in zip(m.of(m.get(b, np.uint64), owners)[::4, 0], owners[::4])])
        if left == "tf32":
            first, second = ((x.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32) for x in (first, second))
        found = _product(first, second.swapaxes(1, 2), added).reshape(-1, 16, columns)
        given = np.ascontiguousarray(np.stack([found[:, r, k] for r, k in locations], 2))
        for k, x in enumerate(target):
            m.put(x, _spread(m, owners, given[:, :, k]), mask)

    return step


WARP_OPERATIONS = {"shfl": _shuffle, "redux": _reduce, "vote": _ballot, "ldmatrix": _load_matrix, "stmatrix": _store_matrix,
                   "mma": _mma, "wgmma": _wgmma}
