"""Which strategy and which tiles a kernel gets, from its sizes; and the grid that covers them.

Tiles depend on what is asked for along the reduced dims alone, never on how many rows there are beside: a row's result is the
same in every batch. All that is compiled in are powers of two, and as few as can be: sizes that change find their code made.
"""

import functools
from dataclasses import dataclass, replace

from .....ir.kernel.kernel import POINT, Kernel, buffer_of
from .....ir.symbols.symbolic import power_of_two
from ...combiners import folds_of, has_scan
from ..ir.nest import memory
from ..ir.source import Source
from . import elementwise, reduction_loops
from . import multi_tensor as many_arrays

TILE = 1024           # elements of a tile of simple work
LONG = 400            # lines of a text of which registers hold few elements a lane: lgamma, digamma
WHOLE = 8192          # longest row that is held at once
WALK = 2048           # elements of a long row read at a time
PART = 1 << 14        # elements of a part of a row
PART_ACROSS = 512     # the same where memory is read along the rows
SWEPT_AGAIN = 1 << 17     # rows from which several sweeps are better cut: shorter ones are still near when they are read again
MOST_PARTS = 512
FEW_PARTS = 32        # parts that each program of a later sweep combines for itself, where it has many rows
COMBINED = 4096       # elements of a tile of states, if rows lie side by side
ROWS_ACROSS = 32      # rows of a tile whose memory is read along the rows
WHOLE_ACROSS = 64     # longest row that is held at once there
WALK_ACROSS = 32      # elements of a longer one read at a time
SUMMED_ACROSS = 128   # the same where nothing but sums in 32 bits is held of them: loads of several vectors are under way
ROWS_MOVED = 64       # rows of a tile of a sweep that sums up nothing
SIDES = {1: 128, 2: 64, 4: 64, 8: 32}      # of tiles that are read in one order and written in another, by bytes of an element
SIDE = 32             # the same of those of which registers hold few elements
LEAST_SQUARE = 256    # elements of the smallest of such tiles
WARP = 32


def has_warp_groups(arch: int) -> bool:
    """Whether groups of four warps multiply from shared memory: chips of data centres from Hopper on, not those of cards."""
    return 90 <= arch < 120


@dataclass(frozen=True)
class Launch:
    """One launch: the file, its constants, the grid, and (name, bytes) of the scratch buffers that its parts share. `how` is
    what its strategy was told beside the kernel."""

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
    """The launches that run a kernel whose symbols have the values `sizes`; `apart` if results lie where operands do that are
    not laid out over threads in the same way, `among` if it runs in one launch with others, of any sizes."""
    extents = [sizes[d.extent] if d.extent.__class__ is str else d.extent for d in kernel.dims]
    count = len(kernel.parallel)
    if count == len(extents):
        return (_elementwise(kernel, extents, numbers, apart, among),)
    parallel, reduce = extents[:count], extents[count:]
    return _sweeps(kernel, parallel, reduce, numbers)


def _product(sizes):
    total = 1
    for n in sizes:
        total *= n
    return total


def any_size(kernel: Kernel, numbers) -> Launch:
    """The launch that runs a kernel of one dim, whatever its size; its grid depends on that."""
    return replace(_elementwise(kernel, (1,), numbers, False, True), grid=(0, 1, 1))


def many(kernel: Kernel, numbers, one: Launch, slots: int, shared=frozenset(), over: tuple = ()) -> Launch:
    """The launch that does for up to `slots` sets of operands what `one` does for its own (`multi_tensor.py`); its grid depends
    on theirs."""
    return replace(one, source=_written_for_many(kernel, numbers, one.how, slots, shared, over), grid=(0, 1, 1))


@functools.lru_cache(1024)
def _written_for_many(kernel, numbers, how, *sets) -> Source:
    return many_arrays.write(_nest(kernel, numbers, how), *sets)


@functools.lru_cache(4096)
def _simple(kernel, numbers, apart) -> tuple[Source, int, int, int]:
    """(the file, elements of a tile, of a lane, columns wanted) of a kernel without reduce dims."""
    source = _written(kernel, numbers, apart)
    pairs = any(i.dtype.is_complex for i in kernel.instructions())      # (whose functions compute in float64)
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
    last, outer = extents[-1], _product(extents[:-1])
    columns = max(4, power_of_two(min(wanted, last)))
    rows = max(1, tile // columns)
    grid = (-(-outer // rows) * -(-last // columns), 1, 1)
    return Launch(source, (("ROWS", rows), ("COLS", columns)), _warps(rows * columns, each), grid, how=(apart,))


def _square(kernel, extents, numbers, apart, tile):
    """The launch by tiles of two dims of a kernel that reads in one order and writes in another; None for others, and where
    these dims are so short that a tile would hold little."""
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
    grid = (tiles * _product([n for d, n in enumerate(extents[:-1]) if d != down]), 1, 1)
    how, warps = (apart, down), _warps(rows * columns, 16 if tile == TILE else 4)
    return Launch(_written(kernel, numbers, *how), (("ROWS", rows), ("COLS", columns)), warps, grid, how=how)


@functools.lru_cache(4096)
def _crossed(kernel):
    """(the dim that is crossed with the last one, bytes of the largest elements that are read or written)"""
    return elementwise.crossed(kernel), max(memory(b.dtype).itemsize for b in kernel.buffers)


def _columns_wanted(kernel, tile):
    """Wide tiles where all memory is read along the last dim, square ones where some is read across."""
    strides = [kernel.buffer(buffer_of(i)).strides for i in kernel.instructions() if i.op in ("load", "store")]
    across = any(s[-1] not in (0, 1) for s in strides)
    return 32 if across else tile


def _warps(elements, per_thread=8):
    return max(1, min(8, power_of_two(elements // (WARP * per_thread))))


def by_columns(kernel: Kernel) -> bool:
    """Whether memory is read along the last parallel dim rather than along the reduce dims. What there is one of for each
    element of a row, or for each row, comes a few times and counts for nothing."""
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
    """Whether a launch of a kernel that is cut makes what there is one of for each row, after all others."""
    return len(one.how) > 2 and one.how[2] == reduction_loops.FINISH


@functools.lru_cache(4096)
def _swept(kernel) -> tuple[bool, bool, int]:
    """(whether memory is read along the last parallel dim, whether there are running results, the number of sweeps)"""
    return by_columns(kernel), has_scan(kernel), len(reduction_loops.sweeps_of(kernel))


def _sweeps(kernel, parallel, reduce, numbers):
    length, (across, scans, count) = _product(reduce), _swept(kernel)
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
    """A launch for each sweep, with a program for each part of a row, and one for what there is one of for each row; where each
    of the many programs of a sweep would combine many parts, one for that between sweeps."""
    count, width, joined = _product(parallel), power_of_two(parts), across and parts > FEW_PARTS
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
    """Rows of a tile, whatever rows there are: as many as make one, and by columns neighbours for a warp at least."""
    return max(ROWS_ACROSS if across else 1, TILE // columns)


@functools.lru_cache(4096)
def _walk_across(kernel, number) -> int:
    """How many elements of a row a sweep of a number, or each of all, reads at a time where memory is read along the rows."""
    swept = reduction_loops.sweeps_of(kernel)
    folds = [i for sweep in (swept if number is None else [swept[number]]) for i in folds_of(sweep)]
    sums = all(i.attr == "sum" and i.dtype.itemsize == 4 for i in folds) and not has_scan(kernel)
    return SUMMED_ACROSS if folds and sums else WALK_ACROSS


def _programs(across, rows, parallel):
    if across:
        return _product(parallel[:-1]) * -(-parallel[-1] // rows)
    return -(-_product(parallel) // rows)


def _parts(count, length, across):
    """In how many parts rows of a length that are swept so often are cut."""
    part = PART_ACROSS if across else PART
    if length < (SWEPT_AGAIN if count > 1 and not across else 2 * part):
        return 0
    return min(MOST_PARTS, power_of_two(-(-length // part)))
