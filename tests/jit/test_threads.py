"""Other threads, while one records a call: what they read of the same objects are plain numbers at all times."""

import copy
import sys
import threading
import time
from contextlib import contextmanager

import pytest

import ingot
from ingot import jit, nn
from side_by_side import plain, vec
from state_programs import Holder

COUNTER = 0


class Annealed(nn.Module):
    def __init__(self):
        super().__init__()
        self.t = 1.0

    def forward(self, x):
        time.sleep(0.001)
        return x * self.t + self.t ** 2 if self.t > 0.5 else x / self.t


def attribute():
    m = Annealed()

    def change():
        m.t *= 0.9
    return m, lambda: m.t, change


def attribute_below_a_default():
    class Defaults:
        t = 2.0

    o = Defaults()

    def fn(x):
        time.sleep(0.001)
        return x * o.t

    def change():
        o.t = o.t * 0.9
    return fn, lambda: (o.t, Defaults.t), change


def written_attribute():
    o = Holder(n=0, both=(0, [0.0]))

    def fn(x):
        o.n += 1
        time.sleep(0.001)
        o.both = o.n, [o.n * 0.5]
        time.sleep(0.001)
        return x * o.n + x.shape[0]
    return fn, lambda: (o.n, o.both[0], o.both[1][0]), lambda: None


def written_size():
    o = Holder(last=0)

    def fn(x):
        x = x[: 1 + COUNTER % 3]
        o.last = x.shape[0] * 2
        time.sleep(0.001)
        return x + o.last
    return fn, lambda: o.last, lambda: None


def chosen(x):
    """As many elements as their values say."""
    every = x.repeat(10).cumsum(0)
    return every[every > 30]


def size_of_data():
    def fn(x):
        kept = chosen(x)
        time.sleep(0.001)
        return kept.sum() * kept.shape[0]
    return fn, lambda: COUNTER, lambda: None


def written_size_of_data():
    o = Holder(last=0)

    def fn(x):
        kept = chosen(x)
        o.last = kept.shape[0] * 2
        time.sleep(0.001)
        return kept.sum() + o.last
    return fn, lambda: o.last, lambda: None


def size_of_data_in_a_dictionary():
    d = {"last": 0}

    def fn(x):
        kept = chosen(x)
        d["last"] = kept.shape[0] * 2
        time.sleep(0.001)
        return kept.sum() + d["last"]
    return fn, lambda: d["last"], lambda: None


def item():
    cfg = {"lr": 0.5}

    def fn(x):
        time.sleep(0.001)
        return x * cfg["lr"]

    def change():
        cfg["lr"] *= 0.9
    return fn, lambda: cfg["lr"], change


def closure():
    lr = 0.5

    def fn(x):
        time.sleep(0.001)
        return x * lr

    def change():
        nonlocal lr
        lr *= 0.9
    return fn, lambda: lr, change


def global_that_is_written():
    def fn(x):
        global COUNTER
        COUNTER += 1
        time.sleep(0.001)
        return x * COUNTER
    return fn, lambda: COUNTER, lambda: None


@contextmanager
def reading(read):
    """Another thread reads all the time; gives the types that it met."""
    seen: set = set()
    stop = threading.Event()

    def run():
        while not stop.is_set():
            value = read()
            seen.update(map(type, value if type(value) is tuple else (value,)))
            time.sleep(0)
    thread = threading.Thread(target=run)
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    thread.start()
    try:
        yield seen
    finally:
        stop.set()
        thread.join()
        sys.setswitchinterval(before)


def run(make, wrap, calls=10):
    global COUNTER
    COUNTER = 0
    fn, read, change = make()
    fn, got = wrap(fn), []
    with reading(read) as seen:
        for i in range(calls):
            got.append((plain(fn(vec(1.0 + i, 2.0, 3.0))), plain(read())))
            change()
    return got, seen, fn


@pytest.mark.parametrize("make, most", [
    (attribute, 5), (attribute_below_a_default, 2), (written_attribute, 2), (written_size, 3), (size_of_data, 4),
    (written_size_of_data, 4), (size_of_data_in_a_dictionary, 10), (item, 10), (closure, 10),
    (global_that_is_written, 10)], ids=lambda v: getattr(v, "__name__", ""))
def test_a_reader_meets_plain_numbers(make, most):
    want, *_ = run(make, lambda f: f)
    got, seen, traced = run(make, jit.trace)
    assert got == want
    assert seen <= {int, float}, seen
    assert traced.stats()["compiles"] <= most, traced.stats()["misses"]


def test_lengths_are_sizes_beside_other_threads():
    """The replacement of `len` in this module acts as `len` in other threads."""
    def mean(x):
        time.sleep(0.001)
        return x.sum() / len(x)

    traced = jit.trace(mean)
    with reading(lambda: (len((1, 2)), *map(len, ("abc", [])), max(("a", "bc"), key=len).count("b"))) as seen:
        for n in range(3, 13):
            assert plain(traced(ingot.arange(n) * 1.0)) == plain(mean(ingot.arange(n) * 1.0)), n
    assert seen == {int} and traced.stats()["compiles"] <= 2, traced.stats()["misses"]


def test_a_class_is_as_before_after_recordings():
    m = Annealed()
    traced = jit.trace(m)
    for _ in range(4):
        traced(vec())
        m.t *= 0.9
        assert "t" not in vars(Annealed) and type(vars(m)["t"]) is float


def started_by_a_service():
    """Return a function that starts threads from library code, as progress bars do."""
    names = {"__name__": "tqdm.std"}
    exec(compile("def start(thread): thread.start()", "/site-packages/tqdm/std.py", "exec"), names)
    return names["start"]


@pytest.mark.parametrize("make", [item, attribute, written_attribute], ids=lambda v: v.__name__)
def test_a_thread_that_starts_inside_meets_plain_numbers(make):
    start = started_by_a_service()

    def life(wrap):
        fn, read, change = make()
        seen: set = set()

        def meet():
            value = read()
            seen.update(map(type, value if type(value) is tuple else (value,)))

        def outer(x):
            thread = threading.Thread(target=meet)
            start(thread)
            thread.join()
            return fn(x) * 2

        outer, got = wrap(outer), []
        for i in range(6):
            got.append((plain(outer(vec(1.0 + i, 2.0))), plain(read())))
            change()
        return got, seen
    want, _ = life(lambda f: f)
    got, seen = life(jit.trace)
    assert got == want and seen <= {int, float}


@pytest.mark.parametrize("way", [lambda o: copy.copy(o).t, lambda o: vars(o)["t"], lambda o: o.__dict__["t"],
                                 lambda o: getattr(o, "t")])       # noqa: B009
def test_ways_past_an_attribute(way):
    o = Holder(t=1.0)

    def fn(x):
        return (x * o.t if way(o) > 0.7 else x - o.t) + way(o)

    traced = jit.trace(fn)
    for i in range(12):
        x = vec(1.0 + i, 2.0)
        assert plain(traced(x)) == plain(fn(x)), i
        o.t *= 0.95
    assert isinstance(ingot.tensor(o.t).item(), float) and type(o.t) is float
