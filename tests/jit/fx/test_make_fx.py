"""`make_fx` returns the graph of a function run on example inputs, or says why a graph cannot; dispatch modes see the same
public functions."""

import importlib

import pytest

import ingot
import ingot.nn.functional as F
import private_names  # noqa: F401
from ingot import fx, nn


def _mixture(x, pair):
    y = F.linear(x, pair["w"]) + pair["more"][0]
    first, second = y.split(2, -1)
    z = ingot.zeros(2, 2) + first.T.relu() * second.shape[0]
    z[0] = 7
    z.mul_(2)
    values, _ = z.max(1)
    return {"z": z.view(-1), "parts": (values, [second]), "n": 3}


def test_make_fx_gives_the_graph_of_what_ran():
    make_fx = importlib.import_module("ingot.fx.experimental.proxy_tensor").make_fx

    def inputs(seed):
        ingot.manual_seed(seed)
        return ingot.randn(2, 3), {"w": ingot.randn(4, 3, requires_grad=True), "more": [ingot.randn(4)]}

    made = make_fx(_mixture)(*inputs(0))
    assert isinstance(made, fx.GraphModule) and [n.name for n in made.graph.nodes if n.op == "placeholder"] == ["x_1", "pair_1"]
    for seed in (0, 1):
        want, got = _mixture(*inputs(seed)), made(*inputs(seed))
        assert got["n"] == 3 and ingot.equal(got["z"], want["z"]) and ingot.equal(got["parts"][1][0], want["parts"][1][0])
        assert ingot.equal(got["parts"][0], want["parts"][0])
    args = inputs(2)
    grads = [ingot.autograd.grad(f(*args)["z"].sum(), args[1]["w"])[0] for f in (_mixture, made)]
    assert ingot.equal(*grads)
    layers = ingot.nn.Sequential(ingot.nn.Linear(3, 4), ingot.nn.GELU(), ingot.nn.LayerNorm(4))
    whole = make_fx(layers)(ingot.randn(2, 3))
    x = ingot.randn(5, 3)
    assert ingot.equal(whole(x), layers(x)) and len([n for n in whole.graph.nodes if n.op == "get_attr"]) == 4
    noise = make_fx(lambda x: x + ingot.rand(3))(x)
    assert not ingot.equal(noise(x), noise(x))


LSTM = nn.LSTM(3, 2)


class _Doubled(ingot.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 3


@pytest.mark.parametrize(("program", "match"), [
    (lambda x: x * 2 if x.sum() > 0 else x, "reads a value"), (lambda x: x * x.sum().item(), "reads a value"),
    (lambda x: x * float(x[0, 0]), "reads a value"), (lambda x: x + sum(x[0].tolist()), "reads a value"),
    (lambda x: x if ingot.equal(x, x) else x + 1, "reads a value"), (lambda x: LSTM(x)[0], "recurrent layers"),
    (lambda x: ingot.no_grad()(lambda: x * 2)(), "switched inside"), (lambda x: _Doubled.apply(x) + 1, "switched inside"),
    (lambda x: ingot.autograd.grad((x * x).sum(), x)[0], "backward")])
def test_make_fx_refuses_what_a_graph_cannot_hold(program, match):
    make_fx = importlib.import_module("ingot.fx.experimental.proxy_tensor").make_fx
    with pytest.raises(fx.TraceError, match=match):
        make_fx(program)(ingot.ones(2, 3, requires_grad=True))
    assert ingot.ones(2).add(1).tolist() == [2, 2]                  # no observer is left


def test_make_fx_refuses_unsupported_arguments():
    make_fx = importlib.import_module("ingot.fx.experimental.proxy_tensor").make_fx
    for options, match in (({"tracing_mode": "symbolic"}, "jit.trace"), ({"decomposition_table": {1: 2}}, "leave out")):
        with pytest.raises(ValueError, match=match):
            make_fx(_mixture, **options)


def test_dispatch_modes_hear_public_functions():
    dispatch = importlib.import_module("ingot.utils._python_dispatch")
    heard = []

    class Hears(dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            heard.append((func, kwargs))
            return func(*args, **kwargs)

    x = ingot.ones(2, 2)
    with Hears() as mode:
        assert dispatch.is_in_torch_dispatch_mode() and dispatch._get_current_dispatch_mode() is mode
        y = F.softmax(x @ x + 1, dim=-1)
    assert [f.__name__ for f, _ in heard] == ["matmul", "add", "softmax"] and y.shape == (2, 2)
    assert heard[2][1] == {"dim": -1} and not dispatch.is_in_torch_dispatch_mode()
    with pytest.raises(NotImplementedError, match="__torch_dispatch__"), dispatch.TorchDispatchMode():
        x.add(1)
