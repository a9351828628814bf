"""Functions that read and write Python state between calls: each factory gives (function, what changes outside after a call).

`READS` change outside, `WRITES` are changed by the function itself; the number is how many recordings are fine.
"""

import ingot
from ingot import nn


class Holder:
    """An object with whatever attributes it is given."""

    def __init__(self, **values):
        self.__dict__.update(values)


def nothing():
    """Nothing changes outside."""


def attribute():
    o = Holder(t=1.0)

    def fn(x):
        return x * o.t + o.t ** 2 if o.t > 0.95 else x / o.t

    def change():
        o.t *= 0.99
    return fn, change


def closure():
    lr = 0.5

    def fn(x):
        return x - lr * x.sin()

    def change():
        nonlocal lr
        lr *= 0.9
    return fn, change


def item():
    cfg = {"lr": 0.1, "n": 0, "name": "x"}

    def fn(x):
        return x * cfg["lr"] + cfg["n"]

    def change():
        cfg["lr"] *= 0.5
        cfg["n"] += 1
    return fn, change


def nested_item():
    o = Holder(cfg={"a": [1.0, 2.0]})

    def fn(x):
        return x * (o.cfg["a"][0] * 2) + o.cfg["a"][1]

    def change():
        o.cfg["a"][0] += 0.1
    return fn, change


def class_attribute():
    class Config:
        lr = 0.1

    def fn(x):
        return x * Config.lr

    def change():
        Config.lr *= 0.9
    return fn, change


def module_attribute():
    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.temperature, self.step = 1.0, 0

        def forward(self, x):
            return x / self.temperature + self.step / 10

    m = Scaled()

    def change():
        m.temperature *= 0.99
        m.step += 1
    return m, change


def power():
    o = Holder(step=0)

    def fn(x):
        return x * (1 - 0.9 ** (o.step + 1))

    def change():
        o.step += 1
    return fn, change


def filled():
    o = Holder(v=0.25)

    def fn(x):
        return x ** o.v + ingot.full((3,), o.v) * ingot.tensor(o.v) + ingot.zeros(3).fill_(o.v)

    def change():
        o.v += 0.125
    return fn, change


def tensor_attribute():
    o = Holder(h=ingot.zeros(3))

    def fn(x):
        return x + o.h

    def change():
        o.h = o.h + 1
    return fn, change


def one_tensor_twice():
    """Two ways to one tensor, which part later."""
    t = ingot.ones(3)
    o, p = Holder(h=t), Holder(h=t)

    def fn(x):
        return x * o.h + p.h * 10

    def change():
        o.h = o.h + 1
    return fn, change


def one_dictionary_twice():
    d = {"lr": 0.5}
    o, p = Holder(cfg=d), Holder(cfg=d)
    calls = [0]

    def fn(x):
        return x * o.cfg["lr"] + p.cfg["lr"] * 10

    def change():
        calls[0] += 1
        d["lr"] += 0.25
        if calls[0] == 4:
            p.cfg = {"lr": 7.0}
    return fn, change


def counts():
    class Counts:
        n, t, last = 0, 1.0, None

        def __call__(self, x):
            self.t *= 0.99
            self.n += 1
            self.last = x * self.t
            return self.last + self.n

    return Counts(), nothing


def module_state():
    class Stream(nn.Module):
        def __init__(self):
            super().__init__()
            self.h, self.calls = None, 0

        def forward(self, x):
            self.calls += 1
            if self.h is None:
                self.h = ingot.zeros(3)
            self.h = (x + self.h).tanh()
            self.stats = {"mean": self.h.mean(), "calls": self.calls}
            return self.h + self.stats["mean"]

    return Stream(), nothing


class Config:
    """Options with names of their own for some, as libraries have them."""

    known_as = {"old": "kind"}

    def __init__(self):
        self.kind, self.steps = None, 0

    def __setattr__(self, name, value):
        super().__setattr__(super().__getattribute__("known_as").get(name, name), value)


def chosen(x, config):
    """A loss that looks up, or chooses, its kind in a configuration."""
    if config.kind is None:
        config.kind = "mean" if x.ndim else "sum"
    config.steps += 1
    return getattr(x, config.kind)() * config.steps


def object_of_a_module():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.config = Config()

        def forward(self, x):
            return chosen(x * 2, self.config)

    return Model(), nothing


def enclosing_variables():
    k, momentum = 0, ingot.zeros(3)

    def fn(x):
        nonlocal k, momentum
        k += 1
        momentum = momentum * 0.9 + x
        return momentum / (1 - 0.9 ** k)
    return fn, nothing


CALLS = 0


def global_variable():
    global CALLS
    CALLS = 0

    def fn(x):
        global CALLS
        CALLS += 1
        return x * CALLS
    return fn, nothing


def written_in_a_loop():
    o = Holder(h=ingot.zeros(3), s=0.0)

    def fn(x):
        for i in range(3):
            o.h = (o.h + x).tanh()
            o.s = o.s * 0.5 + i
        return o.h * o.s
    return fn, nothing


def swapped():
    o = Holder(p=ingot.zeros(3), q=ingot.ones(3))

    def fn(x):
        o.p, o.q = o.q, o.p
        return x + o.p * 3
    return fn, nothing


def flags():
    o = Holder(first=True, mode="a")

    def fn(x):
        o.mode = {"a": "b", "b": "c", "c": "a"}[o.mode]
        if o.first:
            o.first = False
            return x * 100
        return x * ord(o.mode)
    return fn, nothing


def argument_kept():
    o = Holder(last=None)

    def fn(x):
        before, o.last = o.last, x
        return x if before is None else x + before
    return fn, nothing


def history_kept():
    w = ingot.ones(3).requires_grad_()
    o = Holder(h=ingot.zeros(3))

    def fn(x):
        o.h = o.h.detach() * 0.5 + w * x
        w.grad = None
        o.h.sum().backward(retain_graph=True)
        return w.grad
    return fn, nothing


def kept_and_returned():
    o = Holder(y=None)

    def fn(x):
        o.y = x * 2
        return o.y

    return fn, lambda: o.y.add_(1) if o.y is not None else None


READS = ((attribute, 3), (closure, 2), (item, 2), (nested_item, 2), (class_attribute, 2), (module_attribute, 2), (power, 2),
         (filled, 5), (tensor_attribute, 2), (one_tensor_twice, 4), (one_dictionary_twice, 5))
WRITES = ((counts, 3), (module_state, 3), (object_of_a_module, 3), (enclosing_variables, 2), (global_variable, 2),
          (written_in_a_loop, 2), (swapped, 2), (flags, 5), (argument_kept, 3), (history_kept, 3), (kept_and_returned, 3))
