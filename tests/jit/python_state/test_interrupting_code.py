"""Code that the interpreter runs in the middle of a recorded call: it runs as without a recording, and no replay repeats it."""

import _thread
import ctypes
import datetime
import decimal
import fractions
import gc
import os
import pathlib
import random
import signal
import struct
import subprocess
import sys
import threading
import types
import weakref

import numpy as np
import pytest

import ingot
from ingot import jit
from ingot.jit.python_state import frames_apart, stand_ins
from ingot.runtime.core import dispatch
from ingot.runtime.state.collector import CALLBACK

NUMBER = int(signal.SIGUSR1)


class World:
    """State that the traced function reads or writes, and that other code may change. `ran` counts runs of that code."""

    def __init__(self, act):
        self.rate, self.table, self.log, self.weight, self.array = 2.0, {"k": 3.0}, [], ingot.ones(2), np.ones(2)
        self.slot, self.ran, self._act, self._acts = types.SimpleNamespace(held=None), 0, act, False

    def act(self, *args):
        if not self._acts:          # (its own garbage, and its own lines)
            self._acts = True
            self.ran += 1
            ACTIONS[self._act](self)
            self._acts = False


def _add(array):
    array += 1.0


# Action -> what other code does with the world.
ACTIONS: dict = {
    "python": lambda world: sum([i * i for i in range(3)]),
    "random": lambda world: (random.random(), np.random.rand(2)),
    "c_library": lambda world: ctypes.pythonapi.PyErr_Occurred(),
    "operators": lambda world: (ingot.ones(3) * 2).sum().item(),
    "draws": lambda world: ingot.rand(2),
    "weight": lambda world: world.weight.add_(1.0),
    "item": lambda world: world.table.update(k=world.table["k"] + 1),
    "attribute": lambda world: setattr(world, "rate", world.rate + 1),
    "list": lambda world: world.log.append(0.5),
    "array": lambda world: _add(world.array),
    "prints": lambda world: print(end=""),
}


class Finalised:
    def __init__(self, world):
        self.world, self.me = world, None

    def __del__(self):
        self.world.act()


class Node:
    pass


def _nothing():
    return None


def _collected(world):
    def callback(phase, info):
        if phase == "stop":
            world.act()

    gc.callbacks.append(callback)
    return _nothing, lambda: gc.callbacks.remove(callback)


def _collected_often(world):
    def callback(*args):
        world.act()

    before = gc.get_threshold()
    gc.callbacks.append(callback)
    gc.set_threshold(70)

    def end():
        gc.callbacks.remove(callback)
        gc.set_threshold(*before)

    return _nothing, end


def _signalled(world):
    before = signal.signal(signal.SIGUSR1, world.act)
    return _nothing, lambda: signal.signal(signal.SIGUSR1, before)


def _timed(world):
    before = signal.signal(signal.SIGALRM, world.act)
    signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)

    def end():
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)

    return _nothing, end


def _dying(world):
    def arm():
        x = Node()
        x.me, world.reference = x, weakref.ref(x, world.act)

    return arm, _nothing


def _finalised(world):
    def arm():
        x = Node()
        x.me = x
        weakref.finalize(x, world.act)

    return arm, _nothing


def _deleted(world):
    return lambda: setattr(world.slot, "held", Finalised(world)), _nothing


def _garbage(world):
    def arm():
        x = Finalised(world)
        x.me = x

    return arm, _nothing


def _in_thread(world):
    stopped = threading.Event()

    def run():
        while not stopped.wait(0.001):
            world.act()

    thread = threading.Thread(target=run)
    thread.start()

    def end():
        stopped.set()
        thread.join()

    return _nothing, end


def _traced_by_python(world):
    before = sys.gettrace()

    events = iter(range(1 << 30))

    def tool(frame, event, arg):
        if next(events) % 200 == 0:
            world.act()

    sys.settrace(tool)
    return _nothing, lambda: sys.settrace(before)


def _profiled(world):
    before, events = sys.getprofile(), iter(range(1 << 30))
    sys.setprofile(lambda *args: world.act() if next(events) % 200 == 0 else None)
    return _nothing, lambda: sys.setprofile(before)


def _monitored(world):
    tools = sys.monitoring
    tools.use_tool_id(tools.COVERAGE_ID, "test")
    events = iter(range(1 << 30))
    tools.register_callback(tools.COVERAGE_ID, tools.events.PY_START,
                            lambda *args: world.act() if next(events) % 200 == 0 else None)
    tools.set_events(tools.COVERAGE_ID, tools.events.PY_START)

    def end():
        tools.set_events(tools.COVERAGE_ID, 0)
        tools.register_callback(tools.COVERAGE_ID, tools.events.PY_START, None)
        tools.free_tool_id(tools.COVERAGE_ID)

    return _nothing, end


# Way -> function of a world that gives (what is done before each call, what ends it).
WAYS: dict = {
    "callback_of_the_collector": _collected, "many_collections": _collected_often, "signal": _signalled, "timer": _timed,
    "weak_reference": _dying, "finalize": _finalised, "del": _deleted, "garbage": _garbage, "thread": _in_thread,
    "settrace": _traced_by_python, "setprofile": _profiled,
    **({"monitoring": _monitored} if hasattr(sys, "monitoring") else {}),
}


def _check(world, calls):
    """Assert that the state has each change once: those of the function, and those of the other code."""
    other = dict.fromkeys(ACTIONS, 0) | {world._act: world.ran}
    assert world.rate == 2.0 + other["attribute"] and world.table["k"] == 3.0 + other["item"]
    assert world.log.count(1.0) == calls and world.log.count(0.5) == other["list"]
    assert world.weight.tolist() == [1.0 + other["weight"]] * 2 and world.array.tolist() == [1.0 + other["array"]] * 2


GO_ON = ("thread", "timer", "settrace", "setprofile", "monitoring")       # between the lines of this test, too
TOOLS = ("settrace", "setprofile", "monitoring")
CHANGES = ("weight", "item", "attribute", "list", "array", "draws")
# Changes of another thread to a container that the function reaches are not told from its own; tools change no state.
CASES = [(way, act) for way in WAYS for act in ACTIONS if not (
    (way == "thread" and act in ("item", "list", "array")) or (way in TOOLS and act in (*CHANGES, "random")))]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("way", "act"), CASES)
def test_interrupting_code_is_no_part_of_a_recording(way, act):
    world = World(act)
    sends, collects = way == "signal", way in ("callback_of_the_collector", "garbage", "weak_reference", "finalize")

    @jit.trace
    def step(x):
        y = x * world.rate
        if sends:
            os.kill(os.getpid(), NUMBER)
        if collects:
            gc.collect()
        world.slot.held = None
        for i in range(10):
            y = y + i
        z = (y + world.weight) * world.table["k"]
        world.log.append(1.0)
        return z + float(world.array.sum())

    gc.collect()
    arm, end = WAYS[way](world)
    try:
        for call in range(1, 6):
            arm()
            ran = world.ran
            before = world.rate, world.table["k"], world.weight[0].item(), world.array.sum()
            got = step(ingot.ones(2))[0].item()
            after = world.rate, world.table["k"], world.weight[0].item(), world.array.sum()
            if way not in GO_ON:
                _check(world, call)
                low, high = [(rate + 45 + weight) * k + total for rate, k, weight, total in (before, after)]
                assert low <= got <= high, (call, low, got, high)
            assert world.ran > ran or not (sends or collects) or way == "garbage", (call, "it ran")
    finally:
        end()
    _check(world, 5)
    assert step.stats()["unrecorded"] < 5 or act in CHANGES or (act == "random" and way in GO_ON), step.stats()


def test_a_handler_that_raises_makes_no_recording():
    calls = []

    class Late(Exception):
        pass

    def handler(number, frame):
        if len(calls) == 1:
            raise Late

    @jit.trace
    def step(x):
        y = x * 2
        try:
            os.kill(os.getpid(), NUMBER)
            y = y + 1
        except Late:
            y = y - 1
        return y

    before = signal.signal(signal.SIGUSR1, handler)
    try:
        for _ in range(4):
            calls.append(1)
            assert step(ingot.ones(1)).item() == (1.0 if len(calls) == 1 else 3.0)
    except jit.TraceError as error:         # (the function catches what a call in C may raise)
        assert "posix.kill" in str(error) or "os.kill" in str(error)
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_a_callback_of_the_collector_in_c_changes_what_the_function_reads():
    seen: dict = {}

    @jit.trace
    def step(x):
        gc.collect()
        return x * len(seen)

    gc.callbacks.append(seen.setdefault)
    try:
        for _ in range(4):
            before = len(seen)
            assert before <= step(ingot.ones(1)).item() <= len(seen)
            seen.clear()
    finally:
        gc.callbacks.remove(seen.setdefault)


def _mine(*args):
    return None


def _raises(x):
    raise ZeroDivisionError


def _records_another(x):
    return jit.trace(lambda x: x + 1)(x) * 2


# Place of another callback, or that all were removed -> what is done to the list before.
LISTS: dict = {
    "none": lambda callbacks: None,
    "first": lambda callbacks: callbacks.insert(0, _mine),
    "last": lambda callbacks: callbacks.append(_mine),
    "alone": lambda callbacks: callbacks.__setitem__(slice(None), [_mine]),
    "empty": lambda callbacks: callbacks.clear(),
}


@pytest.mark.parametrize("fn", [lambda x: x * 2, _raises, _records_another, jit.host(_records_another)],
                         ids=["mul", "raises", "nested", "nested_host"])
@pytest.mark.parametrize("change", LISTS.values(), ids=LISTS)
def test_handlers_and_callbacks_are_as_they_were(change, fn):
    callbacks, handler, seen = [*gc.callbacks], signal.getsignal(signal.SIGUSR1), []

    @jit.host
    def look():
        seen.append([*gc.callbacks])

    def step(x):
        look()
        gc.collect()
        y = fn(x)
        look()
        return y

    signal.signal(signal.SIGUSR1, _mine)
    default = signal.getsignal(signal.SIGINT)
    try:
        change(gc.callbacks)
        before = [*gc.callbacks]
        for _ in range(2):
            if fn is _raises:
                with pytest.raises(ZeroDivisionError):
                    jit.trace(step)(ingot.ones(1))
            else:
                jit.trace(step)(ingot.ones(1))
            assert gc.callbacks == before
        assert signal.getsignal(signal.SIGUSR1) is _mine and signal.getsignal(signal.SIGINT) is default
        own = [c for c in callbacks if c is CALLBACK]
        assert all(now in (before, [*own, *before]) for now in seen)         # the one of ingot comes first meanwhile
    finally:
        gc.callbacks[:] = callbacks
        signal.signal(signal.SIGUSR1, handler)


@pytest.mark.usefixtures("no_callbacks_of_others")
def test_no_callback_sees_another_list_unless_a_collection_ends():
    """The list changes for callbacks that come after a recording's alone, and only while these run."""
    seen: dict = {"start": set(), "stop": set(), "line": set()}

    def callback(phase, info):
        seen[phase].add(len(gc.callbacks))

    @jit.trace
    def step(x):
        for _ in range(3):
            gc.collect()
            x = x + 1
        return x

    def tool(frame, event, arg):
        if frame.f_code is step.__wrapped__.__code__:
            seen["line"].add(len(gc.callbacks))
        return tool

    gc.callbacks.append(callback)
    before = sys.gettrace()
    try:
        count = len(gc.callbacks)
        sys.settrace(tool)
        step(ingot.ones(1))
    finally:
        sys.settrace(before)
        gc.callbacks.remove(callback)
    assert seen["start"] == seen["line"] == {count} and seen["stop"] <= {count, count + 1}


class Interrupting:
    """Garbage that acts as Ctrl-C does: code in C, so the interpreter looks for the signal later."""

    __del__ = staticmethod(_thread.interrupt_main)

    def __init__(self):
        self.me = self


@pytest.mark.parametrize("callbacks", [0, 1])
def test_ctrl_c_in_a_collection_is_not_lost(callbacks):
    lines = []

    @jit.trace
    def step(x):
        for i in range(5):
            gc.collect()
            x = x + abs(i)
            lines.append(i)
        return x

    gc.collect()
    gc.callbacks.extend([_mine] * callbacks)
    try:
        Interrupting()
        with pytest.raises(KeyboardInterrupt):
            step(ingot.ones(1))
    finally:
        del gc.callbacks[len(gc.callbacks) - callbacks:]
    assert len(lines) <= 1 and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert step(ingot.ones(1)).item() == 11.0


FIRST_USE = """
import gc
gc.set_threshold(1)
import ingot, numpy as np
f = ingot.jit.trace(lambda x: x * np.random.RandomState(3).randint(1, 5))
got = [f(ingot.ones(2)).tolist() for _ in range(3)]
want = (ingot.ones(2) * np.random.RandomState(3).randint(1, 5)).tolist()
assert got == [want] * 3, got
"""


def test_the_first_use_of_numpys_random_numbers_may_be_recorded():
    """Collections come while `numpy.random` is imported, and find half of it."""
    done = subprocess.run([sys.executable, "-c", FIRST_USE], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_collections_leave_symbolic_sizes_alone(monkeypatch):
    """An operator on symbolic sizes runs with no recorder for a moment; a collection then leaves all flags as they are."""
    known, f = dispatch.at_hint, jit.trace(lambda x: (x.reshape(-1, 2) * 2).sum(0).softmax(0))

    def collects(x):
        gc.collect()
        return known(x)

    monkeypatch.setattr(dispatch, "at_hint", collects)
    for rows in (4, 6, 8, 10, 12, 14):
        x = ingot.randn(rows, 2)
        assert (f(x) == (x.reshape(-1, 2) * 2).sum(0).softmax(0)).all()
    assert f.stats()["compiles"] == 2


ARRAY = np.ones((2, 3))
OBJECTS = [     # in C, some attributes of which make their value anew at each lookup
    ARRAY, ARRAY.dtype, np.float64(2.5), np.add, struct.Struct("<id"), int, 1 + 2j, 2.5, range(10 ** 6, 10 ** 7),
    slice(1000, 10 ** 5), datetime.datetime(2000, 1, 2), datetime.timedelta(1, 2, 3000),
    decimal.Decimal("1.5"), fractions.Fraction(10 ** 6, 7),
    World.act.__code__, pathlib.PurePath("/a/b.c"), memoryview(b"abc"), ingot.ones(2).dtype]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("owner", OBJECTS, ids=[type(owner).__name__ for owner in OBJECTS])
def test_a_value_that_each_lookup_makes_is_no_change(owner):
    values = {name: getattr(owner, name, None) for name in dir(owner)}
    names = [name for name, value in values.items() if isinstance(value, (int, float, complex, str, bytes, tuple))]
    assert names
    for name in names:
        guard = types.SimpleNamespace(value=lambda name=name: getattr(owner, name))
        assert not frames_apart._has_changed(guard, guard.value()), name


def test_a_changed_value_is_a_change():
    """Of another class, sign or identity."""
    for was, now in (1, 1.0), (0.0, -0.0), ("a", "b"), ((1,), (True,)), ([], []), (ARRAY, ARRAY.copy()), (ARRAY, None):
        assert frames_apart._has_changed(types.SimpleNamespace(value=lambda now=now: now), was), (was, now)


def test_calls_that_read_attributes_of_arrays_are_recorded_between_collections():
    f = jit.trace(lambda x: x * 2 if ARRAY.dtype.name == "float64" and ARRAY.shape == (2, 3) else x)
    before = gc.get_threshold()
    gc.set_threshold(1, 1, 1)
    try:
        f(ingot.ones(2))
    finally:
        gc.set_threshold(*before)
    assert f(ingot.ones(2)).tolist() == [2.0, 2.0] and not f.stats()["eager"]


@pytest.mark.parametrize("change", [
    lambda world: setattr(world, "rate", world.rate + 1), lambda world: world.table.update(k=9.0),
    lambda world: setattr(world, "weight", ingot.ones(2) * 7)])
def test_what_changes_between_the_look_for_a_recording_and_its_beginning(change, monkeypatch):
    """A garbage collection may come there. The call runs as it is, and later ones are recorded."""
    world, begins = World("python"), stand_ins.MessageSettings.now

    @jit.trace
    def step(x):
        return x * world.rate + world.table["k"] * world.weight

    def run():
        return step(ingot.ones(2)).tolist() == [world.rate + world.table["k"] * world.weight[0].item()] * 2

    assert run()
    world.rate, world.table["k"], world.weight = 2.5, 3.5, ingot.ones(2) * 3
    assert run()        # looks numbers up from now on
    world.rate = world.table
    world.rate = 4
    changed = []

    def late():
        if not changed:
            changed.append(change(world))
        return begins()

    monkeypatch.setattr(stand_ins.MessageSettings, "now", late)
    assert run() and changed
    assert all(run() for _ in range(3))
