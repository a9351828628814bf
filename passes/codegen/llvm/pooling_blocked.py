"""Pools of blocked arrays (N, channel blocks, depth, height, width, lanes), forward and backward: a block of channels is a
vector.

Nothing is masked: a window's range of taps inside of x is known before its elements are read. Small windows that lie inside of
x altogether have their taps written out. Words and items are those of `pooling.py`, planes being planes of blocks; an item of
MAX_GRAD is a whole plane, for which the sizes of x are those of what is made. Places are int32.
"""

import itertools
from dataclasses import dataclass

from ....ir.target import Target
from .conv import tap_range
from .emit import Module
from .pooling import AVERAGE, AVERAGE_GRAD, MAX, WORDS, windows_of
from .tasks import WORD, Words, chunk_share, split_index
from .types import I32, bytes_of, constant, mangled, vector, zero

_FRAME = ("first_d", "end_d", "first_h", "end_h", "first_w", "end_w")
PLACES, MAX_GRAD = "max_pool_places", "max_pool_grad"
_MOST_WRITTEN = 9                               # taps of a window that are written out


@dataclass(frozen=True)
class BlockedPoolKernel:
    """What a module is made for: MAX, PLACES (MAX with places), AVERAGE, MAX_GRAD or AVERAGE_GRAD of an element type. `written`
    are the taps (down, across) that are written out for windows inside of x; going forward, `of` says for which that pays."""

    target: Target
    kind: str
    element: str
    written: tuple | None = None

    @classmethod
    def of(cls, target: Target, kind: str, element: str, taps: tuple) -> "BlockedPoolKernel":
        """The kernel for windows of so many taps in depth, height and width."""
        small = kind in (MAX, PLACES, AVERAGE) and taps[0] == 1 and taps[1] * taps[2] <= _MOST_WRITTEN
        return cls(target, kind, element, tuple(taps[1:]) if small else None)

    @property
    def symbol(self) -> str:
        """The task's name in the module."""
        written = "" if self.written is None else "_{}x{}".format(*self.written)
        return f"blocked_{self.kind}_{mangled(self.element)}{written}"

    def text(self) -> str:
        """The module as LLVM IR."""
        module = Module(self.target)
        f = module.task(self.symbol)
        arg, chunk, _ = f.params
        job, frame = Words(f, arg, WORDS), Words(f, f.local(WORD * len(_FRAME)), _FRAME)
        first, end = chunk_share(f, job.items, job.chunks, chunk)
        with f.loop(first, end) as loop:
            _ITEMS[self.kind](f, self, job, frame, loop.index)
        f.ret()
        return module.text()


def _row(f, kernel, job, frame, number):
    """A row of the result, going forward."""
    type_ = vector(f.lanes(kernel.element), kernel.element)
    image, row, block = split_index(f, number, (1, job.out_rows, job.blocks))
    plane = f.add(f.mul(image, job.blocks), block)
    at_d, at_h = f.div(row, job.out_height), f.mod(row, job.out_height)
    in_d = tap_range(f, job, frame, "d", at_d, job.depth)
    in_h = tap_range(f, job, frame, "h", at_h, job.height)
    x = f.at(job.address("x"), f.mul(plane, job.x_plane))
    first = f.add(f.mul(plane, f.mul(job.out_rows, job.out_width)), f.mul(row, job.out_width))
    with f.loop(0, job.out_width) as loop:
        in_w = _columns(f, job, frame, loop.index)
        value, *place = _window(f, kernel, job, frame, x, (in_d, in_h, in_w), type_)
        if kernel.kind == AVERAGE:
            value = f.fdiv(value, _size(f, kernel, job, at_d, at_h, loop.index))
        at = f.add(first, loop.index)
        f.store(value, f.at(job.address("y"), at, type_))
        if place:
            f.store(place[0], f.at(job.address("index"), at, place[0].type))


def _columns(f, job, frame, at):
    """`tap_range` along the width, without divisions where a window lies inside x."""
    origin = f.sub(f.mul(at, job.stride_w), job.pad_w)
    end = f.add(origin, f.mul(f.sub(job.taps_w, 1), job.dilation_w))

    def whole():
        frame.put(first_w=0, end_w=job.taps_w)

    f.choose(f.binary("and", f.compare("sge", origin, 0), f.compare("slt", end, job.width)), whole,
             lambda: tap_range(f, job, frame, "w", at, job.width) and None)
    return origin


def _size(f, kernel, job, *at):
    """How many elements a window has, from the tables of its dims, in all lanes."""
    d, h, w = (f.load(kernel.element, f.at(job.address(f"sizes_{dim}"), i, kernel.element)) for dim, i in zip("dhw", at))
    return f.splat(f.fmul(f.fmul(d, h), w), f.lanes(kernel.element))


def _taps(f, job, frame, origin, start, body):
    """Carry values through the taps of a window that lie inside x: body(pixel, values) gives the next."""
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


def _written_taps(f, job, taps, origin, start, body):
    """`_taps` for a window of one slice in depth that lies inside x."""
    in_d, in_h, in_w = origin
    values, first = start, f.add(f.mul(f.add(f.mul(in_d, job.height), in_h), job.width), in_w)
    down, across = f.mul(job.dilation_h, job.width), job.dilation_w
    for i, j in itertools.product(*map(range, taps)):
        values = body(f.add(first, f.add(f.mul(down, i), f.mul(across, j))), values)
    return values


def _is_inside(f, job, frame):
    """Whether all taps of a window lie inside x."""
    found = [f.compare("eq", f.sub(getattr(frame, f"end_{dim}"), getattr(frame, f"first_{dim}")), getattr(job, f"taps_{dim}"))
             for dim in "dhw"]
    return f.binary("and", f.binary("and", *found[:2]), found[2])


def _window(f, kernel, job, frame, x, origin, type_):
    """The sum of a window, or its largest element (the first NaN wins) and its place, lane by lane."""
    lanes = f.lanes(kernel.element)

    def spread(pixel):
        return f.splat(f.cast("trunc", pixel, I32), lanes)

    def step(pixel, before):
        value, best = f.load(type_, f.at(x, f.mul(pixel, bytes_of(type_)))), before[0]
        if kernel.kind == AVERAGE:
            return f.fadd(best, value),
        wins = f.binary("and", f.compare("ugt", value, best), f.compare("ord", best, best))
        return f.select(wins, value, best), *[f.select(wins, spread(pixel), place) for place in before[1:]]

    start = [zero(type_) if kernel.kind == AVERAGE else constant(type_, float("-inf"))]
    if kernel.kind == PLACES:
        d, h, w = (f.add(at, f.mul(getattr(frame, f"first_{dim}"), getattr(job, f"dilation_{dim}")))
                   for dim, at in zip("dhw", origin))
        start.append(spread(f.add(f.mul(f.add(f.mul(d, job.height), h), job.width), w)))

    def in_turn():
        return tuple(_taps(f, job, frame, origin, start, step))

    if kernel.written is None:
        return in_turn()
    return f.choose(_is_inside(f, job, frame),
                    lambda: tuple(_written_taps(f, job, kernel.written, origin, tuple(start), step)), in_turn)


def _max_grad_plane(f, kernel, job, frame, number):
    """A plane: zeros, then the value of each window where its place says, in the order of windows."""
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
            places = f.load(vector(lanes, I32), f.at(job.address("index"), at, vector(lanes, I32)))

            def put(pixel, _, g=g, places=places):
                spot = f.at(y, f.mul(pixel, size))
                here = f.compare("eq", places, f.splat(f.cast("trunc", pixel, I32), lanes))
                f.store(f.fadd(f.load(type_, spot), f.select(here, g, zero(type_))), spot)
                return ()

            _taps(f, job, frame, (in_d, in_h, in_w), (), put)


def _average_grad_row(f, kernel, job, frame, number):
    """A row of dx gathers from the windows it lies in; x is the gradient here, and sizes are those of the result dx."""
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
