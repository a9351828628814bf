"""Static quantisation under PyTorch's names: observers, prepare and convert, modules, fusion, whole graphs, errors."""

import copy
import pickle

import numpy as np
import pytest

import ingot
import ingot.ao.nn.intrinsic as nni
import ingot.ao.nn.intrinsic.quantized as nniq
import ingot.ao.nn.quantized as nnq
from ingot import jit, nn
from ingot.ao import quantization as aq
from ingot.ao.quantization import quantize_fx
from ingot.ir.errors import IngotError
from ingot.passes.quantize.int8_weights import Steps, whole_numbers

F = nn.functional


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.quant, self.dequant = aq.QuantStub(), aq.DeQuantStub()
        self.conv, self.bn, self.relu = nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU()
        self.each = nn.Conv2d(16, 16, 3, padding="same", groups=16)
        self.joined, self.head = nnq.FloatFunctional(), nn.Linear(16, 10)

    def forward(self, x):
        x = self.relu(self.bn(self.conv(self.quant(x))))
        x = F.adaptive_avg_pool2d(self.joined.add_relu(x, self.each(x)), 1).flatten(1)
        return self.dequant(self.head(x))


@pytest.fixture
def model_and_inputs():
    ingot.manual_seed(0)
    model = Network().eval()
    model.qconfig = aq.get_default_qconfig()
    return model, [ingot.randn(2, 3, 9, 9) for _ in range(3)]


def observed(model, inputs):
    prepared = aq.prepare(model)
    for x in inputs:
        prepared(x)
    return prepared


def relative(want, got):
    return float((want - got).norm() / want.norm())


def kinds(model):
    return [type(m) for m in model.modules() if isinstance(m, (nnq.Linear, nnq.Conv1d, nnq.Conv2d))]


@pytest.mark.parametrize("fused", [False, True])
def test_prepare_and_convert(model_and_inputs, fused):
    model, inputs = model_and_inputs
    want = [model(x) for x in inputs]
    source = aq.fuse_modules(model, [["conv", "bn", "relu"]]) if fused else model
    done = aq.convert(observed(source, inputs))
    assert kinds(done) == [nniq.ConvReLU2d if fused else nnq.Conv2d, nnq.Conv2d, nnq.Linear]
    assert not kinds(model) and not kinds(source)
    traced = jit.trace(done)
    for y, x in zip(want, inputs):
        assert 0 < relative(y, done(x)) < 0.02 and traced(x).tolist() == done(x).tolist() == traced(x).tolist()


LAYERS = [(nn.Linear(7, 5), (4, 7)), (nn.Linear(8, 3, bias=False), (2, 3, 8)), (nn.Conv2d(3, 6, 3, 2, 1), (2, 3, 7, 8)),
          (nn.Conv2d(8, 8, (3, 2), 1, (1, 0), 2, groups=2, bias=False), (1, 8, 9, 9)),
          (nn.Conv2d(6, 6, 3, groups=6), (1, 6, 5, 5)),
          (nn.Conv1d(4, 5, 3, 2, 1), (2, 4, 11)), (nn.Conv1d(3, 6, 4, padding="same"), (1, 3, 8)),
          (nn.Conv2d(4, 12, 3, padding="valid", groups=4), (1, 4, 6, 6)), (nn.Linear(5, 2), (5,))]


@pytest.mark.parametrize("layer, shape", LAYERS, ids=lambda x: str(x))
def test_a_layer_is_exact_in_its_numbers(layer, shape):
    """For inputs that are bytes, and with the dequantised weight, a layer equals the float one."""
    rng = np.random.default_rng(0)
    steps = Steps(0.05, 17)
    made = getattr(nnq, type(layer).__name__).from_float(layer, steps)
    x = (rng.integers(0, 256, shape) - steps.zero).astype(np.float32) * np.float32(steps.scale)
    whole = whole_numbers(layer.weight.detach().numpy(), None if layer.bias is None else layer.bias.detach().numpy(), steps)
    exact = copy.deepcopy(layer).double()
    with ingot.no_grad():
        scale = (whole.factor.astype(np.float64) / steps.scale).reshape(-1, *[1] * (layer.weight.ndim - 1))
        exact.weight.copy_(ingot.tensor(whole.weight * scale))
        want = exact(ingot.tensor(x.astype(np.float64))).numpy()
        got = made(ingot.tensor(x))
    assert got.dtype is ingot.float32 and got.shape == want.shape
    np.testing.assert_allclose(got.numpy(), want, rtol=2e-5, atol=2e-2 * steps.scale * float(np.abs(scale).max()) * 100)
    again = copy.deepcopy(made)
    again.load_state_dict(made.state_dict())
    for other in (again, pickle.loads(pickle.dumps(made))):
        assert other(ingot.tensor(x)).tolist() == got.tolist()


def test_parts_are_left_out(model_and_inputs):
    model, inputs = model_and_inputs
    model.head.qconfig = None
    assert kinds(aq.convert(observed(model, inputs))) == [nnq.Conv2d, nnq.Conv2d]
    del model.head.qconfig, model.qconfig
    model.head.qconfig = aq.default_qconfig
    assert kinds(aq.convert(observed(model, inputs))) == [nnq.Linear]


def test_in_place_and_shared(model_and_inputs):
    model, _ = model_and_inputs
    twice = nn.Sequential(model.head, nn.ReLU(), nn.Linear(10, 16), model.head)
    twice.qconfig = aq.default_qconfig
    prepared = aq.prepare(twice, inplace=True)
    assert prepared is twice
    prepared(ingot.randn(4, 16))
    done = aq.convert(prepared, inplace=True)
    assert done is twice and done[0] is done[3] and type(done[0]) is nnq.Linear


def test_quantize_runs_its_function(model_and_inputs):
    model, inputs = model_and_inputs
    done = aq.quantize(model, lambda m, xs: [m(x) for x in xs], [inputs])
    assert relative(model(inputs[0]), done(inputs[0])) < 0.02


def test_a_converted_model_in_a_file(model_and_inputs, tmp_path):
    model, inputs = model_and_inputs
    done = aq.convert(observed(model, inputs))
    jit.export(done, inputs[0], tmp_path / "m.ingot", targets=())
    assert jit.load(tmp_path / "m.ingot")(inputs[1]).tolist() == done(inputs[1]).tolist()


# Observers.

OBSERVERS = [aq.MinMaxObserver, aq.HistogramObserver, aq.PercentileObserver, aq.MovingAverageMinMaxObserver]


@pytest.mark.parametrize("kind", OBSERVERS)
def test_observers(kind):
    """Inputs pass through; scale and zero point are those of the range."""
    seen, x = kind.with_args(dtype=ingot.quint8)(), ingot.linspace(-1, 3, 1001)
    assert seen(x) is x
    (scale,), (zero,) = (t.tolist() for t in seen.calculate_qparams())
    assert scale == pytest.approx(4 / 255, rel=0.02) and zero == 64
    assert (float(seen.min_val), float(seen.max_val)) == (-1, 3)


def test_a_moving_average():
    seen = aq.MovingAverageMinMaxObserver(averaging_constant=0.25)
    for low, high in ((-1.0, 1.0), (-5.0, 2.0)):
        seen(ingot.tensor([low, high]))
    assert (float(seen.min_val), float(seen.max_val)) == (-2, 1.25)


def test_scales_of_weights():
    seen = aq.default_weight_observer()
    seen(ingot.tensor([[1.27, -0.3], [0.0, -2.54]]))
    scale, zero = seen.calculate_qparams()
    assert scale.tolist() == pytest.approx([0.01, 0.02]) and zero.tolist() == [0, 0]


# Fusion.


def test_fusing(model_and_inputs):
    model, inputs = model_and_inputs
    fused = aq.fuse_modules(model, ["conv", "bn", "relu"])
    assert [type(m) for m in (fused.conv, fused.bn, fused.relu)] == [nni.ConvReLU2d, nn.Identity, nn.Identity]
    assert relative(model(inputs[0]), fused(inputs[0])) < 1e-5 and type(model.bn) is nn.BatchNorm2d
    pair = nn.Sequential(nn.Linear(3, 4), nn.ReLU())
    assert type(aq.fuse_modules(pair, [["0", "1"]], inplace=True)[1]) is nn.Identity and type(pair[0]) is nni.LinearReLU


# Whole graphs.


@pytest.mark.slow
def test_whole_graphs(model_and_inputs):
    model, inputs = model_and_inputs
    for mapping, layers in ((quantize_fx.get_default_qconfig_mapping(), 3), ({"": aq.default_qconfig}, 3),
                            (quantize_fx.get_default_qconfig_mapping().set_module_name("head", None), 2),
                            (quantize_fx.get_default_qconfig_mapping().set_object_type(nn.Linear, None), 2)):
        prepared = quantize_fx.prepare_fx(model, mapping, (inputs[0],))
        for x in inputs:
            assert prepared(x).tolist() == model(x).tolist()
        done = quantize_fx.convert_fx(prepared)
        assert done.quantized["layers"] == [layers] and relative(model(inputs[1]), done(inputs[1])) < 0.02


# Errors.

REFUSED = {
    "find nothing": (lambda m: aq.prepare(nn.Sequential(nn.ReLU())), "found nothing to quantise"),
    "a layer alone": (lambda m: aq.prepare(nn.Linear(2, 2)), "inside of a module"),
    "nothing seen": (lambda m: aq.convert(aq.prepare(m)), "has seen no input"),
    "not prepared": (aq.convert, "that prepare or prepare_qat has made"),
    "another observer": (lambda m: aq.prepare(with_config(m, aq.QConfig(aq.default_weight_observer))), "no steps for bytes"),
    "another dtype": (lambda m: aq.MinMaxObserver(dtype=ingot.float32), "quint8"),
    "another scheme": (lambda m: aq.MinMaxObserver(qscheme=ingot.per_channel_affine), "per_tensor_affine"),
    "steps without zero": (lambda m: aq.MinMaxObserver(quant_min=1, quant_max=7), "0 is a part of"),
    "steps that the dtype has not": (lambda m: aq.MinMaxObserver(dtype=ingot.qint8, quant_min=0, quant_max=255), "qint8"),
    "other settings": (lambda m: aq.HistogramObserver(bins=7), "bins"),
    "another class": (lambda m: nnq.Linear.from_float(m.conv, Steps(1.0, 0)), "takes nn.Linear"),
    "double": (lambda m: nnq.Linear.from_float(copy.deepcopy(m.head).double(), Steps(1.0, 0)), "float32"),
    "nan": (lambda m: nnq.Linear.from_float(broken(m.head), Steps(1.0, 0)), "infinities or nan"),
    "too deep": (lambda m: nnq.Linear.from_float(nn.Linear(1 << 16, 1), Steps(1.0, 0)), "at most 32768"),
    "padding": (lambda m: nnq.Conv2d.from_float(nn.Conv2d(1, 1, 3, 1, 1, padding_mode="circular"), Steps(1.0, 0)), "zeros"),
    "an input of double": (lambda m: nnq.Linear.from_float(m.head, Steps(1.0, 0))(ingot.ones(1, 16).double()), "float32"),
    "an image without batch": (lambda m: nnq.Conv2d.from_float(m.conv, Steps(1.0, 0))(ingot.ones(3, 9, 9)), r"\(N, C, H, W\)"),
    "fusing what does not follow": (lambda m: aq.fuse_modules(m, [["bn", "relu"]]), "cannot fuse bn"),
    "a graph of nothing": (lambda m: quantize_fx.convert_fx(quantize_fx.prepare_fx(m, {"": aq.default_qconfig})), "no input"),
    "a graph not prepared": (quantize_fx.convert_fx, "prepare_fx gave"),
    "a mapping without": (lambda m: quantize_fx.prepare_fx(m, quantize_fx.QConfigMapping()), "set_global"),
    "two ways": (lambda m: quantize_fx.prepare_fx(m, quantize_fx.get_default_qconfig_mapping().set_module_name(
        "head", aq.default_qconfig)), "in one way"),
}


def with_config(model, config):
    model.qconfig = config
    return model


def broken(layer):
    layer = copy.deepcopy(layer)
    with ingot.no_grad():
        layer.weight[0, 0] = float("nan")
    return layer


@pytest.mark.parametrize("name", REFUSED)
def test_unsupported_arguments_are_refused(model_and_inputs, name):
    call, words = REFUSED[name]
    with pytest.raises(IngotError, match=words):
        call(model_and_inputs[0])


def test_even_windows_pad_like_float_layers():
    """`padding="same"` of even windows adds one more at the end, as in the float layer."""
    x, layer = ingot.randn(1, 4, 6, 7), nn.Conv2d(4, 4, (2, 4), padding="same")
    made = nnq.Conv2d.from_float(layer, Steps(0.03, 128))
    assert relative(layer(x), made(x)) < 0.05
