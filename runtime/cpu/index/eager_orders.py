"""Which compiled kernel runs sorts, running sums, gathers and scatters in eager mode; see `eager.py`.

Gathers and scatters find an index that is out of range on the way; it is the references' to name.
"""

import functools

import numpy as np

from ....ir import dtype as dt
from ....ir.opdef.op import Op
from ....ir.ops.core import scan
from ....ir.ops.index import indexing, sort
from ....passes.codegen.llvm.index import scans as codegen
from ..calls.kernel_table import KernelTable
from ..loops import kernels
from . import gathers, ordering, scans, search

TABLE = KernelTable()
_LOW = (dt.float16.np, dt.bfloat16.np)
_MANY = 1 << 12         # elements from which a lookup in the last dim leaves numpy


@TABLE.makes(sort.argsort, sort.arg_topk)
def order(op: Op):
    """The generated order."""
    name = op.name

    def run(x, *, dim, **params):
        if not ordering.can_order(x, dim):
            return op.ref(x, dim=dim, **params)
        return getattr(ordering, name)(x, dim=dim, **params)

    return run


@TABLE.makes(sort.searchsorted)
def places(op: Op):
    """Vectors of values in their rows at once."""

    def run(rows, values, *, right):
        if not search.can_search(rows.dtype, rows.shape, values.shape) or rows.dtype is not values.dtype:
            return op.ref(rows, values, right=right)
        return search.searchsorted(rows, values, right=bool(right))

    return run


@TABLE.makes(*scans.STEPS)
def running(op: Op):
    """Several rows at a time, each from its start."""
    how = scans.STEPS[op]
    run_all = functools.partial(scans.extreme if how in codegen.FINDING else scans.scan, how)

    def run(x, *, dim):
        return run_all(x, dim=dim) if scans.can_scan(x) else op.ref(x, dim=dim)

    def run_sums(x, *, dim):
        return scans.complex_sums(x, dim=dim) if x.dtype.kind == "c" and x.size else run(x, dim=dim)

    return run_sums if op is scan.cumsum else run


@TABLE.makes(scan.linear_scan)
def linear_scan(op: Op):
    """The same of recurrences."""

    def run(a, b, *, dim):
        if not scans.can_scan(a) or a.dtype != b.dtype or a.shape != b.shape:
            return op.ref(a, b, dim=dim)
        return scans.linear(a, b, dim=dim)

    return run


@TABLE.makes(indexing.gather)
def gather(op: Op):
    """All indices in one sweep."""

    def run(x, index, *, dim):
        found = gathers.gather(x, index, dim=dim)
        return op.ref(x, index, dim=dim) if found is None else found

    return run


@TABLE.makes(indexing.index)
def index(op: Op):
    """One vector of the last dim is a gather whose index repeats itself; everything else is the reference's."""
    ref = op.ref

    def run(x, *indices):
        last = indices[-1]
        if len(indices) == x.ndim > 1 and last is not None and last.ndim == 1 and (
                x.size // max(1, x.shape[-1]) * last.size >= _MANY and all([i is None for i in indices[:-1]])):  # noqa: C419
            at = gathers.from_the_front(last, x.shape[-1])
            if at is not None:
                found = gathers.gather(x, np.broadcast_to(at, (*x.shape[:-1], at.size)), dim=x.ndim - 1)
                if found is not None:
                    return found
        return ref(x, *indices)

    return run


@TABLE.makes(indexing.scatter, indexing.scatter_reduce)
def scatter(op: Op):
    """All indices in one sweep, in order; what is combined of float16 and bfloat16 in float32."""

    def run(x, index, src, *, dim, mode):
        kind, wide = x.dtype, x
        if mode != "set" and kind in _LOW and src.dtype == kind:
            wide, src = kernels.converted(x, np.float32), kernels.converted(src, np.float32)
        fits = (gathers.can_gather(wide.dtype, x.shape, index.dtype, index.shape, dim) and src.shape == index.shape
                and gathers.can_scatter(wide.dtype, mode))
        found = gathers.scatter(wide, index, src, dim=dim, how=mode) if fits else None
        return op.ref(x, index, src, dim=dim, mode=mode) if found is None else kernels.converted(found, kind)

    return run
