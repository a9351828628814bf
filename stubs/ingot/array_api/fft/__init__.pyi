"""The Fourier transform extension of the array API standard, by numpy. It has no gradients."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import collections.abc as _c
import typing as _t
import numpy as _np
from ingot import Tensor as _Tensor
from ingot import device as _device
from ingot import dtype as _dtype

def fft(x: _t.Any, /, *, n: _t.Any = None, axis: _b.int | _c.Sequence[_b.int] = -1, norm: _t.Any = 'backward') -> _Tensor:
    """The transform `fft` of arrays of floating dtype."""
def fftfreq(n: _t.Any, /, *, d: _b.float = 1.0,
            dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
            device: _device | _b.str | _b.int | None = None) -> _Tensor:
    """Return the frequencies of the elements of an `fft`."""
def fftn(x: _t.Any, /, *, s: _t.Any = None, axes: _t.Any = None, norm: _t.Any = 'backward') -> _Tensor:
    """The transform `fftn` of arrays of floating dtype."""
def fftshift(x: _t.Any, /, *, axes: _t.Any = None) -> _Tensor:
    """Move the element of frequency 0 to the middle."""
def hfft(x: _t.Any, /, *, n: _t.Any = None, axis: _b.int | _c.Sequence[_b.int] = -1, norm: _t.Any = 'backward') -> _Tensor:
    """The transform `hfft` of arrays of floating dtype."""
def ifft(x: _t.Any, /, *, n: _t.Any = None, axis: _b.int | _c.Sequence[_b.int] = -1, norm: _t.Any = 'backward') -> _Tensor:
    """The transform `ifft` of arrays of floating dtype."""
def ifftn(x: _t.Any, /, *, s: _t.Any = None, axes: _t.Any = None, norm: _t.Any = 'backward') -> _Tensor:
    """The transform `ifftn` of arrays of floating dtype."""
def ifftshift(x: _t.Any, /, *, axes: _t.Any = None) -> _Tensor:
    """Undo `fftshift`."""
def ihfft(x: _t.Any, /, *, n: _t.Any = None, axis: _b.int | _c.Sequence[_b.int] = -1, norm: _t.Any = 'backward') -> _Tensor:
    """The transform `ihfft` of arrays of real floating dtype."""
def irfft(x: _t.Any, /, *, n: _t.Any = None, axis: _b.int | _c.Sequence[_b.int] = -1, norm: _t.Any = 'backward') -> _Tensor:
    """The transform `irfft` of arrays of floating dtype."""
def irfftn(x: _t.Any, /, *, s: _t.Any = None, axes: _t.Any = None, norm: _t.Any = 'backward') -> _Tensor:
    """The transform `irfftn` of arrays of floating dtype."""
def rfft(x: _t.Any, /, *, n: _t.Any = None, axis: _b.int | _c.Sequence[_b.int] = -1, norm: _t.Any = 'backward') -> _Tensor:
    """The transform `rfft` of arrays of real floating dtype."""
def rfftfreq(n: _t.Any, /, *, d: _b.float = 1.0,
             dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
             device: _device | _b.str | _b.int | None = None) -> _Tensor:
    """Return the frequencies of the elements of an `rfft`."""
def rfftn(x: _t.Any, /, *, s: _t.Any = None, axes: _t.Any = None, norm: _t.Any = 'backward') -> _Tensor:
    """The transform `rfftn` of arrays of real floating dtype."""
