"""`ingot.fft`: discrete Fourier transforms of float32, float64 and complex tensors, with gradients."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import collections.abc as _c
import typing as _t
import numpy as _np
from ingot import Tensor as _Tensor
from ingot import device as _device
from ingot import dtype as _dtype
from ingot import layout as _layout

def fft(input: _Tensor, n: _t.Any = None, dim: _b.int | _c.Sequence[_b.int] = -1, norm: _t.Any = None, *,
        out: _Tensor | _c.Sequence[_Tensor] | None = None, axis: _b.int | _c.Sequence[_b.int] = -1) -> _Tensor:
    """Transform along a dim, truncated or padded with zeros to n."""
def fft2(input: _Tensor, s: _t.Any = None, dim: _b.int | _c.Sequence[_b.int] = ..., norm: _t.Any = None, *,
         out: _Tensor | _c.Sequence[_Tensor] | None = None, axis: _b.int | _c.Sequence[_b.int] = ...) -> _Tensor:
    """Compute `fftn` along two dims."""
def fftfreq(n: _t.Any, d: _b.float = 1.0, *, out: _Tensor | _c.Sequence[_Tensor] | None = None,
            dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
            layout: _layout | None = None, device: _device | _b.str | _b.int | None = None,
            requires_grad: _b.bool = False) -> _Tensor:
    """Return the frequencies of `fft`, for samples at distance d: 0 first, then rising, then the negative ones."""
def fftn(input: _Tensor, s: _t.Any = None, dim: _b.int | _c.Sequence[_b.int] | None = None,
         norm: _t.Any = None, *, out: _Tensor | _c.Sequence[_Tensor] | None = None,
         axis: _b.int | _c.Sequence[_b.int] | None = None) -> _Tensor:
    """Transform along dims: by default all, or as many last ones as `s` has sizes."""
def fftshift(input: _Tensor, dim: _b.int | _c.Sequence[_b.int] | None = None, *,
             axis: _b.int | _c.Sequence[_b.int] | None = None) -> _Tensor:
    """Move frequency 0 to the middle of the dims."""
def hfft(input: _Tensor, n: _t.Any = None, dim: _b.int | _c.Sequence[_b.int] = -1, norm: _t.Any = None, *,
         out: _Tensor | _c.Sequence[_Tensor] | None = None, axis: _b.int | _c.Sequence[_b.int] = -1) -> _Tensor:
    """Return the real transform of the first half of conjugate symmetric numbers."""
def hfft2(input: _Tensor, s: _t.Any = None, dim: _b.int | _c.Sequence[_b.int] = ..., norm: _t.Any = None, *,
          out: _Tensor | _c.Sequence[_Tensor] | None = None, axis: _b.int | _c.Sequence[_b.int] = ...) -> _Tensor:
    """Compute `hfftn` along two dims."""
def hfftn(input: _Tensor, s: _t.Any = None, dim: _b.int | _c.Sequence[_b.int] | None = None,
          norm: _t.Any = None, *, out: _Tensor | _c.Sequence[_Tensor] | None = None,
          axis: _b.int | _c.Sequence[_b.int] | None = None) -> _Tensor:
    """Return the real transform along dims of conjugate symmetric numbers, halved along the last of the dims."""
def ifft(input: _Tensor, n: _t.Any = None, dim: _b.int | _c.Sequence[_b.int] = -1, norm: _t.Any = None, *,
         out: _Tensor | _c.Sequence[_Tensor] | None = None, axis: _b.int | _c.Sequence[_b.int] = -1) -> _Tensor:
    """Compute the inverse of `fft`."""
def ifft2(input: _Tensor, s: _t.Any = None, dim: _b.int | _c.Sequence[_b.int] = ..., norm: _t.Any = None, *,
          out: _Tensor | _c.Sequence[_Tensor] | None = None, axis: _b.int | _c.Sequence[_b.int] = ...) -> _Tensor:
    """Compute `ifftn` along two dims."""
def ifftn(input: _Tensor, s: _t.Any = None, dim: _b.int | _c.Sequence[_b.int] | None = None,
          norm: _t.Any = None, *, out: _Tensor | _c.Sequence[_Tensor] | None = None,
          axis: _b.int | _c.Sequence[_b.int] | None = None) -> _Tensor:
    """Compute the inverse of `fftn`."""
def ifftshift(input: _Tensor, dim: _b.int | _c.Sequence[_b.int] | None = None, *,
              axis: _b.int | _c.Sequence[_b.int] | None = None) -> _Tensor:
    """Undo `fftshift`."""
def ihfft(input: _Tensor, n: _t.Any = None, dim: _b.int | _c.Sequence[_b.int] = -1, norm: _t.Any = None, *,
          out: _Tensor | _c.Sequence[_Tensor] | None = None, axis: _b.int | _c.Sequence[_b.int] = -1) -> _Tensor:
    """Compute the inverse of `hfft`."""
def ihfft2(input: _Tensor, s: _t.Any = None, dim: _b.int | _c.Sequence[_b.int] = ..., norm: _t.Any = None, *,
           out: _Tensor | _c.Sequence[_Tensor] | None = None, axis: _b.int | _c.Sequence[_b.int] = ...) -> _Tensor:
    """Compute `ihfftn` along two dims."""
def ihfftn(input: _Tensor, s: _t.Any = None, dim: _b.int | _c.Sequence[_b.int] | None = None,
           norm: _t.Any = None, *, out: _Tensor | _c.Sequence[_Tensor] | None = None,
           axis: _b.int | _c.Sequence[_b.int] | None = None) -> _Tensor:
    """Compute the inverse of `hfftn`."""
def irfft(input: _Tensor, n: _t.Any = None, dim: _b.int | _c.Sequence[_b.int] = -1, norm: _t.Any = None, *,
          out: _Tensor | _c.Sequence[_Tensor] | None = None, axis: _b.int | _c.Sequence[_b.int] = -1) -> _Tensor:
    """Compute the inverse of `rfft`: n real numbers, by default an even number of them."""
def irfft2(input: _Tensor, s: _t.Any = None, dim: _b.int | _c.Sequence[_b.int] = ..., norm: _t.Any = None, *,
           out: _Tensor | _c.Sequence[_Tensor] | None = None, axis: _b.int | _c.Sequence[_b.int] = ...) -> _Tensor:
    """Compute `irfftn` along two dims."""
def irfftn(input: _Tensor, s: _t.Any = None, dim: _b.int | _c.Sequence[_b.int] | None = None,
           norm: _t.Any = None, *, out: _Tensor | _c.Sequence[_Tensor] | None = None,
           axis: _b.int | _c.Sequence[_b.int] | None = None) -> _Tensor:
    """Compute the inverse of `rfftn`."""
def rfft(input: _Tensor, n: _t.Any = None, dim: _b.int | _c.Sequence[_b.int] = -1, norm: _t.Any = None, *,
         out: _Tensor | _c.Sequence[_Tensor] | None = None, axis: _b.int | _c.Sequence[_b.int] = -1) -> _Tensor:
    """Return the n // 2 + 1 frequencies of real numbers; the others are their conjugates."""
def rfft2(input: _Tensor, s: _t.Any = None, dim: _b.int | _c.Sequence[_b.int] = ..., norm: _t.Any = None, *,
          out: _Tensor | _c.Sequence[_Tensor] | None = None, axis: _b.int | _c.Sequence[_b.int] = ...) -> _Tensor:
    """Compute `rfftn` along two dims."""
def rfftfreq(n: _t.Any, d: _b.float = 1.0, *, out: _Tensor | _c.Sequence[_Tensor] | None = None,
             dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
             layout: _layout | None = None, device: _device | _b.str | _b.int | None = None,
             requires_grad: _b.bool = False) -> _Tensor:
    """Return the frequencies of `rfft`."""
def rfftn(input: _Tensor, s: _t.Any = None, dim: _b.int | _c.Sequence[_b.int] | None = None,
          norm: _t.Any = None, *, out: _Tensor | _c.Sequence[_Tensor] | None = None,
          axis: _b.int | _c.Sequence[_b.int] | None = None) -> _Tensor:
    """Compute `fftn` of real numbers: half of the frequencies along the last of the dims."""
