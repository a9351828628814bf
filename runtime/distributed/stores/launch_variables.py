"""Environment variables by which launchers tell a process its rank, the number of ranks, and where they meet."""

import os
import re
from typing import NamedTuple

from ....ir.errors import ArgumentError


class Launch(NamedTuple):
    """A launcher's word: its name, this process's rank, and how many there are. With `by_mpi` the processes can join by MPI;
    `is_of_mpi` is a launcher for that alone."""

    name: str
    rank: int
    size: int
    by_mpi: bool
    is_of_mpi: bool


# (launcher, variable of the rank, of the number of ranks, and of MPI, if the launcher starts others, too); the first one counts
_LAUNCHERS = (
    ("a launcher of MPI", "PMI_RANK", "PMI_SIZE", ""),
    ("Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", ""),
    ("srun", "SLURM_PROCID", "SLURM_NTASKS", "PMIX_RANK"),
)


def launch() -> Launch | None:
    """Return what the launcher of this process says, or None without one. One variable without the other is an error."""
    for name, rank, size, sign in _LAUNCHERS:
        if rank not in os.environ and not (not sign and size in os.environ):      # salloc sets the size alone
            continue
        return Launch(name, _number(name, rank, size), _number(name, size, rank), not sign or sign in os.environ, not sign)
    return None


def _number(launcher: str, name: str, other: str) -> int:
    value = number(name)
    if value is None:
        raise ArgumentError(f"the environment variable {name} is missing, though {other} is set: {launcher} sets both. Unset "
                            f"{other} if this process was started by itself")
    return value


def number(name: str) -> int | None:
    """Return the number in an environment variable, or None without it."""
    value = os.environ.get(name)
    if value is not None and not value.isdecimal():
        raise ArgumentError(f"the environment variable {name} is not a number: {value!r}")
    return None if value is None else int(value)


def local_rank() -> int | None:
    """Return this process's number on its machine, if a launcher has told it."""
    return next((found for name in _LOCAL_RANKS if (found := number(name)) is not None), None)


_LOCAL_RANKS = ("LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID")


def address() -> tuple[str, int]:
    """Return where the ranks meet: MASTER_ADDR and MASTER_PORT, or else the first machine of a step of Slurm, and a port that
    its numbers give."""
    host, port = os.environ.get("MASTER_ADDR"), number("MASTER_PORT")
    if host is None and port is None and "SLURM_PROCID" in os.environ and "SLURM_JOB_ID" in os.environ:
        nodes = os.environ.get("SLURM_STEP_NODELIST", "")
        alone = os.environ.get("SLURM_STEP_NUM_NODES", "1") == "1" or not nodes
        seed = (number("SLURM_JOB_ID") or 0) * 31 + (number("SLURM_STEP_ID") or 0)
        return "127.0.0.1" if alone else first_host(nodes), _FIRST_PORT + seed % _PORTS
    if host is None or port is None:
        raise ArgumentError(f"init_process_group needs the environment variable {'MASTER_PORT' if host else 'MASTER_ADDR'}, or "
                            "init_method='tcp://host:port'")
    return host, port


_FIRST_PORT, _PORTS = 15_000, 15_000        # below those that systems give to clients


def first_host(nodes: str) -> str:
    """Return the first machine of a list such as `a[03-05,7]-ib,b`."""
    found = re.match(r"([^,\[]*)(?:\[(\d+)[^\]]*\])?([^,\[]*)", nodes)
    return "" if found is None else f"{found[1]}{found[2] or ''}{found[3]}"
