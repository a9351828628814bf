"""Choice of strategy, tile and grid of a kernel from its sizes.

Tiles depend on the sizes along reduced dims alone, never on the number of rows, so a row's result is the same in every batch.
Only powers of two are compiled in, and as few as possible: changed sizes find compiled code.
"""

import functools
from dataclasses import dataclass, replace
from math import prod

from .....ir.kernel.kernel import POINT, Kernel, buffer_of
from .....ir.symbols.symbolic import power_of_two
from ...combiners import folds_of, has_scan
from ..ir.nest import memory
from ..ir.source import Source
from . import elementwise, reduction_loops
from . import multi_tensor as many_arrays

TILE = 1024           # elements of a tile of simple work
LONG = 400            # lines of a text whose registers allow few elements a lane: lgamma, digamma
WHOLE = 8192          # longest row held in registers
WALK = 2048           # elements of a long row read at a time
PART = 1 << 14        # elements of a part of a row
PART_ACROSS = 512     # the same with memory across rows
SWEPT_AGAIN = 1 << 17     # row length from which several sweeps are cut: shorter rows stay in cache between sweeps
MOST_PARTS = 512
FEW_PARTS = 32        # most parts that each program of a later sweep combines itself, for many rows
COMBINED = 4096       # elements of a tile of states, if rows are adjacent
ROWS_ACROSS = 32      # rows of a tile with memory across rows
WHOLE_ACROSS = 64     # longest row held in registers there
WALK_ACROSS = 32      # elements of a longer one read at a time
SUMMED_ACROSS = 128   # the same for sums of 32 bits only: several vector loads overlap
ROWS_MOVED = 64       # rows of a tile of a sweep without folds
SIDES = {1: 128, 2: 64, 4: 64, 8: 32}      # sides of transposing tiles, by bytes of an element
SIDE = 32             # the same if registers hold few elements
LEAST_SQUARE = 256    # elements of the smallest such tile
WARP = 32


def has_warp_groups(arch: int) -> bool:
    """Return whether groups of four warps multiply from shared memory: data-centre chips from Hopper on, not graphics cards."""
    return 90 <= arch < 120


@dataclass(frozen=True)
class Launch:
    """One launch: the file, its constants, the grid, and (name, bytes) of scratch buffers shared by its parts. `how` is the
    strategy's further arguments."""

    source: Source
    constants: tuple
    warps: int
    grid: tuple
    scratch: tuple = ()
    stages: int = 3
    how: tuple = ()


@functools.lru_cache(4096)
def _written(kernel: Kernel, numbers, *how) -> Source:
    return _nest(kernel, numbers, how).source()


def _nest(kernel, numbers, how):
    return reduction_loops.Sweeps(kernel, numbers, *how) if kernel.reduce else elementwise.Elementwise(kernel, numbers, *how)


def launches(kernel: Kernel, sizes: dict, numbers=frozenset(), apart=False, among=False) -> tuple[Launch, ...]:
    """Return the launches of a kernel whose symbols have the values `sizes`.

    `apart` says that results overwrite operands with another layout over threads, `among` that it runs in one launch with
    others, of any sizes.
    """
    extents = [sizes[d.extent] if d.extent.__class__ is str else d.extent for d in kernel.dims]
    count = len(kernel.parallel)
    if count == len(extents):
        return (_elementwise(kernel, extents, numbers, apart, among),)
    parallel, reduce = extents[:count], extents[count:]
    return _reduction(kernel, parallel, reduce, numbers)


def any_size(kernel: Kernel, numbers) -> Launch:
    """Return the launch of a kernel of one dim, for any size; its grid depends on the size."""
    return replace(_elementwise(kernel, (1,), numbers, False, True), grid=(0, 1, 1))


def multi_tensor(kernel: Kernel, numbers, one: Launch, slots: int, shared=frozenset(), over: tuple = ()) -> Launch:
    """Return the launch that does for up to `slots` sets of operands what `one` does for its own (`multi_tensor.py`); its grid
    depends on theirs."""
    return replace(one, source=_written_for_many(kernel, numbers, one.how, slots, shared, over), grid=(0, 1, 1))


@functools.lru_cache(1024)
def _written_for_many(kernel, numbers, how, *sets) -> Source:
    return many_arrays.write(_nest(kernel, numbers, how), *sets)


@functools.lru_cache(4096)
def _simple(kernel, numbers, apart) -> tuple[Source, int, int, int]:
    """Return (the file, elements of a tile, of a lane, wanted columns) of a kernel without reduce dims."""
    source = _written(kernel, numbers, apart)
    pairs = any(i.dtype.is_complex for i in kernel.instructions())      # (their functions compute in float64)
    tile, each = (TILE, 8) if source.text.count("\n") < (LONG // 2 if pairs else LONG) else (TILE // 4, 2)
    return source, tile, each, _columns_wanted(kernel, tile)


def _elementwise(kernel, extents, numbers, apart, among):
    source, tile, each, wanted = _simple(kernel, numbers, apart)
    square = _square(kernel, extents, numbers, apart, tile) if len(extents) > 1 else None
    if square is not None:
        return square
    if len(extents) < 2:
        n = extents[0] if extents else 1
        columns = WARP if n <= WARP and not among else tile
        return Launch(source, (("COLS", columns),), _warps(columns, each), (-(-n // columns), 1, 1), how=(apart,))
    last, outer = extents[-1], prod(extents[:-1])
    columns = max(4, power_of_two(min(wanted, last)))
    rows = max(1, tile // columns)
    grid = (-(-outer // rows) * -(-last // columns), 1, 1)
    return Launch(source, (("ROWS", rows), ("COLS", columns)), _warps(rows * columns, each), grid, how=(apart,))


def _square(kernel, extents, numbers, apart, tile):
    """Return the two-dim tile launch of a kernel that reads and writes in different orders; None for others and short dims."""
    down, size = _crossed(kernel)
    if down is None:
        return None
    side = SIDES[size] if tile == TILE else SIDE
    wide = power_of_two(min(side, extents[-1]))
    rows = power_of_two(min(side * side // wide, extents[down]))
    columns = power_of_two(min(side * side // rows, extents[-1]))
    if rows * columns < LEAST_SQUARE:
        return None
    tiles = -(-extents[down] // rows) * -(-extents[-1] // columns)
    grid = (tiles * prod([n for d, n in enumerate(extents[:-1]) if d != down]), 1, 1)
    how, warps = (apart, down), _warps(rows * columns, 16 if tile == TILE else 4)
    return Launch(_written(kernel, numbers, *how), (("ROWS", rows), ("COLS", columns)), warps, grid, how=how)


@functools.lru_cache(4096)
def _crossed(kernel):
    return elementwise.crossed(kernel), max(memory(b.dtype).itemsize for b in kernel.buffers)


def _columns_wanted(kernel, tile):
    """Return the columns of a tile: wide if all memory is along the last dim, square if some is across."""
    strides = [kernel.buffer(buffer_of(i)).strides for i in kernel.instructions() if i.op in ("load", "store")]
    across = any(s[-1] not in (0, 1) for s in strides)
    return 32 if across else tile


def _warps(elements, per_thread=8):
    return max(1, min(8, power_of_two(elements // (WARP * per_thread))))


def by_columns(kernel: Kernel) -> bool:
    """Return whether memory is read along the last parallel dim rather than along the reduce dims. Operands shared by rows or
    columns do not count."""
    along = across = 0
    last, inner = len(kernel.parallel) - 1, len(kernel.dims) - 1
    if last < 0:
        return False
    for i in kernel.instructions():
        if i.op in ("load", "store"):
            strides = kernel.buffer(buffer_of(i)).strides
            along += strides[inner] == 1 and strides[last] != 0
            across += strides[last] == 1 and strides[inner] != 0
    return across > along


def is_end(one: Launch) -> bool:
    """Return whether a launch of a cut kernel is the last one, for values once per row."""
    return len(one.how) > 2 and one.how[2] == reduction_loops.FINISH


@functools.lru_cache(4096)
def _swept(kernel) -> tuple[bool, bool, int]:
    return by_columns(kernel), has_scan(kernel), len(reduction_loops.sweeps_of(kernel))


def _reduction(kernel, parallel, reduce, numbers):
    length, (across, scans, count) = prod(reduce), _swept(kernel)
    whole = length <= (WHOLE_ACROSS if across else WHOLE) and not scans
    columns = power_of_two(length) if whole else min(power_of_two(length), _walk_across(kernel, None) if across else WALK)
    rows = _rows_wanted(across, columns)
    programs = _programs(across, rows, parallel)
    parts = 0 if scans else _parts(count, length, across)
    if parts < 2:
        how = across, whole
        constants, grid = (("ROWS", rows), ("COLS", columns)), (programs, 1, 1)
        return (Launch(_written(kernel, numbers, *how), constants, _warps(rows * columns), grid, how=how),)
    return _cut(kernel, parallel, numbers, across, parts)


def _cut(kernel, parallel, numbers, across, parts):
    """Return launches: one per sweep with a program per part, one for row values, and joins between if parts are many."""
    count, width, joined = prod(parallel), power_of_two(parts), across and parts > FEW_PARTS
    few = max(1, min(ROWS_ACROSS, COMBINED // width)) if across else _rows_wanted(across, width)
    found, swept = [], reduction_loops.sweeps_of(kernel)

    def scratch(states, times):
        return tuple([(name, count * times * memory(d).itemsize) for name, d in states])

    def by_rows(part, shared=()):
        how = across, False, part, joined
        return Launch(_written(kernel, numbers, *how), (("ROWS", few), ("COLS", width), ("PARTS", parts), ("WIDTH", width)),
                      _warps(few * width), (_programs(across, few, parallel), 1, 1), shared, how=how)

    for n, sweep in enumerate(swept):
        columns = _walk_across(kernel, n) if across else WALK
        rows = ROWS_MOVED if across and not folds_of(sweep) else _rows_wanted(across, columns)
        how = across, False, n, joined
        writer = reduction_loops.Sweeps(kernel, numbers, *how)
        found.append(Launch(_written(kernel, numbers, *how),
                            (("ROWS", rows), ("COLS", columns), ("PARTS", parts), ("WIDTH", width)), _warps(rows * columns),
                            (_programs(across, rows, parallel), parts, 1), scratch(writer.states(sweep), parts), how=how))
        if joined and n < len(swept) - 1:
            found.append(by_rows(reduction_loops.JOIN - n, scratch(writer.states(sweep, True), 1)))
    if any(i.op == "store" for s in kernel.stages if s.over == POINT for i in s.body):
        found.append(by_rows(reduction_loops.FINISH))
    return tuple(found)


def _rows_wanted(across, columns):
    """Return a tile's rows, whatever their number: enough to fill it, and by columns at least a warp of neighbours."""
    return max(ROWS_ACROSS if across else 1, TILE // columns)


@functools.lru_cache(4096)
def _walk_across(kernel, number) -> int:
    """Return the elements of a row that a sweep, or each of all, reads at a time when memory is across rows."""
    swept = reduction_loops.sweeps_of(kernel)
    folds = [i for sweep in (swept if number is None else [swept[number]]) for i in folds_of(sweep)]
    sums = all(i.attr == "sum" and i.dtype.itemsize == 4 for i in folds) and not has_scan(kernel)
    return SUMMED_ACROSS if folds and sums else WALK_ACROSS


def _programs(across, rows, parallel):
    if across:
        return prod(parallel[:-1]) * -(-parallel[-1] // rows)
    return -(-prod(parallel) // rows)


def _parts(count, length, across):
    """Return the number of parts for rows of a length with `count` sweeps."""
    part = PART_ACROSS if across else PART
    if length < (SWEPT_AGAIN if count > 1 and not across else 2 * part):
        return 0
    return min(MOST_PARTS, power_of_two(-(-length // part)))
