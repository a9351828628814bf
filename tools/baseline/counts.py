"""Counts of tests: rows of each test function, and tests of each marker. Files do not count, since tests may move.

It is a plugin of pytest as well, which writes the counts to the file that a variable of the environment names.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from .checkout import ROOT, environment

FILE = "BASELINE_OF_TESTS"


def pytest_collection_finish(session):
    """Write counts of the collected tests. This makes the module a pytest plugin."""
    functions, markers = Counter(), Counter()
    for item in session.items:
        functions[".".join([*([item.cls.__name__] if getattr(item, "cls", None) else []), item.name.partition("[")[0]])] += 1
        markers.update({mark.name for mark in item.iter_markers()} or {"none"})
    Path(os.environ[FILE]).write_text(json.dumps({"functions": functions, "markers": markers, "total": len(session.items)}))


def collected() -> dict:
    """Return `{"functions": {name: rows}, "markers": {name: tests}, "total": tests}`."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "counts.json"
        order = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", __name__, "-p", "no:cacheprovider", "tests"]
        done = subprocess.run(order, cwd=ROOT, env=environment(**{FILE: str(file)}), capture_output=True, text=True)
        if done.returncode or not file.exists():
            return {"failed": done.stdout[-2000:] + done.stderr[-2000:]}
        return json.loads(file.read_text())
