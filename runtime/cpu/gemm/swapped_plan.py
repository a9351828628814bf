"""The cut of register tiles for products with swapped operands (`gemm_swapped.py`).

"Rows" and "columns" are those of the product before the swap. A is packed, for as many steps of the depth as half of the
second-level cache holds; rows of the weight, which are columns of the product, are read in place. Every item packs A anew.
"""

from ....passes.codegen.llvm.contract import gemm as codegen
from ....passes.codegen.llvm.ir.types import bytes_of
from ..memory import cache_sizes
from .tile_plan import LINE, Cut, Operands, equal_parts, packed_bytes

_SHARE = 2                          # operands are swapped if there are so many times more columns than rows
_LEAST_STEPS, _MOST_STEPS = 384, 1024   # of the depth of a block of A
_ROWS = 12                          # from so many on, if they are long, dot products read A too often
_LAST_ROWS = 3                      # so many times the rows beyond whole vectors are at most lanes of one: dot products
_COLUMNS = 512                      # columns of an item, so that packing A is cheap in comparison
_LONG_COLUMNS = 2048                # of an item of a thread's own rows, which needs no other one to be even with the others
_UNEVEN = 16                        # the largest share of rows may be longer than an equal one by such a part of it
_NARROW, _NARROWEST = 96, 32        # columns of items, where threads are many: below the first, rows are shared out as well
_BLOCKS_EACH, _CHUNKS_EACH = 4, 8   # for each thread


def turns(rows: int, depth: int, columns: int, kernel) -> bool:
    """Whether operands that are both contiguous along the depth are swapped. They are if B has many more columns than A rows,
    and the second-level cache holds all rows of A for a good part of the depth."""
    return kernel.can_swap and rows * _SHARE <= columns and _steps(rows, depth, kernel) > 0


def is_far(rows: int, depth: int, item: int) -> bool:
    """Whether A has some rows, too long to be read again and again by dot products."""
    return rows >= _ROWS and rows * depth * item > cache_sizes.second_level() // 8


def _steps(rows, depth, kernel):
    """Return the steps of the depth in a block of A: all of them if they fit, else so many that sums fit, too."""
    step = -(-rows // kernel.panel) * kernel.panel * bytes_of(kernel.precision.a)
    if depth * step <= cache_sizes.second_level() // 4 * 3 and depth <= _MOST_STEPS:
        return max(depth, 1)
    most = min(cache_sizes.second_level() // 2 // step, _MOST_STEPS)
    return equal_parts(depth, most) if most >= _LEAST_STEPS else 0


def cut(count: int, rows: int, depth: int, columns: int, operands: Operands, kernel, threads: int) -> Cut:
    """Return the cut of `count` products; `operands` are the swapped ones."""
    steps = _steps(rows, depth, kernel)
    panels, blocks = _shares(rows, columns, kernel.shape, -(-threads // max(count, 1)))
    panel, lanes = panels * kernel.panel, kernel.shape.lanes
    sums_row = panel * operands.item + LINE
    if steps < depth:                               # all sums of an item wait for the next block
        blocks *= -(-columns * sums_row // (blocks * cache_sizes.second_level()))
        waiting = -(-columns // blocks) + lanes
    else:
        waiting = codegen.GROUP_TILES * kernel.shape.rows
    last = _last_rows(rows, lanes) if steps == depth and rows <= kernel.panel else 0
    items = count * -(-rows // panel) * blocks
    sums = -(-waiting // lanes) * lanes * sums_row
    words = {"turned": 1, "last": last, "columns": rows - last, "depth_block": steps,
             "source_row": operands.a_row, "source_step": operands.a_step, "sums_row": sums_row,
             "sums_bytes": sums, "scratch_bytes": sums + packed_bytes(steps, panel, operands.item)}
    return Cut(panel, blocks, items, min(items, _CHUNKS_EACH * threads) if threads > 1 else 1, words)


def _last_rows(rows, lanes):
    """Return the rows beyond whole vectors for which dot products are faster than a vector of their own."""
    rest = rows % lanes
    return rest if rows > lanes and rest * _LAST_ROWS <= lanes else 0


def _shares(rows, columns, shape, threads):
    """Return (panels of rows of an item, blocks of columns) for so many threads. Rows of A are shared out first if the shares
    are even: a thread then packs only its own rows, which it may have computed itself, and they leave room in its cache. That
    all threads read the whole weight costs less."""
    panels = -(-rows // shape.columns)
    parts = _row_parts(rows, panels, shape, threads)
    each, most = (1, columns // _LONG_COLUMNS) if parts == threads else (threads // parts, columns // _COLUMNS)
    panels, blocks = -(-panels // parts), each
    if threads > 1:
        blocks *= max(1, min(_BLOCKS_EACH, most // each))
    while panels > 1 and columns < blocks * _NARROW:
        panels, blocks = -(-panels // 2), -(-blocks // 2)
    return panels, max(1, min(blocks, columns // _NARROWEST))


def _row_parts(rows, panels, shape, threads):
    """Return the most shares of rows that are even, in whole panels and for a divisor of the threads."""
    vectors = -(-rows // shape.lanes)
    for parts in range(min(threads, panels), 1, -1):
        largest = -(-panels // parts) * shape.vectors
        if threads % parts == 0 and largest * parts * _UNEVEN <= vectors * (_UNEVEN + 1):
            return parts
    return 1
