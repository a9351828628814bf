"""Run as a program by `cross_compile.py`: plans a model's graph for a machine that this process is not on.

    python -m ingot.jit.exporting.file.cross_compile_process model.ingot aarch64 1 '{"batch": 8}' done.ingot

Nothing that is compiled here is run, so the other machine may be of any kind.
"""

import json
import sys

import numpy as np

from ....ir import target as targets
from ....runtime.core.tensor import wrap
from ....runtime.cpu.calls import pool
from ....runtime.cpu.compiler import compile
from ....runtime.serialization.save_load import save
from . import archive
from .build_image import entry_of
from .loader import Model


def main(path: str, level: str, threads: str, named: str, done: str) -> int:
    """Plans, and writes the entry; the result is the exit code."""
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
