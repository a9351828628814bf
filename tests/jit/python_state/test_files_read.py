"""Files that a traced function reads: each way to read and each change between calls give eager's results."""

import json
import os
import pathlib

import numpy as np
import pytest

import ingot
from ingot import jit


def _by_open(path):
    with open(path) as file:
        return float(file.read())


def _by_module(path):
    with path.open("rb") as file:
        return json.load(file)


READS = {
    "open": _by_open,
    "open, as a str": lambda path: _by_open(str(path)),
    "read_text": lambda path: float(path.read_text()),
    "read_bytes": lambda path: float(path.read_bytes()),
    "json": _by_module,
    "numpy": lambda path: float(np.loadtxt(path)),
    "asked for, too": lambda path: float(path.read_text()) if os.path.exists(path) else -1.0,
}


def _written(path, n):
    path.write_text(f"{n}")


def _with_old_time(path, n):
    path.write_text(f"{n}")
    os.utime(path, (1, 1))


def _replaced(path, n):
    other = path.with_suffix(".new")
    _with_old_time(other, n)
    other.replace(path)


def _in_place(path, n):
    with path.open("r+b", buffering=0) as file:
        before = os.fstat(file.fileno())
        file.write(b"%d" % n)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def _touched(path, n):
    if not path.exists():
        path.write_text("7")
    path.touch()


def _by_turns(path, n):
    _with_old_time(path, n % 2)


CHANGES = {"written": _written, "with its old time": _with_old_time, "replaced": _replaced, "in place": _in_place,
           "touched": _touched, "by turns": _by_turns}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("read", READS)
def test_what_a_file_holds_is_compared(read, change, tmp_path):
    """A file of the same size, time and number is another one if it holds something else."""
    def life(wrap, path):
        path.write_text("0")
        fn, found = wrap(lambda x: x * READS[read](path)), []
        for n in range(4):
            CHANGES[change](path, n)
            found.append(fn(ingot.ones(2)).tolist())
        return found

    assert life(jit.trace, tmp_path / "traced") == life(lambda f: f, tmp_path / "eager")


def test_files_that_stay_are_replayed(tmp_path):
    path = tmp_path / "value"
    path.write_text("3")
    traced = jit.trace(lambda x: x * float(pathlib.Path(path).read_text()))
    for _ in range(4):
        assert traced(ingot.ones(1)).item() == 3.0
    assert traced.stats()["compiles"] == 1
    path.unlink()
    with pytest.raises(FileNotFoundError):
        traced(ingot.ones(1))


def test_a_large_file_is_compared_by_its_facts(tmp_path):
    """The content of a large file is not read at each call; its time of change says that somebody wrote."""
    path = tmp_path / "large"
    path.write_text("1" * (1 << 17))
    traced = jit.trace(lambda x: x * float(path.read_text()[-1]))
    assert [traced(ingot.ones(1)).item() for _ in range(3)] == [1.0] * 3
    path.write_text("2" * (1 << 17))
    os.utime(path, (1, 1))
    assert traced(ingot.ones(1)).item() == 2.0
