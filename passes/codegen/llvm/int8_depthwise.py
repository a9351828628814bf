"""Convolutions of bytes with a window for each channel: images whose channels lie last and whose borders are there.

Lanes are channels. A tile is some pixels of a row and a vector of channels: each tap's bytes and weights are widened to 32
bits, whose lower halves are multiplied and added to the sums of i32. An item is some rows of an image.
"""

from dataclasses import dataclass

from ....ir.target import Target
from .emit import Module
from .int8_finish import FINISH, ITEM, Finish, add_ones
from .tasks import Words, chunk_share, split_index, write_task
from .types import F32, I8, I32, I64, PTR, VOID, like, vector

ARRAYS = ("x", "w", "start", "factor", "beside", "y")
WORDS = (*ARRAYS, "scratch", "turn", "items", "chunks", "row_blocks", "rows", "width", "channels", "x_image", "x_row",
         "x_pixel", "tap_h", "tap_w", "taps_h", "taps_w", "y_image", "y_row", "y_pixel", *FINISH)
PIXELS = 8                              # of a tile
_GIVEN = [(PTR, "job"), ("ptr noalias readonly", "x"), ("ptr noalias", "y"), (PTR, "beside")]


@dataclass(frozen=True)
class Int8DepthwiseKernel:
    """What a module is made for: what is added, and the `kind` of results."""

    target: Target
    kind: str
    beside: bool

    @property
    def symbol(self) -> str:
        """The task."""
        return f"int8_depthwise_{self.kind}{'_beside' * self.beside}"

    def text(self) -> str:
        """The module as LLVM IR."""
        module = Module(self.target)
        _write_row(module, self)
        _write_item(module, self)
        write_task(module, self.symbol, "item", WORDS, worker=False)
        return module.text()


def _write_item(module, kernel):
    """Function of an item: row after row."""
    f = module.function("item", [(PTR, "job"), (I64, "number")], internal=True)
    arg, number = f.params
    job = Words(f, arg, WORDS)
    image, block = split_index(f, number, (1, job.row_blocks))
    with f.loop(*chunk_share(f, job.rows, job.row_blocks, block)) as row:
        def at(name, row=row):
            distance = f.add(f.mul(image, getattr(job, f"{name}_image")), f.mul(row.index, getattr(job, f"{name}_row")))
            return f.at(job.address(name), distance)

        f.call("row", VOID, arg, at("x"), at("y"), at("beside") if kernel.beside else at("y"))
    f.ret()


def _write_row(module, kernel):
    """Function of a row of results: a vector of channels, tile after tile, then the next."""
    f = module.function("row", _GIVEN, internal=True)
    arg, x, y, beside = f.params
    job, lanes = Words(f, arg, WORDS), f.lanes(I32)
    finish, width, channels = Finish(f, job, kernel.kind, kernel.beside), job.width, job.channels
    w, start, factor = (job.address(name) for name in ("w", "start", "factor"))
    beside_pixel = job.beside_pixel if kernel.beside else 0
    x_pixel, y_pixel = job.x_pixel, job.y_pixel

    def channel_block(channel, mask):
        def tile(pixel, pixels):
            first = _load(f, vector(lanes, I32), f.at(start, channel, I32), mask)
            there = f.at(f.at(x, channel), f.mul(pixel, x_pixel))
            sums = _summed(f, job, pixels, there, f.at(w, channel), first, mask)
            scale = _load(f, vector(lanes, F32), f.at(factor, channel, F32), mask)
            for p, total in enumerate(sums):
                at = f.add(pixel, p)
                finish.store(total, scale, f.at(f.at(beside, channel), f.mul(at, beside_pixel)),
                             f.at(f.at(y, f.mul(channel, ITEM[kernel.kind])), f.mul(at, y_pixel)), mask)

        whole = f.bit_and(width, -PIXELS)
        with f.loop(0, whole, PIXELS) as loop:
            tile(loop.index, PIXELS)
        with f.loop(whole, width) as loop:
            tile(loop.index, 1)

    f.vectors(channels, lanes, channel_block)
    f.ret()


def _load(f, type_, pointer, mask):
    return f.load(type_, pointer) if mask is None else f.load_masked(type_, pointer, mask)


def _summed(f, job, pixels, x, w, start, mask):
    """The sums of some pixels over all taps."""
    channels, x_pixel, taps_w, tap_w = job.channels, job.x_pixel, job.taps_w, job.tap_w
    with f.loop(0, job.taps_h, 1, [start] * pixels) as down:
        with f.loop(0, taps_w, 1, down.carried) as along:
            here = f.at(x, f.add(f.mul(down.index, job.tap_h), f.mul(along.index, tap_w)))
            tap = f.mul(f.add(f.mul(down.index, taps_w), along.index), channels)
            weight = _wide(f, f.at(w, tap), "sext", start.type, mask)
            along.next(*[add_ones(f, total, _wide(f, f.at(here, f.mul(x_pixel, p)), "zext", start.type, mask), weight)
                         for p, total in enumerate(along.carried)])
        down.next(*along.results)
    return down.results


def _wide(f, pointer, how, type_, mask):
    return f.cast(how, _load(f, like(type_, I8), pointer, mask), type_)
