"""Models in files for sizes that come one after the other: planned for the first, then once for all others."""

from functools import partial

import numpy as np
import pytest

import ingot
from ingot import jit
from ingot.ir.errors import DeviceError
from ingot.jit.errors.errors import PinnedSize
from ingot.jit.exporting.capture import prepare
from ingot.jit.exporting.file import model as loading
from ingot.jit.exporting.file import symbolic_plan
from ingot.jit.exporting.file.collect_kernels import FURTHER, further_sizes

F, nn = ingot.nn.functional, ingot.nn
SIZES = (7, 9, 30, 5, 200, 9, 33, 2, 12)


class Token(nn.Module):
    """A token's layers over caches that grow."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(16, 16) for _ in range(3)])

    def forward(self, x, k, v):
        made = []
        for number, layer in enumerate(self.layers):
            keys, values = ingot.cat([k[number], x], 1), ingot.cat([v[number], x * 2], 1)
            x = F.gelu(layer(F.scaled_dot_product_attention(x, keys, values)))
            made.append(keys)
        return x, ingot.stack(made)


def caches(n):
    return ingot.randn(2, 1, 16), ingot.randn(3, 2, n, 16), ingot.randn(3, 2, n, 16)


class Counted(nn.Module):
    """A graph that computes with its sizes."""

    def forward(self, x):
        return (x / x.shape[0] + ingot.arange(x.shape[0])[:, None] * 0.5).softmax(0) * (x.shape[0] + 1), x.shape[0] * x.mean()


class Pictures(nn.Module):
    """Convolutions, whose weights are packed, with a free batch, by which it divides."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 8, 3, stride=2),
                                 nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 5))

    def forward(self, x):
        return self.net(x / x.shape[0])


# name: (model, its arguments for a size, what is free)
MODELS = {
    "caches": (Token, caches, {"k": {2: "n"}, "v": {2: "n"}}),
    "computed": (Counted, lambda n: (ingot.randn(n, 6),), {"x": {0: "n"}}),
    "pictures": (Pictures, lambda n: (ingot.randn(n, 3, 9, 11),), {"x": {0: "n"}}),
}


@pytest.fixture
def exported(request, tmp_path):
    make, arguments, dynamic = MODELS[request.param]
    ingot.manual_seed(0)
    model, path = make().eval(), tmp_path / "model.ingot"
    with ingot.no_grad():
        jit.export(model, arguments(SIZES[0]), path, dynamic=dynamic)
    return model, arguments, path


def flat(x):
    return [t for each in x for t in flat(each)] if isinstance(x, (tuple, list)) else [x]


def agrees(model, loaded, arguments):
    with ingot.no_grad():
        for a, b in zip(flat(loaded(*arguments)), flat(model(*arguments)), strict=True):
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("exported", MODELS, indirect=True)
@pytest.mark.parametrize("objects", [True, False], ids=["ready", "from the graph"])
def test_all_sizes_are_computed_by_few_plans(exported, objects, monkeypatch):
    model, arguments, path = exported
    loaded, made, prepared = jit.load(path, objects=objects), [], prepare.prepared
    for module in (prepare, symbolic_plan):
        monkeypatch.setattr(module, "prepared", lambda *args: [made.append(1), prepared(*args)][1])
    for _ in range(2):
        for n in SIZES:
            agrees(model, loaded, arguments(n))
    assert len(made) <= 4, "passes run for each size"
    for n in SIZES[2:]:
        for _ in range(2):          # (the third time all of the graph is made)
            agrees(model, loaded, arguments(n))


@pytest.mark.parametrize("exported", ["caches"], indirect=True)
def test_sizes_are_planned_one_by_one_where_no_kernel_serves_all(exported, monkeypatch):
    model, arguments, path = exported
    loaded, queries = jit.load(path), []

    def refused(self, sizes):
        queries.append(sizes)
        raise DeviceError("no LLVM here")

    monkeypatch.setattr(symbolic_plan.SizedPlans, "planned", refused)
    for n in SIZES:
        agrees(model, loaded, arguments(n))
    assert len(queries) == 1, "it is asked once"


@pytest.mark.parametrize("exported", ["caches"], indirect=True)
def test_sizes_that_passes_must_know_are_planned_one_by_one(exported, monkeypatch):
    model, arguments, path = exported
    monkeypatch.setattr(symbolic_plan, "_MOST", 0)
    loaded, made, planned = jit.load(path, objects=False), [], loading.Model.planned
    monkeypatch.setattr(loading.Model, "planned", lambda self, sizes: [made.append(sizes), planned(self, sizes)][1])
    for n in SIZES:
        agrees(model, loaded, arguments(n))
    assert len(made) == len(set(SIZES))


# Sizes of 1 and 0, and what examples have in common that later arguments have not.


class Pool(nn.Module):
    """Sums of nodes for each graph: the example's numbers of graphs are out of range for fewer."""

    def forward(self, nodes, graph, start):
        return start + ingot.zeros(start.shape[0], 4).index_add(0, graph, nodes)


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.of_all, self.out = nn.Linear(8, 24), nn.Linear(8, 8)

    def forward(self, x, k, v):
        q, key, value = self.of_all(x).chunk(3, -1)
        k, v = ingot.cat([k, key], 1), ingot.cat([v, value], 1)
        return self.out((q @ k.mT / 8 ** 0.5).softmax(-1) @ v), k, v


same = partial(np.testing.assert_allclose, rtol=1e-5, atol=1e-6)


def made_again(model, example, path, dynamic):
    model = model.eval()
    jit.export(model, example, path, dynamic=dynamic)
    return model, jit.load(path)


def test_example_indices_that_are_out_of_range_for_small_sizes(tmp_path):
    example = ingot.randn(6, 4), ingot.tensor([0, 0, 1, 1, 2, 2]), ingot.randn(3, 4)
    dynamic = {"nodes": {0: "n"}, "graph": {0: "n"}, "start": {0: "g"}}
    model, made = made_again(Pool(), example, tmp_path / "m.ingot", dynamic)
    for n, g in ((6, 1), (1, 1), (0, 1), (0, 5), (9, 4)):
        given = ingot.randn(n, 4), ingot.arange(n) % g, ingot.randn(g, 4)
        assert ingot.equal(made(*given), model(*given)), (n, g)


def test_an_empty_cache_and_caches_that_were_one_tensor_in_the_example(tmp_path):
    x, k = ingot.randn(2, 3, 8), ingot.randn(2, 5, 8)
    model, made = made_again(Decoder(), (x, k, k), tmp_path / "m.ingot",
                           {"x": {0: "b", 1: "t"}, "k": {0: "b", 1: "p"}, "v": {0: "b", 1: "p"}})
    for b, t, p in ((2, 3, 0), (1, 3, 0), (1, 1, 4), (2, 1, 0), (3, 2, 7), (0, 2, 3)):
        given = ingot.randn(b, t, 8), ingot.randn(b, p, 8), ingot.randn(b, p, 8)
        for got, want in zip(made(*given), model(*given), strict=True):
            same(got.detach().numpy(), want.detach().numpy(), err_msg=f"{b}, {t}, {p}")
    with pytest.raises(ingot.IngotError, match="b = 1 and t = 1 and p = 0"):
        made(ingot.randn(1, 1, 8), ingot.randn(1, 0, 8), ingot.randn(1, 0, 8))


def test_further_sizes_are_few_whatever_the_number_of_names():
    base = dict.fromkeys("abcdef", 5)
    alone = further_sizes(base)
    assert len(alone) == len(base) * len(FURTHER) and all(sum(s[name] != 5 for name in s) == 1 for s in alone)
    joined = further_sizes({**base, "c": 1})
    assert joined == [{**dict.fromkeys("abcdef", n), "c": 1} for n in FURTHER]
    assert further_sizes({"a": 1}) == [] == further_sizes({})


class Five(nn.Module):
    def forward(self, a, b, c, d, e):
        return a + 1, b * 2, c.sum(0), d.relu(), e @ e.mT


def test_of_many_names_each_size_may_be_small_by_itself(tmp_path):
    example = tuple([ingot.randn(1 if i == 3 else 3, 4) for i in range(5)])
    model, made = made_again(Five(), example, tmp_path / "m.ingot", {name: {0: f"n{name}"} for name in "abcde"})
    for sizes in ((1, 2, 3, 4, 5), (2, 2, 2, 2, 1), (2, 0, 3, 3, 3)):
        given = [ingot.randn(n, 4) for n in sizes]
        for got, want in zip(made(*given), model(*given), strict=True):
            same(got.numpy(), want.numpy(), err_msg=f"{sizes}")


@pytest.mark.parametrize("fn", [
    lambda x: x * 2 if ingot.full((), x.shape[0]).item() > 100 else x,
    lambda x: x * float(ingot.ones(x.shape[0]).sum()),
    lambda x: x[: int(ingot.tensor(x.shape[0])) - 1],
    lambda x: x + ingot.arange(x.shape[0])[-1].item()])
def test_sizes_that_are_read_out_of_tensors_are_fixed(fn, tmp_path):
    with pytest.raises(PinnedSize, match="cannot change"):
        jit.export(fn, (ingot.randn(3, 2),), tmp_path / "model.ingot", dynamic={"x": {0: "rows"}})
    fixed = jit.export(fn, (ingot.randn(3, 2),), tmp_path / "model.ingot")
    x = ingot.randn(3, 2)
    assert fixed(x).equal(fn(x))
