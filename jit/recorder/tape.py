"""The tape behind a recording's results, as data.

Eager nodes save memory that a later write may change, and can be differentiated again. A replay has one node for all of them
(`replay/differentiate.py`). The tape tells that node which memory eager code would have saved, and lets it restore the eager
nodes where gradients of gradients are asked for.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from types import FunctionType
from typing import Any, NamedTuple

from ...ir.dtype import DType
from ...ir.errors import AutogradError
from ...ir.graph.graph import Value
from ...ir.opdef.aval import Aval
from ...ir.ops.index.assign import run_chain
from ...ir.symbols.symbolic import is_symbol
from ...runtime.autograd.function import FunctionNode
from ...runtime.core.device import Device
from ...runtime.core.node import ComplexNode, Leaf, Node, Output, label_of, source_of, user_attributes
from ...runtime.core.tensor import Size, Tensor
from ...runtime.nn.base.parameter import Parameter
from ..bytecode.user_code import is_global
from ..proxies.lazy_scalars import LazyScalar
from .backward import key_of
from .inputs import OUTSIDE
from .recording import Saved, base_of

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


class KeptTensor(NamedTuple):
    """A tensor among the attributes of a ctx: its value, and its edge. A result of the node itself has its index instead. One
    that the call returns is that very tensor, by its number among the results with a history."""

    slot: Slot
    edge: Any
    own: int | None
    result: int | None


class KeptNumber(NamedTuple):
    """A lazy scalar among them: the value of its tensor."""

    slot: Slot


class KeptItems(NamedTuple):
    """A container among them that the function made: its class and items."""

    kind: type
    items: tuple


class KeptFunction(NamedTuple):
    """A Python function that the function made: one like it, its defaults, and what its cells hold."""

    like: Any
    defaults: Any
    cells: tuple


def input_end(position: int) -> int:
    """Return the bit of `Use.ends` that stands for an input."""
    return 1 << 2 * position


def result_end(number: int) -> int:
    """Return the bit of `Use.ends` that stands for a result from which others are computed."""
    return 2 << 2 * number


class Use(NamedTuple):
    """The numbers of the results that lead to a node, and the inputs and results to which it leads, as bits: large networks
    have thousands of nodes and inputs."""

    results: frozenset
    ends: int

    def is_in(self, going, ends) -> bool:
        """Return whether a backward runs the node that goes from some results to some ends (None: to all)."""
        return not self.results.isdisjoint(going) and (ends is None or self.ends & ends != 0)


@dataclass(frozen=True)
class TapeNode:
    """An eager node without its arrays.

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
    use: Use
    hooks: tuple = ((), ())         # before its rule, as (which result, hook), and behind it
    attributes: tuple = ()          # what users have set on it, as (name, value)
    is_used_up: bool = False        # whether a backward frees it
    error: str = ""                 # the message with which its rule raises, as the function has overwritten what it reads


@dataclass
class Memory:
    """Memory of the recorded run that the tape saved. A later write to it makes the backward of `results` an error. Memory that
    only hooks and user functions read has no such results: they read what it holds by then.

    cell      of the memory, as the recorder knows it
    uses      the `Use` of each node that saved it
    savers    nodes that saved it
    values    saved values that lie in it, each with the same value as a view of the memory's current one
    rescued   whether a write to the result copies the saved values first, since its own node alone, or that of its base, saved
              them (trait "rescued")
    """

    cell: Any
    results: frozenset = frozenset()
    uses: set = field(default_factory=set)
    savers: list = field(default_factory=list)
    values: dict = field(default_factory=dict)
    rescued: bool = False


@dataclass(frozen=True)
class Tape:
    """Eager nodes behind some results.

    nodes     oldest first
    roots     edges of the results
    memories  that the nodes saved
    used_up   the `Use` of each node that a backward uses up
    reading   numbers of all results whose backward reads saved values
    ends      positions of the inputs to which the results lead
    labels    names of the eager nodes of the results
    kept      numbers of the results that hooks or attributes of a ctx hold
    refusal   why no nodes can be restored, if so
    """

    nodes: tuple
    roots: tuple
    memories: list
    used_up: frozenset
    reading: frozenset
    ends: frozenset
    labels: tuple
    kept: frozenset = frozenset()
    refusal: str = ""

    def over(self, number_of: Callable) -> "Tape":
        """Return the tape with numbers for values, without anything of the recorded run."""
        def numbered(x):
            if type(x) is Slot:
                return Slot(number_of(x.value), x.memory)
            if isinstance(x, (KeptTensor, KeptNumber, KeptItems, KeptFunction)):
                return type(x)(*map(numbered, x))
            if type(x) is dict:
                return {k: numbered(v) for k, v in x.items()}
            return tuple(map(numbered, x)) if type(x) is tuple else x

        if self.refusal:
            return replace(self, nodes=(), roots=(), memories=[])
        nodes = [replace(n, saved=numbered(n.saved), params=numbered(n.params) if n.kind is FunctionNode else n.params,
                         hooks=numbered(n.hooks), attributes=numbered(n.attributes)) for n in self.nodes]
        return replace(self, nodes=tuple(nodes), memories=[])


class SharedMemory(NamedTuple):
    """Memory that outlives a call, and what the tape saved of it. It is that of an input ("input", position), the other memory
    that an input gets ("rebound", position), that of a result ("result", number), or the one in which a result lies ("whole",
    number).

    whole     the value of all of it at the end of the call; None if no tensor is all of it
    values    saved values in it, each with the same value as a view of `whole`
    uses      the `Use` of each node that saved it
    is_apart  whether nodes saved some of these values in other memory, too: a replay keeps copies of them
    """

    kind: str
    position: int
    results: frozenset
    rescued: bool
    whole: Value | None
    values: dict
    uses: frozenset = frozenset()
    is_apart: bool = False

    def is_read(self, going, ends) -> bool:
        """Return whether a backward from some results to some ends (None: to all) may read it."""
        return not self.results.isdisjoint(going) and (not self.uses or any(use.is_in(going, ends) for use in self.uses))


def shared_memories(recorder, tape, results, outputs, nodes) -> list:
    """Return for each memory of a tape a `SharedMemory`, or None if the memory is the run's own. Memory that no eager
    node saved is left out unless some of `nodes`, the backward's, read it. It comes last, so the others keep their numbers."""
    read, places = {x for n in nodes for x in n.inputs if type(x) is Value}, {}
    stores = [_store_of(recorder, memory) for memory in tape.memories]
    for slot in _slots_in([n.saved for n in tape.nodes]):
        places.setdefault(slot.value, set()).add(None if slot.memory is None else stores[slot.memory])
    found = []
    for memory, store in zip(tape.memories, stores):
        if memory.savers or not read.isdisjoint(memory.values):
            shared = _shared_memory(recorder, memory, results, outputs)
            if shared is not None:
                shared = shared._replace(uses=frozenset(memory.uses))
            if shared is not None and any(places.get(v, set()) - {store} for v in (*memory.values, shared.whole)):
                results_of = memory.results or frozenset(range(len(tape.roots)))        # hooks of any may read it
                shared = shared._replace(results=results_of, is_apart=True)
            found.append(shared)
    return found


def _store_of(recorder, memory) -> int:
    """Return the identity of a memory: inputs over one storage, with a cell each, lie in one memory."""
    cell = memory.cell
    return id(recorder.swaps.storage_before(cell.root) if recorder.inputs.is_from(cell, *OUTSIDE) else cell)


def _slots_in(saved) -> list:
    """Return all slots in nested tuples."""
    return [slot for x in saved for slot in ((x,) if type(x) is Slot else _slots_in(x) if type(x) is tuple else ())]


def _shared_memory(recorder, memory, results, outputs) -> SharedMemory | None:
    cell, saved = memory.cell, memory.values
    if recorder.inputs.is_from(cell, *OUTSIDE):
        is_lost = id(cell.root) in recorder.swaps.swapped
        return SharedMemory("input", cell.source, memory.results, False, None if is_lost else cell.value, saved)
    at = [i for i, (t, o) in enumerate(zip(results, outputs)) if o.source is None and recorder.link(t).cell is cell]
    if not at:
        for t, position, _ in recorder.swaps.swapped.values():
            link = recorder.link(t)
            if link.cell is cell:
                return SharedMemory("rebound", position, memory.results, False, None if link.chain else cell.value, saved)
        return None
    whole = [i for i in at if (outputs[i].whole or outputs[i].value) is cell.value and outputs[i].part is None]
    found = whole[0] if whole else at[0]
    kind = "result" if outputs[found].whole is None else "whole"
    return SharedMemory(kind, found, memory.results, memory.rescued, cell.value if whole else None, saved)


def _in_memory(value, link) -> Value:
    """Return the current value of a tensor as a view of that of its memory: a write to a view leaves it a value of its own."""
    cell, chain = link.place
    whole, v = cell.value, value
    while v is not whole and v.node is not None and v.node.op.is_view:
        v = v.node.inputs[0]
    return value if v is whole else run_chain(whole, chain)


def tape_of(recorder, results) -> Tape:
    """Return the tape of some results, down to the inputs."""
    return _Reader(recorder, results).read([t._node for t in results])


_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(...), slice, Size, DType, Device, Aval)


class _Reader:
    """One walk along the tape of a run that has just ended."""

    def __init__(self, recorder, results):
        self._results = {id(t): i for i, t in enumerate(results)}
        self._owners = [base_of(t)._node for t in results]
        self._kept_results: set = set()
        self._holders: set = set()          # ids of containers and functions around what is being kept
        stops = recorder.inputs.ends()
        self._recorder = recorder
        self._stops = {key_of(edge): position for position, edge in stops.items()}
        self._ends = {edge.source if type(edge) is Output else edge for edge in stops.values()}
        self._memories: dict = {}           # by id of the storage, or of one of several cells there: (number, Memory)
        self._uses: dict = {}               # node -> its `Use`
        self._refusal = ""

    def read(self, roots) -> Tape:
        results = self._reach(roots)
        nodes = sorted(results, key=lambda n: n.number)
        numbers = {n: i for i, n in enumerate(nodes)}
        self._note_uses(nodes, results, roots)
        made = tuple([self._node_of(n, numbers) for n in nodes])
        if any(n.pre_hooks or n.post_hooks or isinstance(n, FunctionNode) for n in nodes):
            self._keep_all_tensors()
        memories = [m for _, m in self._memories.values()]
        for memory in memories:
            node = memory.savers[0] if len(memory.savers) == 1 else None
            memory.rescued = node in self._owners and type(node) is Node and "rescued" in node.op.traits
        used_up = frozenset([self._uses[n] for n in nodes if n.is_used_up])
        reading = frozenset().union(*[use.results for use in used_up],
                                    *[results[n] for n in nodes if n.pre_hooks or n.post_hooks])
        ends = frozenset([self._stops[key] for key in map(key_of, [*roots, *[e for n in nodes for e in n.edges]])
                          if key in self._stops])
        return Tape(made, tuple([self._edge(edge, numbers) for edge in roots]), memories, used_up, reading, ends,
                    tuple([label_of(edge) for edge in roots]), frozenset(self._kept_results), self._refusal)

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

    def _note_uses(self, nodes, results, roots):
        """Note what each node leads to, the oldest first."""
        bits: dict = {}
        for i, key in enumerate(map(key_of, roots)):
            bits[key] = bits.get(key, 0) | result_end(i)
        bits.update({key: input_end(position) for key, position in self._stops.items()})
        for node in nodes:
            ends = 0
            for edge in [e for e in node.edges if e is not None]:
                key = key_of(edge)
                inner = None if key in self._stops else self._uses.get(source_of(edge)[0])
                ends |= bits.get(key, 0) | (0 if inner is None else inner.ends)
            self._uses[node] = Use(results[node], ends)

    def _edge(self, edge, numbers):
        if edge is None:
            return None
        position = self._stops.get(key_of(edge))
        if position is not None:
            return End(position)
        if type(edge) is Output and edge.source in numbers:
            return Inner(numbers[edge.source], edge.index)
        return Inner(numbers[edge], None) if edge in numbers else None

    def _node_of(self, node, numbers) -> TapeNode:
        error = ""
        if type(node) in OWN and type(node.saved) is tuple:
            try:
                node.values()
            except AutogradError as e:      # (the recorded backward raises, too)
                error = str(e)
        memories = {id(storage): self._memory(storage, version, node) for storage, version in node.saved_memory}
        hooks = self._hooks_of(node, numbers)
        if isinstance(node, FunctionNode):
            return self._function_of(node, numbers, memories, hooks)
        kind: Any = type(node) if type(node) in OWN else type(node).__base__       # (once shown, it has a class of its name)
        if kind not in OWN or node.run is not None or type(node.saved) is not tuple:
            self._refusal = f"{node.label} is no operator of ingot's own"
        attributes = tuple([(name, self._kept(x, "the grad_fn of a result", node, numbers))
                            for name, x in user_attributes(node).items()])
        if self._refusal:
            return TapeNode(Node, None, {}, (), (), None, None, self._uses[node])
        traced = node.traced or (None,) * len(node.saved)
        saved = tuple([self._saved(*pair, memories, node.guards) for pair in zip(node.saved, traced)])
        return TapeNode(kind, node.op, node.params, tuple([self._edge(e, numbers) for e in node.edges]), saved,
                        node.outs, node.inexact_outs, self._uses[node], hooks, attributes, node.is_used_up, error)

    def _hooks_of(self, node, numbers) -> tuple:
        """Return the hooks of a node, those of `retain_grad()` aside, which only note what arrives."""
        before = [hook for hook in (node.pre_hooks or {}).values() if hook[0] != "retain"]
        owner = "a hook that was registered inside of it"
        return (tuple([(which, self._kept(hook, owner, node, numbers)) for which, hook in before]),
                tuple([self._kept(hook, owner, node, numbers) for hook in (node.post_hooks or {}).values()]))

    def _function_of(self, node, numbers, memories, hooks) -> TapeNode:
        attributes, tensors = node.state() or ({}, ())
        if node.state() is None:
            self._refusal = f"{node.cls.__name__} takes sparse tensors, or saved tensors under hooks"
        if any(s and s.storage.was_overwritten(s.version) for s in tensors):
            self._refusal = f"what {node.cls.__name__} saved was overwritten"
        attributes = {name: self._kept(x, f"attribute {name} of the ctx of {node.cls.__name__}", node, numbers)
                      for name, x in attributes.items()}
        saved = tuple([s and (self._saved(s.array, s.traced, memories, ((s.storage, s.version),)), self._edge(s.edge, numbers),
                              s.index) for s in tensors])
        return TapeNode(FunctionNode, node.cls, {"attributes": attributes, "inputs": node.inputs},
                        tuple([self._edge(e, numbers) for e in node.edges]), saved, node.outs, None, self._uses[node],
                        hooks)

    def _kept(self, x, owner, node, numbers):
        """Return an attribute of a ctx, or a hook, as data from which each call's own is made."""
        r, kind = self._recorder, type(x)
        known = r.tracker.known
        if kind is LazyScalar:
            return KeptNumber(Slot(r.value_of(x.tensor), None))
        if kind in (Tensor, Parameter) and x.__dict__.get("_traced") is not None and r.link(x).recorder is r:
            is_own = x._node is not None and source_of(x._node)[0] is node
            index = (x._node.index if type(x._node) is Output else -1) if is_own else None
            result = self._results.get(id(x))
            if result is not None:
                self._kept_results.add(result)
            return KeptTensor(Slot(r.value_of(x), None), None if is_own else self._edge(x._node, numbers), index, result)
        if kind in _PLAIN or is_symbol(x) or is_global(x):
            return x
        if known is not None and (id(x) in known.outside or id(x) in known.objects or id(x) in known.modules):
            return x
        is_own = kind in (tuple, list, set, frozenset, dict) and (known is None or not known.was_met(x))
        is_own_function = kind is FunctionType and not x.__kwdefaults__ and not x.__dict__
        if (is_own or is_own_function) and id(x) not in self._holders:
            self._holders.add(id(x))
            try:
                if is_own:
                    items = x.items() if kind is dict else x
                    return KeptItems(kind, tuple([self._kept(part, owner, node, numbers) for part in items]))
                cells = [c.cell_contents for c in x.__closure__ or ()]
                return KeptFunction(x, self._kept(x.__defaults__, owner, node, numbers),
                                    tuple([self._kept(part, owner, node, numbers) for part in cells]))
            finally:
                self._holders.discard(id(x))
        self._refusal = f"{owner} holds a {kind.__name__} that calls could not make again"
        return None

    def _memory(self, storage, version, node) -> int | None:
        """Return the number of saved memory that the recorder knows and that still holds what was saved."""
        cell = storage.__dict__.get("cell")
        if cell is None or cell.recorder is not self._recorder or storage.was_overwritten(version):
            return None
        number, memory = self._memories.setdefault(id(storage), (len(self._memories), Memory(cell)))
        memory.results |= self._uses[node].results
        memory.uses.add(self._uses[node])
        memory.savers.append(node)
        return number

    def _keep_all_tensors(self):
        """Add the memory of all tensors that still live, since user code in a backward may read them."""
        r = self._recorder
        for t, link in r.links.live():
            if link.cell.value is not None:
                is_whole = t._storage.__dict__.get("cell") is link.cell     # not one of several inputs over it
                key = id(t._storage if is_whole else link.cell)
                _, memory = self._memories.setdefault(key, (len(self._memories), Memory(link.cell)))
                memory.values[r.value_of(t)] = _in_memory(r.value_of(t), link)

    def _saved(self, value, traced, memories, guards):
        if type(value) is tuple:
            return tuple([self._saved(*pair, memories, guards) for pair in zip(value, traced or (None,) * len(value))])
        if type(traced) is Saved:
            if isinstance(value, Aval):
                return traced.aval
            current = self._recorder.gradients.saved_value(traced, guards)
            memory = memories.get(id(traced.storage))
            if memory is not None:
                self._memories[id(traced.storage)][1].values[current] = _in_memory(current, traced.link)
            return Slot(current, memory)
        if hasattr(value, "strides"):
            self._refusal = "a saved value is no part of the recording"
        return traced if is_symbol(traced) else value
