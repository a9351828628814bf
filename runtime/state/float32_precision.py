"""Precision of float32 products: "ieee" rounds as float32, "tf32" and "bf16" allow narrower factors, "none" defers to the more
general entry.

One table serves all of PyTorch's switches: `backends.fp32_precision` and the ones of that name below it, `allow_tf32`,
`set_float32_matmul_precision`.
"""

from typing import Any

from ...ir.errors import ArgumentError
from .switches import Switch

GENERIC = "generic", "all"
_ALL = "none", "ieee", "tf32", "bf16"
_CHOICES = {"generic": _ALL, "cuda": _ALL[:3], "mkldnn": _ALL}
_CONVOLUTIONS = ("cuda", "conv"), ("cuda", "rnn")       # TF32 by default
_chosen = Switch("the precision of float32 products", {})       # {(backend, operation): precision}
answers: dict = {}      # cache of `get`, until an entry changes


def ask(backend: str, op: str = "all") -> str:
    """Return the precision of an operation to a program that asks for it."""
    _chosen.get()
    return get(backend, op)


def get(backend: str, op: str = "all") -> str:
    """Return the precision of an operation: its own entry, else the backend's, else the generic one."""
    table = answers
    found = table.get((backend, op))
    if found is None:
        found = table[backend, op] = _resolved(backend, op)
    return found


def _resolved(backend, op) -> str:
    chosen = _chosen.peek()
    for key in ((backend, op), (backend, "all"), GENERIC):
        choice = chosen.get(key, "none")
        if choice != "none" and choice in _CHOICES[backend]:
            return choice
    return "tf32" if (backend, op) in _CONVOLUTIONS and (backend, op) not in chosen else "none"


def choose(backend: str, op: str, precision: str):
    """Set one entry."""
    if precision not in _CHOICES[backend]:
        raise ArgumentError(f"fp32_precision of {backend} is one of {', '.join(_CHOICES[backend])}, got {precision!r}")
    restore({**_chosen.peek(), (backend, op): precision})


def chosen() -> dict:
    """Return the entries, for `restore`."""
    return _chosen.peek()


def restore(entries: dict):
    """Restore all entries."""
    _chosen.set(entries)
    _forget()


def _forget():
    """Begin a new table of answers: a thread that computes one from old entries puts it into the old table."""
    global answers
    answers = {}


def switch(backend: str, op: str = "all") -> Any:
    """Return a property that reads and sets one entry."""
    return property(lambda self: ask(backend, op), lambda self, precision: choose(backend, op, precision))


class Operation:
    """The entry of one operation of a backend: `backends.cudnn.conv.fp32_precision`."""

    __slots__ = ("backend", "op")

    def __init__(self, backend: str, op: str):
        self.backend, self.op = backend, op

    @property
    def fp32_precision(self) -> str:
        """ "ieee", "tf32", "none", and "bf16" where the backend knows it."""
        return ask(self.backend, self.op)

    @fp32_precision.setter
    def fp32_precision(self, precision: str):
        choose(self.backend, self.op, precision)
