"""A list of what the driver is asked, ready to be repeated on other operands; `launch_list.py` takes such lists down.

Its places are numbered: the operands, then memory in the order in which it is taken. What is small and goes back before the
list ends lies in one piece, parts that are not needed at once in the same places. That piece is taken before all else, and so
are results, unless something large goes back before them, whose memory may be what they get.
"""

from ....ir.symbols.substitute import condition_check, data_evaluator
from ....ir.symbols.symbolic import hint
from ....passes.schedule.plan_memory import Life, placed
from ...core.device_array import DeviceArray
from ..compiler import launch
from ..compiler.kernels import unaligned
from ..driver import streams
from ..memory import pools
from ..memory.allocator import ROUND, SMALL
from ..memory.arrays import KIND
from ..memory.pools import Memory, NoMemory
from ..memory.status_words import launched
from .layout_keys import BETWEEN, number_of

_new = object.__new__
TAKE, DROP, LAUNCH, FILL, COPY, CHECK, KEEP = range(7)      # what a step does
_REPEATED, _CALL = 7, 8


class Recipe:
    """A list that can be repeated on operands of one kind, which begin at `starts` between whole vectors. What is `lasting` is
    worth arranging."""

    def __init__(self, noted, device, starts, switches, lasting=True):
        sizes, steps, results, self.many = noted
        if lasting and not sizes:
            sizes, steps, results = _arranged(steps, results, len(starts))
        self.sizes = sizes          # of memory that is taken first
        self.steps = [_ready(s, device, starts) if s[0] == LAUNCH else s for s in steps]
        self.results = [r if r.__class__ is int else _laid_out(r, device, starts) for r in results]
        self.switches = switches

    def __call__(self, arrays, device):
        """Return the results on other operands."""
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
        return tuple(found) if self.many else found[0]

    def _call(self, step, at, stream):
        """Return a launch of a kernel that was being compiled when the list was made, or that asks for memory of its own."""
        _, function, grid, args, moving = step
        function(grid, stream, *launch.moved(args, moving, at))
        if function.__class__ is launch.Coming and function.loaded is not None:
            self.steps = [_launching(function.loaded, grid, args, moving) if s is step else s for s in self.steps]


def taken_first(steps) -> tuple:
    """Return (the bytes of what is taken first, the steps that are left) of a list in which nothing goes back, so that all
    numbers stay as they are; of another one nothing, and all."""
    if any([s[0] == DROP for s in steps]):      # noqa: C419  (quicker)
        return (), steps
    return tuple([s[1] for s in steps if s[0] == TAKE]), tuple([s for s in steps if s[0] != TAKE])


def _arranged(steps, results, operands: int) -> tuple:
    """Return the same, and the results, of a list with so many operands in which something goes back."""
    dropped = {s[1]: n for n, s in enumerate(steps) if s[0] == DROP}
    if not dropped:
        return (), steps, results
    takes = dict(enumerate([n for n, s in enumerate(steps) if s[0] == TAKE], operands))
    lives = [Life(number, -(-steps[n][1] // ROUND) * ROUND, n, dropped[number]) for number, n in takes.items()
             if number in dropped and steps[n][1] <= SMALL]
    inside, together = placed(lives, 0) if len(lives) > 1 else ({}, 0)
    freed = min([n for number, n in dropped.items() if number not in inside], default=len(steps))
    first = [number for number, n in takes.items() if number not in inside and n < freed]
    later = [number for number, n in takes.items() if number not in inside and n > freed]
    sizes = [steps[takes[number]][1] for number in first] + ([together] if inside else [])
    places = {number: (i, 0) for i, number in enumerate([*range(operands), *first])}
    places |= {number: (operands + len(first), more) for number, more in inside.items()}
    places |= {number: (i, 0) for i, number in enumerate(later, operands + len(sizes))}
    gone = {*[takes[number] for number in (*first, *inside)], *[dropped[number] for number in inside]}
    return (sizes, [_placed_anew(s, places) for n, s in enumerate(steps) if n not in gone],
            [r if r.__class__ is int else (places[r[0]][0], *r[1:]) for r in results])


def _placed_anew(step, places) -> tuple:
    """Return a step on other places, each (number, bytes from there)."""
    def new(number, more):
        if number is None:
            return None, more
        where, from_there = places[number]
        return where, more + from_there

    what = step[0]
    if what == LAUNCH:
        return *step[:5], tuple([(n, *new(number, more)) for n, number, more in step[5]]), step[6]
    if what == FILL:
        return *step[:2], *new(*step[2:4]), *step[4:]
    if what == COPY:
        return *step[:2], *new(*step[2:4]), *new(*step[4:6]), step[6]
    return (DROP, places[step[1]][0]) if what == DROP else step


def _laid_out(result, device, starts) -> tuple:
    """What a result is like, as `Notes` has it, with the number of its layout."""
    place, shape, strides, dtype, offset, *_ = result
    start = (starts[place] if place < len(starts) else 0) + offset
    return *result, number_of(device, shape, strides, dtype, start & BETWEEN)


def _ready(step, device, starts) -> tuple:
    """Return a launch with its loaded kernel: which addresses are whole vectors' follows from where operands begin (new memory
    begins on one)."""
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


_OTHERS = {FILL: _fill, COPY: _copy, CHECK: lambda step, at, stream: launched(step[1]),
           KEEP: lambda step, at, stream: _use(step[1], stream)}


def _address(at, number, more):
    return more if number is None else at[number] + more


def _use(memory, stream):
    memory.used_on(stream)
    pools.keep(memory)


def _array(result, held):
    """Return an array that a call gives."""
    made = _new(DeviceArray)
    place, made.shape, made.strides, made.dtype, made.offset, made.is_contiguous, whole, made.layout = result
    memory = made.memory = held[place]
    made.kind, made.base = KIND, None if whole else DeviceArray(KIND, memory, (memory.nbytes,), "uint8")
    return made


OURS = frozenset((Memory, NoMemory))        # (others' memory may overlap)


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
        """Return (number, bytes from its start) of an address; (None, the address) where that stays as it is."""
        now = hint(address)
        for start, size, first, number in self.regions:
            if start <= now < start + size:
                return number, address - first
        self.odd = True
        return 0, 0

    def took(self, memory, nbytes):
        """Return new memory."""
        self.numbers[id(memory)] = self.count
        self.regions.append((memory.pointer, memory.nbytes, memory.pointer, self.count))
        self.steps.append((TAKE, nbytes))
        self.count += 1

    def dropped(self, memory):
        """Memory that went back."""
        number = self.numbers.pop(id(memory), None)
        if number is not None:
            self.regions = [r for r in self.regions if r[3] != number]
            self.steps.append((DROP, number))

    def launched(self, form, how, grid, args):
        """Return a kernel in the stream: its form, and how it was compiled but for what is known of sizes."""
        self.listed += 1
        moving = self._moving(args, form.addresses)
        still = set(form.pointers).difference([n for n, _, _ in moving])
        self.steps.append((LAUNCH, form, how, tuple(grid), tuple(args), moving, unaligned(still, args)))

    def _moving(self, args, addresses):
        moving = [(n, *self.place(args[n])) for n in addresses]
        return tuple([m for m in moving if m[1] is not None])

    def filled(self, ask, address, value, count):
        """Return bytes or words of one value."""
        self.listed += 1
        self.steps.append((FILL, ask, *self.place(address), value, count))

    def copied(self, ask, to, source, size):
        """Return bytes from one place to another."""
        self.listed += 1
        self.steps.append((COPY, ask, *self.place(to), *self.place(source), size))

    def kept(self, memory):
        """Memory of neither operands nor the call, which stays as it is: its address is in the list as a number."""
        if isinstance(memory, Memory):
            self.steps.append((KEEP, memory))
            self.regions.append((memory.pointer, memory.nbytes, 0, None))

    def checked(self, words):
        """Return a launch that may write words is about to come."""
        self.regions.append((words.pointer, words.nbytes, 0, None))
        self.steps.append((CHECK, words))

    def list(self, found) -> tuple | None:
        """Return (the bytes of what is taken first, steps, results, whether these are several), if the list is whole, for a run
        that gave `found`."""
        many = type(found) is tuple
        results = [self._result(a) for a in (found if many else (found,))]
        if self.odd or self.asked != self.listed or None in results:
            return None
        return *taken_first(tuple(self.steps)), tuple(results), many

    def _result(self, a):
        """Return (the number of its memory, what it is like there, whether it is no view into it); of an operand its number."""
        number = self.numbers.get(id(a.memory)) if a.__class__ is DeviceArray else None
        if number is None:
            return next((n for n, given in enumerate(self.arrays) if given is a), None)
        return (number, a.shape, a.strides, a.dtype, a.offset, a.is_contiguous, a.base is None)


class SizedList:
    """A list with symbols, for all numbers that meet the conditions under which it was taken down."""

    def __init__(self, noted, scope, names, switches):
        *of_sizes, self.many = noted
        self.holds = condition_check(scope.conditions, names)
        self.evaluate = data_evaluator(tuple(of_sizes), names)
        self.switches = switches

    def bind(self, numbers, device, starts, lasting) -> Recipe:
        """Return the list for these numbers; see `Recipe`."""
        return Recipe((*self.evaluate(*numbers), self.many), device, starts, self.switches, lasting)
