"""Pipes and devices by the name of a file: refused by each reader at once, where they would let it wait or read for ever."""

import os
import signal
import sys

import numpy as np
import pytest

import ingot
from ingot import jit
from ingot.distributed import checkpoint
from ingot.ir.errors import FileError
from ingot.runtime.serialization import gguf
from ingot.runtime.serialization.numpy_files import read_arrays

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no pipes among files")


def of_checkpoint(name):
    """Return a reader of a folder in which a pipe has the name of one of its files."""
    def read(path):
        folder = path + ".folder"
        checkpoint.save({"w": ingot.ones(3)}, checkpoint_id=folder)
        name_in_folder = next(n for n in sorted(os.listdir(folder)) if (n == ".metadata") is (name == ".metadata"))
        os.unlink(os.path.join(folder, name_in_folder))
        os.symlink(path, os.path.join(folder, name_in_folder))
        checkpoint.load({"w": ingot.zeros(3)}, checkpoint_id=folder)
    return read


READERS = {
    "load": ingot.load,
    "load mapped": lambda path: ingot.load(path, mmap=True),
    "gguf": gguf.load,
    "names in a pickle": ingot.serialization.get_unsafe_globals_in_checkpoint,
    "arrays": read_arrays,
    "model": lambda path: jit.load(path, objects=False),
    "program": ingot.export.load,
    "index of a checkpoint": of_checkpoint(".metadata"),
    "values of a checkpoint": of_checkpoint("values"),
}


def pipe(path):
    os.mkfifo(path)


def device(path):
    os.symlink("/dev/zero", path)


@pytest.fixture
def at_once():
    """End the test if it waits."""
    def late(*_):
        raise AssertionError("the reader waits")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, 5, 1)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("make", [pipe, device], ids=lambda f: f.__name__)
@pytest.mark.parametrize("name", READERS)
def test_a_reader_refuses_what_is_no_file(name, make, tmp_path, at_once):
    path = str(tmp_path / "file")
    make(path)
    with pytest.raises((FileError, checkpoint.CheckpointException), match=f"is a {make.__name__}, not a file|there is no file"):
        READERS[name](path)


@pytest.mark.parametrize("name", ["arrays", "load"])
def test_links_to_files_are_files(name, tmp_path):
    if name == "load":
        ingot.save(ingot.ones(2), tmp_path / "real")
    else:
        with open(tmp_path / "real", "wb") as file:
            np.save(file, np.ones(2))
    os.symlink(tmp_path / "real", tmp_path / "link")
    READERS[name](str(tmp_path / "link"))
    with pytest.raises((IsADirectoryError, FileError), match="Is a directory"):
        READERS[name](str(tmp_path))
