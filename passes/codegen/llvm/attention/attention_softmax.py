"""Softmax of a strip of scores: exponentials replace the scores, and rows get statistics.

Four rows of scores, or one, go side by side through a loop over vectors of keys, which leaves a vector of maxima and one of
sums per row. Their lanes are folded for all rows of the strip at once. The statistics of the rows are then lanes of one vector,
so each exponential, quotient and logarithm is computed once for all rows.

With bounds each row has a first key and an end, as 64-bit integers. Ranges are the keys that several rows see together. Rows
that see nothing have a range of one key, so that they get their zeros.
"""

from contextlib import contextmanager
from dataclasses import dataclass

from ...fast_activations import exp_below
from ...scalars import apply
from ..contract.microkernel import TileShape, fold_lanes_of, tile_shape
from ..ir.emit import ElementWriter
from ..ir.instructions import joined
from ..ir.memory_types import FLOAT_DTYPES
from ..ir.spelling import LlvmBuilder
from ..ir.types import F64, I8, I64, PTR, VOID, bytes_of, constant, element_of, lanes_of, null, vector, zero

NO_MASK, BOOL_MASK, ADDED_MASK = "", "bool", "added"
TOGETHER = 4                        # rows side by side as one long vector: a single chain of exponentials would be slow
SQUASH = ("squash",)                # address of a tanh's two factors, of its argument and its result


@dataclass(frozen=True)
class AttentionOptions(ElementWriter):
    """Generator of attention for an element type: the kind of mask, whether rows have bounds, whether scores go through a tanh.
    """

    mask: str = NO_MASK
    bounds: bool = False
    squash: bool = False

    @property
    def shape(self) -> TileShape:
        """The register tile; its columns are the width of a panel of keys."""
        return tile_shape(self.target, self.element)

    @property
    def options(self) -> str:
        """The suffix of the kernel's name for its options."""
        return "".join(f"_{name}" for name in (self.mask, "bounds" * self.bounds, "squash" * self.squash) if name)


def edge_numbers(kernel):
    """Return the parameters that say which keys rows see."""
    return [(PTR, "bounds"), (I64, "bounds_row"), (I64, "start")] if kernel.bounds else [(I64, "seen"), (I64, "more")]


def row_numbers(kernel):
    """Return the parameters of functions of some rows of scores."""
    return [(I64, "score_row"), *edge_numbers(kernel), *((I64, n) for n in ("near", "mask_row", "mask_step"))]


def strip_lanes(rows: int) -> int:
    """Return the lanes of the vector with one number per row of a strip."""
    return 1 << (rows - 1).bit_length()


def write_softmax(module, kernel, rows, tile):
    """Add `void softmax(scores, score_row, seen, more, near, mask_row, mask_step, mask, height, stats, keep, factor, lse)`.

    It takes strips of up to `rows` rows, multiplied `tile` rows at a time. The first row sees `seen` keys, each further one
    `more`, and none beyond `near`; with bounds each row has its own instead. Statistics are the running maxima and sums of
    exponentials. `keep` and `factor` are the factors of the sums of earlier blocks and of all blocks. The logsumexp is written
    unless it is null.
    """
    for height in (TOGETHER, 1):
        _write_largest(module, kernel, height)
        _write_exponentials(module, kernel, height)
    squash = SQUASH * kernel.squash
    f = module.function("softmax", [(PTR, "scores"), *row_numbers(kernel), (PTR, "mask"), (I64, "height"),
                                    *((PTR, n) for n in ("stats", "keep", "factor", "lse", *squash))], internal=True)
    plain = len(f.params) - len(squash)
    scores, score_row, *edges, near, mask_row, mask_step, mask, height, stats, keep, factor, lse = f.params[:plain]
    element, lanes = kernel.element, kernel.shape.lanes
    item, line, of_rows = bytes_of(element), vector(lanes, element), vector(strip_lanes(rows), element)
    s, kind, found = LlvmBuilder(f, strip_lanes(rows)), FLOAT_DTYPES[element], f.local(rows * bytes_of(line))

    def each(name, more_args):
        """Call a function for several rows at a time; it leaves a vector per row."""
        done = f.sub(height, f.mod(height, TOGETHER))
        for low, high, step in ((0, done, TOGETHER), (done, height, 1)):
            with f.loop(low, high, step) as loop:
                i = loop.index
                # Rows of a register tile are multiplied up to the last key seen by any.
                last = f.sub(f.min(f.mul(f.ceil_div(f.add(i, step), tile), tile), height), 1)
                if kernel.bounds:
                    bounds, bounds_row, start = edges
                    keys = [f.at(bounds, f.mul(bounds_row, i)), bounds_row, start, near]
                else:
                    seen, more = edges
                    keys = [f.add(seen, f.mul(more, i)), more, f.min(f.add(seen, f.mul(more, last)), near)]
                f.call(f"{name}_{step}", VOID, f.at(scores, f.mul(score_row, i)), score_row, *keys, mask_row, mask_step,
                       f.at(mask, f.mul(mask_row, i)), f.at(found, f.mul(i, bytes_of(line))), *more_args(i))

    def across(join):
        return joined(f, fold_lanes_of(f, [f.load(line, f.at(found, i * bytes_of(line))) for i in range(rows)], join))

    for i in range(rows):
        f.store(zero(line), f.at(found, i * bytes_of(line)))        # for rows beyond the height
    each("largest", lambda i: f.params[plain:])
    before = f.load(of_rows, stats)
    largest = _larger(f, across(lambda a, b: _larger(f, a, b)), before)
    safe = f.select(f.compare("oeq", largest, float("-inf")), zero(of_rows), largest)
    f.store(safe, keep)
    each("exponentials", lambda i: [f.at(keep, f.mul(i, item))])
    again = apply(s, "exp", s.wrap(kind, f.fsub(before, safe))).ref
    sums = f.at(stats, strip_lanes(rows) * item)
    amount = f.fadd(f.fmul(f.load(of_rows, sums), again), across(f.fadd))
    for value, place in ((largest, stats), (amount, sums), (again, keep)):
        f.store(value, place)
    nothing = f.compare("oeq", amount, 0.0)
    f.store(f.fdiv(constant(of_rows, 1), f.select(nothing, constant(of_rows, 1), amount)), factor)
    with f.when(f.compare("ne", lse, null())):
        logarithm = f.fadd(safe, apply(s, "log", s.wrap(kind, amount)).ref)
        f.store_masked(f.select(nothing, constant(of_rows, float("inf")), logarithm), lse, f.mask(height, strip_lanes(rows)))
    f.ret()


def _larger(f, a, b):
    return f.select(f.compare("ogt", a, b), a, b)


def sweep_parts(f, kernel, edges, near, height, lanes):
    """Return [(first key, end, masks of the rows' lanes at a key)] of the parts of a sweep; masks are None in the middle, which
    all rows see."""
    def all_seen(at):
        return [None] * height

    if not kernel.bounds:
        seen, more = edges
        ends = [f.min(f.add(seen, f.mul(more, i)), near) for i in range(height)]
        inner = f.bit_and(f.max(ends[0], 0), -lanes)
        return [(f.index(0), inner, all_seen), (inner, near, lambda at: [f.mask(f.sub(end, at), lanes) for end in ends])]

    pairs = edges_of(f, edges, near, height)

    def within(at):
        masks = [(f.mask(f.sub(low, at), lanes), f.mask(f.sub(high, at), lanes)) for low, high in pairs]
        return [f.select(below, zero(below.type), above) for below, above in masks]

    begin, end = pairs[0]
    for low, high in pairs[1:]:
        begin, end = f.max(begin, low), f.min(end, high)
    begin = f.bit_and(f.add(begin, lanes - 1), -lanes)
    end = f.max(begin, f.bit_and(end, -lanes))
    return [(f.index(0), f.min(begin, near), within), (begin, end, all_seen), (end, near, within)]


def _sweep(module, kernel, height, name, further=()):
    """Return (function of adjacent rows, loop over keys): step(place, masks, values) updates values, stored at the end."""
    f = module.function(f"{name}_{height}", [("ptr noalias", "scores"), *row_numbers(kernel), (PTR, "mask"),
                                             ("ptr noalias", "found"), *((PTR, n) for n in further)], internal=True)
    *edges, near, _, _, _, found = f.params[2:len(f.params) - len(further)]
    lanes, line = kernel.shape.lanes, bytes_of(vector(kernel.shape.lanes, kernel.element))
    parts = sweep_parts(f, kernel, edges, near, height, lanes)

    def over_keys(start, step):
        carried = [start] * height
        for low, high, masks in parts:
            with f.loop(low, high, lanes, carried) as loop:
                loop.next(*step(loop.index, masks(loop.index), loop.carried))
            carried = loop.results
        for i, value in enumerate(loop.results):
            f.store(value, f.at(found, i * line))
        f.ret()

    return f, over_keys


def _write_largest(module, kernel, height):
    """Write the function that adds the mask to the scores of some rows and finds their maxima, lane by lane."""
    further = SQUASH * kernel.squash
    f, over_keys = _sweep(module, kernel, height, "largest", further)
    scores, score_row = f.params[:2]
    mask_row, mask_step, mask, _ = f.params[len(f.params) - len(further) - 4:len(f.params) - len(further)]
    line = vector(kernel.shape.lanes, kernel.element)
    squash = squasher(f, kernel, f.params[-1])[0] if kernel.squash else None
    lowest = constant(line, float("-inf"))

    def largest(at, edges, before):
        found = []
        for i, edge in enumerate(edges):
            spot = f.at(f.at(scores, f.mul(score_row, i)), at, kernel.element)
            value = f.load(line, spot)
            if squash is not None:
                value, _ = squash(value)
            if kernel.mask:
                value = add_mask(f, kernel.mask, value, f.at(mask, f.mul(mask_row, i)), mask_step, at, edge)
            if kernel.mask or kernel.squash:
                f.store(value, spot)
            found.append(_larger(f, before[i], value if edge is None else f.select(edge, value, lowest)))
        return found

    over_keys(lowest, largest)


def _write_exponentials(module, kernel, height):
    """Write the function that takes exponentials of some rows less a number each, and sums them lane by lane."""
    f, over_keys = _sweep(module, kernel, height, "exponentials", ("less",))
    scores, score_row, less = f.params[0], f.params[1], f.params[-1]
    element, lanes = kernel.element, kernel.shape.lanes
    line, s = vector(lanes, element), LlvmBuilder(f, height * lanes)
    shifts = [f.splat(f.load(element, f.at(less, i, element)), lanes) for i in range(height)]

    def exponentials(at, edges, before):
        spots = [f.at(f.at(scores, f.mul(score_row, i)), at, element) for i in range(height)]
        values = [f.fsub(f.load(line, spot), shift) for spot, shift in zip(spots, shifts)]
        found = exp_below(s, s.wrap(FLOAT_DTYPES[element], joined(f, values))).ref
        for i, edge in enumerate(edges):
            value = f.shuffle(found, found, range(i * lanes, (i + 1) * lanes))
            values[i] = value if edge is None else f.select(edge, value, zero(line))
            f.store(values[i], spots[i])
        return [f.fadd(yet, value) for yet, value in zip(before, values)]

    over_keys(zero(line), exponentials)


def squasher(f, kernel, numbers):
    """Return two functions of vectors: score -> (outer * tanh(inner * score), the tanh), and tanh -> slope. Both numbers are
    doubles in memory."""
    element, lanes = kernel.element, kernel.shape.lanes
    s = LlvmBuilder(f, lanes)

    def splat(at):
        return f.splat(f.cast("fptrunc", f.load(F64, f.at(numbers, at)), element), lanes)

    inner, outer = splat(0), splat(8)

    def squash(value):
        bent = apply(s, "tanh", s.wrap(FLOAT_DTYPES[element], f.fmul(value, inner))).ref
        return f.fmul(bent, outer), bent

    def slope(bent):
        return f.fmul(f.fsub(constant(bent.type, 1), f.fmul(bent, bent)), f.fmul(inner, outer))

    return squash, slope


def add_mask(f, mode, value, mask, step, at, edge):
    """Apply a mask to scores: bools (bytes) keep scores or set -inf, floats are added. `step` is the bytes between mask
    elements, 0 for one that serves all."""
    lanes, stored = lanes_of(value.type), I8 if mode == BOOL_MASK else element_of(value.type)
    kind = vector(lanes, stored)
    spot = f.at(mask, f.mul(at, step))
    found, = f.choose(f.compare("eq", step, 0), lambda: (f.splat(f.load(stored, mask), lanes),),
                      lambda: (f.load_masked(kind, spot, edge),))
    if mode == BOOL_MASK:
        return f.select(f.compare("ne", found, 0), value, constant(value.type, float("-inf")))
    return f.fadd(value, found)


SIZE_WORDS = ("scratch", "turn", "offsets", "items", "chunks", "blocks", "heads", "rows", "keys", "causal", "size", "v_size")
BOUND_WORDS = ("bounds_row", "bounds_head", "ranges_at", "squash_inner", "squash_outer")
RANGE = 16                          # bytes of a pair of bounds


def range_of(f, pair):
    """Load a pair (first key, end)."""
    return f.load(I64, pair), f.load(I64, f.at(pair, 8))


@contextmanager
def when_seen(f, keys, start, count):
    """Run the body if `count` keys from `start` on meet the range of keys (first, end); always if that is None."""
    if keys is None:
        yield
        return
    with f.when(f.binary("and", f.compare("slt", start, keys[1]), f.compare("sgt", f.add(start, count), keys[0]))):
        yield


def row_bounds(f, job, bounds, row, start):
    """Return (address of a row's bounds, bytes to the next row's, the key that counts as the first)."""
    return f.at(bounds, f.mul(row, job.bounds_row)), job.bounds_row, start


def edges_of(f, row_edges, near, height):
    """Return [(first key, end)] of some rows, within `near` keys; `given` as from `row_bounds`."""
    bounds, row, start = row_edges
    found = []
    for i in range(height):
        low, high = range_of(f, f.at(bounds, f.mul(row, i)))
        found.append(tuple([f.min(f.max(f.sub(x, start), 0), near) for x in (low, high)]))
    return found


def write_ranges(f, job, bounds, ranges, side, share, squares):
    """Write the range of every `side` rows, numbered over all heads with `squares` a head, for the `share` (first, end); return
    the range of all."""
    first, end = share
    rows, keys = job.rows, job.keys
    with f.loop(first, end, 1, [keys, f.index(0)]) as loop:
        head, row = f.div(loop.index, squares), f.mul(f.mod(loop.index, squares), side)
        here = f.at(f.at(bounds, f.mul(head, job.bounds_head)), f.mul(row, job.bounds_row))
        with f.loop(0, f.min(f.sub(rows, row), side), 1, [keys, f.index(0)]) as each:
            low, high = range_of(f, f.at(here, f.mul(each.index, job.bounds_row)))
            low, high = f.max(low, 0), f.min(high, keys)
            some = f.compare("slt", low, high)
            each.next(f.select(some, f.min(each.carried[0], low), each.carried[0]),
                      f.select(some, f.max(each.carried[1], high), each.carried[1]))
        low, high = each.results
        nothing = f.compare("sle", high, low)
        low, high = f.select(nothing, f.index(0), low), f.select(nothing, f.index(1), high)
        pair = f.at(ranges, f.mul(f.sub(loop.index, first), RANGE))
        f.store(low, pair)
        f.store(high, f.at(pair, 8))
        loop.next(f.min(loop.carried[0], low), f.max(loop.carried[1], high))
    return loop.results
