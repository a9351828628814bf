"""Functions of square matrices: powers and the exponential."""

import math
from functools import reduce

from ...ir import dtype as dt
from ...ir.errors import ShapeError
from ...ir.ops.core import elementwise as ew
from ...ir.ops.core import reduce as rd
from ...ir.ops.core.complex_numbers import magnitude
from ...ir.ops.core.shape import iota
from ...ir.ops.linalg import factorizations as fa
from ...ir.ops.linalg import products as la
from ..api.register.register import FUNCTIONS, deliver
from ..api.register.type_promotion import rounds_once, unpromoted_in_autocast
from ..core.dispatch import of_every_sample


def _identity_like(A):
    rows, cols = (iota(A, shape=tuple(A.shape), dim=A.ndim - k, dtype=dt.int64) for k in (2, 1))
    return ew.cast(ew.eq(rows, cols), dtype=A.dtype)


def matrix_power(A, n, *, out=None):
    """Return an integer power of A; a negative power is one of the inverse."""
    if A.ndim < 2 or A.shape[-1] != A.shape[-2]:
        raise ShapeError(f"matrix_power takes square matrices, got {A.aval}")
    base = fa.inv(A) if n < 0 else A
    result, n = None, abs(n)
    while n:
        if n & 1:
            result = base if result is None else la.matmul(result, base)
        n >>= 1
        if n:
            base = la.matmul(base, base)
    return deliver(_identity_like(A) if result is None else ew.copy(result) if result is A else result, out, "matrix_power")


def _halvings_of(size, near: float) -> int:
    """Return how many halvings bring the log of a tensor's largest number to `near`; 0 for infinity and nan. Traces read this
    number, in which few matrices differ."""
    top = rd.amax(size, dim=tuple(range(size.ndim)), keepdim=False)
    return FUNCTIONS["log2"](top).sub(near).ceil().nan_to_num(0.0, 0.0, 0.0).clamp(0.0).to(dt.int64).item()


# Taylor polynomial of degree 18 of exp in five products (Bader, Blanes and Casas). With A9 = B1 B5 + B4 it is B2 + (B3 + A9)
# A9, where each B is a sum of multiples of 1, A, A^2, A^3 and A^6. The numbers are one solution of: the coefficient of A^k is
# 1 / k!.
_PARTS_OF_EXP = (
    (0.0, -0.1003655810301446200146, -0.008029246482411569601169, -0.0008921384980457299556855, 0.0),
    (0.0, 0.3978497494996450761452, 1.367837784604117199225, 0.4982896225253826775569, -0.0006378981945947233092416),
    (-10.96763960529620625935, 1.680158138789061971828, 0.05717798464788655127029, -0.006982101224880520842905,
     0.00003349750170860705383134),
    (-0.09043168323908105619715, -0.06764045190713819075601, 0.06759613017704596460828, 0.02955525704293155274261,
     -0.00001391802575160607011247),
    (0.0, 0.0, -0.09233646193671185927646, -0.01693649390020817171914, -0.00001400867981820361597944),
)


@unpromoted_in_autocast
@rounds_once
def matrix_exp(A):
    """Return the exponential of a matrix, by its series after halving, squared back; float16 and bfloat16 are rounded once."""
    fa.check_matrix("matrix_exp", A.aval)
    if A.shape[-1] < 2:
        return ew.exp(A)
    column = {"dim": (A.ndim - 2,), "keepdim": False}
    size = rd.amax(rd.sum_(magnitude(A.detach()), **column), **column)  # the norm of order 1
    near = math.log2(1.09 if A.dtype in (dt.float64, dt.complex128) else 3.01)  # up to here the series is as exact as the dtype
    halvings = of_every_sample(_halvings_of, size, near) if size.numel() else 0
    if not halvings or not size.ndim:
        return _squared(_series_of_exp(ew.mul(A, 0.5 ** halvings)), halvings)
    most = FUNCTIONS["log2"](size).sub(near).ceil().clamp(0, halvings).to(dt.int64)     # each matrix of a batch has its own
    powers = FUNCTIONS["tensor"]([0.5 ** n for n in range(halvings + 1)], dtype=size.dtype, device=A.device)
    return _squared(_series_of_exp(A * powers[most][..., None, None]), halvings, most)


def _series_of_exp(A):
    second = la.matmul(A, A)
    third = la.matmul(second, A)
    powers = (_identity_like(A), A, second, third, la.matmul(third, third))
    first, *rest = [_combined(factors, powers) for factors in _PARTS_OF_EXP]
    ninth = ew.add(la.matmul(first, rest[3]), rest[2])
    return ew.add(rest[0], la.matmul(ew.add(rest[1], ninth), ninth))


def _combined(factors, powers):
    """Return a sum of multiples."""
    parts = [ew.mul(p, factor) for p, factor in zip(powers, factors) if factor]
    return reduce(ew.add, parts)


def _squared(total, times, own=None):
    """Square a matrix so many times, or each of a batch as many times as it needs."""
    for n in range(times):
        square = la.matmul(total, total)
        total = square if own is None else FUNCTIONS["where"]((own > n)[..., None, None], square, total)
    return total
