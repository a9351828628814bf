"""Fused kernels on a device: compiled for it, and launched on arrays with little Python between.

A `Prepared` is one kernel with its sizes: its launches, each with what stays the same from call to call worked out.
"""

import functools
from typing import Any

from ....ir import dtype as dt
from ....ir.kernel.kernel import Kernel
from ....ir.symbols.substitute import function_of
from ....ir.symbols.symbolic import hint, is_symbol
from ....passes.codegen.triton.ir.source import POINTER, SIZE
from ....passes.codegen.triton.loops import configs
from ....passes.codegen.triton.loops.configs import Launch
from ..driver import context as contexts
from ..driver import launch_queue, streams
from ..driver.driver_state import thread as noting
from ..memory.arrays import used
from ..memory.pools import Memory
from . import compile as compiler
from .launch import Function, coming, function

_NARROW, _ROOM, _MOST_FORMS = 1 << 31, configs.WHOLE * configs.TILE, 4096
_FAR = _NARROW - (1 << 24)  # elements: the addresses of masked lanes may lie 1 << 24 beyond an array
_forms: dict = {}           # by the identity of their sources
LISTENERS: list = []        # told of each `Prepared` that runs, the last one
OBSERVERS: list = []        # told (step, its run) instead of the run, the last one


class Prepared:
    """A kernel, the values of its symbols, and which of its buffers come as numbers.

    offsets   bytes that are added to the address of each buffer, in order
    apart     whether results lie where operands do that other threads may read
    among     whether it runs in one launch with others
    """

    def __init__(self, kernel: Kernel, sizes: dict, offsets=None, numbers=frozenset(), apart=False, among=False):
        self.kernel, self.sizes = kernel, sizes
        self.wide = _is_far(kernel)(*[sizes[name] for name in kernel.symbols])
        made = configs.launches(kernel, sizes, numbers, apart, among)
        self.launches = [PreparedLaunch(one, sizes, kernel.names, offsets, self.wide) for one in made]
        self.scratch = {name: size for one in made for name, size in one.scratch}

    def __call__(self, device: int, stream: int, operands):
        """Launch; `operands` are the address (or the number) of each buffer, in order."""
        self.run(device, stream, operands, self.launches)

    def run(self, device, stream, operands, launches) -> dict:
        """Run some of the launches, the first of all among them; the memory that their parts share, by name."""
        if LISTENERS:
            LISTENERS[-1](self)
        held = {name: Memory(device, size, stream) for name, size in self.scratch.items()}
        for one in launches:
            one(device, stream, operands, held)
        return held

    @property
    def end(self):
        """The launch that makes what there is one of for each row, where others come before it; else None."""
        return self.launches[-1] if len(self.launches) > 1 and configs.is_end(self.launches[-1].launch) else None


class Form:
    """What all launches of a source have in common, whatever their sizes: where each parameter comes from.

    moving      (parameter, buffer) of addresses, and `numbers` the same of numbers, which nothing is added to: -0.0 + 0 is 0.0
    scratch     (parameter, name)
    given       names of the parameters that come with the sizes, None for the others
    sizes       the parameters that may be marked as multiples
    functions   what was loaded, by device, which addresses are no multiples of 16 (as bits), and how it was compiled
    """

    def __init__(self, source, buffers):
        at = {name: i for i, name in enumerate(buffers)}
        self.source, parameters = source, source.parameters
        self.moving = [(n, at[p.name]) for n, p in enumerate(parameters) if p.kind == POINTER and p.name in at]
        self.numbers = [(n, at[p.name]) for n, p in enumerate(parameters) if p.kind != POINTER and p.name in at]
        self.scratch = [(n, p.name) for n, p in enumerate(parameters) if p.kind == POINTER and p.name not in at]
        self.still = (0,) * len(at)
        own = {n for n, _ in (*self.moving, *self.numbers, *self.scratch)}
        self.given = [None if n in own else p.name for n, p in enumerate(parameters)]
        self.sizes = [n for n, p in enumerate(parameters) if p.kind == SIZE and n not in own]
        self.pointers = [n for n, _ in self.moving]
        self.addresses = tuple([n for n, p in enumerate(parameters) if p.kind == POINTER])
        self.functions: dict = {}

    def units(self, args) -> tuple:
        """What the sizes among the arguments are known to be multiples of."""
        return tuple([_unit(args[n]) for n in self.sizes])

    def even(self, units) -> tuple:
        """Return (parameter, 8 or 4) of sizes that are multiples of that and no more."""
        return tuple([(n, unit) for n, unit in zip(self.sizes, units) if unit and unit != compiler.ALIGNED])

    def aligned(self, units) -> frozenset:
        """Return the parameters that are multiples of 16 wherever operands lie."""
        marked = [n for n, unit in zip(self.sizes, units) if unit == compiler.ALIGNED]
        return frozenset([*marked, *[n for n, _ in self.scratch]])

    def variant(self, arch, mask, how, units) -> compiler.Variant:
        """What is compiled; `how` are constants, warps, stages, and whether addresses are of 64 bits."""
        constants, warps, stages, wide = how
        aligned = self.aligned(units) | {n for n in self.pointers if not mask >> n & 1}
        return compiler.Variant(self.source, constants, warps, arch, wide, aligned, stages, self.even(units))

    def function(self, device, mask, how, units):
        """Return the same, loaded, or to be when it is compiled."""
        key = device, mask, how, units
        found = self.functions.get(key)
        if found is None:
            may_wait = launch_queue.may()
            notes, noting.notes = noting.notes, None        # what is asked to load it is asked once
            try:
                variant = self.variant(contexts.context(device).arch, mask, how, units)
                found = coming(device, variant) if may_wait else function(device, compiler.compiled(variant))
                if found.__class__ is Function:
                    self.functions[key] = found
            finally:
                noting.notes = notes
        return found


def form_of(source, kind, *more):
    """Return the form of a source, `kind(source, *more)`: which these are, a source says by itself."""
    found = _forms.get(id(source))
    if found is None:
        if len(_forms) >= _MOST_FORMS:
            _forms.clear()
        found = _forms[id(source)] = kind(source, *more)        # (which keeps the source, so that no other has its id)
    return found


class PreparedLaunch:
    """One launch of a kernel: where each parameter comes from. `buffers` are the names of the operands, in order, to whose
    addresses `offsets` are added."""

    def __init__(self, one: configs.Launch, sizes, buffers, offsets=None, wide=False):
        form = self.form = form_of(one.source, Form, buffers)
        self.launch, self.offsets = one, offsets or form.still
        self.template = [0 if name is None else sizes[name] for name in form.given]
        self.how = one.constants, one.warps, one.stages, wide
        self.units: Any = None
        self.functions: dict = {}

    def __call__(self, device, stream, operands, held):
        form, args, together = self.form, self.arguments(operands, held), 0
        notes, grid, given = noting.notes, self.launch.grid, args
        if notes is not None:
            notes.launched(form, self.how, grid, args)
            grid, given = tuple(map(hint, grid)), list(map(hint, args))
        for n in form.pointers:
            together |= given[n]
        mask = 0 if not together & (compiler.ALIGNED - 1) else unaligned(form.pointers, given)
        function = self.functions.get((device, mask)) or self._function(device, mask, given)
        function(grid, stream, *given)

    def arguments(self, operands, held) -> list:
        """Return the parameters; `held` is scratch memory by name."""
        form, args, offsets = self.form, self.template.copy(), self.offsets
        for n, buffer in form.moving:
            args[n] = operands[buffer] + offsets[buffer]
        for n, buffer in form.numbers:
            args[n] = operands[buffer]
        for n, name in form.scratch:
            args[n] = held[name].pointer
        return args

    def _function(self, device, mask, args):
        if self.units is None:
            self.units = self.form.units(args)
        found = self.form.function(device, mask, self.how, self.units)
        if found.__class__ is Function:
            self.functions[device, mask] = found
        return found

    def variant(self, device, operands):
        """What is compiled for a launch on such operands."""
        args = self.template.copy()
        for n, buffer in self.form.moving:
            args[n] = operands[buffer] + self.offsets[buffer]
        arch = contexts.context(device).arch
        return self.form.variant(arch, unaligned(self.form.pointers, args), self.how, self.form.units(args))


def unaligned(pointers, args) -> int:
    """Which of the pointers do not start on whole vectors, as bits."""
    return sum([1 << n for n in pointers if args[n] % compiler.ALIGNED])


def _unit(n: int) -> int:
    """What a size is known to be a multiple of, 0 if nothing is said of it."""
    most, least = compiler.EVEN
    if n % least:
        return 0
    if not n % compiler.ALIGNED:
        return compiler.ALIGNED
    return 0 if n < compiler.LONG else least if n % most else most


def as_number(dtype: dt.DType, value):
    """Return a Python number as a launch gives it for a buffer of a dtype."""
    if dtype.is_floating_point:
        return value if is_symbol(value) else float(value)
    bits = 8 * dtype.itemsize
    if dtype is dt.bool_:
        return int(bool(value))
    n = int(value) & ((1 << bits) - 1)
    return n - (1 << bits) if dtype.is_signed and n >> (bits - 1) else n


@functools.lru_cache(4096)
def _is_far(kernel):
    """What says, by the kernel's symbols in order, whether an index or an offset that it works out needs 64 bits."""
    def text(n):
        return n if isinstance(n, str) else repr(n)

    reaches = ["*".join([text(d.extent) for d in kernel.dims] or ["1"])]
    for b in kernel.buffers:
        steps = [f"({text(d.extent)}-1)*abs({text(s)})" for d, s in zip(kernel.dims, b.strides) if s != 0]
        reaches.append("+".join(steps or ["0"]))
    return function_of(kernel.symbols, " or ".join([f"({r}) >= {_NARROW - _ROOM}" for r in dict.fromkeys(reaches)]))


def forget():
    """Forget what was loaded, for a driver that was replaced."""
    _forms.clear()


def launch(device, source, arrays, sizes, how, stages=3):
    """Return one launch. `arrays` are those of the pointer parameters in order, `sizes` the other parameters by name (sizes,
    strides and numbers), `how` is (constants, warps, grid)."""
    stream = streams.current(device).handle
    prepared(source, arrays, sizes, how, stages)(device, stream, [used(a, stream) for a in arrays], {})


def variant(device, source, arrays, sizes, how, stages=3):
    """What is compiled for such a launch."""
    return prepared(source, arrays, sizes, how, stages).variant(device, [a.pointer for a in arrays])


def prepared(source, arrays, sizes, how, stages=3) -> PreparedLaunch:
    """Such a launch, to be done many times. Numbers that `sizes` has not are given each time, in order, after the addresses."""
    wide = any([a.size >= _FAR for a in arrays]) or any([abs(sizes[name]) >= _FAR for name in source.sizes])  # noqa: C419  (quicker)
    constants, warps, grid = how
    buffers = (*source.pointers, *[name for name in source.numbers if name not in sizes])
    return PreparedLaunch(Launch(source, constants, warps, grid, stages=stages), sizes, buffers, wide=wide)
