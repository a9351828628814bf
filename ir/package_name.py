"""The package's name in text that it shows: `ingot.float32`, or `torch.float32` after `as_torch`.

Programs compare such text, and cut it (`str(x.dtype) == "torch.bfloat16"`, `x.type() == "torch.FloatTensor"`).
"""

from .registry import Registry


class Called:
    """The name, which `as_torch` sets by `call`."""

    package = "ingot"


_PLACES: dict[type, str] = Registry()


def in_full(name: str) -> str:
    """Return a name of the package's, with the package's own in front."""
    return f"{Called.package}.{name}"


def found_in(cls: type, place: str = "") -> None:
    """Set the public module in which people, pickles and other libraries find a class."""
    _PLACES[cls] = place
    cls.__module__ = in_full(place) if place else Called.package


def call(package: str) -> None:
    """Give the package another name in the text that it shows."""
    Called.package = package
    for cls, place in _PLACES.items():
        found_in(cls, place)
