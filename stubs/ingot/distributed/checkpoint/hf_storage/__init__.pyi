"""Checkpoint formats of other libraries, which are not supported. Programs may look for these names."""

# Made by `make stubs` from the live package; not edited by hand.

import typing as _t
from ingot.distributed.checkpoint import HuggingFaceStorageReader as HuggingFaceStorageReader
from ingot.distributed.checkpoint import HuggingFaceStorageWriter as HuggingFaceStorageWriter

def consolidate_safetensors_files(*args: _t.Any, **kwargs: _t.Any) -> _t.Any:
    """Refused, with what to use instead."""
