"""Lists of what eager operators ask of the driver: taken down while one runs, repeated on other operands.

Memory taken and given back, launches, fills and copies stand in a list, with every address as a place in an operand or in
memory of the call. Its numbers may be symbols, where the operands' sizes are (`launch_cache.py`); it is bound to those of a
call.
"""

from ....ir.symbols.substitute import condition_check, data_evaluator
from ....ir.symbols.symbolic import hint
from ...core.device_array import DeviceArray
from ..compiler.kernels import unaligned
from ..memory.pools import Memory, NoMemory
from .launch_list import CHECK, COPY, DROP, FILL, KEEP, LAUNCH, TAKE, Recipe, taken_first

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
        self.steps.append((TAKE, nbytes))
        self.count += 1

    def dropped(self, memory):
        """Memory that went back."""
        number = self.numbers.pop(id(memory), None)
        if number is not None:
            self.regions = [r for r in self.regions if r[3] != number]
            self.steps.append((DROP, number))

    def launched(self, form, how, grid, args):
        """A kernel in the stream: its form, and how it was compiled but for what is known of sizes."""
        self.listed += 1
        moving = self._moving(args, form.addresses)
        still = set(form.pointers).difference([n for n, _, _ in moving])
        self.steps.append((LAUNCH, form, how, tuple(grid), tuple(args), moving, unaligned(still, args)))

    def _moving(self, args, addresses):
        moving = [(n, *self.place(args[n])) for n in addresses]
        return tuple([m for m in moving if m[1] is not None])

    def filled(self, ask, address, value, count):
        """Bytes or words of one value."""
        self.listed += 1
        self.steps.append((FILL, ask, *self.place(address), value, count))

    def copied(self, ask, to, source, size):
        """Bytes from one place to another."""
        self.listed += 1
        self.steps.append((COPY, ask, *self.place(to), *self.place(source), size))

    def kept(self, memory):
        """Memory of neither operands nor the call, which stays as it is: its address is in the list as a number."""
        if isinstance(memory, Memory):
            self.steps.append((KEEP, memory))
            self.regions.append((memory.pointer, memory.nbytes, 0, None))

    def checked(self, words):
        """A launch that may write words is about to come."""
        self.regions.append((words.pointer, words.nbytes, 0, None))
        self.steps.append((CHECK, words))

    def list(self, found) -> tuple | None:
        """(the bytes of what is taken first, steps, results, whether these are several), if the list is whole, for a run that
        gave `found`."""
        many = type(found) is tuple
        results = [self._result(a) for a in (found if many else (found,))]
        if self.odd or self.asked != self.listed or None in results:
            return None
        return *taken_first(tuple(self.steps)), tuple(results), many

    def _result(self, a):
        """(the number of its memory, what it is like there, whether it is no view into it); of an operand its number."""
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
        """The list for these numbers; see `Recipe`."""
        return Recipe((*self.evaluate(*numbers), self.many), device, starts, self.switches, lasting)
