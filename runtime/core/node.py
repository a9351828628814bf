"""Nodes of the tape: which operation made a tensor, from what, and what its gradient rule needs.

Each result holds the `Node` that made it, and a node holds the nodes of its arguments (its edges), so a dead branch frees
itself. A `Leaf` ends a path and collects a gradient; an `Output` stands for one of several results.
"""

from itertools import count
from math import inf
from typing import Any
from weakref import ref

import numpy as np

from ...ir.dtype import BY_NP, from_numpy, of
from ...ir.errors import AutogradError, ShapeError
from ...ir.opdef.aval import Aval
from ...ir.ops.core.complex_numbers import conj
from ...ir.ops.core.elementwise import cast, copy
from ...ir.ops.core.shape import expand
from ...ir.source_location import place_text
from ...ir.symbols.symbolic import hint
from ..state.mode import tls
from ..state.structure import HookTable, add_hook
from .backend import HOST
from .device_array import DeviceArray, may_share_memory

LARGE = 1 << 15                  # elements from which the operations of a gradient rule are worth a kernel
CALL_THRESHOLD = 128                      # calls of a rule on small arrays that take about as long as compiling it
TRACE_LINES, CHECK_NAN = 1, 2    # what anomaly mode does: note the line of each operation, and stop at the first nan


class Freed:
    """Placeholder for saved values that a backward has used up."""

    def unpack(self, node):
        raise AutogradError(f"backward went through {node.op.title} a second time, but what it had saved is freed after the "
                            "first; call the first backward with retain_graph=True")


FREED = Freed()
new_number = count().__next__       # for a node: one higher than those before


_FIRST = (0,)


def any_large(values) -> bool:
    """Return whether a value that a rule reads is a large array."""
    for a in values:        # noqa: SIM110  (quicker)
        if a.__class__ is np.ndarray and a.size >= LARGE:
            return True
    return False


class PackedValues:
    """Saved values in the form that the user's pack hook returned."""

    def __init__(self, values, pack, unpack):
        self.values = [(True, pack(v)) if hasattr(v, "_a") else (False, v) for v in values]
        self.unpack_one = unpack

    def unpack(self, node):
        return tuple(self.unpack_one(v)._a if packed else v for packed, v in self.values)


class Node:
    """One operation on the tape.

    edges    for each argument the Node, Output or Leaf that its gradient goes to, or None
    saved    for the output and each argument what the rule reads: an array, an Aval, a number or None
    guards   (storage, version) of every saved array
    number   higher than those of all nodes before: backward takes the newest ready node
    """

    __slots__ = ("__dict__", "__weakref__", "edges", "guards", "number", "op", "params", "saved")

    run: Any = None             # of nodes without rules: run(engine, gradients of the results)
    looks_inside: Any = None    # of nodes whose results depend on each other: shows gradients to hooks
    expand: Any = None          # of nodes that stand for many: puts these behind it
    outs: Any = None            # avals of several results
    inexact_outs: Any = None    # numbers of the results that can carry gradients
    pre_hooks: Any = None
    post_hooks: Any = None
    traced: Any = None   # the graph values of what is saved, under a recorder
    line: Any = None     # where it was recorded, under anomaly mode

    def __init__(self, op, params, edges, saved, guards):
        self.op = op
        self.params = params
        self.edges = edges
        self.saved = saved
        self.guards = guards
        self.number = new_number()

    @property
    def label(self) -> str:
        return self.op.name.title().replace("_", "") + "Backward0"

    def name(self) -> str:
        return self.label

    def label_at(self, index) -> str:
        """Return the name to print for one of the results. `index` is ignored: an operator has one name."""
        return self.label

    @property
    def metadata(self) -> dict:
        """A dict for user data."""
        notice(self)
        return self.__dict__.setdefault("_metadata", {})

    def _sequence_nr(self) -> int:
        return self.number

    @property
    def next_functions(self):
        """The edges as (node, output index) pairs."""
        notice(self)
        return next_functions(self.edges)

    @property
    def saved_memory(self):
        """(storage, version) of everything saved."""
        return self.guards

    def values(self) -> tuple:
        """Return what the rules read; raise if it is gone or was overwritten."""
        for storage, version in self.guards:
            if storage.version != version:
                self.check(storage, version)
        saved = self.saved
        return saved if type(saved) is tuple else saved.unpack(self)

    def check(self, storage, version):
        """Raise if a saved array was overwritten; renew what was saved of leaves that have other data now."""
        if storage.was_overwritten(version):
            raise overwritten_error(self, storage, version)
        if storage.data_swaps is not None:
            renew(self, storage)

    @property
    def is_used_up(self) -> bool:
        """Whether a backward through the node frees what it saved."""
        return bool(self.guards) or type(self.saved) is not tuple

    def release(self):
        """Free saved values; a node without any can be used again."""
        if self.is_used_up:
            self.saved = FREED
            self.guards = ()

    def apply(self, g, pending):
        """Return all arguments' gradients on plain arrays; a sum may stand for two to one edge with nothing else `pending`."""
        for storage, version in self.guards:
            if storage.version != version:
                self.check(storage, version)
        values = self.saved
        vjp = self.op.vjp
        if type(vjp) is not tuple:
            return self.joint(g, values, tuple([e is not None for e in self.edges]))
        params, grads = self.params, []
        op = self.op
        far = g.__class__ is DeviceArray
        if op.is_pointwise if far else g.__class__ is np.ndarray and (
                op.has_composed_rules or (op.is_pointwise and g.size >= LARGE)):
            found = self.compiled(g, values, pending, far)
            if found is not None:
                return found
        for e, rule in zip(self.edges, vjp):        # quicker than a list in one expression, which is a call of its own
            grads.append(None if e is None or rule is None else rule(g, *values, **params))
        return grads

    def joint(self, g, values, needs):
        """Return the gradients of a joint rule, by one compiled graph where such calls are frequent or large."""
        one = next(x for x in g if x is not None) if g.__class__ is tuple else g
        far = g.__class__ is DeviceArray
        if "rule_as_one" in self.op.traits and (far or one.__class__ is np.ndarray):
            arguments = (g, *values)
            if far:
                made = g.backend.gradients(self.op, needs, arguments, self.params)
            else:
                calls = 1 if one.size >= LARGE else CALL_THRESHOLD
                made = HOST.joint_rule(self.op, needs, arguments, self.params, calls)
            if made is not None:
                found = iter(made)
                return [next(found) if need else None for need in needs]
        return self.op.vjp(g, *values, needs=needs, **self.params)

    def compiled(self, g, values, pending, far):
        """Return the gradients of all rules by one compiled graph; None if there is none, or small calls are rare."""
        goals, arguments = self.goals(pending), (g, *values)
        if far:
            made = g.backend.gradients(self.op, goals, arguments, self.params)
        else:
            calls = CALL_THRESHOLD if g.size < LARGE and not any_large(values) else 1
            run = HOST.rules_of(self.op, goals).find(arguments, self.params, calls)
            made = None if run is None else run(arguments)
        if made is None or len(goals) == 1:
            return None if made is None else list(made)
        found, grads = iter(made), []
        for i, goal in enumerate(goals):
            grads.append(next(found) if goal == i else None)
        return grads

    def goals(self, pending) -> tuple:
        """Return, by argument, the first one whose gradient goes to the same edge and may be added; None if it needs none."""
        edges, vjp = self.edges, self.op.vjp
        if len(edges) == 1 and vjp[0] is not None:
            return _FIRST
        first: dict = {}        # by edges: the first argument whose gradient goes there
        goals: list = []
        for i, e in enumerate(edges):
            if e is None or vjp[i] is None:
                goals.append(None)
            else:
                goals.append(i if type(e) is Output or e in pending else first.setdefault(e, i))
        return tuple(goals)

    def pull(self, g, values):
        """Run the gradient rules on `values` (the output, then the arguments)."""
        vjp = self.op.vjp
        if type(vjp) is tuple:
            return [None if e is None or rule is None else rule(g, *values, **self.params)
                    for e, rule in zip(self.edges, vjp)]
        return vjp(g, *values, needs=tuple([e is not None for e in self.edges]), **self.params)

    def register_hook(self, hook):
        """Call hook(grad_inputs, grad_outputs) after this node ran; a result replaces grad_inputs."""
        if self.post_hooks is None:
            self.post_hooks = {}
        return add_hook(self.post_hooks, hook)

    def register_prehook(self, hook):
        """Call hook(grad_outputs) before this node runs; a result replaces grad_outputs."""
        if self.pre_hooks is None:
            self.pre_hooks = {}
        return add_hook(self.pre_hooks, ("node", hook))

    def __repr__(self):
        return f"<{self.label}>"


def notice(node):
    """Tell a recorder that edges or attributes of a node are about to be read."""
    recorder = tls.m.recorder
    if recorder is not None:
        recorder.gradients.node_read(node)


def user_attributes(node) -> dict:
    """Return what users have set on a node, its metadata among that."""
    return {name: value for name, value in node.__dict__.items()
            if not hasattr(type(node), name) and (name != "_metadata" or value)}


def next_functions(edges) -> tuple:
    """Return edges for users: (node, number of the result), or (None, 0) where no gradient goes."""
    return tuple(map(shown_edge, edges))


def shown_edge(edge) -> tuple:
    """Return (node, number of the result) of an edge for users. A node that stands for many gives the one of this result."""
    node, index = source_of(edge)
    while isinstance(node, SettledNode):
        node, index = source_of(node.edges[0])
    if node is not None and node.expand is not None:
        node, index = source_of(node.own_edge(index))
    return shown(node), index


def settle_view(view, only_shown=False):
    """Give a view that a replay wrote through its base the eager node of its history, if other results were computed from it:
    their gradients arrive there. A write gives the view nodes of its own, from its base on. If the eager nodes cannot be
    restored, raise, unless the node is only to be shown."""
    base = view._base
    if base is None or base._node is None or type(view._node) is Leaf:
        return
    whole, index = source_of(base._node)
    restored = whole.restored_behind(index, only_shown) if whole.expand is not None else None
    if not restored:
        return
    steps, edge = [], view._node
    while edge is not base._node and all(source_of(edge)[0] is not n for n in restored):
        node, _ = source_of(edge)
        if not isinstance(node, SettledNode):
            if not isinstance(node, Node) or node.op is None or not node.op.is_view or len(node.edges) != 1:
                return
            steps.append(node)
        edge = node.edges[0]
    if not steps:
        return
    here = source_of(whole.edges[index] if edge is base._node else edge)
    for step in reversed(steps):
        found = {id(n): n for n in restored if n.op is step.op and n.params == step.params and source_of(n.edges[0]) == here}
        if len(found) != 1:
            return
        here = next(iter(found.values())), 0
    before, view._node = view._node, here[0]
    before.__class__ = SettledNode      # what used the view so far leads to it
    before.op, before.params, before.edges, before.saved = copy, {}, (view._node,), (None, view.aval)


def shown(node):
    """Return a node for users: its class has the node's name (`type(t.grad_fn).__name__`)."""
    if node is not None:
        kind = type(node)
        if kind.__name__ != node.label:
            found = _shown.get((kind, node.label))
            if found is None:
                found = _shown[kind, node.label] = type(node.label, (kind,), {"__slots__": (), "__module__": __name__})
            node.__class__ = found
    return node


_shown: dict = {}       # such classes, by what they are of and by name


class SettledNode(Node):
    """The former node of a view that has its eager node by now: it leads there."""

    __slots__ = ()


class ComplexNode(Node):
    """The node of an operation with a complex result: rules give f'(z) g, and the gradient of z is conj(f'(z)) g."""

    __slots__ = ()

    def pull(self, g, values):
        return [_conjugated(x) for x in super().pull(_conjugated(g), values)]


class Named:
    """A stand-in for an operator, or a node that is gone, in error messages."""

    line = None

    def __init__(self, name):
        self.name = self.title = name

    op = property(lambda self: self)


class ForbiddenNode(Node):
    """A history that backward must not go through, with its error message."""

    def __init__(self, label, edges, message):
        super().__init__(Named(label), {"message": message}, edges, (), ())

    label = property(lambda self: self.op.name)

    def run(self, engine, slots):
        raise AutogradError(self.params["message"])


class FormerKind(Node):
    """The history of a tensor that got data of another shape or dtype: gradients have these, the node before it has the former
    ones."""

    def __init__(self, edge, kind):
        super().__init__(Named(label_of(edge)), {}, (edge,), (), ())
        self.kind = kind            # shape and dtype of the former data

    label = property(lambda self: self.op.name)

    @property
    def next_functions(self):
        return source_of(self.edges[0])[0].next_functions

    def run(self, engine, g):
        """Return a gradient in the former dtype; raise if the former shape was another one."""
        shape, dtype = self.kind
        if tuple(g.shape) != shape:
            raise ShapeError(f"a gradient of shape {list(g.shape)} goes back to {self.label}, whose result had shape "
                             f"{list(shape)}: the tensor got other data afterwards; make a new one instead")
        return [g if of(g) is dtype else engine.as_value(cast(engine.as_tensor(g), dtype=dtype))]


def history_over(edge, before, after):
    """Return the history of a tensor whose array `before` is replaced by another one. The first one's kind is remembered."""
    if edge is None or type(edge) is Leaf:
        return edge
    kind = before.shape, of(before)
    if type(edge) is FormerKind:
        kind, edge = edge.kind, edge.edges[0]
    return edge if kind == (after.shape, of(after)) else FormerKind(edge, kind)


def _conjugated(g):
    if type(g) is tuple:
        return tuple([_conjugated(x) for x in g])
    return conj(g) if g is not None and of(g).is_complex else g


class Output:
    """Edge to one of several results of a node."""

    __slots__ = ("__weakref__", "index", "source")

    def __init__(self, source, index):
        self.source = source
        self.index = index


class Leaf:
    """The end of a path: a tensor that requires a gradient and was not computed."""

    __slots__ = ("__weakref__", "done", "grad", "hooks", "of", "post_hooks", "pre_hooks")
    label = "AccumulateGrad"
    expand = None
    next_functions = ()
    number = inf            # gradients are accumulated as soon as all have arrived

    def __init__(self, tensor):
        self.grad = None
        self.of = ref(tensor)
        self.done = False         # whether a function transform made it, and is done with it
        self.hooks = None         # replace the gradient before it is accumulated
        self.pre_hooks = None     # the same, behind all of these, and only where it is accumulated
        self.post_hooks = None    # run after accumulation: (whether behind all others, reference to the tensor, hook of it)

    def name(self) -> str:
        return self.label

    @property
    def variable(self):
        """The tensor that collects the gradient."""
        return self.of()

    def hook_numbers(self) -> tuple:
        """Return the numbers of all hooks, which no other hook ever gets; empty without any."""
        tables = (self.hooks, self.pre_hooks, self.post_hooks)
        return tuple([table.numbers() if table else () for table in tables]) if any(tables) else ()

    def all_hooks(self) -> list:
        before = [*(self.hooks or {}).values(), *(self.pre_hooks or {}).values()]
        return [*before, *[hook for _, _, hook in (self.post_hooks or {}).values()]]

    def __repr__(self):
        return "<AccumulateGrad>"


Leaf.__name__ = Leaf.label      # what people see of its class


def overwritten_error(node, storage, version) -> AutogradError:
    """Return the error for a saved value that was written in place."""
    writer = storage.writer
    by = f"by {writer[0]} at {place_text(writer[1:])}" if writer else "in place"
    made = f" (recorded at {place_text(node.line)})" if node.line else ""
    return AutogradError(f"{node.op.title} saved a tensor for its gradient{made}, and it was then overwritten {by}: it is at "
                         f"version {storage.version}, expected {version}. Use the out-of-place form there, or clone() before "
                         "writing.")


def rescue_result(t):
    """Save a copy for the gradient rule of `t` before `t` is overwritten, if the rule reads the result only to save work (trait
    "rescued")."""
    node, storage = t._node, t._storage
    if type(node) is Output:
        node = node.source
    if node.expand is not None:
        node.rescue_result(storage)
        return
    if (not isinstance(node, Node) or isinstance(node, ComplexNode) or node.run is not None or type(node.saved) is not tuple
            or "rescued" not in node.op.traits):
        return
    if (storage, storage.version) in node.guards and _holds(node.saved[0], t._a):
        node.saved = (_apart(node.saved[0], t._a), *node.saved[1:])
        node.guards = [g for g in node.guards if g[0] is not storage]


def _holds(results, array) -> bool:
    return any(v is array for v in results) if type(results) is tuple else results is array


def _apart(results, array):
    """Return saved results with a copy in place of an array."""
    if type(results) is tuple:
        return tuple([_apart(v, array) for v in results])
    return array.copy() if results is array else results


def rescue_operands(edge, array, storage):
    """Save copies of operands for the node behind `edge` before `array`, among them, is overwritten with its result, as in
    `x.mul_(w)`."""
    node = edge.source if type(edge) is Output else edge
    if not isinstance(node, Node) or type(node.saved) is not tuple or all(s is not storage for s, _ in node.guards):
        return
    node.saved = tuple([v.copy() if hasattr(v, "strides") and may_share_memory(v, array) else v for v in node.saved])
    node.guards = [g for g in node.guards if g[0] is not storage]


def rescue_operands_between(edge, ends, array, storage):
    """Do the same for all nodes from `edge` back to the edges `given`: those of a composite function."""
    todo, done = [edge], {id(e.source if type(e) is Output else e) for e in ends}
    while todo:
        edge = todo.pop()
        node = edge.source if type(edge) is Output else edge
        if isinstance(node, Node) and id(node) not in done:
            done.add(id(node))
            rescue_operands(node, array, storage)
            todo += node.edges


def aval_of(a) -> Aval:
    """Return shape and dtype of an array."""
    key = a.shape, a.dtype
    known = known_avals.get(key)
    if known is None:
        if len(known_avals) >= _MOST_AVALS:
            known_avals.clear()
        known = known_avals[key] = Aval(a.shape, BY_NP.get(a.dtype) or from_numpy(a.dtype))
    return known


known_avals: dict = {}       # by shape and dtype of arrays
_MOST_AVALS = 16384
INEXACT = "fcV"         # numpy's kinds of dtypes that can carry gradients (V is bfloat16's)


def is_inexact(a) -> bool:
    """Return whether an array's elements can carry gradients."""
    return a.dtype.kind in INEXACT


def broadcast_edge(edge, aval, shape):
    """Return an edge through the expand that broadcasting implied."""
    return Node(expand, {"shape": shape}, (edge,), (None, aval), ())


def keep_planned(plan, args, out):
    """Return what a node saves by its plan (for the output, then each argument), and the versions to check."""
    saved: list[Any] = [None] * len(plan)
    guards: list = []
    for i, kind in enumerate(plan):
        if kind is None:
            continue
        a = args[i - 1] if i else out
        what = type(a)      # symbolic numbers say that their class is int or float
        if what is tuple:
            kinds = ["value" if j in kind else "meta" for j in range(len(a))] if type(kind) is frozenset else [kind] * len(a)
            saved[i] = tuple([keep(t, k, guards) for t, k in zip(a, kinds)])
        elif what is float or what is int or a is None:
            saved[i] = a
        else:
            saved[i] = keep(a, kind, guards)
    return tuple(saved), guards


def keep(a, kind, guards):
    """Return an array ("value") or its aval ("meta") for a tensor; append the version of what is saved to `guards`."""
    try:
        array = a._a
    except AttributeError:
        return hint(a)
    if kind == "meta":
        return aval_of(array)
    storage = a._shared or a._own_storage()
    storage.guarded = True               # `Storage.guard`, without a call
    guards.append((storage, storage.version))
    return array


def hooks_of(owner, name):
    """Return the dict of one kind of hooks, created at the first one; changes for leaves count in `Structure`."""
    table = getattr(owner, name)
    if table is None:
        table = HookTable() if type(owner) is Leaf else {}
        setattr(owner, name, table)
    return table


def source_of(node):
    """Return (node, number of the result) of a tensor's history."""
    return (node.source, node.index) if type(node) is Output else (node, 0)


def label_of(edge) -> str:
    """Return the name of the node behind a tensor that is no leaf."""
    node, index = source_of(edge)
    return node.label_at(index)


# `p.data = new` between forward and backward: a node that saved the leaf `p` reads its new data, as in PyTorch. The storage
# that `p` leaves records that and counts a write (`Storage.left_by`); the node finds out when it checks what it saved.


def renew(node, storage):
    """Replace saved arrays of leaves that left a storage by what these leaves hold now."""
    if type(node.saved) is not tuple:       # packed by hooks of the user
        return
    recorder = tls.m.recorder
    for i, edge in enumerate(node.edges, 1):
        t = successor(storage, node.saved[i], edge)
        if t is None or (i == 2 and "reads_turned_weight" in node.op.traits):       # a view, which keeps the old data
            continue
        if not _reads_operand(node.op, node.saved, i):
            raise AutogradError(f"{node.op.title} saved a tensor for its gradient, whose .data was set since: the gradient "
                                "would be one of values that were not computed with. Set it after backward(), give the "
                                "function a clone() to keep the old values, or write the new ones in place "
                                "(t.data.copy_(new)).")
        node.saved = (*node.saved[:i], checked(node, t, node.saved[i])._a, *node.saved[i + 1:])
        node.guards = [*node.guards, t._storage.guard()]
        if recorder is not None and node.traced is not None:
            node.traced = (*node.traced[:i], recorder.gradients.saved(t), *node.traced[i + 1:])


def successor(storage, array, edge):
    """Return the leaf whose array this was, if the leaf has other data now, else None. The edge distinguishes the leaf from
    other tensors over the same array, such as `p.detach()`."""
    if edge is not None and getattr(edge, "op", None) is expand:
        edge = edge.edges[0]
    for leaf, left, node, _ in storage.data_swaps or ():
        if left() is array and edge is node:
            t = leaf()
            if t is None:
                raise AutogradError("the .data of a tensor that was saved for a gradient was set, and the tensor is gone: keep "
                                    "it until after backward()")
            return t if t._a is not array else None
    return None


def checked(node, t, before):
    """Return a leaf whose data were set, if it can replace the saved array `before`; raise if it cannot."""
    if t._a.__class__ is not before.__class__ or t._a.shape != before.shape or t._a.dtype != before.dtype:
        raise AutogradError(f"{node.op.title} saved a tensor for its gradient, and its .data was then set to {t.aval} in "
                            f"place of {before.dtype.name}{list(before.shape)}; set it after backward()")
    if t._data_version is not None and t._storage.was_overwritten(t._data_version):
        raise AutogradError(f"{node.op.title} saved a tensor for its gradient, whose .data was then set and overwritten in "
                            "place. Use the out-of-place form there, or clone() before writing.")
    return t


def _reads_operand(op, saved, i) -> bool:
    """Return whether the gradient rule reads the i-th operand itself, in ingot and in PyTorch, and nothing computed of it."""
    if op.is_pointwise:
        return not hasattr(saved[0], "strides")     # else it reads the result, which is of the old values
    if "reads_matrices" in op.traits:
        return all(x is None or len(x.shape) == 2 for x in saved[1:])
    return "reads_operands" in op.traits or (i > 1 and "reads_weight" in op.traits)
