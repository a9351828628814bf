"""Checkpoint formats of other libraries, which are not supported. Programs may look for these names."""

from ..stores.distributed_errors import refused

__all__ = ["HuggingFaceStorageReader", "HuggingFaceStorageWriter", "consolidate_safetensors_files"]

_INSTEAD = "save `state_dict()` as a safetensors file with ingot.save, and load such files with ingot.load"

HuggingFaceStorageReader, HuggingFaceStorageWriter, consolidate_safetensors_files = [
    refused(f"checkpoint.{name}", _INSTEAD) for name in __all__]
