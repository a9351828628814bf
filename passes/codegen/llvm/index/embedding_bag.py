"""Embedding bags as a pool task: sums of table rows for bags of indices.

    out[b] = the sum of table[index[i]] for i from offsets[b] to the next offset, in order      a chunk is a range of bags

or of table[index[i]] * scales[i]. Indices and offsets are 64-bit and in range; sums stay in registers.
"""

from dataclasses import dataclass

from ..ir.emit import ElementWriter
from ..ir.types import I64, PTR, bytes_of, vector, zero
from ..pool.tasks import Words, write_task

ARRAYS = ("table", "index", "offsets", "out")
SCALED_ARRAYS = ("table", "index", "offsets", "scales", "out")
_OTHER_WORDS = ("scratch", "turn", "items", "chunks", "count", "width")
WORDS = _OTHER_WORDS[2:]            # words of a plan
_TOGETHER = 8                       # vectors of a row summed side by side


@dataclass(frozen=True)
class BagKernel(ElementWriter):
    """Generator for an element type, with or without scales."""

    scaled: bool = False

    @property
    def symbol(self) -> str:
        return f"{'scaled_' * self.scaled}bag_sums_{self.element}"

    @property
    def words(self) -> tuple:
        return (*(SCALED_ARRAYS if self.scaled else ARRAYS), *_OTHER_WORDS)

    def write(self, module):
        f = module.function("bag", [(PTR, "job"), (I64, "bag")], internal=True)
        _write_bag(self, f)
        write_task(module, self.symbol, "bag", self.words, worker=False)


def _write_bag(kernel, f):
    job, bag, element = Words(f, f.params[0], kernel.words), f.params[1], kernel.element
    lanes, size, width, offsets = f.lanes(element), bytes_of(element), job.width, job.address("offsets")
    start, row = f.load(I64, f.at(offsets, bag, I64)), f.mul(width, size)
    last = f.compare("eq", f.add(bag, 1), job.items)
    end, = f.choose(last, lambda: [job.count], lambda: [f.load(I64, f.at(offsets, f.add(bag, 1), I64))])
    table, index, out = job.address("table"), job.address("index"), f.at(job.address("out"), f.mul(bag, row))
    type_, scales = vector(lanes, element), job.address("scales") if kernel.scaled else None

    def columns(at, vectors, mask):
        with f.loop(start, end, 1, [zero(type_)] * vectors) as loop:
            number = f.load(I64, f.at(index, loop.index, I64))
            source = f.at(f.at(table, f.mul(number, row)), at, element)
            spots = [f.at(source, n * lanes, element) for n in range(vectors)]
            loaded = [f.load_masked(type_, spot, mask) for spot in spots]
            if kernel.scaled:
                scale = f.splat(f.load(element, f.at(scales, loop.index, element)), lanes)
                loaded = [f.fmul(x, scale) for x in loaded]
            loop.next(*map(f.fadd, loop.carried, loaded))
        for n, total in enumerate(loop.results):
            spot = f.at(f.at(out, at, element), n * lanes, element)
            f.store_masked(total, spot, mask)

    whole = f.bit_and(width, -_TOGETHER * lanes)
    with f.loop(0, whole, _TOGETHER * lanes) as loop:
        columns(loop.index, _TOGETHER, None)
    with f.loop(whole, width, lanes) as loop:
        columns(loop.index, 1, f.mask(f.sub(width, loop.index), lanes))
    f.ret()
