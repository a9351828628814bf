"""flex_attention against PyTorch: masks, score functions, grouped heads, gradients, traces."""

import numpy as np
import pytest

import ingot
from ingot.ir.errors import IngotError
from ingot.nn.attention import flex_attention as ours

torch = pytest.importorskip("torch")
theirs = pytest.importorskip("torch.nn.attention.flex_attention")
pytestmark = [pytest.mark.peer, pytest.mark.filterwarnings("ignore")]       # PyTorch warns that it is not compiled
B, H, N, E = 2, 4, 24, 8
RNG = np.random.default_rng(0)
DOCUMENTS = np.sort(RNG.integers(0, 3, N))
BIAS = RNG.standard_normal((H, 2 * N)).astype(np.float32)
MASKS = {
    "none": None, "causal": lambda b, h, q, k: q >= k, "window": lambda b, h, q, k: (q >= k) & (q - k < 5),
    "heads": lambda b, h, q, k: (k + h) % 3 != b, "documents": "documents", "rows without keys": lambda b, h, q, k: (q > k),
    "prefix": lambda b, h, q, k: (k < 7) | (q >= k), "window by head": lambda b, h, q, k: (q - k >= 0) & (q - k <= 3 * h + b),
}
SCORES = {"none": None, "relative": lambda s, b, h, q, k: s + (q - k) * 0.1, "capped": "capped", "bias": "bias",
          "alibi": lambda s, b, h, q, k: s - (h + 1) * 0.1 * (q - k),
          "far": lambda s, b, h, q, k: s / 2 + abs(k - q) * (k > q), "square": lambda s, b, h, q, k: s * s * 0.1 + 0.01 * k,
          "by key": lambda s, b, h, q, k: s + 0.01 * k * h}
BY_OPERATORS = {"square", "by key"}


def functions(lib, mask, score):
    documents, bias = lib.tensor(DOCUMENTS), lib.tensor(BIAS)
    mask = (lambda b, h, q, k: documents[q] == documents[k]) if mask == "documents" else mask
    if score == "capped":
        score = lambda s, b, h, q, k: lib.tanh(s / 2) * 2
    if score == "bias":
        score = lambda s, b, h, q, k: s + bias[h, q - k + N]
    return mask, score


def operands(lib, heads):
    arrays = [np.random.default_rng(i).standard_normal((B, h, N, E)) for i, h in enumerate((H, heads, heads))]
    return [lib.tensor(a.astype(np.float32)).requires_grad_() for a in arrays]


def results(mask, score, heads, wrap=lambda f: f):
    q, k, v = operands(ingot, heads)
    mask, score = functions(ingot, mask, score)
    blocks = None if mask is None else ours.create_block_mask(mask, B, H, N, N, BLOCK_SIZE=8)
    out = wrap(lambda q, k, v: ours.flex_attention(q, k, v, score, blocks, enable_gqa=heads != H))(q, k, v)
    (out * out).sum().backward()
    return [out, q.grad, k.grad, v.grad], blocks


def expected_results(mask, score, heads):
    """Return PyTorch's results; its CPU gradients come from operators."""
    q, k, v = operands(torch, heads)
    mask, score = functions(torch, mask, score)
    blocks = None if mask is None else theirs.create_block_mask(mask, B, H, N, N, device="cpu", BLOCK_SIZE=8)
    with torch.no_grad():
        out = theirs.flex_attention(*[t.detach() for t in (q, k, v)], score, blocks, enable_gqa=heads != H)
    keys, values = (t.repeat_interleave(H // heads, 1) for t in (k, v))
    at = torch.meshgrid(*map(torch.arange, (B, H, N, N)), indexing="ij")
    scores = q @ keys.mT / E ** 0.5
    scores = scores if score is None else score(scores, *at)
    scores = scores if mask is None else scores.masked_fill(~mask(*at), -1e30)
    weights = scores.softmax(-1) if mask is None else scores.softmax(-1) * mask(*at)
    ((weights @ values) ** 2).sum().backward()
    return [out, q.grad, k.grad, v.grad], blocks


@pytest.mark.parametrize("heads", [H, 2])
@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("mask", MASKS)
def test_results_and_gradients(mask, score, heads):
    found, blocks = results(MASKS[mask], SCORES[score], heads)
    expected, their_blocks = expected_results(MASKS[mask], SCORES[score], heads)
    traced, _ = results(MASKS[mask], SCORES[score], heads, ingot.jit.trace)
    for a, b, c in zip(found, expected, traced):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=2e-4, atol=2e-5)
        np.testing.assert_allclose(a.detach().numpy(), c.detach().numpy(), rtol=1e-5, atol=1e-6)
    if blocks is not None:
        assert blocks.to_dense().tolist() == their_blocks.to_dense().tolist()
        assert blocks.kv_num_blocks.tolist() == their_blocks.kv_num_blocks.tolist()
        assert blocks.full_kv_num_blocks.tolist() == their_blocks.full_kv_num_blocks.tolist()
        assert abs(blocks.sparsity() - their_blocks.sparsity()) < 1e-6


def test_masks_combine_and_lse():
    causal, window = (lambda b, h, q, k: q >= k), (lambda b, h, q, k: q - k < 3)
    both = ours.create_mask(ours.and_masks(causal, window), 1, 1, 6, 6)
    assert both.tolist() == (np.tri(6, dtype=bool) & ~np.tri(6, k=-3, dtype=bool))[None, None].tolist()
    assert ours.create_mask(ours.or_masks(causal, ours.noop_mask), 1, 1, 6, 6).all()
    assert ours.create_block_mask(causal, None, None, 6, 6).is_causal
    q = RNG.standard_normal((1, 2, 5, 4)).astype(np.float32)
    _, lse = ours.flex_attention(*[ingot.tensor(q)] * 3, return_lse=True)
    _, expected = theirs.flex_attention(*[torch.tensor(q)] * 3, return_lse=True)
    np.testing.assert_allclose(lse.numpy(), expected.numpy(), rtol=1e-5)
    with pytest.raises(IngotError, match="enable_gqa"):
        ours.flex_attention(ingot.ones(1, 4, 2, 2), ingot.ones(1, 2, 2, 2), ingot.ones(1, 2, 2, 2))


@pytest.mark.parametrize("score", sorted(set(SCORES) - BY_OPERATORS))
@pytest.mark.parametrize("mask", sorted(set(MASKS) - {"heads"}))
def test_known_kinds_make_no_matrix_of_scores(mask, score, monkeypatch):
    monkeypatch.setattr(ours, "_attention_operators", None)
    _, blocks = results(MASKS[mask], SCORES[score], 2)
    if blocks is not None:
        assert blocks.bounds is not None and callable(blocks._mask)


def test_gradients_of_a_learned_bias():
    """The score function reads a learned table by head and distance."""
    q, k, v = operands(ingot, H)
    table = ingot.tensor(BIAS).requires_grad_()
    mod = lambda s, b, h, q, k: s + table[h, q - k + N]
    blocks = ours.create_block_mask(MASKS["causal"], None, None, N, N)
    (ours.flex_attention(q, k, v, mod, blocks) ** 2).sum().backward()
    found = [q.grad, k.grad, v.grad, table.grad]
    for t in (q, k, v, table):
        t.grad = None
    at = ours._indices((B, H, N, N))
    scores = (q @ k.mT / E ** 0.5 + table[at[1], at[2] - at[3] + N]).masked_fill(at[3] > at[2], -np.inf)
    ((scores.softmax(-1) @ v) ** 2).sum().backward()
    for a, b in zip(found, [q.grad, k.grad, v.grad, table.grad]):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("lengths", [(1, 24), (5, 24), (24, 5)])
def test_queries_and_keys_of_other_lengths(lengths):
    q, k, v = (ingot.randn(B, H, n, E) for n in (lengths[0], lengths[1], lengths[1]))
    mask = lambda b, h, q, k: q + 3 >= k
    mod = lambda s, b, h, q, k: ingot.tanh(s) * 3 - (q - k) * 0.2
    blocks = ours.create_block_mask(mask, None, None, *lengths)
    found, lse = ours.flex_attention(q, k, v, mod, blocks, return_lse=True)
    expected, aux = ours._attention_operators(q, k, v, mod, blocks, E ** -0.5)
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(lse.numpy(), aux.lse.numpy(), rtol=1e-4, atol=1e-5)


def test_block_masks_are_cut_and_made_inside_of_traced_functions():
    blocks = ours.create_block_mask(MASKS["window by head"], B, H, N, N, BLOCK_SIZE=8)
    one = blocks[1:2, :2]
    assert one.shape == (1, 2, N, N) and one.bounds.shape == (1, 2, N, 2)
    assert one.mask.tolist() == blocks.mask[1:2, :2].tolist()
    assert one.to_dense().tolist() == blocks.to_dense()[1:2, :2].tolist()
    q, k, v = (t.detach() for t in operands(ingot, H))

    def inside(q, k, v):
        return ours.flex_attention(q, k, v, SCORES["alibi"], ours.create_block_mask(MASKS["causal"], None, None, N, N))

    traced = ingot.jit.trace(inside)
    for _ in range(2):
        np.testing.assert_allclose(traced(q, k, v).numpy(), inside(q, k, v).numpy(), rtol=1e-5, atol=1e-6)


def test_samples_of_vmap_and_grad(monkeypatch):
    q, k, v = (t.detach() for t in operands(ingot, H))
    blocks = ours.create_block_mask(MASKS["window"], None, None, N, N)

    def loss(q, k, v):
        return (ours.flex_attention(q[None], k[None], v[None], SCORES["alibi"], blocks) ** 2).sum()

    each = [ingot.func.grad(loss)(q[i], k[i], v[i]) for i in range(B)]
    monkeypatch.setattr(ours, "_attention_operators", None)
    found = ingot.func.vmap(ingot.func.grad(loss))(q, k, v)
    for i, expected in enumerate(each):
        np.testing.assert_allclose(found[i].numpy(), expected.numpy(), rtol=1e-4, atol=1e-5)


def in_place(s, b, h, q, k):
    s *= 2
    s += (k - q) * 0.1
    return s


@pytest.mark.parametrize("mod", [in_place, lambda s, b, h, q, k: s.clone() * 2, lambda s, b, h, q, k: s.detach() + s,
                                 lambda s, b, h, q, k: ingot.tanh(s + 0.1 * h) * 2, lambda s, b, h, q, k: s * (q >= k),
                                 lambda s, b, h, q, k: ingot.where(q >= k, s, -float("inf")) / 2,
                                 lambda s, b, h, q, k: ingot.where(q - k < 3, s, s * 2), lambda s, b, h, q, k: 1 / s,
                                 lambda s, b, h, q, k: 3 - s, lambda s, b, h, q, k: s + (q - 1 - k) * 0.1])
def test_other_functions_go_by_operators(mod):
    q, k, v = (t.detach() for t in operands(ingot, H))
    found = ours.flex_attention(q, k, v, mod)
    expected, _ = ours._attention_operators(q, k, v, mod, None, E ** -0.5)
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-4, atol=1e-5)


def lists_of(blocks):
    """Return (number of blocks of each row, all columns with these first)."""
    return (ingot.from_numpy(blocks.sum(-1).astype(np.int32)),
            ingot.from_numpy(np.argsort(~blocks, -1, kind="stable").astype(np.int32)))


@pytest.mark.parametrize("size", [8, (4, 8), 1])
@pytest.mark.parametrize("full", [False, True])
def test_block_masks_of_lists_of_blocks(full, size):
    rng = np.random.RandomState(0)
    some = rng.rand(2, 1, 3, 4) < 0.6
    whole = (rng.rand(2, 1, 3, 4) < 0.5) & ~some & full
    lists = [*lists_of(some), *(lists_of(whole) if full else ())]
    made = ours.BlockMask.from_kv_blocks(*lists, BLOCK_SIZE=size, mask_mod=MASKS["causal"])
    n, m = (size, size) if isinstance(size, int) else size
    assert made.shape == (2, 1, 3 * n, 4 * m) and made.mask_mod is MASKS["causal"]

    def spread(blocks):
        return blocks.repeat(n, -2).repeat(m, -1)

    want = (spread(some) & np.tri(3 * n, 4 * m, dtype=bool)) | spread(whole)
    np.testing.assert_array_equal(made.mask.numpy(), want)
    if size != 1:
        np.testing.assert_array_equal(made.to_dense().numpy(), some | whole)
        np.testing.assert_array_equal(made.kv_num_blocks.numpy(), some.sum(-1))
        np.testing.assert_array_equal(made.full_kv_num_blocks.numpy(), whole.sum(-1))
    q, k, v = (ingot.randn(2, 2, length, 4) for length in (3 * n, 4 * m, 4 * m))
    got = ours.flex_attention(q, k, v, block_mask=made)
    scores = (q @ k.transpose(-1, -2) / 2).masked_fill(~ingot.from_numpy(want), -float("inf"))
    assert ingot.allclose(got, scores.softmax(-1).nan_to_num() @ v, atol=1e-6)


def test_block_masks_of_lists_take_lengths_and_refuse_half_of_them():
    counts, columns = lists_of(np.ones((2, 2), bool))
    made = ours.BlockMask.from_kv_blocks(counts, columns, BLOCK_SIZE=4, seq_lengths=(7, 6))
    assert made.shape == (1, 1, 7, 6) and made.mask.all()
    for wrong in ((counts[0], columns[0]), (counts, columns, counts)):
        with pytest.raises(ValueError, match="from_kv_blocks takes"):
            ours.BlockMask.from_kv_blocks(*wrong)
