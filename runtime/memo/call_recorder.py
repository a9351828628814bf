"""Recorder of calls of a memoised function (`call_memo.py`): generates a function of the operators that they ran.

The generated function calls the operators one after the other. Once calls without gradients have taken about as long as
compiling takes, they run as one graph, like traced code (`graph/composites.py`), with the same bits.
"""

from collections.abc import Callable
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from ...ir import dtype as dt
from ...ir.config import overridden
from ...ir.errors import IngotError
from ...ir.graph.graph import Builder
from ...ir.interrupts import raise_interrupt
from ...ir.ops.core.shape import select, slice_
from ..core import specialized_calls
from ..core.backend import HOST
from ..core.dispatch import after_short_path, call, call_view, looks
from ..core.op_observers import OpObserver
from ..core.tensor import Tensor, made_whole, wrap
from . import call_memo
from .call_memo import TAPED, TENSORS, is_cached_table

MIN_CALLS = 32          # calls before which no operators are counted
_BASE = 768             # calls of one operator that take as long as the fixed part of compiling
_MANY = 64              # most operators of a generated function
_LONG = 1e-3            # seconds of a call from which preparing arguments does not matter
_TRIES = 3
_PARTS = frozenset((select, slice_))    # results are parts of operands
_new = object.__new__


def call_threshold(operators: int) -> int:
    """Return the count of calls of so many operators that take about as long as compiling them, which takes a fixed time and a
    little for each operator. So calls of many operators are compiled sooner."""
    return MIN_CALLS + _BASE // max(1, operators)


class Steps(OpObserver):
    """Observer of a recorded call: logs each operator, its arguments and results."""

    only_watches = True

    def __init__(self):
        super().__init__()
        self.calls: list = []
        self.is_like_others = True      # nothing was met that other calls may not have (what raises may be caught on its way)

    def met_only_now(self):
        self.is_like_others = False
        raise UnknownError

    def observe(self, op, args, params):
        out = call(op, args, params)
        self.calls.append((op, args, params, out))
        return out


class PendingCall:
    """Entry of a kind of calls until it is known which operators they run."""

    def __init__(self, table: dict, fn: Callable, kind: tuple):
        self.table, self.fn, self.kind = table, fn, kind
        self.tries = _TRIES

    def __call__(self, m, args, kwargs):
        """Return fn(*args, **kwargs). From now on such calls run what was recorded, or `fn` if that is unknown or takes so long
        that nothing is gained. As something else may have taken the time, that is measured several times."""
        began = perf_counter()
        result = self.fn(*args, **kwargs)
        self.tries -= 1
        if perf_counter() - began < _LONG:
            self.table[self.kind] = self._learned(args, kwargs)
        elif not self.tries:
            self.table[self.kind] = self._plainly
        return result

    def _plainly(self, m, args, kwargs):
        return self.fn(*args, **kwargs)

    def _learned(self, args, kwargs) -> Callable:
        try:
            recorded = _record(self.fn, args, kwargs)
        except (UnknownError, IngotError) as error:
            raise_interrupt(error, _record, self.fn, args, kwargs)
            return self._plainly
        by_operators = Text(recorded).by_operators(self.fn)
        stays = TAPED in self.kind or not recorded.makes_new
        return by_operators if stays else _counted(self.table, self.kind, recorded, by_operators)


def _record(fn: Callable, args, kwargs) -> "RecordedCall":
    """Record a call on new tensors over the same memory, one for each argument: the same tensor twice would be ambiguous."""
    args, kwargs = tuple(map(_stand_in, args)), {name: _stand_in(a) for name, a in kwargs.items()}
    steps = Steps()
    steps.open()
    try:
        result = fn(*args, **kwargs)
    finally:
        steps.close()
    if not steps.is_like_others:
        raise UnknownError
    return RecordedCall(args, kwargs, steps.calls, result)


def _stand_in(a):
    if a.__class__ in TENSORS:
        return wrap(a._a) if a._node is None else wrap(a._a).requires_grad_()
    return type(a)(map(_stand_in, a)) if type(a) in (tuple, list) else a


def _counted(table: dict, kind: tuple, recorded: "RecordedCall", by_operators: Callable) -> Callable:
    """Return a function that runs the operators until there were enough calls to compile them."""
    left = call_threshold(len(recorded.steps))

    def counted(m, args, kwargs):
        nonlocal left
        left -= 1
        if left <= 0 and overridden.settings is None:
            table[kind] = Text(recorded).compiled(by_operators) or by_operators
        return by_operators(m, args, kwargs)

    return counted


class UnknownError(Exception):
    """An error: a value came neither out of the arguments nor out of an operator, or may differ at another call."""


class Slot(NamedTuple):
    """A tensor of a call, by its number; arguments come first."""

    number: int


class Step(NamedTuple):
    """An operator of a recorded call; tensors are places."""

    op: Any
    operands: tuple
    params: dict
    out: Any            # a place, or a tuple of them


class RecordedCall:
    """A recorded call."""

    def __init__(self, args, kwargs, calls, result):
        self.argument_texts: list = []           # texts that give the tensors among the arguments of a call
        self.avals: list = []           # and what these are
        self._slots: dict = {}         # by ids
        self._tensors: list = []        # that have places, so that no id is given anew
        for i, a in enumerate(args):
            self._take(f"args[{i}]", a)
        for name, a in kwargs.items():
            self._take(f"kwargs[{name!r}]", a)
        if not self.argument_texts or not 0 < len(calls) <= _MANY:
            raise UnknownError
        arrays = [t._a for t in self._tensors]
        self.steps = [self._step(*n) for n in calls]
        self.result = self._with_slots(result)
        self.makes_new = are_new([t._a for t in tensors_of(result)], arrays)
        looked = {step.out for step in self.steps if step.op.is_view}
        self.made_whole = [slot for t in tensors_of(result) if t._base is None and (slot := self._slots[id(t)]) in looked]
        self._slots, self._tensors = {}, []

    def _take(self, text, a):
        if isinstance(a, Tensor):
            self.argument_texts.append(text)
            self.avals.append(a.aval)
            self._new_slot(a)
        elif a.__class__ in (list, tuple):
            for i, item in enumerate(a):
                self._take(f"{text}[{i}]", item)

    def _new_slot(self, t) -> Slot:
        self._tensors.append(t)
        return self._slots.setdefault(id(t), Slot(len(self._tensors) - 1))

    def _step(self, op, args, params, out) -> Step:
        if "random" in op.traits:
            raise UnknownError
        operands, given = tuple(map(self._operand, args)), {name: self._operand(v) for name, v in params.items()}
        return Step(op, operands, given, tuple(map(self._new_slot, out)) if type(out) is tuple else self._new_slot(out))

    def _operand(self, v):
        if isinstance(v, Tensor):
            return v if is_cached_table(v) else self._with_slots(v)
        if hasattr(v, "strides") or isinstance(v, np.generic):
            raise UnknownError
        return v

    def _with_slots(self, result):
        """Return a result with places for its tensors."""
        if isinstance(result, Tensor):
            if id(result) not in self._slots:
                raise UnknownError
            return self._slots[id(result)]
        if not isinstance(result, (tuple, list)):
            raise UnknownError
        return _like(result, [None if x is None else self._with_slots(x) for x in result])


def alike(steps) -> list:
    """Group steps that follow each other and are parts of the same tensor."""
    found: list = []
    for step in steps:
        last = found[-1][0] if found else None
        if last is not None and step.op in _PARTS and (step.op, step.operands) == (last.op, last.operands):
            found[-1].append(step)
        else:
            found.append([step])
    return found


def are_new(results, arguments) -> bool:
    """Return whether results are row-major memory of their own, so that a graph may make them."""
    known = [*arguments, *results]
    return all(a.strides == np.empty(a.shape, a.dtype).strides and sum([np.may_share_memory(a, b) for b in known]) == 1
               for a in results)


def _like(container, items):
    """Return a tuple, named tuple or list with other items."""
    kind = type(container)
    return kind(items) if kind in (tuple, list) else kind(*items)


def tensors_of(result) -> list:
    """Return the tensors, or their places, of a result."""
    if isinstance(result, (tuple, list)) and type(result) is not Slot:
        return [t for item in result for t in tensors_of(item)]
    return [] if result is None else [result]


_BY_OPERATORS = """
def memoised(m, args, kwargs):
    {take}
    try:
        {steps}
        {whole}
        return {result}
    except IngotError as error:
        return after_short_path(error, general, *args, **kwargs)        # which says what is wrong in its own words
"""

_COMPILED = """
def memoised(m, args, kwargs):
    {take}
    {arrays}
    if overridden.settings is not None or not ({in_rows}):     # other settings than those that it was compiled with
        return by_operators(m, args, kwargs)
    try:
        {made}, = run([{operands}])
    except IngotError as error:
        return after_short_path(error, by_operators, m, args, kwargs)
    {wrap}
    return {result}
"""

_WRAP = """{t} = new(Tensor)
    {t}._a = {a}
    {t}._node = {t}._shared = None"""


class Text:
    """Generator of the source for a memoised call."""

    def __init__(self, recorded: RecordedCall):
        self.recorded = recorded
        # The name makes the text ingot's code: a function that calls this one puts its name into errors (`register.py`).
        self._means: dict = {"__name__": __name__, "new": _new, "look": call_view, "parts": looks, "Tensor": Tensor,
                             "IngotError": IngotError, "after_short_path": after_short_path,
                             "overridden": overridden, "whole": made_whole}
        self._count = 0
        self._take = "\n    ".join([f"t{i} = {text}" for i, text in enumerate(recorded.argument_texts)])

    def by_operators(self, general: Callable) -> Callable:
        """Return a function that calls operator after operator; if one fails, it calls the `general` function."""
        self._means["general"] = general
        return self._function(_BY_OPERATORS.format(
            take=self._take,
            steps="\n        ".join([self._steps(*some) for some in alike(self.recorded.steps)]),
            whole="; ".join([f"whole({self._value(slot)})" for slot in self.recorded.made_whole]),
            result=self._value(self.recorded.result)))

    def compiled(self, by_operators: Callable) -> Callable | None:
        """Return a function that runs one graph on row-major arrays, else the operators; None if the graph is not native."""
        outs = tensors_of(self.recorded.result)
        run = compiled_run(self.recorded, outs)
        if run is None:
            return None
        self._means |= {"by_operators": by_operators, "run": run}
        numbers = range(len(self.recorded.argument_texts))
        return self._function(_COMPILED.format(
            take=self._take,
            arrays="\n    ".join([f"a{i} = t{i}._a" for i in numbers]),
            in_rows=" and ".join([f"a{i}.flags.c_contiguous" for i in numbers]),
            operands=", ".join([f"a{i}" for i in numbers]),
            made=", ".join([f"a{v.number}" for v in outs]),
            wrap="\n    ".join([_WRAP.format(t=f"t{v.number}", a=f"a{v.number}") for v in outs]),
            result=self._value(self.recorded.result)))

    def _function(self, text: str) -> Callable:
        found: dict = {}
        exec(compile(text, "<a memoised call of ingot>", "exec"), self._means, found)
        return found["memoised"]

    def _steps(self, step: Step, *others: Step) -> str:
        """Return the source of grouped steps; several are parts of one tensor."""
        if not others:
            return self._step(step)
        outs = ", ".join([self._value(s.out) for s in (step, *others)])
        params = [s.params for s in (step, *others)]
        return f"{outs} = parts({self._constant(step.op)}, {self._value(step.operands[0])}, {self._constant(params)})"

    def _step(self, step: Step) -> str:
        operands, out = [*map(self._value, step.operands)], self._value(step.out)
        if step.op.is_view:
            return f"{out} = look(m, {self._constant(step.op)}, ({operands[0]},), {self._constant(step.params)})"
        given = [f"{name}={self._value(v)}" for name, v in step.params.items()]
        return f"{out} = {self._constant(specialized_calls.specialize(step.op).call)}({', '.join([*operands, *given])})"

    def _value(self, v) -> str:
        if type(v) is Slot:
            return f"t{v.number}"
        if isinstance(v, (tuple, list)) and any(type(x) is Slot for x in tensors_of(v)):
            items = "".join([f"{self._value(x)}, " for x in v])
            kind = "" if type(v) is tuple else "list" if type(v) is list else self._constant(type(v))
            return f"[{items}]" if kind == "list" else f"{kind}({items})"
        return self._constant(v)

    def _constant(self, v) -> str:
        self._count += 1
        self._means[f"c{self._count}"] = v
        return f"c{self._count}"


def compiled_run(recorded: RecordedCall, outs: list) -> Callable | None:
    """Return a function of arrays for the recorded operators; None if they do not become native code alone."""
    if any(not a.size for a in recorded.avals) or any(a.dtype in dt.FLOAT8 for a in recorded.avals):
        return None
    b = Builder("memoised")
    values: dict = {Slot(i): b.input(f"x{i}", a) for i, a in enumerate(recorded.avals)}
    tables = {id(v): v for step in recorded.steps for v in step.operands if isinstance(v, Tensor)}
    values.update({known: b.input(f"table{i}", v.aval) for i, (known, v) in enumerate(tables.items())})
    try:
        for step in recorded.steps:
            made = b.append(step.op, tuple([_in_graph(v, values) for v in step.operands]),
                            {name: _in_graph(v, values) for name, v in step.params.items()})
            values.update(zip(step.out, made) if type(step.out) is tuple else [(step.out, made)])
        compiled = HOST.Whole(b.finish([values[v] for v in outs]))
    except IngotError:
        return None
    if not compiled.is_native:
        return None
    more = [v._a for v in tables.values()]
    return (lambda arrays: compiled.run([*arrays, *more])) if more else compiled.run


def _in_graph(v, values: dict):
    return values[v] if type(v) is Slot else values[id(v)] if isinstance(v, Tensor) else v


def first_call(table: dict, fn: Callable, kind: tuple, args, kwargs) -> Any:
    """Return fn(*args, **kwargs) at the first call of a kind: the next one is recorded."""
    if len(table) >= call_memo.MOST:
        table.clear()
    table[kind] = PendingCall(table, fn, kind)
    return fn(*args, **kwargs)
