"""Scalar instructions that a backend spells, and values that read like arithmetic.

A `Builder` turns each instruction into LLVM text for a vector of lanes, a numpy array, or a line of Triton. A backend
implements `emit`; all else builds on it. Every function of `scalars` is a Python function of a builder's values, so its meaning
is the same on every backend: IEEE operations in the order written, each rounded once, fused only where `fma` is called by name.

Instructions (`emit(op, dtype, args, attr)`; operands share a dtype unless noted):

    const                 attr: the number (or the bits as an int, for an integer dtype)
    add sub mul neg abs   floats and integers (integers wrap)
    div sqrt fma          floats, correctly rounded;  floor ceil trunc round (to even): floats
    quo rem               integers, truncating, as the machine does; the divisor is never 0
    mulhi                 the high half of an unsigned 32-bit product
    eq ne lt le gt ge     floats and integers; `ne` is true for nan, the others false; the result is bool
    select                (bool, value, value)
    and or xor not        bool and integers;  shl shr: integers (shr keeps the sign of signed types), counts below the width
    bitcast               to the dtype of the same size;  cast: between all dtypes (see below)
    lookup                attr: a tuple of u64 words; the argument is an i64 index in range; the result is u64

Casts: float to float rounds to nearest even; float to integer truncates (out of range: the machine's x86 answer, the smallest
integer, cut to the narrower type); integer to integer wraps; anything to bool is `!= 0`. f16 and bf16 values only load, store,
bitcast, cast to and from f32, and select: arithmetic on them is done in f32 and rounded once. f8 values do as well, but their
casts are shared code (`float8.py`). Complex values are pairs, whose instructions are those of their parts
(`complex_numbers.py`): no `emit` ever sees one.

A backend for chips with special function units (`has_units`) spells four more instructions of f32:

    power reciprocal      2**x within 2 units of the last place (1 for 0) and 1 / x within 1; subnormals may count as 0
    smaller larger        minimum and maximum: a number is preferred to nan, and either of two zeros may result
"""

from abc import ABC, abstractmethod
from collections.abc import Callable

from ....ir import dtype as dt
from . import complex_numbers, float8

SIGNED_OF = {8: dt.int64, 4: dt.int32, 2: dt.int16, 1: dt.int8}
UNSIGNED_OF = {8: dt.uint64, 4: dt.uint32, 2: dt.uint16, 1: dt.uint8}
LOW_PRECISION = dt.NARROW


def _binary(op: str) -> Callable:
    return lambda value, other: value.s.binary(op, value, other)


def _reversed(op: str) -> Callable:
    return lambda value, other: value.s.binary(op, other, value)


def _compared(op: str) -> Callable:
    return lambda value, other: value.s.compare(op, value, other)


def _unary(op: str) -> Callable:
    return lambda value: value.s.emit(op, value.dtype, (value,))


def _emitted(op: str) -> Callable:
    return lambda builder, value: builder.emit(op, value.dtype, (value,))


class Val:
    """One scalar (or lane-wise) value of a builder. Python numbers combined with it become constants of its dtype. The `ref`
    of a complex value is a pair."""

    __slots__ = ("dtype", "ref", "s")

    def __init__(self, s, dtype, ref):
        self.s, self.dtype, self.ref = s, dtype, ref

    __add__, __sub__, __mul__, __truediv__ = map(_binary, ("add", "sub", "mul", "div"))
    __radd__, __rsub__, __rmul__, __rtruediv__ = map(_reversed, ("add", "sub", "mul", "div"))
    __and__, __or__, __xor__, __lshift__, __rshift__ = map(_binary, ("and", "or", "xor", "shl", "shr"))
    __invert__, __neg__, __abs__ = map(_unary, ("not", "neg", "abs"))
    __lt__, __le__, __gt__, __ge__ = map(_compared, ("lt", "le", "gt", "ge"))
    eq, ne = map(_compared, ("eq", "ne"))       # lane by lane (`==` keeps its Python meaning); nan differs from all

    def bits(self):
        """Return the bits as the signed integer of the same size."""
        return self.s.emit("bitcast", SIGNED_OF[self.dtype.itemsize], (self,))

    def ubits(self):
        """Return the bits as the unsigned integer of the same size."""
        return self.s.emit("bitcast", UNSIGNED_OF[self.dtype.itemsize], (self,))

    def as_(self, dtype):
        """Reinterpret the bits as `dtype`."""
        return self.s.emit("bitcast", dtype, (self,))

    def to(self, dtype):
        return self.s.cast(self, dtype)


class Builder(ABC):
    """Base of every backend's scalar builder: a backend implements `emit`, the rest is shared.

        has_units   whether the backend spells the instructions of special function units
    """

    has_units = False
    sqrt, floor, ceil, trunc = map(_emitted, ("sqrt", "floor", "ceil", "trunc"))
    round = _emitted("round")                                                   # ties to even
    power, reciprocal = _emitted("power"), _emitted("reciprocal")               # 2**x and 1 / x by a special function unit

    @abstractmethod
    def emit(self, op: str, dtype, args: tuple, attr=None) -> Val:
        """Spell one instruction and return its result."""

    def rare(self, cond: Val, usual: Val | tuple, slow, *arguments: Val):
        """Return `slow(self, *arguments)` where `cond` holds, else `usual`; a backend may branch around the slow part.

        A slow part whose `arguments` are all that it reads must be needed at most once in a thousand calls: it may become a
        function of its own. A slow part without `arguments` may read anything.
        """
        return self.choose(cond, slow(self, *arguments) if arguments else slow(), usual)

    def repeat(self, times: int, state: tuple, step, numbered=False) -> tuple:
        """Return the state after `times` times `state = step(*state)`. If `numbered`, the step takes the iteration (i64) before
        the state. A backend may write a loop."""
        for turn in range(times):
            state = step(*[self.const(dt.int64, turn)] * numbered, *state)
        return state

    def iterate(self, most: int, live: Val, state: tuple, step) -> tuple:
        """Return each lane's state after `live, *state = step(*state)` while the lane is live, at most `most` times. A backend
        writes a loop that ends when no lane is live."""
        return self.repeat(most, (live, *state), lambda *before: self._lived(before, step))[1:]

    def _lived(self, before, step) -> tuple:
        """Return (live, *state) after a step that only live lanes take."""
        live = before[0]
        goes_on, *after = step(*before[1:])
        return live & goes_on, *[self.select(live, a, b) for a, b in zip(after, before[1:])]

    def choose(self, cond, a, b):
        """Apply `select` to values or to tuples of values."""
        if isinstance(a, tuple):
            return tuple(self.select(cond, x, y) for x, y in zip(a, b))
        return self.select(cond, a, b)

    def re_im(self, z: Val) -> tuple:
        """Return the real and the imaginary part of a complex value."""
        return tuple([Val(self, dt.PARTS[z.dtype], ref) for ref in z.ref])

    def pieces(self, value: Val) -> tuple:
        """Return the parts of a complex value, or a real value alone, as a tuple."""
        return self.re_im(value) if value.dtype.is_complex else (value,)

    def whole(self, re: Val, im: Val) -> Val:
        """Return the complex value of two parts."""
        return Val(self, dt.WHOLES[re.dtype], (re.ref, im.ref))

    def const(self, dtype, number) -> Val:
        if dtype.is_complex:
            return self.whole(*[self.const(dt.PARTS[dtype], x) for x in (number.real, number.imag)])
        return self.emit("const", dtype, (), number)

    def lift(self, like: Val, x) -> Val:
        """Return `x`, or the constant `x` in the dtype of `like`."""
        return x if isinstance(x, Val) else self.const(like.dtype, x)

    def binary(self, op, a, b):
        like = a if isinstance(a, Val) else b
        return self.emit(op, like.dtype, (self.lift(like, a), self.lift(like, b)))

    def compare(self, op, a, b):
        return self.emit(op, dt.bool_, (a, self.lift(a, b)))

    def select(self, cond, a, b):
        like = a if isinstance(a, Val) else b
        a, b = self.lift(like, a), self.lift(like, b)
        if like.dtype.is_complex:
            return self.whole(*[self.select(cond, x, y) for x, y in zip(self.re_im(a), self.re_im(b))])
        return self.emit("select", like.dtype, (cond, a, b))

    def fma(self, a, b, c):
        like = next(x for x in (a, b, c) if isinstance(x, Val))
        return self.emit("fma", like.dtype, tuple(self.lift(like, x) for x in (a, b, c)))

    def by_units(self, x) -> bool:
        """Return whether functions of `x` use special function units."""
        return self.has_units and x.dtype is dt.float32

    def smaller(self, x, limit):
        """min(x, limit), or `limit` if x is nan; only with special function units."""
        return self.binary("smaller", x, limit)

    def larger(self, x, limit):
        """max(x, limit), or `limit` if x is nan; only with special function units."""
        return self.binary("larger", x, limit)

    def quotient(self, a, b):
        """a / b for finite a and b from 1 to 2**120: correctly rounded, or nearly so by a special function unit."""
        if not self.by_units(b):
            return a / b
        r = self.reciprocal(b)
        q = r * a
        return self.fma(self.fma(-q, b, a), r, q)

    def quo(self, a, b):
        return self.binary("quo", a, b)

    def rem(self, a, b):
        return self.binary("rem", a, b)

    def lookup(self, words: tuple, index: Val) -> Val:
        return self.emit("lookup", dt.uint64, (index,), words)

    def cast(self, x: Val, dtype) -> Val:
        if x.dtype is dtype:
            return x
        if x.dtype.is_complex or dtype.is_complex:
            return complex_numbers.cast(self, x, dtype)
        if dtype is dt.bool_:
            return self.widen(x).ne(0)
        if x.dtype is dt.float16 and dtype in dt.FLOAT8:
            return float8.narrowed(self, self.convert(x, dt.float32), dtype, self.cast(x.as_(dt.uint16), dt.uint32) >> 8)
        if dtype in LOW_PRECISION and x.dtype is not dt.float32:
            x = self.odd_f32(x) if x.dtype is dt.float64 else self.convert(x, dt.float32)
        elif x.dtype in LOW_PRECISION and dtype is not dt.float32:
            x = self.convert(x, dt.float32)
        return self.convert(x, dtype)

    def convert(self, x: Val, dtype) -> Val:
        """Convert by one instruction of the backend, or between float8 and f32."""
        if dtype in dt.FLOAT8:
            return float8.narrowed(self, x, dtype)
        return float8.widened(self, x) if x.dtype in dt.FLOAT8 else self.emit("cast", dtype, (x,))

    def widen(self, x: Val) -> Val:
        """Convert f16, bf16 and f8 to f32; other values stay."""
        return self.cast(x, dt.float32) if x.dtype in LOW_PRECISION else x

    def odd_f32(self, x: Val) -> Val:
        """Round f64 to f32 to odd, so that a second rounding to a narrower type is correct."""
        near = self.emit("cast", dt.float32, (x,))
        back = self.emit("cast", dt.float64, (near,))
        bits = near.bits()
        step = self.select(abs(back) > abs(x), self.const(dt.int32, -1), self.const(dt.int32, 1))
        inexact = back.ne(x) & (bits & 1).eq(0) & (x.eq(x))
        return self.select(inexact, bits + step, bits).as_(dt.float32)

    def poly(self, x, coefficients):
        """Evaluate a polynomial by Horner's rule with fma; coefficients from the constant term up."""
        acc = self.const(x.dtype, coefficients[-1])
        for c in reversed(coefficients[:-1]):
            acc = self.fma(acc, x, c)
        return acc

    def maximum(self, a, b):
        """Return the larger; nan if either is nan."""
        a, b = (a, self.lift(a, b)) if isinstance(a, Val) else (self.lift(b, a), b)
        take = a > b
        return self.select(take | a.ne(a) if a.dtype.is_floating_point else take, a, b)

    def minimum(self, a, b):
        """Return the smaller; nan if either is nan."""
        a, b = (a, self.lift(a, b)) if isinstance(a, Val) else (self.lift(b, a), b)
        take = a < b
        return self.select(take | a.ne(a) if a.dtype.is_floating_point else take, a, b)

    def sign_bit(self, x):
        """Return the sign bit of a float, in place, as an integer."""
        return x.bits() & sign_mask(x.dtype)

    def copysign(self, x, sign):
        return (abs(x).bits() | self.sign_bit(sign)).as_(x.dtype)

    def power_of_two(self, n):
        """2**n for an integer n of the normal exponent range, as a float of the same size."""
        bias, mantissa, kind = (1023, 52, dt.float64) if n.dtype is dt.int64 else (127, 23, dt.float32)
        return ((n + bias) << mantissa).as_(kind)

    def scale(self, y, n, i):
        """y * 2**n with one rounding; `i` is n as an integer. n may leave the normal exponent range by a factor of two."""
        half = i >> 1
        return (y * self.power_of_two(half)) * self.power_of_two(i - half)

    def is_inf(self, x):
        return abs(x).eq(float("inf"))

    # Error-free transformations: pairs (high, low) whose exact sum is the result.

    def two_sum(self, a, b):
        s = a + b
        t = s - a
        return s, (a - (s - t)) + (b - t)

    def fast_two_sum(self, a, b):
        s = a + b
        return s, b - (s - a)

    def two_product(self, a, b):
        p = a * b
        return p, self.fma(a, b, -p)


def sign_mask(dtype) -> int:
    """Return the signed integer with only the sign bit of a float dtype set."""
    return -(1 << (8 * dtype.itemsize - 1))
