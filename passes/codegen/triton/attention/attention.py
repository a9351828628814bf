"""Attention without its matrix of scores: forward, and the gradients of queries and of keys and values.

One program has a block of queries (or of keys and values) and walks over blocks of the others; the statistics of the softmax
are kept in float32 (float64 in float64). Each result is written by one program, in one order, so runs agree bit for bit.
Operands are q (batches, heads, L, E), k and v (batches, key heads, S, E and V), results have the same shapes. Each is
contiguous or has a stride for each of batch, head and row (`Kind.strided`): parts of one projection are read where they lie,
and their gradients written where they are to be joined. The mask has strides for batch, head, query and key.

Scores are in units of log2(e), so that the exponential is one instruction; a positive scale is applied with the subtraction of
the largest (`Kind.late`), which leaves one instruction more for each score. Blocks of which every element is seen come
without masks: all but the last without a mask, all but those on the diagonal where attention is causal. (Not so where
probabilities are dropped: beside what is drawn for it, a comparison is little, and one loop takes fewer registers than three.)

Products that round as float32 does (`Kind.depths`) have no tensor cores: threads read factors from shared memory, where the
second one's columns must lie side by side, or they wait for each other. So keys and values that are multiplied as columns come
turned (kt, vt), and vectors come in pieces, since such a dot holds its factors' whole depth in registers. Blocks of 16 bits
lie in registers as the tensor cores take a first factor. So the gradient of keys has keys as the rows of its scores, which are
multiplied as they are: nothing of them goes through shared memory. (Not so where probabilities are dropped: rows of keys are
drawn by more threads than need them.)

Where attention is causal, blocks differ in what there is to do for them. Those with the most come first, each of many heads
beside each other, so that what begins last ends soon; of no more heads than the chip's cache holds, which would else be read
from memory by each block anew.

On Hopper chips the tuner may take another road, as for products (`matmul_hopper.py`): blocks come by bulk copies. (Warps of
their own that ask for them, which Triton splits off where a loop says so, gave nan on an H200 where blocks have edges. Scores
of the next block multiplied ahead, so that the exponentials of one stand between the products of the other, were slower.)
"""

import functools
from dataclasses import dataclass, replace

from .....ir import dtype as dt
from .....ir.reference import philox
from ..ir.source import NUMBER, POINTER, SIZE, Parameter, Source, emit, stated_dot
from ..ir.spelling import TYPE

NO_MASK, BOOLS, ADDED = "none", "bools", "added"
LOADS, COPIES = "", "copies"   # roads
LOG2E, LN2 = 1.4426950408889634, 0.6931471805599453
UNITS = f"(SCALE * {LOG2E})"
LEAST_SCALE = 2.0 ** -100      # from which a score that is -inf is so when it is scaled
_MASK_STRIDES = ("m_b", "m_h", "m_q", "m_k")
LARGEST = 128                  # rows of the largest tile
HEADS, KEY_HEADS = ("q", "g", "out", "gq"), ("k", "v", "gk", "gv")      # what may have strides, by how many heads it has
STATISTICS = "lse", "delta", "sums", "stats"
CONSTANTS = ("INDEX", "E", "V", "BE", "BV", "BM", "BN", "SCALE")
PIECE = 16                     # numbers of a vector in a piece
NEAR = 32 << 20                # bytes of what blocks of several heads read, which a large chip's cache holds
FORWARD, QUERIES, KEYS = "forward", "queries", "keys"

NO_DROPOUT, ALIGNED_DRAWS, SHIFTED_DRAWS = "", "drops", "shifted_drops"
DRAW_WORDS = 4               # of a block of Philox
DRAW_POINTERS = (Parameter("draws", POINTER, dt.uint64),)                  # (seed, call)
# What a word must be below for its element to be kept, and what that is multiplied by.
DRAW_NUMBERS = (Parameter("kept", NUMBER, dt.uint32), Parameter("share", NUMBER, dt.float32))


def _philox_rounds() -> str:
    lines = []
    for turn in range(philox.ROUNDS):
        low, high = (f"k{n} + tl.full([], {turn * w % 2 ** 32}, tl.uint32)" for n, w in ((0, philox.W0), (1, philox.W1)))
        lines += [f"p0 = c0.to(tl.uint64) * {philox.M0}", f"p1 = c2.to(tl.uint64) * {philox.M1}",
                  f"c0, c2 = (p1 >> 32).to(tl.uint32) ^ c1 ^ ({low}), (p0 >> 32).to(tl.uint32) ^ c3 ^ ({high})",
                  "c1, c3 = p1.to(tl.uint32), p0.to(tl.uint32)"]
    return "".join(f"    {x}\n" for x in lines)


DRAW_HELPERS = f"""@triton.jit
def kept_of_block(block, k0, k1, c2, c3, kept):
    c0, c1 = block.to(tl.uint32), (block >> 32).to(tl.uint32)
{_philox_rounds()}    low = (c0 < kept).to(tl.int32) | (c1 < kept).to(tl.int32) << 1
    return low | (c2 < kept).to(tl.int32) << 2 | (c3 < kept).to(tl.int32) << 3


"""
DRAW_KEY = ["seed, call = tl.load(draws), tl.load(draws + 1)", "k0, k1 = seed.to(tl.uint32), (seed >> 32).to(tl.uint32)",
            "c2, c3 = call.to(tl.uint32), (call >> 32).to(tl.uint32)"]


def kept_scores(how: str) -> list:
    """Lines: `stays` of a block of scores [BM, BN], of rows `i` of a `group` and of columns from `from_j`."""
    start = "((group * L + i).to(tl.int64) * S)[:, None] + (from_j + tl.arange(0, BN // 4) * 4)[None, :]"
    key = "k0, k1, c2, c3, kept"
    if how == ALIGNED_DRAWS:
        drawn, first = [f"bits = kept_of_block(({start}) >> 2, {key})"], ""
    else:
        drawn = [f"words = {start}", f"bits = kept_of_block(words >> 2, {key}) | kept_of_block((words >> 2) + 1, {key}) << 4"]
        first = "(words & 3).to(tl.int32)[:, :, None] + "
    return [*drawn, f"bits = bits[:, :, None] >> ({first}tl.arange(0, 4)[None, None, :])",
            "stays = tl.reshape(bits & 1, [BM, BN]) != 0"]


def strides_of(name: str) -> tuple:
    """The names of an operand's strides: of batches, heads and rows."""
    return tuple([f"{name}_{what}" for what in "bhr"])


@dataclass(frozen=True)
class Kind:
    """What the text of an attention kernel depends on."""

    dtype: dt.DType
    mask: str
    causal: bool
    precision: str = "ieee"
    even: bool = False         # vectors fill their tiles
    full: bool = False         # so do lengths, whatever the tile (said on Hopper alone: before, this costs registers)
    late: bool = False         # scores are scaled when they are read, which their order allows
    strided: tuple = ()        # names of operands and results that have strides: those of rows are compiled in
    road: str = LOADS
    drops: str = NO_DROPOUT    # whether probabilities are dropped, and how their words lie
    depths: tuple = ()         # pieces of the vectors of queries and of values, where products round as float32 does
    keys_down: bool = False    # whether keys are the rows of blocks of scores, and queries the columns

    @property
    def is_copied(self) -> bool:
        """Whether blocks come by bulk copies."""
        return self.road == COPIES

    @property
    def block(self) -> str:
        """The shape of a block of scores."""
        return "[BN, BM]" if self.keys_down else "[BM, BN]"

    def along(self, index) -> str:
        """What lays numbers of queries ("i") or keys ("j") out along their side of a block of scores."""
        return "[:, None]" if (index == "j") == self.keys_down else "[None, :]"

    @property
    def wide(self) -> str:
        """The type of scores and statistics."""
        return TYPE[dt.accumulator(self.dtype)]

    def dtype_of(self, name) -> dt.DType:
        """The dtype of an operand or a result in memory."""
        return dt.accumulator(self.dtype) if name in STATISTICS else self.dtype

    def name(self, what: str) -> str:
        """A kernel's name."""
        said = {self.mask: self.mask != NO_MASK, "causal": self.causal, self.precision: self.precision != "ieee",
                "even": self.even, "full": self.full, "late": self.late, "strided": bool(self.strided),
                self.drops: bool(self.drops)}
        marks = [what, self.dtype.short, *[mark for mark, is_so in said.items() if is_so], *self.strided]
        marks += [f"{n}x{PIECE}" for n in self.depths]
        return "_".join([*marks, *([self.road] if self.road else [])])

    def dot(self, a, b, total, size="") -> str:
        """total + a b; with a size, along vectors of that size, which may come in pieces."""
        stated, pieces = stated_dot(self.dtype, self.precision), self.pieces(size)
        for n in range(pieces):
            total = f"tl.dot({a}{n}, {b}{n}, {total}{stated})"
        return total if pieces else f"tl.dot({a}, {b}, {total}{stated})"

    def pieces(self, size) -> int:
        """In how many pieces vectors of a size ("E" or "V") come; 0: as they are."""
        return dict(zip("EV", self.depths)).get(size, 0)

    def reads(self, part) -> tuple:
        """The arrays that the kernel of a part reads."""
        if part == FORWARD:
            return ("q", "kt", "v") if self.depths else ("q", "k", "v")
        keys = ("k", "v") if not self.depths else ("k", "kt", "vt") if part == QUERIES else ("kt", "vt")
        return "g", "q", *keys, "lse", "delta"

    @property
    def constants(self) -> tuple:
        """Names of what a kernel is compiled for."""
        return (*CONSTANTS, *[strides_of(name)[2] for name in self.strided])

    def parameters(self, reads, writes) -> list:
        """Parameters: pointers by name, then sizes."""
        pointers = [Parameter(n, POINTER, self.dtype_of(n)) for n in reads]
        if self.mask != NO_MASK:
            pointers.append(Parameter("mask", POINTER, dt.uint8 if self.mask == BOOLS else self.dtype))
        pointers += DRAW_POINTERS if self.drops else ()
        pointers += [Parameter(n, POINTER, self.dtype_of(n)) for n in writes]
        strides = [*(_MASK_STRIDES if self.mask != NO_MASK else ()),
                   *[x for name in self.strided for x in strides_of(name)[:2]]]
        numbers = DRAW_NUMBERS if self.drops else ()
        return [*pointers, *[Parameter(n, SIZE) for n in ("L", "S", "H", "G", *strides)], *numbers]

    @property
    def key(self) -> list:
        """Lines: what is drawn from."""
        return DRAW_KEY if self.drops else []

    @property
    def drawn(self) -> list:
        """Lines: which of a block's probabilities stay."""
        return kept_scores(self.drops) if self.drops else []

    def dropped(self, x, shared=True) -> str:
        """What stays of a block, in its share unless whoever sums it sees to that."""
        return f"tl.where(stays, {x}{' * share' if shared else ''}, 0.0)" if self.drops else x

    def shared(self, x) -> str:
        """A sum of what stayed, in its share."""
        return f"({x} * share)" if self.drops else x

    def emit(self, what, parameters, lines) -> Source:
        """The file of a kernel."""
        return emit(self.name(what), parameters, self.constants, [*self.key, *lines], True, DRAW_HELPERS if self.drops else "")

    def scores(self, rows, columns, masked=True) -> list:
        """Lines: `s` of a block, from what it has as rows and as columns, in units of log2(e) (or not scaled yet), -inf where
        nothing is to be seen."""
        product = self.dot(rows, columns, f"tl.zeros({self.block}, {self.wide})", "E")
        return [f"s = {product}{'' if self.late else f' * {UNITS}'}", *self.seen(masked)]

    def seen(self, masked=True) -> list:
        """Lines: scores `s` of a block are -inf where nothing is to be seen."""
        i, j = (f"{index}{self.along(index)}" for index in "ij")
        rows = [f"({i} < L)"] if self.mask != NO_MASK else []       # (of others nothing is kept)
        edges = [] if self.full else [*rows, *([] if self.keys_down and not rows else [f"({j} < S)"])]
        orders = [f"({i} >= {j})"] if self.causal else []
        if not masked or not (edges or orders or self.mask != NO_MASK):
            return []
        lines = [f"seen = {' & '.join([*edges, *orders]) or f'tl.full({self.block}, 1, tl.int1)'}"]
        if self.mask != NO_MASK:
            lines.append(f"at_mask = mask + (batch * m_b + head * m_h + {i} * m_q + {j} * m_k)")
            if self.mask == BOOLS:
                lines.append("seen = seen & (tl.load(at_mask, seen, 0) != 0)")
            else:
                lines.append(f"s = s + tl.load(at_mask, seen, 0.0).to({self.wide}) * {LOG2E}")
        return [*lines, 's = tl.where(seen, s, float("-inf"))']

    @property
    def largest(self) -> str:
        """The largest score of each row."""
        return f"tl.max(s, 1) * {UNITS}" if self.late else "tl.max(s, 1)"

    def powers(self, less) -> str:
        """2 to the power of each score less a number of its row."""
        return f"tl.exp2(tl.fma(s, {UNITS}, 0.0 - {less}))" if self.late else f"tl.exp2(s - {less})"

    def described(self, *blocks) -> list:
        """Lines: what copies of blocks (name, first row, count of rows, rows of a block, size) take; none on other roads."""
        return [f"{name}_rows = tl.make_tensor_descriptor({name} + {self.start(name, base, size)}, [{count}, {size}], "
                f"[{self.step(name, size)}, 1], [{block}, B{size}])"
                for name, base, count, block, size in (blocks if self.is_copied else ())]

    def start(self, name, base, size) -> str:
        """Where the first row of a head is, `base` being its number if rows follow each other."""
        if name not in self.strided:
            return f"{base} * {size}"
        batch, head, _ = strides_of(name)
        return f"(batch * {batch} + {'head' if name in HEADS else 'key_head'} * {head})"

    def step(self, name, size) -> str:
        """Elements from row to row."""
        return strides_of(name)[2] if name in self.strided else size

    def put(self, name, base, index, count, size, value) -> str:
        """A store of rows."""
        column = "e" if size == "E" else "f"
        at = f"{self.start(name, base, size)} + {index}[:, None] * {self.step(name, size)} + {column}[None, :]"
        inside = self.inside(f"({index} < {count})[:, None]", f"({column} < {size})[None, :]")
        return f"tl.store({name} + ({at}), {value}.to({TYPE[self.dtype]}){inside})"

    def inside(self, row, column, masked=True) -> str:
        """The mask of a load or a store from what it asks of rows and of columns, where these have edges; ", " before it."""
        masks = [*([row] if masked and not self.full else []), *([] if self.even else [column])]
        return f", {' & '.join(masks)}" if masks else ""

    def loaded(self, name, of, base, index, count, width, size, across=False, masked=True) -> list:
        """Lines: rows (or their transpose) that are multiplied along their vectors: `name`, or its pieces by numbers."""
        given = of, base, index, count, width, size, across, masked
        pieces = [(f"{name}{n}", str(n)) for n in range(self.pieces(size))] or [(name, "")]
        return [f"{piece} = {self.rows(*given, n)}" for piece, n in pieces]

    def rows(self, name, base, index, count, width, size, across=False, masked=True, piece="") -> str:
        """A load of rows [index, width] (or a piece of their vectors), or of their transpose; those beyond `count` are 0.
        `index` is "i" or "j", which begin at `from_i` and `from_j`."""
        if self.is_copied:
            copy = f"{name}_rows.load([from_{index}, 0])"
            return f"tl.trans({copy})" if across else copy
        a, b = ("[None, :]", "[:, None]") if across else ("[:, None]", "[None, :]")
        column = f"{'e' if size == 'E' else 'f'}{piece}"
        at = f"{self.start(name, base, size)} + {index}{a} * {self.step(name, size)} + {column}{b}"
        if across and self.depths:
            name, at = name + "t", f"{base} * {size} + {column}{b} * {count} + {index}{a}"
        inside = self.inside(f"({index} < {count}){a}", f"({column} < {size}){b}", masked)
        return f"tl.load({name} + ({at}){inside}{', 0.0' if inside else ''})"

    def over_keys(self, body) -> list:
        """Lines: `body(masked)` for the blocks of keys of a block of queries, from the first to the last."""
        last = "tl.minimum(S, (block + 1) * BM)" if self.causal else "S"
        if self.full and not self.causal and self.mask == NO_MASK:
            return [_loop("0", "S", "BN"), *_indent(body(False))]
        if self.mask != NO_MASK or self.drops:
            return [f"last = {last}", _loop("0", "last", "BN"), *_indent(body(True))]
        whole = "tl.minimum(S, block * BM)" if self.causal else "S"
        return [f"last = {last}", f"whole = {whole} // BN * BN", _loop("0", "whole", "BN"), *_indent(body(False)),
                _loop("whole", "last", "BN"), *_indent(body(True))]

    def over_queries(self, body) -> list:
        """The same for the blocks of queries of a block of keys: those on the diagonal, then those that see all of it. Queries
        beyond the last one have no probabilities."""
        first = "block * BN // BM * BM" if self.causal else "0"
        if self.mask != NO_MASK or self.drops:
            return [_loop(first, "L", "BM"), *_indent(body(True))]
        edges = ["crossed = tl.minimum(tl.cdiv((block + 1) * BN, BM) * BM, tl.cdiv(L, BM) * BM)",
                 _loop(first, "crossed", "BM"), *_indent(body(True))] if self.causal else []
        return [*edges, _loop("crossed" if self.causal else "0", "L", "BM"), *_indent(body(False))]


def _loop(first, last, step) -> str:
    """The head of a loop over blocks."""
    return f"for start in range({first}, {last}, {step}):"


def _indent(lines, by=1):
    return ["    " * by + x for x in lines]


def _columns(kind) -> list:
    """Lines: the numbers of a vector's elements, and those of its pieces."""
    pieces = [f"{c}{n} = tl.arange(0, {PIECE}) + {PIECE * n}" for c, size in (("e", "E"), ("f", "V"))
              for n in range(kind.pieces(size))]
    return ["e = tl.arange(0, BE)", "f = tl.arange(0, BV)", *pieces]


_KEYS = ["from_j = start", "j = (from_j + tl.arange(0, BN)).to(INDEX)"]


def _placed(kind, group, rows, tile, near, last_first) -> list:
    """Lines: the `block` and the `group` of a program, where so many rows are cut in tiles. `near` says of how many groups the
    chip's cache holds what their blocks read, in rows of `held`."""
    lines = [f"across = tl.cdiv({rows}, {tile})", "program = tl.program_id(0)"]
    if not kind.causal:
        return [*lines, "block = program % across", f"{group} = (program // across).to(INDEX)"]
    return [*lines, f"held = {NEAR // kind.dtype.itemsize} // (E + V)", "groups = tl.num_programs(0) // across",
            f"near = tl.maximum(1, tl.minimum(groups, {near}))", "before = program // (near * across) * near",
            "beside = tl.minimum(near, groups - before)", "place = program - before * across",
            f"block = {'across - 1 - ' if last_first else ''}place // beside", f"{group} = (before + place % beside).to(INDEX)"]


def _own_queries(kind, upstream=False) -> list:
    """Lines: the block of queries of a program."""
    return [*_placed(kind, "group", "L", "BM", "held * G // S", True),
            "batch = group // H", "head = group % H", "key_head = head // G",
            "under = (batch * (H // G) + head // G) * S", "from_i = block * BM",
            "i = (from_i + tl.arange(0, BM)).to(INDEX)", *_columns(kind),
            *kind.described(("q", "group * L", "L", "BM", "E"), ("k", "under", "S", "BN", "E"), ("v", "under", "S", "BN", "V"),
                            *([("g", "group * L", "L", "BM", "V")] if upstream else [])),
            *kind.loaded("query", "q", "group * L", "i", "L", "BE", "E"),
            *(kind.loaded("up", "g", "group * L", "i", "L", "BV", "V") if upstream else [])]


@functools.lru_cache(64)
def forward(kind: Kind) -> Source:
    """out and the logsumexp of each row."""
    stays = kind.dropped("p", shared=False)

    def body(masked):
        safe = ["safe = higher"] if not masked else ['safe = tl.where(higher == float("-inf"), 0.0, higher)']
        return [*_KEYS, *kind.loaded("key", "k", "under", "j", "S", "BE", "E", True, masked),
                *kind.scores("query", "key", masked),
                f"higher = tl.maximum(top, {kind.largest})", *safe, f"p = {kind.powers('safe[:, None]')}",
                "shrink = tl.exp2(top - safe)", "total = total * shrink + tl.sum(p, 1)",
                f"value = {kind.rows('v', 'under', 'j', 'S', 'BV', 'V', False, masked)}",
                *kind.drawn,
                f"acc = {kind.dot(f'{stays}.to({TYPE[kind.dtype]})', 'value', 'acc * shrink[:, None]')}", "top = higher"]

    lines = [*_own_queries(kind), f'top = tl.full([BM], float("-inf"), {kind.wide})', f"total = tl.zeros([BM], {kind.wide})",
             f"acc = tl.zeros([BM, BV], {kind.wide})",
             *kind.over_keys(body),
             "none = total == 0.0", "total = tl.where(none, 1.0, total)", f"acc = {kind.shared('acc')} / total[:, None]",
             f'sums = tl.where(none, float("inf"), top * {LN2} + tl.log(total))',
             kind.put("out", "group * L", "i", "L", "V", "acc"),
             "tl.store(lse + (group * L + i), sums, i < L)"]
    return kind.emit("attention", kind.parameters(kind.reads(FORWARD), ("out", "lse")), lines)


def _slopes(kind, rows, columns, there=True) -> list:
    """Lines: `p` and `ds` of a block from its scores, and from the gradients of rows and the values; the statistics of queries
    are read where they are wanted if they are not there yet."""
    lse, delta = ([], []) if there else ([x] for x in _row_statistics(kind))
    slope, side = kind.dropped(kind.dot(rows, columns, f"tl.zeros({kind.block}, {kind.wide})", "V")), kind.along("i")
    return [*kind.drawn, *lse, f"p = {kind.powers(f'row_lse{side}')}", *delta, f"ds = p * ({slope} - row_delta{side})"]


def _row_statistics(kind) -> tuple:
    """A line for each of the two."""
    lse, delta = ("", "") if kind.full else (', i < L, float("inf")', ", i < L, 0.0")
    return (f"row_lse = tl.load(lse + (group * L + i){lse}) * {LOG2E}",
            f"row_delta = tl.load(delta + (group * L + i){delta})")


@functools.lru_cache(64)
def query_grad(kind: Kind, slopes: bool) -> Source:
    """The gradient of queries; with `slopes`, that of all scores as well (groups, L, S)."""
    narrow = TYPE[kind.dtype]

    def body(masked):
        rows = kind.rows("k", "under", "j", "S", "BE", "E", False, masked) if kind.depths else "tl.trans(key)"
        lines = [*_KEYS,
                 *kind.loaded("key", "k", "under", "j", "S", "BE", "E", True, masked),
                 *kind.loaded("value", "v", "under", "j", "S", "BV", "V", True, masked),
                 *kind.scores("query", "key", masked), *_slopes(kind, "up", "value"),
                 f"acc = {kind.dot(f'ds.to({narrow})', rows, 'acc')}"]
        if slopes:
            lines.append(f"tl.store(ds_out + ((group * L + i[:, None]) * S + j[None, :]), ds.to({narrow}), "
                         "(i < L)[:, None] & (j < S)[None, :])")
        return lines

    every = [_loop("0", "S", "BN"), *_indent(body(True))]
    lines = [*_own_queries(kind, True), *_row_statistics(kind), f"acc = tl.zeros([BM, BE], {kind.wide})",
             *(every if slopes else kind.over_keys(body)), "acc = acc * SCALE",
             kind.put("gq", "group * L", "i", "L", "E", "acc")]
    writes = ("gq", "ds_out") if slopes else ("gq",)
    what = "attention_query_grad" + ("_slopes" if slopes else "")
    return kind.emit(what, kind.parameters(kind.reads(QUERIES), writes), lines)


@functools.lru_cache(64)
def key_grad(kind: Kind) -> Source:
    """The gradients of keys and values: all query heads of a key head, one after the other."""
    kind = replace(kind, keys_down=kind.dtype.itemsize == 2 and not kind.drops)
    narrow, stays = TYPE[kind.dtype], kind.dropped("p", shared=False)
    before = bool(kind.drops)       # whether rows' statistics are read before scores, beside which draws leave few registers

    def as_rows(block):
        return f"{block}.to({narrow})" if kind.keys_down else f"tl.trans({block}.to({narrow}))"

    def body(masked):
        query, up = ("q", "group * L", "i", "L", "BE", "E"), ("g", "group * L", "i", "L", "BV", "V")
        whole = [f"query = {kind.rows(*query)}", f"up = {kind.rows(*up)}"] if kind.depths else []
        scored, sloped = (("key", "tl.trans(query)"), ("value", "tl.trans(up)")) if kind.keys_down else \
            (("query", "key"), ("up", "value"))
        return ["from_i = start", "i = (from_i + tl.arange(0, BM)).to(INDEX)", *whole,
                *kind.loaded("query", *query), *kind.loaded("up", *up),
                *(_row_statistics(kind) if before else []), *kind.scores(*scored, masked),
                *_slopes(kind, *sloped, before),
                f"to_value = {kind.dot(as_rows(stays), 'up', 'to_value')}",
                f"to_key = {kind.dot(as_rows('ds'), 'query', 'to_key')}"]

    own, across = ("under * S", "j", "S"), not kind.keys_down
    lines = [*_placed(kind, "under", "S", "BN", "held // (L * G)", False),
             "batch = under // (H // G)", "key_head = under % (H // G)",
             "from_j = block * BN", "j = (from_j + tl.arange(0, BN)).to(INDEX)", *_columns(kind),
             *kind.described(("k", "under * S", "S", "BN", "E"), ("v", "under * S", "S", "BN", "V")),
             *kind.loaded("key", "k", *own, "BE", "E", across), *kind.loaded("value", "v", *own, "BV", "V", across),
             f"to_key = tl.zeros([BN, BE], {kind.wide})", f"to_value = tl.zeros([BN, BV], {kind.wide})",
             "for member in range(0, G):", "    head = key_head * G + member", "    group = batch * H + head",
             *_indent(kind.described(("q", "group * L", "L", "BM", "E"), ("g", "group * L", "L", "BM", "V"))),
             *_indent(kind.over_queries(body)), "to_key = to_key * SCALE",
             kind.put("gk", "under * S", "j", "S", "E", "to_key"),
             kind.put("gv", "under * S", "j", "S", "V", kind.shared("to_value"))]
    return kind.emit("attention_key_grad", kind.parameters(kind.reads(KEYS), ("gk", "gv")), lines)
