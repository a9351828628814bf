"""State that traced functions carry from call to call in containers, and containers that their helpers receive."""

import collections

import pytest

import ingot
from call_sequences import life, nothing
from ingot import jit, nn


def carried(first, after, read):
    def program():
        state = {"s": first()}

        def fn(x):
            made = read(state["s"], x)
            state["s"] = after(made)
            return made
        return fn, lambda: state.update(s=first()), lambda: str(state["s"])
    return program


Hidden = collections.namedtuple("Hidden", "h c")
CARRIED = {
    "tuple": (lambda: (ingot.zeros(3), ingot.ones(3)), lambda h: (h.detach(), h * 2), lambda s, x: s[0] + s[1] + x),
    "list": (lambda: [ingot.zeros(3), ingot.ones(3)], lambda h: [h.detach(), h * 2], lambda s, x: s[0] + s[1] + x),
    "dict": (lambda: {"h": ingot.zeros(3)}, lambda h: {"h": h * 0.5}, lambda s, x: s["h"] + x),
    "pairs": (lambda: [(ingot.zeros(3),) * 2], lambda h: [(h, h * 2)], lambda s, x: s[0][0] + s[0][1] + x),
    "named": (lambda: Hidden(ingot.zeros(3), ingot.ones(3)), lambda h: Hidden(h, h * 2), lambda s, x: s.h + s.c + x),
    "none first": (lambda: None, lambda h: (h, h * 2), lambda s, x: x * 2 if s is None else s[0] + s[1] + x),
}


@pytest.mark.parametrize("name", CARRIED)
def test_state_in_containers_is_carried_without_new_recordings(name):
    want, _ = life(carried(*CARRIED[name]), lambda fn: fn)
    got, traced = life(carried(*CARRIED[name]), jit.trace)
    assert got == want
    assert traced.stats()["compiles"] <= 4, traced.stats()["misses"]


def filled(d):
    d["twice"] = d["x"] * 2


def helper_on_own_dictionary():
    def fn(x):
        made = {"x": x}
        filled(made)
        return made["twice"]
    return fn, nothing, nothing


def kept_after_a_helper():
    state = {}

    def fn(x):
        made = {"x": x}
        filled(made)
        state["last"] = made
        return made["twice"]
    return fn, nothing, lambda: state["last"]["twice"]


def logged_by_default():
    log = collections.defaultdict(list)

    def fn(x):
        log["loss"].append(x.sum().item())
        return x * 2
    return fn, nothing, lambda: dict(log)


def counted():
    counts = collections.Counter()

    def fn(x):
        counts["calls"] += 1
        counts["rows"] += x.shape[0]
        return x * counts["calls"]
    return fn, nothing, lambda: dict(counts)


def handed_on():
    config = {"model": {"scale": 2.0, "steps": [1.0, 2.0]}}
    return (lambda x: x * (lambda c: c["scale"] * c["steps"][0])(config["model"]),
            lambda: config["model"]["steps"].__setitem__(0, 7.0), nothing)


def handed_on_in_an_object():
    holder = Slots([2.0])
    return (lambda x: x * sum((lambda t: t[0])(h.table) for h in [holder])), lambda: holder.table.__setitem__(0, 7.0), nothing


class Slots:
    __slots__ = ("table",)

    def __init__(self, table):
        self.table = table


def frozen_parameters():
    net = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    return (lambda x: x * sum(p.numel() for p in net.parameters() if p.requires_grad),
            lambda: net[0].requires_grad_(False), nothing)


@pytest.mark.parametrize("program", [helper_on_own_dictionary, kept_after_a_helper, logged_by_default, counted, handed_on,
                                     handed_on_in_an_object, frozen_parameters], ids=lambda p: p.__name__)
def test_containers_are_guarded_at_their_source(program):
    want, _ = life(program, lambda fn: fn)
    got, traced = life(program, jit.trace)
    assert got == want
    assert traced.stats()["compiles"] <= 3, traced.stats()["misses"]
