"""What the package is called in text that it shows: `ingot.float32`, or, where `as_torch` has made it PyTorch, `torch.float32`.

Programs compare such text, and cut it (`str(x.dtype) == "torch.bfloat16"`, `x.type() == "torch.FloatTensor"`).
"""


class Called:
    """The name, which `as_torch` sets by `call`."""

    package = "ingot"


_PLACES: dict[type, str] = {}


def in_full(name: str) -> str:
    """A name of the package's, with the package's own in front."""
    return f"{Called.package}.{name}"


def found_in(cls: type, place: str = "") -> None:
    """Says in which public module people, pickles, and libraries that ask whose an array is find a class."""
    _PLACES[cls] = place
    cls.__module__ = in_full(place) if place else Called.package


def call(package: str) -> None:
    """Gives the package another name, in what it shows from now on."""
    Called.package = package
    for cls, place in _PLACES.items():
        found_in(cls, place)
