"""What passes between a function that is recorded and Python's own data: values that it reads out of tensors, numbers that
become part of strings, and arrays and lists of which it makes tensors."""

import sys
from typing import Any

import numpy as np

from ...ir.ops.core.elementwise import cast
from ...ir.symbols.symbolic import pinned
from ...runtime.core.state import HANDING_READERS, OPEN_READERS
from ...runtime.core.storage import user_line
from ...runtime.core.tensor import Tensor, wrap
from ..bytecode.attribute_queries import looks_at_types
from ..errors.errors import TraceError, at
from ..errors.observed_values import frozen_value
from ..guards.frames import is_user
from ..proxies.data_sizes import MANY
from ..proxies.lazy_scalars import deferred, known, operand, operands
from ..proxies.numpy_scalars import SymScalar
from ..proxies.passthrough import HandedOut, read_on
from ..side_effects.deferred_print import Printed
from .recording import Cut

_REPEATED = ("item", "bool")     # ways of reading one value, which give the same when they are repeated
MOST_SIZES = 16     # in a list that is read of a tensor
SMALL = 64      # elements up to which a constant is written into the graph


def _are_sizes(t: Tensor, seen) -> bool:
    """Whether a list that is read of a tensor may be one of sizes, such as `lengths.tolist()`."""
    return type(seen) is list and t.ndim == 1 and len(seen) <= MOST_SIZES and all(type(n) is int for n in seen)


class Exchange:
    """The part of a recorder that hears of it."""

    has_numbers = False       # whether something stands for a number that was read
    sized: frozenset = frozenset()      # lines that read sizes out of data (`data_sizes.py`),
    single: frozenset = frozenset()     # and those to which 1 is no size
    defers = False            # whether numbers that are read may wait to be asked for (`lazy_scalars.py`)

    def __init__(self: Any):
        self.arrays: dict = {}                   # by id of an array that is an argument: the tensor over its memory
        self.cuts: list[Cut] = []
        self.handed_out = HandedOut(self)
        self.printed = Printed(self)
        self.lent: list = []                     # (array that numpy() gave, what it held, line)

    # In.

    def made(self: Any, t: Tensor, data=None):
        """A tensor was made from Python data inside the function: a constant of the trace, but memory of its own."""
        source = self.given(data) if isinstance(data, np.ndarray) else data
        if isinstance(source, Tensor):
            self.fresh(t, cast(self.value_of(source), dtype=t.dtype))
            return
        a = t._a
        if a.size <= SMALL:
            self.fresh(t, self.builder.constant(a))
        else:
            self.fresh(t, None)
            t._storage.cell.constant = t._a

    def pin_sizes(self: Any, t: Tensor):
        """What follows is recorded for the sizes alone that a tensor has."""
        for n in self.shape_of(t):
            pinned(n)

    def given(self: Any, array):
        """A tensor over an array that is an argument, as `arrays.GivenArray` makes it; other arrays as they are."""
        t = self.arrays.get(id(array))
        return array if t is None else t.detach()

    def keep_constant(self: Any, t: Tensor):
        """Makes a large constant an input, now that somebody reads it."""
        cell = self.cell_of(t)
        frozen = wrap(cell.constant.copy())
        frozen.__dict__["is_constant"] = True
        cell.constant, cell.value = None, self.value_of(frozen)

    # Out.

    def read(self: Any, t: Tensor, how: str, seen):
        """Python reads a value out of a tensor; returns what it gets."""
        if how == "len":
            pinned(self.shape_of(t)[0])
            return seen
        frame: Any = sys._getframe(3)
        while frame.f_code in HANDING_READERS:
            frame = frame.f_back
        is_users = is_user(frame)
        is_open = how in ("item", "tolist") and not (is_users and looks_at_types(frame.f_code))
        answer = self.answers.given(self.value_of(t), how) if how in _REPEATED else None
        if answer is not None:
            return answer if is_open else pinned(answer)
        line = user_line() if is_open and (type(seen) is int or _are_sizes(t, seen)) else None
        if line in self.sized:
            return self.size(t, seen, line) if type(seen) is int else self.sizes(t, seen, line)
        if self.defers and is_users:
            array = read_on(t, seen, sys._getframe(2).f_code, frame) if how == "numpy" else None
            if array is not None:
                return array
            number = deferred(self, t, seen, line) if is_open and how == "item" else None
            if number is not None or self.handed_out.takes(t, how, seen, sys._getframe(2).f_code, frame):
                return seen if number is None else number
        elif self.defers and how == "item" and frame.f_code in OPEN_READERS:
            number = deferred(self, t, seen)
            if number is not None:
                return number
        self.cut(t, how, seen, line)
        if how == "numpy":
            self.lent.append((seen, self.cuts[-1].seen, user_line()))
        return seen

    def formatted(self: Any, t: Tensor, spec: str, frame):
        """A tensor becomes part of a string: what stands for it there, if that is only printed."""
        return self.printed.mark(t, t._a.item() if t._a.size == 1 else None, spec, frame) if is_user(frame) else None

    def cut(self: Any, t: Tensor, how: str, seen, line=None):
        """What follows is recorded for this value alone; `line` read an integer."""
        if how in _REPEATED:
            value = self.value_of(t)
            answer = self.answers.given(value, how)
            if answer is not None:
                pinned(answer)
                return
            self.answers.give(value, how, seen)
        self._add_cut(t, how, frozen_value(seen), line)

    def _add_cut(self: Any, t, how, seen, line):
        noted = 0 if self.scope is None else len(self.scope.conditions)
        value = self.value_of(t)                # of a view that came in its nodes are written down now, before the cut
        self.cuts.append(Cut(len(self.builder.nodes), value, how, seen, line, noted))

    def size(self: Any, t: Tensor, seen: int, line):
        """A number that is read by a line which gives sizes; what follows is recorded for others, too."""
        is_own = seen < 1 or (seen == 1 and line in self.single)
        self._add_cut(t, "size", frozen_value(seen) if is_own else MANY, line)
        if not is_own:
            name = f"read{len(self.scope.reads)}"
            self.scope.reads[name] = line
            seen = self.scope.size(name, seen, 1)
        self.answers.give(self.value_of(t), "item", seen)
        return seen

    def sizes(self: Any, t: Tensor, seen: list, line) -> list:
        """The same for a list of numbers, one after the other."""
        pinned(self.shape_of(t)[0])
        return [self.size(part, n, line) for part, n in zip(t.detach().unbind(0), seen)]

    def plain(self: Any, op, args, params):
        """Operands and parameters of an operator: with the values of numbers that were read, unless the graph computes with
        them, and the numbers of numpy's scalars."""
        return operands(op, args), {name: x.number if type(x) is SymScalar else known(x) for name, x in params.items()}

    def operand(self: Any, x, dtype):
        """A number as an operand beside tensors of a dtype: a tensor, where the graph computes with it."""
        return operand(x, dtype)

    def check_lent(self):
        """Raises if an array was written that the function got by numpy()."""
        for array, before, line in self.lent:
            if frozen_value(array) != before:
                raise TraceError(f"this function cannot be traced: the array that numpy() gave{at(line)} was written "
                                 "afterwards; take a copy of it, or write to the tensor before")
