"""ingot and its peers on the same work, interleaved in one process, after checking that they agree.

Each number of threads has a process of its own; if one dies or hangs, the workload is named and the others go on.
"""

import argparse
import json
import math
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from datetime import date
from pathlib import Path

from ingot.ir.requirements import install_extra

from .groups import MEAN_BARS, chosen, listing
from .harness import Plan
from .libraries import PROGRAMS, installed
from .picture import ratios_picture, roofline_picture
from .record import Record, about
from .result import Result, in_words, on_threads, summary, table
from .starts import with_starts
from .subprocesses import ROOT, command, variables

RESULTS = Path(__file__).parent / "results"


def arguments(argv):
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    parser.add_argument("names", nargs="*", help="groups or workloads (default: all)")
    parser.add_argument("--quick", action="store_true", help="fewer sizes and rounds, no torch.compile: under two minutes")
    parser.add_argument("--threads", help=f"numbers of threads (default: 1,{cores}; {cores} if quick, or on a GPU)")
    parser.add_argument("--peers", help=f"peers to compare with (default: {','.join(Plan.peers)})")
    parser.add_argument("--json", type=Path, help="write the results here")
    parser.add_argument("--resume", action="store_true", help="keep what --json holds already, measure the rest")
    parser.add_argument("--minutes", type=float, default=math.inf, help="stop after so long; --resume goes on from there")
    parser.add_argument("--picture", type=Path, help="draw the ratios here (SVG), and the roofline beside it")
    parser.add_argument("--list", action="store_true", help="say what there is, measure nothing")
    args = parser.parse_args(argv)
    args.arguments = sys.argv[1:] if argv is None else list(argv)
    try:
        args.work = chosen(args.names)
        once = args.quick or cores == 1 or all(group == "gpu" for group, _ in args.work)
        counts = args.threads or (str(cores) if once else f"1,{cores}")
        args.threads = [int(n) for n in counts.split(",")]
    except ValueError as error:
        parser.error(str(error))
    if args.resume and not args.json:
        parser.error("--resume needs --json: what it goes on with")
    args.peers = list(Plan.peers) if args.peers is None else [p for p in args.peers.split(",") if p]
    strange = [p for p in args.peers if p not in Plan.peers]
    if strange or min(args.threads) < 1:
        parser.error(f"unknown peers: {', '.join(strange)}" if strange else f"threads are counted from 1, got {counts}")
    return args


def events_of(worker, limit: float, until: float = math.inf):
    """Yield the events of a worker process, then why it stopped: it ended, was silent for `limit` seconds, or `until` came."""
    lines: queue.Queue = queue.Queue()
    reader = threading.Thread(target=lambda: [*map(lines.put, worker.stdout), lines.put(None)], daemon=True)
    reader.start()
    try:
        while (line := lines.get(timeout=max(0.0, min(limit, until - time.monotonic())))) is not None:
            yield json.loads(line)
        yield {"stopped": f"the process ended with status {worker.wait()}"}
    except queue.Empty:
        yield {"late": True} if time.monotonic() >= until else {"stopped": f"nothing came for {limit:.0f} s"}
    finally:
        worker.kill()
        worker.wait()
        reader.join()
        worker.stdin.close()
        worker.stdout.close()


class Interrupted(Exception):
    """The user ended the run; `results` are those that there are."""

    def __init__(self, results):
        super().__init__("interrupted: what was measured follows")
        self.results = results


def measured(order: dict, limit: float, until: float = math.inf, after=lambda results, done: None) -> list[Result]:
    """Results of a worker process; one that dies, or is silent for `limit` seconds, is replaced for what is left until a time.
    `after` is given the results so far, and the workloads that are done, whenever there are more."""
    results: list[Result] = []
    peaks: dict = {}
    work, done = list(order["work"]), []

    def there():
        return [replace(r, peaks=r.peaks or peaks) for r in results]

    try:
        for _ in _measure(dict(order, work=work), limit, until, results, peaks, done):
            after(there(), done)
    except KeyboardInterrupt:
        raise Interrupted(there()) from None
    return there()


def _measure(order, limit, until, results, peaks, done):
    """Yields after each result and each workload."""
    while order["work"] and time.monotonic() < until:
        worker = subprocess.Popen(command("worker", json.dumps(order)), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  text=True, cwd=ROOT, env=variables(order["threads"]))
        for event in events_of(worker, limit, until):
            if "result" in event:
                results.append(Result(**event["result"]))
                yield
            elif "peaks" in event:
                peaks.update({k: max(v, peaks.get(k, 0)) for k, v in event["peaks"].items()})
            elif "ends" in event:
                done.append(order["work"].pop(0))
                yield
                say(f"{event['seconds']:5.1f} s  {'/'.join(event['ends'])}, {on_threads(order['threads'])}")
            elif "stopped" in event and not peaks:
                raise RuntimeError(f"the measuring process does not start: {event['stopped']}")
            elif "stopped" in event and order["work"]:
                group, name = order["work"].pop(0)
                say(f"{group}/{name}: {event['stopped']}")
                results.append(Result(name, {}, group, order["threads"], failed={"ingot": event["stopped"]}))
                done.append((group, name))
                yield
    if order["work"]:
        say(f"no time is left for {', '.join([name for _, name in order['work']])}")


def say(words):
    """Progress, beside the results."""
    print(words, file=sys.stderr, flush=True)


def draw(results, facts, picture: Path | None):
    """Pictures of the ratios and of the roofline."""
    if picture:
        picture.parent.mkdir(parents=True, exist_ok=True)
        title = f"{facts['cpu']}, {facts['date']}"
        picture.write_text(ratios_picture(results, title))
        picture.with_stem(picture.stem + "-roofline").write_text(roofline_picture(results, title))


def show(results, seconds):
    """The tables, what the machine does at best, and the sums of it."""
    for group, threads in dict.fromkeys((r.group, r.threads) for r in results):
        print(f"\n{group}, {on_threads(threads)}")
        print(table([r for r in results if (r.group, r.threads) == (group, threads)]))
    for threads, peaks in {r.threads: r.peaks for r in results if "bytes read" in r.peaks}.items():
        print(f"\nthis machine, {on_threads(threads)}: {peaks['flops'] / 1e9:.0f} GFLOP/s, "
              f"{peaks['bytes read'] / 1e9:.0f} GB/s reading, {peaks['bytes x + y'] / 1e9:.0f} GB/s adding")
    print(f"\n{summary(results, MEAN_BARS)}\n{in_words(seconds)} in all")


def run(args, record: Record, start: float) -> tuple[Record, bool]:
    """Measures what is not done; gives the record, and whether it was not interrupted."""
    until = time.monotonic() + 60 * args.minutes
    for threads in args.threads:
        work = record.left(args.work, threads)
        order = {"threads": threads, "quick": args.quick, "peers": args.peers, "work": work}

        finished: list = []

        def keep(results, done, before=record, threads=threads, finished=finished):
            finished[:] = done
            before.with_more(results, done, threads).write(about(args, time.perf_counter() - start))

        try:
            results = measured(order, 120 if args.quick else 900, until, keep)
            record = record.with_more(results, finished, threads)
            if not args.quick and time.monotonic() < until:
                record = record.with_more(with_starts(record.results, work, Plan(threads), say))
        except Interrupted as stop:
            say(str(stop))
            return record.with_more(stop.results, finished, threads), False
        except KeyboardInterrupt:
            return record, False            # while first calls were measured: the table goes without them
    return record, True


def main(argv=None) -> int:
    """Runs, prints, writes. A full run of everything is kept in `results/`. Gives 1 where ingot failed or was wrong, 130 where
    the run was interrupted."""
    args = arguments(argv)
    if args.list:
        print(listing())
        return 0
    missing = [p for p in args.peers if not installed(p) and p not in PROGRAMS]
    if missing:
        print(f"left out, not installed: {', '.join(missing)} ({install_extra('bench')})")
    if "IMB" in args.peers and not installed("IMB") and any(group == "distributed" for group, _ in args.work):
        print(f"left out: {PROGRAMS['IMB']} of the package impi-rt is not on the PATH")
    if args.quick and "torch.compile" in args.peers:
        print("left out of quick runs: torch.compile")
    start = time.perf_counter()
    try:
        record, whole = run(args, Record.resumed(args.json) if args.resume else Record(args.json), start)
    except RuntimeError as error:
        say(str(error))
        return 2
    seconds = time.perf_counter() - start
    show(record.results, seconds)
    keeps = whole and not (args.names or args.quick) and args.minutes == math.inf
    base, facts = RESULTS / f"{date.today()}.json", about(args, seconds)
    replace(record, path=args.json or (base if keeps else None)).write(facts)
    draw(record.results, facts, args.picture or (base.with_suffix(".svg") if keeps else None))
    wrong = any(name in r.failed for r in record.results for name in ("ingot", "ingot eager"))
    return int(wrong) if whole else 130


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))     # `timeout` is Ctrl-C, too
    sys.exit(main())
