"""Functions that replace an object that outlives the call: an optimizer, a state, a phase."""

import dataclasses
import enum
import warnings

import pytest

import ingot
from ingot import jit, nn, optim


class Phase(enum.Enum):
    WARM = 1
    MAIN = 2


@dataclasses.dataclass
class State:
    count: int = 0
    best: float = 0.0
    log: list = dataclasses.field(default_factory=list)


class Trainer:
    def __init__(self):
        self.net = nn.Linear(2, 1)
        self.opt = optim.SGD(self.net.parameters(), 0.1)
        self.state, self.phase, self.calls, self.rate = State(), Phase.WARM, 0, 0.1

    def step(self, x):
        self.calls += 1
        self.rate *= 0.9
        if self.calls == 4:
            self.opt, self.phase = optim.Adam(self.net.parameters(), self.rate), Phase.MAIN
        if self.calls % 5 == 0:
            self.state = State(self.calls, best=x.sum().item(), log=[self.rate])
        self.state.log.append(self.calls)
        loss = (self.net(x) ** 2).mean() * self.phase.value
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss

    def replaces(self, x):
        self.state = dataclasses.replace(self.state, count=self.state.count + 1, best=x.sum().item())
        return x * self.state.count

    def seen(self):
        """Its content, with numbers of Python's own types."""
        plain = [type(v) for v in (self.state.count, self.state.best, *self.state.log, self.opt.param_groups[0]["lr"])]
        assert set(plain) <= {int, float}, plain
        return [*map(str, (self.state, self.phase, type(self.opt), self.opt.param_groups[0]["lr"], self.calls))]


@pytest.mark.parametrize("name", ["step", "replaces"])
def test_objects_are_replaced_as_in_eager_mode(name):
    def life(wrap):
        ingot.manual_seed(0)
        trainer, got = Trainer(), []
        fn = wrap(getattr(trainer, name))
        for i in range(40):
            got.append((fn(ingot.full((2, 2), 1.0 + i % 3)), trainer.seen()))
        return got, fn, trainer
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        got, traced, there = life(jit.trace)
    want, _, here = life(lambda f: f)
    for (a, seen), (b, expected) in zip(got, want):
        assert seen == expected and ingot.allclose(a, b, rtol=1e-5, atol=1e-6)
    for p, q in zip(there.net.parameters(), here.net.parameters()):
        assert ingot.allclose(p, q, rtol=1e-5, atol=1e-6)
    always = name == "replaces"
    assert any("runs as it is at most calls: it puts another State into self.state" in str(w.message) for w in said) is always
    assert traced.stats()["compiles"] <= (1 if always else 12), traced.stats()["misses"]
