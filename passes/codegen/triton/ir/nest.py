"""Base of Triton loop nests: tiles, addresses, instructions.

A kernel works on tiles of two axes: axis 0 has ROWS elements, axis 1 has COLS (one-dimensional kernels have COLS alone). Each
dim of the nest has an index that varies along some of the axes, or along none (one number per program). A value varies along
the axes of the indices it was loaded at; Triton broadcasts. Parameters are the buffers in order, the symbols in order, then
constants: INDEX (the integer type of addresses), ROWS, COLS and those of a strategy.

Buffers in `numbers` are not memory: the launch passes their one element itself.
"""

import functools
from dataclasses import dataclass

from .....ir import dtype as dt
from .....ir.kernel.kernel import Instr, Kernel, buffer_of
from ... import scalars
from ...scalars import Val
from .source import HEADER, NUMBER, NUMBERS_AS, POINTER, SIZE, Parameter, Source
from .spelling import TYPE, Text, TritonBuilder, memory, of_one_shape

SHORT = 5      # lines of a function that is inlined
_BLOCKS = "for ", "if ", "while "         # beginnings of compound statements
ROW_AXIS, COLUMN_AXIS = 0, 1


@dataclass(frozen=True)
class Place:
    """Location of a stage's instructions: each dim's index by name, the axes it varies along, and the mask of each axis."""

    index: dict
    axes: dict
    masks: dict

    def within(self, index=None, axes=None, masks=None) -> "Place":
        """Return the same place with more indices."""
        return Place(self.index | (index or {}), self.axes | (axes or {}), self.masks | (masks or {}))

    def mask(self, axes) -> str:
        """Return the condition under which elements that vary along `axes` exist; empty if always."""
        return " & ".join(self.masks[a] for a in sorted(axes) if a in self.masks)


@dataclass(frozen=True)
class Function:
    """A scalar function of given dtypes as text."""

    name: str
    dtype: dt.DType
    lines: tuple

    @property
    def text(self) -> str:
        """The whole function, without its decorator."""
        return "\n".join(self.lines) + "\n"


@functools.lru_cache(None)
def function(name: str, dtypes: tuple) -> Function:
    """Return the scalar function `name` for arguments of these dtypes."""
    text = Text()
    s = TritonBuilder(text)
    names = [(f"x{n}", f"y{n}") if d.is_complex else f"x{n}" for n, d in enumerate(dtypes)]
    out = scalars.apply(s, name, *[s.wrap(d, x) for d, x in zip(dtypes, names)])
    called = "_".join([name, "of", *dict.fromkeys(d.short for d in dtypes)])
    given, made = [x for n in names for x in refs(n)], ", ".join(map(s.stated, s.pieces(out)))
    alike = of_one_shape(given) if any(line.lstrip().startswith(_BLOCKS) for line in text.lines) else ()
    lines = *[f"    {line}" for line in alike], *text.lines
    return Function(called, out.dtype, (f"def {called}({', '.join(given)}):", *lines, f"    return {made}"))


def refs(ref) -> tuple:
    """Return the names that stand for a value."""
    return ref if isinstance(ref, tuple) else (ref,)


def applied(s: TritonBuilder, name: str, args) -> Val:
    """Apply a scalar function: inline if it is short, else as a call of a function in the file."""
    made = function(name, tuple([a.dtype for a in args]))
    if len(made.lines) <= SHORT and not any(line.lstrip().startswith(_BLOCKS) for line in made.lines):
        return scalars.apply(s, name, *args)
    s.text.helpers.setdefault(made.name, made.text)
    call = f"{made.name}({', '.join([s.stated(p) for a in args for p in s.pieces(a)])})"
    if not made.dtype.is_complex:
        return s.wrap(made.dtype, s.text.let(call))
    re, im = s.text.name(), s.text.name()
    s.text.put(f"{re}, {im} = {call}")
    return s.wrap(made.dtype, (re, im))


class Nest:
    """One kernel being written. Strategies subclass it and write the body.

        programs    expressions for a program's numbers in the grid
        has_parts   whether the second of them is the number of a part
    """

    constants: tuple = ("INDEX", "COLS")
    programs: tuple = ("tl.program_id(0)", "tl.program_id(1)")
    has_parts = False

    def __init__(self, kernel: Kernel, numbers=frozenset()):
        self.kernel, self.numbers = kernel, numbers
        self.text = Text({b.name for b in kernel.buffers} | set(kernel.symbols))
        self.s = TritonBuilder(self.text)
        self.shape_of: dict[str, frozenset] = {}       # axes of each value, by its name in the text
        self.stored: dict[tuple, Val] = {}             # values that this program stored, for reuse

    # The file.

    def source(self) -> Source:
        """Return the whole file."""
        self.write()
        return self.file(self.name(), self.parameters())

    def file(self, name: str, parameters: tuple) -> Source:
        """Return the written lines as a function."""
        names = [p.name for p in parameters] + [f"{c}: tl.constexpr" for c in self.constants]
        helpers = "".join(f"\n\n@triton.jit\n{text}" for text in self.text.helpers.values())
        head = f"\n\n@triton.jit\ndef {name}({', '.join(names)}):"
        return Source(name, HEADER + helpers + head + "\n" + "\n".join(self.text.lines) + "\n", parameters, self.constants)

    def name(self) -> str:
        return self.kernel.name

    def write(self):
        raise NotImplementedError

    def parameters(self) -> tuple:
        """Return the launch parameters, in order."""
        found = [Parameter(b.name, NUMBER, b.dtype) if b.name in self.numbers else Parameter(b.name, POINTER, memory(b.dtype))
                 for b in self.kernel.buffers]
        return (*found, *[Parameter(s, SIZE) for s in self.kernel.symbols])

    # Indices.

    def indices(self, flat: str, dims) -> dict:
        """Return the index in each of `dims` of a flat row-major index."""
        found = {}
        for position in range(len(dims) - 1, -1, -1):
            if position == 0:
                found[dims[0].name] = flat
                break
            found[dims[position].name] = self.text.let(f"{flat} % {dims[position].extent}", f"at_{dims[position].name}_")
            flat = self.text.let(f"{flat} // {dims[position].extent}", "rest")
        return found

    @staticmethod
    def product(dims) -> str:
        """Return the number of points of some dims."""
        return " * ".join(str(d.extent) for d in dims) or "1"

    def offset(self, buffer, place: Place, at=None) -> tuple[str, frozenset]:
        """Return (elements from the buffer's start, the axes along which they vary); `at` replaces indices by values."""
        terms, axes = [], frozenset()
        for dim, stride in zip(self.kernel.dims, buffer.strides):
            if stride == 0 or (dim.name not in place.index and dim.name not in (at or {})):
                continue
            if at and dim.name in at:
                index, varies = at[dim.name].ref, self.axes_of(at[dim.name])
            else:
                index, varies = place.index[dim.name], place.axes[dim.name]
            terms.append(index if stride == 1 else f"{index} * {stride}")
            axes |= varies
        return " + ".join(terms), axes

    # Instructions.

    def axes_of(self, value: Val) -> frozenset:
        """Return the axes along which a value varies."""
        return self.shape_of.get(value.ref, frozenset())

    def named(self, value: Val, axes) -> Val:
        """Record the axes along which a value varies."""
        self.shape_of[value.ref] = axes
        return value

    def run(self, body, env: dict, place: Place):
        """Write a stage's instructions; return reductions as (instr, value) pairs."""
        folds = []
        for i in body:
            args = [env[a] for a in i.args]
            if i.op == "reduce":
                folds.append((i, args[0]))
            elif i.op == "store":
                self.store(i, args[0], place)
            elif i.op == "scan":
                env[i.name] = self.scan(i, args[0], place)
            else:
                env[i.name] = self.compute(i, args, place)
        return folds

    def compute(self, i: Instr, args, place: Place) -> Val:
        """Write one instruction and return its value."""
        if i.op == "load":
            return self.load(i, args, place)
        axes = frozenset().union(*[self.axes_of(a) for a in args])
        if i.op == "const":
            return self.s.const(i.dtype, i.attr)
        if i.op == "index":
            varies = place.axes.get(i.attr, frozenset())
            return self.named(self.s.wrap(dt.int64, self.text.let(f"({place.index[i.attr]}).to(tl.int64)")), varies)
        if i.op == "size":
            extent = next(d.extent for d in self.kernel.dims if d.name == i.attr)
            return self.s.wrap(dt.int64, self.text.let(f"tl.full([], {extent}, tl.int64)"))
        if i.op == "cast":
            return self.named(self.s.cast(args[0], i.dtype), axes)
        return self.named(applied(self.s, i.op, args), axes)

    def load(self, i: Instr, args, place: Place) -> Val:
        """Load a buffer's element here, or at computed indices."""
        buffer = self.kernel.buffer(buffer_of(i))
        if buffer.name in self.numbers:
            return self._number(buffer)
        at = dict(zip(i.attr[1:], args)) if args else None
        offset, axes = self.offset(buffer, place, at)
        return self.named(self.s.load(buffer.dtype, buffer.name, offset, place.mask(axes)), axes)

    def _number(self, buffer) -> Val:
        """Return the element passed by the launch: 16-bit floats and bools come in a wider type."""
        given = NUMBERS_AS.get(buffer.dtype, buffer.dtype)
        value = self.s.wrap(given, self.text.let(f"tl.full([], {buffer.name}, {TYPE[given]})"))
        return value if given is buffer.dtype else self.s.cast(value, buffer.dtype)

    def store(self, i: Instr, value: Val, place: Place):
        buffer = self.kernel.buffer(str(i.attr))
        offset, axes = self.offset(buffer, place)
        self.s.store(value, buffer.name, offset, place.mask(self.store_axes(axes, place)))

    def store_axes(self, axes, place) -> frozenset:
        """Return the axes whose masks a store needs."""
        return axes

    def scan(self, i: Instr, value: Val, place: Place) -> Val:
        """Return the running fold of a value; only sweeps have it."""
        raise NotImplementedError
