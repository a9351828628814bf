"""Memory layout of kernel values: how a builder loads, stores, gathers and scatters them.

A bool takes a byte. A complex number is two values in registers, real and imaginary; in memory they are adjacent.
"""

from typing import Any

from .....ir import dtype as dt
from ...scalars import Builder, Val
from .types import (
    F32,
    F64,
    I1,
    I8,
    I16,
    I32,
    I64,
    PTR,
    VOID,
    Value,
    bytes_of,
    constant,
    element_of,
    like,
    mangled,
    poison,
    vector,
)

ELEMENT = {dt.bool_: I1, dt.float32: F32, dt.float64: F64, dt.float16: I16, dt.bfloat16: I16,
           dt.float8_e4m3fn: I8, dt.float8_e5m2: I8,
           dt.int8: I8, dt.uint8: I8, dt.int16: I16, dt.uint16: I16, dt.int32: I32, dt.uint32: I32,
           dt.int64: I64, dt.uint64: I64}
FLOAT_DTYPES = {F32: dt.float32, F64: dt.float64}
_STORED = {**ELEMENT, dt.bool_: I8, **{whole: f"[2 x {ELEMENT[part]}]" for whole, part in dt.PARTS.items()}}


def memory_element(dtype) -> str:
    """Return the type of one element in memory, by which addresses count."""
    return _STORED[dtype]


class InMemory(Builder):
    """A builder that accesses memory: `f` is the function being written, `lanes` the width of its values."""

    f: Any
    lanes: int

    def mapped(self, function, x: Val) -> Val:
        """Apply a function to the LLVM value of `x`, or to each of its parts."""
        if x.dtype.is_complex:
            return self.whole(*[self.mapped(function, part) for part in self.re_im(x)])
        return Val(self, x.dtype, function(x.ref))

    def memory(self, dtype) -> str:
        """Return the type of a value in memory; a complex value is a vector of both its parts."""
        if dtype.is_complex:
            return vector(2 * self.lanes, ELEMENT[dt.PARTS[dtype]])
        return vector(self.lanes, _STORED[dtype])

    def from_memory(self, dtype, loaded: Value) -> Val:
        """Convert a loaded value to register form."""
        if dtype.is_complex:
            return Val(self, dtype, tuple([self._deinterleaved(loaded, part) for part in range(2)]))
        return Val(self, dtype, self.f.compare("ne", loaded, 0) if dtype is dt.bool_ else loaded)

    def _deinterleaved(self, loaded, first):
        if self.lanes == 1:
            return self.f.extract(loaded, first)
        return self.f.shuffle(loaded, loaded, range(first, 2 * self.lanes, 2))

    def to_memory(self, value: Val) -> Value:
        """Convert a value to its stored form."""
        if value.dtype.is_complex:
            return self._interleaved(*value.ref)
        return self.f.cast("zext", value.ref, self.memory(value.dtype)) if value.dtype is dt.bool_ else value.ref

    def _interleaved(self, re, im):
        if self.lanes == 1:
            return self.f.insert(self.f.insert(poison(vector(2, re.type)), re, 0), im, 1)
        return self.f.shuffle(re, im, [part * self.lanes + lane for lane in range(self.lanes) for part in range(2)])

    def _mask(self, dtype, mask):
        if mask is None or not dtype.is_complex:
            return mask
        return self.f.shuffle(mask, mask, [lane for lane in range(self.lanes) for _ in range(2)])

    def load(self, dtype, pointer: Value, mask=None) -> Val:
        """Load contiguous elements from `pointer` on."""
        return self.from_memory(dtype, self.f.load_masked(self.memory(dtype), pointer, self._mask(dtype, mask)))

    def store(self, value: Val, pointer: Value, mask=None):
        """Store a value to contiguous elements."""
        self.f.store_masked(self.to_memory(value), pointer, self._mask(value.dtype, mask))

    def gather(self, dtype, pointers: Value, mask=None) -> Val:
        """Load the elements at a vector of pointers."""
        if dtype is dt.complex64:           # both parts at once, in order
            both = self.f.gather(vector(self.lanes, I64), pointers, mask, bytes_of(F32))
            return self.from_memory(dtype, self.f.bitcast(both, self.memory(dtype)))
        if dtype is dt.complex128:
            return self.whole(*[self.gather(dt.float64, at, mask) for at in self._part_pointers(dtype, pointers)])
        return self.from_memory(dtype, self.f.gather(self.memory(dtype), pointers, mask))

    def scatter(self, value: Val, pointers: Value, mask=None):
        """Store a value to a vector of pointers."""
        if value.dtype.is_complex:
            for part, at in zip(self.re_im(value), self._part_pointers(value.dtype, pointers)):
                self.scatter(part, at, mask)
            return
        raw = self.to_memory(value)
        mask = mask or constant(like(raw.type, I1), True)
        align = Value(I32, str(bytes_of(element_of(raw.type))))
        self.f.call(f"llvm.masked.scatter.{mangled(raw.type)}.{mangled(pointers.type)}", VOID, raw, pointers, align, mask)

    def _part_pointers(self, dtype, pointers):
        size = bytes_of(ELEMENT[dt.PARTS[dtype]])
        return pointers, self.f.op(pointers.type, f"getelementptr i8, {pointers}, i64 {size}")

    def pointers(self, first: Value, dtype, offsets: Value) -> Value:
        """Return a pointer for each lane: `offsets` elements behind the first."""
        return self.f.op(vector(self.lanes, PTR), f"getelementptr {memory_element(dtype)}, {first}, {offsets}")
