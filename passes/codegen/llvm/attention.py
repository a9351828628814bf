"""Scaled dot-product attention, forward: softmax(q k' * scale + mask) v and each row's logsumexp, as a pool task.

An item is a key head of a batch and a range of the rows of its query heads. Keys come in blocks: K of the block is turned into
panels in the worker's scratch; then, for every 6 rows, scores (a strip that stays in the nearest cache), softmax, and the
product with V, which is read in place. Where keys fill more than one block, earlier sums are rescaled to the new maximum. What
a row gives depends on its own operands only: not on threads, nor on the rows beside it.
"""

from dataclasses import dataclass

from ....ir import dtype as dt
from ....ir.target import Target
from ..scalars import apply
from .emit import Module
from .gates import exp_below
from .microkernel import Precision, TileShape, tile_shape
from .packing import PACK_TRANSPOSED, packers
from .products import HEIGHTS, write_product
from .spelling import LlvmBuilder
from .tasks import Words, chunk_share, write_task
from .types import F32, F64, I8, I64, PTR, VOID, bytes_of, constant, null, vector, zero

ARRAYS = ("q", "k", "v", "mask", "o", "lse")
WORDS = (*ARRAYS, "scratch", "turn", "offsets", "items", "chunks", "blocks", "heads", "rows", "keys", "causal", "size",
         "v_size",
         "q_row", "k_row", "v_row", "o_row", "mask_row", "mask_step", "q_head", "o_head", "lse_head", "mask_head", "scale",
         "key_block", "score_row", "scratch_bytes", "scores_at", "stats_at")
OFFSETS = ARRAYS                    # columns of the table of byte offsets, one row for each key head of each batch
NO_MASK, BOOL_MASK, ADDED_MASK = "", "bool", "added"
ROW_STATS = 2                       # numbers kept for each row: the largest score yet and the sum of exponentials
TILE_ROWS = HEIGHTS[0]
DTYPES = {F32: dt.float32, F64: dt.float64}


@dataclass(frozen=True)
class AttentionKernel:
    """What a module is made for."""

    target: Target
    element: str
    mask: str = NO_MASK

    @property
    def shape(self) -> TileShape:
        """The register tile; its columns are the width of a panel of keys."""
        return tile_shape(self.target, self.element)

    @property
    def symbol(self) -> str:
        """The task's name in the module."""
        return f"attention_{self.element}{'_' + self.mask if self.mask else ''}"

    def text(self) -> str:
        """The module as LLVM IR."""
        module = Module(self.target)
        write_product(module, Precision.of(self.element))
        _write_softmax(module, self)
        _write_tile(module, self)
        item = _write_item(module, self, write_panels(module, self.shape, self.element))
        write_task(module, self.symbol, item, WORDS)
        return module.text()


def write_panels(module, shape, element) -> str:
    """Function that turns `count` rows of a matrix into panels [panel][size][columns of the tile]."""
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
    """(block of the item, {array: where its first head lies}) of an item."""
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
    rows, keys, causal = job.rows, job.keys, f.compare("ne", job.causal, 0)
    tiles = f.ceil_div(rows, TILE_ROWS)
    first, end = chunk_share(f, f.mul(job.heads, tiles), job.blocks, block)
    stats = f.at(scratch, job.stats_at)
    with f.loop(0, f.mul(f.sub(end, first), TILE_ROWS)) as loop:
        spot = f.at(stats, f.mul(loop.index, ROW_STATS * item))
        f.store(constant(kernel.element, float("-inf")), spot)
        f.store(zero(kernel.element), f.at(spot, item))
    with f.loop(0, keys, job.key_block) as blocks:
        start, count = blocks.index, f.min(f.sub(keys, blocks.index), job.key_block)
        k_row = job.k_row
        f.call(panels, VOID, f.at(at["k"], f.mul(start, k_row)), k_row, count, job.size, scratch)
        v = f.at(at["v"], f.mul(start, job.v_row))
        # Under the causal rule, rows above the first key of the block see nothing of it.
        above = f.div(f.select(causal, start, f.index(0)), TILE_ROWS)
        with f.loop(f.div(first, tiles), f.ceil_div(end, tiles)) as heads:
            base = f.mul(heads.index, tiles)
            low, high = f.max(f.max(f.sub(first, base), 0), above), f.min(f.sub(end, base), tiles)
            strides = {name: f.mul(heads.index, getattr(job, f"{name}_head")) for name in ("q", "mask", "o", "lse")}
            heads_at = [f.at(at[name], strides[name]) for name in strides]
            with f.loop(low, high) as each:
                row = f.mul(each.index, TILE_ROWS)
                spot = f.at(stats, f.mul(f.sub(f.add(base, each.index), first), TILE_ROWS * ROW_STATS * item))
                f.call("tile", VOID, arg, scratch, *heads_at, v, spot, row, f.min(f.sub(rows, row), TILE_ROWS), start, count)
    f.ret()
    return "item"


def _write_tile(module, kernel):
    """Function of some rows against a block of keys."""
    f = module.function("tile", [*((PTR, name) for name in ("job", "scratch", "q", "mask", "o", "lse", "v", "stats")),
                                 *((I64, name) for name in ("row", "height", "start", "count"))], internal=True)
    arg, scratch, q, mask, o, lse, v, stats, row, height, start, count = f.params
    job, shape, item = Words(f, arg, WORDS), kernel.shape, bytes_of(kernel.element)
    keep, factor = f.local(TILE_ROWS * item), f.local(TILE_ROWS * item)
    scale = f.local(item)
    number = f.load(F64, job.spot("scale"))
    f.store(number if kernel.element == F64 else f.cast("fptrunc", number, F32), scale)
    causal = f.compare("ne", job.causal, 0)
    visible = f.min(job.keys, f.select(causal, f.add(row, height), job.keys))
    near = f.min(f.sub(visible, start), count)
    last, fresh = f.compare("sge", f.add(start, count), visible), f.compare("eq", start, 0)
    scores, score_row, size = f.at(scratch, job.scores_at), job.score_row, job.size
    one, step, q_row, o_row = f.index(item), f.index(shape.columns * item), job.q_row, job.o_row
    with f.when(f.compare("sgt", near, 0)):
        f.call("product", VOID, f.at(q, f.mul(row, q_row)), scratch, scores, q_row, one, step, f.mul(size, step), score_row,
               height, f.bit_and(f.add(near, shape.lanes - 1), -shape.lanes), size, null(), scale, f.index(0))
        with f.loop(0, height) as loop:
            i, at = loop.index, f.add(row, loop.index)
            seen = f.max(f.min(near, f.select(causal, f.add(f.sub(at, start), 1), near)), 0)
            shade = f.at(f.at(mask, f.mul(at, job.mask_row)), f.mul(start, job.mask_step))
            f.call("softmax", VOID, f.at(scores, f.mul(i, score_row)), seen, near, shade, job.mask_step,
                   f.at(stats, f.mul(i, ROW_STATS * item)), f.at(keep, f.mul(i, item)), f.at(factor, f.mul(i, item)),
                   f.select(last, f.at(lse, f.mul(at, item)), null()))
        f.call("product", VOID, scores, v, f.at(o, f.mul(row, o_row)), score_row, one, job.v_row, step, o_row, height,
               job.v_size,
               near, f.select(fresh, null(), keep), f.select(last, factor, null()), one)
    f.ret()


# The softmax of a strip's row.


def _write_softmax(module, kernel):
    """Function of one row of scores: exponentials in place of the scores, new statistics, what sums before and after are
    multiplied by, and (after the last block) the logsumexp."""
    element, lanes = kernel.element, kernel.shape.lanes
    item, whole = bytes_of(element), vector(lanes, element)
    f = module.function("softmax", [("ptr noalias", "scores"), (I64, "seen"), (I64, "filled"), (PTR, "mask"),
                                    (I64, "mask_step"),
                                    (PTR, "stats"), (PTR, "keep"), (PTR, "factor"), (PTR, "lse")], internal=True)
    scores, seen, filled, mask, mask_step, stats, keep, factor, lse = f.params
    top, total = _Sweep(f, element, lanes, scores, seen), _Sweep(f, element, lanes, scores, seen)
    lowest = constant(whole, float("-inf"))

    def shaded(at, value, edge):
        if kernel.mask:
            value = add_mask(f, kernel.mask, value, mask, mask_step, at, edge)
            f.store(value, f.at(scores, at, element))
        return value if edge is None else f.select(edge, value, lowest)

    largest = top.fold(lowest, lambda a, b: f.select(f.compare("ogt", a, b), a, b), shaded)
    before = f.load(element, stats)
    scalar, many = LlvmBuilder(f, 1), LlvmBuilder(f, lanes)
    kind = DTYPES[element]
    largest = f.select(f.compare("ogt", largest, before), largest, before)
    safe = f.select(f.compare("oeq", largest, float("-inf")), constant(element, 0), largest)
    shift = f.splat(safe, lanes)

    def exponential(at, value, edge):
        value = exp_below(many, many.wrap(kind, f.fsub(value, shift))).ref
        value = value if edge is None else f.select(edge, value, zero(whole))
        f.store(value, f.at(scores, at, element))
        return value

    added = total.fold(zero(whole), f.fadd, exponential)
    beyond = f.bit_and(f.add(seen, lanes - 1), -lanes)
    with f.loop(beyond, filled, lanes) as loop:
        f.store(zero(whole), f.at(scores, loop.index, element))
    again = apply(scalar, "exp", scalar.wrap(kind, f.fsub(before, safe))).ref
    amount = f.fadd(f.fmul(f.load(element, f.at(stats, item)), again), added)
    f.store(largest, stats)
    f.store(amount, f.at(stats, item))
    f.store(again, keep)
    nothing = f.compare("oeq", amount, 0.0)
    f.store(f.fdiv(constant(element, 1), f.select(nothing, constant(element, 1), amount)), factor)
    with f.when(f.compare("ne", lse, null())):
        logarithm = f.fadd(safe, apply(scalar, "log", scalar.wrap(kind, amount)).ref)
        f.store(f.select(nothing, constant(element, float("inf")), logarithm), lse)
    f.ret()


def add_mask(f, mode, value, mask, step, at, edge):
    """Scores with their mask: bools (bytes) leave scores or take -inf, floats are added. `step` is the bytes between the
    mask's numbers, 0 where one serves all."""
    lanes_type = value.type
    stored = I8 if mode == BOOL_MASK else lanes_type[lanes_type.index(" x ") + 3:-1]
    lanes = int(lanes_type[1:lanes_type.index(" ")])
    kind = vector(lanes, stored)
    spot = f.at(mask, f.mul(at, step))
    found, = f.choose(f.compare("eq", step, 0), lambda: (f.splat(f.load(stored, mask), lanes),),
                      lambda: (f.load(kind, spot) if edge is None else f.load_masked(kind, spot, edge),))
    if mode == BOOL_MASK:
        return f.select(f.compare("ne", found, 0), value, constant(lanes_type, float("-inf")))
    return f.fadd(value, found)


class _Sweep:
    """A row vector by vector, four at a time, in a fixed order that its length alone decides."""

    ways = 4

    def __init__(self, f, element, lanes, row, length):
        self.f, self.element, self.lanes, self.row, self.length = f, element, lanes, row, length

    def fold(self, start, join, value):
        """The fold of value(at, loaded, edge) over the row, a scalar; `edge` masks the lanes of the last vector."""
        f, lanes = self.f, self.lanes
        kind, whole = vector(lanes, self.element), f.bit_and(self.length, -self.ways * lanes)

        def load(at):
            return f.load(kind, f.at(self.row, at, self.element))

        with f.loop(0, whole, self.ways * lanes, [start] * self.ways) as loop:
            spots = [f.add(loop.index, n * lanes) for n in range(self.ways)]
            loop.next(*[join(kept, value(at, load(at), None)) for kept, at in zip(loop.carried, spots)])
        first, *others = loop.results
        with f.loop(whole, self.length, lanes, [first]) as loop:
            edge = f.mask(f.sub(self.length, loop.index), lanes)
            loop.next(join(loop.carried[0], value(loop.index, load(loop.index), edge)))
        values = [loop.results[0], *others]
        joined = join(join(values[0], values[1]), join(values[2], values[3]))
        while lanes > 1:
            lanes //= 2
            low, high = f.shuffle(joined, joined, range(lanes)), f.shuffle(joined, joined, range(lanes, 2 * lanes))
            if lanes == 1:
                return join(f.extract(joined, 0), f.extract(joined, 1))
            joined = join(low, high)
        return joined
