"""Attention without its matrix of scores: forward, and the gradients of queries and of keys and values.

One program has a block of queries (or of keys and values) and walks over blocks of the others; the statistics of the softmax
are kept in float32 (float64 in float64). Each result is written by one program, in one order, so runs agree bit for bit.
Operands are contiguous: q (groups, L, E), k (key groups, S, E), v (key groups, S, V); the mask has a stride for each of
batch, head, query and key.
"""

import functools
from dataclasses import dataclass

from ....ir import dtype as dt
from .configs import power_of_two
from .matmul import stated_dot
from .nest import POINTER, SIZE, Parameter, Source
from .positions import made
from .spelling import TYPE

NO_MASK, BOOLS, ADDED = "none", "bools", "added"
_MASK_STRIDES = ("m_b", "m_h", "m_q", "m_k")
CONSTANTS = ("INDEX", "E", "V", "BE", "BV", "BM", "BN", "SCALE")


@dataclass(frozen=True)
class Kind:
    """What the text of an attention kernel depends on."""

    dtype: dt.DType
    mask: str
    causal: bool
    precision: str = "ieee"

    @property
    def wide(self) -> str:
        """The type of scores and statistics."""
        return TYPE[dt.float64 if self.dtype is dt.float64 else dt.float32]

    def name(self, what: str) -> str:
        """A kernel's name."""
        marks = [what, self.dtype.short, *([] if self.mask == NO_MASK else [self.mask]), *(["causal"] if self.causal else []),
                 *([] if self.precision == "ieee" else [self.precision])]
        return "_".join(marks)

    def dot(self, a, b, total) -> str:
        """total + a b."""
        stated = stated_dot(self.dtype, self.precision)
        return f"tl.dot({a}, {b}, {total}{stated})"

    def parameters(self, reads, writes) -> list:
        """Parameters: pointers by name, then sizes. Row statistics are float32 in low precision, too."""
        pointers = [Parameter(n, POINTER, self.dtype) for n in reads]
        if self.mask != NO_MASK:
            pointers.append(Parameter("mask", POINTER, dt.uint8 if self.mask == BOOLS else self.dtype))
        pointers += [Parameter(n, POINTER, self.dtype) for n in writes]
        strides = _MASK_STRIDES if self.mask != NO_MASK else ()
        return [*pointers, *[Parameter(n, SIZE) for n in ("L", "S", "H", "G", *strides)]]

    def scores(self, query, key) -> list:
        """Lines: `s` of a block [BM, BN], -inf where nothing is to be seen."""
        lines = [f"s = {self.dot(query, key, f'tl.zeros([BM, BN], {self.wide})')} * SCALE",
                 "seen = (i < L)[:, None] & (j < S)[None, :]"]
        if self.causal:
            lines.append("seen = seen & (i[:, None] >= j[None, :])")
        if self.mask != NO_MASK:
            lines.append("at_mask = mask + (batch * m_b + head * m_h + i[:, None] * m_q + j[None, :] * m_k)")
            if self.mask == BOOLS:
                lines.append("seen = seen & (tl.load(at_mask, seen, 0) != 0)")
            else:
                lines.append(f"s = s + tl.load(at_mask, seen, 0.0).to({self.wide})")
        return [*lines, 's = tl.where(seen, s, float("-inf"))']


def _rows(name, base, index, count, width, size, across=False) -> str:
    """A load of rows [index, width], or of their transpose."""
    a, b = ("[None, :]", "[:, None]") if across else ("[:, None]", "[None, :]")
    column = "e" if size == "E" else "f"
    at = f"({base} + {index}{a}) * {size} + {column}{b}"
    return f"tl.load({name} + ({at}), ({index} < {count}){a} & ({column} < {size}){b}, 0.0)"


def _indent(lines, by=1):
    return ["    " * by + x for x in lines]


_COLUMNS = ["e = tl.arange(0, BE)", "f = tl.arange(0, BV)"]


@functools.lru_cache(64)
def forward(kind: Kind) -> Source:
    """out and the logsumexp of each row."""
    lines = ["across = tl.cdiv(L, BM)", "program = tl.program_id(0)", "block = program % across",
             "group = (program // across).to(INDEX)", "batch = group // H", "head = group % H",
             "under = (batch * (H // G) + head // G) * S", "i = (block * BM + tl.arange(0, BM)).to(INDEX)", *_COLUMNS,
             f"query = {_rows('q', 'group * L', 'i', 'L', 'BE', 'E')}",
             f'top = tl.full([BM], float("-inf"), {kind.wide})', f"total = tl.zeros([BM], {kind.wide})",
             f"acc = tl.zeros([BM, BV], {kind.wide})",
             f"last = {'tl.minimum(S, (block + 1) * BM)' if kind.causal else 'S'}", "for start in range(0, last, BN):"]
    lines += _indent(["j = (start + tl.arange(0, BN)).to(INDEX)", f"key = {_rows('k', 'under', 'j', 'S', 'BE', 'E', True)}",
                      *kind.scores("query", "key"), "higher = tl.maximum(top, tl.max(s, 1))",
                      'safe = tl.where(higher == float("-inf"), 0.0, higher)', "p = tl.exp(s - safe[:, None])",
                      "shrink = tl.exp(top - safe)", "total = total * shrink + tl.sum(p, 1)",
                      f"value = {_rows('v', 'under', 'j', 'S', 'BV', 'V')}",
                      f"acc = {kind.dot(f'p.to({TYPE[kind.dtype]})', 'value', 'acc * shrink[:, None]')}", "top = higher"])
    lines += ["none = total == 0.0", "total = tl.where(none, 1.0, total)", "acc = acc / total[:, None]",
              'sums = tl.where(none, float("inf"), top + tl.log(total))',
              f"tl.store(out + ((group * L + i[:, None]) * V + f[None, :]), acc.to({TYPE[kind.dtype]}), "
              "(i < L)[:, None] & (f < V)[None, :])",
              f"tl.store(lse + (group * L + i), sums.to({TYPE[kind.dtype]}), i < L)"]
    return made(kind.name("attention"), kind.parameters(("q", "k", "v"), ("out", "lse")), CONSTANTS, lines)


def _slopes(kind, upstream, value) -> list:
    """Lines: `p` and `ds` of a block from its scores."""
    return ["p = tl.exp(s - row_lse[:, None])",
            f"ds = p * ({kind.dot(upstream, value, f'tl.zeros([BM, BN], {kind.wide})')} - row_delta[:, None])"]


def _row_statistics(kind) -> list:
    return [f'row_lse = tl.load(lse + (group * L + i), i < L, float("inf")).to({kind.wide})',
            f"row_delta = tl.load(delta + (group * L + i), i < L, 0.0).to({kind.wide})"]


@functools.lru_cache(64)
def query_grad(kind: Kind, slopes: bool) -> Source:
    """The gradient of queries; with `slopes`, that of all scores as well (groups, L, S)."""
    narrow = TYPE[kind.dtype]
    lines = ["across = tl.cdiv(L, BM)", "program = tl.program_id(0)", "block = program % across",
             "group = (program // across).to(INDEX)", "batch = group // H", "head = group % H",
             "under = (batch * (H // G) + head // G) * S", "i = (block * BM + tl.arange(0, BM)).to(INDEX)", *_COLUMNS,
             f"query = {_rows('q', 'group * L', 'i', 'L', 'BE', 'E')}", f"up = {_rows('g', 'group * L', 'i', 'L', 'BV', 'V')}",
             *_row_statistics(kind), f"acc = tl.zeros([BM, BE], {kind.wide})",
             f"last = {'tl.minimum(S, (block + 1) * BM)' if kind.causal and not slopes else 'S'}",
             "for start in range(0, last, BN):"]
    lines += _indent(["j = (start + tl.arange(0, BN)).to(INDEX)", f"key = {_rows('k', 'under', 'j', 'S', 'BE', 'E', True)}",
                      f"value = {_rows('v', 'under', 'j', 'S', 'BV', 'V', True)}", *kind.scores("query", "key"),
                      *_slopes(kind, "up", "value"), f"acc = {kind.dot(f'ds.to({narrow})', 'tl.trans(key)', 'acc')}"])
    if slopes:
        lines += _indent([f"tl.store(ds_out + ((group * L + i[:, None]) * S + j[None, :]), ds.to({narrow}), "
                          "(i < L)[:, None] & (j < S)[None, :])"])
    lines += ["acc = acc * SCALE", f"tl.store(gq + ((group * L + i[:, None]) * E + e[None, :]), acc.to({narrow}), "
              "(i < L)[:, None] & (e < E)[None, :])"]
    writes = ("gq", "ds_out") if slopes else ("gq",)
    name = kind.name("attention_query_grad") + ("_slopes" if slopes else "")
    return made(name, kind.parameters(("g", "q", "k", "v", "lse", "delta"), writes), CONSTANTS, lines)


@functools.lru_cache(64)
def key_grad(kind: Kind) -> Source:
    """The gradients of keys and values: all query heads of a key head, one after the other."""
    narrow = TYPE[kind.dtype]
    lines = ["across = tl.cdiv(S, BN)", "program = tl.program_id(0)", "block = program % across",
             "under = (program // across).to(INDEX)", "batch = under // (H // G)",
             "j = (block * BN + tl.arange(0, BN)).to(INDEX)",
             *_COLUMNS, f"key = {_rows('k', 'under * S', 'j', 'S', 'BE', 'E', True)}",
             f"value = {_rows('v', 'under * S', 'j', 'S', 'BV', 'V', True)}",
             f"to_key = tl.zeros([BN, BE], {kind.wide})", f"to_value = tl.zeros([BN, BV], {kind.wide})",
             f"first = {'block * BN // BM * BM' if kind.causal else '0'}", "for member in range(0, G):",
             "    head = under % (H // G) * G + member", "    group = batch * H + head",
             "    for start in range(first, L, BM):"]
    lines += _indent(["i = (start + tl.arange(0, BM)).to(INDEX)", f"query = {_rows('q', 'group * L', 'i', 'L', 'BE', 'E')}",
                      f"up = {_rows('g', 'group * L', 'i', 'L', 'BV', 'V')}", *_row_statistics(kind),
                      *kind.scores("query", "key"), *_slopes(kind, "up", "value"),
                      f"to_value = {kind.dot(f'tl.trans(p.to({narrow}))', 'up', 'to_value')}",
                      f"to_key = {kind.dot(f'tl.trans(ds.to({narrow}))', 'query', 'to_key')}"], 2)
    lines += ["to_key = to_key * SCALE",
              f"tl.store(gk + ((under * S + j[:, None]) * E + e[None, :]), to_key.to({narrow}), "
              "(j < S)[:, None] & (e < E)[None, :])",
              f"tl.store(gv + ((under * S + j[:, None]) * V + f[None, :]), to_value.to({narrow}), "
              "(j < S)[:, None] & (f < V)[None, :])"]
    return made(kind.name("attention_key_grad"), kind.parameters(("g", "q", "k", "v", "lse", "delta"), ("gk", "gv")), CONSTANTS,
                lines)


def tiles(kind: Kind, e: int, v: int, scale: float, backward: bool) -> tuple:
    """(constants, warps, stages): large blocks on tensor cores, small ones for long vectors and for exact products."""
    be, bv = max(16, power_of_two(e)), max(16, power_of_two(v))
    wide = max(be, bv)
    if kind.dtype.itemsize == 2 or kind.precision != "ieee":
        bm, bn, warps = (64, 64 if wide <= 64 else 32, 4) if backward else (128, 64, 8)
        if wide > 128 or kind.dtype.itemsize == 4:
            bm, bn = 64, 32
    else:
        bm, bn, warps = (32, 32, 8) if wide <= 64 and not backward else (16, 16, 4)
    constants = (("E", e), ("V", v), ("BE", be), ("BV", bv), ("BM", bm), ("BN", bn), ("SCALE", scale))
    return constants, warps, 2 if wide > 64 else 3
