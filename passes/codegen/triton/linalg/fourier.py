"""Discrete Fourier transforms of many rows: each program has some rows, and transforms them in passes of small radices.

Before a pass a row is a sequence of transforms of `length` places, and the pass splits each into `radix`. It loads values
length / radix apart, transforms them in registers (`butterflies.py`), multiplies each by its twiddle factor and stores it where
it came from. So adjacent lanes access adjacent elements in all passes but the last, whose results go to their natural places.

Rows whose radices are powers of two stay in registers: between passes they are one tile whose dims are permuted, through shared
memory. Others are in memory between passes (`t`), near the cores that work on them. All threads of a program load before any of
them stores, so a pass may overwrite its input.

Rows of real numbers are rows of half as many complex ones (even places, odd places), whose frequencies are separated
afterwards, or combined before.
"""

import functools
from dataclasses import dataclass
from math import prod

from .....ir import dtype as dt
from ..ir.source import Source, emit, parameters
from ..ir.spelling import Text, TritonBuilder, memory
from ..loops.configs import power_of_two
from .butterflies import times, transform

FEW = 4                 # a twiddle factor of a large radix is a product of two: one below this, one a multiple of it
TURNS = 1 << 12         # entries of the first of two tables whose products are the factors between transforms
EACH = 16               # complex numbers of a thread
REALS = ("real", "pairs")


@dataclass(frozen=True)
class Transform:
    """A kernel's transform of rows of n = prod(radices) complex numbers.

    part      the dtype of a part
    inverse   whether exponents are positive
    scale     factor of the results
    reads     input: "complex" numbers; "real" ones; "pairs" of real ones, each a complex number; "half" of n frequencies
              whose others are conjugates; "halves", the n + 1 frequencies of 2 n real numbers
    writes    output: "complex", "real" (parts), "pairs", "half", "halves" likewise; "turns": complex numbers, that of
              frequency f in column c times exp(-2 pi i f c / C n)
    items     rows of a program
    beside    arrays with C adjacent rows as columns; in others rows follow each other
    across    for the first pass, those between and the last one: whether adjacent lanes have adjacent rows
    stays     place of rows between passes: the input ("x"), the results ("out"), or elsewhere ("t")
    """

    part: dt.DType
    radices: tuple
    inverse: bool
    scale: float
    reads: str
    writes: str
    items: int
    adjacent: frozenset
    across: tuple
    stays: str = "out"

    @property
    def size(self) -> int:
        """Complex numbers of a row."""
        return prod(self.radices)

    @property
    def held(self) -> bool:
        """Whether rows stay in registers between passes."""
        return all(r & (r - 1) == 0 for r in (*self.radices, self.items))

    @property
    def waits(self) -> bool:
        """Whether rows are in memory between passes."""
        return (len(self.radices) > 1 and not self.held) or self.writes == "halves"

    @property
    def warps(self) -> int:
        return max(1, min(8, power_of_two(self.items * self.size // EACH) // 32))

    @property
    def name(self) -> str:
        marks = [self.reads, self.writes, *map(str, self.radices), self.part.short, *(["inverse"] if self.inverse else [])]
        return "fourier_" + "_".join(marks)


@functools.lru_cache(512)
def rows(how: Transform) -> Source:
    """Return the kernel's file."""
    whole = dt.WHOLES[how.part]
    kinds = {"x": how.part if how.reads in REALS else whole, "t": whole, "out": how.part if how.writes in REALS else whole}
    names = [n for n in kinds if n != "t" or how.waits]
    pointers = {n: memory(kinds[n]) for n in names}
    tables = ["w"] if len(how.radices) > 1 else []
    tables += ["turns"] if "halves" in (how.reads, how.writes) or how.writes == "turns" else []
    pointers |= dict.fromkeys(tables, memory(whole))
    sizes = ["M", *(["C"] if how.adjacent else [])]
    for n in names:
        sizes += [f"{n}_outer", *([f"{n}_step"] if n in how.adjacent else [])]
    writer = _Writer(how, {*pointers, *sizes})
    writer.write()
    return emit(how.name, parameters(pointers, sizes), ("INDEX",), writer.text.lines)


class _Writer:
    """Writer of the body."""

    def __init__(self, how: Transform, taken):
        self.how = how
        self.text = Text(taken)
        self.text.depth = 0
        self.s = TritonBuilder(self.text)
        self.whole = dt.WHOLES[how.part]
        self.known: dict = {}           # lines shared by several passes, by expression

    def write(self):
        how, length, table = self.how, self.how.size, 0
        last, values = len(how.radices) - 1, []
        self.text.put("program = tl.program_id(0).to(INDEX)")
        for number, radix in enumerate(how.radices):
            lane, mask, row = self.lanes(how.size // radix, self.across(number))
            near = length // radix
            place = lane if length == how.size else self.let(f"{lane} // {near} * {length} + {lane} % {near}")
            if number == last and number and not how.held:
                place = self.digits(lane)
            if not number and how.held and how.reads == "halves":
                values = [v for j in range(0, radix, FEW)
                          for v in self.read_some(lane, j * near, near, min(radix, FEW), mask, row)]
            elif not number or not how.held:
                values = [self.read(number, f"({place} + {j * near})", row, mask) for j in range(radix)]
            values = transform(self.s, values)
            if number == last:
                self.finish(values, lane, mask, row)
                return
            beyond = not number and power_of_two(near) != near        # lanes without a factor
            values = self.twiddled(values, f"({lane} % {near})" if number else lane, near, table, mask if beyond else "")
            if how.held:
                values = self.exchanged(values, number)
                length, table = near, table + (radix - 1) * near
                continue
            if number or how.stays == "x":
                self.text.put("tl.debug_barrier()")
            for k, pair in enumerate(values):
                self.put("t", pair, f"({place} + {k * near})", row, mask)
            self.text.put("tl.debug_barrier()")
            length, table = near, table + (radix - 1) * near

    def let(self, expression):
        return self.text.let(expression, "p")

    def across(self, number) -> bool:
        """Return whether adjacent lanes of a pass have adjacent rows."""
        return self.how.across[0 if number == 0 else 2 if number == len(self.how.radices) - 1 else 1]

    # Between passes, in registers.

    def exchanged(self, values, number) -> list:
        """Return the next pass's values from one's results: each part is a tile whose dims are permuted."""
        how, radices = self.how, self.how.radices
        sizes = {f"k{i}": r for i, r in enumerate(radices[:number + 1])} | {"j": radices[number + 1], "items": how.items}
        sizes["n"] = how.size // prod(radices[:number + 2])
        before = [f"k{i}" for i in range(number)]
        source = [*self.lane_dims([*before, "j", "n"], number), f"k{number}"]
        is_last = number + 2 == len(radices)
        found = [*before, f"k{number}"]
        target = [*self.lane_dims([*(found[::-1] if is_last else found), "n"], number + 1), "j"]
        shape, order = [sizes[d] for d in source], [source.index(d) for d in target]
        lanes = how.items * how.size // sizes["j"]
        parts = []
        for part in range(2):
            tile = self.joined([self.s.stated(pair[part]) for pair in values], how.items * how.size // sizes[f"k{number}"])
            permuted = self.let(f"tl.permute(tl.reshape({tile}, {shape}), {order})")
            parts.append(self.taken_apart(self.let(f"tl.reshape({permuted}, [{lanes}, {sizes['j']}])"), lanes, sizes["j"]))
        return [tuple([self.s.wrap(how.part, x) for x in pair]) for pair in zip(*parts)]

    def lane_dims(self, dims, number) -> list:
        return [*dims, "items"] if self.across(number) else ["items", *dims]

    def joined(self, tiles, lanes) -> str:
        if len(tiles) < 2:
            return tiles[0]
        pair = f"tl.join({self.joined(tiles[::2], lanes)}, {self.joined(tiles[1::2], lanes)})"
        return self.let(f"tl.reshape({pair}, [{lanes}, {len(tiles)}])")

    def taken_apart(self, tile, lanes, count) -> list:
        if count == 1:
            return [self.let(f"tl.reshape({tile}, [{lanes}])")]
        even, odd = self.text.name("p"), self.text.name("p")
        self.text.put(f"{even}, {odd} = tl.split(tl.reshape({tile}, [{lanes}, {count // 2}, 2]))")
        halves = [self.taken_apart(half, lanes, count // 2) for half in (even, odd)]
        return [tile for pair in zip(*halves) for tile in pair]

    # Lanes.

    def lanes(self, count, across) -> tuple:
        """Return (each lane's number in its row, its mask, the row)."""
        key = count, across
        if key not in self.known:
            total = self.how.items * count
            every = self.let(f"tl.arange(0, {power_of_two(total)})")
            split = (f"{every} // {self.how.items}", f"{every} % {self.how.items}") if across else \
                (f"{every} % {count}", f"{every} // {count}")
            if self.how.items == 1:
                split = every, "0"
            lane, item = self.let(split[0]), split[1]
            row = self.let(f"program * {self.how.items} + {item}")
            more = "" if power_of_two(total) == total else f" & ({every} < {total})"
            self.known[key] = lane, self.let(f"({row} + {lane} * 0 < M){more}"), row
        return self.known[key]

    def digits(self, lane) -> str:
        """Return where the last pass finds the transform of frequencies `lane` and beyond."""
        terms, rest, apart = [], lane, self.how.size
        for radix in self.how.radices[:-1]:
            apart //= radix
            terms.append(f"{rest} % {radix} * {apart}")
            rest = self.let(f"{rest} // {radix}")
        return self.let(" + ".join(terms))

    def at(self, array, row, place) -> str:
        """Return the offset in elements from an array's start."""
        key = array, row
        if key not in self.known:
            group = f"{row} // C * {array}_outer + {row} % C"
            self.known[key] = self.let(group if array in self.how.adjacent else f"{row} * {array}_outer")
        return f"{self.known[key]} + {place}" + (f" * {array}_step" if array in self.how.adjacent else "")

    # Elements.

    def take(self, array, row, place, mask) -> tuple:
        return self.s.re_im(self.s.load(self.whole, array, self.at(array, row, place), mask))

    def take_real(self, row, place, mask):
        return self.s.load(self.how.part, "x", self.at("x", row, place), mask)

    def read(self, number, place, row, mask) -> tuple:
        """Load a pass's value from a place; an inverse transform exchanges its parts."""
        if number:
            return self.take("t", row, place, mask)
        pair = getattr(self, f"_{self.how.reads}")(self.let(place), row, mask)
        return pair[::-1] if self.how.inverse else pair

    def read_some(self, lane, start, near, count, mask, row) -> list:
        """Load several values of the first pass as one tile and split it: compiling the conversion per element takes long."""
        place = self.let(f"{lane}[:, None] + ({start} + {near} * tl.arange(0, {count})[None, :])")
        rows = row if self.how.items == 1 else self.let(f"{row}[:, None]")
        tiles = self.read(0, place, rows, self.let(f"{mask}[:, None]"))
        lanes = self.how.items * self.how.size // self.how.radices[0]
        parts = [self.taken_apart(x.ref, lanes, count) for x in tiles]
        return [tuple([self.s.wrap(self.how.part, x) for x in pair]) for pair in zip(*parts)]

    def _complex(self, place, row, mask):
        return self.take("x", row, place, mask)

    def _real(self, place, row, mask):
        value = self.take_real(row, place, mask)
        return value, self.s.const(value.dtype, 0.0)

    def _pairs(self, place, row, mask):
        return self.take_real(row, f"({place} * 2)", mask), self.take_real(row, f"({place} * 2 + 1)", mask)

    def _half(self, place, row, mask):
        """Load frequencies beyond the half as conjugates; that of 0 is real."""
        n = self.how.size
        there = self.s.wrap(dt.bool_, self.let(f"{place} < {n // 2 + 1}"))
        re, im = self.take("x", row, self.let(f"tl.where({there.ref}, {place}, {n} - {place})"), mask)
        im = self.s.select(there, im, -im)
        return re, self.s.select(self.s.wrap(dt.bool_, self.let(f"{place} == 0")), 0.0, im)

    def _halves(self, place, row, mask):
        """Load (X[k] + conj X[n - k]) + i (X[k] - conj X[n - k]) exp(2 pi i k / 2n); real ones have no imaginary part."""
        n, s = self.how.size, self.s
        pairs = self.take("x", row, place, mask), self.take("x", row, self.let(f"{n} - {place}"), mask)
        first = s.wrap(dt.bool_, self.let(f"{place} == 0"))
        return _combined(s, *pairs, first, self.factor("turns", place, mask))

    def factor(self, table, place, mask=""):
        return self.s.re_im(self.s.load(self.whole, table, place, mask))

    def twiddled(self, values, place, near, table, mask):
        """Multiply results by exp(-2 pi i k place / length)."""
        known: dict = {}

        def of(k):
            if k not in known:
                low = k % FEW
                if k < FEW or not low or len(values) < 4 * FEW:
                    known[k] = self.factor("w", f"{place} + {table + (k - 1) * near}", mask)
                else:
                    known[k] = times(self.s, of(low), of(k - low))
            return known[k]

        return [values[0], *[times(self.s, pair, of(k)) for k, pair in enumerate(values[1:], 1)]]

    def put(self, array, pair, place, row, mask):
        self.s.store(self.s.whole(*pair), array, self.at(array, row, place), mask)

    # Results.

    def finish(self, values, lane, mask, row):
        """Store the frequencies lane, lane + n / radix, ... at their places."""
        how = self.how
        apart = how.size // len(values)
        if how.writes == "halves":
            self.apart(values, lane, mask, row, apart)
            return
        if how.waits and how.stays == "out":
            self.text.put("tl.debug_barrier()")
        for k, pair in enumerate(values):
            place = self.let(f"{lane} + {k * apart}")
            self.result(pair, place, mask, row)

    def result(self, pair, place, mask, row):
        how, s = self.how, self.s
        if how.writes == "turns":
            pair = times(s, pair, self.between(place, row))
        pair = pair[::-1] if how.inverse else pair
        re, im = [p * how.scale for p in pair] if how.scale != 1.0 else pair
        if how.writes == "real":
            s.store(re, "out", self.at("out", row, place), mask)
        elif how.writes == "pairs":
            s.store(re, "out", self.at("out", row, f"({place} * 2)"), mask)
            s.store(im, "out", self.at("out", row, f"({place} * 2 + 1)"), mask)
        else:
            half = f" & ({place} < {how.size // 2 + 1})" if how.writes == "half" else ""
            self.put("out", (re, im), place, row, self.let(mask + half) if half else mask)

    def between(self, place, row):
        """Return exp(-2 pi i f c / (columns n)) of a frequency and a column, from two tables."""
        product = self.let(f"{place} * ({row} % C).to(tl.int32)")
        low, high = (self.factor("turns", at) for at in (f"{product} % {TURNS}", f"{TURNS} + {product} // {TURNS}"))
        return times(self.s, low, high)

    def apart(self, values, lane, mask, row, near):
        """Store the transform of pairs, and from it the frequencies k and n - k of the real numbers."""
        n, s = self.how.size, self.s
        self.text.put("tl.debug_barrier()")
        for k, pair in enumerate(values):
            self.put("t", pair, f"({lane} + {k * near})", row, mask)
        self.text.put("tl.debug_barrier()")
        lane, mask, row = self.lanes(n // 2 + 1, self.how.across[2])
        other = self.let(f"{n} - {lane}")
        pairs = self.take("t", row, lane, mask), self.take("t", row, self.let(f"{other} % {n}"), mask)
        low, high = _apart(s, *pairs, self.factor("turns", lane, mask), self.how.scale)
        self.text.put("tl.debug_barrier()")
        self.put("out", low, lane, row, mask)
        self.put("out", high, other, row, mask)


def _apart(s, a, b, by, scale) -> tuple:
    """Return the frequencies k and n - k of 2 n real numbers, from those of the n pairs of them."""
    (ar, ai), (br, bi), half = a, b, s.const(a[0].dtype, scale * 0.5)
    er, ei = (ar + br) * half, (ai - bi) * half
    re, im = times(s, ((ai + bi) * half, (br - ar) * half), by)
    return (er + re, ei + im), (er - re, im - ei)


def _combined(s, a, b, first, by) -> tuple:
    """Return frequency k of n pairs from k and n - k of 2 n real numbers; the `first` and the last of these are real."""
    (ar, ai), (br, bi) = a, b
    ai, bi = s.select(first, 0.0, ai), s.select(first, 0.0, bi)
    re, im = times(s, (ar - br, ai + bi), (by[0], -by[1]))
    return (ar + br) - im, (ai - bi) + re


@functools.lru_cache(64)
def parted(part: dt.DType, scale: float) -> Source:
    """Return the kernel out[q, k] for k = 0 .. N: the frequencies of rows of 2 N real numbers, from those of their pairs, x[q,
    k]."""
    return _alone("parted", part, "N // 2 + 1", [
        "other = N - k", "a = q * N + k", "b = q * N + other % N"], scale)


@functools.lru_cache(64)
def joined(part: dt.DType) -> Source:
    """Return the kernel out[q, k] for k = 0 .. N - 1: the frequencies of pairs, from those of rows of 2 N real numbers, x[q,
    k]."""
    return _alone("joined", part, "N", ["a = q * (N + 1) + k", "b = q * (N + 1) + (N - k)"], None)


def _alone(name, part, count, lines, scale):
    whole = dt.WHOLES[part]
    own = parameters(dict.fromkeys(("x", "turns", "out"), memory(whole)), ("M", "N"))
    text = Text({p.name for p in own} | {"a", "b", "q", "k"})
    text.depth = 0
    s = TritonBuilder(text)
    for line in ("at = tl.program_id(0).to(INDEX) * BLOCK + tl.arange(0, BLOCK)", f"q = at // ({count})",
                 f"k = at % ({count})", "there = q < M", *lines):
        text.put(line)
    a, b, by = (s.re_im(s.load(whole, *what, "there")) for what in (("x", "a"), ("x", "b"), ("turns", "k")))
    if scale is None:
        found = [("at", _combined(s, a, b, s.wrap(dt.bool_, text.let("k == 0")), by))]
    else:
        low, high = _apart(s, a, b, by, scale)
        found = [("q * (N + 1) + k", low), ("q * (N + 1) + other", high)]
    for place, pair in found:
        s.store(s.whole(*pair), "out", place, "there")
    return emit(f"frequencies_{name}_{part.short}", own, ("INDEX", "BLOCK"), text.lines)
