"""Models in files for sizes that come one after the other: planned for the first, then once for all others."""

import numpy as np
import pytest

import ingot
from ingot import jit
from ingot.ir.errors import DeviceError
from ingot.jit.exported import loaded as loading
from ingot.jit.exported import of_sizes, prepare

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
    for module in (prepare, of_sizes):
        monkeypatch.setattr(module, "prepared", lambda *args: [made.append(1), prepared(*args)][1])
    for _ in range(2):
        for n in SIZES:
            agrees(model, loaded, arguments(n))
    assert len(made) <= 4, "passes run for each size"
    for n in SIZES[2:]:
        for _ in range(2):          # (the third time all of the graph is made)
            agrees(model, loaded, arguments(n))


@pytest.mark.parametrize("exported", ["caches"], indirect=True)
def test_sizes_are_planned_by_themselves_where_kernels_for_all_cannot_be_had(exported, monkeypatch):
    model, arguments, path = exported
    loaded, asked = jit.load(path), []

    def refused(self, sizes):
        asked.append(sizes)
        raise DeviceError("no LLVM here")

    monkeypatch.setattr(of_sizes.OfSizes, "planned", refused)
    for n in SIZES:
        agrees(model, loaded, arguments(n))
    assert len(asked) == 1, "it is asked once"


@pytest.mark.parametrize("exported", ["caches"], indirect=True)
def test_sizes_that_passes_have_to_know_are_planned_by_themselves(exported, monkeypatch):
    model, arguments, path = exported
    monkeypatch.setattr(of_sizes, "_MOST", 0)
    loaded, made, planned = jit.load(path, objects=False), [], loading.Model.planned
    monkeypatch.setattr(loading.Model, "planned", lambda self, sizes: [made.append(sizes), planned(self, sizes)][1])
    for n in SIZES:
        agrees(model, loaded, arguments(n))
    assert len(made) == len(set(SIZES))
