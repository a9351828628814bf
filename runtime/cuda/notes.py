"""Lists of what eager operators ask of the driver: taken down while one runs, repeated on other operands.

Memory taken and given back, launches, fills and copies stand in a list, with every address as a place in an operand or in
memory of the call. Its numbers may be symbols, where the operands' sizes are (`recipes.py`); it is bound to those of a call.
"""

from typing import Any, NamedTuple

from ...ir.substitute import condition_check, data_evaluator
from ...ir.symbolic import hint
from ..device_array import DeviceArray
from . import pools, streams
from .arrays import KIND
from .checks import launched
from .kernels import unaligned
from .pools import Memory, NoMemory

_new = object.__new__
OURS = frozenset((Memory, NoMemory))        # (others' memory may overlap)
_TAKE, _DROP, _LAUNCH, _FILL, _COPY, _CHECK, _KEEP, _FUNCTION = range(8)


class Result(NamedTuple):
    """An array that a call gives: `place` is the number of its memory, `whole` says that it is no view into it."""

    place: int
    shape: tuple
    strides: tuple
    dtype: Any
    offset: int
    contiguous: bool
    whole: bool


class Notes:
    """The list of one run on memory of ours, as it grows. Places are numbered: the operands, then memory in the order in which
    it was taken.

    asked     what the driver was asked, and `listed` what of it the list has
    odd       whether something happened that no list can repeat
    """

    def __init__(self, arrays):
        self.steps: list = []
        self.asked = self.listed = 0
        self.odd = False
        self.arrays, self.count = arrays, len(arrays)
        self.regions: list = [(a.memory.pointer, a.memory.nbytes, a.pointer, n) for n, a in enumerate(arrays)]
        self.numbers: dict = {}             # of memory that was taken, by id

    def place(self, address):
        """(number, bytes from its start) of an address; (None, the address) where that stays as it is."""
        now = hint(address)
        for start, size, first, number in self.regions:
            if start <= now < start + size:
                return number, address - first
        self.odd = True
        return 0, 0

    def took(self, memory, nbytes):
        """New memory."""
        self.numbers[id(memory)] = self.count
        self.regions.append((memory.pointer, memory.nbytes, memory.pointer, self.count))
        self.steps.append((_TAKE, nbytes))
        self.count += 1

    def dropped(self, memory):
        """Memory that went back."""
        number = self.numbers.pop(id(memory), None)
        if number is not None:
            self.regions = [r for r in self.regions if r[3] != number]
            self.steps.append((_DROP, number))

    def launched(self, form, how, grid, args):
        """A kernel in the stream: its form, and how it was compiled but for what is known of sizes."""
        self.listed += 1
        self.steps.append((_LAUNCH, form, how, tuple(grid), tuple(args), self._moving(args, form.addresses)))

    def called(self, function, grid, args, addresses):
        """A loaded kernel in the stream."""
        self.listed += 1
        self.steps.append((_FUNCTION, function, grid, tuple(args), self._moving(args, addresses)))

    def _moving(self, args, addresses):
        moving = [(n, *self.place(args[n])) for n in addresses]
        return tuple([m for m in moving if m[1] is not None])

    def filled(self, ask, address, value, count):
        """Bytes or words of one value."""
        self.listed += 1
        self.steps.append((_FILL, ask, *self.place(address), value, count))

    def copied(self, ask, to, source, size):
        """Bytes from one place to another."""
        self.listed += 1
        self.steps.append((_COPY, ask, *self.place(to), *self.place(source), size))

    def kept(self, memory):
        """Memory of neither operands nor the call, which stays as it is: its address is in the list as a number."""
        if isinstance(memory, Memory):
            self.steps.append((_KEEP, memory))
            self.regions.append((memory.pointer, memory.nbytes, 0, None))

    def checked(self, words):
        """A launch that may write words is about to come."""
        self.regions.append((words.pointer, words.nbytes, 0, None))
        self.steps.append((_CHECK, words))

    def list(self, found) -> tuple | None:
        """(steps, results, whether these are several), if the list is whole, for a run that gave `found`."""
        many = type(found) is tuple
        results = [self._result(a) for a in (found if many else (found,))]
        return None if self.odd or self.asked != self.listed or None in results else (tuple(self.steps), tuple(results), many)

    def _result(self, a):
        number = self.numbers.get(id(a.memory)) if a.__class__ is DeviceArray else None
        if number is None:
            return next((n for n, given in enumerate(self.arrays) if given is a), None)
        return (number, a.shape, a.strides, a.dtype, a.offset, a.is_contiguous, a.base is None)


class SizedList:
    """A list with symbols, for all numbers that meet the conditions under which it was taken down."""

    def __init__(self, noted, scope, names, switches):
        steps, results, self.many = noted
        self.holds = condition_check(scope.conditions, names)
        self.evaluate = data_evaluator((steps, results), names)
        self.switches = switches

    def bind(self, numbers, device) -> "Recipe":
        """The list for these numbers."""
        steps, results = self.evaluate(*numbers)
        return Recipe((steps, results, self.many), device, self.switches)


class Recipe:
    """A list that can be repeated on operands of one kind."""

    def __init__(self, noted, device, switches):
        steps, results, self.many = noted
        self.steps = [_ready(s, device) if s[0] == _LAUNCH else s for s in steps]
        self.results, self.switches = [r if r.__class__ is int else Result._make(r) for r in results], switches

    def __call__(self, arrays, device):
        """The results on other operands."""
        stream = streams.current(device).handle
        held: list = []
        at: list = []
        for a in arrays:
            memory = a.memory
            memory.used_on(stream)
            held.append(memory)
            at.append(memory.pointer + a.offset)
        for step in self.steps:
            what = step[0]
            if what == _FUNCTION:
                _, function, grid, template, moving = step
                args = list(template)
                for n, number, more in moving:
                    args[n] = at[number] + more
                function(grid, stream, *args)
            elif what == _TAKE:
                memory = Memory(device, step[1], stream)
                held.append(memory)
                at.append(memory.pointer)
            elif what == _DROP:
                held[step[1]] = None
            else:
                _OTHERS[what](step, at, stream)
        found = [arrays[r] if r.__class__ is int else _array(r, held) for r in self.results]
        return tuple(found) if self.many else found[0]


def _ready(step, device) -> tuple:
    """A launch with its loaded kernel. Operands and memory begin on whole vectors, so the rest of an address says whether it
    does."""
    _, form, how, grid, args, moving = step
    starts = list(args)
    for n, _, more in moving:
        starts[n] = more
    mask = unaligned(form.pointers, starts)
    return _FUNCTION, form.function(device, mask, how, form.units(args)), grid, args, moving


def _fill(step, at, stream):
    _, ask, number, more, value, count = step
    ask(_address(at, number, more), value, count, stream)


def _copy(step, at, stream):
    _, ask, to, to_more, source, source_more, size = step
    ask(_address(at, to, to_more), _address(at, source, source_more), size, stream)


_OTHERS = {_FILL: _fill, _COPY: _copy, _CHECK: lambda step, at, stream: launched(step[1]),
           _KEEP: lambda step, at, stream: _use(step[1], stream)}


def _address(at, number, more):
    return more if number is None else at[number] + more


def _use(memory, stream):
    memory.used_on(stream)
    pools.keep(memory)


def _array(result: Result, held):
    made = _new(DeviceArray)
    made.kind = KIND
    made.memory, made.shape, made.strides, made.dtype = held[result.place], result.shape, result.strides, result.dtype
    made.offset, made.is_contiguous = result.offset, result.contiguous
    made.base = None if result.whole else DeviceArray(KIND, made.memory, (made.memory.nbytes,), "uint8")
    return made
