"""`ingot.utils.gguf`: read and write GGUF files, which hold language models with stored weights.

`load` gives the tensors by name; its attributes are the metadata, the tokenizer and the chat template. Tensors of quantised
types are `StoredWeight`s over the mapped file.
"""

import os

from ...ir.errors import FileError
from .gguf_format import GGUFWeights, Metadata, Tokenizer, write
from .save_load import load as load_any
from .save_load import replacing

__all__ = ["GGUFWeights", "Metadata", "Tokenizer", "load", "save"]


def load(f, map_location=None, *, mmap=None) -> GGUFWeights:
    """Return the tensors of a GGUF file by name, with its metadata. A path is mapped into memory unless `mmap` is False."""
    loaded = load_any(f, map_location, mmap=mmap)
    if not isinstance(loaded, GGUFWeights):
        raise FileError(f"{f} is not a GGUF file; ingot.load reads it")
    return loaded


def save(tensors, f, metadata=None) -> None:
    """Write a dict of tensors to a path or an open binary file. The metadata is `metadata`, or that of `GGUFWeights`."""
    if hasattr(f, "write"):
        write(tensors, f, metadata)
        return
    with replacing(os.fsdecode(os.fspath(f))) as file:
        write(tensors, file, metadata)
