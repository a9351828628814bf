"""Scaled dot-product attention, backward, as a pool task: the gradients of queries, keys and values from each row's logsumexp.

Squares of 64 rows by 64 keys: scores and probabilities are computed again, then with dS = P (g v' - delta) * scale

    dv += P' g      dk += dS' q      dq += dS k

An item is a key head of a batch, with all its query heads. Where there are too few of them for the threads, it is also a range
of keys, for dk and dv, or a range of rows, for dq, in two tasks; the sums run in the same order either way.
"""

from dataclasses import dataclass

from ....ir.target import Target
from .attention import open_head, write_panels
from .attention_softmax import DTYPES, NO_MASK, add_mask
from .emit import Module
from .gates import exp_below
from .microkernel import Precision, TileShape, tile_shape
from .products import write_product
from .spelling import LlvmBuilder
from .tasks import Words, chunk_share, write_task
from .types import F32, F64, I64, PTR, VOID, bytes_of, constant, null, vector, zero

ARRAYS = ("g", "q", "k", "v", "mask", "lse", "delta", "dq", "dk", "dv", "ds")
OFFSETS = ARRAYS
_HEADS = ("g", "q", "mask", "lse", "delta", "dq", "ds")   # arrays with a part for each query head
WORDS = (*ARRAYS, "scratch", "turn", "offsets", "items", "chunks", "blocks", "heads", "rows", "keys", "causal", "size",
         "v_size",
         *(f"{name}_row" for name in ("g", "q", "k", "v", "mask", "dq", "dk", "dv", "ds")), "mask_step",
         *(f"{name}_head" for name in _HEADS), "scale", "scratch_bytes", "gives", "keeps_ds", "all_keys")
SIDE = 64                           # rows and keys of a square
GIVES_ROWS, GIVES_KEYS = 1, 2       # what a task makes: dq, and dk with dv


@dataclass(frozen=True)
class AttentionGradKernel:
    """What a module is made for."""

    target: Target
    element: str
    mask: str = NO_MASK

    @property
    def shape(self) -> TileShape:
        """The register tile."""
        return tile_shape(self.target, self.element)

    @property
    def symbol(self) -> str:
        """The task's name in the module."""
        return f"attention_grad_{self.element}{'_' + self.mask if self.mask else ''}"

    def scratch(self, size: int, v_size: int) -> int:
        """Bytes of a worker's scratch: turned keys and values, P and dS of a square."""
        return SIDE * (size + v_size + 2 * SIDE) * bytes_of(self.element)

    def text(self) -> str:
        """The module as LLVM IR."""
        module = Module(self.target)
        write_product(module, Precision.of(self.element))
        _write_slopes(module, self)
        _write_square(module, self)
        panels = write_panels(module, self.shape, self.element)
        write_task(module, self.symbol, _write_item(module, self, panels), WORDS)
        return module.text()


def _write_item(module, kernel, panels):
    f = module.function("item", [(PTR, "arg"), (I64, "number"), (I64, "worker")], internal=True)
    arg, number, worker = f.params
    job, item = Words(f, arg, WORDS), bytes_of(kernel.element)
    part, at = open_head(f, job, number, OFFSETS)
    scratch = f.at(job.address("scratch"), f.mul(worker, job.scratch_bytes))
    gives, one = job.gives, f.index(item)
    for_keys, for_rows = (f.compare("ne", f.bit_and(gives, flag), 0) for flag in (GIVES_KEYS, GIVES_ROWS))
    row_squares, key_squares = f.ceil_div(job.rows, SIDE), f.ceil_div(job.keys, SIDE)
    # With all keys in one item, its part of the work is a range of rows.
    low_key, high_key = chunk_share(f, key_squares, f.select(for_keys, job.blocks, f.index(1)),
                                    f.select(for_keys, part, f.index(0)))
    low_row, high_row = chunk_share(f, row_squares, f.select(for_keys, f.index(1), job.blocks),
                                    f.select(for_keys, f.index(0), part))

    def clear(name, first, last, limit, columns):
        """Zeros: the sum of nothing."""
        start, row = f.mul(first, SIDE), getattr(job, f"{name}_row")
        f.call("product", VOID, scratch, scratch, f.at(at[name], f.mul(start, row)), one, one, one, one, row,
               f.sub(f.min(f.mul(last, SIDE), limit), start), columns, f.index(0), null(), null(), f.index(0))

    with f.when(for_rows), f.loop(0, job.heads) as heads:
        base = at["dq"]
        at["dq"] = f.at(base, f.mul(heads.index, job.dq_head))
        clear("dq", low_row, high_row, job.rows, job.size)
        at["dq"] = base
    causal = f.compare("ne", job.causal, 0)
    with f.loop(low_key, f.min(high_key, f.select(causal, high_row, high_key))) as keys:
        start = f.mul(keys.index, SIDE)
        count = f.min(f.sub(job.keys, start), SIDE)
        with f.when(for_keys):
            clear("dk", keys.index, f.add(keys.index, 1), job.keys, job.size)
            clear("dv", keys.index, f.add(keys.index, 1), job.keys, job.v_size)
        here = {name: f.at(at[name], f.mul(start, getattr(job, f"{name}_row"))) for name in ("k", "v", "dk", "dv")}
        turned_v = f.at(scratch, f.mul(job.size, SIDE * item))
        f.call(panels, VOID, here["k"], job.k_row, count, job.size, scratch)
        f.call(panels, VOID, here["v"], job.v_row, count, job.v_size, turned_v)
        first = f.select(causal, f.max(keys.index, low_row), low_row)
        with f.loop(0, job.heads) as heads, f.loop(first, high_row) as rows:
            parts = [f.at(at[name], f.mul(heads.index, getattr(job, f"{name}_head"))) for name in _HEADS]
            f.call("square", VOID, arg, scratch, *parts, *here.values(), f.mul(rows.index, SIDE), start, count)
    _clear_unseen_keys(f, job, at, for_keys, part, clear)
    f.ret()
    return "item"


def _clear_unseen_keys(f, job, at, for_keys, part, clear):
    """Keys that no row sees (the causal rule with fewer rows than keys) have no gradient."""
    beyond = f.binary("and", for_keys, f.compare("eq", part, 0))
    with f.when(f.binary("and", beyond, f.compare("slt", job.keys, job.all_keys))):
        for name, columns in (("dk", job.size), ("dv", job.v_size)):
            base, row = at[name], getattr(job, f"{name}_row")
            at[name] = f.at(base, f.mul(job.keys, row))
            left = f.sub(job.all_keys, job.keys)
            clear(name, f.index(0), f.ceil_div(left, SIDE), left, columns)
            at[name] = base


def _write_square(module, kernel):
    """Function of one square: some rows of a query head against some keys."""
    f = module.function("square", [*((PTR, name) for name in ("arg", "scratch", *_HEADS, "k", "v", "dk", "dv")),
                                   *((I64, name) for name in ("row", "start", "count"))], internal=True)
    arg, scratch, g, q, mask, lse, delta, dq, ds, k, _, dk, dv, row, start, count = f.params
    job, shape, item = Words(f, arg, WORDS), kernel.shape, bytes_of(kernel.element)
    size, v_size, height = job.size, job.v_size, f.min(f.sub(job.rows, row), SIDE)
    turned_v = f.at(scratch, f.mul(size, SIDE * item))
    p = f.at(turned_v, f.mul(v_size, SIDE * item))
    slopes = f.at(p, SIDE * SIDE * item)
    g, q, dq = (f.at(x, f.mul(row, getattr(job, f"{name}_row"))) for x, name in ((g, "g"), (q, "q"), (dq, "dq")))
    scale, unit = f.local(item), f.local(item)
    number = f.load(F64, job.spot("scale"))
    f.store(number if kernel.element == F64 else f.cast("fptrunc", number, F32), scale)
    f.store(constant(kernel.element, 1), unit)
    one, side, panel = f.index(item), f.index(SIDE * item), f.index(shape.columns * item)
    nothing, still = null(), f.index(0)

    def product(a, b, c, *words):
        f.call("product", VOID, a, b, c, *words)

    wide = f.bit_and(f.add(count, shape.lanes - 1), -shape.lanes)
    product(q, scratch, p, job.q_row, one, panel, f.mul(size, panel), side, height, wide, size, nothing, scale, still)
    product(g, turned_v, slopes, job.g_row, one, panel, f.mul(v_size, panel), side, height, wide, v_size, nothing, nothing,
            still)
    with f.loop(0, height) as loop:
        at = f.add(row, loop.index)
        seen = f.min(count, f.select(f.compare("ne", job.causal, 0), f.add(f.sub(at, start), 1), count))
        shade = f.at(f.at(mask, f.mul(at, job.mask_row)), f.mul(start, job.mask_step))
        kept = f.select(f.compare("ne", job.keeps_ds, 0), f.at(f.at(ds, f.mul(at, job.ds_row)), f.mul(start, item)), null())
        place = f.mul(loop.index, SIDE * item)
        f.call("slopes", VOID, f.at(p, place), f.at(slopes, place), f.max(seen, 0), count,
               f.load(kernel.element, f.at(lse, f.mul(at, item))),
               f.load(kernel.element, f.at(delta, f.mul(at, item))), f.load(kernel.element, scale), shade, job.mask_step, kept)
    with f.when(f.compare("ne", f.bit_and(job.gives, GIVES_KEYS), 0)):
        product(p, g, dv, one, side, job.g_row, panel, job.dv_row, count, v_size, height, unit, nothing, still)
        product(slopes, q, dk, one, side, job.q_row, panel, job.dk_row, count, size, height, unit, nothing, still)
    with f.when(f.compare("ne", f.bit_and(job.gives, GIVES_ROWS), 0)):
        product(slopes, k, dq, side, one, job.k_row, panel, job.dq_row, height, size, count, unit, nothing, still)
    f.ret()


def _write_slopes(module, kernel):
    """Function of one row of a square: scores become P, products with the gradient become dS * scale; dS may be kept."""
    element, lanes = kernel.element, kernel.shape.lanes
    whole = vector(lanes, element)
    f = module.function("slopes", [("ptr noalias", "p"), ("ptr noalias", "ds"), (I64, "seen"), (I64, "count"), (element, "lse"),
                                   (element, "delta"), (element, "scale"), (PTR, "mask"), (I64, "mask_step"), (PTR, "kept")],
                        internal=True)
    p, ds, seen, count, lse, delta, scale, mask, mask_step, kept = f.params
    s = LlvmBuilder(f, lanes)
    lse, delta, scale = (f.splat(x, lanes) for x in (lse, delta, scale))
    with f.loop(0, count, lanes) as loop:
        at = loop.index
        edge = f.mask(f.sub(seen, at), lanes)
        scores, slope = (f.load(whole, f.at(x, at, element)) for x in (p, ds))
        if kernel.mask:
            scores = add_mask(f, kernel.mask, scores, mask, mask_step, at, edge)
        found = exp_below(s, s.wrap(DTYPES[element], f.fsub(scores, lse))).ref
        found = f.select(edge, found, zero(whole))
        slope = f.select(edge, f.fmul(found, f.fsub(slope, delta)), zero(whole))
        f.store(found, f.at(p, at, element))
        f.store(f.fmul(slope, scale), f.at(ds, at, element))
        with f.when(f.compare("ne", kept, null())):
            f.store_masked(slope, f.at(kept, at, element), f.mask(f.sub(count, at), lanes))
    f.ret()
