"""Stored weights: layers take them, copies and files keep them, and functions that cannot use them say so."""

import copy
import io
import pickle

import numpy as np
import pytest

import ingot
from ingot import jit, nn
from ingot.ir.errors import AutogradError, DTypeError, IngotError, ShapeError
from ingot.ir.reference.weight_formats import FORMATS, format_named
from ingot.nn import functional as F
from ingot.runtime.stored_weights import StoredWeight, store, stored_again

ROUNDED = 2e-3      # x of few rows is rounded to 16 bits; `tests/runtime/cpu/gemm/test_stored_weights.py` has the bound
NAMES = ("Q4_0", "Q8_0", "Q4_K", "Q5_K", "Q6_K", "IQ4_NL", "BF16", "F16", "int4_group32", "uint4_group128", "int8_group64")


def weight(name, rows=6, numbers=256, seed=0):
    return store(ingot.tensor(np.random.default_rng(seed).standard_normal((rows, numbers)).astype(np.float32)), name)


@pytest.mark.parametrize("name", NAMES)
def test_dequantize_gives_the_numbers_of_the_format(name):
    w = weight(name)
    want = format_named(name).unpack(w.rows.numpy(), 256)
    assert np.array_equal(w.dequantize().numpy(), want)
    assert (w.shape, w.ndim, w.numel(), w.dtype, len(w)) == ((6, 256), 2, 1536, ingot.float32, 6)
    assert w.nbytes == w.rows.numel() == 6 * format_named(name).bytes_of_row(256) and not w.requires_grad


@pytest.mark.parametrize("name", NAMES)
def test_linear_and_its_gradient(name):
    w, bias = weight(name), ingot.randn(6)
    dense = w.dequantize()
    for shape in ((256,), (1, 256), (2, 3, 256), (0, 256)):
        x = ingot.randn(*shape, requires_grad=True)
        y = ingot.randn_like(x[..., :6])
        got, want = F.linear(x, w, bias), F.linear(x, dense, bias)
        np.testing.assert_allclose(got.detach(), want.detach(), rtol=1e-5, atol=ROUNDED)
        (first,), (second,) = ingot.autograd.grad(got, x, y), ingot.autograd.grad(want, x, y)
        np.testing.assert_allclose(first, second, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("dtype", [ingot.float16, ingot.bfloat16])
def test_narrow_activations(dtype):
    w = weight("Q8_0").to(dtype)
    assert w.dtype is w.dequantize().dtype is dtype
    x = ingot.randn(3, 256).to(dtype)
    want = F.linear(x.float(), w.float().dequantize()).to(dtype)
    np.testing.assert_allclose(F.linear(x, w).float(), want.float(), rtol=1e-2, atol=1e-2)
    with pytest.raises(DTypeError, match="weight's dtype"):
        F.linear(x.float(), w)


def test_autocast_and_out():
    w, plain, x = weight("Q8_0"), nn.Linear(6, 6), ingot.randn(3, 256)
    with ingot.autocast("cpu", dtype=ingot.bfloat16):
        assert F.linear(x, w).dtype is ingot.bfloat16
        hidden = plain(ingot.randn(3, 6))
        assert F.linear(hidden, store(ingot.randn(4, 6), "BF16"), ingot.randn(4)).dtype is hidden.dtype is ingot.bfloat16
    out = ingot.empty(3, 6)
    assert F.linear(x, w, out=out) is out and ingot.equal(out, F.linear(x, w))


@pytest.mark.parametrize("name", ["Q4_K", "uint4_group32"])
def test_exported_models_hold_stored_weights(name, tmp_path):
    m = nn.Sequential(nn.Linear(256, 96), nn.GELU(), nn.Linear(96, 10)).eval()
    for layer in (m[0], m[2]):
        layer.weight = nn.Parameter(store(layer.weight, name), requires_grad=False)
    x = ingot.randn(3, 256)
    want = m(x).detach()
    jit.export(m, (x,), tmp_path / "m.ingot")
    assert ingot.equal(jit.load(tmp_path / "m.ingot")(x), want)
    jit.export(m, (x,), tmp_path / "portable.ingot", targets=())
    np.testing.assert_allclose(jit.load(tmp_path / "portable.ingot")(x), want, rtol=1e-5, atol=ROUNDED)
    assert (tmp_path / "portable.ingot").stat().st_size < 256 * 96 + 96 * 10         # a byte a number
    with pytest.raises(jit.ExportError, match="linear_stored"):
        jit.to_onnx(m, (x,))


@pytest.mark.parametrize("name", NAMES)
def test_embedding_unpacks_the_rows_that_it_needs(name):
    w = weight(name)
    index = ingot.tensor([[1, 5], [0, 1]])
    assert ingot.equal(F.embedding(index, w), w.dequantize()[index])
    assert ingot.equal(ingot.embedding(w, index), w.dequantize()[index])
    with pytest.raises(IngotError):
        F.embedding(ingot.tensor([6]), w)
    with pytest.raises(DTypeError, match="max_norm"):
        F.embedding(index, w, max_norm=1.0)


class Tied(nn.Module):
    """A table that is the head as well."""

    def __init__(self, name):
        super().__init__()
        self.table = nn.Embedding(6, 256)
        self.head = nn.Linear(256, 6, bias=False)
        self.table.weight = self.head.weight = nn.Parameter(weight(name), requires_grad=False)

    def forward(self, index):
        return self.head(self.table(index))


@pytest.mark.parametrize("name", NAMES)
def test_tied_weights_in_a_module(name):
    m, index = Tied(name), ingot.tensor([3, 1])
    want = m(index)
    assert isinstance(m.head.weight, nn.Parameter) and isinstance(m.head.weight, StoredWeight)
    assert "Parameter containing" in repr(m.head.weight) and name in repr(m.head.weight)
    state = m.state_dict()
    assert isinstance(state["head.weight"], StoredWeight)
    for other in (copy.deepcopy(m), pickle.loads(pickle.dumps(m))):
        assert other.head.weight is other.table.weight and ingot.equal(other(index), want)
    other = Tied(name)
    other.head.weight.rows.zero_()
    other.load_state_dict(state)
    assert ingot.equal(other(index), want)
    plain = nn.Linear(256, 6, bias=False)
    plain.weight.requires_grad_(False)
    plain.load_state_dict({"weight": state["head.weight"]}, assign=True)
    assert ingot.equal(plain.weight, m.head.weight)
    assert m.half().head.weight.dtype is ingot.float16 and m.float().head.weight.dtype is ingot.float32
    assert ingot.equal(m(index), want)


def test_files_keep_stored_weights():
    state = {"a": weight("Q4_K"), "b": weight("int4_group32").half()}
    state["c"] = nn.Parameter(state["a"], requires_grad=False)
    out = io.BytesIO()
    ingot.save(state, out)
    out.seek(0)
    read = ingot.load(out)
    assert all(ingot.equal(read[k], t) and read[k].dtype is t.dtype and read[k].format == t.format for k, t in state.items())
    assert type(read["c"]) is type(state["c"])


@pytest.mark.parametrize("bad", [{"numbers": 64}, {"numbers": -1}, {"numbers": 1 << 40}, {"numbers": "x"}, {"format": "Q4_1"},
                                 {"format": "no"}, {"format": 3}, {"dtype": ingot.int8}, {"rows": ingot.zeros(2, 18)}], ids=str)
def test_wrong_facts_in_a_pickle_are_refused(bad):
    good = {"rows": ingot.zeros(2, 18, dtype=ingot.uint8), "format": "Q4_0", "numbers": 32, "dtype": ingot.float32}
    assert stored_again(**good).shape == (2, 32)
    with pytest.raises(IngotError):
        stored_again(**good | bad)


def test_traces_replay_with_stored_weights():
    m = Tied("Q4_0")
    traced = jit.trace(m)
    with ingot.no_grad():
        for index in ([3, 1], [0, 5], [2, 2]):
            index = ingot.tensor(index)
            np.testing.assert_allclose(traced(index), m(index), rtol=1e-6, atol=1e-6)
        assert traced.stats()["compiles"] == 1
        before = m(index)
        m.head.weight.copy_(weight("Q4_0", seed=1))
        assert not ingot.equal(m(index), before)
        np.testing.assert_allclose(traced(index), m(index), rtol=1e-6, atol=1e-6)


def test_rows_and_copies():
    w = store(ingot.randn(3, 4, 64), "Q8_0")
    assert ingot.equal(w[1].dequantize(), w.dequantize()[1])
    assert ingot.equal(w[1:].dequantize(), w.dequantize()[1:])
    assert [t.shape for t in w] == [(4, 64)] * 3
    assert w.detach().rows.data_ptr() == w.rows.data_ptr() != w.clone().rows.data_ptr()
    other = store(ingot.randn(3, 4, 64), "Q8_0")
    other.copy_(w)
    assert ingot.equal(other, w) and other.rows.data_ptr() != w.rows.data_ptr()
    assert ingot.equal(other.copy_(w.dequantize()).dequantize(), store(w.dequantize(), "Q8_0").dequantize())
    assert w.to("cpu") is w and w.to(ingot.float32, copy=True) is not w


def test_what_it_cannot_do_is_said():
    w = weight("Q4_0")
    for use in (lambda: w + 1, lambda: w @ w, lambda: w.sum(), lambda: w.T, lambda: w[0, 1], lambda: w.numpy(),
                lambda: np.asarray(w), lambda: w.to(ingot.int8), lambda: w.reshape(-1), lambda: F.linear(w, w),
                lambda: ingot.zeros(6, 256).copy_(w), lambda: w.double()):
        with pytest.raises((DTypeError, ShapeError)):
            use()
    with pytest.raises(AutogradError, match="requires_grad=False"):
        nn.Parameter(w)
    with pytest.raises(ShapeError):
        F.linear(ingot.randn(2, 255), w)
    with pytest.raises(ShapeError):
        F.linear(ingot.randn(2, 256), w, ingot.randn(5))
    with pytest.raises(ShapeError):
        w.copy_(ingot.zeros(6, 255))
    for bad in (3.0, ingot.arange(4), w, ingot.tensor(1.0)):
        with pytest.raises((DTypeError, ShapeError)):
            store(bad, "Q4_0")


def test_every_format_of_files_is_stored():
    for name in FORMATS:
        w = weight(name, 2, 300)
        assert ingot.equal(w.clone(), w) and w.dequantize().shape == (2, 300)
