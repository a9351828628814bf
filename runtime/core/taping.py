"""Taping: creates the nodes of operations and attaches them to results.

For calls of an operator on arguments of the same kinds (tensor with a history, tensor without, number, None), a node saves the
same things and has the same edges. So the code is generated for each kind of call (`_text_of`). Where something listens (a
recorder, anomaly mode, hooks of saved tensors), nodes are made step by step.
"""

from typing import Any

from ...ir.opdef.op import Op
from ..state.mode import tls
from .node import (
    INEXACT,
    ComplexNode,
    Node,
    Output,
    PackedValues,
    aval_of,
    broadcast_edge,
    keep,
    keep_planned,
    known_avals,
    new_number,
)
from .storage import Storage, user_line
from .tensor import Tensor, shape_of, wrap

_new = object.__new__
_NUMBERS = (type(None), int, float)      # what is kept for a rule as it is
_MOST = 16          # arguments for which code is written out
_NOTHING = (None, None, None)
_NO_PARAMS: dict = {}
_ONE = (True,)


def record(op: Op, args, params, out):
    """Put one operation on the tape: create its node and attach it to the result, or to several."""
    if tls.m.noticed:
        (_several_by_steps if type(out) is tuple else _by_steps)(op, args, params, out)
        return
    kinds: list = [op]
    for a in args:                       # a loop, since a list in one expression is a call of its own
        if isinstance(a, Tensor):
            kinds.append(a._node is not None and a._a.dtype.kind in INEXACT)
        else:
            kinds.append(a.__class__)
    if out.__class__ is tuple:
        kinds.append(-len(out))         # negative, as True is 1 to a table
    key = tuple(kinds)
    (written.get(key) or write(key))(op, args, params, out)


written: dict = {}          # what puts a kind of call on the tape, by operator, kinds of arguments and number of results


def write(key):
    """Generate the function that tapes a kind of call."""
    op, *kinds = key
    several = -kinds.pop() if kinds and kinds[-1].__class__ is int else 0
    if len(kinds) <= _MOST and all(k.__class__ is bool or k in _NUMBERS for k in kinds):
        found: dict = {}
        exec(compile(_text_of(op, kinds, several), f"<the tape of {op.name}>", "exec"), _NAMES, found)
        made = found["put"]
    else:
        made = _several_by_steps if several else _by_steps
    written[key] = made
    return made


_SINGLE = """
    a = out._a
    kind = a.dtype.kind
    if kind not in _INEXACT:
        return
"""

_SEVERAL = """
    {outs}= out
    inexact, kind = _kinds_of(({kinds}))
    if not inexact:
        return
"""

_BROADCAST = """
    {edge} = {x}._node
    if {x}._a.shape != a.shape:
        {edge} = _broadcast_edge({edge}, _aval_of({x}._a), a.shape)
"""

_GUARD = """
    {storage} = {x}._shared or {x}._own_storage()
    {storage}.guarded = True
"""

_NODE = """
    node = _new(_Node if kind != "c" else _ComplexNode)
    node.op = op
    node.params = params
    node.edges = ({edges})
    node.saved = ({saved})
    node.guards = ({guards})
    node.number = _new_number()
"""

_HANG = """
    node.outs = ({outs})
    node.inexact_outs = inexact
    for i in inexact:
        out[i]._node = _Output(node, i)
"""


def _text_of(op, kinds, several) -> str:
    """Return the source of `put` for arguments: True (a tensor with gradient), False (another tensor), or a number's class."""
    of_out, *of_args = op.plan(tuple([k is True for k in kinds]))
    args, outs = [f"x{i}" for i in range(len(kinds))], [f"t{i}" for i in range(several)]
    if several:
        saved = [f"({_items(map(_saved, outs, _plans_of(of_out, several)))})" if of_out else "None"]
        held = [t for t, plan in zip(outs, _plans_of(of_out, several)) if plan == "value"]
        begin = _SEVERAL.format(outs=_items(outs), kinds=_items([f"{t}._a.dtype.kind" for t in outs]))
        end = _HANG.format(outs=_items([_aval(t) for t in outs]))
    else:
        saved, held, begin, end = [_saved("out", of_out)], ["out"] * (of_out == "value"), _SINGLE, "    out._node = node\n"
    own = [] if op.is_view else outs or ["out"]        # most results are saved by somebody, and later this takes a lock
    broadcast = {x for x, kind in zip(args, kinds) if kind is True and op.broadcasts}
    edges = [f"e_{x}" if x in broadcast else f"{x}._node" if kind is True else "None" for x, kind in zip(args, kinds)]
    for x, kind, plan in zip(args, kinds, of_args):
        saved.append(_saved(x, plan) if kind.__class__ is bool or plan is None else x)
        held += [x] * (kind.__class__ is bool and plan == "value")
    guards = [f"(s_{x}, s_{x}.version)" for x in held]
    return "".join([
        f"def put(op, args, params, out):\n    {_items(args)}= args", begin, *[f"    {t}._shared = _Storage()\n" for t in own],
        *[_BROADCAST.format(edge=f"e_{x}", x=x) for x in args if x in broadcast],
        *[_GUARD.format(storage=f"s_{x}", x=x) for x in held],
        _NODE.format(edges=_items(edges), saved=_items(saved), guards=_items(guards)), end])


def _plans_of(plan, several) -> list:
    """Return what is saved of each of several results; avals of those that a set does not name."""
    return [("value" if i in plan else "meta") if type(plan) is frozenset else plan for i in range(several)]


def _saved(name: str, plan) -> str:
    """Return the source of what is saved of a tensor."""
    return f"{name}._a" if plan == "value" else _aval(name) if plan else "None"


def _aval(name: str) -> str:
    return f"_known_avals.get(({name}._a.shape, {name}._a.dtype)) or _aval_of({name}._a)"


def _items(parts) -> str:
    return "".join([f"{part}, " for part in parts])


def _kinds_of(kinds: tuple) -> tuple:
    """Return the numbers of the results that can carry gradients, and "c" if one is complex, for NumPy kinds of dtypes."""
    found = _found_kinds.get(kinds)
    if found is None:
        found = _found_kinds[kinds] = tuple([i for i, k in enumerate(kinds) if k in INEXACT]), "c" if "c" in kinds else "f"
    return found


_found_kinds: dict = {}


# Step by step.


def _by_steps(op, args, params, out):
    """Tape an operation step by step, and tell all listeners."""
    m = tls.m
    if out._a.dtype.kind not in INEXACT:
        return
    if not m.noticed and not op.is_view:
        out._shared = Storage()
    edges = tuple([edge_of(op, a, out) for a in args])
    saved, guards = keep_planned(op.plan(tuple([e is not None for e in edges])), args, out)
    node = Node(op, params, edges, saved, guards)
    if m.noticed:
        _annotate(m, node, args, out)
    if out._a.dtype.kind == "c":
        node.__class__ = ComplexNode
    out._node = node


def _several_by_steps(op, args, params, outs):
    m = tls.m
    inexact, kind = _kinds_of(tuple([t._a.dtype.kind for t in outs]))
    if not m.noticed:
        for t in outs:
            t._shared = Storage()
    if not inexact:
        return
    edges = tuple([edge_of(op, a, outs[0]) for a in args])
    saved, guards = keep_planned(op.plan(tuple([e is not None for e in edges])), args, outs)
    node = Node(op, params, edges, saved, guards)
    if m.noticed:
        _annotate(m, node, args, outs)
    node.outs = tuple([t.aval if m.noticed else aval_of(t._a) for t in outs])
    node.inexact_outs = inexact
    if kind == "c":
        node.__class__ = ComplexNode
    for i in inexact:
        outs[i]._node = Output(node, i)


def edge_of(op, a, out):
    """Return the edge for an argument's gradient; None if it has no history or is not inexact."""
    if not isinstance(a, Tensor) or a._node is None or a._a.dtype.kind not in INEXACT:
        return None
    if op.broadcasts and a._a.shape != out._a.shape:
        return broadcast_edge(a._node, a.aval, shape_of(out))
    return a._node


def _annotate(m, node, args, out):
    """Add what a node has only under a recorder, anomaly mode or saved-tensor hooks."""
    if m.recorder is not None:
        m.recorder.gradients.taped(node, args, out)
    if m.anomaly:
        node.line = user_line()
    if m.saved_hooks is not None:
        pack, unpack = m.saved_hooks
        values = [_over(v, t) if hasattr(v, "strides") else v for v, t in zip(node.saved, (out, *args))]
        if any(isinstance(v, Tensor) for v in values):
            node.saved, node.guards = PackedValues(values, pack, unpack), ()


def _over(array, t) -> Tensor:
    """Return a tensor without history over the array of another one, with its version."""
    found = wrap(array)
    found._shared = t._storage if isinstance(t, Tensor) else None
    return found


_NAMES = {"__name__": __name__, **{f"_{f.__name__}": f for f in (ComplexNode, Node, Output, Storage, aval_of, broadcast_edge)},
          "_INEXACT": INEXACT, "_kinds_of": _kinds_of, "_known_avals": known_avals, "_new": _new,
          "_new_number": new_number}


# The shortest roads: functions of elements.


def record_pair(op: Op, x: Tensor, y, out: Tensor):
    """Do the work of `record` for two inexact operands of one dtype (the second may be a number), where nothing listens."""
    shape = out._a.shape
    first, second, numbered = x._node, None, not isinstance(y, Tensor)
    if first is not None and x._a.shape != shape:
        first = broadcast_edge(first, aval_of(x._a), shape)
    if not numbered:
        second = y._node
        if second is not None and y._a.shape != shape:
            second = broadcast_edge(second, aval_of(y._a), shape)
    out._shared = Storage()
    needs = first is not None, second is not None
    of_out, of_x, of_y = op.plans.get(needs) or op.plan(needs)
    guards: Any = ()
    saved: tuple = _NOTHING
    if of_out or of_x or of_y:
        guards = []
        saved = (of_out and keep(out, of_out, guards), of_x and keep(x, of_x, guards),
                 of_y and (y if numbered else keep(y, of_y, guards)))
    node = out._node = _new(ComplexNode if out._a.dtype.kind == "c" else Node)      # by hand: calling the class takes as long
    node.op = op
    node.params = _NO_PARAMS
    node.edges = first, second
    node.saved = saved
    node.guards = guards
    node.number = new_number()


def record_one(op: Op, x: Tensor, out: Tensor):
    """Do the same for one inexact operand of an elementwise operator without parameters."""
    out._shared = Storage()
    of_out, of_x = op.plan(_ONE)
    guards: list = []
    saved = of_out and keep(out, of_out, guards), of_x and keep(x, of_x, guards)
    out._node = Node(op, _NO_PARAMS, (x._node,), saved, guards)
