"""Matrix products: z[b, m, n] = sum over k of x[b, m, k] * y[b, k, n], any strides, summed in float32 (float64 in float64).

A factor is in memory, or computed where it is loaded (`prologue.py`). One program makes one tile of z; programs go over z in
groups of rows of tiles, so their factors stay in the cache. Strides of 1 are constants in the text, since vector loads need to
know them.
"""

import functools
from dataclasses import dataclass

from .....ir import dtype as dt
from .....ir.symbols.substitute import choice
from ..ir.nest import memory
from ..ir.source import POINTER, SIZE, Parameter, Source, kinds_of, stated_dot
from ..ir.spelling import TYPE
from ..loops.configs import has_warp_groups, power_of_two
from . import epilogue, matmul_hopper, prologue

CONSTANTS = ("INDEX", "BM", "BN", "BK", "GROUP")
GROUP = 8
LEAST = 16          # least size of a tile that tl.dot takes
MANY = 128 * 256 * 128   # result elements from which the widest tiles keep every multiprocessor busy
LONG = 256          # depth from which storing a result is cheap beside its sums; below it, concurrent programs count
NARROWER = 1.15     # time factor of tiles of half the width, with all multiprocessors busy
MOST_PARTS = 32     # most parts of a product's depth
LEAST_DEPTH = 512   # elements of a part
# Rates of a large chip (132 multiprocessors) per second: multiply-adds of one multiprocessor by bytes of an element, those
# without tensor cores, bytes of memory; and the time of a launch in a graph. They serve choices, not predictions.
PROCESSORS, WORTH_A_LAUNCH = 132, 5
ALONE = 1.9         # time factor of a program alone on a multiprocessor: nothing hides its loads
RATES, EXACT_RATE, BANDWIDTH, LAUNCH = {1: 9e12, 2: 6.5e12, 4: 2.3e12, 8: 0.4e12}, 0.3e12, 2.5e12, 2e-6


@dataclass(frozen=True)
class Tiles:
    """Sizes of a program's tile, warps and stages; `strategy` is one of `matmul_hopper.py`, or empty."""

    m: int
    n: int
    k: int
    warps: int
    stages: int
    strategy: str = ""

    @property
    def constants(self) -> tuple:
        return (("BM", self.m), ("BN", self.n), ("BK", self.k), ("GROUP", GROUP))

    def shared(self, x: int, y: int = 0) -> int:
        """Return the shared memory of the tiles being loaded, for x and y bytes per element (y as x by default)."""
        return self.stages * (self.m * x + self.n * (y or x)) * self.k


@functools.lru_cache(512)
def source(dtype, precision: str, x_units, y_units, fused=None, along: tuple = ()) -> Source:
    """Return the file for products of a dtype (or of `Kinds`).

    `x_units` and `y_units` say which of the last two strides of each factor is 1, or how it is computed (`prologue.Before`).
    `fused` is an epilogue; `along` says for each of its operands whether (rows, batches) differ.
    """
    kinds = kinds_of(dtype)
    wide = dt.float64 if kinds.x is dt.float64 else dt.float32
    x = _factor("x", kinds.x, x_units, ("row[:, None]", "(row[:, None] < M)"), ("at_k[None, :]", "(at_k[None, :] < K)"))
    y = _factor("y", kinds.y, y_units, ("at_k[:, None]", "(at_k[:, None] < K)"), ("column[None, :]", "(column[None, :] < N)"))
    after = None if fused is None else epilogue.written(fused, along)
    operands, steps = ((), ()) if after is None else after.parameters
    z = Parameter("z", POINTER, memory(kinds.z if fused is None else fused.stored))
    sizes = [Parameter(n, SIZE) for n in "MNK"]
    parameters = (*x.pointers, *y.pointers, z, *operands, *sizes, *x.sizes, *y.sizes, *steps)
    name = f"matmul_{kinds.short}_{''.join(map(_mark, (x_units, y_units)))}{'' if precision == 'ieee' else '_' + precision}"
    name += "" if fused is None else "_" + fused.name
    heading = ", ".join([p.name for p in parameters] + [f"{c}: tl.constexpr" for c in CONSTANTS])
    helpers = epilogue.joined_helpers(x.helpers, y.helpers, "" if after is None else after.helpers)
    text = _TEXT.format(name=name, heading=heading, factors="".join(f"        {line}\n" for line in (*x.lines, *y.lines)),
                        wide=TYPE[wide], narrow=TYPE[kinds.z], stated=stated_dot(kinds.x, precision), helpers=helpers,
                        result="z_tile" if after is None else after.result,
                        after="" if after is None else "".join(line + "\n" for line in after.lines))
    return Source(name, text, parameters, CONSTANTS)


def _factor(name, dtype, how, first, second) -> prologue.Tile:
    if type(how) is prologue.Before:
        return prologue.computed(name, how, first, second)
    return prologue.loaded(name, dtype, how, first, second, Parameter(name, POINTER, dtype))


def _mark(how) -> str:
    return f"_{how.name}_" if type(how) is prologue.Before else "".join("1" if u else "s" for u in how)


_TEXT = '''"""Made by ingot."""

import triton
import triton.language as tl


{helpers}@triton.jit
def {name}({heading}):
    batch = tl.program_id(1).to(INDEX)
    program = tl.program_id(0)
    across = tl.cdiv(N, BN).to(tl.int32)
    down = tl.cdiv(M, BM).to(tl.int32)
    group = program // (GROUP * across)
    first = group * GROUP
    height = tl.minimum(down - first, GROUP)
    inside = program % (GROUP * across)
    row = ((first + inside % height) * BM + tl.arange(0, BM)).to(INDEX)
    column = ((inside // height) * BN + tl.arange(0, BN)).to(INDEX)
    total = tl.zeros([BM, BN], {wide})
    for from_k in range(0, K, BK):
        at_k = (from_k + tl.arange(0, BK)).to(INDEX)
{factors}        total = tl.dot(x_tile, y_tile, total{stated})
    z_tile = total.to({narrow})
{after}    place = z + (batch * M * N + row[:, None] * N + column[None, :])
    tl.store(place, {result}, (row[:, None] < M) & (column[None, :] < N))
'''


# (BM, BN, BK, warps, stages) of products that round as float32 does. Larger tiles need fewer bytes of shared memory and L2 per
# multiply-add. A depth of 16 fits registers, since such a dot loads its operands' whole depth at once.
EXACT = (Tiles(128, 128, 16, 8, 2), Tiles(128, 64, 16, 4, 2), Tiles(64, 128, 16, 4, 2), Tiles(64, 64, 16, 4, 3))
# If each of the least tiles has a multiprocessor, the time of one counts: two warps of 4 results per thread read two thirds of
# the shared memory of four warps of 2.
SMALL, LEAST_EXACT = Tiles(32, 32, 32, 4, 2), Tiles(16, 16, 64, 2, 3)
EVERY = (*EXACT, SMALL, LEAST_EXACT)
EXACT_COSTS = {128 * 128: 1.3, 128 * 64: 1.0, 64 * 64: 0.97, 32 * 32: 1.45, 16 * 16: 1.95}      # per element (on an H200; that
# of the least tile from its loads of shared memory)
WAVE = 132          # programs that occupy all multiprocessors of a large chip
HOPPER_SHARED = 200 << 10     # shared bytes that a block exceeds only from sm_90 on


def _exact(dtype, m, n, batch) -> list:
    """Return tiles for products without tensor cores (also float64, whose tensor cores are small), the fastest first."""
    if dtype is dt.float64:
        size = 64 if min(m, n) >= 64 else 32
        return [Tiles(size, size, 16, 4 if size == 32 else 8, 2)]
    return [EVERY[i] for i in _by_waves(m, n, batch)]


@functools.lru_cache(4096)
def _by_waves(m, n, batch) -> list:
    """Return the indices in EVERY of EXACT's fitting tiles, of SMALL, and of the least one if it pays, the fastest first."""
    rows, columns = power_of_two(m), power_of_two(n)
    few = rows * columns * batch <= WAVE * LEAST_EXACT.m * LEAST_EXACT.n

    def waves(i):
        t = EVERY[i]
        return -(-(-(-m // t.m) * -(-n // t.n) * batch) // WAVE) * t.m * t.n * EXACT_COSTS[t.m * t.n]

    fit = [i for i, t in enumerate(EXACT) if t.m <= rows and t.n <= columns]
    return sorted([*fit, len(EXACT), *([len(EXACT) + 1] if few else [])], key=waves)


_quickest = choice("quickest_exact", lambda m, n, batch: _by_waves(m, n, batch)[0])


def _first_exact(dtype, m, n, batch) -> Tiles:
    """Return the first of them, by a choice that scopes treat as one condition."""
    return _exact(dtype, m, n, batch)[0] if dtype is dt.float64 else EVERY[_quickest(m, n, batch)]


def tiles(dtype, m: int, n: int, k: int, tensor_cores: bool, shared_memory: int, batch: int = 1, loaded=(),
          crossed: bool = False) -> Tiles:
    """Return the tile for a product of these sizes: large ones for much work, small ones for small matrices, and several
    programs per multiprocessor if the depth is too short to hide loads.

    `loaded` is the bytes loaded per element of each factor if one is computed, which takes registers of wider tiles; `crossed`
    says that the second factor is contiguous along the depth.
    """
    if not tensor_cores:
        return _first_exact(dtype, m, n, batch)
    if shared_memory >= HOPPER_SHARED and not loaded and dtype.itemsize in (2, 4):
        found = _of_groups(dtype, m, n, k, batch, crossed)
    else:
        widest = 128 if shared_memory >= HOPPER_SHARED else min(128, 256 // dtype.itemsize)
        # (mma.sync keeps operands in registers, and wider tiles would spill)
        bm, bn = max(LEAST, power_of_two(min(128, m))), max(LEAST, power_of_two(min(widest, n)))
        found = Tiles(bm, bn, _depth(_deep(dtype), dtype, k), 8 if bm * bn > 64 * 64 else 4, 3 if k > 2 * _deep(dtype) else 2)
    while found.shared(*(loaded or (dtype.itemsize,))) > shared_memory and found.stages > 1:
        found = Tiles(found.m, found.n, found.k, found.warps, found.stages - 1)
    return found


def _of_groups(dtype, m, n, k, batch, crossed) -> Tiles:
    """Return the tile of a chip with warp groups, as measured on an H200: one wide tile per multiprocessor if sums are long and
    many, else two of four warps, at half height if there are too few. A crossed second factor needs whole lines."""
    deep, has_many = _deep(dtype), batch * m * n >= MANY and k >= LONG
    if has_many and not crossed and 2 * _waves(m, n, 256, batch) <= NARROWER * _waves(m, n, 128, batch):
        return Tiles(128, 256, deep, 8, 3 if dtype.itemsize == 2 else 4)
    few = 2 * batch * -(-m // 128) * -(-n // 128) <= WAVE
    bm, bn = max(LEAST, power_of_two(min(64 if few else 128, m))), max(LEAST, power_of_two(min(128, n)))
    if few or crossed or k <= deep or bm * bn < 128 * 128:
        return Tiles(bm, bn, _depth(deep, dtype, k), 4, 3 if k > 2 * deep else 2)
    return Tiles(bm, bn, _depth(deep // 2, dtype, k), 4, 4 if k > 3 * deep // 2 else 2)


def _depth(most, dtype, k) -> int:
    """Return the depth of a tile, at most `most`: all of it, and enough for whole vectors."""
    return min(most, max(LEAST, 32 // dtype.itemsize, power_of_two(min(most, k))))


def _waves(m, n, columns, batch) -> int:
    """Return how many waves of 128-row tiles all multiprocessors get."""
    return -(-batch * -(-m // 128) * -(-n // columns) // WAVE)


def depth_parts(tile: Tiles, itemsize: int, tensor_cores: bool, sizes: tuple, processors: int) -> int:
    """Return the number of parts of the depth of a product (m, n, k), each summed by programs of its own: if its tiles are too
    few, or would leave most multiprocessors idle at the end."""
    m, n, k = sizes
    count = -(-m // tile.m) * -(-n // tile.n)
    one = 2 * tile.m * tile.n * k / (RATES[itemsize] if tensor_cores else EXACT_RATE)
    whole = best = max(ALONE, -(-count // processors)) * one
    found, cut = 1, 2
    while cut <= MOST_PARTS and k % (cut * tile.k) == 0 and k // cut >= LEAST_DEPTH:
        time = max(ALONE, -(-count * cut // processors)) / cut * one + 8 * cut * m * n / BANDWIDTH + LAUNCH
        if time < min(best, 0.9 * whole):
            found, best = cut, time
        cut *= 2
    return found


def is_cut(dtype, m: int, n: int, k: int) -> bool:
    """Return whether a large chip adds a product in parts, even if its epilogue then needs another launch."""
    on_cores = dtype.itemsize <= 4
    tile = tiles(dtype, m, n, k, on_cores, HOPPER_SHARED)
    alone = 2 * tile.m * tile.n * k / (RATES[dtype.itemsize] if on_cores else EXACT_RATE)
    return alone > WORTH_A_LAUNCH * LAUNCH and depth_parts(tile, dtype.itemsize, on_cores, (m, n, k), PROCESSORS) > 1


# Seconds per multiplication lost by a factor whose other dim should be contiguous. Sums without tensor cores read columns of
# the second factor from shared memory; if each is contiguous along the depth, adjacent columns begin in the same banks: seven
# cycles for one. Warp groups take 32-bit factors along the depth only, so others are gathered element by element.
CROSSED_EXACT, CROSSED_GATHERED = 1.2e-13, 1.2e-14


def best_order(letter: str, dtype, precision: str, arch: int) -> tuple:
    """Return (which of the last two dims of a factor should be contiguous, the cost otherwise): (-1 or -2, seconds for each
    multiplication), or (0, 0.0) for either."""
    if dtype is dt.float32 and precision == "ieee":
        return (-1, CROSSED_EXACT) if letter == "y" else (0, 0.0)
    if dtype is dt.float32 and has_warp_groups(arch):
        return (-1 if letter == "x" else -2), CROSSED_GATHERED
    return 0, 0.0


def _is_worth_turning(seconds: float, m: int, n: int, k: int, batch: int, elements: int) -> bool:
    """Return whether to copy a factor of `elements` elements into the best order before a product."""
    return seconds * m * n * k * batch > 8 * elements / BANDWIDTH + LAUNCH


is_worth_turning = choice("is_worth_turning", _is_worth_turning)


def _deep(dtype) -> int:
    """Return the depth of a tile: a line of 128 bytes of each row."""
    return 128 // dtype.itemsize


def candidates(dtype, m: int, n: int, k: int, tensor_cores: bool, shared_memory: int, copies: bool = False,
               batch: int = 1, loaded=(), crossed: bool = False) -> list:
    """Return tiles worth trying, the default first; with `copies` also those with bulk copies."""
    if not tensor_cores:
        return _exact(dtype, m, n, batch)
    first, deep = tiles(dtype, m, n, k, tensor_cores, shared_memory, batch, loaded, crossed), _deep(dtype)
    sizes = [(128, 256, 8), (128, 256, 4), (256, 128, 8), (128, 128, 4), (128, 128, 8), (128, 64, 4), (64, 128, 4), (64, 64, 4),
             (64, 256, 4), (64, 32, 4), (32, 64, 4)]
    found = [first]
    for bm, bn, warps in sizes:
        if bm > 2 * power_of_two(m) or bn > 2 * power_of_two(n):
            continue
        for depth, stages in ((deep, 3), (deep, 4), (deep // 2, 4)):
            made = Tiles(bm, bn, depth, warps, stages)
            if made.shared(*(loaded or (dtype.itemsize,))) <= shared_memory and made not in found:
                found.append(made)
    return found + (_by_copies(dtype, m, n, shared_memory) if copies else [])


def _by_copies(dtype, rows, columns, shared_memory):
    made = [Tiles(m, n, k * 2 // dtype.itemsize, warps, stages, strategy)
            for strategy, sizes in matmul_hopper.TILES.items() for m, n, k, warps, stages in sizes]
    return [t for t in made if t.m <= 2 * power_of_two(rows) and t.n <= 2 * power_of_two(columns)
            and t.shared(dtype.itemsize) <= shared_memory]


def grid(m: int, n: int, batch: int, chosen: Tiles, processors: int = 1) -> tuple:
    """Return the programs that cover z."""
    count = -(-m // chosen.m) * -(-n // chosen.n)
    return (min(count, processors) if chosen.strategy == matmul_hopper.PERSISTENT else count, batch, 1)
