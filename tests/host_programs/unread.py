"""Programs whose host steps change state that the function does not read after them."""

import types

import ingot
from ingot import jit, nn, optim

from .common import calls, every, unread


@unread
def list_that_is_only_filled(wrap, changes):
    log: list = []

    def add(v):
        if changes(v):
            log.append(float(v))

    def fn(x):
        jit.host(add)(x.sum())
        return x * 2

    return calls(wrap(fn), every(3, log.clear)), log


@unread
def dictionary_that_is_only_given(wrap, changes):
    log: list = []

    @jit.host
    def add(report):
        if changes(report["loss"]):
            report["seen"] = len(log)
            log.append(float(report["loss"]))

    def fn(x):
        add({"loss": x.sum(), "name": "step"})
        return x * 2

    return calls(wrap(fn)), log


@unread
def list_whose_method_fills_it(wrap, changes):
    log: list = []

    def fn(x):
        jit.host(log.append)(x.sum().item())
        return x * 2

    return calls(wrap(fn), every(3, log.clear)), log


@unread
def other_state_is_read(wrap, changes):
    log: list = []
    settings = types.SimpleNamespace(scale=2.0, items=[1, 2, 3])

    def add(v):
        if changes(v):
            log.append(float(v))

    def fn(x):
        jit.host(add)(x.sum())
        return x * settings.scale + sum(settings.items)

    return calls(wrap(fn)), log


@unread
def another_attribute_is_read(wrap, changes):
    o = types.SimpleNamespace(n=0.0, m=2.0)

    def add(v):
        if changes(v):
            o.n += 1

    def fn(x):
        jit.host(add)(x.sum())
        return x * o.m

    return calls(wrap(fn)), o.n


@unread
def attribute_is_read_before(wrap, changes):
    o = types.SimpleNamespace(n=1.0)

    def add(v):
        if changes(v):
            o.n += 1

    def fn(x):
        y = x * o.n
        jit.host(add)(x.sum())
        return y

    return calls(wrap(fn)), o.n


@unread
def loop_that_fills(wrap, changes):
    log: list = []

    @jit.host
    def add(v):
        if changes(v):
            log.append(float(v))

    def fn(x):
        for _ in range(3):
            x = x + 1
            add(x.sum())
        return x

    return calls(wrap(fn), every(3, log.clear)), log


@unread
def trainer_that_notes(wrap, changes):
    class Trainer:
        def __init__(self):
            self.net = nn.Linear(1, 1)
            with ingot.no_grad():
                self.net.weight.fill_(1.0)
                self.net.bias.fill_(0.5)
            self.opt = optim.SGD(self.net.parameters(), lr=0.01)
            self.history, self.steps = [], 0

        @jit.host
        def note(self, loss):
            if changes(loss):
                self.keep(float(loss))

        def keep(self, value):
            self.history.append(round(value, 4))

        def step(self, x):
            self.opt.zero_grad()
            loss = (self.net(x) ** 2).mean()
            loss.backward()
            self.opt.step()
            self.steps += 1
            self.note(loss.detach())
            return loss.detach()

    t = Trainer()
    return calls(wrap(t.step)), t.history, t.steps
