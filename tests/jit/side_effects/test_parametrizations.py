"""Parametrised tensors in traces: they are computed as often as in eager code, and may be assigned to."""

import pytest

import ingot
from ingot import jit, nn
from ingot.nn.utils import parametrizations, parametrize


class Symmetric(nn.Module):
    def forward(self, x):
        return x.triu() + x.triu(1).T

    def right_inverse(self, x):
        return x.triu()


def symmetric(layer):
    return parametrize.register_parametrization(layer, "weight", Symmetric())


WAYS = [symmetric, parametrizations.weight_norm, parametrizations.spectral_norm, parametrizations.orthogonal]


def assigned(layer, net, x, v):
    with ingot.no_grad():
        layer.weight = v
    return net(x)


def assigned_and_read(layer, net, x, v):
    with ingot.no_grad():
        layer.weight = v
    return layer.weight * 2


def read(layer, net, x, v):
    return x @ layer.weight


def read_and_called(layer, net, x, v):
    return net(x) @ layer.weight


def cached(layer, net, x, v):
    with parametrize.cached():
        return net(x) @ layer.weight


BODIES = [assigned, assigned_and_read, read, read_and_called, cached]


def steps(way, body, trains, wrap) -> list:
    """Return what each call gives, and the state of the module after it."""
    ingot.manual_seed(0)
    layer = way(nn.Linear(3, 3))
    net = nn.Sequential(layer, nn.Tanh())
    optimizer = ingot.optim.SGD(net.parameters(), 0.1)

    def step(x, v):
        y = body(layer, net, x, v)
        if trains:
            optimizer.zero_grad()
            y.square().sum().backward()
            optimizer.step()
        return y.detach()

    function, found = wrap(step), []
    for number in range(4):
        v = ingot.linalg.qr(ingot.randn(3, 3)).Q
        found.append([function(ingot.randn(2, 3), v), *[t.clone() for t in net.state_dict().values()]])
        if number == 2:
            net.eval()
    return found


@pytest.mark.parametrize("trains", [False, True])
@pytest.mark.parametrize("body", BODIES, ids=lambda f: f.__name__)
@pytest.mark.parametrize("way", WAYS, ids=lambda f: f.__name__)
def test_parametrised_tensors_are_as_in_eager_code(way, body, trains):
    eager, traced = [steps(way, body, trains, wrap) for wrap in (lambda f: f, jit.trace)]
    for number, (before, after) in enumerate(zip(eager, traced)):
        for a, b in zip(before, after):
            ingot.testing.assert_close(a, b, msg=lambda text, n=number: f"call {n}: {text}")
