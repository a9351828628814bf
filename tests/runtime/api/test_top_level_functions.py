"""Short functions of the top level: copies of views, segments, positions, layers as functions, files."""

import numpy as np
import pytest

import ingot
from ingot import jit, nn
from ingot.ir.errors import ArgumentError, DTypeError, ShapeError

RNG = np.random.default_rng(0)


def t(*shape):
    return ingot.tensor(RNG.standard_normal(shape))


COPIES = {
    "alias": (), "as_strided": ((2, 2), (1, 2)), "detach": (), "diagonal": (1,), "expand": ((5, 3, 4),), "narrow": (1, 1, 2),
    "permute": ((1, 0),), "select": (0, 1), "slice": (1, 0, 4, 2), "split": (2, 1), "split_with_sizes": ([1, 3], 1),
    "squeeze": (), "t": (), "transpose": (0, 1), "unbind": (1,), "unfold": (1, 2, 1), "unsqueeze": (1,), "view": ((4, 3),),
    "view_as_real": (),
}


@pytest.mark.parametrize("name", COPIES)
def test_copies_of_views(name):
    x = ingot.complex(t(3, 4), t(3, 4)) if name == "view_as_real" else t(3, 4)
    looks = {"alias": lambda x: x, "slice": lambda x, *_: x[:, 0:4:2]}
    views = (looks.get(name) or getattr(ingot, name, None) or getattr(ingot.Tensor, name))(x, *COPIES[name])
    found = getattr(ingot, f"{name}_copy")(x, *COPIES[name])
    assert type(found) is tuple or isinstance(found, ingot.Tensor)
    for view, copy in zip(views, found, strict=True) if isinstance(found, tuple) else [(views, found)]:
        assert (view == copy).all() and copy.is_contiguous() and copy.data_ptr() != x.data_ptr()
    single = found[0] if isinstance(found, tuple) else found
    out = ingot.empty(0, dtype=single.dtype)
    getattr(ingot, f"{name}_copy")(x, *COPIES[name], out=[out] * len(found) if isinstance(found, tuple) else out)
    assert out.numel()


def test_windows_and_permuted_memory():
    x = t(3, 4).requires_grad_()
    out = ingot.as_strided_scatter(x, ingot.zeros(2, 2, dtype=x.dtype), (2, 2), (1, 2))
    want = x.detach().numpy().copy()
    want.reshape(-1)[[0, 2, 1, 3]] = 0
    np.testing.assert_array_equal(out.detach().numpy(), want)
    out.sum().backward()
    assert x.grad.sum() == 8
    for seen in (x[1:], x.t(), x[:, ::2], x[1:, 1:].t()):      # offsets count in the memory, not in the tensor
        out, seen, memory = ingot.as_strided_scatter(seen, x.new_zeros(2), (2,), (4,), 5), seen.detach(), x.detach().clone()
        memory.as_strided((2,), (4,), 5).zero_()
        assert (out == memory.as_strided(seen.shape, seen.stride(), seen.storage_offset())).all()
    assert ingot.as_strided_scatter(x[:1].expand(2, 4), x.new_zeros(2), (2,), (4,)).sum(1).tolist() == [
        x[0, 1:].sum().item()] * 2
    assert ingot.slice_inverse(x, x[:, 1:3]).tolist() == x[:, 1:3].tolist()
    made = ingot.empty_permuted((2, 3, 5), (1, 0, 2), dtype=ingot.float64)
    assert made.stride() == (5, 10, 1) and made.shape == (2, 3, 5) and made.dtype is ingot.float64
    assert x.new_empty_strided((2, 2), (1, 2)).dtype is ingot.float64
    assert [p.shape[1] for p in x.unsafe_split_with_sizes((1, 3), 1)] == [1, 3]
    with pytest.raises(ArgumentError, match="once"):
        ingot.empty_permuted((2, 3), (0, 0))


def test_files_are_memory(tmp_path):
    path = tmp_path / "numbers"
    np.arange(6, dtype=np.float32).tofile(path)
    mine = ingot.from_file(path, size=4)
    mine += 1
    assert mine.tolist() == [1, 2, 3, 4] and np.fromfile(path, np.float32).tolist() == [0, 1, 2, 3, 4, 5]
    shared = ingot.from_file(path, True, 8, dtype=ingot.int32)
    shared.fill_(7)
    assert np.fromfile(path, np.int32).tolist() == [7] * 8


@pytest.mark.parametrize("kind", ["float16", "bfloat16", "float32", "float64"])
def test_mantissas_and_exponents(kind):
    x = ingot.tensor([[0.0, 1.0, -3.5], [1e-4, 100.0, -0.5]], dtype=getattr(ingot, kind))
    mantissa, exponent = x.frexp()
    assert exponent.dtype is ingot.int32 and mantissa.dtype is x.dtype and (ingot.ldexp(mantissa, exponent) == x).all()
    assert ((mantissa.abs() >= 0.5) | (mantissa == 0)).all() and (mantissa.abs() < 1).all()
    with pytest.raises(DTypeError):
        ingot.frexp(ingot.tensor([1]))


def test_binomial_numbers():
    ingot.manual_seed(0)
    n, p = ingot.tensor([0.0, 1, 10, 1000, 50]), ingot.tensor([0.5, 0.3, 0.0, 0.2, 1.0])
    drawn = ingot.binomial(n.expand(20000, 5), p)
    mean, var = drawn.mean(0), drawn.var(0)
    np.testing.assert_allclose(mean.numpy(), (n * p).numpy(), atol=0.3)
    np.testing.assert_allclose(var.numpy(), (n * p * (1 - p)).numpy(), rtol=0.05, atol=0.02)
    assert (drawn >= 0).all() and (drawn <= n).all() and (drawn == drawn.round()).all()
    with pytest.raises(ArgumentError, match="whole"):
        ingot.binomial(ingot.tensor([1.5]), ingot.tensor([0.5]))


@pytest.mark.parametrize("reduce", ["sum", "mean", "prod", "max", "min"])
@pytest.mark.parametrize("axis", [0, 1])
def test_stretches(reduce, axis):
    x = t(6, 6, 2).requires_grad_()
    lengths = np.array([2, 0, 3, 1])
    fold = {"sum": np.sum, "mean": np.mean, "prod": np.prod, "max": np.max, "min": np.min}[reduce]
    ends = np.cumsum(lengths)
    want = np.stack([fold(np.take(x.detach().numpy(), range(e - n, e), axis), axis) if n else
                     np.zeros(tuple(np.delete(x.shape, axis))) + 4.0 for n, e in zip(lengths, ends)], axis)
    rows = np.tile(lengths, (6, 1)) if axis else lengths
    for given in ({"lengths": ingot.tensor(rows)}, {"offsets": ingot.tensor(np.insert(np.cumsum(rows, -1), 0, 0, axis=-1))}):
        got = ingot.segment_reduce(x, reduce, axis=axis, **given)
        empty = [i for i, n in enumerate(lengths) if not n]
        full = [i for i, n in enumerate(lengths) if n]
        np.testing.assert_allclose(np.take(got.detach().numpy(), full, axis), np.take(want, full, axis), rtol=1e-12)
        start = {"sum": 0, "mean": np.nan, "prod": 1, "max": -np.inf, "min": np.inf}[reduce]
        nothing = np.take(got.detach().numpy(), empty, axis)
        np.testing.assert_array_equal(nothing, np.full_like(nothing, start))
    if reduce in ("max", "min"):
        assert ingot.equal(ingot.segment_reduce(x, f"a{reduce}", axis=axis, **given), got)
    if reduce == "sum":
        got.sum().backward()
        assert (x.grad == 1).all()
    with pytest.raises(ArgumentError, match="add up"):
        ingot.segment_reduce(x, reduce, lengths=ingot.tensor([5]))
    row = ingot.tensor([5.0, 4, 9, 0])      # the last element belongs to no segment, which `unsafe` allows
    want = [float(fold(np.array([5.0, 4]))), 9.0]
    assert ingot.segment_reduce(row, reduce, lengths=ingot.tensor([2, 1]), unsafe=True).tolist() == want


def test_a_fixed_number_of_positions():
    x = ingot.tensor([[0, 3, 0], [5, 0, 7]])
    assert ingot.nonzero_static(x, size=2).tolist() == [[0, 1], [1, 0]]
    assert x.nonzero_static(size=4, fill_value=-9).tolist() == [[0, 1], [1, 0], [1, 2], [-9, -9]]
    assert ingot.nonzero_static(ingot.tensor(3), size=2).shape == (2, 0)
    traced = jit.trace(lambda x: ingot.nonzero_static(x, size=3))
    for seed in range(3):
        y = ingot.tensor(np.random.default_rng(seed).integers(0, 2, (4, 5)))
        assert traced(y).tolist() == ingot.nonzero_static(y, size=3).tolist()


def test_histograms_of_points():
    points, weight = RNG.standard_normal((50, 3)), RNG.random(50)
    for bins, options in (((3, 4, 5), {}), (2, {"range": [-1.0, 1.0] * 3}), ((2, 3, 2), {"density": True, "weight": weight})):
        ends = options.get("range")
        want, edges = np.histogramdd(points, bins, range=None if ends is None else [(-1.0, 1.0)] * 3,
                                     density=options.get("density"), weights=options.get("weight"))
        given = {k: ingot.tensor(v) if k == "weight" else v for k, v in options.items()}
        got = ingot.histogramdd(ingot.tensor(points), bins, **given)
        np.testing.assert_allclose(got.hist.numpy(), want, rtol=1e-12)
        for a, b in zip(got.bin_edges, edges):
            np.testing.assert_allclose(a.numpy(), b, rtol=1e-12)
    again = ingot.histogramdd(ingot.tensor(points), got.bin_edges, weight=ingot.tensor(weight), density=True)
    np.testing.assert_allclose(again.hist.numpy(), want, rtol=1e-12)
    with pytest.raises(ArgumentError, match="3 dimensions"):
        ingot.histogramdd(ingot.tensor(points), (2, 2))


LAYERS = {"rnn_tanh": (nn.RNN, {}), "rnn_relu": (nn.RNN, {"nonlinearity": "relu"}), "gru": (nn.GRU, {}), "lstm": (nn.LSTM, {}),
          "lstm with a projection": (nn.LSTM, {"proj_size": 2})}


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("name", LAYERS)
def test_recurrent_layers_as_functions(name, bias, bidirectional):
    kind, options = LAYERS[name]
    module = kind(3, 4, 2, bias=bias, bidirectional=bidirectional, batch_first=True, dtype=ingot.float64, **options)
    function, params = getattr(ingot, name.split()[0]), [w for ws in module.all_weights for w in ws]
    x = t(5, 7, 3)
    y, ends = module(x)
    states = [ingot.zeros_like(e) for e in (ends if isinstance(ends, tuple) else (ends,))]
    hx = states if name.startswith("lstm") else states[0]
    got = function(x, hx, params, bias, 2, 0.0, False, bidirectional, True)
    wanted = (y, *(ends if isinstance(ends, tuple) else (ends,)))
    assert len(got) == len(wanted) and all((a == b).all() for a, b in zip(got, wanted))
    packed = nn.utils.rnn.pack_padded_sequence(x, [7, 6, 6, 2, 1], batch_first=True)
    data, *_ = function(packed.data, packed.batch_sizes, hx, params, bias, 2, 0.0, False, bidirectional)
    assert (data == module(packed)[0].data).all()
    traced = jit.trace(lambda x, params: function(x, hx, params, bias, 2, 0.0, False, bidirectional, True)[0])
    for _ in range(3):
        np.testing.assert_allclose(traced(x, params).detach().numpy(), y.detach().numpy(), rtol=1e-12, atol=1e-12)
    with pytest.raises(ArgumentError, match="do not fit"):
        function(x, hx, params[:-1], bias, 2, 0.0, False, bidirectional, True)


@pytest.mark.parametrize("name, module", [("rnn_tanh", nn.RNNCell(3, 4)), ("gru", nn.GRUCell(3, 4)),
                                          ("lstm", nn.LSTMCell(3, 4)), ("rnn_relu", nn.RNNCell(3, 4, nonlinearity="relu"))])
def test_cells_as_functions(name, module):
    x, h = ingot.randn(2, 3), ingot.randn(2, 4)
    hx = (h, h) if name == "lstm" else h
    got = getattr(ingot, name + "_cell")(x, hx, module.weight_ih, module.weight_hh, module.bias_ih, module.bias_hh)
    for a, b in zip(got, module(x, hx)):
        assert (a == b).all()


def test_normalisations_with_their_statistics():
    x, w, b = t(4, 6, 5), t(6), t(6)
    out, mean, scale = ingot.native_group_norm(x, w, b, 4, 6, 5, 3, 1e-5)
    assert (out == nn.functional.group_norm(x, 3, w, b)).all()
    grouped = x.numpy().reshape(4, 3, 10)
    np.testing.assert_allclose(mean.numpy(), grouped.mean(-1), rtol=1e-10)
    np.testing.assert_allclose(scale.numpy(), 1 / np.sqrt(grouped.var(-1) + 1e-5), rtol=1e-10)
    out, mean, scale = ingot.native_layer_norm(x, (5,), None, None, 1e-5)
    assert mean.shape == scale.shape == (4, 6, 1) and (out == nn.functional.layer_norm(x, (5,))).all()
    running = ingot.zeros(6, dtype=ingot.float64), ingot.ones(6, dtype=ingot.float64)
    out, mean, scale = ingot.native_batch_norm(x, w, b, *running, True, 0.1, 1e-5)
    np.testing.assert_allclose(running[0].numpy(), 0.1 * mean.numpy(), rtol=1e-10)
    assert [s.numel() for s in ingot.native_batch_norm(x, w, b, *running, False, 0.1, 1e-5)[1:]] == [0, 0]
    ingot.manual_seed(1)
    out, kept = ingot.native_dropout(ingot.ones(1000), 0.25, True)
    assert kept.dtype is ingot.bool and (out == kept / 0.75).all() and 650 < int(kept.sum()) < 850
    np.testing.assert_allclose(ingot.norm_except_dim(x, 2, 1).numpy(), np.sqrt((x.numpy() ** 2).sum((0, 2), keepdims=True)))
    assert ingot.norm_except_dim(ingot.tensor([1.0, -2.0])).tolist() == [1, 2]
    assert ingot.native_norm(x).item() == pytest.approx(np.linalg.norm(x.numpy()))


@pytest.mark.parametrize("mode", [0, 1, 2])
def test_embedding_bag_returns_the_bag_of_each_index(mode):
    table, indices, offsets = t(5, 3), ingot.tensor([1, 4, 4, 0, 2]), ingot.tensor([0, 2, 2])
    found, bag, sizes, largest = ingot.embedding_bag(table, indices, offsets, mode=mode)
    want = nn.functional.embedding_bag(indices, table, offsets, mode=("sum", "mean", "max")[mode])
    assert (found == want).all() and bag.tolist() == [0, 0, 2, 2, 2] and sizes.tolist() == [2, 0, 3]
    if mode == 2:
        assert (table.gather(0, largest)[[0, 2]] == found[[0, 2]]).all()


def random_csr(seed=0):
    rng = np.random.default_rng(seed)
    dense = rng.standard_normal((5, 6)) * (rng.random((5, 6)) > 0.6)
    return dense, ingot.tensor(dense).to_sparse_csr()


def test_compressed_rows_agree_with_dense_ones():
    dense, s = random_csr()
    assert s.is_sparse_csr and not s.is_sparse and s.layout == ingot.sparse_csr and s.crow_indices()[-1] == s._nnz()
    np.testing.assert_array_equal(s.to_dense().numpy(), dense)
    again = ingot.sparse_csr_tensor(s.crow_indices(), s.col_indices(), s.values())
    np.testing.assert_array_equal(again.to_dense().numpy(), dense)
    for other in (s.to_sparse(), s.to_sparse().to_sparse_csr(), s.t().t().to_sparse_csr(), s + s * 0, (s * 2) / 2, s.clone()):
        np.testing.assert_array_equal(other.to_dense().numpy(), dense)
    assert "crow_indices" in repr(s)
    assert ingot.ones(3, 3).sparse_mask(ingot.eye(3).to_sparse()).values().tolist() == [1, 1, 1]
    x = ingot.ones(2, 3)
    assert x.sparse_dim() == 0 and x.dense_dim() == 2 and not x.is_sparse_csr
    with pytest.raises(DTypeError, match="dense"):
        x.crow_indices()


def test_compressed_rows_multiply_with_gradients():
    dense, s = random_csr()
    y = t(6, 3).requires_grad_()
    s.requires_grad_()
    weight = RNG.standard_normal((5, 3))
    out = ingot.matmul(s, y)
    np.testing.assert_allclose(out.detach().numpy(), dense @ y.detach().numpy(), rtol=1e-12)
    (out * ingot.tensor(weight)).sum().backward()
    np.testing.assert_allclose(y.grad.numpy(), dense.T @ weight, rtol=1e-12)
    np.testing.assert_allclose(s.grad.to_dense().numpy(), (weight @ y.detach().numpy().T) * (dense != 0), rtol=1e-12)
    np.testing.assert_allclose(s.mv(y[:, 0]).detach().numpy(), dense @ y[:, 0].detach().numpy(), rtol=1e-12)
    square = s.detach() @ s.detach().t().to_sparse_csr()
    assert square.is_sparse_csr
    np.testing.assert_allclose(square.to_dense().numpy(), dense @ dense.T, rtol=1e-12)
    traced = jit.trace(lambda values, y: ingot.sparse_csr_tensor(s.crow_indices(), s.col_indices(), values, s.shape) @ y)
    for _ in range(3):
        np.testing.assert_allclose(traced(s.values().detach(), y.detach()).numpy(), dense @ y.detach().numpy(), rtol=1e-12)


@pytest.mark.parametrize("crow, col, message", [([0, 2, 1], [0, 1], "rise from 0"), ([0, 2], [1, 0], "rise within"),
                                             ([0, 1], [0, 1], "rise from 0"), ([0, 2], [0, 7], "out of range")])
def test_rows_that_are_not_compressed_are_refused(crow, col, message):
    with pytest.raises((ShapeError, IndexError), match=message):
        ingot.sparse_csr_tensor(crow, col, ingot.ones(2), (len(crow) - 1, 3))
