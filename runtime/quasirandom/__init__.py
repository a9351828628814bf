"""`ingot.quasirandom`: Sobol sequences, points that fill a cube more evenly than random ones; the same as PyTorch's.

Way in: `SobolEngine`.
"""

from operator import index as as_int

import numpy as np

from ...ir import dtype as dt
from ...ir.errors import ArgumentError, DTypeError
from ..api.random import random_tensors as noise
from ..api.register.register import deliver
from ..core.tensor import Tensor, wrap
from ..state.mode import Defaults, tls
from .sobol_directions import BITS, MOST, direction_numbers

__all__ = ["SobolEngine"]


class SobolEngine:
    """Sobol sequence of points in the unit cube of up to 21201 dimensions, drawn in order.

    `scramble` randomises the points and keeps them even (Owen's scrambling by random matrices and a random shift). A `seed`
    gives PyTorch's points for it; without one the scrambling takes ingot's random numbers.
    """

    MAXBIT = BITS
    MAXDIM = MOST

    def __init__(self, dimension, scramble=False, seed=None):
        self.dimension = _counted("dimension", dimension)
        if not 1 <= self.dimension <= MOST:
            raise ArgumentError(f"Supported range of dimensionality for SobolEngine is [1, {MOST}], got {dimension}")
        self.seed = seed
        self.scramble = scramble
        numbers, shift = direction_numbers(self.dimension), np.zeros(self.dimension, np.int64)
        if scramble:
            numbers, shift = _scrambled(numbers, seed)
        self.sobolstate = wrap(numbers)
        self.shift = wrap(shift)
        self.quasi = wrap(shift.copy())     # the last drawn point, in units of 2**-MAXBIT; initially the first one
        self.num_generated = 0

    def draw(self, n: int = 1, out: Tensor | None = None, dtype: dt.DType | None = None) -> Tensor:
        """Return the next n points, as rows of a tensor of float32 or float64 (the default dtype)."""
        n, dtype = self._checked_count(n), dtype or Defaults.dtype
        if dtype not in (dt.float32, dt.float64):
            raise DTypeError(f"SobolEngine draws float32 and float64, not {dtype}")
        first, last = self.num_generated, self.quasi.numpy().astype(np.int32)
        numbers = np.arange(max(first, 1), first + n)
        changed = np.bitwise_count((numbers & -numbers) - 1).astype(np.intp)  # lowest set bit
        points = np.empty((n, self.dimension), np.int32)
        if n:
            np.take(self.sobolstate.numpy().T.astype(np.int32), changed, axis=0, out=points[n - len(changed):])
            points[0] = last if not first else points[0] ^ last
            np.bitwise_xor.accumulate(points, axis=0, out=points)
            self.quasi = wrap(points[-1].astype(np.int64))
        self.num_generated = first + n
        found = points.astype(dtype.np)
        found *= 2.0 ** -BITS
        return deliver(wrap(found), out, "draw")

    def draw_base2(self, m: int, out: Tensor | None = None, dtype: dt.DType | None = None) -> Tensor:
        """Return the next 2**m points; then all drawn points must be a power of 2, as only these are balanced."""
        n = 2 ** _counted("m", m)
        total = self.num_generated + n
        if total & (total - 1):
            raise ArgumentError(f"the balance properties of Sobol' points require n to be a power of 2: {self.num_generated} "
                                f"points have been generated, then n = {self.num_generated} + 2**{m} = {total}; use draw() "
                                f"if that is meant")
        return self.draw(n, out=out, dtype=dtype)

    def fast_forward(self, n: int) -> "SobolEngine":
        """Skip the next n points."""
        self.num_generated += self._checked_count(n)
        last = max(self.num_generated - 1, 0)
        taken = np.array([(last ^ last >> 1) >> bit & 1 for bit in range(BITS)], bool)
        leads = np.bitwise_xor.reduce(self.sobolstate.numpy()[:, taken], axis=1)
        self.quasi = wrap(self.shift.numpy() ^ leads)
        return self

    def reset(self) -> "SobolEngine":
        """Restart with the first point."""
        self.quasi = wrap(self.shift.numpy().copy())
        self.num_generated = 0
        return self

    def _checked_count(self, n) -> int:
        """Return a checked number of points."""
        recorder = tls.m.recorder
        if recorder is not None:
            recorder.refuse("it draws points of a SobolEngine", "draw them outside of the function and hand them over")
        n = _counted("n", n)
        if self.num_generated + n > 2 ** BITS:
            raise ArgumentError(f"a SobolEngine has 2**{BITS} points; {self.num_generated} were generated, and {n} more are "
                                f"asked for")
        return n

    def __repr__(self):
        scrambled = ", scramble=True" if self.scramble else ""
        return f"SobolEngine(dimension={self.dimension}{scrambled}{'' if self.seed is None else f', seed={self.seed}'})"


def _counted(name: str, n) -> int:
    try:
        n = as_int(n)
    except TypeError as e:
        raise DTypeError(f"SobolEngine: {name} must be an int, got {n!r}") from e
    if n < 0:
        raise ArgumentError(f"SobolEngine: {name} must be non-negative, but got {n}")
    return n


def _scrambled(numbers: np.ndarray, seed) -> tuple[np.ndarray, np.ndarray]:
    """Return direction numbers times random lower triangular matrices modulo 2, and a random shift, bits in PyTorch's
    order."""
    dimension = len(numbers)
    drawn = _random_bits(dimension * BITS * (BITS + 1), seed)
    shift = drawn[: dimension * BITS].reshape(dimension, BITS) @ (1 << np.arange(BITS))
    matrices = drawn[dimension * BITS:].reshape(dimension, BITS, BITS)
    return np.stack([_times(matrix, row) for matrix, row in zip(matrices, numbers)]), shift


def _times(matrix: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Multiply numbers, bit by bit modulo 2, by a lower triangular matrix with ones on its diagonal."""
    lower = (np.tril(matrix, -1) + np.eye(BITS)).astype(np.float32)       # sums of at most BITS ones are exact
    bit_numbers = np.arange(BITS - 1, -1, -1)
    bits = numbers[None, :] >> bit_numbers[:, None] & 1                   # highest first, one column for each number
    return (((lower @ bits.astype(np.float32)).astype(np.int64) & 1) << bit_numbers[:, None]).sum(0)


def _random_bits(count: int, seed) -> np.ndarray:
    """Return random bits: for a seed from the Mersenne Twister, as in PyTorch, else from ingot's generator."""
    if seed is None:
        return noise.randint(0, 2, (count,)).numpy()
    twister = np.random.MT19937()
    twister._legacy_seeding(as_int(seed) & 0xFFFFFFFF)
    return (twister.random_raw(count) & 1).astype(np.int64)
