"""`ingot.ops`: registered operators as `ingot.ops.namespace.name`."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import typing as _t

class Aten:
    """The operators of PyTorch itself."""
    def __getattr__(self, name: _b.str) -> _t.Any: ...
    __name__: _b.str

class Namespace:
    """The operators of one namespace."""
    def __getattr__(self, name: _b.str) -> _t.Any: ...
    def __init__(self, name: _b.str) -> None: ...

def load_library(path: _t.Any) -> _t.Any:
    """Register ingot's operators for the compiled extensions of torchvision and torchaudio. Other libraries are made for
    another framework: they are refused like a library that does not load, and packages go on without them."""
