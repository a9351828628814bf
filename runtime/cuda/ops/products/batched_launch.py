"""Batched launches: one kernel for many sets of operands (`passes/codegen/triton/loops/multi_tensor.py`)."""

from .....ir.symbols.symbolic import hint
from .....passes.codegen.triton.ir.source import POINTER, SIZE
from .....passes.codegen.triton.loops import configs
from ...compiler import compile as compiler
from ...compiler import launch
from ...compiler.kernels import Form, PreparedLaunch, form_of
from ...driver.driver_state import thread

UNITS = compiler.ALIGNED, compiler.EVEN[-1]       # divisors that distinguish variants, the largest first


class FormOfSets(Form):
    """The form of a source for many sets. A known divisor holds for a parameter in all sets, so that few variants are compiled.
    Nothing is known of shared addresses and of program counts.

    set_units  for each size of a set, the divisors that distinguish variants, the largest first
    set        number of own pointers of a set; `own` are those of all sets, as bits
    """

    def __init__(self, source, shared, slots, set_units):
        super().__init__(source, [p.name for p in source.parameters if p.kind != SIZE])
        self.slots, self.set_units = slots, set_units
        self.anywhere = _bits(n for n in self.pointers if n < shared)
        self.own = _bits(n for n in self.pointers if n >= shared)
        self.set = sum([n >= shared for n in self.pointers]) // slots

    def known(self, sizes) -> tuple:
        """Return the common divisor of each size of a set, given those of all sets in turn, the number of programs last."""
        columns = [sizes[n::len(self.set_units) + 1] for n in range(len(self.set_units))]
        return tuple([min([_unit(n, units) for n in column]) for column, units in zip(columns, self.set_units)])

    def units(self, args):
        return (*self.known([args[n] for n in self.sizes]), 0) * self.slots

    def function(self, device, mask, how, units):
        nothing = bool(self.set_units) and not any(units)
        return super().function(device, self.anywhere | (self.own if mask & self.own or nothing else 0), how, units)


def _bits(numbers) -> int:
    return sum([1 << n for n in numbers])


def _unit(n: int, units) -> int:
    return next((unit for unit in units if n % unit == 0), 0)


class BatchedLaunch:
    """A launch for up to `slots` sets of operands.

    `shared` is the number of leading parameters that all sets share; `units` as `set_units` of `FormOfSets`.
    """

    def __init__(self, one: configs.Launch, shared: int, slots: int, units: tuple, wide=False):
        self.form = form_of(one.source, FormOfSets, shared, slots, units)
        self.how = one.constants, one.warps, one.stages, wide
        self.functions: dict = {}

    def __call__(self, device, stream, known, shared, addresses, sizes, programs):
        """Launch.

        `shared` are the common parameters. `addresses` and `sizes` are those of each set in turn, with its number of programs
        among the sizes; `programs` is the total. `known` are the common divisors (`FormOfSets`).
        """
        form, grid, all_bits = self.form, (programs, 1, 1), 0
        missing = form.set * form.slots - len(addresses)
        args = [*shared, *addresses, *addresses[:1] * missing, *sizes, *(0,) * (len(form.sizes) - len(sizes))]
        if thread.recorder is not None:
            thread.recorder.launched(form, self.how, grid, args)
            grid, args, addresses = tuple(map(hint, grid)), list(map(hint, args)), list(map(hint, addresses))
        for address in addresses:
            all_bits |= address
        is_whole = all_bits % compiler.ALIGNED == 0
        function = self.functions.get((device, is_whole, known)) or self._function(device, is_whole, known)
        function(grid, stream, *args)

    def _function(self, device, is_whole, known):
        function = self.form.function(device, 0 if is_whole else self.form.own, self.how, (*known, 0) * self.form.slots)
        if function.__class__ is launch.Function:
            self.functions[device, is_whole, known] = function
        return function

    def variant(self, arch, is_whole, known) -> compiler.Variant:
        """Return the variant for addresses that are all aligned, or not."""
        mask = self.form.anywhere | (0 if is_whole else self.form.own)
        return self.form.variant(arch, mask, self.how, (*known, 0) * self.form.slots)


def are_alike(launches) -> bool:
    """Return whether one launch can serve several."""
    return None not in launches and len({(one.launch.source, one.launch.constants, one.launch.warps) for one in launches}) == 1


class Grouped:
    """Similar prepared launches as one; other arguments as for `ManyStep`."""

    def __init__(self, kernel, launches: list[PreparedLaunch], shared, over, slots):
        self.each, one = launches, launches[0].launch
        written = {result for result, _ in over}
        parameters = [(n, p) for n, p in enumerate(one.source.parameters) if p.name not in written]
        self.shared = [n for n, p in parameters if p.name in shared]
        self.pointers = [n for n, p in parameters if p.kind == POINTER and p.name not in shared]
        sizes = [n for n, p in parameters if p.kind == SIZE]
        counts = [e.launch.grid[0] * e.launch.grid[1] for e in launches]
        self.sizes = [n for e, count in zip(launches, counts) for n in (*[e.template[i] for i in sizes], count)]
        self.programs = sum(counts)
        batch = configs.multi_tensor(kernel, frozenset(), one, slots, shared, over)
        self.kernel = BatchedLaunch(batch, len(self.shared), slots, (UNITS,) * len(sizes), any(e.how[-1] for e in launches))
        self.known = self.kernel.form.known(list(map(hint, self.sizes)))

    def __call__(self, device, stream, rows):
        """Launch; `rows` are the operands of each, and its scratch memory."""
        rows = [e.arguments(*row) for e, row in zip(self.each, rows)]
        shared = [rows[0][n] for n in self.shared]
        addresses = [row[n] for row in rows for n in self.pointers]
        self.kernel(device, stream, self.known, shared, addresses, self.sizes, self.programs)
