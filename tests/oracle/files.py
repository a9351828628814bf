"""Files of rows and results: JSON for the structure, raw bytes for the arrays, together compressed by xz.

Layout before compression: eight bytes of `MAGIC`, four bytes with the length of the JSON text, the text, the arrays' bytes.
Reading checks every size before it is used and runs nothing.
"""

import json
import lzma
import math
import struct
from pathlib import Path

import ml_dtypes
import numpy as np

from .row import Build, Function, Leaf, Name, Row

MAGIC = b"ORACLE01"
FOLDER = Path(__file__).parent / "expected"
LARGEST = 64 << 20                  # bytes of one file, uncompressed
DTYPES = {name: np.dtype(name) for name in ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64",
                                            "complex64", "complex128", "uint16", "uint32", "uint64")}
DTYPES |= {name: np.dtype(getattr(ml_dtypes, name)) for name in ("bfloat16", "float8_e4m3fn", "float8_e5m2")}


class _Writer:
    """Turns rows into JSON values and collects the bytes of their arrays; equal arrays are stored once."""

    def __init__(self):
        self.blocks: list[bytes] = []
        self.size = 0
        self.offsets: dict = {}

    def array(self, a: np.ndarray) -> list:
        """Return [dtype, shape, offset]."""
        data = np.ascontiguousarray(a).tobytes()
        key = (a.dtype.name, data)
        if key not in self.offsets:
            self.offsets[key] = self.size
            self.blocks.append(data)
            self.size += len(data)
        assert a.dtype.name in DTYPES, a.dtype
        return [a.dtype.name, list(a.shape), self.offsets[key]]

    def value(self, v):
        if isinstance(v, Leaf):
            return {"$leaf": self.array(v.array)}
        if isinstance(v, np.ndarray):
            return {"$array": self.array(v)}
        if isinstance(v, Name):
            return {"$name": v.path}
        if isinstance(v, Function):
            return {"$function": v.name}
        if isinstance(v, Build):
            return {"$build": [v.target, self.value(list(v.args)), self.value(dict(v.kwargs))]}
        if isinstance(v, tuple):
            return {"$tuple": [self.value(x) for x in v]}
        if isinstance(v, slice):
            return {"$slice": [v.start, v.stop, v.step]}
        if v is Ellipsis:
            return {"$ellipsis": True}
        if isinstance(v, complex):
            return {"$complex": [v.real, v.imag]}
        if isinstance(v, list):
            return [self.value(x) for x in v]
        if isinstance(v, dict):
            assert all(isinstance(k, str) and not k.startswith("$") for k in v), v
            return {k: self.value(x) for k, x in v.items()}
        assert v is None or type(v) in (bool, int, float, str), f"{v!r} of {type(v)} is no plain data"
        return v


class _Reader:
    """Rebuilds values from JSON; refuses a tag that it does not know."""

    def __init__(self, data: memoryview):
        self.data = data

    def array(self, place: list) -> np.ndarray:
        name, shape, offset = place
        dtype, count = DTYPES[name], math.prod(shape)
        if not all(isinstance(n, int) and n >= 0 for n in (*shape, offset)) or offset + count * dtype.itemsize > len(self.data):
            raise ValueError(f"array {place} lies outside of the file")
        return np.frombuffer(self.data, dtype, count, offset).reshape(shape)

    def value(self, v):
        if isinstance(v, list):
            return [self.value(x) for x in v]
        if not isinstance(v, dict):
            return v
        tag = next(iter(v), "")
        if not tag.startswith("$"):
            return {k: self.value(x) for k, x in v.items()}
        held = v[tag]
        match tag:
            case "$leaf":
                return Leaf(self.array(held))
            case "$array":
                return self.array(held)
            case "$name":
                return Name(held)
            case "$function":
                return Function(held)
            case "$build":
                return Build(held[0], tuple(self.value(held[1])), self.value(held[2]))
            case "$tuple":
                return tuple([self.value(x) for x in held])
            case "$slice":
                return slice(*held)
            case "$ellipsis":
                return Ellipsis
            case "$complex":
                return complex(*held)
        raise ValueError(f"unknown tag {tag}")


FIELDS = ("name", "kind", "target", "args", "kwargs", "options", "tolerance", "reason", "results")


def write(path: Path, about: dict, rows: list[Row]):
    """Write one family: `about` says which tool, versions and seed made it."""
    writer = _Writer()
    body = [[writer.value(getattr(row, name)) for name in FIELDS] for row in rows]
    text = json.dumps({"about": about, "rows": body}, separators=(",", ":")).encode()
    raw = b"".join([MAGIC, struct.pack("<I", len(text)), text, *writer.blocks])
    path.write_bytes(lzma.compress(raw, preset=9 | lzma.PRESET_EXTREME))


def read(path: Path) -> tuple[dict, list[Row]]:
    """Return what the writer said of a file, and its rows."""
    decompressor = lzma.LZMADecompressor(memlimit=256 << 20)
    raw = memoryview(decompressor.decompress(path.read_bytes(), LARGEST))
    if not decompressor.eof or bytes(raw[:8]) != MAGIC:
        raise ValueError(f"{path.name} is no file of expected results")
    end = 12 + struct.unpack("<I", raw[8:12])[0]
    content = json.loads(bytes(raw[12:end]))
    reader = _Reader(raw[end:])
    return content["about"], [Row(**{k: reader.value(v) for k, v in zip(FIELDS, row, strict=True)}) for row in content["rows"]]


def families() -> list[str]:
    """Return the names of the families that have a file."""
    return sorted(path.name.removesuffix(".xz") for path in FOLDER.glob("*.xz"))
