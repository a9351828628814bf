"""Long draws of random numbers as pool tasks, with the bits of `scalars/philox.py` element by element.

There each element computes its block of four words. Here a vector of blocks is computed at once, in the halves of 64-bit lanes
that multiplications read, and all its words are used. Interleaving words or pairs puts the numbers in order.
"""

from collections.abc import Callable
from dataclasses import dataclass

from .....ir import dtype as dt
from .....ir.reference.philox import M0, M1, ROUNDS, W0, W1
from ...scalars import philox
from ..ir.emit import ModuleWriter
from ..ir.memory_types import ELEMENT
from ..ir.spelling import LlvmBuilder
from ..ir.types import I32, I64, Value, bytes_of, constant, iota, like, vector
from ..pool.tasks import Words

ARRAYS = ("key", "out")
WORDS = (*ARRAYS, "scratch", "turn", "chunks", "count", "size", "span", "spans")
# `key` holds seed and call. With `spans` it also holds the span of integers and the first block; else `span` is that, or the
# bound of words, and the first block is 0. `size` is a chunk's elements, in whole vectors.
_LOW = (1 << 32) - 1
MASK = "random_mask"                # words compared with a bound
OF_WORDS: dict[str, tuple[Callable, dt.DType]] = {
    "random_bits": (lambda s, word: word, dt.uint32), "random_uniform": (philox.uniform_of, dt.float32),
    MASK: (lambda s, word, bound: word.to(dt.int64) < bound, dt.bool_)}
OF_PAIRS: dict[str, tuple[Callable, dt.DType]] = {
    "random_uniform_double": (philox.uniform_double_of, dt.float64), "random_below": (philox.below_of, dt.int64)}
NORMALS = {"random_normal": dt.float32, "random_normal_double": dt.float64}
GIVES = {**{name: gives for name, (_, gives) in (OF_WORDS | OF_PAIRS).items()}, **NORMALS}

OF_BLOCK = {**dict.fromkeys(OF_WORDS, 4), **dict.fromkeys(OF_PAIRS, 2),         # elements of a block of four words
            "random_normal": 4, "random_normal_double": 2}


@dataclass(frozen=True)
class DrawKernel(ModuleWriter):
    """Generator of one drawn function."""

    name: str

    @property
    def symbol(self) -> str:
        return f"draw_{self.name}"

    @property
    def of_block(self) -> int:
        """Elements of a block of four words."""
        return OF_BLOCK[self.name]

    @property
    def numbers(self) -> int:
        """Elements of a vector of blocks."""
        return self.target.lanes(8) * self.of_block

    def write(self, module):
        f = module.task(self.symbol)
        arg, chunk, _ = f.params
        job, lanes, numbers = Words(f, arg, WORDS), f.lanes(I64), self.numbers
        key, out, type_ = job.address("key"), job.address("out"), vector(f.lanes(I64), I64)
        seed, call = (f.load(I64, f.at(key, place, I64)) for place in range(2))
        own = f.compare("ne", job.spans, 0)
        more = f.select(own, f.at(key, 2, I64), key)
        span, first = f.select(own, f.load(I64, more), job.span), f.select(own, f.load(I64, f.at(more, 1, I64)), 0)
        start = f.mul(chunk, job.size)
        count = f.min(job.size, f.sub(job.count, start))
        keys, (low, high) = _round_keys(f, seed, lanes), [f.splat(half, lanes) for half in _halves(f, call)]
        gives = GIVES[self.name]
        element = "i8" if gives is dt.bool_ else ELEMENT[gives]
        wide, size = min(f.lanes(element), numbers), bytes_of(element)

        def each(at, goal):
            block = f.add(first, f.div(f.add(start, at), self.of_block))
            blocks = f.binary("add", f.splat(block, lanes), iota(lanes, I64))
            words = _philox(f, [_low(f, blocks), f.binary("lshr", blocks, constant(type_, 32)), low, high], keys)
            elements = self._elements(f, words, span)
            for number, values in enumerate(_vectors(f, elements, wide)):
                f.store(values, f.at(goal, number * wide * size))

        out, whole, last = f.at(out, start, element), f.bit_and(count, -numbers), f.local(numbers * size)
        with f.loop(0, count, numbers) as loop:
            each(loop.index, f.select(f.compare("slt", loop.index, whole), f.at(out, loop.index, element), last))
        with f.loop(whole, count) as rest:              # only the requested of the last numbers
            f.store(f.load(element, f.at(last, f.sub(rest.index, whole), element)), f.at(out, rest.index, element))
        f.ret()

    def _elements(self, f, words, span) -> Value:
        """Return the elements of a vector of blocks, in order."""
        words = [f.cast("trunc", w, like(w.type, I32)) for w in words]
        if self.name in NORMALS:
            return self._normals(f, words)
        return (self._of_words if self.name in OF_WORDS else self._of_pairs)(f, words, span)

    def _normals(self, f, words) -> Value:
        """Return two elements per radius and angle: from four words in float64, from two in float32."""
        a, b, c, d = words
        single = self.name == "random_normal"
        builder = LlvmBuilder(f, f.lanes(I64) * (2 if single else 1))
        wrapped = [builder.wrap(dt.uint32, w) for w in ((_interleave(f, a, c), _interleave(f, b, d)) if single else words)]
        return _interleave(f, *[x.ref for x in (philox.normals_of if single else philox.normals_double_of)(builder, *wrapped)])

    def _of_words(self, f, words, bound) -> Value:
        """Return the elements of four words each, in order."""
        a, b, c, d = words
        words_in_order = _interleave(f, _interleave(f, a, c), _interleave(f, b, d))
        builder = LlvmBuilder(f, 4 * f.lanes(I64))
        more = (builder.wrap(dt.int64, f.splat(bound, builder.lanes)),) if self.name == MASK else ()
        return builder.to_memory(OF_WORDS[self.name][0](builder, builder.wrap(dt.uint32, words_in_order), *more))

    def _of_pairs(self, f, words, span) -> Value:
        """Return the elements of two words each, in order."""
        function, builder = OF_PAIRS[self.name][0], LlvmBuilder(f, f.lanes(I64))
        values = [builder.wrap(dt.uint32, w) for w in words]
        more = (builder.wrap(dt.int64, f.splat(span, builder.lanes)),) if self.name == "random_below" else ()
        return _interleave(f, *[function(builder, *values[place:place + 2], *more).ref for place in (0, 2)])


def _halves(f, number):
    return f.bit_and(number, _LOW), f.binary("lshr", number, 32)


def _low(f, x):
    return f.binary("and", x, constant(x.type, _LOW))


def _round_keys(f, seed, lanes):
    found, (k0, k1) = [], _halves(f, seed)
    for _ in range(ROUNDS):
        found.append((f.splat(k0, lanes), f.splat(k1, lanes)))
        k0, k1 = f.bit_and(f.add(k0, W0), _LOW), f.bit_and(f.add(k1, W1), _LOW)
    return found


def _philox(f, counter, keys):
    """Return the four words of a vector of blocks, each in the low half of a lane; high halves are never read."""
    c0, c1, c2, c3 = counter
    for k0, k1 in keys:
        p0, p1 = (f.binary("mul", _low(f, c), constant(c.type, m)) for c, m in ((c0, M0), (c2, M1)))
        up0, up1 = (f.binary("lshr", p, constant(p.type, 32)) for p in (p0, p1))
        c0, c1 = f.binary("xor", f.binary("xor", up1, c1), k0), p1
        c2, c3 = f.binary("xor", f.binary("xor", up0, c3), k1), p0
    return c0, c1, c2, c3


def _interleave(f, a, b) -> Value:
    count = int(a.type[1:a.type.index(" ")])
    return f.shuffle(a, b, [part * count + lane for lane in range(count) for part in range(2)])


def _vectors(f, values, wide):
    count = int(values.type[1:values.type.index(" ")])
    return [f.shuffle(values, values, range(start, start + wide)) for start in range(0, count, wide)]
