"""Writing checkpoints. What belongs to which rank is agreed on at once; that files are there is told by the store, so a
checkpoint can be written beside training, which goes on talking."""

import itertools
import os
import threading

from ....ir.errors import ArgumentError
from ...futures import Future
from ...serialization.save_load import save as save_file
from ...tensor import Tensor
from ..objects import all_gather_object
from ..world import is_initialized, the_group
from .errors import CheckpointException
from .files import INDEX, flattened, folder_of

__all__ = ["async_save", "save", "save_state_dict"]

_FAILED, _WRITTEN = b"failed: ", b"written"
_numbers = itertools.count()


class _Saving:
    """One checkpoint on its way, as this rank has to do with it."""

    def __init__(self, state, folder, group, overwrite):
        self.folder, self.group, self.number = folder, group, next(_numbers)
        if os.path.exists(index := os.path.join(folder, INDEX)) and (group is None or group.rank() == 0):
            if not overwrite:
                raise CheckpointException(f"there is a checkpoint in {folder!r}, and overwrite=False")
            os.remove(index)                # while files are replaced there is no whole checkpoint
        values = flattened(state)
        everyone: list = [list(values)]
        if group is not None:
            everyone = [None] * group.size()
            all_gather_object(everyone, list(values), group)
        owners: dict = {}
        for rank, paths in enumerate(everyone):
            for path in paths:
                owners.setdefault(path, rank)
        self.rank = 0 if group is None else group.rank()
        self.index = [(list(path), _name(rank)) for path, rank in owners.items()]
        self.mine = [(list(path), value) for path, value in values.items() if owners[path] == self.rank]

    def take_copies(self):
        """Keeps the values that are to be written as they are at this time."""
        self.mine = [(path, value.detach().to("cpu", copy=True) if isinstance(value, Tensor) else value)
                     for path, value in self.mine]

    def write(self):
        """Writes this rank's file, and the index once all files are there."""
        error = ""
        try:
            os.makedirs(self.folder, exist_ok=True)
            save_file([(path, _apart(value)) for path, value in self.mine], os.path.join(self.folder, _name(self.rank)))
        except Exception as e:
            error = f"rank {self.rank} could not write its file: {type(e).__name__}: {e}"
            if self.group is None:
                raise CheckpointException(error) from e
        if self.group is not None:
            error = self._hear_of_others(error)
        if error:
            raise CheckpointException(error)
        if self.rank == 0:
            save_file({"format": "ingot checkpoint", "values": self.index}, os.path.join(self.folder, INDEX))
        if self.group is not None:
            self._finish()

    def _key(self, rank) -> str:
        return f"checkpoint/{self.group.number}/{self.number}/{rank}"

    def _hear_of_others(self, error: str) -> str:
        """Tells other ranks how writing went, and what they tell: the first error."""
        store = self.group.store
        store.set(self._key(self.rank), _FAILED + error.encode() if error else _WRITTEN)
        for rank in range(self.group.size()):
            store.wait([self._key(rank)], self.group.timeout)
            said = store.get(self._key(rank))
            if said.startswith(_FAILED):
                return said[len(_FAILED):].decode()
        return ""

    def _finish(self):
        """Returns once the index is there."""
        if self.rank == 0:
            self.group.store.set(self._key("index"), _WRITTEN)
        else:
            self.group.store.wait([self._key("index")], self.group.timeout)


def _name(rank: int) -> str:
    return f"__{rank}_0.distcp"


def _apart(value):
    """A value without a history, and without what else is in its memory."""
    if not isinstance(value, Tensor):
        return value
    value = value.detach()
    return value if value.numel() * value.element_size() == value.untyped_storage().nbytes() else value.clone()


def _group_for(process_group, no_dist):
    return None if no_dist or not is_initialized() else the_group(process_group)


def save(state_dict, *, checkpoint_id=None, storage_writer=None, planner=None, process_group=None, no_dist=False,
         use_collectives=True):
    """Writes a state dict into a folder; every rank of the group calls it. Where several ranks have a value under one name,
    that of the first is written. A checkpoint that was in the folder is gone."""
    folder = folder_of(checkpoint_id, storage_writer)
    overwrite = getattr(storage_writer, "overwrite", True)
    _Saving(state_dict, folder, _group_for(process_group, no_dist), overwrite).write()


def async_save(state_dict, *, checkpoint_id=None, storage_writer=None, planner=None, process_group=None, no_dist=False,
               use_collectives=True, **options) -> Future:
    """save() beside the program, of the values as they are at this time; the result says when it is done."""
    if unknown := set(options) - {"async_checkpointer_type", "async_stager"}:
        raise ArgumentError(f"async_save does not know {sorted(unknown)}")
    folder = folder_of(checkpoint_id, storage_writer)
    saving = _Saving(state_dict, folder, _group_for(process_group, no_dist), getattr(storage_writer, "overwrite", True))
    saving.take_copies()
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
    """save() by its older name."""
    save(state_dict, storage_writer=storage_writer, process_group=process_group, no_dist=no_dist, planner=planner)
