"""Threads that never run user code do not restrict a recording; all others do."""

import _thread
import gc
import sys
import threading
import time
import types
import weakref

import pytest

from ingot import jit
from ingot.jit.proxies.threads import SERVICES, is_alone, without_collections
from interrupts import points_of, raised_at
from side_by_side import vec


def started(kind, wait, ready, running):
    """A thread that waits, of a class or with a function of the module `kind`; None is a thread of the user's. It notes its
    number."""
    get_ident = threading.get_ident         # (a function of another module does not see this one's names)

    def rest():
        running.append(get_ident())
        ready.release()
        wait.acquire()

    if kind is None:
        threading.Thread(target=rest, daemon=True).start()
    elif kind.startswith("function of "):
        names = {"__name__": kind.removeprefix("function of ")}
        _thread.start_new_thread(types.FunctionType(rest.__code__, names, closure=rest.__closure__), ())
    else:
        worker = type("Worker", (threading.Thread,), {"__module__": kind})
        worker(target=rest, daemon=True).start()


@pytest.fixture
def beside():
    """Starts threads, and ends them afterwards: the next test counts those that there are."""
    wait, ready, running = threading.Semaphore(0), threading.Semaphore(0), []

    def start(kind):
        started(kind, wait, ready, running)
        ready.acquire()
    yield start
    for _ in running:
        wait.release()
    deadline = time.monotonic() + 60
    while not sys._current_frames().keys().isdisjoint(running):
        assert time.monotonic() < deadline, "a thread has not ended"
        time.sleep(0.001)


@pytest.mark.parametrize("kind", [
    *sorted(SERVICES), "ipykernel.control", "tqdm._monitor", "function of execnet.gateway_base",
    "function of multiprocessing.resource_sharer", "function of ingot.runtime.distributed.stores.tcp_store"])
def test_threads_of_services_do_not_restrict_a_recording(beside, kind):
    beside(kind)
    assert is_alone()


@pytest.mark.parametrize("kind", [
    None, "ipykernel.subshell", "ipykernel.subshell.more", "ipykernels", "multiprocessing.queues", "mine", "function of mine"])
def test_other_threads_restrict_a_recording(beside, kind):
    beside("tqdm._monitor")
    beside(kind)
    assert not is_alone()


def test_inspected_frames_are_not_kept_alive(beside):
    class Held:
        pass

    def asks():
        held = Held()
        is_alone()
        return weakref.ref(held)

    beside("tqdm._monitor")
    gc.collect()
    gc.disable()
    try:
        assert asks()() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("kind, most", [("ipykernel.control", 2), (None, 8)])
def test_a_number_in_a_closure_is_followed_beside_a_service(beside, kind, most):
    rate = 1.0

    @jit.trace
    def fn(x):
        return x * rate

    beside(kind)
    for _ in range(8):
        assert fn(vec(1.0, 2.0)).tolist() == [rate, 2 * rate]
        rate *= 0.5
    assert fn.stats()["compiles"] == most


@pytest.mark.parametrize("enabled", [True, False])
def test_no_collection_takes_place_while_frames_are_read(enabled, monkeypatch):
    """A collection inside of `sys._current_frames()` is a deadlock on Python 3.11."""
    frames, states = sys._current_frames, []

    def read():
        states.append(gc.isenabled())
        return frames()

    monkeypatch.setattr(sys, "_current_frames", read)
    before = gc.isenabled()
    try:
        (gc.enable if enabled else gc.disable)()
        is_alone()
        assert gc.isenabled() is enabled
    finally:
        (gc.enable if before else gc.disable)()
    assert states == [False]


@pytest.mark.parametrize("call", [is_alone, lambda: without_collections(lambda: len([]))], ids=["frames", "work"])
def test_an_interrupt_leaves_collections_on(call):
    for number in range(points_of(call)):
        raised_at(number, call)
        assert gc.isenabled(), number
