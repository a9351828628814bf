"""Captured tensors whose `requires_grad` a traced function changes, as adversarial training and attacks do."""

import pytest

import ingot
from ingot import jit, nn, optim


class Pair:
    """Two networks with optimizers."""

    def __init__(self):
        ingot.manual_seed(0)
        self.a, self.b = nn.Linear(3, 4), nn.Linear(4, 1)
        self.opt_a, self.opt_b = optim.SGD(self.a.parameters(), 0.1), optim.Adam(self.b.parameters(), 0.1)

    def out(self, x):
        return self.b(self.a(x))

    def turn(self, on):
        for p in self.b.parameters():
            p.requires_grad = on


def adversarial(n, x):
    n.turn(True)
    fake = n.a(x)
    n.opt_b.zero_grad()
    apart = n.b(fake.detach()).mean() - n.b(x.sum() + fake.detach()).pow(2).mean()
    apart.backward()
    n.opt_b.step()
    n.turn(False)
    n.opt_a.zero_grad()
    loss = n.b(fake).mean()
    loss.backward()
    n.opt_a.step()
    return (apart + loss).detach()


def attack(n, x):
    x.requires_grad = True
    n.a.zero_grad()
    n.out(x).pow(2).mean().backward()
    return x + 0.1 * x.grad.sign()


def attack_and_forget(n, x):
    x.requires_grad_()
    n.out(x).pow(2).mean().backward()
    g = x.grad
    x.requires_grad_(False)
    x.grad = None
    return g


def history_from_before(n, x):
    loss = n.out(x).sum()
    n.turn(False)
    n.turn(True)
    loss.backward()
    return loss.detach()


def history_from_between(n, x):
    n.turn(False)
    loss = n.out(x).sum()
    n.turn(True)
    return loss


def input_with_history(n, x):
    x.requires_grad_()
    return (x * 3).sum()


def cleared_while_off(n, x):
    n.turn(False)
    n.b.zero_grad()
    n.turn(True)
    return n.out(x).sum()


def stopped(n, x):
    loss = n.out(x).sum()
    n.turn(False)
    return loss


def walk(n, x):
    n.turn(False)
    x = x.detach().clone()
    x.requires_grad = True
    for _ in range(3):
        n.out(x).sum().backward()
        x.data.add_(-0.1 * x.grad.data)
        x.grad.zero_()
    n.turn(True)
    return x.detach()


PROGRAMS = {f.__name__: f for f in (adversarial, attack, attack_and_forget, history_from_before, history_from_between,
                                    input_with_history, cleared_while_off, stopped, walk)}


def life(program, wrap):
    """Return results and state of six calls, with a backward after calls whose result has a history."""
    n, seen = Pair(), []
    fn = wrap(lambda x: program(n, x))
    for i in range(6):
        x = ingot.full((2, 3), 0.1 * i)
        y = fn(x)
        if y.requires_grad:
            y.backward(ingot.ones_like(y))
        seen.append(str([(t.tolist(), t.requires_grad, t.grad) for t in (y, x, *n.a.parameters(), *n.b.parameters())]))
        if program is stopped:
            n.turn(True)
    return seen, fn


@pytest.mark.parametrize("name", PROGRAMS)
def test_tensors_start_and_stop_requiring_grad_as_in_eager_mode(name):
    want, _ = life(PROGRAMS[name], lambda f: f)
    got, traced = life(PROGRAMS[name], jit.trace)
    assert got == want
    assert traced.stats()["compiles"] <= 3, traced.stats()["misses"]
