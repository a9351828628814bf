"""LLVM spelling of scalar instructions, for one lane or a vector of lanes, and rounding of floats to bfloat.

Rounding to bfloat is to nearest even, keeps subnormals and quiets nan: the same bits on every target. AVX-512 BF16 flushes
subnormals, so vectors with one are rounded by integer instructions.
"""

import zlib

import numpy as np

from .....ir import dtype as dt
from .....ir.reference.scalar_functions import as_kind
from ...scalars import Val
from .instructions import joined, pieces
from .memory_types import ELEMENT, InMemory, memory_element
from .types import (
    BF16,
    F64,
    FLOATS,
    I1,
    I16,
    I32,
    I64,
    PTR,
    VOID,
    Value,
    bytes_of,
    constant,
    element_of,
    lanes_of,
    like,
    vector,
    zero,
)

FLOAT_OPS = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
INT_OPS = {"add": "add", "sub": "sub", "mul": "mul", "and": "and", "or": "or", "xor": "xor", "shl": "shl"}
UNARY = {"abs": "fabs", "sqrt": "sqrt", "floor": "floor", "ceil": "ceil", "trunc": "trunc", "round": "roundeven", "fma": "fma"}
FLOAT_TESTS = {"eq": "oeq", "ne": "une", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge"}
SIGNED_TESTS = {"eq": "eq", "ne": "ne", "lt": "slt", "le": "sle", "gt": "sgt", "ge": "sge"}
UNSIGNED_TESTS = SIGNED_TESTS | {"lt": "ult", "le": "ule", "gt": "ugt", "ge": "uge"}


class LlvmBuilder(InMemory):
    """A builder that appends instructions to a Function; values are vectors of `lanes` (scalars for one lane)."""

    def __init__(self, function, lanes: int):
        self.f, self.lanes = function, lanes
        self._numbers: set = set()      # names of float constants that are not nan

    def wrap(self, dtype, ref: Value) -> Val:
        """Return an LLVM value as a scalar value of this builder."""
        return Val(self, dtype, ref)

    def type(self, dtype) -> str:
        return vector(self.lanes, ELEMENT[dtype])

    def maximum(self, a, b):
        """Return the larger, nan if one is nan; one comparison if b is a constant."""
        return self._extreme("ugt", a, b) or self._chosen("ogt", a, b) or super().maximum(a, b)

    def minimum(self, a, b):
        """Return the smaller, nan if one is nan."""
        return self._extreme("ult", a, b) or self._chosen("olt", a, b) or super().minimum(a, b)

    def _chosen(self, test, a, b):
        """Select a where it is nan or the test holds, else b, in three instructions; None unless both are floats.

        The freeze keeps LLVM from merging the selects: a load of b masked by a would wait for a, which is slow in a chain.
        """
        if not (isinstance(a, Val) and isinstance(b, Val) and ELEMENT[a.dtype] in FLOATS):
            return None
        chosen = self.f.select(self.f.compare(test, a.ref, b.ref), a.ref, b.ref)
        return Val(self, a.dtype, self.f.select(self.f.compare("ord", a.ref, a.ref), self.f.opaque(chosen), a.ref))

    def _extreme(self, test, a, b):
        """Select a where the test holds or a is nan, else b; None unless b is a constant float."""
        if isinstance(a, Val) and isinstance(b, Val) and b.ref.name in self._numbers and ELEMENT[a.dtype] in FLOATS:
            return Val(self, a.dtype, self.f.select(self.f.compare(test, a.ref, b.ref), a.ref, b.ref))
        return None

    def emit(self, op, dtype, args, attr=None):
        refs = [a.ref for a in args]
        if op == "const":
            made = constant(self.type(dtype), self._number(dtype, attr))
            if dtype.is_floating_point and attr == attr:
                self._numbers.add(made.name)
            return Val(self, dtype, made)
        if op in SIGNED_TESTS:
            return Val(self, dtype, self.f.compare(self._test(op, args[0].dtype), *refs))
        if op == "select":
            return Val(self, dtype, self.f.select(*refs))
        if op == "cast":
            return Val(self, dtype, self._cast(args[0], dtype))
        own = getattr(self, "_" + op, None)
        return Val(self, dtype, own(dtype, refs, attr) if own else self._plain(op, dtype, refs))

    def _number(self, dtype, number):
        if dtype in dt.NARROW:
            return int(as_kind(np.asarray(number), dtype.np).view(f"i{dtype.itemsize}"))
        if dtype.is_floating_point or dtype is dt.bool_:
            return number
        bits = 8 * dtype.itemsize
        number = int(number) & ((1 << bits) - 1)
        return number - (1 << bits) if number >> (bits - 1) else number

    def _test(self, op, dtype):
        if dtype.is_floating_point:
            return FLOAT_TESTS[op]
        return (SIGNED_TESTS if dtype.is_signed else UNSIGNED_TESTS)[op]

    def _plain(self, op, dtype, refs):
        if dtype.is_floating_point:
            if op in FLOAT_OPS:
                return self.f.binary(FLOAT_OPS[op], *refs)
            if op in UNARY:
                return self.f.intrinsic(UNARY[op], self.type(dtype), *refs)
        if op == "shr":
            return self.f.binary("ashr" if dtype.is_signed else "lshr", *refs)
        return self.f.binary(INT_OPS[op], *refs)

    def _neg(self, dtype, refs, attr):
        return self.f.fneg(refs[0]) if dtype.is_floating_point else self.f.binary("sub", zero(refs[0].type), refs[0])

    def _abs(self, dtype, refs, attr):
        if dtype.is_floating_point:
            return self.f.intrinsic("fabs", self.type(dtype), *refs)
        flag = Value(I1, "false")
        return self.f.call(f"llvm.abs.{_suffix(refs[0].type)}", refs[0].type, refs[0], flag)

    def _not(self, dtype, refs, attr):
        ones = constant(refs[0].type, True if dtype is dt.bool_ else -1)
        return self.f.binary("xor", refs[0], ones)

    def _quo(self, dtype, refs, attr):
        return self.f.binary("sdiv" if dtype.is_signed else "udiv", *refs)

    def _rem(self, dtype, refs, attr):
        return self.f.binary("srem" if dtype.is_signed else "urem", *refs)

    def _mulhi(self, dtype, refs, attr):
        wide = like(refs[0].type, I64)
        product = self.f.binary("mul", *(self.f.cast("zext", r, wide) for r in refs))
        return self.f.cast("trunc", self.f.binary("lshr", product, constant(wide, 32)), refs[0].type)

    def _bitcast(self, dtype, refs, attr):
        return self.f.bitcast(refs[0], self.type(dtype))

    def _lookup(self, dtype, refs, attr):
        name = f"words_{zlib.crc32(repr(attr).encode()):08x}"
        signed = [w - 2**64 if w >> 63 else w for w in attr]
        table = self.f.module.table(name, I64, signed)
        if self.lanes == 1:
            return self.f.load(I64, self.f.at(table, refs[0], I64))
        pointers = self.f.op(vector(self.lanes, "ptr"), f"getelementptr i64, {table}, {refs[0]}")
        return self.f.gather(self.type(dtype), pointers)

    def _cast(self, x: Val, dtype):
        """Append one conversion. The shared `cast` has handled low precision and bool tests before."""
        source, f, to = x.dtype, self.f, self.type(dtype)
        if source in (dt.float16, dt.bfloat16):
            return self._widen(x)
        if dtype in (dt.float16, dt.bfloat16):
            return self._narrow(x, dtype)
        if source.is_floating_point and dtype.is_floating_point:
            return f.cast("fpext" if dtype is dt.float64 else "fptrunc", x.ref, to)
        if source.is_floating_point:
            return self._truncate(x, dtype)
        signed = source.is_signed and source is not dt.bool_
        if dtype.is_floating_point:
            return f.cast("sitofp" if signed else "uitofp", x.ref, to)
        if dtype.itemsize < source.itemsize:
            return f.cast("trunc", x.ref, to)
        if dtype.itemsize == source.itemsize and source is not dt.bool_:
            return x.ref
        return f.cast("sext" if signed else "zext", x.ref, to)

    def _truncate(self, x, dtype):
        if dtype is dt.uint64:
            return self.f.cast("fptoui", x.ref, self.type(dtype))
        via = I32 if dtype.itemsize < 4 or dtype is dt.int32 else I64
        whole = self.f.cast("fptosi", x.ref, like(x.ref.type, via))
        return self.f.cast("trunc", whole, self.type(dtype)) if bytes_of(via) > dtype.itemsize else whole

    def _widen(self, x):
        """Convert f16 or bf16 bits to f32."""
        f, wide = self.f, self.type(dt.float32)
        if x.dtype is dt.float16 and f.module.target.half_conversions:
            return f.cast("fpext", f.bitcast(x.ref, like(wide, "half")), wide)
        bits = Val(self, dt.uint32, f.cast("zext", x.ref, like(wide, I32)))
        if x.dtype is dt.bfloat16:
            return (bits << 16).as_(dt.float32).ref
        magnitude = (bits & 0x7FFF) << 13
        value = magnitude.as_(dt.float32) * 2.0**112
        special = self.select(magnitude >= 0x0F800000, magnitude | 0x7F800000, value.ubits())
        return (special | ((bits & 0x8000) << 16)).as_(dt.float32).ref

    def _narrow(self, x, dtype):
        """Round f32 to f16 or bf16 bits, to nearest even."""
        f, half = self.f, self.type(dtype)
        if dtype is dt.float16 and f.module.target.half_conversions:
            return f.bitcast(f.cast("fptrunc", x.ref, like(half, "half")), half)
        if dtype is dt.bfloat16:
            return to_bfloat(f, x.ref)
        bits = x.ubits()
        magnitude = bits & 0x7FFFFFFF
        normal = (magnitude - 0x38000000 + 0xFFF + ((magnitude >> 13) & 1)) >> 13
        small = (magnitude.as_(dt.float32) + 0.5).ubits() - 0x3F000000
        out = self.select(magnitude < 0x38800000, small, normal)
        out = self.select(magnitude >= 0x477FF000, self.const(dt.uint32, 0x7C00), out)
        out = self.select(magnitude > 0x7F800000, self.const(dt.uint32, 0x7E00), out)
        return f.cast("trunc", (out | ((bits >> 16) & 0x8000)).ref, half)

    def scale(self, y, n, i):
        """Scale by one AVX-512 instruction if there is one: the same bits as the shared two multiplications."""
        wide = y.dtype is dt.float64
        full = 8 if wide else 16
        if self.f.module.target.level != "x86-64-v4" or self.lanes % full:
            return super().scale(y, n, i)
        parts = [self._scalef(*pair, wide) for pair in zip(pieces(self.f, y.ref, full), pieces(self.f, n.ref, full))]
        return Val(self, y.dtype, joined(self.f, parts))

    def _scalef(self, y, n, wide):
        kind, mask = ("pd", "i8") if wide else ("ps", I16)
        every, rounding = Value(mask, "-1"), Value(I32, "4")
        return self.f.call(f"llvm.x86.avx512.mask.scalef.{kind}.512", y.type, y, n, y, every, rounding)

    def rare(self, cond, usual, slow, *arguments):
        """Branch around the slow part unless some lane needs it. With `given` arguments it is a function of its own."""
        is_tuple = isinstance(usual, tuple)
        values = usual if is_tuple else (usual,)
        needed = self._of_any(cond)

        def careful():
            if arguments and self.lanes > 1:
                made = self._apart(slow, arguments, values)
            else:
                made = slow(self, *arguments) if arguments else slow()
                made = made if is_tuple else (made,)
            return tuple(self.select(cond, a, b).ref for a, b in zip(made, values))

        merged = self.f.choose(needed, careful, lambda: tuple(v.ref for v in values), is_rare=bool(arguments))
        out = tuple(Val(self, v.dtype, ref) for v, ref in zip(values, merged))
        return out if is_tuple else out[0]

    def _apart(self, slow, arguments, values):
        """Call the slow part as a function on stack arrays: LLVM compiles it once, in vectors of the registers' width."""
        f, rooms = self.f, []
        for v in (*arguments, *values):
            rooms.append(f.local(bytes_of(self.memory(v.dtype))))
        for v, room in zip(arguments, rooms):
            self.store(v, room)
        f.call(_slow_function(f.module, slow, arguments, values), VOID, *rooms, f.index(self.lanes))
        return [self.load(v.dtype, room) for v, room in zip(values, rooms[len(arguments):])]

    def repeat(self, times, state, step, numbered=False):
        """Write a counted loop."""
        with self.f.loop(0, times, 1, [v.ref for v in state]) as loop:
            turn = [self.splat(Val(self, dt.int64, loop.index))] if numbered else []
            after = step(*turn, *(Val(self, v.dtype, ref) for v, ref in zip(state, loop.carried)))
            loop.next(*(v.ref for v in after))
        return tuple(Val(self, v.dtype, ref) for v, ref in zip(state, loop.results))

    def iterate(self, most, live, state, step):
        """Write a loop that ends when no lane is live."""
        before = (live, *state)
        with self.f.loop(0, most, 1, [v.ref for v in before]) as loop:
            after = self._lived(tuple(Val(self, v.dtype, ref) for v, ref in zip(before, loop.carried)), step)
            loop.next(*(v.ref for v in after), again=self._of_any(after[0]))
        return tuple(Val(self, v.dtype, ref) for v, ref in zip(state, loop.results[1:]))

    def _of_any(self, cond: Val):
        return self.f.call(f"llvm.vector.reduce.or.v{self.lanes}i1", I1, cond.ref) if self.lanes > 1 else cond.ref

    def splat(self, x: Val) -> Val:
        """Broadcast a one-lane value to every lane of this builder."""
        return self.mapped(lambda ref: self.f.splat(ref, self.lanes), x)


def _slow_function(module, slow, arguments, values):
    """Return the name of the function that computes `slow` on arrays; write it at the first call."""
    inner = LlvmBuilder(None, module.target.lanes(bytes_of(F64)))
    name = "_".join([slow.__name__.strip("_"), *[v.dtype.name for v in (*arguments, *values)]])
    if module.has(name):
        return name
    parameters = [(PTR, f"x{n}") for n in range(len(arguments) + len(values))]
    f = inner.f = module.function(name, [*parameters, (I64, "count")], internal=True)
    with f.loop(0, f.params[-1], inner.lanes) as loop:
        def spot(place, v):
            return f.at(place, loop.index, memory_element(v.dtype))

        made = slow(inner, *[inner.load(v.dtype, spot(place, v)) for place, v in zip(f.params, arguments)])
        for place, v, result in zip(f.params[len(arguments):], values, made if len(values) > 1 else (made,)):
            inner.store(result, spot(place, v))
    f.ret()
    return name


def _suffix(type_):
    lanes = f"v{lanes_of(type_)}" if type_[0] == "<" else ""
    return lanes + element_of(type_)


LANES = 16              # floats that one AVX-512 instruction converts
_SUBNORMAL = 0x20       # flag of the class instruction


def to_bfloat(f, value: Value) -> Value:
    """Return floats rounded to bfloat, as 16-bit integers."""
    if lanes_of(value.type) % LANES or not f.module.target.has("avx512bf16"):
        return _by_integers(f, value)
    parts, flags = pieces(f, value, LANES), vector(LANES, I1)
    small = joined(f, [f.call("llvm.x86.avx512.fpclass.ps.512", flags, part, Value(I32, str(_SUBNORMAL))) for part in parts])
    found = f.call(f"llvm.vector.reduce.or.v{lanes_of(value.type)}i1", I1, small)
    return f.choose(found, lambda: (_by_integers(f, value),), lambda: (joined(f, [_converted(f, part) for part in parts]),))[0]


def _converted(f, part):
    short = f.call("llvm.x86.avx512bf16.cvtneps2bf16.512", vector(LANES, BF16), part)
    return f.bitcast(short, vector(LANES, I16))


def _by_integers(f, value):
    bits = f.bitcast(value, like(value.type, I32))
    high = f.binary("lshr", bits, 16)
    rounded = f.binary("lshr", f.binary("add", f.binary("add", bits, 0x7FFF), f.binary("and", high, 1)), 16)
    quiet = f.binary("or", high, 0x40)
    return f.cast("trunc", f.select(f.compare("uno", value, value), quiet, rounded), like(value.type, I16))
