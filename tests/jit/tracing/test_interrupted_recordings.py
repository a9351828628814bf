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
from ingot import jit
from ingot.jit.tracing.recorded_call import RECORDING
from ingot.runtime.core.state import Mode, tls
from interrupts import Interrupted, alarm_after, is_from_outside

RATES = {"rate": 2.0}


def _state() -> dict:
    places = {"builtins": builtins, "math": math, "io": io, "warnings": warnings, "logger": logging.Logger,
              "here": sys.modules[__name__]}
    found = {f"{place}.{name}": id(value) for place, owner in places.items() for name, value in vars(owner).items()
             if not name.startswith("__") and name != "filters" and name[0] != "_"}
    found |= {f"mode.{name}": getattr(tls.m, name) for name in Mode.__slots__ if name not in ("failures", "run", "_context")}
    found |= {"profile": sys.getprofile(), "trace": sys.gettrace(), "collects": gc.isenabled(), "callbacks": list(gc.callbacks)}
    return found | {"locked": RECORDING._is_owned()}


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


def _interrupt(count: int, kind, rng):
    warnings.simplefilter("ignore")
    x, sink = ingot.arange(4.0), io.StringIO()
    start = time.perf_counter()
    jit.trace(_function(0))(x, 3, sink)
    usual, reached, before = time.perf_counter() - start, 0, _state()
    for i in range(count):
        step = _function(i)
        traced, error = jit.trace(step), None
        try:
            with alarm_after(max(1e-5, rng.uniform(0, 0.7 * usual)), kind):
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


@pytest.mark.parametrize("kind", [KeyboardInterrupt, Interrupted], ids=lambda kind: kind.__name__)
def test_an_interrupted_recording_leaves_no_trace(kind):
    assert _interrupt(100, kind, random.Random(5)) > 10
