"""Loading of checkpoints into state dicts, in place."""

from typing import Any

from ....ir.errors import ArgumentError
from ...autograd.grad_mode import no_grad
from ...core.tensor import Tensor
from ..stores.distributed_errors import CheckpointException
from ..tensor.dtensor import DTensor
from ..tensor.dtensor_factories import sharded
from ..tensor.sharded_layout import Piece
from .folder_format import DefaultLoadPlanner, Stateful, flattened, folder_of, opened, require_planner, state_of

__all__ = ["load", "load_state_dict"]


def load(state_dict, *, checkpoint_id=None, storage_reader=None, planner=None, process_group=None, no_dist=False):
    """Fill a state dict from a checkpoint: tensors in place, stateful objects through their method, other values by
    replacement. Raise for missing values, unless the planner allows a partial load. `process_group` and `no_dist` are ignored:
    each rank reads what it needs by itself."""
    require_planner(planner, DefaultLoadPlanner)
    folder = folder_of(checkpoint_id, storage_reader)
    templates = {key: state_of(value) for key, value in state_dict.items()}
    wanted = flattened(templates)
    found = _read(folder, wanted, getattr(planner, "allow_partial_load", False))
    for path, value in found.items():
        _check(path, wanted[path], value)
    with no_grad():
        for path, value in found.items():
            target = wanted[path]
            if isinstance(target, DTensor):
                target.copy_(sharded(value, target.device_mesh, target.placements, None))
            elif isinstance(target, Tensor):
                target.copy_(value)
            elif isinstance(target, Piece):
                target.fill(value)
            else:
                _replace(templates, path, value)
    for key, value in state_dict.items():
        if isinstance(value, Stateful) and not isinstance(value, dict):
            value.load_state_dict(templates[key])
        else:
            state_dict[key] = templates[key]


def _read(folder, wanted, allow_partial) -> dict:
    """Return the values of the wanted paths; each file is read once."""
    checkpoint = opened(folder)
    holders = {path: _holder(path, checkpoint.paths) for path in wanted}
    missing = [path for path, holder in holders.items() if holder is None]
    if missing and not allow_partial:
        some = ", ".join(".".join(map(str, path)) for path in missing[:5])
        raise CheckpointException(f"the checkpoint in {folder!r} does not hold {some}{' and more' * (len(missing) > 5)}; "
                                  "planner=DefaultLoadPlanner(allow_partial_load=True) leaves such values as they are")
    values = checkpoint.read(dict.fromkeys([holder for holder in holders.values() if holder is not None]))
    return {path: _within(values[holder], path, len(holder)) for path, holder in holders.items() if holder is not None}


def _holder(path, paths):
    """Return the path under which a checkpoint holds a value: its own, or that of a container around it; None if there is
    none."""
    return next((path[:n] for n in range(len(path), 0, -1) if path[:n] in paths), None)


def _within(value, path, start) -> Any:
    """Return the value at the end of a path whose first keys lead to `value`."""
    try:
        for key in path[start:]:
            value = value[key]
    except (LookupError, TypeError):
        raise CheckpointException(f"the checkpoint does not hold {'.'.join(map(str, path))}") from None
    return value


def _check(path, target, value):
    """Raise unless a value can replace the present one."""
    name = ".".join(map(str, path))
    if isinstance(target, (Tensor, Piece)) != isinstance(value, Tensor):
        raise CheckpointException(f"{name} is a {type(value).__name__} in the checkpoint, a {type(target).__name__} here")
    if isinstance(value, Tensor) and tuple(target.shape) != tuple(value.shape):
        raise CheckpointException(f"{name} has shape {list(value.shape)} in the checkpoint, {list(target.shape)} here")


def _replace(state, path, value):
    for key in path[:-1]:
        state = state[key]
    state[path[-1]] = value


def load_state_dict(state_dict, storage_reader, process_group=None, coordinator_rank=0, no_dist=False, planner=None):
    """Load a state dict (older name of `load`). `process_group`, `coordinator_rank` and `no_dist` are ignored: each rank reads
    what it needs by itself."""
    if not isinstance(state_dict, dict):
        raise ArgumentError(f"load_state_dict fills a dict, got {type(state_dict).__name__}")
    load(state_dict, storage_reader=storage_reader, process_group=process_group, no_dist=no_dist, planner=planner)
