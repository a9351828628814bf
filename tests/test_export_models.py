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
