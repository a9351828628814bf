"""`import ingot` means this checkout, in this process and those that it starts; internals are found by what they define.

A redesign moves files, so no module of this room names a private path. `defining("module_key")` finds the module of the
package that defines a function; whoever renames one of those functions renames it here.
"""

import atexit
import functools
import importlib
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OUTSIDE = {"tests", "benchmarks", "examples", "tools", "docs", "stubs", "build", "dist"}
COMMAND = [sys.executable, "-m", "tools.baseline"]

# Switches of the user's, which would change what is generated; the cache and the number of threads have values of their own.
SETTINGS = {"INGOT_NUM_THREADS": "2", "INGOT_CUDA_COMPILERS": "0", "OPENBLAS_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}


def make_importable():
    """Let `import ingot` find this checkout, whatever its folder is called."""
    folder = tempfile.mkdtemp(prefix="ingot-baseline-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.symlink(ROOT, os.path.join(folder, "ingot"), target_is_directory=True)
    sys.path.insert(0, folder)
    os.environ["PYTHONPATH"] = os.pathsep.join([folder, *filter(None, [os.environ.get("PYTHONPATH")])])


def environment(**more) -> dict:
    """Return the environment of a process whose results are compared: no switches but those that are given."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("INGOT_") or name == "INGOT_CACHE_DIR"}
    return kept | SETTINGS | more


@functools.cache
def sources() -> dict:
    """Return the text of each file of the package."""
    folders = [path for path in ROOT.iterdir() if path.is_dir() and path.name not in OUTSIDE and path.name[0] != "."]
    paths = [*ROOT.glob("*.py"), *[path for folder in folders for path in folder.rglob("*.py")]]
    return {path: path.read_text(encoding="utf-8") for path in sorted(paths)}


def defining(name: str):
    """Return the module of the package whose source defines a function or a class."""
    pattern = re.compile(rf"^(?:def {name}\(|class {name}\b)", re.M)
    found = [path for path, text in sources().items() if name in text and pattern.search(text)]
    if len(found) != 1:
        raise LookupError(f"{name} is defined in {[str(p.relative_to(ROOT)) for p in found]}, and must be in one file")
    parts = found[0].relative_to(ROOT).with_suffix("").parts
    return importlib.import_module(".".join(["ingot", *parts[:-1], *([] if parts[-1] == "__init__" else parts[-1:])]))
