"""Triangular systems and LU factorisations; the references, for which numpy has no LAPACK function, go in blocks of columns.

All of them treat a whole batch of matrices at once, and divide by zero pivots, too (`info` names them).
"""

from functools import wraps
from math import prod

import numpy as np

from ... import dtype as dt
from ...errors import ArgumentError, DTypeError, LinAlgError, ShapeError
from ...opdef.batch_rules import LEADING
from ...opdef.op import NO_GRAD, Host, op
from ...opdef.param_checks import check_flag, check_int, check_sizes
from ...process_state import ignore_float_errors
from ...symbols.symbolic import hint
from ..core import elementwise as ew
from ..core.shape import cat, full, iota, slice_
from .matrix_rules import adjoint, check_matrix, lower
from .products import matmul, transpose_last

_BLOCK = 32        # columns that are worked on one by one before the rest takes them in as a matrix product


def flipped(x):
    """Return the elements of matrices on the other side of the diagonal."""
    return np.swapaxes(x, -1, -2)


def check_system(name, a, b):
    """Raise unless b has right-hand sides for each of the square matrices a."""
    check_matrix(name, a)
    if a.dtype is not b.dtype or b.ndim != a.ndim or b.shape[:-1] != a.shape[:-1]:
        raise ShapeError(f"{name} takes square matrices and right-hand sides with as many rows, got {a} and {b}")


def of_system(name, gives=lambda a, b: b):
    """Return the shape rule of a solution; `gives` maps the matrices and right-hand sides to the results."""
    @wraps(gives)
    def infer(a, b, **params):
        check_system(name, a, b)
        return gives(a, b, **params)

    return infer


# Triangular systems.


def _substitute(a, x, rows, unit):
    """Solve one diagonal block in x, row after row."""
    for k, i in enumerate(rows):
        done = rows[:k]
        if k:
            x[..., i, :] -= (a[..., i, done][..., None, :] @ x[..., done, :])[..., 0, :]
        if not unit:
            x[..., i, :] /= a[..., i, i][..., None]


@ignore_float_errors
def substituted(a, b, upper=False, unit=False):
    """Return the solution of triangular systems."""
    x, n = np.array(b), a.shape[-1]
    starts = range(0, n, _BLOCK)
    for start in reversed(starts) if upper else starts:
        stop = min(start + _BLOCK, n)
        rows = np.arange(start, stop)[:: -1 if upper else 1]
        _substitute(a, x, rows, unit)
        rest = slice(0, start) if upper else slice(stop, n)
        x[..., rest, :] -= a[..., rest, start:stop] @ x[..., start:stop, :]
    return x


def triangle(x, upper, offset=0):
    """Return one side of the diagonal of x, from diagonal `offset` on, and zeros elsewhere."""
    return transpose_last(lower(transpose_last(x), -offset)) if upper else lower(x, offset)


def _triangular_a(g, out, a, b, *, upper, unit):
    back = solve_triangular(transpose_last(a), g, upper=not upper, unit=unit)
    off = (1 if upper else -1) if unit else 0
    return ew.neg(triangle(matmul(back, transpose_last(out)), upper, off))


def _solution(a, b, *, upper, unit):
    check_flag(upper, "solve_triangular: upper")
    check_flag(unit, "solve_triangular: unit")
    return b


solve_triangular = op("solve_triangular", infer=of_system("solve_triangular", _solution),
                      ref=lambda a, b, *, upper, unit: substituted(a, b, upper, unit),
                      vjp=(_triangular_a, lambda g, out, a, b, *, upper, unit:
                           solve_triangular(transpose_last(a), g, upper=not upper, unit=unit)), lower=Host(), batch=LEADING,
                      doc="x with a @ x = b, reading one triangle of a only; its diagonal counts as ones if `unit`.")

# LU.

ZERO_PIVOT = "U[{0},{0}] is zero, so the factors solve no systems; lu() and lu_factor_ex() give them"


def size_of(x):
    """Return the magnitude that LAPACK compares when it selects a pivot."""
    return np.abs(x.real) + np.abs(x.imag) if x.dtype.kind == "c" else np.abs(x)


def _swap(lu, i, j):
    at = np.arange(lu.shape[0])
    own = lu[:, i].copy()
    lu[:, i] = lu[at, j]
    lu[at, j] = own


def _eliminate(lu, start, stop, pivots, info):
    """Factor the columns from start to stop, and exchange whole rows."""
    for k in range(start, min(stop, lu.shape[1])):
        if pivots is not None:
            chosen = k + np.argmax(size_of(lu[:, k:, k]), axis=1)
            pivots[:, k] = chosen + 1
            _swap(lu, k, chosen)
        pivot = lu[:, k, k]
        info[(info == 0) & (pivot == 0)] = k + 1
        lu[:, k + 1:, k] /= np.where(pivot == 0, 1, pivot)[:, None]
        lu[:, k + 1:, k + 1:stop] -= lu[:, k + 1:, k, None] * lu[:, k, None, k + 1:stop]


@ignore_float_errors
def lu_of(x, pivot=True):
    """Return (L below and U on and above the diagonal, pivots from 1, first zero on the diagonal of U from 1, or 0)."""
    *lead, m, n = x.shape
    lu, k = np.array(x.reshape(prod(lead), m, n)), min(m, n)
    pivots = np.tile(np.arange(1, k + 1, dtype=np.int32), (len(lu), 1))
    info = np.zeros(len(lu), np.int32)
    for start in range(0, k, _BLOCK):
        stop = min(start + _BLOCK, k)
        _eliminate(lu, start, stop, pivots if pivot else None, info)
        lu[:, start:stop, stop:] = substituted(lu[:, start:stop, start:stop], lu[:, start:stop, stop:], unit=True)
        lu[:, stop:, stop:] -= lu[:, stop:, start:stop] @ lu[:, start:stop, stop:]
    return lu.reshape(x.shape), pivots.reshape((*lead, k)), info.reshape(lead)


def require_info(name, info, what):
    """Raise for the first matrix of a batch that could not be factored."""
    bad = np.argwhere(info > 0)
    if len(bad):
        at = tuple(bad[0].tolist())
        where = f"matrix {', '.join(map(str, at))} of the batch: " if at else ""
        raise LinAlgError(f"{name}: {where}{what.format(int(info[at]))}")


def _infer_lu(x, *, pivot, check):
    check_matrix("lu_factor", x, square=False)
    check_flag(pivot, "lu_factor: pivot")
    check_flag(check, "lu_factor: check")
    *lead, m, n = x.shape
    return x, x.with_shape((*lead, min(m, n))).with_dtype(dt.int32), x.with_shape(tuple(lead)).with_dtype(dt.int32)


def _lu(x, *, pivot, check):
    found = lu_of(x, pivot)
    if check:
        require_info("lu_factor", found[2], ZERO_PIVOT)
    return found


def _part(x, rows, cols):
    n = len(x.shape)
    return slice_(slice_(x, dim=n - 2, start=rows[0], stop=rows[1], step=1), dim=n - 1, start=cols[0], stop=cols[1], step=1)


def _square_lu(g, lu):
    """Return the gradient of a permuted square matrix: L^-T (lower(L' g) + upper(g U')) U^-T."""
    left = lower(matmul(transpose_last(triangle_unit(lu)), lower(g, -1)), -1)
    right = triangle(matmul(triangle(g, True), transpose_last(triangle(lu, True))), True)
    return _between(lu, ew.add(left, right))


def triangle_unit(lu):
    """Return the unit lower factor L of a packed square LU."""
    n = len(lu.shape)
    rows, cols = (iota(lu, shape=tuple(lu.shape), dim=d, dtype=dt.int64) for d in (n - 2, n - 1))
    return ew.where(ew.eq(rows, cols), 1.0, lower(lu, -1))


def _between(lu, inner):
    """Return L^-T inner U^-T."""
    lt, ut = transpose_last(lu), transpose_last(triangle(lu, True))
    from_left = solve_triangular(lt, inner, upper=True, unit=True)
    return transpose_last(solve_triangular(transpose_last(ut), transpose_last(from_left), upper=True, unit=False))


def _lu_vjp(g, out, x, *, pivot, check, needs):
    """For PA = LU with A not square, the rest of L or U is a function of the square part and of A's rest."""
    lu, pivots, _ = out
    *_, m, n = x.shape
    k = min(m, n)
    head, g_head = _part(lu, (0, k), (0, k)), _part(g, (0, k), (0, k))
    if m > n:          # L2 = A2 / U
        g_tail = _part(g, (k, m), (0, k))
        u = triangle(head, True)
        tail = transpose_last(solve_triangular(u, transpose_last(g_tail), upper=True, unit=False))
        g_head = ew.sub(g_head, triangle(matmul(transpose_last(_part(lu, (k, m), (0, k))), tail), True))
        permuted = cat(_square_lu(g_head, head), tail, dim=len(x.shape) - 2)
    elif n > m:        # U2 = L \\ A2
        g_tail = _part(g, (0, k), (k, n))
        tail = solve_triangular(transpose_last(head), g_tail, upper=True, unit=True)
        g_head = ew.sub(g_head, lower(matmul(tail, transpose_last(_part(lu, (0, k), (k, n)))), -1))
        permuted = cat(_square_lu(g_head, head), tail, dim=len(x.shape) - 1)
    else:
        permuted = _square_lu(g_head, head)
    return (matmul(permutation(pivots, full(permuted, shape=(), value=0.0, dtype=dt.of(permuted)), rows=m), permuted),)


lu_factor = op("lu_factor", infer=_infer_lu, ref=_lu, vjp=_lu_vjp, saves=(0,), lower=Host(), batch=LEADING,
               traits=("refuses",),
               doc="L and U with P @ L @ U = x in one matrix, the exchanged rows that say P, the first zero on U's diagonal.")


def order_of(pivots, rows):
    """Return the permutation that a batch's pivots make."""
    flat = pivots.reshape(prod(pivots.shape[:-1]), pivots.shape[-1])
    if len(flat) < _MANY:
        return np.array([_exchanged(rows, one) for one in flat.tolist()], np.int64).reshape(*pivots.shape[:-1], rows)
    order = np.tile(np.arange(rows), (len(flat), 1))[:, :, None]
    for k in range(flat.shape[1]):
        _swap(order, k, flat[:, k].astype(np.int64) - 1)
    return order[:, :, 0].reshape(*pivots.shape[:-1], rows)


_MANY = 64              # matrices of which each exchange is better done at once than one after the other


def _exchanged(rows, pivots) -> list:
    order = list(range(rows))
    for k, pivot in enumerate(pivots):
        order[k], order[pivot - 1] = order[pivot - 1], order[k]
    return order


def _infer_permutation(pivots, like, *, rows):
    if not pivots.dtype.is_integer or not pivots.ndim:
        raise DTypeError(f"lu_unpack takes the pivots of lu_factor, integers, got {pivots}")
    if check_int(rows, "lu_unpack: rows") < hint(pivots.shape[-1]):
        raise ArgumentError(f"lu_unpack: {pivots.shape[-1]} pivots for {rows} rows")
    shape = (*pivots.shape[:-1], rows, rows)
    check_sizes(shape, f"lu_unpack of {pivots}: shape")
    return like.with_shape(shape)


def _permutation(pivots, like, *, rows):
    if pivots.size and (pivots.min() < 1 or pivots.max() > rows):
        raise ArgumentError(f"pivots are rows from 1 to {rows}, got {pivots.min()} to {pivots.max()}")
    return (np.arange(rows)[:, None] == order_of(pivots, rows)[..., None, :]).astype(like.dtype)


permutation = op("permutation", infer=_infer_permutation, ref=_permutation, vjp=NO_GRAD, lower=Host(),
                 traits=("refuses",),
                 doc="The matrix P of the exchanged rows that lu_factor gives, in the dtype of a second argument.")


def solve_lu(lu, pivots, b, adjoint_system=False):
    """Solve A @ x = b with the factors of A, or the adjoint system."""
    p = permutation(pivots, full(b, shape=(), value=0.0, dtype=dt.of(b)), rows=lu.shape[-1])
    if not adjoint_system:
        x = solve_triangular(lu, matmul(transpose_last(p), b), upper=False, unit=True)
        return solve_triangular(lu, x, upper=True, unit=False)
    back = adjoint(lu)
    x = solve_triangular(back, b, upper=False, unit=False)
    return matmul(p, solve_triangular(back, x, upper=True, unit=True))
