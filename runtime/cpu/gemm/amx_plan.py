"""The cut of products on matrix tiles (AMX): panels of columns and depth for the second-level cache, blocks for the nearest.

A strip of 32 columns streams past rows of A that the nearest cache holds for one block of the depth. Two blocks make a panel. A
panel of 512 columns takes 1 MiB, half of the second-level cache of every processor that has tiles.
"""

from typing import NamedTuple

from ....passes.codegen.llvm.contract import gemm_amx as codegen

_STRIP, _WIDEST, _NARROW = codegen.STRIP.columns, 512, 128
_MOST_ROWS = 2048                   # columns whose partial sums wait in memory
_ROWS_PER_PACK = 256                # rows that share packed columns, at least
_ITEMS_EACH = 2                     # for each thread, where columns can be cut so
_SERIAL_WORK = 1 << 21              # multiply-adds below which a second thread does not pay
_CHUNK_WORK = 1 << 19


class Cut(NamedTuple):
    """Columns of an item, row blocks, items, chunks, and the kernel's words. These are the depth of a block and of a panel, the
    bytes of partial sums, and those of a worker's scratch."""

    panel: int
    blocks: int
    items: int
    chunks: int
    depth_block: int
    panel_depth: int
    sums_bytes: int
    scratch_bytes: int

    @property
    def words(self) -> dict:
        return {name: getattr(self, name) for name in ("depth_block", "panel_depth", "sums_bytes", "scratch_bytes")}


def cut(count: int, rows: int, columns: int, depth: int, packs: int, threads: int) -> Cut:
    """Return the cut of `count` products. The depths, and with them the order of sums, depend on sizes alone."""
    work = count * rows * columns * depth
    block, panel_depth = _depths(depth)
    parallel = threads > 1 and work >= _SERIAL_WORK
    blocks = -(-rows // _MOST_ROWS) if panel_depth < depth else 1
    strips, most = -(-columns // _STRIP), _WIDEST // _STRIP
    wanted = -(-_ITEMS_EACH * threads // max(count, 1)) if parallel else 1
    if rows >= columns:
        blocks = max(blocks, min(rows // _ROWS_PER_PACK, wanted))
    if blocks < wanted:                             # all threads get some, unless items were to become narrow
        most = min(most, max(-(-strips * blocks // wanted), _NARROW // _STRIP))
    panel = -(-strips // -(-strips // most)) * _STRIP
    panels = -(-columns // panel)
    if parallel and count * panels * blocks < threads:
        blocks = max(blocks, min(rows // _ROWS_PER_PACK, -(-wanted // panels)))
    items = count * panels * blocks
    chunks = max(1, min(items, 8 * threads, work // _CHUNK_WORK)) if parallel else 1
    tall = -(-rows // blocks) + _STRIP if panel_depth < depth else _STRIP
    sums = 4 * -(-tall // _STRIP) * _STRIP * panel if block < depth else 0
    return Cut(panel, blocks, items, chunks, block, panel_depth, sums, sums + (2 * panel_depth * panel if packs else 0))


def turns(rows: int, columns: int, depth: int) -> bool:
    """Whether operands that are both contiguous along the depth should be swapped: packing costs more than transposing the
    results."""
    return (columns - rows) * depth > rows * columns


def _depths(depth) -> tuple:
    """Return the depth (of a block, of a panel): whole tiles, blocks in equal parts."""
    steps = max(1, -(-depth // codegen.DEPTH))
    blocks = -(-steps * codegen.DEPTH // codegen.MOST_DEPTH)
    block = -(-steps // blocks) * codegen.DEPTH
    return block, min(2 * block, steps * codegen.DEPTH)
