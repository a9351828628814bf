"""Measuring several libraries on the same work in one process, fairly.

Each round runs every library once (A B A B), with an idle gap before each so that the spinning threads of one do not slow
the next. A figure is the median over rounds; each round repeats the call until it lasts long enough to time.
"""

import gc
import statistics
import time
from dataclasses import dataclass, field

IDLE_SECONDS = 0.06


@dataclass
class Result:
    """What one workload showed: seconds per call by library, and figures beside the time."""

    name: str
    group: str
    seconds: dict[str, float]
    note: str = ""
    extra: dict = field(default_factory=dict)

    @property
    def peers(self) -> dict[str, float]:
        return {k: v for k, v in self.seconds.items() if k != "ingot"}

    @property
    def best_peer(self) -> str | None:
        return min(self.peers, key=self.peers.get, default=None)

    @property
    def ratio(self) -> float | None:
        """Best peer's time over ingot's: above 1 ingot is faster."""
        best = self.best_peer
        return None if best is None or "ingot" not in self.seconds else self.peers[best] / self.seconds["ingot"]


def repeats_for(call, least: float) -> int:
    """How often to repeat a call so that one timing lasts `least` seconds."""
    n = 1
    while True:
        start = time.perf_counter()
        for _ in range(n):
            call()
        took = time.perf_counter() - start
        if took >= least or n >= 1 << 20:
            return n
        n = max(2 * n, int(n * least / max(took, 1e-9)))


def time_interleaved(calls: dict, rounds: int = 9, least: float = 0.02) -> dict[str, float]:
    """Median seconds per call of each library."""
    counts = {name: repeats_for(call, least) for name, call in calls.items()}
    times = {name: [] for name in calls}
    gc.collect()
    gc.disable()
    try:
        for _ in range(rounds):
            for name, call in calls.items():
                time.sleep(IDLE_SECONDS)
                n = counts[name]
                start = time.perf_counter()
                for _ in range(n):
                    call()
                times[name].append((time.perf_counter() - start) / n)
    finally:
        gc.enable()
    return {name: statistics.median(t) for name, t in times.items()}


def in_words(seconds: float) -> str:
    """A time with a unit that fits."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def table(results: list[Result]) -> str:
    """The results as text: one row a workload."""
    libraries = list(dict.fromkeys(k for r in results for k in r.seconds))
    rows = [["workload", *libraries, "best peer / ingot", ""]]
    for r in results:
        ratio = "" if r.ratio is None else f"{r.ratio:.2f}"
        rows.append([r.name, *(in_words(r.seconds[k]) if k in r.seconds else "-" for k in libraries), ratio, r.note])
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join("  ".join(cell.ljust(w) for cell, w in zip(row, widths)).rstrip() for row in rows)
