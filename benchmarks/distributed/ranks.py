"""The program of each rank: collectives, or training steps, by one library.

`python -m benchmarks.distributed.ranks ARGUMENTS` joins the run that its environment describes. Rank 0 prints one line of JSON.
"""

import importlib
import json
import statistics
import sys
import time
from collections.abc import Callable

import ingot

from .. import training
from ..harness import Plan
from ..subprocesses import most_of

BYTES_IN_ALL = 1 << 28          # of the buffers of one size, which bounds how often it is timed
MOST, LEAST = 1000, 5           # calls of one size
WARMING_UP = 3


def buffers(lib, collective: str, size: int, ranks: int) -> Callable[[], None]:
    """Return a call of a collective whose largest buffer has so many bytes."""
    dist, numbers = lib.distributed, max(1, size // 4)
    part, whole = lib.ones(max(1, numbers // ranks)), lib.ones(max(1, numbers // ranks) * ranks)
    return {"all_reduce": lambda: dist.all_reduce(whole, dist.ReduceOp.MAX if numbers == 1 else dist.ReduceOp.SUM),
            "all_gather": lambda: dist.all_gather_into_tensor(whole, part),
            "reduce_scatter": lambda: dist.reduce_scatter_tensor(part, whole)}[collective]


def times_of(call, count: int) -> list[float]:
    """Seconds of some calls, one after the other."""
    times = []
    for _ in range(count):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return times


def collectives(lib, rank: int, ranks: int, collective: str, sizes: list[int], most: int = MOST) -> dict:
    """Return {size: seconds of each call}."""
    found = {}
    for size in sizes:
        call = buffers(lib, collective, size, ranks)
        times_of(call, WARMING_UP)
        lib.distributed.barrier()
        found[size] = times_of(call, max(LEAST, min(most, BYTES_IN_ALL // size)))
    return found


def data_parallel(lib, rank: int, ranks: int, task: str, quick: bool, tiny: bool, way: str, steps: int) -> dict:
    """Return the median seconds of a training step, the last loss, and the bytes of the gradients."""
    work = getattr(training, task)(Plan(quick=quick, tiny=tiny))
    lib.manual_seed(0)
    network, step = work.fitting(lib, lib.nn.parallel.DistributedDataParallel)
    run = ingot.jit.trace(step) if way == "ingot" else step
    inputs = [lib.tensor(a) for a in work.arrays]
    for _ in range(WARMING_UP):
        loss = run(*inputs)
    lib.distributed.barrier()
    times = times_of(lambda: run(*inputs), steps)
    return {"seconds": statistics.median(times), "loss": float(loss),
            "bytes": sum(4 * p.numel() for p in network.parameters())}


def sharded(lib, rank: int, ranks: int, layers: int, width: int, batch: int) -> dict:
    """Return the bytes that steps of sharded layers take at most, and those of a layer."""
    def fit(width):
        shard = lib.distributed.fsdp.fully_shard
        network = shard(lib.nn.Sequential(*[shard(lib.nn.Linear(width, width)) for _ in range(layers)]))
        optimizer = lib.optim.AdamW(network.parameters(), lr=1e-3)
        x = lib.ones(batch, width)
        for _ in range(WARMING_UP):
            optimizer.zero_grad()
            network(x).sum().backward()
            optimizer.step()

    fit(64)             # code is loaded, and compiled
    return {"bytes": most_of(lambda: fit(width)), "layer": 4 * (width * width + width)}


PROGRAMS = {"collectives": collectives, "data_parallel": data_parallel, "sharded": sharded}


def main(order: dict):
    """Join, work, and print what rank 0 found."""
    lib = importlib.import_module(order.pop("library"))
    lib.set_num_threads(order.pop("threads"))
    dist, program = lib.distributed, PROGRAMS[order.pop("program")]
    dist.init_process_group("gloo")
    found = program(lib, dist.get_rank(), dist.get_world_size(), **order)
    dist.barrier()
    if dist.get_rank() == 0:
        print(json.dumps(found), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
