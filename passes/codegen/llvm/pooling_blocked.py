"""Pools of blocked arrays (N, channel blocks, depth, height, width, lanes), forward: a block of channels is a vector.

Nothing is masked: a window's range of taps inside of x is known before its elements are read. Words and items are those of
`pooling.py`, planes being planes of blocks.
"""

from dataclasses import dataclass

from ....ir.target import Target
from .conv import tap_range
from .emit import Module
from .pooling import AVERAGE, MAX, WORDS
from .tasks import WORD, Words, chunk_share, split_index
from .types import bytes_of, constant, mangled, vector, zero

_FRAME = ("first_d", "end_d", "first_h", "end_h", "first_w", "end_w")


@dataclass(frozen=True)
class BlockedPoolKernel:
    """What a module is made for: MAX or AVERAGE of an element type."""

    target: Target
    kind: str
    element: str

    @property
    def symbol(self) -> str:
        """The task's name in the module."""
        return f"blocked_{self.kind}_{mangled(self.element)}"

    def text(self) -> str:
        """The module as LLVM IR."""
        module = Module(self.target)
        f = module.task(self.symbol)
        arg, chunk, _ = f.params
        job, frame = Words(f, arg, WORDS), Words(f, f.local(WORD * len(_FRAME)), _FRAME)
        first, end = chunk_share(f, job.items, job.chunks, chunk)
        with f.loop(first, end) as loop:
            _row(f, self, job, frame, loop.index)
        f.ret()
        return module.text()


def _row(f, kernel, job, frame, number):
    type_ = vector(f.lanes(kernel.element), kernel.element)
    plane, row = split_index(f, number, (1, job.out_rows))
    at_d, at_h = f.div(row, job.out_height), f.mod(row, job.out_height)
    in_d = tap_range(f, job, frame, "d", at_d, job.depth)
    in_h = tap_range(f, job, frame, "h", at_h, job.height)
    x = f.at(job.address("x"), f.mul(plane, job.x_plane))
    y = f.at(f.at(job.address("y"), f.mul(plane, job.y_plane)), f.mul(row, job.out_width), type_)
    with f.loop(0, job.out_width) as loop:
        in_w = tap_range(f, job, frame, "w", loop.index, job.width)
        value = _window(f, kernel, job, frame, x, (in_d, in_h, in_w), type_)
        if kernel.kind == AVERAGE:
            sizes = [f.load(kernel.element, f.at(job.address(f"sizes_{dim}"), at, kernel.element))
                     for dim, at in (("d", at_d), ("h", at_h), ("w", loop.index))]
            value = f.fdiv(value, f.splat(f.fmul(f.fmul(sizes[0], sizes[1]), sizes[2]), f.lanes(kernel.element)))
        f.store(value, f.at(y, loop.index, type_))


def _window(f, kernel, job, frame, x, origin, type_):
    """The largest element (the first NaN wins) or the sum of a window, lane by lane."""
    start = constant(type_, float("-inf")) if kernel.kind == MAX else zero(type_)
    in_d, in_h, in_w = origin
    with f.loop(frame.first_d, frame.end_d, 1, [start]) as outer:
        at_d = f.add(in_d, f.mul(outer.index, job.dilation_d))
        with f.loop(frame.first_h, frame.end_h, 1, outer.carried) as middle:
            at_h = f.add(in_h, f.mul(middle.index, job.dilation_h))
            line = f.mul(f.add(f.mul(at_d, job.height), at_h), job.width)
            with f.loop(frame.first_w, frame.end_w, 1, middle.carried) as inner:
                place = f.add(f.add(line, in_w), f.mul(inner.index, job.dilation_w))
                value, best = f.load(type_, f.at(x, f.mul(place, bytes_of(type_)))), inner.carried[0]
                if kernel.kind == MAX:
                    wins = f.binary("and", f.compare("ugt", value, best), f.compare("ord", best, best))
                    inner.next(f.select(wins, value, best))
                else:
                    inner.next(f.fadd(best, value))
            middle.next(*inner.results)
        outer.next(*middle.results)
    return outer.results[0]
