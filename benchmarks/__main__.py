"""ingot and its peers on the same work, interleaved in one process, after checking that they agree.

Each number of threads has a process of its own; if one dies or hangs, the workload is named and the others go on.
"""

import argparse
import json
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

from ingot.ir.target import host

from .groups import MEAN_BARS, chosen, listing
from .harness import Plan
from .libraries import installed
from .picture import ratios_picture, roofline_picture
from .result import Result, in_words, on_threads, summary, table
from .starts import with_starts
from .subprocesses import ROOT, command, variables

RESULTS = Path(__file__).parent / "results"


def arguments(argv):
    """What the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    parser.add_argument("names", nargs="*", help="groups or workloads (default: all)")
    parser.add_argument("--quick", action="store_true", help="fewer sizes and rounds, no torch.compile: under two minutes")
    parser.add_argument("--threads", help=f"numbers of threads (default: 1,{cores}; {cores} if quick)")
    parser.add_argument("--peers", help=f"peers to compare with (default: {','.join(Plan.peers)})")
    parser.add_argument("--json", type=Path, help="write the results here")
    parser.add_argument("--picture", type=Path, help="draw the ratios here (SVG), and the roofline beside it")
    parser.add_argument("--list", action="store_true", help="say what there is, measure nothing")
    args = parser.parse_args(argv)
    counts = args.threads or (str(cores) if args.quick or cores == 1 else f"1,{cores}")
    try:
        args.threads = [int(n) for n in counts.split(",")]
        args.work = chosen(args.names)
    except ValueError as error:
        parser.error(str(error))
    args.peers = list(Plan.peers) if args.peers is None else [p for p in args.peers.split(",") if p]
    strange = [p for p in args.peers if p not in Plan.peers]
    if strange or min(args.threads) < 1:
        parser.error(f"unknown peers: {', '.join(strange)}" if strange else f"threads are counted from 1, got {counts}")
    return args


def events_of(worker, limit: float):
    """What a worker process reports, then why it stopped. Silence for `limit` seconds ends it."""
    lines: queue.Queue = queue.Queue()
    reader = threading.Thread(target=lambda: [*map(lines.put, worker.stdout), lines.put(None)], daemon=True)
    reader.start()
    try:
        while (line := lines.get(timeout=limit)) is not None:
            yield json.loads(line)
        yield {"stopped": f"the process ended with status {worker.wait()}"}
    except queue.Empty:
        yield {"stopped": f"nothing came for {limit:.0f} s"}
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


def measured(order: dict, limit: float) -> list[Result]:
    """Results of a worker process; one that dies, or is silent for `limit` seconds, is replaced for what is left."""
    results: list[Result] = []
    peaks: dict = {}
    try:
        _measure(dict(order, work=list(order["work"])), limit, results, peaks)
    except KeyboardInterrupt:
        raise Interrupted([replace(r, peaks=peaks) for r in results]) from None
    return [replace(r, peaks=peaks) for r in results]


def _measure(order, limit, results, peaks):
    while order["work"]:
        worker = subprocess.Popen(command("worker", json.dumps(order)), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  text=True, cwd=ROOT, env=variables(order["threads"]))
        for event in events_of(worker, limit):
            if "result" in event:
                results.append(Result(**event["result"]))
            elif "peaks" in event:
                peaks.update({k: max(v, peaks.get(k, 0)) for k, v in event["peaks"].items()})
            elif "ends" in event:
                order["work"].pop(0)
                say(f"{event['seconds']:5.1f} s  {'/'.join(event['ends'])}, {on_threads(order['threads'])}")
            elif "stopped" in event and not peaks:
                raise RuntimeError(f"the measuring process does not start: {event['stopped']}")
            elif "stopped" in event and order["work"]:
                group, name = order["work"].pop(0)
                say(f"{group}/{name}: {event['stopped']}")
                results.append(Result(name, {}, group, order["threads"], failed={"ingot": event["stopped"]}))


def say(words):
    """Progress, beside the results."""
    print(words, file=sys.stderr, flush=True)


def about(args, seconds) -> dict:
    """What was run where."""
    return {"date": str(date.today()), "cpu": cpu_name(), "target": str(host()), "cores": os.cpu_count(),
            "python": sys.version.split()[0], "quick": args.quick, "peers": [p for p in args.peers if installed(p)],
            "seconds": round(seconds)}


def cpu_name() -> str:
    """What the processor calls itself."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), host().level)


def save(results, facts, json_file: Path | None, picture: Path | None):
    """Writes the results as JSON, and as pictures of the ratios and of the roofline."""
    if json_file:
        json_file.parent.mkdir(parents=True, exist_ok=True)
        json_file.write_text(json.dumps({"about": facts, "results": [r.as_json() for r in results]}, indent=1) + "\n")
    if picture:
        picture.parent.mkdir(parents=True, exist_ok=True)
        title = f"{facts['cpu']}, {facts['date']}"
        picture.write_text(ratios_picture(results, title))
        picture.with_stem(picture.stem + "-roofline").write_text(roofline_picture(results, title))


def main(argv=None) -> int:
    """Runs, prints, writes. A full run of everything is kept in `results/`. Gives 1 where ingot failed or was wrong, 130 where
    the run was interrupted."""
    args = arguments(argv)
    if args.list:
        print(listing())
        return 0
    missing = [p for p in args.peers if not installed(p)]
    if missing:
        print(f"left out, not installed: {', '.join(missing)} (pip install 'ingot[bench]')")
    if args.quick and "torch.compile" in args.peers:
        print("left out of quick runs: torch.compile")
    start, results, whole = time.perf_counter(), [], True
    for threads in args.threads:
        order = {"threads": threads, "quick": args.quick, "peers": args.peers, "work": args.work}
        try:
            results += measured(order, limit=120 if args.quick else 900)
            if not args.quick:
                results = with_starts(results, args.work, Plan(threads), say)
        except Interrupted as stop:
            say(str(stop))
            results, whole = results + stop.results, False
            break
        except KeyboardInterrupt:
            whole = False                   # while first calls were measured: the table goes without them
            break
        except RuntimeError as error:
            say(str(error))
            return 2
    groups = dict.fromkeys((r.group, r.threads) for r in results)
    for group, threads in groups:
        print(f"\n{group}, {on_threads(threads)}")
        print(table([r for r in results if (r.group, r.threads) == (group, threads)]))
    seconds = time.perf_counter() - start
    for threads, peaks in {r.threads: r.peaks for r in results if r.peaks}.items():
        print(f"\nthis machine, {on_threads(threads)}: {peaks['flops'] / 1e9:.0f} GFLOP/s, "
              f"{peaks['bytes read'] / 1e9:.0f} GB/s reading, {peaks['bytes x + y'] / 1e9:.0f} GB/s adding")
    print(f"\n{summary(results, MEAN_BARS)}\n{in_words(seconds)} in all")
    keeps = whole and not (args.names or args.quick)
    base = RESULTS / f"{date.today()}.json"
    save(results, about(args, seconds), args.json or (base if keeps else None),
         args.picture or (base.with_suffix(".svg") if keeps else None))
    wrong = any(name in r.failed for r in results for name in ("ingot", "ingot eager"))
    return int(wrong) if whole else 130


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))     # `timeout` is Ctrl-C, too
    sys.exit(main())
