"""int8 convolutions: windows over channels-last images that include their borders.

    x  [image][row][pixel][channel]                       bytes, any distance of images and rows
    w  [group, block][tap h][tap w][depth / 4][16][4]     a block is 16 output channels
    y  [image][row][pixel][channel]                       bytes or floats, any distance of images, rows and pixels

The register tile is pixels of a row times some blocks, a *panel*. A step takes four input channels: four bytes of each pixel
are broadcast over a register and multiplied with those of 16 output channels. Adjacent taps with adjacent bytes are one long
tap. An item is some rows of an image, and a share of the panels of a group.
"""

from dataclasses import dataclass

from .....ir.ops.quantized.int8_conv import BLOCK, GROUP
from .....ir.target import Target
from ..contract.int8_products import add_fours, dots_bytes
from ..ir.emit import ModuleWriter
from ..ir.types import F32, I32, I64, PTR, VOID, bytes_of, vector
from ..pool.tasks import Words, chunk_share, split_index, write_task
from .int8_requantize import FINISH, ITEM, Finish, packed_in_order, packs_bytes

ARRAYS = ("x", "w", "start", "factor", "beside", "y")
WORDS = (*ARRAYS, "scratch", "turn", "items", "chunks", "groups", "row_blocks", "shares", "panels", "rows", "width", "pixels",
         "channels", "x_image", "x_row", "x_pixel", "x_group", "tap_h", "tap_w", "taps_h", "taps_w", "steps", "w_block",
         "y_image", "y_row", "y_pixel", *FINISH)
# A row has `width` pixels, or the rest of `pixels`, and is cut into tiles that differ by at most one pixel. `channels` counts
# those of a group. Distances are in bytes.
_BYTES = BLOCK * GROUP                          # bytes of a weight's block for one step


def tile_pixels(target: Target, blocks: int) -> int:
    """Return the pixels of the largest tile beside `blocks` blocks, with all sums in registers; 0 if they do not fit."""
    parts = BLOCK // target.lanes(4)
    if target.vector_registers < 32:
        return ({2: 6, 4: 2} if dots_bytes(target) else {2: 4, 4: 2})[parts] if blocks == 1 else 0
    if parts > 1:
        return 4 if blocks == 1 else 0
    most = {1: 14, 2: 14, 3: 9, 4: 6} if dots_bytes(target) else {1: 14, 2: 12, 3: 7, 4: 5}
    return most.get(blocks, 0)


@dataclass(frozen=True)
class Int8ConvKernel(ModuleWriter):
    """Generator for blocks of a panel, heights of tiles, an added array, and the `kind` of results."""

    blocks: int
    heights: tuple
    kind: str
    adds: bool

    @property
    def symbol(self) -> str:
        heights = "_".join(map(str, self.heights))
        return f"int8_conv_{self.blocks}_h{heights}_{self.kind}{'_beside' * self.adds}"

    def write(self, module):
        tiles = [_write_tile(module, self, pixels) if pixels in self.heights else None
                 for pixels in range(1, max(self.heights) + 1)]
        _write_row(module, module.function_table("tiles", tiles), self)
        _write_item(module, self)
        write_task(module, self.symbol, "item", WORDS, worker=False)


def _write_item(module, kernel):
    """Write the function of an item: panel after panel, all rows of each."""
    f = module.function("item", [(PTR, "job"), (I64, "number")], internal=True)
    arg, number = f.params
    job, size = Words(f, arg, WORDS), ITEM[kernel.kind]
    image, group, block, share = split_index(f, number, (1, job.groups, job.row_blocks, job.shares))
    first, end = chunk_share(f, job.rows, job.row_blocks, block)
    panels, channels = job.panels, job.channels
    x = f.at(job.address("x"), f.add(f.mul(image, job.x_image), f.mul(group, job.x_group)))
    with f.loop(*chunk_share(f, panels, job.shares, share)) as panel, f.loop(first, end) as row:
        blocks = f.mul(f.add(f.mul(group, panels), panel.index), kernel.blocks)
        w = f.at(job.address("w"), f.mul(blocks, job.w_block))
        start, factor = (f.at(job.address(name), f.mul(blocks, BLOCK), F32) for name in ("start", "factor"))
        inside = f.mul(panel.index, kernel.blocks * BLOCK)
        channel = f.add(f.mul(group, channels), inside)
        y = _place(f, job, "y", image, row.index, f.mul(channel, size))
        added = _place(f, job, "beside", image, row.index, channel) if kernel.adds else y
        width = f.min(job.width, f.sub(job.pixels, f.mul(row.index, job.width)))
        f.call("row", VOID, arg, f.at(x, f.mul(row.index, job.x_row)), w, y, added, start, factor, f.sub(channels, inside),
               width)
    f.ret()


def _place(f, job, name, image, row, channel):
    distance = f.add(f.mul(image, getattr(job, f"{name}_image")), f.mul(row, getattr(job, f"{name}_row")))
    return f.at(job.address(name), f.add(distance, channel))


_GIVEN = [(PTR, "job"), ("ptr noalias readonly", "x"), ("ptr noalias readonly", "w"), ("ptr noalias", "y"),
          (PTR, "beside"), ("ptr noalias readonly", "start"), ("ptr noalias readonly", "factor"), (I64, "count")]


def _write_row(module, tiles, kernel):
    """Write the function of a row and a panel: tile after tile."""
    f = module.function("row", [*_GIVEN, (I64, "width")], internal=True)
    arg, x, w, y, added, start, factor, count, width = f.params
    job = Words(f, arg, WORDS)
    number, x_pixel, y_pixel = f.ceil_div(width, max(kernel.heights)), job.x_pixel, job.y_pixel
    beside_pixel = job.beside_pixel if kernel.adds else 0
    most = f.ceil_div(width, number)
    shortened = f.sub(f.mul(number, most), width)          # so many tiles at the end are one pixel shorter
    with f.loop(0, number, 1, [f.index(0)]) as loop:
        first, = loop.carried
        shorter = f.cast("zext", f.compare("sge", loop.index, f.sub(number, shortened)), I64)
        size = f.sub(most, shorter)
        loop.next(f.add(first, size))
        tile = f.load(PTR, f.at(tiles, f.sub(size, 1), PTR))
        f.call_pointer(tile, VOID, arg, f.at(x, f.mul(first, x_pixel)), w, f.at(y, f.mul(first, y_pixel)),
                       f.at(added, f.mul(first, beside_pixel)), start, factor, count)
    f.ret()


def _write_tile(module, kernel, pixels) -> str:
    name = f"tile_{pixels}"
    f = module.function(name, _GIVEN, internal=True)
    arg, x, w, y, added, start, factor, count = f.params
    job, blocks, lanes = Words(f, arg, WORDS), kernel.blocks, f.lanes(I32)
    parts, type_ = BLOCK // lanes, vector(lanes, I32)
    first = [f.load(type_, f.at(start, BLOCK * b + lanes * p, I32)) for b in range(blocks) for p in range(parts)]
    sums = _summed(f, job, kernel, pixels, (x, w), first * pixels)
    whole = f.local(pixels * blocks * BLOCK * 4)
    for number, total in enumerate(sums):
        f.store(total, f.at(whole, number * bytes_of(type_)))
    finish, y_pixel = Finish(f, job, kernel.kind, kernel.adds), job.y_pixel
    beside_pixel = job.beside_pixel if kernel.adds else 0
    factors = [f.load(vector(BLOCK, F32), f.at(factor, BLOCK * b, F32)) for b in range(blocks)]
    packs = kernel.kind == "u8" and blocks in (2, 4) and packs_bytes(module.target)
    with f.loop(0, pixels) as loop:
        at, there = f.at(y, f.mul(loop.index, y_pixel)), f.at(added, f.mul(loop.index, beside_pixel))
        totals = [f.load(vector(BLOCK, I32), f.at(whole, f.mul(f.add(f.mul(loop.index, blocks), b), BLOCK), I32))
                  for b in range(blocks)]
        parts_of = [(total, factors[b], f.at(there, BLOCK * b)) for b, total in enumerate(totals)]

        def one(b, mask=None, at=at, parts_of=parts_of):
            total, scale, to_add = parts_of[b]
            finish.store(total, scale, to_add, f.at(at, ITEM[kernel.kind] * BLOCK * b), mask)

        def separately(one=one):
            for b in range(blocks):
                f.choose(f.compare("sge", count, BLOCK * (b + 1)), lambda b=b: one(b),
                         lambda b=b: one(b, f.mask(f.sub(count, BLOCK * b), BLOCK)))

        def side_by_side(at=at, parts_of=parts_of):
            f.store(packed_in_order(f, [finish.values(*each) for each in parts_of]), at)

        if packs:
            f.choose(f.compare("sge", count, BLOCK * blocks), side_by_side, separately)
        else:
            separately()
    f.ret()
    return name


def _summed(f, job, kernel, pixels, pointers, sums):
    """Return the tile's sums [pixel][block, part] over rows of taps, taps and steps."""
    x, w = pointers
    steps, taps_w, tap_w, x_pixel, w_block = job.steps, job.taps_w, job.tap_w, job.x_pixel, job.w_block
    lanes, each = f.lanes(I32), len(sums) // pixels
    spots = [f.at(f.at(w, f.mul(w_block, b)), 4 * lanes * p)
             for b in range(kernel.blocks) for p in range(BLOCK // lanes)]
    rows = [f.mul(x_pixel, p) for p in range(pixels)]
    with f.loop(0, job.taps_h, 1, sums) as down:
        with f.loop(0, taps_w, 1, down.carried) as along:
            here = f.at(x, f.add(f.mul(down.index, job.tap_h), f.mul(along.index, tap_w)))
            taken = f.mul(f.add(f.mul(down.index, taps_w), along.index), f.mul(steps, _BYTES))
            with f.loop(0, steps, 1, along.carried) as loop:
                at = f.add(taken, f.mul(loop.index, _BYTES))
                weights = [f.load(vector(lanes, I32), f.at(spot, at)) for spot in spots]
                totals = []
                for p in range(pixels):
                    four = f.load(I32, f.at(f.at(here, rows[p]), f.mul(loop.index, GROUP)), align=1)
                    totals += [add_fours(f, total, f.splat(four, lanes), weight)
                               for total, weight in zip(loop.carried[p * each:(p + 1) * each], weights)]
                loop.next(*totals)
            along.next(*loop.results)
        down.next(*along.results)
    return down.results
