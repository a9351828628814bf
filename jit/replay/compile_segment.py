"""Compilation of a segment: nodes to a graph, through the passes, to a compiled graph that runs on arrays.

A `Region` holds the nodes between two cuts; its values have numbers (slots). A `Job` is a region and the results that it must
give. When another recorded path needs more results, the region gets another job.
"""

import gc
import time
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, NamedTuple

from ...ir import config
from ...ir.cached_property import cached_property
from ...ir.draw.tables import counted
from ...ir.graph.graph import Builder, Graph, Value
from ...ir.lazy import lazy
from ...ir.locks import new_rlock
from ...ir.opdef.aval import Aval
from ...ir.ops.core.host_call import host_call
from ...ir.process_state import float_errors
from ...ir.symbols.scope import Scope
from ...ir.symbols.substitute import collect, owned_by, replaced
from ...ir.symbols.symbolic import names_of
from ...passes.layout.in_memory_order import apply_memory_order
from ...passes.networks.hoist_weights import split_derived
from ...passes.rewrite import pass_manager
from ...runtime.core.backend import HOST
from ...runtime.core.device_array import DeviceArray
from ...runtime.state.mode import COUNTERS, OPEN_PROFILES, tls
from ..inspect.report import announce
from ..proxies.threads import without_collections
from .shared_code import SHARED, SharedCode, identity_of
from .weight_cache import Derived

alloc = lazy(__package__, "...runtime.cpu.memory.alloc")
work = lazy(__package__, "..inspect.work")


@dataclass(frozen=True)
class Result:
    """A result of a region: the value of a slot.

    owned    it needs memory that nothing else sees
    target   slot of the input whose memory it replaces
    order    order of its dims in memory
    brief    results that live as long as each other: gradients
    """

    slot: int
    owned: bool = False
    target: int | None = None
    order: tuple | None = None
    brief: bool = False


class TooDear(Exception):
    """A segment is not compiled, or not bound to new sizes, since that would not pay. Nothing was written yet."""


class Region:
    """The nodes between two cuts.

    slots      {value: its number}; `captured`: {slot: the tensor behind an input}; `orders`: {slot: order of an input's dims}
    scope      of the symbolic sizes, the first `known` of which have values where it runs (None: all)
    backend    where it ran when it was recorded
    limit      what its compilation may cost (`RecompileLimit`); None if it must be compiled
    """

    limit: Any = None

    def __init__(self, name: str, nodes, slots: dict, captured=None, scope: Scope | None = None, backend=HOST, orders=None,
                 known: int | None = None):
        self.name, self.nodes, self.backend, self.known = name, tuple(nodes), backend, known
        self.calls_host = any(n.op is host_call for n in self.nodes)
        self.scope: Any = scope
        self.captured, self.orders = captured or {}, orders or {}
        self.slots = {v: slots[v] for n in nodes for v in (*n.inputs, *n.outputs) if type(v) is Value}
        self.avals = {slot: v.aval for v, slot in slots.items()}
        self.computed = {slots[v] for n in nodes for v in n.outputs}
        self.reads = {self.slots[x] for n in nodes for x in n.inputs if type(x) is Value} - self.computed
        self.may_refuse = any(n.op.may_refuse(n.inputs) for n in self.nodes)

    @cached_property
    def names(self) -> frozenset:
        """Names of the symbolic numbers in shapes and parameters; others are operands."""
        found: dict = {}
        for n in self.nodes:
            collect(tuple(n.params.values()), found)
        for aval in [v.aval for v in self.slots]:
            collect(aval.shape, found)
        return frozenset().union(*map(names_of, found.values()))

    def unread(self, wanted) -> list:
        """Return slots of operators that may raise for their values, and that no wanted result depends on."""
        if not self.may_refuse:
            return []
        live, found = {r.slot for r in wanted}, []
        for n in reversed(self.nodes):
            if live.isdisjoint(made := [self.slots[v] for v in n.outputs]):
                if not n.op.may_refuse(n.inputs):
                    continue
                found.append(made[0])
            live.update([self.slots[x] for x in n.inputs if type(x) is Value])
        return found

    def graph(self, wanted, scope: Scope | None = None):
        """Return (the nodes as a graph of the wanted results, the slots of its inputs), with symbolic sizes of `scope`."""
        b = Builder(self.name)
        own = (lambda x: x) if scope is None else (lambda x: owned_by(scope, x))
        taken = set(self.reads)
        for r in wanted:
            taken |= {r.slot} - self.computed | ({r.target} if r.target is not None else set())
        slots = sorted(taken)
        known = {s: b.input(f"v{s}" if s >= 0 else f"in{-1 - s}", _owned(self.avals[s], own)) for s in slots}
        for n in self.nodes:
            operands = [known[self.slots[x]] if type(x) is Value else replaced(x, own) for x in n.inputs]
            params = n.params if scope is None else {k: replaced(v, own) for k, v in n.params.items()}
            new = b.copy_as(n, operands, params, [_owned(v.aval, own) for v in n.outputs])
            known.update({self.slots[v]: w for v, w in zip(n.outputs, new.outputs)})
        orders = {i: self.orders[s] for i, s in self.memory_ordered(slots, wanted)}
        results = {i: r.order for i, r in enumerate(wanted) if r.order is not None}
        return apply_memory_order(b.finish([known[r.slot] for r in wanted]), orders, results), tuple(slots)

    def memory_ordered(self, slots, wanted) -> list:
        """Return (index among the graph's inputs, slot) of the inputs that the graph takes in memory order; not of those that
        results replace."""
        targets = {r.target for r in wanted}
        return [(i, s) for i, s in enumerate(slots) if s in self.orders and s not in targets]


def _owned(aval, own):
    return Aval(replaced(aval.shape, own), aval.dtype) if aval.is_symbolic else aval


@dataclass(frozen=True)
class Recorded:
    """A recorded graph, what the passes were given, the passes, and the settings by then."""

    graph: Graph
    before_passes: Graph
    passes: tuple
    settings: config.Settings
    spent: int

    def steps(self) -> list:
        """Return the graph as recorded, then after each pass."""
        found = [pass_manager.Step("recorded", self.graph, True, 0.0)]
        fuel = pass_manager.Fuel()
        fuel.spent = self.spent
        with config.override(**asdict(self.settings) | {"debug": 0, "print": "", "dump": ""}):
            pass_manager.run(self.before_passes, self.passes, steps=found, fuel=fuel)
        return found


class Ready(NamedTuple):
    """Compiled code for a call: `compiled` takes the arrays, then early numbers, values `derived` of weights (or None), and
    late numbers. `variant` computes the numbers from symbols; None if there are none."""

    compiled: Any
    derived: Any
    variant: Any = None


class Job:
    """A region and its wanted results, in order; compiled when it first runs."""

    def __init__(self, region: Region, wanted):
        self.region, self.wanted = region, tuple(wanted)
        self.compiled: Any = None
        self.derived: Any = None         # what is made of weights alone
        self.slots: tuple = ()           # of what is read, in order
        self.recorded: Recorded | None = None
        self._shared: SharedCode | None = None      # keeps what it shares with other jobs
        self._is_new: bool | None = None     # whether no other job had compiled the same graph, once that is known
        self.seconds = 0.0
        self._lock = new_rlock()

    def __repr__(self):
        state = "not compiled" if self.compiled is None else f"compiled in {1e3 * self.seconds:.0f} ms"
        return f"<job {self.region.name}: {counted(len(self.region.nodes), 'recorded operation')}, {state}>"

    @property
    def steps(self) -> list:
        """The graph as recorded and after each pass, computed again at each read: stored graphs would be most of a job's
        memory."""
        return [] if self.recorded is None else self.recorded.steps()

    def passed(self, recorded, passes, source=None):
        """Return a recorded graph (or an earlier form of it) after passes."""
        source = recorded if source is None else source
        self.recorded = Recorded(recorded, source, passes, config.current(), pass_manager.FUEL.spent)
        collections = gc.get_count()[1]
        made = pass_manager.run(source, passes)
        # Free graphs that passes left behind, before what is made of the last one needs memory. A collection of older objects
        # brings the next one of all objects nearer, so it is for graphs that survived one of young objects.
        gc.collect(0 if gc.get_count()[1] == collections else 1)
        return made

    def run(self, env: dict, symbols=(), at_any_price=False) -> list:
        """Return the arrays of the results; `env` maps slots to arrays, `symbols` are the values of the scope's names."""
        compiled = self.compiled or self._paid("compiling", at_any_price, self.compile, env)
        arrays = self.arrays(env)
        if self.derived is not None:
            arrays += self.derived.arrays()
        return self.run_compiled(compiled, arrays)

    def _may_share(self) -> bool:
        """Return whether another job has compiled the same graph, which makes this one cheap."""
        if self._is_new is None and self.region.backend is HOST and self.region.scope is None:
            graph, self.slots = self.region.graph(self.wanted)
            self._is_new = SHARED.get(self._identity(graph)) is None
        return self._is_new is False

    def _paid(self, kind, at_any_price, make, *args):
        """Return what `make` compiles or binds, and count the cost; raise TooDear if that does not pay."""
        limit, size = self.region.limit, len(self.region.nodes)
        if limit is None:
            return make(*args)
        if not at_any_price and not limit.affords(kind, size=size) and not (
                kind == "compiling" and limit.affords("sharing", size=size) and self._may_share()):
            raise TooDear(kind)
        start = limit.clock()
        try:
            return make(*args)
        finally:
            limit.invest("sharing" if kind == "compiling" and self._is_new is False else kind, limit.clock() - start, size)

    def arrays(self, env) -> list:
        """Return the arrays of the inputs, in order."""
        found = [env[s] for s in self.slots]
        if self.region.orders:
            for i, s in self.region.memory_ordered(self.slots, self.wanted):
                found[i] = found[i].transpose(self.region.orders[s])
        return found

    def run_compiled(self, compiled, arrays) -> list:
        for counter in COUNTERS:
            counter.ran(self, compiled)
        if self.region.calls_host:      # the function enters the thread's context itself, and sees its caller's variables
            with float_errors(all="ignore"):
                return OPEN_PROFILES[-1].run(self, compiled, arrays) if OPEN_PROFILES else compiled.run(arrays)
        if OPEN_PROFILES:
            return tls.m.quietly(OPEN_PROFILES[-1].run, self, compiled, arrays)
        return compiled.run(arrays) if compiled.is_native else tls.m.quietly(compiled.run, arrays)

    def step_names(self, compiled) -> dict:
        """Return {step of a compiled graph: its description}, for profiles."""
        return {w.step: w.name if w.kind == "kernel" else w.ops for w in work.works_of(compiled.plan)}

    def contractions(self, compiled) -> list:
        """Return (name, count of operations) of the contractions in a compiled graph."""
        return [(n.op.name, n.op.flops(n.inputs, n.outputs, n.params)) for w in work.works_of(compiled.plan)
                for n in w.nodes if n.op.flops is not None]

    def in_place(self, symbols, arrays) -> frozenset:
        """Return the positions of results that a run wrote straight into the inputs that they replace; `arrays` is all that it
        returned."""
        return self.compiled.in_place

    def ready(self, symbols=()):
        """Return what runs arrays in the order of `slots`, if it is compiled, else None."""
        return None if self.compiled is None else Ready(self.compiled, self.derived)

    def compile(self, env=None):
        """Return the compiled graph, for the device of the arrays in `env`, or without `env` for the device of the recording.
        """
        with self._lock:
            if self.compiled is None:
                start = time.perf_counter()
                graph, self.slots = self.region.graph(self.wanted)
                given = [env[s] for s in self.slots] if env is not None else []
                backend = next((a.backend for a in given if a.__class__ is DeviceArray), HOST)
                backend = self.region.backend if env is None else backend
                alloc.empty_cache()      # the eager run left blocks that compiled code does not fit into
                made = without_collections(partial(self._make, graph, backend))
                self.seconds = time.perf_counter() - start
                self.compiled = made
                announce(self, made)
            return self.compiled

    def _make(self, graph, backend):
        key = self._identity(graph) if backend is HOST else None
        shared = None if key is None else SHARED.get(key)
        self._is_new = shared is None
        if shared is None:
            owned, targets = self.wishes()
            graph, self.derived = self.without_derived(self.passed(graph, backend.PASSES), targets, backend)
            shared = SharedCode(backend.traced(graph, owned, targets, self.brief), self.derived, self.recorded)
            if key is not None:
                SHARED[key] = shared
        self._shared, self.derived, self.recorded = shared, shared.derived, shared.recorded
        return shared.compiled

    def _identity(self, graph) -> tuple:
        owned, targets = self.wishes()
        weights = [(i, id(self.region.captured[self.slots[i]])) for i in sorted(self._stable(set(targets.values())))]
        return identity_of(graph, (owned, tuple(targets.items()), self.brief), tuple(weights))

    def wishes(self):
        """Return (positions of results that get memory of their own, {position of a result: number of the input it replaces}).
        """
        number = {s: i for i, s in enumerate(self.slots)}
        owned = frozenset([i for i, r in enumerate(self.wanted) if r.owned])
        return owned, {i: number[r.target] for i, r in enumerate(self.wanted) if r.target is not None}

    @property
    def brief(self) -> frozenset:
        """The positions of results that live as long as each other."""
        return frozenset([i for i, r in enumerate(self.wanted) if r.brief])

    def without_derived(self, graph, targets, backend):
        """Return (the graph without values of weights alone, the `Derived` that computes them, or None)."""
        cut = split_derived(graph, self._stable(set(targets.values()))) if backend.hoists_weights else None
        if cut is None:
            return graph, None
        tensors = [self.region.captured[self.slots[i]] for i in cut.sources]
        return cut.main, Derived(backend.traced(cut.derived, frozenset(), {}, frozenset()), tensors)

    def _stable(self, written):
        """Return the numbers of inputs that are captured tensors and are not written here."""
        return frozenset([i for i, s in enumerate(self.slots) if s in self.region.captured and i not in written])
