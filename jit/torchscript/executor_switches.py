"""Switches of PyTorch's older compiler. Ingot joins kernels in one way and has symbols for sizes that change, so most of them
are kept and change nothing; `optimized_execution(False)` runs traced functions as they are."""

from contextlib import contextmanager

from ...ir import config
from ...ir.errors import ArgumentError

_FUSERS = ("fuser0", "fuser1", "fuser2", "fuser3")


class _Kept:
    """What was set."""

    strategy: tuple = (("STATIC", 2), ("DYNAMIC", 10))
    onednn = False


@contextmanager
def optimized_execution(should_optimize):
    """Inside, traced functions are compiled, or run as they are."""
    with config.override(jit=bool(should_optimize) and config.current().jit):
        yield


@contextmanager
def fuser(name):
    """Names one of PyTorch's fusers; kernels are joined as always."""
    if name not in _FUSERS:
        raise ArgumentError(f"fuser takes one of {', '.join(_FUSERS)}, got {name!r}")
    yield


@contextmanager
def strict_fusion():
    """Says that all inside is to be fused; kernels are joined as always."""
    yield


def set_fusion_strategy(strategy) -> list:
    """Keep how often PyTorch would compile for fixed sizes and for changing ones; gives what was kept before."""
    given = tuple([tuple(entry) for entry in strategy])
    if any(len(e) != 2 or e[0] not in ("STATIC", "DYNAMIC") or type(e[1]) is not int for e in given):
        raise ArgumentError(f"set_fusion_strategy takes pairs of 'STATIC' or 'DYNAMIC' and a number, got {strategy!r}")
    before, _Kept.strategy = list(_Kept.strategy), given
    return before


def enable_onednn_fusion(enabled: bool) -> None:
    """Keep whether PyTorch would fuse by oneDNN."""
    _Kept.onednn = bool(enabled)


def onednn_fusion_enabled() -> bool:
    """What `enable_onednn_fusion` was told."""
    return _Kept.onednn
