"""Images for machines other than this one: planned in a process of its own that takes itself for such a machine."""

import json
import os
import subprocess
import sys
import tempfile

from ....ir.target import Target
from ....runtime.serialization.save_load import load
from ...errors.errors import ExportError
from .image import Image
from .precompiled import Entry
from .writer import last_error

_SECONDS = 1800


def entry_for(model, sizes: dict, target: Target, threads: int) -> tuple:
    """(entry, objects by name) of a model for a target whose code this machine need not run."""
    with tempfile.TemporaryDirectory(prefix="ingot-abroad-") as folder:
        done = os.path.join(folder, "done.ingot")
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
        words = [sys.executable, "-m", __name__ + "_process", model.path, target.level, str(threads), json.dumps(sizes), done]
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
