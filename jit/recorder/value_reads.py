"""Values that Python reads out of tensors while a function is recorded.

A read cuts the graph: what follows holds only for that value. `item()` alone cuts nothing; it gives a lazy scalar
(`proxies/lazy_scalars.py`). Values that go straight to results or into printed strings cut nothing either.
"""

from typing import Any

import numpy as np

from ...ir.graph.graph import Builder, Value
from ...ir.symbols.symbolic import pinned
from ...passes.simplify.cse import Equals
from ...runtime.core.storage import user_line
from ...runtime.core.tensor import Tensor
from ...runtime.state.mode import HANDING_READERS, OPEN_READERS
from ..bytecode.attribute_queries import looks_at_types
from ..errors.errors import TraceError, at
from ..guards.frames import is_user
from ..proxies.data_sizes import MANY
from ..proxies.lazy_scalars import as_number, deferred
from ..proxies.passthrough import PassthroughValues, read_on
from ..side_effects.deferred_print import DeferredPrints
from .recording import Cut

_REPEATED = ("item", "bool")     # reads of one value, which give the same when they are repeated
MOST_SIZES = 128    # in a list that is read of a tensor


class QuestionCache:
    """Answers of a recording, by value and way of reading: reading an equal value again, as `x[mask]`, `y[mask]`, asks
    nothing."""

    def __init__(self, builder: Builder):
        self._builder, self._equals, self._entered = builder, Equals(), 0
        self._answers: dict = {}      # (number of a value, how it was read) -> what Python got

    def _key(self, value: Value, how: str):
        nodes = self._builder.nodes
        for node in nodes[self._entered:]:
            self._equals.enter(node)
        self._entered = len(nodes)
        return self._equals.of(value), how

    def answer(self, value: Value, how: str):
        return self._answers.get(self._key(value, how))

    def add(self, value: Value, how: str, answer):
        self._answers[self._key(value, how)] = answer


def _may_be_sizes(t: Tensor, value) -> bool:
    """Return whether a list that is read of a tensor may be one of sizes, such as `lengths.tolist()`."""
    return type(value) is list and t.ndim == 1 and len(value) <= MOST_SIZES and all(type(n) is int for n in value)


class ValueReads:
    """Log of reads, with the cuts of the graph."""

    def __init__(self, recorder):
        self._recorder = recorder
        self.cuts: list[Cut] = []
        self.passthrough = PassthroughValues(recorder)
        self.printed = DeferredPrints(recorder)
        self.has_numbers = False                # whether there are lazy scalars
        self.sizes: Any = None     # tells which lines read sizes out of data; None if no symbol may stand for one
        self.defers = False                     # whether reads may give lazy scalars
        self._answers = QuestionCache(recorder.builder)
        self._lent: list = []                   # (array that numpy() gave, what it held, line)

    def read(self, t: Tensor, how: str, value_read, reader, frame):
        """Return what Python gets for a value that it reads: `frame` calls `reader`, the frame of a method of ingot."""
        if how == "len":
            pinned(self._recorder.shape_of(t)[0])
            return value_read
        while frame.f_code in HANDING_READERS:
            frame = frame.f_back
        by_user = is_user(frame)
        is_open = how in ("item", "tolist") and not (by_user and looks_at_types(frame.f_code))
        answer = self._answers.answer(self._recorder.value_of(t), how) if how in _REPEATED else None
        if answer is not None:
            return answer if is_open else pinned(answer)
        line = user_line() if is_open and (type(value_read) is int or _may_be_sizes(t, value_read)) else None
        if self.is_size(line, value_read):
            return self.size(t, value_read, line) if type(value_read) is int else self._list(t, value_read, line)
        if self.defers and by_user:
            array = read_on(t, value_read, reader.f_code, frame) if how == "numpy" else None
            if array is not None:
                return array
            number = deferred(self._recorder, t, value_read, line) if is_open and how == "item" else None
            if number is not None or self.passthrough.takes(t, how, value_read, reader.f_code, frame):
                return value_read if number is None else number
        elif self.defers and how == "item" and frame.f_code in OPEN_READERS:
            number = deferred(self._recorder, t, value_read)
            if number is not None:
                return number
        self.cut(t if line is None or how != "item" else as_number(t, int), how, value_read, line)
        if how == "numpy":
            self._lent.append((value_read, self.cuts[-1].answer, user_line()))
            self.passthrough.lend(value_read, t)
        return value_read

    @property
    def has_lent(self) -> bool:
        """Whether code got tensors as arrays."""
        return bool(self._lent)

    def is_size(self, line, value_read) -> bool:
        """Return whether symbols stand for the numbers that a line reads."""
        return line is not None and self.sizes is not None and self.sizes.is_size(line, frozen_value(value_read))

    def cut(self, t: Tensor, how: str, value_read, line=None):
        """Cut the graph: what follows is recorded for this value alone; `line` read an integer."""
        if how in _REPEATED:
            value = self._recorder.value_of(t)
            answer = self._answers.answer(value, how)
            if answer is not None:
                pinned(answer)
                return
            self._answers.add(value, how, value_read)
        self._add_cut(t, "size" if how == "item" and line is not None else how, frozen_value(value_read), line)

    def passes(self):
        """Cut the graph without a question: a replay reads and computes what comes before, and goes on."""
        r = self._recorder
        nodes = r.builder.nodes
        if len(nodes) > (self.cuts[-1].nodes if self.cuts else 0):
            conditions = 0 if r.scope is None else len(r.scope.conditions)
            self.cuts.append(Cut(len(nodes), nodes[-1].outputs[0], "passes", frozen_value(True), None, conditions, r.here(),
                                 len(r.inputs.sources)))

    def _add_cut(self, t, how, answer, line):
        r = self._recorder
        conditions = 0 if r.scope is None else len(r.scope.conditions)
        value = r.value_of(t)                # first, since this may append the nodes of a view
        self.cuts.append(Cut(len(r.builder.nodes), value, how, answer, line, conditions, r.here()))

    def size(self, t: Tensor, number: int, line):
        """Return a symbol for a number that a line reads as a size: what follows is recorded for other sizes, too."""
        found = self._answers.answer(self._recorder.value_of(t), "item")
        if found is not None:
            return found
        asked = as_number(t, int)
        self._add_cut(asked, "size", self._answer(number, line), line)
        size = self._symbol(number, line)
        for x in (t, asked):
            self._answers.add(self._recorder.value_of(x), "item", size)
        return size

    def _list(self, t: Tensor, numbers: list, line) -> list:
        """Return symbols for the numbers of a list that a line reads."""
        pinned(self._recorder.shape_of(t)[0])
        self._add_cut(t, "tolist", ("list", tuple([self._answer(n, line) for n in numbers])), line)
        return [self._symbol(n, line) for n in numbers]

    def _answer(self, number: int, line):
        return frozen_value(number) if self.sizes.is_own(line, number) else MANY

    def _symbol(self, number: int, line):
        if self.sizes.is_own(line, number):
            return number
        scope = self._recorder.scope
        name = f"read{len(scope.reads)}"
        scope.reads[name] = line
        return scope.size(name, number, 0)

    def check_lent(self):
        """Raise if the function wrote to an array that numpy() returned."""
        for array, before, line in self._lent:
            if frozen_value(array) != before:
                raise TraceError(f"this function cannot be traced: the array that numpy() gave{at(line)} was written "
                                 "afterwards; take a copy of it, or write to the tensor before")


def frozen_value(value):
    """Return a value that was read in a form that can be a dictionary key."""
    if isinstance(value, np.ndarray):
        return ("array", value.shape, str(value.dtype), value.tobytes())
    if isinstance(value, list):
        return ("list", tuple([frozen_value(v) for v in value]))
    if isinstance(value, float):
        return ("float", value.hex())
    return (type(value).__name__, value)


def readable(frozen) -> str:
    """Return the text of a frozen value for messages."""
    kind, *rest = frozen
    if kind == "array":
        shape, dtype, data = rest
        values = np.frombuffer(data, dtype).reshape(shape)
        return f"{dtype} {values.tolist()}" if values.size <= 8 else f"an array of {dtype}{list(shape)}"
    if kind == "list":
        return "[" + ", ".join([readable(v) for v in rest[0][:8]]) + (", ...]" if len(rest[0]) > 8 else "]")
    return repr(float.fromhex(rest[0]) if kind == "float" else rest[0])
