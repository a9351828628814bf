"""What of a traced graph on a device is made without its inputs, and without knowing its sizes: the cut between host and device
and the steps of both. Sizes that come later are put in as numbers (`passes/schedule/specialize_shapes.py`): no pass runs again
for them, and kernels, which take sizes as parameters, are compiled again only where a tile or what is known of a size's
divisors is another.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from ....passes.networks.partition_host import HostCut, split_host
from ....passes.schedule.device_plan import Steps, plan
from ....passes.schedule.specialize_shapes import Binder
from ...cpu.graph.program import arranged
from ..replay.static_steps import Unchanged


@dataclass(frozen=True)
class Arrangement:
    """A graph in two, each with its steps.

    device   the steps of what runs on the device
    inputs   numbers of the whole graph's inputs that these take, before what the host gives them
    places   positions of their results in the whole graph's
    over     {number of one of their results: number of their input that it replaces}
    cut      what depends on the host's inputs alone, or None; `host` is its arrangement
    unchanged  what all have in common that it is bound to, if it was bound
    """

    device: Steps
    inputs: Sequence
    places: Sequence
    over: dict
    cut: HostCut | None = None
    host: Any = None
    unchanged: Unchanged | None = None

    def bind(self, values: dict) -> "Arrangement":
        """The same with `values` for the names of sizes."""
        made = [binder.bind(values) if binder.keys else None for binder in self._binders]
        device, *host = made
        return replace(self, device=device or self.device, host=(host[0] if host else None) or self.host,
                       unchanged=self._unchanged)

    @cached_property
    def _binders(self) -> list:
        device: Any = self.device
        return [Binder(device, shares=True), *([] if self.host is None else [Binder(self.host)])]

    @cached_property
    def _unchanged(self) -> Unchanged:
        return Unchanged(self._binders[0].steps)


def arrange(graph, owned, targets, host: frozenset) -> Arrangement:
    """The arrangement of a graph whose inputs `host` lie on the host; the rest as `Traced` describes it."""
    cut = split_host(graph, host, frozenset([n for n in targets.values() if n not in host]))
    inputs: Sequence
    places: Sequence
    if cut is None or not any(i not in host for i in cut.inputs):
        inputs, main, places = range(len(graph.inputs)), graph, range(len(graph.outputs))
        cut = None
    else:
        inputs, main, places = cut.inputs, cut.main, cut.places
    at = {n: i for i, n in enumerate(inputs)}
    mine = frozenset([i for i, p in enumerate(places) if p in owned])
    over = {i: at[targets[p]] for i, p in enumerate(places) if p in targets and targets[p] not in host}
    on_host = cut and _on_host(cut, owned, targets, frozenset(inputs))
    return Arrangement(plan(main, mine, over), inputs, places, over, cut, on_host)


def _on_host(cut: HostCut, owned, targets, on_device: frozenset):
    """Arrange the part of the host, which runs first: it writes in place only what the device does not read as well."""
    number = {n: i for i, n in enumerate(cut.sources) if n not in on_device}
    first = cut.given
    over = {first + i: number[targets[p]] for i, p in enumerate(cut.results) if targets.get(p) in number}
    return arranged(cut.host, frozenset([first + i for i, p in enumerate(cut.results) if p in owned]), over)
