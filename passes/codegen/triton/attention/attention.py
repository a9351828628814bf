"""Attention without a stored score matrix: forward, and gradients of queries, keys and values.

One program has a block of queries (or of keys and values) and loops over blocks of the others; softmax statistics
are float32 (float64 in float64). Each result is written by one program, in one order, so runs agree bit for bit.
Operands are q (batches, heads, L, E), k and v (batches, key heads, S, E and V), results have the same shapes. Each is
contiguous or has a stride for each of batch, head and row (`Kind.strided`): parts of one projection are read in place,
and their gradients written into one array. The mask has strides for batch, head, query and key.

Scores are in units of log2(e), so that the exponential is one instruction; a positive scale is applied with the subtraction of
the largest (`Kind.late`), one more instruction per score. Blocks that are entirely visible need no masks: all but the
last one, or all but those on the diagonal of causal attention. Dropout masks all blocks: a comparison is cheap beside
the draws, and one loop takes fewer registers than three.

Products that round as float32 does (`Kind.depths`) have no tensor cores. Threads read factors from shared memory, with bank
conflicts unless the second one's columns are contiguous. So keys and values multiplied as columns come transposed (kt, vt),
and vectors come in pieces, since such a dot holds its factors' whole depth in registers. Blocks of 16 bits are in registers in
the layout of a tensor core's first factor. So the gradient of keys has keys as the rows of its scores, which are multiplied
without shared memory. Dropout does not do so: more threads than needed would draw rows of keys.

Blocks of causal attention differ in work. The longest come first, of many heads side by side, so that the last blocks end
soon; of no more heads than fit the chip's cache, since each block would read them from memory again.

On Hopper chips the tuner may take another strategy, as for products (`matmul_hopper.py`): blocks come by bulk copies. (Warp
specialisation for the copies gave nan on an H200 for blocks with edges. Computing the next block's scores ahead, to
overlap exponentials with products, was slower.)
"""

import functools
from dataclasses import dataclass, replace

from .....ir import dtype as dt
from .....ir.reference import philox
from ..ir.source import NUMBER, POINTER, SIZE, Parameter, Source, emit, stated_dot
from ..ir.spelling import TYPE

NO_MASK, BOOLS, ADDED = "none", "bools", "added"
LOADS, COPIES = "", "copies"   # strategies
LOG2E, LN2 = 1.4426950408889634, 0.6931471805599453
UNITS = f"(SCALE * {LOG2E})"
LEAST_SCALE = 2.0 ** -100      # least scale that keeps -inf scores -inf
_MASK_STRIDES = ("m_b", "m_h", "m_q", "m_k")
LARGEST = 128                  # rows of the largest tile
HEADS, KEY_HEADS = ("q", "g", "out", "gq"), ("k", "v", "gk", "gv")      # arrays that may have strides, by their heads
STATISTICS = "lse", "delta", "sums", "stats"
CONSTANTS = ("INDEX", "E", "V", "BE", "BV", "BM", "BN", "SCALE")
PIECE = 16                     # elements of a vector in a piece
NEAR = 32 << 20                # bytes that fit a large chip's cache, read by blocks of several heads
FORWARD, QUERIES, KEYS = "forward", "queries", "keys"

NO_DROPOUT, ALIGNED_DRAWS, SHIFTED_DRAWS = "", "drops", "shifted_drops"
DRAW_WORDS = 4               # words of a Philox block
DRAW_POINTERS = (Parameter("draws", POINTER, dt.uint64),)                  # (seed, call)
# Threshold of words for kept elements, and the factor of kept ones.
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


def dropout_mask_lines(how: str) -> list:
    """Return lines for `stays` of a block of scores [BM, BN], of rows `i` of a `group` and columns from `from_j`."""
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
    """Return the names of an operand's strides: of batches, heads and rows."""
    return tuple([f"{name}_{what}" for what in "bhr"])


@dataclass(frozen=True)
class Kind:
    """Options that determine the text of an attention kernel."""

    dtype: dt.DType
    mask: str
    causal: bool
    precision: str = "ieee"
    even: bool = False         # vectors fill their tiles
    full: bool = False         # lengths fill any tile (set on Hopper only: it costs registers elsewhere)
    late: bool = False         # scores are scaled when they are read, which keeps their order
    strided: tuple = ()        # operands and results with strides; row strides are compiled in
    strategy: str = LOADS
    drops: str = NO_DROPOUT    # dropout, and the alignment of its words
    depths: tuple = ()         # pieces of query and value vectors, for products rounded as float32
    keys_down: bool = False    # whether rows of score blocks are keys, and columns queries

    @property
    def is_copied(self) -> bool:
        """Whether blocks come by bulk copies."""
        return self.strategy == COPIES

    @property
    def block(self) -> str:
        """Shape of a block of scores."""
        return "[BN, BM]" if self.keys_down else "[BM, BN]"

    def along(self, index) -> str:
        """Return the index that lays numbers of queries ("i") or keys ("j") along their side of a block."""
        return "[:, None]" if (index == "j") == self.keys_down else "[None, :]"

    @property
    def wide(self) -> str:
        """Type of scores and statistics."""
        return TYPE[dt.accumulator(self.dtype)]

    def dtype_of(self, name) -> dt.DType:
        """Return the dtype of an operand or a result in memory."""
        return dt.accumulator(self.dtype) if name in STATISTICS else self.dtype

    def name(self, what: str) -> str:
        """Return a kernel's name."""
        options = {self.mask: self.mask != NO_MASK, "causal": self.causal, self.precision: self.precision != "ieee",
                "even": self.even, "full": self.full, "late": self.late, "strided": bool(self.strided),
                self.drops: bool(self.drops)}
        marks = [what, self.dtype.short, *[mark for mark, is_so in options.items() if is_so], *self.strided]
        marks += [f"{n}x{PIECE}" for n in self.depths]
        return "_".join([*marks, *([self.strategy] if self.strategy else [])])

    def dot(self, a, b, total, size="") -> str:
        """Return total + a b; with a size, along vectors of that size, which may come in pieces."""
        stated, pieces = stated_dot(self.dtype, self.precision), self.pieces(size)
        for n in range(pieces):
            total = f"tl.dot({a}{n}, {b}{n}, {total}{stated})"
        return total if pieces else f"tl.dot({a}, {b}, {total}{stated})"

    def pieces(self, size) -> int:
        """Return the number of pieces of vectors of a size ("E" or "V"); 0 for whole ones."""
        return dict(zip("EV", self.depths)).get(size, 0)

    def reads(self, part) -> tuple:
        """Return the arrays that the kernel of a part reads."""
        if part == FORWARD:
            return ("q", "kt", "v") if self.depths else ("q", "k", "v")
        keys = ("k", "v") if not self.depths else ("k", "kt", "vt") if part == QUERIES else ("kt", "vt")
        return "g", "q", *keys, "lse", "delta"

    @property
    def constants(self) -> tuple:
        """Names of the compile-time constants."""
        return (*CONSTANTS, *[strides_of(name)[2] for name in self.strided])

    def parameters(self, reads, writes) -> list:
        """Return pointers by name, then sizes."""
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
    def drawn(self) -> list:
        """Lines for the mask of a block's kept probabilities."""
        return dropout_mask_lines(self.drops) if self.drops else []

    def dropped(self, x, shared=True) -> str:
        """Return the kept part of a block, scaled unless its sum is."""
        return f"tl.where(stays, {x}{' * share' if shared else ''}, 0.0)" if self.drops else x

    def shared(self, x) -> str:
        """Return a sum of kept probabilities, scaled."""
        return f"({x} * share)" if self.drops else x

    def emit(self, what, parameters, lines) -> Source:
        """Return the file of a kernel."""
        key, helpers = (DRAW_KEY, DRAW_HELPERS) if self.drops else ([], "")
        return emit(self.name(what), parameters, self.constants, [*key, *lines], True, helpers)

    def scores(self, rows, columns, masked=True) -> list:
        """Return lines for `s` of a block from its rows and columns, in units of log2(e) (or unscaled), -inf where masked."""
        product = self.dot(rows, columns, f"tl.zeros({self.block}, {self.wide})", "E")
        return [f"s = {product}{'' if self.late else f' * {UNITS}'}", *self.mask_scores(masked)]

    def mask_scores(self, masked=True) -> list:
        """Return lines that set the scores `s` of a block to -inf where masked."""
        i, j = (f"{index}{self.along(index)}" for index in "ij")
        rows = [f"({i} < L)"] if self.mask != NO_MASK else []       # (results of other rows are discarded)
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
        """Return the largest score of each row."""
        return f"tl.max(s, 1) * {UNITS}" if self.late else "tl.max(s, 1)"

    def powers(self, less) -> str:
        """Return 2 to the power of each score less a number of its row."""
        return f"tl.exp2(tl.fma(s, {UNITS}, 0.0 - {less}))" if self.late else f"tl.exp2(s - {less})"

    def described(self, *blocks) -> list:
        """Return lines for descriptors of blocks (name, first row, row count, block's rows, size); none without bulk copies."""
        return [f"{name}_rows = tl.make_tensor_descriptor({name} + {self.start(name, base, size)}, [{count}, {size}], "
                f"[{self.step(name, size)}, 1], [{block}, B{size}])"
                for name, base, count, block, size in (blocks if self.is_copied else ())]

    def start(self, name, base, size) -> str:
        """Return the address of a head's first row; `base` is its number if rows are contiguous."""
        if name not in self.strided:
            return f"{base} * {size}"
        batch, head, _ = strides_of(name)
        return f"(batch * {batch} + {'head' if name in HEADS else 'key_head'} * {head})"

    def step(self, name, size) -> str:
        """Return the elements between rows."""
        return strides_of(name)[2] if name in self.strided else size

    def put(self, name, base, index, count, size, value) -> str:
        """Return a store of rows."""
        column = "e" if size == "E" else "f"
        at = f"{self.start(name, base, size)} + {index}[:, None] * {self.step(name, size)} + {column}[None, :]"
        inside = self.inside(f"({index} < {count})[:, None]", f"({column} < {size})[None, :]")
        return f"tl.store({name} + ({at}), {value}.to({TYPE[self.dtype]}){inside})"

    def inside(self, row, column, masked=True) -> str:
        """Return the mask of a load or a store from the conditions of rows and columns with edges, after ", "."""
        masks = [*([row] if masked and not self.full else []), *([] if self.even else [column])]
        return f", {' & '.join(masks)}" if masks else ""

    def loaded(self, name, of, base, index, count, width, size, across=False, masked=True) -> list:
        """Return lines that load rows (or their transpose) to multiply along vectors: `name`, or its numbered pieces."""
        given = of, base, index, count, width, size, across, masked
        pieces = [(f"{name}{n}", str(n)) for n in range(self.pieces(size))] or [(name, "")]
        return [f"{piece} = {self.rows(*given, n)}" for piece, n in pieces]

    def rows(self, name, base, index, count, width, size, across=False, masked=True, piece="") -> str:
        """Return a load of rows [index, width] (or a piece of their vectors) or of the transpose; 0 beyond `count`."""
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
        """Return lines with `body(masked)` for the blocks of keys of a block of queries, first to last."""
        last = "tl.minimum(S, (block + 1) * BM)" if self.causal else "S"
        if self.full and not self.causal and self.mask == NO_MASK:
            return [_loop("0", "S", "BN"), *indented(body(False))]
        if self.mask != NO_MASK or self.drops:
            return [f"last = {last}", _loop("0", "last", "BN"), *indented(body(True))]
        whole = "tl.minimum(S, block * BM)" if self.causal else "S"
        return [f"last = {last}", f"whole = {whole} // BN * BN", _loop("0", "whole", "BN"), *indented(body(False)),
                _loop("whole", "last", "BN"), *indented(body(True))]

    def over_queries(self, body) -> list:
        """Return lines for the blocks of queries of a block of keys: those on the diagonal, then those that see all of it.
        Queries beyond the last have no probabilities."""
        first = "block * BN // BM * BM" if self.causal else "0"
        if self.mask != NO_MASK or self.drops:
            return [_loop(first, "L", "BM"), *indented(body(True))]
        edges = ["crossed = tl.minimum(tl.cdiv((block + 1) * BN, BM) * BM, tl.cdiv(L, BM) * BM)",
                 _loop(first, "crossed", "BM"), *indented(body(True))] if self.causal else []
        return [*edges, _loop("crossed" if self.causal else "0", "L", "BM"), *indented(body(False))]


def _loop(first, last, step) -> str:
    return f"for start in range({first}, {last}, {step}):"


def indented(lines) -> list:
    """Return lines of an inner block."""
    return ["    " + x for x in lines]


def _columns(kind) -> list:
    """Return lines for the numbers of a vector's elements, and those of its pieces."""
    pieces = [f"{c}{n} = tl.arange(0, {PIECE}) + {PIECE * n}" for c, size in (("e", "E"), ("f", "V"))
              for n in range(kind.pieces(size))]
    return ["e = tl.arange(0, BE)", "f = tl.arange(0, BV)", *pieces]


_KEYS = ["from_j = start", "j = (from_j + tl.arange(0, BN)).to(INDEX)"]


def _scheduled(kind, group, rows, tile, near, last_first) -> list:
    """Return lines for a program's `block` and `group`; `near` groups' rows (`held`) fit the chip's cache."""
    lines = [f"across = tl.cdiv({rows}, {tile})", "program = tl.program_id(0)"]
    if not kind.causal:
        return [*lines, "block = program % across", f"{group} = (program // across).to(INDEX)"]
    return [*lines, f"held = {NEAR // kind.dtype.itemsize} // (E + V)", "groups = tl.num_programs(0) // across",
            f"near = tl.maximum(1, tl.minimum(groups, {near}))", "before = program // (near * across) * near",
            "beside = tl.minimum(near, groups - before)", "place = program - before * across",
            f"block = {'across - 1 - ' if last_first else ''}place // beside", f"{group} = (before + place % beside).to(INDEX)"]


def _own_queries(kind, upstream=False) -> list:
    return [*_scheduled(kind, "group", "L", "BM", "held * G // S", True),
            "batch = group // H", "head = group % H", "key_head = head // G",
            "under = (batch * (H // G) + head // G) * S", "from_i = block * BM",
            "i = (from_i + tl.arange(0, BM)).to(INDEX)", *_columns(kind),
            *kind.described(("q", "group * L", "L", "BM", "E"), ("k", "under", "S", "BN", "E"), ("v", "under", "S", "BN", "V"),
                            *([("g", "group * L", "L", "BM", "V")] if upstream else [])),
            *kind.loaded("query", "q", "group * L", "i", "L", "BE", "E"),
            *(kind.loaded("up", "g", "group * L", "i", "L", "BV", "V") if upstream else [])]


@functools.lru_cache(64)
def forward(kind: Kind) -> Source:
    """Return the kernel for out and the logsumexp of each row."""
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
    """Return lines for `p` and `ds` of a block; the statistics of queries are read here unless they are `there`."""
    lse, delta = ([], []) if there else ([x] for x in _row_statistics(kind))
    slope, side = kind.dropped(kind.dot(rows, columns, f"tl.zeros({kind.block}, {kind.wide})", "V")), kind.along("i")
    return [*kind.drawn, *lse, f"p = {kind.powers(f'row_lse{side}')}", *delta, f"ds = p * ({slope} - row_delta{side})"]


def _row_statistics(kind) -> tuple:
    lse, delta = ("", "") if kind.full else (', i < L, float("inf")', ", i < L, 0.0")
    return (f"row_lse = tl.load(lse + (group * L + i){lse}) * {LOG2E}",
            f"row_delta = tl.load(delta + (group * L + i){delta})")


@functools.lru_cache(64)
def query_grad(kind: Kind, slopes: bool) -> Source:
    """Return the kernel for the gradient of queries; with `slopes`, of all scores (groups, L, S) too."""
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

    every = [_loop("0", "S", "BN"), *indented(body(True))]
    lines = [*_own_queries(kind, True), *_row_statistics(kind), f"acc = tl.zeros([BM, BE], {kind.wide})",
             *(every if slopes else kind.over_keys(body)), "acc = acc * SCALE",
             kind.put("gq", "group * L", "i", "L", "E", "acc")]
    writes = ("gq", "ds_out") if slopes else ("gq",)
    what = "attention_query_grad" + ("_slopes" if slopes else "")
    return kind.emit(what, kind.parameters(kind.reads(QUERIES), writes), lines)


@functools.lru_cache(64)
def key_grad(kind: Kind) -> Source:
    """Return the kernel for the gradients of keys and values: all query heads of a key head, one after the other."""
    kind = replace(kind, keys_down=kind.dtype.itemsize == 2 and not kind.drops)
    narrow, stays = TYPE[kind.dtype], kind.dropped("p", shared=False)
    before = bool(kind.drops)       # whether statistics are read before scores: draws leave few registers

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
    lines = [*_scheduled(kind, "under", "S", "BN", "held // (L * G)", False),
             "batch = under // (H // G)", "key_head = under % (H // G)",
             "from_j = block * BN", "j = (from_j + tl.arange(0, BN)).to(INDEX)", *_columns(kind),
             *kind.described(("k", "under * S", "S", "BN", "E"), ("v", "under * S", "S", "BN", "V")),
             *kind.loaded("key", "k", *own, "BE", "E", across), *kind.loaded("value", "v", *own, "BV", "V", across),
             f"to_key = tl.zeros([BN, BE], {kind.wide})", f"to_value = tl.zeros([BN, BV], {kind.wide})",
             "for member in range(0, G):", "    head = key_head * G + member", "    group = batch * H + head",
             *indented(kind.described(("q", "group * L", "L", "BM", "E"), ("g", "group * L", "L", "BM", "V"))),
             *indented(kind.over_queries(body)), "to_key = to_key * SCALE",
             kind.put("gk", "under * S", "j", "S", "E", "to_key"),
             kind.put("gv", "under * S", "j", "S", "V", kind.shared("to_value"))]
    return kind.emit("attention_key_grad", kind.parameters(kind.reads(KEYS), ("gk", "gv")), lines)
