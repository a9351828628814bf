"""The names of `ingot.distributed.checkpoint.hf_storage`, and functions that factories build.

Made by `make stubs` from the live package; not edited by hand.
"""

from typing import Any

def HuggingFaceStorageReader(*args, **kwargs) -> Any:
    """Refused, with what to use instead."""
def HuggingFaceStorageWriter(*args, **kwargs) -> Any:
    """Refused, with what to use instead."""
def consolidate_safetensors_files(*args, **kwargs) -> Any:
    """Refused, with what to use instead."""
