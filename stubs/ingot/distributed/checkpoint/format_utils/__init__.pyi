"""Conversion between checkpoint folders and single files of `ingot.save`."""

# Made by `make stubs` from the live package; not edited by hand.

import typing as _t

def dcp_to_torch_save(dcp_checkpoint_dir: _t.Any, torch_save_path: _t.Any) -> None:
    """Write the values of a checkpoint into one file, as nested dicts (lists become dicts by index)."""
def torch_save_to_dcp(torch_save_path: _t.Any, dcp_checkpoint_dir: _t.Any) -> None:
    """Write the content of one file as a checkpoint."""
