"""flex_attention: every mask with some score, blocks that are empty, partial and full."""

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
