"""The safetensors format: an 8-byte length, a JSON header, and the raw bytes of named tensors."""

import io
import json
import struct
from typing import Any

import numpy as np

from ...ir import dtype as dt
from ...ir.errors import DTypeError, FileError
from ..core.tensor import Tensor, wrap
from .archive import fill
from .file_buffers import Block, dense_strides
from .read_budget import ReadBudget, count_of, shown

_NAMES = {"BOOL": dt.bool_, "U8": dt.uint8, "I8": dt.int8, "U16": dt.uint16, "I16": dt.int16, "U32": dt.uint32, "I32": dt.int32,
          "U64": dt.uint64, "I64": dt.int64, "F16": dt.float16, "BF16": dt.bfloat16, "F32": dt.float32, "F64": dt.float64,
          "C64": dt.complex64, "F8_E4M3": dt.float8_e4m3fn, "F8_E5M2": dt.float8_e5m2}
_DTYPES = {d: name for name, d in _NAMES.items()}
_MAX_HEADER = 100_000_000
_ALIGN = 64


def write(tensors, file, metadata=None):
    """Write a flat dict of tensors to an open binary file."""
    if not isinstance(tensors, dict) or not all(isinstance(k, str) and isinstance(t, Tensor) for k, t in tensors.items()):
        raise DTypeError("a .safetensors file holds a flat dict from names to tensors; save other data under another suffix")
    header: dict[str, Any] = {"__metadata__": {str(k): str(v) for k, v in metadata.items()}} if metadata else {}
    arrays, position = [], 0
    for name, t in sorted(tensors.items(), key=lambda item: (-_alignment(item[1]._a.nbytes), item[0])):
        if t.dtype not in _DTYPES:
            raise DTypeError(f"safetensors has no dtype for {name}, which is {t.dtype.name}")
        a = np.ascontiguousarray(t._to_copy()).reshape(t._a.shape)
        header[name] = {"dtype": _DTYPES[t.dtype], "shape": list(a.shape), "data_offsets": [position, position + a.nbytes]}
        arrays.append(a)
        position += a.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-(8 + len(text)) % _ALIGN)
    file.write(struct.pack("<Q", len(text)) + text)
    for a in arrays:
        file.write(a.reshape(-1).view(np.uint8).data)


def _alignment(size) -> int:
    """Return the largest power of two, up to 64, that divides a size. Tensors in falling order of it are as aligned as possible
    end to end; those of whole cache lines all begin at one."""
    return min(size & -size, _ALIGN) if size else _ALIGN


def header_length(head: bytes, size: int) -> int | None:
    """Return the length of the JSON header if the first bytes can begin a safetensors file."""
    if len(head) < 9:
        return None
    (length,) = struct.unpack("<Q", head[:8])
    return length if head[8:9] == b"{" and 2 <= length <= min(size - 8, _MAX_HEADER) else None


def read(file, size, name, mapped=None) -> dict:
    """Return the tensors of a file by name."""
    file.seek(0)
    length = header_length(file.read(9), size)
    if length is None:
        raise FileError(f"{name}: not a safetensors file")
    file.seek(8)
    header = json.loads(file.read(length), object_pairs_hook=_unique)
    header.pop("__metadata__", None)
    start = 8 + length
    _check_cover(header, size - start, name)
    budget = ReadBudget(name, size)
    return {key: _tensor(file, entry, start, f"{name}: {key}", budget, mapped) for key, entry in header.items()}


def read_memory(memory: np.ndarray, name: str) -> dict:
    """Return the tensors in bytes in memory, without copies."""
    length = header_length(memory[:9].tobytes(), memory.nbytes) or 0
    return read(io.BytesIO(memory[:8 + length].tobytes()), memory.nbytes, name, memory)


def _unique(pairs):
    made = dict(pairs)
    if len(made) != len(pairs):
        raise FileError("a name appears twice in the header")
    return made


def _check_cover(header, data_bytes, name):
    """Raise unless the tensors follow each other and fill the file, as the format demands."""
    position = 0
    for begin, end in sorted(tuple(e["data_offsets"]) for e in header.values()):
        if type(begin) is not int or type(end) is not int or begin != position or end < begin:
            raise FileError(f"{name}: the tensors' data does not lie end to end (at byte {position}); the file is damaged")
        position = end
    if position != data_bytes:
        raise FileError(f"{name}: the header speaks of {position} bytes of data, the file has {data_bytes}")


def _tensor(file, entry, start, name, budget, mapped):
    dtype, shape, (begin, end) = _NAMES.get(entry["dtype"]), tuple(entry["shape"]), entry["data_offsets"]
    if dtype is None:
        raise FileError(f"{name} has dtype {shown(entry['dtype'])}, which ingot does not have")
    count = count_of(shape, name)
    if count * dtype.itemsize != end - begin:
        raise FileError(f"{name} has {end - begin} bytes of data, its shape {list(shape)} and dtype {dtype.name} need "
                        f"{count * dtype.itemsize}")
    if mapped is not None:
        memory = np.asarray(mapped[start + begin:start + end])
    else:
        memory = np.empty(end - begin, np.uint8)
        file.seek(start + begin)
        if fill(file, memory) != memory.nbytes:
            raise FileError(f"{name} is cut off")
    return wrap(Block(memory, name, budget).array(dtype, shape, dense_strides(shape, dtype.itemsize), 0))
