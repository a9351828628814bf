"""Fused kernels on a device: compiled for it, and launched on arrays with little Python between.

A `Prepared` is one kernel with its sizes: its launches, each with what stays the same from call to call worked out.
"""

from ...ir import dtype as dt
from ...ir.kernel import Kernel
from ...passes.codegen.triton import configs
from ...passes.codegen.triton.nest import NUMBER, POINTER, SIZE
from . import compile as compiler
from . import context as contexts
from . import launch
from .noting import thread as noting
from .pools import Memory

_NARROW = 1 << 31
LISTENERS: list = []        # told of each `Prepared` that runs, the last one


class Prepared:
    """A kernel, the values of its symbols, and which of its buffers come as numbers.

    offsets   bytes that are added to the address of each buffer, in order
    apart     whether results lie where operands do that other threads may read
    among     whether it runs in one launch with others
    """

    def __init__(self, kernel: Kernel, sizes: dict, offsets=None, numbers=frozenset(), apart=False, among=False):
        self.kernel, self.sizes = kernel, dict(sizes)
        at = {b.name: i for i, b in enumerate(kernel.buffers)}
        offsets = offsets or [0] * len(kernel.buffers)
        self.wide = _reach(kernel, self.sizes) >= _NARROW
        made = configs.launches(kernel, self.sizes, numbers, apart, among)
        self.scratch = {name: size for one in made for name, size in one.scratch}
        self.launches = [PreparedLaunch(one, self.sizes, at, offsets, self.wide) for one in made]

    def __call__(self, device: int, stream: int, operands):
        """Launches; `operands` are the address (or the number) of each buffer, in order."""
        self.run(device, stream, operands, self.launches)

    def run(self, device, stream, operands, launches) -> dict:
        """Runs some of the launches, the first of all among them; the memory that their parts share, by name."""
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


class PreparedLaunch:
    """One launch of a kernel: where each parameter comes from."""

    def __init__(self, one: configs.Launch, sizes, at, offsets, wide):
        self.launch, self.wide = one, wide
        self.template: list = []
        self.moving: list = []          # (parameter, buffer, bytes to add)
        self.numbers: list = []         # (parameter, buffer), which nothing is added to: -0.0 + 0 is 0.0
        self.scratch: list = []         # (parameter, name)
        self.aligned = set()
        even: dict = {}
        for n, p in enumerate(one.source.parameters):
            if p.name in at:
                if p.kind == POINTER:
                    self.moving.append((n, at[p.name], offsets[at[p.name]]))
                else:
                    self.numbers.append((n, at[p.name]))
                self.template.append(0)
            elif p.kind == POINTER:
                self.scratch.append((n, p.name))
                self.template.append(0)
                self.aligned.add(n)
            else:
                self.template.append(sizes[p.name])
                if p.kind != SIZE:
                    continue
                if sizes[p.name] % compiler.ALIGNED == 0:
                    self.aligned.add(n)
                elif sizes[p.name] % compiler.EVEN[-1] == 0 and sizes[p.name] >= compiler.LONG:
                    even[n] = next(unit for unit in compiler.EVEN if sizes[p.name] % unit == 0)
        self.even = tuple(even.items())
        self.pointers = [n for n, p in enumerate(one.source.parameters) if p.kind == POINTER and p.name in at]
        self.addresses = tuple([n for n, p in enumerate(one.source.parameters) if p.kind == POINTER])
        self.conversions = {n: _given(p) for n, p in enumerate(one.source.parameters) if p.kind == NUMBER}
        self.functions: dict = {}

    def __call__(self, device, stream, operands, held):
        args = self.arguments(operands, held)
        for n, buffer in self.numbers:
            args[n] = operands[buffer]
        together = 0
        for n in self.pointers:
            together |= args[n]
        mask = 0 if not together & (compiler.ALIGNED - 1) else self._unaligned(args)
        function = self.functions.get((device, mask)) or self._function(device, mask)
        function(self.launch.grid, stream, *args)
        if noting.notes is not None:
            noting.notes.launched(function, self.launch.grid, args, self.addresses)

    def arguments(self, operands, held=None) -> list:
        """The parameters, but for numbers; `held` is scratch memory by name."""
        args = self.template.copy()
        for n, buffer, more in self.moving:
            args[n] = operands[buffer] + more
        for n, name in self.scratch if held else ():
            args[n] = held[name].pointer
        return args

    def _unaligned(self, args):
        """Which pointers do not start on whole vectors, as bits."""
        return sum(1 << n for n in self.pointers if args[n] % compiler.ALIGNED)

    def _function(self, device, mask):
        found = self.functions[device, mask] = launch.function(device, compiler.compiled(self._variant(device, mask)))
        return found

    def _variant(self, device, mask):
        aligned = self.aligned | {n for n in self.pointers if not mask >> n & 1}
        return compiler.Variant(self.launch.source, self.launch.constants, self.launch.warps, contexts.context(device).arch,
                                self.wide, frozenset(aligned), self.launch.stages, self.even)

    def variant(self, device, operands):
        """What is compiled for a launch on such operands."""
        return self._variant(device, self._unaligned(self.arguments(operands)))


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


def _reach(kernel, sizes) -> int:
    """The largest index or offset that the kernel works out."""
    def number(n):
        return sizes[n] if isinstance(n, str) else n

    points = 1
    for d in kernel.dims:
        points *= number(d.extent)
    found = [points]
    for b in kernel.buffers:
        found.append(sum((number(d.extent) - 1) * abs(number(s)) for d, s in zip(kernel.dims, b.strides)))
    return max(found) + configs.WHOLE * configs.TILE
