"""Threads that call one traced function while they take turns after every few bytecodes, so that recordings, replays and
changes of what was read fall into each other: each call gives what eager gives."""

import random
import sys
import threading
from contextlib import contextmanager

import pytest

import ingot
from ingot import jit, nn
from ingot.jit.guards.frames import unprofiled
from side_by_side import plain, vec
from state_programs import Holder

THREADS, CALLS = 5, 40
SCALE = 3.0


@contextmanager
def short_turns():
    """Threads take turns every 10 microseconds."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def together(work, threads=THREADS):
    """Runs work(number) in threads; raises what any of them raised."""
    errors: list = []

    def run(number):
        try:
            work(number)
        except BaseException as error:
            errors.append(error)

    workers = [threading.Thread(target=run, args=(i,)) for i in range(threads)]
    with short_turns():
        for w in workers:
            w.start()
        for w in workers:
            w.join()
    if errors:
        raise errors[0]


def answers(x):
    """Each answer leads to a branch that reads state of its own."""
    n = int(x[0].item())
    for i in range(n % 5):
        x = x * SCALE + i
    return x - n if n % 2 else x


def numbers(x, n):
    return x * n + n if n > 2 else x - n


def sizes(x):
    return (x * 2).sum(0) + x.shape[0]


def nested(xs):
    return {"sum": xs["a"] + xs["b"][0], "size": len(xs["b"])}


LAYER = nn.Linear(2, 3)


def layer(x):
    return LAYER(x.reshape(1, 2) if x.shape[0] == 2 else x[:2].reshape(1, 2)).relu()


PROGRAMS = [
    (answers, lambda r: (vec(float(r.randrange(9)), 2.0),)),
    (numbers, lambda r: (vec(1.0, 2.0), r.choice([1, 2, 3, 4, 2.5, 0.5]))),
    (sizes, lambda r: (vec(*map(float, range(r.randrange(1, 9)))),)),
    (nested, lambda r: ({"a": vec(1.0, 2.0), "b": [vec(3.0, 4.0)] * r.randrange(1, 4)},)),
    (layer, lambda r: (vec(*[float(r.randrange(5)) for _ in range(r.randrange(2, 5))]),)),
]


@pytest.mark.parametrize("fn, make", PROGRAMS, ids=lambda v: v.__name__.strip("<>"))
def test_calls_that_fall_into_each_other(fn, make):
    for round_ in range(4):
        traced = jit.trace(fn)

        def work(number):
            r = random.Random(100 * round_ + number)
            for _ in range(CALLS):
                args = make(r)
                with ingot.no_grad():
                    assert plain(traced(*args)) == plain(fn(*args)), (round_, number, args)

        together(work)
        assert traced.stats()["compiles"] <= CALLS


def test_a_number_that_another_thread_changes():
    for _ in range(6):
        o = Holder(k=1.0)
        traced = jit.trace(lambda x: x * o.k)

        def work(number):
            for _ in range(CALLS):
                if number == 0:
                    o.k = o.k + 1.0
                v = traced(ingot.ones(1)).item()
                assert v == int(v) and 1 <= v <= CALLS + 1

        together(work)
        assert type(o.k) is float


class Meddler:
    """Another thread that changes `holder.k` whenever `meddle` is called, the first `times` times."""

    def __init__(self, holder, times):
        self.holder, self.times = holder, times
        self.turn, self.done, self.ended = threading.Semaphore(0), threading.Semaphore(0), False
        self.thread = threading.Thread(target=self._run)

    def _run(self):
        while self.turn.acquire() and not self.ended:
            self.holder.k += 1.0
            self.done.release()

    def meddle(self, x):
        if self.times > 0:
            self.times -= 1
            self.turn.release()
            self.done.acquire()

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended = True
        self.turn.release()
        self.thread.join()


def meddled(holder, meddler):
    @jit.trace
    def fn(x):
        y = x * holder.k
        unprofiled(meddler.meddle, x)
        return y
    return fn


def test_a_recording_that_was_disturbed_is_thrown_away():
    o = Holder(k=1.0)
    with Meddler(o, 3) as meddler:
        fn = meddled(o, meddler)
        assert [fn(vec(1.0)).item() for _ in range(8)] == [1.0, 2.0, 3.0, 4.0, 4.0, 4.0, 4.0, 4.0]
        assert fn.stats()["compiles"] == 1
        assert "another thread changed holder.k" in fn.stats()["misses"][0]


def test_who_is_always_disturbed_is_told(recordings_cost_time):
    """Such a function runs eagerly."""
    o = Holder(k=1.0)
    with Meddler(o, 10 ** 6) as meddler:
        fn = meddled(o, meddler)
        with pytest.warns(jit.TracerWarning, match=r"another thread changed holder\.k"):
            for i in range(100):
                assert fn(vec(1.0)).item() == 1.0 + i
    assert fn.stats()["unrecorded"] == 100 and fn.stats()["compiles"] == 0
