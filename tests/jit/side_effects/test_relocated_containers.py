"""Containers that a traced function writes to, replaced from outside: calls write to those that are there."""

from collections import defaultdict, deque

import pytest

import ingot
from ingot import jit, nn
from side_by_side import plain


class Holder:
    """An object with whatever attributes it is given."""

    def __init__(self, **values):
        self.__dict__.update(values)


def appended():
    o = Holder(log=[])

    def step(x):
        o.log.append(x.sum().item())
        return x * 2
    return step, lambda: setattr(o, "log", []), lambda: o.log


def appended_in_a_dictionary():
    h = {"a": [], "b": []}

    def step(x):
        h["a"].append(x.sum().item())
        return x * 2
    return step, lambda: h.update(a=[]), lambda: h


def appended_under_names():
    h = {"a": [], "b": []}

    def step(x):
        for k, v in {"a": x.sum().item(), "b": x.mean()}.items():
            h[k].append(v)
        return x * 2
    return step, lambda: h.update(b=[]), lambda: h


def appended_in_a_module():
    class Logs(nn.Module):
        def __init__(self):
            super().__init__()
            self.log = []

        def forward(self, x):
            self.log.append(x.sum())
            return x * 2
    m = Logs()
    return m, lambda: setattr(m, "log", []), lambda: m.log


def appended_of_a_variable():
    log = []

    def step(x):
        log.append(x.sum().item())
        return x * 2

    def change():
        nonlocal log
        log = []
    return step, change, lambda: log


def appended_to_a_deque():
    o = Holder(window=deque(maxlen=3))

    def step(x):
        o.window.append(x.sum().item())
        return x * 2
    return step, lambda: setattr(o, "window", deque(maxlen=3)), lambda: o.window


def item_of_a_dictionary():
    o = Holder(stats={"loss": 0.0, "n": 0})

    def step(x):
        o.stats["loss"] = x.sum().item()
        o.stats["n"] += 1
        return x * 2
    return step, lambda: setattr(o, "stats", {"loss": 0.0, "n": 0}), lambda: o.stats


def item_that_is_only_set():
    o = Holder(stats={"loss": 0.0})

    def step(x):
        o.stats["loss"] = x.sum().item()
        return x * 2
    return step, lambda: setattr(o, "stats", {"loss": 0.0}), lambda: o.stats


def counter_in_a_list():
    o = Holder(it=[0])

    def step(x):
        o.it[0] += 1
        return x * o.it[0]
    return step, lambda: setattr(o, "it", [0]), lambda: o.it


def counter_in_a_nested_list():
    o = Holder(all=[{"it": [0]}])

    def step(x):
        for d in o.all:
            d["it"][0] += 1
        return x * 2
    return step, lambda: o.all[0].update(it=[0]), lambda: o.all


def lists_that_are_gone_through():
    h = {"a": [], "b": []}

    def step(x):
        for k, v in h.items():
            v.append(x.sum().item() * len(k))
        return x * 2
    return step, lambda: h.update(a=[], b=[]), lambda: h


def taken_out():
    o = Holder(queue=[1.0, 2.0])

    def step(x):
        o.queue.append(x.sum().item())
        return x * o.queue.pop(0)
    return step, lambda: setattr(o, "queue", [1.0, 2.0]), lambda: o.queue


def meters_in_a_loop():
    class Meter:
        def __init__(self):
            self.values = []
    meters = [Meter(), Meter()]

    def step(x):
        for m in meters:
            m.values.append(x.sum().item())
        return x * 2
    return step, lambda: setattr(meters[1], "values", []), lambda: [m.values for m in meters]


PROGRAMS = [appended, appended_in_a_dictionary, appended_under_names, appended_in_a_module, appended_of_a_variable,
            appended_to_a_deque, item_of_a_dictionary, item_that_is_only_set, counter_in_a_list, counter_in_a_nested_list,
            lists_that_are_gone_through, taken_out, meters_in_a_loop]


@pytest.mark.parametrize("changes", [(1, 6), (0, 1, 2), (4,)])
@pytest.mark.parametrize("program", PROGRAMS)
def test_what_is_written_lies_in_the_container_that_is_there(program, changes):
    def life(wrap):
        step, change, look = program()
        step, found = wrap(step), []
        for i in range(9):
            kept = look()
            found.append((plain(step(ingot.full((3,), float(i)))), str(plain(look())), str(plain(kept))))
            if i in changes:
                change()
        return found
    assert life(jit.trace) == life(lambda f: f)


def lists_by_name():
    h = {"a": [], "b": []}

    def step(x):
        for k, v in {"a": x.sum().item(), "b": 0.5}.items():
            h[k].append(v)
        return x
    return step, lambda: h


def default_lists_by_name():
    h = defaultdict(list)

    def step(x):
        for k in ("a", "b"):
            h[k].append(x.sum().item())
        return x
    return step, lambda: h


def lists_by_number():
    h = [[], deque(maxlen=4)]

    def step(x):
        for k in range(2):
            h[k].append(x * k)
        return x
    return step, lambda: h


def lists_by_name_of_an_object():
    class Trainer:
        def __init__(self):
            self.history = {"loss": [], "acc": []}

        def log(self, **values):
            for k, v in values.items():
                self.history[k].append(v)

        def __call__(self, x):
            self.log(loss=x.sum().item(), acc=x.mean().item())
            return x
    t = Trainer()
    return t, lambda: t.history


def lists_of_lists():
    h = {"a": [], "b": []}

    def step(x):
        for k in h:
            h[k].extend([x.sum().item(), 1.0])
        return x
    return step, lambda: h


def also_counted():
    h = {"a": [], "b": []}

    def step(x):
        for k in ("a", "b"):
            h[k].append(x.sum().item())
        return x * sum(len(v) for v in h.values())
    return step, lambda: h


def also_known_otherwise():
    rows = [1.0]
    h = {"a": rows, "b": []}

    def step(x):
        for k in ("a", "b"):
            h[k].append(x.sum().item())
        return x * sum(rows)
    return step, lambda: (h, rows)


def tables_made_anew():
    """In place of those of the call before, with numbers that are others each time."""
    h = {"last": 0.0}

    def step(x):
        for k in ("a", "b"):
            h[k] = {"sum": x.sum().item(), "mean": (x * len(k)).mean().item()}
        total = sum(v["sum"] for v in h.values() if isinstance(v, dict))
        return x * total
    return step, lambda: h


def also_read():
    h = {"a": [1.0], "b": [2.0]}

    def step(x):
        for k in ("a", "b"):
            h[k].append(x.sum().item())
        return x * h["a"][0]
    return step, lambda: h


@pytest.mark.parametrize("program, most", [
    (lists_by_name, 2), (default_lists_by_name, 2), (lists_by_number, 2), (lists_by_name_of_an_object, 2),
    (tables_made_anew, 4), (lists_of_lists, None), (also_counted, None), (also_known_otherwise, None), (also_read, None)],
    ids=lambda v: getattr(v, "__name__", ""))
def test_lists_in_a_dictionary_that_grow_by_name(program, most):
    def life(wrap):
        step, look = program()
        step, found = wrap(step), []
        for i in range(8):
            found.append((plain(step(ingot.full((3,), float(i)))), str(plain(look()))))
        return found, step
    got, traced = life(jit.trace)
    assert got == life(lambda f: f)[0]
    assert most is None or traced.stats()["compiles"] <= most, traced.stats()["misses"]
