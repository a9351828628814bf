"""Quantisation-aware training: fake quantisation against its definition, layers, whole steps eager and traced, results of
`convert`, choice of modules, errors."""

import copy
import io
import pickle

import numpy as np
import pytest

import ingot
import ingot.ao.nn.intrinsic as nni
import ingot.ao.nn.intrinsic.qat as nniqat
import ingot.ao.nn.intrinsic.quantized as nniq
import ingot.ao.nn.qat as nnqat
import ingot.ao.nn.quantized as nnq
from ingot import jit, nn
from ingot.ao import quantization as aq
from ingot.ao.quantization import quantize_fx
from ingot.ir.errors import IngotError

F = nn.functional
EPS = np.float32(2.0 ** -23)


def normal(*shape, scale=1.0, shift=0.0, seed=0):
    return (np.random.default_rng(seed).standard_normal(shape) * scale + shift).astype(np.float32)


# Ranges and steps in NumPy.


def steps(low, high, least, most, scheme):
    low, high, one = np.minimum(low, 0), np.maximum(high, 0), np.float32
    if "symmetric" in scheme:
        return np.maximum(np.maximum(-low, high) / one((most - least) / 2), EPS), np.zeros(np.shape(low))
    scale = np.maximum((high - low) / one(most - least), EPS)
    return scale, np.clip(least - np.rint(low / scale), least, most)


def rounded(x, scale, zero, least, most):
    """Return the rounded values, and where the gradient passes."""
    step = np.rint(x * (np.float32(1) / scale)) + zero
    return ((np.clip(step, least, most) - zero) * scale).astype(np.float32), (step >= least) & (step <= most)


def ends(x, axis):
    dims = tuple(d for d in range(x.ndim) if axis is None or d != axis % x.ndim)
    return x.min(dims), x.max(dims)


CHANNEL = {"qscheme": ingot.per_channel_affine, "dtype": ingot.quint8}
OBSERVERS = {
    "extremes": (aq.MinMaxObserver, {}),
    "few steps": (aq.MinMaxObserver, {"quant_min": 0, "quant_max": 15}),
    "fewer by a bit": (aq.MinMaxObserver, {"reduce_range": True}),
    "signed": (aq.MinMaxObserver, {"dtype": ingot.qint8}),
    "symmetric": (aq.MinMaxObserver, {"dtype": ingot.qint8, "qscheme": ingot.per_tensor_symmetric}),
    "moving": (aq.MovingAverageMinMaxObserver, {"averaging_constant": 0.25}),
    "channels": (aq.PerChannelMinMaxObserver, CHANNEL),
    "moving channels": (aq.MovingAveragePerChannelMinMaxObserver, {**CHANNEL, "averaging_constant": 0.5, "ch_axis": 1}),
    "symmetric channels": (aq.MovingAveragePerChannelMinMaxObserver, {"averaging_constant": 1.0}),
}
DATA = [normal(4, 5, 3), normal(4, 5, 3, scale=3, shift=1, seed=1), normal(4, 5, 3, shift=-7, seed=2)]


@pytest.mark.parametrize("name", OBSERVERS)
def test_results_match_the_definition(name):
    kind, settings = OBSERVERS[name]
    fake = aq.FakeQuantize(observer=kind, **settings)
    seen, traced = fake.activation_post_process, copy.deepcopy(fake)
    call = jit.trace(lambda x: traced(x))
    axis = fake.ch_axis if fake.is_per_channel else None
    share, low, high = settings.get("averaging_constant"), None, None
    for x in DATA:
        found = ends(x, axis)
        if low is None:
            low, high = found
        elif share is None:
            low, high = np.minimum(low, found[0]), np.maximum(high, found[1])
        else:
            low, high = low + (found[0] - low) * np.float32(share), high + (found[1] - high) * np.float32(share)
        scale, zero = steps(low, high, fake.quant_min, fake.quant_max, fake.qscheme)
        over = [-1 if d == (axis or 0) % 3 else 1 for d in range(3)] if axis is not None else []
        want, through = rounded(x, scale.reshape(over), zero.reshape(over), fake.quant_min, fake.quant_max)
        given = ingot.tensor(x, requires_grad=True)
        got = fake(given)
        got.sum().backward()
        np.testing.assert_allclose(got.detach().numpy(), want, rtol=1e-6, atol=1e-6)
        assert (given.grad.numpy() == through).all()
        for ours, theirs in zip((*seen.calculate_qparams(), seen.min_val, seen.max_val), (scale, zero, low, high)):
            np.testing.assert_allclose(ours.numpy().reshape(theirs.shape), theirs, rtol=1e-6)
        assert call(ingot.tensor(x)).tolist() == got.tolist()
    assert {k: v.tolist() for k, v in traced.state_dict().items()} == {k: v.tolist() for k, v in fake.state_dict().items()}


@pytest.mark.parametrize("rows", [False, True])
def test_symmetric_steps_of_the_joint_operation_reach_both_ends(rows):
    """-128 is the lower end of the range or 127 the upper one, whichever reaches further."""
    x = ingot.tensor([[-1.28, 0.5, 1.0], [0.3, -0.2, 2.54]], requires_grad=True)
    count = 2 if rows else 1
    low, high = ingot.full((count,), float("inf")), ingot.full((count,), -float("inf"))
    scale, zero, on = ingot.ones(count), ingot.zeros(count, dtype=ingot.int32), ingot.tensor([1])
    y = ingot.fused_moving_avg_obs_fake_quant(x, on, on, low, high, scale, zero, 0.01, -128, 127, 0, rows, True)
    np.testing.assert_allclose(scale.numpy(), [0.01, 0.02] if rows else [0.02], rtol=1e-6)
    y.sum().backward()
    assert x.grad.tolist() == [[1.0] * 3] * 2 and (y - x).abs().max() <= 0.5 * scale.max()
    fake = (aq.default_fused_per_channel_wt_fake_quant if rows else aq.default_fused_wt_fake_quant)()
    assert fake(x).tolist() == y.tolist() and fake.scale.tolist() == scale.tolist()


@pytest.mark.parametrize("most, zero", [(255, 128), (127, 64), (126, 63), (15, 8)])
def test_zero_point_of_symmetric_steps_without_signs(most, zero):
    """PyTorch rounds the middle of the steps to the nearest number, to the even one of two."""
    fake = aq.FusedMovingAvgObsFakeQuantize(quant_min=0, quant_max=most, dtype=ingot.quint8, qscheme=ingot.per_tensor_symmetric)
    fake(ingot.tensor([-1.5, 0.3, 1.25]))
    assert fake.zero_point.tolist() == [zero]


def test_switches_cost_no_recording():
    """All four combinations work in a trace that has seen one of them."""
    eager = aq.default_fake_quant()
    traced = copy.deepcopy(eager)
    call = jit.trace(lambda x: traced(x))
    for i, (observe, rounds) in enumerate([(1, 1), (0, 1), (1, 0), (0, 0), (1, 1)]):
        for fake in (eager, traced):
            fake.enable_observer(bool(observe))
            fake.enable_fake_quant(bool(rounds))
        x = ingot.tensor(normal(5, 4, scale=i + 1.0, seed=i))
        before = eager.scale.tolist()
        want = eager(x)
        assert (want.tolist() == x.tolist()) == (not rounds) and (eager.scale.tolist() == before) == (not observe)
        assert call(x).tolist() == want.tolist() and traced.scale.tolist() == eager.scale.tolist()
    assert call.stats()["compiles"] == 1


def test_fixed_steps_and_observers_without_ranges():
    fake = aq.default_fixed_qparams_range_0to1_fake_quant()
    x = ingot.tensor([0.0, 0.3, 1.0, 2.0])
    assert fake(x).tolist() == [0.0, 77 / 256, 255 / 256, 255 / 256] and fake.scale.tolist() == [1 / 256]
    for kind in (aq.NoopObserver, aq.PlaceholderObserver, aq.ReuseInputObserver, aq.RecordingObserver):
        assert kind()(x) is x
        with pytest.raises(IngotError):
            kind().calculate_qparams()
    recorder = aq.RecordingObserver()
    recorder(x)
    assert recorder.get_tensor_value()[0].tolist() == x.tolist()


def test_factories():
    numbers = iter(range(9))
    factory = aq.FakeQuantize.with_args(quant_min=0, quant_max=15)
    factory = factory.with_callable_args(averaging_constant=lambda: next(numbers))
    made = [factory() for _ in range(2)] + [factory(averaging_constant=7)]
    assert [m.activation_post_process.averaging_constant for m in made] == [0, 1, 7] and made[0].quant_max == 15
    assert aq.qconfig_equals(aq.get_default_qat_qconfig(), aq.get_default_qat_qconfig("fbgemm"))
    assert not aq.qconfig_equals(aq.get_default_qat_qconfig(), aq.default_qat_qconfig)
    assert not aq.qconfig_equals(None, aq.default_qat_qconfig)


# Layers.

WEIGHTS = {"one scale": aq.default_weight_fake_quant, "channels": aq.default_fused_per_channel_wt_fake_quant}
LAYERS = {
    "linear": (nnqat.Linear, (6, 5), {}, (7, 6)), "without bias": (nnqat.Linear, (6, 5), {"bias": False}, (2, 3, 6)),
    "1d": (nnqat.Conv1d, (4, 6, 3), {"padding": 1, "padding_mode": "circular"}, (2, 4, 7)),
    "2d": (nnqat.Conv2d, (4, 6, 3), {"stride": 2, "groups": 2}, (2, 4, 7, 7)),
    "3d": (nnqat.Conv3d, (2, 3, 2), {}, (1, 2, 4, 4, 4)),
    "linear, relu": (nniqat.LinearReLU, (6, 5), {}, (7, 6)), "2d, relu": (nniqat.ConvReLU2d, (3, 4, 3), {}, (2, 3, 5, 5)),
    "linear, norm": (nniqat.LinearBn1d, (6, 5), {}, (7, 6)), "1d, norm": (nniqat.ConvBn1d, (3, 4, 3), {}, (3, 3, 6)),
    "2d, norm": (nniqat.ConvBn2d, (3, 4, 3), {"bias": True}, (3, 3, 6, 6)),
    "2d, norm, relu": (nniqat.ConvBnReLU2d, (3, 4, 3), {"padding": "same"}, (3, 3, 6, 6)),
    "3d, norm, relu": (nniqat.ConvBnReLU3d, (2, 3, 2), {}, (2, 2, 3, 3, 3)),
}


def layer(name, weight="channels"):
    kind, sizes, options, shape = LAYERS[name]
    ingot.manual_seed(0)
    return kind(*sizes, **options, qconfig=aq.QConfig(aq.default_fake_quant, WEIGHTS[weight])), ingot.tensor(normal(*shape))


def plain(layer, x, weight):
    """Return the result of a layer without batch norm for a weight."""
    if isinstance(layer, nn.Linear):
        return F.linear(x, weight, layer.bias)
    return layer._conv_forward(x, weight, layer.bias)


@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_is_the_float_one_with_rounded_weights(name, weight):
    made, x = layer(name, weight)
    fake = copy.deepcopy(made.weight_fake_quant)
    relu = "relu" in name
    if hasattr(made, "bn"):
        made.bn.running_var.copy_(ingot.rand(made.bn.num_features) + 0.5)
        norm = copy.deepcopy(made.bn)
        factor = norm.weight / (norm.running_var + norm.eps).sqrt()
        over = (-1, *(1,) * (made.weight.ndim - 1))
        want = norm(plain(made, x, fake(made.weight * factor.reshape(over)) / factor.reshape(over)))
    else:
        want = plain(made, x, fake(made.weight))
    want = F.relu(want) if relu else want
    got = made(x)
    np.testing.assert_allclose(got.detach().numpy(), want.detach().numpy(), rtol=1e-4, atol=1e-5)
    if hasattr(made, "bn"):
        np.testing.assert_allclose(made.bn.running_mean.numpy(), norm.running_mean.numpy(), rtol=1e-4, atol=1e-5)
    (got * got).sum().backward()
    assert all(p.grad is not None and bool(p.grad.isfinite().all()) for p in made.parameters())
    made.eval()
    weight, bias = made.folded()        # the layer of evaluation mode, with its batch norm
    bare = copy.deepcopy(made)
    bare.bias = None if bias is None else nn.Parameter(bias)
    want = plain(bare, x, weight)
    want = F.relu(want) if relu else want
    np.testing.assert_allclose(made(x).detach().numpy(), want.detach().numpy(), rtol=1e-5, atol=1e-6)
    made.weight_fake_quant.disable_fake_quant()
    np.testing.assert_allclose(made.to_float().eval()(x).detach().numpy(), made(x).detach().numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", LAYERS)
def test_layers_are_saved_and_copied(name):
    made, x = layer(name)
    made(x)
    made.eval()
    want = made(x).tolist()
    fresh = layer(name)[0]
    fresh.load_state_dict(made.state_dict())
    file = io.BytesIO()
    ingot.save(made.state_dict(), file)
    file.seek(0)
    read = layer(name)[0]
    read.load_state_dict(ingot.load(file))
    for other in (fresh, read, copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert other.eval()(x).tolist() == want
    assert made.to(ingot.float64).to(ingot.float32)(x).tolist() == want


def test_channel_states_load_into_fresh_observers():
    made, fresh = (aq.default_fused_per_channel_wt_fake_quant() for _ in range(2))
    made(ingot.tensor(normal(6, 4)))
    assert fresh.scale.shape == (1,) and made.scale.shape == (6,)
    fresh.load_state_dict(made.state_dict())
    assert fresh.scale.tolist() == made.scale.tolist()


def test_norms_that_begin_at_zero_learn():
    """Networks start residual branches with batch norms of weight 0: no nan, and the weight gets a gradient."""
    made, x = layer("2d, norm")
    nn.init.zeros_(made.bn.weight)
    y = made(x)
    assert float(y.abs().max()) == 0
    (y * ingot.tensor(normal(*y.shape))).sum().backward()
    assert float(made.bn.weight.grad.abs().min()) > 0 and float(made.bn.running_var.min()) > 0.9
    assert float(made.eval()(x).abs().max()) == 0


def test_statistics_are_frozen():
    net = nn.Sequential(layer("2d, norm")[0])
    x = ingot.tensor(normal(3, 3, 6, 6))
    net.apply(nniqat.freeze_bn_stats)
    before = net[0].bn.running_mean.tolist()
    frozen = net(x)
    net.train()
    assert net[0].bn.running_mean.tolist() == before and not net[0].bn.training and frozen.tolist() == net(x).tolist()
    net.apply(nniqat.update_bn_stats)
    net(x)
    assert net[0].bn.running_mean.tolist() != before


# Whole networks.


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.quant, self.dequant = aq.QuantStub(), aq.DeQuantStub()
        self.stem, self.bn, self.relu = nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU()
        self.conv, self.bn2, self.joined = nn.Conv2d(8, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nnq.FloatFunctional()
        self.pool, self.head = nn.MaxPool2d(2), nn.Linear(128, 10)

    def forward(self, x):
        x = self.relu(self.bn(self.stem(self.quant(x))))
        x = self.pool(self.joined.add_relu(x, self.bn2(self.conv(x))))
        return self.dequant(self.head(x.flatten(1)))


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.into, self.out = nn.Embedding(11, 16), nn.Linear(16, 48), nn.Linear(16, 16)
        self.norm, self.mlp = nn.LayerNorm(16), nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 16))
        self.head = nn.Linear(16, 10)

    def forward(self, x):
        h = self.tokens(x)
        q, k, v = self.into(self.norm(h)).unflatten(-1, (3, 2, 8)).movedim(-2, 1).unbind(-2)
        h = h + self.out(F.scaled_dot_product_attention(q, k, v).movedim(1, -2).flatten(-2))
        return self.head((h + self.mlp(h)).mean(1))


def images(count=6, seed=0):
    return ingot.tensor(normal(count, 1, 8, 8, seed=seed))


def tokens(count=6, seed=0):
    return ingot.tensor(np.random.default_rng(seed).integers(0, 11, (count, 7)))


def residual(config):
    ingot.manual_seed(0)
    net = Residual().train()
    net.qconfig = config
    return aq.prepare_qat(aq.fuse_modules_qat(net, [["stem", "bn", "relu"], ["conv", "bn2"]]))


def encoder(config):
    ingot.manual_seed(0)
    net = Encoder().train()
    net.qconfig, net.tokens.qconfig = config, aq.default_embedding_qat_qconfig
    return aq.prepare_qat(net, mapping=aq.get_embedding_qat_module_mappings())


def four_bits():
    weight = aq.FakeQuantize.with_args(observer=aq.MovingAveragePerChannelMinMaxObserver, quant_min=-8, quant_max=7,
                                       dtype=ingot.qint8, qscheme=ingot.per_channel_symmetric, averaging_constant=1.0)
    return aq.QConfig(aq.FakeQuantize.with_args(quant_min=0, quant_max=15), weight)


CONFIGS = {"fused": aq.get_default_qat_qconfig, "two parts": lambda: aq.get_default_qat_qconfig("fbgemm", 0),
           "one scale": lambda: aq.get_default_qat_qconfig("qnnpack"), "four bits": four_bits,
           "signed": lambda: aq.default_per_channel_symmetric_qnnpack_qat_qconfig}
NETWORKS = {"residual": (residual, images), "encoder": (encoder, tokens)}


def stepping(net):
    opt = ingot.optim.SGD(net.parameters(), lr=0.02, momentum=0.9)

    def step(x, y):
        opt.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        opt.step()
        return loss

    return step


def trained(net, data, count=4):
    step = stepping(net)
    for i in range(count):
        step(data(seed=i), ingot.arange(6))
    return net


@pytest.mark.parametrize("low", [False, True])
@pytest.mark.parametrize("name", NETWORKS)
def test_a_step_is_one_graph_with_eager_bits(name, low):
    make, data = NETWORKS[name]
    eager, traced = (make(aq.get_default_qat_qconfig()) for _ in range(2))
    steps_ = [stepping(eager), jit.trace(stepping(traced))]
    for i in range(5):
        with ingot.autocast("cpu", dtype=ingot.bfloat16, enabled=low):
            a, b = (step(data(seed=i), ingot.arange(6)) for step in steps_)
        np.testing.assert_allclose(a.item(), b.item(), rtol=1e-5)
        if i == 2:
            for net in (eager, traced):
                net.apply(aq.disable_observer)
    assert steps_[1].stats()["graphs"] == 1
    for key, value in eager.state_dict().items():
        np.testing.assert_allclose(traced.state_dict()[key].numpy(), value.numpy(), rtol=1e-3, atol=1e-5, err_msg=key)


@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize("name", NETWORKS)
def test_int8_layers_match_trained_layers(name, config, tmp_path):
    """Each converted layer agrees with the trained one, also beyond its observed inputs, but for half a unit of its sums,
    to which biases are rounded."""
    make, data = NETWORKS[name]
    net = trained(make(CONFIGS[config]()), data).eval()
    net.apply(aq.disable_observer)
    made, x = aq.convert(net), data(seed=9)
    met: dict = {}
    for path, m in net.named_modules():
        if hasattr(m, "weight_fake_quant"):
            m.register_forward_hook(lambda m, args, out, path=path: met.update({path: (args[0], out)}))
    net(x)
    assert len(met) == len(list(made.modules())) - len([m for m in made.modules() if not hasattr(m, "_float_module")])
    for path, (given, _) in met.items():
        for times in (1, 1 if given.dtype is ingot.int64 else 3):
            want, got = net.get_submodule(path)(given * times).detach(), made.get_submodule(path)(given * times)
            unit = float(getattr(made.get_submodule(path), "factor", ingot.zeros(1)).max())
            np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-5, atol=0.5 * unit + 1e-5, err_msg=path)
    got = made(x)
    assert float((got - net(x)).norm() / got.norm()) < 0.02 and jit.trace(made)(x).tolist() == got.tolist()
    jit.export(made, x, tmp_path / "m.ingot", targets=())
    assert jit.load(tmp_path / "m.ingot")(x).tolist() == got.tolist()


def test_converted_layers():
    net = trained(residual(aq.get_default_qat_qconfig()), images)
    assert [type(m) for m in (net.stem, net.conv, net.head)] == [nniqat.ConvBnReLU2d, nniqat.ConvBn2d, nnqat.Linear]
    made = aq.convert(net)
    assert [type(m) for m in (made.stem, made.conv, made.head)] == [nniq.ConvReLU2d, nnq.Conv2d, nnq.Linear]
    assert type(net.stem) is nniqat.ConvBnReLU2d and aq.convert(net, inplace=True) is net and type(net.stem) is nniq.ConvReLU2d
    again = pickle.loads(pickle.dumps(made))
    again.load_state_dict(made.state_dict())
    assert again(images()).tolist() == made(images()).tolist()


def test_layers_without_whole_numbers_keep_their_scales():
    net = nn.Sequential(nn.Conv3d(1, 2, 2), nn.Flatten(), nn.Linear(16, 3)).train()
    net.qconfig = aq.get_default_qat_qconfig()
    net = aq.prepare_qat(net)
    x = ingot.tensor(normal(2, 1, 3, 3, 3))
    net(x)
    made = aq.convert(net)
    want = made(x)
    made(x * 100)
    assert type(made[0]) is nnqat.Conv3d and type(made[2]) is nnq.Linear and made(x).tolist() == want.tolist()


def test_layers_are_called_by_keyword_and_keep_their_hooks():
    class Named(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 4)

        def forward(self, x):
            return self.layer(input=x)

    seen: list = []
    net = Named().train()
    net.layer.register_forward_pre_hook(lambda m, args, kwargs: seen.append(sorted(kwargs)), with_kwargs=True)
    net.qconfig = aq.get_default_qat_qconfig()
    net = aq.prepare_qat(net)
    x = ingot.tensor(normal(3, 4))
    want = net(x)
    np.testing.assert_allclose(aq.convert(net)(x).numpy(), want.detach().numpy(), atol=1e-4)    # a bias is rounded
    assert seen == [["input"]] * 2


def test_parameters_stay_the_models():
    """An optimizer made before `prepare_qat(inplace=True)` trains the prepared model."""
    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)).train()
    before = [id(p) for p in net.parameters()]
    net.qconfig = aq.default_qat_qconfig
    assert [id(p) for p in aq.prepare_qat(net, inplace=True).parameters()] == before


def test_a_model_in_a_file_keeps_no_state(tmp_path):
    net = trained(residual(aq.get_default_qat_qconfig()), images).eval()
    with pytest.raises(IngotError, match="disable_observer"):
        jit.export(net, images(), tmp_path / "m.ingot", targets=())
    net.apply(aq.disable_observer)
    jit.export(net, images(), tmp_path / "m.ingot", targets=())
    np.testing.assert_allclose(jit.load(tmp_path / "m.ingot")(images()).numpy(), net(images()).detach().numpy(), atol=1e-4)


@pytest.mark.slow
def test_digits_are_learned(request):
    """Handwritten digits: int8 accuracy equals float accuracy."""
    with np.load(request.config.rootpath / "examples" / "data" / "digits.npz") as data:
        x, y = (data["images"].reshape(-1, 1, 8, 8) / 16).astype(np.float32), data["labels"].astype(np.int64)
    ingot.manual_seed(0)
    floats, low = Residual().train(), residual(aq.get_default_qat_qconfig())
    right = {}
    for name, net in (("floats", floats), ("low", low)):
        opt = ingot.optim.Adam(net.parameters(), lr=3e-3)

        @jit.trace
        def step(x, y, net=net, opt=opt):
            opt.zero_grad()
            loss = F.cross_entropy(net(x), y)
            loss.backward()
            opt.step()

        rng = np.random.default_rng(0)
        for _ in range(300):
            batch = rng.integers(0, 1400, 64)
            step(ingot.tensor(x[batch]), ingot.tensor(y[batch]))
        right[name] = float((net.eval()(ingot.tensor(x[1400:])).argmax(1) == ingot.tensor(y[1400:])).float().mean())
    bytes_ = aq.convert(low)(ingot.tensor(x[1400:]))
    right["bytes"] = float((bytes_.argmax(1) == ingot.tensor(y[1400:])).float().mean())
    assert min(right.values()) > 0.93 and right["low"] > right["floats"] - 0.02 and abs(right["bytes"] - right["low"]) < 0.01


# Choice of modules.


def names(model):
    return {path: type(m).__name__ for path, m in model.named_modules() if hasattr(m, "weight_fake_quant")}


def test_qconfig_mappings_choose_rounded_layers():
    special = aq.get_default_qat_qconfig("qnnpack")
    mapping = quantize_fx.get_default_qat_qconfig_mapping()
    mapping.set_object_type(nn.Linear, None).set_module_name_regex("st.*", special)
    made = quantize_fx.prepare_qat_fx(Residual().train(), mapping, (images(),))
    assert names(made) == {"stem": "ConvBnReLU2d", "conv": "ConvBn2d"}
    assert not made.stem.weight_fake_quant.is_per_channel and made.conv.weight_fake_quant.is_per_channel
    mapping.set_module_name("stem", None).set_module_name_object_type_order("", nn.Linear, 0, special)
    made = quantize_fx.prepare_qat_fx(Residual().train(), mapping, images())
    assert names(made) == {"conv": "ConvBn2d", "head": "Linear"}
    again = aq.QConfigMapping.from_dict(mapping.to_dict())
    assert again.to_dict() == mapping.to_dict() and again.for_modules(Residual()) == mapping.for_modules(Residual())
    net = trained(made, images)
    assert type(quantize_fx.convert_fx(net).conv) is nnq.Conv2d


def test_values_with_other_readers_are_not_fused():
    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.bn, self.also = nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU()

        def forward(self, x):
            y = self.conv(x)
            return self.bn(y) + self.also(y)

    made = quantize_fx.prepare_qat_fx(Twice().train(), quantize_fx.get_default_qat_qconfig_mapping(), (images(),))
    assert names(made) == {"conv": "Conv2d"}


def test_layers_are_joined_for_evaluation():
    net = trained(Residual().train(), images).eval()
    made = quantize_fx.fuse_fx(net, (images(),))
    assert type(made.stem) is nni.ConvReLU2d and type(made.conv) is nn.Conv2d and type(net.stem) is nn.Conv2d
    np.testing.assert_allclose(made(images()).detach().numpy(), net(images()).detach().numpy(), rtol=1e-4, atol=1e-5)


def test_quantize_qat_and_inherited_settings():
    net = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Sequential(nn.Linear(6, 6), nn.Linear(6, 2)))
    net.qconfig, net[2].qconfig = aq.default_qat_qconfig, None
    net[2][1].qconfig = aq.default_qat_qconfig
    x = ingot.tensor(normal(8, 4))
    made = aq.quantize_qat(net, lambda m, x: m(x).sum().backward(), [x])
    assert [type(m) for m in (made[0], *made[2])] == [nnq.Linear, nn.Linear, nnq.Linear] and type(net[0]) is nn.Linear
    aq.propagate_qconfig_(net, {"0": None})
    assert net[0].qconfig is None and net[1].qconfig is aq.default_qat_qconfig and net[2][0].qconfig is None


# Errors.


def with_config(config, *layers):
    net = nn.Sequential(*layers or (nn.Linear(3, 3),)).train()
    net.qconfig = config
    return net


def converted(config, x=normal(2, 3)):
    net = aq.prepare_qat(with_config(config))
    net(ingot.tensor(x))
    return aq.convert(net)


AFFINE = aq.FakeQuantize.with_args(observer=aq.MovingAveragePerChannelMinMaxObserver, qscheme=ingot.per_channel_affine,
                                   dtype=ingot.qint8)
COLUMNS = aq.default_per_channel_weight_fake_quant.with_args(ch_axis=1)
REFUSED = {
    "evaluation mode": (lambda: aq.prepare_qat(with_config(aq.default_qat_qconfig).eval()), r"call model.train\(\)"),
    "nothing to do": (lambda: aq.prepare_qat(nn.Sequential(nn.Linear(2, 2)).train()), "found nothing to quantise"),
    "a layer alone": (lambda: aq.prepare_qat(nn.Linear(2, 2).train()), "inside of a module"),
    "observers": (lambda: aq.prepare_qat(with_config(aq.QConfig(aq.default_observer, aq.default_weight_fake_quant))),
                  "MinMaxObserver, which is no fake quantisation"),
    "weights that nothing rounds": (lambda: aq.prepare_qat(with_config(aq.QConfig(aq.default_fake_quant, None))), "makes fake"),
    "an observer as a setting": (lambda: aq.QConfig(aq.MinMaxObserver(), None), "not an observer"),
    "a scale for each input channel": (lambda: aq.prepare_qat(with_config(aq.QConfig(AFFINE, aq.default_weight_fake_quant))),
                                       "no steps for bytes"),
    "weights without zero in the middle": (lambda: converted(aq.QConfig(aq.default_fake_quant, AFFINE)), "zero in the middle"),
    "scales of columns": (lambda: converted(aq.QConfig(aq.default_fake_quant, COLUMNS)), "first dim"),
    "inputs as they are": (lambda: converted(aq.default_weight_only_qconfig), "Identity, which finds no steps"),
    "infinities": (lambda: converted(aq.default_qat_qconfig, normal(2, 3) * np.inf), "infinities or nan"),
    "nothing seen": (lambda: aq.convert(aq.prepare_qat(with_config(aq.default_qat_qconfig))), "0 has seen no input"),
    "an order that nothing joins": (lambda: aq.fuse_modules_qat(with_config(None, nn.ReLU(), nn.Linear(2, 2)), ["0", "1"]),
                                    r"cannot fuse 0 \(ReLU\), 1 \(Linear\)"),
    "a norm without statistics": (lambda: aq.fuse_modules_qat(with_config(None, nn.Conv2d(1, 1, 1), nn.BatchNorm2d(
        1, track_running_stats=False)), ["0", "1"]), "no running statistics"),
    "folding while training": (lambda: aq.fuse_modules(with_config(None, nn.Conv2d(1, 1, 1), nn.BatchNorm2d(1)), ["0", "1"]),
                               "fuse_modules_qat"),
    "parts of another class": (lambda: nni.ConvReLU2d(nn.Linear(1, 1), nn.ReLU()), "takes Conv2d, ReLU"),
    "a module without settings": (lambda: nnqat.Linear.from_float(nn.Linear(2, 2)), "module.qconfig"),
    "another module": (lambda: nnqat.Linear.from_float(nn.Conv1d(1, 1, 1)), "takes Linear"),
    "an observer of nothing": (lambda: aq.FakeQuantize(observer=aq.PlaceholderObserver), "observer of ranges"),
    "a joint one of extremes": (lambda: aq.FusedMovingAvgObsFakeQuantize(aq.MinMaxObserver), "moving means"),
    "a backend": (lambda: aq.get_default_qat_qconfig("abacus"), "fbgemm"),
    "no mapping": (lambda: quantize_fx.prepare_qat_fx(Residual(), 3, (images(),)), "takes a QConfigMapping"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_unsupported_arguments_are_refused(name):
    call, words = REFUSED[name]
    with pytest.raises(IngotError, match=words):
        call()
