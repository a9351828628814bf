"""Exceptions from signal handlers in replayed calls: they reach the caller, and are no failures of compiled code."""

import random
import signal

import pytest

import ingot
from ingot import jit, nn
from interrupts import KINDS, bytecodes_of, install_as_handler, is_from_outside, raised_at

TRIED = 150         # bytecodes of each kind


@pytest.fixture(autouse=True)
def handler_is_known():
    before = signal.getsignal(signal.SIGUSR2)
    install_as_handler(signal.SIGUSR2)
    yield
    signal.signal(signal.SIGUSR2, before)


class Training:
    """A step that writes tensors, Python state and an optimizer, and draws."""

    def __init__(self):
        ingot.manual_seed(0)
        self.net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Dropout(0.5), nn.Linear(16, 4))
        self.optimizer = ingot.optim.SGD(self.net.parameters(), lr=0.01, momentum=0.9)
        self.x, self.seen, self.steps, self.log = ingot.randn(4, 8), ingot.zeros(5), 0, []
        self.step = jit.trace(self._step, fullgraph=True)

    def _step(self, x):
        self.optimizer.zero_grad()
        loss = (self.net(x) ** 2).mean()
        loss.backward()
        self.optimizer.step()
        self.steps += 1
        self.log.append(loss.detach())
        self.seen.add_(1.0)
        return loss.detach()

    def __call__(self):
        return self.step(self.x)


def _trained() -> Training:
    found = Training()
    for _ in range(6):
        found()
    return found


def _plain():
    f = jit.trace(lambda x, y: (x * 2 + y).sum(), fullgraph=True)
    a, b = ingot.ones(8), ingot.ones(8)
    for _ in range(5):
        f(a, b)
    return lambda: f(a, b)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("make", [_plain, _trained], ids=["plain", "training"])
def test_an_exception_from_outside_reaches_the_caller(make, kind, rng):
    call = make()
    count = bytecodes_of(call)
    for number in rng.sample(range(count - 5), min(TRIED, count - 5)):
        _, error, reached = raised_at(number, call, kind)
        assert is_from_outside(error) or not reached, (number, error)


@pytest.fixture
def rng():
    return random.Random(17)
