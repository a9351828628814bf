"""Images for other kinds of machines: `entry_for` starts this file as a program, which plans as if it ran on such a machine.

    python -m ingot.jit.exporting.file.cross_compile model.ingot aarch64 1 '{"batch": 8}' done.ingot

Compiled code is not run, so the other machine may be of any kind.
"""

import json
import os
import subprocess
import sys
import tempfile

import numpy as np

from ....ir import target as targets
from ....ir.target import Target
from ....runtime.core.tensor import wrap
from ....runtime.cpu.calls import pool
from ....runtime.cpu.compiler import compile
from ....runtime.serialization.save_load import load, save
from ...errors.errors import ExportError
from . import archive
from .collect_kernels import entry_of
from .image import Image
from .model import Model
from .precompiled import Entry
from .writer import last_error

_SECONDS = 1800


def entry_for(model, sizes: dict, target: Target, threads: int) -> tuple:
    """Return (entry, objects by name) of a model for a target that this machine need not be able to run."""
    with tempfile.TemporaryDirectory(prefix="ingot-abroad-") as folder:
        done = os.path.join(folder, "done.ingot")
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
        words = [sys.executable, "-m", __name__, model.path, target.level, str(threads), json.dumps(sizes), done]
        ran = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=_SECONDS, check=False)
        if ran.returncode:
            raise ExportError(f"planning for {target.level} failed: {last_error(ran)}")
        data = load(done)
    entry = json.loads(data["entry"])
    lists = [t._a for t in data["words"]]
    main = Image.from_json(entry["main"], lists[0])
    derived = Image.from_json(entry["derived"], lists[1]) if entry["derived"] else None
    objects = {name: t._a.tobytes() for name, t in data["objects"].items()}
    return Entry(main, derived, tuple(entry["kept"]), tuple(entry["sources"]), tuple(entry["names"]), objects), objects


def main(path: str, level: str, threads: str, named: str, done: str) -> int:
    """Plan the model's graph, write the entry, and return the exit code."""
    targets.assume(targets.cpu(level))
    compile.plan_only()
    pool.set_num_threads(int(threads))
    model = Model(archive.Reader(path), objects=False)
    sizes = json.loads(named)
    objects: dict = {}
    words: list = []
    entry = entry_of(model, sizes, objects, words)
    if entry is None:
        raise model.needs_python(sizes)
    save({"entry": archive.json_bytes(entry).decode(), "words": [wrap(w) for w in words],
          "objects": {name: wrap(np.frombuffer(data, np.uint8).copy()) for name, data in objects.items()}}, done)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
