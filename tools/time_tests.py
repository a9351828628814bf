"""Finds the rows of tests that take so long that they are left to `make test-slow`, and writes them to `tests/slow_rows.txt`.

    python tools/time_tests.py [--add] [--limit SECONDS] [what pytest takes]

Times every test that `make test` might run, or with `--add` only those that it runs today, whose slow rows it adds to the list.
Of each test function the quickest row stays, however long it takes, so that no property is without a test there. So do the rows
of `WHOLE`. Run it on a machine that does nothing else, twice: kernels that no cache has take most of the time.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIST = ROOT / "tests" / "slow_rows.txt"
FOLDER = "INGOT_TIMES_OF_TESTS"     # where each process writes what its tests took
HEAD = "# Rows of tests that take long, which `make test-slow` runs. Written by tools/time_tests.py.\n"

# Tests whose rows all stay. Each row of the oracle is a function or layer of its own; 67 of them took 66 s with an empty cache
# of kernels, and 5 s with a full one.
WHOLE = frozenset(("tests/oracle/test_oracle.py::test_eager_results_are_those_of_pytorch",))


def pytest_runtest_protocol(item, nextitem):
    """As a plugin: how long a test takes, whose times are told when the next one begins."""
    note(item.nodeid)


def pytest_sessionfinish(session):
    """As a plugin: the last one has ended."""
    note(None)


def note(name):
    """Notes that a test begins, and so that the one before has ended."""
    now = time.perf_counter()
    if _running.get("name"):
        with open(os.path.join(os.environ[FOLDER], f"{os.getpid()}.json"), "a", encoding="utf-8") as out:
            out.write(json.dumps([_running["name"], now - _running["since"]]) + "\n")
    _running.update(name=name, since=now)


_running: dict = {}


def run(more, add) -> dict:
    """Seconds by name of test."""
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {FOLDER: folder, "PYTHONPATH": os.pathsep.join(
            [str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])])}
        command = [sys.executable, "-m", "pytest", "-p", Path(__file__).stem, *([] if add else ["--all-rows"]),
                   "-m", "not slow and not gpu and not peer",
                   "-n", "auto", "--maxprocesses", "4", "--dist", "worksteal", *more]
        if subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode:
            print("Some tests failed; their times may be wrong.")
        lines = [line for file in Path(folder).glob("*.json") for line in file.read_text(encoding="utf-8").splitlines()]
    return dict(map(json.loads, lines))


def rows_to_leave(times: dict, limit: float) -> list:
    """The names of rows that take longer than so many seconds, but for the quickest of each function."""
    functions = defaultdict(list)
    for name, seconds in times.items():
        functions[name.partition("[")[0]].append((seconds, name))
    return sorted([name for function, rows in functions.items() if function not in WHOLE
                   for seconds, name in sorted(rows)[1:] if seconds > limit])


def main():
    """Times, and writes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=float, default=0.12, help="seconds that a row may take (0.12)")
    parser.add_argument("--add", action="store_true", help="time the rows of make test and add to the list")
    args, more = parser.parse_known_args()
    times = run(more, args.add)
    left = rows_to_leave(times, args.limit)
    known = LIST.read_text(encoding="utf-8").splitlines()[1:] if args.add else []
    LIST.write_text(HEAD + "".join([name + "\n" for name in sorted({*known, *left})]), encoding="utf-8")
    took = sum(times.values())
    print(f"{len(left)} of {len(times)} rows, {sum(times[name] for name in left):.0f} of {took:.0f} seconds, are left to make "
          "test-slow")


if __name__ == "__main__":
    main()
