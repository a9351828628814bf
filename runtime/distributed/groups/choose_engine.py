"""Choice of the engine of a run: the backend's name, the environment variable INGOT_ENGINE, or what fits the ranks best."""

import os

from ....ir.errors import ArgumentError
from ....ir.requirements import install_extra
from ....ir.suggestions import unknown_choice
from ..engines import local_engine, tcp_engine  # noqa: F401  (they enter themselves)
from ..engines.engine import ENGINES, Engine, Run
from ..engines.mpi_engine import MPIEngine
from ..stores.distributed_errors import DistBackendError
from ..stores.store import Store


def requested_engine(backend: str) -> str:
    """Return the engine that a backend's name or INGOT_ENGINE asks for, or no text."""
    name = os.environ.get("INGOT_ENGINE", "")
    if name and name not in ENGINES:
        raise unknown_choice("INGOT_ENGINE", name, sorted(ENGINES))
    if name and backend in ENGINES and name != backend:
        raise ArgumentError(f"backend={backend!r} and INGOT_ENGINE={name} ask for different engines")
    return backend if backend in ENGINES else name


def joins_by_mpi(name: str) -> bool:
    """Return whether ranks meet by MPI alone: its launcher has started them, and no address is given where they meet."""
    if name not in ("", MPIEngine.name) or "MASTER_ADDR" in os.environ or "MASTER_PORT" in os.environ:
        return False
    return MPIEngine.preference() >= (0 if name else 1)


def chosen_engine(rank: int, size: int, store: Store | None, timeout, name: str) -> Engine:
    """Return the engine that connects this rank to the others, which all call this: a certain one, or the best that fits."""
    run = Run(rank, size, store, timeout)
    if name:
        reason = ENGINES[name].refusal(run)
        if reason:
            raise DistBackendError(f"the engine {name!r} cannot connect this run: {reason}")
        return ENGINES[name](run)
    best = sorted(ENGINES.values(), key=lambda engine: -engine.preference())
    found = next((engine for engine in best if engine.preference() >= 0 and not engine.refusal(run)), None)
    if found is None:
        raise DistBackendError(f"no engine connects these {size} ranks, which run on several machines: start the program with "
                               f"`mpiexec -n {size} python ...` ({install_extra('mpi')}). INGOT_ENGINE=tcp takes "
                               "ingot's own connections, one for each pair of ranks")
    return found(run)
