"""The tape behind a recording's results, as data.

Eager nodes save memory that a later write may change, and can be differentiated again. A replay has one node for all of them
(`replay/differentiate.py`). The tape tells that node which memory eager code would have saved, and lets it restore the eager
nodes where gradients of gradients are asked for.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from ...ir.dtype import DType
from ...ir.graph.graph import Value
from ...ir.opdef.aval import Aval
from ...ir.symbols.symbolic import is_symbol
from ...runtime.autograd.function import FunctionNode
from ...runtime.core.node import ComplexNode, Leaf, Node, Output
from .inputs import OUTSIDE
from .recording import Saved

OWN = (Node, ComplexNode)


class End(NamedTuple):
    """Edge to an input, by its position."""

    position: int


class Inner(NamedTuple):
    """Edge to a node of the tape: its number, and which of its results, if there are several."""

    number: int
    result: int | None


class Slot(NamedTuple):
    """A saved array: its value (a number once it is compiled), and the number of its memory among `Tape.memories`, or None."""

    value: Any
    memory: int | None


@dataclass(frozen=True)
class TapeNode:
    """An eager node without its arrays. `results` holds the numbers of the results whose backward reaches it.

    The node of an `autograd.Function` has its class as `op`. Its `params` are the attributes of its ctx and the avals of its
    arguments. Its `saved` are tuples (`Slot`, edge, number of the result that it is).
    """

    kind: type
    op: Any
    params: dict
    edges: tuple
    saved: tuple
    outs: Any
    inexact_outs: Any
    results: frozenset


@dataclass
class Memory:
    """Memory of the recorded run that the tape saved. A later write to it makes the backward of `results` an error.

    cell      of the memory, as the recorder knows it
    savers    nodes that saved it
    values    saved values that lie in it
    rescued   whether a write to the result copies the saved values first, since its own node alone saved them (trait "rescued")
    """

    cell: Any
    results: frozenset = frozenset()
    savers: list = field(default_factory=list)
    values: dict = field(default_factory=dict)
    rescued: bool = False


@dataclass(frozen=True)
class Tape:
    """Nodes, oldest first; the edges of the results; the memory they saved; and why no nodes can be restored, if so."""

    nodes: tuple
    roots: tuple
    memories: list
    refusal: str = ""

    def over(self, number_of: Callable) -> "Tape":
        """Return the tape with numbers for values, without anything of the recorded run."""
        def numbered(x):
            if type(x) is Slot:
                return Slot(number_of(x.value), x.memory)
            return tuple(map(numbered, x)) if type(x) is tuple else x

        if self.refusal:
            return replace(self, nodes=(), roots=(), memories=[])
        return replace(self, nodes=tuple([replace(n, saved=numbered(n.saved)) for n in self.nodes]), memories=[])


class SharedMemory(NamedTuple):
    """Memory that outlives a call, and what the tape saved of it. It is that of an input ("input", position), that of a result
    ("result", number), or the one in which a result lies ("whole", number).

    whole     the value of all of it at the end of the call; None if no tensor is all of it
    values    saved values in it
    """

    kind: str
    position: int
    results: frozenset
    rescued: bool
    whole: Value | None
    values: tuple


def shared_memories(recorder, tape, results, outputs) -> list:
    """Return for each memory of a tape a `SharedMemory`, or None if the memory is the run's own."""
    return [_shared_memory(recorder, memory, results, outputs) for memory in tape.memories]


def _shared_memory(recorder, memory, results, outputs) -> SharedMemory | None:
    cell, saved = memory.cell, tuple(memory.values)
    if recorder.inputs.is_from(cell, *OUTSIDE):
        is_lost = id(cell.root) in recorder.swaps.swapped
        return SharedMemory("input", cell.source, memory.results, False, None if is_lost else cell.value, saved)
    at = [i for i, (t, o) in enumerate(zip(results, outputs)) if o.source is None and recorder.link(t).cell is cell]
    if not at:
        return None
    whole = [i for i in at if (outputs[i].whole or outputs[i].value) is cell.value and outputs[i].part is None]
    found = whole[0] if whole else at[0]
    kind = "result" if outputs[found].whole is None else "whole"
    return SharedMemory(kind, found, memory.results, memory.rescued, cell.value if whole else None, saved)


def tape_of(recorder, results) -> Tape:
    """Return the tape of some results, down to the inputs."""
    return _Reader(recorder).read([t._node for t in results])


def _key(edge):
    return (edge.source, edge.index) if type(edge) is Output else edge


def _is_plain(x) -> bool:
    """Return whether an attribute of a ctx is data that does not change."""
    if isinstance(x, tuple):
        return all(map(_is_plain, x))
    return x is None or isinstance(x, (bool, int, float, complex, str, DType, Aval)) or is_symbol(x)


class _Reader:
    """One walk along the tape of a run that has just ended."""

    def __init__(self, recorder):
        stops = {position: edge for position, edge in recorder.inputs.histories.items() if edge is not None}
        self._recorder = recorder
        self._stops = {_key(edge): position for position, edge in stops.items()}
        self._ends = {edge.source if type(edge) is Output else edge for edge in stops.values()}
        self._memories: dict = {}           # by id of the storage: (number, Memory)
        self._refusal = ""

    def read(self, roots) -> Tape:
        results = self._reach(roots)
        nodes = sorted(results, key=lambda n: n.number)
        numbers = {n: i for i, n in enumerate(nodes)}
        made = tuple([self._node_of(n, numbers, results[n]) for n in nodes])
        memories = [m for _, m in self._memories.values()]
        for memory in memories:
            node = memory.savers[0]
            memory.rescued = len(memory.savers) == 1 and node in roots and type(node) is Node and "rescued" in node.op.traits
        return Tape(made, tuple([self._edge(edge, numbers) for edge in roots]), memories, self._refusal)

    def _reach(self, roots) -> dict:
        """Return {node: numbers of the results that lead to it}."""
        found: dict = {}
        stack = [(edge, frozenset((i,))) for i, edge in enumerate(roots)]
        while stack:
            edge, results = stack.pop()
            node = edge.source if type(edge) is Output else edge
            if node is None or type(node) is Leaf or node in self._ends or results <= found.get(node, frozenset()):
                continue
            found[node] = results = results | found.get(node, frozenset())
            stack += [(e, results) for e in node.edges]
        return found

    def _edge(self, edge, numbers):
        if edge is None:
            return None
        position = self._stops.get(_key(edge))
        if position is not None:
            return End(position)
        if type(edge) is Output and edge.source in numbers:
            return Inner(numbers[edge.source], edge.index)
        return Inner(numbers[edge], None) if edge in numbers else None

    def _node_of(self, node, numbers, results) -> TapeNode:
        memories = {id(storage): self._memory(storage, version, node, results) for storage, version in node.saved_memory}
        if node.pre_hooks or node.post_hooks:
            self._refusal = "a hook was registered inside of it"
        elif type(node) is FunctionNode:
            return self._function_of(node, numbers, results, memories)
        elif type(node) not in OWN or node.run is not None or type(node.saved) is not tuple:
            self._refusal = f"{node.label} is no operator of ingot's own"
        if self._refusal:
            return TapeNode(Node, None, {}, (), (), None, None, results)
        traced = node.traced or (None,) * len(node.saved)
        saved = tuple([self._saved(*pair, memories, node.guards) for pair in zip(node.saved, traced)])
        return TapeNode(type(node), node.op, node.params, tuple([self._edge(e, numbers) for e in node.edges]), saved,
                        node.outs, node.inexact_outs, results)

    def _function_of(self, node, numbers, results, memories) -> TapeNode:
        state = node.state()
        if state is None or not all(map(_is_plain, state[0].values())):
            self._refusal = f"{node.cls.__name__} keeps other things than numbers in its ctx, or tensors as attributes"
            state = {}, ()
        attributes, tensors = state
        saved = tuple([s and (self._saved(s.array, s.traced, memories, ((s.storage, s.version),)), self._edge(s.edge, numbers),
                              s.index) for s in tensors])
        return TapeNode(FunctionNode, node.cls, {"attributes": attributes, "inputs": node.inputs},
                        tuple([self._edge(e, numbers) for e in node.edges]), saved, node.outs, None, results)

    def _memory(self, storage, version, node, results) -> int | None:
        """Return the number of saved memory that the recorder knows and that still holds what was saved."""
        cell = storage.__dict__.get("cell")
        if cell is None or cell.recorder is not self._recorder or storage.was_overwritten(version):
            return None
        number, memory = self._memories.setdefault(id(storage), (len(self._memories), Memory(cell)))
        memory.results |= results
        memory.savers.append(node)
        return number

    def _saved(self, value, traced, memories, guards):
        if type(value) is tuple:
            return tuple([self._saved(*pair, memories, guards) for pair in zip(value, traced or (None,) * len(value))])
        if type(traced) is Saved:
            if isinstance(value, Aval):
                return traced.aval
            current = self._recorder.gradients.saved_value(traced, guards)
            memory = memories.get(id(traced.storage))
            if memory is not None:
                self._memories[id(traced.storage)][1].values[current] = None
            return Slot(current, memory)
        if hasattr(value, "strides"):
            self._refusal = "a saved value is no part of the recording"
        return traced if is_symbol(traced) else value
