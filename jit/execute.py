"""Compiles the nodes of a recording: to a graph, through the passes, to a compiled graph that runs on arrays.

A `Piece` is a stretch of nodes between two cuts. Values have numbers (slots). A `Job` is a piece and what it must give; when
another path is recorded that needs more, the piece gets another job.
"""

import threading
import time
from dataclasses import dataclass
from typing import Any

from ..ir.graph import Builder, Graph, Value
from ..ir.lazy import lazy
from ..passes import pipeline
from ..passes.decompose import decompose
from ..passes.row_bodies import row_bodies
from ..runtime.cpu.eager import has_own_kernel
from ..runtime.dispatch import kernel_of
from ..runtime.state import tls
from .report import announce

program = lazy(__package__, "..runtime.cpu.program")


def decompose_bodies(graph: Graph) -> Graph:
    """Composites become their bodies, but for those that eager code runs as one kernel of their own."""
    return decompose(graph, frozenset([n.op for n in graph.nodes if has_own_kernel(n.op)]))


PASSES = (*pipeline.SIMPLER, row_bodies, decompose_bodies, *pipeline.SIMPLER)


@dataclass(frozen=True)
class Result:
    """What a piece gives: the value of a slot.

    `owned` asks for memory that nothing else sees, `target` names the slot of an input that it replaces.
    """

    slot: int
    owned: bool = False
    target: int | None = None


class Piece:
    """A stretch of nodes, whose values `slots` numbers."""

    def __init__(self, name: str, nodes, slots: dict):
        self.name, self.nodes = name, tuple(nodes)
        self.slots = {v: slots[v] for n in nodes for v in (*n.inputs, *n.outputs) if type(v) is Value}
        self.avals = {slot: v.aval for v, slot in slots.items()}
        self.made = {slots[v] for n in nodes for v in n.outputs}
        self.reads = {self.slots[x] for n in nodes for x in n.inputs if type(x) is Value} - self.made

    def graph(self, wanted):
        """(the nodes as a graph of the wanted results, the slots of its inputs)."""
        b = Builder(self.name)
        taken = set(self.reads)
        for r in wanted:
            taken |= {r.slot} - self.made | ({r.target} if r.target is not None else set())
        slots = sorted(taken)
        known = {s: b.input(f"v{s}" if s >= 0 else f"in{-1 - s}", self.avals[s]) for s in slots}
        for n in self.nodes:
            new = b.copy(n, [known[self.slots[x]] if type(x) is Value else x for x in n.inputs])
            known.update({self.slots[v]: w for v, w in zip(n.outputs, new.outputs)})
        return b.finish([known[r.slot] for r in wanted]), tuple(slots)


class Job:
    """A piece and what it is to give, in order; compiled when it first runs."""

    def __init__(self, piece: Piece, wanted):
        self.piece, self.wanted = piece, tuple(wanted)
        self.compiled: Any = None
        self.slots: tuple = ()           # of what is read, in order
        self.steps: list = []            # the graph after each pass
        self.seconds = 0.0
        self._lock = threading.Lock()

    def run(self, env: dict) -> list:
        """The arrays of the results; `env` maps slots to arrays."""
        compiled = self.compiled or self.compile()
        arrays = [env[s] for s in self.slots]
        return compiled.run(arrays) if compiled.is_native else tls.m.run(compiled.run, arrays)

    @property
    def in_place(self) -> frozenset:
        """The positions of results that were written straight into the inputs that they replace."""
        return self.compiled.in_place

    def compile(self):
        """The compiled graph, made at the first question."""
        with self._lock:
            if self.compiled is None:
                start = time.perf_counter()
                made = self._make()
                self.seconds = time.perf_counter() - start
                self.compiled = made
                announce(self, made)
            return self.compiled

    def _make(self):
        graph, self.slots = self.piece.graph(self.wanted)
        self.steps = [pipeline.Step("recorded", graph, True, 0.0)]
        graph = pipeline.run(graph, PASSES, steps=self.steps)
        number = {s: i for i, s in enumerate(self.slots)}
        owned = frozenset([i for i, r in enumerate(self.wanted) if r.owned])
        targets = {i: number[r.target] for i, r in enumerate(self.wanted) if r.target is not None}
        return program.CompiledGraph(graph, kernel_of, owned, targets)
