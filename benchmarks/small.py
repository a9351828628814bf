"""Small work, where the overhead of a call is the cost: single operators, long chains, import."""

import os
import statistics
import subprocess
import sys
import time

import numpy as np

from .cases import function_case
from .libraries import libraries, present
from .result import Result, in_words

MEAN_BAR = None


def add(plan):
    """`a + b` on 8 floats."""
    ones = np.ones(8, np.float32)
    yield function_case("a + b, 8 floats", adding, [ones, ones], plan, traced=False, bars={"eager": 1.0}, compiled=False,
                        note="aim 2")


def add_grad(plan):
    """`a + b` on 8 floats, recorded for backward."""
    ones = np.ones(8, np.float32)
    yield function_case("a + b, 8 floats, requires_grad", adding, [ones, ones], plan, grads=(0,), traced=False,
                        bars={"eager": 1.0}, compiled=False, note="aim 2")


def adding(lib):
    """One operator."""
    return lambda a, b: a + b


def chain(length):
    """Makes a function of `length` operators on one tensor."""
    def make(lib):
        def run(x):
            y = x
            for _ in range(length // 4):
                y = y * 1.01
                y = y + x
                y = y.sin()
                y = y - 1.0
            return y.sum()
        return run
    return make


def chain_forward(plan):
    """1,000 operators on 8 floats, recorded for backward."""
    length = plan.pick(1000, 1000, 40)
    yield function_case(f"{length:,}-op chain, forward", chain(length), [np.ones(8, np.float32)], plan, grads=(0,),
                        traced=False, compiled=False, tolerance=1e-3, bars={"eager": 1.0})


def chain_backward(plan):
    """Backward alone: a fresh chain is built, outside of the clock, before each walk."""
    length = plan.pick(1000, 1000, 40)
    times: dict = {}
    for _ in range(plan.pick(25, 9, 1)):
        for lib in libraries(plan, compiled=False):
            x = lib.tensor(np.ones(8, np.float32), requires_grad=True)
            loss = chain(length)(lib.module)(x)
            start = time.perf_counter()
            loss.backward()
            label = "ingot eager" if lib.name == "ingot" else lib.name
            times.setdefault(label, []).append(time.perf_counter() - start)
    yield Result(f"{length:,}-op chain, backward", {k: statistics.median(v) for k, v in times.items()}, bars={"eager": 1.0})


def import_time(plan):
    """A fresh interpreter that imports the library, less an empty one; from bytecode, as an installed package has it."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}

    def run(code):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True, stdin=subprocess.DEVNULL, env=environment)
        return time.perf_counter() - start

    names = ["ingot", "numpy", *(["torch"] if "torch" in present(plan) else [])]
    times: dict = {n: [] for n in ["", *names]}
    for _ in range(plan.pick(7, 2, 1)):
        for n in times:
            times[n].append(run(f"import {n}" if n else "pass"))
    empty = min(times.pop(""))
    found = {n: max(statistics.median(t) - empty, 1e-4) for n, t in times.items()}
    yield Result("import", found, bars={"most": 0.15}, note=f"of which numpy {in_words(found.pop('numpy'))}")


WORKLOADS = {"add": add, "add_grad": add_grad, "chain_forward": chain_forward, "chain_backward": chain_backward,
             "import": import_time}
