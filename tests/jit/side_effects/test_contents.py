"""Lists and dictionaries that outlive the call, written by traced functions."""

import functools
import sys
from collections import deque

import pytest

import ingot
from ingot import jit, nn
from ingot.jit.side_effects.contents import ContainerLog, _dict_targets
from side_by_side import numbers, plain, vec
from state_programs import Holder

LOG: list = []

# Each gives (function of a tensor, what is looked at after each call, what happens between calls).


def nothing(i):
    """Nothing happens between calls."""


def appended():
    log: list = []

    def fn(x):
        log.append(x.sum())
        return x * 2
    return fn, lambda: log, nothing


def appended_twice_in_a_global():
    LOG.clear()

    def fn(x):
        LOG.append(x + 1)
        LOG.extend([x, 3])
        return x * 2
    return fn, lambda: LOG, nothing


def appended_and_cleared_outside():
    log: list = []

    def fn(x):
        log.append((x * 2, "a"))
        return x
    return fn, lambda: log, lambda i: log.clear() if i % 3 == 2 else None


def history():
    o = Holder(history={"loss": [], "n": 0})

    def fn(x):
        o.history["loss"].append(x.sum())
        return x
    return fn, lambda: o.history, nothing


def counted_in_a_dictionary():
    o = {"n": 0}

    def fn(x):
        o["n"] += 1
        return x * o["n"]
    return fn, lambda: o, nothing


def features_by_hooks():
    ingot.manual_seed(0)
    net, seen = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)), {}
    for name, m in net.named_children():
        m.register_forward_hook(lambda m, args, out, name=name: seen.__setitem__(name, out.detach()) or None)
    return net, lambda: seen, nothing


def features_by_a_hook_that_stores():
    ingot.manual_seed(0)
    net, seen, order = nn.Sequential(nn.Linear(3, 4), nn.ReLU()), {}, []

    def hook_for(name):
        def hook(m, args, out):
            seen[name] = out.detach()
            order.append(name)
        return hook
    for name, m in net.named_children():
        m.register_forward_hook(hook_for(name))
    return net, lambda: (seen, order), nothing


def list_of_a_module():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.seen, self.count = [], 0

        def forward(self, x):
            self.seen.append(x * 2)
            self.count += 1
            return x + self.count
    net = Net()
    return net, lambda: (net.seen, net.count), nothing


def read_by_another_after_it_was_written():
    log: list = []

    def length():
        return len(log)

    def fn(x):
        log.append(x)
        return x * length()
    return fn, lambda: log, nothing


COUNT = [0]


def count():
    return 0.5 ** (COUNT[0] // 2)


def counted_in_a_global_and_read_by_another():
    COUNT[0] = 0

    def fn(x):
        COUNT[0] += 1
        return x * count()
    return fn, lambda: COUNT, lambda i: COUNT.__setitem__(0, 3) if i == 6 else None


def counted_and_read_by_inner_functions():
    o = {"n": 0, "rate": 0.5, "last": ingot.zeros(3)}

    def scaled(v):
        return v * o["rate"] * o["n"] + o["last"]

    def fn(x):
        o["n"] += 1
        o["last"] = x + o["n"]
        return scaled(x) + (lambda: o["n"] * 2)()
    return fn, lambda: o, lambda i: o.update(rate=i * 1.5)


def set_to_what_others_change():
    o, table = Holder(rate=0.5, parts=[1.0, 2.0]), {}

    def scaled(v):
        return v * table["rate"] * table["part"]

    def fn(x):
        table["rate"] = o.rate
        table["part"] = o.parts[0]
        return scaled(x)

    def change(i):
        o.rate, o.parts[0] = i * 2.0, i + 0.5
    return fn, lambda: table, change


def constant_that_others_change():
    cfg = {"mode": 0.5, "other": 1.0}

    def fn(x):
        cfg["mode"] = 0.5
        return x * cfg["other"]

    def change(i):
        cfg["mode"] = i * 2.0
    return fn, lambda: cfg, change


def set_item_of_a_list():
    queue = [ingot.zeros(3), 1, 2]

    def fn(x):
        queue[0] = queue[0] * 0.5 + x
        return x
    return fn, lambda: queue, nothing


def only_on_one_branch():
    log: list = []

    def fn(x):
        if x.sum() > 8:
            log.append(x.sum())
        return x
    return fn, lambda: log, nothing


def written_in_a_loop_over_objects():
    objects = [Holder(log=[]), Holder(log=[])]

    def fn(x):
        for o in objects:
            o.log.append(x * 2)
        return x
    return fn, lambda: [o.log for o in objects], nothing


def written_in_a_loop_over_modules():
    class Leaf(nn.Module):
        def __init__(self):
            super().__init__()
            self.log = []

        def forward(self, x):
            return x + 1
    net = nn.ModuleList([Leaf(), Leaf()])

    def fn(x):
        for m in net:
            x = m(x)
            m.log.append(x)
        return x
    return fn, lambda: [m.log for m in net], nothing


def put(log, value):
    log.append(value)


def put_later(log, value, *, more):
    put(log, value)
    put(more, value)


class Logger:
    def __init__(self):
        self.log = []

    def note(self, log, value):
        log.append(value)
        put_later(log, value + 1, more=log)


def appended_by_a_helper():
    o = Holder(log=[])

    def fn(x):
        put(o.log, x.sum())
        o.log.append(1)
        put_later(o.log, x, more=o.log)
        return x * 2
    return fn, lambda: o.log, nothing


def appended_by_a_method():
    logger = Logger()

    def fn(x):
        for i in range(3):
            logger.note(logger.log, x.sum() + i)
        return x
    return fn, lambda: logger.log, nothing


def appended_by_an_inner_function():
    o = {"log": []}

    def fn(x):
        def add(log, v):
            log.extend([v, v * 2])
        add(log=o["log"], v=x.sum())
        return x
    return fn, lambda: o, nothing


def stored_by_a_helper():
    o = Holder(table={})

    def keep(table, value):
        table["last"] = value

    def fn(x):
        keep(o.table, x.sum())
        return x
    return fn, lambda: o.table, lambda i: o.table.pop("last") if i % 3 == 2 else None


def read_by_a_helper():
    o = Holder(log=[])

    def add(log, v):
        log.append(v)
        return len(log) if len(log) < 4 else 4

    def fn(x):
        return x * add(o.log, x.sum())
    return fn, lambda: o.log, nothing


def read_by_a_builtin():
    o = Holder(log=[1.0])

    def fn(x):
        if len(o.log) < 4:
            put(o.log, 1.0)
        return x * sum(o.log) * max(o.log)
    return fn, lambda: o.log, nothing


def replaced_by_a_helper():
    o = Holder(log=[1.0])

    def add(log, v):
        log = log if len(log) < 3 else []
        log.append(v)
        return log

    def fn(x):
        return x * len(add(o.log, 1.0))
    return fn, lambda: o.log, nothing


def handed_to_a_partial():
    o = Holder(log=[])
    add = functools.partial(put, value=1.0)

    def fn(x):
        add(o.log)
        return x * 2
    return fn, lambda: o.log, nothing


def handed_on_as_several():
    o = Holder(log=[])

    def add(*logs):
        return sum(map(len, logs))

    def fn(x):
        put(o.log, 1.0)
        return x * min(add(o.log, []), 3)
    return fn, lambda: o.log, nothing


@pytest.mark.parametrize("make, most", [
    (appended_by_a_helper, 2), (appended_by_a_method, 2), (appended_by_an_inner_function, 2), (stored_by_a_helper, 3),
    (read_by_a_helper, 24), (read_by_a_builtin, 5), (replaced_by_a_helper, 24), (handed_to_a_partial, 2),
    (handed_on_as_several, 24),
    (appended, 2), (appended_twice_in_a_global, 2), (appended_and_cleared_outside, 2), (history, 2),
    (counted_in_a_dictionary, 2), (features_by_hooks, 4), (features_by_a_hook_that_stores, 3), (list_of_a_module, 3),
    (counted_in_a_global_and_read_by_another, 3), (counted_and_read_by_inner_functions, 4), (set_to_what_others_change, 4),
    (read_by_another_after_it_was_written, 12), (constant_that_others_change, 12), (set_item_of_a_list, 3),
    (only_on_one_branch, 2), (written_in_a_loop_over_objects, 12), (written_in_a_loop_over_modules, 12)],
    ids=lambda v: getattr(v, "__name__", ""))
def test_containers_are_written_by_every_call(make, most):
    def life(wrap):
        fn, look, change = make()
        fn, got = wrap(fn), []
        for i in range(10):
            got.append((plain(fn(vec(1.0 + i, 2.0, 3.0 - i / 2))), numbers(look())))
            change(i)
        return got, fn
    want, _ = life(lambda f: f)
    try:
        got, traced = life(jit.trace)
    except jit.TraceError:
        assert most > 4, "refused"
        return
    for i, (a, b) in enumerate(zip(got, want)):
        assert a == b, i
    assert traced.stats()["compiles"] <= most, traced.stats()["misses"]


def _filled(container, items):
    container.clear()
    container.extend(items)


CHANGES = {
    "pop": lambda c, x: c.pop(), "pop first": lambda c, x: (c.pop(0) if type(c) is list else c.popleft()),
    "insert": lambda c, x: c.insert(1, x.sum()), "clear": lambda c, x: c.clear(),
    "delete": lambda c, x: c.__delitem__(1), "remove": lambda c, x: c.remove(c[0]),
    "in front": lambda c, x: c.insert(0, x * 2) if type(c) is list else c.appendleft(x * 2),
    "both": lambda c, x: (c.pop(), c.insert(0, (x, "text")), c.append(3), c.insert(2, x + 1)),
    "read": lambda c, x: c.insert(0, x * c.pop()), "short": lambda c, x: c.pop() if len(c) > 3 else c.insert(0, x * len(c)),
}


@pytest.mark.parametrize("kind", [list, deque, lambda items: deque(items, maxlen=16)], ids=["list", "deque", "bounded"])
@pytest.mark.parametrize("name", CHANGES)
def test_every_call_removes_and_inserts_items(name, kind):
    def life(wrap, refill):
        kept = [1, 2, vec(), 4]
        c, got = kind(kept), []
        fn = wrap(lambda x: (CHANGES[name](c, x), x * 2)[1])
        for i in range(4):
            got.append((plain(fn(vec(1.0 + i, 2.0, 3.0))), numbers(list(c))))
            if refill:
                _filled(c, kept)
            elif i == 1:
                c.append(7)
        return got, fn

    for refill in (True, False):
        want, _ = life(lambda f: f, refill)
        got, traced = life(jit.trace, refill)
        assert got == want
        assert not refill or traced.stats()["compiles"] <= 2, traced.stats()["misses"]


def test_every_call_removes_keys_of_dictionaries():
    def life(wrap):
        table, got = {"a": vec(), "b": 2, "c": 3}, []

        def fn(x):
            y = x * table.pop("b") + table.pop("a", 0)
            table["d"] = y.sum()
            del table["c"]
            return y
        fn = wrap(fn)
        for i in range(4):
            table.update(b=2, c=3)
            if i == 2:
                table["a"] = 5
            got.append((plain(fn(vec(1.0 + i, 2.0, 3.0))), numbers(table), list(table)))
        return got
    assert life(jit.trace) == life(lambda f: f)


@pytest.mark.parametrize("act", [
    lambda log, table, x: (log.insert(0, Holder()), log.append(1)), lambda log, table, x: log.append(Holder()),
    lambda log, table, x: table.update(a=log)])
def test_objects_and_containers_from_outside_are_put_into_others(act):
    def life(wrap):
        log, table, got = [1], {"a": 1}, []

        def fn(x):
            act(log, table, x)
            return x
        fn = wrap(fn)
        for _ in range(4):
            fn(vec())
            got.append(([type(v) for v in log], len({id(v) for v in log}), table["a"] is log))
        return got
    assert life(jit.trace) == life(lambda f: f)


def test_a_cache_of_objects_is_filled_by_the_call_that_needs_it():
    """Those that follow find it filled; if somebody empties it, the next one fills it again."""
    table: dict = {}
    made = []

    def kept(key):
        if table.get(key) is None:
            table[key] = Holder()
            made.append(1)
        return table[key]

    @jit.trace
    def fn(x):
        assert kept(x.dtype) is not None
        y = x.sum()
        return x * 2, y.item()
    assert [fn(vec(n))[0].item() for n in (1.0, 2.0, 3.0)] == [2, 4, 6]
    assert (fn.stats()["compiles"], len(made), type(fn(vec(4.0))[1])) == (2, 1, float)
    first = table.pop(ingot.float32)
    assert fn(vec(5.0)) == (vec(10.0), 5.0) and table[ingot.float32] is not first
    assert fn(vec(6.0)) == (vec(12.0), 6.0) and len(made) == 2


def test_objects_are_put_under_ever_new_keys():
    table: dict = {}

    @jit.trace
    def fn(x):
        table[len(table)] = Holder()
        return x * 2
    for i in range(100):
        assert fn(vec(float(i))).item() == 2 * i and len(table) == i + 1
    assert len({id(v) for v in table.values()}) == 100 and fn.stats()["unrecorded"] > 20


def test_numbers_in_a_list_that_grows_and_shrinks():
    def life(wrap):
        kept, queue, got = [1, 2.0], deque([1.0, 2.0, 3.0]), []

        def fn(x):
            y = x * queue[0] + sum(float(v) for v in kept)
            kept.pop() if len(kept) > 3 else kept.insert(1, 3)
            queue.popleft()
            return y + queue[0]
        fn = wrap(fn)
        for i in range(10):
            queue.extend([float(i)] * (i % 3))
            got.append((plain(fn(vec(1.0 + i, 2.0))), kept[:], list(queue)))
        return got
    assert life(jit.trace) == life(lambda f: f)


def test_a_dictionary_is_read_without_code_of_its_keys():
    calls = []

    class Key:
        def __hash__(self):
            calls.append("hash")
            return 1

        def __eq__(self, other):
            calls.append("eq")
            return self is other

    keys = [Key(), Key()]
    before, table = dict.fromkeys(keys[:1], 0.0), dict.fromkeys(keys, 1.0)
    calls.clear()
    assert len(_dict_targets(table, before, "table")) == 2 and not calls


@pytest.mark.parametrize("lines", range(1, 9))
def test_a_container_that_is_half_known_can_be_compared(lines):
    """An interrupt may come at any line of the method that meets a container."""
    log, left = ContainerLog(), lines

    def step(frame, event, arg):
        nonlocal left
        if frame.f_code is not ContainerLog.see.__code__:
            return None
        left -= event == "line"
        if event == "line" and left == 0:
            raise KeyboardInterrupt
        return step

    before = sys.gettrace()
    sys.settrace(step)
    try:
        log.see([1.0], "a list", None)
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(before)
    assert log.changed_ones() == []
