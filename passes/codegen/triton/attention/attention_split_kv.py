"""Split-KV attention: few queries over many keys, as in decoders.

A program per head would leave most multiprocessors idle, so keys are divided too. A program has the queries of all heads that
read one head of keys, as rows of a tile, and one part of the keys. For each row it leaves the largest score, the sum of the
powers below that, and the values weighted with these powers, in float32; a second kernel joins the parts of a row in their
order. So results depend on sizes and the number of multiprocessors alone.

A single row multiplies without tensor cores. Each of the tile's BN places takes every BN-th key with statistics of its own,
which are joined at the end: no thread waits for another except within a score's sum.

Operands and strides are those of `attention.py`.
"""

import functools

from .....ir.symbols.substitute import choice
from .....ir.symbols.symbolic import power_of_two
from ..ir.source import SIZE, Parameter, Source, emit
from ..ir.spelling import TYPE
from .attention import BOOLS, CONSTANTS, LN2, LOG2E, NO_MASK, UNITS, Kind, indented, strides_of
from .attention_configs import constants

READS, LEAVES = ("q", "k", "v"), ("sums", "stats")
MOST_QUERIES = 64           # most queries of a head
LEAST_KEYS = 128            # least keys of a part
PROGRAMS = 4                # most programs per multiprocessor: half as many keep memory busy
TOGETHER = 16               # parts joined at a time
_ROOM = "((V + 3) // 4 * 4)"     # elements between weighted values, which begin on whole vectors
_LANES = 4096               # elements of a tile of keys or values, for a single row


def keys_of_part(groups: int, members: int, length: int, keys: int, most: int, processors: int) -> int:
    """Return the keys of a part, for heads of keys (of all batches) that `members` heads of queries share each; 0 if one part
    is better. `most` as in `rows_of_tile`."""
    tiles = groups * -(-members * length // rows_of_tile(members * length, most))
    whole = groups * members * -(-length // 128)
    if length > MOST_QUERIES or 2 * whole > processors:
        return 0
    part = max(LEAST_KEYS, power_of_two(-(-keys * tiles // (PROGRAMS * processors))))
    return part if 2 * part <= keys else 0


def rows_of_tile(rows: int, most: int) -> int:
    """Return the rows of a tile for this many rows, at most `most`."""
    return 1 if rows == 1 else min(most, max(16, power_of_two(rows)))


def most_rows(kind: Kind) -> int:
    """Return the most rows of a kind that registers and small chips' shared memory hold: few for products rounded as float32,
    without tensor cores."""
    return 64 if kind.dtype.itemsize == 2 else 32 if kind.precision != "ieee" else 16


cut = choice("keys_of_part", keys_of_part)
tile_of = choice("rows_of_tile", rows_of_tile)


def tiles(kind: Kind, e: int, v: int, scale: float, rows: int) -> tuple:
    """Return (constants, warps, stages) of a tile of `rows` rows."""
    wide = max(16, power_of_two(e), power_of_two(v))
    if rows == 1:
        return constants(e, v, scale, 1, max(16, min(64, _LANES // wide))), 4, 2
    narrow = kind.dtype.itemsize == 2
    keys = (64 if wide <= 128 else 32) if narrow else 32 if wide <= 64 else 16
    return constants(e, v, scale, rows, keys), 8 if rows == 64 else 4, 3 if narrow and wide <= 128 else 2


def scratch(rows, parts, v: int) -> tuple:
    """Return the shapes of the programs' results for rows and parts: weighted values, then statistics."""
    return (rows, parts, -(-v // 4) * 4), (rows, parts, 2)


def tile_of_join(v: int) -> tuple:
    """Return the compile-time constants of a join."""
    return ("V", v), ("BV", max(16, power_of_two(v))), ("BP", TOGETHER)


def _start(kind, name) -> str:
    """Return the address of a row's vector, or of those of several rows."""
    if name not in kind.strided:
        return f"(group * L + i) * {'E' if name == 'q' else 'V'}"
    batch, head, step = strides_of(name)
    return f"batch * {batch} + head * {head} + i * {step}"


def _scores(kind: Kind, product: str, alone: bool) -> list:
    """Return lines for `s` of a block of keys [BM, BN], or [BN] for one row, as from `Kind.scores`."""
    down, across = ("{}", "{}") if alone else ("({})[:, None]", "({})[None, :]")
    seen = [across.format("j < last"), *([] if alone else [down.format("there")])]
    if kind.causal:
        seen.append(f"({down.format('i')} >= {across.format('j')})")
    lines = [f"s = {product}{'' if kind.late else f' * {UNITS}'}", f"seen = {' & '.join(f'({x})' for x in seen)}"]
    if kind.mask != NO_MASK:
        at = f"mask + ({down.format('batch * m_b + head * m_h + i * m_q')} + {across.format('j * m_k')})"
        lines.append(f"seen = seen & (tl.load({at}, seen, 0) != 0)" if kind.mask == BOOLS else
                     f"s = s + tl.load({at}, seen, 0.0).to({kind.wide}) * {LOG2E}")
    return [*lines, 's = tl.where(seen, s, float("-inf"))']


@functools.lru_cache(64)
def partial_attention(kind: Kind, alone: bool) -> Source:
    """Return the kernel for the statistics and weighted values of each row, for one part of the keys; `alone` for a single row.
    """
    wide, of_key, of_value = kind.wide, ("under", "j", "S", "BE", "E"), ("under", "j", "S", "BV", "V")
    size, rows = ("[BN]", "shared * 0") if alone else ("[BM]", "(block * BM + tl.arange(0, BM)).to(INDEX)")
    column = "(e < E)" if alone else "there[:, None] & (e < E)[None, :]"
    at = _start(kind, "q")
    query = f"q + ({at} + e), {column}" if alone else f"q + (({at})[:, None] + e[None, :]), {column}"
    if alone:
        product, largest, added = f"tl.sum(key.to({wide}) * query[None, :], 1)", f"s * {UNITS}" if kind.late else "s", "p"
        weighted = f"acc * shrink[:, None] + p[:, None] * value.to({wide})"
    else:
        product, largest, added = kind.dot("query", "key", f"tl.zeros([BM, BN], {wide})"), kind.largest, "tl.sum(p, 1)"
        weighted = kind.dot(f"p.to({TYPE[kind.dtype]})", "value", "acc * shrink[:, None]")
    body = ["from_j = start", "j = (from_j + tl.arange(0, BN)).to(INDEX)",
            f"key = {kind.rows('k', *of_key, not alone)}", f"value = {kind.rows('v', *of_value)}",
            *_scores(kind, product, alone),
            f"higher = tl.maximum(top, {largest})", 'safe = tl.where(higher == float("-inf"), 0.0, higher)',
            f"p = {kind.powers('safe' if alone else 'safe[:, None]')}", "shrink = tl.exp2(top - safe)",
            f"total = total * shrink + {added}", f"acc = {weighted}", "top = higher"]
    last = "tl.minimum(S, first + PART)"
    lines = ["count = tl.cdiv(S, PART)", "across = tl.cdiv(G * L, BM)", "program = tl.program_id(0)",
             "part = program % count", "block = program // count % across", "shared = (program // count // across).to(INDEX)",
             "batch = shared // (H // G)",
             "key_head = shared % (H // G)", "under = shared * S", f"row = {rows}", "there = row < G * L",
             "head = key_head * G + row // L", "i = row % L", "group = batch * H + head",
             "e = tl.arange(0, BE)", "f = tl.arange(0, BV)", f"query = tl.load({query}, 0.0){f'.to({wide})' if alone else ''}",
             f'top = tl.full({size}, float("-inf"), {wide})', f"total = tl.zeros({size}, {wide})",
             f"acc = tl.zeros([{'BN' if alone else 'BM'}, BV], {wide})", "first = part * PART",
             f"last = {f'tl.minimum({last}, L)' if kind.causal else last}", "for start in range(first, last, BN):",
             *indented(body), *(_JOINED if alone else []), "at = (group * L + i) * count + part"]
    if alone:
        lines += ["tl.store(stats + 2 * at, best)", "tl.store(stats + (2 * at + 1), whole)",
                  f"tl.store(sums + (at * {_ROOM} + f), joined, f < V)"]
    else:
        lines += ["tl.store(stats + 2 * at, top, there)", "tl.store(stats + (2 * at + 1), total, there)",
                  f"tl.store(sums + (at[:, None] * {_ROOM} + f[None, :]), acc, there[:, None] & (f < V)[None, :])"]
    parameters = [*kind.parameters(READS, LEAVES), Parameter("PART", SIZE)]
    return emit(kind.name("attention_of_one" if alone else "attention_of_few"), parameters, kind.constants, lines, True)


# Lines that join the statistics and values of a tile's places into the row's.
_JOINED = ["best = tl.max(top, 0)", 'safe = tl.where(best == float("-inf"), 0.0, best)', "weight = tl.exp2(top - safe)",
           "whole = tl.sum(total * weight, 0)", "joined = tl.sum(acc * weight[:, None], 0)"]


@functools.lru_cache(64)
def join(kind: Kind) -> Source:
    """Return the kernel that joins the parts of each row into out and logsumexp; only dtype and strides of the kind matter."""
    each = ["p = start + tl.arange(0, BP)", "there = p < COUNT", "at = row * COUNT + p",
            'here = tl.load(stats + 2 * at, there, float("-inf"))']
    lines = ["row = tl.program_id(0).to(INDEX)", "f = tl.arange(0, BV)", "batch = row // L // H", "head = row // L % H",
             "i = row % L", "group = row // L", f'top = tl.full([BP], float("-inf"), {kind.wide})',
             "for start in range(0, COUNT, BP):", *indented([*each, "top = tl.maximum(top, here)"]),
             "best = tl.max(top, 0)", 'safe = tl.where(best == float("-inf"), 0.0, best)',
             f"total = tl.zeros([BP], {kind.wide})", f"acc = tl.zeros([BP, BV], {kind.wide})",
             "for start in range(0, COUNT, BP):",
             *indented([*each, "weight = tl.exp2(here - safe)",
                       "total = total + weight * tl.load(stats + (2 * at + 1), there, 0.0)",
                       f"values = tl.load(sums + (at[:, None] * {_ROOM} + f[None, :]), there[:, None] & (f < V)[None, :], 0.0)",
                       "acc = acc + weight[:, None] * values"]),
             "whole = tl.sum(total, 0)", "none = whole == 0.0", "whole = tl.where(none, 1.0, whole)",
             f"tl.store(out + ({_start(kind, 'out')} + f), (tl.sum(acc, 0) / whole).to({TYPE[kind.dtype]}), f < V)",
             f'tl.store(lse + row, tl.where(none, float("inf"), best * {LN2} + tl.log(whole)))']
    steps = kind.constants[len(CONSTANTS):]
    return emit(kind.name("attention_join"), [*kind.parameters(LEAVES, ("out", "lse")), Parameter("COUNT", SIZE)],
                ("INDEX", "V", "BV", "BP", *steps), lines, True)
