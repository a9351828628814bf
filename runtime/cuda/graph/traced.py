"""Traced graphs on a device: what depends on the host alone is computed there by one native call, the rest on the device, first
launch by launch, then as a CUDA graph.
"""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ....ir import config
from ....ir.errors import DeviceError
from ....passes.networks.partition_host import HostCut, split_host
from ....passes.schedule.device_plan import Steps, plan
from ....passes.schedule.specialize_shapes import Binder
from ...core.device_array import DeviceArray
from ...cpu.graph.eager import kernel_for
from ...cpu.graph.program import CompiledGraph, arranged
from ..compiler import copies, precision
from ..driver import streams
from ..memory import pools
from ..memory.upload import uploaded
from ..replay.captured import WORTH, Captured, copied
from ..replay.static_steps import Unchanged
from . import eager
from .program import DeviceGraph


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
        """Return the same with `values` for the names of sizes."""
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
    """Return the arrangement of a graph whose inputs `host` lie on the host; the rest as `Traced` describes it."""
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


WARM_RUNS = 2         # runs before a capture
LEAST = 2             # launches from which it is worth it


class Traced:
    """A traced graph on a device.

    graph     what is computed, after all graph passes
    owned     positions of results that get memory of their own
    targets   {position of a result: number of the input that it replaces}
    brief     positions of results that live as long as each other: gradients
    arranged  gives its arrangement by the numbers of the inputs that lie on the host, if that was made before
    """

    is_native = False

    def __init__(self, graph, owned=frozenset(), targets=None, brief=frozenset(), arranged=None):
        self.graph, self.owned, self.targets, self.brief = graph, owned, targets or {}, brief
        self._arranged = arranged or (lambda host: arrange(self.graph, self.owned, self.targets, host))
        self.in_place = frozenset(self.targets)
        self.made: dict = {}               # by the classes of the inputs
        self.last: tuple = (None, None)    # (classes of the inputs, parts) of the last run

    @property
    def plan(self):
        """The steps on the device."""
        return self.parts(()).device.graph.plan

    @property
    def captured(self):
        """The CUDA graph that the last run used or could have used, if there is one."""
        return self.last[1] and self.last[1].device.captured

    @property
    def replayed(self) -> "Parts | None":
        """What replays calls like the last one, if nothing else is to be done for them."""
        parts = self.last[1]
        return parts if parts is not None and parts.is_whole and parts.device.is_settled else None

    @property
    def refused(self) -> str:
        """Why it does not run as a CUDA graph, as far as is known."""
        return self.last[1].device.refused if self.last[1] else ""

    def parts(self, classes) -> "Parts":
        """Return the graph in two, where the inputs of the class of host arrays lie on the host."""
        found = self.made.get(classes)
        if found is None:
            host = frozenset([i for i, c in enumerate(classes) if c is not DeviceArray])
            found = self.made[classes] = Parts(self._arranged(host), self.targets, self.brief, len(self.graph.outputs))
        return found

    def run(self, arrays) -> list:
        """Return the results, as arrays, in order; those with targets are written there."""
        classes, last = tuple([a.__class__ for a in arrays]), self.last
        if classes != last[0]:
            last = self.last = classes, self.parts(classes)
        return last[1].run(arrays)


class Sized:
    """A traced graph of symbolic sizes, for a device. Arguments are those of `Traced`."""

    def __init__(self, graph, owned=frozenset(), targets=None, brief=frozenset()):
        self.graph, self.owned, self.targets, self.brief = graph, owned, targets or {}, brief
        self.arrangements: dict = {}       # by the numbers of the inputs that lie on the host
        self._lock = threading.Lock()

    def bind(self, values: dict) -> Traced:
        """Return the graph with `values` for its names."""
        return Traced(self.graph, self.owned, self.targets, self.brief, lambda host: self._arranged(host).bind(values))

    def _arranged(self, host) -> Arrangement:
        with self._lock:
            if host not in self.arrangements:
                self.arrangements[host] = arrange(self.graph, self.owned, self.targets, host)
            return self.arrangements[host]


class Parts:
    """What runs on the host and what on the device; `count` is how many results the whole graph has."""

    def __init__(self, arrangement: Arrangement, targets, brief, count):
        cut = self.cut = arrangement.cut
        self.inputs, self.count = arrangement.inputs, count
        self.host: Any = None
        if cut is not None:
            self.host = CompiledGraph(arrangement.host, kernel_for)
            self.written = [(cut.given + i, targets[p]) for i, p in enumerate(cut.results)
                            if p in targets and cut.given + i not in self.host.in_place]
            self.counted = [targets[p] for i, p in enumerate(cut.results)
                            if p in targets and cut.given + i in self.host.in_place]
        own = frozenset([i for i, p in enumerate(arrangement.places) if p in brief])
        self.device = Repeated(arrangement.device, arrangement.over, own, arrangement.unchanged)
        self.back = [(p, targets[p]) for i, p in enumerate(arrangement.places)
                     if p in targets and i not in self.device.targets]
        self.is_whole = cut is None and not self.back        # whether all is done on the device

    def run(self, arrays) -> list:
        """Return the results of the whole graph."""
        cut, host = self.cut, self.host
        captured = self.device.usable()
        room, stage = (None, None) if captured is None else (captured.room_for_results(), captured.stage())
        if cut is None:
            return self.finished(self.device.run(arrays, captured, room, stage), arrays)
        before = [arrays[n].copy() for n in self.counted] if room is None else []
        first, sources = len(self.inputs), [arrays[i] for i in cut.sources]
        there = host.run(sources) if stage is None else host.run_into(sources, stage.views[first:first + cut.given])
        try:
            made = self.device.run([arrays[i] for i in self.inputs] + there[:cut.given], captured, room, stage)
        except DeviceError:
            for n, a in zip(self.counted, before):
                np.copyto(arrays[n], a)         # (steps that were not made are not counted)
            raise
        for i, number in self.written:
            np.copyto(arrays[number], there[i])      # (a device array asks its backend)
        results = [None] * self.count
        for p, r in zip(cut.places, made):
            results[p] = r
        for p, r in zip(cut.results, there[cut.given:]):
            results[p] = r
        return self.finished(results, arrays)

    def replay(self, arrays) -> list | None:
        """Return the results of a call for which all is done on the device, as it was done before; None if it cannot be."""
        device = self.device
        captured = device.usable()
        if captured is None or not self.is_whole:
            return device.launch(uploaded(arrays), arrays) if device.by_launches and self.is_whole else None
        return captured.run(arrays, captured.room_for_results(), captured.stage()) if captured.fits(arrays) else None

    def finished(self, results, arrays):
        """Write results that replace an input which the device's part does not know."""
        for p, number in self.back:
            copies.write(arrays[number], results[p])
        return results


class Repeated:
    """A graph on the device, run again and again. What it takes from the host travels in one upload."""

    def __init__(self, steps, targets, brief, unchanged):
        self.targets, self.brief = targets, brief
        self.graph = DeviceGraph(steps, eager.run_into, unchanged=unchanged)
        self.runs = 0
        self.places: tuple = ()            # where inputs were in the run before
        self.captured: Captured | None = None
        self.unsteady: set = set()         # numbers of inputs that were seen to move
        self.refused = ""                  # why it is not captured
        self.by_launches = False           # whether that is quicker than a capture would be
        self._lock = threading.Lock()

    @property
    def is_settled(self) -> bool:
        """Whether it is known how it runs: captured, or launch by launch."""
        return self.captured is not None or self.by_launches

    def usable(self) -> Captured | None:
        """What was captured, if it may be run: it multiplies as the switches said then, and is no part of another capture."""
        captured = self.captured
        if pools.is_capturing():
            return None
        if captured is not None and captured.precision != precision.of_all():
            captured = self.captured = None
        return captured

    def run(self, arrays, captured, room, stage) -> list:
        """Return the results, as arrays, in order; those with targets are written there. What was captured is run, with its
        room for results and its memory for what comes from the host, if it reads the inputs where they are."""
        if captured is not None and captured.fits(arrays):
            return captured.run(arrays, room, stage)
        before = eager.Host.calls
        results = self.launch(uploaded(arrays), arrays)
        if not self.refused and config.current().cuda_graphs:
            self._consider(arrays, eager.Host.calls != before)
        return results

    def launch(self, given, arrays, places=None) -> list:
        """Kernel by kernel. What a run does not write into the inputs itself is copied there."""
        results = self.graph.run(given, places)
        for position, number in self.targets.items():
            if position not in self.graph.in_place or results[position] is not arrays[number]:
                copies.write(arrays[number], results[position])
        return results

    def _consider(self, arrays, on_host):
        """After a run: whether to capture."""
        if on_host:
            self.refused = "some operators run on the host"
        elif len(self.graph.plan.steps) < LEAST:
            self.refused, self.by_launches = "one launch is as quick", True
        places = tuple([a.pointer if a.__class__ is DeviceArray else None for a in arrays])
        self.runs = self.runs + 1 if not streams.is_current_stream_capturing() else 0
        if self.refused or self.runs < WARM_RUNS or not self.places:
            self.places = places
            return
        moved = {i for i, (a, b) in enumerate(zip(places, self.places)) if a is None or a != b}
        if self.captured is not None:
            moved |= self.captured.steady.moved(places)
            if moved <= self.unsteady:
                return
        self.unsteady |= moved
        stable = [i not in self.unsteady for i in range(len(places))]
        if self.captured is None and copied(self, arrays, stable) > WORTH * len(self.graph.plan.steps):
            self.refused, self.by_launches = "launches are quicker than copies of inputs and results", True
            return
        try:
            with self._lock:
                self.captured = Captured(self, arrays, stable)
        except DeviceError as e:
            self.refused = str(e)
        self.places = places
