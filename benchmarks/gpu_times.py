"""How long each launch of a training step takes on this machine's GPU, beside the least time that its bytes and operations take
on an H100: what the sums of `python -m benchmarks gpu` consist of. `python -m benchmarks.gpu_times [name ...]`

Launches run one by one, behind work that keeps the device busy until the host is ahead, with an event between each two (about a
microsecond, which is part of the figures). `gpu_ledger` says the same without a GPU, without the times.
"""

import argparse
import math
import os
import statistics
import time

import ingot
from ingot.runtime.cuda.offline import cost_model
from ingot.runtime.cuda.offline.cost_model import Times

from .gpu_ledger import prepared, wanted
from .gpu_steps import Step

WARM, ROUNDS = 4, 5
AHEAD, SOME = 1 << 30, 8                # bytes, one half of which is copied while the host gets ahead; copies timed first
LONGER = 1.5                            # times as long as the host takes for a step


class Busy:
    """Copies that the device is busy with."""

    def __init__(self):
        memory = ingot.empty(AHEAD, dtype=ingot.uint8, device="cuda")
        self._to, self._source = memory.chunk(2)
        self.copy(SOME)
        ingot.cuda.synchronize()
        start = time.perf_counter()
        self.copy(SOME)
        ingot.cuda.synchronize()
        self._seconds = (time.perf_counter() - start) / SOME

    def copy(self, count):
        """So many of them."""
        for _ in range(count):
            self._to.copy_(self._source)

    def needed(self, seconds) -> int:
        """How many take so long."""
        return math.ceil(seconds / self._seconds)


def timed(step: Step, times: Times) -> list:
    """(row, seconds of each of its launches in the median) of one run of a step, which is traced, without a graph."""
    run, given = prepared(step)
    for _ in range(WARM):
        run(*given)
    busy, copies, measured = Busy(), 1, []
    for _ in range(ROUNDS + 1):             # the first says how long the host takes
        ingot.cuda.synchronize()
        busy.copy(copies)
        times.clear()
        times.mark()
        start = time.perf_counter()
        run(*given)
        copies = max(copies, busy.needed(LONGER * (time.perf_counter() - start)))
        measured.append(times.seconds())
    each = map(statistics.median, zip(*measured[1:]))
    return [(row, [next(each) for _ in own]) for row, own in zip(times.rows, times.owners)]


def table(measured, most: int) -> str:
    """Sums by kind of row, then the rows that lie farthest above their floor, alike ones together."""
    chip = cost_model.H100
    kinds: dict = {}
    alike: dict = {}
    for row, launches in measured:
        kinds.setdefault(row.kind, []).append((row, sum(launches)))
        alike.setdefault(row, []).append(launches)
    lines = [f"{1e3 * sum([sum(t) for _, t in measured]):.3f} ms, "
             f"{1e3 * sum([r.floor(chip) for r, _ in measured]):.3f} at least", ""]
    for kind, rows in sorted(kinds.items(), key=lambda item: -sum([s for _, s in item[1]])):
        lines.append(f"{1e3 * sum([s for _, s in rows]):9.3f} ms, {1e3 * sum([r.floor(chip) for r, _ in rows]):7.3f} at least, "
                     f"{len(rows):4} x {kind}")
    means = [(row, len(times), [sum(t) / len(times) for t in zip(*times)]) for row, times in alike.items()]
    lines += ["", "us above the floor, times, us of one, its floor, GB/s, TFLOP/s; us of its kernels"]
    for row, count, each in sorted(means, key=lambda x: -x[1] * (sum(x[2]) - x[0].floor(chip)))[:most]:
        one, least = sum(each), row.floor(chip)
        kernels = ", ".join([f"{name}[{'x'.join(map(str, grid))}] {1e6 * s:.1f}" for (name, grid), s in zip(row.kernels, each)])
        lines.append(f"{1e6 * count * (one - least):8.1f} {count:4} x {1e6 * one:8.1f} {1e6 * least:8.1f} "
                     f"{(row.read + row.written) / one / 1e9:7.0f} {row.flops / one / 1e12:6.1f}  {row.kind} {row.shapes}: "
                     f"{kernels}")
    return "\n".join(lines)


def main(argv=None) -> int:
    """Prints a table for each step whose name begins as one of those given, or for all."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu_times", description=__doc__)
    parser.add_argument("names", nargs="*", help="how names of steps begin (default: all)")
    parser.add_argument("--rows", type=int, default=40, help="how many kinds of launches to show")
    args = parser.parse_args(argv)
    if not ingot.cuda.is_available():
        parser.error(ingot.cuda.why_not_available())
    os.environ["INGOT_CUDA_GRAPHS"] = "0"
    with Times() as times:
        for step in wanted(args.names):
            print(f"\n{step.name}\n{table(timed(step, times), args.rows)}", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
