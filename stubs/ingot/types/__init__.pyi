"""Annotation types of `ingot.types`, as PyTorch's libraries import them."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import typing as _t
from ingot import DeviceObjType as DeviceObjType
from ingot import Tensor as Tensor
from ingot import TensorType as TensorType
from ingot import device as _device
from os import PathLike as _PathLike

class Storage:
    """State shared by all tensors over the same memory."""
    alias_limit: _t.Any
    aliases: _t.Any
    cell: _t.Any
    data_swaps: _t.Any
    guarded: _b.bool
    unchecked: _t.Any
    writer: _b.tuple[_t.Any, ...]
    def add_aliases(self, tensors: _t.Any) -> None:
        """Add views; drop dead entries when the list doubles."""
    def guard(self) -> _b.tuple[_t.Any, ...]:
        """Return (storage, version), to notice later writes."""
    is_part: _b.bool
    def left_by(self, t: _t.Any) -> None:
        """A leaf is about to get other memory: nodes that saved it read its new data then (`renew` in node.py)."""
    def lend(self) -> None:
        """Count an outside user of the memory that stays for good."""
    def lend_to(self, user: _t.Any) -> None:
        """Count an outside user of the memory as long as it lives."""
    lent: _b.int
    returned: _b.int
    version: _b.int
    def was_overwritten(self, version: _b.int) -> _b.bool:
        """Return whether the memory was written after a version, other than through `.data`."""
    def wrote(self, name: _b.str, depth: _b.int = 3) -> None:
        """Count a write in place. If guarded, remember the user's line, `depth` or more frames up: nearer ones are ingot's."""
    def wrote_unchecked(self, count: _b.int = 1) -> None:
        """Mark the last write, or several, as writes through `.data`, which saved values do not check."""

Device = _device | _b.str | _b.int | None
FileLike = _b.str | _PathLike[_b.str] | _t.Any[_b.bytes]
Number = _b.int | _b.float | _b.bool
