"""Kernels of plain reductions over merged dims.

A pattern such as "PRP" (parallel, reduced, parallel) names the dims of x; the elements of the dim `unit` are contiguous.
Kernels are shape-generic, like those of `row_kernels.py`.
"""

from typing import Any

from ...ir import dtype as dt
from ...ir.kernel.kernel import Kernel
from ...ir.kernel.kernel_builder import KernelBuilder

LOGICAL, COUNTED = frozenset({"any", "all"}), frozenset({"sum", "prod"})


def _reduction_frame(name, dtype, pattern, unit, result):
    k = KernelBuilder(name)
    order = [i for i, c in enumerate(pattern) if c == "P"] + [i for i, c in enumerate(pattern) if c == "R"]
    for i in order:
        (k.parallel if pattern[i] == "P" else k.reduce)(f"d{i}", f"n{i}")
    k.input("x", dtype, [1 if i == unit else f"s{i}" for i in order])
    parallel_positions = [i for i in order if pattern[i] == "P"]
    k.output("y", result, [(1 if i == parallel_positions[-1] else f"t{i}") if i in parallel_positions else 0 for i in order])
    return k


def _count(k, dtype):
    total: Any = None
    for d in k.dims:
        if d.reduce:
            n = k.size(d.name)
            total = n if total is None else total * n
    return total.to(dtype)


def reduction_dtypes(kind: str, dtype):
    """Return (dtype that is reduced, dtype of the result): integers and bool sum in int64, any and all take bools."""
    if kind in LOGICAL:
        return dt.bool_, dt.bool_
    if kind in COUNTED and not dtype.is_inexact:
        return dt.int64, dt.int64
    return dt.accumulator(dtype), dt.int64 if kind.startswith("arg") else dtype


def reduction(name, kind, dtype, pattern, unit, *, correction=1) -> Kernel:
    """Return the kernel x -> y that reduces the "R" dims: kinds of the IR, mean, var, std, norm, sumsq."""
    work, result = reduction_dtypes(kind, dtype)
    k = _reduction_frame(name, dtype, pattern, unit, result)

    def load():
        return k.load("x").to(work)

    with k.sweep():
        x = load()
        total = k.fold({"mean": "sum", "var": "sum", "std": "sum", "norm": "sum", "sumsq": "sum"}.get(kind, kind),
                       x * x if kind in ("norm", "sumsq") else x)
    if kind in ("var", "std"):
        with k.point():
            mean = total / _count(k, work)
        with k.sweep():
            d = load() - mean
            total = k.fold("sum", d * d)
    with k.point():
        if kind == "mean":
            total = total / _count(k, work)
        elif kind in ("var", "std"):
            free = k.fn.maximum(_count(k, work) - float(correction), 0.0)
            total = total / free
        if kind in ("std", "norm"):
            total = k.fn.sqrt(total)
        k.store(total.to(result), "y")
    return k.build()
