"""Planting mutations: each in a copy of the tree, in which the tests that matter to it run until one fails.

Results are lines of JSON, appended as they come, so a run that was stopped goes on where it was. A test that fails without any
mutation kills nothing: at the end every test that killed runs once in a clean copy, and what a broken one killed is run again.
"""

import contextlib
import json
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path

from . import only
from .sites import Site
from .tests_that_matter import MARKS, Map, importers, plugins

FILE_SECONDS = 0.4      # what reading one more file of tests costs
START_SECONDS = 30      # what starting costs at most, on a busy machine
FIRST_SECONDS = 8       # of the tests that run first: most mutations die of these
RELEVANCE = 50          # how much further to the front a test comes that alone has a word of the mutated line in its name
SLOWEST = 6             # how much longer than recorded tests may take
KILLED, SURVIVED, TIMEOUT, UNCOVERED = "killed", "survived", "timeout", "not covered"


@dataclass
class Settings:
    """How to run tests.

    seconds   recorded time of the tests of the mutated function that run at most; half as much again is for tests of other
              functions in its file
    options   what pytest gets besides
    """

    root: Path
    folder: Path
    python: str = sys.executable
    workers: int = 2
    seconds: float = 120
    options: list = field(default_factory=lambda: ["-m", MARKS, "--hypothesis-seed=0"])


class Copy:
    """A copy of the tree, of which one file at a time is another."""

    def __init__(self, settings: Settings, number: int):
        self.settings, self.base = settings, settings.folder / "copies" / str(number)
        self.root = self.base / "ingot"
        self._stamp = 0
        shutil.rmtree(self.root, ignore_errors=True)
        for file in files_of(settings.root):
            (self.root / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(settings.root / file, self.root / file, follow_symlinks=False)

    def plant(self, site: Site) -> Callable:
        """Write the mutated file; the result puts the old one back. Times differ, so no bytecode is taken for another's."""
        path = self.root / site.file
        old, status = path.read_text(encoding="utf-8"), path.stat()
        path.write_text(site.in_text(old), encoding="utf-8")
        self._stamp += 1
        later = int(status.st_mtime) + 1000 + int(time.time()) % 1_000_000 * 100 + self._stamp
        os.utime(path, (later, later))

        def restore():
            path.write_text(old, encoding="utf-8")
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))

        return restore

    def run(self, tests, expected: float) -> tuple:
        """Run tests until one fails: (None, KILLED or TIMEOUT; the test that failed, if that is known)."""
        listed, failed = self.base / "tests.txt", self.base / "failed.txt"
        listed.write_text("".join(t + "\n" for t in tests), encoding="utf-8")
        failed.unlink(missing_ok=True)
        path = [str(plugins(self.settings.folder)), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(path), only.LIST: str(listed), only.FAILED: str(failed),
                                    "PYTHONPYCACHEPREFIX": str(self.base / "bytecode")}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        files = list(dict.fromkeys(t.partition("::")[0] for t in tests if (self.root / t.partition("::")[0]).exists()))
        if not files:
            return None, None
        command = [self.settings.python, "-m", "pytest", "-x", "-q", "--no-header", "--tb=line", "-p", "no:cacheprovider",
                   "-p", "ingot_mutations.only", *self.settings.options, *files]
        with open(self.base / "output.txt", "w", encoding="utf-8") as output:
            process = subprocess.Popen(command, cwd=self.root, env=environment, stdout=output, stderr=subprocess.STDOUT,
                                       stdin=subprocess.DEVNULL, start_new_session=True)
            try:
                code = process.wait(START_SECONDS + SLOWEST * (expected + FILE_SECONDS * len(files)))
            except subprocess.TimeoutExpired:
                code = None
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)      # and all that tests started
                process.wait()
        by = failed.read_text(encoding="utf-8").splitlines()[0] if failed.exists() else None
        if code is None:
            return (KILLED if by else TIMEOUT), by
        return (None, None) if code in (0, 5) else (KILLED, by)      # (5: pytest found none of the tests)


def files_of(root: Path) -> list:
    """Return the files of a tree, without those that git ignores."""
    if not (root / ".git").exists():
        return [f.relative_to(root).as_posix() for f in root.rglob("*") if f.is_file() and "__pycache__" not in f.parts]
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=root, capture_output=True, check=True)
    return [f for f in dict.fromkeys(listed.stdout.decode().split("\0")) if f and (root / f).is_file()]


@dataclass
class Plan:
    """The tests of a mutation: batches of (tests, recorded seconds), whether time left some out, and whether any of them
    executes the mutated function."""

    batches: list
    cut: bool
    covered: bool


def plan(site: Site, tests: Map, settings: Settings, without=frozenset()) -> Plan:
    """Choose the tests for a mutation."""
    seconds = settings.seconds
    around = [t for t in tests.of_files([site.file]) or tests.of_files(importers(settings.root, site.file)) if t not in without]
    own = [t for t in tests.of_function(site.file, site.inner) if t not in without]
    is_function = tests.knows(site.file, site.inner)
    if not own and site.inner != site.function:
        own = [t for t in tests.of_function(site.file, site.function) if t not in without]
    if not is_function:
        own = around
    first, rest, cut = _within(by_relevance(own, site), tests, FIRST_SECONDS, seconds)
    others, _, _ = _within(by_relevance([t for t in around if t not in set(own)], site), tests, seconds / 2, 0)
    batches = [(some, sum(map(tests.time_of, some))) for some in (first, rest + others) if some]
    return Plan(batches, cut, bool(own))


def by_relevance(names, site: Site) -> list:
    """Order tests so that further rows of a test function come later, and those earlier whose names have words in common with
    the mutated line: the rarer these are, the earlier."""
    words = set(re.findall(r"[a-z][a-z0-9]{3,}", f"{site.file.rpartition('/')[2]} {site.function} {site.before}".lower()))
    lowered = [name.lower() for name in names]
    weights = {w: 1 / n for w in words if (n := sum(w in name for name in lowered))}
    turns: Counter = Counter()
    keys = []
    for i, (name, low) in enumerate(zip(names, lowered)):
        function = name.partition("[")[0]
        shared = sum(weight for w, weight in weights.items() if w in low)
        keys.append(((i + 1) * (1 + turns[function] / 2) / (1 + RELEVANCE * shared), i))
        turns[function] += 1
    return [names[i] for _, i in sorted(keys)]


def _within(names, tests, limit, more):
    """Return tests for so many seconds, for so many more, and whether some are left."""
    parts, spent, files = ([], []), 0.0, set()
    for i, name in enumerate(names):
        file = name.partition("::")[0]
        spent += tests.time_of(name) + FILE_SECONDS * (file not in files)
        files.add(file)
        if spent > limit + more and i:
            return *parts, True
        parts[bool(spent > limit and i)].append(name)
    return *parts, False


def run_all(sites, tests: Map, settings: Settings, results: Path, report=print):
    """Plant every mutation that has no result yet, then look whether the tests that killed are sound."""
    done = read(results)
    todo = [s for s in sites if s.id not in done]
    copies: queue.Queue = queue.Queue()
    for n in range(settings.workers):
        copies.put(Copy(settings, n))
    broken = _broken_tests(settings)
    lock, count = threading.Lock(), [len(sites) - len(todo)]

    def one(site):
        copy = copies.get()
        try:
            row = result_of(site, copy, tests, settings, broken)
        finally:
            copies.put(copy)
        with lock:
            count[0] += 1
            with open(results, "a", encoding="utf-8") as out:
                out.write(json.dumps(row) + "\n")
            report(f"{count[0]:4} {row['id']} {row['result']:11} {row['seconds']:6.1f} s  {site.file}:{site.line}  {site.kind}")

    with ThreadPoolExecutor(settings.workers) as pool:
        list(pool.map(one, todo))
    rows = [r for r in read(results).values() if r["id"] in {s.id for s in sites}]
    found = find_broken({r["by"] for r in rows if r["by"]} - broken, copies.get(), tests)
    if found:
        report(f"{len(found)} tests fail without a mutation; what they killed is run again: " + ", ".join(sorted(found)))
        _broken_file(settings).write_text("".join(f"{t}\n" for t in sorted(broken | found)), encoding="utf-8")
        forget(results, {r["id"] for r in rows if r["by"] in found})
        run_all(sites, tests, settings, results, report)


def result_of(site: Site, copy: Copy, tests: Map, settings: Settings, without=frozenset()) -> dict:
    """Plant one mutation, and return its row."""
    start, chosen = time.monotonic(), plan(site, tests, settings, without)
    result, by, ran = None, None, 0
    restore = copy.plant(site)
    try:
        for some, seconds in chosen.batches:
            result, by = copy.run(some, seconds)
            ran += len(some)
            if result is not None:
                break
    finally:
        restore()
    result = result or (SURVIVED if chosen.covered else UNCOVERED)
    return {"id": site.id, **asdict(site), "result": result, "by": by, "tests": ran, "cut": chosen.cut and result == SURVIVED,
            "seconds": round(time.monotonic() - start, 1)}


def find_broken(names, copy: Copy, tests: Map) -> set:
    """Return the tests that fail without a mutation."""
    names, found = {n for n in names if "::" in n and tests.has(n)}, set()
    while names:
        _, by = copy.run(sorted(names), sum(map(tests.time_of, names)))
        if by is None:
            return found
        found.add(by)
        names.discard(by)
    return found


def _broken_file(settings):
    return settings.folder / "broken_tests.txt"


def _broken_tests(settings) -> set:
    file = _broken_file(settings)
    return set(file.read_text(encoding="utf-8").splitlines()) if file.exists() else set()


def read(results: Path) -> dict:
    """Read results: {id: row}, of several rows of one site the last."""
    if not results.exists():
        return {}
    rows = map(json.loads, filter(None, results.read_text(encoding="utf-8").splitlines()))
    return {row["id"]: row for row in rows}


def forget(results: Path, ids):
    """Take the rows of some sites out of the results."""
    rows = [row for row in read(results).values() if row["id"] not in ids]
    results.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
