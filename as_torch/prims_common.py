"""`ingot._prims_common`: what libraries take from PyTorch's module of that name."""

import warnings

from ..ir.errors import ArgumentError
from ..runtime.api.register.process_settings import are_deterministic_algorithms_enabled, is_deterministic_algorithms_warn_only_enabled
from ..runtime.core.tensor import Tensor

__all__ = ["alert_not_deterministic", "is_contiguous_or_false"]


def alert_not_deterministic(caller: str) -> None:
    """Raises (or warns, if that was asked for) where `use_deterministic_algorithms` is on: for code whose results are not."""
    if not are_deterministic_algorithms_enabled():
        return
    said = f"{caller} does not have a deterministic implementation, but use_deterministic_algorithms(True) was called"
    if not is_deterministic_algorithms_warn_only_enabled():
        raise ArgumentError(said)
    warnings.warn(said, stacklevel=3)


def is_contiguous_or_false(a: Tensor) -> bool:
    """Whether elements lie row by row."""
    return a.is_contiguous()
