"""Every model of examples/ goes into a file and comes back: the same values, at sizes that the file was not made with."""

import numpy as np
import pytest

import ingot
from covering import thinned
from exported_models import MODELS, made
from ingot import jit, nn
from ingot.jit.exporting.capture import treespec
from ingot.jit.exporting.capture.example_inputs import dims_of
from ingot.jit.exporting.file import writer


def leaves(x):
    tensors = []
    treespec.describe(x, tensors, [])
    return [t.detach().numpy() if isinstance(t, ingot.Tensor) else np.asarray(t) for t in tensors]


def agrees(model, fn, args):
    with ingot.no_grad():
        want, got = leaves(fn(*args)), leaves(model(*args))
    assert len(want) == len(got)
    for a, b in zip(want, got):
        assert a.shape == b.shape and a.dtype == b.dtype
        assert writer.agree(a, b), f"differs by {np.abs(a.astype(float) - b.astype(float)).max()}"


@pytest.mark.parametrize("model", MODELS, ids=lambda m: m.__name__)
def test_a_loaded_model_gives_the_results_of_the_original(model, tmp_path):
    fn, args, dynamic = made(model)
    loaded = jit.export(fn, args, tmp_path / "model.ingot", dynamic=dynamic)
    agrees(loaded, fn, args)
    agrees(jit.load(tmp_path / "model.ingot", objects=False), fn, args)
    tensors = []
    described = treespec.describe(args, tensors, [])
    dims = dims_of(dynamic, tensors, [s.name for s in loaded.inputs])
    for seed, sizes in enumerate(({n: 7 + i for i, n in enumerate(dims.order)}, dict.fromkeys(dims.order, 1))):
        if sizes:
            ingot.manual_seed(seed)
            agrees(loaded, fn, treespec.rebuild(described, dims.resized(tensors, sizes)))


RESULTS = {
    "two halves": lambda y: y.chunk(2, -1),
    "rows and all": lambda y: (y, y[1:]),
    "all and a window": lambda y: (y, y.unfold(1, 2, 1)),
    "expanded": lambda y: y.sum(1, keepdim=True).expand(-1, 5),
    "the same twice": lambda y: {"a": y, "b": [y, y.mT]},
    "strides": lambda y: y.as_strided((2, 2), (1, 1)),
    "detached": lambda y: (y, y.detach(), y.data[:, ::2]),
    "a constant": lambda y: (y, ingot.zeros(1).expand(3)),
    "transposed parts": lambda y: y.mT.split([1, 2, 3]),
}


@pytest.mark.parametrize("name, dynamic", thinned(RESULTS, [None, {"x": {0: "rows"}}], strength=1))
def test_results_over_shared_memory_come_back_separate(name, dynamic, tmp_path):
    weight = ingot.randn(4, 6)

    def model(x):
        return RESULTS[name](x @ weight)

    loaded = jit.export(model, (ingot.randn(3, 4),), tmp_path / "model.ingot", dynamic=dynamic)
    for rows in (3,) if dynamic is None else (3, 8):
        agrees(loaded, model, (ingot.randn(rows, 4),))
    assert len(leaves(ingot.export.export(model, (ingot.randn(3, 4),)).module()(ingot.randn(3, 4)))) == len(loaded.outputs)


class Wide(nn.Module):
    """float32 inside, and what is made of it in float64, as samplers of diffusion models are."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(2, 16, 3, padding=1), nn.GroupNorm(4, 16), nn.SiLU(), nn.Conv2d(16, 2, 3, padding=1))

    def forward(self, x):
        x = x.double() * 10
        for t in (10.0, 5.0, 2.0):
            x = x + 0.2 * (self.net((x / t).float()).double() - x / t)
        return x


class Bytes(nn.Module):
    """An image in whole numbers."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.LeakyReLU(0.2), nn.Conv2d(32, 3, 1))

    def forward(self, x):
        return (self.net(x).tanh() * 127.5 + 128).clamp(0, 255).to(ingot.uint8)


class Turned(nn.Module):
    """Numbers times complex constants of twice 64 bits."""

    def __init__(self):
        super().__init__()
        self.register_buffer("by", ingot.polar(ingot.ones(4, dtype=ingot.float64), ingot.arange(4.0, dtype=ingot.float64)))
        self.one = nn.Parameter(ingot.tensor(1 + 1j, dtype=ingot.complex128))

    def forward(self, x):
        return ingot.view_as_real(ingot.view_as_complex(x.double()) * self.by * self.one).float()


@pytest.mark.parametrize("model, shape", [(Wide, (2, 2, 16, 16)), (Bytes, (1, 3, 64, 64)), (Turned, (3, 4, 2))],
                         ids=["wide results", "bytes", "complex128"])
def test_models_of_several_dtypes(model, shape, tmp_path):
    for seed in range(3):
        ingot.manual_seed(seed)
        made, x = model().eval(), ingot.randn(*shape)
        jit.export(made, (x,), str(tmp_path / f"{seed}.ingot"))
        found, expected = jit.load(str(tmp_path / f"{seed}.ingot"))(x), made(x).detach()
        assert found.dtype is expected.dtype
        assert (found.double() - expected.double()).abs().max() <= (1 if found.dtype is ingot.uint8 else 1e-3)


_COUNT, _ONES = np.arange(3000), np.ones(3)


@pytest.mark.parametrize("want, got, narrowest, fine", [
    (_ONES, _ONES + 1e-9, 8, False), (_ONES, _ONES + 1e-5, 4, True), (_ONES, _ONES + 1e-2, 4, False),
    (_COUNT, _COUNT + (_COUNT < 3), 4, True), (_COUNT, _COUNT + (_COUNT < 3), 8, False),
    (_COUNT, _COUNT + (_COUNT < 4), 4, False), (np.arange(3), np.array([0, 1, 3]), 4, False),
], ids=str)
def test_comparison_of_results(want, got, narrowest, fine):
    assert writer.agree(want, got, narrowest) == fine
