"""QR factors on a device by Householder reflections, in panels of columns.

One program factors a panel of each matrix; products with the panel's joint reflection update the columns to its right.
"""

from math import prod

from .....ir import dtype as dt
from .....ir.ops.core import elementwise as ew
from .....ir.ops.core.reduce import sum_
from .....ir.ops.core.shape import iota, slice_
from .....ir.ops.linalg import factorizations, symmetric_indefinite
from .....ir.symbols.symbolic import power_of_two
from .....passes.codegen.triton.linalg import householder as text
from ....core.device_array import DeviceArray
from ...compiler import copies
from ...compiler.kernels import launch
from ...driver.driver_state import thread
from ...graph.eager import composed, contiguous, copied
from ...memory import pools, transfer
from ...memory.arrays import empty, filled
from ..products import products
from .lu import identity
from .triangular import Matrices, as_matrices, solve_in_place, take_off, takes


def reflections(x: DeviceArray) -> tuple:
    """Return (R with the vectors below, the factors tau, (first row, V, T) of each panel)."""
    *lead, m, n = x.shape
    k, count, kind = min(m, n), prod(lead), dt.from_numpy(x.dtype)
    packed, tau, panels = copied(x), empty(x.device, (*lead, k), x.dtype), []
    a = as_matrices(packed)
    for start in range(0, k, text.PANEL):
        stop = min(start + text.PANEL, k)
        panel, width = a.part((start, m), (start, stop)), stop - start
        v, t = empty(x.device, (count, m - start, width), x.dtype), empty(x.device, (count, width, width), x.dtype)
        sizes = {"M": m - start, "N": width, "K": k, "start": start}
        rows, columns = power_of_two(m - start), power_of_two(width)
        if rows * columns <= text.HELD[kind]:
            how = (("BM", rows), ("BN", columns)), text.warps(kind, rows, columns), (count, 1, 1)
            sizes |= panel.sizes("x") | panel.sizes("out")
            launch(x.device, text.held(kind), (panel.start, panel.start, tau, v, t), sizes, how)
        else:
            how = (("BM", text.TALL[kind]), ("BN", columns)), 8, (count, 1, 1)
            launch(x.device, text.tall(kind), (panel.start, tau, v, t), sizes | panel.sizes("a"), how)
        panels.append((start, v, t))
        if stop < n:
            reflect(v, _transposed(t), a.part((start, m), (stop, n)))
    return packed, tau, panels


def _transposed(x):
    return x.transpose(0, 2, 1)


def reflect(v, t, x: Matrices):
    """Update x to x - v @ t @ v^T @ x."""
    count, _, width = v.shape
    device, shape = v.device, (count, width, x.columns)
    inner, middle = empty(device, shape, v.dtype), empty(device, shape, v.dtype)
    there = x.array.look((count, x.rows, x.columns), [s * v.itemsize for s in x.strides], x.offset)
    products.multiply(_transposed(v), there, inner, device, wanted="ieee")
    products.multiply(t, inner, middle, device, wanted="ieee")
    take_off(as_matrices(v), as_matrices(middle), x)


def apply_q(panels, x: DeviceArray, is_identity=False):
    """Update x to Q @ x. For the identity, columns before a reflection's own stay unchanged."""
    there = as_matrices(x)
    for start, v, t in reversed(panels):
        reflect(v, t, there.part((start, there.rows), (start if is_identity else 0, there.columns)))


def apply_q_transposed(panels, x: DeviceArray):
    """Update x to Q^T @ x."""
    there = as_matrices(x)
    for start, v, t in panels:
        reflect(v, _transposed(t), there.part((start, there.rows), (0, there.columns)))


def _upper(x, *, rows):
    n = len(x.shape)
    x = slice_(x, dim=n - 2, start=0, stop=rows, step=1)
    row, column = (iota(x, shape=tuple(x.shape), dim=d, dtype=dt.int32) for d in (n - 2, n - 1))
    return (ew.where(ew.le(row, column), x, 0.0),)


def qr(inputs, params, device):
    """Return Q and R."""
    x, = inputs
    *lead, m, n = x.shape
    columns = m if params["complete"] else min(m, n)
    if x.size and not takes(x):
        return NotImplemented
    q = empty(device, (*lead, m, columns), x.dtype)
    if not x.size:
        return identity(q) if q.size else q, empty(device, (*lead, columns, n), x.dtype)
    packed, _, panels = reflections(x)
    q = identity(q)
    apply_q(panels, q, is_identity=True)
    return q, composed(_upper, (packed,), {"rows": columns}, device)[0]


def geqrf(inputs, params, device):
    """Return R with the vectors below, and the factors tau."""
    return reflections(inputs[0])[:2] if takes(*inputs) else NotImplemented


def _is_regular(packed, inverse, *, rcond):
    """Return whether the condition of each R is surely below 1 / rcond.

    The norms of R and its inverse bound their largest singular values.
    """
    upper, = _upper(packed, rows=packed.shape[-1])
    last = len(upper.shape) - 2, len(upper.shape) - 1
    sizes = [sum_(ew.square(ew.cast(x, dtype=dt.float64)), dim=last, keepdim=False) for x in (upper, inverse)]
    return (ew.lt(ew.mul(ew.mul(ew.sqrt(sizes[0]), ew.sqrt(sizes[1])), rcond), 1.0),)


def lstsq(inputs, params, device):
    """Return the shortest x with the least |a @ x - b| by QR, if all singular values surely count.

    Wide matrices are transposed. The host waits for that decision.
    """
    a, b = inputs
    if not takes(a, b) or pools.is_capturing() or thread.plans:
        return NotImplemented
    *lead, m, n = a.shape
    k, wide = min(m, n), m < n
    packed, _, panels = reflections(a.transpose(*range(len(lead)), len(lead) + 1, len(lead)) if wide else a)
    r, inverse = as_matrices(packed).part((0, k), (0, k)), identity(empty(device, (*lead, k, k), a.dtype))
    solve_in_place(r, as_matrices(inverse), True, False)
    regular, = composed(_is_regular, (packed, inverse), {"rcond": params["rcond"]}, device)
    if not transfer.to_host(regular).all():
        return NotImplemented
    rank = filled(device, lead, "int64", k)
    columns = (0, b.shape[-1])
    if wide:
        x = filled(device, (*lead, n, b.shape[-1]), b.dtype, 0)
        copies.write(x[..., :m, :], b)
        solve_in_place(r.transposed, as_matrices(x).part((0, k), columns), False, False)
        apply_q(panels, x)
        return x, rank
    x = copied(b)
    apply_q_transposed(panels, x)
    solve_in_place(r, as_matrices(x).part((0, k), columns), True, False)
    return contiguous(x[..., :k, :]), rank


OPERATORS = {factorizations.qr: qr, symmetric_indefinite.geqrf: geqrf, factorizations.lstsq: lstsq}
