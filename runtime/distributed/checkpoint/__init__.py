"""`ingot.distributed.checkpoint`: state dicts of several ranks in one folder.

Every rank writes what no rank before it has, so a model that is whole on all ranks is written once; ranks read what they ask
for, however many there are then. The files are those of `ingot.save`: loading them executes nothing."""

from ..engines.distributed_errors import CheckpointException
from .folder_format import DefaultLoadPlanner, DefaultSavePlanner, FileSystemReader, FileSystemWriter, Stateful
from .loading import load, load_state_dict
from .saving import async_save, save, save_state_dict
from .unsupported_formats import HuggingFaceStorageReader, HuggingFaceStorageWriter

__all__ = ["CheckpointException", "DefaultLoadPlanner", "DefaultSavePlanner", "FileSystemReader", "FileSystemWriter",
           "HuggingFaceStorageReader", "HuggingFaceStorageWriter", "Stateful", "async_save", "load", "load_state_dict", "save",
           "save_state_dict"]
