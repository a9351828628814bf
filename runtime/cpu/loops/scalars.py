"""Elementwise functions in eager mode: compiled kernels and NumPy, by size and dtype."""

import inspect
import math
from typing import Any

import numpy as np

from ....ir import dtype as dt
from ....ir.cached_property import cached_property
from ....ir.dim_order import FEWEST, in_pieces
from ....ir.dtype import FLOAT_CHARS
from ....ir.errors import NoNumberError
from ....ir.interrupts import raise_interrupt
from ....ir.lazy import lazy
from ....ir.opdef.op import Op
from ....ir.ops.core import elementwise as ew
from ....ir.ops.math import polynomials
from ..calls.operator_kernel import OperatorKernel

kernels = lazy(__package__, ".kernels")
scalars = lazy(__package__, "....passes.codegen.scalars")

LARGE = 1 << 15             # elements from which exact operators leave numpy
_MANY = 1 << 10             # and those of one array, whose kernel call is as cheap, or those that branch
FLOAT_KINDS = {d.np for d in dt.FLOATS}
COMPLEX_KINDS = {d.np for d in dt.PARTS}
_PLAIN_NUMBERS = (float, int)
_WHOLE = 1 << 53            # integers below are exact as doubles


def number_of(number, kind) -> np.ndarray:
    """Return a Python number as an array of a dtype without dims, never written: the same one for the same number."""
    if number != number or not number or number.__class__ is complex:       # nan is no key, and -0.0 is that of 0.0
        if number is None:      # NumPy converts it to nan
            raise NoNumberError.of(number)
        return np.asarray(number).astype(kind)
    key = number, number.__class__, kind
    found = _numbers.get(key)
    if found is None:
        if len(_numbers) >= _MOST_NUMBERS:
            _numbers.clear()
        found = _numbers[key] = np.asarray(number).astype(kind)
    return found


_numbers: dict = {}
_MOST_NUMBERS = 256


class ScalarKernels:
    """The compiled kernels of one scalar function, by the dtypes of its operands."""

    def __init__(self, op: Op):
        self.name = op.lower.fn or op.name
        self.of_integers = not op.traits.isdisjoint(("takes_integer", "takes_integral"))
        self.by_dtypes: dict = {}
        self.alike: dict = {}       # by one dtype: kernels of one array, or of two large ones (`Elementwise.two`)

    @cached_property
    def kinds(self) -> frozenset:
        """The dtypes for which the code generator has this function, integers aside."""
        real = FLOAT_KINDS if self.name in scalars.FUNCTIONS and not self.of_integers else ()
        return frozenset([*real, *(COMPLEX_KINDS if self.name in scalars.COMPLEX else ())])

    def takes(self, arrays) -> bool:
        """Whether all arrays (numbers and None aside) are of such dtypes."""
        kinds = self.kinds
        for a in arrays:                # noqa: SIM110  (quicker)
            if (a.__class__ is np.ndarray or hasattr(a, "dtype")) and a.dtype not in kinds:
                return False
        return True

    def of_one(self, kind, otherwise):
        """Return the function that runs on an array of a dtype: a kernel, or `otherwise` if there is none."""
        is_made = kind in self.kinds
        found = self.alike[kind] = kernels.function(self.name, dt.from_numpy(kind)).one if is_made else otherwise
        return found

    def of_two(self, kind, otherwise):
        is_made = kind in self.kinds
        found = self.alike[kind] = kernels.function(self.name, *[dt.from_numpy(kind)] * 2).two if is_made else otherwise
        return found

    def __call__(self, *args):
        for a in args:
            if a.__class__ is not np.ndarray:
                return self._general(args)
        made = self.by_dtypes.get(tuple([a.dtype for a in args]))
        return made(*args) if made is not None else self._general(args)

    def over(self, kind):
        """Return the function that replaces a contiguous array of a dtype by its result; None if there is none."""
        made = kernels.function(self.name, dt.from_numpy(kind)) if kind in self.kinds else None
        return made.over if made is not None and made.out == kind else None

    def sweep(self, args, out) -> bool:
        """Write into a contiguous array that is the first argument; others of its shape and dtype follow, then numbers.
        Return False, with nothing done, for any other call."""
        kind, shape, numbers = out.dtype, out.shape, []
        for a in args:
            if hasattr(a, "dtype"):
                if numbers or a.dtype is not kind or a.shape != shape:
                    return False
            else:
                numbers.append(number_of(a, kind))
        if not numbers or args[0] is not out:
            return False
        key = (kind,) * len(args)
        made = self._of(key)
        if made.out != kind:
            return False
        made.sweep((out,), args[1:len(args) - len(numbers)], numbers)
        return True

    def write(self, args, out) -> bool:
        """Write into an array, which may be one of the arguments; return False, with nothing done, if the result's dtype
        differs."""
        arrays, made = args, None
        if all([a.__class__ is np.ndarray for a in args]):  # noqa: C419  (quicker)
            made = self.by_dtypes.get(tuple([a.dtype for a in args]))
        if made is None:
            arrays = self._arrays(args)
            made = self._of(tuple([a.dtype for a in arrays]))
        if made.out is not out.dtype and made.out != out.dtype:
            return False
        made(*arrays, out=out)
        return True

    def _general(self, args):
        count = 0
        for a in args:              # arrays, and numbers after them
            if a.__class__ is not np.ndarray:
                break
            count += 1
        if 0 < count < len(args):
            found = self._with_numbers(args[:count], args[count:])
            if found is not None:
                return found
        arrays = self._arrays(args)
        made = self._of(tuple([a.dtype for a in arrays]))
        if 0 < count < len(args) and not any([hasattr(a, "dtype") for a in args[count:]]):  # noqa: C419  (quicker)
            return made.with_numbers(arrays[:count], arrays[count:])
        return made(*arrays)

    def _with_numbers(self, arrays, numbers):
        """Return the result for arrays of one dtype and plain numbers; None for others."""
        kind, words = arrays[0].dtype, []
        for a in arrays[1:]:
            if a.dtype is not kind:
                return None
        for n in numbers:
            if n.__class__ not in _PLAIN_NUMBERS and (n.__class__ is not complex or kind.kind != "c"):
                return None
            words.append(number_of(n, kind))
        return self._of((kind,) * (len(arrays) + len(words))).with_numbers(arrays, words)

    def _arrays(self, args) -> list:
        """Convert numbers to the dtype of the other operands (the last one, since `where` has its condition first)."""
        like = args[-1]
        if like.__class__ is not np.ndarray:
            like = next(a for a in reversed(args) if hasattr(a, "dtype"))
        kind, arrays = like.dtype, []
        for a in args:
            if a.__class__ is not np.ndarray:
                a = np.asarray(a) if hasattr(a, "dtype") else number_of(a, kind)
            arrays.append(a)
        return arrays

    def _of(self, kinds):
        found = self.by_dtypes.get(kinds)
        if found is None:
            found = self.by_dtypes[kinds] = kernels.function(self.name, *map(dt.from_numpy, kinds))
        return found


def rounded(op: Op):
    """Return the eager form of a function that NumPy rounds differently: always the compiled kernel, for floats and complex
    numbers."""
    compiled, ref = ScalarKernels(op), op.ref
    if any(p.kind is p.KEYWORD_ONLY for p in inspect.signature(op.infer).parameters.values()):
        return ref

    def run(*args):
        return compiled(*args) if compiled.takes(args) else ref(*args)

    def run_one(x):
        if x.__class__ is not np.ndarray:
            x = np.asarray(x)
        return (alike.get(x.dtype) or compiled.of_one(x.dtype, ref))(x)

    alike = compiled.alike
    several = len(inspect.signature(op.infer).parameters) > 1 or not isinstance(op.vjp, tuple) or len(op.vjp) > 1
    return run if several else run_one


def exact(op: Op):
    """Return the eager form of a function with one right answer. NumPy takes small arrays, the compiled kernel large ones, and
    complex numbers, whose products have several answers."""
    compiled, ref, quick = ScalarKernels(op), op.ref, op.quick
    plain: Any = getattr(ref, "plain", None)         # the reference's function for arrays that need no conversion
    conditions = 1 if op is ew.where else 0          # operands that are bool, before those that are floating
    branches = "branches" in op.traits
    # NumPy's loop for float16 takes the first of equal zeros, its other loops and the compiled kernels the second.
    chars = FLOAT_CHARS.replace("e", "") if quick in (np.maximum, np.minimum) else FLOAT_CHARS

    def run(*args, **params):
        values = args[conditions:]
        for first in values:
            if hasattr(first, "dtype"):
                break
        else:
            return ref(*args, **params)
        worth = first.size >= (_MANY if branches else LARGE) or first.dtype.kind == "c" or (
            first.size >= FEWEST and in_pieces(first))
        if worth and not params and compiled.takes(values):
            return compiled(*args)
        return quick(*args) if quick is not None and first.dtype.char in chars else ref(*args, **params)

    if conditions:
        return _where(run, compiled)
    if quick is not None and quick.nin == 1:
        return _of_one(run, compiled, ref, quick, 1)
    if quick is not None and quick.nin == 2:
        return _of_two(run, compiled, quick, branches, chars)
    if quick is None and len(inspect.signature(plain or op.infer).parameters) == 1:
        return _of_one(run, compiled, ref, plain or ref, 4)
    return run


def _of_one(general, compiled, ref, simple, least_bytes):
    """Specialise for one array: `simple` takes small ones of floats of so many bytes."""
    alike = compiled.alike

    def run(x):
        if x.__class__ is np.ndarray:
            if x.size >= _MANY:
                return (alike.get(x.dtype) or compiled.of_one(x.dtype, ref))(x)
            if x.dtype.char in FLOAT_CHARS and x.itemsize >= least_bytes:
                return simple(x)
        return general(x)

    return run


def _of_two(general, compiled, quick, branches, chars):
    """Specialise for two operands; `quick` takes small ones of dtypes in `chars`."""
    alike = compiled.alike

    def run(x, y):
        a, b = (x, y) if x.__class__ is np.ndarray else (y, x)
        if a.__class__ is np.ndarray:
            if a.size >= (_MANY if branches else LARGE) or (a.size >= FEWEST and in_pieces(a)):
                if b.__class__ is np.ndarray and a.dtype is b.dtype:
                    return (alike.get(a.dtype) or compiled.of_two(a.dtype, general))(x, y)
            elif b.__class__ is np.ndarray and a.size * b.size >= LARGE and (
                    _is_large_together(a, b) or (a.dtype is b.dtype and b.size >= FEWEST and in_pieces(b))):
                return (alike.get(a.dtype) or compiled.of_two(a.dtype, general))(x, y)
            elif a.dtype.char in chars or (b.__class__ is np.ndarray and a.dtype is b.dtype and a.dtype.kind in "biu"):
                return quick(x, y)
            elif b.__class__ is np.ndarray and a.dtype is b.dtype and a.dtype.kind == "c":
                return (alike.get(a.dtype) or compiled.of_two(a.dtype, general))(x, y)
        return general(x, y)

    return run


def _is_large_together(a, b) -> bool:
    """Whether two arrays of one dtype, of which the first is small, broadcast to a large one."""
    if a.dtype is not b.dtype or a.shape == b.shape:
        return False
    try:
        return math.prod(np.broadcast_shapes(a.shape, b.shape)) >= LARGE
    except ValueError as error:     # NumPy raises the error
        raise_interrupt(error, np.broadcast_shapes, a.shape, b.shape)
        return False


def _where(general, compiled):
    by_dtypes = compiled.by_dtypes                   # kernels called before on large arrays, by dtypes

    def run(condition, x, y):
        if condition.__class__ is bool:         # of numbers, which would take the dtype of the arrays
            condition = np.asarray(condition)
        a, b = (x, y) if x.__class__ is np.ndarray else (y, x)
        if a.__class__ is condition.__class__ is np.ndarray and a.size >= _MANY:
            if b.__class__ is np.ndarray:
                found = by_dtypes.get((condition.dtype, a.dtype, b.dtype))
                return general(condition, x, y) if found is None else found(condition, x, y)
            found = by_dtypes.get((condition.dtype, a.dtype, a.dtype))
            if found is None or b.__class__ not in _PLAIN_NUMBERS:
                return general(condition, x, y)
            number = number_of(b, a.dtype)
            return found.with_numbers((condition, a), (number,)) if a is x else found(condition, number, a)
        if a.__class__ is not np.ndarray or a.size >= _MANY or a.dtype.kind != "f" or condition.__class__ is not np.ndarray:
            return general(condition, x, y)
        if b.__class__ is float or (b.__class__ is int and -_WHOLE < b < _WHOLE):
            b = a.dtype.type(b)
        elif b.__class__ is not np.ndarray or b.dtype is not a.dtype:
            return general(condition, x, y)
        return np.where(condition, a, b) if a is x else np.where(condition, b, a)

    return run


# Operators with a parameter.

_SOME = 256                 # elements from which numpy's conversion of 16-bit floats takes longer than a kernel's call
_LOW = (dt.float16, dt.bfloat16)
_LOW_KINDS = {d.np for d in _LOW}
_CONVERTED = {d.np for d in (*_LOW, dt.float32, dt.float64, dt.int32, dt.int64, dt.bool_)}


def cast(x, *, dtype):
    """Convert to a dtype: by NumPy for small arrays, by the compiled conversion for large ones."""
    kind = dtype.np
    if x.size >= _SOME and (dtype in _LOW or x.dtype in _LOW_KINDS) and x.dtype in _CONVERTED and kind in _CONVERTED:
        return kernels.cast(dt.BY_NP[x.dtype], dtype)(x)
    if (x.size < LARGE and x.dtype.isbuiltin == 1 and kind.isbuiltin == 1 and x.dtype.kind != "c" and x.flags.c_contiguous):
        return x.astype(kind)
    if x.size < LARGE:
        return _cast_reference(x, dtype=dtype)
    return kernels.cast(dt.BY_NP[x.dtype], dtype)(x)


_cast_reference = ew.cast.ref


def polygamma(x, *, n):
    """Run the compiled kernel of a number and an array, for floating point arrays."""
    if x.dtype not in FLOAT_KINDS:
        return ew.polygamma.ref(x, n=n)
    return kernels.function("polygamma", *[dt.BY_NP[x.dtype]] * 2)(np.asarray(n).astype(x.dtype), x)


def polynomial(x, n, *, family):
    """Run the compiled kernel of a family of orthogonal polynomials."""
    return kernels.function(family, *[dt.BY_NP[x.dtype]] * 2)(x, n)


OPERATORS = {ew.cast: OperatorKernel(cast), ew.polygamma: OperatorKernel(polygamma),
             polynomials.polynomial: OperatorKernel(polynomial)}
