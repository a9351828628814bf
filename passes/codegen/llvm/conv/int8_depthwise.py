"""int8 depthwise convolutions: a window per channel over channels-last images that include their borders.

Lanes are channels. A tile is some pixels of a row and a vector of channels: each tap's bytes and weights are widened to 32
bits, whose lower halves are multiplied and added to i32 sums. An item is some rows of an image.

If products of four bytes are one instruction, 64 channels take four taps of a row at once (`_write_wide`). The bytes of four
pixels are interleaved, so each lane has four taps of one channel. That leaves channels in another order
(`_transposed_lanes`). Windows one pixel apart share half of the work.
"""

from dataclasses import dataclass

from .....ir.target import Target
from ..contract.int8_products import add_fours, add_ones, dots_bytes
from ..ir.emit import ModuleWriter
from ..ir.types import F32, I8, I16, I32, I64, PTR, VOID, constant, like, vector
from ..pool.tasks import Words, chunk_share, split_index, write_task
from .int8_requantize import FINISH, ITEM, Finish, packed, packs_bytes

ARRAYS = ("x", "w", "start", "factor", "beside", "y")
WORDS = (*ARRAYS, "scratch", "turn", "items", "chunks", "row_blocks", "rows", "width", "channels", "x_image", "x_row",
         "x_pixel", "tap_h", "tap_w", "taps_h", "taps_w", "y_image", "y_row", "y_pixel", *FINISH)
PIXELS = 8                              # pixels of a tile
WIDE = 64                               # channels interleaved at a time
_WIDE_PIXELS = 4                        # pixels of a wide tile
_LANE = 4                               # sums in 128 bits
_GIVEN = [(PTR, "job"), ("ptr noalias readonly", "x"), ("ptr noalias", "y"), (PTR, "beside"), (I64, "first")]


def goes_wide(target: Target, window: tuple, channels: int) -> bool:
    """Return whether a layer takes 64 channels at a time."""
    return dots_bytes(target) and packs_bytes(target) and channels >= WIDE and window[1] > 1


@dataclass(frozen=True)
class Int8DepthwiseKernel(ModuleWriter):
    """Generator for an added array, the `kind` of results, and, for 64 channels at a time, the `window` and the taps from one
    pixel to the next (0: any)."""

    kind: str
    adds: bool
    window: tuple = ()
    step: int = 0

    @property
    def symbol(self) -> str:
        wide = "_".join(map(str, ("", *self.window, self.step))) if self.window else ""
        return f"int8_depthwise_{self.kind}{'_beside' * self.adds}{wide}"

    def write(self, module):
        _write_row(module, self)
        if self.window:
            _write_wide(module, self)
        _write_item(module, self)
        write_task(module, self.symbol, "item", WORDS, worker=False)


def _write_item(module, kernel):
    """Write the function of an item: row after row, of the remaining channels if most go wide."""
    f = module.function("item", [(PTR, "job"), (I64, "number")], internal=True)
    arg, number = f.params
    job = Words(f, arg, WORDS)
    image, block = split_index(f, number, (1, job.row_blocks))
    rows, channels = chunk_share(f, job.rows, job.row_blocks, block), job.channels

    def arguments(row, first):
        def at(name):
            distance = f.add(f.mul(image, getattr(job, f"{name}_image")), f.mul(row, getattr(job, f"{name}_row")))
            return f.at(job.address(name), distance)

        return arg, at("x"), at("y"), at("beside") if kernel.adds else at("y"), f.index(first)

    whole = f.bit_and(channels, -WIDE) if kernel.window else f.index(0)
    if kernel.window:
        room = f.local(_room(kernel))
        with f.loop(0, whole, WIDE) as wide:
            f.call("interleave", VOID, arg, room, wide.index)
            with f.loop(*rows) as row:
                f.call("wide_row", VOID, *arguments(row.index, wide.index), room)
    with f.when(f.compare("slt", whole, channels)), f.loop(*rows) as row:
        f.call("row", VOID, *arguments(row.index, whole))
    f.ret()


def _write_row(module, kernel):
    """Write the function of a row of results: a vector of channels, tile after tile, then the next."""
    f = module.function("row", _GIVEN, internal=True)
    arg, x, y, added, before = f.params
    job, lanes = Words(f, arg, WORDS), f.lanes(I32)
    finish, width = Finish(f, job, kernel.kind, kernel.adds), job.width
    w, start, factor = job.address("w"), job.address("start"), job.address("factor")
    beside_pixel = job.beside_pixel if kernel.adds else 0
    x_pixel, y_pixel = job.x_pixel, job.y_pixel

    def channel_block(number, mask):
        channel = f.add(before, number)

        def tile(pixel, pixels):
            first = f.load_masked(vector(lanes, I32), f.at(start, channel, I32), mask)
            there = f.at(f.at(x, channel), f.mul(pixel, x_pixel))
            sums = _summed(f, job, pixels, there, f.at(w, channel), first, mask)
            scale = f.load_masked(vector(lanes, F32), f.at(factor, channel, F32), mask)
            for p, total in enumerate(sums):
                at = f.add(pixel, p)
                finish.store(total, scale, f.at(f.at(added, channel), f.mul(at, beside_pixel)),
                             f.at(f.at(y, f.mul(channel, ITEM[kernel.kind])), f.mul(at, y_pixel)), mask)

        whole = f.bit_and(width, -PIXELS)
        with f.loop(0, whole, PIXELS) as loop:
            tile(loop.index, PIXELS)
        with f.loop(whole, width) as loop:
            tile(loop.index, 1)

    f.vectors(f.sub(job.channels, before), lanes, channel_block)
    f.ret()


def _summed(f, job, pixels, x, w, start, mask):
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
    return f.cast(how, f.load_masked(like(type_, I8), pointer, mask), type_)


# 64 channels at a time.

_BYTES, _SUMS = vector(WIDE, I8), vector(WIDE // 4, I32)


def _quads(kernel) -> int:
    return -(-kernel.window[1] // 4)


def _room(kernel) -> int:
    """Return the bytes of interleaved weights, starts and factors."""
    return WIDE * 4 * (kernel.window[0] * _quads(kernel) + 1)


def _interleaved(f, a, b, c, d):
    """Interleave four taps' bytes of 64 channels: lane i of 128 bits L of i32 vector j has those of channel 16 L + 4 j + i."""
    halves = [(_unpacked(f, a, b, side, 1), _unpacked(f, c, d, side, 1)) for side in (0, 1)]
    return [f.bitcast(_unpacked(f, left, right, side, 2), _SUMS) for left, right in halves for side in (0, 1)]


def _unpacked(f, a, b, side, size):
    """Interleave the lower or upper halves of 128-bit lanes of two vectors, elements of `size` bytes."""
    kind = vector(WIDE // size, I8 if size == 1 else I16)
    each = 16 // size
    lanes = [n for lane in range(4) for i in range(each // 2) for at in [each * lane + side * each // 2 + i]
             for n in (at, at + WIDE // size)]
    return f.shuffle(f.bitcast(a, kind), f.bitcast(b, kind), lanes)


def _transposed_lanes(f, vectors):
    """Transpose 128-bit lanes: lane L of vector j becomes lane j of vector L, from channel order to `_interleaved` or back."""
    def picked_lanes(x, y, *lanes):
        return f.shuffle(x, y, [_LANE * lane + i for lane in lanes for i in range(_LANE)])

    a, b, c, d = vectors
    halves = [(picked_lanes(a, b, n, n + 1, n + 4, n + 5), picked_lanes(c, d, n, n + 1, n + 4, n + 5)) for n in (0, 2)]
    return [picked_lanes(left, right, n, n + 2, n + 4, n + 6) for left, right in halves for n in (0, 1)]


def _write_wide(module, kernel):
    """Write the functions that interleave the weights of 64 channels into `room`, and that compute a row with them."""
    _write_interleave(module, kernel)
    f = module.function("wide_row", [*_GIVEN, ("ptr noalias readonly", "room")], internal=True)
    arg, x, y, added, channel, room = f.params
    job = Words(f, arg, WORDS)
    finish, width, whole = Finish(f, job, kernel.kind, kernel.adds), job.width, f.bit_and(job.width, -_WIDE_PIXELS)
    x_pixel, y_pixel = job.x_pixel, job.y_pixel
    beside_pixel = job.beside_pixel if kernel.adds else 0
    factor, packs = f.at(job.address("factor"), channel, F32), kernel.kind == "u8" and not kernel.adds
    scales = _transposed_lanes(f, [f.load(vector(WIDE // 4, F32), f.at(factor, WIDE // 4 * n, F32)) for n in range(4)])

    def tile(pixel, pixels):
        sums = _wide_sums(f, job, kernel, pixels, f.at(f.at(x, channel), f.mul(pixel, x_pixel)), room)
        for p in range(pixels):
            at = f.add(pixel, p)
            there = f.at(f.at(y, f.mul(channel, ITEM[kernel.kind])), f.mul(at, y_pixel))
            to_add = f.at(f.at(added, channel), f.mul(at, beside_pixel))
            if packs:
                f.store(packed(f, [finish.values(total, scale, to_add) for total, scale in zip(sums[4 * p:], scales)]), there)
                continue
            for n, total in enumerate(_transposed_lanes(f, sums[4 * p:4 * p + 4])):
                lanes = WIDE // 4
                scale = f.load(vector(lanes, F32), f.at(factor, lanes * n, F32))
                finish.store(total, scale, f.at(to_add, lanes * n), f.at(there, ITEM[kernel.kind] * lanes * n))

    with f.loop(0, whole, _WIDE_PIXELS) as loop:
        tile(loop.index, _WIDE_PIXELS)
    with f.loop(whole, width) as loop:
        tile(loop.index, 1)
    f.ret()


def _write_interleave(module, kernel):
    """Write the function that puts the weights of 64 channels for each row of taps, and initial sums, into `room`."""
    f = module.function("interleave", [(PTR, "job"), (PTR, "room"), (I64, "channel")], internal=True)
    arg, room, channel = f.params
    job, nothing = Words(f, arg, WORDS), constant(_BYTES, 0)
    w, (taps_h, taps_w) = f.at(job.address("w"), channel), kernel.window
    positions = iter(range(taps_h * _quads(kernel) * 4))
    for down in range(taps_h):
        for quad in range(_quads(kernel)):
            taps = [f.load(_BYTES, f.at(w, f.mul(down * taps_w + t, job.channels))) if t < taps_w else nothing
                    for t in range(4 * quad, 4 * quad + 4)]
            for value in _interleaved(f, *taps):
                f.store(value, f.at(room, WIDE * next(positions)))
    start = f.at(job.address("start"), channel, I32)
    natural = [f.load(_SUMS, f.at(start, WIDE // 4 * n, I32)) for n in range(4)]
    for n, value in enumerate(_transposed_lanes(f, natural)):
        f.store(value, f.at(room, WIDE * (taps_h * _quads(kernel) * 4 + n)))
    f.ret()


def _wide_sums(f, job, kernel, pixels, x, room):
    """Return the sums of some pixels over all taps: four vectors each, in the order of `_interleaved`."""
    taps_h = kernel.window[0]
    quads, x_pixel, tap_w = _quads(kernel), job.x_pixel, job.tap_w
    start = [f.load(_SUMS, f.at(room, WIDE * (taps_h * quads * 4 + n))) for n in range(4)]
    with f.loop(0, taps_h, 1, start * pixels) as down:
        here, weights = f.at(x, f.mul(down.index, job.tap_h)), f.at(room, f.mul(down.index, WIDE * 4 * quads))
        met = _Met(f, kernel, pixels, here, x_pixel, tap_w)
        sums = list(down.carried)
        for p in range(pixels):
            for quad in range(quads):
                for n, fours in enumerate(met.fours(p, 4 * quad)):
                    weight = f.load(_SUMS, f.at(weights, WIDE * (4 * quad + n)))
                    sums[4 * p + n] = add_fours(f, sums[4 * p + n], fours, weight)
        down.next(*sums)
    return down.results


class _Met:
    """Bytes that a tile's windows meet in a row, and interleaved pairs, loaded once; with a `step` windows share bytes."""

    def __init__(self, f, kernel, pixels, here, x_pixel, tap_w):
        self.f, self.step, self.taps = f, kernel.step, kernel.window[1]
        self.here, self.x_pixel, self.tap_w = here, x_pixel, tap_w
        self.last = (pixels - 1) * self.step + self.taps - 1
        self.loaded: dict = {}

    def _place(self, pixel, tap):
        """Return the identity of the bytes that a tap of a pixel's window meets; None if there need not be any."""
        if self.step:
            place = pixel * self.step + tap
            return (0, place) if place <= self.last else None
        return (pixel, tap) if tap < self.taps else None

    def _bytes(self, place):
        f = self.f
        if place is None:
            return constant(_BYTES, 0)
        if place not in self.loaded:
            pixel, tap = place
            self.loaded[place] = f.load(_BYTES, f.at(self.here, f.add(f.mul(self.x_pixel, pixel), f.mul(self.tap_w, tap))))
        return self.loaded[place]

    def _pair(self, pixel, tap):
        """Interleave a tap's bytes with the next one's: lower and upper halves."""
        key = self._place(pixel, tap), self._place(pixel, tap + 1)
        if key not in self.loaded:
            a, b = map(self._bytes, key)
            self.loaded[key] = [_unpacked(self.f, a, b, side, 1) for side in (0, 1)]
        return self.loaded[key]

    def fours(self, pixel, tap):
        return [self.f.bitcast(_unpacked(self.f, left, right, side, 2), _SUMS)
                for left, right in zip(self._pair(pixel, tap), self._pair(pixel, tap + 2)) for side in (0, 1)]
