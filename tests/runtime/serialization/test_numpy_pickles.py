"""NumPy's numbers and arrays in PyTorch's files: read as data; anything else raises."""

import io
import pickle

import numpy as np
import pytest

from ingot.ir.errors import FileError
from ingot.runtime.serialization import numpy_pickles, torch_files
from ingot.runtime.serialization.read_budget import ReadBudget

PROTOCOLS = (2, 3, 4, 5)
DATA = {
    "float64": np.float64(0.93), "float32": np.float32(2), "int64": np.int64(-4), "bool": np.bool_(True),
    "complex": np.complex64(1 + 2j), "array": np.arange(6.0).reshape(2, 3),
    "by columns": np.asfortranarray(np.ones((2, 3), np.int8)), "empty": np.zeros((0, 2)), "without dims": np.array(3),
    "turned": np.arange(24).reshape(2, 3, 4).transpose(1, 0, 2), "dtype": np.dtype("float32"),
}


def read(blob: bytes):
    return torch_files._machine(None, ReadBudget("x.pt", len(blob))).run(io.BytesIO(blob))


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("name", DATA)
def test_numbers_and_arrays_come_back(name, protocol):
    found = read(pickle.dumps({"best": DATA[name], "epoch": 3}, protocol))
    expected = DATA[name]
    assert type(found["best"]) is type(expected) and found["epoch"] == 3
    if isinstance(expected, np.dtype):
        assert found["best"] == expected
        return
    assert found["best"].dtype == expected.dtype and found["best"].shape == expected.shape
    assert found["best"].tobytes() == expected.tobytes() and np.isfortran(found["best"]) == np.isfortran(expected)


@pytest.mark.parametrize("value", [np.array(["a"]), np.array([1, None], object), np.arange(3, dtype=">i4"), np.str_("a"),
                                   np.ma.masked_array([1]), np.datetime64("2026-01-01"), np.zeros(1, [("a", "f4")])], ids=repr)
def test_arrays_without_numbers_are_refused(value):
    with pytest.raises(FileError):
        read(pickle.dumps(value, 2))


STATES = {
    "too few bytes": (1, (2,), np.dtype("f4"), False, b"1234"), "too many": (1, (1,), np.dtype("f4"), False, b"12345678"),
    "negative": (1, (-1,), np.dtype("f4"), False, b""), "huge": (1, (2 ** 62, 4), np.dtype("f8"), False, b""),
    "objects": (1, (1,), np.dtype("O"), False, b"12345678"), "no dtype": (1, (1,), "f4", False, b"1234"),
    "a list": (1, (1,), np.dtype("f4"), False, [1.0]), "no shape": (1, [1], np.dtype("f4"), False, b"1234"),
    "short": (1,), "none": None,
}


@pytest.mark.parametrize("name", STATES)
def test_states_that_somebody_changed_are_refused(name):
    made = np.empty(0, np.int8)
    with pytest.raises(FileError):
        numpy_pickles.restore(made, STATES[name])
    assert made.shape == (0,)


@pytest.mark.parametrize("state", [[3, "<", None], "3<", None, 3, (), (3,), (3, ">", None), {0: 3, 1: "<"}], ids=repr)
def test_states_of_dtypes_that_somebody_changed_are_refused(state):
    with pytest.raises(FileError):
        numpy_pickles.restore(np.dtype("f4"), state)
    numpy_pickles.restore(np.dtype("f4"), (3, "<", None, None, None, -1, -1, 0))


@pytest.mark.parametrize("args", [(np.dtype("f4"), b"12"), (np.dtype("O"), b"12345678"), ("f4", b"1234"),
                                  (np.dtype("f4"), "1234"), (np.dtype("f4"),)], ids=str)
def test_numbers_that_somebody_changed_are_refused(args):
    with pytest.raises(FileError):
        numpy_pickles._scalar(*args)
