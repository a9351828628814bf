"""Register tiles of direct convolutions (`conv.py`): one function for each height, and shared functions for rare results.

A tile goes through the channel blocks and taps of a segment in one loop, which steps through them as an odometer. Only that
loop carries sums: nested loops that carry them cost LLVM more time than the products. Most tiles have one segment and all
vectors of the panel, and store results from registers. Sums of the others wait in the item's scratch for `finish`, which
combines them in loops over pixels and vectors.
"""

from ..contract.epilogue import Place
from ..contract.microkernel import widen_lanes
from ..ir.types import I1, I64, PTR, VOID, Value, bytes_of, constant, vector
from ..pool.tasks import WORD, Words
from .conv_epilogue import BlockedPlace

WORDS = ("x", "w", "y", "operands", "items", "chunks", "groups", "row_blocks", "panels", "panel_first",
         "x_image", "x_group", "x_block", "x_slice", "x_row", "x_pixel", "w_group", "w_panel", "w_block",
         "w_tap_d", "w_tap_h", "w_tap_w", "w_output", "x_tap_w", "y_image", "y_group", "y_block", "y_slice", "y_row", "y_pixel",
         "out_rows", "out_height", "depth", "height", "taps_d", "taps_h", "stride_d", "stride_h", "pad_d", "pad_h",
         "dilation_d", "dilation_h", "part_table", "parts", "depths", "blocks", "ask_lines",
         "ask_shares")
SEGMENT = ("first", "pixels", "x_offset", "w_offset", "taps", "steps", "last", "blocks", "flags")
FRAME = ("first_d", "end_d", "first_h", "end_h", "column", "vectors", "image", "y_start", "part", "ask", "ask_end", "sums")
ACCUMULATE, LAST = 1, 2
_AHEAD = 2                                      # channel blocks that are prefetched
_LINE = 64                                      # bytes of a cache line
_PARAMETERS = ((PTR, "job"), (PTR, "frame"), (PTR, "segment"))


def write_tile(module, kernel, pixels: int) -> str:
    """Write the function of one segment of a tile of `pixels` pixels."""
    name = f"tile_{pixels}"
    f = module.function(name, [*_PARAMETERS, ("ptr noalias readonly", "x"), ("ptr noalias readonly", "w"),
                               ("ptr noalias", "y")], internal=True)
    job, frame, segment = words = _words(f)
    (x, w, y), steps, last, ready = f.params[3:], segment.steps, segment.last, kernel.ready(f, job, pixels)
    place = _Places(f, words, x, w)
    last_block = f.sub(place.count, place.of_block)
    with f.loop(0, place.count, 1, [*place.start, *kernel.no_sums(pixels)]) as loop:
        at, sums = loop.carried[:len(place.start)], list(loop.carried[len(place.start):])
        x, w, begins = at[:3]
        with f.when(begins):
            _prefetch_block(f, f.at(x, f.mul(job.x_block, _AHEAD)), job.x_pixel, pixels)
            _prefetch_weights(f, job, frame)
        now = f.select(f.compare("sge", loop.index, last_block), last, steps)
        loop.next(*place.next_place(at), *kernel.add(f, ready, x, w, sums, now))
    _store_or_keep(f, kernel, words, list(loop.results[len(place.start):]), y)
    f.ret()
    return name


def _store_or_keep(f, kernel, words, sums, y):
    """Store the results of one-segment tiles with all vectors; leave the sums of others, and unfinished sums, to `finish`."""
    job, frame, segment = words
    vectors, finish = kernel.vectors, "finish"

    def now():
        y_pixel, here = job.y_pixel, _from_start(f, job, y)
        spots = [f.mul(y_pixel, pixel) for pixel in range(len(sums) // vectors)]
        for number in range(vectors):
            across, place = f.mul(job.y_block, number), _place(f, kernel, words, number)
            offsets = [f.add(across, spot) for spot in spots]
            positions = [BlockedPlace(place, f.add(here, offset)) for offset in offsets]
            for value, offset in zip(kernel.epilogue.apply_all(f, sums[number::vectors], positions, 0), offsets):
                f.store(widen_lanes(f, value, kernel.lanes), f.at(y, offset))

    def later():
        scratch = frame.address("sums")
        for number, value in enumerate(sums):
            f.store(value, f.at(scratch, number * sum_bytes(kernel)))
        f.call(finish, VOID, *f.params[:3], y)

    if kernel.gathers:
        later()
    else:
        f.choose(f.bit_and(f.compare("eq", segment.flags, LAST), f.compare("sge", frame.vectors, vectors)), now, later)


def _from_start(f, job, y):
    return f.sub(f.cast("ptrtoint", y, I64), f.cast("ptrtoint", job.address("y"), I64))


def _place(f, kernel, words, number):
    job, frame, _ = words
    return Place(job.address("operands"), frame.image, f.index(0), f.add(frame.column, f.mul(number, kernel.lanes)), None)


def _words(f):
    return tuple([Words(f, pointer, names) for pointer, names in zip(f.params, (WORDS, FRAME, SEGMENT))])


class _Places:
    """The taps of a segment in order: their number, and steps of x and w to the next, or to a block, row or plane."""

    def __init__(self, f, words, x, w):
        job, frame, segment = words
        self.f = f
        d, h = (f.sub(getattr(frame, f"end_{dim}"), getattr(frame, f"first_{dim}")) for dim in "dh")
        self.counts = (segment.taps, h, d)
        self.of_block = f.mul(f.mul(segment.taps, h), d)
        self.count = f.mul(self.of_block, segment.blocks)
        x_steps = [job.x_tap_w, f.mul(job.dilation_h, job.x_row), f.mul(job.dilation_d, job.x_slice), job.x_block]
        w_steps = [job.w_tap_w, job.w_tap_h, job.w_tap_d, job.w_block]
        firsts = frame.first_h, frame.first_d
        x, w = (f.at(at, f.add(*[f.mul(first, step) for first, step in zip(firsts, steps[1:])]))
                for at, steps in ((x, x_steps), (w, w_steps)))
        self.start = (x, w, Value(I1, "true"), *[constant(I64, 0)] * 3)
        self.steps = list(zip(self._after(x_steps), self._after(w_steps)))

    def _after(self, steps):
        """Return the steps to the next tap after no dim, the width, the height, or all dims are finished."""
        f, back, found = self.f, 0, []
        for step, count in zip(steps, (*self.counts, 0)):
            found.append(f.sub(step, back))
            back = f.add(back, f.mul(step, f.sub(count, 1)))
        return found

    def next_place(self, at):
        f, (x, w, _, *taps) = self.f, at
        (x_step, w_step), one, after = self.steps[0], f.index(1), []
        for tap, count, (x_over, w_over) in zip(taps, self.counts, self.steps[1:]):
            tap = f.add(tap, one)
            over = f.compare("eq", tap, count)
            x_step, w_step = f.select(over, x_over, x_step), f.select(over, w_over, w_step)
            after.append(f.select(over, 0, tap))
            one = f.cast("zext", over, I64)
        return f.at(x, x_step), f.at(w, w_step), over, *after


def _prefetch_block(f, x, x_pixel, pixels):
    """Prefetch the tile's pixels of a later channel block: planes are too far apart for hardware prefetching."""
    for pixel in range(pixels):
        f.prefetch(f.at(x, f.mul(x_pixel, pixel)))


def _prefetch_weights(f, job, frame):
    """Prefetch more lines of the next panel, while some are left."""
    start = frame.ask
    lines = f.select(f.compare("slt", start, frame.ask_end), job.ask_lines, 0)
    at = f.cast("inttoptr", start, PTR)
    with f.loop(0, lines) as loop:
        f.prefetch(f.at(at, f.mul(loop.index, _LINE)), 2)
    frame.put(ask=f.add(start, f.mul(lines, _LINE)))


def sum_bytes(kernel) -> int:
    """Return the bytes between sums in the scratch."""
    return kernel.lanes * bytes_of(kernel.precision.accumulate)


def write_ask(module, kernel) -> str | None:
    """Write the function that prefetches epilogue arrays of the result's layout. They were last touched layers ago, and threads
    waiting for them at the ends of tiles would leave memory idle during products."""
    arrays = kernel.epilogue.operand_words(0)
    if not arrays:
        return None
    f = module.function("ask", [*_PARAMETERS, (PTR, "y")], internal=True)
    job, frame, segment = _words(f)
    y, pixels = f.params[3], segment.pixels
    here, each = _from_start(f, job, y), job.y_pixel
    count = f.select(f.compare("ne", f.bit_and(segment.flags, LAST), 0), f.min(frame.vectors, kernel.vectors), 0)
    every = max(1, _LINE // (kernel.lanes * bytes_of(kernel.precision.out)))
    for word in arrays:
        array = f.load(I64, f.at(job.address("operands"), WORD * word))
        start = f.at(f.cast("inttoptr", array, PTR), here)
        with f.loop(0, f.select(f.compare("ne", array, 0), count, 0)) as vectors:
            at = f.at(start, f.mul(job.y_block, vectors.index))
            with f.loop(0, pixels, every) as loop:
                f.prefetch(f.at(at, f.mul(each, loop.index)))
    f.ret()
    return "ask"


def write_finish(module, kernel) -> str:
    """Write the function that finishes a segment's sums: add earlier segments from y, apply the epilogue after the last one,
    store the existing vectors."""
    f = module.function("finish", [*_PARAMETERS, (PTR, "y")], internal=True)
    words, y = _words(f), f.params[3]
    _, frame, segment = words
    if kernel.gathers:
        kernel.gather(f, frame.address("sums"), segment.pixels)
    whole = kernel.vectors - kernel.narrow
    with f.loop(0, f.min(frame.vectors, whole)) as loop:
        _finish_vector(f, kernel, words, y, loop.index, kernel.lanes)
    if kernel.narrow:
        with f.when(f.compare("sgt", frame.vectors, f.index(whole))):
            _finish_vector(f, kernel, words, y, whole, kernel.lanes // 2)
    f.ret()
    return "finish"


def _finish_vector(f, kernel, words, y, number, lanes):
    """Store the results of one vector of channels, at all pixels."""
    job, frame, segment = words
    type_, sums = vector(lanes, kernel.precision.accumulate), frame.address("sums")
    y, y_pixel, flags, pixels = f.at(y, f.mul(job.y_block, number)), job.y_pixel, segment.flags, segment.pixels
    here, place = _from_start(f, job, y), _place(f, kernel, words, number)
    apply = kernel.epilogue.ready(f, type_, BlockedPlace(place, None), 0)

    def one(pixel, again, last):
        offset = f.mul(pixel, y_pixel)
        value, spot = kernel.sum(f, sums, type_, number, pixel), f.at(y, offset)
        if again is not None:
            value, = f.choose(again, lambda: [f.fadd(f.load(type_, spot), value)], lambda: [value])
        value, = f.choose(last, lambda: [apply(value, BlockedPlace(place, f.add(here, offset)))], lambda: [value])
        f.store(widen_lanes(f, value, kernel.lanes), spot)

    again, last = (f.compare("ne", f.bit_and(flags, flag), 0) for flag in (ACCUMULATE, LAST))
    with f.loop(0, pixels) as loop:
        one(loop.index, again, last)
