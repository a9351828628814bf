"""Kernels that serve many sets of operands in one launch (`passes/codegen/triton/many.py`)."""

from ...passes.codegen.triton import configs
from ...passes.codegen.triton.nest import POINTER, SIZE
from . import compile as compiler
from . import context as contexts
from . import launch
from .kernels import PreparedLaunch
from .noting import thread as noting


class Together:
    """A launch for up to `slots` sets of operands.

    shared    how many parameters all sets share; they come first
    sets      the numbers of the pointers that each set has its own of, set by set, and `sizes` those of sizes
    """

    def __init__(self, one: configs.Launch, shared: int, slots: int, wide=False):
        self.launch, self.slots, self.wide = one, slots, wide
        parameters = one.source.parameters
        self.addresses = tuple([n for n, p in enumerate(parameters) if p.kind == POINTER])
        self.sets = [n for n in self.addresses if n >= shared]
        self.sizes = [n for n, p in enumerate(parameters) if p.kind == SIZE]
        self.functions: dict = {}

    def __call__(self, device, stream, known, shared, addresses, sizes, programs):
        """Launches. `shared` are the parameters of all sets, `addresses` and `sizes` those of each set in turn, among these the
        number of its programs; there are `programs` of them in all. `known` is what is known of them (`variant`)."""
        missing = len(self.sets) - len(addresses)
        args = [*shared, *addresses, *addresses[:1] * missing, *sizes, *(0,) * (len(self.sizes) - len(sizes))]
        grid = programs, 1, 1
        function = self.functions.get((device, known)) or self._function(device, known)
        function(grid, stream, *args)
        if noting.notes is not None:
            noting.notes.launched(function, grid, args, self.addresses)

    def _function(self, device, known):
        variant = self.variant(contexts.context(device).arch, known)
        found = self.functions[device, known] = launch.function(device, compiler.compiled(variant))
        return found

    def variant(self, arch, known) -> compiler.Variant:
        """What is compiled where of a set's pointers and sizes is `known`, in order, of how much each is a multiple in all
        sets; 1 says nothing. What is shared may lie anywhere, and of the number of programs nothing is known."""
        one, count = self.launch, len(self.sets) // self.slots
        pointers, sizes = known[:count], (*known[count:], 1)
        units = [*zip(self.sets, pointers * self.slots), *zip(self.sizes, sizes * self.slots)]
        aligned = frozenset([n for n, found in units if found == compiler.ALIGNED])
        even = tuple([(n, found) for n, found in units if found in compiler.EVEN])
        return compiler.Variant(one.source, one.constants, one.warps, arch, self.wide, aligned, one.stages, even)


def are_alike(launches) -> bool:
    """Whether one launch can do for several."""
    return None not in launches and len({(one.launch.source, one.launch.constants, one.launch.warps) for one in launches}) == 1


class Grouped:
    """Prepared launches alike as one; other arguments are those of `ManyStep`."""

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
        self.units = tuple([min([_unit(e.template[n]) for e in launches]) for n in sizes])
        together = configs.many(kernel, frozenset(), one, slots, shared, over)
        self.kernel = Together(together, len(self.shared), slots, any(e.wide for e in launches))

    def __call__(self, device, stream, rows):
        """Launches; `rows` are the operands of each, and its scratch memory."""
        rows = [e.arguments(*row) for e, row in zip(self.each, rows)]
        shared = [rows[0][n] for n in self.shared]
        addresses, together = [row[n] for row in rows for n in self.pointers], 0
        for address in addresses:
            together |= address
        aligned = compiler.ALIGNED if together % compiler.ALIGNED == 0 else 1
        self.kernel(device, stream, (aligned,) * len(self.pointers) + self.units, shared, addresses, self.sizes, self.programs)


def _unit(n: int) -> int:
    """Of how much a size is a multiple, as far as compiled code wants to know: of 16, of 4, or 1."""
    return next((unit for unit in (compiler.ALIGNED, compiler.EVEN[-1]) if n % unit == 0), 1)
