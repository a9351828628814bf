"""Programs that benchmarks start in a process of their own, because they measure what happens once in a process.

`python -m benchmarks.programs NAME ARGUMENTS` prints one line of JSON.
"""

import json
import sys
import time

import ingot
from ingot import nn
from ingot.runtime.cpu.compiler import compile as compiler

from . import memory, vision
from .cases import randoms
from .groups import GROUPS
from .harness import Case, Plan
from .libraries import set_threads
from .subprocesses import most_of


def first_call(make, x):
    """Seconds of the first two calls (of which the first records and the second compiles), and what was compiled."""
    run = ingot.jit.trace(make)
    before = compiler.stats()["compiles"]
    with ingot.no_grad():
        start = time.perf_counter()
        run(x)
        run(x)
        seconds = time.perf_counter() - start
    return {"seconds": seconds, "kernels": run.stats()["kernels"], "compiles": compiler.stats()["compiles"] - before}


def warmed_up():
    """Loads LLVM where it will be needed and compiles something unrelated, so that a first call is timed alone."""
    run = ingot.jit.trace(lambda x: x.tanh() * 3.0)
    run(ingot.ones(3))
    run(ingot.ones(3))


def chain(length):
    """A chain of elementwise operators."""
    def run(x):
        for i in range(length // 2):
            x = (x * (1.0 + i)).sin()
        return x

    warmed_up()
    return first_call(run, ingot.ones(1000))


def mixed(length):
    """Operators that differ, among them some that cannot be fused into one kernel."""
    def run(x):
        for i in range(length // 4):
            x = (x * (1.0 + i)).sin()
            x = x - x.mean(i % 2, keepdim=True)
        return x

    warmed_up()
    return first_call(run, ingot.ones(20 + length % 3, 30))


def loop(length):
    """The gradient of a recurrence written as a loop."""
    w, u = (ingot.randn(64, 64).mul_(0.1).requires_grad_() for _ in range(2))

    def run(x):
        w.grad = u.grad = None
        with ingot.enable_grad():
            h = ingot.zeros(16, 64)
            for row in x:
                h = ingot.tanh(row @ w + h @ u) * 0.9 + h * 0.1
            loss = h.sum()
            loss.backward()
        return loss

    warmed_up()
    return first_call(run, ingot.randn(length, 16, 64))


def layers(depth, width):
    """Equal layers."""
    network = nn.Sequential(*(nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.LayerNorm(width)) for _ in range(depth)))
    warmed_up()
    return first_call(network.eval(), ingot.ones(32, width))


def resnet50():
    """ResNet-50 at batch 1."""
    network = vision.resnet50(ingot).eval()
    warmed_up()
    return first_call(network, ingot.ones(1, 3, 224, 224))


def peak_memory(work, library):
    """The most memory that four calls need beyond what the process has before the network is made."""
    lib, way = memory.way_of(library)
    touch(lib, way)

    def calls():
        call = memory.WORK[work](lib, way)
        for _ in range(4):
            call()

    return {"bytes": most_of(calls)}


def starts(group, workload, threads, **sizes):
    """Seconds of the first calls of each traced case of a workload, and the most memory that its calls need beyond what is
    there before: weights and inputs."""
    plan, found = Plan(threads=threads, peers=(), **sizes), {}
    set_threads(plan)
    warmed_up()
    for case in GROUPS[group].WORKLOADS[workload](plan):
        if isinstance(case, Case) and "ingot" in case.calls:
            found[case.name] = first_and_most(case.calls["ingot"], case.checks)
    return found


def first_and_most(call, first: int) -> dict[str, float]:
    """Seconds of the `first` calls, after which everything is compiled, and bytes that these and three more need at most."""
    seconds = 0.0

    def calls():
        nonlocal seconds
        start = time.perf_counter()
        for _ in range(first):
            call()
        seconds = time.perf_counter() - start
        for _ in range(3):
            call()

    most = most_of(calls)
    return {"seconds": seconds, "bytes": most}


def touch(lib, way):
    """Lets a library do a little of everything the way it will, so that its own code is not counted."""
    net = lib.nn.Sequential(lib.nn.Conv2d(3, 8, 3), lib.nn.ReLU(), lib.nn.Flatten(), lib.nn.Linear(8 * 36, 4))
    optimizer = lib.optim.Adam(net.parameters())

    def step(x):
        net(x).sum().backward()
        optimizer.step()

    run, x = way(step), lib.tensor(randoms(2, 3, 8, 8))
    run(x)
    run(x)


PROGRAMS = {"chain": chain, "mixed": mixed, "loop": loop, "layers": layers, "resnet50": resnet50, "peak_memory": peak_memory,
            "starts": starts}

if __name__ == "__main__":
    print(json.dumps(PROGRAMS[sys.argv[1]](**json.loads(sys.argv[2]))))
