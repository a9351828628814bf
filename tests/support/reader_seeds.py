"""Readers of files of strangers, with small honest files and mutations of them, for fuzzing.

A folder stands as a zip file of its files.
"""

import contextlib
import io
import json
import struct
import tempfile
import time
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np

import hostile_files
import ingot
from fuzzed_graphs.mutate import damage
from ingot import jit
from ingot.distributed import checkpoint as dcp
from ingot.ir import config
from ingot.ir.errors import IngotError
from ingot.jit.exporting.file import archive as model_file
from ingot.runtime.distributed.checkpoint.folder_format import opened
from ingot.runtime.serialization.numpy_files import read_arrays
from ingot.runtime.serialization.safetensors import header_length
from ingot.runtime.stored_weights import store
from ingot.utils import gguf
from torch_pickles import Stored, archive, checkpoint, legacy, tensor

_STORED = Stored("0", "Float", np.arange(6, dtype=np.float32))


def load(data):
    ingot.load(io.BytesIO(data))


def load_gguf(data):
    """Read a file that may be GGUF, and the fields of its tokenizer."""
    read = ingot.load(io.BytesIO(data))
    if isinstance(read, gguf.GGUFWeights):
        read.tokenizer, read.chat_template  # noqa: B018  (properties, which check)


@contextlib.contextmanager
def file_of(data, name="m.ingot"):
    """Give the path of a file with these bytes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(data)
        yield path


def load_model(data):
    with file_of(data) as path:
        jit.load(path, objects=False)


def load_arrays(data):
    with file_of(data, "a.npz") as path:
        read_arrays(str(path))


def load_folder(data):
    """Read all values of a checkpoint."""
    with tempfile.TemporaryDirectory() as folder:
        for name, content in (unpacked(data) or {}).items():
            with contextlib.suppress(OSError, ValueError):      # names that no file can have
                (Path(folder) / name.replace("/", "_")).write_bytes(content)
        checkpoint = opened(folder)
        checkpoint.read(checkpoint.paths)


def load_onnx(data):
    jit.from_onnx(data)


def run_onnx(data):
    jit.from_onnx(data)(ingot.ones(2, 3))


def as_file(x) -> bytes:
    out = io.BytesIO()
    ingot.save(x, out)
    return out.getvalue()


def saved() -> bytes:
    return as_file({"w": ingot.arange(6.0).view(2, 3), "steps": [1, 2.5, None, ("a", b"b")], (1, 2): {3, 4}})


def exported() -> bytes:
    with file_of(b"") as path:
        jit.export(lambda x: (x * 2).relu().sum(-1), ingot.ones(2, 3), path, targets=())
        return path.read_bytes()


def array() -> bytes:
    out = io.BytesIO()
    np.save(out, np.arange(6, dtype=np.float32).reshape(2, 3))
    return out.getvalue()


def arrays() -> bytes:
    out = io.BytesIO()
    np.savez(out, x=np.arange(6, dtype=np.float32).reshape(2, 3), n=np.int64(3), mask=np.array([True, False]))
    return out.getvalue()


def deflated() -> bytes:
    out = io.BytesIO()
    np.savez_compressed(out, x=np.zeros((40, 3)), n=np.int64(3))
    return out.getvalue()


def folder() -> bytes:
    with tempfile.TemporaryDirectory() as path:
        dcp.save({"net": {"w": ingot.arange(6.0).view(2, 3)}, "steps": [1, {"a": "b"}]}, checkpoint_id=path, no_dist=True)
        return of_folder(path)


def pieces() -> bytes:
    """A checkpoint in which two ranks hold rows of a tensor, and boxes of another one."""
    rows, boxes = ingot.arange(12.0).view(4, 3), ingot.arange(4.0).view(2, 2)
    held = {"__0_0.distcp": [(["w", 0], rows[:2]), (["v", [0, 0]], boxes[:, :1])],
            "__1_0.distcp": [(["w", 6], rows[2:]), (["v", [0, 1]], boxes[:, 1:])]}
    places = [([*path[:-1]], path[-1], (rows if path[0] == "w" else boxes).shape, name)
              for name, values in held.items() for path, _ in values]
    return packed({name: as_file([(path, value.clone()) for path, value in values]) for name, values in held.items()}
                  | {".metadata": as_file({"format": "ingot checkpoint", "values": [], "pieces": places})})


def foreign_folder() -> bytes:
    with tempfile.TemporaryDirectory() as path:
        checkpoint(Path(path) / "c", {0: 2, 2: 2})
        return of_folder(Path(path) / "c")


def of_folder(path) -> bytes:
    return packed({p.name: p.read_bytes() for p in sorted(Path(path).iterdir())})


def packed_array() -> bytes:
    return hostile_files.packed(hostile_files._array(b"K\x02\x85", bytes(8)))


def safetensors() -> bytes:
    return hostile_files.safetensors({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}, bytes(8))


def gguf_file() -> bytes:
    """A GGUF file with a tokenizer, whose data begins with a text that the header does not hold."""
    metadata = {"general.architecture": "llama", "n": 3, "flag": True, "tokenizer.ggml.tokens": ["a", "é"],
                "tokenizer.ggml.scores": np.zeros(2, np.float32), "tokenizer.ggml.bos_token_id": 1,
                "tokenizer.chat_template": "{{ x }}"}
    out = io.BytesIO()
    gguf.save({"a": ingot.tensor(np.frombuffer(b"Data begins here", np.int8)), "b": store(ingot.ones(2, 32), "Q4_0"),
               "c": store(ingot.ones(256), "Q6_K"), "d": ingot.arange(3.0).half()}, out, metadata)
    return out.getvalue()


def torch_file() -> bytes:
    return archive({"w": tensor(_STORED, 0, (2, 3), (3, 1))}, [_STORED])


def torch_legacy() -> bytes:
    return legacy({"w": tensor(_STORED, 0, (2, 3), (3, 1))}, [_STORED])


def onnx_model() -> bytes:
    return jit.to_onnx(lambda x: (x * 2).relu().sum(-1), ingot.ones(2, 3))


# By name: (reader, a function that returns an honest file).
READERS = {"ingot.save": (load, saved), "torch.save": (load, torch_file), "torch.save, legacy": (load, torch_legacy),
           "safetensors": (load, safetensors), "GGUF": (load_gguf, gguf_file),
           "numpy pickles": (load, packed_array), "models": (load_model, exported),
           "ONNX": (load_onnx, onnx_model),
           "ONNX, run": (run_onnx, onnx_model), ".npy": (load_arrays, array), ".npz": (load_arrays, arrays),
           ".npz, compressed": (load_arrays, deflated), "checkpoints": (load_folder, folder),
           "checkpoints of pieces": (load_folder, pieces), "checkpoints of PyTorch": (load_folder, foreign_folder)}


def honest_files(name) -> list:
    """Return the honest file of a reader, and models of all kinds of operators for ONNX."""
    import mutated_onnx  # which skips tests where onnx is missing

    return [READERS[name][1](), *(mutated_onnx.models() if name.startswith("ONNX") else ())]


SECONDS = 5         # of a processor
LIMIT = 8           # MiB that a small file may take as content
PER_BYTE = 300      # bytes of memory for each byte of a file: Python objects of a text, and 16 of content


@contextlib.contextmanager
def bounded(size: int, limits: int = 2):
    """Allow only errors of ingot inside, and no more time and memory than a file of `size` bytes may take."""
    tracemalloc.start()
    began = time.process_time()
    try:
        with contextlib.suppress(IngotError), config.override(read_limit=LIMIT):
            yield
        seconds, peak = time.process_time() - began, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert seconds < SECONDS and peak < (limits * LIMIT << 20) + PER_BYTE * size, (seconds, peak, size)


RUN = 4             # limits of a model that runs: its constants, its results, what an operator takes meanwhile


def run_onnx_with(data, arrays):
    """Run a model on arrays within the bounds of time and memory."""
    from_onnx = jit.from_onnx       # loads the modules, which takes seconds once
    with bounded(len(data) + sum(a.nbytes for a in arrays), RUN):
        from_onnx(data)(*[ingot.tensor(a) for a in arrays])


def read(name, data):
    """Read a file within the bounds of time and memory."""
    reader = READERS[name][0]
    with bounded(len(data), RUN if reader is run_onnx else 2):
        reader(data)


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


def unpacked(data: bytes) -> dict | None:
    """Return the members of a zip file, None for other data."""
    with contextlib.suppress(Exception), zipfile.ZipFile(io.BytesIO(data)) as source:
        return {name: source.read(name) for name in source.namelist()}
    return None


def packed(members: dict) -> bytes:
    """Return a zip file with these members, their checksums right; a model if one of them is its manifest."""
    with contextlib.suppress(Exception), file_of(b"") as path:
        inner = {name: data for name, data in members.items() if name != model_file.MANIFEST}
        model_file.write(str(path), {**json.loads(members[model_file.MANIFEST]), "format": model_file.FORMAT}, inner)
        return path.read_bytes()
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as made:
        for name, content in members.items():
            made.writestr(name, content)
    return out.getvalue()


def inside_mutated(data: bytes, random, mutate=mutated) -> bytes:
    """Return a file with one of its innermost parts mutated; the sizes and checksums around it are right."""
    members = unpacked(data) if data[:2] == b"PK" else None
    if members:
        chosen = random.choice([*members])
        other = random.choice([*members])
        kind = random.randrange(20)
        if kind == 0:
            del members[chosen]
        elif kind == 1:
            members[chosen] = members[other]
        elif kind == 2:
            name = mutate(other.encode()[:60], random).decode("latin1").replace("\0", "")
            members[name or "x"] = members[chosen]
        else:
            members[chosen] = inside_mutated(members[chosen], random, mutate)
        return packed(members)
    length = header_length(data[:9], len(data))
    if length is not None:
        header = inside_mutated(data[8:8 + length], random, mutate)
        return struct.pack("<Q", len(header)) + header + data[8 + length:]
    if data[:1] == b"\x08" and random.randrange(8):         # perhaps the version of an ONNX model
        import mutated_onnx

        return mutated_onnx.changed(data, random)
    if data[:1] == b"{" and random.randrange(4):
        with contextlib.suppress(ValueError, RecursionError):
            tree = json.loads(data)
            damage(tree, random)
            return json.dumps(tree).encode()
    return mutate(data, random)
