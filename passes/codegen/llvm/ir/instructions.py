"""Straight-line instructions of `emit.Function`: arithmetic, comparisons, casts, vectors, memory, calls.

Index arithmetic folds Python ints; a Python number combined with a Value becomes a constant of its type.
"""

from collections.abc import Callable
from typing import Any

from .types import (
    I1,
    I8,
    I32,
    I64,
    PTR,
    VOID,
    Value,
    bytes_of,
    constant,
    element_of,
    iota,
    is_float,
    lanes_of,
    like,
    mangled,
    poison,
    struct_of,
    vector,
    zero,
)


def _binary(opcode: str) -> Callable:
    return lambda function, a, b: function.binary(opcode, a, b)


class Instructions:
    """The instructions of a function, appended as text."""

    def __init__(self, module):
        self.module = module
        self._entry: list[str] = []
        self._lines: list[str] = []
        self._count = 0

    def op(self, type_: str, text: str) -> Value:
        """Append an instruction with a result of `type_`."""
        self._count += 1
        name = f"%t{self._count}"
        self._lines.append(f"  {name} = {text}")
        return Value(type_, name)

    def do(self, text: str):
        """Append an instruction without a result."""
        self._lines.append("  " + text)

    def comment(self, text: str):
        """Append a comment line."""
        self._lines.append("  ; " + text)

    # --- values ---
    def value(self, type_: str, number) -> Value:
        """Return a Value as it is, a Python number as a constant of `type_`."""
        return number if isinstance(number, Value) else constant(type_, number)

    def index(self, number) -> Value:
        """Return an i64 from an int or a Value."""
        return self.value(I64, number)

    @staticmethod
    def typed(*values) -> str:
        """Return the type of the first Value among `values`; i64 if all are ints, double for floats."""
        for value in values:
            if isinstance(value, Value):
                return value.type
        return I64 if all(isinstance(value, int) for value in values) else "double"

    def binary(self, opcode: str, a, b) -> Value:
        """Append a two-operand instruction by LLVM opcode, which may include flags: "add nsw"."""
        type_ = self.typed(a, b)
        return self.op(type_, f"{opcode} {type_} {self.value(type_, a).name}, {self.value(type_, b).name}")

    def intrinsic(self, name: str, type_: str, *args, ret: str | None = None) -> Value:
        """Call an LLVM intrinsic overloaded on one type: intrinsic("fma", "<16 x float>", a, b, c)."""
        given = [self.value(type_, arg) for arg in args]
        return self.call(f"llvm.{name}.{mangled(type_)}", ret or type_, *given)

    def call(self, name: str, ret: str, *args) -> Any:
        """Call a function by name; declare it unless the module defines it."""
        self.module.declare(name, ret, (arg.type for arg in args))
        text = f"call {ret} @{name}({', '.join(map(str, args))})"
        return self.do(text) if ret == VOID else self.op(ret, text)

    def call_pointer(self, pointer: Value, ret: str, *args) -> Any:
        """Call through a function pointer."""
        text = f"call {ret} {pointer.name}({', '.join(map(str, args))})"
        return self.do(text) if ret == VOID else self.op(ret, text)

    # --- integers; Python ints fold ---
    def add(self, a, b):
        """a + b of integers that do not overflow."""
        return self._fold("add nsw", a, b, lambda x, y: x + y, right_unit=0, left_unit=0)

    def sub(self, a, b):
        return self._fold("sub nsw", a, b, lambda x, y: x - y, right_unit=0)

    def mul(self, a, b):
        if 0 in (a, b) and (isinstance(a, int) or isinstance(b, int)):
            return 0
        return self._fold("mul nsw", a, b, lambda x, y: x * y, right_unit=1, left_unit=1)

    def div(self, a, b):
        """a // b of non-negative integers."""
        return self._fold("udiv", a, b, lambda x, y: x // y, right_unit=1)

    def mod(self, a, b):
        """a % b of non-negative integers."""
        return self._fold("urem", a, b, lambda x, y: x % y)

    def bit_and(self, a, b):
        """Bitwise and; bit_and(n, -16) rounds down to a multiple of 16."""
        return self._fold("and", a, b, lambda x, y: x & y)

    def opaque(self, a):
        """Return the same number behind a freeze, so that LLVM does not derive other addresses from it."""
        return a if isinstance(a, int) else self.op(a.type, f"freeze {a}")

    def min(self, a, b):
        """Return the smaller of two signed integers."""
        return min(a, b) if isinstance(a, int) and isinstance(b, int) else self.intrinsic("smin", self.typed(a, b), a, b)

    def max(self, a, b):
        """Return the larger of two signed integers."""
        return max(a, b) if isinstance(a, int) and isinstance(b, int) else self.intrinsic("smax", self.typed(a, b), a, b)

    def ceil_div(self, a, b):
        """(a + b - 1) // b of non-negative integers."""
        return self.div(self.add(a, self.sub(b, 1)), b)

    def _fold(self, opcode, a, b, compute, right_unit=None, left_unit=None):
        if isinstance(a, int) and isinstance(b, int):
            return compute(a, b)
        if right_unit is not None and isinstance(b, int) and b == right_unit:
            return a
        if left_unit is not None and isinstance(a, int) and a == left_unit:
            return b
        return self.binary(opcode, a, b)

    # --- floats ---
    fadd, fsub, fmul, fdiv = map(_binary, ("fadd", "fsub", "fmul", "fdiv"))

    def fneg(self, a):
        return self.op(a.type, f"fneg {a}")

    def fma(self, a, b, c):
        """a * b + c rounded once. Targets without the instruction compute the same bits slowly."""
        return self.intrinsic("fma", self.typed(a, b, c), a, b, c)

    def compare(self, predicate: str, a, b) -> Value:
        """Append icmp or fcmp by LLVM's predicate: slt, eq, ..., olt, une, ..."""
        type_ = self.typed(a, b)
        opcode = "fcmp" if is_float(type_) else "icmp"
        text = f"{opcode} {predicate} {type_} {self.value(type_, a).name}, {self.value(type_, b).name}"
        return self.op(like(type_, I1), text)

    def select(self, condition: Value, a, b) -> Value:
        """Return a where the condition holds, else b; lane by lane for a vector condition."""
        type_ = self.typed(a, b)
        return self.op(type_, f"select {condition}, {self.value(type_, a)}, {self.value(type_, b)}")

    def cast(self, opcode: str, a: Value, type_: str) -> Value:
        """Convert by LLVM's opcode: sext, zext, trunc, sitofp, uitofp, fptosi, fpext, fptrunc, bitcast, ..."""
        return a if a.type == type_ else self.op(type_, f"{opcode} {a} to {type_}")

    def bitcast(self, a: Value, type_: str) -> Value:
        """Reinterpret the bits as another type of the same size."""
        return self.cast("bitcast", a, type_)

    # --- vectors ---
    def splat(self, a: Value, lanes: int) -> Value:
        """Broadcast a scalar to every lane."""
        if lanes == 1:
            return a
        type_ = vector(lanes, a.type)
        first = self.op(type_, f"insertelement {poison(type_)}, {a}, i64 0")
        return self.op(type_, f"shufflevector {first}, {poison(type_)}, {zero(vector(lanes, I32))}")

    def shuffle(self, a: Value, b: Value, lanes) -> Value:
        """Select lanes of a (0 .. n-1) and b (n .. 2n-1) in the given order; -1 leaves a lane undefined."""
        lanes = list(lanes)
        mask = ", ".join("i32 poison" if lane < 0 else f"i32 {lane}" for lane in lanes)
        type_ = vector(len(lanes), element_of(a.type))
        return self.op(type_, f"shufflevector {a}, {b}, <{len(lanes)} x i32> <{mask}>")

    def extract(self, a: Value, lane) -> Value:
        return a if lanes_of(a.type) == 1 else self.op(element_of(a.type), f"extractelement {a}, {self.index(lane)}")

    def insert(self, a: Value, scalar: Value, lane) -> Value:
        """Replace one lane of a vector."""
        return self.op(a.type, f"insertelement {a}, {scalar}, {self.index(lane)}")

    def packed(self, values: list) -> Value:
        """Pack values into one struct value, for a function to return."""
        if len(values) == 1:
            return values[0]
        type_ = struct_of([v.type for v in values])
        made = poison(type_)
        for number, v in enumerate(values):
            made = self.op(type_, f"insertvalue {made}, {v}, {number}")
        return made

    def unpacked(self, value: Value, types: list) -> list:
        """Unpack the values of these types from a struct value."""
        if len(types) == 1:
            return [value]
        return [self.op(type_, f"extractvalue {value}, {number}") for number, type_ in enumerate(types)]

    def mask(self, count, lanes: int) -> Value:
        """Return <lanes x i1>, true in the lanes below `count` (any i64; may be negative or more than `lanes`)."""
        count = self.min(self.max(count, 0), lanes)
        narrow = self.cast("trunc", self.index(count), I32) if isinstance(count, Value) else constant(I32, count)
        return self.compare("slt", iota(lanes), self.splat(narrow, lanes))

    # --- memory ---
    def at(self, pointer: Value, offset, type_: str = I8) -> Value:
        """Return the address `offset` elements of `type_` after a pointer."""
        if isinstance(offset, int) and offset == 0:
            return pointer
        return self.op(PTR, f"getelementptr {type_}, {pointer}, {self.index(offset)}")

    def load(self, type_: str, pointer: Value, align: int | None = None) -> Value:
        """Load; the alignment is the element's own unless stated."""
        return self.op(type_, f"load {type_}, {pointer}, align {align or bytes_of(element_of(type_))}")

    def store(self, a: Value, pointer: Value, align: int | None = None, nontemporal: bool = False):
        """Store; the alignment is the element's own unless stated."""
        hint = ", !nontemporal !2" if nontemporal else ""
        self.do(f"store {a}, {pointer}, align {align or bytes_of(element_of(a.type))}{hint}")

    def load_masked(self, type_: str, pointer: Value, mask: Value | None, other=0) -> Value:
        """Load the lanes where the mask holds, all without a mask. Other lanes are `other`, and their memory is not touched."""
        if mask is None:
            return self.load(type_, pointer)
        other = self.value(type_, other) if other != 0 else zero(type_)
        align = Value(I32, str(bytes_of(element_of(type_))))
        return self.call(f"llvm.masked.load.{mangled(type_)}.p0", type_, pointer, align, mask, other)

    def store_masked(self, a: Value, pointer: Value, mask: Value | None):
        """Store the lanes where the mask holds, all without a mask."""
        if mask is None:
            self.store(a, pointer)
            return
        align = Value(I32, str(bytes_of(element_of(a.type))))
        self.call(f"llvm.masked.store.{mangled(a.type)}.p0", VOID, a, pointer, align, mask)

    def gather(self, type_: str, pointers: Value, mask: Value | None = None, align: int | None = None) -> Value:
        """Load one element per lane from a vector of pointers; the alignment is the element's own unless stated."""
        mask = mask or constant(like(type_, I1), True)
        aligned = Value(I32, str(align or bytes_of(element_of(type_))))
        name = f"llvm.masked.gather.{mangled(type_)}.{mangled(pointers.type)}"
        return self.call(name, type_, pointers, aligned, mask, zero(type_))

    def prefetch(self, pointer: Value, locality: int = 3, write: bool = False):
        """Prefetch a cache line; locality 3 keeps it in near caches, 0 lets it go soon."""
        args = (Value(I32, str(int(write))), Value(I32, str(locality)), Value(I32, "1"))
        self.call("llvm.prefetch.p0", VOID, pointer, *args)

    def local(self, size: int, align: int = 64) -> Value:
        """Allocate bytes on the stack for the lifetime of the function."""
        self._count += 1
        self._entry.append(f"  %s{self._count} = alloca [{size} x i8], align {align}")
        return Value(PTR, f"%s{self._count}")


def pieces(f, value: Value, lanes: int) -> list[Value]:
    """Split a vector into vectors of `lanes` lanes."""
    whole = lanes_of(value.type)
    if whole == lanes:
        return [value]
    if value.name.startswith("splat"):
        return [Value(vector(lanes, element_of(value.type)), value.name)] * (whole // lanes)
    return [f.shuffle(value, value, range(at, at + lanes)) for at in range(0, whole, lanes)]


def joined(f, vectors: list[Value]) -> Value:
    """Concatenate vectors; their number is a power of two."""
    while len(vectors) > 1:
        vectors = [f.shuffle(a, b, range(2 * lanes_of(a.type))) for a, b in zip(vectors[::2], vectors[1::2])]
    return vectors[0]
