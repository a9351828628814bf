"""Programs whose host steps read state that was written before."""

import types

import ingot
from ingot import jit, nn, optim

from .common import READ_BY_HOST, calls, every, read_by_host


@read_by_host
def attribute_that_was_set(wrap, changes):
    o, got = types.SimpleNamespace(n=0), []

    def look(v):
        if changes(v):
            got.append(o.n)

    def fn(x):
        o.n += 1
        jit.host(look)(x.sum())
        return x

    return calls(wrap(fn)), got


@read_by_host
def list_that_was_filled(wrap, changes):
    log: list = []
    got: list = []

    def look(v):
        if changes(v):
            got.append(len(log))

    def fn(x):
        log.append(x.sum().item())
        jit.host(look)(x.sum())
        return x

    return calls(wrap(fn)), got


@read_by_host
def variable_that_was_set(wrap, changes):
    n, got = 0, []

    def look(v):
        if changes(v):
            got.append(n)

    def fn(x):
        nonlocal n
        n += 1
        jit.host(look)(x.sum())
        return x

    return calls(wrap(fn)), got


@read_by_host
def tensor_that_was_written(wrap, changes):
    t, got = ingot.zeros(1), []

    def look(v):
        if changes(v):
            got.append(float(t))

    def fn(x):
        t.add_(x)
        jit.host(look)(x.sum())
        return x + t

    return calls(wrap(fn)), got


@read_by_host
def tensor_that_was_written_and_is_computed_with(wrap, changes):
    t = ingot.zeros(1)

    def add(v):
        return t + v if changes(v) else v * 1

    def fn(x):
        t.add_(x)
        return jit.host(add)(x) * 2

    return calls(wrap(fn)), t.tolist()


@read_by_host
def buffers_of_a_module(wrap, changes):
    norm, got = nn.BatchNorm1d(2), []

    class Watcher:
        def look(self, v):
            if changes(v):
                got.append([round(x, 4) for x in norm.running_mean.tolist()])

    watcher = Watcher()

    def fn(x):
        y = norm(ingot.stack([x.expand(2), 2 * x.expand(2) + 1]))
        jit.host(watcher.look)(x.sum())
        return y

    return calls(wrap(fn)), got


def _of_weights(look_at):
    def program(wrap, changes):
        w = ingot.zeros(2000, requires_grad=True)
        opt, got = optim.SGD([w], lr=0.1), []

        def look():
            if changes(len(got)):
                got.append(look_at(w, opt))

        def before(x):
            opt.zero_grad()
            ((w - x) ** 2).sum().backward()
            jit.host(look)()
            opt.step()
            return x * 1

        def behind(x):
            opt.zero_grad()
            ((w - x) ** 2).sum().backward()
            opt.step()
            jit.host(look)()
            return x * 1

        return [calls(wrap(fn)) for fn in (before, behind)], got, round(float(w.sum()), 2)
    return program


READ_BY_HOST["weights"] = _of_weights(lambda w, opt: round(float(w.sum()), 2))
READ_BY_HOST["weights_by_their_optimizer"] = _of_weights(
    lambda w, opt: round(float(sum(p.sum() for g in opt.param_groups for p in g["params"])), 2))
READ_BY_HOST["gradients"] = _of_weights(lambda w, opt: None if w.grad is None else round(float(w.grad.sum()), 2))


@read_by_host
def weights_before_they_are_written(wrap, changes):
    w, got = ingot.zeros(2000), []

    def look():
        if changes(len(got)):
            got.append(round(float(w.sum()), 2))

    def fn(x):
        change = (w - x) * 0.2
        jit.host(look)()
        w.sub_(change)
        return x * 1

    return calls(wrap(fn)), got


@read_by_host
def weights_that_are_clipped(wrap, changes):
    w = ingot.zeros(2000, requires_grad=True)
    opt, got = optim.SGD([w], lr=0.1), []

    def clip(v):
        if changes(v):
            w.data.clamp_(-1, 0.1)

    def fn(x):
        opt.zero_grad()
        ((w - x) ** 2).sum().backward()
        opt.step()
        jit.host(clip)(x.sum())
        return x * 1

    return calls(wrap(fn), lambda i: got.append(round(float(w.sum()), 2))), got


@read_by_host
def what_another_host_step_has_left(wrap, changes):
    log: list = []

    def add(v):
        if changes(v):
            log.append(float(v))

    def count(v):
        return ingot.full((1,), float(len(log)))

    def fn(x):
        jit.host(add)(x.sum())
        return x * jit.host(count)(x)

    return calls(wrap(fn), every(3, log.clear)), log


@read_by_host
def variable_that_another_host_step_has_set(wrap, changes):
    n = 0

    def add(v):
        nonlocal n
        n += int(changes(v))

    def count(v):
        return v * n

    def fn(x):
        jit.host(add)(x.sum())
        return x + jit.host(count)(x)

    return calls(wrap(fn)), n
