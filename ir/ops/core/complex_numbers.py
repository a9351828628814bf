"""Complex numbers and their parts.

The gradient of a complex number z is, as in PyTorch, the derivative by its real part plus i times that by its imaginary part.
Rules of operators with complex results are written as if numbers were real, f'(z) g; `autograd.node.ComplexNode` conjugates
around them.
"""

import numpy as np

from ... import dtype as dt
from ...dim_order import agreed, inverse
from ...dtype import PARTS, WHOLES
from ...errors import DTypeError, ShapeError
from ...opdef.batch_rules import LEADING
from ...opdef.op import Composite, Scalar, Template, op
from . import elementwise as ew
from .shape import full, select


def _infer_part(name):

    def infer(x):
        if x.dtype not in PARTS:
            raise DTypeError(f"{name} takes complex numbers, got {x}")
        return x.with_dtype(PARTS[x.dtype])

    return infer


def _infer_complex(re, im):
    _check_parts(re, im)
    if re.shape != im.shape:
        raise ShapeError(f"complex takes tensors of one shape, got {re} and {im}")
    return re.with_dtype(WHOLES[re.dtype])


def _check_parts(re, im):
    if dt.of(re) not in WHOLES or dt.of(re) is not dt.of(im):
        raise DTypeError(f"complex takes two tensors of float32 or float64, got {dt.of(re).name} and {dt.of(im).name}; cast "
                         "with .to()")


def _complex(re, im):
    _check_parts(re, im)
    order = agreed(re.shape, [re.strides, im.strides]) or tuple(range(re.ndim))
    made = np.empty([re.shape[d] for d in order], np.result_type(re.dtype, np.complex64)).transpose(inverse(order))
    made.real, made.imag = re, im
    return made


def _none(g):
    return full(g, shape=g.shape, value=0.0, dtype=dt.of(g))


def _conj(x):
    return x.copy("K") if x.dtype == np.bool_ else np.conjugate(x)      # (which takes bool for int8)


conj = op("conj", infer=lambda x: x, ref=_conj, vjp=(lambda g, out, x: conj(g),), lower=Scalar(), batch=LEADING,
          doc="The complex conjugate.")
real = op("real", infer=_infer_part("real"), ref=lambda x: x.real.copy("K"), vjp=(lambda g, out, x: complex_(g, _none(g)),),
          lower=Scalar(), batch=LEADING, doc="The real parts.")
imag = op("imag", infer=_infer_part("imag"), ref=lambda x: x.imag.copy("K"), vjp=(lambda g, out, x: complex_(_none(g), g),),
          lower=Scalar(), batch=LEADING, doc="The imaginary parts.")
complex_ = op("complex", infer=_infer_complex, ref=_complex,
              vjp=(lambda g, out, re, im: real(g), lambda g, out, re, im: ew.neg(imag(g))), lower=Scalar(), batch=LEADING,
              doc="Complex numbers of real and imaginary parts.")


def _infer_pairs(x):
    like = _infer_part("pairs")(x)
    return like.with_shape((*x.shape, 2))


def _pairs(x):
    made = np.empty((*x.shape, 2), PARTS[dt.of(x)].np)
    made[..., 0], made[..., 1] = x.real, x.imag
    return made


pairs = op("pairs", infer=_infer_pairs, ref=_pairs, vjp=(lambda g, out, x: of_pairs(g),), lower=Template("layout"),
           batch=LEADING, traits=("exact",), doc="Real and imaginary parts beside each other, in a last dimension of 2.")


def _infer_of_pairs(x):
    if x.dtype not in WHOLES:
        raise DTypeError(f"view_as_complex takes float32 and float64, got {x}")
    if not x.ndim or x.shape[-1] != 2:
        raise ShapeError(f"view_as_complex takes a last dimension of 2, got {x}")
    return x.with_shape(x.shape[:-1]).with_dtype(WHOLES[x.dtype])


of_pairs = op("of_pairs", infer=_infer_of_pairs, ref=lambda x: _complex(x[..., 0], x[..., 1]),
              vjp=(lambda g, out, x: pairs(conj(g)),), batch=LEADING, traits=("exact",),
              lower=Composite(lambda x: complex_(*[select(x, dim=len(x.shape) - 1, index=i) for i in range(2)])),
              doc="Complex numbers of the pairs in a last dimension of 2.")


def direction(x):
    """Divide complex numbers by their modulus; 0 stays 0."""
    size = modulus(x)
    nothing = ew.eq(size, 0.0)
    return ew.where(nothing, 0.0, ew.div(x, ew.cast(ew.where(nothing, 1.0, size), dtype=dt.of(x))))


def _modulus_x(g, out, x):
    return ew.mul(ew.cast(g, dtype=dt.of(x)), direction(x))


modulus = op("modulus", infer=_infer_part("abs"), ref=np.abs, vjp=(_modulus_x,), lower=Scalar(), batch=LEADING,
             doc="The distances from 0; the gradient there is 0.")


def magnitude(x):
    """Return absolute values of real or complex numbers."""
    return modulus(x) if dt.of(x).is_complex else ew.abs_(x)
