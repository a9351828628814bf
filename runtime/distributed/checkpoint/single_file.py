"""Conversion between checkpoint folders and single files of `ingot.save`."""

import os

from ...serialization.save_load import load as load_file
from ...serialization.save_load import save as save_file
from .folder_format import opened
from .saving import save

__all__ = ["dcp_to_torch_save", "torch_save_to_dcp"]


def dcp_to_torch_save(dcp_checkpoint_dir, torch_save_path):
    """Write the values of a checkpoint into one file, as nested dicts (lists become dicts by index)."""
    folder = os.fspath(dcp_checkpoint_dir)
    whole: dict = {}
    checkpoint = opened(folder)
    for path, value in checkpoint.read(checkpoint.paths).items():
        inner = whole
        for key in path[:-1]:
            inner = inner.setdefault(key, {})
        inner[path[-1]] = value
    save_file(whole, torch_save_path)


def torch_save_to_dcp(torch_save_path, dcp_checkpoint_dir):
    """Write the content of one file as a checkpoint."""
    save(load_file(torch_save_path, map_location="cpu"), checkpoint_id=dcp_checkpoint_dir, no_dist=True)
