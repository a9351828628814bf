"""Files: `save` and `load`, and the classes that `load` may build from a PyTorch file (`ingot.serialization`).

Invariant: loading a tensor file or model runs no code of that file.
"""

from typing import Any

from ...ir.errors import FileError
from ..api.register.annotation_types import FileLike
from ..core.device import require
from .pickle_globals import get_unsafe_globals_in_checkpoint
from .safe_unpickler import add_safe_globals, clear_safe_globals, get_safe_globals, safe_globals
from .save_load import load, save

DEFAULT_PROTOCOL = 2        # `save` accepts it; it has no effect
FILE_LIKE, MAP_LOCATION = FileLike, Any

__all__ = ["PyTorchFileReader", "SourceChangeWarning", "add_safe_globals", "clear_safe_globals",
           "default_restore_location", "get_safe_globals", "get_unsafe_globals_in_checkpoint", "load", "safe_globals", "save"]


class SourceChangeWarning(Warning):
    """PyTorch's warning for changed code of a class in a file. Files of ingot hold no code."""


def default_restore_location(storage, location: str):
    """Return the tensor that a function of `map_location` receives, on a device."""
    return storage.to(require(location))


class PyTorchFileReader:
    """Type in annotations of PyTorch's file readers. Instances raise and name the replacement."""

    def __init__(self, name_or_buffer):
        raise FileError(f"{name_or_buffer}: files are not read record by record; ingot.load(path, mmap=True) maps all of one")
