"""Profiles of traced functions: time of each kernel, compared with the machine's peak.

    with jit.profile() as p:
        for x, y in batches:
            step(x, y)
    print(p)                        # a table
    p.save("step.html")             # the same with graphs, kernels and source, as one page
    p.save("step.json")             # a timeline for ui.perfetto.dev or chrome://tracing

While a profile is open, compiled code is timed in all threads. Calls that record are not in it.
"""

import json
import os
import threading
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from ...ir.blocks import block
from ...ir.graph.printer import format_line
from ...ir.lazy import lazy
from ...ir.locks import new_lock
from ...runtime.api.register.process_settings import get_num_threads
from ...runtime.state.mode import OPEN_PROFILES
from ..errors.errors import TraceError
from .page import page
from .work import Work, works_of

timed = lazy(__package__, "...runtime.cpu.graph.timed")
peaks = lazy(__package__, "...runtime.cpu.calls.peaks")
_REPEATS = 5     # runs on made-up values, of which the quickest counts


@dataclass
class Row:
    """One step of a compiled graph: its work, count of runs and total seconds. `roofline` is its share of the speed that the
    machine's peaks of arithmetic and memory allow; above 1 where data was in caches."""

    work: Work
    calls: int = 0
    seconds: float = 0.0

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
        self.events: list = []
        self._rows: dict = {}      # job -> {step of its plan: Row}
        self._lock = new_lock()

    @property
    def rows(self) -> list:
        """A Row for each step of each compiled graph that ran."""
        return [row for rows in self._rows.values() for row in rows.values()]

    @property
    def jobs(self) -> list:
        return list(self._rows)

    def run(self, job, compiled, arrays) -> list:
        """Run a job's compiled graph with times."""
        results, moments = timed.run_timed(compiled, arrays)
        self.add(job, compiled, moments)
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
        return (f"{count} steps in {1e3 * total:.3g} ms on {threads} thread{'s' * (threads > 1)}; this machine: "
                f"{most['flops'] / 1e9:.0f} GFLOP/s, {most['bytes'] / 1e9:.0f} GB/s")

    def __str__(self):
        head = ("calls", "each", "share", "GB/s", "GFLOP/s", "roofline", "what", "lines")
        total = sum(row.seconds for row in self.rows) or 1.0
        cells = [_cells(row, total) for row in sorted(self.rows, key=lambda row: -row.seconds) if row.calls]
        widths = [max(len(c[i]) for c in (head, *cells)) for i in range(6)]
        lines = ["  ".join([*[c.rjust(w) for c, w in zip(row, widths)], *row[6:]]).rstrip() for row in (head, *cells)]
        return "\n".join([self.headline(), *lines])

    def trace(self) -> dict:
        """Return the timeline for Chrome and Perfetto."""
        events = [{"name": w.name, "cat": w.kind, "ph": "X", "ts": began / 1e3, "dur": took / 1e3, "pid": os.getpid(),
                   "tid": thread, "args": {"in": job.region.name, "operations": w.ops, "over": w.over, "bytes": w.bytes_moved,
                                           "flops": w.flops, "modules": list(w.modules),
                                           "lines": [format_line(n, full_paths=True) for n in w.lines]}}
                  for job, w, began, took, thread in self.events]
        return {"traceEvents": events, "displayTimeUnit": "ns", "otherData": {"headline": self.headline()}}

    def save(self, path):
        """Write a page (.html) or the timeline (.json)."""
        path = Path(path)
        if path.suffix not in (".html", ".json"):
            raise ValueError(f"a profile is saved as .html (a page) or .json (a timeline), got {path.name!r}")
        name = ", ".join(dict.fromkeys([job.region.name for job in self.jobs])) or "nothing ran"
        text = page(f"Profile of {name}", self.jobs, self) if path.suffix == ".html" else json.dumps(self.trace())
        path.write_text(text, encoding="utf-8")


def _cells(row, total):
    each, w = row.each, row.work
    time_ = f"{1e6 * each:.1f} us" if each < 1e-3 else f"{1e3 * each:.2f} ms"
    what = w.name if w.kind == "kernel" else f"{w.kind} {w.ops} -> {w.over}"
    return (str(row.calls), time_, f"{100 * row.seconds / total:.1f} %", f"{w.bytes_moved / each / 1e9:.1f}" if each else "",
            f"{w.flops / each / 1e9:.1f}" if each else "", "" if row.roofline is None else f"{100 * row.roofline:.0f} %", what,
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
