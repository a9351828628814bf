"""Graphs that run operator by operator: eager's results for all sizes, and inputs written over at the end."""

import numpy as np
import pytest

import ingot
from ingot import jit, nn, optim
from ingot.ir.errors import DimError
from ingot.jit.replay import symbolic_job
from ingot.runtime.core.backend import HOST
from outcomes import plain

SIZES = (5, 9, 3, 12, 7, 1, 30, 8, 9)


def draw(*shape):
    return ingot.randn(*shape, generator=ingot.Generator().manual_seed(sum(shape)))


def computed(x):
    return (x * 2).sin().sum(0), x.T, x[x.shape[0] // 2:], x.reshape(-1) * x.shape[0], ingot.arange(x.shape[0] * 2)


def drawn(x):
    return ingot.dropout(x, 0.5, True), ingot.rand(x.shape[0])


def counted(x):
    rows, = ingot.where(x[:, 0] > 0)
    return ingot.zeros_like(x).index_add(0, rows, x[rows] + 1), rows


@pytest.fixture
def ran(monkeypatch):
    """Return the list of runs without a binding."""
    found, run = [], HOST.Stepwise.run
    monkeypatch.setattr(HOST.Stepwise, "run", lambda self, *rest: found.append(self) or run(self, *rest))
    return found


@pytest.mark.parametrize("program", [computed, drawn, counted], ids=lambda f: f.__name__)
def test_new_sizes_give_the_bits_of_eager_code(program, ran):
    traced = jit.trace(program)
    for n in SIZES:
        seen = []
        for f in (program, traced):
            ingot.manual_seed(n)
            seen.append(plain(f(draw(n, 3))))
        assert seen[0] == seen[1], n
    assert ran


def test_results_are_no_views_of_arguments(ran):
    traced = jit.trace(lambda x: (x * 1, x.clone()[1:], x.reshape(-1).clone()))
    for n in SIZES:
        x = draw(n + 1, 3)
        before = x.clone()
        for t in traced(x):
            t.zero_()
        assert plain(x) == plain(before)
    assert ran


@pytest.mark.parametrize("make", [lambda ps: optim.SGD(ps, 0.1, momentum=0.9), lambda ps: optim.AdamW(ps, 0.01)],
                         ids=["sgd", "adamw"])
def test_training_steps_write_over_parameters(make, ran):
    seen = []
    for wrap in (lambda f: f, jit.trace):
        ingot.manual_seed(0)
        net = nn.Linear(3, 2)
        opt = make(net.parameters())

        def step(x, net=net, opt=opt):
            opt.zero_grad()
            loss = net(x[x[:, 0] > -0.5]).square().sum()
            loss.backward()
            opt.step()
            return loss.detach()

        step = wrap(step)
        losses = [step(draw(n + 3, 3)).item() for n in SIZES]
        seen.append([*losses, *net.weight.detach().numpy().ravel(), *net.bias.detach().numpy()])
    np.testing.assert_allclose(seen[1], seen[0], rtol=1e-4)
    assert any(s.in_place for s in ran), "the optimizer's end is compiled, and writes in place"


def test_sizes_that_come_again_are_bound(ran):
    traced = jit.trace(lambda x: (x * 2).exp().cumsum(0))
    for n in (3, 4, 5):
        traced(draw(n, 2))
    ran.clear()
    for _ in range(symbolic_job.MOST_UNBOUND + 4):
        traced(draw(6, 2))
    assert len(ran) == symbolic_job.MOST_UNBOUND


def test_much_work_is_bound_at_once(ran):
    traced = jit.trace(lambda x: (x * 2).exp().cumsum(0))
    for n in (1000, 1100, 1200, 1300, 1400):
        traced(draw(n, 2000))
    assert not ran


def test_wrong_values_raise_the_error_of_eager_code(ran):
    def picked(x, i):
        return x.index_select(0, i) * 2

    traced = jit.trace(picked)
    for n in (4, 5, 6, 7):
        traced(draw(n, 3), ingot.arange(n))
    assert ran
    for n in (8, 9):
        with pytest.raises(DimError) as want:
            picked(draw(n, 3), ingot.tensor([n]))
        with pytest.raises(DimError) as got:
            traced(draw(n, 3), ingot.tensor([n]))
        assert str(want.value) == str(got.value)
