"""Files: `save` and `load`, and what `load` may build from a PyTorch file (`ingot.serialization`)."""

from typing import Any

from ..types import FileLike
from .pickle_machine import add_safe_globals, clear_safe_globals, get_safe_globals, safe_globals
from .save_load import load, save

DEFAULT_PROTOCOL = 2        # accepted by `save`, where it has no meaning
FILE_LIKE, MAP_LOCATION = FileLike, Any

__all__ = ["add_safe_globals", "clear_safe_globals", "get_safe_globals", "load", "safe_globals", "save"]
