"""Pools of plain arrays (N, C, depth, height, width): maxima with their places, averages, and gradients.

Lanes run along the width of the result. An item is one row of a plane. Rows of the window outside of x are skipped, columns are
masked. Positions are flat within the plane.
"""

from dataclasses import dataclass

from ..ir.emit import ModuleWriter
from ..ir.types import I1, I32, I64, PTR, Value, bytes_of, constant, iota, lanes_of, mangled, vector, zero
from ..pool.tasks import WORD, split_index, task_items
from .conv import tap_range

WORDS = ("x", "y", "index", "items", "chunks", "x_plane", "y_plane", "depth", "height", "width", "out_rows", "out_height",
         "out_width", "taps_d", "taps_h", "taps_w", "stride_d", "stride_h", "stride_w", "pad_d", "pad_h", "pad_w",
         "dilation_d", "dilation_h", "dilation_w", "sizes_d", "sizes_h", "sizes_w", "blocks")
PUT_WORDS = ("x", "y", "index", "items", "chunks", "count", "plane", "add", "failed")
_FRAME = ("first_d", "end_d", "first_h", "end_h")
CONTIGUOUS, PAIRS, APART = 1, 2, 3                  # steps between windows along the width: 1, 2, more
MAX, AVERAGE, AVERAGE_GRAD, PUT = "max_pool", "avg_pool", "avg_pool_grad", "plane_put"


@dataclass(frozen=True)
class PoolKernel(ModuleWriter):
    """Generator of one kind of pool. `spread` says how windows are spaced along the width."""

    kind: str
    element: str
    spread: int = CONTIGUOUS

    @property
    def lanes(self) -> int:
        return self.target.lanes(bytes_of(self.element))

    @property
    def symbol(self) -> str:
        return f"{self.kind}_{mangled(self.element)}_{self.spread}"

    def write(self, module):
        with task_items(module, self.symbol, PUT_WORDS if self.kind == PUT else WORDS, _FRAME) as (f, job, number, frame):
            _ROWS[self.kind](f, self, job, frame, number)


@dataclass(frozen=True)
class _Row:
    """A row of the result: its pointers, and the vectors along it."""

    x: Value
    y: Value
    in_d: Value
    in_h: Value
    at_d: Value
    at_h: Value
    plane: Value


def _open_row(f, kernel, job, frame, number):
    plane, row = split_index(f, number, (1, job.out_rows))
    at_d, at_h = f.div(row, job.out_height), f.mod(row, job.out_height)
    in_d = tap_range(f, job, frame, "d", at_d, job.depth)
    in_h = tap_range(f, job, frame, "h", at_h, job.height)
    x = f.at(job.address("x"), f.mul(plane, job.x_plane))
    y = f.at(f.at(job.address("y"), f.mul(plane, job.y_plane)), f.mul(row, job.out_width), kernel.element)
    return _Row(x, y, in_d, in_h, at_d, at_h, plane)


def _window_rows(f, job, frame, row, start, body):
    """Carry values through the window's rows inside x: body(first position of the row of x, values) returns the next."""
    with f.loop(frame.first_d, frame.end_d, 1, start) as outer:
        at_d = f.add(row.in_d, f.mul(outer.index, job.dilation_d))
        with f.loop(frame.first_h, frame.end_h, 1, outer.carried) as inner:
            at_h = f.add(row.in_h, f.mul(inner.index, job.dilation_h))
            line = f.mul(f.add(f.mul(at_d, job.height), at_h), job.width)
            inner.next(*body(line, inner.carried))
        outer.next(*inner.results)
    return outer.results


def _columns(f, kernel, job, first, tap):
    """Return (first column of x at a tap for results from `first` on, each lane's column)."""
    start = f.sub(f.add(f.mul(first, job.stride_w), f.mul(tap, job.dilation_w)), job.pad_w)
    steps = iota(kernel.lanes) if kernel.spread == CONTIGUOUS else iota(kernel.lanes, step=2) if kernel.spread == PAIRS else \
        f.binary("mul", iota(kernel.lanes), f.splat(f.cast("trunc", job.stride_w, I32), kernel.lanes))
    return start, f.binary("add", f.splat(f.cast("trunc", start, I32), kernel.lanes), steps)


def _load_columns(f, kernel, job, line, where, outside):
    """Load a row of x at all lanes' columns, `outside` where there are none."""
    start, columns = where
    type_, lanes = vector(kernel.lanes, kernel.element), kernel.lanes
    width = f.splat(f.cast("trunc", job.width, I32), lanes)

    def masked(at, mask):
        return f.load_masked(type_, f.at(line, at, kernel.element), mask, outside)

    def edge():
        if kernel.spread == APART:
            inside = f.compare("ult", columns, width)
            return f.select(inside, _gather(f, kernel, line, columns, inside), outside),
        if kernel.spread == CONTIGUOUS:
            return masked(start, f.compare("ult", columns, width)),
        halves = []
        for half in range(2):
            at = f.add(start, half * lanes)
            seen = f.compare("ult", f.binary("add", f.splat(f.cast("trunc", at, I32), lanes), iota(lanes)), width)
            halves.append(masked(at, seen))
        return f.shuffle(*halves, range(0, 2 * lanes, 2)),

    def middle():
        parts = [f.load(type_, f.at(line, f.add(start, half * lanes), kernel.element)) for half in range(kernel.spread)]
        return parts[0] if len(parts) == 1 else f.shuffle(*parts, range(0, 2 * lanes, 2)),

    if kernel.spread == APART:
        return edge()[0]
    whole = f.binary("and", f.compare("sge", start, 0),
                     f.compare("sle", f.add(start, kernel.spread * lanes), job.width))
    return f.choose(whole, middle, edge)[0]


def _gather(f, kernel, line, columns, inside):
    wide = f.cast("sext", columns, vector(kernel.lanes, I64))
    addresses = f.op(vector(kernel.lanes, PTR), f"getelementptr {kernel.element}, {line}, {wide}")
    return f.gather(vector(kernel.lanes, kernel.element), addresses, inside)


def _max_row(f, kernel, job, frame, number):
    """Write a row of maxima and places; rows with windows of only -infinity are scanned again for their places."""
    row = _open_row(f, kernel, job, frame, number)
    positions = f.at(job.address("index"), f.mul(f.mul(number, job.out_width), WORD))
    lanes = kernel.lanes
    with f.loop(0, job.out_width, lanes) as loop:
        exists = f.mask(f.sub(job.out_width, loop.index), lanes)
        best, position = _maxima(f, kernel, job, frame, row, loop.index, _better)
        missing = f.call(f"llvm.vector.reduce.or.v{lanes}i1", I1, f.binary("and", f.compare("slt", position, 0), exists))
        best, position = f.choose(missing, lambda: _maxima(f, kernel, job, frame, row, loop.index, _better_or_first),
                                  lambda: (best, position))
        f.store_masked(best, f.at(row.y, loop.index, kernel.element), exists)
        f.store_masked(f.cast("sext", position, vector(lanes, I64)), f.at(positions, loop.index, I64), exists)


def _better(f, job, value, columns, best, place):
    return f.binary("and", f.compare("ugt", value, best), f.compare("ord", best, best))


def _better_or_first(f, job, value, columns, best, place):
    width = f.splat(f.cast("trunc", job.width, I32), lanes_of(columns.type))
    first = f.binary("and", f.compare("slt", place, 0), f.compare("ult", columns, width))
    return f.binary("or", _better(f, job, value, columns, best, place), first)


def _maxima(f, kernel, job, frame, row, first, better):
    """Return (maxima, places) of a vector of windows; a place is negative if no element was better."""
    type_, lanes, lowest = vector(kernel.lanes, kernel.element), kernel.lanes, float("-inf")

    def window_row(line, values):
        start = f.at(row.x, line, kernel.element)
        with f.loop(0, job.taps_w, 1, values) as tap:
            best, place = tap.carried
            where = _columns(f, kernel, job, first, tap.index)
            value = _load_columns(f, kernel, job, start, where, constant(type_, lowest))
            wins = better(f, job, value, where[1], best, place)
            here = f.binary("add", where[1], f.splat(f.cast("trunc", line, I32), lanes))
            tap.next(f.select(wins, value, best), f.select(wins, here, place))
        return tap.results

    return _window_rows(f, job, frame, row, (constant(type_, lowest), constant(vector(lanes, I32), -1)), window_row)


def _average_row(f, kernel, job, frame, number):
    row = _open_row(f, kernel, job, frame, number)
    type_, lanes = vector(kernel.lanes, kernel.element), kernel.lanes
    around = f.fmul(_size(f, kernel, job, "d", row.at_d), _size(f, kernel, job, "h", row.at_h))
    with f.loop(0, job.out_width, lanes) as loop:
        exists = f.mask(f.sub(job.out_width, loop.index), lanes)

        def window_row(line, values, first=loop.index):
            start = f.at(row.x, line, kernel.element)
            with f.loop(0, job.taps_w, 1, values) as tap:
                where = _columns(f, kernel, job, first, tap.index)
                tap.next(f.fadd(tap.carried[0], _load_columns(f, kernel, job, start, where, zero(type_))))
            return tap.results

        total, = _window_rows(f, job, frame, row, (zero(type_),), window_row)
        sizes = f.load_masked(type_, f.at(job.address("sizes_w"), loop.index, kernel.element), exists)
        mean = f.fdiv(total, f.fmul(f.splat(around, lanes), sizes))
        f.store_masked(mean, f.at(row.y, loop.index, kernel.element), exists)


def _size(f, kernel, job, dim, at):
    """Return a window's elements along a dim as a float, from its table."""
    return f.load(kernel.element, f.at(job.address(f"sizes_{dim}"), at, kernel.element))


def _average_grad_row(f, kernel, job, frame, number):
    """Write a row of dx, gathered from its windows; x is the gradient, and sizes are those of the result dx."""
    plane, row = split_index(f, number, (1, job.out_rows))
    at_d, at_h = f.div(row, job.out_height), f.mod(row, job.out_height)
    type_, lanes = vector(kernel.lanes, kernel.element), kernel.lanes
    x = f.at(job.address("x"), f.mul(plane, job.x_plane))
    y = f.at(f.at(job.address("y"), f.mul(plane, job.y_plane)), f.mul(row, job.out_width), kernel.element)
    windows_d, windows_h = windows_of(f, job, "d", at_d, job.depth), windows_of(f, job, "h", at_h, job.height)
    most = f.ceil_div(job.taps_w, job.stride_w)
    with f.loop(0, job.out_width, lanes) as loop:
        exists = f.mask(f.sub(job.out_width, loop.index), lanes)
        shifted = f.add(loop.index, job.pad_w)
        with f.loop(*windows_d, 1, [zero(type_)]) as outer:
            with f.loop(*windows_h, 1, outer.carried) as inner:
                around = f.fmul(_size(f, kernel, job, "d", outer.index), _size(f, kernel, job, "h", inner.index))
                line = f.at(x, f.mul(f.add(f.mul(outer.index, job.height), inner.index), job.width), kernel.element)
                with f.loop(0, most, 1, inner.carried) as back:
                    value, inside = _window_values(f, kernel, job, line, shifted, back.index, exists)
                    sizes, _ = _window_values(f, kernel, job, job.address("sizes_w"), shifted, back.index, exists)
                    share = f.fdiv(value, f.fmul(f.splat(around, lanes), sizes))
                    back.next(f.fadd(back.carried[0], f.select(inside, share, zero(type_))))
                inner.next(*back.results)
            outer.next(*inner.results)
        f.store_masked(outer.results[0], f.at(y, loop.index, kernel.element), exists)


def _window_values(f, kernel, job, line, shifted, back, exists):
    """Return (each column's `back`th window's element, mask of lanes with one); `moved` is the first column plus padding."""
    type_, lanes, element = vector(kernel.lanes, kernel.element), kernel.lanes, kernel.element

    def spread(number):
        return f.splat(f.cast("trunc", number, I32), lanes)

    columns = f.binary("add", spread(shifted), iota(lanes))
    newest = columns if kernel.spread == CONTIGUOUS else f.binary("lshr", columns, constant(columns.type, 1)) \
        if kernel.spread == PAIRS else f.binary("udiv", columns, spread(job.stride_w))
    window = f.binary("sub", newest, spread(back))
    reach = f.binary("sub", columns, f.binary("mul", window, spread(job.stride_w)))
    inside = f.binary("and", f.compare("ult", window, spread(job.width)), f.compare("ult", reach, spread(job.taps_w)))
    inside = f.binary("and", inside, exists)
    if kernel.spread == APART:
        return _gather(f, kernel, line, window, inside), inside
    start = f.sub(shifted if kernel.spread == CONTIGUOUS else f.div(shifted, 2), back)
    seen = f.compare("ult", f.binary("add", spread(start), iota(lanes)), spread(job.width))
    values = f.load_masked(type_, f.at(line, start, element), seen)
    if kernel.spread == CONTIGUOUS:
        return values, inside
    even, odd = (f.shuffle(values, values, [(lane + shift) // 2 for lane in range(lanes)]) for shift in (0, 1))
    return f.select(f.compare("eq", f.bit_and(shifted, 1), 0), even, odd), inside


def windows_of(f, job, dim, at, count):
    """Return the range of windows that contain a row."""
    stride, taps, shifted = getattr(job, f"stride_{dim}"), getattr(job, f"taps_{dim}"), f.add(at, getattr(job, f"pad_{dim}"))
    end = f.min(f.add(f.div(shifted, stride), 1), count)
    first = f.ceil_div(f.max(f.sub(f.add(shifted, 1), taps), 0), stride)
    return first, f.max(end, first)


def _put_plane(f, kernel, job, frame, number):
    """Write one plane: zeros, then each value at its place, in order."""
    size = bytes_of(kernel.element)
    y = f.at(job.address("y"), f.mul(f.mul(number, job.plane), size))
    start = f.mul(number, job.count)
    x, index = f.at(job.address("x"), start, kernel.element), f.at(job.address("index"), start, I64)
    type_, whole = vector(kernel.lanes, kernel.element), f.bit_and(job.plane, -kernel.lanes)
    with f.loop(0, whole, kernel.lanes) as loop:
        f.store(zero(type_), f.at(y, loop.index, kernel.element))
    with f.loop(whole, job.plane) as loop:
        f.store(zero(kernel.element), f.at(y, loop.index, kernel.element))
    plane, add, failed = job.plane, f.compare("ne", job.add, 0), job.address("failed")
    with f.loop(0, job.count) as loop:
        place = f.load(I64, f.at(index, loop.index, I64))

        def keep(place=place, at=loop.index):
            spot = f.at(y, place, kernel.element)
            value, old = f.load(kernel.element, f.at(x, at, kernel.element)), f.load(kernel.element, spot)
            f.store(f.select(add, f.fadd(old, value), value), spot)

        f.choose(f.compare("ult", place, plane), keep, lambda: f.store(f.index(1), failed))


_ROWS = {MAX: _max_row, AVERAGE: _average_row, AVERAGE_GRAD: _average_grad_row, PUT: _put_plane}
