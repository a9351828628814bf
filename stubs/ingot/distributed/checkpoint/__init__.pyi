"""`ingot.distributed.checkpoint`: state dicts of several ranks in one folder."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import typing as _t
from ingot import Future as _Future
from ingot.distributed import DistError as _DistError
from ingot.distributed.checkpoint import default_planner as default_planner
from ingot.distributed.checkpoint import filesystem as filesystem
from ingot.distributed.checkpoint import format_utils as format_utils
from ingot.distributed.checkpoint import hf_storage as hf_storage
from ingot.distributed.checkpoint import state_dict as state_dict
from ingot.distributed.checkpoint import state_dict_loader as state_dict_loader
from ingot.distributed.checkpoint import state_dict_saver as state_dict_saver
from ingot.distributed.checkpoint import stateful as stateful

class CheckpointException(_DistError):
    """A checkpoint cannot be written or read."""

class DefaultLoadPlanner:
    """Plan that reads every requested value; with `allow_partial_load` those that exist. `flatten_state_dict` and
    `flatten_sharded_tensors` are ignored: names of nested values are always joined."""
    allow_partial_load: _b.bool
    def __init__(self, flatten_state_dict: _b.bool = True, flatten_sharded_tensors: _b.bool = True,
                 allow_partial_load: _b.bool = False) -> None: ...

class DefaultSavePlanner:
    """Plan by which each rank writes values that no lower rank has, under joined names. `options` of PyTorch's planner
    about names, repeated values and a cache of plans are accepted and change nothing."""
    def __init__(self, **options: _t.Any) -> None: ...

class FileSystemReader:
    """Reader of a checkpoint in a folder."""
    path: _t.Any
    def __init__(self, path: _t.Any, **options: _t.Any) -> None: ...

class FileSystemWriter:
    """Writer of a checkpoint into a folder."""
    overwrite: _b.bool
    path: _t.Any
    def __init__(self, path: _t.Any, single_file_per_rank: _b.bool = True, sync_files: _b.bool = True,
                 thread_count: _t.Any = 1, overwrite: _b.bool = True, **options: _t.Any) -> None: ...

def HuggingFaceStorageReader(*args: _t.Any, **kwargs: _t.Any) -> _t.Any:
    """Refused, with what to use instead."""
def HuggingFaceStorageWriter(*args: _t.Any, **kwargs: _t.Any) -> _t.Any:
    """Refused, with what to use instead."""

class Stateful:
    """Object with a state of its own, which checkpoints save and load."""
    def __init__(self, *args: _t.Any, **kwargs: _t.Any) -> None: ...
    def load_state_dict(self, state_dict: _b.dict[_b.str, _t.Any]) -> None:
        """Load a state."""
    def state_dict(self) -> _b.dict[_b.str, _t.Any]:
        """Return the state."""

def async_save(state_dict: _t.Any, *, checkpoint_id: _t.Any = None, storage_writer: _t.Any = None,
               planner: _t.Any = None, process_group: _t.Any = None, no_dist: _b.bool = False,
               use_collectives: _b.bool = True, **options: _t.Any) -> _Future:
    """Run save() beside the program, on a copy of the values; the result is a Future."""
def load(state_dict: _t.Any, *, checkpoint_id: _t.Any = None, storage_reader: _t.Any = None,
         planner: _t.Any = None, process_group: _t.Any = None, no_dist: _b.bool = False) -> None:
    """Fill a state dict from a checkpoint: tensors in place, stateful objects through their method, other values by
    replacement."""
def load_state_dict(state_dict: _t.Any, storage_reader: _t.Any, process_group: _t.Any = None,
                    coordinator_rank: _t.Any = 0, no_dist: _b.bool = False, planner: _t.Any = None) -> None:
    """Load a state dict (older name of `load`). `process_group`, `coordinator_rank` and `no_dist` are ignored: each rank
    reads what it needs by itself."""
def save(state_dict: _t.Any, *, checkpoint_id: _t.Any = None, storage_writer: _t.Any = None,
         planner: _t.Any = None, process_group: _t.Any = None, no_dist: _b.bool = False,
         use_collectives: _b.bool = True) -> None:
    """Write a state dict into a folder; every rank of the group calls it. If several ranks have a value under one name,
    that of the first is written."""
def save_state_dict(state_dict: _t.Any, storage_writer: _t.Any, process_group: _t.Any = None,
                    coordinator_rank: _t.Any = 0, no_dist: _b.bool = False, planner: _t.Any = None) -> None:
    """Save a state dict (older name of `save`). `coordinator_rank` is ignored: the first rank of the group writes the
    index."""
