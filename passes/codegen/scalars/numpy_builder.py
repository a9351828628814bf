"""Scalar instructions spelled as numpy operations: the reference backend.

It runs any scalar function on arrays without a compiler, with the bits of the compiled kernels, so tests can tell a wrong
formula from a wrong spelling. `fma` is exact although numpy has none: products are split without error, and the last addition
rounds to odd before it rounds to nearest.
"""

import numpy as np

from ....ir import dtype as dt
from ....ir.process_state import ignore_float_errors
from .builder import Builder, Val

_BINARY = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide,
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "shl": np.left_shift, "shr": np.right_shift,
}
_UNARY = {
    "neg": np.negative, "abs": np.abs, "sqrt": np.sqrt, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc,
    "round": np.rint, "not": np.invert,
}


def _two_sum(a, b):
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def _split_product(a, b):
    """Return a * b as high + low, exact unless something overflows (Dekker and Veltkamp)."""
    p = a * b
    ca, cb = a * 134217729.0, b * 134217729.0
    ah, bh = ca - (ca - a), cb - (cb - b)
    al, bl = a - ah, b - bh
    return p, ((ah * bh - p) + ah * bl + al * bh) + al * bl


def _add_odd(a, b):
    """a + b rounded to odd, in float64."""
    s, err = _two_sum(a, b)
    bits = s.view(np.int64)
    away = (err > 0) == (s > 0)
    fixed = np.where((err != 0) & (bits & 1 == 0), np.where(away, bits + 1, bits - 1), bits)
    return np.where(np.isfinite(s), fixed.view(np.float64), s)


def fma64(a, b, c):
    """a * b + c rounded once, by scaling away from overflow and adding exactly."""
    a, b, c = np.broadcast_arrays(*(np.asarray(v, np.float64) for v in (a, b, c)))
    plain = a * b + c
    ma, ea = np.frexp(a)
    mb, eb = np.frexp(b)
    mc, ec = np.frexp(c)
    shift = np.maximum(ea + eb, ec)
    tame = np.isfinite(a) & np.isfinite(b) & np.isfinite(c) & (a != 0) & (b != 0)
    h, low = _split_product(ma, mb)
    gap_p, gap_c = np.maximum(ea + eb - shift, -1000), np.maximum(ec - shift, -1000)
    h, low, add = np.ldexp(h, gap_p), np.ldexp(low, gap_p), np.ldexp(mc, gap_c)
    uh, ul = _two_sum(add, low)
    vh, vl = _two_sum(h, uh)
    out = np.where(c == 0, a * b, _scale_once(vh, _add_odd(vl, ul), shift))
    return np.where(tame, out, plain)


def _scale_once(high, low, shift):
    """(high + low) * 2**shift with one rounding, also for subnormal results."""
    total = high + low
    e = np.frexp(total)[1] + shift
    direct = np.ldexp(total, shift)
    tiny = (e < -1020) & (total != 0)
    if not np.any(tiny):
        return direct
    total, rest = _two_sum(high, low)
    units = np.ldexp(np.where(tiny, total, 0.0), shift + 1074)      # in multiples of the least number; `rest` decides ties
    whole = np.rint(units)
    beyond = np.where((units - whole == 0.5) & (rest > 0), 1.0, np.where((units - whole == -0.5) & (rest < 0), -1.0, 0.0))
    return np.where(tiny, np.ldexp(whole + beyond, -1074), direct)


def fma32(a, b, c):
    """a * b + c rounded once to float32: the product is exact in float64, the sum is rounded to odd there."""
    p = np.asarray(a, np.float64) * np.asarray(b, np.float64)
    wide = np.asarray(c, np.float64)
    p, wide = np.broadcast_arrays(p, wide)
    return np.where(np.isfinite(p + wide), _add_odd(p, wide), p + wide).astype(np.float32)


class NumpyBuilder(Builder):
    """A builder that evaluates scalar functions on numpy arrays."""

    def value(self, array) -> Val:
        array = np.asarray(array)
        return Val(self, dt.from_numpy(array.dtype), array)

    def iterate(self, most, live, state, step):
        """Iterate until no lane is live."""
        held = (live, *state)
        for _ in range(most):
            if not np.any(held[0].ref):
                break
            held = self._lived(held, step)
        return held[1:]

    @ignore_float_errors
    def emit(self, op, dtype, args, attr=None):
        return Val(self, dtype, self._run(op, dtype, [a.ref for a in args], attr))

    def _run(self, op, dtype, a, attr):
        if op in _BINARY:
            return np.asarray(_BINARY[op](*a))
        if op in _UNARY:
            return np.asarray(_UNARY[op](*a))
        return getattr(self, "_" + op)(dtype, a, attr)

    def _const(self, dtype, a, attr):
        if dtype.is_integer:
            return np.array(int(attr) & (2 ** (8 * dtype.itemsize) - 1), np.uint64).astype(dtype.np)
        return np.array(attr).astype(dtype.np)

    def _fma(self, dtype, a, attr):
        return fma64(*a) if dtype is dt.float64 else fma32(*a)

    def _select(self, dtype, a, attr):
        return np.where(*a)

    def _bitcast(self, dtype, a, attr):
        return a[0].view(dtype.np)

    def _cast(self, dtype, a, attr):
        x = a[0]
        if x.dtype.kind == "f" and dtype.is_integer:
            via = np.int32 if dtype.itemsize < 4 or dtype is dt.int32 else np.int64
            x = x.astype(np.uint64 if dtype is dt.uint64 else via)
        if x.dtype == dt.bfloat16.np:
            x = x.astype(np.float32)
        return x.astype(dtype.np)

    def _quo(self, dtype, a, attr):
        x, y = a
        q = np.abs(x) // np.abs(y) if dtype.is_signed else x // y
        return np.where((x < 0) != (y < 0), -q, q).astype(dtype.np) if dtype.is_signed else q

    def _rem(self, dtype, a, attr):
        return np.fmod(*a)

    def _mulhi(self, dtype, a, attr):
        return (a[0].astype(np.uint64) * a[1].astype(np.uint64) >> np.uint64(32)).astype(np.uint32)

    def _lookup(self, dtype, a, attr):
        return np.array(attr, np.uint64)[a[0]]
