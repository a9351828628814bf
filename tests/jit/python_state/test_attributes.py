"""Attributes that traced functions set by computed names, and state of hooks that are objects."""

import types

import numpy as np
import pytest

import ingot
from ingot import jit, nn
from ingot.nn.utils import prune

# Each gives (function, what is to be seen of what it wrote).


class Holder:
    pass


def by_an_attribute():
    o = Holder()
    o.name = "v"

    def fn(x):
        setattr(o, o.name, x * 2)
        return x + 1

    return fn, lambda: o.v


def by_several_names():
    o = Holder()

    def fn(x):
        for i in range(3):
            setattr(o, f"a{i}", x * i)
        return x

    return fn, lambda: o.a0 + 10 * o.a1 + 100 * o.a2


def in_the_table():
    o, names = Holder(), ["w"]

    def fn(x):
        vars(o)[names[0]] = x * 2
        return x

    return fn, lambda: o.w


def of_a_module(write):
    def make():
        m = nn.Linear(1, 1)
        m.register_buffer("b", ingot.zeros(1))
        kept = ["b"]

        def fn(x):
            write(m, kept[0], .5 * m.b + x)
            return x

        return fn, lambda: m.b

    return make


def a_new_buffer():
    m = nn.Linear(1, 1)

    def fn(x):
        m.register_buffer("more", x * 3)
        return x

    return fn, lambda: m.more


class Keeps:
    """A hook that is an object."""

    kept = None

    def __call__(self, *seen):
        self.kept = seen[-1] * 1 if isinstance(seen[-1], ingot.Tensor) else seen[-1][0] * 1


def a_hook(register):
    def make():
        layer, hook = nn.Sequential(nn.Identity(), nn.Tanh()), Keeps()
        getattr(layer[1], register)(hook)
        return lambda x: layer(x) + 1, lambda: hook.kept

    return make


PROGRAMS = {
    "attribute": by_an_attribute, "several": by_several_names, "table": in_the_table, "setattr": of_a_module(setattr),
    "buffers": of_a_module(lambda m, name, value: m._buffers.__setitem__(name, value)),
    "register": of_a_module(lambda m, name, value: m.register_buffer(name, value)), "new buffer": a_new_buffer,
    "forward hook": a_hook("register_forward_hook"), "pre hook": a_hook("register_forward_pre_hook"),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_replays_write_what_eager_code_writes(name):
    (plain, seen), (traced, seen_traced) = PROGRAMS[name](), PROGRAMS[name]()
    run = jit.trace(traced)
    for k in range(6):
        x = ingot.full((1,), k + 1.0)
        assert run(x).tolist() == plain(x).tolist() and seen_traced().tolist() == seen().tolist(), f"call {k}"
    assert run.stats()["compiles"] <= 3


@pytest.mark.parametrize("change", [lambda m: prune.l1_unstructured(m, "weight", .3), nn.utils.weight_norm,
                                    nn.utils.spectral_norm], ids=["prune", "weight_norm", "spectral_norm"])
def test_weights_made_before_each_call_are_those_of_the_last_one(change):
    def weights(traced):
        ingot.manual_seed(0)
        m = nn.Linear(3, 3, bias=False)
        change(m)
        opt = ingot.optim.SGD(m.parameters(), lr=.1)

        def step(x):
            opt.zero_grad()
            m(x).pow(2).sum().backward()
            opt.step()

        run = jit.trace(step) if traced else step
        return [(run(ingot.tensor([1., 2, 3]) * k), m.weight.detach().numpy().copy())[1] for k in range(5)]

    np.testing.assert_allclose(weights(True), weights(False), rtol=1e-5, atol=1e-6)


# Queries of absent attributes by computed names: each gives (function, what puts it there).


class Slotted:
    __slots__ = ("given1", "kept")


def suffix():
    return str(len("a"))


def _asking(ask, put=lambda o: setattr(o, "given1", 4.0)):
    def make():
        o = type("Own", (Holder,), {"__module__": __name__})()
        o.kept, o.given0 = 2.0, 3.0
        return lambda x: x * ask(o), lambda: put(o)

    return make


def as_many_as_there_are(o):
    product, i = 1.0, 0
    while hasattr(o, f"given{i}"):
        product, i = product * getattr(o, f"given{i}"), i + 1
    return product


def until_one_is_missing(o):
    product = 1.0
    for i in range(3):
        try:
            product *= getattr(o, f"given{i}")
        except AttributeError:
            break
    return product


def found_by(o, name, default=None):
    return getattr(o, "given" + name, default)


def of_slots():
    o = Slotted()
    return lambda x: x * (5 if hasattr(o, "given" + suffix()) else 1), lambda: setattr(o, "given1", 1)


def of_a_captured_tensor():
    t = ingot.ones(1)
    return lambda x: x * (5 if hasattr(t, "given" + suffix()) else 1) + t, lambda: setattr(t, "given1", 1)


def of_a_module_of_pythons():
    settings = types.ModuleType("settings_of_a_test")
    return lambda x: x * getattr(settings, "given" + suffix(), 1.0), lambda: setattr(settings, "given1", 4.0)


def of_objects_in_a_list():
    held = [Holder(), Holder()]
    return lambda x: x * sum(found_by(o, "1", 0.5) for o in held), lambda: setattr(held[1], "given1", 4.0)


ASKING = {
    "hasattr": _asking(lambda o: 5 if hasattr(o, "given" + suffix()) else 1),
    "hasattr of a class": _asking(lambda o: 5 if hasattr(o, "given" + suffix()) else 1,
                                   lambda o: setattr(type(o), "given1", 1)),
    "hasattr in a generator": _asking(lambda o: 1 + sum(hasattr(o, name) for name in ["kept", "given1"])),
    "a default": _asking(lambda o: getattr(o, "given" + suffix(), 1.0)),
    "a default, in a helper": _asking(lambda o: found_by(o, suffix()) or 3.0),
    "as many as there are": _asking(as_many_as_there_are),
    "until one is missing": _asking(until_one_is_missing),
    "dir": _asking(lambda o: len([name for name in dir(o) if name.startswith("given")])),
    "dir with classes": _asking(lambda o: len([name for name in dir(o) if name.startswith("given")]),
                                lambda o: setattr(type(o), "given1", 1)),
    "vars": _asking(lambda o: len(vars(o))),
    "the order of vars": _asking(lambda o: 2 if next(iter(vars(o))) == "kept" else 1,
                                 lambda o: (delattr(o, "kept"), setattr(o, "kept", 2.0))),
    **{f.__name__: f for f in (of_slots, of_a_captured_tensor, of_a_module_of_pythons, of_objects_in_a_list)},
}


@pytest.mark.parametrize("name", ASKING)
def test_what_is_asked_for_by_a_computed_name_and_comes_later_is_seen(name):
    def results(wrap):
        fn, put = ASKING[name]()
        fn, x = wrap(fn), ingot.ones(1)
        found = [fn(x).item() for _ in range(3)]
        put()
        return found + [fn(x).item() for _ in range(3)], fn

    want, _ = results(lambda fn: fn)
    got, traced = results(jit.trace)
    assert want[2] != want[3] and got == want
    assert traced.stats()["compiles"] == 2


@pytest.mark.parametrize("fill", [
    lambda o: hasattr(o, "given" + suffix()) or setattr(o, "given1", 3.0),
    lambda o: setattr(o, "given" + suffix(), getattr(o, "given" + suffix(), 0.0) + 1),
    lambda o: vars(o).__setitem__("given" + suffix(), len(vars(o)))], ids=["once", "counted", "in the table"])
def test_what_is_missing_may_be_put_there_by_the_function(fill):
    def results(wrap):
        o = Holder()
        fn = wrap(lambda x: (fill(o), x * o.given1)[1])
        return [fn(ingot.ones(1)).item() for _ in range(4)]

    assert results(jit.trace) == results(lambda fn: fn)
