"""What eager operators ask of the driver, noted once and repeated.

Which kernels an operator launches, on which places in memory, follows from the layouts of its operands, its parameters and the
switches that are set. Working that out (plans, tiles, copies of operands that lie unfit) takes longer than the launches, so
one run of each kind of call is noted: memory taken and given back, launches, fills and copies, with every address as a place
in an operand or in memory of the call. What comes later repeats the list.

A run counts only if the list holds all that the driver was asked: one that waits, reads values or uploads something is
never repeated, nor is one on memory that is neither an operand's nor its own (but for the words of `checks.py`, and tables that
are there for good).
"""

from typing import Any, NamedTuple

from ...ir import config
from ...ir.params import param_key
from ..device_array import DeviceArray
from . import kernels, pools, precision, program, streams
from .arrays import KIND
from .checks import launched
from .noting import thread as noting
from .pools import Memory, is_capturing

_ALIGNED = 15              # bits of an address: operands that start between whole vectors take the long road
_FIRST, _LAST = 2, 6       # runs of a kind that may be noted: by then everything is loaded
_MOST = 8192
_PLAIN = frozenset((int, bool, str, type(None)))
_new = object.__new__
_TAKE, _DROP, _LAUNCH, _FILL, _COPY, _CHECK, _KEEP = range(7)


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
    """The list of one run, as it grows. Places are numbered: the operands, then memory in the order in which it was taken.

    asked     what the driver was asked, and `listed` what of it the list has
    odd       whether something happened that no list can repeat
    """

    def __init__(self, arrays):
        self.steps: list = []
        self.asked = self.listed = 0
        self.odd = not all(isinstance(a.memory, Memory) for a in arrays)     # others' memory may overlap
        self.arrays, self.count = arrays, len(arrays)
        self.regions: list = [(a.memory.pointer, a.memory.nbytes, a.pointer, n) for n, a in enumerate(arrays)]
        self.numbers: dict = {}             # of memory that was taken, by id

    def place(self, address):
        """(number, bytes from its start) of an address; (None, the address) where that stays as it is."""
        for start, size, first, number in self.regions:
            if start <= address < start + size:
                return number, address - first
        self.odd = True
        return 0, 0

    def took(self, memory):
        """New memory."""
        self.numbers[id(memory)] = self.count
        self.regions.append((memory.pointer, memory.nbytes, memory.pointer, self.count))
        self.steps.append((_TAKE, memory.nbytes))
        self.count += 1

    def dropped(self, memory):
        """Memory that went back."""
        number = self.numbers.pop(id(memory), None)
        if number is not None:
            self.regions = [r for r in self.regions if r[3] != number]
            self.steps.append((_DROP, number))

    def launched(self, function, grid, args, addresses):
        """A kernel in the stream."""
        self.listed += 1
        moving = [(n, *self.place(args[n])) for n in addresses]
        self.steps.append((_LAUNCH, function, grid, list(args), tuple([m for m in moving if m[1] is not None])))

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

    def recipe(self, found, switches) -> "Recipe | None":
        """The list, if it is whole, for a run that gave `found`."""
        many = type(found) is tuple
        results = [self._result(a) for a in (found if many else (found,))]
        if self.odd or self.asked != self.listed or None in results:
            return None
        return Recipe(self.steps, results, many, switches)

    def _result(self, a):
        number = self.numbers.get(id(a.memory)) if a.__class__ is DeviceArray else None
        if number is None:
            return next((n for n, given in enumerate(self.arrays) if given is a), None)
        return Result(number, a.shape, a.strides, a.dtype, a.offset, a.is_contiguous, a.base is None)


class Recipe:
    """A list that can be repeated on operands of one kind."""

    def __init__(self, steps, results, many, switches):
        self.steps, self.results, self.many, self.switches = tuple(steps), results, many, switches

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
            if what == _LAUNCH:
                _, function, grid, template, moving = step
                args = template.copy()
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


_known: dict = {}       # a kind of call -> its Recipe, or how often it ran without one


def run(op, inputs, params, device, work):
    """The result of `work(op, inputs, params, device)`, repeated where that is known to give the same."""
    arrays: list = []
    described: list = [op, device, *params]
    together = 0
    for x in inputs:
        kind = x.__class__
        if kind is DeviceArray:
            memory = x.memory
            described += x.shape, x.strides, x.dtype
            together |= memory.pointer + x.offset
            arrays.append(x)
            if memory.device != device:
                return work(op, inputs, params, device)
        elif kind is float or kind is int or kind is bool or x is None:
            described += kind, x if x else repr(x)      # 0.0 is not -0.0
        else:
            return work(op, inputs, params, device)
    if together & _ALIGNED or program.OBSERVERS or kernels.LISTENERS:
        return work(op, inputs, params, device)
    for x in params.values():
        kind = x.__class__
        described += kind, x if kind in _PLAIN or (kind is float and x) else _told(x)
    if len(arrays) > 1:
        _add_sharing(described, arrays)
    key = tuple(described)
    try:
        known = _known.get(key, 0)
    except TypeError:           # a parameter that cannot be a key
        return work(op, inputs, params, device)
    noted = noting.notes is not None            # by a call that this is a part of, whose list has every launch
    if known.__class__ is Recipe:
        if not noted and known.switches == switches():
            return known(arrays, device)
        known = 0
    if known > _LAST or noted or is_capturing():
        return work(op, inputs, params, device)
    if len(_known) >= _MOST:
        _known.clear()
    if known < _FIRST:
        _known[key] = known + 1
        return work(op, inputs, params, device)
    return _noted(key, known, arrays, lambda: work(op, inputs, params, device))


def _told(param):
    """What tells a parameter from others: -0.0 from 0.0, and 1.0 from 1, also where they stand in tuples."""
    whole = param.__class__ is tuple and all([n.__class__ is int for n in param])  # noqa: C419  (a list is quicker here)
    return param if whole else param_key(param)


def switches() -> tuple:
    """What else kernels depend on."""
    return config.current(), precision.of_all()


def _add_sharing(described, arrays):
    """Which operands lie in the same memory, and how far apart."""
    seen: dict = {}
    for n, a in enumerate(arrays):
        first = seen.setdefault(id(a.memory), n)
        if first != n:
            described.append((first, n, a.offset - arrays[first].offset))


def _noted(key, known, arrays, work):
    """A run that leaves a recipe, if it can be repeated."""
    now, before = switches(), noting.notes
    notes = noting.notes = Notes(arrays)
    try:
        found = work()
    finally:
        noting.notes = before
    _known[key] = notes.recipe(found, now) or known + 1
    return found


def forget():
    """Forgets all recipes, for a driver that was replaced."""
    _known.clear()
