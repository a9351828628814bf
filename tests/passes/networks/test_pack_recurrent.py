"""Packed recurrent weights: for layers without gradients, where the machine's kernel reads such."""

import numpy as np
import pytest

import ingot
from graph_interpreter import interpret
from graphs import check_untouched, graph_of
from ingot import jit, nn
from ingot.ir.graph.text import show
from ingot.ir.ops.nn.recurrent import GATES
from ingot.ir.ops.packed import recurrent_packed as ops
from ingot.passes.networks.pack_recurrent import pack_recurrent
from ingot.runtime.core.dispatch import kernel_of
from ingot.runtime.cpu.nn import recurrent as kernels

LAYERS = {
    "lstm": "%y: f64[3,2,4], %e: f64[2,4] = lstm_states(%z, None, %h, %c, %w, None, reverse=True)",
    "gru": "%y: f64[3,2,4] = gru_states(%z, %m, %h, %w, %b, reverse=False)",
    "rnn_relu": "%y: f64[3,2,4] = rnn_sequence(%z, None, %h, %w, activation='relu', reverse=False)",
}


def always(name, z, w):
    """Return three lanes, and a few elements more than the weight has."""
    return 3, w.size + 5


def graph_with(name, line=None):
    wide = 4 * GATES[name]
    return graph_of(f"""
        graph g(%z: f64[3,2,{wide}], %m: bool[3,2], %h: f64[2,4], %c: f64[2,4], %w: f64[{wide},4], %b: f64[{wide}],
                %p: f64[4,4]) {{
          {line or LAYERS[name]}
          return %y
        }}""".replace("\n                %p", " %p"))


def arrays_for(graph, seed):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(v.shape) > 0 if v.dtype is ingot.bool else rng.standard_normal(v.shape) for v in graph.inputs]


def test_packing_is_an_operator_of_the_graph():
    after = pack_recurrent(graph_with("lstm"), always)
    assert [line.strip() for line in show(after).splitlines() if " = " in line] == [
        "%0: f64[69] = pack_recurrent(%w, kernel=('lstm', 3), size=69)",
        "%1: f64[3,2,4], %2: f64[2,4] = recurrent_packed(%z, None, %h, %c, %0, None, kernel=('lstm', 3), reverse=True)"]


@pytest.mark.parametrize("name", LAYERS)
def test_results_stay_the_same(name):
    graph = graph_with(name)
    after = pack_recurrent(graph, always)
    assert ops.recurrent_packed in [n.op for n in after.nodes]
    for seed in range(3):
        arrays = arrays_for(graph, seed)
        for a, b in zip(interpret(graph, arrays).outputs, interpret(after, arrays).outputs, strict=True):
            assert (a == b).all(), f"seed {seed}"
    assert pack_recurrent(after, always) is after


def test_layers_that_are_not_packed():
    graph = graph_with("lstm")
    assert pack_recurrent(graph, lambda *_: None) is graph
    with_gates = "%y: f64[3,2,4], %e: f64[3,2,4], %g: f64[3,2,16] = lstm_sequence(%z, None, %h, %c, %w, None, reverse=False)"
    projected = "%y: f64[3,2,4], %e: f64[2,4] = lstm_states(%z, None, %h, %c, %w, %p, reverse=False)"
    for line in (with_gates, projected):
        check_untouched(lambda g: pack_recurrent(g, always), show(graph_with("lstm", line)))


def layer_and_input(cls, size, dtype=ingot.float32, **kw):
    ingot.manual_seed(5)
    return cls(8, size, 2, dtype=dtype, **kw).eval(), ingot.randn(9, 7, 8, dtype=dtype)


def flat(result):
    y, ends = result
    return [y, *(ends if isinstance(ends, tuple) else (ends,))]


@pytest.mark.drawn
@pytest.mark.parametrize("cls, kw", [(nn.LSTM, {}), (nn.LSTM, {"bidirectional": True, "batch_first": True}), (nn.GRU, {}),
                                     (nn.GRU, {"bias": False}), (nn.RNN, {}), (nn.RNN, {"nonlinearity": "relu"})])
@pytest.mark.parametrize("size", [5, 64, 130])
@pytest.mark.parametrize("dtype", [ingot.float32, ingot.float64])
def test_traced_layers_are_as_in_eager_mode(cls, kw, size, dtype):
    layer, x = layer_and_input(cls, size, dtype, **kw)
    traced = jit.trace(layer)
    with ingot.no_grad():
        for factor in (1.0, 1.0, 0.5, 0.25):        # weights are written between calls
            for p in layer.parameters():
                p.mul_(factor)
            for a, b in zip(flat(layer(x)), flat(traced(x)), strict=True):
                assert (a == b).all(), f"{cls.__name__}({size}) {dtype} after a factor of {factor}"
    found = [n.op for job in traced._jobs() for n in job.steps[-1].graph.nodes]
    assert found.count(ops.recurrent_packed) == (4 if "bidirectional" in kw else 2)
    assert "native recurrent_packed" in traced.explain()
    assert "native pack_recurrent" not in traced.explain(), "packed once, beside the graph"


def test_few_sequences_read_weights_where_they_are():
    layer, x = layer_and_input(nn.LSTM, 64)
    traced = jit.trace(layer)
    with ingot.no_grad():
        for _ in range(3):
            assert (traced(x[:, :1])[0] == layer(x[:, :1])[0]).all()
    assert ops.recurrent_packed not in [n.op for job in traced._jobs() for n in job.steps[-1].graph.nodes]


def test_lengths_that_change():
    layer, x = layer_and_input(nn.GRU, 32)
    traced = jit.trace(layer)
    with ingot.no_grad():
        for steps in (9, 8, 5, 7, 9, 2):
            assert (traced(x[:steps])[0] == layer(x[:steps])[0]).all(), steps


@pytest.mark.parametrize("name", GATES)
@pytest.mark.parametrize("lanes", [3, None])
def test_kernels_agree_about_the_order(name, lanes):
    """Kernels called one by one: both of this machine's order, or both of the references' for another machine's."""
    rng, hidden = np.random.default_rng(7), 20
    wide = GATES[name] * hidden
    z, h, w = (rng.standard_normal(s).astype(np.float32) * 0.3 for s in ((5, 6, wide), (6, hidden), (wide, hidden)))
    c = h * 0.5 if name == "lstm" else None
    own, size = kernels.packing(name, ingot.tensor(z).aval, ingot.tensor(w).aval)
    kernel = name, lanes or own
    packed = kernel_of(ops.pack_recurrent)(w, kernel=kernel, size=size)
    got = kernel_of(ops.recurrent_packed)(z, None, h, c, packed, None, kernel=kernel, reverse=False)
    flattened = ops.pack_recurrent.ref(w, kernel=kernel, size=size)
    assert np.array_equal(packed, flattened) == (lanes is not None)
    want = ops.recurrent_packed.ref(z, None, h, c, flattened, None, kernel=kernel, reverse=False)
    for a, b in zip(got, want, strict=True):
        assert np.abs(a - b).max() < 2e-5, (name, lanes)
