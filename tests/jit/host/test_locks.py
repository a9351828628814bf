"""Locks from outside that a traced function takes: replays hold them, as eager code does, and cause no deadlock."""

import multiprocessing
import threading
import time
from types import SimpleNamespace

import pytest

import ingot
from ingot import jit, nn
from ingot.jit.host.locks import HeldLocks, LockLog
from interrupts import points_of, raised_at

LOCKS = {
    "Lock": threading.Lock, "RLock": threading.RLock, "Condition": threading.Condition,
    "Condition of a Lock": lambda: threading.Condition(threading.Lock()),
    "Semaphore": lambda: threading.Semaphore(1), "BoundedSemaphore": lambda: threading.BoundedSemaphore(1),
    "multiprocessing.Lock": multiprocessing.Lock, "multiprocessing.RLock": multiprocessing.RLock,
}


class Counter:
    """An object with a lock, whose methods take it in several ways."""

    def __init__(self, lock):
        self.lock, self.n = lock, 0

    def by_with(self, x):
        with self.lock:
            self.n += 1
            return x * self.n

    def by_calls(self, x):
        self.lock.acquire()
        try:
            self.n += 1
            return x * self.n
        finally:
            self.lock.release()

    def by_name(self, x):
        getattr(self.lock, "acquire")()      # noqa: B009  (by name)
        self.n += 1
        y = x * self.n
        getattr(self.lock, "release")()      # noqa: B009
        return y


WAYS = ("by_with", "by_calls", "by_name")


@pytest.fixture(autouse=True)
def _counts_recordings():
    """Let all calls that can be replayed be replayed, however short they are."""
    before = ingot.are_deterministic_algorithms_enabled()
    ingot.use_deterministic_algorithms(True)
    yield
    ingot.use_deterministic_algorithms(before)


def is_free(lock) -> bool:
    """Return whether another thread can take a lock."""
    found: list = []

    def look():
        found.append(lock.acquire(False))
        if found[0]:
            lock.release()

    run(look).join()
    return found[0]


def run(function):
    thread = threading.Thread(target=function, daemon=True)
    thread.start()
    return thread


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", LOCKS)
def test_replays_wait_for_the_lock_and_give_it_back(kind, way):
    c = Counter(LOCKS[kind]())
    fn = jit.trace(getattr(c, way))
    assert [fn(ingot.ones(1)).item() for _ in range(5)] == [1, 2, 3, 4, 5]
    assert fn.stats()["compiles"] == 2
    assert is_free(c.lock)
    is_held, goes_on, results = threading.Event(), threading.Event(), []

    def hold():
        with c.lock:
            is_held.set()
            goes_on.wait(10)
            c.n = 40

    holder = run(hold)
    is_held.wait(10)
    caller = run(lambda: results.append(fn(ingot.ones(1)).item()))
    time.sleep(0.02)
    assert (results, c.n) == ([], 5)
    goes_on.set()
    holder.join(10)
    caller.join(10)
    assert (results, c.n) == ([41], 41)      # it reads what the other thread has left
    assert is_free(c.lock)
    assert fn.stats()["compiles"] == 2


def test_threads_lose_no_update():
    c = Counter(threading.Lock())
    fn = jit.trace(c.by_with)
    for _ in range(3):
        fn(ingot.ones(1))
    for thread in [run(lambda: [fn(ingot.ones(1)) for _ in range(50)]) for _ in range(4)]:
        thread.join(60)
    assert c.n == 203
    assert fn.stats()["unrecorded"] == 0


def test_locks_taken_one_after_the_other_cause_no_deadlock():
    a, b = threading.Lock(), threading.Lock()

    def both(first, second):
        @jit.trace
        def fn(x):
            with first:
                y = x * 2
            with second:
                return y + 1

        fn(ingot.ones(1))
        return fn

    functions = both(a, b), both(b, a)
    threads = [run(lambda f=f: [f(ingot.ones(1)) for _ in range(100)]) for f in functions * 2]
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    assert all(f.stats()["compiles"] == 1 and not f.stats()["unrecorded"] for f in functions)


def test_a_recording_that_waits_for_a_lock_does_not_hold_up_the_thread_that_has_it():
    lock, is_held, results = threading.Lock(), threading.Event(), []
    inner = jit.trace(lambda x: x * 3)

    @jit.trace
    def outer(x):
        with lock:
            return x * 2

    def hold():
        with lock:
            is_held.set()
            while LockLog.waiting is None:
                time.sleep(0.001)
            inner(ingot.ones(1))

    holder = run(hold)
    is_held.wait(10)
    recording = run(lambda: results.append(outer(ingot.ones(1)).item()))
    holder.join(20)
    recording.join(20)
    assert not holder.is_alive()
    assert not recording.is_alive()
    assert results == [2]
    assert [*inner.stats()["eager"]] == ["another thread that records a function waits for a lock"]


def test_a_nested_lock_is_held_as_often():
    s = threading.Semaphore(2)

    @jit.trace
    def fn(x):
        with s, s:
            return x * 2

    fn(ingot.ones(1))
    assert s.acquire(False)
    caller = run(lambda: fn(ingot.ones(1)))
    caller.join(0.05)
    assert caller.is_alive()
    s.release()
    caller.join(10)
    assert not caller.is_alive()
    assert fn.stats()["compiles"] == 1


def test_a_waiting_thread_is_notified_at_each_call():
    c, seen = threading.Condition(), []

    @jit.trace
    def fn(x):
        with c:
            c.notify_all()
            return x * 2

    def wait():
        with c:
            ready.set()
            seen.append(c.wait(10))

    for _ in range(3):
        ready = threading.Event()
        waiting = run(wait)
        ready.wait(10)
        fn(ingot.ones(1))
        waiting.join(10)
    assert seen == [True] * 3
    assert fn.stats()["compiles"] == 1


def test_an_interrupted_replay_gives_back_the_locks_that_it_took():
    """As Ctrl-C does while a replay waits for its second lock."""
    class Interrupted:
        def acquire(self, wait=True):
            raise KeyboardInterrupt

    first = threading.Lock()
    held = HeldLocks((first, Interrupted()))
    with pytest.raises(KeyboardInterrupt):
        try:
            held.take()
        finally:
            held.turn.give_back()
    assert not first.locked()


@pytest.mark.parametrize("kind", [threading.Lock, threading.RLock], ids=["lock", "nested"])
def test_no_exception_from_outside_leaves_a_lock_taken(kind):
    """At any point of a replay that takes two locks."""
    first, second, x = kind(), kind(), ingot.ones(1)

    @jit.trace
    def fn(x):
        with first, second:
            for _ in range(40):
                x = (x * 2 + 1).sin()
            return x

    free: list = []
    for _ in range(20):
        fn(x)
    assert fn.stats()["compiles"] == 1
    for number in range(points_of(lambda: fn(x))):
        raised_at(number, lambda: fn(x))
        for lock in (first, second):
            run(lambda lock=lock: free.append(lock.acquire(False)) or (free[0] and lock.release())).join(10)
            assert free.pop(), number


def test_a_lock_of_a_module_and_a_lock_that_is_replaced():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.lock = threading.Lock()

        def forward(self, x):
            with self.lock:
                return x * 2

    net = jit.trace(Net())
    net(ingot.ones(1))
    net.lock.acquire()
    net.lock = threading.Lock()         # nobody waits for the old one
    for _ in range(3):
        net(ingot.ones(1))
    assert net.stats()["compiles"] == 2


def test_an_error_in_compiled_code_gives_the_lock_back():
    lock, table = threading.Lock(), ingot.arange(4.)

    @jit.trace
    def fn(i):
        with lock:
            return table[i]

    fn(ingot.tensor([1]))
    fn(ingot.tensor([2]))
    with pytest.raises(IndexError):
        fn(ingot.tensor([9]))
    assert is_free(lock)
    assert fn(ingot.tensor([3])).item() == 3


LEFT = {
    "left taken": ("s.lock.acquire()\n    return x * 2", "s.lock.release()", "leaves a lock taken"),
    "given back": ("s.lock.release()\n    return x * 2", "s.lock.acquire()", "gives back a lock"),
    "behind a branch": ("if x.sum() > 0:\n        with s.lock:\n            return x * 2\n    return x", "",
                        "behind a branch on the value"),
    "a host function besides": ("with s.lock:\n        y = x * 2\n    s.note(y)\n    return y", "", "runs outside of a lock"),
}


@pytest.mark.parametrize("row", LEFT)
def test_locks_that_no_replay_can_hold_as_eager_code_does(row):
    body, between, why = LEFT[row]
    space: dict = {"s": SimpleNamespace(lock=threading.Lock(), note=None)}
    if row == "given back":
        space["s"].lock.acquire()
    if "host" in row:
        space["s"].note = jit.host(lambda t: space["s"].lock.__enter__() and space["s"].lock.release())
    exec(f"def fn(x):\n    {body}", space)
    fn = jit.trace(space["fn"])
    with pytest.warns(jit.TracerWarning, match=why):
        for _ in range(4):
            assert fn(ingot.ones(1)).item() == 2
            exec(between, space)
    assert fn.stats()["unrecorded"] == 4


REFUSED = {
    "if s.lock.acquire(False):\n        s.lock.release()\n    return x": "lock.acquire",
    "if s.lock.acquire(timeout=0.1):\n        s.lock.release()\n    return x": "lock.acquire",
    "return x * s.lock.locked()": "lock.locked",
    "with contextlib.ExitStack() as stack:\n        stack.enter_context(s.lock)\n    return x": "lock from outside",
    "c = threading.Condition(s.lock)\n    with c:\n        return x": "lock from outside",
}


@pytest.mark.parametrize("body", REFUSED)
def test_other_uses_are_refused(body):
    space: dict = {"s": SimpleNamespace(lock=threading.Lock())}
    exec(f"import contextlib, threading\ndef fn(x):\n    {body}", space)
    with pytest.raises(jit.TraceError, match=REFUSED[body]):
        jit.trace(space["fn"])(ingot.ones(1))


def test_locks_that_the_function_makes_are_its_own():
    @jit.trace
    def fn(x):
        lock = threading.Lock()
        with lock:
            return x * lock.locked()

    assert [fn(ingot.ones(1)).item() for _ in range(3)] == [1, 1, 1]
    assert fn.stats()["compiles"] == 1
