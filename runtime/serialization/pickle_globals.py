"""Names in the pickles of a file, found without building anything."""

import io
import pickletools
from typing import Any

from ...ir.errors import FileError
from ...ir.lazy import lazy
from . import archive as container
from . import torch_files
from .read_budget import ReadBudget
from .regular_file import open_regular
from .safe_unpickler import bounded, get_safe_names

python_objects = lazy(__package__, ".python_objects")         # networks are not imported for plain tensors
_TEXTS = frozenset(("UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "STRING", "BINSTRING", "SHORT_BINSTRING"))
_KEPT = frozenset(("PUT", "BINPUT", "LONG_BINPUT"))
_RECALLED = frozenset(("GET", "BINGET", "LONG_BINGET"))


def names_in(file, budget: ReadBudget) -> set:
    """Return the full names of classes and functions in the pickle at a file's position, which moves behind it."""
    found: set = set()
    pushed: list = [None, None]     # the last two values, if they are texts
    memo: dict = {}
    arg: Any
    for opcode, arg, _ in pickletools.genops(bounded(file, budget)):
        kind = opcode.name
        if kind == "GLOBAL":
            found.add(".".join(arg.split(" ", 1)))
        elif kind == "STACK_GLOBAL":
            budget.take_tree(pushed, "a list of names")
            found.add(f"{pushed[-2]}.{pushed[-1]}")
        if kind in _KEPT or kind == "MEMOIZE":
            memo[len(memo) if kind == "MEMOIZE" else arg] = pushed[-1]
        elif kind in _RECALLED:
            pushed = [pushed[-1], memo.get(arg)]
        elif opcode.stack_after:
            pushed = [pushed[-1], arg if kind in _TEXTS else None]
    return found


def get_unsafe_globals_in_checkpoint(f) -> list:
    """Return the full names of classes and functions in a file of `ingot.save` or `torch.save` that `load` would refuse.

    Those are names that are not plain data, and that `add_safe_globals` has not allowed. Nothing in the file is run; a name
    that the pickle computes is missing.
    """
    if hasattr(f, "read"):
        return _unsafe(f, getattr(f, "name", type(f).__name__))
    with open_regular(f) as file:
        return _unsafe(file, str(f))


def _unsafe(file, name) -> list:
    start, head = file.tell(), file.read(32)
    file.seek(start)
    if head[:4] == b"PK\x03\x04":
        archive = container.Archive(file, name)
        if container.INDEX in archive.entries and container.OBJECTS not in archive.entries:
            return []
        table = python_objects.table() if container.OBJECTS in archive.entries else torch_files.GLOBALS
        pickles = [n for n in archive.entries if n == container.OBJECTS or n.rpartition("/")[2] == "data.pkl"]
        found = [names_in(io.BytesIO(archive.text(n)), archive.budget) for n in pickles]
    elif head.startswith(torch_files.LEGACY_HEAD):
        budget = ReadBudget(name, file.seek(0, io.SEEK_END))
        file.seek(start)
        table, found = torch_files.GLOBALS, [names_in(file, budget) for _ in range(5)]
    else:
        raise FileError(f"{name} is no file of ingot.save or torch.save")
    if not found:
        raise FileError(f"{name} is a zip archive, but neither an ingot nor a PyTorch file")
    return sorted(set().union(*found) - {*table} - {*get_safe_names()})
