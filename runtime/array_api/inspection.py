"""Inspection of the array API implementation (`__array_namespace_info__`)."""

from ...ir import dtype as dt
from ...ir.errors import ArgumentError
from ..core.device import CPU, DRIVERS, Device, get_default_device
from ..state.mode import Defaults
from .data_types import CATEGORIES, KINDS, default_complex

__all__ = ["__array_namespace_info__"]


class Info:
    """The answers about the namespace."""

    def capabilities(self) -> dict:
        """Return the optional features and which of them this implementation has."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> Device:
        """Return the device of new arrays."""
        return get_default_device()

    def default_dtypes(self, *, device=None) -> dict:
        """Return the dtypes of new arrays."""
        return {"real floating": Defaults.dtype, "complex floating": default_complex(), "integral": dt.int64,
                "indexing": dt.int64}

    def dtypes(self, *, device=None, kind=None) -> dict:
        """Return the dtypes by name, all or of a kind."""
        kinds = kind if isinstance(kind, tuple) else (kind,)
        found: list = []
        for k in kinds:
            if k is not None and k not in KINDS:
                raise ArgumentError(f"unknown kind of dtype {k!r}: it is one of {', '.join(KINDS)}")
            found += CATEGORIES["all"] if k is None else KINDS[k]
        return {d.name: d for d in found}

    def devices(self) -> list:
        """Return the devices that arrays can be on."""
        return [CPU, *(Device(kind, i) for kind, driver in DRIVERS.items() for i in range(driver.count()))]


def __array_namespace_info__() -> Info:
    """Return answers about this namespace."""
    return Info()
