"""Pools of blocked arrays (N, channel blocks, depth, height, width, lanes), forward and backward: a block of channels is a
vector.

Nothing is masked: a window's range of taps inside x is known before its elements are read. Small windows entirely inside x are
unrolled. Words and items are those of `pooling.py`, on planes of blocks. An item of MAX_GRAD is a whole plane, whose sizes of x
are those of its result. Places are int32.
"""

import functools
import itertools
from dataclasses import dataclass

from .....ir.target import Target
from ..ir.emit import ModuleWriter
from ..ir.types import I1, I32, bytes_of, constant, mangled, vector, zero
from ..pool.tasks import split_index, task_items
from .conv import tap_range
from .pooling import AVERAGE, AVERAGE_GRAD, MAX, WORDS, windows_of

_FRAME = ("first_d", "end_d", "first_h", "end_h", "first_w", "end_w")
PLACES, MAX_GRAD = "max_pool_places", "max_pool_grad"
_MOST_WRITTEN = 9                               # most taps of an unrolled window


@dataclass(frozen=True)
class BlockedPoolKernel(ModuleWriter):
    """Generator of MAX, PLACES (MAX with places), AVERAGE, MAX_GRAD or AVERAGE_GRAD of an element type.

    `written` are the taps (down, across) that are unrolled for windows inside x; `of` decides when that pays.
    """

    kind: str
    element: str
    written: tuple | None = None

    @classmethod
    def of(cls, target: Target, kind: str, element: str, taps: tuple) -> "BlockedPoolKernel":
        """Return the kernel for windows of these taps in depth, height and width."""
        small = kind in (MAX, PLACES, AVERAGE) and taps[0] == 1 and taps[1] * taps[2] <= _MOST_WRITTEN
        return cls(target, kind, element, tuple(taps[1:]) if small else None)

    @property
    def symbol(self) -> str:
        written = "" if self.written is None else "_{}x{}".format(*self.written)
        return f"blocked_{self.kind}_{mangled(self.element)}{written}"

    def write(self, module):
        with task_items(module, self.symbol, WORDS, _FRAME) as (f, job, number, frame):
            _ITEMS[self.kind](f, self, job, frame, number)


def _row(f, kernel, job, frame, number):
    """Write a row of the forward result: windows inside x unrolled, then the others."""
    image, row, block = split_index(f, number, (1, job.out_rows, job.blocks))
    plane = f.add(f.mul(image, job.blocks), block)
    at_d, at_h = f.div(row, job.out_height), f.mod(row, job.out_height)
    origin = tap_range(f, job, frame, "d", at_d, job.depth), tap_range(f, job, frame, "h", at_h, job.height)
    x = f.at(job.address("x"), f.mul(plane, job.x_plane))
    first = f.add(f.mul(plane, f.mul(job.out_rows, job.out_width)), f.mul(row, job.out_width))

    def store(column, value, *place):
        if kernel.kind == AVERAGE:
            value = f.fdiv(value, _size(f, kernel, job, at_d, at_h, column))
        at = f.add(first, column)
        f.store(value, f.at(job.address("y"), at, value.type))
        if place:
            f.store(place[0], f.at(job.address("index"), at, place[0].type))

    def slowly(column):
        in_w = tap_range(f, job, frame, "w", column, job.width)
        store(column, *_window(f, kernel, job, frame, x, (*origin, in_w)))

    if kernel.written is None:
        with f.loop(0, job.out_width) as loop:
            slowly(loop.index)
        return
    low, count = _written_windows(f, kernel, job, frame, x, origin, store)
    with f.loop(0, f.sub(job.out_width, count)) as loop:
        slowly(f.add(loop.index, f.select(f.compare("slt", loop.index, low), f.index(0), count)))


def _written_windows(f, kernel, job, frame, x, origin, store):
    """Write the row's windows inside x; return (first, number), none if one has a NaN, which needs another order of taps."""
    lanes = f.lanes(kernel.element)
    type_ = vector(lanes, kernel.element)
    low, end = f.choose(_rows_are_inside(f, job, frame), lambda: _columns_inside(f, job), lambda: (f.index(0), f.index(0)))
    down, across = f.mul(job.dilation_h, job.width), job.dilation_w
    line = f.mul(f.add(f.mul(origin[0], job.height), origin[1]), job.width)
    with f.loop(low, end, 1, [f.mask(0, lanes)]) as loop:
        at = f.add(line, f.sub(f.mul(loop.index, job.stride_w), job.pad_w))
        pixels = [f.add(at, f.add(f.mul(down, i), f.mul(across, j))) for i, j in itertools.product(*map(range, kernel.written))]
        values = [f.load(type_, f.at(x, f.mul(pixel, bytes_of(type_)))) for pixel in pixels]
        bad = loop.carried[0]
        if kernel.kind == AVERAGE:
            found = [functools.reduce(f.fadd, values, zero(type_))]
        else:
            found = [values[0], *[_spread(f, pixels[0], lanes)] * (kernel.kind == PLACES)]
            for pixel, value in zip(pixels[1:], values[1:]):
                wins = f.compare("ogt", value, found[0])
                best = value, _spread(f, pixel, lanes)
                found = [f.select(wins, new, old) for new, old in zip(best, found)]
            for one, other in zip(values[::2], [*values[1::2], values[-1]]):
                bad = f.binary("or", bad, f.compare("uno", one, other))
        store(loop.index, *found)
        loop.next(bad)
    return low, f.select(_any(f, loop.results[0]), f.index(0), f.sub(end, low))


def _any(f, mask):
    return f.call(f"llvm.vector.reduce.or.{mangled(mask.type)}", I1, mask)


def _columns(f, job, frame, at):
    """`tap_range` along the width, without divisions for windows inside x."""
    origin = f.sub(f.mul(at, job.stride_w), job.pad_w)
    end = f.add(origin, f.mul(f.sub(job.taps_w, 1), job.dilation_w))

    def whole():
        frame.put(first_w=0, end_w=job.taps_w)

    f.choose(f.binary("and", f.compare("sge", origin, 0), f.compare("slt", end, job.width)), whole,
             lambda: tap_range(f, job, frame, "w", at, job.width) and None)
    return origin


def _size(f, kernel, job, *at):
    """Return a window's elements in all lanes, from the tables of its dims."""
    d, h, w = (f.load(kernel.element, f.at(job.address(f"sizes_{dim}"), i, kernel.element)) for dim, i in zip("dhw", at))
    return f.splat(f.fmul(f.fmul(d, h), w), f.lanes(kernel.element))


def _over_window(f, job, frame, origin, start, body):
    """Carry values through the window's taps inside x: body(pixel, values) returns the next."""
    in_d, in_h, in_w = origin
    with f.loop(frame.first_d, frame.end_d, 1, start) as outer:
        at_d = f.add(in_d, f.mul(outer.index, job.dilation_d))
        with f.loop(frame.first_h, frame.end_h, 1, outer.carried) as middle:
            at_h = f.add(in_h, f.mul(middle.index, job.dilation_h))
            line = f.add(f.mul(f.add(f.mul(at_d, job.height), at_h), job.width), in_w)
            with f.loop(frame.first_w, frame.end_w, 1, middle.carried) as inner:
                inner.next(*body(f.add(line, f.mul(inner.index, job.dilation_w)), inner.carried))
            middle.next(*inner.results)
        outer.next(*middle.results)
    return outer.results


def _rows_are_inside(f, job, frame):
    counts = {dim: f.sub(getattr(frame, f"end_{dim}"), getattr(frame, f"first_{dim}")) for dim in "dh"}
    return f.binary("and", *(f.compare("eq", count, getattr(job, f"taps_{dim}")) for dim, count in counts.items()))


def _columns_inside(f, job):
    """Return the range of a row's windows with all columns inside x."""
    first = f.min(f.ceil_div(job.pad_w, job.stride_w), job.out_width)
    room = f.sub(f.add(job.width, job.pad_w), f.add(f.mul(f.sub(job.taps_w, 1), job.dilation_w), 1))
    end = f.select(f.compare("slt", room, 0), f.index(0), f.add(f.div(f.max(room, 0), job.stride_w), 1))
    return first, f.max(first, f.min(end, job.out_width))


def _spread(f, pixel, lanes):
    return f.splat(f.cast("trunc", pixel, I32), lanes)


def _window(f, kernel, job, frame, x, origin):
    """Return a window's sum, or its maximum (the first NaN wins) and place, lane by lane."""
    lanes = f.lanes(kernel.element)
    type_ = vector(lanes, kernel.element)

    def step(pixel, before):
        value, best = f.load(type_, f.at(x, f.mul(pixel, bytes_of(type_)))), before[0]
        if kernel.kind == AVERAGE:
            return f.fadd(best, value),
        wins = f.binary("and", f.compare("ugt", value, best), f.compare("ord", best, best))
        return f.select(wins, value, best), *[f.select(wins, _spread(f, pixel, lanes), place) for place in before[1:]]

    start = [zero(type_) if kernel.kind == AVERAGE else constant(type_, float("-inf"))]
    if kernel.kind == PLACES:
        d, h, w = (f.add(at, f.mul(getattr(frame, f"first_{dim}"), getattr(job, f"dilation_{dim}")))
                   for dim, at in zip("dhw", origin))
        start.append(_spread(f, f.add(f.mul(f.add(f.mul(d, job.height), h), job.width), w), lanes))
    return _over_window(f, job, frame, origin, start, step)


def _max_grad_plane(f, kernel, job, frame, number):
    """Write a plane: zeros, then each window's value at its place, in the order of windows."""
    lanes = f.lanes(kernel.element)
    type_, size = vector(lanes, kernel.element), bytes_of(vector(lanes, kernel.element))
    y = f.at(job.address("y"), f.mul(number, job.x_plane))
    with f.loop(0, job.x_plane, size) as loop:
        f.store(zero(type_), f.at(y, loop.index))
    count = f.mul(job.out_rows, job.out_width)
    with f.loop(0, job.out_rows) as rows:
        in_d = tap_range(f, job, frame, "d", f.div(rows.index, job.out_height), job.depth)
        in_h = tap_range(f, job, frame, "h", f.mod(rows.index, job.out_height), job.height)
        with f.loop(0, job.out_width) as loop:
            in_w = _columns(f, job, frame, loop.index)
            at = f.add(f.mul(number, count), f.add(f.mul(rows.index, job.out_width), loop.index))
            g = f.load(type_, f.at(job.address("x"), at, type_))
            positions = f.load(vector(lanes, I32), f.at(job.address("index"), at, vector(lanes, I32)))

            def put(pixel, _, g=g, positions=positions):
                spot = f.at(y, f.mul(pixel, size))
                here = f.compare("eq", positions, f.splat(f.cast("trunc", pixel, I32), lanes))
                f.store(f.fadd(f.load(type_, spot), f.select(here, g, zero(type_))), spot)
                return ()

            _over_window(f, job, frame, (in_d, in_h, in_w), (), put)


def _average_grad_row(f, kernel, job, frame, number):
    """Write a row of dx, gathered from its windows; x is the gradient, and sizes are those of the result dx."""
    type_ = vector(f.lanes(kernel.element), kernel.element)
    image, row, block = split_index(f, number, (1, job.out_rows, job.blocks))
    plane = f.add(f.mul(image, job.blocks), block)
    at_d, at_h = f.div(row, job.out_height), f.mod(row, job.out_height)
    x = f.at(job.address("x"), f.mul(plane, job.x_plane))
    y = f.at(f.at(job.address("y"), f.mul(plane, job.y_plane)), f.mul(row, job.out_width), type_)
    windows_d, windows_h = windows_of(f, job, "d", at_d, job.depth), windows_of(f, job, "h", at_h, job.height)
    with f.loop(0, job.out_width) as loop:
        first, end = windows_of(f, job, "w", loop.index, job.width)
        with f.loop(*windows_d, 1, [zero(type_)]) as outer:
            with f.loop(*windows_h, 1, outer.carried) as middle:
                line = f.mul(f.add(f.mul(outer.index, job.height), middle.index), job.width)
                with f.loop(0, f.sub(end, first), 1, middle.carried) as back:
                    at_w = f.sub(f.sub(end, 1), back.index)
                    value = f.load(type_, f.at(x, f.add(line, at_w), type_))
                    share = f.fdiv(value, _size(f, kernel, job, outer.index, middle.index, at_w))
                    back.next(f.fadd(back.carried[0], share))
                middle.next(*back.results)
            outer.next(*middle.results)
        f.store(outer.results[0], f.at(y, loop.index, type_))


_ITEMS = {MAX: _row, PLACES: _row, AVERAGE: _row, MAX_GRAD: _max_grad_plane, AVERAGE_GRAD: _average_grad_row}
