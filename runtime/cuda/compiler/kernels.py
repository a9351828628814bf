"""Kernels prepared for launches with little Python work: fused kernels (`Prepared`) and hand-written ones (`launch`)."""

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
from ..driver.driver_state import DriverCache, thread
from ..memory.arrays import used
from ..memory.pools import Memory
from . import compile as compiler
from .launch import Function, function, pending_function

_NARROW, _ROOM = 1 << 31, configs.WHOLE * configs.TILE
_FAR = _NARROW - (1 << 24)  # elements: the addresses of masked lanes may be 1 << 24 beyond an array
_forms = DriverCache(4096)  # by the identity of their sources
LISTENERS: list = []        # called with each `Prepared` before it is launched; the last one only
OBSERVERS: list = []        # called with each step of a graph, and a function that runs it; the last one only


class Prepared:
    """A kernel with the values of its symbols, and its buffers that come as numbers.

    offsets   bytes that are added to the address of each buffer, in order
    apart     whether results overlap operands that other threads may read
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
        """Run the first launches; return the scratch memory that they share, by name."""
        if LISTENERS:
            LISTENERS[-1](self)
        held = {name: Memory(device, size, stream) for name, size in self.scratch.items()}
        for one in launches:
            one(device, stream, operands, held)
        return held

    @property
    def end(self):
        """The final launch for one value per row, after others; None if there is none."""
        return self.launches[-1] if len(self.launches) > 1 and configs.is_end(self.launches[-1].launch) else None


class Form:
    """Parameter layout of a source, common to all its launches whatever their sizes.

    moving      (parameter, buffer) of addresses; `numbers` likewise for numbers, to which nothing is added: -0.0 + 0 is 0.0
    scratch     (parameter, name)
    size_names  names of the parameters that come with the sizes, None for the others
    sizes       parameters that may be marked as multiples
    functions   loaded kernels, by device, unaligned addresses (as bits), and compilation parameters
    """

    def __init__(self, source, buffers):
        at = {name: i for i, name in enumerate(buffers)}
        self.source, parameters = source, source.parameters
        self.moving = [(n, at[p.name]) for n, p in enumerate(parameters) if p.kind == POINTER and p.name in at]
        self.numbers = [(n, at[p.name]) for n, p in enumerate(parameters) if p.kind != POINTER and p.name in at]
        self.scratch = [(n, p.name) for n, p in enumerate(parameters) if p.kind == POINTER and p.name not in at]
        self.still = (0,) * len(at)
        own = {n for n, _ in (*self.moving, *self.numbers, *self.scratch)}
        self.size_names = [None if n in own else p.name for n, p in enumerate(parameters)]
        self.sizes = [n for n, p in enumerate(parameters) if p.kind == SIZE and n not in own]
        self.pointers = [n for n, _ in self.moving]
        self.addresses = tuple([n for n, p in enumerate(parameters) if p.kind == POINTER])
        self.functions: dict = {}

    def units(self, args) -> tuple:
        return tuple([_unit(args[n]) for n in self.sizes])

    def even(self, units) -> tuple:
        """Return (parameter, 8 or 4) of sizes that are multiples of that and no more."""
        return tuple([(n, unit) for n, unit in zip(self.sizes, units) if unit and unit != compiler.ALIGNED])

    def aligned(self, units) -> frozenset:
        """Return the parameters that are multiples of 16 whatever the operands."""
        marked = [n for n, unit in zip(self.sizes, units) if unit == compiler.ALIGNED]
        return frozenset([*marked, *[n for n, _ in self.scratch]])

    def variant(self, arch, mask, how, units) -> compiler.Variant:
        constants, warps, stages, wide = how
        aligned = self.aligned(units) | {n for n in self.pointers if not mask >> n & 1}
        return compiler.Variant(self.source, constants, warps, arch, wide, aligned, stages, self.even(units))

    def function(self, device, mask, how, units):
        """Return the loaded kernel, or one that is still being compiled."""
        key = device, mask, how, units
        found = self.functions.get(key)
        if found is None:
            may_wait, recorder = launch_queue.may_defer(), thread.recorder
            try:
                thread.recorder = None          # (a kernel is loaded once)
                variant = self.variant(contexts.context(device).arch, mask, how, units)
                found = pending_function(device, variant) if may_wait else function(device, compiler.compiled(variant))
                if found.__class__ is Function:
                    self.functions[key] = found
            finally:
                thread.recorder = recorder
        return found


def form_of(source, kind, *more):
    """Return the form of a source, `kind(source, *more)`; the source alone determines it."""
    return _forms.get(id(source)) or _forms.put(id(source), kind(source, *more))     # (a form holds its source: ids stay valid)


class PreparedLaunch:
    """One launch of a kernel, with the source of each parameter.

    `buffers` are the names of the operands, in order, to whose addresses `offsets` are added.
    """

    def __init__(self, one: configs.Launch, sizes, buffers, offsets=None, wide=False):
        form = self.form = form_of(one.source, Form, buffers)
        self.launch, self.offsets = one, offsets or form.still
        self.template = [0 if name is None else sizes[name] for name in form.size_names]
        self.how = one.constants, one.warps, one.stages, wide
        self.units: Any = None
        self.functions: dict = {}

    def __call__(self, device, stream, operands, held):
        form, args, all_bits = self.form, self.arguments(operands, held), 0
        recorder, grid, arguments = thread.recorder, self.launch.grid, args
        if recorder is not None:
            recorder.launched(form, self.how, grid, args)
            grid, arguments = tuple(map(hint, grid)), list(map(hint, args))
        for n in form.pointers:
            all_bits |= arguments[n]
        mask = 0 if not all_bits & (compiler.ALIGNED - 1) else unaligned(form.pointers, arguments)
        function = self.functions.get((device, mask)) or self._function(device, mask, arguments)
        function(grid, stream, *arguments)

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
        args = self.template.copy()
        for n, buffer in self.form.moving:
            args[n] = operands[buffer] + self.offsets[buffer]
        arch = contexts.context(device).arch
        return self.form.variant(arch, unaligned(self.form.pointers, args), self.how, self.form.units(args))


def unaligned(pointers, args) -> int:
    """Return the pointers that do not start on whole vectors, as bits."""
    return sum([1 << n for n in pointers if args[n] % compiler.ALIGNED])


def _unit(n: int) -> int:
    """Return the known divisor of a size, or 0."""
    most, least = compiler.EVEN
    if n % least:
        return 0
    if not n % compiler.ALIGNED:
        return compiler.ALIGNED
    return 0 if n < compiler.LONG else least if n % most else most


def as_number(dtype: dt.DType, value):
    """Return a Python number as a launch parameter for a buffer of a dtype."""
    if dtype.is_floating_point:
        return value if is_symbol(value) else float(value)
    bits = 8 * dtype.itemsize
    if dtype is dt.bool_:
        return int(bool(value))
    n = int(value) & ((1 << bits) - 1)
    return n - (1 << bits) if dtype.is_signed and n >> (bits - 1) else n


@functools.lru_cache(4096)
def _is_far(kernel):
    """Return a function of the kernel's symbols: whether an index or offset needs 64 bits."""
    def text(n):
        return n if isinstance(n, str) else repr(n)

    reaches = ["*".join([text(d.extent) for d in kernel.dims] or ["1"])]
    for b in kernel.buffers:
        steps = [f"({text(d.extent)}-1)*abs({text(s)})" for d, s in zip(kernel.dims, b.strides) if s != 0]
        reaches.append("+".join(steps or ["0"]))
    return function_of(kernel.symbols, " or ".join([f"({r}) >= {_NARROW - _ROOM}" for r in dict.fromkeys(reaches)]))


def launch(device, source, arrays, sizes, how, stages=3):
    """Launch a hand-written kernel.

    `arrays` are the pointer parameters in order, `sizes` the other parameters by name (sizes, strides and numbers), `how` is
    (constants, warps, grid).
    """
    stream = streams.current(device).handle
    prepared(source, arrays, sizes, how, stages)(device, stream, [used(a, stream) for a in arrays], {})


def variant(device, source, arrays, sizes, how, stages=3):
    """Return the variant that such a launch compiles."""
    return prepared(source, arrays, sizes, how, stages).variant(device, [a.pointer for a in arrays])


def prepared(source, arrays, sizes, how, stages=3) -> PreparedLaunch:
    """Return such a launch for repeated use. Numbers that `sizes` lacks are passed at each launch, after the addresses."""
    wide = any([a.size >= _FAR for a in arrays]) or any([abs(sizes[name]) >= _FAR for name in source.sizes])  # noqa: C419  (quicker)
    constants, warps, grid = how
    buffers = (*source.pointers, *[name for name in source.numbers if name not in sizes])
    return PreparedLaunch(Launch(source, constants, warps, grid, stages=stages), sizes, buffers, wide=wide)
