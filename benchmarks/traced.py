"""Costs of tracing: a call of almost nothing, guards, the first compilation, a start from the disk cache, depth."""

import tempfile
import time
import timeit

import numpy as np

import ingot

from .cases import function_case, randoms
from .result import Result
from .sequences import mlp
from .subprocesses import started

MEAN_BAR = None


def five_ops(plan):
    """Five operators on 8 floats."""
    def make(lib):
        def run(x):
            return (x * 2.0 + 1.0).sin().exp() - x
        return run

    yield function_case("5 ops on 8 floats", make, [np.ones(8, np.float32)], plan, bars={"most": 5e-6})


def guards(plan):
    """A traced function that reads 200 captured parameters of 8 floats each."""
    count = plan.pick(200, 200, 6)

    def make(lib):
        params = [lib.nn.Parameter(lib.tensor(np.full(8, i, np.float32))) for i in range(count)]

        def run(x):
            with lib.no_grad():
                for p in params:
                    x = x + p
                return x
        return run

    yield function_case(f"{count} captured parameters", make, [np.ones(8, np.float32)], plan, bars={"best": 1.0})


def caches(plan):
    """One place of each layer's caches is written, and attention reads them, as a decoder does for every token."""
    layers, length = plan.pick(8, 8, 2), plan.pick(2048, 2048, 16)

    def make(lib):
        caches = [(lib.zeros(1, 12, length, 64), lib.zeros(1, 12, length, 64)) for _ in range(layers)]

        def run(x, at):
            for keys, values in caches:
                keys.index_copy_(2, at, x)
                values.index_copy_(2, at, x)
                x = lib.nn.functional.scaled_dot_product_attention(x, keys, values)
            return x
        return run

    given = [randoms(1, 12, 1, 64), np.array([5])]
    yield function_case(f"a token of {layers} layers, caches of {length}", make, given, plan, bars={"best": 1.0})


def cold_and_warm(name, program, plan, cold, warm, **arguments):
    """The first call in a fresh cache folder, and in a second process that finds what the first has compiled."""
    pairs = []
    for _ in range(plan.pick(5, 1, 1)):
        with tempfile.TemporaryDirectory() as folder:
            pairs.append([started(program, plan, folder, **arguments) for _ in range(2)])
    for place, words, bar in ((0, "cold", cold), (1, "from the disk cache", warm)):
        best = min((p[place] for p in pairs), key=lambda pair: pair["seconds"])
        yield Result(f"{name}, {words}", {"ingot": best["seconds"]}, bars={"most": bar} if bar else {},
                     note=f"{best['kernels']} kernels, {best['compiles']} compiled",
                     failed={"ingot": "compiled again in a second process"} if place and best["compiles"] else {})


def chain_compile(plan):
    """The first call of a chain of 10 operators, less loading LLVM."""
    yield from cold_and_warm("first call, 10-op chain", "chain", plan, 0.1, None, length=10)


def resnet_compile(plan):
    """The first call of ResNet-50 at batch 1."""
    if plan.quick or plan.tiny:
        return
    yield from cold_and_warm("first call, ResNet-50", "resnet50", plan, 2.0, 0.4)


def equal_layers(plan):
    """Compiling 4 and 64 equal layers: 64 need the kernels of 4."""
    depths = plan.pick((4, 64), (4, 32), (2, 4))
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
        shallow, deep = (started("layers", plan, f, depth=d, width=plan.pick(256, 256, 8)) for f, d in zip((one, two), depths))
    yield Result(f"first call, {depths[1]} equal layers", {"ingot": deep["seconds"]},
                 note=f"{deep['compiles']} modules compiled, {shallow['compiles']} for {depths[0]} layers")


def depth(plan):
    """Compile time against the depth of a graph of operators that differ: linear."""
    for length in plan.pick((25, 50, 100, 200, 400), (50, 200), (8, 16)):
        with tempfile.TemporaryDirectory() as folder:
            found = started("mixed", plan, folder, length=length)
        yield Result(f"first call, {length} different operators", {"ingot": found["seconds"]},
                     note=f"{1e3 * found['seconds'] / length:.2f} ms each, {found['kernels']} kernels")


def loop_gradient(plan):
    """Compile time of the gradient of a loop against its steps: linear."""
    for length in plan.pick((100, 300, 1000), (100, 300), (4,)):
        with tempfile.TemporaryDirectory() as folder:
            found = started("loop", plan, folder, length=length)
        yield Result(f"first call, gradient of {length} steps", {"ingot": found["seconds"]},
                     note=f"{1e3 * found['seconds'] / length:.2f} ms each, {found['kernels']} kernels")


def scaling(plan):
    """An MLP against its batch and against its width: the cost of a row falls, then stays; the flops of a second grow."""
    for batch in plan.pick([1 << i for i in range(10)], (1, 64), (2,)):
        seconds = mlp_seconds(256, batch)
        yield Result(f"MLP 256-256-256, batch {batch}", {"ingot": seconds}, note=f"{1e6 * seconds / batch:.2f} us a row")
    for width in plan.pick((16, 32, 64, 96, 128, 192, 256, 512, 768, 1024), (32, 256), (8,)):
        seconds = mlp_seconds(width, 64)
        yield Result(f"MLP of width {width}, batch 64", {"ingot": seconds}, flops=4 * 64 * width ** 2)


def mlp_seconds(width, batch):
    """How long a traced MLP of two layers takes for a batch."""
    return timed(ingot.jit.trace(mlp(ingot, width, width, width)), ingot.ones(batch, width))


class Scaled(ingot.nn.Module):
    """A module that reads a number and a list of its own."""

    def __init__(self, network):
        super().__init__()
        self.network, self.scale, self.shifts = network, 2.0, [1.0, 2.0]

    def forward(self, x):
        return self.network(x) * self.scale + self.shifts[0]


def replays(plan):
    """Replays of little work, where the cost is to check that a recording holds."""
    width = plan.pick(64, 64, 4)
    network, x = mlp(ingot, width, width, width), ingot.ones(16, width)
    for name, function in (("one operator", lambda x: x * 2.0), ("two numbers", lambda x: x.sum().item() + float(x.max())),
                           ("a module that reads its own attributes", Scaled(network).eval())):
        traced = ingot.jit.trace(function)
        with ingot.no_grad():
            seconds = shortest(lambda: traced(x), plan)
        yield Result(f"replay, {name}", {"ingot": seconds})
    loss = ingot.jit.trace(lambda x: network(x).square().mean())
    yield Result("replay, forward", {"ingot": shortest(lambda: loss(x), plan)})
    yield Result("replay, forward and backward", {"ingot": shortest(lambda: loss(x).backward(), plan)})
    for optimizer in (ingot.optim.SGD(network.parameters(), 1e-6), ingot.optim.Adam(network.parameters(), 1e-6)):
        step = ingot.jit.trace(step_of(network, optimizer))
        yield Result(f"replay, step with {type(optimizer).__name__}", {"ingot": shortest(lambda: step(x), plan)})


def step_of(network, optimizer):
    """A training step."""
    def run(x):
        optimizer.zero_grad()
        loss = network(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    return run


def shortest(run, plan) -> float:
    """The shortest mean of some calls, after calls that settle what is recorded."""
    count, repeats = plan.pick(200, 50, 2), plan.pick(40, 10, 1)
    for _ in range(plan.pick(100, 40, 2)):
        run()
    return min(timeit.repeat(run, number=count, repeat=repeats)) / count


def timed(run, x, calls=50):
    """The shortest of some calls."""
    times = []
    with ingot.no_grad():
        for _ in range(calls):
            start = time.perf_counter()
            run(x)
            times.append(time.perf_counter() - start)
    return min(times)


WORKLOADS = {"five_ops": five_ops, "guards": guards, "caches": caches, "chain_compile": chain_compile,
             "resnet_compile": resnet_compile, "equal_layers": equal_layers, "depth": depth, "loop_gradient": loop_gradient,
             "scaling": scaling, "replays": replays}
