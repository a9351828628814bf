"""`ingot.testing`: comparison of tensors, and random tensors for tests."""

import collections.abc
import math
from typing import Any

import numpy as np

from ...ir import dtype as dt
from ...ir.errors import ArgumentError, DTypeError
from ...ir.process_state import ignore_float_errors
from ..api.register.register import FUNCTIONS
from ..core.composite_tensors import PARTS
from ..core.creation import as_array_tensor
from ..core.device_array import MESH, DeviceArray
from ..core.tensor import Tensor, wrap
from ..state.mode import tls

__all__ = ["assert_allclose", "assert_close", "make_tensor"]

# Default (rtol, atol) by dtype.
_TOLERANCES = {dt.float16: (1e-3, 1e-5), dt.bfloat16: (1.6e-2, 1e-5), dt.float32: (1.3e-6, 1e-5), dt.float64: (1e-7, 1e-7),
               dt.complex64: (1.3e-6, 1e-5), dt.complex128: (1e-7, 1e-7)}


def assert_close(actual, expected, *, allow_subclasses=True, rtol=None, atol=None, equal_nan=False, check_device=True,
                 check_dtype=True, check_layout=True, check_stride=False, msg=None):
    """Raise AssertionError with the largest difference and its place, unless |actual - expected| <= atol + rtol * |expected|.

    Arguments are tensors, arrays, numbers, and sequences and mappings of them. Give both tolerances or none; the defaults
    depend on the dtype, and are 0 for integers and bools. Two tensors on different devices differ unless `check_device` is
    False.
    """
    if (rtol is None) != (atol is None):
        raise ArgumentError("assert_close: rtol and atol must both be given or both be left out")
    options = {"rtol": rtol, "atol": atol, "equal_nan": equal_nan, "check_device": check_device, "check_dtype": check_dtype,
               "check_layout": check_layout, "check_stride": check_stride}
    if not allow_subclasses and type(actual) is not type(expected):
        raise AssertionError(f"types differ: {type(actual).__name__} and {type(expected).__name__}")
    for path, problem in _differences(actual, expected, "", options):
        text = f"{problem}\n\nThe failure occurred for item {path}" if path else problem
        raise AssertionError(msg(text) if callable(msg) else text if msg is None else msg)


def assert_allclose(actual, expected, rtol=None, atol=None, equal_nan=True, msg=""):
    """Call `assert_close` on values alone, under its first name."""
    actual = FUNCTIONS["as_tensor"](actual)
    expected = FUNCTIONS["as_tensor"](expected, dtype=actual.dtype) if not isinstance(expected, Tensor) else expected
    if rtol is None and atol is None:
        rtol, atol = {"float16": (1e-3, 1e-3), "float32": (1e-4, 1e-5), "float64": (1e-5, 1e-8)}.get(actual.dtype.name, (0, 0))
    assert_close(actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan, check_device=False, check_dtype=False,
                 msg=msg or None)


def _differences(actual, expected, path, options):
    """Return (place, difference) for everything that differs."""
    if isinstance(actual, collections.abc.Mapping) and isinstance(expected, collections.abc.Mapping):
        if actual.keys() != expected.keys():
            yield path, f"The keys of the mappings do not match: {sorted(actual, key=str)} and {sorted(expected, key=str)}"
            return
        for key in actual:
            yield from _differences(actual[key], expected[key], f"{path}[{key!r}]", options)
    elif _is_sequence(actual) and _is_sequence(expected):
        if len(actual) != len(expected):
            yield path, f"The length of the sequences mismatch: {len(actual)} != {len(expected)}"
            return
        for i, (a, e) in enumerate(zip(actual, expected)):
            yield from _differences(a, e, f"{path}[{i}]", options)
    elif actual is not None or expected is not None:
        problem = _difference(actual, expected, **options)
        if problem:
            yield path, problem


def _is_sequence(x) -> bool:
    return isinstance(x, collections.abc.Sequence) and not isinstance(x, (str, bytes))


def _as_tensor(x) -> Tensor:
    if isinstance(x, Tensor):
        return x.detach().cpu()
    if isinstance(x, (bool, int, float, complex, np.ndarray, np.generic)):
        return as_array_tensor(np.asarray(x))
    raise DTypeError(f"assert_close compares tensors, arrays, numbers and containers of them, got {type(x).__name__}")


def _difference(actual, expected, *, rtol, atol, equal_nan, check_device, check_dtype, check_layout,
                check_stride) -> str | None:
    if check_device and isinstance(actual, Tensor) and isinstance(expected, Tensor) and actual.device != expected.device:
        return f"The values for attribute 'device' do not match: {actual.device} != {expected.device}."
    numbers = not isinstance(actual, (Tensor, np.ndarray)) and not isinstance(expected, (Tensor, np.ndarray))
    a, e = _as_tensor(actual), _as_tensor(expected)
    if a.shape != e.shape:
        return f"The values for attribute 'shape' do not match: {a.shape} != {e.shape}."
    if check_dtype and not numbers and a.dtype is not e.dtype:
        return f"The values for attribute 'dtype' do not match: {a.dtype} != {e.dtype}."
    if check_layout and a.layout != e.layout:
        return f"The values for attribute 'layout' do not match: {a.layout!r} != {e.layout!r}."
    a, e = (t.to_dense() if type(t) in PARTS else t for t in (a, e))
    a, e = (wrap(t._a.numpy()) if t._a.__class__ is DeviceArray and t._a.kind == MESH else t for t in (a, e))
    if check_stride and a.stride() != e.stride():
        return f"The values for attribute 'stride()' do not match: {a.stride()} != {e.stride()}."
    if rtol is None:
        pairs = [_TOLERANCES.get(t.dtype, (0.0, 0.0)) for t in (a, e)]
        rtol, atol = max(p[0] for p in pairs), max(p[1] for p in pairs)
    recorder: Any = tls.m.recorder
    for t in (a, e) if recorder is not None else ():
        recorder.cut(t, "numpy", t._a)          # the numbers are read
    common = dt.promote_types(a.dtype, e.dtype)
    kind = np.complex128 if common.is_complex else np.float64 if common.is_floating_point else object
    return _compared(a._a.astype(kind), e._a.astype(kind), rtol, atol, equal_nan, numbers)


@ignore_float_errors
def _compared(a, e, rtol, atol, equal_nan, numbers) -> str | None:
    gap, size = np.asarray(np.abs(a - e), np.float64), np.asarray(np.abs(e), np.float64)
    close = (a == e) | ((gap <= atol + rtol * size) & np.isfinite(gap))
    if equal_nan:
        close = close | ((a != a) & (e != e))
    close = np.asarray(close, bool)
    if close.all():
        return None
    relative = np.where(size == 0, math.inf, gap / size)
    what = "Scalars" if numbers else "Tensor-likes"
    how = "equal" if rtol == atol == 0 else "close"
    if not a.ndim:
        return (f"{what} are not {how}!\n\nExpected {e[()]} but got {a[()]}.\nAbsolute difference: {float(gap)} (up to {atol} "
                f"allowed)\nRelative difference: {float(relative)} (up to {rtol} allowed)")
    count = int((~close).sum())
    return (f"{what} are not {how}!\n\nMismatched elements: {count} / {a.size} ({100 * count / a.size:.1f}%)\n"
            f"Greatest absolute difference: {_largest(gap, close)} (up to {atol} allowed)\n"
            f"Greatest relative difference: {_largest(relative, close)} (up to {rtol} allowed)")


def _largest(difference, close) -> str:
    shown = np.where(close, -1.0, np.where(np.isnan(difference), math.inf, difference))
    at = np.unravel_index(int(shown.argmax()), shown.shape)
    return f"{difference[at]} at index {tuple(int(i) for i in at)}"


def make_tensor(*shape, dtype, device=None, low=None, high=None, requires_grad=False, noncontiguous=False, exclude_zero=False,
                memory_format=None):
    """Return a tensor of random numbers in [low, high): by default [-9, 9), bools, or small integers."""
    if noncontiguous and memory_format is not None:
        raise ArgumentError("make_tensor takes noncontiguous or memory_format, not both")
    sizes = tuple(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else tuple(shape)
    kind = dt.as_dtype(dtype)
    low, high = _bounds(kind, low, high)
    stretched = sizes[:-1] + (2 * sizes[-1],) if noncontiguous and sizes and math.prod(sizes) > 1 else sizes
    made = _filled(stretched, kind, low, high)
    if exclude_zero:
        made = FUNCTIONS["where"](made == 0, FUNCTIONS["ones_like"](made), made)
    if stretched != sizes:
        made = made[..., ::2]
    made = made if device is None else made.to(device)
    made = made if memory_format is None else made.contiguous(memory_format=memory_format)
    return made.requires_grad_() if requires_grad else made


def _bounds(kind, low, high) -> tuple:
    least, most = {dt.BOOL: (0, 2), dt.UNSIGNED: (0, 10), dt.SIGNED: (-9, 10)}.get(kind.kind, (-9, 9))
    low, high = least if low is None else low, most if high is None else high
    if not low < high:
        raise ArgumentError(f"make_tensor takes low < high, got {low} and {high}")
    return low, high


def _filled(sizes, kind, low, high) -> Tensor:
    if not kind.is_inexact:
        return FUNCTIONS["randint"](math.ceil(low), math.ceil(high), sizes, dtype=dt.int64).to(kind)
    real = dt.float64 if kind.itemsize >= 8 and kind is not dt.complex64 else dt.float32
    parts = [FUNCTIONS["rand"](size=sizes, dtype=real) * (high - low) + low for _ in range(1 + kind.is_complex)]
    values = parts[0]._a if len(parts) == 1 else parts[0]._a + 1j * parts[1]._a
    return as_array_tensor(values.astype(kind.np))
