"""Triton kernels as files of Python text: their parameters, and the options of their dot products."""

from dataclasses import dataclass, field

from .....ir import dtype as dt
from .....ir.cached_property import cached_property

POINTER, NUMBER, SIZE = "pointer", "number", "size"
# Narrow numbers are launch parameters of these types.
NUMBERS_AS = {**dict.fromkeys(dt.NARROW, dt.float32), dt.bool_: dt.int32}
BITS = {1: dt.uint8, 2: dt.uint16, 4: dt.uint32, 8: dt.uint64}     # types of elements that are only moved, by their bytes
FAST = "fast"     # a precision of float8 products: sums keep as few bits as the chip's accumulators
HEADER = '"""Made by ingot."""\n\nimport triton\nimport triton.language as tl\n'


@dataclass(frozen=True)
class Parameter:
    """One run-time parameter: a pointer to elements of a dtype, a number of a dtype, or a size or stride."""

    name: str
    kind: str
    dtype: dt.DType = dt.int64


@dataclass(frozen=True)
class Source:
    """A kernel as a file of Python text.

        name        the function's name
        constants   names of compile-time constants
        flush       whether the chip's library functions may flush subnormals, as fast exponentials do
    """

    name: str
    text: str
    parameters: tuple[Parameter, ...]
    constants: tuple[str, ...] = field(default=())
    flush: bool = False

    @property
    def copies_in_bulk(self) -> bool:
        """Whether the copy engine of Hopper chips loads its tiles: such a kernel needs memory of its own."""
        return "make_tensor_descriptor" in self.text

    @cached_property
    def pointers(self) -> tuple[str, ...]:
        """Names of the pointer parameters."""
        return tuple([p.name for p in self.parameters if p.kind == POINTER])

    @cached_property
    def numbers(self) -> tuple[str, ...]:
        """Names of the number parameters."""
        return tuple([p.name for p in self.parameters if p.kind == NUMBER])

    @cached_property
    def sizes(self) -> tuple[str, ...]:
        """Names of the sizes and strides."""
        return tuple([p.name for p in self.parameters if p.kind == SIZE])


def parameters(pointers: dict, sizes=()) -> list:
    """Return pointers by name to elements of their dtypes, then sizes by name."""
    return [*[Parameter(n, POINTER, d) for n, d in pointers.items()], *[Parameter(n, SIZE) for n in sizes]]


def emit(name: str, arguments, constants, lines, flush: bool = False, helpers: str = "") -> Source:
    """Return a file with one kernel, after the functions that it calls."""
    heading = ", ".join([p.name for p in arguments] + [f"{c}: tl.constexpr" for c in constants])
    body = "".join(f"    {x}\n" for x in lines)
    text = f"{HEADER}\n\n{helpers}@triton.jit\ndef {name}({heading}):\n{body}"
    return Source(name, text, tuple(arguments), tuple(constants), flush)


@dataclass(frozen=True)
class Kinds:
    """The dtypes of a product: of its factors, and of the rounded sums."""

    x: dt.DType
    y: dt.DType
    z: dt.DType

    @property
    def short(self) -> str:
        """A name for kernels."""
        return "_".join(dict.fromkeys([self.x.short, self.y.short, self.z.short]))


def kinds_of(dtype) -> Kinds:
    """Return the dtypes of a product; a single dtype serves for all three."""
    return dtype if type(dtype) is Kinds else Kinds(dtype, dtype, dtype)


def stated_dot(dtype, precision: str) -> str:
    """Return the options of a dot: how float32 is multiplied, float64 sums for float64, and float32 sums across steps for
    float8."""
    if dtype is dt.float64:
        return ", out_dtype=tl.float64"
    if dtype in dt.FLOAT8:
        return "" if precision == FAST else ", max_num_imprecise_acc=BK"
    return f', input_precision="{precision}"' if dtype is dt.float32 else ""
