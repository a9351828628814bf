"""Fused kernels on a device: compiled for it, and launched on arrays with little Python between.

A `Prepared` is one kernel with its sizes: its launches, each with what stays the same from call to call worked out.
"""

import functools

from ...ir import dtype as dt
from ...ir.kernel import Kernel
from ...ir.substitute import function_of
from ...passes.codegen.triton import configs
from ...passes.codegen.triton.nest import NUMBER, POINTER, SIZE
from . import compile as compiler
from . import context as contexts
from . import launch
from .noting import thread as noting
from .pools import Memory

_NARROW, _MOST_FORMS = 1 << 31, 4096
_forms: dict = {}           # by the identity of their sources
LISTENERS: list = []        # told of each `Prepared` that runs, the last one


class Prepared:
    """A kernel, the values of its symbols, and which of its buffers come as numbers.

    offsets   bytes that are added to the address of each buffer, in order
    apart     whether results lie where operands do that other threads may read
    """

    def __init__(self, kernel: Kernel, sizes: dict, offsets=None, numbers=frozenset(), apart=False):
        self.kernel, self.sizes = kernel, sizes
        self.wide = _reach(kernel)(*[sizes[name] for name in kernel.symbols]) >= _NARROW
        made = configs.launches(kernel, sizes, numbers, apart)
        self.launches = [PreparedLaunch(one, sizes, kernel.names, offsets, self.wide) for one in made]
        self.scratch = {name: size for one in made for name, size in one.scratch}

    def __call__(self, device: int, stream: int, operands):
        """Launches; `operands` are the address (or the number) of each buffer, in order."""
        if LISTENERS:
            LISTENERS[-1](self)
        held = {name: Memory(device, size, stream) for name, size in self.scratch.items()}
        places = {name: m.pointer for name, m in held.items()}
        for one in self.launches:
            one(device, stream, operands, places)


class Form:
    """What all launches of a source have in common, whatever their sizes: where each parameter comes from.

    moving      (parameter, buffer) of addresses, and `numbers` the same of numbers, which nothing is added to: -0.0 + 0 is 0.0
    scratch     (parameter, name)
    given       names of the parameters that come with the sizes, None for the others
    sizes       (parameter, name) of those that may be marked as multiples
    functions   what was loaded, by device, constants and marks
    """

    def __init__(self, source, buffers):
        at = {name: i for i, name in enumerate(buffers)}
        parameters = self.parameters = source.parameters
        self.source = source
        self.moving = [(n, at[p.name]) for n, p in enumerate(parameters) if p.kind == POINTER and p.name in at]
        self.numbers = [(n, at[p.name]) for n, p in enumerate(parameters) if p.kind != POINTER and p.name in at]
        self.scratch = [(n, p.name) for n, p in enumerate(parameters) if p.kind == POINTER and p.name not in at]
        self.still = (0,) * len(at)
        own = {n for n, _ in (*self.moving, *self.numbers, *self.scratch)}
        self.given = [None if n in own else p.name for n, p in enumerate(parameters)]
        self.sizes = [(n, p.name) for n, p in enumerate(parameters) if p.kind == SIZE and n not in own]
        self.pointers = [n for n, _ in self.moving]
        self.addresses = tuple([n for n, p in enumerate(parameters) if p.kind == POINTER])
        self.conversions = {n: _given(p) for n, p in enumerate(parameters) if p.kind == NUMBER}
        self.functions: dict = {}


def _form(source, buffers) -> Form:
    """The form of a source, which says by itself in which order its buffers come."""
    found = _forms.get(id(source))
    if found is None:
        if len(_forms) >= _MOST_FORMS:
            _forms.clear()
        found = _forms[id(source)] = Form(source, buffers)      # (which keeps the source, so that no other has its id)
    return found


class PreparedLaunch:
    """One launch of a kernel: where each parameter comes from. `buffers` are the names of the operands, in order, to whose
    addresses `offsets` are added."""

    def __init__(self, one: configs.Launch, sizes, buffers, offsets=None, wide=False):
        form = self.form = _form(one.source, buffers)
        self.launch, self.wide, self.offsets = one, wide, offsets or form.still
        self.template = [0 if name is None else sizes[name] for name in form.given]
        self.units = tuple([_unit(sizes[name]) for _, name in form.sizes])
        self.known = one.constants, one.warps, one.stages, wide, self.units
        self.functions: dict = {}

    @property
    def even(self) -> tuple:
        """(parameter, 8 or 4) of sizes that are multiples of that and no more."""
        return tuple([(n, unit) for (n, _), unit in zip(self.form.sizes, self.units) if unit and unit != compiler.ALIGNED])

    @property
    def aligned(self) -> frozenset:
        """The parameters that are multiples of 16 wherever operands lie."""
        marked = [n for (n, _), unit in zip(self.form.sizes, self.units) if unit == compiler.ALIGNED]
        return frozenset([*marked, *[n for n, _ in self.form.scratch]])

    @property
    def pointers(self) -> list:
        """The parameters that are addresses of operands."""
        return self.form.pointers

    def __call__(self, device, stream, operands, places):
        form = self.form
        args, together = self.template.copy(), 0
        for n, buffer in form.moving:
            address = args[n] = operands[buffer] + self.offsets[buffer]
            together |= address
        for n, buffer in form.numbers:
            args[n] = operands[buffer]
        for n, name in form.scratch:
            args[n] = places[name]
        mask = 0 if not together & (compiler.ALIGNED - 1) else self._unaligned(args)
        function = self.functions.get((device, mask)) or self._function(device, mask)
        function(self.launch.grid, stream, *args)
        if noting.notes is not None:
            noting.notes.launched(function, self.launch.grid, args, form.addresses)

    def _unaligned(self, args):
        """Which pointers do not start on whole vectors, as bits."""
        return sum(1 << n for n in self.form.pointers if args[n] % compiler.ALIGNED)

    def _function(self, device, mask):
        key = device, mask, self.known
        functions = self.form.functions
        found = functions.get(key)
        if found is None:
            found = functions[key] = launch.function(device, compiler.compiled(self._variant(device, mask)))
        self.functions[device, mask] = found
        return found

    def _variant(self, device, mask):
        aligned = self.aligned | {n for n in self.form.pointers if not mask >> n & 1}
        return compiler.Variant(self.launch.source, self.launch.constants, self.launch.warps, contexts.context(device).arch,
                                self.wide, frozenset(aligned), self.launch.stages, self.even)

    def variant(self, device, operands):
        """What is compiled for a launch on such operands."""
        args = self.template.copy()
        for n, buffer in self.form.moving:
            args[n] = operands[buffer] + self.offsets[buffer]
        return self._variant(device, self._unaligned(args))


def _unit(n: int) -> int:
    """What a size is known to be a multiple of, 0 if nothing is said of it."""
    most, least = compiler.EVEN
    if n % least:
        return 0
    if not n % compiler.ALIGNED:
        return compiler.ALIGNED
    return 0 if n < compiler.LONG else least if n % most else most


def _given(parameter):
    return int if not parameter.dtype.is_floating_point else float


def as_number(dtype: dt.DType, value):
    """A Python number as a launch gives it for a buffer of a dtype."""
    if dtype.is_floating_point:
        return float(value)
    bits = 8 * dtype.itemsize
    if dtype is dt.bool_:
        return int(bool(value))
    n = int(value) & ((1 << bits) - 1)
    return n - (1 << bits) if dtype.is_signed and n >> (bits - 1) else n


@functools.lru_cache(4096)
def _reach(kernel):
    """What gives the largest index or offset that the kernel works out, for its symbols in order."""
    def text(n):
        return n if isinstance(n, str) else repr(n)

    found = ["*".join([text(d.extent) for d in kernel.dims] or ["1"])]
    for b in kernel.buffers:
        found.append("+".join([f"({text(d.extent)}-1)*abs({text(s)})" for d, s in zip(kernel.dims, b.strides) if s != 0] or ["0"]))
    return function_of(kernel.symbols, f"max({', '.join(dict.fromkeys(found))}, 0) + {configs.WHOLE * configs.TILE}")


def forget():
    """Forgets what was loaded, for a driver that was replaced."""
    _forms.clear()
