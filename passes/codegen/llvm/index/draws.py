"""Long draws of random numbers as pool tasks, with the bits that `scalars/philox.py` gives element by element.

There each element makes the block of four words that its own are in. Here a vector of blocks is made at once, in the halves of
64-bit lanes that multiplications read, and all of its words are used: its numbers stand in order once words or pairs are put
beside each other.
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
# `key` holds seed and call, and if `spans` says so the span of integers and the first block (else `span` is it, or what words
# shall be below, and the first one is 0); `size` is that of a chunk in elements, whole vectors.
_LOW = (1 << 32) - 1
MASK = "random_mask"                # whether words are below a number
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
    """What a module is made for: the function that is drawn."""

    name: str

    @property
    def symbol(self) -> str:
        """The task."""
        return f"draw_{self.name}"

    @property
    def of_block(self) -> int:
        """How many elements a block gives."""
        return OF_BLOCK[self.name]

    @property
    def numbers(self) -> int:
        """How many elements a vector of blocks gives."""
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
            """Stores the numbers from a place of the chunk on."""
            block = f.add(first, f.div(f.add(start, at), self.of_block))
            blocks = f.binary("add", f.splat(block, lanes), iota(lanes, I64))
            words = _philox(f, [_low(f, blocks), f.binary("lshr", blocks, constant(type_, 32)), low, high], keys)
            made = self._made(f, words, span)
            for number, values in enumerate(_vectors(f, made, wide)):
                f.store(values, f.at(goal, number * wide * size))

        out, whole, last = f.at(out, start, element), f.bit_and(count, -numbers), f.local(numbers * size)
        with f.loop(0, count, numbers) as loop:
            each(loop.index, f.select(f.compare("slt", loop.index, whole), f.at(out, loop.index, element), last))
        with f.loop(whole, count) as rest:              # of the last numbers those that are asked for
            f.store(f.load(element, f.at(last, f.sub(rest.index, whole), element)), f.at(out, rest.index, element))
        f.ret()

    def _made(self, f, words, span) -> Value:
        """The elements of a vector of blocks, in order."""
        words = [f.cast("trunc", w, like(w.type, I32)) for w in words]
        if self.name in NORMALS:
            return self._normals(f, words)
        return (self._of_words if self.name in OF_WORDS else self._of_pairs)(f, words, span)

    def _normals(self, f, words) -> Value:
        """Two elements of each radius and angle: of four words each in float64, of two words each in float32."""
        a, b, c, d = words
        single = self.name == "random_normal"
        builder = LlvmBuilder(f, f.lanes(I64) * (2 if single else 1))
        given = [builder.wrap(dt.uint32, w) for w in ((_beside(f, a, c), _beside(f, b, d)) if single else words)]
        return _beside(f, *[x.ref for x in (philox.normals_of if single else philox.normals_double_of)(builder, *given)])

    def _of_words(self, f, words, bound) -> Value:
        """The elements of four words each, in order."""
        a, b, c, d = words
        made = _beside(f, _beside(f, a, c), _beside(f, b, d))
        builder = LlvmBuilder(f, 4 * f.lanes(I64))
        more = (builder.wrap(dt.int64, f.splat(bound, builder.lanes)),) if self.name == MASK else ()
        return builder.to_memory(OF_WORDS[self.name][0](builder, builder.wrap(dt.uint32, made), *more))

    def _of_pairs(self, f, words, span) -> Value:
        """The elements of two words each, in order."""
        function, builder = OF_PAIRS[self.name][0], LlvmBuilder(f, f.lanes(I64))
        values = [builder.wrap(dt.uint32, w) for w in words]
        more = (builder.wrap(dt.int64, f.splat(span, builder.lanes)),) if self.name == "random_below" else ()
        return _beside(f, *[function(builder, *values[place:place + 2], *more).ref for place in (0, 2)])


def _halves(f, number):
    """The low and high 32 bits of a number."""
    return f.bit_and(number, _LOW), f.binary("lshr", number, 32)


def _low(f, x):
    return f.binary("and", x, constant(x.type, _LOW))


def _round_keys(f, seed, lanes):
    """The two keys of each round, in all lanes."""
    found, (k0, k1) = [], _halves(f, seed)
    for _ in range(ROUNDS):
        found.append((f.splat(k0, lanes), f.splat(k1, lanes)))
        k0, k1 = f.bit_and(f.add(k0, W0), _LOW), f.bit_and(f.add(k1, W1), _LOW)
    return found


def _philox(f, counter, keys):
    """The four words of a vector of blocks, each in the low half of a lane; what high halves hold is never read."""
    c0, c1, c2, c3 = counter
    for k0, k1 in keys:
        p0, p1 = (f.binary("mul", _low(f, c), constant(c.type, m)) for c, m in ((c0, M0), (c2, M1)))
        up0, up1 = (f.binary("lshr", p, constant(p.type, 32)) for p in (p0, p1))
        c0, c1 = f.binary("xor", f.binary("xor", up1, c1), k0), p1
        c2, c3 = f.binary("xor", f.binary("xor", up0, c3), k1), p0
    return c0, c1, c2, c3


def _beside(f, a, b) -> Value:
    """a[0], b[0], a[1], b[1], ..."""
    count = int(a.type[1:a.type.index(" ")])
    return f.shuffle(a, b, [part * count + lane for lane in range(count) for part in range(2)])


def _vectors(f, values, wide):
    """Values as vectors of so many."""
    count = int(values.type[1:values.type.index(" ")])
    return [f.shuffle(values, values, range(start, start + wide)) for start in range(0, count, wide)]
