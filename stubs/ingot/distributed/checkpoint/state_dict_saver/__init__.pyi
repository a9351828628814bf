"""Saving of checkpoints."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.distributed.checkpoint import async_save as async_save
from ingot.distributed.checkpoint import save as save
from ingot.distributed.checkpoint import save_state_dict as save_state_dict
