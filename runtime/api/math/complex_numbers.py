"""Complex numbers: parts, construction, and views as pairs of real numbers.

Parts are values of their own, not views. They are read-only, so that no write gets lost; `z.real = value` writes into z.
"""

import math

import numpy as np

from ....ir.errors import DTypeError
from ....ir.ops.core import complex_numbers as co
from ....ir.ops.core import elementwise as ew
from ....ir.ops.core.shape import full
from ...core.tensor import Tensor
from ..register.lazy_methods import put_method
from ..register.register import FUNCTIONS, api, deliver
from ..register.type_promotion import need_tensors, promote, single_in_autocast
from ..views.reshaping import broadcast_tensors


def _unwritable(x):
    if type(x._a) is np.ndarray:
        x._a.flags.writeable = False
    return x


@api(method=False, checked=True)
def real(input):
    """Return the real parts; a real tensor itself."""
    return _unwritable(co.real(input)) if input.dtype.is_complex else input


@api(method=False, checked=True)
def imag(input):
    """Return the imaginary parts of a complex tensor."""
    if not input.dtype.is_complex:
        raise DTypeError(f"imag takes a complex tensor, got {input.aval}")
    return _unwritable(co.imag(input))


def _set_real(self, value):
    """Write the real parts, or all of a real tensor."""
    if not self.dtype.is_complex:
        _put(self, value)
    else:
        self.copy_(co.complex_(_put(ew.copy(co.real(self)), value), co.imag(self)))


def _set_imag(self, value):
    """Write the imaginary parts."""
    self.copy_(co.complex_(co.real(self), _put(ew.copy(imag(self)), value)))


def _put(part, value):
    return part.copy_(value) if isinstance(value, Tensor) else part.fill_(value)


for _name, _part, _put_part in (("real", real, _set_real), ("imag", imag, _set_imag)):
    put_method(_name, property(_part, _put_part, doc=_part.__doc__))


@api(checked=True)
def conj(input):
    """Return the complex conjugate; a real tensor itself."""
    return co.conj(input) if input.dtype.is_complex else input


@api(inplace=True, checked=True)
def conj_physical(input, *, out=None):
    """Return the complex conjugate; a real tensor itself."""
    return deliver(conj(input), out, "conj_physical")


@api(inplace=True, checked=True)
def sgn(input, *, out=None):
    """Return the sign; for a complex number the point at distance 1 from 0 in its direction."""
    if not input.dtype.is_complex:
        return FUNCTIONS["sign"](input, out=out)
    return deliver(co.direction(input), out, "sgn")


def _never_lazy(name, what):
    """Publish `resolve_name`, which returns the tensor itself, and `is_name`, which returns False."""

    def resolve(input):
        return input

    def is_lazy(input) -> bool:
        return False

    resolve.__doc__ = f"Return the tensor itself: {what} is never lazy."
    is_lazy.__doc__ = f"Return False: {what} is never lazy."
    api(name=f"resolve_{name}")(resolve)
    api(name=f"is_{name}")(is_lazy)


_never_lazy("conj", "conjugation")
_never_lazy("neg", "negation")


@api(checked=True)
def isreal(input):
    """Return whether each number has no imaginary part."""
    return ew.eq(co.imag(input), 0.0) if input.dtype.is_complex else ew.eq(input, input) | ew.ne(input, input)


@api(method=False)
def complex(real, imag, *, out=None):
    """Return complex numbers from real and imaginary parts."""
    need_tensors("complex", real, imag)
    if real.dtype is not imag.dtype:
        raise DTypeError(f"complex takes two tensors of one dtype, got {real.dtype.name} and {imag.dtype.name}")
    return deliver(co.complex_(*_broadcast(real, imag)), out, "complex")


@api(method=False)
@single_in_autocast
def polar(abs, angle, *, out=None):
    """Return complex numbers from absolute values and angles."""
    need_tensors("polar", abs, angle)
    if abs.dtype is not angle.dtype:
        raise DTypeError(f"polar takes two tensors of one dtype, got {abs.dtype.name} and {angle.dtype.name}")
    return deliver(co.complex_(*_broadcast(ew.mul(abs, ew.cos(angle)), ew.mul(abs, ew.sin(angle)))), out, "polar")


def _broadcast(x, y):
    x, y = promote(ew.add, x, y)
    return (x, y) if x.shape == y.shape else broadcast_tensors(x, y)


@api(method=False, checked=True)
def view_as_real(input):
    """Return pairs of real and imaginary parts, in a last dimension of 2."""
    if not input.dtype.is_complex:
        raise DTypeError(f"view_as_real takes a complex tensor, got {input.aval}")
    return _unwritable(co.pairs(input))


@api(method=False, checked=True)
@single_in_autocast
def view_as_complex(input):
    """Return complex numbers from pairs of parts in the last dimension, of size 2."""
    return _unwritable(co.of_pairs(input))


@api(inplace=True)
def angle(input, *, out=None):
    """Return the angle in the complex plane: for real numbers 0 or, below zero, pi; nan stays nan."""
    x = promote(ew.sin, input)[0]
    if x.dtype.is_complex:
        return deliver(ew.atan2(co.imag(x), co.real(x)), out, "angle")
    half_turn = ew.where(ew.lt(x, 0.0), full(x, shape=(), value=math.pi, dtype=x.dtype), 0.0)
    return deliver(ew.where(ew.isnan(x), x, half_turn), out, "angle")
