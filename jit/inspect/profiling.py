"""Profiles of traced functions: time of each kernel, compared with the machine's peak.

    with jit.profile() as p:
        for x, y in batches:
            step(x, y)
    print(p)                        # a table
    p.save("step.html")             # the same with graphs, kernels and source, as one page
    p.save("step.svg")              # the graph as it runs, its kernels in colours
    p.save("step.json")             # a timeline for ui.perfetto.dev or chrome://tracing

While a profile is open, compiled code is timed in all threads. Calls that record are not in it. Open profiles inside of each
other all get the times of what runs in the innermost one.
"""

import difflib
import errno
import json
import os
import threading
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from ...ir.blocks import block
from ...ir.draw import view
from ...ir.draw.tables import COLUMNS, clipped, counted, html_table, html_text, shortened, text_table
from ...ir.graph.printer import format_line
from ...ir.lazy import lazy
from ...ir.locks import new_rlock
from ...runtime.api.register.process_settings import get_num_threads
from ...runtime.state.mode import OPEN_PROFILES
from ..errors.errors import TraceError
from .page import kernel_groups, page, time_text
from .shown import Listed
from .work import Work, works_of

timed = lazy(__package__, "...runtime.cpu.graph.timed")
peaks = lazy(__package__, "...runtime.cpu.calls.peaks")
_REPEATS = 5     # runs on made-up values, of which the quickest counts


@dataclass(repr=False)
class Row:
    """One step of a compiled graph: its work, count of runs and total seconds. `roofline` is its share of the speed that the
    machine's peaks of arithmetic and memory allow; above 1 where data was in caches."""

    work: Work
    calls: int = 0
    seconds: float = 0.0

    def __repr__(self):
        text = f"{counted(self.calls, 'call')} of {time_text(self.each)}: {repr(self.work)[1:-1]}"
        return f"<{clipped(text, COLUMNS - 2)}>"

    @property
    def each(self) -> float:
        return self.seconds / self.calls if self.calls else 0.0

    @property
    def roofline(self) -> float | None:
        if not self.each:
            return None
        most = machine(get_num_threads())
        return max(self.work.flops / most["flops"], self.work.bytes_moved / most["bytes"]) / self.each


@cache
def machine(threads: int) -> dict:
    """Return the machine's peaks with that many threads, measured once in a process in about 0.1 s."""
    return peaks.measured(threads, rounds=3, floats=1 << 23, fma_rounds=400_000)


class Profile:
    """Compiled code that ran while it was open: `rows` in the order of the programs, `events` (job, work, began, took, thread)
    in nanoseconds."""

    def __init__(self):
        self.events: list = Listed()
        self._rows: dict = {}      # job -> {step of its plan: Row}
        self._lock = new_rlock()

    @property
    def rows(self) -> list:
        """A Row for each step of each compiled graph that ran."""
        return Listed([row for rows in self._rows.values() for row in rows.values()])

    @property
    def jobs(self) -> list:
        return Listed(self._rows)

    def run(self, job, compiled, arrays) -> list:
        """Run a job's compiled graph with times, for every open profile."""
        results, moments = timed.run_timed(compiled, arrays)
        for profile in [p for p in OPEN_PROFILES if isinstance(p, Profile)]:
            profile.add(job, compiled, moments)
        return results

    def add(self, job, compiled, moments):
        thread = threading.get_native_id()
        with self._lock:
            rows = self._rows.setdefault(job, {})
            for w in works_of(compiled.plan) if any(m.step not in rows for m in moments) else ():
                rows.setdefault(w.step, Row(w))
            for m in moments:
                if m.step in rows:
                    rows[m.step].calls += 1
                    rows[m.step].seconds += 1e-9 * m.took
                    self.events.append((job, rows[m.step].work, m.began, m.took, thread))

    def headline(self) -> str:
        threads = get_num_threads()
        most, count = machine(threads), sum(row.calls for row in self.rows)
        total = sum(row.seconds for row in self.rows)
        return (f"{counted(count, 'step')} in {1e3 * total:.3g} ms on {counted(threads, 'thread')}; this machine: "
                f"{most['flops'] / 1e9:.0f} GFLOP/s, {most['bytes'] / 1e9:.0f} GB/s")

    def nothing(self) -> str:
        """Say what a profile without rows may lack."""
        return ("No compiled code ran. A traced function is recorded at its first call and compiled at its\n"
                "second one: call it twice before the profile begins. ingot.profiler times eager operators.")

    def _table(self) -> list:
        """Return the rows of the table, the longest times first."""
        total = sum(row.seconds for row in self.rows) or 1.0
        return [_cells(row, total) for row in sorted(self.rows, key=lambda row: -row.seconds) if row.calls]

    def __str__(self):
        below = text_table(_HEAD, self._table(), _WORDS) if self.rows else [self.nothing()]
        return "\n".join([self.headline(), *below])

    def __repr__(self):
        return shortened(str(self), "print(p)")

    def _repr_html_(self) -> str:
        if not self.rows:
            return html_text(str(self))
        return html_table(_HEAD, self._table(), _WORDS, self.headline(), 'print(p), or p.save("step.html"),')

    def trace(self) -> dict:
        """Return the timeline for Chrome and Perfetto."""
        events = [{"name": w.name, "cat": w.kind, "ph": "X", "ts": began / 1e3, "dur": took / 1e3, "pid": os.getpid(),
                   "tid": thread, "args": {"in": job.region.name, "operations": w.ops, "over": w.over, "bytes": w.bytes_moved,
                                           "flops": w.flops, "modules": list(w.modules),
                                           "lines": [format_line(n, full_paths=True) for n in w.lines]}}
                  for job, w, began, took, thread in self.events]
        return {"traceEvents": events, "displayTimeUnit": "ns", "otherData": {"headline": self.headline()}}

    def save(self, path):
        """Write a page (.html), a drawing of the graphs as they run (.svg) or the timeline (.json)."""
        path = Path(path)
        write = _FORMS.get(path.suffix.lower())
        if write is None:
            close = difflib.get_close_matches(path.suffix, _FORMS, 1, 0.6)
            hint = f"; did you mean {path.stem + close[0]!r}?" if close else ""
            if path.name in _FORMS:
                hint = "; put a name before the ending"
            raise ValueError("a profile is saved as .html (a page), .svg (a drawing) or .json (a timeline), got "
                             f"{path.name!r}{hint}")
        if not path.parent.is_dir():
            raise FileNotFoundError(errno.ENOENT, f"no folder {str(path.parent)!r} to save the profile in; make it first",
                                    str(path))
        path.write_text(write(self), encoding="utf-8", errors="replace")

    def html(self) -> str:
        """Return the page."""
        name = ", ".join(dict.fromkeys([job.region.name for job in self.jobs])) or "nothing"
        return page(f"Profile of {clipped(name, _TITLE)}", self.jobs, self)

    def svg(self) -> str:
        """Return the drawing of all graphs as they run, with their kernels in colours."""
        plans = [job.compile().plan for job in self.jobs]
        return view.stacked([(plan.graph, kernel_groups(plan)) for plan in plans])


_FORMS = {".html": Profile.html, ".svg": Profile.svg, ".json": lambda p: json.dumps(p.trace())}
_TITLE = 120         # letters of the names in the title of a page
_HEAD = ("calls", "each", "share", "GB/s", "GFLOP/s", "roofline", "what", "lines")
_WORDS = (6, 7)      # columns of words


def _cells(row, total):
    each, w = row.each, row.work
    what = w.name if w.kind == "kernel" else f"{w.kind} {w.ops} -> {w.over}"
    roofline = "" if row.roofline is None else f"{100 * row.roofline:.0f} %"
    return (str(row.calls), time_text(each), f"{100 * row.seconds / total:.1f} %",
            f"{w.bytes_moved / each / 1e9:.1f}" if each else "", f"{w.flops / each / 1e9:.1f}" if each else "", roofline, what,
            w.text)


@block
def profile():
    """Measure all compiled code that runs inside of the `with` block; see `Profile`."""
    found = Profile()

    def begin():
        OPEN_PROFILES.append(found)
        return found

    def put_back():
        if found in OPEN_PROFILES:
            OPEN_PROFILES.remove(found)

    return begin, put_back


# Without calls of the user's: on made-up values.


def profile_jobs(jobs) -> Profile:
    """Return the profile of compiled segments, each run a few times on random values; the quickest run of each step counts.
    Segments that call host functions cannot be run so."""
    found = Profile()
    for job in jobs:
        compiled = job.compile()
        if any("effect" in n.op.traits for n in compiled.graph.nodes):
            raise TraceError(f"{job.region.name} calls host functions, which do not run on made-up values; "
                             "use `with jit.profile()` around real calls")
        runs = [timed.run_timed(compiled, _random_inputs(compiled.graph.inputs))[1] for _ in range(_REPEATS)]
        best = [min(same, key=lambda m: m.took) for same in zip(*runs)]
        found.add(job, compiled, best)
    return found


def _random_inputs(inputs):
    """Return arrays of the inputs' types: random floats, and zeros (valid as any index) elsewhere."""
    rng = np.random.default_rng(0)
    return [rng.standard_normal(v.shape).astype(v.dtype.np) if v.dtype.is_inexact else np.zeros(v.shape, v.dtype.np)
            for v in inputs]
