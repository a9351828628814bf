"""`ingot.special`: special functions, most of them also under `ingot.*`."""

import math

from ...ir.errors import DTypeError
from ...ir.ops.core import elementwise as ew
from ...ir.ops.core import pointwise
from ...ir.ops.math import bessel, normal_distribution, polynomials
from ...ir.ops.math import gamma as gamma_ops
from ..api.math.elementwise import unary
from ..api.register.register import FUNCTIONS, deliver, rename_all
from ..api.register.type_promotion import result_type, to_dtype
from ..autograd.missing_rules import without_rule
from ..core.tensor import Tensor
from ..state.mode import Defaults

__all__ = ["airy_ai", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "chebyshev_polynomial_t",
           "chebyshev_polynomial_u", "chebyshev_polynomial_v", "chebyshev_polynomial_w", "digamma", "entr", "erf", "erfc",
           "erfcx", "erfinv", "exp2", "expit", "expm1", "gammainc", "gammaincc", "gammaln", "hermite_polynomial_h",
           "hermite_polynomial_he", "i0", "i0e", "i1", "i1e", "laguerre_polynomial_l", "legendre_polynomial_p", "log1p",
           "log_ndtr", "log_softmax", "logit", "logsumexp", "modified_bessel_i0", "modified_bessel_i1",
           "modified_bessel_k0", "modified_bessel_k1", "multigammaln", "ndtr", "ndtri", "polygamma", "psi", "round",
           "scaled_modified_bessel_k0", "scaled_modified_bessel_k1", "shifted_chebyshev_polynomial_t",
           "shifted_chebyshev_polynomial_u", "shifted_chebyshev_polynomial_v", "shifted_chebyshev_polynomial_w", "sinc",
           "softmax", "spherical_bessel_j0", "xlog1py", "xlogy", "zeta"]


def polygamma(n, input, *, out=None):
    """Return the n-th derivative of digamma."""
    return FUNCTIONS["polygamma"](n, input, out=out)


def softmax(input, dim, *, dtype=None):
    """Return exp(x) / sum(exp(x)) along a dimension."""
    return FUNCTIONS["softmax"](input, dim, dtype=dtype)


def log_softmax(input, dim, *, dtype=None):
    """Return log(softmax(x)) along a dimension."""
    return FUNCTIONS["log_softmax"](input, dim, dtype=dtype)


def _floating(x, name) -> Tensor:
    """Return the argument as a tensor of a floating type."""
    if not isinstance(x, Tensor):
        raise DTypeError(f"{name} takes a tensor, got {type(x).__name__}")
    if x.dtype.is_complex:
        raise DTypeError(f"{name} takes real numbers, got {x.aval}")
    return x if x.dtype.is_floating_point else to_dtype(x, Defaults.dtype)


def xlog1py(input, other, *, out=None):
    """Return x log(1 + y); 0 where x is 0 (nan where y is nan)."""
    x, y = _pair(input, other)
    silent = (x == 0) & ((y <= -1) | (y == math.inf))       # elsewhere a product with 0 is 0, and has a gradient
    return deliver(FUNCTIONS["where"](silent, 0.0, x * log1p(FUNCTIONS["where"](silent, 0.0, y))), out, "xlog1py")


def _pair(x, y):
    """Return two arguments as broadcastable floating point tensors of one dtype; one may be a number."""
    like = x if isinstance(x, Tensor) else y
    kind = result_type(x, y)
    kind = kind if kind.is_floating_point else Defaults.dtype
    tensor = FUNCTIONS["tensor"]
    pair = [to_dtype(v, kind) if isinstance(v, Tensor) else tensor(v, dtype=kind) for v in (x, y)]
    if not isinstance(like, Tensor):
        raise DTypeError("special functions take at least one tensor")
    return FUNCTIONS["broadcast_tensors"](*pair)


def zeta(input, other, *, out=None):
    """Return Hurwitz's zeta function: the sum of (other + k) ** -input over k from 0, for input above 1."""
    return deliver(without_rule("zeta", polynomials.zeta(*_pair(input, other)), input), out, "zeta")


def multigammaln(input, p, *, out=None):
    """Return the logarithm of the multivariate gamma function of dimension p."""
    return FUNCTIONS["mvlgamma"](input, p, out=out)


def _polynomial(name, doc, shifted=False):
    """Return the function of one family of polynomials."""

    def function(input, n, *, out=None):
        x, degree = _pair(input, n)
        result = polynomials.polynomial(2 * x - 1 if shifted else x, degree, family=name.removeprefix("shifted_"))
        return deliver(result, out, name)

    return _named(function, name, f"{doc}, of degree n (an integer), at input{', shifted to [0, 1]' if shifted else ''}.")


def _bessel(record, doc):
    return _named(unary(record), record.name, doc)


def _named(function, name, doc):
    function.__name__, function.__qualname__, function.__module__ = name, name, __name__
    function.__doc__ = doc
    return function


def _of_real(record, doc):
    """Return the function of one real argument."""

    def function(input, *, out=None):
        return deliver(record(_floating(input, record.name)), out, record.name)

    return _named(function, record.name, doc)


def _of_pair(record, doc):
    """Return the function of two arguments."""

    def function(input, other, *, out=None):
        return deliver(record(*_pair(input, other)), out, record.name)

    return _named(function, record.name, doc)


entr = _of_real(pointwise.entr, "Return -x log x; 0 at 0 and -inf below.")
ndtr = _of_real(normal_distribution.ndtr, "Return the standard normal distribution function.")
log_ndtr = _of_real(normal_distribution.log_ndtr,
                    "Return the logarithm of the standard normal distribution function, accurate in both tails.")
ndtri = _of_real(normal_distribution.ndtri, "Return the quantiles of the standard normal distribution, accurate in both tails.")
erfcx = _of_real(ew.erfcx, "Return exp(x**2) erfc(x), which does not vanish for large x.")
gammainc = _of_pair(gamma_ops.gammainc, "Return the regularised lower incomplete gamma function. It is the probability that a "
                                        "gamma number of concentration `input` is at most `other`.")
gammaincc = _of_pair(gamma_ops.gammaincc, "Return the regularised upper incomplete gamma function, 1 - gammainc, accurate "
                                          "where it is small.")

_KINDS = {"t": "first", "u": "second", "v": "third", "w": "fourth"}
chebyshev_polynomial_t, chebyshev_polynomial_u, chebyshev_polynomial_v, chebyshev_polynomial_w = [
    _polynomial(f"chebyshev_polynomial_{k}", f"Chebyshev's polynomial of the {kind} kind") for k, kind in _KINDS.items()]
(shifted_chebyshev_polynomial_t, shifted_chebyshev_polynomial_u, shifted_chebyshev_polynomial_v,
 shifted_chebyshev_polynomial_w) = [
    _polynomial(f"shifted_chebyshev_polynomial_{k}", f"Chebyshev's polynomial of the {kind} kind", True)
    for k, kind in _KINDS.items()]
hermite_polynomial_h = _polynomial("hermite_polynomial_h", "Hermite's polynomial as physicists have it")
hermite_polynomial_he = _polynomial("hermite_polynomial_he", "Hermite's polynomial as statisticians have it")
laguerre_polynomial_l = _polynomial("laguerre_polynomial_l", "Laguerre's polynomial")
legendre_polynomial_p = _polynomial("legendre_polynomial_p", "Legendre's polynomial")

i0e = _bessel(bessel.i0e, "exp(-|x|) times the modified Bessel function of the first kind, order 0.")
i1 = modified_bessel_i1 = _bessel(bessel.i1, "The modified Bessel function of the first kind, order 1.")
i1e = _bessel(bessel.i1e, "exp(-|x|) times the modified Bessel function of the first kind, order 1.")
bessel_j0 = _bessel(bessel.bessel_j0, "The Bessel function of the first kind, order 0.")
bessel_j1 = _bessel(bessel.bessel_j1, "The Bessel function of the first kind, order 1.")
bessel_y0 = _bessel(bessel.bessel_y0, "The Bessel function of the second kind, order 0; nan below 0.")
bessel_y1 = _bessel(bessel.bessel_y1, "The Bessel function of the second kind, order 1; nan below 0.")
modified_bessel_k0 = _bessel(bessel.modified_bessel_k0, "The modified Bessel function of the second kind, order 0.")
modified_bessel_k1 = _bessel(bessel.modified_bessel_k1, "The modified Bessel function of the second kind, order 1.")
scaled_modified_bessel_k0 = _bessel(bessel.scaled_modified_bessel_k0, "exp(x) times modified_bessel_k0.")
scaled_modified_bessel_k1 = _bessel(bessel.scaled_modified_bessel_k1, "exp(x) times modified_bessel_k1.")
spherical_bessel_j0 = _bessel(bessel.spherical_bessel_j0, "sin(x) / x, 1 at 0.")
airy_ai = _bessel(bessel.airy_ai, "Airy's function Ai. No gradient.")

# Functions of other modules stand last: loading them may import modules that read the names above.

digamma = psi = FUNCTIONS["digamma"]
erf, erfc, erfinv = FUNCTIONS["erf"], FUNCTIONS["erfc"], FUNCTIONS["erfinv"]
exp2, expm1, log1p = FUNCTIONS["exp2"], FUNCTIONS["expm1"], FUNCTIONS["log1p"]
expit, logit, sinc = FUNCTIONS["sigmoid"], FUNCTIONS["logit"], FUNCTIONS["sinc"]
gammaln = FUNCTIONS["lgamma"]
i0 = modified_bessel_i0 = FUNCTIONS["i0"]
logsumexp = FUNCTIONS["logsumexp"]
round = FUNCTIONS["round"]
xlogy = FUNCTIONS["xlogy"]

rename_all(globals())
