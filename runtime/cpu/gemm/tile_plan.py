"""The cut of products on register tiles: blocks of the depth and of the columns for the caches, items for the threads.

Many rows: a row of A takes `_DEPTH_BYTES` of the nearest cache, so that a tile's rows stay there while all columns of an item
pass, and B a quarter of the second-level cache. Fewer rows: a block of B stays in the nearest cache, packed or not. Few rows:
nothing is packed, and a few rows of B at a time are streamed in long pieces. Sums restart with every block of the depth, so
results depend on it, and it depends on sizes and the machine's caches alone.
"""

from typing import NamedTuple

from ....passes.codegen.llvm.contract import gemm as codegen
from ..memory import cache_sizes

_DEPTH_BYTES = 2048                 # of a row of A
_NEAR_ROWS = 192                    # up to so many rows, blocks of B stay in the nearest cache:
_NEAR_BYTES, _NEAR_STEPS = 32 << 10, 128
_FAR_BYTES = 1 << 16                # rows of B so far apart are read in pieces twice as long
_FEW_ROWS = 16                      # up to so many rows, B is read once: a few of its rows at a time
_FEW_STEPS, _FEW_BYTES = 32, 4096   # so many of them, in pieces of so many bytes
_NARROW_BYTES = 256                 # a B so narrow is read in place
_SPLIT_ROWS = 40                    # up to so many rows, loads across two lines cost less than packing
_CROWDED_BYTES = 2048               # multiples of so many bytes fall on few places of a cache
_TURNED_BYTES = 4096                # columns of a transposed A so far apart are packed
LINE, _PAGE, _FLOAT = 64, 4096, 4
_ITEMS_EACH, _ITEM_WORK = 4, 1 << 22    # for each thread, where cutting costs nothing; multiply-adds that are worth being cut
_TALL_ROWS = 96                     # for each thread, that are cut rather than columns where nothing is packed
_ROWS_PER_PACK, _PACKS_EACH = 192, 2    # rows that share what is packed, at least; items where it is packed anew for each
_CHUNK_WORK = 1 << 15


class Cut(NamedTuple):
    """Columns of an item, row blocks, items, chunks, and the kernel's other words."""

    panel: int
    blocks: int
    items: int
    chunks: int
    words: dict


class Operands(NamedTuple):
    """The strides of A and B in bytes, and the size of their elements."""

    a_row: int
    a_step: int
    b_step: int
    b_column: int
    item: int


def reads_in_place(rows: int, depth: int, columns: int, operands: Operands, partial_sums: bool) -> bool:
    """Whether rows of B are read as fast in place as packed. They are if few rows use them, if caches hold them evenly and they
    begin at lines, or if they split lines but few rows use them."""
    step, item = operands.b_step, operands.item
    if rows <= _FEW_ROWS or columns * item <= _NARROW_BYTES:
        return True
    if step % _CROWDED_BYTES == 0:
        return False
    fits = step * depth <= cache_sizes.second_level() // 2
    if step % LINE == 0:
        return fits or (rows <= _NEAR_ROWS and partial_sums)
    return rows <= _SPLIT_ROWS and (fits or (partial_sums and step < _FAR_BYTES))


def cut(count: int, sizes: tuple, pack: int, operands: Operands, kernel, partial_sums: bool, threads: int) -> Cut:
    """Return the cut of `count` products of (rows, depth, columns), for that many threads. A C that cannot hold partial sums
    takes all of the depth at once."""
    rows, depth, columns = sizes
    left = _packs_left(rows, depth, operands, kernel)
    steps, most = _block(sizes, pack, operands, kernel.panel, partial_sums, left)
    panels = -(-columns // kernel.panel)
    tall = pack == codegen.IN_PLACE and rows >= _TALL_ROWS * threads
    if threads > 1 and not tall:                    # enough items for all, unless they were to become narrow
        wanted = 1 if left else -(-_ITEMS_EACH * threads // max(count, 1))
        most = min(most, max(-(-panels // wanted), 2 if rows > _FEW_ROWS else 4))
    panel = min(most, max(panels, 1)) * kernel.panel
    blocks, items, chunks = share(count, -(-columns // panel), rows, rows * depth * columns * count, pack, threads)
    words = {"depth_block": steps, "source_row": operands.a_row, "source_step": operands.a_step,
             "ahead": operands.b_step if pack in (codegen.IN_PLACE, codegen.PACK_ROWS) else 0, "left_bytes": 0}
    if left:
        step = kernel.shape.rows * operands.item
        words |= {"a_step": step, "left_bytes": -(-steps * step * codegen.GROUP_TILES // LINE) * LINE}
    packed = packed_bytes(steps, panel, operands.item) if pack else 0
    return Cut(panel, blocks, items, chunks, words | {"scratch_bytes": packed + words["left_bytes"]})


def stored_cut(rows: int, depth: int, columns: int, block: int, kernel, threads: int) -> Cut:
    """Return the cut of a product of floats with a stored weight, whose blocks have `block` numbers."""
    steps = min(depth, -(-equal_parts(depth, _DEPTH_BYTES // _FLOAT) // block) * block)
    panels = -(-columns // kernel.panel)
    most = max(1, cache_sizes.second_level() // 4 // (steps * _FLOAT * kernel.panel))
    if threads > 1:
        most = min(most, max(-(-panels // (_ITEMS_EACH * threads)), 1))
    panel = min(most, panels) * kernel.panel
    blocks, items, chunks = share(1, -(-columns // panel), rows, rows * depth * columns, codegen.PACK_TRANSPOSED, threads)
    words = {"depth_block": steps, "scratch_bytes": packed_bytes(steps, panel, _FLOAT)}
    return Cut(panel, blocks, items, chunks, words)


def _packs_left(rows, depth, operands, kernel):
    """Whether tiles of A are packed: its columns are contiguous and far apart, each step of the depth on another page."""
    return (kernel.strategy == "tiles" and operands.a_row == operands.item and operands.a_step >= _TURNED_BYTES
            and rows > kernel.shape.rows and depth > 1)


def _block(sizes, pack, operands, panel, partial_sums, left):
    """Return the steps of the depth, and the panels, of a block."""
    (rows, depth, columns), item, b_step = sizes, operands.item, operands.b_step
    room = cache_sizes.second_level() // 4
    if not partial_sums:
        steps = max(depth, 1)
    elif pack == codegen.IN_PLACE and rows <= _FEW_ROWS and b_step != panel * item and b_step * depth > room:
        steps, room = _FEW_STEPS, _FEW_STEPS * _FEW_BYTES
    elif rows <= _NEAR_ROWS and b_step != panel * item and depth * columns * item > room:
        steps, room = equal_parts(depth, _NEAR_STEPS), _NEAR_BYTES * (1 if b_step < _FAR_BYTES else 2)
    else:
        steps, room = equal_parts(depth, _DEPTH_BYTES // item), room * (2 if left else 1)
    return steps, max(1, room // (steps * item * panel))


def packed_bytes(steps: int, columns: int, item: int) -> int:
    """Return the room for a packed block of B, and for what is read beyond it."""
    return -(-(steps + 1) * columns * item // _PAGE) * _PAGE + 2 * LINE


def equal_parts(depth: int, most: int) -> int:
    """Return the steps of each of as few equal parts as possible."""
    parts = -(-depth // most)
    return -(-depth // parts // 8) * 8 if parts > 1 else max(depth, 1)


def share(count: int, panels: int, rows: int, work: int, pack: int, threads: int) -> tuple[int, int, int]:
    """Return (row blocks, items, chunks): enough items to keep all threads busy, few enough not to pack a panel too often."""
    if threads == 1:
        return 1, count * panels, 1
    few = max(1, min(_ITEMS_EACH, work // (threads * _ITEM_WORK)))
    most, each = (rows // _ROWS_PER_PACK, _PACKS_EACH) if pack else (-(-rows // 6), few)
    blocks = max(1, min(most, -(-each * threads // max(count * panels, 1))))
    items = count * panels * blocks
    return blocks, items, max(1, min(items, 8 * threads, work // _CHUNK_WORK))
