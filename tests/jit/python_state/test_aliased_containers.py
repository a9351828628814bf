"""Containers that several pieces of code reach on different ways: by a chain of names, as an attribute of an item of a loop,
in a class, by a computed name. Each read counts, whatever the other ways do; unread content does not."""

import functools
import operator
import types

import pytest

import ingot
from ingot import jit, nn


class Holder:
    def __init__(self, **attributes):
        self.__dict__.update(attributes)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.rates, self.seen = {"a": 1.0, "b": 2.0}, []

    def forward(self, x):
        self.seen.append(x.sum().item())
        return x * self.rates["a"]


def item_of_an_attribute_in_a_loop():
    table = {"a": 1.0, "b": 2.0}
    holders = [Holder(table=table)]

    def fn(x):
        x = x * table["a"]
        for h in holders:
            x = x + h.table["b"]
        return x
    return fn, table, lambda i: table.update(b=i)


def item_read_by_another_function_before():
    table = {"a": 1.0, "b": 2.0}
    holders = [Holder(table=table)]

    def scaled(x):
        return x * table["a"]

    def fn(x):
        for h in holders:
            x = x + h.table["b"]
        return scaled(x)
    return fn, table, lambda i: table.update(b=i)


def length_of_what_is_appended_to():
    log: list = []
    holders = [Holder(log=log)]

    def fn(x):
        log.append(1.0)
        for h in holders:
            x = x + len(h.log)
        return x
    return fn, log, lambda i: None


def items_of_what_is_appended_to():
    log = [1.0]
    holders = [Holder(log=log)]

    def fn(x):
        log.append(1.0)
        for h in holders:
            for v in h.log:
                x = x + v
        return x
    return fn, log, lambda i: log.__setitem__(0, i)


def attribute_of_a_class_in_a_loop():
    class Kind:
        table = {"b": 2.0}
    holders = [Kind()]

    def fn(x):
        for h in holders:
            x = x + h.table["b"]
        return x
    return fn, Kind.table, lambda i: Kind.table.update(b=i)


def list_of_a_class_in_a_loop():
    class Kind:
        log: list = []
    holders = [Kind()]

    def fn(x):
        for h in holders:
            h.log.append(x.sum().item())
        return x
    return fn, Kind.log, lambda i: None


def items_of_layers_in_a_loop():
    net = nn.Sequential(Layer(), Layer())

    def fn(x):
        for layer in net:
            x = x + layer.rates["b"]
        return net(x)
    return fn, net[0].seen, lambda i: net[1].rates.update(b=i)


def lengths_of_layers_in_a_loop():
    net = nn.Sequential(Layer(), Layer())

    def fn(x):
        x = net(x)
        for layer in net:
            x = x + len(layer.seen)
        return x
    return fn, net[1].seen, lambda i: None


def computed_names():
    h = Holder(first=[], second=[])

    def fn(x):
        h.first.append(1.0)
        h.second.append(2.0)
        for name in ("first", "second"):
            x = x + sum(getattr(h, name))
        return x
    return fn, h.first, lambda i: None


def all_attributes():
    h = Holder(first=[], second=[])

    def fn(x):
        h.first.append(1.0)
        for v in vars(h).values():
            x = x + sum(v)
        return x
    return fn, h.first, lambda i: None


def appended_in_a_loop():
    holders = [Holder(log=[]), Holder(log=[])]

    def fn(x):
        for h in holders:
            h.log.append(x.sum().item())
        return x
    return fn, holders[1].log, lambda i: None


def counted_beside_a_list():
    state = {"steps": 0, "losses": []}

    def fn(x):
        state["steps"] += 1
        state["losses"].append(x.sum().item())
        return x * state["steps"]
    return fn, state, lambda i: state.update(steps=50) if i == 4 else state.update(losses=[]) if i == 6 else None


def counted_beside_what_others_change():
    state = {"steps": 0, "rate": 1.0, "other": 0.0}

    def fn(x):
        state["steps"] += 1
        return x * state["steps"] * state["rate"]
    return fn, state, lambda i: state.update(rate=i / 2, other=i)


def counted_beside_what_is_read_by_others():
    state = {"steps": 0, "rate": 1.0}
    holders = [Holder(state=state)]

    def fn(x):
        state["steps"] += 1
        for h in holders:
            x = x * h.state["rate"]
        return x
    return fn, state, lambda i: state.update(rate=i / 2)


def added_to_a_default():
    logs: dict = {}

    def log(**values):
        for name, v in values.items():
            logs.setdefault(name, []).append(v)

    def fn(x):
        log(sum=x.sum().item(), mean=x.mean().item())
        return x
    return fn, logs, lambda i: logs.clear() if i == 4 else logs.update(sum=[0.5]) if i == 6 else None


def length_of_a_default():
    logs: dict = {}

    def fn(x):
        found = logs.setdefault("a", [])
        found.append(x.sum().item())
        return x + len(found)
    return fn, logs, lambda i: None


def attributes_of_classes_of_layers():
    class Scaled(nn.Module):
        rate, table = 2.0, {"b": 1.0}
    net = nn.Sequential(Scaled())

    def change(i):
        Scaled.rate, Scaled.table["b"] = float(i), i / 2

    def fn(x):
        for layer in net:
            x = x * layer.rate + layer.table["b"]
        return x
    return fn, Scaled.table, change


def contents_of_layers_that_did_not_run():
    net = nn.Sequential(Layer(), Layer())

    def fn(x):
        for _, m in net.named_modules():
            if isinstance(m, Layer):
                x = x * m.rates["b"]
        return x
    return fn, net[1].rates, lambda i: net[1].rates.update(b=i)


def items_of_layers_that_are_written():
    net = nn.Sequential(Layer(), Layer())

    def fn(x):
        for m in net:
            m.rates["a"] *= 0.5
            x = x * m.rates["a"] + m.rates["b"]
        return x
    return fn, net[1].rates, lambda i: net[1].rates.update(b=i)


def objects_of_layers():
    net = nn.Sequential(Layer(), Layer())
    for m in net:
        m.held, m.several = Holder(rate=1.0), [Holder(rate=1.0)]

    def change(i):
        net[0].held.rate, net[1].several[0].rate = i, i / 2

    def fn(x):
        for m in net:
            x = x * m.held.rate + sum([h.rate for h in m.several])
        return x
    return fn, net[1].rates, change


def objects_read_by_name_and_otherwise():
    table = {"a": Holder(rate=1.0), "b": Holder(rate=2.0)}

    def under(key):
        return table[key]

    def fn(x):
        return x * table["a"].rate + under("b").rate
    return fn, [], lambda i: setattr(table["b"], "rate", i)


def objects_in_a_set_that_is_handed_on():
    holders = {Holder(rate=1.0), Holder(rate=2.0)}
    first = min(holders, key=lambda h: h.rate)

    def total(held):
        return sum([h.rate for h in held])

    def fn(x):
        return x * total(holders) if first in holders else x
    return fn, [], lambda i: setattr(first, "rate", i)


@pytest.mark.parametrize("make, most", [
    (contents_of_layers_that_did_not_run, 3), (items_of_layers_that_are_written, 12), (objects_of_layers, 4),
    (objects_read_by_name_and_otherwise, 4), (objects_in_a_set_that_is_handed_on, 4),
    (attributes_of_classes_of_layers, 4),
    (item_of_an_attribute_in_a_loop, 3), (item_read_by_another_function_before, 3), (length_of_what_is_appended_to, 12),
    (items_of_what_is_appended_to, 12), (attribute_of_a_class_in_a_loop, 3), (list_of_a_class_in_a_loop, 2),
    (items_of_layers_in_a_loop, 12), (lengths_of_layers_in_a_loop, 12), (computed_names, 12), (all_attributes, 12),
    (appended_in_a_loop, 2), (counted_beside_a_list, 3), (counted_beside_what_others_change, 3),
    (counted_beside_what_is_read_by_others, 4), (added_to_a_default, 4), (length_of_a_default, 12)],
    ids=lambda v: getattr(v, "__name__", ""))
def test_reads_by_any_path_are_guarded(make, most):
    def life(wrap):
        fn, container, change = make()
        fn, got = wrap(fn), []
        for i in range(10):
            got.append((fn(ingot.full((2,), float(i))).tolist(), str(container)))
            change(i)
        return got, fn
    want, _ = life(lambda f: f)
    got, traced = life(jit.trace)
    assert got == want
    assert traced.stats()["compiles"] <= most, traced.stats()["misses"]


class Slotted:
    __slots__ = ("first", "second")


OWNERS = {"object": Holder, "slots": Slotted, "module": nn.Module, "class": lambda: type("Local", (), {"__module__": __name__}),
          "namespace": types.SimpleNamespace, "file": lambda: types.ModuleType(__name__)}
LOOKUPS = {
    "getattr": getattr, "attrgetter": lambda h, name: operator.attrgetter(name)(h),
    "handed on": lambda h, name: next(map(getattr, [h], [name])),
    "getter handed on": lambda h, name: next(map(operator.attrgetter(name), [h])),
    "partial": lambda h, name: functools.partial(getattr, h)(name), "vars": lambda h, name: vars(h)[name],
    "table": lambda h, name: h.__dict__[name],
    "dunder": lambda h, name: (type if isinstance(h, type) else object).__getattribute__(h, name)}
USES = {"sum": sum, "len": len, "last": lambda v: v[-1], "first": lambda v: v[0]}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("owner", OWNERS)
def test_names_that_code_computes_are_reads_of_any_kind(owner, use):
    def life(lookup, wrap):
        h = OWNERS[owner]()
        h.first, h.second = [], []

        def fn(x):
            h.first.append(1.0)
            h.second.append(2.0)
            for name in ("first", "second"):
                x = x + USES[use](lookup(h, name))
            return x
        fn, got = wrap(fn), []
        for i in range(4):
            got.append((fn(ingot.full((2,), float(i))).tolist(), list(h.first)))
            if i == 2:
                h.first.insert(0, 5.0)
        return got

    for how, lookup in LOOKUPS.items():
        if owner == "slots" and how in ("vars", "table"):
            continue
        assert life(lookup, jit.trace) == life(lookup, lambda fn: fn), how


KINDS = [type(f"Kind{i}", (), {"rate": float(i), "__module__": __name__}) for i in range(300)]
KNOWN, TABLE = set(KINDS), {k.__name__: k for k in KINDS}


def in_a_set(x, h):
    return x * h.rate if type(h) in KNOWN else x


def in_a_set_that_is_gone_through_elsewhere(x, h):
    return x * h.rate + sum([k.rate for k in KNOWN]) if type(h) in KNOWN else x


def under_a_constant(x, h):
    return x * h.rate * TABLE["Kind7"].rate


@pytest.mark.parametrize("fn, most, change", [
    (in_a_set, 12, lambda h: KNOWN.discard(type(h))), (under_a_constant, 12, lambda h: setattr(KINDS[7], "rate", 0.5)),
    (in_a_set_that_is_gone_through_elsewhere, 1000, lambda h: setattr(KINDS[9], "rate", 0.5))])
def test_membership_tests_do_not_guard_the_members(fn, most, change, monkeypatch):
    monkeypatch.setattr(KINDS[7], "rate", 3.0)
    monkeypatch.setattr(KINDS[9], "rate", 3.0)
    holders, traced = [KINDS[5]()], jit.trace(lambda x: [fn(x, h) for h in holders])
    for _ in range(3):
        assert traced(ingot.ones(2))[0].tolist() == fn(ingot.ones(2), holders[0]).tolist()
    assert max(len(entry.guards) for known in traced._cache.entries.values() for entry, _ in known) <= most
    change(holders[0])
    assert traced(ingot.ones(2))[0].tolist() == fn(ingot.ones(2), holders[0]).tolist()
    KNOWN.add(KINDS[5])
