"""Attributes that traced functions set by names that no code spells out, and what hooks that are objects keep."""

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
