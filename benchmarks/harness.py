"""A fair comparison of several libraries on the same work in one process, after a check that their results agree.

Each round runs every library once, in turns (A B, then B A), so none always finds the caches that the same other one left.
Before each run, the threads of the one before stop spinning (OpenBLAS' spin for 100 ms). A figure is the median over rounds.
Each round repeats the call until it lasts long enough to time.
"""

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from .result import Result

REFERENCES = ("torch", "numpy", "ingot eager")       # whom the others must agree with: the first of these that ran


@dataclass(frozen=True)
class Plan:
    """How a run is made. `quick` measures less, `tiny` makes sizes for tests; `peers` are left out where not installed."""

    threads: int = 2
    quick: bool = False
    tiny: bool = False
    peers: tuple = ("numpy", "torch", "torch.compile", "torch.jit", "jax", "onnxruntime", "openvino", "IMB")

    def pick(self, full, quick, tiny):
        """A size or a list of cases that fits this run."""
        return tiny if self.tiny else quick if self.quick else full

    @property
    def rounds(self) -> int:
        return self.pick(9, 3, 1)

    @property
    def least(self) -> float:
        """Seconds that one timing lasts at least."""
        return self.pick(0.02, 0.005, 0.0)

    @property
    def idle(self) -> float:
        """Seconds of rest before each timing, at least."""
        return self.pick(0.06, 0.02, 0.0)

    @property
    def budget(self) -> float:
        """Seconds of one library in one workload, beyond which fewer rounds are made."""
        return self.pick(4.0, 0.5, 0.0)


@dataclass
class Case:
    """One piece of work: what each library calls for it, what it costs, what is expected. Bars are explained in `Result`."""

    name: str
    calls: dict[str, Callable]
    bars: dict[str, float] = field(default_factory=dict)
    flops: float = 0.0
    bytes: float = 0.0
    tolerance: float | None = 1e-4      # largest difference over the largest value; None: results are not comparable
    checks: int = 2                     # calls until all is compiled, and compared: one may record, the next compile
    note: str = ""
    peaks: dict[str, float] = field(default_factory=dict)      # of the device that works, where that is not the processor
    floor: float = 0.0                  # the least seconds that ingot's launches can take, where that is known
    reference: str = ""                 # whom the others must agree with, where that is none of `REFERENCES`


@dataclass(frozen=True)
class Queued:
    """A call that only puts work in a queue, and what waits until all of it is done."""

    call: Callable
    wait: Callable

    def __call__(self):
        return self.call()


def arrays_of(result) -> list[np.ndarray]:
    """The arrays in a result: tensors of any library, numbers, and nests of them; none in None."""
    if result is None:
        return []
    if isinstance(result, list | tuple):
        return [a for part in result for a in arrays_of(part)]
    if isinstance(result, dict):
        return [a for part in result.values() for a in arrays_of(part)]
    if hasattr(result, "detach"):
        result = result.detach()
        if "bfloat16" in str(result.dtype):         # which numpy has not
            result = result.float()
    return [np.asarray(result)]


def difference(mine, reference) -> float:
    """The largest difference over the largest value of the reference; infinite where shapes or NaNs differ."""
    mine, reference = arrays_of(mine), arrays_of(reference)
    if [a.shape for a in mine] != [a.shape for a in reference]:
        return float("inf")
    worst = 0.0
    for a, b in zip(mine, reference):
        if a.size:
            a, b = (v.astype(np.complex128 if np.iscomplexobj(v) else np.float64) for v in (a, b))
            scale = max(float(np.abs(b).max()), 1e-30)
            apart = float(np.abs(a - b).max()) / scale
            worst = max(worst, apart if apart == apart else float("inf"))
    return worst


@dataclass
class Check:
    """Results of the first calls: their seconds, the distance from the reference, and the errors of libraries that failed."""

    first: dict[str, float] = field(default_factory=dict)
    errors: dict[str, float] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    reference: str = ""


def check(case: Case) -> Check:
    """Call every library and compare the results. Libraries that raise or disagree are named in `failed`."""
    found, results = Check(), {}
    for name, call in case.calls.items():
        start = time.perf_counter()
        try:
            arrays = [arrays_of(call()) for _ in range(case.checks)]
            found.first[name] = time.perf_counter() - start
        except Exception as error:                # what a library cannot do is a finding of the benchmark, not its end
            found.failed[name] = f"{type(error).__name__}: {error}".strip().splitlines()[0][:160]
        else:
            results[name] = arrays
    if case.tolerance is None or not results:
        return found
    found.reference = next((n for n in (case.reference, *REFERENCES) if n in results), next(iter(results)))
    for name, arrays in results.items():
        error = found.errors[name] = difference(arrays, results[found.reference])
        if not error <= case.tolerance:
            found.failed[name] = f"differs from {found.reference} by {error:.1e} of the largest value"
    return found


def repeats_for(call, least: float) -> tuple[int, float]:
    """How often to repeat a call so that one timing lasts `least` seconds, and what one such timing took."""
    n, took = 1, seconds_of(call, 1)
    while n < 1 << 20:
        if took >= least:
            took = min(took, seconds_of(call, n)) if took < 20 * least else took     # one hiccup is not how long it lasts
        if took >= least:
            break
        n = max(2 * n, int(n * least / max(took, 1e-9)))
        took = seconds_of(call, n)
    return n, took


def seconds_of(call, count: int) -> float:
    """How long some calls take together. Those that queue work follow each other without waiting until all are made."""
    start = time.perf_counter()
    for _ in range(count):
        call()
    if isinstance(call, Queued):
        call.wait()
    return time.perf_counter() - start


def rest(least: float, most: float = 1.0):
    """Waits until this process uses no processor any more: threads of libraries may spin for a while after a call."""
    time.sleep(least)
    end = time.perf_counter() + most
    while least and time.perf_counter() < end:
        start, used = time.perf_counter(), time.process_time()
        time.sleep(0.005)
        if time.process_time() - used < 0.1 * (time.perf_counter() - start):
            break


def time_interleaved(calls: dict, plan: Plan) -> dict[str, float]:
    """Median seconds per call of each library. Slow calls are timed in fewer rounds, three at least (two when quick)."""
    counts, times = {}, {name: [] for name in calls}
    rounds = plan.rounds
    for name, call in calls.items():
        counts[name], took = repeats_for(call, plan.least)
        rounds = min(rounds, max(min(plan.rounds, 2 if plan.quick else 3), int(plan.budget / max(took, 1e-9))))
    gc.collect()
    gc.disable()
    try:
        for turn in range(rounds):
            for name in list(calls)[::-1 if turn % 2 else 1]:
                rest(plan.idle)
                times[name].append(seconds_of(calls[name], counts[name]) / counts[name])
    finally:
        gc.enable()
    return {name: statistics.median(t) for name, t in times.items()}


def measure(case: Case, plan: Plan) -> Result:
    """Checks a case, then times the libraries that passed."""
    checked = check(case)
    seconds = time_interleaved({n: c for n, c in case.calls.items() if n not in checked.failed}, plan)
    return Result(case.name, seconds, bars=case.bars, flops=case.flops, bytes=case.bytes, note=case.note, peaks=case.peaks,
                  floor=case.floor, first=checked.first, errors=checked.errors, failed=checked.failed)
