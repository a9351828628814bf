"""Cholesky factors on a device: small matrices in one program each, larger ones in blocks of rows.

Each block takes three launches: its diagonal block, the rows below it, and the rest.
"""

import numpy as np

from .....ir.ops.linalg import checked_factorizations, factorizations
from .....ir.symbols.symbolic import power_of_two
from .....passes.codegen.triton.linalg import cholesky as text
from ....core.device_array import DeviceArray
from ...compiler.flat_launches import flat_blocks
from ...compiler.kernels import launch
from ...graph.eager import copied
from ...memory.arrays import empty, fill
from ...replay import launch_cache
from . import small_matrices
from .linalg_errors import checking, raising
from .triangular import as_matrices, solve_block, take_off


def factored(x: DeviceArray) -> tuple:
    """Return (L, the order of the first minor that is not positive definite, or 0), from the lower triangle.

    Beyond that minor, L is the triangle itself.
    """
    if small_matrices.takes(x):
        return small_matrices.positive(x)
    return launch_cache.run(factored, (x,), {}, x.device, _factored)


def _factored(call, inputs, params, device):
    x = as_matrices(inputs[0])
    *lead, n, _ = x.array.shape
    info = empty(device, lead, np.int32)
    if n > text.BLOCK:
        return _in_blocks(x, info)
    out = empty(device, x.array.shape, x.array.dtype)
    side = power_of_two(n)
    how = (("BN", side),), text.warps(x.kind, side), (x.count, 1, 1)
    launch(device, text.whole(x.kind), (x.array, out, info), {"N": n} | x.sizes("x"), how)
    return out, info


def _in_blocks(x, info):
    device, kind, n, step = info.device, x.kind, x.rows, text.BLOCK
    fill(info, 0)
    made = copied(x.array)
    a = as_matrices(made)
    for start in range(0, n, step):
        stop = min(start + step, n)
        how = (("BN", step),), text.warps(kind, step), (a.count, 1, 1)
        launch(device, text.block(kind), (made, info), {"N": stop - start, "W": n, "start": start}, how)
        if stop < n:
            below, rest = a.part((stop, n), (start, stop)), a.part((stop, n), (stop, n))
            solve_block(a.part((start, stop), (start, stop)), below.transposed, False, False)
            take_off(below, below.transposed, rest, lower=True)
    launch(device, text.finished(kind), (x.array, made, info), {"TOTAL": made.size, "N": n} | x.sizes("x"),
           flat_blocks(made.size, 1024))
    return made, info


OPERATORS = {factorizations.cholesky: raising("cholesky", factored, "Matrix is not positive definite"),
             checked_factorizations.cholesky_ex: checking("cholesky_ex", factored, checked_factorizations.NOT_POSITIVE)}
