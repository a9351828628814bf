"""`import ingot` means the checkout that the tests are in, installed or not, here and in processes that tests start; these
share bytecode."""

import atexit
import importlib.util
import os
import shutil
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SUPPORT = Path(__file__).resolve().parent


def found() -> Path | None:
    """The folder that `import ingot` would take."""
    spec = importlib.util.find_spec("ingot")
    folder = Path(spec.origin).resolve().parent if spec and spec.origin else None
    return ROOT if folder == ROOT / "stubs" / "ingot" else folder       # its file loads the root


def folder_with_the_package() -> str:
    """A folder that holds this checkout under the package's name: its parent, or one with a link to it."""
    if ROOT.name == "ingot":
        return str(ROOT.parent)
    folder = tempfile.mkdtemp(prefix="ingot-tests-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.symlink(ROOT, os.path.join(folder, "ingot"), target_is_directory=True)
    return folder


def make_importable():
    if found() == ROOT:
        return
    folder = folder_with_the_package()
    sys.path.insert(0, folder)
    os.environ["PYTHONPATH"] = os.pathsep.join([folder, *filter(None, [os.environ.get("PYTHONPATH")])])


def share_bytecode():
    """Give child processes a folder for bytecode that lasts as long as this run.

    If Python may write no bytecode, each child would compile every source it imports, which takes longer than its work.
    """
    if sys.dont_write_bytecode and "PYTHONPYCACHEPREFIX" not in os.environ:
        folder = os.environ["PYTHONPYCACHEPREFIX"] = tempfile.mkdtemp(prefix="ingot-tests-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def let_numpy_use_one_thread():
    """The threads of numpy's products wait in loops, which takes the cores from other processes of this run. Numpy reads this
    when it is imported."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
