"""Programs with tensors, modules, training steps and prints, which read state after host steps changed it."""

import contextlib
import io
import types

import ingot
from ingot import jit, nn, optim

from .common import READ_AFTER, UNREAD, calls, every, read_after

# Tensors.

@read_after
def tensor_written_in_place(wrap, changes):
    t = ingot.zeros(1)

    def add(v):
        if changes(v):
            t.add_(v)

    def fn(x):
        jit.host(add)(x.sum())
        return x * t

    return calls(wrap(fn), lambda i: t.fill_(float(i % 2))), t.tolist()


@read_after
def view_of_a_tensor_written_in_place(wrap, changes):
    t = ingot.zeros(3)

    def add(v):
        if changes(v):
            t.add_(v)

    def fn(x):
        part = t[1:2]
        jit.host(add)(x.sum())
        return x * part

    return calls(wrap(fn), lambda i: t.fill_(float(i % 2))), t.tolist()


@read_after
def tensor_put_in_place_of_another(wrap, changes):
    o = types.SimpleNamespace(t=ingot.zeros(1))

    def add(v):
        if changes(v):
            o.t = o.t + v

    def fn(x):
        jit.host(add)(x.sum())
        return x * o.t

    return calls(wrap(fn), lambda i: setattr(o, "t", ingot.full((1,), float(i % 2)))), o.t.tolist()


# Modules and training.

class Net(nn.Module):
    """Notes what it is given."""

    def __init__(self, changes):
        super().__init__()
        self.linear = nn.Linear(1, 1)
        self.count, self.log, self.changes = 0, [], changes
        with ingot.no_grad():
            self.linear.weight.fill_(1.0)
            self.linear.bias.fill_(0.5)

    @jit.host
    def note(self, v):
        if self.changes(v):
            self.count += 1
            self.log.append(float(v))

    def forward(self, x):
        h = self.linear(x)
        self.note(x.sum())
        return h


class ReadsBehind(Net):
    def forward(self, x):
        h = self.linear(x)
        self.note(x.sum())
        return h * self.count + len(self.log)


class ReadsBefore(Net):
    def forward(self, x):
        h = self.linear(x) * self.count
        self.note(x.sum())
        return h


def _of_module(kind):
    def program(wrap, changes):
        net = kind(changes)
        return calls(wrap(net.forward)), net.count, net.log
    return program


READ_AFTER["module_forward"] = _of_module(ReadsBehind)
UNREAD["module_that_reads_nothing"] = _of_module(Net)
UNREAD["module_that_reads_before"] = _of_module(ReadsBefore)


@read_after
def mode_of_a_module(wrap, changes):
    drop = nn.Dropout(1.0)

    def add(v):
        if changes(v):
            drop.eval()

    def fn(x):
        jit.host(add)(x.sum())
        return drop(x)

    return calls(wrap(fn), every(3, drop.train)), drop.training


def _of_training(step):
    def program(wrap, changes):
        net = nn.Linear(1, 1)
        with ingot.no_grad():
            net.weight.fill_(1.0)
            net.bias.fill_(0.5)
        opt = optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
        history: list = []
        found = calls(wrap(step(net, opt, history, changes)), every(3, history.clear))
        weights = [round(x, 4) for x in (*net.weight.reshape(-1).tolist(), *net.bias.tolist())]
        return found, history, weights, opt.param_groups[0]["lr"]
    return program


def _weighs_the_loss(net, opt, history, changes):
    @jit.host
    def note(v):
        if changes(v):
            history.append(float(v))

    def step(x):
        opt.zero_grad()
        loss = (net(x) ** 2).mean()
        note(x.sum())
        (loss * (1 + len(history))).backward()
        opt.step()
        return loss.detach()
    return step


def _sets_the_rate(net, opt, history, changes):
    @jit.host
    def lower(v):
        if changes(v):
            opt.param_groups[0]["lr"] *= 0.5

    def step(x):
        opt.zero_grad()
        loss = (net(x) ** 2).mean()
        loss.backward()
        lower(x.sum())
        opt.step()
        return loss.detach()
    return step


def _only_notes(net, opt, history, changes):
    @jit.host
    def note(v):
        if changes(v):
            history.append(float(v))

    def step(x):
        opt.zero_grad()
        loss = (net(x) ** 2).mean()
        note(loss)
        loss.backward()
        opt.step()
        note(loss)
        return loss.detach()
    return step


READ_AFTER["training_that_weighs_by_what_was_noted"] = _of_training(_weighs_the_loss)
READ_AFTER["training_at_a_rate_that_is_set"] = _of_training(_sets_the_rate)
UNREAD["training_that_notes"] = _of_training(_only_notes)


# Printing and randomness around it.

@read_after
def printed_before_and_behind(wrap, changes):
    log: list = []

    def add(v):
        if changes(v):
            log.append(float(v))

    def fn(x):
        print("before", x)
        jit.host(add)(x.sum())
        print("behind", len(log), x)
        return x * len(log) + ingot.rand(1)

    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        ingot.manual_seed(0)
        return calls(wrap(fn), every(3, log.clear)), text.getvalue(), log
