"""Choice of the engine of a run: the environment variable INGOT_ENGINE, or what fits where the ranks are."""

import os

from ....ir.errors import ArgumentError
from ..engines.engine import Engine
from ..engines.local_engine import LocalEngine
from ..engines.tcp_engine import TCPEngine
from ..stores.distributed_errors import DistBackendError
from ..stores.meeting import on_one_machine
from ..stores.store import Store, seconds

_ENGINES: dict[str, type] = {e.name: e for e in (LocalEngine, TCPEngine)}


def chosen_engine(rank: int, size: int, store: Store, timeout) -> Engine:
    """Return the engine that connects this rank to the others, which all call this."""
    asked = os.environ.get("INGOT_ENGINE", "")
    if asked and asked not in _ENGINES:
        raise ArgumentError(f"INGOT_ENGINE is one of {', '.join(_ENGINES)}, got {asked!r}")
    together = size == 1 or on_one_machine(store, rank, size, seconds(timeout))
    if asked == LocalEngine.name and not together:
        raise DistBackendError("INGOT_ENGINE=local connects processes of one user on one machine, and this run is "
                               "on several machines")
    name = asked or (LocalEngine.name if together else TCPEngine.name)
    return _ENGINES[name](rank, size, store, timeout)
