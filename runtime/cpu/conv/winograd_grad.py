"""Weight gradients by Winograd's F(2) (`passes/codegen/llvm/conv/winograd_grad.py`): when they pay, and their steps."""

import functools
from dataclasses import dataclass

from ....ir import config
from ....ir.target import host
from ....passes.codegen.llvm.conv import winograd_grad as codegen
from ..calls.plan import WORKSPACE, share
from ..compiler.compile import compile_module
from ..compiler.ir_cache import text_of
from .conv_layout import Filters
from .conv_plan import Geometry
from .winograd import filters_of

_CACHE_BYTES = 1_200_000             # V and D of a block of tiles
_MOST_TILES, _LEAST_TILES = 32, 16
_ITEMS = 8                          # items that a gradient is cut into, where memory allows
_SUMS_BYTES = 16 << 20              # of all parts together, beyond the first
_APART = 192                        # bytes between planes, so that those of a tile do not all meet in one set of a cache
_LEAST_CHANNELS = 16
_TILE_PIXELS = 16
# Cycles: of a vector multiply-add of either algorithm, of moving a vector through a transform, of a vector of sums.
_DIRECT, _PRODUCT, _TRANSFORM, _SUM = 1.1, 1.1, 5.5, 8.0


@functools.lru_cache(None)
def _tasks():
    made = codegen.WinogradGradKernel(host())
    names = [made.symbol, made.finish_symbol]
    found = compile_module(text_of(made), names)
    return [found[name] for name in names]


@dataclass(frozen=True)
class Cut:
    """Tiles in blocks, blocks in parts, panels in shares; `sums` are the bytes of U of a part."""

    rows: int
    columns: int
    tiles: int
    block: int
    blocks: int
    parts: int
    share_panels: int
    shares: int
    sums: int


def cut_of(g: Geometry) -> Cut:
    """Return the cut, which depends on shapes alone."""
    filters, (height, width) = filters_of(g), g.dims[1:]
    rows, columns = -(-height.out // 2), -(-width.out // 2)
    tiles = g.images * rows * columns
    share = 1 if filters.panels >= _ITEMS else min(2, filters.panels)
    shares = -(-filters.panels // share)
    tile = _TILE_PIXELS * g.item * (g.x_blocks.count * g.lanes + share * filters.columns)
    block = max(1, min(tiles, _MOST_TILES, max(_LEAST_TILES, _CACHE_BYTES // tile)))
    blocks = -(-tiles // block)
    sums = _TILE_PIXELS * _plane(g, filters)
    parts = max(1, min(_ITEMS // shares, blocks, _SUMS_BYTES // sums))
    return Cut(rows, columns, tiles, block, blocks, parts, share, shares, sums)


def _plane(g, filters: Filters) -> int:
    return filters.panels * g.inputs * filters.step + _APART


def pays(g: Geometry) -> bool:
    """Whether this is faster than the direct kernel, for windows that it is made for."""
    depth, height, width = g.dims
    if (g.item != 4 or g.groups != 1 or depth.taps != 1 or depth.size != 1 or depth.out != 1 or not host().fma
            or any(d.taps != 3 or d.stride != 1 or d.dilation != 1 or d.low < 0 for d in (height, width))
            or min(g.inputs, g.outputs) < _LEAST_CHANNELS or config.current().numerics == "strict"):
        return False
    cut, filters, lanes = cut_of(g), filters_of(g), g.lanes
    columns = filters.panels * filters.columns
    products = _PRODUCT * _TILE_PIXELS * cut.tiles * g.inputs * columns / lanes
    transforms = _TRANSFORM * _TILE_PIXELS * cut.tiles * (g.inputs * cut.shares + columns) / lanes
    sums = _SUM * _TILE_PIXELS * cut.parts * g.inputs * columns / lanes
    return products + transforms + sums < _DIRECT * g.work / lanes


def add_weight_grad(steps, g: Geometry, x, y, w):
    """Add the steps that make a dw in the order of `filters_of`, from a blocked x and dy; all operands are (slot, offset)."""
    cut, filters, pixel, threads = cut_of(g), filters_of(g), g.lanes * g.item, steps.threads
    height, width = g.dims[1:]
    x_plane, y_plane, y_blocks = g.pixels * pixel, g.out_pixels * pixel, -(-g.outputs // g.lanes)
    v_tile, d_tile = g.x_blocks.count * pixel + pixel, cut.share_panels * filters.step + pixel
    v_plane, d_plane = cut.block * v_tile + _APART, cut.block * d_tile + _APART
    scratch = -(-_TILE_PIXELS * (v_plane + d_plane) // 4096) * 4096 + 512
    items = cut.parts * cut.shares
    chunks = min(items, share(g.work, items, threads))
    sums = WORKSPACE, steps.room(cut.parts * cut.sums)
    room = WORKSPACE, steps.room(scratch * (threads if chunks > 1 else 1))
    words = {
        "scratch_bytes": scratch, "items": items, "chunks": chunks, "tiles": cut.tiles, "block_tiles": cut.block,
        "blocks": cut.blocks, "share_panels": cut.share_panels, "shares": cut.shares, "parts": cut.parts,
        "tile_rows": cut.rows, "tile_columns": cut.columns, "height": height.size, "width": width.size,
        "out_height": height.out, "out_width": width.out, "pad_h": height.low, "pad_w": width.low, "inputs": g.inputs,
        "outputs": g.outputs, "x_blocks": g.x_blocks.count, "x_image": g.x_blocks.count * x_plane, "x_block": x_plane,
        "x_row": width.size * pixel, "y_blocks": y_blocks, "y_image": y_blocks * y_plane, "y_block": y_plane,
        "y_row": width.out * pixel, "panels": filters.panels, "w_panel": filters.panel, "w_block": filters.block,
        "w_tap": filters.tap, "w_step": filters.step, "v_plane": v_plane, "v_tile": v_tile, "v_block": pixel,
        "d_plane": d_plane, "d_tile": d_tile, "d_start": _TILE_PIXELS * v_plane, "u_plane": _plane(g, filters),
        "u_panel": g.inputs * filters.step, "u_part": cut.sums}
    slots = {"x": x, "w": w, "u": sums, "y": y, "scratch": room}
    task, finish = _tasks()
    steps.add(task, chunks, codegen.WORDS, words, slots)
    items = filters.panels * g.inputs
    chunks = share(items * filters.columns * _TILE_PIXELS * cut.parts, items, threads)
    steps.add(finish, chunks, codegen.WORDS, words | {"items": items, "chunks": chunks}, slots)
