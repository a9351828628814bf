"""Programs whose host steps change Python state, and which read it behind them, before them, or not at all.

Each is a function of (wrap, changes): it gives the results of some calls of the wrapped function, and what they have left.
`changes(v)` says whether a host step changes anything, of which it is told a number.
"""

import collections
import contextlib
import dataclasses
import io
import sys
import types

import numpy as np

import ingot
from ingot import jit, nn, optim

VALUES = (1, 2, 1, 3, 2, 2, 1, 1, 4, 1, 2)
BEHIND: dict = {}           # what a host step changes is read behind it
BESIDE: dict = {}           # it is not
WRITTEN: dict = {}          # a host step reads what the function has written, or what another one has
TOTAL = 0


def behind(f):
    """A program that reads behind a host step what that changes."""
    BEHIND[f.__name__] = f
    return f


def beside(f):
    """A program that does not."""
    BESIDE[f.__name__] = f
    return f


def written(f):
    """A program in which a host step reads what was written before."""
    WRITTEN[f.__name__] = f
    return f


def calls(fn, between=lambda i: None):
    """The results of calls, rounded, since compiled products may differ in the last place."""
    found = []
    for i, v in enumerate(VALUES):
        found.append([round(x, 4) for x in fn(ingot.full((1,), float(v))).reshape(-1).tolist()])
        between(i)
    return found


def every(n, what):
    """Does something after every n-th call."""
    return lambda i: what() if i % n == n - 1 else None


# Containers.

def _of_list(read, start=()):
    def program(wrap, changes):
        log = list(start)

        def add(v):
            if changes(v):
                log.append(float(v))

        return calls(wrap(read(log, jit.host(add))), every(3, log.clear) if not start else lambda i: None), log
    return program


def _length(log, add):
    def fn(x):
        add(x.sum())
        return x * len(log)
    return fn


def _whether_any(log, add):
    def fn(x):
        add(x.sum())
        return x * 2 if log else x
    return fn


def _last(log, add):
    def fn(x):
        add(x.sum())
        return x * log[-1]
    return fn


def _sum(log, add):
    def fn(x):
        add(x.sum())
        return x * sum(log)
    return fn


def _by_another_name(log, add):
    def fn(x):
        mine = log
        add(x.sum())
        return x * len(mine)
    return fn


def _in_another_function(log, add):
    def total():
        return sum(log)

    def fn(x):
        add(x.sum())
        return x * total()
    return fn


def _before_and_behind(log, add):
    def fn(x):
        y = x * len(log)
        add(x.sum())
        return y + 10 * len(log)
    return fn


def _in_a_loop(log, add):
    def fn(x):
        for _ in range(3):
            x = x + len(log)
            add(x.sum())
        return x
    return fn


def _looped_over(log, add):
    def fn(x):
        for _ in range(2):
            add(x.sum())
            for v in log:
                x = x + v
        return x
    return fn


def _behind_a_branch(log, add):
    def fn(x):
        add(x.sum())
        return x * len(log) if x.sum() > 1.5 else x
    return fn


def _nested(log, add):
    @jit.host
    def twice(v):
        add(v)
        add(v)

    def fn(x):
        twice(x.sum())
        return x * len(log)
    return fn


def _behind_several(log, add):
    @jit.host
    def other(v):
        pass

    def fn(x):
        other(x)
        add(x.sum())
        other(x)
        y = x * 2
        add(y.sum())
        return y + len(log)
    return fn


def _from_a_generator(log, add):
    def fn(x):
        for v in (v for v in (1.0, 2.0)):
            add(x.sum())
            x = x + v * sum(y for y in log)
        return x
    return fn


def _through_a_generator(log, add):
    def fn(x):
        later = (v for v in log)
        add(x.sum())
        return x + sum(later)
    return fn


def _in_a_try(log, add):
    def fn(x):
        try:
            add(x.sum())
        finally:
            x = x + len(log)
        return x
    return fn


def _with_what_it_gives(log, add):
    @jit.host
    def doubled(v):
        add(v.sum())
        return v * 2

    def fn(x):
        return doubled(x) * len(log)
    return fn


for _make in (_length, _whether_any, _sum, _by_another_name, _in_another_function, _before_and_behind, _in_a_loop, _looped_over,
              _behind_a_branch, _nested, _behind_several, _from_a_generator, _through_a_generator, _in_a_try,
              _with_what_it_gives):
    BEHIND["list" + _make.__name__] = _of_list(_make)
BEHIND["list_last"] = _of_list(_last, (1.0,))


@behind
def list_filled_by_its_method(wrap, changes):
    log: list = []

    def fn(x):
        jit.host(log.append)(x.sum().item())
        return x * len(log)

    return calls(wrap(fn), every(3, log.clear)), log


@behind
def list_that_grows_while_it_is_looped_over(wrap, changes):
    log = [1.0]

    @jit.host
    def add(v):
        if changes(v) and len(log) < 4:
            log.append(float(v))

    def fn(x):
        for v in log:
            add(x.sum())
            x = x + v
        return x

    return calls(wrap(fn), lambda i: log.__delitem__(slice(1, None))), log


@behind
def dict_item(wrap, changes):
    table = {"n": 0}

    def add(v):
        if changes(v):
            table["n"] += 1

    def fn(x):
        jit.host(add)(x.sum())
        return x * table["n"]

    return calls(wrap(fn)), table


@behind
def dict_keys(wrap, changes):
    table: dict = {}

    def add(v):
        if changes(v):
            table[float(v)] = len(table)

    def fn(x):
        jit.host(add)(x.sum())
        return x * len(table) + (1 if 2.0 in table else 0)

    return calls(wrap(fn), every(4, table.clear)), table


@behind
def nested_containers(wrap, changes):
    history = {"loss": [[]], "n": 1.0}

    def add(v):
        if changes(v):
            history["loss"][0].append(float(v))

    def fn(x):
        jit.host(add)(x.sum())
        return x * sum(map(sum, history["loss"]))

    return calls(wrap(fn), every(3, lambda: history["loss"][0].clear())), history


@behind
def set_of_numbers(wrap, changes):
    seen: set = set()

    def add(v):
        if changes(v):
            seen.add(float(v))

    def fn(x):
        jit.host(add)(x.sum())
        return x * len(seen)

    return calls(wrap(fn), every(4, seen.clear)), seen


@behind
def window(wrap, changes):
    last: collections.deque = collections.deque(maxlen=3)

    def add(v):
        if changes(v):
            last.append(float(v))

    def fn(x):
        jit.host(add)(x.sum())
        return x * sum(last)

    return calls(wrap(fn)), list(last)


def _of_array(read):
    def program(wrap, changes):
        a = np.zeros(1, np.float32)

        def add(v):
            if changes(v):
                a[0] += float(v)

        def fn(x):
            jit.host(add)(x.sum())
            return x * read(a)

        return calls(wrap(fn), lambda i: a.fill(i % 2)), a.tolist()
    return program


BEHIND["array_element"] = _of_array(lambda a: float(a[0]))
BEHIND["array_as_a_tensor"] = _of_array(lambda a: ingot.tensor(a))


# Attributes and variables.

class Counter:
    """Counts, and keeps what it was given."""

    def __repr__(self):
        return f"{self.n} {self.items}"

    def __init__(self):
        self.n, self.items = 0, []

    def bump(self, v):
        self.n += int(float(v))
        self.items.append(float(v))

    def value(self):
        return self.n + len(self.items)


def _of_attribute(read):
    def program(wrap, changes):
        o = types.SimpleNamespace(n=0.0)

        def add(v):
            if changes(v):
                o.n += 1.0

        return calls(wrap(read(o, jit.host(add))), lambda i: setattr(o, "n", float(i % 2))), o.n
    return program


def _by_its_name(o, add):
    def fn(x):
        add(x.sum())
        return x * o.n
    return fn


def _by_a_local_name(o, add):
    def fn(x):
        p = o
        add(x.sum())
        return x * p.n
    return fn


def _out_of_a_list(o, add):
    objects = [o]

    def fn(x):
        add(x.sum())
        for p in objects:
            x = x * (1 + p.n)
        return x
    return fn


def _by_getattr(o, add):
    def fn(x):
        add(x.sum())
        return x * getattr(o, "".join(["n"]))
    return fn


def _by_a_function(o, add):
    def value():
        return o.n

    def fn(x):
        add(x.sum())
        return x * value()
    return fn


def _of_a_read_number(o, add):
    def fn(x):
        add(x.sum().item() * 2)
        return x * o.n
    return fn


for _make in (_by_its_name, _by_a_local_name, _out_of_a_list, _by_getattr, _by_a_function, _of_a_read_number):
    BEHIND["attribute" + _make.__name__] = _of_attribute(_make)


@behind
def method_of_an_object_that_is_read(wrap, changes):
    counter = Counter()

    def add(v):
        if changes(v):
            counter.bump(v)

    def fn(x):
        jit.host(add)(x.sum())
        return x * counter.value()

    return calls(wrap(fn)), vars(counter)


@behind
def method_that_is_a_host_function(wrap, changes):
    class Trainer:
        def __init__(self):
            self.n, self.log = 0, []

        @jit.host
        def note(self, v):
            if changes(v):
                self.n += 1
                self.log.append(float(v))

        def step(self, x):
            self.note(x.sum())
            return x * self.n + len(self.log)

    t = Trainer()

    def reset():
        t.n = 0
        t.log.clear()

    return calls(wrap(t.step), every(3, reset)), vars(t)


@behind
def attribute_of_a_python_module(wrap, changes):
    module: types.ModuleType = types.ModuleType("rates")
    setattr(module, "rate", 0.0)        # noqa: B010  (types do not know of it)

    def add(v):
        if changes(v):
            setattr(module, "rate", module.rate + 1)        # noqa: B010

    def fn(x):
        jit.host(add)(x.sum())
        return x * module.rate

    return calls(wrap(fn), lambda i: setattr(module, "rate", float(i % 2))), module.rate


@behind
def global_variable(wrap, changes):
    space = sys.modules[__name__]

    def add(v):
        global TOTAL
        if changes(v):
            TOTAL += 1

    def fn(x):
        jit.host(add)(x.sum())
        return x * TOTAL

    setattr(space, "TOTAL", 0)      # noqa: B010
    return calls(wrap(fn), lambda i: setattr(space, "TOTAL", i % 2)), TOTAL


@behind
def variable_of_an_enclosing_function(wrap, changes):
    n = 0

    def add(v):
        nonlocal n
        if changes(v):
            n += 1

    def fn(x):
        jit.host(add)(x.sum())
        return x * n

    def reset(i):
        nonlocal n
        n = i % 2

    return calls(wrap(fn), reset), n


@behind
def function_that_is_replaced(wrap, changes):
    o = types.SimpleNamespace(f=lambda x: x * 2)

    def thrice(x):
        return x * 3

    def add(v):
        if changes(v):
            o.f = thrice

    def fn(x):
        jit.host(add)(x.sum())
        return o.f(x)

    return calls(wrap(fn)), o.f is thrice


# Tensors.

@behind
def tensor_written_in_place(wrap, changes):
    t = ingot.zeros(1)

    def add(v):
        if changes(v):
            t.add_(v)

    def fn(x):
        jit.host(add)(x.sum())
        return x * t

    return calls(wrap(fn), lambda i: t.fill_(float(i % 2))), t.tolist()


@behind
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


@behind
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
        self.seen, self.log, self.changes = 0, [], changes
        with ingot.no_grad():
            self.linear.weight.fill_(1.0)
            self.linear.bias.fill_(0.5)

    @jit.host
    def note(self, v):
        if self.changes(v):
            self.seen += 1
            self.log.append(float(v))

    def forward(self, x):
        h = self.linear(x)
        self.note(x.sum())
        return h


class ReadsBehind(Net):
    def forward(self, x):
        h = self.linear(x)
        self.note(x.sum())
        return h * self.seen + len(self.log)


class ReadsBefore(Net):
    def forward(self, x):
        h = self.linear(x) * self.seen
        self.note(x.sum())
        return h


def _of_module(kind):
    def program(wrap, changes):
        net = kind(changes)
        return calls(wrap(net.forward)), net.seen, net.log
    return program


BEHIND["module_forward"] = _of_module(ReadsBehind)
BESIDE["module_that_reads_nothing"] = _of_module(Net)
BESIDE["module_that_reads_before"] = _of_module(ReadsBefore)


@behind
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


BEHIND["training_that_weighs_by_what_was_noted"] = _of_training(_weighs_the_loss)
BEHIND["training_at_a_rate_that_is_set"] = _of_training(_sets_the_rate)
BESIDE["training_that_notes"] = _of_training(_only_notes)


# Printing and randomness around it.

@behind
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


# What is changed is not read behind.

@beside
def list_that_is_only_filled(wrap, changes):
    log: list = []

    def add(v):
        if changes(v):
            log.append(float(v))

    def fn(x):
        jit.host(add)(x.sum())
        return x * 2

    return calls(wrap(fn), every(3, log.clear)), log


@beside
def dictionary_that_is_only_given(wrap, changes):
    log: list = []

    @jit.host
    def add(found):
        if changes(found["loss"]):
            found["seen"] = len(log)
            log.append(float(found["loss"]))

    def fn(x):
        add({"loss": x.sum(), "name": "step"})
        return x * 2

    return calls(wrap(fn)), log


@beside
def list_whose_method_fills_it(wrap, changes):
    log: list = []

    def fn(x):
        jit.host(log.append)(x.sum().item())
        return x * 2

    return calls(wrap(fn), every(3, log.clear)), log


@beside
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


@beside
def another_attribute_is_read(wrap, changes):
    o = types.SimpleNamespace(n=0.0, m=2.0)

    def add(v):
        if changes(v):
            o.n += 1

    def fn(x):
        jit.host(add)(x.sum())
        return x * o.m

    return calls(wrap(fn)), o.n


@beside
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


@beside
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


@beside
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


# Host steps read what was written before.

@written
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


@written
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


@written
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


@written
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


@written
def tensor_that_was_written_and_is_computed_with(wrap, changes):
    t = ingot.zeros(1)

    def add(v):
        return t + v if changes(v) else v * 1

    def fn(x):
        t.add_(x)
        return jit.host(add)(x) * 2

    return calls(wrap(fn)), t.tolist()


@written
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


WRITTEN["weights"] = _of_weights(lambda w, opt: round(float(w.sum()), 2))
WRITTEN["weights_by_their_optimizer"] = _of_weights(
    lambda w, opt: round(float(sum(p.sum() for g in opt.param_groups for p in g["params"])), 2))
WRITTEN["gradients"] = _of_weights(lambda w, opt: None if w.grad is None else round(float(w.grad.sum()), 2))


@written
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


@written
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


@written
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


@written
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


# What is an argument. Where a host step begins to change that in a replay, an error says so.

GIVEN: dict = {}


def _of_argument(make, change, read, reset=lambda x: None):
    def program(wrap, changes, found):
        given = make()

        def add(g, v):
            if changes(v):
                change(g)

        def fn(x, g):
            jit.host(add)(g, x.sum())
            return x * read(g)

        def by_closure(x, g):
            jit.host(lambda v: add(given, v))(x.sum())
            return x * read(g)

        for f in (wrap(fn), wrap(by_closure)):
            for i, v in enumerate(VALUES):
                found.append((f(ingot.full((1,), float(v)), given).tolist(), str(given)))
                if i % 3 == 2:
                    reset(given)
    return program


@dataclasses.dataclass
class Count:
    n: float = 0.0

    def add(self):
        self.n += 1.0


GIVEN["list"] = _of_argument(list, lambda g: g.append(1), len, list.clear)
GIVEN["dict"] = _of_argument(lambda: {"n": 0.0}, lambda g: g.update(n=g["n"] + 1), lambda g: g["n"])
GIVEN["list in a dict"] = _of_argument(lambda: {"log": []}, lambda g: g["log"].append(1), lambda g: len(g["log"]))
GIVEN["dataclass"] = _of_argument(Count, Count.add, lambda g: g.n)
GIVEN["object"] = _of_argument(Counter, lambda g: g.bump(1), lambda g: g.value())
GIVEN["tensor"] = _of_argument(lambda: ingot.zeros(1), lambda g: g.add_(1), lambda g: g)
GIVEN["array"] = _of_argument(lambda: np.zeros(1, np.float32), lambda g: np.add(g, 1, out=g), ingot.tensor)
