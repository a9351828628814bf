"""Results of a workload, their expected ratios, and tables of both as text."""

import math
from dataclasses import asdict, dataclass, field

FLOAT32 = "ingot float32"          # our own float32, beside work in low precision
STARTS = ("cold", "warm", "memory")
OWN = ("ingot", "ingot eager", FLOAT32)


@dataclass
class Result:
    """Figures of one workload by library: seconds of a call, or bytes where `unit` is "B".

    `bars` say what is expected: "best" and names of peers are least ratios peer / ingot, "eager" the least ratio
    torch / ingot eager, "peak" the least share of the machine's peak, "most" the largest figure of ingot itself.
    """

    name: str
    seconds: dict[str, float]
    group: str = ""
    threads: int = 0
    unit: str = "s"
    bars: dict[str, float] = field(default_factory=dict)
    flops: float = 0.0
    bytes: float = 0.0
    note: str = ""
    first: dict[str, float] = field(default_factory=dict)       # seconds of the calls until all is compiled, beside the peers
    starts: dict[str, float] = field(default_factory=dict)      # in processes of its own: see starts.py
    errors: dict[str, float] = field(default_factory=dict)      # difference from the reference
    tails: dict[str, float] = field(default_factory=dict)       # seconds that 99 of 100 calls keep
    failed: dict[str, str] = field(default_factory=dict)        # library -> why it is not among the figures
    peaks: dict[str, float] = field(default_factory=dict)       # of the machine, with this many threads
    floor: float = 0.0                                          # the least seconds of ingot's launches, found without a device

    @property
    def peers(self) -> dict[str, float]:
        return {k: v for k, v in self.seconds.items() if k not in OWN}

    @property
    def best_peer(self) -> str | None:
        return min(self.peers, key=self.peers.get, default=None)

    @property
    def ratio(self) -> float | None:
        """The best peer's figure over ingot's: above 1 ingot is better."""
        return self.ratio_to(self.best_peer)

    def ratio_to(self, peer, mine="ingot") -> float | None:
        """A peer's figure over ingot's; None unless there are both."""
        return self.seconds[peer] / self.seconds[mine] if {peer, mine} <= self.seconds.keys() else None

    @property
    def eager_ratio(self) -> float | None:
        """torch's figure over that of eager ingot."""
        return self.ratio_to("torch", "ingot eager")

    @property
    def is_compute_bound(self) -> bool:
        """Whether the roofline of this machine says that arithmetic is the limit rather than memory."""
        if not self.bytes or not self.peaks:
            return bool(self.flops)
        return self.flops / self.bytes > self.peaks["flops"] / self.peaks["bytes"]

    @property
    def share(self) -> float | None:
        """How much of the machine's peak ingot reaches: of its arithmetic or of its memory bandwidth, whichever limits."""
        kind = "flops" if self.is_compute_bound else "bytes"
        work = getattr(self, kind)
        if not work or "ingot" not in self.seconds or not self.peaks.get(kind):
            return None
        return work / self.seconds["ingot"] / self.peaks[kind]

    def judgements(self) -> list[tuple[str, bool]]:
        """(a bar in words, whether it is reached) for each bar that this run can judge."""
        found = []
        for name, bar in self.bars.items():
            if name == "most":
                if "ingot" in self.seconds:
                    found.append((f"<= {in_words(bar, self.unit)}", self.seconds["ingot"] <= bar))
                continue
            value = {"best": self.ratio, "eager": self.eager_ratio, "peak": self.share}.get(name, self.ratio_to(name))
            if value is not None:
                words = f"{bar:.0%} of peak" if name == "peak" else f"{bar:g}" if name == "best" else f"{bar:g} {name}"
                found.append((f">= {words}", value >= bar))
        return found

    def as_json(self) -> dict:
        """Everything, and what follows from it."""
        bars = [{"bar": words, "reached": reached} for words, reached in self.judgements()]
        return asdict(self) | {"best_peer": self.best_peer, "ratio": self.ratio, "eager_ratio": self.eager_ratio,
                               "share": self.share, "verdicts": bars}


def in_words(value: float, unit: str = "s") -> str:
    """A figure with a unit that fits."""
    scales = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9))
    if unit == "B":
        scales = (("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("B", 1.0))
    name, scale = next(((n, s) for n, s in scales if value >= s), scales[-1])
    shown = value / scale
    return f"{shown:.0f} {name}" if shown >= 100 else f"{shown:.3g} {name}"


def on_threads(count: int) -> str:
    """A number of threads in words."""
    return f"{count} thread{'s' if count != 1 else ''}"


def geometric_mean(ratios) -> float | None:
    """The mean that treats twice as fast and half as fast alike; None of nothing."""
    ratios = list(ratios)
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else None


def aligned(rows) -> str:
    """Rows of cells in columns."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join("  ".join(cell.ljust(w) for cell, w in zip(row, widths)).rstrip() for row in rows)


def table(results: list[Result]) -> str:
    """The results of one group and number of threads: one row a workload, one column a library."""
    libraries = sorted({k for r in results for k in (*r.seconds, *r.failed)}, key=_order)
    shows_eager = any(r.eager_ratio is not None and r.ratio is not None for r in results)
    columns = STARTS if any(r.starts for r in results) else ("first calls",)
    floors = ["floor"] if any(r.floor for r in results) else []
    rows = [["workload", *libraries, "ratio", *(["eager"] if shows_eager else []), "peak", *floors, *columns, "bar", ""]]
    for r in results:
        ratios = [r.ratio, *([r.eager_ratio] if shows_eager else [])]
        rows.append([r.name, *(_cell(r, k) for k in libraries), *("" if v is None else f"{v:.2f}" for v in ratios),
                     "" if r.share is None else f"{r.share:.0%}", *[_floor(r) for _ in floors],
                     *(_start(r, c) for c in columns),
                     ", ".join(words + (" ok" if reached else " MISSED") for words, reached in r.judgements()), r.note])
    lines = [aligned(rows)]
    lines += [f"  {r.name}: {name} {why}" for r in results for name, why in r.failed.items()]
    return "\n".join(lines)


def _floor(result):
    """The least time of the launches, and what share of the figure it is."""
    if not result.floor or "ingot" not in result.seconds:
        return ""
    return f"{in_words(result.floor)} ({result.floor / result.seconds['ingot']:.0%})"


def _start(result, column):
    """Spell the cost of the first calls, in seconds or in bytes."""
    value = result.first.get("ingot") if column == "first calls" else result.starts.get(column)
    return "" if value is None else in_words(value, "B" if column == "memory" else "s")


def _order(library):
    return (OWN.index(library) if library in OWN else len(OWN), library)


def _cell(result, library):
    if library in result.failed:
        return "FAILED" if library in OWN else "failed"
    return in_words(result.seconds[library], result.unit) if library in result.seconds else "-"


def summary(results: list[Result], mean_bars: dict[str, float]) -> str:
    """For each group and number of threads: rows, geometric means, how many bars were reached."""
    lines = []
    for group, threads in dict.fromkeys((r.group, r.threads) for r in results):
        rows = [r for r in results if (r.group, r.threads) == (group, threads)]
        judgements = [reached for r in rows for _, reached in r.judgements()]
        mean = geometric_mean(r.ratio for r in rows if r.ratio is not None)
        eager = geometric_mean(r.eager_ratio for r in rows if r.eager_ratio is not None)
        words = [f"{group}, {on_threads(threads)}: {len(rows)} rows"]
        if mean is not None:
            bar = mean_bars.get(group)
            words.append(f"geometric mean {mean:.2f}" + (f" (bar {bar:g}{', MISSED' if mean < bar else ''})" if bar else ""))
        if eager is not None:
            words.append(f"eager {eager:.2f}")
        words.append(f"{sum(judgements)} of {len(judgements)} bars reached")
        wrong = sum(name in r.failed for r in rows for name in OWN)
        lines.append(", ".join(words + ([f"{wrong} FAILED"] if wrong else [])))
    return "\n".join(lines)
