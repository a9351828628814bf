"""`ingot.distributed.checkpoint`: state dicts of several ranks in one folder.

Way in: `save`, `load`, `async_save`. Each rank writes values that no lower rank has, so a model that is whole on all ranks is
written once. Ranks read what they request, however many there are then. Files are those of `ingot.save`: loading them executes
nothing.
"""

from ..stores.distributed_errors import CheckpointException
from .folder_format import DefaultLoadPlanner, DefaultSavePlanner, FileSystemReader, FileSystemWriter, Stateful
from .loading import load, load_state_dict
from .saving import async_save, save, save_state_dict
from .unsupported_formats import HuggingFaceStorageReader, HuggingFaceStorageWriter

__all__ = ["CheckpointException", "DefaultLoadPlanner", "DefaultSavePlanner", "FileSystemReader", "FileSystemWriter",
           "HuggingFaceStorageReader", "HuggingFaceStorageWriter", "Stateful", "async_save", "load", "load_state_dict", "save",
           "save_state_dict"]
