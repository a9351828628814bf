"""Exceptions from outside in eager steps of optimizers: they reach the caller as they are, and each parameter is updated once
or not at all."""

import random

import pytest

import ingot
from ingot import nn
from interrupts import interrupted_by, points_of

OPTIONS = {"SGD": {"lr": 0.1, "momentum": 0.9}, "RMSprop": {"lr": 0.1, "momentum": 0.5}, **{name: {"lr": 0.1} for name in (
    "Adam", "AdamW", "Adagrad", "NAdam", "Adadelta", "Rprop", "ASGD", "RAdam", "Adamax")}}
POINTS = 20


class Step:
    """Steps on two small parameters and a large one, which begin at the same values each time."""

    def __init__(self, name):
        ingot.manual_seed(0)
        self.parameters = [nn.Parameter(ingot.randn(*shape)) for shape in ((8, 16), (4,), (200, 200))]
        self.optimizer = getattr(ingot.optim, name)(self.parameters, **OPTIONS[name])
        for p in self.parameters:
            p.grad = ingot.randn(*p.shape)
        for _ in range(9):
            self.optimizer.step()
        self.before = [p.tolist() for p in self.parameters]

    def __call__(self):
        self.optimizer.step()

    def updates(self, after) -> list:
        """Return for each parameter whether it has the values of `after`; raise if it has neither these nor those before."""
        found = []
        for p, old, new in zip(self.parameters, self.before, after):
            now = p.tolist()
            assert now in (old, new), f"{list(p.shape)} was updated in part, or twice"
            found.append(now != old)
        return found


@pytest.mark.drawn
@pytest.mark.parametrize("seed", [*range(4), *[pytest.param(n, marks=pytest.mark.slow) for n in range(4, 40)]])
@pytest.mark.parametrize("way", ["thread", "library"])
@pytest.mark.parametrize("name", OPTIONS)
def test_each_parameter_is_updated_once_or_not(name, way, seed):
    rng, whole = random.Random(f"{name} {way} {seed}"), Step(name)
    count = points_of(whole)
    after = [p.tolist() for p in whole.parameters]
    for _ in range(POINTS):
        step, point = Step(name), rng.randrange(count)
        error = interrupted_by(step, point, way, rng)
        assert all(step.updates(after)) or error is not None, point
