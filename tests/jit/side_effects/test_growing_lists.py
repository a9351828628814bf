"""Lists that a traced function appends to, and whose length or last items it reads. Each call sees its own list, however it is
named, and lengths need no recordings of their own."""

import operator

import pytest

import ingot
from ingot import jit, nn
from side_by_side import plain


class Meter:
    def __init__(self, *values):
        self.values = list(values)
        self.best = []

    def reset(self):
        self.values = []

    def add(self, value):
        self.values.append(value)

    def mean(self):
        return sum(self.values) / len(self.values)

    def last(self, n=2):
        return sum(self.values[-2:]) * len(self.values)


GLOBAL: list = []


def total(x):
    return x.sum().item()


def length():
    log: list = []

    def fn(x):
        log.append(total(x))
        return x * len(log)
    return fn, log


def length_before_and_after():
    log = [1.0]

    def fn(x):
        n = len(log)
        log.extend([total(x), 1.0])
        return x * n + len(log)
    return fn, log


def length_decides():
    log: list = []

    def fn(x):
        log.append(total(x))
        return x + 1 if len(log) % 4 == 0 else x
    return fn, log


def length_of_a_modules_list():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.log = []

        def forward(self, x):
            self.log.append(total(x))
            return x * len(self.log) + self.log[-1]
    net = Net()
    return net, net.log


def length_asked_by_a_helper():
    log = [0.0]

    def count():
        return len(log)

    def fn(x):
        n = count()
        log.append(total(x))
        return x + n * count()
    return fn, log


def length_of_an_argument_of_a_helper():
    log: list = []

    def count(values):
        return len(values)

    def fn(x):
        log.append(total(x))
        return x * count(log)
    return fn, log


def length_of_items():
    logs = {"loss": [], "n": 0}

    def fn(x):
        logs["loss"].append(total(x))
        logs["n"] += 1
        return x * len(logs["loss"])
    return fn, logs


def last_items():
    log: list = []

    def fn(x):
        log.append(total(x))
        return sum(log[-3:]) / len(log[-3:])
    return fn, log


def last_tensors():
    log: list = []

    def fn(x):
        log.append(x * 2)
        return ingot.stack(log[-3:]).mean()
    return fn, log


def last_items_in_helpers():
    log = [0.5, 0.25, 4.0]

    def recent():
        return sum(log[-3:]) - log[-2]

    def fn(x):
        log.append(total(x))
        first = recent()
        log.append(x.mean().item())
        return x * first + recent()
    return fn, log


def further_back_after_it_grew():
    log = [1.0, 2.0, 3.0, 4.0]

    def fn(x):
        log.append(total(x))
        y = log[-3]
        log.append(5.0)
        return x + y - log[-4]
    return fn, log


def added_in_place():
    def fn(x):
        global GLOBAL
        GLOBAL += [total(x)]
        return x + GLOBAL[-1]
    GLOBAL[:] = [2.0]
    return fn, GLOBAL


def added_to_an_attribute_in_place():
    m = Meter()

    def fn(x):
        m.values += [total(x), 1.0]
        if len(m.values) % 4 == 0:
            m.best = m.values[-2:]
        return x
    return fn, m


def last_item_counts():
    log = [3, 1]

    def fn(x):
        log[-1] += 1
        return x * log[-1]
    return fn, log


def last_item_sums_up():
    log = [0.0, 0.0]

    def fn(x):
        log[-1] += total(x)
        return x
    return fn, log


def dictionary_joined_in_place():
    m = Meter()
    m.table = {"a": 1}

    def fn(x):
        m.table |= {"loss": total(x)}
        return x
    return fn, m


def meter_that_is_reset():
    m = Meter(5.0)

    def fn(x):
        m.reset()
        for i in range(3):
            m.add(total(x * i))
        return x * m.mean() + m.last()
    return fn, m


def by_a_name_in_text():
    meters = [Meter(), Meter()]

    def fn(x):
        for m in meters:
            m.values.append(total(x))
            x = x + len(getattr(m, "values"))  # noqa: B009
        return x
    return fn, meters


def by_a_getter():
    meters, values = [Meter(), Meter()], operator.attrgetter("values")

    def fn(x):
        for m in meters:
            m.values.append(total(x))
            x = x + len(values(m))
        return x
    return fn, meters


def set_and_asked_by_name():
    meters = [Meter(), Meter()]

    def fn(x):
        for m in meters:
            n = len(getattr(m, "values"))  # noqa: B009
            m.values.append(1.0)
            if n == 3:
                m.values = []
            x = x + n
        return x
    return fn, meters


def state(x):
    return {k: state(v) for k, v in vars(x).items()} if type(x) is Meter else [*map(state, x)] if type(x) is list else plain(x)


def log_of(kept):
    return kept.values if type(kept) is Meter else kept if type(kept) is list else None


def nothing(i, kept):
    pass


def cut(i, kept):
    if log_of(kept) and type(log_of(kept)[0]) is not Meter and i in (4, 7):
        del log_of(kept)[4:]


def put(i, kept):
    if log_of(kept) and type(log_of(kept)[0]) in (int, float) and i in (2, 5):
        log_of(kept)[-1] = 50
        log_of(kept).append(i)


@pytest.mark.parametrize("change", [nothing, cut, put], ids=lambda f: f.__name__)
@pytest.mark.parametrize("make, most", [
    (length, 2), (length_before_and_after, 3), (length_decides, 3), (length_of_a_modules_list, 3),
    (length_asked_by_a_helper, 3),
    (length_of_an_argument_of_a_helper, 12), (length_of_items, 3), (last_items, 5), (last_tensors, 5),
    (last_items_in_helpers, 5),
    (further_back_after_it_grew, 4), (added_in_place, 3), (added_to_an_attribute_in_place, 7), (last_item_counts, 3),
    (last_item_sums_up, 3), (dictionary_joined_in_place, 3), (meter_that_is_reset, 2), (by_a_name_in_text, 12),
    (by_a_getter, 12), (set_and_asked_by_name, 12)], ids=lambda v: getattr(v, "__name__", ""))
def test_growing_lists_are_those_of_the_call(make, most, change):
    def life(wrap):
        fn, kept = make()
        fn, got = wrap(fn), []
        for i in range(12):
            got.append((plain(fn(ingot.tensor([1.0 + i, 2.0]))), state(kept)))
            change(i, kept)
        return got, fn
    want, _ = life(lambda f: f)
    got, traced = life(jit.trace)
    assert got == want
    assert change is not nothing or traced.stats()["compiles"] <= most, traced.stats()["misses"]


FIRST: list = []
SECOND: list = []


def adds_to_the_first(x):
    FIRST.append(total(x))
    return x * len(SECOND)


def adds_to_the_first_and_reads_the_last(x):
    FIRST.append(total(x))
    return x * SECOND[-1]


def adds_to_both(x):
    SECOND.append(3.0)
    FIRST.append(total(x))
    return x * len(SECOND) + sum(SECOND[-2:])


def adds_to_the_first_and_reads_all(x):
    FIRST.append(total(x))
    return x * sum(SECOND)


@pytest.mark.parametrize("fn", [adds_to_the_first, adds_to_the_first_and_reads_the_last, adds_to_both,
                                adds_to_the_first_and_reads_all], ids=lambda f: f.__name__)
@pytest.mark.parametrize("starts_empty", [False, True])
def test_two_lists_may_become_one(fn, starts_empty):
    def life(wrap):
        global FIRST, SECOND
        FIRST, SECOND = ([], []) if starts_empty and fn is adds_to_the_first_and_reads_all else ([1.0], [2.0])
        traced, got = wrap(fn), []
        for i in range(12):
            got.append((plain(traced(ingot.full((2,), float(i)))), [*FIRST], [*SECOND]))
            if i < 4 and not starts_empty:
                SECOND.append(i)
            if i == 5:
                FIRST = SECOND = [] if starts_empty and fn is adds_to_the_first_and_reads_all else SECOND
            if i == 7:
                SECOND = [*FIRST]
            if i == 9:
                FIRST = SECOND
        return got
    assert life(jit.trace) == life(lambda f: f)


def test_a_list_that_replaces_an_empty_one_is_another():
    m = Meter()

    @jit.trace
    def reset(x):
        m.values = []
        return x * 2

    before = [m.values]
    for _ in range(3):
        reset(ingot.ones(2))
        assert all(m.values is not values for values in before)
        before.append(m.values)


def test_a_list_that_is_added_to_in_place_stays_the_same():
    for is_symbolic in (False, True):
        m = Meter()
        values, table = m.values, m.__dict__.setdefault("table", {"n": 0})

        @jit.trace
        def add(x, m=m):
            m.values += [total(x)]
            m.table |= {"n": m.table["n"] + 1}
            return x

        for i in range(4):
            add(ingot.ones(2 + i if is_symbolic else 2))
            assert m.values is values and m.table is table and values == [float(2 + k if is_symbolic else 2)
                                                                         for k in range(i + 1)] and table["n"] == i + 1


def replaced_outside(m):
    def fn(x):
        m.values.append(total(x))
        return x * len(m.values) + m.values[-1]
    return fn, lambda i: m.reset() if i % 4 == 3 else None


def replaced_and_kept(m):
    kept = []

    def change(i):
        if i % 4 == 3:
            kept.append(m.values)
            m.reset()
        m.best = [*map(list, kept)]

    def fn(x):
        m.values.append(total(x))
        return x
    return fn, change


def replaced_inside(m):
    m.n = 0

    def fn(x):
        m.n += 1
        m.values.append(total(x))
        if m.n % 4 == 0:
            m.best.append(m.values[-1])
            m.values = []
        return x
    return fn, lambda i: None


def added_to_and_replaced(m):
    kept = []

    def change(i):
        if 2 < i < 9:
            kept.append(m.values)       # which the next call adds to
        m.best = [*map(list, kept)]

    def fn(x):
        m.values.append(total(x))
        m.values = [1.0]
        return x
    return fn, change


def replaced_by_one_with_another_name(m):
    m.other = [2.0]

    def change(i):
        if i % 4 == 3:
            m.reset()
        if i % 8 == 5:
            m.other = m.values
        if i % 8 == 7:
            m.other = [3.0]

    def fn(x):
        m.values.append(total(x))
        return x * len(m.other) + m.other[-1]
    return fn, change


def both_grow(m):
    m.other = []

    def change(i):
        if i % 5 == 3:
            m.reset()
            m.other = []
        if i % 10 == 6:
            m.other = m.values
        if i % 10 == 8:
            m.other = [3.0]

    def fn(x):
        m.values.append(total(x))
        m.other.append(1.0)
        return x * len(m.other) + m.values[-1]
    return fn, change


def table_replaced(m):
    def change(i):
        if i % 5 == 3:
            m.table = {}

    def fn(x):
        m.table["loss"] = total(x)
        m.table["n"] = m.table.get("n", 0) + 1
        return x
    m.table = {}
    return fn, change


def taken_from_until_empty(m):
    def change(i):
        if not m.values:
            m.values = [1.0 + i, 2.0, 3.0]

    def fn(x):
        return x * m.values.pop()
    m.values = [1.0, 2.0]
    return fn, change


def first_item_by_a_helper(m):
    def first():
        return m.values[0]

    def fn(x):
        m.values.append(total(x))
        return x * first()

    def change(i):
        if i % 5 == 3:
            m.reset()
        if i % 7 == 3:
            m.values = [1.0, 2.0]
    return fn, change


def last_item_by_a_helper(m):
    def last():
        return m.values[-1] if m.values else 0.5

    def fn(x):
        before = last()
        m.values.append(total(x))
        return x * last() + before

    def change(i):
        if i % 5 == 3:
            m.reset()
        if i % 7 == 3:
            m.values = [1.0, 2.0]
    return fn, change


def third_item_if_there_is_one(m):
    def fn(x):
        m.values.append(total(x))
        return x * (m.values[2] if len(m.values) > 2 else -1.0) + m.values[0]

    def change(i):
        if i % 5 == 3:
            m.reset()
        if i % 7 == 3:
            m.values = [1.0, 2.0, 3.0]
    return fn, change


@pytest.mark.parametrize("make, most", [
    (replaced_outside, 4), (replaced_and_kept, 2), (replaced_inside, 5), (added_to_and_replaced, 8),
    (replaced_by_one_with_another_name, 6), (both_grow, 9), (table_replaced, 6), (taken_from_until_empty, 10),
    (first_item_by_a_helper, 8), (last_item_by_a_helper, 8),
    (third_item_if_there_is_one, 12)], ids=lambda v: getattr(v, "__name__", ""))
def test_lists_replaced_between_calls_are_written_at_their_new_location(make, most):
    def life(wrap):
        m = Meter()
        fn, change = make(m)
        fn, got = wrap(fn), []
        for i in range(24):
            got.append((plain(fn(ingot.full((2,), float(i)))), state(m)))
            change(i)
        return got, fn
    want, _ = life(lambda f: f)
    got, traced = life(jit.trace)
    assert got == want
    assert traced.stats()["compiles"] <= most, traced.stats()["misses"]
