"""Which probabilities attention keeps, drawn where they are needed: the words of `ir/reference/philox.py`, numbered along the
scores.

A block of Philox has the words of four elements of a row of scores, one after the other. So each block of four keys is drawn
once, as four bits, which are then spread over the keys. Rows begin on whole blocks of Philox if their length is a multiple of
four (`ALIGNED`); if not, a block of keys lies in two of Philox (`SHIFTED`).
"""

from .....ir import dtype as dt
from .....ir.reference import philox
from ..ir.nest import NUMBER, POINTER, Parameter

NONE, ALIGNED, SHIFTED = "", "drops", "shifted_drops"
WORDS = 4               # of a block of Philox
POINTERS = (Parameter("draws", POINTER, dt.uint64),)                  # (seed, call)
# What a word must be below for its element to be kept, and what that is multiplied by.
NUMBERS = (Parameter("kept", NUMBER, dt.uint32), Parameter("share", NUMBER, dt.float32))


def _rounds() -> str:
    lines = []
    for turn in range(philox.ROUNDS):
        low, high = (f"k{n} + tl.full([], {turn * w % 2 ** 32}, tl.uint32)" for n, w in ((0, philox.W0), (1, philox.W1)))
        lines += [f"p0 = c0.to(tl.uint64) * {philox.M0}", f"p1 = c2.to(tl.uint64) * {philox.M1}",
                  f"c0, c2 = (p1 >> 32).to(tl.uint32) ^ c1 ^ ({low}), (p0 >> 32).to(tl.uint32) ^ c3 ^ ({high})",
                  "c1, c3 = p1.to(tl.uint32), p0.to(tl.uint32)"]
    return "".join(f"    {x}\n" for x in lines)


HELPERS = f"""@triton.jit
def kept_of_block(block, k0, k1, c2, c3, kept):
    c0, c1 = block.to(tl.uint32), (block >> 32).to(tl.uint32)
{_rounds()}    low = (c0 < kept).to(tl.int32) | (c1 < kept).to(tl.int32) << 1
    return low | (c2 < kept).to(tl.int32) << 2 | (c3 < kept).to(tl.int32) << 3


"""
KEY = ["seed, call = tl.load(draws), tl.load(draws + 1)", "k0, k1 = seed.to(tl.uint32), (seed >> 32).to(tl.uint32)",
       "c2, c3 = call.to(tl.uint32), (call >> 32).to(tl.uint32)"]


def kept(how: str) -> list:
    """Lines: `stays` of a block of scores [BM, BN], of rows `i` of a `group` and of columns from `from_j`."""
    start = "((group * L + i).to(tl.int64) * S)[:, None] + (from_j + tl.arange(0, BN // 4) * 4)[None, :]"
    key = "k0, k1, c2, c3, kept"
    if how == ALIGNED:
        drawn, first = [f"bits = kept_of_block(({start}) >> 2, {key})"], ""
    else:
        drawn = [f"words = {start}", f"bits = kept_of_block(words >> 2, {key}) | kept_of_block((words >> 2) + 1, {key}) << 4"]
        first = "(words & 3).to(tl.int32)[:, :, None] + "
    return [*drawn, f"bits = bits[:, :, None] >> ({first}tl.arange(0, 4)[None, None, :])",
            "stays = tl.reshape(bits & 1, [BM, BN]) != 0"]
