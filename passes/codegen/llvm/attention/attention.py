"""Forward attention as a pool task: softmax(q k' * scale + mask) v and each row's logsumexp.

An item is a key head of a batch and a range of the rows of its query heads. For each block of keys, K is transposed into panels
in the worker's scratch, unless rows are few (`attention_few.py`). Then strips of 12 rows compute scores (6 rows at a time),
their softmax (`attention_softmax.py`), and the product with V, read in place. If keys fill more than one block, earlier sums
are rescaled to the new maximum. With bounds (first key and end for each row), strips cover only keys that one of their rows
sees, and blocks without any are skipped.
"""

from dataclasses import dataclass

from ..contract.inline_gemm import HEIGHTS, write_product
from ..contract.microkernel import Precision
from ..contract.packing import PACK_TRANSPOSED, packers
from ..ir.types import I64, PTR, VOID, bytes_of, constant, null, vector, zero
from ..pool.tasks import Words, chunk_share, write_task
from .attention_few import write_scores
from .attention_softmax import (
    BOUND_WORDS,
    RANGE,
    SIZE_WORDS,
    AttentionOptions,
    range_of,
    row_bounds,
    strip_lanes,
    when_seen,
    write_ranges,
    write_softmax,
)

ARRAYS = ("q", "k", "v", "mask", "o", "lse", "bounds")
WORDS = (*ARRAYS, *SIZE_WORDS,
         "q_row", "k_row", "v_row", "o_row", "mask_row", "mask_step", "q_head", "o_head", "lse_head", "mask_head", "scale",
         "key_block", "score_row", "scratch_bytes", "scores_at", "stats_at", *BOUND_WORDS)
OFFSETS = ARRAYS                    # columns of the table of byte offsets, with a row per key head and batch
TILE_ROWS = HEIGHTS[0]
ROWS = 2 * TILE_ROWS                # rows of a strip of scores
ROOM = strip_lanes(ROWS)                 # lanes for one number per row
STATS = 2 * ROOM                    # running maxima, then sums of exponentials


@dataclass(frozen=True)
class AttentionKernel(AttentionOptions):
    """Generator of forward attention; with `few`, an item has few rows, which read keys in place."""

    few: bool = False

    @property
    def symbol(self) -> str:
        return f"attention_{self.element}{self.options}{'_few' * self.few}"

    def write(self, module):
        write_product(module, Precision.of(self.element), steps=(bytes_of(self.element), None))
        write_softmax(module, self, ROWS, TILE_ROWS)
        if self.few:
            write_scores(module, self)
        _write_strip(module, self)
        item = _write_item(module, self, None if self.few else write_panels(module, self.shape, self.element))
        write_task(module, self.symbol, item, WORDS)


def write_panels(module, shape, element) -> str:
    """Write the function that transposes `count` rows of a matrix into panels [panel][size][columns of the tile]."""
    pack, item = packers(module, shape, element)[PACK_TRANSPOSED], bytes_of(element)
    f = module.function("panels", [(PTR, "source"), (I64, "row"), (I64, "count"), (I64, "size"), (PTR, "target")],
                        internal=True)
    source, row, count, size, target = f.params
    with f.loop(0, count, shape.columns) as loop:
        f.call(pack, VOID, f.at(source, f.mul(loop.index, row)), f.index(item), row,
               f.min(f.sub(count, loop.index), shape.columns), size, f.at(target, f.mul(loop.index, f.mul(size, item))))
    f.ret()
    return "panels"


def open_head(f, job, item, names):
    """Return (block of the item, {array: address of its first head}) of an item."""
    head, block = f.div(item, job.blocks), f.mod(item, job.blocks)
    table = f.at(job.address("offsets"), f.mul(head, 8 * len(names)))
    return block, {name: f.at(job.address(name), f.load(I64, f.at(table, 8 * i))) for i, name in enumerate(names)}


# An item: its rows against all blocks of keys.


def _write_item(module, kernel, panels):
    f = module.function("item", [(PTR, "job"), (I64, "number"), (I64, "worker")], internal=True)
    arg, number, worker = f.params
    job, item = Words(f, arg, WORDS), bytes_of(kernel.element)
    block, at = open_head(f, job, number, OFFSETS)
    scratch = f.at(job.address("scratch"), f.mul(worker, job.scratch_bytes))
    rows, keys = job.rows, job.keys
    strips = f.ceil_div(rows, ROWS)
    first, end = chunk_share(f, f.mul(job.heads, strips), job.blocks, block)
    stats = f.at(scratch, job.stats_at)
    some = vector(ROOM, kernel.element)
    with f.loop(0, f.sub(end, first)) as loop:
        spot = f.at(stats, f.mul(loop.index, STATS * item))
        f.store(constant(some, float("-inf")), spot)
        f.store(zero(some), f.at(spot, ROOM * item))
    ranges = f.at(scratch, job.ranges_at)
    seen = None if not kernel.bounds else write_ranges(f, job, at["bounds"], ranges, ROWS, (first, end), strips)
    with f.loop(0, keys, job.key_block) as blocks:
        start, count = blocks.index, f.min(f.sub(keys, blocks.index), job.key_block)
        with when_seen(f, seen, start, count):
            _write_block(f, kernel, (job, scratch, at, stats, ranges), (first, end, strips), (start, count), panels)
    f.ret()
    return "item"


def _write_block(f, kernel, where, share, block, panels):
    """Run all strips of an item against a block of keys."""
    (job, scratch, at, stats, ranges), (first, end, strips), (start, count) = where, share, block
    item, rows = bytes_of(kernel.element), job.rows
    keys = f.at(at["k"], f.mul(start, job.k_row))
    if panels is not None:
        f.call(panels, VOID, keys, job.k_row, count, job.size, scratch)
        keys = scratch
    values = f.at(at["v"], f.mul(start, job.v_row))
    # With a causal mask, rows above the first key of the block see none of it.
    above = f.div(f.select(f.compare("ne", job.causal, 0), start, f.index(0)), ROWS)
    with f.loop(f.div(first, strips), f.ceil_div(end, strips)) as heads:
        base = f.mul(heads.index, strips)
        low, high = f.max(f.max(f.sub(first, base), 0), above), f.min(f.sub(end, base), strips)
        strides = {name: f.mul(heads.index, getattr(job, f"{name}_head")) for name in ("q", "mask", "o", "lse", "bounds")}
        heads_at = [f.at(at[name], strides[name]) for name in strides]
        with f.loop(low, high) as each:
            row, number = f.mul(each.index, ROWS), f.sub(f.add(base, each.index), first)
            spot = f.at(stats, f.mul(number, STATS * item))
            f.call("strip", VOID, job.pointer, scratch, *heads_at, spot, f.at(ranges, f.mul(number, RANGE)), keys, values, row,
                   f.min(f.sub(rows, row), ROWS), start, count)


def _write_strip(module, kernel):
    """Write the function of some rows against a block of keys."""
    pointers = "job", "scratch", "q", "mask", "o", "lse", "bounds", "stats", "range", "keys", "v"
    f = module.function("strip", [*((PTR, name) for name in pointers),
                                  *((I64, name) for name in ("row", "height", "start", "count"))], internal=True)
    arg, scratch, q, mask, o, lse, bounds, stats, found, keys, v, row, height, start, count = f.params
    job, shape, item = Words(f, arg, WORDS), kernel.shape, bytes_of(kernel.element)
    keep, factor, scale = f.local(ROOM * item), f.local(ROOM * item), f.local(item)
    f.store(job.number("scale", kernel.element), scale)
    causal = f.compare("ne", job.causal, 0)
    visible = f.min(job.keys, f.select(causal, f.add(row, height), job.keys))
    last, fresh = f.compare("sge", f.add(start, count), visible), f.compare("eq", start, 0)
    scores, score_row, size = f.at(scratch, job.scores_at), job.score_row, job.size
    if kernel.bounds:       # the keys of the block that some row sees, from a whole panel on
        low, visible = range_of(f, found)
        skipped = f.mul(f.div(f.max(f.sub(low, start), 0), shape.columns), shape.columns)
        last, fresh = f.compare("sge", f.add(start, count), visible), f.compare("sle", start, low)
        end = f.min(f.add(start, count), visible)
        v = f.at(v, f.mul(skipped, job.v_row))
        keys = f.at(keys, f.mul(skipped, job.k_row if kernel.few else f.mul(size, item)))
        start = f.add(start, skipped)
        count = f.sub(end, start)
    one, panel, q_row, o_row = f.index(item), f.index(shape.columns * item), job.q_row, job.o_row
    seen, more = f.select(causal, f.add(f.sub(row, start), 1), count), f.cast("zext", causal, I64)

    def each_tile(body):
        """Call body for the rows of each register tile and the keys that they see."""
        with f.loop(0, height, TILE_ROWS) as loop:
            rows = f.min(f.sub(height, loop.index), TILE_ROWS)
            near = f.min(f.add(seen, f.mul(more, f.add(loop.index, f.sub(rows, 1)))), count)
            body(loop.index, rows, f.max(near, 0), f.at(scores, f.mul(loop.index, score_row)))

    def multiply(i, rows, near, line):
        if kernel.few:
            f.call("scores", VOID, f.at(q, f.mul(f.add(row, i), q_row)), keys, line, q_row, job.k_row, score_row, rows, near,
                   size, scale)
            return
        f.call("product", VOID, f.at(q, f.mul(f.add(row, i), q_row)), keys, line, q_row, one, panel, f.mul(size, panel),
               score_row, rows, f.bit_and(f.add(near, shape.lanes - 1), -shape.lanes), size, null(), scale, f.index(0))

    def combine(i, rows, near, line):
        at = f.mul(i, item)
        f.call("product", VOID, line, v, f.at(o, f.mul(f.add(row, i), o_row)), score_row, one, job.v_row, panel, o_row, rows,
               job.v_size, near, f.select(fresh, null(), f.at(keep, at)), f.select(last, f.at(factor, at), null()), one)

    with f.when(f.compare("sgt", count if kernel.bounds else f.sub(visible, start), 0)):
        each_tile(multiply)
        shade = f.at(f.at(mask, f.mul(row, job.mask_row)), f.mul(start, job.mask_step))
        edges = row_bounds(f, job, bounds, row, start) if kernel.bounds else (seen, more)
        squash = [job.spot("squash_inner")] if kernel.squash else []
        f.call("softmax", VOID, scores, score_row, *edges, count, job.mask_row, job.mask_step, shade, height, stats, keep,
               factor, f.select(last, f.at(lse, f.mul(row, item)), null()), *squash)
        each_tile(combine)
    f.ret()
