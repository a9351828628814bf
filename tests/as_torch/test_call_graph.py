"""`jit._get_trace_graph`: calls under PyTorch's operator names, as libraries that count operations read them."""

import pytest

import ingot
import ingot.nn.functional as F
import private_names  # noqa: F401
from ingot import nn

X = ingot.ones(2, 3, 8, 8)
M = ingot.ones(4, 5)

# Calls, and their entries in PyTorch's graph: operator, sizes of tensors, constants, and lists.
CALLS = {
    "conv": (lambda: F.conv2d(X, ingot.ones(4, 3, 3, 3), padding=1), "_convolution",
             [[2, 3, 8, 8], [4, 3, 3, 3], None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1, False, False, True, True]),
    "conv transposed": (lambda: F.conv_transpose2d(X, ingot.ones(3, 2, 2, 2), stride=(2, 1)), "_convolution",
                        [[2, 3, 8, 8], [3, 2, 2, 2], None, [2, 1], [0, 0], [1, 1], True, [0, 0], 1, False, False, True, True]),
    "conv same": (lambda: F.conv2d(X, ingot.ones(4, 3, 3, 3), padding="same"), "_convolution_mode",
                  [[2, 3, 8, 8], [4, 3, 3, 3], None, [1, 1], "same", [1, 1], 1]),
    "batch norm": (lambda: F.batch_norm(X, ingot.zeros(3), ingot.ones(3), training=True), "batch_norm",
                   [[2, 3, 8, 8], None, None, [3], [3], True, 0.1, 1e-5, True]),
    "layer norm": (lambda: F.layer_norm(M, (5,), ingot.ones(5)), "layer_norm", [[4, 5], [5], [5], None, 1e-5, True]),
    "group norm": (lambda: F.group_norm(X, 3), "group_norm", [[2, 3, 8, 8], 3, None, None, 1e-5, True]),
    "linear": (lambda: F.linear(M, ingot.ones(2, 5)), "linear", [[4, 5], [2, 5], None]),
    "embedding": (lambda: F.embedding(ingot.tensor([1, 2]), M), "embedding", [[4, 5], [2], None, False, False]),
    "interpolate": (lambda: F.interpolate(X, scale_factor=2, mode="bilinear"), "upsample_bilinear2d",
                    [[2, 3, 8, 8], None, None, 2]),
    "nearest": (lambda: F.interpolate(X, size=4), "upsample_nearest2d", [[2, 3, 8, 8], 4, None, None]),
    "relu in place": (lambda: F.relu(ingot.ones(2), inplace=True), "relu_", [[2]]),
    "einsum": (lambda: ingot.einsum("ij,kj->ik", M, M), "einsum", ["ij,kj->ik", [[4, 5], [4, 5]]]),
    "matmul": (lambda: M @ M.T, "matmul", [[4, 5], [5, 4]]),
    "bmm": (lambda: ingot.bmm(M[None], M.T[None]), "bmm", [[1, 4, 5], [1, 5, 4]]),
    "number first": (lambda: 1 - M, "rsub", [[4, 5], 1]),
    "index": (lambda: M[[0, 2]], "index", [[4, 5], [0, 2]]),
    "slice": (lambda: M[1:, 0], "slice", None),
    "property": (lambda: M.T, "numpy_T", [[4, 5]]),
    "max": (lambda: M.max(1, keepdim=True), "max", [[4, 5], 1, True, None]),
    "cat": (lambda: ingot.cat([M, M], 1), "cat", [[[4, 5], [4, 5]], 1]),
}


def shown(value):
    """Return a value in the form of the table."""
    if value.isCompleteTensor():
        return value.type().sizes()
    if value.node().kind() == "prim::ListConstruct":
        return [shown(part) for part in value.node().inputs()]
    return value.toIValue()


@pytest.mark.parametrize("name", CALLS)
def test_calls_have_the_arguments_of_the_operators(name):
    call, kind, arguments = CALLS[name]
    graph, result = ingot.jit._get_trace_graph(call)
    *_, node = graph.nodes()
    assert node.kind() == f"aten::{kind}"
    assert arguments is None or [shown(v) for v in node.inputs()] == arguments
    results = result if isinstance(result, tuple) else (result,)
    assert [shown(v) for v in node.outputs()] == [list(t.shape) for t in results] == [shown(v) for v in graph.outputs()]


def named(module, name):
    """Return hooks that open and close a scope, as operation counters do."""
    state = ingot._C._get_tracing_state
    module.register_forward_pre_hook(lambda m, args: state() and state().push_scope(name))
    module.register_forward_hook(lambda m, args, out: state() and state().pop_scope())
    return module


def test_scopes_are_those_that_hooks_open():
    net = named(nn.Sequential(named(nn.Linear(3, 4), "0"), nn.ReLU(), named(nn.Linear(4, 2), "2")), "")
    graph, out, given = ingot.jit._get_trace_graph(net, ingot.ones(1, 3), return_inputs=True)
    found = [(n.kind(), n.scopeName()) for n in graph.nodes() if n.kind().startswith("aten")]
    assert found == [("aten::linear", "/0"), ("aten::relu", ""), ("aten::linear", "/2")]
    assert out.shape == (1, 2) and len(given) == 1 and ingot._C._get_tracing_state() is None
    assert ingot.equal(net(ingot.ones(1, 3)), out)
    assert "= aten::relu(" in str(graph) and len(graph.inputs()) == 5


def test_values_lead_from_call_to_call():
    graph, _ = ingot.jit._get_trace_graph(lambda x, times: (x * times).add_(1).sum(), ingot.ones(3), {"times": 2})
    times, plus, total = [n for n in graph.nodes() if n.kind().startswith("aten")]
    assert plus.inputs()[0].node() is times and total.inputs()[0].node() is plus and total.inputsSize() >= 1
    assert times.inputs()[0].node().kind() == "prim::Param" and times.outputsSize() == 1
    what = total.outputs()[0].type()
    assert (what.dim(), what.dtype(), what.kind(), str(what)) == (0, ingot.float32, "TensorType", "Tensor")
    assert what.device() == ingot.device("cpu") and graph.outputs()[0].debugName() == total.outputs()[0].debugName()


def test_attention_is_listed_as_its_parts():
    x = ingot.ones(4, 2, 8)
    graph, _ = ingot.jit._get_trace_graph(nn.MultiheadAttention(8, 2), (x, x, x))
    kinds = [n.kind() for n in graph.nodes()]
    assert kinds.count("aten::linear") == 4 and kinds.count("aten::matmul") == 2


def test_operators_behind_no_function_are_listed():
    graph, _ = ingot.jit._get_trace_graph(nn.LSTM(3, 4), ingot.ones(2, 1, 3))
    assert "aten::lstm_sequence" in [n.kind() for n in graph.nodes()]


def test_the_state_ends_with_the_run():
    def fails(x):
        assert ingot._C._get_tracing_state() is not None
        raise KeyError("here")

    with pytest.raises(KeyError):
        ingot.jit._get_trace_graph(fails, ingot.ones(1))
    assert ingot._C._get_tracing_state() is None
