"""Weighted sums of elements at given positions in planes, as pool tasks (`ir/ops/nn/sampled_points.py` defines them):

    take    an item is a block of points of an image, for all channels
    put     an item is a plane, so values at one position are added in the order of taps and points
    dots    an item is a block of points of an image; channels are added in order

Positions are 32-bit; those outside of a plane read and write nothing.
"""

from dataclasses import dataclass

from .....ir.target import Target
from ..ir.emit import Module
from ..ir.types import I64, vector, zero
from ..pool.tasks import task_items

ARRAYS = ("x", "places", "weights", "y")
WORDS = (*ARRAYS, "scratch", "turn", "chunks", "items", "channels", "plane", "points", "blocks")
BLOCK = 512                         # points of an item: their positions and weights fit the nearest cache
I32 = "i32"


@dataclass(frozen=True)
class SampledPointsKernel:
    """Generator for an element type, a number of taps, with or without weights."""

    target: Target
    element: str
    taps: int
    weighted: bool

    def symbol(self, kind: str) -> str:
        """Return the name of the task "take", "put" or "dots"."""
        return f"taps_{kind}_{self.element}_{self.taps}_{int(self.weighted)}"

    def text(self, kind: str) -> str:
        """Return the module of one task as LLVM IR."""
        module = Module(self.target)
        with task_items(module, self.symbol(kind), WORDS) as (f, job, item):
            _ITEMS[kind](f, self, job, item)
        return module.text()


def _reach(f, job):
    """Return the number of positions in a plane, as unsigned 32 bits: at most all that are not negative."""
    return f.cast("trunc", f.min(job.plane, 1 << 31), I32)


class _Block:
    """The points of an item: those of an image from `start` on."""

    def __init__(self, f, kernel, job, item):
        self.f, self.kernel, self.job = f, kernel, job
        self.image, self.start = f.div(item, job.blocks), f.mul(f.mod(item, job.blocks), BLOCK)
        self.count = f.min(f.sub(job.points, self.start), BLOCK)
        self.lanes = f.lanes(kernel.element)

    def spot(self, name, row, at, element):
        f = self.f
        return f.at(self.job.address(name), f.add(f.add(f.mul(row, self.job.points), self.start), at), element)

    def tap(self, k):
        return self.f.add(self.f.mul(self.image, self.kernel.taps), k)

    def channel(self, c):
        return self.f.add(self.f.mul(self.image, self.job.channels), c)

    def numbers(self, k, at, mask):
        return self.f.load_masked(vector(self.lanes, I32), self.spot("places", self.tap(k), at, I32), mask, -1)

    def values(self, plane, numbers):
        """Load the elements at positions in a plane; 0 outside, where negative numbers are large as unsigned ones."""
        f, lanes = self.f, self.lanes
        inside = f.compare("ult", numbers, f.splat(_reach(f, self.job), lanes))
        spots = f.op(vector(lanes, "ptr"), f"getelementptr {self.kernel.element}, {plane}, {numbers}")
        return f.gather(vector(lanes, self.kernel.element), spots, inside)


def _plane(f, kernel, job, number):
    return f.at(job.address("x"), f.mul(number, job.plane), kernel.element)


def _take(f, kernel, job, item):
    block = _Block(f, kernel, job, item)
    type_ = vector(block.lanes, kernel.element)
    with f.loop(0, job.channels) as channel:
        plane = _plane(f, kernel, job, block.channel(channel.index))

        def some(at, mask):
            total = None
            for k in range(kernel.taps):
                value = block.values(plane, block.numbers(k, at, mask))
                if kernel.weighted:
                    value = f.fmul(value, f.load_masked(type_, block.spot("weights", block.tap(k), at, kernel.element), mask))
                total = value if total is None else f.fadd(total, value)
            spot = block.spot("y", block.channel(channel.index), at, kernel.element)
            f.store_masked(total, spot, mask)

        f.vectors(block.count, block.lanes, some)


def _dots(f, kernel, job, item):
    block = _Block(f, kernel, job, item)
    type_, taps = vector(block.lanes, kernel.element), range(kernel.taps)

    def some(at, mask):
        numbers = [block.numbers(k, at, mask) for k in taps]
        with f.loop(0, job.channels, 1, [zero(type_)] * kernel.taps) as channel:
            plane = _plane(f, kernel, job, block.channel(channel.index))
            value = f.load_masked(type_, block.spot("y", block.channel(channel.index), at, kernel.element), mask)
            channel.next(*[f.fadd(total, f.fmul(block.values(plane, n), value))
                           for total, n in zip(channel.carried, numbers)])
        for k in taps:
            spot = block.spot("weights", block.tap(k), at, kernel.element)
            f.store_masked(channel.results[k], spot, mask)

    f.vectors(block.count, block.lanes, some)


def _put(f, kernel, job, item):
    element, points, lanes = kernel.element, job.points, f.lanes(kernel.element)
    plane, nothing = _plane(f, kernel, job, item), zero(vector(lanes, element))
    size = _reach(f, job)
    image, y = f.div(item, job.channels), f.at(job.address("y"), f.mul(item, points), element)

    def clear(at, mask):
        spot = f.at(plane, at, element)
        f.store_masked(nothing, spot, mask)

    f.vectors(job.plane, lanes, clear)
    for k in range(kernel.taps):
        row = f.mul(f.add(f.mul(image, kernel.taps), k), points)
        positions = f.at(job.address("places"), row, I32)
        weights = f.at(job.address("weights"), row, element)
        with f.loop(0, points) as loop:
            position = f.load(I32, f.at(positions, loop.index, I32))
            with f.when(f.compare("ult", position, size)):
                value = f.load(element, f.at(y, loop.index, element))
                if kernel.weighted:
                    value = f.fmul(value, f.load(element, f.at(weights, loop.index, element)))
                spot = f.at(plane, f.cast("sext", position, I64), element)
                f.store(f.fadd(f.load(element, spot), value), spot)


_ITEMS = {"take": _take, "put": _put, "dots": _dots}
