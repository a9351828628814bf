"""Checkpoint folders of PyTorch, read without it and without executing anything.

The index is a pickle. It has the size and chunks of each tensor, and the place of each chunk or other value: a byte range of a
file, which is itself a file of torch.save.
"""

import io
import os
from contextlib import contextmanager
from typing import Any

import numpy as np

from ....ir import dtype as dt
from ...api.register.register import FUNCTIONS
from ...core.tensor import Tensor
from ...serialization import torch_files
from ...serialization.read_budget import ReadBudget, count_of, shown
from ...serialization.regular_file import open_regular
from ...serialization.safe_unpickler import Callable_, PickleMachine, are_atoms
from ...serialization.save_load import load as load_file
from ..stores.distributed_errors import CheckpointException

_MODULES = {"metadata": ("Metadata", "TensorStorageMetadata", "BytesStorageMetadata", "ChunkStorageMetadata", "MetadataIndex",
                         "TensorProperties", "_MEM_FORMAT_ENCODING", "StorageMeta"),
            "filesystem": ("_StorageInfo",)}


class _Part:
    """Object of the pickle, reduced to its fields."""

    def __init__(self, *args):
        self.fields: Any = {}

    def __getitem__(self, name):
        return self.fields[name]


def _restore(part: _Part, state):
    part.fields = state


_GLOBALS = {**torch_files.GLOBALS,
            **{f"torch.distributed.checkpoint.{module}.{name}": Callable_(_Part) for module, names in _MODULES.items()
               for name in names},
            **{f"{module}.{name}": Callable_(lambda *parts: os.path.join(*parts), are_atoms)
               for module in ("pathlib", "pathlib._local")
               for name in ("PosixPath", "WindowsPath", "PurePosixPath", "PureWindowsPath")}}


def budget_of(folder: str, index: str) -> ReadBudget:
    """Return the budget of reading a folder with this index."""
    with os.scandir(folder) as entries:
        return ReadBudget(os.path.join(folder, index), sum(e.stat().st_size for e in entries if e.is_file()))


def file_in(folder: str, name) -> str:
    """Return the path of a file that an index names; raise unless it is one of the folder."""
    if type(name) is not str or os.path.basename(name) != name:
        raise CheckpointException(f"the index of {folder!r} names {shown(name)}, which is not a file in it")
    path = os.path.join(folder, name)
    if not os.path.isfile(path):
        raise CheckpointException(f"the checkpoint in {folder!r} is not whole: there is no file {shown(name)}")
    return path


@contextmanager
def described(what: str):
    """Turn errors about the content of a checkpoint into one kind."""
    try:
        yield
    except (OSError, CheckpointException):
        raise
    except Exception as e:
        raise CheckpointException(f"{what} ({type(e).__name__}: {e})") from e


def is_torchs(path: str) -> bool:
    """Return whether an index is a pickle."""
    with open_regular(path) as file:
        return file.read(1) == b"\x80"


class TorchFolder:
    """Checkpoint of PyTorch. `paths` are those of its values."""

    def __init__(self, folder: str, index: str):
        self.folder, self.budget = folder, budget_of(folder, index)
        name = os.path.join(folder, index)
        with described(f"{name!r} is damaged, or no index of a checkpoint"), open_regular(name) as file:
            found = PickleMachine(_GLOBALS, None, self.budget, restored=(_Part,), restore=_restore).run(file)
            ways = found["planner_data"] if isinstance(found["planner_data"], dict) else {}
            self._locations = {_place_of(at): place for at, place in found["storage_data"].items()}
            self._known = {tuple(ways.get(key, (key,))): (key, what) for key, what in found["state_dict_metadata"].items()}

    paths = property(lambda self: self._known.keys())

    def read(self, paths) -> dict:
        """Return {path: value} for some paths."""
        return {path: self._value(*self._known[path]) for path in paths}

    def _value(self, key, what):
        with described(f"{key} cannot be read from {self.folder!r}"):
            return self._stored(key, None) if "chunks" not in what.fields else self._tensor(key, what)

    def _tensor(self, key, what) -> Tensor:
        """Return a tensor joined from chunks; raise unless they cover every element."""
        size, chunks, properties = _numbers(what["size"]), what["chunks"], what["properties"].fields
        kind = properties["dtype"] if isinstance(properties, dict) else properties[0]
        boxes = [list(zip(_numbers(c["offsets"]), _numbers(c["sizes"]), strict=True)) for c in chunks]
        elements = sum(count_of([n for _, n in box], self.folder) for box in boxes)
        fits = elements == count_of(size, self.folder) and all(at >= 0 for box in boxes for at, _ in box)
        if type(kind) is not dt.DType or not fits:
            raise CheckpointException(f"the chunks of {key} in {self.folder!r} do not make {kind}{list(size)}")
        if len(chunks) == 1:
            return self._chunk(key, chunks[0], size, kind)
        self.budget.take_bytes(elements * (1 + kind.itemsize), f"a tensor of shape {size}")
        whole, covered = FUNCTIONS["zeros"](size, dtype=kind), np.zeros(size, bool)
        for chunk, box in zip(chunks, boxes):
            part = tuple([slice(at, at + n) for at, n in box])
            whole[part], covered[part] = self._chunk(key, chunk, _numbers(chunk["sizes"]), kind), True
        if not covered.all():
            raise CheckpointException(f"the chunks of {key} in {self.folder!r} overlap")
        return whole

    def _chunk(self, key, chunk, sizes, kind) -> Tensor:
        found = self._stored(key, _numbers(chunk["offsets"]))
        if not isinstance(found, Tensor) or tuple(found.shape) != sizes or found.dtype is not kind:
            raise CheckpointException(f"a chunk of {key} in {self.folder!r} is not what the index says")
        return found.detach()

    def _stored(self, key, offset):
        """Return the value in a byte range of a file."""
        place = self._locations[key, offset]
        path, start, length = file_in(self.folder, place["relative_path"]), place["offset"], place["length"]
        if place.fields.get("transform_descriptors"):
            raise CheckpointException(f"{key} in {self.folder!r} is compressed, or changed in other ways; save it without "
                                      "extensions")
        with open_regular(path) as file:
            file.seek(start)
            return load_file(io.BytesIO(file.read(length)), map_location="cpu")


def _place_of(at: _Part) -> tuple:
    """Return the key of a byte range: the name of the value, and the start of a chunk in it."""
    offset = at.fields.get("offset")
    return at["fqn"], None if offset is None else _numbers(offset)


def _numbers(sizes) -> tuple:
    """Return sizes or offsets as Python numbers."""
    return tuple([int(n) for n in sizes])
