"""Jagged nested tensors: programs against PyTorch, gradients, layers, single samples, copies, traces, errors."""

import copy
import io
import math
import pickle

import numpy as np
import pytest

import ingot
import mock_cuda
from ingot import jit, nested, nn
from ingot.ir.errors import FileError
from ingot.runtime.nested.jagged import made_again

LENGTHS, DEFAULT = [3, 1, 0, 4], ingot.get_default_dtype()
PROGRAMS = {
    "number": lambda m, t: 2 * t + 1,
    "two": lambda m, t: t * t - t / 3,
    "power and compare": lambda m, t: (t ** 2 > 0.5).to(m.float32),
    "dense rows": lambda m, t: t * m.arange(4.0),
    "for each sample": lambda m, t: t + m.arange(16.0).reshape(4, 1, 4),
    "for all samples": lambda m, t: t + m.arange(4.0).reshape(1, 1, 4),
    "where": lambda m, t: m.where(t > 0, t, 0.0),
    "masked_fill": lambda m, t: t.masked_fill(t > 0, 7.0),
    "clamp": lambda m, t: t.clamp(-0.5, 0.5),
    "relu": lambda m, t: m.relu(t),
    "gelu": lambda m, t: m.nn.functional.gelu(t),
    "silu": lambda m, t: m.nn.functional.silu(t),
    "sum": lambda m, t: t.sum(),
    "mean": lambda m, t: t.mean(),
    "sum along samples": lambda m, t: t.sum(dim=1),
    "mean along samples": lambda m, t: t[:, :, 1:].mean(1) if m is ingot else t.narrow(2, 1, 3).mean(1),
    "sum of numbers": lambda m, t: (t > 0).sum(1),
    "sum with keepdim": lambda m, t: m.sum(t, 1, keepdim=True),
    "sum of rows": lambda m, t: t.sum(-1),
    "mean of rows": lambda m, t: t.mean(-1, keepdim=True),
    "largest along samples": lambda m, t: m.amax(t.abs() + 1, 1)[:2],
    "sum of all samples": lambda m, t: t.sum((0, 1)),
    "softmax of rows": lambda m, t: m.softmax(t, -1),
    "softmax along samples": lambda m, t: m.softmax(t, 1),
    "linear": lambda m, t: m.nn.functional.linear(t, m.arange(20.0).reshape(5, 4) / 9, m.arange(5.0)),
    "matrix": lambda m, t: t @ (m.arange(20.0).reshape(4, 5) / 9),
    "matrices": lambda m, t: m.bmm(t, m.arange(80.0).reshape(4, 4, 5) / 9),
    "layer_norm": lambda m, t: m.nn.functional.layer_norm(t, (4,), m.arange(4.0), m.ones(4)),
    "rms_norm": lambda m, t: m.nn.functional.rms_norm(t, (4,)),
    "heads": lambda m, t: t.unflatten(-1, (2, 2)).transpose(1, 2),
    "heads and back": lambda m, t: t.unflatten(-1, (2, 2)).transpose(1, 2).transpose(1, 2).flatten(-2),
    "view": lambda m, t: t.view(4, -1, 2, 2) * 2,
    "view by its size": lambda m, t: t.reshape(t.size(0), t.size(1), 2, 2),
    "unsqueeze": lambda m, t: t.unsqueeze(-1).squeeze(-1),
    "permute": lambda m, t: t.permute(0, 2, 1),
    "cat": lambda m, t: m.cat([t, t * 2], -1),
    "stack": lambda m, t: m.stack([t, t * 2], -1),
    "stack before the dim that differs": lambda m, t: (
        m.stack([t, t * 2], 1) if m is ingot else m.stack([t, t * 2], 2).transpose(1, 2)),
    "expand": lambda m, t: t.unsqueeze(-1).expand(4, -1, 4, 3),
    "select": lambda m, t: t.select(0, 3),
    "chunk": lambda m, t: t.chunk(2, -1)[1],
    "split": lambda m, t: t.split([1, 3], -1)[1],
    "padded": lambda m, t: t.to_padded_tensor(-1.0),
    "padded to a size": lambda m, t: m.nested.to_padded_tensor(t, 0.5, (4, 6, 4)),
    "a sample": lambda m, t: t[3],
    "a row": lambda m, t: t[0, 1],
    "copies": lambda m, t: t.clone().contiguous(),
    "like": lambda m, t: m.ones_like(t) + m.zeros_like(t),
    "attention": lambda m, t: m.nn.functional.scaled_dot_product_attention(*[
        (t * k).unflatten(-1, (2, 2)).transpose(1, 2) for k in (1, 2, 3)]).transpose(1, 2).flatten(-2),
}
# Differences from PyTorch for empty input.
WITHOUT_EMPTY = {"mean along samples", "softmax along samples", "attention", "largest along samples"}


def over(m, values, lengths):
    """Return a nested tensor of PyTorch or ingot."""
    bounds = {"min_seqlen": min(lengths), "max_seqlen": max(lengths)}       # without them PyTorch pads to the sum
    return m.nested.nested_tensor_from_jagged(values, m.tensor(np.cumsum([0, *lengths])), **bounds)


def parts(result):
    """Return the comparable parts of a result."""
    if not result.is_nested:
        return tuple(result.shape), result
    shape = tuple([n if isinstance(n, int) else "j" for n in result.shape])
    return (shape, result.offsets().tolist()), result.values()


def lengths_of(name):
    return [3, 1, 2, 4] if name in WITHOUT_EMPTY else LENGTHS


@pytest.mark.peer
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_agree_with_pytorch(name):
    torch, lengths = pytest.importorskip("torch"), lengths_of(name)
    values = np.random.default_rng(0).standard_normal((sum(lengths), 4)).astype(np.float32)
    (said, want), (ours, got) = [parts(PROGRAMS[name](m, over(m, m.tensor(values), lengths))) for m in (torch, ingot)]
    assert ours == said and str(got.dtype).split(".")[1] == str(want.dtype).split(".")[1]
    np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients(name, monkeypatch):
    """Compare with a central difference in one direction."""
    lengths, rng = lengths_of(name), np.random.default_rng(1)
    at, along = (ingot.tensor(rng.standard_normal((sum(lengths), 4))) for _ in range(2))
    monkeypatch.setattr(ingot, "float32", ingot.float64)         # dtype that programs cast to
    ingot.set_default_dtype(ingot.float64)
    try:
        def loss(values):
            found = parts(PROGRAMS[name](ingot, over(ingot, values, lengths)))[1]
            return (found * ingot.arange(1.0, found.numel() + 1).cos().reshape(found.shape)).sum()

        leaf = at.clone().requires_grad_()
        result = loss(leaf)
        if not result.requires_grad:
            return
        result.backward()
        step = 1e-6
        slope = (loss(at + step * along) - loss(at - step * along)) / (2 * step)
    finally:
        ingot.set_default_dtype(DEFAULT)
    assert (leaf.grad * along).sum().item() == pytest.approx(slope.item(), rel=1e-6, abs=1e-6)


def jagged_of(*lengths, width=8, dtype=ingot.float32):
    return nested.nested_tensor([ingot.randn(n, width, dtype=dtype) for n in lengths], layout=ingot.jagged)


class Block(nn.Module):
    """Attention and two layers, for nested and for padded samples."""

    def __init__(self):
        super().__init__()
        self.norm, self.qkv, self.out = nn.LayerNorm(8), nn.Linear(8, 24), nn.Linear(8, 8)
        self.rest = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Dropout(0.0), nn.Linear(16, 8))

    def forward(self, x):
        q, k, v = (part.unflatten(-1, (2, 4)).transpose(1, 2) for part in self.qkv(self.norm(x)).chunk(3, -1))
        found = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(found.transpose(1, 2).flatten(-2))
        return x + self.rest(x)


def test_a_block_treats_each_sample_alone():
    block, x = Block(), jagged_of(3, 5, 1)
    x.requires_grad_()
    got = block(x)
    for one, alone in zip(got.unbind(), x.unbind(), strict=True):
        assert one.allclose(block(alone.unsqueeze(0))[0], atol=1e-6)
    got.values().square().sum().backward()
    assert x.grad.is_nested and x.grad.values().shape == (9, 8) and block.qkv.weight.grad is not None
    ours = x.grad.values().clone()
    x.grad = None
    sum(block(s.unsqueeze(0)).square().sum() for s in x.unbind()).backward()
    assert x.grad.values().allclose(ours, atol=1e-4)


def test_cross_attention():
    q, kv = [jagged_of(*lengths).unflatten(-1, (2, 4)).transpose(1, 2) for lengths in ((2, 3), (5, 1))]
    got = nn.functional.scaled_dot_product_attention(q, kv, kv)
    for one, a, b in zip(got.unbind(), q.unbind(), kv.unbind()):
        assert one.equal(nn.functional.scaled_dot_product_attention(a, b, b))


def test_layers():
    t = nested.nested_tensor([ingot.tensor([1, 2]), ingot.tensor([0])], layout=ingot.jagged)
    table = nn.Embedding(3, 5)
    assert table(t).shape == (2, t.size(1), 5) and table(t).unbind()[0].equal(table.weight[[1, 2]])
    x = jagged_of(2, 3)
    for layer in (nn.ReLU(), nn.Linear(8, 3), nn.LayerNorm(8), nn.RMSNorm(8), nn.Dropout(0.5).eval(), nn.SiLU(), nn.Identity(),
                  nn.Softmax(-1), nn.Sigmoid()):
        for one, alone in zip(layer(x).unbind(), x.unbind()):
            assert one.allclose(layer(alone), atol=1e-6)


def test_making():
    a, b = ingot.randn(2, 3, requires_grad=True), ingot.randn(4, 3)
    t = nested.nested_tensor([a, b], requires_grad=True)
    assert t.layout == ingot.strided and t.is_leaf and t.is_nested and not a.is_nested and len(t) == 2 and t.dim() == 3
    assert (t._max_seqlen, t._min_seqlen, t.numel()) == (4, 2, 18) and isinstance(t, ingot.Tensor)
    nested.as_nested_tensor([a, b]).sum().backward()
    assert a.grad.tolist() == [[1] * 3] * 2
    dense = ingot.arange(24.0).reshape(2, 3, 4)
    assert nested.as_nested_tensor(dense, layout=ingot.jagged).to_padded_tensor(0).equal(dense)
    part = nested.narrow(dense, 1, ingot.tensor([0, 1]), ingot.tensor([1, 2]), layout=ingot.jagged)
    assert [x.tolist() for x in part.unbind()] == [dense[0, :1].tolist(), dense[1, 1:].tolist()]
    chosen = nested.masked_select(dense, ingot.tensor([[True, False, True], [False, False, True]]))
    assert chosen.offsets().tolist() == [0, 2, 3] and chosen.values().equal(dense[[0, 0, 1], [0, 2, 2]])
    gaps = nested.nested_tensor_from_jagged(dense[0], ingot.tensor([0, 2, 3]), ingot.tensor([1, 1]))
    assert gaps.values().equal(dense[0][[0, 2]]) and nested.nested_tensor_from_jagged(
        dense[0], lengths=ingot.tensor([1, 2])).offsets().tolist() == [0, 1, 3]
    assert repr(jagged_of(1, 2)).startswith("NestedTensor(size=(2, j") and repr(t).startswith("nested_tensor([\n  tensor([[")
    long = nested.nested_tensor_from_jagged(dense[0], ingot.tensor([0, 1, 3]), max_seqlen=5)
    assert long.to_padded_tensor(0).shape == (2, 5, 4) and long._max_seqlen == 5
    lists = nested.nested_tensor([[1.0, 2.0], [3.0]], dtype=ingot.float64)
    assert lists.dtype is ingot.float64 and lists.to_padded_tensor(0).tolist() == [[1, 2], [3, 0]]


def test_gradients_of_samples_come_as_one_nested_tensor():
    rows = [ingot.arange(3.0, requires_grad=True), ingot.arange(5.0, requires_grad=True)]
    samples = nested.as_nested_tensor(rows, layout=ingot.jagged)
    samples.backward(samples.like(ingot.arange(8.0)))
    assert [r.grad.tolist() for r in rows] == [[0, 1, 2], [3, 4, 5, 6, 7]] and ingot.Tensor.backward.__name__ == "backward"


@pytest.mark.parametrize("shape", [(3,), (1, 3), (6, 1), (1,)])
def test_masks_of_rows_are_broadcast(shape):
    x = ingot.arange(18).reshape(6, 3)
    mask = ingot.arange(math.prod(shape)).reshape(shape) % 2 == 0
    found = nested.masked_select(x, mask)
    assert [s.tolist() for s in found.unbind()] == [row[m].tolist() for row, m in zip(x, mask.expand(6, 3))]


def test_sizes_are_equal_where_lengths_are():
    x, y, z = jagged_of(2, 3), jagged_of(2, 3), jagged_of(3, 2)
    assert x.shape == (x * 2).shape == y.shape != z.shape and (x + y).shape == x.shape
    assert x.equal(x.clone()) and not x.equal(y) and not x.equal(z) and x.allclose(x + 1e-9)


def test_sum_with_a_padded_tensor():
    x, padded = jagged_of(2, 4, 0), ingot.randn(3, 4, 8)
    got = x + padded
    assert got.unbind()[0].equal(x[0] + padded[0, :2]) and got.unbind()[1].equal(x[1] + padded[1]) and len(got[2]) == 0
    assert (x - x.to_padded_tensor(7)).values().abs().max() == 0


def test_in_place():
    x = jagged_of(2, 3)
    before = x.values().clone()
    y = x
    y += 1
    y.mul_(2).relu_()
    assert y is x and x.values().equal(((before + 1) * 2).relu())


@pytest.mark.parametrize("make", [copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))])
def test_copies(make):
    x = jagged_of(2, 0, 3).requires_grad_()
    y = make(x)
    assert y.equal(x) and y.requires_grad and y.layout == x.layout and y.values() is not x.values()


def test_traces_make_them_inside():
    block = Block()
    fn = jit.trace(lambda values, offsets: block(nested.nested_tensor_from_jagged(values, offsets)).values())
    offsets = ingot.tensor([0, 2, 5])
    for _ in range(3):
        values = ingot.randn(5, 8)
        assert fn(values, offsets).allclose(block(nested.nested_tensor_from_jagged(values, offsets)).values(), atol=1e-6)
    other = ingot.tensor([0, 4, 5])
    assert fn(values, other).allclose(block(nested.nested_tensor_from_jagged(values, other)).values(), atol=1e-6)


def uneven(*lengths, most=None):
    """Return joined samples of 4 numbers; the longest may be declared longer."""
    offsets = np.cumsum([0, *lengths])
    values = ingot.tensor(np.random.default_rng(offsets).standard_normal((offsets[-1], 4)))
    return nested.nested_tensor_from_jagged(values, ingot.tensor(offsets), max_seqlen=most)


@pytest.mark.parametrize("fn", [
    lambda t: t.sin() * 2, lambda t: t - t.sum(1, keepdim=True), lambda t: t.softmax(1), lambda t: t.to_padded_tensor(7.0),
    lambda t: t + t.to_padded_tensor(1.0),
    lambda t: nested.as_nested_tensor([x * 2 for x in t.unbind()], layout=ingot.jagged),
    lambda t: t.unflatten(-1, (2, 2)).transpose(1, 2)],
    ids=["elements", "sums", "softmax", "padded", "dense", "samples", "heads"])
def test_traces_take_and_give_them(fn):
    """Each call has lengths of its own, whatever eager code computed before."""
    traced = jit.trace(fn)
    for t in (uneven(2, 4), uneven(4, 2), uneven(3, 3), uneven(2, 4), uneven(1, 2, 5), uneven(2, 4, most=6),
              uneven(4, 2, most=9), uneven(4, 2), uneven(6, 0)):
        want = fn(t)
        got = traced(t)
        assert got.is_nested == want.is_nested
        if want.is_nested:
            assert got.shape == want.shape and got.offsets().equal(t.offsets())
            got, want = got.values(), want.values()
        assert got.equal(want)


def test_traces_train_on_them_and_write_them():
    def step(t):
        layer.zero_grad()
        layer(t).values().square().sum().backward()
        return layer.weight.grad.clone()

    layer = nn.Linear(4, 4).double()
    traced = jit.trace(step)
    for t in (uneven(2, 4), uneven(4, 2), uneven(5, 2)):
        assert traced(t).allclose(step(t), rtol=1e-12)
    kept, add = uneven(2, 4), jit.trace(lambda t: t.add_(1))
    before = kept.values().clone()
    for _ in range(3):
        add(kept)
    assert kept.values().allclose(before + 3)


def test_gradients_of_them_by_name():
    x = uneven(2, 3).requires_grad_()
    first, = ingot.autograd.grad((x ** 3).values().sum(), x, create_graph=True)
    assert first.is_nested and first.allclose(3 * x ** 2)
    second, = ingot.autograd.grad(first, x, ingot.ones_like(x))
    assert second.allclose(6 * x)
    loss = ingot.utils.checkpoint.checkpoint(lambda t: (t ** 3).sum(), x, use_reentrant=False)
    assert ingot.autograd.grad(loss, x)[0].allclose(3 * x ** 2)


class Doubled(ingot.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0]


def test_functions_of_the_users():
    x = uneven(2, 3).requires_grad_()
    y = Doubled.apply(x)
    assert y.allclose(2 * x)
    y.sum().backward()
    assert x.grad.allclose(x.detach())


class Table(nn.Module):
    def __init__(self, t):
        super().__init__()
        self.table = nn.Parameter(t)

    def forward(self):
        return (self.table * 2).sum()


def test_parameters():
    module, start = Table(uneven(2, 3)), uneven(2, 3).values()
    traced, optimizer = jit.trace(module), ingot.optim.SGD(module.parameters(), lr=0.25)
    for _ in range(4):
        optimizer.zero_grad()
        traced().backward()
        optimizer.step()
    assert module.table.values().allclose(start - 2)
    other = copy.deepcopy(module)
    assert other.table.grad.allclose(module.table.grad) and other.table.values().equal(module.table.values())
    fresh = Table(uneven(2, 3))
    fresh.load_state_dict(module.state_dict())
    assert type(fresh.table) is type(module.table) and fresh.table.values().equal(module.table.values())


@pytest.mark.parametrize("make", [
    lambda: uneven(2, 4, 0), lambda: uneven(2, 4).requires_grad_(), lambda: uneven(2, 4, most=7),
    lambda: uneven(2, 3).transpose(1, 2), lambda: nested.nested_tensor([ingot.ones(2), ingot.ones(3)]),
    lambda: nn.Parameter(uneven(1, 2))], ids=["plain", "leaf", "longer", "transposed", "strided", "parameter"])
def test_files_hold_them(make):
    t, memory = make(), io.BytesIO()
    ingot.save({"a": t, "b": [t]}, memory)
    memory.seek(0)
    found = ingot.load(memory)
    got = found["a"]
    assert found["b"][0] is got and got.layout == t.layout and got.shape == t.shape and got.requires_grad == t.requires_grad
    assert got.to_padded_tensor(0.5).equal(t.to_padded_tensor(0.5))


@pytest.mark.parametrize(("said", "layout"), [(None, "exp"), (-1, "jagged"), ("3", "jagged")])
def test_nested_tensors_of_files_are_checked(said, layout):
    t = nested.nested_tensor([ingot.ones(2, 2), ingot.ones(4, 2)], layout=ingot.jagged)
    assert made_again(t.values(), t.offsets(), 4, 1, "jagged").shape[0] == 2
    with pytest.raises(ValueError, match="longest sample"):
        made_again(t.values(), t.offsets(), said, 1, layout)


def test_files_with_wrong_offsets_are_refused():
    t, memory = uneven(2, 4), io.BytesIO()
    t.offsets()[1] = 9
    ingot.save(t, memory)
    memory.seek(0)
    with pytest.raises(FileError, match="offsets rise from 0 to the 6 rows"):
        ingot.load(memory)


def test_on_a_device():
    with mock_cuda.installed():
        x, block = jagged_of(3, 1, 4), Block()
        want = block(x)
        y = x.to("cuda")
        got = block.cuda()(y)
        assert got.device.type == y.offsets().device.type == "cuda" and y.cuda().values() is y.values()
        assert got.cpu().allclose(want, atol=1e-5) and y.to(x.dtype).shape == x.shape
        assert got.to_padded_tensor(0).cpu().allclose(want.to_padded_tensor(0), atol=1e-5)


@pytest.mark.parametrize("call, kind, words", [
    (lambda t: t + jagged_of(3, 2), RuntimeError, "samples of the same lengths"),
    (lambda t: t + ingot.ones(2, 5, 8), RuntimeError, "beside the nested"),
    (lambda t: t + ingot.ones(3, 1, 8), RuntimeError, "laid out over the nested"),
    (lambda t: t.sum(0), IndexError, "goes along the dim that differs"),
    (lambda t: t.sum((1, 2)), IndexError, "goes along the dim that differs"),
    (lambda t: ingot.cat([t, t], 0), IndexError, "not along samples"),
    (lambda t: t.flatten(), IndexError, "not along samples"),
    (lambda t: t.view(2, 5, 8), RuntimeError, "keeps the dims up to the one that differs"),
    (lambda t: t.transpose(0, 1), IndexError, "that of samples first"),
    (lambda t: nn.functional.linear(t.transpose(1, 2), ingot.ones(3, 3)), IndexError, "differs between samples"),
    (lambda t: ingot.linalg.qr(t), TypeError, "qr does not take nested tensors"),
    (lambda t: nn.Conv1d(8, 8, 1)(t), TypeError, "does not take nested tensors"),
    (lambda t: t.numpy(), TypeError, "numpy does not take nested tensors"),
    (lambda t: t.unbind(1), IndexError, "along dim 0"),
    (lambda t: t[:, 0], TypeError, "number of a sample first"),
    (lambda t: nn.functional.scaled_dot_product_attention(t, t, t, attn_mask=ingot.ones(3)), TypeError, "no attn_mask"),
    (lambda t: nested.nested_tensor([ingot.ones(2, 3), ingot.ones(2, 4)], layout=ingot.jagged), RuntimeError,
     "differ in their first dim alone"),
    (lambda t: nested.nested_tensor([], layout=ingot.jagged), ValueError, "got none"),
    (lambda t: nested.nested_tensor_from_jagged(ingot.ones(3, 2), ingot.tensor([0, 2])), ValueError, "rise from 0 to the 3"),
    (lambda t: nested.nested_tensor_from_jagged(ingot.ones(3, 2)), ValueError, "offsets, lengths, or both"),
    (lambda t: nested.nested_tensor_from_jagged(ingot.ones(3), ingot.tensor([0, 3]), max_seqlen=2), ValueError, "is 2, and"),
    (lambda t: nested.narrow(ingot.ones(2, 3), 1, 2, 2), RuntimeError, "leave the 3 rows"),
    (lambda t: t.to_padded_tensor(0, (2, 2, 8)), RuntimeError, "does not hold samples"),
])
def test_errors(call, kind, words):
    with pytest.raises(kind, match=words):
        call(jagged_of(2, 3))


REDUCED = {"sum": lambda t, d, k: t.sum(d, keepdim=k), "mean": lambda t, d, k: t.mean(d, keepdim=k),
           "amax": lambda t, d, k: t.amax(d, keepdim=k), "prod": lambda t, d, k: t.prod(d, keepdim=k),
           "max": lambda t, d, k: t.max(d, keepdim=k).values, "logsumexp": lambda t, d, k: t.logsumexp(d, keepdim=k)}


@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("name", REDUCED)
@pytest.mark.parametrize(("ragged", "dim"), [(r, d) for r in (1, 2, 3) for d in (1, 2, 3, -1) if d % 4 != r])
def test_the_dim_that_differs_stays_known_after_a_reduction(ragged, dim, name, keepdim):
    """Also before it: then it is one dim further to the front."""
    samples = [ingot.randn(n, 2, 3, dtype=ingot.float64) for n in (3, 1, 4)]
    x = ingot.nested.nested_tensor(samples, layout=ingot.jagged)
    order = [d for d in (1, 2, 3) if d != 1]
    order.insert(ragged - 1, 1)
    moved = x.permute(0, *order)
    found = REDUCED[name](moved, dim, keepdim)
    want = [REDUCED[name](s.permute(*[d - 1 for d in order]), dim % 4 - 1, keepdim) for s in samples]
    assert [tuple(t.shape) for t in found.unbind()] == [tuple(t.shape) for t in want]
    assert all(ingot.allclose(a, b) for a, b in zip(found.unbind(), want))
    again = found * 2                           # its lengths are known
    assert all(ingot.allclose(a, 2 * b) for a, b in zip(again.unbind(), want))
