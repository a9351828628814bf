"""Lists of what eager operators ask of the driver: taken down while one runs, repeated on other operands.

Memory taken and given back, launches, fills and copies stand in a list, with every address as a place in an operand or in
memory of the call. Its numbers may be symbols, where the operands' sizes are (`recipes.py`); it is bound to those of a call.
"""

from ...ir.substitute import condition_check, data_evaluator
from ...ir.symbolic import hint
from ..device_array import DeviceArray
from . import launch, pools, streams
from .arrays import KIND
from .checks import launched
from .kernels import unaligned
from .layouts import BETWEEN, number_of
from .pools import Memory, NoMemory

_new = object.__new__
OURS = frozenset((Memory, NoMemory))        # (others' memory may overlap)
_TAKE, _DROP, _LAUNCH, _FILL, _COPY, _CHECK, _KEEP, _REPEATED, _CALL = range(9)


class Notes:
    """The list of one run on memory of ours, as it grows. Places are numbered: the operands, then memory in the order in which
    it was taken.

    symbolic  whether sizes are symbols
    asked     what the driver was asked, and `listed` what of it the list has
    odd       whether something happened that no list can repeat
    """

    def __init__(self, arrays, symbolic=False):
        self.symbolic = symbolic
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
        moving = self._moving(args, form.addresses)
        still = set(form.pointers).difference([n for n, _, _ in moving])
        self.steps.append((_LAUNCH, form, how, tuple(grid), tuple(args), moving, unaligned(still, args)))

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
        """(the number of its memory, what it is like there, whether it is no view into it); of an operand its number."""
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

    def bind(self, numbers, device, starts) -> "Recipe":
        """The list for these numbers."""
        steps, results = self.evaluate(*numbers)
        return Recipe((steps, results, self.many), device, starts, self.switches)


class Recipe:
    """A list that can be repeated on operands of one kind, which begin at `starts` between whole vectors."""

    def __init__(self, noted, device, starts, switches):
        steps, results, self.many = noted
        self.steps = [_ready(s, device, starts) if s[0] == _LAUNCH else s for s in steps]
        self.results = [r if r.__class__ is int else _laid_out(r, device, starts) for r in results]
        self.switches = switches

    def __call__(self, arrays, device):
        """The results on other operands."""
        stream = streams.current(device).handle
        held: list = []
        at: list = []
        for a in arrays:
            memory = a.memory
            if memory.stream != stream:
                memory.used_on(stream)
            held.append(memory)
            at.append(memory.pointer + a.offset)
        for step in self.steps:
            what = step[0]
            if what == _REPEATED:
                step[1](stream, at)
            elif what == _TAKE:
                memory = Memory(device, step[1], stream)
                held.append(memory)
                at.append(memory.pointer)
            elif what == _DROP:
                held[step[1]] = None
            elif what == _CALL:
                self._call(step, at, stream)
            else:
                _OTHERS[what](step, at, stream)
        found = [arrays[r] if r.__class__ is int else _array(r, held) for r in self.results]
        return tuple(found) if self.many else found[0]

    def _call(self, step, at, stream):
        """A launch of a kernel that was being compiled when the list was made, or that asks for memory of its own."""
        _, function, grid, args, moving = step
        function(grid, stream, *launch.moved(args, moving, at))
        if function.__class__ is launch.Coming and function.loaded is not None:
            self.steps = [_launching(function.loaded, grid, args, moving) if s is step else s for s in self.steps]


def _laid_out(result, device, starts) -> tuple:
    """What a result is like, as `Notes` has it, with the number of its layout."""
    place, shape, strides, dtype, offset, *_ = result
    start = (starts[place] if place < len(starts) else 0) + offset
    return *result, number_of(device, shape, strides, dtype, start & BETWEEN)


def _ready(step, device, starts) -> tuple:
    """A launch with its loaded kernel: which addresses are whole vectors' follows from where operands begin (new memory begins
    on one)."""
    _, form, how, grid, args, moving, mask = step
    count = len(starts)
    for n, number, more in moving:
        if (starts[number] + more if number < count else more) & BETWEEN:
            mask |= 1 << n
    return _launching(form.function(device, mask, how, form.units(args)), grid, args, moving)


def _launching(function, grid, args, moving) -> tuple:
    if function.__class__ is launch.Coming or function.binary.scratch:
        return _CALL, function, grid, args, moving
    return _REPEATED, launch.Repeated(function, grid, args, moving)


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


def _array(result, held):
    """An array that a call gives."""
    made = _new(DeviceArray)
    place, made.shape, made.strides, made.dtype, made.offset, made.is_contiguous, whole, made.layout = result
    memory = made.memory = held[place]
    made.kind, made.base = KIND, None if whole else DeviceArray(KIND, memory, (memory.nbytes,), "uint8")
    return made
