"""Int8 weights: kernels against the reference to the bit, quantisation error, modules, models, traces, files, errors."""

import copy
import pickle

import numpy as np
import pytest

import ingot
import ingot.ao.nn.quantized.dynamic as nnqd
from ingot import jit, nn
from ingot.ao.quantization import default_dynamic_qconfig, quantize_dynamic
from ingot.ir import target
from ingot.ir.ops.quantized.int8_linear import linear_int8, recurrent_int8
from ingot.nn.utils import parametrizations
from ingot.nn.utils.rnn import pack_sequence, pad_packed_sequence
from ingot.passes.codegen.llvm.contract.int8_products import Int8Kernel
from ingot.passes.codegen.llvm.sequence import recurrent as layer_codegen
from ingot.passes.codegen.recurrent_cells import CELLS
from ingot.runtime.core.dispatch import kernel_of
from ingot.runtime.cpu.compiler import compile as compiler
from ingot.runtime.cpu.gemm import int8_linear
from ingot.runtime.cpu.nn import recurrent as layers
from kernel_runs import DOTS, LEVELS, cpu_of

LAYERS = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}
SHAPES = [(1, 1, 1), (1, 4, 16), (3, 5, 7), (5, 9, 64), (7, 66, 130), (2, 300, 1000), (70, 33, 257), (1, 3, 0), (300, 70, 90),
          (2, 3, 15), (2, 5, 31), (3, 5, 63), (2, 4, 127)]


@pytest.fixture(params=["host", *LEVELS])
def level(request, monkeypatch):
    """Run with kernels of this machine, and of each level without its extras."""
    caches = int8_linear.plan, int8_linear._tasks, layers.forward_plan
    if request.param != "host":
        for module in (int8_linear, layers, compiler):
            monkeypatch.setattr(module, "host", lambda: target.cpu(request.param))
    for cache in caches:
        cache.cache_clear()
    yield request.param
    for cache in caches:
        cache.cache_clear()


def operands(rng, rows, columns, depth):
    return (rng.standard_normal((rows, depth)).astype(np.float32), rng.integers(-128, 128, (columns, depth)).astype(np.int8),
            (rng.random(columns) / 127).astype(np.float32), rng.standard_normal(columns).astype(np.float32))


def test_the_kernel_is_the_reference(level, threads):
    rng = np.random.default_rng(0)
    for shape in SHAPES:
        x, weight, scale, bias = operands(rng, *shape)
        for added in (None, bias):
            want = linear_int8.ref(x, weight, scale, added)
            for count in (1, 3):
                threads(count)
                assert int8_linear.linear(x, weight, scale, added).tobytes() == want.tobytes(), (shape, count)


def test_hard_rows(level):
    rng = np.random.default_rng(1)
    x, weight, scale, bias = operands(rng, 8, 5, 40)
    x[0, 3], x[1, 5], x[2] = np.nan, -np.inf, 0
    x[3] *= 1e-38
    x[4] *= 3e38 / np.abs(x[4]).max()
    x[5] = np.abs(x[5])
    x[6] = 7
    got, want = int8_linear.linear(x, weight, scale, bias), linear_int8.ref(x, weight, scale, bias)
    assert np.array_equal(got, want, equal_nan=True)
    assert np.isnan(got[:2]).all() and np.isfinite(got[5:]).all()
    assert np.array_equal(got[2], bias) and np.array_equal(got[3], bias)


def test_layers_are_the_reference(level, threads):
    rng = np.random.default_rng(2)
    for layer, gates in LAYERS.items():
        for steps, batch, hidden in ((1, 1, 1), (3, 2, 5), (4, 7, 33), (3, 20, 70)):
            z, h, c = (rng.standard_normal(s).astype(np.float32) for s in
                       ((steps, batch, gates * hidden), (batch, hidden), (batch, hidden)))
            c = c if layer == "lstm" else None
            weight = rng.integers(-127, 128, (gates * hidden, hidden)).astype(np.int8)
            scale, bias = ((rng.random(gates * hidden) * x).astype(np.float32) for x in (hidden ** -0.5 / 127, 1))
            bias = bias if layer == "gru" and steps > 1 else None
            mask = np.arange(steps)[:, None] < rng.integers(1, steps + 1, batch) if batch > 2 else None
            given, params = (z, mask, h, c, weight, scale, bias), {"layer": layer, "reverse": bool(steps % 2)}
            found = []
            for count in (1, 3):
                threads(count)
                found.append(kernel_of(recurrent_int8)(*given, **params))
            for one, other, want in zip(*found, recurrent_int8.ref(*given, **params)):
                assert one.tobytes() == other.tobytes()
                assert np.allclose(one, want, rtol=1e-5, atol=1e-5), (layer, steps, batch, hidden)


@pytest.mark.parametrize("level", ["x86-64", "x86-64-v3", "x86-64-v4", "aarch64"])
def test_every_target_has_code(level):
    machine = target.cpu(level)
    assert compiler.emit_object(Int8Kernel(machine, True).text(), machine)
    for cell in CELLS.values():
        kernel = layer_codegen.StepKernel(machine, "float", cell, True, keeps=False, bytes=True)
        assert compiler.emit_object(kernel.text(), machine)


@pytest.mark.skipif(not DOTS, reason="no products of bytes in 256 bits")
def test_products_of_bytes_in_half_vectors(monkeypatch):
    """Code for processors without AVX-512."""
    machine, rng = cpu_of(DOTS[0]), np.random.default_rng(3)
    monkeypatch.setattr(int8_linear, "host", lambda: machine)
    monkeypatch.setattr(int8_linear, "compile_module", lambda text, names: compiler.compile_module(text, names, machine))
    for cache in (int8_linear.plan, int8_linear._tasks):
        cache.cache_clear()
    try:
        for shape in SHAPES:
            x, weight, scale, bias = operands(rng, *shape)
            want = linear_int8.ref(x, weight, scale, bias)
            assert int8_linear.linear(x, weight, scale, bias).tobytes() == want.tobytes(), shape
    finally:
        for cache in (int8_linear.plan, int8_linear._tasks):
            cache.cache_clear()


def test_a_module_in_two_places():
    layer = nn.Linear(4, 4)
    made = quantize_dynamic(nn.Sequential(layer, nn.ReLU(), layer))
    assert type(made[0]) is nnqd.Linear and made[0] is made[2]


def test_quantisation_error_is_bounded():
    """Each number of a row is off by half a step at most, so sums by that times the weights' absolute sum."""
    x = ingot.randn(20, 100, generator=ingot.Generator().manual_seed(0))
    layer = nn.Linear(100, 30)
    made = nnqd.Linear.from_float(layer)
    assert ((made.weight() - layer.weight).abs() <= made.scale.unsqueeze(1) / 2 * 1.001).all()
    step = (x.amax(1).clamp(min=0) - x.amin(1).clamp(max=0)) / 255
    bound = step.unsqueeze(1) * made.weight().abs().sum(1) * 0.501 + 1e-5
    assert ((made(x) - nn.functional.linear(x, made.weight(), made.bias())).abs() <= bound).all()


def test_a_row_does_not_depend_on_others():
    x, layer = ingot.randn(9, 50), nnqd.Linear.from_float(nn.Linear(50, 20))
    whole = layer(x)
    x[3] *= 1000
    again = layer(x)
    assert all(again[i].numpy().tobytes() == whole[i].numpy().tobytes() == layer(x[i]).numpy().tobytes()
               for i in range(9) if i != 3)


# Modules and models.

CASES = {
    "linear": (lambda: nn.Linear(30, 20), (4, 30), nnqd.Linear),
    "linear without bias": (lambda: nn.Linear(30, 20, bias=False), (2, 3, 30), nnqd.Linear),
    "lstm": (lambda: nn.LSTM(12, 20, 2, bidirectional=True), (5, 3, 12), nnqd.LSTM),
    "lstm without bias": (lambda: nn.LSTM(12, 20, bias=False, batch_first=True), (3, 5, 12), nnqd.LSTM),
    "gru": (lambda: nn.GRU(12, 20, 2, dropout=0.5), (5, 12), nnqd.GRU),
    "gru without bias": (lambda: nn.GRU(12, 20, bias=False, bidirectional=True), (5, 3, 12), nnqd.GRU),
    "lstm cell": (lambda: nn.LSTMCell(12, 20), (3, 12), nnqd.LSTMCell),
    "gru cell": (lambda: nn.GRUCell(12, 20), (12,), nnqd.GRUCell),
    "gru cell without bias": (lambda: nn.GRUCell(12, 20, bias=False), (3, 12), nnqd.GRUCell),
    "rnn cell": (lambda: nn.RNNCell(12, 20, nonlinearity="relu"), (3, 12), nnqd.RNNCell),
}


def flat(results):
    return [r for x in results for r in flat(x)] if isinstance(results, tuple) else [results.detach().numpy()]


def layer_pair(name):
    """Return (float module, quantised module, an input)."""
    ingot.manual_seed(0)
    make, shape, kind = CASES[name]
    layer = make()
    quantised = quantize_dynamic(layer)
    assert type(quantised) is kind and not quantised.training and type(layer) is not kind and layer.training
    return layer.eval(), quantised, ingot.randn(*shape)


@pytest.mark.parametrize("name", CASES)
def test_modules_are_near_their_float_ones(name):
    layer, quantised, x = layer_pair(name)
    for got, want in zip(flat(quantised(x)), flat(layer(x)), strict=True):
        assert got.shape == want.shape and 0 < np.abs(got - want).max() < 0.03
    assert sum(b.nbytes for b in quantised.buffers()) < 0.55 * sum(p.nbytes for p in layer.parameters())
    assert not list(quantised.parameters())


@pytest.mark.parametrize("name", CASES)
def test_traces_copies_and_states_give_the_same_bits(name):
    _, quantised, x = layer_pair(name)
    want = [r.tobytes() for r in flat(quantised(x))]
    blank = quantize_dynamic(CASES[name][0]())
    assert [r.tobytes() for r in flat(blank(x))] != want
    blank.load_state_dict(quantised.state_dict())
    traced = jit.trace(lambda x: quantised(x))
    traced(x)
    for other in (copy.deepcopy(quantised), pickle.loads(pickle.dumps(quantised)), blank, traced):
        assert [r.tobytes() for r in flat(other(x))] == want
    assert traced.stats()["compiles"] == 1 and traced.stats()["other_calls"] == 0


def test_packed_sequences():
    layer = nn.LSTM(6, 9, bidirectional=True).eval()
    quantised = quantize_dynamic(layer)
    x = pack_sequence([ingot.randn(n, 6) for n in (2, 5, 3)], enforce_sorted=False)
    (got, ends), (want, _) = quantised(x), layer(x)
    got, lengths = pad_packed_sequence(got)
    want, _ = pad_packed_sequence(want)
    assert lengths.tolist() == [2, 5, 3] and (got - want).abs().max() < 0.02 and (got[2:, 0] == 0).all()
    assert ends[0].shape == (2, 3, 9)


@pytest.mark.peer
@pytest.mark.filterwarnings("ignore:torch", "ignore::DeprecationWarning")       # PyTorch announces the end of its own
@pytest.mark.parametrize("name", ["linear", "lstm", "gru"])
def test_no_further_off_than_the_peer(name):
    torch = pytest.importorskip("torch")
    ours, theirs = [], []
    for seed in range(4):
        ingot.manual_seed(seed)
        make = {"linear": lambda m: m.Linear(64, 64), "lstm": lambda m: m.LSTM(64, 64), "gru": lambda m: m.GRU(64, 64)}[name]
        layer, peer, x = make(nn).eval(), make(torch.nn).eval(), ingot.randn(10, 8, 64)
        peer.load_state_dict({k: torch.tensor(v.numpy()) for k, v in layer.state_dict().items()})
        want = flat(layer(x))[0]
        with torch.no_grad():
            quantised = torch.ao.quantization.quantize_dynamic(torch.nn.Sequential(peer), dtype=torch.qint8)
            found = quantised(torch.tensor(x.numpy()))
        theirs.append(np.abs((found[0] if name != "linear" else found).numpy() - want).max())
        ours.append(np.abs(flat(quantize_dynamic(layer)(x))[0] - want).max())
    assert max(ours) <= max(theirs)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 8)
        self.body = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), self.first)
        self.attention = nn.MultiheadAttention(8, 2)
        self.rnn = nn.GRU(8, 8)

    def forward(self, x):
        x = self.body(self.first(x))
        return self.rnn(self.attention(x, x, x)[0])[0]


def kinds(net):
    return {name: type(m) for name, m in net.named_modules()}


def test_a_model():
    net = Net()
    quantised = quantize_dynamic(net)
    assert quantised.first is quantised.body[2] and not quantised.training and net.training
    assert type(quantised.first) is type(quantised.body[0]) is nnqd.Linear and type(quantised.rnn) is nnqd.GRU
    assert type(quantised.attention.out_proj).__name__ == "NonDynamicallyQuantizableLinear"
    x = ingot.randn(3, 2, 8)
    assert (quantised(x) - net.eval()(x)).abs().max() < 0.05
    assert str(quantised.first) == "DynamicQuantizedLinear(in_features=8, out_features=8, dtype=ingot.qint8)"
    assert kinds(quantize_dynamic(quantised)) == kinds(quantised)
    assert quantize_dynamic(net, inplace=True) is net and type(net.first) is nnqd.Linear


@pytest.mark.parametrize("spec, changed", [
    ({nn.Linear}, {"first", "body.0"}), ([nn.GRU], {"rnn"}), ({"body.0"}, {"body.0"}), ({"body"}, {"body.0"}),
    ({nn.Linear: default_dynamic_qconfig, "first": None}, {"body.0"}),
    ({nn.Linear: None, nn.GRU: default_dynamic_qconfig}, {"rnn"}),
    ({"body": default_dynamic_qconfig, "body.0": None}, set()), (set(), set())])
def test_chosen_layers(spec, changed):
    net = Net()
    net.body[2] = nn.Identity()
    found = kinds(quantize_dynamic(net, spec, dtype=ingot.qint8))
    assert {name for name, kind in kinds(net).items() if found[name] is not kind} == changed


def test_hooks_and_parametrizations_stay():
    layer = parametrizations.weight_norm(nn.Linear(6, 4))
    seen = []
    layer.register_forward_hook(lambda module, args, out: seen.append(tuple(out.shape)))
    layer.register_forward_pre_hook(lambda module, args: (args[0] * 2,))
    quantised = quantize_dynamic(nn.Sequential(layer))
    x = ingot.randn(3, 6)
    assert (quantised(x) - nn.functional.linear(2 * x, layer.weight, layer.bias)).abs().max() < 0.05 and seen == [(3, 4)]


def test_a_file_and_a_training_model_around_it(tmp_path):
    net = quantize_dynamic(nn.Sequential(nn.Linear(16, 12), nn.Tanh(), nn.Linear(12, 5)))
    x = ingot.randn(4, 16)
    jit.export(net, (x,), tmp_path / "m.ingot")
    assert jit.load(tmp_path / "m.ingot")(x).numpy().tobytes() == net(x).numpy().tobytes()
    head = nn.Linear(5, 1)
    head(net(x)).sum().backward()
    assert head.weight.grad is not None and not net(x).requires_grad


def test_vmap():
    layer, x = nnqd.Linear.from_float(nn.Linear(6, 4)), ingot.randn(3, 5, 6)
    assert ingot.vmap(layer)(x).equal(layer(x))
    rnn, z = nnqd.LSTM.from_float(nn.LSTM(6, 4)), ingot.randn(3, 5, 2, 6)
    assert ingot.vmap(lambda z: rnn(z)[0])(z).equal(ingot.stack([rnn(one)[0] for one in z]))


def test_names():
    assert ingot.quantization is ingot.ao.quantization and ingot.nn.quantized.dynamic.Linear is nnqd.Linear
    assert pickle.loads(pickle.dumps(ingot.qint8)) is ingot.qint8 and repr(ingot.qint8) == "ingot.qint8"
    assert ingot.backends.quantized.engine in ingot.backends.quantized.supported_engines


@pytest.mark.parametrize("call, kind, words", [
    (lambda: quantize_dynamic(nn.Linear(2, 2), dtype=ingot.float16), ValueError, "quantised to ingot.qint8, not to"),
    (lambda: quantize_dynamic(nn.Linear(2, 2).double()), TypeError, "from float32 on the CPU"),
    (lambda: quantize_dynamic(nn.Linear(1 << 17, 1)), ValueError, "at most 65536 columns"),
    (lambda: quantize_dynamic(nn.LSTM(4, 4, proj_size=2)), ValueError, "with proj_size is not quantised"),
    (lambda: quantize_dynamic(Net(), {"nobody"}), ValueError, "no module 'nobody'"),
    (lambda: quantize_dynamic(Net(), {nn.Conv2d}), ValueError, "nothing that stands for Conv2d"),
    (lambda: quantize_dynamic(Net(), {3}), TypeError, "types and names of modules, got 3"),
    (lambda: quantize_dynamic(nn.Linear(2, 2))(ingot.ones(3, 2).double()), TypeError, "input of float32"),
    (lambda: quantize_dynamic(nn.Linear(2, 2))(ingot.ones(3, 4)), RuntimeError, "last size is 4, but the weight"),
    (lambda: quantize_dynamic(nn.Linear(2, 2)).half()(ingot.ones(3, 2)), RuntimeError, "a scale of float32"),
    (lambda: nnqd.Linear.from_float(nn.GRU(2, 2)), TypeError, "takes nn.Linear, got GRU"),
])
def test_errors(call, kind, words):
    with pytest.raises(kind, match=words):
        call()


def test_weights_without_a_number_are_refused():
    layer = nn.Linear(2, 2)
    with ingot.no_grad():
        layer.weight[0, 0] = float("nan")
    with pytest.raises(ValueError, match="infinities or nan"):
        quantize_dynamic(layer)
