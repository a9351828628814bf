"""Run of passes over a graph: each pass is verified, timed, printed if it changed something, and switched off without fuel."""

import gc
import itertools
import re
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...ir import config
from ...ir.errors import GraphError, IngotError
from ...ir.graph.graph import Graph
from ...ir.graph.text import show
from ...ir.graph.verify import verify
from ...ir.interrupts import raise_interrupt
from ...ir.locks import new_lock

REQUIRED: set[Callable] = set()      # passes that fuel never switches off, because later stages rely on them
_MOST_NEW = 30_000                   # objects that passes may leave behind before a garbage collection


def required(one: Callable) -> Callable:
    """Enter a pass that fuel never switches off."""
    REQUIRED.add(one)
    return one


@dataclass(frozen=True)
class Step:
    """The record of one pass: its name, the graph after it, whether it changed, its seconds."""

    name: str
    graph: Graph
    changed: bool
    seconds: float


class Fuel:
    """The budget of optional changes of this process."""

    def __init__(self):
        self.spent = 0
        self._lock = new_lock()

    def take(self, limit: int) -> bool:
        """Return whether one more change is allowed; it then counts."""
        with self._lock:
            if 0 <= limit <= self.spent:
                return False
            self.spent += 1
            return True


FUEL = Fuel()
_dumps = itertools.count()


def run(graph: Graph, passes: Sequence[Callable], *, steps: list | None = None, fuel: Fuel = FUEL) -> Graph:
    """Run passes in order. `steps`, if given, receives a Step for each."""
    settings, known = config.current(), {}
    if settings.verify:
        verify(graph, known)
    _dump(settings, "input", graph)
    for one in passes:
        graph = _run_one(one, graph, settings, steps, fuel, known)
        _drop_garbage()
    if settings.debug >= 3:
        _say(f"graph {graph.name} after all passes:\n{show(graph)}")
    return graph


def _run_one(one, before, settings, steps, fuel, known):
    start = time.perf_counter()
    after = _guarded(one, before)
    seconds = time.perf_counter() - start
    if after is not before and one not in REQUIRED and not fuel.take(settings.fuel):
        _say(f"no fuel left for pass {one.__name__} on graph {before.name}")
        after = before
    changed = after is not before
    if changed:
        _examine(one, after, settings, known)
    if settings.debug >= 2:
        _say(f"pass {one.__name__:<16} {1e3 * seconds:8.2f} ms  {len(before.nodes)} -> {len(after.nodes)} nodes"
             f"{'' if changed else '  (unchanged)'}")
    if steps is not None:
        steps.append(Step(one.__name__, after, changed, seconds))
    return after


def _drop_garbage():
    """Free replaced graphs, which are cycles, where collections are off: between passes only one graph is alive."""
    if not gc.isenabled() and gc.get_count()[0] > _MOST_NEW:
        gc.collect(0)


def _guarded(one, graph):
    """Run a pass; any failure becomes one error that names the pass."""
    try:
        return one(graph)
    except Exception as e:
        raise_interrupt(e, one, graph)
        kind = type(e) if isinstance(e, IngotError) else GraphError
        raise kind(f"pass {one.__name__} failed on graph {graph.name}: {e}") from e


def _examine(one, graph, settings, known):
    """Verify, print and dump a changed graph, as the switches say."""
    if settings.verify:
        try:
            verify(graph, known)
        except GraphError as e:
            raise GraphError(f"pass {one.__name__} made a wrong graph: {e}\n{show(graph)}") from None
    printed = {name.strip() for name in settings.print.split(",")}
    if settings.debug >= 4 or "all" in printed or one.__name__ in printed:
        _say(f"graph {graph.name} after {one.__name__}:\n{show(graph)}")
    _dump(settings, one.__name__, graph)


def _dump(settings, name, graph):
    if settings.dump:
        folder = Path(settings.dump)
        folder.mkdir(parents=True, exist_ok=True)
        safe = re.sub(r"[^A-Za-z0-9_.-]", "_", graph.name)
        (folder / f"{next(_dumps):04d}_{safe}_{name}.txt").write_text(show(graph, full_paths=True) + "\n")


def _say(text):
    print(text, file=sys.stderr)
