"""Matrices of a few rows on a device, one per lane: eigenvectors, singular vectors, solutions and factors.

`lu.py` and `cholesky.py` use the last two. Larger eigenproblems run on the host.
"""

import math

import numpy as np

from .....ir import dtype as dt
from .....ir.ops.core import elementwise as ew
from .....ir.ops.core.reduce import amax
from .....ir.ops.core.shape import expand, reshape
from .....ir.ops.linalg import factorizations
from .....ir.ops.linalg.products import matmul, transpose_last
from .....passes.codegen.triton.linalg import small_matrices as text
from ....core.device_array import DeviceArray
from ...compiler.kernels import launch
from ...graph.eager import composed, contiguous
from ...memory.arrays import empty
from .linalg_errors import require
from .triangular import takes as takes_reals

_INFO, _BLOCK = np.dtype(np.int32), 64


def takes(*arrays) -> bool:
    """Return whether these matrices are small enough."""
    return takes_reals(*arrays) and all(a.size and max(a.shape[-2:]) <= text.MOST for a in arrays)


def run(routine: str, operands, results) -> list:
    """Run a routine on each matrix of a batch; `results` are (shape of one, dtype)."""
    lead, kind, device = operands[0].shape[:-2], dt.from_numpy(operands[0].dtype), operands[0].device
    given = [contiguous(a) for a in operands]
    outs = [empty(device, (*lead, *shape), dtype) for shape, dtype in results]
    count = math.prod(lead)
    how = (("BLOCK", _BLOCK),), _BLOCK // 32, (-(-count // _BLOCK), 1, 1)
    source = text.source(routine, kind, tuple([tuple(a.shape[-2:]) for a in operands]))
    launch(device, source, (*given, *outs), {"N": count}, how)
    return outs


def solved(a, b=None) -> tuple:
    """Return (x with a @ x = b, or the inverse; the first zero pivot of each matrix)."""
    routine, given = ("inv", (a,)) if b is None else ("solve", (a, b))
    return tuple(run(routine, given, [(given[-1].shape[-2:], a.dtype), ((), _INFO)]))


def positive(x) -> tuple:
    """Return (L, the order of the first minor that is not positive definite, or 0)."""
    return tuple(run("cholesky", [x], [(x.shape[-2:], x.dtype), ((), _INFO)]))


def det(x) -> DeviceArray:
    """Return the determinant."""
    return run("det", [x], [((), x.dtype)])[0]


def slogdet(x) -> tuple:
    """Return (sign, logarithm of the absolute value) of the determinant."""
    return tuple(run("slogdet", [x], [((), x.dtype)] * 2))


def _decomposed(routine, x, shapes, shape) -> list:
    """Run a decomposition with results of these shapes; raise if it did not converge for an operand of `shape`."""
    *results, info = run(routine, [x], [*[(each, x.dtype) for each in shapes], ((), _INFO)])
    name = routine.removesuffix("_full")
    require(info, name, shape, "SVD did not converge" if name[:3] == "svd" else "Eigenvalues did not converge")
    return results


def eigh(inputs, params, device):
    """Return eigenvalues and eigenvectors."""
    x, = inputs
    return tuple(_decomposed("eigh", x, [x.shape[-1:], x.shape[-2:]], x.shape)) if takes(x) else NotImplemented


def eigvalsh(inputs, params, device):
    """Return eigenvalues."""
    x, = inputs
    return _decomposed("eigvalsh", x, [x.shape[-1:]], x.shape)[0] if takes(x) else NotImplemented


def svd(inputs, params, device):
    """Return singular vectors and values."""
    x, = inputs
    return _svd(x, params["full"]) if takes(x) else NotImplemented


def svdvals(inputs, params, device):
    """Return singular values."""
    x, = inputs
    if not takes(x):
        return NotImplemented
    tall = x if x.shape[-2] >= x.shape[-1] else _transpose(x)
    return _decomposed("svdvals", tall, [tall.shape[-1:]], x.shape)[0]


def _transposed(x):
    return (transpose_last(x),)


def _transpose(x) -> DeviceArray:
    return composed(_transposed, (x,), {}, x.device)[0]


def _svd(x, full) -> tuple:
    m, n = x.shape[-2:]
    if m < n:
        u, values, vh = _svd(_transpose(x), full)
        return _transpose(vh), values, _transpose(u)
    routine, side = ("svd_full", m) if full and m > n else ("svd", n)
    return tuple(_decomposed(routine, x, [(m, side), (n,), (n, n)], x.shape))


def _inverse(u, values, vh, *, rcond):
    """Return the product of V, the inverse singular values above the threshold, and U transposed."""
    last = len(values.shape) - 1
    top = expand(amax(values, dim=(last,), keepdim=True), shape=tuple(values.shape))
    counted = ew.gt(values, ew.mul(top, rcond))
    weights = ew.where(counted, ew.div(1.0, ew.where(counted, values, 1.0)), 0.0)
    v = transpose_last(vh)
    weights = expand(reshape(weights, shape=(*values.shape[:-1], 1, values.shape[-1])), shape=tuple(v.shape))
    return (matmul(ew.mul(v, weights), transpose_last(u)),)


def pinv(inputs, params, device):
    """Return the pseudo-inverse."""
    x, = inputs
    return composed(_inverse, _svd(x, False), params, device)[0] if takes(x) else NotImplemented


OPERATORS = {factorizations.eigh: eigh, factorizations.eigvalsh: eigvalsh, factorizations.svd: svd,
             factorizations.svdvals: svdvals, factorizations.pinv: pinv}
