"""The command line of the room."""

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from . import __doc__ as about
from . import checkout, compare, costs, counts, generated, names

PACKAGES = "numpy", "ml_dtypes", "llvmlite", "triton", "onnx", "torch", "hypothesis", "pytest"
SECTIONS = "generated", "names", "tests", "imports", "calls"


def output_of(*arguments) -> dict:
    """Return what a command of this room prints in a process of its own."""
    done = subprocess.run([*checkout.COMMAND, *arguments], cwd=checkout.ROOT, env=checkout.environment(),
                          stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout) if not done.returncode else {"failed": f"{arguments} ended with {done.returncode}"}


def made_with() -> dict:
    """Return the versions on which a record may depend."""
    found = {"python": platform.python_version(), "machine": platform.machine()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "none"
    return found


def record(sections, texts: Path | None, timings: bool, programs=()) -> dict:
    """Make a record. Timings come last, when nothing else runs."""
    found: dict = {"about": made_with()}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = {}
        if "tests" in sections:
            jobs["tests"] = pool.submit(counts.collected)
        if "names" in sections:
            jobs["names"] = pool.submit(output_of, "names")
        if "generated" in sections:
            for target in output_of("targets"):
                jobs[target] = pool.submit(generated.read, target, programs, texts)
        done = {name: job.result() for name, job in jobs.items()}
    if "generated" in sections:
        found["generated"] = {target: done[target] for target in done if target not in ("tests", "names")}
    if "names" in sections:
        found["others"] = done["names"].pop("also", {})
        found["stubs"] = names.of_stubs()
        found["names"] = done["names"]
    if "tests" in sections:
        found["tests"] = done["tests"]
    if "calls" in sections:
        found["calls"] = output_of("calls")
    if "imports" in sections:
        found["imports"] = costs.of_import()
    if timings:
        found["small_ops"] = costs.of_small_ops()
    return found


def failures(found, where="") -> list[str]:
    """Return what could not be recorded."""
    if not isinstance(found, dict):
        return []
    own = [f"{where}: {found['failed']}"] if isinstance(found.get("failed"), str) else []
    return own + [line for name, inner in found.items() for line in failures(inner, f"{where} {name}".strip())]


def main(argv=None) -> int:
    """Run a command; the result is the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.baseline", description=about,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    write = commands.add_parser("write", help="make a record (some minutes)")
    write.add_argument("file", type=Path, help="compressed where it ends in .xz")
    write.add_argument("--timings", action="store_true", help="measure small operators, on a machine that does nothing else")
    write.add_argument("--texts", type=Path, help="a folder that receives the generated texts, to be compared by `diff -r`")
    write.add_argument("--only", nargs="+", choices=SECTIONS, default=SECTIONS, help="sections")
    write.add_argument("--programs", nargs="+", default=(), help="programs whose code is generated (default: all)")
    two = commands.add_parser("compare", help="say what differs; the status is 1 if something does that must not")
    two.add_argument("before", type=Path)
    two.add_argument("after", type=Path)
    target = commands.add_parser("target")
    target.add_argument("name")
    target.add_argument("programs", nargs="*")
    target.add_argument("--texts", type=Path)
    for name in ("targets", "names", "calls"):
        commands.add_parser(name)
    args = parser.parse_args(argv)
    if args.command == "compare":
        return 0 if compare.compare(compare.load(args.before), compare.load(args.after)) else 1
    checkout.make_importable()
    if args.command == "write":
        start = time.monotonic()
        found = record(args.only, args.texts and args.texts.absolute(), args.timings, args.programs)
        compare.save(found, args.file)
        bad = failures(found)
        print(*bad, f"{args.file}: {args.file.stat().st_size >> 10} KB after {time.monotonic() - start:.0f} s", sep="\n")
        return 1 if bad else 0
    results = {"target": lambda: generated.of_target(args.name, args.programs, args.texts), "targets": generated.targets,
            "names": names.of_modules, "calls": costs.of_calls}[args.command]()
    print(json.dumps(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
