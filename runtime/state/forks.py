"""Forks of this process: why it may have none, if a library that runs in it does not survive them."""

from ...ir.errors import IngotError

reason = ""             # an engine of `distributed` writes it


class ForkRefused(IngotError, RuntimeError):
    """A process was to start by a fork of one that may have none."""


def check_start_method(method: str | None, way_out: str):
    """Raise if a process would start by a fork that its parent may not have."""
    if reason and method == "fork":
        raise ForkRefused(f"a process cannot start by 'fork' here: {reason}. {way_out}")
