"""Triton kernels as files of Python text: their parameters, and the options of their dots."""

import functools
from dataclasses import dataclass, field

from .....ir import dtype as dt

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
    constants   names of the constants that are given when it is compiled
    flush       whether the chip's library of functions may take subnormal numbers for 0, as quick exponentials do
    """

    name: str
    text: str
    parameters: tuple[Parameter, ...]
    constants: tuple[str, ...] = field(default=())
    flush: bool = False

    @property
    def copies_in_bulk(self) -> bool:
        """Whether the copy engine of Hopper chips brings its tiles: such a kernel asks for memory of its own."""
        return "make_tensor_descriptor" in self.text

    @functools.cached_property
    def pointers(self) -> tuple[str, ...]:
        """The names of the parameters that are addresses."""
        return tuple([p.name for p in self.parameters if p.kind == POINTER])

    @functools.cached_property
    def numbers(self) -> tuple[str, ...]:
        """The names of the parameters that are numbers."""
        return tuple([p.name for p in self.parameters if p.kind == NUMBER])

    @functools.cached_property
    def sizes(self) -> tuple[str, ...]:
        """The names of the parameters that are sizes or strides."""
        return tuple([p.name for p in self.parameters if p.kind == SIZE])


def emit(name: str, parameters, constants, lines, flush: bool = False, helpers: str = "") -> Source:
    """A file with one kernel, and before it functions that it calls."""
    heading = ", ".join([p.name for p in parameters] + [f"{c}: tl.constexpr" for c in constants])
    body = "".join(f"    {x}\n" for x in lines)
    text = f"{HEADER}\n\n{helpers}@triton.jit\ndef {name}({heading}):\n{body}"
    return Source(name, text, tuple(parameters), tuple(constants), flush)


@dataclass(frozen=True)
class Kinds:
    """The dtypes of a product: of its factors, and what its sums are rounded to."""

    x: dt.DType
    y: dt.DType
    z: dt.DType

    @property
    def short(self) -> str:
        """What tells them from others."""
        return "_".join(dict.fromkeys([self.x.short, self.y.short, self.z.short]))


def kinds_of(dtype) -> Kinds:
    """Those of a product of one dtype."""
    return dtype if type(dtype) is Kinds else Kinds(dtype, dtype, dtype)


def stated_dot(dtype, precision: str) -> str:
    """What a dot of a dtype must be told: how float32 is multiplied, that float64 is summed in float64, and that sums of float8
    are added to those before in float32."""
    if dtype is dt.float64:
        return ", out_dtype=tl.float64"
    if dtype in dt.FLOAT8:
        return "" if precision == FAST else ", max_num_imprecise_acc=BK"
    return f', input_precision="{precision}"' if dtype is dt.float32 else ""
