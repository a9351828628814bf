"""The names of `ingot.special`, and functions that factories build.

Made by `make stubs` from the live package; not edited by hand.
"""

from typing import Any

from .runtime.linalg.special import log_softmax as log_softmax
from .runtime.linalg.special import logit as logit
from .runtime.linalg.special import logsumexp as logsumexp
from .runtime.linalg.special import multigammaln as multigammaln
from .runtime.linalg.special import polygamma as polygamma
from .runtime.linalg.special import round as round
from .runtime.linalg.special import softmax as softmax
from .runtime.linalg.special import xlog1py as xlog1py
from .runtime.linalg.special import zeta as zeta

def airy_ai(input, *, out=None) -> Any:
    """Airy's function Ai. No gradient."""
def bessel_j0(input, *, out=None) -> Any:
    """The Bessel function of the first kind, order 0."""
def bessel_j1(input, *, out=None) -> Any:
    """The Bessel function of the first kind, order 1."""
def bessel_y0(input, *, out=None) -> Any:
    """The Bessel function of the second kind, order 0; nan below 0."""
def bessel_y1(input, *, out=None) -> Any:
    """The Bessel function of the second kind, order 1; nan below 0."""
def chebyshev_polynomial_t(input, n, *, out=None) -> Any:
    """Chebyshev's polynomial of the first kind, of degree n (an integer), at input."""
def chebyshev_polynomial_u(input, n, *, out=None) -> Any:
    """Chebyshev's polynomial of the second kind, of degree n (an integer), at input."""
def chebyshev_polynomial_v(input, n, *, out=None) -> Any:
    """Chebyshev's polynomial of the third kind, of degree n (an integer), at input."""
def chebyshev_polynomial_w(input, n, *, out=None) -> Any:
    """Chebyshev's polynomial of the fourth kind, of degree n (an integer), at input."""
def digamma(input, *, out=None) -> Any:
    """Elementwise digamma."""
def entr(input, *, out=None) -> Any:
    """Return -x log x; 0 at 0 and -inf below."""
def erf(input, *, out=None) -> Any:
    """Elementwise erf."""
def erfc(input, *, out=None) -> Any:
    """Elementwise erfc."""
def erfcx(input, *, out=None) -> Any:
    """Return exp(x**2) erfc(x), which does not vanish for large x."""
def erfinv(input, *, out=None) -> Any:
    """Elementwise erfinv."""
def exp2(input, *, out=None) -> Any:
    """Elementwise exp2."""
def expit(input, *, out=None) -> Any:
    """Elementwise sigmoid."""
def expm1(input, *, out=None) -> Any:
    """Elementwise expm1."""
def gammainc(input, other, *, out=None) -> Any:
    """Return the regularised lower incomplete gamma function. It is the probability that a gamma number of concentration
    `input` is at most `other`."""
def gammaincc(input, other, *, out=None) -> Any:
    """Return the regularised upper incomplete gamma function, 1 - gammainc, accurate where it is small."""
def gammaln(input, *, out=None) -> Any:
    """Elementwise lgamma."""
def hermite_polynomial_h(input, n, *, out=None) -> Any:
    """Hermite's polynomial as physicists have it, of degree n (an integer), at input."""
def hermite_polynomial_he(input, n, *, out=None) -> Any:
    """Hermite's polynomial as statisticians have it, of degree n (an integer), at input."""
def i0(input, *, out=None) -> Any: ...
def i0e(input, *, out=None) -> Any:
    """exp(-|x|) times the modified Bessel function of the first kind, order 0."""
def i1(input, *, out=None) -> Any:
    """The modified Bessel function of the first kind, order 1."""
def i1e(input, *, out=None) -> Any:
    """exp(-|x|) times the modified Bessel function of the first kind, order 1."""
def laguerre_polynomial_l(input, n, *, out=None) -> Any:
    """Laguerre's polynomial, of degree n (an integer), at input."""
def legendre_polynomial_p(input, n, *, out=None) -> Any:
    """Legendre's polynomial, of degree n (an integer), at input."""
def log1p(input, *, out=None) -> Any:
    """Elementwise log1p."""
def log_ndtr(input, *, out=None) -> Any:
    """Return the logarithm of the standard normal distribution function, accurate in both tails."""
def modified_bessel_i0(input, *, out=None) -> Any: ...
def modified_bessel_i1(input, *, out=None) -> Any:
    """The modified Bessel function of the first kind, order 1."""
def modified_bessel_k0(input, *, out=None) -> Any:
    """The modified Bessel function of the second kind, order 0."""
def modified_bessel_k1(input, *, out=None) -> Any:
    """The modified Bessel function of the second kind, order 1."""
def ndtr(input, *, out=None) -> Any:
    """Return the standard normal distribution function."""
def ndtri(input, *, out=None) -> Any:
    """Return the quantiles of the standard normal distribution, accurate in both tails."""
def psi(input, *, out=None) -> Any:
    """Elementwise digamma."""
def scaled_modified_bessel_k0(input, *, out=None) -> Any:
    """exp(x) times modified_bessel_k0."""
def scaled_modified_bessel_k1(input, *, out=None) -> Any:
    """exp(x) times modified_bessel_k1."""
def shifted_chebyshev_polynomial_t(input, n, *, out=None) -> Any:
    """Chebyshev's polynomial of the first kind, of degree n (an integer), at input, shifted to [0, 1]."""
def shifted_chebyshev_polynomial_u(input, n, *, out=None) -> Any:
    """Chebyshev's polynomial of the second kind, of degree n (an integer), at input, shifted to [0, 1]."""
def shifted_chebyshev_polynomial_v(input, n, *, out=None) -> Any:
    """Chebyshev's polynomial of the third kind, of degree n (an integer), at input, shifted to [0, 1]."""
def shifted_chebyshev_polynomial_w(input, n, *, out=None) -> Any:
    """Chebyshev's polynomial of the fourth kind, of degree n (an integer), at input, shifted to [0, 1]."""
def sinc(input, *, out=None) -> Any:
    """sin(pi x) / (pi x)"""
def spherical_bessel_j0(input, *, out=None) -> Any:
    """sin(x) / x, 1 at 0."""
def xlogy(input, other, *, out=None) -> Any:
    """x log y; 0 where x is 0, unless y is nan."""
