"""How products on matrix tiles (AMX) are cut into items: panels of columns for the second-level cache, blocks of the depth."""

from ...passes.codegen.llvm import gemm_amx as codegen

_PANEL_BYTES = 1 << 20              # packed columns of B that stay in the second-level cache beside rows of A
_STRIP, _WIDEST, _NARROW = codegen.STRIP.columns, 512, 128
_ROWS_PER_PACK = 256                # rows that share packed columns, at least
_ITEMS_EACH = 2                     # for each thread, where columns can be cut so
_SERIAL_WORK = 1 << 21              # multiply-adds below which a second thread does not pay
_CHUNK_WORK = 1 << 19


def cut(count: int, rows: int, columns: int, depth: int, packs: int, threads: int) -> tuple:
    """(columns of an item, row blocks, items, chunks, bytes of a worker's scratch) of `count` products."""
    work = count * rows * columns * depth
    strips = -(-columns // _STRIP)
    most = max(1, min(_WIDEST, _PANEL_BYTES // (2 * max(depth, 1))) // _STRIP)
    parallel = threads > 1 and work >= _SERIAL_WORK
    if parallel:                                    # all threads get some, unless items were to become narrow
        wanted = -(-_ITEMS_EACH * threads // max(count, 1))
        most = max(1, min(most, max(-(-strips // wanted), _NARROW // _STRIP)))
    panels = -(-strips // most)
    each = -(-strips // panels) * _STRIP
    panels, blocks = -(-columns // each), 1
    if parallel and count * panels < threads:
        blocks = max(1, min(rows // _ROWS_PER_PACK, -(-_ITEMS_EACH * threads // max(count * panels, 1))))
    items = count * panels * blocks
    chunks = max(1, min(items, 8 * threads, work // _CHUNK_WORK)) if parallel else 1
    packed = -(-depth // codegen.DEPTH) * 2 * codegen.DEPTH if packs else 0
    return each, blocks, items, chunks, each * (4 * codegen.STRIP.rows + packed)


def depth_block(depth: int) -> int:
    """Depth of a block: equal parts, whole tiles, short enough for the nearest cache."""
    steps = max(1, -(-depth // codegen.DEPTH))
    parts = -(-steps * codegen.DEPTH // codegen.MOST_DEPTH)
    return -(-steps // parts) * codegen.DEPTH
