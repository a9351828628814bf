"""Element types and type promotion.

A `DType` is one of a fixed set of singletons, so `is` compares them. Promotion follows PyTorch's lattice: bool < integers <
floats < complex; within a kind the wider wins, uint8 with a signed type gives the next signed type that holds both, and float16
with bfloat16 gives float32. The floats of 8 bits combine with nothing but themselves: they are for storage, for casts
(`float8.py`) and as factors of products.
"""

import math
from contextlib import suppress
from types import ModuleType

import numpy as np

from .errors import ArgumentError, DTypeError, kind_of
from .interrupts import raise_interrupt
from .package_name import in_full
from .suggestions import did_you_mean

ml_dtypes: ModuleType | None
try:
    import ml_dtypes
except ImportError:
    ml_dtypes = None    # an installation that only runs exported models: its types have names there, and no arithmetic

BOOL, UNSIGNED, SIGNED, FLOAT, COMPLEX = range(5)


class DType:
    """One element type: its name, its short name in IR text, and the numpy dtype that stores it.

    `kind` is BOOL, UNSIGNED, SIGNED, FLOAT or COMPLEX. `is_inexact` holds for floats and complex numbers, which carry
    gradients; `is_integer` does not hold for bool. The 8-bit floats store float8_e4m3fn (4 bits of exponent, 3 of mantissa, no
    infinity, at most 448) and float8_e5m2 (5 and 2 bits, with infinities).
    """

    __slots__ = ("__weakref__", "is_complex", "is_floating_point", "is_inexact", "is_integer", "is_signed", "itemsize", "kind",
                 "name", "np", "short")

    def __init__(self, name: str, short: str, np_dtype, kind: int):
        self.name = name
        self.short = short
        self.np = np.dtype(np_dtype)
        self.kind = kind
        self.itemsize = self.np.itemsize
        self.is_floating_point = kind == FLOAT
        self.is_complex = kind == COMPLEX
        self.is_signed = kind >= SIGNED
        self.is_inexact = kind >= FLOAT                 # floats and complex numbers, which carry gradients
        self.is_integer = kind in (UNSIGNED, SIGNED)    # bool is none

    def __repr__(self):
        return in_full(self.name)

    def to_complex(self) -> "DType":
        """Return the dtype of complex numbers with parts of this one; narrow floats give complex64."""
        if not self.is_inexact:
            raise DTypeError(f"{self.name} has no complex dtype; take that of a floating point dtype")
        return self if self.is_complex else complex128 if self is float64 else complex64

    def to_real(self) -> "DType":
        """Return the dtype of the parts of complex numbers; any other as it is."""
        return PARTS.get(self, self)

    def __reduce__(self):
        return (by_name, (self.name,))

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self


class NamedDType(DType):
    """The name of an element type that no tensor has, for programs that list other libraries' dtypes."""

    __slots__ = ("instead",)

    def __init__(self, name: str, itemsize: int, kind: int, instead: str):
        super().__init__(name, name, f"V{itemsize}", kind)
        self.instead = instead

    def __reduce__(self):
        return named, (self.name,)


def named(name: str) -> NamedDType:
    """Return the NamedDType of a name, always the same object."""
    return NAMED[name]


def _extended(name: str, bits: int):
    """Return the ml_dtypes dtype of a name, or a numpy dtype of as many bits."""
    return getattr(ml_dtypes, name) if ml_dtypes else [(name, f"<u{bits // 8}")]


bool_ = DType("bool", "bool", np.bool_, BOOL)
uint8 = DType("uint8", "u8", np.uint8, UNSIGNED)
uint16 = DType("uint16", "u16", np.uint16, UNSIGNED)
uint32 = DType("uint32", "u32", np.uint32, UNSIGNED)
uint64 = DType("uint64", "u64", np.uint64, UNSIGNED)
int8 = DType("int8", "i8", np.int8, SIGNED)
int16 = DType("int16", "i16", np.int16, SIGNED)
int32 = DType("int32", "i32", np.int32, SIGNED)
int64 = DType("int64", "i64", np.int64, SIGNED)
float8_e4m3fn = DType("float8_e4m3fn", "f8e4m3", _extended("float8_e4m3fn", 8), FLOAT)
float8_e5m2 = DType("float8_e5m2", "f8e5m2", _extended("float8_e5m2", 8), FLOAT)
float16 = DType("float16", "f16", np.float16, FLOAT)
bfloat16 = DType("bfloat16", "bf16", _extended("bfloat16", 16), FLOAT)
float32 = DType("float32", "f32", np.float32, FLOAT)
float64 = DType("float64", "f64", np.float64, FLOAT)
complex64 = DType("complex64", "c64", np.complex64, COMPLEX)
complex128 = DType("complex128", "c128", np.complex128, COMPLEX)

# Element types that only have names here: those of quantised tensors, which store whole numbers and a scale, and those that
# programs list among others. No tensor has them; the last word of each row is the dtype to use.
NAMED = {name: NamedDType(name, itemsize, kind, instead) for names, itemsize, kind, instead in (
    (("qint8", *(f"int{bits}" for bits in range(1, 8))), 1, SIGNED, "int8"),
    (("quint8", "quint4x2", "quint2x4", *(f"uint{bits}" for bits in range(1, 8))), 1, UNSIGNED, "uint8"),
    (("float4_e2m1fn_x2", "float8_e8m0fnu"), 1, FLOAT, "uint8"),
    (("float8_e4m3fnuz",), 1, FLOAT, "float8_e4m3fn"), (("float8_e5m2fnuz",), 1, FLOAT, "float8_e5m2"),
    (("qint32",), 4, SIGNED, "int32"), (("complex32",), 4, COMPLEX, "complex64")) for name in names}
qint8, quint8, complex32 = NAMED["qint8"], NAMED["quint8"], NAMED["complex32"]

ALL = (bool_, uint8, uint16, uint32, uint64, int8, int16, int32, int64, float8_e4m3fn, float8_e5m2,
       float16, bfloat16, float32, float64, complex64, complex128)
FLOATS = (float16, bfloat16, float32, float64)      # floats with arithmetic
FLOAT8 = (float8_e4m3fn, float8_e5m2)               # floats without arithmetic: storage, casts, factors of products
NARROW = (float16, bfloat16, *FLOAT8)               # floats that kernels compute in float32
PARTS = {complex64: float32, complex128: float64}   # complex dtype -> dtype of its real and imaginary parts
WHOLES = {part: whole for whole, part in PARTS.items()}             # the inverse of PARTS
NP_PARTS = {whole.np: part.np for whole, part in PARTS.items()}     # PARTS as numpy dtypes
FLOAT_CHARS = "efd"     # `dtype.char` of numpy's own floats; its kind "f" has float8_e5m2, too

# Second names that users know from PyTorch.
ALIASES = {"half": float16, "float": float32, "double": float64, "short": int16, "int": int32, "long": int64,
           "cfloat": complex64, "cdouble": complex128}

LARGEST_E4M3FN = 448.0      # the largest number of float8_e4m3fn, at which it saturates

BY_NAME = {d.name: d for d in ALL} | {d.short: d for d in ALL} | ALIASES    # also by PyTorch's second names
BY_NP = {d.np: d for d in ALL}


def by_name(name: str) -> DType:
    """Return the dtype called `name`, by its long or its short name."""
    return BY_NAME[name]


def from_numpy(np_dtype) -> DType:
    """Return the DType that stores elements as `np_dtype`."""
    try:
        return BY_NP[np_dtype]
    except KeyError:
        pass
    native = np.dtype(np_dtype).newbyteorder("=")
    if native in BY_NP:
        return BY_NP[native]
    raise DTypeError(f"numpy dtype {np_dtype} has no ingot dtype; convert the array with .astype() to one of: "
                     + ", ".join(d.name for d in ALL))


def of(x) -> DType:
    """Return the DType of a tensor, a graph value, an aval or a numpy array."""
    d = x.dtype
    return d if type(d) is DType else from_numpy(d)


_PYTHON = {bool: bool_, int: int64, float: float64, complex: complex128}


def as_dtype(d) -> DType:
    """Return the DType of a DType, a numpy dtype, a Python number type or a name."""
    if type(d) is DType:
        return d
    if isinstance(d, str):
        name = d.removeprefix(in_full(""))
        if name in BY_NAME:
            return BY_NAME[name]
    if isinstance(d, NamedDType):
        raise DTypeError(f"no tensor of ingot is of {d.name}; use {d.instead}")
    if d in _PYTHON:
        return _PYTHON[d]
    try:
        return from_numpy(np.dtype(d))
    except (TypeError, ValueError) as error:        # (of an object with a `dtype`, as a tensor has)
        raise_interrupt(error, np.dtype, d)
        raise DTypeError(f"expected a dtype, got {d!r}{did_you_mean(d, BY_NAME)}") from None


_METHODS = {float16: ".half()", bfloat16: ".bfloat16()", float32: ".float()", float64: ".double()", int64: ".long()"}


def cast_hint(wanted: DType, subject: str) -> str:
    """Return the advice to cast to a dtype, for the end of a message."""
    return f"cast {subject} with {_METHODS.get(wanted) or f'.to({wanted})'}"


def _promote_pair(a: DType, b: DType) -> DType:
    if a is b:
        return a
    if a in FLOAT8 or b in FLOAT8:
        raise DTypeError(f"float8 does not combine with other dtypes, got {a.name} and {b.name}; cast, as in "
                         ".to(ingot.float32)")
    if a.kind > b.kind:
        a, b = b, a
    if a.kind == b.kind:
        if {a, b} == {float16, bfloat16}:
            return float32
        return a if a.itemsize > b.itemsize else b
    if a.kind == UNSIGNED and b.kind == SIGNED:
        if b.itemsize > a.itemsize:
            return b
        wider = {1: int16, 2: int32, 4: int64}.get(a.itemsize)
        if wider is None:
            raise DTypeError(f"{a.name} and {b.name} have no common dtype; cast one with .to()")
        return wider
    if b.kind == COMPLEX and a is float64:
        return complex128
    return b


PROMOTION = {}      # (dtype, dtype) -> the smallest that both convert to; pairs without one are missing
for _a in ALL:
    for _b in ALL:
        with suppress(DTypeError):
            PROMOTION[_a, _b] = _promote_pair(_a, _b)


def promote_types(a, b) -> DType:
    """Return the smallest dtype that both convert to."""
    a, b = as_dtype(a), as_dtype(b)
    return PROMOTION.get((a, b)) or _promote_pair(a, b)


def refuse_float8(name: str, d: DType):
    """Raise for an operator that would have to compute in float8."""
    if d in FLOAT8:
        raise DTypeError(f"{name} does not compute in {d.name}, a dtype for storage, casts and the factors of _scaled_mm; "
                         "cast with .to(ingot.float32) first")


_CATEGORY = {BOOL: 0, UNSIGNED: 1, SIGNED: 1, FLOAT: 2, COMPLEX: 3}


def promote_ranks(higher, lower):
    """Return the result dtype of operands of two ranks: tensors with dimensions above 0-d ones above numbers, None where
    missing.

    The higher rank decides, unless the lower one is of a higher category; floats beside complex numbers of a lower rank keep
    their width.
    """
    if higher is None or lower is None:
        return higher or lower
    if higher.kind == FLOAT and lower.kind == COMPLEX:
        return promote_types(higher, complex64)
    return promote_types(higher, lower) if _CATEGORY[lower.kind] > _CATEGORY[higher.kind] else higher


def can_cast(a, b) -> bool:
    """Return whether `a` may be written into `b` in place: never from a higher kind to a lower one."""
    a, b = as_dtype(a), as_dtype(b)
    return a.kind <= b.kind or (a.kind == SIGNED and b.kind == UNSIGNED)


def finfo(d: DType):
    """Return numpy's limits of a floating point dtype."""
    return ml_dtypes.finfo(d.np) if d in (bfloat16, *FLOAT8) and ml_dtypes else np.finfo(d.np)


def accumulator(d: DType) -> DType:
    """Return the dtype in which sums and products of `d` are accumulated."""
    return float32 if d in NARROW else d


def int_range(d: DType) -> tuple[int, int]:
    """Return the smallest and the largest value of an integer dtype."""
    bits = 8 * d.itemsize
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if d.is_signed else (0, (1 << bits) - 1)


def fitted(value, d: DType, caller: str):
    """Return a Python number as a tensor of dtype `d` stores it; raise for a number that the dtype has no place for.

    Integer types truncate, unsigned ones let small negative integers wrap (-1 is their largest value), and float8_e4m3fn, which
    has no infinity, saturates.
    """
    if (value.__class__ is float or value.__class__ is int) and d.kind == FLOAT and d is not float8_e4m3fn:
        return value
    if isinstance(value, np.generic):
        value = value.item()
    if type(value) not in (bool, int, float, complex):
        if value is None or isinstance(value, (str, bytes, list, tuple, dict, set)):
            raise DTypeError(f"{caller} takes tensors and numbers, got {kind_of(value)}")
        return value   # a size that is still symbolic
    if isinstance(value, complex) and not d.is_complex:
        if value.imag:
            raise DTypeError(f"{caller}: {value} does not fit into {d.name}, which has no imaginary part")
        value = value.real
    if d is float8_e4m3fn and abs(value) > LARGEST_E4M3FN:
        return math.copysign(LARGEST_E4M3FN, value)
    if d is bool_:
        return bool(value)
    if not d.is_integer:
        return value
    low, high = int_range(d)
    whole = type(value) is not float
    if not (-high if whole and not low else low) <= value <= high:
        raise ArgumentError(f"{caller}: {value} does not fit into {d.name}, which holds {low} to {high}; use a wider dtype")
    return int(value) % (high + 1) if not low else int(value)
