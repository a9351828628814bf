"""Shared rules of elementwise operators: shapes and dtypes, low-precision references, the maker of records.

A Python number may stand for an argument of an elementwise operator; it takes the dtype of the tensors.
"""

import numpy as np

from ... import dtype as dt
from ...errors import DTypeError, ShapeError
from ...opdef.aval import Aval, broadcast_shapes
from ...opdef.op import NO_GRAD, Scalar, op
from ...reference import float8
from ...reference.scalar_functions import as_kind, copied

NUMBERS = (bool, int, float, complex)      # Python types that stand for arguments
_BF16 = dt.bfloat16.np
_F16 = np.dtype(np.float16)


def tensors(args) -> list:
    """Return the arguments that are not Python numbers."""
    return [a for a in args if not isinstance(a, NUMBERS)]


def common(name: str, args) -> Aval:
    """Return the aval shared by all tensor arguments of an elementwise operator."""
    avals = tensors(args)
    if not avals:
        raise DTypeError(f"{name} needs at least one tensor among its operands, got {', '.join(map(repr, args))}")
    first = avals[0]
    for a in avals[1:]:
        if a.dtype is not first.dtype:
            raise DTypeError(f"{name} takes arguments of one dtype, got {' and '.join(map(str, avals))}; cast one with .to()")
        if a.shape != first.shape:
            broadcast_shapes(*(x.shape for x in avals))
            raise ShapeError(f"{name} takes arguments of one shape inside a graph, got {' and '.join(map(str, avals))}")
    return first


def infer_same(name, accept=lambda d: True, wants="any", gives=None):
    """Return the shape rule of a result like the arguments, or of their shape in the dtype `gives`."""

    def infer(*args):
        a = common(name, args)
        if not accept(a.dtype):
            raise DTypeError(f"{name} does not take {a.dtype.name} (it takes {wants}); cast with .to()")
        return a if gives is None else a.with_dtype(gives)

    return infer


def is_inexact(d):
    """Return whether a dtype is floating point or complex."""
    return d.is_inexact


def is_number(d):
    """Return whether a dtype is not bool."""
    return d is not dt.bool_


def is_real(d):
    """Return whether a dtype is not complex."""
    return not d.is_complex


def is_real_number(d):
    """Return whether a dtype is neither complex nor bool."""
    return is_real(d) and is_number(d)


def is_integral(d):
    """Return whether a dtype is an integer or bool."""
    return d.is_integer or d is dt.bool_


# By what `elementwise(takes=...)` says: whether a dtype is accepted, and its words in errors.
ACCEPT = {
    "float": (is_inexact, "floating point types"),
    "number": (is_number, "numbers, not bool"),
    "real": (is_real, "real types"),
    "real_number": (is_real_number, "real numbers, not bool"),
    "integer": (lambda d: d.is_integer, "integers, not bool"),
    "real_float": (lambda d: d.is_floating_point, "floating point types"),
    "integral": (is_integral, "integers and bool"),
    "any": (lambda d: True, "any"),
}
_NO_BOOL = "number", "real_number", "integer"


def dtype_among(args):
    """Return the dtype of the first argument that has one."""
    for a in args:
        if hasattr(a, "dtype"):
            return a.dtype
    raise DTypeError(f"at least one array is needed, got {', '.join(map(repr, args))}")


def reference(fn, widens=True, refuses="", real="", number=""):
    """Wrap a NumPy function as a reference. Numbers take the arrays' dtype. bfloat16 and float16 are computed in float32 and
    rounded once, if `widens`.

    A name in `refuses` refuses float8. A name in `real` refuses complex numbers, which NumPy orders or whose imaginary parts a
    conversion drops. A name in `number` refuses bool, which NumPy takes for int8.
    """

    def ref(*args):
        kind = dtype_among(args)
        if refuses and kind in float8.KINDS:
            dt.refuse_float8(refuses, dt.from_numpy(kind))
        if real and kind.kind == "c":
            raise DTypeError(f"{real} does not take complex numbers, got {kind.name}; take their real(), imag() or abs()")
        if number and kind.kind == "b":
            raise DTypeError(f"{number} does not take bool; cast with .to()")
        if widens and kind in (_BF16, _F16):
            arrays = [np.asarray(a).astype(kind) if isinstance(a, NUMBERS) else a for a in args]
            wide = [copied(a, np.float32) if a.dtype == kind else a for a in arrays]
            out = np.asarray(fn(*wide))
            return out.astype(kind) if out.dtype == np.float32 else out
        exact = [as_kind(np.asarray(a), kind) if isinstance(a, NUMBERS) else a for a in args]
        return fn(*exact)

    ref.__name__ = fn.__name__
    ref.plain = fn  # type: ignore[attr-defined]
    if isinstance(fn, np.ufunc):
        ref.ufunc = fn  # type: ignore[attr-defined]
    return ref


def numbers_of(body) -> frozenset:
    """Return the keyword-only parameters of a body: its numbers."""
    code = body.__code__
    return frozenset(code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount])


def elementwise(name, fn, vjp=NO_GRAD, *, takes="any", gives="same", scalar="", traits=(), doc="", widens=True, title=""):
    """Return the record of one elementwise operator. `takes` names the dtypes it accepts; `gives` is "same" or "bool"."""
    accept, wants = ACCEPT[takes]
    said = title or name
    rule = infer_same(said, accept, wants, dt.bool_ if gives == "bool" else None)
    kinds = {"takes_float" if takes == "real_float" else f"takes_{takes}"} | ({"gives_bool"} if gives == "bool" else set())
    ref = reference(fn, widens, "" if "float8" in traits else said, "" if accept(dt.complex64) else said,
                    said if takes in _NO_BOOL else "")
    return op(name, infer=rule, ref=ref, vjp=vjp, lower=Scalar(scalar or name), traits=kinds | set(traits), doc=doc,
              title=title)


def check_pair(name, x, y):
    """Raise unless two tensors have one floating point dtype and one shape."""
    if not x.dtype.is_floating_point or x.dtype is not y.dtype:
        raise DTypeError(f"{name} takes two tensors of one floating point dtype, got {x} and {y}; cast one with .to()")
    if x.shape != y.shape:
        raise ShapeError(f"{name} takes tensors of one shape, got {x} and {y}")


def is_low(a) -> bool:
    """Return whether an array is float16 or bfloat16 (NumPy's kind V)."""
    return a.dtype.itemsize == 2 and a.dtype.kind in "fV"


def wide(x):
    """Return an array in the dtype of its sums: float32 for float16 and bfloat16."""
    return x.astype(np.float32) if is_low(x) else x
