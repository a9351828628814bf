"""Eager calls of composites and of gradient rules, compiled as one graph when they are frequent.

A call is a graph of one node, compiled by the passes of traced code and cached for calls of the same shapes. It gives the bits
of the operators of its body, one after the other: each is computed by the same scalar code and the same reduction tree, or by
its own kernel. So calls with new shapes, which may never come again, run operator by operator. So does a graph that is not
native code alone.
"""

import functools
from typing import Any

import numpy as np

from ....ir import dim_order
from ....ir import dtype as dt
from ....ir.errors import GraphError, IngotError
from ....ir.graph.graph import Builder, Value
from ....ir.interrupts import raise_interrupt
from ....ir.locks import new_rlock
from ....ir.opdef.aval import Aval
from ....ir.opdef.op import Op
from ....ir.ops.core.shape import constant, expand, permute
from ....passes.rewrite import pass_manager
from ....passes.rewrite.rewrite import rebuild
from ....passes.schedule.plan_steps import Fused
from ...autograd.gradient_rules import write_joint_rule, write_rules
from ...core.dispatch import kernel_of
from ...memo.call_recorder import MIN_CALLS, call_threshold
from ..calls.call import is_plain
from ..loops import copies
from . import machine_passes, program

_KINDS = {d.np for d in dt.ALL if d not in dt.FLOAT8}
_MOST = 512             # cached kinds of calls of each operator
_NONE = object()
_ndarray = np.ndarray
_lock = new_rlock()


class Whole:
    """A compiled graph of an operator; its results own their memory. Literal arrays in it are made once, and passed with each
    call."""

    def __init__(self, graph):
        self._literals: list = []
        simpler = rebuild(pass_manager.run(graph, machine_passes.EAGER), self._taken_out)
        made = self._compiled_graph = program.CompiledGraph(simpler, kernel_of, frozenset(range(len(graph.outputs))))
        self.steps, self.is_native = made.steps, made.is_native
        self.run = self._run if self._literals else made.run

    def _taken_out(self, b, node, operands):
        if node.op is not constant:
            return None
        self._literals.append(constant.ref(None, **node.params))
        return b.input(f"literal{len(self._literals)}", node.output.aval)

    def _run(self, arrays):
        return self._compiled_graph.run([*arrays, *self._literals])


class Compiled:
    """The compiled calls of a function of operators, by kind: shapes, dtypes and parameters."""

    also: tuple = (type(None),)      # types of arguments allowed besides arrays
    name = ""                        # name of its graphs

    def __init__(self):
        self._calls: dict = {}
        self.refused = 0            # kinds of calls that did not become one kernel
        self._threshold: int | None = None      # calls that take as long as compiling them, once computed

    def find(self, args, params, calls: int | None = 1):
        """Return the function that runs such a call, if it is one kernel and came `calls` times before. Calls of many operators
        are compiled sooner. With None for `calls`, find only what is compiled already."""
        key: list = []
        for a in args:
            if a.__class__ is _ndarray:
                if not a.flags.c_contiguous:
                    return None
                key.append(a.shape)
                key.append(a.dtype)
            elif a is None or a.__class__ is Aval:
                key.append(a)
            elif a.__class__ in self.also:
                key.append(_param_key(a))
            else:
                return None
        if params:
            key.extend(params)
            for v in params.values():           # strings, and floats except 0.0, -0.0 and nan, as they are
                if v.__class__ is float:
                    key.append(v if v and v == v else v.hex())
                else:
                    key.append(v if v.__class__ is str else (v.__class__, v))
        kind = tuple(key)
        try:
            found = self._calls.get(kind)
        except TypeError as error:      # a parameter that cannot be a key
            raise_interrupt(error, hash, kind)
            return None
        if found is None or found.__class__ is int:
            return None if calls is None else self._count(kind, found or 0, calls, args, params)
        return None if found is _NONE else found

    def _count(self, key, call_count, calls, args, params):
        if any([a.__class__ is np.ndarray and a.dtype not in _KINDS for a in args]):  # noqa: C419  (quicker)
            return None
        if call_count < calls and (call_count < MIN_CALLS or call_count < self._threshold_of(args, params)):
            if len(self._calls) >= _MOST:
                self._calls.clear()
            self._calls[key] = call_count + 1
            return None
        with _lock:
            found = self._calls[key] = self._compiled(args, params)
        if found is _NONE:
            self.refused += 1
            return None
        return found

    def _compiled(self, args, params):
        if any(a.__class__ is np.ndarray and not a.size for a in args):
            return _NONE
        try:
            graph, is_multi = self._graph(args, params)
            compiled = Whole(graph)
        except IngotError:      # the operators of the body raise the error
            return _NONE
        if not compiled.is_native:
            return _NONE
        return _caller(compiled, is_multi, all(a.__class__ is np.ndarray for a in args))

    def _graph(self, args, params) -> tuple:
        """Return (the graph of such a call, whether it has several results)."""
        b = Builder(f"eager_{self.name}")
        operands = [b.input(f"x{i}", Aval(a.shape, dt.BY_NP[a.dtype])) if a.__class__ is np.ndarray else a
                    for i, a in enumerate(args)]
        out = self._written(b, operands, params)
        is_multi = type(out) is tuple
        return b.finish(out if is_multi else (out,)), is_multi

    def _threshold_of(self, args, params) -> int:
        """Return how many calls take as long as compiling them, from the first kind that came often enough."""
        if self._threshold is None:
            try:
                self._threshold = call_threshold(len(machine_passes.decompose_bodies(self._graph(args, params)[0]).nodes))
            except IngotError:      # there is no such graph, as compiling it will find
                self._threshold = MIN_CALLS
        return self._threshold

    def _written(self, b, operands, params) -> Any:
        """Return the results, as values of a graph."""
        raise NotImplementedError


class Composites(Compiled):
    """The compiled calls of one operator."""

    def __init__(self, op: Op):
        super().__init__()
        self.op, self.name = op, op.name
        self._strided: dict = {}      # by memory orders of arguments: calls of arrays read in place

    def find_strided(self, args, params):
        """Find the call of arrays that are not in C order, to be read in place; None if all are, or they are better copied."""
        orders = tuple([dim_order.order_of(a) if a.__class__ is np.ndarray else None for a in args])
        if orders.count(None) == len(orders):
            return None
        ordered = tuple([a if order is None else a.transpose(order) for a, order in zip(args, orders)])
        made = self._strided.get(orders) or self._strided.setdefault(orders, StridedComposites(self.op, orders))
        run = made.find(ordered, params)
        return None if run is None else lambda args: run(ordered)

    def _compiled(self, args, params):
        return _NONE if "random" in self.op.traits else super()._compiled(args, params)

    def _written(self, b, operands, params) -> Any:
        return b.append(self.op, operands, params)


class Drawn(Compiled):
    """The compiled calls of a function of a key and arrays, which draws and computes by operators."""

    def __init__(self, fn):
        super().__init__()
        self.fn, self.name = fn, fn.__name__

    def _written(self, b, operands, params):
        return self.fn(*operands, **params)


class StridedComposites(Composites):
    """The compiled calls of an operator that reduces arrays with other memory orders: they are read once or twice."""

    def __init__(self, op: Op, orders: tuple):
        super().__init__(op)
        self.orders = orders

    def _written(self, b, operands, params):
        made = super()._written(b, [v if order is None else permute(v, dims=dim_order.inverse(order))
                                    for v, order in zip(operands, self.orders)], params)
        results, given = (made if type(made) is tuple else (made,)), [v for v in operands if type(v) is Value]
        if 2 * sum(v.aval.size for v in results) > sum(v.aval.size for v in given):
            raise GraphError("as much comes out as goes in")
        return made


class Rules(Composites):
    """The compiled gradient rules of an operator; `goals` as in `runtime/autograd/gradient_rules.py`."""

    also = (type(None), Aval, bool, int, float)

    def __init__(self, op: Op, goals: tuple):
        super().__init__(op)
        self.goals = goals
        self.of_one: dict = {}      # by shapes of constant gradients

    def find(self, args, params, calls=1):
        """Find the rules for a gradient; one that is the same number everywhere (that of a sum) is passed as that number."""
        g = args[0]
        if g.flags.c_contiguous:
            return super().find(args, params, calls)
        if g.size > 1 and not any(g.strides):
            rules = self.of_one.get(g.shape)
            if rules is None:
                rules = self.of_one.setdefault(g.shape, ConstantGradientRules(self.op, self.goals, g.shape))
            few = (one_of(g), *args[1:])
            run = rules.find(few, params, calls)
            return None if run is None else lambda args: run(few)
        order, ordered = in_order(args, True) if self.op.is_pointwise else (None, args)
        if order is None:
            return super().find(args, params, calls)
        run, back = super().find(ordered, params, calls), dim_order.inverse(order)
        return None if run is None else lambda args: tuple([made.transpose(back) for made in run(ordered)])

    def _written(self, b, operands, params):
        return write_rules(b, self.op, self.goals, operands, params)


class JointRule(Composites):
    """The compiled rule of a composite that gives all gradients at once (trait "rule_as_one"). `needs` are the arguments that
    need one, `lengths` the number of arrays of each argument (several results are tuples)."""

    also = Rules.also

    def __init__(self, op: Op, needs: tuple, lengths: tuple):
        super().__init__(op)
        self.needs, self.lengths = needs, lengths

    def find(self, args, params, calls=1):
        """Find the rule for arguments in one row; views are first copied, which costs little beside such a rule."""
        dense = tuple([copies.dense(a) if a.__class__ is np.ndarray else a for a in args])
        run = super().find(dense, params, calls)
        return None if run is None else lambda args: run(dense)

    def _written(self, b, operands, params):
        at = iter(operands)
        given = [next(at) if n is None else tuple([next(at) for _ in range(n)]) for n in self.lengths]
        return write_joint_rule(b, self.op, self.needs, given, params)


def joint_rule(op: Op, needs: tuple, args, params, calls: int):
    """Return the gradients of a joint rule, by one graph; None as long as such calls are not frequent."""
    lengths = tuple([len(a) if a.__class__ is tuple else None for a in args])
    row: list = []
    for a in args:
        if a.__class__ is tuple:
            row.extend(a)
        else:
            row.append(a)
    run = joint_rule_of(op, needs, lengths).find(row, params, calls)
    return None if run is None else run(row)


class ConstantGradientRules(Rules):
    """The rules for a gradient of a shape that is the same number everywhere."""

    def __init__(self, op: Op, goals: tuple, shape: tuple):
        super().__init__(op, goals)
        self.shape = shape

    def _written(self, b, operands, params):
        return super()._written(b, [expand(operands[0], shape=self.shape), *operands[1:]], params)


def in_order(args, of_elements=False) -> tuple:
    """Return (order, arguments with row-major arrays); arrays in another order are copied. Arguments of functions `of_elements`
    are viewed in the order on which they agree (`ir/dim_order.py`), which is then that of the result; broadcast dims stay
    broadcast."""
    arrays = [a for a in args if a.__class__ is np.ndarray]
    order = None
    if of_elements and not all([a.flags.c_contiguous for a in arrays]):  # noqa: C419  (quicker)
        shapes = [a.shape for a in args if hasattr(a, "shape")]
        if len({len(shape) for shape in shapes}) == 1:
            shape = np.broadcast_shapes(*shapes)
            order = dim_order.agreed(shape, [np.broadcast_to(a, shape).strides for a in arrays])
    return order, tuple([_in_rows(a, order, of_elements) for a in args])


def _in_rows(a, order, stays_spread):
    if a.__class__ is Aval and order is not None:
        return a.with_shape(tuple([a.shape[d] for d in order]))
    if a.__class__ is not np.ndarray:
        return a
    ordered = a if order is None else a.transpose(order)
    return ordered if stays_spread and 0 in ordered.strides else copies.dense(ordered)


def one_of(g):
    """Return the first element of an array, with all its dims."""
    return g[(slice(0, 1),) * g.ndim]


@functools.cache
def rules_of(op: Op, goals: tuple) -> Rules:
    """Return the rules of an operator for the arguments that need gradients."""
    return Rules(op, goals)


@functools.cache
def joint_rule_of(op: Op, needs: tuple, lengths: tuple) -> JointRule:
    """Return the joint rule of an operator for the arguments that need gradients."""
    return JointRule(op, needs, lengths)


def _param_key(param):
    """Return a key of a parameter: floats by their bits, as -0.0 equals 0.0 and nan nothing; others with their type."""
    return param.hex() if type(param) is float else (type(param), param)


@functools.cache
def composites_of(op: Op) -> Composites:
    """Return the compiled calls of an operator, shared by all callers."""
    return Composites(op)


@functools.cache
def drawn_by(fn) -> Drawn:
    """Return the compiled calls of a function that draws."""
    return Drawn(fn)


def _caller(compiled, is_multi, plain):
    """Return the function that runs a compiled call on a tuple of arguments; its attribute `into` writes into an array, if
    possible."""

    whole = compiled.run

    def run(args):
        arrays = args
        if not plain:
            arrays = []
            for a in args:              # a loop, since a list in one expression is a call of its own
                if a.__class__ is _ndarray:
                    arrays.append(a)
        results = whole(arrays)
        return tuple(results) if is_multi else results[0]

    parts = getattr(compiled.run, "parts", None)
    if plain and not is_multi and parts is not None:
        run = _fast_caller(run, *parts)
    run.into = _writer(compiled)         # type: ignore[attr-defined]
    return run


def _fast_caller(general, entry, address, arenas, make, shapes):
    """Return a faster `general` for one result of arrays alone."""
    (shape, dtype), = shapes
    take, give = arenas.take, arenas.give

    def run(args):
        arena, out = take(), make(shape, dtype)
        try:
            entry(address, arena, *args, out)
        except TypeError:
            if all(map(is_plain, args)):
                raise
            return general(args)        # it copies
        give(arena)
        return out

    return run


def _writer(compiled):
    """Return a function of the arguments and an array for the result, which may be one of them. None unless the graph is one
    step with one result, so that every read of an element comes before its write."""
    parts = getattr(compiled.run, "parts", None)
    if parts is None or len(parts[-1]) != 1 or [type(s) for s in compiled.steps[0].source.steps] != [Fused]:
        return None
    entry, address, arenas, _, ((shape, dtype),) = parts

    def into(args, out) -> bool:
        if out.shape != shape or out.dtype != dtype:
            return False
        arena, arrays = arenas.take(), [*[a for a in args if a.__class__ is np.ndarray], out]
        try:
            entry(address, arena, *arrays)
        except TypeError:
            if all(map(is_plain, arrays)):
                raise
            return False
        finally:
            arenas.give(arena)
        return True

    return into
