"""`cond` in exports: a file has no Python that could take one branch, so both are recorded, and a `choose` for each tensor of
their results. ONNX has branches of its own, into which its writer puts what only one of them needs (`writers/cond.py`).

A gradient goes back through both as well. What it comes to in the branch that is not taken may be anything, such as nan: where
it leaves a branch for a tensor from around it, it becomes zeros unless that branch is taken.
"""

from collections.abc import Callable
from contextlib import contextmanager
from math import inf
from typing import Any

import numpy as np

from ....ir.ops.core import elementwise as ew
from ....ir.ops.core.branch_select import choose
from ....ir.ops.core.shape import reshape
from ....runtime.core.device_array import DeviceArray
from ....runtime.core.node import Named, Node, Output, new_number
from ....runtime.core.state import tls
from ....runtime.core.storage import user_line
from ....runtime.core.tensor import Tensor, wrap
from ....runtime.pytree.pytree import tree_flatten, tree_unflatten
from ...errors.errors import ExportError, at
from . import treespec


class Gate(Node):
    """Where gradients leave a branch."""

    def __init__(self, edge, pred: Callable, is_true: bool):
        super().__init__(Named("cond"), {}, (edge,), (), ())
        self.pred, self.is_true = pred, is_true      # `pred()` gives the answer as a tensor

    label = property(lambda self: "CondBackward0")

    def run(self, engine, g) -> list:
        """The gradient if the branch is taken."""
        return [ew.where(self.pred(), g, 0.0) if self.is_true else ew.where(self.pred(), 0.0, g)]


def put_gates(results, first: int, pred: Callable, is_true: bool) -> int:
    """Has the histories of a branch's results, whose nodes have numbers from `first` on, end in gates; how many there are."""
    gates: dict = {}
    stack = [source_of(t._node) for t in results if isinstance(t, Tensor) and t._node is not None]
    seen = set(stack)
    while stack:
        node = stack.pop()
        if not first <= node.number < inf:
            continue
        edges = []
        for edge in node.edges:
            source = None if edge is None else source_of(edge)
            if source is not None and first <= source.number < inf:
                edges.append(edge)
                if source not in seen:
                    seen.add(source)
                    stack.append(source)
            elif edge is None:
                edges.append(None)
            else:
                place = id(source), edge.index if type(edge) is Output else None
                if place not in gates:
                    gates[place] = Gate(edge, pred, is_true)
                edges.append(gates[place])
        node.edges = tuple(edges)
    return len(gates)


def source_of(edge):
    """The node, or leaf, that an edge leads to."""
    return edge.source if type(edge) is Output else edge


class Branches:
    """The part of a listener that records both branches.

    What a branch makes is its own: it may write to nothing else, and nobody may read it but by the results.
    """

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._open: list = []         # for each branch under way the cells of memory that it has made, by id
        self._closed: dict = {}       # those of branches that are done
        self.has_gates = False
        self._tied: dict = {}         # those of results that are memory from outside of a branch, and of that memory

    def keeps_branches(self: Any, pred: Tensor) -> bool:
        """Whether the answer depends on the arguments; what depends on weights alone is decided here and now."""
        return self.follows_arguments(self.value_of(pred))

    def both(self: Any, pred: Tensor, true_fn, false_fn, operands):
        """What cond gives."""
        if pred.numel() != 1:
            raise ExportError(f"cond takes a pred of one element, got {pred.aval}{at(user_line())}")
        there = pred._a
        answer = bool((there.numpy() if isinstance(there, DeviceArray) else there).reshape(-1)[0])
        start = new_number()
        taken, spec, own = self._branch("true_fn", true_fn, operands, answer)
        middle = new_number()
        other, other_spec, others_own = self._branch("false_fn", false_fn, operands, not answer)
        if spec != other_spec:
            raise ExportError(f"the branches of cond{at(user_line())} return results of one structure, got {spec} "
                              f"and {other_spec}")
        pred = reshape(pred if pred.dtype.name == "bool" else ew.ne(pred, 0), shape=())
        self.has_gates |= self._gated(pred, (taken, start), (other, middle))
        chosen = [self._chosen(pred, x, y, own | others_own) for x, y in zip(taken, other)]
        self._closed |= own | others_own
        return tree_unflatten(chosen, spec)

    def _gated(self: Any, pred, true, false) -> bool:
        """Puts gates at the ends of what branches have recorded: (results, number of the first node) of each."""
        value = self.value_of(pred)

        def answer():       # also where the branch that it was computed in is done
            made = wrap(pred._a)
            self.fresh(made, value)
            return made

        return put_gates(true[0], true[1], answer, True) + put_gates(false[0], false[1], answer, False) > 0

    def refuse_rounds(self):
        """A loop whose end depends on the arguments."""
        raise ExportError(f"how many rounds while_loop does{at(user_line())} depends on the arguments, and an exported model "
                          "has no Python that would see to it: do a fixed number of rounds, in which cond or where leaves as "
                          "it is what is done")

    def _branch(self, name, fn, operands, is_taken) -> tuple:
        """(the results of a branch, their structure, the cells of what it made)."""
        with self._inside() as own:
            try:
                found = fn(*operands)
            except ExportError:
                raise
            except Exception as e:
                if is_taken:
                    raise
                raise ExportError(f"{name} of cond{at(user_line())} fails for the example, which does not take it: {e} "
                                  "(both branches are recorded; give an example that both can compute)") from e
        leaves, spec = tree_flatten(found)
        return [treespec.as_tensor(x) if isinstance(x, np.ndarray) else x for x in leaves], spec, own

    @contextmanager
    def _inside(self):
        """While a branch runs; gives what it makes."""
        self._open.append({})
        try:
            yield self._open[-1]
        finally:
            self._open.pop()

    def _chosen(self: Any, pred, x, y, own):
        """One result of two branches."""
        if not isinstance(x, Tensor) or not isinstance(y, Tensor):
            if type(x) is type(y) and not isinstance(x, Tensor) and x == y:
                return x
            raise ExportError(f"the branches of cond{at(user_line())} return {_said(x)} and {_said(y)}: what depends on the "
                              "answer is a tensor in both")
        if x.dtype is not y.dtype or self.shape_of(x) != self.shape_of(y):
            raise ExportError(f"the branches of cond{at(user_line())} return tensors of one shape and dtype, got {x.aval} "
                              f"and {y.aval}")
        if not tls.m.grad and (x._node is not None or y._node is not None):
            raise ExportError(f"a branch of cond{at(user_line())} returns a tensor with a history where gradients are off, "
                              "which an export does not hand on; return it detached")
        made = choose(pred, x, y)
        lent = [cell for cell in map(self.cell_of, (x, y)) if cell is None or id(cell) not in own]
        if lent:            # memory that eager code may give as the result; here that is a copy
            self._tied |= {id(cell): cell for cell in (*lent, self.cell_of(made)) if cell is not None}
        return made

    # What the recorder hears.

    def fresh(self: Any, t, value):
        """An operator made memory."""
        super().fresh(t, value)  # type: ignore[misc]
        if self._open:
            self._open[-1][id(t._storage.cell)] = t._storage.cell

    def value_of(self: Any, t: Tensor):
        """What a branch made is read by nobody but that branch."""
        if self._closed and id(self.link(t).cell) in self._closed:
            raise ExportError(f"a tensor that a branch of cond made is read outside{at(user_line())}: branches give "
                              "what they make as results")
        return super().value_of(t)  # type: ignore[misc]

    def wrote(self: Any, dst: Tensor, src):
        """A branch writes to what it made alone."""
        if self._open and id(self.link(dst).cell) not in self._open[-1]:
            raise ExportError(f"a branch of cond writes to a tensor that it has not made{at(user_line())}: both branches are "
                              "recorded; return the new value")
        if id(self.link(dst).cell) in self._tied:
            raise ExportError(f"it writes in place{at(user_line())} to a result of cond, or to a tensor that a branch returns "
                              "as it came; let the branch return a clone of it")
        super().wrote(dst, src)  # type: ignore[misc]


def _said(x) -> str:
    return str(x.aval) if isinstance(x, Tensor) else repr(x)
