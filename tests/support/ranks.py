"""Runs a function as several ranks of a distributed run, each in a process of its own.

`INGOT_ENGINE=mpi pytest tests/runtime/distributed` connects them by MPI. The process of the tests itself does not start MPI,
since it forks.
"""

import contextlib
import os
import tempfile

import mpi_seats
from ingot import distributed as dist
from ingot import multiprocessing as mp

BY_MPI = os.environ.get("INGOT_ENGINE") == "mpi"
if BY_MPI:
    del os.environ["INGOT_ENGINE"]


def run(size, body, *args, timeout=30, by_mpi=BY_MPI):
    """body(rank, *args) in `size` processes that have joined one process group; raises what one of them raised."""
    with tempfile.TemporaryDirectory() as folder, mpi_seats.seats(size) if by_mpi else contextlib.nullcontext() as seats:
        mp.start_processes(_join, (size, body, args, os.path.join(folder, "store"), timeout, seats), size, start_method="fork")


def _join(rank, size, body, args, path, timeout, seats):
    if seats is not None:
        seats[rank].take()
        os.environ["INGOT_ENGINE"] = "mpi"
    dist.init_process_group("gloo", init_method=f"file://{path}", rank=rank, world_size=size, timeout=timeout)
    body(rank, *args)
    dist.destroy_process_group()
