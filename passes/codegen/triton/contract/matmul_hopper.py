"""Matrix products whose tiles come by the copy engine of Hopper chips (`tl.make_tensor_descriptor`).

The tuner may take these strategies, and wide products take one without it.

    TMA         a program for each tile, as in `matmul.py`, whose operands come by bulk copies into shared memory
    SPECIAL     the same, with warps that only issue copies, beside those that multiply
    PERSISTENT  as many programs as multiprocessors, each with one tile after the other: the next tile's copies begin while this
                one is stored

A descriptor needs addresses and row strides that are multiples of 16 bytes, and one stride of each operand to be 1. Elements
beyond the edges come as zeros.
"""

import functools

from .....ir import dtype as dt
from ..ir.nest import memory
from ..ir.source import POINTER, SIZE, Parameter, Source, emit, kinds_of, stated_dot
from ..ir.spelling import TYPE
from . import epilogue

TMA, SPECIAL, PERSISTENT = "tma", "special", "persistent"
ALIGNED = 16           # bytes
# (BM, BN, BK, warps, stages) of each strategy. Only loops of four warps are split into copying and multiplying ones: two groups
# of four share rows from 128 on, and compute fewer rows twice.
TILES = {TMA: ((128, 256, 64, 8, 3), (128, 128, 64, 4, 3), (128, 128, 64, 8, 4)),
         SPECIAL: ((128, 128, 64, 4, 4), (128, 256, 64, 4, 3), (256, 128, 64, 4, 3)),
         PERSISTENT: ((128, 256, 64, 8, 3), (128, 128, 64, 8, 3), (128, 128, 64, 4, 3))}


TURNS = 2              # tiles per multiprocessor from which persistent programs pay


def pays(m: int, n: int, batch: int, processors: int) -> bool:
    """Return whether to take the first persistent tile without trying, for a crossed second factor: 0.8 to 0.95 of other tiles'
    time on an H200, if each multiprocessor has several."""
    bm, bn, *_ = TILES[PERSISTENT][0]
    return batch * -(-m // bm) * -(-n // bn) >= TURNS * processors


def takes(dtype, arch: int, x_last: tuple, y_last: tuple, addresses) -> bool:
    """Return whether these strategies exist: 16- and 8-bit floats on Hopper, by the last two strides of operands in elements,
    and all byte addresses and batch strides. 8-bit operands must be contiguous along the depth."""
    kind = kinds_of(dtype).x
    if kind not in dt.NARROW or arch // 10 != 9 or (kind in dt.FLOAT8 and (x_last[1] != 1 or y_last[0] != 1)):
        return False
    strides = [max(last) * kind.itemsize for last in (x_last, y_last)]
    single = all(sorted(s == 1 for s in last) == [False, True] and min(last) > 0 for last in (x_last, y_last))
    return single and not any(n % ALIGNED for n in (*strides, *addresses))


def _descriptor(name, strides, units, sizes, blocks) -> str:
    """Return a line for an operand's descriptor. Its rows are along the stride other than 1."""
    row = units.index(False)
    shape, block = ((x[row], x[1 - row]) for x in (sizes, blocks))
    return (f"{name}_tiles = tl.make_tensor_descriptor({name} + batch * {strides[0]}, [{', '.join(shape)}], "
            f"[{strides[1 + row]}, 1], [{', '.join(block)}])")


def _load(name, units, at) -> str:
    row = units.index(False)
    load = f"{name}_tiles.load([{at[row]}, {at[1 - row]}])"
    return load if row == 0 else f"tl.trans({load})"


@functools.lru_cache(256)
def source(dtype, precision: str, x_units: tuple, y_units: tuple, constants: tuple, strategy: str, fused=None,
           along: tuple = ()) -> Source:
    """Return the file of a strategy; arguments and parameters as in `matmul.source`."""
    kinds = kinds_of(dtype)
    after = None if fused is None else epilogue.written(fused, along)
    operands, steps = ((), ()) if after is None else after.parameters
    x, y = ("s_xb", "s_xm", "s_xk"), ("s_yb", "s_yk", "s_yn")
    sizes = ["M", "N", "K", x[0], x[1 + x_units.index(False)], y[0], y[1 + y_units.index(False)]]
    stored = kinds.z if fused is None else memory(fused.stored)
    own = [Parameter(n, POINTER, d) for n, d in (("x", kinds.x), ("y", kinds.y), ("z", stored))]
    parameters = (*own, *operands, *[Parameter(n, SIZE) for n in sizes], *steps)
    split = ", warp_specialize=True" if strategy == SPECIAL else ""
    tile = ["group = program // (GROUP * across)", "first = group * GROUP", "height = tl.minimum(down - first, GROUP)",
            "inside = program % (GROUP * across)", "down_to, across_to = first + inside % height, inside // height",
            *_starts(strategy), "total = tl.zeros([BM, BN], tl.float32)",
            f"for step in tl.range(0, tl.cdiv(K, BK).to(tl.int32){split}):",
            "    from_k = step * BK",
            f"    left = {_load('x', x_units, ('from_row', 'from_k'))}",
            f"    right = {_load('y', y_units, ('from_k', 'from_column'))}",
            f"    total = tl.dot(left, right, total{stated_dot(kinds.x, precision)})",
            "row = (down_to * BM + tl.arange(0, BM)).to(INDEX)", "column = (across_to * BN + tl.arange(0, BN)).to(INDEX)",
            f"z_tile = total.to({TYPE[kinds.z]})",
            *([] if after is None else [line.removeprefix("    ") for line in after.lines]),
            "place = z + (batch * M * N + row[:, None] * N + column[None, :])",
            f"tl.store(place, {'z_tile' if after is None else after.result}, (row[:, None] < M) & (column[None, :] < N))"]
    if strategy == PERSISTENT:
        tile = ["for program in tl.range(tl.program_id(0), across * down, tl.num_programs(0), flatten=True):",
                *["    " + line for line in tile]]
    else:
        tile = ["program = tl.program_id(0)", *tile]
    lines = ["batch = tl.program_id(1).to(INDEX)", _descriptor("x", x, x_units, ("M", "K"), ("BM", "BK")),
             _descriptor("y", y, y_units, ("K", "N"), ("BK", "BN")), "across = tl.cdiv(N, BN).to(tl.int32)",
             "down = tl.cdiv(M, BM).to(tl.int32)", *tile]
    marks = "".join("1" if u else "s" for u in (*x_units, *y_units))
    name = f"matmul_{strategy}_{kinds.short}_{marks}" + ("" if precision == "ieee" else "_" + precision)
    name += "" if fused is None else "_" + fused.name
    return emit(name, parameters, constants, lines, helpers="" if after is None else after.helpers)


def _starts(strategy) -> list:
    """Return lines for the first indices of the factors' tiles. Triton shifts them for the second of two warp groups; results
    are shifted by their own, so they must be different values."""
    if strategy != SPECIAL:
        return ["from_row, from_column = down_to * BM, across_to * BN"]
    return ["from_row, from_column = (down_to + 1) * BM - BM, (across_to + 1) * BN - BN"]
