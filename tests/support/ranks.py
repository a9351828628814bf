"""Runs a function as several ranks of a distributed run, each in a process of its own."""

import os
import tempfile

from ingot import distributed as dist
from ingot import multiprocessing as mp


def run(size, body, *args, timeout=30):
    """body(rank, *args) in `size` processes that have joined one process group; raises what one of them raised."""
    with tempfile.TemporaryDirectory() as folder:
        mp.start_processes(_join, (size, body, args, os.path.join(folder, "store"), timeout), size, start_method="fork")


def _join(rank, size, body, args, path, timeout):
    dist.init_process_group("gloo", init_method=f"file://{path}", rank=rank, world_size=size, timeout=timeout)
    body(rank, *args)
    dist.destroy_process_group()
