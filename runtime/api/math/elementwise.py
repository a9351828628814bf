"""Elementwise functions: one generated from each operator record, and those with arguments of their own."""

import inspect

import numpy as np

from ....ir import dtype as dt
from ....ir.dtype import FLOAT_CHARS
from ....ir.errors import ArgumentError, DTypeError
from ....ir.opdef.op import NO_GRAD, OPS, Op
from ....ir.ops.core import elementwise as ew
from ....ir.ops.core.complex_numbers import magnitude, modulus
from ...core.dispatch import KERNELS, after_short_path, kernel_of
from ...core.taping import record_one, record_pair
from ...core.tensor import Tensor, wrap
from ...state.mode import tls
from ..register.register import FUNCTIONS, api, deliver
from ..register.type_promotion import (
    alike,
    as_operand,
    check_factor,
    in_older_order,
    need_tensors,
    promote,
    result_type,
    to_dtype,
)

_INTEGERS = "".join([d.np.char for d in (dt.int32, dt.int64)])
_SMALL = 1 << 12        # elements up to which NumPy compares all at once
_new = object.__new__
_ndarray = np.ndarray


def operate(op, *xs, out=None):
    """Promote the arguments, call the operator, and deliver the result."""
    result = op.call(*promote(op, *xs))
    return result if out is None else deliver(result, out, op.name)


# One function for each plain record.


def unary(op, operate=operate):
    """Return a function of one tensor. Floating point tensors go straight to the kernel unless something listens. `operate`
    takes all other cases."""
    taped, cast = op.vjp is not NO_GRAD, op.is_autocast

    def fn(input, *, out=None):
        m = tls.m
        if (m.special and (cast or m.noticed)) or not isinstance(input, Tensor) or out is not None:
            return operate(op, input, out=out)
        if input._a.dtype.char not in FLOAT_CHARS:
            return operate(op, input)
        try:
            a = m.run(KERNELS.get(op) or kernel_of(op), input._a)
        except Exception as error:
            return after_short_path(error, operate, op, input)
        if a.__class__ is _ndarray:
            t = _new(Tensor)
            t._a = a
            t._node = t._shared = None
        else:
            t = wrap(a)
        if taped and input._node is not None and m.grad:
            record_one(op, input, t)
        return t

    return fn


def _binary(op, operate=operate):
    """Return a function of two tensors. Those of one dtype go straight to the kernel unless something listens. `operate` takes
    all other cases."""
    taped, checks, cast = op.vjp is not NO_GRAD, op.checked_by_kernel, op.is_autocast
    chars = FLOAT_CHARS if "takes_float" in op.traits else FLOAT_CHARS + _INTEGERS

    def fn(input, other, *, out=None):
        m = tls.m
        if (m.special and (cast or m.noticed)) or out is not None or not (
                checks and isinstance(input, Tensor) and isinstance(other, Tensor)):
            return operate(op, input, other, out=out)
        d = input._a.dtype
        if d is not other._a.dtype or d.char not in chars:
            return operate(op, input, other)
        try:
            a = m.run(KERNELS.get(op) or kernel_of(op), input._a, other._a)
        except Exception as error:
            return after_short_path(error, operate, op, input, other)
        if a.__class__ is _ndarray:
            t = _new(Tensor)
            t._a = a
            t._node = t._shared = None
        else:
            t = wrap(a)
        if taped and m.grad and (input._node is not None or other._node is not None):
            record_pair(op, input, other, t)
        return t

    return fn



def publish(make, names, aliases=()):
    """Enter generated functions, their methods and in-place methods under each name."""
    for name in names:
        op = OPS[name]
        fn = make(op)
        fn.__name__ = fn.__qualname__ = name
        fn.__doc__ = op.doc or f"Elementwise {name}."
        others = tuple(a for a, target in aliases if target == name)
        api(inplace=op, names=others, checked=False)(fn)


# Records with public functions of their own: below, in other files, or none.
_OWN = {"abs", "add", "cast", "ceil", "copy", "div", "erfcx", "floor", "floor_divide", "heaviside", "logit", "mul", "polygamma",
        "pow", "round", "square", "sub", "trigamma", "trunc", "trunc_divide"}


def _records(operands: int) -> list:
    """Return the names of the elementwise records of so many operands that are public functions as they are."""
    found = [op for op in vars(ew).values() if type(op) is Op and op.is_elementwise and op.name not in _OWN]
    plain = [(op.name, getattr(op.ref, "plain", op.ref)) for op in found]
    return [name for name, fn in plain if (getattr(fn, "nin", 0) or inspect.unwrap(fn).__code__.co_argcount) == operands]


publish(unary, _records(1),
        (("negative", "neg"), ("arcsin", "asin"), ("arccos", "acos"), ("arctan", "atan"), ("arcsinh", "asinh"),
         ("arccosh", "acosh"), ("arctanh", "atanh")))
publish(_binary, _records(2),
        (("arctan2", "atan2"), ("not_equal", "ne"), ("less", "lt"), ("less_equal", "le"), ("greater", "gt"),
         ("greater_equal", "ge")))


@api(inplace=ew.heaviside, keywords={"values": "other"})
def heaviside(input, other, *, out=None):
    """Return 0 below zero, 1 above, `other` at zero."""
    return operate(ew.heaviside, input, other, out=out)


def _integers_unchanged(op):
    """Return a rounding function that leaves integers as they are."""

    def fn(input, *, out=None):
        result = op(input) if input.dtype.is_inexact else ew.copy.call(input)
        return deliver(result, out, op.name)

    return fn


publish(_integers_unchanged, ("floor", "ceil", "trunc"), (("fix", "trunc"),))


_abs, _round, _square = unary(ew.abs_), unary(ew.round_), unary(ew.square)


@api(inplace=ew.abs_, names=("absolute",), checked=False)
def abs(input, *, out=None):
    """Return absolute values."""
    if isinstance(input, Tensor) and input._a.dtype.kind == "c":
        return deliver(modulus(input), out, "abs")
    return _abs(input, out=out)


@api(checked=True)
def positive(input):
    """Return the tensor itself; raise for bool."""
    if input.dtype is dt.bool_:
        raise DTypeError("positive does not take bool")
    return input


@api(inplace=ew.round_, checked=True)
def round(input, *, decimals=0, out=None):
    """Round to `decimals` places, halves to even."""
    if not input.dtype.is_inexact:
        return deliver(ew.copy.call(input), out, "round")
    if not decimals:
        return _round(input, out=out)
    scale = 10.0 ** __builtins_abs(decimals)
    result = ew.div(ew.round_(ew.mul(input, scale)), scale) if decimals > 0 else ew.mul(ew.round_(ew.div(input, scale)), scale)
    return deliver(result, out, "round")


__builtins_abs = __builtins__["abs"] if isinstance(__builtins__, dict) else __builtins__.abs


# Arithmetic with arguments of its own.


def scaled(other, alpha, like):
    """Return alpha * other, to be added to `like`, in the dtype of the sum: a narrow dtype cannot hold the product."""
    if alpha == 1:
        return other
    d = result_type(other, like)
    check_factor(alpha, d, "alpha")
    if isinstance(alpha, float) and not d.is_inexact:
        raise DTypeError("alpha must be an integer for integer tensors")
    if isinstance(alpha, int) and not d.is_inexact:
        alpha = _within(alpha, d)
    return operate(ew.mul, to_dtype(other, d), alpha) if isinstance(other, Tensor) else other * alpha


def _within(alpha, d):
    """Return a whole number in an integer dtype: modulo its size if unsigned; for bool, whether it is not 0."""
    if d is dt.bool_:
        return alpha != 0
    info = np.iinfo(d.np)
    if not d.is_signed and -info.max <= alpha < 0:
        return alpha + info.max + 1
    if not info.min <= alpha <= info.max:
        raise DTypeError(f"alpha={alpha} is no number of {d.name}")
    return alpha


def as_one(xs, factor) -> bool:
    """Return whether a sum of tensors with one factor is one operator. The tensors are wide floats and the factor is a number.
    A recorder would need it as an operand."""
    first = xs[0]
    return not tls.m.listened and factor.__class__ in (int, float) and isinstance(first, Tensor) and (
        first._a.dtype.kind == "f" and first._a.itemsize >= 4 and all([isinstance(x, Tensor) for x in xs]) and alike(xs))  # noqa: C419


@api(inplace=(ew.add, ew.add_scaled), checked=False)
def add(input, other, *older, alpha=1, out=None):
    """Return input + alpha * other."""
    if older:
        return in_older_order(add, (input, other, *older), 2, out, alpha=alpha)
    if alpha != 1 and as_one((input, other), alpha):
        return deliver(ew.add_scaled(input, other, alpha), out, "add")
    return operate(ew.add, input, scaled(other, alpha, input), out=out)


@api(inplace=(ew.sub, ew.add_scaled), names=("subtract",), checked=False)
def sub(input, other, *older, alpha=1, out=None):
    """Return input - alpha * other."""
    if older:
        return in_older_order(sub, (input, other, *older), 2, out, alpha=alpha)
    if alpha != 1 and as_one((input, other), alpha):
        return deliver(ew.add_scaled(input, other, -alpha), out, "sub")
    return operate(ew.sub, input, scaled(other, alpha, input), out=out)


@api(method=False)
def rsub(input, other, *, alpha=1):
    """Return other - alpha * input."""
    return operate(ew.sub, other, scaled(input, alpha, other))


_SAFE = 65504.0   # the largest float16


def _is_scale(n, x, is_divided) -> bool:
    """Return whether n scales x and x's low precision dtype may not hold it, or n is divided by x. Gradients read the quotient,
    which must not depend on the kind of number."""
    if not isinstance(x, Tensor) or dt.accumulator(x.dtype) is x.dtype:
        return False
    if isinstance(n, float):
        return is_divided or tls.m.recorder is not None or not _holds(x.dtype, n)
    if n.__class__ is int:
        return not _holds(x.dtype, n)
    return isinstance(n, Tensor) and not n.ndim and x.ndim > 0 and n.dtype in (dt.float32, dt.float64)


def _holds(d, n) -> bool:
    """Return whether a low precision dtype holds this number exactly."""
    return -_SAFE < n < _SAFE and float(np.float32(n).astype(d.np)) == n


def scale(op, input, other, out=None):
    """Return a product or quotient. A number beside low precision keeps its digits: the result is computed in float32 and
    rounded once."""
    for x, n in () if alike((input, other)) and input._a.itemsize > 2 else ((input, other), (other, input)):
        if _is_scale(n, x, op is ew.div and n is input):
            wide = [to_dtype(v, dt.float32) for v in (input, other)]
            return deliver(to_dtype(op(*wide), x.dtype), out, op.name)
    return operate(op, input, other, out=out)


@api(inplace=ew.mul, names=("multiply",), checked=False)
def mul(input, other, *, out=None):
    """Return input * other."""
    return scale(ew.mul, input, other, out)


@api(inplace=(ew.div, ew.floor_divide, ew.trunc_divide), names=("divide",), checked=False)
def div(input, other, *, rounding_mode=None, out=None):
    """Return input / other; rounding_mode "floor" or "trunc" rounds the quotient and keeps integers."""
    if rounding_mode is None:
        return scale(ew.div, input, other, out)
    op = {"floor": ew.floor_divide, "trunc": ew.trunc_divide}.get(rounding_mode)
    if op is None:
        raise ArgumentError(f"rounding_mode must be None, 'floor' or 'trunc', got {rounding_mode!r}")
    return scale(op, input, other, out)


publish(lambda op: _binary(op, scale), ("floor_divide",))


@api(inplace=ew.div, checked=False)
def true_divide(input, other, *, out=None):
    """Return input / other."""
    return scale(ew.div, input, other, out)


@api(inplace=(ew.pow_, ew.square, ew.reciprocal, ew.sqrt, ew.rsqrt), keywords={"self": "input"})
def pow(input, exponent, *, out=None):
    """Return input ** exponent."""
    if isinstance(input, Tensor) and isinstance(exponent, (int, float)):
        exponent = as_operand(exponent, "pow")
        d = result_type(input, exponent)
        if not d.is_inexact and exponent < 0:
            raise ArgumentError("integers to negative integer powers are not allowed; cast to a float first")
        return deliver(_power(to_dtype(input, d), exponent), out, "pow")
    return operate(ew.pow_, input, exponent, out=out)


def _power(x, exponent):
    """Return x ** number, by multiplication where that rounds at most twice."""
    if exponent == 2:
        return _square(x)
    if exponent == 3 and dt.accumulator(x.dtype) is x.dtype:
        return ew.mul(ew.mul(x, x), x)
    if exponent == -1 and x.dtype.is_floating_point:
        return ew.reciprocal(x)
    if exponent == -2 and dt.accumulator(x.dtype) is x.dtype:
        return ew.reciprocal(ew.mul(x, x))
    if exponent == -0.5 and x.dtype.is_floating_point:
        return ew.rsqrt(x)
    if exponent == 1:
        return ew.copy.call(x)
    if exponent == 0.5 and x.dtype.is_inexact:
        return ew.sqrt(x)
    return ew.pow_(x, exponent)


@api(inplace=ew.square, checked=False)
def square(input, *, out=None):
    """Return input * input; bool counts as int64."""
    return _square(to_dtype(input, dt.int64) if input.dtype is dt.bool_ else input, out=out)


def is_wide(xs) -> bool:
    """Return whether the tensors among operands are floats that hold every number."""
    return all([not isinstance(x, Tensor) or (x._a.dtype.kind == "f" and x._a.itemsize > 1) for x in xs])  # noqa: C419


@api(checked=False)
def where(condition, input=None, other=None, *, out=None):
    """Return input where the condition is true, other elsewhere; with the condition alone, its nonzero indices."""
    if input is None and other is None:
        return FUNCTIONS["nonzero"](condition, as_tuple=True)
    if condition._a.dtype.kind == "b" and (alike((input, other)) or alike((other, input))) and (
            (isinstance(input, Tensor) and isinstance(other, Tensor)) or is_wide((input, other))):
        result = ew.where.call(condition, input, other)
        return result if out is None else deliver(result, out, "where")
    if condition.dtype is dt.uint8:
        condition = ew.ne(condition, 0)
    if condition.dtype is not dt.bool_:
        raise DTypeError(f"where takes a bool condition, got {condition.aval}; compare it first, as in x != 0")
    x, y = (as_operand(v, "where") for v in (input, other))
    d = result_type(x, y)
    x, y = (to_dtype(v, d) if isinstance(v, Tensor) else dt.fitted(v, d, "where") for v in (x, y))
    if not isinstance(x, Tensor) and not isinstance(y, Tensor):
        x = wrap(np.asarray(x, d.np))
    return deliver(ew.where.call(condition, x, y), out, "where")


def _where_method(self, condition, other):
    """Return self where the condition is true, other elsewhere."""
    return where(condition, self, other)


_where_method.__name__, _where_method.__qualname__ = "where", "Tensor.where"
Tensor.where = _where_method


@api(inplace=ew.where, checked=False)
def masked_fill(input, mask, value):
    """Replace elements by `value` where the mask is true."""
    if mask.dtype is not dt.bool_:
        raise DTypeError(f"masked_fill takes a bool mask, got {mask.dtype.name}")
    if isinstance(value, Tensor):
        if value.ndim:
            raise ArgumentError(f"masked_fill takes a number or a 0-d tensor as value, got a tensor of {value.ndim} dimensions")
        if value.dtype.is_complex and not input.dtype.is_complex:
            value = dt.fitted(value.item(), input.dtype, "masked_fill")
        value = to_dtype(value, input.dtype)
    else:
        value = dt.fitted(value, input.dtype, "masked_fill")
    return ew.where.call(mask, value, input)


@api(memoised=True)
def isclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Return |input - other| <= atol + rtol * |other|, element by element."""
    need_tensors("isclose", input, other)
    if input.dtype is not other.dtype:
        raise DTypeError(f"isclose takes two tensors of one dtype, got {input.dtype.name} and {other.dtype.name}")
    if rtol < 0 or atol < 0:
        raise ArgumentError(f"isclose takes rtol and atol of at least 0, got rtol={rtol} and atol={atol}")
    same = ew.eq(input, other)
    if input.dtype.is_inexact and equal_nan:
        same = ew.logical_or(same, ew.logical_and(ew.isnan(input), ew.isnan(other)))
    if input.dtype is dt.bool_ or (rtol == 0 and atol == 0):
        return same
    x, y = (to_dtype(t, dt.float64) if not t.dtype.is_inexact else t for t in (input, other))
    gap = magnitude(ew.sub(x, y))
    near = ew.le(gap, ew.add(ew.mul(magnitude(y), rtol), atol))
    return ew.logical_or(same, ew.logical_and(ew.isfinite(gap), near))


@api()
def allclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False) -> bool:
    """Return whether all elements are close."""
    return bool(FUNCTIONS["all"](isclose(input, other, rtol, atol, equal_nan)))


@api(checked=False)
def equal(input, other) -> bool:
    """Return whether two tensors have the same shape and elements."""
    need_tensors("equal", input, other)
    a, b = input._a, other._a
    if a.__class__ is b.__class__ is _ndarray and a.size <= _SMALL and a.dtype is b.dtype and not tls.m.special:
        return a.shape == b.shape and bool((a == b).all())
    return input.shape == other.shape and bool(FUNCTIONS["all"](operate(ew.eq, input, other)))
