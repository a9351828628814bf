"""Whole models: every model of examples/ and the layers people use, written with free sizes, agree with ONNX Runtime at sizes
that were not recorded, and go on working when read back: traced, with new weights, with gradients, written again."""

import copy
import importlib
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("onnx", reason="needs the onnx package")

import ingot
from ingot import nn
from ingot.ao import quantization
from ingot.jit import from_onnx, to_onnx, trace
from ingot.nn import functional as F

FOLDER = Path(ingot.__file__).parent / "examples"
r = ingot.randn


@pytest.fixture
def load(monkeypatch):
    """A function that imports a program of examples/ by name."""
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module


def words(count, b, t):
    return ingot.randint(0, count, (b, t))


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(4, 6, 2, bidirectional=True)
        self.rnn = nn.RNN(12, 5, nonlinearity="relu")
        self.lstm = nn.LSTM(5, 4, proj_size=3)

    def forward(self, x):
        y, h = self.gru(x)
        y, k = self.rnn(y)
        y, (m, c) = self.lstm(y)
        return {"y": y, "states": [h, k, m, c]}


class Images(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.GroupNorm(2, 8), nn.Hardswish(), nn.Upsample(scale_factor=2),
                                 nn.PixelShuffle(2), nn.ConvTranspose2d(2, 4, 3, 2, 1, 1), nn.InstanceNorm2d(4, affine=True),
                                 nn.Sigmoid(), nn.AdaptiveAvgPool2d(1))

    def forward(self, x):
        return self.net(x)


def normalise(x):
    return (x - x.mean(1, keepdim=True)) / x.std(1, keepdim=True)


def puzzle(x):
    y = ingot.cat([x[:, 1:], x[:, :1] * 2], 1).flip(0).roll(1, 1)
    y[:, 0] = 0.5
    return y + ingot.arange(x.shape[1], dtype=ingot.float32), y.sort(1), x.cumsum(0), y.tril()


def grouped(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, enable_gqa=True, is_causal=True)


# name -> (the model, by the loader of examples; arguments, by the loader and sizes; what is free; sizes: the example's first)
MODELS = {
    "gpt": (lambda load: load("gpt").GPT(40), lambda load, b, t: words(40, b, t), {"x": {0: "batch", 1: "length"}},
            ((2, 7), (3, 12), (1, 64))),
    "language_model": (
        lambda load: load("language_model").Model(50),
        lambda load, t, b: (ingot.randint(0, 50, (t, b)), (r(2, b, 64), r(2, b, 64))),
        {"words": {0: "t", 1: "b"}, "state_0": {1: "b"}, "state_1": {1: "b"}}, ((5, 2), (9, 3), (1, 1))),
    "mnist_cnn": (lambda load: load("mnist_cnn").Net(), lambda load, b: r(b, 1, 8, 8), {"x": {0: "b"}}, ((2,), (5,), (1,))),
    "resnet": (lambda load: load("resnet").ResNet(4), lambda load, b, h: r(b, 3, h, 16), {"x": {0: "b", 2: "h"}},
               ((2, 16), (3, 23), (1, 32))),
    "dcgan generator": (lambda load: load("dcgan").generator(), lambda load, b: r(b, load("dcgan").LATENT, 1, 1), {0: {0: "b"}},
                        ((2,), (4,), (1,))),
    "dcgan discriminator": (lambda load: load("dcgan").discriminator(), lambda load, b: r(b, 1, 8, 8), {0: {0: "b"}},
                            ((2,), (4,), (1,))),
    "vae encoder": (lambda load: load("vae").VAE().encoder, lambda load, b: r(b, 1, 8, 8), {0: {0: "b"}}, ((2,), (4,), (1,))),
    "vae decoder": (lambda load: load("vae").VAE().decoder, lambda load, b: r(b, 8), {0: {0: "b"}}, ((2,), (4,), (1,))),
    "super_resolution": (lambda load: load("super_resolution").SuperResolution(), lambda load, b, h: r(b, 1, h, 8),
                         {"x": {0: "b", 2: "h"}}, ((2, 8), (3, 11), (1, 5))),
    "style_transfer": (lambda load: load("style_transfer").Features(), lambda load, b, h: r(b, 3, h, 8),
                       {"x": {0: "b", 2: "h"}}, ((2, 8), (3, 13), (1, 16))),
    "actor_critic": (lambda load: load("actor_critic").Policy(), lambda load, b: r(b, 4), {"x": {0: "b"}}, ((2,), (5,), (1,))),
    "sentence_pairs": (lambda load: load("sentence_pairs").Judge(30), lambda load, b, p, h: (words(30, b, p), words(30, b, h)),
                       {"premise": {0: "b", 1: "p"}, "hypothesis": {0: "b", 1: "h"}}, ((2, 5, 7), (3, 9, 4), (1, 3, 3))),
    "time_series": (lambda load: load("time_series").Sequence(), lambda load, b: r(b, 6), {"x": {0: "b"}}, ((2,), (5,), (1,))),
    "graph_network": (lambda load: DenseGraph(load("graph_network")),
                      lambda load, n: (r(n, load("graph_network").FEATURES), r(n, n)),
                      {"x": {0: "n"}, "adjacency": {0: "n", 1: "n"}}, ((6,), (9,), (4,))),
    "recurrent": (lambda load: Recurrent(), lambda load, t, b: r(t, b, 4), {"x": {0: "t", 1: "b"}}, ((3, 2), (5, 3), (2, 1))),
    "transformer": (
        lambda load: nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 4, 32, batch_first=True), 2),
        lambda load, b, t: r(b, t, 16),
        {"src": {0: "b", 1: "t"}}, ((2, 5), (3, 8), (1, 3))),
    "attention": (lambda load: nn.MultiheadAttention(16, 4, batch_first=True),
                  lambda load, b, t: (r(b, t, 16), r(b, t, 16), r(b, t, 16)),
                  {n: {0: "b", 1: "t"} for n in ("query", "key", "value")}, ((2, 5), (3, 8), (1, 3))),
    "grouped attention": (lambda load: grouped, lambda load, t: (r(2, 8, t, 4), r(2, 2, t, 4), r(2, 2, t, 4)),
                          {n: {2: "t"} for n in "qkv"}, ((4,), (7,), (9,))),
    "images": (lambda load: Images(), lambda load, h: r(2, 3, h, 8), {"x": {2: "h"}}, ((8,), (9,), (12,))),
    "normalise": (lambda load: normalise, lambda load, n: r(2, n), {"x": {1: "n"}}, ((4,), (7,), (9,))),
    "puzzle": (lambda load: puzzle, lambda load, b, c: r(b, c), {"x": {0: "b", 1: "c"}}, ((2, 3), (4, 5), (3, 2))),
}


class DenseGraph(nn.Module):
    """The graph network with its neighbours as a matrix with all elements."""

    def __init__(self, program):
        super().__init__()
        self.net, self.features = program.GCN(), program.FEATURES

    def forward(self, x, adjacency):
        h = F.relu(adjacency @ self.net.conv1.linear(x) + self.net.conv1.bias)
        return F.log_softmax(adjacency @ self.net.conv2.linear(h) + self.net.conv2.bias, dim=1)


def tensors_in(x) -> list:
    if isinstance(x, dict):
        x = x.values()
    return [t for v in x for t in tensors_in(v)] if not hasattr(x, "numpy") else [x]


def made(load, name):
    """(model, arguments for sizes, what is free, sizes)"""
    make, arguments, dynamic, sizes = MODELS[name]
    ingot.manual_seed(11)
    model = make(load)
    if isinstance(model, nn.Module):
        model.eval()
    def as_tuple(*n):
        given = arguments(load, *n)
        return given if isinstance(given, tuple) else (given,)

    return model, as_tuple, dynamic, sizes


def assert_alike(results, wanted, message):
    for got, want in zip(results, wanted, strict=True):
        a, b = np.asarray(got), want.detach().numpy()
        assert (a.dtype, a.shape) == (b.dtype, b.shape), message
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=2e-5 * max(1e-3, float(np.abs(b).max())), err_msg=message)


@pytest.mark.parametrize("name", MODELS)
def test_a_model_reads_back_at_other_sizes(load, name):
    model, arguments, dynamic, sizes = made(load, name)
    back = from_onnx(to_onnx(model, arguments(*sizes[0]), dynamic=dynamic))
    with ingot.no_grad():
        for n in sizes:
            given = arguments(*n)
            assert_alike([t.numpy() for t in tensors_in(back(*tensors_in(given)))], tensors_in(model(*given)), f"{name} at {n}")


@pytest.mark.peer
@pytest.mark.parametrize("name", MODELS)
def test_onnx_runtime_agrees_at_other_sizes(load, name):
    ort = pytest.importorskip("onnxruntime")
    ort.set_default_logger_severity(4)
    model, arguments, dynamic, sizes = made(load, name)
    data = to_onnx(model, arguments(*sizes[0]), dynamic=dynamic, verify=False)
    session = ort.InferenceSession(data, providers=["CPUExecutionProvider"])
    with ingot.no_grad():
        for n in sizes:
            given = arguments(*n)
            feed = {i.name: t.numpy() for i, t in zip(session.get_inputs(), tensors_in(given))}
            assert_alike(session.run(None, feed), tensors_in(model(*given)), f"{name} at {n}")


def test_composites_stay_whole_and_names_are_kept(load):
    import onnx

    model, arguments, dynamic, sizes = made(load, "resnet")
    graph = onnx.load_from_string(to_onnx(model, arguments(*sizes[0]), dynamic=dynamic)).graph
    kinds = [n.op_type for n in graph.node]
    assert kinds.count("Conv") == kinds.count("BatchNormalization") == 9 and "Gemm" in kinds
    weights = {t.name for t in graph.initializer}
    assert weights == {n for n in model.state_dict() if "num_batches" not in n}
    assert [d.dim_param or d.dim_value for d in graph.input[0].type.tensor_type.shape.dim] == ["b", 3, "h", 16]
    assert graph.output[0].type.tensor_type.shape.dim[0].dim_param == "b"
    model, arguments, dynamic, sizes = made(load, "language_model")
    kinds = [n.op_type for n in onnx.load_from_string(to_onnx(model, arguments(*sizes[0]), dynamic=dynamic)).graph.node]
    assert kinds.count("LSTM") == 2 and "Scan" not in kinds


def test_a_model_read_back_is_a_module(load):
    model, arguments, dynamic, sizes = made(load, "gpt")
    x, = arguments(*sizes[0])
    back = from_onnx(to_onnx(model, x, dynamic=dynamic, output_names=["logits"]))
    assert (back.input_names, back.output_names) == (("x",), ("logits",))
    assert back.state_dict().keys() == model.state_dict().keys()
    wanted = model(x)
    for found in (back(x), back(x=x), back(x.numpy()), copy.deepcopy(back)(x), trace(back)(x), trace(lambda x: back(x) * 1)(x)):
        assert_alike([found.detach().numpy()], [wanted], "read back")
    with ingot.no_grad():
        dict(back.named_parameters())["norm.weight"].mul_(2)
    assert not np.allclose(back(x).numpy(), wanted.detach().numpy())
    back.load_state_dict(model.state_dict())
    assert_alike([back(x).numpy()], [wanted], "weights loaded")
    back.head.weight = nn.Parameter(back.head.weight * 3)
    assert_alike([back(x).detach().numpy()], [wanted * 3], "a weight replaced")


@pytest.mark.parametrize("name", ["gpt", "language_model", "super_resolution", "transformer"])
def test_a_model_read_back_is_traced_once_for_all_sizes(load, name):
    model, arguments, dynamic, sizes = made(load, name)
    back = from_onnx(to_onnx(model, arguments(*sizes[0]), dynamic=dynamic, verify=False))
    f = trace(back.compute)
    with ingot.no_grad():
        for turn in range(4):
            given = arguments(*[n + turn for n in sizes[0]])
            assert_alike([t.numpy() for t in tensors_in(f(*tensors_in(given)))], tensors_in(model(*given)), f"{name}, {turn}")
    assert f.stats()["compiles"] == 2, f.stats()["misses"]


def test_a_model_read_back_goes_into_an_ingot_file(load, tmp_path):
    model, arguments, dynamic, sizes = made(load, "gpt")
    back = from_onnx(to_onnx(model, arguments(*sizes[0]), dynamic=dynamic))
    stored = ingot.jit.export(back, arguments(*sizes[0]), tmp_path / "m.ingot", dynamic={0: {0: "b", 1: "t"}}, targets=())
    for n in sizes:
        x, = arguments(*n)
        assert_alike([stored(x).numpy()], [model(x)], f"stored, {n}")


def test_a_model_read_back_has_gradients(load):
    model, arguments, dynamic, sizes = made(load, "mnist_cnn")
    x, = arguments(*sizes[0])
    back = from_onnx(to_onnx(model, x, dynamic=dynamic))
    back.requires_grad_()
    for m in (model, back):
        m(x).square().sum().backward()
    for name, p in back.named_parameters():
        np.testing.assert_allclose(p.grad.numpy(), dict(model.named_parameters())[name].grad.numpy(), rtol=1e-3, atol=1e-4)


def test_a_model_read_back_can_be_written_again(load):
    model, arguments, _, sizes = made(load, "resnet")
    x, = arguments(*sizes[0])
    once = from_onnx(to_onnx(model, x, dynamic={"x": {0: "b"}}))
    again = from_onnx(to_onnx(once, x, dynamic={"x": {0: "b"}}))
    assert again.input_names == once.input_names and again.state_dict().keys() == once.state_dict().keys()
    y = r(5, 3, 16, 16)
    assert_alike([again(y).numpy()], [model(y)], "written twice")


def test_sizes_that_the_code_limits_are_free_within_the_limits():
    table = r(9, 3)
    limited = lambda x: x + table[:x.shape[0]] * ingot.ones(9)[x.shape[0] - 1]
    for n in (9, 4, 2):
        back = from_onnx(to_onnx(limited, r(n, 3), dynamic={"x": {0: "n"}}))
        for m in (1, 3, 9):
            assert_alike([back(ingot.ones(m, 3)).numpy()], [1 + table[:m]], f"from {n} to {m}")


def test_sizes_that_are_multiples():
    def halves(x):
        a, b = x.reshape(2, x.shape[0] // 2, 3)
        return a * b

    back = from_onnx(to_onnx(halves, r(8, 3), dynamic={"x": {0: "n"}}))
    assert_alike([back(ingot.ones(12, 3)).numpy()], [ingot.ones(6, 3)], "halves")


def test_training_mode_is_restored(load):
    model = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5), nn.BatchNorm1d(3))
    model[1].eval()
    to_onnx(model, r(4, 3))
    assert [m.training for m in (model, *model)] == [True, True, False, True]


def test_export_has_pytorchs_names(tmp_path):
    path = tmp_path / "model.onnx"
    model = nn.Linear(3, 2)
    ingot.onnx.export(model, (r(2, 3),), path, input_names=["x"], output_names=["y"], opset_version=20, dynamic_axes={"x": [0]})
    back = from_onnx(path)
    x = r(7, 3)
    assert back.output_names == ("y",) and back.signature[0][2] == ("x_0", 3)
    assert_alike([back(x).numpy()], [model(x)], "export")
    assert ingot.jit.to_onnx is ingot.onnx.to_onnx


def test_export_without_a_path_gives_a_program(tmp_path):
    model, x = nn.Linear(3, 2), r(2, 3)
    program = ingot.onnx.export(model, (x,))
    program.save(tmp_path / "model.onnx")
    assert (tmp_path / "model.onnx").read_bytes() == program and len(program.model_proto.graph.node)
    assert_alike([y.numpy() for y in program(x)], [model(x)], "program")


def test_weights_are_inputs_where_they_are_wanted_there():
    model, x = nn.Linear(3, 2), r(2, 3)
    plain, program = (ingot.onnx.export(model, (x,), keep_initializers_as_inputs=k) for k in (False, True))
    names = [[i.name for i in p.model_proto.graph.input] for p in (plain, program)]
    assert names == [["input"], ["input", "weight", "bias"]]
    assert_alike([y.numpy() for y in program(x)], [model(x)], "weights as inputs")
    session = pytest.importorskip("onnxruntime").InferenceSession(bytes(program))
    got, = session.run(None, {"input": x.numpy(), "bias": np.ones(2, np.float32)})
    np.testing.assert_allclose(got, (x @ model.weight.t() + 1).detach().numpy(), rtol=1e-5)


class ByMode(nn.Module):
    """Shows the mode that it is in."""

    def forward(self, x):
        return x + 1 if self.training else x * 2


@pytest.mark.parametrize("training", [True, False])
def test_modes_of_exported_modules(training):
    mode, x = ingot.onnx.TrainingMode, r(2, 3)
    model = ByMode().train(training)
    wanted = {mode.EVAL: x * 2, mode.TRAINING: x + 1, mode.PRESERVE: x + 1 if training else x * 2, 0: x * 2}
    for given, want in wanted.items():
        got, = ingot.onnx.export(model, (x,), training=given)(x)
        assert ingot.equal(got, want) and model.training is training
    for moving in (nn.BatchNorm1d(3), nn.Dropout(0.5)):
        with pytest.raises(RuntimeError):
            ingot.onnx.export(moving, (x,), training=mode.TRAINING)


def test_export_takes_the_switches_of_older_programs():
    kinds, x = ingot.onnx.OperatorExportTypes, r(2, 3)
    want = ingot.onnx.export(nn.Linear(3, 2), (x,), do_constant_folding=False, export_params=True, verbose=True,
                             operator_export_type=kinds.ONNX_ATEN_FALLBACK, custom_opsets={}, optimize=False, report=False)
    assert isinstance(want, bytes)
    for refused in ({"operator_export_type": kinds.ONNX_ATEN}, {"export_params": False}, {"custom_opsets": {"mine": 1}}):
        with pytest.raises(ValueError, match="not supported"):
            ingot.onnx.export(nn.Linear(3, 2), (x,), **refused)
    assert issubclass(ingot.onnx.OnnxExporterError, RuntimeError)


def test_export_takes_free_dims_of_results_by_name(tmp_path):
    path, model, free = tmp_path / "model.onnx", nn.Linear(3, 2), {"x": {0: "batch"}, "y": {0: "batch"}}
    ingot.onnx.export(model, (r(2, 3),), path, input_names=["x"], output_names=["y"], dynamic_axes=free)
    assert from_onnx(path)(r(7, 3)).shape == (7, 2)
    with pytest.raises(ValueError, match="dynamic= names the input 'z'"):
        ingot.onnx.export(model, (r(2, 3),), path, input_names=["x"], output_names=["y"], dynamic_axes={**free, "z": {0: "n"}})


def test_sizes_that_change_only_after_many_steps():
    """Strided layers make the same of several sizes in a row; what the code does with theirs is no constant either."""
    layer = nn.Sequential(nn.Conv1d(1, 4, 10, 5), nn.ReLU(), nn.Conv1d(4, 4, 4, 2)).eval()

    def frames(x):
        y = layer(x[:, None])
        padded = nn.functional.pad(y, (1, 1))[:, :, :-2]
        return (padded + y).reshape(x.shape[0], -1)

    x = r(2, 400)
    back = from_onnx(to_onnx(frames, x, dynamic={"x": {1: "n"}}))
    for n in (400, 404, 480, 611):
        x = r(2, n)
        assert_alike([back(x).numpy()], [frames(x)], f"at size {n}")


def test_layers_in_whole_numbers():
    ingot.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(3, 20, 3, 2, 1), nn.ReLU(), nn.Conv2d(20, 20, 3, padding=1, groups=20), nn.Conv2d(20, 8, 1),
                        nn.Flatten(), nn.Linear(128, 5)).eval()
    net.qconfig = quantization.get_default_qconfig()
    x = r(4, 3, 8, 8)
    prepared = quantization.prepare(net)
    prepared(x)
    small = quantization.convert(prepared)
    back = from_onnx(to_onnx(small, x, dynamic={"input": {0: "n"}}))
    for n in (4, 1, 7):
        x = r(n, 3, 8, 8)
        np.testing.assert_allclose(back(x).detach().numpy(), small(x).detach().numpy(), rtol=1e-5, atol=1e-5)


def doubled_size(x):
    return x + x.shape[0], x.sum(0) / x.shape[0]


def root_of_size(x):
    return x * float(x.shape[1]) ** -0.5 + (x.shape[0] * 2 - x.shape[1])


def size_alone(x):
    return ingot.tensor([1.0]).expand(x.shape[0]), x.new_full((2,), x.shape[1] * 1.5)


@pytest.mark.parametrize("fn", [doubled_size, root_of_size, size_alone])
def test_sizes_that_a_model_computes_with_are_followed(fn, tmp_path):
    free = {"x": {0: "rows", 1: "columns"}}
    data = to_onnx(fn, ingot.randn(3, 4), dynamic=free)
    model, traced = from_onnx(data), from_onnx(data)
    again = from_onnx(to_onnx(model, ingot.randn(3, 4), dynamic=free))
    saved = ingot.jit.export(model, (ingot.randn(3, 4),), tmp_path / "model.ingot", dynamic=free)
    for shape in ((3, 4), (5, 2), (9, 7), (2, 12), (6, 6)):
        x = ingot.randn(*shape)
        for found in (traced(x), again(x), saved(x)):
            for a, b in zip(found if isinstance(found, tuple) else (found,), _all(fn(x)), strict=True):
                np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-5, atol=1e-6)
    assert len(traced._traced.stats()["misses"]) <= 2


def _all(results):
    return results if isinstance(results, tuple) else (results,)


def test_ties_that_repeated_examples_would_make_refuse_no_model():
    def best(x):
        score, place = x.sum(-1).topk(3, 1)
        return score, place

    ingot.manual_seed(4)
    to_onnx(best, ingot.randn(2, 5, 7), dynamic={"x": {0: "batch", 1: "places"}})
