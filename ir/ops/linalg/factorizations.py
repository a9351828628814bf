"""Factorisations, inverses and least squares of matrices and batches of matrices; references go through LAPACK.

Gradients are the textbook ones; where a factorisation is not unique (signs or phases of vectors, equal singular values or
eigenvalues) only functions that do not depend on the choice have one. Rules of functions that are not analytic in complex
matrices are marked `textbook`.
"""

import math
from functools import wraps

import numpy as np

from ... import dtype as dt
from ...blas_threads import suited
from ...errors import LinAlgError, ShapeError
from ...opdef.batch_rules import LEADING
from ...opdef.op import Composite, Host, op
from ...opdef.param_checks import check_flag, check_number
from ..core import elementwise as ew
from ..core.complex_numbers import PARTS, complex_, conj, imag
from ..core.shape import cat, diagonal, diagonal_scatter, expand, full, iota, reshape, slice_
from .matrix_rules import adjoint, check_matrix, lower
from .products import matmul, transpose_last
from .triangular import of_system, solve_triangular, substituted


def lapack(name, fn):
    """Run a numpy.linalg function on a suitable number of threads (`ir/blas_threads.py`); its failure becomes a LinAlgError."""
    fn = suited(fn)

    def ref(*args, **params):
        try:
            return fn(*args, **params)
        except np.linalg.LinAlgError as e:
            raise LinAlgError(f"{name} of a matrix of shape {list(args[0].shape)}: {e}") from None

    return ref


def refuse_infinite(x):
    """Raise for infinite elements, among which LAPACK's search for singular vectors never ends."""
    if np.isinf(x).any():
        raise np.linalg.LinAlgError("infinite elements have no singular vectors")


def singular(x, full=False):
    """Return (U, S, Vh) of finite matrices."""
    refuse_infinite(x)
    return tuple(np.linalg.svd(x, full_matrices=full))


def of_matrix(name, gives=lambda x: x, square=True):
    """Return the shape rule of a function of matrices, square ones by default: `gives` maps the arguments to the results."""
    @wraps(gives)
    def infer(x, **params):
        check_matrix(name, x, square)
        return gives(x, **params)

    return infer


def textbook(rule):
    """Mark a joint gradient rule as textbook: its gradients of complex results are conjugated for the public API (see
    `complexes`)."""

    @wraps(rule)
    def vjp(g, out, *args, **options):
        outs = out if type(out) is tuple else (out,)
        if not any(dt.of(o).is_complex for o in outs if o is not None):
            return rule(g, out, *args, **options)
        conjugated = tuple([_conjugated(x) for x in g]) if type(g) is tuple else _conjugated(g)
        return tuple([_conjugated(x) for x in rule(conjugated, out, *args, **options)])

    return vjp


def _conjugated(g):
    return conj(g) if g is not None and dt.of(g).is_complex else g


def like(v, m):
    """Return real numbers in the dtype of a matrix that may be complex."""
    return ew.in_dtype(v, dt.of(m))


def real_part(x):
    """Return x's shape with the dtype of its real part."""
    return x.with_dtype(PARTS.get(x.dtype, x.dtype))


def as_row(v):
    """Return a batch of vectors as rows, which scale columns."""
    return reshape(v, shape=(*v.shape[:-1], 1, v.shape[-1]))


def scaled_columns(m, v):
    """Scale each column of m by its element of v."""
    return ew.mul(m, expand(as_row(like(v, m)), shape=m.shape))


def symmetric(x):
    """Return the Hermitian part (x + x^H) / 2."""
    return ew.mul(ew.add(x, adjoint(x)), 0.5)


def diag(v):
    """Return a batch of vectors as diagonal matrices."""
    n = len(v.shape)
    return diagonal_scatter(v, shape=(*v.shape, v.shape[-1]), offset=0, dim1=n - 1, dim2=n)


def gaps_of(v):
    """Return v[j] - v[i], infinite on the diagonal, so that quotients vanish there."""
    shape = (*v.shape, v.shape[-1])
    gap = ew.sub(expand(as_row(v), shape=shape), expand(reshape(v, shape=(*v.shape, 1)), shape=shape))
    rows = iota(gap, shape=shape, dim=len(shape) - 2, dtype=dt.int64)
    cols = iota(gap, shape=shape, dim=len(shape) - 1, dtype=dt.int64)
    return ew.where(ew.eq(rows, cols), math.inf, gap)


def over_gaps(m, gaps):
    """Return m / gaps, with 0 / 0 = 0: a direction that does not rotate vectors may have equal values."""
    nothing = ew.logical_and(ew.eq(m, 0.0), ew.eq(gaps, 0.0))
    return ew.where(nothing, 0.0, ew.div(m, ew.where(nothing, 1.0, gaps)))


def filled(g, outs) -> list:
    """Return the gradients of several results, with zeros for the missing ones."""
    return [full(o, shape=tuple(o.shape), value=0, dtype=dt.of(o)) if x is None else x for x, o in zip(g, outs)]


# Solving and inverting.


def _solve_a(g, out, a, b):
    return ew.neg(matmul(solve(transpose_last(a), g), transpose_last(out)))


solve = op("solve", infer=of_system("solve"), ref=lapack("solve", np.linalg.solve),
           vjp=(_solve_a, lambda g, out, a, b: solve(transpose_last(a), g)), lower=Host(),
           batch=LEADING, traits=("refuses",), doc="x with a @ x = b.")


def _inv_vjp(g, out, x):
    back = transpose_last(out)
    return ew.neg(matmul(matmul(back, g), back))


inv = op("inv", infer=of_matrix("inv"), ref=lapack("inv", np.linalg.inv), vjp=(_inv_vjp,), lower=Host(),
         batch=LEADING, traits=("refuses",), doc="The inverse.")


def pinv_gradient(g, out, x):
    """Return the gradient of x from that of its pseudo-inverse: transposed -P dA P + P P' dA' (I - A P) + (I - P A) dA' P'
    P."""
    p, gt, pt = out, adjoint(g), adjoint(out)
    direct = matmul(matmul(pt, g), pt)
    left = matmul(gt, matmul(p, pt))
    left = ew.sub(left, matmul(x, matmul(p, left)))
    right = matmul(matmul(pt, p), gt)
    right = ew.sub(right, matmul(matmul(right, p), x))
    return ew.add(ew.sub(left, direct), right)


def _pinv(x, *, rcond):
    if 0 in x.shape:
        return np.zeros(x.shape[:-2] + (x.shape[-1], x.shape[-2]), x.dtype)
    refuse_infinite(x)
    return np.linalg.pinv(x, rcond=rcond).astype(x.dtype, copy=False)


def _turned(x, *, rcond):
    check_number(rcond, "pinv: rcond", 0)
    return x.with_shape(x.shape[:-2] + (x.shape[-1], x.shape[-2]))


pinv = op("pinv", infer=of_matrix("pinv", _turned, False),
          ref=lapack("pinv", _pinv), vjp=textbook(lambda g, out, x, *, rcond, needs: (pinv_gradient(g, out, x),)), saves=(0, 1),
          lower=Host(), batch=LEADING, numbers=("rcond",), traits=("refuses",),
          doc="The pseudo-inverse; singular values below rcond times the largest count as 0.")


def _infer_pinv_above(x, atol, rtol):
    for bound in (atol, rtol):
        if bound.shape != x.shape[:-2] or bound.dtype is not real_part(x).dtype:
            raise ShapeError(f"pinv_above takes one real bound for each matrix, got {x} and {bound}")
    return pinv.infer(x, rcond=0.0)


def _pinv_above(x, atol, rtol):
    if 0 in x.shape:
        return _pinv(x, rcond=0.0)
    u, s, vh = singular(x)
    large = s > np.maximum(atol[..., None], rtol[..., None] * s[..., :1])
    inverse = np.where(large, 1 / np.where(large, s, 1), 0).astype(s.dtype)
    return np.swapaxes(vh, -1, -2).conj() @ (inverse[..., None] * np.swapaxes(u, -1, -2).conj())


pinv_above = op("pinv_above", infer=_infer_pinv_above, ref=lapack("pinv", _pinv_above), saves=(0, 1), lower=Host(),
                vjp=textbook(lambda g, out, x, atol, rtol, *, needs: (pinv_gradient(g, out, x), None, None)), batch=LEADING,
                traits=("refuses",),
                doc="The pseudo-inverse; singular values up to atol or rtol times the largest are 0, for each matrix.")

def _infer_lstsq(a, b, *, rcond):
    check_matrix("lstsq", a, square=False)
    check_number(rcond, "lstsq: rcond", 0)
    if a.dtype is not b.dtype or b.ndim != a.ndim or b.shape[:-1] != a.shape[:-1]:
        raise ShapeError(f"lstsq takes matrices and right-hand sides with as many rows, got {a} and {b}")
    rank = a.with_shape(a.shape[:-2]).with_dtype(dt.int64)
    return b.with_shape((*b.shape[:-2], a.shape[-1], b.shape[-1])), rank


def _lstsq(a, b, *, rcond):
    """Solve by singular values, of which those up to rcond times the largest count as 0."""
    if 0 in a.shape:
        return np.zeros((*b.shape[:-2], a.shape[-1], b.shape[-1]), b.dtype), np.zeros(a.shape[:-2], np.int64)
    u, s, vh = singular(a)
    large = s > rcond * s[..., :1]
    inverse = np.where(large, 1 / np.where(large, s, 1), 0).astype(s.dtype)
    inner = inverse[..., None] * (np.swapaxes(u, -1, -2).conj() @ b)
    return np.swapaxes(vh, -1, -2).conj() @ inner, np.count_nonzero(large, -1).astype(np.int64)


@textbook
def _lstsq_vjp(g, out, a, b, *, rcond, needs):
    """Differentiate pinv(a) @ b."""
    inverse = pinv(a, rcond=rcond)
    on_a = pinv_gradient(matmul(g, adjoint(b)), inverse, a) if needs[0] else None
    return on_a, matmul(adjoint(inverse), g)


lstsq = op("lstsq", infer=_infer_lstsq, ref=lapack("lstsq", _lstsq), vjp=_lstsq_vjp, saves=(1, 2), lower=Host(), batch=LEADING,
           numbers=("rcond",), traits=("refuses",),
           doc="The shortest x with the least |a @ x - b|, and how many singular values are above rcond times the largest.")


# Cholesky, QR.


def cholesky_gradient(g, factor):
    """Return the gradient of a Hermitian matrix from that of its factor."""
    back = adjoint(factor)
    inner = lower(matmul(back, g), 0)
    inner = ew.sub(inner, ew.mul(diag(diagonal_of(inner)), 0.5))
    half = solve_triangular(back, adjoint(inner), upper=True, unit=False)
    return symmetric(solve_triangular(back, adjoint(half), upper=True, unit=False))


def diagonal_of(x):
    """Return the diagonals of matrices."""
    n = len(x.shape)
    return diagonal(x, offset=0, dim1=n - 2, dim2=n - 1)


def positive_factor(x):
    """Return numpy's Cholesky factor L; matrices with nan are refused, which not every LAPACK does."""
    found = np.linalg.cholesky(x)
    if np.isnan(np.diagonal(found, axis1=-2, axis2=-1)).any():
        raise np.linalg.LinAlgError("Matrix is not positive definite")
    return found


cholesky = op("cholesky", infer=of_matrix("cholesky"), ref=lapack("cholesky", positive_factor), saves=(0,), lower=Host(),
              vjp=textbook(lambda g, out, x, *, needs: (cholesky_gradient(g, out),)), batch=LEADING,
              traits=("one_triangle", "refuses"),
              doc="The lower triangular L with L @ L^H = x, for Hermitian positive x, of which the lower triangle is read.")


def _solve_product(factor, b):
    """Solve with the factor, then with its adjoint."""
    below = solve_triangular(factor, b, upper=False, unit=False)
    return solve_triangular(adjoint(factor), below, upper=True, unit=False)


def _solve_product_reference(factor, b):
    below = substituted(factor, b)
    return substituted(np.swapaxes(factor, -1, -2).conj(), below, upper=True)


@textbook
def _cholesky_solve_vjp(g, out, factor, b, *, needs):
    """Differentiate the inverse of factor @ factor^H, in all elements of the factor."""
    on_b = cholesky_solve(factor, g)
    if not needs[0]:
        return None, on_b
    on_product = matmul(on_b, adjoint(out))
    return ew.neg(matmul(ew.add(on_product, adjoint(on_product)), factor)), on_b


cholesky_solve = op("cholesky_solve", infer=of_system("cholesky_solve"), ref=_solve_product_reference, vjp=_cholesky_solve_vjp,
                    saves=(0, 1), lower=Composite(_solve_product), batch=LEADING, traits=("ref_first", "triangular_factor"),
                    doc="x with factor @ factor^H @ x = b, for a factor of which the lower triangle is read.")


def _infer_qr(x, *, complete):
    check_matrix("qr", x, square=False)
    check_flag(complete, "qr: complete")
    m, n = x.shape[-2:]
    k = m if complete else min(m, n)
    return x.with_shape((*x.shape[:-2], m, k)), x.with_shape((*x.shape[:-2], k, n))


def _qr_square(gq, gr, q, r):
    """Return the gradient where r is square: q * copy of the lower triangle of (r gr' - gq' q), over r'."""
    m = ew.sub(matmul(r, adjoint(gr)), matmul(adjoint(gq), q))
    copied = symmetric(ew.add(lower(m, 0), adjoint(lower(m, -1))))
    inner = ew.add(gq, matmul(q, copied))
    return adjoint(solve_triangular(r, adjoint(inner), upper=True, unit=False))


def _rows(x, start, stop):
    return slice_(x, dim=len(x.shape) - 2, start=start, stop=stop, step=1)


def _columns(x, start, stop):
    return slice_(x, dim=len(x.shape) - 1, start=start, stop=stop, step=1)


@textbook
def _qr_vjp(g, out, x, *, complete, needs):
    (gq, gr), (q, r) = g, out
    m, n = x.shape[-2:]
    if complete and m > n:
        raise LinAlgError(f"qr in mode 'complete' of {m} rows and {n} columns has no gradient; use mode='reduced'")
    if m >= n:
        return (_qr_square(gq, gr, q, r),)
    wide = _columns(gr, m, n)
    gq = ew.add(gq, matmul(_columns(x, m, n), adjoint(wide)))
    left = _qr_square(gq, _columns(gr, 0, m), q, _columns(r, 0, m))
    return (cat(left, matmul(q, wide), dim=len(x.shape) - 1),)


def _qr(x, *, complete):
    return tuple(np.linalg.qr(x, "complete" if complete else "reduced"))


qr = op("qr", infer=_infer_qr, ref=lapack("qr", _qr),
        vjp=_qr_vjp, saves=(0, 1), lower=Host(), batch=LEADING, doc="An orthogonal Q and an upper triangular R with Q @ R = x.")

# Singular values and eigenvalues.


def _infer_svd(x, *, full):
    check_matrix("svd", x, square=False)
    check_flag(full, "svd: full")
    m, n = x.shape[-2:]
    k, lead = min(m, n), x.shape[:-2]
    values = real_part(x.with_shape((*lead, k)))
    return x.with_shape((*lead, m, m if full else k)), values, x.with_shape((*lead, n if full else k, n))


@textbook
def _svd_vjp(g, out, x, *, full, needs):
    u, s, vh = out
    (m, n), count = x.shape[-2:], s.shape[-1]
    if g[0] is None and g[2] is None:
        return (matmul(scaled_columns(_columns(u, 0, count), like(g[1], u)), _rows(vh, 0, count)),)
    if full and m != n:
        if g[0 if m > n else 2] is not None:        # of columns that any others could stand for
            raise LinAlgError(f"svd with full_matrices=True has no gradient of {'U' if m > n else 'Vh'} for matrices of "
                              f"{m} x {n}: use full_matrices=False")
        u, vh = _columns(u, 0, count), _rows(vh, 0, count)
    gu, gs, gvh = filled(g, (u, s, vh))
    gaps = like(gaps_of(ew.square(s)), u)
    ut, v, gv = adjoint(u), adjoint(vh), adjoint(gvh)
    along_u = matmul(ut, gu)
    turn_u = _skew_over(along_u, gaps)
    turn_v = _skew_over(matmul(vh, gv), gaps)
    on_diagonal = like(gs, u)
    if dt.of(u).is_complex:                    # the phase that u and v share
        phase = imag(diagonal_of(along_u))
        on_diagonal = complex_(gs, over_gaps(phase, s))
    core = ew.add(scaled_columns(turn_u, s), transpose_last(scaled_columns(transpose_last(turn_v), s)))
    core = ew.add(core, diag(on_diagonal))
    total = matmul(matmul(u, core), vh)
    if m > n:
        outside = _over_columns(ew.sub(gu, matmul(u, along_u)), s)
        total = ew.add(total, matmul(outside, vh))
    if n > m:
        outside = _over_columns(ew.sub(gv, matmul(v, matmul(vh, gv))), s)
        total = ew.add(total, matmul(u, adjoint(outside)))
    return (total,)


def _skew_over(m, gaps):
    return over_gaps(ew.sub(m, adjoint(m)), gaps)


def _over_columns(m, s):
    return over_gaps(m, like(expand(as_row(s), shape=tuple(m.shape)), m))


svd = op("svd", infer=_infer_svd, ref=lapack("svd", singular),
         vjp=_svd_vjp, saves=(0,), lower=Host(), batch=LEADING, traits=("refuses", "gaps"),
         doc="U, S, Vh with U @ diag(S) @ Vh = x; S falls.")


def _svdvals_vjp(g, out, x):
    u, _, vh = svd(x, full=False)
    return matmul(scaled_columns(u, g), vh)


svdvals = op("svdvals", infer=of_matrix("svdvals", lambda x: real_part(x.with_shape((*x.shape[:-2], min(x.shape[-2:])))),
                                        square=False),
             ref=lapack("svdvals", lambda x: np.linalg.svd(x, compute_uv=False)),
             vjp=(_svdvals_vjp,), lower=Host(), batch=LEADING, traits=("refuses",), doc="The singular values, falling.")


@textbook
def _eigh_vjp(g, out, x, *, needs):
    w, v = out
    vt = adjoint(v)
    if g[1] is None:
        return (matmul(scaled_columns(v, like(g[0], v)), vt),)
    gw, gv = filled(g, out)
    core = ew.add(diag(like(gw, v)), over_gaps(matmul(vt, gv), like(gaps_of(w), v)))
    return (symmetric(matmul(matmul(v, core), vt)),)


eigh = op("eigh", infer=of_matrix("eigh", lambda x: (real_part(x.with_shape(x.shape[:-1])), x)),
          ref=lapack("eigh", lambda x: tuple(np.linalg.eigh(x))), vjp=_eigh_vjp, saves=(0,), lower=Host(),
          batch=LEADING, traits=("one_triangle", "refuses", "gaps"),
          doc="Eigenvalues, rising, and eigenvectors of a Hermitian matrix, of which the lower triangle is read.")


def _eigvalsh_vjp(g, out, x):
    _, v = eigh(x)
    return matmul(scaled_columns(v, g), adjoint(v))


eigvalsh = op("eigvalsh", infer=of_matrix("eigvalsh", lambda x: real_part(x.with_shape(x.shape[:-1]))),
              ref=lapack("eigvalsh", np.linalg.eigvalsh), vjp=(_eigvalsh_vjp,), lower=Host(),
              batch=LEADING, traits=("one_triangle", "refuses"),
              doc="Eigenvalues, rising, of a Hermitian matrix, of which the lower triangle is read.")
