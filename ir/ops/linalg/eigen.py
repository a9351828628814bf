"""Eigenvalues of square matrices, roots of symmetric ones, polar factors."""

import numpy as np

from ... import dtype as dt
from ...errors import ShapeError
from ...opdef.batch_rules import LEADING
from ...opdef.op import Host, op
from ..core import elementwise as ew
from ..core.complex_numbers import WHOLES, conj, real
from ..core.shape import expand, iota, reshape
from .factorizations import (
    adjoint,
    as_row,
    check_matrix,
    diag,
    diagonal_of,
    filled,
    lapack,
    of_matrix,
    over_gaps,
    scaled_columns,
    singular,
    solve,
    symmetric,
    textbook,
)
from .products import matmul


def _in_complex(x):
    return x.with_dtype(WHOLES.get(x.dtype, x.dtype))


def _values_of(x):
    return _in_complex(x.with_shape(x.shape[:-1]))


def _complex(x):
    """Make results complex: numpy gives real ones where all imaginary parts vanish."""
    return x.astype(np.result_type(x.dtype, np.complex64), copy=False)


def _real_if_real(g, x):
    return g if dt.of(x).is_complex else real(g)


def _from_core(core, v, x):
    back = adjoint(v)
    return _real_if_real(matmul(solve(back, core), back), x)


@textbook
def _eig_vjp(g, out, x, *, needs):
    """Vectors have length 1, and only functions that do not depend on their phases have a gradient."""
    w, v = out
    if g[1] is None:
        return (_from_core(diag(g[0]), v, x),)
    gw, gv = filled(g, out)
    back, shape = adjoint(v), tuple(v.shape)
    along = matmul(back, gv)
    parallel = real(diagonal_of(along))
    inner = ew.sub(along, scaled_columns(matmul(back, v), parallel))
    gaps = ew.sub(expand(as_row(w), shape=shape), expand(reshape(w, shape=(*w.shape, 1)), shape=shape))
    rows, cols = (iota(v, shape=shape, dim=len(shape) - k, dtype=dt.int64) for k in (2, 1))
    same = ew.eq(rows, cols)
    rotated = over_gaps(inner, conj(ew.where(same, 1.0, gaps)))
    return (_from_core(ew.where(same, diag(gw), rotated), v, x),)


eig = op("eig", infer=of_matrix("eig", lambda x: (_values_of(x), _in_complex(x))),
         ref=lapack("eig", lambda x: tuple(_complex(r) for r in np.linalg.eig(x))), vjp=_eig_vjp,
         saves=(0,), lower=Host(), traits=("gaps", "refuses"),
         batch=LEADING, doc="Eigenvalues and eigenvectors of length 1, in no order, of any square matrix; complex.")


@textbook
def _eigvals_vjp(g, out, x, *, needs):
    _, v = eig(x)
    return (_from_core(diag(g), v, x),)


eigvals = op("eigvals", infer=of_matrix("eigvals", _values_of), ref=lapack("eigvals", lambda x: _complex(np.linalg.eigvals(x))),
             vjp=_eigvals_vjp, saves=(1,), lower=Host(), traits=("refuses",),
             batch=LEADING, doc="Eigenvalues, in no order, of any square matrix; complex.")

# Roots of symmetric positive matrices. Their gradients solve X Y + Y X = G, which equal eigenvalues do not disturb.


def mirrored(x):
    """Return the Hermitian part."""
    return (x + np.swapaxes(x, -1, -2).conj()) * x.real.dtype.type(0.5)


def _infer_sylvester(x, g):
    check_matrix("sylvester", x)
    if x.shape != g.shape or x.dtype is not g.dtype:
        raise ShapeError(f"sylvester takes two matrices alike, got {x} and {g}")
    return g


def _sylvester(x, g):
    w, v = np.linalg.eigh(mirrored(x))
    back = np.swapaxes(v, -1, -2).conj()
    return v @ ((back @ g @ v) / (w[..., :, None] + w[..., None, :])) @ back


@textbook
def _sylvester_vjp(g, out, x, right, *, needs):
    s, y = sylvester(x, g), adjoint(out)
    x_grad = ew.neg(symmetric(ew.add(matmul(s, y), matmul(y, s)))) if needs[0] else None
    return x_grad, s


sylvester = op("sylvester", infer=_infer_sylvester, ref=lapack("sylvester", _sylvester), vjp=_sylvester_vjp, saves=(0, 1),
               lower=Host(), batch=LEADING, traits=("refuses",),
               doc="Y with x @ Y + Y @ x = g, for Hermitian positive x (its Hermitian part).")


def _root(x):
    w, v = np.linalg.eigh(mirrored(x))
    return (v * np.sqrt(w)[..., None, :]) @ np.swapaxes(v, -1, -2).conj()


matrix_sqrth = op("matrix_sqrth", infer=of_matrix("matrix_sqrth"), ref=lapack("matrix_sqrth", _root),
                  vjp=textbook(lambda g, out, x, *, needs: (symmetric(sylvester(out, g)),)), saves=(0,), lower=Host(),
                  batch=LEADING, traits=("refuses",),
                  doc="The Hermitian positive root of a Hermitian positive matrix (of its Hermitian part).")


def _infer_polar(x):
    check_matrix("polar", x, square=False)
    m, n = x.shape[-2:]
    if m < n:
        raise ShapeError(f"polar takes matrices with at least as many rows as columns, got {x}")
    return x, x.with_shape((*x.shape[:-2], n, n))


def _polar(x):
    u, s, vh = singular(x)
    back = np.swapaxes(vh, -1, -2).conj()
    return u @ vh, mirrored((back * s[..., None, :]) @ vh)


@textbook
def _polar_vjp(g, out, x, *, needs):
    """From dU = U W + (I - U U') dA / H and dH = U' dA - W H, where H W + W H = U' dA - dA' U."""
    (gu, gh), (u, h) = g, out
    along = matmul(adjoint(u), gu)
    s = sylvester(h, ew.sub(along, matmul(gh, h)))
    total = matmul(u, ew.add(ew.sub(s, adjoint(s)), gh))
    if x.shape[-2] > x.shape[-1]:
        outside = ew.sub(gu, matmul(u, along))
        total = ew.add(total, adjoint(solve(h, adjoint(outside))))
    return (total,)


polar = op("polar", infer=_infer_polar, ref=lapack("polar", _polar), vjp=_polar_vjp, saves=(0,), lower=Host(), batch=LEADING,
           traits=("refuses",), doc="U with orthonormal columns and H, Hermitian and not negative, with U @ H = x.")
