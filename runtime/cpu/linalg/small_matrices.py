"""Batches of matrices of a few rows on generated kernels, a matrix in each lane.

    sign, size = run("slogdet", [x], [((), x.dtype), ((), x.dtype)])
"""

import functools
import math

import numpy as np

from ....ir.errors import LinAlgError
from ....ir.target import host
from ....passes.codegen.llvm.ir.types import FLOATS_BY_NP
from ....passes.codegen.llvm.linalg import small_matrices as codegen
from ..calls import pool
from ..calls.plan import one_job
from ..compiler.compile import task_of
from ..memory import alloc

MOST = 4                    # rows and columns of any number of matrices, and
MOST_OF_MANY, MANY = 8, 256     # of so many: their unrolled code takes up to a second to compile
_ROTATED = frozenset({"eigh", "eigvalsh", "svd", "svd_full", "svdvals"})
_OPERATIONS = 20, 400       # for each element of a matrix: those of an elimination, and of sweeps of rotations
_KEPT = 256
INFO = np.dtype(np.int32)


def takes(*arrays: np.ndarray) -> bool:
    """Whether these are matrices of supported dtypes and of a few rows."""
    for a in arrays:
        most = MOST if math.prod(a.shape[:-2]) < MANY else MOST_OF_MANY
        if a.dtype not in FLOATS_BY_NP or not a.size or max(a.shape[-2:]) > most:
            return False
    return True


def run(routine: str, operands: list, results: list) -> list:
    """Return the results of a routine for each matrix of a batch; `results` are (shape of one, dtype)."""
    lead = operands[0].shape[:-2]
    given = [alloc.dense(a) for a in operands]
    made = [alloc.empty((*lead, *shape), dtype) for shape, dtype in results]
    most = len(codegen.ARRAYS) - 2
    arrays = [*given, given[0]][:2] + [*made, *[given[0]] * most][:most]
    _plan(routine, tuple([a.dtype for a in arrays]), tuple([a.shape[-2:] for a in operands]), math.prod(lead),
          pool.get_num_threads())(*arrays)
    return made


@functools.lru_cache(_KEPT)
def _plan(routine, dtypes, shapes, count, threads):
    kernel = codegen.SmallMatrixKernel(host(), FLOATS_BY_NP[dtypes[0]], routine, shapes)
    work = count * math.prod(shapes[0]) * _OPERATIONS[routine in _ROTATED]
    return one_job(codegen, task_of(kernel), work, -(-count // kernel.lanes), threads, count=count)


def require(info, name, x, what):
    """Raise for matrices of which `info` says that they have no result."""
    if info.any():
        raise LinAlgError(f"{name} of a matrix of shape {list(x.shape)}: {what}")
