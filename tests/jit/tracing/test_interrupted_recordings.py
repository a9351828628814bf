"""Interrupts while a call is recorded: the process and the thread are as before, and later calls work."""

import builtins
import gc
import io
import logging
import math
import random
import sys
import time
import warnings

import pytest

import ingot
from ingot import jit, nn
from ingot.ir import locks as open_locks
from ingot.jit.tracing.recorded_call import RECORDING
from ingot.runtime.state.mode import Mode, tls
from interrupts import KINDS, Interrupted, alarm_after, is_from_outside

RATES = {"rate": 2.0}


def _state() -> dict:
    places = {"builtins": builtins, "math": math, "io": io, "warnings": warnings, "logger": logging.Logger,
              "here": sys.modules[__name__]}
    found = {f"{place}.{name}": id(value) for place, owner in places.items() for name, value in vars(owner).items()
             if not name.startswith("__") and name != "filters" and name[0] != "_"}
    found |= {f"mode.{name}": getattr(tls.m, name) for name in Mode.__slots__ if name not in ("failures", "run", "_context")}
    found |= {"profile": sys.getprofile(), "trace": sys.gettrace(), "collects": gc.isenabled(), "callbacks": list(gc.callbacks)}
    return found | {"recording": RECORDING._is_owned(), "closed": [lock for lock in open_locks.known() if _is_closed(lock)]}


def _is_closed(lock) -> bool:
    """Return whether a lock is closed; other threads of the process use none of ingot's."""
    lock = getattr(lock, "_lock", lock)
    taken = lock.acquire(blocking=False)
    if taken:
        lock.release()
    return not taken or (hasattr(lock, "_is_owned") and lock._is_owned())


def _function(rate: int):
    def step(x, n, sink):
        total = x * 0.0
        for i in range(len(x)):
            total = total + x[i] * float(n) * RATES["rate"] + math.sqrt(n)
        if int(total.sum()) > 10 ** 6:
            return total
        print(f"{total.sum().item():.3f}", file=sink)
        warnings.warn("often", stacklevel=1)
        logging.getLogger("traced").debug("%s", n)
        return total * max(n, 3) + rate
    return step


def _drawing(rate: int):
    generator = ingot.Generator()

    def step(x, n, sink):
        ingot.manual_seed(n)
        generator.manual_seed(n)
        for _ in range(6):
            x = nn.functional.dropout(x, 0.5) + ingot.rand(4) * rate
            x = x + ingot.rand(4, generator=generator) + ingot.randint(0, n, (4,))
        ingot.manual_seed(rate)
        return x * math.floor(n / 2) + ingot.rand(4)
    return step


def _training(rate: int):
    net = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5), nn.Linear(4, 1))
    optimizer, seen = ingot.optim.Adam(net.parameters(), lr=1e-3 + rate), []

    def step(x, n, sink):
        ingot.manual_seed(n)
        optimizer.zero_grad()
        loss = net(x).sum() * n
        loss.backward()
        optimizer.step()
        with open(__file__) as file:
            seen.append(len(file.readline()))
        return loss.detach() * 0.0 + min(n, 7)
    return step


PROGRAMS = [_function, _drawing, _training]


def _interrupt(make, count: int, kind, rng):
    warnings.simplefilter("ignore")
    x, sink = ingot.arange(4.0), io.StringIO()
    jit.trace(make(0))(x, 3, sink)
    start = time.perf_counter()
    jit.trace(make(1))(x, 3, sink)
    usual, reached, before = time.perf_counter() - start, 0, _state()
    for i in range(count):
        step = make(i)
        traced, error = jit.trace(step), None
        try:
            with alarm_after(max(1e-5, rng.uniform(0, 1.2 * usual)), kind):
                traced(x, 3, sink)
                traced(x, 4, sink)
        except BaseException as found:
            error = found
        assert error is None or is_from_outside(error), error
        now = _state()
        assert now == before, (i, {k: (before.get(k), v) for k, v in now.items() if before.get(k) != v})
        reached += error is not None
        if error is not None and i % 10 == 0:
            for n in (3, 4, 5):
                assert traced(x, n, sink).tolist() == step(x, n, sink).tolist()
    return reached


@pytest.mark.drawn
@pytest.mark.parametrize("kind", [KeyboardInterrupt, Interrupted], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("make", PROGRAMS)
def test_an_interrupted_recording_leaves_no_trace(make, kind):
    assert _interrupt(make, 50, kind, random.Random(5)) > 10


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("make", PROGRAMS)
def test_many_interrupted_recordings_leave_no_trace(make, kind):
    assert _interrupt(make, 1000, kind, random.Random(f"{kind}")) > 200
