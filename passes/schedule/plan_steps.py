"""Steps of a graph's plan, with the values that each reads and writes (`plan_memory.py`)."""

from dataclasses import dataclass, field
from typing import Any

from ...ir.graph.graph import Graph, Node, Value
from ..fusion.fuse_epilogue import Epilogue
from ..fusion.lower import Lowered
from ..rewrite.kernel_body import source_of

LINE = 64               # bytes on which values of the arena start; the first ones hold the status of a run


@dataclass(eq=False)
class Fused:
    """One fused kernel."""

    group: Any          # a Group
    lowered: Lowered


@dataclass(eq=False)
class Call:
    """One node by itself: native code of its own, or called on arrays; a view for such a call, a fill."""

    node: Node
    refused: list = field(default_factory=list)
    dead: tuple = ()


@dataclass(eq=False)
class Product:
    """A matrix product with its epilogue."""

    epilogue: Epilogue
    dead: tuple = ()

    @property
    def node(self) -> Node:
        return self.epilogue.node


@dataclass(eq=False)
class Run:
    """Steps in one native call. `reads`, `writes` and `updates` are its arguments, in that order.

    writes       new values that are seen outside of it
    updates      inputs of the graph that it writes over
    lives        (value or step, the first step that needs its place in the arena, the last one)
    shared       {value: the one whose place in the arena it has}
    arena        {value: bytes from the arena's start}
    scratch      {step: bytes from the arena's start} of a step's scratch memory
    over         {result of a native step: the operand in whose memory it may be written}
    over_inputs  {value: the input in whose memory it is}, of values that it reads or makes there
    """

    steps: list
    reads: list = field(default_factory=list)
    writes: list = field(default_factory=list)
    updates: list = field(default_factory=list)
    lives: list = field(default_factory=list)
    shared: dict = field(default_factory=dict)
    arena: dict = field(default_factory=dict)
    scratch: dict = field(default_factory=dict)
    arena_bytes: int = LINE
    dead: tuple = ()
    over: dict = field(default_factory=dict)
    over_inputs: dict = field(default_factory=dict)

    @property
    def fused(self) -> list:
        return [s for s in self.steps if type(s) is Fused]

    @property
    def kernels(self) -> list:
        return [s.lowered for s in self.fused]

    @property
    def groups(self) -> list:
        return [s.group for s in self.fused]


@dataclass(frozen=True, eq=False)
class Plan:
    """Steps, and the values that leave.

    graph     the graph
    steps     in order: Fused, Product or Call of an arrangement; Run, Product or Call of a plan, each with its dead values
    in_place  {value: the input in whose memory it is written}, in the order of steps
    """

    graph: Graph
    steps: tuple
    in_place: dict


def reads_of(step):
    """Return the values in memory that a step reads as native code."""
    if type(step) is Fused:
        return [v for v, _, written in step.lowered.operands if not written]
    reads = [v for v, *_ in step.epilogue.operands if v not in step.epilogue.others] if type(step) is Product else []
    return [*[v for v in map(source_of, values_of(step.node)) if v is not None], *reads]


def shallow(x):
    """Return an object with the very attributes of another; `copy.copy` takes several times as long."""
    made = object.__new__(type(x))
    vars(made).update(vars(x))
    return made


def values_of(node) -> list:
    """Return the values among a node's operands."""
    return [x for x in node.inputs if type(x) is Value]


def writes_of(step) -> list:
    """Return the values in memory that a step makes."""
    if type(step) is Fused:
        return [v for v, _, written in step.lowered.operands if written]
    return [step.epilogue.result, *step.epilogue.others] if type(step) is Product else list(step.node.outputs)
