"""Ranges of values for calibration.

    seen = RANGES["mse"]();  seen.add(array);  low, high = seen.range()

`minmax` covers all numbers. `percentile` excludes a share of the numbers at either end. `mse` minimises the squared error of
the quantised values. The latter two keep a histogram, whose bins widen as larger numbers come.
"""

import numpy as np

_BINS = 2048
_TRIES = 64                     # ranges to compare
_STEPS = 255


class MinMax:
    """Range of the smallest and the largest finite number."""

    def __init__(self):
        self.low = self.high = 0.0

    def add(self, a: np.ndarray):
        """Record the numbers of an array."""
        if a.size:
            low, high = float(a.min()), float(a.max())
            if not np.isfinite(low + high):
                finite = a[np.isfinite(a)]
                low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
            self.low, self.high = min(self.low, low), max(self.high, high)
            self.count(a)

    def count(self, a: np.ndarray):
        """Do nothing."""

    def range(self) -> tuple:
        """Return (low, high), with 0 between them."""
        return self.low, self.high


class _Histogram(MinMax):
    """Histogram of numbers: bins from `start` on, `width` wide."""

    def __init__(self):
        super().__init__()
        self.start, self.width, self.counts = 0.0, 0.0, np.zeros(_BINS)

    def count(self, a):
        width = (self.high - self.low) / _BINS
        if not width > 0:
            return
        if width != self.width:
            self._spread(self.low, width)
        flat = a.reshape(-1)
        flat = flat[np.isfinite(flat)]
        bins = np.clip(((flat.astype(np.float64) - self.start) / self.width).astype(np.int64), 0, _BINS - 1)
        self.counts += np.bincount(bins, minlength=_BINS)

    def _spread(self, start, width):
        """Move counts to bins with another start and the same width or a larger one."""
        counts = np.zeros(_BINS)
        if self.width > 0:
            bins = ((self.middles - start) / width).astype(np.int64)
            np.add.at(counts, np.clip(bins, 0, _BINS - 1), self.counts)
        self.start, self.width, self.counts = start, width, counts

    @property
    def middles(self):
        """Return the middle of each bin."""
        return self.start + (np.arange(_BINS) + 0.5) * self.width


class Percentile(_Histogram):
    """Range of all but a hundred thousandth of the numbers at either end."""

    share = 1e-5

    def range(self):
        total = self.counts.cumsum()
        if not total[-1]:
            return self.low, self.high
        first, last = np.searchsorted(total, [self.share * total[-1], (1 - self.share) * total[-1]])
        edges = self.start + np.array([first, last + 1]) * self.width
        return max(self.low, min(0.0, float(edges[0]))), min(self.high, max(0.0, float(edges[1])))


class LeastError(_Histogram):
    """Range with the least error of numbers inside and clipped ones; each end is optimised in turn."""

    def range(self):
        if not self.counts.any():
            return self.low, self.high
        ends, shares = [self.low, self.high], np.linspace(1, 1 / _TRIES, _TRIES).tolist()
        for end in (1, 0, 1, 0):
            tried = [[*ends[:end], share * (self.low, self.high)[end], *ends[end + 1:]] for share in shares]
            ends = min(tried, key=self._error)
        return tuple(ends)

    def _error(self, ends):
        low, high = ends
        step = (high - low) / _STEPS
        cut = np.maximum(np.maximum(low - self.middles, self.middles - high), 0)
        return (self.counts * np.where(cut > 0, cut * cut, step * step / 12)).sum()


RANGES = {"minmax": MinMax, "percentile": Percentile, "mse": LeastError}
