"""Block masks of flex_attention by lists of blocks, against attention with the same mask written out."""

import numpy as np
import pytest

import ingot
from ingot.nn.attention.flex_attention import BlockMask, flex_attention

MODS = {"causal": lambda b, h, q, k: q >= k, "odd": lambda b, h, q, k: (q + k) % 3 != 0, "none": None}


def lists_of(blocks) -> tuple:
    """Return (counts, columns) of a mask of blocks: the listed ones first, in their order."""
    columns = np.argsort(~blocks, axis=-1, kind="stable")
    return ingot.tensor(blocks.sum(-1), dtype=ingot.int32), ingot.tensor(columns, dtype=ingot.int32)


@pytest.mark.parametrize("with_full", [False, True])
@pytest.mark.parametrize("name", MODS)
@pytest.mark.parametrize("size", [4, (4, 8)], ids=str)
def test_a_query_attends_to_keys_of_full_blocks_and_of_listed_ones_that_the_mask_allows(name, size, with_full):
    rng = np.random.default_rng(5)
    rows, columns = size if isinstance(size, tuple) else (size, size)
    some = rng.random((1, 2, 4, 3)) < 0.6
    full = (rng.random(some.shape) < 0.4) & ~some if with_full else np.zeros_like(some)
    some[..., 0] |= ~(some | full).any(-1)          # each query has a block
    lists = (*lists_of(some), *lists_of(full)) if with_full else lists_of(some)
    made = BlockMask.from_kv_blocks(*lists, BLOCK_SIZE=size, mask_mod=MODS[name])
    q, k = np.arange(4 * rows)[:, None], np.arange(3 * columns)
    grown = [b.repeat(rows, -2).repeat(columns, -1) for b in (some, full)]
    allowed = grown[0] & (True if MODS[name] is None else MODS[name](0, 0, q, k)) | grown[1]
    x = [ingot.tensor(rng.standard_normal((1, 2, n, 8))) for n in (4 * rows, 3 * columns, 3 * columns)]
    want = ingot.nn.functional.scaled_dot_product_attention(*x, ingot.tensor(allowed))
    assert ingot.allclose(flex_attention(*x, block_mask=made), want)
