"""Small work, where the overhead of a call is the cost: single operators, long chains, import."""

import importlib.util
import statistics
import subprocess
import sys
import time

import numpy as np

import ingot

from .harness import Result, time_interleaved

GROUP = "small"
CHAIN = 250


def libraries():
    """ingot and torch, if it is there, as modules of the same names."""
    found = {"ingot": ingot}
    if importlib.util.find_spec("torch"):
        import torch

        torch.set_num_threads(2)
        found["torch"] = torch
    return found


def add_of_eight(requires_grad: bool):
    """`a + b` on 8 floats."""
    calls = {}
    for name, lib in libraries().items():
        a, b = (lib.tensor(np.ones(8, np.float32)) for _ in range(2))
        a.requires_grad_(requires_grad)
        calls[name] = lambda a=a, b=b: a + b
    label = "a + b, 8 floats" + (", requires_grad" if requires_grad else "")
    return Result(label, GROUP, time_interleaved(calls), note="bar 1.0, aim 2.0")


def chain(x):
    """1,000 operators on a small tensor."""
    y = x
    for _ in range(CHAIN):
        y = y * 1.01
        y = y + x
        y = y.sin()
        y = y - 1.0
    return y.sum()


def chain_forward():
    calls = {}
    for name, lib in libraries().items():
        x = lib.tensor(np.ones(8, np.float32)).requires_grad_()
        calls[name] = lambda x=x: chain(x)
    return Result("1,000-op chain, forward", GROUP, time_interleaved(calls), note="recorded for backward")


def chain_backward():
    """Backward alone: a fresh chain is built, outside of the clock, before each walk."""
    times = {name: [] for name in libraries()}
    for _ in range(25):
        for name, lib in libraries().items():
            x = lib.tensor(np.ones(8, np.float32)).requires_grad_()
            loss = chain(x)
            start = time.perf_counter()
            loss.backward()
            times[name].append(time.perf_counter() - start)
    return Result("1,000-op chain, backward", GROUP, {k: statistics.median(v) for k, v in times.items()}, note="bar 1.0")


def import_time():
    """A fresh interpreter that imports the library, less an empty one."""

    def run(code):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        return time.perf_counter() - start

    names = ["numpy", *libraries()]
    times = {n: [] for n in ["", *names]}
    for _ in range(7):
        for n in times:
            times[n].append(run(f"import {n}" if n else "pass"))
    empty = min(times.pop(""))
    return Result("import", GROUP, {n: statistics.median(t) - empty for n, t in times.items()}, note="bar 150 ms for ingot")


WORKLOADS = {
    "add": lambda: add_of_eight(False),
    "add_grad": lambda: add_of_eight(True),
    "chain_forward": chain_forward,
    "chain_backward": chain_backward,
    "import": import_time,
}
