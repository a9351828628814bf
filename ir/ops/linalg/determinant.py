"""Determinants of matrices and batches of matrices; their derivatives exist for singular matrices, too."""

import numpy as np

from ... import dtype as dt
from ...errors import ShapeError
from ...opdef.batch_rules import LEADING
from ...opdef.derived_gradients import derived_vjp
from ...opdef.op import Host, op
from ..core import elementwise as ew
from ..core.complex_numbers import complex_, conj, imag
from ..core.reduce import sum_
from ..core.shape import expand, reshape
from .factorizations import inv, lapack, of_matrix, real_part, textbook
from .matrix_rules import adjoint, check_matrix
from .products import matmul, transpose_last


def _weigh(g, m):
    return ew.mul(m, expand(reshape(g, shape=(*g.shape, 1, 1)), shape=m.shape))


def _cofactor(x):
    """Compute cofactors through the singular values, so that singular matrices have them too."""
    finite = np.isfinite(x).all((-2, -1), keepdims=True)
    u, s, vh = np.linalg.svd(np.where(finite, x, 0))
    sign = np.linalg.det(u) * np.linalg.det(vh)
    found = (u * _products_of_others(s)[..., None, :]).conj() @ vh.conj() * sign[..., None, None]
    return np.where(finite, found, np.nan).astype(x.dtype, copy=False)


def _products_of_others(s):
    padded = np.ones(s.shape[:-1] + (s.shape[-1] + 1,), s.dtype)
    before, after = padded.copy(), padded.copy()
    before[..., 1:] = np.cumprod(s, -1)
    after[..., :-1] = np.cumprod(s[..., ::-1], -1)[..., ::-1]
    return before[..., :-1] * after[..., 1:]


def _cofactor_slope(g, x):
    """Differentiate cofactors of x = u diag(s) vh as those of diag(s), rotated back.

    A diagonal element there changes the other diagonal ones by the product of all s but two; a pair of off-diagonal elements
    change each other by minus that product.
    """
    finite = np.isfinite(x).all((-2, -1), keepdims=True)
    u, s, vh = np.linalg.svd(np.where(finite, x, 0))
    on = np.eye(s.shape[-1], dtype=bool)
    but_two = np.where(on, 0, _products_of_others(np.where(on, 1, s[..., None, :])))
    rotated = u.conj().swapaxes(-1, -2) @ g @ vh.conj().swapaxes(-1, -2)
    along = but_two @ np.diagonal(rotated, axis1=-2, axis2=-1)[..., None]
    sign = (np.linalg.det(u) * np.linalg.det(vh))[..., None, None]
    rotated_slope = np.where(on, along, -but_two * rotated.swapaxes(-1, -2)) * sign
    return np.where(finite, u.conj() @ rotated_slope @ vh.conj(), np.nan).astype(x.dtype, copy=False)


def _infer_cofactor_slope(g, x):
    check_matrix("cofactor_slope", x)
    if g != x:
        raise ShapeError(f"cofactor_slope takes what arrives at cofactors and their matrices, got {g} and {x}")
    return x


def _slope_by_inverses(g, x):
    """Differentiate cofactor = det * inverse^T."""
    cofactors, back = cofactor(x), transpose_last(inv(x))
    along = sum_(ew.mul(g, back), dim=(len(x.shape) - 2, len(x.shape) - 1), keepdim=False)
    return ew.sub(_weigh(along, cofactors), matmul(matmul(cofactors, transpose_last(g)), back))


def _cofactor_slope_x(g, out, h, x):
    return derived_vjp(_slope_by_inverses)(g, out, h, x, needs=(False, True))[1]


cofactor = op("cofactor", infer=of_matrix("cofactor"), ref=lapack("cofactor", _cofactor),
              vjp=(lambda g, out, x: cofactor_slope(g, x),), lower=Host(), batch=LEADING,
              doc="The matrix of cofactors: the derivative of the determinant.")
cofactor_slope = op("cofactor_slope", infer=_infer_cofactor_slope, ref=lapack("cofactor_slope", _cofactor_slope),
                    vjp=(lambda g, out, h, x: cofactor_slope(g, x), _cofactor_slope_x), lower=Host(), batch=LEADING,
                    doc="The gradient of cofactors (the second derivative of the determinant), also where there is no inverse; "
                        "its own gradient for the matrix needs one.")
det = op("det", infer=of_matrix("det", lambda x: x.with_shape(x.shape[:-2])),
         ref=lapack("det", lambda x: np.asarray(np.linalg.det(x), x.dtype)),
         vjp=(lambda g, out, x: _weigh(g, cofactor(x)),), lower=Host(), batch=LEADING, doc="The determinant.")


def _slogdet(x):
    sign, size = np.linalg.slogdet(x)
    return np.asarray(sign, x.dtype), np.asarray(size, x.real.dtype)


def _infer_slogdet(x):
    sign = x.with_shape(x.shape[:-2])
    return sign, real_part(sign)


@textbook
def _slogdet_vjp(g, out, x, *, needs):
    """Only the phase of a complex determinant can move."""
    g_sign, g_size = g
    if dt.of(x).is_complex:
        g_size = complex_(g_size, ew.neg(imag(ew.mul(conj(g_sign), out[0]))))
    return (_weigh(g_size, adjoint(inv(x))),)


slogdet = op("slogdet", infer=of_matrix("slogdet", _infer_slogdet), ref=lapack("slogdet", _slogdet), vjp=_slogdet_vjp,
             saves=(0, 1), lower=Host(), batch=LEADING, doc="Sign and logarithm of the size of the determinant.")
