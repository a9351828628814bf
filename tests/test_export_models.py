"""Every model of examples/ goes into a file and comes back: the same values, at sizes that the file was not made with."""

import numpy as np
import pytest

import ingot
from exported_models import MODELS, made
from ingot import jit
from ingot.jit.exported import structure, writer
from ingot.jit.exported.examples import dims_of


def leaves(x):
    tensors = []
    structure.describe(x, tensors, [])
    return [t.detach().numpy() if isinstance(t, ingot.Tensor) else np.asarray(t) for t in tensors]


def agrees(model, fn, args):
    with ingot.no_grad():
        want, got = leaves(fn(*args)), leaves(model(*args))
    assert len(want) == len(got)
    for a, b in zip(want, got):
        assert a.shape == b.shape and a.dtype == b.dtype
        assert writer.agree(a, b), f"differs by {np.abs(a.astype(float) - b.astype(float)).max()}"


@pytest.mark.parametrize("model", MODELS, ids=lambda m: m.__name__)
def test_a_model_comes_back(model, tmp_path):
    fn, args, dynamic = made(model)
    loaded = jit.export(fn, args, tmp_path / "model.ingot", dynamic=dynamic)
    agrees(loaded, fn, args)
    agrees(jit.load(tmp_path / "model.ingot", objects=False), fn, args)
    tensors = []
    described = structure.describe(args, tensors, [])
    dims = dims_of(dynamic, tensors, [s.name for s in loaded.inputs])
    for seed, sizes in enumerate(({n: 7 + i for i, n in enumerate(dims.order)}, dict.fromkeys(dims.order, 1))):
        if sizes:
            ingot.manual_seed(seed)
            agrees(loaded, fn, structure.rebuild(described, dims.resized(tensors, sizes)))


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


@pytest.mark.parametrize("dynamic", [None, {"x": {0: "rows"}}], ids=["fixed", "free"])
@pytest.mark.parametrize("name", RESULTS)
def test_results_that_lie_in_one_memory_come_back_apart(name, dynamic, tmp_path):
    weight = ingot.randn(4, 6)

    def model(x):
        return RESULTS[name](x @ weight)

    loaded = jit.export(model, (ingot.randn(3, 4),), tmp_path / "model.ingot", dynamic=dynamic)
    for rows in (3,) if dynamic is None else (3, 8):
        agrees(loaded, model, (ingot.randn(rows, 4),))
    assert len(leaves(ingot.export.export(model, (ingot.randn(3, 4),)).module()(ingot.randn(3, 4)))) == len(loaded.outputs)
