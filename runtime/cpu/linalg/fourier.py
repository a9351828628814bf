"""Discrete Fourier transforms of sizes with the factors 2, 3 and 5 (`passes/codegen/llvm/linalg/fourier.py`).

    made = fourier.transform("rows", x.dtype, x.shape, -1, scale=1 / n, inverse=True, threads=2)      # None: not of this size
    out = made(x)

The tasks: "rows" of complex numbers, along the last dim; "columns", along any other; "halves", the n // 2 + 1 frequencies of n
real numbers along the last dim, and back "wholes", which are n // 2 complex numbers each. Arrays are dense. Transforms that do
not fit the second-level cache are left to NumPy.
"""

import functools
import math
from typing import NamedTuple

import numpy as np

from ....ir import dtype as dt
from ....ir.ops.math import fourier as ops
from ....ir.target import host
from ....passes.codegen.llvm.ir.types import FLOATS_BY_NP, bytes_of
from ....passes.codegen.llvm.linalg import fourier as codegen
from ..calls import pool
from ..calls.operator_kernel import OperatorKernel
from ..calls.plan import Jobs, JobsPlan, chunks_for
from ..calls.step_list import NativeCall, Table
from ..compiler.compile import compile_module
from ..compiler.ir_cache import text_of
from ..loops import copies
from ..memory import alloc, cache_sizes

_KEPT = 1024
_COMPLEX = {part: whole for whole, part in dt.NP_PARTS.items()}


class Planned(NamedTuple):
    """A transform of arrays of one shape: the job on (x, out, factors), its factors, the shape and the dtype of the result."""

    plan: JobsPlan
    factors: np.ndarray
    shape: tuple
    dtype: np.dtype


@functools.lru_cache(_KEPT)
def transform(task: str, dtype, shape: tuple, dim: int, scale: float, inverse: bool, threads: int):
    """Return the function that transforms arrays of a dtype and shape; None if no kernel does."""
    made = transform_plan(task, dtype, shape, dim, scale, inverse, threads)
    if made is None:
        return None
    (plan, factors, out_shape, kind), empty = made, alloc.empty

    def run(x):
        out = empty(out_shape, kind)
        plan(x, out, factors)
        return out

    return run


@functools.lru_cache(_KEPT)
def transform_plan(task, dtype, shape, dim, scale, inverse, threads) -> Planned | None:
    """Return the plan of such a transform."""
    have, size = shape[dim], math.prod(shape)
    part, width = dt.NP_PARTS.get(dtype, dtype), 1 if task != "columns" else math.prod(shape[dim + 1:])
    n = 2 * (have - 1) if task == "wholes" else have
    lanes = _lanes(part, n, task) if size else 0
    if not lanes:
        return None
    count, item, blocks = size // (have * width), part.itemsize, -(-width // lanes) if task == "columns" else 1
    if task in ("rows", "columns"):
        apart, out_shape, kind = (2 * n * width * item,) * 2, shape, dtype
    elif task == "halves":
        apart, out_shape, kind, scale = (n * item, (n + 2) * item), (*shape[:-1], n // 2 + 1), _COMPLEX[dtype], scale / 2
    else:
        apart, out_shape, kind = ((n + 2) * item, n * item), (*shape[:-1], n), part
    plan, factors = _plan(part, lanes, n, task, count * blocks, width, blocks, apart, float(scale), inverse, threads)
    return Planned(plan, factors, out_shape, kind)


def _radices(n: int):
    """Return the radices of the passes over n rows, from the first one on; None if other factors are left."""
    found = []
    for prime in (5, 3):
        while n % prime == 0:
            found.append(prime)
            n //= prime
    if n & (n - 1):
        return None
    twos = n.bit_length() - 1
    while twos:
        step = min(twos, 2 if twos in (2, 4) else 3)
        found.append(1 << step)
        twos -= step
    return sorted(found)


@functools.lru_cache(_KEPT)
def _lanes(part, n, task) -> int:
    """Return how many numbers are in a vector; 0 if kernels do not take a size."""
    element, most = FLOATS_BY_NP.get(part), cache_sizes.second_level() // 2
    if element is None or n < 2:
        return 0
    lanes = host().lanes(bytes_of(element))
    if task == "columns":
        return lanes if _radices(n) and n * 2 * lanes * part.itemsize <= most else 0
    if task != "rows":
        if n % 2:
            return 0
        n //= 2
    if 2 * n * part.itemsize > most:
        return 0
    while lanes > 1 and (n % lanes or lanes * lanes > n or not _radices(n // lanes)):
        lanes //= 2
    return lanes if lanes > 1 else 0


@functools.lru_cache(None)
def _tasks(element, lanes):
    """Return (kernel, its tasks by name)."""
    kernel = codegen.FourierKernel(host(), element, lanes)
    made = compile_module(text_of(kernel), kernel.symbols)
    return kernel, {name: made[symbol] for name, symbol in zip(codegen.TASKS, kernel.symbols)}


def _plan(part, lanes, n, task, items, width, blocks, apart, scale, inverse, threads):
    """Return (the job on (x, out, factors), the factors)."""
    kernel, tasks = _tasks(FLOATS_BY_NP[part], lanes)
    m = n if task == "columns" else n // lanes if task == "rows" else n // 2 // lanes
    factors, passes, (between, half_factors) = _factors(part, lanes, m, task)
    row = kernel.row_bytes if task != "columns" else width * 2 * part.itemsize
    size = (m + codegen.SPARE) * kernel.row_bytes
    if task != "rows":          # a second buffer, with a vector before and one behind
        size += (m + 2) * kernel.row_bytes
    work = 5 * items * m * lanes * max(1, m.bit_length())
    todo, chunks = Jobs(threads), chunks_for(work, items, threads)
    todo.add(tasks[task], codegen.WORDS[len(codegen.ARRAYS) + 2:], chunks=chunks, items=items, rows=m,
             places=todo.table(_row_offsets(m, kernel)), passes=todo.table(passes), count=len(passes) // codegen.PASS_WORDS,
             x_outer=apart[0], x_row=row, out_outer=apart[1], out_row=row, width=width, blocks=blocks, between=between,
             halves=half_factors, inverse=int(inverse), scale=scale, scratch_bytes=size)
    return todo.plan(size * (threads if chunks > 1 else 1), work), factors


def _row_offsets(m, kernel):
    """Return the byte of the scratch for each row of a transform, so that passes give the natural order."""
    order = np.zeros(1, np.int64)
    for radix in _radices(m):
        order = (np.arange(radix)[:, None] + radix * order).reshape(-1)
    offsets = np.full(-(-m // kernel.lanes) * kernel.lanes, m, np.int64)
    offsets[order] = np.arange(m)
    return (offsets * kernel.row_bytes).tolist()


@functools.lru_cache(_KEPT)
def _factors(part, lanes, m, task):
    """Return (factors of a transform, words of its passes, (byte of the factors between, byte of those of real rows))."""
    found, passes, span, bytes_, starts = [], [], 1, 0, []

    def add(numbers):
        nonlocal bytes_
        found.append(np.asarray(numbers, part).reshape(-1))
        bytes_ += found[-1].nbytes

    for radix in _radices(m):
        joined = radix * span
        passes += [radix, span, m // joined, bytes_]
        pairs = roots(np.arange(span)[:, None] * np.arange(1, radix), joined)
        add(np.stack(pairs, -1))
        span = joined
    starts.append(bytes_)
    if task != "columns":
        at = np.arange(-(-m // lanes) * lanes).reshape(-1, 1, lanes)
        add(np.stack(roots(at * np.arange(1, lanes)[:, None], m * lanes), -2))
    starts.append(bytes_)
    if task in ("halves", "wholes"):
        add(np.stack(roots(np.arange((m + 1) * lanes).reshape(-1, lanes), 2 * m * lanes), -2))
    return np.concatenate(found), passes, starts


def roots(k, n):
    """Return the cosines and sines of -2 pi k / n, correctly rounded, and exact where they are 0 or 1."""
    quarter, rest = np.divmod(4 * (k % n), n)
    near = np.minimum(rest, n - rest) * (math.pi / (2 * n))
    far = 2 * rest > n
    c, s = np.where(far, np.sin(near), np.cos(near)), np.where(far, np.cos(near), np.sin(near))
    return (np.choose(quarter, (c, -s, -c, s)), np.choose(quarter, (-s, -c, s, c)))


def _scale_of(norm, n, inverse) -> float:
    """Return the factor of the numbers of a transform of n."""
    return math.sqrt(1 / n) if norm == "ortho" else 1 / n if inverse == (norm == "backward") else 1.0


def _along(task, x, dim, scale):
    """Return a transform of rows along any dim; None if no kernel does it."""
    whole = x if dim == x.ndim - 1 else np.moveaxis(x, dim, -1)
    made = transform(task, x.dtype, whole.shape, -1, scale, task == "wholes", pool.get_num_threads())
    if made is None:
        return None
    out = made(copies.dense(whole))
    return out if whole is x else copies.dense(np.moveaxis(out, -1, dim))


def fft(x, *, dim, inverse, norm):
    """Transform one dim after the other, the last one first."""
    for d in reversed(dim):
        shape = x.shape
        task, scale = "rows" if d == len(shape) - 1 else "columns", _scale_of(norm, shape[d], inverse)
        made = transform(task, x.dtype, shape, d, scale, inverse, pool.get_num_threads())
        x = ops.fft.ref(x, dim=(d,), inverse=inverse, norm=norm) if made is None else made(copies.dense(x))
    return x


def rfft(x, *, dim, norm):
    """Return half of the frequencies of real numbers."""
    found = _along("halves", x, dim, _scale_of(norm, x.shape[dim], False))
    return ops.rfft.ref(x, dim=dim, norm=norm) if found is None else found


def irfft(x, *, dim, n, norm):
    """Return real numbers from half of their frequencies."""
    found = _along("wholes", x, dim, _scale_of(norm, n, True)) if n % 2 == 0 and x.shape[dim] == n // 2 + 1 else None
    return ops.irfft.ref(x, dim=dim, n=n, norm=norm) if found is None else found


def _fft_step(node, operands, results):
    """Plan one dim after the other, the last one first; all but the first are in place."""
    (x,), (out,), steps, scratch = operands, results, [], 0
    inverse, norm = node.params["inverse"], node.params["norm"]
    for d in reversed(node.params["dim"]):
        task, scale = "rows" if d == len(x.shape) - 1 else "columns", _scale_of(norm, x.shape[d], inverse)
        made = _transformed(task, x, d, scale, inverse, 1 if steps else 0)
        if made is None:
            return None
        steps += made.steps
        scratch = max(scratch, made.scratch_bytes)
    return NativeCall(tuple(steps), scratch) if steps and out.size else None


def _rfft_step(node, operands, results):
    x, dim = operands[0], node.params["dim"]
    if not _is_last(x, dim):
        return None
    return _transformed("halves", x, dim, _scale_of(node.params["norm"], x.shape[dim], False), False)


def _irfft_step(node, operands, results):
    x, dim, n = operands[0], node.params["dim"], node.params["n"]
    if n % 2 or not _is_last(x, dim):
        return None
    return _transformed("wholes", x, dim, _scale_of(node.params["norm"], n, True), True)


def _is_last(x, dim) -> bool:
    return dim == len(x.shape) - 1 and x.size > 0


def _transformed(task, x, dim, scale, inverse, source=0):
    """Return the steps of the eager plan, from an operand to the result; None if no kernel does it."""
    made = transform_plan(task, x.dtype, x.shape, dim, scale, inverse, pool.get_num_threads())
    return None if made is None else made.plan.native([source, 1, Table(made.factors.view(np.int64))])


OPERATORS = {ops.fft: OperatorKernel(fft, _fft_step), ops.rfft: OperatorKernel(rfft, _rfft_step),
             ops.irfft: OperatorKernel(irfft, _irfft_step)}
