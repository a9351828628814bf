"""`torch._C._functorch`: queries about tensors that stand for batches, and the ways in and out of a level of vmap."""

from ..runtime.func.vmap import _add_batch_dim, _remove_batch_dim
from ..runtime.func.vmap_level import is_batched as is_batchedtensor
from ..runtime.state.mode import tls

__all__ = ["_add_batch_dim", "_remove_batch_dim", "get_unwrapped", "is_batchedtensor", "is_functorch_wrapped_tensor",
           "is_gradtrackingtensor", "maybe_current_level", "maybe_get_bdim", "maybe_get_level"]

is_functorch_wrapped_tensor = is_batchedtensor


def is_gradtrackingtensor(x) -> bool:
    """Return False: `func.grad` differentiates plain tensors."""
    return False


def get_unwrapped(x):
    """Return the tensor of all samples, with the batch as first dimension."""
    return x._a.memory.full if is_batchedtensor(x) else x


def maybe_get_bdim(x) -> int:
    """Return the batch dimension of `get_unwrapped(x)`, or -1 if x stands for no batch."""
    return 0 if is_batchedtensor(x) else -1


def maybe_get_level(x) -> int:
    """Return the level of a batched tensor, 1 for the outermost, or -1 if it stands for no batch."""
    return _depth(x._a.memory.level) if is_batchedtensor(x) else -1


def maybe_current_level() -> int | None:
    """Return the number of the innermost level, or None outside vmap."""
    level = tls.m.batched
    return None if level is None else _depth(level)


def _depth(level) -> int:
    return 0 if level is None else 1 + _depth(level.outer)
