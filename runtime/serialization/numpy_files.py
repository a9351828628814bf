"""Files of NumPy (.npy and .npz). The size of each array is compared with the bytes of the file before the array is made."""

import io

import numpy as np

from ...ir.errors import FileError
from ...ir.interrupts import raise_interrupt
from ...ir.process_state import without_warnings
from .archive import Archive, fill
from .read_budget import count_of
from .regular_file import open_regular

_MAGIC = b"\x93NUMPY"
_HEAD = 1 << 14         # bytes with the whole header: numpy refuses longer ones
_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


def _arrays_in(path) -> dict:
    with open_regular(path) as file, without_warnings():      # of headers that Python 2 has written
        if file.read(2) == b"PK":
            return _members(Archive(file, path))
        return {"arr_0": _array(_read(file, file.seek(0, io.SEEK_END), "it"), "it")}


def read_arrays(path: str) -> dict:
    """Return the arrays of an .npz file by name; an .npy file has one, called arr_0."""
    try:
        return _arrays_in(path)
    except OSError as e:
        raise_interrupt(e, _arrays_in, path)
        raise FileError(f"{path} cannot be read: {e.strerror or e}") from e
    except Exception as e:          # of zipfile, zlib and numpy, which raise about twenty kinds for damaged files
        raise_interrupt(e, _arrays_in, path)
        raise FileError(f"{path} is not a file of arrays (.npz or .npy): {e or type(e).__name__}") from e


def _members(archive: Archive) -> dict:
    """Return the arrays of an .npz file, whose members may be compressed."""
    found = {}
    for name, entry in archive.entries.items():
        archive.budget.take_bytes(entry.file_size, f"the member {name}")
        with archive.zip.open(entry) as member:
            found[name.removesuffix(".npy")] = _array(_read(member, entry.file_size, name), name)
    return found


def _read(file, size: int, name: str) -> np.ndarray:
    memory = np.empty(size, np.uint8)
    file.seek(0)
    if fill(file, memory) != size:
        raise FileError(f"{name} is cut off")
    return memory


def _array(memory: np.ndarray, name: str) -> np.ndarray:
    """Return the array that bytes hold, in place; raise unless all of its elements are there."""
    head = io.BytesIO(memory[:_HEAD].tobytes())
    if memory[:len(_MAGIC)].tobytes() != _MAGIC:
        raise FileError(f"{name} is none")
    version = np.lib.format.read_magic(head)
    if version not in _HEADERS:
        raise FileError(f"{name} has version {version} of the format, which only arrays with named fields need")
    shape, by_columns, dtype = _HEADERS[version](head)
    if dtype.hasobject or not dtype.itemsize:
        raise FileError(f"{name} has elements of {dtype.name}, which are no numbers")
    start, size = head.tell(), count_of(shape, name) * dtype.itemsize
    if size > memory.size - start:
        raise FileError(f"{name} has {memory.size - start} bytes of data, its shape {list(shape)} and {dtype.name} need {size}")
    found = np.ndarray(shape, dtype, memory, start, order="F" if by_columns else "C")
    return found if found.flags.aligned else found.copy()
