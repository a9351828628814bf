"""LU factors with partial pivoting on a device; solutions, inverses and determinants from them.

Small matrices take one launch. Larger ones go panel by panel, four launches each: the panel's columns, the row exchanges of the
other columns, the panel's rows, and the rest.
"""

import numpy as np

from .....ir import dtype as dt
from .....ir.ops.core import elementwise as ew
from .....ir.ops.core.reduce import amax, prod, sum_
from .....ir.ops.core.shape import expand, iota, reshape
from .....ir.ops.linalg import checked_factorizations, determinant, factorizations
from .....ir.ops.linalg import triangular as systems
from .....ir.ops.linalg.products import transpose_last
from .....ir.symbols.symbolic import power_of_two
from .....passes.codegen.triton.linalg import lu as text
from ....core.device_array import DeviceArray
from ...compiler.flat_launches import check_values
from ...compiler.kernels import launch
from ...graph.eager import composed, copied, run
from ...memory.arrays import empty, fill
from ...replay import launch_cache
from . import small_matrices
from .linalg_errors import checking, raising, require_info
from .triangular import Matrices, as_matrices, solve_block, solve_in_place, take_off, takes

_SINGULAR = "Singular matrix"
_COLUMNS = 64        # columns of a program that exchanges rows


# Factors.


def factored(x: DeviceArray) -> tuple:
    """Return (L and U in one matrix, exchanged rows from 1, the first zero of U's diagonal from 1, or 0)."""
    return launch_cache.run(factored, (x,), {}, x.device, _factored)


def _factored(call, inputs, params, device):
    x, = inputs
    *lead, m, n = x.shape
    pivots, info = empty(device, (*lead, min(m, n)), np.int32), empty(device, lead, np.int32)
    if m <= text.WHOLE and n <= text.WHOLE:
        out = empty(device, x.shape, x.dtype)
        _held(as_matrices(x), as_matrices(out), pivots, info, None)
        return out, pivots, info
    out = copied(x)
    _in_panels(as_matrices(out), pivots, info)
    return out, pivots, info


def _in_panels(a: Matrices, pivots, info):
    fill(info, 0)
    m, n, k = a.rows, a.columns, min(a.rows, a.columns)
    for start in range(0, k, text.PANEL):
        stop = min(start + text.PANEL, k)
        panel = a.part((start, m), (start, stop))
        if power_of_two(panel.rows) * power_of_two(panel.columns) <= text.HELD[a.kind]:
            _held(panel, panel, pivots, info, start)
        else:
            how = (("BM", text.TALL[a.kind]), ("BN", text.PANEL)), 8, (a.count, 1, 1)
            launch(info.device, text.tall(a.kind), (panel.start, pivots, info), _sizes(panel, pivots, start) | panel.sizes("a"),
                   how)
        if n > stop - start:
            exchange(a, pivots, (start, stop), (start, stop))
        if stop < n:
            right = a.part((start, stop), (stop, n))
            solve_block(a.part((start, stop), (start, stop)), right, False, True)
            if stop < m:
                take_off(a.part((stop, m), (start, stop)), right, a.part((stop, m), (stop, n)))


def _sizes(a: Matrices, pivots, start) -> dict:
    return {"M": a.rows, "N": a.columns, "K": pivots.shape[-1], "start": start}


def _held(x: Matrices, out: Matrices, pivots, info, start):
    """Factor a matrix, or a panel from `start` on, in place."""
    sizes = _sizes(x, pivots, start or 0) | x.sizes("x") | out.sizes("out")
    how = *text.tile(x.kind, x.rows, x.columns), (x.count, 1, 1)
    launch(info.device, text.held(x.kind, start is None), (x.start, out.start, pivots, info), sizes, how)


def exchange(x: Matrices, pivots, steps, but=(0, 0)):
    """Exchange rows by some of the pivots, in order; not in the columns `but`."""
    first, last = steps
    across = power_of_two(min(_COLUMNS, x.columns))
    sizes = {"N": last - first, "K": pivots.shape[-1], "C": x.columns, "start": first, "low": but[0], "high": but[1]}
    how = (("BN", power_of_two(last - first)), ("BC", across)), 4, (-(-x.columns // across) * x.count, 1, 1)
    launch(pivots.device, text.exchanged(x.array.itemsize), (x.start, pivots), sizes | x.sizes("x"), how)


def exchange_all(x: Matrices, pivots):
    """Exchange rows by all pivots."""
    steps = pivots.shape[-1]
    for first in range(0, steps, text.EXCHANGED):
        exchange(x, pivots, (first, min(first + text.EXCHANGED, steps)))


def lu_factor(inputs, params, device):
    """Return the factors; raise if U has a zero."""
    if not (params["pivot"] and takes(*inputs)):
        return NotImplemented
    found = factored(inputs[0])
    if params["check"]:
        require_info("lu_factor", found[2], systems.ZERO_PIVOT)
    return found


def permutation(inputs, params, device):
    """Return the permutation matrix P."""
    pivots, like = inputs
    rows = params["rows"]
    if not isinstance(pivots, DeviceArray) or not pivots.size:
        return NotImplemented
    kind = dt.from_numpy(like.dtype)
    known, wrong = composed(_judged_pivots, (pivots,), {"rows": rows}, device)
    check_values(wrong, "fault", "lu_unpack")
    at = empty(device, (*pivots.shape[:-1], rows, rows), kind.to_real().np)
    made = identity(at)
    exchange_all(as_matrices(made).transposed, known)
    return run(ew.cast, (made,), {"dtype": kind}, device) if kind.is_complex else made


def _judged_pivots(pivots, *, rows):
    wide = ew.cast(pivots, dtype=dt.int32)
    known = ew.minimum(ew.maximum(wide, 1), rows)
    return known, ew.cast(ew.ne(wide, known), dtype=dt.int32)


def identity(x: DeviceArray) -> DeviceArray:
    """Return identity matrices of x's shape and dtype."""
    return composed(_identity, (x,), {}, x.device)[0]


def _identity(x):
    n, shape = len(x.shape), tuple(x.shape)
    rows, columns = (iota(x, shape=shape, dim=d, dtype=dt.int32) for d in (n - 2, n - 1))
    return (ew.cast(ew.eq(rows, columns), dtype=dt.of(x)),)


# Solutions.


def solved(a: DeviceArray, b: DeviceArray | None = None) -> tuple:
    """Return (x with a @ x = b, or the inverse without b; the first zero of U's diagonal, or 0)."""
    if small_matrices.takes(*[x for x in (a, b) if x is not None]):
        return small_matrices.solved(a, b)
    factors, pivots, info = factored(a)
    return by_factors(factors, pivots, b), info


def by_factors(factors, pivots, b: DeviceArray | None) -> DeviceArray:
    """Return the solution, or the inverse, from the factors."""
    return launch_cache.run(by_factors, (factors, pivots, b), {}, factors.device, _by_factors)


def _by_factors(call, inputs, params, device):
    factors, pivots, b = inputs
    x = identity(factors) if b is None else copied(b)
    there, a = as_matrices(x), as_matrices(factors)
    exchange_all(there, pivots)
    solve_in_place(a, there, False, True)
    solve_in_place(a, there, True, False)
    return x


_solve = raising("solve", solved, _SINGULAR)


def solve(inputs, params, device):
    """Return x with a @ x = b, or raise."""
    b = inputs[1]
    return empty(device, b.shape, b.dtype) if isinstance(b, DeviceArray) and not b.size else _solve(inputs, params, device)


# Determinants.


def _diagonal(factors, pivots):
    """Return (U's diagonals, -1 for each exchanged row and 1 for the others)."""
    stays = ew.eq(pivots, ew.add(iota(pivots, shape=tuple(pivots.shape), dim=len(pivots.shape) - 1, dtype=dt.int32), 1))
    return factorizations.diagonal_of(factors), ew.sub(ew.mul(ew.cast(stays, dtype=dt.of(factors)), 2.0), 1.0)


def _det(factors, pivots):
    values, signs = _diagonal(factors, pivots)
    return (prod(ew.mul(values, signs), dim=(len(values.shape) - 1,), keepdim=False),)


def _slogdet(factors, pivots):
    values, signs = _diagonal(factors, pivots)
    last = (len(values.shape) - 1,)
    size = sum_(ew.log(ew.abs_(values)), dim=last, keepdim=False)
    return prod(ew.mul(ew.sign(values), signs), dim=last, keepdim=False), size


def _of_factors(body, of_small):
    """Return an operator on LU factors, `body(factors, pivots)`; `of_small(x)` serves small matrices."""
    def run(inputs, params, device):
        if not takes(*inputs):
            return NotImplemented
        if small_matrices.takes(*inputs):
            return of_small(*inputs)
        found = composed(body, factored(inputs[0])[:2], {}, device)
        return found if len(found) > 1 else found[0]

    return run


def _without_zeros(factors, *, small):
    """Return the factors in float64, with tiny numbers for zeros on U's diagonal."""
    shape = tuple(factors.shape)
    last = len(shape) - 2, len(shape) - 1
    rows, columns = (iota(factors, shape=shape, dim=d, dtype=dt.int32) for d in last)
    wide = ew.cast(factors, dtype=dt.float64)
    largest = amax(ew.abs_(wide), dim=last, keepdim=True)
    tiny = expand(ew.mul(ew.where(ew.eq(largest, 0.0), 1.0, largest), small), shape=shape)
    return (ew.where(ew.eq(rows, columns), ew.where(ew.eq(wide, 0.0), tiny, wide), wide),)


def _times_size(inverse, size, *, dtype):
    size = expand(reshape(size, shape=(*size.shape, 1, 1)), shape=tuple(inverse.shape))
    return (ew.cast(ew.mul(transpose_last(inverse), size), dtype=dtype),)


_SMALL = 2.0 ** -52


def cofactor(inputs, params, device):
    """Return the inverse times the determinant, transposed; singular matrices are perturbed."""
    if not takes(*inputs):
        return NotImplemented
    x, = inputs
    factors, pivots, _ = factored(x)
    near, = composed(_without_zeros, (factors,), {"small": _SMALL}, device)
    size, = composed(_det, (near, pivots), {}, device)
    return composed(_times_size, (by_factors(near, pivots, None), size), {"dtype": dt.from_numpy(x.dtype)}, device)[0]


OPERATORS = {systems.lu_factor: lu_factor, systems.permutation: permutation, factorizations.solve: solve,
             checked_factorizations.solve_ex: checking("solve_ex", solved, checked_factorizations.ZERO_PIVOT),
             factorizations.inv: raising("inv", solved, _SINGULAR),
             checked_factorizations.inv_ex: checking("inv_ex", solved, checked_factorizations.ZERO_PIVOT),
             determinant.det: _of_factors(_det, small_matrices.det),
             determinant.slogdet: _of_factors(_slogdet, small_matrices.slogdet), determinant.cofactor: cofactor}
