"""Masked tensors: selected values are computed with, others have no influence, nan and infinities included."""

import copy
import io
import pickle

import numpy as np
import pytest

import ingot
from ingot import masked
from ingot.masked import MaskedTensor, as_masked_tensor, is_masked_tensor, masked_tensor

nan = float("nan")
DATA = [[0.5, nan, 2.0], [nan, -1.0, 5.0], [nan, nan, nan]]
MASK = [[True, False, True], [False, True, True], [False, False, False]]


def parts(dtype=ingot.float64):
    return ingot.tensor(DATA, dtype=dtype), ingot.tensor(MASK)


def case(**options):
    return masked_tensor(*parts(), **options)


def same(t, values, mask):
    """Return whether a masked tensor has these values and mask."""
    values, mask = np.asarray(values), np.asarray(mask)
    assert is_masked_tensor(t) and type(t) is MaskedTensor and isinstance(t, ingot.Tensor)
    assert tuple(t.shape) == values.shape and t.get_mask().dtype is ingot.bool
    np.testing.assert_array_equal(t.get_mask().numpy(), np.broadcast_to(mask, values.shape))
    np.testing.assert_allclose(t.to_tensor(0).detach().numpy(), np.where(mask, values, 0), rtol=1e-6)


ELEMENTS = {
    "add": lambda t: t + t, "add number": lambda t: t + 1, "number less": lambda t: 1 - t, "power": lambda t: t ** 2,
    "power of": lambda t: 2 ** t, "tensor beside": lambda t: t * ingot.ones(3, dtype=ingot.float64) * 3,
    "exp": lambda t: t.exp(),
    "function": ingot.sin, "alpha": lambda t: ingot.add(t, t, alpha=3), "less": lambda t: t < 1, "not": lambda t: ~(t < 1),
    "clamp": lambda t: t.clamp(0, 1), "relu": lambda t: ingot.nn.functional.relu(t), "double": lambda t: t.double(),
    "like": ingot.ones_like, "lerp": lambda t: ingot.lerp(t, t * 2, 0.5), "isnan": ingot.isnan, "detach": lambda t: t.detach(),
    "max": lambda t: ingot.maximum(t, -t), "fill": lambda t: t.masked_fill(t.get_mask(), 3.0),
    "beside": lambda t: t + t.get_data()}


@pytest.mark.parametrize("name", ELEMENTS)
def test_functions_of_elements(name):
    fn, (data, mask) = ELEMENTS[name], parts()
    clean = data.nan_to_num(7.0)
    t = MaskedTensor(data, mask)
    plain = {"fill": lambda x: x.masked_fill(mask, 3.0), "beside": lambda x: x + clean}.get(name, fn)
    same(fn(t), plain(clean).numpy(), MASK)


WRITES = {"add_": lambda t: t.add_(2), "times": lambda t: t.mul_(t), "operator": lambda t: t.__isub__(1),
    "copy_": lambda t: t.copy_(t * 2),
          "zero_": lambda t: t.zero_(), "abs_": lambda t: t.abs_()}


@pytest.mark.parametrize("name", WRITES)
def test_writes_in_place(name):
    t, other = case(), parts()[0].nan_to_num(7.0)
    assert WRITES[name](t) is t
    WRITES[name](other)
    same(t, other.numpy(), MASK)
    assert parts()[0].isnan().any()         # copies were made


MOVES = {
    "view": lambda t: t.view(9), "reshape": lambda t: t.reshape(1, -1), "T": lambda t: t.T, "mT": lambda t: t.mT,
    "t": lambda t: t.t(),
    "transpose": lambda t: t.transpose(0, 1), "permute": lambda t: t.permute(1, 0), "unsqueeze": lambda t: t.unsqueeze(1),
    "squeeze": lambda t: t[None].squeeze(0), "expand": lambda t: t.expand(2, 3, 3), "row": lambda t: t[1],
    "column": lambda t: t[:, 0],
    "element": lambda t: t[0, 2], "mask": lambda t: t[ingot.tensor([True, False, True])],
    "list": lambda t: t[ingot.tensor([2, 0])],
    "select": lambda t: t.select(1, 2), "narrow": lambda t: t.narrow(0, 1, 2),
    "index_select": lambda t: t.index_select(1, ingot.tensor([2, 0])),
    "flatten": lambda t: t.flatten(), "flip": lambda t: t.flip(0), "roll": lambda t: t.roll(1, 0),
    "repeat": lambda t: t.repeat(2, 1),
    "diagonal": lambda t: t.diagonal(), "chunk": lambda t: t.chunk(2)[0], "split": lambda t: t.split(1)[1],
    "unbind": lambda t: t.unbind(1)[2],
    "cat": lambda t: ingot.cat([t, t]), "stack": lambda t: ingot.stack([t, t], 1), "rows": lambda t: list(t)[1]}


@pytest.mark.parametrize("name", MOVES)
def test_functions_that_move_elements_move_the_mask(name):
    data, mask = parts()
    same(MOVES[name](case()), MOVES[name](data.nan_to_num(7.0)).numpy(), MOVES[name](mask).numpy())


REDUCTIONS = {name: lambda x, axis, name=name: getattr(x, name)(axis) for name in ("sum", "prod", "mean", "all", "any")}
REDUCTIONS.update(amax=lambda x, axis: x.max(axis), amin=lambda x, axis: x.min(axis), var=lambda x, axis: x.var(axis, ddof=0),
                  std=lambda x, axis: x.std(axis, ddof=0), logsumexp=lambda x, axis: np.ma.log(np.exp(x).sum(axis)),
                  norm=lambda x, axis: np.ma.sqrt((x * x).sum(axis)))
OPTIONS = {"var": {"correction": 0}, "std": {"correction": 0}, "norm": {"p": 2}}


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("dim", [None, 0, 1, -1, (0, 1)])
@pytest.mark.parametrize("keepdim", [False, True])
def test_reductions_take_selected_elements(name, dim, keepdim):
    data, mask = parts()
    want = REDUCTIONS[name](np.ma.array(data.nan_to_num(7.0).numpy(), mask=~mask.numpy()), dim)
    values, there = np.ma.getdata(want), ~np.ma.getmaskarray(want)
    options = dict(OPTIONS.get(name, {}))
    if dim is not None and not (name in ("all", "any") and isinstance(dim, tuple)):
        options.update(dim=dim, keepdim=keepdim)
        if keepdim:
            values, there = (np.expand_dims(v, dim) for v in (values, there))
    same(getattr(case(), name)(**options), values, there)


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_where_the_largest_that_counts_is(name):
    same(getattr(case(), name)(1), {"argmax": [2, 2, 0], "argmin": [0, 1, 0]}[name], [True, True, False])


def test_softmax_of_selected_elements():
    t = case()
    same(t.softmax(1).sum(1), [1, 1, 0], [True, True, False])
    same(t.log_softmax(1).exp(), t.softmax(1).to_tensor(0).numpy(), MASK)
    same(t.cumsum(0), [[0.5, 0, 2], [0, -1, 7], [0, 0, 0]], MASK)
    assert case().max().item() == 5 and case().min().item() == -1


def test_where_selects_values_and_masks():
    x = ingot.tensor([-10.0, -1.0, 0.0, 5.0, 100.0, 1000.0], requires_grad=True)
    small = x < 6
    mine, other = as_masked_tensor(x, small), as_masked_tensor(ingot.ones_like(x), ~small)
    y = ingot.where(small, mine.exp(), other)
    same(y, np.where(small.numpy(), np.exp(np.minimum(x.detach().numpy(), 6)), 1), np.ones(6, bool))
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.where(small.numpy(), np.exp(np.minimum(x.detach().numpy(), 6)), 0), rtol=1e-6)
    same(mine.where(small, 0.0), np.where(small.numpy(), x.detach().numpy(), 0), np.ones(6, bool))
    same(ingot.zeros(6).where(~small, mine), np.where(small.numpy(), x.detach().numpy(), 0), np.ones(6, bool))
    same(ingot.where(small, mine, 0.0), np.where(small.numpy(), x.detach().numpy(), 0), np.ones(6, bool))


GRADIENTS = {
    "sum": (lambda t: t.sum(), lambda x: 1 + 0 * x), "squares": (lambda t: (t * t).sum(), lambda x: 2 * x),
    "mean": (lambda t: t.mean(), lambda x: 0 * x + 1 / 4),
    "root": (lambda t: (t + 2).sqrt().sum(0).sum(), lambda x: 0.5 / np.sqrt(x + 2)),
    "log of 0": (lambda t: (t.to_tensor(0) * 0 + t).exp().sum(), np.exp),
    "tensor": (lambda t: (t * 3).to_tensor(0.0).sum(), lambda x: 3 + 0 * x),
    "amax": (lambda t: t.amax(1).sum(), lambda x: (x == 2) + 1.0 * (x == 5)),
    "moved": (lambda t: (t.T[2] * 2).sum(), lambda x: 2.0 * (x >= 2))}


@pytest.mark.parametrize("name", GRADIENTS)
@pytest.mark.parametrize("leaf", ["plain", "masked"])
@pytest.mark.parametrize("traced", [False, True])
def test_gradients_reach_selected_elements(name, leaf, traced):
    """All other elements get zeros, whatever they hold."""
    loss, slope = GRADIENTS[name]
    data, mask = parts()
    x = data.requires_grad_() if leaf == "plain" else case(requires_grad=True)

    def step(x):
        loss(as_masked_tensor(x, mask) if leaf == "plain" else x).backward()

    (ingot.jit.trace(step) if traced else step)(x)
    want = np.where(mask.numpy(), slope(np.nan_to_num(data.detach().numpy(), nan=1)), 0)
    if leaf == "plain":
        np.testing.assert_allclose(x.grad.numpy(), want, rtol=1e-6)
    else:
        same(x.grad, want, MASK)


def test_traces_take_and_give_masked_tensors():
    traced = ingot.jit.trace(lambda t, u: ((t * u).exp(), (t + 1).sum(0)))
    for scale in (1.0, 2.0, 3.0):
        t = masked_tensor(parts()[0] * scale, parts()[1])
        for got, want in zip(traced(t, case()), ((t * case()).exp(), (t + 1).sum(0))):
            same(got, want.to_tensor(0).numpy(), want.get_mask().numpy())
    assert traced.stats()["compiles"] <= 2


ARGUMENTS = {
    "a mask of numbers": lambda d, m: masked_tensor(d, m.double()), "a short mask": lambda d, m: masked_tensor(d, m[0]),
    "a list": lambda d, m: masked_tensor(DATA, m), "a masked one": lambda d, m: masked_tensor(case(), m),
    "sparse": lambda d, m: masked_tensor(ingot.eye(3).to_sparse(), m), "two masks": lambda d, m: case() + masked_tensor(d, ~m),
    "a product": lambda d, m: case() @ d, "sorted": lambda d, m: case().sort(), "numpy": lambda d, m: case().numpy(),
    "tolist": lambda d, m: case().tolist(), "item": lambda d, m: case()[2, 2].item(), "bool": lambda d, m: bool(case()[2, 2]),
    "max along": lambda d, m: case().max(1), "setitem": lambda d, m: case().__setitem__(0, 1.0),
    "into plain": lambda d, m: d.add_(case()),
    "out": lambda d, m: ingot.add(case(), 1, out=d), "masked condition": lambda d, m: ingot.where(case() > 0, d, d),
    "a layer": lambda d, m: ingot.nn.functional.linear(case(), d),
    "mean of ints": lambda d, m: masked_tensor(m.int(), m).mean()}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_wrong_arguments_raise(name):
    with pytest.raises((TypeError, ValueError)):
        ARGUMENTS[name](*parts())


def test_a_masked_tensor_copies_data_and_mask():
    data, mask = parts(ingot.float32)
    t = masked_tensor(data, mask, requires_grad=True)
    data.zero_(), mask.zero_()
    same(t, DATA, MASK)
    assert t.requires_grad and t.is_leaf and t.dtype is ingot.float32 and t.ndim == 2 == t.dim() and len(t) == 3 == t.size(0)
    assert t.to_dense() is t and t.numel() == 9 and t.device == data.device and not is_masked_tensor(data)
    assert t.to(ingot.float64).dtype is ingot.float64 and t[0, 0].item() == 0.5 == float(t[0, 0])


@pytest.mark.parametrize("again", [copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))])
def test_copies(again):
    t = case()
    other = again(t)
    t.zero_()
    same(other, DATA, MASK)


def test_files():
    file = io.BytesIO()
    ingot.save({"t": case(), "n": 3}, file)
    file.seek(0)
    same(ingot.load(file)["t"], DATA, MASK)


SHOWN = {
    "MaskedTensor(\n  [\n    [  0.5000,       --],\n    [      --, 12345.6777]\n  ]\n)":
        ([[0.5, 1.0], [2.0, 12345.6777]], [[1, 0], [0, 1]]),
    "MaskedTensor(\n  [0,       --, 2]\n)": ([0, 1, 2], [1, 0, 1]), "MaskedTensor(3.0000, True)": (3.0, 1),
    "MaskedTensor(--, False)": (3.0, 0)}


@pytest.mark.parametrize("text", SHOWN)
def test_how_it_is_shown(text):
    data, mask = SHOWN[text]
    dtype = None if isinstance(data, list) and data[0] == 0 else ingot.float64
    t = masked_tensor(ingot.tensor(data, dtype=dtype), ingot.tensor(mask).bool())
    shown = str(t)
    assert repr(t) == shown == f"{t}"
    assert [line.split() for line in shown.splitlines()] == [line.split() for line in text.splitlines()]


def test_reductions_by_name_are_there_as_before():
    data, mask = parts()
    assert masked.sum(data, mask=mask).item() == 6.5 == case().sum().item()


# Functions of `masked` on masked tensors.


REDUCED = {name: (lambda x, name=name, **m: getattr(masked, name)(x, -1, **m)) for name in (
    "sum", "prod", "mean", "var", "std", "amax", "amin", "argmax", "argmin", "median", "logsumexp", "softmax", "log_softmax",
    "softmin", "cumsum", "cumprod")} | {
    "norm": lambda x, **m: masked.norm(x, 2.0, -1, **m), "normalize": lambda x, **m: masked.normalize(x, 2.0, -1, **m),
    "of all": lambda x, **m: masked.sum(input=x, **m), "kept": lambda x, **m: masked.amax(x, (0, 1), keepdim=True, **m)}


@pytest.mark.parametrize("name", REDUCED)
def test_functions_of_the_module_take_masked_tensors(name):
    data, mask = parts()
    got, expected = REDUCED[name](case()), REDUCED[name](data, mask=mask)
    assert type(got) is ingot.Tensor
    np.testing.assert_array_equal(got.numpy(), expected.numpy())
    fewer = ingot.tensor([True, True, False])
    np.testing.assert_array_equal(REDUCED[name](case(), mask=fewer).numpy(), REDUCED[name](data, mask=mask & fewer).numpy())
    t = case(requires_grad=True)
    found = REDUCED[name](t)
    if found.requires_grad:
        found.nan_to_num(0.0, 0.0, 0.0).sum().backward()
        assert t.grad.get_data().nan_to_num(0.0).masked_select(~mask).eq(0).all()


def test_sums_of_exponentials_of_two_masked_tensors():
    data, mask = parts()
    clean = data.nan_to_num(0.0)
    got = masked.logaddexp(case(), masked_tensor(clean, ~mask))
    expected = masked.logaddexp(data, clean, input_mask=mask, other_mask=~mask)
    np.testing.assert_array_equal(got.numpy(), expected.numpy())


def test_data_with_a_history_warns():
    data, mask = parts()
    with pytest.warns(UserWarning, match="gradients do not reach the data"):
        masked_tensor(data.requires_grad_(), mask)


@pytest.mark.parametrize("name", ["T", "mT", "H", "mH", "real"])
def test_attributes_that_are_other_tensors(name):
    t = masked_tensor(*[x[:2] for x in parts()])
    data, mask = [getattr(x, name) if name != "real" else x for x in parts()]
    where = (slice(None), slice(2)) if name != "real" else slice(2)
    same(getattr(t, name), data.nan_to_num(0.0)[where].numpy(), mask[where].numpy())


def test_modules_convert_masked_parameters():
    model = ingot.nn.Module()
    model.weight = ingot.nn.Parameter(case())
    assert model.float().weight.dtype is ingot.float32 and is_masked_tensor(model.weight) and model.weight.requires_grad
    t = case()
    again = copy.copy(t)
    again.mul_(0)
    same(t, np.zeros((3, 3)), MASK)
    with pytest.raises(TypeError, match="data of a masked tensor"):
        t.data = ingot.ones(3, 3)


def test_modules_load_masked_parameters():
    model, other = ingot.nn.Module(), ingot.nn.Module()
    model.weight, other.weight = ingot.nn.Parameter(case()), ingot.nn.Parameter(case() * 0)
    other.load_state_dict(model.state_dict())
    same(other.weight.detach(), np.nan_to_num(DATA), MASK)
