"""Python operators of Tensor: a short path for the common case, the public functions for the rest."""

from functools import wraps

import numpy as np

from ....ir import dtype as dt
from ....ir.dim_order import FEWEST, in_pieces
from ....ir.interrupts import is_of_call
from ....ir.opdef.op import NO_GRAD
from ....ir.ops.core import elementwise as ew
from ...core.dispatch import KERNELS, after_short_path, kernel_of
from ...core.inplace import overwrite
from ...core.taping import record, record_pair
from ...core.tensor import Tensor, wrap
from ...core.writes import is_quiet, wrote_plainly
from ...memo.call_memo import past_tracker
from ...state.mode import Defaults, tls
from ..register.register import FUNCTIONS, operand_to_overwrite, store_over
from ..register.torch_function import ask_operand, asks
from ..register.type_promotion import result_type
from . import elementwise as api_ew

_new = object.__new__
_NO_OPTIONS: dict = {}
LARGE = 1 << 15   # elements from which compiled kernels, with threads and reused memory, are faster than NumPy
_MANY = 1 << 12    # elements from which one kernel of two steps is faster than two of NumPy's
_ndarray = np.ndarray
_INT64 = np.dtype(np.int64)
_FLOAT32 = np.dtype(np.float32)     # all operators here take it
_FAR = 1 << 62
_COMPLEX = "".join([d.np.char for d in dt.PARTS])
_INEXACT = dt.FLOAT_CHARS + _COMPLEX


_meetings: dict = {}    # (characters of two dtypes, the tensor without dims) -> common dtype, see `_meeting`


def _meeting(x, y):
    """Return the common dtype of two tensors, if one has it and it is wide enough to compute in; else None."""
    a, b = x._a.dtype, y._a.dtype
    d = result_type(x, y).np
    plain = (d is a or d is b) and (d.kind == "i" or (d.kind == "f" and d.itemsize > 2))
    return d if plain and a.kind in "biuf" and b.kind in "biuf" else None


def _met(x, y):
    """Return two small host tensors of different dtypes with one cast, if nothing listens; else None."""
    a, b = x._a, y._a
    if a.__class__ is not _ndarray or b.__class__ is not _ndarray or a.size >= LARGE or b.size >= LARGE:
        return None
    kind = a.dtype.char, b.dtype.char, not a.ndim, not b.ndim
    if kind not in _meetings:
        _meetings[kind] = _meeting(x, y)
    d = _meetings[kind]
    if d is None or (x if a.dtype is not d else y)._node is not None:
        return None
    return (wrap(a.astype(d)), y) if a.dtype is not d else (x, wrap(b.astype(d)))


def _as_floats(x, d):
    """Return a small host tensor of whole numbers as floats of the default dtype, if nothing listens; else None."""
    a = x._a
    if a.__class__ is not _ndarray or a.size >= LARGE or a.dtype.kind not in "biu" or d.itemsize <= 2:
        return None
    return wrap(a.astype(d))


def _shortcut(op, ufunc, general, chars, uneven):
    """Return the method `a <op> b`, with a short path to the ufunc or the kernel.

    The path takes tensors of equal dtypes with a character in `chars`, or a number beside floats. Small tensors of plain
    dtypes that differ are cast first. Large arrays, and dtypes in `uneven`, whose results the ufunc rounds differently by
    position, go to the kernel. All else takes `general`.
    """
    taped, cast = op.vjp is not NO_GRAD, op.is_autocast
    integers = chars != _INEXACT

    def method(self, other):
        m = tls.m
        a = self._a
        if m.special and (cast or m.noticed):
            return general(self, other)
        if isinstance(other, Tensor):
            b = other._a
            d = a.dtype
            if d is not b.dtype:
                met = _met(self, other)
                return general(self, other) if met is None else method(*met)
            if d is not _FLOAT32 and d.char not in chars:
                return general(self, other)
            few = a.__class__ is _ndarray and (d is _FLOAT32 or d.char not in uneven) and (
                a.size * b.size < LARGE         # even after broadcasting
                or (a.size < LARGE and a.shape == b.shape and (a.size < FEWEST or not (in_pieces(a) or in_pieces(b)))))
        elif ((type(other) is float or type(other) is int) and a.dtype.kind == "f" and a.itemsize > 2) or (
                integers and type(other) is int and a.dtype is _INT64 and -_FAR < other < _FAR):
            b, few = other, a.__class__ is _ndarray and a.size < LARGE
        elif type(other) is float or (type(other) is int and not integers):
            floats = _as_floats(self, Defaults.dtype.np)
            return general(self, other) if floats is None else method(floats, other)
        else:
            return general(self, other)
        try:
            r = m.run(ufunc if few else KERNELS.get(op) or kernel_of(op), a, b)
        except Exception as error:
            return after_short_path(error, general, self, other)
        if r.__class__ is _ndarray:
            t = _new(Tensor)
            t._a = r
            t._node = t._shared = None
        else:
            t = wrap(r)
        if taped and m.grad and (self._node is not None or (b is not other and other._node is not None)):
            record_pair(op, self, other, t)
        return t

    return method


def _reflected_shortcut(op, ufunc, general):
    """Return the method `number <op> b`, with a short path for a number before floats; all else takes `general`."""
    cast = op.is_autocast

    def method(self, other):
        m = tls.m
        a = self._a
        if (m.special and (cast or m.noticed)) or not (type(other) is float or type(other) is int):
            return general(self, other)
        if a.dtype.kind != "f" or a.itemsize <= 2:
            floats = _as_floats(self, Defaults.dtype.np) if type(other) is float or op is ew.div else None
            return general(self, other) if floats is None else method(floats, other)
        try:
            r = m.run(ufunc if a.__class__ is _ndarray and a.size < LARGE else KERNELS.get(op) or kernel_of(op), other, a)
        except Exception as error:
            return after_short_path(error, general, self, other)
        if r.__class__ is _ndarray:
            t = _new(Tensor)
            t._a = r
            t._node = t._shared = None
        else:
            t = wrap(r)
        if m.grad and self._node is not None:
            record(op, (other, self), {}, t)
        return t

    return method


def _guarded(general, name):
    """Return a method that gives NotImplemented for an operand of a foreign type, so that Python tries the other side. Classes
    that override functions of tensors are the exception."""

    def method(self, other):
        if isinstance(other, (Tensor, bool, int, float, complex)):
            m = tls.m
            return general(self, other) if m.own_code is None else past_tracker(m, general, (self, other), _NO_OPTIONS)
        if asks(other):
            return ask_operand(name, self, other)
        return general(self, other) if hasattr(other, "__array__") else NotImplemented

    return method


def _reflected(general):
    def method(self, other):
        return general(other, self)

    return method


def _inplace(general, name, ufunc=None, chars="", op=None, uneven=""):
    """Return the method `a <op>= b`. The ufunc writes into a's array if dtypes are equal and nothing else needs the old values.
    Otherwise the result of `general` is stored. The kernel of `op` overwrites large arrays and dtypes in `uneven`."""
    cast = op is not None and op.is_autocast

    def method(self, other):
        m, a = tls.m, self._a
        if ufunc is not None and is_quiet(self, m) and not (m.special and cast):
            d, here = a.dtype, a.__class__ is _ndarray
            if isinstance(other, Tensor):
                b = other._a
                fits = b.dtype is d and d.char in chars and (b.shape == a.shape or not b.ndim) and (
                    not m.grad or other._node is None) and b.__class__ is a.__class__
            else:
                b = other
                fits = ((type(b) is float or type(b) is int) and d.kind == "f" and d.itemsize > 2) or (
                    not here and type(b) is int and d is _INT64 and -_FAR < b < _FAR and ufunc is not np.true_divide)
            if fits and (not here or a.size >= LARGE or d.char in uneven):
                if overwrite(op, self, name, other):
                    return self
            elif fits:
                try:
                    m.run(ufunc, a, b, a)
                except Exception as error:
                    if not is_of_call(error):       # (the ufunc refuses operands before it writes)
                        raise
                    return store_over(self, general(operand_to_overwrite(self), other), (other,), name)
                wrote_plainly(self, name)
                return self
        return store_over(self, general(operand_to_overwrite(self), other), (other,), name)

    return method


def _quicken(name, quick):
    """Make the method `name` take the in-place operator's path, unless it has options beyond a factor of the operand."""
    long = getattr(Tensor, name)

    @wraps(long)
    def method(self, *args, **options):
        if len(args) == 1 and isinstance(args[0], (Tensor, float, int)):
            if not options:
                return quick(self, args[0])
            if "alpha" in options and len(options) == 1 and name in _SIGN:
                other, factor = args[0], options["alpha"]
                if isinstance(other, Tensor) and api_ew.as_one((self, other), factor):
                    far = self._a.__class__ is not _ndarray or self._a.size >= _MANY
                    if far and overwrite(ew.add_scaled, self, name, other, _SIGN[name] * factor):
                        return self
                    return quick(self, other * factor)
                return quick(self, api_ew.scaled(other, factor, self))
        return long(self, *args, **options)

    setattr(Tensor, name, method)


_SIGN = {"add_": 1, "sub_": -1}


def _attach(name, fn, *, op=None, ufunc=None, chars="", uneven="", reflected=True, inplace=True):
    general = _guarded(fn, f"__{name}__")
    forward = _shortcut(op, ufunc, general, chars, uneven) if op is not None else general
    methods = {f"__{name}__": forward}
    if reflected:
        backward = _guarded(_reflected(fn), f"__r{name}__")
        methods[f"__r{name}__"] = backward if op is None else _reflected_shortcut(op, ufunc, backward)
    if inplace:
        key = f"__i{name}__"
        methods[key] = _guarded(_inplace(fn if op is None else forward, key, ufunc, chars, op, uneven), key)
    if op is not None and inplace:
        _quicken(f"{fn.__name__}_", _inplace(forward, f"{fn.__name__}_", ufunc, chars, op, uneven))
    for key, method in methods.items():
        method.__name__ = key
        method.__qualname__ = f"Tensor.{key}"
        setattr(Tensor, key, method)


_ANY = "".join([d.np.char for d in dt.ALL if d not in dt.FLOAT8])     # dtypes that are computed in
_REAL = "".join([d.np.char for d in dt.ALL if d.np.isbuiltin == 1 and not d.is_complex])
_attach("add", api_ew.add, op=ew.add, ufunc=np.add, chars=_ANY)
_attach("sub", api_ew.sub, op=ew.sub, ufunc=np.subtract, chars=_ANY)
_attach("mul", api_ew.mul, op=ew.mul, ufunc=np.multiply, chars=_ANY, uneven=_COMPLEX)
_attach("truediv", api_ew.div, op=ew.div, ufunc=np.true_divide, chars=_INEXACT, uneven=_COMPLEX)
_attach("floordiv", FUNCTIONS["floor_divide"])
_attach("mod", FUNCTIONS["remainder"])
_attach("pow", api_ew.pow)
for _name, _op, _ufunc in (("eq", ew.eq, np.equal), ("ne", ew.ne, np.not_equal), ("lt", ew.lt, np.less),
                           ("le", ew.le, np.less_equal), ("gt", ew.gt, np.greater), ("ge", ew.ge, np.greater_equal)):
    _attach(_name, FUNCTIONS[_name], op=_op, ufunc=_ufunc, chars=_REAL, reflected=False, inplace=False)
for _name, _long in (("and", "bitwise_and"), ("or", "bitwise_or"), ("xor", "bitwise_xor"), ("lshift", "bitwise_left_shift"),
                     ("rshift", "bitwise_right_shift")):
    _attach(_name, FUNCTIONS[_long])

def _unary_operator(name, operator):
    """Return a unary operator, under the name that classes override."""

    def method(self):
        return FUNCTIONS[name](self)

    method.__name__ = method.__qualname__ = operator
    return method


for _operator, _function in (("neg", "neg"), ("pos", "positive"), ("abs", "abs"), ("invert", "bitwise_not")):
    setattr(Tensor, f"__{_operator}__", _unary_operator(_function, f"__{_operator}__"))
