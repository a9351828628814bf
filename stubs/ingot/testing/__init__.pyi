"""`ingot.testing`: comparison of tensors, and random tensors for tests."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import typing as _t
import numpy as _np
from ingot import device as _device
from ingot import dtype as _dtype
from ingot import memory_format as _memory_format

def assert_allclose(actual: _t.Any, expected: _t.Any, rtol: _t.Any = None, atol: _t.Any = None,
                    equal_nan: _b.bool = True, msg: _b.str = '') -> None:
    """Call `assert_close` on values alone, under its first name."""
def assert_close(actual: _t.Any, expected: _t.Any, *, allow_subclasses: _b.bool = True, rtol: _t.Any = None,
                 atol: _t.Any = None, equal_nan: _b.bool = False, check_device: _b.bool = True,
                 check_dtype: _b.bool = True, check_layout: _b.bool = True, check_stride: _b.bool = False,
                 msg: _t.Any = None) -> None:
    """Raise AssertionError with the largest difference and its place, unless |actual - expected| <= atol + rtol *
    |expected|."""
def make_tensor(*shape: _t.Any, dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any],
                device: _device | _b.str | _b.int | None = None, low: _t.Any = None, high: _t.Any = None,
                requires_grad: _b.bool = False, noncontiguous: _b.bool = False, exclude_zero: _b.bool = False,
                memory_format: _memory_format | None = None) -> _t.Any:
    """Return a tensor of random numbers in [low, high): by default [-9, 9), bools, or small integers."""
