"""Arithmetic of PTX on registers, for all threads at once.

    OPERATIONS[name](instruction) -> (dtype of the result, dtypes of the operands, function)

Values are arrays with an element for each thread, or numpy scalars if all are equal. Registers hold unsigned integers; floats
are views of them. Approximate instructions are exact here, with the hardware's flushing.
"""

import ml_dtypes
import numpy as np

from ingot.passes.codegen.scalars.numpy_builder import fma32, fma64

from .faults import Fault

__all__ = ["OPERATIONS", "TYPES", "WIDENED_NAN", "Fault"]

TYPES = {"pred": np.bool_, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64,
         "tf32": np.float32, "e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2} \
    | {f"b{n}": np.dtype(f"u{n // 8}").type for n in (8, 16, 32, 64)} \
    | {f"u{n}": np.dtype(f"u{n // 8}").type for n in (8, 16, 32, 64)} \
    | {f"s{n}": np.dtype(f"i{n // 8}").type for n in (8, 16, 32, 64)}
_WIDER = {np.uint16: np.uint32, np.int16: np.int32, np.uint32: np.uint64, np.int32: np.int64}
_PAIRS = {"f16x2": np.float16, "bf16x2": ml_dtypes.bfloat16}
_SMALL = (np.float16, ml_dtypes.bfloat16)
_ROUNDINGS = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}


def _flushed(a):
    """Flush subnormal numbers."""
    tiny = np.finfo(np.float32).tiny
    return np.where(np.abs(a) < tiny, np.copysign(np.float32(0), a), a)


def _kind(i):
    return TYPES[i.parts[-1]]


def _halves(i, values):
    """Return the lower and the upper numbers of pairs."""
    d = _PAIRS[i.parts[-1]]
    return ([np.asarray(x >> np.uint32(k) & np.uint32(0xFFFF)).astype(np.uint16).view(d) for x in values] for k in (0, 16))


def _same(function, operands):
    """Return an instruction whose operands and result have one type; pairs apply it to each half."""

    def build(i):
        if i.parts[-1] in _PAIRS:
            def both(*values):
                low, high = (np.asarray(function(i, *x), x[0].dtype).view(np.uint16) for x in _halves(i, values))
                return low.astype(np.uint32) | high.astype(np.uint32) << np.uint32(16)

            return np.uint32, (np.uint32,) * operands, both
        d = _kind(i)
        if "ftz" in i.parts:
            return d, (d,) * operands, lambda *values: _flushed(function(i, *[_flushed(x) for x in values]))
        return d, (d,) * operands, lambda *values: function(i, *values)

    return build


def _fma(i, a, b, c):
    if a.dtype == np.float64:
        return fma64(*np.broadcast_arrays(a, b, c))
    if a.dtype == np.float32:
        return fma32(*np.broadcast_arrays(a, b, c))
    d = a.dtype
    wide = a.astype(np.float64) * b.astype(np.float64) + c.astype(np.float64)
    return wide.astype(np.float32).astype(d) if d == np.float16 else _odd(wide).astype(d)


def _odd(wide):
    """Round float64 to float32 to odd, so that a second rounding is correct."""
    near = np.asarray(wide, np.float32)
    exact = near.astype(np.float64) == wide
    toward = np.where(np.abs(near.astype(np.float64)) > np.abs(wide), np.nextafter(near, np.float32(0)), near)
    odd = (np.asarray(toward, np.float32).view(np.uint32) | np.uint32(1)).view(np.float32)
    return np.where(exact | ~np.isfinite(near), near, odd)


def _multiply(i):
    how = i.parts[1]
    if how not in ("wide", "hi"):
        return _same(lambda i, a, b: a * b, 2)(i)
    d = _kind(i)
    if how == "wide":
        w = _WIDER[d]
        return w, (d, d), lambda a, b: a.astype(w) * b.astype(w)
    return d, (d, d), _high


def _high(a, b):
    """Return the upper half of a product of integers."""
    d, bits = a.dtype.type, 8 * a.dtype.itemsize
    if bits < 64:
        w = _WIDER[d]
        return (a.astype(w) * b.astype(w) >> w(bits)).astype(d)
    wide = np.array([int(x) * int(y) >> 64 for x, y in zip(*np.broadcast_arrays(np.atleast_1d(a), np.atleast_1d(b)))], object)
    found = np.array([int(x) & (1 << 64) - 1 for x in wide], np.uint64).view(d)
    return found if np.ndim(a) or np.ndim(b) else found[0]


def _multiply_add(i):
    if i.parts[1] not in ("wide", "hi", "lo"):
        return _same(_fma, 3)(i)
    d = _kind(i)
    if i.parts[1] == "wide":
        w = _WIDER[d]
        return w, (d, d, w), lambda a, b, c: a.astype(w) * b.astype(w) + c
    if i.parts[1] == "hi":
        return d, (d, d, d), lambda a, b, c: _high(a, b) + c
    return d, (d, d, d), lambda a, b, c: a * b + c


def _divide(i, a, b):
    if a.dtype.kind not in "iu":
        return a / b
    none = b == 0
    safe = np.where(none, b.dtype.type(1), b)
    quotient = a // safe
    quotient = quotient + ((a % safe != 0) & ((a < 0) != (safe < 0))).astype(a.dtype)
    return np.where(none, np.array(-1).astype(a.dtype), quotient)


def _remainder(i, a, b):
    return a - _divide(i, a, b) * b


def _shift(function):
    """Return a shift; counts beyond the width give 0, or copies of the sign."""

    def build(i):
        d = _kind(i)
        bits = 8 * np.dtype(d).itemsize

        def apply(a, n):
            m = np.minimum(n, np.uint32(bits - 1)).astype(d)
            shifted = function(a, m)
            if function is np.right_shift and np.dtype(d).kind == "i":
                return shifted
            return np.where(n >= bits, d(0), shifted)

        return d, (d, np.uint32), apply

    return build


def _funnel(i):
    left, wrap = i.parts[1] == "l", i.parts[2] == "wrap"

    def apply(low, high, n):
        n = (n & np.uint32(31) if wrap else np.minimum(n, np.uint32(32))).astype(np.uint64)
        both = low.astype(np.uint64) | high.astype(np.uint64) << np.uint64(32)
        found = (both << n) >> np.uint64(32) if left else both >> n
        return (found & np.uint64(0xFFFFFFFF)).astype(np.uint32)

    return np.uint32, (np.uint32,) * 3, apply


_COMPARISONS = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
                "ge": np.greater_equal, "lo": np.less, "ls": np.less_equal, "hi": np.greater, "hs": np.greater_equal}
_JOINS = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}


def _compared(how, a, b):
    unordered = (np.isnan(a) | np.isnan(b)) if a.dtype.kind not in "iub" else np.False_
    if how in ("nan", "num"):
        return unordered if how == "nan" else ~unordered
    if how in _COMPARISONS:
        return _COMPARISONS[how](a, b) & ~unordered
    return _COMPARISONS[how[:-1]](a, b) | unordered              # equ, ltu ...


def _compare(i):
    """setp.lt.s32 p, a, b; setp.lt.and.s32 p, a, b, q; setp.lt.s32 p|not_p, a, b; of pairs p|q, of the lower and the upper."""
    how, two = i.parts[1], "|" in i.operands[0]
    if i.parts[-1] in _PAIRS:
        return np.bool_, (np.uint32, np.uint32), lambda *values: tuple([_compared(how, *x) for x in _halves(i, values)])
    d = _kind(i)
    if i.parts[2] in _JOINS:
        return np.bool_, (d, d, np.bool_), lambda a, b, p: _JOINS[i.parts[2]](_compared(how, a, b), p)
    if two:
        return np.bool_, (d, d), lambda a, b: (_compared(how, a, b), ~_compared(how, a, b))
    return np.bool_, (d, d), lambda a, b: _compared(how, a, b)


def _extreme(pick):
    def function(i, a, b):
        if a.dtype.kind in "iu":
            return pick(a, b)
        nan_a, nan_b = np.isnan(a), np.isnan(b)
        lower = np.where((a < b) | ((a == b) & np.signbit(a)), a, b)
        upper = np.where((a > b) | ((a == b) & ~np.signbit(a)), a, b)
        found = lower if pick is np.minimum else upper
        if "NaN" in i.parts:
            return np.where(nan_a | nan_b, a.dtype.type(np.nan), found)
        return np.where(nan_a, b, np.where(nan_b, a, found))

    return _same(function, 2)


WIDENED_NAN = np.uint32(0x7FFFFFFF).view(np.float32)       # result of widening any float16 nan (seen on an H200)


def _convert(i):
    parts = [p for p in i.parts[1:] if p not in ("ftz", "relu")]
    to, start = parts[-2], parts[-1]
    how = parts[:-2]
    if start in ("e4m3x2", "e5m2x2"):
        return _from_pair(start)
    if to in _PAIRS or to in ("e4m3x2", "e5m2x2"):
        return _convert_pair(i, to, start)
    d, s = TYPES[to], TYPES[start]
    if to == "tf32":
        return np.uint32, (np.float32,), _as_tf32
    floats = [np.dtype(x).kind not in "iub" for x in (d, s)]
    if floats == [False, True]:
        return d, (s,), lambda a: _to_integer(a, d, _ROUNDINGS[how[0]])
    if floats == [False, False]:
        if "sat" in how:
            info = np.iinfo(d)
            return d, (s,), lambda a: np.clip(a, info.min, info.max).astype(d)
        return d, (s,), lambda a: a.astype(d)
    rounding = next((_ROUNDINGS[h] for h in how if h in _ROUNDINGS), None)
    flush = "ftz" in i.parts
    if "rz" in how or "rm" in how or "rp" in how:
        raise Fault(f"{i.name} is not known")

    def apply(a):
        a = _flushed(a) if flush and a.dtype == np.float32 else a
        if rounding is not None:
            a = rounding(a.astype(np.float64)).astype(a.dtype)
        if d == ml_dtypes.bfloat16 and a.dtype == np.float64:
            a = _odd(a)
        is_nan = np.isnan(a) if start == "f16" else False
        a = np.where(is_nan, WIDENED_NAN, a.astype(d)) if d == np.float32 else a.astype(d)
        return np.where(np.isnan(a), a, np.clip(a, d(0), d(1))) if "sat" in how else a

    return d, (s,), apply


def _to_integer(a, d, rounding):
    """Saturate a conversion; nan becomes 0 (2^63 for 64 bits)."""
    whole, info = rounding(a.astype(np.float64)), np.iinfo(d)
    inside = (whole >= info.min) & (whole < float(info.max) + 1)
    found = np.where(inside, whole, 0).astype(d)
    found = np.where(whole >= float(info.max) + 1, info.max, np.where(whole < info.min, info.min, found))
    odd = d(0) if info.bits < 64 else np.uint64(1 << 63).astype(d)
    return np.where(np.isnan(a), odd, found).astype(d)


def _as_tf32(a):
    """Round to 10 bits, halves away from zero."""
    bits = a.view(np.uint32)
    return np.where(np.isfinite(a), bits + np.uint32(1 << 12) & np.uint32(0xFFFFE000), bits)


def _convert_pair(i, to, start):
    """Convert two numbers, the first into the upper half, or a pair of float16s."""
    if start == "f16x2":
        _, _, convert = _convert_pair(i, to, "f16")
        return np.uint16, (np.uint32,), lambda a: convert(*[x for x, in _halves(i, [a])][::-1])
    s = TYPES[start]
    d, unit = (_PAIRS[to], np.uint16) if to in _PAIRS else (TYPES[to[:4]], np.uint8)
    out = np.uint32 if unit is np.uint16 else np.uint16
    limit = None if to in _PAIRS else float(ml_dtypes.finfo(d).max)

    def apply(high, low):
        high, low = (np.asarray(x if limit is None else np.clip(x, -limit, limit)).astype(d).view(unit).astype(out)
                     for x in (high, low))
        return high << out(8 * np.dtype(unit).itemsize) | low

    return out, (s, s), apply


def _from_pair(start):
    """Convert two bytes to two float16s."""
    d = TYPES[start[:4]]

    def apply(a):
        low, high = (np.asarray(x).astype(np.uint8).view(d).astype(np.float16).view(np.uint16).astype(np.uint32)
                     for x in (a & np.uint16(0xFF), a >> np.uint16(8)))
        return high << np.uint32(16) | low

    return np.uint32, (np.uint16,), apply


def _permute_bytes(i):
    def apply(a, b, chosen):
        both = a.astype(np.uint64) | b.astype(np.uint64) << np.uint64(32)
        found = np.uint32(0)
        for k in range(4):
            nibble = (chosen >> np.uint32(4 * k)) & np.uint32(15)
            byte = both >> ((nibble & np.uint32(7)).astype(np.uint64) * np.uint64(8)) & np.uint64(0xFF)
            byte = np.where(nibble & np.uint32(8), np.where(byte >> np.uint64(7), np.uint64(255), np.uint64(0)), byte)
            found = found | byte.astype(np.uint32) << np.uint32(8 * k)
        return found

    return np.uint32, (np.uint32,) * 3, apply


def _logic3(i):
    def apply(a, b, c, table):
        found = np.uint32(0)
        for k in range(8):
            if int(table) >> k & 1:
                found = found | (a if k & 4 else ~a) & (b if k & 2 else ~b) & (c if k & 1 else ~c)
        return found

    return np.uint32, (np.uint32,) * 4, apply


def _extract_bits(i):
    d = _kind(i)
    bits = 8 * np.dtype(d).itemsize

    def apply(a, start, length):
        u = TYPES[f"u{bits}"]
        start, length = (np.minimum(x & np.uint32(255), np.uint32(bits)) for x in (start, length))
        room = (bits - np.minimum(length, np.uint32(bits))).astype(u)
        shifted = np.where(start >= bits, u(0), a.view(u) >> np.minimum(start, bits - 1).astype(u))
        up = np.where(room >= bits, u(0), shifted << np.minimum(room, bits - 1).astype(u)).astype(u)
        down = np.right_shift(up.view(d), np.minimum(room, bits - 1).astype(d))
        return np.where(length == 0, d(0), down)

    return d, (d, np.uint32, np.uint32), apply


def _insert_bits(i):
    d = _kind(i)
    bits = 8 * np.dtype(d).itemsize

    def apply(a, b, start, length):
        ones = np.where(length >= bits, ~d(0), (d(1) << np.minimum(length, bits - 1).astype(d)) - d(1)).astype(d)
        place = np.minimum(start, bits - 1).astype(d)
        return b & ~(ones << place) | (a & ones) << place

    return d, (d, d, np.uint32, np.uint32), apply


def _count_bits(i):
    d = _kind(i)
    return np.uint32, (d,), lambda a: np.bitwise_count(a).astype(np.uint32)


def _leading_zeros(i):
    d = _kind(i)
    bits = 8 * np.dtype(d).itemsize

    def apply(a):
        found, x = np.full(np.shape(a), bits, np.uint32), np.asarray(a)
        for k in range(bits):
            found = np.where((x >> d(k)) & d(1), np.uint32(bits - 1 - k), found)
        return found.astype(np.uint32)

    return np.uint32, (d,), apply


def _approximate(function):
    """Compute in float64 and round: the hardware is within two ulp."""

    def apply(i, a):
        return function(a.astype(np.float64)).astype(a.dtype)

    return _same(apply, 1)


def _select(i):
    d = _kind(i)
    return d, (d, d, np.bool_), lambda a, b, p: np.where(p, a, b)


def _absolute(i, a):
    return np.abs(a)


def _copysign(i, sign, size):
    return np.copysign(size, sign)


OPERATIONS = {
    "add": _same(lambda i, a, b: a + b, 2), "sub": _same(lambda i, a, b: a - b, 2), "mul": _multiply, "mad": _multiply_add,
    "fma": _multiply_add, "div": _same(_divide, 2), "rem": _same(_remainder, 2), "min": _extreme(np.minimum),
    "max": _extreme(np.maximum), "neg": _same(lambda i, a: -a, 1), "abs": _same(_absolute, 1),
    "copysign": _same(_copysign, 2), "sqrt": _same(lambda i, a: np.sqrt(a), 1),
    "rsqrt": _approximate(lambda a: 1 / np.sqrt(a)), "rcp": _same(lambda i, a: a.dtype.type(1) / a, 1),
    "ex2": _approximate(np.exp2), "lg2": _approximate(np.log2), "sin": _approximate(np.sin), "cos": _approximate(np.cos),
    "tanh": _approximate(np.tanh), "and": _same(lambda i, a, b: a & b, 2), "or": _same(lambda i, a, b: a | b, 2),
    "xor": _same(lambda i, a, b: a ^ b, 2), "not": _same(lambda i, a: ~a, 1), "shl": _shift(np.left_shift),
    "shr": _shift(np.right_shift), "shf": _funnel, "setp": _compare, "selp": _select, "cvt": _convert,
    "prmt": _permute_bytes, "lop3": _logic3, "bfe": _extract_bits, "bfi": _insert_bits, "popc": _count_bits,
    "clz": _leading_zeros,
}
