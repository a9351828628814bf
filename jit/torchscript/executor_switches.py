"""TorchScript's executor switches. ingot has one fuser and symbolic sizes, so most switches only store their value.
`optimized_execution(False)` runs traced functions eagerly."""

from contextlib import contextmanager

from ...ir import config
from ...ir.errors import ArgumentError
from ...ir.suggestions import unknown_choice
from ...runtime.state.switches import Switch

_FUSERS = ("fuser0", "fuser1", "fuser2", "fuser3")


_strategy = Switch("the fusion strategy", (("STATIC", 2), ("DYNAMIC", 10)))
_onednn = Switch("whether oneDNN fuses", False)


def optimized_execution(should_optimize):
    """Compile traced functions inside, or run them eagerly."""
    return config.override(jit=bool(should_optimize) and config.current().jit)


@contextmanager
def fuser(name):
    """Do nothing inside, after a check of the fuser's name."""
    if name not in _FUSERS:
        raise unknown_choice("fuser", name, _FUSERS)
    yield


@contextmanager
def strict_fusion():
    """Do nothing inside."""
    yield


def set_fusion_strategy(strategy) -> list:
    """Store the strategy, which has no effect, and return the one before."""
    given = tuple([tuple(entry) for entry in strategy])
    if any(len(e) != 2 or e[0] not in ("STATIC", "DYNAMIC") or type(e[1]) is not int for e in given):
        raise ArgumentError(f"set_fusion_strategy takes pairs of 'STATIC' or 'DYNAMIC' and a number, got {strategy!r}")
    before = list(_strategy.get())
    _strategy.set(given)
    return before


def enable_onednn_fusion(enabled: bool) -> None:
    """Store the switch, which has no effect."""
    _onednn.set(bool(enabled))


def onednn_fusion_enabled() -> bool:
    """Return the value of `enable_onednn_fusion`."""
    return _onednn.get()
