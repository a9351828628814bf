"""Determinants, their logarithms and cofactors, from LU factors (`lu.py`)."""

import numpy as np

from ....ir.ops.linalg import determinant
from ....ir.process_state import ignore_float_errors
from ..calls.operator_kernel import OperatorKernel
from . import lu, small_matrices, triangular


def _diagonal(factors, pivots):
    """Return (the diagonals of U, -1.0 if an odd number of rows was exchanged, else 1.0)."""
    exchanged = np.count_nonzero(pivots != np.arange(1, pivots.shape[-1] + 1, dtype=np.int32), -1)
    return np.diagonal(factors, axis1=-2, axis2=-1), np.where(exchanged % 2, -1, 1).astype(factors.dtype)


@ignore_float_errors
def det(x):
    """Return the product of U's diagonal."""
    if not triangular.takes(x):
        return determinant.det.ref(x)
    if small_matrices.takes(x):
        return small_matrices.run("det", [x], [((), x.dtype)])[0]
    diagonal, sign = _diagonal(*lu.factor(x)[:2])
    return np.asarray(np.multiply.reduce(diagonal, -1) * sign, diagonal.dtype)


@ignore_float_errors
def slogdet(x):
    """Return the signs and logarithms of U's diagonal."""
    if not triangular.takes(x):
        return determinant.slogdet.ref(x)
    if small_matrices.takes(x):
        return tuple(small_matrices.run("slogdet", [x], [((), x.dtype)] * 2))
    diagonal, sign = _diagonal(*lu.factor(x)[:2])
    signs = np.multiply.reduce(np.sign(diagonal), -1) * sign
    return np.asarray(signs, x.dtype), np.asarray(np.add.reduce(np.log(np.abs(diagonal)), -1), x.dtype)


@ignore_float_errors
def cofactor(x):
    """Return the determinant times the transposed inverse, if that is as accurate as singular values; else the reference."""
    if not triangular.takes(x):
        return determinant.cofactor.ref(x)
    inverse, fraction, power = _inverse_and_determinant(x)
    size, of_inverse = (np.einsum("...ij,...ij->...", a, a) for a in (x, inverse))      # squared
    sound = (size * of_inverse < 1 / np.finfo(x.dtype).eps) & np.isfinite(fraction) & (fraction != 0)
    found = np.multiply(fraction[..., None, None], np.swapaxes(inverse, -1, -2), order="C")
    found = np.ldexp(found, power[..., None, None]).astype(x.dtype)
    if not sound.all():
        found[~sound] = determinant.cofactor.ref(x[~sound])
    return found


def _inverse_and_determinant(x):
    """Return (inverses, determinants as fractions, and the powers of 2 by which to multiply them)."""
    if small_matrices.takes(x):
        inverse, whole = [small_matrices.run(routine, [x], given)[0] for routine, given in (
            ("inv", [(x.shape[-2:], x.dtype), ((), small_matrices.INFO)]), ("det", [((), x.dtype)]))]
        return inverse, *np.frexp(whole)
    factors, pivots, _ = lu.factor(x)
    one = np.broadcast_to(np.eye(x.shape[-1], dtype=x.dtype), x.shape)
    return lu.solve(factors, pivots, one), *_scaled_determinant(*_diagonal(factors, pivots))


_RUN = 512      # fractions of which the product is within the range of float64


def _scaled_determinant(diagonal, sign):
    """Return the product of U's diagonals as a fraction and a power of 2, which cannot overflow."""
    parts, power = np.frexp(diagonal.astype(np.float64))
    power = power.sum(-1)
    while parts.shape[-1] > 1:
        parts, more = np.frexp(np.multiply.reduceat(parts, range(0, parts.shape[-1], _RUN), -1))
        power = power + more.sum(-1)
    return parts[..., 0] * sign, power


OPERATORS = {determinant.det: OperatorKernel(det), determinant.cofactor: OperatorKernel(cofactor),
             determinant.slogdet: OperatorKernel(slogdet)}
