"""The program of each rank: collectives, or training steps, by one library.

`python -m benchmarks.distributed.ranks ARGUMENTS` joins the run that its environment describes. Rank 0 prints one line of JSON.
"""

import importlib
import json
import math
import multiprocessing
import os
import statistics
import sys
import time
from collections.abc import Callable

import numpy as np

import ingot
from ingot.runtime.distributed.stores.store_service import RemoteTable

from .. import training
from ..harness import Plan
from ..subprocesses import most_of, resident
from .workloads import BUDGET, BYTES_IN_ALL, MOST

LEAST = 5           # calls of one size
WARMING_UP = 3
TURNS = 4           # of ingot and MPI with a size


def buffers(lib, collective: str, size: int, ranks: int) -> Callable[[], None]:
    """Return a call of a collective whose largest buffer has so many bytes."""
    dist, numbers = lib.distributed, max(1, size // 4)
    part, whole = lib.ones(max(1, numbers // ranks)), lib.ones(max(1, numbers // ranks) * ranks)
    return {"all_reduce": lambda: dist.all_reduce(whole, dist.ReduceOp.MAX if numbers == 1 else dist.ReduceOp.SUM),
            "all_gather": lambda: dist.all_gather_into_tensor(whole, part),
            "reduce_scatter": lambda: dist.reduce_scatter_tensor(part, whole)}[collective]


def wait_for_server_of_forks():
    """Wait for the server of forks that the engine `mpi` starts in each rank: it loads ingot before it starts a process."""
    if multiprocessing.get_start_method() == "forkserver":
        process = multiprocessing.Process(target=int)
        process.start()
        process.join()


def times_of(call, count: int) -> list[float]:
    """Seconds of some calls, one after the other."""
    times = []
    for _ in range(count):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return times


def calls_of_mpi(comm, MPI, collective: str, size: int, ranks: int) -> Callable[[], None]:
    """Return a call of MPI itself, as IMB makes it: operand and result are two buffers."""
    count = max(1, max(1, size // 4) // ranks)
    part, whole, other = (np.zeros(n, np.float32) for n in (count, count * ranks, count * ranks))
    kind = MPI.FLOAT
    return {"all_reduce": lambda: comm.Allreduce([whole, kind], [other, kind], MPI.SUM),
            "all_gather": lambda: comm.Allgather([part, count, kind], [whole, count, kind]),
            "reduce_scatter": lambda: comm.Reduce_scatter([whole, kind], [part, kind], [count] * ranks, MPI.SUM)}[collective]


def collectives(lib, rank: int, ranks: int, collective: str, sizes: list[int], most: int = MOST,
                budget: float = BUDGET, with_mpi: bool = False) -> dict:
    """Return {library: {size: seconds of each call}}. MPI's own calls take turns in the same processes: each process may meet
    another state of the machine."""
    wait_for_server_of_forks()
    lib.distributed.barrier()
    found: dict = {lib.__name__: {}}
    if with_mpi:
        MPI = importlib.import_module("mpi4py.MPI")
        comm, found["MPI"] = MPI.COMM_WORLD.Dup(), {}
    for size in sizes:
        calls = {lib.__name__: buffers(lib, collective, size, ranks)}
        if with_mpi:
            calls["MPI"] = calls_of_mpi(comm, MPI, collective, size, ranks)
        turns = TURNS if with_mpi else 1
        for call in calls.values():
            times_of(call, WARMING_UP)
        for turn in range(turns):
            for name in list(calls)[::-1 if turn % 2 else 1]:
                lib.distributed.barrier()
                times = times_within(lib, calls[name], min(most, BYTES_IN_ALL // size) // turns, budget / turns)
                found[name].setdefault(size, []).extend(times)
    return found


def times_within(lib, call, most: int, budget: float) -> list[float]:
    """Return the seconds of calls, at least `LEAST`, until the budget is spent on the slowest rank. So all make as many."""
    times = times_of(call, LEAST)
    while (left := most - len(times)) > 0:
        spent = lib.tensor([sum(times)])
        lib.distributed.all_reduce(spent, lib.distributed.ReduceOp.MAX)
        if spent.item() > budget:
            break
        times += times_of(call, min(left, len(times)))
    return times


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


def sharded(lib, rank: int, ranks: int, layers: int, width: int, batch: int, way: str) -> dict:
    """Return the bytes that steps of sharded layers take at most, recordings and replays included, and those of a layer."""
    def fit(width):
        shard = lib.distributed.fsdp.fully_shard
        network = shard(lib.nn.Sequential(*[shard(lib.nn.Linear(width, width)) for _ in range(layers)]))
        optimizer = lib.optim.AdamW(network.parameters(), lr=1e-3)
        x = lib.ones(batch, width)

        def step(x):
            optimizer.zero_grad()
            network(x).sum().backward()
            optimizer.step()

        run = ingot.jit.trace(step) if way == "ingot" else step
        for _ in range(2 * WARMING_UP):
            run(x)

    fit(64)             # code is loaded, and compiled
    return {"bytes": most_of(lambda: fit(width)), "layer": 4 * (width * width + width)}


def membership(lib, rank: int, ranks: int) -> dict:
    """Return what joining has cost this rank, and median seconds of all-reduces of 8 B and 4 MiB."""
    cost = {name: now - JOINING[name] for name, now in state_of_process().items()}
    lib.distributed.barrier()
    every = collectives(lib, rank, ranks, "all_reduce", [8, 4 << 20], 100, math.inf)[lib.__name__]
    return {**cost, "times": [statistics.median(times) for times in every.values()]}


def state_of_process() -> dict:
    """Return the seconds, bytes, connections, threads of this process, and its requests to stores."""
    places = [f"/proc/self/fd/{fd}" for fd in os.listdir("/proc/self/fd")]
    return {"seconds": time.perf_counter(), "memory": resident("VmRSS"), "threads": len(os.listdir("/proc/self/task")),
            "connections": sum(os.readlink(p).startswith("socket:") for p in places if os.path.lexists(p)),
            "requests": JOINING.get("asked", 0)}


def count_requests():
    """Count the requests that this process sends to stores from now on."""
    ask = RemoteTable._ask

    def counted(self, *args, **kwargs):
        JOINING["asked"] = JOINING.get("asked", 0) + 1
        return ask(self, *args, **kwargs)

    RemoteTable._ask = counted


JOINING: dict = {}
PROGRAMS = {"collectives": collectives, "data_parallel": data_parallel, "sharded": sharded, "membership": membership}


def main(order: dict):
    """Join, work, and print what rank 0 found."""
    lib = importlib.import_module(order.pop("library"))
    lib.set_num_threads(order.pop("threads"))
    dist, program = lib.distributed, PROGRAMS[order.pop("program")]
    count_requests()
    JOINING.update(state_of_process())
    dist.init_process_group("gloo")
    found = program(lib, dist.get_rank(), dist.get_world_size(), **order)
    dist.barrier()
    if dist.get_rank() == 0:
        print(json.dumps(found), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
