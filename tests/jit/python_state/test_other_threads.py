"""Functions that have stand-ins while a call is recorded, as another thread meets them at that moment: as they are."""

import builtins
import gc
import io
import logging
import math
import os
import random
import sys
import threading
import time
import warnings

import pytest

import ingot
from ingot import jit, nn

MODULES = {module.__name__: module for module in (
    builtins, gc, io, logging, math, os, random, time, warnings, sys.modules[__name__])}


def _values() -> dict:
    """Return what this thread finds under each name. Filters of warnings are left out, which tests set."""
    found = {f"{place}.{name}": value for place, module in MODULES.items() for name, value in vars(module).items()
             if name not in ("filters", "_filters_version", "__warningregistry__")}
    found |= {f"gc.callbacks[{i}]": callback for i, callback in enumerate(gc.callbacks)}
    found |= {f"Logger.{name}": value for name, value in vars(logging.Logger).items()}
    return found


def _differences(now, before) -> list:
    """Return the names whose values differ."""
    return sorted(name for name in now.keys() | before.keys() if now.get(name) is not before.get(name))


def _results(path) -> list:
    """Return what the functions do in this thread."""
    text, logged = io.StringIO(), []
    print("a", 1.5, file=text)
    handler = logging.Handler()
    handler.emit = lambda record: logged.append(record.getMessage())
    logger = logging.getLogger("ingot.other_threads")
    logger.addHandler(handler)
    logger.error("at %d", 3)
    logger.removeHandler(handler)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.warn("seen", stacklevel=1)
    with open(path) as first, io.open(path) as second:      # noqa: UP020
        files = first.read(), second.read()
    numbers = [math.sqrt(2.0), math.floor(2.5), math.isnan(math.nan), math.log(3.0), len([1, 2]), max(1, 2), int("7")]
    return [text.getvalue(), logged, [str(w.message) for w in caught], files, numbers]


@pytest.mark.usefixtures("no_callbacks_of_others")
def test_another_thread_finds_methods_of_classes_and_results_as_they_are(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("text")
    before, results, seen = _values(), _results(path), []
    begun, asked = threading.Event(), threading.Event()

    def other():
        begun.wait(30)
        seen.append((_values(), _results(path)))
        asked.set()

    thread = threading.Thread(target=other)
    thread.start()

    @jit.host
    def wait():
        begun.set()
        asked.wait(30)

    def step(x):
        wait()
        logging.getLogger("ingot.other_threads").debug("here")
        return x * math.sqrt(2.0)

    traced = jit.trace(step, fullgraph=True)
    assert traced(ingot.ones(2)).tolist() == step(ingot.ones(2)).tolist()
    thread.join(30)
    (values, given), = seen
    assert given == results
    assert _differences(values, before) == [] and _differences(_values(), before) == []


@pytest.mark.usefixtures("no_callbacks_of_others")
def test_a_thread_that_looks_all_the_time_never_sees_a_difference(tmp_path):
    """A recording changes nothing that others can see: no stand-in has a name."""
    path = tmp_path / "a.txt"
    path.write_text("text")
    before, different, stop, looked = _values(), set(), threading.Event(), threading.Event()

    def look():
        while not stop.is_set():
            different.update(_differences(_values(), before))
            looked.set()

    def step(x, n, sink):
        with open(path) as file:
            text = file.read()
        print(text, n, x.sum().item(), file=sink)
        warnings.warn("often", stacklevel=1)
        logging.getLogger("ingot.other_threads").debug("%d", n)
        count = max(len(x), n) + int(x.sum()) + float(x[0]) + (type(n) is int)
        return x * math.sqrt(n) + math.floor(x.sum().item() / 2) * count

    thread = threading.Thread(target=look)
    thread.start()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for i in range(12):
                looked.clear()
                traced = jit.trace(lambda x, n, sink, i=i: step(x, n, sink) + i)
                for n in (2, 3):
                    traced(ingot.ones(n), n, io.StringIO())
                looked.wait(30)
    finally:
        stop.set()
        thread.join(30)
    assert sorted(different) == []


def _seen_between_instructions(call, looks) -> dict:
    """Return {name: code} of looks that differ at an instruction of a call: another thread may run there, and see that."""
    before, seen = {name: look() for name, look in looks.items()}, {}

    def trace(frame, event, arg):
        frame.f_trace_lines, frame.f_trace_opcodes = False, True
        for name, look in looks.items():
            if name not in seen and look() != before[name]:
                seen[name] = f"{frame.f_code.co_qualname} {frame.f_lineno}"
        return trace

    tracer = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(tracer)
    return seen


@pytest.fixture
def another_thread():
    """A thread that may run code of the user at any time."""
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait, args=(60,))
    thread.start()
    yield
    stop.set()
    thread.join(30)


def _training(number):
    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
    optimizer = ingot.optim.SGD(net.parameters(), lr=0.1 + number)

    def step(x):
        optimizer.zero_grad()
        loss = net(x).square().mean() * len(x)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return jit.trace(step, fullgraph=True)


def test_no_thread_sees_collections_off_while_another_records(another_thread):
    """Nor where a recording is compiled, or bound to other sizes."""
    def call():
        step = _training(0)
        for n in (2, 3, 4, 5, 70):
            step(ingot.ones(n, 3))

    call()
    assert gc.isenabled() and _seen_between_instructions(call, {"collections": gc.isenabled}) == {}


def _warning(action):
    def step(x):
        with warnings.catch_warnings():
            warnings.simplefilter(action)
            for _ in range(2):
                warnings.warn("from a step", stacklevel=1)
            warnings.warn("another one", DeprecationWarning, stacklevel=2)
        return x * 2

    return step


@pytest.mark.parametrize("action", ["always", "default", "module", "once", "ignore", "error"])
def test_no_thread_sees_filters_of_a_warning_that_is_repeated(action):
    """The filters that the function sets are those of its warnings alone."""
    x, caught = ingot.ones(2), []
    traced = jit.trace(_warning(action))

    def texts(function):
        caught.clear()
        warnings.onceregistry.clear()
        try:
            function(x)
        except UserWarning as error:
            caught.append(f"raised {error}")
        return list(caught)

    shown = warnings.showwarning
    try:
        warnings.showwarning = lambda message, category, *rest: caught.append(f"{category.__name__} {message}")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            want = texts(_warning(action))
            for _ in range(3):
                assert texts(traced) == want
            looks = {"filters": lambda: list(warnings.filters), "list": lambda: id(warnings.filters)}
            seen = {} if action == "error" else _seen_between_instructions(lambda: traced(x), looks)
    finally:
        warnings.showwarning = shown
    assert seen == {}
