"""Backward attention as a pool task: gradients of queries, keys and values from each row's logsumexp.

Squares of 64 rows by 64 keys recompute scores and probabilities, then with dS = P (g v' - delta) * scale

    dv += P' g      dk += dS' q      dq += dS k

An item is a key head of a batch, with all its query heads. If that gives too few items for the threads, it is also a range of
keys, for dk and dv, or a range of rows, for dq, in two tasks; the order of sums is the same. With bounds, squares that no row
sees are skipped.
"""

from dataclasses import dataclass

from ...fast_activations import exp_below
from ..contract.inline_gemm import write_product
from ..contract.microkernel import Precision
from ..ir.instructions import joined
from ..ir.memory_types import FLOAT_DTYPES
from ..ir.spelling import LlvmBuilder
from ..ir.types import I64, PTR, VOID, bytes_of, constant, null, vector, zero
from ..pool.tasks import Words, chunk_share, write_task
from .attention import TILE_ROWS, open_head, write_panels
from .attention_softmax import (
    BOUND_WORDS,
    RANGE,
    SIZE_WORDS,
    SQUASH,
    TOGETHER,
    AttentionOptions,
    add_mask,
    edge_numbers,
    edges_of,
    range_of,
    row_bounds,
    squasher,
    when_seen,
    write_ranges,
)

ARRAYS = ("g", "q", "k", "v", "mask", "lse", "delta", "dq", "dk", "dv", "ds", "bounds")
OFFSETS = ARRAYS
_HEADS = ("g", "q", "mask", "lse", "delta", "dq", "ds", "bounds")   # arrays with a part per query head
WORDS = (*ARRAYS, *SIZE_WORDS,
         *(f"{name}_row" for name in ("g", "q", "k", "v", "mask", "dq", "dk", "dv", "ds")), "mask_step",
         *(f"{name}_head" for name in _HEADS[:-1]), "scale", "scratch_bytes", "gives", "keeps_ds", "all_keys",
         *BOUND_WORDS)
SIDE = 64                           # rows and keys of a square
GIVES_ROWS, GIVES_KEYS = 1, 2       # results of a task: dq, and dk with dv


@dataclass(frozen=True)
class AttentionGradKernel(AttentionOptions):
    """Generator of backward attention."""

    @property
    def symbol(self) -> str:
        return f"attention_grad_{self.element}{self.options}"

    def scratch(self, size: int, v_size: int) -> int:
        """Return the bytes of a worker's scratch: transposed keys and values, P and dS of a square."""
        return SIDE * (size + v_size + 2 * SIDE) * bytes_of(self.element)

    def write(self, module):
        write_product(module, Precision.of(self.element))
        for height in (TOGETHER, 1):
            _write_slopes(module, self, height)
        _write_square(module, self)
        panels = write_panels(module, self.shape, self.element)
        write_task(module, self.symbol, _write_item(module, self, panels), WORDS)


def _write_item(module, kernel, panels):
    f = module.function("item", [(PTR, "arg"), (I64, "number"), (I64, "worker")], internal=True)
    arg, number, worker = f.params
    job, item = Words(f, arg, WORDS), bytes_of(kernel.element)
    part, at = open_head(f, job, number, OFFSETS)
    scratch = f.at(job.address("scratch"), f.mul(worker, job.scratch_bytes))
    for_keys = f.compare("ne", f.bit_and(job.gives, GIVES_KEYS), 0)
    row_squares, key_squares = f.ceil_div(job.rows, SIDE), f.ceil_div(job.keys, SIDE)
    # An item with all keys has a range of rows.
    low_key, high_key = chunk_share(f, key_squares, f.select(for_keys, job.blocks, f.index(1)),
                                    f.select(for_keys, part, f.index(0)))
    low_row, high_row = chunk_share(f, row_squares, f.select(for_keys, f.index(1), job.blocks),
                                    f.select(for_keys, f.index(0), part))
    causal = f.compare("ne", job.causal, 0)
    ranges = f.at(scratch, job.ranges_at)
    if kernel.bounds:
        write_ranges(f, job, at["bounds"], ranges, SIDE, (f.index(0), f.mul(job.heads, row_squares)), row_squares)
    untouched = f.local(8)
    with f.loop(low_key, f.min(high_key, f.select(causal, high_row, high_key))) as keys:
        start = f.mul(keys.index, SIDE)
        count = f.min(f.sub(job.keys, start), SIDE)
        here = {name: f.at(at[name], f.mul(start, getattr(job, f"{name}_row"))) for name in ("k", "v", "dk", "dv")}
        turned_v = f.at(scratch, f.mul(job.size, SIDE * item))
        f.call(panels, VOID, here["k"], job.k_row, count, job.size, scratch)
        f.call(panels, VOID, here["v"], job.v_row, count, job.v_size, turned_v)
        first = f.select(causal, f.max(keys.index, low_row), low_row)
        f.store(f.index(1), untouched)
        with f.loop(0, job.heads) as heads, f.loop(first, high_row) as rows:
            parts = [f.at(at[name], f.mul(heads.index, getattr(job, f"{name}_head"))) for name in _HEADS]
            seen = None
            if kernel.bounds:
                seen = range_of(f, f.at(ranges, f.mul(f.add(f.mul(heads.index, row_squares), rows.index), RANGE)))
            with when_seen(f, seen, start, count):
                is_first = f.compare("eq", start, 0) if seen is None else f.compare("sle", start, seen[0])
                is_first = f.cast("zext", is_first, I64)
                f.call("square", VOID, arg, scratch, *parts, *here.values(), f.mul(rows.index, SIDE), start, count,
                       f.load(I64, untouched), is_first)
                f.store(f.index(0), untouched)
        if kernel.bounds:
            with f.when(f.binary("and", for_keys, f.compare("ne", f.load(I64, untouched), 0))):
                _clear(f, job, scratch, (here["dk"], here["dv"]), count)
    _clear_unseen_keys(f, job, at, scratch, for_keys, part)
    f.ret()
    return "item"


def _clear_unseen_keys(f, job, at, scratch, for_keys, part):
    """Zero the gradients of keys that no row sees (causal, with fewer rows than keys)."""
    beyond = f.binary("and", for_keys, f.compare("eq", part, 0))
    with f.when(f.binary("and", beyond, f.compare("slt", job.keys, job.all_keys))):
        beyond = [f.at(at[name], f.mul(job.keys, getattr(job, f"{name}_row"))) for name in ("dk", "dv")]
        _clear(f, job, scratch, beyond, f.sub(job.all_keys, job.keys))


def _clear(f, job, scratch, gradients, count):
    one = f.index(1)
    for at, row, columns in zip(gradients, (job.dk_row, job.dv_row), (job.size, job.v_size)):
        f.call("product", VOID, scratch, scratch, at, one, one, one, one, row, count, columns, f.index(0), null(), null(),
               f.index(0))


def _write_square(module, kernel):
    """Write the function of a square of rows and keys; gradients accumulate unless keys are `fresh` or a row's `first`."""
    f = module.function("square", [*((PTR, name) for name in ("arg", "scratch", *_HEADS, "k", "v", "dk", "dv")),
                                   *((I64, name) for name in ("row", "start", "count", "fresh", "first"))],
                        internal=True)
    arg, scratch, g, q, mask, lse, delta, dq, ds, bounds, k, _, dk, dv, row, start, count, fresh, first = f.params
    job, shape, item = Words(f, arg, WORDS), kernel.shape, bytes_of(kernel.element)
    size, v_size, height = job.size, job.v_size, f.min(f.sub(job.rows, row), SIDE)
    turned_v = f.at(scratch, f.mul(size, SIDE * item))
    p = f.at(turned_v, f.mul(v_size, SIDE * item))
    slopes = f.at(p, SIDE * SIDE * item)
    g, q, dq = (f.at(x, f.mul(row, getattr(job, f"{name}_row"))) for x, name in ((g, "g"), (q, "q"), (dq, "dq")))
    scale, unit = f.local(item), f.local(item)
    f.store(job.number("scale", kernel.element), scale)
    f.store(constant(kernel.element, 1), unit)
    one, side, panel = f.index(item), f.index(SIDE * item), f.index(shape.columns * item)
    nothing, still = null(), f.index(0)
    of_keys, of_rows = (f.select(f.compare("ne", flag, 0), nothing, unit) for flag in (fresh, first))

    def product(a, b, c, *words):
        f.call("product", VOID, a, b, c, *words)

    # On the diagonal of a causal square, rows of a register tile see the keys up to the last of them.
    diagonal = f.binary("and", f.compare("ne", job.causal, 0), f.compare("eq", row, start))
    step = f.select(diagonal, f.index(TILE_ROWS), f.index(SIDE))

    def tiles(total):
        """Yield (loop, rows) of register tiles that are multiplied separately: all of them off the diagonal."""
        with f.loop(0, total, step) as loop:
            yield loop.index, f.min(f.sub(total, loop.index), step)

    def near(i, rows):
        return f.min(f.select(diagonal, f.add(i, rows), count), count)

    for i, rows in tiles(height):
        wide = f.bit_and(f.add(near(i, rows), shape.lanes - 1), -shape.lanes)
        place = f.mul(i, side)
        product(f.at(q, f.mul(i, job.q_row)), scratch, f.at(p, place), job.q_row, one, panel, f.mul(size, panel), side, rows,
                wide, size, nothing, scale, still)
        product(f.at(g, f.mul(i, job.g_row)), turned_v, f.at(slopes, place), job.g_row, one, panel, f.mul(v_size, panel), side,
                rows, wide, v_size, nothing, nothing, still)
    _call_slopes(f, kernel, job, (p, slopes, lse, delta, scale, mask, ds, bounds), (row, start, height, count), diagonal)
    with f.when(f.compare("ne", f.bit_and(job.gives, GIVES_KEYS), 0)):
        for i, keys in tiles(count):
            above = f.select(diagonal, i, still)
            place = f.add(f.mul(above, side), f.mul(i, item))
            for left, right, out, name, columns in ((p, g, dv, "g", v_size), (slopes, q, dk, "q", size)):
                out_row = job.dv_row if name == "g" else job.dk_row
                right_row = getattr(job, f"{name}_row")
                product(f.at(left, place), f.at(right, f.mul(above, right_row)), f.at(out, f.mul(i, out_row)), one, side,
                        right_row, panel, out_row, keys, columns, f.sub(height, above), of_keys, nothing, still)
    with f.when(f.compare("ne", f.bit_and(job.gives, GIVES_ROWS), 0)):
        for i, rows in tiles(height):
            product(f.at(slopes, f.mul(i, side)), k, f.at(dq, f.mul(i, job.dq_row)), side, one, job.k_row, panel, job.dq_row,
                    rows, size, near(i, rows), of_rows, nothing, still)
    f.ret()


def _call_slopes(f, kernel, job, arrays, where, diagonal):
    """Compute slopes for rows of a square, several at a time, then singly; zeros follow, up to a register tile's last key."""
    p, slopes, lse, delta, scale, mask, ds, bounds = arrays
    row, start, height, count = where
    item, squash = bytes_of(kernel.element), [job.spot("squash_inner")] if kernel.squash else []
    done = f.sub(height, f.mod(height, TOGETHER))
    more = f.cast("zext", diagonal, I64)
    for low, high, step in ((0, done, TOGETHER), (done, height, 1)):
        with f.loop(low, high, step) as loop:
            i, at = loop.index, f.add(row, loop.index)
            last = f.min(f.mul(f.ceil_div(f.add(i, step), TILE_ROWS), TILE_ROWS), height)
            seen, near = (f.min(f.select(diagonal, x, count), count) for x in (f.add(i, 1), last))
            shade = f.at(f.at(mask, f.mul(at, job.mask_row)), f.mul(start, job.mask_step))
            saved = f.at(f.at(ds, f.mul(at, job.ds_row)), f.mul(start, item))
            place = f.mul(i, SIDE * item)
            edges = row_bounds(f, job, bounds, at, start) if kernel.bounds else (seen, more)
            f.call(f"slopes_{step}", VOID, *edges, count if kernel.bounds else near, job.mask_row, job.mask_step, job.ds_row,
                   f.at(p, place), f.at(slopes, place), *(f.at(x, f.mul(at, item)) for x in (lse, delta)), scale, shade,
                   f.select(f.compare("ne", job.keeps_ds, 0), saved, null()), *squash)


def _write_slopes(module, kernel, height):
    """Write the function of a square's rows: scores to P, products to dS * scale; row i sees `seen` + i * `more` keys."""
    element, lanes, rows = kernel.element, kernel.shape.lanes, range(height)
    whole, line = vector(lanes, element), SIDE * bytes_of(element)
    numbers, pointers = ("near", "mask_row", "mask_step", "kept_row"), ("lse", "delta", "scale", "mask", "kept")
    pointers += SQUASH * kernel.squash
    f = module.function(f"slopes_{height}", [*edge_numbers(kernel), *((I64, n) for n in numbers), ("ptr noalias", "p"),
                                             ("ptr noalias", "ds"), *((PTR, n) for n in pointers)], internal=True)
    *seen, near, mask_row, mask_step, kept_row, p, ds, lse, delta, scale, mask, saved = f.params[:len(f.params) - kernel.squash]
    bend = squasher(f, kernel, f.params[-1]) if kernel.squash else None
    pairs = edges_of(f, seen, near, height) if kernel.bounds else None
    s, scale = LlvmBuilder(f, height * lanes), f.splat(f.load(element, scale), lanes)
    lses, deltas = ([f.splat(f.load(element, f.at(x, i, element)), lanes) for i in rows] for x in (lse, delta))
    with f.loop(0, near, lanes) as loop:
        at = loop.index
        if pairs is None:
            first, more = seen
            edges = [f.mask(f.sub(f.min(f.add(first, f.mul(more, i)), near), at), lanes) for i in rows]
        else:
            below, edges = ([f.mask(f.sub(pair[which], at), lanes) for pair in pairs] for which in (0, 1))
            edges = [f.select(low, zero(low.type), high) for low, high in zip(below, edges)]
        scores, slopes = ([f.load(whole, f.at(f.at(x, i * line), at, element)) for i in rows] for x in (p, ds))
        bent = []
        if bend is not None:
            pairs_of = [bend[0](x) for x in scores]
            scores, bent = [value for value, _ in pairs_of], [tangent for _, tangent in pairs_of]
        if kernel.mask:
            shades = [f.at(mask, f.mul(mask_row, i)) for i in rows]
            scores = [add_mask(f, kernel.mask, scores[i], shades[i], mask_step, at, edges[i]) for i in rows]
        found = exp_below(s, s.wrap(FLOAT_DTYPES[element], joined(f, [f.fsub(a, b) for a, b in zip(scores, lses)]))).ref
        for i in rows:
            value = f.select(edges[i], f.shuffle(found, found, range(i * lanes, (i + 1) * lanes)), zero(whole))
            slope = f.select(edges[i], f.fmul(value, f.fsub(slopes[i], deltas[i])), zero(whole))
            f.store(value, f.at(f.at(p, i * line), at, element))
            inner = slope if bend is None else f.fmul(slope, bend[1](bent[i]))
            f.store(f.fmul(inner, scale), f.at(f.at(ds, i * line), at, element))
            with f.when(f.compare("ne", saved, null())):
                f.store_masked(slope, f.at(f.at(saved, f.mul(kept_row, i)), at, element), f.mask(f.sub(near, at), lanes))
    f.ret()
