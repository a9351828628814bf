"""`ingot.utils.gguf`: read and write GGUF files, which hold language models with stored weights."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import typing as _t
import numpy as _np

class GGUFWeights(_b.dict[_b.str, _t.Any]):
    """Tensors of a GGUF file by name, with the file's metadata."""
    metadata: _t.Any
    def __init__(self, tensors: _t.Any = (), metadata: _t.Any = None) -> None: ...
    @_b.property
    def architecture(self) -> _b.str | None:
        """Name of the network, such as "llama"; the prefix of its own keys in the metadata."""
    @_b.property
    def chat_template(self) -> _b.str | None:
        """The Jinja template that makes a prompt of messages."""
    @_b.property
    def chat_templates(self) -> _b.dict[_b.str, _b.str]:
        """Further templates by name."""
    @_b.property
    def tokenizer(self) -> Tokenizer | None:
        """The tokenizer's fields, or None for a file without tokens."""

class Metadata(_b.dict[_b.str, _t.Any]):
    """Metadata of a file: numbers, bools and texts, lists of texts, and one-dimensional arrays of numbers."""
    types: _b.dict[_t.Any, _t.Any]
    def __init__(self, values: _t.Any = (), types: _t.Any = None) -> None: ...

class Tokenizer(_t.NamedTuple):
    """Tokenizer fields of a file, checked against each other. A field that the file lacks is None."""
    model: _b.str | None
    pre: _b.str | None
    tokens: _b.list[_b.str]
    scores: _np.ndarray[_t.Any, _t.Any] | None
    token_types: _np.ndarray[_t.Any, _t.Any] | None
    merges: _b.list[_b.str] | None
    special_ids: _b.dict[_b.str, _b.int]
    flags: _b.dict[_b.str, _b.bool]

def load(f: _t.Any, map_location: _t.Any = None, *, mmap: _t.Any = None) -> GGUFWeights:
    """Return the tensors of a GGUF file by name, with its metadata. A path is mapped into memory unless `mmap` is False."""
def save(tensors: _t.Any, f: _t.Any, metadata: _t.Any = None) -> None:
    """Write a dict of tensors to a path or an open binary file. The metadata is `metadata`, or that of `GGUFWeights`."""
