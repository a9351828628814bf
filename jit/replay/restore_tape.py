"""Eager nodes of a replayed call, restored from its recording's tape for gradients of gradients.

Each node gets the operator's parameters of this call, the arrays that the replay saved, and edges to the call's inputs. So
derivatives of any order, vmap over them, and forward mode are eager's.
"""

from types import CellType, FunctionType
from typing import NamedTuple

from ...ir.graph.graph import Value
from ...ir.opdef.aval import Aval
from ...ir.ops.index.assign import run_chain
from ...ir.symbols.substitute import bound_values, has_symbols
from ...runtime.autograd.function import FunctionNode
from ...runtime.core.device_array import zeros_on_device_of
from ...runtime.core.node import ForbiddenNode, Output, hooks_of
from ...runtime.core.storage import Storage
from ...runtime.core.tensor import wrap
from ...runtime.state.structure import add_hook
from ..recorder.tape import End, KeptFunction, KeptItems, KeptNumber, KeptTensor, Slot


class SavedView(NamedTuple):
    """A saved value that is a view of another one, by number."""

    number: int
    chain: tuple


def reads_of_call(tape) -> bool:
    """Return whether hooks or attributes of a tape hold tensors or numbers of the call, which its node frees with the rest."""
    return any(type(part) in (KeptNumber, KeptTensor) for n in tape.nodes for part in _parts(_held_for_users(n)))


def values_for_users(tape) -> list:
    """Return the values of the forward that users may read at eager nodes, whether or not a rule reads them."""
    found = [part.value for n in tape.nodes
             for part in _parts((_held_for_users(n), n.saved if n.kind is FunctionNode else ())) if type(part) is Slot]
    return [v for v in found if type(v) is Value]


def _held_for_users(n):
    return n.hooks, n.attributes, n.params.get("attributes", {}) if n.kind is FunctionNode else {}


def _parts(x):
    """Yield the parts of nested tuples and dictionaries, and these themselves."""
    yield x
    for part in (x.values() if type(x) is dict else x) if isinstance(x, (tuple, dict)) else ():
        yield from _parts(part)


def restored(trace_node, arrays) -> tuple:
    """Return (nodes of the tape, edges of the results) for the node of a replay; `arrays` are its saved values by number, or
    None if all nodes are used up."""
    d = trace_node.differential
    restorer = _Restorer(trace_node, arrays, dict(zip(d.wanted, trace_node.ends)))
    nodes = [restorer.node(spec) for spec in d.tape.nodes]
    restorer.link_kept()
    return nodes, tuple([restorer.edge(e) for e in d.tape.roots])


class _Restorer:
    """One restoration; nodes are made from the oldest to the newest."""

    def __init__(self, trace_node, arrays, ends):
        self._of, self._arrays, self._ends = trace_node, arrays, ends
        self._made: list = []
        self._kept_tensors: list = []       # (tensor that a hook or ctx keeps, its edge, perhaps to a node that is made later)
        self._example = None if arrays is None else next(iter(arrays.values()), None)

    def edge(self, e):
        if e is None:
            return None
        if type(e) is End:
            return self._ends[e.position]
        node = self._made[e.number]
        return node if e.result is None else Output(node, e.result)

    def node(self, spec):
        own: list = []          # (its results among what it keeps, their index)
        node = self._function(spec, own) if spec.kind is FunctionNode else self._operator(spec)
        node.number = self._of.number - 1 + (len(self._made) + 1) / (len(self._of.differential.tape.nodes) + 1)
        for name, x in spec.attributes:
            setattr(node, name, self._kept(x, own))
        for which, hook in spec.hooks[0]:
            add_hook(hooks_of(node, "pre_hooks"), (which, self._kept(hook, own)))
        for hook in spec.hooks[1]:
            add_hook(hooks_of(node, "post_hooks"), self._kept(hook, own))
        for t, index in own:
            t._node = node if index < 0 else Output(node, index)
        if spec.use in self._of.freed:
            node.release()
        self._made.append(node)
        return node

    def _function(self, spec, own):
        saved = []
        for s in spec.saved:
            guards: list = []
            saved.append(s and (self._saved(s[0], guards), self.edge(s[1]), s[2], guards[0] if guards else None))
        attributes = {name: self._kept(x, own) for name, x in spec.params["attributes"].items()}
        inputs, outs = (tuple(map(self._plain, avals)) for avals in (spec.params["inputs"], spec.outs))
        return FunctionNode.like(spec.op, tuple(map(self.edge, spec.edges)), inputs, outs, attributes, saved)

    def _kept(self, x, own):
        """Return an attribute of a ctx, or a hook; results of the node itself are added to `own`, with their index."""
        if type(x) is KeptNumber:
            return self._saved(x.slot, []).item()
        if type(x) is KeptItems:
            return x.kind([self._kept(part, own) for part in x.items])
        if type(x) is KeptFunction:
            cells = tuple([CellType(self._kept(part, own)) for part in x.cells])
            like, defaults = x.like, self._kept(x.defaults, own)
            return FunctionType(like.__code__, like.__globals__, like.__name__, defaults, cells)
        if type(x) is not KeptTensor:
            return self._plain(x)
        if x.result is not None:
            return self._of.kept[x.result]
        t = wrap(self._saved(x.slot, []))
        if x.own is None:
            self._kept_tensors.append((t, x.edge))
        else:
            own.append((t, x.own))
        return t

    def link_kept(self):
        """Give the tensors that hooks and ctxs keep their histories, once all nodes are made."""
        for t, edge in self._kept_tensors:
            t._node = self.edge(edge)

    def _operator(self, spec):
        guards: list = []
        saved = self._saved(spec.saved, guards)
        if spec.is_used_up and not guards:      # by its guards, a node knows that it is to be freed
            guards.append(Storage().guard())
        params = {name: self._plain(x) for name, x in spec.params.items()}
        edges = tuple(map(self.edge, spec.edges))
        if spec.error:
            node = ForbiddenNode(spec.kind(spec.op, params, (), (), ()).label, edges, spec.error)
        else:
            node = spec.kind(spec.op, params, edges, saved, tuple(guards))
        if spec.outs is not None:
            node.outs, node.inexact_outs = tuple(map(self._plain, spec.outs)), spec.inexact_outs
        return node

    def _saved(self, x, guards):
        if type(x) is tuple:
            return tuple([self._saved(part, guards) for part in x])
        if type(x) is not Slot:
            return self._plain(x)
        if self._arrays is None:
            return None
        if isinstance(x.value, Aval):       # no rule of a wanted gradient reads it
            aval = self._plain(x.value)
            return zeros_on_device_of(self._example, aval.shape, aval.dtype.np)
        guard = None if x.memory is None else self._of.guards[x.memory]
        if guard is not None and guard not in guards:
            guards.append(guard)
        if type(x.value) is SavedView:
            return run_chain(wrap(self._arrays[x.value.number]), self._plain(x.value.chain))._a
        return self._arrays[x.value]

    def _plain(self, x):
        """Return parameters and avals with the values of this call for symbolic sizes."""
        if isinstance(x, Aval):
            return Aval(bound_values(x.shape, self._of.symbols), x.dtype) if x.is_symbolic else x
        if type(x) is tuple and any(isinstance(part, Aval) for part in x):
            return tuple(map(self._plain, x))
        return bound_values(x, self._of.symbols) if has_symbols(x) else x
