"""`ingot.ops`: registered operators as `ingot.ops.namespace.name`."""

import re
from pathlib import Path

from ...ir.lazy import lazy
from .aten import Packet, find
from .custom_op import REGISTERED, CustomOpDef

torchaudio_ops = lazy(__package__, ".torchaudio_ops")
torchvision_ops = lazy(__package__, ".torchvision_ops")

_EXTENSIONS = [      # compiled extensions: file, one of their operators, function that registers ingot's
    (re.compile(r"[/\\]torchvision[/\\]_C[^/\\]*$"), "torchvision::nms", torchvision_ops),
    (re.compile(r"[/\\]torchaudio[/\\]lib[/\\](lib|_)torchaudio\.[^/\\]*$"), "torchaudio::forced_align", torchaudio_ops)]


class Namespace:
    """The operators of one namespace."""

    def __init__(self, name: str):
        self.__name__ = name

    def __repr__(self):
        return f"<ingot.ops.{self.__name__}>"

    def __getattr__(self, name) -> CustomOpDef:
        found = REGISTERED.get(f"{self.__name__}::{name}")
        if found is None:
            raise AttributeError(f"no operator {self.__name__}::{name} is registered; see custom_op (from ingot import "
                                 "library)")
        return found

    def __dir__(self):
        return [name.rpartition("::")[2] for name in REGISTERED if name.startswith(f"{self.__name__}::") and "." not in name]


class Aten:
    """The operators of PyTorch itself."""

    __name__ = "aten"

    def __repr__(self):
        return "<ingot.ops.aten>"

    def __getattr__(self, name) -> Packet:
        found = None if name.startswith("__") else find(name)
        if found is None:
            raise AttributeError(f"ingot has no operator aten::{name}")
        self.__dict__[name] = found
        return found


def load_library(path):
    """Register ingot's operators for the compiled extensions of torchvision and torchaudio. Other libraries are made for
    another framework: they are refused like a library that does not load, and packages go on without them."""
    file = str(Path(path).absolute())
    for there, first, operators in _EXTENSIONS:
        if there.search(file):
            if first not in REGISTERED:
                operators.register()
            return
    raise OSError(f"ingot cannot load operators from {path}, since they are compiled for another framework's tensors; "
                  "register Python functions with custom_op (from ingot import library)")


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = Aten() if name == "aten" else Namespace(name)
    return found
