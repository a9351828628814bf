"""`ingot.utils.benchmark`: times of statements with their spread, and tables of them."""

import math
import statistics
import sys
import timeit
from collections import defaultdict
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ...ir.blocks import block
from ...ir.errors import ArgumentError
from ..api.register.process_settings import get_num_threads, set_num_threads

__all__ = ["Compare", "Measurement", "Timer", "select_unit", "timer", "unit_to_english"]

timer = timeit.default_timer
_UNITS = (("s", 1.0, "second"), ("ms", 1e-3, "millisecond"), ("us", 1e-6, "microsecond"), ("ns", 1e-9, "nanosecond"))
_WIDE_SPREAD = 0.1      # interquartile range / median from which a reader is warned
_MOST_OVERHEAD = 1e-4   # allowed share of the clock in a measurement


def select_unit(t: float) -> tuple[str, float]:
    """Return (name, seconds) of a readable unit for a time."""
    for name, unit, _ in _UNITS:
        if t >= unit:
            return name, unit
    return _UNITS[-1][:2]


def unit_to_english(u: str) -> str:
    """Return a unit's name in words."""
    return next(word for name, _, word in _UNITS if name == u)


@dataclass
class Measurement:
    """Several runs of one statement; times are seconds per execution."""

    number_per_run: int
    raw_times: list
    stmt: str = "stmt"
    setup: str = "pass"
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1
    metadata: Any = field(default=None, repr=False)

    times = property(lambda self: [t / self.number_per_run for t in self.raw_times])
    mean = property(lambda self: statistics.fmean(self.times))
    median = property(lambda self: statistics.median(self.times))
    title = property(lambda self: self.label or self.stmt)
    as_row_name = property(lambda self: self.sub_label or self.stmt)
    has_warnings = property(lambda self: self.iqr > _WIDE_SPREAD * self.median)

    @property
    def iqr(self) -> float:
        """Return the interquartile range of the times."""
        if len(self.raw_times) < 2:
            return 0.0
        low, _, high = statistics.quantiles(self.times, n=4, method="inclusive")
        return high - low

    @property
    def significant_figures(self) -> int:
        """Return the number of digits of the median that the spread leaves."""
        spread = 1.7 * self.iqr / math.sqrt(len(self.raw_times)) if len(self.raw_times) >= 4 else math.inf
        if not spread or math.isinf(spread):
            return 3 if spread else 5
        return max(1, min(5, int(math.log10(self.median / spread) + 1)))

    @staticmethod
    def merge(measurements) -> list:
        groups: dict = defaultdict(list)
        for m in measurements:
            groups[m.stmt, m.setup, m.label, m.sub_label, m.description, m.env, m.num_threads].append(m)
        return [Measurement(1, [t for m in same for t in m.times], *key) for key, same in groups.items()]

    def __repr__(self):
        unit, scale = select_unit(self.median)
        lines = [f"<{__name__}.Measurement object>", ": ".join(filter(None, (self.title, self.sub_label)))]
        lines += [line for line in (self.description, f"setup: {self.setup}" if self.setup != "pass" else None) if line]
        count = f"{len(self.raw_times)} measurement{'s' * (len(self.raw_times) != 1)}, {self.number_per_run} runs each"
        spread = "" if len(self.raw_times) < 2 else f"\n  IQR:    {self.iqr / scale:.2f} {unit}"
        lines += [f"  Median: {self.median / scale:.2f} {unit}{spread}", f"  {count}, {self.num_threads} "
                  f"thread{'s' * (self.num_threads != 1)}"]
        if self.has_warnings:
            lines.append(f"  WARNING: the middle half of the times spreads by {self.iqr / self.median:.0%} of the median")
        return "\n".join(lines)


@block
def _with_threads(count):
    return partial(set_num_threads, count), partial(set_num_threads, get_num_threads())


class Timer:
    """A timer of a statement (Python code as text), with a number of threads. `setup` and `globals` provide names, and
    `ingot` is imported."""

    def __init__(self, stmt="pass", setup="pass", global_setup="", timer=timer, globals=None, label=None, sub_label=None,
                 description=None, env=None, num_threads=1, language="python"):
        if str(getattr(language, "name", language)).lower() not in ("python", "py"):
            raise ArgumentError(f"Timer times Python code, got language={language!r}")
        if global_setup:
            raise ArgumentError("Timer: global_setup is for C++; put Python code into setup")
        if not isinstance(stmt, str):
            raise ArgumentError("Timer takes Python code as text; pass the function in globals={'f': f} and stmt='f()'")
        self._names = {"ingot": sys.modules[__name__.partition(".runtime.")[0]], **(globals or {})}
        self._clock, self._timer = timer, timeit.Timer(stmt, setup, timer, self._names)
        self._about = {"stmt": stmt, "setup": setup, "label": label, "sub_label": sub_label, "description": description,
                       "env": env, "num_threads": num_threads}

    def _run(self, number) -> float:
        with _with_threads(self._about["num_threads"]):
            return self._timer.timeit(number)

    def _measured(self, number, times) -> Measurement:
        return Measurement(number, times, **self._about)

    def timeit(self, number=1_000_000) -> Measurement:
        """Measure `number` runs, after some to warm up."""
        self._run(max(number // 100, 2))
        return self._measured(number, [self._run(number)])

    def repeat(self, repeat=-1, number=-1):
        """Raise: use `blocked_autorange`."""
        raise NotImplementedError("use blocked_autorange, which chooses how often to run")

    def _number(self, at_least, callback=None) -> int:
        """Return the number of runs that makes the cost of the clock negligible."""
        overhead = statistics.median([timer_cost(self._clock) for _ in range(5)])
        number = 1
        while True:
            took = self._run(number)
            if callback is not None:
                callback(number, took)
            if (took >= at_least / 1000 and overhead <= _MOST_OVERHEAD * took) or took > at_least:
                return number
            number *= 10

    def blocked_autorange(self, callback=None, min_run_time=0.2) -> Measurement:
        """Measure blocks of runs for at least `min_run_time` seconds; a block is long enough for the clock."""
        number = self._number(min_run_time, callback)
        times, total = [], 0.0
        while total < min_run_time:
            times.append(self._run(number))
            total += times[-1]
            if callback is not None:
                callback(number, times[-1])
        return self._measured(number, times)

    def adaptive_autorange(self, threshold=0.1, *, min_run_time=0.01, max_run_time=10.0, callback=None) -> Measurement:
        """Measure until the interquartile range is below `threshold` of the median."""
        number, total, look = self._number(min_run_time, callback), 0.0, 4
        times: list = []
        while True:
            times.append(self._run(number))
            total += times[-1]
            if callback is not None:
                callback(number, times[-1])
            if total > max_run_time or (total > min_run_time and len(times) >= look):
                found = self._measured(number, times)
                if found.iqr < threshold * found.median or total > max_run_time:
                    return found
                look = len(times) * 5 // 4     # statistics take time, too


def timer_cost(clock) -> float:
    """Return the seconds between two reads of a clock."""
    began = clock()
    return clock() - began


class Compare:
    """A table of measurements: a row per sub_label, a column per description, a part per number of threads."""

    def __init__(self, results):
        self._results: list = []
        self._trim = self._warn = False
        self.extend_results(results)

    def extend_results(self, results):
        """Add measurements."""
        for r in results:
            if not isinstance(r, Measurement):
                raise ArgumentError(f"Compare takes measurements of a Timer, got {type(r).__name__}")
        self._results.extend(results)

    def trim_significant_figures(self):
        """Show only the digits that the spread leaves."""
        self._trim = True

    def colorize(self, rowwise=False):
        """Do nothing: tables are plain text."""

    def highlight_warnings(self):
        """Mark times with a wide spread."""
        self._warn = True

    def print(self):
        print(str(self))

    def __str__(self):
        parts: dict = defaultdict(list)
        for m in Measurement.merge(self._results):
            parts[m.title].append(m)
        return "\n\n".join([self._table(title, measurements) for title, measurements in parts.items()])

    def _table(self, title, measurements_of_title) -> str:
        unit, scale = select_unit(min(m.median for m in measurements_of_title))
        columns = list(dict.fromkeys([m.description or "" for m in measurements_of_title]))
        rows = [["", *columns]]
        for threads in sorted({m.num_threads for m in measurements_of_title}):
            rows.append([f"{threads} threads:"])
            measurements = [m for m in measurements_of_title if m.num_threads == threads]
            for name, env in dict.fromkeys([(m.as_row_name, m.env) for m in measurements]):
                cells = {m.description or "": self._cell(m, scale) for m in measurements
                         if (m.as_row_name, m.env) == (name, env)}
                rows.append([f"  {f'({env}) ' if env else ''}{name}", *[cells.get(c, "") for c in columns]])
        widths = [max(len(r[i]) for r in rows if i < len(r)) for i in range(len(columns) + 1)]
        lines = ["  |  ".join([r[0].ljust(widths[0]), *[c.rjust(w) for c, w in zip(r[1:], widths[1:])]]).rstrip() for r in rows]
        rule = "-" * max(map(len, lines))
        mark = ["(! the middle half of the times spreads by more than 10% of the median)"] if self._warn else []
        return "\n".join([f"[{title}]".center(len(rule), "-"), *lines, rule, f"Times are in {unit_to_english(unit)}s ({unit}).",
                          *mark])

    def _cell(self, m, scale) -> str:
        value = m.median / scale
        if self._trim:
            digits = m.significant_figures - math.ceil(math.log10(value)) if value > 0 else 0
            text = f"{round(value, digits):.{max(0, digits)}f}"
        else:
            text = f"{value:.1f}"
        return text + (" (!)" if self._warn and m.has_warnings else "")
