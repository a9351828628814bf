"""`ingot._C._functorch`: what libraries ask of tensors that stand for batches, and the ways in and out of a level of vmap."""

from ..runtime.core.state import tls
from ..runtime.func.vmap import _add_batch_dim, _remove_batch_dim
from ..runtime.func.vmap_level import is_batched as is_batchedtensor

__all__ = ["_add_batch_dim", "_remove_batch_dim", "get_unwrapped", "is_batchedtensor", "is_functorch_wrapped_tensor",
           "is_gradtrackingtensor", "maybe_current_level", "maybe_get_bdim", "maybe_get_level"]

is_functorch_wrapped_tensor = is_batchedtensor


def is_gradtrackingtensor(x) -> bool:
    """False: func.grad and its like differentiate tensors as they are."""
    return False


def get_unwrapped(x):
    """The tensor of all samples behind one, the batch in front."""
    return x._a.memory.full if is_batchedtensor(x) else x


def maybe_get_bdim(x) -> int:
    """Which dimension of `get_unwrapped(x)` is the batch; -1 where x stands for none."""
    return 0 if is_batchedtensor(x) else -1


def maybe_get_level(x) -> int:
    """The number of the level that a tensor belongs to, the outermost one being 1; -1 where it stands for no batch."""
    return _depth(x._a.memory.level) if is_batchedtensor(x) else -1


def maybe_current_level() -> int | None:
    """The number of the innermost level; None outside of vmap."""
    level = tls.m.batched
    return None if level is None else _depth(level)


def _depth(level) -> int:
    return 0 if level is None else 1 + _depth(level.outer)
