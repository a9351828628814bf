"""Weight gradients of direct convolutions (`passes/codegen/llvm/conv/conv_grad.py`)."""

import functools

from ....ir.target import host
from ....passes.codegen.llvm.contract.microkernel import Precision
from ....passes.codegen.llvm.conv import conv_grad as codegen
from ..calls.plan import WORKSPACE, share
from ..compiler.compile import compile_module
from ..compiler.ir_cache import text_of
from . import conv_layout, conv_plan, winograd_grad
from . import winograd as winograd_forward
from .conv_layout import Filters
from .conv_plan import Geometry, flattened

_ITEMS = 16                         # items that a gradient is cut into at least, where it has so much to add
_BLOCK_PIXELS = 80                  # pixels of a block of rows: its part of x and dy stays in the nearest cache
_ELEMENTS = {4: "float", 8: "double"}


@functools.lru_cache(None)
def _kernel(item, vectors):
    made = codegen.WeightGradKernel(host(), Precision.of(_ELEMENTS[item]), vectors)
    found = compile_module(text_of(made), [made.symbol, made.reduce_symbol])
    return made, found[made.symbol], found[made.reduce_symbol]


def add_plain_weight_grad(steps, geometry: Geometry, x, y, target):
    """Add the steps that make a plain dw, from a blocked x and dy, by the faster algorithm."""
    winograd = winograd_grad.pays(geometry)
    filters = (winograd_forward if winograd else conv_plan).filters_of(geometry)
    w = WORKSPACE, steps.room(geometry.groups * filters.group)
    if winograd:
        winograd_grad.add_weight_grad(steps, geometry, x, y, w)
    else:
        add_weight_grad(steps, geometry, filters, x, y, w)
    conv_layout.unpack_weight(steps, w, target, geometry.groups, filters)


def add_weight_grad(steps, geometry: Geometry, filters: Filters, x, y, w):
    """Add the steps that make a packed dw, from a blocked x and dy; all operands are (slot, offset)."""
    geometry = flattened(geometry)
    made, task, reduce_task = _kernel(geometry.item, filters.vectors)
    depth, height, width = geometry.dims
    block_rows = max(1, min(height.out, _BLOCK_PIXELS // width.out))
    row_blocks = -(-height.out // block_rows)
    tiles, units = geometry.groups * filters.panels * geometry.x_blocks.count, geometry.images * depth.out * row_blocks
    parts = max(1, min(units, -(-_ITEMS // tiles)))
    size = geometry.groups * filters.group
    made_at = w if parts == 1 else (WORKSPACE, steps.room(parts * size))
    threads, items = steps.threads, tiles * parts
    chunks = share(geometry.work, items, threads)
    channels = geometry.x_blocks
    whole, last = (_segments(geometry, filters, made.rows, n) for n in (channels.width, channels.rest or channels.width))
    words = _operand_words(geometry, filters) | {
        "items": items, "chunks": chunks, "groups": geometry.groups, "parts": parts, "panels": filters.panels,
        "blocks": channels.count, "units": units, "row_blocks": row_blocks, "block_rows": block_rows, "w_part": size,
        "segments": steps.table([word for s in whole for word in s]), "segment_count": len(whole),
        "last_segments": steps.table([word for s in last for word in s]), "last_segment_count": len(last)}
    steps.add(task, chunks, codegen.WORDS, words, {"x": x, "y": y, "w": made_at})
    if parts > 1:
        vectors = size // (geometry.lanes * geometry.item)
        chunks = share(vectors * geometry.lanes * parts, vectors, threads)
        steps.add(reduce_task, chunks, codegen.REDUCE_WORDS, {"parts": parts, "part_bytes": size, "vectors": vectors,
                                                             "chunks": chunks}, {"source": made_at, "target": w})


def _operand_words(geometry, filters):
    depth, height, _ = geometry.dims
    _, y_words = conv_plan.result_words(geometry, conv_plan.every_pixel(geometry))
    return conv_plan.operand_words(geometry, filters) | y_words | {
        "out_blocks": -(-geometry.outputs // geometry.lanes), "out_depth": depth.out, "out_height": height.out}


def _segments(geometry, filters, most, channels):
    """Return rows of tiles and their columns: channels of one tap, or of several if they are few and adjacent."""
    width, blocks = geometry.dims[2], geometry.x_blocks
    spans = [width.taps_seen(0, width.out, tap) for tap in range(width.taps)]
    joined = blocks.width == channels and blocks.count == 1 and width.dilation == 1 and width.taps > 1 and channels < most
    inner: tuple | None = (max(low for low, _ in spans), min(high for _, high in spans)) if joined else (0, 0)
    found = []
    if inner is not None and inner[0] < inner[1]:
        for first, rows in _cut(width.taps * channels, most):
            found.append(_segment(geometry, filters, 0, first, rows, inner))
    else:
        inner = None
    for tap, (low, high) in enumerate(spans):
        pieces = [(low, high)] if inner is None else [(low, inner[0]), (inner[1], high)]
        for piece in pieces:
            if piece[0] < piece[1]:
                found += [_segment(geometry, filters, tap, first, rows, piece) for first, rows in _cut(channels, most)]
    return [tuple(segment) for segment in found]


def _segment(geometry, filters, tap, first, rows, columns):
    width, blocks = geometry.dims[2], geometry.x_blocks
    x = (columns[0] * width.stride + tap * width.dilation - width.low) * blocks.pixel + first * geometry.item
    y, w = columns[0] * geometry.lanes * geometry.item, tap * filters.tap + first * filters.step
    return rows, columns[1] - columns[0], x, y, w


def _cut(rows, most):
    """Cut rows as evenly as possible: [(first, count)]."""
    tiles, found, at = -(-rows // most), [], 0
    for number in range(tiles):
        count = rows // tiles + (number < rows % tiles)
        found.append((at, count))
        at += count
    return found
