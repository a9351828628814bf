"""The names of `ingot.distributed.checkpoint`, and functions that factories build.

Made by `make stubs` from the live package; not edited by hand.
"""

from typing import Any

from ...runtime.distributed.checkpoint import async_save as async_save
from ...runtime.distributed.checkpoint import CheckpointException as CheckpointException
from ...runtime.distributed.checkpoint import DefaultLoadPlanner as DefaultLoadPlanner
from ...runtime.distributed.checkpoint import DefaultSavePlanner as DefaultSavePlanner
from ...runtime.distributed.checkpoint import FileSystemReader as FileSystemReader
from ...runtime.distributed.checkpoint import FileSystemWriter as FileSystemWriter
from ...runtime.distributed.checkpoint import load as load
from ...runtime.distributed.checkpoint import load_state_dict as load_state_dict
from ...runtime.distributed.checkpoint import save as save
from ...runtime.distributed.checkpoint import save_state_dict as save_state_dict
from ...runtime.distributed.checkpoint import Stateful as Stateful
from . import default_planner as default_planner
from . import filesystem as filesystem
from . import format_utils as format_utils
from . import hf_storage as hf_storage
from . import state_dict as state_dict
from . import state_dict_loader as state_dict_loader
from . import state_dict_saver as state_dict_saver
from . import stateful as stateful

def HuggingFaceStorageReader(*args, **kwargs) -> Any:
    """Refused, with what to use instead."""
def HuggingFaceStorageWriter(*args, **kwargs) -> Any:
    """Refused, with what to use instead."""
