"""`ingot.special`: special functions, most of them also under `ingot.*`."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import collections.abc as _c
import typing as _t
import numpy as _np
from ingot import Tensor as _Tensor
from ingot import dtype as _dtype

def airy_ai(input: _Tensor, *, out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor:
    """Airy's function Ai. No gradient."""
def bessel_j0(input: _Tensor, *, out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor:
    """The Bessel function of the first kind, order 0."""
def bessel_j1(input: _Tensor, *, out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor:
    """The Bessel function of the first kind, order 1."""
def bessel_y0(input: _Tensor, *, out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor:
    """The Bessel function of the second kind, order 0; nan below 0."""
def bessel_y1(input: _Tensor, *, out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor:
    """The Bessel function of the second kind, order 1; nan below 0."""
def chebyshev_polynomial_t(input: _Tensor, n: _t.Any, *, out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor:
    """Chebyshev's polynomial of the first kind, of degree n (an integer), at input."""
def chebyshev_polynomial_u(input: _Tensor, n: _t.Any, *, out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor:
    """Chebyshev's polynomial of the second kind, of degree n (an integer), at input."""
def chebyshev_polynomial_v(input: _Tensor, n: _t.Any, *, out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor:
    """Chebyshev's polynomial of the third kind, of degree n (an integer), at input."""
def chebyshev_polynomial_w(input: _Tensor, n: _t.Any, *, out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor:
    """Chebyshev's polynomial of the fourth kind, of degree n (an integer), at input."""
def digamma(input: _Tensor, *, out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor:
    """Elementwise digamma."""
def entr(input: _Tensor, *, out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor:
    """Return -x log x; 0 at 0 and -inf below."""
def erf(input: _Tensor, *, out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor:
    """Elementwise erf."""
def erfc(input: _Tensor, *, out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor:
    """Elementwise erfc."""
def erfcx(input: _Tensor, *, out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor:
    """Return exp(x**2) erfc(x), which does not vanish for large x."""
def erfinv(input: _Tensor, *, out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor:
    """Elementwise erfinv."""
def exp2(input: _Tensor, *, out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor:
    """Elementwise exp2."""
def expit(input: _Tensor, *, out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor:
    """Elementwise sigmoid."""
def expm1(input: _Tensor, *, out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor:
    """Elementwise expm1."""
def gammainc(input: _Tensor, other: _Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
             out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor:
    """Return the regularised lower incomplete gamma function. It is the probability that a gamma number of concentration
    `input` is at most `other`."""
def gammaincc(input: _Tensor, other: _Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
              out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor:
    """Return the regularised upper incomplete gamma function, 1 - gammainc, accurate where it is small."""
def gammaln(input: _Tensor, *, out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor:
    """Elementwise lgamma."""
def hermite_polynomial_h(input: _Tensor, n: _t.Any, *, out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor:
    """Hermite's polynomial as physicists have it, of degree n (an integer), at input."""
def hermite_polynomial_he(input: _Tensor, n: _t.Any, *, out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor:
    """Hermite's polynomial as statisticians have it, of degree n (an integer), at input."""
def i0(input: _Tensor, *, out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor: ...
def i0e(input: _Tensor, *, out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor:
    """exp(-|x|) times the modified Bessel function of the first kind, order 0."""
def i1(input: _Tensor, *, out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor:
    """The modified Bessel function of the first kind, order 1."""
def i1e(input: _Tensor, *, out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor:
    """exp(-|x|) times the modified Bessel function of the first kind, order 1."""
def laguerre_polynomial_l(input: _Tensor, n: _t.Any, *, out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor:
    """Laguerre's polynomial, of degree n (an integer), at input."""
def legendre_polynomial_p(input: _Tensor, n: _t.Any, *, out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor:
    """Legendre's polynomial, of degree n (an integer), at input."""
def log1p(input: _Tensor, *, out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor:
    """Elementwise log1p."""
def log_ndtr(input: _Tensor, *, out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor:
    """Return the logarithm of the standard normal distribution function, accurate in both tails."""
@_t.overload
def log_softmax(input: _Tensor, dim: _b.int | _c.Sequence[_b.int], *,
                dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None) -> _Tensor:
    """Return log(softmax(x)) along a dimension."""
@_t.overload
def log_softmax(input: _Tensor, *, axis: _b.int | _c.Sequence[_b.int],
                dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None) -> _Tensor:
    """Return log(softmax(x)) along a dimension."""
def logit(input: _Tensor, eps: _t.Any = None, *, out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor:
    """Return log(x / (1 - x)). If eps is given, x is limited to [eps, 1 - eps] first; eps wins where the limits cross."""
@_t.overload
def logsumexp(input: _Tensor, dim: _b.int | _c.Sequence[_b.int], keepdim: _b.bool = False, *,
              out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor:
    """Return the log of the sum of exp(input) over dims, without overflow."""
@_t.overload
def logsumexp(input: _Tensor, *, axis: _b.int | _c.Sequence[_b.int], keepdims: _b.bool = False,
              out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor:
    """Return the log of the sum of exp(input) over dims, without overflow."""
def modified_bessel_i0(input: _Tensor, *, out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor: ...
def modified_bessel_i1(input: _Tensor, *, out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor:
    """The modified Bessel function of the first kind, order 1."""
def modified_bessel_k0(input: _Tensor, *, out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor:
    """The modified Bessel function of the second kind, order 0."""
def modified_bessel_k1(input: _Tensor, *, out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor:
    """The modified Bessel function of the second kind, order 1."""
def multigammaln(input: _Tensor, p: _t.Any, *, out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor:
    """Return the logarithm of the multivariate gamma function of dimension p."""
def ndtr(input: _Tensor, *, out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor:
    """Return the standard normal distribution function."""
def ndtri(input: _Tensor, *, out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor:
    """Return the quantiles of the standard normal distribution, accurate in both tails."""
def polygamma(n: _t.Any, input: _Tensor, *, out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor:
    """Return the n-th derivative of digamma."""
def psi(input: _Tensor, *, out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor:
    """Elementwise digamma."""
def round(input: _Tensor, *, decimals: _b.int = 0, out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor:
    """Round to `decimals` places, halves to even."""
def scaled_modified_bessel_k0(input: _Tensor, *, out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor:
    """exp(x) times modified_bessel_k0."""
def scaled_modified_bessel_k1(input: _Tensor, *, out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor:
    """exp(x) times modified_bessel_k1."""
def shifted_chebyshev_polynomial_t(input: _Tensor, n: _t.Any, *,
                                   out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor:
    """Chebyshev's polynomial of the first kind, of degree n (an integer), at input, shifted to [0, 1]."""
def shifted_chebyshev_polynomial_u(input: _Tensor, n: _t.Any, *,
                                   out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor:
    """Chebyshev's polynomial of the second kind, of degree n (an integer), at input, shifted to [0, 1]."""
def shifted_chebyshev_polynomial_v(input: _Tensor, n: _t.Any, *,
                                   out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor:
    """Chebyshev's polynomial of the third kind, of degree n (an integer), at input, shifted to [0, 1]."""
def shifted_chebyshev_polynomial_w(input: _Tensor, n: _t.Any, *,
                                   out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor:
    """Chebyshev's polynomial of the fourth kind, of degree n (an integer), at input, shifted to [0, 1]."""
def sinc(input: _Tensor, *, out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor:
    """sin(pi x) / (pi x)"""
@_t.overload
def softmax(input: _Tensor, dim: _b.int | _c.Sequence[_b.int], *,
            dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None) -> _Tensor:
    """Return exp(x) / sum(exp(x)) along a dimension."""
@_t.overload
def softmax(input: _Tensor, *, axis: _b.int | _c.Sequence[_b.int],
            dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None) -> _Tensor:
    """Return exp(x) / sum(exp(x)) along a dimension."""
def spherical_bessel_j0(input: _Tensor, *, out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor:
    """sin(x) / x, 1 at 0."""
def xlog1py(input: _Tensor, other: _Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
            out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor:
    """Return x log(1 + y); 0 where x is 0 (nan where y is nan)."""
def xlogy(input: _Tensor, other: _Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
          out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor:
    """x log y; 0 where x is 0, unless y is nan."""
def zeta(input: _Tensor, other: _Tensor | _b.complex | _np.ndarray[_t.Any, _t.Any], *,
         out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _Tensor:
    """Return Hurwitz's zeta function: the sum of (other + k) ** -input over k from 0, for input above 1."""
