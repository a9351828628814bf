"""Models in whole numbers from calibration: results, files, sizes that change, threads, ranges, what is refused."""

import numpy as np
import pytest

import ingot
from graph_interpreter import interpret
from ingot import jit, nn
from ingot.ir.errors import IngotError
from ingot.ir.ops.quantized.int8_conv import conv_int8, depthwise_int8
from ingot.jit.exporting.capture import size_variants, static_quantization
from ingot.runtime.quantization.calibration_ranges import RANGES

F = nn.functional


class Residual(nn.Module):
    """A residual block of convolutions."""

    def __init__(self, act=F.relu):
        super().__init__()
        self.act, self.stem, self.norm = act, nn.Conv2d(3, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16)
        self.body = nn.Sequential(nn.Conv2d(16, 24, 1), nn.ReLU6(), nn.Conv2d(24, 24, 3, 1, 1, groups=24), nn.ReLU6(),
                                  nn.Conv2d(24, 16, 1))
        self.head = nn.Linear(16, 10)

    def forward(self, x):
        x = F.max_pool2d(self.act(self.norm(self.stem(x))), 3, 2, 1)
        x = self.act(self.body(x) + x)
        return self.head(F.adaptive_avg_pool2d(x, 1).flatten(1))


def trained(model, *shape):
    """A model whose statistics are those of its inputs."""
    model.train()
    with ingot.no_grad():
        for _ in range(3):
            model(ingot.randn(*shape))
    return model.eval()


def residual(act=F.relu):
    ingot.manual_seed(0)
    return trained(Residual(act), 4, 3, 12, 12), [ingot.randn(2, 3, 12, 12) for _ in range(4)]


def rows():
    ingot.manual_seed(1)
    model = nn.Sequential(nn.Linear(20, 33), nn.GELU(), nn.LayerNorm(33), nn.Linear(33, 7)).eval()
    return model, [ingot.randn(2, 5, 20) for _ in range(4)]


def encoder():
    ingot.manual_seed(2)
    return nn.TransformerEncoderLayer(16, 2, 32, batch_first=True).eval(), [ingot.randn(2, 5, 16) for _ in range(4)]


def sound():
    ingot.manual_seed(3)
    model = nn.Sequential(nn.Conv1d(3, 16, 5, 2, 2), nn.BatchNorm1d(16), nn.ReLU(), nn.Conv1d(16, 8, 3), nn.SiLU(),
                          nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(8, 3))
    return trained(model, 4, 3, 40), [ingot.randn(2, 3, 40) for _ in range(4)]


MODELS = {"residual": (residual, 5), "silu": (lambda: residual(F.silu), 5), "rows": (rows, 2), "encoder": (encoder, 6),
          "sound": (sound, 3)}


def relative(want, got):
    return float((want - got).norm() / want.norm())


@pytest.mark.parametrize("name", MODELS)
def test_graphs_run_as_their_reference(name):
    """Sums are whole, so what eager kernels give of a quantised graph is what its references give; both are near the floats."""
    make, layers = MODELS[name]
    model, inputs = make()
    made = size_variants.record(model, (inputs[0],))
    done = static_quantization.quantized(made, model, static_quantization.calibration_of(inputs))
    assert done.layers == [layers] == [sum(n.op in (conv_int8, depthwise_int8) for n in done.graphs[0].nodes)]
    want = made.examples[0].results[0].copy()
    errors = static_quantization.expect_quantized(made, done)
    got, = interpret(done.graphs[0], [inputs[0].numpy(), *done.weights[0].values()]).outputs
    assert static_quantization.distance(made.examples[0].results[0], got) < 1e-3
    assert 0 < errors[0] == static_quantization.distance(want, made.examples[0].results[0]) < 0.05


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_models(name, threads):
    make, layers = MODELS[name]
    model, inputs = make()
    made = jit.quantize(model, inputs)
    assert made.quantized["layers"] == [layers]
    for x in inputs:
        want = model(x)
        threads(1)
        got = made(x)
        threads(3)
        assert relative(want, got) < 0.05 and np.array_equal(got.numpy(), made(x).numpy())


@pytest.mark.slow
def test_a_file(tmp_path):
    """Sizes may change; the weights are bytes; a second process runs it; the float model comes from the same code."""
    model, inputs = residual()
    sizes = {"x": {0: "batch"}}
    made = jit.export(model, inputs[0], tmp_path / "m.ingot", dynamic=sizes, quantize=jit.Calibration(inputs, "mse"))
    assert made.quantized["method"] == "mse" and made.quantized["errors"]["output"] < 0.05
    again = jit.load(tmp_path / "m.ingot")
    assert again.quantized == made.quantized
    for batch in (1, 2, 5):
        x = ingot.randn(batch, 3, 12, 12)
        assert again(x).tolist() == made(x).tolist() and relative(model(x), again(x)) < 0.05
    kinds = {t.dtype for t in again.weights.values()}
    assert kinds == {ingot.int8, ingot.int32, ingot.float32}
    plain = jit.export(model, inputs[0], tmp_path / "f.ingot", dynamic=sizes, targets=())
    assert plain.quantized is None and relative(model(inputs[1]), plain(inputs[1])) < 1e-5


def test_layers_by_name():
    model, inputs = residual()
    made = size_variants.record(model, (inputs[0],))
    counts = {}
    for keep in ((), ("stem",), "head", ("body", "head.weight")):
        calibration = static_quantization.calibration_of(jit.Calibration(inputs, keep=keep))
        counts[str(keep)] = static_quantization.quantized(made, model, calibration).layers[0]
    assert list(counts.values()) == [5, 4, 4, 1]


def test_weights_keep_their_names():
    model, inputs = residual()
    made = size_variants.record(model, (inputs[0],))
    done = static_quantization.quantized(made, model, static_quantization.calibration_of(inputs))
    assert {name.rsplit(".", 1)[0] for name in done.weights[0]} == {
        "stem.weight", "body.0.weight", "body.2.weight", "body.4.weight", "head.weight"}


# Ranges.


@pytest.mark.parametrize("method", RANGES)
def test_ranges_of_batches(method):
    """In any order, in one array or in several."""
    rng = np.random.default_rng(0)
    parts = [rng.standard_normal((50, 40)).astype(np.float32) * n for n in (1, 4, 2)]
    found = []
    for given in (parts, parts[::-1], [np.concatenate(parts)]):
        seen = RANGES[method]()
        for a in given:
            seen.add(a)
        found.append(seen.range())
    low, high = found[-1]
    whole = np.concatenate(parts)
    assert whole.min() <= low < 0 < high <= whole.max()
    np.testing.assert_allclose(found, [found[-1]] * 3, rtol=0.05)
    assert method != "minmax" or found == [(whole.min(), whole.max())] * 3


def test_an_outlier():
    """One far number among many takes everything in, or is cut off."""
    a = np.linspace(-1, 1, 1_000_000, dtype=np.float32)
    a[7] = 1000
    found = {}
    for method, kind in RANGES.items():
        seen = kind()
        seen.add(a)
        found[method] = seen.range()
    assert found["minmax"] == (-1, 1000) and found["percentile"][1] < 2 and found["mse"][1] > 100


@pytest.mark.parametrize("numbers", [[], [0.0], [np.nan, np.inf], [np.nan, 2.0, -1.0], [3.0, 3.0]])
@pytest.mark.parametrize("method", RANGES)
def test_odd_numbers(method, numbers):
    seen = RANGES[method]()
    seen.add(np.array(numbers, np.float32))
    low, high = seen.range()
    finite = [n for n in numbers if np.isfinite(n)]
    assert min([0, *finite]) <= low <= 0 <= high <= max([0, *finite])


def test_the_range_of_least_error():
    """Against ranges around it, by quantising."""
    a = np.random.default_rng(1).uniform(-1, 1, 500_000).astype(np.float32)
    a[7] = 4
    seen = RANGES["mse"]()
    seen.add(a)

    def error(low, high):
        step = (high - low) / 255
        return ((np.round(np.clip(a, low, high) / step) * step - a) ** 2).mean()

    low, high = seen.range()
    best = min(error(low * s, high * t) for s in (0.9, 1, 1.1) for t in (0.5, 0.9, 1, 1.1, 2))
    assert error(low, high) < 1.05 * best and error(low, high) < 0.8 * error(a.min(), a.max())


# Refused models and options.


class Volumes(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv3d(2, 3, 2)

    def forward(self, x):
        return self.conv(x)


@pytest.mark.parametrize("calibration, words", [
    ([], "no calibration inputs|got none"), (3, "takes a list of inputs"), ({"x": 1}, "takes a list of inputs"),
    (jit.Calibration([ingot.ones(2, 5, 20)], "best"), "one of 'minmax', 'percentile', 'mse', got 'best'"),
    (jit.Calibration([ingot.ones(2, 5, 20)], keep=("nothing",)), "keep= names 'nothing'"),
    ([ingot.ones(2, 5, 20), ingot.ones(3, 5, 20)], "say with dynamic="),
    ([ingot.ones(2, 5, 20).double()], r"is float64\[2, 5, 20\], the model takes float32\[2, 5, 20\]"),
    ([(ingot.ones(2, 5, 20), ingot.ones(2))], "does not fit")])
def test_wrong_calibrations_are_refused(calibration, words, tmp_path):
    model, inputs = rows()
    with pytest.raises(IngotError, match=words):
        jit.export(model, inputs[0], tmp_path / "m.ingot", quantize=calibration)


def test_a_model_without_layers():
    with pytest.raises(jit.ExportError, match="no layer to quantise"):
        jit.quantize(Volumes().eval(), [ingot.randn(1, 2, 4, 4, 4)])


def test_options_that_exclude_quantization(tmp_path):
    model, inputs = rows()
    with pytest.raises(IngotError, match="CPUs alone"):
        jit.export(model, inputs[0], tmp_path / "m.ingot", targets=("native", "sm_90"), quantize=inputs)
    with pytest.raises(IngotError, match="frozen"):
        jit.export(model, inputs[0], tmp_path / "m.ingot", freeze=False, quantize=inputs)


@pytest.mark.slow
def test_a_c_library(tmp_path):
    model, inputs = residual()
    made = jit.quantize(model, inputs)
    assert jit.to_c(made, inputs[0], tmp_path / "model")
