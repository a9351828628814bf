"""Programs that read attributes and variables after a host step changed them."""

import sys
import types

from ingot import jit

from .common import READ_AFTER, calls, every, read_after

TOTAL = 0


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
    READ_AFTER["attribute" + _make.__name__] = _of_attribute(_make)


@read_after
def method_of_an_object_that_is_read(wrap, changes):
    counter = Counter()

    def add(v):
        if changes(v):
            counter.bump(v)

    def fn(x):
        jit.host(add)(x.sum())
        return x * counter.value()

    return calls(wrap(fn)), vars(counter)


@read_after
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


@read_after
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


@read_after
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


@read_after
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


@read_after
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
