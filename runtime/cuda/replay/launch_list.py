"""Lists of driver calls of eager operators: recorded while one runs (`LaunchRecorder`), repeated on other operands
(`LaunchList`).

Allocations, frees, launches, fills and copies stand in a list. Each address is a slot: a number of an operand or of an
allocation, in order, and bytes from its start. Numbers may be symbols (`SizedList`). Small allocations that are freed before
the end share one block, at the same bytes if not needed at once. That block is allocated first, and so are results, unless a
large allocation is freed before them, whose memory they may get.
"""

from collections import deque

from ....ir.symbols.substitute import condition_check, data_evaluator
from ....ir.symbols.symbolic import hint
from ....passes.schedule.plan_memory import Life, allocate
from ...core.device_array import DeviceArray
from ..compiler import launch
from ..compiler.kernels import unaligned
from ..driver import streams
from ..driver.endings import Ending
from ..memory import pools
from ..memory.allocator import ROUND, SMALL
from ..memory.arrays import KIND
from ..memory.pools import Memory, NoMemory
from ..memory.status_words import launched
from .layout_keys import BETWEEN, number_of

_new = object.__new__
TAKE, DROP, LAUNCH, FILL, COPY, CHECK, KEEP = range(7)      # what a step does
_REPEATED, _CALL = 7, 8


class LaunchList:
    """A list for operands of one kind, which begin at `starts` after whole vectors. A `lasting` list is optimised."""

    def __init__(self, recorded, device, starts, switches, lasting=True):
        sizes, steps, results, self.several = recorded
        if lasting and not sizes:
            sizes, steps, results = _allocations_first(steps, results, len(starts))
        self.sizes = sizes          # sizes of the first allocations
        self.steps = [_ready(s, device, starts) if s[0] == LAUNCH else s for s in steps]
        self.results = [r if r.__class__ is int else _with_layout(r, device, starts) for r in results]
        self.switches = switches

    def __call__(self, arrays, device):
        stream = streams.current(device).handle
        held: list = []
        at: list = []
        for a in arrays:
            memory = a.memory
            if memory.stream != stream:
                memory.used_on(stream)
            held.append(memory)
            at.append(memory.pointer + a.offset)
        sizes = self.sizes
        if sizes:
            for memory in (Memory(device, sizes[0], stream),) if len(sizes) == 1 else pools.taken(device, sizes, stream):
                held.append(memory)
                at.append(memory.pointer)
        for step in self.steps:
            what = step[0]
            if what == _REPEATED:
                step[1](stream, at)
            elif what == TAKE:
                memory = Memory(device, step[1], stream)
                held.append(memory)
                at.append(memory.pointer)
            elif what == DROP:
                held[step[1]] = None
            elif what == _CALL:
                self._call(step, at, stream)
            else:
                _OTHERS[what](step, at, stream)
        found = [arrays[r] if r.__class__ is int else _array(r, held) for r in self.results]
        return tuple(found) if self.several else found[0]

    def _call(self, step, at, stream):
        """Launch a kernel that was being compiled when the list was made, or that needs memory of its own."""
        _, function, grid, args, moving = step
        function(grid, stream, *launch.bound_arguments(args, moving, at))
        if function.__class__ is launch.PendingFunction and function.loaded is not None:
            self.steps = [_launching(function.loaded, grid, args, moving) if s is step else s for s in self.steps]


def taken_first(steps) -> tuple:
    """Return (sizes of all allocations, the other steps) of a list without frees; of others ((), all steps)."""
    if any([s[0] == DROP for s in steps]):      # noqa: C419  (quicker)
        return (), steps
    return tuple([s[1] for s in steps if s[0] == TAKE]), tuple([s for s in steps if s[0] != TAKE])


def _allocations_first(steps, results, operands: int) -> tuple:
    """Return (sizes of the first allocations, steps, results) of a list with frees, for so many operands."""
    dropped = {s[1]: n for n, s in enumerate(steps) if s[0] == DROP}
    if not dropped:
        return (), steps, results
    takes = dict(enumerate([n for n, s in enumerate(steps) if s[0] == TAKE], operands))
    lives = [Life(number, -(-steps[n][1] // ROUND) * ROUND, n, dropped[number]) for number, n in takes.items()
             if number in dropped and steps[n][1] <= SMALL]
    inside, shared_bytes = allocate(lives, 0) if len(lives) > 1 else ({}, 0)
    freed = min([n for number, n in dropped.items() if number not in inside], default=len(steps))
    first = [number for number, n in takes.items() if number not in inside and n < freed]
    later = [number for number, n in takes.items() if number not in inside and n > freed]
    sizes = [steps[takes[number]][1] for number in first] + ([shared_bytes] if inside else [])
    slots = {number: (i, 0) for i, number in enumerate([*range(operands), *first])}
    slots |= {number: (operands + len(first), more) for number, more in inside.items()}
    slots |= {number: (i, 0) for i, number in enumerate(later, operands + len(sizes))}
    gone = {*[takes[number] for number in (*first, *inside)], *[dropped[number] for number in inside]}
    return (sizes, [_with_slots(s, slots) for n, s in enumerate(steps) if n not in gone],
            [r if r.__class__ is int else (slots[r[0]][0], *r[1:]) for r in results])


def _with_slots(step, slots) -> tuple:
    """Return a step on other slots, each (number, bytes from its start)."""
    def new(number, more):
        if number is None:
            return None, more
        where, from_there = slots[number]
        return where, more + from_there

    what = step[0]
    if what == LAUNCH:
        return *step[:5], tuple([(n, *new(number, more)) for n, number, more in step[5]]), step[6]
    if what == FILL:
        return *step[:2], *new(*step[2:4]), *step[4:]
    if what == COPY:
        return *step[:2], *new(*step[2:4]), *new(*step[4:6]), step[6]
    return (DROP, slots[step[1]][0]) if what == DROP else step


def _with_layout(result, device, starts) -> tuple:
    """Return a result as `LaunchRecorder` has it, with the number of its layout."""
    place, shape, strides, dtype, offset, *_ = result
    start = (starts[place] if place < len(starts) else 0) + offset
    return *result, number_of(device, shape, strides, dtype, start & BETWEEN)


def _ready(step, device, starts) -> tuple:
    """Return a launch with its loaded kernel; the operands' starts determine which addresses are aligned."""
    _, form, how, grid, args, moving, mask = step
    count = len(starts)
    for n, number, more in moving:
        if (starts[number] + more if number < count else more) & BETWEEN:
            mask |= 1 << n
    return _launching(form.function(device, mask, how, form.units(args)), grid, args, moving)


def _launching(function, grid, args, moving) -> tuple:
    if function.__class__ is launch.PendingFunction or function.binary.scratch:
        return _CALL, function, grid, args, moving
    return _REPEATED, launch.RepeatedLaunch(function, grid, args, moving)


def _fill(step, at, stream):
    _, ask, number, more, value, count = step
    ask(_address(at, number, more), value, count, stream)


def _copy(step, at, stream):
    _, ask, to, to_more, source, source_more, size = step
    ask(_address(at, to, to_more), _address(at, source, source_more), size, stream)


_OTHERS = {FILL: _fill, COPY: _copy, CHECK: lambda step, at, stream: launched(step[1]),
           KEEP: lambda step, at, stream: _use(step[1], stream)}


def _address(at, number, more):
    return more if number is None else at[number] + more


def _use(memory, stream):
    memory.used_on(stream)
    pools.keep(memory)


def _array(result, held):
    made = _new(DeviceArray)
    place, made.shape, made.strides, made.dtype, made.offset, made.is_contiguous, whole, made.layout = result
    memory = made.memory = held[place]
    made.kind, made.base = KIND, None if whole else DeviceArray(KIND, memory, (memory.nbytes,), "uint8")
    return made


OURS = frozenset((Memory, NoMemory))        # memory of others may overlap


class LaunchRecorder:
    """Recorder of one run, on memory of ours.

    symbolic  whether sizes are symbols
    calls     number of driver calls; `listed_calls` is the number of those in the list
    odd       whether a call happened that no list can repeat
    """

    holds_back = False

    def __init__(self, arrays, symbolic=False):
        self.symbolic = symbolic
        self.steps: list = []
        self._endings: list = []            # of allocations
        self._dropped: deque = deque()      # those of allocations that went
        self.calls = self.listed_calls = 0
        self.odd = False
        self.arrays, self.count = arrays, len(arrays)
        self.regions: list = [(a.memory.pointer, a.memory.nbytes, a.pointer, n) for n, a in enumerate(arrays)]
        self.numbers: dict = {}             # numbers of allocations, by id

    def place(self, address):
        """Return (number, bytes from its start) of an address, or (None, the address) if it is constant."""
        now = hint(address)
        for start, size, first, number in self.regions:
            if start <= now < start + size:
                return number, address - first
        self.odd = True
        return 0, 0

    def took(self, memory, nbytes):
        self._note_dropped()
        self._endings.append(Ending(memory, self._dropped.append, self.count))
        self.numbers[id(memory)] = self.count
        self.regions.append((memory.pointer, memory.nbytes, memory.pointer, self.count))
        self._add((TAKE, nbytes))
        self.count += 1

    def _note_dropped(self):
        """Record the allocations that went since the last step."""
        while self._dropped:
            number = self._dropped.popleft().left
            self.numbers = {at: n for at, n in self.numbers.items() if n != number}
            self.regions = [r for r in self.regions if r[3] != number]
            self.steps.append((DROP, number))

    def _add(self, step):
        self._note_dropped()
        self.steps.append(step)

    def launched(self, form, how, grid, args):
        """Record a launch: its form, and its compilation parameters without facts about sizes."""
        self.listed_calls += 1
        moving = self._moving(args, form.addresses)
        still = set(form.pointers).difference([n for n, _, _ in moving])
        self._add((LAUNCH, form, how, tuple(grid), tuple(args), moving, unaligned(still, args)))

    def _moving(self, args, addresses):
        moving = [(n, *self.place(args[n])) for n in addresses]
        return tuple([m for m in moving if m[1] is not None])

    def filled(self, ask, address, value, count):
        self.listed_calls += 1
        self._add((FILL, ask, *self.place(address), value, count))

    def copied(self, ask, to, source, size):
        self.listed_calls += 1
        self._add((COPY, ask, *self.place(to), *self.place(source), size))

    def holds(self, memory):
        """Record permanent memory of neither operands nor the call; its address stays in the list."""
        if isinstance(memory, Memory):
            self._add((KEEP, memory))
            self.regions.append((memory.pointer, memory.nbytes, 0, None))

    def checked(self, words):
        """Record a launch that may write status words."""
        self.regions.append((words.pointer, words.nbytes, 0, None))
        self._add((CHECK, words))

    def list(self, result) -> tuple | None:
        """Return (sizes of the first allocations, steps, results, whether they are several), or None if the list is
        incomplete."""
        self._note_dropped()
        several = type(result) is tuple
        results = [self._result(a) for a in (result if several else (result,))]
        if self.odd or self.calls != self.listed_calls or None in results:
            return None
        return *taken_first(tuple(self.steps)), tuple(results), several

    def _result(self, a):
        """Return a result as (number of its memory, layout, whether it is the whole memory); an operand as its number."""
        number = self.numbers.get(id(a.memory)) if a.__class__ is DeviceArray else None
        if number is None:
            return next((n for n, given in enumerate(self.arrays) if given is a), None)
        return (number, a.shape, a.strides, a.dtype, a.offset, a.is_contiguous, a.base is None)


class SizedList:
    """A list with symbols, for all numbers that meet the conditions of its recording."""

    def __init__(self, recorded, scope, names, switches):
        *of_sizes, self.several = recorded
        self.holds = condition_check(scope.conditions, names)
        self.evaluate = data_evaluator(tuple(of_sizes), names)
        self.switches = switches

    def bind(self, numbers, device, starts, lasting) -> LaunchList:
        """Return the list for these numbers; see `LaunchList`."""
        return LaunchList((*self.evaluate(*numbers), self.several), device, starts, self.switches, lasting)
