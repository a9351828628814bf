"""`ingot.signal.windows`: windows of M points, symmetric (for filters), or with sym=False periodic (for spectra)."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import typing as _t
import numpy as _np
from ingot import Tensor as _Tensor
from ingot import device as _device
from ingot import dtype as _dtype
from ingot import layout as _layout

def bartlett(M: _t.Any, *, sym: _b.bool = True,
             dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None, layout: _layout = ...,
             device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False) -> _Tensor:
    """Return a triangle that is 0 at its ends."""
def blackman(M: _t.Any, *, sym: _b.bool = True,
             dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None, layout: _layout = ...,
             device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False) -> _Tensor:
    """Return a sum of two cosines with small side lobes."""
def cosine(M: _t.Any, *, sym: _b.bool = True,
           dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None, layout: _layout = ...,
           device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False) -> _Tensor:
    """Return half a sine."""
def exponential(M: _t.Any, *, center: _t.Any = None, tau: _b.float = 1.0, sym: _b.bool = True,
                dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
                layout: _layout = ..., device: _device | _b.str | _b.int | None = None,
                requires_grad: _b.bool = False) -> _Tensor:
    """Return exp(-|n - center| / tau). A periodic window is centred in the middle; `center` moves that."""
def gaussian(M: _t.Any, *, std: _b.float = 1.0, sym: _b.bool = True,
             dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None, layout: _layout = ...,
             device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False) -> _Tensor:
    """Return exp(-((n - center) / std)^2 / 2)."""
def general_cosine(M: _t.Any, *, a: _t.Any, sym: _b.bool = True,
                   dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
                   layout: _layout = ..., device: _device | _b.str | _b.int | None = None,
                   requires_grad: _b.bool = False) -> _Tensor:
    """Return the sum over k of (-1)^k a[k] cos(2 pi k n / (N - 1))."""
def general_hamming(M: _t.Any, *, alpha: _Tensor | _b.complex = 0.54, sym: _b.bool = True,
                    dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
                    layout: _layout = ..., device: _device | _b.str | _b.int | None = None,
                    requires_grad: _b.bool = False) -> _Tensor:
    """Return alpha - (1 - alpha) cos(2 pi n / (N - 1))."""
def hamming(M: _t.Any, *, sym: _b.bool = True,
            dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None, layout: _layout = ...,
            device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False) -> _Tensor:
    """Return a raised cosine that is 0.08 at its ends."""
def hann(M: _t.Any, *, sym: _b.bool = True,
         dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None, layout: _layout = ...,
         device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False) -> _Tensor:
    """Return a raised cosine that is 0 at its ends."""
def kaiser(M: _t.Any, *, beta: _Tensor | _b.complex = 12.0, sym: _b.bool = True,
           dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None, layout: _layout = ...,
           device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False) -> _Tensor:
    """Return a Kaiser window; beta trades the width of the main lobe for the height of the others."""
def nuttall(M: _t.Any, *, sym: _b.bool = True,
            dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None, layout: _layout = ...,
            device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False) -> _Tensor:
    """Return a sum of three cosines with very small side lobes."""
