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
from .types import F32, F64, I8, I64, PTR, VOID, bytes_of, constant, lanes_of, null, vector, zero

ARRAYS = ("q", "k", "v", "mask", "o", "lse")
WORDS = (*ARRAYS, "scratch", "turn", "offsets", "items", "chunks", "blocks", "heads", "rows", "keys", "causal", "size",
         "v_size",
         "q_row", "k_row", "v_row", "o_row", "mask_row", "mask_step", "q_head", "o_head", "lse_head", "mask_head", "scale",
         "key_block", "score_row", "scratch_bytes", "scores_at", "stats_at")
OFFSETS = ARRAYS                    # columns of the table of byte offsets, one row for each key head of each batch
NO_MASK, BOOL_MASK, ADDED_MASK = "", "bool", "added"
TILE_ROWS = HEIGHTS[0]
ROOM = 8                            # places for numbers of a tile's rows: the largest scores yet, then the sums of exponentials
STATS = 2 * ROOM
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
        for height in (TILE_ROWS, 1):
            _write_softmax(module, self, height)
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
    some = vector(ROOM, kernel.element)
    with f.loop(0, f.sub(end, first)) as loop:
        spot = f.at(stats, f.mul(loop.index, STATS * item))
        f.store(constant(some, float("-inf")), spot)
        f.store(zero(some), f.at(spot, ROOM * item))
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
                spot = f.at(stats, f.mul(f.sub(f.add(base, each.index), first), STATS * item))
                f.call("tile", VOID, arg, scratch, *heads_at, v, spot, row, f.min(f.sub(rows, row), TILE_ROWS), start, count)
    f.ret()
    return "item"


def _write_tile(module, kernel):
    """Function of some rows against a block of keys."""
    f = module.function("tile", [*((PTR, name) for name in ("job", "scratch", "q", "mask", "o", "lse", "v", "stats")),
                                 *((I64, name) for name in ("row", "height", "start", "count"))], internal=True)
    arg, scratch, q, mask, o, lse, v, stats, row, height, start, count = f.params
    job, shape, item = Words(f, arg, WORDS), kernel.shape, bytes_of(kernel.element)
    keep, factor = f.local(ROOM * item), f.local(ROOM * item)
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
        seen, more = f.select(causal, f.add(f.sub(row, start), 1), near), f.cast("zext", causal, I64)

        def softmax(size, i):
            at = f.add(row, i)
            shade = f.at(f.at(mask, f.mul(at, job.mask_row)), f.mul(start, job.mask_step))
            f.call(f"softmax_{size}", VOID, f.at(scores, f.mul(i, score_row)), score_row, f.add(seen, f.mul(more, i)), more,
                   near, job.mask_row, job.mask_step, shade, *(f.at(x, f.mul(i, item)) for x in (stats, keep, factor)),
                   f.select(last, f.at(lse, f.mul(at, item)), null()))

        def one_by_one():
            with f.loop(0, height) as loop:
                softmax(1, loop.index)

        f.choose(f.compare("eq", height, TILE_ROWS), lambda: softmax(TILE_ROWS, 0), one_by_one)
        f.call("product", VOID, scores, v, f.at(o, f.mul(row, o_row)), score_row, one, job.v_row, step, o_row, height,
               job.v_size,
               near, f.select(fresh, null(), keep), f.select(last, factor, null()), one)
    f.ret()


# The softmax of a strip's rows.


def _write_softmax(module, kernel, height):
    """Function of some neighbouring rows of scores, side by side: exponentials in place of the scores, new statistics, what
    sums before and after are multiplied by, and (after the last block) the logsumexp. The first row sees `seen` keys, each
    further one `more`."""
    numbers, places = ("score_row", "seen", "more", "near", "mask_row", "mask_step"), ("mask", "stats", "keep", "factor", "lse")
    f = module.function(f"softmax_{height}", [("ptr noalias", "scores"), *((I64, n) for n in numbers),
                                              *((PTR, n) for n in places)], internal=True)
    scores, score_row, seen, more, near, mask_row, mask_step, mask, stats, keep, factor, lse = f.params
    element, lanes = kernel.element, kernel.shape.lanes
    item, kind, rows = bytes_of(element), DTYPES[element], range(height)
    whole, packed = vector(lanes, element), vector(_places(height), element)
    many, few = LlvmBuilder(f, lanes), LlvmBuilder(f, _places(height))
    lines = [f.at(scores, f.mul(score_row, i)) for i in rows]
    shades = [f.at(mask, f.mul(mask_row, i)) for i in rows]
    ends = [f.min(f.add(seen, f.mul(more, i)), near) for i in rows]
    inner = f.bit_and(f.max(ends[0], 0), -lanes)

    def sweep(start, value):
        """A number for each row: value(row, place, mask of the last lanes, the number yet) from vector to vector of keys."""
        with f.loop(0, inner, lanes, [start] * height) as loop:
            loop.next(*[value(i, loop.index, None, kept) for i, kept in enumerate(loop.carried)])
        with f.loop(inner, near, lanes, loop.results) as loop:
            edges = [f.mask(f.sub(end, loop.index), lanes) for end in ends]
            loop.next(*[value(i, loop.index, edges[i], kept) for i, kept in enumerate(loop.carried)])
        return loop.results

    lowest = constant(whole, float("-inf"))

    def larger(a, b):
        return f.select(f.compare("ogt", a, b), a, b)

    def largest_of(i, at, edge, kept):
        value = f.load(whole, f.at(lines[i], at, element))
        if kernel.mask:
            value = add_mask(f, kernel.mask, value, shades[i], mask_step, at, edge)
            f.store(value, f.at(lines[i], at, element))
        return larger(kept, value if edge is None else f.select(edge, value, lowest))

    before = f.load(packed, stats)
    largest = larger(fold_lanes(f, sweep(lowest, largest_of), larger), before)
    safe = f.select(f.compare("oeq", largest, float("-inf")), zero(packed), largest)
    shifts = [f.splat(safe, lanes) if height == 1 else f.shuffle(safe, safe, [i] * lanes) for i in rows]

    def exponential(i, at, edge, kept):
        spot = f.at(lines[i], at, element)
        value = exp_below(many, many.wrap(kind, f.fsub(f.load(whole, spot), shifts[i]))).ref
        value = value if edge is None else f.select(edge, value, zero(whole))
        f.store(value, spot)
        return f.fadd(kept, value)

    added = fold_lanes(f, sweep(zero(whole), exponential), f.fadd)
    again = apply(few, "exp", few.wrap(kind, f.fsub(before, safe))).ref
    sums = f.at(stats, ROOM * item)
    amount = f.fadd(f.fmul(f.load(packed, sums), again), added)
    for value, place in ((largest, stats), (amount, sums), (again, keep)):
        f.store(value, place)
    nothing = f.compare("oeq", amount, 0.0)
    f.store(f.fdiv(constant(packed, 1), f.select(nothing, constant(packed, 1), amount)), factor)
    with f.when(f.compare("ne", lse, null())):
        logarithm = f.fadd(safe, apply(few, "log", few.wrap(kind, amount)).ref)
        found = f.select(nothing, constant(packed, float("inf")), logarithm)
        f.store(found if height == 1 else f.shuffle(found, found, rows), lse)
    f.ret()


def _places(height):
    """Lanes of a vector with a number for each row."""
    return 1 << (height - 1).bit_length()


def fold_lanes(f, vectors, join):
    """The folds over the lanes of some vectors as the lanes of one, in the order of the vectors: halves are joined with halves,
    the same tree however many there are. Lanes beyond repeat the first."""
    vectors = [*vectors, *[vectors[0]] * (_places(len(vectors)) - len(vectors))]
    part = lanes_of(vectors[0].type)
    while part > 1:
        part //= 2
        pairs = list(zip(vectors[::2], vectors[1::2])) or [(vectors[0], None)]
        vectors = [join(*(_halves(f, a, b, part, start) for start in (0, part))) for a, b in pairs]
    while len(vectors) > 1:
        vectors = [f.shuffle(a, b, range(2 * lanes_of(a.type))) for a, b in zip(vectors[::2], vectors[1::2])]
    return vectors[0]


def _halves(f, a, b, part, start):
    """The lanes start .. start + part of every 2 * part lanes of a, then of b."""
    count = lanes_of(a.type)
    lanes = [base + start + lane for base in range(0, count * (1 if b is None else 2), 2 * part) for lane in range(part)]
    return f.extract(a, lanes[0]) if len(lanes) == 1 else f.shuffle(a, a if b is None else b, lanes)


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
