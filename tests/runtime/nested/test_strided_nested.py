"""Nested tensors whose samples differ in every dim: single samples, gradients, views, copies, traces, errors."""

import copy
import io
import pickle

import numpy as np
import pytest

import ingot
from ingot import jit, nested, nn
from ingot.ir.errors import FileError
from ingot.runtime.api.register.pointwise_names import POINTWISE
from ingot.runtime.nested.strided_nested import NestedSamples, samples_again

F = nn.functional
SHAPES = {"both dims": [(2, 6), (4, 3), (0, 3), (1, 9)], "last dim": [(2, 3), (2, 6)], "rows": [(2, 6), (5, 6)],
          "images": [(2, 3, 6), (3, 1, 3), (1, 4, 9)]}
# Functions of a nested tensor `t`, and of its sample `x` alone.
PROGRAMS = {
    "number": (lambda t: 2 * t + 1,) * 2,
    "two": (lambda t: t * t - t / 3,) * 2,
    "compare": (lambda t: (t ** 2 > 0.5).float(),) * 2,
    "where": (lambda t: ingot.where(t > 0, t, 0.0),) * 2,
    "masked_fill": (lambda t: t.masked_fill(t > 0, 7.0),) * 2,
    "function of elements": (lambda t: ingot.special.i0e(t).erf(),) * 2,
    "transposed beside plain": (lambda t: t.transpose(-1, -2) * t.transpose(-1, -2).contiguous(),) * 2,
    "transpose": (lambda t: t.transpose(-1, -2),) * 2,
    "permute": (lambda t: t.permute(0, *range(t.dim() - 1, 0, -1)), lambda x: x.permute(*range(x.dim() - 1, -1, -1))),
    "unsqueeze": (lambda t: t.unsqueeze(1), lambda x: x.unsqueeze(0)),
    "unsqueeze last and back": (lambda t: t.unsqueeze(-1).squeeze(-1),) * 2,
    "last column": (lambda t: t[..., -1],) * 2,
    "select": (lambda t: t.select(-1, 1),) * 2,
    "narrow": (lambda t: t.narrow(-1, 1, 2),) * 2,
    "chunk": (lambda t: t.chunk(3, -1)[1],) * 2,
    "split": (lambda t: t.narrow(-1, 0, 3).split([1, 2], -1)[1],) * 2,
    "flatten": (lambda t: t.flatten(1), lambda x: x.flatten()),
    "reshape": (lambda t: t.reshape(t.size(0), *[-1] * (t.dim() - 1), 1), lambda x: x.unsqueeze(-1)),
    "reshape of what is turned": (lambda t: t.transpose(-1, -2).reshape(len(t), *[-1] * (t.dim() - 1)),
                                  lambda x: x.transpose(-1, -2)),
    "unflatten": (lambda t: t.unflatten(-1, (3, -1)),) * 2,
    "cat": (lambda t: ingot.cat([t, 2 * t], -1),) * 2,
    "stack": (lambda t: ingot.stack([t, 2 * t], -1),) * 2,
    "sum of rows": (lambda t: t.sum(-1),) * 2,
    "sum of rows, kept": (lambda t: t.sum(-1, keepdim=True),) * 2,
    "mean and variance": (lambda t: t.mean(-1) + t.var(-1),) * 2,
    "largest": (lambda t: t.max(-1).values + t.amax(-1),) * 2,
    "softmax": (lambda t: t.softmax(-1) + F.log_softmax(t, -1),) * 2,
    "softmax by names": (lambda t: F.softmax(input=t, dim=-1),) * 2,
    "cumsum": (lambda t: t.cumsum(-1).flip(-1),) * 2,
    "matrices": (lambda t: t @ t.transpose(-1, -2),) * 2,
    "dropout": (lambda t: F.dropout(t, 0.5, training=False),) * 2,
    "clone": (lambda t: t.transpose(-1, -2).clone(),) * 2,
    "kinds of numbers": (lambda t: t.double().to(ingot.float32),) * 2,
}
EVEN = {"linear": (lambda t: F.linear(t, ingot.arange(12.0).reshape(2, 6) / 9, ingot.ones(2)),) * 2,
        "matrix": (lambda t: t @ (ingot.arange(12.0).reshape(6, 2) / 9),) * 2,
        "layer_norm": (lambda t: F.layer_norm(t, (6,)),) * 2,
        "attention": (lambda t: F.scaled_dot_product_attention(t, t + 1, t, is_causal=True),) * 2,
        "row beside": (lambda t: t + ingot.arange(6.0),) * 2}


def seeded(shapes, seed=0, kind=np.float32):
    rng = np.random.default_rng(seed)
    return [ingot.tensor(rng.standard_normal(s).astype(kind)) for s in shapes]


def uneven(shapes="both dims", **options):
    return nested.nested_tensor(seeded(SHAPES.get(shapes, shapes)), **options)


@pytest.mark.parametrize("shapes", SHAPES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_each_sample_and_its_gradient_equal_those_alone(name, shapes):
    whole, alone = PROGRAMS[name]
    samples = [x for x in seeded(SHAPES[shapes]) if x.numel() or name not in ("largest",)]
    leaves, apart = ([x.clone().requires_grad_() for x in samples] for _ in range(2))
    got, expected = whole(nested.as_nested_tensor(leaves)), [alone(x) for x in apart]
    assert got.is_nested and got.layout == "strided" and len(got) == len(samples) and got.dim() == expected[0].dim() + 1
    for one, other in zip(got.unbind(), expected, strict=True):
        assert one.shape == other.shape and one.allclose(other, atol=1e-6, equal_nan=True)
    if got.requires_grad:
        (got.to_padded_tensor(0.0) ** 2).sum().backward()
        sum([(x ** 2).sum() for x in expected]).backward()
        for one, other in zip(leaves, apart, strict=True):
            assert one.grad.allclose(other.grad, atol=1e-5, equal_nan=True), one.shape


@pytest.mark.parametrize("name", EVEN)
def test_functions_along_a_last_dim_of_one_size(name):
    samples = seeded([(2, 3, 6), (1, 4, 6), (0, 2, 6)])
    got, whole = EVEN[name][0](nested.nested_tensor(samples)), EVEN[name][1]
    for one, x in zip(got.unbind(), samples, strict=True):
        assert one.shape == whole(x).shape and one.allclose(whole(x), atol=1e-5)


@pytest.mark.parametrize("name", [n for n in POINTWISE if n + "_" in dir(ingot.Tensor) and n in (
    "abs", "add", "mul", "relu", "clamp", "i0", "masked_fill", "copy", "lerp")])
def test_functions_of_elements_write(name):
    t = uneven().abs()
    expected = [x.clone() for x in t.unbind()]
    given = {"add": lambda x: (x.clone(),), "mul": lambda x: (2,), "clamp": lambda x: (0.1, 0.5), "copy": lambda x: (2 * x,),
             "masked_fill": lambda x: (x > 0.5, 0.0), "lerp": lambda x: (x.clone(), 0.25)}.get(name, lambda x: ())
    found = getattr(t, name + "_")(*given(t))
    for x in expected:
        getattr(x, name + "_")(*given(x))
    assert found is t and all(a.allclose(b) for a, b in zip(t.unbind(), expected, strict=True))


def test_views_are_written_through():
    t = uneven()
    t.transpose(1, 2)[0][1, 0] = 50
    t.narrow(2, 0, 1).fill_(3)
    t.select(2, 1).mul_(0)
    t[1:2].unsqueeze(1).add_(1)
    flat = t.view(4, -1, -1, 1)
    flat[3][0, 2] = 9
    assert t[0][0].tolist()[:2] == [3, 0] and t[1][:, :2].tolist() == [[4, 1]] * 4 and t[3][0, 2] == 9 and len(t[2]) == 0
    rows = uneven("rows")                       # samples that differ in their first dim alone
    rows.transpose(1, 2).transpose(1, 2)[1].zero_()
    rows.flatten(1)[0][0] = 5
    assert rows[1].abs().sum() == 0 and rows[0][0, 0] == 5


def test_attributes_of_a_nested_tensor():
    t = uneven(requires_grad=True)
    assert isinstance(t, NestedSamples) and t.is_leaf and t.requires_grad and t.grad is None and t.layout == ingot.strided
    assert (t.dim(), t.numel(), len(t), t.size(0), t.is_contiguous(), t.dtype) == (3, 33, 4, 4, True, ingot.float32)
    assert not t.transpose(1, 2).is_contiguous() and t.transpose(1, 2).contiguous().is_contiguous()
    assert t.values().shape == (33,) and t.transpose(1, 2)[0].tolist() == t[0].T.tolist() and t.is_floating_point()
    assert t.to(ingot.float32) is t and t.to(ingot.float64).dtype is ingot.float64 and t.cpu() is t
    assert repr(nested.nested_tensor([1, 2])) == "nested_tensor([\n  tensor(1),\n  tensor(2)\n])"
    empty = nested.nested_tensor([])
    assert (empty.dim(), len(empty), empty.numel(), empty.dtype) == (1, 0, 0, ingot.float32)
    assert empty.unbind() == () and empty.to_padded_tensor(0).shape == (0,) and (empty + 1).numel() == 0
    kinds = nested.nested_tensor([ingot.ones(2, 3), ingot.ones(3, 2, dtype=ingot.int64)])
    assert kinds.dtype is ingot.float32 and kinds.is_same_size(2 * kinds) and kinds.equal(kinds.clone())
    assert not kinds.equal(uneven()) and kinds.allclose(kinds + 1e-9)
    assert t.shape == (t * 2).shape == t.size() != uneven("images").shape and str(tuple(t.shape)) == "(4, 2/4/0/1, 6/3/3/9)"
    assert nested.nested_tensor([1.0, 2.0]).shape == (2,) and uneven("last dim").shape[:2] == (2, 2)
    assert [len(x) for x in (t[1:3], t[:0], t.narrow(0, 3, 1), ingot.cat([t, t]))] == [2, 0, 1, 8]
    padded = t.to_padded_tensor(-1, (5, 6, 10))
    assert padded.shape == (5, 6, 10) and padded[0, :2, :6].equal(t[0])
    assert padded[0, 2:].eq(-1).all() and padded[4].eq(-1).all()


def test_gradients_of_a_leaf():
    t = uneven(requires_grad=True)
    (t.transpose(1, 2) * 2).backward(nested.nested_tensor([x.T for x in seeded(SHAPES["both dims"], 1)]))
    for one, x in zip(t.grad.unbind(), seeded(SHAPES["both dims"], 1), strict=True):
        assert one.equal(2 * x)
    (found,) = ingot.autograd.grad(t.sin().sum(), t)
    assert found.is_nested and found[0].allclose(t[0].cos())
    p = nn.Parameter(uneven())
    optimizer = ingot.optim.SGD([p], lr=0.5)
    (p * p).sum().backward()
    optimizer.step()
    assert p.is_nested and p.to_padded_tensor(0).abs().max() == 0
    inner = (t * 3)
    inner.retain_grad()
    inner.sum().backward()
    assert inner.grad[1].eq(1).all()


def _through_a_file(t):
    file = io.BytesIO()
    ingot.save(t, file)
    file.seek(0)
    return ingot.load(file)


@pytest.mark.parametrize("make", [copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t)), _through_a_file])
@pytest.mark.parametrize("view", [lambda t: t, lambda t: t.transpose(1, 2), lambda t: t[1:], lambda t: t.select(2, 0)])
def test_copies(make, view):
    t = view(uneven())
    again = make(t)
    assert type(again) is NestedSamples and again.dim() == t.dim()
    assert len(again) == len(t) and all(a.equal(b) for a, b in zip(again.unbind(), t.unbind(), strict=True))
    again[0].zero_()
    assert t[0].abs().sum() > 0


@pytest.mark.parametrize("sizes, dims", [(((2, 3), (1, 1)), 3), (((7,),), 3), (((7,), (-1,)), 2), (((7.0,),), 2)])
def test_files_are_checked(sizes, dims):
    with pytest.raises((ValueError, FileError), match="is not made of"):
        samples_again(ingot.ones(8), sizes, dims)


def test_traces():
    @jit.trace
    def f(t, w):
        rows = t.transpose(1, 2) @ t
        return (rows * w).softmax(-1), rows.sum()

    for seed in range(3):
        t = nested.nested_tensor(seeded(SHAPES["both dims"][:2], seed))
        got, total = f(t, ingot.tensor(2.0))
        expected = [(2 * (x.T @ x)).softmax(-1) for x in t.unbind()]
        assert all(a.allclose(b, atol=1e-6) for a, b in zip(got.unbind(), expected, strict=True))
        assert total.allclose(sum([(x.T @ x).sum() for x in t.unbind()]), atol=1e-4)
    assert f.stats()["compiles"] == 1
    other = uneven("last dim")
    assert f(other, ingot.tensor(2.0))[1].allclose(sum([(x.T @ x).sum() for x in other.unbind()]), atol=1e-4)
    assert f.stats()["compiles"] == 2


@pytest.mark.parametrize("call, kind, words", [
    (lambda t: t + uneven("last dim"), RuntimeError, "as many samples"),
    (lambda t: t + t.transpose(1, 2), RuntimeError, "samples of the same sizes"),
    (lambda t: t + ingot.ones(2, 2, 3), RuntimeError, "cannot be laid out"),
    (lambda t: t[:1] + ingot.ones(1, 2, 2, 6), RuntimeError, "cannot be laid out"),
    (lambda t: t.unsqueeze(1)[:1] + ingot.ones(3, 2, 6), RuntimeError, "became"),
    (lambda t: ingot.ones(4, 6).mul_(t), TypeError, "nested tensor first"),
    (lambda t: t.size(1), RuntimeError, "differs between its samples and has no size"),
    (lambda t: t.size(3), IndexError, "out of range"),
    (lambda t: t.sum(0), IndexError, "not along that of samples"),
    (lambda t: t.softmax(0), IndexError, "not along that of samples"),
    (lambda t: t.transpose(0, 1), IndexError, "not along that of samples"),
    (lambda t: t.permute(1, 0, 2), IndexError, "dim of samples first"),
    (lambda t: t.unsqueeze(0), IndexError, "behind that of samples"),
    (lambda t: t.squeeze(), IndexError, "takes the dims"),
    (lambda t: t.squeeze(1), RuntimeError, "in some samples alone"),
    (lambda t: t.chunk(2, 1), RuntimeError, "as many parts"),
    (lambda t: t.reshape(3, -1, -1), RuntimeError, "keeps these"),
    (lambda t: t.reshape(()), RuntimeError, "keeps these"),
    (lambda t: t @ t, RuntimeError, "the first has 6 columns, the second 2 rows"),
    (lambda t: F.linear(t, ingot.ones(3, 3)), RuntimeError, "whose last dim is 3"),
    (lambda t: t.unbind(1), IndexError, "along dim 0"),
    (lambda t: t[4], IndexError, "none of the number 4"),
    (lambda t: t[[0, 1]], TypeError, "indexed by the number of a sample"),
    (lambda t: t.offsets(), TypeError, "no offsets"),
    (lambda t: t.numpy(), TypeError, "numpy does not take nested tensors"),
    (lambda t: ingot.linalg.qr(t), TypeError, "qr does not take nested tensors"),
    (lambda t: ingot.cat([t, ingot.ones(2, 3)]), TypeError, "got a plain one"),
    (lambda t: F.scaled_dot_product_attention(t, t, t, ingot.ones(3)), TypeError, "no attn_mask"),
    (lambda t: t.to_padded_tensor(0, (4, 3, 9)), RuntimeError, "does not hold samples"),
    (lambda t: nested.nested_tensor([ingot.ones(2), ingot.ones(2, 3)]), RuntimeError, "as many dims"),
])
def test_errors(call, kind, words):
    with pytest.raises(kind, match=words):
        call(uneven())


# Both kinds.


def both_kinds():
    return uneven("images"), nested.nested_tensor(seeded([(2, 3), (4, 3), (1, 3)]), layout=ingot.jagged)


@pytest.mark.parametrize("fn, alone", [
    (lambda t: t.mT, lambda x: x.mT), (lambda t: t.movedim(-1, -2), lambda x: x.movedim(-1, -2)),
    (lambda t: F.softmin(t, -1), lambda x: F.softmin(x, -1)), (lambda t: F.softmin(t, 1), lambda x: F.softmin(x, 0)),
    (lambda t: t.type_as(ingot.ones(1, dtype=ingot.float64)), lambda x: x.double()),
    (lambda t: (ingot.randint_like(t, 5) < 5).float(), lambda x: ingot.ones_like(x))])
def test_functions_of_both_kinds(fn, alone):
    for t in both_kinds():
        for got, x in zip(fn(t).unbind(), t.unbind(), strict=True):
            assert got.dtype is alone(x).dtype and got.allclose(alone(x), atol=1e-6)


def test_numbers_of_classes_become_rows():
    t = nested.nested_tensor([ingot.tensor([2, 0]), ingot.tensor([1])], layout=ingot.jagged)
    assert [x.tolist() for x in F.one_hot(t).unbind()] == [[[0, 0, 1], [1, 0, 0]], [[0, 1, 0]]]


def test_writes_by_index():
    images, rows = both_kinds()
    images[1] = 2.0
    images[0, 1] = ingot.zeros(3, 6)
    images[-1, 0, :, 0] = ingot.arange(4.0)
    images[..., 1] = 7
    images[:2, 0] = images[:2, 0] * 0
    assert images[1][1:, :, 0].eq(2).all() and images[0][1, :, 0].eq(0).all() and images[2][0, :, 0].tolist() == [0, 1, 2, 3]
    assert all(x[..., 1][1:].eq(7).all() for x in images.unbind()) and images[0][0].eq(0).all() and images[1][0].eq(0).all()
    rows[1] = 1.0
    rows[:, :, 2] = 5.0
    rows[0, 0] = ingot.arange(3.0)
    assert rows[1].tolist() == [[1, 1, 5]] * 4 and rows[0][0].tolist() == [0, 1, 2] and rows[2][0, 2] == 5
    rows[..., :1] = rows[..., 2:] * 2
    assert [x[:, 0].tolist() for x in rows.unbind()] == [[4, 10], [10] * 4, [10]]
    for t, key, value in ((images, slice(0, 2), images), (rows, (..., slice(0, 1)), images[:, 0]), (images, 3, 0.0)):
        with pytest.raises((RuntimeError, TypeError, IndexError)):
            t[key] = value


def test_chunks_of_samples():
    _, t = both_kinds()
    parts = t.chunk(2, 0)
    assert [len(p) for p in parts] == [2, 1] and all(a.equal(b) for p, q in zip(parts, (t.unbind()[:2], t.unbind()[2:]))
                                                      for a, b in zip(p.unbind(), q, strict=True))
    parts[1].zero_()
    assert t[2].eq(0).all() and not t[1].eq(0).any()


def test_hooks_get_nested_gradients():
    for t in both_kinds():
        t.requires_grad_()
        seen = []
        t.register_hook(lambda g: seen.append(g) or g * 3)
        (t * 2).sum().backward()
        assert seen[0].is_nested and seen[0][0].eq(2).all() and t.grad[0].eq(6).all()


@pytest.mark.parametrize("layout", [ingot.jagged, ingot.strided])
@pytest.mark.parametrize("options", [{}, {"bias": False}, {"kdim": 6, "vdim": 6}, {"causal": True}])
def test_attention_of_several_heads(options, layout):
    causal = options.get("causal", False)
    ingot.manual_seed(0)
    layer = nn.MultiheadAttention(6, 2, batch_first=True, **{k: v for k, v in options.items() if k != "causal"})
    leaf = nested.nested_tensor(seeded([(3, 6), (5, 6)]), layout=layout, requires_grad=True)
    got, weights = layer(leaf, leaf, leaf, need_weights=False, is_causal=causal)
    got.sum().backward()
    assert weights is None and got.layout == layout
    for one, sample, grad in zip(got.unbind(), leaf.unbind(), leaf.grad.unbind(), strict=True):
        x = sample.detach().requires_grad_()
        mask = nn.Transformer.generate_square_subsequent_mask(len(x)) if causal else None
        alone, _ = layer(x[None], x[None], x[None], attn_mask=mask, need_weights=False, is_causal=causal)
        alone.sum().backward()
        assert one.allclose(alone[0], atol=1e-6) and grad.allclose(x.grad, atol=1e-6)
    for wrong in ({}, {"need_weights": False, "attn_mask": ingot.zeros(3, 3)},
                  {"need_weights": False, "key_padding_mask": ingot.zeros(2, 5)}):
        with pytest.raises(ValueError, match="need_weights=False and no masks"):
            layer(leaf, leaf, leaf, **wrong)
    with pytest.raises(ValueError, match="batch_first=True"):
        nn.MultiheadAttention(6, 2)(leaf, leaf, leaf, need_weights=False)


def test_a_transformer_of_nested_tensors():
    ingot.manual_seed(0)
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(6, 2, 8, 0.0, batch_first=True), 2).eval()
    samples = seeded([(3, 6), (5, 6)])
    for layout in (ingot.jagged, ingot.strided):
        got = encoder(nested.nested_tensor(samples, layout=layout))
        assert all(a.allclose(encoder(x[None])[0], atol=1e-5) for a, x in zip(got.unbind(), samples, strict=True))


def test_gradcheck_takes_nested_tensors():
    for t in both_kinds():
        t = t.double().requires_grad_()
        for fn in (lambda x: x.sin().softmax(-1), lambda x: x.to_padded_tensor(0.0), lambda x: x.mT * 2):
            assert ingot.autograd.gradcheck(fn, (t,), fast_mode=True)
    small = nested.nested_tensor(seeded([(1, 2), (2, 1)], kind=np.float64), requires_grad=True)
    assert ingot.autograd.gradgradcheck(lambda x: (x @ x.mT).sin(), (small,))
    leaves = [x.requires_grad_() for x in seeded([(1, 2), (2, 1)], kind=np.float64)]
    assert ingot.autograd.gradcheck(lambda *x: nested.as_nested_tensor(list(x)).sin(), leaves)


def test_modules_convert_nested_parameters():
    for t in both_kinds():
        model = nn.Module()
        model.weight = nn.Parameter(t)
        assert model.double().weight.dtype is ingot.float64 and model.weight.is_nested and model.weight.requires_grad
        (model.weight * 2).sum().backward()
        model.float()
        assert model.weight.dtype is model.weight.grad.dtype is ingot.float32 and type(model.weight).__name__ == "Parameter"
        assert all(a.equal(b) for a, b in zip(model.weight.unbind(), t.unbind(), strict=True))
        again = copy.copy(t)
        again.mul_(0)
        assert again is not t and t[0].eq(0).all()              # over the same elements
        other = nn.Module()
        other.weight = nn.Parameter(again)
        other.load_state_dict(model.state_dict())
        assert all(a.equal(b) for a, b in zip(other.weight.unbind(), model.weight.unbind(), strict=True))
        other.weight = nn.Parameter(uneven("last dim"))
        with pytest.raises(RuntimeError, match="size mismatch for weight"):
            other.load_state_dict(model.state_dict())
    images, rows = both_kinds()
    images.data = uneven("both dims")
    assert images.dim() == 3 and images[1].shape == (4, 3)
    for wrong in (rows, ingot.ones(2)):
        with pytest.raises(TypeError, match="of the same kind"):
            images.data = wrong
