"""Hand-shaped GPU kernels executed on numpy through the mock driver: sizes that cross blocks, repeats, masks, windows, and the
errors of wrong indices. Each result is compared with what the CPU gives; bounds, races and dtypes are checked as it runs.
"""

import itertools

import numpy as np
import pytest

import ingot
import mock_cuda
from ingot import jit
from ingot.ir.ops.nn import conv as cv
from ingot.ir.ops.packed import conv_channels_last as of_last
from ingot.nn import functional as F
from ingot.nn.utils import stateless
from ingot.passes.codegen.triton.attention import attention as attention_text
from ingot.passes.codegen.triton.attention import attention_configs
from ingot.passes.codegen.triton.conv import conv as conv_text
from ingot.passes.codegen.triton.conv import conv_channels_last as last_text
from ingot.runtime.backends import cudnn
from ingot.runtime.cuda.driver import context as contexts
from ingot.runtime.cuda.graph import eager
from ingot.runtime.cuda.ops.conv import conv_channels_last as conv_last
from ingot.runtime.cuda.ops.index import gathers, scans, sorting
from ingot.runtime.cuda.ops.nn import attention, convolutions
from mock_cuda_driver import MockDriver

SEED = 11


@pytest.fixture(autouse=True)
def device():
    with mock_cuda.installed():
        yield


@pytest.fixture
def on_device(monkeypatch):
    """Operators must not run on the host here."""
    monkeypatch.setattr(eager, "on_host", lambda op, *rest: pytest.fail(f"{op.name} ran on the host"))


def draw(*shape, dtype="float32"):
    return ingot.tensor(np.random.default_rng(SEED).standard_normal(shape)).to(getattr(ingot, dtype))


def both(f, *tensors, grad=True, tolerance=2e-5):
    """Compares f and its gradients on the CPU with those on the device."""
    found = []
    for where in ("cpu", "cuda"):
        args = [t.detach().to(where) for t in tensors]
        for t in args:
            t.requires_grad_(grad and t.is_floating_point())
        out = f(*args)
        leaves = [t for t in args if t.requires_grad]
        if leaves:
            weight = ingot.tensor(np.arange(out.numel()).reshape(out.shape) % 7).to(where, out.dtype)
            grads = ingot.autograd.grad((out * weight).sum(), leaves)
        else:
            grads = ()
        found.append([t.detach().cpu() for t in (out, *grads)])
    for n, (want, got) in enumerate(zip(*found)):
        if want.is_floating_point():
            want, got = want.double().numpy(), got.double().numpy()
            scale = max(1.0, np.abs(want).max(initial=0))
            np.testing.assert_allclose(got, want, atol=tolerance * scale, err_msg=f"result {n}, seed {SEED}")
        else:
            np.testing.assert_array_equal(got.numpy(), want.numpy(), f"result {n}, seed {SEED}")


# Sorting.


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "int64", "int8", "uint8", "bool"])
def test_sorting_is_stable_in_every_dtype(dtype, descending, on_device):
    rng = np.random.default_rng(SEED)
    values = rng.integers(-4, 5, (3, 70)).astype(np.float64)
    if dtype in ("float32", "float64", "bfloat16"):
        values[:, ::9], values[:, 1::11], values[:, 2::13] = np.nan, -0.0, np.inf
    else:
        values = np.abs(values) if dtype == "uint8" else values
    x = ingot.tensor(values).to(getattr(ingot, dtype))
    for dim in (0, 1):
        both(lambda t, d=dim: ingot.argsort(t, dim=d, descending=descending, stable=True), x, grad=False)


@pytest.mark.parametrize("dtype", ["float32", "int16", "float64"])
def test_long_rows_are_sorted_by_digits(dtype, on_device, monkeypatch):
    monkeypatch.setattr(sorting.text, "SHORT", 64)
    monkeypatch.setattr(sorting.text, "MIDDLE", 64)
    monkeypatch.setattr(sorting.text, "BLOCK", 64)
    x = (draw(3, 150) * 9).to(getattr(ingot, dtype))
    both(lambda t: ingot.argsort(t, dim=1, stable=True), x, grad=False)
    both(lambda t: t.topk(20, dim=1)[1], x, grad=False)


@pytest.mark.parametrize("length", [60, 128, 130, 300, 520])
@pytest.mark.parametrize("dtype", ["float32", "int16", "float64", "int64"])
def test_rows_of_middle_length_are_merged(dtype, length, on_device, monkeypatch):
    """Runs of 64: one, two, an odd one left over, many; keys of 64 bits go by halves."""
    monkeypatch.setattr(sorting.text, "SHORT", 16)
    monkeypatch.setattr(sorting.text, "RUN", 64)
    monkeypatch.setattr(sorting.text, "BLOCK", 32)
    monkeypatch.setattr(sorting, "sorted_keys", lambda *rest: pytest.fail("sorted by digits"))
    x = (draw(3, length) * (1 << 40 if dtype == "int64" else 9)).to(getattr(ingot, dtype))
    x[:, ::7] = x[0, 0]          # equal ones keep their order
    for down in (False, True):
        both(lambda t, d=down: ingot.argsort(t, dim=1, descending=d, stable=True), x, grad=False)
    both(lambda t: t.topk(20, dim=1)[1], x, grad=False)


def test_searching(on_device):
    rows, values = draw(3, 40).sort(dim=1)[0], draw(3, 17)
    for right in (False, True):
        both(lambda a, b, r=right: ingot.searchsorted(a, b, right=r), rows, values, grad=False)
        both(lambda a, b, r=right: ingot.searchsorted(a[0].contiguous(), b, right=r), rows, values, grad=False)


# Joining, and classes of losses.


def test_many_arrays_are_joined_in_few_launches(on_device):
    parts = [draw(3, n, 2) for n in (1, 4, 2, 7, *([1] * 20))]
    both(lambda *xs: ingot.cat(xs, 1), *parts)
    both(lambda *xs: ingot.cat([x.T for x in xs], 1), *[draw(n, 5) for n in (3, 1, 9)])
    both(lambda *xs: ingot.stack(xs), *[draw() for _ in range(18)])
    both(lambda *xs: ingot.cat(xs), *[draw(n, dtype="bfloat16") for n in (3, 0, 2000)], tolerance=2e-2)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("options", [{}, {"label_smoothing": 0.1}, {"reduction": "none"}, {"ignore_index": 2}], ids=str)
def test_class_losses(dtype, options, on_device):
    x, tolerance = draw(6, 7, dtype=dtype), 2e-5 if dtype == "float32" else 5e-2
    target = ingot.tensor([0, 2, 6, 3, 2, 1])
    weight = draw(7, dtype=dtype).abs()
    both(lambda x: F.cross_entropy(x, target.to(x.device), **options), x, tolerance=tolerance)
    both(lambda x: F.cross_entropy(x, target.to(x.device), weight.to(x.device), **options), x, tolerance=tolerance)
    if "label_smoothing" not in options:
        both(lambda x: F.nll_loss(x, target.to(x.device), weight.to(x.device), **options), x, tolerance=tolerance)
    image = draw(2, 3, 4, 5, dtype=dtype)
    labels = (ingot.arange(40) % 3).reshape(2, 4, 5)
    both(lambda x: F.cross_entropy(x, labels.to(x.device), **options), image, tolerance=tolerance)


def test_a_target_that_is_no_class_is_raised(on_device):
    x = draw(3, 4).cuda()
    with pytest.raises(IndexError, match="out of range"):
        F.cross_entropy(x, ingot.tensor([0, 4, 1]).cuda()).item()
    with pytest.raises(IndexError, match="out of range"):
        F.nll_loss(x, ingot.tensor([0, -1, 1]).cuda(), draw(4).cuda()).item()


@pytest.mark.parametrize("layer", ["RNN", "LSTM", "GRU"])
@pytest.mark.parametrize("options", [{}, {"bidirectional": True, "num_layers": 2}, {"bias": False}], ids=str)
def test_recurrent_layers(layer, options, on_device):
    ingot.manual_seed(3)
    net = getattr(ingot.nn, layer)(5, 4, **options)
    names = [n for n, _ in net.named_parameters()]

    def run(x, *weights):
        made = stateless.functional_call(net, dict(zip(names, weights)), (x,))
        return ingot.cat([made[0].reshape(-1), *[s.reshape(-1) for s in (made[1] if layer == "LSTM" else [made[1]])]])

    both(run, draw(3, 2, 5), *[p.detach() for p in net.parameters()])


def test_recurrent_layers_over_packed_sequences(on_device):
    ingot.manual_seed(3)
    net, x = ingot.nn.LSTM(5, 4, proj_size=3), draw(4, 3, 5)
    pack = ingot.nn.utils.rnn.pack_padded_sequence
    want = net(pack(x, [4, 2, 1]))[0].data
    got = net.cuda()(pack(x.cuda(), [4, 2, 1]))[0].data
    np.testing.assert_allclose(got.detach().cpu().numpy(), want.detach().numpy(), rtol=1e-5, atol=1e-6)


# Gathers and scatters.


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_embeddings_add_repeated_rows(dtype, on_device):
    index = ingot.tensor(np.random.default_rng(SEED).integers(0, 5, (4, 60)))
    both(lambda w, i: F.embedding(i, w), draw(9, 33, dtype=dtype), index, tolerance=2e-5 if dtype == "float32" else 2e-2)


@pytest.mark.parametrize("most, sorted_by", [(1 << 16, "paired"), (500, "f32")], ids=["merged", "by digits"])
@pytest.mark.parametrize("count", [700, 1100, 4100])
def test_rows_of_long_lists_join_in_their_order(count, most, sorted_by, on_device, monkeypatch):
    """Numbers that round otherwise in another order; runs are merged, or digits are sorted where there are too many."""
    monkeypatch.setattr(gathers, "_MERGED", most)
    index = ingot.tensor(np.random.default_rng(count).integers(0, 700, count))
    values = draw(count, 3) * 10.0 ** ingot.tensor(np.random.default_rng(count).integers(0, 5, (count, 1)))
    with mock_cuda.installed() as cuda:
        got = ingot.zeros(900, 3).cuda().index_put((index.cuda(),), values.cuda(), accumulate=True).cpu()
        names = [one["name"] for one in cuda.launches]
    want = np.zeros((900, 3), np.float32)
    np.add.at(want, index.numpy(), values.numpy())
    np.testing.assert_array_equal(got.numpy(), want)
    assert [n.rpartition("_")[2] for n in names if n.startswith("merge_rows")] == [sorted_by], names
    assert sum(n.startswith(("sort", "merge", "count", "add_counts", "spread")) for n in names) == \
        {"paired": 2 + (count > 1024) + 2 * (count > 2048), "f32": 10}[sorted_by], names


def test_one_hot_compares(on_device):
    for shape in ((7,), (2, 3), ()):
        x = ingot.tensor(np.random.default_rng(3).integers(0, 5, shape))
        with mock_cuda.installed() as cuda:
            got = F.one_hot(x.cuda(), 6).cpu()
            np.testing.assert_array_equal(got.numpy(), F.one_hot(x, 6).numpy())
            assert got.dtype is ingot.int64 and 1 < len(cuda.launches) <= 5


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_gather_and_its_gradient(dim, on_device):
    index = ingot.tensor(np.random.default_rng(SEED).integers(0, 3, (3, 4, 5)))
    both(lambda x, i: x.gather(dim, i), draw(3, 4, 5), index)
    both(lambda x, i, s: x.scatter_add(dim, i, s), draw(3, 4, 5), index, draw(3, 4, 5) + 1)


@pytest.mark.parametrize("mode", ["prod", "amax", "amin", "sum"])
def test_scatter_reduce_with_nan(mode, on_device):
    index = ingot.tensor(np.random.default_rng(SEED).integers(0, 4, (6, 5)))
    src = draw(6, 5)
    src[2, 2] = float("nan")
    both(lambda x, i, s: x.scatter_reduce(0, i, s, reduce=mode), draw(6, 5), index, src, grad=False)


def test_index_tensors_together_and_apart(on_device):
    rng = np.random.default_rng(SEED)
    i, j = (ingot.tensor(rng.integers(-3, 3, n)) for n in ((4, 1), (5,)))
    both(lambda x, a, b: x[a, b], draw(3, 4, 6), i, j)
    both(lambda x, a, b: x[:, a, b], draw(2, 3, 4, 3), i, j)
    both(lambda x, a, b: x[a, :, b], draw(3, 2, 4), i, j)
    both(lambda x, a: x[:, a], draw(4, 5, 1100), i)


def test_the_last_of_repeated_writes_stays(on_device):
    def f(x, v, at):
        x = x.clone()
        x[at] = v
        return x

    both(f, draw(5, 3), draw(40, 3), ingot.tensor(np.random.default_rng(SEED).integers(0, 4, 40)), grad=False)


def test_complex_rows_are_moved(on_device):
    x = ingot.tensor(np.arange(12).reshape(4, 3) * (1 + 2j))
    at = ingot.tensor([3, 0, 3])
    np.testing.assert_array_equal(x.cuda()[at.cuda()].cpu().numpy(), x.numpy()[[3, 0, 3]])


@pytest.mark.parametrize("wrong", [4, -1])
def test_an_index_out_of_range_is_an_error_when_values_are_read(wrong):
    weight, index = draw(4, 3).cuda(), ingot.tensor([0, wrong]).cuda()
    out = F.embedding(index, weight)
    with pytest.raises(IndexError, match="embedding: an index was out of range, on cuda:0"):
        out.cpu()
    assert F.embedding(index.abs().clamp(max=3), weight).cpu().shape == (2, 3), "the error is raised once"


# Products whose factors are copied.


def test_products_of_two_unevenly_strided_factors(on_device):
    """Each is copied, and the copies are not the same memory."""
    both(lambda x, y: x.permute(0, 2, 1, 3) @ y.permute(0, 2, 3, 1), draw(2, 5, 3, 8), draw(2, 6, 3, 8))


# Attention.


CASES = {"plain": (2, 3, 3, 40, 50, 20, 24, None), "queries share keys": (2, 4, 2, 33, 70, 16, 16, None),
         "bools": (1, 2, 2, 40, 37, 8, 8, "bool"), "added": (2, 2, 1, 20, 45, 10, 12, "float"),
         "one": (1, 1, 1, 1, 1, 4, 4, None)}


@pytest.mark.parametrize("causal", [False, True], ids=["all", "causal"])
@pytest.mark.parametrize("case", CASES)
def test_attention_and_its_gradients(case, causal, on_device):
    if causal and CASES[case][-1]:
        pytest.skip("a causal mask and another one are two masks")
    tensors, f = attention_case(case, causal)
    both(f, *tensors)


@pytest.mark.parametrize("mask", [False, True], ids=["all", "bools"])
@pytest.mark.parametrize("scale", [0.3, 0.0, -0.5, 1e-40])
def test_attention_of_any_scale(scale, mask, on_device):
    """Scores that are scaled late must keep their order; a row of nothing stays one."""
    given = [draw(5, 7) > -0.3] if mask else []
    if mask:
        given[0][2] = False
    both(lambda q, k, v, *m: F.scaled_dot_product_attention(q, k, v, *m, scale=scale), draw(1, 2, 5, 8), draw(1, 2, 7, 8),
         draw(1, 2, 7, 8), *given)


@pytest.mark.parametrize("near", [1, 2, 4])
def test_causal_blocks_go_over_some_heads_at_a_time(near, on_device, monkeypatch):
    """As many as a cache holds, of which the last ones may be fewer."""
    length, e = 40, 16
    monkeypatch.setattr(attention_text, "NEAR", near * length * 2 * e * 4)
    for name in ("forward", "query_grad", "key_grad"):          # which keep the texts that they have written
        monkeypatch.setattr(attention_text, name, getattr(attention_text, name).__wrapped__)
    both(lambda *a: F.scaled_dot_product_attention(*a, is_causal=True), *[draw(1, 5, length, e) for _ in range(3)])


def attention_case(case, causal, dtype="float32"):
    """(queries, keys, values and the mask; the function of them)"""
    batch, heads, key_heads, length, keys, e, width, mask = CASES[case]
    shape = {"bool": (length, keys), "float": (batch, 1, length, keys)}.get(mask)
    given = [] if mask is None else [draw(*shape) > -0.3 if mask == "bool" else draw(*shape, dtype=dtype)]
    if mask == "bool":
        given[0][5] = False         # a row of nothing
    shapes = (batch, heads, length, e), (batch, key_heads, keys, e), (batch, key_heads, keys, width)

    def f(q, k, v, *m):
        return F.scaled_dot_product_attention(q, k, v, *m, is_causal=causal, enable_gqa=heads != key_heads)

    return [*[draw(*s, dtype=dtype) for s in shapes], *given], f


@pytest.mark.parametrize("causal", [False, True], ids=["all", "causal"])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
def test_attention_in_steps(dtype, case, causal, on_device, monkeypatch):
    """float64 always is; the others where vectors are too long for tiles."""
    if causal and CASES[case][-1]:
        pytest.skip("a causal mask and another one are two masks")
    monkeypatch.setattr(attention, "_WIDEST", 1)
    tolerance = {"float64": 1e-12, "float32": 2e-5, "bfloat16": 2e-2}[dtype]
    tensors, f = attention_case(case, causal, dtype)
    both(f, *tensors, tolerance=tolerance)


@pytest.mark.parametrize("causal", [False, True], ids=["all", "causal"])
@pytest.mark.parametrize("case", ["plain", "queries share keys", "bools", "added"])
def test_attention_reads_parts_of_projections_in_place(case, causal):
    """Heads side by side in memory, as a projection leaves them: the bits of copies, and nothing is copied forward."""
    if causal and CASES[case][-1]:
        pytest.skip("a causal mask and another one are two masks")
    tensors, f = attention_case(case, causal)
    upstream = draw(*tensors[0].shape[:3], tensors[2].shape[-1])

    def apart(t):
        return t.transpose(1, 2).contiguous().transpose(1, 2)

    with mock_cuda.installed() as cuda:
        found = []
        for lie in (lambda t: t, apart):
            q, k, v = (lie(t.cuda()).detach().requires_grad_() for t in tensors[:3])
            up, masks = lie(upstream.cuda()), [t.cuda() for t in tensors[3:]]
            before = len(cuda.launches)
            out = f(q, k, v, *masks)
            names = [one["name"] for one in cuda.launches[before:]]
            out.backward(up)
            found.append([t.cpu().numpy() for t in (out.detach(), q.grad, k.grad, v.grad)])
    assert len(names) == 1 and "strided" in names[0], names
    for a, b in zip(*found):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "int64", "complex64"])
@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_running_folds_of_long_rows_are_cut_in_parts(name, dtype, on_device, monkeypatch):
    """Of rows that fill their parts or do not, one or many; each walks along its own programs."""
    for what, n in (("PART", 16), ("LONG", 40), ("FEW", 5)):
        monkeypatch.setattr(scans, what, n)
    for shape in ((100,), (3, 41), (2, 2, 64), (40,), (6, 50)):
        values = np.sign(draw(*shape).numpy()) if dtype == "int64" else draw(*shape).numpy() * 1.5
        x = ingot.tensor(values).to(getattr(ingot, dtype))
        with mock_cuda.installed() as cuda:
            got = getattr(x.cuda(), name)(-1).cpu()
            names = [one["name"] for one in cuda.launches]
        want = getattr(x, name)(-1)
        assert got.dtype is want.dtype and sum(n.startswith("running") for n in names) == (2 if shape[0] != 6 else 1), names
        want, got = (ingot.view_as_real(t) if t.is_complex() else t for t in (want, got))
        room = {"bfloat16": 8e-3, "float64": 1e-13, "int64": 0}.get(dtype, 1e-6)
        np.testing.assert_allclose(got.double().numpy(), want.double().numpy(), rtol=room, atol=room, err_msg=f"{shape}")


@pytest.mark.parametrize("causal", [False, True], ids=["all", "causal"])
@pytest.mark.parametrize("case", CASES)
def test_attention_over_transposed_keys(case, causal, on_device, monkeypatch):
    """As exact products of many scores are made: vectors in pieces, keys and values as columns."""
    if causal and CASES[case][-1]:
        pytest.skip("a causal mask and another one are two masks")
    monkeypatch.setattr(attention_configs, "LEAST_WORK", 0)
    tensors, f = attention_case(case, causal)
    both(f, *tensors)
    with mock_cuda.installed() as cuda:
        f(*[t.cuda() for t in tensors]).cpu()
    assert any("x16" in launch["name"] for launch in cuda.launches)


def test_attention_in_low_precision(on_device):
    q, k, v = (draw(1, 2, 130, 16, dtype="bfloat16") for _ in range(3))
    both(lambda *a: F.scaled_dot_product_attention(*a, is_causal=True), q, k, v, tolerance=2e-2)


def test_tiles_of_attention_fit_the_shared_memory():
    for e in (16, 64, 128, 256):
        for part, arch in itertools.product((attention_text.FORWARD, attention_text.QUERIES, attention_text.KEYS), (80, 90)):
            kind = attention_text.Kind(ingot.bfloat16, "none", True)
            constants, _, stages = attention_configs.tiles(kind, e, e, 1.0, part, arch)
            tile = dict(constants)
            own, others = (tile["BN"], tile["BM"]) if part == attention_text.KEYS else (tile["BM"], tile["BN"])
            held = ((1 if part == attention_text.FORWARD else 2) * own + stages * 2 * others) * tile["BE"] * 2
            assert held <= 163 << 10


@pytest.mark.parametrize("kind", ["bfloat16", "float16", "float32", "float64"])
def test_every_candidate_of_attention_has_tiles_of_powers_of_two(kind):
    """Triton makes blocks of no other sizes, and a program may try any of them (`INGOT_CUDA_TUNE`)."""
    parts = attention_text.FORWARD, attention_text.QUERIES, attention_text.KEYS
    masks = attention_text.NO_MASK, attention_text.BOOLS, attention_text.ADDED
    drawn = attention_text.NO_DROPOUT, attention_text.ALIGNED_DRAWS
    for mask, causal, full, drops in itertools.product(masks, (False, True), (False, True), drawn):
        for depths, precision in (((), "ieee"), ((), "tf32"), ((2, 2), "ieee")):
            how = attention_text.Kind(getattr(ingot, kind), mask, causal, precision, full=full, drops=drops, depths=depths)
            for e, part, arch in itertools.product((16, 32, 64, 128, 256), parts, (80, 90)):
                for tile in attention_configs.candidates(how, e, e, part, arch):
                    assert all(n & (n - 1) == 0 and n >= 16 for n in tile[:2]) and tile[2] in (4, 8) and tile[3] >= 1


# Convolutions and pools.


WINDOWS = {"plain": ((2, 3, 9, 8), (5, 3, 3, 3), {}), "padded stride": ((2, 4, 9, 10), (6, 4, 3, 2),
                                                                        {"stride": 2, "padding": 1}),
           "dilated": ((1, 2, 11, 12), (3, 2, 3, 3), {"dilation": 2, "padding": 2}),
           "groups": ((2, 6, 7, 7), (9, 2, 3, 3), {"groups": 3, "padding": 1}),
           "depthwise": ((1, 5, 8, 8), (5, 1, 3, 3), {"groups": 5}), "pointwise": ((3, 17, 5, 5), (18, 17, 1, 1), {}),
           "signal": ((2, 3, 30), (4, 3, 5), {"stride": 3, "padding": 2}),
           "strided pointwise": ((2, 5, 7, 6), (4, 5, 1, 1), {"stride": 2}),
           "stride above the kernel": ((1, 2, 10, 9), (3, 2, 2, 2), {"stride": 3, "padding": (1, 0)}),
           "strided and dilated": ((1, 2, 12, 11), (3, 2, 3, 2), {"stride": 2, "dilation": 2, "padding": 1}),
           "depthwise dilated": ((2, 3, 9, 40), (3, 1, 3, 2), {"groups": 3, "dilation": 2, "stride": (1, 2), "padding": 1}),
           "depthwise signal": ((2, 4, 300), (8, 1, 5), {"groups": 4, "padding": 2}),
           "strided depthwise": ((2, 3, 9, 8), (6, 1, 3, 3), {"groups": 3, "stride": 2, "padding": 1}),
           "volume": ((1, 2, 5, 6, 4), (3, 2, 2, 3, 2), {"padding": 1, "stride": (1, 2, 1)})}


@pytest.mark.parametrize("last", [0, 1], ids=["lanes first", "lanes last"])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("case", WINDOWS)
def test_convolutions_and_their_gradients(case, bias, last, on_device, monkeypatch):
    monkeypatch.setattr(MockDriver, "lanes_go_last", last)
    x, w, params = WINDOWS[case]
    f = {3: F.conv1d, 4: F.conv2d, 5: F.conv3d}[len(x)]
    tensors = [draw(*x), draw(*w), *([draw(w[0])] if bias else [])]
    both(lambda *a: f(*a, **params), *tensors)


def test_a_window_of_one_pixel_is_a_product():
    """Forward and backward to the image, with nothing between: also in half precision, and with what follows it."""
    with mock_cuda.installed() as cuda:
        for params, shape, product in (({}, (5, 3, 1, 1), True), ({"stride": 2}, (5, 3, 1, 1), False),
                                       ({"padding": 1}, (5, 3, 1, 1), False), ({"groups": 3}, (6, 1, 1, 1), False)):
            before = len(cuda.launches)
            both(lambda x, w, p=params: F.conv2d(x, w, **p), draw(2, 3, 6, 5), draw(*shape))
            names = [n["name"] for n in cuda.launches[before:] if n["name"].startswith(("conv", "matmul"))]
            assert sum(n.startswith("matmul") for n in names) == 2 * product, (params, names)


def test_long_sums_of_a_weight_gradient_are_cut_in_parts(on_device, monkeypatch):
    monkeypatch.setattr(convolutions, "_LEAST_DEPTH", 32)
    assert convolutions._parts(0, convolutions._tiles(ingot.float32, (4, 18, 200)), 200) > 1
    both(lambda x, w: F.conv2d(x, w, padding=1), draw(2, 2, 10, 10), draw(4, 2, 3, 3))
    both(lambda x, w: F.conv2d(x, w, padding=1, groups=2), draw(3, 2, 10, 10), draw(4, 1, 5, 3))


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("case", ["plain", "strided", "points", "lines", "spaces", "skipping"])
def test_channels_last_convolutions(case, dtype, monkeypatch):
    """Against the plain ones, with the bias; gradients of strides by phases, of which some may have no tap. float32 in TF32."""
    monkeypatch.setattr(cudnn, "allow_tf32", True)
    monkeypatch.setattr(conv_last, "DEPTH", 16)
    x, w, params = LAST[case]
    rank = len(x) - 2
    window = {"stride": (params.get("stride", 1),) * rank, "dilation": (1,) * rank,
              "padding": ((params.get("padding", 0),) * 2,) * rank}
    rng = np.random.default_rng(8)
    kind = getattr(ingot, dtype).np
    image, filters, bias = (rng.standard_normal(s).astype(kind) for s in (x, w, w[:1]))
    filters /= 8

    def last(a):
        return np.ascontiguousarray(np.moveaxis(a, 1, -1))

    y = cv.conv(image, filters, bias, groups=1, **window)
    g = rng.standard_normal(y.shape).astype(kind)
    want = [last(y), last(cv.conv_input_grad(g, filters, size=x[2:], groups=1, **window)),
            last(cv.conv_weight_grad(image, g, size=w[2:], groups=1, **window))]
    with mock_cuda.installed(arch=90) as cuda:
        ingot.ones(1, device="cuda")        # (the device's operators are there from the first use on)
        monkeypatch.setattr(contexts.context(0), "processors", 64)
        image, filters, bias, g = (eager.transfer.to_device(a, 0) for a in (last(image), last(filters), bias, last(g)))
        made = [eager.run(of_last.conv_last, (image, filters, bias), window),
                eager.run(of_last.conv_last_input_grad, (g, filters), {**window, "size": x[2:]}),
                eager.run(of_last.conv_last_weight_grad, (image, g), {**window, "size": w[2:]})]
        got = [eager.transfer.to_host(a) for a in made]
        names = {one["name"] for one in cuda.launches}
    mark, order_mark = ("f16", "") if dtype == "float16" else ("f32", "_turned")
    marks = ["conv_rows_bias", f"conv_rows_back{order_mark}" if case != "points" else "matmul", "conv_rows_weight_grad"]
    assert all(any(n.startswith(f"{m}_{mark}") for n in names) for m in marks), names
    for one, other in zip(want, got):
        assert one.shape == other.shape
        np.testing.assert_allclose(other.astype(float), one.astype(float), rtol=3e-3, atol=3e-3 * np.abs(one).max())


LAST = {"plain": ((2, 64, 9, 7), (64, 64, 3, 3), {"padding": 1}),
        "strided": ((2, 64, 9, 7), (128, 64, 3, 3), {"padding": 1, "stride": 2}),
        "far apart": ((1, 64, 11, 9), (64, 64, 3, 2), {"padding": (2, 1), "dilation": 2}),
        "points": ((2, 64, 5, 7), (128, 64, 1, 1), {}),
        "skipping": ((1, 64, 7, 8), (64, 64, 2, 1), {"stride": 3}),
        "lines": ((2, 128, 40), (64, 128, 5), {"padding": 2}),
        "spaces": ((1, 64, 4, 5, 3), (64, 64, 2, 3, 2), {})}


def eager_and_traced(work, arrays, dtype, device) -> list:
    """Return a function's result and gradients, eager, while tracing, and from the trace."""
    given = [ingot.tensor(a).to(dtype).to(device).requires_grad_() for a in arrays]
    out = work(*given)
    out.backward(out.detach())
    traced = jit.trace(work)
    again = [traced(*[t.detach() for t in given]) for _ in range(2)]
    return [t.detach().float().cpu().numpy() for t in (out, *[g.grad for g in given], *again)]


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("case", ["plain", "strided", "far apart", "lines", "spaces"])
def test_convolutions_over_many_channels_turn_images(case, bias, monkeypatch):
    """Forward, with what follows it, and both gradients, with sums over pixels cut in parts."""
    monkeypatch.setattr(last_text, "LEAST", 0)
    monkeypatch.setattr(conv_last, "DEPTH", 16)
    x, w, params = LAST[case]
    f = {3: F.conv1d, 4: F.conv2d, 5: F.conv3d}[len(x)]
    rng = np.random.default_rng(8)
    arrays = [rng.standard_normal(s).astype(np.float32) for s in (x, w, *([w[:1]] if bias else []))]
    arrays[1] /= 20

    def work(x, w, *b):
        return F.relu(f(x, w, *b, **params) * 2)

    want = eager_and_traced(work, arrays, ingot.bfloat16, "cpu")
    with mock_cuda.installed() as cuda:
        monkeypatch.setattr(contexts.context(0), "processors", 64)
        got = eager_and_traced(work, arrays, ingot.bfloat16, "cuda")
        names = {one["name"] for one in cuda.launches}
    assert {"conv_last_weight_grad_bf16", "conv_last_bias_bf16" if bias else "conv_last_bf16"} <= names
    assert any(n.startswith("conv_last") and "epilogue" in n for n in names)
    assert (case == "strided") != any(n.startswith("conv_last_back") for n in names)
    for one, other in zip(want, got):
        np.testing.assert_allclose(other, one, rtol=3e-2, atol=3e-2 * np.abs(one).max())


@pytest.mark.parametrize("pixels", [(7, 7), (4, 16), (130,)], ids=str)
def test_gradients_of_filters_of_one_pixel_are_products_of_images(pixels, monkeypatch):
    monkeypatch.setattr(conv_last, "DEPTH", 64)
    rng = np.random.default_rng(8)
    x, w, g = (rng.standard_normal(s).astype(np.float32) for s in ((3, 64, *pixels), (128, 64, *[1] * len(pixels)),
                                                                   (3, 128, *pixels)))
    want = np.einsum("noq,ncq->oc", g.reshape(3, 128, -1), x.reshape(3, 64, -1))
    f = {1: F.conv1d, 2: F.conv2d}[len(pixels)]
    with mock_cuda.installed() as cuda:
        monkeypatch.setattr(contexts.context(0), "processors", 64)
        x, w, g = (ingot.tensor(a).to(ingot.bfloat16).cuda() for a in (x, w, g))
        f(x, w.requires_grad_()).backward(g)
        assert "point_weight_grad_bf16" in {one["name"] for one in cuda.launches}
        got = w.grad.float().cpu().numpy().reshape(128, 64)
    np.testing.assert_allclose(got, want, atol=0.02 * np.abs(want).max())


def test_tiles_of_convolutions_cover_their_products():
    for m, n, k in ((1, 1, 1), (100000, 64, 576), (512, 4608, 25088)):
        (bm, bn, bk), warps, stages = conv_text.tiles(ingot.bfloat16, "ieee", m, n, k)
        assert min(bm, bn, bk) >= 16 and stages * (bm + bn) * bk * 2 <= 163 << 10 and warps in (4, 8)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_pools_and_their_gradients(dtype, on_device):
    x = draw(2, 3, 11, 9, dtype=dtype)
    tolerance = 2e-5 if dtype == "float32" else 2e-2
    both(lambda t: F.max_pool2d(t, 3, 2, 1), x, tolerance=tolerance)
    both(lambda t: F.max_pool2d(t, 2, dilation=2), x, tolerance=tolerance)
    for params in ({}, {"count_include_pad": False}, {"divisor_override": 5}, {"ceil_mode": True}):
        both(lambda t, p=params: F.avg_pool2d(t, 3, 2, 1, **p), x, tolerance=tolerance)
    both(lambda t: F.avg_pool1d(t[0], 4, 3), x, tolerance=tolerance)


def test_a_maximum_knows_nan_and_where_it_was(on_device):
    x = draw(1, 1, 6, 6)
    x[0, 0, 1, 1], x[0, 0, 4, 4] = float("nan"), float("-inf")
    both(lambda t: F.max_pool2d(t, 2, 2, return_indices=True)[1], x, grad=False)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32", "uint8"])
def test_maxima_of_windows_that_meet_nothing(dtype, on_device):
    """As far apart as their places are, these fall before the plane and beyond it."""
    x = ingot.tensor([[[[-3.0, -2.0]]]]).abs().to(getattr(ingot, dtype))
    for place in (0, 1):
        both(lambda t, p=place: F.max_pool2d(t, 2, 1, 1, 2, return_indices=True)[p], x, grad=False)
