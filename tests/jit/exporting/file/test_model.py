"""Loaded models where compiled code is not enough: inside of traced, batched and exported functions, and with gradients."""

import numpy as np
import pytest

import ingot
import mock_cuda
from ingot import func, jit, nn
from ingot.ir.errors import AutogradError, DTypeError, ShapeError
from ingot.jit import from_onnx, to_onnx

SIZES = (4, 7, 1, 4, 2)


class Net(nn.Module):
    """Convolutions of all kinds, a residual, a result with structure."""

    def __init__(self):
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(3, 12, 3, padding=1), nn.BatchNorm2d(12), nn.ReLU())
        self.deep, self.beside = nn.Conv2d(12, 12, 3, padding=1, groups=12), nn.Conv2d(12, 12, 3, padding=1, groups=2)
        self.out = nn.Linear(12, 5)

    def forward(self, x):
        x = self.first(x)
        x = (self.deep(x) + self.beside(x)).relu()
        return {"scores": self.out(x.mean((2, 3))), "sizes": (x.amax((2, 3)),)}


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """{name: (what it was, the loaded model)}; all take images of any number."""
    ingot.manual_seed(3)
    folder, net, x = tmp_path_factory.mktemp("inside"), Net().eval(), ingot.randn(4, 3, 10, 10)
    options = {"float32": {}, "int8": {"quantize": [x]}}
    made = {name: jit.export(net, x, folder / f"{name}.ingot", dynamic={"x": {0: "n"}}, **more)
            for name, more in options.items()}
    return {"float32": (net, made["float32"]), "int8": (made["int8"], made["int8"])}


def images(n, seed=0):
    return ingot.tensor(np.random.default_rng(seed + n).standard_normal((n, 3, 10, 10)).astype(np.float32))


def close(got, want, message=""):
    for name in ("scores", "sizes"):
        a, b = (r[name] if name == "scores" else r[name][0] for r in (got, want))
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-4, atol=1e-5, err_msg=message)


@pytest.mark.parametrize("name", ["float32", "int8"])
def test_traced_functions_give_the_results_of_the_model(models, name):
    before, model = models[name]
    traced = jit.trace(lambda x: model(x * 2))
    for i, n in enumerate(SIZES):
        close(traced(images(n, i)), before(images(n, i) * 2), f"call {i} of {n} images")
    assert "conv" in traced.explain()


@pytest.mark.parametrize("name", ["float32", "int8"])
def test_an_export_around_a_model_contains_it(models, name, tmp_path):
    before, model = models[name]
    again = jit.export(lambda x: model(x + 1), images(4), tmp_path / "again.ingot", dynamic={"x": {0: "n"}})
    onnx = from_onnx(to_onnx(lambda x: model(x + 1)["scores"], images(4), dynamic={"x": {0: "n"}}))
    for i, n in enumerate(SIZES):
        close(again(images(n, i)), before(images(n, i) + 1), f"{n} images")
        np.testing.assert_allclose(onnx(images(n, i)).numpy(), before(images(n, i) + 1)["scores"].detach().numpy(), rtol=1e-4,
                                   atol=1e-5)


@pytest.mark.parametrize("name", ["float32", "int8"])
def test_batches_of_batches(models, name):
    before, model = models[name]
    x = ingot.stack([images(2, i) for i in range(3)])
    want = [before(part) for part in x]
    close(func.vmap(model)(x), {"scores": ingot.stack([w["scores"] for w in want]),
                                "sizes": (ingot.stack([w["sizes"][0] for w in want]),)})


def test_gradients_reach_arguments(models):
    net, model = models["float32"]
    found = []
    for f in (net, model, jit.trace(model)):
        x = images(4).requires_grad_()
        f(x)["scores"].square().sum().backward()
        found.append(x.grad.numpy())
    for got in found[1:]:
        np.testing.assert_allclose(got, found[0], rtol=1e-3, atol=1e-6)
    scores = [func.jvp(lambda x, f=f: f(x)["scores"], (images(2),), (images(2, 1),))[1].detach().numpy() for f in (net, model)]
    np.testing.assert_allclose(*scores, rtol=1e-3, atol=1e-6)
    with ingot.no_grad():
        assert not model(images(2).requires_grad_())["scores"].requires_grad
    assert all(not w.requires_grad for w in model.weights.values())


def test_whole_numbers_have_no_gradients(models):
    x = images(2).requires_grad_()
    with pytest.raises(AutogradError, match="does not require grad"):
        models["int8"][1](x)["scores"].sum().backward()


@pytest.mark.parametrize("x, error, words", [(ingot.zeros(2, 3, 10, 11), ShapeError, r"dim 3 has size 11"),
                                             (ingot.zeros(2, 3, 10, 10, dtype=ingot.float64), DTypeError, "cast it")], ids=str)
def test_wrong_arguments_are_named_there_too(models, x, error, words):
    model = models["float32"][1]
    for call in (model, jit.trace(lambda x: model(x)["scores"] * 2), lambda x: model(x.requires_grad_())):
        with pytest.raises(error, match=words):
            call(x)


def test_arrays_and_autocast(models):
    before, model = models["float32"]
    array = images(2).numpy()
    traced = jit.trace(lambda x: x + model(array)["scores"])
    for _ in range(3):
        np.testing.assert_allclose(traced(ingot.zeros(1)).numpy(), before(images(2))["scores"].detach().numpy(), rtol=1e-4,
                                   atol=1e-5)
    with ingot.autocast("cpu", dtype=ingot.bfloat16):
        assert jit.trace(lambda x: model(x)["scores"])(images(2)).dtype is ingot.float32


@pytest.mark.skipif(ingot.cuda.is_available(), reason="the mock takes the place of the driver")
def test_on_a_device(models):
    net, model = models["float32"]
    with mock_cuda.installed():
        there = jit.load(model.path, device="cuda")
        traced = jit.trace(lambda x: there(x * 2)["scores"])
        for n in (4, 2, 4):
            got = traced(images(n).cuda())
            assert got.is_cuda
            np.testing.assert_allclose(got.cpu().numpy(), net(images(n) * 2)["scores"].detach().numpy(), rtol=1e-3, atol=1e-4)
        x = images(2).cuda().requires_grad_()
        there(x)["scores"].sum().backward()
        assert x.grad.is_cuda


def test_derivatives_inside_of_a_function_are_exported_where_it_asks_for_them(tmp_path):
    weight, x, path = ingot.randn(3, 3), ingot.randn(4, 3), tmp_path / "model.ingot"

    def slope(x):
        x = x.detach().requires_grad_()
        first, = ingot.autograd.grad((x @ weight).sin().sum(), x, create_graph=True)
        return ingot.autograd.grad(first.square().sum(), x)[0]

    def asking(x):
        with ingot.enable_grad():
            return slope(x).detach()

    with pytest.raises(jit.ExportError, match=r"differentiates inside is written under enable_grad\(\)"):
        jit.export(slope, (x,), path, targets=())
    jit.export(asking, (x,), path, dynamic={"x": {0: "batch"}}, targets=())
    more = ingot.randn(9, 3)
    ingot.testing.assert_close(jit.load(path)(more), slope(more))


def test_a_model_from_onnx_keeps_the_names_of_its_inputs(tmp_path):
    """`run` takes arrays by name, and `dynamic=` sizes."""
    pytest.importorskip("onnx")
    x, offset, path = ingot.randn(4, 3), ingot.randn(3), tmp_path / "model.ingot"
    free = {"points": {0: "count"}}
    to_onnx(lambda points, offset: points.sin() + offset, (x, offset), tmp_path / "model.onnx", dynamic=free)
    jit.export(from_onnx(tmp_path / "model.onnx"), (x, offset), path, dynamic=free, targets=())
    model = jit.load(path)
    assert model(ingot.randn(7, 3), offset=offset).shape == (7, 3)
    ingot.testing.assert_close(model(offset=offset, points=x), x.sin() + offset)
