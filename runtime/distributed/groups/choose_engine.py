"""Choice of the engine of a run: the backend's name, the environment variable INGOT_ENGINE, or what fits the ranks best."""

import os

from ....ir.errors import ArgumentError
from ..engines import local_engine, tcp_engine  # noqa: F401  (they enter themselves)
from ..engines.engine import ENGINES, Engine, Run
from ..stores.distributed_errors import DistBackendError
from ..stores.store import Store


def requested_engine() -> str:
    """Return the engine that INGOT_ENGINE names, or no text."""
    name = os.environ.get("INGOT_ENGINE", "")
    if name and name not in ENGINES:
        raise ArgumentError(f"INGOT_ENGINE is one of {', '.join(sorted(ENGINES))}, got {name!r}")
    return name


def chosen_engine(rank: int, size: int, store: Store, timeout, name: str = "") -> Engine:
    """Return the engine that connects this rank to the others, which all call this: a certain one, or the best that fits."""
    run = Run(rank, size, store, timeout)
    name = name or requested_engine()
    if name:
        reason = ENGINES[name].refusal(run)
        if reason:
            raise DistBackendError(f"the engine {name!r} cannot connect this run: {reason}")
        return ENGINES[name].joined(run)
    best = sorted(ENGINES.values(), key=lambda engine: -engine.preference)
    return next(engine for engine in best if not engine.refusal(run)).joined(run)
