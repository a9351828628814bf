"""Fourier transforms of any length on a device.

Lengths without large prime factors run `passes/codegen/triton/linalg/fourier.py`: rows up to `LONGEST` in one launch, which
reads and writes each number once, longer ones as matrices in two. Other lengths are convolutions with a chirp.
"""

import functools
import math

import numpy as np

from .....ir import dtype as dt
from .....ir.ops.core import complex_numbers as co
from .....ir.ops.core import elementwise as ew
from .....ir.ops.core.shape import cat, flip, pad
from .....ir.ops.math import fourier as fo
from .....passes.codegen.triton.linalg import fourier as text
from .....passes.codegen.triton.loops.configs import power_of_two
from ....core.device_array import DeviceArray
from ....cpu.linalg.fourier import roots
from ...compiler.flat_launches import flat_blocks
from ...compiler.kernels import launch
from ...graph.eager import contiguous, run
from ...memory.arrays import as_reals, empty
from ...memory.transfer import ConstantCache

RADIX = {dt.float32: 20, dt.float64: 16}            # largest radix; compiling larger ones takes many seconds
LONGEST = {dt.float32: 8192, dt.float64: 4096}      # longest row of one program
MANY = {dt.float32: 8192, dt.float64: 4096}         # most complex numbers of a program
USUAL = 2048                                        # usual complex numbers of a program
ACROSS = 8                                          # neighbouring columns of a program, if they fit


# Lengths.


@functools.lru_cache(None)
def radices(n: int, most: int) -> tuple:
    """Return the radices of the fewest passes that make n, large ones first, or ()."""
    if n <= most:
        return (n,)
    best: tuple = ()
    for r in range(most, 1, -1):
        if n % r == 0:
            found = radices(n // r, r)
            if found and (not best or len(found) + 1 < len(best) or (len(found) + 1 == len(best) and r < best[0])):
                best = (r, *found)
    return best


@functools.lru_cache(None)
def matrix(n: int, kind) -> tuple:
    """Return (columns, rows) of the matrix form of a long row, or ()."""
    fits = [d for d in range(2, LONGEST[kind] + 1) if n % d == 0 and n // d <= LONGEST[kind]]
    fits = [d for d in fits if radices(d, RADIX[kind]) and radices(n // d, RADIX[kind])]
    return min(((d, n // d) for d in fits), key=lambda pair: abs(math.log2(pair[0]) - math.log2(n) / 2 + 1), default=())


# Tables.


def _twiddles(n: int, passes: tuple) -> np.ndarray:
    """Return the concatenated factors of the passes over rows of n numbers."""
    found, length = [np.zeros(0)], n
    for radix in passes[:-1]:
        near = length // radix
        found.append(_units(np.arange(1, radix)[:, None] * np.arange(near), length).reshape(-1))
        length = near
    return np.concatenate(found)


def _first_units(count: int, n: int) -> np.ndarray:
    return _units(np.arange(count), n)


def _between(n: int) -> np.ndarray:
    """Return exp(-2 pi i k / n) for k below TURNS, then for its multiples."""
    far = -(-n // text.TURNS) + 1
    return _units(np.concatenate([np.arange(text.TURNS), text.TURNS * np.arange(far)]), n)


def _units(k, n):
    c, d = roots(k, n)
    return c + 1j * d


_tables = ConstantCache(256)        # by function, its arguments, and dtype


def _table(make, args, kind, device) -> DeviceArray:
    """Return a table on a device; a captured graph holds it."""
    return _tables.upload((make, args, kind), device, lambda: make(*args).astype(dt.WHOLES[kind].np))


# Launches.


def _launched(how: text.Transform, arrays: dict, outer: dict, count: int, columns: int, step: dict, table=None) -> DeviceArray:
    """Launch over `count` rows; `outer` and `step` are elements between groups, and between places."""
    out = arrays["out"]
    names = [n for n in arrays if n != "t" or how.waits]
    given = [as_reals(arrays[n]) if arrays[n].dtype == np.complex128 else arrays[n] for n in names]
    if len(how.radices) > 1:
        given.append(_table(_twiddles, (how.size, how.radices), how.part, out.device))
    if table is not None:
        given.append(table)
    sizes = {"M": count} | ({"C": columns} if how.adjacent else {})
    for n in names:
        sizes |= {f"{n}_outer": outer[n]} | ({f"{n}_step": step[n]} if n in how.adjacent else {})
    launch(out.device, text.rows(how), given, sizes, ((), how.warps, (-(-count // how.items), 1, 1)))
    return out


def _items(n, count, part, across) -> int:
    usual, most = (max(1, 1 << (size // n).bit_length() - 1) if size >= n else 1 for size in (USUAL, MANY[part]))
    return min(power_of_two(count), max(usual, min(ACROSS, most)) if across else usual)


def _fits(n, part) -> bool:
    return n <= LONGEST[part] and bool(radices(n, RADIX[part]))


def _split(shape, dim) -> tuple:
    return math.prod(shape[:dim]), shape[dim], math.prod(shape[dim + 1:])


def _in_one(x, out, dim, n, inverse, scale, reads, writes, table=None) -> DeviceArray:
    """Transform rows of n complex numbers along a dim, in one launch."""
    part = _part(x)
    groups, have, columns = _split(x.shape, dim)
    gives, across = out.shape[dim], columns > 1
    stays = "out" if writes in ("complex", "halves") else "t"
    items = _items(n, groups * columns, part, across)
    how = text.Transform(part, radices(n, RADIX[part]), inverse, scale, reads, writes, items,
                         frozenset(("x", "t", "out")) if across else frozenset(), (across,) * 3, stays)
    room, t = gives, out
    if stays == "t" and how.waits:
        room, t = n, empty(out.device, (groups, n, columns), dt.WHOLES[part].np)
    outer = {"x": have * columns, "t": room * columns, "out": gives * columns}
    return _launched(how, {"x": x, "t": t, "out": out}, outer, groups * columns, columns, dict.fromkeys(outer, columns), table)


def _part(x) -> dt.DType:
    kind = dt.from_numpy(x.dtype)
    return dt.PARTS.get(kind, kind)


# Complex numbers.


def transformed(x: DeviceArray, dim: int, inverse: bool, scale: float) -> DeviceArray:
    """Transform contiguous complex numbers along a dim."""
    part, n = _part(x), x.shape[dim]
    if _fits(n, part):
        return _in_one(x, empty(x.device, x.shape, x.dtype), dim, n, inverse, scale, "complex", "complex")
    if dim < x.ndim - 1:
        return _moved_back(transformed(_last(x, dim), x.ndim - 1, inverse, scale), dim)
    found = matrix(n, part)
    return _as_matrix(x, found, inverse, scale) if found else _chirped(x, inverse, scale)


def _last(x, dim):
    return contiguous(x.transpose(*[d for d in range(x.ndim) if d != dim], dim))


def _moved_back(x, dim):
    order = list(range(x.ndim - 1))
    return contiguous(x.transpose(*order[:dim], x.ndim - 1, *order[dim:]))


def _as_matrix(x, shape, inverse, scale):
    """Transform long rows as matrices: place r + rows * c is in row c.

    The columns are transformed and transposed, then the rows, whose results are the columns of the output.
    """
    columns, rows = shape
    part, n, count = _part(x), columns * rows, x.size // (columns * rows)
    between, out = (empty(x.device, x.shape, x.dtype) for _ in range(2))
    first = text.Transform(part, radices(columns, RADIX[part]), inverse, 1.0, "complex", "turns",
                           _items(columns, rows * count, part, True), frozenset(("x", "t", "out")), (True,) * 3)
    step = dict.fromkeys(("x", "t", "out"), rows)
    _launched(first, {"x": x, "t": between, "out": between}, dict.fromkeys(step, n), rows * count, rows, step,
              _table(_between, (n,), part, x.device))
    second = text.Transform(part, radices(rows, RADIX[part]), inverse, scale, "complex", "complex",
                            _items(rows, columns * count, part, True), frozenset({"out"}), (False, False, True), "x")
    return _launched(second, {"x": between, "t": between, "out": out}, {"x": rows, "t": rows, "out": n}, columns * count,
                     columns, {"out": columns})


def _chirped(x, inverse, scale):
    """Transform rows of any length n as a convolution with a chirp: j * k is (j^2 + k^2 - (k - j)^2) / 2."""
    part, n = _part(x), x.shape[-1]
    size = power_of_two(2 * n - 1)
    turn = _spread(_table(_chirp, (n, inverse), part, x.device), x.shape)
    nothing = (0,) * x.ndim
    wide = run(pad, (run(ew.mul, (x, turn), {}),), {"low": nothing, "high": (*nothing[1:], size - n), "interior": nothing,
                                                   "value": 0})
    found = transformed(wide, x.ndim - 1, False, 1.0)
    found = run(ew.mul, (found, _spread(_table(_chirp_frequencies, (n, size, inverse), part, x.device), found.shape)), {})
    found = transformed(found, x.ndim - 1, True, scale / size)
    return run(ew.mul, (_first(found, n), turn), {})


def _spread(row, shape):
    return row.look(shape, (*[0] * (len(shape) - 1), row.itemsize))


def _first(x, n):
    return x.look((*x.shape[:-1], n), x.strides)


def _chirp(n, inverse):
    squares = np.arange(n, dtype=np.int64) ** 2 % (2 * n)
    found = _units(squares, 2 * n)
    return found.conj() if inverse else found


def _chirp_frequencies(n, size, inverse):
    """Return the frequencies of the chirp's conjugate, which is symmetric."""
    chirp, row = _chirp(n, inverse).conj(), np.zeros(size, complex)
    row[:n] = chirp
    row[size - n + 1:] = chirp[:0:-1]
    return np.fft.fft(row)


# Real numbers.


def frequencies(x: DeviceArray, dim: int, scale: float) -> DeviceArray:
    """Return the frequencies from 0 to half of contiguous real numbers along a dim."""
    part, n = _part(x), x.shape[dim]
    half, whole = n // 2, dt.WHOLES[part].np
    shape = (*x.shape[:dim], half + 1, *x.shape[dim + 1:])
    out, last = empty(x.device, shape, whole), dim == x.ndim - 1
    if n % 2 == 0 and _fits(half, part):
        paired = last and x.pointer % np.dtype(whole).itemsize == 0
        return _in_one(_as_pairs(x) if paired else x, out, dim, half, False, scale, "complex" if paired else "pairs", "halves",
                       _table(_first_units, (half + 1, n), part, x.device))
    if n % 2 and _fits(n, part):
        return _in_one(x, out, dim, n, False, scale, "real", "half")
    if not last:
        return _moved_back(frequencies(_last(x, dim), x.ndim - 1, scale), dim)
    if n % 2 or x.pointer % np.dtype(whole).itemsize:
        found = transformed(run(ew.cast, (x,), {"dtype": dt.WHOLES[part]}), dim, False, scale)
        return contiguous(_first(found, half + 1))
    found = transformed(_as_pairs(x), dim, False, 1.0)
    count = x.size // n
    _alone(text.parted(part, scale), found, out, count, half, half // 2 + 1)
    return out


def numbers(x: DeviceArray, dim: int, n: int, scale: float) -> DeviceArray:
    """Return the n real numbers along a dim with these frequencies; contiguous."""
    part, half = _part(x), n // 2
    out, last = empty(x.device, (*x.shape[:dim], n, *x.shape[dim + 1:]), part.np), dim == x.ndim - 1
    if n % 2 == 0 and _fits(half, part):
        table = _table(_first_units, (half + 1, n), part, x.device)
        _in_one(x, _as_pairs(out) if last else out, dim, half, True, scale, "halves", "complex" if last else "pairs", table)
        return out
    if n % 2 and _fits(n, part):
        return _in_one(x, out, dim, n, True, scale, "half", "real")
    if not last:
        return _moved_back(numbers(_last(x, dim), x.ndim - 1, n, scale), dim)
    if n % 2:
        rest = run(flip, (run(co.conj, (x.look((*x.shape[:-1], half), x.strides, x.itemsize),), {}),), {"dims": (dim,)})
        whole = run(cat, (x, rest), {"dim": dim})
        return run(co.real, (transformed(whole, dim, True, scale),), {})
    pairs = empty(x.device, (*x.shape[:-1], half), x.dtype)
    _alone(text.joined(part), x, pairs, out.size // n, half, half)
    return as_reals(transformed(pairs, dim, True, scale)).reshape(*out.shape)


def _as_pairs(x):
    """Return real numbers of even rows as half as many complex ones."""
    whole = np.dtype(dt.WHOLES[_part(x)].np)
    return x.look((*x.shape[:-1], x.shape[-1] // 2), (*x.strides[:-1], whole.itemsize), 0, whole)


def _alone(source, x, out, count, half, each):
    """Launch the kernel that separates or joins the frequencies of long rows."""
    given = [as_reals(a) if a.dtype == np.complex128 else a
             for a in (x, _table(_first_units, (half + 1, 2 * half), _part(x), x.device), out)]
    launch(x.device, source, given, {"M": count, "N": half}, flat_blocks(count * each))


# Operators.


def _scale(norm, inverse, n) -> float:
    return 1 / math.sqrt(n) if norm == "ortho" else 1 / n if (norm == "backward") == inverse else 1.0


def fft(inputs, params, device):
    """Return the transform of complex numbers along some dims, or its inverse."""
    x, inverse = contiguous(inputs[0]), params["inverse"]
    for dim in params["dim"] if x.size else ():
        x = transformed(x, dim, inverse, _scale(params["norm"], inverse, x.shape[dim]))
    return x if x.memory is not inputs[0].memory else x.copy()


def rfft(inputs, params, device):
    """Return the frequencies of real numbers along a dim."""
    x, dim = contiguous(inputs[0]), params["dim"]
    if not x.size:
        shape = (*x.shape[:dim], x.shape[dim] // 2 + 1, *x.shape[dim + 1:])
        return empty(device, shape, dt.WHOLES[_part(x)].np)
    return frequencies(x, dim, _scale(params["norm"], False, x.shape[dim]))


def irfft(inputs, params, device):
    """Return the real numbers with these frequencies."""
    x, dim, n = contiguous(inputs[0]), params["dim"], params["n"]
    if not x.size:
        return empty(device, (*x.shape[:dim], n, *x.shape[dim + 1:]), _part(x).np)
    return numbers(x, dim, n, _scale(params["norm"], True, n))


OPERATORS = {fo.fft: fft, fo.rfft: rfft, fo.irfft: irfft}
