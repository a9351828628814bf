"""Format of a checkpoint folder: a file for each rank that wrote, and an index with the place of each value."""

import math
import os
import re
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ....ir.errors import ArgumentError
from ...api.register.register import FUNCTIONS
from ...serialization.read_budget import count_of
from ...serialization.save_load import load as load_file
from ..stores.distributed_errors import CheckpointException
from .torch_format import TorchFolder, budget_of, described, file_in, is_torchs

__all__ = ["DefaultLoadPlanner", "DefaultSavePlanner", "FileSystemReader", "FileSystemWriter", "Stateful"]

INDEX = ".metadata"


@runtime_checkable
class Stateful(Protocol):
    """Object with a state of its own, which checkpoints save and load."""

    def state_dict(self) -> dict[str, Any]:
        """Return the state."""

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load a state."""


class FileSystemWriter:
    """Writer of a checkpoint into a folder.

    `single_file_per_rank` and `thread_count` are ignored: each rank writes one file. `sync_files` is ignored: files are always
    synchronised with the disk. Of `options` those about memory for copies are accepted: nothing is copied that must not be.
    """

    def __init__(self, path, single_file_per_rank=True, sync_files=True, thread_count=1, overwrite=True, **options):
        _require_known("FileSystemWriter", options, "per_thread_copy_ahead", "cache_staged_state_dict")
        self.path, self.overwrite = os.fspath(path), overwrite


class FileSystemReader:
    """Reader of a checkpoint in a folder."""

    def __init__(self, path, **options):
        _require_known("FileSystemReader", options)
        self.path = os.fspath(path)


class DefaultSavePlanner:
    """Plan by which each rank writes values that no lower rank has, under joined names. `options` of PyTorch's planner about
    names, repeated values and a cache of plans are accepted and change nothing."""

    def __init__(self, **options):
        _require_known("DefaultSavePlanner", options, "flatten_state_dict", "flatten_sharded_tensors",
                       "dedup_replicated_tensors", "dedup_save_to_lowest_rank", "enable_plan_caching")


class DefaultLoadPlanner:
    """Plan that reads every requested value; with `allow_partial_load` those that exist. `flatten_state_dict` and
    `flatten_sharded_tensors` are ignored: names of nested values are always joined."""

    def __init__(self, flatten_state_dict=True, flatten_sharded_tensors=True, allow_partial_load=False):
        self.allow_partial_load = allow_partial_load


def _require_known(name, options, *known):
    """Raise for options that are not PyTorch's, or that would change what is in the files."""
    if unknown := sorted(options.keys() - set(known)):
        raise ArgumentError(f"{name} does not know {', '.join(unknown)}; checkpoints have one format")


def require_planner(planner, kind):
    """Raise for a plan with methods of its own, which nothing calls."""
    if planner is not None and type(planner) is not kind:
        raise ArgumentError(f"checkpoints are planned by {kind.__name__} alone, got {planner!r}; change names and values in "
                            "the state dict")


def folder_of(checkpoint_id, storage) -> str:
    """Return the folder that the arguments name."""
    if checkpoint_id is None and storage is None:
        raise ArgumentError("a checkpoint needs checkpoint_id=, the path of a folder")
    if storage is not None and not hasattr(storage, "path"):
        raise ArgumentError("checkpoints lie in folders: pass FileSystemWriter(path) or FileSystemReader(path), got "
                            f"{storage!r}")
    return os.fspath(storage.path if checkpoint_id is None else checkpoint_id)


def state_of(value):
    """Return a value, or its state if it is stateful."""
    return value.state_dict() if isinstance(value, Stateful) and not isinstance(value, dict) else value


def flattened(state: dict) -> dict:
    """Return {path: value} of nested dicts and lists; a path is a tuple of keys and indices. Empty containers are values, as
    are pieces of tensors."""
    found: dict = {}

    def walk(value, path):
        value = state_of(value)
        if isinstance(value, dict) and value:
            for key, inner in value.items():
                walk(inner, (*path, key))
        elif isinstance(value, list) and value:
            for i, inner in enumerate(value):
                walk(inner, (*path, i))
        else:
            found[path] = value

    walk(state, ())
    return found


def file_name(rank: int, turn: int) -> str:
    """Return the name of a rank's file; `turn` counts the checkpoints of a folder."""
    return f"__{rank}_{turn}.distcp"


def numbers_of(folder: str) -> dict:
    """Return {name: turn} of the value files in a folder, including incomplete ones."""
    names = os.listdir(folder) if os.path.isdir(folder) else []
    found = {name: re.match(r"__\d+_(\d+)\.distcp(\.|$)", name, re.ASCII) for name in names}
    return {name: int(m.group(1)) for name, m in found.items() if m}


class Folder:
    """Checkpoint of ingot. `paths` are those of its values."""

    def __init__(self, folder: str, index: str):
        self.folder, self.budget = folder, budget_of(folder, index)
        self._pieces: dict = {}         # by path: (first element, shape of the whole, file name) of each piece
        path = os.path.join(folder, index)
        with described(f"{path!r} is damaged"):
            found = load_file(path)
            if not isinstance(found, dict) or found.get("format") != "ingot checkpoint":
                raise CheckpointException(f"{path!r} is no index of a checkpoint that ingot has written")
            self._files = {tuple(p): name for p, name in found["values"]}
            for p, start, shape, name in found.get("pieces", ()):
                self._pieces.setdefault(tuple(p), []).append((_begin(start), tuple(shape), name))

    paths = property(lambda self: self._files.keys() | self._pieces.keys())

    def read(self, paths) -> dict:
        """Return {path: value} for some paths; pieces of a tensor are joined."""
        with described(f"the checkpoint in {self.folder!r} is damaged"):
            return self._joined(list(paths))

    def _joined(self, paths) -> dict:
        parts = {(*path, start): name for path in paths for start, _, name in self._pieces.get(path, ())}
        files = {**{path: self._files[path] for path in paths if path in self._files}, **parts}
        values = self._read(files)
        for path in paths:
            if path in self._pieces:
                values[path] = self._join_pieces(path, values)
        return {path: values[path] for path in paths}

    def _join_pieces(self, path, pieces_read):
        """Return the tensor of the pieces that were read."""
        (begin, shape, _), *_ = pieces = sorted(self._pieces[path])
        count = count_of(shape, repr(self.folder))
        values = [pieces_read[*path, start] for start, _, _ in pieces]
        if isinstance(begin, tuple):
            return self._of_boxes(path, shape, [start for start, _, _ in pieces], values)
        at = 0
        for (start, of, _), piece in zip(pieces, values):
            if start != at or of != shape:
                raise CheckpointException(f"the pieces of {'.'.join(map(str, path))} in {self.folder!r} do not fit together")
            at += piece.numel()
        if at != count:
            raise CheckpointException(f"{self.folder!r} holds {at} elements of {'.'.join(map(str, path))}, which has {count}")
        self.budget.take_bytes(count * values[0].element_size(), f"a tensor of shape {list(shape)}")
        return FUNCTIONS["cat"](values).reshape(shape)

    def _of_boxes(self, path, shape, starts, values):
        """Return the tensor of the boxes that were read; raise unless they cover every element."""
        self.budget.take_bytes(math.prod(shape) * (1 + values[0].element_size()), f"a tensor of shape {list(shape)}")
        whole, covered = FUNCTIONS["zeros"](shape, dtype=values[0].dtype), np.zeros(shape, bool)
        for start, value in zip(starts, values):
            box = tuple([slice(at, at + n) for at, n in zip(start, value.shape)])
            fits = len(start) == value.ndim == len(shape) and all(s.start >= 0 and s.stop <= n for s, n in zip(box, shape))
            if not fits or covered[box].any():
                raise CheckpointException(f"the pieces of {'.'.join(map(str, path))} in {self.folder!r} do not fit together")
            whole[box], covered[box] = value, True
        if not covered.all():
            raise CheckpointException(f"{self.folder!r} holds some elements of {'.'.join(map(str, path))} only, which has the "
                                      f"shape {list(shape)}")
        return whole

    def _read(self, files) -> dict:
        """Return {path: value} of some files, each read once."""
        found: dict = {}
        for name in sorted(set(files.values())):
            values = self._values(name)
            for path in (path for path in files if files[path] == name):
                if path not in values:
                    raise CheckpointException(f"the file {name} of {self.folder!r} does not hold what the index says")
                found[path] = values[path]
        return found

    def _values(self, name: str) -> dict:
        found = load_file(file_in(self.folder, name), map_location="cpu")
        return {(*path[:-1], _begin(path[-1])) if path else (): value for path, value in found}


def _begin(key):
    """Return the last key of a path; the start of a box as a tuple."""
    return tuple(key) if isinstance(key, list) else key


def opened(folder: str) -> Folder | TorchFolder:
    """Return the checkpoint in a folder: ingot's, or PyTorch's."""
    path = os.path.join(folder, INDEX)
    if not os.path.exists(path):
        raise CheckpointException(f"there is no whole checkpoint in {folder!r}: it has no file {INDEX}, which is written last")
    return (TorchFolder if is_torchs(path) else Folder)(folder, INDEX)
