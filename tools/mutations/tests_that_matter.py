"""The tests that execute a function, from a map that one run of all tests makes.

The map holds for each test its seconds, whether it failed, and one bit for each function of the product. Functions are known
by (file, name), so edits of the tree do not make the map useless; a file that moved is found by its name without the folder.
"""

import ast
import base64
import json
import os
import re
import subprocess
import sys
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from . import hits
from .functions import functions_in
from .sites import HERE, product_files

MARKS = "not slow and not gpu and not peer"      # what `make test` runs
SITE = "import os\nif os.environ.get('INGOT_HITS_FOLDER'):\n    from ingot_mutations import hits\n    hits.install()\n"


def plugins(folder: Path) -> Path:
    """Make a folder for PYTHONPATH, in which this room is the package `ingot_mutations`."""
    place = folder / "plugins"
    place.mkdir(parents=True, exist_ok=True)
    link = place / "ingot_mutations"
    if not link.is_symlink() or link.resolve() != HERE:
        link.unlink(missing_ok=True)
        link.symlink_to(HERE, target_is_directory=True)
    return place


def make_map(root: Path, folder: Path, python: str = sys.executable, workers: int = 2, more=()) -> int:
    """Run the tests of a tree (those that `more` names, for pytest) and enter them into the map of a folder."""
    work = folder / "recording"
    work.mkdir(parents=True, exist_ok=True)
    for old in [*work.glob("tests-*.jsonl"), *work.glob("bytes-*")]:
        old.unlink()
    names, bases = [], {}
    for file in product_files(root):
        bases[file] = len(names)
        names += [[file, f.name] for f in functions_in(ast.parse((root / file).read_text(encoding="utf-8")))]
    (work / "functions.json").write_text(json.dumps({"count": len(names), "bases": bases, "names": names}), encoding="utf-8")
    started = plugins(folder) / "started"
    started.mkdir(exist_ok=True)
    (started / "sitecustomize.py").write_text(SITE, encoding="utf-8")
    path = [str(started), str(plugins(folder)), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path), hits.FOLDER: str(work), hits.ROOT: str(root.resolve())}
    command = [python, "-m", "pytest", "-q", "-m", MARKS, "-p", "ingot_mutations.record", "-p", "no:cacheprovider",
               "--no-header", "--tb=line", *(["-n", str(workers), "--dist", "worksteal"] if workers > 1 else []), *more]
    code = subprocess.run(command, cwd=root, env=environment, check=False).returncode
    _enter(work, folder, names)
    return code


def _enter(work, folder, names):
    """Add what the processes of a run wrote to the map. Tests that were there before are replaced."""
    rows = {}
    for file in sorted(work.glob("tests-*.jsonl")):
        for line in file.read_text(encoding="utf-8").splitlines():
            test, seconds, failed, packed = json.loads(line)
            rows[test] = seconds, failed, np.packbits(np.frombuffer(zlib.decompress(base64.b64decode(packed)), np.uint8))
    if not rows:
        return
    old = Map.read(folder) if (folder / "map.json").exists() else None
    if old is not None and [tuple(n) for n in names] != old.functions:
        columns = {name: i for i, name in enumerate(old.functions)}
        order = np.array([columns.get(tuple(n), -1) for n in names])
        bits = np.unpackbits(old.bits, axis=1, count=len(old.functions))
        bits = np.concatenate([bits, np.zeros((len(bits), 1), np.uint8)], axis=1)[:, order]
        old = Map(old.tests, old.seconds, old.failed, [tuple(n) for n in names], np.packbits(bits, axis=1))
    if old is not None:
        for i, test in enumerate(old.tests):
            rows.setdefault(test, (old.seconds[i], old.failed[i], old.bits[i]))
    tests = sorted(rows)
    np.savez_compressed(folder / "map.npz", bits=np.stack([rows[t][2] for t in tests]))
    (folder / "map.json").write_text(json.dumps({"functions": names, "tests": [[t, *map(float, rows[t][:2])] for t in tests]}),
                                     encoding="utf-8")


def importers(root: Path, file: str) -> list:
    """Return the files of the product that import a file. Tables without functions are executed by nobody else."""
    stem = re.escape(Path(file).stem)
    line = re.compile(rf"^\s*(from\s+[.\w]*\b{stem}\s+import|(from\s+[.\w]+\s+)?import\s[^#]*\b{stem}\b)", re.MULTILINE)
    return [f for f in product_files(root) if f != file and line.search((root / f).read_text(encoding="utf-8"))]


@dataclass
class Map:
    """A map of tests and the functions they execute."""

    tests: list
    seconds: list
    failed: list
    functions: list
    bits: np.ndarray

    def __post_init__(self):
        self._number = {name: i for i, name in enumerate(self.functions)}
        self._times = dict(zip(self.tests, self.seconds))
        self._by_base_name = {(file.rpartition("/")[2], name): i for i, (file, name) in enumerate(self.functions)}
        self._breadth = np.concatenate([np.unpackbits(some, axis=1).sum(1) for some in np.array_split(self.bits, 64)])

    @classmethod
    def read(cls, folder: Path):
        """Read the map of a folder."""
        about = json.loads((folder / "map.json").read_text(encoding="utf-8"))
        tests, seconds, failed = zip(*about["tests"])
        bits = np.load(folder / "map.npz")["bits"]
        return cls(list(tests), list(seconds), list(failed), [tuple(n) for n in about["functions"]], bits)

    def _column(self, i):
        return (self.bits[:, i >> 3] >> (7 - (i & 7))) & 1

    def of_function(self, file: str, name: str) -> list:
        """Return the tests that execute a function, those that execute few others and are quick first."""
        i = self._number.get((file, name), self._by_base_name.get((file.rpartition("/")[2], name)))
        return [] if i is None else self._ranked(np.flatnonzero(self._column(i)))

    def of_files(self, files) -> list:
        """Return the tests that execute any function of some files: those first that execute many of them and few others."""
        files, names = set(files), {f.rpartition("/")[2] for f in files}
        own = [i for (f, _), i in self._number.items() if f in files]
        own = own or [i for (f, _), i in self._by_base_name.items() if f in names]
        if not own:
            return []
        counts = sum(self._column(i).astype(np.int64) for i in own)
        return self._ranked(np.flatnonzero(counts), counts)

    def knows(self, file: str, name: str) -> bool:
        """Decide whether a name is that of a function, which tests may or may not execute."""
        return (file, name) in self._number or (file.rpartition("/")[2], name) in self._by_base_name

    def _ranked(self, tests, counts=None):
        def rank(i):
            share = self._breadth[i] / (1 if counts is None else counts[i])
            return share * (1 + 10 * self.seconds[i]), self.tests[i]
        return [self.tests[i] for i in sorted(tests, key=rank)]

    def time_of(self, test: str) -> float:
        """Return the seconds that a test took."""
        return self._times[test]

    def has(self, test: str) -> bool:
        """Decide whether a test is in the map."""
        return test in self._times
