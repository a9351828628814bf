"""flex_attention: every mask with some score, blocks that are empty, partial and full; what it returns beside its result."""

import ml_dtypes
import numpy as np

from ..row import Row
from . import rounded

MASKS = (None, "causal", "window", "heads", "documents", "rows without keys", "prefix", "last block", "window by head")
SCORES = (None, "relative", "bias", "alibi", "capped", "far", "square")


def rows(torch, rng):
    """Yield rows whose masks and scores meet in turns."""
    for i, mask in enumerate(MASKS):
        for j in (2 * i, 2 * i + 3):
            score, heads, block = SCORES[j % len(SCORES)], (4, 2)[j % 2], (8, (4, 8), (8, 6))[(i + j) % 3]
            operands = [rounded(rng, 2, h, 24, 8, dtype="float32") for h in (4, heads, heads)]
            yield Row(f"{mask}/{score} {heads}", "flexible attention", "nn.attention.flex_attention.flex_attention", (), {},
                      {"operands": operands, "mask": mask, "score": score, "block": block, "scale": 0.25 if i % 4 == 1 else None})
    yield from _others(rng)
    yield from _masks(rng)


FLEX = "nn.attention.flex_attention"
# For two batches and one head, three rows of blocks: how many of three columns are partial, which, how many are full, which.
LISTS = [np.array(a, "int32") for a in (
    [[[1, 2, 0]], [[0, 1, 1]]], [[[[1, 0, 2], [2, 0, 1], [0, 1, 2]]], [[[0, 1, 2], [2, 1, 0], [0, 2, 1]]]],
    [[[1, 1, 2]], [[2, 0, 1]]], [[[[0, 1, 2], [1, 0, 2], [2, 0, 1]]], [[[1, 2, 0], [0, 1, 2], [1, 0, 2]]]])]


def _others(rng):
    """Yield sizes of heads and lengths that differ, sums of exponentials, grouped heads, lists of blocks."""
    def row(what, queries, keys, value=None, dtype="float64", **options):
        value = keys if value is None else value
        operands = [rounded(rng, *shape, dtype=dtype) for shape in (queries, keys, value)]
        return Row(f"others/{what}", "flexible attention", f"{FLEX}.flex_attention", (), {}, {"operands": operands, **options})

    for i, (mask, score) in enumerate((("causal", None), ("window", "relative"), ("heads", None), (None, "alibi"), ("prefix", "capped"), ("everything", "far"), ("causal and heads", "square"), ("window or last block", None))):
        head = (1, 3, 8, 16)[i % 4]
        yield row(f"longer keys, {mask} {score}", (1, 2, 12, head), (1, 2, 20, head), (1, 2, 20, head + i % 3), mask=mask, score=score, block=(4, 8))
        yield row(f"longer queries, {mask} {score}", (1, 2, 20, head), (1, 2, 12, head), mask=mask, score=score, block=(8, 4), scale=0.5)
        yield row(f"sums, {mask} {score}", (1, 2, 18, 4), (1, 2, 18, 4), mask=mask, score=score, block=8, aux=("lse",))
        yield row(f"sums, blocks by default, {mask} {score}", (1, 2, 10, 4), (1, 2, 7, 4), mask=mask, score=score, aux=("lse",))
    for heads in (2, 3):
        yield row(f"six heads, {heads}", (1, 6, 9, 3), (1, heads, 9, 3), mask="heads", score="alibi", block=4)
        yield row(f"six heads, shared, {heads}", (2, 6, 9, 3), (2, heads, 11, 3), mask="window", shared=True, block=(3, 5), aux=("lse",))
    for mask in ("causal", "prefix", "three", "one of three"):
        yield row(f"shared, {mask}", (2, 3, 17, 5), (2, 3, 17, 5), mask=mask, shared=mask == "causal" or mask == "prefix", block=6)
    for dtype in ("float16", "bfloat16"):
        yield row(f"{dtype}", (1, 2, 9, 8), (1, 2, 9, 8), dtype=ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype, mask="causal", score="relative")
    yield row("lists", (2, 1, 12, 3), (2, 1, 15, 3), mask="causal", lists=LISTS, block=(4, 5))
    yield row("lists, heads", (2, 1, 18, 3), (2, 1, 12, 3), mask="heads", lists=LISTS, block=(6, 4), score="relative")


def _masks(rng):
    """Yield block masks without attention."""
    def row(what, mask, **options):
        return Row(f"masks/{what}", "block mask", f"{FLEX}.create_block_mask", (), {}, {"mask": mask, **options})

    for i, mask in enumerate(("causal", "window", "heads", "rows without keys", "prefix", "last block", "window by head", "everything", "causal and heads", "window or last block", "three", "one of three")):
        yield row(f"{mask}, square", mask, sizes=(2, 3, 17, 17), block=(4, 5, 8)[i % 3], index=0)
        yield row(f"{mask}, wide", mask, sizes=(1, 2, 9, 21), block=(3, 7))
        yield row(f"{mask}, tall", mask, sizes=(2, None, 20, 8), block=(8, 3), index=1)
    yield row("by default", "prefix", sizes=(None, None, 200, 300))
    yield row("one block", "causal", sizes=(None, 2, 5, 5))
    yield row("lists", "causal", lists=LISTS, block=(4, 5))
    yield row("lists of heads", "heads", lists=LISTS, block=(2, 3))
