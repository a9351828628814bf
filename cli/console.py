"""Shared parts of commands: messages, arrays in files, sizes as text."""

import sys

import numpy as np

from ..ir import dtype as dt
from ..ir.errors import ArgumentError
from ..runtime.core.tensor import Tensor

_NOT_NUMPY = {d.np for d in (dt.bfloat16, *dt.FLOAT8)}


class UsageError(ArgumentError):
    """Wrong words on the command line."""


def report(text: str):
    """Print a progress message to standard error."""
    print(text, file=sys.stderr, flush=True)


def has_default_names(arrays: dict) -> bool:
    """Return whether arrays have NumPy's default names."""
    return set(arrays) == {f"arr_{i}" for i in range(len(arrays))}


def storable(x) -> np.ndarray:
    """Return an array that an .npz file can hold: bfloat16 and float8 are widened."""
    a = x.detach()._a if isinstance(x, Tensor) else np.asarray(x)
    return a.astype(np.float32) if a.dtype in _NOT_NUMPY else a


def flat_results(x) -> list:
    """Return the tensors and arrays in a result, in order."""
    if isinstance(x, (Tensor, np.ndarray, np.generic)):
        return [x]
    if isinstance(x, dict):
        return [t for v in x.values() for t in flat_results(v)]
    return [t for v in x for t in flat_results(v)] if isinstance(x, (list, tuple)) else []


def parse_numbers(text: str, what: str) -> list:
    """Parse positive numbers separated by commas."""
    try:
        found = [int(word) for word in text.split(",")]
    except ValueError:
        found = []
    if not found or min(found) < 1:
        raise UsageError(f"{what} takes positive numbers separated by commas, got {text!r}")
    return found


def byte_text(size: int) -> str:
    """Return a byte count as text."""
    for unit in ("bytes", "KiB", "MiB"):
        if size < 1024 or unit == "MiB":
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1024    # type: ignore[assignment]
    return ""
