"""Readers of files of strangers, with small honest files and a mutation of bytes, for fuzzing."""

import contextlib
import io
import tempfile
import zipfile
from pathlib import Path

import numpy as np

import hostile_files
import ingot
from ingot import jit
from ingot.ir.errors import IngotError
from torch_pickles import Stored, archive, legacy, tensor

_STORED = Stored("0", "Float", np.arange(6, dtype=np.float32))


def load(data):
    ingot.load(io.BytesIO(data))


def load_model(data):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.ingot"
        path.write_bytes(data)
        jit.load(path, objects=False)


def load_onnx(data):
    jit.from_onnx(data)


def saved() -> bytes:
    out = io.BytesIO()
    ingot.save({"w": ingot.arange(6.0).view(2, 3), "steps": [1, 2.5, None, ("a", b"b")], (1, 2): {3, 4}}, out)
    return out.getvalue()


def exported() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        jit.export(lambda x: (x * 2).relu().sum(-1), ingot.ones(2, 3), Path(folder) / "m.ingot")
        return (Path(folder) / "m.ingot").read_bytes()


def packed_array() -> bytes:
    return hostile_files.packed(hostile_files._array(b"K\x02\x85", bytes(8)))


def safetensors() -> bytes:
    return hostile_files.safetensors({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}, bytes(8))


def torch_file() -> bytes:
    return archive({"w": tensor(_STORED, 0, (2, 3), (3, 1))}, [_STORED])


def torch_legacy() -> bytes:
    return legacy({"w": tensor(_STORED, 0, (2, 3), (3, 1))}, [_STORED])


def onnx_model() -> bytes:
    return jit.to_onnx(lambda x: (x * 2).relu().sum(-1), ingot.ones(2, 3))


# By name: (reader, a function that returns an honest file).
READERS = {"ingot.save": (load, saved), "torch.save": (load, torch_file), "torch.save, legacy": (load, torch_legacy),
           "safetensors": (load, safetensors), "numpy pickles": (load, packed_array), "models": (load_model, exported),
           "ONNX": (load_onnx, onnx_model)}


def read(name, data):
    """Read a file; only errors of ingot may come."""
    with contextlib.suppress(IngotError):
        READERS[name][0](data)


_WORDS = [b"\0", b"\xff", b"\xff\xff\xff\x7f", b"\0\0\0\x80", b"\xff" * 8, b"9" * 12, b"-1",
          b"[", b"{", b"(", b"}", b".", b"R", b"h\0"]


def mutated(data: bytes, random) -> bytes:
    """Return bytes with some changed, copied, cut out or put in."""
    made = bytearray(data)
    for _ in range(random.choice((1, 1, 1, 2, 3, 8))):
        at, size = random.randrange(len(made) + 1), random.choice((1, 1, 2, 4, 8, 32))
        kind = random.randrange(5)
        if kind == 0 and at < len(made):
            made[at] ^= 1 << random.randrange(8)
        elif kind == 1:
            word = random.choice(_WORDS)
            made[at:at + len(word)] = word
        elif kind == 2:
            made[at:at] = random.choice(_WORDS)
        elif kind == 3:
            del made[at:at + size]
        else:
            other = random.randrange(len(made) + 1)
            made[at:at + size] = made[other:other + size]
    return bytes(made)


def members_mutated(data: bytes, random) -> bytes:
    """Return a zip file with one member mutated and its checksum right; other data is mutated itself."""
    if data[:2] != b"PK":
        return mutated(data, random)
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(out, "w") as made:
        chosen = random.choice(source.namelist())
        for name in source.namelist():
            content = source.read(name)
            made.writestr(name, mutated(content, random) if name == chosen else content)
    return out.getvalue()
