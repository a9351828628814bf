"""`cond` in exports. Both branches are recorded, since a file has no Python to take one; a `choose` follows for each result.

The ONNX writer moves what one branch alone needs into a branch of ONNX (`writers/cond.py`).

Gradients go back through both branches. In the branch not taken they may be anything, such as nan, so a gate zeroes them where
they leave the branch.
"""

from collections.abc import Callable
from contextlib import contextmanager
from math import inf

import numpy as np

from ....ir.ops.core import elementwise as ew
from ....ir.ops.core.pointwise import choose
from ....ir.ops.core.shape import reshape
from ....runtime.core.device_array import DeviceArray
from ....runtime.core.node import Named, Node, Output, new_number
from ....runtime.core.storage import user_line
from ....runtime.core.tensor import Tensor, wrap
from ....runtime.pytree.pytree import tree_flatten, tree_unflatten
from ....runtime.state.mode import tls
from ...errors.errors import ExportError, at
from . import treespec


class Gate(Node):
    """Gradient gate at the border of a branch."""

    def __init__(self, edge, pred: Callable, is_true: bool):
        super().__init__(Named("cond"), {}, (edge,), (), ())
        self.pred, self.is_true = pred, is_true      # `pred()` gives the answer as a tensor

    label = property(lambda self: "CondBackward0")

    def run(self, engine, g) -> list:
        """Return the gradient if the branch is taken, else zeros."""
        return [ew.where(self.pred(), g, 0.0) if self.is_true else ew.where(self.pred(), 0.0, g)]


def put_gates(results, first: int, pred: Callable, is_true: bool) -> int:
    """Insert gates where gradients leave the history of a branch; return their number. Its nodes have numbers from `first`
    on."""
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
    """Return the node, or leaf, that an edge leads to."""
    return edge.source if type(edge) is Output else edge


class CondBranches:
    """Record of both branches of each `cond` of a run, held by the run's recorder.

    A branch writes only to memory that it made itself. Only its results are read outside of it.
    """

    def __init__(self, recorder):
        self.recorder = recorder
        self.has_gates = False
        self._open: list = []         # for each branch being recorded: the cells of memory that it made, by id
        self._closed: dict = {}       # those of finished branches
        self._tied: dict = {}         # cells of outside memory that a branch returned, and of the results for it

    def record(self, pred: Tensor, true_fn, false_fn, operands):
        """Record both branches; return the result of `cond`."""
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

    def _gated(self, pred, true, false) -> bool:
        """Put gates around the recorded branches, given as (results, number of the first node)."""
        value = self.recorder.value_of(pred)

        def answer():       # also where the branch that it was computed in is done
            made = wrap(pred._a)
            self.recorder.fresh(made, value)
            return made

        return put_gates(true[0], true[1], answer, True) + put_gates(false[0], false[1], answer, False) > 0

    def _branch(self, name, fn, operands, is_taken) -> tuple:
        """Return (the results of a branch, their structure, the cells of memory that it made)."""
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
        """Run a branch inside; yield the cells of memory that it makes."""
        self._open.append({})
        try:
            yield self._open[-1]
        finally:
            self._open.pop()

    def _chosen(self, pred, x, y, own):
        if not isinstance(x, Tensor) or not isinstance(y, Tensor):
            if type(x) is type(y) and not isinstance(x, Tensor) and x == y:
                return x
            raise ExportError(f"the branches of cond{at(user_line())} return {_shown(x)} and {_shown(y)}: what depends on the "
                              "answer is a tensor in both")
        if x.dtype is not y.dtype or self.recorder.shape_of(x) != self.recorder.shape_of(y):
            raise ExportError(f"the branches of cond{at(user_line())} return tensors of one shape and dtype, got {x.aval} "
                              f"and {y.aval}")
        if not tls.m.grad and (x._node is not None or y._node is not None):
            raise ExportError(f"a branch of cond{at(user_line())} returns a tensor with a history where gradients are off, "
                              "which an export does not hand on; return it detached")
        made = choose(pred, x, y)
        lent = [cell for cell in map(self.recorder.cell_of, (x, y)) if cell is None or id(cell) not in own]
        if lent:            # memory that eager code may give as the result; here that is a copy
            self._tied |= {id(cell): cell for cell in (*lent, self.recorder.cell_of(made)) if cell is not None}
        return made

    # Events of the recorder.

    def created(self, cell):
        """Assign new memory to the innermost branch."""
        if self._open:
            self._open[-1][id(cell)] = cell

    def check_read(self, cell):
        """Refuse a read, from outside, of memory that a finished branch made."""
        if id(cell) in self._closed:
            raise ExportError(f"a tensor that a branch of cond made is read outside{at(user_line())}: branches give "
                              "what they make as results")

    def check_write(self, cell):
        """Refuse a write to memory that the innermost branch did not make, and to results of `cond` that are outside memory."""
        if self._open and id(cell) not in self._open[-1]:
            raise ExportError(f"a branch of cond writes to a tensor that it has not made{at(user_line())}: both branches are "
                              "recorded; return the new value")
        if id(cell) in self._tied:
            raise ExportError(f"it writes in place{at(user_line())} to a result of cond, or to a tensor that a branch returns "
                              "as it came; let the branch return a clone of it")


def _shown(x) -> str:
    return str(x.aval) if isinstance(x, Tensor) else repr(x)
