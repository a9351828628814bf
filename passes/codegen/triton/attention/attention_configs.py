"""Choice of tiles and strategies for attention kernels: large tiles on tensor cores, as far as registers allow."""

from .....ir import dtype as dt
from ..loops.configs import has_warp_groups, power_of_two
from .attention import ADDED, ALIGNED_DRAWS, COPIES, FORWARD, KEYS, NO_MASK, PIECE, QUERIES, Kind

ALIGNED = 16                   # alignment of rows for bulk copies
LEAST_WORK = 1 << 25           # multiplications from which transposing queries and keys pays


def takes_strides(kind: Kind, name: str, e: int, v: int, arch: int) -> bool:
    """Return whether gradient kernels have registers for an operand with strides; blocks with edges leave few."""
    return kind.full or name not in ("q", "g") or not has_warp_groups(arch) or max(e, v) > 64


def depths(dtype, precision: str, e: int, v: int, scores: int) -> tuple:
    """Return `Kind.depths` of vectors of these sizes, for this many scores. Longer vectors fill registers with sums; small
    calls do not pay for transposing keys and values."""
    is_exact = dtype is dt.float32 and precision == "ieee" and max(e, v) <= 8 * PIECE and scores * e >= LEAST_WORK
    return tuple([max(1, power_of_two(n) // PIECE) for n in (e, v)]) if is_exact else ()


def candidates(kind: Kind, e: int, v: int, part: str, arch: int) -> list:
    """Return (rows of queries, rows of keys, warps, stages) of tiles worth trying, the default first: large ones on tensor
    cores, small ones for long vectors and exact products."""
    wide = max(16, power_of_two(e), power_of_two(v))
    if kind.depths:
        return _exact(part, wide, arch)
    if kind.dtype.itemsize != 2 and kind.precision == "ieee":
        if part == KEYS:
            return [(16, 16, 4, 2), (16, 32, 8, 2)] if wide <= 64 else [(16, 16, 8, 2), (16, 16, 8, 3)]
        return [(32, 32, 8, 3), (16, 16, 4, 3)] if wide <= 64 and part == FORWARD else [(16, 16, 4, 3 if wide <= 64 else 2)]
    if kind.dtype.itemsize == 4:
        if part == FORWARD:
            return [(64, 32, 8, 2)]
        if kind.drops:
            crowded = part == KEYS and wide > 64 and has_warp_groups(arch)
            return [(32, 32, 8, 1 if crowded else 2)]
        return [(32, 32, 4, 2) if 64 < wide <= 128 and not has_warp_groups(arch) else (64, 32, 4, 2)]
    if wide > 128:
        found = [(64, 32, 8, 2), (32, 32, 8, 2)]
        crowded = bool(kind.drops) or (part == KEYS and (kind.mask != NO_MASK or not has_warp_groups(arch)))
        return found[::-1] if crowded and part != FORWARD else found
    if kind.drops:
        return _with_dropout(kind, part, wide, arch)
    if part == KEYS:
        return _of_keys(kind, wide, arch)
    groups, plain = has_warp_groups(arch), kind.mask == NO_MASK
    if part == FORWARD:
        found = [(128, 64, 8, 3), (128, 64, 4, 3), (128, 128, 4, 3), (128, 128, 8, 2), (128, 128, 8, 3), (64, 64, 4, 3),
                 (64, 128, 4, 3)]
        first = 5 if groups and plain else 0
    elif groups:
        found = [(128, 64, 8, 3), (64, 64, 4, 3), (64, 64, 4, 2), (128, 64, 8, 2), (64, 32, 4, 2)]
        if plain:
            first = 1 if wide <= 64 and kind.causal and not kind.full else 0
        else:
            first = 3 if wide <= 64 else 2
    else:
        found = [(64, 32, 4, 2), (64, 64, 4, 2), (64, 32, 8, 2), (32, 64, 8, 2), (64, 64, 8, 2)]
        first = 0
    found.insert(0, found.pop(first))       # (the fastest on an H200 without spills)
    return found


def _of_keys(kind, wide, arch) -> list:
    """Return candidates of the gradient of keys: as tall as warp groups multiply, if registers allow."""
    if not has_warp_groups(arch):
        found = [(64, 32, 8, 2), (64, 32, 4, 2), (32, 64, 8, 2)]
        first = 2 if wide > 64 and kind.mask == NO_MASK else 1 if wide <= 64 and not kind.causal else 0
    elif kind.mask == NO_MASK:
        found = [(64, 64, 4, 3), (64, 64, 4, 2), (64, 128, 8, 3), (64, 128, 8, 2), (32, 128, 8, 3)]
        first = 0 if wide <= 64 else 4 if not kind.full else 2 if kind.causal else 1
    else:
        found = [(64, 128, 8, 2), (32, 128, 8, 2), (32, 64, 8, 2)]
        first = 2 if wide > 64 else 1 if kind.mask == ADDED else 0
    found.insert(0, found.pop(first))       # (the fastest on an H200, unless it spills heavily)
    return found


def _exact(part, wide, arch) -> list:
    """Return candidates of products rounded as float32: as many results per thread as registers hold besides its factors."""
    if part == KEYS:
        return [(32, 32, 4, 2), (16, 32, 4, 2)] if wide <= 32 else [(16, 32, 4, 2), (16, 16, 8, 2)][wide > 64:]
    if wide <= 64:
        return [(64, 32, 4, 2), (128, 32, 8, 2), (32, 32, 4, 2)]
    if part == FORWARD:
        return [(64, 32, 8, 2), (32, 32, 4, 2)]
    return [(32, 32, 8, 2), (32, 32, 4, 2)] if has_warp_groups(arch) else [(32, 32, 4, 2)]     # (four there spill 8 bytes)


def _with_dropout(kind, part, wide, arch) -> list:
    """Return candidates of kernels with dropout: fewer scores per thread, since draws take registers."""
    large = wide <= 64 and has_warp_groups(arch) and kind.drops == ALIGNED_DRAWS
    crowded = wide > 64 and kind.mask != NO_MASK
    if part == FORWARD:
        found = [(64, 64, 8, 3), (128, 32, 8, 3), (64, 32, 4, 3)]
        return [(128, 64, 8, 3), *found] if large else [(64, 32, 8, 3), *found] if crowded else found
    found = [(64, 32, 8, 2), (32, 32, 8, 2), (32, 64, 8, 2)]
    if part == KEYS and crowded:
        return [found[1], found[0]]
    return [(128, 64, 8, 2), (64, 64, 4, 2), *found] if large and kind.mask == NO_MASK else found


# (rows of queries, rows of keys, warps, stages, strategy) of bulk copies.
COPY_TILES = {FORWARD: ((128, 64, 4, 3, COPIES), (128, 64, 8, 3, COPIES), (128, 128, 8, 2, COPIES), (64, 64, 4, 3, COPIES)),
         QUERIES: ((128, 64, 8, 2, COPIES), (64, 64, 4, 2, COPIES), (128, 128, 8, 2, COPIES)),
         KEYS: ((64, 64, 4, 2, COPIES), (64, 128, 8, 2, COPIES), (64, 128, 8, 3, COPIES))}


def copy_candidates(kind: Kind, e: int, v: int, part: str, arch: int, addresses) -> list:
    """Return candidates with bulk copies: 16-bit floats on Hopper, with rows aligned to 16 bytes."""
    if kind.dtype.itemsize != 2 or arch // 10 != 9 or max(e, v) > 128 or kind.drops:
        return []
    if any(n % ALIGNED for n in (e * kind.dtype.itemsize, v * kind.dtype.itemsize, *addresses)):
        return []
    return list(COPY_TILES[part])


def constants(e: int, v: int, scale: float, rows: int, columns: int) -> tuple:
    """Return the compile-time constants of a kernel."""
    return (("E", e), ("V", v), ("BE", max(16, power_of_two(e))), ("BV", max(16, power_of_two(v))), ("BM", rows),
            ("BN", columns), ("SCALE", scale))


def tiles(kind: Kind, e: int, v: int, scale: float, part: str, arch: int) -> tuple:
    """Return the default (constants, warps, stages)."""
    rows, columns, warps, stages = candidates(kind, e, v, part, arch)[0]
    return constants(e, v, scale, rows, columns), warps, stages
