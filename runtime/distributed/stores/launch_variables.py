"""Environment variables by which launchers tell a process its rank and the number of ranks."""

import os
from typing import NamedTuple

from ....ir.errors import ArgumentError


class Launch(NamedTuple):
    """A launcher's word: its name, this process's rank, and how many there are. With `by_mpi` the processes can join by MPI."""

    name: str
    rank: int
    size: int
    by_mpi: bool


# (launcher, variable of the rank, variable of the number of ranks, whether MPI connects the processes); the first one counts
_LAUNCHERS = (
    ("a launcher of MPI", "PMI_RANK", "PMI_SIZE", True),
    ("Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", True),
    ("srun", "SLURM_PROCID", "SLURM_NTASKS", False),
)


def launch() -> Launch | None:
    """Return what the launcher of this process says, or None without one. One variable without the other is an error."""
    for name, rank, size, by_mpi in _LAUNCHERS:
        if rank not in os.environ and not (by_mpi and size in os.environ):      # salloc sets the size alone
            continue
        return Launch(name, _number(name, rank, size), _number(name, size, rank), by_mpi)
    return None


def _number(launcher: str, name: str, other: str) -> int:
    value = os.environ.get(name)
    if value is None:
        raise ArgumentError(f"the environment variable {name} is missing, though {other} is set: {launcher} sets both. Unset "
                            f"{other} if this process was started by itself")
    if not value.isdigit():
        raise ArgumentError(f"the environment variable {name} is not a number: {value!r}")
    return int(value)
