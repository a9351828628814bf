"""Collation: one batch from a list of samples."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import typing as _t
from ingot.utils.data import default_collate as default_collate
from ingot.utils.data import default_convert as default_convert

default_collate_fn_map: _b.dict[_t.Any, _t.Any]
def collate(batch: _t.Any, *, collate_fn_map: _t.Any = None) -> _t.Any:
    """Return one batch of a list of samples: by the map's function for their type, recursively in containers."""
