"""Modules against PyTorch's, with the same weights: values, gradients of inputs and of parameters."""

from operator import attrgetter

import numpy as np
import pytest

import ingot
from ingot import nn

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.peer, pytest.mark.filterwarnings("ignore")]

rng = np.random.default_rng(5)


@pytest.fixture(autouse=True)
def seeds():
    torch.manual_seed(0)
    ingot.manual_seed(0)


def R(*shape):
    return rng.standard_normal(shape)


def flat(x):
    if isinstance(x, (tuple, list)):
        return [z for y in x for z in flat(y)]
    return [] if x is None else [x]


def translated(x):
    return ingot.tensor(x.numpy()) if isinstance(x, torch.Tensor) else x


def compare(make, *arrays, tol=1e-9, **kwargs):
    """Build the module with `make(nn)` on both sides and compare one call and its backward."""
    theirs, ours = make(torch.nn).double(), make(nn).double()
    ours.load_state_dict({k: ingot.tensor(v.numpy().copy()) for k, v in theirs.state_dict().items()})
    given = [(torch.tensor(a), ingot.tensor(a)) for a in arrays]
    for t, i in given:
        if t.is_floating_point():
            t.requires_grad_()
            i.requires_grad_()
    want = flat(theirs(*[t for t, _ in given], **kwargs))
    got = flat(ours(*[i for _, i in given], **{k: translated(v) for k, v in kwargs.items()}))
    assert len(want) == len(got)
    total_t = total_i = 0
    for t, i in zip(want, got):
        np.testing.assert_allclose(i.detach().numpy(), t.detach().numpy(), rtol=tol, atol=tol)
        w = R(*t.shape)
        total_t, total_i = total_t + (t * torch.tensor(w)).sum(), total_i + (i * ingot.tensor(w)).sum()
    total_t.backward()
    total_i.backward()
    pairs = given + [(p, q) for p, q in zip(theirs.parameters(), ours.parameters())]
    for t, i in pairs:
        if t.grad is not None:
            np.testing.assert_allclose(i.grad.numpy(), t.grad.numpy(), rtol=10 * tol, atol=10 * tol)


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
@pytest.mark.parametrize("options", [{}, {"num_layers": 2, "bidirectional": True}, {"batch_first": True, "bias": False}],
                         ids=["plain", "deep", "batch_first"])
def test_recurrent_layers(kind, options):
    compare(lambda m: getattr(m, kind)(3, 4, **options), R(5, 2, 3))
    compare(lambda m: getattr(m, kind)(3, 4, **options), R(5, 3))


def test_recurrent_variants():
    compare(lambda m: m.LSTM(3, 5, 2, proj_size=2, bidirectional=True), R(5, 2, 3))
    compare(lambda m: m.RNN(3, 5, 2, nonlinearity="relu"), R(5, 2, 3))
    compare(lambda m: m.GRU(3, 4), R(5, 2, 3), R(1, 2, 4))


@pytest.mark.parametrize("kind,states", [("RNNCell", 1), ("LSTMCell", 2), ("GRUCell", 1)])
def test_recurrent_cells(kind, states):
    compare(lambda m: getattr(m, kind)(3, 4), R(2, 3))
    compare(lambda m: getattr(m, kind)(3, 4, bias=False), R(3))


def packed_module(m, kind):
    class Packed(m.Module):
        def __init__(self):
            super().__init__()
            self.inner = getattr(m, kind)(3, 4, 2, bidirectional=True)

        def forward(self, x):
            rnn = m.utils.rnn
            out, states = self.inner(rnn.pack_padded_sequence(x, [2, 5, 3], enforce_sorted=False))
            return rnn.pad_packed_sequence(out, padding_value=-1.0)[0], states

    return Packed()


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
def test_packed_sequences(kind):
    compare(lambda m: packed_module(m, kind), R(5, 3, 3))


CAUSAL = torch.full((4, 4), -torch.inf, dtype=torch.float64).triu(1)


def test_multi_head_attention():
    compare(lambda m: m.MultiheadAttention(8, 2), R(4, 3, 8), R(5, 3, 8), R(5, 3, 8))
    compare(lambda m: m.MultiheadAttention(8, 2, bias=False), R(4, 8), R(5, 8), R(5, 8), average_attn_weights=False)
    compare(lambda m: m.MultiheadAttention(8, 2, kdim=5, vdim=6, add_bias_kv=True, add_zero_attn=True, batch_first=True),
            R(3, 4, 8), R(3, 5, 5), R(3, 5, 6))
    padding = torch.tensor([[0, 0, 1, 1], [0, 0, 0, 1], [0, 0, 0, 0]]).bool()
    for need_weights in (False, True):
        compare(lambda m: m.MultiheadAttention(8, 2), R(4, 3, 8), R(4, 3, 8), R(4, 3, 8), attn_mask=CAUSAL,
                key_padding_mask=padding, need_weights=need_weights)


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_transformers(norm_first, activation):
    layer = {"dropout": 0.0, "norm_first": norm_first, "activation": activation}
    compare(lambda m: m.TransformerEncoder(m.TransformerEncoderLayer(8, 2, 16, **layer), 2), R(4, 3, 8))
    compare(lambda m: m.TransformerDecoderLayer(8, 2, 16, batch_first=True, **layer), R(3, 4, 8), R(3, 5, 8))
    compare(lambda m: m.Transformer(8, 2, 1, 1, 16, **layer), R(4, 3, 8), R(4, 3, 8), tgt_mask=CAUSAL)


def test_a_subclass_of_a_transformer_layer_calls_and_replaces_its_blocks():
    def scaled(kind):
        class Scaled(kind):
            def _sa_block(self, x, attn_mask, key_padding_mask, is_causal=False):
                return 2 * super()._sa_block(x, attn_mask, key_padding_mask, is_causal=is_causal)

            def _ff_block(self, x):
                return 0.5 * super()._ff_block(x)

        return Scaled

    class Crossed(nn.TransformerDecoderLayer):
        def _mha_block(self, x, mem, attn_mask, key_padding_mask, is_causal=False):
            return 3 * super()._mha_block(x, mem, attn_mask, key_padding_mask, is_causal)

    compare(lambda m: scaled(m.TransformerEncoderLayer)(8, 2, 16, 0.0), R(4, 3, 8), src_mask=CAUSAL)
    compare(lambda m: scaled(m.TransformerDecoderLayer)(8, 2, 16, 0.0), R(4, 3, 8), R(4, 3, 8), tgt_mask=CAUSAL)
    plain = nn.TransformerDecoderLayer(8, 2, 16, 0.0, norm_first=True).double()
    crossed = Crossed(8, 2, 16, 0.0, norm_first=True).double()
    crossed.load_state_dict(plain.state_dict())
    x, memory = ingot.tensor(R(4, 3, 8)), ingot.tensor(R(5, 3, 8))
    assert not np.allclose(crossed(x, memory).detach(), plain(x, memory).detach())
    attended = plain.dropout2(plain.multihead_attn(x, memory, memory)[0])
    np.testing.assert_allclose(crossed._mha_block(x, memory, None, None).detach(), 3 * attended.detach(), rtol=1e-12)


def test_lookup_tables():
    index = rng.integers(0, 6, (3, 4))
    compare(lambda m: m.Embedding(6, 3, padding_idx=1), index)
    compare(lambda m: m.Embedding(6, 3, scale_grad_by_freq=True), index)
    compare(lambda m: m.Embedding(6, 3, max_norm=1.0), index)
    for mode in ("sum", "mean", "max"):
        compare(lambda m, mode=mode: m.EmbeddingBag(6, 3, mode=mode, padding_idx=1), index)
        compare(lambda m, mode=mode: m.EmbeddingBag(6, 3, mode=mode), index.reshape(-1), offsets=torch.tensor([0, 3, 3, 7]))


def test_small_layers():
    compare(lambda m: m.Bilinear(3, 4, 2), R(5, 3), R(5, 4))
    compare(lambda m: m.PReLU(3), R(2, 3, 4))
    compare(lambda m: m.Softmax2d(), R(2, 3, 4, 4))
    compare(lambda m: m.CosineSimilarity(), R(3, 4), R(3, 4))
    compare(lambda m: m.PairwiseDistance(), R(3, 4), R(3, 4))


def test_reparametrised_weights():
    for family in ("utils", "utils.parametrizations"):
        for name in ("weight_norm", "spectral_norm"):
            compare(lambda m, path=f"{family}.{name}": attrgetter(path)(m)(m.Linear(3, 4)), R(2, 3))


@pytest.mark.parametrize("init", ["kaiming_uniform_", "kaiming_normal_", "xavier_uniform_", "xavier_normal_", "trunc_normal_",
                                  "uniform_", "normal_"])
def test_initial_values_have_the_same_spread(init):
    ours, theirs = ingot.empty(200, 100), torch.empty(200, 100)
    getattr(nn.init, init)(ours)
    getattr(torch.nn.init, init)(theirs)
    for q in (0.0, 0.1, 0.5, 0.9, 1.0):
        spread = theirs.std().item()
        slack = 0.06 if 0 < q < 1 or "uniform" in init else 1.0
        assert abs(np.quantile(ours.numpy(), q) - np.quantile(theirs.numpy(), q)) < slack * spread, (init, q)
