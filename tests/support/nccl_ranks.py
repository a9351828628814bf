"""Runs a function as several ranks on mock GPUs, joined by the mock NCCL library, each rank in a process of its own."""

import os
import tempfile

import mock_cuda
import mock_nccl
from ingot import distributed as dist
from ingot import multiprocessing as mp


def run(size, body, *args, timeout=30, backend="nccl", device_id=None):
    """body(rank, the mock library, *args) in `size` processes that have joined one process group; raises what one raised."""
    with tempfile.TemporaryDirectory() as folder:
        mp.start_processes(_join, (size, body, args, folder, timeout, backend, device_id), size, start_method="fork")


def _join(rank, size, body, args, folder, timeout, backend, device_id):
    with mock_cuda.installed() as cuda, mock_nccl.installed(cuda, os.path.join(folder, "nccl")) as nccl:
        dist.init_process_group(backend, init_method=f"file://{folder}/store", rank=rank, world_size=size, timeout=timeout,
                                device_id=device_id)
        body(rank, nccl, *args)
        if dist.is_initialized():
            dist.destroy_process_group()
