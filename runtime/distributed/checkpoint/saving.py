"""Saving of checkpoints.

Ranks agree at once on which value belongs to which rank. The store reports that files are complete, so a checkpoint can be
written beside training, which keeps communicating. A folder with a checkpoint holds a complete one at any moment: values are
written to new files, then the index replaces the old one, then files that only that one named are removed.
"""

import contextlib
import itertools
import os
import threading
from typing import Any

from ....ir.errors import ArgumentError
from ...core.tensor import Tensor
from ...serialization.save_load import save as save_file
from ..collectives.object_collectives import all_gather_object
from ..groups.futures import Future
from ..groups.world import is_initialized, the_group
from ..stores.distributed_errors import CheckpointException
from ..tensor.dtensor import DTensor
from ..tensor.sharded_layout import Piece, place_in, without_terms
from .folder_format import INDEX, DefaultSavePlanner, file_name, flattened, folder_of, numbers_of, require_planner

__all__ = ["async_save", "save", "save_state_dict"]

_FAILED, _WRITTEN = b"failed: ", b"written"
_numbers = itertools.count()
_under_way: dict[str, threading.Event] = {}         # by folder: set once this process is done there
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_under_way.clear)


def _by_pieces(values: dict) -> dict:
    """Return values by (path, piece); empty pieces are left to other ranks.

    A piece of a tensor is its start and the tensor's shape, of another value None. The start is an element number, or for a box
    of elements the index of its first one along each dim.
    """
    found: dict = {}
    for path, value in values.items():
        if isinstance(value, DTensor):
            whole: Any = value.detach()
            whole = whole.redistribute(placements=without_terms(value.placements))
            _, first = place_in(tuple(whole.shape), whole.device_mesh, whole.placements)
            local = whole.to_local()
            if local.numel() or 0 in whole.shape:
                found[path, (first, tuple(whole.shape))] = local
        elif not isinstance(value, Piece):
            found[path, None] = value
        elif value.tensor.numel() or 0 in value.shape:
            found[path, (value.start, tuple(value.shape))] = value.tensor
    return found


class _Saving:
    """One checkpoint in progress on this rank, with copies of the values if it is written later. Checkpoints of one folder run
    one after the other."""

    def __init__(self, state, folder, group, overwrite, later=False):
        self.folder, self.group, self.number = folder, group, next(_numbers)
        if before := _under_way.get(folder):
            before.wait()
        values = _by_pieces(flattened(state))
        mine: Any = (list(values), os.path.exists(os.path.join(folder, INDEX)), max(numbers_of(folder).values(), default=-1))
        everyone = [mine]
        if group is not None:
            everyone = [None] * group.size()
            all_gather_object(everyone, mine, group)
        if not overwrite and any(there for _, there, _ in everyone):
            raise CheckpointException(f"there is a checkpoint in {folder!r}, and overwrite=False")
        owners: dict = {}
        for rank, (keys, _, _) in enumerate(everyone):
            for key in keys:
                owners.setdefault(key, rank)
        self.rank = 0 if group is None else group.rank()
        self.turn = 1 + max(last for _, _, last in everyone)
        self.index = [(list(path), file_name(rank, self.turn)) for (path, piece), rank in owners.items() if piece is None]
        self.pieces = [(list(path), *piece, file_name(rank, self.turn)) for (path, piece), rank in owners.items()
                       if piece is not None]
        self.mine = [(key, value.detach().to("cpu", copy=True) if later and isinstance(value, Tensor) else value)
                     for key, value in values.items() if owners[key] == self.rank]
        self.done = _under_way[folder] = threading.Event()

    def write(self):
        """Write this rank's share."""
        try:
            self._write()
        finally:
            if _under_way.get(self.folder) is self.done:
                del _under_way[self.folder]
            self.done.set()

    def _write(self):
        """Write this rank's file, and the index once all files are complete."""
        error, own = "", os.path.join(self.folder, file_name(self.rank, self.turn))
        try:
            os.makedirs(self.folder, exist_ok=True)
            save_file([([*path] if piece is None else [*path, piece[0]], _own_memory(value))
                       for (path, piece), value in self.mine], own)
        except Exception as e:
            error = f"rank {self.rank} could not write its file: {type(e).__name__}: {e}"
            if self.group is None:
                raise CheckpointException(error) from e
        if self.group is not None:
            error = self._exchange_status(error)
        if error:
            with contextlib.suppress(OSError):
                os.remove(own)
            raise CheckpointException(error)
        if self.rank == 0:
            index = {"format": "ingot checkpoint", "values": self.index, "pieces": self.pieces}
            save_file(index, os.path.join(self.folder, INDEX))
            self._remove_older()
        if self.group is not None:
            self._finish()

    def _remove_older(self):
        """Remove files that no index names; after a failure the next checkpoint tries again."""
        for name, turn in numbers_of(self.folder).items():
            if turn < self.turn:
                with contextlib.suppress(OSError):
                    os.remove(os.path.join(self.folder, name))

    def _key(self, rank) -> str:
        return f"checkpoint/{self.group.number}/{self.number}/{rank}"

    def _exchange_status(self, error: str) -> str:
        """Report the result of writing to other ranks, collect theirs, and return the first error."""
        store = self.group.store
        store.set(self._key(self.rank), _FAILED + error.encode() if error else _WRITTEN)
        for rank in range(self.group.size()):
            store.wait([self._key(rank)], self.group.timeout)
            status = store.get(self._key(rank))
            if status.startswith(_FAILED):
                return status[len(_FAILED):].decode()
        return ""

    def _finish(self):
        """Return once the index is complete."""
        if self.rank == 0:
            self.group.store.set(self._key("index"), _WRITTEN)
        else:
            self.group.store.wait([self._key("index")], self.group.timeout)


def _own_memory(value):
    """Return a value without history, in memory of its own."""
    if not isinstance(value, Tensor):
        return value
    value = value.detach()
    return value if value.numel() * value.element_size() == value.untyped_storage().nbytes() else value.clone()


def _group_for(process_group, no_dist):
    return None if no_dist or not is_initialized() else the_group(process_group)


def _require_usual(planner, use_collectives):
    """Raise for a plan with methods of its own, and for ranks that shall not agree on what is written."""
    require_planner(planner, DefaultSavePlanner)
    if not use_collectives:
        raise ArgumentError("ranks always agree on who writes what; to save on each rank alone pass no_dist=True and a folder "
                            "for each")


def save(state_dict, *, checkpoint_id=None, storage_writer=None, planner=None, process_group=None, no_dist=False,
         use_collectives=True):
    """Write a state dict into a folder; every rank of the group calls it. If several ranks have a value under one name, that of
    the first is written. The old checkpoint of the folder stays until the new one is complete."""
    _require_usual(planner, use_collectives)
    folder = folder_of(checkpoint_id, storage_writer)
    overwrite = getattr(storage_writer, "overwrite", True)
    _Saving(state_dict, folder, _group_for(process_group, no_dist), overwrite).write()


def async_save(state_dict, *, checkpoint_id=None, storage_writer=None, planner=None, process_group=None, no_dist=False,
               use_collectives=True, **options) -> Future:
    """Run save() beside the program, on a copy of the values; the result is a Future."""
    if unknown := set(options) - {"async_checkpointer_type", "async_stager"}:
        raise ArgumentError(f"async_save does not know {sorted(unknown)}")
    _require_usual(planner, use_collectives)
    folder = folder_of(checkpoint_id, storage_writer)
    overwrite = getattr(storage_writer, "overwrite", True)
    saving = _Saving(state_dict, folder, _group_for(process_group, no_dist), overwrite, later=True)
    found: Future = Future()

    def work():
        try:
            saving.write()
        except BaseException as e:
            found.set_exception(e)
        else:
            found.set_result(None)

    threading.Thread(target=work, name="ingot-checkpoint").start()
    return found


def save_state_dict(state_dict, storage_writer, process_group=None, coordinator_rank=0, no_dist=False, planner=None):
    """Save a state dict (older name of `save`). `coordinator_rank` is ignored: the first rank of the group writes the index."""
    save(state_dict, storage_writer=storage_writer, process_group=process_group, no_dist=no_dist, planner=planner)
