"""Traced graphs on a device: a host part in one native call, and a device part, launch by launch first, then as a CUDA graph.

Plans know no inputs and, if sizes are symbolic, no sizes. Later sizes are bound as numbers
(`passes/schedule/specialize_shapes.py`) without running passes. Kernels take sizes as parameters; they are compiled again only
for another tile or another divisor of a size.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ....ir import config
from ....ir.cached_property import cached_property
from ....ir.errors import DeviceError
from ....ir.locks import new_lock, new_rlock
from ....ir.ops.core.host_call import host_call, named
from ....passes.networks.partition_host import HostCut, partition_host
from ....passes.schedule.device_plan import CallStep, Steps, plan
from ....passes.schedule.specialize_shapes import Binder
from ...core.device_array import DeviceArray
from ...core.journal import Repeated
from ...cpu.graph.eager import kernel_for
from ...cpu.graph.program import CompiledGraph, arrange_for_cpu
from ...state.host_results import apart
from ...state.mode import tls
from ..compiler import copies, precision
from ..driver import streams
from ..memory import pools
from ..memory.transfer import uploaded
from ..replay.captured import WORTH, Captured, copied
from ..replay.static_steps import StaticSteps
from . import eager
from .joint_capture import JointCapture, Way
from .program import DeviceGraph


@dataclass(frozen=True)
class Arrangement:
    """A graph split into a device part and a host part, each with its steps.

    device   steps of the device part
    inputs   numbers of the graph's inputs that it takes, before the host's results
    positions  positions of its results in the whole graph's
    over     {number of one of its results: number of its input that it replaces}
    cut      the part that depends on host inputs alone, or None; `host` is its arrangement
    static   static steps that all bindings share, if it is bound
    """

    device: Steps
    inputs: Sequence
    positions: Sequence
    over: dict
    cut: HostCut | None = None
    host: Any = None
    static: StaticSteps | None = None

    def bind(self, values: dict) -> "Arrangement":
        device, *host = [binder.bind(values) if binder.keys else None for binder in self._binders]
        return replace(self, device=device or self.device, host=(host[0] if host else None) or self.host,
                       static=self._static)

    @cached_property
    def _binders(self) -> list:
        device: Any = self.device
        return [Binder(device, shares=True), *([] if self.host is None else [Binder(self.host)])]

    @cached_property
    def _static(self) -> StaticSteps:
        return StaticSteps(self._binders[0].steps)


def arrange(graph, owned, targets, host: frozenset) -> Arrangement:
    """Return the arrangement of a graph with the inputs `host` on the host; other arguments as for `Traced`."""
    cut = partition_host(graph, host, frozenset([n for n in targets.values() if n not in host]))
    inputs: Sequence
    positions: Sequence
    if cut is None or not any(i not in host for i in cut.inputs):
        inputs, main, positions = range(len(graph.inputs)), graph, range(len(graph.outputs))
        cut = None
    else:
        inputs, main, positions = cut.inputs, cut.main, cut.main_results
    at = {n: i for i, n in enumerate(inputs)}
    mine = frozenset([i for i, p in enumerate(positions) if p in owned])
    over = {i: at[targets[p]] for i, p in enumerate(positions) if p in targets and targets[p] not in host}
    on_host = cut and _on_host(cut, owned, targets, frozenset(inputs))
    return Arrangement(plan(main, mine, over), inputs, positions, over, cut, on_host)


def _on_host(cut: HostCut, owned, targets, on_device: frozenset):
    """Return the arrangement of the host part, which runs first; it writes in place only inputs that the device does not
    read."""
    number = {n: i for i, n in enumerate(cut.sources) if n not in on_device}
    first = cut.given
    over = {first + i: number[targets[p]] for i, p in enumerate(cut.results) if targets.get(p) in number}
    return arrange_for_cpu(cut.host, frozenset([first + i for i, p in enumerate(cut.results) if p in owned]), over)


WARM_RUNS = 2         # runs before a capture
LEAST = 2             # least number of launches worth a capture


class Traced:
    """A traced graph on a device.

    graph           the graph after all passes
    owned           positions of results that get memory of their own
    targets         {position of a result: number of the input that it replaces}
    brief           positions of results with equal lifetimes: gradients
    arrangement_of  function from the numbers of host inputs to an arrangement made before
    """

    is_native = False

    def __init__(self, graph, owned=frozenset(), targets=None, brief=frozenset(), arrangement_of=None):
        self.graph, self.owned, self.targets, self.brief = graph, owned, targets or {}, brief
        self._arrangement_of = arrangement_of or (lambda host: arrange(self.graph, self.owned, self.targets, host))
        self.in_place = frozenset(self.targets)
        self.parts_of_classes: dict = {}               # by the classes of the inputs
        self.last: tuple = (None, None)    # (classes of the inputs, parts) of the last run

    @property
    def whole(self) -> "Traced":
        """Itself; a graph of the CPU that was bound to sizes makes its whole form when it is asked."""
        return self

    @property
    def plan(self):
        return self.parts(()).device.graph.plan

    @property
    def captured(self):
        """The CUDA graph of the last run, if there is one."""
        return self.last[1] and self.last[1].device.captured

    @property
    def replayed(self) -> "Parts | None":
        """The parts that replay calls like the last one, if they need nothing else."""
        parts = self.last[1]
        is_alone = parts is not None and parts.is_whole and not parts.device.has_collectives
        return parts if is_alone and parts.device.is_settled else None

    @property
    def refused(self) -> str:
        """Why there is no CUDA graph, or ""."""
        return self.last[1].device.refused if self.last[1] else ""

    def parts(self, classes) -> "Parts":
        """Return the split graph for classes of inputs: host arrays are inputs of the host part."""
        found = self.parts_of_classes.get(classes)
        if found is None:
            host = frozenset([i for i, c in enumerate(classes) if c is not DeviceArray])
            found = Parts(self._arrangement_of(host), self.targets, self.brief, len(self.graph.outputs))
            self.parts_of_classes[classes] = found
        return found

    def run(self, arrays) -> list:
        """Run the graph; return its results in order. Results with targets are written there."""
        classes, last = tuple([a.__class__ for a in arrays]), self.last
        if classes != last[0]:
            last = self.last = classes, self.parts(classes)
        return last[1].run(arrays)


class Sized:
    """A traced graph of symbolic sizes. Arguments as for `Traced`."""

    def __init__(self, graph, owned=frozenset(), targets=None, brief=frozenset()):
        self.graph, self.owned, self.targets, self.brief = graph, owned, targets or {}, brief
        self.arrangements: dict = {}       # by the numbers of host inputs
        self._lock = new_rlock()

    def bind(self, values: dict) -> Traced:
        return Traced(self.graph, self.owned, self.targets, self.brief, lambda host: self._arrangement_of(host).bind(values))

    def _arrangement_of(self, host) -> Arrangement:
        with self._lock:
            if host not in self.arrangements:
                self.arrangements[host] = arrange(self.graph, self.owned, self.targets, host)
            return self.arrangements[host]


class Parts:
    """Host part and device part of a graph with `count` results."""

    def __init__(self, arrangement: Arrangement, targets, brief, count):
        cut = self.cut = arrangement.cut
        self.inputs, self.count = arrangement.inputs, count
        self.host: Any = None
        self.writes_inputs, self.counted = bool(targets), []
        if cut is not None:
            self.host = CompiledGraph(arrangement.host, kernel_for)
            self.written = [(cut.given + i, targets[p]) for i, p in enumerate(cut.results)
                            if p in targets and cut.given + i not in self.host.in_place]
            self.counted = [targets[p] for i, p in enumerate(cut.results)
                            if p in targets and cut.given + i in self.host.in_place]
        own = frozenset([i for i, p in enumerate(arrangement.positions) if p in brief])
        self.device = ReplayedGraph(arrangement.device, arrangement.over, own, arrangement.static)
        self.back = [(p, targets[p]) for i, p in enumerate(arrangement.positions)
                     if p in targets and i not in self.device.targets]
        self.is_whole = cut is None and not self.back        # whether everything is done on the device

    def run(self, arrays) -> list:
        """Return the results of the whole graph. While a replay keeps a journal, a run that an interrupt stopped goes on from
        there when it is called again, and writes nothing twice."""
        cut, host = self.cut, self.host
        journal = tls.m.journal if self.writes_inputs else None
        begun = None if journal is None else journal.get(self)
        if begun is None:
            begun = self._begun(arrays)
            if journal is not None:
                journal[self] = begun
        captured, room, stage, before = begun.how
        if cut is None:
            return self._finished(self.device.run(arrays, captured, room, stage, journal), arrays, begun)
        first, sources = len(self.inputs), [arrays[i] for i in cut.sources]
        there = host.run(sources) if stage is None else host.run_into(sources, stage.views[first:first + cut.given])
        try:
            made = self.device.run([arrays[i] for i in self.inputs] + there[:cut.given], captured, room, stage, journal)
        except DeviceError:
            for n, a in zip(self.counted, before):
                np.copyto(arrays[n], a)         # (steps that were not made are not counted)
            raise
        begun.writes = begun.writes or bool(self.written)
        for i, number in self.written:
            np.copyto(arrays[number], there[i])      # (a device array asks its backend)
        results = [None] * self.count
        for p, r in zip(cut.main_results, made):
            results[p] = r
        for p, r in zip(cut.results, there[cut.given:]):
            results[p] = r
        return self._finished(results, arrays, begun)

    def _begun(self, arrays) -> "BegunRun":
        captured = self.device.agreed([arrays[i] for i in self.inputs] if self.device.joint.parties else ())
        if captured is None:
            return BegunRun(None, None, None, [arrays[n].copy() for n in self.counted])
        return BegunRun(captured, captured.room_for_results(), captured.stage(), [])

    def replay(self, arrays) -> list | None:
        """Repeat a call that needs the device part alone; return None if that is impossible now."""
        device = self.device
        captured = device.usable()
        if captured is None or not self.is_whole:
            return device.launch(uploaded(arrays), arrays) if device.by_launches and self.is_whole else None
        return captured.run(arrays, captured.room_for_results(), captured.stage()) if captured.fits(arrays) else None

    def _finished(self, results, arrays, begun):
        """Write results that replace inputs unknown to the device part."""
        begun.writes = begun.writes or bool(self.back)
        for p, number in self.back:
            copies.write(arrays[number], results[p])
        return results


class BegunRun:
    """A run of a graph that was begun.

    how     (the capture, its memory for results, its staging buffer, copies of host arrays that are restored if it fails)
    writes  whether it copies results over inputs, which may be done again
    """

    __slots__ = ("how", "writes")

    def __init__(self, *how):
        self.how, self.writes = how, False

    @property
    def has_written(self) -> bool:
        """Whether the call must not be made in another way."""
        return self.writes


class ReplayedGraph:
    """The device part, run repeatedly. Its host data travels in one upload."""

    def __init__(self, steps, targets, brief, static):
        self.targets, self.brief = targets, brief
        self.graph = DeviceGraph(steps, eager.run_into, static=static)
        self.runs = 0
        self.addresses: tuple = ()         # addresses of the inputs of the run before
        self.captured: Captured | None = None
        self.moving_inputs: set = set()         # numbers of inputs whose address changed
        self.refused = ""                  # why it is not captured
        self.by_launches = False           # whether launches are quicker than a capture
        calls = [step.node for step in self.graph.plan.steps if type(step) is CallStep and step.node.op is host_call]
        self.calls_python = not all(getattr(named(node.params["function"]), "enters_streams", False) for node in calls)
        self.has_collectives = bool(calls)
        self.joint = JointCapture()
        self.joint.gone = self._drop
        self.way = Way.LAUNCH              # that ranks have agreed on
        self._lock = new_lock()

    @property
    def is_settled(self) -> bool:
        """Whether the way to run is decided: captured, or launch by launch."""
        return self.captured is not None or self.by_launches

    def usable(self) -> Captured | None:
        """Return the capture, if its precision is current and this thread does not capture."""
        captured = self.captured
        if pools.is_capturing():
            return None
        if captured is not None and captured.precision != precision.of_all():
            captured = self.captured = None
        return captured

    def agreed(self, arrays) -> Captured | None:
        """Return the capture, if this thread may use it. Ranks vote on a graph with collectives: all replay theirs, or none."""
        captured, self.way = self.usable(), Way.LAUNCH
        if not self.joint.parties or self.refused or pools.is_capturing() or not config.current().cuda_graphs:
            return captured
        outcomes = tls.m.results_of_hosts
        if outcomes is not None and not outcomes.are_final:     # (a run in place of the replay would need each result)
            return None
        way = Way.LAUNCH
        if captured is not None and captured.fits(arrays):
            way = Way.REPLAY
        elif self.runs + 1 >= WARM_RUNS and self.addresses and (
                captured is None or captured.resident.moved_since(_addresses(arrays))):
            way = Way.CAPTURE
        self.way = self.joint.way(way)
        if self.joint.is_vain:
            self.refused = "other ranks launch kernel by kernel when this one could replay"
            self._drop()
        return self.captured if self.way == Way.REPLAY else None

    def _drop(self):
        """Drop the capture."""
        if self.captured is not None:
            self.captured.graph.reset()
            self.captured = None

    def run(self, arrays, captured, room, stage, journal: dict | None = None) -> list:
        """Run the part; return its results in order. Results with targets are written there.

        A fitting capture is replayed, with its memory for results and its staging buffer.
        """
        if captured is not None and captured.fits(arrays):
            return captured.run(arrays, room, stage, journal)
        before, inputs = eager.Host.calls, uploaded(arrays)
        if self.has_collectives:
            goes_on = journal is not None and self.graph in journal
            results = self.joint.launched(lambda: self.launch(inputs, arrays, journal=journal), goes_on)
        else:
            results = self.launch(inputs, arrays, journal=journal)
        if not self.refused and config.current().cuda_graphs:
            self._consider(arrays, eager.Host.calls != before)
        return results

    def launch(self, inputs, arrays, destinations=None, journal: dict | None = None) -> list:
        """Launch kernel by kernel, and copy results to inputs that they replace."""
        results = self.graph.run(inputs, destinations, journal)
        if journal is not None:
            journal[self] = Repeated
        for position, number in self.targets.items():
            if position not in self.graph.in_place or results[position] is not arrays[number]:
                copies.write(arrays[number], results[position])
        return results

    def _consider(self, arrays, on_host):
        """Decide after a run whether to capture."""
        if on_host:
            self.refused = "some operators run on the host"
        elif self.calls_python:
            self.refused = "it calls Python between kernels"
        elif len(self.graph.plan.steps) < LEAST:
            self.refused, self.by_launches = "one launch is as quick", True
        addresses = _addresses(arrays)
        self.runs = self.runs + 1 if not streams.is_current_stream_capturing() else 0
        waits = self.has_collectives and self.way != Way.CAPTURE        # (for a vote of all ranks)
        if self.refused or self.runs < WARM_RUNS or not self.addresses or waits:
            self.addresses = addresses
            return
        relocated = {i for i, (a, b) in enumerate(zip(addresses, self.addresses)) if a is None or a != b}
        if self.captured is not None:
            relocated |= self.captured.resident.moved_since(addresses)
            if relocated <= self.moving_inputs and not self.has_collectives:       # (ranks have agreed on a new one)
                return
        self.moving_inputs |= relocated
        stable = [i not in self.moving_inputs for i in range(len(addresses))]
        if self.captured is None and copied(self, arrays, stable) > WORTH * len(self.graph.plan.steps):
            self.refused, self.by_launches = "launches are quicker than copies of inputs and results", True
            return
        try:
            with self._lock:
                self.captured = self._captured(arrays, stable)
        except DeviceError as e:
            self.refused = str(e)
        self.addresses = addresses

    def _captured(self, arrays, stable) -> Captured:
        if not self.has_collectives:
            return Captured(self, arrays, stable)
        return self.joint.captured(lambda: apart(lambda: Captured(self, arrays, stable)))


def _addresses(arrays) -> tuple:
    return tuple([a.pointer if a.__class__ is DeviceArray else None for a in arrays])
